//! Everything that has a manual, and the manual's text: the `//!` header of its source file.

use crate::command;
use crate::words::WORDS;

/// One thing with a manual.
pub(crate) struct Entry {
    /// Its list: `commands`, `formats`, `verdicts`, `kinds`, `views`, `collectors`, `words` or
    /// `guides`.
    pub family: &'static str,
    /// Its name in that list.
    pub name: &'static str,
    /// Its summary, one line.
    pub summary: &'static str,
    /// The source text of its file.
    pub source: &'static str,
    /// For a described format, its patterns and their meaning.
    pub description: Option<String>,
}

/// All of them, list by list.
pub(crate) fn entries() -> Vec<Entry> {
    let mut all = Vec::new();
    let mut add = |family, name, summary, source| {
        all.push(Entry { family, name, summary, source, description: None });
    };
    for command in command::all() {
        add("commands", command.name, command.summary, command.manual);
    }
    for format in iowhy_read::FORMATS {
        add("formats", format.name, format.summary, format.manual);
    }
    let guide = "a file that describes your own formats, for `--formats`";
    add("guides", "own-formats", guide, iowhy_read::OWN_FORMATS);
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
    for (name, summary, text) in WORDS.iter().copied() {
        add("words", name, summary, text);
    }
    for entry in all.iter_mut().filter(|entry| entry.family == "formats") {
        entry.description = iowhy_read::find(entry.name).and_then(|format| format.description());
    }
    all
}

/// A line of a manual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Line<'a> {
    /// A heading, without its marks.
    Heading(&'a str),
    /// Text, or nothing: an empty line ends a paragraph.
    Text(&'a str),
    /// A line between fences, which are left out.
    Code(&'a str),
}

/// The lines of the `//!` header of a source file.
pub(crate) fn lines(source: &str) -> impl Iterator<Item = Line<'_>> {
    let mut code = false;
    source.lines().map_while(|line| line.strip_prefix("//!")).filter_map(move |line| {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.starts_with("```") {
            code = !code;
            return None;
        }
        let text = if code { Line::Code } else { Line::Text };
        Some(line.strip_prefix("## ").filter(|_| !code).map_or(text(line), Line::Heading))
    })
}

/// The header as text for a terminal, with headings in capitals and code indented.
pub(crate) fn text(source: &str) -> String {
    let mut text = String::new();
    for line in lines(source) {
        match line {
            Line::Heading(heading) => text.push_str(&heading.to_uppercase()),
            Line::Text(line) => text.push_str(line),
            Line::Code("") => {}
            Line::Code(line) => text.push_str(&format!("    {line}")),
        }
        text.push('\n');
    }
    text
}
