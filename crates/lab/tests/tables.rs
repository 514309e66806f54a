//! The tables of a fleet as `iowhy export` writes them, read back by the reference crate: what
//! single I/Os and histograms say is what the rows say.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::rc::Rc;

use iowhy_model::{
    Distribution, Edges, Event, Fact, FactValue, Filter, Histogram, Layer, Level, Nanos, Op,
    Random, Recording, Sampling, Sink, Source, Stage, Time, distributions, key,
};
use iowhy_show::tables::{
    About, Statement, StatementKind, Table, TableOptions, TableSink, TablesWritten,
};
use parquet::basic::Compression;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use crate::rows::{field, text};

const SECOND: i64 = 1_000_000_000;
/// 2026-11-22, ten seconds before midnight UTC.
const WALL: i64 = 1_795_391_990 * SECOND;
/// More than a run of single I/Os (262,144) and than two row groups.
const EVENTS: i64 = 280_001;

type SharedBytes = Rc<RefCell<Vec<u8>>>;

/// A file in memory that outlives its writer.
struct File(SharedBytes);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Files(BTreeMap<(Table, String), bytes::Bytes>, TablesWritten);

impl Files {
    fn of(options: TableOptions, emit: impl FnOnce(&mut dyn Sink)) -> Files {
        let kept: RefCell<BTreeMap<(Table, String), SharedBytes>> = RefCell::default();
        let open = |table: Table, date: &str, _: &About| -> io::Result<Box<dyn Write>> {
            let file = SharedBytes::default();
            let twice = kept.borrow_mut().insert((table, date.to_string()), file.clone());
            assert!(twice.is_none(), "{table:?} {date} was opened twice");
            Ok(Box::new(File(file)))
        };
        let mut sink = TableSink::new(options, Box::new(open));
        emit(&mut sink);
        let (recording, mut statements) = sink.settle().expect("memory");
        statements.facts(&recording);
        statements.add(Statement::new(None, StatementKind::Label, "rack", "r7"));
        let written = statements.finish().expect("memory");
        let files = kept.into_inner().into_iter();
        Files(files.map(|(name, file)| (name, file.take().into())).collect(), written)
    }

    fn readers(&self, table: Table) -> impl Iterator<Item = SerializedFileReader<bytes::Bytes>> {
        let of = self.0.iter().filter(move |((known, _), _)| *known == table);
        of.map(|(_, bytes)| SerializedFileReader::new(bytes.clone()).expect("a Parquet file"))
    }

    fn rows(&self, table: Table) -> Vec<Row> {
        let rows = |reader: SerializedFileReader<bytes::Bytes>| -> Vec<Row> {
            reader.get_row_iter(None).unwrap().map(|row| row.expect("a row")).collect()
        };
        self.readers(table).flat_map(rows).collect()
    }
}

fn whole(row: &Row, name: &str) -> Option<i64> {
    match field(row, name) {
        Field::Null => None,
        Field::Long(value) | Field::TimestampMicros(value) => Some(*value),
        Field::Int(value) => Some(i64::from(*value)),
        other => panic!("{name}: {other:?}"),
    }
}

/// A trace over midnight of two disks, some fields unknown now and then.
fn trace(sink: &mut dyn Sink) {
    let mut source = Source::new("block-trace", "x", Level::D);
    source.sampling = Sampling::Traced;
    sink.begin(source);
    let zero = FactValue::Duration(Nanos(WALL - 5 * SECOND));
    sink.fact(Fact::new(None, key::CLOCK_OFFSET, zero, "x"));
    let disks = [sink.device("sdb"), sink.device("nvme0n1")];
    let model = FactValue::Text("WDC WD40".to_string());
    sink.fact(Fact::new(Some(disks[0]), key::DEVICE_MODEL, model, "x"));
    let names = [sink.name("fio"), sink.name("µ, \"x\"")];
    let mut dice = Random::seeded(7);
    for k in 0..EVENTS {
        let roll = dice.bits();
        let mut event =
            Event::new(disks[(k % 2) as usize], Op::ALL[(k % 5) as usize], Layer::Block);
        // 20 s in all.
        let at = 5 * SECOND + k * 20 * SECOND / EVENTS;
        let latency = 20_000 + (roll % 90_000_000) as i64;
        event.completed = Some(Time::from_ns(at));
        event.issued = (roll >> 8 & 15 > 0).then(|| Time::from_ns(at - latency));
        event.queued = (roll >> 12 & 1 > 0).then(|| Time::from_ns(at - latency - 500));
        event.sector = (roll >> 16 & 7 > 0).then_some(roll);
        event.bytes = Some(4096);
        event.pid = Some((roll >> 20) as u32);
        event.comm = (roll >> 24 & 3 > 0).then_some(names[(k % 7 % 2) as usize]);
        event.depth = NonZeroU32::new(if roll >> 28 & 7 > 0 { (roll % 64) as u32 } else { 0 });
        event.error = (k % 1000 == 0).then_some(5);
        sink.event(event);
    }
    sink.end();
}

const ALL: TableOptions = TableOptions {
    minutes: false,
    began_ns: None,
    judged: false,
    cells: true,
    events: true,
    averages: false,
};

#[test]
fn cells_hold_every_io_once_as_the_histograms_do() {
    let mut recording = Recording::new();
    trace(&mut recording);
    let folded = distributions(&recording.listings[0], &Filter::default(), &Edges::standard());
    // Device, operation, stage, bucket: I/Os, and the sum over all buckets, ns.
    let mut wanted: BTreeMap<(String, String, String), BTreeMap<i64, i64>> = BTreeMap::new();
    let mut sums: BTreeMap<(String, String, String), i64> = BTreeMap::new();
    for one in &folded {
        let device = recording.device_of(one.device).name.clone();
        let kind = (device, one.op.unwrap().name().to_string(), one.stage.name().to_string());
        let counts = wanted.entry(kind.clone()).or_default();
        for (bucket, count) in one.histogram.counts().iter().enumerate().filter(|(_, n)| **n > 0) {
            counts.insert(bucket as i64, *count as i64);
        }
        sums.insert(kind, one.histogram.sum_ns.unwrap() as i64);
    }
    for minutes in [false, true] {
        let files = Files::of(TableOptions { minutes, ..ALL }, trace);
        let (mut counts, mut totals, mut keys) = (wanted.clone(), BTreeMap::new(), BTreeSet::new());
        counts.values_mut().for_each(|buckets| buckets.values_mut().for_each(|n| *n = 0));
        for row in files.rows(Table::Cells) {
            let known = |name| text(&row, name).expect(name);
            let kind = (known("device"), known("op"), known("stage"));
            let (time, bucket) = (whole(&row, "time").unwrap(), whole(&row, "bucket").unwrap());
            let count = whole(&row, "count").unwrap();
            assert!(count > 0);
            assert_eq!(known("origin"), "traced");
            assert_eq!(whole(&row, "span"), Some(if minutes { 60 } else { 1 }));
            assert_eq!(time % if minutes { 60_000_000 } else { 1_000_000 }, 0);
            assert_eq!(whole(&row, "bytes"), Some(4096 * count));
            *counts.get_mut(&kind).unwrap().get_mut(&bucket).unwrap() += count;
            *totals.entry(kind.clone()).or_insert(0) += whole(&row, "sum").unwrap();
            assert!(keys.insert((kind, time, bucket)), "a key stands twice");
        }
        assert_eq!(counts, wanted);
        assert_eq!(totals, sums);
        assert_eq!(files.1.days, Some(("2026-11-22".to_string(), "2026-11-23".to_string())));
    }
}

#[test]
fn single_ios_come_back_sorted_within_their_runs_and_bounds_hold() {
    let mut recording = Recording::new();
    trace(&mut recording);
    let files = Files::of(ALL, trace);
    let mut wanted = BTreeMap::new();
    for event in &recording.listings[0].events {
        let device = recording.device_of(event.device).name.clone();
        let at = (event.completed.unwrap().ns() + WALL - 5 * SECOND).div_euclid(1000);
        wanted.insert((device, at), *event);
    }
    assert_eq!(wanted.len() as i64, EVENTS, "no two have the same place");
    let standard = Edges::standard();
    let mut seen = 0;
    for reader in files.readers(Table::Events) {
        for group in reader.metadata().row_groups() {
            for column in group.columns() {
                let codec = column.compression();
                assert!(matches!(codec, Compression::ZSTD(_) | Compression::UNCOMPRESSED));
                let is = column.statistics().expect("statistics");
                let name = column.column_descr().name();
                let constant = ["sector", "d2c", "process", "pid"].contains(&name);
                assert!(!constant || is.min_bytes_opt() <= is.max_bytes_opt() || name != "process");
                assert!(is.null_count_opt().is_some(), "{name}");
            }
            let packed = group
                .columns()
                .iter()
                .any(|column| matches!(column.compression(), Compression::ZSTD(_)));
            assert!(packed, "zstd makes some of it smaller");
        }
        let mut before: Option<(i64, String)> = None;
        let mut runs = 1;
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let (device, at) = (text(&row, "device").unwrap(), whole(&row, "time").unwrap());
            let event = wanted[&(device.clone(), at)];
            seen += 1;
            let ns = |stage| event.latency(stage).map(Nanos::ns);
            for (column, stage) in
                [("q2d", Stage::Queue), ("d2c", Stage::Device), ("q2c", Stage::Total)]
            {
                assert_eq!(whole(&row, column), ns(stage), "{column}");
            }
            assert_eq!(whole(&row, "second"), Some(at.div_euclid(1_000_000) * 1_000_000));
            let bucket = ns(Stage::Device).map(|ns| standard.index(ns as u64) as i64);
            assert_eq!(whole(&row, "bucket"), bucket);
            assert_eq!(text(&row, "op").as_deref(), Some(event.op.name()));
            assert_eq!(text(&row, "flags"), Some(event.flags.rwbs(event.op)));
            let sector = event.sector.and_then(|sector| i64::try_from(sector).ok());
            assert_eq!(whole(&row, "sector"), sector);
            assert_eq!(whole(&row, "bytes"), event.bytes.map(i64::from));
            let pid = event.pid.and_then(|pid| i32::try_from(pid).ok()).map(i64::from);
            assert_eq!(whole(&row, "pid"), pid);
            assert_eq!(whole(&row, "in_flight"), event.depth.map(|depth| depth.get().into()));
            assert_eq!(whole(&row, "error"), event.error.map(i64::from));
            let process = event.comm.map(|name| recording.text(name).to_string());
            assert_eq!(text(&row, "process"), process);
            assert!(matches!(field(&row, "weight"), Field::Double(one) if *one == 1.0));
            runs += i32::from(before.is_some_and(|before| before > (at, device.clone())));
            before = Some((at, device));
        }
        assert!(runs <= 2, "{runs} runs");
    }
    assert_eq!(seen, EVENTS);
}

#[test]
fn histograms_and_statements_become_rows_of_their_days() {
    let files = Files::of(ALL, |sink| {
        sink.begin(Source::new("biolatency", "x", Level::B));
        let zero = FactValue::Duration(Nanos(WALL));
        sink.fact(Fact::new(None, key::CLOCK_OFFSET, zero, "x"));
        let disk = sink.device("sdb");
        let bytes = FactValue::Bytes(4_000_787_030_016);
        sink.fact(Fact::new(Some(disk), key::DEVICE_BYTES, bytes, "x"));
        let celsius = Fact::new(Some(disk), key::DEVICE_CELSIUS, FactValue::Celsius(41.0), "x");
        sink.fact(celsius.at(Time::from_ns(12 * SECOND)));
        for second in 0..20 {
            let mut histogram = Histogram::empty(Edges::standard());
            (1..=100u64).for_each(|k| histogram.record(k * 100_003));
            let mut one = Distribution::new(disk, Layer::Block, Stage::Device, histogram);
            one.start = Some(Time::from_ns(second * SECOND + 400_000_000));
            one.length = Some(Nanos(SECOND));
            sink.distribution(one);
        }
        let mut bare = Distribution::new(
            disk,
            Layer::Block,
            Stage::Total,
            Histogram::from_summary(7, 3e6, 1_000_000, 9_000_000),
        );
        (bare.op, bare.start) = (Some(Op::Write), Some(Time::from_ns(0)));
        sink.distribution(bare);
        sink.end();
    });
    let rows = files.rows(Table::Cells);
    let of =
        |stage: &'static str| rows.iter().filter(move |row| text(row, "stage").unwrap() == stage);
    assert_eq!(of("D2C").map(|row| whole(row, "count").unwrap()).sum::<i64>(), 2000);
    let sum: i64 = of("D2C").map(|row| whole(row, "sum").unwrap()).sum();
    assert_eq!(sum, 20 * 5050 * 100_003);
    assert!(of("D2C").all(|row| text(row, "op").is_none()));
    let bare: Vec<&Row> = of("Q2C").collect();
    assert_eq!(bare.len(), 1);
    let standard = Edges::standard();
    assert_eq!(whole(bare[0], "bucket"), Some(standard.index(3_000_000) as i64));
    assert_eq!(whole(bare[0], "sum"), Some(21_000_000));
    assert_eq!(text(bare[0], "origin").as_deref(), Some("estimated"));
    let stated: Vec<(String, Option<i64>, String)> = files
        .rows(Table::Facts)
        .iter()
        .map(|row| (text(row, "key").unwrap(), whole(row, "time"), text(row, "value").unwrap()))
        .collect();
    let known = |key: &str| stated.iter().filter(|(known, ..)| known == key).count();
    // What holds all the time is in both days, what holds at one moment in its own.
    assert_eq!((known("size"), known("device.bytes"), known("rack")), (2, 2, 2));
    assert_eq!(known("device.celsius"), 1);
    assert_eq!(known("clock.realtime_offset_ns"), 0);
    let label =
        files.rows(Table::Facts).into_iter().find(|row| text(row, "key").unwrap() == "rack");
    assert_eq!(text(&label.unwrap(), "kind").as_deref(), Some("label"));
}

#[test]
fn what_has_no_date_is_counted_and_a_date_given_places_it() {
    let undated = |sink: &mut dyn Sink| {
        sink.begin(Source::new("biosnoop", "x", Level::C));
        let disk = sink.device("sdb");
        for k in 1..=50 {
            let mut event = Event::new(disk, Op::Read, Layer::Block);
            event.issued = Some(Time::from_ns(k * SECOND));
            event.completed = Some(Time::from_ns(k * SECOND + 1_000_000));
            sink.event(event);
        }
        let mut call = Event::new(disk, Op::Read, Layer::Syscall);
        call.completed = Some(Time::from_ns(2 * SECOND));
        sink.event(call);
        sink.end();
    };
    let files = Files::of(ALL, undated);
    assert_eq!((files.1.unwritten.undated, files.1.unwritten.other_layer), (50, 1));
    assert!(files.0.is_empty(), "not even a label has a date");
    let files = Files::of(TableOptions { began_ns: Some(WALL), ..ALL }, undated);
    let rows = files.rows(Table::Events);
    assert_eq!(rows.len(), 50);
    assert_eq!(whole(&rows[0], "time"), Some(WALL / 1000));
    assert_eq!(files.1.unwritten.undated, 0);
}

#[test]
fn the_buckets_are_the_standard_table() {
    let mut bytes = Vec::new();
    iowhy_show::tables::write_buckets(&mut bytes).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let reported = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
    let reported: BTreeMap<String, Option<String>> =
        reported.into_iter().map(|pair| (pair.key, pair.value)).collect();
    assert_eq!(reported["iowhy.schema"].as_deref(), Some("2"));
    assert_eq!(reported["iowhy.table"].as_deref(), Some("buckets"));
    let edges = Edges::standard();
    let rows: Vec<Row> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), edges.buckets());
    for (bucket, row) in rows.iter().enumerate() {
        assert_eq!(whole(row, "bucket"), Some(bucket as i64));
        assert_eq!(whole(row, "low_ns"), Some(edges.low(bucket) as i64));
        let high = i64::try_from(edges.high(bucket)).unwrap_or(i64::MAX);
        assert_eq!(whole(row, "high_ns"), Some(high));
    }
}
