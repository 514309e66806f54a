//! The tables of a fleet: one capture, or an interval of a store, as rows that any engine reads.
//! `docs/FLEET.md` describes them for users, as [`SCHEMA`] defines them.
//!
//! Rows are gathered in runs of a bounded length, sorted and written as whole row groups, so that
//! memory does not depend on how long the input is. The caller, which opens files, chooses the file
//! for a day's rows.

mod cells;
mod events;
mod files;
mod schema;
mod statements;

use std::io;

use iowhy_model::{
    DeviceId, Distribution, Event, Fact, Finding, Interval, Layer, Recording, Sink, Source, Tally,
    Time, key,
};

use cells::Cells;
use events::Events;
use files::Files;
pub use files::{About, OpenTable};
pub use schema::{SCHEMA, TABLE_KEY, Table, TableColumn, VERSION, VERSION_KEY};
pub use statements::{Statement, StatementKind};

use crate::clock::Clock;
pub use crate::parquet::Kind;

/// Records kept back until the input shows when its clock began.
const EVENTS_KEPT_BACK: usize = 1 << 17;
const HISTOGRAMS_KEPT_BACK: usize = 1 << 13;
/// Records that distinguish an input from another one that began in the same second.
const MARKED: u32 = 16;
/// What has a date and does not reach back before it has no time zone of its own either.
const DAY_NS: i64 = 86_400_000_000_000;
/// Longer averages are of no hour; clocks of samples an hour apart differ by seconds.
const HOUR_NS: i64 = 3_660_000_000_000;

/// The rows of an input.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions {
    /// Cells of a minute at least.
    pub minutes: bool,
    /// When the first record was, ns since 1970, where the input does not say the date.
    pub began_ns: Option<i64>,
    /// Whether all is kept for a verdict, too.
    pub judged: bool,
    /// Whether cells are written.
    pub cells: bool,
    /// Whether single I/Os are written.
    pub events: bool,
    /// Whether averages over intervals become cells of one bucket, as [`cells`] says.
    pub averages: bool,
}

/// What could not become rows, in I/Os.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unwritten {
    /// Not timed at a block device.
    pub other_layer: u64,
    /// Without a time of completion, or histograms without a time.
    pub untimed: u64,
    /// The input has no date.
    pub undated: u64,
    /// Before 1970, after 9999, or beyond this many days in one input.
    pub out_of_range: u64,
    /// Averages over more than an hour: nothing shows in which hour they were.
    pub too_long: u64,
}

/// Gathers rows; what is known of devices and sources, and facts, stays in a recording.
pub struct TableSink<'a> {
    inner: Tally,
    options: TableOptions,
    listing: usize,
    clocks: Vec<ListingClock>,
    kept_back: Vec<(usize, iowhy_model::Sampling, Record)>,
    events: Events,
    cells: Cells,
    files: Files<'a>,
    marked: u32,
    unwritten: Unwritten,
    error: Option<io::Error>,
}

/// The clock of a listing, as far as it is known.
#[derive(Clone, Copy, Default)]
struct ListingClock {
    /// Nanoseconds since 1970 at its zero.
    zero: Option<i64>,
    /// The first time in it.
    first: Option<i64>,
}

enum Record {
    Event(Event),
    Histogram(Box<Distribution>),
    Average(Box<Interval>),
}

impl Record {
    /// I/Os of it.
    fn ios(&self) -> u64 {
        match self {
            Record::Event(_) => 1,
            Record::Histogram(one) => one.histogram.count(),
            Record::Average(one) => cells::ios_of(one),
        }
    }
}

/// The result.
#[derive(Debug)]
pub struct TablesWritten {
    /// Rows of each table.
    pub rows: Vec<(Table, u64)>,
    /// I/Os in the cells.
    pub ios: u64,
    /// What was left out.
    pub unwritten: Unwritten,
    /// The first and the last day, as `2026-11-23`.
    pub days: Option<(String, String)>,
}

impl<'a> TableSink<'a> {
    /// Rows go to the files that `open` opens.
    pub fn new(options: TableOptions, open: OpenTable<'a>) -> TableSink<'a> {
        TableSink {
            inner: if options.judged { Tally::for_a_verdict() } else { Tally::default() },
            options,
            listing: 0,
            clocks: Vec::new(),
            kept_back: Vec::new(),
            events: Events::default(),
            cells: Cells::new(options.minutes),
            files: Files::new(open),
            marked: 0,
            unwritten: Unwritten::default(),
            error: None,
        }
    }

    /// All records are there: writes the remaining rows, and returns the records left to judge and
    /// report.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn settle(mut self) -> io::Result<(Recording, Statements<'a>)> {
        self.draw_clocks();
        self.drain();
        self.flush_cells(true);
        self.flush_events();
        if let Some(error) = self.error {
            return Err(error);
        }
        let recording = self.inner.recording();
        let mut files = self.files;
        if files.about.first_ns.is_none() {
            files.about.first_ns = began(&recording).or(self.options.began_ns);
        }
        for listing in &recording.listings {
            files.about.add_host(&listing.source);
        }
        let (ios, unwritten) = (self.cells.ios(), self.unwritten);
        Ok((recording, Statements { files, ios, unwritten, kept: Vec::new() }))
    }

    /// The position of a time of the open listing, if known.
    fn zero(&self, listing: usize) -> Option<i64> {
        self.clocks.get(listing).and_then(|clock| clock.zero)
    }

    fn seen(&mut self, at: Option<Time>) {
        if let (Some(clock), Some(at)) = (self.clocks.get_mut(self.listing), at) {
            clock.first = Some(clock.first.map_or(at.ns(), |first| first.min(at.ns())));
        }
    }

    /// A sum over its first records distinguishes this input from others.
    fn mark(&mut self, device: DeviceId, numbers: [i64; 3]) {
        if self.marked < MARKED {
            self.marked += 1;
            let name = &self.inner.known().device_of(device).name;
            let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
            self.files.about.mark(name.bytes().chain(bytes));
        }
    }

    fn take(&mut self, listing: usize, sampling: iowhy_model::Sampling, record: Record) {
        let Some(zero) = self.zero(listing) else {
            self.kept_back.push((listing, sampling, record));
            let events = matches!(self.kept_back.last(), Some((_, _, Record::Event(_))));
            let most = if events { EVENTS_KEPT_BACK } else { HISTOGRAMS_KEPT_BACK };
            if self.kept_back.len() >= most {
                self.draw_clocks();
                self.drain();
            }
            return;
        };
        match record {
            Record::Event(event) => self.place_event(zero, sampling, event),
            Record::Histogram(one) => self.place_histogram(zero, sampling, &one),
            Record::Average(one) => self.place_average(zero, &one),
        }
    }

    fn place_event(&mut self, zero: i64, sampling: iowhy_model::Sampling, event: Event) {
        let Some(at) = event.completed else {
            self.unwritten.untimed += 1;
            return;
        };
        let at_ns = at.ns().saturating_add(zero);
        if !self.files.holds(at_ns) {
            self.unwritten.out_of_range += 1;
            return;
        }
        if self.options.cells {
            self.cells.event(&event, at_ns, sampling);
            self.flush_cells(false);
        }
        if self.options.events && self.events.push(at_ns, event) {
            self.flush_events();
        }
    }

    fn place_histogram(&mut self, zero: i64, sampling: iowhy_model::Sampling, one: &Distribution) {
        let count = one.histogram.count();
        if !self.options.cells || count == 0 {
            return;
        }
        // One without a time of its own is of the whole listing.
        let first = self.clocks.get(self.listing).and_then(|clock| clock.first);
        let start = one.start.map(Time::ns).or(first);
        let at_ns = start.unwrap_or(0).saturating_add(zero);
        if !self.files.holds(at_ns) {
            self.unwritten.out_of_range += count;
            return;
        }
        self.cells.histogram(one, at_ns, sampling);
        self.flush_cells(false);
    }

    fn place_average(&mut self, zero: i64, one: &Interval) {
        let (Some(start), Some(length)) = (one.start, one.length.filter(|one| one.ns() > 0)) else {
            self.unwritten.untimed += cells::ios_of(one);
            return;
        };
        if length.ns() > HOUR_NS {
            self.unwritten.too_long += cells::ios_of(one);
            return;
        }
        let at_ns = start.ns().saturating_add(zero);
        if !self.files.holds(at_ns) {
            self.unwritten.out_of_range += cells::ios_of(one);
            return;
        }
        self.cells.average(one, at_ns, length);
        self.flush_cells(false);
    }

    /// Takes over what the listings say of their clocks; without that, they began when the user
    /// says.
    fn draw_clocks(&mut self) {
        let known = Clock::of_each(self.inner.known());
        for (clock, message) in self.clocks.iter_mut().zip(known) {
            let message = || dated(message?);
            let reported = || {
                let began = self.options.began_ns?;
                Some(began.saturating_sub(clock.first.unwrap_or(0)))
            };
            clock.zero = clock.zero.or_else(message).or_else(reported);
        }
    }

    fn drain(&mut self) {
        for (listing, sampling, record) in std::mem::take(&mut self.kept_back) {
            if self.zero(listing).is_some() {
                self.take(listing, sampling, record);
                continue;
            }
            self.unwritten.undated += record.ios();
        }
    }

    fn flush_cells(&mut self, all: bool) {
        if self.error.is_some() || !all && !self.cells.are_full() {
            return;
        }
        self.files.about.add_host(self.inner.source());
        let written = self.cells.flush(all, self.inner.known(), &mut self.files);
        self.error = written.err();
    }

    fn flush_events(&mut self) {
        if self.error.is_some() {
            return;
        }
        let written = self.events.flush(self.inner.known(), &mut self.files);
        self.error = written.err();
    }
}

/// A clock whose zero has a date. One that a tool printed without a zone is taken as UTC.
fn dated(clock: Clock) -> Option<i64> {
    (clock.utc || clock.zero >= DAY_NS).then_some(clock.zero)
}

/// When a recording without single I/Os and histograms began, ns since 1970.
fn began(recording: &Recording) -> Option<i64> {
    let of = |(listing, clock): (&iowhy_model::Listing, Option<Clock>)| {
        let first = listing.intervals.iter().filter_map(|row| row.start).min();
        Some(dated(clock?)?.saturating_add(first.map_or(0, Time::ns)))
    };
    recording.listings.iter().zip(Clock::of_each(recording)).filter_map(of).min()
}

impl Sink for TableSink<'_> {
    iowhy_model::forward!(inner: device set_medium name unread end);

    fn begin(&mut self, source: Source) -> usize {
        self.listing = self.inner.begin(source);
        self.clocks.resize(self.listing + 1, ListingClock::default());
        self.listing
    }

    fn resume(&mut self, listing: usize) {
        self.listing = listing.min(self.clocks.len().saturating_sub(1));
        self.inner.resume(listing);
    }

    fn source(&mut self) -> &mut Source {
        let source = self.inner.source();
        if self.clocks.is_empty() {
            // A reader that emits before `begin`: the recording began a listing for it.
            self.clocks.push(ListingClock::default());
        }
        source
    }

    fn event(&mut self, event: Event) {
        let completed = event.completed.map_or(0, Time::ns);
        self.mark(
            event.device,
            [completed, event.issued.map_or(0, Time::ns), event.bytes.map_or(0, i64::from)],
        );
        self.seen(event.completed);
        let sampling = self.source().sampling;
        if event.layer == Layer::Block {
            self.take(self.listing, sampling, Record::Event(event));
        } else {
            self.unwritten.other_layer += 1;
        }
        match self.options.judged {
            true => self.inner.event(event),
            false => self.source().records += 1,
        }
    }

    fn interval(&mut self, interval: Interval) {
        let start = interval.start.map_or(0, Time::ns);
        self.mark(interval.device, [start, interval.ios_per_s() as i64, 0]);
        self.seen(interval.start);
        let is_average = interval.layer == Layer::Block
            && !interval.since_boot
            && interval.fault().is_none()
            && interval.ios_per_s() > 0.0;
        if self.options.averages && is_average {
            let sampling = self.source().sampling;
            self.take(self.listing, sampling, Record::Average(Box::new(interval.clone())));
        }
        match self.options.judged {
            true => self.inner.interval(interval),
            false => self.source().records += 1,
        }
    }

    fn distribution(&mut self, one: Distribution) {
        let count = one.histogram.count();
        self.mark(one.device, [one.start.map_or(0, Time::ns), count as i64, 0]);
        self.seen(one.start);
        let sampling = self.source().sampling;
        if one.layer == Layer::Block {
            let record = Record::Histogram(Box::new(one.clone()));
            self.take(self.listing, sampling, record);
        } else {
            self.unwritten.other_layer += count;
        }
        match self.options.judged {
            true => self.inner.distribution(one),
            false => self.source().records += 1,
        }
    }

    fn fact(&mut self, fact: Fact) {
        if fact.key == key::CLOCK_OFFSET
            && let Some(zero) = fact.value.duration()
        {
            // The listing may be one that the recording began by itself.
            self.source();
            if let Some(clock) = self.clocks.get_mut(self.listing) {
                clock.zero = clock.zero.or(Some(zero.ns()));
            }
        }
        self.inner.fact(fact);
    }
}

/// The measured rows are written; what is stated follows.
pub struct Statements<'a> {
    files: Files<'a>,
    ios: u64,
    unwritten: Unwritten,
    kept: Vec<Statement>,
}

impl Statements<'_> {
    /// The facts of a recording.
    pub fn facts(&mut self, recording: &Recording) {
        self.kept.extend(statements::of_facts(recording));
    }

    /// Adds its findings.
    pub fn findings(&mut self, recording: &Recording, findings: &[Finding]) {
        let standing = findings.iter().filter(|finding| finding.explained_by.is_none());
        self.kept.extend(standing.flat_map(|one| statements::of_finding(recording, one)));
    }

    /// Anything else.
    pub fn add(&mut self, statement: Statement) {
        self.kept.push(statement);
    }

    /// Whether it is known when any of it was.
    pub fn is_dated(&self) -> bool {
        self.files.about.first_ns.is_some()
    }

    /// Writes the facts, and ends all files.
    ///
    /// # Errors
    /// If the output fails.
    pub fn finish(mut self) -> io::Result<TablesWritten> {
        statements::write(self.kept, &mut self.files)?;
        let days = self.files.days();
        let rows = self.files.finish()?;
        Ok(TablesWritten { rows, ios: self.ios, unwritten: self.unwritten, days })
    }
}

/// Writes what each bucket index means.
///
/// # Errors
/// If the output fails.
pub fn write_buckets(out: &mut dyn io::Write) -> io::Result<()> {
    files::write_buckets(out)
}
