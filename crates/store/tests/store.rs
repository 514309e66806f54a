//! A store that was truncated, damaged, downsampled or killed: what is readable is read, losses are
//! counted.

#![allow(clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::time::Duration;

use iowhy_capture::{Header, MAGIC, Writer};
use iowhy_model::{
    Distribution, Edges, Fact, FactValue, Histogram, Interval, Layer, Level, Nanos, Op, Rates,
    Recording, Sink, Source, Stage, Time, key,
};
use iowhy_store::{Blocks, Bounds, Grain, Incident, SECOND_NS, SegmentName, Span, Store, thin};

/// When the stories begin: s since 1970, and since boot.
const WALL_S: i64 = 1_795_374_000;
const BOOT_S: i64 = 5000;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = format!("iowhy-store-{name}-{}", std::process::id());
        Folder(std::env::temp_dir().join(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// This many seconds of a disk that reads at 100 IOPS, 1 ms each, a block a second.
fn seconds(stream: u64, from_s: i64, count: i64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), stream);
    let histograms = writer.begin(Source::new("block-trace", "live", Level::B));
    let offset = Nanos((WALL_S - BOOT_S) * SECOND_NS);
    writer.fact(Fact::new(None, key::CLOCK_OFFSET, FactValue::Duration(offset), "clock_gettime"));
    let boot = FactValue::Text("b007".to_string());
    writer.fact(Fact::new(None, key::RECORDER.of("boot"), boot, "boot_id"));
    let counters = writer.begin(Source::new("diskstats", "live", Level::A));
    let sda = writer.device("sda");
    for second in from_s..from_s + count {
        let start = Some(Time::from_ns((BOOT_S + second) * SECOND_NS));
        writer.resume(histograms);
        let mut histogram = Histogram::empty(Edges::standard());
        (0..100).for_each(|_| histogram.record(1_000_000));
        let mut one = Distribution::new(sda, Layer::Block, Stage::Total, histogram);
        (one.op, one.start, one.length) = (Some(Op::Read), start, Some(Nanos(SECOND_NS)));
        writer.distribution(one);
        writer.resume(counters);
        let mut row = Interval::new(sda, Layer::Block);
        (row.start, row.length) = (start, Some(Nanos(SECOND_NS)));
        (row.busy, row.queue_len) = (Some(0.1), Some(0.1));
        let rates = Rates { ios_per_s: 100.0, await_ns: Some(1e6), ..Rates::default() };
        row.rates.push((Op::Read, rates));
        writer.interval(row);
        writer.flush().expect("a buffer");
    }
    writer.finish().expect("a buffer");
    writer.out().clone()
}

/// I/Os in histograms, and averages, of what could be read.
fn sums(bytes: &[u8]) -> (u64, u64, u64) {
    let mut blocks = Blocks::new(bytes);
    let (mut ios, mut rows) = (0, 0);
    for section in blocks.by_ref().flat_map(|(_, block)| block.sections) {
        ios += section.distributions.iter().map(|one| one.histogram.count()).sum::<u64>();
        rows += section.intervals.len() as u64;
    }
    let damage = blocks.damage();
    (ios, rows, damage.blocks + damage.bytes)
}

fn starts(bytes: &[u8]) -> Vec<usize> {
    (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&MAGIC)).collect()
}

#[test]
fn a_segment_cut_at_any_byte_keeps_every_block_before_the_cut() {
    let whole = seconds(1, 0, 4);
    let starts = starts(&whole);
    assert_eq!(starts.len(), 5, "one for each second, and the end");
    for cut in 0..whole.len() {
        let (ios, rows, damage) = sums(&whole[..cut]);
        let complete = starts.iter().skip(1).filter(|start| **start <= cut).count() as u64;
        assert_eq!((ios, rows), (100 * complete, complete), "cut at {cut}");
        assert_eq!(damage == 0, cut == 0 || starts.contains(&cut), "cut at {cut}");
    }
}

#[test]
fn flipped_bits_cost_the_blocks_they_hit_and_are_counted() {
    let whole = seconds(1, 0, 50);
    let mut state = 0x5eed_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for _ in 0..400 {
        let mut bitten = whole.clone();
        let bits = 1 + next() % 4;
        for _ in 0..bits {
            let bit = next() % (bitten.len() * 8);
            bitten[bit / 8] ^= 1 << (bit % 8);
        }
        let (ios, rows, damage) = sums(&bitten);
        assert!(damage > 0 || bitten == whole, "a flip was not seen");
        assert!(rows >= 50 - bits as u64 && ios == 100 * rows, "{rows} rows of {bits} flips");
    }
}

#[test]
fn minutes_hold_what_their_seconds_held_and_incidents_stay_sharp() {
    let fine = seconds(7, 0, 600);
    let minutes = thin(Blocks::new(&fine), Grain::Minutes.length_ns(), &[]);
    let (ios, rows, damage) = sums(&minutes.bytes);
    // 5000 s since boot is not a whole minute, so eleven minutes are affected.
    assert_eq!((ios, rows, damage), (60_000, 11, 0));
    assert_eq!(minutes.cells, (1200, 22));
    assert!(minutes.bytes.len() * 20 < fine.len(), "{} of {}", minutes.bytes.len(), fine.len());
    let rates: Vec<f64> = Blocks::new(&minutes.bytes)
        .flat_map(|(_, block)| block.sections)
        .flat_map(|section| section.intervals)
        .map(|row| row.of(Op::Read).map_or(0.0, |rates| rates.ios_per_s))
        .collect();
    assert!(rates.iter().all(|rate| (rate - 100.0).abs() < 1e-6), "{rates:?}");
    let around = (WALL_S + 100) * SECOND_NS..(WALL_S + 130) * SECOND_NS;
    let sharp = thin(Blocks::new(&fine), Grain::Minutes.length_ns(), &[around]);
    assert_eq!(sums(&sharp.bytes), (60_000, 11 + 30, 0));
}

#[test]
fn seconds_in_which_nothing_was_done_count_as_such() {
    // 5040 and 5070 s since boot lie in one minute.
    let mut two = seconds(7, 40, 1);
    two.extend(seconds(7, 70, 1));
    let minute = thin(Blocks::new(&two), Grain::Minutes.length_ns(), &[]);
    let rows: Vec<Interval> = Blocks::new(&minute.bytes)
        .flat_map(|(_, block)| block.sections)
        .flat_map(|section| section.intervals)
        .collect();
    assert_eq!((rows.len(), rows[0].length), (1, Some(Nanos(31 * SECOND_NS))));
    let ios = rows[0].of(Op::Read).map_or(0.0, |rates| rates.ios_per_s * 31.0);
    assert!((ios - 200.0).abs() < 1e-6, "{ios}");
}

#[test]
fn a_stretch_of_many_segments_is_one_listing_of_each_source() {
    let folder = Folder::new("stretch");
    let mut store = Store::record(&folder.0).expect("a new store");
    assert!(Store::record(&folder.0).is_err(), "one recorder at a time");
    assert!(Store::is_written(&folder.0));
    for part in 0..3 {
        let mut segment = store.segment(WALL_S + 600 * part, 600 * part).expect("a segment");
        segment.append(&seconds(9, 600 * part, 600)).expect("room");
    }
    let mut recording = Recording::new();
    let at = |second: i64| (WALL_S + second) * SECOND_NS;
    let span = Span { from_ns: at(590), to_ns: at(1209) };
    let (emitted, damage, coverage) = store.emit(span, &mut recording).expect("it can be read");
    assert!(!damage.any() && coverage.gaps().is_empty(), "{:?}", coverage.gaps());
    assert_eq!(recording.listings.len(), 2);
    assert_eq!(emitted.cells, 2 * 620);
    let [histograms, counters] = recording.listings.as_slice() else { panic!("two") };
    let ios = histograms.distributions.iter().map(|one| one.histogram.count()).sum::<u64>();
    assert_eq!((ios, counters.intervals.len()), (62_000, 620));
    let clocks = histograms.facts.iter().filter(|fact| fact.key == key::CLOCK_OFFSET).count();
    assert_eq!(clocks, 1);
}

#[test]
fn old_segments_are_thinned_then_removed_and_the_size_holds() {
    let folder = Folder::new("bounds");
    let mut store = Store::record(&folder.0).expect("a new store");
    for hour in 0..6 {
        let mut segment = store.segment(WALL_S + 3600 * hour, 3600 * hour).expect("a segment");
        segment.append(&seconds(9, 3600 * hour, 300)).expect("room");
    }
    let before = store.bytes().expect("a folder");
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    let bounds = Bounds { keep: hours(5), size: 1 << 30, seconds: hours(2), minutes: hours(4) };
    let now = 7 * 3600;
    let tended = store.tend(now, WALL_S + 5 * 3600, &bounds).expect("it is looked after");
    let grains: Vec<Grain> =
        store.segments().expect("a folder").iter().map(|name| name.grain).collect();
    use Grain::{Minutes, Seconds};
    assert_eq!(grains, [Minutes, Minutes, Minutes, Seconds, Seconds], "{tended:?}");
    assert_eq!(tended.segments, 1);
    assert!(tended.thinned.0 == 1800 && tended.thinned.1 < 40, "{tended:?}");
    assert!(tended.bytes < before);
    // Incidents take their share at most; a verdict stays.
    for at in 0..4 {
        let id = Incident::id(WALL_S + now + at, "dm-0/x");
        store.incident(&id, now + at).expect("a file").append(&vec![0; 4000]).expect("room");
        store.verdict(&id, b"{}", now + at).expect("room");
    }
    let tight = Bounds { size: 20_000, ..bounds };
    let tended = store.tend(now, WALL_S + 5 * 3600, &tight).expect("it is looked after");
    assert_eq!(tended.incidents, 2);
    let left = store.incidents().expect("a folder");
    assert_eq!(left.iter().filter(|one| one.capture.is_some()).count(), 2);
    assert_eq!(left.iter().filter(|one| one.verdict.is_some()).count(), 4);
    assert!(left[0].id.ends_with("-dm_0_x"), "{}", left[0].id);
    assert!(store.segments().expect("a folder").iter().any(|n| n.began_s == WALL_S + 5 * 3600));
}

#[test]
fn a_recorder_killed_while_it_thinned_leaves_nothing_twice() {
    let folder = Folder::new("killed");
    let mut store = Store::record(&folder.0).expect("a new store");
    let fine = seconds(9, 0, 60);
    store.segment(WALL_S, 0).expect("a segment").append(&fine).expect("room");
    let coarse = thin(Blocks::new(&fine), Grain::Minutes.length_ns(), &[]).bytes;
    let name = SegmentName { began_s: WALL_S, grain: Grain::Minutes };
    let path = folder.0.join("segments").join(name.file());
    std::fs::write(&path, coarse).expect("a file");
    std::fs::write(path.with_extension("new"), b"half").expect("a file");
    let ios = |store: &Store| {
        let mut recording = Recording::new();
        store.emit(Span::ALL, &mut recording).expect("it can be read");
        let all = recording.listings.iter().flat_map(|listing| &listing.distributions);
        all.map(|one| one.histogram.count()).sum::<u64>()
    };
    assert_eq!(ios(&store), 6000);
    drop(store);
    let store = Store::record(&folder.0).expect("the store");
    assert_eq!(ios(&store), 6000);
    assert_eq!(std::fs::read_dir(folder.0.join("segments")).expect("a folder").count(), 1);
    assert!(Store::open(&std::env::temp_dir()).is_err());
}

#[test]
fn a_file_without_a_name_of_ours_is_left_alone_and_rubbish_is_counted() {
    let folder = Folder::new("rubbish");
    let store = Store::record(&folder.0).expect("a new store");
    let segments = folder.0.join("segments");
    std::fs::write(segments.join("notes.txt"), b"mine").expect("a file");
    let name = SegmentName { began_s: WALL_S, grain: Grain::Seconds };
    std::fs::write(segments.join(name.file()), vec![0x89; 10 * Header::BYTES]).expect("a file");
    let mut recording = Recording::new();
    let (emitted, damage, _) = store.emit(Span::ALL, &mut recording).expect("it can be read");
    assert_eq!((emitted.cells, damage.bytes), (0, 10 * Header::BYTES as u64));
    assert!(segments.join("notes.txt").exists());
}

/// One recorder after the other, each with a different wrong wall clock, maintained each hour.
#[test]
fn a_wrong_clock_removes_nothing_and_hides_nothing() {
    const DAY: i64 = 86_400;
    for (seed, wrong) in [30 * DAY, -30 * DAY, -2 * 3600, -WALL_S, 2_208_988_800 - WALL_S, DAY / 2]
        .into_iter()
        .enumerate()
    {
        let folder = Folder::new(&format!("clock-{seed}"));
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        let bounds =
            Bounds { keep: hours(7 * 24), size: 1 << 30, seconds: hours(2), minutes: hours(48) };
        let mut recorded = 0;
        // Three days, of which one begins with an hour of a wrong clock, three times.
        for day in 0..3 {
            let mut store = Store::record(&folder.0).expect("the store");
            for hour in 0..24 {
                let at_s = WALL_S + DAY * day + 3600 * hour;
                let shift = if hour == 0 { wrong } else { 0 };
                let ran_s = 3600 * hour;
                let mut segment = store.segment(at_s + shift, ran_s).expect("a segment");
                let stream = (day * 24 + hour) as u64;
                segment.append(&seconds_at(stream, at_s + shift, ran_s, 10)).expect("room");
                recorded += 1000;
                let id = Incident::id(at_s + shift, &format!("sd{hour}"));
                store.verdict(&id, b"{}", ran_s).expect("room");
                let tended = store.tend(ran_s, i64::MIN, &bounds).expect("tended");
                assert_eq!((tended.segments, tended.incidents), (0, 0), "{wrong} {day} {hour}");
            }
        }
        let store = Store::record(&folder.0).expect("the store");
        let mut recording = Recording::new();
        let (_, damage, _) = store.emit(Span::ALL, &mut recording).expect("it can be read");
        let all = recording.listings.iter().flat_map(|listing| &listing.distributions);
        let ios = all.map(|one| one.histogram.count()).sum::<u64>();
        assert_eq!((ios, damage.any()), (recorded, false), "{wrong}");
        assert_eq!(store.incidents().expect("a folder").len(), 72, "{wrong}");
    }
}

/// Seconds of a recorder whose clocks stand like this when it begins.
fn seconds_at(stream: u64, wall_s: i64, boot_s: i64, count: i64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), stream);
    writer.begin(Source::new("block-trace", "live", Level::B));
    let offset = FactValue::Duration(Nanos((wall_s - boot_s) * SECOND_NS));
    writer.fact(Fact::new(None, key::CLOCK_OFFSET, offset, "clock_gettime"));
    let sda = writer.device("sda");
    for second in 0..count {
        let mut histogram = Histogram::empty(Edges::standard());
        (0..100).for_each(|_| histogram.record(1_000_000));
        let mut one = Distribution::new(sda, Layer::Block, Stage::Total, histogram);
        one.op = Some(Op::Read);
        one.start = Some(Time::from_ns((boot_s + second) * SECOND_NS));
        one.length = Some(Nanos(SECOND_NS));
        writer.distribution(one);
        writer.flush().expect("a buffer");
    }
    let ended = Fact::new(None, key::RECORDER.of("ended"), FactValue::Flag(true), "test");
    writer.fact(ended.at(Time::from_ns((boot_s + count) * SECOND_NS)));
    writer.finish().expect("a buffer");
    writer.out().clone()
}

#[test]
fn a_second_recorded_at_the_same_time_of_day_does_not_hide_the_first() {
    let folder = Folder::new("twice");
    let mut store = Store::record(&folder.0).expect("a new store");
    let thinned = Bounds { seconds: Duration::ZERO, ..Bounds::default() };
    for ran_s in [0, 4000, 8000] {
        let part = seconds_at(ran_s as u64, WALL_S, ran_s, 60);
        store.segment(WALL_S, ran_s).expect("a segment").append(&part).expect("room");
        store.tend(ran_s, i64::MIN, &thinned).expect("it is looked after");
    }
    drop(store);
    let store = Store::record(&folder.0).expect("the store");
    let mut recording = Recording::new();
    store.emit(Span::ALL, &mut recording).expect("it can be read");
    let all = recording.listings.iter().flat_map(|listing| &listing.distributions);
    assert_eq!(all.map(|one| one.histogram.count()).sum::<u64>(), 18_000);
}

#[test]
fn what_was_not_watched_is_known() {
    let folder = Folder::new("gaps");
    let mut store = Store::record(&folder.0).expect("a new store");
    // Two minutes from each of these on, s.
    for (stream, from_s) in [0, 120, 1000, 1130].into_iter().enumerate() {
        let part = seconds_at(stream as u64, WALL_S + from_s, from_s, 120);
        store.segment(WALL_S + from_s, from_s).expect("a segment").append(&part).expect("room");
    }
    let at = |second: i64| (WALL_S + second) * SECOND_NS;
    let of = |from: i64, to: i64| {
        let span = Span { from_ns: at(from), to_ns: at(to) };
        let coverage = store.coverage(span).expect("it can be read");
        let gaps = coverage
            .gaps()
            .into_iter()
            .map(|gap| [gap.from_ns, gap.to_ns].map(|ns| ns / SECOND_NS - WALL_S));
        (gaps.collect::<Vec<_>>(), coverage)
    };
    assert_eq!(of(0, 1250).0, [[240, 1000], [1120, 1130]]);
    assert_eq!(of(-500, 100).0, [[-500, 0]]);
    assert_eq!(of(1200, 9000).0, [[1250, 9000]]);
    let watched = |from: i64, to: i64| {
        let (_, coverage) = of(from - 60, to + 60);
        coverage.touches(Span { from_ns: at(from), to_ns: at(to) })
    };
    assert!(watched(0, 0) && watched(120, 120) && watched(200, 300) && watched(1249, 1249));
    assert!(!watched(-40, -30) && !watched(270, 270) && !watched(300, 900) && !watched(1300, 1400));
    // There are no records there, so no earlier fact is emitted for it.
    let mut recording = Recording::new();
    let span = Span { from_ns: at(300), to_ns: at(900) };
    let (emitted, ..) = store.emit(span, &mut recording).expect("it can be read");
    assert_eq!((emitted.cells, emitted.facts, recording.listings.len()), (0, 0, 0));
}

#[test]
fn a_folder_with_calibrations_alone_becomes_a_store() {
    let folder = Folder::new("calibrated");
    std::fs::create_dir_all(folder.0.join(iowhy_store::CALIBRATIONS)).expect("a folder");
    drop(Store::record(&folder.0).expect("a store"));
    assert!(Store::is_one(&folder.0));
    let other = Folder::new("of-letters");
    std::fs::create_dir_all(other.0.join("letters")).expect("a folder");
    let refused = Store::record(&other.0).map(|_| ()).expect_err("other files");
    assert_eq!(refused.kind(), std::io::ErrorKind::AlreadyExists);
}
