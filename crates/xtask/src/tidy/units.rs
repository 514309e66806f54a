//! Sizes, rates and microseconds are written by `iowhy_model::numbers`, so that one number has one
//! spelling.

use super::{Complaint, Tree};

/// Crates whose text a user reads.
const CRATES: &[&str] = &["diagnose", "iowhy", "live", "model", "probe", "show", "store"];

/// Where numbers get their units; facts are written exactly, to be read back.
const WRITERS: &[&str] = &[
    "crates/model/src/fact.rs",
    "crates/model/src/fact/values.rs",
    "crates/model/src/numbers.rs",
    "crates/model/src/quantity.rs",
];

/// Units that were once written in three ways each. Seconds, milliseconds and percent are not among
/// them: tools' own columns and progress lines have them with fixed digits.
const UNITS: &[&str] = &[
    "B/s",
    "GB",
    "GiB",
    "I/Os per second",
    "IOPS",
    "KB",
    "KiB",
    "MB",
    "MiB",
    "k/s",
    "kB",
    "us",
    "µs",
];

/// No other file puts such a unit after a number of its own format.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for path in tree.files.iter().filter(|path| is_read_by_users(path)) {
        let Some(text) = tree.text(path) else { continue };
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (place, line) in code.lines().enumerate() {
            if let Some(unit) = by_hand(line) {
                let problem = format!("the unit `{unit}` is written by hand");
                let cure = "use `iowhy_model::numbers` or `Quantity`";
                complaints.push(Complaint::new(path, place + 1, problem, cure));
            }
        }
    }
    complaints
}

fn is_read_by_users(path: &str) -> bool {
    let source = CRATES.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")));
    let test = path.ends_with("tests.rs") || path.contains("/tests/");
    source && path.ends_with(".rs") && !test && !WRITERS.contains(&path)
}

/// The unit after a placeholder of a format string.
fn by_hand(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    if line.starts_with("//") {
        return None;
    }
    UNITS.iter().copied().find(|unit| {
        line.match_indices(&format!("}} {unit}")).any(|(at, found)| {
            let ends = |c: char| !c.is_alphanumeric() && c != '/';
            line[..at].contains('"') && line[at + found.len()..].chars().next().is_none_or(ends)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_behind_a_placeholder_is_found() {
        assert_eq!(by_hand(r#"format!("{} KB reads", size)"#), Some("KB"));
        assert_eq!(by_hand(r#"write!(out, "{ms:.1} µs")"#), Some("µs"));
        assert_eq!(by_hand(r#"format!("{} used", n)"#), None);
        assert_eq!(by_hand("// `{} KB`"), None);
        assert_eq!(by_hand("if done { } us = 1;"), None);
    }
}
