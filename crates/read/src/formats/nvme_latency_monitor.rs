//! Slow commands that a datacentre NVMe drive counts itself (`nvme ocp latency-monitor-log`).
//!
//! ## Reads
//! The log page C3: the thresholds A to D and the counters of the active and of the static bucket:
//! how many reads, writes and trims took from one threshold to the next. Each counter above zero is
//! a fact such as `smart.slow.active.read.20ms`, by the threshold at which its bucket begins; the
//! longest latency that was measured is `smart.slowest.read`, `.write` or `.trim`.
//!
//! ## How to capture
//! `nvme ocp latency-monitor-log /dev/nvme0`.
//!
//! ## Versions
//! nvme-cli 2.0 to 2.16, log pages 1 to 4.
//!
//! ## Caveats
//! Commands faster than threshold A are not counted, so a counter is not a share of all commands,
//! and no distribution is made of them. The bucket of threshold D is open. The active counters
//! cover the time since the bucket timer started, the static ones the window before. Latencies are
//! whole milliseconds of the drive alone: the host's queue is not part of them.
//!
//! ## Not in this output
//! The number of faster commands, sizes. The times, except for the timestamps, which are not read.

use crate::describe::report::*;
use crate::drive::health::drive_named;

pub(super) const FORMAT: Format =
    Format::labels("nvme ocp latency-monitor-log: slow commands of NVMe drives", Level::E, &LABELS);

/// The columns of the tables.
const OPS: [&str; 3] = ["read", "write", "trim"];
/// The thresholds, by the number of the bucket that begins there.
const THRESHOLDS: [&str; 4] = ["A", "B", "C", "D"];

static LABELS: Labels = Labels {
    unnamed: "drive",
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
        says(
            "^{kind:word} Bucket Counter: Bucket {bucket:u} {read:u} {write:u} {trim:u}$",
            counted,
        )
        .like(&["Active Bucket Counter: Bucket 0              4021             17              0"]),
        says(
            "^{:word} Measured Latency: Bucket {:u} {read:ms} ms {write:ms} ms {trim:ms} ms$",
            |found, report, _| {
                OPS.iter().try_for_each(|op| report.most(op, found.time(op)?.ns() as f64))
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
    end: Some(|report, _| {
        for op in OPS {
            if let Some(ns) = report.kept(op).filter(|ns| *ns > 0.0) {
                report.fact(typed::SMART_SLOWEST.of(op), Nanos(ns as i64));
            }
        }
    }),
    ..Labels::NEW
};

/// A row of counters.
fn counted(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let kind = found.text("kind")?.to_ascii_lowercase();
    let bucket = usize::try_from(found.count("bucket")?).ok()?;
    let ns = THRESHOLDS.get(bucket).and_then(|which| report.kept(which));
    let ns = report.need(ns, "the threshold of the bucket is missing")?;
    let from = ns / 1e6;
    let counts = OPS.into_iter().filter_map(|op| Some((op, found.count(op)?)));
    for (op, count) in counts.filter(|(_, count)| *count > 0) {
        report.fact(typed::SMART_SLOW.member(format!("{kind}.{op}.{from}ms")), count);
    }
    Some(())
}
