//! One record of PyLatencyMap: its lines, and what its bucket values mean.

use iowhy_model::{Edges, Histogram, Layer, Stage};

use crate::buckets::COUNT_LIMIT;
use crate::{decimal, integer};

/// Oracle's last bucket of `v$event_histogram`, ms: everything from 2^22 ms on.
const ORACLE_REST: u64 = 4_294_967_295;
/// Where the bucket before it ends, ms.
const ORACLE_LAST: u64 = 1 << 22;

/// One record as it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencyRecord {
    /// Its stamp in microseconds, from whatever zero its source has.
    pub(crate) at_us: Option<i64>,
    /// What was measured, in the source's words.
    pub(crate) label: Option<String>,
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

/// Who counted, and so what a bucket value means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DataSource {
    Oracle,
    Bpf,
    Systemtap,
    Dtrace,
}

impl LatencyRecord {
    /// Takes a line between the begin and end tags.
    pub(crate) fn item(&mut self, line: &str, unit: &mut Unit) -> Result<(), &'static str> {
        if let Some((bucket, count)) = pair(line) {
            return self.add(bucket, count);
        }
        let lower = line.to_ascii_lowercase();
        let mut fields = lower.split(',').map(str::trim);
        let (key, value) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        match key {
            "timestamp" => {
                self.at_us = fields.next().and_then(integer).and_then(|us| us.try_into().ok());
                self.at_us.map(drop).ok_or("the timestamp is no whole number of microseconds")
            }
            "label" => {
                let text = line.split_once(',').map_or("", |(_, text)| text.trim());
                self.label = (!text.is_empty()).then(|| text.to_string());
                Ok(())
            }
            "latencyunit" => {
                *unit = Unit::of(value).ok_or("unknown latency unit")?;
                Ok(())
            }
            "datasource" => {
                self.source = Some(DataSource::of(value).ok_or("unknown data source")?);
                Ok(())
            }
            // Rows that SystemTap leaves out because they are empty.
            "~" => Ok(()),
            _ => match line.split_once('|') {
                Some((bucket, bar)) => self.row(bucket.trim(), bar),
                None => self.count(key, value),
            },
        }
    }

    /// A row of SystemTap's or DTrace's own table, as their scripts print it between the tags.
    fn row(&mut self, bucket: &str, bar: &str) -> Result<(), &'static str> {
        match bucket {
            "value" => Ok(()),
            _ if bucket.starts_with('-') => Err("a latency below 0 is a clock that jumped"),
            _ => self.count(bucket, bar.trim_start_matches(['@', ' ']).trim()),
        }
    }

    /// A bucket and its count. Oracle 19c writes fractions of a unit and one far too large bucket
    /// for the rest (sqldb360 issue 68); a fraction belongs below one unit.
    fn count(&mut self, bucket: &str, count: &str) -> Result<(), &'static str> {
        let bucket =
            decimal(bucket).filter(|bucket| *bucket >= 0.0).ok_or("no item of a record")?;
        let count = integer(count).ok_or("the count is no number")?;
        self.add(bucket as u64, count)
    }

    fn add(&mut self, whole: u64, count: u64) -> Result<(), &'static str> {
        if count > COUNT_LIMIT {
            return Err("the count is no number");
        }
        if !(whole == 0 || whole.is_power_of_two() || whole >= ORACLE_REST) {
            return Err("the bucket is no power of two");
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
        let mut counts = self.counts.iter();
        let before = cursor(&earlier.counts);
        counts.any(|(bucket, count)| before(*bucket).is_some_and(|old| old > *count))
    }

    /// What was counted since an earlier record; first, buckets that are missing here keep the
    /// count they had there.
    pub(crate) fn added_since(&mut self, earlier: &LatencyRecord) -> Vec<(u64, u64)> {
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
}

/// `256, 1000`: whole numbers of at most 18 digits, which cannot overflow. Nearly all lines are
/// this, so they are read in one go.
fn pair(line: &str) -> Option<(u64, u64)> {
    let (mut numbers, mut digits, mut place) = ([0u64; 2], [0; 2], 0);
    for byte in line.bytes() {
        match byte {
            b'0'..=b'9' if digits[place] < 18 => {
                numbers[place] = numbers[place] * 10 + u64::from(byte - b'0');
                digits[place] += 1;
            }
            b',' if place == 0 => place = 1,
            b' ' if place == 1 && digits[1] == 0 => {}
            _ => return None,
        }
    }
    (digits[0] > 0 && digits[1] > 0).then_some((numbers[0], numbers[1]))
}

/// Looks buckets up in rising counts; asked for them in rising order, it never goes back.
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
        let pread = label.is_some_and(|label| label.to_ascii_lowercase().contains("pread"));
        match self {
            DataSource::Oracle => (Layer::Application, Stage::Total),
            DataSource::Dtrace => (Layer::Syscall, Stage::Total),
            _ if pread => (Layer::Syscall, Stage::Total),
            _ => (Layer::Block, Stage::Device),
        }
    }

    /// Counts by bucket value as a histogram in ns.
    pub(crate) fn histogram(self, counts: &[(u64, u64)], unit: Unit) -> Option<Histogram> {
        self.histogram_over(counts, unit, unit.edges()?)
    }

    /// The same over the unit's edges, made before.
    pub(crate) fn histogram_over(
        self,
        counts: &[(u64, u64)],
        unit: Unit,
        edges: Edges,
    ) -> Option<Histogram> {
        let mut rows = vec![0u64; edges.buckets()];
        for (bucket, count) in counts {
            let low = self.lower_bound(*bucket).saturating_mul(unit.ns());
            *rows.get_mut(edges.index(low))? += count;
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
