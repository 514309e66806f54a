//! Error of the times that the kernel keeps in a request, by the number of requests sent at once:
//! D2C of `hist --clock kernel` compared with that of `hist`, over the same requests.
//!
//! `cargo run --release -p iowhy-bench --bin batches -- [RUNS]`, as root; `bench/batches` is that.
//! fio reads 65,536 blocks of 4 KiB at random by io_uring, depth 32, from holes of a private loop
//! device, while both tracers watch; runs of all batches take turns. Means over all requests of a
//! run, medians of the runs, in µs.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../../../crates/live/tests/rig/mod.rs"]
mod rig;

use iowhy_live::{TraceClock, TraceMode, TraceOptions};
use iowhy_model::{Recording, Stage};
use rig::{Loop, can_run, trace};

/// Requests that are sent at once.
const BATCHES: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Default number of runs.
const RUNS: usize = 5;

/// The result of one run.
struct Run {
    /// I/Os that only one of the two measured.
    apart: u64,
    /// Mean Q2D and D2C of the exact tracer, µs.
    queue: f64,
    device: f64,
    /// Mean D2C by the kernel's times, µs.
    kernel: f64,
}

fn main() {
    if !can_run(&["fio"]) {
        return;
    }
    let runs = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(RUNS);
    let disk = Loop::new(256, None);
    let mut found: Vec<Vec<Run>> = BATCHES.iter().map(|_| Vec::new()).collect();
    for _ in 0..runs {
        for (batch, found) in BATCHES.iter().zip(&mut found) {
            found.push(run(&disk, *batch));
        }
    }
    println!(
        "| sent at once | Q2D, exact | D2C, exact | D2C, kernel's | error | least and greatest | \
         counted apart |"
    );
    println!("| --: | --: | --: | --: | --: | --: | --: |");
    for (batch, runs) in BATCHES.iter().zip(&found) {
        let of = |value: fn(&Run) -> f64| {
            let mut all: Vec<f64> = runs.iter().map(value).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let median = |value| of(value)[(runs.len() - 1) / 2];
        let errors = of(|run| run.kernel - run.device);
        let share = median(|run| (run.kernel / run.device - 1.0) * 100.0);
        println!(
            "| {batch} | {:.2} | {:.1} | {:.1} | {:+.2} ({share:+.1} %) | {:+.2} to {:+.2} | {} |",
            median(|run| run.queue),
            median(|run| run.device),
            median(|run| run.kernel),
            median(|run| run.kernel - run.device),
            errors[0],
            errors[errors.len() - 1],
            runs.iter().map(|run| run.apart).sum::<u64>(),
        );
    }
}

/// A load under both.
fn run(disk: &Loop, batch: u32) -> Run {
    disk.settle();
    let kernels = TraceOptions { clock: TraceClock::Kernel, ..disk.options(TraceMode::Histograms) };
    let (submit, complete) = (
        format!("--iodepth_batch_submit={batch}"),
        format!("--iodepth_batch_complete_min={batch}"),
    );
    let mut other = None;
    let (exact, _) = trace(disk.options(TraceMode::Histograms), 0, || {
        let (recording, _) = trace(kernels, 0, || {
            let how = ["--rw=randread", "--ioengine=io_uring", "--iodepth=32", "--size=256m"];
            disk.fio(&[&how[..], &["--io_size=256m", &submit, &complete]].concat());
            disk.settle();
        });
        other = Some(recording);
    });
    let other = other.expect("it traced");
    let (count, device) = mean(&exact, Stage::Device);
    let (others, kernel) = mean(&other, Stage::Device);
    let (_, queue) = mean(&exact, Stage::Queue);
    Run { apart: count.abs_diff(others), queue, device, kernel }
}

/// I/Os and their mean latency, µs.
fn mean(recording: &Recording, stage: Stage) -> (u64, f64) {
    let all = recording.listings.iter().flat_map(|listing| &listing.distributions);
    let of = all.filter(|known| known.stage == stage);
    let each = of.map(|known| (known.histogram.count(), known.histogram.sum_ns.unwrap_or(0.0)));
    let (count, ns) = each.fold((0, 0.0), |(all, sum), (count, ns)| (all + count, sum + ns));
    (count, ns / count.max(1) as f64 / 1e3)
}
