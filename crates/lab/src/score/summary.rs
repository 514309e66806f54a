//! Counts of right and wrong, and the scores computed from them.

use std::collections::BTreeMap;

use super::CaseVerdict;
use super::calibration::{Reliability, brier, covered};

/// A verdict's counts.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Class {
    /// Expected and reported.
    pub hits: usize,
    /// Reported and not expected.
    pub false_alarms: usize,
    /// Expected and not reported.
    pub misses: usize,
    /// Neither.
    pub rest: usize,
    /// Of the hits those that only admit that the input is not enough.
    pub admitted: usize,
    /// Expected cases whose first blame is right.
    pub blamed: usize,
}

impl Class {
    /// How often it was expected.
    pub fn n(&self) -> usize {
        self.hits + self.misses
    }

    /// Share of what was reported that was right; `None` if it was never reported.
    pub fn precision(&self) -> Option<f64> {
        ratio(self.hits, self.hits + self.false_alarms)
    }

    /// Share of what was expected that was reported.
    pub fn recall(&self) -> Option<f64> {
        ratio(self.hits, self.n())
    }

    /// Harmonic mean of both; 0 if nothing was right.
    pub fn f1(&self) -> f64 {
        ratio(2 * self.hits, 2 * self.hits + self.false_alarms + self.misses).unwrap_or(0.0)
    }

    /// Matthews' correlation; 0 if a margin is empty.
    pub fn mcc(&self) -> f64 {
        let [hits, alarms, misses, rest] =
            [self.hits, self.false_alarms, self.misses, self.rest].map(|count| count as f64);
        let margins = (hits + alarms) * (hits + misses) * (rest + alarms) * (rest + misses);
        if margins > 0.0 { (hits * rest - alarms * misses) / margins.sqrt() } else { 0.0 }
    }
}

fn ratio(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The tally of a level.
#[derive(Clone, Default, Debug)]
pub struct Summary {
    /// Per expected verdict somewhere.
    pub classes: BTreeMap<&'static str, Class>,
    /// Share of right first answers.
    pub accuracy: f64,
    /// Mean square of confidence less right.
    pub brier: f64,
    /// How far confidences are from the share that was right.
    pub sure: Reliability,
    /// The same before they are bounded by what their input can carry in the field.
    pub unbounded: Reliability,
    /// Accuracy over the four fifths with the highest confidence.
    pub at_80: f64,
}

impl Summary {
    /// Of these answers.
    pub fn of<'a>(judged: impl Iterator<Item = &'a CaseVerdict>) -> Summary {
        let judged: Vec<&CaseVerdict> = judged.collect();
        let mut classes: BTreeMap<&'static str, Class> = BTreeMap::new();
        for one in &judged {
            classes.entry(one.expected).or_default();
        }
        for (verdict, class) in &mut classes {
            for one in &judged {
                match (one.expected == *verdict, one.reported == *verdict) {
                    (true, true) => class.hits += 1,
                    (false, true) => class.false_alarms += 1,
                    (true, false) => class.misses += 1,
                    (false, false) => class.rest += 1,
                }
                class.admitted += usize::from(one.expected == *verdict && one.admitted);
                class.blamed += usize::from(one.expected == *verdict && one.blame_right);
            }
        }
        let sure: Vec<(f64, bool)> = judged.iter().map(|one| (one.confidence, one.right)).collect();
        // An admission of not knowing is not an answer: last in the order of certainty.
        let answers = judged.iter().map(|one| {
            let silent = one.reported == "insufficient" || one.admitted;
            (if silent { one.confidence - 1.0 } else { one.confidence }, one.right)
        });
        Summary {
            classes,
            accuracy: ratio(judged.iter().filter(|one| one.right).count(), judged.len())
                .unwrap_or(0.0),
            brier: brier(&sure),
            unbounded: {
                let before = judged.iter().map(|one| (one.unbounded, one.right));
                Reliability::of(&before.collect::<Vec<_>>())
            },
            sure: Reliability::of(&sure),
            at_80: covered(answers.collect(), 0.8),
        }
    }

    /// Mean F1 over the verdicts.
    pub fn macro_f1(&self) -> f64 {
        let sum: f64 = self.classes.values().map(Class::f1).sum();
        sum / self.classes.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        let class = Class { hits: 6, false_alarms: 2, misses: 3, rest: 9, ..Class::default() };
        assert_eq!((class.precision(), class.recall()), (Some(0.75), Some(6.0 / 9.0)));
        assert!((class.f1() - 12.0 / 17.0).abs() < 1e-12);
        // (54 - 6) / sqrt(8 * 9 * 11 * 12)
        assert!((class.mcc() - 48.0 / 9504f64.sqrt()).abs() < 1e-12);
    }
}
