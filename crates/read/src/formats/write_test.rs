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
//! mean is far longer than the time that the run reports. iowhy derives nothing from such lines: it
//! reports the contradiction, and keeps the raw numbers as `write_test.size`, `write_test.n`,
//! `write_test.took` and `write_test.throughput_printed`.
//!
//! ## Not in this output
//! The device, the order of the latencies, and where on the disk each call went.

use iowhy_model::typed::Bytes;

use crate::histogram::buckets::COUNT_LIMIT;
use crate::histogram_of;
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<WriteTest>(
    "write(2) latency tester: mean, extremes and a histogram in whole milliseconds",
    Level::B,
    &["size="],
    |line| heading(line).is_some(),
);

/// Rows are whole milliseconds wide.
const ROW_NS: u64 = 1_000_000;
/// How far two statements of one quantity may differ before they contradict: the numbers carry
/// six digits, so a hundredth is far beyond rounding.
const TOLERANCE: f64 = 0.01;
/// No call takes longer than eleven days; a larger number is a damaged line.
const LONGEST_MS: f64 = 1e9;

#[derive(Default)]
struct WriteTest {
    run: Option<Run>,
}

/// One run of the tester as it was printed.
#[derive(Clone, Default, Debug, PartialEq)]
struct Run {
    size: u64,
    n: u64,
    took_s: f64,
    throughput: String,
    op: Option<Op>,
    summary: Option<Summary>,
    rows: Vec<(u64, u64, u64)>,
}

/// Mean and extremes, ms.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Summary {
    mean: f64,
    min: f64,
    max: f64,
}

impl Reader for WriteTest {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(run) = heading(line) {
            self.finish(sink);
            sink.source().resolution = Some(Nanos(ROW_NS as i64));
            self.run = Some(run);
            return Step::Consumed;
        }
        let Some(run) = &mut self.run else { return Step::NotMine };
        let text = line.trim();
        for (word, op) in [("write:", Op::Write), ("read:", Op::Read)] {
            let Some(rest) = text.strip_prefix(word) else { continue };
            let Some(summary) = summary(rest) else {
                return Step::skipped("avg, min and max were expected, in ms");
            };
            (run.op, run.summary) = (Some(op), Some(summary));
            return Step::Consumed;
        }
        match rows(text) {
            Some(mut rows) => {
                run.rows.append(&mut rows);
                Step::Consumed
            }
            None if text.contains(" ms:") && text.ends_with("cases") => {
                Step::skipped("a row `N ms: K cases` was expected")
            }
            None => Step::NotMine,
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let Some(run) = self.run.take() else { return };
        for reason in run.contradictions() {
            let text = run.heading();
            sink.note(Note { line: 0, text, reason });
        }
        run.emit(sink);
    }
}

impl Run {
    fn emit(&self, sink: &mut dyn Sink) {
        let took = Nanos::from_seconds(self.took_s);
        let printed = self.throughput.as_str();
        sink.add_fact(None, typed::WRITE_TEST_SIZE, Bytes(self.size));
        sink.add_fact(None, typed::WRITE_TEST_N, self.n);
        sink.add_fact(None, typed::WRITE_TEST_TOOK, took);
        sink.add_fact(None, typed::WRITE_TEST_THROUGHPUT_PRINTED, printed);
        // It waits for each of its writes before the next.
        sink.add_fact(None, typed::RUN_AT_ONCE, 1u64);
        let Some(histogram) = self.histogram() else { return };
        let device = sink.device("");
        let mut distribution = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
        distribution.op = self.op;
        distribution.length = Some(Nanos::from_seconds(self.took_s));
        distribution.bytes = u32::try_from(self.size).ok();
        sink.distribution(distribution);
    }

    /// The rows, with the printed mean and extremes where they are of the same calls.
    fn histogram(&self) -> Option<Histogram> {
        let Some(mut histogram) = histogram_of(self.rows.clone()) else {
            let Summary { mean, min, max } = self.summary?;
            return Some(Histogram::from_summary(self.n, mean * 1e6, ns(min), ns(max)));
        };
        if let Some(Summary { mean, min, max }) = self.summary
            && histogram.count() == self.n
        {
            histogram.sum_ns = Some(mean * 1e6 * self.n as f64);
            (histogram.min_ns, histogram.max_ns) = (Some(ns(min)), Some(ns(max)));
        }
        Some(histogram)
    }

    /// What does not add up, from the listing alone.
    fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(summary) = self.summary {
            let busy = self.n as f64 * summary.mean / 1e3;
            if busy > self.took_s * (1.0 + TOLERANCE) {
                found.push(format!(
                    "{} calls of {:.3} ms one after another take {busy:.2} s, but the run \
                     reports {:.2} s",
                    self.n, summary.mean, self.took_s
                ));
            }
        }
        found.extend(self.wrong_throughput());
        let counted = self.rows.iter().fold(0, |sum: u64, (.., cases)| sum.saturating_add(*cases));
        if !self.rows.is_empty() && counted != self.n {
            found.push(format!("the rows contain {counted} cases, the heading {}", self.n));
        }
        found
    }

    /// The printed throughput compared with size, N and time, read as MB and as Mbit.
    fn wrong_throughput(&self) -> Option<String> {
        let (number, unit) = self.throughput.split_once(' ')?;
        let printed = decimal(number)?;
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

    fn heading(&self) -> String {
        format!("size={}, N={}, took={} s", self.size, self.n, self.took_s)
    }
}

/// Milliseconds to the nearest nanosecond; a negative one is 0.
fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

fn heading(line: &str) -> Option<Run> {
    if !line.trim_start().starts_with("size=") {
        return None;
    }
    let took_s = decimal(field(line, "took")?)?;
    let throughput = field(line, "thput").unwrap_or_default();
    let unit = line.split_once("thput=").and_then(|(_, rest)| rest.split_whitespace().nth(1));
    let run = Run {
        size: integer(field(line, "size")?)?,
        n: integer(field(line, "N")?)?,
        took_s,
        throughput: format!("{throughput} {}", unit.unwrap_or_default()).trim().to_string(),
        ..Run::default()
    };
    (took_s > 0.0 && run.n <= COUNT_LIMIT).then_some(run)
}

/// The value of `key=value` among the words of a line, without the comma after it.
fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_whitespace()
        .filter_map(|word| word.split_once('='))
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value.trim_end_matches(','))
}

fn summary(text: &str) -> Option<Summary> {
    let ms = text.trim_end().ends_with(" ms");
    let of =
        |key| field(text, key).and_then(decimal).filter(|value| (0.0..LONGEST_MS).contains(value));
    let summary = Summary { mean: of("avg")?, min: of("min")?, max: of("max")? };
    ms.then_some(summary)
}

/// All rows of a line, several if it was re-flowed; `None` if it contains anything else.
fn rows(text: &str) -> Option<Vec<(u64, u64, u64)>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    for row in words.chunks(4) {
        let [low, "ms:", cases, "cases"] = row else { return None };
        let low = integer(low)?.checked_mul(ROW_NS)?;
        rows.push((low, low.checked_add(ROW_NS)?, integer(cases)?));
    }
    Some(rows)
}
