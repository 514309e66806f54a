//! bcc's ext4dist, xfsdist, zfsdist, btrfsdist and nfsdist: latency histograms of file operations.
//!
//! ## Reads
//! The banner `Tracing ext4 operation latency... Hit Ctrl-C to end.`, the lines `operation =
//! 'read'` and the tables `usecs : count distribution` below. Each table becomes a histogram of the
//! file system, not of a disk.
//!
//! ## How to capture
//! `ext4dist 10 1`, `xfsdist -m`, `fsdist -t btrfs` of bcc and libbpf-tools.
//!
//! ## Versions
//! bcc since 2016, libbpf-tools' `fsdist`; with intervals (`08:30:00:`) or without.
//!
//! ## Caveats
//! Most reads are served from the page cache: the fast mode is memory, the slow one includes the
//! disk, locks, journal and queues. `open` and `getattr` are not data I/O. A row `LO -> HI` counts
//! values from LO up to and including HI, whole units: `0 -> 1` is below 2.
//!
//! ## Not in this output
//! The disk's share of a latency, the file, the process.

use crate::describe::report::*;
use crate::histogram::buckets::{COUNT_LIMIT, histogram_of};

pub(super) const FORMAT: Format = Format::labels(
    "ext4dist, xfsdist, ...: latency histograms of file operations (bcc)",
    Level::B,
    &LABELS,
);

static LABELS: Labels = Labels {
    unnamed: "files",
    near: 1,
    lines: &[
        begins("^Tracing {kind:word} operation latency...", |found, report, _| {
            report.name(found.text("kind")?)
        })
        .like(&["Tracing ext4 operation latency... Hit Ctrl-C to end."]),
        announces("^operation = {name:word}$", |found, report, sink| {
            flush(report, sink);
            report.enter(match bare(found.text("name")?) {
                "read" => "read",
                "write" => "write",
                "fsync" => "fsync",
                _ => "",
            });
            report.quote_alone(bare(found.text("name")?))
        })
        .like(&["operation = 'read'", "operation = b'write'", "operation = open"]),
        follows("^usecs : count distribution$", |_, report, _| report.keep("unit", 1e3))
            .like(&["usecs               : count     distribution"]),
        follows("^msecs : count distribution$", |_, report, _| report.keep("unit", 1e6))
            .like(&["msecs               : count     distribution"]),
        says("^{low:u} -> {high:u}{ }:{n:u} |", row)
            .like(&["512 -> 1023       : 66       |**                  |"]),
        perhaps("^{time:text}$", |found, report, sink| {
            let moment = WallTime::read(found.text("time")?.trim_end_matches(':'))?;
            flush(report, sink);
            report.moments.at(moment);
            Some(())
        })
        .like(&["23:57:08:"]),
    ],
    own: &["^^C$"],
    cut: &["->"],
    end: Some(flush),
    ..Labels::NEW
};

/// A name with quotes, without, or with Python's `b`.
fn bare(name: &str) -> &str {
    name.strip_prefix('b').filter(|name| name.starts_with('\'')).unwrap_or(name).trim_matches('\'')
}

/// Whole units, both ends included, the lowest row, `0 -> 1`, like all others.
fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let unit = report.kept("unit")? as u64;
    let (low, high) = (found.count("low")?, found.count("high")?);
    let count = found.count("n").filter(|count| *count <= COUNT_LIMIT && low < high)?;
    report.bucket(low.saturating_mul(unit), high.saturating_add(1).saturating_mul(unit), count)
}

fn flush(report: &mut Report, sink: &mut dyn Sink) {
    report.forget("unit");
    let Some(histogram) = histogram_of(report.buckets()) else { return };
    let device = report.device(sink);
    let mut one = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
    one.op = Some(match report.part {
        "read" => Op::Read,
        "write" => Op::Write,
        "fsync" => Op::Flush,
        _ => Op::Other,
    });
    one.label = Some(sink.name(report.quoted().last().map_or("", String::as_str)));
    // A table is printed at the end of its interval.
    if let Some((start, length)) = report.moments.span() {
        one.start = Some(Time::from_seconds(start));
        one.length = Some(Nanos::from_seconds(length));
    }
    sink.distribution(one);
}
