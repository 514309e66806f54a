//! A disk beside its own history: learned from one capture, used on the next.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::folder::Folder;

fn iowhy(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// biosnoop of random reads of about this many ms.
fn capture(folder: &Path, name: &str, ms: f64) {
    let mut text = String::from("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n");
    let mut at = 0.0;
    for k in 0..200u32 {
        let took = ms * (0.8 + 0.4 * f64::from(k * 7919 % 101) / 101.0);
        at += (took + 2.0) / 1000.0;
        let sector = k * 7907 % 9973 * 6400;
        text += &format!("{at:.6} db 7 sda R {sector} 4096 {took:.3}\n");
    }
    std::fs::write(folder.join(name), text).unwrap();
}

fn first(output: &Output) -> String {
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    report["findings"][0]["verdict"].as_str().unwrap().to_string()
}

#[test]
fn what_was_healthy_on_monday_is_the_baseline_on_tuesday() {
    let folder = Folder::new("baseline");
    let at = &folder.0;
    capture(at, "monday.txt", 5.0);
    capture(at, "tuesday.txt", 24.0);
    let learned = iowhy(at, &["why", "--json", "--learn", "sda.base", "monday.txt"]);
    assert!(
        String::from_utf8_lossy(&learned.stderr).contains("1 kind of requests added"),
        "{learned:?}"
    );
    let by_class = iowhy(at, &["why", "--json", "tuesday.txt"]);
    let by_history = iowhy(at, &["why", "--json", "--baseline", "sda.base", "tuesday.txt"]);
    println!("by class {}, by history {}", first(&by_class), first(&by_history));
    assert_ne!(first(&by_class), "device.slow");
    assert_eq!(first(&by_history), "device.slow");
    assert!(String::from_utf8_lossy(&by_history.stdout).contains("monday.txt"));
    // It still learns nothing of a disk that stands accused.
    let words = ["why", "--json", "--baseline", "sda.base", "--learn", "sda.base", "tuesday.txt"];
    let refused = iowhy(at, &words);
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("nothing learned for sda"),
        "{refused:?}"
    );
    let kept = std::fs::read_to_string(at.join("sda.base")).unwrap();
    assert_eq!(kept.lines().filter(|line| !line.starts_with('#')).count(), 1, "{kept}");
}

#[test]
fn a_baseline_that_is_none_is_refused() {
    let folder = Folder::new("no-baseline");
    let at = &folder.0;
    capture(at, "monday.txt", 5.0);
    for file in ["monday.txt", "nosuch"] {
        let output = iowhy(at, &["why", "--baseline", file, "monday.txt"]);
        assert_eq!(output.status.code(), Some(2));
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(
            reported.starts_with("iowhy: cannot use") && reported.contains("hint:"),
            "{reported}"
        );
    }
}
