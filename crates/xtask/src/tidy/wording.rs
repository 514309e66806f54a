//! Phrases that a reader stumbles over, with what is written instead: `phrases.txt`, a line each.

use super::{Complaint, Tree};

/// `phrase | what is written instead`, sorted; a line with `#` is a comment.
const PHRASES: &str = include_str!("phrases.txt");

/// Files that may contain them: the list, output of other tools, and pages that are never
/// rewritten.
const LEFT_OUT: &[&str] = &[
    "CHANGELOG.md",
    "Cargo.lock",
    "crates/lab/published/",
    "crates/read/samples/",
    "crates/xtask/src/tidy/phrases.txt",
    "crates/xtask/src/tidy/wording.rs",
    "docs/decisions/",
    "docs/results/",
];

/// No source, page or golden contains one of the phrases, also where a line breaks in it.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let phrases: Vec<(&str, &str)> =
        PHRASES.lines().filter(|line| !line.starts_with('#')).filter_map(entry).collect();
    let mut complaints = Vec::new();
    for path in &tree.files {
        if LEFT_OUT.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        let Some(text) = tree.text(path) else { continue };
        for (line, phrase, instead) in found(&text, &phrases) {
            let problem = format!("`{phrase}`");
            complaints.push(Complaint::new(path, line, problem, format!("write: {instead}")));
        }
    }
    complaints
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let (phrase, instead) = line.split_once('|')?;
    Some((phrase.trim(), instead.trim()))
}

/// Each phrase with the line it begins in.
fn found<'a>(text: &str, phrases: &[(&'a str, &'a str)]) -> Vec<(usize, &'a str, &'a str)> {
    let lines: Vec<String> = text.lines().map(bare).collect();
    let mut found = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let next = lines.get(place + 1).map_or("", String::as_str);
        let both = format!("{line} {next}");
        for (phrase, instead) in phrases {
            let begins_here = both.find(phrase).is_some_and(|at| at < line.len());
            if begins_here {
                found.push((place + 1, *phrase, *instead));
            }
        }
    }
    found
}

/// A line in small letters without the marks of a comment, a wrapped literal or a quotation.
fn bare(line: &str) -> String {
    let line = line.trim().trim_end_matches('\\');
    let marks = ["//!", "///", "//", "#", "▌", "| ", ">"];
    let line = marks.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    line.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_across_lines() {
        let phrases = [("held against", "compared with")];
        let text = "//! The value is held\n//! against a bound.\nlet held = against;\n";
        assert_eq!(found(text, &phrases), [(1, "held against", "compared with")]);
    }

    #[test]
    fn the_list_is_sorted_and_whole() {
        let lines: Vec<&str> = PHRASES.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(lines.is_sorted());
        assert!(
            lines.iter().all(|line| entry(line).is_some_and(|(p, i)| p.len() > 4 && !i.is_empty()))
        );
    }
}
