//! Lines of bounded length, borrowed from one buffer, with a few read ahead.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{BufRead, Chain, Read, Result};
use std::ops::RangeInclusive;

use crate::BlockSize;
use crate::text::encoding::fill;
use crate::text::letters::{ESCAPE, cleaned, without_remark};

/// Longest line kept, bytes; of a longer one the rest is dropped and the loss is noted.
pub const LINE_LIMIT: usize = 1 << 20;
/// Characters of a bad line that are kept for the note.
pub(crate) const NOTE_TEXT: usize = 80;
/// Bytes taken over at a time: small enough for a core's own cache.
const BLOCK: usize = 1 << 17;
/// Bytes of a line that may have been broken where a mail or a page ends.
const BROKEN_AT: RangeInclusive<usize> = 50..=130;
/// Most lines, and bytes, that a row of an HTML table may be spread over.
const ROW_LINES: usize = 200;
const ROW_BYTES: usize = 1 << 14;

/// The place of a line; [`Lines::text`] is its text, until the next one is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Whether it was longer than [`LINE_LIMIT`].
    pub(crate) cut: bool,
    /// Whether a line end follows it; the last line of an input may have none.
    pub(crate) ended: bool,
    /// Whether it is a row of an HTML table that was on several lines, or was broken.
    joined: bool,
    start: usize,
    end: usize,
}

/// The lines of an input. Places count the bytes kept since its beginning.
pub(crate) struct Lines<'a> {
    reader: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    /// The place of the buffer's first byte.
    base: usize,
    /// Where the current line begins; what precedes it is finished.
    current: usize,
    /// Where the first line begins that was not searched for yet.
    fresh: usize,
    /// Lines found ahead of time.
    pending: VecDeque<Line>,
    found: u64,
    /// The place after the last escape: no line that begins later has a colour.
    escaped: usize,
    /// Number of the current line.
    pub(crate) number: u64,
    /// Bytes of all lines found.
    pub(crate) bytes: u64,
    /// The text of the line that was repaired last, and its place: it is used several times.
    repaired: RefCell<(usize, String)>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(reader: &'a mut dyn BufRead) -> Self {
        let pending = VecDeque::new();
        let (base, current, fresh, found, escaped, number, bytes) = (0, 0, 0, 0, 0, 0, 0);
        let (buffer, repaired) = (Vec::new(), RefCell::new((usize::MAX, String::new())));
        Lines {
            reader,
            buffer,
            base,
            current,
            fresh,
            pending,
            found,
            escaped,
            number,
            bytes,
            repaired,
        }
    }

    /// The next line; the one before can no longer be read.
    pub(crate) fn next(&mut self) -> Result<Option<Line>> {
        let ahead = self.pending.pop_front();
        self.current = ahead.map_or(self.fresh, |line| line.start);
        let line = if ahead.is_some() { ahead } else { self.find()? };
        if let Some(line) = &line {
            self.number = line.number;
        }
        Ok(line)
    }

    /// Makes sure that `count` lines after the current one are known; false if the input ends
    /// before.
    pub(crate) fn look_ahead(&mut self, count: usize) -> Result<bool> {
        while self.pending.len() < count {
            match self.find()? {
                Some(line) => self.pending.push_back(line),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The current line with the next one behind it, which is no longer ahead: a mail program or a
    /// page may have broken it. None if it has not the width for that, or the rest is as long;
    /// [`Lines::unjoin`] undoes it.
    pub(crate) fn join(&mut self, line: Line) -> Result<Option<(Line, Line)>> {
        let is_wide = |line: &Line| BROKEN_AT.contains(&(line.end - line.start));
        if line.joined || line.cut || !is_wide(&line) || !self.look_ahead(1)? {
            return Ok(None);
        }
        let Some(next) = self.pending.front().copied() else { return Ok(None) };
        let rest = self.bytes_of(next.start, next.end).trim_ascii();
        if rest.is_empty() || next.end - next.start >= line.end - line.start {
            return Ok(None);
        }
        self.pending.pop_front();
        let joined = Line { joined: true, end: next.end, ended: next.ended, ..line };
        Ok(Some((joined, next)))
    }

    /// Puts a line back that was joined to the current one.
    pub(crate) fn unjoin(&mut self, next: Line) {
        self.pending.push_front(next);
    }

    /// The known lines after the current one.
    pub(crate) fn ahead(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.ahead_from(0)
    }

    /// The same without the first `count` of them.
    pub(crate) fn ahead_from(&self, count: usize) -> impl Iterator<Item = Cow<'_, str>> {
        self.pending.iter().skip(count).map(|line| self.text(*line))
    }

    /// How many are known.
    pub(crate) fn ahead_count(&self) -> usize {
        self.pending.len()
    }

    /// How many of these have a number up to `number`.
    pub(crate) fn ahead_to(&self, number: u64) -> usize {
        self.pending.iter().take_while(|line| line.number <= number).count()
    }

    /// The number of the last of the first `count` of these; 0 if there is none.
    pub(crate) fn ahead_number_of(&self, count: usize) -> u64 {
        let last = count.min(self.pending.len()).checked_sub(1);
        last.and_then(|last| self.pending.get(last)).map_or(0, |line| line.number)
    }

    /// The text of a line, without its end and without an arrow and words that were added after it.
    /// Broken characters are replaced; so are colours and letters that replaced others
    /// ([`cleaned`]).
    pub(crate) fn text(&self, line: Line) -> Cow<'_, str> {
        let bytes = self.bytes_of(line.start, line.end);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if line.joined {
            let row = String::from_utf8_lossy(bytes).replace(['\n', '\r'], " ");
            return Cow::Owned(cleaned(&row).into_owned());
        }
        let printed = match str::from_utf8(bytes) {
            Ok(text) if line.start >= self.escaped && text.is_ascii() => Cow::Borrowed(text),
            Ok(text) => cleaned(text),
            Err(_) => {
                let mut known = self.repaired.borrow_mut();
                if known.0 != line.start {
                    *known = (line.start, cleaned(&String::from_utf8_lossy(bytes)).into_owned());
                }
                Cow::Owned(known.1.clone())
            }
        };
        match printed {
            Cow::Borrowed(text) => Cow::Borrowed(without_remark(text)),
            Cow::Owned(mut text) => {
                text.truncate(without_remark(&text).len());
                Cow::Owned(text)
            }
        }
    }

    /// The whole lines after the current one that need no more reading; empty if some were read
    /// ahead.
    pub(crate) fn block(&self) -> &[u8] {
        if !self.pending.is_empty() || self.fresh < self.escaped {
            return &[];
        }
        let fresh = self.buffer.get(self.fresh - self.base..).unwrap_or_default();
        let end = memchr::memrchr(b'\n', fresh).map_or(0, |place| place + 1);
        fresh.get(..end).unwrap_or_default()
    }

    /// The length of the block that was read.
    pub(crate) fn skip(&mut self, taken: BlockSize) {
        self.fresh += taken.bytes;
        self.bytes += taken.bytes as u64;
        self.found += taken.lines;
        self.number += taken.lines;
    }

    /// Everything from the beginning of the current line on, as bytes.
    pub(crate) fn rest(&mut self) -> Rest<'_> {
        let before = self.bytes - (self.fresh - self.current) as u64;
        let skip = self.current - self.base;
        self.pending.clear();
        (self.current, self.fresh) = (self.base + self.buffer.len(), self.base + self.buffer.len());
        self.bytes = before;
        let head = self.buffer.get(skip..).unwrap_or_default();
        let reader: &mut dyn BufRead = self.reader;
        Rest { input: head.chain(reader), bytes: &mut self.bytes }
    }

    fn bytes_of(&self, start: usize, end: usize) -> &[u8] {
        self.buffer.get(start - self.base..end - self.base).unwrap_or_default()
    }

    /// Finds the line that begins at `fresh`; a row of an HTML table is one line.
    fn find(&mut self) -> Result<Option<Line>> {
        let Some(mut line) = self.physical()? else { return Ok(None) };
        if !self.opens_row(&line) {
            return Ok(Some(line));
        }
        for _ in 0..ROW_LINES {
            let text = self.bytes_of(line.start, line.end);
            if text.len() > ROW_BYTES || memchr::memmem::find(text, b"</tr").is_some() {
                break;
            }
            let Some(more) = self.physical()? else { break };
            line = Line { joined: true, end: more.end, ended: more.ended, ..line };
        }
        Ok(Some(line))
    }

    /// Whether a row of an HTML table begins here and continues below.
    fn opens_row(&self, line: &Line) -> bool {
        let text = self.bytes_of(line.start, line.end).trim_ascii_start();
        text.starts_with(b"<tr") && !line.cut
    }

    /// Finds the end of the line that begins at `fresh`.
    fn physical(&mut self) -> Result<Option<Line>> {
        let start = self.fresh;
        let mut searched = start;
        let mut dropped = 0;
        let (end, next) = loop {
            let unsearched = self.buffer.get(searched - self.base..).unwrap_or_default();
            if let Some(place) = memchr::memchr(b'\n', unsearched) {
                break (searched + place, searched + place + 1);
            }
            searched = self.base + self.buffer.len();
            if searched > start + LINE_LIMIT + 1 {
                // One byte more than the limit is kept, to show that there was more.
                dropped += searched - (start + LINE_LIMIT + 1);
                searched = start + LINE_LIMIT + 1;
                self.buffer.truncate(searched - self.base);
            }
            if !self.fill()? {
                if searched == start {
                    return Ok(None);
                }
                break (searched, searched);
            }
        };
        self.fresh = next;
        self.found += 1;
        self.bytes += (next - start + dropped) as u64;
        let cut = end - start > LINE_LIMIT;
        let ended = next > end;
        let end = end.min(start + LINE_LIMIT);
        Ok(Some(Line { number: self.found, cut, ended, joined: false, start, end }))
    }

    /// Reads more of the input and forgets what precedes the current line; false at
    /// the end.
    fn fill(&mut self) -> Result<bool> {
        self.buffer.drain(..self.current - self.base);
        self.base = self.current;
        let chunk = fill(self.reader)?;
        let part = &chunk[..chunk.len().min(BLOCK)];
        if let Some(place) = memchr::memrchr(ESCAPE, part) {
            self.escaped = self.base + self.buffer.len() + place + 1;
        }
        self.buffer.extend_from_slice(part);
        let taken = part.len();
        self.reader.consume(taken);
        Ok(taken > 0)
    }
}

/// The rest of an input, as bytes.
pub(crate) struct Rest<'a> {
    input: Chain<&'a [u8], &'a mut dyn BufRead>,
    bytes: &'a mut u64,
}

impl Read for Rest<'_> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut chunk = self.fill_buf()?;
        let count = chunk.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Rest<'_> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        *self.bytes += count as u64;
        self.input.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out a few bytes at a time, as a pipe may.
    struct Drops<'a>(&'a [u8], usize);

    impl Read for Drops<'_> {
        fn read(&mut self, into: &mut [u8]) -> Result<usize> {
            self.0.read(into)
        }
    }

    impl BufRead for Drops<'_> {
        fn fill_buf(&mut self) -> Result<&[u8]> {
            Ok(&self.0[..self.0.len().min(self.1)])
        }

        fn consume(&mut self, count: usize) {
            self.0 = &self.0[count..];
        }
    }

    #[test]
    fn lines_are_the_same_in_drops_of_any_size() {
        let text = "first\n\r\nna\u{a0}\u{ef}ve\r\nlast".as_bytes();
        for size in 1..text.len() {
            let mut drops = Drops(text, size);
            let mut lines = Lines::new(&mut drops);
            let mut seen = Vec::new();
            while let Some(line) = lines.next().unwrap() {
                lines.look_ahead(size % 3).unwrap();
                seen.push(lines.text(line).into_owned());
            }
            assert_eq!(seen, ["first", "", "na \u{ef}ve", "last"]);
            assert_eq!((lines.number, lines.bytes), (4, text.len() as u64));
        }
    }

    #[test]
    fn a_line_past_the_limit_is_cut_and_the_next_is_whole() {
        for extra in [0, 1, 2, BLOCK, 3 * BLOCK] {
            let mut text = vec![b'x'; LINE_LIMIT + extra];
            text.extend_from_slice(b"\nnext\n");
            let mut drops = Drops(&text, 1000);
            let mut lines = Lines::new(&mut drops);
            let line = lines.next().unwrap().unwrap();
            assert_eq!((line.cut, lines.text(line).len()), (extra > 0, LINE_LIMIT));
            let line = lines.next().unwrap().unwrap();
            assert_eq!((line.cut, &*lines.text(line)), (false, "next"));
            assert!(lines.next().unwrap().is_none());
            assert_eq!(lines.bytes, text.len() as u64);
        }
    }

    #[test]
    fn the_rest_begins_with_the_current_line() {
        let mut drops = Drops(b"one\ntwo\nthree\nfour", 5);
        let mut lines = Lines::new(&mut drops);
        lines.next().unwrap();
        lines.next().unwrap();
        lines.look_ahead(1).unwrap();
        let mut rest = String::new();
        lines.rest().read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "two\nthree\nfour");
        assert!(lines.next().unwrap().is_none());
        assert_eq!(lines.bytes, 18);
    }
}
