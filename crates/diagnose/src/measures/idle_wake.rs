//! The first request after a pause, compared with all others: waking a device from sleep.
//!
//! Power states of flash take milliseconds to leave, platters seconds to spin up, and always the
//! same time. The pause after which a device sleeps is not known: of several candidates the
//! shortest that separates the first requests after a sleep is used.

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
    /// Latency beyond the others' median, by the woken and those that waited with them, ns.
    pub lost_ns: f64,
}

/// Pauses tried, s (docs/METHOD.md, 17 Faults: 0.1 to 60 s).
pub const PAUSES_S: [f64; 9] = [0.1, 0.3, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0];
/// Bounds of the rule (same place).
pub const RATIO: f64 = 5.0;
/// Woken requests needed.
pub const WOKEN: usize = 4;
/// Their relative spread at most.
pub const SPREAD: f64 = 0.15;

/// The shortest pause that separates its first requests from all others; `None` if none does.
/// `spans` are sorted by completion.
pub fn idle_wake(spans: &[ServiceSpan]) -> Option<Wake> {
    let pauses = pauses_s(spans);
    PAUSES_S.into_iter().find_map(|pause_s| after(spans, &pauses, pause_s))
}

fn after(spans: &[ServiceSpan], pauses: &[Option<f64>], pause_s: f64) -> Option<Wake> {
    let is_woken = |pause: &Option<f64>| pause.is_some_and(|pause| pause > pause_s);
    let (mut woken, mut awake, mut behind) = (Vec::new(), Vec::new(), Vec::new());
    for ((span, pause), waker) in spans.iter().zip(pauses).zip(wakers(spans, pauses, pause_s)) {
        let kind = match (is_woken(pause), waker) {
            (true, _) => &mut woken,
            (_, true) => &mut behind,
            _ => &mut awake,
        };
        kind.push(span.latency_ns());
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
        lost_ns: woken.iter().chain(&behind).map(|ns| (ns - awake_ns).max(0.0)).sum(),
    };
    (wake.woken >= WOKEN && ratio >= RATIO && spread < SPREAD).then_some(wake)
}

/// For each span, whether it was issued while the first after such a pause was still waited for: it
/// waits with it.
fn wakers(spans: &[ServiceSpan], pauses: &[Option<f64>], pause_s: f64) -> Vec<bool> {
    let woken = spans.iter().zip(pauses);
    let woken = woken.filter(|(_, pause)| pause.is_some_and(|pause| pause > pause_s));
    let mut woken: Vec<(i64, i64)> =
        woken.map(|(span, _)| (span.issued_ns, span.completed_ns)).collect();
    woken.sort_unstable();
    let waits = |span: &ServiceSpan| {
        let place = woken.partition_point(|(issued, _)| *issued <= span.issued_ns);
        let last = place.checked_sub(1).and_then(|place| woken.get(place));
        last.is_some_and(|(_, completed)| span.issued_ns < *completed)
    };
    spans.iter().map(waits).collect()
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
    /// takes the given time after such a pause.
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
    fn who_comes_while_it_wakes_waits_with_the_first() {
        let mut spans = bursts(|_, pause| if pause > 1.0 { 50.0 } else { 0.1 });
        let firsts: Vec<ServiceSpan> =
            spans.iter().filter(|span| span.latency_ns() > 1e6).cloned().collect();
        for first in firsts {
            for k in 1..6 {
                spans.push(span(first.issued_ns + 10_000 * k, first.completed_ns + 90_000 * k));
            }
        }
        sort(&mut spans);
        let found = idle_wake(&spans).unwrap();
        assert_eq!(found.woken, 7);
        // Except for those after the one that opened the trace.
        assert!(found.of_slow > 0.5 && found.lost_ns > 6.0 * 7.0 * 49e6, "{found:?}");
    }

    #[test]
    fn a_cold_cache_takes_any_time() {
        let cold = |burst: usize, _| 1.0 + (burst * 7 % 11) as f64;
        assert_eq!(idle_wake(&bursts(cold)), None);
        assert_eq!(idle_wake(&[]), None);
    }
}
