//! PyLatencyMap's records: cumulative counts by powers of two, from any report.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use iowhy_model::{Distribution, Layer, Listing, Recording, Stage};

use crate::Style;
use crate::paint::clean;

/// One record in the original's own words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CumulativeRecord {
    /// Its stamp in microseconds.
    pub at_us: i64,
    /// The same in words.
    pub date: String,
    /// What was measured.
    pub label: String,
    /// `oracle`, `bpf`, `systemtap` or `dtrace`: whether buckets are upper or lower bounds.
    pub source: String,
    /// `millisec`, `microsec` or `nanosec`; empty is `millisec`.
    pub unit: String,
    /// Counts since the source began, by the bucket's power of two.
    pub counts: Vec<(u32, i64)>,
}

/// Units in the order they are tried, ns.
const UNITS: [(&str, u64); 3] = [("microsec", 1_000), ("millisec", 1_000_000), ("nanosec", 1)];
/// Length of the intervals into which single requests are counted, us.
const STRETCH_US: i64 = 1_000_000;

/// How many latencies are at or above a value, by the start and end of their interval, us.
type Stretches = BTreeMap<(i64, i64), BTreeMap<u64, u64>>;

/// The records of a listing over time, all devices and operations that pass the filter together.
/// Empty if it knows no latencies over time.
pub(super) fn records_of(
    recording: &Recording,
    listing: &Listing,
    style: &Style,
) -> Vec<CumulativeRecord> {
    let (stretches, label) = stretches(recording, listing, style);
    let (source, upper) = origin(listing);
    let (unit, unit_ns) = unit(listing);
    let bucket = |low: u64| power(low, unit_ns) + u32::from(upper && low >= unit_ns);
    let lows = stretches.values().flat_map(|counts| counts.keys());
    let mut counts: BTreeMap<u32, i64> = lows.map(|low| (bucket(*low), 0)).collect();
    let record = |at_us: i64, counts: &BTreeMap<u32, i64>| CumulativeRecord {
        at_us,
        date: format!("{:.3} s", at_us as f64 / 1e6),
        label: label.clone(),
        source: source.to_string(),
        unit: unit.to_string(),
        counts: counts.iter().map(|(bucket, count)| (*bucket, *count)).collect(),
    };
    let mut records: Vec<CumulativeRecord> = Vec::new();
    for ((start, end), added) in &stretches {
        // An interval that does not begin where the last one ended is separated by a record.
        if records.last().is_none_or(|last| last.at_us < *start) {
            records.push(record(*start, &counts));
        }
        for (low, n) in added {
            let count = counts.entry(bucket(*low)).or_default();
            *count = count.saturating_add(i64::try_from(*n).unwrap_or(i64::MAX));
        }
        match records.last_mut().filter(|last| last.at_us >= *end) {
            Some(last) => *last = record(last.at_us, &counts),
            None => records.push(record(*end, &counts)),
        }
    }
    records
}

/// Writes the records of a recording that grows: each time those that it had not before.
#[derive(Debug, Default)]
pub struct NewRecords {
    written: usize,
}

impl NewRecords {
    /// Writes what is new.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(
        &mut self,
        recording: &Recording,
        style: &Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let listings = recording.listings.iter();
        let records = listings.flat_map(|listing| records_of(recording, listing, style));
        for record in records.skip(self.written) {
            write_record(&record, out)?;
            self.written += 1;
        }
        out.flush()
    }
}

/// What was counted when, and of what.
fn stretches(recording: &Recording, listing: &Listing, style: &Style) -> (Stretches, String) {
    let filter = &style.filter;
    let timed = |known: &&Distribution| known.start.is_some() && known.length.is_some();
    let known: Vec<&Distribution> = listing
        .distributions
        .iter()
        .filter(timed)
        .filter(|known| filter.distribution(known) == Some(true))
        .collect();
    let events = || listing.events.iter().filter(|event| filter.event(event));
    let longest = known.iter().map(|known| known.stage);
    let longest = longest.chain(events().filter_map(|event| Some(event.longest()?.0))).max();
    let stage = style.stage.or(longest).unwrap_or(Stage::Total);
    let mut all = Stretches::new();
    let mut devices = BTreeSet::new();
    for known in known.into_iter().filter(|known| known.stage == stage) {
        let (Some(start), Some(length)) = (known.start, known.length) else { continue };
        let counts = all.entry((start.ns() / 1000, (start + length).ns() / 1000)).or_default();
        known.histogram.filled().for_each(|(low, _, n)| *counts.entry(low).or_default() += n);
        devices.insert(known.device);
    }
    for event in events() {
        let latency = event.latency(stage).or(event.longest().map(|(_, latency)| latency));
        let (Some(latency), Some(at)) = (latency, event.completed) else { continue };
        let start = (at.ns() / 1000).div_euclid(STRETCH_US) * STRETCH_US;
        let counts = all.entry((start, start + STRETCH_US)).or_default();
        *counts.entry(latency.ns().unsigned_abs()).or_default() += 1;
        devices.insert(event.device);
    }
    let mut labels: BTreeSet<&str> = BTreeSet::new();
    let counted = listing.histograms().filter(|known| known.stage == stage);
    labels.extend(counted.filter_map(|known| known.label).map(|label| recording.text(label)));
    if !labels.is_empty() {
        let label = labels.into_iter().collect::<Vec<_>>().join(" ");
        return (all, clean(&label).replace(',', " "));
    }
    let names = devices.iter().filter_map(|id| recording.devices().get(id.index()));
    let names: Vec<&str> = names.map(|device| device.name.as_str()).collect();
    let label = format!("{} {}", listing.source.format, names.join(" "));
    (all, clean(label.trim()).replace(',', " "))
}

/// Writes a record as the original reads it.
///
/// # Errors
/// If the writer fails.
pub(super) fn write_record(record: &CumulativeRecord, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<begin record>")?;
    writeln!(out, "timestamp,microsec,{},{}", record.at_us, record.date)?;
    writeln!(out, "latencyunit,{}", record.unit)?;
    if !record.label.is_empty() {
        writeln!(out, "label,{}", record.label)?;
    }
    writeln!(out, "datasource,{}", record.source)?;
    for (bucket, count) in &record.counts {
        writeln!(out, "{},{count}", 1u128.checked_shl(*bucket).unwrap_or(1 << 127))?;
    }
    writeln!(out, "<end record>")
}

/// The word for who counted, and whether a bucket is then named by its upper bound.
fn origin(listing: &Listing) -> (&'static str, bool) {
    let layers = listing.histograms().map(|known| known.layer);
    match layers.chain(listing.events.iter().map(|event| event.layer)).next() {
        Some(Layer::Application) => ("oracle", true),
        Some(Layer::Syscall) => ("dtrace", false),
        _ => ("bpf", false),
    }
}

/// The unit in which all buckets begin at powers of two; microseconds if there is none.
fn unit(listing: &Listing) -> (&'static str, u64) {
    let edges = || listing.histograms().flat_map(|known| known.histogram.edges().as_slice());
    let fits = |ns: u64| {
        let mut lows = edges().filter(|edge| **edge > 0 && **edge < u64::MAX);
        lows.all(|low| low.is_multiple_of(ns) && (low / ns).is_power_of_two())
    };
    UNITS.into_iter().find(|(_, ns)| fits(*ns)).unwrap_or(UNITS[0])
}

/// The power of two at or below a latency; that of one unit for all that is less.
fn power(low: u64, unit_ns: u64) -> u32 {
    (low / unit_ns).checked_ilog2().unwrap_or(0)
}
