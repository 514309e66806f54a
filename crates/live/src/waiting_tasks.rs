//! Tasks that wait in one call on a file system all the time, as /proc shows them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::mount_points;

/// Calls with the file as their first argument that ask the server of its file system.
const BY_FILE: [libc::c_long; 18] = [
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_syncfs,
    libc::SYS_getdents64,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_copy_file_range,
];
/// Calls that wait until another program does something: a lock, a device's answer.
const BY_DESIGN: [libc::c_long; 3] = [libc::SYS_fcntl, libc::SYS_flock, libc::SYS_ioctl];

/// A task in a call on a file system, asleep since it was first seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WaitingTask {
    /// The number of the file system's superblock.
    pub system: u32,
    /// The process.
    pub process: String,
    /// Its name.
    pub comm: String,
    task: PathBuf,
    /// How often it went to sleep since it exists.
    sleeps: u64,
}

/// The tasks of this machine that wait in calls on these file systems; none is looked at if there
/// are none. `asks` knows the kernel's functions in which a task waits for such a server.
pub(crate) fn waiting_tasks(
    root: &Path,
    systems: &[u32],
    asks: fn(&str) -> bool,
) -> Vec<WaitingTask> {
    let own = std::process::id().to_string();
    let processes = if systems.is_empty() { Vec::new() } else { numbered(&root.join("proc")) };
    let others = processes.into_iter().filter(|(process, _)| *process != own);
    let waiting = others.flat_map(|(process, folder)| {
        let tasks = numbered(&folder.join("task")).into_iter();
        let waiting = tasks.filter_map(|(_, task)| {
            let system = system_of(&folder, &task, systems, asks)?;
            let comm = fs::read_to_string(task.join("comm")).ok()?.trim_end().to_string();
            let sleeps = sleeps(&task)?;
            Some(WaitingTask { system, process: process.clone(), comm, task, sleeps })
        });
        waiting.collect::<Vec<_>>()
    });
    waiting.collect()
}

impl WaitingTask {
    /// Whether it has not run since it was first seen.
    pub(crate) fn still_waits(&self) -> bool {
        sleeps(&self.task) == Some(self.sleeps)
    }
}

/// Which of these file systems a task waits for, of a process with that folder.
fn system_of(process: &Path, task: &Path, systems: &[u32], asks: fn(&str) -> bool) -> Option<u32> {
    // proc_pid_syscall(5): the number of the call, then its arguments; `running` if it runs.
    let text = fs::read_to_string(task.join("syscall")).ok()?;
    let mut words = text.split_whitespace();
    let call: libc::c_long = words.next()?.parse().ok()?;
    if BY_FILE.contains(&call) {
        let file = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        let info = fs::read_to_string(task.join(format!("fdinfo/{file}"))).ok()?;
        let mount = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim();
        let mounts = fs::read_to_string(process.join("mountinfo")).ok()?;
        return mount_points::number_of(&mounts, mount).filter(|number| systems.contains(number));
    }
    // A call on a path does not show its mount; with one that anybody waits for it is that.
    let [only] = systems else { return None };
    let waits = || fs::read_to_string(task.join("wchan")).is_ok_and(|at| asks(at.trim_end()));
    (!BY_DESIGN.contains(&call) && waits()).then_some(*only)
}

/// How often a task went to sleep, if it sleeps now.
fn sleeps(task: &Path) -> Option<u64> {
    let status = fs::read_to_string(task.join("status")).ok()?;
    let field = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| line.strip_prefix(name)).map(str::trim)
    };
    let asleep = field("State:")?.starts_with(['S', 'D']);
    field("voluntary_ctxt_switches:")?.parse().ok().filter(|_| asleep)
}

/// Folders named by a number: processes, or tasks of one.
fn numbered(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)));
    let numbered = named.filter(|(name, _)| name.bytes().all(|byte| byte.is_ascii_digit()));
    numbered.map(|(name, entry)| (name, entry.path())).collect()
}
