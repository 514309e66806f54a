//! Binary traces: against the truth they were made from, against Debian's blkparse and btt, and
//! damaged in every way that `blkparse` keeps silent about.

#![allow(clippy::print_stderr)]

use std::io::BufRead;
use std::process::Command;

use iowhy_model::{Listing, Recording, Stage};
use iowhy_read::{Error, blktrace, scan};

use crate::make_blktrace::{Trace, Truth};

const PLAIN: Trace = Trace { ios: 2_000, cpus: 4, big: false, second: false };
/// Length of a version 1 record, and of one of the two notifications with their payloads.
const RECORD: usize = 48;
const NOTIFIED: usize = (RECORD + 8) + (RECORD + 16);

fn merged(files: &[Vec<u8>]) -> Listing {
    let mut recording = Recording::new();
    let parts = files.iter().map(|file| Box::new(&file[..]) as Box<dyn BufRead>).collect();
    blktrace::merge("sdb.blktrace", parts, &mut recording).unwrap();
    recording.listings.remove(0)
}

fn read(bytes: &[u8]) -> Listing {
    let mut recording = Recording::new();
    scan("trace", &mut &bytes[..], None, &mut recording).unwrap();
    recording.listings.remove(0)
}

fn truth(listing: &Listing) -> Truth {
    let sum = |stage| {
        let latencies = listing.events.iter().filter_map(|event| event.latency(stage));
        latencies.map(|latency| latency.ns() as u64).sum()
    };
    Truth {
        ios: listing.events.len() as u64,
        device_ns: sum(Stage::Device),
        total_ns: sum(Stage::Total),
    }
}

#[test]
fn every_version_and_byte_order_gives_the_truth() {
    for (big, second) in [(false, false), (false, true), (true, false), (true, true)] {
        let (files, known) = Trace { big, second, ..PLAIN }.files();
        let listing = merged(&files);
        assert_eq!(truth(&listing), known, "big {big}, version 2 {second}");
        let source = &listing.source;
        assert_eq!((source.skipped, source.lost(), &source.notes[..]), (0, 0, &[][..]));
        let named = listing.events.iter().filter(|event| event.comm.is_some()).count();
        assert_eq!(named as u64, known.ios);
    }
}

#[test]
fn one_stream_reads_as_the_files_do_whether_sorted_or_in_whole_buffers() {
    let (files, known) = PLAIN.files();
    assert_eq!(truth(&read(&files.concat())), known);
    let single = Trace { cpus: 1, ..PLAIN }.files();
    assert_eq!(truth(&read(&single.0[0])), single.1);
}

#[test]
fn a_cut_tail_is_told_and_costs_one_record() {
    let (mut files, known) = PLAIN.files();
    let length = files[0].len();
    files[0].truncate(length - 20);
    let listing = merged(&files);
    assert_eq!(listing.source.skipped, 1);
    let note = &listing.source.notes[0];
    assert_eq!(note.text, format!("file 1, byte {}", length - RECORD));
    assert!(note.reason.contains("(28 bytes)"), "{}", note.reason);
    assert!(known.ios - listing.events.len() as u64 <= 1);
}

#[test]
fn dropped_records_are_counted_by_their_numbers() {
    let (mut files, _) = PLAIN.files();
    let from = NOTIFIED + 100 * RECORD;
    files[1].drain(from..from + 10 * RECORD);
    let listing = merged(&files);
    assert_eq!(listing.source.lost(), 10);
    assert_eq!(listing.source.skipped, 0);
}

#[test]
fn a_wrong_magic_costs_that_record_only() {
    for place in [0, 1, 57] {
        let (mut files, known) = PLAIN.files();
        let at = if place == 0 { 0 } else { NOTIFIED + place * RECORD };
        files[0][at..at + 4].fill(0);
        let listing = merged(&files);
        assert_eq!(listing.source.skipped, 1, "record {place}");
        assert_eq!(listing.source.lost(), u64::from(place > 0));
        assert!(known.ios - listing.events.len() as u64 <= 1);
    }
    let (mut files, known) = Trace { cpus: 1, ..PLAIN }.files();
    files[0][..4].fill(0);
    assert_eq!(truth(&read(&files[0])), known);
}

#[test]
fn nothing_is_not_a_trace() {
    let mut recording = Recording::new();
    let empty = blktrace::merge("sdb.blktrace", vec![Box::new(&b""[..])], &mut recording);
    assert!(matches!(empty, Err(Error::Empty { .. })));
    assert!(recording.listings.is_empty());
    assert_eq!(blktrace::trace_of("/tmp/sdb.blktrace.12"), Some("/tmp/sdb.blktrace"));
    assert_eq!(blktrace::trace_of("sdb.blktrace"), None);
    assert_eq!(blktrace::trace_of("sdb.log.1"), None);
}

#[test]
fn btt_counts_and_averages_the_same() {
    let Ok(_) = Command::new("btt").arg("-V").output() else {
        return eprintln!("skipped: needs blkparse and btt (package blktrace)");
    };
    let folder = std::env::temp_dir().join(format!("iowhy-blktrace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (files, _) = PLAIN.files();
    for (cpu, file) in files.iter().enumerate() {
        std::fs::write(folder.join(format!("sdb.blktrace.{cpu}")), file).unwrap();
    }
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(&folder).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = run("blkparse", &["-i", "sdb", "-d", "merged", "-q"]);
    let averages = run("btt", &["-i", "merged"]);
    let stream = std::fs::read(folder.join("merged")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();

    let mut recording = Recording::new();
    scan("text", &mut text.as_bytes(), None, &mut recording).unwrap();
    for listing in [merged(&files), read(&stream), recording.listings.remove(0)] {
        for (stage, name) in [(Stage::Device, "D2C"), (Stage::Total, "Q2C")] {
            // The first line of that name is of all devices: minimum, average, maximum, count.
            let row = averages.lines().find(|line| line.starts_with(name)).expect(name);
            let row: Vec<&str> = row.split_ascii_whitespace().collect();
            let latencies: Vec<i64> = listing
                .events
                .iter()
                .filter_map(|event| event.latency(stage))
                .map(|latency| latency.ns())
                .collect();
            let sum: i64 = latencies.iter().sum();
            let seconds = |ns: f64| format!("{:.9}", ns / 1e9);
            assert_eq!(row[1], seconds(*latencies.iter().min().unwrap() as f64), "{name}");
            assert_eq!(row[2], seconds(sum as f64 / latencies.len() as f64), "{name}");
            assert_eq!(row[3], seconds(*latencies.iter().max().unwrap() as f64), "{name}");
            assert_eq!(row[4], latencies.len().to_string(), "{name}");
        }
    }
}
