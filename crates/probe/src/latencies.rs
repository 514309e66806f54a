//! Latencies counted as they come: exact number, sum, extremes, and two histograms.

use iowhy_model::{Edges, Histogram};

/// Latencies counted in the standard buckets of all views and, for quantiles, in buckets less
/// than 1 % wide.
#[derive(Clone, Debug)]
pub struct Latencies {
    standard: Vec<u64>,
    fine: Vec<u64>,
    /// How many.
    pub n: u64,
    /// Their sum, ns.
    pub sum_ns: u128,
    /// The smallest, ns; `None` if there is none.
    pub min_ns: Option<u64>,
    /// The largest, ns.
    pub max_ns: Option<u64>,
}

/// Bits below the leading one that a fine bucket distinguishes: its width is 1/128 of its edge.
const FINE_BITS: u32 = 7;
/// Fine buckets: 128 single nanoseconds, then 128 per octave up to 2^64 ns.
const FINE: usize = (65 - FINE_BITS as usize) << FINE_BITS;
/// The width of the standard table's first buckets, and how many there are of that width
/// (`iowhy_model::Edges::standard`).
const UNIT_NS: u64 = iowhy_model::STANDARD_UNIT_NS;
const PER_OCTAVE: u64 = iowhy_model::STANDARD_PER_OCTAVE;

impl Default for Latencies {
    fn default() -> Self {
        let standard = vec![0; Edges::standard().buckets()];
        Latencies { standard, fine: vec![0; FINE], n: 0, sum_ns: 0, min_ns: None, max_ns: None }
    }
}

impl Latencies {
    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let last = self.standard.len() - 1;
        if let Some(count) = self.standard.get_mut(standard_bucket(ns).min(last)) {
            *count += 1;
        }
        if let Some(count) = self.fine.get_mut(fine_bucket(ns)) {
            *count += 1;
        }
        self.n += 1;
        self.sum_ns += u128::from(ns);
        self.min_ns = Some(self.min_ns.map_or(ns, |min| min.min(ns)));
        self.max_ns = Some(self.max_ns.map_or(ns, |max| max.max(ns)));
    }

    /// Adds another latencies.
    pub fn add(&mut self, other: &Latencies) {
        self.standard.iter_mut().zip(&other.standard).for_each(|(mine, more)| *mine += more);
        self.fine.iter_mut().zip(&other.fine).for_each(|(mine, more)| *mine += more);
        self.n += other.n;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.into_iter().chain(other.min_ns).min();
        self.max_ns = self.max_ns.into_iter().chain(other.max_ns).max();
    }

    /// The exact mean, ns; `None` if nothing was counted.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum_ns as f64 / self.n as f64)
    }

    /// The quantile `q`, ns, at most 1 % off, of these latencies and of `unserved` more that are
    /// longer than all of them. `None` if there are too few to carry it, or if it falls among
    /// the unserved.
    pub fn quantile_ns(&self, q: f64, unserved: u64) -> Option<u64> {
        let of = self.n + unserved;
        if of < iowhy_model::Quantile::events_needed(q) {
            return None;
        }
        let rank = ((q * of as f64).ceil() as u64).clamp(1, of);
        let mut seen = 0;
        let bucket = self.fine.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(fine_middle(bucket).clamp(self.min_ns?, self.max_ns?))
    }

    /// The same as a histogram of the model, over the standard edges.
    pub fn histogram(&self) -> Histogram {
        let edges = Edges::standard();
        let mut histogram = Histogram::from_counts(edges.clone(), self.standard.clone())
            .unwrap_or_else(|| Histogram::empty(edges));
        histogram.sum_ns = Some(self.sum_ns as f64);
        histogram.min_ns = self.min_ns;
        histogram.max_ns = self.max_ns;
        histogram
    }
}

fn standard_bucket(ns: u64) -> usize {
    let steps = ns / UNIT_NS;
    if steps < PER_OCTAVE {
        return steps as usize;
    }
    let octave = u64::from(steps.ilog2() - PER_OCTAVE.ilog2());
    (PER_OCTAVE * octave + (steps >> octave)) as usize
}

fn fine_bucket(ns: u64) -> usize {
    if ns >> FINE_BITS == 0 {
        return ns as usize;
    }
    let shift = ns.ilog2() - FINE_BITS;
    ((u64::from(shift) << FINE_BITS) + (ns >> shift)) as usize
}

fn fine_middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket >> FINE_BITS <= 1 {
        return bucket;
    }
    let shift = (bucket >> FINE_BITS) - 1;
    let low = ((1 << FINE_BITS) + (bucket & ((1 << FINE_BITS) - 1))) << shift;
    low + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::Random;

    #[test]
    fn buckets_are_those_of_the_standard_edges() {
        let edges = Edges::standard();
        let mut random = Random::seeded(3);
        let borders = edges.as_slice().iter().flat_map(|edge| [edge.saturating_sub(1), *edge]);
        let chance: Vec<u64> = (0..20_000).map(|k| random.bits() >> (k % 64)).collect();
        for ns in borders.chain(chance) {
            let bucket = standard_bucket(ns).min(edges.buckets() - 1);
            assert_eq!(bucket, edges.index(ns), "{ns}");
        }
    }

    #[test]
    fn quantiles_are_within_a_percent_and_sums_exact() {
        let mut random = Random::seeded(4);
        let mut latencies = Latencies::default();
        let mut all: Vec<u64> =
            (0..50_000).map(|_| (random.exponential() * 1e6) as u64 + 90).collect();
        all.iter().for_each(|ns| latencies.record(*ns));
        all.sort_unstable();
        for q in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let exact = all[(q * 50_000.0_f64).ceil() as usize - 1] as f64;
            let read = latencies.quantile_ns(q, 0).unwrap() as f64;
            assert!((read / exact - 1.0).abs() < 0.01, "p{q}: {read} {exact}");
        }
        assert_eq!(latencies.sum_ns, all.iter().map(|ns| u128::from(*ns)).sum::<u128>());
        assert_eq!(
            (latencies.min_ns, latencies.max_ns),
            (all.first().copied(), all.last().copied())
        );
        assert_eq!(latencies.histogram().count(), 50_000);
        latencies.record(u64::MAX);
        assert!(fine_bucket(u64::MAX) < FINE);
    }

    #[test]
    fn who_was_never_served_counts_as_slower_than_all() {
        let mut latencies = Latencies::default();
        (0..900).for_each(|_| latencies.record(1000));
        assert!(latencies.quantile_ns(0.99, 0).is_some());
        assert_eq!(latencies.quantile_ns(0.99, 100), None);
        assert!(latencies.quantile_ns(0.5, 100).is_some());
        assert_eq!(Latencies::default().quantile_ns(0.5, 0), None);
    }
}
