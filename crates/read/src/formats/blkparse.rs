//! blkparse: a trace of the block layer as text, one line per step of each request.
//!
//! ## Reads
//! What `blkparse` prints: `8,16 3 3 0.000000000 1003 Q WS 29826448 + 32 [fio]`, that is device,
//! CPU, number, time, process, step, kind, sector and length. Steps of one request become one
//! event, as in `blktrace`. Lines of other formats (`-f`) are understood if they contain a time
//! with nine decimals, the step directly before the kind, and then the sector and `+` length;
//! fields may be separated by commas.
//!
//! ## How to capture
//! `blkparse -i sdb`, or `blktrace -d /dev/sdb -o - | blkparse -i -`, both of package blktrace.
//! Public collections of traces (SNIA IOTTA) use this text. The binary files contain more, and
//! iowhy reads them faster.
//!
//! ## Versions
//! The default line has not changed since 2006. `-t` adds a time in parentheses, which is ignored.
//!
//! ## Caveats
//! A line without sector is an empty flush; it counts as sector 0. Without a device (`-f`) all
//! lines belong to one device without name. A `-f` format that prints bytes (`%N`) instead of
//! sectors is read as sectors. The totals at the end are not read, except `Skips`, which counts
//! records missed by blkparse.
//!
//! ## Not in this output
//! Data that blkparse omits silently: truncated ends, files after a damaged record, version 2
//! files. Names of devices with dynamic numbers: they stay `253:0`. Missing lines: its sequence
//! numbers also have gaps when it filters.

use iowhy_model::{DeviceId, Flags, Name};

use crate::device_of_numbers;
use crate::program::*;
use crate::text::recent::RecentNames;
use crate::text::repair::has_odd;
use crate::trace::pairing::{Action, Pairing, Point};

pub(super) const FORMAT: Format = Format::by_line::<Blkparse>(
    "block layer traces printed by blkparse",
    Level::D,
    &["^nanoseconds"],
    begins,
);

/// Decimals blkparse prints of a second (`%t`, nanoseconds).
const DECIMALS: usize = 9;

fn begins(line: &str) -> bool {
    EventLine::of(line).is_some_and(|row| !row.device.is_empty() || row.sectors.is_some())
}

#[derive(Default)]
struct Blkparse {
    pairing: Pairing,
    device: RecentNames<DeviceId>,
    comm: RecentNames<Name>,
    begun: bool,
    /// The totals after the trace have begun.
    totals: bool,
}

impl Reader for Blkparse {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some(row) = EventLine::of(line) else { return self.other(line, sink) };
        if row.sectors.is_none() && row.sector.is_some() && has_odd(line) {
            return Step::skipped("its length is not a number");
        }
        if !std::mem::replace(&mut self.begun, true) {
            sink.source().resolution = Some(Nanos(1));
        }
        if let Some(action) = row.action() {
            let point = self.point(&row, sink);
            self.pairing.take(action, &point, sink);
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.pairing.finish(sink);
    }
}

impl Blkparse {
    fn point(&mut self, row: &EventLine, sink: &mut dyn Sink) -> Point {
        let name = |text: &str| device_of_numbers(text).unwrap_or_default();
        let bytes = row.sectors.unwrap_or(0).saturating_mul(512);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let begins = row.step != "C";
        let comm = row.bracket.filter(|text| begins && !text.is_empty());
        Point {
            at: Time::from_ns(row.time),
            device: self.device.get(row.device, |text| sink.device(&name(text))),
            sector: row.sector.unwrap_or(0),
            bytes,
            op: if bytes == 0 && row.may_be_flush() { Op::Flush } else { row.op },
            flags: row.flags,
            pid: row.pid.filter(|_| begins),
            comm: comm.map(|text| self.comm.get(text, |text| sink.name(text))),
            error: row.bracket.filter(|_| !begins).and_then(errno),
        }
    }

    /// A line that is not a step: a total, or prose.
    fn other(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some(skips) = text.strip_prefix("Skips:") {
            let count = skips.split('(').nth(1).and_then(|text| text.split_whitespace().next());
            sink.lost("records blkparse missed", count.and_then(integer).unwrap_or(0));
            return Step::Consumed;
        }
        self.totals |= text.starts_with("CPU") || text.starts_with("Total (");
        let numbers = text.split([',', ' ']).next().unwrap_or_default();
        let by_number = !numbers.is_empty() && numbers.bytes().all(|byte| byte.is_ascii_digit());
        match self.totals {
            true => Step::Consumed,
            // `8,0 3 11 0.5 697 G W 223490 + 8 [x]`, one of them none.
            false if by_number && text.split_whitespace().count() >= STEP_WORDS => {
                Step::skipped("a field of the step is invalid")
            }
            false => Step::NotMine,
        }
    }
}

/// Fields of a step at least: device, CPU, number, time, process, step, operation.
const STEP_WORDS: usize = 7;

/// A line's fields.
struct EventLine<'a> {
    device: &'a str,
    time: i64,
    pid: Option<u32>,
    step: &'a str,
    op: Op,
    flags: Flags,
    sector: Option<u64>,
    sectors: Option<u64>,
    /// Where the second part of a split begins.
    split: Option<u64>,
    /// The process, or the error of a completion.
    bracket: Option<&'a str>,
}

impl<'a> EventLine<'a> {
    fn of(line: &'a str) -> Option<EventLine<'a>> {
        let decimals = |point: usize| {
            let behind = line.as_bytes().get(point + 1..point + 1 + DECIMALS);
            behind.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
        };
        if !memchr::memchr_iter(b'.', line.as_bytes()).any(decimals) {
            return None;
        }
        let mut words = Words(line);
        let mut row = EventLine {
            device: "",
            time: 0,
            pid: None,
            step: "",
            op: Op::Other,
            flags: Flags::default(),
            sector: None,
            sectors: None,
            split: None,
            bracket: None,
        };
        let mut time = None;
        let mut before = "";
        loop {
            let word = words.next()?;
            if time.is_none() && is_time(word) {
                time = fixed(word, DECIMALS as u32);
            } else if row.device.is_empty() && is_pair(word) {
                row.device = word;
            } else if time.is_some() && row.pid.is_none() && integer(word).is_some() {
                row.pid = integer(word).and_then(|pid| u32::try_from(pid).ok());
            } else if is_step(before)
                && let Some((op, flags)) = Flags::from_rwbs(word)
            {
                (row.step, row.op, row.flags) = (before, op, flags);
                break;
            }
            before = word;
        }
        row.time = time?;
        let rest = words.0;
        row.bracket = rest
            .split_once('[')
            .and_then(|(_, text)| text.rsplit_once(']'))
            .map(|(inside, _)| inside.trim());
        let mut words = Words(rest.split(['[', '(']).next().unwrap_or_default());
        row.sector = words.next().and_then(integer);
        match words.next() {
            // A size that is none makes a step of another request.
            Some("+") => row.sectors = Some(words.next().and_then(integer)?),
            Some("/") => row.split = words.next().and_then(integer),
            other => row.sectors = other.and_then(integer),
        }
        Some(row)
    }

    /// Without bytes it is: `FWS` for the sender, `FN` for the device.
    fn may_be_flush(&self) -> bool {
        self.op == Op::Write || self.flags.has(Flags::PREFLUSH)
    }

    fn action(&self) -> Option<Action> {
        Some(match self.step {
            "Q" => Action::Queue,
            "G" => Action::Get,
            "I" => Action::Insert,
            "D" => Action::Issue,
            "C" => Action::Complete,
            "R" => Action::Requeue,
            "M" => Action::BackMerge,
            "F" => Action::FrontMerge,
            "X" => Action::Split(self.split?),
            _ => return None,
        })
    }
}

/// Words between blanks or commas; two numbers with a comma between them are one word.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start_matches([' ', '\t', ',']);
        // No further than to the next comma: a line of a million commas is one word a comma.
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        let word = text.get(..pair(text, end).unwrap_or(end)).unwrap_or(text);
        self.0 = text.get(word.len()..).unwrap_or_default();
        (!word.is_empty()).then_some(word)
    }
}

fn is_time(word: &str) -> bool {
    word.split_once('.').is_some_and(|(whole, decimals)| {
        integer(whole).is_some() && decimals.len() == DECIMALS && integer(decimals).is_some()
    })
}

fn is_pair(word: &str) -> bool {
    let numbers = word.split_once(',');
    numbers.is_some_and(|(major, minor)| integer(major).is_some() && integer(minor).is_some())
}

/// Where a pair of numbers ends, if the word before the first comma begins one.
fn pair(text: &str, comma: usize) -> Option<usize> {
    let (major, rest) = text.split_at_checked(comma)?;
    let rest = rest.strip_prefix(',').filter(|_| integer(major).is_some())?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let minor = rest.get(..digits).filter(|minor| integer(minor).is_some())?;
    let ends = matches!(rest.as_bytes().get(digits), None | Some(b' ' | b'\t'));
    ends.then_some(comma + 1 + minor.len())
}

/// The letters blkparse prints for steps, `m` for a message among them.
fn is_step(word: &str) -> bool {
    let letters = ["A", "B", "C", "D", "F", "G", "I", "M", "P", "Q", "R", "S", "U", "UT", "X", "m"];
    letters.contains(&word)
}

/// `[0]` is success, `[-5]` or `[65531]` error 5.
fn errno(text: &str) -> Option<u16> {
    let number: i32 = text.parse().ok()?;
    let number = (number as i16).unsigned_abs();
    (number != 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_of_numbers_is_one_word() {
        let words = |text| Words(text).collect::<Vec<_>>();
        assert_eq!(words("8,16\t3, 4 8,x 5"), ["8,16", "3", "4", "8", "x", "5"]);
        assert_eq!(words("8,16,3 a,b"), ["8", "16,3", "a", "b"]);
        assert_eq!(words(",,,"), [""; 0]);
    }
}
