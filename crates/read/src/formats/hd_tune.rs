//! HD Tune: benchmark of a drive on Windows, as text.
//!
//! ## Reads
//! `HD Tune: MODEL Benchmark` with the mean rate of sequential reads (`run.throughput`) and the
//! access time, which is a mean latency of single random reads.
//!
//! ## How to capture
//! In HD Tune, copy the information of the tab to the clipboard as text.
//!
//! ## Versions
//! HD Tune 2.55, HD Tune Pro 3 to 5.
//!
//! ## Caveats
//! The minimum is that of one of many sections of the drive, read one after the other; the access
//! time is that of small reads at random places. MB are 1024 x 1024 bytes. `Burst Rate` is the
//! link's and the cache's.
//!
//! ## Not in this output
//! Single latencies, writes, what else used the drive; the tabs of health and errors.

use iowhy_model::typed::{BytesPerSecond, PageCache};

use crate::describe::report::*;
use crate::describe::table::MIB;

pub(super) const FORMAT: Format =
    Format::labels("HD Tune: benchmark of a drive on Windows", Level::A, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "HD Tune",
    lines: &[
        begins("^HD Tune{| Pro}: {model:text} Benchmark$", |found, report, _| {
            let model = found.text("model")?.trim();
            report.drive.model(model);
            report.name(model);
            report.fact(typed::SMART_MODEL, model)
        })
        .opens_record()
        .like(&["HD Tune: Samsung SSD 840 EVO 120G Benchmark"]),
        says("^Transfer Rate Average{ }: {mb:n} MB/s", |found, report, sink| {
            let rate = BytesPerSecond((found.positive("mb")? * MIB).round());
            sink.add_fact(&*report, typed::RUN_THROUGHPUT, rate);
            sink.add_fact(&*report, typed::RUN_CACHED, PageCache::No);
            Some(())
        })
        .like(&["Transfer Rate Average : 308.1 MB/sec"]),
        says("^Access Time{ }: {ms:ms} ms", |found, report, sink| {
            let seconds = found.time("ms")?.seconds();
            report.average(Some(Op::Read), one_by_one(1.0 / seconds), None, sink)
        })
        .like(&["Access Time           : 0.4 ms"]),
    ],
    ignored: &[
        "Transfer Rate Minimum", "Transfer Rate Maximum", "Burst Rate", "CPU Usage",
        "Test capacity",
    ],
    own: &["^Read transfer rate$"],
    ..Labels::NEW
};
