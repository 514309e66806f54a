//! Tests of SPDK: rates, mean latencies and histograms of devices that the kernel does not see.
//!
//! ## Reads
//! The table `Device Information : IOPS MiB/s Average min max` (also with `runtime(s)`, `Fail/s`, `TO/s` of bdevperf), a
//! row for each device and core, and the rows `6.428 - 6.511:  1.0000%  (  120)` of the latency histogram. Rows of
//! one device on several cores are added up. A failed I/O becomes a note.
//!
//! ## How to capture
//! `spdk_nvme_perf -L -L`, `bdevperf`, `perf` in `examples/nvme` of older releases.
//!
//! ## Versions
//! SPDK 18 to 25; `MB/s` and `MiB/s` both mean 1048576 bytes.
//!
//! ## Caveats
//! A polling program that bypasses the kernel: its latencies are those of the drive, its link and
//! the queue depth, and no other tool on the machine sees them. The row `Total` repeats the others.
//! Percentiles without a histogram have no counts and are ignored. The number in flight is only on
//! the command line.
//!
//! ## Not in this output
//! Reads and writes separately; the depth; sizes, unless the command is there.

use std::collections::BTreeMap;

use iowhy_model::{
    DeviceId, Distribution, Interval, Layer, Level, Nanos, Note, Rates, Sink, Stage,
};

use crate::histogram::buckets::histogram_of;
use crate::{Body, Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "spdk-perf",
    summary: "SPDK's perf and bdevperf: rates and latencies of devices",
    manual: iowhy_model::manual!("spdk_perf.rs"),
    level: Level::A,
    body: Body::Custom {
        needles: &["Device Information", "Latency histogram for "],
        sniff: |lines| {
            let first = lines.first().copied().unwrap_or_default();
            Sniff::from(columns(first).is_some() || histogram_of_device(first).is_some())
        },
        reader: || Box::new(SpdkPerf::default()),
    },
};

const MIB: f64 = 1_048_576.0;
const NS_PER_US: f64 = 1e3;

/// ` Device Information : runtime(s) IOPS MiB/s Average min max`: the columns behind the colon.
fn columns(line: &str) -> Option<Vec<String>> {
    let (head, rest) = line.split_once(':')?;
    let words: Vec<String> = rest.split_whitespace().map(str::to_string).collect();
    let known = ["IOPS", "Average"].iter().all(|name| words.iter().any(|word| word == name));
    (head.trim() == "Device Information" && known).then_some(words)
}

/// `Latency histogram for PCIE (0000:5e:00.0) NSID 1 from core 0:`: of what.
fn histogram_of_device(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("Latency histogram for ")?;
    Some(device_name(rest.strip_suffix(':')?)).filter(|name| !name.is_empty())
}

/// The name without the core; several blanks in it are one.
fn device_name(text: &str) -> String {
    let name = text.split(" from core").next().unwrap_or(text);
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `    5.120 -     5.163:    0.0001%  (       12)`: bounds in ns, and the count.
fn bucket(line: &str) -> Option<(u64, u64, u64)> {
    let (range, rest) = line.trim().strip_suffix(')')?.split_once(':')?;
    let (low, high) = range.split_once(" - ")?;
    let (share, count) = rest.split_once('(')?;
    decimal(share.trim().strip_suffix('%')?)?;
    let ns = |text: &str| {
        let ns = decimal(text.trim())? * NS_PER_US;
        (0.0..1e18).contains(&ns).then(|| ns.round() as u64)
    };
    Some((ns(low)?, ns(high)?, integer(count.trim())?))
}

/// Bounds of buckets in ns, and their counts.
type Rows = Vec<(u64, u64, u64)>;

/// What the rows of a device add up to.
#[derive(Default)]
struct Sum {
    ios_per_s: f64,
    bytes_per_s: f64,
    /// I/Os times mean latency, ns per second.
    waited: f64,
    seconds: Option<f64>,
}

#[derive(Default)]
struct SpdkPerf {
    columns: Vec<String>,
    sums: BTreeMap<String, Sum>,
    order: Vec<String>,
    /// The device whose buckets come.
    histogram: Option<(DeviceId, Rows)>,
}

impl Reader for SpdkPerf {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some(columns) = columns(text) {
            if !self.sums.is_empty() {
                // The table of another run.
                return Step::Ended;
            }
            self.columns = columns;
            return Step::Took;
        }
        if let Some(name) = histogram_of_device(text) {
            self.close_histogram(sink);
            self.histogram = Some((sink.device(&name), Vec::new()));
            return Step::Took;
        }
        if let Some(row) = bucket(text) {
            let Some((_, rows)) = &mut self.histogram else {
                return Step::Skipped("a bucket of no device".to_string());
            };
            rows.push(row);
            return Step::Took;
        }
        let percentile = text.split_once(" : ").is_some_and(|(percent, at)| {
            percent.trim().ends_with('%') && at.trim().ends_with("us")
        });
        let known = ["=====", "Latency(us)", "Range in us", "Summary latency data for "];
        if text.is_empty() || percentile || known.iter().any(|head| text.starts_with(head)) {
            return Step::Took;
        }
        self.row(text, sink)
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.close_histogram(sink);
        for name in &self.order {
            let Some(sum) = self.sums.get(name).filter(|sum| sum.ios_per_s > 0.0) else { continue };
            let mut interval = Interval::new(sink.device(name), Layer::Application);
            interval.length = sum.seconds.map(Nanos::from_seconds);
            interval.mixed = Some(Rates {
                ios_per_s: sum.ios_per_s,
                merges_per_s: None,
                bytes_per_s: (sum.bytes_per_s > 0.0).then_some(sum.bytes_per_s),
                await_ns: (sum.waited > 0.0).then(|| sum.waited / sum.ios_per_s),
            });
            sink.interval(interval);
        }
    }
}

impl SpdkPerf {
    /// `PCIE (0000:5e:00.0) NSID 1 from core  0:  571171.00  2231.14  224.06  20.83  1210.20`.
    fn row(&mut self, text: &str, sink: &mut dyn Sink) -> Step {
        // An address has colons of its own.
        let Some((name, values)) = text.rsplit_once(':').filter(|_| !self.columns.is_empty())
        else {
            return Step::Passed;
        };
        let words: Vec<Option<f64>> = values.split_whitespace().map(decimal).collect();
        if words.iter().flatten().count() < 3 {
            return Step::Passed;
        }
        let name = device_name(name);
        if name == "Total" {
            return Step::Took;
        }
        let whole = words.len() == self.columns.len()
            && words.iter().all(|value| value.is_some_and(|value| value >= 0.0));
        if !whole {
            return Step::Skipped("the values do not match the heading".to_string());
        }
        let of = |column: &str| {
            let place = self.columns.iter().position(|known| known == column)?;
            words.get(place).copied().flatten()
        };
        let failed = of("Fail/s").unwrap_or(0.0) + of("TO/s").unwrap_or(0.0);
        if failed > 0.0 {
            let reason = format!("{failed} I/Os per second failed or timed out");
            sink.note(Note { line: 0, text: name.clone(), reason });
        }
        let bytes = of("MiB/s").or(of("MB/s")).unwrap_or(0.0) * MIB;
        let ios = of("IOPS").unwrap_or(0.0);
        let waited = ios * of("Average").unwrap_or(0.0) * NS_PER_US;
        let seconds = of("runtime(s)").filter(|seconds| *seconds > 0.0);
        if !self.sums.contains_key(&name) {
            self.order.push(name.clone());
        }
        let sum = self.sums.entry(name).or_default();
        sum.ios_per_s += ios;
        sum.bytes_per_s += bytes;
        sum.waited += waited;
        sum.seconds = [sum.seconds, seconds].into_iter().flatten().reduce(f64::max);
        Step::Took
    }

    fn close_histogram(&mut self, sink: &mut dyn Sink) {
        let Some((device, rows)) = self.histogram.take() else { return };
        let Some(histogram) = histogram_of(rows).filter(|known| known.count() > 0) else { return };
        sink.source().level = Level::B;
        sink.distribution(Distribution::new(device, Layer::Application, Stage::Total, histogram));
    }
}
