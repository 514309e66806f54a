//! What a detector sees: the recording, sorted, with everything that more than one of them needs.

use std::ops::Range;

use iowhy_model::{
    DeviceId, Distribution, Finding, Histogram, Interval, Layer, Level, Listing, Medium, Op,
    Recording, Source,
};

use crate::audit::{self, Doubt};
use crate::baseline::{Request, S0};
use crate::groups::{self, Group, Stream};
use crate::measures::service::{self, Visit};
use crate::measures::{lost_time, spread};
use crate::replay::{self, Side, Vote};
use crate::{Options, names, regimes};

/// Fewer events than this carry no verdict (method note, `insufficient`).
pub const EVENTS_NEEDED: usize = 10;
/// A replay of this many requests is as good as one of all: 400 already reach F1 0.99 (method
/// note, table b); the rest would only cost time.
const REPLAYED: usize = 20_000;
/// Windows into which a trace is laid to look for its regimes, and events in each at least.
const WINDOWS: usize = 256;
const WINDOW_EVENTS: usize = 20;

/// The recording as the judge sees it.
pub struct Scene<'a> {
    /// What was read or watched.
    pub recording: &'a Recording,
    /// What the user asked.
    pub options: &'a Options,
    /// Per listing and device: its completed I/Os.
    pub tracks: Vec<Track>,
    /// Per listing, device and operation: where requests went.
    pub streams: Vec<(usize, Stream)>,
    /// The rows of averages that are samples of the present.
    pub rows: Vec<Row<'a>>,
    /// The histograms.
    pub shapes: Vec<Shape<'a>>,
    /// What contradicts itself.
    pub doubts: Vec<Doubt>,
    /// What was accused so far; empty but for detectors that speak last.
    pub so_far: Vec<Finding>,
}

/// All completed I/Os of one device in one listing.
pub struct Track {
    /// The listing's place.
    pub listing: usize,
    /// The device.
    pub device: DeviceId,
    /// Its disk's name.
    pub disk: String,
    /// Its I/Os by completion.
    pub visits: Vec<Visit>,
    /// What each did on the device once its turn came, ns; in their order.
    pub services_ns: Vec<f64>,
    /// Kinds of requests, largest first, with their healthy service time.
    pub groups: Vec<(Group, S0)>,
    /// The healthy service time of the mix.
    pub s0: S0,
    /// The stretch that was judged: the regime that lost most time.
    pub judged: Range<usize>,
    /// The replay of that stretch at nine S0.
    pub vote: Option<Vote>,
}

/// A row of averages.
pub struct Row<'a> {
    /// The listing's place.
    pub listing: usize,
    /// The device.
    pub device: DeviceId,
    /// Its disk's name.
    pub disk: String,
    /// The row.
    pub interval: &'a Interval,
    /// The healthy service time of its mix.
    pub s0: S0,
    /// Whether its queue, rate and latency agree.
    pub agrees: bool,
}

/// A histogram.
pub struct Shape<'a> {
    /// The listing's place.
    pub listing: usize,
    /// Its disk's name.
    pub disk: String,
    /// The histogram and what it is of.
    pub known: &'a Distribution,
    /// The healthy service time of what it counts.
    pub s0: S0,
}

impl<'a> Scene<'a> {
    /// Sorts a recording.
    pub fn of(recording: &'a Recording, options: &'a Options) -> Scene<'a> {
        let mut scene = Scene {
            recording,
            options,
            tracks: Vec::new(),
            streams: Vec::new(),
            rows: Vec::new(),
            shapes: Vec::new(),
            doubts: audit::audit(recording),
            so_far: Vec::new(),
        };
        for (place, listing) in recording.listings.iter().enumerate() {
            for known in groups::visits(listing) {
                let track = scene.track(place, known);
                scene.tracks.push(track);
            }
            scene.streams.extend(groups::streams(listing).into_iter().map(|known| (place, known)));
            let rows: Vec<Row> = listing
                .intervals
                .iter()
                .filter(|row| row.layer == Layer::Block && !row.since_boot)
                .map(|interval| scene.row(place, interval))
                .collect();
            scene.rows.extend(rows);
            let shapes: Vec<Shape> =
                listing.distributions.iter().map(|known| scene.shape(place, known)).collect();
            scene.shapes.extend(shapes);
        }
        scene
    }

    /// A listing.
    pub fn listing(&self, place: usize) -> &'a Listing {
        &self.recording.listings[place]
    }

    /// Who spoke in a listing.
    pub fn source(&self, place: usize) -> &'a Source {
        &self.recording.listings[place].source
    }

    /// The input a listing was found in.
    pub fn input(&self, place: usize) -> &'a str {
        &self.recording.listings[place].source.input
    }

    /// The disk behind a device.
    pub fn disk(&self, device: DeviceId) -> String {
        disk_of(self.recording, device)
    }

    /// What a device may be made of: what was stated, else what its name suggests.
    pub fn media(&self, device: DeviceId) -> Vec<(Medium, f64)> {
        let stated = self.recording.device_of(device).medium;
        match stated.filter(|medium| *medium != Medium::Stacked) {
            Some(medium) => vec![(medium, 1.0)],
            None => names::media(&self.disk(device)),
        }
    }

    /// Whether a platter may turn in it: false only if something else was stated or its name
    /// rules a platter out.
    pub fn may_turn(&self, device: DeviceId) -> bool {
        let stated = self.recording.device_of(device).medium;
        match stated {
            Some(Medium::Rotational | Medium::Stacked) => true,
            Some(_) => false,
            None => {
                let media = names::media(&self.disk(device));
                media.iter().any(|(medium, _)| *medium == Medium::Rotational)
            }
        }
    }

    /// Whether somebody stated that a platter turns in it.
    pub fn turns(&self, device: DeviceId) -> bool {
        self.recording.device_of(device).medium == Some(Medium::Rotational)
    }

    /// The healthy service time of requests of one kind.
    pub fn s0(&self, device: DeviceId, request: Request, seen_ms: Option<(f64, f64)>) -> S0 {
        match self.options.healthy_ms.filter(|ms| *ms > 0.0) {
            Some(ms) => S0::stated(ms),
            None => S0::of(&self.media(device), request, seen_ms),
        }
    }

    /// The richest level among listings.
    pub fn level(&self, listings: &[usize]) -> Level {
        listings.iter().map(|place| self.source(*place).level).max().unwrap_or(Level::A)
    }

    /// The value of a fact, by key, anywhere in the recording.
    pub fn fact(&self, key: &str) -> Option<&'a iowhy_model::Fact> {
        self.recording.listings.iter().flat_map(|known| &known.facts).find(|fact| fact.key == key)
    }

    fn row(&self, listing: usize, interval: &'a Interval) -> Row<'a> {
        let s0 = self.s0_of_row(interval);
        Row {
            listing,
            device: interval.device,
            disk: self.disk(interval.device),
            interval,
            s0,
            agrees: audit::agrees(interval),
        }
    }

    fn shape(&self, listing: usize, known: &'a Distribution) -> Shape<'a> {
        let request = Request {
            op: known.op.unwrap_or(Op::Read),
            bytes: known.bytes.map_or(4096.0, f64::from),
            sequential: None,
        };
        let s0 = self.s0(known.device, request, middle_half(&known.histogram));
        Shape { listing, disk: self.disk(known.device), known, s0 }
    }

    fn s0_of_row(&self, interval: &Interval) -> S0 {
        let seen = effective_ms(interval).zip(interval.mean_await_ns().map(|ns| ns / 1e6));
        let parts: Vec<(S0, f64)> = interval
            .rates
            .iter()
            .filter(|(op, rates)| matches!(op, Op::Read | Op::Write) && rates.ios_per_s > 0.0)
            .map(|(op, rates)| {
                let bytes = rates.mean_bytes().or(interval.mean_bytes()).unwrap_or(4096.0);
                let request = Request { op: *op, bytes, sequential: None };
                (self.s0(interval.device, request, seen), rates.ios_per_s)
            })
            .collect();
        if parts.is_empty() {
            let request = Request { op: Op::Read, bytes: 4096.0, sequential: None };
            return self.s0(interval.device, request, None);
        }
        S0::mixed(&parts.iter().map(|(s0, weight)| (s0, *weight)).collect::<Vec<_>>())
    }

    fn track(&self, listing: usize, known: groups::Visits) -> Track {
        let groups::Visits { device, visits, groups } = known;
        let alone = service::services(&visits, 1);
        let groups: Vec<(Group, S0)> = groups
            .into_iter()
            .map(|group| {
                let (op, sequential) = (group.op, group.sequential);
                let request = Request { op, bytes: f64::from(group.bytes), sequential };
                let s0 = self.s0(device, request, quartiles(&group, &alone));
                (group, s0)
            })
            .collect();
        let parts: Vec<(&S0, f64)> =
            groups.iter().map(|(group, s0)| (s0, group.members.len() as f64)).collect();
        let s0 = S0::mixed(&parts);
        let judged = worst_regime(&visits, &s0);
        let replayed = middle(judged.clone(), REPLAYED);
        let vote = visits.get(replayed).and_then(|stretch| vote(stretch, &s0));
        let servers = vote.as_ref().and_then(Vote::middle).map_or(1, |replay| replay.servers);
        let services_ns = if servers > 1 { service::services(&visits, servers) } else { alone };
        let disk = self.disk(device);
        Track { listing, device, disk, visits, services_ns, groups, s0, judged, vote }
    }
}

impl Track {
    /// The I/Os of the stretch that was judged.
    pub fn stretch(&self) -> &[Visit] {
        self.visits.get(self.judged.clone()).unwrap_or(&self.visits)
    }

    /// Mean latency of that stretch, ns.
    pub fn mean_ns(&self) -> f64 {
        mean_latency(self.stretch())
    }

    /// Latency beyond the healthy service time, over all I/Os, ns.
    pub fn lost_ns(&self) -> f64 {
        let latencies: Vec<f64> = self.visits.iter().map(Visit::latency_ns).collect();
        lost_time::lost_ns(&latencies, self.s0.median_ms() * 1e6)
    }

    /// From the first issue to the last completion, ns.
    pub fn span_ns(&self) -> f64 {
        let first = self.visits.iter().map(|visit| visit.issued_ns).min().unwrap_or(0);
        let last = self.visits.last().map_or(first, |visit| visit.completed_ns);
        last.saturating_sub(first).max(1) as f64
    }

    /// The kind of most requests, in words: `128 KB sequential reads`.
    pub fn main_kind(&self) -> Option<String> {
        self.groups.first().map(|(group, _)| group.words())
    }

    /// Whether the replay blames a side, by majority.
    pub fn side(&self) -> Option<Side> {
        self.vote.as_ref().map(|vote| vote.winner().0)
    }
}

impl Group {
    /// The kind in words: `128 KB sequential reads`.
    pub fn words(&self) -> String {
        let pattern = match self.sequential {
            Some(true) => "sequential ",
            Some(false) => "random ",
            None => "",
        };
        let size = crate::phrase::bytes(f64::from(self.bytes));
        format!("{size} {pattern}{}", crate::phrase::plural(self.op))
    }
}

impl Row<'_> {
    /// Completions per second.
    pub fn per_s(&self) -> f64 {
        self.interval.ios_per_s()
    }

    /// Requests that were in flight though none completed: then every latency reads 0.00.
    pub fn outstanding(&self) -> Option<f64> {
        let in_flight = self.interval.in_flight.map(|n| n as f64);
        let queue = in_flight.or(self.interval.queue_len).filter(|queue| *queue >= 1.0)?;
        (self.per_s() <= 0.0).then_some(queue)
    }

    /// Mean latency, ms.
    pub fn await_ms(&self) -> Option<f64> {
        self.interval.mean_await_ns().map(|ns| ns / 1e6)
    }

    /// Effective service time, ms: busy time per completion. No request is served for longer
    /// than it waited, so the mean latency bounds it; without a busy share nothing is known.
    pub fn effective_ms(&self) -> Option<f64> {
        effective_ms(self.interval)
    }
}

fn effective_ms(interval: &Interval) -> Option<f64> {
    let per_s = interval.ios_per_s();
    let busy = interval.busy?.min(1.0);
    if per_s <= 0.0 {
        return None;
    }
    let effective = busy * 1000.0 / per_s;
    Some(interval.mean_await_ns().map_or(effective, |wait| effective.min(wait / 1e6)))
}

/// The replay at the nine S0 of a baseline.
pub fn vote(visits: &[Visit], s0: &S0) -> Option<Vote> {
    let mut vote = Vote { healthy: 0, workload: 0, device: 0, replays: Vec::new() };
    for s0_ms in s0.votes_ms {
        let replay = replay::replay(visits, s0_ms * 1e6)?;
        match replay.side() {
            Side::Healthy => vote.healthy += 1,
            Side::Workload => vote.workload += 1,
            Side::Device => vote.device += 1,
        }
        vote.replays.push(replay);
    }
    Some(vote)
}

fn disk_of(recording: &Recording, device: DeviceId) -> String {
    names::disk(&recording.device_of(device).name)
}

/// The middle half of a group's services, ms.
fn quartiles(group: &Group, services_ns: &[f64]) -> Option<(f64, f64)> {
    let mut services: Vec<f64> =
        group.members.iter().filter_map(|place| services_ns.get(*place).copied()).collect();
    if services.is_empty() {
        return None;
    }
    let (low, high) = (services.len() / 4, services.len() * 3 / 4);
    let (_, quarter, _) = services.select_nth_unstable_by(low, f64::total_cmp);
    let quarter = *quarter;
    let (_, three, _) = services.select_nth_unstable_by(high, f64::total_cmp);
    Some((quarter / 1e6, *three / 1e6))
}

/// The middle half of a histogram, ms; of a table row, from its minimum to its mean.
fn middle_half(histogram: &Histogram) -> Option<(f64, f64)> {
    if histogram.edges().buckets() == 1 {
        return Some((histogram.min_ns? as f64 / 1e6, histogram.mean_ns()?.0 / 1e6));
    }
    let count = histogram.count() as f64;
    let place = |share: f64| {
        let mut seen = 0.0;
        histogram.filled().find(|(_, _, n)| {
            seen += *n as f64;
            seen >= share * count
        })
    };
    let ((low, _, _), (three, high, _)) = (place(0.25)?, place(0.75)?);
    let high = if high == u64::MAX { three } else { high };
    Some((low.max(1) as f64 / 1e6, high as f64 / 1e6))
}

/// The regime that lost most time: the trace is laid into windows, cut where their level
/// changes, and the cuts are weighed.
fn worst_regime(visits: &[Visit], s0: &S0) -> Range<usize> {
    let window = visits.len().div_ceil(WINDOWS).max(WINDOW_EVENTS);
    let levels: Vec<f64> =
        visits.chunks(window).map(|chunk| mean_latency(chunk).max(1.0).ln()).collect();
    let lost = |range: &Range<usize>| {
        let latencies: Vec<f64> =
            visits.get(range.clone()).unwrap_or_default().iter().map(Visit::latency_ns).collect();
        lost_time::lost_ns(&latencies, s0.median_ms() * 1e6)
    };
    regimes::cut(&levels)
        .into_iter()
        .map(|cut| cut.start * window..(cut.end * window).min(visits.len()))
        .max_by(|a, b| lost(a).total_cmp(&lost(b)))
        .unwrap_or(0..visits.len())
}

fn middle(range: Range<usize>, most: usize) -> Range<usize> {
    if range.len() <= most {
        return range;
    }
    let start = range.start + (range.len() - most) / 2;
    start..start + most
}

fn mean_latency(visits: &[Visit]) -> f64 {
    let latencies: Vec<f64> = visits.iter().map(Visit::latency_ns).collect();
    spread::mean(&latencies).unwrap_or(0.0)
}
