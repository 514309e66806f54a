//! The rules of the tree as tests: arrows between crates, lists, headings, names, leaks.
//!
//! Each rule walks the [`Tree`] and returns violations: where, what is wrong, what to do. A rule
//! about something that does not exist yet returns none.

mod arrows;
mod backticks;
mod cycles;
mod facts;
mod goldens;
mod grammar;
mod hooks;
mod leaks;
mod lexer;
mod lists;
mod members;
mod names;
mod pages;
mod profiles;
mod prose;
mod pure;
mod syntax;
mod tree;
mod units;
mod unsafety;
mod ways;
mod widths;
mod wording;

pub use tree::{Source, Tree};

/// A broken law.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Complaint {
    /// The file, relative to the workspace.
    pub file: String,
    /// The line, from 1; 0 if the whole file is meant.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub cure: String,
}

impl Complaint {
    fn new(file: &str, line: usize, what: impl Into<String>, cure: impl Into<String>) -> Self {
        Complaint { file: file.to_string(), line, what: what.into(), cure: cure.into() }
    }
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}: {}\n    do: {}", self.file, self.line.max(1), self.what, self.cure)
    }
}

/// A rule: its name, and what it finds.
pub struct Rule {
    /// The law in a few words.
    pub name: &'static str,
    /// Finds violations.
    pub check: fn(&Tree) -> Vec<Complaint>,
}

/// All rules, sorted by name.
pub const RULES: &[Rule] = &[
    Rule { name: "arrows between crates", check: arrows::check },
    Rule { name: "comments, literals and prose fit 100 columns", check: widths::check },
    Rule { name: "core tree without engines", check: arrows::core_tree },
    Rule { name: "each fact is written and used", check: facts::check },
    Rule { name: "goldens contain no date, version or path", check: goldens::check },
    Rule { name: "hooks of described formats are short", check: hooks::check },
    Rule { name: "lists equal folders and are sorted", check: lists::check },
    Rule { name: "manual headings", check: lists::headings },
    Rule { name: "members of a list do not use each other", check: members::check },
    Rule { name: "names are those of the files", check: names::check },
    Rule { name: "no code parses prose", check: prose::check },
    Rule { name: "no cycle between modules", check: cycles::check },
    Rule { name: "nothing of this machine in a file", check: leaks::check },
    Rule { name: "numbers are written in one place", check: units::check },
    Rule { name: "pages are few and count nothing", check: pages::check },
    Rule { name: "paths in backticks exist", check: backticks::check },
    Rule { name: "pure crates use no clock, file or network", check: pure::check },
    Rule { name: "samples, goldens and cases belong together", check: names::samples },
    Rule { name: "tests check what needs it", check: profiles::check },
    Rule { name: "text is parsed in one module of diagnose", check: grammar::check },
    Rule { name: "the field's terms", check: wording::check },
    Rule { name: "the functions named in ARCHITECTURE exist", check: ways::check },
    Rule { name: "unsafe only where it is allowed", check: unsafety::check },
];
