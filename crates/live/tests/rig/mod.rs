//! Shared by the kernel tests: a private loop device that is removed with its guard, fio, counters.

#![allow(dead_code, missing_docs)]

pub(crate) mod slow_mount;

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use iowhy_live::{BlockTrace, Check, Collector, TraceMode, TraceOptions};
use iowhy_model::Recording;

static COUNTER: AtomicU32 = AtomicU32::new(0);
static EXAMINED: OnceLock<Option<String>> = OnceLock::new();
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
/// Loop devices of the tests use this many numbers, starting at the same number.
const NUMBERS: u32 = 96;

/// A loop device over a sparse file; detached and deleted when dropped, also by a failing test.
pub(crate) struct Loop {
    pub name: String,
    pub path: String,
    pub number: (u32, u32),
    file: PathBuf,
    mounted: Option<PathBuf>,
    gone: AtomicBool,
    // Reserves its number, even while it is detached.
    _reserved: Option<UnixDatagram>,
    // Two tests that load the machine would disturb each other.
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Loop {
    /// A device of that many MiB over a file in /tmp, or in a private tmpfs of `tmpfs_mib`.
    pub(crate) fn new(mib: u64, tmpfs_mib: Option<u64>) -> Loop {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(|failed| failed.into_inner());
        Loop::made(mib, tmpfs_mib, Some(turn))
    }

    /// A device of that many MiB for a test that mostly waits: others may load the machine
    /// meanwhile.
    pub(crate) fn beside_others(mib: u64) -> Loop {
        Loop::made(mib, None, None)
    }

    /// One more in the same test.
    pub(crate) fn another(&self, mib: u64) -> Loop {
        Loop::beside_others(mib)
    }

    fn made(mib: u64, tmpfs_mib: Option<u64>, turn: Option<MutexGuard<'static, ()>>) -> Loop {
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let place = std::env::temp_dir().join(format!("iowhy-{}-{count}", std::process::id()));
        let mounted = tmpfs_mib.map(|size| {
            std::fs::create_dir(&place).expect("a folder in /tmp");
            let size = format!("size={size}m");
            run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", &place.display().to_string()]);
            place.clone()
        });
        let file = if mounted.is_some() { place.join("disk") } else { place };
        Loop::over(file, mib, mounted, turn)
    }

    /// A device over a new file of `mib` MiB, through the page cache if it is `mounted`.
    pub(crate) fn over(
        file: PathBuf,
        mib: u64,
        mounted: Option<PathBuf>,
        turn: Option<MutexGuard<'static, ()>>,
    ) -> Loop {
        let made = std::fs::File::create(&file).expect("a file in /tmp");
        made.set_len(mib << 20).expect("a sparse file");
        let direct = if mounted.is_some() { "off" } else { "on" };
        let direct = format!("--direct-io={direct}");
        let (path, reserved) = attached(&file, &direct);
        let name = path.trim_start_matches("/dev/").to_string();
        let numbers =
            std::fs::read_to_string(format!("/sys/block/{name}/dev")).expect("its numbers");
        let (major, minor) = numbers.trim().split_once(':').expect("major:minor");
        let number = (major.parse().expect("a number"), minor.parse().expect("a number"));
        let gone = AtomicBool::new(false);
        Loop { name, path, number, file, mounted, gone, _reserved: reserved, _turn: turn }
    }

    /// Removes it early.
    pub(crate) fn detach(&self) {
        self.gone.store(true, Ordering::Relaxed);
        run("losetup", &["-d", &self.path]);
    }

    /// Its counters: reads, writes, discards, flushes completed.
    pub(crate) fn counters(&self) -> [u64; 4] {
        let text = std::fs::read_to_string(format!("/sys/block/{}/stat", self.name)).expect("stat");
        let fields: Vec<u64> =
            text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        // Documentation/block/stat.rst: fields 1, 5, 12 and 16.
        [fields[0], fields[4], fields[11], fields[15]]
    }

    /// Waits until nothing is in flight: the kernel counts after its last tracepoint.
    pub(crate) fn settle(&self) {
        for _ in 0..1000 {
            let text = std::fs::read_to_string(format!("/sys/block/{}/inflight", self.name));
            if text.expect("inflight").split_whitespace().all(|word| word == "0") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }

    /// Runs fio on it and returns what it printed.
    pub(crate) fn fio(&self, arguments: &[&str]) -> String {
        let mut all = vec!["--name=load", "--filename", &self.path, "--direct=1", "--bs=4k"];
        all.extend(["--randrepeat=1", "--norandommap", "--output-format=terse"]);
        all.extend(arguments);
        run("fio", &all)
    }

    /// Runs fio on it until the guard is dropped; its first requests have completed.
    pub(crate) fn under_load(&self, arguments: &[&str]) -> Running {
        let place = format!("--filename={}", self.path);
        let mut all = vec!["--name=load", &place, "--direct=1", "--bs=4k", "--output-format=terse"];
        // One process; the load ends with it.
        all.extend(["--thread", "--time_based", "--runtime=600"]);
        all.extend(arguments);
        let mut fio = Command::new("fio");
        fio.args(all).stdout(Stdio::null());
        self.worked_on_by(fio.spawn().expect("fio"))
    }

    /// Waits until a program that was started does I/O on it. On a busy machine that takes seconds.
    pub(crate) fn worked_on_by(&self, program: Child) -> Running {
        let program = Running(program);
        let before = self.counters();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while self.counters() == before {
            assert!(std::time::Instant::now() < end, "in vain for 60 s: the load does I/O");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        program
    }

    /// Fills it through the page cache; returns whether everything was written.
    pub(crate) fn fill(&self) -> bool {
        let to = format!("of={}", self.path);
        let mut dd = Command::new("dd");
        dd.args(["if=/dev/zero", &to, "bs=1M", "conv=fsync"]).stderr(Stdio::null());
        dd.status().expect("dd").success()
    }

    /// A tracer of this device alone.
    pub(crate) fn options(&self, mode: TraceMode) -> TraceOptions {
        TraceOptions { devices: vec![self.number], ..TraceOptions::new(mode) }
    }
}

/// A program that is killed with its guard.
pub(crate) struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Attaches a file to a number that no other test uses, in this process or another: the lowest free
/// one, from `losetup -f`, goes to the next test program as soon as this one detaches it.
fn attached(file: &std::path::Path, direct: &str) -> (String, Option<UnixDatagram>) {
    let first = std::process::id() + COUNTER.fetch_add(1, Ordering::Relaxed);
    for place in 0..NUMBERS {
        let number = NUMBERS + (first + place) % NUMBERS;
        // A lock by an abstract socket name, released with the socket.
        let name = SocketAddr::from_abstract_name(format!("iowhy-loop-{number}")).expect("a name");
        let Ok(reserved) = UnixDatagram::bind_addr(&name) else { continue };
        let path = format!("/dev/loop{number}");
        let mut losetup = Command::new("losetup");
        if losetup.args([direct, &path]).arg(file).output().is_ok_and(|done| done.status.success())
        {
            return (path, Some(reserved));
        }
    }
    let file = file.display().to_string();
    (run("losetup", &["-f", "--show", direct, &file]).trim().to_string(), None)
}

impl Drop for Loop {
    fn drop(&mut self) {
        if !self.gone.load(Ordering::Relaxed) {
            // A loop device keeps its partitions for its next user.
            for number in partitions(&self.name) {
                let _ = Command::new("delpart").args([&self.path, &number]).status();
            }
            let _ = Command::new("losetup").args(["-d", &self.path]).status();
        }
        let _ = std::fs::remove_file(&self.file);
        if let Some(folder) = &self.mounted {
            let _ = Command::new("umount").arg(folder).status();
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// The numbers of a disk's partitions.
fn partitions(disk: &str) -> Vec<String> {
    let entries = std::fs::read_dir(format!("/sys/block/{disk}")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let begins = format!("{disk}p");
    names.filter_map(|name| name.strip_prefix(&begins).map(str::to_string)).collect()
}

/// Runs a program to its end; it must succeed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } =
        Command::new(program).args(arguments).output().expect(program);
    let reported = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "`{program} {}`: {reported}", arguments.join(" "));
    String::from_utf8_lossy(&stdout).into_owned()
}

/// Copies a program, in a process of its own: a descriptor that writes to it, inherited for a
/// moment by a child that another thread starts, would keep it from being run (ETXTBSY).
pub(crate) fn copy_program(from: &str, to: &std::path::Path) {
    run("cp", &[from, &to.display().to_string()]);
}

/// Waits for something; fails after so many seconds.
pub(crate) fn until<T>(seconds: u64, what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
    loop {
        match done() {
            Some(known) => return known,
            None => assert!(std::time::Instant::now() < end, "in vain for {seconds} s: {what}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Waits until the child watches: once its programs are attached it gives up its rights.
pub(crate) fn until_attached(child: &std::process::Child) {
    let rights = |pid: &str| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().find(|line| line.starts_with("CapEff")).map(str::to_string)
    };
    let pid = child.id().to_string();
    let ours = rights("self");
    until(30, "it watches", || (rights(&pid) != ours).then_some(()));
}

/// What this machine lacks for them. `./test` names a file that keeps the answer for its other
/// programs: half a second of CPU time for each.
fn examined() -> Option<String> {
    let file = std::env::var_os("IOWHY_EXAMINED").map(PathBuf::from);
    if let Some(known) = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()) {
        return Some(known).filter(|missing| !missing.is_empty());
    }
    let missing = iowhy_live::examine().into_iter().find(|check| !check.ok && check.needed);
    let missing = missing.map(|Check { what, detail, .. }| format!("{what}: {detail}"));
    if let Some(file) = file {
        // Whole or not at all: others read it meanwhile.
        let own = file.with_extension(std::process::id().to_string());
        std::fs::write(&own, missing.as_deref().unwrap_or_default()).expect("its folder");
        std::fs::rename(&own, &file).expect("its folder");
    }
    missing
}

/// Whether the kernel tests can run here; prints what is missing if not.
pub(crate) fn can_run(programs: &[&str]) -> bool {
    // Once for all tests: it loads programs, and one of the tests counts them.
    if let Some(missing) = EXAMINED.get_or_init(examined) {
        println!("skipped: needs root and eBPF ({missing})");
        return false;
    }
    for program in programs.iter().chain(&["losetup"]) {
        let found = Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if found.is_err() {
            println!("skipped: needs `{program}`");
            return false;
        }
    }
    true
}

/// Traces while `load` runs, polling every 20 ms; returns what was recorded and the tracer.
pub(crate) fn trace(
    options: TraceOptions,
    budget: usize,
    load: impl FnOnce() + Send,
) -> (Recording, BlockTrace) {
    let mut recording = Recording::with_budget(budget);
    let mut tracer = BlockTrace::new(options);
    tracer.begin(&mut recording).expect("the tracer begins");
    std::thread::scope(|scope| {
        let load = scope.spawn(load);
        while !load.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(20));
            tracer.poll(&mut recording).expect("a poll");
        }
        load.join().expect("the load ran");
    });
    tracer.end(&mut recording).expect("the tracer ends");
    (recording, tracer)
}

/// BPF programs and links this process holds open.
pub(crate) fn bpf_descriptors() -> (usize, usize) {
    let open = std::fs::read_dir("/proc/self/fd").expect("own descriptors");
    let targets: Vec<String> = open
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .collect();
    let count = |what: &str| targets.iter().filter(|target| target.contains(what)).count();
    (count("bpf-prog"), count("bpf_link") + count("bpf-link"))
}

/// Nanoseconds and runs of all BPF programs that a process has open, by kernel.bpf_stats_enabled.
pub(crate) fn bpf_statistics(pid: u32) -> (u64, u64) {
    let folder = format!("/proc/{pid}/fdinfo");
    let open = std::fs::read_dir(folder).expect("its descriptors");
    let mut sum = (0, 0);
    for entry in open.filter_map(Result::ok) {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        // A link's fdinfo names its program, too; only a program's has the statistics.
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').trim().parse::<u64>().ok()
        };
        sum.0 += value("run_time_ns").unwrap_or(0);
        sum.1 += value("run_cnt").unwrap_or(0);
    }
    sum
}
