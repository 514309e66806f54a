//! What may happen to a recorder's store and to its clocks: `kill -9`, a full disk, one that hangs,
//! wall clocks that are wrong or set, a suspend. No store becomes unreadable, at most the second
//! that was about to be written is lost, nothing is deleted. All need root and eBPF; `IOWHY_LONG`
//! kills 200 times.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use iowhy_model::{Recording, Stage};
use iowhy_store::{Span, Store};

use crate::rig::{Loop, Running, can_run, until};

/// What the load reads a second.
const RATE: u64 = 200;

/// A folder that goes when the test ends, with what is mounted on it.
struct Folder {
    path: PathBuf,
    mounted: bool,
}

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("iowhy-faults-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder in /tmp");
        Folder { path, mounted: false }
    }

    fn mount(&mut self, words: &[&str]) {
        let done = Command::new("mount").args(words).arg(&self.path).status().expect("mount");
        assert!(done.success());
        self.mounted = true;
    }

    fn freeze(&self) -> Frozen {
        let done = Command::new("fsfreeze").arg("-f").arg(&self.path).status().expect("fsfreeze");
        assert!(done.success());
        Frozen(self.path.clone())
    }
}

/// A file system that accepts no writes. It thaws before the recorder ends that writes to it, also
/// when the test fails: nobody can wait for the end of a process that hangs there.
struct Frozen(PathBuf);

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(&self.0).status();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.mounted {
            let _ = Command::new("umount").arg("-l").arg(&self.path).status();
        }
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A recorder, and what it says.
struct Recorder {
    child: Child,
    message: Arc<Mutex<String>>,
}

impl Recorder {
    fn start(store: &Path, disk: &Loop, more: &[&str]) -> Recorder {
        let mut command = iowhy();
        command.args(["watch", "--per-hour", "100", "--psi", "100", "--device", &disk.name]);
        command.arg("--store").arg(store).args(more);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("iowhy");
        let (message, lines) = (Arc::new(Mutex::new(String::new())), child.stderr.take().unwrap());
        let heard = Arc::clone(&message);
        std::thread::spawn(move || {
            for line in BufReader::new(lines).lines().map_while(Result::ok) {
                let mut heard = heard.lock().unwrap();
                heard.push_str(&line);
                heard.push('\n');
            }
        });
        let recorder = Recorder { child, message };
        recorder.says("recording into");
        recorder
    }

    fn message(&self) -> String {
        self.message.lock().unwrap().clone()
    }

    fn says(&self, what: &str) {
        until(60, &format!("it says `{what}`"), || self.message().contains(what).then_some(()));
    }

    fn port(&self) -> u16 {
        self.says("/metrics");
        let message = self.message();
        let port =
            message.split("http://127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next());
        port.and_then(|port| port.parse().ok()).expect("its port")
    }

    fn end(mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let _ = self.child.wait();
        std::thread::sleep(Duration::from_millis(100));
        self.message()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn iowhy() -> Command {
    Command::new(env!("CARGO_BIN_EXE_iowhy"))
}

fn load(disk: &Loop) -> Running {
    let rate = format!("--rate_iops={RATE}");
    // Two hundred kills take a quarter of an hour.
    disk.under_load(&["--rw=randread", "--ioengine=psync", "--size=16m", "--runtime=3600", &rate])
}

/// The status of an answer, and its body.
fn get(port: u16, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), body.to_string())
}

/// All that a store holds, whole.
fn read(store: &Path) -> Recording {
    let store = Store::open(store).expect("a store");
    let mut recording = Recording::new();
    let (_, damage, _) = store.emit(Span::ALL, &mut recording).expect("it can be read");
    assert!(!damage.any(), "{damage:?}");
    recording
}

/// I/Os that a store counts, as the listing of all of them does.
fn ios(store: &Path) -> u64 {
    let recording = read(store);
    let all = recording.listings.iter().flat_map(|listing| &listing.distributions);
    all.filter(|one| one.stage == Stage::Total).map(|one| one.histogram.count()).sum()
}

/// The names of what was recorded, at any resolution.
fn names(store: &Path) -> BTreeSet<String> {
    let of = |folder: &str| {
        let entries = std::fs::read_dir(store.join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap())
    };
    let stem = |name: String| name.split('.').next().unwrap_or_default().to_string();
    of("segments").map(stem).chain(of("incidents")).collect()
}

/// Reads that the recorder saw and the store lacks, once all that was done is counted.
fn missing(store: &Path, disk: &Loop, before: [u64; 4]) -> i64 {
    disk.settle();
    let done: u64 = disk.counters().iter().zip(before).map(|(now, before)| now - before).sum();
    done as i64 - ios(store) as i64
}

#[test]
fn wrong_clocks_delete_nothing_and_lose_no_second() {
    if !can_run(&["fio"]) {
        return;
    }
    let folder = Folder::new("clocks");
    let (store, shift) = (folder.path.join("store"), folder.path.join("shift"));
    let shifted = |wall_s: i64, slept_s: i64| {
        // In place and of one length: the recorder reads while this writes.
        let file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(&shift);
        file.unwrap().write_all(format!("{wall_s:>20} {slept_s:>20}\n").as_bytes()).unwrap();
    };
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    let more = ["--clock-shifted-by", shift.to_str().unwrap(), "--keep-for", "7d"];
    let disk = Loop::beside_others(16);
    // What a wrong clock shows: 30 days ahead, two hours back, 1970, 2040, 2150, a suspend of an
    // hour.
    let wrong = [
        (30 * 86_400, 0),
        (-7200, 0),
        (100 - now_s, 0),
        (2_208_988_800 - now_s, 0),
        (5_680_281_600 - now_s, 0),
        (3600, 3600),
    ];
    let mut kept = BTreeSet::new();
    let mut all_lost = 0;
    // Set while it records, and wrong from the start: as after a boot.
    let long = std::env::var_os("IOWHY_LONG").is_some();
    for at_start in [false, true] {
        for (wall_s, slept_s) in wrong {
            // The short form begins with two of them: ahead, and in 1970.
            if at_start && !long && wall_s != wrong[0].0 && wall_s != wrong[2].0 {
                continue;
            }
            shifted(if at_start { wall_s } else { 0 }, 0);
            let before = disk.counters();
            let recorded = if store.exists() { ios(&store) } else { 0 };
            let recorder = Recorder::start(&store, &disk, &more);
            let load = load(&disk);
            let mark = iowhy().args(["mark", "x", "--store"]).arg(&store).status().unwrap();
            assert!(mark.success());
            for (wall_s, slept_s) in [(wall_s, slept_s), (0, slept_s)] {
                std::thread::sleep(Duration::from_millis(2000));
                shifted(wall_s, if at_start { 0 } else { slept_s });
            }
            std::thread::sleep(Duration::from_millis(2500));
            drop(load);
            disk.settle();
            std::thread::sleep(Duration::from_millis(1500));
            let message = recorder.end();
            if !at_start && slept_s == 0 {
                assert!(message.contains("the wall clock was set"), "{message}");
            }
            let now = names(&store);
            let gone: Vec<&String> = kept.difference(&now).collect();
            assert!(gone.is_empty(), "{wall_s}: {gone:?}");
            kept = now;
            let lost = missing(&store, &disk, before) + recorded as i64;
            println!(
                "{wall_s:>11} s {slept_s:>4} asleep, from the start {at_start}: {lost} reads lost"
            );
            assert!(lost <= RATE as i64, "{lost} reads are more than a second of them");
            all_lost += lost;
        }
    }
    println!("{all_lost} reads lost of {}, {} files kept", ios(&store), kept.len());
    // What is asked is the same in every time zone.
    let counts = |zone: &str| {
        let (from, to) = (format!("@{}", now_s - 60), format!("@{}", now_s + 600));
        let mut hist = iowhy();
        hist.env("TZ", zone).args(["hist", "--json", "--since", &from, "--until", &to, "--store"]);
        let output = hist.arg(&store).output().expect("iowhy hist");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("nothing was recorded from"), "{message}");
        let reported: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let all = reported["histograms"].as_array().expect("histograms").iter();
        all.filter_map(|one| one["count"].as_u64()).sum::<u64>()
    };
    let counted = ["UTC", "America/St_Johns", "Asia/Kathmandu", "Pacific/Kiritimati"].map(counts);
    assert!(counted[0] > 0 && counted.iter().all(|count| *count == counted[0]), "{counted:?}");
    // No answer of a time that nobody watched.
    for at in [now_s + 2400, now_s - 2400] {
        let mut why = iowhy();
        why.args(["why", "--at", &format!("@{at}"), "--store"]).arg(&store);
        let reported = why.output().expect("iowhy why");
        let message = String::from_utf8_lossy(&reported.stderr).into_owned();
        assert_eq!((reported.status.code(), reported.stdout.len()), (Some(2), 0), "{message}");
        assert!(message.contains("the recorder was not running"), "{message}");
    }
}

#[test]
fn a_full_disk_costs_nothing_until_it_has_room_and_is_reported() {
    if !can_run(&["fio"]) {
        return;
    }
    let mut folder = Folder::new("full");
    folder.mount(&["-t", "tmpfs", "-o", "size=4m", "tmpfs"]);
    let store = folder.path.join("store");
    let disk = Loop::beside_others(16);
    let before = disk.counters();
    let recorder = Recorder::start(&store, &disk, &["--listen", "127.0.0.1:0"]);
    let port = recorder.port();
    let load = load(&disk);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(get(port, "/healthz"), (200, "ok\n".to_string()));
    let incidents = || {
        let reported = iowhy().args(["incidents", "--store"]).arg(&store).output().unwrap();
        String::from_utf8_lossy(&reported.stdout).into_owned()
            + &String::from_utf8_lossy(&reported.stderr)
    };
    assert!(!incidents().contains("full"), "{}", incidents());
    let rest = folder.path.join("rest");
    let mut filled = std::fs::File::create(&rest).unwrap();
    while filled.write_all(&[0; 512]).is_ok() {}
    recorder.says("cannot write to the store");
    // A file that the recorder removes frees a little, and a small one may be written then.
    until(20, "the health page reports it", || {
        while filled.write_all(&[0; 512]).is_ok() {}
        let (status, text) = get(port, "/healthz");
        let failing = get(port, "/metrics").1.contains("\niowhy_store_failing 1\n");
        (status == 503 && text.contains("No space left") && failing).then_some(())
    });
    assert!(incidents().contains("the file system of the store is full"), "{}", incidents());
    std::thread::sleep(Duration::from_secs(5));
    drop(filled);
    std::fs::remove_file(&rest).unwrap();
    recorder.says("the store was not writable for");
    until(20, "it is healthy", || (get(port, "/healthz").0 == 200).then_some(()));
    until(20, "it is listed", || incidents().contains("store not written").then_some(()));
    drop(load);
    disk.settle();
    std::thread::sleep(Duration::from_millis(2500));
    let message = recorder.end();
    assert!(message.contains("; 0 s of data are lost"), "{message}");
    let lost = missing(&store, &disk, before);
    println!("{lost} reads lost beside a full disk");
    assert!(lost <= RATE as i64, "{lost}: {message}");
}

#[test]
fn a_disk_that_hangs_costs_nothing_until_it_goes_on_and_is_reported() {
    if !can_run(&["fio", "mkfs.ext4", "fsfreeze"]) {
        return;
    }
    let mut folder = Folder::new("hang");
    let below = Loop::beside_others(64);
    let made = Command::new("mkfs.ext4").args(["-q", &below.path]).status().expect("mkfs.ext4");
    assert!(made.success());
    folder.mount(&[&below.path]);
    let store = folder.path.join("store");
    let disk = Loop::beside_others(16);
    let before = disk.counters();
    let recorder = Recorder::start(&store, &disk, &["--listen", "127.0.0.1:0"]);
    let port = recorder.port();
    let load = load(&disk);
    std::thread::sleep(Duration::from_secs(3));
    let frozen = folder.freeze();
    recorder.says("its disk does not respond");
    assert_eq!(get(port, "/healthz").0, 503);
    drop(frozen);
    recorder.says("the store was not writable for");
    until(20, "it is healthy", || (get(port, "/healthz").0 == 200).then_some(()));
    drop(load);
    disk.settle();
    std::thread::sleep(Duration::from_millis(2500));
    let message = recorder.end();
    let lost = missing(&store, &disk, before);
    println!("{lost} reads lost beside a disk that hung");
    assert!(lost <= RATE as i64, "{lost}: {message}");
    // Before the device below it goes.
    drop(folder);
}

#[test]
fn a_killed_recorder_loses_at_most_the_last_second() {
    if !can_run(&["fio"]) {
        return;
    }
    let times = if std::env::var_os("IOWHY_LONG").is_some() { 200 } else { 8 };
    let folder = Folder::new("killed");
    let store = folder.path.join("store");
    let disk = Loop::beside_others(16);
    let load = load(&disk);
    let (mut kept, mut taken) = (BTreeSet::new(), 0);
    for turn in 0..times {
        let before = if store.exists() { ios(&store) } else { 0 };
        let mut recorder = Recorder::start(&store, &disk, &["--listen", "127.0.0.1:0"]);
        let port = recorder.port();
        // What the recorder has counted at the end of each of its seconds, however late it comes to
        // them.
        let mut seconds: Vec<u64> = Vec::new();
        // What it said, when it counted its last second, that the disk had taken, bytes.
        let mut written = 0;
        let mut look = || {
            let text = get(port, "/metrics").1;
            let sum = |of: &str| -> u64 {
                let lines = text.lines().filter(|line| line.starts_with(of));
                lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
            };
            let counted = sum("iowhy_ios_total{");
            written = sum("iowhy_store_written_bytes_total ");
            if counted > seconds.last().copied().unwrap_or(0) {
                seconds.push(counted);
            }
            (seconds.len() > 1).then_some(())
        };
        until(60, "two seconds are counted", &mut look);
        // Killed in every part of a second.
        let end = Instant::now() + Duration::from_millis((turn * 337) % 1000);
        while Instant::now() < end {
            look();
            std::thread::sleep(Duration::from_millis(5));
        }
        recorder.child.kill().unwrap();
        recorder.child.wait().unwrap();
        let now = names(&store);
        assert!(kept.is_subset(&now), "{kept:?} {now:?}");
        kept = now;
        let stored = ios(&store) - before;
        // The second that was about to be written.
        let [.., last_but_one, last] = seconds[..] else { panic!("{seconds:?}") };
        println!("turn {turn}: counted {last_but_one}, then {last}; {stored} are stored");
        // A file that is made on a busy disk may take longer than a second: then nothing was
        // written yet, and it said so.
        taken += u64::from(written > 0);
        assert!(
            stored >= last_but_one || written == 0,
            "turn {turn}: {seconds:?}, {stored} are stored, {written} B are said to be"
        );
    }
    assert!(taken * 2 > times, "of {times} recorders {taken} wrote anything within two seconds");
    drop(load);
    let hist = iowhy().args(["hist", "--store"]).arg(&store).output().expect("iowhy hist");
    let message = String::from_utf8_lossy(&hist.stderr).into_owned();
    assert!(matches!(hist.status.code(), Some(0 | 1)) && !message.contains("damaged"), "{message}");
}
