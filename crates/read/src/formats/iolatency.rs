//! iolatency of perf-tools, in milliseconds, and its sister iolatency_micro: ftrace histograms.
//!
//! ## Reads
//! The heading with the interval, and for each interval the rows `1 -> 2 : 9 |#|`; of
//! iolatency_micro the rows `256 -> 512 : 1396 536064 |##|`. The command line above, if it was
//! copied too, gives the device and whether queueing is included. With `-T` each histogram has its
//! time.
//!
//! ## How to capture
//! `iolatency` of brendangregg/perf-tools and `iolatency_micro` of LucaCanali/Linux_tracing_scripts,
//! on kernels from 3.2 on that have ftrace but no BPF.
//!
//! ## Versions
//! iolatency prints `>=(ms) .. <(ms)` and counts; iolatency_micro prints `>=(mus) .. <(mus)`,
//! counts per second, and the time waited per second.
//!
//! ## Caveats
//! The scripts sort a latency that equals a bound into the row below it, against their own
//! heading: read as `low <= latency < high`, such a latency is off by less than a microsecond. The
//! counts of iolatency_micro are rates, rounded down: they are multiplied by the interval, and what
//! rounding lost is lost. Its second number is 1.5 times the lower bound times the rate, an
//! estimate, and is not used; row 0 counts as no time at all. Requests in flight across the end of
//! an interval are not counted. Without `-m` the requests of device mapper are counted twice.
//!
//! ## Not in this output
//! Device and operation, unless they are on the command line. Unless `-Q` was given, the time in
//! the queue.

use iowhy_model::{Distribution, Flags, Layer, Level, Nanos, Op, Sink, Stage, Time};

use crate::histogram::buckets::{COUNT_LIMIT, histogram_of};
use crate::histogram::powers::note;
use crate::text::words::is_for_people;
use crate::{Body, Format, Reader, Sniff, Step, WallTime, device_of_numbers, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "iolatency",
    summary: "iolatency and iolatency_micro: ftrace block latency histograms",
    manual: iowhy_model::manual!("iolatency.rs"),
    level: Level::B,
    body: Body::Custom {
        needles: &["Tracing block I/O. Output every ", ">=(", "iolatency"],
        sniff,
        reader: || Box::new(Iolatency::default()),
    },
};

fn sniff(lines: &[&str]) -> Sniff {
    let of =
        |line: &&str| heading(line).is_some() || table(line).is_some() || command(line).is_some();
    Sniff::from(lines.first().filter(|line| is_for_people(line)).is_some_and(of))
}

/// `Tracing block I/O. Output every 1 seconds.`: the interval.
fn heading(line: &str) -> Option<u64> {
    let rest = line.trim().strip_prefix("Tracing block I/O. Output every ")?;
    let rest = rest.strip_prefix("DeltaT = ").unwrap_or(rest);
    integer(rest.split_once(" seconds.")?.0).filter(|seconds| *seconds > 0)
}

/// What a table counts.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Table {
    unit_ns: u64,
    /// Counts are per second.
    rates: bool,
}

fn table(line: &str) -> Option<Table> {
    if !line.contains('>') {
        return None;
    }
    let (bounds, _) = line.split_once(':').filter(|(bounds, _)| bounds.contains(">=("))?;
    match bounds.split_whitespace().collect::<Vec<_>>().as_slice() {
        [">=(ms)", "..", "<(ms)"] => Some(Table { unit_ns: 1_000_000, rates: false }),
        [">=(mus)", "..", "<(mus)"] => Some(Table { unit_ns: 1_000, rates: true }),
        _ => None,
    }
}

/// What a command line asks for.
#[derive(Clone, Default, PartialEq, Debug)]
struct Command {
    device: Option<String>,
    op: Option<Op>,
    queue: bool,
}

fn command(line: &str) -> Option<Command> {
    if !line.contains("iolatency") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let program = |word: &&str| {
        matches!(word.rsplit('/').next(), Some("iolatency" | "iolatency_micro"))
            && word.starts_with(['.', '/', 'i'])
    };
    let place = words.iter().position(program)?;
    let (before, rest) = words.split_at(place);
    let prompted = |word: &str| word.ends_with(['$', '#', '>']) || word == "sudo";
    if !before.last().is_some_and(|word| prompted(word)) {
        return None;
    }
    let mut command = Command::default();
    for pair in rest.windows(2) {
        let [option, value] = pair else { continue };
        match *option {
            "-d" => command.device = device_of_numbers(value),
            "-i" => {
                let letters = value.trim_matches(['\'', '"', '*']);
                command.op = Flags::from_rwbs(letters).map(|(op, _)| op);
            }
            _ => {}
        }
    }
    let short = rest.iter().filter(|word| word.starts_with('-'));
    command.queue = short.clone().any(|word| word.contains('Q'));
    Some(command)
}

#[derive(Default)]
struct Iolatency {
    command: Command,
    seconds: Option<u64>,
    table: Option<Table>,
    rows: Vec<(u64, u64, u64)>,
    first: Option<WallTime>,
    now: Option<WallTime>,
    begun: bool,
}

impl Reader for Iolatency {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(command) = command(line) {
            if self.begun {
                return Step::Ended;
            }
            self.command = command;
        } else if let Some(seconds) = heading(line) {
            if self.begun {
                return Step::Ended;
            }
            self.seconds = Some(seconds);
            self.begun = true;
        } else if let Some(table) = table(line) {
            self.flush(sink);
            self.table = Some(table);
            self.begun = true;
        } else if let Some(row) = self.table.and_then(|table| self.row(table, line)) {
            return match row {
                Some(row) => {
                    self.rows.push(row);
                    Step::Took
                }
                None => Step::Skipped("the row is not a histogram row".to_string()),
            };
        } else if let Some(moment) = WallTime::read(line.trim().trim_end_matches(':')) {
            self.flush(sink);
            self.first = self.first.or(Some(moment));
            self.now = Some(moment);
        } else if !line.trim().is_empty() && line.trim() != "^C" && line != "Ending tracing..." {
            return Step::Passed;
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
    }
}

impl Iolatency {
    /// A row as bounds in ns and count. `None` if the line is none, `Some(None)` if it is damaged.
    fn row(&self, table: Table, line: &str) -> Option<Option<(u64, u64, u64)>> {
        let (bounds, rest) = line.split_once(':')?;
        let (low, high) = bounds.split_once("->")?;
        let count = rest.split('|').next().and_then(|rest| rest.split_whitespace().next());
        let read = || {
            let of = |bound: &str| integer(bound.trim())?.checked_mul(table.unit_ns);
            let scale = if table.rates { self.seconds.unwrap_or(1) } else { 1 };
            let count =
                integer(count?)?.checked_mul(scale).filter(|count| *count <= COUNT_LIMIT)?;
            Some((of(low)?, of(high)?, count))
        };
        Some(read())
    }

    fn flush(&mut self, sink: &mut dyn Sink) {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return;
        }
        let Some(histogram) = histogram_of(rows) else {
            sink.skip(note("the rows of a table overlap"));
            return;
        };
        let device = sink.device(self.command.device.as_deref().unwrap_or_default());
        let stage = if self.command.queue { Stage::Total } else { Stage::Device };
        sink.source().sees_queue = self.command.queue;
        sink.source().resolution = Some(Nanos(1_000));
        let mut one = Distribution::new(device, Layer::Block, stage, histogram);
        one.op = self.command.op;
        let length = self.seconds.and_then(|seconds| i64::try_from(seconds).ok());
        let length = length.and_then(|seconds| seconds.checked_mul(1_000_000_000));
        one.length = length.map(Nanos);
        // A time is printed at the end of its interval; the first one is the zero.
        let end = self.now.zip(self.first).and_then(|(now, first)| now.since(first));
        one.start = end.zip(length).map(|(end, length)| Time::from_seconds(end) - Nanos(length));
        sink.distribution(one);
    }
}
