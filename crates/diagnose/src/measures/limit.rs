//! A rate compared with a limit that is known.

use super::spread;

/// How a rate stood against a limit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateAtLimit {
    /// Samples in which there was anything.
    pub active: usize,
    /// Share of these at the limit.
    pub share: f64,
    /// Median of these, in the unit of the rates.
    pub median: f64,
    /// Highest sample over the limit.
    pub most: f64,
    /// Whether more than a tenth of these lie so far above the limit that it does not hold.
    pub exceeded: bool,
}

/// A sample is at the limit from this far below ("at least 90 % of the limit is a cap": the rule
/// for cgroup limits in docs/METHOD.md, 8 Cap) ...
const BELOW: f64 = 0.90;
/// ... to this far above: a second does not begin with the limit's own slice.
const ABOVE: f64 = 1.05;
/// A limit that is exceeded by so much holds nothing: twice the slack above.
const FAR_ABOVE: f64 = 1.10;

/// How one-second rates stand against a limit; `None` without activity or a limit.
pub fn held_at(rates: &[f64], limit: f64) -> Option<RateAtLimit> {
    let active: Vec<f64> = rates.iter().copied().filter(|rate| *rate > 0.0).collect();
    if limit <= 0.0 || !limit.is_finite() {
        return None;
    }
    let median = spread::median(&active)?;
    let share_of = |keep: &dyn Fn(f64) -> bool| {
        active.iter().filter(|rate| keep(**rate / limit)).count() as f64 / active.len() as f64
    };
    Some(RateAtLimit {
        active: active.len(),
        share: share_of(&|over| (BELOW..=ABOVE).contains(&over)),
        median,
        most: active.iter().copied().fold(0.0, f64::max) / limit,
        exceeded: share_of(&|over| over > FAR_ABOVE) > 0.1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_numbers() {
        let held = held_at(&[0.0, 118.0, 120.0, 121.0, 60.0], 120.0).unwrap();
        assert_eq!((held.active, held.share, held.median, held.exceeded), (4, 0.75, 119.0, false));
        assert!((held.most - 121.0 / 120.0).abs() < 1e-12);
        assert!(held_at(&[300.0, 120.0], 120.0).unwrap().exceeded);
        assert_eq!(held_at(&[0.0], 120.0), None);
        assert_eq!(held_at(&[1.0], 0.0), None);
    }
}
