//! Attaching, ending, giving up rights, devices that appear, requests that never end.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iowhy_live::{
    BlockTrace, Collector, Ftrace, RequestCounts, TraceMode, TraceOptions, give_up_rights,
};
use iowhy_model::{Op, Recording, Stage, key};

use crate::rig::{self, Loop, can_run};

/// Requests of an operation in the Q2C histograms of a recording.
fn counted(recording: &Recording, op: Op) -> u64 {
    let all = recording.listings.iter().flat_map(|listing| &listing.distributions);
    let of_op = all.filter(|known| known.op == Some(op) && known.stage == Stage::Total);
    of_op.map(|known| known.histogram.count()).sum()
}

/// A load that ends with this.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nothing_stays_attached() {
    if !can_run(&[]) {
        return;
    }
    let disk = Loop::new(8, None);
    let mut recording = Recording::new();
    let mut tracer = BlockTrace::new(disk.options(TraceMode::Events));
    tracer.begin(&mut recording).expect("the tracer begins");
    assert_eq!(rig::bpf_descriptors(), (5, 5), "five programs, each with its link");
    tracer.end(&mut recording).expect("the tracer ends");
    assert_eq!(rig::bpf_descriptors(), (0, 0));
    let mut dropped = BlockTrace::new(disk.options(TraceMode::Histograms));
    dropped.begin(&mut recording).expect("the tracer begins");
    drop(dropped);
    assert_eq!(rig::bpf_descriptors(), (0, 0));
}

#[test]
fn once_attached_it_needs_no_more_rights() {
    if !can_run(&["dd"]) {
        return;
    }
    let disk = Loop::new(8, None);
    // Capabilities belong to a thread: this one drops its own.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut recording = Recording::new();
            let mut tracer = BlockTrace::new(disk.options(TraceMode::Histograms));
            tracer.begin(&mut recording).expect("the tracer begins");
            give_up_rights().expect("rights are given up");
            let mut second = BlockTrace::new(disk.options(TraceMode::Histograms));
            let refused = second.begin(&mut recording).expect_err("no rights are left");
            assert_eq!(refused.to_string(), "cannot trace: `CAP_PERFMON` is missing");
            // dd ends with an error at the end of the device; all of it is written then.
            disk.fill();
            tracer.poll(&mut recording).expect("a poll");
            tracer.end(&mut recording).expect("the tracer ends");
            assert!(counted(&recording, Op::Write) > 0);
        });
    });
}

#[test]
fn a_device_that_appears_is_watched() {
    if !can_run(&["dd"]) {
        return;
    }
    let first = Loop::new(8, None);
    let mut recording = Recording::new();
    let mut tracer = BlockTrace::new(TraceOptions::new(TraceMode::Histograms));
    tracer.begin(&mut recording).expect("the tracer begins");
    // Other devices appear before it, as on a machine that attaches several volumes.
    let _others: Vec<Loop> = (0..8).map(|_| first.another(8)).collect();
    let disk = first.another(8);
    std::thread::sleep(Duration::from_millis(1100));
    tracer.tend().expect("it looks around");
    disk.fill();
    disk.settle();
    tracer.end(&mut recording).expect("the tracer ends");
    let counts = tracer.request_counts().iter();
    let writes = counts.filter(|(name, op, _)| *name == disk.name && *op == Op::Write);
    assert!(writes.map(|(_, _, counts)| counts.measured).sum::<u64>() > 0);
    let device = recording.find_device(&disk.name).expect("the device was named");
    let mut known = recording.listings[0].distributions.iter();
    assert!(known.any(|known| known.device == device && known.op == Some(Op::Write)));
}

#[test]
fn requests_in_flight_at_both_edges_are_told_apart_from_lost_ones() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = &Loop::new(64, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=64m"]);
    let mut recording = Recording::new();
    let mut tracer = BlockTrace::new(disk.options(TraceMode::Histograms));
    let load = Command::new("fio")
        .args(["--name=load", "--filename", &disk.path, "--direct=1", "--bs=4k", "--size=64m"])
        .args(["--ioengine=io_uring", "--rw=randread", "--iodepth=32", "--thread"])
        .args(["--time_based", "--runtime=300"])
        .stdout(Stdio::null())
        .spawn();
    let load = Load(load.expect("fio"));
    // On a busy machine fio and the tracer take a while to start.
    let reads_up_to = |count: u64| {
        let begun = Instant::now();
        while disk.counters()[0] < count {
            assert!(begun.elapsed() < Duration::from_secs(120), "fio does not read");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    reads_up_to(disk.counters()[0] + 100);
    tracer.begin(&mut recording).expect("the tracer begins");
    reads_up_to(disk.counters()[0] + 5000);
    tracer.end(&mut recording).expect("the tracer ends");
    drop(load);
    let sum = |count: fn(&RequestCounts) -> u64| -> u64 {
        tracer.request_counts().iter().map(|(_, _, counts)| count(counts)).sum()
    };
    let (unseen, escaped) = (sum(|t| t.no_start), sum(|t| t.no_completion));
    let source = &recording.listings[0].source;
    let lost = source.lost();
    println!("{} counted, {unseen} begun before, {lost} lost", counted(&recording, Op::Read));
    assert!(counted(&recording, Op::Read) > 1000);
    // fio's 32 when the watch began; none of the 32 when it ended.
    assert!(unseen <= 32, "{unseen}");
    // Requests in flight when the watch began are a fact, not a loss: those without start and
    // issue, and some with only an issue.
    let key = key::TRACE_BEFORE_WATCH.of(Op::Read.name());
    let stated = recording.listings[0].facts.iter().find(|fact| fact.key == key);
    let stated = stated.and_then(|fact| fact.value.number()).unwrap_or(0.0) as u64;
    assert!(stated >= unseen, "{stated} of {unseen}");
    // At the end only completions are missing that the kernel hid from the programs and reports as
    // such.
    let gone = source.losses.iter().filter(|loss| loss.what.contains("when tracing stopped"));
    let gone: u64 = gone.map(|loss| loss.count).sum();
    let is_told = source.notes.iter().any(|note| note.reason.contains("the kernel skipped"));
    assert!(gone == 0 || is_told, "{:?}", source.losses);
    assert_eq!(stated + lost, unseen + escaped + sum(|t| t.no_total) + gone);
}

/// A frozen file system on a loop device, thawed with its guard.
struct Frozen {
    folder: PathBuf,
    _below: Loop,
}

impl Frozen {
    fn thaw(&self) {
        let thawed = Command::new("fsfreeze").arg("-u").arg(&self.folder).status();
        assert!(thawed.expect("fsfreeze").success());
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(&self.folder).stderr(Stdio::null()).status();
        let _ = Command::new("umount").arg(&self.folder).status();
        let _ = std::fs::remove_dir(&self.folder);
    }
}

#[test]
fn a_request_that_hangs_is_stated_with_its_age_and_not_lost() {
    if !can_run(&["dd", "fsfreeze", "mkfs.ext4"]) {
        return;
    }
    let below = Loop::new(64, None);
    rig::run("mkfs.ext4", &["-q", &below.path]);
    let folder = std::env::temp_dir().join(format!("iowhy-frozen-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder in /tmp");
    rig::run("mount", &[&below.path, &folder.display().to_string()]);
    let frozen = Frozen { folder: folder.clone(), _below: below };
    let disk = Loop::over(folder.join("disk"), 8, None, None);
    let mut recording = Recording::new();
    let mut tracer = BlockTrace::new(disk.options(TraceMode::Events));
    tracer.begin(&mut recording).expect("the tracer begins");
    rig::run("fsfreeze", &["-f", &folder.display().to_string()]);
    let to = format!("of={}", disk.path);
    let mut dd = Command::new("dd")
        .args(["if=/dev/zero", &to, "bs=4k", "count=1", "oflag=direct"])
        .stderr(Stdio::null())
        .spawn()
        .expect("dd");
    std::thread::sleep(Duration::from_millis(600));
    let ended = tracer.end(&mut recording);
    frozen.thaw();
    assert!(dd.wait().expect("dd").success());
    ended.expect("the tracer ends");
    let listing = &recording.listings[0];
    let number = |key| {
        let fact = listing.facts.iter().find(|fact| fact.key == key).expect("the write hangs");
        fact.value.number().expect("a number")
    };
    let (count, age) = (number(key::TRACE_IN_FLIGHT), number(key::TRACE_IN_FLIGHT_OLDEST));
    println!("in flight at the end: {count}, the oldest for {age} s");
    assert_eq!(count, 1.0);
    assert!((0.1..5.0).contains(&age), "{age}");
    assert_eq!(listing.source.lost(), 0, "{:?}", listing.source.losses);
    assert!(!listing.events.iter().any(|event| event.op == Op::Write));
    drop(disk);
}

/// Set for the copy of this test that runs with a private tracefs mount.
const INSIDE: &str = "IOWHY_TEST_WITH_TRACEFS";

#[test]
fn a_panic_leaves_no_trace_instance() {
    if !can_run(&["unshare"]) {
        return;
    }
    if std::env::var_os(INSIDE).is_none() {
        let script = "mountpoint -q /sys/kernel/tracing || \
                      mount -t tracefs tracefs /sys/kernel/tracing; exec \"$0\" \"$@\"";
        let this = std::env::current_exe().expect("this program").display().to_string();
        let test = "lifecycle::a_panic_leaves_no_trace_instance";
        let ran = Command::new("unshare")
            .args(["--mount", "sh", "-c", script, &this])
            .args(["--exact", "--nocapture", test])
            .env(INSIDE, "1")
            .output()
            .expect("unshare");
        let reported = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{reported}{}", String::from_utf8_lossy(&ran.stderr));
        assert!(reported.contains("1 passed"), "{reported}");
        return;
    }
    let folder = format!("/sys/kernel/tracing/instances/iowhy-{}", std::process::id());
    let folder = PathBuf::from(folder);
    let broken = std::panic::catch_unwind(|| {
        let mut recording = Recording::new();
        let mut events = Ftrace::new(Vec::new());
        events.begin(&mut recording).expect("the event text begins");
        assert!(folder.exists());
        panic!("in the middle of the watch");
    });
    let why = broken.expect_err("it panicked");
    assert_eq!(why.downcast_ref::<&str>(), Some(&"in the middle of the watch"));
    assert!(!folder.exists());
    // An instance that another program reads: reported, and not waited for forever.
    let mut recording = Recording::new();
    let mut events = Ftrace::new(Vec::new());
    events.begin(&mut recording).expect("the event text begins");
    let held = std::fs::File::open(folder.join("trace")).expect("its text");
    events.end(&mut recording).expect("it ends");
    let notes = &recording.listings[0].source.notes;
    assert!(notes.iter().any(|note| note.reason.starts_with("cannot remove")));
    drop(held);
    std::fs::remove_dir(&folder).expect("nobody holds it");
}
