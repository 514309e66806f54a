//! How a format is asked for its listings and reads them: what the scan and every format agree on.

use std::io::BufRead;

use iowhy_model::Sink;

/// The answer to "does a listing of yours begin here?".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sniff {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// One more line is needed to tell. Ask for as few as possible: a live pipe waits for them.
    More,
    /// The same, and one line settles it, whatever stands before or behind that line: it may be
    /// shown many lines at once, and the first with a single other one.
    MoreAtOnce,
}

impl Sniff {
    /// Of a listing that a line begins, or that a line announces of which at most `near` come
    /// before it.
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

impl Step {
    /// It was meant to be part of the listing but could not be used, and why.
    pub(crate) fn skipped(why: &str) -> Step {
        Step::Skipped(why.to_string())
    }

    /// The same if this is so; else it is none of the listing's.
    pub(crate) fn skipped_if(is_meant: bool, why: &str) -> Step {
        if is_meant { Step::skipped(why) } else { Step::Passed }
    }
}

/// What a scan went through.
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
