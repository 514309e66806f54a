//! Prometheus: histograms of disk latency and of syncs, as a program's `/metrics` prints them.
//!
//! ## Reads
//! `NAME_bucket{...,le="0.004"} 730239`, with `NAME_sum` and `NAME_count`, of names that show what
//! was measured: `etcd_disk_wal_fsync_duration_seconds`, `ebpf_exporter_bio_latency_seconds`, and
//! others whose name is about a disk, volume, block I/O or sync and a latency or duration, with a
//! unit. Each set of labels becomes one histogram; `device` and `operation` are taken from the
//! labels of these names.
//!
//! ## How to capture
//! `curl -s localhost:2379/metrics | grep fsync`, the page of an exporter, a recording of either.
//!
//! ## Versions
//! Text formats 0.0.4 and OpenMetrics 1.0: counts as integers or with an exponent, with or without
//! a time.
//!
//! ## Caveats
//! Buckets are cumulative and count since the program started: a disk that became slow an hour ago
//! is hidden by the days before. `le` is the upper end of a bucket; the first begins at 0, the last
//! is open. The sum is exact where it is printed. Syncs are the program's wait, file system and
//! queue included. All other metrics are ignored: the page of a program has hundreds.
//!
//! ## Not in this output
//! The most recent events; latencies beyond the last bucket; the disk of a sync.

use std::collections::BTreeMap;

use crate::histogram::buckets::histogram_of;
use crate::program::*;
use crate::text::exposition::{MetricLine, announced};

pub(super) const FORMAT: Format = Format::by_line::<Prometheus>(
    "histograms of disk latency and syncs in /metrics",
    Level::B,
    &["histogram", "_bucket"],
    begins,
);

/// Units at the end of a name, in ns.
const UNITS: [(&str, f64); 8] = [
    ("_seconds", 1e9),
    ("_milliseconds", 1e6),
    ("_microseconds", 1e3),
    ("_nanoseconds", 1.0),
    ("_secs", 1e9),
    ("_ms", 1e6),
    ("_us", 1e3),
    ("_ns", 1.0),
];
/// A bucket that ends later than a day is not a latency.
const LONGEST_NS: f64 = 8.64e13;
/// The largest plausible count of a line.
const MOST: f64 = 1e15;
/// Buckets of one histogram, and histograms of one page.
const BUCKETS: usize = 4096;
const SERIES: usize = 1024;

fn begins(line: &str) -> bool {
    match announced(line, "TYPE") {
        Some((name, kind)) => kind.trim() == "histogram" && Subject::of(name).is_some(),
        None => Sample::of(line).is_some_and(|sample| {
            sample.part == Part::Bucket && Subject::of(sample.name).is_some()
        }),
    }
}

/// The number of a histogram that a line gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Bucket,
    Sum,
    Count,
}

/// `NAME_PART{LABELS} VALUE`.
struct Sample<'a> {
    line: MetricLine<'a>,
    name: &'a str,
    part: Part,
}

impl<'a> Sample<'a> {
    fn of(line: &'a str) -> Option<Sample<'a>> {
        let line = MetricLine::of(line)?;
        let ends = [("_bucket", Part::Bucket), ("_sum", Part::Sum), ("_count", Part::Count)];
        let (name, part) =
            ends.iter().find_map(|(end, part)| Some((line.name.strip_suffix(end)?, *part)))?;
        let is_bucket = part == Part::Bucket;
        let is_one = !name.is_empty() && is_bucket == line.label("le").is_some();
        is_one.then_some(Sample { line, name, part })
    }

    /// All labels but the bucket's.
    fn series(&self) -> Vec<(&'a str, &'a str)> {
        self.line.labels().filter(|(key, _)| *key != "le").collect()
    }
}

/// What a histogram is of, by its name.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Subject {
    layer: Layer,
    op: Option<Op>,
    unit_ns: f64,
}

impl Subject {
    fn of(name: &str) -> Option<Subject> {
        let name = name.to_ascii_lowercase();
        let (stem, unit_ns) =
            UNITS.iter().find_map(|(end, ns)| Some((name.strip_suffix(end)?, *ns)))?;
        let word = |word: &str| stem.split(['_', ':']).any(|part| part == word);
        let synced = word("fsync") || word("fdatasync") || stem.contains("wal_sync");
        let timed = word("latency") || word("duration") || word("durations") || word("time");
        let of_block = word("bio") || word("blk") || word("block");
        let of_disk = of_block || word("disk") || word("volume") || word("blkdev");
        // Compactions and snapshots of a database are work, not one request.
        let of_work = word("commit") || word("snap") || word("compaction") || word("defrag");
        if !(synced || of_disk && timed && !of_work) {
            return None;
        }
        let op = match () {
            () if synced => Some(Op::Flush),
            () if word("read") || word("reads") => Some(Op::Read),
            () if word("write") || word("writes") => Some(Op::Write),
            () => None,
        };
        // Only a tracer of block I/O calls it so.
        let layer = if word("bio") { Layer::Block } else { Layer::Application };
        Some(Subject { layer, op, unit_ns })
    }
}

/// A histogram that is being read.
#[derive(Default)]
struct Series {
    name: String,
    labels: Vec<(String, String)>,
    /// Cumulative counts by upper end, ns (`u64::MAX` of the open one): lines may come in any
    /// order.
    rows: BTreeMap<u64, f64>,
    sum: Option<f64>,
}

#[derive(Default)]
struct Prometheus {
    open: Vec<Series>,
    reported: bool,
}

impl Reader for Prometheus {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            return Step::Consumed;
        }
        let Some(sample) = Sample::of(line) else {
            // Other metrics of the same page.
            return Step::NotMine;
        };
        let Some(subject) = Subject::of(sample.name) else { return Step::Consumed };
        let series = sample.series();
        let same = |open: &Series| {
            let labels = open.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            open.name == sample.name && labels.eq(series.iter().copied())
        };
        let mut place = self.open.iter().rposition(same);
        let known = place.and_then(|place| self.open.get_mut(place));
        if sample.part != Part::Bucket {
            let Some(value) = decimal(sample.line.value) else {
                return Step::Malformed(format!("`{}` is not a number", sample.line.value));
            };
            if let Some(open) = known.filter(|_| sample.part == Part::Sum && value >= 0.0) {
                open.sum = Some(value * subject.unit_ns);
            }
            return Step::Consumed;
        }
        let Some(count) = decimal(sample.line.value).filter(|n| (0.0..MOST).contains(n)) else {
            return Step::Malformed(format!("`{}` is not a count", sample.line.value));
        };
        let end = sample.line.label("le").and_then(|end| match end {
            "+Inf" => Some(u64::MAX),
            _ => decimal(end)
                .map(|end| (end * subject.unit_ns).round())
                .filter(|ns| (1.0..LONGEST_NS).contains(ns))
                .map(|ns| ns as u64),
        });
        let Some(end) = end else {
            return Step::skipped("the end of the bucket is not a latency");
        };
        // The same bucket again: another page, read later.
        if known.is_some_and(|open| open.rows.contains_key(&end)) || self.open.len() >= SERIES {
            self.close(sink);
            place = None;
        }
        let place = place.unwrap_or_else(|| {
            let labels = series.iter().map(|(key, value)| (key.to_string(), value.to_string()));
            let (name, labels) = (sample.name.to_string(), labels.collect());
            self.open.push(Series { name, labels, ..Series::default() });
            self.open.len() - 1
        });
        let Some(open) = self.open.get_mut(place) else { return Step::NotMine };
        if open.rows.len() >= BUCKETS {
            return Step::skipped("more buckets than a histogram has");
        }
        open.rows.insert(end, count);
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.close(sink);
    }
}

impl Prometheus {
    /// Gives away the histograms that are open.
    fn close(&mut self, sink: &mut dyn Sink) {
        for series in std::mem::take(&mut self.open) {
            self.emit(&series, sink);
        }
    }

    fn emit(&mut self, series: &Series, sink: &mut dyn Sink) {
        let Some(subject) = Subject::of(&series.name) else { return };
        let (mut low, mut before) = (0, 0.0);
        let mut rows = Vec::with_capacity(series.rows.len());
        for (end, count) in &series.rows {
            if *count < before {
                let reason =
                    "a bucket counts fewer than the previous one: its histogram is ignored";
                sink.skip(note(reason));
                return;
            }
            rows.push((low, *end, (count - before) as u64));
            (low, before) = (*end, *count);
        }
        let Some(mut histogram) = histogram_of(rows).filter(|histogram| histogram.count() > 0)
        else {
            return;
        };
        histogram.sum_ns = series.sum;
        let label = |keys: &[&str]| {
            let found = series.labels.iter().find(|(key, _)| keys.contains(&key.as_str()));
            found.map(|(_, value)| value.as_str())
        };
        let program = series.name.split('_').next().unwrap_or_default();
        let disk =
            label(&["device", "disk", "dev"]).map(|name| name.rsplit('/').next().unwrap_or(name));
        let device = sink.device(disk.unwrap_or(program));
        let op = label(&["operation", "op", "type"]).and_then(Op::from_name);
        let mut one = Distribution::new(device, subject.layer, Stage::Total, histogram);
        one.op = subject.op.or(op);
        let instance = label(&["instance", "pod", "host", "node"]).unwrap_or_default();
        if !instance.is_empty() {
            one.label = Some(sink.name(instance));
        }
        sink.distribution(one);
        if !std::mem::replace(&mut self.reported, true) {
            sink.note(note("the counts are totals since the program started"));
        }
    }
}
