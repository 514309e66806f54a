//! Windows' performance counters of disks as CSV: typeperf, relog, Performance Monitor.
//!
//! ## Reads
//! The heading `"(PDH-CSV 4.0)","\\HOST\PhysicalDisk(0 C:)\Avg. Disk sec/Read",...` and the rows
//! below it, one interval of each disk or volume per row.
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

use crate::counters::windows_disk::{TOTAL, interval};
use crate::describe::report::*;
use crate::text::csv;

pub(super) const FORMAT: Format = Format::labels(
    "Windows' disk counters as CSV: typeperf, relog, Performance Monitor",
    Level::A,
    &LABELS,
);

static LABELS: Labels = Labels {
    lines: &[
        begins("^{\u{feff}|}{\"|}(PDH-{CSV|TSV} 4.0)", |found, report, sink| {
            let cells = cells(found.line());
            let counters = || cells.iter().skip(1).map(|path| counter(path));
            match counters().flatten().next() {
                Some((host, _)) => sink.source().is_of_host(host),
                None => sink.note(note(
                    "no disk counter found: only English counter names are \
                        recognised",
                )),
            }
            let named = counters().map(|known| known.map_or(String::new(), |(_, column)| column));
            report.heading = named.collect();
            Some(())
        })
        .opens_report()
        .like(&["\"(PDH-CSV 4.0)\",\"\\\\HOST\\PhysicalDisk(0 C:)\\Avg. Disk sec/Read\""]),
        perhaps("^{row:text}$", row).like(&["\"11/21/2026 10:00:05.123\",\"0.004\""]),
    ],
    ..Labels::NEW
};

/// The cells of a line: between commas or tabs.
fn cells(line: &str) -> Vec<String> {
    csv::cells(line.trim(), &[',', '\t'])
}

/// `\\HOST\PhysicalDisk(0 C:)\Disk Reads/sec`: the host, and the disk with the counter after a tab.
fn counter(path: &str) -> Option<(&str, String)> {
    let (host, rest) = path.strip_prefix("\\\\")?.split_once('\\')?;
    let (object, counter) = rest.rsplit_once('\\')?;
    let (class, disk) = object.strip_suffix(')')?.split_once('(')?;
    let known = matches!(class, "PhysicalDisk" | "LogicalDisk");
    known.then(|| (host, format!("{disk}\t{counter}")))
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let cells = cells(found.line());
    let (time, cells) = cells.split_first()?;
    let moment = WallTime::read(time)?;
    report.fits(cells.len())?;
    report.moments.begin(moment, sink);
    let cells: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
    let disks = csv::disks(&report.heading, &cells, sink);
    let is_alone = report.heading.names().all(|name| name.is_empty() || name.starts_with(TOTAL));
    for disk in disks.into_iter().filter(|disk| *disk != TOTAL || is_alone) {
        let of = |counter: &str| {
            let value = report.heading.number(&format!("{disk}\t{counter}"), &cells);
            value.filter(|value| *value >= 0.0)
        };
        if let Some(mut interval) = interval(disk, of, sink) {
            report.moments.date(&mut interval);
            sink.interval(interval);
        }
    }
    Some(())
}
