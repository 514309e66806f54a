//! The engine beside fio: same device, same engine of the kernel, by turns.

use std::time::Duration;

use iowhy_probe::{Clock, EngineChoice, Job, Purpose, Terms, Watcher, examine, run};

use crate::rig::{Folder, Loop, missing, output, turn};

const BYTES: u64 = 128 << 20;
const ROUNDS: usize = 9;
const SECONDS: u64 = 1;

/// I/Os per second, CPU per I/O in us, and median latencies in us: from submission, and from the
/// moment the system call that submitted had returned (fio only).
type Figures = [f64; 4];
const NAMES: [&str; 3] = ["IOPS", "us of CPU per I/O", "us median, from submission"];
/// The bars: at least, at most, at most.
const BARS: [(f64, &str); 3] = [(0.97, "at least"), (1.0, "at most"), (1.03, "at most")];

/// Keeps the CPUs from falling asleep, at a priority that yields to everybody: else a read at depth
/// 1 takes 5 us or 40, by how deep the CPU slept that has to be woken, and not by the engine.
struct Awake(Vec<std::process::Child>);

impl Awake {
    fn all() -> Awake {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = || {
            let words = ["--idle", "0", "sh", "-c", "while :; do :; done"];
            std::process::Command::new("chrt").args(words).spawn()
        };
        Awake((0..cpus).filter_map(|_| spin().ok()).collect())
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Where the loop device's workers may run (Documentation/core-api/workqueue.rst, "Affinity
/// Scopes": the mask of all workers bound to no CPU).
const WORKERS: &str = "/sys/devices/virtual/workqueue/cpumask";

/// Keeps this thread and every fio it starts on the first CPU, and the workers on that one too or
/// on the second: else a read at depth 1 takes 5 us or 38, by where the scheduler happened to put
/// the two, and not by the engine. All is as before when this goes.
struct CpuPlacement {
    workers: String,
}

impl CpuPlacement {
    fn with_workers_on(cpu: usize) -> CpuPlacement {
        let mut here = rustix::thread::CpuSet::new();
        here.set(0);
        rustix::thread::sched_setaffinity(None, &here).unwrap();
        let placed = CpuPlacement { workers: std::fs::read_to_string(WORKERS).unwrap() };
        std::fs::write(WORKERS, format!("{:x}", 1 << cpu)).unwrap();
        placed
    }
}

impl Drop for CpuPlacement {
    fn drop(&mut self) {
        let _ = std::fs::write(WORKERS, self.workers.trim());
        let mut all = rustix::thread::CpuSet::new();
        (0..rustix::thread::CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
        let _ = rustix::thread::sched_setaffinity(None, &all);
    }
}

/// The number after the first `"key" :` of fio's JSON that follows `section`.
fn number(text: &str, section: &str, key: &str) -> f64 {
    let part = text.split_once(section).map_or("", |(_, rest)| rest);
    let rest = part.split_once(&format!("\"{key}\" : ")).map_or("", |(_, rest)| rest);
    let end = rest.find([',', '\n', ' ']).unwrap_or(rest.len());
    rest[..end].parse().unwrap_or(f64::NAN)
}

fn fio(device: &Loop, depth: u32, more: &[&str]) -> Figures {
    let words = [
        "--name=beside",
        &format!("--filename={}", device.path()),
        "--ioengine=io_uring",
        &format!("--iodepth={depth}"),
        "--rw=randread",
        "--bs=4k",
        "--direct=1",
        "--readonly",
        "--lat_percentiles=1",
        "--clat_percentiles=1",
        "--time_based",
        &format!("--runtime={SECONDS}"),
        "--output-format=json",
    ];
    let words = [&words[..], more].concat();
    let text = output("fio", &words).expect("fio");
    let ios = number(&text, "\"read\" : {", "total_ios");
    let busy = number(&text, "\"jobs\"", "usr_cpu") + number(&text, "\"jobs\"", "sys_cpu");
    let per_s = number(&text, "\"read\" : {", "iops");
    let p50 = number(&text, "\"lat_ns\" : {", "50.000000") / 1e3;
    let returned = number(&text, "\"clat_ns\" : {", "50.000000") / 1e3;
    [per_s, busy / 100.0 * SECONDS as f64 / ios * 1e6, p50, returned]
}

fn ours(target: &iowhy_probe::Target, depth: u32) -> Figures {
    let stop = false.into();
    let mut watcher = Watcher { stop: &stop, tick: &mut |_| {} };
    let time = Some(Duration::from_secs(SECONDS));
    let job = Job { time, way: EngineChoice::Ring, ..Job::reads(4096, depth, BYTES) };
    let run = run(target, &job, Clock::start(), &mut watcher).unwrap();
    let p50 = run.latency.quantile_ns(0.5, 0).unwrap() as f64 / 1e3;
    [run.per_s().unwrap(), run.cpu_ns as f64 / run.latency.n as f64 / 1e3, p50, f64::NAN]
}

fn middle(runs: &[Figures], figure: usize) -> (f64, f64, f64) {
    let mut values: Vec<f64> = runs.iter().map(|run| run[figure]).collect();
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

#[test]
#[ignore = "long: two minutes; alone: `cargo test --release -p iowhy-probe --test all beside_fio -- --ignored --nocapture`"]
fn the_same_reads_by_turns() {
    if let Some(what) = missing().or(output("fio", &["--version"]).is_none().then(|| "fio".into()))
    {
        println!("skipped: beside fio: needs {what}");
        return;
    }
    let _turn = turn();
    let folder = Folder::new("beside");
    std::fs::write(folder.0.join("disk"), vec![7u8; BYTES as usize]).unwrap();
    let device = Loop::over(&folder.0.join("disk"), &[]);
    let stop = false.into();
    let mut watcher = Watcher { stop: &stop, tick: &mut |_| {} };
    let permit = examine(&device.device, Purpose::Read, &Terms::default()).unwrap();
    let target = permit.open(&mut watcher).unwrap();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    println!("load of the machine before: {}", load.trim());
    let _awake = Awake::all();
    let workers = ["on the same CPU", "on the other CPU"];
    for (depth, cpu) in [(1, 0), (1, 1), (32, 0), (32, 1)] {
        let _placed = CpuPlacement::with_workers_on(cpu);
        let (mut fios, mut tuned, mut probes) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            fios.push(fio(&device, depth, &[]));
            probes.push(ours(&target, depth));
            tuned.push(fio(&device, depth, &["--fixedbufs", "--registerfiles"]));
        }
        println!(
            "depth {depth}, the device's workers {}, medians of {ROUNDS} rounds by turns (smallest to \
             largest):",
            workers[cpu]
        );
        for (figure, name) in NAMES.iter().enumerate() {
            let (plain, best, mine) =
                (middle(&fios, figure), middle(&tuned, figure), middle(&probes, figure));
            let (bar, side) = BARS[figure];
            let ratio = mine.0 / plain.0;
            let holds = if side == "at least" { ratio >= bar } else { ratio <= bar };
            let show = |(a, b, c): (f64, f64, f64)| format!("{a:.2} ({b:.2} to {c:.2})");
            println!(
                "  {name:27} fio {}  fio with fixed buffers {}  iowhy {}  iowhy/fio {ratio:.3}, bar \
                 {side} {bar}: {}",
                show(plain),
                show(best),
                show(mine),
                if holds { "held" } else { "MISSED" }
            );
            assert!(plain.0 > 0.0 && mine.0 > 0.0);
        }
        let (plain, best) = (middle(&fios, 3), middle(&tuned, 3));
        println!(
            "  for comparison, fio's clat, which begins when the submitting call has returned: \
             {:.2} us, with fixed buffers {:.2}",
            plain.0, best.0
        );
    }
}
