//! iolatency of perf-tools, in milliseconds, and its variant iolatency_micro: ftrace histograms.
//!
//! ## Reads
//! The heading with the interval, and for each interval the rows `1 -> 2 : 9 |#|`; of
//! iolatency_micro the rows `256 -> 512 : 1396 536064 |##|`. The command line above, if it was
//! copied too, gives the device and whether queueing is included. With `-T` each histogram has its
//! time.
//!
//! ## How to capture
//! `iolatency` of brendangregg/perf-tools and `iolatency_micro` of
//! LucaCanali/Linux_tracing_scripts, on kernels from 3.2 on that have ftrace but no BPF.
//!
//! ## Versions
//! iolatency prints `>=(ms) .. <(ms)` and counts; iolatency_micro prints `>=(mus) .. <(mus)`,
//! counts per second, and the time waited per second.
//!
//! ## Caveats
//! The scripts sort a latency that equals a bound into the row below it, contrary to their own
//! heading: read as `low <= latency < high`, such a latency is off by less than a microsecond. The
//! counts of iolatency_micro are rates, rounded down: they are multiplied by the interval, and the
//! rounding error remains. Its second number is 1.5 times the lower bound times the rate, an
//! estimate, and is not used; row 0 counts as no time at all. Requests in flight across the end of
//! an interval are not counted. Without `-m` the requests of device mapper are counted twice.
//!
//! ## Not in this output
//! Device and operation, unless they are on the command line. Unless `-Q` was given, the time in
//! the queue.

use iowhy_model::Flags;

use crate::describe::report::*;
use crate::device_of_numbers;
use crate::histogram::buckets::{COUNT_LIMIT, histogram_of};

pub(super) const FORMAT: Format = Format::labels(
    "iolatency and iolatency_micro: ftrace block latency histograms",
    Level::B,
    &LABELS,
);

/// The interval; ns of a unit of the table, and whether it counts per second; that the command
/// stands above.
const SECONDS: &str = "seconds";
const UNIT: &str = "unit";
const RATES: &str = "rates";

static LABELS: Labels = Labels {
    lines: &[
        begins("iolatency", |found, report, _| report.quote_alone(found.line()))
            .when(|found| Command::of(found.line()).is_some())
            .opens_report()
            .like(&["# ./iolatency -Q -d 202,1", "root@h:~$ sudo iolatency 5"]),
        begins(
            "^Tracing block I/O. Output every {|DeltaT = }{n:u} seconds.",
            |found, report, _| report.keep(SECONDS, found.number("n")?),
        )
        .when(|found| found.positive("n").is_some())
        .opens_report()
        .like(&["Tracing block I/O. Output every 1 seconds. Ctrl-C to end."]),
        begins("^>=(ms) .. <(ms){ }:", |_, report, sink| {
            flush(report, sink);
            report.forget(RATES);
            report.keep(UNIT, 1e6)
        })
        .like(&[">=(ms) .. <(ms)   : I/O      |Distribution                          |"]),
        begins("^>=(mus) .. <(mus){ }:", |_, report, sink| {
            flush(report, sink);
            report.keep(RATES, 1.0);
            report.keep(UNIT, 1e3)
        })
        .like(&[">=(mus) .. <(mus)   : IOPS     |IOPS Distribution                     |"]),
        perhaps("->{*}:", row)
            .like(&["0 -> 1       : 2104     |######################################|"]),
        // A time is printed at the end of its interval.
        perhaps("^{moment:text}$", |found, report, sink| {
            let moment = WallTime::read(found.line().trim_end_matches(':'))?;
            flush(report, sink);
            report.moments.at(moment);
            Some(())
        })
        .like(&["Thu Nov 26 10:00:01 UTC 2026:"]),
    ],
    own: &["^{^C|Ending tracing...}$"],
    end: Some(flush),
    ..Labels::NEW
};

/// What a command line asks for.
#[derive(Clone, Default, PartialEq, Debug)]
struct Command {
    device: Option<String>,
    op: Option<Op>,
    queue: bool,
}

impl Command {
    fn of(line: &str) -> Option<Command> {
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
}

fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let unit = report.kept(UNIT)? as u64;
    let (bounds, rest) = found.line().split_once(':')?;
    let (low, high) = bounds.split_once("->")?;
    let rates = report.kept(RATES).and(report.kept(SECONDS)).map_or(1, |seconds| seconds as u64);
    let of = |bound: &str| integer(bound.trim())?.checked_mul(unit);
    let count = rest.split('|').next().and_then(|rest| rest.split_whitespace().next());
    let count = count.and_then(|count| integer(count)?.checked_mul(rates));
    match (of(low), of(high), count.filter(|count| *count <= COUNT_LIMIT)) {
        (Some(low), Some(high), Some(count)) => report.bucket(low, high, count),
        _ => report.fails("the row is not a histogram row"),
    }
}

fn flush(report: &mut Report, sink: &mut dyn Sink) {
    let rows = report.buckets();
    if rows.is_empty() {
        return;
    }
    let Some(histogram) = histogram_of(rows) else {
        sink.skip(note("the rows of a table overlap"));
        return;
    };
    let command = report.quoted().first().and_then(|line| Command::of(line)).unwrap_or_default();
    let device = sink.device(command.device.as_deref().unwrap_or_default());
    let stage = if command.queue { Stage::Total } else { Stage::Device };
    sink.source().sees_queue = command.queue;
    sink.source().resolution = Some(Nanos(1_000));
    let mut one = Distribution::new(device, Layer::Block, stage, histogram);
    one.op = command.op;
    one.length = report.kept(SECONDS).map(Nanos::from_seconds);
    let end = report.moments.since_first().zip(one.length);
    one.start = end.map(|(end, length)| Time::from_seconds(end) - length);
    sink.distribution(one);
}
