//! seeker, seekrate: random reads of a disk, one at a time.
//!
//! ## Reads
//! `Results: 105 seeks/second, 9.44 ms random access time`, with the device of the line
//! `Benchmarking /dev/sda [29297MB], wait 30 seconds`.
//!
//! ## How to capture
//! `seeker /dev/sda`, which reads 512 bytes at random places for 30 s.
//!
//! ## Versions
//! Seeker 1.0 to 3.0. Of several threads at once the version without threads is not told apart, so
//! only a result whose two numbers agree with one read at a time is used.
//!
//! ## Caveats
//! A first part of the disk, such as one partition, has shorter seeks than all of it.
//!
//! ## Not in this output
//! Individual latencies, writes, other programs on the disk.

use iowhy_model::typed::PageCache;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("seeker: random reads of a disk, one at a time", Level::A, &LABELS);

/// Bytes of a read.
const BYTES: f64 = 512.0;
/// How far the two numbers of a result may be apart: the rate is a whole number.
const AGREES: std::ops::Range<f64> = 0.9..1.1;

static LABELS: Labels = Labels {
    unnamed: "seeker",
    lines: &[
        begins("^Benchmarking {of:device} [{size:size}], wait {:u} seconds", |found, report, _| {
            report.name(found.text("of")?)
        })
        .like(&["Benchmarking /dev/sda1 [29297MB], wait 30 seconds.............................."]),
        says(
            "^Results: {n:u} seeks/second, {took:ms} ms random access time",
            |found, report, sink| {
                let rate = found.positive("n")?;
                let wait_ns = found.time("took")?.ns() as f64;
                AGREES.contains(&(rate * wait_ns / 1e9)).then_some(())?;
                let alone = one_by_one(1e9 / wait_ns);
                let rates = Rates { bytes_per_s: Some(alone.ios_per_s * BYTES), ..alone };
                report.average(Some(Op::Read), rates, None, sink)?;
                sink.add_fact(&*report, typed::RUN_AT_ONCE, 1u64);
                sink.add_fact(&*report, typed::RUN_CACHED, PageCache::Unknown);
                Some(())
            },
        )
        .like(&["Results: 105 seeks/second, 9.44 ms random access time"]),
    ],
    own: &["^Seeker v", "^Results: {:u} seeks/second, {*} ({*} offset)"],
    ..Labels::NEW
};
