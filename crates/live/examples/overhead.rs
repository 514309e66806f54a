//! What tracing costs: fio's rate with nothing attached, with histograms, with events written to a
//! file, and with Debian's biolatency, in slices of one run.
//!
//! `cargo run --release -p iowhy-live --example overhead -- [ROUNDS [SLICE_MS]]`, as root.
//!
//! One fio reads 4 KiB blocks at random from a private loop device, io_uring, depth 32, for the whole
//! time. Every slice of a configuration lies between two slices with nothing attached and is
//! compared with their mean, so that a machine that slows down or speeds up is no evidence. The
//! 75th percentile of these ratios is the figure; that of nothing against nothing tells how
//! far to trust it. Time spent in the probes is the kernel's own count (kernel.bpf_stats_enabled),
//! taken in a round of its own because counting costs time itself.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../tests/rig/mod.rs"]
mod rig;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iowhy_live::{BlockTrace, Collector, TraceMode};
use iowhy_model::{Recording, Stage};
use rig::{Loop, can_run};

/// Rounds if none are asked for: enough for a 75th percentile that holds to 1.5 %.
const ROUNDS: usize = 30;
/// Length of a slice in ms if none is asked for; the 40 of the trial (docs/METHOD.md, 15 Tracer) are
/// too short for biolatency's start.
const SLICE_MS: u64 = 100;
/// Clock reading of bpf_stats itself, per run of a probe, ns (measured on empty probes).
const STATS_FLOOR_NS: f64 = 52.0;
/// After attaching or starting: nothing is measured for so long.
const SETTLE: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Setup {
    Nothing,
    Histograms,
    Events,
    Biolatency,
}

const SETUPS: [Setup; 4] = [Setup::Nothing, Setup::Histograms, Setup::Events, Setup::Biolatency];

/// A child that ends with its guard.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() {
    if !can_run(&["fio", "biolatency"]) {
        return;
    }
    let mut arguments = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let rounds = arguments.next().map_or(ROUNDS, |rounds| rounds as usize);
    let slice = Duration::from_millis(arguments.next().unwrap_or(SLICE_MS));
    let disk = Loop::new(1024, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=1g"]);
    let _load = load(&disk);
    std::thread::sleep(Duration::from_secs(1));

    let mut ratios: Vec<(Setup, Vec<f64>)> =
        SETUPS.into_iter().map(|setup| (setup, Vec::new())).collect();
    let mut plain = Vec::new();
    for round in 0..rounds {
        for place in 0..SETUPS.len() {
            // Another order in every round.
            let (setup, found) = &mut ratios[(place + round) % SETUPS.len()];
            let before = measure(&disk, slice);
            let with = under(*setup, &disk, slice);
            let after = measure(&disk, slice);
            found.push(with / ((before + after) / 2.0));
            plain.push(before);
        }
    }
    println!("fio 4k randread io_uring QD32, {rounds} rounds of {slice:?} slices");
    println!("nothing attached: {:.0} IOPS (median)", percentile(&mut plain, 0.5));
    println!("{:12} {:>8} {:>8} {:>8}", "setup", "p25", "median", "p75");
    for (setup, found) in &mut ratios {
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|q| percentile(found, q));
        println!("{:12} {low:8.3} {middle:8.3} {high:8.3}", format!("{setup:?}"));
    }
    for setup in [Setup::Histograms, Setup::Events, Setup::Biolatency] {
        println!("{:12} {}", format!("{setup:?}"), probe_time(setup, &disk));
    }
}

/// Endless random reads, in one process, so that ending it ends all of it.
fn load(disk: &Loop) -> Guard {
    let mut fio = Command::new("fio");
    fio.args(["--name=load", "--filename", &disk.path, "--direct=1", "--bs=4k", "--size=1g"]);
    fio.args(["--ioengine=io_uring", "--rw=randread", "--iodepth=32", "--norandommap"]);
    fio.args(["--time_based", "--runtime=86400", "--thread"]).stdout(Stdio::null());
    Guard(fio.spawn().expect("fio"))
}

/// Reads per second over one slice.
fn measure(disk: &Loop, slice: Duration) -> f64 {
    let (began, before) = (Instant::now(), disk.counters()[0]);
    std::thread::sleep(slice);
    (disk.counters()[0] - before) as f64 / began.elapsed().as_secs_f64()
}

/// Reads per second over one slice with something attached.
fn under(setup: Setup, disk: &Loop, slice: Duration) -> f64 {
    if setup == Setup::Nothing {
        return measure(disk, slice);
    }
    if setup == Setup::Biolatency {
        let peer = biolatency(disk);
        let rate = measure(disk, slice);
        drop(peer);
        std::thread::sleep(SETTLE);
        return rate;
    }
    let mut trace = Attached::new(setup, disk);
    std::thread::sleep(SETTLE);
    let (began, before) = (Instant::now(), disk.counters()[0]);
    while began.elapsed() < slice {
        std::thread::sleep(Duration::from_millis(20).min(slice));
        trace.drain();
    }
    let rate = (disk.counters()[0] - before) as f64 / began.elapsed().as_secs_f64();
    trace.end();
    std::thread::sleep(SETTLE);
    rate
}

/// biolatency, running until its guard goes; it needs about half a second to load.
fn biolatency(disk: &Loop) -> Guard {
    let mut peer = Command::new("biolatency");
    peer.args(["-D", "-d", &disk.name, "3600"]).stdout(Stdio::null()).stderr(Stdio::null());
    let peer = Guard(peer.spawn().expect("biolatency"));
    std::thread::sleep(Duration::from_millis(800));
    peer
}

/// A tracer at work, its events going to a file as `iowhy snoop > FILE` would send them.
struct Attached {
    tracer: BlockTrace,
    recording: Recording,
    file: BufWriter<File>,
}

impl Attached {
    fn new(setup: Setup, disk: &Loop) -> Attached {
        let mode = if setup == Setup::Events { TraceMode::Events } else { TraceMode::Histograms };
        let mut tracer = BlockTrace::new(disk.options(mode));
        let mut recording = Recording::new();
        tracer.begin(&mut recording).expect("the tracer begins");
        let path = std::env::temp_dir().join(format!("iowhy-overhead-{}", std::process::id()));
        let file = BufWriter::new(File::create(&path).expect("a file in /tmp"));
        // Gone from its folder at once, from the disk when it is closed.
        let _ = std::fs::remove_file(path);
        Attached { tracer, recording, file }
    }

    /// Histograms rest in the kernel until they are shown.
    fn drain(&mut self) {
        if self.recording.listings[0].source.level == iowhy_model::Level::B {
            return;
        }
        self.tracer.poll(&mut self.recording).expect("a poll");
        for event in self.recording.listings[0].events.drain(..) {
            let took = event.latency(Stage::Device).map_or(0.0, |took| took.ms());
            let at = event.completed.map_or(0.0, |at| at.seconds());
            let (op, bytes) = (event.flags.rwbs(event.op), event.bytes.unwrap_or(0));
            let sector = event.sector.unwrap_or(0);
            writeln!(self.file, "{at:.6} {op} {sector} {bytes} {took:.3}").expect("a line");
        }
    }

    fn end(mut self) {
        self.tracer.end(&mut self.recording).expect("the tracer ends");
    }
}

/// The kernel's switch for counting time in probes, put back when this goes.
struct Statistics(String);

impl Statistics {
    const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";

    fn on() -> Statistics {
        let was = std::fs::read_to_string(Self::SWITCH).expect("bpf_stats_enabled");
        std::fs::write(Self::SWITCH, "1").expect("bpf_stats_enabled");
        Statistics(was)
    }
}

impl Drop for Statistics {
    fn drop(&mut self) {
        let _ = std::fs::write(Self::SWITCH, self.0.trim());
    }
}

/// Time in the probes per request over two seconds, the cost of counting taken off.
fn probe_time(setup: Setup, disk: &Loop) -> String {
    let _on = Statistics::on();
    let peer = (setup == Setup::Biolatency).then(|| biolatency(disk));
    let mut trace = peer.is_none().then(|| Attached::new(setup, disk));
    let pid = peer.as_ref().map_or(std::process::id(), |peer| peer.0.id());
    let (ios, before) = (disk.counters()[0], rig::bpf_statistics(pid));
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(20));
        trace.iter_mut().for_each(Attached::drain);
    }
    let (ios, after) = (disk.counters()[0] - ios, rig::bpf_statistics(pid));
    trace.into_iter().for_each(Attached::end);
    words(after.0 - before.0, after.1 - before.1, ios as f64)
}

fn words(nanoseconds: u64, runs: u64, ios: f64) -> String {
    let net = nanoseconds as f64 - runs as f64 * STATS_FLOOR_NS;
    format!("{:.0} ns in probes per request, {:.0} net", nanoseconds as f64 / ios, net / ios)
}

fn percentile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * q).round() as usize]
}
