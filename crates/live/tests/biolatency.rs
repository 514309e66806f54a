//! Compares our histogram with that of Debian's biolatency, over the same run of fio.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use iowhy_live::TraceMode;
use iowhy_model::{Edges, Histogram, Stage};

use crate::rig::{self, Loop, Running, can_run, trace};

/// Octaves of microseconds compared: up to 67 s.
const OCTAVES: u32 = 26;

/// Waits until a program has attached all its probes.
fn attached(pid: u32) {
    let links = || {
        let held = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let targets = held.filter_map(|held| std::fs::read_link(held.path()).ok());
        targets.filter(|target| target.to_string_lossy().contains("bpf_link")).count()
    };
    let mut before = 0;
    for _ in 0..60 {
        std::thread::sleep(Duration::from_millis(500));
        let now = links();
        if now > 1 && now == before {
            return;
        }
        before = now;
    }
    panic!("in vain for 30 s: biolatency watches");
}

#[test]
fn the_same_shape_as_biolatency() {
    if !can_run(&["fio", "biolatency"]) {
        return;
    }
    let disk = Loop::new(256, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=256m"]);
    // biolatency measures from issue to completion, as D2C does.
    let mut peer = Running(
        Command::new("biolatency")
            .args(["-d", &disk.name, "60", "1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("biolatency"),
    );
    attached(peer.0.id());
    let count = 300_000;
    let (recording, _) = trace(disk.options(TraceMode::Histograms), 0, || {
        let size = ["--size=256m", "--io_size=64g", "--number_ios=300000"];
        disk.fio(&[&size[..], &["--ioengine=io_uring", "--rw=randread", "--iodepth=8"]].concat());
        disk.settle();
    });
    rig::run("kill", &["-INT", &peer.0.id().to_string()]);
    let mut text = String::new();
    peer.0.stdout.take().expect("its output").read_to_string(&mut text).expect("text");

    let mut ours = Histogram::empty(Edges::standard());
    for known in &recording.listings[0].distributions {
        if known.stage == Stage::Device {
            assert!(ours.merge(&known.histogram));
        }
    }
    let ours = ours.rebin(&Edges::log2_us(OCTAVES));
    let theirs = parse(&text);
    let (our_sum, their_sum) = (ours.count(), theirs.iter().sum::<u64>());
    println!("{:>12} us {:>10} {:>10}", "from", "iowhy", "biolatency");
    for (octave, their) in theirs.iter().enumerate() {
        let our = ours.counts().get(octave).copied().unwrap_or(0);
        if our + their > 0 {
            println!("{:>12} us {our:>10} {their:>10}", ours.edges().low(octave) / 1000);
        }
    }
    println!("{:>15} {our_sum:>10} {their_sum:>10}", "all");
    // Each tool may miss different completions: one in a hundred at most.
    assert!(our_sum > count * 99 / 100 && their_sum > count * 99 / 100);
    let shift: i64 = (0..theirs.len())
        .map(|octave| {
            let our = ours.counts().get(octave).copied().unwrap_or(0);
            (our as i64 - theirs[octave] as i64).abs()
        })
        .max()
        .expect("buckets");
    // Each reads the clock separately, some 200 ns apart, so some requests fall on different sides
    // of an edge.
    let share = shift as f64 / our_sum as f64;
    println!("largest difference of a bucket: {:.2} % of all", share * 100.0);
    assert!(share < 0.05, "{share}");
}

/// Lines such as `        64 -> 127        : 2039     |****  |`, in octaves of microseconds.
fn parse(text: &str) -> Vec<u64> {
    let mut counts = vec![0; OCTAVES as usize];
    for line in text.lines() {
        let Some((range, rest)) = line.split_once(" : ") else { continue };
        let Some((low, _)) = range.split_once("->") else { continue };
        let (Ok(low), Some(count)) =
            (low.trim().parse::<u64>(), rest.split_whitespace().next().map(str::parse::<u64>))
        else {
            continue;
        };
        // 0 -> 1 is the first octave of log2_us as well: everything below 2 us.
        let octave = low.max(1).ilog2() as usize;
        counts[octave] += count.unwrap_or(0);
    }
    counts
}
