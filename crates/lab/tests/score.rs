//! The score over a small part of the simulated scenarios: the table is printed, and a fall fails.
#![allow(clippy::unwrap_used)]

use iowhy_diagnose::{Calibration, Options, judge};
use iowhy_lab::render::LEVELS;
use iowhy_lab::score::{Grade, Score, published, published_table};

/// Scenarios per verdict, and the seed of the corpus.
const CASES: (usize, u64) = (1, 2026);
/// Macro-F1 less 0.01, levels A to E, as measured on 2026-11-21 over the judge of commit bbf6cca
/// with `cargo run --release -p iowhy-lab -- score --cases 1 --seed 2026`: 0.922 and four times 0.957.
/// Raise them when they rise.
const FLOORS: [f64; 5] = [0.912, 0.947, 0.947, 0.947, 0.947];
/// Right first verdicts of the 30 captures of the first collection, all of them.
const FIRST_RIGHT: usize = 30;
/// Right first verdicts of the 30 of the second collection; the rest waits for readers.
const SECOND_RIGHT: usize = 6;
/// Right or rightly admitted of the 65 of the third collection: 60 on 2026-11-23, 57 when they were met.
const THIRD_RIGHT: usize = 60;
/// Right or rightly admitted of the 35 of the fourth collection: 34 today, 28 when they were met.
const FOURTH_RIGHT: usize = 34;
/// Right or rightly admitted of the 38 of the fifth collection: 35 today, 30 when they were met.
const FIFTH_RIGHT: usize = 35;
/// Right first verdicts of the 15 that version 0.1.0 judged wrongly.
const WEAK_RIGHT: usize = 14;

#[test]
fn verdicts_against_truth() {
    let score = Score::of(CASES.0, CASES.1).expect("the recipes are well written");
    println!("{}", score.tables());
    for (level, floor) in LEVELS.into_iter().zip(FLOORS) {
        let reached = score.tally(level).macro_f1();
        assert!(reached >= floor, "level {level:?} fell to {reached:.3}, the floor is {floor}");
    }
    let (accused, well) = score.accused(None);
    assert_eq!(accused, 0, "of {well} captures of healthy disks, as on that day");
}

#[test]
fn published_captures() {
    let cases = published().expect("the list is well written");
    println!("{}", published_table("all", &cases));
    let (mut first, mut second, mut third, mut fourth, mut fifth, mut weak) = (0, 0, 0, 0, 0, 0);
    let mut accused = Vec::new();
    for case in &cases {
        let told = case.told();
        accused.extend(told.accuses.map(|verdict| format!("{}: {verdict}", case.name)));
        let right = usize::from(matches!(told.grade, Grade::Right | Grade::Admitted));
        match case.collection() {
            "P2" => second += right,
            "P3" => third += right,
            "P4" => fourth += right,
            "P5" => fifth += right,
            "W" => weak += right,
            _ => first += right,
        }
    }
    // The medium error that the engine of a network volume makes up (P2-23).
    assert!(accused.len() <= 1, "disks that are well are accused: {accused:?}");
    assert!(first >= FIRST_RIGHT, "{first} of the first collection are right");
    assert!(weak >= WEAK_RIGHT, "{weak} of those that version 0.1.0 judged wrongly are right");
    assert!(second >= SECOND_RIGHT, "{second} of the second collection are right");
    assert!(third >= THIRD_RIGHT, "{third} of the third collection are right");
    assert!(fourth >= FOURTH_RIGHT, "{fourth} of the fourth collection are right");
    assert!(fifth >= FIFTH_RIGHT, "{fifth} of the fifth collection are right");
}

#[test]
fn what_is_said_first_has_its_own_confidence_and_nothing_else_changes() {
    let mut moved = 0;
    for case in published().unwrap() {
        let (recording, read) = case.recording();
        if read == 0 {
            continue;
        }
        let told = |calibration| judge(&recording, &Options { calibration, ..Options::default() });
        let (each, first) = (told(Calibration::Each), told(Calibration::First));
        let order = |findings: &[iowhy_model::Finding]| -> Vec<&str> {
            findings.iter().map(|finding| finding.verdict.name()).collect()
        };
        assert_eq!(order(&each), order(&first), "{}", case.name);
        assert_eq!(each.get(1..), first.get(1..), "{}", case.name);
        let (before, after) = (each[0].confidence, first[0].confidence);
        assert!(before < 0.6 || after >= 0.6, "{}: what stands stands", case.name);
        assert!(
            !first[0].blames_a_disk() || before >= 0.6 || after < 0.6,
            "{}: no disk is blamed",
            case.name
        );
        moved += usize::from((before - after).abs() > 0.01);
    }
    assert!(moved > 5, "{moved} moved");
}
