//! winsat disk: throughput and latency of a Windows disk.
//!
//! ## Reads
//! `Disk  Random 16.0 Read 267.71 MB/s` and the like as runs of that name, the mean read times
//! during writes as `read with sequential writes`, and `Latency: Maximum` as the longest operation
//! of a run (`run.longest`).
//!
//! ## How to capture
//! `winsat disk -drive c`, as administrator.
//!
//! ## Versions
//! Windows 8 to 11. The last column is a score and not read.
//!
//! ## Caveats
//! MB are taken as 10^6 bytes. Sequential requests are of 64 KiB, random ones of 16 KiB, past the
//! cache of the file system. One maximum is a sample of one.
//!
//! ## Not in this output
//! The number of requests at once, single latencies, other I/O on the disk.

use iowhy_model::typed::PageCache;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("winsat disk: throughput and latency of a Windows disk", Level::A, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "winsat disk",
    lines: &[
        begins("^{> |}Disk {order:word} {kib:n} {op:op} {mb:n} MB/s ", |found, report, sink| {
            let (op, word) = found.operation()?;
            let (kib, bytes) = (found.positive("kib")?, found.positive("mb")? * 1e6);
            report.name(&format!("{} {kib}K {word}", found.text("order")?));
            let ios_per_s = bytes / (kib * 1024.0);
            let rates = Rates { ios_per_s, bytes_per_s: Some(bytes), ..Rates::default() };
            sink.add_fact(&*report, typed::RUN_CACHED, PageCache::No);
            report.average(Some(op), rates, None, sink)
        })
        .like(&["> Disk  Random 16.0 Read                       267.71 MB/s          8.0"]),
        begins(
            "^{> |}Average Read Time with {order:word} Writes {took:ms} ms",
            |found, _, sink| {
                let order = found.text("order")?.to_ascii_lowercase();
                let device = sink.device(&format!("read with {order} writes"));
                let mut interval = Interval::new(device, Layer::Application);
                interval.await_ns = Some(found.time("took")?.0 as f64).filter(|ns| *ns > 0.0);
                sink.interval(interval);
                Some(())
            },
        )
        .like(&["> Average Read Time with Sequential Writes     0.072 ms          8.9"]),
        says("^{> |}Latency: Maximum {took:ms} ms", |found, _, sink| {
            sink.add_fact(None, typed::RUN_LONGEST, found.time("took")?);
            Some(())
        })
        .like(&["> Latency: Maximum                             22.437 ms          7.9"]),
    ],
    own: &["^{> |}Latency: ", "^{> |}Total Run Time ", "^{> |}Dshow ", "^{> |}Media Foundation "],
    ..Labels::NEW
};
