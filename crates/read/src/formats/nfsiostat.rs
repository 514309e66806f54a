//! nfsiostat: reads and writes of NFS mounts, and server latency.
//!
//! ## Reads
//! Each mount's `read:` and `write:` rows, by their headings: operations and bytes per second, and
//! the mean time to execute (`avg exe`), which includes the queue of the RPC client, the network
//! and the server; `avg RTT`, the network and the server alone, is kept beside it. The device is
//! the export, `server:/path`.
//!
//! ## How to capture
//! `nfsiostat 5 3` (nfs-utils), `nfsiostat 5 /mnt`; `pcp nfsiostat`.
//!
//! ## Versions
//! nfs-utils 1.2 to 2.8, PCP 6. Newer ones have the columns `avg queue (ms)` and `errors`. Older
//! ones print each value on a separate line.
//!
//! ## Caveats
//! The first report of a mount is since it was mounted. A program's call may take longer than any
//! of these: it waits for many operations, or for none (the page cache). kB are 1024 bytes. Values
//! printed over several lines are assigned by their order.
//!
//! ## Not in this output
//! What the server's disks did. Single latencies. The interval, which is only on the command line.

use iowhy_model::Medium;

use crate::counters::stated::rates;
use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("rates of NFS mounts, and server latency", Level::A, &LABELS);

const NS_PER_MS: f64 = 1e6;
const KB: f64 = 1024.0;
/// Titles of the columns, as the tool orders them.
const TITLES: [&str; 8] = [
    "ops/s", "kB/s", "kB/op", "retrans", "avg RTT (ms)", "avg exe (ms)", "avg queue (ms)", "errors",
];
/// Columns without which a row shows nothing of throughput, and of latency.
const FEWEST: usize = 2;
const TIMED: usize = 6;
/// Which of these are kept of a row, and the names that they have for each operation.
const KEPT: [usize; 4] = [0, 1, 5, 4];
const PARTS: [(Op, &str, [&str; 4]); 2] = [
    (Op::Read, "read", ["reads/s", "kB read/s", "ms per read", "ms of a read's round trip"]),
    (
        Op::Write,
        "write",
        ["writes/s", "kB written/s", "ms per write", "ms of a write's round trip"],
    ),
];
/// How many columns the row has that comes, and how many of its values did.
const COLUMNS: &str = "columns";
const VALUES: &str = "values";
/// Whether the report counts since the mount, and whether that was reported.
const SINCE_MOUNT: &str = "since the mount";
const NOTED: &str = "noted";

static LABELS: Labels = Labels {
    unnamed: "nfs",
    // From a mount's name to its first row, blanks included.
    near: 11,
    lines: &[
        announces("^{export:word} mounted on {:word}$", |found, report, sink| {
            emit(report, sink);
            let export = found.text("export")?;
            // Of an export that was reported before.
            let known = report.quoted().iter().any(|known| known == export);
            report.keep(SINCE_MOUNT, f64::from(u8::from(!known)));
            if !known {
                report.quote(export);
            }
            report.enter("");
            report.name(export)
        })
        .like(&["server:/export mounted on /mnt:"]),
        begins("^{read|write}:{titles:text}$", heading)
            .when(|found| found.text("titles").and_then(columns).is_some_and(|n| n >= TIMED))
            .like(&["read:  ops/s  kB/s  kB/op  retrans  avg RTT (ms)  avg exe (ms)"]),
        // Old versions have the titles on the next line.
        perhaps("^{read|write}:", heading).like(&["write:"]),
        follows("^{ops/s|op/s} rpc", |_, _, _| Some(())).like(&["ops/s       rpc bklog"]),
        perhaps("^{row:text}$", row)
            .like(&["0.300  9.600  32.000  0 (0.0%)  1.333  1.667  0.100  0 (0.0%)"]),
    ],
    own: &["^Timestamp"],
    may_resume: true,
    end: Some(emit),
    ..Labels::NEW
};

/// The titles of a heading, if they are in order: how many.
fn columns(text: &str) -> Option<usize> {
    let (mut rest, mut count) = (text.trim(), 0);
    while !rest.is_empty() {
        rest = rest.strip_prefix(TITLES.get(count)?)?.trim_start();
        count += 1;
    }
    (count >= FEWEST).then_some(count)
}

fn heading(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (op, titles) = found.line().split_once(':')?;
    let count = if titles.trim().is_empty() { 0 } else { columns(titles)? };
    let (_, part, [ios, ..]) = PARTS.iter().find(|(_, name, _)| *name == op)?;
    resolve(report);
    // The line that names the next mount is missing.
    if report.kept(ios).is_some() {
        emit(report, sink);
    }
    report.keep(COLUMNS, count as f64);
    report.keep(VALUES, 0.0);
    report.enter(part)
}

/// Values of a row, all or some of them. `0 (0.0%)` is one.
fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let count = report.kept(COLUMNS).unwrap_or(0.0) as usize;
    let part = PARTS.iter().find(|(_, name, _)| *name == report.part && count > 0);
    let Some((_, _, names)) = part else { return titles(found.line(), report) };
    let words = found.line().split_whitespace().filter(|word| !word.starts_with('('));
    let mut place = report.kept(VALUES).unwrap_or(0.0) as usize;
    for word in words {
        let Some(value) = decimal(word).filter(|value| *value >= 0.0) else {
            resolve(report);
            let is_meant = place > 0 || decimal(word).is_some();
            return report.fails_if(is_meant, "a value of the row is not a number");
        };
        let kept = KEPT.iter().zip(names).find(|(known, _)| **known == place);
        kept.and_then(|(_, name)| report.keep(name, value));
        place += 1;
    }
    report.keep(VALUES, place as f64);
    if place > count {
        resolve(report);
        return report.fails("the values do not match the heading");
    }
    if place == count { report.enter("") } else { Some(()) }
}

/// Titles that follow the name of an operation, or values below `ops/s  rpc bklog`.
fn titles(line: &str, report: &mut Report) -> Option<()> {
    let is_of_op = !report.part.is_empty();
    match columns(line).filter(|_| is_of_op) {
        Some(count) => report.keep(COLUMNS, count as f64),
        None if is_of_op && line.starts_with(TITLES[0]) => {
            resolve(report);
            report.fails("the titles of the columns are damaged")
        }
        None => line.split_whitespace().all(|word| decimal(word).is_some()).then_some(()),
    }
}

/// An incomplete row does not count.
fn resolve(report: &mut Report) {
    let names = PARTS.iter().find(|(_, name, _)| *name == report.part).map(|(.., names)| names);
    names.into_iter().flatten().for_each(|name| report.forget(name));
    report.enter("");
}

fn emit(report: &mut Report, sink: &mut dyn Sink) {
    resolve(report);
    let since_mount = report.kept(SINCE_MOUNT) == Some(1.0);
    let mut is_new = since_mount && report.kept(NOTED).is_none();
    for (op, _, [ios, kb, wait, trip]) in PARTS {
        let bytes = report.take(kb).map(|kb| kb * KB);
        let wait = report.take(wait).map(|ms| ms * NS_PER_MS);
        let trip = report.take(trip).map(|ms| ms * NS_PER_MS);
        let Some(rates) = rates(report.take(ios), bytes, wait) else { continue };
        // Each operation has round trips of its own.
        let mut interval = Interval::new(report.device(sink), Layer::Application);
        sink.set_medium(interval.device, Medium::Network);
        interval.device_ns = trip.filter(|_| rates.ios_per_s > 0.0);
        interval.rates = vec![(op, rates)];
        interval.since_boot = since_mount;
        sink.interval(interval);
        if std::mem::take(&mut is_new) {
            report.keep(NOTED, 1.0);
            sink.note(note("the first report of a mount counts since it was mounted"));
        }
    }
}
