//! vmstat -d: the kernel's counters of each disk, and the averages between two looks.
//!
//! ## Reads
//! The table `disk- ---reads--- ---writes---` once or again and again, narrow or wide (`-w`), with times (`-t`) or
//! without. Two looks give the mean wait of reads and writes of each disk, and with the time between them rates.
//!
//! ## Where it comes from
//! `vmstat -d 5 3`, `vmstat -dt 5`, `vmstat -d` once.
//!
//! ## Versions
//! procps 3.3 and procps-ng 4.
//!
//! ## Traps
//! All values count since boot, at every look: a single look says how the disk did since then, and nothing of now.
//! Without `-t` no look has a time; the interval is taken from the command line where that stands above the table, else
//! there are waits and no rates. `sec` is busy time in whole seconds and read over. Sectors are 512 bytes. `vmstat -D`
//! adds up all disks since boot, volumes and what they are made of alike: it is known and says nothing of any disk.
//!
//! ## Cannot know
//! How latencies are distributed, how much of a wait was queue and how much the device, which process asked, and what
//! happened within an interval. Whether whole lines are missing: they bear no numbers.

use iowhy_model::{Level, Nanos, Sink};

use crate::counters::copies::{Clock, Copies};
use crate::counters::diskstats::{Counters, Counts};
use crate::text::invocation::invocation;
use crate::{Format, Reader, Sniff, Step, WallTime, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "vmstat-disk",
    summary: "vmstat -d: counters of each disk",
    manual: iowhy_model::manual!("vmstat_disk.rs"),
    level: Level::A,
    sniff,
    reader: || Box::<VmstatDisk>::default(),
};

fn sniff(lines: &[&str]) -> Sniff {
    match lines {
        [first] if is_groups(first) || is_total(first, "disks") => Sniff::More,
        [first, second, ..] if is_total(first, "disks") => is_total(second, "partitions").into(),
        [first, second, ..] => (is_groups(first) && is_columns(second)).into(),
        _ => Sniff::No,
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
    "disks",
    "partitions",
    "total reads",
    "merged reads",
    "read sectors",
    "milli reading",
    "writes",
    "merged writes",
    "written sectors",
    "milli writing",
    "inprogress IO",
    "milli spent IO",
    "milli weighted IO",
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
    let [r, r_merged, r_sectors, r_ms, w, w_merged, w_sectors, w_ms, in_flight, _busy_s] =
        values[..]
    else {
        return None;
    };
    let counts = |ios, merges, sectors, ms| Counts {
        ios,
        merges: Some(merges),
        sectors: Some(sectors),
        ms: Some(ms),
    };
    let counters = Counters {
        number: None,
        name: name.to_string(),
        read: counts(r, r_merged, r_sectors, r_ms),
        write: counts(w, w_merged, w_sectors, w_ms),
        discard: None,
        flush: None,
        in_flight: Some(in_flight),
        busy_ms: None,
        weighted_ms: None,
    };
    let now = rest.get(10..).filter(|rest| !rest.is_empty()).map(|rest| rest.join(" "));
    Some((counters, now.and_then(|now| WallTime::read(&now)).map(Clock::Wall)))
}

#[derive(Default)]
struct VmstatDisk(Copies);

impl Reader for VmstatDisk {
    fn above(&mut self, line: &str) {
        if let Some(command) = invocation(line, "vmstat") {
            self.0.every = command.interval.map(Nanos::from_seconds);
        }
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if is_groups(line) || is_columns(line) || line.trim().is_empty() {
            return Step::Took;
        }
        if TOTALS.iter().any(|what| is_total(line, what)) {
            return match is_total(line, "disks") {
                true => Step::Skipped(
                    "vmstat -D counts all disks together since boot, volumes and what they are made of alike; \
                     `vmstat -d 5 3` tells each"
                        .to_string(),
                ),
                false => Step::Took,
            };
        }
        if let Some((counters, now)) = row(line) {
            self.0.take(counters, now, sink);
            return Step::Took;
        }
        let numbers =
            line.split_whitespace().skip(1).filter(|word| integer(word).is_some()).count();
        match numbers > 4 {
            true => Step::Skipped("not the ten values of a row".to_string()),
            false => Step::Passed,
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.0.finish(sink);
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::Op;

    use crate::scan::recorded as read;

    #[test]
    fn a_sum_of_all_disks_is_refused_by_name() {
        let text = "           10 disks\n            0 partitions\n      9186439 total reads\n      1285150 milli reading\n";
        let mut heard = iowhy_model::Recording::new();
        crate::scan("x", &mut text.as_bytes(), None, &mut heard).expect("text");
        let said = format!("{heard:?}");
        assert!(said.contains("vmstat -D counts all disks together"), "{said}");
    }

    #[test]
    fn two_looks_give_waits_and_with_the_command_rates() {
        let table = "disk- ------------reads------------ ------------writes----------- -----IO------\n\
             \x20      total merged sectors      ms  total merged sectors      ms    cur    sec\n\
             sda     1000      0   80000    5000    200      0    1600     400      0      6\n\
             sdb        0      0       0       0      0      0       0       0      0      0\n\
             sda     1100      0   88000    7000    250      0    2000    1400      2      8\n\
             sdb        0      0       0       0      0      0       0       0      0      0\n";
        let timed = read(&format!("$ vmstat -d 5 2\n{table}"));
        let [timed] = &timed.listings[0].intervals[..] else { panic!("{timed:?}") };
        let reads = timed.of(Op::Read).unwrap();
        assert_eq!((reads.ios_per_s, reads.await_ns), (20.0, Some(2e7)));
        assert_eq!(timed.of(Op::Write).and_then(|writes| writes.await_ns), Some(2e7));
        // Without a time there is no rate, and what was counted is kept.
        let untimed = read(table);
        assert!(untimed.listings[0].intervals.is_empty(), "{untimed:?}");
        let counted = untimed.listings[0].distributions.iter().map(|known| {
            (known.op, known.histogram.count(), known.histogram.mean_ns(), known.bytes)
        });
        let counted: Vec<_> = counted.collect();
        let mean = Some((2e7, true));
        assert_eq!(
            counted,
            [(Some(Op::Read), 100, mean, Some(40_960)), (Some(Op::Write), 50, mean, Some(4096))]
        );
    }
}
