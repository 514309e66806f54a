//! Latencies grouped by the user's keys, from histograms and single I/Os.

use std::collections::BTreeMap;
use std::time::Duration;

use iowhy_model::{
    DeviceId, Distribution, Edges, Event, Filter, Flags, Histogram, Layer, Loss, Name, Nanos, Op,
    Recording, Sink, Stage, Tally, Time, numbers,
};

use crate::event_names::{EventNames, NameKey};

/// A key for grouping latencies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    /// Nothing: all together.
    None,
    /// The device.
    Device,
    /// The operation.
    Op,
    /// Operation and flags, as the kernel's letters.
    Flags,
    /// The size, by powers of two.
    Size,
    /// The name of the process that sent it.
    Process,
    /// The charged control group.
    Cgroup,
    /// A name: of a mount point, a volume, a unit, a container, a pod, a file, a CPU, a queue.
    Named(NameKey),
}

/// The keys by name.
const KEYS: [(&str, Key); 7] = [
    ("none", Key::None),
    ("device", Key::Device),
    ("op", Key::Op),
    ("flags", Key::Flags),
    ("size", Key::Size),
    ("process", Key::Process),
    ("cgroup", Key::Cgroup),
];

/// The key of a name.
pub(crate) fn key(text: &str) -> Result<Key, String> {
    let named = NameKey::ALL.map(|(name, key)| (name, Key::Named(key)));
    let all = || KEYS.into_iter().chain(named);
    let names = || all().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    let found = all().find(|(name, _)| *name == text);
    found.map(|(_, key)| key).ok_or_else(|| format!("use {}", names()))
}

impl Key {
    /// Whether an I/O has it.
    pub(crate) fn is_in(self, event: &Event) -> bool {
        match self {
            Key::Process => event.comm.is_some(),
            Key::Cgroup => event.cgroup.is_some(),
            Key::Named(key) => key.is_in(event),
            Key::Size => event.bytes.is_some(),
            Key::None | Key::Device | Key::Op | Key::Flags => true,
        }
    }

    /// Whether it follows from the control group.
    pub(crate) fn needs_cgroup(self) -> bool {
        match self {
            Key::Cgroup => true,
            Key::Named(key) => key.is_of_cgroup(),
            _ => false,
        }
    }

    /// Whether it is the file.
    pub(crate) fn needs_files(self) -> bool {
        self == Key::Named(NameKey::File)
    }

    /// Whether it is a CPU or a queue.
    pub(crate) fn needs_places(self) -> bool {
        matches!(self, Key::Named(key) if key.is_of_path())
    }

    /// Whether only single I/Os have it.
    pub(crate) fn needs_events(self) -> bool {
        !matches!(self, Key::None | Key::Device | Key::Op)
    }
}

/// One of the groups: `None` is all together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Group {
    device: Option<DeviceId>,
    op: Option<Op>,
    /// The flags in the form of [`rwbs`](Flags::rwbs), as an index into `texts`; size class; names.
    flags: Option<usize>,
    size: Option<u32>,
    process: Option<Name>,
    cgroup: Option<Name>,
    /// The texts of all names together, as an index into `named`.
    named: Option<usize>,
    layer: Layer,
    stage: Stage,
}

/// The groups and what was counted into them.
#[derive(Debug)]
pub(crate) struct Groups {
    keys: Vec<Key>,
    counted: BTreeMap<Group, Histogram>,
    texts: Vec<(Op, Flags)>,
    /// The names, once one was looked up, and the texts of those seen.
    names: Option<EventNames>,
    named: Vec<Vec<usize>>,
    losses: Vec<Loss>,
    /// First and last time of each device.
    stretches: BTreeMap<DeviceId, (Option<Time>, Option<Time>)>,
    /// The time watched, if known: longer than from the first I/O to the last.
    watched: Option<Nanos>,
}

impl Groups {
    /// Empty groups by these keys; by device and operation if there are none.
    pub(crate) fn new(keys: &[Key]) -> Groups {
        let keys = if keys.is_empty() { vec![Key::Device, Key::Op] } else { keys.to_vec() };
        let (counted, stretches) = (BTreeMap::new(), BTreeMap::new());
        Groups {
            keys,
            counted,
            texts: Vec::new(),
            names: None,
            named: Vec::new(),
            losses: Vec::new(),
            stretches,
            watched: None,
        }
    }

    /// Clears all counts.
    pub(crate) fn clear(&mut self) {
        *self = Groups::new(&self.keys);
    }

    /// Sets the time watched.
    pub(crate) fn watched(&mut self, length: Duration) {
        self.watched = i64::try_from(length.as_nanos()).ok().map(Nanos);
    }

    /// Counts the I/Os of a recording, and removes them.
    pub(crate) fn take(&mut self, part: &mut Recording) {
        for place in 0..part.listings.len() {
            let listing = part.listings.get_mut(place);
            for event in listing.map(|one| std::mem::take(&mut one.events)).unwrap_or_default() {
                self.count(&event, part);
            }
        }
        for listing in &mut part.listings {
            let rest = std::mem::take(&mut listing.rest);
            for known in std::mem::take(&mut listing.distributions).into_iter().chain(rest) {
                let until = known.start.zip(known.length).map(|(start, length)| start + length);
                self.seen(known.device, known.start, until);
                let group = self.group(known.device, known.op, known.layer, known.stage);
                let empty = || Histogram::empty(known.histogram.edges().clone());
                self.counted.entry(group).or_insert_with(empty).merge(&known.histogram);
            }
            for loss in std::mem::take(&mut listing.source.losses) {
                match self.losses.iter_mut().find(|known| known.what == loss.what) {
                    Some(known) => known.count += loss.count,
                    None => self.losses.push(loss),
                }
            }
        }
    }

    /// Keeps the devices that pass, merged unless these keys distinguish them.
    pub(crate) fn narrow(&mut self, filter: &Filter, keys: &[Key]) {
        let apart = keys.is_empty() || keys.contains(&Key::Device);
        let passes = |device: &DeviceId| filter.device(*device);
        self.stretches.retain(|device, _| passes(device));
        for (group, histogram) in std::mem::take(&mut self.counted) {
            if !group.device.as_ref().is_none_or(passes) {
                continue;
            }
            let group = Group { device: group.device.filter(|_| apart), ..group };
            let empty = || Histogram::empty(histogram.edges().clone());
            self.counted.entry(group).or_insert_with(empty).merge(&histogram);
        }
    }

    fn seen(&mut self, device: DeviceId, from: Option<Time>, to: Option<Time>) {
        let seen = self.stretches.entry(device).or_default();
        *seen = ([seen.0, from].into_iter().flatten().min(), seen.1.max(to));
    }

    /// Writes the groups into the first listing of an otherwise empty recording.
    pub(crate) fn write_into(&self, recording: &mut Recording) {
        let all = recording.device("all devices");
        let start = self.stretches.values().filter_map(|(start, _)| *start).min();
        let end = self.stretches.values().filter_map(|(_, end)| *end).max();
        let mut found = Vec::new();
        for (group, histogram) in &self.counted {
            let device = group.device.unwrap_or(all);
            let mut known = Distribution::new(device, group.layer, group.stage, histogram.clone());
            known.op = group.op;
            known.label = self.label(group, recording).map(|label| recording.name(&label));
            known.start = start;
            known.length = self.watched.or(start.zip(end).map(|(start, end)| end - start));
            found.push(known);
        }
        let Some(listing) = recording.listings.first_mut() else { return };
        listing.distributions = found;
        listing.source.losses = self.losses.clone();
    }

    /// A line for each group: I/Os, least, mean and greatest latency of the longest stage known.
    pub(crate) fn lines(&self, recording: &Recording) -> Vec<String> {
        let name = |id: DeviceId| recording.devices().get(id.index()).map_or("?", |d| &d.name);
        let longest = |group: &Group| {
            let total = Group { stage: Stage::Total, ..*group };
            group.stage == Stage::Total
                || group.stage == Stage::Device && !self.counted.contains_key(&total)
        };
        let shown = self.counted.iter().filter(|(group, _)| longest(group));
        let ms = |ns: Option<f64>| ns.map_or("-".to_string(), |ns| format!("{:.3}", ns / 1e6));
        shown
            .map(|(group, histogram)| {
                format!(
                    "{:<10} {:<8} {:>9} {:>10} {:>10} {:>10}",
                    group.device.map_or("all", name),
                    group.op.map_or("all", Op::name),
                    histogram.count(),
                    ms(histogram.min_ns.map(|ns| ns as f64)),
                    ms(histogram.mean_ns().map(|(mean, _)| mean)),
                    ms(histogram.max_ns.map(|ns| ns as f64)),
                )
            })
            .collect()
    }

    fn group(&self, device: DeviceId, op: Option<Op>, layer: Layer, stage: Stage) -> Group {
        let has = |key: Key| self.keys.contains(&key);
        Group {
            device: Some(device).filter(|_| has(Key::Device)),
            op: op.filter(|_| has(Key::Op)),
            flags: None,
            size: None,
            process: None,
            cgroup: None,
            named: None,
            layer,
            stage,
        }
    }

    /// Counts a single I/O of a recording.
    pub(crate) fn count(&mut self, event: &Event, of: &Recording) {
        let mut group = self.group(event.device, Some(event.op), event.layer, Stage::Total);
        let mut named = Vec::new();
        for key in &self.keys {
            match key {
                Key::Named(key) => {
                    let names = self.names.get_or_insert_with(|| EventNames::of(of));
                    named.push(names.number(*key, event, of));
                }
                Key::Flags => {
                    let text = (event.op, event.flags);
                    let at = self.texts.iter().position(|known| *known == text);
                    group.flags = Some(at.unwrap_or_else(|| {
                        self.texts.push(text);
                        self.texts.len() - 1
                    }));
                }
                Key::Size => {
                    group.size = event.bytes.map(|bytes| bytes.checked_ilog2().unwrap_or(0))
                }
                Key::Process => group.process = event.comm,
                Key::Cgroup => group.cgroup = event.cgroup,
                Key::None | Key::Device | Key::Op => {}
            }
        }
        if !named.is_empty() {
            let known = self.named.iter().position(|known| *known == named);
            group.named = Some(known.unwrap_or_else(|| {
                self.named.push(named);
                self.named.len() - 1
            }));
        }
        let first = [event.arrived, event.queued, event.issued].into_iter().flatten().min();
        self.seen(event.device, first, event.completed);
        for stage in Stage::ALL {
            let Some(latency) = event.latency(stage) else { continue };
            group.stage = stage;
            let empty = || Histogram::empty(Edges::standard());
            self.counted.entry(group).or_insert_with(empty).record(latency.ns() as u64);
        }
    }

    /// The label of this group beside device and operation.
    fn label(&self, group: &Group, recording: &Recording) -> Option<String> {
        let (mut words, mut names) = (Vec::new(), 0);
        for key in &self.keys {
            let name =
                |name: Option<Name>| name.map_or("?", |name| recording.text(name)).to_string();
            match key {
                Key::Flags => {
                    let text = group.flags.and_then(|at| self.texts.get(at));
                    words.push(text.map_or("?".to_string(), |(op, flags)| flags.rwbs(*op)));
                }
                Key::Size => words.push(group.size.map_or("?".to_string(), size_words)),
                Key::Process => words.push(name(group.process)),
                Key::Cgroup => words.push(name(group.cgroup)),
                Key::Named(_) => {
                    let at = group.named.and_then(|at| self.named.get(at)?.get(names).copied());
                    let text = at.zip(self.names.as_ref()).map(|(at, known)| known.text(at));
                    words.push(text.unwrap_or("?").to_string());
                    names += 1;
                }
                Key::None | Key::Device | Key::Op => {}
            }
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// A sink that counts single I/Os into groups, for captures of any length; the rest is kept.
pub(crate) struct GroupSink {
    /// Everything beside the I/Os, and histograms of I/Os that are not listed.
    pub tally: Tally,
    /// The counts, separately for each device.
    pub groups: Groups,
    /// The filter.
    filter: Filter,
    /// Whether any I/O had values for all keys.
    pub reported: bool,
}

impl GroupSink {
    /// Counts I/Os that pass a filter with this tally's names by these keys; devices are filtered
    /// by [`Groups::narrow`], because they become known only while reading.
    pub(crate) fn new(keys: &[Key], tally: Tally, filter: Filter) -> GroupSink {
        let apart =
            if keys.is_empty() || keys.contains(&Key::Device) { None } else { Some(Key::Device) };
        let mut groups = Groups::new(keys);
        groups.keys.extend(apart);
        GroupSink { tally, groups, filter, reported: false }
    }
}

impl Sink for GroupSink {
    iowhy_model::forward!(tally: begin resume source device set_medium name interval unread fact end);

    fn event(&mut self, event: Event) {
        self.tally.source().records += 1;
        if self.filter.event(&event) {
            self.reported |= self.groups.keys.iter().all(|key| key.is_in(&event));
            self.groups.count(&event, self.tally.known());
        }
    }

    fn distribution(&mut self, distribution: Distribution) {
        let needs_events = self.groups.keys.iter().any(|key| key.needs_events());
        if needs_events || self.filter.distribution(&distribution) != Some(true) {
            self.tally.source().records += 1;
            return;
        }
        self.tally.distribution(distribution);
    }
}

/// A size class: a power of two of bytes, and the next one.
fn size_words(class: u32) -> String {
    let words = |bytes: u64| numbers::bytes(bytes as f64);
    match class {
        0 => "0 B".to_string(),
        _ => format!("{} to below {}", words(1 << class), words(2 << class)),
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Level, Source};

    use super::*;

    fn part(devices: &[(&str, Op, u32)]) -> Recording {
        let mut part = Recording::new();
        part.begin(Source::new("block-trace", "live", Level::D));
        for (place, (name, op, bytes)) in devices.iter().enumerate() {
            let mut event = Event::new(part.device(name), *op, Layer::Block);
            event.queued = Some(Time::from_ns(1000));
            event.completed = Some(Time::from_ns(2000 + place as i64));
            event.bytes = Some(*bytes);
            part.event(event);
        }
        part
    }

    #[test]
    fn groups_are_what_was_asked_for_and_nothing_is_counted_twice() {
        let ios = [("sda", Op::Read, 4096), ("sdb", Op::Read, 8192), ("sda", Op::Write, 4096)];
        for (keys, groups) in [
            (&[Key::None][..], 1),
            (&[], 3),
            (&[Key::Device], 2),
            (&[Key::Size], 2),
            (&[Key::Flags, Key::Device], 3),
        ] {
            let (mut part, mut all) = (part(&ios), Groups::new(keys));
            all.take(&mut part);
            all.write_into(&mut part);
            let found = &part.listings[0].distributions;
            assert_eq!(found.len(), groups, "{keys:?}");
            assert_eq!(found.iter().map(|known| known.histogram.count()).sum::<u64>(), 3);
        }
        assert_eq!(size_words(12), "4 KiB to below 8 KiB");
    }
}
