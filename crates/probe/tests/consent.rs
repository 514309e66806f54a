//! Unsafe targets: every one is refused, and not a byte of it changes.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::MutexGuard;

use iowhy_probe::{Error, Permit, Purpose, Terms, examine};

use crate::rig::{Folder, Loop, missing, output, turn};

const BYTES: u64 = 24 << 20;

fn write(span: u64, bytes: u64) -> Purpose {
    Purpose::Write { span, bytes, dsync: false }
}

/// Terms under which a blank loop device may be written to: its file was typed, the cap raised.
fn meant(device: &Loop) -> Terms {
    Terms { serial: Some(device.file.display().to_string()), cap: Some(BYTES), ..Terms::default() }
}

fn checksum(file: &Path) -> String {
    output("sha256sum", &[&file.display().to_string()]).expect("sha256sum")
}

/// Examines for writing, and says why it was refused; nothing may have changed.
fn refusal(path: &Path, device: &Loop) -> String {
    let before = checksum(&device.file);
    let found = examine(path, write(1 << 20, 1 << 20), &meant(device));
    let error = found.expect_err("it must be refused").to_string();
    assert_eq!(checksum(&device.file), before, "something was written: {error}");
    error
}

/// Examines once nobody else on this machine looks into the device for a moment.
fn unheld(device: &Loop, terms: &Terms) -> Result<Permit, Error> {
    let mut tries = 0;
    loop {
        let found = examine(&device.device, write(1 << 20, 1 << 20), terms);
        // The kernel lets go of a ring, and of what it holds, a moment after it was closed.
        let held = found.as_ref().is_err_and(|error| {
            let error = error.to_string();
            error.contains("holds it open") || error.contains("in use")
        });
        if !held || tries == 50 {
            return found;
        }
        tries += 1;
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

fn put(file: &Path, place: SeekFrom, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.seek(place).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn a_blank_device_whose_serial_was_typed_is_written_to_between_its_ends() {
    let Some((folder, _turn)) = folder("blank") else { return };
    let device = Loop::new(&folder, "disk", BYTES, &[]);
    let edge = 8 << 20;
    for (terms, why) in [
        (Terms { serial: None, ..meant(&device) }, "was not given"),
        (Terms { serial: Some("WD-1".into()), ..meant(&device) }, "does not match"),
        (Terms { cap: None, ..meant(&device) }, "1 % of the device"),
    ] {
        let error = unheld(&device, &terms).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    let permit = unheld(&device, &meant(&device)).unwrap();
    assert!(permit.words().unwrap().contains("1 MiB"), "{:?}", permit.words());
    let stop = false.into();
    let mut watcher = iowhy_probe::Watcher { stop: &stop, tick: &mut |_| {} };
    let target = permit.open(&mut watcher).unwrap();
    let (from, span) = target.region();
    assert_eq!((from, span), (edge, 1 << 20));
    let job = iowhy_probe::Job {
        op: iowhy_model::Op::Write,
        from,
        order: iowhy_probe::Order::Sequential,
        count: Some(span / 4096),
        ..iowhy_probe::Job::reads(4096, 4, span)
    };
    let run = iowhy_probe::run(&target, &job, iowhy_probe::Clock::start(), &mut watcher).unwrap();
    assert_eq!((run.latency.n, run.failed), (span / 4096, None));
    let outside = iowhy_probe::Job { from: 0, ..job };
    let clock = iowhy_probe::Clock::start();
    assert!(iowhy_probe::run(&target, &outside, clock, &mut watcher).is_err());
    drop(target);
    // What a probe wrote is data like any other.
    let again = unheld(&device, &meant(&device)).unwrap().open(&mut watcher).unwrap_err();
    assert!(again.to_string().contains("it contains data at byte 8388608"), "{again}");
    let bytes = fs::read(&device.file).unwrap();
    let (edge, end) = (edge as usize, (edge + span) as usize);
    assert!(bytes[..edge].iter().chain(&bytes[end..]).all(|byte| *byte == 0));
    assert!(bytes[edge..end].iter().filter(|byte| **byte != 0).count() > 1_000_000);
}

#[test]
fn what_lies_on_a_device_is_recognised_and_left_alone() {
    let Some((folder, _turn)) = folder("marks") else { return };
    let end = |before: i64| SeekFrom::End(-before);
    let md = b"\xfc\x4e\x2b\xa9\x01\x00\x00\x00";
    let md_1_0 = SeekFrom::Start((BYTES / 512 - 16) / 8 * 4096);
    let table: &[(&str, SeekFrom, &[u8], &str)] = &[
        ("md at the start", SeekFrom::Start(4096), md, "md RAID"),
        ("md at the end", md_1_0, md, "md RAID"),
        ("old md", SeekFrom::Start(BYTES - 65_536), md, "md RAID"),
        ("LUKS", SeekFrom::Start(0), b"LUKS\xba\xbe\x00\x02", "LUKS"),
        ("LVM", SeekFrom::Start(512), b"LABELONE................LVM2 001", "LVM"),
        ("backup GPT only", end(512), b"EFI PART", "backup GPT"),
        ("GPT", SeekFrom::Start(512), b"EFI PART", "GPT"),
        ("boot sector", SeekFrom::Start(510), b"\x55\xaa", "boot sector"),
        ("btrfs", SeekFrom::Start(65_600), b"_BHRfS_M", "btrfs"),
        ("ZFS", SeekFrom::Start(131_072), b"\x0c\xb1\xba\x00\x00\x00\x00\x00", "ZFS"),
        ("ZFS at the end", end(131_072), b"\x0c\xb1\xba\x00\x00\x00\x00\x00", "ZFS"),
        ("unknown at the start", SeekFrom::Start(777_777), b"x", "unknown data at its start"),
        ("unknown at the end", end(7_000_000), b"x", "unknown data at its end"),
    ];
    for (name, place, mark, why) in table {
        let device = Loop::new(&folder, "disk", BYTES, &[]);
        put(&device.file, *place, mark);
        output("blockdev", &["--flushbufs", &device.path()]);
        let error = refusal(&device.device, &device);
        assert!(error.contains(why), "{name}: {error}");
    }
}

#[test]
fn real_file_systems_and_swap_are_refused_mounted_or_not() {
    let Some((folder, _turn)) = folder("systems") else { return };
    let device = Loop::new(&folder, "disk", BYTES, &[]);
    assert!(output("mkswap", &[&device.path()]).is_some());
    assert!(refusal(&device.device, &device).contains("swap space"));
    if output("swapon", &[&device.path()]).is_some() {
        let error = examine(&device.device, write(4096, 4096), &meant(&device)).unwrap_err();
        output("swapoff", &[&device.path()]);
        assert!(error.to_string().contains("used for swap"), "{error}");
    } else {
        println!("skipped: active swap: needs a kernel that swaps to loop devices");
    }
    let device = Loop::new(&folder, "other", BYTES, &[]);
    assert!(output("mkfs.ext4", &["-q", "-F", &device.path()]).is_some());
    assert!(refusal(&device.device, &device).contains("ext2/3/4"));
    let place = folder.0.join("mounted");
    fs::create_dir(&place).unwrap();
    let text = place.display().to_string();
    assert!(output("mount", &["-o", "ro", &device.path(), &text]).is_some());
    let error = examine(&device.device, write(4096, 4096), &meant(&device)).unwrap_err();
    output("umount", &[&text]);
    assert!(error.to_string().contains("mounted on"), "{error}");
    assert!(error.to_string().contains("in use"), "{error}");
}

#[test]
fn what_is_held_read_only_or_stacked_is_refused() {
    let Some((folder, _turn)) = folder("held") else { return };
    let read_only = Loop::new(&folder, "ro", BYTES, &["--read-only"]);
    assert!(refusal(&read_only.device, &read_only).contains("read-only"));

    let held = Loop::new(&folder, "held", BYTES, &[]);
    let exclusive =
        fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&held.device).unwrap();
    assert!(refusal(&held.device, &held).contains("in use"));
    drop(exclusive);
    // Somebody who holds it without claiming it: the kernel would let us, we do not.
    let mut tail = Command::new("sleep");
    tail.arg("60").stdin(fs::File::open(&held.device).unwrap());
    let mut tail = tail.spawn().unwrap();
    let error = refusal(&held.device, &held);
    tail.kill().unwrap();
    tail.wait().unwrap();
    assert!(error.contains("sleep") && error.contains("holds it open"), "{error}");

    let below = Loop::new(&folder, "below", BYTES, &[]);
    let above = Loop::over(&below.device, &[]);
    assert!(refusal(&below.device, &below).contains("the backing file of"));
    drop(above);
    assert!(unheld(&below, &meant(&below)).is_ok());

    // One partition in a table of the old kind: from sector 2048, 8 MiB long, type Linux.
    let table = folder.0.join("parted");
    fs::File::create(&table).unwrap().set_len(BYTES).unwrap();
    let entry = [0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 64, 0, 0];
    put(&table, SeekFrom::Start(446), &entry);
    put(&table, SeekFrom::Start(510), b"\x55\xaa");
    let parted = Loop::over(&table, &["--partscan"]);
    let error = refusal(&parted.device, &parted);
    assert!(error.contains("partition table"), "{error}");
    let name = parted.path().replace("/dev/", "");
    if Path::new(&format!("/sys/block/{name}/{name}p1")).exists() {
        assert!(error.contains("has partitions"), "{error}");
    } else {
        println!("skipped: partitions of a loop device: needs a kernel that looks for them");
    }
}

#[test]
fn what_carries_another_device_is_refused() {
    let Some((folder, _turn)) = folder("carries") else { return };
    let device = Loop::new(&folder, "disk", BYTES, &[]);
    let name = format!("iowhy-probe-{}", std::process::id());
    let table = format!("0 {} linear {} 0", BYTES / 512, device.path());
    if output("dmsetup", &["create", &name, "--table", &table]).is_none() {
        println!("skipped: a device-mapper target: needs `dmsetup` and dm in the kernel");
        return;
    }
    let error = examine(&device.device, write(4096, 4096), &meant(&device)).unwrap_err();
    output("dmsetup", &["remove", &name]);
    assert!(error.to_string().contains("it is part of dm-"), "{error}");
}

#[test]
fn data_between_the_ends_is_found_before_it_is_written_over() {
    let Some((folder, _turn)) = folder("between") else { return };
    let device = Loop::new(&folder, "disk", BYTES, &[]);
    let (edge, span) = (8u64 << 20, 3 << 20);
    let stop = false.into();
    let mut watcher = iowhy_probe::Watcher { stop: &stop, tick: &mut |_| {} };
    for place in [edge, edge + 1_234_567, edge + span - 1] {
        put(&device.file, SeekFrom::Start(place), b"x");
        output("blockdev", &["--flushbufs", &device.path()]);
        let before = checksum(&device.file);
        let permit = examine(&device.device, write(span, 1 << 20), &meant(&device));
        let error = permit.unwrap().open(&mut watcher).unwrap_err().to_string();
        assert!(error.contains(&format!("it contains data at byte {place} ")), "{error}");
        assert_eq!(checksum(&device.file), before);
        put(&device.file, SeekFrom::Start(place), &[0]);
    }
    // Behind the region nothing is written, so that data there is in nobody's way.
    put(&device.file, SeekFrom::Start(edge + span), b"x");
    output("blockdev", &["--flushbufs", &device.path()]);
    let permit = examine(&device.device, write(span, 1 << 20), &meant(&device)).unwrap();
    assert!(permit.open(&mut watcher).is_ok());
}

#[test]
fn a_mistyped_device_is_no_new_file() {
    let devices = Path::new("/dev");
    let mistyped = devices.join("iowhy-no-such-disk");
    for target in [mistyped.as_path(), devices] {
        let error = examine(target, write(1 << 20, 4096), &Terms::default()).unwrap_err();
        assert!(error.to_string().contains("device nodes"), "{error}");
    }
    assert!(!mistyped.exists());
}

#[test]
fn a_link_is_followed_before_it_is_judged() {
    let Some((folder, _turn)) = folder("links") else { return };
    let device = Loop::new(&folder, "disk", BYTES, &[]);
    put(&device.file, SeekFrom::Start(0), b"LUKS\xba\xbe");
    output("blockdev", &["--flushbufs", &device.path()]);
    let link = folder.0.join("harmless");
    std::os::unix::fs::symlink(&device.device, &link).unwrap();
    assert!(refusal(&link, &device).contains("LUKS"));
    let dangling = folder.0.join("dangling");
    std::os::unix::fs::symlink(folder.0.join("nowhere"), &dangling).unwrap();
    assert!(examine(&dangling, write(4096, 4096), &Terms::default()).is_err());
    assert!(!folder.0.join("nowhere").exists());
}

#[test]
fn files_that_exist_are_never_written_to_and_caps_hold() {
    let folder = Folder::new("files");
    let file = folder.0.join("precious");
    fs::write(&file, b"precious").unwrap();
    let error = examine(&file, write(4096, 4096), &Terms::default()).unwrap_err();
    assert!(error.to_string().contains("already exists"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    let huge = examine(&folder.0, write(1 << 50, 4096), &Terms::default()).unwrap_err();
    assert!(huge.to_string().contains("1 % of the file system"), "{huge}");
    let capped = Terms { cap: Some(1 << 20), ..Terms::default() };
    assert!(examine(&folder.0, write(2 << 20, 4096), &capped).is_err());
    let permit = examine(&folder.0.join("new"), write(1 << 20, 4096), &capped).unwrap();
    let stop = false.into();
    let mut watcher = iowhy_probe::Watcher { stop: &stop, tick: &mut |_| {} };
    let target = permit.open(&mut watcher).unwrap();
    assert_eq!(target.file.metadata().unwrap().len(), 1 << 20);
    // While it is open it has no name already.
    let names: Vec<PathBuf> =
        fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names, [file]);
}

fn folder(name: &str) -> Option<(Folder, MutexGuard<'static, ()>)> {
    if let Some(what) = missing() {
        println!("skipped: unsafe devices ({name}): needs {what}");
        return None;
    }
    Some((Folder::new(name), turn()))
}
