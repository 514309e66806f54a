//! The power-of-two tables that SystemTap and DTrace print.

use iowhy_model::{Histogram, Sink};

use crate::Step;
use crate::facts::note;
use crate::histogram::buckets::{COUNT_LIMIT, histogram_of};

const NOT_A_POWER: &str = "the bucket is not a power of two";
const LINEAR: &str = "the table has linear buckets";
const INCOMPLETE: &str = "the row is incomplete";

/// Rows `VALUE |@@@ COUNT` of one table, in order of reading.
#[derive(Debug, Default)]
pub(crate) struct PowerTable {
    rows: Vec<(i64, u64)>,
    /// Rows no power-of-two table has. One is a damaged line, two make the table linear.
    strange: u32,
}

impl PowerTable {
    /// Takes a row; `None` if the line is none.
    pub(crate) fn line(&mut self, line: &str) -> Option<Step> {
        let (value, bar) = line.split_once('|')?;
        let value = value.trim();
        if value.starts_with(['<', '>']) {
            // Only `lquantize` and `@hist_linear` have rows for what is outside.
            self.strange += 2;
            return Some(Step::Malformed(LINEAR.to_string()));
        }
        let value: i64 = value.parse().ok()?;
        if value != 0 && !value.unsigned_abs().is_power_of_two() {
            self.strange = self.strange.saturating_add(1);
            return Some(Step::Malformed(NOT_A_POWER.to_string()));
        }
        Some(match count(bar) {
            Some(count) => {
                self.rows.push((value, count));
                Step::Consumed
            }
            None => Step::Malformed(INCOMPLETE.to_string()),
        })
    }

    /// Whether no row was taken since the last [`take`](PowerTable::take).
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows as a histogram: bucket 0 holds 0 alone, bucket B holds `B <= v < 2B`, times
    /// `unit_ns`. Counts below 0, which no latency has, are noted as lost.
    pub(crate) fn take(&mut self, unit_ns: u64, sink: &mut dyn Sink) -> Option<Histogram> {
        let PowerTable { rows, strange } = std::mem::take(self);
        if strange > 1 {
            rows.iter().for_each(|_| sink.skip(note(LINEAR)));
            return None;
        }
        let below = rows.iter().filter(|(value, _)| *value < 0).map(|(_, count)| *count);
        let below = below.fold(0, u64::saturating_add).min(COUNT_LIMIT);
        sink.lost("negative latencies", below);
        let edges = rows.iter().filter_map(|(value, count)| {
            let low = u64::try_from(*value).ok()?;
            let high = if low == 0 { 1 } else { low.saturating_mul(2) };
            Some((low.saturating_mul(unit_ns), high.saturating_mul(unit_ns), *count))
        });
        let histogram = histogram_of(edges.collect());
        if histogram.is_none() && rows.iter().any(|(value, _)| *value >= 0) {
            sink.skip(note("the rows of a table overlap"));
        }
        histogram
    }
}

/// The count is the last number: the bar may contain words.
fn count(bar: &str) -> Option<u64> {
    let count = bar.split_ascii_whitespace().next_back()?;
    count.parse().ok().filter(|count| *count <= COUNT_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::Recording;

    fn table(lines: &[&str]) -> (Option<Histogram>, Recording, u64) {
        let (mut table, mut recording) = (PowerTable::default(), Recording::new());
        let steps = lines.iter().filter_map(|line| table.line(line));
        let skipped = steps.filter(|step| matches!(step, Step::Malformed(_))).count() as u64;
        let histogram = table.take(1000, &mut recording);
        let skipped = skipped + recording.listings.first().map_or(0, |l| l.source.skipped);
        (histogram, recording, skipped)
    }

    #[test]
    fn a_bucket_reaches_to_twice_its_value_and_zero_is_alone() {
        let (histogram, recording, skipped) =
            table(&["-2 |@ 1", "0 |@ 4", "1 |@ HIGH 5", "  2 | 0", "4 |@ 6", "8 |@@", "~"]);
        let histogram = histogram.unwrap();
        assert_eq!(histogram.edges().as_slice(), [0, 1000, 2000, 4000, 8000]);
        assert_eq!(histogram.counts(), [4, 5, 0, 6]);
        assert_eq!(recording.listings[0].source.lost(), 1);
        assert_eq!(skipped, 1);
    }

    #[test]
    fn one_damaged_row_is_skipped_and_a_linear_table_whole() {
        let (histogram, _, skipped) = table(&["1 |@ 1", "5 |@ 1", "8 |@ 1"]);
        assert_eq!((histogram.map(|h| h.count()), skipped), (Some(2), 1));
        let (histogram, _, skipped) = table(&["0 |@ 1", "10 |@ 1", "20 |@ 1"]);
        assert_eq!((histogram, skipped), (None, 3));
        let (histogram, _, skipped) = table(&["<0 |@ 1", "0 |@ 1", "1 |@ 1"]);
        assert_eq!((histogram, skipped), (None, 3));
    }

    #[test]
    fn the_largest_values_do_not_overflow() {
        let huge = ["4611686018427387904 |@ 1", "-9223372036854775808 | 9"];
        assert_eq!(table(&huge).0, None);
        assert_eq!(table(&["1 | 18446744073709551615"]).2, 1);
    }
}
