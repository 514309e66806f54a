//! bcc's ext4dist, xfsdist, zfsdist, btrfsdist and nfsdist: latency histograms of file operations.
//!
//! ## Reads
//! The banner `Tracing ext4 operation latency... Hit Ctrl-C to end.`, the lines `operation = 'read'`
//! and the tables `usecs : count distribution` below. Each table becomes a histogram of the file
//! system, not of a disk.
//!
//! ## Where it comes from
//! `ext4dist 10 1`, `xfsdist -m`, `fsdist -t btrfs` of bcc and libbpf-tools.
//!
//! ## Versions
//! bcc since 2016, libbpf-tools' `fsdist`; with intervals (`08:30:00:`) or without.
//!
//! ## Traps
//! Most reads are answered by the page cache: the fast mode is memory, the slow one holds the disk,
//! locks, journal and queues. `open` and `getattr` are no I/O of data. A row `LO -> HI` holds values
//! from LO up to and including HI, whole units: `0 -> 1` is below 2.
//!
//! ## Cannot know
//! What of a latency was the disk, which file, which process. Whether whole lines are missing: they
//! bear no numbers.

use iowhy_model::{Distribution, Layer, Level, Nanos, Op, Sink, Stage, Time};

use crate::histogram::buckets::{COUNT_LIMIT, histogram_of};
use crate::{Format, Reader, Sniff, Step, WallTime, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "fs-dist",
    summary: "ext4dist, xfsdist, ...: latency histograms of file operations (bcc)",
    manual: iowhy_model::manual!("fs_dist.rs"),
    level: Level::B,
    sniff,
    reader: || Box::new(FsDist::default()),
};

fn sniff(lines: &[&str]) -> Sniff {
    let Some(first) = lines.first() else { return Sniff::No };
    if banner(first).is_some() {
        return Sniff::Yes;
    }
    if operation(first).is_none() {
        return Sniff::No;
    }
    lines.get(1).map_or(Sniff::More, |next| unit(next).is_some().into())
}

/// `Tracing ext4 operation latency... Hit Ctrl-C to end.`: the file system.
fn banner(line: &str) -> Option<&str> {
    let (kind, rest) = line.trim().strip_prefix("Tracing ")?.split_once(" operation latency")?;
    (rest.starts_with("...") && !kind.contains(' ')).then_some(kind)
}

/// `operation = 'read'`, with quotes, without, or with Python's `b`.
fn operation(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("operation = ")?;
    let name = name.strip_prefix('b').filter(|name| name.starts_with('\'')).unwrap_or(name);
    Some(name.trim_matches('\'')).filter(|name| !name.contains(' '))
}

/// `usecs : count distribution`: nanoseconds of the unit.
fn unit(line: &str) -> Option<u64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["usecs", ":", "count", "distribution"] => Some(1_000),
        ["msecs", ":", "count", "distribution"] => Some(1_000_000),
        _ => None,
    }
}

/// `512 -> 1023 : 66 |**  |`.
fn row(line: &str) -> Option<(u64, u64, u64)> {
    let (low, rest) = line.split_once("->")?;
    let (high, rest) = rest.split_once(':')?;
    let count = integer(rest.split_whitespace().next()?).filter(|count| *count <= COUNT_LIMIT)?;
    let (low, high) = (integer(low.trim())?, integer(high.trim())?);
    (low < high && rest.contains('|')).then_some((low, high, count))
}

#[derive(Default)]
struct FsDist {
    kind: String,
    operation: String,
    unit: Option<u64>,
    rows: Vec<(u64, u64, u64)>,
    first: Option<WallTime>,
    before: Option<WallTime>,
    now: Option<WallTime>,
}

impl Reader for FsDist {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some(kind) = banner(line) {
            self.kind = kind.to_string();
        } else if let Some(operation) = operation(line) {
            self.flush(sink);
            self.operation = operation.to_string();
        } else if let Some(unit) = unit(line) {
            self.unit = Some(unit);
        } else if let Some(moment) = WallTime::read(text.trim_end_matches(':')) {
            self.flush(sink);
            self.first = self.first.or(Some(moment));
            (self.before, self.now) = (self.now, Some(moment));
        } else if let Some(row) = row(line).filter(|_| self.unit.is_some()) {
            self.rows.push(row);
        } else if line.contains("->") && line.contains('|') {
            return Step::Skipped("the row is incomplete".to_string());
        } else if !matches!(text, "" | "^C") {
            return Step::Passed;
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
    }
}

impl FsDist {
    fn flush(&mut self, sink: &mut dyn Sink) {
        let rows = std::mem::take(&mut self.rows);
        let Some(unit) = self.unit.take() else { return };
        // The lowest row, `0 -> 1`, and all others alike: whole units, both ends included.
        let edges = rows.into_iter().map(|(low, high, count)| {
            (low.saturating_mul(unit), high.saturating_add(1).saturating_mul(unit), count)
        });
        let Some(histogram) = histogram_of(edges.collect()) else { return };
        let kind = if self.kind.is_empty() { "files" } else { &self.kind };
        let device = sink.device(kind);
        let mut one = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
        one.op = match self.operation.as_str() {
            "read" => Some(Op::Read),
            "write" => Some(Op::Write),
            "fsync" => Some(Op::Flush),
            _ => Some(Op::Other),
        };
        one.label = Some(sink.name(&self.operation));
        // A table is printed at the end of its interval.
        let span =
            self.before.zip(self.first).zip(self.now).and_then(|((before, first), now)| {
                Some((before.since(first)?, now.since(before)?))
            });
        if let Some((start, length)) = span.filter(|(_, length)| *length > 0.0) {
            one.start = Some(Time::from_seconds(start));
            one.length = Some(Nanos::from_seconds(length));
        }
        sink.distribution(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn tables_are_of_the_file_system() {
        let recording = read(
            "Tracing xfs operation latency... Hit Ctrl-C to end.\n\n08:30:00:\n\n\
             operation = 'read'\n     usecs               : count     distribution\n         \
             0 -> 1          : 1210     |****|\n      1024 -> 2047       : 13       |    |\n\n\
             operation = 'fsync'\n     usecs               : count     distribution\n      \
             8192 -> 16383      : 3        |****|\n",
        );
        let [read, sync] = &recording.listings[0].distributions[..] else { panic!() };
        assert_eq!((read.layer, read.op), (Layer::Syscall, Some(Op::Read)));
        let rows: Vec<_> = read.histogram.filled().collect();
        assert_eq!(rows, [(0, 2_000, 1210), (1_024_000, 2_048_000, 13)]);
        assert_eq!(sync.op, Some(Op::Flush));
        assert_eq!(recording.device_of(sync.device).name, "xfs");
    }
}
