//! latency-outliers: a warning per slow I/O and a table per device, from a SystemTap script.
//!
//! ## Reads
//! `latency warning, >500000 microsec: device=sdy, sector=166891231, latency=714984`, and the
//! table `Disk name Num I/Os Min latency Avg latency Max latency`. A row becomes a distribution
//! of one bucket with count, mean, minimum and maximum. A warning becomes a fact
//! `outlier.latency` of its device, since it has no time; the threshold becomes
//! `outlier.threshold`.
//!
//! ## How to capture
//! `blockio_latency_outliers_per_device.stp INTERVAL [THRESHOLD_US]` of
//! LucaCanali/Linux_tracing_scripts, on kernels up to 3.10.
//!
//! ## Versions
//! As of 2015; unchanged since.
//!
//! ## Caveats
//! Everything is in microseconds. The default threshold is 500 000 us = 500 ms, although it has
//! been documented as 500 us. A warning is printed when the latency is above the threshold, not
//! equal to it. The I/Os of the warnings are in the table too, so they are not counted again. The
//! average is rounded down. The table is reset after each print, and not sorted.
//!
//! ## Not in this output
//! Read or write, size and time of each I/O. Time in the queue: latency runs from issue to
//! completion. I/Os beyond the 100 000 in flight and 1 000 devices the script keeps.

use crate::describe::report::*;
use crate::histogram::buckets::COUNT_LIMIT;

pub(super) const FORMAT: Format =
    Format::labels("slow I/Os and per-device latency from a SystemTap script", Level::B, &LABELS);

/// This is inside the table's rows.
const TABLE: &str = "table";
/// The script counts in microseconds.
const STEP: Nanos = Nanos(1_000);

static LABELS: Labels = Labels {
    lines: &[
        begins("^Measuring block I/O latency and statistics$", |_, _, sink| known(sink))
            .like(&["Measuring block I/O latency and statistics"]),
        begins(
            "^A warning will be printed for I/Os with latency higher than {took:us} microseconds$",
            |found, report, sink| {
                let (key, took) = (typed::OUTLIER_THRESHOLD, found.time("took")?);
                sink.add_fact_at(None, key, took, report.place());
                known(sink)
            },
        )
        .like(&["A warning will be printed for I/Os with latency higher than 500000 microseconds"]),
        begins(
            "^latency warning, >{*}: device={disk:word}, sector={sector:u}, latency={took:us}$",
            |found, report, sink| {
                let disk = found.text("disk")?;
                let (took, sector) = (found.time("took")?, found.count("sector")?);
                sink.add_fact_at(disk, typed::OUTLIER_LATENCY, took, report.place());
                sink.add_fact_at(disk, typed::OUTLIER_SECTOR, sector, report.place());
                known(sink)
            },
        )
        .like(&["latency warning, >500000 microsec: device=sdy, sector=166891231, latency=714984"]),
        begins(
            "^I/O latency basic statistics per device, measurement time: {s:u} seconds$",
            |found, report, sink| {
                report.keep("seconds", found.number("s")?);
                known(sink)
            },
        )
        .like(&["I/O latency basic statistics per device, measurement time: 10 seconds"]),
        begins("^Disk name Num I/Os Min latency Avg latency Max latency$", |_, report, sink| {
            report.enter(TABLE);
            known(sink)
        })
        .like(&["Disk name          Num I/Os    Min latency    Avg latency    Max latency"]),
        says("^-----$", |_, report, _| report.enter("")).like(&["-----"]),
        perhaps("^{disk:word} {count:u} {min:u} {mean:u} {max:u}$", row)
            .like(&["sdy                     197            102          98298        1167977"]),
        perhaps("^{disk:word} {:u}{:text}", |_, report, _| match report.part {
            TABLE => report.fails("a row has a name and four numbers"),
            _ => None,
        })
        .like(&["sdz                     200            123           5995"]),
    ],
    own: &["^Latency measured in microseconds$", "^Statistics will be printed every "],
    cut: &["latency warning, >"],
    ..Labels::NEW
};

fn known(sink: &mut dyn Sink) -> Option<()> {
    sink.source().sees_queue = false;
    sink.source().resolution = Some(STEP);
    Some(())
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let of = |name| found.count(name).filter(|_| report.part == TABLE);
    let (count, min, mean, max) = (of("count")?, of("min")?, of("mean")?, of("max")?);
    let is_known = (1..=COUNT_LIMIT).contains(&count) && max <= COUNT_LIMIT;
    if !is_known || min > mean || mean > max {
        return report.fails("minimum, average and maximum are not in order");
    }
    let histogram = Histogram::from_summary(count, (mean * 1_000) as f64, min * 1_000, max * 1_000);
    let device = sink.device(found.text("disk")?);
    let mut distribution = Distribution::new(device, Layer::Block, Stage::Device, histogram);
    distribution.length = report.kept("seconds").map(Nanos::from_seconds);
    sink.distribution(distribution);
    Some(())
}
