//! dbench for Kubernetes: what fio measured of a volume, in a summary of four lines.
//!
//! ## Reads
//! Below `= Dbench Summary =`: rates of random 4 KiB requests, 64 in flight; throughput of random
//! 128 KiB requests; mean latencies of 4 KiB requests, four in flight; throughput in sequence,
//! requests of 1 MiB.
//!
//! ## How to capture
//! The log of the pod that dbench starts (`kubectl logs -f job/dbench`).
//!
//! ## Versions
//! The script of 2018 and its copies.
//!
//! ## Caveats
//! Each number is of a run of its own. A replicated volume writes over the network: its writes are
//! no measure of its disk. Reads faster than any bus come from a cache.
//!
//! ## Not in this output
//! The latency distribution, the disk. Runs of reads and writes at the same time are left out.

use iowhy_model::DeviceId;
use iowhy_model::typed::{BytesPerSecond, PageCache};

use crate::describe::report::*;
use crate::text::numbers::in_thousands;

pub(super) const FORMAT: Format =
    Format::labels("rates and latencies of a Kubernetes volume", Level::A, &LABELS);

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("^= Dbench Summary =$", |_, _, _| Some(())).like(&["= Dbench Summary ="]),
        begins("^Random Read/Write IOPS: {iops:word} BW: {read:word} / {write:word}$", random)
            .like(&["Random Read/Write IOPS: 75.7k/59.7k. BW: 523MiB/s / 500MiB/s"]),
        begins("^Average Latency (usec) Read/Write: {pair:word}$", latency)
            .like(&["Average Latency (usec) Read/Write: 183.07/76.91"]),
        says("^Sequential Read/Write: {read:word} / {write:word}$", sequential)
            .like(&["Sequential Read/Write: 536MiB/s / 512MiB/s"]),
        says("^Mixed Random Read/Write IOPS: {pair:word}$", |_, _, _| Some(()))
            .like(&["Mixed Random Read/Write IOPS: 43.1k/14.4k"]),
    ],
    ignored: &["All tests complete."],
    own: &["^====="],
    cut: &["Random Read/Write", "Sequential Read/Write"],
    ..Labels::NEW
};

/// Bytes of a request for rates, and in sequence; requests in flight for rates and for latencies.
const SMALL: f64 = 4096.0;
const MIDDLE: f64 = 131_072.0;
const LARGE: f64 = 1_048_576.0;
const MANY: u64 = 64;
const FOUR: f64 = 4.0;

/// `75.7k`, `9336`: powers of 1000, as fio prints rates.
fn rate(word: &str) -> Option<f64> {
    in_thousands(&word.to_ascii_uppercase()).filter(|rate| *rate > 0.0)
}

/// `523MiB/s`, bytes per second.
fn throughput(word: &str) -> Option<f64> {
    bytes(word.strip_suffix("/s")?).filter(|rate| *rate > 0.0)
}

fn pair(text: &str, read: fn(&str) -> Option<f64>) -> Option<[(Op, f64); 2]> {
    let (reads, writes) = text.trim_end_matches('.').split_once('/')?;
    Some([(Op::Read, read(reads)?), (Op::Write, read(writes)?)])
}

fn device(report: &mut Report, what: &str, op: Op, sink: &mut dyn Sink) -> DeviceId {
    report.name(&format!("{what} {}", op.name()));
    let device = report.device(sink);
    sink.add_fact(device, typed::RUN_CACHED, PageCache::No);
    device
}

fn random(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    for (op, per_s) in pair(found.text("iops")?, rate)? {
        let device = device(report, "random", op, sink);
        let bytes_per_s = Some(per_s * SMALL);
        let rates = Rates { ios_per_s: per_s, bytes_per_s, ..Rates::default() };
        report.average(Some(op), rates, None, sink)?;
        sink.add_fact(device, typed::RUN_AT_ONCE, MANY);
    }
    for (op, what) in [(Op::Read, "read"), (Op::Write, "write")] {
        let per_s = throughput(found.text(what)?)?;
        let device = device(report, "random 128 KiB", op, sink);
        sink.add_fact(device, typed::RUN_THROUGHPUT, BytesPerSecond(per_s.round()));
        let rates =
            Rates { ios_per_s: per_s / MIDDLE, bytes_per_s: Some(per_s), ..Rates::default() };
        report.average(Some(op), rates, None, sink)?;
    }
    Some(())
}

fn latency(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    for (op, us) in pair(found.text("pair")?, |word| decimal(word).filter(|us| *us > 0.0))? {
        let device = device(report, "four at once", op, sink);
        let per_s = FOUR / us * 1e6;
        let bytes_per_s = Some(per_s * SMALL);
        let rates =
            Rates { ios_per_s: per_s, bytes_per_s, await_ns: Some(us * 1e3), ..Rates::default() };
        report.average(Some(op), rates, None, sink)?;
        sink.add_fact(device, typed::RUN_AT_ONCE, FOUR as u64);
    }
    Some(())
}

/// Four processes with 16 in flight each, whose latencies are not printed.
fn sequential(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    for (op, what) in [(Op::Read, "read"), (Op::Write, "write")] {
        let per_s = throughput(found.text(what)?)?;
        device(report, "sequential", op, sink);
        let rates =
            Rates { ios_per_s: per_s / LARGE, bytes_per_s: Some(per_s), ..Rates::default() };
        report.average(Some(op), rates, None, sink)?;
    }
    Some(())
}
