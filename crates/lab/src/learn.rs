//! Fits the weights of clauses to known truths: one small regularised fit per verdict, in folds by
//! collection (docs/METHOD.md, 11 Confidence).
//!
//! A rule adds the weights of its clauses to the log odds as if each were independent evidence.
//! Here each clause gets a factor on its stated weight and each verdict a shift of its prior, by
//! logistic regression with a normal prior around "as stated" (factor 1, shift 0), fitted by
//! Newton's method. A fold leaves out a whole collection, or all worlds of an author; what is
//! fitted to the rest is tested on it. A factor below 0 would mean that the clause supports the
//! opposite.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use iowhy_diagnose::{Calibration, Options, judge};
use iowhy_model::{Blame, Finding, Recording, Verdict};
use serde_json::Value;

use crate::field;
use crate::score::{Grade, Opinion, Weighed, of_all, opinions, published};
use crate::weak::blame::{SHOWN, WORLDS, World, blamed, scenario};

/// Standard deviation of a factor around 1, and of a shift around 0, in nats, before anything was
/// seen (choices).
const FACTOR: f64 = 0.5;
const SHIFT: f64 = 1.0;
/// Captures that all simulated worlds of an author are worth together, per verdict (a choice): they
/// are many, and made by people who knew the rules.
const AUTHOR: f64 = 40.0;
/// Steps of Newton's method: it has converged after a few.
const STEPS: usize = 25;
const HALVINGS: i32 = 20;

/// A finding of known truth.
struct Row {
    /// What is left out together: a collection, or an author's worlds.
    fold: String,
    verdict: &'static str,
    weighed: Weighed,
    right: bool,
    /// Its weight.
    worth: f64,
}

/// The table: this many scenarios per verdict, and this many worlds of each kind.
///
/// # Errors
/// If a recipe is written wrong, or a capture is not read.
pub fn learned(cases: usize, each: usize, seed: u64) -> Result<String, String> {
    let mut rows = of_strangers()?;
    rows.extend(of_scenarios(opinions(cases, seed)?));
    rows.extend(of_worlds(each)?);
    shared_out(&mut rows);
    let verdicts: BTreeSet<&str> = rows.iter().map(|row| row.verdict).collect();
    let mut out = String::from(
        "| verdict | findings | right | said, as stated | log loss left out: as stated | learned \
         |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut clauses = String::from(
        "| verdict | clause | findings | mean weight, nats | factor | in the folds |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for verdict in verdicts {
        report_verdict(verdict, &rows, &mut out, &mut clauses);
    }
    Ok(format!("{out}\n{}\n{clauses}", at_first_meetings(&rows)?))
}

/// The row of a verdict, and those of its clauses.
fn report_verdict(verdict: &str, rows: &[Row], out: &mut String, clauses: &mut String) {
    let of: Vec<&Row> = rows.iter().filter(|row| row.verdict == verdict).collect();
    let names = names(&of);
    let folds: BTreeSet<&str> = of.iter().map(|row| row.fold.as_str()).collect();
    let (mut stated, mut left_out) = (0.0, 0.0);
    let mut fits = Vec::new();
    for fold in &folds {
        let rest: Vec<&Row> = of.iter().copied().filter(|row| row.fold != *fold).collect();
        let fit = Fit::of(&rest, &names);
        for row in of.iter().filter(|row| row.fold == *fold) {
            stated += row.worth * loss(row, Fit::stated(&names).odds(row, &names));
            left_out += row.worth * loss(row, fit.odds(row, &names));
        }
        fits.push(fit);
    }
    let worth: f64 = of.iter().map(|row| row.worth).sum();
    let right: f64 = of.iter().filter(|row| row.right).map(|row| row.worth).sum();
    let as_stated = Fit::stated(&names);
    let reported: f64 = of.iter().map(|row| row.worth * share(as_stated.odds(row, &names))).sum();
    let _ = writeln!(
        out,
        "| {verdict} | {} | {:.2} | {:.2} | {:.3} | {:.3} |",
        of.len(),
        right / worth,
        reported / worth,
        stated / worth,
        left_out / worth
    );
    let fit = Fit::of(&of, &names);
    let spread = |place: usize| {
        let known = fits.iter().map(|fit| fit.values[place]);
        (known.clone().fold(f64::MAX, f64::min), known.fold(f64::MIN, f64::max))
    };
    for (place, name) in std::iter::once("(prior, nats)").chain(names.iter().copied()).enumerate() {
        let having: Vec<f64> = of
            .iter()
            .flat_map(|row| &row.weighed.clauses)
            .filter(|(what, _)| what == name)
            .map(|(_, nats)| *nats)
            .collect();
        let (least, most) = spread(place);
        let mean = having.iter().sum::<f64>() / having.len().max(1) as f64;
        let _ = writeln!(
            clauses,
            "| {verdict} | {name} | {} | {mean:.2} | {:.2} | {least:.2} to {most:.2} |",
            if place == 0 { of.len() } else { having.len() },
            fit.values[place]
        );
    }
}

/// What was learned, tried on answers that nothing was learned or mended from: those to captures
/// when they were first read. Right is what names the right side.
fn at_first_meetings(rows: &[Row]) -> Result<String, String> {
    let met = first_meetings()?;
    let (mut count, mut stated, mut learned) = (0, 0.0, 0.0);
    for verdict in met.iter().map(|row| row.verdict).collect::<BTreeSet<&str>>() {
        let of: Vec<&Row> = rows.iter().filter(|row| row.verdict == verdict).collect();
        let names = names(&of);
        let fit = Fit::of(&of, &names);
        for row in met.iter().filter(|row| row.verdict == verdict) {
            // A clause that was never seen counts as stated.
            let unseen: f64 = row
                .weighed
                .clauses
                .iter()
                .filter(|(what, _)| !names.contains(&what.as_str()))
                .map(|(_, nats)| nats)
                .sum();
            count += 1;
            stated += loss(row, Fit::stated(&names).odds(row, &names) + unseen);
            learned += loss(row, fit.odds(row, &names) + unseen);
        }
    }
    let n = f64::from(count.max(1));
    Ok(format!(
        "First meetings, {count} answers with clauses: log loss {:.3} as stated, {:.3} with what \
         was learned from the rest, {:.3} with one factor and one shift for all clauses, learned \
         from the first meetings of the other collections\n",
        stated / n,
        learned / n,
        bent(&met) / n
    ))
}

/// The log loss with the sum of all clauses calibrated on the first answers to other collections.
fn bent(met: &[Row]) -> f64 {
    let summed: Vec<Row> = met
        .iter()
        .map(|row| {
            let sum = row.weighed.clauses.iter().map(|(_, nats)| nats).sum();
            let weighed = Weighed { clauses: vec![(String::new(), sum)], ..row.weighed.clone() };
            Row { fold: row.fold.clone(), weighed, ..*row }
        })
        .collect();
    let folds: BTreeSet<&str> = summed.iter().map(|row| row.fold.as_str()).collect();
    let of_fold = |fold: &str| {
        let (own, rest): (Vec<&Row>, Vec<&Row>) = summed.iter().partition(|row| row.fold == fold);
        let fit = Fit::of(&rest, &[""]);
        own.iter().map(|row| loss(row, fit.odds(row, &[""]))).sum::<f64>()
    };
    folds.into_iter().map(of_fold).sum()
}

fn first_meetings() -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for answer in field::answers()? {
        let verdict = answer["verdict"].as_str().and_then(Verdict::named);
        let Some(verdict) = verdict.filter(|it| it.blames() != Blame::Unknown) else { continue };
        let ledger = answer["ledger"].as_array().map(Vec::as_slice).unwrap_or_default();
        let step = |entry: &Value, name: &str| entry["step"] == name;
        let Some(prior) = ledger.first().filter(|entry| step(entry, "prior")) else { continue };
        let clauses = ledger[1..].iter().take_while(|entry| step(entry, "clause"));
        let clauses: Vec<(String, f64)> = clauses
            .filter_map(|entry| {
                Some((entry["why"].as_str()?.to_string(), entry["weight"].as_f64()?))
            })
            .collect();
        let doubted = ledger.iter().any(|entry| step(entry, "doubt"));
        let Some(prior) = prior["weight"].as_f64().filter(|_| !clauses.is_empty() && !doubted)
        else {
            continue;
        };
        let grade = answer["grade"].as_str().unwrap_or_default();
        if !matches!(grade, "right" | "weak" | "wrong") {
            continue;
        }
        rows.push(Row {
            fold: answer["collection"].as_str().unwrap_or_default().to_string(),
            verdict: verdict.name(),
            weighed: Weighed { prior: (prior / (1.0 - prior)).ln(), clauses },
            right: grade != "wrong",
            worth: 1.0,
        });
    }
    Ok(rows)
}

/// The judge's first word as weighed by its rule, before any calibration.
fn first_word(recording: &Recording) -> (Vec<Finding>, Option<(&'static str, Weighed)>) {
    let options = Options { calibration: Calibration::No, ..Options::default() };
    let findings = judge(recording, &options);
    let first = findings.first().and_then(|it| Some((it.verdict.name(), Weighed::of(it)?)));
    (findings, first)
}

/// The first findings of published captures.
fn of_strangers() -> Result<Vec<Row>, String> {
    let cases = published().map_err(|error| error.to_string())?;
    of_all(&cases, |case| {
        let (recording, read) = case.recording();
        let (findings, first) = first_word(&recording);
        let grade = case.graded(&findings, &recording, read);
        let judged = first.filter(|_| matches!(grade, Grade::Right | Grade::Wrong));
        let row = judged.map(|(verdict, weighed)| Row {
            fold: case.collection().to_string(),
            verdict,
            weighed,
            right: grade == Grade::Right,
            worth: 1.0,
        });
        Ok(row.into_iter().collect())
    })
}

fn of_scenarios(opinions: Vec<Opinion>) -> impl Iterator<Item = Row> {
    opinions.into_iter().filter_map(|opinion| {
        Some(Row {
            fold: "scenarios".to_string(),
            verdict: opinion.verdict,
            weighed: opinion.weighed?,
            right: opinion.right,
            worth: 1.0,
        })
    })
}

/// What is reported first of the other author's worlds: right if it blames the right side.
fn of_worlds(each: usize) -> Result<Vec<Row>, String> {
    let numbers: Vec<(World, usize)> =
        WORLDS.iter().flat_map(|world| (0..each).map(|number| (*world, number))).collect();
    of_all(&numbers, |(world, number)| {
        let scenario = scenario(*world, *number);
        let mut rows = Vec::new();
        for shown in SHOWN {
            let (findings, first) = first_word(&scenario.recording(shown)?);
            rows.extend(first.map(|(verdict, weighed)| Row {
                fold: "worlds".to_string(),
                verdict,
                weighed,
                right: blamed(&findings) == Some(scenario.side),
                worth: 1.0,
            }));
        }
        Ok(rows)
    })
}

/// An author's worlds are worth at most [`AUTHOR`] captures per verdict.
fn shared_out(rows: &mut [Row]) {
    let mut counts: BTreeMap<(String, &str), f64> = BTreeMap::new();
    for row in rows.iter() {
        *counts.entry((row.fold.clone(), row.verdict)).or_default() += 1.0;
    }
    for row in rows.iter_mut().filter(|row| matches!(&*row.fold, "scenarios" | "worlds")) {
        let many = counts[&(row.fold.clone(), row.verdict)];
        row.worth = (AUTHOR / many).min(1.0);
    }
}

fn names<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
    let all = rows.iter().flat_map(|row| &row.weighed.clauses).map(|(what, _)| what.as_str());
    all.collect::<BTreeSet<&str>>().into_iter().collect()
}

fn share(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

/// Minus the log likelihood of the truth.
fn loss(row: &Row, odds: f64) -> f64 {
    let odds = if row.right { odds } else { -odds };
    (-odds).exp().ln_1p()
}

/// A shift of the prior, then a factor per clause.
struct Fit {
    values: Vec<f64>,
}

impl Fit {
    /// As the rules state it.
    fn stated(names: &[&str]) -> Fit {
        let mut values = vec![1.0; names.len() + 1];
        values[0] = 0.0;
        Fit { values }
    }

    fn odds(&self, row: &Row, names: &[&str]) -> f64 {
        let clauses = features(row, names);
        row.weighed.prior + clauses.iter().zip(&self.values).map(|(x, w)| x * w).sum::<f64>()
    }

    fn of(rows: &[&Row], names: &[&str]) -> Fit {
        let n = names.len() + 1;
        let mut fit = Fit::stated(names);
        let start = fit.values.clone();
        for _ in 0..STEPS {
            let mut slope: Vec<f64> =
                (0..n).map(|k| narrow(k) * (start[k] - fit.values[k])).collect();
            let mut bend = vec![vec![0.0; n]; n];
            for (k, row) in bend.iter_mut().enumerate() {
                row[k] = narrow(k);
            }
            for row in rows {
                let (x, p) = (features(row, names), share(fit.odds(row, names)));
                let miss = f64::from(u8::from(row.right)) - p;
                for (i, a) in x.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                    slope[i] += row.worth * a * miss;
                    for (j, b) in x.iter().enumerate() {
                        bend[i][j] += row.worth * a * b * p * (1.0 - p);
                    }
                }
            }
            let step = solved(bend, slope);
            // Newton's step may overshoot where nearly all is right: halved until it helps.
            let before = fit.cost(rows, names, &start);
            let moved = |times: f64| Fit {
                values: fit
                    .values
                    .iter()
                    .zip(&step)
                    .map(|(value, step)| value + times * step)
                    .collect(),
            };
            let better = (0..HALVINGS)
                .map(|halved| moved(0.5f64.powi(halved)))
                .find(|fit| fit.cost(rows, names, &start) < before);
            let Some(better) = better else { break };
            fit = better;
        }
        fit
    }

    /// What is minimised: the log loss, and how far the values are from those stated.
    fn cost(&self, rows: &[&Row], names: &[&str], start: &[f64]) -> f64 {
        let losses = rows.iter().map(|row| row.worth * loss(row, self.odds(row, names)));
        let apart = self.values.iter().zip(start).enumerate();
        let apart =
            apart.map(|(place, (value, start))| narrow(place) * (value - start).powi(2) / 2.0);
        losses.sum::<f64>() + apart.sum::<f64>()
    }
}

/// The precision of the prior of a value: 1 over its variance.
fn narrow(place: usize) -> f64 {
    if place == 0 { SHIFT.powi(-2) } else { FACTOR.powi(-2) }
}

/// 1 for the prior, then the stated nats of each clause.
fn features(row: &Row, names: &[&str]) -> Vec<f64> {
    let mut x = vec![0.0; names.len() + 1];
    x[0] = 1.0;
    for (what, nats) in &row.weighed.clauses {
        if let Ok(place) = names.binary_search(&what.as_str()) {
            x[place + 1] += nats;
        }
    }
    x
}

/// Gauss' elimination; the matrix is symmetric and positive definite, since each value has a prior.
fn solved(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let (above, below) = a.split_at_mut(k + 1);
        let pivot = &above[k];
        for (row, value) in below.iter_mut().zip(k + 1..) {
            let times = row[k] / pivot[k];
            row.iter_mut().zip(pivot).skip(k).for_each(|(own, other)| *own -= times * other);
            b[value] -= times * b[k];
        }
    }
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|column| a[k][column] * b[column]).sum();
        b[k] = (b[k] - rest) / a[k][k];
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(nats: f64, right: bool, fold: &str) -> Row {
        let weighed = Weighed { prior: 0.0, clauses: vec![("a clause".to_string(), nats)] };
        Row { fold: fold.to_string(), verdict: "device.slow", weighed, right, worth: 1.0 }
    }

    #[test]
    fn a_clause_that_says_too_much_gets_a_factor_below_one() {
        // At 3 nats 0.95 are reported, and 0.73 are right: 1 nat.
        let rows: Vec<Row> = (0..400).map(|k| row(3.0, k % 100 < 73, "a")).collect();
        let other: Vec<Row> = (0..400).map(|k| row(-3.0, k % 100 < 27, "b")).collect();
        let all: Vec<&Row> = rows.iter().chain(&other).collect();
        let fit = Fit::of(&all, &["a clause"]);
        assert!(fit.values[0].abs() < 0.05, "{:?}", fit.values);
        assert!((fit.values[1] - 1.0 / 3.0).abs() < 0.03, "{:?}", fit.values);
    }

    #[test]
    fn without_data_and_where_all_is_right_the_stated_weight_stays_near() {
        assert_eq!(Fit::of(&[], &["a clause"]).values, [0.0, 1.0]);
        let rows: Vec<Row> = (0..1000).map(|_| row(3.0, true, "a")).collect();
        let fit = Fit::of(&rows.iter().collect::<Vec<_>>(), &["a clause"]);
        assert!(fit.values[1] > 1.0 && fit.values[1] < 3.0, "{:?}", fit.values);
    }

    #[test]
    fn a_system_is_solved() {
        let solution = solved(vec![vec![4.0, 1.0], vec![1.0, 3.0]], vec![1.0, 2.0]);
        assert!((solution[0] - 1.0 / 11.0).abs() < 1e-12);
        assert!((solution[1] - 7.0 / 11.0).abs() < 1e-12);
    }

    #[test]
    fn many_worlds_of_an_author_are_worth_a_few_captures() {
        let mut rows: Vec<Row> = (0..400).map(|_| row(1.0, true, "worlds")).collect();
        rows.push(row(1.0, true, "P9"));
        shared_out(&mut rows);
        let worth: f64 = rows.iter().map(|row| row.worth).sum();
        assert!((worth - AUTHOR - 1.0).abs() < 1e-9, "{worth}");
    }
}
