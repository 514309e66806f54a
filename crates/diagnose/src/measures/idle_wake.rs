//! What the first request after a pause takes, beside all others: waking a device from sleep.
//!
//! Power states of flash take milliseconds to leave, platters seconds to spin up, and always the same
//! time. The pause after which a device sleeps is not known: of several candidates the shortest is
//! taken that sets the woken requests apart.

use super::service::ServiceSpan;
use super::spread;

/// First requests after a pause.
#[derive(Clone, PartialEq, Debug)]
pub struct Wake {
    /// The pause from which on a request is slow, s.
    pub pause_s: f64,
    /// The shortest such pause that was seen, s.
    pub shortest_s: f64,
    /// Requests after such a pause.
    pub woken: usize,
    /// Their median latency, ns.
    pub woken_ns: f64,
    /// Median latency of all others, ns.
    pub awake_ns: f64,
    /// Its ratio, larger over smaller.
    pub ratio: f64,
    /// Median distance from the median among the woken, over that median.
    pub spread: f64,
    /// Share of all slow requests (nearer to the woken than to the others) that were woken.
    pub of_slow: f64,
    /// Latency beyond the others' median, by the woken, ns.
    pub lost_ns: f64,
}

/// Pauses tried, s (docs/METHOD.md, 17 Faults: 0.1 to 60 s).
const PAUSES_S: [f64; 9] = [0.1, 0.3, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0];
/// Bounds of the rule (same place).
pub const RATIO: f64 = 5.0;
/// Woken requests needed.
pub const WOKEN: usize = 4;
/// Their relative spread at most.
pub const SPREAD: f64 = 0.15;

/// The shortest pause that sets its first requests apart from all others; `None` if none does.
/// `spans` are sorted by completion.
pub fn idle_wake(spans: &[ServiceSpan]) -> Option<Wake> {
    let pauses = pauses_s(spans);
    PAUSES_S.into_iter().find_map(|pause_s| after(spans, &pauses, pause_s))
}

fn after(spans: &[ServiceSpan], pauses: &[Option<f64>], pause_s: f64) -> Option<Wake> {
    let is_woken = |pause: &Option<f64>| pause.is_some_and(|pause| pause > pause_s);
    let (mut woken, mut awake) = (Vec::new(), Vec::new());
    for (span, pause) in spans.iter().zip(pauses) {
        if is_woken(pause) { &mut woken } else { &mut awake }.push(span.latency_ns());
    }
    let (woken_ns, awake_ns) = (spread::median(&woken)?, spread::median(&awake)?);
    let spread = spread::mad(&woken)? / woken_ns;
    let ratio = woken_ns / awake_ns;
    // Half-way between the two on a logarithmic scale.
    let slow_from = (woken_ns * awake_ns).sqrt();
    let slow = |latencies: &[f64]| latencies.iter().filter(|ns| **ns > slow_from).count() as f64;
    let shortest_s = pauses.iter().filter(|pause| is_woken(pause)).flatten().copied();
    let wake = Wake {
        pause_s,
        shortest_s: shortest_s.reduce(f64::min)?,
        woken: woken.len(),
        woken_ns,
        awake_ns,
        ratio,
        spread,
        of_slow: slow(&woken) / (slow(&woken) + slow(&awake)).max(1.0),
        lost_ns: woken.iter().map(|ns| (ns - awake_ns).max(0.0)).sum(),
    };
    (wake.woken >= WOKEN && ratio >= RATIO && spread < SPREAD).then_some(wake)
}

/// For each span, how long the device had nothing to do before its issue, s; `None` if it was
/// busy, or for the first one. Of several issued at once only the first wakes the device.
fn pauses_s(spans: &[ServiceSpan]) -> Vec<Option<f64>> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|place| spans.get(*place).map(|span| span.issued_ns));
    let mut pauses = vec![None; spans.len()];
    let mut until: Option<i64> = None;
    for place in order {
        let Some(span) = spans.get(place) else { continue };
        let idle = until.map(|until| span.issued_ns.saturating_sub(until) as f64 / 1e9);
        if let Some(pause) = pauses.get_mut(place) {
            *pause = idle.filter(|idle| *idle > 0.0);
        }
        until = Some(until.unwrap_or(i64::MIN).max(span.completed_ns));
    }
    pauses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::service::{sort, span};

    /// Ten reads of 0.1 ms in each burst; bursts 1.2 s apart, some 0.2 s; the first read of a burst
    /// takes what it is told after so long a pause.
    fn bursts(first_ms: impl Fn(usize, f64) -> f64) -> Vec<ServiceSpan> {
        let (mut at, mut spans) = (0i64, Vec::new());
        for burst in 0..16 {
            let pause_s = if burst % 2 == 0 { 1.2 } else { 0.2 };
            at += (pause_s * 1e9) as i64;
            for k in 0..10 {
                let ms = if k == 0 { first_ms(burst, pause_s) } else { 0.1 };
                spans.push(span(at, at + (ms * 1e6) as i64));
                at += (ms * 1e6) as i64 + 1000;
            }
        }
        sort(&mut spans);
        spans
    }

    #[test]
    fn the_pause_that_puts_it_to_sleep_is_found() {
        let found = idle_wake(&bursts(|_, pause| if pause > 1.0 { 7.5 } else { 0.1 })).unwrap();
        // The first burst has no pause before it: 7 of 8 long pauses count.
        assert_eq!((found.pause_s, found.woken), (0.3, 7));
        assert!((found.shortest_s - 1.2).abs() < 1e-3, "{found:?}");
        assert!((found.ratio - 75.0).abs() < 0.01 && found.spread < 0.01, "{found:?}");
        // The eighth slow one opened the trace.
        assert!((found.of_slow - 7.0 / 8.0).abs() < 1e-9, "{found:?}");
        assert!((found.lost_ns - 7.0 * 7.4e6).abs() < 100.0, "{found:?}");
    }

    #[test]
    fn a_cold_cache_takes_any_time() {
        let cold = |burst: usize, _| 1.0 + (burst * 7 % 11) as f64;
        assert_eq!(idle_wake(&bursts(cold)), None);
        assert_eq!(idle_wake(&[]), None);
    }
}
