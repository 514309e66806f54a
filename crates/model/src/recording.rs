//! Everything that was read or watched, by listing.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::{
    Cells, Device, DeviceId, DeviceTotals, Distribution, Event, Fact, Filter, Interval, Level,
    Medium, Name, Note, Sampling, SingleIos, Sink, Source, Stage, Unread,
};

mod averages;
mod budget;
mod ceilings;
mod columns;
mod pictured;

use averages::JoinedRows;
use ceilings::KeptCounts;
use columns::Columns;

/// Events kept per listing before a recording falls back to histograms and the slowest ones
/// (96 bytes each: about 390 MB).
pub const EVENTS_KEPT: usize = 4_000_000;
/// Events kept of a listing for a verdict (96 bytes each: about 50 MB): a replay of 20 000 is as
/// good as one of all, the rest is for patterns over time.
pub const EVENTS_JUDGED: usize = 1 << 19;
/// Unread sections kept.
const UNREAD_KEPT: usize = 1000;
/// The loss reported for latencies without a histogram.
const UNPLACED: &str = "latencies of devices beyond the first sixteen thousand series";
/// The loss reported for events that fit into no histogram.
const UNMEASURED: &str = "events without a latency, dropped to stay within the memory for events";

/// Everything from one source.
#[derive(Clone, PartialEq, Debug)]
pub struct Listing {
    /// The source.
    pub source: Source,
    /// Single I/Os, in order of completion.
    pub events: Vec<Event>,
    /// Averages.
    pub intervals: Vec<Interval>,
    /// Histograms from the source; if single I/Os were only counted, also those of its events.
    pub distributions: Vec<Distribution>,
    /// Histograms of events that are no longer kept individually, per device and operation.
    pub rest: Vec<Distribution>,
    /// Counts of all events for pictures ([`Recording::keep_cells`]), if only some events are kept.
    pub cells: Option<Box<Cells>>,
    /// Facts.
    pub facts: Vec<Fact>,
    /// Events folded into histograms because there were more than were kept.
    pub folded: u64,
    /// The averages of the folded events, one for each device.
    pub counted: Vec<DeviceTotals>,
    /// Histograms that had to be left out because they could not be filtered ([`Tally::only`]).
    ///
    /// [`Tally::only`]: crate::Tally::only
    pub left_out: u64,
    /// Whether the remaining events are one whole interval of each device, rather than the slowest
    /// of the capture ([`Recording::for_a_verdict`]): how many there were when the interval with
    /// the most time waited was chosen.
    pub stretch: Option<usize>,
}

/// All listings of one run, with the devices and strings they name.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The listings, in the order they began.
    pub listings: Vec<Listing>,
    /// Lines of the inputs that belonged to no listing (prose, blank lines), by input.
    pub prose: Vec<(String, u64)>,
    /// Sections of the inputs that look like listings but were not read, the first of each input.
    pub unread: Vec<Unread>,
    devices: Vec<Device>,
    device_ids: HashMap<String, DeviceId>,
    names: Arc<Names>,
    events_kept: usize,
    past: PastBudget,
    /// Once a listing is past its budget, events that pass this filter are counted in cells.
    cells: Option<Filter>,
    /// The stage that is counted over time; `None`: the longest.
    pub(crate) over_time: Option<Stage>,
    /// Counts of the listings that have not ended.
    columns: BTreeMap<usize, Columns>,
    current: usize,
    /// Totals of the listings that ended.
    ended: KeptCounts,
    /// State of merging rows of the open listing, once it began.
    thinned: Option<JoinedRows>,
}

/// Which single events of a listing remain past its budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PastBudget {
    /// The slowest.
    Slowest,
    /// The interval with the most time waited.
    Stretch,
    /// None: all are counted.
    Nothing,
}

/// The strings of a recording, shared with its parts.
#[derive(Clone, Debug, Default)]
struct Names {
    texts: Vec<String>,
    ids: HashMap<String, Name>,
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
            unread: Vec::new(),
            devices: Vec::new(),
            device_ids: HashMap::new(),
            names: Arc::default(),
            events_kept: events,
            past: PastBudget::Slowest,
            cells: None,
            over_time: None,
            columns: BTreeMap::new(),
            current: 0,
            ended: KeptCounts::default(),
            thinned: None,
        }
    }

    /// An empty recording of any length in the memory of [`EVENTS_JUDGED`] per listing: past it,
    /// the interval with the most time waited keeps its events, the rest becomes histograms.
    pub fn for_a_verdict() -> Self {
        let mut recording = Recording::new();
        recording.keep_stretches(EVENTS_JUDGED);
        recording
    }

    /// From now on keeps intervals of up to this many events, as
    /// [`for_a_verdict`](Self::for_a_verdict).
    pub fn keep_stretches(&mut self, events: usize) {
        (self.events_kept, self.past) = (events.max(2), PastBudget::Stretch);
    }

    /// From now on also counts all events that pass the filter in cells, once a listing is past its
    /// budget: pictures show all I/Os, a verdict only some.
    pub fn keep_cells(&mut self, filter: Filter) {
        self.cells = Some(filter);
    }

    /// An empty recording that keeps at most this many single events of a listing, and counts all
    /// of them past that.
    pub(crate) fn counting(events: usize) -> Recording {
        let mut recording = Recording::with_budget(events.saturating_add(1));
        (recording.past, recording.cells) = (PastBudget::Nothing, Some(Filter::default()));
        recording
    }

    /// The devices named so far, indexed by [`DeviceId`].
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
        &self.names.texts[name.0.get() as usize - 1]
    }

    /// All interned strings, indexed by [`Name`].
    pub fn names(&self) -> &[String] {
        &self.names.texts
    }

    /// Sets the medium of a device.
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

    /// The highest level of detail of all listings; `None` if there is none.
    pub fn level(&self) -> Option<Level> {
        self.listings.iter().map(|listing| listing.source.level).max()
    }

    /// Events, intervals and distributions over all listings.
    pub fn records(&self) -> u64 {
        self.listings.iter().map(|listing| listing.source.records).sum()
    }

    /// Whether anything was lost or could not be read.
    pub fn is_incomplete(&self) -> bool {
        let damaged = |listing: &Listing| listing.source.skipped > 0 || listing.source.lost() > 0;
        !self.unread.is_empty() || self.listings.iter().any(damaged)
    }

    /// Whether a verdict on it rests on only some of its single I/Os.
    pub fn is_sampled(&self) -> bool {
        self.listings.iter().any(|listing| listing.folded > 0 || listing.is_thinned())
    }

    /// Counts an event if its listing is only counted by now; returns whether it need not be kept.
    fn count(&mut self, event: &Event) -> bool {
        let Some(filter) = &self.cells else { return false };
        let only = self.past == PastBudget::Nothing;
        if !self.columns.contains_key(&self.current) {
            let room = self.budget().saturating_sub(1);
            let Some(listing) = self.listings.get_mut(self.current) else { return false };
            if listing.events.len() < room {
                return false;
            }
            let so_far = listing.events.iter().filter(|event| filter.event(event));
            let columns = Columns::of(so_far, (!only).then(SingleIos::default), self.over_time);
            self.columns.insert(self.current, columns);
            if only {
                listing.events = Vec::new();
            }
        }
        if let Some(columns) = self.columns.get_mut(&self.current).filter(|_| filter.event(event)) {
            columns.count(event);
        }
        if only {
            self.source().records += 1;
        }
        only
    }

    /// Stores the counts of a listing.
    fn resolve(&mut self, place: usize) {
        let Some(columns) = self.columns.remove(&place) else { return };
        let Some(listing) = self.listings.get_mut(place) else { return };
        let (unplaced, mut columns) = (columns.unplaced, columns);
        match columns.singles.take() {
            Some(singles) => {
                let distributions = columns.distributions();
                listing.cells = Some(Box::new(Cells { distributions, singles }));
            }
            None => {
                listing.folded += columns.events;
                // Earlier parts were taken out and are gone.
                listing.counted = std::mem::take(&mut columns.counted);
                listing.distributions.extend(columns.distributions());
            }
        }
        let open = std::mem::replace(&mut self.current, place);
        self.lost(UNPLACED, unplaced);
        self.current = open;
    }

    /// Stores the counts of all listings.
    pub(crate) fn resolve_all(&mut self) {
        while let Some(place) = self.columns.keys().next().copied() {
            self.resolve(place);
        }
    }

    /// The same recording with other listings at the same indexes.
    pub(crate) fn with_listings(&self, listings: Vec<Listing>) -> Recording {
        Recording {
            listings,
            prose: self.prose.clone(),
            unread: self.unread.clone(),
            devices: self.devices.clone(),
            device_ids: self.device_ids.clone(),
            names: self.names.clone(),
            events_kept: self.events_kept,
            past: self.past,
            cells: self.cells.clone(),
            over_time: self.over_time,
            columns: BTreeMap::new(),
            current: self.current,
            ended: KeptCounts::default(),
            thinned: None,
        }
    }

    /// The part with some listings and devices. Indexes stay the same; what is left out is empty
    /// and has no name.
    pub fn narrowed(
        &self,
        listing: impl Fn(usize) -> bool,
        device: impl Fn(DeviceId) -> bool,
    ) -> Recording {
        let part = |(place, whole): (usize, &Listing)| match listing(place) {
            true => whole.of_devices(&device),
            false => Listing::of(Source::new("", "", Level::A)),
        };
        let named = |(place, known): (usize, &Device)| match device(DeviceId::at(place as u32)) {
            true => known.clone(),
            false => Device { name: String::new(), medium: None },
        };
        let ids = self.device_ids.iter().filter(|(_, id)| device(**id));
        let mut narrowed = self.with_listings(self.listings.iter().enumerate().map(part).collect());
        narrowed.devices = self.devices.iter().enumerate().map(named).collect();
        narrowed.device_ids = ids.map(|(name, id)| (name.clone(), *id)).collect();
        narrowed
    }

    fn open(&mut self) -> &mut Listing {
        if self.listings.is_empty() {
            // A reader that emits before `begin` is a bug in iowhy; nothing is thrown away.
            self.begin(Source::new("unknown", "-", Level::A));
        }
        &mut self.listings[self.current]
    }

    /// Takes out what was recorded so far; the same listings continue, empty. For views that show
    /// one interval after another.
    pub fn take(&mut self) -> Recording {
        let listings = self.listings.iter_mut().map(Listing::take).collect();
        (self.ended, self.thinned) = (KeptCounts::default(), None);
        self.columns.clear();
        self.with_listings(listings)
    }
}

impl Listing {
    /// An empty listing.
    pub fn of(source: Source) -> Listing {
        Listing {
            source,
            events: Vec::new(),
            intervals: Vec::new(),
            distributions: Vec::new(),
            rest: Vec::new(),
            cells: None,
            facts: Vec::new(),
            folded: 0,
            counted: Vec::new(),
            left_out: 0,
            stretch: None,
        }
    }

    /// Its records about these devices, and those without a device.
    fn of_devices(&self, device: impl Fn(DeviceId) -> bool) -> Listing {
        let of = |id: &DeviceId| device(*id);
        let (events, facts) = (self.events.iter(), self.facts.iter());
        let (intervals, distributions) = (self.intervals.iter(), self.distributions.iter());
        Listing {
            source: self.source.clone(),
            events: events.filter(|one| of(&one.device)).copied().collect(),
            intervals: intervals.filter(|one| of(&one.device)).cloned().collect(),
            distributions: distributions.filter(|one| of(&one.device)).cloned().collect(),
            rest: self.rest.iter().filter(|one| of(&one.device)).cloned().collect(),
            cells: None,
            facts: facts.filter(|one| one.device.as_ref().is_none_or(of)).cloned().collect(),
            folded: self.folded,
            counted: self.counted.iter().filter(|one| of(&one.device)).cloned().collect(),
            left_out: self.left_out,
            stretch: self.stretch,
        }
    }

    /// Whether the events are a complete interval, so that they can be measured: all of them, or
    /// one whole interval.
    pub fn is_in_sequence(&self) -> bool {
        !self.is_thinned() && (self.folded == 0 || self.stretch.is_some())
    }

    /// Whether it has I/Os, averages or histograms, and not only facts.
    pub fn is_measured(&self) -> bool {
        let kept = !self.events.is_empty() || !self.intervals.is_empty();
        kept || !self.distributions.is_empty() || self.folded > 0
    }

    /// Whether it is sampled: slow I/Os and a sample of the others are events, its histograms count
    /// the rest.
    pub fn is_thinned(&self) -> bool {
        self.source.sampling == Sampling::Thinned
    }

    /// Takes its contents; it continues empty, with the same source and device names.
    fn take(&mut self) -> Listing {
        let mut source = self.source.clone();
        (source.records, source.skipped) = (0, 0);
        source.losses.clear();
        source.notes.clear();
        let names = self.facts.iter().filter(|fact| fact.is_name()).cloned().collect();
        std::mem::replace(self, Listing { facts: names, ..Listing::of(source) })
    }
}

impl Sink for Recording {
    fn begin(&mut self, source: Source) -> usize {
        self.thinned = None;
        if self.listings.len() <= ceilings::LISTINGS {
            self.listings.push(Listing::of(source));
        }
        self.current = self.listings.len() - 1;
        self.current
    }

    fn resume(&mut self, listing: usize) {
        let listing = listing.min(self.listings.len().saturating_sub(1));
        if listing != self.current {
            (self.current, self.thinned) = (listing, None);
        }
    }

    fn source(&mut self) -> &mut Source {
        &mut self.open().source
    }

    fn device(&mut self, name: &str) -> DeviceId {
        if let Some(id) = self.device_ids.get(name) {
            return *id;
        }
        if self.devices.len() > ceilings::DEVICES {
            return ceilings::FURTHER_DEVICES;
        }
        let id = DeviceId(self.devices.len() as u32);
        let further = id == ceilings::FURTHER_DEVICES;
        let kept = if further { ceilings::FURTHER } else { name };
        self.devices.push(Device { name: kept.to_string(), medium: None });
        if !further {
            self.device_ids.insert(name.to_string(), id);
        }
        id
    }

    fn set_medium(&mut self, device: DeviceId, medium: Medium) {
        Recording::set_medium(self, device, medium);
    }

    fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.ids.get(text) {
            return *name;
        }
        let further = self.names.texts.len() >= ceilings::NAMES;
        if further && !self.listings.is_empty() {
            self.lost(ceilings::NAMES_LOST, 1);
        }
        let text = if further { ceilings::FURTHER } else { text };
        let names = Arc::make_mut(&mut self.names);
        if let Some(name) = names.ids.get(text) {
            return *name;
        }
        names.texts.push(text.to_string());
        let name = Name(NonZeroU32::MIN.saturating_add(names.texts.len() as u32 - 1));
        names.ids.insert(text.to_string(), name);
        name
    }

    fn event(&mut self, event: Event) {
        if self.count(&event) || !self.has_room(Some(event.device), ceilings::EVENTS) {
            return;
        }
        let (budget, stretches) = (self.budget(), self.past == PastBudget::Stretch);
        let listing = self.open();
        listing.source.records += 1;
        listing.events.push(event);
        if listing.events.len() >= budget {
            let unmeasured = if stretches { listing.fold_a_half() } else { listing.fold_events() };
            self.lost(UNMEASURED, unmeasured);
        }
    }

    /// An impossible one is counted as a skipped line of its device.
    fn interval(&mut self, mut interval: Interval) {
        if let Some(fault) = interval.fault() {
            let line = self.source().lines.map_or(0, |(_, last)| last);
            self.skipped_of(interval.device);
            let text = self.device_of(interval.device).name.clone();
            return self.skip(Note { line, text, reason: fault.to_string() });
        }
        if !self.has_room(Some(interval.device), ceilings::ROWS) {
            return;
        }
        interval.rates.shrink_to_fit();
        let current = self.current;
        let Some(listing) = self.listings.get_mut(current) else { return };
        listing.source.records += 1;
        if let Some(thinned) = &mut self.thinned
            && thinned.take(&mut listing.intervals, &interval)
        {
            return;
        }
        listing.intervals.push(interval);
        let limit = self.thinned.as_ref().map_or(ceilings::ROWS_OF_ONE, JoinedRows::limit);
        if listing.intervals.len() >= limit {
            let thinned = self.thinned.get_or_insert_with(JoinedRows::default);
            if thinned.thin(&mut listing.intervals) {
                self.say_once(ceilings::ROWS_JOINED);
            }
        }
    }

    fn distribution(&mut self, distribution: Distribution) {
        if !self.has_room(Some(distribution.device), ceilings::HISTOGRAMS) {
            return;
        }
        let listing = self.open();
        listing.source.records += 1;
        listing.distributions.push(distribution);
    }

    fn unread(&mut self, unread: Unread) {
        if self.unread.len() < UNREAD_KEPT {
            self.unread.push(unread);
        }
    }

    fn fact(&mut self, fact: Fact) {
        if !self.has_room(fact.device, ceilings::FACTS) {
            return;
        }
        let listing = self.open();
        listing.source.records += 1;
        listing.facts.push(fact);
    }

    /// Sorts the events by completion. The last listing is dropped if it is empty: it was not a
    /// real heading. A live one stays, because silence is a result there.
    fn end(&mut self) {
        if self.current == ceilings::LISTINGS {
            return;
        }
        let Some(listing) = self.listings.get_mut(self.current) else { return };
        let source = &listing.source;
        let idle = source.records == 0 && source.skipped == 0;
        if idle && source.sampling == Sampling::Reported && self.current + 1 == self.listings.len()
        {
            self.listings.pop();
            self.current = self.listings.len().saturating_sub(1);
            return;
        }
        if self.listings[self.current].stretch.is_some() {
            let unmeasured = self.listings[self.current].fold_the_rest();
            self.lost(UNMEASURED, unmeasured);
            let listing = &self.listings[self.current];
            let (n, total) = (listing.events.len(), listing.events.len() as u64 + listing.folded);
            let reason = format!(
                "sampled: {n} of {total} I/Os are judged individually, from the interval with the \
                 most time waited; the others were counted in histograms"
            );
            self.note(Note { line: 0, text: String::new(), reason });
        }
        self.resolve(self.current);
        let listing = &mut self.listings[self.current];
        listing.events.sort_by_key(|event| event.completed.or(event.issued).or(event.queued));
        self.ended.add(listing);
    }
}

#[cfg(test)]
mod tests;
