//! The sink of the collectors: single I/Os and averages go into the ring, histograms and averages
//! into the current second.

use std::collections::BTreeMap;
use std::sync::Arc;

use iowhy_capture::Writer;
use iowhy_model::{
    DeviceId, Distribution, Event, Fact, Interval, Level, Medium, Name, Op, Sampling, Sink, Source,
};

use super::ring::Ring;

/// Names of processes and control groups kept; further ones share one name, so that short-lived
/// ones do not fill the memory.
const NAMES: usize = 1 << 16;
const OTHER: &str = "(other)";

/// The records of one second.
#[derive(Default)]
pub(crate) struct Second {
    /// Histograms by device.
    pub histograms: Vec<(String, Distribution)>,
    /// The sequence numbers of the disks with I/Os, if known: another disk may get the name of a
    /// removed one.
    pub disks: BTreeMap<String, u64>,
    /// Averages by device.
    pub averages: Vec<(String, Interval)>,
    /// Failed I/Os by device: how many, and the last errno.
    pub errors: BTreeMap<String, (u64, u16)>,
    /// Facts of this moment, by device.
    pub facts: Vec<(String, Fact)>,
    /// I/Os and their summed wait in ns, by device, control group and operation, if requested.
    pub by_group: BTreeMap<(String, String, Op), (u64, u64)>,
    /// Single I/Os.
    pub events: u64,
    /// I/Os lost by the tracer.
    pub lost: u64,
}

/// How the recorder treats a listing of a collector.
enum Role {
    /// Histograms: counted, not kept individually.
    Histograms(Box<Source>),
    /// Everything else: into the ring, under this number.
    Ring(usize),
}

/// A sink for the collectors.
pub(crate) struct Intake {
    ring: Writer<Ring>,
    roles: Vec<Role>,
    current: usize,
    devices: Vec<String>,
    names: usize,
    /// The names of control groups and processes, if I/Os are counted by group.
    texts: Option<Vec<String>>,
    second: Second,
    lost_before: u64,
    /// The listing of sampled events, and the time of its last event, ns.
    thinned: Option<usize>,
    thinned_at_ns: Option<i64>,
    /// Facts of running collectors, by their number in the ring.
    facts: Vec<(u64, Fact)>,
}

impl Intake {
    /// Emits into this ring; `stream` distinguishes this recording from others.
    pub(crate) fn new(ring: Ring, stream: u64) -> Intake {
        Intake {
            ring: Writer::new(ring, stream),
            roles: Vec::new(),
            current: 0,
            devices: Vec::new(),
            names: 0,
            texts: None,
            second: Second::default(),
            lost_before: 0,
            thinned: None,
            thinned_at_ns: None,
            facts: Vec::new(),
        }
    }

    /// Counts I/Os by control group, too.
    pub(crate) fn by_group(self, wanted: bool) -> Intake {
        Intake { texts: wanted.then(Vec::new), ..self }
    }

    /// Counts an I/O for the group that is charged, as many times as it represents.
    fn count(&mut self, event: &Event) {
        let Some(texts) = &self.texts else { return };
        let (Some(device), Some((_, wait))) =
            (self.devices.get(event.device.index()), event.longest())
        else {
            return;
        };
        let group = event.cgroup.and_then(|name| texts.get(name.index())).cloned();
        let key = (device.clone(), group.unwrap_or_default(), event.op);
        let weight = event.weight.map_or(1, |weight| u64::from(weight.get()));
        let (ios, waited) = self.second.by_group.entry(key).or_default();
        *ios += weight;
        *waited = waited.saturating_add((wait.ns().max(0) as u64).saturating_mul(weight));
    }

    /// The ring.
    pub(crate) fn ring(&mut self) -> &mut Ring {
        self.ring.out()
    }

    /// Single I/Os since the recorder began.
    pub(crate) fn events(&self) -> u64 {
        self.ring.events()
    }

    /// Initial facts of the collectors, by listing of the ring.
    pub(crate) fn facts(&self) -> &[(u64, Fact)] {
        &self.facts
    }

    /// Ends the second: its I/Os are a block of the ring.
    pub(crate) fn take(&mut self, now_ns: i64) -> std::io::Result<Second> {
        self.ring.out().now_ns = now_ns;
        self.ring.flush()?;
        // A file begins with its earlier sources, except those without blocks in the ring.
        let length_ns = self.ring.out().length_ns();
        let lately = self.thinned_at_ns.is_some_and(|at| now_ns - at < length_ns);
        let silent = self.thinned.filter(|_| !lately);
        let reported = self.ring.sources().cloned().enumerate();
        let reported = reported.filter(|(place, _)| silent != Some(*place));
        let reported: Vec<_> = reported.map(|(place, source)| (place as u64, source)).collect();
        self.ring.out().before = Arc::new(reported);
        let in_ring: u64 = self.ring.sources().map(Source::lost).sum();
        let counted = self.roles.iter().filter_map(|role| match role {
            Role::Histograms(source) => Some(source.lost()),
            Role::Ring(_) => None,
        });
        let lost = in_ring + counted.sum::<u64>();
        self.second.lost = lost.saturating_sub(self.lost_before);
        self.lost_before = lost;
        Ok(std::mem::take(&mut self.second))
    }

    fn name_of(&self, device: DeviceId) -> Option<&String> {
        self.devices.get(device.index())
    }
}

impl Sink for Intake {
    fn begin(&mut self, source: Source) -> usize {
        let counted = source.format == "block-trace"
            && source.level == Level::B
            && source.sampling != Sampling::Thinned;
        let role = if counted {
            Role::Histograms(Box::new(source))
        } else {
            let thinned = source.sampling == Sampling::Thinned;
            let here = self.ring.begin(source);
            self.thinned = self.thinned.or(thinned.then_some(here));
            Role::Ring(here)
        };
        self.roles.push(role);
        self.current = self.roles.len() - 1;
        self.current
    }

    fn resume(&mut self, listing: usize) {
        self.current = listing.min(self.roles.len().saturating_sub(1));
        if let Some(Role::Ring(here)) = self.roles.get(self.current) {
            self.ring.resume(*here);
        }
    }

    fn source(&mut self) -> &mut Source {
        match self.roles.get_mut(self.current) {
            Some(Role::Histograms(source)) => source,
            _ => self.ring.source(),
        }
    }

    fn device(&mut self, name: &str) -> DeviceId {
        let id = self.ring.device(name);
        if id.index() == self.devices.len() {
            self.devices.push(name.to_string());
        }
        id
    }

    fn set_medium(&mut self, device: DeviceId, medium: Medium) {
        self.ring.set_medium(device, medium);
    }

    fn name(&mut self, text: &str) -> Name {
        let text = if self.names >= NAMES { OTHER } else { text };
        let name = self.ring.name(text);
        if let Some(texts) = self.texts.as_mut().filter(|texts| texts.len() == name.index()) {
            texts.push(text.to_string());
        }
        self.names = self.names.max(name.index() + 1);
        name
    }

    fn event(&mut self, event: Event) {
        self.second.events += 1;
        self.count(&event);
        if let Some(errno) = event.error
            && let Some(name) = self.name_of(event.device).cloned()
        {
            let known = self.second.errors.entry(name).or_default();
            *known = (known.0 + 1, errno);
        }
        self.ring.event(event);
    }

    fn interval(&mut self, interval: Interval) {
        if let Some(name) = self.name_of(interval.device) {
            self.second.averages.push((name.clone(), interval.clone()));
        }
        self.ring.interval(interval);
    }

    fn distribution(&mut self, distribution: Distribution) {
        if let Some(Role::Ring(here)) = self.roles.get(self.current) {
            // Each second with sampled events ends with the number of unreported ones.
            if self.thinned == Some(*here) {
                self.thinned_at_ns = Some(self.ring.out().now_ns);
            }
            return self.ring.distribution(distribution);
        }
        if let Some(name) = self.name_of(distribution.device) {
            self.second.histograms.push((name.clone(), distribution));
        }
    }

    fn fact(&mut self, fact: Fact) {
        match self.roles.get(self.current) {
            // Both listings of the tracer have the clock's facts; facts of devices are separate.
            Some(Role::Ring(here)) if fact.device.is_none() && fact.at.is_none() => {
                self.facts.push((*here as u64, fact.clone()));
                self.ring.fact(fact);
            }
            Some(Role::Ring(_)) => {
                let name = fact.device.and_then(|id| self.name_of(id)).cloned();
                if fact.at.is_some() {
                    self.second.facts.push((name.unwrap_or_default(), fact.clone()));
                }
                self.ring.fact(fact);
            }
            _ => {}
        }
    }

    fn end(&mut self) {}
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use iowhy_model::{Layer, Time};

    use super::*;

    #[test]
    fn ios_are_counted_by_group_only_on_request_and_with_their_weight() {
        let ios = |wanted: bool| {
            let mut intake = Intake::new(Ring::new(1_000_000_000, 1 << 20), 7).by_group(wanted);
            intake.begin(Source::new("block-trace", "live", Level::D));
            let device = intake.device("sdb");
            let (_, web) = (intake.name("nginx"), intake.name("/web"));
            for (group, weight) in [(Some(web), None), (Some(web), NonZeroU8::new(9)), (None, None)]
            {
                let mut event = Event::new(device, Op::Read, Layer::Block);
                event.queued = Some(Time::from_ns(1_000));
                event.issued = event.queued;
                event.completed = Some(Time::from_ns(3_000));
                (event.cgroup, event.weight) = (group, weight);
                intake.event(event);
            }
            intake.take(1).unwrap().by_group
        };
        let key = |group: &str| ("sdb".to_string(), group.to_string(), Op::Read);
        assert_eq!(ios(true), BTreeMap::from([(key(""), (1, 2_000)), (key("/web"), (10, 20_000))]));
        assert!(ios(false).is_empty());
    }
}
