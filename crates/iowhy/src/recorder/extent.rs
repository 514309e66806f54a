//! The duration of an incident. An alarm shows that something is wrong now; the I/Os of each second
//! show how long its device was slow before and after.

use std::collections::{HashMap, VecDeque};

use iowhy_model::Stage;

use super::clock::SECOND_NS;
use super::intake::Second;

/// History kept of each device, ns (a choice: ten minutes, 14 KB each).
const KNOWN_NS: i64 = 600 * SECOND_NS;
/// Slow seconds at most this far apart belong to one interval, ns: as long as an incident's capture
/// waits for the next alarm.
pub(crate) const GAP_NS: i64 = 10 * SECOND_NS;
/// A similar alarm within this time of the last one belongs to the same incident, ns (a choice).
pub(crate) const SAME_NS: i64 = 300 * SECOND_NS;
/// A mean latency above this multiple of the usual one is unusual (a choice).
const CONTRAST: f64 = 1.5;
/// The usual latency of a device is that of its fastest tenth of seconds, from at least this many
/// (choices).
const FASTEST: usize = 10;
const SECONDS: usize = 30;

/// The I/Os of a device that completed in a second.
#[derive(Clone, Copy)]
struct DeviceSecond {
    /// When it ended, CLOCK_MONOTONIC in ns.
    at_ns: i64,
    ios: u64,
    waited_ns: f64,
    /// Which of all disks with this name it was.
    disk: Option<u64>,
}

impl DeviceSecond {
    fn mean_ns(self) -> f64 {
        self.waited_ns / self.ios.max(1) as f64
    }
}

/// What each device did in the last minutes.
#[derive(Default)]
pub(crate) struct Activity {
    devices: HashMap<String, VecDeque<DeviceSecond>>,
}

/// A disk: its name, and its sequence number if known, which distinguishes disks that had the same
/// name; else the last one.
#[derive(Clone, Debug)]
pub(crate) struct NamedDisk {
    /// Its name.
    pub name: String,
    /// Its number (`iowhy_live::disk_sequence`).
    pub sequence: Option<u64>,
}

/// The bound that separates slow seconds of a device from others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SlowLevel {
    /// The mean latency above which a second is slow, ns.
    above_ns: f64,
    /// The usual mean latency, ns; 0 if the device was never seen without the problem.
    usual_ns: f64,
}

/// An interval of slow seconds, CLOCK_MONOTONIC in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    /// When the first of them began.
    pub began_ns: i64,
    /// When the last of them ended.
    pub until_ns: i64,
    /// Excess time that I/Os waited in them, ns.
    pub excess_ns: f64,
}

impl Activity {
    /// Adds a second; old ones are dropped.
    pub(crate) fn add(&mut self, second: &Second, now_ns: i64) {
        let mut sums: HashMap<&str, (u64, f64)> = HashMap::new();
        for (device, one) in &second.histograms {
            if one.stage == Stage::Total {
                let sum = sums.entry(device).or_default();
                sum.0 += one.histogram.count();
                sum.1 += one.histogram.sum_ns.unwrap_or(0.0);
            }
        }
        for (device, (ios, waited_ns)) in sums.into_iter().filter(|(_, (ios, _))| *ios > 0) {
            if !self.devices.contains_key(device) {
                self.devices.insert(device.to_string(), VecDeque::new());
            }
            let Some(known) = self.devices.get_mut(device) else { continue };
            let now = second.disks.get(device).copied();
            let disk = now.or(known.back().and_then(|last| last.disk));
            known.push_back(DeviceSecond { at_ns: now_ns, ios, waited_ns, disk });
        }
        self.devices.retain(|_, known| {
            while known.front().is_some_and(|one| one.at_ns < now_ns - KNOWN_NS) {
                known.pop_front();
            }
            !known.is_empty()
        });
    }

    /// The seconds of a disk.
    fn seconds(&self, disk: &NamedDisk) -> impl Iterator<Item = DeviceSecond> {
        let known = self.devices.get(&disk.name).into_iter().flatten().copied();
        let last = || self.devices.get(&disk.name)?.back()?.disk;
        let sequence = disk.sequence.or_else(last);
        known.filter(move |one| one.disk == sequence)
    }

    /// The bound for slow seconds of a device, given an interval in which it was slow. `None` if
    /// its latencies were the same before.
    pub(crate) fn slow_level(
        &self,
        disk: &NamedDisk,
        (from_ns, to_ns): (i64, i64),
    ) -> Option<SlowLevel> {
        let within = self.seconds(disk).filter(|one| from_ns < one.at_ns && one.at_ns <= to_ns);
        // Seconds are weighted by the time waited, so that many fast I/Os do not hide the slow
        // ones.
        let (waited, weighted) = within.fold((0.0, 0.0), |(sum, weighted), one| {
            (sum + one.waited_ns, weighted + one.waited_ns * one.mean_ns())
        });
        let slow = weighted / waited;
        let before = self.seconds(disk).filter(|one| one.at_ns <= from_ns);
        let mut means: Vec<f64> = before.map(|one| one.mean_ns()).collect();
        if !slow.is_finite() {
            return None;
        }
        if means.len() < SECONDS {
            return Some(SlowLevel::ANY);
        }
        means.sort_by(f64::total_cmp);
        let usual_ns = means.get(means.len() / FASTEST).copied().unwrap_or(0.0);
        let above_ns = (slow * usual_ns).sqrt();
        (slow >= CONTRAST * usual_ns).then_some(SlowLevel { above_ns, usual_ns })
    }

    /// The interval of slow seconds around this one, however long.
    pub(crate) fn extent(
        &self,
        disk: &NamedDisk,
        level: SlowLevel,
        (from_ns, to_ns): (i64, i64),
    ) -> Option<Extent> {
        let slow: Vec<DeviceSecond> =
            self.seconds(disk).filter(|one| one.mean_ns() > level.above_ns).collect();
        let within = |one: &DeviceSecond| from_ns < one.at_ns && one.at_ns <= to_ns;
        let mut first = slow.iter().position(within)?;
        let mut last = slow.iter().rposition(within)?;
        let apart = |a: usize, b: usize| match (slow.get(a), slow.get(b)) {
            (Some(a), Some(b)) => b.at_ns - a.at_ns > GAP_NS,
            _ => true,
        };
        while first > 0 && !apart(first - 1, first) {
            first -= 1;
        }
        while !apart(last, last + 1) {
            last += 1;
        }
        let stretch = slow.get(first..=last)?;
        Some(Extent {
            began_ns: stretch.first()?.at_ns - SECOND_NS,
            until_ns: stretch.last()?.at_ns,
            excess_ns: stretch.iter().map(|one| level.excess_ns(*one)).sum(),
        })
    }

    /// Excess time that a device's I/Os waited in the second that ended now, ns, if it was slow.
    pub(crate) fn slow_now(&self, disk: &NamedDisk, level: SlowLevel, now_ns: i64) -> Option<f64> {
        let last = self.seconds(disk).last().filter(|one| one.at_ns == now_ns)?;
        (last.mean_ns() > level.above_ns).then(|| level.excess_ns(last))
    }
}

impl SlowLevel {
    /// Each second with an I/O.
    pub(crate) const ANY: SlowLevel = SlowLevel { above_ns: 0.0, usual_ns: 0.0 };

    fn excess_ns(self, one: DeviceSecond) -> f64 {
        (one.waited_ns - self.usual_ns * one.ios as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    /// Seconds of a device: how many, I/Os in each, their mean latency in ms.
    fn activity(parts: &[(i64, u64, f64)]) -> Activity {
        let mut known = VecDeque::new();
        let mut at = 0;
        for (seconds, ios, mean) in parts {
            for _ in 0..*seconds {
                at += SECOND_NS;
                if *ios > 0 {
                    let waited_ns = mean * MS * *ios as f64;
                    known.push_back(DeviceSecond { at_ns: at, ios: *ios, waited_ns, disk: None });
                }
            }
        }
        Activity { devices: HashMap::from([("sda".to_string(), known)]) }
    }

    fn disk(sequence: Option<u64>) -> NamedDisk {
        NamedDisk { name: "sda".to_string(), sequence }
    }

    fn extent(activity: &Activity, from_s: i64, to_s: i64) -> Option<(i64, i64)> {
        let window = (from_s * SECOND_NS, to_s * SECOND_NS);
        let level = activity.slow_level(&disk(None), window)?;
        let known = activity.extent(&disk(None), level, window)?;
        Some((known.began_ns / SECOND_NS, known.until_ns / SECOND_NS))
    }

    #[test]
    fn a_fault_lasts_as_long_as_its_seconds_are_slow() {
        // Seventy slow seconds between healthy ones, noticed at 150 by a verdict on the last
        // twenty.
        let fault = activity(&[(100, 200, 0.5), (70, 20, 60.0), (60, 200, 0.5)]);
        assert_eq!(extent(&fault, 130, 150), Some((100, 170)));
        // A stall of a second every five.
        let stall = [(4, 100, 0.4), (1, 3, 900.0)].repeat(9);
        let stalls = activity(&[&[(60, 100, 0.4)][..], &stall[..], &[(40, 100, 0.4)][..]].concat());
        assert_eq!(extent(&stalls, 70, 90), Some((64, 105)));
        // Three slow seconds in a window of twenty, among thousands of fast I/Os.
        let short = activity(&[(97, 1000, 1.0), (3, 10, 100.0), (50, 1000, 1.0)]);
        assert_eq!(extent(&short, 85, 105), Some((97, 100)));
        // Three times as slow as before, with one worse second.
        let parts = [(60, 300, 1.0), (10, 100, 3.0), (1, 10, 30.0), (20, 100, 3.0), (9, 300, 1.0)];
        assert_eq!(extent(&activity(&parts), 70, 90), Some((60, 91)));
    }

    #[test]
    fn a_device_that_was_never_better_was_slow_since_it_was_seen() {
        assert_eq!(extent(&activity(&[(40, 0, 0.0), (50, 20, 60.0)]), 60, 80), Some((40, 90)));
        // Constant latency for minutes is no change, so its start is unknown.
        assert_eq!(extent(&activity(&[(300, 20, 60.0)]), 200, 220), None);
        assert_eq!(activity(&[]).slow_level(&disk(None), (0, 1)), None);
    }

    #[test]
    fn another_disk_of_the_name_is_none_of_it() {
        // Forty slow seconds, and a second later another disk that is as slow.
        let mut two = activity(&[(40, 20, 60.0), (1, 0, 0.0), (30, 20, 60.0)]);
        let known = two.devices.get_mut("sda").unwrap();
        known
            .iter_mut()
            .for_each(|one| one.disk = Some(if one.at_ns <= 40 * SECOND_NS { 7 } else { 8 }));
        let window = (20 * SECOND_NS, 45 * SECOND_NS);
        let level = two.slow_level(&disk(Some(7)), window).unwrap();
        let first = two.extent(&disk(Some(7)), level, window).unwrap();
        assert_eq!((first.began_ns, first.until_ns), (0, 40 * SECOND_NS));
        // The second disk has no history of the first, and does not prolong the first one's
        // incident.
        let second = two.extent(&disk(Some(8)), level, window).unwrap();
        assert_eq!(second.began_ns, 41 * SECOND_NS);
        assert_eq!(two.slow_now(&disk(Some(7)), level, 71 * SECOND_NS), None);
        assert!(two.slow_now(&disk(None), level, 71 * SECOND_NS).is_some());
    }

    #[test]
    fn waiting_beyond_the_usual_is_what_was_lost() {
        let fault = activity(&[(100, 100, 1.0), (10, 10, 101.0), (50, 100, 1.0)]);
        let window = (95 * SECOND_NS, 115 * SECOND_NS);
        let level = fault.slow_level(&disk(None), window).unwrap();
        let known = fault.extent(&disk(None), level, window).unwrap();
        // Ten seconds of ten I/Os, each 100 ms beyond one.
        assert!((known.excess_ns - 10.0 * 10.0 * 100.0 * MS).abs() < MS, "{known:?}");
        assert_eq!(fault.slow_now(&disk(None), level, 160 * SECOND_NS), None);
    }
}
