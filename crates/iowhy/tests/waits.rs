//! `iowhy waits` beside programs that know how long they waited.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

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
    let table = watching(&["--pid", &pid, "--verbose"]);
    let asleep = watching(&["--pid", &of_nap, "--json"]);
    let measured = has_read(&mut reader);
    let (object, named, asleep) = (object(json), object(named), object(asleep));
    let (folded, table) = (stopped(folded), stopped(table));
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
