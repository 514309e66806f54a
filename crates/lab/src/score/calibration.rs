//! How far a confidence can be trusted.

/// Bins of the calibration error (the diagnosis page: 15 of equal mass).
const BINS: usize = 15;

/// Mean square of the confidence less what was right.
pub(super) fn brier(answers: &[(f64, bool)]) -> f64 {
    let square = |(sure, right): &(f64, bool)| (sure - f64::from(u8::from(*right))).powi(2);
    answers.iter().map(square).sum::<f64>() / answers.len().max(1) as f64
}

/// Expected calibration error: over bins of equal mass, the gap between mean confidence and share
/// of right answers, weighted by mass.
pub(super) fn equal_mass_error(answers: &[(f64, bool)]) -> f64 {
    let mut sorted = answers.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = sorted.len();
    let gap = |bin: usize| {
        let part = &sorted[bin * n / BINS..(bin + 1) * n / BINS];
        let sure: f64 = part.iter().map(|(sure, _)| sure).sum();
        let right = part.iter().filter(|(_, right)| *right).count() as f64;
        (sure - right).abs()
    };
    (0..BINS).map(gap).sum::<f64>() / n.max(1) as f64
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
        let answers: Vec<(f64, bool)> = (0..150).map(|k| (0.9, k % 10 != 0)).collect();
        assert!((brier(&answers) - 0.09).abs() < 1e-12);
        assert!(equal_mass_error(&answers) < 1e-12);
        let sure = vec![(0.9, true), (0.8, true), (0.7, true), (0.6, true), (0.1, false)];
        assert_eq!(covered(sure, 0.8), 1.0);
    }
}
