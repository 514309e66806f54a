//! What a format is: a name, a manual, a way to recognise its first line, and a reader.

use iowhy_model::Level;

use crate::describe::document::{Content, DocumentReader};
use crate::describe::labels::{Labels, ReadyLabels};
use crate::describe::log::{Log, LogReader, Ready};
use crate::describe::table::{ReadyTable, Table, TableReader};
use crate::reader::{Detect, Reader};
use crate::text::document::sniff_document;

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
    /// The program that logs its lines, if what another one logs is none of them.
    pub speaker: &'static str,
    /// How its listings are recognised and read.
    pub body: Body,
}

/// The formats that are tried on an input.
#[derive(Clone, Copy, Default)]
pub struct Formats {
    /// The user's formats, which come before the built-in ones.
    pub own: &'static [Format],
    /// Every line is read as this one, without asking.
    pub only: Option<&'static Format>,
}

impl From<Option<&'static Format>> for Formats {
    fn from(only: Option<&'static Format>) -> Formats {
        Formats { own: &[], only }
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
        /// The first line of each listing contains one of these texts (`\d` at the end of one is
        /// any digit), or has a shape that is named here, such as `^number` (`index.rs`
        /// lists them); empty: every line is tried.
        needles: &'static [&'static str],
        /// Where a listing begins.
        sniff: Sniff,
        /// A reader for one listing.
        reader: fn() -> Box<dyn Reader>,
        /// Whether a listing that begins after prose continues the previous one. Two screens in one
        /// document are two clocks; records that carry their own clock are not.
        may_resume: bool,
    },
}

/// How a program recognises where a listing begins.
#[derive(Clone, Copy)]
pub enum Sniff {
    /// Whether it does at this line.
    Line(fn(&str) -> bool),
    /// Whether it does at the first of these lines.
    Lines(fn(&[&str]) -> Detect),
}

/// The formats of these files: the header of each is its manual, and its name is that of the file.
macro_rules! formats_of_files {
    ($($file:ident::FORMAT),* $(,)?) => {
        &[$($crate::format::Format {
            name: {
                const NAME: [u8; stringify!($file).len()] =
                    $crate::format::dashed(stringify!($file));
                match ::core::str::from_utf8(&NAME) {
                    Ok(name) => name,
                    Err(_) => "",
                }
            },
            manual: ::iowhy_model::manual!(concat!("formats/", stringify!($file), ".rs")),
            ..$file::FORMAT
        }),*]
    };
}
pub(crate) use formats_of_files;

/// The name of a file, with dashes.
pub(crate) const fn dashed<const N: usize>(file: &str) -> [u8; N] {
    let mut name = [b'-'; N];
    let mut place = 0;
    while place < N {
        if file.as_bytes()[place] != b'_' {
            name[place] = file.as_bytes()[place];
        }
        place += 1;
    }
    name
}

impl Format {
    const fn new(summary: &'static str, level: Level, body: Body) -> Format {
        Format { name: "", summary, manual: "", level, speaker: "", body }
    }

    /// A format that is a log; it has its name and its manual from the list.
    pub(crate) const fn log(summary: &'static str, level: Level, log: &'static Log) -> Format {
        Format::new(summary, level, Body::Log(log))
    }

    /// The same of a table.
    pub(crate) const fn table(summary: &'static str, level: Level, of: &'static Table) -> Format {
        Format::new(summary, level, Body::Table(of))
    }

    /// The same of a report.
    pub(crate) const fn labels(summary: &'static str, level: Level, of: &'static Labels) -> Format {
        Format::new(summary, level, Body::Labels(of))
    }

    /// The same of a program; its needles, and whether a listing begins at a line.
    pub(crate) const fn by_line<R: Reader + Default + 'static>(
        summary: &'static str,
        level: Level,
        needles: &'static [&'static str],
        begins: fn(&str) -> bool,
    ) -> Format {
        Format::custom::<R>(summary, level, needles, Sniff::Line(begins))
    }

    /// The same if more than one line may decide.
    pub(crate) const fn program<R: Reader + Default + 'static>(
        summary: &'static str,
        level: Level,
        needles: &'static [&'static str],
        sniff: fn(&[&str]) -> Detect,
    ) -> Format {
        Format::custom::<R>(summary, level, needles, Sniff::Lines(sniff))
    }

    /// The same of a program that reads a JSON document.
    pub(crate) const fn document<C: Content>(summary: &'static str, level: Level) -> Format {
        Format::program::<DocumentReader<C>>(summary, level, &["^document"], |lines| {
            sniff_document(lines, C::KEYS)
        })
    }

    const fn custom<R: Reader + Default + 'static>(
        summary: &'static str,
        level: Level,
        needles: &'static [&'static str],
        sniff: Sniff,
    ) -> Format {
        let reader: fn() -> Box<dyn Reader> = || Box::new(R::default());
        Format::new(summary, level, Body::Custom { needles, sniff, reader, may_resume: false })
    }

    /// Only this program logs its lines.
    pub(crate) const fn logged_by(self, speaker: &'static str) -> Format {
        Format { speaker, ..self }
    }

    /// A listing of the program that begins after prose is the one before going on.
    pub(crate) const fn resumed(self) -> Format {
        match self.body {
            Body::Custom { needles, sniff, reader, .. } => {
                Format { body: Body::Custom { needles, sniff, reader, may_resume: true }, ..self }
            }
            _ => self,
        }
    }

    /// Whether a listing of this format that begins after prose is the one before going on.
    pub(crate) fn may_resume(&self) -> bool {
        match self.body {
            Body::Log(_) => true,
            Body::Table(table) => table.may_resume,
            Body::Labels(labels) => labels.may_resume,
            Body::Custom { may_resume, .. } => may_resume,
        }
    }

    /// Texts, and names of shapes, one of which the first line of each of its listings has; none:
    /// any line may be one.
    pub(crate) fn needles(&self) -> Vec<&'static str> {
        match self.body {
            Body::Log(log) => Ready::known(log).needles().unwrap_or_default(),
            Body::Table(table) => ReadyTable::known(table).needles().unwrap_or_default(),
            Body::Labels(labels) => ReadyLabels::known(labels).needles().unwrap_or_default(),
            Body::Custom { needles, .. } => needles.to_vec(),
        }
    }

    /// Whether a listing of this format begins at the first of these lines.
    pub fn sniff(&self, lines: &[&str]) -> Detect {
        match self.body {
            Body::Log(log) => Ready::known(log).sniff(lines),
            Body::Table(table) => ReadyTable::known(table).sniff(lines),
            Body::Labels(labels) => ReadyLabels::known(labels).sniff(lines),
            Body::Custom { sniff: Sniff::Lines(sniff), .. } => sniff(lines),
            Body::Custom { sniff: Sniff::Line(begins), .. } => {
                lines.first().is_some_and(|line| begins(line)).into()
            }
        }
    }

    /// Whether a line contains a time that the reader of this format uses.
    pub(crate) fn is_timed(&self, line: &str) -> bool {
        match self.body {
            Body::Log(log) => Ready::known(log).moment(line).is_some(),
            Body::Table(_) | Body::Labels(_) | Body::Custom { .. } => false,
        }
    }

    /// The patterns of a described format, for documentation.
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
            Body::Labels(labels) => Box::new(labels.reader()),
            Body::Custom { reader, .. } => reader(),
        }
    }
}
