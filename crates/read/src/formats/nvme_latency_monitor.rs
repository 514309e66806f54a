//! Slow commands that a datacentre NVMe drive counts itself (`nvme ocp latency-monitor-log`).
//!
//! ## Reads
//! The log page C3: the thresholds A to D, the counters of the active and of the static bucket for
//! reads, writes and trims, and the latency that was measured for each. A counter becomes the
//! distribution of the commands slower than threshold A; the longest measured latency is the fact
//! `smart.nvme.slowest.read`, `.write` or `.trim`.
//!
//! ## How to capture
//! `nvme ocp latency-monitor-log /dev/nvme0`.
//!
//! ## Versions
//! nvme-cli 2.0 to 2.16, log pages 1 to 4.
//!
//! ## Caveats
//! Commands faster than threshold A are not counted: shares of these are no shares of all. Bucket 3
//! is open. A counter that stands in the log while its bucket timer runs covers less than a window.
//! Latencies are whole milliseconds, of the drive alone: the host's queue is not part of them.
//!
//! ## Not in this output
//! How many commands were faster, sizes. When, except for the time stamps, which are not read.

use crate::describe::report::*;
use crate::drive::health::drive_named;
use crate::histogram::buckets::histogram_of;
use crate::histogram::powers::note;

pub const FORMAT: Format =
    Format::labels("nvme ocp latency-monitor-log: slow commands of NVMe drives", Level::B, &LABELS);

/// The columns of the tables.
const OPS: [(&str, Op); 3] = [("read", Op::Read), ("write", Op::Write), ("trim", Op::Discard)];
/// The thresholds, by the number of the bucket that begins there.
const THRESHOLDS: [&str; 4] = ["A", "B", "C", "D"];
static LABELS: Labels = Labels {
    nameless: "drive",
    command: Some(Command { program: "/dev/nvme", subject: drive_named, opens: Opens::Nothing }),
    lines: &[
        begins("^-Latency Monitor/C3 Log Page Data-", |_, _, _| Some(()))
            .opens_again()
            .like(&["-Latency Monitor/C3 Log Page Data-"]),
        says("^Active Threshold {which:word} {n:ms} ms$", |found, report, _| {
            let which = found.text("which")?;
            let known = THRESHOLDS.iter().find(|known| **known == which)?;
            report.keep(known, found.time("n")?.ns() as f64)
        })
        .like(&["Active Threshold A                 10 ms"]),
        says("^{Active|Static} Bucket Counter: Bucket {:u} {:u} {:u} {:u}$", |found, report, _| {
            report.quote(found.line())
        })
        .like(&["Active Bucket Counter: Bucket 0              4021             17              0"]),
        says(
            "^{:word} Measured Latency: Bucket {:u} {read:ms} ms {write:ms} ms {trim:ms} ms$",
            |found, report, _| {
                OPS.iter()
                    .try_for_each(|(name, _)| report.most(name, found.time(name)?.ns() as f64))
            },
        )
        .like(&[
            "Active Measured Latency: Bucket 3            812 ms           0 ms          0 ms",
        ]),
    ],
    labels: &[label(&["Controller"], |value, report| report.name(value))],
    own: &[
        "^Read Write Deallocate/Trim$",
        "^{Active|Static} Latency Time Stamp: Bucket ",
        "^{Feature Status|Active Bucket Timer|Active Latency|Static Latency|Debug|Log Page}{*}",
    ],
    cut: &["Bucket Counter:", "Measured Latency:", "Active Threshold"],
    end: Some(pour),
    ..Labels::NEW
};

/// Gives out what the counters of the log say.
fn pour(report: &mut Report, sink: &mut dyn Sink) {
    let device = report.device(sink);
    for (name, _) in OPS {
        if let Some(ns) = report.kept(name).filter(|ns| *ns > 0.0) {
            sink.add_fact(device, typed::SMART_SLOWEST.of(name), Nanos(ns as i64));
        }
    }
    let edges: Vec<u64> =
        THRESHOLDS.iter().filter_map(|which| report.kept(which)).map(|ns| ns as u64).collect();
    let ends = edges.iter().copied().skip(1).chain([u64::MAX]);
    let ranges: Vec<(u64, u64)> = edges.iter().copied().zip(ends).collect();
    if ranges.len() < THRESHOLDS.len() {
        if !report.quoted().is_empty() {
            sink.skip(note("the thresholds of the buckets are missing: the counters are ignored"));
        }
        return;
    }
    let counters: Vec<Vec<String>> = report
        .quoted()
        .iter()
        .map(|line| line.split_whitespace().map(str::to_string).collect())
        .collect();
    for kind in ["Active", "Static"] {
        for (place, (_, op)) in OPS.iter().enumerate() {
            let row = |words: &Vec<String>| {
                let [known, .., bucket, read, write, trim] = words.as_slice() else { return None };
                let bucket = usize::try_from(integer(bucket)?).ok()?;
                let (from, to) = *ranges.get(bucket).filter(|_| known == kind)?;
                Some((from, to, integer([read, write, trim].get(place)?)?))
            };
            let rows = counters.iter().filter_map(row).collect();
            let histogram = histogram_of(rows).filter(|known| known.count() > 0);
            let Some(histogram) = histogram else { continue };
            let mut one = Distribution::new(device, Layer::Block, Stage::Device, histogram);
            one.op = Some(*op);
            one.label = Some(sink.name(&kind.to_ascii_lowercase()));
            sink.distribution(one);
        }
    }
    if let Some(least) = edges.first().filter(|_| !counters.is_empty()) {
        sink.add_fact(device, typed::TRACE_THRESHOLD, Nanos(*least as i64));
    }
}
