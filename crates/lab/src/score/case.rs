//! One scenario shown to the judge at every level.

use std::fmt::Write;

use iowhy_diagnose::{Calibration, Options, judge};
use iowhy_model::{Entry, Finding, Impact, Level, Nanos, Recording, Severity, Step};

use super::SAID_ALOUD;
use super::accepted::accepts;
use crate::render;
use crate::scenarios::{Recipe, Scenario, Truth, recipes};

/// A scenario by the recipe that makes it and its number.
#[derive(Clone, Copy)]
pub struct Case {
    /// The recipe.
    pub recipe: Recipe,
    /// Which of its scenarios.
    pub number: usize,
    /// The seed of the corpus.
    pub seed: u64,
}

/// The judgement of a scenario at a level.
#[derive(Clone, Debug)]
pub struct CaseVerdict {
    /// `device.retry/mild:17`.
    pub case: String,
    /// `device.retry/mild`.
    pub recipe: String,
    /// How rich the input was.
    pub level: Level,
    /// Whether the scenario is only there to mislead.
    pub confounds: bool,
    /// The verdict expected.
    pub expected: &'static str,
    /// The first verdict, by the name of the one expected if it is as good.
    pub reported: &'static str,
    /// The first verdict by its own name.
    pub first: &'static str,
    /// Its confidence.
    pub confidence: f64,
    /// What the laboratory alone makes of it, before it is bounded by what its input can carry in
    /// the field.
    pub unbounded: f64,
    /// How that was reached: step, reason and weight of each entry of its ledger.
    pub ledger: String,
    /// Whether it is right or as good.
    pub right: bool,
    /// Whether it is right by admitting that the input is not enough.
    pub admitted: bool,
    /// Whether the first verdict that blames something is right.
    pub blame_right: bool,
    /// Whether a disk is faulty.
    pub faulty: bool,
    /// The accusation of a disk that is well, if there is one.
    pub accuses: Option<&'static str>,
    /// Whether a faulty disk is accused aloud, rightly, and nothing explains it away.
    pub names: bool,
    /// How long was watched, s.
    pub watched_s: f64,
}

/// One finding, and whether it is right.
#[derive(Clone, Debug)]
pub struct Opinion {
    /// How rich the input was.
    pub level: Level,
    /// The verdict.
    pub verdict: &'static str,
    /// Its confidence as weighed.
    pub confidence: f64,
    /// Whether it is right or as good.
    pub right: bool,
    /// Whether it is reported first.
    pub leads: bool,
    /// What it rests on.
    pub weighed: Option<Weighed>,
}

/// What the rule of a finding made of its clauses, before anything bounds it.
#[derive(Clone, Debug)]
pub struct Weighed {
    /// The log odds of its prior, nats.
    pub prior: f64,
    /// Its clauses and what each adds, nats.
    pub clauses: Vec<(String, f64)>,
}

impl Weighed {
    /// That of a finding; `None` where the rule has no clauses, or where doubts say more than they.
    pub fn of(finding: &Finding) -> Option<Weighed> {
        let entries = finding.belief().entries();
        let Some(Step::Prior(prior)) = entries.first().map(|entry| &entry.step) else {
            return None;
        };
        let clause = |entry: &Entry| match &entry.step {
            Step::Clause(clause) => Some((clause.what.to_string(), clause.nats)),
            _ => None,
        };
        let clauses: Vec<(String, f64)> = entries[1..].iter().map_while(clause).collect();
        let after = finding.belief().after(1 + clauses.len());
        let plain = !clauses.is_empty() && finding.belief().doubted_to() >= after;
        plain.then(|| Weighed { prior: (prior / (1.0 - prior)).ln(), clauses })
    }
}

/// The ledger of a finding on one line, each clause with the value and bound that it compared:
/// `prior 0.200 prior of this verdict | clause +3.000 lost time (0.810 > 0.300) | ...`.
pub(super) fn ledger(finding: &Finding) -> String {
    let steps = finding.belief().entries().iter();
    let steps = steps.map(|entry| {
        let compared = entry.step.compared();
        let compared = compared.map(|(value, bound)| format!(" ({value:.3} {bound})"));
        format!(
            "{} {:.3} {}{}",
            entry.step.name(),
            entry.step.weight(),
            entry.why.replace(',', ";"),
            compared.unwrap_or_default()
        )
    });
    steps.collect::<Vec<String>>().join(" | ")
}

impl Case {
    /// The case of a given name, `device.retry/mild:17`.
    pub fn parse(text: &str, seed: u64) -> Option<Case> {
        let (name, number) = text.rsplit_once(':')?;
        let (verdict, name) = name.split_once('/')?;
        let recipe = recipes().into_iter().find(|r| r.verdict == verdict && r.name == name)?;
        Some(Case { recipe, number: number.parse().ok()?, seed })
    }

    /// Its name.
    pub fn name(&self) -> String {
        format!("{}/{}:{}", self.recipe.verdict, self.recipe.name, self.number)
    }

    /// The scenario.
    ///
    /// # Errors
    /// If the recipe is written wrong.
    pub fn scenario(&self) -> Result<Scenario, String> {
        Scenario::of(&self.recipe, self.own_seed())
            .map_err(|error| format!("{}: {error}", self.name()))
    }

    /// The same scenario after the cure.
    ///
    /// # Errors
    /// If the recipe is written wrong.
    pub fn cured(&self) -> Result<Scenario, String> {
        let scenario = Scenario::cured(&self.recipe, self.own_seed());
        scenario.map_err(|error| format!("{}: {error}", self.name()))
    }

    fn own_seed(&self) -> u64 {
        // FNV-1a: a case keeps its scenario when recipes are added beside it.
        let text = format!("{} {}", self.name(), self.seed);
        text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// Shows the scenario to the judge at every level it can be reported at.
    ///
    /// # Errors
    /// If the recipe is written wrong, or a rendering is not read.
    pub fn judge(&self) -> Result<Vec<CaseVerdict>, String> {
        let scenario = self.scenario()?;
        self.recipe.levels.iter().map(|level| self.at(&scenario, *level)).collect()
    }

    pub(super) fn at(&self, scenario: &Scenario, level: Level) -> Result<CaseVerdict, String> {
        let named = |error: String| format!("{} at {}: {error}", self.name(), level.letter());
        let inputs = render::inputs(scenario, level).map_err(named)?;
        let recording = render::recording(scenario, level, &inputs).map_err(named)?;
        let findings = judge(&recording, &Options::default());
        let answers = Answers { truth: &scenario.truth, scenario, level, recording: &recording };
        let first = findings.first();
        let confidence = first.map_or(0.0, |first| first.confidence());
        let laboratory = Options { calibration: Calibration::First, ..Options::default() };
        let before = judge(&recording, &laboratory);
        let same = before.first().filter(|same| {
            first.is_some_and(|f| {
                (f.verdict, f.subject.device) == (same.verdict, same.subject.device)
            })
        });
        let right = first.is_some_and(|first| answers.right(first));
        let blames = |finding: &&Finding| !finding.verdict.accuses_nobody();
        let blame = findings.iter().find(blames);
        let expected = scenario.truth.verdict;
        let reported = match first {
            None => "-",
            Some(_) if right => expected,
            Some(first) if first.verdict == expected => "other device",
            Some(first) => first.verdict.name(),
        };
        Ok(CaseVerdict {
            case: self.name(),
            recipe: format!("{}/{}", self.recipe.verdict, self.recipe.name),
            level,
            confounds: self.recipe.confounds,
            expected,
            reported,
            first: first.map_or("-", |first| first.verdict.name()),
            confidence,
            unbounded: same.map_or(confidence, |same| same.confidence()),
            ledger: first.map(ledger).unwrap_or_default(),
            right,
            admitted: right
                && expected != "insufficient"
                && first.is_some_and(|first| first.verdict == "insufficient"),
            blame_right: blame.is_some_and(|blame| answers.right(blame)),
            faulty: scenario.truth.faulty,
            accuses: (!scenario.truth.faulty).then(|| answers.accusation(&findings)).flatten(),
            names: scenario.truth.faulty && answers.names(&findings),
            watched_s: scenario.span as f64 / 1e9,
        })
    }

    /// What the judge thinks of the scenario at every level, not calibrated further than said, and
    /// whether it is right.
    ///
    /// # Errors
    /// If the recipe is written wrong, or a rendering is not read.
    pub fn opinions(&self, calibration: Calibration) -> Result<Vec<Opinion>, String> {
        let scenario = self.scenario()?;
        let mut opinions = Vec::new();
        for level in self.recipe.levels.iter().copied() {
            let inputs = render::inputs(&scenario, level)?;
            let recording = render::recording(&scenario, level, &inputs)?;
            let answers = Answers {
                truth: &scenario.truth,
                scenario: &scenario,
                level,
                recording: &recording,
            };
            let options = Options { calibration, ..Options::default() };
            let findings = judge(&recording, &options);
            let ranked = findings.iter().enumerate();
            let open = ranked.filter(|(_, finding)| finding.explained_by.is_none());
            opinions.extend(open.map(|(rank, finding)| Opinion {
                level,
                leads: rank == 0,
                verdict: finding.verdict.name(),
                confidence: finding.confidence(),
                right: answers.right(finding),
                weighed: Weighed::of(finding),
            }));
        }
        Ok(opinions)
    }

    /// What a tool would have printed, the truth, and everything the judge says.
    ///
    /// # Errors
    /// If the recipe is written wrong, or the rendering is not read.
    pub fn story(&self, level: Level) -> Result<String, String> {
        let scenario = self.scenario()?;
        let inputs = render::inputs(&scenario, level)?;
        let recording = render::recording(&scenario, level, &inputs)?;
        let mut out = String::new();
        for input in &inputs {
            let _ = writeln!(out, "== {}\n{}", input.name, input.text);
        }
        let _ = writeln!(out, "== truth of {}\n{:?}", self.name(), scenario.truth);
        for disk in &scenario.disks {
            let _ = writeln!(out, "{:?} served {} requests", disk.setup, disk.done.len());
        }
        if let Some(share) = scenario.share() {
            let _ = writeln!(out, "the fault caused {:.0} % of the excess", share * 100.0);
        }
        out.push_str("\n== findings\n");
        for finding in judge(&recording, &Options::default()) {
            let device = finding.subject.device.map(|id| recording.device_of(id).name.as_str());
            let _ = writeln!(
                out,
                "{} {} confidence {:.2} explains {:.2} explained by {}: {}",
                finding.verdict,
                device.unwrap_or("-"),
                finding.confidence(),
                finding.explained_share,
                finding.explained_by.map_or("-", |by| by.name()),
                finding.sentence
            );
            for line in &finding.evidence {
                let (value, bound) = (line.amount.value, line.bound);
                let _ = writeln!(
                    out,
                    "    {} = {value:.4} {:?} {bound:?}",
                    line.quantity, line.amount.unit
                );
            }
        }
        Ok(out)
    }
}

/// The right answers for a scenario at a level.
struct Answers<'a> {
    truth: &'a Truth,
    scenario: &'a Scenario,
    level: Level,
    recording: &'a Recording,
}

impl Answers<'_> {
    fn right(&self, finding: &Finding) -> bool {
        let about = finding.subject.device.map(|id| self.recording.device_of(id).name.as_str());
        let faulty = self.truth.device.and_then(|place| self.scenario.disks.get(place));
        let same = match (about, faulty) {
            (Some(about), Some(faulty)) => about == faulty.setup.name,
            _ => true,
        };
        same && (finding.verdict == self.truth.verdict
            || self.truth.also.contains(&finding.verdict.name())
            || accepts(self.truth.verdict, self.level, finding.verdict.name())
            || self.truth.verdict == "device.idle-wake"
                && finding.verdict == "healthy"
                && self.is_unfelt())
    }

    /// Whether the delay goes unnoticed: a device that sleeps is healthy then (docs/METHOD.md, 11
    /// Confidence, impact).
    fn is_unfelt(&self) -> bool {
        let done = self.truth.device.and_then(|place| self.scenario.disks.get(place));
        let waits = done.map_or(&[][..], |disk| &disk.done).iter();
        let mut waits: Vec<u64> =
            waits.map(|done| done.completed.saturating_sub(done.queued)).collect();
        waits.sort_unstable();
        let (all, n) = (waits.iter().sum::<u64>() as f64, waits.len().max(1) as f64);
        let nanos = |ns: Option<u64>| ns.map(|ns| Nanos(ns as i64));
        let impact = Impact {
            waited_per_s: Some(all / self.scenario.span.max(1) as f64),
            mean: nanos(Some((all / n) as u64)),
            median: nanos(waits.get(waits.len() / 2).copied()),
            longest: nanos(waits.last().copied()),
            ..Impact::default()
        };
        impact.severity() == Some(Severity::None)
    }

    /// Whether a disk is rightly named as faulty, aloud.
    fn names(&self, findings: &[Finding]) -> bool {
        findings.iter().any(|finding| {
            finding.blames_a_disk()
                && finding.explained_by.is_none()
                && finding.confidence() >= SAID_ALOUD
                && self.right(finding)
        })
    }

    /// A disk named as faulty, aloud, which nothing else explains.
    fn accusation(&self, findings: &[Finding]) -> Option<&'static str> {
        let accuses = |finding: &&Finding| {
            let verdict = finding.verdict.name();
            finding.blames_a_disk()
                && verdict != self.truth.verdict
                && !self.truth.also.contains(&verdict)
                && finding.explained_by.is_none()
                && finding.confidence() >= SAID_ALOUD
        };
        findings.iter().find(accuses).map(|finding| finding.verdict.name())
    }
}
