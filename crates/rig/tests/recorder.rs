//! The flight recorder against disks with a known fault, and against being killed. Needs root,
//! /dev/fuse and /dev/loop-control.

#![expect(clippy::expect_used, clippy::print_stderr, reason = "a test may")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use iowhy_rig::day::records;
use iowhy_rig::faulty_disk::missing;

/// One at a time: two disks would wait for each other's processor. `None` where it cannot be.
fn alone(test: &str) -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    if let Some(missing) = missing() {
        eprintln!("skipped: {test} needs {missing}");
        return None;
    }
    Some(ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A store that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("recorder-{name}-{}", std::process::id());
        Folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn iowhy() -> Command {
    Command::new(iowhy_rig::programs::iowhy().expect("`cargo build -p iowhy` before"))
}

fn recorder(store: &Folder, more: &[&str]) -> Child {
    let mut command = iowhy();
    command.args(["watch", "--store"]).arg(&store.0).args(["--per-hour", "100"]).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// Waits until the recorder has written something.
fn until_it_records(store: &Folder) {
    let begun = Instant::now();
    while !records(&store.0) {
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing is recorded");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn reported(store: &Folder, words: &[&str]) -> (String, i32) {
    let output = iowhy().args(words).arg("--store").arg(&store.0).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    (text + &message, output.status.code().unwrap_or(-1))
}

/// A faulty disk and reads from it for so many seconds, until both are gone: its name, and when it
/// was read, in seconds since 1970.
fn disk(store: &Folder, model: &str, fault: &str, seconds: u32) -> (String, u64) {
    let name = store.0.with_extension("disk");
    let device = read_when(&name, &store.0, model, fault, seconds);
    let _ = std::fs::remove_file(&name);
    // It took a while until the disk was there, and hardly any until it was gone.
    (device, now_s() - u64::from(seconds) / 2 - 1)
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_secs()
}

/// The same from when `go` exists on; the disk's name stands in a file as soon as there is one.
fn read_when(name: &Path, go: &Path, model: &str, fault: &str, seconds: u32) -> String {
    let load = format!(
        "echo {{dev}} >{0}.new; mv {0}.new {0}; while ! [ -e {1} ]; do sleep 0.1; done; \
         timeout {seconds} dd if={{dev}} of=/dev/null bs=128k iflag=direct status=none; true",
        name.display(),
        go.display()
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_rig"));
    command.args(["disk", "--model", model, "--fault", fault, "--run", &load]);
    let output = command.output().expect("rig starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    named(name).expect("the load began")
}

/// `loop700` of a file that names `/dev/loop700`.
fn named(file: &Path) -> Option<String> {
    let name = std::fs::read_to_string(file).ok()?;
    Some(name.trim().trim_start_matches("/dev/").to_string())
}

/// Other tests have their disks beside this one, which the recorder sees as well: only this test's
/// own disks are checked.
#[test]
fn incidents_of_sick_disks_are_found_and_asked_for_later() {
    let Some(_alone) = alone("incidents_of_sick_disks_are_found_and_asked_for_later") else {
        return;
    };
    let store = Folder::new("incidents");
    let mut watch = recorder(&store, &["--judge", "8s"]);
    until_it_records(&store);
    // Disks that came after the recorder began are traced as well.
    let (slow, slow_at) = disk(&store, "rotational", "retry=0.35", 22);
    let (stalling, _) = disk(&store, "rotational", "stall=4s/1300ms", 14);
    let (message, status) = reported(&store, &["mark", "the test's own"]);
    assert_eq!(status, 0, "{message}");
    std::thread::sleep(Duration::from_secs(12));
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&watch),
        rustix::process::Signal::TERM,
    )
    .expect("it can be told to end");
    let ended = watch.wait().expect("it ends");
    assert!(ended.code().is_some_and(|code| code < 2), "{ended:?}");

    let (text, _) = reported(&store, &["incidents", "--json"]);
    println!("{slow} {stalling}\n{}", reported(&store, &["incidents"]).0);
    let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = all["incidents"].as_array().expect("a list");
    let alarms = || rows.iter().flat_map(|row| row["alarms"].as_array().into_iter().flatten());
    let of_the_stall = |alarm: &serde_json::Value| {
        alarm["device"] == stalling.as_str()
            && matches!(alarm["trigger"].as_str(), Some("latency" | "stall"))
    };
    assert!(alarms().any(of_the_stall), "{text}");
    assert!(alarms().any(|alarm| alarm["seen"] == "the test's own"), "{text}");
    let (its, _) = reported(&store, &["incidents", "--json", "--device", &stalling]);
    assert!(its.contains(&stalling), "{its}");

    // The same words on the store as on any capture.
    let at = format!("@{slow_at}");
    let (why, status) = reported(&store, &["why", "--json", "--at", &at, "--device", &slow]);
    assert!(status < 2, "{why}");
    let why: serde_json::Value = serde_json::from_str(why.split("\niowhy: ").next().unwrap_or(""))
        .unwrap_or_else(|error| unreachable!("{error}: {why}"));
    // Which disease it is takes a longer watch than these seconds on a busy machine: the live
    // scenarios ask for that. Here it must be one of a disk's.
    let of_a_disk = |finding: &serde_json::Value| {
        let verdict = finding["verdict"].as_str();
        verdict.is_some_and(|verdict| verdict.starts_with("device."))
            && finding["confidence"].as_f64() >= Some(0.6)
    };
    let findings = why["findings"].as_array().expect("findings");
    assert!(findings.iter().any(of_a_disk), "{why}");
    for words in [&["stat", "--since", "-10m"][..], &["hist"], &["map"]] {
        let (text, status) = reported(&store, words);
        assert!(status < 2 && text.contains("loop"), "{words:?}: {text}");
    }
    let (text, status) = reported(&store, &["why", "--at", "2001-01-01 03:12"]);
    assert_eq!(status, 2);
    assert!(text.contains("contains no I/O at that time"), "{text}");
}

/// Planted for 46 s: one incident of 46 s, announced while it lasts, the same at every moment of
/// it. Another disk that is faulty for the first half of them has its own.
#[test]
fn an_incident_lasts_as_long_as_its_fault_and_is_found_at_any_moment_of_it() {
    let Some(_alone) =
        alone("an_incident_lasts_as_long_as_its_fault_and_is_found_at_any_moment_of_it")
    else {
        return;
    };
    let store = Folder::new("extent");
    let [of_other, of_it, go] = ["other", "its", "go"].map(|what| store.0.with_extension(what));
    // Disks that others make meanwhile are not its own: it records these two alone.
    let (mut watch, announced, other, device, gone_s) = std::thread::scope(|scope| {
        let other = scope.spawn(|| read_when(&of_other, &go, "rotational", "stall=3s/1300ms", 23));
        let its = scope.spawn(|| read_when(&of_it, &go, "rotational", "retry=0.35", 46));
        let begun = Instant::now();
        let names = loop {
            if let (Some(other), Some(its)) = (named(&of_other), named(&of_it)) {
                break [other, its];
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no disk is there");
            std::thread::sleep(Duration::from_millis(50));
        };
        let [other_name, its_name] = &names;
        let words = [
            "--judge", "10s", "--psi", "100", "--json", "--device", other_name, "--device",
            its_name,
        ];
        let mut watch = recorder(&store, &words);
        let lines = BufReader::new(watch.stdout.take().expect("its stdout")).lines();
        let announced = std::thread::spawn(|| {
            lines.map_while(Result::ok).map(|line| (now_s(), line)).collect::<Vec<_>>()
        });
        // Until it records; of these disks there is nothing yet.
        std::thread::sleep(Duration::from_secs(3));
        std::fs::write(&go, "").expect("the load may begin");
        let other = other.join().expect("the other disk");
        (watch, announced, other, its.join().expect("its disk"), now_s())
    });
    for file in [of_other, of_it, go] {
        let _ = std::fs::remove_file(file);
    }
    std::thread::sleep(Duration::from_secs(35));
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&watch),
        rustix::process::Signal::TERM,
    )
    .expect("it can be told to end");
    watch.wait().expect("it ends");
    let announced = announced.join().expect("its lines");
    let name = format!("\"{device}\"");
    let in_time = |(at, line): &(u64, String)| *at < gone_s && line.contains(&name);
    assert!(announced.iter().any(in_time), "gone at {gone_s}: {announced:#?}");
    let (text, _) = reported(&store, &["incidents", "--json"]);
    println!("{device} beside {other}\n{}", reported(&store, &["incidents"]).0);
    let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    // Whatever else this machine does may be an incident of another device, or of a later one that
    // was given the name of this: it began when this one was gone.
    let rows = all["incidents"].as_array().expect("a list").iter();
    let gone_ns = gone_s as i64 * 1_000_000_000;
    let rows: Vec<_> = rows.filter(|row| row["began_ns"].as_i64() < Some(gone_ns)).collect();
    // How sure the judge is of a stall depends on what else the machine does; a request of more
    // than a second is found on any device, whatever is known of it.
    let finds = |row: &&serde_json::Value| {
        let alarms = row["alarms"].as_array().into_iter().flatten();
        row["device"] == other.as_str() || alarms.clone().any(|one| one["device"] == other.as_str())
    };
    assert!(rows.iter().any(finds), "{other}: {text}");
    // Of disks that it was not asked about it shows nothing.
    let others = rows.iter().flat_map(|row| row["others"].as_array().into_iter().flatten());
    let strangers: Vec<&serde_json::Value> = others
        .map(|one| &one["device"])
        .filter(|name| **name != *other && **name != *device)
        .collect();
    assert!(strangers.is_empty(), "{strangers:?}");
    // The other one may be noticed first and this one be the worse of the two; so may a later disk
    // of the other's name, which is another incident.
    let rows: Vec<_> = rows.iter().filter(|row| row["device"] == device.as_str()).collect();
    let is_noticed = |row: &&&&serde_json::Value| row["alarms"][0]["device"] == device.as_str();
    let own: Vec<_> = rows.iter().filter(is_noticed).collect();
    assert!(own.len() < 2, "{} rows: {text}", own.len());
    let Some(row) = own.first().copied().or(rows.first()) else { unreachable!("none: {text}") };
    let ns = |key: &str| row[key].as_i64().unwrap_or(0);
    let length_s = row["length_s"].as_f64().unwrap_or(0.0);
    assert!((41.0..=51.0).contains(&length_s), "{length_s} s of 46");
    assert!((ns("until_ns") - ns("began_ns")) as f64 / 1e9 - length_s < 0.1, "{row}");
    assert_eq!((&row["over"], &row["who"]), (&true.into(), &"dd".into()), "{row}");
    for share in [1, 5, 9] {
        let at = ns("began_ns") + (ns("until_ns") - ns("began_ns")) / 10 * share;
        let at = format!("@{}", at / 1_000_000_000);
        let (why, status) = reported(&store, &["why", "--json", "--at", &at, "--device", &device]);
        assert!(status < 2, "{why}");
        let why: serde_json::Value =
            serde_json::from_str(why.split("\niowhy: ").next().unwrap_or(""))
                .unwrap_or_else(|error| unreachable!("{error}: {why}"));
        let of_it = |finding: &&serde_json::Value| finding["device"] == device.as_str();
        let first = why["findings"].as_array().and_then(|all| all.iter().find(of_it));
        assert_eq!(first.map(|first| &first["verdict"]), Some(&row["verdict"]), "at {at}");
    }
    // A report of the time has it, and no more than it.
    let page = store.0.with_extension("html");
    let page = page.to_str().expect("a name");
    let (message, status) = reported(&store, &["report", "--since", "-5m", "-o", page, "--force"]);
    assert!(status < 2, "{message}");
    let written = std::fs::read_to_string(page).unwrap_or_default();
    let _ = std::fs::remove_file(page);
    assert!(written.contains("id=\"incidents\"") && written.contains(&device), "no timeline");
}

/// Ten times; 200 with `IOWHY_KILLS=200`.
#[test]
fn a_recorder_that_is_killed_loses_a_second_and_its_store_can_be_read() {
    // It makes no disk that others would wait for.
    if let Some(missing) = missing() {
        eprintln!("skipped: a recorder that is killed needs {missing}");
        return;
    }
    let kills: u64 = std::env::var("IOWHY_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let store = Folder::new("kills");
    let file = Folder::new("load");
    // Something to record, on whatever disk this is.
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut state = 7u64;
    std::thread::scope(|scope| {
        let _ended = SetOnDrop(&stop);
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let Ok(mut out) = std::fs::File::create(&file.0) else { break };
                let written = out.write_all(&[1; 8192]).and_then(|()| out.sync_all());
                assert!(written.is_ok(), "{written:?}");
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        for _ in 0..kills {
            let mut watch = recorder(&store, &[]);
            let already = newest(&store);
            let begun = Instant::now();
            while newest(&store) == already {
                assert!(begun.elapsed() < Duration::from_secs(30), "nothing is recorded");
                std::thread::sleep(Duration::from_millis(20));
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let after = Duration::from_millis((state >> 33) % 2500);
            let begun = Instant::now();
            let mut delays = vec![(SystemTime::now(), run_delay(watch.id()))];
            let mut at_disk = Duration::ZERO;
            while begun.elapsed() < after {
                let turn = Instant::now();
                std::thread::sleep(Duration::from_millis(20).min(after));
                if waits_for_disk(watch.id()) {
                    at_disk += turn.elapsed();
                }
                delays.push((SystemTime::now(), at_disk + run_delay(watch.id())));
            }
            // Nothing is recorded from here on; until it is gone, the kernel takes its programs and
            // maps away.
            let killed = SystemTime::now();
            watch.kill().expect("SIGKILL");
            watch.wait().expect("it is gone");
            let last = newest(&store).and_then(|path| path.metadata().ok()?.modified().ok());
            // What was being written then is later.
            let lost = last.map(|last| killed.duration_since(last).unwrap_or_default());
            // A second, half a second to write it, and what the recorder waited meanwhile for its
            // disk and its processor.
            let before = |at: &SystemTime| last.is_none_or(|last| *at <= last);
            let known = delays.iter().rev().find(|(at, _)| before(at)).or(delays.first());
            let end = delays.last().map_or(Duration::ZERO, |(_, delay)| *delay);
            let waited = known.map_or(Duration::ZERO, |(_, delay)| end.saturating_sub(*delay));
            let bound = Duration::from_millis(1500) + waited;
            assert!(lost.is_some_and(|lost| lost < bound), "{lost:?}, at most {bound:?}");
        }
    });
    let _ = std::fs::remove_file(&file.0);
    let (text, status) = reported(&store, &["hist", "--json"]);
    assert!(status < 2, "{text}");
    assert!(!text.contains("damaged"), "{text}");
    let segments = std::fs::read_dir(store.0.join("segments")).expect("a folder").count() as u64;
    assert_eq!(segments, kills);
}

/// Whether a thread of a process sleeps where nothing wakes it but what it waits for, as in a sync
/// (proc_pid_stat(5), `D`).
fn waits_for_disk(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let state = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("stat")).ok()?;
        text.rsplit(')').next()?.trim_start().chars().next()
    };
    tasks.filter_map(state).any(|state| state == 'D')
}

/// How long the threads of a process have waited for a processor
/// (Documentation/scheduler/sched-stats.rst).
fn run_delay(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let delays = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    Duration::from_nanos(delays.sum())
}

/// Set when it goes, also by an assertion that fails: a scope waits for its threads.
struct SetOnDrop<'a>(&'a std::sync::atomic::AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// The segment that was written last.
fn newest(store: &Folder) -> Option<PathBuf> {
    let names = std::fs::read_dir(store.0.join("segments")).into_iter().flatten().flatten();
    let filled = names.filter(|name| name.metadata().is_ok_and(|about| about.len() > 0));
    filled.map(|name| name.path()).max()
}
