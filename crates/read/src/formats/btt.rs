//! btt: time of requests in each stage of a blktrace, as minimum, mean and maximum.
//!
//! ## Reads
//! The table below `==================== All Devices ====================`: rows `Q2G`, `I2D`, `D2C`,
//! `Q2C` with `MIN AVG MAX N` in seconds. Each becomes one bucket with its exact sum.
//!
//! ## How to capture
//! `btt -i trace.bin` after `blkparse -d trace.bin`.
//!
//! ## Versions
//! All versions of blktrace's btt; the tables after it (overhead, merges, seeks) are ignored.
//!
//! ## Caveats
//! D2C is device time, Q2C the total. Q2G is the wait for a free request (a full queue, or a flush
//! ahead), I2D the time in the scheduler. The table is over all devices of the trace. Q2Q is the
//! time between arrivals, not a latency: it becomes the fact `arrivals.apart`.
//!
//! ## Not in this output
//! The device, reads and writes separately, the latency distribution: use the trace itself.

use iowhy_model::{Distribution, Histogram, Layer, Level, Nanos, Sink, Stage, typed};

use crate::facts::AddFact;
use crate::{Body, Format, Reader, Sniff, Step, decimal, fixed, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "btt",
    summary: "btt: minimum, mean and maximum of each stage of a blktrace",
    manual: iowhy_model::manual!("btt.rs"),
    level: Level::B,
    body: Body::Custom {
        needles: &["All Devices", "AVG"],
        sniff,
        reader: || Box::new(Btt::default()),
    },
};

/// Lines between the title and the heading.
const LEAD: usize = 3;

fn sniff(lines: &[&str]) -> Sniff {
    if lines.last().is_some_and(|line| is_heading(line)) {
        return Sniff::Yes;
    }
    let titled = lines.first().is_some_and(|line| title(line) == Some("All Devices"));
    let blank = lines.iter().skip(1).all(|line| line.trim().is_empty());
    if titled && blank && lines.len() < LEAD { Sniff::More } else { Sniff::No }
}

/// `==================== All Devices ====================`.
fn title(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("==========")?.trim_start_matches('=');
    Some(rest.strip_suffix("==========")?.trim_end_matches('=').trim())
}

/// `            ALL           MIN           AVG           MAX           N`.
fn is_heading(line: &str) -> bool {
    line.trim_start().starts_with("ALL")
        && line.split_whitespace().eq(["ALL", "MIN", "AVG", "MAX", "N"])
}

#[derive(Default)]
struct Btt {
    over: bool,
}

impl Reader for Btt {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(title) = title(line) {
            self.over = title != "All Devices";
            return if self.over { Step::Ended } else { Step::Took };
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let ruler = words.iter().all(|word| word.bytes().all(|b| b == b'-'));
        if is_heading(line) || ruler {
            return Step::Took;
        }
        let [stage, min, mean, max, count] = words[..] else {
            return match words.first().is_some_and(|word| is_stage(word)) {
                true => Step::Skipped("the row has no five columns".to_string()),
                false => Step::Passed,
            };
        };
        if !is_stage(stage) {
            return Step::Passed;
        }
        let ns = |word: &str| fixed(word, 9).and_then(|ns| u64::try_from(ns).ok());
        let numbers = ns(min).zip(ns(max)).zip(decimal(mean)).zip(integer(count));
        let Some((((min, max), mean), count)) = numbers.filter(|(_, count)| *count > 0) else {
            return Step::Skipped("the times of the row are not numbers".to_string());
        };
        let stage = match stage {
            "Q2G" => Stage::Before,
            "I2D" => Stage::Queue,
            "D2C" => Stage::Device,
            "Q2C" => Stage::Total,
            // Of one arrival after the other.
            "Q2Q" => {
                sink.add_fact(None, typed::ARRIVALS_APART, Nanos::from_seconds(mean));
                return Step::Took;
            }
            _ => return Step::Took,
        };
        let histogram = Histogram::from_summary(count, mean * 1e9, min, max);
        let device = sink.device("all devices");
        sink.distribution(Distribution::new(device, Layer::Block, stage, histogram));
        Step::Took
    }
}

/// `Q2Q`, `M2D`: two letters with a 2 between them.
fn is_stage(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() == 3 && bytes[1] == b'2' && bytes[0].is_ascii_uppercase()
}
