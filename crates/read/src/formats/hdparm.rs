//! hdparm -t and -T: sequential reads of a disk, and of memory.
//!
//! ## Reads
//! `Timing buffered disk reads: 384 MB in  3.01 seconds = 127.42 MB/sec` and `Timing O_DIRECT disk
//! reads` as reads of the disk that the line `/dev/sda:` above names; `Timing cached reads` as the
//! fact `memory.throughput`. `read() failed: Input/output error` is a location that could not be
//! read, `scan.failed`.
//!
//! ## How to capture
//! `hdparm -tT /dev/sda`, `hdparm -t --direct /dev/sda`.
//!
//! ## Versions
//! hdparm 5 and later.
//!
//! ## Caveats
//! `cached reads` do not use the disk: they measure memory (with `--direct` the cache of the disk:
//! not read). Buffered reads are sequential and read ahead by the kernel; on a machine in use they
//! are too low. MB are 1024 x 1024 bytes, read 2 MB at a time. A throughput alone accuses no disk:
//! its class is not known.
//!
//! ## Not in this output
//! Single latencies, random reads, writes, what else used the disk.

use iowhy_model::typed::{BytesPerSecond, PageCache};

use crate::describe::report::*;
use crate::describe::table::MIB;

pub(super) const FORMAT: Format =
    Format::labels("hdparm -tT: sequential reads of a disk and of memory", Level::A, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "hdparm",
    near: 3,
    lines: &[
        // The disk's own cache: neither memory nor the medium.
        begins("^Timing O_DIRECT cached reads:{mb:n} MB in {s:n} seconds", |_, _, _| Some(()))
            .like(&["Timing O_DIRECT cached reads:   2072 MB in  2.00 seconds = 1036.04 MB/sec"]),
        begins(
            "^Timing {cached|buffer-cache} reads:{mb:n} MB in {s:n} seconds",
            |found, report, sink| {
                let rate = BytesPerSecond(per_s(found)?.round());
                sink.add_fact(None, typed::MEMORY_THROUGHPUT, rate);
                overran(found, CACHED_S, report, sink)
            },
        )
        .like(&[
            "Timing cached reads:   24292 MB in  1.99 seconds = 12204.93 MB/sec",
            "Timing buffer-cache reads:   916 MB in  2.00 seconds = 457.84 MB/sec",
        ]),
        begins("^Timing {:word} disk reads:{mb:n} MB in {s:n} seconds", reads).like(&[
            "Timing buffered disk reads: 384 MB in  3.01 seconds = 127.42 MB/sec",
            "Timing O_DIRECT disk reads: 414 MB in  3.00 seconds = 137.82 MB/sec",
        ]),
        // Both tests begin at the first sector: what fails there is one location.
        says("^read() failed: Input/output error$", failed)
            .confirms()
            .like(&["read() failed: Input/output error"]),
        says("^Timing {*}reads:{ }read() failed: Input/output error$", failed)
            .confirms()
            .like(&["Timing buffered disk reads:  read() failed: Input/output error"]),
        announces("^/dev/{disk:word}:$", |found, report, _| report.name(found.text("disk")?))
            .opens_record()
            .like(&["/dev/sda:"]),
    ],
    own: &["^SG_IO:", "^HDIO_"],
    cut: &["Timing "],
    ..Labels::NEW
};

/// How long it reads from memory and from a disk, s (hdparm.c, `time_cache`, `time_device`).
const CACHED_S: f64 = 2.0;
const DISK_S: f64 = 3.0;
/// What hdparm reads at once (hdparm.c, TIMING_BUF_BYTES).
const READ: f64 = 2.0 * MIB;

fn per_s(found: &Found) -> Option<f64> {
    Some(found.number("mb")? * MIB / found.positive("s")?)
}

fn failed(_: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    report.update(typed::SCAN_FAILED, 1u64)
}

fn reads(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (bytes, seconds) = (per_s(found)?, found.number("s"));
    let rates = Rates { ios_per_s: bytes / READ, bytes_per_s: Some(bytes), ..Rates::default() };
    report.average(Some(Op::Read), rates, seconds, sink);
    let device = report.device(sink);
    sink.add_fact(device, typed::RUN_THROUGHPUT, BytesPerSecond(bytes.round()));
    sink.add_fact(device, typed::RUN_CACHED, PageCache::No);
    if found.line().contains("O_DIRECT") {
        sink.add_fact(device, typed::RUN_DIRECT, 1u64);
    }
    overran(found, DISK_S, report, sink)
}

/// A test reads until its time is over, then ends with the read in progress, which took at least
/// as long as the test overran.
fn overran(found: &Found, limit_s: f64, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let over_s = found.number("s")? - limit_s;
    if over_s >= 1.0 {
        let device = report.device(sink);
        sink.add_fact(device, typed::RUN_OVERRAN, Nanos::from_ms(over_s * 1e3));
    }
    Some(())
}
