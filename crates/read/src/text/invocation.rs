//! The command line above a listing, if it was copied too.

use crate::decimal;

/// A command as it was typed: its options and its first number, which iostat and related ones take
/// for the interval in seconds.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Invocation {
    /// The letters of all short options together.
    pub(crate) letters: String,
    /// The interval, seconds.
    pub(crate) interval: Option<f64>,
}

/// Reads `$ iostat -xz 10`: `program` with at least one argument, at the start of the line or
/// after a prompt.
pub(crate) fn invocation(line: &str, program: &str) -> Option<Invocation> {
    if !line.contains(program) {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|word| word.rsplit('/').next() == Some(program))?;
    let (before, rest) = words.split_at_checked(place)?;
    let prompted =
        |word: &&str| word.ends_with(['$', '#', '%', '>']) || *word == "sudo" || word.contains('=');
    if before.last().is_some_and(|last| !prompted(last)) {
        return None;
    }
    let arguments = rest.get(1..)?.iter().take_while(|word| !word.starts_with(['|', '>', ';']));
    let arguments: Vec<&str> = arguments.copied().collect();
    let first = arguments.first()?;
    let is_argument = first.starts_with('-') || first.starts_with("/dev/");
    if !is_argument && decimal(first).is_none() {
        return None;
    }
    let short = arguments.iter().filter(|word| word.starts_with('-') && !word.starts_with("--"));
    Some(Invocation {
        letters: short.flat_map(|word| word.chars().skip(1)).collect(),
        interval: arguments
            .iter()
            .filter(|word| !word.starts_with('-'))
            .find_map(|word| decimal(word))
            .filter(|seconds| *seconds > 0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_sentences() {
        let read = |line| invocation(line, "iostat").map(|found| (found.letters, found.interval));
        assert_eq!(read("$ iostat -xz 10"), Some(("xz".to_string(), Some(10.0))));
        assert_eq!(read("[root@db1 ~]# /usr/bin/iostat -x -y sda 5 3 | grep sda"), {
            Some(("xy".to_string(), Some(5.0)))
        });
        assert_eq!(read("iostat --human -x"), Some(("x".to_string(), None)));
        for line in ["iostat", "iostat(1), printing 10-second summaries:", "run iostat -x 1"] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
