//! Written scenarios, judged: each is played in virtual time with several seeds, and the first
//! finding is compared with the expected one.

use std::collections::BTreeMap;
use std::fmt::Write;

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Finding, Recording};

use super::SAID_ALOUD;
use crate::written::{WrittenScenario, written};

/// What was reported of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct WrittenAnswer {
    /// The first verdict.
    pub verdict: String,
    /// Its confidence, 0 to 1.
    pub confidence: f64,
    /// Whether it is one of those expected.
    pub right: bool,
    /// Healthy disks that are accused in a headline.
    pub accused: Vec<String>,
}

/// Runs a scenario with this seed and judges it.
///
/// # Errors
/// If it names what does not exist, or its capture is not read.
pub fn answer(scenario: &WrittenScenario, seed: u64) -> Result<WrittenAnswer, String> {
    let text = scenario.capture(seed)?;
    let mut recording = Recording::new();
    iowhy_read::scan(&scenario.name, &mut text.as_bytes(), None, &mut recording)
        .map_err(|error| format!("{}: {error}", scenario.name))?;
    let findings = judge(&recording, &Options::default());
    let first = findings.first().ok_or_else(|| format!("{}: no finding", scenario.name))?;
    let model = crate::disk::Model::parse(&scenario.model)?;
    // After the faulty one, if any, come the healthy ones, if any.
    let others = if scenario.beside.1 { 0 } else { scenario.beside.0 };
    let well = u16::from(scenario.faulty())..=others;
    let well: Vec<String> =
        well.map(|place| model.device(u8::try_from(place).unwrap_or(u8::MAX))).collect();
    let accuses = |finding: &&Finding| {
        finding.blames_a_disk()
            && finding.explained_by.is_none()
            && finding.confidence() >= SAID_ALOUD
    };
    let accused = findings.iter().filter(accuses).filter_map(|finding| {
        let name = recording.device_of(finding.subject.device?).name.clone();
        well.contains(&name).then_some(name)
    });
    Ok(WrittenAnswer {
        verdict: first.verdict.name().to_string(),
        confidence: first.confidence(),
        right: scenario.accepts(first.verdict.name()),
        accused: accused.collect(),
    })
}

/// A table of all written scenarios, each with this many seeds from `seed` on.
///
/// # Errors
/// As [`answer`].
pub fn written_table(runs: u64, seed: u64) -> Result<String, String> {
    let mut out = String::from(
        "| scenario | expected | right | instead | healthy disks accused \
         |\n|---|---|--:|---|--:|\n",
    );
    let (mut all, mut all_right, mut all_accused) = (0, 0, 0);
    for scenario in written()? {
        let answers: Result<Vec<WrittenAnswer>, String> =
            (seed..seed + runs).map(|seed| answer(scenario, seed)).collect();
        let answers = answers?;
        let right = answers.iter().filter(|answer| answer.right).count();
        let accused = answers.iter().filter(|answer| !answer.accused.is_empty()).count();
        let mut instead: BTreeMap<&str, usize> = BTreeMap::new();
        for answer in answers.iter().filter(|answer| !answer.right) {
            *instead.entry(answer.verdict.as_str()).or_default() += 1;
        }
        let instead: Vec<String> =
            instead.iter().map(|(verdict, count)| format!("{verdict} {count}")).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {right} of {runs} | {} | {accused} |",
            scenario.name,
            scenario.owes(),
            instead.join(", ")
        );
        all += runs as usize;
        all_right += right;
        all_accused += accused;
    }
    let _ = writeln!(out, "\n{all_right} of {all} right; a healthy disk accused in {all_accused}.");
    Ok(out)
}
