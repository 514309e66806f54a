//! Measured + lost = what the kernel itself counts in /proc/diskstats, request for request.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

mod rig;

use iowhy_live::{BlockTrace, TraceMode};
use iowhy_model::{Listing, Op, Recording, Stage};
use rig::{Loop, can_run, trace};

/// Single events kept per run; above all runs, so that none is folded away.
const BUDGET: usize = 4_000_000;
/// Operations in the order of [`Loop::counters`].
const COUNTED: [Op; 4] = [Op::Read, Op::Write, Op::Discard, Op::Flush];

fn difference(before: [u64; 4], after: [u64; 4]) -> [u64; 4] {
    std::array::from_fn(|op| after[op] - before[op])
}

/// Losses of one operation, from the source's own words.
fn lost(listings: &[Listing], op: Op) -> u64 {
    let of_op = |what: &str| what.contains(&format!(" {} requests ", op.name()));
    let all = listings.iter().flat_map(|listing| &listing.source.losses);
    all.filter(|loss| of_op(&loss.what)).map(|loss| loss.count).sum()
}

/// Requests that a listing measured: its events, or its Q2C histograms (D2C for flushes).
fn measured(listings: &[Listing], op: Op) -> u64 {
    let stage = if op == Op::Flush { Stage::Device } else { Stage::Total };
    let events = listings.iter().flat_map(|listing| &listing.events).filter(|event| event.op == op);
    let histograms = listings.iter().flat_map(|listing| &listing.distributions);
    let of_stage = histograms.filter(|known| known.op == Some(op) && known.stage == stage);
    events.count() as u64 + of_stage.map(|known| known.histogram.count()).sum::<u64>()
}

/// Runs a load under the tracer and holds both sides of the equation together, per operation.
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
        assert_eq!(measured + lost, kernel, "{what} {mode:?} {op:?} {:?}", tracer.tallies());
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

#[test]
fn a_million_reads_at_depth_1_and_32_in_both_modes() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = Loop::new(256, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=256m"]);
    for mode in [TraceMode::Histograms, TraceMode::Events] {
        check("depth 1", &disk, mode, || {
            disk.fio(&[
                "--ioengine=io_uring",
                "--rw=randread",
                "--iodepth=1",
                "--number_ios=60000",
                "--size=256m",
                "--io_size=8g",
            ]);
        });
        check("depth 32", &disk, mode, || {
            disk.fio(&[
                "--ioengine=io_uring",
                "--rw=randread",
                "--iodepth=32",
                "--number_ios=460000",
                "--size=256m",
                "--io_size=8g",
            ]);
        });
    }
}
