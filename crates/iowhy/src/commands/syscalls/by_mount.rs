//! Calls by mount point and operation, as a table.

use std::collections::BTreeMap;
use std::io::Write;

use iowhy_live::{CallCount, MountPoint, UnfinishedCall};
use iowhy_model::Order as _;
use iowhy_model::{Edges, Histogram, Op, numbers};
use serde_json::{Value, json};

use super::text::{self, CallTotals};
use crate::calls;

/// Mount points and operations shown by default.
const ROWS: usize = 20;

/// Calls of one kind on one file system.
struct MountRow<'a> {
    mount: &'a MountPoint,
    op: Op,
    histogram: Histogram,
    failed: u64,
    unfinished: Vec<&'a UnfinishedCall>,
}

/// The longest waits first, including calls that have not returned.
fn rows<'a>(counts: &'a [CallCount], unfinished: &'a [UnfinishedCall]) -> Vec<MountRow<'a>> {
    let mut rows: BTreeMap<(&MountPoint, Op), MountRow> = BTreeMap::new();
    fn row<'a, 'b>(
        rows: &'b mut BTreeMap<(&'a MountPoint, Op), MountRow<'a>>,
        mount: &'a MountPoint,
        op: Op,
    ) -> &'b mut MountRow<'a> {
        let histogram = Histogram::empty(Edges::standard());
        let empty = MountRow { mount, op, histogram, failed: 0, unfinished: Vec::new() };
        rows.entry((mount, op)).or_insert(empty)
    }
    // Pipes, sockets and terminals have no known mount point.
    let is_file = |file: Option<&str>| matches!(file, Some("regular file" | "directory"));
    for count in counts.iter().filter(|count| is_file(count.file)) {
        let (Some(mount), Some(op)) = (&count.mount, count.op) else { continue };
        let row = row(&mut rows, mount, op);
        row.histogram.merge(&count.histogram);
        row.failed += count.failed;
    }
    for call in unfinished.iter().filter(|call| is_file(call.file)) {
        let (Some(mount), Some(op)) = (&call.mount, call.op) else { continue };
        row(&mut rows, mount, op).unfinished.push(call);
    }
    let mut rows: Vec<MountRow> = rows.into_values().collect();
    rows.order_by(|a, b| b.waited().total_cmp(&a.waited()));
    rows
}

impl MountRow<'_> {
    fn waited(&self) -> f64 {
        let going: f64 = self.unfinished.iter().map(|call| call.age.ns() as f64).sum();
        self.histogram.sum_ns.unwrap_or(0.0) + going
    }

    /// A percentile, if there are enough calls.
    fn percentile(&self, share: f64) -> String {
        let known = calls::percentile(&self.histogram, share);
        known.map_or("-".to_string(), |high_ns| numbers::duration(high_ns as f64))
    }

    fn call(&self) -> &'static str {
        if self.op == Op::Flush { "sync" } else { self.op.name() }
    }

    fn json(&self) -> Value {
        let oldest = self.unfinished.iter().map(|call| call.age.ns()).max();
        let of = json!({
            "mount": self.mount.place,
            "file_system": self.mount.kind,
            "call": self.call(),
            "failed": self.failed,
            "unfinished": self.unfinished.len(),
            "oldest_ns": oldest,
        });
        calls::latencies(&self.histogram, of)
    }

    fn place(&self) -> String {
        match self.mount.kind.as_str() {
            "" => self.mount.place.clone(),
            kind => format!("{} ({kind})", self.mount.place),
        }
    }
}

/// The columns of `--csv`, before those of latencies.
const COLUMNS: [&str; 6] = ["mount", "file_system", "call", "failed", "unfinished", "oldest_ns"];

/// Writes a row per mount point and operation.
pub(super) fn csv(
    counts: &[CallCount],
    unfinished: &[UnfinishedCall],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let rows: Vec<Value> = rows(counts, unfinished).iter().map(MountRow::json).collect();
    iowhy_show::csv::rows(&[&COLUMNS[..], &calls::LATENCY_KEYS].concat(), &rows, out)
}

/// Draws the table and the calls that have not returned.
pub(super) fn table(
    counts: &[CallCount],
    unfinished: &[UnfinishedCall],
    totals: &CallTotals,
    verbose: bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let all = rows(counts, unfinished);
    let length = numbers::duration(totals.seconds * 1e9);
    writeln!(out, "I/O calls on files in {length}, by mount point (traced)\n")?;
    if all.is_empty() {
        writeln!(out, "no call on a file while iowhy watched")?;
    } else {
        writeln!(
            out,
            "{:>10} {:>9} {:>8} {:>8} {:>8} {:>7} {:>7}  {:<5}  mount point",
            "waited", "calls", "p50", "p99", "max", "failed", "waiting", "call"
        )?;
    }
    let shown = if verbose { all.len() } else { ROWS };
    for row in all.iter().take(shown) {
        writeln!(
            out,
            "{:>10} {:>9} {:>8} {:>8} {:>8} {:>7} {:>7}  {:<5}  {}",
            numbers::duration(row.waited()),
            row.histogram.count(),
            row.percentile(0.5),
            row.percentile(0.99),
            row.histogram.max_ns.map_or("-".to_string(), |ns| numbers::duration(ns as f64)),
            row.failed,
            row.unfinished.len(),
            row.call(),
            row.place(),
        )?;
        if let Some(oldest) = row.unfinished.iter().max_by_key(|call| call.age) {
            writeln!(
                out,
                "{:10} the oldest has not returned for {}: {} by {}[{}]",
                "",
                numbers::duration(oldest.age.ns() as f64),
                oldest.call,
                oldest.comm,
                oldest.pid,
            )?;
        }
    }
    if all.len() > shown {
        writeln!(out, "and {} more rows with --verbose", all.len() - shown)?;
    }
    text::losses(totals, out)
}

#[cfg(test)]
mod tests {
    use iowhy_model::Nanos;

    use super::*;

    #[test]
    fn calls_are_added_up_by_mount_and_those_that_hang_come_first() {
        let mount = |place: &str, kind: &str| {
            Some(MountPoint { place: place.to_string(), kind: kind.to_string() })
        };
        let count = |place, file: &'static str, call: &str, op, n: u64, ns: u64| {
            let mut histogram = Histogram::empty(Edges::standard());
            (0..n).for_each(|_| histogram.record(ns));
            CallCount {
                pid: 7,
                comm: "db".to_string(),
                call: call.to_string(),
                op,
                file: Some(file),
                mount: place,
                histogram,
                failed: 1,
                bytes: None,
            }
        };
        let data = || mount("/data", "ext4");
        let (read, sync) = (Some(Op::Read), Some(Op::Flush));
        let counts = [
            count(data(), "regular file", "read", read, 900, 1_000_000),
            count(data(), "regular file", "pread64", read, 200, 1_000_000),
            count(data(), "regular file", "fsync", sync, 3, 8_000_000),
            count(mount("0:14, not mounted here", ""), "pipe", "read", read, 1, 9_000_000_000),
            count(None, "socket", "read", read, 1, 9_000_000_000),
        ];
        let hangs = UnfinishedCall {
            pid: 42,
            comm: "cat".to_string(),
            call: "read".to_string(),
            op: read,
            file: Some("regular file"),
            mount: mount("/mnt", "fuse"),
            age: Nanos(5_000_000_000),
        };
        let totals = CallTotals { seconds: 10.0, losses: &[], disk_lost: 0 };
        let mut out = Vec::new();
        let hanging = [hangs];
        table(&counts, &hanging, &totals, false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        println!("{text}");
        let lines: Vec<Vec<&str>> =
            text.lines().skip(3).map(|line| line.split_whitespace().collect()).collect();
        let expected = [
            "5 s 0 - - - 0 1 read /mnt (fuse)",
            "the oldest has not returned for 5 s: read by cat[42]",
            "1.1 s 1100 1 ms 1 ms 1 ms 2 0 read /data (ext4)",
            "24 ms 3 - - 8 ms 1 0 sync /data (ext4)",
        ];
        assert_eq!(lines.iter().map(|line| line.join(" ")).collect::<Vec<_>>(), expected);
        let mut out = Vec::new();
        csv(&counts, &hanging, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let rows: Vec<&str> = text.lines().collect();
        let starts = [
            "mount,file_system,call,failed,unfinished,oldest_ns,count,sum_ns,",
            "/mnt,fuse,read,0,1,5000000000,0,",
            "/data,ext4,read,2,0,,1100,1100000000",
            "/data,ext4,sync,1,0,,3,24000000",
        ];
        assert_eq!(rows.len(), starts.len(), "{text}");
        assert!(rows.iter().zip(starts).all(|(row, start)| row.starts_with(start)), "{text}");
    }
}
