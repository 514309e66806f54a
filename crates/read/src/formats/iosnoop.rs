//! iosnoop: one line per completed block I/O, from perf-tools (ftrace).
//!
//! ## Reads
//! The screen of `iosnoop`: `COMM PID TYPE DEV BLOCK BYTES LATms`, preceded by `STARTs` (-s) and
//! `ENDs` (-t). With either time each line becomes an event. Without both there is no time axis, so
//! the latencies are counted into one histogram per device and operation, with exact sum, minimum
//! and maximum.
//!
//! ## How to capture
//! `iosnoop` of perf-tools, a shell script over ftrace for kernels from 3.2 on, where neither BPF
//! nor SystemTap is available. Capture with `iosnoop -ts`.
//!
//! ## Versions
//! The columns have been the same since 2014.
//!
//! ## Caveats
//! DEV is a pair of numbers, `202,1`. Disks with fixed numbers (sd, xvd, md, loop) get their name
//! back, so that they match the same disk in other listings; others stay `253:0`. TYPE is the
//! kernel's own text, so metadata and read-ahead are distinguished. A process name may contain
//! spaces; `<...>` means unknown.
//!
//! ## Not in this output
//! Whether -Q was given, which starts the latency in the queue instead of at the issue; iowhy
//! assumes the default, issue to completion. Events lost when the trace buffer overflowed: the tool
//! does not count them.

use iowhy_model::{DeviceId, Edges, Flags, Name};

use crate::device_of_numbers;
use crate::program::*;
use crate::text::recent::RecentNames;
use crate::text::repair::has_odd;

pub(super) const FORMAT: Format = Format::program::<Iosnoop>(
    "one line per block I/O from perf-tools",
    Level::C,
    &["LATms"],
    sniff,
);

/// Step of LATms, which has two decimals.
const LATENCY_STEP: Nanos = Nanos(10_000);
/// Step of STARTs and ENDs, which have six.
const CLOCK_STEP: Nanos = Nanos(1_000);

fn sniff(head: &[&str]) -> Detect {
    head.first().is_some_and(|line| Columns::of(line).is_some()).into()
}

/// Which times stand in front.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Columns {
    start: bool,
    end: bool,
}

impl Columns {
    fn of(line: &str) -> Option<Columns> {
        if !line.trim_end().ends_with("LATms") {
            return None;
        }
        let mut words = line.split_ascii_whitespace().peekable();
        let start = words.next_if_eq(&"STARTs").is_some();
        let end = words.next_if_eq(&"ENDs").is_some();
        let rest = ["COMM", "PID", "TYPE", "DEV", "BLOCK", "BYTES", "LATms"];
        words.eq(rest).then_some(Columns { start, end })
    }
}

#[derive(Default)]
struct Iosnoop {
    columns: Columns,
    device: RecentNames<Option<DeviceId>>,
    comm: RecentNames<Name>,
    /// Latencies of a listing without times.
    counted: Vec<Distribution>,
}

impl Reader for Iosnoop {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(columns) = Columns::of(line) {
            self.columns = columns;
            let source = sink.source();
            source.sees_queue = false;
            source.resolution =
                Some(if columns.start && columns.end { CLOCK_STEP } else { LATENCY_STEP });
            return Step::Consumed;
        }
        let text = line.trim();
        if text == "Ending tracing..." || text == "^C" {
            return Step::Consumed;
        }
        let words = || text.split_whitespace();
        if words().next().is_some_and(|word| crate::decimal(word).is_some())
            && words().next_back().is_some_and(has_odd)
            && text.contains(',')
        {
            return Step::skipped("the latency is not a number");
        }
        if !text.ends_with(|c: char| c.is_ascii_digit()) || !text.contains(',') {
            return Step::NotMine;
        }
        match self.event(text, sink) {
            Some((event, latency)) => {
                if self.columns == Columns::default() {
                    self.count(&event, latency);
                } else {
                    sink.event(event);
                }
                Step::Consumed
            }
            None => Step::skipped("the columns do not match the heading"),
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if !self.counted.is_empty() {
            sink.source().level = Level::B;
        }
        for distribution in self.counted.drain(..) {
            sink.distribution(distribution);
        }
    }
}

impl Iosnoop {
    fn event(&mut self, line: &str, sink: &mut dyn Sink) -> Option<(Event, Nanos)> {
        let mut words = line.split_ascii_whitespace();
        let start = if self.columns.start { Some(fixed(words.next()?, 9)?) } else { None };
        let end = if self.columns.end { Some(fixed(words.next()?, 9)?) } else { None };
        let latency = Nanos(fixed(words.next_back()?, 6).filter(|ns| *ns >= 0)?);
        let bytes = integer(words.next_back()?)?;
        let sector = integer(words.next_back()?)?;
        let numbers = words.next_back()?;
        let (op, flags) = Flags::from_rwbs(words.next_back()?)?;
        let pid = integer(words.next_back()?)?;
        let named = |text: &str| device_of_numbers(text).map(|name| sink.device(&name));
        let device = self.device.get(numbers, named)?;
        let mut event = Event::new(device, op, Layer::Block);
        event.flags = flags;
        event.issued = start.map(Time::from_ns);
        event.completed = end.map(Time::from_ns);
        event.issued = event.issued.or(event.completed.map(|end| end - latency));
        event.completed = event.completed.or(event.issued.map(|start| start + latency));
        // A flush has none: the kernel prints the largest number.
        event.sector = Some(sector).filter(|sector| *sector < u64::MAX);
        event.bytes = u32::try_from(bytes).ok();
        event.pid = u32::try_from(pid).ok();
        event.comm = match words.next()? {
            "<...>" => None,
            first => {
                // The name reaches from its first word to just before the PID.
                let last = words.next_back().unwrap_or(first);
                Some(self.comm.get(between(line, first, last), |text| sink.name(text)))
            }
        };
        Some((event, latency))
    }

    fn count(&mut self, event: &Event, latency: Nanos) {
        let place = self
            .counted
            .iter()
            .position(|known| (known.device, known.op) == (event.device, Some(event.op)));
        let known = match place {
            Some(place) => &mut self.counted[place],
            None => {
                let empty = Histogram::empty(Edges::standard());
                let mut new = Distribution::new(event.device, event.layer, Stage::Device, empty);
                new.op = Some(event.op);
                self.counted.push(new);
                let last = self.counted.len() - 1;
                &mut self.counted[last]
            }
        };
        known.histogram.record(latency.ns() as u64);
    }
}

/// The text of `line` from the word `first` to the word `last`, both slices of it.
fn between<'a>(line: &'a str, first: &'a str, last: &'a str) -> &'a str {
    let begin = first.as_ptr() as usize - line.as_ptr() as usize;
    let end = last.as_ptr() as usize - line.as_ptr() as usize + last.len();
    line.get(begin..end).unwrap_or(first)
}
