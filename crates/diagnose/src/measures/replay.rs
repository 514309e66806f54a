//! The counterfactual: the same arrivals through a healthy device. The latency that remains is the
//! workload's, the rest is the disk's.
//!
//! Only abnormal service times are replaced, and the causal structure of the load is kept: a
//! program that waits for each completion issues its next request earlier on a faster device. The
//! replay needs one assumption, the service time S0 of a healthy device, and is therefore run at
//! nine values of it ([`vote`]).

use crate::measures::service::{self, Pace, ServiceSpan};
use crate::measures::spread;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The outcome of one replay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Replay {
    /// Requests replayed.
    pub n: usize,
    /// Mean latency as it was, ns.
    pub mean_ns: f64,
    /// Mean latency on the healthy device, ns.
    pub healthy_mean_ns: f64,
    /// 99th percentile on the healthy device, if the sample carries one.
    pub healthy_p99_ns: Option<f64>,
    /// The healthy service time assumed, ns.
    pub s0_ns: f64,
    /// How many requests the device was taken to serve at once.
    pub servers: usize,
    /// Whether the load was taken as closed: requests wait for earlier completions.
    pub closed: bool,
    /// Requests whose service was longer than normal and was repaired.
    pub repaired: usize,
    /// Share of the latency above `s0` that goes away: the device's.
    pub device_share: f64,
    /// Share that stays: the workload's. Both shares are 0 if nothing is above `s0`.
    pub workload_share: f64,
}

/// The result of a replay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// Latency below three healthy service times.
    Healthy,
    /// Most of the excess stays on a healthy device.
    Workload,
    /// Most of the excess goes away.
    Device,
}

/// A service up to this many times S0 is normal. This and the next four constants: docs/METHOD.md,
/// 1 Replay.
const NORMAL: f64 = 2.5;
/// A mean latency below this many S0 is healthy.
const HEALTHY: f64 = 3.0;
/// An issue follows a completion if it comes within this share of the median time between
/// completions ...
const FOLLOWS_GAP: f64 = 0.15;
/// ... and within this share of S0.
const FOLLOWS_S0: f64 = 0.6;
/// Effective service times above this many S0 accuse the device.
const SLOW: f64 = 2.0;

impl Replay {
    /// What it blames.
    pub fn side(&self) -> Side {
        if self.mean_ns < HEALTHY * self.s0_ns {
            Side::Healthy
        } else if self.workload_share > 0.5 {
            Side::Workload
        } else {
            Side::Device
        }
    }
}

/// Replays spans (sorted by completion) through a device whose healthy service time is `s0_ns`.
/// `None` if there are no spans or `s0_ns` is not positive. Latency runs from the queueing of a
/// request where that was seen, so that waiting in the host counts.
pub fn replay(spans: &[ServiceSpan], s0_ns: f64) -> Option<Replay> {
    Load::of(spans)?.replay(s0_ns)
}

/// A load is taken as closed if this share of its requests finds all others in flight: a program
/// that sustains so many of them. Random arrivals find as many in flight as they happen to.
const STEADY: f64 = 0.9;
/// Share of the median time between completions by which an answer may be noted too late, and then
/// shows after the request that followed it: the 10 us that biosnoop rounds latencies to, on a
/// platter (docs/METHOD.md, 18 Forecast).
const SLACK: f64 = 0.02;

/// The latencies of the same load if its services were these, ns, in the order of starts: the time
/// lost by a fault is subtracted from each, and the waits follow. `services_ns` are in the order of
/// `spans`; `None` if they are not as many, or there are none.
pub fn with_services(
    spans: &[ServiceSpan],
    services_ns: &[f64],
    servers: usize,
) -> Option<Vec<f64>> {
    Load::of(spans)?.with_services(services_ns, servers)
}

/// The same replay at nine quantiles of what S0 may be.
#[derive(Clone, PartialEq, Debug)]
pub struct Vote {
    /// Votes for healthy.
    pub healthy: u32,
    /// Votes for the workload.
    pub workload: u32,
    /// Votes for the device.
    pub device: u32,
    /// The replays, S0 rising; the middle one is at `s0_ns` itself.
    pub replays: Vec<Replay>,
}

impl Vote {
    /// The confidence for this many of the nine votes: (votes + 0.5) / 10.5.
    pub fn sure(votes: u32) -> f64 {
        (f64::from(votes) + 0.5) / 10.5
    }

    /// The side with most votes, and the confidence that they give.
    pub fn winner(&self) -> (Side, f64) {
        let votes = [
            (self.healthy, Side::Healthy),
            (self.workload, Side::Workload),
            (self.device, Side::Device),
        ];
        let (most, side) = votes.into_iter().max().unwrap_or((0, Side::Healthy));
        (side, Vote::sure(most))
    }

    /// The replay at the middle S0.
    pub fn middle(&self) -> Option<&Replay> {
        self.replays.get(self.replays.len() / 2)
    }
}

/// Normal quantiles at (k + 0.5) / 9: nine equally likely slices of the prior.
const NINTHS: [f64; 9] = [-1.593, -0.967, -0.589, -0.282, 0.0, 0.282, 0.589, 0.967, 1.593];

/// Replays at nine quantiles of a lognormal prior of S0 with median `s0_ns`.
pub fn vote(spans: &[ServiceSpan], s0_ns: f64, sigma_ln: f64) -> Option<Vote> {
    vote_at(spans, NINTHS.map(|z| s0_ns * (z * sigma_ln).exp()))
}

/// Replays at nine given S0, ns, rising; the load is prepared once.
pub fn vote_at(spans: &[ServiceSpan], s0s_ns: [f64; 9]) -> Option<Vote> {
    let load = Load::of(spans)?;
    let replays: Option<Vec<Replay>> = s0s_ns.iter().map(|s0_ns| load.replay(*s0_ns)).collect();
    let replays = replays?;
    let count = |side| replays.iter().filter(|replay| replay.side() == side).count() as u32;
    Some(Vote {
        healthy: count(Side::Healthy),
        workload: count(Side::Workload),
        device: count(Side::Device),
        replays,
    })
}

/// Averages as iostat gives them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Averages {
    /// Completions per second.
    pub per_s: f64,
    /// Mean latency, ns.
    pub await_ns: f64,
    /// Share of the time with something in flight, 0 to 1.
    pub busy: Option<f64>,
}

/// The verdict of averages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FromAverages {
    /// What they blame.
    pub side: Side,
    /// Effective service time, busy share over throughput, ns: a lower bound of the service time
    /// if the device works in parallel, which therefore never clears it.
    pub effective_ns: Option<f64>,
    /// It over `s0`.
    pub slowdown: Option<f64>,
    /// Mean latency over `s0`.
    pub await_ratio: f64,
}

/// Judges averages by the utilisation law (Denning and Buzen, 1978): an effective service time
/// above 2 `s0` is the device's; else a mean latency above 3 `s0` is the workload's. `None` if
/// nothing completed.
pub fn from_averages(averages: &Averages, s0_ns: f64) -> Option<FromAverages> {
    if !(averages.per_s > 0.0 && s0_ns > 0.0) {
        return None;
    }
    let effective_ns = averages.busy.map(|busy| busy / averages.per_s * 1e9);
    let slowdown = effective_ns.map(|effective| effective / s0_ns);
    let await_ratio = averages.await_ns / s0_ns;
    let side = if slowdown.is_some_and(|slowdown| slowdown > SLOW) {
        Side::Device
    } else if await_ratio > HEALTHY {
        Side::Workload
    } else {
        Side::Healthy
    };
    Some(FromAverages { side, effective_ns, slowdown, await_ratio })
}

/// The parts of a load that do not depend on S0, prepared once for all replays.
pub struct Load<'a> {
    spans: &'a [ServiceSpan],
    /// Indices into `spans` in the order of their start.
    by_start: Vec<u32>,
    /// For each of these, the last span that had completed by then, if any.
    before: Vec<Option<u32>>,
    pace: Pace,
    mean_ns: f64,
    /// Median time between completions, ns.
    gap_ns: f64,
    /// Never more than one request at a time.
    alone: bool,
    /// Most that were in flight when one came, itself included.
    deepest: usize,
    /// Nearly every request was issued when all the others were in flight.
    steady: bool,
}

impl<'a> Load<'a> {
    /// The load of spans sorted by completion; `None` without any.
    pub fn of(spans: &'a [ServiceSpan]) -> Option<Load<'a>> {
        let pace = Pace::of(spans)?;
        let mut by_start: Vec<u32> = (0..spans.len() as u32).collect();
        by_start.sort_by_key(|i| spans.get(*i as usize).map(ServiceSpan::started_ns));
        let gaps: Vec<f64> = spans
            .windows(2)
            .map(|pair| pair[1].completed_ns.saturating_sub(pair[0].completed_ns) as f64)
            .collect();
        let gap_ns = spread::median(&gaps).unwrap_or(0.0);
        let slack = (SLACK * gap_ns) as i64;
        let mut depths: Vec<u32> = Vec::new();
        let (mut done, mut alone) = (0, true);
        let before: Vec<Option<u32>> = by_start
            .iter()
            .enumerate()
            .map(|(rank, i)| {
                let start = spans.get(*i as usize).map_or(0, ServiceSpan::started_ns);
                let is_done = |span: &ServiceSpan| span.completed_ns <= start.saturating_add(slack);
                // Its own answer never comes before it, however short it was.
                while done < rank && spans.get(done).is_some_and(is_done) {
                    done += 1;
                }
                alone &= done >= rank;
                let depth = rank + 1 - done;
                depths.resize(depths.len().max(depth + 1), 0);
                if let Some(depth) = depths.get_mut(depth) {
                    *depth += 1;
                }
                (done as u32).checked_sub(1)
            })
            .collect();
        let most = depths.iter().skip(2).copied().max().unwrap_or(0);
        let waits: Vec<f64> = spans.iter().map(ServiceSpan::waited_ns).collect();
        Some(Load {
            spans,
            by_start,
            before,
            pace,
            mean_ns: spread::mean(&waits)?,
            gap_ns,
            alone,
            deepest: depths.len() - 1,
            steady: f64::from(most) >= STEADY * spans.len() as f64,
        })
    }

    /// [`with_services`], for several such questions of one load.
    pub fn with_services(&self, services_ns: &[f64], servers: usize) -> Option<Vec<f64>> {
        if services_ns.len() != self.spans.len() {
            return None;
        }
        let usual_ns = spread::median(services_ns)?;
        let window_ns = (FOLLOWS_GAP * self.gap_ns).min(FOLLOWS_S0 * usual_ns);
        let (_, window_ns) = self.closed(window_ns);
        Some(self.run(services_ns, servers, window_ns))
    }

    /// Whether requests wait for answers, and for how long after one they may still follow it, ns.
    fn closed(&self, window_ns: f64) -> (bool, f64) {
        if self.alone || self.steady {
            return (true, f64::INFINITY);
        }
        let follows = 2 * self.followers(window_ns) > self.spans.len();
        (follows, if follows { window_ns } else { -1.0 })
    }

    fn replay(&self, s0_ns: f64) -> Option<Replay> {
        if !(s0_ns > 0.0 && s0_ns.is_finite()) {
            return None;
        }
        let servers = self.pace.servers(s0_ns);
        let mut services = service::services(self.spans, servers);
        let repaired = repair(&mut services, s0_ns);
        let window_ns = (FOLLOWS_GAP * self.gap_ns).min(FOLLOWS_S0 * s0_ns);
        let (closed, window_ns) = self.closed(window_ns);
        let latencies = self.run(&services, servers, window_ns);
        // No request waits for more than the requests in flight before it.
        let longest_ns = services.iter().copied().fold(0.0, f64::max);
        let bound_ns = (self.deepest as f64 / servers as f64).ceil() * longest_ns;
        let healthy_mean_ns = spread::mean(&latencies)?.min(bound_ns.max(s0_ns));
        let excess = self.mean_ns - s0_ns;
        let stays = ((healthy_mean_ns - s0_ns) / excess).clamp(0.0, 1.0);
        let (workload_share, device_share) =
            if excess > 0.0 { (stays, 1.0 - stays) } else { (0.0, 0.0) };
        Some(Replay {
            n: self.spans.len(),
            mean_ns: self.mean_ns,
            healthy_mean_ns,
            healthy_p99_ns: spread::quantile(&latencies, 0.99),
            s0_ns,
            servers,
            closed,
            repaired,
            device_share,
            workload_share,
        })
    }

    /// Starts that follow a completion within the window.
    fn followers(&self, window_ns: f64) -> usize {
        let pairs = self.by_start.iter().zip(&self.before);
        pairs.filter(|(i, before)| self.gap(**i, **before).is_some_and(|g| g <= window_ns)).count()
    }

    /// Time from the last completion to a start, ns.
    fn gap(&self, start: u32, before: Option<u32>) -> Option<f64> {
        let completed = self.spans.get(before? as usize)?.completed_ns;
        let started = self.spans.get(start as usize)?.started_ns();
        Some(started.saturating_sub(completed) as f64)
    }

    /// First come, first served by `servers`; a start within `window_ns` of a completion moves
    /// with that completion, and the clock of all later ones with it: what does not follow itself
    /// still comes after what did. Latencies in the order of starts.
    fn run(&self, services: &[f64], servers: usize, window_ns: f64) -> Vec<f64> {
        let origin = self.spans.iter().map(ServiceSpan::started_ns).min().unwrap_or(0);
        let mut free: BinaryHeap<Reverse<u64>> = (0..servers).map(|_| Reverse(0)).collect();
        let mut completed: Vec<f64> = vec![0.0; self.spans.len()];
        let mut latencies = Vec::with_capacity(self.spans.len());
        let (mut shift, mut last) = (0.0, 0.0f64);
        for (i, before) in self.by_start.iter().zip(&self.before) {
            let Some(span) = self.spans.get(*i as usize) else { continue };
            let gap = self.gap(*i, *before).filter(|gap| *gap <= window_ns);
            let cause = before.and_then(|before| completed.get(before as usize));
            let was = span.started_ns().saturating_sub(origin) as f64;
            let start = gap.zip(cause).map_or(was + shift, |(gap, cause)| cause + gap).max(last);
            (shift, last) = (start - was, start);
            let server = free.pop().map_or(0.0, |Reverse(at)| at as f64);
            let end = start.max(server) + services.get(*i as usize).copied().unwrap_or(0.0);
            free.push(Reverse(end as u64));
            if let Some(place) = completed.get_mut(*i as usize) {
                *place = end;
            }
            latencies.push(end - start);
        }
        latencies
    }
}

/// Gives each service that is not normal the mean of those that are, or S0 if they are the
/// minority. Returns how many were repaired.
fn repair(services: &mut [f64], s0_ns: f64) -> usize {
    let normal: Vec<f64> = services.iter().copied().filter(|s| *s <= NORMAL * s0_ns).collect();
    let healthy_ns = if 2 * normal.len() >= services.len() {
        spread::mean(&normal).unwrap_or(s0_ns)
    } else {
        s0_ns
    };
    for service in services.iter_mut().filter(|service| **service > NORMAL * s0_ns) {
        *service = healthy_ns;
    }
    services.len() - normal.len()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trials;
