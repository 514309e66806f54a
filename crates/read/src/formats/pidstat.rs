//! pidstat -d: reads, writes and I/O delay of each process.
//!
//! ## Reads
//! The table `UID  PID  kB_rd/s  kB_wr/s  kB_ccwr/s  iodelay  Command`, with a preceding time, with
//! `-h` or among the columns of other reports. The processes that moved most become facts
//! (`process.reads`, `process.writes`), as means over the reports; so does the longest delay.
//!
//! ## How to capture
//! `pidstat -d 5 3`, `pidstat -dl 1`.
//!
//! ## Versions
//! sysstat 7 and later; `iodelay` since 11.5. Columns are found by the heading.
//!
//! ## Caveats
//! Writes go to the page cache first: `kB_wr/s` is dirtied data, which the flusher writes later.
//! `kB_ccwr/s` was thrown away before it was written. `iodelay` counts clock ticks (10 ms) spent
//! waiting for block I/O. -1.00 means that the value is not available, which needs root. `Average:`
//! rows repeat the others, and are read only if there are no others.
//!
//! ## Not in this output
//! The disk, the number of requests and their latency.

use iowhy_model::typed::OfProcess;
use iowhy_model::{Level, Nanos, Sink, typed};

use crate::counters::processes::Processes;
use crate::facts::AddFact;
use crate::text::columns::Heading;
use crate::{Body, Format, Reader, Step, WallTime, bytes, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "pidstat",
    summary: "pidstat -d: reads, writes and I/O delay of processes",
    manual: iowhy_model::manual!("pidstat.rs"),
    level: Level::E,
    body: Body::Custom {
        needles: &["kB_rd/s"],
        sniff: |lines| lines.first().is_some_and(|line| heading(line).is_some()).into(),
        reader: || Box::new(Pidstat::default()),
    },
};

/// Words in front that are no column: a time, AM or PM, a hash.
fn heading(line: &str) -> Option<Heading> {
    if !line.contains("kB_rd/s") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let from = words.iter().position(|word| matches!(*word, "UID" | "USER" | "PID" | "TGID"))?;
    let (front, columns) = words.split_at_checked(from)?;
    let stamped = match front {
        [] | ["#"] | ["#", "Time"] => true,
        [word] if word.ends_with(':') => true,
        front => WallTime::read(&front.join(" ")).is_some(),
    };
    let known = columns.contains(&"kB_rd/s")
        && columns.contains(&"kB_wr/s")
        && columns.last() == Some(&"Command")
        && stamped;
    known.then(|| Heading::from_words(columns))
}

/// Bytes per second: KiB, or with the unit that `--human` prints (`17.5k`, `140.9B`).
fn rate(word: &str) -> Option<f64> {
    match word.ends_with(|c: char| c.is_ascii_alphabetic()) {
        true => bytes(word),
        false => decimal(word).map(|kib| kib * 1024.0),
    }
}

#[derive(Default)]
struct Pidstat {
    heading: Heading,
    processes: Processes,
    /// The time of the report being read.
    stamp: String,
    /// The longest delay, ticks, and whose it was.
    delay: Option<(f64, String)>,
}

impl Reader for Pidstat {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        if let Some(heading) = heading(line) {
            self.heading = heading;
            return Step::Took;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first() else { return Step::Took };
        // A table of something else (`-u`, `-r`) begins.
        if words.contains(&"PID") && words.last() == Some(&"Command") {
            self.heading = Heading::default();
            return Step::Took;
        }
        if first.ends_with(':') && !first.starts_with(|c: char| c.is_ascii_digit()) {
            // The means of all reports say nothing new, unless they are all that was pasted.
            if self.stamp.is_empty() {
                self.stamp = (*first).to_string();
                self.processes.report();
            }
            return match words.get(1..) {
                Some(values) if self.stamp == *first && self.heading.width() > 0 => {
                    self.whole_row(values)
                }
                _ => Step::Took,
            };
        }
        if self.heading.width() == 0 {
            return Step::Passed;
        }
        let half = words.get(1).is_some_and(|word| matches!(*word, "AM" | "PM"));
        let stamp = 1 + usize::from(half);
        let moment = words.get(..stamp).map(|words| words.join(" ")).unwrap_or_default();
        if WallTime::read(&moment).is_none() {
            return Step::Passed;
        }
        let values = words.get(stamp..).unwrap_or_default();
        if moment != self.stamp {
            self.processes.report();
            self.stamp = moment;
        }
        self.whole_row(values)
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.processes.state(sink);
        if let Some((ticks, who)) = self.delay.take() {
            let value = Nanos::from_ms(ticks * 10.0);
            sink.add_fact(None, typed::PROCESS_IO_DELAY, OfProcess { value, who });
        }
    }
}

impl Pidstat {
    fn whole_row(&mut self, values: &[&str]) -> Step {
        if values.len() < self.heading.width() {
            return Step::Skipped("the values do not match the heading".to_string());
        }
        self.row(values)
    }

    fn row(&mut self, values: &[&str]) -> Step {
        let of = |name: &str| self.heading.number(name, values).filter(|value| *value >= 0.0);
        // A thread has `-` for its process.
        let pid = ["PID", "TGID"].iter().find_map(|name| self.heading.word(name, values));
        let Some(pid) = pid.filter(|pid| integer(pid).is_some() || *pid == "-") else {
            return Step::Skipped("the row has no process".to_string());
        };
        if self.heading.word("kB_rd/s", values).is_none_or(|word| rate(word).is_none()) {
            return Step::Skipped("the values do not match the heading".to_string());
        }
        let command = values.get(self.heading.width() - 1..).unwrap_or_default().join(" ");
        let who = format!("{command} ({pid})");
        // Who may not read a process's counts is told -1.
        let known = |value: &f64| *value >= 0.0;
        let bytes = |name: &str| self.heading.word(name, values).and_then(rate).filter(known);
        if let Some(ticks) = of("iodelay").filter(|ticks| *ticks > 0.0)
            && self.delay.as_ref().is_none_or(|(most, _)| ticks > *most)
        {
            self.delay = Some((ticks, who.clone()));
        }
        let (read, written) = (bytes("kB_rd/s"), bytes("kB_wr/s"));
        self.processes.add(&who, read, written);
        Step::Took
    }
}
