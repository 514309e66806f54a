//! `iowhy probe` as a program: its text is read back, and nothing stays behind however it ends.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use iowhy_model::{Op, Recording};
use serde_json::Value;

use crate::folder::Folder;

impl Folder {
    fn is_empty(&self) -> bool {
        std::fs::read_dir(&self.0).unwrap().next().is_none()
    }
}

fn start(folder: &Folder, kind: &str, words: &[&str]) -> Child {
    // Whatever a shell starts with `&` ignores SIGINT until it listens for it: not so the probe, or
    // it would miss one here.
    Command::new("env")
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_iowhy"), "probe", kind])
        .arg(&folder.0)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("iowhy")
}

fn probe(folder: &Folder, kind: &str, words: &[&str]) -> (Output, String) {
    let output = start(folder, kind, words).wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

#[test]
fn the_write_tests_text_is_read_back_without_contradiction() {
    let folder = Folder::new("read-back");
    let words = ["--count", "40", "--size", "4k", "--size", "16k", "--span", "1m"];
    let (output, text) = probe(&folder, "write-latency", &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(reported.contains("writes 1 MiB to fill a new file"), "{reported}");
    let mut recording = Recording::new();
    iowhy_read::scan("text", &mut text.as_bytes(), None, &mut recording).unwrap();
    let tests: Vec<_> =
        recording.listings.iter().filter(|known| known.source.format == "write-test").collect();
    let known: Vec<_> = tests.iter().flat_map(|known| &known.distributions).collect();
    assert_eq!(known.len(), 2, "{text}");
    for (distribution, bytes) in known.iter().zip([4096, 16_384]) {
        assert_eq!(distribution.bytes, Some(bytes));
        assert_eq!(distribution.op, Some(Op::Write));
        assert_eq!(distribution.histogram.count(), 40);
        assert!(distribution.histogram.sum_ns.is_some(), "its mean is of the same calls");
    }
    let notes: Vec<_> = tests.iter().flat_map(|known| &known.source.notes).collect();
    // `mb/s` are the tester's own megabits, which the reader explains; nothing else is odd.
    assert!(notes.iter().all(|note| note.reason.contains("are megabits")), "{notes:?}");
    assert!(folder.is_empty());
}

#[test]
fn its_json_holds_numbers_events_and_a_report() {
    let folder = Folder::new("json");
    let words = ["--count", "30", "--span", "1m", "--json"];
    let (_, text) = probe(&folder, "write-latency", &words);
    let object: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(object["schema"], "iowhy.probe/1");
    assert_eq!(object["engine"]["ios"], 30);
    assert_eq!(object["tables"][0]["rows"][0][1], 30.0);
    assert!(object["report"].is_object(), "{text}");
    // A quantile that 30 writes cannot carry is null.
    assert!(object["tables"][0]["rows"][0][6].is_null(), "{text}");
}

#[test]
fn what_it_keeps_every_other_command_reads_and_nothing_is_written_over() {
    let (folder, kept) = (Folder::new("keep"), Folder::new("kept"));
    let file = kept.0.join("probe.iowhy").display().to_string();
    let words = ["--count", "200", "--span", "1m", "--keep", &file];
    let (output, _) = probe(&folder, "write-latency", &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let iowhy = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_iowhy")).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let events = iowhy(&["convert", &file, "-", "--to", "json"]);
    assert_eq!(events.lines().filter(|line| line.contains("\"write\"")).count(), 200);
    assert!(iowhy(&["hist", &file]).contains("200 I/Os"), "{}", iowhy(&["hist", &file]));
    let (output, text) = probe(&folder, "write-latency", &words);
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.is_empty() && reported.contains("exists; not overwritten"), "{reported}");
    // A probe that is refused leaves none.
    std::fs::remove_file(&file).unwrap();
    let (output, _) = probe(&folder, "surface", &["--keep", &file]);
    assert!(!output.status.success() && kept.is_empty());
}

#[test]
fn an_interrupt_at_any_moment_keeps_the_result_and_leaves_no_file() {
    let folder = Folder::new("interrupt");
    for moment in 0..8u64 {
        let words = ["--count", "1000000", "--span", "8m", "--cap", "8g", "--json"];
        let child = start(&folder, "write-latency", &words);
        std::thread::sleep(Duration::from_millis(40 + moment * moment * 30));
        let id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // Before it listens, the signal ends it; while it fills the file, there is no result.
        if !text.is_empty() {
            let object: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(object["ended_early"], "interrupted by the user", "{text}");
            assert_eq!(output.status.code(), Some(1));
            // A step without an I/O has no row.
            let rows = object["tables"][0]["rows"].as_array().unwrap();
            let n: f64 = rows.iter().map(|row| row[1].as_f64().unwrap()).sum();
            assert_eq!(Some(n), object["engine"]["ios"].as_f64(), "{text}");
        }
        assert!(folder.is_empty(), "a file stayed after {moment}");
    }
}

#[test]
fn killed_it_leaves_no_file() {
    let folder = Folder::new("killed");
    for moment in [30, 150, 600] {
        let words = ["--count", "1000000", "--span", "8m", "--cap", "8g"];
        let mut child = start(&folder, "write-latency", &words);
        std::thread::sleep(Duration::from_millis(moment));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(folder.is_empty(), "a file stayed after {moment} ms");
    }
}

/// Runs a shell command; what it printed, or `None` if it failed.
fn shell(command: &str) -> Option<String> {
    let output = Command::new("sh").args(["-c", command]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// A loop device whose readers in a control group get 200 reads per second.
struct CappedDevice {
    device: String,
    group: String,
    file: PathBuf,
}

impl CappedDevice {
    fn new(folder: &Folder) -> Option<CappedDevice> {
        let file = folder.0.join("disk");
        std::fs::write(&file, vec![7u8; 16 << 20]).unwrap();
        let group = format!("/sys/fs/cgroup/blkio/iowhy-probe-{}", std::process::id());
        let device = shell(&format!("losetup -f --show {}", file.display()))?;
        let capped = CappedDevice { device, group, file };
        let name = capped.device.trim_start_matches("/dev/");
        let file = format!("{}/blkio.throttle.read_iops_device", capped.group);
        shell(&format!(
            "mkdir {} && echo $(cat /sys/block/{name}/dev) 200 > {file}",
            capped.group
        ))?;
        Some(capped)
    }

    fn run(&self, command: &str) -> Option<String> {
        shell(&format!("echo $$ > {}/cgroup.procs; exec {command}", self.group))
    }
}

impl Drop for CappedDevice {
    fn drop(&mut self) {
        shell(&format!("losetup -d {}; rmdir {}", self.device, self.group));
        let _ = std::fs::remove_file(&self.file);
    }
}

#[test]
fn a_cap_is_named_and_whoever_keeps_a_schedule_sees_his_latency_grow() {
    let folder = Folder::new("capped");
    let Some(capped) = CappedDevice::new(&folder) else {
        println!("skipped: a cap: needs root, `losetup` and the blkio control group");
        return;
    };
    let iowhy = env!("CARGO_BIN_EXE_iowhy");
    let asked = format!(
        "{iowhy} probe read-latency {} --rate 400 --size 4k --order random --for 5s --json || true",
        capped.device
    );
    let asked = format!("sh -c '{asked}'");
    let object: Value = serde_json::from_str(&capped.run(&asked).unwrap()).unwrap();
    let row = &object["tables"][0]["rows"][0];
    let of = |column: usize| row[column].as_f64();
    let (rate, max, unserved) = (of(4).unwrap(), of(9).unwrap(), of(11).unwrap());
    println!(
        "asked 400 per second of a cap of 200: {rate} done, {max} ms at most, {unserved} left"
    );
    let fio = format!(
        "fio --name=cap --filename={} --ioengine=io_uring --iodepth=256 --rw=randread --bs=4k \
         --direct=1 --readonly --time_based --runtime=5 --rate_iops=400 --rate_process=poisson \
         --output-format=json",
        capped.device
    );
    if let Some(text) = capped.run(&fio) {
        let object: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        let read = &object["jobs"][0]["read"];
        println!("fio beside it: {} per second, clat {}", read["iops"], read["clat_ns"]["max"]);
    }
    assert!((190.0..=215.0).contains(&rate), "{object:#}");
    // 2000 were due in 5 s and 1000 served: at the end a read starts 2.5 s late, 256 in flight.
    assert!(max > 2000.0 && unserved > 400.0, "{row:?}");
    // The verdict is the cap, with the file that contains the limit, and the device is cleared.
    let verdict = &object["report"]["findings"][0];
    assert_eq!(verdict["verdict"], "cap.cgroup", "{verdict:#}");
    let cited = verdict["evidence"].to_string();
    assert!(cited.contains("blkio.throttle.read_iops_device"), "{cited}");
    assert!(cited.contains("latency of the device itself, mean"), "{cited}");
    println!("verdict: {}", verdict["sentence"]);
    let kept = folder.0.join("ramp.iowhy");
    let ramp = format!(
        "{iowhy} probe ramp {} --for 500ms --depth 8 --share --json --keep {}",
        capped.device,
        kept.display()
    );
    let object: Value = serde_json::from_str(&capped.run(&ramp).unwrap()).unwrap();
    let answer = object["answer"].to_string();
    assert!(answer.contains("a control group limits it: riops=200"), "{answer}");
    let verdict = &object["report"]["findings"][0];
    assert_eq!(verdict["verdict"], "cap.cgroup", "{verdict:#}");
    // What the probe knew is in the capture: whoever judges it later shows the same.
    let later = Command::new(iowhy).args(["why", "--json"]).arg(&kept).output().unwrap();
    let later: Value = serde_json::from_slice(&later.stdout).unwrap();
    let later = &later["findings"][0];
    assert_eq!(later["verdict"], "cap.cgroup", "{later:#}");
    assert_eq!(later["sentence"], verdict["sentence"]);
}

#[test]
fn what_cannot_be_is_refused_with_a_hint() {
    let folder = Folder::new("refused");
    for (kind, words, why) in [
        ("write-latensy", &[][..], "unknown kind of probe"),
        ("ramp", &[], "neither a block device nor a regular file"),
        ("write-latency", &["--size", "100"], "not a multiple"),
        ("write-latency", &["--span", "1000g"], "1 % of the file system"),
        ("write-latency", &["--span", "1m", "--size", "2m"], "do not fit"),
    ] {
        let (output, _) = probe(&folder, kind, words);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{reported}");
        assert!(reported.contains(why) && reported.contains("\nhint: "), "{reported}");
    }
    assert!(folder.is_empty());
}

#[test]
fn a_rate_is_only_named_if_its_confirmation_held() {
    let folder = Folder::new("slo");
    let file = folder.0.join("file");
    std::fs::write(&file, vec![7u8; 4 << 20]).unwrap();
    for goal in ["50ms", "1us"] {
        let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .args(["probe", "slo", "--share", "--json", "--for", "300ms", "--goal", goal])
            .arg(&file)
            .output()
            .unwrap();
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        let answer = object["answer"][0].as_str().unwrap();
        let rows = object["tables"][0]["rows"].as_array().unwrap();
        let last = rows.last().unwrap();
        let held = last[0] == "confirm" && last[9] == "yes";
        assert_eq!(answer.contains("confirmed by a separate run"), held, "{answer} {rows:?}");
        if held {
            assert!(last[6].as_f64().unwrap() <= 50.0, "{last:?}");
        } else {
            assert!(answer.starts_with("no rate was confirmed"), "{answer}");
        }
        // No read takes less than a microsecond.
        assert!(goal == "50ms" || !held, "{answer}");
    }
}
