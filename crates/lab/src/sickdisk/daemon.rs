//! The serving process: mounts the file in its own mount namespace and answers until told to end.
//!
//! It is told line by line on its standard input which loop device and process group hang on it.
//! If that input ends without a word, the supervisor is dead, and this process clears away.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fuser::{Config, MountOption, SessionACL};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal, kill_process_group};

use super::file::DiskFile;
use super::replies::{Replies, now};
use super::{Spec, kernel, truth};

/// Where the file is mounted. The namespace is private, so nothing is hidden from others.
pub(super) const MOUNT_POINT: &str = "/mnt";

/// How often the truth is written to its file.
const WRITE_EVERY: Duration = Duration::from_millis(200);
/// How long a dead supervisor's loop device may take to detach.
const PATIENCE: Duration = Duration::from_secs(5);

/// What hangs on this process.
#[derive(Default)]
struct Ward {
    loop_number: Option<u32>,
    group: Option<i32>,
    /// Told to end by a supervisor that has cleared away itself.
    dismissed: bool,
}

/// Serves the disk until the supervisor says `end` or is dead.
///
/// # Errors
/// If the disk cannot be mounted or the truth cannot be written.
pub fn serve(spec: &Spec) -> io::Result<()> {
    // A thread that died silently would leave the kernel waiting for ever.
    std::panic::set_hook(Box::new(|why| {
        let _ = writeln!(io::stderr(), "lab: {why}");
        std::process::abort();
    }));
    if let Err(error) = kernel::run_first() {
        let told = "answers may come late";
        let _ = writeln!(io::stderr(), "lab: no real-time priority ({error}): {told}");
    }
    let mut log = truth::create(&spec.truth)?;
    let replies = Arc::new(Replies::default());
    let memory = File::from(rustix::fs::memfd_create("sickdisk", MemfdFlags::CLOEXEC)?);
    memory.set_len(spec.bytes)?;
    let disk = Mutex::new(spec.disk(now()).map_err(io::Error::other)?);
    let file = DiskFile { memory, bytes: spec.bytes, disk, replies: replies.clone() };

    let timer = replies.clone();
    std::thread::spawn(move || timer.run());
    let mut config = Config::default();
    config.mount_options =
        vec![MountOption::FSName("sickdisk".into()), MountOption::DefaultPermissions];
    config.acl = SessionACL::Owner;
    config.n_threads = Some(1);
    let session = fuser::spawn_mount(file, MOUNT_POINT, &config)?;

    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(listen()));
    writeln!(io::stdout(), "ready")?;
    let ward = loop {
        let ward = told.recv_timeout(WRITE_EVERY);
        truth::append(&mut log, &replies.take())?;
        if let Ok(ward) = ward {
            break ward;
        }
    };
    if !ward.dismissed {
        clear_away(&ward);
    }
    session.umount_and_join()?;
    truth::append(&mut log, &replies.take())
}

/// Reads what the supervisor says, until it says `end` or is gone.
fn listen() -> Ward {
    let mut ward = Ward::default();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("loop", number) => ward.loop_number = number.parse().ok(),
            ("group", number) => ward.group = number.parse().ok(),
            ("end", _) => {
                ward.dismissed = true;
                break;
            }
            _ => {}
        }
    }
    ward
}

/// Does what the supervisor died over: ends its command, and removes its loop device, which
/// detaches at its last close.
fn clear_away(ward: &Ward) {
    if let Some(group) = ward.group.and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let Some(number) = ward.loop_number else { return };
    let since = Instant::now();
    while kernel::remove_loop(number).is_err() && since.elapsed() < PATIENCE {
        if !Path::new(&format!("/sys/block/loop{number}")).exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
