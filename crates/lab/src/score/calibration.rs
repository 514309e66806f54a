//! How far a confidence can be trusted.

use iowhy_model::Random;

/// Bins of the calibration error (the diagnosis page: 15 of equal mass).
const BINS: usize = 15;
/// Judges whose confidences are true that are drawn to compare with.
const REDRAWN: usize = 200;

/// Mean square of the confidence less what was right.
pub(super) fn brier(answers: &[(f64, bool)]) -> f64 {
    let square = |(sure, right): &(f64, bool)| (sure - f64::from(u8::from(*right))).powi(2);
    answers.iter().map(square).sum::<f64>() / answers.len().max(1) as f64
}

/// How far confidences are from the share that was right, over bins of equal mass, weighted by
/// mass.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Reliability {
    /// Where more was reported than was right.
    pub over: f64,
    /// Where less was reported.
    pub under: f64,
    /// What both together would be, on average, of a judge whose confidences are all true: with so
    /// few answers no share is exact.
    pub by_chance: f64,
    /// What that judge exceeds once in twenty.
    pub seldom: f64,
}

impl Reliability {
    /// Of answers: confidence, and whether it was right.
    pub(super) fn of(answers: &[(f64, bool)]) -> Reliability {
        let mut sorted = answers.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (over, under) = gaps(&sorted);
        let mut random = Random::seeded(REDRAWN as u64);
        let mut drawn: Vec<f64> = (0..REDRAWN)
            .map(|_| {
                let of_true = |(sure, _): &(f64, bool)| (*sure, random.unit() < *sure);
                let (over, under) = gaps(&sorted.iter().map(of_true).collect::<Vec<_>>());
                over + under
            })
            .collect();
        drawn.sort_by(f64::total_cmp);
        let seldom = drawn.get(REDRAWN * 19 / 20).copied().unwrap_or_default();
        Reliability { over, under, by_chance: drawn.iter().sum::<f64>() / REDRAWN as f64, seldom }
    }

    /// Expected calibration error.
    pub fn error(&self) -> f64 {
        self.over + self.under
    }
}

/// Confidence above and below what was right, of sorted answers. Answers of one confidence cannot
/// be distinguished: each counts as right as often as all of them, or the order in which the corpus
/// lists them would decide which bin the wrong ones fall into.
fn gaps(sorted: &[(f64, bool)]) -> (f64, f64) {
    let n = sorted.len();
    let alike = sorted.chunk_by(|a, b| a.0 == b.0);
    let shares: Vec<f64> = alike
        .flat_map(|alike| {
            let right = alike.iter().filter(|(_, right)| *right).count() as f64;
            std::iter::repeat_n(right / alike.len() as f64, alike.len())
        })
        .collect();
    let (mut over, mut under) = (0.0, 0.0);
    for bin in 0..BINS {
        let bin = bin * n / BINS..(bin + 1) * n / BINS;
        let sure: f64 = sorted[bin.clone()].iter().map(|(sure, _)| sure).sum();
        let right: f64 = shares[bin].iter().sum();
        over += (sure - right).max(0.0);
        under += (right - sure).max(0.0);
    }
    (over / n.max(1) as f64, under / n.max(1) as f64)
}

/// Share of right answers among the given share that is surest.
pub(super) fn covered(mut answers: Vec<(f64, bool)>, share: f64) -> f64 {
    answers.sort_by(|a, b| b.0.total_cmp(&a.0));
    let kept = (answers.len() as f64 * share).ceil() as usize;
    let right = answers.iter().take(kept).filter(|(_, right)| *right).count();
    right as f64 / kept.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // No two alike, nine of ten in each bin right.
        let sure = |k: i32| 0.9 + f64::from(k) * 1e-15;
        let answers: Vec<(f64, bool)> = (0..150).map(|k| (sure(k), k % 10 != 0)).collect();
        assert!((brier(&answers) - 0.09).abs() < 1e-12);
        let known = Reliability::of(&answers);
        assert!(known.error() < 1e-12);
        // Each bin of ten is off by sqrt(0.9 x 0.1 / 10) = 0.095 on average, of which a normal's
        // mean is 0.8.
        assert!((known.by_chance - 0.076).abs() < 0.01, "{known:?}");
        // All alike, the wrong ones first: they are one bin of 150.
        let alike: Vec<(f64, bool)> = (0..150).map(|k| (0.9, k >= 15)).collect();
        let known_alike = Reliability::of(&alike);
        assert!(known_alike.error() < 1e-12, "{known_alike:?}");
        assert!((known_alike.by_chance - 0.8 * (0.09f64 / 150.0).sqrt()).abs() < 0.005);
        assert!(known.by_chance < known.seldom && known.seldom < 0.15, "{known:?}");
        let modest: Vec<(f64, bool)> = answers.iter().map(|(_, right)| (0.6, *right)).collect();
        let known = Reliability::of(&modest);
        assert!(
            (known.over, known.under) == (0.0, known.error()) && (known.under - 0.3).abs() < 1e-9
        );
        let sure = vec![(0.9, true), (0.8, true), (0.7, true), (0.6, true), (0.1, false)];
        assert_eq!(covered(sure, 0.8), 1.0);
    }
}
