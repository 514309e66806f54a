//! Events as columns: times as differences, sectors relative to the end of the previous I/O,
//! processes as an index into a list. Every other field is a plain column.

use std::collections::HashMap;

use crate::bytes::{self, Bytes, unzigzag, zigzag};
use crate::columns::{pack, unpack};
use crate::header::{VERSION, WITHOUT_PLACES};
use iowhy_model::{
    DeviceId, EVENT_FIELDS, Event, Field, FieldKind, FieldValue, Flags, Layer, Name, Op, Time,
};

/// The sender of an I/O: process, its name, its control group.
type Who = (Option<u32>, Option<Name>, Option<Name>);

/// A field's number, if it is known.
type Number = fn(&Event) -> Option<u64>;

/// The fields that are plain columns, in their order, each with the version it came with.
const NUMBER_FIELDS: [(&str, u16, Number); 6] = [
    ("depth", 1, |event| event.depth.map(|depth| depth.get().into())),
    ("error", 1, |event| event.error.map(u64::from)),
    ("file", 4, |event| event.file.map(|name| name.index() as u64)),
    ("weight", 5, |event| event.weight.map(|weight| u64::from(weight.get()))),
    ("cpu", 6, |event| event.cpu.map(|cpu| cpu.get().into())),
    ("queue", 6, |event| event.queue.map(|queue| queue.get().into())),
];
/// The first few senders are found by a linear search.
const FEW: usize = 16;
/// Events whose columns are filled at once: 18 KB of them.
const PIECE: usize = 128;
/// Bytes of a sector, whatever the device's blocks.
const SECTOR: u64 = 512;

/// The version that holds these events: the last one only where a CPU or a queue is known, so that
/// others can be read by an older iowhy.
pub(crate) fn version_of(events: &[Event]) -> u16 {
    let placed = events.iter().any(|event| event.cpu.is_some() || event.queue.is_some());
    if placed { VERSION } else { WITHOUT_PLACES }
}

/// Writes events whose devices and names are already numbered by the block's own lists.
pub(crate) fn write(version: u16, events: &[Event], out: &mut Vec<u8>) {
    bytes::number(events.len() as u64, out);
    if events.is_empty() {
        return;
    }
    let mut who = Processes::default();
    let (mut before, mut end) = (0, 0);
    let (mut device, mut kinds) = (Column::default(), Column::default());
    let (mut sizes, mut sectors, mut steps) =
        (Column::default(), Column::default(), Column::default());
    let mut times: [Column; 4] = Default::default();
    let numbers = NUMBER_FIELDS.iter().filter(|(_, since, _)| *since <= version);
    let mut others: Vec<_> = numbers.map(|(.., number)| (number, Column::default())).collect();
    // One piece after the other, which stays in the cache for all columns.
    for piece in events.chunks(PIECE) {
        device.take(piece.iter().map(|event| Some(event.device.index() as u64)));
        kinds.take(piece.iter().map(|event| Some(kind(event))));
        piece.iter().for_each(|event| who.take(event));
        take_times(piece, &mut times, &mut before);
        sizes.take(piece.iter().map(|event| event.bytes.map(u64::from)));
        sectors.take(piece.iter().map(|event| event.sector));
        steps.take(piece.iter().map(|event| step_to(event, &mut end)));
        for (number, column) in &mut others {
            column.take(piece.iter().map(**number));
        }
    }
    pack(&device.values, out);
    pack(&kinds.values, out);
    who.write(out);
    times.iter().for_each(|column| column.write(out));
    sizes.write(out);
    // Sectors as they are, or relative to the end of the previous I/O, whichever is shorter.
    let by_steps = steps.bits() < sectors.bits();
    out.push(u8::from(by_steps));
    (if by_steps { steps } else { sectors }).write(out);
    others.iter().for_each(|(_, column)| column.write(out));
}

/// The numbers of one column, and which of them are known.
#[derive(Default)]
struct Column {
    /// How many there are, known or not.
    count: usize,
    values: Vec<u64>,
    /// Whether each is known, once some are known and some are not.
    known: Vec<u64>,
    is_mixed: bool,
}

impl Column {
    /// Adds the numbers of a piece.
    fn take(&mut self, values: impl Iterator<Item = Option<u64>>) {
        let (mut here, mut known) = ([0u64; PIECE], [0u64; PIECE]);
        let (mut count, mut of_known) = (0, 0);
        for ((value, known), _) in values.zip(&mut known).zip(0..PIECE) {
            // Always written, and overwritten by the next number if it is unknown.
            if let Some(room) = here.get_mut(of_known) {
                *room = value.unwrap_or(0);
            }
            *known = u64::from(value.is_some());
            of_known += usize::from(value.is_some());
            count += 1;
        }
        let is_as_before = match of_known {
            0 => self.values.is_empty(),
            all if all == count => self.values.len() == self.count,
            _ => false,
        };
        if !self.is_mixed && !is_as_before {
            self.known = vec![u64::from(!self.values.is_empty()); self.count];
            self.is_mixed = true;
        }
        if self.is_mixed {
            self.known.extend_from_slice(known.get(..count).unwrap_or_default());
        }
        self.values.extend_from_slice(here.get(..of_known).unwrap_or_default());
        self.count += count;
    }

    /// Writes which numbers are known, then those that are.
    fn write(&self, out: &mut Vec<u8>) {
        if self.is_mixed {
            pack(&self.known, out);
        } else {
            pack(&[u64::from(!self.values.is_empty())], out);
        }
        pack(&self.values, out);
    }

    /// Binary digits of all numbers.
    fn bits(&self) -> u64 {
        self.values.iter().map(|value| u64::from(64 - value.leading_zeros())).sum()
    }
}

/// The plain columns of a version.
fn plain(version: u16) -> impl Iterator<Item = &'static Field<Event>> {
    let there = NUMBER_FIELDS.iter().filter(move |(_, since, _)| *since <= version);
    there.filter_map(|(name, ..)| Field::named(&EVENT_FIELDS, name))
}

/// Reads those of a version back; devices and names still have the indexes of the block's own
/// lists.
pub(crate) fn read(version: u16, limit: usize, from: &mut Bytes) -> Option<Vec<Event>> {
    let count = from.small::<usize>()?;
    if count > limit {
        return None;
    }
    if count == 0 {
        return Some(Vec::new());
    }
    let devices = unpack(count, from)?;
    let kinds = unpack(count, from)?;
    let mut events = Vec::with_capacity(count);
    for (device, kind) in devices.into_iter().zip(kinds) {
        let (op, layer, flags) = of_kind(kind)?;
        let mut event = Event::new(DeviceId::at(u32::try_from(device).ok()?), op, layer);
        event.flags = flags;
        events.push(event);
    }
    read_who(&mut events, from)?;
    read_times(&mut events, from)?;
    for (event, bytes) in events.iter_mut().zip(read_optional(count, from)?) {
        event.bytes = narrow(bytes)?;
    }
    read_sectors(&mut events, from)?;
    for field in plain(version) {
        for (event, number) in events.iter_mut().zip(read_optional(count, from)?) {
            let Some(number) = number else { continue };
            let value = match field.kind {
                FieldKind::Name => FieldValue::Name(Name::at(u32::try_from(number).ok()?)),
                _ => FieldValue::Whole(number),
            };
            (field.set)(event, value).then_some(())?;
        }
    }
    Some(events)
}

/// Operation, layer and flags in one number.
fn kind(event: &Event) -> u64 {
    let op = Op::ALL.iter().position(|op| *op == event.op).unwrap_or(0);
    let layer = Layer::ALL.iter().position(|layer| *layer == event.layer).unwrap_or(0);
    (op | layer << 3 | usize::from(event.flags.bits()) << 5) as u64
}

fn of_kind(kind: u64) -> Option<(Op, Layer, Flags)> {
    let op = *Op::ALL.get((kind & 7) as usize)?;
    let layer = *Layer::ALL.get((kind >> 3 & 3) as usize)?;
    Some((op, layer, Flags::from_bits(u8::try_from(kind >> 5).ok()?)))
}

/// The senders, each once, and the index of each I/O's sender.
#[derive(Default)]
struct Processes {
    list: Vec<Who>,
    /// The indexes of senders after the first few.
    later: HashMap<Who, usize>,
    last: usize,
    places: Vec<u64>,
}

impl Processes {
    fn take(&mut self, event: &Event) {
        let who = (event.pid, event.comm, event.cgroup);
        if self.list.get(self.last) != Some(&who) {
            // Most I/Os come from a few senders, which are found faster without hashing.
            let few = self.list.iter().take(FEW).position(|known| *known == who);
            let known = few.or_else(|| self.later.get(&who).copied());
            self.last = known.unwrap_or(self.list.len());
            if known.is_none() {
                if self.last >= FEW {
                    self.later.insert(who, self.last);
                }
                self.list.push(who);
            }
        }
        self.places.push(self.last as u64);
    }

    fn write(self, out: &mut Vec<u8>) {
        bytes::number(self.list.len() as u64, out);
        for (pid, comm, cgroup) in self.list {
            bytes::maybe(pid, out, |pid, out| bytes::number(pid.into(), out));
            for name in [comm, cgroup] {
                bytes::maybe(name, out, |name, out| bytes::number(name.index() as u64, out));
            }
        }
        pack(&self.places, out);
    }
}

fn read_who(events: &mut [Event], from: &mut Bytes) -> Option<()> {
    let count = from.count()?;
    let mut list: Vec<Who> = Vec::with_capacity(count);
    for _ in 0..count {
        let pid = from.maybe(Bytes::small)?;
        let mut name = || from.maybe(|from| from.small().map(Name::at));
        list.push((pid, name()?, name()?));
    }
    let places = unpack(events.len(), from)?;
    for (event, place) in events.iter_mut().zip(places) {
        let who = list.get(usize::try_from(place).ok()?)?;
        (event.pid, event.comm, event.cgroup) = *who;
    }
    Some(())
}

/// Completion relative to the previous completion; every other time relative to the next later
/// known one, or to the previous completion.
fn take_times(piece: &[Event], columns: &mut [Column; 4], before: &mut i64) {
    let mut steps = [[None; PIECE]; 4];
    for (place, event) in piece.iter().enumerate().take(PIECE) {
        let mut anchor = *before;
        let times = [event.completed, event.issued, event.queued, event.arrived];
        for (steps, time) in steps.iter_mut().zip(times) {
            steps[place] = time.map(|time| zigzag(time.ns().wrapping_sub(anchor)));
            anchor = time.map_or(anchor, Time::ns);
        }
        *before = event.completed.map_or(*before, Time::ns);
    }
    for (column, steps) in columns.iter_mut().zip(steps) {
        column.take(steps.into_iter().take(piece.len()));
    }
}

fn read_times(events: &mut [Event], from: &mut Bytes) -> Option<()> {
    let mut columns = Vec::new();
    for _ in 0..4 {
        columns.push(read_optional(events.len(), from)?.into_iter());
    }
    let [completed, issued, queued, arrived] = &mut columns[..] else { return None };
    let mut before = 0i64;
    for event in events {
        let mut anchor = before;
        let mut next = |column: &mut std::vec::IntoIter<Option<u64>>| {
            let time = column.next()??;
            anchor = anchor.wrapping_add(unzigzag(time));
            Some(Time::from_ns(anchor))
        };
        event.completed = next(completed);
        event.issued = next(issued);
        event.queued = next(queued);
        event.arrived = next(arrived);
        before = event.completed.map_or(before, Time::ns);
    }
    Some(())
}

/// A sector relative to the end of the previous I/O.
fn step_to(event: &Event, end: &mut u64) -> Option<u64> {
    let sector = event.sector?;
    let step = zigzag(sector.wrapping_sub(*end) as i64);
    *end = end_of(sector, event.bytes);
    Some(step)
}

fn read_sectors(events: &mut [Event], from: &mut Bytes) -> Option<()> {
    let by_steps = from.byte()? == 1;
    let column = read_optional(events.len(), from)?;
    let mut end = 0u64;
    for (event, value) in events.iter_mut().zip(column) {
        event.sector = match value {
            Some(step) if by_steps => {
                let sector = end.wrapping_add(unzigzag(step) as u64);
                end = end_of(sector, event.bytes);
                Some(sector)
            }
            plain => plain,
        };
    }
    Some(())
}

fn end_of(sector: u64, bytes: Option<u32>) -> u64 {
    sector.wrapping_add(u64::from(bytes.unwrap_or(0)) / SECTOR)
}

fn read_optional(count: usize, from: &mut Bytes) -> Option<Vec<Option<u64>>> {
    let known = unpack(count, from)?;
    let there = known.iter().filter(|known| **known == 1).count();
    let mut values = unpack(there, from)?.into_iter();
    Some(known.into_iter().map(|known| if known == 1 { values.next() } else { None }).collect())
}

/// A known value has to fit.
fn narrow<N: TryFrom<u64>>(value: Option<u64>) -> Option<Option<N>> {
    value.map(N::try_from).transpose().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    use iowhy_model::SmallNumber;
    use iowhy_model::{Recording, Sink};

    fn round_trip(events: &[Event]) -> usize {
        let mut out = Vec::new();
        write(VERSION, events, &mut out);
        let mut from = Bytes(&out);
        assert_eq!(read(VERSION, events.len(), &mut from).as_deref(), Some(events));
        assert!(from.0.is_empty());
        for cut in 0..out.len().min(200) {
            assert_eq!(read(VERSION, events.len(), &mut Bytes(&out[..cut])), None);
        }
        out.len()
    }

    /// Random reads of 4 KiB at depth 32, as fast as a loop device gives them.
    #[test]
    fn a_fast_device_takes_nine_bytes_an_event() {
        let mut recording = Recording::new();
        let (device, fio) = (recording.device("loop0"), recording.name("fio"));
        let mut dice = 1u64;
        let mut roll = |below: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % below
        };
        let events: Vec<Event> = (0..20_000i64)
            .map(|k| {
                let mut event = Event::new(device, Op::Read, Layer::Block);
                let completed = 77_000_000_000_000 + k * 4000 + roll(3000) as i64;
                let issued = completed - 60_000 - roll(120_000) as i64;
                event.completed = Some(Time::from_ns(completed));
                event.issued = Some(Time::from_ns(issued));
                event.queued = Some(Time::from_ns(issued - 200 - roll(800) as i64));
                event.sector = Some(roll(1 << 18) * 8);
                event.bytes = Some(4096);
                event.depth = NonZeroU32::new(1 + roll(32) as u32);
                (event.pid, event.comm) = (Some(4242), Some(fio));
                event
            })
            .collect();
        let size = round_trip(&events);
        assert!(size < 20_000 * 10, "{size}");
    }

    #[test]
    fn every_field_has_its_place() {
        let packed = [
            "device",
            "op",
            "flags",
            "queued_ns",
            "issued_ns",
            "completed_ns",
            "sector",
            "bytes",
            "pid",
            "comm",
            "layer",
            "arrived_ns",
            "cgroup",
        ];
        for field in &EVENT_FIELDS {
            let plain = NUMBER_FIELDS.iter().any(|(name, ..)| *name == field.name);
            assert!(
                plain != packed.contains(&field.name),
                "`{}` is new: add it to NUMBER_FIELDS with the next VERSION",
                field.name
            );
        }
        assert!(plain(VERSION).count() == NUMBER_FIELDS.len() && plain(3).count() == 2);
    }

    #[test]
    fn what_is_unknown_stays_unknown_and_clocks_may_jump() {
        let mut recording = Recording::new();
        let (sda, sdb) = (recording.device("sda"), recording.device("sdb"));
        let (dd, web) = (recording.name("dd"), recording.name("/web.slice"));
        let mut events = vec![Event::new(sda, Op::Flush, Layer::Application); 300];
        for (k, event) in events.iter_mut().enumerate() {
            event.device = if k % 3 == 0 { sdb } else { sda };
            event.completed = (k % 5 > 0).then(|| Time::from_ns(i64::MAX - k as i64 * 7));
            event.issued = (k % 4 > 0).then(|| Time::from_ns(i64::MIN + 9 + k as i64));
            event.queued = (k % 7 > 0).then(|| Time::from_ns(k as i64));
            event.arrived = (k % 11 == 0).then(|| Time::from_ns(-(k as i64)));
            event.sector = (k % 2 > 0).then_some(u64::MAX - k as u64);
            event.bytes = (k % 6 > 0).then_some(u32::MAX - k as u32);
            event.pid = (k % 9 > 0).then_some(k as u32);
            event.comm = (k % 10 > 0).then_some(dd);
            event.cgroup = (k % 13 == 0).then_some(web);
            event.depth = NonZeroU32::new(if k % 8 == 0 { k as u32 } else { 0 });
            event.cpu = SmallNumber::new(k as u64).filter(|_| k % 14 == 0);
            event.queue = SmallNumber::new(k as u64 % 3).filter(|_| k % 15 == 0);
            event.error = (k % 50 == 0).then_some(5);
            event.file = (k % 12 == 0).then_some(dd);
            event.flags = Flags::SYNC.with(Flags::FUA);
            event.op = Op::ALL[k % 5];
            event.layer = Layer::ALL[k % 3];
        }
        round_trip(&events);
        round_trip(&[]);
        assert_eq!(version_of(&events), VERSION);
        // As version 5 wrote them: without the places.
        let mut old = Vec::new();
        write(WITHOUT_PLACES, &events, &mut old);
        events.iter_mut().for_each(|event| (event.cpu, event.queue) = (None, None));
        assert_eq!(version_of(&events), WITHOUT_PLACES);
        let read_back = read(WITHOUT_PLACES, events.len(), &mut Bytes(&old));
        assert_eq!(read_back.as_ref(), Some(&events));
        // As version 3 wrote them: all but the file.
        let mut old = Vec::new();
        write(3, &events, &mut old);
        events.iter_mut().for_each(|event| event.file = None);
        assert_eq!(read(3, events.len(), &mut Bytes(&old)), Some(events));
    }
}
