//! What a format is: a name, a manual, a way to recognise its first line, and a reader.

use std::io::BufRead;

use iowhy_model::{Level, Sink};

use crate::describe::labels::{Labels, LabelsReader, ReadyLabels};
use crate::describe::log::{Log, LogReader, Ready};
use crate::describe::table::{ReadyTable, Table, TableReader};

/// A format of the list in `formats.rs`.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name everywhere: command line, samples folder, manual; the file's name with dashes.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// The source text of its file, whose header is its manual.
    pub manual: &'static str,
    /// The level its records reach.
    pub level: Level,
    /// How its listings are recognised and read.
    pub body: Body,
}

/// Which formats are looked for in an input.
#[derive(Clone, Copy, Default)]
pub struct Formats {
    /// Those of the user, which are asked before those of the program.
    pub own: &'static [Format],
    /// Every line is read as this one, without asking.
    pub only: Option<&'static Format>,
}

impl From<Option<&'static Format>> for Formats {
    fn from(only: Option<&'static Format>) -> Formats {
        Formats { own: &[], only }
    }
}

impl Formats {
    /// The format of a name.
    pub fn find(&self, name: &str) -> Option<&'static Format> {
        self.own.iter().find(|format| format.name == name).or_else(|| crate::find(name))
    }
}

/// How listings of a format are recognised and read.
#[derive(Clone, Copy)]
pub enum Body {
    /// By its sentences.
    Log(&'static Log),
    /// By the columns of its heading.
    Table(&'static Table),
    /// By what its lines and labels say.
    Labels(&'static Labels),
    /// By a program.
    Custom {
        /// One of these texts stands in the first line of each listing (`\d` at the end of one is any digit), or the line
        /// has a shape that is named here, such as `^number` (`index.rs` lists them); empty: every line is asked about.
        needles: &'static [&'static str],
        /// Whether a listing begins at the first of these lines.
        sniff: fn(&[&str]) -> Sniff,
        /// A reader for one listing.
        reader: fn() -> Box<dyn Reader>,
    },
}

impl Format {
    /// Texts, and names of shapes, one of which the first line of each of its listings has; none: any line may be one.
    pub(crate) fn needles(&self) -> Vec<&'static str> {
        match self.body {
            Body::Log(log) => Ready::known(log).needles().unwrap_or_default(),
            Body::Table(table) => ReadyTable::known(table).needles().unwrap_or_default(),
            Body::Labels(labels) => ReadyLabels::known(labels).needles().unwrap_or_default(),
            Body::Custom { needles, .. } => needles.to_vec(),
        }
    }

    /// Whether a listing of this format begins at the first of these lines.
    pub fn sniff(&self, lines: &[&str]) -> Sniff {
        match self.body {
            Body::Log(log) => Ready::known(log).sniff(lines),
            Body::Table(table) => ReadyTable::known(table).sniff(lines),
            Body::Labels(labels) => ReadyLabels::known(labels).sniff(lines),
            Body::Custom { sniff, .. } => sniff(lines),
        }
    }

    /// Whether a line bears a time that a reader of this format reads, wherever in it.
    pub(crate) fn is_timed(&self, line: &str) -> bool {
        match self.body {
            Body::Log(log) => Ready::known(log).moment(line).is_some(),
            Body::Table(_) | Body::Labels(_) | Body::Custom { .. } => false,
        }
    }

    /// How it recognises its lines, of a described format: for who wants to know what is read.
    pub fn description(&self) -> Option<String> {
        match self.body {
            Body::Log(log) => Some(log.description()),
            Body::Table(table) => Some(table.description()),
            Body::Labels(labels) => Some(labels.description()),
            Body::Custom { .. } => None,
        }
    }

    /// A reader for one listing.
    pub fn reader(&self) -> Box<dyn Reader> {
        match self.body {
            Body::Log(log) => Box::new(LogReader::of(Ready::known(log))),
            Body::Table(table) => Box::new(TableReader::of(ReadyTable::known(table))),
            Body::Labels(labels) => Box::new(LabelsReader::of(ReadyLabels::known(labels))),
            Body::Custom { reader, .. } => reader(),
        }
    }
}

/// The answer to "does a listing of yours begin here?".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sniff {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// One more line is needed to tell. Ask for as few as possible: a live pipe waits for them.
    More,
    /// The same, and one line settles it, whatever stands before or behind that line: it may be shown many
    /// lines at once, and the first with a single other one.
    MoreAtOnce,
}

impl Sniff {
    /// Of a listing that a line begins, or that a line announces of which at most `near` come before it.
    pub(crate) fn announced(
        lines: &[&str],
        near: usize,
        begins: fn(&str) -> bool,
        announces: fn(&str) -> bool,
    ) -> Sniff {
        let Some((first, rest)) = lines.split_first() else { return Sniff::No };
        match rest {
            _ if begins(first) => Sniff::Yes,
            _ if !announces(first) => Sniff::No,
            [.., last] if begins(last) => Sniff::Yes,
            _ if rest.len() < near => Sniff::More,
            _ => Sniff::No,
        }
    }
}

impl From<bool> for Sniff {
    fn from(yes: bool) -> Self {
        if yes { Sniff::Yes } else { Sniff::No }
    }
}

/// Reads one listing, line by line.
pub trait Reader {
    /// Takes the next line (no line end). The first line offered is the one that was sniffed.
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step;

    /// A line of prose right above the listing, the nearest last: a heading, a banner or a command
    /// may say what the listing does not. Most formats have no need of it.
    fn above(&mut self, line: &str) {
        let _ = line;
    }

    /// Takes whole lines from the front of a block while that is quicker than one by one, and
    /// leaves the rest to [`Reader::line`]: what it takes, `line` would have answered with
    /// [`Step::Took`], and poured the same. Each line of the block ends with `\n`; the bytes are as
    /// they came. Most formats have no need of it.
    fn block(&mut self, block: &[u8], sink: &mut dyn Sink) -> BlockSize {
        let _ = (block, sink);
        BlockSize::default()
    }

    /// Whether a listing of the same format that begins behind prose is this one going on. Two
    /// screens in one document are two clocks; records that carry their own clock are not.
    fn resumes(&self) -> bool {
        false
    }

    /// Whether a line behind prose can only be a row of this listing, though a listing may begin so
    /// where its heading is missing.
    fn owns(&self, line: &str) -> bool {
        let _ = line;
        false
    }

    /// The listing is over (other text begins, or the input ends): give out what is pending.
    fn finish(&mut self, sink: &mut dyn Sink) {
        let _ = sink;
    }

    /// The same reader for bytes, if the format is binary; then it is offered no lines.
    fn binary(&mut self) -> Option<&mut dyn Binary> {
        None
    }
}

/// How much of a block a reader took.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BlockSize {
    /// Whole lines.
    pub lines: u64,
    /// Their bytes, ends included.
    pub bytes: usize,
}

/// Reads one binary listing to the end of the input.
pub trait Binary {
    /// Reads everything from the first byte of the sniffed line on. Damage is said to the sink.
    ///
    /// # Errors
    /// What the input says when it cannot be read on.
    fn read(&mut self, input: &mut dyn BufRead, sink: &mut dyn Sink) -> std::io::Result<()>;
}

/// What a reader did with a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// It was part of the listing.
    Took,
    /// It was meant to be part of the listing but could not be used, and why.
    Skipped(String),
    /// It is none of the listing's; the listing may go on after it.
    Passed,
    /// It is none of the listing's, and the listing is over.
    Ended,
}
