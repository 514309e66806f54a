//! Records of PyLatencyMap: cumulative histograms in powers of two, one per interval.
//!
//! ## Reads
//! Blocks from `<begin record>` to `<end record>` with the lines `timestamp, microsec, N, TEXT`,
//! `label, TEXT`, `latencyunit, millisec|microsec|nanosec`, `datasource, NAME` and
//! `BUCKET, COUNT`, in any order and case. Each pair of consecutive records becomes one
//! histogram of what was added between them, from the first timestamp to the second.
//!
//! ## Where it comes from
//! PyLatencyMap's SQL, SystemTap, DTrace, bcc and NetApp sources and connectors, and files of
//! them kept for replay.
//!
//! ## Versions
//! 1.0 to 1.3. Version 1.0 and the AWR source give no `datasource`; early files write `musec`
//! for `microsec`. What a single record counts is taken as it stands, since its source began.
//!
//! ## Traps
//! With `datasource, oracle` bucket B holds B/2 up to B (bucket 1 all below 1); with `bpf`,
//! `systemtap` and `dtrace` it holds B up to 2B. Without `datasource` B is taken as an upper
//! bound, because the sources that leave the line out are Oracle's; PyLatencyMap 1.3 itself takes
//! it as a lower bound and is then off by a factor of two. A bucket named twice in a record is
//! added up (several instances of a cluster). A bucket that is missing keeps its last count.
//! Counts that fall mean that the source was restarted: that interval is left out. A clock that
//! counts from midnight and wraps is followed; without timestamps nothing is known of time.
//!
//! ## Cannot know
//! Device and operation, unless the label tells them. The exact mean: buckets are a factor of
//! two wide.

use std::collections::BTreeMap;

use iowhy_model::{
    DeviceId, Distribution, Edges, Histogram, Layer, Level, Name, Nanos, Note, Sink, Stage, Time,
};

use crate::buckets::COUNT_LIMIT;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "pylatencymap",
    summary: "PyLatencyMap records: cumulative latency histograms over time",
    manual: include_str!("pylatencymap.rs"),
    level: Level::B,
    sniff,
    reader: || Box::new(Pylatencymap::default()),
};

const BEGIN: &str = "<begin record>";
const END: &str = "<end record>";
/// Oracle's last bucket of `v$event_histogram`, ms: everything from 2^22 ms on.
const ORACLE_REST: u64 = 4_294_967_295;
/// The bucket before it ends there.
const ORACLE_LAST: u64 = 1 << 22;
/// A day in microseconds: Oracle's sources stamp time since midnight.
const DAY_US: i64 = 86_400_000_000;

fn sniff(lines: &[&str]) -> Sniff {
    let begins = |line: &&str| line.trim().eq_ignore_ascii_case(BEGIN);
    Sniff::from(lines.first().is_some_and(begins))
}

#[derive(Default)]
struct Pylatencymap {
    /// The record being read.
    open: Option<Record>,
    /// Its unit sticks from record to record.
    unit: Unit,
    /// The last record that had counts, these carried on from all before.
    last: Option<Record>,
    records: u64,
    intervals: u64,
    untagged: bool,
}

/// One record as it stands.
#[derive(Clone, Debug, Default)]
struct Record {
    at_us: Option<i64>,
    label: Option<String>,
    source: Option<DataSource>,
    counts: BTreeMap<u64, u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Unit {
    #[default]
    Milli,
    Micro,
    Nano,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum DataSource {
    Oracle,
    Bpf,
    Systemtap,
    Dtrace,
}

impl Reader for Pylatencymap {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        let word = text.to_ascii_lowercase();
        match (word.as_str(), &mut self.open) {
            (BEGIN, None) => self.open = Some(Record::default()),
            (BEGIN, Some(_)) => {
                self.open = Some(Record::default());
                return Step::Skipped("the record before has no end and is left out".to_string());
            }
            (END, Some(_)) => self.close(sink),
            ("", _) => {}
            (_, Some(record)) => return read_item(text, record, &mut self.unit),
            // What SQL*Plus says between two records.
            (word, None) if word.ends_with("rows selected.") => {}
            ("pl/sql procedure successfully completed.", None) => {}
            (_, None) => return Step::Passed,
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.open.take().is_some() {
            note(sink, "the last record has no end and is left out".to_string());
        }
        if self.intervals == 0
            && self.records == 1
            && let Some(record) = self.last.take()
        {
            note(sink, "a single record: its counts run since the source began".to_string());
            self.pour(&record, &record.counts, None, sink);
        }
    }
}

impl Pylatencymap {
    /// Ends a record: what was added since the last one is given out.
    fn close(&mut self, sink: &mut dyn Sink) {
        let Some(mut record) = self.open.take() else { return };
        if record.counts.is_empty() {
            return;
        }
        self.records += 1;
        if record.source.is_none() && !std::mem::replace(&mut self.untagged, true) {
            let reason = "no `datasource` line: buckets are taken as upper bounds, as Oracle's are";
            note(sink, reason.to_string());
        }
        if let Some(last) = self.last.take() {
            if record.falls_below(&last) {
                note(sink, format!("counts fell in record {}: the source restarted", self.records));
            } else {
                for (bucket, count) in &last.counts {
                    record.counts.entry(*bucket).or_insert(*count);
                }
                self.difference(&last, &record, sink);
            }
        }
        self.last = Some(record);
    }

    fn difference(&mut self, last: &Record, record: &Record, sink: &mut dyn Sink) {
        let before = |bucket| last.counts.get(bucket).copied().unwrap_or(0);
        let counts = record.counts.iter();
        let added = counts.map(|(bucket, count)| (*bucket, count.saturating_sub(before(bucket))));
        let added: BTreeMap<u64, u64> = added.collect();
        let span = record.at_us.zip(last.at_us).and_then(|(now, then)| {
            let span = now.checked_sub(then)?;
            let wrapped = span < 0 && (0..DAY_US).contains(&now) && (0..DAY_US).contains(&then);
            Some((then, if wrapped { span + DAY_US } else { span }))
        });
        match span {
            Some((_, span)) if span <= 0 => {
                note(sink, format!("record {} is stamped before the one before", self.records));
            }
            None => note(sink, format!("record {} or the one before has no time", self.records)),
            _ => {}
        }
        self.pour(record, &added, span.filter(|(_, span)| *span > 0), sink);
        self.intervals += 1;
    }

    /// Gives out counts as one histogram, all of one edge table so that they add up.
    fn pour(
        &self,
        record: &Record,
        counts: &BTreeMap<u64, u64>,
        span_us: Option<(i64, i64)>,
        sink: &mut dyn Sink,
    ) {
        let source = record.source.unwrap_or(DataSource::Oracle);
        let Some(edges) = self.unit.edges() else { return };
        let mut rows = vec![0u64; edges.buckets()];
        for (bucket, count) in counts {
            let low = lower_bound(*bucket, source).saturating_mul(self.unit.ns());
            if let Some(row) = rows.get_mut(edges.index(low)) {
                *row += count;
            }
        }
        let Some(histogram) = Histogram::from_counts(edges, rows) else { return };
        let label = record.label.as_deref();
        let (layer, stage) = source.measures(label.unwrap_or_default());
        sink.source().sees_queue = stage == Stage::Total;
        let device: DeviceId = sink.device("");
        let mut distribution = Distribution::new(device, layer, stage, histogram);
        distribution.label = label.map(|text| -> Name { sink.name(text) });
        if let Some((start, length)) = span_us {
            distribution.start = start.checked_mul(1000).map(Time::from_ns);
            distribution.length = length.checked_mul(1000).map(Nanos);
        }
        sink.distribution(distribution);
    }
}

impl Record {
    fn falls_below(&self, last: &Record) -> bool {
        self.counts.iter().any(|(bucket, count)| last.counts.get(bucket).is_some_and(|n| n > count))
    }
}

impl Unit {
    fn ns(self) -> u64 {
        match self {
            Unit::Milli => 1_000_000,
            Unit::Micro => 1_000,
            Unit::Nano => 1,
        }
    }

    /// 0, 1, 2, 4 ... units up to 2^22 ms, 70 minutes, where Oracle's own table ends; the rest
    /// is open.
    fn edges(self) -> Option<Edges> {
        let last = ORACLE_LAST * 1_000_000 / self.ns();
        let powers = (0..64).map(|exponent| 1u64 << exponent).take_while(|unit| *unit <= last);
        let mut edges: Vec<u64> = powers.map(|units| units * self.ns()).collect();
        edges.insert(0, 0);
        edges.push(u64::MAX);
        Edges::new(edges)
    }
}

impl DataSource {
    /// Where these sources measure: Oracle's waits are the application's; the DTrace and pread
    /// scripts time system calls; the rest time requests from issue to completion.
    fn measures(self, label: &str) -> (Layer, Stage) {
        match self {
            DataSource::Oracle => (Layer::Application, Stage::Total),
            DataSource::Dtrace => (Layer::Syscall, Stage::Total),
            _ if label.to_ascii_lowercase().contains("pread") => (Layer::Syscall, Stage::Total),
            _ => (Layer::Block, Stage::Device),
        }
    }
}

/// Lower edge of a bucket, in units; 0 for what is below one unit.
fn lower_bound(bucket: u64, source: DataSource) -> u64 {
    match (source, bucket) {
        (DataSource::Oracle, ORACLE_REST) => ORACLE_LAST,
        (DataSource::Oracle, bucket) => bucket / 2,
        (_, bucket) => bucket,
    }
}

fn read_item(item: &str, record: &mut Record, unit: &mut Unit) -> Step {
    let lower = item.to_ascii_lowercase();
    let mut fields = lower.split(',').map(str::trim);
    let (key, value) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    let outcome = match key {
        "timestamp" => {
            record.at_us = fields.next().and_then(integer).and_then(|us| us.try_into().ok());
            record.at_us.map(drop).ok_or("the timestamp is no whole number of microseconds")
        }
        "label" => {
            let text = item.split_once(',').map_or("", |(_, text)| text.trim());
            record.label = (!text.is_empty()).then(|| text.to_string());
            Ok(())
        }
        "latencyunit" => read_unit(value).map(|read| *unit = read).ok_or("unknown latency unit"),
        "datasource" => {
            record.source = read_source(value);
            record.source.map(drop).ok_or("unknown data source")
        }
        _ => read_count(key, value, record),
    };
    match outcome {
        Ok(()) => Step::Took,
        Err(reason) => Step::Skipped(reason.to_string()),
    }
}

fn read_unit(word: &str) -> Option<Unit> {
    match word {
        "millisec" => Some(Unit::Milli),
        "microsec" | "musec" => Some(Unit::Micro),
        "nanosec" => Some(Unit::Nano),
        _ => None,
    }
}

fn read_source(word: &str) -> Option<DataSource> {
    match word {
        "oracle" => Some(DataSource::Oracle),
        "bpf" => Some(DataSource::Bpf),
        "systemtap" => Some(DataSource::Systemtap),
        "dtrace" => Some(DataSource::Dtrace),
        _ => None,
    }
}

/// A bucket and its count. Oracle 19c writes fractions of a unit and one far too large bucket
/// for the rest (sqldb360 issue 68); a fraction belongs below one unit.
fn read_count(bucket: &str, count: &str, record: &mut Record) -> Result<(), &'static str> {
    let bucket = decimal(bucket).filter(|bucket| *bucket >= 0.0).ok_or("no item of a record")?;
    let count = integer(count).filter(|n| *n <= COUNT_LIMIT).ok_or("the count is no number")?;
    let whole = if bucket < 1.0 { 0 } else { bucket as u64 };
    let power = bucket < 1.0 || whole.is_power_of_two() || whole >= ORACLE_REST;
    if !power {
        return Err("the bucket is no power of two");
    }
    let sum = record.counts.entry(whole).or_default();
    *sum = (*sum + count).min(COUNT_LIMIT);
    Ok(())
}

fn note(sink: &mut dyn Sink, reason: String) {
    sink.note(Note { line: 0, text: String::new(), reason });
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::{Listing, Recording, Source};

    fn read(text: &str) -> Listing {
        let mut recording = Recording::new();
        recording.begin(Source::new("pylatencymap", "-", Level::B));
        let mut reader = Pylatencymap::default();
        for line in text.lines() {
            assert_eq!(reader.line(line, &mut recording), Step::Took, "{line}");
        }
        reader.finish(&mut recording);
        recording.end();
        recording.listings.remove(0)
    }

    fn record(at_us: i64, source: &str, counts: &[(u64, u64)]) -> String {
        let rows: String = counts.iter().map(|(b, n)| format!("{b}, {n}\n")).collect();
        format!(
            "<begin record>\ntimestamp, microsec, {at_us}, Mon\nlatencyunit, microsec\n\
             datasource, {source}\n{rows}<end record>\n"
        )
    }

    /// Sum of the middles of all buckets, in us: what PyLatencyMap calls intensity times T.
    fn waited_us(distribution: &Distribution) -> f64 {
        let middles = distribution.histogram.filled();
        middles.map(|(low, high, n)| (low + high) as f64 / 2000.0 * n as f64).sum()
    }

    #[test]
    fn the_worked_example_gives_the_same_rates_waits_and_means() {
        let first: &[(u64, u64)] = &[(256, 1000), (1024, 500), (16384, 10)];
        let second: &[(u64, u64)] = &[(256, 1600), (1024, 530), (16384, 13)];
        for (source, waited_per_s, mean) in [("oracle", 58_368.0, 276.6), ("bpf", 116_736.0, 553.3)]
        {
            let text = record(10_000_000, source, first) + &record(13_000_000, source, second);
            let listing = read(&text);
            let [one] = &listing.distributions[..] else { panic!("one interval") };
            assert_eq!(one.start.map(Time::ns), Some(10_000_000_000));
            assert_eq!(one.length, Some(Nanos(3_000_000_000)));
            let counts: Vec<u64> = one.histogram.filled().map(|(.., n)| n / 3).collect();
            assert_eq!(counts, [200, 10, 1]);
            assert_eq!(waited_us(one) / 3.0, waited_per_s);
            assert!((waited_us(one) / 633.0 - mean).abs() < 0.05);
        }
    }

    #[test]
    fn midnight_is_three_seconds_not_one() {
        let text = record(86_399_000_000, "oracle", &[(256, 1000)])
            + &record(2_000_000, "oracle", &[(256, 1300)]);
        let listing = read(&text);
        assert_eq!(listing.distributions[0].length, Some(Nanos(3_000_000_000)));
        assert_eq!(listing.distributions[0].histogram.count(), 300);
        assert!(listing.source.notes.is_empty());
    }

    #[test]
    fn a_restart_is_left_out_and_a_bucket_that_went_missing_keeps_its_count() {
        let text = record(0, "bpf", &[(2, 10), (4, 5)])
            + &record(1_000_000, "bpf", &[(4, 6)])
            + &record(2_000_000, "bpf", &[(2, 11), (4, 6)])
            + &record(3_000_000, "bpf", &[(2, 1)])
            + &record(4_000_000, "bpf", &[(2, 3), (4, 1)]);
        let listing = read(&text);
        let counts: Vec<u64> =
            listing.distributions.iter().map(|one| one.histogram.count()).collect();
        assert_eq!(counts, [1, 1, 3]);
        assert!(listing.source.notes[0].reason.contains("record 4"));
    }

    #[test]
    fn a_bucket_means_what_its_source_means() {
        let rest = ORACLE_REST;
        let text = record(0, "oracle", &[(1, 1), (256, 1), (rest, 1)]).replace("micro", "milli");
        let listing = read(&text.replace("timestamp, milli", "timestamp, micro"));
        let rows: Vec<_> = listing.distributions[0].histogram.filled().collect();
        let ms = 1_000_000;
        assert_eq!(rows, [(0, ms, 1), (128 * ms, 256 * ms, 1), ((1 << 22) * ms, u64::MAX, 1)]);
        let listing = read(&record(0, "systemtap", &[(0, 4), (1, 1), (256, 1)]));
        let rows: Vec<_> = listing.distributions[0].histogram.filled().collect();
        assert_eq!(rows, [(0, 1000, 4), (1000, 2000, 1), (256_000, 512_000, 1)]);
    }

    #[test]
    fn what_is_no_item_is_skipped_with_a_reason() {
        let (mut record, mut unit) = (Record::default(), Unit::default());
        for item in ["1000, 5", "-4, 1", "4, many", "hello", "latencyunit, days", "timestamp, x"] {
            let step = read_item(item, &mut record, &mut unit);
            assert!(matches!(step, Step::Skipped(_)), "{item}");
        }
        assert_eq!(read_item("label, a, b", &mut record, &mut unit), Step::Took);
        assert_eq!(record.label.as_deref(), Some("a, b"));
        assert_eq!(read_item(".000976563, 7", &mut record, &mut unit), Step::Took);
        assert_eq!(read_item("18014398509481984, 7", &mut record, &mut unit), Step::Took);
        assert_eq!(record.counts.into_iter().collect::<Vec<_>>(), [(0, 7), (1 << 54, 7)]);
    }
}
