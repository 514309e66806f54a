//! strace -T: duration of I/O system calls; strace -c: their number.
//!
//! ## Reads
//! Calls that read, write or flush files, followed by the time of `-T`:
//! `pread64(5, ..., 16384, 81920) = 16384 <0.008312>`; with any of `-t`, `-tt`, `-ttt`, `-r`, `-f`,
//! `-y` before or inside. With times each becomes an event of a system call, without a histogram of
//! its kind. Of the table of `-c` counts become the fact `strace.calls`.
//!
//! ## How to capture
//! `strace -f -T -ttt -y -e trace=pread64,pwrite64,fsync,fdatasync -p PID`.
//!
//! ## Versions
//! strace 4 and later; `<unfinished ...>` and `<... fsync resumed>` are joined by their name.
//!
//! ## Caveats
//! A call waits for the page cache, the file system, locks and the device, and strace itself slows
//! each call by tens of microseconds. `read` and `write` on sockets and pipes wait for other
//! processes: with `-y` they are ignored; without it they cannot be distinguished, so only calls
//! with an offset or flushes are read. The seconds of `-c` are CPU time unless `-w` was given, not
//! a latency.
//!
//! ## Not in this output
//! The device and its share, calls of io_uring and mmap.

use std::collections::BTreeMap;

use iowhy_model::Edges;

use crate::program::*;
use crate::text::repair::has_odd;
use crate::text::words::is_for_people;
use crate::trace::syscalls::{file_of, file_op};

pub(super) const FORMAT: Format = Format::by_line::<Strace>(
    "strace -T, -c: time and number of system calls for I/O",
    Level::C,
    &[" <", ") = ", "usecs/call"],
    |line| {
        is_for_people(line) && (Call::of(line).is_some() || is_summary(line) || is_damaged(line))
    },
)
.resumed();

/// Whether a line is a call whose result or time is not a number.
fn is_damaged(line: &str) -> bool {
    let text = line.trim();
    if !text.ends_with('>') {
        return false;
    }
    let known = text.split_once('(').is_some_and(|(head, _)| {
        head.split_whitespace().next_back().is_some_and(|name| file_op(name).is_some())
    });
    let behind = text.rsplit_once(") = ").map_or("", |(_, behind)| behind);
    known && has_odd(behind) && Call::of(text).is_none()
}

/// One finished call.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Call<'a> {
    /// The words in front: process and time.
    front: &'a str,
    name: &'a str,
    arguments: &'a str,
    /// Its first half is on a line above.
    resumed: bool,
    /// Its return value, if that is a number.
    result: Option<i64>,
    ns: i64,
}

impl<'a> Call<'a> {
    fn of(line: &'a str) -> Option<Call<'a>> {
        let line = line.trim();
        let (rest, time) = line.strip_suffix('>')?.rsplit_once(" <")?;
        let places = time.split_once('.')?.1;
        let ns = fixed(time, 9).filter(|ns| *ns >= 0 && places.len() == 6)?;
        let (call, result) = rest.rsplit_once(" = ")?;
        let mut values = result.split_whitespace();
        let result = values.next()?;
        // A call that failed says why: `-1 EIO (Input/output error)`.
        let failed = values.next().is_some_and(|why| why.starts_with('E'));
        let sound = result.starts_with(|c: char| c.is_ascii_digit() || c == '?')
            || result.starts_with('-') && failed;
        let call = call.trim_end();
        // `<... fsync resumed>) = 0 <1.2>`: the first half is above.
        let resumed = call.contains("<... ");
        let (front, name, arguments) = match call.split_once("<... ") {
            Some((front, rest)) => {
                let (name, _) = rest.split_once(" resumed>")?;
                (front, name, "")
            }
            None => {
                let (head, arguments) = call.strip_suffix(')')?.split_once('(')?;
                let start = head.rfind(char::is_whitespace).map_or(0, |place| place + 1);
                let (front, name) = head.split_at_checked(start)?;
                (front, name, arguments)
            }
        };
        let named = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        let whole = sound && named && !name.is_empty();
        whole.then(|| Call { front, name, arguments, resumed, result: result.parse().ok(), ns })
    }

    /// The file that `-y` names; for what is not a file an empty text.
    fn file(&self) -> Option<&'a str> {
        integer(self.arguments.split_once('<')?.0)?;
        file_of(self.arguments)
    }
}

/// `% time     seconds  usecs/call     calls    errors syscall`.
fn is_summary(line: &str) -> bool {
    line.trim_start().starts_with('%')
        && line
            .split_whitespace()
            .eq(["%", "time", "seconds", "usecs/call", "calls", "errors", "syscall"])
}

#[derive(Default)]
struct Strace {
    /// Latencies of calls without a time.
    counted: BTreeMap<(&'static str, Op), Histogram>,
    first: Option<WallTime>,
    /// Sum of what `-r` printed, if that was how times were given.
    relative: f64,
    summary: bool,
}

impl Reader for Strace {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if is_summary(line) {
            self.summary = true;
            return Step::Consumed;
        }
        if self.summary {
            return counts(line, sink);
        }
        let Some(call) = Call::of(line) else {
            let text = line.trim_end();
            let ours = ["<unfinished ...>", " ---", " +++"].iter().any(|end| text.ends_with(end))
                || text.is_empty()
                || text.starts_with("strace: ");
            let resumed =
                text.split_once("<... ").and_then(|(_, rest)| rest.split_once(" resumed>"));
            // Cut in the middle: `pread64(5, "..."`.
            let cut = text.split_once('(').is_some_and(|(head, _)| {
                head.split_whitespace().next_back().is_some_and(|name| file_op(name).is_some())
            });
            return match (ours, cut) {
                (true, _) => Step::Consumed,
                (false, false) if resumed.is_some_and(|(name, _)| file_op(name).is_some()) => {
                    Step::skipped("the call has no duration")
                }
                (_, true) => Step::skipped("the call has no duration"),
                _ => Step::NotMine,
            };
        };
        self.call(&call, sink);
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for ((name, op), histogram) in std::mem::take(&mut self.counted) {
            let device = sink.device("system calls");
            let mut one = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
            one.op = Some(op);
            one.label = Some(sink.name(name));
            sink.distribution(one);
        }
    }
}

impl Strace {
    fn call(&mut self, call: &Call, sink: &mut dyn Sink) {
        let words: Vec<&str> = call.front.split_whitespace().collect();
        // `-r` prints seconds since the call before, `-ttt` seconds since 1970.
        let stamp = words.last().copied().filter(|word| word.contains([':', '.']));
        let relative = stamp.and_then(decimal).filter(|seconds| *seconds < 1e8);
        self.relative += relative.unwrap_or(0.0);
        let now = match (relative, stamp.and_then(WallTime::read)) {
            (Some(_), _) => Some(self.relative),
            (None, Some(now)) => now.since(*self.first.get_or_insert(now)),
            (None, None) => None,
        };
        let Some((op, of_file)) = file_op(call.name) else { return };
        let file = call.file();
        let failed = call.result.is_some_and(|result| result < 0);
        if failed || file == Some("") || file.is_none() && !of_file {
            return;
        }
        let Some(now) = now else {
            let kind = match op {
                Op::Read => "reads",
                Op::Write => "writes",
                _ => "flushes",
            };
            let empty = || Histogram::empty(Edges::standard());
            let ns = u64::try_from(call.ns).unwrap_or(0);
            self.counted.entry((kind, op)).or_insert_with(empty).record(ns);
            return;
        };
        let mut event = Event::new(sink.device("system calls"), op, Layer::Syscall);
        let begun = Time::from_seconds(now);
        // The time is that of the call's beginning; of one that was resumed, of its end.
        let (start, end) = match call.resumed {
            true => (begun - Nanos(call.ns), begun),
            false => (begun, begun + Nanos(call.ns)),
        };
        (event.queued, event.completed) = (Some(start), Some(end));
        if op != Op::Flush {
            event.bytes = call.result.and_then(|bytes| u32::try_from(bytes).ok());
        }
        event.file = file.map(|file| sink.name(file));
        event.comm = Some(sink.name(call.name));
        event.pid = match words.as_slice() {
            ["[pid", pid, ..] => pid.trim_end_matches(']').parse().ok(),
            [pid, _, ..] => pid.parse().ok(),
            _ => None,
        };
        sink.event(event);
    }
}

/// ` 98.12    1.234567        1234      1000           fsync`.
fn counts(line: &str, sink: &mut dyn Sink) -> Step {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ruler = words.iter().all(|word| word.bytes().all(|b| b == b'-'));
    if ruler || words.last() == Some(&"total") {
        return Step::Consumed;
    }
    let [share, seconds, each, calls, .., name] = &words[..] else { return Step::NotMine };
    if decimal(share).is_none() {
        return Step::NotMine;
    }
    let (Some(seconds), Some(_), Some(calls)) = (decimal(seconds), integer(each), integer(calls))
    else {
        return Step::skipped("the row does not match the heading");
    };
    if file_op(name).is_some() {
        let value = format!("{calls} {name}, {seconds} s (CPU time unless -w was given)");
        sink.add_fact(None, typed::STRACE_CALLS, value);
    }
    Step::Consumed
}
