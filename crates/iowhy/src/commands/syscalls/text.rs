//! Calls as a table with the disk share and histograms, or as one JSON object.

use std::collections::BTreeMap;
use std::io::Write;

use iowhy_live::{CallCount, UnfinishedCall};
use iowhy_model::Order as _;
use iowhy_model::{
    Distribution, Edges, Histogram, Layer, Level, Loss, Op, Recording, Report, Sampling, Sink,
    Source, Stage, numbers,
};
use iowhy_show::{Style, views};
use serde_json::{Value, json};

use super::disk::Disk;
use crate::calls;
use crate::present::View;
use crate::sanitised;

/// Rows and histograms shown by default.
const ROWS: usize = 15;
const HISTOGRAMS: usize = 3;

/// How long calls were watched, and what was not counted.
pub(super) struct CallTotals<'a> {
    /// The length of the watch.
    pub seconds: f64,
    /// Calls.
    pub losses: &'a [Loss],
    /// Block I/Os.
    pub disk_lost: u64,
}

/// Writes what was not counted.
pub(super) fn losses(totals: &CallTotals, out: &mut dyn Write) -> std::io::Result<()> {
    for loss in totals.losses {
        writeln!(out, "lost     {} {}", loss.count, loss.what)?;
    }
    Ok(())
}

/// Draws everything.
pub(super) fn table(
    counts: &[CallCount],
    unfinished: &[UnfinishedCall],
    disk: &Disk,
    totals: &CallTotals,
    style: &Style,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let verbose = style.verbose;
    let length = numbers::duration(totals.seconds * 1e9);
    writeln!(out, "I/O calls in {length}, by summed wait (traced)\n")?;
    let shown = if verbose { counts.len() } else { ROWS };
    writeln!(
        out,
        "{:>10} {:>9} {:>8} {:>8} {:>7} {:>9}  {:<16} {:<16} process",
        "waited", "calls", "mean", "max", "failed", "size", "call", "on"
    )?;
    for count in counts.iter().take(shown) {
        let (sum, n) = (count.histogram.sum_ns.unwrap_or(0.0), count.histogram.count());
        writeln!(
            out,
            "{:>10} {n:>9} {:>8} {:>8} {:>7} {:>9}  {:<16} {:<16} {}[{}]",
            numbers::duration(sum),
            numbers::duration(sum / n.max(1) as f64),
            numbers::duration(count.histogram.max_ns.unwrap_or(0) as f64),
            count.failed,
            count.bytes.map_or("-".to_string(), |bytes| numbers::bytes(bytes as f64)),
            count.call,
            count.file.unwrap_or("-"),
            count.comm,
            count.pid,
        )?;
    }
    if counts.is_empty() {
        writeln!(out, "no such call returned while iowhy watched")?;
    } else if counts.len() > shown {
        writeln!(out, "and {} more rows with --verbose", counts.len() - shown)?;
    }
    if let Some(oldest) = unfinished.first() {
        writeln!(
            out,
            "\nnot returned: {} on files, the oldest for {}: {} on {} by {}[{}]",
            numbers::several(unfinished.len() as u64, "call"),
            numbers::duration(oldest.age.ns() as f64),
            oldest.call,
            oldest.file.unwrap_or("-"),
            oldest.comm,
            oldest.pid,
        )?;
    }
    disk_part(counts, disk, out)?;
    histograms(counts, if verbose { usize::MAX } else { HISTOGRAMS }, style, out)?;
    losses(totals, out)?;
    if totals.disk_lost > 0 {
        writeln!(out, "lost     {} block I/Os: the disk share is a lower bound", totals.disk_lost)?;
    }
    Ok(())
}

/// A process's wait in synchronous calls, on files that can be on a disk.
fn waits(counts: &[CallCount]) -> BTreeMap<u32, (&str, f64)> {
    let mut waits: BTreeMap<u32, (&str, f64)> = BTreeMap::new();
    // io_uring requests are counted themselves; counting `io_uring_enter` too would count them
    // twice.
    let on_disk = |count: &&CallCount| {
        let file = matches!(count.file, Some("regular file" | "block device" | "directory"));
        let queue = count.call.starts_with("io_") && count.call != "io_uring_enter";
        file || queue || count.op == Some(Op::Flush)
    };
    // Process 0 stands for many.
    for count in counts.iter().filter(on_disk).filter(|count| count.pid != 0) {
        let of = waits.entry(count.pid).or_insert((&count.comm, 0.0));
        of.1 += count.histogram.sum_ns.unwrap_or(0.0);
    }
    waits
}

fn disk_part(counts: &[CallCount], disk: &Disk, out: &mut dyn Write) -> std::io::Result<()> {
    let waits = waits(counts);
    let mut both: Vec<_> = waits
        .iter()
        .filter_map(|(pid, wait)| Some((pid, wait, disk.processes.get(pid)?)))
        .collect();
    both.order_by_key(|(_, _, of)| std::cmp::Reverse(of.device_ns));
    if both.is_empty() {
        return writeln!(
            out,
            "\nNone of these processes submitted block I/O of its own meanwhile."
        );
    }
    writeln!(out, "\nDisk share: block I/Os that the process itself submitted (D2C, summed)\n")?;
    for (pid, (comm, wait), of) in both.into_iter().take(ROWS) {
        let device = of.device_ns as f64;
        let share = match device <= *wait {
            true => format!("at most {} of its wait", numbers::share(device / wait)),
            false => "more than the wait: asynchronous, mmap or concurrent I/O".to_string(),
        };
        writeln!(
            out,
            "  {comm}[{pid}]: waited {} on files; {} I/Os, {} on the device, {share}",
            numbers::duration(*wait),
            of.ios,
            numbers::duration(device),
        )?;
    }
    Ok(())
}

/// One histogram per call, over all processes and files, the longest waits first.
fn histograms(
    counts: &[CallCount],
    most: usize,
    style: &Style,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut calls: Vec<(&str, Option<Op>, Histogram)> = Vec::new();
    for count in counts {
        match calls.iter_mut().find(|(name, _, _)| *name == count.call) {
            Some((_, _, histogram)) => drop(histogram.merge(&count.histogram)),
            None => {
                let mut all = Histogram::empty(Edges::standard());
                all.merge(&count.histogram);
                calls.push((&count.call, count.op, all));
            }
        }
    }
    calls.order_by(|a, b| b.2.sum_ns.unwrap_or(0.0).total_cmp(&a.2.sum_ns.unwrap_or(0.0)));
    let mut recording = Recording::new();
    let mut source = Source::new("syscalls", "live", Level::B);
    source.sampling = Sampling::Traced;
    recording.begin(source);
    for (name, op, histogram) in calls.into_iter().take(most) {
        let device = recording.device(name);
        let mut one = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
        one.op = op;
        recording.distribution(one);
    }
    recording.end();
    writeln!(out)?;
    let report = Report { recording, findings: Vec::new() };
    View(&views::histogram::VIEW).write(&report, style, out)
}

/// The columns of `--csv`, before those of latencies.
const COLUMNS: [&str; 9] =
    ["pid", "comm", "call", "op", "file", "mount", "file_system", "failed", "bytes"];

/// Writes a row per process, call and kind of file.
pub(super) fn csv(counts: &[CallCount], out: &mut dyn Write) -> std::io::Result<()> {
    let rows: Vec<Value> = counts.iter().map(row).collect();
    iowhy_show::csv::rows(&[&COLUMNS[..], &calls::LATENCY_KEYS].concat(), &rows, out)
}

/// Calls of a process, as an object.
fn row(count: &CallCount) -> Value {
    let of = json!({
        "call": count.call,
        "op": count.op.map(|op| op.name()),
        "file": count.file,
        "pid": count.pid,
        "comm": count.comm,
        "mount": count.mount.as_ref().map(|mount| mount.place.as_str()),
        "file_system": count.mount.as_ref().map(|mount| mount.kind.as_str()),
        "failed": count.failed,
        "bytes": count.bytes,
    });
    calls::latencies(&count.histogram, of)
}

/// Writes it all as an object of schema iowhy.syscalls/1.
pub(super) fn json(
    counts: &[CallCount],
    unfinished: &[UnfinishedCall],
    disk: &Disk,
    totals: &CallTotals,
) -> anyhow::Result<()> {
    let waits = waits(counts);
    let disk_of: Vec<Value> = disk
        .processes
        .iter()
        .map(|(pid, of)| {
            json!({
                "pid": pid,
                "comm": of.comm,
                "ios": of.ios,
                "d2c_sum_ns": of.device_ns,
                "q2c_sum_ns": of.total_ns,
                "file_wait_sum_ns": waits.get(pid).map(|(_, wait)| *wait),
            })
        })
        .collect();
    let not_returned = |call: &UnfinishedCall| {
        json!({
            "call": call.call,
            "op": call.op.map(|op| op.name()),
            "file": call.file,
            "pid": call.pid,
            "comm": call.comm,
            "mount": call.mount.as_ref().map(|mount| mount.place.as_str()),
            "file_system": call.mount.as_ref().map(|mount| mount.kind.as_str()),
            "age_ns": call.age.ns(),
        })
    };
    let object = json!({
        "schema": "iowhy.syscalls/1",
        "seconds": totals.seconds,
        "calls": counts.iter().map(row).collect::<Vec<_>>(),
        "unfinished": unfinished.iter().map(not_returned).collect::<Vec<_>>(),
        "disk": disk_of,
        "losses": calls::lost(totals.losses),
        "disk_lost": totals.disk_lost,
    });
    writeln!(sanitised::stdout(), "{object}")?;
    Ok(())
}
