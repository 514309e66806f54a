//! atop's parseable disk lines (`atop -P DSK`): requests, sectors, busy time and queue per disk.
//!
//! ## Reads
//! The lines `DSK`, `MDD` and `LVM` of atop's parseable output, live or from a raw file, with the
//! separators `SEP` and `RESET` around each sample. Lines of other labels are ignored.
//!
//! ## How to capture
//! `atop -P DSK 10`, `atop -P DSK,LVM,MDD -r FILE`, `atop -P ALL`.
//!
//! ## Versions
//! Six values to 2.3 (name, busy milliseconds, reads, sectors read, writes, sectors written);
//! ten from 2.4 (discards, their sectors, requests in flight, queue while busy).
//!
//! ## Caveats
//! Values are counts over the interval and are divided by its length. After `RESET` the first
//! sample is since boot. The queue is the mean while the disk was busy; it is multiplied by the
//! busy share here to match aqu-sz. atop's own `avio` is busy time divided by requests, not a
//! latency. Sectors are 512 bytes. The host's name may not contain spaces.
//!
//! ## Not in this output
//! How long requests waited: atop prints no await. The latency distribution.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("atop -P DSK, parseable lines of disks, volumes and arrays", Level::A, &LABELS);

/// Bytes of a sector, whatever the disk's block size (atop reads /proc/diskstats).
const SECTOR: f64 = 512.0;
/// The lines that follow count since boot.
const SINCE_BOOT: &str = "since boot";

static LABELS: Labels = Labels {
    near: 1,
    lines: &[
        begins(
            "^{DSK|MDD|LVM} {host:word} {end:u} {date:word} {time:word} {seconds:u} \
             {name:word}{values:text}$",
            disk,
        )
        .when(is_dated)
        .like(&["DSK vm 1795258633 2026/11/21 10:57:13 2 sda 200 124 10624 400 7400 0 0 3 10.00"]),
        announces("^RESET$", |_, report, _| report.enter(SINCE_BOOT)).like(&["RESET"]),
        announces("^SEP$", |_, report, _| report.enter("")).like(&["SEP"]),
        // Of another label.
        follows("^{label:word} {:word} {end:u} {date:word} {time:word} {seconds:u}", |_, _, _| {
            None
        })
        .when(|found| {
            let label = found.text("label").unwrap_or_default();
            label.bytes().all(|byte| byte.is_ascii_uppercase()) && is_dated(found)
        })
        .like(&["CPU vm 1795259148 2026/11/21 11:05:48 12609 100 2 141553 953278 121735"]),
        says("^DSK ", |_, report, _| report.fails("a line of a disk without time or name"))
            .like(&["DSK vm 1795258633 2026/11/21"]),
    ],
    ..Labels::NEW
};

fn is_dated(found: &Found) -> bool {
    let has = |name, sign| found.text(name).is_some_and(|text| text.matches(sign).count() == 2);
    has("date", '/') && has("time", ':') && found.count("seconds").is_some_and(|length| length > 0)
}

fn disk(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let values: Vec<Option<f64>> = found.text("values")?.split_whitespace().map(decimal).collect();
    let of = |place: usize| values.get(place).copied().flatten();
    let pair = |ios: usize| of(ios).zip(of(ios + 1));
    let known = of(0).zip(pair(1)).zip(pair(3));
    let ((busy_ms, reads), writes) =
        report.need(known, "a line of a disk with fewer than six values")?;
    // A kernel that counts no discards is printed as -1.
    let discards = pair(5).filter(|(ios, _)| *ios >= 0.0);
    let length = found.count("seconds")? as f64;
    let busy = busy_ms / 1e3 / length;
    let rates = |(op, done): (Op, Option<(f64, f64)>)| {
        let (ios, sectors) = done?;
        let bytes_per_s = Some(sectors * SECTOR / length);
        Some((op, Rates { ios_per_s: ios / length, bytes_per_s, ..Rates::default() }))
    };
    let known = [(Op::Read, Some(reads)), (Op::Write, Some(writes)), (Op::Discard, discards)];
    let mut interval = Interval::new(sink.device(found.text("name")?), Layer::Block);
    interval.rates = known.into_iter().filter_map(rates).collect();
    interval.busy = Some(busy);
    interval.queue_len = of(8).map(|while_busy| while_busy * busy.min(1.0));
    interval.in_flight = of(7).map(|in_flight| in_flight as u64);
    interval.length = Some(Nanos::from_seconds(length));
    interval.since_boot = report.part == SINCE_BOOT;
    interval.start = start(found.count("end")? as f64 - length, report);
    sink.source().is_of_host(found.text("host")?);
    sink.interval(interval);
    Some(())
}

/// When an interval began that is of the present, counted from the first.
fn start(begun: f64, report: &mut Report) -> Option<Time> {
    (report.part != SINCE_BOOT).then_some(())?;
    let begun = begun.max(0.0);
    let first = report.kept("first").unwrap_or(begun);
    report.keep("first", first);
    Some(Time::from_seconds((begun - first).max(0.0)))
}
