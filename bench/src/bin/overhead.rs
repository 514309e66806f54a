//! Cost of tracing, in one run: nanoseconds per I/O in BPF, and fio's rate compared with nothing
//! attached, for histograms and for every event, each with our clock and with the kernel's, for the
//! flight recorder, for a program of one probe (`one_probe.bpf.c`), for Debian's biolatency and for
//! bpftrace.
//!
//! `cargo run --release -p iowhy-bench --bin overhead -- [ROUNDS [SLICE_MS]]
//! [together|free|crowded] [batched] [paced=IOPS]`, as root.
//!
//! One fio reads 4 KiB blocks at random from holes of a private loop device, io_uring, depth 32,
//! for the whole time: on the first CPU, the device's workers, which complete, and this program on
//! the second, so that a rate does not depend on the scheduler's placement. `together` puts the
//! workers on fio's CPU, as a disk with a queue per CPU completes; `free` leaves all of it to the
//! scheduler; so does `crowded`, with four jobs for one, so that no CPU is ever idle and the rate
//! follows from the time per I/O: where CPUs sleep between I/Os, anything that keeps them awake
//! raises the rate, even a slow tracer. `batched` sends and reaps 16 in one system call. With
//! `paced`, each job does this many I/Os a second: is that rate kept where CPU time is left? In
//! each round every setup has its turn, in another order: some slices with it between as many with
//! nothing attached before and after, whose medians give one ratio; then slices in which the kernel
//! counts the time in BPF programs (kernel.bpf_stats_enabled), separate because counting costs
//! time. The result is the median of the ratios, with its 95 % interval and the quartiles. Context
//! switches per I/O are printed with it: where fio and the device's worker share a CPU, they matter
//! more for the rate than the programs do. The row "nothing" is a turn in which nothing is
//! attached: the accuracy of the rest; in "another device" every event of another device is traced:
//! the kernel's cost of calling programs that return at once.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../../../crates/live/tests/rig/mod.rs"]
mod rig;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader};
use iowhy_live::{BlockTrace, Collector, TraceClock, TraceMode, TraceOptions};
use iowhy_model::Recording;
use rig::{Loop, can_run};

/// Default number of rounds.
const ROUNDS: u64 = 40;
/// Default length of a slice in ms (docs/METHOD.md, 15 Tracer).
const SLICE_MS: u64 = 40;
/// Slices of a setup in its turn, and with nothing attached before and after it.
const SLICES: usize = 6;
/// Slices of a turn in which the time in BPF is counted.
const COUNTED: usize = 3;
/// Peers, which take long to load, have a turn in one of this many rounds, if there are more.
const PEERS_EVERY: usize = 5;
const FEW_ROUNDS: u64 = 12;
/// How often events are taken out of the ring, as iowhy does.
const DRAIN: Duration = Duration::from_millis(20);
/// Clock reading of bpf_stats itself, per run of a probe, ns (measured on empty probes).
const STATS_FLOOR_NS: f64 = 52.0;
/// After attaching or ending, nothing is measured for this long: the kernel frees the maps of the
/// previous one, and the peers have at least as long.
const SETTLE: Duration = Duration::from_millis(500);
/// biolatency and bpftrace need this long to load; the recorder one second more, to find its
/// limits.
const PEER_LOADS: Duration = Duration::from_millis(1500);
const RECORDER_LOADS: Duration = Duration::from_millis(3500);

/// biolatency as a bpftrace program: the same three tracepoints' ends, the same sums.
const SCRIPT: &str = "tracepoint:block:block_rq_issue { @at[args->dev, args->sector] = nsecs; } \
    tracepoint:block:block_rq_complete /@at[args->dev, args->sector]/ { \
    @us[args->dev] = hist((nsecs - @at[args->dev, args->sector]) / 1000); \
    delete(@at[args->dev, args->sector]); }";

/// The goals of a setup.
#[derive(Clone, Copy)]
enum Bar {
    None,
    /// This share of biolatency's time at most, and a rate higher by this much.
    Beside(f64, f64),
    /// This share of the rate without it, and so many ns per I/O at most.
    Kept(f64, Option<u32>),
}

/// A setup: its name, its bars, how it runs.
struct Setup {
    name: &'static str,
    bar: Bar,
    how: TracerKind,
    /// Rates, by slice, and with nothing attached around them.
    rates: Vec<f64>,
    /// Rate with it to rate without, by turn.
    ratios: Vec<f64>,
    /// ns per I/O, by slice.
    costs: Vec<f64>,
    /// Context switches of the machine per I/O, by turn.
    switches: Vec<f64>,
}

enum TracerKind {
    Nothing,
    Traced(TraceMode, TraceClock),
    OneProbe,
    /// Of another device: the programs are called and return.
    Elsewhere(Loop),
    Biolatency,
    Bpftrace,
    Recorder(&'static str),
}

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
    let rounds = arguments.next().unwrap_or(ROUNDS);
    let slice = Duration::from_millis(arguments.next().unwrap_or(SLICE_MS));
    // Never written: reads of holes reach no disk below, so it is as fast as a device gets.
    let disk = Loop::new(1024, None);
    let place = Place::asked();
    let _placed = CpuPlacement::new(place);
    let _load = load(&disk, place);
    std::thread::sleep(Duration::from_secs(1));
    let mut setups = setups();
    let mut before = slices(&disk, slice, &mut AttachedTracer::None);
    for round in 0..rounds as usize {
        let count = setups.len();
        for place in 0..count {
            let setup = &mut setups[(place + round) % count];
            let is_peer = matches!(
                setup.how,
                TracerKind::Biolatency | TracerKind::Bpftrace | TracerKind::Recorder(_)
            );
            if is_peer && rounds > FEW_ROUNDS && round % PEERS_EVERY != 0 {
                continue;
            }
            let mut rates = turn(setup, &disk, slice);
            std::thread::sleep(SETTLE);
            let behind = slices(&disk, slice, &mut AttachedTracer::None);
            let mut beside: Vec<f64> = before.iter().chain(&behind).copied().collect();
            setup.ratios.push(percentile(&mut rates, 0.5) / percentile(&mut beside, 0.5));
            setup.rates.extend(rates);
            before = behind;
        }
    }
    println!("sent and completed by {}", place.words());
    let sent = if asked_for("batched") { "16 at once" } else { "one by one" };
    let pace = paced().map_or(String::new(), |each| format!(", {each} a second by each job"));
    println!("sent and reaped {sent}{pace}");
    print(&disk, &mut setups, rounds, slice);
}

fn setups() -> Vec<Setup> {
    use TraceClock::{Exact, Kernel};
    use TraceMode::{Events, Histograms};
    let traced = TracerKind::Traced;
    let new = |name, bar, how| Setup {
        name,
        bar,
        how,
        rates: Vec::new(),
        ratios: Vec::new(),
        costs: Vec::new(),
        switches: Vec::new(),
    };
    let mut setups = vec![
        new("nothing", Bar::None, TracerKind::Nothing),
        new("another device", Bar::None, TracerKind::Elsewhere(Loop::beside_others(16))),
        new("one probe", Bar::None, TracerKind::OneProbe),
        new("hist, kernel's clock", Bar::Kept(0.97, Some(120)), traced(Histograms, Kernel)),
        new("every event, kernel's clock", Bar::Kept(0.97, Some(170)), traced(Events, Kernel)),
        new("hist", Bar::Beside(0.3, 0.05), traced(Histograms, Exact)),
        new("every event", Bar::Beside(0.5, 0.0), traced(Events, Exact)),
        new("iowhy watch", Bar::Kept(0.95, None), TracerKind::Recorder("exact")),
        new(
            "iowhy watch, kernel's clock",
            Bar::Kept(0.97, Some(170)),
            TracerKind::Recorder("kernel"),
        ),
        new("biolatency", Bar::None, TracerKind::Biolatency),
    ];
    if Command::new("bpftrace").arg("--version").stdout(Stdio::null()).status().is_ok() {
        setups.push(new("bpftrace", Bar::None, TracerKind::Bpftrace));
    } else {
        println!("bpftrace is not here, so it is left out");
    }
    setups
}

/// Context switches of all CPUs since the start (proc_stat(5), "ctxt").
fn switched() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    let line = text.lines().find_map(|line| line.strip_prefix("ctxt "));
    line.and_then(|count| count.parse().ok()).expect("ctxt in /proc/stat")
}

/// Some slices for the rate, which are returned, then some for the time in BPF.
fn turn(setup: &mut Setup, disk: &Loop, slice: Duration) -> Vec<f64> {
    let mut attached = AttachedTracer::new(&setup.how, disk);
    let (ios, before) = (disk.counters()[0], switched());
    let rates = slices(disk, slice, &mut attached);
    let ios = (disk.counters()[0] - ios).max(1) as f64;
    setup.switches.push((switched() - before) as f64 / ios);
    if !matches!(setup.how, TracerKind::Nothing) {
        let on = Statistics::on();
        for _ in 0..COUNTED {
            let (ios, before) = (disk.counters()[0], rig::bpf_statistics(attached.pid()));
            rate(disk, slice, &mut attached);
            let (ios, after) = (disk.counters()[0] - ios, rig::bpf_statistics(attached.pid()));
            let floor = (after.1 - before.1) as f64 * STATS_FLOOR_NS;
            setup.costs.push(((after.0 - before.0) as f64 - floor) / ios.max(1) as f64);
        }
        drop(on);
    }
    attached.end();
    rates
}

fn slices(disk: &Loop, slice: Duration, attached: &mut AttachedTracer) -> Vec<f64> {
    (0..SLICES).map(|_| rate(disk, slice, attached)).collect()
}

/// Where the loop device's workers may run (Documentation/core-api/workqueue.rst, "Affinity
/// Scopes": the mask of all workers bound to no CPU).
const WORKERS: &str = "/sys/devices/virtual/workqueue/cpumask";

fn asked_for(word: &str) -> bool {
    std::env::args().skip(1).any(|argument| argument == word)
}

/// Limit of I/Os per second for each job, if any.
fn paced() -> Option<u64> {
    std::env::args().find_map(|word| word.strip_prefix("paced=")?.parse().ok())
}

/// Placement of fio and the workers.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Apart,
    Together,
    Free,
    Crowded,
}

impl Place {
    fn asked() -> Place {
        if asked_for("together") {
            Place::Together
        } else if asked_for("free") {
            Place::Free
        } else if asked_for("crowded") {
            Place::Crowded
        } else {
            Place::Apart
        }
    }

    fn words(self) -> &'static str {
        match self {
            Place::Apart => "two CPUs",
            Place::Together => "one CPU",
            Place::Free => "whichever CPU the scheduler chose",
            Place::Crowded => "four jobs, each where the scheduler put it",
        }
    }
}

/// Keeps this program on the second CPU, away from fio on the first, and the device's workers there
/// too or on fio's CPU. Dropping it restores the workers' placement.
struct CpuPlacement(Option<String>);

impl CpuPlacement {
    fn new(place: Place) -> CpuPlacement {
        if matches!(place, Place::Free | Place::Crowded) {
            return CpuPlacement(None);
        }
        if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
            println!("only one CPU: all of it runs there");
            return CpuPlacement(None);
        }
        let mut here = rustix::thread::CpuSet::new();
        here.set(1);
        let moved = rustix::thread::sched_setaffinity(None, &here).is_ok();
        let mask = std::fs::read_to_string(WORKERS).ok();
        let wanted = if place == Place::Together { "1" } else { "2" };
        let mask = mask.filter(|_| moved && std::fs::write(WORKERS, wanted).is_ok());
        if mask.is_none() {
            println!("the workers of the device cannot be placed: rates will scatter");
        }
        CpuPlacement(mask)
    }
}

impl Drop for CpuPlacement {
    fn drop(&mut self) {
        if let Some(mask) = &self.0 {
            let _ = std::fs::write(WORKERS, mask.trim());
        }
    }
}

/// The recorder that is measured: `IOWHY`, else the one built next to this program.
fn recorder() -> std::path::PathBuf {
    let named = std::env::var_os("IOWHY").map(std::path::PathBuf::from);
    named.unwrap_or_else(|| std::env::current_exe().expect("a path").with_file_name("iowhy"))
}

/// A command that the kernel ends when this program ends in any way (setpriv(1)).
fn bound(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}

/// Endless random reads, in one process, so that ending it ends all of it.
fn load(disk: &Loop, place: Place) -> Guard {
    let mut fio = bound("fio");
    fio.args(["--name=load", "--filename", &disk.path, "--direct=1", "--bs=4k", "--size=1g"]);
    fio.args(["--ioengine=io_uring", "--rw=randread", "--iodepth=32", "--norandommap"]);
    fio.args(["--time_based", "--runtime=86400", "--thread"]).stdout(Stdio::null());
    if asked_for("batched") {
        fio.args(["--iodepth_batch_submit=16", "--iodepth_batch_complete_min=16"]);
    }
    match place {
        Place::Apart | Place::Together => _ = fio.arg("--cpus_allowed=0"),
        Place::Crowded => _ = fio.arg("--numjobs=4"),
        Place::Free => {}
    }
    if let Some(each) = paced() {
        fio.arg(format!("--rate_iops={each}"));
    }
    Guard(fio.spawn().expect("fio"))
}

/// Reads per second over one slice, emptying the ring meanwhile.
fn rate(disk: &Loop, slice: Duration, attached: &mut AttachedTracer) -> f64 {
    let (began, before) = (Instant::now(), disk.counters()[0]);
    while began.elapsed() < slice {
        std::thread::sleep(DRAIN.min(slice.saturating_sub(began.elapsed())));
        attached.drain();
    }
    (disk.counters()[0] - before) as f64 / began.elapsed().as_secs_f64()
}

/// A tracer or a peer at work.
enum AttachedTracer {
    None,
    Traced(TraceMode, Box<BlockTrace>, Box<Recording>),
    OneProbe(#[allow(dead_code)] Ebpf),
    Peer(Guard),
}

impl AttachedTracer {
    fn new(how: &TracerKind, disk: &Loop) -> AttachedTracer {
        match how {
            TracerKind::Nothing => {
                std::thread::sleep(SETTLE);
                AttachedTracer::None
            }
            TracerKind::Traced(mode, clock) => AttachedTracer::traced(*mode, *clock, disk),
            TracerKind::Elsewhere(other) => {
                AttachedTracer::traced(TraceMode::Events, TraceClock::Exact, other)
            }
            TracerKind::OneProbe => {
                let attached = AttachedTracer::OneProbe(one_probe(disk));
                std::thread::sleep(SETTLE);
                attached
            }
            TracerKind::Biolatency => {
                let mut peer = bound("biolatency");
                peer.args(["-D", "-d", &disk.name, "3600"]);
                AttachedTracer::peer(peer, PEER_LOADS)
            }
            TracerKind::Bpftrace => {
                let mut peer = bound("bpftrace");
                peer.args(["-e", SCRIPT]);
                AttachedTracer::peer(peer, PEER_LOADS)
            }
            TracerKind::Recorder(clock) => {
                let mut peer = bound(recorder());
                let store =
                    std::env::temp_dir().join(format!("iowhy-{}-store", std::process::id()));
                peer.args(["watch", "--clock", clock, "--device", &disk.name]);
                peer.arg("--store").arg(store);
                AttachedTracer::peer(peer, RECORDER_LOADS)
            }
        }
    }

    fn traced(mode: TraceMode, clock: TraceClock, disk: &Loop) -> AttachedTracer {
        let mut tracer = BlockTrace::new(TraceOptions { clock, ..disk.options(mode) });
        let mut recording = Recording::new();
        tracer.begin(&mut recording).expect("the tracer begins");
        std::thread::sleep(SETTLE);
        AttachedTracer::Traced(mode, Box::new(tracer), Box::new(recording))
    }

    fn peer(mut peer: Command, loads: Duration) -> AttachedTracer {
        peer.stdout(Stdio::null()).stderr(Stdio::null());
        let peer = Guard(peer.spawn().expect("a peer"));
        std::thread::sleep(loads);
        AttachedTracer::Peer(peer)
    }

    /// Events are stored as the recording stores them; histograms stay in the kernel until shown.
    fn drain(&mut self) {
        if let AttachedTracer::Traced(TraceMode::Events, tracer, recording) = self {
            tracer.poll(&mut **recording).expect("a poll");
        }
    }

    fn pid(&self) -> u32 {
        match self {
            AttachedTracer::Peer(peer) => peer.0.id(),
            _ => std::process::id(),
        }
    }

    fn end(self) {
        if let AttachedTracer::Traced(_, mut tracer, mut recording) = self {
            tracer.end(&mut *recording).expect("the tracer ends");
        }
    }
}

/// The program of one probe, compiled now and attached to a device.
fn one_probe(disk: &Loop) -> Ebpf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/one_probe.bpf.c");
    let object = std::env::temp_dir().join(format!("iowhy-one-{}.o", std::process::id()));
    let how = ["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-nostdinc", "-c", source, "-o"];
    rig::run("clang", &[&how[..], &[&object.display().to_string()]].concat());
    let bytes = std::fs::read(&object).expect("the object");
    let _ = std::fs::remove_file(object);
    let btf = Btf::from_sys_fs().expect("BTF");
    let (major, minor) = disk.number;
    let mut loader = EbpfLoader::new();
    loader.btf(Some(&btf));
    loader.override_global("major", &major, true).override_global("minor", &minor, true);
    let mut ebpf = loader.load(&bytes).expect("the kernel takes it");
    let program = ebpf.program_mut("complete").expect("a program");
    let program: &mut BtfTracePoint = program.try_into().expect("of its kind");
    program.load("block_rq_complete", &btf).expect("it is loaded");
    program.attach().expect("it is attached");
    ebpf
}

/// The kernel's switch for counting time in probes, restored on drop.
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

fn print(disk: &Loop, setups: &mut [Setup], rounds: u64, slice: Duration) {
    let busy = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("4k randread, io_uring, depth 32, {}: {rounds} rounds of {SLICES} slices", disk.name);
    println!("of {slice:?} between {SLICES} with nothing; load {}", busy.trim());
    println!();
    let heads = [
        "attached",
        "ns/I/O",
        "of biolatency's",
        "goal",
        "IOPS",
        "ratio",
        "above biolatency's",
        "goal",
        "95 %",
        "quartiles",
        "switches",
        "turns",
    ];
    line(heads.map(String::from));
    line(heads.map(|head| if head == heads[0] { "---" } else { "--:" }.to_string()));
    let figures = |setup: &mut Setup| {
        let ns = (!setup.costs.is_empty()).then(|| percentile(&mut setup.costs, 0.5));
        (ns, percentile(&mut setup.ratios, 0.5))
    };
    let peer = setups.iter_mut().find(|setup| matches!(setup.how, TracerKind::Biolatency));
    let (peer_ns, peer_ratio) = peer.map_or((None, 1.0), figures);
    for setup in setups.iter_mut().filter(|setup| !setup.ratios.is_empty()) {
        row(setup, peer_ns, peer_ratio);
    }
    println!();
    println!(
        "ns/I/O: in BPF, median of slices, less {STATS_FLOOR_NS} ns per program run for counting it"
    );
    println!("of biolatency's, above biolatency's: `biolatency -D -d {}`", disk.name);
    println!("ratio: median over turns of IOPS with it to IOPS just before and behind");
    println!("switches: context switches of the machine per I/O, median of turns");
}

fn row(setup: &mut Setup, peer_ns: Option<f64>, peer_ratio: f64) {
    let Setup { name, bar, rates, ratios, costs, switches, .. } = setup;
    let (cost_bar, rate_bar) = match bar {
        Bar::None => (String::new(), String::new()),
        Bar::Beside(share, above) => {
            (format!("share <= {share:.2}"), format!("above >= +{above:.2}"))
        }
        Bar::Kept(kept, ns) => {
            (ns.map_or(String::new(), |ns| format!("<= {ns} ns")), format!("ratio >= {kept}"))
        }
    };
    let ns = (!costs.is_empty()).then(|| percentile(costs, 0.5));
    let of_its = ns.zip(peer_ns).map_or(String::new(), |(ns, peer)| format!("{:.2}", ns / peer));
    let ns = ns.map_or(String::new(), |ns| format!("{ns:.0}"));
    let iops = percentile(rates, 0.5);
    let ratio = percentile(ratios, 0.5);
    // The median lies between these two order statistics in 95 of 100 cases (binomial, n large).
    let off = 0.98 / (ratios.len() as f64).sqrt();
    let between = |ratios: &mut [f64], low: f64, high: f64| {
        let [low, high] = [low, high].map(|q| percentile(ratios, q.clamp(0.0, 1.0)));
        format!("{low:.3} to {high:.3}")
    };
    let sure = between(ratios, 0.5 - off, 0.5 + off);
    let spread = between(ratios, 0.25, 0.75);
    let above = format!("{:+.3}", ratio - peer_ratio);
    let (iops, ratio) = (format!("{iops:.0}"), format!("{ratio:.3}"));
    let switches = format!("{:.2}", percentile(switches, 0.5));
    let turns = ratios.len().to_string();
    let name = name.to_string();
    line([name, ns, of_its, cost_bar, iops, ratio, above, rate_bar, sure, spread, switches, turns]);
}

/// A line of the table, headings or numbers.
fn line(cells: [String; 12]) {
    println!("| {} |", cells.join(" | "));
}

fn percentile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * q).round() as usize]
}
