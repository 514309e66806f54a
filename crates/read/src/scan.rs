//! Walks an input once and finds each listing in it, wherever it stands.
//!
//! Outside a listing every line is offered to all formats; the one that says yes reads on from
//! there. Inside, its reader gets each line first; what it passes is prose unless another format
//! claims it. After prose a new heading begins a new listing, even of the same format: two
//! screens in one document are two clocks.

use std::collections::VecDeque;
use std::io::BufRead;

use iowhy_model::{Note, Sink, Source};

use crate::{Error, FORMATS, Format, Reader, Sniff, Step};

/// Longest line kept, bytes; of a longer one the rest is dropped and the loss is noted.
pub const LINE_LIMIT: usize = 1 << 20;
/// Most lines a format may ask for before it decides.
const HEAD_LIMIT: usize = 16;
/// Characters of a bad line that are kept for the note.
const NOTE_TEXT: usize = 80;

/// What a scan went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Lines read.
    pub lines: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Lines that belonged to no listing, blank ones not counted.
    pub prose: u64,
    /// Lines cut at [`LINE_LIMIT`].
    pub cut: u64,
    /// Listings found.
    pub listings: u64,
}

/// Reads all of `reader`, named `input` in messages, into `sink`; with `only`, every line is
/// given to that format without asking.
///
/// # Errors
/// [`Error::Empty`] and [`Error::Nothing`] if no listing was found; [`Error::Broken`] if the
/// input cannot be read on. In each case what was read before is in the sink.
pub fn scan(
    input: &str,
    reader: &mut dyn BufRead,
    only: Option<&'static Format>,
    sink: &mut dyn Sink,
) -> Result<Scan, Error> {
    let mut scanner =
        Scanner { input, lines: Lines::new(reader), only, open: None, scan: Scan::default() };
    let outcome = scanner.run(sink);
    scanner.close(sink);
    let scan = Scan { lines: scanner.lines.number, bytes: scanner.lines.bytes, ..scanner.scan };
    if let Err(cause) = outcome {
        let line = scan.lines + 1;
        return Err(Error::Broken { input: input.to_string(), line, byte: scan.bytes, cause });
    }
    match scan {
        Scan { listings: 0, bytes: 0, .. } => Err(Error::Empty { input: input.to_string() }),
        Scan { listings: 0, lines, .. } => Err(Error::Nothing { input: input.to_string(), lines }),
        _ => Ok(scan),
    }
}

struct Scanner<'a> {
    input: &'a str,
    lines: Lines<'a>,
    only: Option<&'static Format>,
    open: Option<Open>,
    scan: Scan,
}

/// The listing being read.
struct Open {
    reader: Box<dyn Reader>,
    /// Prose has stood between its last line and now.
    prose_since: bool,
}

impl Scanner<'_> {
    fn run(&mut self, sink: &mut dyn Sink) -> std::io::Result<()> {
        while let Some(line) = self.lines.next()? {
            if self.continues(&line, sink)? {
                continue;
            }
            match self.sniff(&line)? {
                Some(format) => self.begin(format, &line, sink),
                None => self.prose(&line),
            }
        }
        Ok(())
    }

    /// Offers a line to the open listing; false if it may begin another one.
    fn continues(&mut self, line: &Line, sink: &mut dyn Sink) -> std::io::Result<bool> {
        let Some(open) = &mut self.open else { return Ok(false) };
        if open.prose_since && self.sniff(line)?.is_some() {
            self.close(sink);
            return Ok(false);
        }
        let Some(open) = &mut self.open else { return Ok(false) };
        let step = if line.cut {
            Step::Skipped(format!("the line is longer than {LINE_LIMIT} bytes"))
        } else {
            open.reader.line(&line.text, sink)
        };
        match step {
            Step::Took => {
                open.prose_since = false;
                extend(sink, line.number);
            }
            Step::Skipped(reason) => {
                extend(sink, line.number);
                sink.skip(note(line, reason));
            }
            Step::Passed => {
                if self.sniff(line)?.is_some() {
                    self.close(sink);
                    return Ok(false);
                }
                self.prose(line);
            }
            Step::Ended => {
                self.close(sink);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn begin(&mut self, format: &'static Format, line: &Line, sink: &mut dyn Sink) {
        let mut source = Source::new(format.name, self.input, format.level);
        source.lines = Some((line.number, line.number));
        sink.begin(source);
        self.scan.listings += 1;
        let mut reader = (format.reader)();
        if let Step::Skipped(reason) = reader.line(&line.text, sink) {
            sink.skip(note(line, reason));
        }
        self.open = Some(Open { reader, prose_since: false });
    }

    fn close(&mut self, sink: &mut dyn Sink) {
        if let Some(mut open) = self.open.take() {
            open.reader.finish(sink);
            if sink.source().records == 0 && sink.source().skipped == 0 {
                self.scan.listings -= 1;
            }
            sink.end();
        }
    }

    fn prose(&mut self, line: &Line) {
        if line.cut {
            self.scan.cut += 1;
        }
        let text = line.text.trim();
        if text.is_empty() {
            return;
        }
        self.scan.prose += 1;
        let filler = matches!(text, "[...]" | "[…]" | "…") || text.bytes().all(|b| b == b'.');
        if let Some(open) = &mut self.open
            && !filler
        {
            open.prose_since = true;
        }
    }

    /// The format that says a listing of its own begins at this line. Two are a bug of ours (a
    /// test looks for it); the first of the list then reads.
    fn sniff(&mut self, line: &Line) -> std::io::Result<Option<&'static Format>> {
        if line.cut {
            return Ok(None);
        }
        let formats = match self.only {
            Some(only) if self.open.is_none() => return Ok(Some(only)),
            // Prose in a listing of a forced format does not end it; a heading of its own does.
            Some(only) => std::slice::from_ref(only),
            None => FORMATS,
        };
        for ahead in 0..HEAD_LIMIT {
            if ahead > 0 && !self.lines.ahead(ahead)? {
                break;
            }
            let mut head = vec![line.text.as_str()];
            head.extend(self.lines.pending.iter().take(ahead).map(|line| line.text.as_str()));
            let mut more = false;
            for format in formats {
                match (format.sniff)(&head) {
                    Sniff::Yes => return Ok(Some(format)),
                    Sniff::More => more = true,
                    Sniff::No => {}
                }
            }
            if !more {
                break;
            }
        }
        Ok(None)
    }
}

fn extend(sink: &mut dyn Sink, number: u64) {
    if let Some((_, last)) = &mut sink.source().lines {
        *last = number;
    }
}

fn note(line: &Line, reason: String) -> Note {
    Note { line: line.number, text: line.text.chars().take(NOTE_TEXT).collect(), reason }
}

struct Line {
    number: u64,
    text: String,
    cut: bool,
}

/// Lines of bounded length, with a few looked at ahead of time.
struct Lines<'a> {
    reader: &'a mut dyn BufRead,
    pending: VecDeque<Line>,
    number: u64,
    read: u64,
    bytes: u64,
}

impl<'a> Lines<'a> {
    fn new(reader: &'a mut dyn BufRead) -> Self {
        Lines { reader, pending: VecDeque::new(), number: 0, read: 0, bytes: 0 }
    }

    fn next(&mut self) -> std::io::Result<Option<Line>> {
        let line = match self.pending.pop_front() {
            Some(line) => Some(line),
            None => self.read()?,
        };
        if let Some(line) = &line {
            self.number = line.number;
        }
        Ok(line)
    }

    /// Makes sure `count` lines are pending; false if the input ends before.
    fn ahead(&mut self, count: usize) -> std::io::Result<bool> {
        while self.pending.len() < count {
            match self.read()? {
                Some(line) => self.pending.push_back(line),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    fn read(&mut self) -> std::io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let mut cut = false;
        let mut any = false;
        loop {
            let chunk = match self.reader.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if chunk.is_empty() {
                break;
            }
            any = true;
            let end = memchr::memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let room = LINE_LIMIT - bytes.len();
            cut |= part.len() > room;
            bytes.extend_from_slice(&part[..part.len().min(room)]);
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.bytes += used as u64;
            self.reader.consume(used);
            if end.is_some() {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        self.read += 1;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        Ok(Some(Line { number: self.read, text: plain_blanks(text), cut }))
    }
}

/// Tables copied from a web page are aligned with no-break spaces; readers expect plain ones.
fn plain_blanks(text: String) -> String {
    if text.is_ascii() || !text.contains('\u{a0}') { text } else { text.replace('\u{a0}', " ") }
}
