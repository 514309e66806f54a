//! Areas of a disk that are slow at every access, while all others are fast.
//!
//! A weak sector is read again and again by the drive itself, so the same area is slow at each
//! visit. A visit is a run of requests to one 1-MiB range without a request elsewhere between, so
//! that a freeze of the whole disk counts once and not for every request that met it. Requests in
//! flight beside a slow one that completed after it waited for it: they do not count as visits.

use std::collections::HashSet;

use super::service::ServiceSpan;
use super::spread;

/// A range of the disk that is slow at each visit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Place {
    /// Its first sector.
    pub sector: u64,
    /// Visits to it, and how many of them were slow.
    pub spans: usize,
    /// How many of them were slow.
    pub slow: usize,
    /// Visits to all other areas, and how many of these were slow.
    pub others: usize,
    /// Slow visits to all other areas.
    pub others_slow: usize,
    /// Fisher's exact probability of that by chance, times the areas visited twice or more.
    pub chance: f64,
    /// Latency beyond the median of all, by its slow requests, ns.
    pub lost_ns: f64,
    /// Median latency of its slow visits, ns.
    pub slow_ns: f64,
}

/// Sectors of a range: 1 MiB (docs/METHOD.md, 17 Faults).
pub const RANGE: u64 = 2048;
/// A visit is slow from this many medians on (same section).
const SLOW: f64 = 10.0;

/// One run of requests to one range.
struct Call {
    range: u64,
    longest_ns: f64,
    lost_ns: f64,
}

/// The area least likely to be slow by chance; `None` if no area was visited twice and slow twice.
/// `spans` are sorted by completion.
pub fn slow_place(spans: &[ServiceSpan]) -> Option<Place> {
    let latencies: Vec<f64> = spans.iter().map(ServiceSpan::latency_ns).collect();
    let median = spread::median(&latencies).filter(|median| *median > 0.0)?;
    let mut calls = calls(spans, median);
    let slow_at = SLOW * median;
    let all_slow = calls.iter().filter(|call| call.longest_ns > slow_at).count();
    if all_slow < 2 {
        return None;
    }
    calls.sort_by_key(|call| call.range);
    let ranges = || calls.chunk_by(|a, b| a.range == b.range);
    let tried = ranges().filter(|calls| calls.len() > 1).count();
    let found = ranges().filter_map(|known| {
        let range = known.first()?.range;
        let slow: Vec<f64> =
            known.iter().map(|call| call.longest_ns).filter(|ns| *ns > slow_at).collect();
        if slow.len() < 2 {
            return None;
        }
        let chance = at_least(slow.len(), known.len(), all_slow, calls.len()) * tried as f64;
        Some(Place {
            sector: range * RANGE,
            spans: known.len(),
            slow: slow.len(),
            others: calls.len() - known.len(),
            others_slow: all_slow - slow.len(),
            chance: chance.min(1.0),
            lost_ns: known.iter().map(|call| call.lost_ns).sum(),
            slow_ns: spread::median(&slow)?,
        })
    });
    found.min_by(|a, b| a.chance.total_cmp(&b.chance))
}

/// Slow requests, by their number, that were issued before the one that completed before them: the
/// first to complete may itself have been slow, the others were in the same pause. `spans` are
/// sorted by completion.
fn behind(spans: &[ServiceSpan], slow_at: f64) -> HashSet<usize> {
    let mut over = i64::MIN;
    let slow = spans.iter().enumerate().filter(|(_, span)| span.latency_ns() > slow_at);
    slow.filter(|(_, span)| {
        let is_behind = span.issued_ns < over;
        if !is_behind {
            over = span.completed_ns;
        }
        is_behind
    })
    .map(|(number, _)| number)
    .collect()
}

/// Runs of requests to one range, by issue.
fn calls(spans: &[ServiceSpan], median_ns: f64) -> Vec<Call> {
    let behind = behind(spans, SLOW * median_ns);
    let known = spans.iter().enumerate().filter(|(number, _)| !behind.contains(number));
    let mut order: Vec<&ServiceSpan> =
        known.map(|(_, span)| span).filter(|span| span.sector.is_some()).collect();
    order.sort_by_key(|span| span.issued_ns);
    let mut calls: Vec<Call> = Vec::new();
    for span in order {
        let range = span.sector.unwrap_or(0) / RANGE;
        let latency = span.latency_ns();
        let lost_ns = (latency - median_ns).max(0.0);
        match calls.last_mut().filter(|call| call.range == range) {
            Some(call) => {
                call.longest_ns = call.longest_ns.max(latency);
                call.lost_ns += lost_ns;
            }
            None => calls.push(Call { range, longest_ns: latency, lost_ns }),
        }
    }
    calls
}

/// Fisher's exact test, one side: the probability that of `spans` drawn from `n`, of which `slow`
/// are slow, at least `hits` are slow (hypergeometric).
pub fn at_least(hits: usize, spans: usize, slow: usize, n: usize) -> f64 {
    let ln_choose = |n: usize, k: usize| -> f64 {
        (1..=k.min(n - k)).map(|i| ((n - k.min(n - k) + i) as f64 / i as f64).ln()).sum()
    };
    let most = spans.min(slow);
    if hits > most || spans > n || slow > n {
        return 0.0;
    }
    // So many at least are slow: there are not enough others for the rest.
    let from = hits.max((spans + slow).saturating_sub(n));
    let mut ln_term =
        ln_choose(slow, from) + ln_choose(n - slow, spans - from) - ln_choose(n, spans);
    let mut sum = 0.0;
    for k in from..=most {
        sum += f64::exp(ln_term);
        let (drawn, left) = ((slow - k) * (spans - k), (k + 1) * (n + k + 1 - slow - spans));
        ln_term += (drawn as f64 / left as f64).ln();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::service::{sort, span};

    /// 300 random reads of 8 ms; every hundredth goes to the same offset.
    fn spans(slow_ms: impl Fn(usize) -> f64) -> Vec<ServiceSpan> {
        let mut spans: Vec<ServiceSpan> = (0..300)
            .map(|k| {
                let start = k as i64 * 20_000_000;
                let took = slow_ms(k);
                let mut one = span(start, start + (took * 1e6) as i64);
                one.sector = Some(if k % 100 == 50 { 4096 } else { (k as u64 % 60 + 9) * 10_000 });
                one
            })
            .collect();
        sort(&mut spans);
        spans
    }

    #[test]
    fn one_place_slow_three_times_of_three() {
        let found = slow_place(&spans(|k| if k % 100 == 50 { 400.0 } else { 8.0 })).unwrap();
        assert_eq!((found.sector, found.spans, found.slow), (4096, 3, 3));
        assert_eq!((found.others, found.others_slow), (297, 0));
        // 1 of C(300, 3) = 4 455 100 ways, over 61 places visited twice or more.
        assert!((found.chance - 61.0 / 4_455_100.0).abs() < 1e-9, "{found:?}");
        assert!((found.lost_ns - 3.0 * 392e6).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn slowness_anywhere_is_no_place() {
        let found = slow_place(&spans(|k| if k % 7 == 3 { 400.0 } else { 8.0 }));
        assert!(found.is_none_or(|found| found.chance > 0.01), "{found:?}");
        assert_eq!(slow_place(&[]), None);
    }

    /// Eight requests in flight, and the whole disk stalls for 5 ms now and then.
    #[test]
    fn a_pause_of_the_whole_disk_has_no_place() {
        let mut random = iowhy_model::Random::seeded(7);
        let mut by_chance = 0;
        for _ in 0..200 {
            let mut spans: Vec<ServiceSpan> = Vec::new();
            for round in 0..800i64 {
                let start = round * 6_000_000;
                let took = if round % 130 == 60 { 5_000_000 } else { 200_000 };
                for place in 0..8 {
                    let mut one = span(start + place, start + took + place);
                    one.sector = Some((random.unit() * 50.0) as u64 * RANGE);
                    spans.push(one);
                }
            }
            sort(&mut spans);
            by_chance += u32::from(slow_place(&spans).is_some_and(|found| found.chance < 0.01));
        }
        // One in a hundred is what its chance says.
        assert!(by_chance <= 4, "{by_chance} of 200");
    }

    /// Four in flight; one area needs 300 ms, and the others wait after it.
    #[test]
    fn a_weak_place_is_found_below_a_queue() {
        let mut spans: Vec<ServiceSpan> = Vec::new();
        for round in 0..300i64 {
            let start = round * 400_000_000;
            let is_weak = round % 30 == 7;
            for place in 0..4 {
                let took = if is_weak { 300_000_000 } else { 8_000_000 };
                let mut one = span(start + place, start + took + place * 1_000_000);
                let other = (round as u64 * 4 + place as u64) % 60 + 9;
                one.sector = Some(if is_weak && place == 0 { RANGE } else { other * 10_000 });
                spans.push(one);
            }
        }
        sort(&mut spans);
        let found = slow_place(&spans).expect("a place");
        assert_eq!((found.sector, found.spans, found.slow, found.others_slow), (RANGE, 10, 10, 0));
    }

    #[test]
    fn the_exact_test_on_a_table_done_by_hand() {
        // 2 slow of 4, 2 drawn, both slow: 1 of C(4, 2) = 6; at least one: 1 - 1/6.
        assert!((at_least(2, 2, 2, 4) - 1.0 / 6.0).abs() < 1e-12);
        assert!((at_least(1, 2, 2, 4) - 5.0 / 6.0).abs() < 1e-12);
        assert_eq!(at_least(3, 2, 2, 4), 0.0);
    }
}
