//! Verdicts on loads: a capture that each accuses, near misses, and every cited number recomputed
//! from the input.

use iowhy_model::{Interval, Layer, Level, Medium, Op, Rates, Sink};

use crate::emitted::{Io, cited, emit, median, near, row, traced};
use crate::made::{MadeCapture, accuses, blames_a_device, brief, of};

/// A commit every 20 ms: a plain write, then a flush of so many ms.
fn commits(capture: &mut MadeCapture, flush_ms: f64, plain_ms: f64) -> Vec<f64> {
    let mut ios = Vec::new();
    let mut flushes = Vec::new();
    for k in 0..100u32 {
        let at = f64::from(k) * 20.0;
        ios.push(Io::new(Op::Write, 1000 + u64::from(k) * 8, 4096, at, plain_ms));
        let took = flush_ms * (0.9 + 0.2 * f64::from(k % 11) / 10.0);
        flushes.push(took);
        ios.push(Io::new(Op::Flush, 0, 0, at + plain_ms, took));
    }
    emit(capture, "sda", ios);
    flushes
}

#[test]
fn load_flush() {
    let mut capture = traced(Level::D);
    capture.medium("sda", Medium::Rotational);
    let flushes = commits(&mut capture, 9.0, 0.4);
    let findings = capture.judge();
    assert!(accuses(&findings, "load.flush"), "{}", brief(&findings));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    near(cited(&findings, "load.flush", "flushes and durable"), 100.0);
    let busy: f64 = flushes.iter().sum();
    near(cited(&findings, "load.flush", "share of busy time with"), busy / (busy + 40.0));
    near(cited(&findings, "load.flush", "their median"), median(flushes.clone()));
    near(cited(&findings, "load.flush", "latency ratio to a plain"), median(flushes) / 0.4);
    let forecast = of(&findings, "load.flush")[0].forecast.clone().unwrap();
    assert!((forecast.now_mean.ms() - busy / 100.0).abs() < 1e-5 && forecast.mean.ms() < 1.0);

    // Near miss: a cache that survives a power cut answers flushes at once.
    let mut capture = traced(Level::D);
    capture.medium("sda", Medium::Flash);
    commits(&mut capture, 0.06, 0.05);
    let findings = capture.judge();
    assert!(of(&findings, "load.flush").is_empty(), "{}", brief(&findings));

    // Near miss: the disk is slow at everything.
    let mut capture = traced(Level::D);
    capture.medium("sda", Medium::Flash);
    commits(&mut capture, 9.0, 8.0);
    let findings = capture.judge();
    assert!(of(&findings, "load.flush").is_empty(), "{}", brief(&findings));
}

#[test]
fn load_flush_from_averages() {
    let judged = |f_await: f64, r_await: f64| {
        let mut capture = MadeCapture::averaged();
        capture.medium("sda", Medium::Rotational);
        for _ in 0..10 {
            let rates =
                [(Op::Read, 20.0, r_await), (Op::Write, 60.0, 0.5), (Op::Flush, 50.0, f_await)];
            row(&mut capture, "sda", 0.7, 20.0 * r_await / 1e3 + 0.03, &rates);
        }
        capture.judge()
    };
    let findings = judged(12.0, 8.0);
    assert!(accuses(&findings, "load.flush"), "{}", brief(&findings));
    // 50 x 12 ms = 0.6 s of 0.7 s busy.
    near(cited(&findings, "load.flush", "share of busy time in flushes"), 0.6 / 0.7);
    assert!(of(&judged(0.3, 8.0), "load.flush").is_empty());
}

#[test]
fn of_places_that_write_and_flush_the_slowest_is_named_with_its_own_mean() {
    // Bricks of a volume; then ways to flush one disk, which no write stands beside: the fastest
    // is what the disk can do.
    let judged = |with_writes: bool| {
        let mut capture = MadeCapture::new();
        capture.listing("gluster-profile", Level::A);
        for (name, flush_ms) in [("a:/brick", 40.0), ("b:/brick", 4.0)] {
            let mut row = Interval::new(capture.recording.device(name), Layer::Application);
            for (op, ms) in [(Op::Write, 0.5), (Op::Flush, flush_ms)] {
                let rates = Rates { ios_per_s: 10.0, await_ns: Some(ms * 1e6), ..Rates::default() };
                if with_writes || op == Op::Flush {
                    row.rates.push((op, rates));
                }
            }
            capture.recording.interval(row);
        }
        capture.judge()
    };
    let findings = judged(true);
    near(cited(&findings, "load.flush", "mean wait for a flush"), 40.0);
    near(cited(&judged(false), "load.flush", "mean wait for a flush"), 22.0);
}

/// Reads of 0.1 ms every 2 ms over 20 s; in every second one, for half of it, discards of 40 ms,
/// while which reads take so long.
fn trimmed(capture: &mut MadeCapture, beside_ms: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut ios, mut met, mut free) = (Vec::new(), Vec::new(), Vec::new());
    for k in 0..10_000u32 {
        let at = f64::from(k) * 2.0;
        let trimming = ((at / 1000.0) as u32).is_multiple_of(2) && at % 1000.0 < 500.0;
        let took = if trimming { beside_ms } else { 0.1 };
        // The reads are spread out so that none that is free of discards ends within one.
        if trimming && at % 40.0 == 0.0 {
            ios.push(Io::new(Op::Discard, 1 << 22, 1 << 20, at, 39.0));
        }
        let overlaps = trimming && at % 40.0 < 39.0;
        if trimming && !overlaps {
            continue;
        }
        if overlaps {
            met.push(took)
        } else {
            free.push(took)
        }
        ios.push(Io::new(Op::Read, u64::from(k) * 7919 % 100_000 * 8, 4096, at, took.min(1.9)));
    }
    emit(capture, "nvme0n1", ios);
    (met, free)
}

#[test]
fn load_discard() {
    let mut capture = traced(Level::D);
    capture.medium("nvme0n1", Medium::Nvme);
    let (met, free) = trimmed(&mut capture, 1.5);
    let findings = capture.judge();
    assert!(accuses(&findings, "load.discard"), "{}", brief(&findings));
    near(cited(&findings, "load.discard", "median latency of reads during a discard"), median(met));
    near(
        cited(&findings, "load.discard", "median latency of reads without a discard"),
        median(free),
    );
    near(cited(&findings, "load.discard", "discards"), 130.0);

    // Near miss: unnoticed discards.
    let mut capture = traced(Level::D);
    capture.medium("nvme0n1", Medium::Nvme);
    trimmed(&mut capture, 0.11);
    assert!(of(&capture.judge(), "load.discard").is_empty());
}

#[test]
fn load_discard_is_not_the_writes_that_deletions_bring() {
    // While files are deleted thirty reads are in flight at once; they wait for each other.
    let mut capture = traced(Level::D);
    capture.medium("sda", Medium::Flash);
    let mut ios = Vec::new();
    for second in 0..40u32 {
        let deleting = second % 2 == 0;
        let batch = if deleting { 30 } else { 1 };
        for step in 0..20u32 {
            let at = f64::from(second) * 1000.0 + f64::from(step) * 50.0;
            if deleting {
                ios.push(Io::new(Op::Discard, 1 << 22, 1 << 20, at, 8.0));
            }
            for k in 0..batch {
                let sector = u64::from((second * 613 + step * 31 + k) % 9973) * 8;
                ios.push(Io::new(Op::Read, sector, 4096, at, 0.2 * f64::from(k + 1)));
            }
            // Some deep batches come without a discard.
            if !deleting && step % 5 == 0 {
                for k in 0..30u32 {
                    let sector = u64::from((step * 97 + k) % 9973) * 8;
                    ios.push(Io::new(Op::Read, sector, 4096, at + 20.0, 0.2 * f64::from(k + 1)));
                }
            }
        }
    }
    emit(&mut capture, "sda", ios);
    let findings = capture.judge();
    assert!(of(&findings, "load.discard").is_empty(), "{}", brief(&findings));
}

/// Reads at depth two, every other pair with a write in place of the second read.
fn mixed(
    capture: &mut MadeCapture,
    device: &str,
    alone_ms: f64,
    beside_ms: f64,
) -> (Vec<f64>, Vec<f64>) {
    let (mut ios, mut met, mut free) = (Vec::new(), Vec::new(), Vec::new());
    for k in 0..800u32 {
        let at = f64::from(k) * 10.0;
        let place = |n: u32| u64::from(n * 7919 % 99_991) * 64;
        let spread = 1.0 + 0.1 * f64::from(k % 7) / 7.0;
        if k % 2 == 0 {
            met.push(beside_ms * spread);
            ios.push(Io::new(Op::Read, place(k), 4096, at, beside_ms * spread));
            ios.push(Io::new(Op::Write, place(k + 5), 65_536, at, beside_ms * spread + 0.5));
        } else {
            free.extend([alone_ms * spread; 2]);
            ios.push(Io::new(Op::Read, place(k), 4096, at, alone_ms * spread));
            ios.push(Io::new(Op::Read, place(k + 9), 4096, at, alone_ms * spread));
        }
    }
    emit(capture, device, ios);
    (met, free)
}

#[test]
fn load_rw_mix() {
    let mut capture = traced(Level::C);
    capture.medium("nvme0n1", Medium::Nvme);
    let (met, free) = mixed(&mut capture, "nvme0n1", 0.1, 2.0);
    let findings = capture.judge();
    assert!(accuses(&findings, "load.rw-mix"), "{}", brief(&findings));
    let ratio = cited(&findings, "load.rw-mix", "latency ratio mixed/alone");
    let (with, without) = (
        cited(&findings, "load.rw-mix", "device time of reads with"),
        cited(&findings, "load.rw-mix", "device time of reads alone"),
    );
    near(ratio, with / without);
    near(with, median(met));
    near(without, median(free));

    // Near miss: a write in flight changes nothing.
    let mut capture = traced(Level::C);
    capture.medium("nvme0n1", Medium::Nvme);
    mixed(&mut capture, "nvme0n1", 0.1, 0.12);
    assert!(of(&capture.judge(), "load.rw-mix").is_empty());
}

/// So many requests kept in flight for so many ms, of a device that answers some at once, in
/// bunches, and others late, as one with a cache before it does.
fn bunched(in_flight: usize, for_ms: f64, late_ms: f64, late_share: f64) -> Vec<Io> {
    let mut random = iowhy_model::Random::seeded(7);
    let mut ios = Vec::new();
    for slot in 0..in_flight {
        let mut at = slot as f64 * 0.002;
        while at < for_ms {
            let tick = 0.4;
            let took = match random.unit() < late_share {
                true => late_ms * (0.5 + random.unit()),
                // Answered with all others of its bunch.
                false => ((at / tick).floor() + 1.0) * tick - at + 0.001 * random.unit(),
            };
            let sector = (random.bits() % 4_000_000) * 128;
            ios.push(Io::new(Op::Read, sector, 65_536, at, took));
            at += took + 0.002;
        }
    }
    ios
}

#[test]
fn a_device_that_completes_in_bunches_at_an_even_rate_is_saturated_not_slow() {
    for (in_flight, late_ms, late_share) in
        [(128, 8.0, 0.35), (128, 4.0, 0.5), (64, 5.0, 0.4), (32, 4.0, 0.9)]
    {
        let mut capture = traced(Level::D);
        emit(&mut capture, "loop2", bunched(in_flight, 400.0, late_ms, late_share));
        let findings = capture.judge();
        assert!(accuses(&findings, "load.saturated"), "{in_flight}: {}", brief(&findings));
        assert!(!blames_a_device(&findings), "{in_flight}: {}", brief(&findings));
        let depth = cited(&findings, "load.saturated", "requests in flight");
        assert!((depth / in_flight as f64 - 1.0).abs() < 0.1, "{depth}");
    }
    // Near miss: the same with little in flight is not a queue.
    let mut capture = traced(Level::D);
    emit(&mut capture, "loop2", bunched(2, 400.0, 0.3, 0.3));
    let findings = capture.judge();
    assert!(of(&findings, "load.saturated").is_empty(), "{}", brief(&findings));
}

#[test]
fn a_flush_among_writes_that_are_as_slow_is_not_to_blame() {
    // 128 writes in flight of 4 ms each; a program that writes and flushes waits among them.
    let mut random = iowhy_model::Random::seeded(9);
    let mut ios = Vec::new();
    for slot in 0..128 {
        let mut at = f64::from(slot) * 0.03;
        while at < 1000.0 {
            let took = 3.0 + 2.0 * random.unit();
            ios.push(Io::new(Op::Write, (random.bits() % 4_000_000) * 128, 65_536, at, took));
            at += took + 0.002;
        }
    }
    let mut at = 0.0;
    while at < 1000.0 {
        let flush = 2.0 + random.unit();
        ios.push(Io::new(Op::Write, 8_000_000, 4096, at, 4.0));
        ios.push(Io::new(Op::Flush, 0, 0, at + 4.0, flush));
        at += 4.0 + flush;
    }
    for device in ["loop0", "sda", "nvme0n1"] {
        let mut capture = traced(Level::D);
        emit(&mut capture, device, ios.clone());
        let findings = capture.judge();
        assert!(of(&findings, "load.flush").is_empty(), "{device}: {}", brief(&findings));
        assert!(accuses(&findings, "load.saturated"), "{device}: {}", brief(&findings));
    }
}

#[test]
fn no_disk_is_cleared_beneath_a_queue() {
    for (queue, ms, cleared) in [(1.0, 0.3, true), (100.0, 0.9, false)] {
        let mut capture = MadeCapture::averaged();
        // 4 KiB reads of a disk of unknown kind, which some healthy class answers in so long.
        for _ in 0..10 {
            let per_s = queue / ms * 1e3;
            row(&mut capture, "loop3", 0.95, queue, &[(Op::Read, per_s, ms)]);
        }
        let findings = capture.judge();
        assert_eq!(accuses(&findings, "healthy"), cleared, "{queue}: {}", brief(&findings));
    }
}
