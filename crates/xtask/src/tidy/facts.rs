//! Facts: each key of the list is written by some code and used by some, or is exported only.

use std::collections::{BTreeMap, BTreeSet};

use super::{Complaint, Source, Tree};

/// The list of keys.
const KEYS: &str = "crates/model/src/fact/keys.rs";
/// Keys that no code uses, each with the reason why it is read nevertheless.
const EXPORTED: &str = include_str!("exported.txt");
const EXPORTED_PATH: &str = "crates/xtask/src/tidy/exported.txt";
/// Where facts are written: by a key that knows its type, or by a table of texts.
const WRITERS: &[&str] = &[
    "crates/iowhy/src/",
    "crates/live/src/",
    "crates/model/src/limit.rs",
    "crates/probe/src/",
    "crates/read/src/",
];
/// Where they are used: verdicts, remarks, views, and what a command is about.
const USERS: &[&str] = &[
    "crates/diagnose/src/",
    "crates/iowhy/src/commands/",
    "crates/iowhy/src/scope.rs",
    "crates/model/src/device_names.rs",
    "crates/model/src/limit.rs",
    "crates/model/src/owner.rs",
    "crates/show/src/",
    "crates/store/src/",
];

/// Each key has a writer, and a user or a line in the list of those that are exported only.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    check_with(tree, EXPORTED)
}

fn check_with(tree: &Tree, exported: &str) -> Vec<Complaint> {
    let Some(list) = tree.source(KEYS) else { return Vec::new() };
    let mut reasons: BTreeMap<&str, (usize, &str)> = exported
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.starts_with('#'))
        .filter_map(|(place, line)| {
            let (name, reason) = line.split_once(" | ")?;
            Some((name, (place + 1, reason)))
        })
        .collect();
    let written = named(tree, WRITERS, &["typed::", "key::"]);
    let used = named(tree, USERS, &["key::"]);
    let mut complaints = Vec::new();
    for (line, constant, name) in keys(&list.text) {
        let mut complain = |what: String, cure: &str| {
            complaints.push(Complaint::new(KEYS, line, what, cure));
        };
        if !written.contains(constant) {
            complain(format!("no code writes `{name}`"), "write it, or remove the line");
        }
        let used = used.contains(constant);
        match reasons.remove(name) {
            None if !used => complain(
                format!("no code uses `{name}`"),
                "let a detector or a `seen` line use it, or name the reason in exported.txt",
            ),
            Some(_) if used => {
                complain(format!("`{name}` is used now"), "remove its line from exported.txt");
            }
            _ => {}
        }
    }
    complaints.extend(reasons.into_iter().map(|(name, (line, _))| {
        Complaint::new(EXPORTED_PATH, line, format!("no key is `{name}`"), "remove the line")
    }));
    complaints
}

/// Keys and families of the list but that of unknown ones: line, constant, name.
fn keys(list: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    list.lines().enumerate().filter_map(|(place, line)| {
        let (constant, rest) = line.strip_prefix("    ")?.split_once(" \"")?;
        let is_constant = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let (name, _) = rest.split_once("\" ")?;
        let is_key = !constant.is_empty() && constant.chars().all(is_constant) && name != "*";
        is_key.then_some((place + 1, constant, name))
    })
}

/// The constants of these modules that shipped code of these places names.
fn named<'a>(tree: &'a Tree, places: &[&str], modules: &[&str]) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let sources =
        tree.sources.iter().filter(|source| places.iter().any(|at| source.path.starts_with(at)));
    for (_, line) in sources.flat_map(Source::shipped) {
        for module in modules {
            found.extend(line.match_indices(module).map(|(at, _)| {
                let rest = &line[at + module.len()..];
                let inside = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
                &rest[..rest.find(|c| !inside(c)).unwrap_or(rest.len())]
            }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_without_a_writer_or_a_user_are_found() {
        let tree = Tree::of(&[
            (KEYS, "    ONE \"a.one\" Count \"x\";\n    TWO \"a.two\" Count \"x\";\n"),
            ("crates/read/src/formats/a.rs", "fn a() { typed::ONE; typed::TWO_MORE; }"),
            ("crates/diagnose/src/b.rs", "fn b() { key::TWO; }"),
        ]);
        let found = |exported: &str| -> Vec<String> {
            check_with(&tree, exported).iter().map(ToString::to_string).collect()
        };
        let all = found("");
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all[0].contains("no code uses `a.one`"), "{all:?}");
        assert!(all[1].contains("no code writes `a.two`"), "{all:?}");
        assert_eq!(found("a.one | a reason").len(), 1);
        assert_eq!(found("a.one | a reason\na.two | a reason\na.three | a reason").len(), 3);
    }
}
