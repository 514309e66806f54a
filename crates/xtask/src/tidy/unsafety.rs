//! Where `unsafe` is allowed.

use super::{Complaint, Source, Tree};

/// Where `unsafe` is allowed. The rig makes loop devices, for which no safe call exists.
const UNSAFE_IN: &[&str] =
    &["crates/live/", "crates/probe/", "crates/rig/src/faulty_disk/kernel.rs"];

/// Checks one file after the other.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    tree.sources.iter().flat_map(of).collect()
}

fn of(source: &Source) -> Vec<Complaint> {
    if UNSAFE_IN.iter().any(|place| source.path.starts_with(place)) {
        return Vec::new();
    }
    let lines = source.code.lines().enumerate();
    let bad = lines.filter(|(_, text)| words(text).any(|word| word == "unsafe"));
    bad.map(|(place, _)| {
        let cure = "only live and probe may; find a safe way";
        Complaint::new(&source.path, place + 1, "`unsafe` here", cure)
    })
    .collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_is_found_in_code_and_only_where_it_may_not_stand() {
        let text = "//! A, unsafe in words only.\nstruct Database;\nunsafe fn f() {}\n";
        let found = |path: &str| of(&Source::new(path, text)).iter().map(|c| c.line).collect();
        let wrong: Vec<usize> = found("crates/read/src/a.rs");
        assert_eq!(wrong, [3]);
        let right: Vec<usize> = found("crates/live/src/a.rs");
        assert!(right.is_empty());
    }
}
