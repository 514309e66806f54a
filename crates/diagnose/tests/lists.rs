//! The list of detectors is complete, sorted, and each member carries its manual.

use iowhy_diagnose::{DETECTORS, find};
use iowhy_model::Verdict;

const HEADINGS: [&str; 6] =
    ["## Accuses", "## Why it matters", "## Needs", "## Rule", "## Wrong if", "## Next step"];

#[test]
fn the_list_is_sorted_and_each_verdict_can_be_found() {
    assert!(DETECTORS.is_sorted_by(|a, b| a.verdict < b.verdict));
    for detector in DETECTORS {
        assert_eq!(find(detector.verdict).map(|found| found.summary), Some(detector.summary));
        assert!(detector.needs.level <= detector.needs.sure_from, "{}", detector.verdict.name());
        assert!(detector.needs.seconds > 0 && !detector.needs.what.is_empty());
        assert!(!detector.summary.ends_with('.'), "{}", detector.verdict.name());
    }
    let verdicts: Vec<Verdict> = DETECTORS.iter().map(|detector| detector.verdict).collect();
    assert_eq!(verdicts, Verdict::ALL, "each verdict of the list has a detector");
}

#[test]
fn every_manual_has_its_headings_in_order() {
    for detector in DETECTORS {
        assert!(detector.manual.starts_with("//! "), "{}", detector.verdict.name());
        let places: Vec<usize> = HEADINGS
            .iter()
            .map(|heading| {
                let line = format!("//! {heading}\n");
                detector
                    .manual
                    .find(&line)
                    .unwrap_or_else(|| panic!("{}: {heading}", detector.verdict.name()))
            })
            .collect();
        assert!(places.is_sorted(), "{}", detector.verdict.name());
    }
}

#[test]
#[allow(clippy::disallowed_methods)]
fn the_folder_is_the_list_and_a_file_is_named_by_its_verdict() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/detectors");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut names: Vec<String> = DETECTORS
        .iter()
        .map(|d| d.verdict.name().replacen('.', "_", 1).replace('-', "_"))
        .collect();
    names.sort();
    assert_eq!(files, names);
}
