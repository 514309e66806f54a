//! Which events are kept and which are only counted.

use super::*;
use crate::{Layer, Op, Time};

#[test]
fn names_and_devices_are_kept_once() {
    let mut recording = Recording::new();
    let (sda, sdb) = (recording.device("sda"), recording.device("sdb"));
    assert_eq!(recording.device("sda"), sda);
    assert_ne!(sda, sdb);
    let dd = recording.name("dd");
    recording.name("kworker/u72:1");
    assert_eq!(recording.name("dd"), dd);
    assert_eq!(recording.text(dd), "dd");
    assert_eq!(recording.device_of(sdb).name, "sdb");
}

#[test]
fn past_its_budget_a_listing_keeps_counts_and_the_slowest() {
    let mut recording = Recording::with_budget(50_000);
    recording.begin(Source::new("biosnoop", "-", Level::C));
    let sda = recording.device("sda");
    let total = 120_000;
    for k in 0..total {
        let mut event = Event::new(sda, Op::Read, Layer::Block);
        event.issued = Some(Time::from_ns(k * 1000));
        event.completed = Some(Time::from_ns(k * 1000 + 100_000 + k));
        recording.event(event);
    }
    recording.end();
    let listing = &recording.listings[0];
    let counted: u64 = listing.histograms().map(|d| d.histogram.count()).sum();
    assert_eq!(counted, listing.folded);
    assert_eq!(listing.folded + listing.events.len() as u64, total as u64);
    assert_eq!(listing.source.records, total as u64);
    let slowest = listing.events.iter().filter_map(|e| e.longest()).map(|(_, l)| l.ns()).max();
    assert_eq!(slowest, Some(100_000 + total - 1));
}

#[test]
fn for_a_verdict_the_stretch_that_waited_most_stays_in_sequence() {
    let mut recording = Recording::new();
    recording.keep_stretches(40_000);
    recording.begin(Source::new("biosnoop", "-", Level::C));
    let sda = recording.device("sda");
    let total = 205_000;
    for k in 0..total {
        let mut event = Event::new(sda, Op::Read, Layer::Block);
        // The 90 000th to the 110 000th are slow.
        let took = if (90_000..110_000).contains(&k) { 900 } else { 100 };
        event.issued = Some(Time::from_ns(k * 1000));
        event.completed = Some(Time::from_ns(k * 1000 + took));
        recording.event(event);
        assert!(recording.listings[0].events.len() < 40_000);
    }
    recording.end();
    let listing = &recording.listings[0];
    assert!(listing.is_in_sequence() && listing.folded > 0);
    let issued: Vec<i64> = listing.events.iter().filter_map(|e| e.issued).map(Time::ns).collect();
    assert_eq!(issued.len(), 20_000);
    assert!(issued.windows(2).all(|pair| pair[1] - pair[0] == 1000));
    let slow = listing.events.iter().filter(|e| e.longest().is_some_and(|(_, l)| l.ns() == 900));
    assert!(slow.count() >= 10_000);
    let counted: u64 = listing.histograms().map(|d| d.histogram.count()).sum();
    assert_eq!(counted + 20_000, total as u64);
    assert!(listing.source.notes[0].reason.starts_with("sampled: 20000 of 205000"));
}

#[test]
fn a_device_with_few_events_keeps_all_beside_a_busy_one() {
    let mut recording = Recording::new();
    recording.keep_stretches(40_000);
    recording.begin(Source::new("biosnoop", "-", Level::C));
    let (busy, slow) = (recording.device("nvme0n1"), recording.device("sda"));
    let total = 300_000;
    for k in 0..total {
        // The slow one is used at the beginning, the busy one waits most at the end.
        let is_slow = k < 150_000 && k % 50 == 0;
        let mut event = Event::new(if is_slow { slow } else { busy }, Op::Read, Layer::Block);
        let took = if is_slow { 8_000_000 } else { 100 + k / 100_000 };
        event.issued = Some(Time::from_ns(k * 1000));
        event.completed = Some(Time::from_ns(k * 1000 + took));
        recording.event(event);
        assert!(recording.listings[0].events.len() < 40_000);
    }
    recording.end();
    let listing = &recording.listings[0];
    let of = |device| listing.events.iter().filter(move |event| event.device == device);
    assert_eq!(of(slow).count(), 3000);
    let issued: Vec<i64> = of(busy).filter_map(|e| e.issued).map(Time::ns).collect();
    assert!(issued.len() >= 15_000 && issued.iter().all(|at| *at > 200_000_000), "{issued:?}");
    assert!(issued.windows(2).all(|pair| pair[1] - pair[0] == 1000));
    assert_eq!(listing.folded + listing.events.len() as u64, total as u64);
}

#[test]
fn events_without_a_latency_leave_first_and_are_counted_as_lost() {
    let mut recording = Recording::with_budget(30_000);
    recording.begin(Source::new("perf-script", "-", Level::C));
    let sda = recording.device("sda");
    for k in 0..30_000 {
        let mut event = Event::new(sda, Op::Read, Layer::Block);
        event.completed = Some(Time::from_ns(k * 1000));
        event.issued = (k % 3 == 0).then(|| Time::from_ns(k * 1000 - 500));
        recording.event(event);
    }
    let listing = &recording.listings[0];
    assert!(listing.events.iter().all(|event| event.longest().is_some()));
    assert_eq!((listing.events.len(), listing.folded), (10_000, 0));
    assert_eq!(listing.source.lost(), 20_000);
    assert!(recording.is_incomplete());
}

#[test]
fn what_is_taken_is_moved_and_the_listing_goes_on() {
    let mut recording = Recording::new();
    recording.begin(Source::new("block-trace", "live", Level::D));
    let sda = recording.device("sda");
    recording.event(Event::new(sda, Op::Read, Layer::Block));
    recording.lost("events dropped by a full ring", 2);
    let place = recording.listings[0].events.as_ptr();
    let taken = recording.take();
    assert_eq!(taken.listings[0].events.as_ptr(), place);
    assert_eq!((taken.listings[0].source.records, taken.listings[0].source.lost()), (1, 2));
    assert_eq!(taken.find_device("sda"), Some(sda));
    let rest = &recording.listings[0];
    assert_eq!((rest.events.len(), rest.source.records, rest.source.lost()), (0, 0, 0));
    recording.event(Event::new(sda, Op::Write, Layer::Block));
    assert_eq!(recording.listings[0].events.len(), 1);
}

/// `rows` of averages, a second each, of this many devices in turn.
fn averages(rows: usize, devices: usize) -> Recording {
    let mut recording = Recording::new();
    recording.begin(Source::new("iostat", "-", Level::A));
    for k in 0..rows {
        let device = recording.device(&format!("sd{}", k % devices));
        let mut row = Interval::new(device, Layer::Block);
        row.length = Some(crate::Nanos(1_000_000_000));
        row.queue_len = Some((k % 100) as f64);
        recording.interval(row);
    }
    recording.end();
    recording
}

#[test]
fn rows_of_a_long_log_are_merged_with_neighbours_and_noted() {
    let total = 1_000_000;
    let recording = averages(total, 2);
    let listing = &recording.listings[0];
    let rows = &listing.intervals;
    assert!(rows.len() <= ceilings::ROWS_OF_ONE && rows.len() > 1000, "{}", rows.len());
    let seconds: f64 = rows.iter().filter_map(|row| row.length).map(crate::Nanos::seconds).sum();
    assert_eq!(seconds, total as f64);
    let queue: f64 = rows.iter().map(|r| r.queue_len.unwrap() * r.length.unwrap().seconds()).sum();
    assert!((queue / seconds - 49.5).abs() < 1e-6, "{}", queue / seconds);
    assert_eq!((listing.source.records, listing.source.lost()), (total as u64, 0));
    assert_eq!(listing.source.notes[0].reason, ceilings::ROWS_JOINED);
}

#[test]
fn past_the_devices_and_listings_of_any_machine_records_are_lost_and_counted() {
    let (most, more) = (ceilings::DEVICES, 1000);
    let recording = averages(most + more, most + more);
    let listing = &recording.listings[0];
    assert_eq!((listing.intervals.len(), recording.devices().len()), (most, most + 1));
    assert_eq!(listing.source.lost(), more as u64);
    assert!(recording.is_incomplete());
    let mut recording = Recording::new();
    for k in 0..ceilings::LISTINGS + more {
        recording.begin(Source::new("biosnoop", "-", Level::C));
        let sda = recording.device("sda");
        let mut event = Event::new(sda, Op::Read, Layer::Block);
        event.completed = Some(Time::from_ns(k as i64));
        recording.event(event);
        recording.end();
    }
    assert_eq!(recording.listings.len(), ceilings::LISTINGS + 1);
    let kept: usize = recording.listings.iter().map(|listing| listing.events.len()).sum();
    assert_eq!(kept, ceilings::LISTINGS);
    assert_eq!(recording.listings[ceilings::LISTINGS].source.lost(), more as u64);
}

#[test]
fn names_and_reasons_past_their_limits_are_merged() {
    let mut recording = Recording::new();
    recording.begin(Source::new("biosnoop", "-", Level::C));
    let names: Vec<Name> =
        (0..ceilings::NAMES + 10).map(|k| recording.name(&k.to_string())).collect();
    assert_eq!(recording.text(names[7]), "7");
    assert_eq!(recording.text(names[ceilings::NAMES + 9]), "(further)");
    assert_eq!(recording.listings[0].source.lost(), 10);
    (0..1000).for_each(|k| recording.lost(&format!("reason {k}"), 1));
    let losses = &recording.listings[0].source.losses;
    assert!(losses.len() < 300);
    assert_eq!(recording.listings[0].source.lost(), 1010);
}
