//! Names of mapped devices that are no logical volumes: an encrypted one (dm-crypt), and one with
//! several paths to its disk (dm-multipath), each with a file system that is read.

use std::fs;
use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iowhy_live::TraceMode;
use iowhy_model::Op;
use serde_json::{Value, json};

use super::device_mapper::MapperDevice;
use super::load::{self, Load};
use super::{Device, SCSI_DEBUG, count, lines, names, spec};
use crate::faulty_disk::FaultyDisk;

const MOUNT: &str = "/mnt/mapped";
const FILE: &str = "/mnt/mapped/file";
const FILE_MB: usize = 16;
/// Sectors of a mapped device: 48 MiB.
const SECTORS: u64 = 98_304;
/// What cryptsetup(8) and multipath(8) put before and into the UUID.
const CRYPT_UUID: &str = "CRYPT-LUKS2-0f1e2d3c4b5a69788796a5b4c3d2e1f0-luks-secret";
const PATHS_UUID: &str = "mpath-3600508b400105e210000900000490000";
/// How long the second path may take to appear.
const PATIENCE: Duration = Duration::from_secs(20);

/// An encrypted device over a faulty disk.
pub(super) fn crypt() -> io::Result<Vec<Value>> {
    let faulty = FaultyDisk::start(&spec(Some("retry=0.35")))?;
    let disk = faulty.path().trim_start_matches("/dev/").to_string();
    let table = format!("aes-xts-plain64 {} 0 {} 0", "5a".repeat(64), number(&disk)?);
    let mapped = MapperDevice::with_uuid("luks-secret", CRYPT_UUID, SECTORS, "crypt", &table)?;
    let shown = shown(&mapped, "luks-secret", &["device.retry"]);
    drop(mapped);
    faulty.end()?;
    shown
}

/// A device with two paths to one disk: two drives of a driver that share their memory.
pub(super) fn multipath() -> io::Result<Vec<Value>> {
    fs::write(format!("{SCSI_DEBUG}/add_host"), "1")?;
    let shown = second_path().and_then(|second| {
        let [one, two] = [number("sda")?, number(&second)?];
        // Two groups of one path each, tried in turn; the first is used.
        let group = |path: &str| format!("round-robin 0 1 1 {path} 1");
        let table = format!("0 0 2 1 {} {}", group(&one), group(&two));
        let mapped = MapperDevice::with_uuid("mpatha", PATHS_UUID, SECTORS, "multipath", &table)?;
        let mut results = counted(&mapped)?;
        results.extend(shown(&mapped, "mpatha", &[])?);
        Ok(results)
    });
    fs::write(format!("{SCSI_DEBUG}/add_host"), "-1")?;
    shown
}

/// Its requests are counted once, though its driver completes each a second time.
fn counted(mapped: &MapperDevice) -> io::Result<Vec<Value>> {
    let device = Device::named(&mapped.device)?;
    let mut results = Vec::new();
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        for (op, depth) in [(Op::Read, 4), (Op::Write, 2)] {
            let load = Load { op, bytes: 4096, depth, number: 200 };
            let counted = count(&device, mode, || load.run(&device.path))?;
            results.extend(lines(&counted, mode, &format!("two paths, {depth} deep")));
        }
    }
    Ok(results)
}

/// The drive that appeared beside the first one.
fn second_path() -> io::Result<String> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if fs::exists("/sys/block/sdb/dev")? && fs::exists("/dev/sdb")? {
            return Ok("sdb".to_string());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(io::Error::other("no second drive appeared"))
}

fn number(disk: &str) -> io::Result<String> {
    Ok(fs::read_to_string(format!("/sys/block/{disk}/dev"))?.trim().to_string())
}

/// What the commands show while the file on the device is read: each has to show its names.
fn shown(mapped: &MapperDevice, name: &str, verdicts: &[&str]) -> io::Result<Vec<Value>> {
    fs::create_dir_all(MOUNT)?;
    names::run("mke2fs", &["-F", &mapped.path()])?;
    names::run("mount", &["-t", "ext4", &mapped.path(), MOUNT])?;
    fs::write(FILE, vec![0x5a; FILE_MB << 20])?;
    names::run("sync", &[])?;
    let device = format!("/dev/mapper/{name}");
    let commands: [(&[&str], Vec<&str>); 5] = [
        (&["stat", "1", "3", "-d", name], vec![name, MOUNT]),
        (&["stat", "1", "3", "-d", &device], vec![name]),
        (&["hist", "--for", "3s", "--by", "volume"], vec![name]),
        (&["hist", "--for", "3s", "--by", "mount"], vec![MOUNT]),
        (&["why", "--for", "8s", "-d", MOUNT], [&[name, MOUNT][..], verdicts].concat()),
    ];
    let over = AtomicBool::new(false);
    let results = std::thread::scope(|scope| {
        let reader = scope.spawn(|| load::read_on(FILE, &over));
        let results: Vec<io::Result<Value>> =
            commands.iter().map(|(words, wanted)| one(words, wanted)).collect();
        over.store(true, Ordering::Relaxed);
        let read = reader.join().map_err(|_| io::Error::other("the reader failed"))?;
        read.and_then(|()| results.into_iter().collect())
    });
    names::run("umount", &[MOUNT])?;
    results
}

fn one(words: &[&str], wanted: &[&str]) -> io::Result<Value> {
    let mut iowhy = Command::new("iowhy");
    iowhy.args(words).args(["--width", "100"]).env("LANG", "C.UTF-8");
    let output = iowhy.stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let missing: Vec<&&str> = wanted.iter().filter(|name| !text.contains(**name)).collect();
    let right = missing.is_empty();
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(json!({
        "command": words.join(" "), "expected": wanted, "missing": missing, "right": right,
        "text": if right { Value::Null } else { json!(format!("{text}{reported}")) },
    }))
}
