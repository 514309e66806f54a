//! sysbench fileio: reads, writes and fsyncs per second, throughput and latency.
//!
//! ## Reads
//! The summary of `sysbench fileio ... run`: `File operations` and `Throughput` with their rates,
//! `Latency (ms)` with minimum, mean, maximum and percentile; of older versions the line
//! `Operations performed` and `per-request statistics`; with `--histogram` the latency of every
//! request. The settings of the run (threads, block size, requests per fsync) become facts.
//!
//! ## How to capture
//! `sysbench fileio --file-test-mode=rndrw --file-extra-flags=direct run`.
//!
//! ## Versions
//! 0.4, 0.5 and 1.0; the lines of `prepare` are ignored.
//!
//! ## Caveats
//! Without `--file-extra-flags=direct` reads come from the page cache: the fact `run.cached`
//! records this unless the command line has the flag. By default all files are synced after every
//! 100 requests: then the run measures flushes. `Latency` counts reads, writes and fsyncs together:
//! its mean describes none of them. The histogram's values are the middles of buckets 1.8 % wide,
//! printed to 1 us. MiB are 1024 x 1024 bytes. Tests of CPU, memory and databases have a
//! `Latency (ms)` too; without file operations none is read.
//!
//! ## Not in this output
//! Latency of reads, writes and fsyncs separately, and the I/O of the device.

use iowhy_model::Edges;
use iowhy_model::numbers::total;
use iowhy_model::typed::PageCache;

use crate::counters::stated::by_op;
use crate::describe::report::*;
use crate::describe::table::MIB;

pub(super) const FORMAT: Format =
    Format::labels("sysbench fileio: rates, throughput, latency", Level::B, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "sysbench",
    near: 8,
    lines: &[
        begins("^Operations performed:{r:n} Read,{w:n} Write,{o:n} Other", |found, report, _| {
            report.keep("counted reads", found.number("r")?);
            report.keep("counted writes", found.number("w")?);
            report.keep("counted others", found.number("o")?)
        })
        .like(&["Operations performed:  6000 Read, 4000 Write, 12800 Other = 22800 Total"]),
        begins("^Extra file open flags: {flags:text}", |found, report, _| {
            report.keep("direct", f64::from(u8::from(found.text("flags")?.contains("direct"))))
        })
        .like(&["Extra file open flags: directio", "Extra file open flags: (none)"]),
        begins("^read, MiB/s:{n:n}$", |found, report, _| {
            report.keep("read bytes", positive(found)? * MIB)
        })
        .like(&["read, MiB/s:                  6.92"]),
        begins("^written, MiB/s:{n:n}$", |found, report, _| {
            report.keep("written bytes", positive(found)? * MIB)
        })
        .like(&["written, MiB/s:               4.61"]),
        begins("^reads/s:{n:n}$", |found, report, _| report.keep("reads", positive(found)?))
            .like(&["reads/s:                      123.45"]),
        begins("^writes/s:{n:n}$", |found, report, _| report.keep("writes", positive(found)?))
            .like(&["writes/s:                     82.30"]),
        begins("^fsyncs/s:{n:n}$", |found, report, _| report.keep("fsyncs", positive(found)?))
            .like(&["fsyncs/s:                     263.92"]),
        announces("^{File operations|Throughput}:$", |_, _, _| Some(()))
            .like(&["File operations:", "Throughput:"]),
        says("^Block size {size:size}$", |found, report, _| {
            report.keep("block", found.number("size")?)
        })
        .like(&["Block size 16Kb"]),
        says("calling fsync() each {n:u} requests", |found, _, sink| {
            sink.add_fact(None, typed::SYSBENCH_FSYNC_EVERY, found.count("n")?);
            Some(())
        })
        .like(&["Periodic FSYNC enabled, calling fsync() each 100 requests."]),
        announces("^Number of threads: {n:u}$", |found, report, sink| {
            let threads = found.count("n")?;
            sink.add_fact(None, typed::SYSBENCH_THREADS, threads);
            report.keep("threads", threads as f64)
        })
        .like(&["Number of threads: 8"]),
        // Requests by their latency, ms (`--histogram`).
        says("^{ms:n} |{*}{n:u}$", |found, report, _| {
            let ns = ns(found.number("ms").filter(|ms| *ms >= 0.0)?);
            report.bucket(ns, ns, found.count("n")?)
        })
        .like(&["7.565 |*                                        19"]),
    ],
    labels: &[
        label(&["min"], |value, report| report.keep("min", figure(value)?)),
        label(&["avg"], |value, report| report.keep("mean", figure(value)?)),
        label(&["max"], |value, report| report.keep("max", figure(value)?)),
        label(&["total time"], |value, report| report.keep("seconds", figure(value)?)),
        label(&["total number of events"], |value, report| report.keep("events", figure(value)?)),
    ],
    own: &[
        ":{ }{:n}{|s|ms}$",
        " (avg/stddev)",
        "^Read {:word} Written {:word} Total transferred",
        "^{:n} Requests/sec executed$",
        "^{General statistics|Latency (ms)|Threads fairness|Test execution summary}",
        "^Latency histogram (values are in milliseconds)$",
        "^value -----",
        "^per-request statistics",
        "^Threads started!$",
        "files, ",
        "total file size",
        "Read/Write ratio",
        "Calling fsync()",
        "Using ",
        "Doing ",
        "Initializing ",
        "Running the test",
        "Number of IO requests",
    ],
    cut: &["Operations performed:", "reads/s:", "writes/s:", "fsyncs/s:", ", MiB/s:"],
    end: Some(emit),
    ..Labels::NEW
};

/// A number of a label; 0.4 glues the unit to it: `0.00ms`.
fn figure(value: &str) -> Option<f64> {
    decimal(value.trim_end_matches(['m', 's'])).filter(|value| *value >= 0.0)
}

fn positive(found: &Found) -> Option<f64> {
    found.number("n").filter(|value| *value >= 0.0)
}

fn ns(ms: f64) -> u64 {
    (ms.max(0.0) * 1e6) as u64
}

fn emit(run: &mut Report, sink: &mut dyn Sink) {
    let seconds = run.kept("seconds").filter(|seconds| *seconds > 0.0);
    // Where only the throughput was pasted, the size (16 KiB by default) gives requests.
    let size = run.kept("block").unwrap_or(16.0 * 1024.0);
    let part = |counted, rate, bytes| {
        let counted = run.kept(counted).zip(seconds).map(|(count, seconds)| count / seconds);
        let bytes = run.kept(bytes);
        [counted.or(run.kept(rate)).or(bytes.map(|bytes| bytes / size)), bytes, None]
    };
    let rates = by_op([
        (Op::Read, part("counted reads", "reads", "read bytes")),
        (Op::Write, part("counted writes", "writes", "written bytes")),
        (Op::Flush, part("counted others", "fsyncs", "")),
    ]);
    if rates.is_empty() {
        return;
    }
    let device = run.device(sink);
    let length = seconds.map(Nanos::from_seconds);
    sink.interval(Interval { length, rates, ..Interval::new(device, Layer::Application) });
    together(run, sink);
    let cached = run.kept("direct").map(|direct| [PageCache::Yes, PageCache::No][direct as usize]);
    sink.add_fact(device, typed::RUN_CACHED, cached.unwrap_or(PageCache::Unknown));
    // Each thread waits for its request (`Using synchronous I/O mode`). Where it waits for flushes
    // as well, the requests in flight are fewer.
    let flushes = run.kept("counted others").or(run.kept("fsyncs")).unwrap_or(0.0);
    if let Some(threads) = run.kept("threads").filter(|n| *n >= 1.0 && flushes < 1.0) {
        sink.add_fact(device, typed::RUN_AT_ONCE, threads as u64);
    }
}

/// Latencies of all operations together, each of them with `--histogram`.
fn together(run: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let [min, mean, max, events] = ["min", "mean", "max", "events"].map(|what| run.kept(what));
    let (min, mean, max) = (min?, mean? * 1e6, max?);
    let events = events.filter(|events| *events >= 1.0)? as u64;
    let mut histogram = Histogram::from_summary(events, mean, ns(min), ns(max));
    let buckets = run.buckets();
    if total(buckets.iter().map(|(.., count)| *count)) == events {
        let mut counts = vec![0u64; Edges::standard().buckets()];
        for (ns, _, count) in buckets {
            let bucket = &mut counts[Edges::standard().index(ns)];
            *bucket = bucket.saturating_add(count);
        }
        let mut counted = Histogram::from_counts(Edges::standard(), counts)?;
        counted.sum_ns = histogram.sum_ns;
        histogram = counted;
    }
    let label = "reads, writes and fsyncs together";
    latencies(run.device(sink), None, label, histogram, sink);
    Some(())
}
