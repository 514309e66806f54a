//! The score over a small part of the simulated scenarios: the table is printed, and a fall fails.

use iowhy_diagnose::{Calibration, Options, judge};
use iowhy_lab::render::LEVELS;
use iowhy_lab::score::{Case, Grade, Score, published, published_table};
use iowhy_lab::written::written;
use iowhy_model::{Finding, Recording, Step};

/// Scenarios per verdict, and the seed of the corpus.
const CASES: (usize, u64) = (1, 2026);
/// Macro-F1 less 0.01, levels A to E, as measured on 2026-11-21 over the judge of commit bbf6cca
/// with `cargo run --release -p iowhy-lab -- score --cases 1 --seed 2026`: 0.922 and four times
/// 0.957. Raise them when they rise.
const FLOORS: [f64; 5] = [0.912, 0.947, 0.947, 0.947, 0.947];
/// Right or rightly admitted of each collection, at least: of those that were published, and of 15
/// simulated ones that version 0.1.0 judged wrongly. When they were met, before any rule was
/// changed for them, it was 57 of the third, 28 of the fourth, 30 of the fifth and of the sixth, 32
/// of the seventh and of the eighth, 23 of the ninth, 30 of the tenth, 41 of the eleventh, 33 of
/// the twelfth, 36 of the thirteenth, 31 of the fourteenth, 36 of the fifteenth, 28 of the
/// sixteenth, 33 of the seventeenth, 27 of the eighteenth, 18 of the nineteenth, 26 of the
/// twentieth, 31 of the twenty-first, 24 of the twenty-second, 31 of the twenty-third.
const RIGHT: [(&str, usize); 24] = [
    ("A", 30),
    ("P2", 29),
    ("P3", 64),
    ("P4", 34),
    ("P5", 37),
    ("P6", 37),
    ("P7", 39),
    ("P8", 37),
    ("P9", 30),
    ("P10", 36),
    ("P11", 48),
    ("P12", 48),
    ("P13", 40),
    ("P14", 38),
    ("P15", 38),
    ("P16", 38),
    ("P17", 39),
    ("P18", 32),
    ("P19", 21),
    ("P20", 32),
    ("P21", 32),
    ("P22", 36),
    ("P23", 31),
    ("W", 14),
];

#[test]
fn verdicts_against_truth() {
    let score = Score::of(CASES.0, CASES.1).expect("the recipes are well written");
    println!("{}", score.tables());
    for (level, floor) in LEVELS.into_iter().zip(FLOORS) {
        let reached = score.summary(level).macro_f1();
        assert!(reached >= floor, "level {level:?} fell to {reached:.3}, the floor is {floor}");
    }
    let (accused, well) = score.accused(None);
    assert_eq!(accused, 0, "of {well} captures of healthy disks, as on that day");
}

/// Cases of programs that are paused for their dirty pages, which other cases did not show: the
/// seed is that of the calibration.
#[test]
fn write_back_fills_healthy_disks_and_slow_ones() {
    let first = |name: &str, number: usize| {
        let case = Case::parse(&format!("{name}:{number}"), 1).expect(name);
        let answers = case.judge().expect("a capture that is read");
        let [answer] = &answers[..] else { panic!("{name}: only at level E") };
        (answer.first, answer.accuses, answer.confidence)
    };
    // A full cache before a platter, full buffers of flash: steps and a queue, but no fault.
    for (name, numbers) in [
        ("load.writeback/two-copies-beside-a-log", [0, 19, 23]),
        ("load.writeback/restore-beside-a-database", [8, 11, 20]),
        ("load.writeback/import-onto-flash", [0, 1, 33]),
    ] {
        for number in numbers {
            let (verdict, accuses, confidence) = first(name, number);
            assert_eq!((verdict, accuses), ("load.writeback", None), "{name}:{number}");
            assert!(confidence > 0.8, "{name}:{number}: {confidence}");
        }
    }
    // The near misses: hardly paused, a slow disk, a limited volume.
    for number in 0..3 {
        let (verdict, accuses, _) = first("load.saturated/hardly-paused", number);
        assert!(verdict != "load.writeback" && accuses.is_none(), "{number}: {verdict}");
        assert_eq!(first("device.slow/pages-of-a-slow-disk", number).0, "device.slow");
        assert_eq!(first("cap.volume/pages-of-a-limited-volume", number).0, "cap.volume");
    }
}

#[test]
fn published_captures() {
    let cases = published().expect("the list is well written");
    println!("{}", published_table("all", &cases));
    let mut accused = Vec::new();
    for (collection, least) in RIGHT {
        let mut right = 0;
        for case in cases.iter().filter(|case| case.collection() == collection) {
            let reported = case.reported();
            accused.extend(reported.accuses.map(|verdict| format!("{}: {verdict}", case.name)));
            right += usize::from(matches!(reported.grade, Grade::Right | Grade::Admitted));
        }
        assert!(right >= least, "{right} of {collection} are right, {least} were");
    }
    // An old SCSI disk (P9-09): 25 ms at 38 requests a second is slow for every disk of today. A
    // disk behind the SATA card of a small board (P20-23), whose commands time out: whether the
    // disk, the card, its supply or its driver was never found out.
    let known = |case: &String| case.starts_with("P9-09") || case.starts_with("P20-23");
    assert!(accused.iter().all(known), "disks that are well are accused: {accused:?}");
}

/// What the entries of a ledger make of each other, computed a second time.
fn added_up(finding: &Finding) -> f64 {
    let odds = |p: f64| p / (1.0 - p);
    finding.belief().entries().iter().fold(0.0, |p, entry| match &entry.step {
        Step::Prior(known) | Step::Curve(known) => *known,
        Step::Clause(clause) => {
            let after = odds(p) * clause.nats.exp();
            after / (1.0 + after)
        }
        Step::Doubt(most) | Step::Limit(most) => p.min(*most),
        Step::Floor(least) => p.max(*least),
        Step::Factor(times) => p * times,
    })
}

/// The samples of the readers.
fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let inside = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = inside.flat_map(|path| match path.is_dir() {
        true => files_below(&path),
        false => vec![path],
    });
    let is_golden = |path: &std::path::Path| path.extension().is_some_and(|end| end == "golden");
    files.filter(|path| !is_golden(path)).collect()
}

#[test]
fn every_ledger_adds_up_and_every_doubt_is_stated() {
    let mut findings: Vec<Finding> = Vec::new();
    for case in published().unwrap() {
        findings.extend(judge(&case.recording().0, &Options::default()));
    }
    for case in written().unwrap() {
        let text = case.capture(1).unwrap();
        let mut recording = Recording::new();
        iowhy_read::scan(&case.name, &mut text.as_bytes(), None, &mut recording).unwrap();
        findings.extend(judge(&recording, &Options::default()));
    }
    let before = findings.len();
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../read/samples");
    for path in files_below(std::path::Path::new(samples)) {
        let text = std::fs::read(&path).unwrap();
        let name = path.display().to_string();
        let mut recording = Recording::for_a_verdict();
        // What no format recognises has no finding.
        if iowhy_read::scan(&name, &mut &text[..], None, &mut recording).is_ok() {
            findings.extend(judge(&recording, &Options::default()));
        }
    }
    assert!(findings.len() > before + 400, "{} of the samples", findings.len() - before);
    assert!(findings.len() > 1000, "{} findings", findings.len());
    for finding in &findings {
        let (shown, sum) = (finding.confidence(), added_up(finding));
        assert!((shown - sum).abs() < 1e-9, "{shown} is shown, {sum} adds up: {finding:?}");
        assert!(!finding.belief().entries().is_empty(), "no reason: {finding:?}");
        for doubt in finding.belief().doubts() {
            let stated = finding.refuted_by.iter().any(|line| line == doubt);
            assert!(stated, "`{doubt}` is not under \"wrong if\": {finding:?}");
        }
    }
}

#[test]
fn the_first_finding_has_its_own_confidence_and_nothing_else_changes() {
    let mut moved = 0;
    for case in published().unwrap() {
        let (recording, read) = case.recording();
        if read == 0 {
            continue;
        }
        let reported =
            |calibration| judge(&recording, &Options { calibration, ..Options::default() });
        let (each, first) = (reported(Calibration::Each), reported(Calibration::First));
        let order = |findings: &[Finding]| -> Vec<&str> {
            findings.iter().map(|finding| finding.verdict.name()).collect()
        };
        assert_eq!(order(&each), order(&first), "{}", case.name);
        assert_eq!(each.get(1..), first.get(1..), "{}", case.name);
        let (before, after) = (each[0].confidence(), first[0].confidence());
        assert!(
            !first[0].blames_a_disk() || before >= 0.6 || after < 0.6,
            "{}: no disk is blamed",
            case.name
        );
        moved += usize::from((before - after).abs() > 0.01);
    }
    assert!(moved > 5, "{moved} moved");
}
