//! Goldens contain nothing that changes with a day, a release or a machine.

use super::{Complaint, Tree};

/// Dates and versions in the golden's own input are allowed; others may not.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for path in tree.files.iter().filter(|path| is_golden(path)) {
        let Some(text) = tree.text(path) else { continue };
        let inputs = inputs(tree, path);
        for (place, line) in text.lines().enumerate() {
            if let Some(word) = line.split([' ', '"', ',', '`', '(', ')']).find(|w| changes(w))
                && !inputs.iter().any(|input| input.contains(word))
            {
                let cure = "keep it out of what the test prints; a release must change no golden";
                let problem = format!("`{word}` in a golden");
                complaints.push(Complaint::new(path, place + 1, problem, cure));
            }
        }
    }
    complaints
}

fn is_golden(path: &str) -> bool {
    path.ends_with(".golden") || path.rsplit('/').next().is_some_and(|n| n.starts_with("expected"))
}

/// The other files of the golden's folder.
fn inputs(tree: &Tree, golden: &str) -> Vec<String> {
    let Some((folder, _)) = golden.rsplit_once('/') else { return Vec::new() };
    tree.files
        .iter()
        .filter(|path| path.starts_with(folder) && !is_golden(path))
        .filter_map(|path| tree.text(path))
        .collect()
}

/// A date such as 2026-11-21, a version such as v0.1.0, or a path of a machine.
fn changes(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let digits = |text: &str, n: usize| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
    let date = matches!(parts[..], [y, m, d] if digits(y, 4) && digits(m, 2)
        && d.get(..2).is_some_and(|d| digits(d, 2)));
    let version = word == concat!("v", env!("CARGO_PKG_VERSION"))
        || word == concat!("iowhy/", env!("CARGO_PKG_VERSION"));
    date || version || word.starts_with("/home/") || word.starts_with("/tmp/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_paths_change_and_numbers_do_not() {
        assert!(changes("2026-11-21") && changes("2026-11-21T08:00:00Z") && changes("/tmp/x"));
        for fine in ["8-16", "2008-style", "12:30", "0.1.0", "1024-2047", "/dev/sdb"] {
            assert!(!changes(fine), "{fine}");
        }
    }
}
