//! The interface between the scan and formats: how listings are detected and read.

use std::io::BufRead;

use iowhy_model::Sink;

/// The answer to "does a listing of yours begin here?".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detect {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// One more line is needed to decide. Request as few as possible: a live pipe waits for them.
    NeedLine,
    /// The same, decided by one line, whatever precedes or follows it: it may be
    /// shown many lines at once, and the first with a single other one.
    NeedLines,
}

impl Detect {
    /// For a listing that a line begins, or that a line announces at most `near` lines before it.
    pub(crate) fn announced(
        lines: &[&str],
        near: usize,
        begins: fn(&str) -> bool,
        announces: fn(&str) -> bool,
    ) -> Detect {
        let Some((first, rest)) = lines.split_first() else { return Detect::No };
        match rest {
            _ if begins(first) => Detect::Yes,
            _ if !announces(first) => Detect::No,
            [.., last] if begins(last) => Detect::Yes,
            _ if rest.len() < near => Detect::NeedLine,
            _ => Detect::No,
        }
    }
}

impl From<bool> for Detect {
    fn from(yes: bool) -> Self {
        if yes { Detect::Yes } else { Detect::No }
    }
}

/// Reads one listing, line by line.
pub trait Reader {
    /// Takes the next line (no line end). The first line offered is the one that was sniffed.
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step;

    /// A line of prose right above the listing, the nearest last: a heading, a banner or a command
    /// may show what the listing does not show. Most formats have no need of it.
    fn line_above(&mut self, line: &str) {
        let _ = line;
    }

    /// Reads whole lines from the front of a block while that is faster than one by one, and leaves
    /// the rest to [`Reader::line`]: for what it reads, `line` would have returned
    /// [`Step::Consumed`] and emitted the same. Each line of the block ends with `\n`; the bytes
    /// are as read. Most formats have no need of it.
    fn block(&mut self, block: &[u8], sink: &mut dyn Sink) -> BlockSize {
        let _ = (block, sink);
        BlockSize::default()
    }

    /// Whether a line after prose can only be a row of this listing, though a listing may begin so
    /// where its heading is missing.
    fn claims_row(&self, line: &str) -> bool {
        let _ = line;
        false
    }

    /// The listing has ended (other text begins, or the input ends): emit what is pending.
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
    /// Reads everything from the first byte of the sniffed line on. Damage is reported to the sink.
    ///
    /// # Errors If the input cannot be read any further.
    fn read(&mut self, input: &mut dyn BufRead, sink: &mut dyn Sink) -> std::io::Result<()>;
}

/// What a reader did with a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// It was part of the listing.
    Consumed,
    /// It was meant to be part of the listing but could not be used, and why.
    Malformed(String),
    /// It is not part of the listing, which may continue after it.
    NotMine,
    /// It is not part of the listing, which has ended.
    End,
}

/// A line that was taken, or why it could not be used.
impl<E: ToString> From<Result<(), E>> for Step {
    fn from(taken: Result<(), E>) -> Self {
        taken.map_or_else(|why| Step::Malformed(why.to_string()), |()| Step::Consumed)
    }
}

impl Step {
    /// It was meant to be part of the listing but could not be used, and why.
    pub(crate) fn skipped(why: &str) -> Step {
        Step::Malformed(why.to_string())
    }

    /// `Malformed` if this is true, else `NotMine`.
    pub(crate) fn skipped_if(is_meant: bool, why: &str) -> Step {
        if is_meant { Step::skipped(why) } else { Step::NotMine }
    }
}

/// The result of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Lines read.
    pub lines: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Lines that belonged to no listing, blank ones not counted.
    pub prose: u64,
    /// Lines cut at [`LINE_LIMIT`](crate::LINE_LIMIT).
    pub cut: u64,
    /// Listings found.
    pub listings: u64,
}
