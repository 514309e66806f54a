//! The source documents are read as they are: prose, re-flowed tables, several rows on a line.
//!
//! They are no part of the repository; where they do not lie beside it, the tests say so.

#![allow(clippy::print_stderr)]

use std::path::Path;

use iowhy_model::{Interval, Listing, Op, Recording};
use iowhy_read::scan;

/// The document whose name begins so, read; `None`, loudly, if it is not there.
fn read(start: &str) -> Option<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/sources");
    let found = std::fs::read_dir(&folder).ok().and_then(|entries| {
        let named = |path: &Path| path.file_name().unwrap().to_string_lossy().starts_with(start);
        entries.flatten().map(|entry| entry.path()).find(|path| named(path))
    });
    let Some(path) = found else {
        eprintln!("skipped: needs source document {start} in ../shared/sources");
        return None;
    };
    let text = std::fs::read(path).unwrap();
    let mut recording = Recording::new();
    scan(start, &mut text.as_slice(), None, &mut recording).unwrap();
    Some(recording)
}

fn listings<'a>(recording: &'a Recording, format: &str) -> Vec<&'a Listing> {
    recording.listings.iter().filter(|listing| listing.source.format == format).collect()
}

/// Device, r/s, kB read/s, r_await ms, w/s, kB written/s, w_await ms, queue, svctm ms, %util.
type Row = (&'static str, f64, f64, Option<f64>, f64, f64, Option<f64>, f64, f64, f64);

fn check(recording: &Recording, interval: &Interval, row: &Row) {
    let near = |value: f64, printed: f64, what: &str| {
        assert!((value - printed).abs() < 1e-6, "{} {what}: {value}, printed {printed}", row.0);
    };
    let (read, write) = (interval.of(Op::Read).unwrap(), interval.of(Op::Write).unwrap());
    assert_eq!(recording.device_of(interval.device).name, row.0);
    near(read.ios_per_s, row.1, "r/s");
    near(read.bytes_per_s.unwrap() / 1024.0, row.2, "rkB/s");
    assert_eq!(read.await_ns.map(|ns| (ns / 1e4).round() / 100.0), row.3, "{} r_await", row.0);
    near(write.ios_per_s, row.4, "w/s");
    near(write.bytes_per_s.unwrap() / 1024.0, row.5, "wkB/s");
    assert_eq!(write.await_ns.map(|ns| (ns / 1e4).round() / 100.0), row.6, "{} w_await", row.0);
    near(interval.queue_len.unwrap(), row.7, "queue");
    near(interval.svctm_ns.unwrap() / 1e6, row.8, "svctm");
    near(interval.busy.unwrap() * 100.0, row.9, "%util");
}

const FIRST: [Row; 4] = [
    ("nvme0n1", 4.40, 42.0, Some(6.45), 6.0, 43.2, Some(0.80), 0.03, 0.15, 0.16),
    ("dm-0", 4.40, 42.0, Some(6.55), 10.3, 43.2, Some(0.47), 0.03, 0.54, 0.80),
    ("dm-1", 4.40, 42.0, Some(6.55), 9.8, 43.2, Some(0.49), 0.03, 0.56, 0.80),
    ("sdb", 4.50, 576.0, Some(434.31), 0.0, 0.0, None, 1.98, 222.22, 100.0),
];

const WORST: [Row; 13] = [
    ("nvme0n1", 0.40, 2.0, Some(7.0), 15.3, 167.2, Some(0.81), 0.01, 0.13, 0.20),
    ("dm-0", 0.40, 2.0, Some(7.0), 18.0, 167.2, Some(7.69), 0.14, 0.33, 0.60),
    ("dm-1", 0.30, 1.6, Some(6.67), 17.8, 167.2, Some(7.78), 0.14, 0.29, 0.52),
    ("dm-2", 0.10, 0.4, Some(8.0), 0.0, 0.0, None, 0.00, 8.00, 0.08),
    ("sdb", 7.30, 934.4, Some(269.70), 0.0, 0.0, None, 1.97, 136.88, 99.92),
    FIRST[0],
    FIRST[1],
    FIRST[2],
    FIRST[3],
    ("nvme0n1", 0.30, 1.2, Some(2.67), 7.6, 119.2, Some(1.63), 0.01, 0.20, 0.16),
    ("dm-0", 0.30, 1.2, Some(2.67), 12.0, 119.2, Some(2.30), 0.03, 0.55, 0.68),
    ("dm-1", 0.30, 1.2, Some(2.67), 11.4, 119.2, Some(2.42), 0.03, 0.58, 0.68),
    ("sdb", 3.50, 448.0, Some(579.66), 0.0, 0.0, None, 1.99, 285.71, 100.0),
];

const FAST: [Row; 5] = [
    ("nvme0n1", 3.50, 15.6, Some(2.40), 11.7, 146.4, Some(0.21), 0.00, 0.05, 0.08),
    ("dm-0", 3.90, 15.6, Some(2.87), 14.0, 146.4, Some(0.17), 0.01, 0.54, 0.96),
    ("dm-1", 1.40, 5.6, Some(4.29), 13.7, 146.4, Some(0.18), 0.01, 0.29, 0.44),
    ("dm-2", 2.50, 10.0, Some(2.08), 0.0, 0.0, None, 0.01, 2.08, 0.52),
    ("sdb", 321.40, 41139.2, Some(5.11), 0.0, 0.0, None, 1.64, 3.01, 96.88),
];

#[test]
fn every_iostat_row_of_the_dusty_disk() {
    let Some(recording) = read("000_") else { return };
    let found = listings(&recording, "iostat");
    let expected: [&[Row]; 3] = [&FIRST, &WORST, &FAST];
    assert_eq!(found.len(), expected.len());
    for (listing, rows) in found.iter().zip(expected) {
        assert_eq!(listing.source.skipped, 0, "{:?}", listing.source.notes);
        assert_eq!(listing.intervals.len(), rows.len());
        for (interval, row) in listing.intervals.iter().zip(rows) {
            check(&recording, interval, row);
            assert!(!interval.since_boot, "the report since boot is left out in the document");
            assert_eq!(interval.length.unwrap().seconds(), 10.0);
        }
    }
    let host = found[1].source.host.as_deref();
    assert_eq!(host, Some("lgud-bgregg, Linux 4.15.0-66-generic x86_64, 8 CPU"));
}

#[test]
fn two_one_row_tables_among_prose_and_code() {
    let Some(recording) = read("002_") else { return };
    let found = listings(&recording, "iostat");
    let expected: [Row; 2] = [
        ("nvme1n1", 0.0, 0.0, None, 10993.0, 43972.0, Some(2.74), 30.13, 0.09, 100.0),
        ("nvme1n1", 0.0, 0.0, None, 16001.6, 64006.4, Some(3.13), 50.15, 0.06, 100.0),
    ];
    assert_eq!(found.len(), 2);
    for (listing, row) in found.iter().zip(&expected) {
        assert_eq!((listing.source.skipped, listing.intervals.len()), (0, 1));
        check(&recording, &listing.intervals[0], row);
    }
    let waits: Vec<f64> = found.iter().map(|l| l.intervals[0].await_ns.unwrap() / 1e6).collect();
    assert_eq!(waits, [2.74, 3.13]);
    assert!(listings(&recording, "diskstats").is_empty(), "a list of fields is no reading");
}

#[test]
fn the_solaris_report_is_an_interval_and_not_since_boot() {
    let Some(recording) = read("004_") else { return };
    let found = listings(&recording, "solaris-iostat");
    assert_eq!(found.len(), 1);
    let listing = found[0];
    assert_eq!(listing.source.skipped, 0, "{:?}", listing.source.notes);
    // Device, r/s, w/s, kr/s, kw/s, actv, asvc_t, %b.
    let expected = [
        ("c4t18d0", 0.0, 43.8, 0.0, 419.0, 0.3, 6.5, 28.0),
        ("c4t17d0", 0.0, 26.4, 0.0, 393.9, 0.2, 6.0, 16.0),
        ("c4t19d0", 0.8, 36.0, 6.4, 460.4, 0.3, 7.2, 25.0),
        ("c5t2d0", 21.2, 43.8, 169.6, 419.0, 0.4, 5.4, 35.0),
        ("c5t3d0", 20.4, 36.0, 163.2, 460.4, 0.3, 5.5, 30.0),
        ("c5t1d0", 20.8, 26.4, 166.4, 393.9, 0.2, 4.1, 19.0),
    ];
    let near = |value: f64, printed: f64| assert!((value - printed).abs() < 1e-6, "{value}");
    assert_eq!(listing.intervals.len(), expected.len());
    for (interval, row) in listing.intervals.iter().zip(&expected) {
        let (read, write) = (interval.of(Op::Read).unwrap(), interval.of(Op::Write).unwrap());
        assert_eq!(recording.device_of(interval.device).name, row.0);
        near(read.ios_per_s, row.1);
        near(write.ios_per_s, row.2);
        near(read.bytes_per_s.unwrap() / 1024.0, row.3);
        near(write.bytes_per_s.unwrap() / 1024.0, row.4);
        assert_eq!((interval.active_len, interval.queue_len), (Some(row.5), Some(row.5)));
        near(interval.device_ns.unwrap() / 1e6, row.6);
        near(interval.busy.unwrap() * 100.0, row.7);
        assert_eq!(interval.wait_ns, Some(0.0));
        assert_eq!((interval.since_boot, interval.length.unwrap().seconds()), (false, 5.0));
    }
}
