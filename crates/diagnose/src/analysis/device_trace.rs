//! All completed I/Os of one device in one listing: sorted, grouped, cut into regimes, replayed.

use std::ops::Range;
use std::rc::Rc;

use iowhy_model::{DeviceId, Listing, Medium, Op};

use crate::analysis::completeness;
use crate::analysis::devices::Devices;
use crate::analysis::groups::{self, Group};
use crate::analysis::healthy_times::HealthyTimes;
use crate::baseline::healthy_time::{HealthyServiceTime, OwnTimes, Request, VOTES};
use crate::measures::plateau::{self, Plateau};
use crate::measures::regimes;
use crate::measures::replay::{self, Side, Vote};
use crate::measures::service::{self, ServiceSpan};
use crate::measures::stall::{self, Stalls};
use crate::measures::{lost_time, spread};

/// A replay of this many requests is as good as one of all: 400 already reach F1 0.99
/// (docs/METHOD.md, 1 Replay); the rest would only cost time.
const REPLAYED: usize = 20_000;
/// Windows of a trace in the search for regimes, and the minimum number of events in each.
const WINDOWS: usize = 256;
const WINDOW_EVENTS: usize = 20;

/// Share of lost I/Os beyond which a replay is refused (docs/METHOD.md, 1 Replay: with 30 % lost F1
/// falls, "refuse above 10 %").
const LOST: f64 = 0.10;

/// Minimum services for quartiles of a kind of request.
const SPREAD_NEEDED: usize = 20;

/// Maximum number of requests between the last moment without a queue and an interval, in multiples
/// of its own: an overload that grows from the start of a log is cut where its level has doubled
/// (choice).
const BACKLOG: usize = 4;

/// No drive cache takes this long, ms: it answers in tenths (docs/METHOD.md, 3 Healthy service
/// times).
const CACHED_MS: f64 = 1.0;

/// A seek and part of a revolution of a platter, ms: from the minimum at 15 000 rpm to a full
/// stroke and a revolution at 5400 rpm (vendors' data sheets).
const SOUGHT_MS: (f64, f64) = (1.5, 30.0);
/// Minimum share of fast answers for a cache, and maximum share of those that are neither cache nor
/// seek.
const HITS: f64 = 0.3;
const BETWEEN: f64 = 0.1;
/// Minimum share of the time spent seeking for an arm: a device that answers others meanwhile has
/// none.
const OF_THE_TIME: f64 = 0.5;
/// Interquartile range of the seeks over their median: an even spread has a half and more, a step
/// or garbage collection almost none. A few seeks are not enough.
const EVENLY: f64 = 0.25;
const FEW_SOUGHT: usize = 5;
/// Below this number a quartile is a single request, and the full range is better.
const FEW_QUARTILES: usize = 12;

/// The share of a stall's minimum length that another device must show at the same time.
const HALF: f64 = 0.5;

/// Devices that stall at mostly the same times share the cause, if most of their lost time was lost
/// there.
const SHARED_STALLS: f64 = 0.5;

/// Minimum requests in flight for a queue caused by the load (a choice: beyond what SATA drives
/// gain from reordering), and minimum share of the time at the usual pace for even throughput (a
/// choice).
const DEEP: f64 = 8.0;
const EVEN: f64 = 0.7;
/// Mean latency over S0 beyond which requests wait, and healthy servers that a device is worth from
/// which on it serves several at once (docs/METHOD.md, 1 Replay and 2 Service times).
pub(crate) const WAITS: f64 = 3.0;
pub(crate) const SEVERAL: f64 = 1.9;

/// All completed I/Os of one device in one listing.
pub struct DeviceTrace {
    /// The listing's index.
    pub listing: usize,
    /// The device.
    pub device: DeviceId,
    /// Its disk's name.
    pub disk: String,
    /// Its I/Os by completion.
    pub spans: Vec<ServiceSpan>,
    /// The service time of each, ns; in their order.
    pub services_ns: Vec<f64>,
    /// Kinds of requests, largest first, with their healthy service time.
    pub groups: Vec<(Group, Rc<HealthyServiceTime>)>,
    /// The healthy service time of the mix.
    pub s0: HealthyServiceTime,
    /// The judged interval: the regime that lost most time.
    pub judged: Range<usize>,
    /// The replay of that interval at nine S0.
    pub vote: Option<Vote>,
    /// How even its throughput was in that interval, if it has enough requests.
    pub plateau: Option<Plateau>,
    /// Whether the log lists only some of its requests: then no pattern is derived from services.
    pub part: bool,
    /// Whether the tool reports missing lines, in a queue: then only the
    /// [unbroken](completeness::unbroken) services count.
    pub lossy: bool,
    /// Whether a cache before a platter answered for it: fastest, the others after a seek.
    pub cached: bool,
    /// Whether other devices of the listing stalled whenever this one did: then their host paused.
    pub paused: bool,
    /// Whether others stalled in most of its stalls, however little time that cost.
    pub stalls_with_others: bool,
}

/// All traces of a listing.
pub(crate) fn traces(
    times: &mut HealthyTimes,
    place: usize,
    listing: &Listing,
) -> Vec<DeviceTrace> {
    let timed: Vec<TimedSpans> =
        groups::spans(listing).into_iter().map(|spans| TimedSpans::of(times, spans)).collect();
    let pauses = pauses(&timed);
    let timed = timed.into_iter().zip(pauses);
    timed.map(|(timed, pauses)| DeviceTrace::of(times.devices, place, timed, pauses)).collect()
}

/// The sorted I/Os of one device, with the healthy service time of each kind.
struct TimedSpans {
    device: DeviceId,
    spans: Vec<ServiceSpan>,
    /// What each took, as if the device did one thing at a time, ns.
    alone_ns: Vec<f64>,
    groups: Vec<(Group, Rc<HealthyServiceTime>)>,
    s0: HealthyServiceTime,
    /// Whether it may be a spinning disk, and whether a cache in front of the platter answered.
    rotates: bool,
    cached: bool,
}

impl TimedSpans {
    fn of(times: &mut HealthyTimes, known: groups::DeviceSpans) -> TimedSpans {
        let groups::DeviceSpans { device, spans, groups } = known;
        let alone_ns = service::services(&spans, 1);
        let pace_ms = service::per_busy_ms(&spans).map_or(f64::INFINITY, |rate| 1.0 / rate);
        let media = times.devices.media(device);
        let rotates = media.iter().any(|(medium, _)| *medium == Medium::Rotational);
        let mut cached = false;
        let groups: Vec<(Group, Rc<HealthyServiceTime>)> = groups
            .into_iter()
            .map(|group| {
                let (op, sequential) = (group.op, group.sequential);
                let request = Request { op, bytes: f64::from(group.bytes), sequential };
                if rotates && is_cached(&group, &alone_ns) {
                    cached = true;
                    let media = [(Medium::Rotational, 1.0)];
                    return (group, Rc::new(HealthyServiceTime::of(&media, request, None)));
                }
                let own = own_times(&group, &spans, &alone_ns, pace_ms);
                let s0 = times.of(device, request, own);
                (group, s0)
            })
            .collect();
        let parts: Vec<(&HealthyServiceTime, f64)> =
            groups.iter().map(|(group, s0)| (s0.as_ref(), group.members.len() as f64)).collect();
        let s0 = HealthyServiceTime::mixed(&parts);
        TimedSpans { device, spans, alone_ns, groups, s0, rotates, cached }
    }
}

impl DeviceTrace {
    /// Divides the I/Os of one device in one listing into regimes, and replays the worst.
    fn of(devices: &Devices, listing: usize, timed: TimedSpans, pauses: Pauses) -> DeviceTrace {
        let TimedSpans { device, spans, alone_ns, groups, s0, rotates, cached } = timed;
        let judged = worst_regime(&spans, &s0);
        let replayed = middle(with_backlog(&spans, judged.clone()), REPLAYED);
        // With many I/Os lost the rest looks like a slow disk under a light load.
        let source = devices.source(listing);
        let whole = source.lost() as f64 <= LOST * source.records as f64;
        let vote = spans
            .get(replayed)
            .filter(|_| whole)
            .and_then(|part| replay::vote_at(part, s0.votes_ms.map(|ms| ms * 1e6)));
        let plateau = spans.get(judged.clone()).and_then(plateau::plateau);
        let servers = vote.as_ref().and_then(Vote::middle).map_or(1, |replay| replay.servers);
        let services_ns = if servers > 1 { service::services(&spans, servers) } else { alone_ns };
        let one_arm = servers == 1 && rotates;
        let lossy = one_arm && completeness::lost_some(&spans, source.lost());
        let part = one_arm && !lossy && completeness::is_part(&spans, &services_ns);
        DeviceTrace {
            listing,
            device,
            disk: devices.disk(device),
            spans,
            services_ns,
            groups,
            s0,
            judged,
            vote,
            plateau,
            part,
            lossy,
            cached,
            paused: pauses.of_host,
            stalls_with_others: pauses.shared,
        }
    }

    /// The I/Os of the judged interval.
    pub fn stretch(&self) -> &[ServiceSpan] {
        self.spans.get(self.judged.clone()).unwrap_or(&self.spans)
    }

    /// Mean latency of that interval, ns.
    pub fn mean_ns(&self) -> f64 {
        mean_latency(self.stretch())
    }

    /// Latency beyond the healthy service time, over all I/Os, ns.
    pub fn lost_ns(&self) -> f64 {
        let latencies: Vec<f64> = self.spans.iter().map(ServiceSpan::latency_ns).collect();
        lost_time::lost_ns(&latencies, self.s0.median_ms() * 1e6)
    }

    /// The healthy service time at its longest, ns: the slowest class in question.
    pub fn slow_end_ns(&self) -> f64 {
        slow_end_ns(&self.s0)
    }

    /// From the first issue to the last completion, ns.
    pub fn span_ns(&self) -> f64 {
        let first = self.spans.iter().map(|span| span.issued_ns).min().unwrap_or(0);
        let last = self.spans.last().map_or(first, |span| span.completed_ns);
        last.saturating_sub(first).max(1) as f64
    }

    /// The kind of most requests, in words: `128 KiB sequential reads`.
    pub fn main_kind(&self) -> Option<String> {
        self.groups.first().map(|(group, _)| group.words())
    }

    /// What the replay blames, by majority; the load if it saturates the device.
    pub fn side(&self) -> Option<Side> {
        let side = self.vote.as_ref().map(|vote| vote.winner().0);
        let (votes, _) = self.saturated();
        if 2 * votes > VOTES { side.map(|_| Side::Workload) } else { side }
    }

    /// The plateau that many requests wait on, if there is one.
    pub fn queued_plateau(&self) -> Option<Plateau> {
        self.plateau.filter(|known| known.in_flight >= DEEP && known.even >= EVEN)
    }

    /// At how many of the nine S0 it evenly completes as many as several healthy servers would,
    /// while more wait than these serve; and the resulting confidence. To the replay, completions
    /// in batches look like faulty services; throughput is not affected.
    pub fn saturated(&self) -> (usize, f64) {
        let Some(known) = self.queued_plateau() else { return (0, 0.0) };
        let wait_ms = known.in_flight * known.pace_ns / 1e6;
        self.s0.votes(|s0| wait_ms > WAITS * s0 && known.pace_ns / 1e6 <= s0 / SEVERAL)
    }
}

/// The likely range of the group's own time, ms: from the lower quartile of its services, as if the
/// device served one at a time, to the upper quartile of its latencies, as if nothing had waited.
fn own_times(
    group: &Group,
    spans: &[ServiceSpan],
    services_ns: &[f64],
    pace_ms: f64,
) -> Option<OwnTimes> {
    let mut services: Vec<f64> =
        group.members.iter().filter_map(|place| services_ns.get(*place).copied()).collect();
    let mut latencies: Vec<f64> = group
        .members
        .iter()
        .filter_map(|place| spans.get(*place))
        .map(ServiceSpan::latency_ns)
        .collect();
    let low_ms = nth(&mut services, 0.25)? / 1e6;
    let high_ms = nth(&mut latencies, 0.75)? / 1e6;
    let floor_ms = nth(&mut latencies, 0.01)? / 1e6;
    let spread_ms = spread_ms(&mut services)?;
    Some(OwnTimes { floor_ms, low_ms, high_ms, pace_ms, spread_ms })
}

/// Whether random reads look like a cache in front of a platter: many are answered within its time,
/// the others after a seek and part of a revolution, evenly spread.
fn is_cached(group: &Group, services_ns: &[f64]) -> bool {
    let services: Vec<f64> = group
        .members
        .iter()
        .filter_map(|place| services_ns.get(*place))
        .map(|ns| ns / 1e6)
        .collect();
    let share = |of: &dyn Fn(f64) -> bool| {
        services.iter().filter(|ms| of(**ms)).count() as f64 / services.len().max(1) as f64
    };
    let sought: Vec<f64> = services.iter().copied().filter(|ms| *ms > SOUGHT_MS.0).collect();
    let sorted = spread::sorted(&sought);
    let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied();
    let evenly = || {
        let (Some(low), Some(middle), Some(high)) = (at(0.25), at(0.5), at(0.75)) else {
            return false;
        };
        let all = at(1.0 - f64::EPSILON).unwrap_or(high) - at(0.0).unwrap_or(low);
        let few = sorted.len() < FEW_QUARTILES && all > 2.0 * EVENLY * middle;
        sorted.len() < FEW_SOUGHT || few || high - low > EVENLY * middle
    };
    group.op == Op::Read
        && group.sequential != Some(true)
        && sought.len() >= 2
        && share(&|ms| ms < CACHED_MS / 2.0) >= HITS
        && share(&|ms| (CACHED_MS / 2.0..SOUGHT_MS.0).contains(&ms)) <= BETWEEN
        && at(0.95).is_some_and(|ms| ms < SOUGHT_MS.1)
        && sought.iter().sum::<f64>() > OF_THE_TIME * services.iter().sum::<f64>()
        && evenly()
}

/// The spread of services, ms: the interquartile range. A late host makes some longer and none
/// shorter, so twice the distance from the 5th percentile to the median also counts, unless a cache
/// answered there.
fn spread_ms(services_ns: &mut [f64]) -> Option<f64> {
    if services_ns.len() < SPREAD_NEEDED {
        return Some(f64::INFINITY);
    }
    let mut at = |share: f64| Some(nth(services_ns, share)? / 1e6);
    let quartiles = at(0.75)? - at(0.25)?;
    let (least, middle) = (at(0.05)?, at(0.5)?);
    Some(if least > CACHED_MS { quartiles.min(2.0 * (middle - least)) } else { quartiles })
}

/// Whether a device stalled together with others.
#[derive(Clone, Copy, Default)]
struct Pauses {
    /// Others stalled in most of its stalls.
    shared: bool,
    /// And most of its lost time was lost there: then their host paused.
    of_host: bool,
}

/// Which devices of one listing mostly stalled together; in their order.
fn pauses(all: &[TimedSpans]) -> Vec<Pauses> {
    let none = vec![Pauses::default(); all.len()];
    if all.len() < 2 {
        return none;
    }
    let stalls: Vec<Option<Stalls>> =
        all.iter().map(|timed| stall::stalls(&timed.spans, slow_end_ns(&timed.s0))).collect();
    if stalls.iter().all(Option::is_none) {
        return none;
    }
    // A pause that is just long enough to count here may be just too short there.
    let shorter: Vec<Option<Stalls>> = all
        .iter()
        .map(|timed| stall::stalls(&timed.spans, HALF * slow_end_ns(&timed.s0)))
        .collect();
    let of = |(place, mine): (usize, &Option<Stalls>)| {
        let others = shorter.iter().enumerate().filter(|(other, _)| *other != place);
        let others = others.filter_map(|(_, theirs)| theirs.as_ref());
        mine.as_ref().map_or(Pauses::default(), |mine| {
            let shared = stall::together(mine, others) > SHARED_STALLS;
            Pauses { shared, of_host: shared && mine.lost_share > SHARED_STALLS }
        })
    };
    stalls.iter().enumerate().map(of).collect()
}

/// The healthy service time at its longest, ns.
fn slow_end_ns(s0: &HealthyServiceTime) -> f64 {
    s0.median_ms().max(s0.slowest_ms()) * 1e6
}

fn nth(values: &mut [f64], share: f64) -> Option<f64> {
    let place = (values.len() as f64 * share) as usize;
    if place >= values.len() {
        return None;
    }
    let (_, value, _) = values.select_nth_unstable_by(place, f64::total_cmp);
    Some(*value)
}

/// The regime that lost most time: the trace is laid into windows, cut where their level
/// changes, and the cuts are weighed.
fn worst_regime(spans: &[ServiceSpan], s0: &HealthyServiceTime) -> Range<usize> {
    let window = spans.len().div_ceil(WINDOWS).max(WINDOW_EVENTS);
    let levels: Vec<f64> = spans.chunks(window).map(|chunk| mean_latency(chunk).max(1.0)).collect();
    let lost = |range: &Range<usize>| {
        let latencies: Vec<f64> = spans
            .get(range.clone())
            .unwrap_or_default()
            .iter()
            .map(ServiceSpan::latency_ns)
            .collect();
        lost_time::lost_ns(&latencies, s0.median_ms() * 1e6)
    };
    regimes::cut(&levels)
        .into_iter()
        .map(|cut| cut.start * window..(cut.end * window).min(spans.len()))
        .max_by(|a, b| lost(a).total_cmp(&lost(b)))
        .unwrap_or(0..spans.len())
}

/// The interval with the queue before it: back to where nothing was in flight, because a replay
/// that starts in a queue would lack the requests in front. A queue that began much longer ago than
/// the interval lasts is cut off.
fn with_backlog(spans: &[ServiceSpan], range: Range<usize>) -> Range<usize> {
    let mut first_issue = i64::MAX;
    for span in spans.get(range.start..).unwrap_or_default() {
        first_issue = first_issue.min(span.issued_ns);
    }
    let least = range.start.saturating_sub(BACKLOG * range.len());
    for place in (least..range.start).rev() {
        let Some(before) = spans.get(place) else { break };
        if before.completed_ns <= first_issue {
            return place + 1..range.end;
        }
        first_issue = first_issue.min(before.issued_ns);
    }
    if least == 0 { 0..range.end } else { range }
}

fn middle(range: Range<usize>, most: usize) -> Range<usize> {
    if range.len() <= most {
        return range;
    }
    let start = range.start + (range.len() - most) / 2;
    start..start + most
}

fn mean_latency(spans: &[ServiceSpan]) -> f64 {
    let latencies: Vec<f64> = spans.iter().map(ServiceSpan::latency_ns).collect();
    spread::mean(&latencies).unwrap_or(0.0)
}
