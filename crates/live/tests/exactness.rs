//! Measured + lost = what the kernel itself counts in /proc/diskstats, request for request.

use iowhy_live::{BlockTrace, TraceMode};
use iowhy_model::{Edges, Histogram, Listing, Nanos, Op, Recording, Stage};

use crate::rig::{self, Loop, can_run, trace};

/// Events kept per run: more than any run has, so that none is folded.
const BUDGET: usize = 4_000_000;
/// Requests that the queue of a loop device holds at once (drivers/block/loop.c,
/// LOOP_DEFAULT_HW_Q_DEPTH).
const SLOTS: usize = 128;
/// Operations in the order of [`Loop::counters`].
const COUNTED: [Op; 4] = [Op::Read, Op::Write, Op::Discard, Op::Flush];

fn difference(before: [u64; 4], after: [u64; 4]) -> [u64; 4] {
    std::array::from_fn(|op| after[op] - before[op])
}

/// Losses of one operation.
fn lost(listings: &[Listing], op: Op) -> u64 {
    let all = listings.iter().flat_map(|listing| &listing.source.losses);
    all.filter(|loss| loss.of.is_some_and(|of| of.1 == op)).map(|loss| loss.count).sum()
}

/// Requests that a listing measured: its events, or its Q2C histograms (D2C for flushes).
fn measured(listings: &[Listing], op: Op) -> u64 {
    let stage = if op == Op::Flush { Stage::Device } else { Stage::Total };
    let events = listings.iter().flat_map(|listing| &listing.events).filter(|event| event.op == op);
    let histograms = listings.iter().flat_map(|listing| &listing.distributions);
    let of_stage = histograms.filter(|known| known.op == Some(op) && known.stage == stage);
    events.count() as u64 + of_stage.map(|known| known.histogram.count()).sum::<u64>()
}

/// Runs a load under the tracer and checks the equation, per operation.
fn check(
    what: &str,
    disk: &Loop,
    mode: TraceMode,
    load: impl FnOnce() + Send,
) -> (Recording, BlockTrace) {
    disk.settle();
    let before = disk.counters();
    let (recording, tracer) = trace(disk.options(mode), BUDGET, || {
        load();
        disk.settle();
    });
    let kernel = difference(before, disk.counters());
    for (op, kernel) in COUNTED.into_iter().zip(kernel) {
        let (measured, lost) = (measured(&recording.listings, op), lost(&recording.listings, op));
        if kernel + measured + lost > 0 {
            println!("{what} {mode:?} {}: {measured} + {lost} = {kernel}", op.name());
        }
        assert_eq!(measured + lost, kernel, "{what} {mode:?} {op:?} {:?}", tracer.request_counts());
    }
    for loss in recording.listings.iter().flat_map(|listing| &listing.source.losses) {
        println!("  lost {}: {}", loss.count, loss.what);
    }
    for event in recording.listings.iter().flat_map(|listing| &listing.events) {
        let times = [event.queued, event.issued, event.completed];
        let known: Vec<_> = times.into_iter().flatten().collect();
        assert!(known.is_sorted(), "a negative latency: {event:?}");
    }
    (recording, tracer)
}

/// Random reads of 4 KiB by io_uring, exactly `count` of them.
fn reads(disk: &Loop, depth: u32, count: u32) {
    let (depth, count) = (format!("--iodepth={depth}"), format!("--number_ios={count}"));
    let size = ["--size=256m", "--io_size=64g"];
    let how = ["--ioengine=io_uring", "--rw=randread", &depth, &count];
    disk.fio(&[&how[..], &size[..]].concat());
}

fn filled() -> Loop {
    let disk = Loop::new(256, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=256m"]);
    disk
}

#[test]
fn every_read_at_depth_1_and_32_in_both_modes() {
    reads_in_both_modes(10_000, 160_000);
}

/// Each mode sees a million; `bench/exactness` runs ten million.
#[test]
#[ignore = "long: two million reads"]
fn a_million_reads_at_depth_1_and_32_in_both_modes() {
    reads_in_both_modes(60_000, 960_000);
}

fn reads_in_both_modes(at_1: u32, at_32: u32) {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        check("depth 1", &disk, mode, || reads(&disk, 1, at_1));
        let (recording, _) = check("depth 32", &disk, mode, || reads(&disk, 32, at_32));
        if mode == TraceMode::Events {
            let events = &recording.listings[0].events;
            // fio keeps 32 in flight. A request with a missed completion counts as in flight until
            // its slot is used again, about once in as many requests as the queue has slots.
            let depths: Vec<u32> =
                events.iter().filter_map(|event| Some(event.depth?.get())).collect();
            let possible = depths.iter().filter(|depth| **depth <= 33).count();
            println!("depth 32: {possible} of {} events at most 33 deep", depths.len());
            assert_eq!(depths.len(), events.len());
            assert!(depths.iter().any(|depth| (31..=33).contains(depth)));
            let escaped = lost(&recording.listings, Op::Read) as usize;
            assert!(possible + escaped * SLOTS > events.len() * 9 / 10, "{escaped} ends escaped");
            assert!(events.iter().all(|event| event.pid.is_some() && event.error.is_none()));
        }
    }
}

#[test]
fn buffered_writes_and_fsync_with_their_flushes() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        check("buffered", &disk, mode, || {
            let plain = ["--rw=randwrite", "--direct=0", "--size=256m", "--number_ios=20000"];
            disk.fio(&[&plain[..], &["--ioengine=psync", "--fsync=64"]].concat());
        });
        // O_DSYNC direct writes: each carries a flush, or FUA.
        let (recording, _) = check("synchronous", &disk, mode, || {
            let plain = ["--rw=randwrite", "--size=256m", "--number_ios=3000"];
            disk.fio(&[&plain[..], &["--ioengine=psync", "--sync=dsync"]].concat());
        });
        let flushes = measured(&recording.listings, Op::Flush);
        assert!(flushes > 0, "the loop device has a write cache, so it must be flushed");
    }
}

/// A slot then serves different operations; missed completions count for the right one.
#[test]
fn reads_and_writes_by_turns() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        let (recording, _) = check("by turns", &disk, mode, || {
            let how = ["--ioengine=io_uring", "--rw=randrw", "--iodepth=32", "--size=256m"];
            disk.fio(&[&how[..], &["--io_size=64g", "--number_ios=200000"]].concat());
        });
        for op in [Op::Read, Op::Write] {
            assert!(measured(&recording.listings, op) > 90_000);
        }
    }
}

#[test]
fn discards() {
    if !can_run(&["blkdiscard"]) {
        return;
    }
    let disk = Loop::new(64, None);
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        let (recording, _) = check("discards", &disk, mode, || {
            rig::run("blkdiscard", &["--step", "65536", &disk.path]);
        });
        let discards = measured(&recording.listings, Op::Discard);
        assert!(discards >= 1024, "{discards}");
    }
}

#[test]
fn a_ring_that_is_too_small_drops_and_says_how_many() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    disk.settle();
    let before = disk.counters();
    let mut options = disk.options(TraceMode::Events);
    options.ring_bytes = 4096;
    let (recording, tracer) = trace(options, BUDGET, || {
        reads(&disk, 32, 100_000);
        disk.settle();
    });
    let kernel = difference(before, disk.counters())[0];
    let lost = lost(&recording.listings, Op::Read);
    let dropped: u64 = tracer.request_counts().iter().map(|(_, _, counts)| counts.ring_full).sum();
    println!("small ring: {dropped} dropped, {lost} lost in all, of {kernel}");
    assert!(dropped > 10_000, "the ring was meant to overflow");
    assert_eq!(measured(&recording.listings, Op::Read) + lost, kernel);
}

#[test]
fn events_above_a_limit_come_with_the_histograms_of_all() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    let mut options = disk.options(TraceMode::Events);
    // Above 1 ns: every request, so both sides must be equal to the nanosecond.
    options.filter.over = Some(Nanos(1));
    let (recording, _) = trace(options, BUDGET, || reads(&disk, 8, 100_000));
    let [histograms, events] = &recording.listings[..] else { panic!("two listings") };
    assert_eq!(events.source.lost() - tracer_misses(&recording), 0, "{:?}", events.source.losses);
    for stage in [Stage::Queue, Stage::Device, Stage::Total] {
        let mut kernel = Histogram::empty(Edges::standard());
        for known in histograms.distributions.iter().filter(|known| known.stage == stage) {
            assert!(kernel.merge(&known.histogram));
        }
        let mut ours = Histogram::empty(Edges::standard());
        for event in &events.events {
            ours.record(event.latency(stage).expect("both times").ns() as u64);
        }
        assert!(ours.count() >= 99_000);
        assert_eq!(kernel, ours, "{stage:?}: counts, sum, least and greatest");
    }
}

/// If all events fit, the kernel counts none; if hardly any fit, it counts the rest. Either way all
/// are in the histograms, with exact sums and extremes.
#[test]
fn histograms_of_events_and_of_those_without_room_hold_all() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    for ring_bytes in [16 << 20, 4096] {
        disk.settle();
        let before = disk.counters();
        let mut options = disk.options(TraceMode::Events);
        (options.count_all, options.ring_bytes) = (true, ring_bytes);
        let (recording, tracer) = trace(options, BUDGET, || {
            reads(&disk, 32, 60_000);
            disk.settle();
        });
        let kernel = difference(before, disk.counters())[0];
        let dropped: u64 =
            tracer.request_counts().iter().map(|(_, _, counts)| counts.ring_full).sum();
        let counted = measured(&recording.listings[..1], Op::Read);
        let events = measured(&recording.listings[1..], Op::Read);
        println!(
            "ring of {ring_bytes} bytes: {events} events, {dropped} dropped, {counted} counted"
        );
        assert_eq!(counted, events + dropped);
        assert_eq!(events + lost(&recording.listings, Op::Read), kernel);
        if ring_bytes == 4096 {
            assert!(dropped > 10_000 && events > 1000, "the ring was meant to overflow");
            continue;
        }
        assert_eq!(dropped, 0);
        let of =
            |stage| recording.listings[0].distributions.iter().filter(move |d| d.stage == stage);
        let sum: f64 = of(Stage::Total).filter_map(|known| known.histogram.sum_ns).sum();
        let waits =
            recording.listings[1].events.iter().filter_map(|event| event.latency(Stage::Total));
        assert_eq!(sum, waits.map(|wait| wait.ns() as f64).sum::<f64>());
        assert!(of(Stage::Total).count() > 1, "one for each pause");
    }
}

/// Missed completions: lost for events and histograms alike.
fn tracer_misses(recording: &Recording) -> u64 {
    let all = recording.listings.iter().flat_map(|listing| &listing.source.losses);
    let missed = ["completion missed by the tracer", "still in flight when tracing stopped"];
    all.filter(|loss| missed.iter().any(|words| loss.what.contains(words)))
        .map(|loss| loss.count)
        .sum()
}

#[test]
fn a_limit_lets_only_slow_requests_through() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    let limit = Nanos(200_000);
    let mut options = disk.options(TraceMode::Events);
    options.filter.over = Some(limit);
    let (recording, tracer) = trace(options, BUDGET, || reads(&disk, 32, 50_000));
    let events = &recording.listings[1].events;
    assert!(!events.is_empty(), "the loop device is slower than that at times");
    assert!(events.iter().all(|event| event.longest().is_some_and(|(_, took)| took > limit)));
    let fast: u64 = tracer.request_counts().iter().map(|(_, _, counts)| counts.too_fast).sum();
    let counted = measured(&recording.listings[..1], Op::Read);
    println!("limit: {} slow + {fast} fast = {counted} counted", events.len());
    assert_eq!(events.len() as u64 + fast, counted);
}

#[test]
fn a_disk_without_space_gives_errors() {
    if !can_run(&["dd"]) {
        return;
    }
    // 32 MiB of disk over a tmpfs of 2 MiB: the rest of the writes end with ENOSPC.
    let disk = Loop::new(32, Some(2));
    let (recording, _) = check("no space", &disk, TraceMode::Events, || {
        assert!(!disk.fill(), "the write was meant to fail");
    });
    let errors: Vec<_> =
        recording.listings[0].events.iter().filter_map(|event| event.error).collect();
    println!("no space: {} errors", errors.len());
    assert!(errors.len() > 5 && errors.iter().all(|errno| *errno == 28), "{errors:?}");
}
