//! What happened between two readings of the counters: wraps, resets, rates.

use iowhy_model::{
    DeviceId, Distribution, Edges, Histogram, Interval, Layer, Nanos, Op, Rates, Stage,
};

use super::{Counters, Counts};

/// What happened between two readings.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// Counters rose.
    Rose(Delta),
    /// Counters rose, one or more of them past 2^32; the delta is still right.
    Wrapped(Delta),
    /// A counter fell and no wrap explains it: the later reading is a new baseline.
    Reset,
    /// Another device has taken the name: the later reading is a new baseline.
    Replaced,
}

/// Differences between two readings.
#[derive(Clone, PartialEq, Debug)]
pub struct Delta {
    /// Time between the readings, if known.
    pub length: Option<Nanos>,
    /// Per operation that the kernel counts.
    pub counts: Vec<(Op, Counts)>,
    /// Milliseconds with something in flight.
    pub busy_ms: Option<u64>,
    /// Milliseconds summed over requests.
    pub weighted_ms: Option<u64>,
    /// Requests in flight at the later reading.
    pub in_flight: Option<u64>,
}

/// What happened to a device from `earlier` to `later`, `length` apart.
pub fn between(earlier: &Counters, later: &Counters, length: Nanos) -> Change {
    change(earlier, later, Some(length))
}

/// [`between`], where the length may be unknown: then a counter that fell is always a reset.
pub(crate) fn change(earlier: &Counters, later: &Counters, length: Option<Nanos>) -> Change {
    if is_replaced(earlier, later) {
        return Change::Replaced;
    }
    let length = length.filter(|length| length.ns() > 0);
    let mut unwrap = Unwrap { length_ms: length.map(|length| length.ms()), wrapped: false };
    match unwrap.delta(earlier, later) {
        Some(delta) if unwrap.wrapped => Change::Wrapped(Delta { length, ..delta }),
        Some(delta) => Change::Rose(Delta { length, ..delta }),
        None => Change::Reset,
    }
}

impl Counters {
    /// All that was counted since the device appeared, `uptime` ago if known.
    pub fn since_boot(&self, uptime: Option<Nanos>) -> Delta {
        Delta {
            length: uptime.filter(|length| length.ns() > 0),
            counts: self.counts().collect(),
            busy_ms: self.busy_ms,
            weighted_ms: self.weighted_ms,
            in_flight: self.in_flight,
        }
    }
}

impl Delta {
    /// The operations but flushes, whose carriers are counted as writes.
    fn data(&self) -> impl Iterator<Item = &Counts> {
        self.counts.iter().filter(|(op, _)| *op != Op::Flush).map(|(_, counts)| counts)
    }

    /// Requests completed, flushes left out: their carriers are counted as writes.
    pub fn ios(&self) -> u64 {
        sum(self.data().map(|counts| counts.ios))
    }

    /// Counts of completions and the mean wait of each operation, for a delta without a length.
    pub fn distributions(&self, device: DeviceId) -> Vec<Distribution> {
        let counted = self.counts.iter().filter_map(|(op, counts)| {
            let mean_ns = mean_ns(counts.ms?, counts.ios)?;
            let mut histogram =
                Histogram::from_counts(Edges::new(vec![0, u64::MAX])?, vec![counts.ios])?;
            histogram.sum_ns = Some(mean_ns * counts.ios as f64);
            let mut known = Distribution::new(device, Layer::Block, Stage::Total, histogram);
            known.op = Some(*op);
            let bytes =
                counts.sectors.map(|sectors| sectors.saturating_mul(512) / counts.ios.max(1));
            known.bytes =
                bytes.and_then(|bytes| u32::try_from(bytes).ok()).filter(|bytes| *bytes > 0);
            Some(known)
        });
        counted.collect()
    }

    /// The delta as rates and means. Without a length there are no rates, only the mean wait.
    pub fn interval(&self, device: DeviceId) -> Interval {
        let mut interval = Interval::new(device, Layer::Block);
        interval.length = self.length;
        interval.in_flight = self.in_flight;
        let ios = self.ios();
        interval.svctm_ns = self.busy_ms.and_then(|busy| mean_ns(busy, ios));
        match self.length {
            Some(length) => {
                interval.rates =
                    self.counts.iter().map(|(op, counts)| (*op, counts.rates(length))).collect();
                interval.busy = self.busy_ms.map(|busy| busy as f64 / length.ms());
                interval.queue_len = self.weighted_ms.map(|waited| waited as f64 / length.ms());
            }
            None => {
                let waited: Option<Vec<u64>> = self.data().map(|counts| counts.ms).collect();
                interval.await_ns = waited.and_then(|ms| mean_ns(sum(ms), ios));
            }
        }
        interval
    }
}

impl Counts {
    fn rates(&self, length: Nanos) -> Rates {
        let per_s = |count: u64| count as f64 / length.seconds();
        Rates {
            ios_per_s: per_s(self.ios),
            merges_per_s: self.merges.map(per_s),
            bytes_per_s: self.sectors.map(|sectors| per_s(sectors) * 512.0),
            await_ns: self.ms.and_then(|ms| mean_ns(ms, self.ios)),
        }
    }
}

/// A sum that garbage cannot overflow.
fn sum(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}

fn mean_ns(ms: u64, ios: u64) -> Option<f64> {
    (ios > 0).then(|| ms as f64 * 1e6 / ios as f64)
}

/// sysstat's own test for a device that was removed and added again: fewer I/Os in total, and no
/// sector counter that did not decrease. A changed number shows it at once.
fn is_replaced(earlier: &Counters, later: &Counters) -> bool {
    if earlier.number.zip(later.number).is_some_and(|(before, after)| before != after) {
        return true;
    }
    let ios = |counters: &Counters| -> u64 {
        let counts = [Some(counters.read), Some(counters.write), counters.discard];
        sum(counts.iter().flatten().map(|counts| counts.ios))
    };
    let fell = |before: Option<Counts>, after: Option<Counts>| {
        let sectors = |counts: Option<Counts>| counts.and_then(|c| c.sectors).unwrap_or(0);
        sectors(before) == 0 || sectors(after) < sectors(before)
    };
    ios(later) < ios(earlier)
        && fell(Some(earlier.read), Some(later.read))
        && fell(Some(earlier.write), Some(later.write))
        && fell(earlier.discard, later.discard)
}

/// Subtracts counters and decides whether one that fell has wrapped.
struct Unwrap {
    length_ms: Option<f64>,
    wrapped: bool,
}

/// Where 32-bit counters wrap.
const WRAP: u64 = 1 << 32;
/// Slack for readings that were not taken at one instant (docs/METHOD.md, 14 Counters: busy time
/// up to 1.05 of the interval).
const SLACK: f64 = 1.05;
/// Most sectors (and so requests) per millisecond that pass for a wrap of a 32-bit kernel's
/// counter: 64 GiB/s, what sixteen lanes of PCI Express 5 carry.
const MOST_PER_MS: f64 = 134_217.728;

impl Unwrap {
    fn delta(&mut self, earlier: &Counters, later: &Counters) -> Option<Delta> {
        let mut counts = Vec::new();
        for (op, after) in later.counts() {
            let before = earlier.counts().find(|(this, _)| *this == op);
            // A kernel does not begin to count within an uptime; a copied line may lose its end.
            let Some((_, before)) = before else { continue };
            counts.push((op, self.counts(&before, &after)?));
        }
        let ios = sum(counts.iter().map(|(_, counts)| counts.ios));
        // Requests in flight during the interval completed in it or are still in flight.
        let in_flight = ios.saturating_add(later.in_flight.unwrap_or(0)) as f64;
        Some(Delta {
            length: None,
            counts,
            busy_ms: self.both(earlier.busy_ms, later.busy_ms, SLACK)?,
            weighted_ms: self.both(earlier.weighted_ms, later.weighted_ms, SLACK * in_flight)?,
            in_flight: later.in_flight,
        })
    }

    fn counts(&mut self, before: &Counts, after: &Counts) -> Option<Counts> {
        let ios = self.rise(before.ios, after.ios, MOST_PER_MS)?;
        Some(Counts {
            ios,
            merges: self.both(before.merges, after.merges, MOST_PER_MS)?,
            sectors: self.both(before.sectors, after.sectors, MOST_PER_MS)?,
            ms: self.both(before.ms, after.ms, SLACK * ios as f64)?,
        })
    }

    /// The rise of a counter that may be absent; the outer `None` is a reset.
    fn both(&mut self, before: Option<u64>, after: Option<u64>, most: f64) -> Option<Option<u64>> {
        let Some((before, after)) = before.zip(after) else { return Some(None) };
        self.rise(before, after, most).map(Some)
    }

    /// The increase of a counter, past 2^32 if it is then at most `most_per_ms` times the length
    /// (and at most half the range, because a long interval would allow anything).
    fn rise(&mut self, before: u64, after: u64, most_per_ms: f64) -> Option<u64> {
        if let Some(rise) = after.checked_sub(before) {
            return Some(rise);
        }
        let rise = after.checked_add(WRAP)?.checked_sub(before).filter(|_| before < WRAP)?;
        if rise > WRAP / 2 || rise as f64 > most_per_ms * self.length_ms? {
            return None;
        }
        self.wrapped = true;
        Some(rise)
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::diskstats::{parse_line, parse_stat};
    use iowhy_model::{Recording, Sink};

    fn near(value: Option<f64>, printed: f64) {
        let value = value.expect("a value");
        assert!((value - printed).abs() <= 0.005, "{value} is not {printed}");
    }

    /// The row of sdb in source document dusty_disk, as counters ten seconds apart.
    #[test]
    fn the_dusty_disk_from_its_counters() {
        let line = |rest: &str| parse_line(&format!("8 0 sda {rest} 0 0 0 0 20 40")).unwrap();
        let earlier = line("1000 10 80000 5000 200 50 1600 900 0 4000 5900");
        let later = line("1045 10 91520 24544 200 50 1600 900 2 14000 25700");
        let Change::Rose(delta) = between(&earlier, &later, Nanos::from_seconds(10.0)) else {
            panic!("the counters rose");
        };
        let interval = delta.interval(Recording::new().device("sda"));
        let read = interval.of(Op::Read).unwrap();
        near(Some(read.ios_per_s), 4.50);
        near(read.bytes_per_s.map(|bytes| bytes / 1024.0), 576.00);
        near(read.await_ns.map(|ns| ns / 1e6), 434.31);
        near(read.mean_bytes().map(|bytes| bytes / 1024.0), 128.00);
        near(interval.queue_len, 1.98);
        near(interval.svctm_ns.map(|ns| ns / 1e6), 222.22);
        near(interval.busy.map(|busy| busy * 100.0), 100.00);
        assert_eq!(interval.of(Op::Write).unwrap().await_ns, None);
        assert_eq!(interval.in_flight, Some(2));
    }

    fn stat(busy: u64, weighted: u64, ios: u64) -> Counters {
        parse_stat("sda", &format!("{ios} 0 {} {weighted} 0 0 0 0 0 {busy} {weighted}", ios * 8))
            .unwrap()
    }

    #[test]
    fn milliseconds_that_wrap_are_told_from_a_reset() {
        // docs/METHOD.md, 14 Counters: 4294967000 to 1504 is 1800 ms, in two seconds.
        let (earlier, later) = (stat(4_294_967_000, 4_294_967_000, 50), stat(1504, 1504, 90));
        let two = Nanos::from_seconds(2.0);
        let Change::Wrapped(delta) = between(&earlier, &later, two) else { panic!("it wrapped") };
        assert_eq!((delta.busy_ms, delta.weighted_ms), (Some(1800), Some(1800)));
        near(delta.interval(Recording::new().device("sda")).busy, 0.90);
        // The same step within one second would be 180 % busy.
        assert_eq!(between(&earlier, &later, Nanos::from_seconds(1.0)), Change::Reset);
        assert_eq!(change(&earlier, &later, None), Change::Reset);
        // Busy time decreased while I/Os increased: no wrap does that.
        assert_eq!(between(&stat(9000, 9000, 50), &stat(100, 9100, 60), two), Change::Reset);
    }

    #[test]
    fn a_device_that_came_back_is_another_one() {
        let ten = Nanos::from_seconds(10.0);
        assert_eq!(between(&stat(900, 900, 500), &stat(10, 10, 3), ten), Change::Replaced);
        let line = |text| parse_line(text).unwrap();
        let (sda, sdb) =
            (line("8 0 a 1 1 1 1 1 1 1 1 0 1 1"), line("8 16 a 2 2 2 2 2 2 2 2 0 2 2"));
        assert_eq!(between(&sda, &sdb, ten), Change::Replaced);
    }

    #[test]
    fn a_32_bit_kernel_wraps_its_sectors() {
        let line = |ios: u64, sectors: u64| {
            parse_line(&format!("8 0 sda {ios} 0 {sectors} 10 0 0 0 0 0 10 10")).unwrap()
        };
        let (earlier, later) = (line(5000, WRAP - 1000), line(5010, 280));
        let Change::Wrapped(delta) = between(&earlier, &later, Nanos::from_seconds(1.0)) else {
            panic!("it wrapped");
        };
        assert_eq!(delta.counts[0].1.sectors, Some(1280));
    }
}
