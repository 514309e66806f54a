//! Walks an input once and finds each listing in it, wherever it stands.
//!
//! Outside a listing every line is offered to all formats; the one that says yes reads on from
//! there. Inside, its reader gets each line first; what it passes is prose unless another format
//! claims it. After prose a new heading begins a new listing, even of the same format: two
//! screens in one document are two clocks.

use std::io::BufRead;

use iowhy_model::{Note, Sink, Source};

use crate::damage::{BEFORE, BROKEN, CUT, is_broken, is_half};
use crate::lines::{LINE_LIMIT, Line, Lines};
use crate::{Error, FORMATS, Format, Reader, Sniff, Step};

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
    let mut scanner = Scanner {
        input,
        lines: Lines::new(reader),
        only,
        open: None,
        sniffed: None,
        broken: 0,
        half: None,
        scan: Scan::default(),
    };
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
    /// The line sniffed last, by its number, and the answer.
    sniffed: Option<(u64, Option<&'static Format>)>,
    /// Broken lines since the last listing.
    broken: u64,
    /// What to say of the last line of the input, if it has no end and stands in a listing.
    half: Option<Note>,
    scan: Scan,
}

/// The listing being read.
struct Open {
    format: &'static Format,
    reader: Box<dyn Reader>,
    /// Prose has stood between its last line and now.
    prose_since: bool,
}

impl Scanner<'_> {
    fn run(&mut self, sink: &mut dyn Sink) -> std::io::Result<()> {
        while let Some(line) = self.lines.next()? {
            if !self.continues(line, sink)? {
                match self.sniff(line)? {
                    Some(format) => self.begin(format, line, sink)?,
                    None => self.prose(line, sink),
                }
            }
            self.block(sink);
        }
        Ok(())
    }

    /// Offers the open listing all that has been read of the input, if it can take it at once.
    fn block(&mut self, sink: &mut dyn Sink) {
        let Some(open) = self.open.as_mut().filter(|open| !open.prose_since) else { return };
        let taken = open.reader.block(self.lines.block(), sink);
        if taken.lines > 0 {
            self.lines.skip(taken);
            extend(sink, self.lines.number);
        }
    }

    /// Offers a line to the open listing; false if it may begin another one.
    fn continues(&mut self, line: Line, sink: &mut dyn Sink) -> std::io::Result<bool> {
        let Some(open) = &mut self.open else { return Ok(false) };
        let ours = open.reader.resumes().then_some(open.format.name);
        if open.prose_since
            && let Some(format) = self.sniff(line)?
            && ours != Some(format.name)
        {
            self.close(sink);
            return Ok(false);
        }
        let Some(open) = &mut self.open else { return Ok(false) };
        let step = if line.cut {
            Step::Skipped(format!("the line is longer than {LINE_LIMIT} bytes"))
        } else {
            open.reader.line(&self.lines.text(line), sink)
        };
        match step {
            Step::Took => {
                open.prose_since = false;
                extend(sink, line.number);
                self.took(line, sink);
            }
            Step::Skipped(reason) => {
                extend(sink, line.number);
                sink.skip(self.note(line, reason));
            }
            Step::Passed => {
                if self.sniff(line)?.is_some() {
                    self.close(sink);
                    return Ok(false);
                }
                self.prose(line, sink);
            }
            Step::Ended => {
                self.close(sink);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn begin(
        &mut self,
        format: &'static Format,
        line: Line,
        sink: &mut dyn Sink,
    ) -> std::io::Result<()> {
        let mut source = Source::new(format.name, self.input, format.level);
        source.lines = Some((line.number, line.number));
        sink.begin(source);
        self.scan.listings += 1;
        sink.lost(BEFORE, std::mem::take(&mut self.broken));
        let open = self.open.insert(Open { format, reader: (format.reader)(), prose_since: false });
        if let Some(binary) = open.reader.binary() {
            return binary.read(&mut self.lines.rest(), sink);
        }
        match open.reader.line(&self.lines.text(line), sink) {
            Step::Took => self.took(line, sink),
            Step::Skipped(reason) => sink.skip(self.note(line, reason)),
            // Only where the format was forced: nobody asked whether a listing begins here.
            Step::Passed => self.prose(line, sink),
            Step::Ended => {
                self.close(sink);
                self.prose(line, sink);
            }
        }
        Ok(())
    }

    /// Looks for damage in a line that was understood.
    fn took(&mut self, line: Line, sink: &mut dyn Sink) {
        if is_broken(&self.lines.text(line)) {
            sink.lost(BROKEN, 1);
            sink.note(self.note(line, "bytes that no tool prints: damaged".to_string()));
        }
        self.ends(line);
    }

    /// Remembers the last line of the input, if it may be half of one.
    fn ends(&mut self, line: Line) {
        if is_half(&self.lines.text(line), line) {
            self.half = Some(self.note(line, "the input ends without a line end".to_string()));
        }
    }

    fn note(&self, line: Line, reason: String) -> Note {
        let text = self.lines.text(line).chars().take(NOTE_TEXT).collect();
        Note { line: line.number, text, reason }
    }

    fn close(&mut self, sink: &mut dyn Sink) {
        if let Some(mut open) = self.open.take() {
            let told = damages(sink);
            open.reader.finish(sink);
            // Readers that count brackets or declared totals know better what is missing.
            if let Some(note) = self.half.take().filter(|_| damages(sink) == told) {
                sink.lost(CUT, 1);
                sink.note(note);
            }
            if sink.source().records == 0 && sink.source().skipped == 0 {
                self.scan.listings -= 1;
            }
            sink.end();
        }
    }

    fn prose(&mut self, line: Line, sink: &mut dyn Sink) {
        if line.cut {
            self.scan.cut += 1;
        }
        let text = self.lines.text(line);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let broken = is_broken(text);
        if self.open.is_some() && broken {
            extend(sink, line.number);
            return sink.skip(self.note(line, "bytes that no tool prints: damaged".to_string()));
        }
        self.broken += u64::from(broken);
        self.scan.prose += 1;
        let filler = matches!(text, "[...]" | "[…]" | "…") || text.bytes().all(|b| b == b'.');
        if self.open.as_ref().is_some_and(|open| !open.prose_since) {
            self.ends(line);
        }
        if let Some(open) = &mut self.open
            && !filler
        {
            open.prose_since = true;
        }
    }

    /// The format that says a listing of its own begins at this line; asked once per line.
    fn sniff(&mut self, line: Line) -> std::io::Result<Option<&'static Format>> {
        if line.cut {
            return Ok(None);
        }
        let formats = match self.only {
            Some(only) if self.open.is_none() => return Ok(Some(only)),
            // Prose in a listing of a forced format does not end it; a heading of its own does.
            Some(only) => std::slice::from_ref(only),
            None => FORMATS,
        };
        match self.sniffed {
            Some((number, answer)) if number == line.number => Ok(answer),
            _ => {
                let answer = self.ask(formats, line)?;
                self.sniffed = Some((line.number, answer));
                Ok(answer)
            }
        }
    }

    /// The first of these formats that says yes; two are a bug of ours (a test looks for it).
    fn ask(
        &mut self,
        formats: &'static [Format],
        line: Line,
    ) -> std::io::Result<Option<&'static Format>> {
        for ahead in 0..HEAD_LIMIT {
            if ahead > 0 && !self.lines.look_ahead(ahead)? {
                break;
            }
            let mut texts = vec![self.lines.text(line)];
            texts.extend(self.lines.ahead().take(ahead));
            let head: Vec<&str> = texts.iter().map(|text| &**text).collect();
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

/// What is known to be lost of the open listing.
fn damages(sink: &mut dyn Sink) -> u64 {
    let source = sink.source();
    source.skipped.saturating_add(source.lost())
}

fn extend(sink: &mut dyn Sink, number: u64) {
    if let Some((_, last)) = &mut sink.source().lines {
        *last = number;
    }
}

/// What a text gives, for the tests of formats.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) fn recorded(text: &str) -> iowhy_model::Recording {
    let mut recording = iowhy_model::Recording::new();
    scan("test", &mut text.as_bytes(), None, &mut recording).unwrap();
    recording
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use iowhy_model::{Level, Recording};

    use super::*;

    thread_local! {
        static ASKED: Cell<u64> = const { Cell::new(0) };
    }

    /// Lines that begin with `#` begin a listing, numbers are its lines, `end` ends it.
    struct Numbers;

    impl Reader for Numbers {
        fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
            match line {
                "end" => Step::Ended,
                _ if line.starts_with('#') => {
                    sink.source().records += 1;
                    Step::Took
                }
                _ if line.parse::<u64>().is_ok() => Step::Took,
                _ => Step::Passed,
            }
        }
    }

    static NUMBERS: Format = Format {
        name: "numbers",
        summary: "",
        manual: "",
        level: Level::A,
        sniff: |lines| {
            ASKED.set(ASKED.get() + 1);
            Sniff::from(lines[0].starts_with('#'))
        },
        reader: || Box::new(Numbers),
    };

    fn scanned(text: &str) -> (Scan, Recording) {
        let mut recording = Recording::new();
        ASKED.set(0);
        let scan = scan("-", &mut text.as_bytes(), Some(&NUMBERS), &mut recording);
        (scan.expect("a listing"), recording)
    }

    #[test]
    fn a_forced_format_counts_as_prose_what_it_does_not_take() {
        let (scan, recording) = scanned("some words\n\n# heading\n1\n");
        assert_eq!((scan.listings, scan.prose), (1, 1));
        assert_eq!(recording.listings[0].source.lines, Some((3, 4)));
        let (scan, recording) = scanned("end\n# heading\n1\nend\nwords\n");
        assert_eq!((scan.listings, scan.prose), (1, 3));
        assert_eq!(recording.listings[0].source.lines, Some((2, 3)));
    }

    #[test]
    fn a_line_after_prose_is_sniffed_once() {
        let (scan, _) = scanned("# heading\nwords\nmore\nyet more\n");
        assert_eq!((scan.prose, ASKED.get()), (3, 3));
    }
}
