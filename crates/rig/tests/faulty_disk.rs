//! The faulty disk behind the kernel's own block layer: what it does is what the model says, and
//! nothing stays behind. Needs root, /dev/fuse and /dev/loop-control.

#![expect(clippy::expect_used, clippy::unwrap_used, clippy::print_stderr, reason = "a test may")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use iowhy_lab::disk::Cause;
use iowhy_model::Op;
use iowhy_rig::faulty_disk::{Entry, Truth, missing};
use iowhy_rig::host::busy;

/// One revolution at 7200 rpm, ms.
const REVOLUTION: f64 = 8.333_333;

/// One at a time: two disks would wait for each other's processor. `None` where it cannot be.
fn alone(test: &str) -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    if let Some(missing) = missing() {
        eprintln!("skipped: {test} needs {missing}");
        return None;
    }
    Some(ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

fn log(test: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}.csv", std::process::id()))
}

fn rig(test: &str, arguments: &[&str], run: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rig"));
    command.arg("disk").args(arguments).arg("--truth").arg(log(test)).args(["--run", run]);
    command
}

/// Runs a command on a disk and reads what the disk did.
fn run(test: &str, arguments: &[&str], run: &str) -> (Truth, Output) {
    let output = rig(test, arguments, run).output().expect("rig starts");
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    let truth = Truth::read(&log(test), None);
    let truth = truth.unwrap_or_else(|error| unreachable!("no truth: {error}\n{reported}"));
    std::fs::remove_file(log(test)).unwrap();
    (truth, output)
}

fn of(truth: &Truth, op: Op) -> Vec<&Entry> {
    truth.entries.iter().filter(|entry| entry.op == op).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn a_dusty_disk_answers_on_the_steps_of_a_ladder() {
    let Some(_alone) = alone("a_dusty_disk_answers_on_the_steps_of_a_ladder") else { return };
    let read = "dd if={dev} of=/dev/null bs=128k count=400 iflag=direct status=none \
                && cat /sys/block/$(basename {dev})/stat";
    let (truth, output) = run("ladder", &["--fault", "retry=0.35"], read);
    assert!(output.status.success());
    let reads = of(&truth, Op::Read);
    assert_eq!(reads.len(), 400);

    // 2.0, 10.3, 18.6 and 27.0 ms. A reader kept off the processor finds the platter elsewhere and
    // waits for its sector: such reads are the host's and on no step.
    let on_time: Vec<&&Entry> =
        reads.iter().skip(1).filter(|read| read.spent(Cause::Rotation) == 0).collect();
    assert!(on_time.len() >= 200, "{} of 399 came in time", on_time.len());
    let mut seen = 0;
    for step in 0..4u32 {
        let center = 1.978 + f64::from(step) * REVOLUTION;
        let served = on_time.iter().map(|read| (read.due - read.arrival) as f64 / 1e6);
        let here = served.filter(|ms| (ms - center).abs() < 0.01).count();
        assert!(here > 0, "nobody on step {step}");
        seen += here;
    }
    // Four revolutions and more have a chance of 1.5 %.
    assert!(seen * 100 >= on_time.len() * 95, "{seen} of {} on the first steps", on_time.len());
    let late = median(reads.iter().map(|read| (read.reply - read.due) as f64 / 1e6).collect());
    assert!(late < 0.3, "answered {late} ms late at the median");

    // The kernel counted the same reads, and at least as much time (Documentation/block/stat.rst:
    // first field reads, fourth milliseconds).
    let stat = String::from_utf8(output.stdout).unwrap();
    let fields: Vec<u64> = stat.split_whitespace().map(|field| field.parse().unwrap()).collect();
    let served: u64 = reads.iter().map(|entry| entry.latency()).sum();
    assert_eq!(fields[0], 400);
    assert!(fields[3] as f64 > served as f64 / 1e6 - 1.0, "{} ms, {served} ns", fields[3]);
}

/// Tries four times: a host that is busy for a moment holds both the disk and the program up. One
/// that is busy all the time shows nothing.
fn on_a_quiet_host(attempt: impl Fn() -> Result<(), String>) {
    let tried: Vec<String> = (0..4).map_while(|_| attempt().err()).collect();
    if tried.len() == 4 {
        let busy = busy();
        assert!(busy.is_some(), "{tried:?}");
        eprintln!("a part is skipped: needs {}: {tried:?}", busy.unwrap_or_default());
    }
}

#[test]
fn sequential_synchronous_writes_cost_one_turn_each() {
    let Some(_alone) = alone("sequential_synchronous_writes_cost_one_turn_each") else { return };
    let write_all = |size: &str, sectors: f64| {
        let write =
            format!("dd if=/dev/zero of={{dev}} bs={size} count=200 oflag=direct status=none");
        let (truth, output) = run("writes", &[], &write);
        assert!(output.status.success());
        let writes = of(&truth, Op::Write);
        assert_eq!(writes.len(), 200);
        let periods = writes.windows(2).map(|two| (two[1].due - two[0].due) as f64 / 1e6);
        let expected = REVOLUTION * (1.0 + sectors / 1200.0);
        // A writer kept off the processor for 8 ms loses another revolution; that is the host's.
        let on_time = periods.filter(|ms| (ms - expected).abs() < 0.01).count();
        let reported = format!("{on_time} of 199 writes of {size} took {expected:.3} ms");
        if on_time >= 190 { Ok(()) } else { Err(reported) }
    };
    for (size, sectors) in [("1k", 2.0), ("4k", 8.0)] {
        on_a_quiet_host(|| write_all(size, sectors));
    }
}

#[test]
fn a_capped_volume_obeys_littles_law() {
    let Some(_alone) = alone("a_capped_volume_obeys_littles_law") else { return };
    if Command::new("fio").arg("--version").output().is_err() {
        eprintln!("skipped: a_capped_volume_obeys_littles_law needs fio");
        return;
    }
    let read = "fio --name=cap --filename={dev} --rw=randread --bs=4k --iodepth=16 \
                --ioengine=libaio --direct=1 --number_ios=1000 --output=/dev/null";
    on_a_quiet_host(|| {
        let model = ["--model", "network:iops=500,burst=500,jitter=0us"];
        let (truth, output) = run("cap", &model, read);
        assert!(output.status.success());
        let reads = of(&truth, Op::Read);
        let middle = median(reads.iter().skip(100).map(|e| e.latency() as f64 / 1e6).collect());
        let reported = format!("16 in flight at 500 a second: {middle} ms");
        if (middle - 32.0).abs() < 0.3 { Ok(()) } else { Err(reported) }
    });
}

#[test]
fn an_unreadable_stretch_gives_eio_to_the_program() {
    let Some(_alone) = alone("an_unreadable_stretch_gives_eio_to_the_program") else { return };
    let read = "dd if={dev} of=/dev/null bs=4k count=64 iflag=direct";
    let (truth, output) = run("eio", &["--fault", "eio=64K+8K/50ms"], read);
    assert!(!output.status.success());
    let failed: Vec<&Entry> = truth.entries.iter().filter(|entry| entry.failed).collect();
    assert!(!failed.is_empty());
    assert!(failed.iter().all(|entry| entry.spent(Cause::Recovery) == 50_000_000));
    assert!(failed.iter().all(|entry| (65_536..73_728).contains(&entry.offset)));
}

#[test]
fn nothing_is_left_whichever_process_is_killed() {
    let Some(_alone) = alone("nothing_is_left_whichever_process_is_killed") else { return };
    for victim in ["supervisor", "serving process"] {
        let busy = "dd if=/dev/zero of={dev} bs=4k count=100000 status=none";
        let mut rig = rig("killed", &[], busy).stderr(Stdio::piped()).spawn().expect("rig starts");
        let device = device_of(&mut rig);
        std::thread::sleep(Duration::from_millis(300));
        let serving = serving_of(rig.id());
        let target = if victim == "supervisor" { rig.id() } else { serving };
        assert!(Command::new("kill").args(["-9", &target.to_string()]).status().unwrap().success());
        rig.wait().unwrap();
        let block = device.replace("/dev/", "/sys/block/");
        for gone in [device.as_str(), &block, &format!("/proc/{serving}/exe")] {
            assert!(vanishes(Path::new(gone)), "{gone} is still there; killed: {victim}");
        }
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
        assert!(!mounts.contains("disk"), "{mounts}");
        let _ = std::fs::remove_file(log("killed"));
    }
}

/// The device the laboratory shows it made.
fn device_of(rig: &mut Child) -> String {
    let mut reported = String::new();
    BufReader::new(rig.stderr.take().unwrap()).read_line(&mut reported).unwrap();
    let device = reported.split_whitespace().find(|word| word.starts_with("/dev/loop"));
    device.expect("the device is named").to_string()
}

/// The child that serves the disk.
fn serving_of(rig: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{rig}/task/{rig}/children")).unwrap();
    let serves = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"serve")
    };
    let pids = children.split_whitespace().map(|pid| pid.parse().unwrap());
    pids.into_iter().find(serves).expect("a child serves")
}

fn vanishes(path: &Path) -> bool {
    let since = Instant::now();
    while path.exists() && since.elapsed() < Duration::from_secs(15) {
        std::thread::sleep(Duration::from_millis(20));
    }
    !path.exists()
}
