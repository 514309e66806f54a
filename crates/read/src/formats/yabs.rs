//! YABS, the benchmark script for servers: throughput and IOPS of four block sizes.
//!
//! ## Reads
//! The table below `fio Disk Speed Tests (Mixed R/W 50/50)`: of each block size the reads and
//! writes per second and their bytes. The partition is the device if the script names it. Each
//! block size becomes a separate average.
//!
//! ## How to capture
//! `curl -sL yabs.sh | bash`, and posts in hosting forums that quote it.
//!
//! ## Versions
//! Tables with two block sizes side by side, since 2019; with and without the partition.
//!
//! ## Caveats
//! The script runs fio with `--rw=randrw --rwmixread=50 --iodepth=64 --numjobs=2 --direct=1` for
//! 30 s: 128 requests are always in flight, so it measures a full queue, and the mean latency is
//! 128 divided by the rate (Little's law). A file of 2 GB may be in a cache of the host. `GB/s` and
//! `MB/s` are powers of 1000, IOPS have one decimal and a `k`. If fio is not available, the script
//! writes with `dd` and prints another table, which is not read.
//!
//! ## Not in this output
//! Any latency, and its distribution; the latency of a single request; other I/O on the disk.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("fio's mixed reads and writes of four block sizes", Level::A, &LABELS);

/// Requests that the script keeps in flight, and how long each block size takes.
const IN_FLIGHT: f64 = 128.0;
const LENGTH: Nanos = Nanos(30_000_000_000);

static LABELS: Labels = Labels {
    unnamed: "fio",
    lines: &[
        begins("fio Disk Speed Tests (Mixed R/W 50/50){rest:text}$", |found, report, _| {
            let (_, named) = found.text("rest")?.split_once("(Partition ").unwrap_or(("", "fio"));
            report.name(named.split(')').next()?)
        })
        .like(&["fio Disk Speed Tests (Mixed R/W 50/50) (Partition /dev/vda1):"]),
        // The sizes in adjacent columns.
        begins("^Block Size |{sizes:text}$", |found, report, _| {
            report.keep("sizes", found.text("sizes")?.split('|').count() as f64);
            report.forget_quoted();
            Some(())
        })
        .when(|found| {
            let is_size = |cell: &str| {
                let size = cell.trim().strip_suffix("(IOPS)").unwrap_or_default().trim();
                let digits = size.trim_end_matches(['k', 'm', 'K', 'M']);
                digits.len() < size.len() && decimal(digits).is_some()
            };
            found.text("sizes").is_some_and(|sizes| sizes.split('|').all(is_size))
        })
        .like(&["Block Size | 4k            (IOPS) | 64k           (IOPS)"]),
        says("^Read |{cells:text}$", |found, report, _| {
            cells(found.text("cells")?, report)?;
            report.quote_alone(found.text("cells")?)
        })
        .like(&["Read       | 122.56 MB/s  (30.6k) | 1.29 GB/s    (20.2k)"]),
        says("^Write |{cells:text}$", row)
            .like(&["Write      | 122.88 MB/s  (30.7k) | 1.30 GB/s    (20.3k)"]),
    ],
    own: &["^--", "^{Total|}{ }|"],
    may_resume: true,
    ..Labels::NEW
};

/// The cells of a row, one for each size.
fn cells(text: &str, report: &mut Report) -> Option<Vec<Rates>> {
    let known: Option<Vec<Rates>> = text.split('|').map(rates).collect();
    let known = known.filter(|known| report.kept("sizes") == Some(known.len() as f64));
    if known.is_none() {
        report.fails("no rate of each block size")?;
    }
    known
}

/// `122.56 MB/s (30.6k)`: bytes and requests per second.
fn rates(cell: &str) -> Option<Rates> {
    let mut words = cell.split_whitespace();
    let (number, unit, requests) = (words.next()?, words.next()?, words.next()?);
    let bytes = match unit {
        "KB/s" => 1e3,
        "MB/s" => 1e6,
        "GB/s" => 1e9,
        _ => return None,
    };
    let requests = requests.strip_prefix('(')?.strip_suffix(')')?;
    let (digits, times) = match requests.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => (requests, 1.0),
    };
    let positive = |text: &str| decimal(text).filter(|value| *value >= 0.0);
    Some(Rates {
        ios_per_s: positive(digits)? * times,
        bytes_per_s: Some(positive(number)? * bytes),
        ..Rates::default()
    })
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let writes = cells(found.text("cells")?, report)?;
    let Some(reads) = report.quoted().first().cloned() else { return Some(()) };
    report.forget_quoted();
    for (read, write) in cells(&reads, report)?.into_iter().zip(writes) {
        let all = read.ios_per_s + write.ios_per_s;
        let device = report.device(sink);
        let mut interval = Interval::new(device, Layer::Application);
        interval.length = Some(LENGTH);
        interval.await_ns = Some(IN_FLIGHT * 1e9 / all).filter(|ns| ns.is_finite());
        interval.queue_len = Some(IN_FLIGHT);
        interval.rates = vec![(Op::Read, read), (Op::Write, write)];
        sink.interval(interval);
        sink.add_fact(device, typed::RUN_AT_ONCE, IN_FLIGHT as u64);
    }
    Some(())
}
