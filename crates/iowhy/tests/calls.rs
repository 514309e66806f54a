//! `iowhy syscalls` and `iowhy uprobe` beside programs whose calls are known to the last one.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::rig::slow_mount::SlowMount;
use crate::rig::{self, Loop, Running, can_run, until_attached};

/// Calls that sleep 2 ms each, calls that report a wait, and a function that calls itself.
const PROGRAM: &str = r#"
#include <stdlib.h>
#include <unistd.h>
#define APART __attribute__((noinline))
APART void nap(void) { usleep(2000); __asm__ volatile(""); }
APART long waited(long us, long event) { __asm__ volatile(""); return us + event; }
APART long deep(long n)
{
	long below = n > 1 ? deep(n - 1) : 0;
	__asm__ volatile("");
	return below + n;
}
int main(void)
{
	for (int k = 0; k < 100; k++) nap();
	for (int k = 0; k < 30; k++) waited(1000 + k, 7 + k % 3);
	for (int k = 0; k < 10; k++) deep(5);
	return 0;
}
"#;

fn iowhy(words: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("iowhy")
}

/// Exit status, stdout, stderr.
fn ended(child: Child) -> (i32, String, String) {
    let output = child.wait_with_output().expect("its end");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// What it shows when it is stopped.
fn object(child: Child) -> Value {
    rig::run("kill", &["-INT", &child.id().to_string()]);
    let (_, text, message) = ended(child);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text} {message}"))
}

/// A name of this run alone, for files and for processes: others may run the same test meanwhile.
fn own(name: &str) -> PathBuf {
    let (stem, ending) = name.split_once('.').map_or((name, ""), |(stem, _)| (stem, ".c"));
    let name = format!("{stem}-{}{ending}", std::process::id());
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn program() -> PathBuf {
    let (source, binary) = (own("calls.c"), own("calls"));
    std::fs::write(&source, PROGRAM).unwrap();
    rig::run("cc", &["-O1", "-o", binary.to_str().unwrap(), source.to_str().unwrap()]);
    binary
}

fn count(call: &Value) -> u64 {
    call["count"].as_u64().unwrap()
}

/// A key of the one row of a process, added up with that of the others: a call is counted there if
/// the kernel had no memory for its own row.
fn sum_of_one(rows: &[&Value], key: &str) -> f64 {
    let own = rows.iter().filter(|row| row["pid"] != 0).count();
    assert!(own <= 1, "{rows:?}");
    sum(rows, key)
}

/// A key of all rows, added up.
fn sum(rows: &[&Value], key: &str) -> f64 {
    assert!(!rows.is_empty());
    rows.iter().map(|row| row[key].as_f64().unwrap()).sum()
}

/// Every key that is written is reported of in the manual of the schemas.
fn is_in_the_manual(value: &Value) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/JSON.md");
    let manual = std::fs::read_to_string(page).unwrap();
    let Some(object) = value.as_object() else { return };
    for (key, value) in object {
        assert!(manual.contains(&format!("`{key}`")), "docs/JSON.md does not tell of `{key}`");
        is_in_the_manual(value);
        value.as_array().into_iter().flatten().for_each(is_in_the_manual);
    }
}

#[test]
fn every_system_call_of_dd_is_counted_and_the_disk_has_its_part() {
    if !can_run(&["dd"]) {
        return;
    }
    let disk = Loop::new(64, None);
    let dd = own("dd");
    rig::copy_program("/bin/dd", &dd);
    let comm = dd.file_name().unwrap().to_str().unwrap();
    let watching = iowhy(&["syscalls", "--comm", comm, "--json", "--for", "5m"]);
    until_attached(&watching);
    let to = format!("of={}", disk.path);
    rig::run(
        dd.to_str().unwrap(),
        &["if=/dev/zero", &to, "bs=4k", "count=300", "oflag=direct", "conv=fsync"],
    );
    let reported = object(watching);
    std::fs::remove_file(&dd).unwrap();
    is_in_the_manual(&reported);
    let calls = reported["calls"].as_array().unwrap();
    let all = |call: &str, file: &str, key: &str| {
        let rows = calls.iter().filter(|one| one["call"] == call && one["file"] == file);
        sum_of_one(&rows.collect::<Vec<_>>(), key)
    };
    assert_eq!(all("write", "block device", "count"), 300.0, "{reported}");
    assert_eq!(all("write", "block device", "bytes"), 300.0 * 4096.0);
    assert_eq!(all("read", "character device", "count"), 300.0, "{reported}");
    assert_eq!(all("fsync", "block device", "count"), 1.0);
    let of_dd = &reported["disk"].as_array().unwrap()[0];
    let lost = reported["disk_lost"].as_u64().unwrap();
    let ios = of_dd["ios"].as_u64().unwrap();
    // Losses are those of the whole machine.
    assert!(ios <= 310 && ios + lost >= 300, "{of_dd}, {lost} lost");
    // Each direct write waits for its own request, and for nothing less than that.
    let wait = all("write", "block device", "sum_ns");
    let device = of_dd["d2c_sum_ns"].as_f64().unwrap();
    println!("dd waited {:.2} ms in write, {:.2} ms of it on the device", wait / 1e6, device / 1e6);
    assert!(device > 0.0 && wait > device * 0.8, "{wait} {device}");
}

#[test]
fn a_slow_file_system_is_named_by_its_mount_point_and_one_that_hangs_as_well() {
    if !can_run(&["python3", "dd"]) {
        return;
    }
    let mount = SlowMount::new(0.02, 16);
    let (file, hang) = (mount.file("file"), mount.file("hang"));
    let place = mount.folder.to_str().unwrap().to_string();
    let watching = iowhy(&["syscalls", "--by", "mount", "--json", "--for", "5m"]);
    let table = iowhy(&["syscalls", "--by", "mount", "--for", "5m"]);
    let plain = iowhy(&["syscalls", "--json", "--for", "5m"]);
    [&watching, &table, &plain].into_iter().for_each(until_attached);
    let dd = |words: &[&str]| drop(rig::run("dd", &[&["bs=4k"][..], words].concat()));
    let path = file.to_str().unwrap();
    dd(&[&format!("if={path}"), "of=/dev/null", "count=100", "iflag=direct"]);
    let to = format!("of={path}");
    dd(&["if=/dev/zero", &to, "count=10", "oflag=direct", "conv=notrunc,fsync"]);
    let mut cat = Command::new("cat");
    let cat = cat.arg(&hang).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("cat");
    let cat = Running(cat);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let (told, plain) = (object(watching), object(plain));
    rig::run("kill", &["-INT", &table.id().to_string()]);
    let (_, table, _) = ended(table);
    is_in_the_manual(&told);
    // What the server takes is what its mount point has, by operation.
    let of_mount = |call: &str| -> Vec<&Value> {
        let calls = told["calls"].as_array().unwrap().iter();
        calls.filter(|one| one["mount"] == place.as_str() && one["call"] == call).collect()
    };
    for (call, number) in [("read", 100), ("write", 10), ("fsync", 1)] {
        let rows = of_mount(call);
        assert!(rows.iter().all(|one| one["file_system"] == "fuse"), "{rows:?}");
        assert_eq!(sum_of_one(&rows, "count"), f64::from(number), "{rows:?}, {}", told["losses"]);
        let mean = sum_of_one(&rows, "sum_ns") / 1e6 / f64::from(number);
        println!("{call}: {mean:.1} ms");
        assert!((20.0..60.0).contains(&mean), "{rows:?}");
    }
    let unfinished = told["unfinished"].as_array().unwrap();
    let hangs = unfinished.iter().find(|one| one["pid"] == cat.0.id()).expect("the one that hangs");
    assert_eq!((&hangs["call"], &hangs["mount"]), (&"read".into(), &place.as_str().into()));
    assert_eq!((&hangs["comm"], &hangs["file_system"]), (&"cat".into(), &"fuse".into()));
    assert!(hangs["age_ns"].as_f64().unwrap() > 1e9, "{hangs}");
    // It is listed without the mount point, too; and in the table.
    let known = plain["unfinished"].as_array().unwrap().iter();
    let known: Vec<&Value> = known.filter(|one| one["pid"] == cat.0.id()).collect();
    assert!(known.len() == 1 && known[0]["mount"].is_null(), "{plain}");
    assert!(table.contains(&format!("{place} (fuse)")), "{table}");
    assert!(table.contains(": read by cat["), "{table}");
    let row = table.lines().find(|line| line.ends_with(&format!("read   {place} (fuse)")));
    let row: Vec<&str> = row.expect("its row").split_whitespace().collect();
    let p50: f64 = row[3].parse().expect("p50");
    assert!((20.0..60.0).contains(&p50) && row[4] == "ms", "{table}");
}

#[test]
fn calls_of_more_processes_than_have_rows_are_counted_for_the_others() {
    if !can_run(&["dd"]) {
        return;
    }
    let dd = own("many");
    rig::copy_program("/bin/dd", &dd);
    let comm = dd.file_name().unwrap().to_str().unwrap();
    let watching = iowhy(&["syscalls", "--comm", comm, "--json", "--for", "5m"]);
    until_attached(&watching);
    // Each makes at least four rows.
    let each = format!("{} if=/dev/zero of=/dev/null count=9 2>/dev/null", dd.display());
    rig::run("sh", &["-c", &format!("for k in $(seq 1100); do {each}; done")]);
    let reported = object(watching);
    std::fs::remove_file(&dd).unwrap();
    let calls: Vec<&Value> = reported["calls"].as_array().unwrap().iter().collect();
    let reads = calls.iter().filter(|one| one["call"] == "read");
    let reads: Vec<&Value> =
        reads.filter(|one| one["file"] == "character device").copied().collect();
    assert_eq!(sum(&reads, "count"), 9.0 * 1100.0, "{}", reported["losses"]);
    let others: Vec<&Value> = calls.iter().filter(|one| one["pid"] == 0).copied().collect();
    assert!(others.iter().all(|one| one["comm"] == "(others)"), "{others:?}");
    assert!(sum(&others, "count") > 0.0, "{} rows", calls.len());
    assert_eq!(reported["losses"], serde_json::json!([]));
}

#[test]
fn requests_of_io_uring_are_counted_one_by_one() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = Loop::new(64, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=64m"]);
    let fio = own("fio");
    let found = rig::run("sh", &["-c", "command -v fio"]);
    rig::copy_program(found.trim(), &fio);
    let comm = fio.file_name().unwrap().to_str().unwrap();
    let watching = iowhy(&["syscalls", "--comm", comm, "--json", "--for", "5m"]);
    until_attached(&watching);
    let job = ["--name=load", "--filename", &disk.path, "--direct=1", "--bs=4k", "--rw=randread"];
    let how = ["--ioengine=io_uring", "--iodepth=8", "--number_ios=5000", "--size=64m"];
    rig::run(fio.to_str().unwrap(), &[&job[..], &how[..]].concat());
    let reported = object(watching);
    std::fs::remove_file(&fio).unwrap();
    let calls = reported["calls"].as_array().unwrap();
    let mut ring = calls.iter().filter(|one| one["call"] == "io_uring read").map(count);
    if calls.iter().all(|one| one["call"] != "io_uring read") {
        return println!("skipped: this kernel has no io_uring_submit_req (Linux 6.4)");
    }
    assert_eq!((ring.next(), ring.next()), (Some(5000), None), "{reported}");
}

#[test]
fn every_call_of_a_function_is_timed_also_of_one_that_calls_itself() {
    if !can_run(&["cc"]) {
        return;
    }
    let program = program();
    let path = program.to_str().unwrap();
    let watch =
        |words: &[&str]| iowhy(&[&["uprobe", path], words, &["--json", "--for", "5m"]].concat());
    let nap = watch(&["nap"]);
    let deep = watch(&["deep"]);
    let of_arguments = ["waited", "--latency", "arg1:us", "--event", "arg2"];
    let waited = watch(&of_arguments);
    let only = watch(&[&of_arguments[..], &["--only-event", "8"]].concat());
    let none = watch(&["nap", "--comm", "another"]);
    [&nap, &deep, &waited, &only, &none].into_iter().for_each(until_attached);
    rig::run(path, &[]);
    let nap = object(nap);
    let calls = nap["calls"].as_array().unwrap();
    assert_eq!(calls.iter().map(count).collect::<Vec<_>>(), [100], "{nap}");
    let (least, sum) = (calls[0]["min_ns"].as_u64().unwrap(), calls[0]["sum_ns"].as_f64().unwrap());
    // usleep(3) sleeps at least for the given time.
    assert!(least >= 2_000_000 && sum < 100.0 * 20e6, "{nap}");
    let deep = object(deep);
    assert_eq!(deep["calls"].as_array().unwrap().iter().map(count).sum::<u64>(), 50, "{deep}");
    let waited = object(waited);
    is_in_the_manual(&waited);
    let events = waited["calls"].as_array().unwrap();
    let of = |event: &Value| (event["event"].as_u64().unwrap(), count(event));
    assert_eq!(events.iter().map(of).collect::<Vec<_>>(), [(7, 10), (8, 10), (9, 10)]);
    let sum: f64 = events.iter().map(|event| event["sum_ns"].as_f64().unwrap()).sum();
    assert_eq!(sum, 1000.0 * f64::from((1000..1030).sum::<i32>()));
    let only = object(only);
    let events: Vec<_> = only["calls"].as_array().unwrap().iter().map(of).collect();
    assert_eq!(events, [(8, 10)], "{only}");
    assert_eq!(object(none)["calls"].as_array().unwrap().len(), 0);
}

#[test]
fn what_cannot_be_watched_is_reported_with_the_reason() {
    for (words, reason) in [
        (&["uprobe", "/nowhere", "main"][..], "cannot read `/nowhere`"),
        (&["uprobe", "/tmp", "main"], "is not a file"),
        (&["uprobe", "/proc/self/exe", "main", "--event", "arg1"], "--latency"),
        (&["uprobe", "/proc/self/exe", "main", "--latency", "rsi"], "arg1 to arg6"),
        (&["syscalls", "--pid", "4194305"], "no process"),
    ] {
        let (status, _, message) = ended(iowhy(words));
        assert!(status == 2 && message.contains(reason), "{words:?}: {message}");
    }
    if !can_run(&[]) {
        return;
    }
    let me = std::env::current_exe().unwrap();
    let me = me.to_str().unwrap();
    let (status, _, message) = ended(iowhy(&["uprobe", me, "no_such_function"]));
    assert!(status == 2 && message.contains("no function `no_such_function`"), "{message}");
    let (status, _, message) = ended(iowhy(&["uprobe", me, "+0x7fffffffffff"]));
    assert!(status == 2 && message.contains("no code at"), "{message}");
}

#[test]
fn a_call_that_is_not_counted_is_refused_by_name() {
    let run = |call: &str| {
        let words = ["syscalls", "--call", call, "--for", "10ms"];
        Command::new(env!("CARGO_BIN_EXE_iowhy")).args(words).stdin(Stdio::null()).output()
    };
    let ended = run("typo").expect("iowhy");
    let message = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{message}");
    assert!(message.contains("unsupported call `typo`"), "{message}");
    assert!(message.contains("pread64") && message.contains("io_uring read"), "{message}");
}
