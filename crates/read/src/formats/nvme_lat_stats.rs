//! Latency histograms that a drive counts itself (`nvme intel lat-stats`).
//!
//! ## Reads
//! The title `Intel IO Read Command Latency Statistics`, the groups
//! `Group 1: Range is 0-1ms, step is 32us` and their rows `Bucket  4: 129010370`. Each title begins
//! another histogram. The fact `counters.since` records that they are not current.
//!
//! ## How to capture
//! `nvme intel lat-stats /dev/nvme0`, and with `-w` for writes, of drives that have this log page.
//!
//! ## Versions
//! nvme-cli 1.6 and later, revision 3 and 4 of the log page as far as it has groups of equal steps.
//!
//! ## Caveats
//! The drive counts from its last reset or from when the statistics were switched on, under any
//! load: a lifetime histogram does not describe a test of one minute. A latency is that of a
//! command within the drive: the queue of the host, the link and the kernel are not part of it.
//! Latencies above the last group are not listed.
//!
//! ## Not in this output
//! The start of counting, how many were in flight, sizes. Missing lines, except as a gap in the
//! numbers of the buckets.

use crate::describe::report::*;
use crate::drive::health::drive_named;
use crate::text::numbers::time_ns;

pub(super) const FORMAT: Format =
    Format::labels("nvme intel lat-stats: a drive's own latency histograms", Level::B, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "drive",
    command: Some(Command { program: "/dev/", subject: drive_named, opens: Opens::Nothing }),
    lines: &[
        begins("Read Command Latency Statistics$", |_, report, sink| {
            emit(report, sink);
            report.enter("read")
        })
        .like(&["Intel IO Read Command Latency Statistics"]),
        begins("Write Command Latency Statistics$", |_, report, sink| {
            emit(report, sink);
            report.enter("write")
        })
        .like(&["Intel IO Write Command Latency Statistics"]),
        says("^Group {:word} Range is {low:word}-{high:word}, step is {step:word}$", group).like(
            &["Group 2: Range is 1-32ms, step is 1ms", "Group 3: Range is 32ms-1s, step is 32ms"],
        ),
        says("^Bucket {place:u}{ }:{n:u}$", bucket).like(&["Bucket  4: 129010370"]),
    ],
    own: &["^---", "Revision :"],
    cut: &["Bucket", "Group "],
    end: Some(emit),
    ..Labels::NEW
};

/// Buckets of equal steps. The last one ends where the group does: 32 steps of 32 us are more than
/// its 1 ms.
fn group(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let (low, high) = (found.text("low")?, found.text("high")?);
    // `1-32ms`: the unit of the end is that of the beginning, unless it has one.
    let unit = high.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let start = time_ns(low).or_else(|| time_ns(&format!("{low}{unit}")))?;
    let (end, step) = (time_ns(high)?, time_ns(found.text("step")?)?);
    (0.0 <= start && start < end && step >= 1.0).then_some(())?;
    report.forget("first");
    report.keep("start", start);
    report.keep("end", end);
    report.keep("step", step)
}

fn bucket(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let of = |what| report.kept(what).map(|ns| ns as u64);
    let ((start, end), step) = of("start").zip(of("end")).zip(of("step"))?;
    let place = found.count("place")?;
    let first = of("first").unwrap_or(place);
    report.keep("first", first as f64);
    let low = start.saturating_add(step.saturating_mul(place.saturating_sub(first)));
    report.bucket(low, low.saturating_add(step).min(end), found.count("n")?)
}

/// Gives out the histogram above.
fn emit(report: &mut Report, sink: &mut dyn Sink) {
    report.forget("step");
    let op = match report.part {
        "read" => Op::Read,
        _ => Op::Write,
    };
    let Some(histogram) = report.histogram() else { return };
    let device = report.device(sink);
    let mut one = Distribution::new(device, Layer::Block, Stage::Device, histogram);
    one.op = Some(op);
    sink.distribution(one);
    if report.kept("stated").is_none() {
        report.keep("stated", 1.0);
        sink.note(note("counted since the drive's statistics started, not current"));
        sink.add_fact(device, typed::COUNTERS_SINCE, "statistics");
    }
}
