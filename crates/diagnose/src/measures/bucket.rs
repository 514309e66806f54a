//! A bucket of credits that runs dry: throughput at a higher plateau, then at a lower, flatter one,
//! though no less was asked.

use super::spread;
use crate::regimes;

/// A step down onto a plateau.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drained {
    /// Samples before the step.
    pub before: usize,
    /// Samples after it.
    pub after: usize,
    /// Median rate before.
    pub high: f64,
    /// Median rate after.
    pub low: f64,
    /// Coefficient of variation after.
    pub cv: f64,
    /// Variance of the counts over their mean, after: near nothing where a clock hands them out.
    pub dispersion: f64,
    /// Largest after over the median after.
    pub max_over_median: f64,
    /// Requests in flight before and after, medians, if known.
    pub in_flight: Option<(f64, f64)>,
}

/// Samples on either side of the step (docs/METHOD.md, 8 Cap: at least five).
const EACH: usize = 5;
/// Samples next to the step that belong to neither side: the bucket runs dry within a sample.
const EDGE: usize = 1;

/// The last step down in a series of rates; `in_flight` may be empty, else one value per rate.
pub fn drained(rates: &[f64], in_flight: &[f64]) -> Option<Drained> {
    let levels: Vec<f64> = rates.iter().map(|rate| rate.max(1e-9)).collect();
    let cuts = regimes::cut(&levels);
    let steps =
        cuts.windows(2).filter_map(|pair| Some((pair.first()?.clone(), pair.get(1)?.clone())));
    // A plateau of a bucket is far flatter than latencies are: fewer samples show one.
    let fall = steepest(&levels).map(|at| (0..at, at..levels.len()));
    let found = steps.chain(fall).filter_map(|(before, after)| {
        // Everything after the step counts, not only the next regime; but the end of a capture cuts
        // its last sample short.
        let end = rates.len() - usize::from(is_cut_short(rates));
        let late = (after.start + EDGE).min(end)..end;
        let early = before.start..before.end.saturating_sub(EDGE).max(before.start);
        let (early_rates, late_rates) = (rates.get(early.clone())?, rates.get(late.clone())?);
        if early_rates.len() < EACH || late_rates.len() < EACH {
            return None;
        }
        let (high, low) = (spread::median(early_rates)?, spread::median(late_rates)?);
        let cv = spread::cv(late_rates)?;
        let most = late_rates.iter().copied().fold(0.0, f64::max);
        let flight = Some((in_flight.get(early), in_flight.get(late)))
            .and_then(|(before, after)| Some((spread::median(before?)?, spread::median(after?)?)));
        Some(Drained {
            before: early_rates.len(),
            after: late_rates.len(),
            high,
            low,
            cv,
            dispersion: cv * cv * low,
            max_over_median: most / low,
            in_flight: flight,
        })
    });
    found.filter(|step| step.low > 0.0 && step.high > step.low).max_by(|a, b| {
        // The flattest end is the plateau.
        b.cv.total_cmp(&a.cv)
    })
}

/// The sample within which most is lost, from one side of it to the other.
fn steepest(levels: &[f64]) -> Option<usize> {
    let falls = (1..levels.len().saturating_sub(1))
        .filter_map(|at| Some((at, levels.get(at - 1)? / levels.get(at + 1)?)));
    // The capture's end cuts its last sample short: what falls there is no step.
    let inside = falls.filter(|(at, _)| (EACH..levels.len().saturating_sub(EACH)).contains(at));
    Some(inside.max_by(|a, b| a.1.total_cmp(&b.1))?.0)
}

/// Whether the last sample is the remainder of one: it falls below all others.
fn is_cut_short(rates: &[f64]) -> bool {
    let Some((last, before)) = rates.split_last() else { return false };
    !before.is_empty() && before.iter().all(|rate| last < rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gp2_volume_of_100_gib_falls_from_3000_to_300() {
        let rates: Vec<f64> = (0..40)
            .map(
                |k| if k < 20 { 2990.0 + f64::from(k % 3) * 7.0 } else { 300.0 + f64::from(k % 2) },
            )
            .collect();
        let flight = vec![8.0; 40];
        let found = drained(&rates, &flight).unwrap();
        assert!((found.high - 2997.0).abs() < 1.0 && (found.low - 300.5).abs() < 1.0, "{found:?}");
        assert!(found.cv < 0.002 && found.dispersion < 0.01 && found.max_over_median < 1.01);
        assert_eq!(found.in_flight, Some((8.0, 8.0)));
        // Six seconds are enough of a plateau: 18 000 credits at 3000 a second.
        let brief: Vec<f64> = [vec![3000.0; 6], vec![689.0], vec![100.0; 12], vec![85.0]].concat();
        let found = drained(&brief, &[]).unwrap();
        assert_eq!((found.before, found.after, found.high, found.low), (5, 12, 3000.0, 100.0));
        assert_eq!(drained(&[300.0; 40], &[]), None);
        assert_eq!(drained(&[], &[]), None);
    }
}
