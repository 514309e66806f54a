//! One record of PyLatencyMap: its lines, and what its bucket values mean.

use std::rc::Rc;

use iowhy_model::{Edges, Histogram, Layer, Stage};

use crate::histogram::buckets::COUNT_LIMIT;
use crate::{decimal, integer};

/// Oracle's last bucket of `v$event_histogram`, ms: everything from 2^22 ms on.
const ORACLE_REST: u64 = 4_294_967_295;
/// Where the bucket before it ends, ms.
const ORACLE_LAST: u64 = 1 << 22;

/// One record as read.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencyRecord {
    /// Its timestamp in microseconds, from its source's zero.
    pub(crate) at_us: Option<i64>,
    /// What was measured, in the source's words.
    pub(crate) label: Option<Rc<str>>,
    /// Who measured.
    pub(crate) source: Option<DataSource>,
    /// Cumulative counts by bucket value, in units; rising.
    pub(crate) counts: Vec<(u64, u64)>,
}

/// The unit of bucket values; it sticks from record to record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Unit {
    #[default]
    Milli,
    Micro,
    Nano,
}

/// The counting program, and so the meaning of a bucket's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DataSource {
    Oracle,
    Bpf,
    Systemtap,
    Dtrace,
}

/// What a line of a record says.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Time(i64),
    Label(Option<Rc<str>>),
    Unit(Unit),
    Source(DataSource),
    Count(u64, u64),
    /// The heading of a table, which shows who draws such ones.
    Table(DataSource),
    /// A line of decoration.
    Nothing,
}

impl Item {
    /// Reads a line between the begin and end tags.
    pub(crate) fn of(line: &str) -> Result<Item, &'static str> {
        if let Some((bucket, count)) = pair(line) {
            return Ok(Item::Count(bucket, count));
        }
        let lower = line.to_ascii_lowercase();
        let mut fields = lower.split(',').map(str::trim);
        let (key, value) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        match key {
            "timestamp" => {
                let at_us = fields.next().and_then(integer).and_then(|us| us.try_into().ok());
                at_us.map(Item::Time).ok_or("the timestamp is not a whole number of microseconds")
            }
            "label" => {
                let text = line.split_once(',').map_or("", |(_, text)| text.trim());
                Ok(Item::Label((!text.is_empty()).then(|| text.into())))
            }
            "latencyunit" => Unit::of(value).map(Item::Unit).ok_or("unknown latency unit"),
            "datasource" => DataSource::of(value).map(Item::Source).ok_or("unknown data source"),
            // Rows that SystemTap leaves out because they are empty.
            "~" => Ok(Item::Nothing),
            _ => match line.split_once('|') {
                Some((bucket, bar)) => Item::row(bucket.trim(), bar),
                None if is_quantize(line) => Ok(Item::Table(DataSource::Dtrace)),
                None => Item::count(key, value),
            },
        }
    }

    /// A row of SystemTap's or DTrace's table, as their scripts print it between the tags.
    fn row(bucket: &str, bar: &str) -> Result<Item, &'static str> {
        match bucket {
            "value" => Ok(Item::Table(DataSource::Systemtap)),
            _ if bucket.starts_with('-') => Err("a negative latency: the clock jumped"),
            _ => Item::count(bucket, bar.trim_start_matches(['@', ' ']).trim()),
        }
    }

    /// A bucket and its count. Oracle 19c writes fractions of a unit and one far too large bucket
    /// for the rest (sqldb360 issue 68); a fraction belongs below one unit.
    fn count(bucket: &str, count: &str) -> Result<Item, &'static str> {
        let bucket =
            decimal(bucket).filter(|bucket| *bucket >= 0.0).ok_or("not an item of a record")?;
        let count = integer(count).ok_or("the count is not a number")?;
        Ok(Item::Count(bucket as u64, count))
    }
}

impl LatencyRecord {
    /// Takes a line between the begin and end tags.
    pub(crate) fn item(&mut self, line: &str, unit: &mut Unit) -> Result<(), &'static str> {
        self.take(Item::of(line)?, unit)
    }

    /// Takes the item of a line.
    pub(crate) fn take(&mut self, item: Item, unit: &mut Unit) -> Result<(), &'static str> {
        match item {
            Item::Time(at_us) => self.at_us = Some(at_us),
            Item::Label(label) => self.label = label,
            Item::Unit(of) => *unit = of,
            Item::Source(source) => self.source = Some(source),
            Item::Count(bucket, count) => return self.add(bucket, count),
            Item::Table(source) => {
                self.source.get_or_insert(source);
            }
            Item::Nothing => {}
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn add(&mut self, whole: u64, count: u64) -> Result<(), &'static str> {
        if count > COUNT_LIMIT {
            return Err("the count is not a number");
        }
        if !(whole == 0 || whole.is_power_of_two() || whole >= ORACLE_REST) {
            return Err("the bucket is not a power of two");
        }
        if self.counts.last().is_none_or(|(last, _)| *last < whole) {
            self.counts.push((whole, count));
            return Ok(());
        }
        match self.counts.binary_search_by_key(&whole, |(bucket, _)| *bucket) {
            Ok(place) => {
                let sum = &mut self.counts[place].1;
                *sum = (*sum + count).min(COUNT_LIMIT);
            }
            Err(place) => self.counts.insert(place, (whole, count)),
        }
        Ok(())
    }

    /// Whether any count is lower than it was in an earlier record.
    pub(crate) fn falls_below(&self, earlier: &LatencyRecord) -> bool {
        if self.has_buckets_of(earlier) {
            let mut pairs = self.counts.iter().zip(&earlier.counts);
            return pairs.any(|((_, count), (_, before))| before > count);
        }
        let mut counts = self.counts.iter();
        let before = cursor(&earlier.counts);
        counts.any(|(bucket, count)| before(*bucket).is_some_and(|old| old > *count))
    }

    /// What was counted since an earlier record; first, buckets that are missing here keep the
    /// count they had there.
    pub(crate) fn added_since(&mut self, earlier: &LatencyRecord) -> Vec<(u64, u64)> {
        if self.has_buckets_of(earlier) {
            let pairs = self.counts.iter().zip(&earlier.counts);
            let added = pairs
                .map(|((bucket, count), (_, before))| (*bucket, count.saturating_sub(*before)));
            return added.collect();
        }
        let gone: Vec<(u64, u64)> = {
            let here = cursor(&self.counts);
            let gone = earlier.counts.iter().filter(|(bucket, _)| here(*bucket).is_none());
            gone.copied().collect()
        };
        if !gone.is_empty() {
            self.counts.extend(gone);
            self.counts.sort_unstable();
        }
        let before = cursor(&earlier.counts);
        let added = |(bucket, count): &(u64, u64)| {
            (*bucket, count.saturating_sub(before(*bucket).unwrap_or(0)))
        };
        self.counts.iter().map(added).collect()
    }

    /// Nearly always: a source writes the same rows each time.
    fn has_buckets_of(&self, other: &LatencyRecord) -> bool {
        self.counts.len() == other.counts.len()
            && self.counts.iter().zip(&other.counts).all(|((one, _), (other, _))| one == other)
    }
}

/// The heading of DTrace's `quantize`.
fn is_quantize(line: &str) -> bool {
    let dashed = |part: &str| part.len() >= 3 && part.bytes().all(|byte| byte == b'-');
    let middle = line.strip_prefix("value").and_then(|rest| rest.strip_suffix("count"));
    let parts = middle.and_then(|middle| middle.split_once("Distribution"));
    parts.is_some_and(|(one, two)| dashed(one.trim()) && dashed(two.trim()))
}

/// `256, 1000`: whole numbers of at most 18 digits, which cannot overflow. Nearly all lines are
/// this, so they are read in one go.
fn pair(line: &str) -> Option<(u64, u64)> {
    let (bucket, count, length) = row(line.as_bytes())?;
    (length == line.len()).then_some((bucket, count))
}

/// The two numbers of a row at the beginning of a text, and how many bytes they take.
#[inline]
pub(crate) fn row(text: &[u8]) -> Option<(u64, u64, usize)> {
    let (bucket, after) = number(text)?;
    let [b',', after @ ..] = after else { return None };
    let mut after = after;
    while let [b' ', rest @ ..] = after {
        after = rest;
    }
    let (count, after) = number(after)?;
    Some((bucket, count, text.len() - after.len()))
}

/// The number at the beginning of a text, at most 18 digits long.
#[inline]
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut rest) = (0, text);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        value = value * 10 + u64::from(digit - b'0');
        rest = after;
        if text.len() - rest.len() > 18 {
            return None;
        }
    }
    (rest.len() < text.len()).then_some((value, rest))
}

/// Looks buckets up in rising counts; for rising values it never goes back.
fn cursor(counts: &[(u64, u64)]) -> impl Fn(u64) -> Option<u64> {
    let place = std::cell::Cell::new(0);
    move |wanted| loop {
        let (bucket, count) = counts.get(place.get())?;
        if *bucket >= wanted {
            return (*bucket == wanted).then_some(*count);
        }
        place.set(place.get() + 1);
    }
}

impl Unit {
    fn of(word: &str) -> Option<Unit> {
        match word {
            "millisec" => Some(Unit::Milli),
            "microsec" | "musec" => Some(Unit::Micro),
            "nanosec" => Some(Unit::Nano),
            _ => None,
        }
    }

    fn ns(self) -> u64 {
        match self {
            Unit::Milli => 1_000_000,
            Unit::Micro => 1_000,
            Unit::Nano => 1,
        }
    }

    /// 0, 1, 2, 4 ... units up to 2^22 ms, 70 minutes, where Oracle's own table ends; the rest
    /// is open. One table for all records, so that they add up.
    pub(crate) fn edges(self) -> Option<Edges> {
        let last = ORACLE_LAST * Unit::Milli.ns() / self.ns();
        let powers = (0..64).map(|exponent| 1u64 << exponent).take_while(|units| *units <= last);
        let mut edges: Vec<u64> = powers.map(|units| units * self.ns()).collect();
        edges.insert(0, 0);
        edges.push(u64::MAX);
        Edges::new(edges)
    }
}

impl DataSource {
    fn of(word: &str) -> Option<DataSource> {
        match word {
            "oracle" => Some(DataSource::Oracle),
            "bpf" => Some(DataSource::Bpf),
            "systemtap" => Some(DataSource::Systemtap),
            "dtrace" => Some(DataSource::Dtrace),
            _ => None,
        }
    }

    /// Where these sources measure: Oracle's waits are the application's; the DTrace and pread
    /// scripts time system calls; the rest time requests from issue to completion.
    pub(crate) fn measures(self, label: Option<&str>) -> (Layer, Stage) {
        let mut windows = label.unwrap_or_default().as_bytes().windows(5);
        let pread = windows.any(|word| word.eq_ignore_ascii_case(b"pread"));
        match self {
            DataSource::Oracle => (Layer::Application, Stage::Total),
            DataSource::Dtrace => (Layer::Syscall, Stage::Total),
            _ if pread => (Layer::Syscall, Stage::Total),
            _ => (Layer::Block, Stage::Device),
        }
    }

    /// Counts by bucket value as a histogram in ns.
    pub(crate) fn histogram(self, counts: &[(u64, u64)], unit: Unit) -> Option<Histogram> {
        self.histogram_over(counts, unit.edges()?)
    }

    /// The same over the unit's edges, made before.
    pub(crate) fn histogram_over(self, counts: &[(u64, u64)], edges: Edges) -> Option<Histogram> {
        let mut rows = vec![0u64; edges.buckets()];
        let last = rows.len().checked_sub(1)?;
        for (bucket, count) in counts {
            // The unit's edges are 0 and the powers of two, so their places need no search.
            let place = self.lower_bound(*bucket).checked_ilog2().map_or(0, |power| power + 1);
            *rows.get_mut(last.min(place as usize))? += count;
        }
        Histogram::from_counts(edges, rows)
    }

    /// Lower edge of a bucket, in units; 0 for what is below one unit.
    fn lower_bound(self, bucket: u64) -> u64 {
        match (self, bucket) {
            (DataSource::Oracle, ORACLE_REST) => ORACLE_LAST,
            (DataSource::Oracle, bucket) => bucket / 2,
            (_, bucket) => bucket,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_item_is_refused_with_a_reason() {
        let (mut record, mut unit) = (LatencyRecord::default(), Unit::default());
        for item in ["1000, 5", "-4, 1", "4, many", "hello", "latencyunit, days", "timestamp, x"] {
            assert!(record.item(item, &mut unit).is_err(), "{item}");
        }
        assert!(record.item("-2 |@@ 3", &mut unit).is_err());
        assert_eq!(record.item("Label, a, B", &mut unit), Ok(()));
        assert_eq!(record.label.as_deref(), Some("a, B"));
        assert_eq!(record.item(".000976563, 7", &mut unit), Ok(()));
        assert_eq!(record.item("18014398509481984, 7", &mut unit), Ok(()));
        assert_eq!(record.counts, [(0, 7), (1 << 54, 7)]);
    }

    #[test]
    fn tables_between_the_tags_are_rows() {
        let (mut record, mut unit) = (LatencyRecord::default(), Unit::default());
        for row in ["value |-------- count", "    ~", "  256 |@@@@@  45", "512 | 0", "1024 |@ 7"] {
            assert_eq!(record.item(row.trim(), &mut unit), Ok(()), "{row}");
        }
        assert_eq!(record.source, Some(DataSource::Systemtap));
        assert_eq!(record.counts.into_iter().collect::<Vec<_>>(), [(256, 45), (512, 0), (1024, 7)]);
    }

    #[test]
    fn a_bucket_means_what_its_source_means() {
        let rows = |source: DataSource, unit, buckets: &[u64]| -> Vec<(u64, u64, u64)> {
            let counts: Vec<_> = buckets.iter().map(|bucket| (*bucket, 1)).collect();
            source.histogram(&counts, unit).unwrap().filled().collect()
        };
        let ms = 1_000_000;
        assert_eq!(
            rows(DataSource::Oracle, Unit::Milli, &[1, 256, ORACLE_REST]),
            [(0, ms, 1), (128 * ms, 256 * ms, 1), (ORACLE_LAST * ms, u64::MAX, 1)]
        );
        assert_eq!(
            rows(DataSource::Systemtap, Unit::Micro, &[0, 1, 256]),
            [(0, 1000, 1), (1000, 2000, 1), (256_000, 512_000, 1)]
        );
        assert_eq!(rows(DataSource::Dtrace, Unit::Nano, &[65536]), [(65_536, 131_072, 1)]);
    }
}
