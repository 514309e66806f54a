//! iotop: reads and writes of processes, and totals of the disks.
//!
//! ## Reads
//! The screens of `iotop -b`: the totals (`Total DISK READ`, `Actual DISK WRITE` or `Current DISK
//! READ`) and the rows of processes. The actual totals become facts (`disks.read.mean`,
//! `disks.written.max`), and the processes that moved most (`process.reads`, `process.writes`).
//!
//! ## How to capture
//! `iotop -b -o -n 5 -d 2`, `iotop -botqqq`.
//!
//! ## Versions
//! iotop 0.4 and later, iotop-c, with or without a preceding time (`-t`).
//!
//! ## Caveats
//! `Total` is what programs asked of the kernel, caches included; `Actual` is what went to the disks.
//! `IO>` is the share of its time that a task waited for I/O, `SWAPIN` for swap: neither is a load of
//! the disk. `B/s`, `K/s` and `M/s` are powers of 1024. A thread is listed like a process unless `-P`
//! was given. With `-a` rows are sums since the start: they name no rate, and only the totals are read. With delay accounting off (kernels since 5.14) `IO>` is `?unavailable?`.
//!
//! ## Not in this output
//! The disk, the number of requests and their latency.

use iowhy_model::typed::{OfProcess, Share};
use iowhy_model::{Level, Note, Sink, typed};

use crate::counters::processes::Processes;
use crate::counters::stated::{Column, state_disks};
use crate::facts::AddFact;
use crate::{Body, Format, Reader, Step, bytes, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "iotop",
    summary: "iotop -b: reads and writes of processes, totals of the disks",
    manual: iowhy_model::manual!("iotop.rs"),
    level: Level::E,
    body: Body::Custom {
        needles: &["DISK"],
        sniff: |lines| {
            // With times in front (`-t`) the totals stand before it.
            let title = |words: Vec<&str>| is_title(&words) && !words.contains(&"TIME");
            let of_iotop = |line: &&str| totals(line).is_some() || title(words_of(line));
            lines.first().is_some_and(of_iotop).into()
        },
        reader: || Box::new(Iotop::default()),
    },
};

/// `Actual DISK READ:  0.00 B/s | Actual DISK WRITE:  39.26 K/s`: whether it is what the disks did,
/// and bytes per second read and written.
fn totals(line: &str) -> Option<(bool, f64, f64)> {
    let (read, written) = line.split_once('|')?;
    let (head, read) = read.split_once("DISK READ")?;
    let (_, written) = written.split_once("DISK WRITE")?;
    let kind = head.split_whitespace().next_back()?;
    let actual = match kind {
        "Total" => false,
        "Actual" | "Current" => true,
        _ => return None,
    };
    Some((actual, rate(read)?, rate(written)?))
}

fn words_of(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// `TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND`, whose totals may be cut off.
fn is_title(words: &[&str]) -> bool {
    let disk = words.windows(2).any(|pair| pair == ["DISK", "READ"]);
    let names = words.contains(&"PRIO") && words.contains(&"COMMAND");
    disk && names && words.iter().any(|word| matches!(*word, "TID" | "PID"))
}

/// ` :      11.78 K/s`.
fn rate(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.trim_start_matches([' ', ':']).split_whitespace().collect();
    let [number, unit, ..] = words[..] else { return None };
    per_second(number, unit)
}

fn per_second(number: &str, unit: &str) -> Option<f64> {
    let unit = unit.strip_suffix("/s")?;
    bytes(&format!("{number}{unit}"))
}

#[derive(Default)]
struct Iotop {
    read: Column,
    written: Column,
    processes: Processes,
    /// The largest share of its time that a task waited for I/O, and its name.
    waited: Option<(f64, String)>,
    /// Rows are sums since the start (`-a`).
    sums: bool,
    /// The totals of the screen were printed.
    totalled: bool,
}

impl Reader for Iotop {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        if let Some((actual, read, written)) = totals(line) {
            match actual {
                false => {
                    self.totalled = true;
                    self.processes.report();
                }
                true => {
                    self.read.take(read / 1024.0);
                    self.written.take(written / 1024.0);
                }
            }
            return Step::Took;
        }
        let words = words_of(line);
        if is_title(&words) {
            // A screen whose totals were cut off is a report, too.
            if !std::mem::take(&mut self.totalled) {
                self.processes.report();
            }
            return Step::Took;
        }
        if words.is_empty() {
            return Step::Took;
        }
        self.row(&words)
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.sums {
            let reason =
                "the rows are sums since the start of iotop (-a): there are no rates of processes";
            sink.note(Note { line: 0, text: String::new(), reason: reason.to_string() });
        }
        state_disks(&self.read, &self.written, sink);
        self.processes.state(sink);
        if let Some((percent, who)) = self.waited.take().filter(|(percent, _)| *percent > 0.0) {
            let value = Share::from_percent(percent);
            sink.add_fact(None, typed::PROCESS_IO_WAIT, OfProcess { value, who });
        }
    }
}

impl Iotop {
    /// `312 be/3 root        0.00 B/s   11.78 K/s  0.00 %  0.39 % [jbd2/sda1-8]`, perhaps behind a
    /// time.
    fn row(&mut self, words: &[&str]) -> Step {
        let is_class = |word: &str| {
            word.split_once('/').is_some_and(|(class, level)| {
                matches!(class, "be" | "rt") && integer(level).is_some()
            }) || matches!(word, "idle" | "?dif" | "none")
        };
        let Some(place) = words.iter().take(4).position(|word| is_class(word)) else {
            return Step::Passed;
        };
        let pid = place.checked_sub(1).and_then(|place| words.get(place));
        let Some(pid) = pid.filter(|pid| integer(pid).is_some()) else { return Step::Passed };
        let [read, read_unit, written, written_unit, rest @ ..] =
            words.get(place + 2..).unwrap_or_default()
        else {
            return Step::Skipped("the row ends before its rates".to_string());
        };
        if [read_unit, written_unit]
            .iter()
            .all(|unit| matches!(**unit, "B" | "K" | "M" | "G" | "T"))
        {
            self.sums = true;
            return Step::Took;
        }
        let rates = (per_second(read, read_unit), per_second(written, written_unit));
        let (Some(read), Some(written)) = rates else {
            return Step::Skipped("the rates of the row are not numbers".to_string());
        };
        let command = rest
            .iter()
            .position(|word| !matches!(*word, "%" | "?unavailable?") && decimal(word).is_none());
        let command = command.and_then(|place| rest.get(place..)).unwrap_or_default().join(" ");
        let who = format!("{command} ({pid})");
        let percent = rest.iter().enumerate().filter(|(_, word)| **word == "%").nth(1);
        let percent = percent.and_then(|(place, _)| decimal(rest.get(place.checked_sub(1)?)?));
        if let Some(percent) = percent
            && self.waited.as_ref().is_none_or(|(most, _)| percent > *most)
        {
            self.waited = Some((percent, who.clone()));
        }
        self.processes.add(&who, Some(read), Some(written));
        Step::Took
    }
}
