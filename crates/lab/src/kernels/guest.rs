//! What runs inside the small machine: the doctor, the count, the timeouts, the verdicts.
//!
//! Each case prints lines of JSON on the serial port; `right` says whether it came out as it should.

mod count;
mod load;

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iowhy_live::TraceMode;
use iowhy_model::Op;
use serde_json::{Value, json};

use super::machine::{DONE, MARK};
use crate::sickdisk::{SickDisk, Spec};
pub use count::{Count, Device, count};
pub use load::Load;

/// A case: its name, and what it prints.
type Case = (&'static str, fn() -> io::Result<Vec<Value>>);

const CASES: &[Case] = &[
    ("kernel", kernel),
    ("doctor", doctor),
    ("null_blk", null_block),
    ("sick disk", sick_disk),
    ("scsi timeout", scsi_timeout),
    ("scsi medium error", scsi_medium_error),
    ("dusty disk", || verdict("dusty disk", Some("retry=0.35"))),
    ("healthy disk", || verdict("healthy disk", None)),
];

/// Latency null_blk was told to have (`completion_nsec` in image.rs), and what its timer and the
/// interrupt may add in virtual time: 3 to 4 us were measured.
const NULL_BLOCK_MS: (f64, f64) = (1.0, 1.02);
/// After how many seconds the disk's driver gives up on a command; a whole number, 30 by default.
const TIMEOUT_S: u32 = 2;
/// Where the driver of disks that exist only in memory is told what to do wrong.
const SCSI_DEBUG: &str = "/sys/bus/pseudo/drivers/scsi_debug";
/// The first of the ten sectors it can make unreadable (`medium_error_start`).
const BAD_SECTOR: u64 = 0x1234;
/// `ENODATA`, which the block layer makes of a medium error (block/blk-core.c).
const MEDIUM: u16 = 61;
/// How long the judge watches.
const WATCH: &str = "8s";

/// Runs all cases.
///
/// # Errors
/// If nothing can be printed.
pub fn guest() -> io::Result<()> {
    for (name, case) in CASES {
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
    Ok(vec![json!({
        "attach": points,
        "queue_time": detail("queue time"),
        "load": detail("test load"),
        "right": ok("test load"),
    })])
}

/// A disk of a known latency: the equation per load and mode, and D2C.
fn null_block() -> io::Result<Vec<Value>> {
    let device = Device::named("nullb0")?;
    let mut told = Vec::new();
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        for (depth, number) in [(1, 500), (16, 8000)] {
            let load = Load { op: Op::Read, bytes: 4096, depth, number };
            let counted = count(&device, mode, || load.run(&device.path))?;
            told.extend(lines(&counted, mode, &format!("{depth} deep")));
            if mode == TraceMode::Events {
                let p50 = counted.quantile(0.5);
                let (low, high) = NULL_BLOCK_MS;
                let right = p50.is_some_and(|ms| (low..high).contains(&ms));
                let expected = format!("D2C {low} to {high} ms");
                told.push(json!({ "expected": expected, "p50_ms": p50, "right": right }));
            }
        }
        let load = Load { op: Op::Write, bytes: 65536, depth: 4, number: 2000 };
        let counted = count(&device, mode, || load.run(&device.path))?;
        told.extend(lines(&counted, mode, "4 deep"));
    }
    Ok(told)
}

/// The disk of FUSE and loop: reads, writes with their flushes, discards.
fn sick_disk() -> io::Result<Vec<Value>> {
    let sick = SickDisk::start(&spec(Some("retry=0.35")))?;
    let device = Device::named(sick.path().trim_start_matches("/dev/"))?;
    let mut told = Vec::new();
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        for (op, depth, number) in [(Op::Read, 8, 2000), (Op::Write, 2, 300), (Op::Discard, 1, 32)]
        {
            let load = Load { op, bytes: 65536, depth, number };
            let counted = count(&device, mode, || load.run(&device.path))?;
            told.extend(lines(&counted, mode, &format!("{depth} deep")));
        }
    }
    sick.end()?;
    Ok(told)
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
    fs::write(format!("{SCSI_DEBUG}/opts"), "0")?;
    let counted = counted?;
    let right = !counted.errors.is_empty() && counted.errors.iter().all(|errno| *errno == MEDIUM);
    let mut told = lines(&counted, TraceMode::Events, "8 blocks");
    told.push(json!({ "expected": "errno 61", "errors": counted.errors, "right": right }));
    Ok(told)
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
    fs::write(format!("{SCSI_DEBUG}/opts"), "0")?;
    let counted = counted?;
    let (longest, requeues) = (counted.quantile(1.0), counted.requeues());
    let right = requeues > 0 && longest.is_some_and(|ms| ms >= f64::from(TIMEOUT_S) * 1e3);
    let mut told = lines(&counted, TraceMode::Events, "1 deep");
    let expected = format!("requeued, D2C above {TIMEOUT_S} s");
    told.push(json!({
        "expected": expected, "max_ms": longest, "requeues": requeues, "right": right,
    }));
    Ok(told)
}

/// What `iowhy why` says of a disk that is read from end to end.
fn verdict(disk: &str, disease: Option<&str>) -> io::Result<Vec<Value>> {
    let sick = SickDisk::start(&spec(disease))?;
    let path = sick.path();
    let over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| load::read_on(&path, &over));
        std::thread::sleep(Duration::from_millis(100));
        let mut why = Command::new("iowhy");
        why.args(["why", "--json", "--for", WATCH, "--device", path.trim_start_matches("/dev/")]);
        let output = why.stdin(Stdio::null()).output();
        over.store(true, Ordering::Relaxed);
        output
    })?;
    sick.end()?;
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        io::Error::other(format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    })?;
    let first = &report["findings"][0];
    let verdict = first["verdict"].as_str().unwrap_or("none");
    let accused = verdict.starts_with("device.") || verdict.starts_with("peer.");
    let (expected, right) = match disease {
        Some(_) => ("device.retry", verdict == "device.retry"),
        None => ("no accusation", !accused && verdict != "none"),
    };
    Ok(vec![json!({
        "disk": disk, "expected": expected, "right": right,
        "verdict": verdict, "confidence": first["confidence"], "sentence": first["sentence"],
    })])
}

/// A disk of 7200 rpm; a seed, so that it always does the same.
fn spec(disease: Option<&str>) -> Spec {
    Spec {
        model: "rotational".to_string(),
        diseases: disease.into_iter().map(str::to_string).collect(),
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
