//! Small reads of a program, one at a time, and the device class with that latency; what other
//! tests of the same volume add: its rate in sequence, and its writes.
//!
//! A single read waits for no other, so its latency is that of the disk, the file system and, if it
//! was fast, the page cache. If the class is unknown, the class for which that is healthy is
//! reported, and how slow it would be for the others (docs/METHOD.md, 3 Healthy service times).

use std::collections::BTreeMap;

use iowhy_model::{DeviceId, Interval, Layer, Medium, Observation, Op, Stage, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::baseline::healthy_time::{HealthyServiceTime, Request};
use crate::evidence::medium_readings::Readings;
use crate::facts::disk_names;
use crate::phrase;

/// Maximum bytes of a read whose transfer time is negligible.
const SMALL: f64 = 16_384.0;
/// Requests in flight up to which a read is alone.
const MAX_IN_FLIGHT: f64 = 1.05;
/// Below this many ms memory may have served it (a choice: no flash on a bus does).
const BY_MEMORY_MS: f64 = 0.06;
/// Times a healthy device of a class, least and most, that is still of it (docs/METHOD.md, 1
/// Replay; a choice for the least).
const HEALTHY_RANGE: std::ops::RangeInclusive<f64> = 0.4..=2.5;
/// Classes that a disk may be of, the fastest first.
const CLASSES: [Medium; 4] = [Medium::Nvme, Medium::Flash, Medium::Card, Medium::Rotational];
/// Minimum reads for a mean.
const MIN_REQUESTS: u64 = 20;

/// A mean over small reads that were alone.
struct Alone {
    device: DeviceId,
    bytes: f64,
    ms: f64,
}

/// The averages that programs measured, with their listing.
fn of_programs<'s>(
    analysis: &'s Analysis,
    host: Host<'s>,
) -> impl Iterator<Item = (usize, &'s Interval)> {
    let listings = analysis.recording.listings.iter().enumerate();
    listings.filter(move |(place, _)| analysis.host(*place) == host).flat_map(|(place, listing)| {
        let present = |row: &&Interval| row.layer == Layer::Application && !row.since_boot;
        listing.intervals.iter().filter(present).map(move |row| (place, row))
    })
}

fn alone(analysis: &Analysis, host: Host) -> Option<Alone> {
    let is_small = |bytes: f64| (512.0..=SMALL).contains(&bytes);
    let of_rows = of_programs(analysis, host).filter_map(|(place, row)| {
        let [(Op::Read, rates)] = row.rates.as_slice() else { return None };
        let bytes = rates.mean_bytes().unwrap_or(4096.0);
        let stated = analysis.at_once(place, row.device);
        let known_ms = rates.await_ns.map(|ns| ns / 1e6);
        let in_flight = stated.or(known_ms.map(|ms| ms * rates.ios_per_s / 1e3))?;
        let ms = known_ms.unwrap_or(1e3 / rates.ios_per_s);
        let is_alone = in_flight <= MAX_IN_FLIGHT && rates.ios_per_s > 0.0 && is_small(bytes);
        is_alone.then_some(Alone { device: row.device, bytes, ms })
    });
    let counted = analysis.histograms.iter().filter(|sample| {
        let known = &sample.known;
        analysis.host(sample.listing) == host
            && known.layer == Layer::Application
            && known.stage == Stage::Total
            && matches!(known.op, Some(Op::Read) | None)
            && known.histogram.count() >= MIN_REQUESTS
            && analysis.at_once(sample.listing, known.device).is_some_and(|n| n <= MAX_IN_FLIGHT)
    });
    let of_counts = counted.filter_map(|sample| {
        let bytes = sample.known.bytes.map_or(4096.0, f64::from);
        let ms = sample.known.histogram.mean_ns()?.0 / 1e6;
        is_small(bytes).then_some(Alone { device: sample.known.device, bytes, ms })
    });
    of_rows.chain(of_counts).find(|one| one.ms >= BY_MEMORY_MS)
}

/// Bytes of a request whose transfer is most of it (docs/METHOD.md, 10 Rules); bytes per second of
/// them, and ms of a small read, that together only something that turns shows: flash that streams
/// as fast finds a sector in less than one (choices).
const LARGE: f64 = 524_288.0;
pub(crate) const STREAMS_PER_S: f64 = 40e6;
const SEEKS_MS: f64 = 2.5;
/// No platter streams more (data sheets, 2026): what small reads give beyond is of a cache.
const MOST_OF_A_PLATTER: f64 = 300e6;
/// Times that writes of a healthy disk may be slower than its reads; and from which on a small
/// write, of this many ms, waits for something that no read waits for (choices).
const IN_PROPORTION: f64 = 2.5;
const APART: f64 = 8.0;
const FELT_WRITE_MS: f64 = 2.0;

/// What the runs of an input give in one direction, at best.
#[derive(Clone, Copy, Default)]
struct Given {
    /// Bytes per second of large requests.
    stream: Option<f64>,
    /// A small request that is alone, ms.
    one_ms: Option<f64>,
}

/// Whether a run reports one request in flight at most.
fn is_alone(analysis: &Analysis, place: usize, row: &Interval) -> bool {
    analysis.at_once(place, row.device).is_some_and(|n| n <= MAX_IN_FLIGHT)
}

/// The rates of one volume in tests of several kinds, reads and writes.
struct Profile {
    reads: Given,
    writes: Given,
}

impl Profile {
    fn of(analysis: &Analysis, host: Host) -> Profile {
        let mut profile = Profile { reads: Given::default(), writes: Given::default() };
        let most = |known: Option<f64>, new| [known, new].into_iter().flatten().reduce(f64::max);
        for (place, row) in of_programs(analysis, host) {
            // Reads beside writes are another test.
            let [(op, rates)] = row.rates.as_slice() else { continue };
            let given = match op {
                Op::Read => &mut profile.reads,
                Op::Write => &mut profile.writes,
                _ => continue,
            };
            let bytes = rates.mean_bytes();
            if bytes.is_some_and(|bytes| bytes >= LARGE) {
                given.stream = most(given.stream, rates.bytes_per_s);
            } else if bytes.is_none_or(|bytes| bytes <= SMALL) && is_alone(analysis, place, row) {
                let by_rate = bytes.map(|_| 1e3 / rates.ios_per_s);
                given.one_ms = most(given.one_ms, rates.await_ns.map(|ns| ns / 1e6).or(by_rate));
                // Small ones in sequence are read ahead.
                let stream = rates.bytes_per_s.filter(|per_s| *per_s <= MOST_OF_A_PLATTER);
                given.stream = most(given.stream, stream);
            }
        }
        profile
    }

    /// Whether its reads are those of something that turns: fast in sequence, slow elsewhere.
    fn turns(&self) -> bool {
        self.reads.stream.is_some_and(|per_s| per_s >= STREAMS_PER_S)
            && self.reads.one_ms.is_some_and(|ms| ms >= SEEKS_MS)
    }

    /// Why its writes are no measure of its disks, in words.
    fn slow_writes(&self) -> Option<String> {
        let (reads, writes) = (self.reads, self.writes);
        let times = |slow: Option<f64>, fast: Option<f64>| Some(slow? / fast?);
        let stream = times(reads.stream, writes.stream);
        let one = times(writes.one_ms, reads.one_ms);
        let far = one.is_some_and(|times| times >= APART)
            && writes.one_ms.is_some_and(|ms| ms >= FELT_WRITE_MS);
        let both = self.turns() && [stream, one].iter().flatten().any(|t| *t > IN_PROPORTION);
        let slower = |times: Option<f64>, how: &str, given: Option<String>| {
            let times = phrase::digits(times.filter(|times| *times > IN_PROPORTION)?);
            Some(format!("{times} times {how} ({})", given?))
        };
        let each = [
            slower(stream, "in sequence", writes.stream.map(phrase::rate)),
            slower(one, "one at a time", writes.one_ms.map(phrase::ms)),
        ];
        let each: Vec<String> = each.into_iter().flatten().collect();
        (far || both).then(|| {
            format!(
                "writes are slower than reads, {}: something that reads do not wait for (parity, \
                 copies on other disks or servers, a write cache that is off), not a slow disk",
                phrase::list(&each)
            )
        })
    }
}

/// A read that was alone and took as long as a healthy disk of some class needs.
pub(crate) struct OfAClass {
    /// What was read.
    pub device: DeviceId,
    /// How long it took, ms.
    pub ms: f64,
    /// How long one of the slowest such class may take, ms.
    pub most_ms: f64,
    /// Bytes per second in sequence, where these show the same class: something that turns.
    pub stream: Option<f64>,
}

/// A read that was alone and took as long as a healthy disk of some class does, if its own class is
/// not known and its writes are in proportion.
pub(crate) fn of_a_class(analysis: &Analysis, host: Host) -> Option<OfAClass> {
    let one = alone(analysis, host).filter(|one| analysis.medium(one.device).is_none())?;
    let profile = Profile::of(analysis, host);
    if profile.slow_writes().is_some() {
        return None;
    }
    let s0 = CLASSES.map(|medium| healthy_ms(medium, one.bytes));
    // What turns is quicker over a short stretch.
    let [.., turning] = s0;
    let short = Some(turning).filter(|s0| profile.turns() && one.ms <= HEALTHY_RANGE.end() * s0);
    let most = s0.into_iter().rfind(|s0| HEALTHY_RANGE.contains(&(one.ms / s0))).or(short)?;
    let stream = profile.reads.stream.filter(|_| profile.turns());
    Some(OfAClass { device: one.device, ms: one.ms, most_ms: HEALTHY_RANGE.end() * most, stream })
}

/// What a random read takes on a healthy device of a class, ms.
fn healthy_ms(medium: Medium, bytes: f64) -> f64 {
    let request = Request { op: Op::Read, bytes, sequential: Some(false) };
    HealthyServiceTime::of(&[(medium, 1.0)], request, None).median_ms().max(1e-9)
}

/// Reads that were alone and took longer than those of any healthy disk: the device, ms, and what
/// the slowest class needs at most, ms.
pub(crate) fn of_no_class(analysis: &Analysis, host: Host) -> Option<(DeviceId, f64, f64)> {
    let one = alone(analysis, host)?;
    let slowest =
        CLASSES.map(|medium| healthy_ms(medium, one.bytes)).into_iter().fold(0.0, f64::max);
    let most = HEALTHY_RANGE.end() * slowest;
    (one.ms > most).then_some((one.device, one.ms, most))
}

/// `6.7 ms per read of 4 KiB, one at a time, is what a spinning disk takes if it is healthy; if it
/// is a memory card or eMMC instead, it is 14 times slower than its class`; and whether writes are
/// far slower than reads.
pub(crate) fn reported(analysis: &Analysis, host: Host) -> Option<String> {
    let profile = Profile::of(analysis, host);
    let reads = of_reads(analysis, host, profile.turns());
    let all: Vec<String> = reads.into_iter().chain(profile.slow_writes()).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Shares of the CPUs' time from which on a request is always in flight, and up to which one may
/// have been missing; and the share of all requests that one disk completes (choices).
const ALL_WAIT: f64 = 0.8;
const NONE_IDLE: f64 = 0.05;
const NEARLY_ALL: f64 = 0.9;

/// A disk whose listing has no times, while all CPUs wait for it: it is busy all the time, so its
/// rate is that of its service (utilisation law), and shows of which class it is if it is healthy.
pub(crate) fn of_waiting_cpus(analysis: &Analysis, host: Host) -> Option<Observation> {
    let mean = |of: &'static str| analysis.own_number(host, key::CPU_MEAN.of(of));
    let (waits, reading) = mean("iowait").filter(|(share, _)| *share >= ALL_WAIT)?;
    mean("idle").filter(|(share, _)| *share <= NONE_IDLE)?;
    let listing = analysis.listing(reading.listing);
    let is_bare = |row: &&Interval| {
        let timed = row.mixed.iter().chain(row.rates.iter().map(|(_, rates)| rates));
        row.busy.is_none() && timed.into_iter().all(|rates| rates.await_ns.is_none())
    };
    let rows = listing.intervals.iter().filter(|row| row.layer == Layer::Block && !row.since_boot);
    let mut disks: BTreeMap<DeviceId, (f64, f64, f64)> = BTreeMap::new();
    for row in rows.filter(is_bare) {
        if !disk_names::is_stacked(&disk_names::of(analysis.recording, row.device)) {
            let sum = disks.entry(row.device).or_default();
            *sum = (sum.0 + row.ios_per_s(), sum.1 + row.bytes_per_s(), sum.2 + 1.0);
        }
    }
    let all: f64 = disks.values().map(|(ios, ..)| ios).sum();
    let (device, (ios, bytes, n)) = disks.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    (ios > 0.0 && ios >= NEARLY_ALL * all).then_some(())?;
    let (ms, size) = (1e3 * n / ios, bytes / ios);
    let disk = &analysis.recording.device_of(device).name;
    let what = format!("time per request of {disk}, while all CPUs wait for I/O");
    let mut evidence = analysis.computed(reading.listing, n as u64).ms(&what, ms);
    evidence.disk = Some(disk.clone());
    let would_mean = format!(
        "{} of the CPU time waits for I/O and none is idle, so {disk} is busy all the time, and \
         its {} requests of {} per second are all it completes; that {}",
        phrase::percent(waits),
        phrase::digits(ios / n),
        phrase::bytes(size),
        compared(ms, size, false)?
    );
    Some(Observation::of(evidence, would_mean).may_be(Verdict::LoadSaturated))
}

fn of_reads(analysis: &Analysis, host: Host, turns: bool) -> Option<String> {
    let one = alone(analysis, host).filter(|one| analysis.medium(one.device).is_none())?;
    Some(format!(
        "{} per read of {}, one at a time, {}",
        phrase::ms(one.ms),
        phrase::bytes(one.bytes),
        compared(one.ms, one.bytes, turns)?
    ))
}

/// What a time per request says of the class of a disk, of which only `turns` may be known.
fn compared(ms: f64, bytes: f64, turns: bool) -> Option<String> {
    let times = |medium: Medium| ms / healthy_ms(medium, bytes);
    let classes = || CLASSES.into_iter().filter(|medium| !turns || *medium == Medium::Rotational);
    let healthy: Vec<Medium> =
        classes().filter(|medium| HEALTHY_RANGE.contains(&times(*medium))).collect();
    let slow = classes().rfind(|medium| times(*medium) > *HEALTHY_RANGE.end());
    Some(match (healthy.as_slice(), slow) {
        ([], None) if !turns => return None,
        ([], _) if turns && times(Medium::Rotational) < *HEALTHY_RANGE.start() => {
            "is typical of a spinning disk over a small area, or with part of the data cached"
                .to_string()
        }
        ([], _) if times(Medium::Rotational) < *HEALTHY_RANGE.start() => {
            "is less than a single spinning disk takes and more than flash does: several disks, a \
             small area of one, or a cache in front of it"
                .to_string()
        }
        ([], _) => "is longer than any healthy disk takes".to_string(),
        ([first, ..], slow) => {
            let names: Vec<&str> = healthy.iter().map(|medium| phrase::medium(*medium)).collect();
            let other = slow.map(|slow| Readings { healthy: *first, slow, times: times(slow) });
            format!(
                "is normal for {}{}",
                names.join(" or "),
                other.map_or(String::new(), Readings::words)
            )
        }
    })
}
