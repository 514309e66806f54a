//! dbench: latency of file operations, mean and maximum.
//!
//! ## Reads
//! The table `Operation  Count  AvgLat  MaxLat` at the end of a run: `ReadX`, `WriteX` and `Flush`
//! as reads, writes and flushes of a program, the others (create, rename, find ...) as its other
//! operations; and the line `Throughput`, the only output of version 3.
//!
//! ## How to capture
//! `dbench -D /mnt -t 60 8`, `tbench` likewise.
//!
//! ## Versions
//! dbench 3.04 and 4.00.
//!
//! ## Caveats
//! Reads and writes use the page cache: their latency is not that of a disk. `Flush` waits for the
//! disk. Latencies are milliseconds. A run may start with a warm-up that is not counted
//! (`--warmup`), which its output does not show.
//!
//! ## Not in this output
//! The latency distribution, the disk of the file system, other I/O on it.

use iowhy_model::typed::BytesPerSecond;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("operations on files, mean and maximum latency", Level::B, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "dbench",
    lines: &[
        begins("^Operation Count AvgLat MaxLat$", |_, _, _| Some(()))
            .like(&["Operation      Count    AvgLat    MaxLat"]),
        begins("^Throughput {n:n} MB/sec{*} procs", throughput).like(&[
            "Throughput 40.8924 MB/sec (sync open) (sync dirs) 5 procs",
            "Throughput 90.6704 MB/sec  2 clients  2 procs  max_latency=62.785 ms",
        ]),
        says("^Throughput {n:n} MB/sec", throughput).like(&["Throughput 40.8924 MB/sec (sync"]),
        begins(
            "^{:n} {:n} {:n} MB/sec {warmup|execute} {:word} sec latency {:n} ms$",
            |_, _, _| Some(()),
        )
        .like(&["128     18384 14924.44 MB/sec  warmup   1 sec  latency 45.920 ms"]),
        begins("^{:n} cleanup {:n} sec$", |_, _, _| Some(())).like(&["0  cleanup  30 sec"]),
        says("^{name:word} {count:u} {mean:ms} {longest:ms}$", row)
            .like(&["Flush            695     9.885    62.778"]),
        // A row with an invalid value.
        says("^{:word} {:word} {:n} {:n}$", |_, _, _| None).like(&["Flush  6x5  9.885  62.778"]),
        says("^{:word} {:n} {:word} {:n}$", |_, _, _| None).like(&["Flush  695  9.8x5  62.778"]),
        says("^{:word} {:n} {:n} {:word}$", |_, _, _| None).like(&["Flush  695  9.885  62.7x8"]),
    ],
    own: &["^-----"],
    cut: &["Throughput "],
    ..Labels::NEW
};

fn throughput(found: &Found, _: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let rate = BytesPerSecond((found.number("n")? * 1e6).round());
    sink.add_fact(None, typed::RUN_THROUGHPUT, rate);
    Some(())
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (name, count) = (found.text("name")?, found.count("count")?);
    if count == 0 {
        return Some(());
    }
    let (mean, longest) = (found.time("mean")?.ns() as f64, found.time("longest")?.ns());
    let mut histogram = Histogram::from_summary(count, mean, 0, longest as u64);
    // The shortest time is not given.
    histogram.min_ns = None;
    let op = match name {
        "ReadX" => Op::Read,
        "WriteX" => Op::Write,
        "Flush" => Op::Flush,
        _ => Op::Other,
    };
    latencies(report.device(sink), Some(op), name, histogram, sink);
    Some(())
}
