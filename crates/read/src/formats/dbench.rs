//! dbench: what operations on files took, with mean and maximum.
//!
//! ## Reads
//! The table `Operation  Count  AvgLat  MaxLat` at the end of a run: `ReadX`, `WriteX` and `Flush` as reads, writes and
//! flushes of a program, the others (create, rename, find ...) as its other operations; and the line `Throughput`, which is
//! all that version 3 prints.
//!
//! ## Where it comes from
//! `dbench -D /mnt -t 60 8`, `tbench` likewise.
//!
//! ## Versions
//! dbench 3.04 and 4.00.
//!
//! ## Traps
//! Reads and writes go through the page cache: what they took says little of a disk. `Flush` waits for it. Latencies are
//! milliseconds. A run warms up first and counts from there, or does not (`--warmup`), which its output does not tell.
//!
//! ## Cannot know
//! How latencies are distributed, the disk behind the file system, what else used it. Whether whole lines are missing:
//! they bear no numbers.

use iowhy_model::typed::BytesPerSecond;
use iowhy_model::{Distribution, Histogram, Layer, Level, Op, Sink, Stage, typed};

use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "dbench",
    summary: "dbench: operations on files, mean and maximum latency",
    manual: iowhy_model::manual!("dbench.rs"),
    level: Level::B,
    sniff: |lines| {
        let begins = |line: &&str| is_heading(line) || is_total(line) || is_progress(line);
        Sniff::from(lines.first().is_some_and(begins))
    },
    reader: || Box::new(Dbench),
};

const NS_PER_MS: f64 = 1e6;
/// What the run is called in reports.
const NAME: &str = "dbench";

fn is_heading(line: &str) -> bool {
    line.split_whitespace().eq(["Operation", "Count", "AvgLat", "MaxLat"])
}

/// `Throughput 40.8924 MB/sec (sync open) (sync dirs) 5 procs`, `... 8 clients  8 procs  max_latency=12.3 ms`.
fn is_total(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    matches!(words[..], ["Throughput", _, "MB/sec", ..]) && words.contains(&"procs")
}

/// `128 18384 14924.44 MB/sec  warmup   1 sec  latency 45.920 ms`, `0  cleanup 30 sec`.
fn is_progress(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &str| decimal(word).is_some();
    match words[..] {
        [clients, done, rate, "MB/sec", "warmup" | "execute", _, "sec", "latency", _, "ms"] => {
            [clients, done, rate].into_iter().all(number)
        }
        [clients, "cleanup", seconds, "sec"] => number(clients) && number(seconds),
        _ => false,
    }
}

struct Dbench;

impl Reader for Dbench {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        let is_ruler = text.bytes().all(|byte| byte == b'-');
        if text.is_empty() || is_ruler || is_heading(text) || is_progress(text) {
            return Step::Took;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["Throughput", rate, "MB/sec", ..] => match decimal(rate) {
                Some(rate) => {
                    let rate = BytesPerSecond((rate * 1e6).round());
                    sink.add_fact(None, typed::RUN_THROUGHPUT, rate);
                    Step::Took
                }
                None => Step::Skipped("the throughput is not a number".to_string()),
            },
            [name, count, mean, longest] => {
                let ns =
                    |text: &str| decimal(text).filter(|ms| *ms >= 0.0).map(|ms| ms * NS_PER_MS);
                let numbers = integer(count).zip(ns(mean)).zip(ns(longest));
                let Some(((count, mean), longest)) = numbers else {
                    let rows = [count, mean, longest].iter().any(|word| decimal(word).is_some());
                    return match rows {
                        true => Step::Skipped("a value is not a number".to_string()),
                        false => Step::Passed,
                    };
                };
                if count > 0 {
                    pour((name, count), mean, longest, sink);
                }
                Step::Took
            }
            _ => Step::Passed,
        }
    }
}

fn pour((name, count): (&str, u64), mean_ns: f64, longest_ns: f64, sink: &mut dyn Sink) {
    let mut histogram = Histogram::from_summary(count, mean_ns, 0, longest_ns as u64);
    // Nobody said what the shortest took.
    histogram.min_ns = None;
    let device = sink.device(NAME);
    let mut one = Distribution::new(device, Layer::Application, Stage::Total, histogram);
    one.op = Some(match name {
        "ReadX" => Op::Read,
        "WriteX" => Op::Write,
        "Flush" => Op::Flush,
        _ => Op::Other,
    });
    one.label = Some(sink.name(name));
    sink.distribution(one);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn flushes_are_told_from_what_memory_answers() {
        let recording = read(
            "   2     22041    90.67 MB/sec  execute   3 sec  latency 62.785 ms\n\n\
             \x20Operation      Count    AvgLat    MaxLat\n\
             \x20----------------------------------------\n\
             \x20NTCreateX       9856     0.013    12.755\n\
             \x20ReadX          15440     0.006    12.172\n\
             \x20Flush            695     9.885    62.778\n\n\
             Throughput 90.6704 MB/sec  2 clients  2 procs  max_latency=62.785 ms\n",
        );
        let listing = &recording.listings[0];
        let flushes = listing.distributions.iter().find(|known| known.op == Some(Op::Flush));
        let flushes = &flushes.unwrap().histogram;
        assert_eq!((flushes.count(), flushes.max_ns), (695, Some(62_778_000)));
        assert_eq!(flushes.mean_ns().map(|(ns, _)| ns.round()), Some(9_885_000.0));
        assert_eq!(listing.distributions.len(), 3);
    }
}
