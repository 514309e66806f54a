//! sar -d of System V: busy share, requests outstanding, waits of disks.
//!
//! ## Reads
//! The heading `device %busy avque r+w/s blks/s avwait avserv` and the rows below, with the time
//! before the first row of each interval. `avwait` and `avserv` together are the await, `avserv`
//! the time at the device.
//!
//! ## How to capture
//! `sar -d 5 10`, `sar -d -f /var/adm/sa/sa11`.
//!
//! ## Versions
//! Solaris and illumos, SCO OpenServer, UnixWare, HP-UX: the same columns since System V.
//!
//! ## Caveats
//! Blocks are of 512 bytes. `avque` is the mean number of outstanding requests over the interval on
//! Solaris, but only over the time with requests on SCO: it is ignored. Partitions (`sd0,a`) are
//! listed with their disk and are ignored. Averages at the end repeat the rows and are read only if
//! there are no rows.
//!
//! ## Not in this output
//! Reads and writes separately, the latency distribution, the medium of the disk.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("sar -d of Solaris, SCO, HP-UX: busy share, waits of disks", Level::A, &LABELS);

/// The rows that follow are averages.
const AVERAGES: &str = "averages";
/// Bytes of a block.
const BLOCK: f64 = 512.0;

static LABELS: Labels = Labels {
    lines: &[
        // The columns after the time, as System V names them.
        begins(
            "^{time:word} device %busy avque r+w/s blks/s avwait avserv$",
            |found, report, _| {
                report.moments.at(WallTime::read(found.text("time")?)?);
                Some(())
            },
        )
        .when(|found| found.text("time").is_some_and(|time| WallTime::read(time).is_some()))
        .opens_report()
        .like(&["10:15:00  device  %busy    avque    r+w/s   blks/s   avwait   avserv"]),
        begins("^device %busy avque r+w/s blks/s avwait avserv$", |_, _, _| Some(()))
            .like(&["device  %busy    avque    r+w/s   blks/s   avwait   avserv"]),
        perhaps(
            "^{when:word} {disk:word} {busy:n} {:n} {ios:n} {blocks:n} {wait:n} {service:n}$",
            |found, report, sink| {
                let when = found.text("when")?;
                if when.eq_ignore_ascii_case("average") {
                    report.enter(AVERAGES);
                } else {
                    report.enter("");
                    let moment = WallTime::read(when);
                    let moment = report.need(moment, "the line does not begin with a time")?;
                    report.moments.at(moment);
                }
                row(found, report, sink)
            },
        )
        .like(&["10:15:05  Sdsk-0  97.20     3.90    41.20   329.60    68.44    23.60"]),
        // Below the first of an interval.
        perhaps("^{disk:word} {busy:n} {:n} {ios:n} {blocks:n} {wait:n} {service:n}$", row)
            .when(|found| found.text("disk").is_some_and(|disk| crate::decimal(disk).is_none()))
            .like(&["Sdsk-1   4.10     1.05     2.40    38.40     0.71    14.20"]),
    ],
    ..Labels::NEW
};

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let is_average = report.part == AVERAGES;
    let disk = found.text("disk")?;
    // The averages repeat the rows, and a partition its disk.
    if is_average && report.kept("rows").is_some() || disk.contains(',') {
        return Some(());
    }
    let ios_per_s = found.number("ios")?;
    let (wait, service) = (found.number("wait")?, found.number("service")?);
    let mut interval = Interval::new(sink.device(disk), Layer::Block);
    let bytes_per_s = Some(found.number("blocks")? * BLOCK);
    interval.mixed = Some(Rates { ios_per_s, bytes_per_s, ..Rates::default() });
    interval.busy = Some(found.number("busy")? / 100.0);
    if ios_per_s > 0.0 && service > 0.0 {
        interval.wait_ns = Some(wait * 1e6);
        interval.device_ns = Some(service * 1e6);
        interval.await_ns = Some((wait + service) * 1e6);
    }
    if !is_average {
        report.moments.date(&mut interval);
        report.keep("rows", 1.0);
    }
    sink.interval(interval);
    Some(())
}
