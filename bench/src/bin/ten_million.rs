//! Ten million I/Os, and every one accounted for: measured + lost = what the kernel counts.
//!
//! `cargo run --release -p iowhy-bench --bin ten_million -- [PERCENT]`, as root; `bench/exactness`
//! is that. Over schedulers, depths 1 to 256, batches of io_uring, writeback with fsync, and
//! discards, each request is counted as an event and in the histograms of the kernel at once: the
//! sums of D2C must be the same to the nanosecond, and no latency negative or longer than the run.
//! PERCENT makes it shorter. Status 1 if any of this fails.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../../../crates/live/tests/rig/mod.rs"]
mod rig;

use std::process::ExitCode;
use std::time::Instant;

use iowhy_live::TraceMode;
use iowhy_model::{Listing, Nanos, Op, Stage};
use rig::{Loop, can_run, trace};

/// Events kept per run: more than any run has.
const BUDGET: usize = 4_000_000;
/// Operations in the order of [`Loop::counters`].
const COUNTED: [Op; 4] = [Op::Read, Op::Write, Op::Discard, Op::Flush];
/// Depths, and how many reads at each: 2.45 million per scheduler with the batches.
const DEPTHS: [(u32, u64); 5] =
    [(1, 100_000), (8, 400_000), (32, 800_000), (128, 400_000), (256, 400_000)];
/// Reads in batches of 32.
const BATCHED: u64 = 350_000;
/// Buffered writes, with an fsync after each 64.
const WRITES: u64 = 60_000;

/// The result of all runs.
#[derive(Default)]
struct Sum {
    measured: u64,
    lost: u64,
    kernel: u64,
    wrong: u64,
}

fn main() -> ExitCode {
    if !can_run(&["fio", "blkdiscard"]) {
        return ExitCode::SUCCESS;
    }
    let percent = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(100u64);
    let disk = Loop::new(256, None);
    let scheduler = format!("/sys/block/{}/queue/scheduler", disk.name);
    let mut sum = Sum::default();
    println!(
        "| scheduler | load | op | measured | lost | kernel | | events' D2C | histograms' D2C | |"
    );
    println!("| --- | --- | --- | --: | --: | --: | --- | --: | --: | --- |");
    for name in ["none", "mq-deadline", "kyber", "bfq"] {
        if std::fs::write(&scheduler, name).is_err() {
            println!("skipped: needs the scheduler `{name}`");
            continue;
        }
        for (depth, count) in DEPTHS {
            let words = [format!("--iodepth={depth}"), number_of(count, percent)];
            let load = || drop(disk.fio(&reads(&words)));
            one(&disk, name, &format!("read, QD {depth}"), load, &mut sum);
        }
        let words = [number_of(BATCHED, percent), "--iodepth=64".to_string()];
        let batch = ["--iodepth_batch_submit=32", "--iodepth_batch_complete_min=32"];
        let load = || drop(disk.fio(&[&reads(&words)[..], &batch].concat()));
        one(&disk, name, "read, batches of 32", load, &mut sum);
        let count = number_of(WRITES, percent);
        let load = || {
            let how =
                ["--rw=randwrite", "--direct=0", "--fsync=64", "--size=256m", "--io_size=64g"];
            disk.fio(&[&how[..], &["--ioengine=psync", &count]].concat());
        };
        one(&disk, name, "writeback and fsync", load, &mut sum);
        let load = || drop(rig::run("blkdiscard", &["--step", "65536", &disk.path]));
        one(&disk, name, "discard", load, &mut sum);
    }
    let _ = std::fs::write(&scheduler, "none");
    let Sum { measured, lost, kernel, wrong } = sum;
    println!();
    println!("{measured} measured + {lost} lost = {}; the kernel counts {kernel}", measured + lost);
    println!("{wrong} of the equations or sums above do not hold");
    ExitCode::from(u8::from(wrong > 0))
}

fn reads(words: &[String; 2]) -> [&str; 6] {
    let [first, second] = words;
    ["--ioengine=io_uring", "--rw=randread", "--size=256m", "--io_size=640g", first, second]
}

fn number_of(count: u64, percent: u64) -> String {
    format!("--number_ios={}", (count * percent / 100).max(100))
}

/// One load, and a row for each operation it had.
fn one(disk: &Loop, scheduler: &str, name: &str, load: impl FnOnce() + Send, sum: &mut Sum) {
    disk.settle();
    let (began, before) = (Instant::now(), disk.counters());
    let mut options = disk.options(TraceMode::Events);
    // Above 1 ns: every request, and with a limit histograms come along.
    options.filter.over = Some(Nanos(1));
    let (recording, _) = trace(options, BUDGET, || {
        load();
        disk.settle();
    });
    let (after, longest) = (disk.counters(), began.elapsed().as_nanos() as i64);
    let listings = &recording.listings;
    for (place, op) in COUNTED.into_iter().enumerate() {
        let kernel = after[place] - before[place];
        let events = || listings[1].events.iter().filter(move |event| event.op == op);
        let measured = events().count() as u64;
        let lost = lost(listings, op);
        if kernel + measured + lost == 0 {
            continue;
        }
        let absurd = events().filter(|event| {
            let times = [event.queued, event.issued, event.completed];
            let known: Vec<_> = times.into_iter().flatten().collect();
            !known.is_sorted() || event.longest().is_none_or(|(_, took)| took.ns() > longest)
        });
        let by_event: i64 = events().filter_map(|e| e.latency(Stage::Device)).map(Nanos::ns).sum();
        let known = listings[0].distributions.iter();
        let known = known.filter(|known| known.op == Some(op) && known.stage == Stage::Device);
        let counted: f64 = known.filter_map(|known| known.histogram.sum_ns).sum();
        let equal = measured + lost == kernel;
        let same = by_event as f64 == counted && absurd.count() == 0;
        println!(
            "| {scheduler} | {name} | {} | {measured} | {lost} | {kernel} | {} | {by_event} | \
             {counted} | {} |",
            op.name(),
            if equal { "equal" } else { "NOT EQUAL" },
            if same { "same" } else { "NOT THE SAME" },
        );
        sum.measured += measured;
        sum.lost += lost;
        sum.kernel += kernel;
        sum.wrong += u64::from(!equal) + u64::from(!same);
    }
}

/// Losses of one operation, as the sources report them.
fn lost(listings: &[Listing], op: Op) -> u64 {
    let all = listings.iter().flat_map(|listing| &listing.source.losses);
    let of_op = |what: &str| what.contains(&format!(" {} requests ", op.name()));
    // Said of the histograms only; the event is there.
    let real = |what: &str| of_op(what) && !what.contains("only D2C");
    all.filter(|loss| real(&loss.what)).map(|loss| loss.count).sum()
}
