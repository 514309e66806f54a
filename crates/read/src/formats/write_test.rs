//! Output of the synchronous write(2) latency tester known from the kernel mailing list.
//!
//! ## Reads
//! A heading `size=1024, N=2000, took=4.450788 s, thput=3 mb/s seekc=1`, a line
//! `write: avg=... max=... min=... ms` (or `read:`), and rows `8 ms: 1992 cases`. Each heading
//! starts a separate run. A run becomes one histogram of N system calls of `size` bytes.
//!
//! ## How to capture
//! A small program that writes N blocks one after another to a raw device and times every call.
//! Its output was posted to the kernel mailing list in July 2008.
//!
//! ## Versions
//! One is known.
//!
//! ## Caveats
//! A row `8 ms` counts latencies from 8 up to, but not including, 9 ms. `mb/s` are megabits,
//! truncated to a whole number. The lines of the known listing contradict each other: N times the
//! mean is far longer than the time the run says it took. iowhy derives nothing from such lines: it
//! reports the contradiction, and keeps the raw numbers as `write_test.size`, `write_test.n`,
//! `write_test.took_s` and `write_test.throughput_printed`.
//!
//! ## Not in this output
//! The device, the order of the latencies, and where on the disk each call went.

use iowhy_model::Note;
use iowhy_model::typed::Bytes;

use crate::describe::report::*;
use crate::histogram::buckets::{COUNT_LIMIT, histogram_of};

pub const FORMAT: Format = Format::labels(
    "write(2) latency tester: mean, extremes and a histogram in whole milliseconds",
    Level::B,
    &LABELS,
);

/// Rows are whole milliseconds wide.
const ROW_NS: u64 = 1_000_000;
/// How far two statements of one quantity may differ before they contradict: the numbers carry
/// six digits, so a hundredth is far beyond rounding.
const TOLERANCE: f64 = 0.01;
/// No call takes longer than eleven days; a larger number is a damaged line.
const LONGEST_MS: f64 = 1e9;
/// Mean and extremes, ms.
const SUMMARY: [&str; 3] = ["avg", "min", "max"];

static LABELS: Labels = Labels {
    lines: &[
        begins("^size={:text}", |found, report, sink| {
            sink.source().resolution = Some(Nanos(ROW_NS as i64));
            report.quote_alone(found.line())
        })
        .when(|found| Run::of(found.line()).is_some())
        .opens_record()
        .like(&["size=1024, N=2000, took=4.450788 s, thput=3 mb/s seekc=1"]),
        says("^{write:|read:}{*}", |found, report, _| {
            report.enter(if found.line().starts_with('w') { "write" } else { "read" });
            let of = |key| {
                let value = field(found.line(), key).and_then(decimal);
                value.filter(|value| (0.0..LONGEST_MS).contains(value))
            };
            let values = SUMMARY.map(of);
            if !found.line().ends_with(" ms") || values.contains(&None) {
                return report.fails("avg, min and max were expected, in ms");
            }
            let mut known = SUMMARY.into_iter().zip(values.into_iter().flatten());
            known.try_for_each(|(what, value)| report.keep(what, value))
        })
        .like(&["write: avg=8.388851 max=24.998846 min=8.335624 ms"]),
        perhaps("{ }ms: {:text}", |found, report, _| {
            let is_row = found.line().ends_with("cases");
            match rows(found.line()) {
                Some(rows) => rows
                    .into_iter()
                    .try_for_each(|(low, n)| report.bucket(low, low.checked_add(ROW_NS)?, n)),
                None if is_row => report.fails("a row `N ms: K cases` was expected"),
                None => None,
            }
        })
        .like(&["8 ms: 1992 cases", "8 ms: 2 cases 16 ms: 2 cases"]),
    ],
    end: Some(pour),
    ..Labels::NEW
};

/// A heading.
struct Run<'t> {
    size: u64,
    n: u64,
    took_s: f64,
    throughput: &'t str,
    unit: &'t str,
}

impl<'t> Run<'t> {
    fn of(line: &'t str) -> Option<Run<'t>> {
        let unit = line.split_once("thput=").and_then(|(_, rest)| rest.split_whitespace().nth(1));
        let run = Run {
            size: integer(field(line, "size")?)?,
            n: integer(field(line, "N")?)?,
            took_s: decimal(field(line, "took")?)?,
            throughput: field(line, "thput").unwrap_or_default(),
            unit: unit.unwrap_or_default(),
        };
        (run.took_s > 0.0 && run.n <= COUNT_LIMIT).then_some(run)
    }

    /// The printed throughput compared with size, N and time, read as MB and as Mbit.
    fn wrong_throughput(&self) -> Option<String> {
        let (printed, unit) = (decimal(self.throughput)?, self.unit);
        let megabytes = (self.size as f64 * self.n as f64) / self.took_s / 1e6;
        let megabits = megabytes * 8.0;
        let close = |value: f64| (value - printed).abs() <= printed * TOLERANCE;
        let is = |value: f64| close(value) || value.floor() == printed || value.round() == printed;
        if !unit.eq_ignore_ascii_case("mb/s") || is(megabytes) {
            return None;
        }
        let bytes =
            format!("{} x {} B in {:.2} s are {megabytes:.2} MB/s", self.n, self.size, self.took_s);
        Some(if is(megabits) {
            format!("{bytes}, not {printed}: `{unit}` are megabits, {megabits:.2} cut to {printed}")
        } else {
            format!("{bytes} or {megabits:.2} Mbit/s, neither of which is {printed} {unit}")
        })
    }
}

/// Gives out a run, and what does not add up, from the listing alone.
fn pour(report: &mut Report, sink: &mut dyn Sink) {
    let heading = report.quoted().first().cloned().unwrap_or_default();
    let Some(run) = Run::of(&heading) else { return };
    let rows = report.buckets();
    let counted = rows.iter().fold(0, |sum: u64, (.., cases)| sum.saturating_add(*cases));
    let summary = match SUMMARY.map(|what| report.kept(what)) {
        [Some(mean), Some(min), Some(max)] => Some((mean, ns(min), ns(max))),
        _ => None,
    };
    let busy = summary.map_or(0.0, |(mean, ..)| run.n as f64 * mean / 1e3);
    let too_busy = (busy > run.took_s * (1.0 + TOLERANCE)).then(|| {
        format!(
            "{} calls of {:.3} ms one after another take {busy:.2} s, but the run says it took \
             {:.2} s",
            run.n,
            busy * 1e3 / run.n as f64,
            run.took_s
        )
    });
    let miscounted = (!rows.is_empty() && counted != run.n)
        .then(|| format!("the rows contain {counted} cases, the heading {}", run.n));
    for reason in [too_busy, run.wrong_throughput(), miscounted].into_iter().flatten() {
        let text = format!("size={}, N={}, took={} s", run.size, run.n, run.took_s);
        sink.note(Note { line: 0, text, reason });
    }
    let printed = format!("{} {}", run.throughput, run.unit);
    sink.add_fact(None, typed::WRITE_TEST_SIZE, Bytes(run.size));
    sink.add_fact(None, typed::WRITE_TEST_N, run.n);
    sink.add_fact(None, typed::WRITE_TEST_TOOK, Nanos::from_seconds(run.took_s));
    sink.add_fact(None, typed::WRITE_TEST_THROUGHPUT_PRINTED, printed.trim());
    // It waits for each of its writes before the next.
    sink.add_fact(None, typed::RUN_AT_ONCE, 1u64);
    let histogram = match (histogram_of(rows), summary) {
        // The printed mean and extremes where they are of the same calls.
        (Some(mut histogram), Some((mean, min, max))) if counted == run.n => {
            histogram.sum_ns = Some(mean * 1e6 * run.n as f64);
            (histogram.min_ns, histogram.max_ns) = (Some(min), Some(max));
            histogram
        }
        (Some(histogram), _) => histogram,
        (None, Some((mean, min, max))) => Histogram::from_summary(run.n, mean * 1e6, min, max),
        (None, None) => return,
    };
    let device = report.device(sink);
    let mut distribution = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
    distribution.op = Op::from_name(report.part);
    distribution.length = Some(Nanos::from_seconds(run.took_s));
    distribution.bytes = u32::try_from(run.size).ok();
    sink.distribution(distribution);
}

/// Milliseconds to the nearest nanosecond; a negative one is 0.
fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// The value of `key=value` among the words of a line, without the comma behind it.
fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_whitespace()
        .filter_map(|word| word.split_once('='))
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value.trim_end_matches(','))
}

/// All rows of a line, several if it was re-flowed; `None` if anything else stands in it.
fn rows(text: &str) -> Option<Vec<(u64, u64)>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let row = |row: &[&str]| {
        let [low, "ms:", cases, "cases"] = row else { return None };
        Some((integer(low)?.checked_mul(ROW_NS)?, integer(cases)?))
    };
    words.chunks(4).map(row).collect()
}
