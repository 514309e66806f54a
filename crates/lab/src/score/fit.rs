//! Fits the judge's confidences to the share of right answers: an isotonic curve per verdict and
//! level.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::ValueEnum;

use super::case::Opinion;

/// Of what a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FitTarget {
    /// Each finding for itself: `calibration.txt`
    Each,
    /// What is reported first: `calibration_first.txt`
    First,
}

/// Opinions that make a point of a curve.
const POINT: usize = 25;
/// Opinions without which a verdict has the curve of all verdicts of its level.
const FEWEST: usize = 30;
/// Weight of the curve of all verdicts in a point of one, in answers: this many more, right as
/// often as theirs (Laplace counts one right and one wrong). Certainty is not for sale.
const BESIDE: f64 = 2.0;

/// Confidences that differ by less are one.
const EQUAL: f64 = 1e-6;
/// What a confidence is printed to. A curve that rises by less would separate answers that look the
/// same.
const PRINTED: f64 = 0.01;

/// Points of a curve: weighed confidence, share that was right.
type Curve = Vec<(f64, f64)>;

/// The table of curves, as a file beside `crates/diagnose/src/ranking/calibration.rs` keeps it.
pub(super) fn table(opinions: &[Opinion], of: FitTarget, cases: usize, seed: u64) -> String {
    let mut kinds: BTreeMap<(&str, char), Vec<(f64, bool)>> = BTreeMap::new();
    let mut levels: BTreeMap<char, Vec<(f64, bool)>> = BTreeMap::new();
    for opinion in opinions.iter().filter(|opinion| counts(opinion, of)) {
        let (level, answer) = (opinion.level.letter(), (opinion.confidence, opinion.right));
        kinds.entry((opinion.verdict, level)).or_default().push(answer);
        levels.entry(level).or_default().push(answer);
    }
    let all: BTreeMap<char, Curve> = levels
        .into_iter()
        .map(|(level, mut answers)| (level, rising(&mut answers, |_| 0.5)))
        .collect();
    let (what, fit) = match of {
        FitTarget::Each => ("a finding of that weighed confidence", "each"),
        FitTarget::First => ("the first answer at that confidence", "first"),
    };
    let mut out = format!(
        "# How often {what} was right: verdict, level, points x:y.\n\
         # `lab score --fit {fit} --cases {cases} --seed {seed}` wrote this; the tables of \
         docs/results/accuracy.md\n\
         # are of another seed. Verdicts seen fewer than {FEWEST} times have the curve of all.\n"
    );
    for ((verdict, level), mut answers) in kinds {
        let Some(of_all) = all.get(&level) else { continue };
        let points = match answers.len() {
            n if n < FEWEST => of_all.clone(),
            _ => rising(&mut answers, |sure| on(of_all, sure)),
        };
        // Rounded down, or what was seen there would lie before the first point.
        let point = |(x, y): &(f64, f64)| format!("{:.3}:{y:.3}", (x * 1e3).floor() / 1e3);
        let words: Vec<String> = points.iter().map(point).collect();
        let _ = writeln!(out, "{verdict} {level} {}", words.join(" "));
    }
    out
}

/// Whether an opinion counts. Each for itself, a HEALTHY verdict or a doubt that is not said first
/// is about what is left: it may be true, and no expected verdict shows it. Nor is arithmetic
/// bent there: it is as certain in a scenario that owes another verdict.
pub(super) fn counts(opinion: &Opinion, of: FitTarget) -> bool {
    let closes = matches!(opinion.verdict, "healthy" | "insufficient");
    let computed = opinion.verdict.starts_with("report.");
    match of {
        FitTarget::Each => !computed && (opinion.leads || !closes),
        FitTarget::First => opinion.leads,
    }
}

/// Pools neighbours until shares rise (Ayer and others, 1955), first of equal number. To each pool
/// the share is added that others of its confidence let expect.
fn rising(answers: &mut [(f64, bool)], expected: impl Fn(f64) -> f64) -> Curve {
    answers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut pools: Vec<Pool> = Vec::new();
    let parts = (answers.len() / POINT).max(1);
    let mut rest = 0;
    for part in 0..parts {
        // Answers of one confidence stay together: apart, they lie in the order of the corpus,
        // wrong answers before right ones.
        let mut end = (part + 1) * answers.len() / parts;
        while end > 0 && end < answers.len() && answers[end].0 - answers[end - 1].0 < EQUAL {
            end += 1;
        }
        let slice = answers.get(rest..end).unwrap_or_default();
        if slice.is_empty() {
            continue;
        }
        rest = end;
        let right = slice.iter().filter(|(_, right)| *right).count() as f64;
        let sure: f64 = slice.iter().map(|(sure, _)| sure).sum();
        let (first, last) = (slice[0].0, slice[slice.len() - 1].0);
        pools.push(Pool { n: slice.len() as f64, sure, right, first, last });
        while let [.., before, last] = pools.as_slice() {
            // Equal confidences cannot be distinguished either, nor shares that are printed alike.
            if before.share() + PRINTED < last.share() && before.mean() + 1e-3 < last.mean() {
                break;
            }
            let joined = before.and(last);
            pools.truncate(pools.len() - 2);
            pools.push(joined);
        }
    }
    let mut least = 0.0f64;
    let mut points = Vec::new();
    for pool in &pools {
        // A small pool is moved more; what rose must not fall by that.
        least = least.max((pool.right + BESIDE * expected(pool.mean())) / (pool.n + BESIDE));
        // All of a pool is right as often: a slope within it would lower the values of its lower
        // half.
        points.push((pool.first, least));
        if pool.last - pool.first > 1e-3 {
            points.push((pool.last, least));
        }
    }
    points
}

/// Answers that are taken to be right equally often.
struct Pool {
    n: f64,
    /// Sum of their confidences.
    sure: f64,
    right: f64,
    /// The lowest and the highest confidence.
    first: f64,
    last: f64,
}

impl Pool {
    fn share(&self) -> f64 {
        self.right / self.n
    }

    fn mean(&self) -> f64 {
        self.sure / self.n
    }

    fn and(&self, next: &Pool) -> Pool {
        let (n, sure, right) = (self.n + next.n, self.sure + next.sure, self.right + next.right);
        Pool { n, sure, right, first: self.first, last: next.last }
    }
}

/// A curve's height: straight between its points, level beyond them.
fn on(curve: &Curve, sure: f64) -> f64 {
    let above = curve.iter().position(|(x, _)| *x >= sure);
    let (before, after) = match above {
        Some(place) => (curve.get(place.saturating_sub(1)), curve.get(place)),
        None => (curve.last(), curve.last()),
    };
    match (before, after) {
        (Some((x0, y0)), Some((x1, y1))) if x1 > x0 => {
            y0 + (y1 - y0) * ((sure - x0) / (x1 - x0)).clamp(0.0, 1.0)
        }
        (_, Some((_, y))) => *y,
        _ => sure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_rise() {
        let mut answers: Vec<(f64, bool)> =
            (0..200).map(|k| (f64::from(k) / 200.0, k % 10 < k / 20)).collect();
        let points = rising(&mut answers, |_| 0.5);
        assert!(points.len() > 2 && points.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }

    #[test]
    fn answers_of_one_confidence_are_one_pool() {
        // In the order of the corpus: those that are wrong before those that are right.
        let mut answers: Vec<(f64, bool)> = (0..100).map(|k| (0.785, k >= 30)).collect();
        answers.extend((0..50).map(|_| (0.5, false)));
        let points = rising(&mut answers, |_| 0.5);
        assert_eq!(points.len(), 2);
        // (70 + 1) / (100 + 2)
        assert!((points[1].1 - 71.0 / 102.0).abs() < 1e-9, "{points:?}");
    }

    #[test]
    fn a_verdict_seldom_seen_has_the_curve_of_all() {
        let of = |verdict, count, right| {
            let (level, confidence) = (iowhy_model::Level::C, 0.8);
            let (leads, weighed) = (true, None);
            let opinion = Opinion { level, verdict, confidence, right, leads, weighed };
            (0..count).map(move |_| opinion.clone())
        };
        let often = of("device.slow", 98, true);
        let opinions: Vec<Opinion> = often.chain(of("device.stall", 2, false)).collect();
        let table = table(&opinions, FitTarget::Each, 1, 1);
        // (98 + 1) / (100 + 2), and (98 + 2 x 0.9706) / (98 + 2).
        assert!(table.contains("device.slow C 0.800:0.999"), "{table}");
        assert!(table.contains("device.stall C 0.800:0.971"), "{table}");
    }
}
