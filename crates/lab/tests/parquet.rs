//! What `iowhy convert` writes as Parquet, read back by the reference crate, field by field.
//!
//! The crate is a dependency of this test alone: what ships writes Parquet itself.

use std::num::NonZeroU32;

use iowhy_model::{
    Distribution, Edges, Event, Flags, Histogram, Layer, Level, Op, Random, Recording, Report,
    Sink, Source, Stage, Time,
};
use iowhy_show::{Style, views};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::record::{Field, Row};

use crate::rows::{field, text};

/// More than one row group (131,072 rows), and not a whole number of pages.
const EVENTS: u64 = 140_001;

fn written(recording: Recording) -> (Recording, SerializedFileReader<bytes::Bytes>) {
    let report = Report { recording, findings: Vec::new() };
    let mut out = Vec::new();
    (views::parquet::VIEW.write)(&report, &Style::plain(), &mut out).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(out)).expect("a Parquet file");
    (report.recording, reader)
}

fn message(reader: &SerializedFileReader<bytes::Bytes>, key: &str) -> serde_json::Value {
    let all = reader.metadata().file_metadata().key_value_metadata().expect("metadata");
    let value = all.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
    serde_json::from_str(&value.expect(key)).unwrap_or_default()
}

fn long(row: &Row, name: &str) -> Option<i64> {
    match field(row, name) {
        Field::Null => None,
        Field::Long(value) => Some(*value),
        Field::ULong(value) => Some(*value as i64),
        Field::UInt(value) => Some(i64::from(*value)),
        other => panic!("{name}: {other:?}"),
    }
}

/// Events in which every field is now and then unknown, and numbers are as wild as they may be.
fn wild(recording: &mut Recording) {
    let mut source = Source::new("biosnoop", "x", Level::C);
    source.host = Some("somewhere".to_string());
    recording.begin(source);
    recording.lost("events dropped", 7);
    let devices = [recording.device("sda"), recording.device("nvme0n1"), recording.device("")];
    let names = [recording.name("fio"), recording.name("kworker/u8:2"), recording.name("µ, \"x\"")];
    let mut dice = Random::seeded(88_172_645_463_325_252);
    let mut roll = || dice.bits();
    for k in 0..EVENTS {
        let mut event =
            Event::new(devices[(k % 3) as usize], Op::ALL[(k % 5) as usize], Layer::Block);
        let random = roll();
        let mut some = |bit: u32| (random >> bit & 7 > 0).then(&mut roll);
        event.completed = some(0).map(|_| Time::from_ns(k as i64 * 1_000_003));
        event.issued = some(3).map(|value| Time::from_ns(value as i64));
        event.queued = some(6).map(|value| Time::from_ns((value % 1000) as i64 - 500));
        event.arrived = some(9).filter(|value| value % 9 == 0).map(|_| Time::from_ns(i64::MAX));
        event.sector = some(12);
        event.bytes = some(15).map(|value| value as u32);
        event.pid = some(18).map(|value| value as u32);
        event.depth = some(21).and_then(|value| NonZeroU32::new((value % 64) as u32));
        event.error = some(24).filter(|value| value % 77 == 0).map(|value| value as u16);
        event.comm = some(27).map(|value| names[(value % 3) as usize]);
        event.cgroup = some(30).filter(|_| k > 100_000).map(|_| names[1]);
        event.file = some(33).filter(|_| k < 100_000).map(|_| names[2]);
        event.layer = Layer::ALL[(k / 7 % 3) as usize];
        event.flags = if k % 2 == 0 { Flags::SYNC } else { Flags::FUA };
        recording.event(event);
    }
}

#[test]
fn every_field_of_every_event_comes_back() {
    let mut recording = Recording::new();
    wild(&mut recording);
    let (recording, reader) = written(recording);
    let listing = &recording.listings[0];
    assert_eq!(reader.metadata().num_row_groups(), 2);
    assert_eq!(reader.metadata().file_metadata().num_rows(), EVENTS as i64);
    let mut rows = 0;
    for (event, row) in listing.events.iter().zip(reader.get_row_iter(None).unwrap()) {
        let row = row.expect("a row");
        rows += 1;
        let name = |name| recording.text(name).to_string();
        assert_eq!(text(&row, "device").as_deref(), Some(&*recording.device_of(event.device).name));
        assert_eq!(text(&row, "op").as_deref(), Some(event.op.name()));
        assert_eq!(text(&row, "flags"), Some(event.flags.rwbs(event.op)));
        assert_eq!(text(&row, "comm"), event.comm.map(name));
        assert_eq!(text(&row, "cgroup"), event.cgroup.map(name));
        assert_eq!(text(&row, "file"), event.file.map(name));
        assert_eq!(text(&row, "layer").as_deref(), Some(event.layer.name()));
        // One for each field of the list, and the source.
        assert_eq!(row.len(), 1 + iowhy_model::EVENT_FIELDS.len());
        for (key, time) in [
            ("arrived_ns", event.arrived),
            ("queued_ns", event.queued),
            ("issued_ns", event.issued),
            ("completed_ns", event.completed),
        ] {
            assert_eq!(long(&row, key), time.map(Time::ns), "{key}");
        }
        assert_eq!(long(&row, "sector"), event.sector.map(|sector| sector as i64));
        for (key, value) in [
            ("bytes", event.bytes),
            ("pid", event.pid),
            ("depth", event.depth.map(NonZeroU32::get)),
            ("error", event.error.map(u32::from)),
        ] {
            assert_eq!(long(&row, key), value.map(i64::from), "{key}");
        }
    }
    assert_eq!(rows, EVENTS);
    let sources = message(&reader, "iowhy.sources");
    assert_eq!((&sources[0]["lost"], &sources[0]["host"]), (&7.into(), &"somewhere".into()));
    assert_eq!(message(&reader, "iowhy.units")["sector"], "units of 512 bytes");
}

/// What the rows of a group say of a column: its least value, its largest, how many are null.
#[derive(Default, PartialEq, Debug)]
struct Bounds<T> {
    least: Option<T>,
    most: Option<T>,
    nulls: u64,
}

impl<T: Ord + Clone> Bounds<T> {
    fn of(values: impl Iterator<Item = Option<T>>) -> Bounds<T> {
        let values: Vec<Option<T>> = values.collect();
        let known = values.iter().flatten();
        let nulls = values.iter().filter(|value| value.is_none()).count() as u64;
        Bounds { least: known.clone().min().cloned(), most: known.max().cloned(), nulls }
    }
}

/// What the file reports of it.
fn reported<T>(one: &Statistics, value: impl Fn(&[u8]) -> T) -> Bounds<T> {
    assert!(one.min_bytes_opt().is_none() || !one.is_min_max_deprecated());
    Bounds {
        least: one.min_bytes_opt().map(&value),
        most: one.max_bytes_opt().map(&value),
        nulls: one.null_count_opt().expect("a count"),
    }
}

#[test]
fn bounds_of_each_column_are_those_of_its_rows() {
    let mut recording = Recording::new();
    wild(&mut recording);
    // The largest text is too long to be reported: its column has no bounds where it occurs.
    let long_name = recording.name(&"\u{fe}".repeat(33));
    recording.listings[0].events[EVENTS as usize - 1].comm = Some(long_name);
    let (recording, reader) = written(recording);
    let events = &recording.listings[0].events;
    let orders = reader.metadata().file_metadata().column_orders().expect("orders");
    assert_eq!(orders.len(), 1 + iowhy_model::EVENT_FIELDS.len());
    let mut compared = 0;
    let mut first = 0;
    for group in reader.metadata().row_groups() {
        let rows = &events[first..first + group.num_rows() as usize];
        first += rows.len();
        for column in group.columns() {
            let is = column.statistics().expect("statistics");
            let i64s = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().unwrap());
            let u64s = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
            let u32s = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
            let texts = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let ns = |time: Option<Time>| time.map(Time::ns);
            let name = |name| recording.text(name).to_string();
            match column.column_descr().name() {
                "queued_ns" => {
                    assert_eq!(
                        reported(is, i64s),
                        Bounds::of(rows.iter().map(|one| ns(one.queued)))
                    );
                }
                "issued_ns" => {
                    assert_eq!(
                        reported(is, i64s),
                        Bounds::of(rows.iter().map(|one| ns(one.issued)))
                    );
                }
                "sector" => {
                    assert_eq!(reported(is, u64s), Bounds::of(rows.iter().map(|one| one.sector)));
                }
                "pid" => assert_eq!(reported(is, u32s), Bounds::of(rows.iter().map(|one| one.pid))),
                "cgroup" => {
                    let wanted = Bounds::of(rows.iter().map(|one| one.cgroup.map(name)));
                    assert_eq!(reported(is, texts), wanted);
                }
                "comm" => {
                    let mut wanted = Bounds::of(rows.iter().map(|one| one.comm.map(name)));
                    if first == events.len() {
                        (wanted.least, wanted.most) = (None, None);
                    }
                    assert_eq!(reported(is, texts), wanted);
                }
                _ => continue,
            }
            compared += 1;
        }
    }
    assert_eq!((first, compared), (events.len(), 12));
}

#[test]
fn histograms_become_one_row_per_bucket() {
    let mut recording = Recording::new();
    recording.begin(Source::new("biolatency", "x", Level::B));
    let device = recording.device("sdb");
    for k in 1..5000u64 {
        let mut histogram = Histogram::empty(Edges::standard());
        histogram.record(k * 1000);
        histogram.record(u64::MAX);
        let mut one = Distribution::new(device, Layer::Block, Stage::Device, histogram);
        one.op = (k % 2 == 0).then_some(Op::Read);
        one.start = Some(Time::from_ns(k as i64));
        recording.distribution(one);
    }
    let (recording, reader) = written(recording);
    let mut rows = reader.get_row_iter(None).unwrap();
    for (place, one) in recording.listings[0].distributions.iter().enumerate() {
        for (low, high, count) in one.histogram.filled() {
            let row = rows.next().expect("a row").expect("a row");
            assert_eq!(long(&row, "histogram"), Some(place as i64));
            assert_eq!(long(&row, "low_ns"), Some(low as i64));
            assert_eq!(long(&row, "high_ns"), (high < u64::MAX).then_some(high as i64));
            assert_eq!(long(&row, "count"), Some(count as i64));
            assert_eq!(text(&row, "op").as_deref(), one.op.map(|op| op.name()));
            assert_eq!(text(&row, "stage").as_deref(), Some("D2C"));
        }
    }
    assert!(rows.next().is_none());
}
