//! YABS, the benchmark script for servers: throughput and IOPS of four block sizes.
//!
//! ## Reads
//! The table below `fio Disk Speed Tests (Mixed R/W 50/50)`: of each block size the reads and
//! writes per second and their bytes. The partition is the device where the script names it. Each
//! block size becomes a separate average.
//!
//! ## How to capture
//! `curl -sL yabs.sh | bash`, and the posts in forums of hosting that quote it.
//!
//! ## Versions
//! Tables with two block sizes side by side, since 2019; with and without the partition.
//!
//! ## Caveats
//! The script runs fio with `--rw=randrw --rwmixread=50 --iodepth=64 --numjobs=2 --direct=1` for
//! 30 s: 128 requests are always in flight, so it measures a full queue, and the mean latency is
//! 128 divided by the rate (Little's law). A file of 2 GB may be in a cache of the host. `GB/s` and
//! `MB/s` are powers of 1000, IOPS have one decimal and a `k`. Where fio could not be had the
//! script writes with `dd` and prints another table, which is not read.
//!
//! ## Not in this output
//! Any latency, and its distribution; the latency of a single request; other I/O on the disk.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Rates, Sink, typed};

use crate::facts::AddFact;
use crate::{Body, Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "yabs",
    summary: "YABS: fio's mixed reads and writes of four block sizes",
    manual: iowhy_model::manual!("yabs.rs"),
    level: Level::A,
    body: Body::Custom {
        needles: &["fio Disk Speed Tests", "Block Size"],
        sniff: |lines| {
            let begins = |line: &&str| line.contains(TITLE) || sizes(line).is_some();
            Sniff::from(lines.first().is_some_and(begins))
        },
        reader: || Box::new(Yabs::default()),
    },
};

const TITLE: &str = "fio Disk Speed Tests (Mixed R/W 50/50)";
/// Requests that the script keeps in flight, and how long each block size takes.
const IN_FLIGHT: f64 = 128.0;
const LENGTH: Nanos = Nanos(30_000_000_000);
/// In front of the sizes, and behind each.
const HEADING: &str = "Block Size |";
const IOPS: &str = "(IOPS)";

/// `Block Size | 4k (IOPS) | 64k (IOPS)`: how many sizes stand there.
fn sizes(line: &str) -> Option<usize> {
    let cells = line.trim().strip_prefix(HEADING)?;
    let sized = |cell: &str| {
        let size = cell.trim().strip_suffix(IOPS)?.trim();
        let digits = size.trim_end_matches(['k', 'm', 'K', 'M']);
        (digits.len() < size.len() && decimal(digits).is_some()).then_some(())
    };
    let known: Option<Vec<()>> = cells.split('|').map(sized).collect();
    known.map(|sizes| sizes.len())
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

#[derive(Default)]
struct Yabs {
    device: String,
    /// Sizes of the table, and the reads of each.
    sizes: usize,
    reads: Vec<Rates>,
}

impl Reader for Yabs {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some((_, rest)) = line.split_once(TITLE) {
            let named = rest.split_once("(Partition ").and_then(|(_, rest)| rest.split(')').next());
            self.device = named.map_or("fio", |name| name.trim_start_matches("/dev/")).to_string();
            return Step::Took;
        }
        if let Some(sizes) = sizes(line) {
            (self.sizes, self.reads) = (sizes, Vec::new());
            return Step::Took;
        }
        let Some((label, cells)) = line.split_once('|') else {
            let rule = line.trim().bytes().all(|byte| byte == b'-');
            return if rule { Step::Took } else { Step::Passed };
        };
        let label = label.trim();
        if !matches!(label, "Read" | "Write") {
            let ours = matches!(label, "Total" | "" | "------");
            return if ours { Step::Took } else { Step::Passed };
        }
        let known: Option<Vec<Rates>> = cells.split('|').map(rates).collect();
        let Some(known) = known.filter(|known| known.len() == self.sizes) else {
            return Step::Skipped("no rate of each block size".to_string());
        };
        if label == "Read" {
            self.reads = known;
            return Step::Took;
        }
        for (read, write) in std::mem::take(&mut self.reads).into_iter().zip(known) {
            let all = read.ios_per_s + write.ios_per_s;
            let name = if self.device.is_empty() { "fio" } else { &self.device };
            let device = sink.device(name);
            let mut interval = Interval::new(device, Layer::Application);
            interval.length = Some(LENGTH);
            interval.await_ns = Some(IN_FLIGHT * 1e9 / all).filter(|ns| ns.is_finite());
            interval.queue_len = Some(IN_FLIGHT);
            interval.rates = vec![(Op::Read, read), (Op::Write, write)];
            sink.interval(interval);
            sink.add_fact(device, typed::RUN_AT_ONCE, IN_FLIGHT as u64);
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }
}
