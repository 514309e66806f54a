//! Averages and histograms of a device, with the healthy service time of their requests.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::rc::Rc;

use iowhy_model::{DeviceId, Distribution, Histogram, Interval, Medium, Op, Source};

use crate::analysis::audit;
use crate::analysis::healthy_times::HealthyTimes;
use crate::baseline::healthy_time::{HealthyServiceTime, OwnTimes, Request};
use crate::measures::cap::Limit;
use crate::measures::ladder::SPEEDS_RPM;

/// A row of averages.
pub struct IntervalSample<'a> {
    /// The listing's index.
    pub listing: usize,
    /// The device.
    pub device: DeviceId,
    /// Its disk's name.
    pub disk: String,
    /// The row.
    pub interval: &'a Interval,
    /// The healthy service time of its mix.
    pub s0: Rc<HealthyServiceTime>,
    /// Whether its queue, rate and latency agree.
    pub agrees: bool,
}

/// A histogram.
pub struct HistogramSample<'a> {
    /// The listing's index.
    pub listing: usize,
    /// Its disk's name.
    pub disk: String,
    /// The histogram with its device and stage.
    pub known: Cow<'a, Distribution>,
    /// The healthy service time of its requests.
    pub s0: Rc<HealthyServiceTime>,
}

impl<'a> IntervalSample<'a> {
    /// The sample of a row.
    pub fn of(
        times: &mut HealthyTimes,
        (listing, source): (usize, &Source),
        interval: &'a Interval,
    ) -> Self {
        IntervalSample {
            listing,
            device: interval.device,
            disk: times.devices.disk(interval.device),
            interval,
            s0: of_mix(times, interval),
            agrees: audit::agrees(interval, source),
        }
    }
}

/// The healthy service time of the mix of a row.
fn of_mix(times: &mut HealthyTimes, interval: &Interval) -> Rc<HealthyServiceTime> {
    let own = seen(interval);
    let parts: Vec<(Rc<HealthyServiceTime>, f64)> = interval
        .rates
        .iter()
        .filter(|(op, rates)| matches!(op, Op::Read | Op::Write) && rates.ios_per_s > 0.0)
        .map(|(op, rates)| {
            let bytes = rates.mean_bytes().or(interval.mean_bytes()).unwrap_or(4096.0);
            let request = Request { op: *op, bytes, sequential: None };
            (times.of(interval.device, request, own), rates.ios_per_s)
        })
        .collect();
    match parts.as_slice() {
        [] => {
            let request = Request { op: Op::Read, bytes: 4096.0, sequential: None };
            times.of(interval.device, request, None)
        }
        [(only, _)] => Rc::clone(only),
        _ => {
            let parts: Vec<(&HealthyServiceTime, f64)> =
                parts.iter().map(|(s0, w)| (s0.as_ref(), *w)).collect();
            Rc::new(HealthyServiceTime::mixed(&parts))
        }
    }
}

impl<'a> HistogramSample<'a> {
    /// The sample of a histogram.
    pub fn of(times: &mut HealthyTimes, listing: usize, known: Cow<'a, Distribution>) -> Self {
        let request = Request {
            op: known.op.unwrap_or(Op::Read),
            bytes: known.bytes.map_or(4096.0, f64::from),
            sequential: None,
        };
        let s0 = times.of(known.device, request, seen_of(&known));
        HistogramSample { listing, disk: times.devices.disk(known.device), known, s0 }
    }
}

impl IntervalSample<'_> {
    /// Completions per second.
    pub fn per_s(&self) -> f64 {
        self.interval.ios_per_s()
    }

    /// Requests or bytes per second, as a limit counts them.
    pub fn rate(&self, limit: Limit) -> f64 {
        match limit {
            Limit::Iops => self.per_s(),
            Limit::BytesPerSecond => self.interval.bytes_per_s(),
        }
    }

    /// Completions in the interval; in one second if its length is unknown.
    pub fn requests(&self) -> f64 {
        self.per_s() * self.interval.length.map_or(1.0, |length| length.seconds())
    }

    /// Requests that were in flight though none completed: then every latency reads 0.00.
    pub fn outstanding(&self) -> Option<f64> {
        let in_flight = self.interval.in_flight.map(|n| n as f64);
        let queue = in_flight.or(self.interval.queue_len).filter(|queue| *queue >= 1.0)?;
        (self.per_s() <= 0.0).then_some(queue)
    }

    /// Whether it works without a pause and has more than one request at any time: a device that
    /// serves one request after the other can do no more.
    pub fn is_full(&self) -> bool {
        let queued = self.interval.queue_len.is_some_and(|queue| queue > QUEUED);
        queued && self.interval.busy.is_some_and(|busy| busy > WITHOUT_PAUSE) && self.per_s() > 0.0
    }

    /// Whether a medium that serves one request after the other is the likeliest: a platter.
    pub fn is_serial(&self) -> bool {
        self.s0.odds_of(Medium::Rotational) >= 0.5
    }

    /// Mean latency, ms. A latency of 0.00 with I/O is unknown: the device keeps no times (md, some
    /// stacked and remote ones), or the number is too coarse.
    pub fn await_ms(&self) -> Option<f64> {
        let has_none = self.per_s() > 0.0;
        self.interval.mean_await_ns().map(|ns| ns / 1e6).filter(|ms| *ms > 0.0 || !has_none)
    }

    /// Whether most of the time was spent in writes that take no longer than durable writes to
    /// flash: averages have no flags.
    pub fn may_be_durable(&self) -> bool {
        let spent = |op: Op| {
            let rates = self.interval.of(op).filter(|rates| rates.ios_per_s > 0.0);
            rates.map_or((0.0, f64::INFINITY), |rates| {
                let wait_ms = rates.await_ns.unwrap_or(0.0) / 1e6;
                (rates.ios_per_s * wait_ms, wait_ms)
            })
        };
        let ((reads, _), (writes, wait_ms)) = (spent(Op::Read), spent(Op::Write));
        writes > reads
            && wait_ms < DURABLE_MS
            && self.interval.queue_len.is_none_or(|queue| queue < FEW)
    }

    /// The spindle speed, rpm, at which each write may have waited for one revolution: only small
    /// writes, one at a time, as many a second as there are revolutions. This is the pattern of
    /// synchronous writes with the write cache off; it may also be chance.
    pub fn revolution_per_write(&self) -> Option<f64> {
        let writes = self.interval.of(Op::Write)?;
        let small = self.interval.mean_bytes().is_some_and(|bytes| bytes <= SMALL_WRITE);
        let alone = writes.ios_per_s >= ONLY_WRITES * self.per_s();
        let wait_ms = self.await_ms()?;
        let in_flight = self.per_s() * wait_ms / 1e3;
        if !small || !alone || !ONE_AT_A_TIME.contains(&in_flight) {
            return None;
        }
        let near = |ms: f64, rpm: f64| (ms / (60_000.0 / rpm) - 1.0).abs() <= NEAR_A_REVOLUTION;
        let beat_ms = 1e3 / self.per_s();
        SPEEDS_RPM.into_iter().find(|rpm| near(wait_ms, *rpm) && near(beat_ms, *rpm))
    }

    /// Only small writes, one after the other without a pause, each longer than a write to a cache:
    /// a program waits for every one of them.
    pub fn is_waited_for_by_a_writer(&self) -> bool {
        let Some(writes) = self.interval.of(Op::Write) else { return false };
        let small = self.interval.mean_bytes().is_some_and(|bytes| bytes <= SMALL_WRITE);
        let alone = writes.ios_per_s >= ONLY_WRITES * self.per_s();
        let wait_ms = self.await_ms().unwrap_or(0.0);
        let in_flight = self.per_s() * wait_ms / 1e3;
        let busy = self.interval.busy.is_some_and(|busy| busy >= WITHOUT_PAUSE);
        small && alone && busy && ONE_AT_A_TIME.contains(&in_flight) && wait_ms > DURABLE_MS
    }

    /// Time lost per second, by all requests together.
    pub fn lost(&self) -> f64 {
        let wait = self.await_ms().unwrap_or(0.0);
        (self.per_s() * (wait - self.s0.median_ms()) / 1000.0).max(0.0)
    }

    /// Effective service time, ms: busy time per completion. No request is served for longer
    /// than it waited, so the mean latency bounds it; without a busy share nothing is known.
    pub fn effective_ms(&self) -> Option<f64> {
        effective_ms(self.interval)
    }
}

/// The rows of a device that follow a silence: earlier rows completed nothing, and the requests
/// that complete then waited that long. This is the pattern of a device that went away for a while,
/// not of a saturated one, which completes all the time.
pub(crate) fn after_silence<'r, 'a>(
    rows: &[&'r IntervalSample<'a>],
) -> Vec<&'r IntervalSample<'a>> {
    let mut found = Vec::new();
    let (mut silent_ms, mut worked) = (0.0, false);
    for row in rows {
        let length_ms = row.interval.length.map_or(1000.0, |length| length.seconds() * 1000.0);
        if row.per_s() <= 0.0 {
            silent_ms += if worked { length_ms } else { 0.0 };
            continue;
        }
        let bound = (LATE * row.s0.slowest_ms()).max(WAITED * silent_ms);
        let late = row.await_ms().is_some_and(|wait| wait > bound);
        if silent_ms > 0.0 && late {
            found.push(*row);
        }
        (silent_ms, worked) = (0.0, true);
    }
    found
}

/// Consecutive rows with requests in flight and no completion, between rows that worked.
#[derive(Clone, Copy)]
pub(crate) struct Silence<'r, 'a> {
    /// Its first row.
    pub row: &'r IntervalSample<'a>,
    /// Its length, s.
    pub seconds: f64,
    /// The most that were in flight.
    pub queue: f64,
    /// How long after the first row it began, s.
    pub after_s: f64,
    /// Number of rows.
    pub rows: usize,
}

/// Such silences of one device. Requests in flight at the end of the listing may still complete and
/// do not count; nor does a device that never worked before.
pub(crate) fn silences<'r, 'a>(rows: &[&'r IntervalSample<'a>]) -> Vec<Silence<'r, 'a>> {
    let mut found = Vec::new();
    let mut open: Option<Silence> = None;
    let (mut clock_s, mut worked) = (0.0, false);
    for row in rows {
        let seconds = row.interval.length.map_or(1.0, |length| length.seconds());
        if row.per_s() > 0.0 {
            worked = true;
            // What completes after it has waited for it, or those were others.
            let waited_s = row.requests() * row.await_ms().unwrap_or(0.0) / 1e3;
            let waited = |silence: &Silence| waited_s > ITS_OWN * silence.seconds;
            found.extend(open.take().filter(waited));
        } else if row.outstanding().is_some() && worked {
            let queue = row.outstanding().unwrap_or(0.0);
            let begun = Silence { row, seconds: 0.0, queue, after_s: clock_s, rows: 0 };
            let silence = open.get_or_insert(begun);
            silence.seconds += seconds;
            silence.queue = silence.queue.max(queue);
            silence.rows += 1;
        } else {
            open = None;
        }
        clock_s += seconds;
    }
    found
}

/// Bounds for writes that may wait for a revolution each: size (the transfer takes a hundredth of
/// one), share of reads, number in flight, and deviation of wait and interval (choices).
const SMALL_WRITE: f64 = 65_536.0;
const ONLY_WRITES: f64 = 0.99;
const ONE_AT_A_TIME: RangeInclusive<f64> = 0.85..=1.15;
/// Busy for the whole interval except for the program's own time (a choice).
pub(crate) const WITHOUT_PAUSE: f64 = 0.95;
/// Minimum requests in flight at which one waits while another is served (a choice: rounding and
/// bursts make 1.2 of one).
pub(crate) const QUEUED: f64 = 2.0;
const NEAR_A_REVOLUTION: f64 = 0.04;

/// Flash without a protected cache completes a durable write within some milliseconds
/// (docs/METHOD.md, 10 Rules), and a program that waits for each has one or two in flight.
const DURABLE_MS: f64 = 5.0;
const FEW: f64 = 2.5;

/// Share of a silence that the requests completing after it waited in total: at least one of them
/// was in flight all the time.
const ITS_OWN: f64 = 0.8;

/// Waits explained by a silence: far beyond any healthy service (docs/METHOD.md, 10 Rules: p99 < 10
/// S0), and a tenth of it (a choice: half of the requests that arrived meanwhile waited for half of
/// it or more, and later requests are in the same mean).
const LATE: f64 = 10.0;
const WAITED: f64 = 0.1;

/// Busy time per completion, ms, at most the mean latency.
pub(crate) fn effective_ms(interval: &Interval) -> Option<f64> {
    let per_s = interval.ios_per_s();
    let busy = interval.busy?.min(1.0);
    if per_s <= 0.0 {
        return None;
    }
    let effective = busy * 1000.0 / per_s;
    Some(interval.mean_await_ns().map_or(effective, |wait| effective.min(wait / 1e6)))
}

/// A row's range for the device's own time: at least its time per completion, at most the mean
/// latency.
pub(crate) fn seen(interval: &Interval) -> Option<OwnTimes> {
    let pace_ms = effective_ms(interval)?;
    let high_ms = interval.mean_await_ns()? / 1e6;
    // A mean has no floor: it forbids nothing.
    Some(OwnTimes {
        floor_ms: high_ms,
        low_ms: pace_ms,
        high_ms,
        pace_ms,
        spread_ms: f64::INFINITY,
    })
}

/// A histogram with at least this share in one bucket has no spread: of random reads on a platter,
/// even at 15 000 rpm, at least one in ten is outside any octave.
const IN_ONE: f64 = 0.97;

/// Longer requests waited for others before their own service, ms: a seek and a revolution at 5400
/// rpm take no longer. A narrow spread of such waits says nothing about the medium.
const LONGEST_ALONE_MS: f64 = 25.0;

/// A histogram's range for the device's own time. If rate and mean show several in flight, it is
/// that of a row of averages.
fn seen_of(known: &Distribution) -> Option<OwnTimes> {
    let half = middle_half(&known.histogram)?;
    let (mean_ns, _) = known.histogram.mean_ns()?;
    let length = known.length.filter(|length| length.seconds() > 0.0);
    let pace_ms = length.map(|length| length.seconds() * 1e3 / known.histogram.count() as f64);
    let Some(pace_ms) = pace_ms.filter(|pace| mean_ns / 1e6 >= QUEUED * pace) else {
        return Some(half);
    };
    let low_ms = pace_ms.min(half.low_ms);
    Some(OwnTimes { low_ms, pace_ms, spread_ms: f64::INFINITY, ..half })
}

/// From the first quartile of a histogram to its median, ms, because most requests above may have
/// waited. For a table row, from minimum to mean.
fn middle_half(histogram: &Histogram) -> Option<OwnTimes> {
    let between = |low_ms, high_ms, spread_ms| {
        Some(OwnTimes { floor_ms: high_ms, low_ms, high_ms, pace_ms: f64::INFINITY, spread_ms })
    };
    if histogram.edges().buckets() == 1 {
        let (min_ms, mean_ms) = (histogram.min_ns? as f64 / 1e6, histogram.mean_ns()?.0 / 1e6);
        return between(min_ms, mean_ms, f64::INFINITY);
    }
    let count = histogram.count() as f64;
    let place = |share: f64| {
        let mut seen = 0.0;
        histogram.filled().find(|(_, _, n)| {
            seen += *n as f64;
            seen >= share * count
        })
    };
    let ((low, _, _), (middle, high, _)) = (place(0.25)?, place(0.5)?);
    let high = if high == u64::MAX { middle } else { high };
    let most = histogram.filled().map(|(_, _, n)| n).max()? as f64;
    let low_ms = low.max(1) as f64 / 1e6;
    let narrow = most >= IN_ONE * count && low_ms < LONGEST_ALONE_MS;
    between(low_ms, high as f64 / 1e6, if narrow { 0.0 } else { f64::INFINITY })
}
