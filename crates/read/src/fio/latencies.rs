//! fio's latencies of one direction, and the histograms derived from them.

use iowhy_model::{
    DeviceId, Distribution, Histogram, Interval, Layer, Level, Nanos, Op, Rates, Sink, Stage,
    numbers,
};

use crate::facts::note;
use crate::fio::lines::{Direction, Disk, LatencyKind, Summary};
use crate::histogram::buckets::{COUNT_LIMIT, histogram_of};

/// One direction of one job or group.
pub(crate) struct Latencies {
    pub(crate) rates: Direction,
    slat: Option<Summary>,
    clat: Option<Summary>,
    lat: Option<Summary>,
    percentiles: Vec<(f64, u64)>,
    /// Shares per latency range, if they are of this direction alone.
    pub(crate) shares: Vec<(u64, u64, f64)>,
    /// The latency the percentiles are of, and their step in ns.
    percentiles_of: Option<(LatencyKind, u64)>,
}

/// Where fio's table of latencies ends, ns: its last bucket is that of 17.11 s (stat.h,
/// FIO_IO_U_PLAT_GROUP_NR).
const TABLE_ENDS_NS: u64 = 17_000_000_000;

impl Latencies {
    pub(crate) fn of(rates: Direction) -> Latencies {
        Latencies {
            rates,
            slat: None,
            clat: None,
            lat: None,
            percentiles: Vec::new(),
            shares: Vec::new(),
            percentiles_of: None,
        }
    }

    /// The field for a latency line.
    pub(crate) fn place(&mut self, which: LatencyKind) -> &mut Option<Summary> {
        match which {
            LatencyKind::Slat => &mut self.slat,
            // Flushes have this one only.
            LatencyKind::Clat | LatencyKind::Sync => &mut self.clat,
            LatencyKind::Lat => &mut self.lat,
        }
    }

    /// Takes percentiles in units of `unit` ns; of several blocks the one on completion is kept.
    pub(crate) fn take_percentiles(
        &mut self,
        which: LatencyKind,
        unit: u64,
        pairs: Vec<(f64, u64)>,
    ) {
        let which = if which == LatencyKind::Sync { LatencyKind::Clat } else { which };
        if self.percentiles_of.is_some_and(|(kept, _)| kept == LatencyKind::Clat && which != kept) {
            return;
        }
        if self.percentiles_of != Some((which, unit)) {
            self.percentiles.clear();
            self.percentiles_of = Some((which, unit));
        }
        let in_ns = pairs.into_iter().filter_map(|(p, value)| Some((p, value.checked_mul(unit)?)));
        self.percentiles.extend(in_ns);
    }

    /// Gives out the rates and each latency, the one that is known exactly as it is; whether the
    /// counts of a histogram were computed.
    pub(crate) fn emit(
        &self,
        device: DeviceId,
        count: u64,
        exact: impl Fn(LatencyKind) -> Option<Histogram>,
        sink: &mut dyn Sink,
    ) -> bool {
        let mut is_estimated = false;
        let (op, length) = (self.rates.op, Some(self.rates.runtime));
        sink.interval(self.interval(device));
        self.state_clipped(sink);
        for which in [LatencyKind::Slat, LatencyKind::Clat, LatencyKind::Lat] {
            let exact = exact(which);
            let is_exact = exact.is_some();
            let Some(histogram) = exact.or_else(|| self.histogram(which, count)) else { continue };
            is_estimated |= !is_exact && histogram.edges().buckets() > 1;
            let stage = if which == LatencyKind::Slat { Stage::Queue } else { Stage::Total };
            let named = if op == Some(Op::Flush) { LatencyKind::Sync } else { which };
            let mut one = Distribution::new(device, Layer::Application, stage, histogram);
            (one.op, one.length, one.label) = (op, length, Some(sink.name(named.name())));
            sink.distribution(one);
            sink.source().level = Level::B;
        }
        is_estimated
    }

    /// The rates.
    fn interval(&self, device: DeviceId) -> Interval {
        let mut interval = Interval::new(device, Layer::Application);
        interval.length = Some(self.rates.runtime);
        let waited = self.lat.or(self.clat).map(|summary| summary.mean_ns);
        let rates = Rates {
            ios_per_s: self.rates.ios_per_s,
            merges_per_s: None,
            bytes_per_s: self.rates.bytes_per_s,
            await_ns: waited,
        };
        match self.rates.op {
            Some(op) => interval.rates.push((op, rates)),
            None => interval.mixed = Some(rates),
        }
        interval
    }

    /// I/Os of this direction: as issued, else rate times runtime.
    pub(crate) fn count(&self, issued: Option<[u64; 4]>) -> u64 {
        let issued = issued.map(|[reads, writes, trims, flushes]| match self.rates.op {
            Some(Op::Read) => reads,
            Some(Op::Write) => writes,
            // fio counts no flush of `fdatasync=1`; one follows each write then.
            Some(Op::Flush) if flushes == 0 => writes,
            Some(Op::Flush) => flushes,
            Some(_) => trims,
            None => reads + writes + trims,
        });
        let by_rate = (self.rates.ios_per_s * self.rates.runtime.seconds()).round();
        issued.unwrap_or(by_rate.min(COUNT_LIMIT as f64) as u64)
    }

    fn summary(&self, which: LatencyKind) -> Option<Summary> {
        match which {
            LatencyKind::Slat => self.slat,
            LatencyKind::Clat | LatencyKind::Sync => self.clat,
            LatencyKind::Lat => self.lat,
        }
    }

    /// The highest percentile and the mean, ns, if that is beyond it and the percentile is where
    /// fio's table ends: latencies over 17 s are counted as 17 s.
    fn clipped(&self) -> Option<(u64, f64)> {
        let (of, step) = self.percentiles_of?;
        let end = self.percentiles.iter().map(|(_, value)| *value).max()?;
        let mean = self.summary(of)?.mean_ns;
        (end >= TABLE_ENDS_NS && mean > end.saturating_add(step) as f64).then_some((end, mean))
    }

    /// Adds a note, once per listing, if the percentiles end below the mean.
    fn state_clipped(&self, sink: &mut dyn Sink) {
        let Some((end, mean)) = self.clipped() else { return };
        let reason = format!(
            "fio's table of percentiles ends at {}, below the mean of {}: the latencies beyond it \
             are not known",
            numbers::duration(end as f64),
            numbers::duration(mean)
        );
        if !sink.source().notes.iter().any(|note| note.reason == reason) {
            sink.note(note(reason));
        }
    }

    /// One latency as a histogram: of its percentiles, else of its shares, else of one bucket.
    fn histogram(&self, which: LatencyKind, count: u64) -> Option<Histogram> {
        let summary = self.summary(which);
        // Percentiles at the end of a table that was too short are of times beyond it.
        let end = self.clipped().map_or(u64::MAX, |(end, _)| end);
        let known = self.percentiles.iter().filter(|(_, value)| *value < end);
        let known: Vec<(f64, u64)> = known.copied().collect();
        let buckets = self
            .percentiles_of
            .filter(|(of, _)| *of == which)
            .and_then(|(_, step)| percentile_histogram(&known, step, summary, count));
        let buckets = buckets.or_else(|| {
            let percent_sum = || self.shares.iter().map(|(.., percent)| percent).sum::<f64>();
            let tells = which == LatencyKind::Clat && percent_sum() >= LEAST_PERCENT;
            shares_histogram(Some(&self.shares).filter(|_| tells)?, count)
        });
        let Some(Summary { min_ns, max_ns, mean_ns }) = summary else { return buckets };
        let Some(mut histogram) = buckets else {
            return Some(Histogram::from_summary(count, mean_ns, min_ns, max_ns));
        };
        histogram.sum_ns = Some(mean_ns * histogram.count() as f64);
        (histogram.min_ns, histogram.max_ns) = (Some(min_ns), Some(max_ns));
        Some(histogram)
    }
}

/// The highest percentile must be this one at least: the median.
const LEAST_PERCENT: f64 = 50.0;

/// Counts between percentiles: `p` percent of `count` are at or below the value of `p`, which is
/// printed in whole steps of `step` ns. The counts add up to `count`.
pub(crate) fn percentile_histogram(
    percentiles: &[(f64, u64)],
    step: u64,
    summary: Option<Summary>,
    count: u64,
) -> Option<Histogram> {
    // If less than half is printed (the rest was cut off), the distribution is unknown.
    if percentiles.last().is_some_and(|(percent, _)| *percent < LEAST_PERCENT) {
        return None;
    }
    let at_or_below = |percent: f64| (percent / 100.0 * count as f64).round() as u64;
    let (mut low, mut done) = (summary.map_or(0, |summary| summary.min_ns), 0);
    let mut rows: Vec<(u64, u64, u64)> = Vec::new();
    for (place, (percent, value)) in percentiles.iter().enumerate() {
        let repeated = percentiles.get(place + 1).is_some_and(|(_, next)| next == value);
        let (high, now) = (value.saturating_add(step), at_or_below(*percent));
        if repeated || high <= low || now < done {
            continue;
        }
        rows.push((low, high, now - done));
        (low, done) = (high, now);
    }
    let end = summary.map_or(u64::MAX, |summary| summary.max_ns.saturating_add(1));
    match rows.last_mut() {
        Some((.., last)) if end <= low => *last += count.saturating_sub(done),
        _ => rows.push((low, end, count.saturating_sub(done))),
    }
    histogram_of(rows)
}

/// Totals of a disk over a run of that length, as averages; `None` without I/Os or length.
pub(crate) fn disk_interval(disk: &Disk, length: Nanos, device: DeviceId) -> Option<Interval> {
    let ios = disk.ios.filter(|_| length.ns() > 0)?;
    let per_s = |count: u64| count as f64 / length.seconds();
    let mut interval = Interval::new(device, Layer::Block);
    interval.length = Some(length);
    for (place, op) in [(0, Op::Read), (1, Op::Write)] {
        let of = |pair: Option<[u64; 2]>| pair.and_then(|pair| pair.get(place).copied());
        let count = of(Some(ios)).unwrap_or(0);
        let wait = |ticks: u64| ticks as f64 * 1e6 / count as f64;
        let rates = Rates {
            ios_per_s: per_s(count),
            merges_per_s: of(disk.merges).map(per_s),
            bytes_per_s: of(disk.sectors).map(|sectors| per_s(sectors) * 512.0),
            await_ns: of(disk.ticks_ms).filter(|_| count > 0).map(wait),
        };
        interval.rates.push((op, rates));
    }
    // in_queue includes the time of flushes, which fio counts nowhere else: beside writes the queue
    // is that of the reads and writes alone. Where it is shorter than their waits, the kernel is
    // older than 5.0 and looked at the queue now and then only (part_round_stats,
    // block/blk-core.c).
    let waited = disk.ticks_ms.map(|ticks| ticks.iter().sum::<u64>());
    let writes = ios.get(1).is_some_and(|count| *count > 0);
    let queue =
        disk.queue_ms.map(|queue| waited.filter(|ms| writes || *ms > queue).map_or(queue, |ms| ms));
    interval.queue_len = queue.map(|queue| queue as f64 / length.ms());
    interval.busy = disk.util_percent.map(|percent| percent / 100.0);
    Some(interval)
}

/// Engines of fio that have one request of a job in flight, whatever depth is asked for (fio's
/// HOWTO).
const SYNCHRONOUS: [&str; 9] =
    ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "ftruncate", "falloc"];

/// Requests that a job of an engine at a depth has in flight at most, times this many jobs of its
/// kind.
pub(crate) fn at_once(engine: Option<&str>, depth: Option<&str>, jobs: Option<u64>) -> Option<u64> {
    if engine.is_some_and(|engine| SYNCHRONOUS.contains(&engine)) {
        return jobs;
    }
    let depth: u64 = depth?.trim().parse().ok()?;
    depth.checked_mul(jobs?)
}

/// Counts of the shares per latency range, each rounded for itself: fio prints hundredths of a
/// percent, and 0.01 for anything less.
pub(crate) fn shares_histogram(shares: &[(u64, u64, f64)], count: u64) -> Option<Histogram> {
    if count == 0 {
        return None;
    }
    let counted = |percent: f64| (percent / 100.0 * count as f64).round().max(0.0) as u64;
    let rows = shares.iter().map(|(low, high, percent)| (*low, *high, counted(*percent)));
    histogram_of(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: Option<Summary> =
        Some(Summary { min_ns: 15_000, max_ns: 9_662_000, mean_ns: 84_300.0 });

    #[test]
    fn counts_between_percentiles_add_up_to_all() {
        let percentiles = [(1.0, 56_000), (50.0, 82_000), (99.0, 137_000), (99.9, 137_000)];
        let histogram = percentile_histogram(&percentiles, 1000, SUMMARY, 70_887).unwrap();
        let rows: Vec<_> = histogram.filled().collect();
        assert_eq!(
            rows,
            [
                (15_000, 57_000, 709),
                (57_000, 83_000, 34_735),
                (83_000, 138_000, 35_372),
                (138_000, 9_662_001, 71),
            ]
        );
        assert_eq!(histogram.count(), 70_887);
    }

    #[test]
    fn percentiles_beyond_the_extremes_lose_no_count() {
        let rounded = [(1.0, 10_000), (99.0, 9_662_000)];
        let histogram = percentile_histogram(&rounded, 1000, SUMMARY, 200).unwrap();
        assert_eq!(histogram.count(), 200);
        assert_eq!(histogram.filled().collect::<Vec<_>>(), [(15_000, 9_663_000, 200)]);
        assert_eq!(percentile_histogram(&[], 1, None, 5).unwrap().count(), 5);
        // Cut off below the median they do not show the distribution.
        assert!(percentile_histogram(&[(1.0, 100), (49.0, 200)], 1, SUMMARY, 200).is_none());
        assert!(percentile_histogram(&[(1.0, 100), (50.0, 200)], 1, SUMMARY, 200).is_some());
    }

    #[test]
    fn shares_become_counts() {
        let histogram = shares_histogram(&[(20, 50, 1.84), (50, 100, 98.16)], 10_000).unwrap();
        assert_eq!(histogram.counts(), [184, 9816]);
        assert_eq!(shares_histogram(&[(1, 2, 100.0)], 0), None);
    }
}
