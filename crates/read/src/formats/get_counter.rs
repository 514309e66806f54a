//! Windows' performance counters as PowerShell prints them: Get-Counter.
//!
//! ## Reads
//! The screen of `Get-Counter`, a path and its value on the next line, and the tables and lists of
//! its samples (`Path`, `InstanceName`, `CookedValue`, with or without a time). The counters of
//! `PhysicalDisk` and `LogicalDisk` become intervals of each disk, `Processor(_Total)\% Processor
//! Time` the CPUs' idle time.
//!
//! ## How to capture
//! `Get-Counter -Counter "\PhysicalDisk(*)\*" -SampleInterval 5 -MaxSamples 12`, and the same with
//! `| select -Expand CounterSamples | ft Timestamp, Path, CookedValue -AutoSize`.
//!
//! ## Versions
//! PowerShell 2 to 7 on Windows. Counters are known by their English names.
//!
//! ## Caveats
//! Those of `typeperf`: means are seconds, 0 without I/O, and have no weight without the number of
//! requests; `_Total` is used only where no disk is listed. A counter that comes again begins the
//! next sample; without times the length of an interval is not known.
//!
//! ## Not in this output
//! The latency distribution, which process sent the requests; queue and device time separately.

use std::collections::BTreeMap;

use crate::counters::processor::{Processor, shares};
use crate::counters::windows_disk::{TOTAL, interval};
use crate::program::*;
use crate::text::wall_time::Moments;

pub(super) const FORMAT: Format = Format::by_line::<GetCounter>(
    "Windows' counters as PowerShell prints them: Get-Counter",
    Level::A,
    &["\\\\"],
    |line| path(line).is_some(),
)
.resumed();

/// A counter of a line: `\\HOST\physicaldisk(0 c:)\disk reads/sec`.
struct CounterPath<'l> {
    host: &'l str,
    /// In lower case, as PowerShell prints it: `physicaldisk`.
    class: String,
    instance: &'l str,
    /// In lower case.
    counter: &'static str,
    /// What follows it in the line.
    rest: &'l str,
}

/// The counters that are known, in lower case.
const COUNTERS: [&str; 15] = [
    "% disk time", "% idle time", "% processor time", "avg. disk queue length",
    "avg. disk sec/read", "avg. disk sec/transfer", "avg. disk sec/write",
    "current disk queue length", "disk bytes/sec", "disk read bytes/sec", "disk reads/sec",
    "disk transfers/sec", "disk write bytes/sec", "disk writes/sec", "split io/sec",
];

fn path(line: &str) -> Option<CounterPath<'_>> {
    let (_, rest) = line.split_once("\\\\")?;
    let (host, rest) = rest.split_once('\\')?;
    let (class, rest) = rest.split_once('(')?;
    let (instance, rest) = rest.split_once(")\\")?;
    let is_name = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    (is_name(host) && is_name(class)).then_some(())?;
    let known = |counter: &&&str| {
        let head = rest.get(..counter.len());
        let after = rest.get(counter.len()..).unwrap_or_default();
        let is_whole = after.is_empty() || after.starts_with([' ', '\t', ':']);
        is_whole && head.is_some_and(|head| head.eq_ignore_ascii_case(counter))
    };
    let counter = *COUNTERS.iter().find(known)?;
    let rest = rest.get(counter.len()..).unwrap_or_default();
    Some(CounterPath { host, class: class.to_ascii_lowercase(), instance, counter, rest })
}

/// The value of a counter, where its line ends with one.
fn value(rest: &str) -> Option<f64> {
    decimal(rest.split_whitespace().last()?)
}

const INVALID: &str = "the counter's value is not a number";

/// Whose counter it is: in lower case its class and name.
struct Counter {
    class: String,
    instance: String,
    name: &'static str,
}

#[derive(Default)]
struct GetCounter {
    /// The counters of a sample by disk.
    sample: BTreeMap<String, BTreeMap<&'static str, f64>>,
    /// The counter whose value is on a later line.
    awaited: Option<Counter>,
    moments: Moments,
    processor: Processor,
}

impl GetCounter {
    /// Takes a value; a counter of a disk that was read already belongs to the next sample.
    fn take(&mut self, of: Counter, value: f64, sink: &mut dyn Sink) {
        match (of.class.as_str(), of.name) {
            ("processor", "% processor time") if is_total(&of.instance) => {
                let idle = (100.0 - value).clamp(0.0, 100.0).to_string();
                self.processor.take(&shares([("%idle", idle.as_str())].into_iter()));
            }
            ("physicaldisk" | "logicaldisk", name) => {
                if self.sample.get(&of.instance).is_some_and(|known| known.contains_key(name)) {
                    self.flush(sink);
                }
                self.sample.entry(of.instance).or_default().insert(name, value);
            }
            _ => {}
        }
    }

    /// Emits the sample.
    fn flush(&mut self, sink: &mut dyn Sink) {
        let sample = std::mem::take(&mut self.sample);
        let is_alone = sample.keys().all(|disk| is_total(disk));
        for (disk, counters) in sample.iter().filter(|(disk, _)| is_alone || !is_total(disk)) {
            let of = |name: &str| {
                let known = counters.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                known.map(|(_, value)| *value).filter(|value| *value >= 0.0)
            };
            if let Some(mut interval) = interval(disk, of, sink) {
                self.moments.date(&mut interval);
                sink.interval(interval);
            }
        }
    }
}

fn is_total(instance: &str) -> bool {
    instance.eq_ignore_ascii_case(TOTAL)
}

impl Reader for GetCounter {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some(found) = path(line) else { return self.other(line, sink) };
        sink.source().is_of_host(found.host);
        let before = line.split("\\\\").next().unwrap_or_default();
        if let Some(moment) = WallTime::read(before).filter(|moment| !self.moments.is_at(*moment)) {
            self.flush(sink);
            self.moments.begin(moment, sink);
        }
        let (class, instance) = (found.class, found.instance.to_string());
        let of = Counter { class, instance, name: found.counter };
        self.awaited = None;
        match value(found.rest) {
            Some(value) if value < 0.0 => return Step::skipped(INVALID),
            Some(value) => self.take(of, value, sink),
            None if !found.rest.trim_start_matches([' ', ':']).is_empty() => {
                return Step::skipped(INVALID);
            }
            None => self.awaited = Some(of),
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
        self.processor.state(sink);
    }
}

impl GetCounter {
    /// A line without a known counter: the value of the last one, other counters, headings.
    fn other(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_value = matches!(words[..], [_] | ["CookedValue", ":", _]);
        if let Some(value) = value(line).filter(|_| is_value) {
            if let Some(of) = self.awaited.take() {
                self.take(of, value, sink);
            }
            return Step::Consumed;
        }
        let is_known = line.contains("\\\\") || is_of_the_screen(&words);
        if is_known { Step::Consumed } else { Step::NotMine }
    }
}

/// Whether these are a heading, the rule below it, or a line of a list (`InstanceName : c:`).
fn is_of_the_screen(words: &[&str]) -> bool {
    const NAMES: [&str; 5] = ["CookedValue", "CounterSamples", "InstanceName", "Path", "Timestamp"];
    let is_rule = |word: &&str| word.bytes().all(|byte| byte == b'-');
    let is_listed = matches!(words, [name, ":", ..] if NAMES.contains(name));
    is_listed || words.iter().all(|word| NAMES.contains(word)) || words.iter().all(is_rule)
}
