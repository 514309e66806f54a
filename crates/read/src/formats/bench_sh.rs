//! bench.sh: throughput of three copies of zeros to a file.
//!
//! ## Reads
//! `I/O Speed(1st run) : 234 MB/s`, each run as a separate copy; the average is ignored.
//!
//! ## How to capture
//! `wget -qO- bench.sh | bash` (Teddysun's script), and posts in hosting forums that quote it.
//!
//! ## Versions
//! `I/O Speed(1st run)`, and `I/O speed(1st run)` of versions before 2020.
//!
//! ## Caveats
//! Each run is `dd if=/dev/zero of=FILE bs=512k count=2048 conv=fdatasync`: a GiB into the page
//! cache, which is flushed at its end. On a host that compresses or deduplicates zeros, or caches
//! writes, it measures memory. `MB/s` and `GB/s` are dd's, powers of 1000.
//!
//! ## Not in this output
//! The device, and any latency of a single request.

use iowhy_model::typed::{BytesPerSecond, Durable, PageCache};

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("three copies of zeros to a file by dd", Level::A, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "file",
    may_resume: true,
    lines: &[
        begins("^I/O {Speed|speed}({:word} run){ }:{n:n} {unit:word}", run)
            .like(&["I/O Speed(1st run) : 234 MB/s", "I/O speed(1st run) : 1.1 GB/s"]),
        says("^I/O {Speed|speed}(average)", |_, _, _| Some(()))
            .like(&["I/O Speed(average) : 240.3 MB/s"]),
    ],
    cut: &["I/O Speed(", "I/O speed("],
    ..Labels::NEW
};

/// Bytes of a run, and of a request of dd.
const BYTES: f64 = 1_073_741_824.0;
const REQUEST: f64 = 524_288.0;

fn run(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let unit = match found.text("unit")? {
        "kB/s" => 1e3,
        "MB/s" => 1e6,
        "GB/s" => 1e9,
        _ => return None,
    };
    let rate = found.positive("n")? * unit;
    let rates = Rates { ios_per_s: rate / REQUEST, bytes_per_s: Some(rate), ..Rates::default() };
    report.average(Some(Op::Write), rates, Some(BYTES / rate), sink);
    sink.add_fact(&*report, typed::RUN_THROUGHPUT, BytesPerSecond(rate));
    sink.add_fact(&*report, typed::RUN_CACHED, PageCache::Yes);
    sink.add_fact(&*report, typed::RUN_DURABLE, Durable::Fdatasync);
    Some(())
}
