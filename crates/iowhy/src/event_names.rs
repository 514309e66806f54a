//! The owner of an I/O by name: mount point or volume of its device and partition; unit, container
//! or pod of its control group; its file. For single I/Os, from the names in a recording.

use std::borrow::Cow;
use std::collections::HashMap;

use iowhy_model::{
    DeviceId, DeviceTotals, Distribution, Event, Interval, Name, NameTable, Nanos, Owner,
    OwnerNames, Recording, Sink, SmallNumber, Time,
};

use crate::arguments::Selection;

/// A key for grouping I/Os.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum NameKey {
    /// The mount point of its device or partition.
    Mount,
    /// The volume, array, loop file or partition.
    Volume,
    /// The unit of systemd.
    Unit,
    /// The container.
    Container,
    /// The pod.
    Pod,
    /// The file whose pages it reads or writes.
    File,
    /// The CPU that handled its completion.
    Cpu,
    /// The hardware queue of its device.
    Queue,
}

/// The key of a name.
pub(crate) fn key(text: &str) -> Result<NameKey, String> {
    let names = NameKey::ALL.map(|(name, _)| name).join(", ");
    let found = NameKey::ALL.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, key)| key).ok_or_else(|| format!("use {names}"))
}

/// The text for an unknown name.
const UNKNOWN: &str = "?";
/// The text for an I/O without a known file.
const NO_FILE: &str = "no file";

impl NameKey {
    /// All keys by their names on the command line.
    pub(crate) const ALL: [(&str, NameKey); 8] = [
        ("mount", NameKey::Mount),
        ("volume", NameKey::Volume),
        ("unit", NameKey::Unit),
        ("container", NameKey::Container),
        ("pod", NameKey::Pod),
        ("file", NameKey::File),
        ("cpu", NameKey::Cpu),
        ("queue", NameKey::Queue),
    ];

    /// Whether it follows from the control group.
    pub(crate) fn is_of_cgroup(self) -> bool {
        matches!(self, NameKey::Unit | NameKey::Container | NameKey::Pod)
    }

    /// Whether it follows from the device and the sector.
    fn is_of_place(self) -> bool {
        matches!(self, NameKey::Mount | NameKey::Volume)
    }

    /// Whether it is where in the machine it was handled.
    pub(crate) fn is_of_path(self) -> bool {
        matches!(self, NameKey::Cpu | NameKey::Queue)
    }

    /// Whether an I/O has it.
    pub(crate) fn is_in(self, event: &Event) -> bool {
        match self {
            NameKey::Mount | NameKey::Volume => true,
            NameKey::Unit | NameKey::Container | NameKey::Pod => event.cgroup.is_some(),
            NameKey::File => event.file.is_some(),
            NameKey::Cpu => event.cpu.is_some(),
            NameKey::Queue => event.queue.is_some(),
        }
    }
}

/// Looks up the names of a recording for each I/O.
#[derive(Debug)]
pub(crate) struct EventNames {
    table: NameTable,
    owners: OwnerNames,
    /// The partitions of devices: first and last sector, and name.
    parts: HashMap<DeviceId, Vec<(u64, u64, String)>>,
    /// A cache: the texts by key, device, index of the partition, and control group or file.
    found: HashMap<(NameKey, DeviceId, Option<usize>, Option<Name>), usize>,
    texts: Vec<String>,
}

impl EventNames {
    /// The texts known so far.
    pub(crate) fn of(recording: &Recording) -> EventNames {
        let table = NameTable::of(recording);
        let devices = recording.devices().iter().enumerate();
        let parts = devices.map(|(place, device)| {
            let range = |name: &str| {
                let (from, to) = table.get(name)?.partition.as_ref()?.range()?;
                Some((from, to, name.to_string()))
            };
            let parts = table.partitions(&device.name).filter_map(range).collect();
            (DeviceId::at(u32::try_from(place).unwrap_or(u32::MAX)), parts)
        });
        let parts = parts.collect();
        let owners = OwnerNames::of(recording);
        EventNames { table, owners, parts, found: HashMap::new(), texts: Vec::new() }
    }

    /// The number of the text of an I/O for a key.
    pub(crate) fn number(&mut self, key: NameKey, event: &Event, recording: &Recording) -> usize {
        let part = event.sector.filter(|_| key.is_of_place()).and_then(|sector| {
            let holds = |(from, to, _): &(u64, u64, String)| (*from..*to).contains(&sector);
            self.parts.get(&event.device)?.iter().position(holds)
        });
        let place = match key {
            NameKey::Cpu => event.cpu,
            NameKey::Queue => event.queue,
            _ => None,
        };
        let part = part.or(place.map(|place| place.get().into()));
        let own = match key {
            NameKey::Mount | NameKey::Volume | NameKey::Cpu | NameKey::Queue => None,
            NameKey::Unit | NameKey::Container | NameKey::Pod => event.cgroup,
            NameKey::File => event.file,
        };
        let asked = (key, event.device, part, own);
        if let Some(known) = self.found.get(&asked) {
            return *known;
        }
        let text = if key == NameKey::File {
            own.map_or(NO_FILE, |name| recording.text(name)).to_string()
        } else if key.is_of_cgroup() {
            self.owner(key, own.map(|name| recording.text(name)))
        } else if key.is_of_path() {
            let device = recording.device_of(event.device).name.as_str();
            match (key, place.map(SmallNumber::get)) {
                (NameKey::Cpu, Some(cpu)) => format!("CPU {cpu}"),
                (NameKey::Cpu, None) => "CPU not known".to_string(),
                (_, Some(queue)) => format!("{device}, queue {queue}"),
                (_, None) => format!("{device}, no queue"),
            }
        } else {
            let device = recording.device_of(event.device).name.as_str();
            let parts = self.parts.get(&event.device);
            let part = part.and_then(|place| parts?.get(place)).map(|(_, _, name)| name.as_str());
            self.place(key, part.unwrap_or(device))
        };
        let number = self.texts.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        self.found.insert(asked, number);
        number
    }

    /// The texts of an I/O for several keys.
    pub(crate) fn texts(
        &mut self,
        keys: &[NameKey],
        event: &Event,
        recording: &Recording,
    ) -> Cow<'_, str> {
        let numbers: Vec<usize> =
            keys.iter().map(|key| self.number(*key, event, recording)).collect();
        match numbers.as_slice() {
            [one] => Cow::Borrowed(self.text(*one)),
            all => {
                let texts: Vec<&str> = all.iter().map(|number| self.text(*number)).collect();
                Cow::Owned(texts.join(", "))
            }
        }
    }

    /// The text with this number.
    pub(crate) fn text(&self, number: usize) -> &str {
        self.texts.get(number).map_or(UNKNOWN, String::as_str)
    }

    /// I/Os of a disk below a volume are separate from those of the volume: both are traced, and an
    /// I/O would count twice.
    fn place(&self, key: NameKey, device: &str) -> String {
        let known = self.table.get(device);
        let own = match key {
            NameKey::Mount => known.and_then(|known| known.mounts.first()).map(String::as_str),
            _ => known.and_then(|known| known.given()),
        };
        if let Some(own) = own {
            return own.to_string();
        }
        let above = match key {
            NameKey::Mount => self.table.mounts(device).into_iter().next(),
            _ => {
                let above = self.table.above(device).into_iter();
                above.filter_map(|above| self.table.get(above)?.given()).next()
            }
        };
        match (above, key) {
            (Some(above), _) => format!("below {above}"),
            (None, NameKey::Mount) => format!("{device}, not mounted"),
            (None, _) => device.to_string(),
        }
    }

    fn owner(&self, key: NameKey, cgroup: Option<&str>) -> String {
        let Some(cgroup) = cgroup else { return UNKNOWN.to_string() };
        let owner = Owner::of_cgroup(cgroup);
        let named = match key {
            NameKey::Unit => owner.unit,
            NameKey::Container => owner.container.map(|id| self.owners.container_words(&id)),
            _ => owner.pod.map(|uid| self.owners.pod_words(&uid)),
        };
        let none = match key {
            NameKey::Unit => "no unit",
            NameKey::Container => "no container",
            _ => "no pod",
        };
        named.unwrap_or_else(|| none.to_string())
    }
}

/// A sink that replaces the device of each I/O by a name; averages and histograms, which have no
/// names, are left out.
pub(crate) struct NamedEvents<S> {
    /// The output.
    pub inner: S,
    keys: Vec<NameKey>,
    names: Option<EventNames>,
    known: fn(&S) -> &Recording,
    /// The selected devices by any of their names, and by the recording's own after the first I/O.
    selection: Selection,
    wanted: Option<Vec<String>>,
    /// Whether any I/O had a name for the key.
    pub reported: bool,
}

impl<S: Sink> NamedEvents<S> {
    /// Writes into a sink that has a recording.
    pub(crate) fn new(
        inner: S,
        keys: &[NameKey],
        known: fn(&S) -> &Recording,
        selection: Selection,
    ) -> NamedEvents<S> {
        let (names, wanted) = (None, None);
        NamedEvents { inner, keys: keys.to_vec(), names, known, selection, wanted, reported: false }
    }
}

impl<S: Sink> Sink for NamedEvents<S> {
    iowhy_model::forward!(inner: begin resume source device set_medium name unread fact end);

    fn event(&mut self, mut event: Event) {
        let recording = (self.known)(&self.inner);
        let selection = &self.selection;
        let wanted = self.wanted.get_or_insert_with(|| selection.known_in(recording).device);
        if !wanted.is_empty() && !wanted.contains(&recording.device_of(event.device).name) {
            return;
        }
        self.reported |= self.keys.iter().all(|key| key.is_in(&event));
        let names = self.names.get_or_insert_with(|| EventNames::of(recording));
        let name = names.texts(&self.keys, &event, recording);
        event.device = self.inner.device(&name);
        self.inner.event(event);
    }

    fn interval(&mut self, _: Interval) {}

    fn distribution(&mut self, _: Distribution) {}
}

/// The same for an existing recording.
pub(crate) fn rename(recording: &mut Recording, keys: &[NameKey]) {
    let mut names = EventNames::of(recording);
    for place in 0..recording.listings.len() {
        let Some(listing) = recording.listings.get_mut(place) else { continue };
        let mut events = std::mem::take(&mut listing.events);
        (listing.intervals, listing.distributions) = (Vec::new(), Vec::new());
        listing.rest = Vec::new();
        for event in &mut events {
            let name = names.texts(keys, event, recording);
            event.device = recording.device(&name);
        }
        if let Some(listing) = recording.listings.get_mut(place) {
            listing.events = events;
        }
    }
}

/// Intervals with something in flight, disjoint and in order.
#[derive(Default)]
struct BusyTime(Vec<(Time, Time)>);

impl BusyTime {
    fn add(&mut self, event: &Event) {
        let began = event.queued.or(event.issued);
        let Some((mut from, mut to)) = began.zip(event.completed) else { return };
        let first = self.0.partition_point(|(_, end)| *end < from);
        let last = self.0.partition_point(|(start, _)| *start <= to).max(first);
        for (start, end) in self.0.get(first..last).into_iter().flatten() {
            (from, to) = (from.min(*start), to.max(*end));
        }
        self.0.splice(first..last, [(from, to)]);
    }

    /// Their share of a duration.
    fn share(&self, length: Nanos) -> f64 {
        let busy: f64 = self.0.iter().map(|(from, to)| (*to - *from).ns() as f64).sum();
        (busy / length.ns().max(1) as f64).clamp(0.0, 1.0)
    }
}

/// Averages of single I/Os: rates, means, and the busy time.
pub(crate) fn average(recording: &mut Recording) {
    for listing in &mut recording.listings {
        let mut all = listing.counted.clone();
        let mut places = DeviceTotals::places(&all);
        let mut busy: HashMap<DeviceId, BusyTime> = HashMap::new();
        for event in &listing.events {
            DeviceTotals::count(&mut all, &mut places, event);
            busy.entry(event.device).or_default().add(event);
        }
        let watched = listing.source.watched;
        let row = |known: &DeviceTotals| {
            let mut row = known.interval(watched);
            row.busy = row.length.zip(busy.get(&known.device)).map(|(of, busy)| busy.share(of));
            row
        };
        listing.intervals = all.iter().map(row).collect();
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Fact, FactKey, Layer, Level, Op, Source, Time, key};

    use super::*;

    #[test]
    fn time_with_several_in_flight_counts_once() {
        let mut busy = BusyTime::default();
        for (from, to) in [(10, 20), (40, 50), (15, 30), (60, 60), (45, 47), (5, 8)] {
            let mut event = Event::new(DeviceId::at(0), Op::Read, Layer::Block);
            (event.queued, event.completed) = (Some(Time::from_ns(from)), Some(Time::from_ns(to)));
            busy.add(&event);
        }
        assert_eq!(busy.0.len(), 4);
        assert_eq!(busy.share(Nanos(66)), 0.5);
        assert_eq!(busy.share(Nanos(10)), 1.0);
    }

    #[test]
    fn ios_are_told_apart_by_partition_and_by_control_group() {
        let mut recording = Recording::new();
        recording.begin(Source::new("block-trace", "live", Level::D));
        let mut fact = |device: &str, key: FactKey, text: &str| {
            let device = Some(recording.device(device));
            recording.fact(Fact::read(device, key, text, "/sys"));
        };
        for (part, first) in [("sda1", "2048"), ("sda2", "4096"), ("sda3", "6144")] {
            fact(part, key::PARTITION_DISK, "sda");
            fact(part, key::PARTITION_FIRST_SECTOR, first);
            fact(part, key::PARTITION_SECTORS, "2048");
        }
        fact("sda1", key::MOUNT_POINT, "/boot");
        fact("dm-0", key::DEVICE_SLAVES, "sda2");
        fact("dm-0", key::DM_NAME, "vg-root");
        fact("dm-0", key::MOUNT_POINT, "/");
        let ios = [("sda", 2048), ("sda", 5000), ("sda", 7000), ("sda", 9000), ("dm-0", 0)];
        let groups = ["/system.slice/a.service", "/docker", "/system.slice/a.service", "/", "/"];
        for ((device, sector), group) in ios.into_iter().zip(groups) {
            let mut event = Event::new(recording.device(device), Op::Read, Layer::Block);
            event.sector = Some(sector);
            event.cgroup = Some(recording.name(group));
            event.file = matches!(sector, 2048 | 9000).then(|| recording.name("/a"));
            event.completed = Some(Time::from_ns(1));
            recording.event(event);
        }
        let by = |key: NameKey| {
            let mut renamed = recording.clone();
            rename(&mut renamed, &[key]);
            let events = renamed.listings[0].events.iter();
            events.map(|event| renamed.device_of(event.device).name.clone()).collect::<Vec<_>>()
        };
        let mounts = ["/boot", "below /", "sda3, not mounted", "below /boot", "/"];
        assert_eq!(by(NameKey::Mount), mounts);
        assert_eq!(
            by(NameKey::Volume),
            ["sda1", "below vg-root", "sda3", "below vg-root", "vg-root"]
        );
        let units = ["a.service", "no unit", "a.service", "no unit", "no unit"];
        assert_eq!(by(NameKey::Unit), units);
        for (place, event) in recording.listings[0].events.iter_mut().enumerate() {
            event.cpu = SmallNumber::new(place as u64 % 2);
            event.queue = SmallNumber::new(3).filter(|_| place < 2);
        }
        let by = |key: NameKey| {
            let mut renamed = recording.clone();
            rename(&mut renamed, &[key]);
            let events = renamed.listings[0].events.iter();
            events.map(|event| renamed.device_of(event.device).name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(by(NameKey::Cpu), ["CPU 0", "CPU 1", "CPU 0", "CPU 1", "CPU 0"]);
        let queues = ["sda, queue 3", "sda, queue 3", "sda, no queue", "sda, no queue"];
        assert_eq!(by(NameKey::Queue), [&queues[..], &["dm-0, no queue"]].concat());
        assert_eq!(by(NameKey::File), ["/a", "no file", "no file", "/a", "no file"]);
    }
}
