//! The tracer and the judge on Debian's kernels, in small machines of virtual time.
//!
//! A fast look at the oldest and the newest kernel is part of every test run, where packages and
//! qemu are here already; `IOWHY_KERNELS=0` leaves it out. All kernels and all cases need some
//! minutes, a mirror of Debian and root, so they run only with `IOWHY_KERNELS=1`.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What the fast look at any kernel comes to; `UPDATE_GOLDEN=1` accepts what it comes to now.
const GOLDEN: &str = "tests/kernels/fast.golden";

fn asked() -> String {
    std::env::var("IOWHY_KERNELS").unwrap_or_default()
}

/// Runs `rig kernels` and fails as it fails.
fn kernels(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_rig")).arg("kernels").args(arguments).output();
    let output = output.expect("rig starts");
    let reported = String::from_utf8_lossy(&output.stderr);
    println!("{}{reported}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{reported}");
}

/// The counts, who was accused of what, and the waits in whole milliseconds: all that another build
/// of our programs, whose instructions are time in there, leaves alone. Of the counts that is what
/// was measured and lost together: since 7.0 a program of a tracepoint can be preempted, and is
/// then not run for the others that come by. The losses are few, and that is asserted.
fn in_short(found: &str) -> String {
    let mut out = String::new();
    for line in found.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let word = |key: &str| line[key].as_str().unwrap_or_default().to_string();
        let ms = |key: &str| line[key].as_f64().map_or("-".into(), |ms| format!("{ms:.0} ms"));
        let case = word("case");
        if let Some(op) = line["op"].as_str() {
            let (load, mode) = (word("load"), word("mode"));
            let n = ["measured", "lost", "kernel"].map(|key| line[key].as_u64().unwrap());
            let [measured, lost, kernel] = n;
            assert!(lost * 50 <= kernel, "{case}, {load}, {mode}: {lost} of {kernel} lost");
            let known = measured + lost;
            let _ = writeln!(out, "{case}, {load}, {mode}: {known} {op} of {kernel}");
        } else if let Some(verdict) = line["verdict"].as_str() {
            let (waits, disk, of) = (ms("waited_ms"), ms("p50_ms"), word("accused"));
            let _ = writeln!(out, "{case}: {verdict} {of}, waits {waits}, disk {disk}");
        }
    }
    out
}

fn held_against_golden(folder: &Path) {
    let files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty(), "no kernel was booted");
    for file in files {
        let now = in_short(&std::fs::read_to_string(&file).unwrap());
        if std::env::var("UPDATE_GOLDEN").is_ok() {
            std::fs::write(GOLDEN, &now).unwrap();
        }
        let golden = std::fs::read_to_string(GOLDEN).unwrap();
        assert_eq!(now, golden, "{}: `UPDATE_GOLDEN=1` accepts it", file.display());
    }
}

#[test]
fn old_and_new_kernels_are_traced_and_a_delay_above_a_disk_is_not_blamed_on_it() {
    let cached = std::env::home_dir()
        .and_then(|home| std::fs::read_dir(home.join(".cache/iowhy/kernels/roots")).ok())
        .is_some_and(|mut roots| {
            roots
                .any(|root| root.is_ok_and(|it| it.file_name().to_string_lossy().contains("linux")))
        });
    let qemu = Path::new("/usr/bin/qemu-system-x86_64").exists();
    if asked() == "0" || asked() == "1" {
        println!("skipped: a quick look at another kernel is not asked for (IOWHY_KERNELS)");
    } else if !cached || !qemu {
        println!("skipped: another kernel needs qemu and a package: `rig kernels` fetches both");
    } else {
        let folder = std::env::temp_dir().join(format!("iowhy-kernels-{}", std::process::id()));
        kernels(&["--fast", "--keep", &folder.display().to_string(), "5.10", "newest"]);
        held_against_golden(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn counted_and_lost_are_what_each_kernel_counts_and_verdicts_hold() {
    if asked() == "1" {
        kernels(&[]);
        kernels(&["--drives", "newest"]);
    } else {
        println!("skipped: all kernels need IOWHY_KERNELS=1, a Debian mirror and some minutes");
    }
}
