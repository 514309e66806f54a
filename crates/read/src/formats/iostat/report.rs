//! Tables become reports: the rows of one interval, its time, and whether it is the one since boot.

use std::collections::{HashMap, HashSet};

use iowhy_model::{Nanos, Sink, Time, typed};

use crate::WallTime;
use crate::counters::disk_columns::{RowBuilder, are_whole, are_whole_first};
use crate::counters::processor::{Processor, Shares};
use crate::facts::AddFact;
use crate::text::invocation::Invocation;
use crate::text::table::TableRow;

/// Rates that show whether a report counts over an interval: four are whole by chance once in 10^4.
const MIN_RATES: usize = 4;
/// Devices of one report at most: as many as a recording keeps.
const DEVICES: usize = 1 << 17;
const DEVICES_LOST: &str = "rows of one report of iostat beyond its first 131072 devices";

/// Collects the rows of a report and emits them when the next one begins.
#[derive(Default)]
pub(super) struct Reports {
    /// The rows of the current report, in the order of their first table.
    drafts: Vec<(String, RowBuilder)>,
    places: HashMap<String, usize>,
    /// Columns filled by earlier tables of this report, and by the current one.
    columns_before: HashSet<String>,
    columns_now: HashSet<String>,
    /// Devices of the current table.
    named: HashSet<String>,
    /// The processors' shares of the current report, and of the reports that count.
    shares: Option<Shares>,
    processor: Processor,
    run: Run,
    /// The first report of a listing whose banner is missing, until the next one shows whether it
    /// counts since boot.
    held: Option<ReportRows>,
}

/// A report that waits for the next, with the length and start it would have.
struct ReportRows {
    drafts: Vec<(String, RowBuilder)>,
    shares: Option<Shares>,
    length: Option<f64>,
    start: Option<f64>,
}

/// What is known of the run as a whole.
#[derive(Default)]
struct Run {
    interval: Option<f64>,
    banner: bool,
    /// The banner's; old versions print the time of day alone.
    date: Option<String>,
    /// `-y` was given: there is no report since boot.
    omits_first: bool,
    /// Something was cut out before the first table.
    elided: bool,
    /// avg-cpu headers before the first table.
    processors: u64,
    /// A report without disks has been.
    shared: bool,
    reports: u64,
    first: Option<WallTime>,
    before: Option<WallTime>,
    now: Option<WallTime>,
    /// Devices of which it was reported that their size is not throughput over rate.
    denied: HashSet<String>,
}

impl Reports {
    /// The command that was typed.
    pub(super) fn command(&mut self, command: &Invocation) {
        self.run.interval = command.interval;
        self.run.omits_first = command.letters.contains('y');
    }

    /// The banner before the first report of a run.
    pub(super) fn banner(&mut self, date: &str) {
        (self.run.banner, self.run.date) = (true, Some(date.to_string()));
    }

    /// `[...]`: the author left something out.
    pub(super) fn elided(&mut self) {
        self.run.elided |= self.run.reports == 0 && self.drafts.is_empty();
    }

    /// A timestamp begins a report.
    pub(super) fn time(&mut self, moment: WallTime, sink: &mut dyn Sink) {
        self.flush(sink);
        self.run.before = self.run.now;
        self.run.now = Some(moment);
        if self.run.first.is_none() {
            self.run.first = Some(moment);
            moment.on(self.run.date.as_deref()).state(0.0, sink);
        }
    }

    /// The time before a row, which begins a report if it is another than that of the row before.
    pub(super) fn row_time(&mut self, moment: WallTime, sink: &mut dyn Sink) {
        if self.run.now != Some(moment) {
            self.time(moment, sink);
        }
    }

    /// An avg-cpu header begins a report.
    pub(super) fn processor(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
        self.run.processors += 1;
    }

    /// The values below an avg-cpu header.
    pub(super) fn shares(&mut self, shares: Shares) {
        self.shares = Some(shares);
    }

    /// The listing is over.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
        self.release(false, sink);
        self.processor.state(sink);
    }

    /// A table begins; it opens a new report if its columns have been filled already.
    pub(super) fn columns(&mut self, columns: &[String], sink: &mut dyn Sink) {
        self.columns_before.extend(self.columns_now.drain());
        if !self.drafts.is_empty() && columns.iter().any(|name| self.columns_before.contains(name))
        {
            self.flush(sink);
        }
        self.named.clear();
        self.columns_now.extend(columns.iter().cloned());
    }

    /// A row of the current table. A device that comes again begins a new report: the user kept
    /// one header and many rows.
    pub(super) fn row(&mut self, row: &TableRow, columns: &[String], sink: &mut dyn Sink) {
        if self.drafts.len() >= DEVICES && !self.places.contains_key(&row.name) {
            return sink.lost(DEVICES_LOST, 1);
        }
        if !self.named.insert(row.name.clone()) {
            self.flush(sink);
            self.named.insert(row.name.clone());
            self.columns_now.extend(columns.iter().cloned());
        }
        let place = *self.places.entry(row.name.clone()).or_insert_with(|| {
            self.drafts.push((row.name.clone(), RowBuilder::default()));
            self.drafts.len() - 1
        });
        let Some((_, draft)) = self.drafts.get_mut(place) else { return };
        for (column, word) in columns.iter().zip(&row.cells) {
            draft.take(column, word);
        }
    }

    /// Emits the report out, if there is one.
    pub(super) fn flush(&mut self, sink: &mut dyn Sink) {
        self.columns_before.clear();
        self.columns_now.clear();
        self.named.clear();
        self.places.clear();
        let shares = self.shares.take();
        if self.drafts.is_empty() {
            // `iostat -c` lists no disks.
            if let Some(shares) = shares {
                let first = std::mem::replace(&mut self.run.shared, true);
                if first || self.run.omits_first || !self.run.banner {
                    self.processor.take(&shares);
                }
            }
            return;
        }
        let rates: Vec<f64> =
            self.drafts.iter().flat_map(|(_, draft)| draft.request_rates()).collect();
        let first = self.run.reports == 0;
        let whole = if first { are_whole_first(&rates) } else { are_whole(&rates) };
        let since_boot = self.run.is_since_boot() && !whole;
        let length = if since_boot { None } else { self.run.length() };
        let start = length.and_then(|length| self.run.start(length));
        let report = ReportRows { drafts: std::mem::take(&mut self.drafts), shares, length, start };
        self.run.reports += 1;
        let known = self.run.banner || self.run.omits_first || self.run.elided;
        if first && !known && !whole && rates.len() >= MIN_RATES {
            self.held = Some(report);
            return;
        }
        // Whole requests over the interval from the second report on, and no such in the first: the
        // first is the one since boot, and the banner was cut off.
        self.release(whole, sink);
        self.emit(report, since_boot, sink);
    }

    /// Gives out the first report, if it was held.
    fn release(&mut self, since_boot: bool, sink: &mut dyn Sink) {
        if let Some(mut report) = self.held.take() {
            if since_boot {
                (report.length, report.start) = (None, None);
            }
            self.emit(report, since_boot, sink);
        }
    }

    fn emit(&mut self, report: ReportRows, since_boot: bool, sink: &mut dyn Sink) {
        let ReportRows { drafts, shares, length, start } = report;
        if let Some(shares) = shares.filter(|_| !since_boot) {
            self.processor.take(&shares);
        }
        for (name, draft) in drafts {
            let device = sink.device(&name);
            let mut interval = draft.interval(device);
            // What runs from boot is of no log event, and judged nowhere.
            let denied = draft.size_denied().filter(|_| !since_boot);
            if let Some(times) = denied.filter(|_| self.run.denied.insert(name)) {
                let place = "a row of iostat: throughput, rate and size";
                sink.add_fact_at(device, typed::IOSTAT_SIZE_DENIED, times, place);
            }
            interval.since_boot = since_boot;
            interval.length = length.map(Nanos::from_seconds);
            interval.start = start.map(Time::from_seconds);
            sink.interval(interval);
        }
    }
}

impl Run {
    /// The first report after a banner is, unless `-y` was given or its table was left out: then
    /// a second avg-cpu header precedes the first table.
    fn is_since_boot(&self) -> bool {
        let first = self.reports == 0 && self.processors <= 1 && !self.elided;
        self.banner && first && !self.omits_first
    }

    /// Seconds covered: the interval asked for, unless the timestamps contradict it. Timestamps
    /// are whole seconds, so they may be one off.
    fn length(&self) -> Option<f64> {
        let stamped = self.now.zip(self.before).and_then(|(now, before)| now.since(before));
        match (self.interval, stamped) {
            (Some(asked), Some(stamped)) if (asked - stamped).abs() > 1.0 => Some(stamped),
            (Some(asked), _) => Some(asked),
            (None, stamped) => stamped.filter(|seconds| *seconds > 0.0),
        }
    }

    /// Seconds from the first timestamp to the start: a timestamp is printed at the end.
    fn start(&self, length: f64) -> Option<f64> {
        let (now, first) = self.now.zip(self.first)?;
        Some(now.since(first)? - length)
    }
}
