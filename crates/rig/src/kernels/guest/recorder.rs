//! The flight recorder on a machine whose wall clock can be set, and whose users name their control
//! groups: tests that need a separate machine.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use iowhy_lab::attack::kept::{ios_stored, kept_names};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::load;

/// The disk that is recorded: a null_blk.
const DISK: &str = "nullb0";
/// Pause between two reads of it: about 200 a second.
const PAUSE: Duration = Duration::from_millis(5);
/// Reads that may be missing after a recorder: those of the second that was being written when the
/// clock was set, and of the one when it ended.
const MAY_MISS: u64 = 400;
const DAY_S: i64 = 86_400;
/// Wall clocks of machines without a battery, with a wrong year, and past the range of 32 bits, s.
const YEARS: [(&str, i64); 3] = [("1970", 100), ("2040", 2_208_988_800), ("2150", 5_680_281_600)];
/// An ordinary user, and the kernel's message about a failed disk.
const USER: u32 = 1000;
const FORGED: &str = "x critical medium error, dev nullb1, sector 7 op 0x0:(READ)";
const GROUPS: &str = "/sys/fs/cgroup";

/// A recorder, ended with this.
struct Recorder(Child);

impl Recorder {
    /// Starts one, and returns when it records.
    fn start(store: &'static str, devices: &[&str]) -> io::Result<Recorder> {
        let message = format!("{store}.said");
        let mut watch = Command::new("iowhy");
        watch.args(["watch", "--store", store]);
        devices.iter().for_each(|device| {
            watch.args(["--device", device]);
        });
        watch.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(&message)?);
        let mut recorder = Recorder(watch.spawn()?);
        for _ in 0..600 {
            if fs::read_to_string(&message)?.contains("recording into") {
                return Ok(recorder);
            }
            if recorder.0.try_wait()?.is_some() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err(io::Error::other(format!("no recorder: {}", fs::read_to_string(&message)?)))
    }

    /// Ends it as a service manager does.
    fn end(mut self) -> io::Result<bool> {
        let pid = Pid::from_child(&self.0);
        kill_process(pid, Signal::TERM)?;
        Ok(self.0.wait()?.success())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The wall clock a month ahead and back while it records, two hours back and ahead, and wrong
/// years: nothing that was recorded goes, and it all can be read.
pub(super) fn clock() -> io::Result<Vec<Value>> {
    const STORE: &str = "/tmp/clock";
    let path = format!("/dev/{DISK}");
    let (over, read) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut results = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if load::read_at(&path, 0, 4096).is_ok() {
                    read.fetch_add(1, Ordering::Relaxed);
                }
                thread::sleep(PAUSE);
            }
        });
        let result = (|| {
            results.push(recorded(STORE, &read, "the right time", &[(25, None)])?);
            let ahead = [(15, Some(30 * DAY_S)), (75, Some(-30 * DAY_S)), (20, None)];
            results.push(recorded(STORE, &read, "30 days ahead and back", &ahead)?);
            let back = [(12, Some(-7200)), (15, Some(7200)), (8, None)];
            results.push(recorded(STORE, &read, "two hours back and ahead", &back)?);
            for (year, seconds) in YEARS {
                let step = seconds - now_s()?;
                let steps = [(12, Some(step)), (8, Some(-step)), (8, None)];
                results.push(recorded(STORE, &read, year, &steps)?);
            }
            Ok(())
        })();
        over.store(true, Ordering::Relaxed);
        result.map(|()| results)
    })
}

/// One recorder, its clock set by this many seconds after each wait; what the store has lost.
fn recorded(
    store: &'static str,
    read: &AtomicU64,
    what: &str,
    steps: &[(u64, Option<i64>)],
) -> io::Result<Value> {
    let path = Path::new(store);
    let stored = || ios_stored(Path::new("iowhy"), path);
    let (had, kept) = (stored(), kept_names(path));
    let recorder = Recorder::start(store, &[DISK])?;
    let before = read.load(Ordering::Relaxed);
    let mut gone = 0;
    for (seconds, step) in steps {
        thread::sleep(Duration::from_secs(*seconds));
        gone += kept.difference(&kept_names(path)).count();
        if let Some(step) = step {
            set_clock(now_s()? + step)?;
        }
    }
    let expected = read.load(Ordering::Relaxed) - before;
    let ended = recorder.end()?;
    gone += kept.difference(&kept_names(path)).count();
    let new = stored().map(|now| now.saturating_sub(had.unwrap_or(0)));
    let right =
        ended && gone == 0 && expected > 0 && new.is_some_and(|new| new + MAY_MISS >= expected);
    Ok(json!({
        "clock": what, "expected": "no file removed, at most the reads of a second missing",
        "files": kept_names(path).len(), "gone": gone, "reads": expected, "kept": new, "right": right,
    }))
}

/// A user's own control group, named as a message about a broken disk, runs out of memory: neither
/// the recorder nor a live `iowhy why` believes it.
pub(super) fn names_of_users() -> io::Result<Vec<Value>> {
    let recorder = Recorder::start("/tmp/names", &[])?;
    let own = std::process::id().to_string();
    let (user, session) = (format!("{GROUPS}/user"), format!("{GROUPS}/user/session"));
    fs::write(format!("{GROUPS}/cgroup.subtree_control"), "+memory")?;
    for folder in [&user, &session] {
        fs::create_dir_all(folder)?;
        for file in ["", "/cgroup.procs", "/cgroup.subtree_control"] {
            std::os::unix::fs::chown(format!("{folder}{file}"), Some(USER), Some(USER))?;
        }
    }
    // Started in the user's group; only from there may a user move into another one of his.
    fs::write(format!("{session}/cgroup.procs"), &own)?;
    let script = format!(
        "cd {user} && echo +memory > cgroup.subtree_control && mkdir '{FORGED}' && \
         echo 8M > '{FORGED}/memory.max' && echo $$ > '{FORGED}/cgroup.procs' && \
         x=$(head -c 33554432 /dev/zero | tr '\\0' x)"
    );
    let mut forger = Command::new("sh");
    forger.args(["-c", &script]).uid(USER).gid(USER).stdin(Stdio::null());
    let forger = forger.spawn();
    fs::write(format!("{GROUPS}/cgroup.procs"), &own)?;
    let mut forger = forger?;
    let live = super::judged(&[DISK], "8s", |over| {
        while !over.load(Ordering::Relaxed) {
            load::read_at(&format!("/dev/{DISK}"), 0, 4096)?;
            thread::sleep(PAUSE);
        }
        Ok(())
    });
    let begun = Instant::now();
    while forger.try_wait()?.is_none() && begun.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(100));
    }
    let _ = forger.kill();
    let _ = forger.wait();
    // The recorder judges every ten seconds, and once more at its end.
    thread::sleep(Duration::from_secs(12));
    recorder.end()?;
    let log = Command::new("dmesg").output()?;
    let written = String::from_utf8_lossy(&log.stdout).contains(FORGED);
    let mut incidents = Command::new("iowhy");
    incidents.args(["incidents", "--json", "--store", "/tmp/names"]);
    let incidents = String::from_utf8_lossy(&incidents.output()?.stdout).into_owned();
    let live = live?;
    // A null_blk of 1 ms is slow flash, and a real disk may have failed in an earlier case; what
    // the name accuses does nothing.
    let accused = |line: &&str| line.contains("device.media") && line.contains("nullb1");
    let believed = incidents.lines().any(|line| accused(&line)) || accused(&&*live.to_string());
    Ok(vec![json!({
        "expected": "the kernel writes the name, and no disk is blamed", "written": written,
        "live": live["verdict"], "incidents": incidents, "right": written && !believed,
    })])
}

fn now_s() -> io::Result<i64> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map(|since| since.as_secs() as i64).map_err(io::Error::other)
}

fn set_clock(seconds: i64) -> io::Result<()> {
    let set = Command::new("date").args(["-s", &format!("@{seconds}")]).output()?;
    if set.status.success() { Ok(()) } else { Err(io::Error::other("the clock cannot be set")) }
}
