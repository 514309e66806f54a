//! Queueing ramps: a batch issued at once and drained at a steady pace.
//!
//! Latencies climb 10, 20, 30 ms while completions keep their spacing: each request waits for
//! those before it. Slow, but the device is not to blame unless the spacing itself is slow. The
//! dual of a stall: there issues are spread and completions bunched.

use super::spans::{Depth, Spans};
use super::{lost_time, service::ServiceSpan, spread};

/// The ramps found in a list of spans.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ramps {
    /// Batches that drain as ramps.
    pub count: usize,
    /// Requests in them.
    pub requests: usize,
    /// Median slope of latency on completion time, near 1 in a ramp.
    pub slope: f64,
    /// Median time between completions in them, ns.
    pub spacing_ns: f64,
    /// Median coefficient of variation of that time.
    pub spacing_cv: f64,
    /// Share of the time lost (latency above `s0`, all requests) that was lost in ramps.
    pub lost_share: f64,
}

/// Fewest issues of a batch. This constant and the next three: docs/METHOD.md, 6 Ramps and stalls.
const MIN_BATCH: usize = 5;
/// The issues of a batch take less than this share of the time it takes to drain.
const AT_ONCE: f64 = 0.1;
/// Slope of latency on completion time within which a batch drains as a ramp.
const SLOPES: std::ops::RangeInclusive<f64> = 0.8..=1.2;
/// Busy periods that make batches of a load: one alone may be its beginning.
const PERIODS: usize = 2;
/// Steps in which the drain of a long batch is examined: as many as give a variation to a sixth.
const STEPS: usize = 20;
/// Widest coefficient of variation of the time between completions.
const STEADY: f64 = 0.5;

/// Finds the ramps among spans (sorted by completion): at least five issues in under a tenth of
/// the time they take to drain, at a steady pace. `None` if there are none. Latency runs from the
/// queueing of a request where that was seen.
pub fn ramps(spans: &[ServiceSpan], s0_ns: f64) -> Option<Ramps> {
    let mut by_start: Vec<&ServiceSpan> = spans.iter().collect();
    by_start.sort_by_key(|span| (span.started_ns(), span.completed_ns));
    let mut found: Vec<Drain> = Vec::new();
    let mut first = 0;
    while first < by_start.len() {
        let length = batch_length(&by_start, first);
        let batch = by_start.get(first..first + length).unwrap_or(&[]);
        found.extend(drain(batch, s0_ns));
        first += length;
    }
    let waits: Vec<f64> = spans.iter().map(ServiceSpan::waited_ns).collect();
    let lost = lost_time::lost_ns(&waits, s0_ns);
    let followed = lost_in_periods(&by_start, &found, s0_ns);
    let median_of =
        |what: fn(&Drain) -> f64| spread::median(&found.iter().map(what).collect::<Vec<f64>>());
    Some(Ramps {
        count: found.len(),
        requests: found.iter().map(|drain| drain.requests).sum(),
        slope: median_of(|drain| drain.slope)?,
        spacing_ns: median_of(|drain| drain.spacing_ns)?,
        spacing_cv: median_of(|drain| drain.spacing_cv)?,
        lost_share: if lost > 0.0 {
            followed.max(found.iter().map(|drain| drain.lost_ns).sum::<f64>()) / lost
        } else {
            0.0
        },
    })
}

/// Share of the time, from the first start to the last completion, with fewer than this many in
/// flight.
pub fn rest_share(spans: &[ServiceSpan], room: u32) -> f64 {
    let stretches = || spans.iter().map(|span| (span.started_ns(), span.completed_ns));
    let (first, last) = stretches().fold((i64::MAX, i64::MIN), |(first, last), (start, end)| {
        (first.min(start), last.max(end))
    });
    let whole = Spans::of(std::iter::once((first, last)));
    let rest_ns = Depth::of(stretches()).time_below(&whole, room);
    if rest_ns > 0.0 { rest_ns / whole.total_ns() } else { 0.0 }
}

/// Time lost in the busy periods in whose beginning, a tenth, a ramp is: a device takes 32 or some
/// more of a large batch at once, and a log that begins at issue shows the rest arriving as slots
/// get free. A load without a pause has one period, which is not a batch.
fn lost_in_periods(by_start: &[&ServiceSpan], found: &[Drain], s0_ns: f64) -> f64 {
    let (mut periods, mut lost) = (0, 0.0);
    let mut first = 0;
    while let Some(start) = by_start.get(first).map(|span| span.started_ns()) {
        let mut until = i64::MIN;
        let period: Vec<f64> = by_start
            .iter()
            .skip(first)
            .take_while(|span| {
                let joins = until == i64::MIN || span.started_ns() < until;
                until = until.max(span.completed_ns);
                joins
            })
            .map(|span| span.waited_ns())
            .collect();
        let opens = AT_ONCE * until.saturating_sub(start) as f64;
        let is_first =
            |drain: &Drain| (0.0..=opens).contains(&(drain.start_ns.saturating_sub(start) as f64));
        if found.iter().any(is_first) {
            periods += 1;
            lost += lost_time::lost_ns(&period, s0_ns);
        }
        first += period.len();
    }
    if periods >= PERIODS { lost } else { 0.0 }
}

/// How many requests from `first` on were issued at once: each within a tenth of the time that
/// the batch so far, itself included, takes to drain.
fn batch_length(by_start: &[&ServiceSpan], first: usize) -> usize {
    let Some(start) = by_start.get(first).map(|span| span.started_ns()) else { return 1 };
    let mut drained = i64::MIN;
    let mut length = 0;
    for span in by_start.iter().skip(first) {
        drained = drained.max(span.completed_ns);
        let issuing = span.started_ns().saturating_sub(start) as f64;
        if issuing > AT_ONCE * drained.saturating_sub(start) as f64 {
            break;
        }
        length += 1;
    }
    length.max(1)
}

/// One batch that drains as a ramp.
struct Drain {
    start_ns: i64,
    requests: usize,
    slope: f64,
    spacing_ns: f64,
    spacing_cv: f64,
    lost_ns: f64,
}

/// Whether most of a batch is in flight when the last of it is issued. Requests that follow each
/// other beside a single stuck one are as close together, but wait for nothing.
fn waits_together(batch: &[&ServiceSpan]) -> bool {
    let last = batch.iter().map(|span| span.started_ns()).max().unwrap_or(i64::MAX);
    2 * batch.iter().filter(|span| span.completed_ns > last).count() >= batch.len()
}

fn drain(batch: &[&ServiceSpan], s0_ns: f64) -> Option<Drain> {
    if batch.len() < MIN_BATCH || !waits_together(batch) {
        return None;
    }
    let mut completions: Vec<i64> = batch.iter().map(|span| span.completed_ns).collect();
    completions.sort_unstable();
    let origin = *completions.first()?;
    let points: Vec<(f64, f64)> = batch
        .iter()
        .map(|span| (span.completed_ns.saturating_sub(origin) as f64, span.waited_ns()))
        .collect();
    // A device that works on several at once completes them unevenly one by one, and drains a long
    // batch as evenly as any.
    let step = (batch.len() / STEPS).max(1);
    let ends: Vec<i64> = completions.iter().copied().step_by(step).collect();
    let spacings: Vec<f64> =
        ends.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64 / step as f64).collect();
    let slope = spread::slope(&points)?;
    let spacing_cv = spread::cv(&spacings)?;
    let waits: Vec<f64> = points.iter().map(|point| point.1).collect();
    (SLOPES.contains(&slope) && spacing_cv < STEADY).then_some(Drain {
        start_ns: batch.first()?.started_ns(),
        requests: batch.len(),
        slope,
        spacing_ns: spread::median(&spacings)?,
        spacing_cv,
        lost_ns: lost_time::lost_ns(&waits, s0_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::{listings, service::span};

    /// Twenty requests issued at once every second, each served 5 ms.
    fn batches() -> Vec<ServiceSpan> {
        let at = |batch: i64, i: i64| {
            let start = batch * 1_000_000_000;
            span(start + i * 1000, start + (i + 1) * 5_000_000)
        };
        (0..4).flat_map(|batch| (0..20).map(move |i| at(batch, i))).collect()
    }

    #[test]
    fn a_batch_that_drains_is_a_ramp() {
        let found = ramps(&batches(), 5e6).unwrap();
        assert_eq!((found.count, found.requests), (4, 80));
        assert!((found.slope - 1.0).abs() < 0.01, "{found:?}");
        assert!((found.spacing_ns - 5e6).abs() < 1e4 && found.spacing_cv < 0.01, "{found:?}");
        assert!((found.lost_share - 1.0).abs() < 1e-9, "{found:?}");
        // Three pauses of 0.9 s, and the second half of four batches of 0.1 s.
        assert!((rest_share(&batches(), 10) - 2.9 / 3.1).abs() < 0.01);
    }

    #[test]
    fn a_queue_that_is_refilled_never_rests() {
        // 32 in flight, eight new ones whenever eight are done.
        let refilled: Vec<ServiceSpan> =
            (0..4000).map(|k| span((k / 8 - 4) * 800, (k / 8) * 800 + k % 8 * 100)).collect();
        assert!(rest_share(&refilled, 4) < 0.05, "{}", rest_share(&refilled, 4));
    }

    #[test]
    fn quick_ones_beside_a_stuck_one_are_no_batch() {
        // One request of 100 ms, every second, and fifty one after the other meanwhile.
        let beside = |second: i64| {
            let start = second * 1_000_000_000;
            let quick = move |k: i64| span(start + k * 200_000, start + k * 200_000 + 170_000);
            (0..50).map(quick).chain([span(start, start + 100_000_000)])
        };
        let mut all: Vec<ServiceSpan> = (0..4).flat_map(beside).collect();
        all.sort_by_key(|span| span.completed_ns);
        assert_eq!(ramps(&all, 150_000.0), None);
    }

    #[test]
    fn dusty_disk_shows_no_ramp_as_its_author_says() {
        assert_eq!(ramps(&listings::worst(), 1e6), None);
        assert_eq!(ramps(&listings::fast(), 1e6), None);
        assert_eq!(ramps(&[], 1e6), None);
    }

    #[test]
    fn a_stall_is_not_a_ramp() {
        // Issues every 10 ms, all held until 500 ms.
        let held: Vec<ServiceSpan> =
            (0..40).map(|i| span(i * 10_000_000, 500_000_000 + i * 1000)).collect();
        assert_eq!(ramps(&held, 1e6), None);
    }
}
