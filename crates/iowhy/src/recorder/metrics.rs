//! The recorder's metrics for Prometheus: text, OpenMetrics, or protobuf with native histograms.

mod exposition;
mod message;
mod otlp;
mod server;
mod table;
mod wire;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iowhy_model::{Histogram, Interval, Op, Stage};

use super::intake::Second;
use super::verdicts::FindingSummary;
pub(crate) use otlp::{Span, export};
pub(crate) use server::{Terms, serve};
pub(crate) use wire::{DeadlineStream, tls};

/// Devices with their own series; further ones share the name `other` and are counted, so that the
/// number of series is bounded: 5 operations and 4 stages each. Removed devices free their place.
const DEVICES: usize = 256;
const OTHER: &str = "other";
/// Containers or volumes with their own series: five operations each.
const NAMES: usize = 256;
/// How long a withdrawn verdict is reported as 0, ns: a scrape each minute sees it, and an alert
/// resolves.
const FALLEN_NS: i64 = 600_000_000_000;

/// Seconds of which the busiest counts for headroom.
const MINUTE: usize = 60;

/// Maximum devices counted as `other`.
const MOST_OTHERS: usize = 1 << 14;

/// A verdict on a device.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Standing {
    /// `device.retry`.
    pub verdict: String,
    /// 0 to 1; 0 once it is withdrawn.
    pub confidence: f64,
    /// Until when it is valid unless repeated, CLOCK_MONOTONIC in ns.
    until_ns: i64,
}

/// Counters of a device and operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Completed I/Os.
    pub ios: u64,
    /// Bytes, as /proc/diskstats counts them.
    pub bytes: f64,
    /// Time waited, s.
    pub waited_s: f64,
}

/// The recorder's own cost and losses since it began; `table` describes each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    pub unlisted_devices: usize,
    pub lost_ios: u64,
    pub unlisted_ios: u64,
    pub suppressed_alarms: u64,
    pub unjudged: u64,
    pub notifications_dropped: u64,
    pub store_bytes: u64,
    pub store_written_bytes: u64,
    pub store_waiting_bytes: u64,
    pub store_given_up: u64,
    pub store_refused: u64,
    pub store_thinned: u64,
    pub store_removed: u64,
    pub cpu_s: f64,
    pub bpf_s: f64,
    pub judge_cpu_s: f64,
    pub resident_bytes: f64,
    pub seconds: u64,
}

/// How much a device may do, as the user knows it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Limit {
    /// The device.
    pub device: String,
    /// Of bytes, else of I/Os.
    pub of_bytes: bool,
    /// So many a second.
    pub per_s: f64,
}

impl Limit {
    /// Its name in a label.
    pub(crate) fn word(&self) -> &'static str {
        if self.of_bytes { "bytes" } else { "ios" }
    }

    /// The share that a second left; 0 if it was used up.
    fn left(&self, row: &Interval) -> f64 {
        let used = if self.of_bytes { row.bytes_per_s() } else { row.ios_per_s() };
        (1.0 - used / self.per_s).clamp(0.0, 1.0)
    }
}

/// All metrics since the recorder began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// Latencies by device, operation and stage.
    pub latencies: BTreeMap<(String, Op, Stage), Histogram>,
    /// Counters by device and operation.
    pub counters: BTreeMap<(String, Op), Counters>,
    /// Counters by container or volume and operation.
    pub named: BTreeMap<(&'static str, String, Op), Counters>,
    /// I/Os in flight by device.
    pub in_flight: BTreeMap<String, u64>,
    /// The current or recent verdict on each device.
    pub verdicts: BTreeMap<String, Standing>,
    /// Incidents by verdict.
    pub incidents: BTreeMap<String, u64>,
    /// Why the store cannot be written, if it cannot.
    pub trouble: Option<String>,
    /// Limits, and the share of each that was left in each second of the last minute.
    pub limits: Vec<(Limit, VecDeque<f64>)>,
    /// Volume and mount point of each device, at the last reading.
    pub names: BTreeMap<String, [String; 2]>,
    /// Devices with their own series.
    known: BTreeSet<String>,
    /// Devices that share the name `other`.
    others: BTreeSet<String>,
    /// Metrics of the recorder itself, updated each second.
    pub own: Option<Own>,
}

impl Figures {
    fn device(&mut self, name: &str) -> String {
        if self.known.contains(name) {
            return name.to_string();
        }
        if self.known.len() < DEVICES {
            self.others.remove(name);
            self.known.insert(name.to_string());
            return name.to_string();
        }
        if self.others.len() < MOST_OTHERS {
            self.others.insert(name.to_string());
        }
        OTHER.to_string()
    }

    /// Adds I/Os of a container or volume; beyond the first 256 names they are combined as `other`.
    pub(crate) fn count_named(
        &mut self,
        (by, name, op): (&'static str, String, Op),
        ios: u64,
        ns: u64,
    ) {
        let is_known = |known: &(&str, String, Op)| known.1 == name;
        let names: BTreeSet<&String> = self.named.keys().map(|(_, name, _)| name).collect();
        let has_room = names.len() < NAMES;
        let name =
            if has_room || self.named.keys().any(is_known) { name } else { OTHER.to_string() };
        let counters = self.named.entry((by, name, op)).or_default();
        counters.ios += ios;
        counters.waited_s += ns as f64 / 1e9;
    }

    /// How many devices share the name `other`.
    pub(crate) fn unlisted(&self) -> usize {
        self.others.len()
    }

    /// Drops removed devices; the sums of `other` stay.
    pub(crate) fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        let kept = |name: &String| name == OTHER || is_there(name);
        self.known.retain(kept);
        self.others.retain(kept);
        self.latencies.retain(|(name, ..), _| kept(name));
        self.counters.retain(|(name, _), _| kept(name));
        self.in_flight.retain(|name, _| kept(name));
        self.verdicts.retain(|name, _| kept(name));
    }

    /// Adds a second.
    pub(crate) fn second(&mut self, second: &Second) {
        for (device, one) in &second.histograms {
            let Some(op) = one.op else { continue };
            let device = self.device(device);
            if one.stage == Stage::Total {
                let counters = self.counters.entry((device.clone(), op)).or_default();
                counters.ios += one.histogram.count();
                counters.waited_s += one.histogram.sum_ns.unwrap_or(0.0) / 1e9;
            }
            match self.latencies.get_mut(&(device.clone(), op, one.stage)) {
                Some(known) => {
                    known.merge(&one.histogram);
                }
                None => {
                    self.latencies.insert((device, op, one.stage), one.histogram.clone());
                }
            }
        }
        for (limit, left) in &mut self.limits {
            let rows = second.averages.iter().filter(|(device, _)| *device == limit.device);
            for (_, row) in rows {
                left.truncate(MINUTE - 1);
                left.push_front(limit.left(row));
            }
        }
        let mut in_flight: BTreeMap<String, u64> = BTreeMap::new();
        for (device, row) in &second.averages {
            // A machine has many loop devices that are never used.
            let idle = row.in_flight.unwrap_or(0) == 0
                && row.rates.iter().all(|(_, rates)| rates.ios_per_s == 0.0);
            if idle && !self.known.contains(device) {
                continue;
            }
            let device = self.device(device);
            let seconds = row.length.map_or(0.0, |length| length.ns() as f64 / 1e9);
            for (op, rates) in &row.rates {
                if let Some(bytes) = rates.bytes_per_s.filter(|bytes| *bytes > 0.0) {
                    let counters = self.counters.entry((device.clone(), *op)).or_default();
                    counters.bytes += bytes * seconds;
                }
            }
            *in_flight.entry(device).or_default() += row.in_flight.unwrap_or(0);
        }
        self.in_flight.extend(in_flight);
    }

    /// Keeps a verdict, valid until this time unless repeated.
    pub(crate) fn verdict(&mut self, brief: &FindingSummary, until_ns: i64) {
        if !brief.device.is_empty() {
            let device = self.device(&brief.device);
            let (verdict, confidence) = (brief.verdict.clone(), brief.confidence);
            self.verdicts.insert(device, Standing { verdict, confidence, until_ns });
        }
    }

    /// Verdicts that were not repeated in time become 0, and are removed some time later.
    pub(crate) fn expire(&mut self, now_ns: i64) {
        self.verdicts.retain(|_, standing| now_ns < standing.until_ns.saturating_add(FALLEN_NS));
        for standing in self.verdicts.values_mut().filter(|one| now_ns >= one.until_ns) {
            standing.confidence = 0.0;
        }
    }
}

/// Metrics that the recorder writes and the server reads.
#[derive(Clone, Default)]
pub(crate) struct SharedMetrics(Arc<Mutex<Figures>>);

impl SharedMetrics {
    /// Locks the metrics.
    pub(crate) fn figures(&self) -> MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{DeviceId, Distribution, Edges, Interval, Layer, Rates};

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn second(devices: &[String]) -> Second {
        let mut second = Second::default();
        for device in devices {
            let mut histogram = Histogram::empty(Edges::standard());
            histogram.record(1_000_000);
            let mut one = Distribution::new(DeviceId::at(0), Layer::Block, Stage::Total, histogram);
            one.op = Some(Op::Read);
            second.histograms.push((device.clone(), one));
            let mut row = Interval::new(DeviceId::at(0), Layer::Block);
            row.rates.push((Op::Read, Rates { ios_per_s: 1.0, ..Rates::default() }));
            row.in_flight = Some(1);
            second.averages.push((device.clone(), row));
        }
        second
    }

    fn brief(device: &str) -> FindingSummary {
        FindingSummary {
            verdict: "device.retry".to_string(),
            blame: "disk",
            accuses: true,
            device: device.to_string(),
            confidence: 0.99,
            explained: 1.0,
            sentence: String::new(),
            waited_per_s: None,
            who: None,
            owner: None,
        }
    }

    #[test]
    fn headroom_is_what_the_busiest_second_of_a_minute_left() {
        let limit = |of_bytes, per_s| Limit { device: "sdb".to_string(), of_bytes, per_s };
        let mut figures = Figures::default();
        for limit in [limit(false, 100.0), limit(true, 1e6)] {
            figures.limits.push((limit, VecDeque::new()));
        }
        let rated = |ios_per_s: f64| {
            let mut second = second(&["sda".to_string(), "sdb".to_string()]);
            for (_, row) in &mut second.averages {
                row.rates[0].1 =
                    Rates { ios_per_s, bytes_per_s: Some(ios_per_s * 4096.0), ..Rates::default() };
            }
            second
        };
        let metric = table::METRICS.iter().find(|one| one.name == "iowhy_headroom").unwrap();
        let served = |figures: &Figures| -> Vec<(String, f64)> {
            let number = |value| if let table::Value::Number(value) = value { value } else { -1.0 };
            metric.samples(figures).into_iter().map(|(of, at)| (of.join(" "), number(at))).collect()
        };
        assert!(served(&figures).is_empty());
        for ios in [20.0, 75.0, 30.0] {
            figures.second(&rated(ios));
        }
        let bytes = 1.0 - 75.0 * 4096.0 / 1e6;
        assert_eq!(
            served(&figures),
            [("sdb ios".to_string(), 0.25), ("sdb bytes".to_string(), bytes)]
        );
        (0..MINUTE).for_each(|_| figures.second(&rated(200.0)));
        assert_eq!(served(&figures)[0].1, 0.0);
        (0..MINUTE).for_each(|_| figures.second(&rated(0.0)));
        assert_eq!(served(&figures)[0].1, 1.0);
    }

    #[test]
    fn a_verdict_falls_when_it_is_not_given_again_and_goes_with_its_device() {
        let mut figures = Figures::default();
        let stands = |figures: &Figures| figures.verdicts.get("sda").map(|one| one.confidence);
        for now_s in 0..300 {
            if now_s % 20 == 0 && now_s < 100 {
                figures.verdict(&brief("sda"), (now_s + 120) * SECOND);
            }
            figures.expire(now_s * SECOND);
            // Given last at 80 s.
            assert_eq!(stands(&figures), Some(if now_s < 200 { 0.99 } else { 0.0 }), "{now_s}");
        }
        figures.expire(799 * SECOND);
        assert_eq!(stands(&figures), Some(0.0));
        figures.expire(800 * SECOND);
        assert_eq!(stands(&figures), None);
        figures.verdict(&brief("sda"), 1000 * SECOND);
        figures.retain(|name| name != "sda");
        assert_eq!(stands(&figures), None);
    }

    #[test]
    fn every_device_up_to_a_bound_has_figures_and_the_rest_are_counted() {
        let mut figures = Figures::default();
        let names = |count: usize| (0..count).map(|k| format!("sd{k}")).collect::<Vec<String>>();
        figures.second(&second(&names(DEVICES)));
        assert_eq!((figures.counters.len(), figures.unlisted()), (DEVICES, 0));
        for _ in 0..2 {
            figures.second(&second(&names(DEVICES + 7)));
        }
        assert_eq!((figures.counters.len(), figures.unlisted()), (DEVICES + 1, 7));
        let other = (OTHER.to_string(), Op::Read);
        assert_eq!((figures.counters[&other].ios, figures.in_flight[OTHER]), (14, 7));
        // Short-lived devices free their places for others.
        figures.retain(|name| name != "sd3");
        figures.second(&second(&["dm-9".to_string()]));
        assert_eq!(figures.counters[&("dm-9".to_string(), Op::Read)].ios, 1);
        assert_eq!(figures.counters.len(), DEVICES + 1);
    }
}
