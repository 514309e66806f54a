//! Seven names on one screen: the disk, the logical volume, the mount point, the pod and container,
//! the program, the file, the verdict. A faulty disk lies below an array below a logical volume,
//! whose file system a container reads.

use std::fs;
use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::super::SCREEN;
use super::device_mapper::MapperDevice;
use super::{load, spec};
use crate::faulty_disk::FaultyDisk;

/// Megabytes of the array, the volume and the file in it.
const ARRAY_MB: u64 = 1024;
const VOLUME_MB: u64 = 768;
const FILE_MB: usize = 64;
/// Where everybody finds the file system, and the file.
const MOUNT: &str = "/mnt/pgdata";
const FILE: &str = "/mnt/pgdata/base.db";
const UID: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
const CONTAINER: &str = "3f4a1c0b9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a";
/// The names that one screen has to show; that of the disk comes before them.
const NAMES: [&str; 6] =
    ["vg-pgdata", MOUNT, "pod prod/db-0, container postgres", "postgres (", "base.db", "retry"];

/// Creates everything, and checks the names on the screen.
///
/// # Errors
/// If a part of it cannot be made.
pub(super) fn on_one_screen() -> io::Result<Vec<Value>> {
    let faulty = FaultyDisk::start(&spec(Some("retry=0.35")))?;
    let disk = faulty.path().trim_start_matches("/dev/").to_string();
    let array = Array::over(&disk)?;
    let below = fs::read_to_string(format!("/sys/block/{}/dev", array.0))?;
    let table = format!("{} 0", below.trim());
    let volume = MapperDevice::new("vg-pgdata", VOLUME_MB << 11, "linear", &table)?;
    fs::create_dir_all(MOUNT)?;
    run("mke2fs", &["-F", &volume.path()])?;
    run("mount", &["-t", "ext4", &volume.path(), MOUNT])?;
    fs::write(FILE, vec![0x5a; FILE_MB << 20])?;
    run("sync", &[])?;
    let screen = screen_of_a_pod(&disk);
    run("umount", &[MOUNT])?;
    drop(volume);
    drop(array);
    faulty.end()?;
    let screen = screen?;
    let (text, wanted) = (plain(&screen), [disk.as_str()].into_iter().chain(NAMES));
    let missing: Vec<&str> = wanted.filter(|name| !text.contains(name)).collect();
    Ok(vec![json!({
        "expected": "disk, volume, mount point, container, program, file, verdict on one screen",
        "missing": missing, "screen": screen, "right": missing.is_empty(),
    })])
}

/// The screen of `iowhy why` while a container of a pod reads the file.
fn screen_of_a_pod(disk: &str) -> io::Result<String> {
    fs::create_dir_all(format!("/var/log/pods/prod_db-0_{UID}"))?;
    fs::create_dir_all("/var/log/containers")?;
    fs::write(format!("/var/log/containers/db-0_prod_postgres-{CONTAINER}.log"), "")?;
    let mut group = "/sys/fs/cgroup".to_string();
    let pod = format!("kubepods-pod{}.slice", UID.replace('-', "_"));
    for part in ["kubepods.slice".to_string(), pod, format!("cri-containerd-{CONTAINER}.scope")] {
        fs::write(format!("{group}/cgroup.subtree_control"), "+io")?;
        group = format!("{group}/{part}");
        fs::create_dir_all(&group)?;
    }
    let over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().name("postgres".to_string());
        let (over, group) = (&over, &group);
        let reader = reader.spawn_scoped(scope, move || {
            fs::write(format!("{group}/cgroup.procs"), std::process::id().to_string())?;
            load::read_on(FILE, over)
        })?;
        let mut why = Command::new("iowhy");
        why.args(["why", "--for", "10s", "--device", disk, "--width", &SCREEN.to_string()]);
        why.envs([("CLICOLOR_FORCE", "1"), ("LANG", "C.UTF-8")]);
        let output = why.stdin(Stdio::null()).output();
        over.store(true, Ordering::Relaxed);
        let read = reader.join().map_err(|_| io::Error::other("the reader failed"))?;
        let back = fs::write("/sys/fs/cgroup/cgroup.procs", std::process::id().to_string());
        read.and(back).and(output)
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A screen without its colours.
fn plain(screen: &str) -> String {
    let mut parts = screen.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_string();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text));
    let text = rest.fold(first, |text, part| text + part);
    // Words that were wrapped belong together.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An array of one disk without a superblock, made by its files in /sys (Documentation/
/// admin-guide/md.rst); gone with this.
struct Array(String);

impl Array {
    fn over(disk: &str) -> io::Result<Array> {
        let array = Array("md127".to_string());
        fs::write("/sys/module/md_mod/parameters/new_array", &array.0)?;
        let number = fs::read_to_string(format!("/sys/block/{disk}/dev"))?;
        let size = (ARRAY_MB << 10).to_string();
        array.tell("metadata_version", "none")?;
        array.tell("level", "raid1")?;
        array.tell("raid_disks", "1")?;
        array.tell("component_size", &size)?;
        array.tell("new_dev", number.trim())?;
        array.tell(&format!("dev-{disk}/size"), &size)?;
        array.tell(&format!("dev-{disk}/slot"), "0")?;
        array.tell("resync_start", "none")?;
        array.tell("array_state", "active")?;
        Ok(array)
    }

    fn tell(&self, file: &str, text: &str) -> io::Result<()> {
        let path = format!("/sys/block/{}/md/{file}", self.0);
        let with_path = |error: io::Error| io::Error::other(format!("`{text}` to {path}: {error}"));
        fs::write(&path, text).map_err(with_path)
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        let _ = self.tell("array_state", "clear");
    }
}

/// Runs a program to its end.
///
/// # Errors
/// If it fails, with what it printed.
pub(super) fn run(program: &str, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new(program).args(arguments).output()?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("`{program}` failed: {}", message.trim())))
}
