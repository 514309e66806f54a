//! btt: time of requests in each stage of a blktrace, as minimum, mean and maximum.
//!
//! ## Reads
//! The table below `==================== All Devices ====================`: rows `Q2G`, `I2D`,
//! `D2C`, `Q2C` with `MIN AVG MAX N` in seconds. Each becomes one bucket with its exact sum.
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

use crate::describe::report::*;
use crate::fixed;

pub(super) const FORMAT: Format =
    Format::labels("minimum, mean and maximum of each stage of a blktrace", Level::B, &LABELS);

static LABELS: Labels = Labels {
    near: 2,
    lines: &[
        announces("^=========={*}= All Devices =={*}==========$", |_, _, _| Some(()))
            .like(&["==================== All Devices ===================="]),
        says("^=========={*}==========$", |_, _, _| Some(()))
            .opens_report()
            .like(&["==================== Device Overhead ===================="]),
        begins("^ALL MIN AVG MAX N$", |_, _, _| Some(()))
            .like(&["ALL           MIN           AVG           MAX           N"]),
        says("^{stage:word}", row)
            .when(|found| found.text("stage").is_some_and(is_stage))
            .like(&["D2C               0.000114600   0.010034312   0.044391000         120"]),
    ],
    own: &["^-----"],
    ..Labels::NEW
};

/// `Q2Q`, `M2D`: two letters with a 2 between them.
fn is_stage(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() == 3 && bytes[1] == b'2' && bytes[0].is_ascii_uppercase()
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let [stage, min, mean, max, count] = words[..] else {
        return report.fails("the row does not have five columns");
    };
    let ns = |word: &str| fixed(word, 9).and_then(|ns| u64::try_from(ns).ok());
    let numbers = ns(min).zip(ns(max)).zip(decimal(mean)).zip(integer(count));
    let numbers = numbers.filter(|(_, count)| *count > 0);
    let (((min, max), mean), count) =
        report.need(numbers, "the times of the row are not numbers")?;
    let stage = match stage {
        "Q2G" => Stage::Before,
        "I2D" => Stage::Queue,
        "D2C" => Stage::Device,
        "Q2C" => Stage::Total,
        // Of one arrival after the other.
        "Q2Q" => {
            sink.add_fact(None, typed::ARRIVALS_APART, Nanos::from_seconds(mean));
            return Some(());
        }
        _ => return Some(()),
    };
    let histogram = Histogram::from_summary(count, mean * 1e9, min, max);
    let device = sink.device("all devices");
    sink.distribution(Distribution::new(device, Layer::Block, stage, histogram));
    Some(())
}
