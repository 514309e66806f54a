//! The serving process: mounts the file in its own mount namespace and serves it until it receives
//! `end`.
//!
//! It reads on its standard input, line by line, which loop device uses it. If that input ends
//! without `end`, the supervisor has died, and this process cleans up.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fuser::{Config, MountOption, SessionACL};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal, kill_process};

use super::file::DiskFile;
use super::replies::{Replies, now};
use super::{MARK, MOUNT_POINT, Spec, device, kernel, truth};

/// How often the truth is written to its file.
const WRITE_EVERY: Duration = Duration::from_millis(200);
/// How long a dead supervisor's loop device may take to detach.
const PATIENCE: Duration = Duration::from_secs(5);

/// What hangs on this process.
#[derive(Default)]
struct Scenario {
    loop_number: Option<u32>,
    /// Ended by a supervisor that has cleaned up itself.
    dismissed: bool,
}

/// Serves the disk until the supervisor sends `end` or has died.
///
/// # Errors
/// If the disk cannot be mounted or the truth cannot be written.
pub fn serve(spec: &Spec) -> io::Result<()> {
    // A thread that died silently would leave the kernel waiting for ever.
    std::panic::set_hook(Box::new(|why| {
        let _ = writeln!(io::stderr(), "rig: {why}");
        std::process::abort();
    }));
    if let Err(error) = kernel::run_first() {
        let reported = "responses may be late";
        let _ = writeln!(io::stderr(), "rig: no real-time priority ({error}): {reported}");
    }
    let mut log = truth::create(&spec.truth)?;
    let replies = Arc::new(Replies::default());
    let memory = File::from(rustix::fs::memfd_create("disk", MemfdFlags::CLOEXEC)?);
    memory.set_len(spec.bytes)?;
    let disk = Mutex::new(spec.disk(now()).map_err(io::Error::other)?);
    let file = DiskFile { memory, bytes: spec.bytes, disk, replies: replies.clone() };

    let timer = replies.clone();
    std::thread::spawn(move || timer.run());
    let mut config = Config::default();
    config.mount_options =
        vec![MountOption::FSName("disk".into()), MountOption::DefaultPermissions];
    config.acl = SessionACL::Owner;
    config.n_threads = Some(1);
    let session = fuser::spawn_mount(file, MOUNT_POINT, &config)?;

    let (tell, reported) = std::sync::mpsc::channel();
    let hurried = replies.clone();
    std::thread::spawn(move || tell.send(listen(&hurried)));
    writeln!(io::stdout(), "ready")?;
    let scenario = loop {
        let scenario = reported.recv_timeout(WRITE_EVERY);
        truth::append(&mut log, &replies.take())?;
        if let Ok(scenario) = scenario {
            break scenario;
        }
    };
    if !scenario.dismissed {
        clear_away(&scenario);
    }
    session.umount_and_join()?;
    truth::append(&mut log, &replies.take())
}

/// Reads the supervisor's lines until `end` or the end of input.
fn listen(replies: &Replies) -> Scenario {
    let mut scenario = Scenario::default();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("loop", number) => scenario.loop_number = number.parse().ok(),
            ("hurry", _) => replies.hurry(),
            ("end", _) => {
                scenario.dismissed = true;
                break;
            }
            _ => {}
        }
    }
    replies.hurry();
    scenario
}

/// Does what the dead supervisor left undone: ends its command, and removes its loop device, which
/// detaches at its last close.
fn clear_away(scenario: &Scenario) {
    for process in marked() {
        let _ = kill_process(process, Signal::KILL);
    }
    let Some(number) = scenario.loop_number else { return };
    let since = Instant::now();
    while device::remove(number).is_err() && since.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The processes that carry our mark in their environment.
fn marked() -> Vec<Pid> {
    let mark = format!("{MARK}={}", std::process::id());
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let carries = |number: &i32| {
        let environment = std::fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    numbers.filter(carries).filter_map(Pid::from_raw).collect()
}
