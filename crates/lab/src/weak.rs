//! Captures that earlier versions judged wrongly, two hundred variations of each kind, and how
//! often the first answer is right; and a score of blame on scenarios of another author.
//!
//! `lab weak` prints the table kept in `docs/results/weak.md`, `lab weak --blame` that of
//! `docs/results/blame.md`. A test runs a short form of both.
//!
//! **Must never know:** how a detector decides.

pub mod blame;
pub mod felt;
pub mod kinds;
pub mod parts;
pub mod print;
pub mod queue;

use std::fmt::Write;

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Finding, Recording};

use crate::scenarios::Chance;
use crate::score::of_all;
use kinds::{KINDS, Kind, Weak};

/// From this confidence on an answer is a headline (docs/METHOD.md, 11 Confidence).
const SAID_ALOUD: f64 = iowhy_model::STANDS;

/// What an answer was worth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Worth {
    /// It is right.
    Right,
    /// It accuses something other than the cause, as a headline.
    Accused,
    /// It shows that nothing is wrong though something is, or is surer than it may be.
    Cleared,
    /// It shows nothing aloud.
    Silent,
}

impl Weak {
    /// What the readers make of it.
    ///
    /// # Errors
    /// If nothing was recognised.
    pub fn recording(&self) -> Result<Recording, String> {
        let mut recording = Recording::new();
        for (name, text) in &self.inputs {
            iowhy_read::scan(name, &mut text.as_bytes(), None, &mut recording)
                .map_err(|error| format!("{name}: {error}"))?;
        }
        if let (Some(medium), Some(device)) = (self.reported, recording.find_device(self.disk)) {
            recording.set_medium(device, medium);
        }
        Ok(recording)
    }

    /// What the findings are worth.
    pub fn worth(&self, findings: &[Finding]) -> Worth {
        let Some(first) = findings.first() else { return Worth::Silent };
        let right = |finding: &Finding| self.right.contains(&finding.verdict.name());
        let aloud = |finding: &Finding| {
            finding.confidence() >= SAID_ALOUD
                && finding.explained_by.is_none()
                && finding.verdict != "insufficient"
        };
        // The border value itself is not beyond it.
        let surer = |finding: &Finding| finding.confidence() > SAID_ALOUD + 0.005;
        let accuses = |finding: &&Finding| aloud(finding) && finding.verdict != "healthy";
        if findings.iter().filter(accuses).any(|finding| !right(finding)) {
            return Worth::Accused;
        }
        if self.open && findings.iter().any(|finding| aloud(finding) && surer(finding)) {
            let accuses = findings.iter().any(|known| accuses(&known) && surer(known));
            return if accuses { Worth::Accused } else { Worth::Cleared };
        }
        match (aloud(first), right(first)) {
            (true, true) => Worth::Right,
            (true, false) => Worth::Cleared,
            // Both readings at the border, neither as a headline.
            (false, _) if self.open && first.verdict != "insufficient" => Worth::Right,
            (false, _) => Worth::Silent,
        }
    }
}

/// One variation: its kind and number, what it was worth, and what was reported first.
#[derive(Clone, Debug)]
pub struct Variation {
    /// The kind.
    pub kind: &'static str,
    /// Which variation.
    pub number: usize,
    /// What the answer was worth.
    pub worth: Worth,
    /// The first answer and its confidence.
    pub message: String,
}

/// A variation of a kind.
pub fn variation(kind: &Kind, number: usize) -> Weak {
    let (name, _, make) = kind;
    let seed = name
        .bytes()
        .fold(number as u64 + 1, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    make(&mut Chance::new(seed))
}

/// Judges this many variations of each kind.
///
/// # Errors
/// Never: what is not read counts as silent.
pub fn sweep(each: usize, only: Option<&str>) -> Result<Vec<Variation>, String> {
    let cases: Vec<(Kind, usize)> = KINDS
        .iter()
        .filter(|(name, _, _)| only.is_none_or(|only| only == *name))
        .flat_map(|kind| (0..each).map(|number| (*kind, number)))
        .collect();
    of_all(&cases, |(kind, number)| {
        let weak = variation(kind, *number);
        let (worth, message) = match weak.recording() {
            Err(error) => (Worth::Silent, error),
            Ok(recording) => {
                let findings = judge(&recording, &Options::default());
                let message = findings.first().map_or_else(String::new, |first| {
                    format!("{} {:.2}", first.verdict, first.confidence())
                });
                (weak.worth(&findings), message)
            }
        };
        Ok(vec![Variation { kind: kind.0, number: *number, worth, message }])
    })
}

/// What the judge reports of a variation, a finding a line.
pub fn reported(weak: &Weak) -> String {
    let recording = match weak.recording() {
        Ok(recording) => recording,
        Err(error) => return format!("not read: {error}\n"),
    };
    let line = |known: Finding| {
        format!("{} {:.2} {}\n", known.verdict, known.confidence(), known.sentence)
    };
    judge(&recording, &Options::default()).into_iter().map(line).collect()
}

/// The table of a sweep, with the commonest wrong answers.
pub fn table(tried: &[Variation]) -> String {
    let mut out = "| kind | situation | right | wrong accusation | wrong clean verdict | no \
         verdict | wrong verdicts |\n| --- | --- | --- | --- | --- | --- | --- |\n"
        .to_string();
    for (name, what, _) in KINDS {
        let of: Vec<&Variation> = tried.iter().filter(|tried| tried.kind == *name).collect();
        if of.is_empty() {
            continue;
        }
        let share = |worth: Worth| {
            let n = of.iter().filter(|tried| tried.worth == worth).count();
            format!("{:.1} %", 100.0 * n as f64 / of.len() as f64)
        };
        let mut wrong: Vec<(String, usize)> = Vec::new();
        let bad = |tried: &&&Variation| matches!(tried.worth, Worth::Accused | Worth::Cleared);
        for tried in of.iter().filter(bad) {
            let message = tried.message.split(' ').next().unwrap_or_default().to_string();
            match wrong.iter_mut().find(|(known, _)| *known == message) {
                Some((_, n)) => *n += 1,
                None => wrong.push((message, 1)),
            }
        }
        wrong.sort_by_key(|(message, n)| (std::cmp::Reverse(*n), message.clone()));
        let wrong: Vec<String> =
            wrong.iter().take(3).map(|(message, n)| format!("{message} {n}")).collect();
        let _ = writeln!(
            out,
            "| {name} | {what} | {} | {} | {} | {} | {} |",
            share(Worth::Right),
            share(Worth::Accused),
            share(Worth::Cleared),
            share(Worth::Silent),
            wrong.join(", ")
        );
    }
    out
}
