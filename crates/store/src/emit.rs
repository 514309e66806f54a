//! Emits an interval of a store as listings: one for each source and clock, over all segments.

use std::collections::HashMap;

use iowhy_capture::{Block, Header, Section};
use iowhy_model::{Device, DeviceId, Fact, FactValue, Level, Sink, Source, Time, key};

/// An interval, ns since 1970; both ends belong to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Its beginning.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
}

impl Span {
    /// An interval without bounds.
    pub const ALL: Span = Span { from_ns: i64::MIN, to_ns: i64::MAX };

    /// Whether an interval overlaps it.
    pub fn touches(self, from_ns: i64, to_ns: i64) -> bool {
        from_ns <= self.to_ns && to_ns >= self.from_ns
    }
}

/// What was emitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EmitCounts {
    /// Histograms and averages within the interval.
    pub cells: u64,
    /// Facts.
    pub facts: u64,
}

/// Two clocks closer than this are the same: the recorder was restarted, ns.
const SAME_CLOCK_NS: u64 = 500_000_000;

/// The clock of a stream: its boot, and the offset to wall-clock time.
#[derive(Clone, PartialEq, Debug)]
struct Epoch {
    boot: String,
    offset_ns: i64,
}

/// The key of a listing: epoch and source.
type Kind = (usize, String, Level);

/// Walks the segments once for each listing, because a sink that adds up takes one listing after
/// the other.
pub struct SegmentPour<'a> {
    span: Span,
    input: String,
    sink: &'a mut dyn Sink,
    epochs: Vec<Epoch>,
    kinds: Vec<Kind>,
    /// Listings that were emitted, and the current one.
    emitted_kinds: Vec<bool>,
    pass: Option<usize>,
    /// Whether its listing has begun, and the facts from before the interval.
    begun: bool,
    held: Vec<(Fact, Option<Device>)>,
    /// Whether facts alone are worth a listing.
    facts_alone: bool,
    /// Facts already in that listing: device and key.
    stated: HashMap<(String, String), FactValue>,
    /// The epoch of each stream.
    streams: HashMap<u64, usize>,
    emitted: EmitCounts,
}

impl<'a> SegmentPour<'a> {
    /// Emits the records in the interval; `input` names the store.
    pub fn new(span: Span, input: &str, sink: &'a mut dyn Sink) -> SegmentPour<'a> {
        SegmentPour {
            span,
            input: input.to_string(),
            sink,
            epochs: Vec::new(),
            kinds: Vec::new(),
            emitted_kinds: Vec::new(),
            pass: None,
            begun: false,
            held: Vec::new(),
            facts_alone: false,
            stated: HashMap::new(),
            streams: HashMap::new(),
            emitted: EmitCounts::default(),
        }
    }

    /// Also emits facts if no record lies within the interval.
    pub fn with_facts_alone(mut self) -> SegmentPour<'a> {
        self.facts_alone = true;
        self
    }

    /// One segment's blocks; it began at this time, s since 1970.
    pub fn segment(&mut self, began_s: i64, blocks: impl Iterator<Item = (Header, Block)>) {
        for (header, block) in blocks {
            let epoch = self.epoch(began_s, &header, &block);
            for section in block.sections {
                self.section(epoch, section, &block.devices);
            }
        }
    }

    /// Ends a walk over all segments; returns whether another one is due.
    pub fn next_listing(&mut self) -> bool {
        if std::mem::take(&mut self.begun) {
            self.sink.end();
        }
        self.stated.clear();
        self.held.clear();
        if let Some(pass) = self.pass {
            self.emitted_kinds[pass] = true;
        }
        // Facts about the machine come last: by then it is known whether there was I/O.
        let around =
            |place: &usize| self.kinds.get(*place).is_some_and(|(_, _, level)| *level == Level::E);
        let left = (0..self.kinds.len()).filter(|place| !self.emitted_kinds[*place]);
        self.pass = left.min_by_key(|place| (around(place), *place));
        self.pass.is_some()
    }

    /// What was emitted.
    pub fn emitted(&self) -> EmitCounts {
        self.emitted
    }

    fn epoch(&mut self, began_s: i64, header: &Header, block: &Block) -> usize {
        let facts = || block.sections.iter().flat_map(|section| &section.facts);
        let stated = facts().find(|fact| fact.key == key::CLOCK_OFFSET);
        let stated = stated.and_then(|fact| Some(fact.value.duration()?.ns()));
        if let (None, Some(known)) = (stated, self.streams.get(&header.stream)) {
            return *known;
        }
        // The block with the time is damaged: the segment's name is nearly as exact.
        let offset_ns = stated.unwrap_or_else(|| {
            let first = first_time(block).map_or(0, Time::ns);
            began_s.saturating_mul(crate::SECOND_NS).saturating_sub(first)
        });
        let boot = facts().find(|fact| fact.key == key::RECORDER.member("boot"));
        let boot = boot.and_then(|fact| fact.value.text()).unwrap_or_default().to_string();
        let same = |epoch: &Epoch| {
            epoch.boot == boot && epoch.offset_ns.abs_diff(offset_ns) < SAME_CLOCK_NS
        };
        let place = self.epochs.iter().position(same).unwrap_or_else(|| {
            self.epochs.push(Epoch { boot, offset_ns });
            self.epochs.len() - 1
        });
        self.streams.insert(header.stream, place);
        place
    }

    fn section(&mut self, epoch: usize, section: Section, devices: &[Device]) {
        let kind = (epoch, section.source.format.clone(), section.source.level);
        let place = self.kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
            self.kinds.push(kind);
            self.emitted_kinds.push(false);
            self.kinds.len() - 1
        });
        if self.pass.is_none() && section.source.level != Level::E {
            self.pass = Some(place);
        }
        if self.pass != Some(place) {
            return;
        }
        let Some(epoch) = self.epochs.get(epoch) else { return };
        let (span, offset) = (self.span, epoch.offset_ns);
        let inside = |start: Option<Time>, length_ns: i64| {
            start.is_some_and(|start| {
                let from = start.ns().saturating_add(offset);
                // A record that ends where the interval begins is not part of it.
                span.touches(from, from.saturating_add(length_ns.saturating_sub(1).max(0)))
            })
        };
        let length = |length: Option<iowhy_model::Nanos>| length.map_or(0, |length| length.ns());
        let (mut source, input) = (section.source, self.input.clone());
        source.input.clone_from(&input);
        (source.records, source.watched) = (0, None);
        (source.losses, source.notes) = (Vec::new(), Vec::new());
        let clock = FactValue::Duration(iowhy_model::Nanos(offset));
        let clock = Fact::new(None, key::CLOCK_OFFSET, clock, input.as_str());
        let beginning = (source, clock);
        if self.facts_alone || beginning.0.level == Level::E && self.emitted.cells > 0 {
            self.begin(&beginning);
        }
        for fact in section.facts {
            let timed = fact.at.is_some();
            if timed && !inside(fact.at, 0) || fact.key == key::CLOCK_OFFSET {
                continue;
            }
            let of = fact.device.and_then(|id| devices.get(id.index())).cloned();
            if !timed {
                let name = of.as_ref().map_or(String::new(), |device| device.name.clone());
                let known = (name, fact.key.name().to_string());
                if self.stated.get(&known) == Some(&fact.value) {
                    continue;
                }
                self.stated.insert(known, fact.value.clone());
            }
            // A sign of life contains no measurement.
            if timed && fact.key.member_of(key::RECORDER).is_none() {
                self.begin(&beginning);
            }
            if self.begun {
                self.fact(fact, of);
            } else {
                self.held.push((fact, of));
            }
        }
        for mut one in section.intervals {
            let Some(of) = devices.get(one.device.index()) else { continue };
            if inside(one.start, length(one.length)) {
                self.begin(&beginning);
                one.device = self.device(of);
                self.emitted.cells += 1;
                self.sink.interval(one);
            }
        }
        for mut one in section.distributions {
            let Some(of) = devices.get(one.device.index()) else { continue };
            if inside(one.start, length(one.length)) {
                self.begin(&beginning);
                (one.device, one.label) = (self.device(of), None);
                self.emitted.cells += 1;
                self.sink.distribution(one);
            }
        }
    }

    /// Begins the listing, unless it has begun, with the earlier facts.
    fn begin(&mut self, (source, clock): &(Source, Fact)) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        self.sink.begin(source.clone());
        self.sink.fact(clock.clone());
        for (fact, of) in std::mem::take(&mut self.held) {
            self.fact(fact, of);
        }
    }

    fn fact(&mut self, mut fact: Fact, of: Option<Device>) {
        if fact.key == key::RECORDER.member("lost")
            && let FactValue::Count(count) = fact.value
        {
            self.sink.lost("I/Os lost by the tracer", count);
        }
        if fact.key == key::RECORDER.member("unwritten")
            && let FactValue::Count(count) = fact.value
        {
            self.sink.lost("seconds that could not be written by the recorder", count);
        }
        fact.device = of.map(|device| self.device(&device));
        self.emitted.facts += 1;
        self.sink.fact(fact);
    }

    fn device(&mut self, of: &Device) -> DeviceId {
        let here = self.sink.device(&of.name);
        if let Some(medium) = of.medium {
            self.sink.set_medium(here, medium);
        }
        here
    }
}

pub(crate) fn first_time(block: &Block) -> Option<Time> {
    let sections = || block.sections.iter();
    let averages = sections().flat_map(|section| &section.intervals).filter_map(|one| one.start);
    let histograms =
        sections().flat_map(|section| &section.distributions).filter_map(|one| one.start);
    averages.chain(histograms).min()
}
