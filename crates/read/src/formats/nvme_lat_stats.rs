//! Latency histograms that a drive counts itself (`nvme intel lat-stats`).
//!
//! ## Reads
//! The title `Intel IO Read Command Latency Statistics`, the groups `Group 1: Range is 0-1ms, step is 32us` and
//! their rows `Bucket  4: 129010370`. Each title begins another histogram. The fact `counters.since` says that they are not of now.
//!
//! ## Where it comes from
//! `nvme intel lat-stats /dev/nvme0`, and with `-w` for writes, of drives that have this log page.
//!
//! ## Versions
//! nvme-cli 1.6 and later, revision 3 and 4 of the log page as far as it has groups of equal steps.
//!
//! ## Traps
//! The drive counts from its last reset or from when the statistics were switched on, under whatever load it had:
//! a histogram of its life says nothing of a test that ran for a minute. What is counted is a command within the drive:
//! the queue of the host, the link and the kernel are not part of it. Latencies above the last group are not listed.
//!
//! ## Cannot know
//! Since when it counts, how many were in flight, sizes. Whether whole lines are missing, but for a gap in the numbers of the
//! buckets.

use iowhy_model::{Distribution, Layer, Level, Op, Sink, Stage, typed};

use crate::drive::health::drive_named;
use crate::facts::AddFact;
use crate::histogram::buckets::histogram_of;
use crate::histogram::powers::note;
use crate::text::numbers::time_ns;
use crate::{Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "nvme-lat-stats",
    summary: "nvme intel lat-stats: a drive's own latency histograms",
    manual: iowhy_model::manual!("nvme_lat_stats.rs"),
    level: Level::B,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| title(line).is_some())),
    reader: || Box::new(NvmeLatStats::default()),
};

/// What the drive is called where the command is not there.
const NAMELESS: &str = "drive";

/// ` Intel IO Write Command Latency Statistics`: the operation.
fn title(line: &str) -> Option<Op> {
    let text = line.trim();
    let rest = text.strip_suffix(" Command Latency Statistics")?;
    match rest.rsplit(' ').next()? {
        "Read" => Some(Op::Read),
        "Write" => Some(Op::Write),
        _ => None,
    }
}

/// Buckets of equal steps, ns. The last one ends where the group does: 32 steps of 32 us are more than its 1 ms.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Group {
    start: u64,
    end: u64,
    step: u64,
}

/// `Group 1: Range is 0-1ms, step is 32us`.
fn group(line: &str) -> Option<Group> {
    let (_, rest) = line.trim().strip_prefix("Group ")?.split_once(": Range is ")?;
    let (range, step) = rest.split_once(", step is ")?;
    let (low, high) = range.split_once('-')?;
    // `1-32ms`: the unit of the end is that of the beginning, unless it has one.
    let unit = high.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let start = time(low).or_else(|| time(&format!("{low}{unit}")))?;
    let (end, step) = (time(high)?, time(step).filter(|step| *step > 0)?);
    (start < end).then_some(Group { start, end, step })
}

/// `32us`, `1ms`, `2s` in ns.
fn time(text: &str) -> Option<u64> {
    time_ns(text.trim()).map(|ns| ns as u64)
}

/// `Bucket  4: 129010370`: its number within the group, and the count.
fn bucket(line: &str) -> Option<(u64, u64)> {
    let (place, count) = line.trim().strip_prefix("Bucket ")?.split_once(':')?;
    Some((integer(place.trim())?, integer(count.trim())?))
}

#[derive(Default)]
struct NvmeLatStats {
    name: Option<String>,
    op: Option<Op>,
    /// The group, and the number of its first bucket once seen.
    group: Option<(Group, Option<u64>)>,
    rows: Vec<(u64, u64, u64)>,
    stated: bool,
}

impl Reader for NvmeLatStats {
    fn above(&mut self, line: &str) {
        self.name = drive_named(line).or(self.name.take());
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some(op) = title(text) {
            self.pour(sink);
            self.op = Some(op);
        } else if let Some(group) = group(text) {
            self.group = Some((group, None));
        } else if let Some((place, count)) = bucket(text) {
            let Some((group, first)) = &mut self.group else {
                return Step::Skipped("a bucket without a group".to_string());
            };
            let place = place.saturating_sub(*first.get_or_insert(place));
            let low = group.start.saturating_add(group.step.saturating_mul(place));
            self.rows.push((low, low.saturating_add(group.step).min(group.end), count));
        } else if text.starts_with("Bucket") || text.starts_with("Group ") {
            return Step::Skipped("a bucket or a group that cannot be read".to_string());
        } else if !(text.is_empty() || text.starts_with("---") || text.contains("Revision :")) {
            return Step::Passed;
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.pour(sink);
    }
}

impl NvmeLatStats {
    /// Gives out the histogram above.
    fn pour(&mut self, sink: &mut dyn Sink) {
        self.group = None;
        let rows = std::mem::take(&mut self.rows);
        let histogram = histogram_of(rows).filter(|known| known.count() > 0);
        let Some((op, histogram)) = self.op.zip(histogram) else { return };
        let device = sink.device(self.name.as_deref().unwrap_or(NAMELESS));
        let mut one = Distribution::new(device, Layer::Block, Stage::Device, histogram);
        one.op = Some(op);
        sink.distribution(one);
        if !std::mem::replace(&mut self.stated, true) {
            sink.note(note("counted since the drive's statistics began, not of now"));
            sink.add_fact(device, typed::COUNTERS_SINCE, "statistics");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn groups_have_a_beginning_and_a_step() {
        let ms = 1_000_000;
        let second = Group { start: ms, end: 32 * ms, step: ms };
        assert_eq!(group("Group 2: Range is 1-32ms, step is 1ms"), Some(second));
        let third = Group { start: 32 * ms, end: 1_000 * ms, step: 32 * ms };
        assert_eq!(group("Group 3: Range is 32ms-1s, step is 32ms"), Some(third));
        let recording = read(
            "# nvme intel lat-stats /dev/nvme0n1\n Intel IO Read Command Latency Statistics\n\
             -------------------------------------\nMajor Revision : 3\nMinor Revision : 0\n\n\
             Group 1: Range is 0-1ms, step is 32us\nBucket  0: 5\nBucket  1: 7\nBucket 31: 2\n\n\
             Group 2: Range is 1-32ms, step is 1ms\nBucket  0: 1\nBucket  x: 1\n",
        );
        let listing = &recording.listings[0];
        let histogram = &listing.distributions[0].histogram;
        assert_eq!((histogram.count(), listing.source.skipped), (15, 1));
        // The last bucket of the first group ends at 1 ms, where the second begins.
        assert!(histogram.edges().as_slice().ends_with(&[992_000, 1_000_000, 2_000_000]));
        assert_eq!(recording.devices()[0].name, "nvme0n1");
    }
}
