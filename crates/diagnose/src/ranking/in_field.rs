//! Confidence against first answers: how often verdicts of a family named the right side of
//! captures that nobody had seen.
//!
//! The lab knows its own worlds. In other people's listings and logs a confidence of 0.65 was right
//! as often as one of 0.95, so what is stated counts as few answers beside those
//! (docs/decisions/0131). Histograms were right less often than their families, averages more
//! often: the level of the input shifts the odds (docs/decisions/0132). What a report of the kernel
//! or the disk made suspected of a device was right nearly as often (docs/decisions/0134).

use iowhy_model::{Family, Level, Verdict};

/// First answers at 0.6 or more of a family, and how many of these named the right side, in the
/// collections P26 to P54. `lab judgement --field` prints this table, and a test compares it.
pub const FIRST_ANSWERS: [(Family, u32, u32); 7] = [
    (Family::Cap, 2, 2),
    (Family::Device, 208, 187),
    (Family::Healthy, 44, 39),
    (Family::Layer, 84, 81),
    (Family::Load, 140, 113),
    (Family::Peer, 6, 6),
    (Family::Report, 13, 6),
];
/// The same answers by the level of their input: how many, the right ones, and how many right ones
/// their families led to expect, within the limits of their inputs.
pub const BY_LEVEL: [(Level, u32, u32, f64); 4] = [
    (Level::A, 95, 87, 78.2),
    (Level::B, 55, 43, 44.2),
    (Level::C, 7, 5, 6.0),
    (Level::E, 326, 293, 288.9),
];
/// Of the same collections: first answers from [`SUSPECTED`] to the bar that suspect a device by
/// what the kernel or the disk reported, without a doubt that keeps them there, and how many of
/// these named the right side. One that nobody can answer from the capture counts as wrong.
pub const SUSPICIONS: (u32, u32) = (26, 21);
/// Below this a suspicion is none that first answers tell something about.
pub const SUSPECTED: f64 = 0.5;
/// Answers that the stated confidence counts for, and that the mean share counts for beside those
/// of a level (of 2, 4, 8 and 16 with 10, 20, 40 and 80 the pair with the smallest log loss in
/// folds by collection, before the limits of inputs; docs/decisions/0132 has what they change).
const COUNTS_FOR: f64 = 8.0;
const LEVEL_COUNTS_FOR: f64 = 20.0;
/// The share of all first answers that were right.
const MEAN_SHARE: f64 = 0.85;
/// Answers of a family from which on they tell something.
pub const ENOUGH: u32 = 10;

/// A stated confidence among first answers: how many, and of these the right ones.
pub fn confidence(stated: f64, (all, right): (u32, u32)) -> f64 {
    if all < ENOUGH {
        return stated;
    }
    (f64::from(right) + COUNTS_FOR * stated) / (f64::from(all) + COUNTS_FOR)
}

/// The share of a family among answers of a level, of which so many were right instead of the
/// expected ones: the odds shift by the ratio of both.
pub fn at_level(share: f64, (all, right, expected): (u32, u32, f64)) -> f64 {
    let odds = |right: f64| {
        let wrong = f64::from(all) - right;
        (right + LEVEL_COUNTS_FOR * MEAN_SHARE) / (wrong + LEVEL_COUNTS_FOR * (1.0 - MEAN_SHARE))
    };
    let shifted = share / (1.0 - share) * odds(f64::from(right)) / odds(expected);
    shifted / (1.0 + shifted)
}

/// The answers of a level.
pub fn of_level(level: Level) -> (u32, u32, f64) {
    let row = BY_LEVEL.iter().find(|(of, ..)| *of == level);
    row.map_or((0, 0, 0.0), |(_, all, right, expected)| (*all, *right, *expected))
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
    fn what_is_stated_counts_as_eight_answers() {
        assert_eq!((confidence(0.9, (0, 0)), confidence(0.9, (9, 1))), (0.9, 0.9));
        assert!((confidence(0.6, (36, 35)) - 39.8 / 44.0).abs() < 1e-12);
        assert_eq!(known(Verdict::DeviceMedia), known(Verdict::DevicePath));
    }

    #[test]
    fn a_level_that_was_right_less_often_lowers_the_share() {
        assert_eq!(at_level(0.8, (0, 0, 0.0)), 0.8);
        // (14 + 17) / (6 + 3) beside (16 + 17) / (4 + 3): the odds of 4 become 2.92.
        assert!((at_level(0.8, (20, 14, 16.0)) - 0.745_15).abs() < 1e-4);
        assert!(at_level(0.8, (20, 18, 16.0)) > 0.8);
    }
}
