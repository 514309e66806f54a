//! Confidence against first answers: how often verdicts of a family named the right side of
//! captures that nobody had seen.
//!
//! The lab knows its own worlds. In other people's listings and logs a confidence of 0.65 was right
//! as often as one of 0.95, so what is stated counts as few answers beside those
//! (docs/decisions/0131).

use iowhy_model::{Family, Verdict};

/// First answers at 0.6 or more of a family, and how many of these named the right side, in the
/// collections P26 to P49. `lab judgement --field` prints this table, and a test compares it.
pub const FIRST_ANSWERS: [(Family, u32, u32); 7] = [
    (Family::Cap, 2, 2),
    (Family::Device, 155, 135),
    (Family::Healthy, 30, 26),
    (Family::Layer, 57, 54),
    (Family::Load, 107, 85),
    (Family::Peer, 5, 5),
    (Family::Report, 11, 5),
];
/// Answers that the stated confidence counts for (of 2, 4, 6 and 8 the one with the smallest log
/// loss in folds by collection).
const COUNTS_FOR: f64 = 4.0;
/// Answers of a family from which on they tell something.
const ENOUGH: u32 = 10;

/// A stated confidence among first answers: how many, and of these the right ones.
pub fn confidence(stated: f64, (all, right): (u32, u32)) -> f64 {
    if all < ENOUGH {
        return stated;
    }
    (f64::from(right) + COUNTS_FOR * stated) / (f64::from(all) + COUNTS_FOR)
}

/// First answers of the family of a verdict, and of these the right ones; of none for a verdict
/// that is younger than all of them.
pub fn known(verdict: Verdict) -> (u32, u32) {
    if verdict == Verdict::LayerBelow {
        return (0, 0);
    }
    let row = FIRST_ANSWERS.iter().find(|(family, ..)| *family == verdict.family());
    row.map_or((0, 0), |(_, all, right)| (*all, *right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stated_counts_as_four_answers() {
        assert_eq!((confidence(0.9, (0, 0)), confidence(0.9, (9, 1))), (0.9, 0.9));
        assert!((confidence(0.6, (36, 35)) - 37.4 / 40.0).abs() < 1e-12);
        assert_eq!(known(Verdict::DeviceMedia), known(Verdict::DevicePath));
    }
}
