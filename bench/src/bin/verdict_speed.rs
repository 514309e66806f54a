//! Time of a verdict: `verdict_speed 1000000` times the judge over this many events, and over a
//! live watch at 10,000 IOPS; `verdict_speed 1000000 --print` writes them as biosnoop lines
//! instead, for a pipe.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::io::{self, BufWriter, Write};
use std::time::Instant;

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Event, Flags, Layer, Level, Nanos, Op, Random, Recording, Sink, Source, Time};

/// Disks of the machine, and how many of their requests are in flight.
const DISKS: [&str; 4] = ["sda", "sdb", "nvme0n1", "nvme1n1"];
const DEPTH: u64 = 4;
/// The load of the live judge's bar, and the length of its watch.
const PER_S: u64 = 10_000;
const SECONDS: u64 = 10;

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
        let op = match random.place(10) {
            0 => Op::Flush,
            1..=3 => Op::Write,
            _ => Op::Read,
        };
        let sector = if k % 3 == 0 { k * 8 } else { random.below(1 << 28) * 8 };
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
    let [wall, cpu] = timed(&recorded(count));
    println!("{count} events: a verdict takes {cpu} of CPU, {wall} by the clock; the bar is 1 s");
    // What `iowhy why` watches by itself: ten seconds, here of 10,000 I/Os each.
    let [_, cpu] = timed(&recorded(PER_S * SECONDS));
    let share = 100.0 * cpu.middle / SECONDS as f64;
    println!(
        "live judge at {PER_S} IOPS: {cpu} of CPU per {SECONDS} s, {share:.1} % of a core; the bar \
         is 2 %"
    );
    Ok(())
}

/// Seconds: the median of five, the least and the most.
struct Seconds {
    middle: f64,
    least: f64,
    most: f64,
}

impl std::fmt::Display for Seconds {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{:.3} s ({:.3} to {:.3})", self.middle, self.least, self.most)
    }
}

/// Time of a verdict, by the clock and of the CPU.
fn timed(recording: &Recording) -> [Seconds; 2] {
    let mut times: Vec<[f64; 2]> = (0..5)
        .map(|_| {
            let (start, cpu) = (Instant::now(), cpu_s());
            let findings = judge(recording, &Options::default());
            assert!(!findings.is_empty());
            [start.elapsed().as_secs_f64(), cpu_s() - cpu]
        })
        .collect();
    [0, 1].map(|which| {
        times.sort_by(|a, b| a[which].total_cmp(&b[which]));
        Seconds { middle: times[2][which], least: times[0][which], most: times[4][which] }
    })
}

/// CPU time of this process so far, s.
fn cpu_s() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn recorded(count: u64) -> Recording {
    let mut recording = Recording::for_a_verdict();
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
            "{seconds:<11.6} bench          7       {name:<7} {letter} {sector:<10} 4096   \
             {ms:>7.2}"
        )?;
    }
    out.flush()
}
