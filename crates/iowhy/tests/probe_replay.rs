//! `iowhy probe replay` as a program: what of a capture is done again, and what is not.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::folder::Folder;
use crate::probe_rig::{finish, probe, text};

/// Sizes of the reads of the capture, in order.
const SIZES: [u64; 4] = [4096, 65_536, 8192, 12_288];
const TARGET: u64 = 1 << 20;

/// A line of a capture as iowhy's CSV: at a time in ms, with a place in bytes.
fn line(device: &str, op: &str, ms: u64, place: u64, bytes: u64) -> String {
    let (ns, sector) = (ms * 1_000_000, place / 512);
    let flags = &op[..1].to_uppercase();
    let (issued, completed) = (ns + 1000, ns + 200_000);
    format!(
        "0,{device},{op},{flags},{ns},{issued},{completed},{sector},{bytes},{},db,1,,block,,,,\n",
        10 + ms % 2
    )
}

const HEADING: &str = "input,device,op,flags,queued_ns,issued_ns,completed_ns,sector,bytes,pid,\
                       comm,depth,error,layer,arrived_ns,cgroup,file,weight\n";

/// Reads each 5 ms, and between them a write, a flush and a discard.
fn capture(folder: &Folder, reads: u64) -> String {
    let mut lines = HEADING.to_string();
    for k in 0..reads {
        lines += &line("sda", "read", k * 5, k * 73 * 4096, SIZES[(k % 4) as usize]);
        let (op, bytes) = [("write", 4096), ("flush", 0), ("discard", 8192)][(k % 3) as usize];
        lines += &line("sda", op, k * 5 + 2, 4096, bytes);
    }
    let file = folder.file("capture.csv");
    std::fs::write(&file, lines).unwrap();
    file
}

fn target(folder: &Folder) -> (String, Vec<u8>) {
    let file = folder.file("target");
    let bytes: Vec<u8> = (0..TARGET).map(|k| (k % 251) as u8).collect();
    std::fs::write(&file, &bytes).unwrap();
    (file, bytes)
}

fn run(words: &[&str]) -> (Option<i32>, String, String) {
    finish(probe(words).spawn().unwrap())
}

/// Rows of a table of the result, by name.
fn rows(object: &Value, name: &str) -> Vec<Value> {
    let tables = object["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["name"] == name);
    table.map_or(Vec::new(), |table| table["rows"].as_array().unwrap().clone())
}

fn count(object: &Value, table: &str, why: &str) -> Option<u64> {
    let rows = rows(object, table);
    let row = rows.iter().find(|row| row[0].as_str().unwrap().starts_with(why))?;
    row[1].as_f64().map(|n| n as u64)
}

/// The I/Os of a capture: when each was due, operation, place and size.
fn ios(file: &str) -> Vec<(i64, String, u64, u64)> {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_iowhy"));
    let output = command.args(["convert", file, "-", "--to", "json"]).output().unwrap();
    let values = text(&output.stdout);
    let values = values.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut ios: Vec<_> = values
        .filter(|one| one["schema"] == "iowhy.event/1")
        .map(|one| {
            let op = one["op"].as_str().unwrap().to_string();
            let at = |name: &str| one[name].as_u64().unwrap();
            (one["queued_ns"].as_i64().unwrap(), op, at("sector") * 512, at("bytes"))
        })
        .collect();
    ios.sort();
    ios
}

#[test]
fn the_reads_of_a_capture_are_done_again_and_compared() {
    let folder = Folder::new("replayed");
    let (capture, (target, bytes)) = (capture(&folder, 60), target(&folder));
    let out = folder.file("again.iowhy");
    let (status, stdout, reported) =
        run(&["replay", &capture, &target, "--share", "--json", "-o", &out]);
    assert_eq!(status, Some(0), "{reported}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    let counts = ["writes", "flushes", "discards"].map(|why| count(&object, "left_out", why));
    assert_eq!(counts, [Some(20), Some(20), Some(20)], "{object:#}");
    assert!(count(&object, "mapped", "beyond the end").unwrap() > 30, "{object:#}");
    let again = ios(&out);
    let places: Vec<_> =
        again.iter().map(|(_, op, place, size)| (&op[..], *place, *size)).collect();
    let expected = |k: u64| {
        let size = SIZES[(k % 4) as usize];
        ("read", (k * 73 * 4096 % TARGET).min(TARGET - size), size)
    };
    assert_eq!(places, (0..60).map(expected).collect::<Vec<_>>());
    let due: Vec<i64> = again.iter().map(|io| io.0 - again[0].0).collect();
    assert_eq!(due, (0..60).map(|k| k * 5_000_000).collect::<Vec<i64>>());
    assert_eq!(std::fs::read(&target).unwrap(), bytes);
    // The text has the same.
    let (_, stdout, _) = run(&["replay", &capture, &target, "--share", "--count", "3"]);
    assert!(stdout.contains("replayed 3 of 120 I/Os"), "{stdout}");
    let mut compare = std::process::Command::new(env!("CARGO_BIN_EXE_iowhy"));
    let compared = compare.args(["compare", &capture, &out]).output().unwrap();
    assert!(compared.status.code().is_some_and(|code| code < 2), "{compared:?}");
    // A replay of the replay is the same load.
    let third = folder.file("third.iowhy");
    let (status, _, reported) = run(&["replay", &out, &target, "--share", "-o", &third]);
    assert_eq!(status, Some(0), "{reported}");
    let relative = |ios: &[(i64, String, u64, u64)]| -> Vec<_> {
        ios.iter().map(|io| (io.0 - ios[0].0, io.2, io.3)).collect()
    };
    assert_eq!(relative(&ios(&third)), relative(&again));
}

#[test]
fn twice_as_fast_and_closed_and_cut_short() {
    let folder = Folder::new("loops");
    let (capture, (target, _)) = (capture(&folder, 200), target(&folder));
    let out = folder.file("fast.iowhy");
    let begun = Instant::now();
    let words = ["replay", &capture, &target, "--share", "--speed", "10", "-o", &out, "--json"];
    let (status, stdout, reported) = run(&words);
    assert_eq!(status, Some(0), "{reported}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let fast = ios(&out);
    assert_eq!(fast.last().unwrap().0 - fast[0].0, 199 * 500_000, "{stdout}");
    let (status, stdout, reported) =
        run(&["replay", &capture, &target, "--share", "--closed", "--json"]);
    assert_eq!(status, Some(0), "{reported}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(object["engine"]["ios"], 200);
    let (_, stdout, reported) =
        run(&["replay", &capture, &target, "--share", "--for", "200ms", "--json"]);
    let object: Value = serde_json::from_str(&stdout).unwrap();
    let done = object["engine"]["ios"].as_u64().unwrap();
    assert!((1..=40).contains(&done), "{done} {reported}");
    assert!(count(&object, "left_out", "not due before the end").unwrap() >= 160, "{object:#}");
}

#[test]
fn writes_need_leave_and_a_place_of_their_own() {
    let folder = Folder::new("leave");
    let (capture, (target, bytes)) = (capture(&folder, 30), target(&folder));
    let (status, _, reported) = run(&["replay", &capture, &target, "--overwrite"]);
    assert!(status == Some(2) && reported.contains("it already exists"), "{reported}");
    let place = folder.file("place");
    std::fs::create_dir(&place).unwrap();
    let (status, stdout, reported) = run(&[
        "replay",
        &capture,
        &place,
        "--overwrite",
        "--span",
        "2m",
        "--cap",
        "4m",
        "--share",
        "--json",
    ]);
    assert_eq!(status, Some(0), "{reported}");
    assert!(reported.contains("then 40 KiB to measure"), "{reported}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(object["engine"]["ios"], 40);
    assert_eq!(count(&object, "left_out", "writes"), None, "{object:#}");
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    assert_eq!(std::fs::read(&target).unwrap(), bytes);
}

#[test]
fn what_is_no_trace_of_one_device_is_refused_with_a_hint() {
    let folder = Folder::new("replay-refused");
    let (target, _) = target(&folder);
    let samples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../read/samples");
    let sample = |format: &str| -> String {
        let files = std::fs::read_dir(samples.join(format)).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
        files.sort();
        files[0].display().to_string()
    };
    let two = folder.file("two.csv");
    let lines = [line("sda", "read", 0, 0, 4096), line("sdb", "read", 1, 0, 4096)].concat();
    std::fs::write(&two, HEADING.to_string() + &lines).unwrap();
    let writes = folder.file("writes.csv");
    std::fs::write(&writes, HEADING.to_string() + &line("sda", "write", 0, 0, 4096)).unwrap();
    let prose = folder.file("prose.txt");
    std::fs::write(&prose, "nothing of a disk\n").unwrap();
    for (capture, why) in [
        (sample("iostat"), "averages, not individual I/Os"),
        (sample("biolatency"), "histograms, not individual I/Os"),
        (two.clone(), "several devices"),
        (writes, "all 1 I/Os of the capture are writes"),
        (prose, ""),
    ] {
        let (status, stdout, reported) = run(&["replay", &capture, &target, "--share"]);
        assert!(status == Some(2) && reported.contains(why), "{capture}: {reported}");
        assert!(stdout.is_empty() && reported.contains("\nhint: "), "{capture}: {reported}");
    }
    let (status, stdout, reported) =
        run(&["replay", &two, &target, "--share", "--device", "/dev/sdb", "--json"]);
    assert_eq!(status, Some(0), "{reported}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(count(&object, "left_out", "of other devices"), Some(1), "{object:#}");
    for words in [
        &["replay", &two][..],
        &["replay", &two, &target, "--share", "--device", "sdz"],
        &["replay", &two, &target, "--speed", "0"],
        &["read-latency", &two, &target],
    ] {
        assert_eq!(run(words).0, Some(2), "{words:?}");
    }
}

#[test]
fn a_damaged_capture_is_replayed_as_far_as_it_is_read() {
    let folder = Folder::new("damaged");
    let (capture, (target, _)) = (capture(&folder, 40), target(&folder));
    let whole = std::fs::read_to_string(&capture).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let odd = folder.file("odd.csv");
    let broken = lines[11].replace(",read,", ",raed,");
    let text = [&lines[..11], &[&broken], &lines[12..]].concat().join("\n") + "\n";
    std::fs::write(&odd, text).unwrap();
    let (status, stdout, reported) = run(&["replay", &odd, &target, "--share", "--json"]);
    assert_eq!(status, Some(1), "{reported}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(object["engine"]["ios"], 39, "{object:#}");
    assert_eq!(
        count(&object, "left_out", "lines or records of the capture"),
        Some(1),
        "{object:#}"
    );
    // A saved recording that ends in the middle.
    let saved = folder.file("saved.iowhy");
    let mut convert = std::process::Command::new(env!("CARGO_BIN_EXE_iowhy"));
    assert!(convert.args(["convert", &capture, &saved]).status().unwrap().success());
    let bytes = std::fs::read(&saved).unwrap();
    for end in (0..bytes.len()).step_by(bytes.len() / 12) {
        std::fs::write(&saved, &bytes[..end]).unwrap();
        let words = ["replay", &saved, &target, "--share", "--speed", "100"];
        let (status, _, reported) = run(&words);
        assert!(status.is_some_and(|code| code == 1 || code == 2), "{end}: {status:?} {reported}");
    }
}

#[test]
fn ctrl_c_ends_it_with_what_was_done() {
    let folder = Folder::new("interrupted");
    let (capture, (target, _)) = (capture(&folder, 20_000), target(&folder));
    let out = folder.file("part.iowhy");
    let iowhy = env!("CARGO_BIN_EXE_iowhy");
    // What a shell starts with `&` ignores SIGINT.
    let child = std::process::Command::new("env")
        .args(["--default-signal=INT", iowhy, "probe", "replay", &capture, &target])
        .args(["--share", "--json", "-o", &out])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let (status, stdout, reported) = finish(child);
    assert_eq!(status, Some(1), "{reported}");
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(object["ended_early"], "interrupted by the user");
    let done = object["engine"]["ios"].as_u64().unwrap();
    assert!((1..19_000).contains(&done), "{done}");
    assert_eq!(ios(&out).len() as u64, done);
}
