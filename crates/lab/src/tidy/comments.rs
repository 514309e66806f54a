//! How much of each crate is comment: a figure to look at, not a rule.

use std::collections::BTreeMap;

use super::Tree;

/// One line per crate: comment lines as a share of those that are not blank (aim: 10-20 %), and
/// the median and longest file.
pub fn report(tree: &Tree) -> String {
    let mut crates: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
    for source in tree.sources.iter().filter(|source| source.path.contains("/src/")) {
        let filled = source.text.lines().filter(|line| !line.trim().is_empty());
        let comments = filled.filter(|line| line.trim_start().starts_with("//")).count();
        let lines = source.text.lines().filter(|line| !line.trim().is_empty()).count();
        crates.entry(source.krate().unwrap_or("-")).or_default().push((comments, lines));
    }
    let mut out = String::from("crate      files  lines  comments  median file  longest file\n");
    for (krate, files) in crates {
        let comments: usize = files.iter().map(|(comments, _)| comments).sum();
        let lines: usize = files.iter().map(|(_, lines)| lines).sum();
        let mut lengths: Vec<usize> = files.iter().map(|(_, lines)| *lines).collect();
        lengths.sort_unstable();
        let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
        let longest = lengths.last().copied().unwrap_or(0);
        let share = comments * 100 / lines.max(1);
        out += &format!(
            "{krate:<10} {:>5}  {lines:>5}  {share:>7}%  {median:>11}  {longest:>12}\n",
            files.len()
        );
    }
    out
}
