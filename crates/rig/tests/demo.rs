//! The demonstrations show what they should, and leave nothing behind, also when they are killed.
//! Needs root, /dev/fuse, /dev/loop-control and a built `iowhy`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use iowhy_rig::faulty_disk::missing;
use iowhy_rig::programs::iowhy;

/// What is lacking for it, reported at 0.6 or more.
fn able(test: &str) -> bool {
    let lacking = missing().or(iowhy().err().map(|error| error.to_string()));
    if let Some(lacking) = &lacking {
        println!("skipped: {test} needs {lacking}");
    }
    lacking.is_none()
}

fn folder(test: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()))
}

#[test]
fn the_dusty_disk_is_told_from_its_load_and_the_pictures_are_kept() {
    if !able("the_dusty_disk_is_told_from_its_load_and_the_pictures_are_kept") {
        return;
    }
    let folder = folder("demo");
    let output = Command::new(env!("CARGO_BIN_EXE_rig"))
        .args(["demo", "--seconds", "6", "--out"])
        .arg(&folder)
        .output()
        .expect("rig starts");
    let reported = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{reported}{}", String::from_utf8_lossy(&output.stderr));
    assert!(reported.contains("device.retry"), "{reported}");
    assert!(reported.contains("spindle speed"), "{reported}");
    assert!(reported.contains("It spins at 7200 rpm"), "{reported}");
    for name in ["map.svg", "map.png", "capture.json", "truth.csv"] {
        let length = std::fs::metadata(folder.join("dusty").join(name)).map_or(0, |it| it.len());
        assert!(length > 1000, "{name}: {length} bytes");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_interrupted_demo_leaves_no_disk_and_no_process_behind() {
    if !able("an_interrupted_demo_leaves_no_disk_and_no_process_behind") {
        return;
    }
    for signal in ["-INT", "-KILL"] {
        let folder = folder("demo-killed");
        let mut demo = Command::new(env!("CARGO_BIN_EXE_rig"))
            .args(["demo", "--seconds", "60", "--out"])
            .arg(&folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("rig starts");
        let begun = Instant::now();
        while marked_by(demo.id()).is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no watcher, no reader was started");
            std::thread::sleep(Duration::from_millis(100));
        }
        // The others come a moment later.
        std::thread::sleep(Duration::from_secs(2));
        let marked = marked_by(demo.id());
        let kill = Command::new("kill").args([signal, &demo.id().to_string()]).status();
        assert!(kill.unwrap().success());
        demo.wait().unwrap();
        let since = Instant::now();
        let alive =
            || marked.iter().any(|process| Path::new(&format!("/proc/{process}/exe")).exists());
        while alive() && since.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(!alive(), "after {signal}: {marked:?}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// All children of a process that still run.
fn marked_by(parent: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    children.unwrap_or_default().split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}
