//! The pages: few pages, tables written by commands, and no numbers that go stale.

use super::{Complaint, Tree};

/// The pages, in the order of reading.
const PAGES: &[&str] = &[
    "ARCHITECTURE.md",
    "COMPAT.md",
    "CONTRIBUTING.md",
    "FLEET.md",
    "GALLERY.md",
    "JSON.md",
    "MANUAL.md",
    "METHOD.md",
];
/// Members of a list: the list shows how many there are.
const MEMBERS: &[&str] =
    &["formats", "commands", "verdicts", "detectors", "views", "collectors", "kinds", "measures"];
const NUMBERS: &[&str] =
    &["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// No page beside these, every table of results has its command, and no page counts members of a
/// list.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for path in tree.files.iter().filter(|path| path.ends_with(".md")) {
        let name = path.strip_prefix("docs/").filter(|name| !name.contains('/'));
        if name.is_some_and(|name| !PAGES.contains(&name)) {
            let cure = "put it into one of the pages, or its tables into docs/results";
            complaints.push(Complaint::new(path, 0, "a new page", cure));
        }
        let Some(text) = tree.text(path) else { continue };
        let is_result = path.starts_with("docs/results/");
        if is_result && !text.contains("<!-- results: ") && !text.contains("Written by `") {
            let cure = "name the command between `<!-- results: ` and ` -->` above the table";
            complaints.push(Complaint::new(
                path,
                0,
                "no command shows how this table was made",
                cure,
            ));
        }
        let counted = name.is_some() || path == "README.md";
        for (place, line) in text.lines().enumerate() {
            if is_result && let Some(time) = line.split([' ', ',', '(']).find(|word| is_time(word))
            {
                let problem = format!("the time of day `{time}`");
                let cure = "name the command that made it instead of the time of day";
                complaints.push(Complaint::new(path, place + 1, problem, cure));
            }
            if counted && let Some(count) = count(line) {
                let problem = format!("`{count}` goes stale with the next member");
                let cure = "leave the number out; the list says how many there are";
                complaints.push(Complaint::new(path, place + 1, problem, cure));
            }
        }
    }
    complaints
}

/// A time of day such as 03:52.
fn is_time(word: &str) -> bool {
    let Some((hours, minutes)) = word.split_once(':') else { return false };
    let two = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
    two(hours) && two(minutes)
}

/// A number before the name of a list's members.
fn count(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let pairs = words.windows(2);
    let mut found = pairs.filter(|pair| {
        let number = pair[0].to_lowercase();
        let is_number = number.len() > 1 && number.bytes().all(|byte| byte.is_ascii_digit());
        let member = pair[1].trim_end_matches(|c: char| !c.is_alphanumeric());
        (is_number || NUMBERS.contains(&number.as_str())) && MEMBERS.contains(&member)
    });
    found.next().map(|pair| pair.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_times_are_found() {
        assert_eq!(count("the command line, nine commands; opens"), Some("nine commands;".into()));
        assert_eq!(count("**read**: 35 formats."), Some("35 formats.".into()));
        assert_eq!(count("captures of two tools, of one format"), None);
        assert!(is_time("03:52") && !is_time("8:0") && !is_time("9999:98:00"));
    }
}
