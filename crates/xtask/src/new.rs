//! `xtask new MEMBER NAME`: creates a member of one of the lists, so that none has to be copied by
//! hand.
//!
//! A member is its file and its entry in its list; a verdict has a line in the list of verdicts
//! besides. A test creates one of each in a copy of the tree, counts the files that changed, and
//! compiles them.

use std::io;
use std::path::Path;

/// The kinds of members: name, location, and template.
struct Member {
    word: &'static str,
    /// The folder of the members, next to the list: `FOLDER.rs`.
    folder: &'static str,
    /// How the list declares one.
    module: &'static str,
    /// Its entry in the table; `@module@` is the name of its file.
    entry: &'static str,
    template: &'static str,
}

const MEMBERS: [Member; 6] = [
    Member {
        word: "collector",
        folder: "crates/live/src/collectors",
        module: "mod @module@;",
        entry: "    CollectorEntry {\n        name: @module@::NAME,\n        \
                summary: \"@name@: what it watches, in a line\",\n        \
                manual: manual!(\"collectors/@module@.rs\"),\n        \
                beside: Some(|| Box::new(@module@::@Type@::default())),\n    },",
        template: include_str!("new/collector.txt"),
    },
    Member {
        word: "command",
        folder: "crates/iowhy/src/commands",
        module: "mod @module@;",
        entry: "    @module@::COMMAND,",
        template: include_str!("new/command.txt"),
    },
    Member {
        word: "detector",
        folder: "crates/diagnose/src/detectors",
        module: "mod @module@;",
        entry: "    @module@::DETECTOR,",
        template: include_str!("new/detector.txt"),
    },
    Member {
        word: "format",
        folder: "crates/read/src/formats",
        module: "mod @module@;",
        entry: "    @module@::FORMAT,",
        template: include_str!("new/format.txt"),
    },
    Member {
        word: "kind",
        folder: "crates/probe/src/kinds",
        module: "mod @module@;",
        entry: "    @module@::KIND,",
        template: include_str!("new/kind.txt"),
    },
    Member {
        word: "view",
        folder: "crates/show/src/views",
        module: "pub mod @module@;",
        entry: "    @module@::VIEW,",
        template: include_str!("new/view.txt"),
    },
];

/// Where verdicts are listed.
const VERDICTS: &str = "crates/model/src/verdict.rs";

/// Begins a member in the tree at `root`; the files that were written.
///
/// # Errors
/// If there is no such kind of member, the name is none or taken, or a list is not as expected.
pub fn new(root: &Path, word: &str, name: &str) -> io::Result<Vec<String>> {
    let words: Vec<&str> = MEMBERS.iter().map(|member| member.word).collect();
    let member = MEMBERS.iter().find(|member| member.word == word);
    let member =
        member.ok_or_else(|| wrong(format!("`{word}` is not one of {}", words.join(", "))))?;
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_detector = word == "detector";
    let parts: Vec<&str> = name.split(['-', '.']).collect();
    let is_name = parts.iter().all(|part| !part.is_empty() && part.chars().all(is_letter));
    if !is_name || name.matches('.').count() != usize::from(is_detector) {
        let form = if is_detector { "`device.rattle`" } else { "`some-name`" };
        return Err(wrong(format!("`{name}` is not a name of a {word}; it must be {form}")));
    }
    let module = parts.join("_");
    let capital = |part: &&str| part[..1].to_uppercase() + &part[1..];
    let kind: String = parts.iter().map(capital).collect();
    let filled = |text: &str| {
        text.replace("@module@", &module).replace("@name@", name).replace("@Type@", &kind)
    };
    let file = format!("{}/{module}.rs", member.folder);
    if root.join(&file).exists() {
        return Err(wrong(format!("`{file}` exists")));
    }
    let list = format!("{}.rs", member.folder);
    let text = std::fs::read_to_string(root.join(&list))?;
    let text = with_module(&text, &filled(member.module), &list)?;
    let text = with_entry(&text, &filled(member.entry), &list)?;
    let mut written = vec![file.clone(), list.clone()];
    if is_detector {
        let family = capital(&parts[0]);
        let verdicts = std::fs::read_to_string(root.join(VERDICTS))?;
        let line = format!("    {kind} \"{name}\" {family};");
        std::fs::write(root.join(VERDICTS), with_verdict(&verdicts, &line)?)?;
        written.push(VERDICTS.to_string());
    }
    std::fs::write(root.join(&file), filled(member.template))?;
    std::fs::write(root.join(&list), text)?;
    Ok(written)
}

fn wrong(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// The list with one more module, in order.
fn with_module(text: &str, line: &str, list: &str) -> io::Result<String> {
    let is_module = |known: &&str| known.starts_with("mod ") || known.starts_with("pub mod ");
    insert(text, line, |known| is_module(&known), |known| known).ok_or_else(|| unlike(list))
}

/// The list with one more entry in its table, in order: one line each, or one that begins by its
/// name.
fn with_entry(text: &str, entry: &str, list: &str) -> io::Result<String> {
    if !entry.contains('\n') {
        let is_entry = |known: &str| {
            known.starts_with("    ") && known.ends_with(',') && known.matches("::").count() == 1
        };
        return insert(text, entry, is_entry, |known| known).ok_or_else(|| unlike(list));
    }
    let of = |block: &str| block.lines().nth(1).unwrap_or_default().to_string();
    let begin = entry.lines().next().unwrap_or_default();
    let blocks: Vec<usize> = text.match_indices(begin).map(|(place, _)| place).collect();
    let after = blocks.iter().find(|place| of(&text[**place..]) > of(entry));
    let end = text.rfind("\n];").map(|place| place + 1);
    let place = after.copied().or(end).filter(|_| !blocks.is_empty());
    let place = place.ok_or_else(|| unlike(list))?;
    Ok(format!("{}{entry}\n{}", &text[..place], &text[place..]))
}

fn with_verdict(text: &str, line: &str) -> io::Result<String> {
    let name = |line: &str| line.split('"').nth(1).unwrap_or_default().to_string();
    let is_verdict = |known: &str| {
        known.starts_with("    ")
            && known.ends_with(';')
            && known.matches('"').count() == 2
            && known.split_whitespace().count() == 3
    };
    insert(text, line, is_verdict, name).ok_or_else(|| unlike(VERDICTS))
}

/// A line more among those that are of its kind, before the first of a greater key; `None` if there
/// are none.
fn insert<'t, K: Ord>(
    text: &'t str,
    line: &'t str,
    is_one: impl Fn(&str) -> bool,
    key: impl Fn(&'t str) -> K,
) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let ours = lines.iter().enumerate().filter(|(_, known)| is_one(known));
    let ours: Vec<(usize, K)> = ours.map(|(at, known)| (at, key(known))).collect();
    let wanted = key(line);
    let before = ours.iter().take_while(|(_, known)| *known <= wanted).last();
    let place = before.map(|(at, _)| at + 1).or(ours.first().map(|(at, _)| *at))?;
    lines.insert(place, line);
    Some(lines.join("\n") + "\n")
}

fn unlike(list: &str) -> io::Error {
    wrong(format!("`{list}` no longer has its expected form"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_where_it_is_sorted() {
        let text = "mod a;\nmod c;\n\nconst ALL: &[X] = &[\n    a::X,\n    c::X,\n];\n";
        let with = with_module(text, "mod b;", "list").unwrap();
        let with = with_entry(&with, "    b::X,", "list").unwrap();
        assert_eq!(
            with,
            "mod a;\nmod b;\nmod c;\n\nconst ALL: &[X] = &[\n    a::X,\n    b::X,\n    c::X,\n];\n"
        );
        assert!(with_module(&with, "mod z;", "list").unwrap().contains("mod c;\nmod z;\n\n"));
        assert!(with_module("nothing\n", "mod z;", "list").is_err());
    }

    #[test]
    fn names_are_those_of_files() {
        let nowhere = Path::new("/nonexistent");
        for (word, name) in [
            ("format", "Some"),
            ("format", "a.b"),
            ("detector", "rattle"),
            ("view", "a--b"),
            ("x", "a"),
        ] {
            assert_eq!(new(nowhere, word, name).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
