//! bcc's biotop: block I/O of each process and disk, with its mean latency.
//!
//! ## Reads
//! The rows `PID COMM D MAJ MIN DISK I/O Kbytes AVGms`, screen after screen. The I/O of all
//! processes on a disk in one screen becomes one interval, with the mean latency of reads and of
//! writes; the processes with the most bytes become facts (`process.reads`, `process.writes`).
//!
//! ## How to capture
//! `biotop -C 5 3` of bcc and libbpf-tools.
//!
//! ## Versions
//! bcc since 2016; newer screens say `PID` of the process that queued the request.
//!
//! ## Caveats
//! Only the first twenty rows are listed unless `-r` was given: on a busy machine the sums are
//! incomplete. The latency runs from the start of the request to its end, queue included. Without
//! the line `Output every 5 secs` a screen is assumed to cover one second, biotop's default.
//!
//! ## Not in this output
//! The latency distribution, queue and device time separately.

use std::collections::BTreeMap;

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Rates, Sink, Time};

use crate::counters::processes::Processes;
use crate::{Body, Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "biotop",
    summary: "biotop: block I/O of processes and disks, mean latency (bcc)",
    manual: iowhy_model::manual!("biotop.rs"),
    level: Level::A,
    body: Body::Custom {
        needles: &["AVGms", "Tracing... Output every ", "loadavg:"],
        sniff,
        reader: || Box::new(Biotop::default()),
    },
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
            return Step::Skipped("the columns do not match the heading".to_string());
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
