//! The score over simulated disks: the table is printed, and a fall fails.

use iowhy_lab::score::Score;

/// Seeds per scenario.
const SEEDS: u64 = 3;
/// Right verdicts reached in November 2026, of 111. Raise it when it rises, never lower it.
const REACHED: usize = 105;

#[test]
fn verdicts_against_truth() {
    let score = Score::of(SEEDS).expect("the scenarios are well written");
    println!("{}", score.table());
    let (right, _) = score.right();
    assert!(right >= REACHED, "{right} right, {REACHED} were\n{}", score.table());
    assert_eq!(score.false_accusations(), 0, "a healthy disk was accused\n{}", score.table());
}
