//! Delay above the disk: the device mapper, and a limit of a cgroup. The disk below is a null_blk
//! of 1 ms, and must not be blamed.

use std::fs;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use iowhy_live::TraceMode;
use iowhy_model::Op;
use serde_json::{Value, json};

use super::device_mapper::MapperDevice;
use super::load::{self, Load};
use super::{Count, Device, accuses, count, judged, lines};

/// Sectors of a mapped device: 64 MiB.
const SECTORS: u64 = 131_072;
/// What dm-delay is reported, ms. Below 50 the kernel's tick shows (20 asked, 21 to 25 got).
const DELAY_MS: u64 = 50;
/// What the null_blk below takes, ms; see `NULL_BLOCK_MS`.
const BELOW_MS: (f64, f64) = super::NULL_BLOCK_MS;
/// Reads per second that the cgroup may make.
const LIMIT: u64 = 20;
/// The expected verdict if a mapped device is slow above fast ones.
const LAYER: &str = "layer.above";
/// How long the judge watches.
const WATCH: &str = "5s";

/// A device of dm-delay above a fast disk.
pub(super) fn delay() -> io::Result<Vec<Value>> {
    let below = Device::named("nullb0")?;
    let slow = mapped_delay("slow", &below)?;
    let load = Load { op: Op::Read, bytes: 4096, depth: 1, number: 40 };
    above(&[&slow.device, "nullb0"], &below, load, DELAY_MS as f64, LAYER, || Ok(()))
}

/// A linear device, which handles bios as they come and makes no requests: counted by its bios, as
/// events and as histograms.
pub(super) fn linear() -> io::Result<Vec<Value>> {
    let below = Device::named("nullb0")?;
    let mapped = MapperDevice::new("line", SECTORS, "linear", &format!("{} 0", number(&below)))?;
    let line = Device::named(&mapped.device)?;
    let mut results = Vec::new();
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        for (op, depth) in [(Op::Read, 16), (Op::Write, 4)] {
            let load = Load { op, bytes: 4096, depth, number: 1000 };
            let counted = count(&line, mode, || load.run(&line.path))?;
            results.extend(lines(&counted, mode, &format!("bios, {depth} deep")));
        }
    }
    Ok(results)
}

/// A device of dm-flakey: of every two seconds it fails everything for one.
pub(super) fn flakey() -> io::Result<Vec<Value>> {
    let below = Device::named("nullb0")?;
    let parameters = format!("{} 0 1 1", number(&below));
    let flaky = MapperDevice::new("flaky", SECTORS, "flakey", &parameters)?;
    let path = flaky.path();
    let mut failed = 0;
    let counted = count(&below, TraceMode::Events, || {
        for block in 0..40 {
            failed += u32::from(load::read_at(&path, block * 4096, 4096).is_err());
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    })?;
    let message = judged(&[&flaky.device, "nullb0"], WATCH, |over| {
        while !over.load(Ordering::Relaxed) {
            let _ = load::read_at(&path, 0, 4096);
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    })?;
    let mut results = lines(&counted, TraceMode::Events, "40 reads");
    results.push(json!({
        "expected": "10 to 30 of 40 reads fail, and the disk below is not blamed",
        "failed": failed, "verdict": message["verdict"], "sentence": message["sentence"],
        "right": (10..=30).contains(&failed) && !blames(&message, "nullb0"),
    }));
    Ok(results)
}

/// A mirror of two, one of them slow: a write is as slow as the slower.
pub(super) fn raid() -> io::Result<Vec<Value>> {
    let (good, under_slow) = (Device::named("nullb0")?, Device::named("nullb1")?);
    let slow = mapped_delay("member", &under_slow)?;
    let member = Device::named(&slow.device)?;
    let parameters =
        format!("raid1 4 0 nosync region_size 1024 2 - {} - {}", number(&good), number(&member));
    let mirror = MapperDevice::new("mirror", SECTORS, "raid", &parameters)?;
    let load = Load { op: Op::Write, bytes: 4096, depth: 1, number: 30 };
    let all = [&mirror.device, &slow.device, "nullb0", "nullb1"];
    above(&all, &good, load, DELAY_MS as f64, LAYER, || Ok(()))
}

/// A cgroup with a limit of reads per second: requests wait before their first tracepoint.
pub(super) fn io_max() -> io::Result<Vec<Value>> {
    const ROOT: &str = "/sys/fs/cgroup";
    let below = Device::named("nullb0")?;
    fs::write(format!("{ROOT}/cgroup.subtree_control"), "+io")?;
    fs::create_dir_all(format!("{ROOT}/slow"))?;
    fs::write(format!("{ROOT}/slow/io.max"), format!("{} riops={LIMIT}", number(&below)))?;
    let own = std::process::id().to_string();
    let enter = || fs::write(format!("{ROOT}/slow/cgroup.procs"), &own);
    let load = Load { op: Op::Read, bytes: 4096, depth: 1, number: 60 };
    let results = above(&["nullb0"], &below, load, 1e3 / LIMIT as f64 * 0.9, "cap.cgroup", enter);
    // As `grep -r .` prints a group's files: samples for the reader of them.
    let files = ["io.stat", "io.max", "io.pressure"].into_iter().flat_map(|name| {
        let path = format!("{ROOT}/slow/{name}");
        let text = fs::read_to_string(&path).unwrap_or_default();
        text.lines().map(|line| format!("{path}:{line}")).collect::<Vec<_>>()
    });
    let files: Vec<String> = files.collect();
    fs::write(format!("{ROOT}/cgroup.procs"), &own)?;
    Ok(results?.into_iter().chain([json!({ "files": files })]).collect())
}

/// A load on the first device, above a fast disk: the program waits for `least` ms, the disk takes
/// its own time, every request is accounted for, and the cause of the delay is named.
fn above(
    devices: &[&str],
    below: &Device,
    load: Load,
    least: f64,
    expected: &str,
    enter: impl FnOnce() -> io::Result<()>,
) -> io::Result<Vec<Value>> {
    let path = format!("/dev/{}", devices.first().unwrap_or(&""));
    enter()?;
    let mut took = Duration::ZERO;
    let counted = count(below, TraceMode::Events, || {
        let begun = Instant::now();
        load.run(&path)?;
        took = begun.elapsed();
        Ok(())
    })?;
    let name = below.path.trim_start_matches("/dev/").to_string();
    let message = judged(devices, WATCH, |over| {
        while !over.load(Ordering::Relaxed) {
            Load { number: 5, ..load }.run(&path)?;
        }
        Ok(())
    })?;
    let waited = took.as_secs_f64() * 1e3 / f64::from(load.number);
    let mut results = lines(&counted, TraceMode::Events, "through the layer above");
    results.push(judgement(&counted, (waited, least), &message, expected, &name));
    Ok(results)
}

fn judgement(
    counted: &Count,
    (waited, least): (f64, f64),
    message: &Value,
    expected: &str,
    below: &str,
) -> Value {
    let d2c = counted.quantile(0.5);
    let own = d2c.is_some_and(|ms| (BELOW_MS.0..BELOW_MS.1).contains(&ms));
    let right = waited >= least && own && !blames(message, below) && message["verdict"] == expected;
    json!({
        "expected": format!("the program waits {least} ms or more, the disk takes 1 ms: \
                             {expected}"),
        "waited_ms": waited, "p50_ms": d2c,
        "verdict": message["verdict"], "sentence": message["sentence"], "accused": message["device"],
        "right": right,
    })
}

/// Whether a finding blames that disk.
fn blames(message: &Value, disk: &str) -> bool {
    accuses(message) && message["device"] == disk
}

fn mapped_delay(name: &'static str, below: &Device) -> io::Result<MapperDevice> {
    MapperDevice::new(name, SECTORS, "delay", &format!("{} 0 {DELAY_MS}", number(below)))
}

/// `major:minor`, as the device mapper and cgroups take it.
fn number(device: &Device) -> String {
    let (major, minor) = device.number;
    format!("{major}:{minor}")
}
