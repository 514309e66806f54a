//! Records of PyLatencyMap: cumulative histograms in powers of two, one per interval.
//!
//! ## Reads
//! Blocks from `<begin record>` to `<end record>` with the lines `timestamp, microsec, N, TEXT`,
//! `label, TEXT`, `latencyunit, millisec|microsec|nanosec`, `datasource, NAME` and `BUCKET, COUNT`,
//! in any order and case; the tables of SystemTap and DTrace too, as their scripts print them
//! between the tags before the connector. Text between records is ignored. Each pair of consecutive
//! records becomes one histogram of the counts added between them, from the first timestamp to the
//! second.
//!
//! ## How to capture
//! PyLatencyMap's SQL, SystemTap, DTrace, bcc and NetApp sources and connectors, and files of
//! them kept for replay.
//!
//! ## Versions
//! 1.0 to 1.3. Version 1.0 and the AWR source give no `datasource`; early files write `musec` for
//! `microsec`. A single record is used unchanged: its counts are since the start of its source.
//!
//! ## Caveats
//! With `datasource, oracle` bucket B has B/2 up to B (bucket 1 all below 1); with `bpf`,
//! `systemtap` and `dtrace` it has B up to 2B. Without `datasource` the heading of a table
//! identifies the source (`Distribution` is DTrace's); otherwise B is assumed to be an upper bound,
//! because sources without that line are Oracle's; PyLatencyMap 1.3 itself assumes a lower bound
//! and is then off by a factor of two. A bucket named twice in a record is added up (several
//! instances of a cluster). A bucket that is missing keeps its last count. Decreasing counts mean
//! that the source was restarted: that interval is ignored; another label is another stream. A
//! clock that counts from midnight and wraps is followed; without timestamps the times are unknown.
//!
//! ## Not in this output
//! Device and operation, unless they are in the label. The exact mean: buckets are a factor of two
//! wide.

use iowhy_model::{DeviceId, Edges, Name};

use crate::BlockSize;
use crate::histogram::latency_record::{DataSource, Item, LatencyRecord, Unit, row};
use crate::program::*;
use crate::text::recent::RecentNames;

pub(super) const FORMAT: Format = Format::by_line::<Pylatencymap>(
    "PyLatencyMap records: cumulative latency histograms over time",
    Level::B,
    &["<"],
    |line| line.trim().eq_ignore_ascii_case(BEGIN),
)
.resumed();

const BEGIN: &str = "<begin record>";
const END: &str = "<end record>";
/// A day in microseconds: Oracle's sources stamp time since midnight.
const DAY_US: i64 = 86_400_000_000;
/// Lines kept because they will come again.
const REPEATED: usize = 8;
/// Longest of them, bytes.
const REPEATED_LENGTH: usize = 200;

/// The key line above a table of DTrace's: two blanks, then a name.
fn is_key(line: &str) -> bool {
    let key = line.strip_prefix("  ").unwrap_or_default();
    key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _.:/".contains(&byte))
}

#[derive(Default)]
struct Pylatencymap {
    /// The record being read.
    open: Option<LatencyRecord>,
    /// Its unit sticks from record to record.
    unit: Unit,
    /// The edges of all histograms so far, and their unit.
    edges: Option<(Unit, Edges)>,
    /// The last record that had counts, these carried on from all before.
    last: Option<LatencyRecord>,
    /// Room for the counts of the next record.
    room: Vec<(u64, u64)>,
    /// Lines that are the same in every record, with their meaning.
    repeated: Vec<(Box<[u8]>, Item)>,
    device: Option<DeviceId>,
    label: RecentNames<Name>,
    records: u64,
    intervals: u64,
    untagged: bool,
}

impl Reader for Pylatencymap {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim_ascii();
        if text.as_bytes().first().is_some_and(u8::is_ascii_digit) && self.open.is_some() {
            return self.item(text);
        }
        let word = text.to_ascii_lowercase();
        match (word.as_str(), &mut self.open) {
            (BEGIN, None) => self.begin(),
            (BEGIN, Some(_)) => {
                self.open = Some(LatencyRecord::default());
                return Step::skipped("the previous record has no end and is ignored");
            }
            (END, Some(_)) => self.close(sink),
            ("", _) => {}
            (_, Some(_)) if is_key(line) => {}
            (_, Some(_)) => return self.item(text),
            // What SQL*Plus says between two records.
            (word, None) if word.ends_with("rows selected.") => {}
            ("pl/sql procedure successfully completed.", None) => {}
            (_, None) if text.contains(',') && Item::of(text).is_ok() => {
                return Step::skipped("no record has started here");
            }
            (_, None) => return Step::NotMine,
        }
        Step::Consumed
    }

    fn block(&mut self, block: &[u8], sink: &mut dyn Sink) -> BlockSize {
        let mut taken = BlockSize::default();
        while let Some(rest) = block.get(taken.bytes..) {
            let length = match (&mut self.open, rest.first()) {
                (Some(record), Some(b'0'..=b'9')) => {
                    let Some((bucket, count, length)) = row(rest) else { break };
                    if rest.get(length) != Some(&b'\n') || record.add(bucket, count).is_err() {
                        break;
                    }
                    length + 1
                }
                (Some(_), Some(b'<')) if rest.starts_with(b"<end record>\n") => {
                    self.close(sink);
                    END.len() + 1
                }
                (None, Some(b'<')) if rest.starts_with(b"<begin record>\n") => {
                    self.begin();
                    BEGIN.len() + 1
                }
                (Some(_), Some(_)) => match self.heading(rest) {
                    Some(length) => length,
                    None => break,
                },
                _ => break,
            };
            taken = BlockSize { lines: taken.lines + 1, bytes: taken.bytes + length };
        }
        taken
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.open.take().is_some() {
            sink.skip(note("the last record has no end and is ignored"));
        }
        if self.intervals == 0
            && self.records == 1
            && let Some(record) = self.last.take()
        {
            sink.note(note("a single record: its counts are since the start of the source"));
            self.emit(&record, &record.counts, None, sink);
        }
    }
}

impl Pylatencymap {
    fn begin(&mut self) {
        let counts = std::mem::take(&mut self.room);
        self.open = Some(LatencyRecord { counts, ..LatencyRecord::default() });
    }

    /// Takes a line of the open record.
    fn item(&mut self, text: &str) -> Step {
        let Some(record) = &mut self.open else { return Step::NotMine };
        let taken = Item::of(text).and_then(|item| {
            let again = matches!(item, Item::Label(_) | Item::Unit(_) | Item::Source(_));
            let met = |(known, _): &(Box<[u8]>, Item)| **known == *text.as_bytes();
            if again && text.len() <= REPEATED_LENGTH && !self.repeated.iter().any(met) {
                self.repeated.truncate(REPEATED - 1);
                self.repeated.insert(0, (text.as_bytes().into(), item.clone()));
            }
            record.take(item, &mut self.unit)
        });
        Step::from(taken)
    }

    /// Takes the line at the beginning of a text if it was met before, or is a plain timestamp.
    fn heading(&mut self, text: &[u8]) -> Option<usize> {
        let record = self.open.as_mut()?;
        let end = memchr::memchr(b'\n', text.get(..REPEATED_LENGTH).unwrap_or(text))?;
        let line = text.get(..end)?;
        let item = match line.strip_prefix(b"timestamp,microsec,") {
            Some(stamp) => {
                let digits = stamp.split(|byte| *byte == b',').next()?;
                Item::Time(str::from_utf8(digits).ok().and_then(integer)?.try_into().ok()?)
            }
            None => {
                let known = self.repeated.iter().find(|(known, _)| **known == *line);
                known.map(|(_, item)| item.clone())?
            }
        };
        record.take(item, &mut self.unit).ok()?;
        Some(end + 1)
    }

    /// Ends a record: what was added since the last one is given out.
    fn close(&mut self, sink: &mut dyn Sink) {
        let Some(mut record) = self.open.take() else { return };
        if record.counts.is_empty() {
            return;
        }
        self.records += 1;
        if record.source.is_none() && !std::mem::replace(&mut self.untagged, true) {
            sink.note(note(
                "no `datasource` line: buckets are assumed to be upper bounds, like Oracle's",
            ));
        }
        if let Some(mut last) = self.last.take() {
            if last.label.is_some() && record.label.is_some() && last.label != record.label {
                let label = record.label.as_deref().unwrap_or_default();
                sink.note(note(format!(
                    "record {}: another stream starts, \"{label}\"",
                    self.records
                )));
            } else if record.falls_below(&last) {
                sink.note(note(format!(
                    "counts decreased in record {}: the source restarted",
                    self.records
                )));
            } else {
                let added = record.added_since(&last);
                let span = self.span(&last, &record, sink);
                self.emit(&record, &added, span, sink);
                self.intervals += 1;
            }
            last.counts.clear();
            self.room = last.counts;
        }
        self.last = Some(record);
    }

    /// Start and length of the interval between two records, in microseconds.
    fn span(
        &self,
        last: &LatencyRecord,
        record: &LatencyRecord,
        sink: &mut dyn Sink,
    ) -> Option<(i64, i64)> {
        let Some((then, now)) = last.at_us.zip(record.at_us) else {
            sink.note(note(format!("record {} or the previous one has no time", self.records)));
            return None;
        };
        let span = now.checked_sub(then)?;
        let wrapped = span < 0 && (0..DAY_US).contains(&now) && (0..DAY_US).contains(&then);
        let span = if wrapped { span + DAY_US } else { span };
        if span <= 0 {
            sink.note(note(format!("record {} is not later than the previous one", self.records)));
            return None;
        }
        Some((then, span))
    }

    fn emit(
        &mut self,
        record: &LatencyRecord,
        counts: &[(u64, u64)],
        span_us: Option<(i64, i64)>,
        sink: &mut dyn Sink,
    ) {
        let source = record.source.unwrap_or(DataSource::Oracle);
        let unit = self.unit;
        if self.edges.as_ref().is_none_or(|(of, _)| *of != unit) {
            self.edges = unit.edges().map(|edges| (unit, edges));
        }
        let Some((_, edges)) = self.edges.clone() else { return };
        let Some(histogram) = source.histogram_over(counts, edges) else { return };
        let (layer, stage) = source.measures(record.label.as_deref());
        sink.source().sees_queue = stage == Stage::Total;
        let device = *self.device.get_or_insert_with(|| sink.device(""));
        let mut distribution = Distribution::new(device, layer, stage, histogram);
        let label = record.label.as_deref();
        distribution.label = label.map(|label| self.label.get(label, |label| sink.name(label)));
        if let Some((start, length)) = span_us {
            distribution.start = start.checked_mul(1000).map(Time::from_ns);
            distribution.length = length.checked_mul(1000).map(Nanos);
        }
        sink.distribution(distribution);
    }
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
            assert_eq!(reader.line(line, &mut recording), Step::Consumed, "{line}");
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
}
