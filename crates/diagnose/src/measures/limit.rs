//! A rate compared with a limit that is known.

use super::spread;

/// A rate compared with a limit.
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
    /// Whether more than a tenth of these are so far above the limit that it does not apply.
    pub exceeded: bool,
}

/// A sample is at the limit from this far below ("at least 90 % of the limit is a cap": the rule
/// for cgroup limits in docs/METHOD.md, 8 Cap) ...
const BELOW: f64 = 0.90;
/// ... to this far above: a second does not begin with the limit's own slice.
const ABOVE: f64 = 1.05;
/// A limit that is exceeded by this much does not apply: twice the slack above.
const FAR_ABOVE: f64 = 1.10;

/// How long the kernel counts I/Os against a limit before it starts anew, s (block/blk-throttle.c,
/// DFL_THROTL_SLICE_HD).
const SLICE_S: f64 = 0.1;

/// Rates that the kernel may grant for a limit of I/Os per second: the limit, and whole I/Os in
/// each of its slices, fewer or one more. Of 7 a second it makes 10, of 19 it makes 10 and of 25 it
/// makes 20 (measured, Linux 6.18, decision 0093).
pub fn granted(limit: f64) -> impl Iterator<Item = f64> {
    let in_slice = limit * SLICE_S;
    let rounded = [in_slice.floor() / SLICE_S, in_slice.ceil() / SLICE_S];
    let differs = move |rate: &f64| *rate > 0.0 && !(BELOW..=ABOVE).contains(&(rate / limit));
    std::iter::once(limit).chain(rounded.into_iter().filter(differs))
}

/// Rates compared with a limit; `None` without activity or a limit. One I/O more or less in a
/// sample makes the `grain` of its rate, in the unit of the rates: 7 a second are now 6 and now 8.
/// Where that is more than the slack, samples within one I/O of the limit count as at it, provided
/// that they are there on average.
pub fn held_at(rates: &[f64], limit: f64, grain: f64) -> Option<RateAtLimit> {
    let active: Vec<f64> = rates.iter().copied().filter(|rate| *rate > 0.0).collect();
    if limit <= 0.0 || !limit.is_finite() {
        return None;
    }
    let mean = active.iter().sum::<f64>() / active.len().max(1) as f64;
    let of_all = grain / active.len().max(1) as f64;
    let on_average = (BELOW * limit - of_all..=ABOVE * limit + of_all).contains(&mean);
    let is_coarse = grain > (1.0 - BELOW) * limit && on_average;
    let slack = if is_coarse { grain / limit } else { 0.0 };
    let median = spread::median(&active)?;
    let share_of = |keep: &dyn Fn(f64) -> bool| {
        active.iter().filter(|rate| keep(**rate / limit)).count() as f64 / active.len() as f64
    };
    Some(RateAtLimit {
        active: active.len(),
        share: share_of(&|over| (BELOW - slack..=ABOVE + slack).contains(&over)),
        median,
        most: active.iter().copied().fold(0.0, f64::max) / limit,
        exceeded: share_of(&|over| over > FAR_ABOVE + slack) > 0.1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_numbers() {
        let held = held_at(&[0.0, 118.0, 120.0, 121.0, 60.0], 120.0, 1.0).unwrap();
        assert_eq!((held.active, held.share, held.median, held.exceeded), (4, 0.75, 119.0, false));
        assert!((held.most - 121.0 / 120.0).abs() < 1e-12);
        assert!(held_at(&[300.0, 120.0], 120.0, 1.0).unwrap().exceeded);
        assert_eq!(held_at(&[0.0], 120.0, 1.0), None);
        assert_eq!(held_at(&[1.0], 0.0, 1.0), None);
    }

    #[test]
    fn few_ios_a_second_are_now_one_more_and_now_one_less() {
        let held = held_at(&[7.0, 6.0, 8.0, 7.0, 8.0, 6.0, 7.0], 7.0, 1.0).unwrap();
        assert_eq!((held.share, held.exceeded), (1.0, false));
        // Of a program that asks for less, or for more than the limit.
        assert!(held_at(&[6.0; 10], 7.0, 1.0).unwrap().share < 0.5);
        assert!(held_at(&[8.0; 10], 7.0, 1.0).unwrap().exceeded);
        // Bytes come in whole requests, too.
        let mib = 1024.0 * 1024.0;
        let held = held_at(&[mib, 0.5 * mib, 1.5 * mib, mib], mib, 0.5 * mib).unwrap();
        assert_eq!((held.share, held.exceeded), (1.0, false));
    }

    #[test]
    fn the_kernel_grants_whole_ios_in_a_slice() {
        let of = |limit| granted(limit).map(f64::round).collect::<Vec<_>>();
        assert_eq!(of(7.0), [7.0, 10.0]);
        assert_eq!(of(19.0), [19.0, 10.0, 20.0]);
        assert_eq!(of(25.0), [25.0, 20.0, 30.0]);
        assert_eq!((of(50.0), of(10.0)), (vec![50.0], vec![10.0]));
        assert_eq!((of(1000.0), of(0.0)), (vec![1000.0], vec![0.0]));
    }
}
