//! The whole program on this machine's block devices, beside the kernel's counters and iostat.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::rig::{self, Loop, can_run, until_attached};
use crate::top::Terminal;

/// Starts a program with its output kept.
fn start(program: &str, words: &[&str]) -> Child {
    Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect(program)
}

fn iowhy(words: &[&str]) -> Child {
    start(env!("CARGO_BIN_EXE_iowhy"), words)
}

/// Its exit status and what it printed.
fn ended(child: Child) -> (i32, String) {
    let output = child.wait_with_output().expect("its end");
    let message = String::from_utf8_lossy(&output.stderr);
    let status = output.status.code().unwrap_or_else(|| panic!("ended by a signal: {message}"));
    (status, String::from_utf8(output.stdout).expect("UTF-8"))
}

/// What it printed, once it has ended with that status.
fn output(child: Child, status: i32) -> String {
    let (got, text) = ended(child);
    assert_eq!(got, status, "{text}");
    text
}

/// Tells it that the watch is over.
fn stop(child: &Child) {
    rig::run("kill", &["-INT", &child.id().to_string()]);
}

/// Reads of 4 KiB, this many at each of the depths 1 and 32.
fn load(disk: &Loop, at_1: u32, at_32: u32) {
    for (depth, count) in [(1, at_1), (32, at_32)] {
        let (depth, count) = (format!("--iodepth={depth}"), format!("--number_ios={count}"));
        let how = ["--ioengine=io_uring", "--rw=randread", "--size=64m", "--io_size=64g"];
        disk.fio(&[&how[..], &[&depth, &count]].concat());
    }
    disk.settle();
}

/// A device written full, so that reads of it are reads of its file.
fn filled(disk: Loop) -> Loop {
    disk.fio(&["--rw=write", "--bs=1m", "--size=64m"]);
    disk.settle();
    disk
}

/// For a test that loads the machine: no other of them runs.
fn loaded() -> Loop {
    filled(Loop::new(64, None))
}

/// For a test whose load is paced, or that only watches.
fn paced() -> Loop {
    filled(Loop::beside_others(64))
}

#[test]
fn hist_counts_what_the_kernel_counts() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = loaded();
    let (counts, lost, kernel) = reads_of_hist(&disk, "exact");
    assert_eq!(counts + lost, kernel);
    // Which completions are hidden from all probes, one probe does not know.
    let (counts, lost, kernel) = reads_of_hist(&disk, "kernel");
    assert!(
        lost == 0 && counts <= kernel && kernel - counts < kernel / 100,
        "{counts} of {kernel}"
    );
    let message = refused(&["hist", "--clock", "kernel", "--by", "process", "1", "1"]);
    assert!(message.contains("omit `--clock kernel`"), "{message}");
}

/// Reads that `hist` counted and lost, and the kernel's count of them.
fn reads_of_hist(disk: &Loop, clock: &str) -> (u64, u64, u64) {
    let before = disk.counters();
    let watching = iowhy(&["hist", "--clock", clock, "--json", "--device", &disk.name, "300", "1"]);
    until_attached(&watching);
    load(disk, 3_000, 20_000);
    let kernel = disk.counters()[0] - before[0];
    stop(&watching);
    let (status, text) = ended(watching);
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let total = report["histograms"]
        .as_array()
        .unwrap()
        .iter()
        .find(|h| h["op"] == "read" && h["stage"] == "Q2C" && h["device"] == disk.name.as_str())
        .expect("reads");
    let counts: u64 = total["counts"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
    let lost = total["lost"].as_u64().unwrap();
    // This kernel now and then hides a completion from all probes: said, and the status shows it.
    assert_eq!(status, i32::from(lost > 0), "{lost} lost");
    assert!(total["sum_ns"].as_f64().unwrap() > 0.0);
    assert!(total["min_ns"].as_u64().unwrap() <= total["max_ns"].as_u64().unwrap());
    (counts, lost, kernel)
}

#[test]
fn snoop_keeps_every_event_and_why_reads_it_back() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = loaded();
    // This kernel now and then hides completions from all probes, and with them once in a while a
    // whole request, which nobody can count then: such a run is made again.
    for left in (0..5).rev() {
        let (inputs, kernel) = snooped(&disk);
        let sum = |key: &str| inputs.iter().map(|input| input[key].as_u64().unwrap()).sum::<u64>();
        // Records hold one source line's facts at most besides the events.
        assert_eq!(sum("skipped"), 0);
        assert!(inputs.iter().all(|input| input["level"] == "D"), "{inputs:?}");
        let (events, lost) = (sum("records") - facts(&inputs), sum("lost"));
        if events + lost == kernel {
            return;
        }
        assert!(lost > 0 && left > 0, "{events} and {lost} lost, not {kernel}: {inputs:?}");
    }
}

/// What `why` reports of the inputs that `snoop` wrote beside a load, and the reads that the kernel
/// counted.
fn snooped(disk: &Loop) -> (Vec<Value>, u64) {
    let before = disk.counters();
    let file = std::env::temp_dir().join(format!("iowhy-snoop-{}", std::process::id()));
    let watching = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["snoop", "--json", "--device", &disk.name, "--for", "5m"])
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&file).unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_attached(&watching);
    load(disk, 2_000, 10_000);
    let kernel = disk.counters()[0] - before[0];
    stop(&watching);
    let ended = watching.wait_with_output().unwrap();
    let why =
        output(iowhy(&["why", "--json", file.to_str().unwrap()]), ended.status.code().unwrap());
    std::fs::remove_file(&file).unwrap();
    let report: Value = serde_json::from_str(&why).expect("JSON");
    (report["inputs"].as_array().unwrap().clone(), kernel)
}

/// The capture format keeps its origin as one fact per listing.
fn facts(inputs: &[Value]) -> u64 {
    inputs.len() as u64
}

#[test]
fn stat_prints_what_iostat_prints() {
    if !can_run(&["fio", "iostat"]) {
        return;
    }
    let disk = loaded();
    // The load has to lie wholly within both intervals, so that both saw the same I/Os.
    let both = |seconds: u64| {
        let length = seconds.to_string();
        let begun = Instant::now();
        let iostat = start("iostat", &["-x", "-y", "-o", "JSON", &disk.path, &length, "1"]);
        let ours = iowhy(&["stat", "--sampled", "--json", "--device", &disk.name, &length, "1"]);
        std::thread::sleep(Duration::from_millis(700));
        let mixed = ["--rw=randrw", "--size=64m", "--io_size=64g", "--ioengine=io_uring"];
        let how = ["--iodepth=8", "--number_ios=40000", "--fsync=512"];
        disk.fio(&[&mixed[..], &how[..]].concat());
        disk.settle();
        let within = begun.elapsed() + Duration::from_millis(500) < Duration::from_secs(seconds);
        let texts = (output(iostat, 0), output(ours, 0));
        within.then_some((texts.0, texts.1, seconds))
    };
    let reported = [8, 16, 32, 64].into_iter().find_map(both);
    let (theirs, text, asked_s) = reported.expect("a load that ends within a minute");
    let theirs: Value = serde_json::from_str(&theirs).expect("iostat's JSON");
    let theirs = &theirs["sysstat"]["hosts"][0]["statistics"][0]["disk"][0];
    let ours = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a JSON line"))
        .find(|line| line["schema"] == "iowhy.stat/1" && line["device"] == disk.name.as_str())
        .expect("a row");
    // iostat's own interval, in the hundredths of a second that /proc/uptime has, is not printed.
    let seconds = ours["length_ns"].as_f64().unwrap() / 1e9;
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    for (op, letter) in [("read", "r"), ("write", "w"), ("flush", "f")] {
        let rates = &ours["ops"][op];
        let wait = number(&rates["await_ns"]) / 1e6;
        let theirs_wait = number(&theirs[format!("{letter}_await")]);
        println!("{letter}_await {wait:.4} ms, iostat {theirs_wait:.2} ms");
        assert!((wait - theirs_wait).abs() <= 0.0051, "{letter}_await {wait} {theirs_wait}");
        let ios = number(&rates["ios_per_s"]) * seconds;
        let theirs_ios = number(&theirs[format!("{letter}/s")]) * asked_s as f64;
        println!("{letter} {ios:.0} I/Os, iostat {theirs_ios:.1}");
        // Their rate is rounded to a hundredth and divided by an interval up to 0.02 s longer.
        assert!(
            (ios - theirs_ios).abs() <= ios * 0.003 + 0.00625 * asked_s as f64,
            "{letter}/s {ios} {theirs_ios}"
        );
        if op != "flush" && ios > 0.0 {
            let size = number(&rates["bytes_per_s"]) / number(&rates["ios_per_s"]) / 1024.0;
            let theirs_size = number(&theirs[format!("{letter}areq-sz")]);
            assert!((size - theirs_size).abs() <= 0.0051, "{letter}areq-sz {size} {theirs_size}");
        }
    }
}

#[test]
fn a_disk_that_goes_away_ends_nothing_but_its_own_rows() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = loaded();
    let name = disk.name.clone();
    let watching = iowhy(&["why", "--json", "--for", "5m", "--device", &name]);
    until_attached(&watching);
    load(&disk, 500, 500);
    disk.detach();
    stop(&watching);
    let ended = watching.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&ended.stderr);
    assert!(message.contains(&format!("`{name}` disappeared while being watched")), "{message}");
    let report: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    let status = ended.status.code().unwrap();
    let inputs = report["inputs"].as_array().unwrap();
    let sum = |key: &str| inputs.iter().map(|input| input[key].as_u64().unwrap()).sum::<u64>();
    assert!(sum("records") + sum("lost") >= 1000, "{inputs:?}");
    assert_eq!(status, i32::from(sum("lost") + sum("skipped") > 0), "{inputs:?}");
}

/// What a shell prints in namespaces of its own, with the program and the device as `$1` and `$2`.
fn in_namespaces(namespaces: &[&str], disk: &Loop, script: &str) -> String {
    let program = env!("CARGO_BIN_EXE_iowhy");
    let words = [namespaces, &["sh", "-c", script, "sh", program, &disk.name]].concat();
    output(start("unshare", &words), 0)
}

#[test]
fn a_process_has_the_number_of_its_own_namespace() {
    if !can_run(&["fio", "unshare"]) {
        return;
    }
    let script = "fio --thread --name=x --filename=/dev/$2 --readonly --rw=randread --bs=4k --direct=1 --time_based \\
                      --runtime=60 --rate_iops=500 >/dev/null &
                  echo $!
                  $1 snoop -d $2 --pid $! --for 3s
                  kill $!";
    let printed = in_namespaces(&["--pid", "--fork", "--mount-proc"], &paced(), script);
    let mut lines = printed.lines();
    let pid = lines.next().expect("the number of fio");
    let events = lines.filter(|row| row.starts_with(|c: char| c.is_ascii_digit()));
    let rows: Vec<&str> = events.filter_map(|row| row.split_whitespace().nth(2)).collect();
    assert!(rows.len() > 10 && rows.iter().all(|of| *of == pid), "{printed}");
}

/// What a command that fails says.
fn refused(words: &[&str]) -> String {
    let ended = iowhy(words).wait_with_output().expect("its end");
    let message = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(2), "{words:?}: {message}");
    message
}

#[test]
fn a_device_is_known_by_its_file_and_its_mount_point() {
    if !can_run(&["fio", "mkfs.ext4", "mount"]) {
        return;
    }
    let disk = paced();
    let file = std::fs::read_to_string(format!("/sys/block/{}/loop/backing_file", disk.name));
    let file = file.expect("its file").trim().to_string();
    let point = format!("{file}-mounted");
    rig::run("mkfs.ext4", &["-q", &disk.path]);
    std::fs::create_dir(&point).expect("a folder in /tmp");
    rig::run("mount", &[&disk.path, &point]);
    let rows = |words: &[&str]| -> Vec<Value> {
        let printed = output(iowhy(words), 0);
        let lines = printed.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        lines.filter(|row: &Value| row["schema"] == "iowhy.stat/1").collect()
    };
    let capture = format!("{file}.iowhy");
    output(iowhy(&["record", "-o", &capture, "--for", "1500ms", "-d", &point]), 0);
    let nearly = refused(&["stat", "-d", &format!("{point}x"), "0.1", "1"]);
    let below = refused(&["stat", "-d", &format!("{point}/missing"), "0.1", "1"]);
    // A file below the mount point, also.
    let inside =
        rows(&["stat", "--sampled", "--json", "-d", &format!("{point}/lost+found"), "0.2", "1"]);
    assert!(!inside.is_empty() && inside.iter().all(|row| row["device"] == disk.name.as_str()));
    for (given, text, hint) in [
        ("UUID=f00d-1234", "no device has the UUID `f00d-1234`", "`blkid -t UUID=f00d-1234`"),
        ("LABEL=nowhere", "no device has the LABEL `nowhere`", "`blkid -t LABEL=nowhere`"),
        (
            "00000000-1111-2222-3333-444444444444",
            "no device has the UUID `00000000-1111-2222-3333-444444444444`",
            "`blkid -t UUID=00000000-",
        ),
        ("/proc/self/status", "`/proc/self/status` is on no block device", "`findmnt -T /proc"),
    ] {
        let message = refused(&["stat", "-d", given, "0.1", "1"]);
        assert!(message.contains(text) && message.contains(hint), "{message}");
    }
    for given in [file.as_str(), point.as_str(), disk.path.as_str()] {
        let live = rows(&["stat", "--sampled", "--json", "-d", given, "0.2", "1"]);
        let read = rows(&["stat", "--json", "-d", given, &capture]);
        for rows in [live, read] {
            assert!(!rows.is_empty(), "{given}");
            for row in rows {
                assert_eq!(row["device"], disk.name.as_str(), "{given}: {row}");
                assert_eq!(row["names"]["backing_file"], file.as_str(), "{given}: {row}");
                assert_eq!(row["names"]["mounts"][0], point.as_str(), "{given}: {row}");
            }
        }
    }
    rig::run("umount", &[&point]);
    std::fs::remove_dir(&point).expect("nobody needs it");
    std::fs::remove_file(&capture).expect("nobody needs it");
    for message in [nearly, below] {
        assert!(message.contains("no device or mount point `"), "{message}");
        assert!(message.contains(&format!("did you mean `{point}`?")), "{message}");
    }
}

#[test]
fn a_partition_is_traced_by_its_sectors() {
    if !can_run(&["fio", "addpart"]) {
        return;
    }
    let disk = paced();
    for (number, start, sectors) in [("1", "2048", "32768"), ("2", "34816", "65536")] {
        rig::run("addpart", &[&disk.path, number, start, sectors]);
    }
    let part = |number: u32| format!("{}p{number}", disk.name);
    let watching =
        [1, 2].map(|number| iowhy(&["snoop", "--json", "--for", "5m", "-d", &part(number)]));
    watching.iter().for_each(until_attached);
    // Of the first 1 MiB, of the first partition, and of the second.
    for (from, ios) in [("0", "7"), ("1m", "200"), ("17m", "300")] {
        let (from, ios) = (format!("--offset={from}"), format!("--number_ios={ios}"));
        disk.fio(&["--rw=randread", "--bs=4k", "--size=1m", "--io_size=64g", &from, &ios]);
    }
    disk.settle();
    for (child, ios) in watching.into_iter().zip([200, 300]) {
        stop(&child);
        let (status, printed) = ended(child);
        let lines = printed.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let all: Vec<Value> = lines.collect();
        let lost: u64 = all.iter().filter_map(|line| line["lost"].as_u64()).sum();
        let seen = all.iter().filter(|line| line["schema"] == "iowhy.event/1").count() as u64;
        assert!(status < 2 && seen <= ios && seen + lost >= ios, "{seen} and {lost} of {ios}");
    }
    // Nothing happens in it: an answer, as for a whole disk, also while others use the disk.
    let judged = |words: &[&str]| {
        let ended = iowhy(words).wait_with_output().expect("its end");
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        String::from_utf8_lossy(&ended.stdout).into_owned()
    };
    let idle = format!("IDLE: no I/O in 500 ms\n  watched     {} of {}", part(1), disk.name);
    let screen = judged(&["why", "--for", "500ms", "-d", &part(1)]);
    assert!(screen.starts_with(&idle) && !screen.contains("elsewhere"), "{screen}");
    let script = "sleep 0.3; dd if=$0 of=/dev/null bs=4k count=9 iflag=direct";
    let words = ["why", "-d", &part(1), "--", "sh", "-c", script, &disk.path];
    let screen = judged(&words);
    assert!(screen.starts_with("IDLE: no I/O while the command ran"), "{screen}");
    assert!(screen.contains("elsewhere   9 I/Os on the same disk"), "{screen}");
    let message = iowhy(&["stat", "-d", &part(2), "0.1", "1"]).wait_with_output().expect("its end");
    let message = String::from_utf8_lossy(&message.stderr).into_owned();
    assert!(
        message.contains(&format!("`{}` is a partition of `{}`", part(2), disk.name)),
        "{message}"
    );
}

#[test]
fn a_disk_without_a_number_in_sys_has_its_name() {
    if !can_run(&["fio", "unshare"]) {
        return;
    }
    // As the paths of NVMe multipath are: a folder of /sys/block that has no file `dev`.
    let script = "all=$(ls -d /sys/devices/virtual/block/*)
                  mount -t tmpfs none /sys/dev/block && mount -t tmpfs none /sys/block
                  for of in $all; do
                      name=$(basename $of)
                      [ $name = $2 ] && continue
                      ln -s $of /sys/block/$name && ln -s $of /sys/dev/block/$(cat $of/dev)
                  done
                  mkdir /sys/block/$2
                  for file in /sys/devices/virtual/block/$2/*; do
                      [ $(basename $file) = dev ] || ln -s $file /sys/block/$2/
                  done
                  fio --name=x --filename=/dev/$2 --readonly --rw=randread --bs=4k --direct=1 --time_based --runtime=60 \\
                      --rate_iops=500 >/dev/null &
                  $1 snoop --for 2s
                  kill $!";
    let disk = paced();
    let printed = in_namespaces(&["--mount"], &disk, script);
    let disks = || printed.lines().skip(1).filter_map(|row| row.split_whitespace().nth(3));
    let named = disks().filter(|name| *name == disk.name).count();
    assert!(named > 10 && !disks().any(|name| name.contains(',')), "{printed}");
}

#[test]
fn without_the_right_to_trace_counters_are_sampled_and_the_gap_is_named() {
    if !can_run(&["fio"]) {
        return;
    }
    // The binary is copied to where everybody may run it.
    let binary = std::env::temp_dir().join(format!("iowhy-unprivileged-{}", std::process::id()));
    rig::copy_program(env!("CARGO_BIN_EXE_iowhy"), &binary);
    // What is not seen stands on the screen of a verdict, so a device is busy.
    let disk = paced();
    let load = disk.under_load(&["--rw=randread", "--rate_iops=500"]);
    let shown = Command::new(&binary)
        .args(["why", "--width", "100", "--for", "2s", "--device", &disk.name])
        .stdin(Stdio::null())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    drop(load);
    let screen = String::from_utf8_lossy(&shown.stdout);
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("dirty throttling (`CAP_BPF` is missing)"), "{screen}");
    let ended = Command::new(&binary)
        .args(["why", "--json", "--for", "2s"])
        .stdin(Stdio::null())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    // Counters hold no latencies: where only these are asked for, they are no answer.
    let refused = Command::new(&binary)
        .args(["hist", "1", "1"])
        .stdin(Stdio::null())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    std::fs::remove_file(&binary).unwrap();
    let why = String::from_utf8_lossy(&refused.stderr);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{why}");
    assert!(why.contains("cannot trace") && why.contains("hint: "), "{why}");
    let message = String::from_utf8_lossy(&ended.stderr);
    assert!(message.contains("sampling /proc/diskstats instead"), "{message}");
    assert!(message.contains("hint: "), "{message}");
    let report: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    let formats: Vec<&Value> =
        report["inputs"].as_array().unwrap().iter().map(|input| &input["format"]).collect();
    assert!(formats.iter().any(|format| *format == "diskstats"), "{formats:?}");
    assert!(!formats.iter().any(|format| *format == "block-trace"), "{formats:?}");
    assert_eq!(ended.status.code(), Some(0), "{message}");
}

#[test]
fn an_idle_disk_is_reported_and_the_next_command_can_be_pasted() {
    if !can_run(&[]) {
        return;
    }
    let disk = Loop::beside_others(64);
    disk.settle();
    let ended = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["why", "--for", "500ms", "--device", &disk.name])
        .env("IOWHY_CALLED_AS", "./run")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(0), "{text}");
    assert!(
        text.starts_with(&format!("IDLE: no I/O in 500 ms\n  watched     {}", disk.name)),
        "{text}"
    );
    assert!(text.contains("`./run why --example dusty-disk`"), "{text}");
    // On a terminal a verdict follows, of a bundled capture.
    let command = format!("why --for 500ms --device {}", disk.name);
    if let Some(terminal) = Terminal::run("idle", (100, 40), &command) {
        let screen = terminal.wait_for("end 0");
        assert!(screen.starts_with("IDLE: no I/O in 500 ms"), "{screen}");
        assert!(screen.contains("THE DISK IS TO BLAME") && screen.contains("  next  "), "{screen}");
    }
    // Nor is there a verdict on three I/Os.
    let ended = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["why", "--device", &disk.name, "--", "dd", "of=/dev/null", "count=3"])
        .args([&format!("if={}", disk.path), "iflag=direct", "bs=4k"])
        .env("IOWHY_CALLED_AS", "./run")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ended.stdout);
    // On a busy machine its CPUs are to blame.
    let said = text.contains("almost idle 3 I/Os: `./run` while it is slow");
    assert!(said || text.contains("layer.cpu"), "{text}");
}

#[test]
fn a_command_is_watched_from_its_start_to_its_end() {
    if !can_run(&[]) {
        return;
    }
    let disk = Loop::beside_others(64);
    disk.settle();
    let iowhy = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
        command.args(words).args(["--device", &disk.name, "--", "dd", "of=/dev/null"]);
        command.args([&format!("if={}", disk.path), "iflag=direct", "bs=64k", "count=200"]);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let judged = iowhy(&["why", "--json"]);
    let report: Value = serde_json::from_slice(&judged.stdout).expect("JSON alone");
    let trace = report["inputs"].as_array().unwrap().iter();
    let seen: Vec<_> = trace.filter(|input| input["format"] == "block-trace").collect();
    assert!(seen[0]["records"].as_u64() >= Some(200), "{seen:?}");
    assert!(String::from_utf8_lossy(&judged.stderr).contains("200+0 records out"));
    let file = std::env::temp_dir().join(format!("iowhy-command-{}.iowhy", std::process::id()));
    let recorded = iowhy(&["record", "--json", "-o", file.to_str().unwrap()]);
    let summary: Value = serde_json::from_slice(&recorded.stdout).expect("JSON alone");
    std::fs::remove_file(&file).unwrap();
    assert!(summary["events"].as_u64() >= Some(200), "{summary}");
}

#[test]
fn the_status_of_a_watched_command_is_passed_on() {
    if !can_run(&[]) {
        return;
    }
    let disk = Loop::beside_others(8);
    let file = std::env::temp_dir().join(format!("iowhy-status-{}.iowhy", std::process::id()));
    let path = file.to_str().unwrap();
    let status = |words: &[&str]| {
        let ended = iowhy(words).wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&ended.stderr).into_owned();
        (ended.status.code().unwrap_or(-1), message)
    };
    for (script, expected) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)] {
        for first in [&["record", "--force", "-o", path][..], &["why"], &["why", "--json"]] {
            let words = [first, &["-d", &disk.name, "--", "sh", "-c", script]].concat();
            let (status, message) = status(&words);
            assert_eq!(status, expected, "{words:?} {message}");
        }
    }
    std::fs::remove_file(&file).unwrap();
    // The time is over before the command is: its status is not known.
    let words = ["why", "-d", &disk.name, "--for", "300ms", "--", "sh", "-c", "sleep 1; exit 7"];
    assert_eq!(status(&words).0, 0);
    let words = ["record", "-o", "/nowhere/file", "--", "true"];
    assert_eq!(status(&words).0, 2, "iowhy itself failed");
}

#[test]
fn a_program_that_waits_in_fsync_is_named_instead_of_the_journals_thread() {
    if !can_run(&["mkfs.ext4", "mount"]) {
        return;
    }
    let disk = Loop::beside_others(64);
    rig::run("mkfs.ext4", &["-q", &disk.path]);
    let point = std::env::temp_dir().join(format!("iowhy-fsync-{}", std::process::id()));
    std::fs::create_dir(&point).unwrap();
    let place = point.to_str().unwrap();
    rig::run("mount", &[&disk.path, place]);
    let script = format!(
        "for k in $(seq 200); do dd if=/dev/zero of={place}/f$k bs=16k count=4 conv=fsync; done"
    );
    let words = ["why", "--json", "-d", &disk.name, "--", "sh", "-c", &script];
    let ended = iowhy(&words).wait_with_output().unwrap();
    rig::run("umount", &[place]);
    std::fs::remove_dir(&point).unwrap();
    let report: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    let first = &report["findings"][0];
    let all = first["requesters"].as_array().unwrap();
    assert_eq!(all[0]["program"], "dd", "{first}");
    let share = |who: &str| -> f64 {
        let of =
            all.iter().filter(|one| one["program"].as_str().is_some_and(|p| p.starts_with(who)));
        of.filter_map(|one| one["share"].as_f64()).sum()
    };
    println!("{} {}", first["verdict"], first["requesters"]);
    let by_journal = |one: &&Value| one["journal"].as_str().is_some_and(|t| t.starts_with("jbd2/"));
    assert!(all.iter().any(|one| by_journal(&one)), "{first}");
    assert!(share("dd") > 4.0 * share("jbd2/"), "{first}");
}

#[test]
fn who_asked_for_a_flush_is_named() {
    if !can_run(&[]) {
        return;
    }
    let disk = Loop::beside_others(64);
    disk.settle();
    let script = format!(
        "sleep 1; dd if=/dev/zero of={} bs=4k count=20 oflag=direct,dsync conv=notrunc,fsync",
        disk.path
    );
    let file = std::env::temp_dir().join(format!("iowhy-flush-{}.iowhy", std::process::id()));
    let path = file.to_str().unwrap();
    let words = ["record", "-o", path, "--device", &disk.name, "--", "sh", "-c", &script];
    assert_eq!(iowhy(&words).wait_with_output().unwrap().status.code(), Some(0));
    let shown = iowhy(&["snoop", "--op", "flush", path]).wait_with_output().unwrap();
    std::fs::remove_file(&file).unwrap();
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let flushes: Vec<&str> = text.lines().filter(|line| line.contains(" F ")).collect();
    assert!(!flushes.is_empty(), "{text}");
    assert!(flushes.iter().all(|line| line.contains(" dd ")), "{text}");
}

/// Starts iowhy where tracefs is mounted, for it alone.
fn with_tracefs(words: &[&str]) -> Child {
    let script = "mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs \
                  /sys/kernel/tracing; exec \"$0\" \"$@\"";
    let first = ["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_iowhy")];
    start("unshare", &[&first[..], words].concat())
}

#[test]
fn the_kernels_event_text_will_do_where_ebpf_is_refused() {
    if !can_run(&["fio", "unshare"]) {
        return;
    }
    let disk = loaded();
    let before = disk.counters();
    let watching =
        with_tracefs(&["hist", "--ftrace", "--json", "--device", &disk.name, "300", "1"]);
    until_attached(&watching);
    load(&disk, 2_000, 8_000);
    let kernel = disk.counters()[0] - before[0];
    stop(&watching);
    let (status, text) = ended(watching);
    assert!(status < 2, "{text}");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let reads =
        report["histograms"].as_array().unwrap().iter().find(|h| {
            h["op"] == "read" && h["stage"] == "D2C" && h["device"] == disk.name.as_str()
        });
    let count = reads.expect("reads")["count"].as_u64().unwrap();
    println!("{count} of {kernel} by event text");
    // Requests are found again by their sector, so two at one place at once may be one.
    assert!(count <= kernel && count * 100 >= kernel * 99, "{count} of {kernel}");
}

/// Whether the trace instance of that process is there, seen from a name space of its own.
fn has_instance(pid: u32) -> bool {
    let script = "mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs \
                  /sys/kernel/tracing; ls /sys/kernel/tracing/instances";
    let names = rig::run("unshare", &["--mount", "sh", "-c", script]);
    names.lines().any(|name| name == format!("iowhy-{pid}"))
}

/// Waits until the instance is there, or is gone.
fn comes_to(pid: u32, there: bool) {
    for _ in 0..100 {
        if has_instance(pid) == there {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the instance of {pid}: there should be {}", if there { "one" } else { "none" });
}

#[test]
fn no_trace_instance_stays_however_the_watch_ends() {
    if !can_run(&["unshare"]) {
        return;
    }
    let disk = Loop::beside_others(8);
    let words = ["hist", "--ftrace", "--json", "--device", &disk.name, "60", "1"];
    for signal in ["-INT", "-TERM", "-HUP"] {
        let watching = with_tracefs(&words);
        let pid = watching.id();
        comes_to(pid, true);
        // Ready for the signal a moment after the instance is there.
        std::thread::sleep(Duration::from_millis(500));
        rig::run("kill", &[signal, &pid.to_string()]);
        let (status, text) = ended(watching);
        assert!(status < 2 && text.contains("iowhy.hist"), "{signal}: {status}, {text}");
        assert!(!has_instance(pid), "{signal}");
    }
    // Nobody can clean up after SIGKILL: the next run does.
    let mut killed = with_tracefs(&words);
    comes_to(killed.id(), true);
    rig::run("kill", &["-KILL", &killed.id().to_string()]);
    killed.wait().expect("its end");
    assert!(has_instance(killed.id()), "or the look at instances sees nothing");
    let next = with_tracefs(&["hist", "--ftrace", "--json", "--device", &disk.name, "0.2", "1"]);
    let pid = next.id();
    assert!(ended(next).0 < 2);
    assert!(!has_instance(killed.id()), "of the killed one");
    assert!(!has_instance(pid), "of the one that ended by itself");
}

#[test]
fn every_live_command_says_what_its_tracing_cost() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = paced();
    let how = ["--ioengine=psync", "--rw=randread", "--size=64m", "--rate_iops=2000"];
    let _load = disk.under_load(&how);
    let commands = [
        &["hist", "1", "1"][..],
        &["stat", "1", "1"],
        &["snoop", "--for", "1s"],
        &["map", "--for", "1s"],
        &["why", "--for", "1s"],
    ];
    let runs: Vec<Child> = commands
        .iter()
        .map(|words| iowhy(&[words, &["--overhead", "--device", &disk.name][..]].concat()))
        .collect();
    for (words, run) in commands.iter().zip(runs) {
        let output = run.wait_with_output().expect("its end");
        let message = String::from_utf8_lossy(&output.stderr);
        let line = message.lines().find(|line| line.starts_with("iowhy: overhead: "));
        let line = line.unwrap_or_else(|| panic!("{words:?}: {message}"));
        println!("{}: {line}", words[0]);
        let number = line["iowhy: overhead: ".len()..].split(' ').next();
        let ns: f64 = number.and_then(|n| n.parse().ok()).expect("ns per I/O");
        // Below a clock reading it cannot be, above 20 us nobody would trace.
        assert!((20.0..20_000.0).contains(&ns), "{line}");
    }
}

/// A group of version 1's block controller that goes away with its guard.
struct Group(std::path::PathBuf);

impl Group {
    fn new(name: &str) -> Option<Group> {
        let name = format!("/sys/fs/cgroup/blkio/{name}-{}", std::process::id());
        std::fs::create_dir(&name).ok().map(|()| Group(name.into()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_limit_of_version_1_of_control_groups_is_found_live() {
    if !can_run(&["fio"]) {
        return;
    }
    // So few that a second contains one more or one less than the limit, and names as people choose
    // them.
    for (name, iops, seconds) in [("iowhy-test", 50, "5s"), ("iowhy test 8:0 x", 7, "10s")] {
        let Some(group) = Group::new(name) else {
            println!("skipped: a limit of a group: needs control groups of version 1 with `blkio`");
            return;
        };
        limited_to(&group, iops, seconds);
    }
}

/// Watches a load that a group limits to this many reads a second.
fn limited_to(group: &Group, iops: u32, seconds: &str) {
    let disk = paced();
    let (major, minor) = disk.number;
    let limit = group.0.join("blkio.throttle.read_iops_device");
    std::fs::write(&limit, format!("{major}:{minor} {iops}")).expect("a limit");
    // The load joins the group and then is fio; each read waits 20 ms before any request is made.
    let script = format!(
        "echo $$ > '{}/cgroup.procs'; exec fio --name=x --filename={} --rw=randread --bs=4k \
         --direct=1 --ioengine=psync --size=64m --time_based --runtime=600 --thread",
        group.0.display(),
        disk.path
    );
    let load = disk.worked_on_by(start("sh", &["-c", &script]));
    let (status, text) = ended(iowhy(&["why", "--json", "--device", &disk.name, "--for", seconds]));
    drop(load);
    // Completions that escape the tracer on a busy virtual machine are losses of their own.
    let escaped = text.contains("completion missed by the tracer")
        || text.contains("still in flight when tracing stopped");
    assert!(status == 0 || (status == 1 && escaped), "{status}: {text}");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    // Where processors are short, that may come first.
    let findings = report["findings"].as_array().expect("findings");
    let others = ["layer.cpu", "cap.cgroup"];
    assert!(others.iter().any(|other| findings[0]["verdict"] == *other), "{text}");
    let first = findings.iter().find(|finding| finding["verdict"] == "cap.cgroup");
    let first = first.unwrap_or_else(|| panic!("{text}"));
    // What waits above was not measured: a fast disk below makes it no trifle. The command is the
    // one of this version of control groups.
    assert_ne!(first["severity"], "none", "{first}");
    // Where it is hardly sure, beside a busy machine, a probe comes first.
    let next = first["next_step"].as_array().expect("next steps");
    let limit = limit.display().to_string();
    let named = |step: &Value| step.as_str().is_some_and(|step| step.contains(&limit));
    assert!(next.iter().any(named), "{next:?}");
}

#[test]
fn requests_at_the_edges_of_a_watch_are_no_losses() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = loaded();
    // Large enough that many are in flight although few are issued per second: a reader that gets
    // no processor for a moment must not lose events to a full ring, which would be reported, too.
    let how = ["--rw=randread", "--bs=256k", "--size=64m", "--ioengine=io_uring"];
    for depth in ["--iodepth=1", "--iodepth=32"] {
        let _load = disk.under_load(&[&how[..], &[depth]].concat());
        for words in [&["hist", "1", "1"][..], &["snoop", "--for", "1s"], &["stat", "1", "1"]] {
            let child = iowhy(&[words, &["--json", "--device", &disk.name]].concat());
            let (status, text) = ended(child);
            let start = text.chars().take(2000).collect::<String>();
            // Completions that escape the tracer on a busy virtual machine are losses of their own.
            let escaped = text.contains("completion missed by the tracer")
                || text.contains("still in flight when tracing stopped");
            assert!(status == 0 || escaped, "{depth} {words:?}: {start}");
            assert!(!text.contains("start missed by the tracer"), "{depth} {words:?}: {start}");
        }
    }
}

/// A capture is read back from its folder, and shows who waited.
#[test]
fn a_folder_of_captures_is_judged_and_who_waited_is_named() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = paced();
    let folder = std::env::temp_dir().join(format!("iowhy-rotated-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let capture = folder.join("x.iowhy");
    let words = ["record", "--for", "5m", "--device", &disk.name, "--output"];
    let watching = iowhy(&[&words[..], &[capture.to_str().unwrap()]].concat());
    until_attached(&watching);
    let paced = ["--ioengine=psync", "--rw=randread", "--size=64m", "--rate_iops=800"];
    disk.fio(&[&paced[..], &["--time_based", "--runtime=3"]].concat());
    disk.settle();
    stop(&watching);
    let (recorded, message) = ended(watching);
    assert!(recorded <= 1, "{message}");
    // Disks of other tests that are well would be reported together with this one, and nobody's
    // name with them.
    let words = ["why", "--json", "--device", &disk.name, folder.to_str().unwrap()];
    let (judged, text) = ended(iowhy(&words));
    assert!(judged <= 1, "{text}");
    std::fs::remove_dir_all(&folder).unwrap();
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let inputs = report["inputs"].as_array().expect("inputs");
    assert!(inputs.iter().any(|input| input["records"].as_u64() >= Some(1_000)), "{inputs:#?}");
    let findings = report["findings"].as_array().expect("findings");
    let who: Vec<&Value> =
        findings.iter().flat_map(|finding| finding["requesters"].as_array().unwrap()).collect();
    if who.is_empty() && findings[0]["verdict"] == "layer.cpu" {
        println!("a part is skipped: who waited needs a processor that is not short");
        return;
    }
    let share = |of: &Value| of["share"].as_f64().unwrap();
    assert!(who.iter().any(|of| of["program"] == "fio" && share(of) > 0.9), "{findings:#?}");
}

/// I/Os in one second of three are spread over all three, by process too.
#[test]
fn rates_are_over_the_whole_watch() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = paced();
    let watching = iowhy(&["hist", "--by", "process", "--device", &disk.name, "300", "1"]);
    until_attached(&watching);
    std::thread::sleep(Duration::from_secs(2));
    disk.fio(&["--rw=randread", "--size=64m", "--number_ios=200"]);
    disk.settle();
    std::thread::sleep(Duration::from_secs(1));
    stop(&watching);
    let (_, text) = ended(watching);
    let heading = text.lines().find(|line| line.contains("fio, ")).expect("reads of fio");
    let seconds: f64 = heading
        .rsplit_once(" in ")
        .and_then(|(_, length)| length.strip_suffix(" s")?.parse().ok())
        .unwrap_or_else(|| panic!("{heading}"));
    assert!(seconds >= 3.0, "{heading}");
}

/// Missing rights are reported, and the status shows that nothing was measured.
#[test]
fn without_rights_nothing_is_measured_and_the_status_says_so() {
    if !can_run(&["setpriv"]) {
        return;
    }
    // Others may not look into the folder that it was built in.
    let copy = std::env::temp_dir().join(format!("iowhy-plain-{}", std::process::id()));
    rig::copy_program(env!("CARGO_BIN_EXE_iowhy"), &copy);
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", copy.to_str().unwrap()];
    let tried = start("setpriv", &[&nobody[..], &["hist", "1", "1"]].concat());
    let tried = tried.wait_with_output().unwrap();
    std::fs::remove_file(&copy).unwrap();
    let message = String::from_utf8_lossy(&tried.stderr);
    assert_eq!(tried.status.code(), Some(2), "{message}");
    assert!(message.contains("CAP_BPF") && message.contains("setcap"), "{message}");
}

/// The first verdict of each of ten watches of a device, one after the other; `None`: nothing to
/// judge. Of 300 reads more may be slow by chance than of the 100 of one second (`tail_of_chance`
/// of `diagnose`).
fn ten_verdicts(disk: &Loop) -> Vec<Option<String>> {
    let verdict = |_| {
        let words = ["why", "--json", "--device", &disk.name, "--for", "3s"];
        let (_, text) = ended(iowhy(&words));
        let report: Value = serde_json::from_str(&text).expect("JSON");
        let findings = report["findings"].as_array()?;
        let verdict = findings.first()?["verdict"].as_str()?.to_string();
        if !matches!(verdict.as_str(), "healthy" | "layer.cpu") {
            println!("{findings:#?}");
        }
        Some(verdict)
    };
    (0..10).map(verdict).collect()
}

/// Nobody is accused. Other tests take the processors from the device's worker: `layer.cpu` is then
/// the truth, and slow requests forbid a HEALTHY verdict. How often the answer changes on a machine
/// that does nothing else, `bench/false-positives` counts.
fn accuse_nobody(verdicts: &[Option<String>]) {
    println!("{verdicts:?}");
    const BESIDE_OTHERS: [&str; 2] = ["layer.cpu", "insufficient"];
    let message = verdicts.iter().flatten().map(String::as_str);
    let mut certain = message.filter(|message| !BESIDE_OTHERS.contains(message));
    assert!(certain.all(|message| message == "healthy"), "{verdicts:?}");
}

#[test]
fn an_idle_device_is_accused_in_none_of_ten_watches() {
    if can_run(&["fio"]) {
        accuse_nobody(&ten_verdicts(&paced()));
    }
}

#[test]
fn a_lightly_loaded_device_is_called_nothing_but_healthy_ten_times() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = paced();
    let _load = disk.under_load(&["--rw=randread", "--readonly", "--size=64m", "--rate_iops=100"]);
    let light = ten_verdicts(&disk);
    accuse_nobody(&light);
    assert!(
        light.iter().all(Option::is_some),
        "requests were seen, so there is an answer: {light:?}"
    );
}
