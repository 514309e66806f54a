//! How many requests a verdict needs: the same scenarios, watched for longer and longer.

use std::collections::BTreeMap;
use std::fmt::Write;

use iowhy_model::Level;

use super::accepted::accepted;
use super::{Case, corpus, of_all};
use crate::render::LEVELS;

/// Requests of each disk that are shown.
const SIZES: [usize; 11] = [10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000];
/// The share that has to be right.
const ENOUGH: f64 = 0.95;
/// Scenarios below which a share shows nothing.
const FEWEST: usize = 5;

/// For each verdict and number of requests the share of scenarios in which it came first, at the
/// poorest level of single requests that owes it without excuse; and the number from which on that
/// share stays at 0.95 or above.
///
/// # Errors
/// If a recipe is written wrong, or a rendering is not read.
pub fn sweep(cases: usize, seed: u64) -> Result<String, String> {
    let list: Vec<Case> =
        corpus(cases, seed).into_iter().filter(|case| !case.recipe.confounds).collect();
    let mut counts: BTreeMap<(&str, usize), (usize, usize)> = BTreeMap::new();
    for (verdict, size, right) in of_all(&list, cut)? {
        let count = counts.entry((verdict, size)).or_default();
        count.0 += usize::from(right);
        count.1 += 1;
    }
    let mut verdicts: Vec<&str> = counts.keys().map(|(verdict, _)| *verdict).collect();
    verdicts.dedup();
    let mut out = format!("{:<20} {:>5} {:>6}", "right at n requests", "level", "needed");
    SIZES.iter().for_each(|size| out.push_str(&format!(" {size:>5}")));
    out.push('\n');
    for verdict in verdicts {
        let share = |size: usize| {
            let (right, all) = counts.get(&(verdict, size)).copied().unwrap_or_default();
            (all >= FEWEST).then(|| right as f64 / all as f64)
        };
        let reaches = |size: &&usize| share(**size).is_none_or(|share| share >= ENOUGH);
        let held = SIZES.iter().rev().take_while(reaches).filter(|size| share(**size).is_some());
        let needed = held.last().map_or("-".to_string(), |size| size.to_string());
        let level = owed_from(verdict).map_or('-', Level::letter);
        let _ = write!(out, "{verdict:<20} {level:>5} {needed:>6}");
        for size in SIZES {
            let share = share(size).map_or("-".to_string(), |share| format!("{share:.2}"));
            let _ = write!(out, " {share:>5}");
        }
        out.push('\n');
    }
    Ok(out)
}

/// The poorest level of single requests that owes the verdict itself.
fn owed_from(verdict: &str) -> Option<Level> {
    let mut levels = LEVELS.into_iter().filter(|level| *level >= Level::C);
    levels.find(|level| accepted(verdict, *level).is_empty())
}

fn cut(case: &Case) -> Result<Vec<(&'static str, usize, bool)>, String> {
    let verdict = case.recipe.verdict;
    let levels = case.recipe.levels;
    let Some(level) = owed_from(verdict).and_then(|from| levels.iter().find(|l| **l >= from))
    else {
        return Ok(Vec::new());
    };
    let scenario = case.scenario()?;
    let most =
        scenario.disks.iter().map(|disk| disk.done.len().min(scenario.listed)).max().unwrap_or(0);
    let mut rights = Vec::new();
    for size in SIZES.into_iter().filter(|size| *size <= most) {
        let judged = case.at(&scenario.first(size), *level)?;
        rights.push((verdict, size, judged.right && !judged.admitted));
    }
    Ok(rights)
}
