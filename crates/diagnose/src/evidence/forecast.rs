//! The result of a replay as evidence and forecast of a finding.

use std::ops::Range;

use iowhy_model::{Evidence, Forecast, Nanos};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::measures::replay::{self, Load, Side, Vote};
use crate::measures::service::{self, ServiceSpan};
use crate::measures::spread;
use crate::phrase;

/// The votes of a replay as evidence.
pub(crate) fn vote_evidence(
    analysis: &Analysis,
    trace: &DeviceTrace,
    vote: &Vote,
    side: Side,
) -> Vec<Evidence> {
    let Some(middle) = vote.middle() else { return Vec::new() };
    let n = middle.n as u64;
    let (votes, share, what) = match side {
        Side::Device => {
            (vote.device, middle.device_share, "share of the excess removed by a healthy device")
        }
        _ => (
            vote.workload,
            middle.workload_share,
            "share of the excess that remains on a healthy device",
        ),
    };
    let s0 = format!("healthy service time in the replay: {}", trace.s0.assumption);
    let estimated = analysis.estimated(trace.listing, n);
    let healthy = "mean latency of the same load on a healthy device";
    vec![
        analysis.computed(trace.listing, n).ms("mean latency", middle.mean_ns / 1e6),
        estimated.ms(healthy, middle.healthy_mean_ns / 1e6),
        estimated.ms(&s0, trace.s0.median_ms()),
        estimated.share(what, share).above(0.5),
        estimated.over(9).count("replays that agree, of 9", f64::from(votes)),
    ]
}

/// Latencies from which on their mean has an interval (docs/METHOD.md, 10 Rules: at least thirty
/// each); of fewer, it is somewhere between the least and the most.
const FEWEST: usize = 30;
/// Number of intervals whose means give the range: adjacent requests are correlated, distant
/// intervals are not (batch means; Law and Carson, Operations Research 27, 1979). And the quantile
/// of Student's t for nine in ten at nine degrees of freedom.
const STRETCHES: usize = 10;
const STUDENT: f64 = 1.833;

/// Error of a forecast besides sampling error: after a cure the result was within this share of the
/// forecast nine times in ten (docs/METHOD.md, 18 Forecast).
const ERRS: f64 = 0.15;

/// The latency on a healthy device, as the nine replays give it: the middle one's, within the
/// fastest and the slowest.
pub(crate) fn forecast(trace: &DeviceTrace, vote: &Vote) -> Option<Forecast> {
    let middle = vote.middle()?;
    // The replay leaves services that are nearly normal as they are; a slow disk is slow in all.
    let means = match middle.side() {
        Side::Device => quickened(trace, vote)?,
        _ => vote.replays.iter().map(|replay| replay.healthy_mean_ns).collect(),
    };
    let mean = *means.get(means.len() / 2)?;
    let low = means.iter().copied().fold(mean, f64::min) * (1.0 - ERRS);
    let high = means.iter().copied().fold(mean, f64::max) * (1.0 + ERRS);
    Some(Forecast {
        now_mean: Nanos(middle.mean_ns as i64),
        mean: Nanos(mean as i64),
        range: Some((Nanos(low as i64), Nanos(high as i64))),
        p99: middle.healthy_p99_ns.map(|ns| Nanos(ns as i64)),
        assuming: format!(
            "it serves the same load like a healthy device ({}, {} per request)",
            trace.s0.assumption,
            phrase::ms(trace.s0.median_ms())
        ),
    })
}

/// Mean latencies of the replayed interval if each kind of request took as long as on a healthy
/// disk, ns, by the lowest, the middle and the highest of the nine baselines; kinds that are faster
/// already stay.
fn quickened(trace: &DeviceTrace, vote: &Vote) -> Option<Vec<f64>> {
    let n = vote.middle()?.n;
    let stretch = middle_of(trace.judged.clone(), n);
    let spans = trace.spans.get(stretch.clone())?;
    let load = Load::of(spans)?;
    let last = vote.replays.len().checked_sub(1)?;
    let guesses = [0, last / 2, last].into_iter();
    let mean = |guess: usize| {
        let servers = vote.replays.get(guess)?.servers;
        let mut services = service::services(spans, servers);
        for (group, s0) in &trace.groups {
            let places = || group.members.iter().filter(|place| stretch.contains(place));
            let own: Vec<f64> =
                places().filter_map(|place| services.get(place - stretch.start).copied()).collect();
            let Some((now, healthy)) = spread::mean(&own).zip(s0.votes_ms.get(guess)) else {
                continue;
            };
            let quicker = (healthy * 1e6 / now.max(1.0)).min(1.0);
            for place in places() {
                if let Some(service) = services.get_mut(place - stretch.start) {
                    *service *= quicker;
                }
            }
        }
        spread::mean(&load.with_services(&services, servers)?)
    };
    guesses.map(mean).collect()
}

fn middle_of(range: Range<usize>, most: usize) -> Range<usize> {
    let start = range.start + range.len().saturating_sub(most) / 2;
    start..(start + most).min(range.end)
}

/// Latency of the requests if none waited for another: the service times that they showed.
pub(crate) fn unqueued(trace: &DeviceTrace) -> Option<Forecast> {
    let spans = trace.spans.get(trace.judged.clone())?;
    let now: Vec<f64> = spans.iter().map(|span| span.latency_ns()).collect();
    let services = trace.services_ns.get(trace.judged.clone())?;
    from_latencies(&now, services, "requests arrive no faster than they are served".to_string())
}

/// The mean of these times without an excess that all of them together have, ns.
pub(crate) fn without_excess(times_ns: &[f64], excess_ns: f64, assuming: &str) -> Option<Forecast> {
    let now = spread::mean(times_ns)?;
    let after = (now - excess_ns / times_ns.len() as f64).max(0.0);
    Some(Forecast::of_means(Nanos(now as i64), Nanos(after as i64), assuming))
}

/// One mean before and one after the fix, ns, if only the latter's mean is known.
pub(crate) fn from_means(now_ns: f64, after_ns: f64, assuming: String) -> Option<Forecast> {
    (now_ns > 0.0 && after_ns >= 0.0).then_some(Forecast {
        now_mean: Nanos(now_ns as i64),
        mean: Nanos(after_ns as i64),
        range: Some((
            Nanos((after_ns * (1.0 - ERRS)) as i64),
            Nanos((after_ns * (1.0 + ERRS)) as i64),
        )),
        p99: None,
        assuming,
    })
}

/// The latencies before and after the cure, ns, the latter in order of time. `None` if there are
/// none.
pub(crate) fn from_latencies(
    now_ns: &[f64],
    after_ns: &[f64],
    assuming: String,
) -> Option<Forecast> {
    let (now, mean) = (spread::mean(now_ns)?, spread::mean(after_ns)?);
    let (from, to) = if after_ns.len() < FEWEST {
        after_ns.iter().fold((mean, mean), |(low, high), ns| (low.min(*ns), high.max(*ns)))
    } else {
        let size = after_ns.len().div_ceil(STRETCHES);
        let means: Vec<f64> = after_ns.chunks(size).filter_map(spread::mean).collect();
        let chance = STUDENT * spread::cv(&means)? * mean / (means.len() as f64).sqrt();
        let half = chance.hypot(ERRS * mean);
        ((mean - half).max(0.0), mean + half)
    };
    Some(Forecast {
        now_mean: Nanos(now as i64),
        mean: Nanos(mean as i64),
        range: Some((Nanos(from as i64), Nanos(to as i64))),
        p99: spread::quantile(after_ns, 0.99).map(|ns| Nanos(ns as i64)),
        assuming,
    })
}

/// The same load on the same device with these services, with this many servers: the trace's own
/// services without the time lost by the fault.
pub(crate) fn with_services(
    trace: &DeviceTrace,
    services_ns: &[f64],
    servers: usize,
    assuming: String,
) -> Option<Forecast> {
    let after = replay::with_services(&trace.spans, services_ns, servers)?;
    let now: Vec<f64> = trace.spans.iter().map(ServiceSpan::waited_ns).collect();
    from_latencies(&now, &after, assuming)
}
