//! How long a verdict takes: `verdict_speed 1000000` times the judge over so many events in memory;
//! `verdict_speed 1000000 --print` writes them as biosnoop lines instead, for a pipe.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::io::{self, BufWriter, Write};
use std::time::Instant;

use iowhy_diagnose::{Options, judge, random::Random};
use iowhy_model::{Event, Flags, Layer, Level, Nanos, Op, Recording, Sink, Source, Time};

/// Disks of the machine, and how many of their requests are in flight.
const DISKS: [&str; 4] = ["sda", "sdb", "nvme0n1", "nvme1n1"];
const DEPTH: u64 = 4;

/// One request: disk, operation, sector, issue and completion in ns.
struct Io {
    disk: usize,
    op: Op,
    sector: u64,
    issued: i64,
    completed: i64,
}

/// Random and sequential reads, and writes with flushes, on four disks, one of which stalls.
fn ios(count: u64) -> impl Iterator<Item = Io> {
    let mut random = Random::seeded(3);
    (0..count).map(move |k| {
        let disk = (k % 4) as usize;
        let base = if disk < 2 { 4_000_000.0 } else { 90_000.0 };
        let stalled = disk == 2 && k % 40_000 < 40;
        let took = base * (0.6 + 0.8 * random.unit()) + if stalled { 200e6 } else { 0.0 };
        let op = match random.below(10) {
            0 => Op::Flush,
            1..=3 => Op::Write,
            _ => Op::Read,
        };
        let sector = if k % 3 == 0 { k * 8 } else { random.below(1 << 28) as u64 * 8 };
        let issued = (k / DEPTH) as i64 * 1_200_000;
        Io { disk, op, sector, issued, completed: issued + took as i64 }
    })
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let count = words.first().and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    if words.iter().any(|word| word == "--print") {
        return print(count);
    }
    let recording = recorded(count);
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            let findings = judge(&recording, &Options::default());
            assert!(!findings.is_empty());
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "{count} events: a verdict takes {:.3} s (median of 5, {:.3} to {:.3})",
        times[2], times[0], times[4]
    );
    Ok(())
}

fn recorded(count: u64) -> Recording {
    let mut recording = Recording::new();
    let mut source = Source::new("block-trace", "bench", Level::D);
    source.resolution = Some(Nanos(1));
    recording.begin(source);
    let devices = DISKS.map(|name| recording.device(name));
    for io in ios(count) {
        let mut event = Event::new(devices[io.disk], io.op, Layer::Block);
        event.queued = Some(Time::from_ns(io.issued - 2_000));
        event.issued = Some(Time::from_ns(io.issued));
        event.completed = Some(Time::from_ns(io.completed));
        event.sector = Some(io.sector);
        event.bytes = Some(if io.op == Op::Flush { 0 } else { 4096 });
        event.flags = Flags::default();
        recording.event(event);
    }
    recording.end();
    recording
}

fn print(count: u64) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    writeln!(out, "TIME(s)     COMM           PID     DISK    T SECTOR     BYTES  LAT(ms)")?;
    for io in ios(count) {
        let Io { disk, op, sector, issued, completed } = io;
        let (name, letter) = (DISKS[disk], op.letter());
        let ms = (completed - issued) as f64 / 1e6;
        let seconds = completed as f64 / 1e9;
        writeln!(
            out,
            "{seconds:<11.6} bench          7       {name:<7} {letter} {sector:<10} 4096   {ms:>7.2}"
        )?;
    }
    out.flush()
}
