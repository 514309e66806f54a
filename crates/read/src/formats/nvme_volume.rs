//! What a cloud volume counts itself (`nvme amzn stats`): latencies in buckets, time above its limits.
//!
//! ## Reads
//! Operations, bytes and time of reads and writes, the two latency histograms, the queue, and `Performance
//! Exceeded`, the time in which more was asked than the volume or the instance gives; these become the facts
//! `volume.exceeded.iops`, `volume.exceeded.throughput`, `instance.exceeded.iops` and `.throughput`.
//! The fact `counters.since` marks a print that is not of now.
//!
//! ## Where it comes from
//! `nvme amzn stats /dev/nvme1n1`, `nvme amzn stats -i 5 /dev/nvme1n1`, `ebsnvme stats` of the provider.
//!
//! ## Versions
//! nvme-cli 2.12 and later; volumes and instance stores of Nitro instances.
//!
//! ## Traps
//! All counters begin when the volume is attached: a single print says what was since then, not what is now.
//! With `-i` the first print does too and is left out, the others are of one interval. Times are microseconds.
//! With the details the histograms stand there once more for each size; these are passed over. The queue is of
//! the moment.
//!
//! ## Cannot know
//! Which volume, unless the command stands above; what the host's queue added. Whether whole lines are missing:
//! they bear no numbers.

use iowhy_model::{Distribution, Interval, Layer, Level, Nanos, Op, Sink, Stage, typed};

use crate::counters::stated::rates;
use crate::drive::health::drive_named;
use crate::facts::AddFact;
use crate::histogram::buckets::histogram_of;
use crate::histogram::powers::note;
use crate::{Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "nvme-volume",
    summary: "nvme amzn stats: a volume's own latencies and limits",
    manual: iowhy_model::manual!("nvme_volume.rs"),
    level: Level::B,
    sniff,
    reader: || Box::new(NvmeVolume::default()),
};

/// What the volume is called where the command is not there.
const NAMELESS: &str = "volume";
const NS_PER_US: u64 = 1_000;
/// Lines between the polling line and the first print.
const LEAD: usize = 3;

fn sniff(lines: &[&str]) -> Sniff {
    let [first, rest @ ..] = lines else { return Sniff::No };
    if polling(first).is_some() {
        return match rest.iter().find(|line| !line.trim().is_empty()) {
            Some(line) => Sniff::from(line.trim() == "Total Ops:"),
            None if rest.len() < LEAD => Sniff::More,
            None => Sniff::No,
        };
    }
    match rest {
        _ if first.trim() != "Total Ops:" => Sniff::No,
        [] => Sniff::More,
        [line, ..] => Sniff::from(line.trim().starts_with("Read: ")),
    }
}

/// `Polling NVMe stats every 5 sec(s); press Ctrl+C to stop`.
fn polling(line: &str) -> Option<u64> {
    let rest = line.trim().strip_prefix("Polling ")?;
    let (_, rest) = rest.split_once(" every ").filter(|(what, _)| what.ends_with("stats"))?;
    integer(rest.split_whitespace().next()?).filter(|seconds| *seconds > 0)
}

/// `[64       - 128     ] => 1203    `.
fn bucket(line: &str) -> Option<(u64, u64, u64)> {
    let (range, count) = line.trim().strip_prefix('[')?.split_once("] => ")?;
    let (low, high) = range.split_once('-')?;
    Some((integer(low.trim())?, integer(high.trim())?, integer(count.trim())?))
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Part {
    #[default]
    None,
    Ops,
    Bytes,
    Time,
    /// Whose limits: of the volume, of the instance.
    Exceeded(typed::Family<Nanos>),
    /// Reads or writes.
    Histogram(usize),
    /// Latencies of one size only.
    Sized,
}

/// One print.
#[derive(Clone, Default)]
struct Print {
    ops: [Option<u64>; 2],
    bytes: [Option<u64>; 2],
    time_us: [Option<u64>; 2],
    exceeded: Vec<(typed::Family<Nanos>, String, u64)>,
    queue: Option<u64>,
    rows: [Vec<(u64, u64, u64)>; 2],
}

#[derive(Default)]
struct NvmeVolume {
    name: Option<String>,
    every: Option<u64>,
    part: Part,
    print: Print,
    /// Prints so far.
    prints: u64,
}

impl Reader for NvmeVolume {
    fn above(&mut self, line: &str) {
        if let Some(name) = drive_named(line).filter(|name| name.starts_with("nvme")) {
            self.name = Some(name);
        }
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some(seconds) = polling(text) {
            self.every = Some(seconds);
            return Step::Took;
        }
        if let Some(row) = bucket(text) {
            if let Part::Histogram(place) = self.part {
                self.print.rows[place].push(row);
            }
            return Step::Took;
        }
        if let Some((name, value)) = text.split_once(": ") {
            return self.value(name, value, sink);
        }
        self.part = match text {
            "Total Ops:" => {
                self.pour(sink);
                self.prints += 1;
                Part::Ops
            }
            "Total Bytes:" => Part::Bytes,
            "Total Time (us):" => Part::Time,
            "Read IO Latency Histogram" if self.part != Part::Sized => Part::Histogram(0),
            "Write IO Latency Histogram" if self.part != Part::Sized => Part::Histogram(1),
            "Read IO Latency Histogram" | "Write IO Latency Histogram" => Part::Sized,
            "IO Size Range:" => Part::Sized,
            _ if text.ends_with("Performance Exceeded (us):") => {
                Part::Exceeded(match text.contains("Instance") {
                    true => typed::INSTANCE_EXCEEDED,
                    false => typed::VOLUME_EXCEEDED,
                })
            }
            "" | "=================================" => self.part,
            _ if text.starts_with("Lower ") || text.starts_with("(io_size_low") => self.part,
            _ if text.starts_with('[') => {
                return Step::Skipped("a bucket that cannot be read".to_string());
            }
            _ => return Step::Passed,
        };
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.pour(sink);
    }
}

impl NvmeVolume {
    fn value(&mut self, name: &str, value: &str, _sink: &mut dyn Sink) -> Step {
        let place = match name {
            "Read" => 0,
            "Write" => 1,
            _ => usize::MAX,
        };
        let count = integer(value.trim());
        let known = match self.part {
            Part::Ops => self.print.ops.get_mut(place),
            Part::Bytes => self.print.bytes.get_mut(place),
            Part::Time => self.print.time_us.get_mut(place),
            Part::Exceeded(whose) if matches!(name, "IOPS" | "Throughput") => {
                let what = name.to_ascii_lowercase();
                self.print.exceeded.extend(count.map(|us| (whose, what, us)));
                return match count {
                    Some(_) => Step::Took,
                    None => Step::Skipped("the value is not a number".to_string()),
                };
            }
            _ => None,
        };
        if name == "Queue Length (point in time)" {
            self.print.queue = count;
            return Step::Took;
        }
        match (known, count) {
            (Some(known), Some(count)) => *known = Some(count),
            (Some(_), None) => return Step::Skipped("the value is not a number".to_string()),
            (None, _) => return Step::Passed,
        }
        Step::Took
    }

    /// Gives out a print. The first of several counts since the volume was attached.
    fn pour(&mut self, sink: &mut dyn Sink) {
        let print = std::mem::take(&mut self.print);
        if self.prints == 0 {
            return;
        }
        let since_attached = self.prints == 1;
        if since_attached && self.every.is_some() {
            return;
        }
        let device = sink.device(self.name.as_deref().unwrap_or(NAMELESS));
        let seconds = self.every.map(|seconds| seconds as f64);
        let mut interval = Interval::new(device, Layer::Block);
        interval.length = seconds.map(Nanos::from_seconds);
        interval.in_flight = print.queue;
        for (place, op) in [Op::Read, Op::Write].into_iter().enumerate() {
            let ops = print.ops[place].filter(|ops| *ops > 0);
            let wait = ops.zip(print.time_us[place]).map(|(ops, us)| us as f64 * 1e3 / ops as f64);
            if let Some(seconds) = seconds {
                let per_s = |count: Option<u64>| count.map(|count| count as f64 / seconds);
                let known = rates(per_s(print.ops[place]), per_s(print.bytes[place]), wait);
                interval.rates.extend(known.map(|rates| (op, rates)));
            }
            let rows = print.rows[place].iter().map(|(low, high, count)| {
                (low.saturating_mul(NS_PER_US), high.saturating_mul(NS_PER_US), *count)
            });
            let rows: Vec<_> = rows.collect();
            let Some(mut histogram) = histogram_of(rows).filter(|known| known.count() > 0) else {
                continue;
            };
            histogram.sum_ns = wait.map(|mean| mean * histogram.count() as f64);
            let mut one = Distribution::new(device, Layer::Block, Stage::Device, histogram);
            (one.op, one.length) = (Some(op), interval.length);
            sink.distribution(one);
        }
        if since_attached {
            sink.note(note("counted since the volume was attached, not of now"));
            sink.add_fact(device, typed::COUNTERS_SINCE, "attached");
        }
        for (family, what, us) in print.exceeded {
            sink.add_fact(device, family.member(what), Nanos::from_us(us as f64));
        }
        if !interval.rates.is_empty() {
            sink.interval(interval);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    fn print(reads: u64, slow: u64) -> String {
        format!(
            "Total Ops:\n  Read: {reads}\n  Write: 0\nTotal Bytes:\n  Read: {}\n  Write: 0\n\
             Total Time (us):\n  Read: {}\n  Write: 0\n\n\
             EBS Volume Performance Exceeded (us):\n  IOPS: 4000000\n  Throughput: 0\n\n\
             Queue Length (point in time): 3\n\n\
             Read IO Latency Histogram\n=================================\n\
             Lower       Upper        IO Count\n=================================\n\
             [512      - 1024    ] => {}       \n[1024     - 2048    ] => {slow}       \n\
             =================================\n\n",
            reads * 16384,
            reads * 900,
            reads - slow
        )
    }

    #[test]
    fn the_first_of_several_prints_is_not_of_now() {
        let text = format!(
            "Polling NVMe stats every 5 sec(s); press Ctrl+C to stop\n\n{}{}",
            print(90_000, 9),
            print(1_000, 400)
        );
        let recording = read(&text);
        let listing = &recording.listings[0];
        assert_eq!(listing.distributions.len(), 1);
        assert_eq!(listing.distributions[0].histogram.counts(), [600, 400]);
        let reads = listing.intervals[0].of(Op::Read).unwrap();
        assert_eq!((reads.ios_per_s, reads.await_ns), (200.0, Some(900_000.0)));
        let listing = &read(&print(90_000, 9)).listings[0];
        assert_eq!((listing.distributions.len(), listing.intervals.len()), (1, 0));
        assert!(listing.facts.iter().any(|fact| fact.key.to_string() == "volume.exceeded.iops"));
    }
}
