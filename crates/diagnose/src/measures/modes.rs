//! Whether a histogram has two parts: a fast body, and separate slow requests.
//!
//! A queue that fills and drains gives a continuous range: the first requests wait a little, the
//! last ones long, and each octave of latency has half of the next one's counts. A device that
//! serves most requests at once and some late gives a separate mode, with almost nothing below it.

use iowhy_model::{Edges, Histogram, numbers};

/// The slow requests of a histogram that falls in two.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SlowMode {
    /// How many they are.
    pub count: u64,
    /// Their share of all requests, 0 to 1.
    pub of_requests: f64,
    /// Their share of all time, at least, 0 to 1.
    pub of_time: f64,
    /// They take at least this, ns ...
    pub from_ns: f64,
    /// ... and most of them at most this, ns.
    pub to_ns: f64,
    /// The others take at most this, ns.
    pub others_ns: f64,
    /// How much less likely a smear would have left so few between them, nats.
    pub no_smear: f64,
}

/// Octaves of latency in which a histogram is examined: up to 18 minutes.
const OCTAVES: u32 = 30;
/// A count below this share of a peak is next to nothing: a smear contains a half of it in the
/// octave below and a quarter two octaves below.
const NOTHING: f64 = 0.12;
/// A mode ends at most this many octaves below its peak.
const STEEP: usize = 2;
/// Share of the requests that must be fast for a body, and requests that a body and a mode have at
/// least (docs/METHOD.md, 10 Rules: ten events).
const BODY: f64 = 0.1;
const MIN_REQUESTS: u64 = 10;

/// The slow mode of a histogram: apart from the body, and beyond `bound_ns` as a whole.
pub fn slow_mode(histogram: &Histogram, bound_ns: f64) -> Option<SlowMode> {
    if histogram.edges().buckets() == 1 {
        return None;
    }
    // An octave is as coarse as the tools print; whole buckets of what is finer lie within one.
    let coarse = histogram.rebin(&Edges::log2_us(OCTAVES));
    let counts = coarse.counts();
    let first = (0..counts.len()).find(|place| coarse.edges().low(*place) as f64 >= bound_ns)?;
    let peak = (first..counts.len()).max_by_key(|place| (counts[*place], counts.len() - place))?;
    let gap = gap_below(counts, peak)?;
    let from = gap + 1;
    let quick = numbers::total(counts[..from].iter().copied());
    let slow = numbers::total(counts[from..].iter().copied());
    let all = quick.saturating_add(slow) as f64;
    let body = counts[..from].iter().copied().max().unwrap_or(0);
    let apart = (counts[gap] as f64) < NOTHING * body as f64;
    let beyond = coarse.edges().low(from) as f64 >= bound_ns;
    let few = quick.min(slow) < MIN_REQUESTS || (quick as f64) < BODY * all;
    if !apart || !beyond || few {
        return None;
    }
    let last = (peak..counts.len()).rev().find(|place| !is_nothing(counts[*place], counts[peak]));
    let last = last.unwrap_or(peak);
    let others = (0..from).rev().find(|place| counts[*place] > 0)?;
    let (mean_ns, _) = histogram.mean_ns()?;
    // As fine as it was counted.
    let least: f64 = histogram
        .filled()
        .filter(|(low, _, _)| *low >= coarse.edges().low(from))
        .map(|(low, _, n)| low as f64 * n as f64)
        .sum();
    Some(SlowMode {
        count: slow,
        of_requests: slow as f64 / all,
        of_time: (least / (mean_ns * all)).min(1.0),
        from_ns: coarse.edges().low(from) as f64,
        to_ns: coarse.edges().high(last) as f64,
        others_ns: coarse.edges().high(others) as f64,
        no_smear: -ln_as_few(counts[gap], slow as f64 * SMEARED),
    })
}

/// How much less likely a smear would have so few requests below its peak, nats; `None` where the
/// counts fall off as slowly as a smear's. Requests that wait for a draining batch leave one, even
/// if no request is fast.
pub fn rises_steeply(histogram: &Histogram) -> Option<f64> {
    let coarse = histogram.rebin(&Edges::log2_us(OCTAVES));
    let counts = coarse.counts();
    let peak = (0..counts.len()).max_by_key(|place| (counts[*place], counts.len() - place))?;
    let gap = gap_below(counts, peak)?;
    let above = numbers::total(counts[gap + 1..].iter().copied());
    Some(-ln_as_few(counts[gap], above as f64 * SMEARED))
}

/// Whether a count is negligible compared with a peak.
fn is_nothing(count: u64, peak: u64) -> bool {
    (count as f64) < NOTHING * peak as f64
}

/// Down from a peak the octave in which next to nothing is left; `None` where the counts fall off
/// as slowly as a smear's.
fn gap_below(counts: &[u64], peak: usize) -> Option<usize> {
    (peak.saturating_sub(STEEP)..peak).rev().find(|place| is_nothing(counts[*place], counts[peak]))
}

/// Of an even smear the octave two below the last contains an eighth, the two above it six: this
/// many for each of them.
const SMEARED: f64 = 1.0 / 6.0;

/// The logarithm of the chance to count `n` or fewer where more are expected (Poisson). The term of
/// `n` is the largest, and those before it fall off: a sum that works for any counts, where powers
/// would overflow.
fn ln_as_few(n: u64, expected: f64) -> f64 {
    let mut left = n as f64;
    if left >= expected {
        return 0.0;
    }
    let largest = left * expected.ln() - expected - ln_factorial(left);
    let (mut term, mut sum) = (1.0, 1.0);
    while left > 0.0 && term > SMALLEST {
        term *= left / expected;
        sum += term;
        left -= 1.0;
    }
    largest + sum.ln()
}

/// Terms below this share of the largest add nothing that is seen.
const SMALLEST: f64 = 1e-12;
/// From here on Stirling's series is exact to seven digits.
const STIRLING: f64 = 10.0;

fn ln_factorial(n: f64) -> f64 {
    if n < STIRLING {
        return (2..=n as u64).map(|k| (k as f64).ln()).sum();
    }
    n * n.ln() - n + (std::f64::consts::TAU * n).ln() / 2.0 + 1.0 / (12.0 * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latencies_ms: impl IntoIterator<Item = f64>) -> Histogram {
        let mut histogram = Histogram::empty(Edges::log2_us(OCTAVES));
        for ms in latencies_ms {
            histogram.record((ms * 1e6) as u64);
        }
        histogram
    }

    #[test]
    fn late_answers_are_a_mode_and_a_queue_is_a_smear() {
        let quick = (0..300).map(|k| 2.0 + 0.01 * f64::from(k));
        let late = (0..60).map(|k| 70.0 + f64::from(k));
        let found = slow_mode(&of(quick.clone().chain(late)), 27e6).expect("two modes");
        assert_eq!(found.count, 60);
        assert!(found.of_time > 0.5 && found.from_ns > 60e6 && found.others_ns < 10e6, "{found:?}");
        // Sixty of a smear leave ten in the octave that is empty here.
        assert!((found.no_smear - 10.0).abs() < 1e-9, "{found:?}");
        assert!((ln_as_few(2, 3.0) - (8.5f64 * (-3.0f64).exp()).ln()).abs() < 1e-12);
        // What no power holds: a thousand of twelve thousand, half a billion of a billion.
        for (n, expected) in [(1_000, 12_000.0), (500_000_000, 1e9), (u64::MAX / 8, 1e19)] {
            let chance = ln_as_few(n, expected);
            assert!(chance.is_finite() && chance < -3.0, "{n} of {expected}: {chance}");
        }
        // A batch that drains: even between nothing and all of it.
        let smear = (1..300).map(|k| 0.7 * f64::from(k));
        assert_eq!(slow_mode(&of(quick.clone().chain(smear)), 27e6), None);
        assert_eq!(rises_steeply(&of((1..300).map(|k| 0.7 * f64::from(k)))), None);
        assert!(rises_steeply(&of((0..300).map(|k| 70.0 + f64::from(k)))).expect("steep") > 3.0);
        // One hump, wherever it lies, is none.
        assert_eq!(slow_mode(&of(quick.clone()), 1e6), None);
        assert_eq!(slow_mode(&of(quick.map(|ms| 40.0 * ms)), 27e6), None);
    }
}
