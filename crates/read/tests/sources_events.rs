//! Source documents missed_revolution, cloud_volume (fio) and direct_mount (vxtrace, mount),
//! verbatim, and every listing of all five documents by its place.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use iowhy_model::{
    Fact, FactKey, FactValue, Layer, Level, Listing, Nanos, Op, Recording, Stage, key,
};
use iowhy_read::scan;

/// Source documents, by the number of their file in `shared/sources`.
const DUSTY_DISK: &str = "000";
const MISSED_REVOLUTION: &str = "001";
const CLOUD_VOLUME: &str = "002";
const ONE_OF_SEVENTEEN: &str = "003";
const DIRECT_MOUNT: &str = "004";

/// Format, first and last line of a listing.
type Place<'a> = (&'a str, u64, u64);

/// Reads the document whose name begins so; `None`, loudly, where it is not at hand.
#[allow(clippy::disallowed_methods)]
fn document(number: &str) -> Option<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/sources");
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let path = files.map(|entry| entry.path()).find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(number))
    });
    let Some(path) = path else {
        println!("skipped: needs ../shared/sources/{number}*.txt");
        return None;
    };
    let mut recording = Recording::new();
    let file = File::open(path).expect("the document");
    scan("document", &mut BufReader::new(file), None, &mut recording).expect(number);
    Some(recording)
}

fn of<'a>(recording: &'a Recording, format: &str) -> Vec<&'a Listing> {
    recording.listings.iter().filter(|listing| listing.source.format == format).collect()
}

fn place(listing: &Listing) -> Place<'_> {
    let (first, last) = listing.source.lines.expect("lines");
    (&listing.source.format, first, last)
}

fn fact(listing: &Listing, key: FactKey) -> &Fact {
    listing.facts.iter().find(|fact| fact.key == key).expect("the fact")
}

#[test]
fn missed_revolution_the_write_test_and_its_contradictions() {
    let Some(recording) = document(MISSED_REVOLUTION) else { return };
    let [listing] = &recording.listings[..] else { panic!("one listing") };
    assert_eq!(place(listing), ("write-test", 22, 29));
    assert_eq!((listing.source.level, listing.source.skipped), (Level::B, 0));
    let [run] = &listing.distributions[..] else { panic!("one run") };
    assert_eq!((run.layer, run.stage, run.op), (Layer::Syscall, Stage::Total, Some(Op::Write)));
    assert_eq!((run.bytes, run.length), (Some(1024), Some(Nanos(4_450_788_000))));
    let rows: Vec<(u64, u64, u64)> = run.histogram.filled().collect();
    let row = |ms: u64, cases| (ms * 1_000_000, (ms + 1) * 1_000_000, cases);
    let cases = [(8, 1992), (9, 2), (10, 1), (14, 1), (16, 3), (24, 1)];
    assert_eq!(rows, cases.map(|(ms, cases)| row(ms, cases)));
    assert_eq!(run.histogram.count(), 2000);
    assert_eq!(run.histogram.mean_ns(), Some((8_388_851.0, true)));
    assert_eq!(run.histogram.min_ns, Some(8_335_624));
    assert_eq!(run.histogram.max_ns, Some(24_998_846));
    for (key, value) in [
        (key::WRITE_TEST_SIZE, FactValue::Bytes(1024)),
        (key::WRITE_TEST_N, FactValue::Count(2000)),
        (key::WRITE_TEST_TOOK, FactValue::Duration(Nanos(4_450_788_000))),
        (key::WRITE_TEST_THROUGHPUT_PRINTED, FactValue::Text("3 mb/s".to_string())),
    ] {
        assert_eq!(fact(listing, key).value, value);
    }
    let reasons: Vec<&str> = listing.source.notes.iter().map(|note| note.reason.as_str()).collect();
    let [busy, throughput] = reasons[..] else { panic!("{reasons:?}") };
    assert!(busy.contains("16.78 s") && busy.contains("4.45 s"), "{busy}");
    assert!(throughput.contains("0.46 MB/s") && throughput.contains("3.68"), "{throughput}");
}

#[test]
fn cloud_volume_two_fio_runs_on_one_device() {
    let Some(recording) = document(CLOUD_VOLUME) else { return };
    let runs = of(&recording, "fio");
    let nvme = recording.find_device("nvme1n1").expect("nvme1n1");
    let expected = [("1", 10_903.0, 43_615.0), ("4", 16_204.0, 64_817.0)];
    assert_eq!(runs.len(), expected.len());
    for (run, (jobs, ios, kib)) in runs.iter().zip(expected) {
        assert_eq!(run.source.level, Level::A);
        assert_eq!((run.source.records, run.source.skipped), (14, 0));
        let [interval] = &run.intervals[..] else { panic!("one interval") };
        assert_eq!((interval.device, interval.layer), (nvme, Layer::Application));
        assert_eq!(interval.length, Some(Nanos(60_004_000_000)));
        let writes = interval.of(Op::Write).expect("writes");
        assert_eq!((writes.ios_per_s, writes.bytes_per_s), (ios, Some(kib * 1024.0)));
        assert_eq!(writes.await_ns, None);
        for (key, value) in [
            ("ioengine", "libaio"),
            ("blocksize", "4k"),
            ("readwrite", "write"),
            ("iodepth", "128"),
            ("direct", "1"),
            ("numjobs", jobs),
            ("filename", "/dev/nvme1n1"),
        ] {
            let fact = fact(run, key::FIO.of(key));
            assert_eq!((fact.device, fact.value.text()), (Some(nvme), Some(value)));
        }
    }
}

#[test]
fn direct_mount_two_traces_without_completions() {
    let Some(recording) = document(DIRECT_MOUNT) else { return };
    let [bad, good] = of(&recording, "vxtrace")[..] else { panic!("two traces") };
    for (trace, count) in [(bad, 15), (good, 16)] {
        assert_eq!((trace.source.level, trace.source.skipped), (Level::C, 0));
        assert_eq!(trace.source.resolution, Some(Nanos(10_000_000)));
        assert_eq!(trace.events.len(), count);
        assert!(trace.events.iter().all(|event| event.completed.is_none()));
        let reported = &trace.source.notes[0].reason;
        assert!(
            reported.starts_with(&format!("{count} I/Os have a START line but no END")),
            "{reported}"
        );
    }
    let sizes = |trace: &Listing, op: Op| -> Vec<u32> {
        trace.events.iter().filter(|event| event.op == op).filter_map(|event| event.bytes).collect()
    };
    // "16k reads" are of 8 KB, as the iostat listing of the same document says: 169.6 / 21.2.
    assert_eq!(sizes(bad, Op::Read), [8192; 5]);
    assert_eq!(sizes(bad, Op::Write), [1024, 1024, 2560, 2560, 6144, 6144, 2560, 2560, 2048, 2048]);
    assert_eq!(sizes(good, Op::Read), [0; 0]);
    let large = sizes(good, Op::Write);
    assert_eq!((large.len(), large.iter().filter(|bytes| **bytes == 65_536).count()), (16, 12));
    let issued = |event: usize| bad.events[event].issued.expect("issued").ns();
    assert_eq!((issued(0), issued(14)), (3_948_778_090_000_000, 3_948_778_160_000_000));
    // The disks match those of the iostat listing, and the mirror is named.
    let id = |name: &str| recording.find_device(name).expect(name);
    assert!(bad.events.iter().all(|e| e.device == id("c5t1d0") || e.device == id("c4t17d0")));
    let iostat = of(&recording, "solaris-iostat");
    assert!(iostat[0].intervals.iter().any(|interval| interval.device == id("c5t1d0")));
    assert_eq!(fact(bad, key::MIRROR_OF).device, Some(id("c4t17d0")));
    assert_eq!(fact(bad, key::MIRROR_OF).value.text(), Some("c5t1d0"));
    assert_eq!(fact(bad, key::MIRROR_WRITES).value, FactValue::Count(5));
    assert_eq!(fact(good, key::MIRROR_WRITES).value, FactValue::Count(8));
    assert_eq!(fact(good, key::MIRROR_OF).device, Some(id("c4t16d0")));
}

#[test]
fn direct_mount_the_mount_that_bypasses_the_cache() {
    let Some(recording) = document(DIRECT_MOUNT) else { return };
    let [mounts] = of(&recording, "mounts")[..] else { panic!("one mount") };
    let volume = recording.find_device("vx/dsk/oradg/oradgvol01").expect("the volume");
    let facts: Vec<(FactKey, &str)> = mounts
        .facts
        .iter()
        .map(|fact| (fact.key.clone(), fact.value.text().expect("a text")))
        .collect();
    assert_eq!(
        facts,
        [
            (key::MOUNT_POINT, "/u02"),
            (
                key::MOUNT_OPTIONS,
                "read/write/setuid/mincache=direct/convosync=direct/delaylog/largefiles/\
                 ioerror=mwdisable/dev=3bd4ff0"
            ),
            (key::MOUNT_SINCE, "Mon Dec 5 22:21:31 2005"),
        ]
    );
    assert!(mounts.facts.iter().all(|fact| fact.device == Some(volume)));
    assert_eq!(mounts.facts[0].read_from, mounts.source.place());
}

/// Nothing spurious in the prose, nothing missed in the listings.
#[test]
fn every_listing_of_every_document() {
    let expected: [(&str, &[Place]); 5] = [
        (
            DUSTY_DISK,
            &[
                ("iostat", 8, 14),
                ("iostat", 55, 70),
                ("biolatency", 77, 77),
                ("biosnoop", 84, 123),
                ("biosnoop", 135, 155),
                ("biolatency", 162, 162),
                ("iostat", 168, 175),
            ],
        ),
        (MISSED_REVOLUTION, &[("write-test", 22, 29)]),
        (
            CLOUD_VOLUME,
            &[("fio", 48, 49), ("iostat", 52, 53), ("fio", 105, 106), ("iostat", 109, 110)],
        ),
        (
            ONE_OF_SEVENTEEN,
            &[("latency-outliers", 22, 55), ("hist-log", 74, 101), ("hist-log", 109, 131)],
        ),
        (
            DIRECT_MOUNT,
            &[
                ("solaris-iostat", 6, 15),
                ("vxtrace", 31, 45),
                ("vxtrace", 51, 66),
                ("mounts", 72, 72),
            ],
        ),
    ];
    for (number, places) in expected {
        let Some(recording) = document(number) else { return };
        let found: Vec<Place> = recording.listings.iter().map(place).collect();
        assert_eq!(found, places, "document {number}");
        let skipped: u64 = recording.listings.iter().map(|listing| listing.source.skipped).sum();
        assert_eq!(skipped, 0, "document {number}");
    }
}
