//! Latencies that programs measured, if none of them is slow.
//!
//! A program's wait includes all layers below it: if everything that programs timed is as fast as
//! flash, nothing below them was slow while they ran. Requests served from memory count, too:
//! nothing waited for them.

use std::collections::BTreeSet;

use iowhy_model::Order as _;
use iowhy_model::{
    DeviceId, Evidence, Fact, Finding, Layer, Listing, Medium, Op, Quantity, Stage, Unit, Verdict,
    key,
};

use crate::analysis::{Analysis, Host};
use crate::baseline::healthy_time::{HealthyServiceTime, Request};
use crate::evidence::builder::{lines, look_elsewhere, new_finding};
use crate::evidence::peer_families;
use crate::measures::tail;
use crate::phrase;

/// Times that a request may take longer than flash of SATA needs (docs/METHOD.md, 1 Replay: healthy
/// if L < 3 S0).
const WITHIN: f64 = 3.0;
/// A flush, ms: flash without a protected cache empties it within this (a choice).
const FLUSH_MS: f64 = 5.0;
/// A write that may have to be durable, ms: a program that writes one at a time then does a
/// thousand per second (a choice).
const WRITE_MS: f64 = 1.0;
/// A wait that people notice, ms (Nielsen, Usability Engineering, 1993): every request completed
/// within it, however many were in flight, and no single wait was ten times that.
pub(crate) const NOTICEABLE_MS: f64 = 100.0;
const LONG_MS: f64 = 1000.0;
/// Share of all time that slow requests may take: the mean is then theirs (as in `healthy`).
const HOLDS: f64 = 1.0 / 3.0;
/// Share of its depth that a test must have in flight: else its time went elsewhere, as into
/// handing pages to the page cache (a choice).
const IN_CALLS: f64 = 0.5;
/// Standard deviation of a run's rate, over its mean, from which on it is not one rate (a choice).
const MOVES: f64 = 0.5;
/// Minimum count of requests of one kind, and flushes, each of which is many writes.
const MIN_REQUESTS: u64 = 100;
const MIN_FLUSHES: u64 = 3;
/// Bytes per second of a test of throughput from which on any disk is healthy (a disk of 2005
/// reaches it).
const FLOWS: f64 = 50e6;
/// The request where a program does not show how large.
const USUAL_BYTES: f64 = 4096.0;
/// Its weight: whatever was slow may have been slow at another time.
const NOTHING_SLOW: f64 = 0.93;
/// The numbers are shown for this many kinds of requests.
const SHOWN: usize = 3;

/// Requests of one kind as a program timed them.
struct Timed {
    place: usize,
    device: DeviceId,
    op: Option<Op>,
    bytes: Option<f64>,
    mean_ms: f64,
    /// Requests in flight, one at least.
    at_once: f64,
    longest_ms: Option<f64>,
    /// Share of all their time that slow ones took, where that is known.
    slow_share: f64,
    n: u64,
}

impl Timed {
    /// Time per request: waiting for others is not counted (Little's law).
    fn pace_ms(&self) -> f64 {
        self.mean_ms / self.at_once
    }

    /// What it may be, ms.
    fn bound_ms(&self) -> f64 {
        let op = self.op.unwrap_or(Op::Read);
        if op == Op::Flush {
            return FLUSH_MS;
        }
        let bytes = self.bytes.unwrap_or(USUAL_BYTES);
        let request = Request { op, bytes, sequential: None };
        let flash = HealthyServiceTime::of(&[(Medium::Flash, 1.0)], request, None);
        let durable_ms = if op == Op::Write { WRITE_MS } else { 0.0 };
        durable_ms.max(WITHIN * flash.slowest_ms())
    }

    fn is_quick(&self) -> bool {
        self.pace_ms() <= self.bound_ms()
            && self.mean_ms < NOTICEABLE_MS
            && self.longest_ms.is_none_or(|ms| ms < LONG_MS)
            && (self.slow_share < HOLDS || self.is_short_flush())
    }

    /// A flush waits for the writes before it; nobody notices one that is short.
    fn is_short_flush(&self) -> bool {
        self.op == Some(Op::Flush) && self.longest_ms.is_some_and(|ms| ms < NOTICEABLE_MS)
    }

    /// `a read of 4 KiB`.
    fn words(&self) -> String {
        let size = self.bytes.filter(|bytes| *bytes >= 1.0 && self.op != Some(Op::Flush));
        let size = size.map(|value| Quantity { value, unit: Unit::Bytes }.words());
        let size = size.map(|size| format!(" of {size}")).unwrap_or_default();
        format!("a {}{size}", self.op.map_or("request", Op::name))
    }

    fn evidence(&self, analysis: &Analysis) -> Evidence {
        let name = &analysis.recording.device_of(self.device).name;
        let reported = format!("mean time of {}, timed in the program ({name})", self.words());
        if self.at_once > 1.0 {
            let each = phrase::digits(self.at_once);
            let what = format!("{reported}, divided by the {each} in flight");
            return analysis
                .computed(self.place, self.n)
                .ms(&what, self.pace_ms())
                .below(self.bound_ms());
        }
        analysis.printed(self.place, self.n).ms(&reported, self.mean_ms).below(self.bound_ms())
    }
}

/// Nothing that the programs of an input timed is slow.
pub(crate) fn nothing_slow(analysis: &Analysis, host: Host) -> Option<Finding> {
    let mut all = timed(analysis, host)?;
    if all.is_empty() || !all.iter().all(Timed::is_quick) {
        return None;
    }
    let of_bound = |one: &Timed| one.pace_ms() / one.bound_ms();
    all.order_by(|a, b| of_bound(b).total_cmp(&of_bound(a)));
    // fio's `clat`, `lat` and rates are views of the same requests.
    let mut known = BTreeSet::new();
    all.retain(|one| known.insert((one.device, one.words())));
    let mut places: Vec<usize> = all.iter().map(|one| one.place).collect();
    places.sort_unstable();
    places.dedup();
    let first = all.first()?;
    let one_device = all.iter().all(|one| one.device == first.device).then_some(first.device);
    let mut finding = new_finding(Verdict::Healthy, one_device, places);
    let reported = all.iter().take(SHOWN).map(|one| {
        let behind = match one.at_once > 1.0 {
            true => format!(" with {} in flight", phrase::digits(one.at_once)),
            false => String::new(),
        };
        format!("{} takes {}{behind}", one.words(), phrase::ms(one.mean_ms))
    });
    finding.sentence = format!(
        "nothing that programs timed is slow: {}",
        phrase::list(&reported.collect::<Vec<String>>())
    );
    finding.evidence = all.iter().take(SHOWN).map(|one| one.evidence(analysis)).collect();
    finding.assume(NOTHING_SLOW, "all latencies measured by programs are as low as those of flash");
    (finding.explained_share, finding.share_is_assumed) = (1.0, true);
    finding.refuted_by = lines(&[
        "the problem did not occur while this was measured",
        "the page cache served it: then no request reached the device",
    ]);
    finding.next_step = look_elsewhere();
    Some(finding)
}

/// Whether the rate of a run is another from second to second: what is fast on average stalled in
/// between.
fn moves(listing: &Listing) -> bool {
    let deviation = |fact: &Fact| fact.key.member_of(key::RUN_RATE_DEVIATION).is_some();
    let wide = |fact: &Fact| fact.value.number().is_some_and(|share| share > MOVES);
    listing.facts.iter().any(|fact| deviation(fact) && wide(fact))
}

/// All kinds of requests that the programs of an input timed; `None` if one of them cannot be
/// judged.
fn timed(analysis: &Analysis, host: Host) -> Option<Vec<Timed>> {
    let mut all = Vec::new();
    let listings = analysis.recording.listings.iter().enumerate();
    for (place, listing) in listings.filter(|(place, _)| analysis.host(*place) == host) {
        let above = |layer: Layer| layer != Layer::Block;
        if moves(listing) {
            return None;
        }
        if analysis.lists_only_slow(place) || listing.events.iter().any(|event| above(event.layer))
        {
            return None;
        }
        for row in listing.intervals.iter().filter(|row| above(row.layer)) {
            let mixed = row.mixed.into_iter().map(|rates| (None, rates));
            let parts = row.rates.iter().map(|(op, rates)| (Some(*op), *rates)).chain(mixed);
            let mut parts = parts.filter(|(_, rates)| rates.ios_per_s > 0.0).peekable();
            // Counted since long ago, or calls of all kinds together.
            if row.since_boot || parts.peek().is_none() {
                return None;
            }
            for (op, rates) in parts {
                let Some(mean_ns) = rates.await_ns else {
                    rates.bytes_per_s.filter(|per_s| *per_s >= FLOWS)?;
                    continue;
                };
                let in_calls = rates.ios_per_s * mean_ns / 1e9;
                let stated = analysis.at_once(place, row.device);
                stated.is_none_or(|depth| in_calls >= IN_CALLS * depth).then_some(())?;
                let at_once = stated.unwrap_or(in_calls).max(1.0);
                let (device, bytes, mean_ms) = (row.device, rates.mean_bytes(), mean_ns / 1e6);
                let n = rates.ios_per_s * row.length.map_or(1.0, |length| length.seconds());
                let n = n.max(1.0) as u64;
                let (longest_ms, slow_share) = (None, 0.0);
                let part =
                    Timed { place, device, op, bytes, mean_ms, at_once, longest_ms, slow_share, n };
                all.push(part);
            }
        }
        let whole = |stage: Stage| matches!(stage, Stage::Total | Stage::Device);
        for one in listing.histograms().filter(|one| above(one.layer) && whole(one.stage)) {
            let n = one.histogram.count();
            let needed = if one.op == Some(Op::Flush) { MIN_FLUSHES } else { MIN_REQUESTS };
            let (mean_ns, _) = one.histogram.mean_ns().filter(|_| n >= needed)?;
            let (device, op, bytes, mean_ms) = (one.device, one.op, None, mean_ns / 1e6);
            // The size is reported beside it, if at all.
            let beside = all.iter().find(|known: &&Timed| (known.device, known.op) == (device, op));
            let bytes = beside.and_then(|known| known.bytes).or(bytes);
            let at_once = analysis.at_once(place, device).unwrap_or(1.0).max(1.0);
            let longest_ms = one.histogram.max_ns.map(|ns| ns as f64 / 1e6);
            let slow_share = 0.0;
            let mut part =
                Timed { place, device, op, bytes, mean_ms, at_once, longest_ms, slow_share, n };
            let slow_ns = WITHIN * part.bound_ms() * at_once * 1e6;
            // A mean alone shows no tail, and bounds what one can cost.
            let has_only_a_mean =
                peer_families::is_summary(&one.histogram) && one.histogram.max_ns.is_none();
            if !has_only_a_mean {
                let slow = tail::slow_part(&one.histogram, slow_ns);
                part.slow_share = slow.map_or(0.0, |slow| slow.of_time);
            }
            all.push(part);
        }
        keep_quickest_way(analysis, place, &mut all);
    }
    Some(all)
}

/// The way to flush that reaches the medium on systems where the others do not (macOS, Windows).
const WRITETHROUGH: &str = "fsync_writethrough";

/// Of several ways to flush that a test tried, the fastest is what the device can do, unless only
/// one of them flushes it.
fn keep_quickest_way(analysis: &Analysis, place: usize, all: &mut Vec<Timed>) {
    let facts = analysis.listing(place).facts.iter();
    let ways: Vec<DeviceId> =
        facts.filter(|fact| fact.key == key::FLUSH_TIME).filter_map(|fact| fact.device).collect();
    let name = |way: &DeviceId| analysis.recording.device_of(*way).name.as_str();
    let is_way = |one: &Timed| one.place == place && one.op == Some(Op::Flush);
    let quickest = all.iter().filter(|one| is_way(one)).map(|one| one.mean_ms);
    let Some(quickest) = quickest.reduce(f64::min) else { return };
    if ways.len() > 1 && !ways.iter().any(|way| name(way) == WRITETHROUGH) {
        all.retain(|one| !is_way(one) || one.mean_ms <= quickest);
    }
}
