//! A sink that writes what is emitted into it as blocks.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::block::{Block, Section};
use crate::{BLOCK_EVENTS, End, Header, records};
use iowhy_model::{
    Device, DeviceId, Distribution, Event, Fact, Filter, Interval, Level, Medium, Name, Sampling,
    Sink, Source,
};

/// Approximate bytes of records other than events at which a block ends: far below its limit.
const OTHER_BYTES: usize = 1 << 20;
/// Facts repeated at the start of every file; a machine has some 20 per device and 5 per partition.
const FACTS_REPEATED: usize = 2000;

/// Writes a recording block by block, with at most one block in memory.
///
/// A sink cannot return an error, so the first one is kept: see [`failed`](Writer::failed). From
/// then on events are only counted.
pub struct Writer<W: Write> {
    out: W,
    stream: u64,
    sequence: u64,
    events_written: u64,
    /// Events in the block that is being filled.
    pending: usize,
    /// Approximate bytes of other records in it.
    others: usize,
    /// Events that could not be written.
    unwritten: u64,
    error: Option<io::Error>,
    filter: Filter,
    devices: Vec<Device>,
    device_ids: HashMap<String, DeviceId>,
    names: Vec<String>,
    name_ids: HashMap<String, Name>,
    sections: Vec<Section>,
    current: usize,
    /// The first facts, by section: every file starts with them.
    facts: Vec<(usize, Fact)>,
}

impl<W: Write> Writer<W> {
    /// A writer for the recording with this number, which distinguishes recordings in one file.
    pub fn new(out: W, stream: u64) -> Writer<W> {
        Writer {
            out,
            stream,
            sequence: 0,
            events_written: 0,
            pending: 0,
            others: 0,
            unwritten: 0,
            error: None,
            filter: Filter::default(),
            devices: Vec::new(),
            device_ids: HashMap::new(),
            names: Vec::new(),
            name_ids: HashMap::new(),
            sections: Vec::new(),
            current: 0,
            facts: Vec::new(),
        }
    }

    /// Keeps only records that pass. Averages have neither operations nor single I/Os.
    pub fn only(&mut self, filter: Filter) {
        self.filter = filter;
    }

    /// Its output.
    pub fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Events written or waiting to be.
    pub fn events(&self) -> u64 {
        self.events_written + self.pending as u64
    }

    /// Events that could not be written.
    pub fn unwritten(&self) -> u64 {
        self.unwritten
    }

    /// The sources so far, with their losses.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.sections.iter().map(|section| &section.source)
    }

    /// Why writing stopped, if it did.
    pub fn failed(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Writes the records since the last block, if there are any.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.pending + self.others > 0 {
            self.block(End::More);
        }
        self.answer()
    }

    /// Ends this file; the recording continues in `out`, and the previous output is returned.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn go_on_in(&mut self, out: W) -> io::Result<W> {
        self.block(End::Elsewhere);
        self.answer()?;
        let before = std::mem::replace(&mut self.out, out);
        for (section, fact) in &self.facts {
            if let Some(section) = self.sections.get_mut(*section) {
                section.facts.push(fact.clone());
            }
        }
        self.write_block(End::More, true);
        self.answer()?;
        Ok(before)
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(&mut self) -> io::Result<()> {
        self.block(End::Over);
        self.answer()
    }

    /// After an error: tries once more, and counts what was lost meanwhile. I/Os that still wait
    /// for their block are lost as well, because they may take as much room as a whole one; the
    /// last facts of each device are written.
    ///
    /// # Errors
    /// If the output still refuses.
    pub fn finish_after_error(&mut self, why: &str) -> io::Result<()> {
        self.error = None;
        self.sections.iter_mut().for_each(|section| section.events.clear());
        let waiting = std::mem::take(&mut self.pending) as u64;
        let lost = std::mem::take(&mut self.unwritten) + waiting;
        if let Some(place) = self.sections.iter().position(|one| one.source.level >= Level::C) {
            self.current = place;
        }
        self.lost(why, lost);
        self.unwritten = lost;
        self.finish()
    }

    fn answer(&self) -> io::Result<()> {
        let again = |error: &io::Error| match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        self.error.as_ref().map_or(Ok(()), |error| Err(again(error)))
    }

    fn open(&mut self) -> &mut Section {
        if self.sections.is_empty() {
            // A reader that emits before `begin` is a bug in iowhy; nothing is thrown away.
            self.begin(Source::new("unknown", "-", Level::A));
        }
        &mut self.sections[self.current]
    }

    fn other(&mut self, bytes: usize) {
        self.others += bytes;
        if self.others >= OTHER_BYTES {
            self.block(End::More);
        }
    }

    fn block(&mut self, end: End) {
        self.write_block(end, false);
    }

    fn write_block(&mut self, end: End, repeats: bool) {
        let events = std::mem::take(&mut self.pending);
        self.others = 0;
        if self.error.is_none() {
            let block = take(&mut self.sections, &self.devices, &self.names);
            let content = block.to_bytes();
            let version = block.version();
            self.reuse(block);
            let header = Header {
                version,
                end,
                repeats,
                bytes: content.len() as u32,
                stream: self.stream,
                sequence: self.sequence,
                events_before: self.events_written,
                events: events as u32,
                checksum: crc32fast::hash(&content),
            };
            let mut bytes = header.to_bytes();
            bytes.extend(content);
            match self.out.write_all(&bytes).and_then(|()| self.out.flush()) {
                Ok(()) => {
                    self.sequence += 1;
                    self.events_written += events as u64;
                    return;
                }
                Err(error) => self.error = Some(error),
            }
        }
        self.sections.iter_mut().for_each(Section::clear);
        self.unwritten += events as u64;
    }

    /// Reuses the memory of a written block.
    fn reuse(&mut self, block: Block) {
        for mut written in block.sections {
            let section = self.sections.iter_mut().find(|one| one.listing == written.listing);
            if let Some(section) = section.filter(|section| section.events.is_empty()) {
                written.events.clear();
                section.events = written.events;
            }
        }
    }
}

/// Everything since the last block, with devices and names renumbered for this one.
fn take(sections: &mut [Section], all_devices: &[Device], all_names: &[String]) -> Block {
    let mut block = Block::default();
    let mut devices = Renumbering::new(all_devices.len());
    let mut names = Renumbering::new(all_names.len());
    for section in sections {
        for event in &mut section.events {
            event.device = DeviceId::at(devices.place(event.device.index()));
            event.rename(|name| Some(Name::at(names.place(name.index()))));
        }
        for interval in &mut section.intervals {
            interval.device = DeviceId::at(devices.place(interval.device.index()));
        }
        for one in &mut section.distributions {
            one.device = DeviceId::at(devices.place(one.device.index()));
            one.label = one.label.map(|name| Name::at(names.place(name.index())));
        }
        for fact in &mut section.facts {
            fact.device = fact.device.map(|id| DeviceId::at(devices.place(id.index())));
        }
        // A source is written only with records of it.
        if section.source.sampling == Sampling::Thinned && section.is_empty() {
            continue;
        }
        let rest = Section::of(section.listing, section.source.clone());
        block.sections.push(std::mem::replace(section, rest));
    }
    let devices = devices.used.iter().filter_map(|place| all_devices.get(*place));
    block.devices = devices.cloned().collect();
    let names = names.used.iter().filter_map(|place| all_names.get(*place));
    block.names = names.cloned().collect();
    block
}

impl Section {
    fn of(listing: u64, source: Source) -> Section {
        let (events, intervals, distributions, facts) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Section { listing, source, events, intervals, distributions, facts }
    }

    fn is_empty(&self) -> bool {
        self.events.is_empty()
            && self.intervals.is_empty()
            && self.distributions.is_empty()
            && self.facts.is_empty()
    }

    fn clear(&mut self) {
        self.events.clear();
        self.intervals.clear();
        self.distributions.clear();
        self.facts.clear();
    }
}

/// New numbers for the used entries of a long list.
struct Renumbering {
    numbers: Vec<u32>,
    used: Vec<usize>,
}

impl Renumbering {
    fn new(all: usize) -> Renumbering {
        Renumbering { numbers: vec![u32::MAX; all], used: Vec::new() }
    }

    fn place(&mut self, old: usize) -> u32 {
        // An unknown number is a bug in iowhy: it becomes one that the reader refuses.
        let Some(place) = self.numbers.get_mut(old) else { return u32::MAX - 1 };
        if *place == u32::MAX {
            *place = self.used.len() as u32;
            self.used.push(old);
        }
        *place
    }
}

impl<W: Write> Sink for Writer<W> {
    fn begin(&mut self, source: Source) -> usize {
        self.sections.push(Section::of(self.sections.len() as u64, source));
        self.current = self.sections.len() - 1;
        self.current
    }

    fn resume(&mut self, listing: usize) {
        self.current = listing.min(self.sections.len().saturating_sub(1));
    }

    fn source(&mut self) -> &mut Source {
        &mut self.open().source
    }

    fn device(&mut self, name: &str) -> DeviceId {
        if let Some(id) = self.device_ids.get(name) {
            return *id;
        }
        let id = DeviceId::at(self.devices.len() as u32);
        self.devices.push(Device { name: name.to_string(), medium: None });
        self.device_ids.insert(name.to_string(), id);
        id
    }

    fn set_medium(&mut self, device: DeviceId, medium: Medium) {
        if let Some(device) = self.devices.get_mut(device.index()) {
            device.medium = Some(medium);
        }
    }

    fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.name_ids.get(text) {
            return *name;
        }
        let name = Name::at(self.names.len() as u32);
        self.names.push(text.to_string());
        self.name_ids.insert(text.to_string(), name);
        name
    }

    fn event(&mut self, event: Event) {
        if !self.filter.event(&event) {
            return;
        }
        let section = self.open();
        section.source.records += 1;
        section.events.push(event);
        self.pending += 1;
        if self.pending >= BLOCK_EVENTS {
            self.block(End::More);
        }
    }

    fn interval(&mut self, interval: Interval) {
        let narrowed = self.filter.per_event() || !self.filter.ops.is_empty();
        if narrowed || !self.filter.device(interval.device) {
            return;
        }
        let section = self.open();
        section.source.records += 1;
        section.intervals.push(interval);
        self.other(size_of::<Interval>());
    }

    fn distribution(&mut self, distribution: Distribution) {
        if self.filter.distribution(&distribution) != Some(true) {
            return;
        }
        let words = 2 * distribution.histogram.edges().as_slice().len();
        let section = self.open();
        section.source.records += 1;
        section.distributions.push(distribution);
        self.other(words * size_of::<u64>());
    }

    fn fact(&mut self, fact: Fact) {
        let bytes =
            fact.key.name().len() + records::value_bytes(&fact.value) + fact.read_from.len();
        if self.facts.len() < FACTS_REPEATED {
            self.facts.push((self.current, fact.clone()));
        }
        let section = self.open();
        section.source.records += 1;
        section.facts.push(fact);
        self.other(bytes + 1);
    }

    fn end(&mut self) {}
}
