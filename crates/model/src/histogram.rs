//! Counts of latencies over given edges, with the exact sum, minimum and maximum where known.

use std::sync::Arc;

/// Bucket edges in nanoseconds, strictly rising: bucket `i` contains `edges[i] <= v < edges[i +
/// 1]`.
///
/// Edges are data: what a source's bucket label means (lower bound, upper bound, floor of a
/// millisecond) is decided once, by its reader. A last edge of `u64::MAX` makes the last bucket
/// open. Cloning is cheap.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Edges(Arc<[u64]>);

/// Width of the standard table's narrowest buckets: an eighth of a microsecond.
pub const STANDARD_UNIT_NS: u64 = 125;
/// Buckets per octave of the standard table.
pub const STANDARD_PER_OCTAVE: u64 = 8;
/// Octaves above the first, linear one: the last edge before the open bucket is 137 s.
const STANDARD_OCTAVES: u32 = 27;

impl Edges {
    /// Edges from a list. `None` unless it has at least two, strictly rising.
    pub fn new(edges: Vec<u64>) -> Option<Edges> {
        (edges.len() >= 2 && edges.is_sorted_by(|a, b| a < b)).then(|| Edges(edges.into()))
    }

    /// The table handed to the tracer: eight equal buckets per octave of microseconds, from
    /// 125 ns to 137 s, the last one open. It merges exactly into [`Edges::log2_us`].
    pub fn standard() -> Edges {
        let mut edges: Vec<u64> =
            (0..STANDARD_PER_OCTAVE).map(|step| step * STANDARD_UNIT_NS).collect();
        for octave in 0..STANDARD_OCTAVES {
            let step = STANDARD_UNIT_NS << octave;
            edges.extend((STANDARD_PER_OCTAVE..2 * STANDARD_PER_OCTAVE).map(|k| k * step));
        }
        edges.push((STANDARD_UNIT_NS * STANDARD_PER_OCTAVE) << STANDARD_OCTAVES);
        edges.push(u64::MAX);
        Edges(edges.into())
    }

    /// The powers of two of a microsecond that biolatency prints: 0-1, 2-3, 4-7 us ... in ns,
    /// 0 up to 2^`octaves` us.
    pub fn log2_us(octaves: u32) -> Edges {
        let rising = (1..=octaves.clamp(1, 44)).map(|k| 1000u64 << k);
        Edges(std::iter::once(0).chain(rising).collect())
    }

    /// The edges, one more than there are buckets.
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }

    /// Number of buckets.
    pub fn buckets(&self) -> usize {
        self.0.len() - 1
    }

    /// The bucket of `ns`; values outside fall into the first or last one.
    pub fn index(&self, ns: u64) -> usize {
        // Nearly all edges are the standard ones, whose buckets can be computed.
        let here = standard_bucket(ns);
        if let Some([low, high]) = self.0.get(here..here + 2)
            && (*low..*high).contains(&ns)
        {
            return here;
        }
        self.0.partition_point(|edge| *edge <= ns).saturating_sub(1).min(self.buckets() - 1)
    }

    /// Lower edge of a bucket, inclusive.
    pub fn low(&self, bucket: usize) -> u64 {
        self.0[bucket]
    }

    /// Upper edge of a bucket, exclusive; `u64::MAX` if it is open.
    pub fn high(&self, bucket: usize) -> u64 {
        self.0[bucket + 1]
    }

    /// Whether every edge of `coarser` within our range is also ours, so that counts move there
    /// without error.
    pub fn merges_into(&self, coarser: &Edges) -> bool {
        let (first, last) = (self.0[0], self.0[self.0.len() - 1]);
        coarser
            .0
            .iter()
            .all(|edge| *edge <= first || *edge >= last || self.0.binary_search(edge).is_ok())
    }
}

/// The bucket of [`Edges::standard`] for `ns`, or one beyond the last.
fn standard_bucket(ns: u64) -> usize {
    let units = ns / STANDARD_UNIT_NS;
    let octave = units.max(STANDARD_PER_OCTAVE).ilog2() - STANDARD_PER_OCTAVE.ilog2();
    let first = u64::from(octave) * STANDARD_PER_OCTAVE;
    (first + (units >> octave)) as usize
}

/// Counts over [`Edges`].
#[derive(Clone, PartialEq, Debug)]
pub struct Histogram {
    edges: Edges,
    counts: Vec<u64>,
    /// Exact sum of all values, ns, if the source gave it.
    pub sum_ns: Option<f64>,
    /// Exact smallest value, ns, if the source gave it.
    pub min_ns: Option<u64>,
    /// Exact largest value, ns, if the source gave it.
    pub max_ns: Option<u64>,
}

/// A quantile read off a histogram: the value is in `low_ns..=high_ns`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quantile {
    /// Lower edge of the bucket it fell into, or the exact minimum if that is higher.
    pub low_ns: u64,
    /// Highest value the bucket can hold, or the exact maximum if that is lower.
    pub high_ns: u64,
}

impl Quantile {
    /// Events needed before the quantile `q` (0 to 1) may be printed: with fewer, the odds are
    /// above 5 % that the sample contains nothing beyond it. 299 for p99, 2995 for p99.9.
    pub fn events_needed(q: f64) -> u64 {
        (0.05f64.ln() / q.clamp(1e-9, 1.0 - 1e-9).ln()).ceil() as u64
    }
}

impl Histogram {
    /// An empty histogram that will know its sum, minimum and maximum exactly.
    pub fn empty(edges: Edges) -> Histogram {
        let counts = vec![0; edges.buckets()];
        Histogram { edges, counts, sum_ns: Some(0.0), min_ns: None, max_ns: None }
    }

    /// A histogram from counts, one per bucket. `None` if their number is another.
    pub fn from_counts(edges: Edges, counts: Vec<u64>) -> Option<Histogram> {
        (counts.len() == edges.buckets()).then_some(Histogram {
            edges,
            counts,
            sum_ns: None,
            min_ns: None,
            max_ns: None,
        })
    }

    /// A histogram with only count, mean, minimum and maximum: one bucket.
    pub fn from_summary(count: u64, mean_ns: f64, min_ns: u64, max_ns: u64) -> Histogram {
        let (low, high) = (min_ns.min(max_ns), min_ns.max(max_ns));
        Histogram {
            edges: Edges(vec![low, high.saturating_add(1).max(low + 1)].into()),
            counts: vec![count],
            sum_ns: Some(mean_ns * count as f64),
            min_ns: Some(low),
            max_ns: Some(high),
        }
    }

    /// Counts one value and keeps the exact sum, minimum and maximum, if they were exact so far.
    pub fn record(&mut self, ns: u64) {
        // Counting all buckets is expensive, and unnecessary once a minimum is known.
        let first = self.min_ns.is_none() && self.count() == 0;
        let bucket = self.edges.index(ns);
        self.counts[bucket] += 1;
        if let Some(sum) = &mut self.sum_ns {
            *sum += ns as f64;
        }
        self.min_ns = if first { Some(ns) } else { self.min_ns.map(|min| min.min(ns)) };
        self.max_ns = if first { Some(ns) } else { self.max_ns.map(|max| max.max(ns)) };
    }

    /// The edges.
    pub fn edges(&self) -> &Edges {
        &self.edges
    }

    /// The counts, one per bucket.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// All values counted.
    pub fn count(&self) -> u64 {
        crate::numbers::total(self.counts.iter().copied())
    }

    /// Values in buckets that begin at `ns` or above.
    pub fn count_from(&self, ns: u64) -> u64 {
        crate::numbers::total(self.filled().filter(|(low, _, _)| *low >= ns).map(|(_, _, n)| n))
    }

    /// Non-empty buckets as (low, high, count); `high` is `u64::MAX` for an open one.
    pub fn filled(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (self.edges.low(bucket), self.edges.high(bucket), *count))
    }

    /// Mean in ns and whether it is exact (else estimated from the middle of each bucket, an
    /// open one counted at its lower edge). `None` if empty.
    pub fn mean_ns(&self) -> Option<(f64, bool)> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        if let Some(sum) = self.sum_ns {
            return Some((sum / count as f64, true));
        }
        let sum: f64 = self
            .filled()
            .map(|(low, high, n)| {
                let high = if high == u64::MAX { low } else { high };
                (low as f64 + high as f64) / 2.0 * n as f64
            })
            .sum();
        Some((sum / count as f64, false))
    }

    /// The quantile `q` (0 to 1), or `None` if the histogram has too few values for it
    /// ([`Quantile::events_needed`]).
    pub fn quantile(&self, q: f64) -> Option<Quantile> {
        let count = self.count();
        if count == 0 || count < Quantile::events_needed(q) {
            return None;
        }
        let rank = ((q * count as f64).ceil() as u64).clamp(1, count);
        let mut seen = 0;
        let (low, high, _) = self.filled().find(|(_, _, n)| {
            seen = n.saturating_add(seen);
            seen >= rank
        })?;
        Some(Quantile {
            low_ns: low.max(self.min_ns.unwrap_or(0)),
            high_ns: (high - 1).min(self.max_ns.unwrap_or(u64::MAX)),
        })
    }

    /// Adds another histogram of the same edges; returns false, and changes nothing, if the
    /// edges differ.
    pub fn merge(&mut self, other: &Histogram) -> bool {
        if self.edges != other.edges {
            return false;
        }
        if other.count() == 0 {
            return true;
        }
        if self.count() == 0 {
            *self = other.clone();
            return true;
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
        self.sum_ns = self.sum_ns.zip(other.sum_ns).map(|(a, b)| a + b);
        self.min_ns = self.min_ns.zip(other.min_ns).map(|(a, b)| a.min(b));
        self.max_ns = self.max_ns.zip(other.max_ns).map(|(a, b)| a.max(b));
        true
    }

    /// The same counts over other edges: each bucket is placed by its lower edge. Exact if
    /// [`Edges::merges_into`] holds; the total is kept in any case.
    #[must_use]
    pub fn rebin(&self, edges: &Edges) -> Histogram {
        let mut counts = vec![0u64; edges.buckets()];
        for (low, _, count) in self.filled() {
            let merged = &mut counts[edges.index(low)];
            *merged = merged.saturating_add(count);
        }
        Histogram {
            edges: edges.clone(),
            counts,
            sum_ns: self.sum_ns,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_no_number_holds_stay_at_the_highest() {
        let mut known = Histogram::empty(Edges::standard());
        known.counts.fill(u64::MAX);
        let other = known.clone();
        assert!(known.merge(&other));
        assert_eq!((known.count(), known.rebin(&Edges::standard()).count()), (u64::MAX, u64::MAX));
        assert!(known.quantile(0.5).is_some());
    }

    #[test]
    fn a_bucket_is_computed_as_it_is_searched() {
        let (standard, other) = (Edges::standard(), Edges::log2_us(20));
        let near = standard.as_slice().iter().chain(other.as_slice());
        let near = near.flat_map(|edge| [edge.saturating_sub(1), *edge, edge.saturating_add(1)]);
        for ns in near {
            for edges in [&standard, &other] {
                let searched = edges.0.partition_point(|edge| *edge <= ns).saturating_sub(1);
                assert_eq!(edges.index(ns), searched.min(edges.buckets() - 1), "{ns} ns");
            }
        }
    }

    #[test]
    fn the_standard_table_merges_exactly_into_biolatency_buckets() {
        let standard = Edges::standard();
        assert!(standard.merges_into(&Edges::log2_us(26)));
        assert_eq!(standard.low(standard.index(8_330_000)), 8_192_000);
        assert_eq!(standard.buckets(), 8 + 27 * 8 + 1);
        assert_eq!(standard.index(u64::MAX), standard.buckets() - 1);
        for pair in standard.as_slice().windows(2).skip(9).take(200) {
            assert!((pair[1] - pair[0]) as f64 / pair[0] as f64 <= 0.125);
        }
    }

    #[test]
    fn rebin_and_merge_keep_every_count() {
        let mut fine = Histogram::empty(Edges::standard());
        for k in 0..5000u64 {
            fine.record(k * k * 37 % 90_000_000);
        }
        let coarse = fine.rebin(&Edges::log2_us(20));
        assert_eq!(coarse.count(), 5000);
        assert_eq!(coarse.sum_ns, fine.sum_ns);
        let mut twice = fine.clone();
        assert!(twice.merge(&fine));
        assert_eq!(twice.count(), 10_000);
        assert_eq!(twice.mean_ns(), fine.mean_ns());
        assert!(!twice.merge(&coarse));
    }

    #[test]
    fn a_quantile_the_sample_cannot_carry_is_not_given() {
        let mut few = Histogram::empty(Edges::standard());
        (0..298).for_each(|_| few.record(1_000_000));
        assert_eq!(few.quantile(0.99), None);
        few.record(9_000_000);
        assert!(few.quantile(0.99).is_some());
        assert_eq!(Quantile::events_needed(0.99), 299);
        assert_eq!(Quantile::events_needed(0.999), 2995);
        assert_eq!(Quantile::events_needed(0.5), 5);
    }

    #[test]
    fn a_summary_line_is_a_histogram_of_one_bucket() {
        // Source document one_of_seventeen: sdy, 197 I/Os, 102 / 98298 / 1167977 us.
        let sdy = Histogram::from_summary(197, 98_298_000.0, 102_000, 1_167_977_000);
        assert_eq!(sdy.mean_ns(), Some((98_298_000.0, true)));
        assert_eq!(sdy.count(), 197);
        assert_eq!((sdy.min_ns, sdy.max_ns), (Some(102_000), Some(1_167_977_000)));
    }
}
