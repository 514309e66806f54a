//! Everything that has a manual, and the manual's text: the `//!` header of its source file.

use crate::commands::COMMANDS;

/// One thing with a manual.
pub struct Entry {
    /// Its list: `commands`, `formats`, `verdicts`, `kinds`, `views` or `collectors`.
    pub family: &'static str,
    /// Its name in that list.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// The source text of its file.
    pub source: &'static str,
}

/// All of them, list by list.
pub fn entries() -> Vec<Entry> {
    let mut all = Vec::new();
    let mut add = |family, name, summary, source| all.push(Entry { family, name, summary, source });
    for command in COMMANDS {
        add("commands", command.name, command.summary, command.manual);
    }
    for format in iowhy_read::FORMATS {
        add("formats", format.name, format.summary, format.manual);
    }
    for detector in iowhy_diagnose::DETECTORS {
        add("verdicts", detector.verdict.name(), detector.summary, detector.manual);
    }
    for kind in iowhy_probe::KINDS {
        add("kinds", kind.name, kind.summary, kind.manual);
    }
    for view in iowhy_show::VIEWS {
        add("views", view.name, view.summary, view.manual);
    }
    for collector in iowhy_live::COLLECTORS {
        add("collectors", collector.name, collector.summary, collector.manual);
    }
    all
}

/// A line of a manual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line<'a> {
    /// A heading, without its marks.
    Heading(&'a str),
    /// Text, or nothing: an empty line ends a paragraph.
    Text(&'a str),
}

/// The lines of the `//!` header of a source file.
pub fn lines(source: &str) -> impl Iterator<Item = Line<'_>> {
    source.lines().map_while(|line| line.strip_prefix("//!")).map(|line| {
        let line = line.strip_prefix(' ').unwrap_or(line);
        line.strip_prefix("## ").map_or(Line::Text(line), Line::Heading)
    })
}

/// The header as text for a terminal; its headings stand out in capitals.
pub fn text(source: &str) -> String {
    let mut text = String::new();
    for line in lines(source) {
        match line {
            Line::Heading(heading) => text.push_str(&heading.to_uppercase()),
            Line::Text(line) => text.push_str(line),
        }
        text.push('\n');
    }
    text
}
