//! sysbench fileio: reads, writes and fsyncs per second, throughput and latency.
//!
//! ## Reads
//! The summary of `sysbench fileio ... run`: `File operations` and `Throughput` with their rates,
//! `Latency (ms)` with minimum, mean, maximum and percentile; of older versions the line `Operations
//! performed` and `per-request statistics`; with `--histogram` the latency of every request. What the run was asked to do (threads, block size,
//! fsync after how many requests) becomes facts.
//!
//! ## Where it comes from
//! `sysbench fileio --file-test-mode=rndrw --file-extra-flags=direct run`.
//!
//! ## Versions
//! 0.4, 0.5 and 1.0; the lines `prepare` prints are read over.
//!
//! ## Traps
//! Without `--file-extra-flags=direct` reads come from the page cache: the fact `run.cached` says so
//! unless the command line shows the flag. By default all files are synced after every 100
//! requests: then the run measures flushes. `Latency` counts reads, writes and fsyncs together:
//! its mean is that of none of them. The histogram's values are middles of buckets 1.8 % wide, printed to 1 us. MiB are 1024 x 1024 bytes. Tests of CPU, memory and databases
//! have a `Latency (ms)` too; without file operations none is read.
//!
//! ## Cannot know
//! Latency of reads, writes and fsyncs apart, and what the device did. Whether whole lines are
//! missing: they bear no numbers.

use iowhy_model::typed::PageCache;
use iowhy_model::{
    Distribution, Edges, Histogram, Interval, Layer, Level, Nanos, Op, Sink, Stage, typed,
};

use crate::counters::stated::rates;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "sysbench",
    summary: "sysbench fileio: rates, throughput, latency",
    manual: iowhy_model::manual!("sysbench.rs"),
    level: Level::B,
    sniff,
    reader: || Box::new(Sysbench::default()),
};

const MIB: f64 = 1024.0 * 1024.0;
const NS_PER_MS: f64 = 1e6;
/// What the run is called in reports.
const NAME: &str = "sysbench";
/// Lines between a heading and its first value.
const LEAD: usize = 3;

fn sniff(lines: &[&str]) -> Sniff {
    let Some(first) = lines.first().map(|line| line.trim()) else { return Sniff::No };
    if matches!(first, "File operations:" | "Throughput:") {
        return match lines.get(1).map(|line| line.trim()) {
            Some(next) if valued(next).is_some_and(|(key, _)| is_rate(key)) => Sniff::Yes,
            Some("") | None if lines.len() < LEAD => Sniff::More,
            _ => Sniff::No,
        };
    }
    let begins = first.starts_with("Operations performed:") && first.contains(" Read,")
        || first == "Extra file open flags: (none)"
        || first.starts_with("Extra file open flags: ")
        || valued(first).is_some_and(|(key, _)| is_rate(key) && key.contains(", MiB/s"));
    begins.into()
}

/// `    reads/s:                      123.45`.
fn valued(line: &str) -> Option<(&str, f64)> {
    let (key, value) = line.trim().split_once(':')?;
    let value = decimal(value.trim().trim_end_matches('s')).filter(|value| *value >= 0.0);
    value.map(|value| (key, value))
}

fn is_rate(key: &str) -> bool {
    matches!(key, "reads/s" | "writes/s" | "fsyncs/s" | "read, MiB/s" | "written, MiB/s")
}

/// `       7.565 |*                                        19`, latency in ms and requests.
fn bucket(line: &str) -> Option<(f64, u64)> {
    let (ms, rest) = line.split_once(" |")?;
    let count = integer(rest.trim_start_matches('*').trim())?;
    Some((decimal(ms).filter(|ms| *ms >= 0.0)?, count))
}

#[derive(Default)]
struct Sysbench {
    reads: Option<f64>,
    writes: Option<f64>,
    fsyncs: Option<f64>,
    read_bytes: Option<f64>,
    written_bytes: Option<f64>,
    block: Option<f64>,
    seconds: Option<f64>,
    events: Option<u64>,
    min_ms: Option<f64>,
    mean_ms: Option<f64>,
    max_ms: Option<f64>,
    cached: Option<PageCache>,
    /// Requests by their latency, ms (`--histogram`).
    latencies: Vec<(f64, u64)>,
    /// Counts of the whole run, by 0.4: reads, writes, others.
    counts: Option<[f64; 3]>,
}

impl Reader for Sysbench {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if text.is_empty() {
            return Step::Took;
        }
        let known =
            self.rate(text) || self.latency(text) || self.old(text) || self.asked(text, sink);
        if let Some(bucket) = bucket(text) {
            self.latencies.push(bucket);
            return Step::Took;
        }
        let title = matches!(
            text.trim_end_matches(':'),
            "File operations"
                | "Throughput"
                | "General statistics"
                | "Latency (ms)"
                | "Threads fairness"
                | "Latency histogram (values are in milliseconds)"
                | "value  ------------- distribution ------------- count"
                | "per-request statistics"
                | "Threads started!"
                | "Test execution summary"
        );
        let other = valued(text).is_some() || text.contains(" (avg/stddev)");
        if !known
            && !other
            && let Some((key, value)) = text.split_once(':')
            && FIGURES.contains(&key.trim())
            && !value.trim().is_empty()
        {
            return Step::Skipped(format!("`{}` is not a number", value.trim()));
        }
        if known || title || other { Step::Took } else { Step::Passed }
    }

    fn resumes(&self) -> bool {
        // One run prints its settings, a blank, a remark, and its results.
        self.reads.is_none() && self.read_bytes.is_none() && self.counts.is_none()
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.pour(sink);
    }
}

/// What a record is made of: without a number there, one is lost.
const FIGURES: [&str; 11] = [
    "Operations performed",
    "total time",
    "total number of events",
    "reads/s",
    "writes/s",
    "fsyncs/s",
    "read, MiB/s",
    "written, MiB/s",
    "min",
    "avg",
    "max",
];

impl Sysbench {
    fn rate(&mut self, line: &str) -> bool {
        let Some((key, value)) = valued(line) else { return false };
        let place = match key {
            "reads/s" => &mut self.reads,
            "writes/s" => &mut self.writes,
            "fsyncs/s" => &mut self.fsyncs,
            "read, MiB/s" => &mut self.read_bytes,
            "written, MiB/s" => &mut self.written_bytes,
            _ => return false,
        };
        *place = Some(if key.ends_with("MiB/s") { value * MIB } else { value });
        true
    }

    fn latency(&mut self, line: &str) -> bool {
        // 0.4 glues the unit to the value: `min:   0.00ms`.
        let text = line.replace("ms", "");
        let Some((key, value)) = valued(&text) else { return false };
        match key {
            "min" => self.min_ms = Some(value),
            "avg" => self.mean_ms = Some(value),
            "max" => self.max_ms = Some(value),
            "total time" => self.seconds = Some(value).filter(|seconds| *seconds > 0.0),
            "total number of events" => self.events = Some(value as u64),
            _ => return false,
        }
        true
    }

    /// `Operations performed:  6000 Read, 4000 Write, 12800 Other = 22800 Total` and `Read 93.75Mb
    /// Written 62.5Mb  Total transferred ...`.
    fn old(&mut self, line: &str) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["Operations", "performed:", read, "Read,", write, "Write,", other, "Other", ..] => {
                let count = |word| decimal(word).filter(|count| *count >= 0.0);
                let counts = (count(read), count(write), count(other));
                let (Some(read), Some(write), Some(other)) = counts else { return false };
                self.counts = Some([read, write, other]);
                true
            }
            ["Read", _, "Written", _, "Total", "transferred", ..] => true,
            [rate, "Requests/sec", "executed"] => decimal(rate).is_some(),
            _ => false,
        }
    }

    /// What the run was asked to do.
    fn asked(&mut self, line: &str, sink: &mut dyn Sink) -> bool {
        if let Some(flags) = line.strip_prefix("Extra file open flags: ") {
            self.cached =
                Some(if flags.contains("direct") { PageCache::No } else { PageCache::Yes });
        } else if let Some(size) = line.strip_prefix("Block size ") {
            let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            self.block = crate::bytes(size).filter(|_| !digits.is_empty());
        } else if let Some(threads) = line.strip_prefix("Number of threads: ") {
            if let Some(threads) = integer(threads.trim()) {
                sink.add_fact(None, typed::SYSBENCH_THREADS, threads);
            }
        } else if let Some((_, requests)) = line.split_once("calling fsync() each ") {
            let requests = requests.split_whitespace().next().and_then(integer);
            if let Some(requests) = requests {
                sink.add_fact(None, typed::SYSBENCH_FSYNC_EVERY, requests);
            }
        } else {
            let settings = [
                "files, ",
                "total file size",
                "Read/Write ratio",
                "Calling fsync()",
                "Using ",
                "Doing ",
                "Initializing ",
                "Running the test",
                "Number of IO requests",
            ];
            return settings.iter().any(|known| line.contains(known));
        }
        true
    }

    fn pour(&mut self, sink: &mut dyn Sink) {
        if let (Some([reads, writes, others]), Some(seconds)) = (self.counts, self.seconds) {
            (self.reads, self.writes) = (Some(reads / seconds), Some(writes / seconds));
            self.fsyncs = Some(others / seconds);
        }
        let parts = [
            (Op::Read, self.reads, self.read_bytes),
            (Op::Write, self.writes, self.written_bytes),
            (Op::Flush, self.fsyncs, None),
        ];
        if parts.iter().all(|(_, ios, bytes)| ios.is_none() && bytes.is_none()) {
            return;
        }
        let device = sink.device(NAME);
        let mut interval = Interval::new(device, Layer::Application);
        interval.length = self.seconds.map(Nanos::from_seconds);
        for (op, ios, bytes) in parts {
            // Where only the throughput was pasted, the size (16 KiB by default) gives requests.
            let size = self.block.unwrap_or(16.0 * 1024.0);
            let ios = ios.or(bytes.map(|bytes| bytes / size));
            interval.rates.extend(rates(ios, bytes, None).map(|rates| (op, rates)));
        }
        sink.interval(interval);
        let extremes = self.min_ms.zip(self.mean_ms).zip(self.max_ms).zip(self.events);
        if let Some((((min, mean), max), events)) = extremes.filter(|(_, events)| *events > 0) {
            let ns = |ms: f64| (ms.max(0.0) * NS_PER_MS) as u64;
            let mut histogram = Histogram::from_summary(events, mean * NS_PER_MS, ns(min), ns(max));
            let counted =
                iowhy_model::numbers::total(self.latencies.iter().map(|(_, count)| *count));
            if counted == events {
                let mut counts = vec![0u64; Edges::standard().buckets()];
                for (ms, count) in &self.latencies {
                    let bucket = &mut counts[Edges::standard().index(ns(*ms))];
                    *bucket = bucket.saturating_add(*count);
                }
                if let Some(mut counted) = Histogram::from_counts(Edges::standard(), counts) {
                    counted.sum_ns = histogram.sum_ns;
                    histogram = counted;
                }
            }
            let mut one = Distribution::new(device, Layer::Application, Stage::Total, histogram);
            one.label = Some(sink.name("reads, writes and fsyncs together"));
            sink.distribution(one);
        }
        let cached = self.cached.unwrap_or(PageCache::Unknown);
        sink.add_fact(device, typed::RUN_CACHED, cached);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn a_summary_of_two_lines_is_one() {
        let recording = read(
            "Throughput:\n    read, MiB/s:                  6.92\n    written, MiB/s:               4.61\n",
        );
        let row = &recording.listings[0].intervals[0];
        assert!((row.of(Op::Read).unwrap().ios_per_s - 442.88).abs() < 0.01);
        assert_eq!(row.of(Op::Write).unwrap().bytes_per_s, Some(4.61 * MIB));
    }

    #[test]
    fn two_versions_say_the_same() {
        let new = read(
            "Extra file open flags: directio\n16 files, 64MiB each\nBlock size 4KiB\n\
             Periodic FSYNC enabled, calling fsync() each 100 requests.\n\n\
             File operations:\n    reads/s:                      120.00\n    writes/s:                     80.00\n    \
             fsyncs/s:                     25.60\n\nThroughput:\n    read, MiB/s:                  0.47\n    \
             written, MiB/s:               0.31\n\nGeneral statistics:\n    total time:                          10.0000s\n    \
             total number of events:              2256\n\nLatency (ms):\n         min:                                    0.10\n         \
             avg:                                    4.43\n         max:                                   90.00\n",
        );
        let listing = &new.listings[0];
        assert_eq!(listing.distributions[0].histogram.count(), 2256);
        assert!(listing.facts.iter().any(|fact| fact.key.name() == "sysbench.fsync-every"));
        let old = read(
            "Operations performed:  1200 Read, 800 Write, 256 Other = 2256 Total\n\
             Read 4.6875Mb  Written 3.125Mb  Total transferred 7.8125Mb  (800Kb/sec)\n  \
             200.00 Requests/sec executed\n\nTest execution summary:\n    total time:                          10.0000s\n    \
             total number of events:              2000\n    per-request statistics:\n         min:                                  0.10ms\n         \
             avg:                                  4.43ms\n         max:                                 90.00ms\n",
        );
        let rate = |read: &iowhy_model::Recording, op| {
            read.listings[0].intervals[0].of(op).unwrap().ios_per_s
        };
        for (op, per_s) in [(Op::Read, 120.0), (Op::Write, 80.0), (Op::Flush, 25.6)] {
            assert!((rate(&new, op) - per_s).abs() < 1e-9 && (rate(&old, op) - per_s).abs() < 1e-9);
        }
    }
}
