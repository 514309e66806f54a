//! Families of files behind one list: list file = folder, both sorted, headings present.

use super::{Complaint, Source, Tree};

/// A family of files with one list.
pub(super) struct Family {
    /// What one member is called.
    pub word: &'static str,
    /// The list file without `.rs`, which is the folder too.
    pub folder: &'static str,
    /// The table in the list file; `None` if members are only modules.
    pub table: Option<&'static str>,
    /// The headings of a member's header, in order.
    pub headings: &'static [&'static str],
}

/// All families. One that does not exist yet is ignored.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        word: "collector",
        folder: "crates/live/src/collectors",
        table: Some("COLLECTORS"),
        headings: &["Watches", "Needs", "Costs", "Not in this output"],
    },
    Family {
        word: "command",
        folder: "crates/iowhy/src/commands",
        table: Some("COMMANDS"),
        headings: &["Does", "Examples"],
    },
    Family {
        word: "detector",
        folder: "crates/diagnose/src/detectors",
        table: Some("DETECTORS"),
        headings: &["Accuses", "Why it matters", "Needs", "Rule", "Wrong if", "Next step"],
    },
    Family {
        word: "format",
        folder: "crates/read/src/formats",
        table: Some("FORMATS"),
        headings: &["Reads", "How to capture", "Versions", "Caveats", "Not in this output"],
    },
    Family {
        word: "kind of probe",
        folder: "crates/probe/src/kinds",
        table: Some("KINDS"),
        headings: &["Measures", "Writes", "Needs", "Read it like this"],
    },
    Family { word: "measure", folder: "crates/diagnose/src/measures", table: None, headings: &[] },
    Family {
        word: "view",
        folder: "crates/show/src/views",
        table: Some("VIEWS"),
        headings: &["Shows", "Units", "Read it like this"],
    },
];

/// The list's `mod` lines and table name exactly the folder's files, sorted.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for family in FAMILIES {
        let path = format!("{}.rs", family.folder);
        let members: Vec<&str> = tree.folder(family.folder).map(Source::stem).collect();
        let Some(list) = tree.source(&path) else {
            if !members.is_empty() {
                complaints.push(Complaint::new(&path, 0, "the list is missing", "write it"));
            }
            continue;
        };
        let modules = modules(list);
        complaints.append(&mut compare(list, "`mod` lines", &modules, &members));
        if let Some(table) = family.table {
            let entries = entries(list, table, &members);
            complaints.append(&mut compare(list, table, &entries, &members));
        }
    }
    complaints.append(&mut never_run(tree));
    complaints
}

/// Files of tests that are in no program: cargo looks for none beside `all.rs`.
fn never_run(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for all in tree.sources.iter().filter(|source| source.path.ends_with("/tests/all.rs")) {
        let folder = all.path.trim_end_matches("/all.rs");
        let manifest = folder.trim_end_matches("tests").to_string() + "Cargo.toml";
        let manifest = tree.text(&manifest).unwrap_or_default();
        for name in tree.folder(folder).map(Source::stem).filter(|name| *name != "all") {
            let has_module = all.text.lines().any(|line| line == format!("mod {name};"));
            if !has_module && !manifest.contains(&format!("name = \"{name}\"")) {
                let problem = format!("the tests of `{name}` never run");
                complaints.push(Complaint::new(&all.path, 0, problem, format!("`mod {name};`")));
            }
        }
    }
    complaints
}

/// Every member opens with a summary line and has its family's headings, in order.
pub(super) fn headings(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for family in FAMILIES {
        for member in tree.folder(family.folder) {
            let found: Vec<&str> =
                header(member).filter_map(|line| line.strip_prefix("## ")).map(str::trim).collect();
            if found != family.headings && !family.headings.is_empty() {
                complaints.push(Complaint::new(
                    &member.path,
                    1,
                    format!("its header has the headings [{}]", found.join(", ")),
                    format!(
                        "a {} has `//! ## ` {}, in this order",
                        family.word,
                        family.headings.join(", ")
                    ),
                ));
            }
            if header(member).next().is_none_or(|line| line.trim().is_empty()) {
                let cure = "its first line is the summary, `//! What it is.`";
                complaints.push(Complaint::new(&member.path, 1, "no summary line", cure));
            }
        }
    }
    complaints
}

/// The lines of a file's header, without `//! `.
fn header(source: &Source) -> impl Iterator<Item = &str> {
    source
        .text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
}

type Named = (usize, String);

fn compare(list: &Source, what: &str, found: &[Named], members: &[&str]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for member in members {
        if !found.iter().any(|(_, name)| name == member) {
            let problem = format!("`{member}` is missing in {what}");
            complaints.push(Complaint::new(&list.path, 0, problem, "add it, in its sorted place"));
        }
    }
    for (line, name) in found {
        if !members.contains(&name.as_str()) {
            let problem = format!("{what} name `{name}`, which has no file in the folder");
            complaints.push(Complaint::new(&list.path, *line, problem, "add the file, or drop it"));
        }
    }
    for pair in found.windows(2) {
        if let [(_, before), (line, name)] = pair
            && before >= name
        {
            let problem = format!("{what}: `{name}` comes after `{before}`");
            complaints.push(Complaint::new(&list.path, *line, problem, "sort them"));
        }
    }
    complaints
}

/// The `mod name;` lines of a list file.
fn modules(list: &Source) -> Vec<Named> {
    list.shipped()
        .filter_map(|(line, text)| {
            let text = text.trim().strip_suffix(';')?;
            let (before, name) = text.rsplit_once("mod ")?;
            (before.is_empty() || before.starts_with("pub")).then(|| (line, name.to_string()))
        })
        .collect()
}

/// The members a table names, in order: `member::WORD` between the table's name and its `];`.
fn entries(list: &Source, table: &str, members: &[&str]) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    let opening = format!("const {table}:");
    let lines = list.shipped().skip_while(|(_, text)| !text.contains(&opening));
    for (line, text) in lines {
        let value = text.split_once('=').filter(|_| text.contains(&opening));
        let value = value.map_or(text, |(_, value)| value);
        let mut names = value.split("::").collect::<Vec<_>>();
        names.pop();
        for before in names {
            let from = before.rfind(|c: char| !c.is_alphanumeric() && c != '_');
            let name = &before[from.map_or(0, |place| place + 1)..];
            let known = members.contains(&name);
            let lower = name.starts_with(|c: char| c.is_ascii_lowercase());
            let repeated = found.last().is_some_and(|(_, last)| last == name);
            if !repeated && (known || (lower && !matches!(name, "crate" | "self" | "super"))) {
                found.push((line, name.to_string()));
            }
        }
        if value.contains("];") {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: &str = "//! A view.\n//!\n//! ## Shows\n//! ## Units\n//! ## Read it like this\n";

    #[test]
    fn a_good_list_has_no_complaint() {
        let list = "//! List.\nmod a;\nmod b;\npub const VIEWS: &[View] = &[a::VIEW, b::VIEW];\n";
        let tree = Tree::of(&[
            ("crates/show/src/views.rs", list),
            ("crates/show/src/views/a.rs", VIEW),
            ("crates/show/src/views/b.rs", VIEW),
        ]);
        assert_eq!(check(&tree), []);
        assert_eq!(headings(&tree), []);
    }

    #[test]
    fn missing_unsorted_and_dead_entries_are_found() {
        let list = "//! List.\nmod b;\nmod a;\nmod dead;\n\
                    pub const VIEWS: &[View] = &[\n    b::VIEW,\n    a::VIEW,\n];\n";
        let tree = Tree::of(&[
            ("crates/show/src/views.rs", list),
            ("crates/show/src/views/a.rs", VIEW),
            ("crates/show/src/views/b.rs", VIEW),
            ("crates/show/src/views/c.rs", "//! Summary.\n"),
        ]);
        let found = check(&tree);
        let lines: Vec<usize> = found.iter().map(|complaint| complaint.line).collect();
        assert_eq!(lines, [0, 4, 3, 0, 7], "{found:#?}");
        assert_eq!(headings(&tree).len(), 1);
    }

    #[test]
    fn a_test_that_never_runs_is_found() {
        let manifest = "[[test]]\nname = \"all\"\n[[test]]\nname = \"alone\"\n";
        let tree = Tree::of(&[
            ("crates/show/Cargo.toml", manifest),
            ("crates/show/tests/all.rs", "//! All.\nmod a;\n"),
            ("crates/show/tests/a.rs", "//! A.\n"),
            ("crates/show/tests/alone.rs", "//! Alone.\n"),
            ("crates/show/tests/b.rs", "//! B.\n"),
        ]);
        let found: Vec<String> = check(&tree).into_iter().map(|one| one.to_string()).collect();
        assert!(found.len() == 1 && found[0].contains("`b` never run"), "{found:?}");
    }
}
