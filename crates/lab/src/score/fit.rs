//! Fits the judge's confidences to what was right: an isotonic curve per verdict and level.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::case::Opinion;

/// Opinions that make a point of a curve.
const POINT: usize = 25;
/// Opinions without which a verdict keeps its weighed confidence.
const FEWEST: usize = 30;

/// The table of curves, as `crates/diagnose/src/calibration.txt` keeps it.
pub(super) fn table(opinions: &[Opinion], cases: usize, seed: u64) -> String {
    let mut kinds: BTreeMap<(&str, char), Vec<(f64, bool)>> = BTreeMap::new();
    for opinion in opinions {
        let kind = kinds.entry((opinion.verdict, opinion.level.letter())).or_default();
        kind.push((opinion.confidence, opinion.right));
    }
    let mut out = format!(
        "# How often a finding of that weighed confidence was right: verdict, level, points x:y.\n\
         # `lab score --fit --cases {cases} --seed {seed}` wrote this; the tables of docs/ACCURACY.md\n\
         # are of another seed.\n"
    );
    for ((verdict, level), mut answers) in kinds {
        // Arithmetic is as certain in a world that owes another verdict.
        // And a histogram without sizes acquits by how common health is, which no corpus of as many
        // worlds per illness tells.
        let prior_only = (verdict, level) == ("healthy", 'B');
        if answers.len() < FEWEST || verdict.starts_with("report.") || prior_only {
            continue;
        }
        answers.sort_by(|a, b| a.0.total_cmp(&b.0));
        let points = rising(&answers);
        let words: Vec<String> = points.iter().map(|(x, y)| format!("{x:.3}:{y:.3}")).collect();
        let _ = writeln!(out, "{verdict} {level} {}", words.join(" "));
    }
    out
}

/// Pools neighbours until shares rise (Ayer and others, 1955), first of equal number. A share is
/// counted with one right and one wrong more (Laplace): certainty is not for sale.
fn rising(sorted: &[(f64, bool)]) -> Vec<(f64, f64)> {
    let mut pools: Vec<(f64, f64, f64)> = Vec::new();
    let parts = (sorted.len() / POINT).max(1);
    for part in 0..parts {
        let slice = &sorted[part * sorted.len() / parts..(part + 1) * sorted.len() / parts];
        let right = slice.iter().filter(|(_, right)| *right).count() as f64;
        let sure: f64 = slice.iter().map(|(sure, _)| sure).sum();
        pools.push((slice.len() as f64, sure, right));
        while let [.., before, last] = pools.as_slice() {
            // Equal confidences cannot be told apart either.
            if before.2 / before.0 < last.2 / last.0 && before.1 / before.0 + 1e-3 < last.1 / last.0
            {
                break;
            }
            let joined = (before.0 + last.0, before.1 + last.1, before.2 + last.2);
            pools.truncate(pools.len() - 2);
            pools.push(joined);
        }
    }
    let mut least = 0.0f64;
    let shares = pools.iter().map(|(n, sure, right)| {
        // A small pool is moved more; what rose must not fall by that.
        least = least.max((right + 1.0) / (n + 2.0));
        (sure / n, least)
    });
    shares.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_rise() {
        let answers: Vec<(f64, bool)> =
            (0..200).map(|k| (f64::from(k) / 200.0, k % 10 < k / 20)).collect();
        let points = rising(&answers);
        assert!(points.len() > 2 && points.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }
}
