//! `iowhy record` on a loop device: nothing is missing, killed or not, and a full disk is reported.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::rig::{self, Loop, can_run, until_attached};

fn iowhy(words: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("iowhy")
}

/// Exit status, stdout, stderr.
fn ended(child: Child) -> (i32, String, String) {
    let output = child.wait_with_output().expect("its end");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn place(name: &str) -> PathBuf {
    let file = std::env::temp_dir().join(format!("iowhy-record-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    file
}

fn filled() -> Loop {
    let disk = Loop::new(64, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=64m"]);
    disk.settle();
    disk
}

fn read(disk: &Loop, ios: u32) {
    let count = format!("--number_ios={ios}");
    let how =
        ["--ioengine=io_uring", "--iodepth=32", "--rw=randread", "--size=64m", "--io_size=64g"];
    disk.fio(&[&how[..], &[&count]].concat());
    disk.settle();
}

/// Events that a capture holds, and those it knows to be lost, by the view that reads every one.
fn held(file: &str) -> (u64, u64, i32) {
    let (status, text, message) = ended(iowhy(&["hist", "--json", file]));
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text} {message}"));
    let total = |one: &&Value| one["stage"] == "Q2C" && one["op"] == "read";
    let counts = report["histograms"].as_array().unwrap().iter().filter(total);
    let events = counts.map(|one| one["count"].as_u64().unwrap()).sum();
    let inputs = report["inputs"].as_array().unwrap();
    let lost = inputs.iter().map(|input| input["lost"].as_u64().unwrap()).sum();
    (events, lost, status)
}

/// Every key that is written is reported of in the manual of the schemas.
fn is_in_the_manual(value: &Value) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/JSON.md");
    let manual = std::fs::read_to_string(page).unwrap();
    let Some(object) = value.as_object() else { return };
    for (key, value) in object {
        assert!(manual.contains(&format!("`{key}`")), "docs/JSON.md does not tell of `{key}`");
        is_in_the_manual(value);
        value.as_array().into_iter().flatten().for_each(is_in_the_manual);
    }
}

/// Bytes of an event, at most (docs/results/performance.md), and of what each second adds however
/// few its events: the averages, and the headers and first values of its blocks (a choice).
const EVENT: u64 = 12;
const SECOND: u64 = 2048;

/// Bytes of a file without events: each begins with the devices of the machine and their settings.
fn idle_file(disk: &Loop, folder: &std::path::Path) -> u64 {
    let file = folder.join("idle.iowhy");
    let name = file.to_str().unwrap();
    let (status, _, message) =
        ended(iowhy(&["record", "-o", name, "--for", "1s", "--device", &disk.name]));
    assert_eq!(status, 0, "{message}");
    std::fs::metadata(file).unwrap().len()
}

#[test]
fn what_is_kept_and_what_is_lost_is_what_the_kernel_counts_over_all_files() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    let folder = place("parts");
    std::fs::create_dir(&folder).unwrap();
    let idle = idle_file(&disk, &folder);
    let name = folder.join("trace.iowhy");
    let how = ["record", "-o", name.to_str().unwrap(), "--rotate", "1s", "--json"];
    let before = disk.counters();
    let recording = iowhy(&[&how[..], &["--device", &disk.name]].concat());
    until_attached(&recording);
    let begun = Instant::now();
    read(&disk, 100_000);
    let kernel = disk.counters()[0] - before[0];
    // Three parts at least, and all of the load in them.
    let third = folder.join("trace.iowhy.0002");
    while !third.exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "no third part");
        std::thread::sleep(Duration::from_millis(50));
    }
    rig::run("kill", &["-INT", &recording.id().to_string()]);
    let (status, text, message) = ended(recording);
    let reported: Value =
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text} {message}"));
    let (events, lost) = (reported["events"].as_u64().unwrap(), reported["lost"].as_u64().unwrap());
    is_in_the_manual(&reported);
    assert_eq!(events + lost, kernel, "{reported}");
    assert_eq!(status, i32::from(lost > 0));
    let files: Vec<&str> =
        reported["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    assert!(files.len() > 2, "{reported}");
    let parts: Vec<u8> = files.iter().flat_map(|file| std::fs::read(file).unwrap()).collect();
    let joined = folder.join("joined");
    std::fs::write(&joined, &parts).unwrap();
    assert_eq!(held(joined.to_str().unwrap()), (events, lost, status));
    println!("{:.1} bytes per event", parts.len() as f64 / events as f64);
    assert_eq!(reported["bytes"].as_u64(), Some(parts.len() as u64));
    let seconds = reported["seconds"].as_f64().unwrap();
    let most = EVENT * events + files.len() as u64 * idle + SECOND * seconds.ceil() as u64;
    let written = parts.len();
    assert!(written as u64 <= most, "{written} bytes for {events} events: more than {most}");
    let (status, _, message) = ended(iowhy(&["record", "-o", files[0], "--for", "1s"]));
    assert!(status == 2 && message.contains("exists; not overwritten"), "{message}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_killed_recorder_leaves_all_but_its_last_second() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = filled();
    let file = place("killed");
    let name = file.to_str().unwrap();
    let mut recording = iowhy(&["record", "-o", name, "--device", &disk.name]);
    until_attached(&recording);
    let before = disk.counters();
    read(&disk, 20_000);
    let kernel = disk.counters()[0] - before[0];
    // A second, and longer where the machine is too busy to run the recorder.
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(1000));
        let (events, lost, _) = held(name);
        if events + lost >= kernel {
            break;
        }
    }
    recording.kill().unwrap();
    recording.wait().unwrap();
    let (events, lost, status) = held(name);
    assert_eq!(events + lost, kernel);
    assert_eq!(status, 1, "a capture without its end is said to be cut");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_full_disk_ends_the_recording_and_the_file_can_be_read() {
    if !can_run(&["fio", "mkfs.ext4"]) {
        return;
    }
    let disk = filled();
    let folder = place("full");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.to_str().unwrap();
    rig::run("mount", &["-t", "tmpfs", "-o", "size=512k", "tmpfs", path]);
    let name = format!("{path}/trace.iowhy");
    let how = ["record", "-o", &name, "--json", "--device", &disk.name, "--for", "20s"];
    let recording = iowhy(&how);
    until_attached(&recording);
    read(&disk, 150_000);
    let (status, text, message) = ended(recording);
    let reported: Value =
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text} {message}"));
    let (events, lost, read_status) = held(&name);
    // What could not be written was cut off, so that the end follows without a hole.
    let (_, report, _) = ended(iowhy(&["hist", "--json", &name]));
    let report: Value = serde_json::from_str(&report).unwrap();
    let skipped: Vec<&Value> =
        report["inputs"].as_array().unwrap().iter().map(|input| &input["skipped"]).collect();
    rig::run("umount", &[path]);
    std::fs::remove_dir(&folder).unwrap();
    assert_eq!((status, read_status), (1, 1), "{message}");
    assert!(!skipped.is_empty() && skipped.iter().all(|skipped| **skipped == 0), "{report}");
    assert!(message.contains("No space left on device"), "{message}");
    assert_eq!(reported["stopped_early"], true);
    assert!(events > 10_000 && reported["unwritten"].as_u64() > Some(0), "{reported}");
    assert_eq!(Some(events), reported["events"].as_u64());
    println!("{events} kept, {lost} known to be lost, {reported}");
}

#[test]
fn of_two_recorders_on_one_file_one_is_refused() {
    if !can_run(&[]) {
        return;
    }
    let disk = Loop::new(8, None);
    let name = place("two").display().to_string();
    let how = ["record", "-o", &name, "--json", "--device", &disk.name, "--for", "30s"];
    let first = iowhy(&how);
    until_attached(&first);
    for more in [&[][..], &["--force"]] {
        let (status, _, message) = ended(iowhy(&[&how[..], more].concat()));
        assert_eq!(status, 2, "{message}");
    }
    // A terminal that is closed ends it as Ctrl-C does: with its end mark.
    rig::run("kill", &["-HUP", &first.id().to_string()]);
    let (status, text, message) = ended(first);
    assert_eq!(status, 0, "{text} {message}");
    let (read, _, message) = ended(iowhy(&["stat", "--json", &name]));
    std::fs::remove_file(&name).unwrap();
    assert!(read == 0 && !message.contains("killed"), "{message}");
}

#[test]
fn what_cannot_be_written_to_is_refused_before_anything_is_watched() {
    let there = place("there");
    std::fs::write(&there, "there").unwrap();
    let there = there.to_str().unwrap();
    for (output, message) in [
        ("/nowhere/at/all", "No such file"),
        ("/tmp", "directory"),
        ("/dev/loop-control", "a device"),
        ("/dev/iowhy-no-such-disk", "device nodes"),
        (there, "exists; not overwritten"),
    ] {
        let (status, _, error) = ended(iowhy(&["record", "-o", output, "--for", "10ms"]));
        assert!(status == 2 && error.contains(message), "{output}: {error}");
    }
    std::fs::remove_file(there).unwrap();
    let (status, _, message) = ended(iowhy(&["record", "-o", "-", "--rotate", "1G"]));
    assert!(status == 2 && message.contains("cannot be rotated"), "{message}");
}

#[test]
fn a_removed_device_is_reported_and_its_ios_are_kept() {
    if !can_run(&["fio", "losetup"]) {
        return;
    }
    let disk = filled();
    let other = disk.another(64);
    let file = place("gone");
    let name = file.to_str().unwrap();
    let devices = ["--device", &disk.name, "--device", &other.name];
    let how = [&["record", "-o", name, "--for", "60s"][..], &devices].concat();
    let recording = iowhy(&how);
    until_attached(&recording);
    read(&disk, 1000);
    disk.detach();
    std::thread::sleep(Duration::from_millis(2500));
    // The others go on.
    let before = other.counters()[0];
    read(&other, 500);
    let after = other.counters()[0] - before;
    rig::run("kill", &["-INT", &recording.id().to_string()]);
    let (_, _, message) = ended(recording);
    let gone = format!("`{}` disappeared while being watched", disk.name);
    assert_eq!(message.matches(&gone).count(), 1, "{message}");
    let (events, lost, _) = held(name);
    assert!(events + lost >= 990 + after, "{events} and {lost} lost, {after} of the other");
    let (_, text, _) = ended(iowhy(&["why", "--json", name]));
    std::fs::remove_file(&file).unwrap();
    assert!(text.contains("disappeared while being watched"), "{text}");
}

#[test]
fn a_hung_up_terminal_ends_a_recording_as_an_interrupt_does() {
    if !can_run(&[]) {
        return;
    }
    let disk = Loop::new(8, None);
    let file = place("hup");
    let name = file.to_str().unwrap();
    let recording = iowhy(&["record", "-o", name, "--device", &disk.name, "--for", "60s"]);
    until_attached(&recording);
    rig::run("kill", &["-HUP", &recording.id().to_string()]);
    let (status, _, message) = ended(recording);
    assert_eq!(status, 0, "{message}");
    let (_, text, message) = ended(iowhy(&["stat", "--json", name]));
    std::fs::remove_file(&file).unwrap();
    assert!(!text.contains("no end") && !message.contains("no end"), "{text} {message}");
}
