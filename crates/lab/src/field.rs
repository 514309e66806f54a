//! What first answers to captures that nobody had seen teach of a confidence: the table by family
//! of verdict, and how well it holds in collections that it was not made from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::iter;

use iowhy_diagnose::in_field;
use iowhy_model::{Family, Level, STANDS, Verdict};
use serde_json::Value;

/// The whole screens of collections that are not in the tree, graded once, when they were met, each
/// with the ledger of its first answer: what weights could be learned from, since nothing was
/// mended for these before.
const FIRST_MEETINGS: &str = include_str!("../published/first_meetings.jsonl");
/// What the ledger calls the step that they are for.
const OF_FIELD: &str = " first answers of its family ";
/// The same of a suspicion, which counts among suspicions once it is a headline, too.
const OF_SUSPICIONS: &str = " first suspicions from reports ";
/// Bounds of the bins of a confidence.
pub(crate) const BINS: [f64; 5] = [STANDS, 0.7, 0.8, 0.9, 1.01];

/// Answers from which on a bin of one level is shown.
const SHOWN: usize = 20;

/// A first answer that was a headline.
struct Answer {
    collection: String,
    family: Family,
    /// The level of its input, `A: averages`; empty for what needs no richer input.
    level: String,
    stated: f64,
    /// What its doubts and its input limit it to.
    limit: f64,
    right: bool,
}

impl Answer {
    fn is_of(&self) -> Option<Level> {
        let letter = self.level.chars().next()?;
        Level::ALL.into_iter().find(|level| level.letter() == letter)
    }
}

/// Answers of a family, and of these the right ones; answers of a level, the right ones, and how
/// many right ones their families led to expect.
#[derive(Default)]
struct Counts {
    families: BTreeMap<Family, (u32, u32)>,
    levels: BTreeMap<Level, (u32, u32, f64)>,
}

impl Counts {
    fn of<'a>(answers: impl Iterator<Item = &'a Answer> + Clone) -> Counts {
        let mut counts = Counts::default();
        for answer in answers.clone() {
            let (all, right) = counts.families.entry(answer.family).or_default();
            *all += 1;
            *right += u32::from(answer.right);
        }
        for answer in answers {
            let share = counts.share(answer);
            let Some(level) = answer.is_of() else { continue };
            let (all, right, expected) = counts.levels.entry(level).or_default();
            *all += 1;
            *right += u32::from(answer.right);
            *expected += share.min(answer.limit);
        }
        counts
    }

    /// The share of its family.
    fn share(&self, answer: &Answer) -> f64 {
        let known = self.families.get(&answer.family).copied().unwrap_or_default();
        in_field::confidence(answer.stated, known)
    }

    /// The same at the level of its input.
    fn confidence(&self, answer: &Answer) -> f64 {
        let is_known =
            self.families.get(&answer.family).is_some_and(|(all, _)| *all >= in_field::ENOUGH);
        let level = answer.is_of().filter(|_| is_known).and_then(|level| self.levels.get(&level));
        let share = in_field::at_level(self.share(answer), level.copied().unwrap_or_default());
        share.min(answer.limit).max(STANDS)
    }
}

/// The first answers, as they were kept.
pub(crate) fn answers() -> Result<Vec<Value>, String> {
    let answers: Result<Vec<Value>, _> = FIRST_MEETINGS.lines().map(serde_json::from_str).collect();
    answers.map_err(|error| error.to_string())
}

fn headlines() -> Result<Vec<Answer>, String> {
    let answers = answers()?;
    let headline = |answer: &Value| {
        let grade = answer["grade"].as_str()?;
        answer["confidence"].as_f64().filter(|shown| *shown >= STANDS)?;
        if before(answer, OF_SUSPICIONS).is_some() {
            return None;
        }
        let stated = stated(answer)?;
        matches!(grade, "right" | "weak" | "wrong").then_some(())?;
        Some(Answer {
            collection: answer["collection"].as_str()?.to_string(),
            family: Verdict::named(answer["verdict"].as_str()?)?.family(),
            level: level_of(answer).unwrap_or_default(),
            stated,
            limit: limit(answer),
            right: grade != "wrong",
        })
    };
    Ok(answers.iter().filter_map(headline).collect())
}

/// First answers below the bar that suspect a device by what the kernel or the disk reported, with
/// no doubt that keeps them there, and how many named the right side: what nobody can answer from
/// its capture is none of these.
fn suspicions() -> Result<(u32, u32), String> {
    let seen: Vec<bool> = answers()?.iter().filter_map(right_suspicion).collect();
    Ok((seen.len() as u32, seen.iter().filter(|right| **right).count() as u32))
}

/// Whether an answer that is such a suspicion is right.
fn right_suspicion(answer: &Value) -> Option<bool> {
    let stated = before(answer, OF_SUSPICIONS).or(answer["confidence"].as_f64())?;
    let family = Verdict::named(answer["verdict"].as_str()?)?.family();
    let reported = level_of(answer)?.starts_with(Level::E.letter());
    let counts = (in_field::SUSPECTED..STANDS).contains(&stated)
        && family == Family::Device
        && reported
        && limit(answer) >= STANDS;
    counts.then(|| matches!(answer["grade"].as_str(), Some("right" | "weak")))
}

/// The confidence before first answers changed it.
fn stated(answer: &Value) -> Option<f64> {
    Some(before(answer, OF_FIELD).or(answer["confidence"].as_f64())?.max(STANDS))
}

/// The confidence before the step whose reason contains these words, if its ledger has it.
fn before(answer: &Value, step: &str) -> Option<f64> {
    let ledger = answer["ledger"].as_array()?;
    let is_it = |entry: &Value| entry["why"].as_str().is_some_and(|why| why.contains(step));
    let place = ledger.iter().position(is_it)?.checked_sub(1)?;
    ledger[place]["after"].as_f64()
}

/// The least limit or doubt of the ledger.
fn limit(answer: &Value) -> f64 {
    let ledger = answer["ledger"].as_array().into_iter().flatten();
    let limits = ledger.filter(|entry| matches!(entry["step"].as_str(), Some("doubt" | "limit")));
    limits.filter_map(|entry| entry["weight"].as_f64()).fold(1.0, f64::min)
}

/// The level that its ledger names.
fn level_of(answer: &Value) -> Option<String> {
    let reasons = answer["ledger"].as_array()?.iter().filter_map(|entry| entry["why"].as_str());
    reasons.filter_map(|why| why.strip_prefix("level ")).next().map(str::to_string)
}

/// The rows of [`in_field::FIRST_ANSWERS`] and of [`in_field::BY_LEVEL`], and
/// [`in_field::SUSPICIONS`].
///
/// # Errors
/// If the answers cannot be read.
pub fn table() -> Result<String, String> {
    let counts = Counts::of(headlines()?.iter());
    let families = counts.families.iter();
    let families = families
        .map(|(family, (all, right))| format!("    (Family::{family:?}, {all}, {right}),\n"));
    let levels = counts.levels.iter().map(|(level, (all, right, expected))| {
        format!("    (Level::{level:?}, {all}, {right}, {expected:.1}),\n")
    });
    let (all, right) = suspicions()?;
    Ok(families.chain(levels).chain([format!("    ({all}, {right})\n")]).collect())
}

/// Confidence and share of right answers, as stated and as the other collections, and the earlier
/// ones alone, would have had it.
///
/// # Errors
/// If the answers cannot be read.
pub fn held() -> Result<String, String> {
    let answers = headlines()?;
    let number = |answer: &Answer| answer.collection.trim_start_matches('P').parse::<u32>().ok();
    let of_others = |one: &Answer, only_earlier: bool| {
        let others = answers.iter().filter(|other| match only_earlier {
            true => number(other) < number(one),
            false => other.collection != one.collection,
        });
        Counts::of(others).confidence(one)
    };
    let mut out = String::from(
        "## Confidence of first answers, and how many named the right side\n\n\
         | confidence | as stated | right | by the other collections | right | by the earlier ones \
         | right |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let stated: Vec<f64> = answers.iter().map(|one| one.stated).collect();
    let [others, earlier] = [false, true]
        .map(|only| answers.iter().map(|one| of_others(one, only)).collect::<Vec<f64>>());
    let levels: BTreeSet<&str> = answers.iter().map(|one| one.level.as_str()).collect();
    for level in iter::once(None).chain(levels.into_iter().map(Some)) {
        let is_of = |one: &Answer| level.is_none_or(|level| one.level == level);
        for bin in BINS.windows(2) {
            let binned = |confidences: &[f64]| {
                let here = answers.iter().zip(confidences.iter().copied());
                let here = here.filter(|(one, sure)| is_of(one) && (bin[0]..bin[1]).contains(sure));
                here.map(|(one, sure)| (sure, one.right)).collect::<Vec<_>>()
            };
            let columns = [&stated, &others, &earlier].map(|confidences| binned(confidences));
            if level.is_some() && columns[1].len() < SHOWN {
                continue;
            }
            let of = level.map_or(String::new(), |level| format!(", {level}"));
            let _ = write!(out, "| {:.1} to {:.1}{of} |", bin[0], bin[1].min(1.0));
            for here in columns {
                let n = here.len().max(1) as f64;
                let mean: f64 = here.iter().map(|(sure, _)| sure).sum::<f64>() / n;
                let right = here.iter().filter(|(_, right)| *right).count() as f64 / n;
                let _ = write!(out, " {mean:.2} ({}) | {right:.2} |", here.len());
            }
            out.push('\n');
        }
    }
    let loss = |confidences: &[f64]| {
        let sum: f64 = answers
            .iter()
            .zip(confidences)
            .map(|(one, sure)| -(if one.right { *sure } else { 1.0 - sure }).max(1e-9).ln())
            .sum();
        sum / answers.len().max(1) as f64
    };
    let _ = writeln!(
        out,
        "\nLog loss {:.3} as stated, {:.3} by the other collections, {:.3} by the earlier ones.\n",
        loss(&stated),
        loss(&others),
        loss(&earlier)
    );
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_in_the_diagnosis_is_that_of_the_answers() {
        let counts = Counts::of(headlines().unwrap().iter());
        let families = counts.families.into_iter();
        let families: Vec<_> =
            families.map(|(family, (all, right))| (family, all, right)).collect();
        assert_eq!(families, in_field::FIRST_ANSWERS);
        let levels: Vec<_> = counts.levels.into_iter().collect();
        assert_eq!(levels.len(), in_field::BY_LEVEL.len());
        for ((level, (all, right, expected)), known) in levels.iter().zip(in_field::BY_LEVEL) {
            assert_eq!((*level, *all, *right), (known.0, known.1, known.2));
            assert!((expected - known.3).abs() <= 0.05, "{level:?}: {expected} is not {}", known.3);
        }
        assert_eq!(suspicions().unwrap(), in_field::SUSPICIONS);
    }

    #[test]
    fn a_suspicion_that_became_a_headline_counts_as_one() {
        let why = format!("calibration: of 24{OF_SUSPICIONS}19 were right");
        let answer = serde_json::json!({
            "grade": "wrong", "verdict": "device.stall", "confidence": 0.74, "ledger": [
                { "step": "factor", "why": "level E: a trace with reports", "after": 0.57 },
                { "step": "curve", "why": why, "after": 0.74 },
            ],
        });
        assert_eq!(right_suspicion(&answer), Some(false));
        assert_eq!((before(&answer, OF_SUSPICIONS), before(&answer, OF_FIELD)), (Some(0.57), None));
    }
}
