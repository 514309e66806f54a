//! hdparm -t and -T: sequential reads of a disk, and of memory.
//!
//! ## Reads
//! `Timing buffered disk reads: 384 MB in  3.01 seconds = 127.42 MB/sec` and `Timing O_DIRECT disk
//! reads` as reads of the disk that the line `/dev/sda:` above names; `Timing cached reads` as the fact
//! `memory.throughput`.
//!
//! ## Where it comes from
//! `hdparm -tT /dev/sda`, `hdparm -t --direct /dev/sda`.
//!
//! ## Versions
//! hdparm 5 and later.
//!
//! ## Traps
//! `cached reads` never touch the disk: they measure memory (with `--direct` the cache of the disk:
//! not read). Buffered reads are sequential and read
//! ahead by the kernel; on a machine in use they are too low. MB are 1024 x 1024 bytes, read 2 MB
//! at a time. A throughput alone accuses no disk: its class is not known.
//!
//! ## Cannot know
//! Single latencies, random reads, writes, what else used the disk. Whether whole lines are missing:
//! they bear no numbers.

use iowhy_model::typed::{BytesPerSecond, PageCache};
use iowhy_model::{Interval, Layer, Level, Nanos, Op, Sink, typed};

use crate::counters::stated::rates;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "hdparm",
    summary: "hdparm -tT: sequential reads of a disk and of memory",
    manual: iowhy_model::manual!("hdparm.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(Hdparm::default()),
};

const MIB: f64 = 1024.0 * 1024.0;
/// What hdparm reads at once (hdparm.c, TIMING_BUF_BYTES).
const READ: f64 = 2.0 * MIB;
/// Lines between the disk's name and the first timing.
const LEAD: usize = 4;

fn sniff(lines: &[&str]) -> Sniff {
    if lines.last().is_some_and(|line| timing(line).is_some()) {
        return Sniff::Yes;
    }
    let named = lines.first().is_some_and(|line| disk(line).is_some());
    let quiet = lines.iter().skip(1).all(|line| is_remark(line));
    if named && quiet && lines.len() < LEAD { Sniff::More } else { Sniff::No }
}

/// What may stand between the disk and its timings.
fn is_remark(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("SG_IO:") || line.starts_with("HDIO_") || line.is_empty()
}

/// `/dev/sda:`.
fn disk(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("/dev/")?.strip_suffix(':')?;
    (!name.contains(char::is_whitespace)).then_some(name)
}

/// `Timing buffered disk reads: 384 MB in  3.01 seconds = 127.42 MB/sec`: what, bytes, seconds.
fn timing(line: &str) -> Option<(&str, f64, f64)> {
    let (what, rest) = line.trim().strip_prefix("Timing ")?.split_once(" reads:")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [size, "MB", "in", seconds, "seconds", ..] = words[..] else { return None };
    let seconds = decimal(seconds).filter(|seconds| *seconds > 0.0)?;
    Some((what, decimal(size)? * MIB, seconds))
}

#[derive(Default)]
struct Hdparm {
    disk: String,
}

impl Reader for Hdparm {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(name) = disk(line) {
            self.disk = name.to_string();
            return Step::Took;
        }
        let Some((what, bytes, seconds)) = timing(line) else {
            return match line.trim() {
                _ if is_remark(line) => Step::Took,
                text if text.starts_with("Timing ") => {
                    Step::Skipped("the timing has no result".to_string())
                }
                _ => Step::Passed,
            };
        };
        let per_s = bytes / seconds;
        // The disk's own cache, with O_DIRECT: neither memory nor the medium.
        if what == "O_DIRECT cached" {
            return Step::Took;
        }
        if what == "cached" {
            sink.add_fact(None, typed::MEMORY_THROUGHPUT, BytesPerSecond(per_s.round()));
            return Step::Took;
        }
        let name = if self.disk.is_empty() { "hdparm" } else { &self.disk };
        let device = sink.device(name);
        let mut interval = Interval::new(device, Layer::Application);
        interval.length = Some(Nanos::from_seconds(seconds));
        let known = rates(Some(per_s / READ), Some(per_s), None);
        interval.rates.extend(known.map(|rates| (Op::Read, rates)));
        sink.interval(interval);
        sink.add_fact(device, typed::RUN_THROUGHPUT, BytesPerSecond(per_s.round()));
        sink.add_fact(device, typed::RUN_CACHED, PageCache::No);
        Step::Took
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn memory_is_told_from_the_disk() {
        let recording = read(
            "\n/dev/sda:\n Timing cached reads:   24292 MB in  1.99 seconds = 12204.93 MB/sec\n \
             Timing buffered disk reads: 384 MB in  3.00 seconds = 128.00 MB/sec\n",
        );
        let listing = &recording.listings[0];
        let [row] = &listing.intervals[..] else { panic!("{:?}", listing.intervals) };
        let reads = row.of(Op::Read).unwrap();
        assert_eq!((reads.ios_per_s, reads.bytes_per_s), (64.0, Some(128.0 * MIB)));
        assert_eq!(listing.facts[0].key.name(), "memory.throughput");
        assert_eq!(recording.devices()[0].name, "sda");
    }
}
