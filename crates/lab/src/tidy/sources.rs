//! Every Rust file: header, length, names, and where `unsafe` may stand.

use super::{Complaint, Source, Tree};

/// The hard limit of a file, in lines (docs/CONTRIBUTING.md).
const LONGEST: usize = 400;

/// Words that say nothing; no file's or type's name ends in one (docs/CONTRIBUTING.md). At another
/// place a word may have a meaning: `report_util_trap` is about `%util`.
const EMPTY_WORDS: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "misc", "manager", "handler", "data", "info",
    "base",
];

/// Where `unsafe` may stand. The lab makes loop devices, for which no safe call exists.
const UNSAFE_IN: &[&str] = &["crates/live/", "crates/probe/", "crates/lab/src/sickdisk/kernel.rs"];

/// Checks one file after the other.
pub fn check(tree: &Tree) -> Vec<Complaint> {
    tree.sources.iter().flat_map(of).collect()
}

fn of(source: &Source) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut complain = |line, what: String, cure: &str| {
        complaints.push(Complaint::new(&source.path, line, what, cure));
    };
    if !source.text.starts_with("//!") {
        complain(1, "no header".into(), "open the file with `//! What it is for.`");
    }
    let lines = source.text.lines().count();
    if lines > LONGEST {
        complain(LONGEST, format!("{lines} lines"), "cut it in two by subject; 400 is the limit");
    }
    if let Some(word) =
        source.stem().split('_').next_back().filter(|word| EMPTY_WORDS.contains(word))
    {
        complain(1, format!("`{word}` in the file's name"), "name it after what it does");
    }
    let unsafe_here = UNSAFE_IN.iter().any(|place| source.path.starts_with(place));
    for (place, text) in source.code.lines().enumerate() {
        if !unsafe_here && words(text).any(|word| word == "unsafe") {
            complain(place + 1, "`unsafe` here".into(), "only live and probe may; find a safe way");
        }
        if let Some(name) = type_name(text)
            && let Some(word) = empty_word(name)
        {
            complain(place + 1, format!("`{word}` in `{name}`"), "name it after what it is");
        }
    }
    complaints
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// The name of the type that a line declares.
fn type_name(text: &str) -> Option<&str> {
    let mut words = words(text.trim()).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        match word {
            "pub" | "crate" | "super" | "unsafe" => {}
            "struct" | "enum" | "trait" | "type" | "union" => return words.next(),
            _ => return None,
        }
    }
    None
}

/// The last word of a CamelCase name, if it says nothing.
fn empty_word(name: &str) -> Option<String> {
    let mut camel: Vec<String> = Vec::new();
    for letter in name.chars() {
        match camel.last_mut() {
            Some(word) if !letter.is_uppercase() => word.push(letter),
            _ => camel.push(letter.to_lowercase().to_string()),
        }
    }
    camel.pop().filter(|word| EMPTY_WORDS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(path: &str, text: &str) -> Vec<String> {
        of(&Source::new(path, text)).into_iter().map(|complaint| complaint.what).collect()
    }

    #[test]
    fn headers_names_and_unsafe_are_checked() {
        assert_eq!(whats("crates/show/src/a.rs", "use x;\n"), ["no header"]);
        assert_eq!(
            whats("crates/show/src/text_util.rs", "//! A.\npub struct DiskInfo {}\n"),
            ["`util` in the file's name", "`info` in `DiskInfo`"]
        );
        let code = "//! A, unsafe in words only.\nstruct Database;\nunsafe fn f() {}\n";
        assert_eq!(whats("crates/read/src/a.rs", code), ["`unsafe` here"]);
        assert!(whats("crates/live/src/a.rs", code).is_empty());
        assert_eq!(whats("crates/read/src/a.rs", &"//! A\n".repeat(401)), ["401 lines"]);
    }
}
