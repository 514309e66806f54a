//! Seconds in the form of the store: a stream of blocks for each segment, which begins with its
//! clock and all current facts.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_capture::Writer;
use iowhy_model::{
    Distribution, Fact, FactKey, FactValue, Interval, Level, Medium, Nanos, Recording, Sampling,
    Sink, Source, Time, key, typed,
};

use super::clock::Clocks;
use super::intake::Second;

/// Idle seconds are recorded this often, as a sign that the recorder was watching, s.
const HEARTBEAT: u32 = 60;
/// Facts that change constantly; those around an incident are in its capture.
const RESTLESS: [&str; 7] =
    ["vm.", "vmstat.", "trace.", "cgroup.io.stat.", "clock.", "kernel.log.", "writeback."];

/// The current stream.
pub(crate) struct Cells {
    writer: Writer<Vec<u8>>,
    histograms: usize,
    counters: usize,
    around: usize,
    boot: String,
    /// Facts already written, by device and key.
    stated: BTreeMap<(String, String), Fact>,
    media: BTreeMap<String, Medium>,
    /// Active devices: facts of others are written once they are active.
    active: BTreeSet<String>,
    silent: u32,
}

impl Cells {
    /// A stream that begins now.
    pub(crate) fn new(boot: &str, now: Clocks) -> Cells {
        let mut cells = Cells {
            writer: Writer::new(Vec::new(), 0),
            histograms: 0,
            counters: 0,
            around: 0,
            boot: boot.to_string(),
            stated: BTreeMap::new(),
            media: BTreeMap::new(),
            active: BTreeSet::new(),
            silent: HEARTBEAT,
        };
        cells.begin(now);
        cells
    }

    /// Begins another stream, for a new segment, with all current facts.
    pub(crate) fn begin(&mut self, now: Clocks) {
        self.writer = Writer::new(Vec::new(), now.wall as u64);
        let source = |format: &str, level, sampling| Source {
            sampling,
            resolution: Some(Nanos(if level == Level::A { 1_000_000 } else { 1 })),
            ..Source::new(format, "live", level)
        };
        self.histograms = self.writer.begin(source("block-trace", Level::B, Sampling::Traced));
        let offset = Nanos(now.offset());
        self.writer.fact(Fact::of(None, typed::CLOCK_OFFSET, offset, "clock_gettime"));
        let boot = FactValue::Text(self.boot.clone());
        let path = "/proc/sys/kernel/random/boot_id";
        self.writer.fact(Fact::of(None, typed::RECORDER.of("boot"), boot, path));
        crate::collectors::state_host(&mut self.writer);
        self.counters = self.writer.begin(source("diskstats", Level::A, Sampling::Sampled));
        self.around = self.writer.begin(source("host-facts", Level::E, Sampling::Sampled));
        for ((device, _), fact) in self.stated.clone() {
            if device.is_empty() || self.active.contains(&device) {
                self.write_fact(&device, fact);
            }
        }
        self.silent = HEARTBEAT;
    }

    /// Marks a device as active: from now on its facts are written.
    fn activate(&mut self, device: &str) {
        if !self.active.insert(device.to_string()) {
            return;
        }
        let first = (device.to_string(), String::new());
        let known = self.stated.range(first..).take_while(|((of, _), _)| of == device);
        let known: Vec<Fact> = known.map(|(_, fact)| fact.clone()).collect();
        known.into_iter().for_each(|fact| self.write_fact(device, fact));
        let is_part =
            |fact: &Fact| fact.key == key::PARTITION_DISK && fact.value.text() == Some(device);
        let parts = self.stated.iter().filter(|(_, fact)| is_part(fact));
        let parts: Vec<String> = parts.map(|((part, _), _)| part.clone()).collect();
        parts.iter().for_each(|part| self.activate(part));
    }

    /// A fact of the recorder with the current time: a mark, a clock step.
    pub(crate) fn add_fact(&mut self, member: &'static str, value: FactValue, now: Clocks) {
        let fact = Fact::of(None, typed::RECORDER.of(member), value, "iowhy watch");
        self.write_fact("", fact.at(Time::from_ns(now.monotonic)));
    }

    /// A fact with its time, even if it repeats: a kernel message.
    pub(crate) fn message(&mut self, device: &str, fact: Fact) {
        self.write_fact(device, fact);
    }

    /// The facts of a snapshot that are new.
    pub(crate) fn snapshot(&mut self, of: &Recording, now: Clocks) {
        for device in of.devices() {
            if let Some(medium) = device.medium {
                self.media.insert(device.name.clone(), medium);
            }
        }
        for fact in of.listings.iter().flat_map(|listing| &listing.facts) {
            let device = fact.device.map_or(String::new(), |id| of.device_of(id).name.clone());
            self.fact(&device, fact.clone(), now);
        }
    }

    /// A fact, if it is new.
    pub(crate) fn fact(&mut self, device: &str, mut fact: Fact, now: Clocks) {
        let name = fact.key.name().to_string();
        if RESTLESS.iter().any(|restless| name.starts_with(restless)) || is_total(&fact.key) {
            return;
        }
        fact.value = coarse(fact.value);
        fact.at = None;
        if let Some(disk) = fact.value.text().filter(|_| fact.key == key::PARTITION_DISK)
            && self.active.contains(disk)
        {
            self.active.insert(device.to_string());
        }
        // A device is mounted in several places.
        let is_mount = fact.key == key::MOUNT_POINT;
        let name = if is_mount { format!("{name} {}", fact.value) } else { name };
        let known = (device.to_string(), name);
        if self.stated.get(&known).is_some_and(|known| known.value == fact.value) {
            return;
        }
        let changed = self.stated.insert(known, fact.clone()).is_some();
        if !device.is_empty() && !self.active.contains(device) {
            return;
        }
        // At the beginning it needs no time; later it holds from now on.
        let fact = if changed { fact.at(Time::from_ns(now.monotonic)) } else { fact };
        self.write_fact(device, fact);
    }

    /// A second's blocks; `None` if there is nothing to write.
    pub(crate) fn second(&mut self, second: &Second, now: Clocks) -> Option<Vec<u8>> {
        for (name, one) in &second.histograms {
            self.activate(name);
            let device = self.device(name);
            self.writer.resume(self.histograms);
            self.silent = HEARTBEAT;
            self.writer.distribution(Distribution { device, ..one.clone() });
        }
        for (name, row) in &second.averages {
            let idle = row.rates.iter().all(|(_, rates)| rates.ios_per_s == 0.0);
            if idle && row.in_flight.unwrap_or(0) == 0 {
                continue;
            }
            self.activate(name);
            let device = self.device(name);
            self.writer.resume(self.counters);
            self.silent = HEARTBEAT;
            self.writer.interval(Interval { device, ..row.clone() });
        }
        for (device, fact) in &second.facts {
            self.fact(device, fact.clone(), now);
        }
        if second.lost > 0 {
            self.add_fact("lost", FactValue::Count(second.lost), now);
        }
        self.silent += 1;
        if self.silent > HEARTBEAT {
            self.add_fact("watching", FactValue::Flag(true), now);
            self.silent = 0;
        }
        // Writing into a buffer does not fail.
        let _ = self.writer.flush();
        let blocks = std::mem::take(self.writer.out());
        (!blocks.is_empty()).then_some(blocks)
    }

    /// Ends the stream; returns its last block, which marks the end of recording or the switch to
    /// another stream.
    pub(crate) fn end(&mut self, now: Clocks) -> Vec<u8> {
        self.add_fact("ended", FactValue::Flag(true), now);
        let _ = self.writer.finish();
        std::mem::take(self.writer.out())
    }

    fn device(&mut self, name: &str) -> iowhy_model::DeviceId {
        let id = self.writer.device(name);
        if let Some(medium) = self.media.get(name) {
            self.writer.set_medium(id, *medium);
        }
        id
    }

    fn write_fact(&mut self, device: &str, mut fact: Fact) {
        fact.device = (!device.is_empty()).then(|| self.device(device));
        self.writer.resume(self.around);
        self.writer.fact(fact);
    }
}

/// Sums since boot, and means over more than the reading interval.
fn is_total(key: &FactKey) -> bool {
    key.member_of(key::PRESSURE_TOTAL).is_some()
        || key.member_of(key::PRESSURE_AVG60).is_some()
        || key.member_of(key::PRESSURE_AVG300).is_some()
}

/// A value without the digits that change with every reading.
fn coarse(value: FactValue) -> FactValue {
    match value {
        FactValue::Share(share) => FactValue::Share((share * 20.0).round() / 20.0),
        FactValue::Celsius(degrees) => FactValue::Celsius((degrees / 2.0).round() * 2.0),
        other => other,
    }
}
