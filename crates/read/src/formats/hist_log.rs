//! hist-log: SystemTap's `@hist_log`, bare or under the headings of the block I/O scripts.
//!
//! ## Reads
//! `value |-------- count` and rows `1024 |@@@ 7`. Of the scripts around it: the heading with
//! measurement time and I/O count, the filters at the top (size, operation, major and minor), and
//! the summed latency of the read script.
//!
//! ## How to capture
//! SystemTap scripts such as `blockio_rq_issue_filter_latencyhistogram.stp` and
//! `read_latencyhistogram.stp` of LucaCanali/Linux_tracing_scripts, on kernels up to 3.10.
//!
//! ## Versions
//! The table is the same in SystemTap 1.8 and 2.8. The scripts' headings are those of 2015 and
//! 2017; a heading that lost its first letter in copying is still one.
//!
//! ## Caveats
//! A row B counts latencies from B up to, not including, 2B; row 0 counts only 0. Rows below 0 come
//! from a clock that jumped, and are counted as lost. One `@` represents several I/Os, and the bars
//! may contain comments, so the count is the last number of a row. `~` leaves out empty rows.
//! Filters by major and minor name the disk: 65 and 128 is `sdy`, so that it matches the same disk
//! in other listings. If the printed I/O count is not the sum of the rows, there is a note. The
//! read scripts time the system call, including what the page cache served. `@hist_linear` prints
//! the same heading; its rows are not powers of two, and such a table is skipped.
//!
//! ## Not in this output
//! The subject of a bare table: no disk is judged by it, and one headed as sizes, functions or the
//! like is not read. The unit of a bare table: microseconds, as all these scripts use, with a note.
//! The moment of a measurement. I/Os the script dropped beyond its 100 000 in flight. Time in the
//! queue: block latency runs from issue to completion.

use iowhy_model::DeviceId;

use crate::histogram::powers::PowerTable;
use crate::histogram::subject::Subject;
use crate::program::*;
use crate::text::words::is_for_people;

pub(super) const FORMAT: Format = Format::by_line::<HistLog>(
    "SystemTap latency histograms (@hist_log)",
    Level::B,
    &[
        "lock I/O latency histograms from kernel trace points",
        ", measurement time: ",
        "Latency histogram of ",
        "value |",
    ],
    |line| is_for_people(line) && !matches!(Part::of(line), None | Some(Part::Aside)),
);

const US: u64 = 1_000;

/// What a line of a script is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Part<'a> {
    /// The first line of a script.
    Banner,
    /// `Block I/O latency histogram, measurement time: 10 seconds, I/O count: 199`.
    Heading { seconds: Option<u64>, count: Option<u64> },
    /// `Latency histogram of read calls in the interval`: the system call.
    Calls(&'a str),
    /// `value |------ count`.
    Table,
    /// Any other line that may stand between these.
    Aside,
}

impl<'a> Part<'a> {
    fn of(line: &'a str) -> Option<Part<'a>> {
        let text = line.trim();
        if text.ends_with("lock I/O latency histograms from kernel trace points") {
            return Some(Part::Banner);
        }
        if let Some((what, after)) = text.split_once(", measurement time: ") {
            return what.ends_with("latency histogram").then(|| Part::Heading {
                seconds: after.split(' ').next().and_then(integer),
                count: after.split_once("I/O count: ").and_then(|(_, count)| integer(count)),
            });
        }
        if let Some(calls) = text.strip_prefix("Latency histogram of ") {
            return calls.strip_suffix(" calls in the interval").map(Part::Calls);
        }
        if let Some(rest) = text.strip_prefix("value |") {
            let dashes = rest.strip_suffix("count")?.trim();
            return (dashes.len() >= 10 && dashes.bytes().all(|b| b == b'-'))
                .then_some(Part::Table);
        }
        let aside = matches!(text, "Filters:" | "~")
            || text.starts_with("Value = latency bucket (")
            || text.starts_with("IO_")
            || text.starts_with("Summed latency in the interval (microseconds): ");
        aside.then_some(Part::Aside)
    }
}

/// The filters a script was given.
#[derive(Clone, Default, Debug)]
struct Filters {
    bytes: Option<u32>,
    op: Option<Op>,
    major: Option<u32>,
    minor: Option<u32>,
}

#[derive(Default)]
struct HistLog {
    filters: Filters,
    seconds: Option<u64>,
    /// The I/O count the heading promised.
    count: Option<u64>,
    /// The system call measured, if it is not a block I/O.
    calls: Option<String>,
    unit: Option<u64>,
    /// What the lines above the table say of it.
    subject: Subject,
    table: PowerTable,
    sum_us: Option<u64>,
}

impl Reader for HistLog {
    fn line_above(&mut self, line: &str) {
        self.subject.note_above(line);
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        match Part::of(line) {
            Some(Part::Banner) => {
                self.flush(sink);
                *self = HistLog { subject: Subject::Disks, ..HistLog::default() };
            }
            Some(Part::Heading { seconds, count }) => {
                self.flush(sink);
                (self.seconds, self.count, self.calls) = (seconds, count, None);
                self.subject = Subject::Disks;
            }
            Some(Part::Calls(calls)) => {
                self.flush(sink);
                self.calls = Some(calls.to_string());
                self.unit = Some(US);
            }
            Some(Part::Table) => self.flush(sink),
            Some(Part::Aside) => self.aside(line.trim()),
            None => {
                let Some(step) = self.table.line(line) else {
                    // Text between two tables may be the heading of the second.
                    self.line_above(line);
                    return Step::NotMine;
                };
                if let (Some(reason), None) = (self.subject.refusal(), &self.calls) {
                    self.table = PowerTable::default();
                    return Step::Malformed(reason);
                }
                return step;
            }
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
    }
}

impl HistLog {
    fn aside(&mut self, text: &str) {
        if let Some(unit) = text.strip_prefix("Value = latency bucket (") {
            self.unit = match unit.split(')').next() {
                Some("nanoseconds") => Some(1),
                Some("milliseconds") => Some(1_000_000),
                _ => Some(US),
            };
        }
        if let Some(sum) = text.strip_prefix("Summed latency in the interval (microseconds): ") {
            self.sum_us = integer(sum.trim());
        }
        if text == "Filters:" || text.starts_with("IO_") {
            self.subject = Subject::Disks;
        }
        let Some((name, value)) = text.split_once(" = ") else { return };
        // -1 switches a filter off.
        let value = value.split(' ').next().and_then(integer);
        let value = value.and_then(|value| u32::try_from(value).ok());
        match name {
            "IO_size" => self.filters.bytes = value,
            "IO_operation" => {
                self.filters.op = match value {
                    Some(0) => Some(Op::Read),
                    Some(1) => Some(Op::Write),
                    _ => None,
                }
            }
            "IO_devmaj" => self.filters.major = value,
            "IO_devmin" => self.filters.minor = value,
            _ => {}
        }
    }

    fn flush(&mut self, sink: &mut dyn Sink) {
        if self.table.is_empty() {
            return;
        }
        let (count, sum_us) = (self.count.take(), self.sum_us.take());
        if self.calls.is_none() {
            self.subject.state(sink);
        }
        let unit = *self.unit.get_or_insert_with(|| {
            sink.note(note("no heading names the unit: microseconds are assumed"));
            US
        });
        let lost_before = sink.source().lost();
        let Some(mut histogram) = self.table.take(unit, sink) else { return };
        let lost = sink.source().lost().saturating_sub(lost_before);
        let read = histogram.count().saturating_add(lost);
        if let Some(count) = count.filter(|count| *count != read) {
            sink.note(note(format!("the heading has {count} I/Os, the rows {read}")));
        }
        histogram.sum_ns = sum_us.map(|us| us as f64 * US as f64);
        let source = sink.source();
        source.sees_queue = self.calls.is_some();
        source.resolution = source.resolution.max(Some(Nanos(unit as i64)));
        let distribution = self.distribution(histogram, sink);
        sink.distribution(distribution);
    }

    fn distribution(&self, histogram: Histogram, sink: &mut dyn Sink) -> Distribution {
        let mut distribution = match &self.calls {
            Some(calls) => {
                let device = sink.device("");
                let mut of = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
                of.op = match calls.as_str() {
                    "read" | "pread" => Some(Op::Read),
                    "write" | "pwrite" => Some(Op::Write),
                    _ => None,
                };
                of.label = Some(sink.name(calls));
                of
            }
            None => {
                let device = self.device(sink);
                let mut of = Distribution::new(device, Layer::Block, Stage::Device, histogram);
                of.op = self.filters.op;
                of.bytes = self.filters.bytes;
                of
            }
        };
        let seconds = self.seconds.and_then(|s| i64::try_from(s).ok()?.checked_mul(1_000_000_000));
        distribution.length = seconds.map(Nanos);
        distribution
    }

    fn device(&self, sink: &mut dyn Sink) -> DeviceId {
        match (self.filters.major, self.filters.minor) {
            (Some(major), Some(minor)) => sink.device(&device_name(major, minor)),
            _ => sink.device(""),
        }
    }
}
