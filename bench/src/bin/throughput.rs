//! How fast the readers are: text made here, read by [`scan`] into a sink that only counts.
//!
//! `cargo run --release -p iowhy-bench --bin throughput [MB [FORMAT]]`; or with a file, or the
//! files of one binary trace, which are merged, as arguments. Time is the thread's own on the CPU,
//! so that a busy machine matters less.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used
)]

use std::fmt::Write;
use std::io::{BufRead, BufReader};

use iowhy_model::{
    DeviceId, Distribution, Event, Fact, Histogram, Interval, Level, Name, Recording, Sink, Source,
};
use iowhy_read::{blktrace, scan};

#[path = "../../../crates/read/tests/make_blktrace/mod.rs"]
mod make_blktrace;

/// Keeps nothing but one histogram of all latencies.
struct CountingSink {
    names: Recording,
    source: Source,
    latencies: Histogram,
}

impl CountingSink {
    fn new() -> Self {
        let source = Source::new("none", "-", Level::A);
        let latencies = Histogram::empty(iowhy_model::Edges::standard());
        CountingSink { names: Recording::new(), source, latencies }
    }
}

impl Sink for CountingSink {
    fn begin(&mut self, source: Source) -> usize {
        self.source = source;
        0
    }
    fn resume(&mut self, _: usize) {}
    fn source(&mut self) -> &mut Source {
        &mut self.source
    }
    fn device(&mut self, name: &str) -> DeviceId {
        self.names.device(name)
    }
    fn name(&mut self, text: &str) -> Name {
        self.names.name(text)
    }
    fn event(&mut self, event: Event) {
        self.source.records += 1;
        if let Some((_, latency)) = event.longest() {
            self.latencies.record(latency.ns() as u64);
        }
    }
    fn interval(&mut self, _: Interval) {
        self.source.records += 1;
    }
    fn distribution(&mut self, distribution: Distribution) {
        self.source.records += 1;
        self.latencies.record(distribution.histogram.count());
    }
    fn fact(&mut self, _: Fact) {
        self.source.records += 1;
    }
    fn end(&mut self) {}
}

/// Seconds this thread has run (Documentation/scheduler/sched-stats.rst).
fn on_cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// Reads a file, or merges those of a trace, and prints the memory used.
fn measure(names: &[String]) {
    let mut sink = CountingSink::new();
    let begun = on_cpu();
    let open = |name: &String| {
        let file = std::fs::File::open(name).unwrap();
        Box::new(BufReader::with_capacity(1 << 18, file)) as Box<dyn BufRead>
    };
    let mut parts: Vec<_> = names.iter().map(open).collect();
    let outcome = match &mut parts[..] {
        [one] => scan("-", one, None, &mut sink),
        _ => blktrace::merge("-", parts, &mut sink),
    };
    let seconds = on_cpu() - begun;
    let bytes: u64 = match outcome {
        Ok(scan) => scan.bytes,
        // A log that has nothing about disks is read as well.
        Err(iowhy_read::Error::Nothing { .. }) => {
            names.iter().map(|name| std::fs::metadata(name).unwrap().len()).sum()
        }
        Err(error) => return eprintln!("throughput: {error}"),
    };
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    println!(
        "{:.0} MB/s: {seconds:.3} s on the CPU, {bytes} bytes, {} records, {} skipped, {} lost, \
         {peak}",
        bytes as f64 / 1e6 / seconds,
        sink.source.records,
        sink.source.skipped,
        sink.source.lost(),
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|text| std::path::Path::new(text).exists()) {
        return measure(&arguments);
    }
    let megabytes: usize = std::env::args().nth(1).map_or(200, |text| text.parse().unwrap());
    let only = std::env::args().nth(2).unwrap_or_default();
    if "blktrace".contains(&only) {
        binary(megabytes as u64 * 5_000);
    }
    for (name, text) in [
        ("biosnoop (bcc)", biosnoop(megabytes << 20)),
        ("biosnoop -Q", biosnoop_queue(megabytes << 20)),
        ("pylatencymap", pylatencymap(megabytes << 20)),
    ] {
        for _ in 0..if name.contains(&only) { 5 } else { 0 } {
            let mut sink = CountingSink::new();
            let begun = on_cpu();
            // 256 KiB is what the command line reads with.
            let mut reader = BufReader::with_capacity(1 << 18, text.as_bytes());
            scan("-", &mut reader, None, &mut sink).unwrap();
            let seconds = on_cpu() - begun;
            println!(
                "{name:16} {:>5.0} MB/s  {:>6.1} ns/record  {} records, {} skipped",
                text.len() as f64 / 1e6 / seconds,
                seconds * 1e9 / sink.source.records as f64,
                sink.source.records,
                sink.source.skipped
            );
        }
    }
}

/// 240 MB for a million I/Os of five records each, on four CPUs.
fn binary(ios: u64) {
    let (files, truth) = make_blktrace::Trace { ios, cpus: 4, big: false, second: false }.files();
    let size: usize = files.iter().map(Vec::len).sum();
    let merged = interleaved(&files);
    for k in 0..6 {
        let mut sink = CountingSink::new();
        let begun = on_cpu();
        let reader = |bytes| Box::new(BufReader::with_capacity(1 << 18, bytes)) as Box<dyn BufRead>;
        let name = if k < 3 {
            let parts = files.iter().map(|file| reader(&file[..])).collect();
            blktrace::merge("-", parts, &mut sink).unwrap();
            "blktrace merged"
        } else {
            scan("-", &mut reader(&merged), None, &mut sink).unwrap();
            "blktrace stream"
        };
        let seconds = on_cpu() - begun;
        let p99 = sink.latencies.quantile(0.99).unwrap();
        println!(
            "{name} {:>5.0} MB/s  {seconds:.3} s  {:.1} ns/record  {} of {} I/Os, p99 {} us",
            size as f64 / 1e6 / seconds,
            seconds * 1e9 / truth.ios as f64 / 5.0,
            sink.source.records,
            truth.ios,
            p99.high_ns / 1000,
        );
    }
}

/// The files in turns of ten thousand records, as `blktrace -o -` writes them.
fn interleaved(files: &[Vec<u8>]) -> Vec<u8> {
    // Two notifications of 48 bytes with payloads of 8 and 16 stand at the beginning.
    const NOTES: usize = 120;
    const TURN: usize = 48 * 10_000;
    let (mut all, mut from) = (Vec::new(), 0);
    while files.iter().any(|file| from < file.len()) {
        let to = if from == 0 { NOTES + TURN } else { from + TURN };
        for file in files {
            all.extend_from_slice(&file[from.min(file.len())..to.min(file.len())]);
        }
        from = to;
    }
    all
}

fn biosnoop(size: usize) -> String {
    let mut text =
        String::from("TIME(s)        COMM           PID    DISK    T  SECTOR    BYTES   LAT(ms)\n");
    for k in 0u64.. {
        if text.len() >= size {
            break;
        }
        let comm = ["odsync", "fio", "postgres", "kworker/u8:2"][(k / 5 % 4) as usize];
        let disk = ["sdb", "nvme0n1"][(k / 3 % 2) as usize];
        let _ = writeln!(
            text,
            "{:<14.6} {comm:<14} {:<6} {disk:<7} {:<2} {:<9} {:<7} {:>7.2}",
            k as f64 * 0.000_213,
            1898 + k % 7,
            ["R", "W"][(k / 2 % 2) as usize],
            k * 7919 % 1_000_000_007,
            [4096, 131_072, 8192][(k % 3) as usize],
            0.05 + (k * 31 % 997) as f64 / 70.0
        );
    }
    text
}

fn biosnoop_queue(size: usize) -> String {
    let mut text = String::from(
        "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   QUE(ms) LAT(ms)\n",
    );
    for k in 0u64.. {
        if text.len() >= size {
            break;
        }
        let _ = writeln!(
            text,
            "{:<11.6} {:<14} {:<7} {:<9} {:<1} {:<10} {:<7} {:>7.2} {:>7.2}",
            k as f64 * 0.000_213,
            "fio",
            4021,
            "nvme0n1",
            "W",
            k * 7919 % 1_000_000_007,
            4096,
            0.01 + (k * 17 % 13) as f64 / 100.0,
            0.05 + (k * 31 % 997) as f64 / 70.0
        );
    }
    text
}

fn pylatencymap(size: usize) -> String {
    let mut text = String::new();
    for k in 0u64.. {
        if text.len() >= size {
            break;
        }
        let _ = writeln!(
            text,
            "<begin record>\ntimestamp, microsec, {}, Mon Jan  1 10:00:00 2026\n\
             label, db file sequential read latency\nlatencyunit, microsec\ndatasource, bpf",
            k * 3_000_000
        );
        for bucket in 0..23 {
            let _ = writeln!(text, "{}, {}", 1u64 << bucket, k * (bucket * 7 % 23 + 1));
        }
        text.push_str("<end record>\n");
    }
    text
}
