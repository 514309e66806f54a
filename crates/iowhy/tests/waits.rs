//! `iowhy waits` beside programs that know how long they waited.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::rig::slow_mount::SlowMount;
use crate::rig::{self, Loop, Running, can_run, until_attached};

/// Reads 64 KiB at random with O_DIRECT for so many seconds once it is told to by a line, in a name
/// of its own, and shows how long its reads took, in nanoseconds.
const READER: &str = r#"
import mmap, os, random, sys, time
path, seconds, comm = sys.argv[1], float(sys.argv[2]), os.fsencode(sys.argv[3])
open("/proc/self/comm", "wb").write(comm)
file, size = os.open(path, os.O_RDONLY | os.O_DIRECT), 1 << 16
page, waited = mmap.mmap(-1, size), 0
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + seconds
while time.monotonic() < end:
    place = random.randrange(os.lseek(file, 0, os.SEEK_END) // size) * size
    began = time.monotonic_ns()
    os.preadv(file, [page], place)
    waited += time.monotonic_ns() - began
print(waited, flush=True)
sys.stdin.readline()
"#;

/// The reader of a disk, which waits to be reported.
fn reader(disk: &Loop, seconds: &str, comm: &str) -> Running {
    let mut python = Command::new("python3");
    python.args(["-c", READER, &disk.path, seconds, comm]);
    let child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3");
    let mut reader = Running(child);
    assert_eq!(line(&mut reader), "ready");
    reader
}

fn line(of: &mut Running) -> String {
    let (mut text, out) = (Vec::new(), of.0.stdout.as_mut().expect("its output"));
    let mut byte = [0];
    while out.read(&mut byte).is_ok_and(|read| read == 1) && byte != *b"\n" {
        text.push(byte[0]);
    }
    String::from_utf8(text).expect("a line")
}

/// Has it read; how long its reads took.
fn has_read(reader: &mut Running) -> f64 {
    reader.0.stdin.as_mut().expect("its input").write_all(b"go\n").expect("it is told");
    line(reader).parse().expect("a time")
}

fn watching(words: &[&str]) -> Child {
    let mut iowhy = Command::new(env!("CARGO_BIN_EXE_iowhy"));
    iowhy.arg("waits").args(words).args(["--for", "5m"]);
    let piped = iowhy.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = piped.spawn().expect("iowhy");
    until_attached(&child);
    child
}

/// What it prints when it is stopped.
fn stopped(child: Child) -> String {
    rig::run("kill", &["-INT", &child.id().to_string()]);
    let output = child.wait_with_output().expect("its end");
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{reported}");
    String::from_utf8(output.stdout).expect("text")
}

fn object(child: Child) -> Value {
    let text = stopped(child);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn rows(object: &Value) -> &[Value] {
    object["waits"].as_array().expect("rows")
}

fn sum(rows: &[Value]) -> f64 {
    rows.iter().map(|row| row["sum_ns"].as_f64().expect("a sum")).sum()
}

/// What ended waits, of a row or of all: those of one kind.
fn ended(of: &Value, by: &str) -> Vec<Value> {
    let ends = of["ended"].as_array().expect("what ended them").iter();
    ends.filter(|end| end["by"] == by).cloned().collect()
}

/// Every wait has one end: as many and as long as the rows.
fn ends_add_up(object: &Value) {
    for of in rows(object).iter().chain([object]) {
        let ends = of["ended"].as_array().expect("what ended them");
        assert_eq!(sum(ends), of["sum_ns"].as_f64().expect("a sum"), "{of}");
        let counts: u64 = ends.iter().map(|end| end["count"].as_u64().unwrap()).sum();
        assert!(of["count"].as_u64().is_none_or(|count| count == counts), "{of}");
    }
}

#[test]
fn waits_for_direct_reads_are_those_that_the_program_measured() {
    if !can_run(&["python3", "fio"]) {
        return;
    }
    let disk = Loop::new(64, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=64m"]);
    // What a name may hold: it ends nothing, commands no terminal, and is not a folded stack.
    let comm = "a;b \u{1b}[2J\"";
    let mut reader = reader(&disk, "2", comm);
    let pid = reader.0.id().to_string();
    let nap = Running(Command::new("sleep").arg("60").spawn().expect("sleep"));
    let of_nap = nap.0.id().to_string();
    let json = watching(&["--pid", &pid, "--json"]);
    let named = watching(&["--comm", comm, "--json"]);
    let folded = watching(&["--pid", &pid, "--folded"]);
    let table = watching(&["--pid", &pid, "--verbose", "--width", "60"]);
    let rows_of = watching(&["--pid", &pid, "--csv"]);
    let mut beside = Command::new(env!("CARGO_BIN_EXE_iowhy"));
    beside.args(["syscalls", "--pid", &pid, "--json", "--for", "5m"]);
    let beside = beside.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let beside = beside.spawn().expect("iowhy");
    until_attached(&beside);
    let asleep = watching(&["--pid", &of_nap, "--json"]);
    let measured = has_read(&mut reader);
    let (object, named, asleep) = (object(json), object(named), object(asleep));
    let (folded, table, beside) = (stopped(folded), stopped(table), self::object(beside));
    let io: Vec<Value> =
        rows(&object).iter().filter(|row| row["for_io"] == true).cloned().collect();
    let waited = sum(&io);
    println!("measured {:.3} s, waited {:.3} s", measured / 1e9, waited / 1e9);
    assert!((0.8..1.2).contains(&(waited / measured)), "{waited} of {measured}: {object}");
    let longest = &io[0];
    let stack = longest["stack"].as_array().expect("a stack");
    let has = |name: &str| stack.iter().any(|frame| frame.as_str().unwrap().starts_with(name));
    assert!(has("io_schedule") || has("__blkdev_direct_IO"), "{longest}");
    assert!(!has("bpf_") && !has("__traceiter"), "{longest}");
    assert_eq!(longest["waits_for"], "its direct I/O", "{longest}");
    assert_eq!(longest["comm"], comm);
    assert_eq!(longest["pid"].to_string(), pid);
    assert!(longest["max_ns"].as_f64() >= longest["sum_ns"].as_f64().map(|sum| sum / 1e6));
    // What ended them: the reads of this disk, and the tracer of requests saw the same device time.
    ends_add_up(&object);
    let by_disk = ended(longest, "request");
    let [by_disk] = &by_disk[..] else { panic!("one device and operation: {longest}") };
    assert_eq!(
        (&by_disk["device"], &by_disk["operation"]),
        (&disk.name.clone().into(), &"read".into())
    );
    let share = by_disk["sum_ns"].as_f64().unwrap() / sum(&io);
    let of = |object: &Value, key: &str| object[key].as_f64().expect("a number");
    let (device, tracer) = (of(by_disk, "d2c_sum_ns"), of(&beside["disk"][0], "d2c_sum_ns"));
    println!(
        "{:.1} % ended by reads of the disk; D2C {:.4} s, by the tracer {:.4} s, {} and {} I/Os",
        share * 100.0,
        device / 1e9,
        tracer / 1e9,
        by_disk["d2c_count"],
        beside["disk"][0]["ios"],
    );
    assert!(share > 0.95, "{longest}");
    // A task sends its request some microseconds before it sleeps: the device may be so much
    // longer.
    let awake = 20e3 * of(by_disk, "count");
    assert!(device <= of(by_disk, "sum_ns") + awake, "{longest}");
    let each = |sum: f64, count: f64| sum / count;
    let ours = each(device, of(by_disk, "d2c_count"));
    let theirs = each(tracer, of(&beside["disk"][0], "ios"));
    assert!((0.9..1.1).contains(&(ours / theirs)), "{ours} {theirs} ns: {beside}");
    // Not one line of it is wider than asked.
    assert!(table.lines().all(|line| line.chars().count() <= 60), "{table}");
    let table = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(table.contains(&format!("by reads of {}, D2C ", disk.name)), "{table}");
    let csv = stopped(rows_of);
    let mut csv_rows = csv.lines();
    let head = csv_rows.next().expect("a heading");
    assert!(head.starts_with("pid,comm,for_io,function,waits_for,count,"), "{csv}");
    let first = csv_rows.next().expect("a row");
    assert!(first.starts_with(&format!("{pid},\"a;b ")) && !csv.contains('\u{1b}'), "{csv}");
    assert!(first.contains(",true,__blkdev_direct_IO") && first.contains(";vfs_read"), "{csv}");
    // The same by its name; another process, which only sleeps, waits for nothing.
    assert!(rows(&named).iter().all(|row| row["pid"] == longest["pid"]), "{named}");
    assert!((0.9..1.1).contains(&(sum(rows(&named)) / sum(rows(&object)))), "{named}");
    assert_eq!((rows(&asleep).len(), asleep["sum_ns"].as_u64()), (0, Some(0)), "{asleep}");
    // Lines of a flame graph: as many microseconds as all rows, each with a stack.
    let lines = folded.lines().map(|line| line.rsplit_once(' ').expect("a number at the end"));
    let lines: Vec<(&str, f64)> = lines.map(|(of, us)| (of, us.parse().unwrap())).collect();
    assert!(lines.iter().all(|(of, _)| of.starts_with("a_b_?[2J\";") && !of.contains(' ')));
    let all: f64 = lines.iter().map(|(_, us)| us * 1e3).sum();
    assert!((0.9..1.1).contains(&(all / sum(rows(&object)))), "{folded}");
    assert!(!table.contains('\u{1b}') && table.contains("its direct I/O"), "{table}");
    assert!(table.contains(" of it for I/O, in "), "{table}");
}

#[test]
fn a_wait_that_has_not_ended_is_counted_so_far_and_marked() {
    if !can_run(&["cc"]) {
        return;
    }
    // Whoever calls vfork waits in state D, killable, until its child starts a program or ends.
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let own = folder.join(format!("vforks-{}", std::process::id()));
    let source = own.with_extension("c");
    let text = "#include <unistd.h>\nint main(void)\n{\n\tchar told;\n\
                \tif (read(0, &told, 1) != 1) return 1;\n\
                \tif (!vfork()) { sleep(120); _exit(0); }\n\treturn 0;\n}\n";
    std::fs::write(&source, text).unwrap();
    rig::run("cc", &["-o", own.to_str().unwrap(), source.to_str().unwrap()]);
    let mut parent = Command::new(&own);
    let mut parent = Running(parent.stdin(Stdio::piped()).spawn().expect("the parent"));
    let pid = parent.0.id().to_string();
    let watch = watching(&["--pid", &pid, "--json"]);
    parent.0.stdin.as_mut().expect("its input").write_all(b"\n").expect("it is told");
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    rig::until(30, "it waits for its child", || state().contains(") D ").then_some(()));
    let began = Instant::now();
    // Who comes later sees it as well, and that it had begun before.
    let late = watching(&["--pid", &pid, "--json"]);
    std::thread::sleep(Duration::from_secs(1));
    let late = object(late);
    let child = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let object = object(watch);
    let at_most = began.elapsed().as_secs_f64() * 1e9 + 3e8;
    drop(parent);
    rig::run("kill", &["-KILL", child.trim()]);
    let _ = (std::fs::remove_file(&own), std::fs::remove_file(&source));
    let [row] = rows(&object) else { panic!("one wait: {object}") };
    let counts = |row: &Value| ["count", "unfinished", "earlier"].map(|key| row[key].as_u64());
    assert_eq!(counts(row), [Some(1), Some(1), Some(0)], "{object}");
    let [seen] = rows(&late) else { panic!("one wait: {late}") };
    assert_eq!(counts(seen), [Some(1), Some(1), Some(1)], "{late}");
    assert_eq!((&seen["comm"], &seen["waits_for"]), (&row["comm"], &row["waits_for"]), "{late}");
    let length = late["seconds"].as_f64().unwrap() * 1e9;
    assert!((0.9..1.3).contains(&(seen["sum_ns"].as_f64().unwrap() / length)), "{late}");
    let (waited, longest) = (row["sum_ns"].as_f64().unwrap(), row["max_ns"].as_f64().unwrap());
    assert!(waited >= 1e9 && waited < at_most && waited == longest, "{at_most}: {object}");
    assert_eq!(row["for_io"], false, "{object}");
    assert_eq!(row["waits_for"], "its vfork child", "{object}");
}

/// Writes or reads 4 KiB with so many calls, once it is told to by a line, in a name of its own;
/// the last word of `how` is `fsync` for one after each.
const CALLER: &str = r#"
import mmap, os, sys
path, comm, how, number = sys.argv[1], os.fsencode(sys.argv[2]), sys.argv[3].split(), int(sys.argv[4])
open("/proc/self/comm", "wb").write(comm)
direct = os.O_DIRECT if "direct" in how else 0
file = os.open(path, os.O_RDWR | direct)
page = mmap.mmap(-1, 4096)
print("ready", flush=True)
sys.stdin.readline()
for k in range(number):
    if "read" in how:
        os.preadv(file, [page], k * 4096)
    if "write" in how:
        os.pwritev(file, [page], 0)
    if "fsync" in how:
        os.fsync(file)
print("done", flush=True)
sys.stdin.readline()
"#;

fn caller(path: &str, comm: &str, how: &str, number: u32) -> Running {
    let mut python = Command::new("python3");
    python.args(["-c", CALLER, path, comm, how, &number.to_string()]);
    let child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3");
    let mut caller = Running(child);
    assert_eq!(line(&mut caller), "ready");
    caller
}

fn go(caller: &mut Running) {
    caller.0.stdin.as_mut().expect("its input").write_all(b"go\n").expect("it is told");
}

#[test]
fn waits_for_a_disk_of_known_delay_are_tied_to_its_requests() {
    if !can_run(&["python3"]) {
        return;
    }
    // The disk's file is on a file system whose server takes 30 ms.
    let mount = SlowMount::new(0.03, 16);
    let file = mount.file("file");
    std::fs::metadata(&file).expect("its file");
    let path = rig::run("losetup", &["-f", "--show", "--direct-io=on", file.to_str().unwrap()]);
    let path = path.trim().to_string();
    struct Detached(String);
    impl Drop for Detached {
        fn drop(&mut self) {
            let _ = Command::new("losetup").args(["-d", &self.0]).status();
        }
    }
    let _disk = Detached(path.clone());
    let (name, number) = (path.trim_start_matches("/dev/"), 12);
    let mut reader = caller(&path, "iowhy-slowread", "direct read", number);
    let mut flusher = caller(&path, "iowhy-flusher", "direct write fsync", number);
    let pids = [&reader, &flusher].map(|of| of.0.id().to_string());
    let watches = pids.map(|pid| watching(&["--pid", &pid, "--json"]));
    for of in [&mut reader, &mut flusher] {
        go(of);
        assert_eq!(line(of), "done");
    }
    let [reads, flushes] = watches.map(object);
    for (object, operations) in [(&reads, &["read"][..]), (&flushes, &["flush", "write"][..])] {
        ends_add_up(object);
        let by: Vec<Value> = ended(object, "request");
        let mut seen: Vec<&str> = by.iter().map(|end| end["operation"].as_str().unwrap()).collect();
        seen.sort_unstable();
        assert_eq!(seen, operations, "{object}");
        for end in &by {
            assert_eq!(end["device"], name, "{object}");
            assert!(end["count"].as_u64().unwrap() >= u64::from(number) - 1, "{object}");
            assert_eq!(end["d2c_count"], end["count"], "{object}");
            let mean =
                |key: &str| end[key].as_f64().unwrap() / 1e6 / end["count"].as_f64().unwrap();
            let (wait, device) = (mean("sum_ns"), mean("d2c_sum_ns"));
            println!("{}: waits {wait:.2} ms, device {device:.2} ms", end["operation"]);
            // A task sends its request before it sleeps, so its wait may be a little shorter.
            assert!(device >= 30.0 && device < wait + 1.0 && wait < device + 15.0, "{object}");
        }
        assert!(sum(&by) > 0.95 * object["sum_ns"].as_f64().unwrap(), "{object}");
    }
}

#[test]
fn waits_for_a_lock_or_a_server_are_tied_to_who_ended_them_and_to_no_request() {
    if !can_run(&["python3", "fio"]) {
        return;
    }
    let mount = SlowMount::new(0.02, 16);
    let file = mount.file("file");
    let path = file.to_str().unwrap();
    // A write to a file of FUSE holds its lock while it waits for the server: of two who write, one
    // waits for the lock, which the other releases.
    let names = ["iowhy-holder-a", "iowhy-holder-b"];
    let mut writers = names.map(|name| caller(path, name, "direct write", 40));
    // Requests complete all the time on the same CPUs.
    let disk = Loop::new(64, None);
    let _load =
        disk.under_load(&["--rw=randread", "--size=64m", "--iodepth=4", "--ioengine=libaio"]);
    let pids = [&writers[0], &writers[1]].map(|of| of.0.id().to_string());
    let watches = pids.map(|pid| watching(&["--pid", &pid, "--json"]));
    writers.iter_mut().for_each(go);
    writers.iter_mut().for_each(|of| assert_eq!(line(of), "done"));
    let objects = watches.map(object);
    let mut locked = 0;
    for (object, other) in objects.iter().zip(["iowhy-holder-b", "iowhy-holder-a"]) {
        ends_add_up(object);
        assert_eq!(ended(object, "request"), Vec::<Value>::new(), "{object}");
        for row in rows(object) {
            let by = ended(row, "task");
            println!("{}: {} waits, {by:?}", row["waits_for"], row["count"]);
            let of = |comm: &str| {
                let of = by.iter().filter(|end| end["comm"] == comm);
                of.map(|end| end["count"].as_u64().unwrap()).sum::<u64>()
            };
            match row["waits_for"].as_str() {
                Some("a lock") => locked += of(other),
                Some("the answer of a server (FUSE)") => {
                    assert!(of("python3") * 10 >= row["count"].as_u64().unwrap() * 9, "{row}");
                }
                _ => {}
            }
        }
    }
    assert!(locked >= 20, "{objects:?}");
}

/// A thread reads so often with O_DIRECT while the first thread waits for it, once it is told to by
/// a line.
const JOINER: &str = r#"
import mmap, os, sys, threading
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
def work():
    for k in range(int(sys.argv[2])):
        os.preadv(file, [page], k * 4096)
print("ready", flush=True)
sys.stdin.readline()
thread = threading.Thread(target=work)
thread.start()
thread.join()
print("done", flush=True)
sys.stdin.readline()
"#;

#[test]
fn a_thread_that_waits_for_one_that_reads_is_shown_with_its_functions() {
    let refused =
        Command::new(env!("CARGO_BIN_EXE_iowhy")).args(["waits", "--state", "s"]).output();
    let refused = refused.expect("iowhy");
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && message.contains("need a program"), "{message}");
    if !can_run(&["python3"]) {
        return;
    }
    let mount = SlowMount::new(0.03, 16);
    let file = mount.file("file");
    let mut python = Command::new("python3");
    python.args(["-c", JOINER, file.to_str().unwrap(), "30"]);
    let child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3");
    let mut joiner = Running(child);
    assert_eq!(line(&mut joiner), "ready");
    let pid = joiner.0.id().to_string();
    let all = watching(&["--pid", &pid, "--state", "all", "--json"]);
    let only_d = watching(&["--pid", &pid, "--json"]);
    let folded = watching(&["--pid", &pid, "--state", "S", "--user", "--folded"]);
    go(&mut joiner);
    assert_eq!(line(&mut joiner), "done");
    let (all, only_d, folded) = (object(all), object(only_d), stopped(folded));
    ends_add_up(&all);
    let of = |object: &Value, state: &str, what: &str| -> Vec<Value> {
        let is = |row: &&Value| {
            row["state"] == state && row["waits_for"].as_str().unwrap_or("").contains(what)
        };
        rows(object).iter().filter(is).cloned().collect()
    };
    // Each read takes 30 ms, and the first thread waits for all of them.
    let (reads, joins) = (of(&all, "D", "FUSE"), of(&all, "S", "futex"));
    let answers = of(&all, "S", "FUSE");
    println!("reads {:.3} s, joins {:.3} s", sum(&reads) / 1e9, sum(&joins) / 1e9);
    let reads = sum(&reads) + sum(&answers);
    assert!(reads >= 0.85e9 && sum(&joins) > 0.9 * reads, "{all}");
    let by_itself = |row: &Value| ended(row, "task").iter().any(|end| end["comm"] == "python3");
    assert!(joins.iter().any(by_itself), "{joins:?}");
    assert!(rows(&only_d).iter().all(|row| row["state"] == "D"), "{only_d}");
    assert!(rows(&only_d).iter().all(|row| row["user_stack"] == serde_json::json!([])), "{only_d}");
    // Functions of the program are below those of the kernel.
    let in_python = |line: &&str| line.contains("python3") && line.contains(";futex_");
    let program = folded.lines().filter(in_python).find(|line| line.contains("libc.so"));
    assert!(program.is_some_and(|line| line.find("libc.so") < line.find(";futex_")), "{folded}");
}

/// Writes the same 64 MiB through the page cache again and again, in a name of its own.
const WRITER: &str = r#"
import os, sys
open("/proc/self/comm", "w").write("iowhy-writer")
file, page, k = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), bytes(1 << 20), 0
while True:
    os.pwrite(file, page, k % 64 << 20)
    k += 1
"#;

/// A file system on a loop device whose limit of dirty pages is 4 MiB, if the kernel has such
/// limits.
struct Throttled {
    disk: Loop,
    mount: std::path::PathBuf,
}

impl Throttled {
    fn new() -> Option<Throttled> {
        let disk = Loop::new(256, None);
        rig::run("mkfs.ext4", &["-q", "-F", &disk.path]);
        let number = std::fs::read_to_string(format!("/sys/block/{}/dev", disk.name)).ok()?;
        let limits = std::path::PathBuf::from(format!("/sys/class/bdi/{}", number.trim()));
        std::fs::write(limits.join("strict_limit"), "1").ok()?;
        std::fs::write(limits.join("max_bytes"), (4 << 20).to_string()).ok()?;
        let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let mount = folder.join(format!("throttled-{}", std::process::id()));
        std::fs::create_dir_all(&mount).unwrap();
        rig::run("mount", &[&disk.path, mount.to_str().unwrap()]);
        Some(Throttled { disk, mount })
    }
}

impl Drop for Throttled {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.mount).status();
        let _ = std::fs::remove_dir(&self.mount);
    }
}

#[test]
fn a_writer_that_is_paused_for_its_dirty_pages_is_named_with_the_time_it_waited() {
    if !can_run(&["mkfs.ext4", "mount", "python3"]) {
        return;
    }
    let Some(throttled) = Throttled::new() else {
        return println!("skipped: the kernel has no limit of dirty pages per device (Linux 6.2)");
    };
    let capture = throttled.mount.with_extension("iowhy");
    let _ = std::fs::remove_file(&capture);
    let watch = |words: &[&str]| {
        let mut iowhy = Command::new(env!("CARGO_BIN_EXE_iowhy"));
        iowhy.args(words).args(["--for", "5m"]);
        let piped = iowhy.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = piped.spawn().expect("iowhy");
        until_attached(&child);
        child
    };
    let why = watch(&["why", "--json", "-d", &throttled.disk.name]);
    let record = watch(&["record", "-o", capture.to_str().unwrap()]);
    let file = throttled.mount.join("file").display().to_string();
    let mut writer = Command::new("python3");
    let writer = Running(writer.args(["-c", WRITER, &file]).spawn().expect("python3"));
    let pid = writer.0.id();
    let waits = watching(&["--pid", &pid.to_string(), "--json"]);
    std::thread::sleep(Duration::from_secs(5));
    drop(writer);
    let waits = object(waits);
    stopped(record);
    let throttle = |row: &&Value| row["function"] == "balance_dirty_pages";
    let throttled_in: Vec<Value> = rows(&waits).iter().filter(throttle).cloned().collect();
    let waited = sum(&throttled_in) / 1e9;
    // A task sleeps up to a jiffy longer than it is told, of 10 ms at most, and waits for a CPU.
    let longer = |row: &Value| {
        let late: f64 = row["ended"]
            .as_array()
            .unwrap()
            .iter()
            .map(|end| end["late_ns"].as_f64().unwrap())
            .sum();
        late / 1e9 + row["count"].as_f64().unwrap() * 0.01
    };
    let longer: f64 = throttled_in.iter().map(longer).sum();
    let again = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["why", "--json", capture.to_str().unwrap()])
        .output()
        .expect("iowhy");
    let _ = std::fs::remove_file(&capture);
    let again: Value = serde_json::from_slice(&again.stdout).expect("an object");
    for report in [object(why), again] {
        let findings = report["findings"].as_array().expect("findings");
        let is_ours = |found: &&Value| {
            found["verdict"] == "load.writeback" && found["device"] == *throttled.disk.name
        };
        let found = findings.iter().find(is_ours).unwrap_or_else(|| panic!("{report}"));
        assert!(
            found["sentence"].as_str().unwrap().contains(&format!("iowhy-writer ({pid})")),
            "{found}"
        );
        let evidence = found["evidence"].as_array().expect("numbers");
        let paused = evidence[0]["value"].as_f64().expect("a time");
        println!("paused {paused:.2} s, waited {waited:.2} s: {}", found["sentence"]);
        assert_eq!(evidence[0]["unit"], "s", "{found}");
        // It began a little before the watch of its waits, at most a second or two.
        assert!(paused > waited - longer && paused < waited + 2.0, "{waited} {longer}: {found}");
    }
}
