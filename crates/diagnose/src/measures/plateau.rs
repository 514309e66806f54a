//! Whether a device completes at a constant rate however many requests wait: the throughput plateau
//! of a saturated device.
//!
//! A device that serves many at once serves some from a cache and others late, and completes in
//! bunches. Single service times then show little, while the throughput over many of them is its
//! capacity. By Little's law a request waits for the number in flight times the time per completion
//! (Little, 1961).

use crate::measures::service::{self, ServiceSpan};
use crate::measures::spread;

/// Completions of a device over an interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plateau {
    /// Mean number in flight while any was.
    pub in_flight: f64,
    /// Busy time per completion, ns.
    pub pace_ns: f64,
    /// Share of the time in which it kept its usual pace: what a device loses that freezes at
    /// times.
    pub even: f64,
}

/// Completions in a window, as many times what is in flight: bunches of answers are then in it as a
/// whole (choice).
const TURNS: f64 = 4.0;
/// Fewest completions in a window, and windows.
const WINDOW: usize = 32;
const WINDOWS: usize = 4;
/// A window that takes this many times the usual one is not at the usual pace (docs/METHOD.md, 1
/// Replay: slow above twice).
const SLOW: f64 = 2.0;

/// The plateau of spans sorted by completion; `None` if they are too few for windows.
pub fn plateau(spans: &[ServiceSpan]) -> Option<Plateau> {
    let busy_ns = service::busy_ns(spans);
    if busy_ns <= 0.0 {
        return None;
    }
    let waited_ns: f64 = spans.iter().map(ServiceSpan::waited_ns).sum();
    let in_flight = waited_ns / busy_ns;
    let window = ((TURNS * in_flight).ceil() as usize).max(WINDOW);
    let ends: Vec<i64> =
        spans.chunks_exact(window).filter_map(|of| Some(of.last()?.completed_ns)).collect();
    let lengths: Vec<f64> =
        ends.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).max(0) as f64).collect();
    let usual_ns = spread::median(&lengths).filter(|_| lengths.len() >= WINDOWS)?;
    let all: f64 = lengths.iter().sum();
    let even: f64 = lengths.iter().filter(|ns| **ns <= SLOW * usual_ns).sum();
    let pace_ns = busy_ns / spans.len() as f64;
    (all > 0.0).then(|| Plateau { in_flight, pace_ns, even: even / all })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::service::span;

    #[test]
    fn bunches_are_at_one_pace_and_a_freeze_is_not() {
        // 64 in flight, one done every 10 us, but seen in bunches of 32.
        let seen = |k: i64| k / 32 * 320_000 + k % 32;
        let bunched: Vec<ServiceSpan> =
            (0..20_000).map(|k| span(seen(k) - 640_000, seen(k))).collect();
        let found = plateau(&bunched).unwrap();
        assert!((found.in_flight - 64.0).abs() < 1.0 && found.even > 0.99, "{found:?}");
        assert!((found.pace_ns - 10_000.0).abs() < 100.0, "{found:?}");
        // The same device freezes for half of the time.
        let late = |k: i64| seen(k) + k / 4_000 * 40_000_000;
        let frozen: Vec<ServiceSpan> = (0..20_000)
            .map(|k| span((late(k) - 640_000).min(late((k - 64).max(0))), late(k)))
            .collect();
        let found = plateau(&frozen).unwrap();
        assert!(found.even < 0.6, "{found:?}");
        assert_eq!(plateau(&bunched[..64]), None);
        assert_eq!(plateau(&[]), None);
    }
}
