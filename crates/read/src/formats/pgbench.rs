//! pgbench: transactions per second of PostgreSQL, their latency, and that of the commit.
//!
//! ## Reads
//! The summary (`latency average = 23.474 ms`, `tps = 425.99 ...`), the lines of `-P` (`progress: 5.0
//! s, 421.2 tps, lat 23.620 ms stddev 8.4`), and of `-r` the statement `END;` or `COMMIT;`, whose
//! time becomes the fact `commit.time`.
//!
//! ## Where it comes from
//! `pgbench -c 10 -T 60 -P 5 -r`.
//!
//! ## Versions
//! PostgreSQL 9.4 and later (`latency average: 23.474 ms`, since 10 with `=`).
//!
//! ## Traps
//! A transaction is several statements, caches, locks and one commit: its latency is the
//! application's, not a disk's. `-N` and `-S` do other work than the default. The commit waits for
//! the write-ahead log to be flushed, alone or in a group.
//!
//! ## Cannot know
//! Single latencies (`-l` writes those to files), what disk and flush took. Whether whole lines are
//! missing: they bear no numbers.

use iowhy_model::{Interval, Layer, Level, Nanos, Rates, Sink, Time, typed};

use crate::counters::stated::rates;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "pgbench",
    summary: "pgbench: transactions per second and their latency",
    manual: iowhy_model::manual!("pgbench.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(Pgbench::default()),
};

const NS_PER_MS: f64 = 1e6;
/// What pgbench and its users call what is measured.
const NAME: &str = "pgbench";

fn sniff(lines: &[&str]) -> Sniff {
    let first = lines.first().copied().unwrap_or_default().trim();
    let known = progress(first).is_some()
        || average(first).is_some()
        || first.starts_with("transaction type: ")
        || tps(first).is_some();
    known.into()
}

/// `progress: 5.0 s, 421.2 tps, lat 23.620 ms stddev 8.400`: seconds, rate, mean in ns.
fn progress(line: &str) -> Option<(f64, f64, f64)> {
    let (seconds, rest) = line.trim().strip_prefix("progress: ")?.split_once(" s, ")?;
    let (rate, rest) = rest.split_once(" tps, lat ")?;
    let (ms, _) = rest.split_once(" ms")?;
    Some((decimal(seconds)?, decimal(rate)?, decimal(ms)? * NS_PER_MS))
}

/// `latency average = 23.474 ms` or `latency average: 23.474 ms`, in ns.
fn average(line: &str) -> Option<f64> {
    let rest = line.trim().strip_prefix("latency average")?.trim_start();
    let ms = rest.strip_prefix(['=', ':'])?.trim().strip_suffix(" ms")?;
    decimal(ms).map(|ms| ms * NS_PER_MS)
}

/// `tps = 425.994523 (without initial connection time)`.
fn tps(line: &str) -> Option<f64> {
    let (rate, what) = line.trim().strip_prefix("tps = ")?.split_once(" (")?;
    let known = ["connection", "connections"].iter().any(|word| what.contains(word));
    known.then(|| decimal(rate))?
}

#[derive(Default)]
struct Pgbench {
    average_ns: Option<f64>,
    rate: Option<f64>,
    /// Seconds at the last line of progress.
    before: f64,
}

impl Reader for Pgbench {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some((seconds, rate, ns)) = progress(text) {
            let mut interval = Interval::new(sink.device(NAME), Layer::Application);
            interval.mixed = rates(Some(rate), None, Some(ns));
            if seconds > self.before {
                interval.start = Some(Time::from_seconds(self.before));
                interval.length = Some(Nanos::from_seconds(seconds - self.before));
            }
            self.before = seconds;
            sink.interval(interval);
        } else if let Some(ns) = average(text) {
            self.average_ns = Some(ns);
        } else if let Some(rate) = tps(text) {
            // The second of two counts without the time of connecting.
            self.rate = Some(rate);
        } else if let Some(ms) = commit(text) {
            let mean = Nanos::from_us((ms * 1e3).round());
            sink.add_fact(NAME, typed::COMMIT_TIME, mean);
        } else if !is_summary(text) {
            return Step::Passed;
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        // Lines of progress said it before, stretch by stretch.
        if self.before > 0.0 || self.average_ns.is_none() && self.rate.is_none() {
            return;
        }
        let mut interval = Interval::new(sink.device(NAME), Layer::Application);
        interval.mixed = rates(self.rate, None, self.average_ns)
            .or_else(|| Some(Rates { await_ns: self.average_ns, ..Rates::default() }));
        sink.interval(interval);
    }
}

/// `18.345           0  END;`: the mean time of the statement that commits, ms.
fn commit(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let last = words.last()?.to_ascii_lowercase();
    let ms = decimal(words.first()?)?;
    (matches!(last.as_str(), "end;" | "commit;") && words.len() <= 3).then_some(ms)
}

/// A line of the summary that says nothing of time.
fn is_summary(line: &str) -> bool {
    let statement = line.split_whitespace().next().is_some_and(|word| decimal(word).is_some());
    line.is_empty()
        || statement
        || [
            "transaction type",
            "scaling factor",
            "query mode",
            "number of ",
            "maximum number of ",
            "duration",
            "latency stddev",
            "initial connection",
            "statement latencies",
            "SQL script",
        ]
        .iter()
        .any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn summary_progress_and_commit() {
        let recording = read(
            "progress: 5.0 s, 421.2 tps, lat 23.620 ms stddev 8.400\n\
             progress: 10.0 s, 430.0 tps, lat 23.100 ms stddev 8.100\n\
             transaction type: <builtin: TPC-B (sort of)>\nlatency average = 23.474 ms\n\
             tps = 425.994523 (without initial connection time)\n\
             statement latencies in milliseconds and failures:\n         0.002           0  \\set aid\n        \
             18.345           0  END;\n",
        );
        let listing = &recording.listings[0];
        assert_eq!(listing.intervals.len(), 2);
        assert_eq!(listing.intervals[1].length, Some(Nanos::from_seconds(5.0)));
        assert_eq!(listing.intervals[1].mixed.unwrap().await_ns, Some(23.1e6));
        assert_eq!(listing.facts[0].value.number(), Some(0.018345));
    }
}
