//! Stalls: intervals in which requests are in flight and none completes.
//!
//! When a device freezes, requests keep arriving and all complete together when it resumes: the
//! later one arrived, the shorter it waited, so latency falls by one second per second of issue
//! time. The dual of a ramp.

use super::{lost_time, service::ServiceSpan, spread};

/// One interval without a completion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Episode {
    /// Last completion before it, or the first issue if the device was idle.
    pub start_ns: i64,
    /// The completion that ended it.
    pub end_ns: i64,
    /// Requests that were in flight when it ended.
    pub requests: usize,
    /// Slope of latency on issue time over these, near -1 in a stall; `None` below three
    /// requests.
    pub slope: Option<f64>,
}

impl Episode {
    /// Its length, ns.
    pub fn length_ns(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64
    }
}

/// The stalls found in a list of spans.
#[derive(Clone, PartialEq, Debug)]
pub struct Stalls {
    /// The intervals, in order.
    pub episodes: Vec<Episode>,
    /// The length beyond which an interval counts, ns.
    pub threshold_ns: f64,
    /// Their total length, ns.
    pub stalled_ns: f64,
    /// The longest, ns.
    pub longest_ns: f64,
    /// Share of the busy time.
    pub busy_share: f64,
    /// Share of the time lost (latency above `s0`) by requests during a stall, or while its backlog
    /// was served.
    pub lost_share: f64,
    /// Share of the requests outside stalls.
    pub spared_share: f64,
    /// Latencies of those outside stalls that were not issued just after one either (within its
    /// length, because its backlog is served first), ns.
    pub spared_ns: Vec<f64>,
    /// Share of the episodes, except the first, without a fast request since the previous one: such
    /// a series of freezes is one interval of slow requests.
    pub unbroken: f64,
    /// Median of the episodes' slopes.
    pub slope: Option<f64>,
    /// Median time from one start to the next, ns, and its coefficient of variation; with three
    /// episodes or more.
    pub cadence: Option<(f64, f64)>,
}

/// An interval counts from this many healthy service times on ... (docs/METHOD.md, 6 Ramps and
/// stalls)
const HEALTHY_TIMES: f64 = 20.0;
/// ... and from this length on: 50 ms (same section).
const SHORTEST_NS: f64 = 50e6;
/// Requests looked at after each stall: more than any queue the kernel keeps (nr_requests and
/// the deepest NVMe queue in use, 1023).
const MAX_QUEUE: usize = 1024;

/// Finds intervals of more than max(20 `s0`, 50 ms) without a completion though requests were in
/// flight, among spans sorted by completion. `None` if there is none.
pub fn stalls(spans: &[ServiceSpan], s0_ns: f64) -> Option<Stalls> {
    let threshold_ns = (HEALTHY_TIMES * s0_ns).max(SHORTEST_NS);
    let first_issues = first_issue_from(spans);
    let mut met = vec![false; spans.len()];
    let (mut episodes, mut places) = (Vec::new(), Vec::new());
    for (i, span) in spans.iter().enumerate() {
        let earlier = i.checked_sub(1).and_then(|before| spans.get(before));
        let idle_until = first_issues.get(i).copied().unwrap_or(span.issued_ns);
        let start_ns = earlier.map_or(idle_until, |before| before.completed_ns.max(idle_until));
        if span.completed_ns.saturating_sub(start_ns) as f64 <= threshold_ns {
            continue;
        }
        let still_open = |j: &usize| first_issues.get(*j).is_some_and(|t| *t < span.completed_ns);
        let held: Vec<usize> = (i..spans.len().min(i + MAX_QUEUE))
            .take_while(still_open)
            .filter(|j| spans.get(*j).is_some_and(|held| held.issued_ns < span.completed_ns))
            .collect();
        for j in &held {
            if let Some(met) = met.get_mut(*j) {
                *met = true;
            }
        }
        let points: Vec<(f64, f64)> = held
            .iter()
            .filter_map(|j| spans.get(*j))
            .map(|held| (held.issued_ns.saturating_sub(start_ns) as f64, held.latency_ns()))
            .collect();
        let slope = if points.len() < 3 { None } else { spread::slope(&points) };
        let end_ns = span.completed_ns;
        places.push(i);
        episodes.push(Episode { start_ns, end_ns, requests: held.len(), slope });
    }
    if episodes.is_empty() {
        return None;
    }
    let lengths: Vec<f64> = episodes.iter().map(Episode::length_ns).collect();
    let stalled_ns: f64 = lengths.iter().sum();
    let all: Vec<f64> = spans.iter().map(ServiceSpan::latency_ns).collect();
    let behind =
        |place: usize, span: &ServiceSpan| met.get(place) == Some(&true) || near(span, &episodes);
    let stalled: Vec<f64> = spans
        .iter()
        .enumerate()
        .filter(|(place, span)| behind(*place, span))
        .map(|(_, span)| span.latency_ns())
        .collect();
    let lost = lost_time::lost_ns(&all, s0_ns);
    let slopes: Vec<f64> = episodes.iter().filter_map(|episode| episode.slope).collect();
    Some(Stalls {
        threshold_ns,
        stalled_ns,
        longest_ns: lengths.iter().copied().fold(0.0, f64::max),
        busy_share: stalled_ns / super::service::busy_ns(spans).max(1.0),
        lost_share: if lost > 0.0 { lost_time::lost_ns(&stalled, s0_ns) / lost } else { 0.0 },
        spared_share: met.iter().filter(|met| !**met).count() as f64 / met.len().max(1) as f64,
        spared_ns: spared(spans, &met, &episodes),
        unbroken: unbroken(&places, &met),
        slope: spread::median(&slopes),
        cadence: cadence(&episodes),
        episodes,
    })
}

/// Share of the episodes, except the first, before which every request since the last one was in
/// one, too.
fn unbroken(places: &[usize], met: &[bool]) -> f64 {
    let follows = |pair: &&[usize]| {
        met.get(pair[0]..pair[1]).is_some_and(|between| between.iter().all(|met| *met))
    };
    let pairs = places.windows(2);
    let all = pairs.len().max(1) as f64;
    pairs.filter(follows).count() as f64 / all
}

/// Latencies, from where each was first seen, of the requests far from a stall.
fn spared(spans: &[ServiceSpan], met: &[bool], episodes: &[Episode]) -> Vec<f64> {
    let far = spans.iter().zip(met).filter(|(span, met)| !**met && !near(span, episodes));
    far.map(|(span, _)| span.waited_ns()).collect()
}

/// Whether a request came just after a stall: within as long as it had lasted.
fn near(span: &ServiceSpan, episodes: &[Episode]) -> bool {
    // The last episode that ended before it came; both are in order of time.
    let after = episodes.partition_point(|episode| episode.end_ns <= span.started_ns());
    let last = after.checked_sub(1).and_then(|place| episodes.get(place));
    last.is_some_and(|last| {
        span.started_ns().saturating_sub(last.end_ns) as f64 <= last.length_ns()
    })
}

/// Share of a device's stalled time during which any of the others stalled too: devices that stall
/// together share the cause, such as a pause of their host.
pub fn together<'a>(mine: &Stalls, others: impl Iterator<Item = &'a Stalls>) -> f64 {
    let mut theirs: Vec<(i64, i64)> = others
        .flat_map(|stalls| &stalls.episodes)
        .map(|episode| (episode.start_ns, episode.end_ns))
        .collect();
    theirs.sort_unstable();
    let mut shared = 0.0;
    for episode in &mine.episodes {
        let mut from = episode.start_ns;
        for (start, end) in &theirs {
            let (start, end) = (from.max(*start), episode.end_ns.min(*end));
            shared += end.saturating_sub(start).max(0) as f64;
            from = from.max(end);
        }
    }
    shared / mine.stalled_ns.max(1.0)
}

/// For each span, the earliest issue among it and all that complete later.
fn first_issue_from(spans: &[ServiceSpan]) -> Vec<i64> {
    let mut earliest = i64::MAX;
    let mut from: Vec<i64> = spans
        .iter()
        .rev()
        .map(|span| {
            earliest = earliest.min(span.issued_ns);
            earliest
        })
        .collect();
    from.reverse();
    from
}

fn cadence(episodes: &[Episode]) -> Option<(f64, f64)> {
    let gaps: Vec<f64> = episodes
        .windows(2)
        .map(|pair| pair[1].start_ns.saturating_sub(pair[0].start_ns) as f64)
        .collect();
    if gaps.len() < 2 { None } else { Some((spread::median(&gaps)?, spread::cv(&gaps)?)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::service::{sort, span};

    /// A request every 5 ms of 1 ms each; a freeze of 300 ms at the end of every second.
    fn freezing() -> Vec<ServiceSpan> {
        let mut spans: Vec<ServiceSpan> = (0..600)
            .map(|i| {
                let start = i * 5_000_000;
                let in_second = start % 1_000_000_000;
                let held = in_second >= 700_000_000;
                let end = start - in_second + 999_999_000;
                span(start, if held { end + i } else { start + 1_000_000 })
            })
            .collect();
        sort(&mut spans);
        spans
    }

    #[test]
    fn freezes_are_found_with_their_slope_and_cadence() {
        let found = stalls(&freezing(), 1e6).unwrap();
        assert_eq!(found.episodes.len(), 3);
        assert_eq!(found.episodes[0].requests, 60);
        assert!((found.longest_ns - 300e6).abs() < 5e6, "{found:?}");
        assert!((found.slope.unwrap() + 1.0).abs() < 0.01, "{found:?}");
        let (every_ns, cv) = found.cadence.unwrap();
        assert!((every_ns - 1e9).abs() < 5e6 && cv < 0.01, "{found:?}");
        assert!(found.lost_share > 0.999 && (found.spared_share - 0.7).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn slow_requests_one_after_the_other_are_an_unbroken_row() {
        let slow: Vec<ServiceSpan> =
            (0..20).map(|i| span(i * 70_000_000, i * 70_000_000 + 65_000_000)).collect();
        assert_eq!(stalls(&slow, 1e6).unwrap().unbroken, 1.0);
        assert_eq!(stalls(&freezing(), 1e6).unwrap().unbroken, 0.0);
    }

    #[test]
    fn an_idle_hour_is_not_a_stall() {
        let quiet = [span(0, 1_000_000), span(3_600_000_000_000, 3_600_001_000_000)];
        assert_eq!(stalls(&quiet, 1e6), None);
        assert_eq!(stalls(&[], 1e6), None);
    }
}
