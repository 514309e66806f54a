//! Burst credits that run out: throughput at a higher plateau, then at a lower, flatter one, at the
//! same demand.

use super::spread;
use crate::measures::regimes;
use std::ops::Range;

/// A step down onto a plateau.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlateauStep {
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
    /// Dispersion of the counts (variance over mean) after the step: near zero for a clock.
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
/// Samples this near to the end's median belong to its plateau (docs/METHOD.md, 8 Cap: within 3 %),
/// and what counting adds to it, in standard deviations of a count.
const PLATEAU_TOLERANCE: f64 = 0.03;
const DEVIATIONS: f64 = 3.0;
/// Dispersion of even counts of which a trace lost a tenth by chance, the most that a replay
/// tolerates (docs/METHOD.md, 1 Replay).
const THINNED: f64 = 0.1;

/// The standard deviation, as a share, that an even count of this height may have for what was
/// lost.
pub fn thinned(height: f64) -> f64 {
    (THINNED / height).sqrt()
}

/// The last step down in a series of rates; `in_flight` may be empty, else one value per rate.
pub fn drained(rates: &[f64], in_flight: &[f64]) -> Option<PlateauStep> {
    // The end of a capture cuts its last sample short.
    let end = rates.len() - usize::from(is_cut_short(rates));
    let levels: Vec<f64> = rates.iter().map(|rate| rate.max(1e-9)).collect();
    let cuts = regimes::cut(&levels);
    let steps = cuts.windows(2).filter_map(|pair| Some((pair.first()?, pair.get(1)?)));
    // Everything after the step counts, not only the next regime.
    let steps = steps.map(|(before, after)| {
        let early = before.start..before.end.saturating_sub(EDGE).max(before.start);
        (early, (after.start + EDGE).min(end)..end)
    });
    let found = steps.chain(flat_end(&levels, end)).filter_map(|(early, late)| {
        let (early_rates, late_rates) = (rates.get(early.clone())?, rates.get(late.clone())?);
        if early_rates.len() < EACH || late_rates.len() < EACH {
            return None;
        }
        let (high, low) = (spread::median(early_rates)?, spread::median(late_rates)?);
        let cv = spread::cv(late_rates)?;
        let most = late_rates.iter().copied().fold(0.0, f64::max);
        let flight = Some((in_flight.get(early), in_flight.get(late)))
            .and_then(|(before, after)| Some((spread::median(before?)?, spread::median(after?)?)));
        Some(PlateauStep {
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

/// The longest plateau at the end, and the level before it: a bucket that was nearly empty runs dry
/// after fewer samples than a regime has.
fn flat_end(levels: &[f64], end: usize) -> Option<(Range<usize>, Range<usize>)> {
    let height = spread::median(levels.get(end.checked_sub(EACH)?..end)?)?;
    let width = PLATEAU_TOLERANCE + DEVIATIONS * thinned(height);
    let near = |rate: &&f64| (**rate / height - 1.0).abs() <= width;
    let late = levels.get(..end)?.iter().rev().take_while(near).count();
    let start = end - late;
    let before = levels.get(..start.checked_sub(EDGE)?)?;
    let last = regimes::cut(before).pop()?;
    Some((last, start..end))
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
        assert_eq!(drained(&[300.0; 40], &[]), None);
        // Six seconds of credits, the sample in which they end, and one that the end cut short.
        let brief: Vec<f64> = [vec![3000.0; 6], vec![689.0], vec![100.0; 12], vec![85.0]].concat();
        let found = drained(&brief, &[]).unwrap();
        assert_eq!((found.before, found.after, found.high, found.low), (6, 12, 3000.0, 100.0));
        let rates: Vec<f64> = (0..20)
            .map(|k| [3000.0, 800.0, 100.0][usize::from(k > 5) + usize::from(k > 6)])
            .collect();
        let found = drained(&rates, &flight).unwrap();
        assert_eq!((found.before, found.after, found.high, found.low), (6, 13, 3000.0, 100.0));
        assert_eq!(drained(&[], &[]), None);
    }
}
