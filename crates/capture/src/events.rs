//! Events as columns: times as differences, sectors from the end of the I/O before, and who did
//! it as a place in a list of processes. Every other field is a plain column.

use std::collections::HashMap;

use crate::bytes::{self, Bytes, unzigzag, zigzag};
use crate::columns::{pack, unpack};
use iowhy_model::{
    DeviceId, EVENT_FIELDS, Event, Field, FieldKind, FieldValue, Flags, Layer, Name, Op, Time,
};

/// Who did an I/O: process, its name, its control group.
type Who = (Option<u32>, Option<Name>, Option<Name>);

/// The fields that are plain columns, in their order, each with the version it came with.
const PLAIN: [(&str, u16); 4] = [("depth", 1), ("error", 1), ("file", 4), ("weight", 5)];
/// Bytes of a sector, whatever the device's blocks.
const SECTOR: u64 = 512;

/// Writes events whose devices and names are already numbered by the block's own lists.
pub fn write(version: u16, events: &[Event], out: &mut Vec<u8>) {
    bytes::number(events.len() as u64, out);
    if events.is_empty() {
        return;
    }
    let mut column = Vec::with_capacity(events.len());
    let mut each = |value: &dyn Fn(&Event) -> u64, out: &mut Vec<u8>| {
        column.clear();
        column.extend(events.iter().map(value));
        pack(&column, out);
    };
    each(&|event| event.device.index() as u64, out);
    each(&kind, out);
    write_who(events, out);
    write_times(events, out);
    optional(events.iter().map(|event| event.bytes.map(u64::from)), out);
    write_sectors(events, out);
    for field in plain(version) {
        let number = |event| match (field.get)(event) {
            Some(FieldValue::Whole(number)) => Some(number),
            Some(FieldValue::Name(name)) => Some(name.index() as u64),
            _ => None,
        };
        optional(events.iter().map(number), out);
    }
}

/// The plain columns of a version.
fn plain(version: u16) -> impl Iterator<Item = &'static Field<Event>> {
    let there = PLAIN.iter().filter(move |(_, since)| *since <= version);
    there.filter_map(|(name, _)| Field::named(&EVENT_FIELDS, name))
}

/// Reads those of a version back; devices and names still carry the numbers of the block's own
/// lists.
pub fn read(version: u16, limit: usize, from: &mut Bytes) -> Option<Vec<Event>> {
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

fn write_who(events: &[Event], out: &mut Vec<u8>) {
    let mut places: HashMap<Who, u64> = HashMap::new();
    let mut list: Vec<Who> = Vec::new();
    let mut last: Option<(Who, u64)> = None;
    let mut column = Vec::with_capacity(events.len());
    for event in events {
        let who = (event.pid, event.comm, event.cgroup);
        let place = match last {
            Some((known, place)) if known == who => place,
            _ => *places.entry(who).or_insert_with(|| {
                list.push(who);
                list.len() as u64 - 1
            }),
        };
        last = Some((who, place));
        column.push(place);
    }
    bytes::number(list.len() as u64, out);
    for (pid, comm, cgroup) in list {
        bytes::maybe(pid, out, |pid, out| bytes::number(pid.into(), out));
        for name in [comm, cgroup] {
            bytes::maybe(name, out, |name, out| bytes::number(name.index() as u64, out));
        }
    }
    pack(&column, out);
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

/// Completion from the completion before; every other time from the next later one that is known,
/// or from the completion before.
fn write_times(events: &[Event], out: &mut Vec<u8>) {
    let mut columns: [Vec<Option<u64>>; 4] = std::array::from_fn(|_| Vec::new());
    let mut before = 0i64;
    for event in events {
        let mut anchor = before;
        let times = [event.completed, event.issued, event.queued, event.arrived];
        for (column, time) in columns.iter_mut().zip(times) {
            column.push(time.map(|time| zigzag(time.ns().wrapping_sub(anchor))));
            anchor = time.map_or(anchor, Time::ns);
        }
        before = event.completed.map_or(before, Time::ns);
    }
    columns.into_iter().for_each(|column| optional(column.into_iter(), out));
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

/// Sectors as they are, or from the end of the I/O before: whichever is shorter.
fn write_sectors(events: &[Event], out: &mut Vec<u8>) {
    let plain: Vec<Option<u64>> = events.iter().map(|event| event.sector).collect();
    let mut end = 0u64;
    let steps: Vec<Option<u64>> = events
        .iter()
        .map(|event| {
            let sector = event.sector?;
            let step = zigzag(sector.wrapping_sub(end) as i64);
            end = end_of(sector, event.bytes);
            Some(step)
        })
        .collect();
    let bits = |column: &[Option<u64>]| -> u64 {
        column.iter().flatten().map(|value| u64::from(64 - value.leading_zeros())).sum()
    };
    let by_steps = bits(&steps) < bits(&plain);
    out.push(u8::from(by_steps));
    optional((if by_steps { steps } else { plain }).into_iter(), out);
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

/// Which values are known, then those that are.
fn optional(values: impl Iterator<Item = Option<u64>>, out: &mut Vec<u8>) {
    let (mut known, mut all) = (Vec::new(), Vec::new());
    for value in values {
        known.push(u64::from(value.is_some()));
        all.extend(value);
    }
    pack(&known, out);
    pack(&all, out);
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
    use crate::VERSION;
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
                event.depth = Some(1 + roll(32) as u32);
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
            let plain = PLAIN.iter().any(|(name, _)| *name == field.name);
            assert!(
                plain != packed.contains(&field.name),
                "`{}` is new: add it to PLAIN with the next VERSION",
                field.name
            );
        }
        assert!(plain(VERSION).count() == PLAIN.len() && plain(3).count() == 2);
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
            event.depth = (k % 8 == 0).then_some(k as u32);
            event.error = (k % 50 == 0).then_some(5);
            event.file = (k % 12 == 0).then_some(dd);
            event.flags = Flags::SYNC.with(Flags::FUA);
            event.op = Op::ALL[k % 5];
            event.layer = Layer::ALL[k % 3];
        }
        round_trip(&events);
        round_trip(&[]);
        // As version 3 wrote them: all but the file.
        let mut old = Vec::new();
        write(3, &events, &mut old);
        events.iter_mut().for_each(|event| event.file = None);
        assert_eq!(read(3, events.len(), &mut Bytes(&old)), Some(events));
    }
}
