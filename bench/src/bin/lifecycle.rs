//! Starts, ends and kills iowhy at random moments, and checks that nothing remains.
//!
//! `cargo run -p iowhy-bench --bin lifecycle -- [TIMES]`, as root; `bench/lifecycle` is that. 200
//! times a command of iowhy starts during a load and, after a random time of up to 1.5 s, is
//! killed, interrupted, terminated or left to end. After each the kernel must hold no BPF program,
//! map or link it did not hold before, except those that other processes have open. Then a tracer
//! begins and ends as many times in this process, whose descriptors must stay as many as they were.
//! The load reads back what it wrote.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../../../crates/live/tests/rig/mod.rs"]
mod rig;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aya::maps::loaded_maps;
use aya::programs::{loaded_links, loaded_programs};
use iowhy_live::{BlockTrace, Collector, TraceMode};
use iowhy_model::Recording;
use rig::{Loop, can_run};

/// Default number of times.
const TIMES: u64 = 200;
/// The longest run of a command, ms: through loading (some 100 ms) and well into the watch.
const LIFE_MS: u64 = 1500;
/// Programs and maps are freed a moment after their last user is gone, by a worker of the kernel.
const PATIENCE: u32 = 100;

fn main() -> ExitCode {
    let Some(iowhy) = binary().filter(|_| can_run(&["fio"])) else {
        println!("skipped: needs root, eBPF, fio and `iowhy` beside this program");
        return ExitCode::SUCCESS;
    };
    let times = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(TIMES);
    let disk = Loop::new(64, None);
    let mut random =
        SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    println!("seed {random}");
    let before = held();
    let mut ends = [0u64; 4];
    let mut left_behind = 0;
    for turn in 0..times {
        let load = load(&disk);
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (pick, life) = (random >> 33, Duration::from_millis((random >> 40) % LIFE_MS));
        let way = (pick % 4) as usize;
        run(&iowhy, &disk, (pick / 4 % 5) as usize, way, life);
        ends[way] += 1;
        let verified = load.wait_with_output().expect("fio");
        assert!(verified.status.success(), "fio: {}", String::from_utf8_lossy(&verified.stderr));
        if !settled(&before) {
            left_behind += 1;
            println!("turn {turn}: left {:?}", held().difference(&before));
        }
    }
    let [killed, interrupted, terminated, ended] = ends;
    println!("{killed} killed, {interrupted} interrupted, {terminated} terminated, {ended} ended");
    println!("programs, maps or links left behind: {left_behind} times");
    let descriptors = || std::fs::read_dir("/proc/self/fd").expect("own descriptors").count();
    let open = descriptors();
    for turn in 0..times {
        let mode = if turn % 2 == 0 { TraceMode::Events } else { TraceMode::Histograms };
        let (mut tracer, mut recording) = (BlockTrace::new(disk.options(mode)), Recording::new());
        tracer.begin(&mut recording).expect("the tracer begins");
        if turn % 3 > 0 {
            tracer.end(&mut recording).expect("the tracer ends");
        }
    }
    let leaked = descriptors() as i64 - open as i64;
    println!("{times} tracers in one process: {leaked} descriptors leaked");
    let clean = left_behind == 0 && leaked == 0 && settled(&before);
    println!("{}", if clean { "nothing stays behind" } else { "SOMETHING STAYS BEHIND" });
    ExitCode::from(u8::from(!clean))
}

/// Starts a command and ends it in one of four ways.
fn run(iowhy: &PathBuf, disk: &Loop, which: usize, way: usize, life: Duration) {
    let words: [&[&str]; 5] = [
        &["hist", "1", "--before"],
        &["snoop", "--json"],
        &["stat", "0.1"],
        &["why", "--for", "1m"],
        &["snoop", "--over", "1us"],
    ];
    let mut command = Command::new(iowhy);
    command.args(words[which]).args(["--device", &disk.name]);
    if way == 3 {
        // Left to end: a second of it.
        command = Command::new(iowhy);
        command.args(["hist", "0.5", "1", "--device", &disk.name]);
    }
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = quiet.spawn().expect("iowhy");
    std::thread::sleep(life);
    match way {
        0 => child.kill().expect("a signal"),
        1 => signal(&child, "-INT"),
        2 => signal(&child, "-TERM"),
        _ => {}
    }
    // Where this runs in the background of a shell, SIGINT is ignored until iowhy listens for it.
    while child.try_wait().expect("its state").is_none() {
        std::thread::sleep(Duration::from_millis(100));
        if way < 3 {
            signal(&child, ["-KILL", "-INT", "-TERM"][way]);
        }
    }
}

fn signal(child: &Child, which: &str) {
    // It may have ended by itself.
    let _ =
        Command::new("kill").args([which, &child.id().to_string()]).stderr(Stdio::null()).status();
}

/// Some writes that are read back and compared.
fn load(disk: &Loop) -> Child {
    Command::new("fio")
        .args(["--name=load", "--filename", &disk.path, "--direct=1", "--bs=4k", "--size=16m"])
        .args(["--ioengine=io_uring", "--rw=randwrite", "--iodepth=8", "--verify=crc32c"])
        .args(["--rate_iops=6000", "--verify_state_save=0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("fio")
}

/// Ids of programs, maps and links that the kernel holds for this process or for none.
fn held() -> BTreeSet<(&'static str, u32)> {
    let theirs = held_by_others();
    let programs = loaded_programs().flatten().map(|one| ("program", one.id()));
    let maps = loaded_maps().flatten().map(|one| ("map", one.id()));
    let links = loaded_links().flatten().map(|one| ("link", one.id()));
    programs.chain(maps).chain(links).filter(|one| !theirs.contains(one)).collect()
}

/// What other processes have open, and the maps of their programs.
fn held_by_others() -> BTreeSet<(&'static str, u32)> {
    let me = std::process::id().to_string();
    let mut theirs = BTreeSet::new();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        if process.file_name().to_str() == Some(&me) {
            continue;
        }
        for open in std::fs::read_dir(process.path().join("fdinfo")).into_iter().flatten().flatten()
        {
            let text = std::fs::read_to_string(open.path()).unwrap_or_default();
            for line in text.lines() {
                let Some((key, id)) = line.split_once(":\t") else { continue };
                let kind = ["program", "map", "link"]
                    .into_iter()
                    .zip(["prog_id", "map_id", "link_id"])
                    .find_map(|(kind, known)| (known == key).then_some(kind));
                theirs.extend(kind.zip(id.trim().parse().ok()));
            }
        }
    }
    for program in loaded_programs().flatten() {
        if theirs.contains(&("program", program.id())) {
            let maps = program.map_ids().ok().flatten().unwrap_or_default();
            theirs.extend(maps.into_iter().map(|map| ("map", map)));
        }
    }
    theirs
}

/// Whether the kernel holds nothing that it did not hold before, after a moment.
fn settled(before: &BTreeSet<(&'static str, u32)>) -> bool {
    (0..PATIENCE).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        held().is_subset(before)
    })
}

/// The command, built next to this program.
fn binary() -> Option<PathBuf> {
    let here = std::env::current_exe().ok()?;
    let found = here.parent()?.join("iowhy");
    found.exists().then_some(found)
}
