//! gobonniego: sequential and random throughput of files, run after run.
//!
//! ## Reads
//! `Sequential Write MB/s`, `Sequential Read MB/s` and `IOPS` of each run.
//!
//! ## How to capture
//! `gobonniego -v -runs 5 -dir /srv`.
//!
//! ## Versions
//! 1.0.
//!
//! ## Caveats
//! MB are 10^6 bytes; files are written and read in blocks of 64 KiB, then at random in blocks of
//! 512 bytes, by several threads and through the page cache. The first run may fit into a cache
//! that the later ones find full. Nothing is flushed. Reads may come from memory.
//!
//! ## Not in this output
//! Latencies, the disk below the folder.

use iowhy_model::typed::PageCache;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("throughput of files, run after run", Level::A, &LABELS);

/// Bytes of a sequential and of a random request (bench.go, Blocksize and diskBlockSize).
const BLOCK: f64 = 65_536.0;
const SECTOR: f64 = 512.0;

static LABELS: Labels = Labels {
    unnamed: "gobonniego",
    near: 1,
    lines: &[
        announces("gobonniego starting. version: ", |_, _, _| Some(())).like(&[
            "2023/12/16 04:26:45 gobonniego starting. version: 1.0.9, runs: 5, seconds: 0, \
             threads: 4",
        ]),
        begins("^Sequential {op:op} MB/s: {mb:n}$", |found, report, sink| {
            let (op, _) = found.operation()?;
            let bytes = found.positive("mb")? * 1e6;
            rate(Some(op), bytes / BLOCK, bytes, report, sink)
        })
        .like(&["Sequential Write MB/s: 62.85"]),
        says("^IOPS: {n:n}$", |found, report, sink| {
            let ios = found.positive("n")?;
            rate(None, ios, ios * SECTOR, report, sink)
        })
        .like(&["IOPS: 23669"]),
    ],
    ..Labels::NEW
};

fn rate(
    op: Option<Op>,
    ios_per_s: f64,
    bytes: f64,
    report: &mut Report,
    sink: &mut dyn Sink,
) -> Option<()> {
    report.name(if op.is_some() { "sequential 64K" } else { "random 512" });
    let rates = Rates { ios_per_s, bytes_per_s: Some(bytes), ..Rates::default() };
    sink.add_fact(&*report, typed::RUN_CACHED, PageCache::Yes);
    report.average(op, rates, None, sink)
}
