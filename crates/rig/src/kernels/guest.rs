//! What runs inside the small machine: the doctor, the count, the timeouts, the verdicts.
//!
//! Each case prints lines of JSON on the serial port; `right` shows whether the result is the
//! expected one.

mod count;
mod device_mapper;
mod drives;
mod load;
mod mapped;
mod names;
mod nfs;
mod recorder;
mod stacks;

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iowhy_live::{
    BlockTrace, Callers, Collector, DirtyPauses, Syscalls, TraceClock, TraceMode, TraceOptions,
    WaitOptions, Waits,
};
use iowhy_model::{Op, Recording};
use serde_json::{Value, json};

use super::machine::{DONE, MARK};
use crate::faulty_disk::{FaultyDisk, Spec};
use crate::scenarios::ACCUSES;
pub use count::{Count, Device, count};
pub use load::Load;

/// A case: its name, and what it prints.
type Case = (&'static str, fn() -> io::Result<Vec<Value>>);

const CASES: &[Case] = &[
    ("kernel", kernel),
    ("doctor", doctor),
    ("null_blk", null_block),
    ("faulty disk", sick_disk),
    ("scsi timeout", scsi_timeout),
    ("scsi medium error", scsi_medium_error),
    ("dm-linear", stacks::linear),
    ("dm-delay", stacks::delay),
    ("dm-flakey", stacks::flakey),
    ("dm-raid", stacks::raid),
    ("io.max", stacks::io_max),
    ("dusty disk", || verdict("dusty disk", Some("retry=0.35"))),
    ("healthy disk", || verdict("healthy disk", None)),
    ("wall clock", recorder::clock),
    ("names of users", recorder::names_of_users),
    ("seven names", names::on_one_screen),
    ("dm-crypt names", mapped::crypt),
    ("dm-multipath names", mapped::multipath),
    ("nfs fast", || nfs::judged_with(nfs::Fault::None)),
    ("nfs after an outage", || nfs::judged_with(nfs::Fault::Past)),
    ("nfs slow", || nfs::judged_with(nfs::Fault::Slow)),
    ("nfs hangs", || nfs::judged_with(nfs::Fault::Hang)),
    ("nfs gone", || nfs::judged_with(nfs::Fault::Gone)),
];

/// Configured latency of null_blk (`completion_nsec` in image.rs), and what its timer and the
/// interrupt may add in virtual time: 3 to 4 us were measured.
const NULL_BLOCK_MS: (f64, f64) = (1.0, 1.02);
/// After how many seconds the disk's driver gives up on a command; a whole number, 30 by default.
const TIMEOUT_S: u32 = 3;
/// Where the driver of in-memory disks is configured to fail.
const SCSI_DEBUG: &str = "/sys/bus/pseudo/drivers/scsi_debug";
/// The first of the ten sectors it can make unreadable (`medium_error_start`).
const BAD_SECTOR: u64 = 0x1234;
/// `ENODATA`, which the block layer makes of a medium error (block/blk-core.c).
const MEDIUM: u16 = 61;
/// How long the judge watches.
const WATCH: &str = "8s";

/// The cases that `rig.cases=drives` on the kernel's command line chooses: real drivers, in real
/// time.
const DRIVES: &[Case] = &[
    ("kernel", kernel),
    ("scsi drive", || drives::judged("sd")),
    ("nvme drive", || drives::judged("nvme")),
    ("virtio drive", || drives::judged("vd")),
];

/// The cases of a fast look, by name: what takes long is left out.
const FAST: &[&str] = &["kernel", "doctor", "scsi timeout", "dm-linear", "dm-delay", "io.max"];

/// Runs the cases on the kernel's command line.
///
/// # Errors
/// If nothing can be printed.
pub fn guest() -> io::Result<()> {
    let line = fs::read_to_string("/proc/cmdline")?;
    let asked = |which: &str| line.split_whitespace().any(|word| word == which);
    let cases = if asked("rig.cases=drives") { DRIVES } else { CASES };
    let fast = asked("rig.cases=fast");
    let only = line.split_whitespace().find_map(|word| word.strip_prefix("rig.cases=only:"));
    let chosen = |name: &str| match only {
        Some(only) => name.replace(' ', "-") == only,
        None => !fast || FAST.contains(&name),
    };
    for (name, case) in cases.iter().filter(|(name, _)| chosen(name)) {
        let results = case()
            .unwrap_or_else(|error| vec![json!({ "right": false, "error": error.to_string() })]);
        for mut result in results {
            result["case"] = json!(name);
            writeln!(io::stdout(), "{MARK}{result}")?;
        }
    }
    writeln!(io::stdout(), "{DONE}")
}

fn kernel() -> io::Result<Vec<Value>> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let version = fs::read_to_string("/proc/sys/kernel/version")?;
    Ok(vec![json!({ "release": release.trim(), "version": version.trim() })])
}

/// What `iowhy doctor` found; all it cannot do without must be there.
fn doctor() -> io::Result<Vec<Value>> {
    let output = Command::new("iowhy").args(["doctor", "--json"]).output()?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let checks = found["checks"].as_array().cloned().unwrap_or_default();
    let ok = |name: &str| checks.iter().any(|check| check["what"] == name && check["ok"] == true);
    let detail = |name: &str| {
        checks.iter().find(|check| check["what"] == name).map(|check| check["detail"].clone())
    };
    let points = checks.iter().filter(|check| check["ok"] == true);
    let points =
        points.filter_map(|check| check["what"].as_str()).filter(|n| n.starts_with("block_"));
    let points: Vec<String> = points
        .map(|name| match detail(name).as_ref().and_then(Value::as_str) {
            Some(text) if text.contains("2 arguments") => format!("{name} (2 arguments)"),
            _ => name.to_string(),
        })
        .collect();
    // The programs must load with all options, too.
    let mut all = BlockTrace::new(TraceOptions {
        before: true,
        cgroups: true,
        files: true,
        stacks: true,
        ..TraceOptions::new(TraceMode::Events)
    });
    let turns = TraceOptions { clock: TraceClock::ByTurns, ..TraceOptions::new(TraceMode::Events) };
    let mut turns = BlockTrace::new(turns);
    let mut waits = Waits::new(WaitOptions {
        interruptible: true,
        user_stacks: true,
        ..WaitOptions::new(Callers::default())
    });
    let (mut calls, mut pauses) = (Syscalls::new(Callers::default()), DirtyPauses::default());
    let programs: [&mut dyn Collector; 5] =
        [&mut all, &mut turns, &mut waits, &mut calls, &mut pauses];
    let refused = programs.into_iter().find_map(|collector| {
        let refused = collector.begin(&mut Recording::new()).err()?;
        Some(format!("{}: {refused}", collector.name()))
    });
    Ok(vec![json!({
        "with_all": refused.as_deref().unwrap_or("loaded"),
        "attach": points,
        "queue_time": detail("queue time"),
        "load": detail("test load"),
        "right": ok("test load") && refused.is_none(),
    })])
}

/// A disk of a known latency: the equation per load and mode, and D2C.
fn null_block() -> io::Result<Vec<Value>> {
    let device = Device::named("nullb0")?;
    let mut results = Vec::new();
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        for (depth, number) in [(1, 500), (16, 8000)] {
            let load = Load { op: Op::Read, bytes: 4096, depth, number };
            let counted = count(&device, mode, || load.run(&device.path))?;
            results.extend(lines(&counted, mode, &format!("{depth} deep")));
            if mode == TraceMode::Events {
                let p50 = counted.quantile(0.5);
                let (low, high) = NULL_BLOCK_MS;
                let right = p50.is_some_and(|ms| (low..high).contains(&ms));
                let expected = format!("D2C {low} to {high} ms");
                results.push(json!({ "expected": expected, "p50_ms": p50, "right": right }));
            }
        }
        let load = Load { op: Op::Write, bytes: 65536, depth: 4, number: 2000 };
        let counted = count(&device, mode, || load.run(&device.path))?;
        results.extend(lines(&counted, mode, "4 deep"));
    }
    Ok(results)
}

/// The disk of FUSE and loop: reads, writes with their flushes, discards.
fn sick_disk() -> io::Result<Vec<Value>> {
    let faulty = FaultyDisk::start(&spec(Some("retry=0.35")))?;
    let device = Device::named(faulty.path().trim_start_matches("/dev/"))?;
    let mut results = Vec::new();
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        for (op, depth, number) in [(Op::Read, 8, 2000), (Op::Write, 2, 300), (Op::Discard, 1, 32)]
        {
            let load = Load { op, bytes: 65536, depth, number };
            let counted = count(&device, mode, || load.run(&device.path))?;
            results.extend(lines(&counted, mode, &format!("{depth} deep")));
        }
    }
    faulty.end()?;
    Ok(results)
}

/// A sector that cannot be read: the request is counted, and its error named.
fn scsi_medium_error() -> io::Result<Vec<Value>> {
    let device = Device::named("sda")?;
    fs::write(format!("{SCSI_DEBUG}/opts"), "2")?;
    let counted = count(&device, TraceMode::Events, || {
        for block in 0..8 {
            // The ones that fail are meant to.
            let _ = load::read_at(&device.path, (BAD_SECTOR * 512 / 4096 - 4 + block) * 4096, 4096);
        }
        Ok(())
    });
    let message = judged(&["sda"], "4s", |over| {
        let mut block = 0;
        while !over.load(Ordering::Relaxed) {
            let _ = load::read_at(&device.path, (BAD_SECTOR * 512 / 4096 - 8 + block) * 4096, 4096);
            block = (block + 1) % 16;
        }
        Ok(())
    });
    fs::write(format!("{SCSI_DEBUG}/opts"), "0")?;
    let (counted, message) = (counted?, message?);
    let named = message["verdict"] == "device.media";
    let right =
        named && !counted.errors.is_empty() && counted.errors.iter().all(|errno| *errno == MEDIUM);
    let mut results = lines(&counted, TraceMode::Events, "8 blocks");
    results.push(json!({
        "expected": "errno 61, device.media", "errors": counted.errors, "right": right,
        "verdict": message["verdict"], "sentence": message["sentence"],
    }));
    Ok(results)
}

/// A disk that now and then never answers: the driver gives up, and the request is issued anew.
/// Its latency is all of that, not what the second attempt took.
fn scsi_timeout() -> io::Result<Vec<Value>> {
    let device = Device::named("sda")?;
    fs::write("/sys/block/sda/device/timeout", TIMEOUT_S.to_string())?;
    // Bit 4: ignore every_nth command.
    fs::write(format!("{SCSI_DEBUG}/every_nth"), "40")?;
    fs::write(format!("{SCSI_DEBUG}/opts"), "4")?;
    let load = Load { op: Op::Read, bytes: 4096, depth: 1, number: 100 };
    let counted = count(&device, TraceMode::Events, || load.run(&device.path));
    let message = judged(&["sda"], "20s", |over| {
        while !over.load(Ordering::Relaxed) {
            load::read_at(&device.path, 0, 4096)?;
        }
        Ok(())
    });
    fs::write(format!("{SCSI_DEBUG}/opts"), "0")?;
    let (counted, message) = (counted?, message?);
    let (longest, requeues) = (counted.quantile(1.0), counted.requeues());
    let named = message["verdict"] == "device.recovery";
    let right = named && requeues > 0 && longest.is_some_and(|ms| ms >= f64::from(TIMEOUT_S) * 1e3);
    let mut results = lines(&counted, TraceMode::Events, "1 deep");
    let expected = format!("requeued, D2C above {TIMEOUT_S} s, device.recovery");
    results.push(json!({
        "expected": expected, "max_ms": longest, "requeues": requeues, "right": right,
        "verdict": message["verdict"], "sentence": message["sentence"],
    }));
    Ok(results)
}

/// What `iowhy why` reports of a disk that is read from end to end.
fn verdict(disk: &str, fault: Option<&str>) -> io::Result<Vec<Value>> {
    let faulty = FaultyDisk::start(&spec(fault))?;
    let path = faulty.path();
    let device = path.trim_start_matches("/dev/");
    let first = judged(&[device], WATCH, |over| load::read_on(&path, over))?;
    faulty.end()?;
    let verdict = first["verdict"].as_str().unwrap_or("none");
    let (expected, right) = match fault {
        Some(_) => ("device.retry", verdict == "device.retry"),
        None => ("no accusation", !accuses(&first) && verdict != "none"),
    };
    Ok(vec![json!({
        "disk": disk, "expected": expected, "right": right,
        "verdict": verdict, "confidence": first["confidence"], "sentence": first["sentence"],
    })])
}

/// The first finding of `iowhy why` about these devices while a load runs until it is over.
fn judged(
    devices: &[&str],
    watch: &str,
    load: impl FnOnce(&AtomicBool) -> io::Result<()> + Send,
) -> io::Result<Value> {
    let over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| load(&over));
        std::thread::sleep(Duration::from_millis(100));
        let mut why = Command::new("iowhy");
        why.args(["why", "--json", "--for", watch]);
        devices.iter().for_each(|device| {
            why.args(["--device", device]);
        });
        let output = why.stdin(Stdio::null()).output();
        over.store(true, Ordering::Relaxed);
        output
    })?;
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        io::Error::other(format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    })?;
    Ok(report["findings"][0].clone())
}

/// Whether a finding blames a disk, and is not only suspected (as in the scenarios).
fn accuses(finding: &Value) -> bool {
    let sure = finding["confidence"].as_f64().is_some_and(|sure| sure >= ACCUSES);
    finding["blame"] == "disk" && sure
}

/// A disk of 7200 rpm; a seed, so that it always does the same.
fn spec(fault: Option<&str>) -> Spec {
    Spec {
        model: "rotational".to_string(),
        faults: fault.into_iter().map(str::to_string).collect(),
        bytes: 2 << 30,
        seed: 7,
        truth: "/tmp/truth.csv".into(),
    }
}

/// The equation, a line per operation.
fn lines(counted: &Count, mode: TraceMode, load: &str) -> Vec<Value> {
    let mode = if mode == TraceMode::Events { "events" } else { "histograms" };
    let rows = counted.rows.iter().map(|row| {
        json!({
            "load": load, "mode": mode, "op": row.op.name(),
            "measured": row.measured, "lost": row.lost, "kernel": row.kernel,
            "right": row.measured + row.lost == row.kernel,
        })
    });
    let mut rows: Vec<Value> = rows.collect();
    if rows.is_empty() {
        rows.push(json!({ "load": load, "mode": mode, "right": false, "error": "no I/O at all" }));
    }
    rows
}
