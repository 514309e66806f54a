//! The tables of a score, as printed and kept in docs/results/accuracy.md.

use std::collections::BTreeMap;
use std::fmt::Write;

use iowhy_model::Level;

use super::{CaseVerdict, Score};
use crate::render::LEVELS;

/// Confusions that are listed.
const WORST: usize = 40;

/// One line per level.
pub(super) fn totals(score: &Score) -> String {
    let mut out = format!(
        "{:<6} {:>6} {:>8} {:>8} {:>9} {:>8} {:>8} {:>12}\n",
        "level", "n", "macro-F1", "accuracy", "acc@80 %", "Brier", "ECE", "false/1000"
    );
    for level in LEVELS {
        let summary = score.summary(level);
        let n: usize = summary.classes.values().map(super::Class::n).sum();
        let (accused, well) = score.accused(Some(level));
        let _ = writeln!(
            out,
            "{:<6} {n:>6} {:>8.3} {:>8.3} {:>9.3} {:>8.3} {:>8.3} {:>12}",
            level.letter(),
            summary.macro_f1(),
            summary.accuracy,
            summary.at_80,
            summary.brier,
            summary.sure.error(),
            format!("{:.1}", per_thousand(accused, well)),
        );
    }
    let (accused, well) = score.accused(None);
    let _ = writeln!(
        out,
        "{accused} of {well} captures of healthy disks accuse a disk at 0.6 or more: {:.1} per \
         1000",
        per_thousand(accused, well)
    );
    out
}

/// How far confidences are from what was right, before they are bounded by what their input can
/// carry in the field and after it, next to what this many answers would show of a judge whose
/// confidences are all true.
pub(super) fn reliability(score: &Score) -> String {
    let mut out = format!(
        "{:<6} {:>10} {:>10} {:>10} {:>10} {:>11} {:>12} {:>10} {:>10}\n",
        "level",
        "laboratory",
        "over",
        "under",
        "by chance",
        "1 in 20",
        "in the field",
        "over",
        "under"
    );
    for level in LEVELS {
        let summary = score.summary(level);
        let (before, after) = (summary.unbounded, summary.sure);
        let _ = writeln!(
            out,
            "{:<6} {:>10.3} {:>10.3} {:>10.3} {:>10.3} {:>11.3} {:>12.3} {:>10.3} {:>10.3}",
            level.letter(),
            before.error(),
            before.over,
            before.under,
            before.by_chance,
            before.seldom,
            after.error(),
            after.over,
            after.under,
        );
    }
    out.push_str("by chance: the value that true confidences show with as many answers\n");
    out
}

/// What that means where most disks are healthy: accusations per 1000 hours watched of healthy
/// disks, and how often an accusation is right where one capture in this many is of a faulty disk.
pub(super) fn in_the_field(score: &Score) -> String {
    let mut out = format!(
        "{:<6} {:>8} {:>8} {:>10} {:>12} {:>8} {:>13} {:>13} {:>13}\n",
        "level",
        "h well",
        "accused",
        "per 1000 h",
        "at most",
        "named",
        "1 in 5 bad",
        "1 in 20 bad",
        "1 in 100"
    );
    for level in LEVELS {
        let here = || score.judged.iter().filter(|judged| judged.level == level);
        let well: Vec<&CaseVerdict> = here().filter(|judged| !judged.faulty).collect();
        let faulty: Vec<&CaseVerdict> = here().filter(|judged| judged.faulty).collect();
        let hours = well.iter().map(|judged| judged.watched_s).sum::<f64>() / 3600.0;
        let accused = well.iter().filter(|judged| judged.accuses.is_some()).count();
        let named = faulty.iter().filter(|judged| judged.names).count();
        // Half a case more on each side, so that none seen is not none.
        let share = |part: usize, all: usize| (part as f64 + 0.5) / (all as f64 + 1.0);
        let (found, falsely) = (share(named, faulty.len()), share(accused, well.len()));
        let right = |faulty: f64| faulty * found / (faulty * found + (1.0 - faulty) * falsely);
        let _ = writeln!(
            out,
            "{:<6} {hours:>8.2} {accused:>8} {:>10.0} {:>12.0} {:>8.3} {:>13.3} {:>13.3} {:>13.3}",
            level.letter(),
            accused as f64 * 1000.0 / hours.max(1e-9),
            poisson_bound(accused) * 1000.0 / hours.max(1e-9),
            named as f64 / faulty.len().max(1) as f64,
            right(0.2),
            right(0.05),
            right(0.01),
        );
    }
    out.push_str("at most: the upper end of the 95 % interval of a Poisson count\n");
    out
}

/// The mean of which so few or fewer are counted once in twenty (Wilson and Hilferty's
/// approximation of the chi-squared quantile, within 1 % here).
fn poisson_bound(count: usize) -> f64 {
    let k = count as f64 + 1.0;
    k * (1.0 - 1.0 / (9.0 * k) + 1.645 / (3.0 * k.sqrt())).powi(3)
}

/// One line per scenario and level.
pub(super) fn answers(score: &Score) -> String {
    let mut out =
        "case,level,confounds,expected,first,laboratory,confidence,right,admitted,accuses,ledger\n"
            .to_string();
    for one in &score.judged {
        let _ = writeln!(
            out,
            "{},{},{},{},{},{:.4},{:.4},{},{},{},{}",
            one.case,
            one.level.letter(),
            one.confounds,
            one.expected,
            one.first,
            one.unbounded,
            one.confidence,
            one.right,
            one.admitted,
            one.accuses.unwrap_or_default(),
            one.ledger,
        );
    }
    out
}

fn per_thousand(part: usize, whole: usize) -> f64 {
    part as f64 * 1000.0 / whole.max(1) as f64
}

/// The verdicts of a level.
pub(super) fn level(score: &Score, level: Level) -> String {
    let mut out = format!(
        "{:<24} {:>5} {:>9} {:>7} {:>7} {:>9} {:>8}\n",
        format!("level {}", level.letter()),
        "n",
        "precision",
        "recall",
        "MCC",
        "admitted",
        "blame"
    );
    for (verdict, class) in &score.summary(level).classes {
        let share = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
        let _ = writeln!(
            out,
            "{verdict:<24} {:>5} {:>9} {:>7} {:>7.3} {:>9} {:>8}",
            class.n(),
            share(class.precision()),
            share(class.recall()),
            class.mcc(),
            class.admitted,
            class.blamed
        );
    }
    out.push('\n');
    out
}

/// The scenarios that are there to mislead: right of all, and accusations, per level.
pub(super) fn misleading(score: &Score) -> String {
    let mut rows: BTreeMap<&str, [(usize, usize, usize); LEVELS.len()]> = BTreeMap::new();
    for one in score.judged.iter().filter(|one| one.confounds) {
        let row = rows.entry(&one.recipe).or_default();
        let Some(place) = LEVELS.iter().position(|level| *level == one.level) else { continue };
        row[place].0 += usize::from(one.right);
        row[place].1 += 1;
        row[place].2 += usize::from(one.accuses.is_some());
    }
    let mut out = format!("{:<36}", "misleading: right/all (accused)");
    LEVELS.iter().for_each(|level| out.push_str(&format!(" {:>13}", level.letter())));
    out.push('\n');
    for (recipe, row) in rows {
        let _ = write!(out, "{recipe:<36}");
        for (right, all, accused) in row {
            let _ = write!(out, " {:>13}", format!("{right}/{all} ({accused})"));
        }
        out.push('\n');
    }
    out
}

/// The commonest mistakes, and the accusations, each with a case that shows it.
pub(super) fn mistakes(score: &Score) -> String {
    let mut out = "mistakes, commonest first: `lab score --case CASE --level LEVEL`\n".to_string();
    let wrong = score.judged.iter().filter(|one| !one.right);
    list(wrong, |one| one.reported, &mut out);
    out.push_str("\naccusations of healthy disks, commonest first\n");
    let accusing = score.judged.iter().filter(|one| one.accuses.is_some());
    list(accusing, |one| one.accuses.unwrap_or("-"), &mut out);
    out
}

fn list<'a>(
    judged: impl Iterator<Item = &'a CaseVerdict>,
    reported: impl Fn(&CaseVerdict) -> &'static str,
    out: &mut String,
) {
    let mut kinds: BTreeMap<(char, &str, &str), Vec<&CaseVerdict>> = BTreeMap::new();
    for one in judged {
        let kind = (one.level.letter(), one.recipe.as_str(), reported(one));
        kinds.entry(kind).or_default().push(one);
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
    for ((level, recipe, reported), cases) in kinds.iter().take(WORST) {
        let case = cases.first().map_or("-", |one| one.case.as_str());
        let number = case.rsplit(':').next().unwrap_or("-");
        let _ = writeln!(
            out,
            "{:>5} {level} {recipe:<36} -> {reported:<20} e.g. {recipe}:{number}",
            cases.len()
        );
    }
}
