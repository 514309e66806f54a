//! The effect of a condition on latencies: requests with and without it, compared at the same
//! depth.

use std::collections::BTreeMap;

use super::rank_test;
use super::spread;

/// One request: its latency, whether the condition held, and its stratum for a fair comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Its time, ns.
    pub ns: f64,
    /// Whether the condition held.
    pub exposed: bool,
    /// Only samples of the same stratum are compared with each other.
    pub stratum: u32,
}

/// The effect of a circumstance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Exposure {
    /// Requests with the condition.
    pub exposed: usize,
    /// Requests that did not.
    pub spared: usize,
    /// Median time of those with the condition, ns.
    pub exposed_ns: f64,
    /// Median time of the others, ns.
    pub spared_ns: f64,
    /// Exposed over spared.
    pub ratio: f64,
    /// The same within strata, their geometric mean; `None` if no stratum has enough of both.
    pub matched: Option<f64>,
    /// Probability of such a difference by chance within strata (over all if none has both).
    pub p: f64,
    /// Time of those with the condition beyond the others' median, ns.
    pub excess_ns: f64,
}

/// Samples of each kind a stratum needs to be compared: docs/METHOD.md, 10 Rules, "at least five
/// each".
const EACH: usize = 5;

/// The effect shown by some samples; `None` unless there are some of both kinds.
pub fn exposure(samples: &[Sample]) -> Option<Exposure> {
    let of = |exposed: bool| -> Vec<f64> {
        samples.iter().filter(|s| s.exposed == exposed).map(|s| s.ns).collect()
    };
    let (exposed, spared) = (of(true), of(false));
    let (exposed_ns, spared_ns) = (spread::median(&exposed)?, spread::median(&spared)?);
    if spared_ns <= 0.0 {
        return None;
    }
    let mut strata: BTreeMap<u32, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for sample in samples {
        let stratum = strata.entry(sample.stratum).or_default();
        if sample.exposed { &mut stratum.0 } else { &mut stratum.1 }.push(sample.ns);
    }
    strata.retain(|_, (with, without)| with.len() >= EACH && without.len() >= EACH);
    let pairs: Vec<(&[f64], &[f64])> =
        strata.values().map(|(with, without)| (with.as_slice(), without.as_slice())).collect();
    let test = match pairs.as_slice() {
        [] => rank_test::compare(&exposed, &spared),
        pairs => rank_test::compare_in_strata(pairs),
    };
    Some(Exposure {
        exposed: exposed.len(),
        spared: spared.len(),
        exposed_ns,
        spared_ns,
        ratio: exposed_ns / spared_ns,
        matched: matched(&pairs),
        p: test.map_or(1.0, |test| test.p_above),
        excess_ns: exposed.iter().map(|ns| (ns - spared_ns).max(0.0)).sum(),
    })
}

/// The ratio of medians within strata, each weighed by the smaller of its sides.
fn matched(strata: &[(&[f64], &[f64])]) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (with, without) in strata {
        let ratio = spread::median(with)? / spread::median(without)?.max(1.0);
        let weight = with.len().min(without.len()) as f64;
        sum += weight * ratio.max(f64::MIN_POSITIVE).ln();
        weights += weight;
    }
    (weights > 0.0).then(|| (sum / weights).exp())
}

/// A number in flight as a stratum: 1, 2, 3 to 4, 5 to 8 and so on.
pub fn depth_stratum(in_flight: u32) -> u32 {
    u32::BITS - in_flight.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ns: f64, exposed: bool, stratum: u32) -> Sample {
        Sample { ns, exposed, stratum }
    }

    #[test]
    fn worked_numbers() {
        let samples: Vec<Sample> = (0..10)
            .flat_map(|k| {
                let ns = 100.0 + f64::from(k);
                [sample(ns, false, 1), sample(3.0 * ns, true, 1)]
            })
            .collect();
        let effect = exposure(&samples).unwrap();
        assert_eq!((effect.exposed, effect.spared, effect.spared_ns), (10, 10, 104.5));
        assert!((effect.ratio - 3.0).abs() < 1e-12 && effect.p < 1e-3, "{effect:?}");
        // Sum of 3 x (100 + k) - 104.5 over ten: 3135 - 1045.
        assert!((effect.excess_ns - 2090.0).abs() < 1e-9);
        assert_eq!(exposure(&samples[..1]), None);
    }

    #[test]
    fn what_depth_explains_is_no_effect() {
        // Slow ones met it because more were in flight; at the same depth they are alike.
        let samples: Vec<Sample> = (0..60)
            .map(|k| {
                let deep = k % 2 == 0;
                let ns = if deep { 400.0 } else { 100.0 } + f64::from(k % 7);
                sample(ns, deep != (k % 10 < 2), u32::from(deep))
            })
            .collect();
        let effect = exposure(&samples).unwrap();
        assert!(effect.ratio > 3.0, "{effect:?}");
        let matched = effect.matched.unwrap();
        assert!((matched - 1.0).abs() < 0.02, "{effect:?}");
    }

    #[test]
    fn depths_are_laid_into_octaves() {
        let strata: Vec<u32> = [1, 2, 3, 4, 5, 8, 9].into_iter().map(depth_stratum).collect();
        assert_eq!(strata, [0, 1, 2, 2, 3, 3, 4]);
        assert_eq!(depth_stratum(0), 0);
    }
}
