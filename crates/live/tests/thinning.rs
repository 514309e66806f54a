//! Above a rate, slow requests and a sample of the others are reported individually, and all are
//! counted.

use std::time::Duration;

use iowhy_live::{BlockTrace, Collector, ThinRule, TraceMode, TraceOptions};
use iowhy_model::{Distribution, Edges, Event, Listing, Op, Recording, Sampling, Stage, whole};

use crate::rig::{Loop, can_run};

/// One in this many requests that are not slow is reported.
const ONE_IN: u8 = 8;
const READS: u64 = 60_000;

fn count(of: &[Distribution], stage: Stage) -> u64 {
    let of = of.iter().filter(|one| one.op == Some(Op::Read) && one.stage == stage);
    of.map(|one| one.histogram.count()).sum()
}

fn lost(listing: &Listing) -> u64 {
    listing.source.losses.iter().map(|loss| loss.count).sum()
}

/// Polls until the load is over.
fn watch(tracer: &mut BlockTrace, recording: &mut Recording, disk: &Loop, arguments: &[&str]) {
    std::thread::scope(|scope| {
        let load = scope.spawn(|| disk.fio(arguments));
        while !load.is_finished() {
            tracer.poll(recording).expect("a poll");
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    disk.settle();
}

#[test]
fn what_is_slow_and_a_sample_are_told_and_all_are_counted() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = Loop::new(256, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=256m"]);
    disk.settle();
    let mut tracer = BlockTrace::new(TraceOptions {
        count_all: true,
        may_thin: true,
        before: true,
        cgroups: true,
        ..disk.options(TraceMode::Events)
    });
    let mut recording = Recording::with_budget(4 * READS as usize);
    let before = disk.counters()[0];
    tracer.begin(&mut recording).expect("the tracer begins");
    let reads = format!("--number_ios={READS}");
    let load = ["--ioengine=io_uring", "--rw=randread", "--iodepth=8", "--size=256m"];
    let load = [&load[..], &["--io_size=64g", &reads]].concat();
    // All of them, to find the slow ones.
    watch(&mut tracer, &mut recording, &disk, &load);
    let events = &recording.listings[1].events;
    let mut latencies: Vec<u64> = events
        .iter()
        .filter_map(|event| event.latency(Stage::Total))
        .map(|latency| latency.ns() as u64)
        .collect();
    latencies.sort_unstable();
    // Far within the observed range, because the load of the machine may change.
    let slow_ns = latencies[latencies.len() * 75 / 100];
    let thinning = ThinRule { slow_ns, one_in: ONE_IN };
    tracer.thin(&disk.name, Op::Read, Some(thinning)).expect("it is thinned");
    watch(&mut tracer, &mut recording, &disk, &load);
    tracer.thin(&disk.name, Op::Read, None).expect("it is thinned no more");
    watch(&mut tracer, &mut recording, &disk, &load);
    tracer.end(&mut recording).expect("the tracer ends");
    let kernel = disk.counters()[0] - before;

    let [all, reported, thinned] = recording.listings.as_slice() else {
        panic!("{} listings", recording.listings.len());
    };
    let lost = lost(reported) + lost(all);
    println!("{kernel} reads, {} told, {} thinned, {lost} lost", reported.events.len(), {
        thinned.events.len()
    });
    // The histograms of all count every request, as do events and the histograms of the others
    // together.
    assert_eq!(count(&all.distributions, Stage::Total) + lost, kernel);
    let in_full = whole(thinned, &Edges::standard());
    let apart = (count(&thinned.distributions, Stage::Total), thinned.events.len() as u64);
    assert_eq!(count(&in_full, Stage::Total), apart.0 + apart.1);
    assert_eq!(reported.events.len() as u64 + apart.0 + apart.1 + lost, kernel);
    assert_eq!(count(&in_full, Stage::Device) + reported.events.len() as u64 + lost, kernel);

    assert_eq!(thinned.source.sampling, Sampling::Thinned);
    assert!(!thinned.is_in_sequence() && reported.is_in_sequence());
    assert!(reported.events.iter().all(|event| event.weight.is_none()));
    let latency = |event: &Event| event.latency(Stage::Total).map_or(0, |l| l.ns());
    let (slow, sample): (Vec<&Event>, Vec<&Event>) =
        thinned.events.iter().partition(|event| latency(event) as u64 >= slow_ns);
    assert!(slow.iter().all(|event| event.weight.is_some_and(|weight| weight.get() == 1)));
    assert!(sample.iter().all(|event| event.weight.is_some_and(|weight| weight.get() == ONE_IN)));
    // Every slow one is reported: the kernel's histograms have none, except in the bucket of the
    // bound.
    let not_told = thinned.distributions.iter().filter(|one| one.stage == Stage::Total);
    let most = not_told.filter_map(|one| one.histogram.max_ns).max().expect("some were counted");
    assert!(most < slow_ns, "{most} was not told, though it is not below {slow_ns}");
    // The sample is binomial: five standard deviations.
    let others = (apart.0 + sample.len() as u64) as f64;
    let expected = others / f64::from(ONE_IN);
    let deviation = (expected * (1.0 - 1.0 / f64::from(ONE_IN))).sqrt();
    let off = (sample.len() as f64 - expected).abs() / deviation;
    println!("{} slow, {} of {others} in the sample: off by {off:.1}", slow.len(), sample.len());
    assert!(off < 5.0, "{} of {others}, by {off:.1} standard deviations", sample.len());
    assert!(!slow.is_empty() && others > 1000.0);
}

/// Histograms take memory on each CPU, so only the busiest of many devices have them.
#[test]
fn a_device_without_histograms_is_told_one_by_one() {
    if !can_run(&["fio"]) {
        return;
    }
    let one = Loop::new(64, None);
    let another = one.another(64);
    let ios_of = |disk: &Loop| disk.counters()[0] + disk.counters()[1];
    let load = ["--rw=randread", "--size=64m", "--io_size=64g", "--number_ios=2000"];
    for disk in [&one, &another] {
        disk.fio(&["--rw=write", "--bs=1m", "--size=64m"]);
    }
    one.fio(&load);
    another.settle();
    one.settle();
    // A loop device keeps the counters of its previous user.
    let (busy, quiet) =
        if ios_of(&one) > ios_of(&another) { (&one, &another) } else { (&another, &one) };
    // This kernel hides completions from all probes, more of them beside other loads: such a run is
    // repeated.
    for left in (0..5).rev() {
        let (kernel, lost) = without_histograms(busy, quiet, &load);
        if lost < 20 {
            return;
        }
        assert!(left > 0, "{lost} of {kernel:?} were lost");
    }
}

/// Samples two devices of which only the busy one has histograms; returns the kernel's counts of
/// each, and losses.
fn without_histograms(busy: &Loop, quiet: &Loop, load: &[&str]) -> ([u64; 2], u64) {
    let reads_of = |disk: &Loop| disk.counters()[0];
    let mut tracer = BlockTrace::new(TraceOptions {
        devices: vec![quiet.number, busy.number],
        count_all: true,
        may_thin: true,
        histogram_bytes: 1,
        ..quiet.options(TraceMode::Events)
    });
    let mut recording = Recording::with_budget(10_000);
    let before = [reads_of(busy), reads_of(quiet)];
    tracer.begin(&mut recording).expect("the tracer begins");
    // Everything is fast, and hardly anything in the sample.
    let thinning = ThinRule { slow_ns: u64::MAX, one_in: 200 };
    for disk in [busy, quiet] {
        tracer.thin(&disk.name, Op::Read, Some(thinning)).expect("it is thinned");
        watch(&mut tracer, &mut recording, disk, load);
    }
    tracer.end(&mut recording).expect("the tracer ends");
    let kernel = [reads_of(busy) - before[0], reads_of(quiet) - before[1]];
    let reported = |disk: &Loop| {
        let id = recording.find_device(&disk.name);
        let events = recording.listings.iter().flat_map(|listing| &listing.events);
        events.filter(|event| Some(event.device) == id).count() as u64
    };
    let counted = |disk: &Loop| {
        let id = recording.find_device(&disk.name);
        let all = recording.listings[0].distributions.iter();
        let of_it: Vec<Distribution> = all.filter(|one| Some(one.device) == id).cloned().collect();
        count(&of_it, Stage::Total)
    };
    let lost: u64 = recording.listings.iter().map(lost).sum();
    println!("{kernel:?} reads, {} and {} told, {lost} lost", reported(busy), reported(quiet));
    assert!(reported(busy) < kernel[0] / 10, "{} of {} were told", reported(busy), kernel[0]);
    assert!(reported(quiet) + lost >= kernel[1], "{} of {} were told", reported(quiet), kernel[1]);
    assert!(counted(busy) + lost >= kernel[0], "{} of {}", counted(busy), kernel[0]);
    (kernel, lost)
}
