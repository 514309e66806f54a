//! The engine on real files: both ways do what the job says, and overload cannot flatter.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iowhy_probe::{
    Arrivals, Clock, EngineChoice, Job, Load, Order, Purpose, Run, Target, Terms, Watcher, examine,
    run,
};

use crate::rig::{Folder, Loop, missing, turn};

const BYTES: u64 = 4 << 20;

fn target(folder: &Folder) -> Target {
    let path = folder.0.join("target");
    fs::write(&path, vec![7u8; BYTES as usize]).unwrap();
    open(&path)
}

fn open(path: &std::path::Path) -> Target {
    let stop = AtomicBool::new(false);
    let mut watcher = Watcher { stop: &stop, tick: &mut |_| {} };
    examine(path, Purpose::Read, &Terms::default()).unwrap().open(&mut watcher).unwrap()
}

fn measure(target: &Target, job: &Job) -> Run {
    let stop = AtomicBool::new(false);
    run(target, job, Clock::start(), &mut Watcher { stop: &stop, tick: &mut |_| {} }).unwrap()
}

#[test]
fn both_ways_do_every_io_of_a_job_once_and_time_it() {
    let folder = Folder::new("both");
    let target = target(&folder);
    for way in [EngineChoice::Ring, EngineChoice::Calls] {
        for depth in [1, 7] {
            let blocks = BYTES / 4096;
            let job = Job {
                order: Order::Sequential,
                count: Some(blocks),
                way,
                ..Job::reads(4096, depth, BYTES)
            };
            let run = measure(&target, &job);
            let mut places: Vec<u64> = run.ios.iter().map(|io| io.offset).collect();
            places.sort_unstable();
            let all: Vec<u64> = (0..blocks).map(|k| k * 4096).collect();
            assert_eq!(places, all, "{way:?} {depth}");
            assert_eq!((run.latency.n, run.failed, run.vanished), (blocks, None, 0));
            for io in &run.ios {
                assert!(io.intended_ns <= io.issued_ns && io.issued_ns <= io.completed_ns);
                assert!((1..=depth).contains(&io.depth), "{way:?}: {io:?}");
            }
            let sum: u128 = run.ios.iter().map(|io| u128::from(io.latency_ns())).sum();
            assert_eq!(run.latency.sum_ns, sum);
            let max = run.ios.iter().map(|io| io.latency_ns()).max();
            assert_eq!(run.latency.max_ns, max);
        }
    }
}

#[test]
fn a_caller_on_a_schedule_is_not_flattered_by_a_device_that_falls_behind() {
    let folder = Folder::new("behind");
    let target = target(&folder);
    for way in [EngineChoice::Ring, EngineChoice::Calls] {
        // Far more than any file gives one at a time.
        let load = Load::Open { per_s: 5e6, arrivals: Arrivals::Constant, depth: 1 };
        let time = Some(Duration::from_millis(400));
        // A disk that stands still for the whole run serves nothing and shows nothing: once more.
        let run = (0..20)
            .map(|_| measure(&target, &Job { load, time, way, ..Job::reads(4096, 1, BYTES) }))
            .find(|run| run.latency.n >= 100)
            .expect("twenty runs of 400 ms without a hundred reads");
        let last = run.ios.iter().max_by_key(|io| io.intended_ns).unwrap();
        assert!(run.unserved.0 > run.latency.n, "{way:?}: {:?} {}", run.unserved, run.latency.n);
        assert_eq!(run.latency.quantile_ns(0.99, run.unserved.0), None, "{way:?}");
        // The last one was late by nearly the whole run, though it was served quickly.
        assert!(last.latency_ns() > 300_000_000, "{way:?}: {last:?}");
        let service = run.service.quantile_ns(0.5, 0).unwrap();
        assert!(service < 100_000_000, "{way:?}: {service}");
        let scheduled = run.latency.n + run.unserved.0;
        assert!((1_900_000..=2_000_000).contains(&scheduled), "{way:?}: {scheduled}");
    }
}

#[test]
fn a_slow_schedule_is_kept_to_its_rate() {
    let folder = Folder::new("slow");
    let target = target(&folder);
    for (arrivals, way) in
        [(Arrivals::Constant, EngineChoice::Ring), (Arrivals::Poisson, EngineChoice::Calls)]
    {
        let load = Load::Open { per_s: 200.0, arrivals, depth: 16 };
        let time = Some(Duration::from_secs(1));
        let run = measure(&target, &Job { load, time, way, ..Job::reads(4096, 1, BYTES) });
        let all = run.latency.n + run.unserved.0;
        assert!((140..=260).contains(&all), "{way:?}: {all}");
        assert!(run.late.n == run.latency.n);
    }
}

#[test]
fn stopping_keeps_what_was_measured() {
    let folder = Folder::new("stop");
    let target = target(&folder);
    for way in [EngineChoice::Ring, EngineChoice::Calls] {
        let stop = AtomicBool::new(false);
        let mut ticks = 0;
        let mut tick = |so_far: iowhy_probe::SoFar| {
            ticks += 1;
            stop.store(so_far.n > 0, Ordering::Relaxed);
        };
        let job = Job { way, ..Job::reads(4096, 2, BYTES) };
        let mut watcher = Watcher { stop: &stop, tick: &mut tick };
        let run = run(&target, &job, Clock::start(), &mut watcher).unwrap();
        assert!(run.stopped && run.latency.n > 0 && run.vanished == 0 && ticks > 0, "{way:?}");
    }
}

#[test]
fn a_device_that_loses_its_end_ends_the_run_with_its_errno() {
    if let Some(what) = missing() {
        println!("skipped: a device that fails: needs {what}");
        return;
    }
    let _turn = turn();
    let folder = Folder::new("fails");
    let device = Loop::new(&folder, "disk", BYTES, &[]);
    let target = open(&device.device);
    // The file after the device becomes shorter: reads beyond its end fail, as a bad sector.
    fs::OpenOptions::new().write(true).open(&device.file).unwrap().set_len(BYTES / 2).unwrap();
    for way in [EngineChoice::Ring, EngineChoice::Calls] {
        let job = Job {
            order: Order::Sequential,
            count: Some(BYTES / 4096),
            way,
            ..Job::reads(4096, 1, BYTES)
        };
        let run = measure(&target, &job);
        match run.failed {
            Some(io) => {
                assert_eq!(i32::from(io.error), libc::EIO);
                assert!(io.offset >= BYTES / 2 && run.latency.n >= BYTES / 2 / 4096, "{io:?}");
            }
            // Some kernels read zeros there.
            None => println!("skipped: EIO: needs a loop driver that fails beyond its file"),
        }
    }
}

#[test]
fn a_job_that_does_not_fit_is_refused_before_any_io() {
    let folder = Folder::new("fit");
    let target = target(&folder);
    let stop = AtomicBool::new(false);
    let mut watcher = Watcher { stop: &stop, tick: &mut |_| {} };
    let good = Job { count: Some(1), ..Job::reads(4096, 1, BYTES) };
    for job in [
        Job { bytes: 0, ..good.clone() },
        Job { bytes: 100, ..good.clone() },
        Job { from: BYTES, ..good.clone() },
        Job { span: u64::MAX, ..good.clone() },
        Job { op: iowhy_model::Op::Write, ..good.clone() },
    ] {
        assert!(run(&target, &job, Clock::start(), &mut watcher).is_err(), "{job:?}");
    }
}
