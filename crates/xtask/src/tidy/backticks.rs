//! Paths in backticks, of pages and of the comments that are manuals, exist.

use std::collections::BTreeSet;

use super::{Complaint, Tree};

/// Folders at the root: a path that begins with one is of this tree.
const TOP: &[&str] =
    &[".ci", "bench", "contrib", "crates", "dist", "docs", "feeds", "fleet", "fuzz"];
/// Written by a command, and in no commit.
const WRITTEN: &[&str] = &["dist/out"];

/// What a page or a comment names and the tree lacks.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let known = Known::of(tree);
    let mut complaints = Vec::new();
    let pages = tree.files.iter().filter(|path| is_page(path));
    for path in pages {
        let text = tree.text(path).unwrap_or_default();
        complaints.extend(in_text(&known, path, text.lines().enumerate()));
    }
    for source in tree.sources.iter().filter(|source| !source.tests) {
        let lines = source.text.lines().enumerate();
        let comments = lines.filter(|(_, line)| {
            let line = line.trim_start();
            line.starts_with("//!") || line.starts_with("///")
        });
        complaints.extend(in_text(&known, &source.path, comments));
    }
    complaints
}

/// Samples and published captures contain other people's words.
fn is_page(path: &str) -> bool {
    let is_ours =
        !path.contains('/') || path.starts_with("docs/") || path.starts_with("crates/xtask/");
    is_ours && path.ends_with(".md")
}

fn in_text<'a>(
    known: &Known,
    path: &str,
    lines: impl Iterator<Item = (usize, &'a str)>,
) -> Vec<Complaint> {
    let mut found = Vec::new();
    let mut is_listing = false;
    for (place, line) in lines {
        if line.trim_start().starts_with("```") {
            is_listing = !is_listing;
            continue;
        }
        if is_listing {
            continue;
        }
        for span in line.split('`').skip(1).step_by(2) {
            let Some(named) = path_of(span).filter(|named| !known.has(named)) else { continue };
            let what = format!("`{named}` does not exist");
            found.push(Complaint::new(path, place + 1, what, "name what is there now"));
        }
    }
    found
}

/// The path that a span names, if it is one of this tree: by its folder, or as a Rust file or page.
fn path_of(span: &str) -> Option<&str> {
    let word = span.split([' ', ':']).next()?.trim_start_matches("./").trim_end_matches('/');
    let is_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let is_in = |top: &&str| word.strip_prefix(*top).is_some_and(|rest| rest.starts_with('/'));
    let is_capital = |c: char| c.is_ascii_uppercase();
    // `disk.md` is also a metric, and a page begins with a capital.
    let is_file = (word.ends_with(".rs") || word.ends_with(".md") && word.starts_with(is_capital))
        && word.split('/').all(|part| !part.starts_with('.') && !part.is_empty());
    // `crates/read/samples/FORMAT`, `FOLDER.rs`.
    let stands_for = |part: &str| {
        !part.is_empty() && part.strip_suffix(".rs").unwrap_or(part).chars().all(is_capital)
    };
    let is_meant = word.chars().all(is_path)
        && (TOP.iter().any(is_in) || is_file)
        && !word.split('/').any(stands_for);
    is_meant.then_some(word)
}

/// Every file and folder.
struct Known<'t> {
    all: BTreeSet<&'t str>,
}

impl<'t> Known<'t> {
    fn of(tree: &'t Tree) -> Known<'t> {
        let folders = tree.files.iter().flat_map(|path| {
            path.match_indices('/').map(move |(place, _)| &path[..place]).chain([path.as_str()])
        });
        Known { all: folders.collect() }
    }

    /// Whether it is there, from the root on or from a folder on: `formats/gstat.rs`.
    fn has(&self, named: &str) -> bool {
        let is_written = WRITTEN.iter().any(|path| named.starts_with(path));
        let below = |path: &&str| path.strip_suffix(named).is_some_and(|rest| rest.ends_with('/'));
        is_written || self.all.contains(named) || self.all.iter().any(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_gone_is_found() {
        let page = "`crates/a/src/gone.rs`, `crates/a/src/`, `gone.rs` and `b.rs`\n\
                    `sd.h`, `notes.txt`, `/proc/a.rs`, `dist/out/x.deb`, `a/b.rs`, `block/core.c`, \
                    `disk.md`, `NAME.rs`\n\
                    ```\n`crates/none`\n```\n`bench/gone --all`\n";
        let tree = Tree::of(&[
            ("docs/METHOD.md", page),
            ("crates/a/src/b.rs", "//! As `docs/NONE.md` says.\n//! `docs/METHOD.md`\n"),
            ("crates/a/b.rs", "// `docs/NONE.md`: no manual\n"),
        ]);
        let found: Vec<(String, usize)> =
            check(&tree).into_iter().map(|one| (one.file, one.line)).collect();
        let expected = [
            ("docs/METHOD.md", 1),
            ("docs/METHOD.md", 1),
            ("docs/METHOD.md", 6),
            ("crates/a/src/b.rs", 1),
        ];
        assert_eq!(found, expected.map(|(file, line)| (file.to_string(), line)));
    }
}
