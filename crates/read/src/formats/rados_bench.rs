//! rados bench: objects that a Ceph cluster wrote or read each second.
//!
//! ## Reads
//! The rows `sec Cur ops started finished avg MB/s cur MB/s last lat(s) avg lat(s)`; of each run the last becomes averages as
//! the program saw them: operations and their mean latency. Seconds in which operations were in flight and none finished are
//! counted. The lines at the end (`Average Latency(s):`, `Max latency(s):`, `Total writes made:`) become a distribution with
//! its mean and maximum.
//!
//! ## Where it comes from
//! `rados bench -p POOL 60 write`, `... seq`, `... rand`.
//!
//! ## Versions
//! Ceph Firefly to Squid; up to Infernalis `last lat   avg lat` and `Average Latency:` without `(s)`.
//!
//! ## Traps
//! An operation is an object of 4 MB by default, which goes to several disks on several machines: its latency is no disk's.
//! 16 are in flight unless `-t` says otherwise. Rows without an operation print `-` for the last latency.
//!
//! ## Cannot know
//! Which OSD or disk an operation waited for, single latencies. Whether rows in the middle are missing.

use iowhy_model::{Distribution, Histogram, Interval, Layer, Level, Nanos, Op, Sink, Stage, typed};

use crate::counters::stated::rates;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "rados-bench",
    summary: "rados bench: objects that a Ceph cluster wrote or read each second",
    manual: iowhy_model::manual!("rados_bench.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(RadosBench::default()),
};

/// What the runs are called in reports.
const NAME: &str = "rados bench";
/// Lines between the command and the heading.
const LEAD: usize = 4;

fn sniff(lines: &[&str]) -> Sniff {
    // The end of a run alone.
    let starts =
        |place: usize, with: &str| lines.get(place).is_some_and(|line| line.starts_with(with));
    if starts(0, "Total time run:") {
        return match lines.len() {
            1 => Sniff::More,
            _ => Sniff::from(starts(1, "Total writes made:") || starts(1, "Total reads made:")),
        };
    }
    match lines.iter().any(|line| is_heading(line)) {
        true => Sniff::Yes,
        false
            if lines.len() < LEAD
                && lines.first().is_some_and(|line| operation(line).is_some()) =>
        {
            Sniff::More
        }
        false => Sniff::No,
    }
}

fn is_heading(line: &str) -> bool {
    line.trim_start().starts_with("sec Cur ops") && line.contains("avg lat")
}

/// What the command asks for.
fn operation(line: &str) -> Option<Op> {
    let (_, rest) = line.split_once("rados ")?;
    let mut words = rest.split_whitespace();
    words.find(|word| *word == "bench")?;
    words.find_map(|word| match word {
        "write" => Some(Op::Write),
        "seq" | "rand" => Some(Op::Read),
        _ => None,
    })
}

/// A row: second, in flight, finished so far, mean latency so far.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    second: u64,
    in_flight: u64,
    finished: u64,
    mean_s: Option<f64>,
}

fn row(line: &str) -> Option<Row> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [second, in_flight, started, finished, mean_mb, _, last, mean] = words[..] else {
        return None;
    };
    let started = integer(started)?;
    let row = Row {
        second: integer(second)?,
        in_flight: integer(in_flight)?,
        finished: integer(finished)?,
        mean_s: decimal(mean).filter(|mean| *mean > 0.0),
    };
    let sound = decimal(mean_mb).is_some()
        && started == row.finished + row.in_flight
        && (last == "-" || decimal(last).is_some());
    sound.then_some(row)
}

#[derive(Default)]
struct RadosBench {
    op: Option<Op>,
    last: Option<Row>,
    /// Seconds in which nothing finished, of the run and of all runs.
    silent: u64,
    silent_of_all: u64,
    count: Option<u64>,
    mean_s: Option<f64>,
    max_s: Option<f64>,
    min_s: Option<f64>,
}

impl Reader for RadosBench {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(op) = operation(line) {
            self.pour(sink);
            self.op = Some(op);
        } else if is_heading(line) {
            // It is printed again every twenty seconds.
        } else if let Some(row) = row(line) {
            if self.last.is_some_and(|last| row.second < last.second) {
                self.pour(sink);
            }
            let stood =
                self.last.is_some_and(|last| last.finished == row.finished && last.in_flight > 0);
            self.silent += u64::from(stood && row.in_flight > 0);
            self.last = Some(row);
        } else {
            return self.total(line);
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.pour(sink);
        if self.silent_of_all > 0 {
            let silent = Nanos::from_seconds(self.silent_of_all as f64);
            sink.add_fact(None, typed::RUN_SILENT, silent);
        }
    }
}

impl RadosBench {
    /// A line of the end of a run.
    fn total(&mut self, line: &str) -> Step {
        let Some((key, value)) = line.split_once(':') else { return Step::Passed };
        let value = value.trim();
        let (number, key) = (decimal(value), key.trim().trim_end_matches("(s)"));
        let odd = || Step::Skipped(format!("`{value}` is not a number"));
        match key {
            "Total writes made" | "Total reads made" => {
                let Some(count) = integer(value) else { return odd() };
                let op = if key == "Total reads made" { Op::Read } else { Op::Write };
                (self.op, self.count) = (Some(op), Some(count));
            }
            "Average Latency" | "Average latency" | "Max latency" | "Min latency" => {
                let Some(latency) = number.filter(|s| *s >= 0.0) else { return odd() };
                let place = match key {
                    "Max latency" => &mut self.max_s,
                    "Min latency" => &mut self.min_s,
                    _ => &mut self.mean_s,
                };
                *place = Some(latency);
            }
            "Max IOPS" | "Min IOPS" if number.is_some_and(|rate| rate < 0.0) => {
                return Step::Skipped("a rate below zero: the program did not set it".to_string());
            }
            key if key.starts_with("Total ")
                || key.starts_with("Bandwidth")
                || key.starts_with("Stddev")
                || key.starts_with("Average IOPS")
                || key.starts_with("Max ")
                || key.starts_with("Min ")
                || key.ends_with(" size") => {}
            _ => return Step::Passed,
        }
        Step::Took
    }

    fn pour(&mut self, sink: &mut dyn Sink) {
        let run = std::mem::take(self);
        self.silent_of_all = run.silent_of_all + run.silent;
        let device = |sink: &mut dyn Sink| sink.device(NAME);
        if let (Some(count), Some(mean), Some(max)) = (run.count, run.mean_s, run.max_s) {
            let min = run.min_s.unwrap_or(0.0).max(0.0);
            let max = max.max(mean);
            let histogram =
                Histogram::from_summary(count, mean * 1e9, (min * 1e9) as u64, (max * 1e9) as u64);
            let mut all =
                Distribution::new(device(sink), Layer::Application, Stage::Total, histogram);
            all.op = run.op;
            sink.distribution(all);
            return;
        }
        let Some(last) = run.last.filter(|last| last.second > 0 && last.finished > 0) else {
            return;
        };
        let per_s = last.finished as f64 / last.second as f64;
        // The size of an object is no size of a request to a disk.
        let known = rates(Some(per_s), None, last.mean_s.map(|mean| mean * 1e9));
        let Some(known) = known else { return };
        let mut interval = Interval::new(device(sink), Layer::Application);
        interval.length = Some(Nanos::from_seconds(last.second as f64));
        match run.op {
            Some(op) => interval.rates.push((op, known)),
            None => interval.mixed = Some(known),
        }
        sink.interval(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_commands() {
        let line = "     3      16        31        15   19.9939        32     2.93448     2.07765";
        let known = Row { second: 3, in_flight: 16, finished: 15, mean_s: Some(2.07765) };
        assert_eq!(row(line), Some(known));
        assert_eq!(
            row("     0       0         0         0         0         0           -           0")
                .unwrap()
                .mean_s,
            None
        );
        assert_eq!(row("1 2 3 4 5 6 7 8"), None);
        assert_eq!(operation("$ rados bench -p rbd 10 write --no-cleanup"), Some(Op::Write));
        assert_eq!(operation("rados -p data bench 60 rand"), Some(Op::Read));
        assert_eq!(operation("rados df"), None);
    }
}
