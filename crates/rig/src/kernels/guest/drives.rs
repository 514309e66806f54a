//! The dusty disk behind real drivers: qemu's own SCSI, NVMe and virtio drives, each over a faulty
//! disk of the host, in real time.

use std::fs;
use std::io;

use serde_json::{Value, json};

use super::{judged as verdict_of, load};

/// How long the judge watches.
const WATCH: &str = "12s";

/// What is reported of the drive whose name begins so.
pub(super) fn judged(begins: &str) -> io::Result<Vec<Value>> {
    let device = find(begins)?;
    let path = format!("/dev/{device}");
    let verdict_json = verdict_of(&[&device], WATCH, |over| load::read_on(&path, over))?;
    let of = |what: &str| {
        let read = fs::read_to_string(format!("/sys/block/{device}/{what}"));
        read.unwrap_or_default().trim().to_string()
    };
    // Only a SCSI disk that reports a spindle speed counts: NVMe never does, and virtio shows it by
    // default. Of those it can be reported that they are slow, or keep the steps of a clock.
    let expected: &[&str] = if begins == "sd" && of("queue/rotational") == "1" {
        &["device.retry"]
    } else {
        &["device.retry", "device.periodic-delay", "device.slow"]
    };
    let verdict = verdict_json["verdict"].as_str().unwrap_or("none");
    Ok(vec![json!({
        "disk": device, "rotational": of("queue/rotational"), "expected": expected,
        "verdict": verdict, "confidence": verdict_json["confidence"], "sentence": verdict_json["sentence"],
        "right": expected.contains(&verdict),
    })])
}

/// The drive of that kind; not the one that scsi_debug makes up.
fn find(begins: &str) -> io::Result<String> {
    for entry in fs::read_dir("/sys/block")?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let model = fs::read_to_string(entry.path().join("device/model")).unwrap_or_default();
        if name.starts_with(begins) && !model.contains("scsi_debug") {
            return Ok(name);
        }
    }
    Err(io::Error::other(format!("no drive `{begins}`")))
}
