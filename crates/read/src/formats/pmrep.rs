//! Disk metrics of Performance Co-Pilot as CSV: pmrep, pcp2csv.
//!
//! ## Reads
//! The heading `Time,"disk.dev.read-sda","disk.dev.read_bytes-sda",...` and the rows below it: one
//! interval of each disk (`disk.dev`), volume (`disk.dm`) or array (`disk.md`) per row. Other
//! metrics may stand between them and are ignored.
//!
//! ## How to capture
//! `pmrep -o csv -t 10 disk.dev > FILE` now, `pmrep -a ARCHIVE -o csv -t 60 disk.dev disk.dm` of
//! what pmlogger kept. `pmrep :iostat-dktx` prints the columns of iostat and is read as that.
//!
//! ## Versions
//! PCP 4 to 7, with any delimiter (`-l`). Rates need `disk.dev.read` and `disk.dev.write`; latency
//! `read_rawactive` and `write_rawactive`, or `r_await` and `w_await` (PCP 6), the queue `aveq` or
//! `avg_qlen`.
//!
//! ## Caveats
//! pmrep turns counters into rates: with `-r` it does not, and the CSV does not say so. The first
//! row has no rates. Latency includes the time in the host's queue. Times are in the time zone in
//! which pmrep ran, or in that of the archive (`-z`).
//!
//! ## Not in this output
//! The latency distribution, which process sent the requests; queue and device time separately.

use crate::counters::stated::rates;
use crate::describe::report::*;
use crate::text::csv;

pub(super) const FORMAT: Format =
    Format::labels("pmrep -o csv: disks of Performance Co-Pilot", Level::A, &LABELS);

static LABELS: Labels = Labels {
    lines: &[
        begins("^Time{,|;|\t}{metrics:text}$", |found, report, _| {
            let cells = cells(found.line());
            let named = cells.iter().skip(1).map(|cell| metric(cell).unwrap_or_default());
            report.heading = named.collect();
            Some(())
        })
        .when(|found| cells(found.line()).iter().any(|cell| metric(cell).is_some()))
        .opens_report()
        .like(&["Time,\"disk.dev.read-sda\",\"disk.dev.write-sda\""]),
        perhaps("^{row:text}$", row).like(&["2026-11-30 05:46:44,23409.232,179.948"]),
    ],
    ..Labels::NEW
};

fn cells(line: &str) -> Vec<String> {
    csv::cells(line.trim(), &[',', ';', '\t'])
}

/// Metrics of a disk as a whole.
const OF_ALL: [&str; 4] = ["aveq", "avg_qlen", "avactive", "inflight"];

/// `disk.dev.read-sda`: the disk, and the metric after a tab if it is used.
fn metric(cell: &str) -> Option<String> {
    let (name, disk) = cell.split_once('-')?;
    let classes = ["disk.dev.", "disk.dm.", "disk.md."];
    let metric = classes.iter().find_map(|class| name.strip_prefix(class))?;
    let is_of_op = |(_, op, letter): &(Op, &str, &str)| {
        let rest = metric.strip_prefix(op);
        rest.is_some_and(|rest| ["", "_bytes", "_merge", "_rawactive"].contains(&rest))
            || metric.strip_prefix(letter) == Some("_await")
    };
    let is_used = OPS.iter().any(is_of_op) || OF_ALL.contains(&metric);
    (is_used && !disk.is_empty()).then(|| format!("{disk}\t{metric}"))
}

/// Operations by their metric, and the letter of their mean latency.
const OPS: [(Op, &str, &str); 4] = [
    (Op::Read, "read", "r"),
    (Op::Write, "write", "w"),
    (Op::Discard, "discard", "d"),
    (Op::Flush, "flush", "f"),
];

const NS_PER_MS: f64 = 1e6;
const MS_PER_S: f64 = 1e3;

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let cells = cells(found.line());
    let (time, cells) = cells.split_first()?;
    let moment = WallTime::read(time);
    if moment.is_some() {
        report.fits(cells.len())?;
    } else if cells.len() != report.heading.width() {
        return None;
    }
    let moment = report.need(moment, "the time cannot be read")?;
    report.moments.begin(moment, sink);
    let cells: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
    // The first row has no rates.
    for disk in csv::disks(&report.heading, &cells, sink) {
        let of = |metric: &str| report.heading.number(&format!("{disk}\t{metric}"), &cells);
        let mut interval = Interval::new(sink.device(disk), Layer::Block);
        let rates = |(op, name, letter)| Some((op, averages(name, letter, of)?));
        interval.rates = OPS.into_iter().filter_map(rates).collect();
        interval.queue_len = of("avg_qlen").or(of("aveq").map(|ms| ms / MS_PER_S));
        interval.busy = of("avactive").map(|ms| (ms / MS_PER_S).min(1.0));
        interval.in_flight = of("inflight").map(|count| count as u64);
        if !interval.rates.is_empty() {
            report.moments.date(&mut interval);
            sink.interval(interval);
        }
    }
    Some(())
}

/// The averages of an operation, by the value of each metric.
fn averages(name: &str, letter: &str, of: impl Fn(&str) -> Option<f64>) -> Option<Rates> {
    let ios = of(name);
    let active_ms = of(&format!("{name}_rawactive")).zip(ios.filter(|ios| *ios > 0.0));
    let mean_ms = of(&format!("{letter}_await")).or(active_ms.map(|(ms, ios)| ms / ios));
    let bytes = of(&format!("{name}_bytes")).map(|kib| kib * 1024.0);
    let rates = rates(ios, bytes, mean_ms.map(|ms| ms * NS_PER_MS))?;
    Some(Rates { merges_per_s: of(&format!("{name}_merge")), ..rates })
}
