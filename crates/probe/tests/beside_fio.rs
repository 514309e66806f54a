//! The engine beside fio: same device, same engine of the kernel, by turns.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

mod rig;

use std::time::Duration;

use iowhy_probe::{Clock, Job, Purpose, Terms, Watcher, Way, examine, run};
use rig::{Folder, Loop, missing, output, turn};

const BYTES: u64 = 128 << 20;
const ROUNDS: usize = 7;
const SECONDS: u64 = 2;

/// I/Os per second, CPU per I/O in us, and median latency in us.
type Figures = [f64; 3];

/// The number behind the first `"key" :` of fio's JSON that follows `section`.
fn number(text: &str, section: &str, key: &str) -> f64 {
    let part = text.split_once(section).map_or("", |(_, rest)| rest);
    let rest = part.split_once(&format!("\"{key}\" : ")).map_or("", |(_, rest)| rest);
    let end = rest.find([',', '\n', ' ']).unwrap_or(rest.len());
    rest[..end].parse().unwrap_or(f64::NAN)
}

fn fio(device: &Loop, depth: u32) -> Figures {
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
        "--time_based",
        &format!("--runtime={SECONDS}"),
        "--output-format=json",
    ];
    let text = output("fio", &words).expect("fio");
    let ios = number(&text, "\"read\" : {", "total_ios");
    let busy = number(&text, "\"jobs\"", "usr_cpu") + number(&text, "\"jobs\"", "sys_cpu");
    let per_s = number(&text, "\"read\" : {", "iops");
    let p50 = number(&text, "\"lat_ns\" : {", "50.000000") / 1e3;
    [per_s, busy / 100.0 * SECONDS as f64 / ios * 1e6, p50]
}

fn ours(target: &iowhy_probe::Target, depth: u32) -> Figures {
    let stop = false.into();
    let mut watcher = Watcher { stop: &stop, tick: &mut |_| {} };
    let time = Some(Duration::from_secs(SECONDS));
    let job = Job { time, way: Way::Ring, ..Job::reads(4096, depth, BYTES) };
    let run = run(target, &job, Clock::start(), &mut watcher).unwrap();
    let p50 = run.latency.quantile_ns(0.5, 0).unwrap() as f64 / 1e3;
    [run.per_s().unwrap(), run.cpu_ns as f64 / run.latency.n as f64 / 1e3, p50]
}

fn middle(runs: &[Figures], figure: usize) -> (f64, f64, f64) {
    let mut values: Vec<f64> = runs.iter().map(|run| run[figure]).collect();
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

#[test]
#[ignore = "takes a minute; run it with `cargo test --release -p iowhy-probe --test beside_fio -- --ignored --nocapture`"]
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
    for depth in [1, 32] {
        let (mut fios, mut probes) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            fios.push(fio(&device, depth));
            probes.push(ours(&target, depth));
        }
        for (figure, name) in ["IOPS", "us of CPU per I/O", "us median"].iter().enumerate() {
            let (a, b) = (middle(&fios, figure), middle(&probes, figure));
            println!(
                "depth {depth:2}  {name:18} fio {:8.2} ({:.2} to {:.2})  iowhy {:8.2} ({:.2} to \
                 {:.2})  ratio {:.3}",
                a.0,
                a.1,
                a.2,
                b.0,
                b.1,
                b.2,
                b.0 / a.0
            );
            assert!(a.0 > 0.0 && b.0 > 0.0);
        }
    }
}
