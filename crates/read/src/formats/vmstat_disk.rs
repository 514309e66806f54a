//! vmstat -d: the kernel's counters of each disk, and the averages between two reports.
//!
//! ## Reads
//! The table `disk- ---reads--- ---writes---` once or again and again, narrow or wide (`-w`), with
//! times (`-t`) or without. Two reports give the mean wait of reads and writes of each disk, and
//! with the time between them rates.
//!
//! ## How to capture
//! `vmstat -d 5 3`, `vmstat -dt 5`, `vmstat -d` once.
//!
//! ## Versions
//! procps 3.3 and procps-ng 4.
//!
//! ## Caveats
//! All values are since boot, in every report: a single report describes the time since then, not
//! the present. Without `-t` reports have no time; the interval is taken from the command line if
//! it is above the table, else there are waits but no rates. `sec` is busy time in whole seconds
//! and is ignored. Sectors are 512 bytes. `vmstat -D` adds up all disks since boot, both volumes
//! and their members: it is recognised but does not describe any disk.
//!
//! ## Not in this output
//! The latency distribution, the split into queue and device time, the processes, and events within
//! an interval.

use crate::counters::copies::{Clock, Copies};
use crate::counters::diskstats::Counters;
use crate::program::*;
use crate::text::invocation::invocation;

pub(super) const FORMAT: Format = Format::program::<VmstatDisk>(
    "vmstat -d: counters of each disk",
    Level::A,
    &["disk-", " disks"],
    sniff,
);

fn sniff(lines: &[&str]) -> Detect {
    match lines {
        [first] if is_groups(first) || is_total(first, "disks") => Detect::NeedLine,
        [first, second, ..] if is_total(first, "disks") => is_total(second, "partitions").into(),
        [first, second, ..] => (is_groups(first) && is_columns(second)).into(),
        _ => Detect::No,
    }
}

/// `disk- ------------reads------------ ------------writes----------- -----IO------`.
fn is_groups(line: &str) -> bool {
    line.starts_with("disk-") && line.contains("-reads-") && line.contains("-writes-")
}

/// `    10 disks`, a line of `vmstat -D`.
fn is_total(line: &str, what: &str) -> bool {
    line.trim().split_once(' ').is_some_and(|(n, rest)| integer(n).is_some() && rest == what)
}

/// What `vmstat -D` counts, all disks together.
const TOTALS: [&str; 13] = [
    "disks", "partitions", "total reads", "merged reads", "read sectors", "milli reading",
    "writes", "merged writes", "written sectors", "milli writing", "inprogress IO",
    "milli spent IO", "milli weighted IO",
];

fn is_columns(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let columns =
        ["total", "merged", "sectors", "ms", "total", "merged", "sectors", "ms", "cur", "sec"];
    columns.iter().all(|column| words.next() == Some(column))
}

/// The counters of a row, and its time if it has one.
fn row(line: &str) -> Option<(Counters, Option<Clock>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, rest) = words.split_first()?;
    let values: Vec<u64> = rest.iter().take(10).map_while(|word| integer(word)).collect();
    // The last one is in seconds.
    let (_, values) = values.split_last().filter(|_| values.len() == 10)?;
    let counters = Counters::of(name, |place| values.get(place).copied())?;
    let now = rest.get(10..).filter(|rest| !rest.is_empty()).map(|rest| rest.join(" "));
    Some((counters, now.and_then(|now| WallTime::read(&now)).map(Clock::Wall)))
}

#[derive(Default)]
struct VmstatDisk(Copies);

impl Reader for VmstatDisk {
    fn line_above(&mut self, line: &str) {
        if let Some(command) = invocation(line, "vmstat") {
            self.0.every = command.interval.map(Nanos::from_seconds);
        }
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if is_groups(line) || is_columns(line) || line.trim().is_empty() {
            return Step::Consumed;
        }
        if TOTALS.iter().any(|what| is_total(line, what)) {
            return match is_total(line, "disks") {
                true => Step::skipped(
                    "vmstat -D counts all disks together since boot, both volumes and their \
                     members; `vmstat -d 5 3` shows each disk",
                ),
                false => Step::Consumed,
            };
        }
        if let Some((counters, now)) = row(line) {
            self.0.take(counters, now, sink);
            return Step::Consumed;
        }
        let numbers =
            line.split_whitespace().skip(1).filter(|word| integer(word).is_some()).count();
        Step::skipped_if(numbers > 4, "not the ten values of a row")
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.0.finish(sink);
    }
}
