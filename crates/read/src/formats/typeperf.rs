//! Windows' performance counters of disks as CSV: typeperf, relog, Performance Monitor.
//!
//! ## Reads
//! The heading `"(PDH-CSV 4.0)","\\HOST\PhysicalDisk(0 C:)\Avg. Disk sec/Read",...` and the rows below it, one
//! interval of each disk or volume per row.
//!
//! ## How to capture
//! `typeperf "\PhysicalDisk(*)\*" -si 5 -sc 60 -f CSV -o FILE`, `relog LOG.blg -f CSV -o FILE`,
//! `Export-Counter -FileFormat CSV`; with tabs alike.
//!
//! ## Versions
//! PDH 4.0, Windows XP to 11. Counters are known by their English names.
//!
//! ## Caveats
//! `Avg. Disk sec/Read` is in seconds and includes the time in the host's queue; it is 0 without
//! I/O, which is not a latency. `_Total` is the mean or sum over all disks and is ignored if there
//! are others. `% Disk Time` is the queue times 100, not a share: the busy share is 100 minus
//! `% Idle Time`. The first row lacks the values that need two samples. A mean without the number
//! of requests has no weight.
//!
//! ## Not in this output
//! The latency distribution, which process sent the requests; queue and device time separately.

use std::collections::BTreeMap;

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Sink, Time};

use crate::counters::stated::rates;
use crate::histogram::powers::note;
use crate::{Body, Format, Reader, Sniff, Step, WallTime, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "typeperf",
    summary: "Windows' disk counters as CSV: typeperf, relog, Performance Monitor",
    manual: iowhy_model::manual!("typeperf.rs"),
    level: Level::A,
    body: Body::Custom {
        needles: &["(PDH-"],
        sniff: |lines| Sniff::from(lines.first().is_some_and(|line| heading(line).is_some())),
        reader: || Box::new(Typeperf::default()),
    },
};

const NS_PER_S: f64 = 1e9;
/// The sum over all disks.
const TOTAL: &str = "_Total";

/// The cells of a line: quoted, between commas or tabs.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.trim().chars() {
        match c {
            '"' => quoted = !quoted,
            ',' | '\t' if !quoted => cells.push(std::mem::take(&mut cell)),
            _ => cell.push(c),
        }
    }
    cells.push(cell);
    cells
}

/// Host, disk and counter of each column behind the time.
fn heading(line: &str) -> Option<Vec<Option<(String, String, String)>>> {
    let line = line.trim_start_matches('\u{feff}');
    let known = ["\"(PDH-CSV 4.0)", "\"(PDH-TSV 4.0)", "(PDH-CSV 4.0)", "(PDH-TSV 4.0)"];
    if !known.iter().any(|start| line.starts_with(start)) {
        return None;
    }
    Some(cells(line).iter().skip(1).map(|path| counter(path)).collect())
}

/// `\\HOST\PhysicalDisk(0 C:)\Disk Reads/sec`.
fn counter(path: &str) -> Option<(String, String, String)> {
    let (host, rest) = path.strip_prefix("\\\\")?.split_once('\\')?;
    let (object, counter) = rest.rsplit_once('\\')?;
    let (class, disk) = object.strip_suffix(')')?.split_once('(')?;
    let known = matches!(class, "PhysicalDisk" | "LogicalDisk");
    known.then(|| (host.to_string(), disk.to_string(), counter.to_string()))
}

#[derive(Default)]
struct Typeperf {
    columns: Vec<Option<(String, String, String)>>,
    /// A disk beside the sum over all.
    single: bool,
    first: Option<WallTime>,
    before: Option<WallTime>,
}

impl Reader for Typeperf {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(columns) = heading(line) {
            if !self.columns.is_empty() {
                return Step::Ended;
            }
            let known: Vec<_> = columns.iter().flatten().collect();
            self.single = known.iter().any(|(_, disk, _)| disk != TOTAL);
            sink.source().host = known.first().map(|(host, _, _)| host.clone());
            if known.is_empty() {
                sink.note(note("no counter of a disk under its English name"));
            }
            self.columns = columns;
            return Step::Took;
        }
        if line.trim().is_empty() {
            return Step::Took;
        }
        let cells = cells(line);
        let Some(moment) = cells.first().and_then(|cell| WallTime::read(cell)) else {
            return Step::Passed;
        };
        if cells.len() != self.columns.len() + 1 {
            return Step::Skipped("the values do not match the heading".to_string());
        }
        let mut disks: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
        for (column, cell) in self.columns.iter().zip(cells.iter().skip(1)) {
            let Some((_, disk, counter)) = column else { continue };
            let cell = cell.trim();
            let Some(value) = decimal(cell).filter(|value| *value >= 0.0) else {
                sink.lost("values that are not numbers", u64::from(!cell.is_empty()));
                continue;
            };
            if disk != TOTAL || !self.single {
                disks.entry(disk).or_default().insert(counter, value);
            }
        }
        let length = self.before.and_then(|before| moment.since(before));
        let start = self.before.zip(self.first).and_then(|(before, first)| before.since(first));
        let span = length.filter(|length| *length > 0.0).zip(start);
        for (disk, values) in disks {
            pour(disk, &values, span, sink);
        }
        WallTime::begin(&mut self.first, moment, sink);
        self.before = Some(moment);
        Step::Took
    }
}

fn pour(disk: &str, values: &BTreeMap<&str, f64>, span: Option<(f64, f64)>, sink: &mut dyn Sink) {
    let of = |name: &str| values.get(name).copied();
    let wait = |name: &str| of(name).filter(|s| *s > 0.0).map(|s| s * NS_PER_S);
    let mut interval = Interval::new(sink.device(disk), Layer::Block);
    let parts = [
        (Op::Read, "Disk Reads/sec", "Disk Read Bytes/sec", "Avg. Disk sec/Read"),
        (Op::Write, "Disk Writes/sec", "Disk Write Bytes/sec", "Avg. Disk sec/Write"),
    ];
    for (op, ios, bytes, mean) in parts {
        let known = rates(of(ios), of(bytes), wait(mean));
        interval.rates.extend(known.map(|rates| (op, rates)));
    }
    let all = wait("Avg. Disk sec/Transfer");
    if interval.rates.is_empty() {
        interval.mixed = rates(of("Disk Transfers/sec"), of("Disk Bytes/sec"), all);
        // A mean of which nobody printed the number.
        let single = [wait("Avg. Disk sec/Read"), wait("Avg. Disk sec/Write")];
        interval.await_ns = all.or(single.into_iter().flatten().reduce(f64::max));
    } else {
        interval.await_ns = all.filter(|_| interval.ios_per_s() > 0.0);
    }
    interval.queue_len = of("Avg. Disk Queue Length");
    interval.in_flight = of("Current Disk Queue Length").map(|count| count as u64);
    interval.busy = of("% Idle Time").filter(|idle| *idle <= 100.0).map(|idle| 1.0 - idle / 100.0);
    let known = !interval.rates.is_empty()
        || interval.mixed.is_some()
        || interval.await_ns.is_some()
        || interval.busy.is_some();
    if !known {
        return;
    }
    if let Some((length, start)) = span {
        interval.start = Some(Time::from_seconds(start));
        interval.length = Some(Nanos::from_seconds(length));
    }
    sink.interval(interval);
}
