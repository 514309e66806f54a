//! Three ways to time the same requests, in the same run: iowhy's own clock, the times the kernel
//! keeps in each request, and /proc/diskstats with iostat.
//!
//! `cargo run --release -p iowhy-bench --bin truth`, as root; `bench/truth` is that. Needs clang,
//! fio and iostat. Each load runs three times; the line is the run with the median of iowhy's
//! D2C. Q2D is from start to issue, D2C from issue to completion, Q2C both: means over all
//! requests of the run.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../../../crates/live/tests/rig/mod.rs"]
mod rig;

use std::path::Path;
use std::process::{Command, Stdio};

use aya::maps::PerCpuArray;
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader};
use iowhy_live::TraceMode;
use iowhy_model::{Op, Stage};
use rig::{Loop, can_run, trace};

/// Words of `struct sums` of `bpf/request_fields.bpf.c`.
const SUMS: usize = 6;
/// Runs of each load.
const RUNS: usize = 3;
/// Seconds iostat watches: longer than each load takes.
const IOSTAT_S: &str = "12";

/// A load: its name, the operation that is judged, scheduler, fio's options.
type Load = (&'static str, Op, &'static str, &'static [&'static str]);

const LOADS: [Load; 7] = [
    ("read, one by one, QD 32", Op::Read, "none", &["--rw=randread", "--iodepth=32"]),
    ("read, batches of 16", Op::Read, "none", &BATCH_16),
    ("read, batches of 32", Op::Read, "none", &BATCH_32),
    ("writeback and fsync", Op::Write, "none", &WRITEBACK),
    ("writeback and fsync", Op::Write, "mq-deadline", &WRITEBACK),
    ("writeback and fsync", Op::Write, "kyber", &WRITEBACK),
    ("writeback and fsync", Op::Write, "bfq", &WRITEBACK),
];

const BATCH_16: [&str; 4] = [
    "--rw=randread",
    "--iodepth=32",
    "--iodepth_batch_submit=16",
    "--iodepth_batch_complete_min=16",
];
const BATCH_32: [&str; 4] = [
    "--rw=randread",
    "--iodepth=32",
    "--iodepth_batch_submit=32",
    "--iodepth_batch_complete_min=32",
];
const WRITEBACK: [&str; 5] =
    ["--rw=write", "--direct=0", "--bs=64k", "--end_fsync=1", "--ioengine=psync"];

/// Means of one run, in microseconds.
struct Run {
    count: u64,
    ours: [f64; 3],
    fields: [f64; 3],
    no_queue: f64,
    diskstats: f64,
    /// `None` if the load ran beyond its window.
    iostat: Option<f64>,
}

fn main() {
    if !can_run(&["fio", "clang", "iostat"]) {
        return;
    }
    let object = compiled();
    let disk = Loop::new(256, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=256m"]);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    println!("Linux {}, means in us, median of {RUNS} runs", kernel.trim());
    println!();
    println!(
        "| load | scheduler | I/Os | Q2D | D2C | Q2C | fields: Q2D | of that 0 | fields: D2C | \
         fields: Q2C | diskstats | iostat await |"
    );
    println!("| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |");
    for load in LOADS {
        let path = format!("/sys/block/{}/queue/scheduler", disk.name);
        if std::fs::write(path, load.2).is_err() {
            println!("skipped: needs the scheduler `{}`", load.2);
            continue;
        }
        let mut runs: Vec<Run> = (0..RUNS).map(|_| run(&disk, &object, load)).collect();
        runs.sort_by(|a, b| a.ours[1].total_cmp(&b.ours[1]));
        let Run { count, ours, fields, no_queue, diskstats, iostat } = &runs[RUNS / 2];
        let [q2d, d2c, q2c] = ours;
        let [fq2d, fd2c, fq2c] = fields;
        println!(
            "| {} | {} | {count} | {q2d:.1} | {d2c:.1} | {q2c:.1} | {fq2d:.1} | {no_queue:.0} % | \
             {fd2c:.1} ({:+.0} %) | {fq2c:.1} | {diskstats:.1} ({:+.0} %) | {} |",
            load.0,
            load.2,
            (fd2c / d2c - 1.0) * 100.0,
            (diskstats / q2c - 1.0) * 100.0,
            iostat.map_or("-".to_string(), |us| format!("{us:.0}")),
        );
    }
    let _ = std::fs::write(format!("/sys/block/{}/queue/scheduler", disk.name), "none");
}

/// One load under all three.
fn run(disk: &Loop, object: &[u8], (_, op, _, how): Load) -> Run {
    disk.settle();
    let iostat = Command::new("iostat")
        .args(["-x", "-y", "-o", "JSON", &disk.path, IOSTAT_S, "1"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("iostat");
    // It reads its first counters at once; the load must come after.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let fields = Fields::attach(object, disk);
    let before = counters(disk, op);
    let (recording, _) = trace(disk.options(TraceMode::Histograms), 0, || {
        let size = ["--size=256m", "--io_size=256m", "--ioengine=io_uring"];
        disk.fio(&[&size[..], how].concat());
        disk.settle();
    });
    let after = counters(disk, op);
    let mut ours = [0.0; 3];
    let mut count = 0;
    for (place, stage) in [Stage::Queue, Stage::Device, Stage::Total].into_iter().enumerate() {
        let known = recording.listings[0].distributions.iter();
        let known = known.filter(|known| known.op == Some(op) && known.stage == stage);
        let (mut sum, mut of) = (0.0, 0);
        for known in known {
            sum += known.histogram.sum_ns.expect("an exact sum");
            of += known.histogram.count();
        }
        ours[place] = sum / of as f64 / 1e3;
        count = of;
    }
    let [of, no_issue, queue, nil, device, total] = fields.read(op).map(|word| word as f64);
    let issued = of - no_issue;
    let output = iostat.wait_with_output().expect("iostat");
    Run {
        count,
        ours,
        fields: [queue / issued / 1e3, device / issued / 1e3, total / of / 1e3],
        no_queue: nil / issued * 100.0,
        diskstats: (after.1 - before.1) as f64 * 1e3 / (after.0 - before.0) as f64,
        iostat: await_of(&String::from_utf8_lossy(&output.stdout), op),
    }
}

/// I/Os and milliseconds of /sys/block/DEVICE/stat.
fn counters(disk: &Loop, op: Op) -> (u64, u64) {
    let text = std::fs::read_to_string(format!("/sys/block/{}/stat", disk.name)).expect("stat");
    let fields: Vec<u64> =
        text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let at = if op == Op::Read { 0 } else { 4 };
    (fields[at], fields[at + 3])
}

/// `r_await` or `w_await` of iostat's JSON, in microseconds; `None` if it saw nothing.
fn await_of(text: &str, op: Op) -> Option<f64> {
    let key = if op == Op::Read { "\"r_await\":" } else { "\"w_await\":" };
    let rest = text.split_once(key).map_or("", |(_, rest)| rest);
    let number = rest.trim_start().split([',', '}']).next().unwrap_or_default();
    number.trim().parse().ok().filter(|ms| *ms > 0.0).map(|ms: f64| ms * 1e3)
}

/// The program that sums the requests' own times.
struct Fields(Ebpf);

impl Fields {
    fn attach(object: &[u8], disk: &Loop) -> Fields {
        let btf = Btf::from_sys_fs().expect("BTF");
        let (major, minor) = disk.number;
        let mut ebpf = EbpfLoader::new()
            .btf(Some(&btf))
            .override_global("major", &major, true)
            .override_global("minor", &minor, true)
            .load(object)
            .expect("the kernel takes it");
        let program = ebpf.program_mut("complete").expect("a program");
        let program: &mut BtfTracePoint = program.try_into().expect("of its kind");
        program.load("block_rq_complete", &btf).expect("it is loaded");
        program.attach().expect("it is attached");
        Fields(ebpf)
    }

    fn read(&self, op: Op) -> [u64; SUMS] {
        let map = self.0.map("fields").expect("its table");
        let map: PerCpuArray<_, [u64; SUMS]> = PerCpuArray::try_from(map).expect("of its kind");
        let key = u32::from(op == Op::Write);
        let cpus = map.get(&key, 0).expect("sums");
        let mut all = [0; SUMS];
        cpus.iter().for_each(|cpu| all.iter_mut().zip(cpu).for_each(|(all, one)| *all += one));
        all
    }
}

/// The object, compiled now.
fn compiled() -> Vec<u8> {
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/live/bpf/request_fields.bpf.c");
    let object = std::env::temp_dir().join(format!("iowhy-truth-{}.o", std::process::id()));
    let (from, to) = (source.display().to_string(), object.display().to_string());
    rig::run("clang", &["-target", "bpf", "-O2", "-g", "-nostdinc", "-c", &from, "-o", &to]);
    let bytes = std::fs::read(&object).expect("the object");
    let _ = std::fs::remove_file(object);
    bytes
}
