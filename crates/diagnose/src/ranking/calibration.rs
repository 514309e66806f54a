//! Calibration: how often verdicts with the same confidence were right.
//!
//! `calibration.txt` holds, per verdict and level of input, how often findings of a given weighed
//! confidence were right in simulated worlds of known truth (isotonic: it never falls). The first
//! finding was chosen among all, so it is right more or less often than the same finding further
//! down: `calibration_first.txt` holds that, over the confidences that the first table gives. The
//! lab writes both anew: `lab score --fit each --cases 200 --seed 1 > FILE`, then `--fit first`;
//! their heads show what wrote them. Values below anything seen in the lab are left unchanged.

use std::collections::HashMap;
use std::sync::OnceLock;

use iowhy_model::{Level, Verdict};

/// Points of a curve: weighed confidence, share that was right; both rising.
type Curve = Vec<(f64, f64)>;

/// The calibrated confidence of a verdict from input of a level.
pub(crate) fn of(verdict: Verdict, level: Level, weighed: f64) -> f64 {
    // A trace with evidence beside it is no less worth than a trace, where it has no curve.
    let levels = [level.letter(), level.min(Level::D).letter()];
    match levels.iter().find_map(|level| each().get(&(verdict, *level))) {
        Some(curve) => on(curve, weighed),
        None => weighed,
    }
}

/// Whether the laboratory saw such a verdict from input of exactly this level.
pub(crate) fn has_curve(verdict: Verdict, level: Level) -> bool {
    each().contains_key(&(verdict, level.letter()))
}

/// The confidence of a finding that is reported first, from that of the same finding for itself.
pub(crate) fn of_first(verdict: Verdict, level: Level, confidence: f64) -> f64 {
    first().get(&(verdict, level.letter())).map_or(confidence, |curve| on(curve, confidence))
}

fn on(curve: &Curve, weighed: f64) -> f64 {
    let above = curve.iter().position(|(x, _)| *x >= weighed);
    match above {
        Some(0) => curve
            .first()
            .map_or(weighed, |(x, y)| if *x > weighed + 1e-9 { weighed.min(*y) } else { *y }),
        Some(place) => match (curve.get(place - 1), curve.get(place)) {
            (Some((x0, y0)), Some((x1, y1))) => {
                y0 + (y1 - y0) * (weighed - x0) / (x1 - x0).max(1e-9)
            }
            _ => weighed,
        },
        None => curve.last().map_or(weighed, |(_, y)| *y),
    }
}

/// Curves by verdict and level.
type Table = HashMap<(Verdict, char), Curve>;

/// That of each finding, read once.
fn each() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| table(include_str!("calibration.txt")))
}

/// That of what is reported first, read once.
fn first() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| table(include_str!("calibration_first.txt")))
}

fn table(text: &'static str) -> Table {
    text.lines().filter_map(curve).collect()
}

/// A line of the table: verdict, level, and points `x:y`; `#` begins a comment.
fn curve(line: &str) -> Option<((Verdict, char), Curve)> {
    let mut words = line.split_whitespace();
    let verdict = Verdict::named(words.next()?)?;
    let level = words.next()?.chars().next()?;
    let points = words.filter_map(|word| {
        let (x, y) = word.split_once(':')?;
        Some((x.parse().ok()?, y.parse().ok()?))
    });
    Some(((verdict, level), points.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_followed_and_not_left_below() {
        let ((verdict, level), points) = curve("device.slow C 0.4:0.5 0.8:0.9").unwrap();
        assert_eq!((verdict, level), (Verdict::DeviceSlow, 'C'));
        assert!((on(&points, 0.6) - 0.7).abs() < 1e-12);
        assert_eq!((on(&points, 0.2), on(&points, 0.95)), (0.2, 0.9));
        assert_eq!(curve("# a comment"), None);
    }

    #[test]
    fn every_line_of_the_tables_is_a_rising_curve_of_a_known_verdict() {
        let lines = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(each().len(), lines(include_str!("calibration.txt")));
        assert_eq!(first().len(), lines(include_str!("calibration_first.txt")));
        for ((verdict, _), curve) in each().iter().chain(first()) {
            assert!(curve.is_sorted() && curve.iter().all(|(_, y)| (0.0..=1.0).contains(y)));
            assert!(curve.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{verdict}");
        }
    }
}
