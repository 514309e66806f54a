//! bcc's biotop: block I/O of each process and disk, with its mean latency.
//!
//! ## Reads
//! The rows `PID COMM D MAJ MIN DISK I/O Kbytes AVGms`, screen after screen. What the processes did on
//! a disk in one screen becomes one interval, with the mean latency of reads and of writes; the
//! processes that moved most become facts (`process.reads`, `process.writes`).
//!
//! ## Where it comes from
//! `biotop -C 5 3` of bcc and libbpf-tools.
//!
//! ## Versions
//! bcc since 2016; newer screens say `PID` of the process that queued the request.
//!
//! ## Traps
//! Only the first twenty rows are listed unless `-r` was given: on a busy machine the sums are a part.
//! The latency runs from the start of the request to its end, queue included. Without the line
//! `Output every 5 secs` the length of a screen is taken for one second, biotop's default.
//!
//! ## Cannot know
//! How latencies are distributed, queue and device time apart. Whether whole lines are missing: they
//! bear no numbers.

use std::collections::BTreeMap;

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Rates, Sink, Time};

use crate::counters::processes::Processes;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "biotop",
    summary: "biotop: block I/O of processes and disks, mean latency (bcc)",
    manual: iowhy_model::manual!("biotop.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(Biotop::default()),
};

/// Lines between the banner and the heading.
const LEAD: usize = 5;

fn sniff(lines: &[&str]) -> Sniff {
    if lines.last().is_some_and(|line| is_heading(line)) {
        return Sniff::Yes;
    }
    let leads =
        |line: &&str| seconds(line).is_some() || is_load(line) || matches!(line.trim(), "" | "^C");
    let begins = lines.first().is_some_and(|line| seconds(line).is_some() || is_load(line));
    let more = begins && lines.iter().all(leads) && lines.len() < LEAD;
    if more { Sniff::More } else { Sniff::No }
}

fn is_heading(line: &str) -> bool {
    line.trim_start().starts_with("PID")
        && line
            .split_whitespace()
            .eq(["PID", "COMM", "D", "MAJ", "MIN", "DISK", "I/O", "Kbytes", "AVGms"])
}

/// `Tracing... Output every 5 secs. Hit Ctrl-C to end`.
fn seconds(line: &str) -> Option<f64> {
    let rest = line.trim().strip_prefix("Tracing... Output every ")?;
    decimal(rest.split_whitespace().next()?)
}

/// `08:04:11 loadavg: 1.48 0.87 0.45 1/287 14547`.
fn is_load(line: &str) -> bool {
    line.contains(':') && line.split_whitespace().nth(1) == Some("loadavg:")
}

#[derive(Clone, Copy, Default)]
struct Work {
    ios: f64,
    bytes: f64,
    waited_ms: f64,
}

#[derive(Default)]
struct Biotop {
    seconds: Option<f64>,
    screens: u64,
    /// By disk: reads and writes of the screen.
    disks: BTreeMap<String, [Work; 2]>,
    processes: Processes,
}

impl Reader for Biotop {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(seconds) = seconds(line) {
            self.seconds = Some(seconds).filter(|seconds| *seconds > 0.0);
        } else if is_heading(line) {
            self.flush(sink);
            self.processes.report();
        } else if !(is_load(line) || matches!(line.trim(), "" | "^C" | "Detaching...")) {
            return self.row(line);
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
        self.processes.state(sink);
    }
}

impl Biotop {
    fn row(&mut self, line: &str) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        // From the right: a program's name may hold blanks.
        let [pid, comm @ .., way, major, minor, disk, ios, size, wait] = &words[..] else {
            let begun = words.len() > 4 && words.first().is_some_and(|pid| integer(pid).is_some());
            return match begun {
                true => Step::Skipped("the row ends before its heading does".to_string()),
                false => Step::Passed,
            };
        };
        if integer(pid).is_none() {
            return Step::Passed;
        }
        let numbers = (decimal(ios), decimal(size), decimal(wait));
        let way = match *way {
            "R" => Some(0),
            "W" => Some(1),
            _ => None,
        };
        let sound = integer(major).is_some() && integer(minor).is_some();
        let ((Some(ios), Some(kib), Some(ms)), Some(way), true) = (numbers, way, sound) else {
            return Step::Skipped("the columns do not fit the heading".to_string());
        };
        let Some(work) = self.disks.entry((*disk).to_string()).or_default().get_mut(way) else {
            return Step::Passed;
        };
        work.ios += ios;
        work.bytes += kib * 1024.0;
        work.waited_ms += ios * ms;
        let rate = Some(kib * 1024.0 / self.seconds.unwrap_or(1.0));
        let who = format!("{} ({pid})", comm.join(" "));
        let (read, written) = if way == 0 { (rate, None) } else { (None, rate) };
        self.processes.add(&who, read, written);
        Step::Took
    }

    fn flush(&mut self, sink: &mut dyn Sink) {
        let disks = std::mem::take(&mut self.disks);
        if disks.is_empty() {
            return;
        }
        let seconds = self.seconds.unwrap_or(1.0);
        for (disk, works) in disks {
            let mut interval = Interval::new(sink.device(&disk), Layer::Block);
            interval.start = Some(Time::from_seconds(self.screens as f64 * seconds));
            interval.length = Some(Nanos::from_seconds(seconds));
            let done = [Op::Read, Op::Write].into_iter().zip(works);
            interval.rates = done
                .filter(|(_, work)| work.ios > 0.0)
                .map(|(op, work)| {
                    let rates = Rates {
                        ios_per_s: work.ios / seconds,
                        merges_per_s: None,
                        bytes_per_s: Some(work.bytes / seconds),
                        await_ns: Some(work.waited_ms / work.ios * 1e6),
                    };
                    (op, rates)
                })
                .collect();
            sink.interval(interval);
        }
        self.screens += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn rows_of_a_disk_add_up() {
        let recording = read(
            "Tracing... Output every 5 secs. Hit Ctrl-C to end\n\n\
             08:09:44 loadavg: 0.42 0.44 0.39 2/282 22115\n\n\
             PID    COMM             D MAJ MIN DISK       I/O  Kbytes  AVGms\n\
             22069  my reader        R 202 1   xvda1      300    1200   2.00\n\
             22070  dd               R 202 1   xvda1      100    3920   6.00\n\
             326    jbd2/xvda1-8     W 202 1   xvda1        5     160   4.00\n\
             327    jbd2/xvda1-8     W 202 1   xvda1\n",
        );
        let listing = &recording.listings[0];
        let row = &listing.intervals[0];
        let reads = row.of(Op::Read).unwrap();
        assert_eq!((reads.ios_per_s, reads.await_ns), (80.0, Some(3e6)));
        assert_eq!(reads.bytes_per_s, Some(1024.0 * 1024.0));
        assert_eq!(row.of(Op::Write).unwrap().ios_per_s, 1.0);
        assert_eq!(listing.facts[0].value.to_string(), "784.0 KiB/s dd (22070)");
        assert_eq!(listing.source.skipped, 1);
    }
}
