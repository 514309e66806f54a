//! The fields of an event and of an interval, each described once: all code that writes or reads
//! records (table, CSV, JSON, Parquet, native capture, `convert`) walks these lists.
//!
//! The order is that of the columns. A field that is added here is written everywhere; the test of
//! the native capture does not compile until the field has a format version.

use std::num::{NonZeroU8, NonZeroU32};

use crate::{DeviceId, Event, Flags, Interval, Layer, Name, Nanos, Op, Rates, SmallNumber, Time};

/// The content of a field.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FieldValue {
    /// A device of the recording.
    Device(DeviceId),
    /// An operation.
    Op(Op),
    /// Flags, with the operation that their letters begin with.
    Flags(Op, Flags),
    /// A layer.
    Layer(Layer),
    /// A point in time on the clock of the source, ns.
    Time(Time),
    /// A length of time, ns.
    Length(Nanos),
    /// A whole number.
    Whole(u64),
    /// A number with a fraction.
    Real(f64),
    /// Yes or no.
    Flag(bool),
    /// A string of the recording.
    Name(Name),
}

/// The type of a field's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// [`FieldValue::Device`].
    Device,
    /// [`FieldValue::Op`].
    Op,
    /// [`FieldValue::Flags`].
    Flags,
    /// [`FieldValue::Layer`].
    Layer,
    /// [`FieldValue::Time`].
    Time,
    /// [`FieldValue::Length`].
    Length,
    /// [`FieldValue::Whole`], up to this number.
    Whole(u64),
    /// [`FieldValue::Real`].
    Real,
    /// [`FieldValue::Flag`].
    Flag,
    /// [`FieldValue::Name`].
    Name,
}

/// One field of a record of type `R`.
pub struct Field<R> {
    /// Its name in JSON, CSV and Parquet; that of a number ends in its unit where it has one.
    pub name: &'static str,
    /// Its name in a sentence, as in "its I/Os have a control group, which biosnoop cannot carry".
    pub title: &'static str,
    /// The meaning of its values, if the name does not explain it; else empty.
    pub unit: &'static str,
    /// The type of its values.
    pub kind: FieldKind,
    /// Whether few sources have it: JSON lines leave it out if it is unknown.
    pub rare: bool,
    /// Its column in a table of averages, and the size of that column's unit.
    pub column: Option<(&'static str, f64)>,
    /// Its value, if it is known.
    pub get: fn(&R) -> Option<FieldValue>,
    /// Sets its value; false if the value has the wrong type.
    pub set: fn(&mut R, FieldValue) -> bool,
}

/// How to get and set a field: one that may be unknown, or one that never is.
macro_rules! access {
    ($slot:ident, small) => {
        (
            |record| record.$slot.map(|value| FieldValue::Whole(value.get().into())),
            |record, value| {
                let FieldValue::Whole(value) = value else { return false };
                let fits = SmallNumber::new(value);
                record.$slot = fits.or(record.$slot);
                fits.is_some()
            },
        )
    };
    ($slot:ident, $kind:ident) => {
        (
            |record| record.$slot.map(FieldValue::$kind),
            |record, value| {
                let FieldValue::$kind(value) = value else { return false };
                record.$slot = Some(value);
                true
            },
        )
    };
    ($slot:ident, always $kind:ident) => {
        (
            |record| Some(FieldValue::$kind(record.$slot)),
            |record, value| {
                let FieldValue::$kind(value) = value else { return false };
                record.$slot = value;
                true
            },
        )
    };
    ($slot:ident, whole $word:ty) => {
        (
            |record| record.$slot.map(|value| FieldValue::Whole(value.into())),
            |record, value| {
                let FieldValue::Whole(value) = value else { return false };
                let fits: Option<$word> = value.try_into().ok();
                record.$slot = fits.or(record.$slot);
                fits.is_some()
            },
        )
    };
}

type Access<R> = (fn(&R) -> Option<FieldValue>, fn(&mut R, FieldValue) -> bool);

const fn field<R>(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    kind: FieldKind,
    (get, set): Access<R>,
) -> Field<R> {
    Field { name, title, unit, kind, rare: false, column: None, get, set }
}

/// One that few sources have.
const fn rare<R>(field: Field<R>) -> Field<R> {
    Field { rare: true, ..field }
}

/// One with a column in a table of averages.
const fn column<R>(title: &'static str, one: f64, field: Field<R>) -> Field<R> {
    Field { column: Some((title, one)), ..field }
}

const CLOCK: &str = "ns on the clock of the source";
const U16: FieldKind = FieldKind::Whole(u16::MAX as u64);
/// Numbers of CPUs and queues.
const SMALL: FieldKind = FieldKind::Whole(u16::MAX as u64 - 1);
const U32: FieldKind = FieldKind::Whole(u32::MAX as u64);
const U64: FieldKind = FieldKind::Whole(u64::MAX);
/// Nanoseconds in a millisecond.
const MS: f64 = 1e6;
/// Bytes in what iostat calls kB.
const KIB: f64 = 1024.0;
/// A percent of a share.
const PERCENT: f64 = 0.01;

/// The fields of an event.
pub const EVENT_FIELDS: [Field<Event>; 19] = {
    use FieldKind as K;
    [
        field("device", "a device", "", K::Device, access!(device, always Device)),
        field("op", "an operation", "", K::Op, access!(op, always Op)),
        field(
            "flags",
            "flags",
            "the kernel's rwbs letters",
            K::Flags,
            (
                |event| Some(FieldValue::Flags(event.op, event.flags)),
                |event, value| {
                    let FieldValue::Flags(_, flags) = value else { return false };
                    event.flags = flags;
                    true
                },
            ),
        ),
        field("queued_ns", "a time of queueing", CLOCK, K::Time, access!(queued, Time)),
        field("issued_ns", "a time of issue", CLOCK, K::Time, access!(issued, Time)),
        field("completed_ns", "a time of completion", CLOCK, K::Time, access!(completed, Time)),
        field("sector", "a sector", "units of 512 bytes", U64, access!(sector, whole u64)),
        field("bytes", "a size", "bytes", U32, access!(bytes, whole u32)),
        field("pid", "a process number", "", U32, access!(pid, whole u32)),
        field("comm", "a process name", "", K::Name, access!(comm, Name)),
        field(
            "depth",
            "a queue depth",
            "requests in flight at issue, this one included",
            U32,
            (
                |event| event.depth.map(|depth| FieldValue::Whole(depth.get().into())),
                |event, value| {
                    let FieldValue::Whole(value) = value else { return false };
                    let depth = u32::try_from(value);
                    // Not even itself in flight: not known.
                    event.depth = depth.ok().and_then(NonZeroU32::new).or(event.depth);
                    depth.is_ok()
                },
            ),
        ),
        field("error", "an error", "errno", U16, access!(error, whole u16)),
        field("layer", "a layer", "", K::Layer, access!(layer, always Layer)),
        rare(field("arrived_ns", "a time of arrival", CLOCK, K::Time, access!(arrived, Time))),
        rare(field("cgroup", "a control group", "", K::Name, access!(cgroup, Name))),
        rare(field("file", "a file", "", K::Name, access!(file, Name))),
        rare(field("cpu", "a CPU", "of its completion", SMALL, access!(cpu, small))),
        rare(field("queue", "a hardware queue", "its number", SMALL, access!(queue, small))),
        rare(field(
            "weight",
            "a weight",
            "number of I/Os that it represents",
            FieldKind::Whole(u8::MAX as u64),
            (
                |event| event.weight.map(|weight| FieldValue::Whole(weight.get().into())),
                |event, value| {
                    let FieldValue::Whole(value) = value else { return false };
                    let weight = u8::try_from(value).ok().and_then(NonZeroU8::new);
                    event.weight = weight.or(event.weight);
                    weight.is_some()
                },
            ),
        )),
    ]
};

/// The fields of an interval, beside its device, its layer and its rates.
pub const INTERVAL_FIELDS: [Field<Interval>; 11] = {
    use FieldKind as K;
    [
        field("start_ns", "a beginning", CLOCK, K::Time, access!(start, Time)),
        field("length_ns", "a length", "ns", K::Length, access!(length, Length)),
        field("since_boot", "since boot", "", K::Flag, access!(since_boot, always Flag)),
        column("await", MS, field("await_ns", "await", "ns", K::Real, access!(await_ns, Real))),
        column(
            "aqu-sz",
            1.0,
            field("aqu_sz", "a queue length", "requests", K::Real, access!(queue_len, Real)),
        ),
        column(
            "actv",
            1.0,
            field("active_len", "a length on disk", "requests", K::Real, access!(active_len, Real)),
        ),
        column(
            "asvc_t",
            MS,
            field("device_ns", "a device time", "ns", K::Real, access!(device_ns, Real)),
        ),
        column("wsvc_t", MS, field("wait_ns", "a wait", "ns", K::Real, access!(wait_ns, Real))),
        column(
            "%util",
            PERCENT,
            field("busy_share", "a busy share", "0 to 1", K::Real, access!(busy, Real)),
        ),
        field("svctm_ns", "svctm", "ns", K::Real, access!(svctm_ns, Real)),
        field("in_flight", "requests in flight", "requests", U64, access!(in_flight, whole u64)),
    ]
};

/// The fields of the rates of one operation. In a table the operation's letter precedes the column.
pub const RATE_FIELDS: [Field<Rates>; 4] = {
    use FieldKind as K;
    [
        column(
            "/s",
            1.0,
            field("ios_per_s", "requests", "per second", K::Real, access!(ios_per_s, always Real)),
        ),
        column(
            "rqm/s",
            1.0,
            field("merges_per_s", "merges", "per second", K::Real, access!(merges_per_s, Real)),
        ),
        column(
            "kB/s",
            KIB,
            field("bytes_per_s", "bytes", "per second", K::Real, access!(bytes_per_s, Real)),
        ),
        column("_await", MS, field("await_ns", "await", "ns", K::Real, access!(await_ns, Real))),
    ]
};

impl<R> Field<R> {
    /// The field of a name.
    pub fn named<'a>(list: &'a [Field<R>], name: &str) -> Option<&'a Field<R>> {
        list.iter().find(|field| field.name == name)
    }

    /// Its value as its column in a table counts it.
    pub fn in_column(&self, record: &R) -> Option<f64> {
        let (_, one) = self.column?;
        match (self.get)(record)? {
            FieldValue::Real(value) if one < 1.0 => Some(value * (1.0 / one)),
            FieldValue::Real(value) => Some(value / one),
            _ => None,
        }
    }
}

impl Event {
    /// Renumbers every string to its number in another recording.
    pub fn rename(&mut self, mut other: impl FnMut(Name) -> Option<Name>) {
        for slot in [&mut self.comm, &mut self.cgroup, &mut self.file] {
            *slot = slot.and_then(&mut other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that no other field has.
    fn value(kind: FieldKind, place: usize) -> FieldValue {
        match kind {
            FieldKind::Device => FieldValue::Device(DeviceId::at(7)),
            FieldKind::Op => FieldValue::Op(Op::Flush),
            FieldKind::Flags => FieldValue::Flags(Op::Flush, Flags::META),
            FieldKind::Layer => FieldValue::Layer(Layer::Syscall),
            FieldKind::Time => FieldValue::Time(Time::from_ns(place as i64)),
            FieldKind::Length => FieldValue::Length(Nanos(place as i64)),
            FieldKind::Whole(_) => FieldValue::Whole(place as u64),
            FieldKind::Real => FieldValue::Real(place as f64),
            FieldKind::Flag => FieldValue::Flag(true),
            FieldKind::Name => FieldValue::Name(Name::at(place as u32)),
        }
    }

    fn each_takes_its_own<R>(fields: &[Field<R>], mut record: R) -> R {
        for (place, field) in fields.iter().enumerate() {
            assert!((field.set)(&mut record, value(field.kind, place)), "{}", field.name);
            if let FieldKind::Whole(most) = field.kind
                && most < u64::MAX
            {
                let more = FieldValue::Whole(most + 1);
                assert!(!(field.set)(&mut record, more), "{} takes {most} + 1", field.name);
            }
        }
        for (place, field) in fields.iter().enumerate() {
            assert_eq!((field.get)(&record), Some(value(field.kind, place)), "{}", field.name);
        }
        record
    }

    /// The patterns name every field, without `..`: a new one does not compile before it is listed.
    #[test]
    fn every_field_is_listed_and_holds_what_it_is_given() {
        let event = Event::new(DeviceId::at(0), Op::Read, Layer::Block);
        let Event {
            arrived: Some(_),
            queued: Some(_),
            issued: Some(_),
            completed: Some(_),
            sector: Some(_),
            bytes: Some(_),
            pid: Some(_),
            comm: Some(_),
            cgroup: Some(_),
            file: Some(_),
            depth: Some(_),
            cpu: Some(_),
            queue: Some(_),
            weight: Some(_),
            device: _,
            error: Some(_),
            layer: Layer::Syscall,
            op: Op::Flush,
            flags: Flags::META,
        } = each_takes_its_own(&EVENT_FIELDS, event)
        else {
            panic!("a field of an event is not in the list");
        };
        let interval = Interval::new(DeviceId::at(0), Layer::Block);
        let Interval {
            device: _,
            layer: _,
            start: Some(_),
            length: Some(_),
            since_boot: true,
            rates: _,
            mixed: _,
            await_ns: Some(_),
            queue_len: Some(_),
            active_len: Some(_),
            device_ns: Some(_),
            wait_ns: Some(_),
            busy: Some(_),
            svctm_ns: Some(_),
            in_flight: Some(_),
        } = each_takes_its_own(&INTERVAL_FIELDS, interval)
        else {
            panic!("a field of an interval is not in the list");
        };
        let Rates { ios_per_s: _, merges_per_s: Some(_), bytes_per_s: Some(_), await_ns: Some(_) } =
            each_takes_its_own(&RATE_FIELDS, Rates::default())
        else {
            panic!("a rate is not in the list");
        };
    }

    #[test]
    fn names_get_the_numbers_they_have_elsewhere() {
        let mut event = Event::new(DeviceId::at(0), Op::Read, Layer::Block);
        for field in EVENT_FIELDS.iter().filter(|field| field.kind == FieldKind::Name) {
            assert!((field.set)(&mut event, FieldValue::Name(Name::at(1))));
        }
        event.rename(|name| Some(Name::at(name.index() as u32 + 4)));
        for field in EVENT_FIELDS.iter().filter(|field| field.kind == FieldKind::Name) {
            let other = Some(FieldValue::Name(Name::at(5)));
            assert_eq!((field.get)(&event), other, "{}", field.name);
        }
    }
}
