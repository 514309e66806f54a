//! Everything that was read or watched, by listing.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::num::NonZeroU32;

use crate::{
    Device, DeviceId, Distribution, Edges, Event, Fact, Histogram, Interval, Level, Medium, Name,
    Sampling, Sink, Source,
};

/// Events kept per listing before a recording falls back to histograms and the slowest ones
/// (96 bytes each: about 390 MB).
pub const EVENTS_KEPT: usize = 4_000_000;
/// Slowest events kept besides, once a listing is past its budget.
const SLOWEST_KEPT: usize = 10_000;
/// What is said of events that fit into no histogram.
const UNMEASURED: &str = "events without a latency, let go to keep within the memory for events";

/// What one source gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Listing {
    /// Who spoke.
    pub source: Source,
    /// Single I/Os, in order of completion.
    pub events: Vec<Event>,
    /// Averages.
    pub intervals: Vec<Interval>,
    /// Histograms.
    pub distributions: Vec<Distribution>,
    /// Facts that are no measurements.
    pub facts: Vec<Fact>,
    /// Events folded into `distributions` because there were more than [`EVENTS_KEPT`].
    pub folded: u64,
}

/// All listings of one run, with the devices and strings they name.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The listings, in the order they began.
    pub listings: Vec<Listing>,
    /// Lines of the inputs that belonged to no listing (prose, blank lines), by input.
    pub prose: Vec<(String, u64)>,
    devices: Vec<Device>,
    device_ids: HashMap<String, DeviceId>,
    names: Vec<String>,
    name_ids: HashMap<String, Name>,
    events_kept: usize,
    current: usize,
}

impl Default for Recording {
    fn default() -> Self {
        Recording::with_budget(EVENTS_KEPT)
    }
}

impl Recording {
    /// An empty recording.
    pub fn new() -> Self {
        Recording::default()
    }

    /// An empty recording that keeps at most `events` single events per listing.
    pub fn with_budget(events: usize) -> Self {
        Recording {
            listings: Vec::new(),
            prose: Vec::new(),
            devices: Vec::new(),
            device_ids: HashMap::new(),
            names: Vec::new(),
            name_ids: HashMap::new(),
            events_kept: events,
            current: 0,
        }
    }

    /// The devices named so far; a [`DeviceId`]'s index is its place here.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// A device.
    pub fn device_of(&self, id: DeviceId) -> &Device {
        &self.devices[id.index()]
    }

    /// The device of a given name, if it was named.
    pub fn find_device(&self, name: &str) -> Option<DeviceId> {
        self.device_ids.get(name).copied()
    }

    /// An interned string.
    pub fn text(&self, name: Name) -> &str {
        &self.names[name.0.get() as usize - 1]
    }

    /// All interned strings; a [`Name`]'s index is its place here.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// States what a device is made of.
    pub fn set_medium(&mut self, id: DeviceId, medium: Medium) {
        self.devices[id.index()].medium = Some(medium);
    }

    /// Facts of all listings about a device (or, with `None`, about no device in particular).
    pub fn facts_of(&self, device: Option<DeviceId>) -> impl Iterator<Item = &Fact> {
        self.listings
            .iter()
            .flat_map(|listing| &listing.facts)
            .filter(move |fact| fact.device == device)
    }

    /// The richest level of all listings; `None` if there is none.
    pub fn level(&self) -> Option<Level> {
        self.listings.iter().map(|listing| listing.source.level).max()
    }

    /// Events, intervals and distributions over all listings.
    pub fn records(&self) -> u64 {
        self.listings.iter().map(|listing| listing.source.records).sum()
    }

    /// Whether anything was lost or could not be read.
    pub fn is_incomplete(&self) -> bool {
        self.listings.iter().any(|listing| listing.source.skipped > 0 || listing.source.lost() > 0)
    }

    fn open(&mut self) -> &mut Listing {
        if self.listings.is_empty() {
            // A reader that speaks before it begins is a bug of ours; nothing is thrown away.
            self.begin(Source::new("unknown", "-", Level::A));
        }
        &mut self.listings[self.current]
    }

    /// Takes out what was recorded so far; the same listings go on, empty. For views that show
    /// one stretch of time after another.
    pub fn take(&mut self) -> Recording {
        let listings = self.listings.iter_mut().map(Listing::take).collect();
        Recording {
            listings,
            prose: self.prose.clone(),
            devices: self.devices.clone(),
            device_ids: self.device_ids.clone(),
            names: self.names.clone(),
            name_ids: self.name_ids.clone(),
            events_kept: self.events_kept,
            current: self.current,
        }
    }
}

impl Listing {
    /// A listing with nothing in it yet.
    pub fn of(source: Source) -> Listing {
        Listing {
            source,
            events: Vec::new(),
            intervals: Vec::new(),
            distributions: Vec::new(),
            facts: Vec::new(),
            folded: 0,
        }
    }

    /// What it holds; it goes on empty, of the same source.
    fn take(&mut self) -> Listing {
        let mut source = self.source.clone();
        (source.records, source.skipped) = (0, 0);
        source.losses.clear();
        source.notes.clear();
        std::mem::replace(self, Listing::of(source))
    }

    /// Moves the events into histograms, per device and operation, and keeps the slowest. Returns
    /// how many were let go because they have no latency to count.
    fn fold_events(&mut self) -> u64 {
        let edges = Edges::standard();
        let mut unmeasured = 0;
        // `None` sorts below any latency: events without one leave first.
        let slowest = |event: &Event| Reverse(event.longest().map(|(_, latency)| latency));
        let kept = SLOWEST_KEPT.min(self.events.len());
        if kept < self.events.len() {
            self.events.select_nth_unstable_by_key(kept, slowest);
        }
        // Drained in place, so that no second copy is held while they are counted.
        for event in self.events.drain(kept..) {
            let Some((stage, latency)) = event.longest() else {
                unmeasured += 1;
                continue;
            };
            self.folded += 1;
            let place = self.distributions.iter().position(|known| {
                known.device == event.device
                    && known.op == Some(event.op)
                    && known.stage == stage
                    && known.label.is_none()
                    && *known.histogram.edges() == edges
            });
            let place = place.unwrap_or_else(|| {
                let empty = Histogram::empty(edges.clone());
                let mut new = Distribution::new(event.device, event.layer, stage, empty);
                new.op = Some(event.op);
                self.distributions.push(new);
                self.distributions.len() - 1
            });
            self.distributions[place].histogram.record(latency.ns() as u64);
        }
        unmeasured
    }
}

impl Sink for Recording {
    fn begin(&mut self, source: Source) -> usize {
        self.listings.push(Listing::of(source));
        self.current = self.listings.len() - 1;
        self.current
    }

    fn resume(&mut self, listing: usize) {
        self.current = listing.min(self.listings.len().saturating_sub(1));
    }

    fn source(&mut self) -> &mut Source {
        &mut self.open().source
    }

    fn device(&mut self, name: &str) -> DeviceId {
        if let Some(id) = self.device_ids.get(name) {
            return *id;
        }
        let id = DeviceId(self.devices.len() as u32);
        self.devices.push(Device { name: name.to_string(), medium: None });
        self.device_ids.insert(name.to_string(), id);
        id
    }

    fn set_medium(&mut self, device: DeviceId, medium: Medium) {
        Recording::set_medium(self, device, medium);
    }

    fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.name_ids.get(text) {
            return *name;
        }
        self.names.push(text.to_string());
        let name = Name(NonZeroU32::MIN.saturating_add(self.names.len() as u32 - 1));
        self.name_ids.insert(text.to_string(), name);
        name
    }

    fn event(&mut self, event: Event) {
        let budget = self.events_kept;
        let listing = self.open();
        listing.source.records += 1;
        listing.events.push(event);
        if listing.events.len() >= budget {
            let unmeasured = listing.fold_events();
            self.lost(UNMEASURED, unmeasured);
        }
    }

    fn interval(&mut self, interval: Interval) {
        let listing = self.open();
        listing.source.records += 1;
        listing.intervals.push(interval);
    }

    fn distribution(&mut self, distribution: Distribution) {
        let listing = self.open();
        listing.source.records += 1;
        listing.distributions.push(distribution);
    }

    fn fact(&mut self, fact: Fact) {
        let listing = self.open();
        listing.source.records += 1;
        listing.facts.push(fact);
    }

    /// Sorts the events by completion. The last listing is dropped if nothing came of it: its
    /// heading was none. One that was watched live stays, for silence is news there.
    fn end(&mut self) {
        let Some(listing) = self.listings.get_mut(self.current) else { return };
        let source = &listing.source;
        let idle = source.records == 0 && source.skipped == 0;
        if idle && source.sampling == Sampling::Reported && self.current + 1 == self.listings.len()
        {
            self.listings.pop();
            self.current = self.listings.len().saturating_sub(1);
            return;
        }
        let listing = &mut self.listings[self.current];
        listing.events.sort_by_key(|event| event.completed.or(event.issued).or(event.queued));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, Op, Time};

    #[test]
    fn names_and_devices_are_kept_once() {
        let mut recording = Recording::new();
        let (sda, sdb) = (recording.device("sda"), recording.device("sdb"));
        assert_eq!(recording.device("sda"), sda);
        assert_ne!(sda, sdb);
        let dd = recording.name("dd");
        recording.name("kworker/u72:1");
        assert_eq!(recording.name("dd"), dd);
        assert_eq!(recording.text(dd), "dd");
        assert_eq!(recording.device_of(sdb).name, "sdb");
    }

    #[test]
    fn past_its_budget_a_listing_keeps_counts_and_the_slowest() {
        let mut recording = Recording::with_budget(50_000);
        recording.begin(Source::new("biosnoop", "-", Level::C));
        let sda = recording.device("sda");
        let total = 120_000;
        for k in 0..total {
            let mut event = Event::new(sda, Op::Read, Layer::Block);
            event.issued = Some(Time::from_ns(k * 1000));
            event.completed = Some(Time::from_ns(k * 1000 + 100_000 + k));
            recording.event(event);
        }
        recording.end();
        let listing = &recording.listings[0];
        let counted: u64 = listing.distributions.iter().map(|d| d.histogram.count()).sum();
        assert_eq!(counted, listing.folded);
        assert_eq!(listing.folded + listing.events.len() as u64, total as u64);
        assert_eq!(listing.source.records, total as u64);
        let slowest = listing.events.iter().filter_map(|e| e.longest()).map(|(_, l)| l.ns()).max();
        assert_eq!(slowest, Some(100_000 + total - 1));
    }
    #[test]
    fn events_without_a_latency_leave_first_and_are_counted_as_lost() {
        let mut recording = Recording::with_budget(30_000);
        recording.begin(Source::new("perf-script", "-", Level::C));
        let sda = recording.device("sda");
        for k in 0..30_000 {
            let mut event = Event::new(sda, Op::Read, Layer::Block);
            event.completed = Some(Time::from_ns(k * 1000));
            event.issued = (k % 3 == 0).then(|| Time::from_ns(k * 1000 - 500));
            recording.event(event);
        }
        let listing = &recording.listings[0];
        assert!(listing.events.iter().all(|event| event.longest().is_some()));
        assert_eq!((listing.events.len(), listing.folded), (10_000, 0));
        assert_eq!(listing.source.lost(), 20_000);
        assert!(recording.is_incomplete());
    }

    #[test]
    fn what_is_taken_is_moved_and_the_listing_goes_on() {
        let mut recording = Recording::new();
        recording.begin(Source::new("block-trace", "live", Level::D));
        let sda = recording.device("sda");
        recording.event(Event::new(sda, Op::Read, Layer::Block));
        recording.lost("events dropped by a full ring", 2);
        let place = recording.listings[0].events.as_ptr();
        let taken = recording.take();
        assert_eq!(taken.listings[0].events.as_ptr(), place);
        assert_eq!((taken.listings[0].source.records, taken.listings[0].source.lost()), (1, 2));
        assert_eq!(taken.find_device("sda"), Some(sda));
        let rest = &recording.listings[0];
        assert_eq!((rest.events.len(), rest.source.records, rest.source.lost()), (0, 0, 0));
        recording.event(Event::new(sda, Op::Write, Layer::Block));
        assert_eq!(recording.listings[0].events.len(), 1);
    }
}
