//! `why` beside FUSE mounts: one that is slow, one whose server does not answer, one that is busy,
//! one that is idle.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::rig::slow_mount::SlowMount;
use crate::rig::{self, Running, can_run};

/// iowhy in a namespace where the numbers of FUSE requests can be read, whatever is mounted here,
/// without the mounts of other tests, which may hang as well.
fn watching(words: &[&str]) -> Child {
    let mounts = "mount -t fusectl fusectl /sys/fs/fuse/connections 2>/dev/null
        awk '$5 ~ /iowhy-slow-/ { print $5 }' /proc/self/mountinfo |
            grep -v \"iowhy-slow-$0-\" | while read -r other; do umount -lic \"$other\"; done
        exec \"$@\"";
    let own = std::process::id().to_string();
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", mounts, &own, env!("CARGO_BIN_EXE_iowhy")]).args(words);
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    piped.spawn().expect("unshare")
}

fn printed(child: Child) -> String {
    let output = child.wait_with_output().expect("its end");
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{reported}");
    String::from_utf8(output.stdout).expect("text")
}

/// The sentences of a report that blame a FUSE server, with how many requests had no reply. Other
/// tests have findings of their own behind the host. The kernel lists the FUSE connections of all
/// namespaces, so those of other tests are there without a mount; those of this test have one.
fn remote(report: &str) -> Vec<(String, f64)> {
    let report: Value = serde_json::from_str(report).unwrap_or_else(|_| panic!("{report}"));
    let findings = report["findings"].as_array().expect("findings").iter();
    let own = |one: &&Value| {
        let sentence = one["sentence"].as_str().expect("text");
        sentence.contains("FUSE server") && !sentence.contains("not mounted here")
    };
    let remote = findings.filter(|one| one["verdict"] == "layer.remote").filter(own);
    let requests = |one: &Value| {
        let evidence = one["evidence"].as_array().expect("evidence").iter();
        let named = |one: &&Value| one["quantity"] == "requests without a reply";
        evidence.filter(named).find_map(|one| one["value"].as_f64()).expect("requests")
    };
    remote.map(|one| (one["sentence"].as_str().expect("text").to_string(), requests(one))).collect()
}

fn started(program: &str, words: &[&str]) -> Running {
    let mut command = Command::new(program);
    let quiet = command.args(words).stdin(Stdio::null()).stdout(Stdio::null());
    Running(quiet.stderr(Stdio::null()).spawn().expect("a program"))
}

/// A capture of seven seconds, recorded while `why` watched them, and what `why` reported; removes
/// it when dropped.
struct Watched {
    capture: String,
    live: String,
}

impl Watched {
    fn of(name: &str) -> Watched {
        let file = format!("iowhy-{name}-{}.iowhy", std::process::id());
        let capture = std::env::temp_dir().join(file).to_str().expect("text").to_string();
        let record = watching(&["record", "--for", "7s", "-o", &capture]);
        let live = printed(watching(&["why", "--for", "7s", "--json"]));
        printed(record);
        Watched { capture, live }
    }

    /// What `why` prints of the capture.
    fn kept(&self, words: &[&str]) -> String {
        let mut why = Command::new(env!("CARGO_BIN_EXE_iowhy"));
        let output = why.arg("why").args(words).arg(&self.capture).output();
        String::from_utf8(output.expect("iowhy").stdout).expect("text")
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.capture);
    }
}

#[test]
fn a_mount_that_is_slow_is_named_live_and_from_a_recording() {
    if !can_run(&["python3", "dd", "unshare"]) {
        return;
    }
    let slow = SlowMount::new(0.4, 16);
    let place = slow.folder.to_str().expect("text").to_string();
    let from = format!("if={}", slow.file("file").display());
    let _load = started("dd", &[&from, "of=/dev/null", "bs=4k", "iflag=direct", "status=none"]);
    let watched = Watched::of("slow");
    for report in [&watched.live, &watched.kept(&["--json"])] {
        let whole: Value = serde_json::from_str(report).expect("JSON");
        let all = whole["findings"].as_array().expect("findings").iter();
        let sentence = |one: &Value| one["sentence"].as_str().expect("text").to_string();
        let remote = all.filter(|one| one["verdict"] == "layer.remote").map(sentence);
        let own: Vec<String> = remote.filter(|sentence| sentence.contains(&place)).collect();
        let [one] = &own[..] else { panic!("{report}") };
        // 0.4 s a request, on a busy machine a little more.
        let ms = one.split(" take ").nth(1).and_then(|rest| rest.split(' ').next());
        let ms: f64 = ms.and_then(|ms| ms.parse().ok()).expect("a time in ms");
        assert!((390.0..800.0).contains(&ms), "{one}");
    }
}

#[test]
fn a_mount_that_hangs_is_named_and_a_busy_one_or_an_idle_one_is_not() {
    if !can_run(&["python3", "dd", "unshare"]) {
        return;
    }
    // They end after their mounts: a call on one that hangs cannot be killed.
    let (waits, _load);
    let (mut hangs, busy) = (SlowMount::new(0.02, 16), SlowMount::new(0.02, 16));
    let _idle = SlowMount::new(0.02, 16);
    let place = hangs.folder.to_str().expect("text").to_string();
    let from = |path: std::path::PathBuf| format!("if={}", path.display());
    let direct = ["of=/dev/null", "bs=4k", "iflag=direct", "status=none"];
    let (hang, asks) = (from(hangs.file("hang")), from(busy.file("file")));
    waits = started("dd", &[&[hang.as_str()][..], &direct].concat());
    // A request of it waits at nearly every moment, and none for long.
    _load = started("dd", &[&[asks.as_str()][..], &direct].concat());
    std::thread::sleep(std::time::Duration::from_millis(300));
    let watched = Watched::of("hangs");
    let screen = watched.kept(&[]);
    assert!(screen.contains("layer.remote"), "{screen}");
    if screen.lines().next().is_some_and(|headline| headline.contains("layer.remote")) {
        assert!(screen.contains("BEHIND THE HOST IS TO BLAME"), "{screen}");
    }
    for report in [&watched.live, &watched.kept(&["--json"])] {
        // What another test does to a disk meanwhile may be worse, and is on the screen then.
        let found = remote(report);
        let [(sentence, requests)] = &found[..] else { panic!("{report}") };
        assert!(sentence.contains(&format!("the FUSE server of {place} does not")), "{sentence}");
        assert!(sentence.contains(&format!("dd ({})", waits.0.id())), "{sentence}");
        assert_eq!(*requests, 1.0);
    }
    // Once it answers, nothing is said of any of them, though one is as busy as before.
    hangs.release();
    rig::until(60, "the call returns", || {
        std::fs::metadata(format!("/proc/{}/fd/1", waits.0.id())).is_err().then_some(())
    });
    let after = remote(&printed(watching(&["why", "--for", "6s", "--json"])));
    assert_eq!(after, []);
}
