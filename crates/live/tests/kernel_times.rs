//! Compares the tracer with one probe and the kernel's times with the exact one, over the same
//! load.

use iowhy_live::{BlockTrace, Collector, TraceClock, TraceMode, TraceOptions};
use iowhy_model::{Event, Op, Recording, Stage};

use crate::rig::{self, Loop, can_run, trace};

/// Single events kept per run, above all runs.
const BUDGET: usize = 4_000_000;
/// Operations in the order of [`Loop::counters`].
const COUNTED: [Op; 4] = [Op::Read, Op::Write, Op::Discard, Op::Flush];

/// The results of a tracer.
struct Traced(Recording);

impl Traced {
    fn events(&self) -> impl Iterator<Item = &Event> {
        self.0.listings.iter().flat_map(|listing| &listing.events)
    }

    /// I/Os of an operation in events, or in the histograms of Q2C, of flushes of D2C.
    fn measured(&self, op: Op) -> u64 {
        let stage = if op == Op::Flush { Stage::Device } else { Stage::Total };
        let events = self.events().filter(|event| event.op == op).count() as u64;
        events + self.counted(op, stage).0
    }

    /// I/Os and their summed latency in the histograms of a stage, ns.
    fn counted(&self, op: Op, stage: Stage) -> (u64, f64) {
        let all = self.0.listings.iter().flat_map(|listing| &listing.distributions);
        let of = all.filter(|known| known.op == Some(op) && known.stage == stage);
        let each = of.map(|known| (known.histogram.count(), known.histogram.sum_ns.unwrap_or(0.0)));
        each.fold((0, 0.0), |(count, sum), (more, ns)| (count + more, sum + ns))
    }

    fn lost(&self, op: Op) -> u64 {
        let all = self.0.listings.iter().flat_map(|listing| &listing.source.losses);
        all.filter(|loss| loss.of.is_some_and(|of| of.1 == op)).map(|loss| loss.count).sum()
    }
}

fn kernel_clock(disk: &Loop, mode: TraceMode) -> TraceOptions {
    TraceOptions { clock: TraceClock::Kernel, ..disk.options(mode) }
}

/// Runs a load under both tracers. The exact one measured or lost what the kernel counts; the
/// single probe measures no less, and does not know which completions were hidden from it.
fn both(what: &str, disk: &Loop, mode: TraceMode, load: impl FnOnce() + Send) -> (Traced, Traced) {
    disk.settle();
    let before = disk.counters();
    let mut other = None;
    let (recording, _) = trace(disk.options(mode), BUDGET, || {
        let (recording, _) = trace(kernel_clock(disk, mode), BUDGET, || {
            load();
            disk.settle();
        });
        other = Some(Traced(recording));
    });
    let (exact, other) = (Traced(recording), other.expect("it traced"));
    let after = disk.counters();
    for (place, op) in COUNTED.into_iter().enumerate() {
        let kernel = after[place] - before[place];
        let (ours, theirs) = (exact.measured(op), other.measured(op));
        let (lost, other_lost) = (exact.lost(op), other.lost(op));
        if kernel + ours + theirs > 0 {
            println!(
                "{what} {mode:?} {}: kernel {kernel}, exact {ours} + {lost}, one probe {theirs} + \
                 {other_lost}",
                op.name()
            );
        }
        assert_eq!(ours + lost, kernel, "{what} {mode:?} {op:?}");
        assert!(theirs >= ours && theirs + other_lost <= kernel, "{what} {mode:?} {op:?}");
        assert_eq!(other_lost, 0, "{what} {mode:?} {op:?}");
    }
    (exact, other)
}

fn filled() -> Loop {
    let disk = Loop::new(256, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=256m"]);
    disk
}

/// Operation, sector, bytes and error of an event.
type Extent = (&'static str, Option<u64>, Option<u32>, Option<u16>);

/// Those of all events, sorted.
fn extents(traced: &Traced) -> Vec<Extent> {
    let of = |event: &Event| (event.op.name(), event.sector, event.bytes, event.error);
    let mut all: Vec<_> = traced.events().map(of).collect();
    all.sort_unstable();
    all
}

/// Both saw the same I/Os, with ordered times.
fn agree((exact, other): (Traced, Traced)) {
    let lost: u64 = COUNTED.into_iter().map(|op| exact.lost(op)).sum();
    if lost == 0 {
        assert!(extents(&exact) == extents(&other), "other sectors, sizes or errors");
    }
    for event in other.events() {
        let times = [event.queued, event.issued, event.completed];
        assert!(times.into_iter().flatten().is_sorted(), "a negative latency: {event:?}");
        assert!(event.comm.is_none() && event.depth.is_none() && event.arrived.is_none());
    }
}

#[test]
fn reads_and_writes_one_by_one_and_in_batches() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    let size = ["--size=256m", "--io_size=64g", "--ioengine=io_uring"];
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        let (exact, other) = both("depth 1", &disk, mode, || {
            let how = ["--rw=randread", "--iodepth=1", "--number_ios=10000"];
            disk.fio(&[&size[..], &how].concat());
        });
        if mode == TraceMode::Histograms {
            let [ours, theirs] = [&exact, &other].map(|of| of.counted(Op::Read, Stage::Device));
            let off = theirs.1 / theirs.0 as f64 - ours.1 / ours.0 as f64;
            println!("depth 1: D2C by the kernel's times {off:+.0} ns");
            assert!((-1e3..10e3).contains(&off), "{off} ns");
        } else {
            agree((exact, other));
        }
        let pair = both("batches", &disk, mode, || {
            let batches = ["--iodepth_batch_submit=16", "--iodepth_batch_complete_min=16"];
            let how = ["--rw=randrw", "--iodepth=32", "--number_ios=100000"];
            disk.fio(&[&size[..], &batches, &how].concat());
        });
        agree(pair);
    }
}

/// Writes followed by a flush complete twice, their flushes are issued by the kernel, and empty
/// flushes are never issued.
#[test]
fn synchronous_writes_flushes_and_discards() {
    if !can_run(&["fio", "blkdiscard"]) {
        return;
    }
    let disk = filled();
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        agree(both("buffered", &disk, mode, || {
            let plain = ["--rw=randwrite", "--direct=0", "--size=256m", "--number_ios=8000"];
            disk.fio(&[&plain[..], &["--ioengine=psync", "--fsync=64"]].concat());
        }));
        let pair = both("synchronous", &disk, mode, || {
            let plain = ["--rw=randwrite", "--size=256m", "--number_ios=1000"];
            disk.fio(&[&plain[..], &["--ioengine=psync", "--sync=dsync"]].concat());
        });
        assert!(pair.1.measured(Op::Flush) > 0, "the loop device has a cache to be flushed");
        agree(pair);
        // The number of sectors of the largest has more bits than the kernel keeps.
        agree(both("discards", &disk, mode, || {
            rig::run("blkdiscard", &["--step", "65536", "--length", "16M", &disk.path]);
            rig::run("blkdiscard", &["--offset", "16M", &disk.path]);
        }));
    }
}

/// A disk with iostats off, restored on drop: a loop device keeps its settings for its next user.
struct Uncounted(String);

impl Uncounted {
    fn of(disk: &Loop) -> Uncounted {
        let setting = format!("/sys/block/{}/queue/iostats", disk.name);
        std::fs::write(&setting, "0").expect("iostats");
        Uncounted(setting)
    }
}

impl Drop for Uncounted {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.0, "1");
    }
}

#[test]
fn errors_and_requests_without_times() {
    if !can_run(&["fio", "dd"]) {
        return;
    }
    // 32 MiB of disk over a tmpfs of 2 MiB: the rest of the writes end with ENOSPC.
    let disk = Loop::new(32, Some(2));
    let pair = both("no space", &disk, TraceMode::Events, || {
        assert!(!disk.fill(), "the write was meant to fail");
    });
    assert!(pair.1.events().filter(|event| event.error == Some(28)).count() > 5);
    agree(pair);

    // Without iostats the kernel counts none of them and keeps no start; the issue remains.
    let _uncounted = Uncounted::of(&disk);
    let options = kernel_clock(&disk, TraceMode::Histograms);
    let (recording, tracer) = trace(options, 0, || {
        disk.fio(&["--rw=randread", "--size=1m", "--number_ios=200"]);
        disk.settle();
    });
    let traced = Traced(recording);
    let device = traced.counted(Op::Read, Stage::Device).0;
    assert!(device >= 200 && traced.measured(Op::Read) == 0, "{device} issues");
    let counts = tracer.request_counts().iter().find(|(_, op, _)| *op == Op::Read);
    let counts = counts.expect("its reads").2;
    assert_eq!((counts.not_accounted, counts.no_total), (device, device), "{counts:?}");
}

/// The charged cgroup is known at the completion and can be filtered by.
#[test]
fn control_groups_and_filters() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    let load = || {
        disk.fio(&["--rw=randread", "--size=16m", "--number_ios=500"]);
        disk.fio(&["--rw=randread", "--size=16m", "--bs=8k", "--number_ios=300"]);
        disk.settle();
    };
    let mut options = kernel_clock(&disk, TraceMode::Events);
    options.cgroups = true;
    options.filter.bytes = Some((8192, 8192));
    let (recording, tracer) = trace(options, BUDGET, load);
    let traced = Traced(recording);
    assert!(traced.events().filter(|event| event.bytes == Some(8192)).count() >= 295);
    assert!(traced.events().all(|event| event.bytes == Some(8192) && event.cgroup.is_some()));
    let filtered: u64 = tracer.request_counts().iter().map(|(_, _, counts)| counts.filtered).sum();
    assert!(filtered >= 495, "{filtered}");
}

/// The exact tracer gets turns beside a load: nothing is missed or counted twice, and requests sent
/// in its turns have a sender.
#[test]
fn turns_of_the_exact_tracer() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        disk.settle();
        let before = disk.counters();
        let options = TraceOptions {
            clock: TraceClock::ByTurns,
            before: true,
            cgroups: true,
            ..disk.options(mode)
        };
        let mut exact = None;
        let (recording, tracer) = trace(disk.options(TraceMode::Histograms), 0, || {
            exact = Some(with_turns(&disk, options));
        });
        let (traced, tracer_by_turns) = exact.expect("it traced");
        drop(tracer);
        let lost = Traced(recording);
        let after = disk.counters();
        for (place, op) in [(0, Op::Read), (1, Op::Write)] {
            let kernel = after[place] - before[place];
            let (measured, hidden) = (traced.measured(op), lost.lost(op));
            println!("turns {mode:?} {}: kernel {kernel}, {measured} + {hidden}", op.name());
            assert_eq!(measured + traced.lost(op) + hidden, kernel, "{mode:?} {op:?}");
        }
        for event in traced.events() {
            let times = [event.arrived, event.queued, event.issued, event.completed];
            assert!(times.into_iter().flatten().is_sorted(), "a negative latency: {event:?}");
            let took = event.latency(Stage::Total).expect("both times");
            assert!(took.ns() < 5_000_000_000, "a time of an earlier turn: {event:?}");
        }
        let sent = |known: bool| traced.events().filter(|e| e.comm.is_some() == known).count();
        if mode == TraceMode::Events {
            assert!(sent(true) > 1000 && sent(false) > 1000, "{} {}", sent(true), sent(false));
            assert!(traced.events().any(|event| event.arrived.is_some()));
        }
        let counts = tracer_by_turns.request_counts().iter();
        let unseen: u64 = counts.map(|(_, _, counts)| counts.no_start + counts.no_completion).sum();
        assert_eq!(unseen, 0);
    }
}

/// Reads and writes for two seconds, a turn in every other fifth of a second.
fn with_turns(disk: &Loop, options: TraceOptions) -> (Traced, BlockTrace) {
    let mut recording = Recording::with_budget(BUDGET);
    let mut tracer = BlockTrace::new(options);
    tracer.begin(&mut recording).expect("the tracer begins");
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let how = ["--ioengine=io_uring", "--rw=randrw", "--iodepth=32", "--size=256m"];
            disk.fio(&[&how[..], &["--time_based", "--runtime=3", "--rate_iops=20000"]].concat());
            disk.settle();
        });
        let mut polls = 0;
        while !load.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(20));
            tracer.poll(&mut recording).expect("a poll");
            polls += 1;
            if polls % 10 == 0 {
                tracer.take_turn(polls % 20 == 0).expect("a turn");
            }
        }
        load.join().expect("the load ran");
    });
    tracer.end(&mut recording).expect("the tracer ends");
    (Traced(recording), tracer)
}
