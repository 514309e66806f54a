//! What goes wrong while a probe runs: killed, disk gone, errors in the middle. What was measured
//! is reported, nothing stays behind, and nothing outside the test file changes.

use std::time::Duration;

use serde_json::Value;

use crate::folder::Folder;
use crate::probe_rig::{self, Loop, finish, missing, probe, rig, shell};

#[test]
fn what_a_killed_probe_had_measured_is_told_by_the_next() {
    let folder = Folder::new("recover");
    let runtime = Folder::new("recover-runtime");
    std::fs::write(folder.file("neighbour"), "untouched").unwrap();
    let place = folder.0.display().to_string();
    let words = ["--count", "1000000", "--span", "8m", "--cap", "8g"];
    let mut child = probe(&[&["write-latency", &place][..], &words].concat())
        .env("XDG_RUNTIME_DIR", &runtime.0)
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    child.kill().unwrap();
    child.wait().unwrap();
    let books = || std::fs::read_dir(&runtime.0).unwrap().count();
    assert_eq!(books(), 1, "the logbook outlives the probe");
    let again = ["read-latency", &folder.file("neighbour"), "--size", "512", "--count", "1"];
    let next = || {
        finish(probe(&again).arg("--buffered").env("XDG_RUNTIME_DIR", &runtime.0).spawn().unwrap())
    };
    let (_, _, message) = next();
    assert!(
        message.contains("an earlier probe was killed; it had measured\nwrite-latency on "),
        "{message}"
    );
    let line =
        message.lines().find(|line| line.starts_with("writing 4096 bytes: ")).expect(&message);
    assert!(line.contains(" on average, ") && line.ends_with("when it was killed"), "{line}");
    assert_eq!(books(), 0, "it is told once");
    assert!(!next().2.contains("killed"));
    let names: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(names, [folder.0.join("neighbour")]);
    assert_eq!(std::fs::read_to_string(folder.file("neighbour")).unwrap(), "untouched");
}

#[test]
fn killed_or_interrupted_on_a_device_it_wrote_nowhere_else() {
    if let Some(what) = missing() {
        println!("skipped: killed on a device: needs {what}");
        return;
    }
    let folder = Folder::new("elsewhere");
    for signal in [rustix::process::Signal::KILL, rustix::process::Signal::INT] {
        let device = Loop::new(&folder, "disk", 24 << 20, "");
        let words = ["write-latency", &device.device, "--serial", &device.file, "--cap", "8g"];
        let more = ["--span", "1m", "--count", "1000000", "--json"];
        let child = probe(&[&words[..], &more].concat()).spawn().unwrap();
        let (edge, end) = (8 << 20, 9 << 20);
        let written = |bytes: &[u8]| bytes[edge..end].iter().any(|byte| *byte != 0);
        let begun = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            written(&std::fs::read(&device.file).unwrap())
        });
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        let (_, out, message) = finish(child);
        if signal == rustix::process::Signal::INT {
            let object: Value = serde_json::from_str(&out).expect(&message);
            assert_eq!(object["ended_early"], "interrupted by the user");
        }
        shell("sync");
        let bytes = std::fs::read(&device.file).unwrap();
        assert!(bytes[..edge].iter().chain(&bytes[end..]).all(|byte| *byte == 0), "{signal:?}");
        assert!(begun && written(&bytes), "{signal:?}: {message}");
    }
}

#[test]
fn an_error_in_the_middle_keeps_what_was_measured_before() {
    if let Some(what) = missing() {
        println!("skipped: an error in the middle: needs {what}");
        return;
    }
    let folder = Folder::new("middle");
    let device = Loop::new(&folder, "disk", 8 << 20, "");
    std::fs::write(&device.file, vec![7u8; 4 << 20]).unwrap();
    let words = ["read-latency", &device.device, "--size", "4k", "--order", "sequential"];
    let words = [&words[..], &["--count", "2048", "--json"]].concat();
    let (status, out, message) = finish(probe(&words).spawn().unwrap());
    let object: Value = serde_json::from_str(&out).expect(&message);
    if object["ended_early"].is_null() {
        println!("skipped: an error in the middle: needs a loop driver that fails beyond its file");
        return;
    }
    let why = object["ended_early"].as_str().unwrap();
    assert_eq!(why, "the read of 4096 bytes at 4194304 failed: Input/output error (os error 5)");
    assert_eq!((status, object["tables"][0]["rows"][0][3].as_f64()), (Some(1), Some(1024.0)));
    // The surface scan goes on behind a place that cannot be read, and names it.
    let (_, out, _) = finish(probe(&["surface", &device.device, "--size", "64k"]).spawn().unwrap());
    assert!(out.contains("64 KiB at byte 4194304: Input/output error"), "{out}");
    assert!(out.contains("at least 16 offsets were unreadable"), "{out}");
}

/// A shell script on a faulty disk, whose device is `{dev}`; what it printed.
fn on_disk(rig: &std::path::Path, model: &str, script: &str) -> String {
    let arguments = ["disk", "--model", model, "--size", "64M", "--run", script];
    let output = std::process::Command::new(rig).args(arguments).output().unwrap();
    probe_rig::text(&output.stdout) + &probe_rig::text(&output.stderr)
}

#[test]
fn a_disk_that_vanishes_ends_the_probe_with_what_it_had() {
    let (None, Some(rig)) = (missing(), rig()) else {
        println!("skipped: a disk that vanishes: needs root, /dev/fuse and the built `rig`");
        return;
    };
    let iowhy = env!("CARGO_BIN_EXE_iowhy");
    // The shell's parent is the laboratory, whose one other child serves the disk.
    let script = format!(
        "{iowhy} probe read-latency {{dev}} --size 4k --order random --count 100000 --for 20s \
         --json & probe=$!; sleep 1.5; for pid in $(cat /proc/$PPID/task/*/children); do \
         [ $pid = $$ ] || kill -9 $pid; done; wait $probe; echo status $?"
    );
    let message = on_disk(&rig, "rotational:rpm=7200", &script);
    let from = message.find("{\n").expect(&message);
    let end = message.find("\nstatus ").expect(&message);
    let object: Value = serde_json::from_str(&message[from..end]).expect(&message);
    let why = object["ended_early"].as_str().unwrap_or_default();
    assert!(why.starts_with("the read of 4096 bytes at "), "{why}");
    assert!(why.ends_with("failed: Input/output error (os error 5)"), "{why}");
    assert!(object["engine"]["ios"].as_f64().unwrap() > 20.0, "{}", object["engine"]);
    assert!(message.contains("\nstatus 1"), "{message}");
}

#[test]
fn sequential_writes_on_a_turning_disk_wait_a_turn_each() {
    let (None, Some(rig)) = (missing(), rig()) else {
        println!("skipped: a disk of 7200 rpm: needs root, /dev/fuse and the built `rig`");
        return;
    };
    let iowhy = env!("CARGO_BIN_EXE_iowhy");
    // The laboratory contains its own device open: a second loop device over it is nobody's.
    let write = "--serial {dev} --cap 64m --size 1k --span 1m --json";
    let script = format!(
        "mine=$(losetup --find --show --direct-io=on {{dev}}); trap 'losetup -d $mine' EXIT; \
         rt=$(chrt --fifo 30 true && echo chrt --fifo 30); $rt {iowhy} probe write-latency $mine \
         {write} --count 150 --durable plain; echo; echo next; dd if=/dev/zero of=$mine bs=1M \
         seek=8 count=1 oflag=direct status=none; sleep 0.2; {iowhy} probe write-latency $mine \
         {write} --count 800 --depth 32"
    );
    let object = |text: &str| -> Option<Value> {
        serde_json::from_str(&text[text.find("{\n")?..text.rfind("\n}")? + 2]).ok()
    };
    let mut tries = Vec::new();
    // The tests beside this one are over after the first tries.
    for _ in 0..8 {
        let message = on_disk(&rig, "rotational:rpm=7200,cache=off", &script);
        let (one, many) = message.split_once("\nnext\n").expect(&message);
        let (one, many) = (object(one).expect(&message), object(many).expect(&message));
        let row = &one["tables"][0]["rows"][0];
        let (mean, median) = (row[4].as_f64().unwrap(), row[5].as_f64().unwrap());
        let verdict = one["report"]["findings"][0]["verdict"].to_string();
        let per_s = many["tables"][0]["rows"][0][2].as_f64().unwrap();
        let QueueRemainder { left, bursts, sped_up } = left_in_the_queue(&many);
        println!(
            "{mean} ms each, {median} at the median, {verdict}; 32 enqueued: {per_s} per second, \
             the last {left} in {bursts} bursts"
        );
        // Whatever the machine's CPUs do, the disk itself turns at its own pace.
        assert!((median - 8.333).abs() < 0.1, "{row}");
        // A revolution takes up to 32 of them with it, and one by one they have a revolution each.
        assert!(per_s > 5.0 * 1e3 / mean, "{}", many["answer"]);
        // One by one they would be a revolution each. Where in a revolution enqueueing stops is
        // chance: a few may still belong to the burst before, or have been done without being seen
        // yet.
        assert!((1..=32).contains(&left) && bursts <= 4, "{}", many["answer"]);
        let burst = if bursts == 1 { "one burst".into() } else { format!("{bursts} bursts") };
        let answer = many["answer"].to_string();
        let speed = if sped_up { "completions speed up" } else { "completions do not speed up" };
        let reported = answer.contains(speed)
            && answer.contains(&format!("of the {left} left in the queue"))
            && answer.contains(&format!("of it, in {burst}"));
        assert!(reported || left < 4 && answer.contains("too few to compare"), "{answer}");
        // The mean is not held to a bound: one write that waited for a CPU moves it, and the median
        // not.
        if verdict == "\"load.missed-revolution\"" {
            return;
        }
        tries.push((mean, verdict));
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    let load: f64 = load.split(' ').next().unwrap().parse().unwrap();
    assert!(load > 2.0, "on a quiet machine it is recognised: {tries:?}");
    println!(
        "a part is skipped: `load.missed-revolution` needs CPUs with nothing else to do: {tries:?}"
    );
}

/// What became of the writes that were in the queue when the last was enqueued.
struct QueueRemainder {
    left: usize,
    /// In how many bursts further than 2 ms apart they were done.
    bursts: usize,
    /// Whether one was done in less than half the time that one took before.
    sped_up: bool,
}

/// Recomputed from the table of both moments of every write.
fn left_in_the_queue(probed: &Value) -> QueueRemainder {
    let tables = probed["tables"].as_array().unwrap().iter();
    let series: Vec<&Value> = tables.filter(|table| table["name"] == "enqueue").collect();
    assert_eq!(series.len(), 1, "both moments of every write are data");
    let column = |place: usize| -> Vec<f64> {
        let rows = series[0]["rows"].as_array().unwrap().iter();
        rows.map(|row| row[place].as_f64().unwrap()).collect()
    };
    let last_in = column(1).into_iter().fold(0.0, f64::max);
    let (before, mut after): (Vec<f64>, Vec<f64>) =
        column(2).into_iter().partition(|done| *done <= last_in);
    after.sort_by(f64::total_cmp);
    let gaps: Vec<f64> = after.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The first write is enqueued at 0.
    let pace_before = last_in / before.len() as f64;
    let pace_after = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
    QueueRemainder {
        left: after.len(),
        bursts: gaps.iter().filter(|gap| **gap > 2.0).count() + usize::from(!after.is_empty()),
        sped_up: pace_after * 2.0 < pace_before,
    }
}
