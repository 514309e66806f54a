//! Source documents dusty_disk and one_of_seventeen, verbatim: every latency listing in them, to
//! the last count.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use iowhy_model::{
    Distribution, FactKey, Layer, Level, Listing, Nanos, Op, Recording, Stage, Time, key,
};
use iowhy_read::scan;

/// Formats of this test; the documents hold iostat tables besides, which have their own.
const OURS: [&str; 7] =
    ["biolatency", "biosnoop", "bpftrace", "hist-log", "iosnoop", "latency-outliers", "quantize"];

/// Reads a document whole; `None`, loudly, where it is not at hand.
fn document(name: &str) -> Option<Recording> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/sources").join(name);
    let Ok(file) = File::open(&path) else {
        println!("skipped: needs ../shared/sources/{name}");
        return None;
    };
    let mut recording = Recording::new();
    scan(name, &mut BufReader::new(file), None, &mut recording).expect(name);
    Some(recording)
}

fn listings(recording: &Recording) -> Vec<&Listing> {
    let ours = |listing: &&Listing| OURS.contains(&listing.source.format.as_str());
    recording.listings.iter().filter(ours).collect()
}

/// Format, first and last line of each listing.
fn places<'a>(listings: &[&'a Listing]) -> Vec<(&'a str, u64, u64)> {
    let place = |listing: &&'a Listing| {
        let (first, last) = listing.source.lines.expect("lines");
        (listing.source.format.as_str(), first, last)
    };
    listings.iter().map(place).collect()
}

fn of<'a>(recording: &Recording, listing: &'a Listing, device: &str) -> Vec<&'a Distribution> {
    let id = recording.find_device(device).expect(device);
    listing.distributions.iter().filter(|known| known.device == id).collect()
}

fn filled_us(known: &Distribution) -> Vec<(u64, u64, u64)> {
    known.histogram.filled().map(|(low, high, n)| (low / 1000, high / 1000, n)).collect()
}

#[test]
fn dusty_disk_every_listing_and_nothing_else() {
    let Some(recording) = document("000_cf125fc3f007ea8f.txt") else { return };
    let listings = listings(&recording);
    assert_eq!(
        places(&listings),
        [
            ("biolatency", 77, 77),
            ("biosnoop", 84, 123),
            ("biosnoop", 135, 155),
            ("biolatency", 162, 162),
        ]
    );
    assert!(listings.iter().all(|listing| listing.source.skipped == 0));
    assert!(listings.iter().all(|listing| listing.source.notes.is_empty()));
}

#[test]
fn dusty_disk_biosnoop_events() {
    let Some(recording) = document("000_cf125fc3f007ea8f.txt") else { return };
    let listings = listings(&recording);
    let (worst, fast) = (listings[1], listings[2]);
    let sdb = recording.find_device("sdb").expect("sdb");
    assert_eq!((worst.events.len(), fast.events.len()), (39, 19));
    assert_eq!(worst.events.iter().filter(|event| event.device == sdb).count(), 28);
    assert!(fast.events.iter().all(|event| event.device == sdb && event.op == Op::Read));
    for listing in [worst, fast] {
        assert_eq!(listing.source.level, Level::C);
        assert_eq!(listing.source.resolution, Some(Nanos(10_000)));
        assert!(!listing.source.sees_queue);
        assert!(listing.events.iter().all(|event| event.queued.is_none()));
        assert!(listing.events.is_sorted_by_key(|event| event.completed));
    }
    let third = &worst.events[2];
    assert_eq!(third.completed, Some(Time::from_ns(143_268_000)));
    assert_eq!(third.issued, Some(Time::from_ns(68_000)));
    let cache = worst.events.iter().find(|event| event.sector == Some(694_714_632)).expect("row");
    assert_eq!(recording.text(cache.comm.expect("comm")), "Cache2 I/O");
    assert_eq!((cache.pid, cache.bytes), (Some(6515), Some(4096)));

    let latencies = |listing: &Listing| -> Vec<i64> {
        let of_sdb = listing.events.iter().filter(|event| event.device == sdb);
        of_sdb.map(|event| event.latency(Stage::Device).expect("latency").ns() / 10_000).collect()
    };
    let worst_sdb = latencies(worst);
    assert_eq!(worst_sdb[..5], [7796, 14320, 21824, 10170, 12692]);
    assert_eq!(worst_sdb[27], 23492);
    assert_eq!(
        latencies(fast),
        [
            160, 1698, 1031, 194, 197, 1029, 1976, 196, 166, 162, 1907, 190, 193, 157, 1011, 2690,
            193, 197, 255
        ]
    );
    // The disk was read from end to end, one request at a time: each starts 128 KiB further.
    let sectors: Vec<u64> = fast.events.iter().filter_map(|event| event.sector).collect();
    assert!(sectors.windows(2).all(|pair| pair[1] == pair[0] + 256));
}

#[test]
fn dusty_disk_biolatency_rows() {
    let Some(recording) = document("000_cf125fc3f007ea8f.txt") else { return };
    let listings = listings(&recording);
    let (slow, fast) = (listings[0], listings[3]);
    assert_eq!((slow.distributions.len(), fast.distributions.len()), (2, 1));
    let nvme = of(&recording, slow, "nvme0n1")[0];
    assert_eq!(nvme.histogram.count(), 1021);
    assert_eq!(nvme.histogram.edges().buckets(), 13);
    let sdb = of(&recording, slow, "sdb")[0];
    assert_eq!(sdb.histogram.count(), 368);
    assert_eq!(sdb.histogram.edges().buckets(), 22);
    assert_eq!(
        filled_us(sdb),
        [
            (16384, 32768, 1),
            (32768, 65536, 15),
            (65536, 131072, 214),
            (131072, 262144, 84),
            (262144, 524288, 46),
            (524288, 1048576, 7),
            (2097152, 4194304, 1),
        ]
    );
    let sdb = of(&recording, fast, "sdb")[0];
    assert_eq!(sdb.histogram.count(), 232);
    assert_eq!(filled_us(sdb)[..3], [(1024, 2048, 13), (2048, 4096, 82), (8192, 16384, 9)]);
    for known in slow.distributions.iter().chain(&fast.distributions) {
        assert_eq!((known.layer, known.stage, known.op), (Layer::Block, Stage::Device, None));
        assert_eq!(known.start, None);
    }
    // `biolatency -D 60 1` is above the first ones alone.
    assert!(slow.distributions.iter().all(|known| known.length == Some(Nanos(60_000_000_000))));
    assert!(fast.distributions.iter().all(|known| known.length.is_none()));
    assert!(listings.iter().filter(|l| l.source.format == "biolatency").all(|listing| {
        listing.source.level == Level::B && listing.source.resolution == Some(Nanos(1_000))
    }));
}

#[test]
fn one_of_seventeen_every_listing_and_nothing_else() {
    let Some(recording) = document("003_fa7b85bbffe34e4a.txt") else { return };
    let listings = listings(&recording);
    assert_eq!(
        places(&listings),
        [("latency-outliers", 22, 55), ("hist-log", 74, 101), ("hist-log", 109, 131)]
    );
    assert_eq!(recording.listings.len(), listings.len(), "something else was seen in the prose");
    assert!(listings.iter().all(|listing| listing.source.skipped == 0));
    assert!(listings.iter().all(|listing| listing.source.notes.is_empty()));
    assert!(listings.iter().all(|listing| !listing.source.sees_queue));
}

#[test]
fn one_of_seventeen_outliers_and_their_table() {
    let Some(recording) = document("003_fa7b85bbffe34e4a.txt") else { return };
    let listing = &recording.listings[0];
    assert_eq!(listing.distributions.len(), 17);
    let ios: u64 = listing.distributions.iter().map(|known| known.histogram.count()).sum();
    assert_eq!(ios, 3695);
    let sdy = of(&recording, listing, "sdy")[0];
    assert_eq!(sdy.histogram.count(), 197);
    assert_eq!(sdy.histogram.mean_ns(), Some((98_298_000.0, true)));
    assert_eq!(sdy.histogram.min_ns, Some(102_000));
    assert_eq!(sdy.histogram.max_ns, Some(1_167_977_000));
    assert!(listing.distributions.iter().all(|known| known.length == Some(Nanos(10_000_000_000))));

    let facts: Vec<(FactKey, f64, &str)> = listing
        .facts
        .iter()
        .map(|fact| (fact.key.clone(), fact.value.number().unwrap(), fact.read_from.as_str()))
        .collect();
    let at = |line: u64| format!("003_fa7b85bbffe34e4a.txt:{line}");
    assert_eq!(
        facts,
        [
            (key::OUTLIER_THRESHOLD, 0.5, at(23).as_str()),
            (key::OUTLIER_LATENCY, 0.714984, at(27).as_str()),
            (key::OUTLIER_SECTOR, 166891231.0, at(27).as_str()),
            (key::OUTLIER_LATENCY, 0.582708, at(28).as_str()),
            (key::OUTLIER_SECTOR, 165679327.0, at(28).as_str()),
            (key::OUTLIER_LATENCY, 1.16255, at(29).as_str()),
            (key::OUTLIER_SECTOR, 167102975.0, at(29).as_str()),
        ]
    );
    assert!(listing.facts[1..].iter().all(|fact| fact.device == Some(sdy.device)));
}

#[test]
fn one_of_seventeen_histograms_meet_the_table_on_the_same_disks() {
    let Some(recording) = document("003_fa7b85bbffe34e4a.txt") else { return };
    // Disk 65:128 is the table's sdy and 65:48 its sdt; the headings print 199 and 196 I/Os.
    for (place, name, ios) in [(1, "sdy", 199), (2, "sdt", 196)] {
        let listing = &recording.listings[place];
        let known = &listing.distributions[0];
        assert_eq!(listing.distributions.len(), 1);
        assert_eq!(recording.device_of(known.device).name, name);
        assert_eq!(of(&recording, &recording.listings[0], name).len(), 1);
        assert_eq!(known.histogram.count(), ios);
        assert_eq!((known.op, known.bytes), (Some(Op::Read), Some(8192)));
        assert_eq!(known.length, Some(Nanos(10_000_000_000)));
    }
    let sdy = &recording.listings[1].distributions[0];
    assert_eq!(sdy.histogram.edges().buckets(), 18);
    assert_eq!(
        filled_us(sdy)[8..],
        [
            (16384, 32768, 14),
            (65536, 131072, 10),
            (131072, 262144, 11),
            (262144, 524288, 10),
            (524288, 1048576, 6),
            (1048576, 2097152, 4),
        ]
    );
    let sdt = &recording.listings[2].distributions[0];
    assert_eq!(filled_us(sdt).last(), Some(&(16384, 32768, 18)));
}

#[test]
fn the_other_documents_hold_none_of_these_formats() {
    for name in ["001_8c476e79f220fb65.txt", "002_6c8cc2d3a26c312f.txt", "004_c4e53f982a4e287c.txt"]
    {
        let Some(recording) = document(name) else { return };
        assert_eq!(places(&listings(&recording)), [], "{name}");
    }
}
