//! A device that is fast first and slow later at the same load: states, falls, bytes until a fall.
//!
//! Windows of requests in order of completion are smoothed (running median) and sorted into runs by
//! their cost. The fastest tenth is the baseline; a run that costs three times as much or more
//! is a slow state. A write cache that fills falls after the same number of bytes each time.

use super::spread;
use std::ops::Range;

/// A run of requests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// Requests in it.
    pub requests: f64,
    /// Bytes they moved.
    pub bytes: f64,
    /// Mean cost of a request, ns.
    pub cost_ns: f64,
}

/// Fast and slow states of a device.
#[derive(Clone, PartialEq, Debug)]
pub struct Decline {
    /// Cost of a request in the fast states, ns: the median of their windows.
    pub fast_ns: f64,
    /// Cost in the slow states, ns: the median of their windows.
    pub slow_ns: f64,
    /// Its ratio, larger over smaller.
    pub ratio: f64,
    /// Bytes moved from the beginning of a fast state to each fall.
    pub until_fall: Vec<f64>,
    /// Windows in slow states.
    pub slow: Vec<Range<usize>>,
    /// Cost beyond the fast state's, in slow states, over that in all windows.
    pub lost_share: f64,
}

impl Decline {
    /// How far the bytes until a fall differ; `None` below two falls.
    pub fn cv(&self) -> Option<f64> {
        spread::cv(&self.until_fall)
    }

    /// Median bytes until a fall.
    pub fn bytes(&self) -> f64 {
        spread::median(&self.until_fall).unwrap_or(0.0)
    }
}

/// A state is slow from this many times the cost of the fastest on (docs/METHOD.md, 17 Faults: a
/// cliff is 3 to 20 times).
pub const SLOW: f64 = 3.0;
/// Cost from which a window belongs to no fast state: between one and three on a logarithmic
/// scale.
const MIDDLE: f64 = 1.75;
/// The baseline: the cost that a tenth of the windows stays below. A shorter fast state is luck.
const BASELINE_QUANTILE: f64 = 0.10;
/// Windows of the running median, and fewest windows of a state.
const SMOOTHED: usize = 5;
const SHORTEST: usize = 3;
/// Minimum number of windows for states.
const WINDOWS: usize = 12;

/// The states of a list of windows; `None` if no fast state is followed by a slow one.
pub fn decline(windows: &[Window]) -> Option<Decline> {
    if windows.len() < WINDOWS {
        return None;
    }
    let costs: Vec<f64> = windows.iter().map(|window| window.cost_ns.max(1.0)).collect();
    let smooth = smoothed(&costs);
    let sorted = spread::sorted(&smooth);
    let quickest = *sorted.get((sorted.len() as f64 * BASELINE_QUANTILE) as usize)?;
    let (mut quick, mut slow): (Vec<Range<usize>>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
    let mut until_fall = Vec::new();
    let mut bytes: Option<f64> = None;
    for run in runs(&smooth, MIDDLE * quickest) {
        let level = spread::median(smooth.get(run.clone())?)?;
        if level >= SLOW * quickest && run.len() >= SHORTEST {
            until_fall.extend(bytes.take());
            slow.push(run);
        } else {
            let moved: f64 = windows.get(run.clone())?.iter().map(|window| window.bytes).sum();
            bytes = Some(bytes.unwrap_or(0.0) + moved);
            quick.push(run);
        }
    }
    if until_fall.is_empty() {
        return None;
    }
    let level = |states: &[Range<usize>]| {
        let costs: Vec<f64> =
            states.iter().filter_map(|run| costs.get(run.clone())).flatten().copied().collect();
        spread::median(&costs)
    };
    let (fast_ns, slow_ns) = (level(&quick)?, level(&slow)?);
    let beyond = |window: &Window| window.requests * (window.cost_ns - fast_ns).max(0.0);
    let of_slow = slow.iter().filter_map(|run| windows.get(run.clone())).flatten();
    let (lost, lost_slow): (f64, f64) =
        (windows.iter().map(beyond).sum(), of_slow.map(beyond).sum());
    Some(Decline {
        fast_ns,
        slow_ns,
        ratio: slow_ns / fast_ns,
        until_fall,
        slow,
        lost_share: if lost > 0.0 { lost_slow / lost } else { 0.0 },
    })
}

/// The running median.
fn smoothed(costs: &[f64]) -> Vec<f64> {
    let half = SMOOTHED / 2;
    let near = |k: usize| costs.get(k.saturating_sub(half)..(k + half + 1).min(costs.len()));
    (0..costs.len()).filter_map(|k| spread::median(near(k)?)).collect()
}

/// Runs of windows on one side of a cost.
fn runs(costs: &[f64], at: f64) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut runs = Vec::new();
    for run in costs.chunk_by(|a, b| (*a >= at) == (*b >= at)) {
        runs.push(start..start + run.len());
        start += run.len();
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 100 requests and 1 MB at this many ms each.
    fn windows(costs_ms: &[f64]) -> Vec<Window> {
        let window = |ms: &f64| Window { requests: 100.0, bytes: 1e6, cost_ns: ms * 1e6 };
        costs_ms.iter().map(window).collect()
    }

    #[test]
    fn a_cache_of_thirty_windows_fills_twice() {
        let mut costs = Vec::new();
        for _ in 0..2 {
            costs.extend([0.1; 30]);
            costs.extend([1.0; 20]);
        }
        let found = decline(&windows(&costs)).unwrap();
        assert_eq!(found.until_fall, [30e6, 30e6]);
        assert_eq!((found.cv(), found.bytes()), (Some(0.0), 30e6));
        assert!((found.ratio - 10.0).abs() < 1e-9 && found.lost_share > 0.999, "{found:?}");
        assert_eq!(found.slow.iter().map(Range::len).sum::<usize>(), 40);
    }

    #[test]
    fn slow_throughout_quick_throughout_and_slow_first_are_no_fall() {
        assert_eq!(decline(&windows(&[1.0; 60])), None);
        assert_eq!(decline(&windows(&[])), None);
        let mut warming = vec![1.0; 30];
        warming.extend([0.1; 30]);
        assert_eq!(decline(&windows(&warming)), None);
        // A doubling is not a cliff.
        let mut doubled = vec![0.1; 30];
        doubled.extend([0.2; 30]);
        assert_eq!(decline(&windows(&doubled)), None);
    }
}
