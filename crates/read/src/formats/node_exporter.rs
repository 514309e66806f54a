//! node_exporter: the counters of the kernel's disks on a /metrics page of Prometheus.
//!
//! ## Reads
//! `node_disk_reads_completed_total{device="sda"} 3.2e+06` and related names. A page is one copy of
//! the counters of `/proc/diskstats`; where a value of a device appears again, or a later time of
//! the same host, the next copy begins. `node_time_seconds` is the time of a copy, as is a time
//! after the values. Two copies with times give rates, waits, queue and busy share of each device,
//! as `iostat -x` would print them. If a file contains pages of several hosts, the label `instance`
//! precedes the device. `node_disk_info` has the model of a disk (`device.model`) and its firmware
//! (`device.firmware`).
//!
//! ## How to capture
//! `curl -s localhost:9100/metrics`, twice, some seconds apart, into one file; support bundles; the
//! response of a Prometheus server in the same text.
//!
//! ## Versions
//! node_exporter 0.16 to 1.9, and the names of 0.15 and before (`node_disk_reads_completed`,
//! `node_disk_io_time_ms`).
//!
//! ## Caveats
//! A single page is since boot: a disk that became slow an hour ago is hidden by the days before.
//! Seconds are printed with up to three decimals and sizes as numbers with an exponent, which may
//! round away what happened between two copies of large counters. Node_exporter excludes RAM disks,
//! loop devices and partitions by default.
//!
//! ## Not in this output
//! The latency distribution, the split into queue and device time, the processes, and events within
//! an interval.

use std::collections::BTreeSet;

use crate::counters::copies::{Clock, Copies};
use crate::counters::diskstats::Counters;
use crate::program::*;
use crate::text::exposition::{MetricLine, announced};

pub(super) const FORMAT: Format = Format::by_line::<NodeExporter>(
    "node_exporter's /metrics: counters of disks, two pages or more",
    Level::A,
    &[FAMILY, BOOT],
    begins,
)
.resumed();

/// How the names of all metrics of disks begin.
const FAMILY: &str = "node_disk_";
/// When the machine was started, s since 1970: it precedes the disks, and gives counters since boot
/// their length.
const BOOT: &str = "node_boot_time";
/// How the names of the others on its page begin.
const OTHERS: [&str; 4] = ["node_", "go_", "process_", "promhttp_"];
/// Bytes of a sector, and milliseconds of a second.
const SECTOR: f64 = 512.0;
const MS: f64 = 1e3;
/// The largest number that is believed to be a count: a float holds whole numbers up to there.
const MOST: f64 = 9.007_199_254_740_992e15;

/// The metrics, without what all begin with (collector/diskstats_common.go of node_exporter), the
/// places of their counters in `/proc/diskstats`, and what a unit of them is there.
const METRICS: &[(&str, usize, f64)] = &[
    ("reads_completed_total", 0, 1.0),
    ("reads_completed", 0, 1.0),
    ("reads_merged_total", 1, 1.0),
    ("reads_merged", 1, 1.0),
    ("read_bytes_total", 2, 1.0 / SECTOR),
    ("sectors_read", 2, 1.0),
    ("read_time_seconds_total", 3, MS),
    ("read_time_ms", 3, 1.0),
    ("writes_completed_total", 4, 1.0),
    ("writes_completed", 4, 1.0),
    ("writes_merged_total", 5, 1.0),
    ("writes_merged", 5, 1.0),
    ("written_bytes_total", 6, 1.0 / SECTOR),
    ("sectors_written", 6, 1.0),
    ("write_time_seconds_total", 7, MS),
    ("write_time_ms", 7, 1.0),
    ("io_now", 8, 1.0),
    ("io_time_seconds_total", 9, MS),
    ("io_time_ms", 9, 1.0),
    ("io_time_weighted_seconds_total", 10, MS),
    ("io_time_weighted", 10, 1.0),
    ("discards_completed_total", 11, 1.0),
    ("discards_merged_total", 12, 1.0),
    ("discarded_sectors_total", 13, 1.0),
    ("discard_time_seconds_total", 14, MS),
    ("flush_requests_total", 15, 1.0),
    ("flush_requests_time_seconds_total", 16, MS),
];
/// Counters of a line of `/proc/diskstats`.
const COUNTERS: usize = 17;

/// A line of a page, with its value, and when it was read, s since 1970.
struct Sample<'a> {
    line: MetricLine<'a>,
    value: f64,
    at: Option<f64>,
}

impl<'a> Sample<'a> {
    fn of(line: &'a str) -> Option<Sample<'a>> {
        let line = MetricLine::of(line)?;
        let value = decimal(line.value)?;
        let mut behind = line.behind.split_whitespace();
        // Milliseconds, or seconds in OpenMetrics.
        let at = match behind.next() {
            Some(at) => Some(decimal(at).filter(|at| *at > 0.0)?),
            None => None,
        };
        let at = at.map(|at| if at > 1e11 { at / MS } else { at });
        behind.next().is_none().then_some(Sample { line, value, at })
    }

    /// The place of what it counts, and how much of that its unit is.
    fn metric(&self) -> Option<(usize, f64)> {
        let metric = self.line.name.strip_prefix(FAMILY)?;
        let found = METRICS.iter().find(|(name, ..)| *name == metric);
        found.map(|(_, place, unit)| (*place, *unit))
    }

    /// Of which device it counts what, in the counter's own unit.
    fn counts(&self) -> Option<(String, usize, u64)> {
        let (place, unit) = self.metric()?;
        let count = (self.value * unit).round();
        let count = (0.0..MOST).contains(&count).then_some(count as u64)?;
        Some((self.device()?, place, count))
    }

    fn device(&self) -> Option<String> {
        let device = self.line.label("device").filter(|device| !device.is_empty())?;
        let host = self.line.label("instance").map_or(String::new(), |host| format!("{host}:"));
        Some(host + device)
    }
}

/// The metric that a comment is about: `# HELP NAME ...`, `# TYPE NAME counter`.
fn commented(line: &str) -> Option<&str> {
    let found = announced(line, "HELP").or_else(|| announced(line, "TYPE"));
    found.map(|(name, _)| name)
}

/// Whether a page of disks, or an excerpt of one, begins at a line.
fn begins(line: &str) -> bool {
    let announces = |name: &str| name.starts_with(FAMILY) || name.starts_with(BOOT);
    if let Some(name) = commented(line) {
        return announces(name);
    }
    line.starts_with(BOOT) || Sample::of(line).is_some_and(|sample| sample.counts().is_some())
}

/// The counters of a device, as far as its lines were read.
#[derive(Default)]
struct Device {
    name: String,
    counters: [Option<u64>; COUNTERS],
}

/// Labels of `node_disk_info`, and what they are.
const INFO: &str = "node_disk_info";
static LABELS: [(&str, typed::Key<String>); 2] =
    [("model", typed::DEVICE_MODEL), ("revision", typed::DEVICE_FIRMWARE)];

#[derive(Default)]
struct NodeExporter {
    copies: Copies,
    /// The copy that is being read, its devices in their own order, and its time.
    current: Vec<Device>,
    at: Option<f64>,
    boot: Option<f64>,
    /// The host of the last value that had a time, and that time.
    timed: Option<(String, f64)>,
    /// What disks are, in the order of their names, and those that did something.
    known: BTreeSet<(String, usize, String)>,
    used: BTreeSet<String>,
}

impl NodeExporter {
    /// The copy is complete.
    fn turn(&mut self, is_last: bool, sink: &mut dyn Sink) {
        let uptime = self.at.zip(self.boot).map(|(at, boot)| at - boot).filter(|up| *up > 0.0);
        let alone = is_last && self.copies.is_empty();
        // A single copy counts since boot, which is a length; two of them are apart by the clock's
        // difference.
        let clock = match uptime.filter(|_| alone) {
            Some(up) => Some(Clock::Uptime(up)),
            None => self.at.and_then(|at| WallTime::read(&format!("{at:.3}"))).map(Clock::Wall),
        };
        if let Some(clock) = clock {
            self.copies.at(clock, sink);
        }
        for device in std::mem::take(&mut self.current) {
            let value = |place: usize| device.counters.get(place).copied().flatten();
            let counters = Counters::of(&device.name, value).filter(Counters::is_used);
            if let Some(counters) = counters {
                self.used.insert(counters.name.clone());
                self.copies.take(counters, None, sink);
            }
        }
        self.at = None;
    }
}

impl Reader for NodeExporter {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(name) = commented(line) {
            // What is announced here may be a histogram for another reader.
            let ours = OTHERS.iter().any(|begin| name.starts_with(begin));
            return if ours { Step::Consumed } else { Step::NotMine };
        }
        if line.trim().is_empty() {
            return Step::Consumed;
        }
        let Some(sample) = Sample::of(line) else {
            return Step::skipped_if(
                line.trim_start().starts_with(FAMILY),
                "its value is not a number, or its time is not one",
            );
        };
        match sample.line.name {
            "node_boot_time_seconds" | "node_boot_time" => self.boot = Some(sample.value),
            "node_time_seconds" | "node_time" => self.at = Some(sample.value),
            _ => {}
        }
        if sample.line.name == INFO {
            let labels = LABELS.iter().enumerate();
            let known = labels.filter_map(|(place, (label, _))| {
                let value = sample.line.label(label).filter(|value| !value.is_empty())?;
                Some((sample.device()?, place, value.to_string()))
            });
            self.known.extend(known);
            return Step::Consumed;
        }
        let Some((name, counter, count)) = sample.counts() else {
            return match sample.metric().is_some() {
                true => Step::skipped("no count of a device"),
                // A page holds hundreds of others.
                false if OTHERS.iter().any(|begin| sample.line.name.starts_with(begin)) => {
                    Step::Consumed
                }
                false => Step::NotMine,
            };
        };
        let known = |device: &Device| device.name == name;
        if self.current.iter().any(|device| known(device) && device.counters[counter].is_some()) {
            self.turn(false, sink);
        }
        if let Some(at) = sample.at {
            let host = sample.line.label("instance").unwrap_or_default().to_string();
            if self.timed.as_ref().is_some_and(|(of, before)| *of == host && *before < at) {
                self.turn(false, sink);
            }
            self.timed = Some((host, at));
        }
        self.at = sample.at.or(self.at);
        let place = self.current.iter().position(known).unwrap_or_else(|| {
            self.current.push(Device { name: name.clone(), ..Device::default() });
            self.current.len() - 1
        });
        self.current[place].counters[counter] = Some(count);
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.turn(true, sink);
        self.copies.finish(sink);
        for (device, place, value) in std::mem::take(&mut self.known) {
            if !self.used.contains(&device) {
                continue;
            }
            let id = sink.device(&device);
            if let Some((_, key)) = LABELS.get(place) {
                sink.add_fact(id, key.clone(), value);
            }
        }
    }
}
