//! gluster volume profile: what each brick of a GlusterFS volume does, and how long it takes.
//!
//! ## Reads
//! The rows `READ`, `WRITE` and `FSYNC` of each brick's table: calls and their mean time, as reads, writes and flushes of
//! `host:/brick`. `Duration` makes rates of the calls. Of a brick that prints both, the interval is taken, not what was
//! counted since profiling began.
//!
//! ## Where it comes from
//! `gluster volume profile VOLUME start`, later `gluster volume profile VOLUME info`.
//!
//! ## Versions
//! GlusterFS 3.4 to 11; times in us, since 8 in ns.
//!
//! ## Traps
//! The times are those of the brick's process: its file system, page cache and disk, its own locks and threads, no network.
//! A mean of writes is mostly of the page cache. `%-latency` is a share of the brick's calls, no utilisation. The longest
//! call may be one in millions.
//!
//! ## Cannot know
//! The disk below a brick, single latencies, what clients wait for. Whether whole lines are missing: they bear no numbers.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Sink};

use crate::counters::stated::rates;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "gluster-profile",
    summary: "gluster volume profile: calls of each brick, and their mean time",
    manual: iowhy_model::manual!("gluster_profile.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(GlusterProfile::default()),
};

/// Lines from a brick's name to its statistics.
const NEAR: usize = 3;
/// How the table's heading begins.
const HEADING: &str = "%-latency   Avg-latency   Min-Latency   Max-Latency";
/// What it calls a brick that nobody named.
const NAMELESS: &str = "brick";

fn sniff(lines: &[&str]) -> Sniff {
    let begins = |line: &str| line.trim().starts_with(HEADING) || is_statistics(line);
    Sniff::announced(lines, NEAR, begins, |line| brick(line).is_some())
}

/// `Brick: gfs1:/data/brick`.
fn brick(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("Brick: ")?.trim();
    (name.contains(":/") && !name.contains(char::is_whitespace)).then_some(name)
}

/// `Cumulative Stats:` or `Interval 3 Stats:`.
fn is_statistics(line: &str) -> bool {
    let text = line.trim();
    text == "Cumulative Stats:" || is_interval(text)
}

fn is_interval(text: &str) -> bool {
    let number = text.strip_prefix("Interval ").and_then(|rest| rest.strip_suffix(" Stats:"));
    number.is_some_and(|number| integer(number).is_some())
}

/// A row of the table.
struct Row<'a> {
    call: &'a str,
    calls: f64,
    mean_ns: f64,
}

/// `     45.12    1234.56 us      12.00 us   98765.00 us            123      FSYNC`.
fn row(line: &str) -> Option<Row<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [share, mean, unit, least, _, most, _, calls, call] = words[..] else { return None };
    let scale = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let figures = [share, least, most].iter().all(|word| decimal(word).is_some());
    Some(Row {
        call,
        calls: integer(calls)? as f64,
        mean_ns: decimal(mean).filter(|_| figures)? * scale,
    })
}

/// Statistics of one brick: since profiling began, or of an interval.
#[derive(Default)]
struct Statistics {
    seconds: Option<f64>,
    /// Operation, calls, their mean time, ns.
    calls: Vec<(Op, f64, f64)>,
    /// The same of calls that move no data.
    others: Vec<(f64, f64)>,
}

#[derive(Default)]
struct GlusterProfile {
    brick: String,
    /// What was counted since profiling began, until an interval replaces it.
    open: Statistics,
}

impl Reader for GlusterProfile {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some(name) = brick(text) {
            self.pour(sink);
            self.brick = name.to_string();
        } else if is_statistics(text) {
            self.open = Statistics::default();
        } else if let Some(row) = row(text) {
            let op = match row.call {
                "READ" => Op::Read,
                "WRITE" => Op::Write,
                "FSYNC" => Op::Flush,
                _ => {
                    self.open.others.push((row.calls, row.mean_ns));
                    return Step::Took;
                }
            };
            self.open.calls.push((op, row.calls, row.mean_ns));
        } else if let Some(rest) = text.strip_prefix("Duration:") {
            let seconds = rest.trim().strip_suffix("seconds").and_then(|text| decimal(text.trim()));
            self.open.seconds = seconds.filter(|seconds| *seconds > 0.0);
        } else {
            let starts = [
                "Block Size:",
                "No. of Reads:",
                "No. of Writes:",
                "Data Read:",
                "Data Written:",
                "---",
                "%-latency",
            ];
            let known = text.is_empty() || starts.iter().any(|start| text.starts_with(start));
            return if known { Step::Took } else { Step::Passed };
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.pour(sink);
    }
}

impl GlusterProfile {
    fn pour(&mut self, sink: &mut dyn Sink) {
        let Statistics { seconds, calls, others } = std::mem::take(&mut self.open);
        if calls.is_empty() && others.is_empty() {
            return;
        }
        let device = sink.device(if self.brick.is_empty() { NAMELESS } else { &self.brick });
        let mut interval = Interval::new(device, Layer::Application);
        interval.length = seconds.map(Nanos::from_seconds);
        if let Some(seconds) = seconds.filter(|_| !calls.is_empty()) {
            for (op, calls, mean_ns) in calls {
                let known = rates(Some(calls / seconds), None, Some(mean_ns));
                interval.rates.extend(known.map(|rates| (op, rates)));
            }
        } else {
            // How long it was is not known, or no data were moved: the mean over all calls is all that can be said.
            let data = calls.iter().map(|(_, calls, mean)| (*calls, *mean));
            let each: Vec<(f64, f64)> = if calls.is_empty() { others } else { data.collect() };
            let count: f64 = each.iter().map(|(calls, _)| calls).sum();
            let time: f64 = each.iter().map(|(calls, mean)| calls * mean).sum();
            interval.await_ns = Some(time / count).filter(|ns| *ns > 0.0 && ns.is_finite());
        }
        sink.interval(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded;

    #[test]
    fn an_interval_replaces_what_was_counted_before() {
        let table = |count: &str| {
            format!(
                " %-latency   Avg-latency   Min-Latency   Max-Latency   No. of calls         Fop\n \
                 ---------   -----------   -----------   -----------   ------------        ----\n      \
                 0.00       0.00 us       0.00 us       0.00 us            365      FORGET\n     \
                 60.00    4000.00 us      10.00 us  900000.00 us            {count}       FSYNC\n     \
                 40.00     100.00 us      10.00 us    9000.00 us            {count}       WRITE\n"
            )
        };
        let recording = recorded(&format!(
            "Brick: gfs1:/data/brick\n-----------------------\nCumulative Stats:\n{} \n    Duration: 1000 seconds\n   \
             Data Read: 0 bytes\n\nInterval 1 Stats:\n{}\n    Duration: 10 seconds\n",
            table("99999"),
            table("50"),
        ));
        let listing = &recording.listings[0];
        let [row] = &listing.intervals[..] else { panic!("{:?}", listing.intervals) };
        let flushes = row.of(Op::Flush).unwrap();
        assert_eq!((flushes.ios_per_s, flushes.await_ns), (5.0, Some(4e6)));
        assert_eq!(
            (recording.devices()[0].name.as_str(), listing.source.skipped),
            ("gfs1:/data/brick", 0)
        );
    }
}
