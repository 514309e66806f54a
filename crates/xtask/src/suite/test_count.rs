//! What a test program printed, counted: libtest's own lines, and the `skipped: ` of a test that
//! could not run here.

/// The prefix of a reason that excludes a test from the short run.
const LONG: &str = "long: ";

/// Counts of one or more test programs.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct TestCount {
    /// Tests that ran and passed.
    pub passed: usize,
    /// Tests that failed.
    pub failed: usize,
    /// Tests that could not run here, or were left out.
    pub skipped: usize,
    /// Names of the tests that only the long run has.
    pub long: Vec<String>,
    /// What skipped tests need, sorted.
    pub remarks: Vec<String>,
    /// What failed tests printed.
    pub failures: String,
}

impl TestCount {
    /// Reads what a program printed with `--show-output`.
    pub fn of(text: &str) -> TestCount {
        let mut counted = TestCount::default();
        for line in text.lines() {
            if let Some(result) = line.strip_prefix("test result: ") {
                counted.passed += count(result, "passed");
                counted.failed += count(result, "failed");
                counted.skipped += count(result, "ignored");
            } else if let Some((name, reason)) = ignored(line)
                && reason.starts_with(LONG)
            {
                counted.long.push(name.to_string());
            } else if line.starts_with("skipped: ") {
                counted.remarks.push(line.to_string());
            }
        }
        // A test whose first line shows that it could not run was skipped; one that shows it later
        // left out a part only.
        let unable = unable(text);
        counted.skipped += unable;
        counted.passed -= unable.min(counted.passed);
        if counted.failed > 0 {
            let begin = text.find("\nfailures:\n").map_or(0, |place| place + 1);
            counted.failures = text[begin..].to_string();
        }
        counted
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: TestCount) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.long.extend(other.long);
        self.remarks.extend(other.remarks);
        self.remarks.sort();
        self.remarks.dedup();
    }
}

/// The number before a word.
fn count(result: &str, word: &str) -> usize {
    let words: Vec<&str> = result.split([' ', ';']).collect();
    let place = words.iter().position(|known| *known == word);
    place.and_then(|place| words.get(place.checked_sub(1)?)?.parse().ok()).unwrap_or(0)
}

/// A test that was left out, and why.
fn ignored(line: &str) -> Option<(&str, &str)> {
    let (name, reason) = line.strip_prefix("test ")?.split_once(" ... ignored")?;
    Some((name, reason.trim_start_matches(", ")))
}

/// Passed tests whose first line reports that they could not run.
fn unable(text: &str) -> usize {
    let Some(begin) = text.find("\nsuccesses:\n") else { return 0 };
    let lines = text[begin..].lines();
    let pairs = lines.clone().zip(lines.skip(1));
    let heading = |line: &str| line.starts_with("---- ") && line.ends_with(" stdout ----");
    pairs.filter(|(line, next)| heading(line) && next.starts_with("skipped: ")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\nrunning 5 tests\ntest a ... ok\ntest b ... ok\ntest c ... FAILED\n\
        test d ... ignored, long: a minute\ntest e ... ok\n\nsuccesses:\n\n---- a stdout ----\n\
        skipped: needs `fio`\n\n---- e stdout ----\n5 reads\nskipped: \
        partitions\n\nsuccesses:\n    \
        a\n\nfailures:\n\n---- c stdout ----\nit broke\n\nfailures:\n    c\n\n\
        test result: FAILED. 3 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished \
        in 1s\n";

    #[test]
    fn what_libtest_prints_is_counted() {
        let counted = TestCount::of(TEXT);
        assert_eq!((counted.passed, counted.failed, counted.skipped), (2, 1, 2));
        assert_eq!(counted.long, ["d"]);
        assert_eq!(counted.remarks, ["skipped: needs `fio`", "skipped: partitions"]);
        assert!(counted.failures.contains("it broke") && !counted.failures.contains("5 reads"));
    }
}
