//! Checks whether the numbers agree with each other. Those that do not are doubted, and named.
//!
//! The audit runs before anything is judged: a row that contradicts itself is not used against a
//! device. `report.inconsistent` reports what was found.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use iowhy_model::{DeviceId, Interval, Layer, Listing, Op, Rates, Recording, Source, key};

use crate::facts::disk_names;
use crate::measures::elasticity;

/// Little's law is broken beyond what rounding and the edges of an interval can do (docs/METHOD.md,
/// 9 Elasticity and averages: more than 10 %).
pub(crate) const LITTLE_TOLERANCE: f64 = 0.10;
/// PCIe 6.0 on four lanes, the widest link of a drive, moves 32 GB/s.
pub(crate) const LINK_BYTES_PER_S: f64 = 32e9;
/// Rows with less in flight are all rounding: aqu-sz is printed to 0.01.
const LITTLE_FROM: f64 = 0.5;
/// Below that a deviation by half is still significant, if at least a tenth of a request is in
/// flight and one or two requests at the edges do not matter.
const FAINT_FROM: f64 = 0.1;
const FAINT_TOLERANCE: f64 = 0.5;
const FAINT_REQUESTS: f64 = 30.0;
/// What a request may be short of in the queue, s: Linux 5.0 to 5.6 adds the whole jiffies of each
/// request and drops the rest (time_in_queue in blk_account_io_done, block/blk-core.c), a jiffy
/// being 4 ms where CONFIG_HZ is 250.
const JIFFY_S: f64 = 0.004;
const IN_JIFFIES: RangeInclusive<(u32, u32)> = (5, 0)..=(5, 6);
/// A wait begins when the request is made, and until Linux 5.0 one of blk-mq counts into the queue
/// from when the driver has it: what waits in a scheduler, which blk-mq has since 4.11, is in no
/// queue (blk_mq_in_flight, block/blk-mq.c, and part_round_stats, block/blk-core.c).
const OF_THE_DRIVER: RangeInclusive<(u32, u32)> = (4, 11)..=(4, 20);
/// In the release of a kernel that calls itself 3.10 and has the block layer of those.
const OF_RED_HAT_7: &str = ".el7";
/// This many in flight per completion, beyond what those waited, are requests that did not complete
/// (a choice).
const HANGS: f64 = 0.5;
/// Flushes in the queue at once: one runs while the next are gathered into one (block/blk-flush.c).
const FLUSHES: f64 = 2.0;
/// If the sum of all waits exceeds the duration of a run times its maximum in flight by this
/// factor, it had more in flight than it reports, or its clock or counts are wrong.
const OVERRUN: f64 = 1.10;

/// What a kernel counts as the queue besides the waits of requests.
#[derive(Clone, Copy, PartialEq)]
enum QueueCount {
    /// Waiting requests over all time.
    Whole,
    /// Perhaps the whole jiffies of each request only.
    Jiffies,
    /// Possibly only the requests issued to the driver.
    Driver,
    /// The kernel version is unknown.
    Unknown,
}

/// A contradiction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inconsistency {
    /// The listing that contradicts itself.
    pub listing: usize,
    /// What kind of contradiction.
    pub kind: Contradiction,
}

/// What does not agree with what.
#[derive(Clone, Debug, PartialEq)]
pub enum Contradiction {
    /// Queue length is not rate times latency.
    Little {
        /// The index of the interval in its listing.
        interval: usize,
        /// Completions per second.
        per_s: f64,
        /// Mean latency, ms.
        await_ms: f64,
        /// Mean queue length as printed.
        queue_len: f64,
        /// (N - X R) / N.
        deviation: f64,
    },
    /// A request would have moved faster than any link does.
    TooFast {
        /// The index of the interval in its listing.
        interval: usize,
        /// Mean request size.
        bytes: f64,
        /// Mean latency, ms.
        await_ms: f64,
        /// The speed the two make.
        bytes_per_s: f64,
    },
    /// More in flight, or waiting for longer, than can be: a counter wrapped or was reset within
    /// the row.
    Wrapped {
        /// The index of the interval in its listing.
        interval: usize,
        /// The reported number in flight, or the wait of a request, s.
        value: Absurd,
    },
    /// A request is in flight all the time without being one of those that completed.
    Phantom {
        /// The index of the device's first interval in its listing.
        interval: usize,
        /// Number of rows, all of which show it.
        rows: usize,
        /// The printed mean queue length, and how many of it are in flight all the time.
        queue_len: f64,
        /// What the requests that completed need in flight at most, rate times latency.
        needed: f64,
    },
    /// All waits together are longer than the run that contained them.
    Overrun {
        /// The index of the distribution in its listing.
        distribution: usize,
        /// Requests.
        n: u64,
        /// Mean latency, ms.
        mean_ms: f64,
        /// How long the run shows it took, s.
        took_s: f64,
        /// Requests in flight at most, as the run states.
        at_once: f64,
    },
}

/// A figure that no device can reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Absurd {
    /// Requests in flight.
    InFlight(f64),
    /// Mean wait, s.
    Wait(f64),
    /// Requests per second.
    Rate(f64),
    /// Share of the time in which something was in flight.
    Busy(f64),
}

/// Requests in flight beyond what queues hold: NVMe's deepest queue, 65,536, on a few processors
/// (NVM Express Base Specification); and a mean wait beyond any time limit and its retries (a
/// choice: SCSI's 30 s six times over is 3 minutes).
const MOST_IN_FLIGHT: f64 = 1e6;
/// Such a mean wait, s.
pub(crate) const LONGEST_WAIT_S: f64 = 3600.0;
/// Requests per second that no block device completes: a hundred times the rate of a driver without
/// a device on a large machine (null_blk, ten million).
const MOST_PER_S: f64 = 1e9;

/// Busy time beyond the interval by more than its edges and a clock tick at each can explain (a
/// choice), over at least this many seconds. Linux counts the time of a request when it ends
/// (update_io_ticks, block/blk-core.c from 5.0 on), so a row in which a long one ends includes time
/// of earlier rows: all rows together must exceed the bound, or one by far.
const MOST_BUSY: f64 = 1.1;
const MOST_BUSY_ALONE: f64 = 1.3;
const WHOLE_S: f64 = 0.9;

/// All contradictions of a recording.
pub(crate) fn audit(recording: &Recording, at_once: &[AtOnce]) -> Vec<Inconsistency> {
    let mut inconsistencies = Vec::new();
    for (listing, known) in recording.listings.iter().enumerate() {
        let queue = queue_count(&known.source);
        let mut persistent: HashMap<DeviceId, bool> = HashMap::new();
        let mut busiest: HashMap<DeviceId, bool> = HashMap::new();
        for (place, interval) in known.intervals.iter().enumerate() {
            let mut persists = || {
                let known = || is_persistent(&known.intervals, interval, queue);
                *persistent.entry(interval.device).or_insert_with(known)
            };
            let name = &recording.device_of(interval.device).name;
            let counted = disk_names::is_counted_by_the_block_layer(name);
            let little = || {
                let broken = little(place, interval, queue);
                broken.filter(|_| counted && !may_hang(interval) && persists())
            };
            let absurd = wrapped(place, interval);
            let busy = || {
                let busy = interval.busy.filter(|busy| *busy > MOST_BUSY)?;
                let too_much = *busiest
                    .entry(interval.device)
                    .or_insert_with(|| is_busy_beyond_time(&known.intervals, interval.device));
                let value = Absurd::Busy(busy);
                too_much.then_some(Contradiction::Wrapped { interval: place, value })
            };
            let kind = absurd.or_else(little).or_else(|| too_fast(place, interval)).or_else(busy);
            if let Some(kind) = kind {
                inconsistencies.push(Inconsistency { listing, kind });
            }
        }
        let found = phantoms(known).into_iter();
        inconsistencies.extend(found.map(|kind| Inconsistency { listing, kind }));
        for (place, distribution) in known.distributions.iter().enumerate() {
            // A system-wide source (it knows its start) sees many waits at once.
            if distribution.layer == Layer::Block || distribution.start.is_some() {
                continue;
            }
            let histogram = &distribution.histogram;
            let (Some((mean, true)), Some(took)) = (histogram.mean_ns(), distribution.length)
            else {
                continue;
            };
            // Waits overlap up to the number in flight; if that is unknown, no sum of waits is too
            // long.
            let Some(at_once) = at_once[listing].on(distribution.device) else { continue };
            let n = histogram.count();
            if took.ns() > 0 && mean * n as f64 > OVERRUN * at_once * took.ns() as f64 {
                let kind = Contradiction::Overrun {
                    distribution: place,
                    n,
                    mean_ms: mean / 1e6,
                    took_s: took.seconds(),
                    at_once,
                };
                inconsistencies.push(Inconsistency { listing, kind });
            }
        }
    }
    inconsistencies
}

/// Busy all the time in at least this many rows, while completed requests account for at most this
/// share, with a clock tick added to each (choices; update_io_ticks of block/blk-core.c counts
/// whole ticks from 5.0 on, of 10 ms at most).
const ALWAYS_BUSY: f64 = 0.99;
const PHANTOM_ROWS: usize = 3;
const HARDLY: f64 = 0.5;
const TICK_S: f64 = 0.01;
/// And a queue longer by a whole number, the same in every row: numbers are printed to a hundredth.
const WHOLE: f64 = 0.02;

/// Devices that are busy in every row with requests that never complete, while others are served at
/// once: the kernel's in-flight counter missed a completion, or a request hangs.
fn phantoms(listing: &Listing) -> Vec<Contradiction> {
    let mut found: Vec<Contradiction> = Vec::new();
    let mut rows_of: HashMap<DeviceId, Option<(usize, usize, f64, f64)>> = HashMap::new();
    let mut order: Vec<DeviceId> = Vec::new();
    let rows = listing.intervals.iter().enumerate();
    for (place, row) in rows.filter(|(_, row)| row.layer == Layer::Block && !row.since_boot) {
        let known = rows_of.entry(row.device).or_insert_with(|| {
            order.push(row.device);
            Some((place, 0, 0.0, 0.0))
        });
        let Some((first, rows, whole, most)) = known.take() else { continue };
        *known = phantom(row)
            .filter(|(now, _)| rows == 0 || *now == whole)
            .map(|(now, needed)| (first, rows + 1, now, needed.max(most)));
    }
    for device in order {
        if let Some(Some((interval, rows, queue_len, needed))) = rows_of.remove(&device)
            && rows >= PHANTOM_ROWS
        {
            found.push(Contradiction::Phantom { interval, rows, queue_len, needed });
        }
    }
    found
}

/// The number in flight in a row beyond its own requests, and the busy time of these.
fn phantom(row: &Interval) -> Option<(f64, f64)> {
    row.busy.filter(|busy| *busy >= ALWAYS_BUSY)?;
    let per_s = row.ios_per_s() + row.of(Op::Flush).map_or(0.0, |known| known.ios_per_s);
    let flushed = row.of(Op::Flush).and_then(|known| Some(known.ios_per_s * known.await_ns?));
    let needed = (row.ios_per_s() * row.mean_await_ns()? + flushed.unwrap_or(0.0)) / 1e9;
    let rest = row.queue_len? - needed;
    let is_leak = per_s > 0.0
        && needed + per_s * TICK_S < HARDLY
        && (rest - rest.round()).abs() < WHOLE
        && rest.round() >= 1.0;
    is_leak.then_some((rest.round(), needed))
}

/// Maximum requests in flight of the runs of a listing, if the source reports it: one if the
/// program waits for each call, depth times jobs for a load generator.
#[derive(Default)]
pub(crate) struct AtOnce {
    any: Option<f64>,
    of: HashMap<DeviceId, f64>,
}

impl AtOnce {
    /// For the runs of a listing.
    pub(crate) fn of(listing: &Listing) -> AtOnce {
        let mut known = AtOnce::default();
        for fact in listing.facts.iter().filter(|fact| fact.key == key::RUN_AT_ONCE) {
            let Some(n) = fact.value.number() else { continue };
            match fact.device {
                None => known.any = Some(known.any.map_or(n, |most| most.max(n))),
                Some(device) => {
                    known.of.entry(device).and_modify(|most| *most = most.max(n)).or_insert(n);
                }
            }
        }
        known
    }

    /// On a device.
    pub(crate) fn on(&self, device: DeviceId) -> Option<f64> {
        self.any.into_iter().chain(self.of.get(&device).copied()).reduce(f64::max)
    }
}

/// Whether a device breaks Little's law in most of its rows, and over all of them together. A row
/// whose edge cuts a freeze or a batch breaks it alone: before Linux 5.0 the queue is integrated
/// continuously and a wait is counted when it ends, so one row has what another lacks. Over all
/// rows only the requests at both ends of the listing can differ.
fn is_persistent(intervals: &[Interval], of: &Interval, queue: QueueCount) -> bool {
    let reported = |row: &&Interval| row.device == of.device && row.queue_len.is_some();
    // Two hundred rows are as good as a day of them.
    let rows: Vec<&Interval> = intervals.iter().filter(reported).take(200).collect();
    let heard = rows.iter().filter(|row| {
        row.mean_await_ns().is_some() && row.queue_len.is_some_and(|queue| queue >= FAINT_FROM)
    });
    let (broken, all) = heard.fold((0, 0), |(broken, all), row| {
        (broken + usize::from(little(0, row, queue).is_some()), all + 1)
    });
    2 * broken >= all && differs(&rows)
}

/// Whether a device was busy for longer than was watched, over all of its rows.
fn is_busy_beyond_time(intervals: &[Interval], device: DeviceId) -> bool {
    let of_it = intervals.iter().filter(|row| row.device == device && row.layer == Layer::Block);
    let (mut busy_s, mut watched_s, mut rows) = (0.0, 0.0, 0);
    for (row, busy) in of_it.filter_map(|row| Some((row, row.busy?))) {
        let seconds = row.length.map_or(1.0, |length| length.seconds());
        (busy_s, watched_s, rows) = (busy_s + busy * seconds, watched_s + seconds, rows + 1);
    }
    let most = if rows == 1 { MOST_BUSY_ALONE } else { MOST_BUSY };
    watched_s >= WHOLE_S && busy_s > most * watched_s
}

/// Whether queue and waits differ over all rows together, by more than what may have been in flight
/// at both ends for as long as any mean wait.
fn differs(rows: &[&Interval]) -> bool {
    let (mut queued, mut waited, mut longest_s) = (0.0, 0.0, 0.0f64);
    for row in rows {
        let seconds = row.length.map_or(1.0, |length| length.seconds());
        let wait_s = row.mean_await_ns().unwrap_or(0.0) / 1e9;
        queued += seconds * (row.queue_len.unwrap_or(0.0) - flushing(row)).max(0.0);
        waited += seconds * row.ios_per_s() * wait_s;
        longest_s = longest_s.max(wait_s);
    }
    let at = |row: Option<&&Interval>| row.and_then(|row| row.queue_len).unwrap_or(0.0);
    let edges = longest_s * (at(rows.first()) + at(rows.last()));
    // What hangs when the listing ends has waited in the queue and in no mean.
    let hangs = rows.last().is_some_and(|row| row.ios_per_s() <= 0.0 && at(Some(row)) >= 1.0);
    if hangs && queued > waited {
        return false;
    }
    (queued - waited).abs() > LITTLE_TOLERANCE * queued + edges
}

/// What the kernel that counted may have counted as the queue.
fn queue_count(source: &Source) -> QueueCount {
    match source.kernel() {
        _ if source.host.as_ref().is_some_and(|host| host.contains(OF_RED_HAT_7)) => {
            QueueCount::Driver
        }
        Some(release) if OF_THE_DRIVER.contains(&release) => QueueCount::Driver,
        Some(release) if IN_JIFFIES.contains(&release) => QueueCount::Jiffies,
        Some(_) => QueueCount::Whole,
        None => QueueCount::Unknown,
    }
}

/// Whether a row's queue length may be used with its rate and latency.
pub(crate) fn agrees(interval: &Interval, source: &Source) -> bool {
    little(0, interval, queue_count(source)).is_none()
        && too_fast(0, interval).is_none()
        && !is_wrapped(interval)
}

/// Whether a row contains a number that no device can reach.
pub(crate) fn is_wrapped(interval: &Interval) -> bool {
    wrapped(0, interval).is_some()
}

/// A counter of 32 or 64 bits that was reset within a row leaves an impossible difference.
fn wrapped(place: usize, interval: &Interval) -> Option<Contradiction> {
    if interval.layer != Layer::Block {
        return None;
    }
    let per_s = interval.ios_per_s();
    if per_s > MOST_PER_S {
        return Some(Contradiction::Wrapped { interval: place, value: Absurd::Rate(per_s) });
    }
    if interval.since_boot {
        return None;
    }
    let waits = interval.rates.iter().filter(|(_, rates)| rates.ios_per_s > 0.0);
    let waits = waits.filter_map(|(_, rates)| Some((rates.ios_per_s, rates.await_ns? / 1e9)));
    let whole = interval.mean_await_ns().map(|ns| (interval.ios_per_s(), ns / 1e9));
    let mut waits = waits.chain(whole.filter(|(per_s, _)| *per_s > 0.0));
    let by_wait = waits.find_map(|(per_s, wait_s)| {
        let long = wait_s > LONGEST_WAIT_S || per_s * wait_s > MOST_IN_FLIGHT;
        long.then_some(Absurd::Wait(wait_s))
    });
    let by_queue = interval.queue_len.filter(|queue| *queue > MOST_IN_FLIGHT);
    let value = by_wait.or(by_queue.map(Absurd::InFlight))?;
    Some(Contradiction::Wrapped { interval: place, value })
}

/// One request is served by one link; its bytes over its latency cannot exceed the link. Discards
/// transfer nothing.
fn too_fast(place: usize, interval: &Interval) -> Option<Contradiction> {
    if interval.layer != Layer::Block {
        return None;
    }
    let moved = |(op, rates): &(Op, Rates)| {
        let known = matches!(op, Op::Read | Op::Write).then_some(rates)?;
        Some((known.mean_bytes()?, known.await_ns?))
    };
    let parts = interval.rates.iter().filter_map(moved);
    let discards = interval.of(Op::Discard).is_some_and(|known| known.ios_per_s > 0.0);
    let whole = interval.mean_bytes().zip(interval.mean_await_ns()).filter(|_| !discards);
    parts.chain(whole).find_map(|(bytes, await_ns)| {
        // Below the printed step of 10 us a latency is all rounding.
        let bytes_per_s = bytes / await_ns * 1e9;
        let (interval, await_ms) = (place, await_ns / 1e6);
        let reported = await_ns >= 10_000.0 && bytes_per_s > LINK_BYTES_PER_S;
        reported.then_some(Contradiction::TooFast { interval, bytes, await_ms, bytes_per_s })
    })
}

fn little(place: usize, interval: &Interval, queue: QueueCount) -> Option<Contradiction> {
    let queue_len = interval.queue_len.filter(|n| *n >= FAINT_FROM)?;
    let await_ns = interval.mean_await_ns()?;
    let per_s = interval.ios_per_s();
    if interval.since_boot || interval.layer != Layer::Block || per_s <= 0.0 {
        return None;
    }
    let deviation = elasticity::little_deviation(per_s, await_ns, queue_len)?;
    // Printed digits: a rate of 0.3 and a wait of 8.00 are each known to a few per cent at best.
    let rounding = 0.005 / queue_len + 0.005 / per_s + 5_000.0 / await_ns.max(5_000.0);
    // With few requests in flight the edges of the interval weigh more: only a large factor over
    // many requests counts.
    let faint = queue_len.max(per_s * await_ns / 1e9) < LITTLE_FROM || queue_len < LITTLE_FROM;
    let requests = per_s * interval.length.map_or(1.0, |length| length.seconds());
    let tolerance = if faint { FAINT_TOLERANCE } else { LITTLE_TOLERANCE };
    let reported = !faint || requests >= FAINT_REQUESTS;
    // The kernel counts flushes in the queue, if at all, but in no rate (part_round_stats and
    // blk_account_io_flush, block/blk-core.c and blk-flush.c): either the queue without them must
    // agree, or all of it.
    let beside = queue_len - flushing(interval);
    let without_flushes = (per_s * await_ns / 1e9 - beside).abs() / queue_len;
    if beside < queue_len && without_flushes <= tolerance + rounding {
        return None;
    }
    // A listing without a column for flushes shows them only in the queue, beside writes.
    let unseen = interval.of(Op::Flush).is_none() && interval.of(Op::Discard).is_none();
    let writes = interval.of(Op::Write).is_none_or(|known| known.ios_per_s > 0.0);
    let surplus = queue_len - per_s * await_ns / 1e9;
    if unseen && writes && (0.0..=FLUSHES).contains(&surplus) {
        return None;
    }
    // A tool that prints svctm may run on such a kernel, too, if the version is unknown.
    let of_the_driver =
        queue == QueueCount::Driver || queue == QueueCount::Unknown && interval.svctm_ns.is_some();
    let in_jiffies = matches!(queue, QueueCount::Jiffies | QueueCount::Unknown);
    let is_counted_short =
        of_the_driver && surplus < 0.0 || in_jiffies && (0.0..=JIFFY_S * per_s).contains(&-surplus);
    if is_counted_short {
        return None;
    }
    // Requests in flight at the edges are in the queue of one interval and in the wait of another:
    // by at most the ratio of wait to interval.
    let edges = await_ns / 1e9 / interval.length.map_or(1.0, |length| length.seconds()).max(1e-9);
    (reported && deviation.abs() > tolerance + rounding + edges).then_some(Contradiction::Little {
        interval: place,
        per_s,
        await_ms: await_ns / 1e6,
        queue_len,
        deviation,
    })
}

/// Whether the queue exceeds the waits by so much that requests did not complete in the interval:
/// they hang, or it is too short for them.
fn may_hang(interval: &Interval) -> bool {
    let (Some(queue), Some(wait_ns)) = (interval.queue_len, interval.mean_await_ns()) else {
        return false;
    };
    let (per_s, seconds) = (interval.ios_per_s(), interval.length.map_or(1.0, |it| it.seconds()));
    queue - per_s * wait_ns / 1e9 >= HANGS * per_s * seconds
}

/// Flushes in flight, by their rate and latency.
fn flushing(interval: &Interval) -> f64 {
    let flushes = interval.of(Op::Flush);
    flushes.map_or(0.0, |known| known.ios_per_s * known.await_ns.unwrap_or(0.0) / 1e9)
}
