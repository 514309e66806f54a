//! Which of two samples is larger, by ranks, so that neither outliers nor scale matter.
//!
//! Mann and Whitney's test (1947), with the usual correction for ties. Strata, such as the number
//! in flight, are tested each by itself and summed (van Elteren, 1960), so that a difference of
//! strata is not taken for one of samples.

/// The result of comparing two samples by ranks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RankTest {
    /// Standard deviations by which the first sample is above the second.
    pub z: f64,
    /// Probability that the first is so high without a difference.
    pub p_above: f64,
    /// Chance that a value of the first sample exceeds one of the second (0.5: no difference).
    pub superiority: f64,
}

impl RankTest {
    /// Probability of such a difference in either direction by chance.
    pub fn p_either(&self) -> f64 {
        (2.0 * upper_tail(self.z.abs())).min(1.0)
    }
}

/// Compares two samples; `None` if one is empty or all values are the same.
pub fn compare(first: &[f64], second: &[f64]) -> Option<RankTest> {
    compare_in_strata(&[(first, second)])
}

/// Compares two samples stratum by stratum.
pub fn compare_in_strata(strata: &[(&[f64], &[f64])]) -> Option<RankTest> {
    let (mut above, mut variance, mut wins, mut pairs) = (0.0, 0.0, 0.0, 0.0);
    for (first, second) in strata {
        let Some(stratum) = Stratum::of(first, second) else { continue };
        above += stratum.u - stratum.pairs / 2.0;
        variance += stratum.variance;
        wins += stratum.u;
        pairs += stratum.pairs;
    }
    if variance <= 0.0 {
        return None;
    }
    let z = above / variance.sqrt();
    Some(RankTest { z, p_above: upper_tail(z), superiority: wins / pairs })
}

/// Mann and Whitney's U of one stratum.
struct Stratum {
    u: f64,
    pairs: f64,
    variance: f64,
}

impl Stratum {
    fn of(first: &[f64], second: &[f64]) -> Option<Stratum> {
        let finite = |values: &[f64], is_first: bool| -> Vec<(f64, bool)> {
            values.iter().filter(|v| v.is_finite()).map(|v| (*v, is_first)).collect()
        };
        let mut all = finite(first, true);
        let n1 = all.len() as f64;
        all.extend(finite(second, false));
        let n = all.len() as f64;
        let n2 = n - n1;
        if n1 < 1.0 || n2 < 1.0 {
            return None;
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut ranks, mut ties, mut place) = (0.0, 0.0, 0.0);
        for run in all.chunk_by(|a, b| a.0 == b.0) {
            let length = run.len() as f64;
            let rank = place + (length + 1.0) / 2.0;
            ranks += rank * run.iter().filter(|(_, is_first)| *is_first).count() as f64;
            ties += length.powi(3) - length;
            place += length;
        }
        let u = ranks - n1 * (n1 + 1.0) / 2.0;
        let spread = if n > 1.0 { (n + 1.0) - ties / (n * (n - 1.0)) } else { 0.0 };
        Some(Stratum { u, pairs: n1 * n2, variance: n1 * n2 / 12.0 * spread })
    }
}

/// Chance that a standard normal number exceeds `z` (Abramowitz and Stegun 26.2.17: error below
/// 7.5e-8; beyond 6 the first two terms of 26.2.12, for small chances matter there).
pub fn upper_tail(z: f64) -> f64 {
    if z.is_nan() {
        return 1.0;
    }
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if z > 6.0 {
        return density / z * (1.0 - 1.0 / (z * z));
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    density * series.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_numbers() {
        // U of {4, 5, 6} over {1, 2, 3} is 9 of 9; variance 3 x 3 x 7 / 12 = 5.25; z = 4.5 / 2.291.
        let test = compare(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(test.superiority, 1.0);
        assert!((test.z - 1.9640).abs() < 1e-4, "{test:?}");
        assert!((test.p_above - 0.02476).abs() < 1e-4, "{test:?}");
        // Ties: {1, 2} against {1, 2}: no difference.
        let same = compare(&[1.0, 2.0], &[1.0, 2.0]).unwrap();
        assert_eq!((same.z, same.superiority), (0.0, 0.5));
        assert_eq!(compare(&[1.0], &[1.0]), None);
        assert_eq!(compare(&[], &[1.0]), None);
    }

    #[test]
    fn a_difference_of_strata_is_no_difference_of_samples() {
        let (low, high): (Vec<f64>, Vec<f64>) =
            ((0..20).map(f64::from).collect(), (100..120).map(f64::from).collect());
        let (few_low, few_high) = (&low[..4], &high[..4]);
        // The first sample lies mostly high, the second mostly low, but within each they agree.
        let naive = compare(&[&high[..], few_low].concat(), &[&low[..], few_high].concat());
        assert!(naive.unwrap().p_above < 1e-4);
        let fair = compare_in_strata(&[(&high, few_high), (few_low, &low)]).unwrap();
        assert!(fair.p_above > 0.001 && fair.superiority > 0.4, "{fair:?}");
    }

    #[test]
    fn tails_are_those_of_the_tables() {
        for (z, p) in [(0.0, 0.5), (1.0, 0.158_655), (1.96, 0.024_998), (3.0, 0.001_349_9)] {
            assert!((upper_tail(z) - p).abs() < 1e-6, "{z}");
            assert!((upper_tail(-z) - (1.0 - p)).abs() < 1e-6, "{z}");
        }
        assert!(upper_tail(7.0) < 1.3e-12 && upper_tail(7.0) > 1.2e-12);
        assert_eq!(upper_tail(f64::NAN), 1.0);
    }
}
