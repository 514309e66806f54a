//! Writing to a new file: an unnamed one, filled first, which disappears whatever happens.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::Ordering;

use iowhy_model::Random;

use super::topology::{self, Node};
use super::{Terms, human};
use crate::engine::{AlignedBuffer, SoFar, Watcher};
use crate::error::Error;
use crate::target::{Target, sensors};

/// Share of a file system that a test file may take without `--cap`; and the share of the free
/// space that it never exceeds.
const CAP_SHARE: u64 = 100;
const FREE_SHARE: u64 = 2;
/// Bytes of each write that fills the file.
const CHUNK: usize = 1 << 20;

/// The largest test file that fits the cap and what is free.
///
/// # Errors
/// If the file system cannot be queried.
pub(super) fn largest(directory: &Path, terms: &Terms) -> Result<u64, Error> {
    let room = rustix::fs::statvfs(directory)
        .map_err(|cause| Error::target("read the free space of", directory, cause))?;
    let (all, free) = (room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize);
    Ok(terms.cap.unwrap_or(all / CAP_SHARE).min(free / FREE_SHARE))
}

/// Examines a directory without changing anything.
pub(super) fn examine(directory: &Path, span: u64, terms: &Terms) -> Result<(), Error> {
    if holds_devices(directory) {
        return Err(Error::refused(
            "write to",
            directory,
            "it contains device nodes and is in memory, so no disk would be measured",
            "check the device's name with `lsblk`, or name a directory on the disk",
        ));
    }
    let largest = largest(directory, terms)?;
    if span > largest {
        return Err(Error::refused(
            "write to",
            directory,
            format!(
                "a file of {} exceeds {}: 1 % of the file system or the cap, and at most half of \
                 the free space",
                human(span),
                human(largest)
            ),
            format!("use `--span {}`, or raise the cap with `--cap {span}`", human_flag(largest)),
        ));
    }
    Ok(())
}

/// Whether the file system of /dev lies there, where a mistyped device would become a new file.
/// /dev/shm and others that are mounted below it are not meant.
fn holds_devices(directory: &Path) -> bool {
    let system = |path: &Path| path.metadata().ok().map(|found| found.dev());
    let devices = Path::new("/dev");
    directory.starts_with(devices) && system(directory) == system(devices)
}

/// Makes the file, takes its name away, and writes all of it, so that no later write has to find
/// room.
pub(super) fn open(
    directory: &Path,
    span: u64,
    dsync: bool,
    buffered: bool,
    watcher: &mut Watcher<'_>,
) -> Result<Target, Error> {
    let sync = if dsync { libc::O_DSYNC } else { 0 };
    let direct = if buffered { 0 } else { libc::O_DIRECT };
    let (file, direct) = match unnamed(directory, sync | direct) {
        // Some file systems know no O_DIRECT (open(2): EINVAL).
        Err(error) if !buffered && error.raw_os_error() == Some(libc::EINVAL) => {
            (unnamed(directory, sync), false)
        }
        made => (made, !buffered),
    };
    let file = file.map_err(|cause| Error::target("create a file in", directory, cause))?;
    fill(&file, span, watcher)
        .map_err(|cause| Error::target("fill a file in", directory, cause))?;
    let found = file.metadata().map_err(|cause| Error::target("examine", directory, cause))?;
    let node = topology::node_of(&found);
    Ok(Target {
        path: directory.to_path_buf(),
        bytes: span,
        block: node.as_ref().and_then(Node::block).unwrap_or(found.blksize().min(4096) as u32),
        sensors: sensors(node.as_ref().map(|node| node.name.as_str())),
        device: node.as_ref().map(|node| node.name.clone()),
        medium: node.as_ref().and_then(Node::medium),
        is_device: false,
        writable: true,
        direct,
        file,
    })
}

/// A file that never had a name (`O_TMPFILE`); where a file system cannot do that, one whose name
/// is taken away before anything is written.
fn unnamed(directory: &Path, flags: i32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let unnamed = libc::O_TMPFILE | libc::O_EXCL | libc::O_CLOEXEC | flags;
    match options.custom_flags(unnamed).open(directory) {
        // open(2), "O_TMPFILE": not supported by the file system, or by the kernel.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => {
            let name = format!(".iowhy-probe-{}", std::process::id());
            let path = directory.join(name);
            let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | flags;
            let file = options.create_new(true).custom_flags(flags).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        }
        made => made,
    }
}

fn fill(file: &File, span: u64, watcher: &mut Watcher<'_>) -> io::Result<()> {
    let mut chunk = AlignedBuffer::new(CHUNK, &mut Random::seeded(span));
    let mut place = 0;
    let mut done = SoFar::default();
    while place < span {
        if watcher.stop.load(Ordering::Relaxed) {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        let length = (span - place).min(CHUNK as u64) as usize;
        let part = chunk.bytes().get(..length).unwrap_or_default();
        file.write_all_at(part, place)?;
        place += length as u64;
        done.n += 1;
        (watcher.tick)(done);
    }
    file.sync_all()
}

fn human_flag(bytes: u64) -> String {
    format!("{}k", bytes / 1024)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_full_file_system_is_an_error_and_leaves_nothing() {
        let place = std::env::temp_dir().join(format!("iowhy-probe-full-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(&place)
            .status()
            .is_ok_and(|status| status.success());
        let stop = false.into();
        let mut watcher = Watcher { stop: &stop, tick: &mut |_| {} };
        if mounted {
            let free = || rustix::fs::statvfs(&place).unwrap().f_bfree;
            let before = free();
            let error = open(&place, 8 << 20, false, false, &mut watcher).unwrap_err();
            assert!(error.to_string().contains("No space left"), "{error}");
            assert_eq!(free(), before);
            assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
            assert!(Command::new("umount").arg(&place).status().unwrap().success());
        } else {
            println!("skipped: a full file system: needs the right to mount");
        }
        std::fs::remove_dir(&place).unwrap();
    }
}
