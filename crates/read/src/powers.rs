//! Rows of the power-of-two tables that SystemTap and DTrace print.

use iowhy_model::Histogram;

use crate::buckets::{COUNT_LIMIT, histogram_of};

/// Why a row that looked right could not be one.
pub(crate) const NOT_A_POWER: &str = "the bucket is no power of two";

/// Reads `VALUE |@@@ COUNT`. Words may stand in the bar, so the count is the last number.
pub(crate) fn power_row(line: &str) -> Option<(i64, u64)> {
    let (value, bar) = line.split_once('|')?;
    let count = bar.split_ascii_whitespace().next_back()?;
    let count = count.parse().ok().filter(|count| *count <= COUNT_LIMIT)?;
    Some((value.trim().parse().ok()?, count))
}

/// Whether a value can head a bucket: 0, or a power of two of either sign.
pub(crate) fn is_power(value: i64) -> bool {
    value == 0 || value.unsigned_abs().is_power_of_two()
}

/// Rows `(bucket, count)` as a histogram: bucket 0 holds 0 alone, bucket B holds `B <= v < 2B`,
/// times `unit_ns`. Counts of negative values, which no latency has, come apart.
pub(crate) fn histogram_of_powers(rows: &[(i64, u64)], unit_ns: u64) -> (Option<Histogram>, u64) {
    let below = rows.iter().filter(|(value, _)| *value < 0).map(|(_, count)| *count);
    let below = below.fold(0, u64::saturating_add).min(COUNT_LIMIT);
    let edges = rows.iter().filter_map(|(value, count)| {
        let low = u64::try_from(*value).ok()?;
        let high = if low == 0 { 1 } else { low.saturating_mul(2) };
        Some((low.saturating_mul(unit_ns), high.saturating_mul(unit_ns), *count))
    });
    (histogram_of(edges.collect()), below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_the_last_number_of_a_row() {
        assert_eq!(power_row("131072 |@@@@@  LATENCY     11"), Some((131072, 11)));
        assert_eq!(power_row("  -4 |@   3 "), Some((-4, 3)));
        assert_eq!(power_row("value |----- count"), None);
        assert_eq!(power_row("65536 |@@@@"), None);
        assert_eq!(power_row("~"), None);
    }

    #[test]
    fn a_bucket_reaches_to_twice_its_value_and_zero_is_alone() {
        let (histogram, below) =
            histogram_of_powers(&[(-2, 1), (0, 4), (1, 5), (2, 0), (4, 6)], 1000);
        let histogram = histogram.unwrap();
        assert_eq!(below, 1);
        assert_eq!(histogram.edges().as_slice(), [0, 1000, 2000, 4000, 8000]);
        assert_eq!(histogram.counts(), [4, 5, 0, 6]);
        let (histogram, _) = histogram_of_powers(&[(1 << 62, 1), (i64::MIN, 2)], 1_000_000_000);
        assert_eq!(histogram, None);
    }
}
