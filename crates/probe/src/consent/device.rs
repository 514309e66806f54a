//! Writing to a whole device: only if it is empty, unused, and confirmed.

use std::collections::BTreeSet;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use iowhy_model::Random;

use super::topology::{self, Node};
use super::{Terms, human, signatures};
use crate::engine::{AlignedBuffer, SoFar, Watcher};
use crate::error::Error;
use crate::target::{EDGE_BYTES, Target, sensors};

/// Bytes of each read that looks for data where it is going to be written.
const CHUNK: usize = 1 << 20;
/// Share of a device that may be written without `--cap`.
const CAP_SHARE: u64 = 100;
/// How often an open device is checked again, and the pause before each check.
const LOOKS: usize = 4;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Examines a device; it is opened for reading only, and nothing is changed.
pub(super) fn examine(
    path: &Path,
    found: &Metadata,
    span: u64,
    bytes: u64,
    terms: &Terms,
) -> Result<Node, Error> {
    let Some(node) = topology::node_of(found) else {
        return Err(refuse(path, "it is not listed in /sys"));
    };
    let objections = objections(path, &node);
    if !objections.is_empty() {
        return Err(refuse(path, &objections.join("; ")));
    }
    let size = size_of(path)?;
    let room = size.saturating_sub(2 * EDGE_BYTES);
    if span > room {
        return Err(refuse(path, &format!("it has only {}", human(room))));
    }
    let cap = terms.cap.unwrap_or(size / CAP_SHARE);
    if bytes > cap {
        return Err(Error::refused(
            "write to",
            path,
            format!(
                "{} exceed the limit of {} (1 % of the device, or `--cap`)",
                human(bytes),
                human(cap)
            ),
            format!("write less, or allow it with `--cap {bytes}`"),
        ));
    }
    let serial = node.serial();
    match (&serial, &terms.serial) {
        (None, _) => {
            Err(refuse(path, "it has no serial number to confirm that it is the right device"))
        }
        (Some(serial), Some(typed)) if serial == typed.trim() => Ok(node),
        (Some(_), Some(_)) => Err(refuse(path, "the serial number does not match")),
        (Some(_), None) => Err(Error::refused(
            "write to",
            path,
            "its serial number was not given",
            format!(
                "overwritten data is lost; to confirm, add `--serial` with its serial number: \
                 `lsblk -dno SERIAL {0}` prints it; for a loop device it is the backing file, \
                 which `losetup {0}` prints",
                path.display()
            ),
        )),
    }
}

/// Opens it for writing, for us alone, and looks once more: at both ends, and at all that will be
/// written over.
pub(super) fn open(
    path: &Path,
    node: &Node,
    span: u64,
    bytes: u64,
    dsync: bool,
    terms: &Terms,
    watcher: &mut Watcher<'_>,
) -> Result<Target, Error> {
    let flags = libc::O_EXCL | libc::O_DIRECT | libc::O_CLOEXEC;
    let flags = if dsync { flags | libc::O_DSYNC } else { flags };
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path)
        .map_err(|cause| Error::target("open for writing", path, cause))?;
    // The opened device is examined, not the path.
    let found = file.metadata().map_err(|cause| Error::target("examine", path, cause))?;
    let again = topology::node_of(&found).filter(|again| again == node);
    if again.is_none() {
        return Err(refuse(path, "it was replaced by another device"));
    }
    let objections: Vec<String> = in_use(node).chain(marks(&file, path)?).collect();
    if !objections.is_empty() {
        return Err(refuse(path, &objections.join("; ")));
    }
    let held = data_in(&file, EDGE_BYTES, span, watcher)
        .map_err(|cause| Error::target("read the area to be overwritten on", path, cause))?;
    if let Some(place) = held {
        return Err(Error::refused(
            "write to",
            path,
            format!("it contains data at byte {place} that would be overwritten"),
            format!(
                "only zeros are overwritten, even after another probe; if the data there is not \
                 needed: `dd if=/dev/zero of={} bs=1M seek={} count={} oflag=direct`",
                path.display(),
                EDGE_BYTES >> 20,
                span.div_ceil(1 << 20)
            ),
        ));
    }
    debug_assert!(terms.serial.is_some() && bytes > 0);
    Ok(Target {
        path: path.to_path_buf(),
        file,
        bytes: EDGE_BYTES + span,
        block: node.block().unwrap_or(4096),
        sensors: sensors(Some(&node.name)),
        device: Some(node.name.clone()),
        medium: node.medium(),
        is_device: true,
        writable: true,
        direct: true,
    })
}

/// The first byte that is not zero in `span` bytes from `from` on.
///
/// # Errors
/// If it cannot all be read, or the user asked to stop.
fn data_in(
    file: &File,
    from: u64,
    span: u64,
    watcher: &mut Watcher<'_>,
) -> io::Result<Option<u64>> {
    // As long as the device's own blocks make it, which O_DIRECT asks for; the rest of the last one
    // is looked at, too: a write to its first bytes writes all of it.
    let mut chunk = AlignedBuffer::new(CHUNK, &mut Random::seeded(0));
    let end = from + span.div_ceil(4096) * 4096;
    let (mut place, mut so_far) = (from, SoFar::default());
    while place < end {
        if watcher.stopped() {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        let length = (end - place).min(CHUNK as u64) as usize;
        let part = chunk.bytes().get_mut(..length).unwrap_or_default();
        file.read_exact_at(part, place)?;
        if let Some(at) = part.iter().position(|byte| *byte != 0) {
            return Ok(Some(place + at as u64));
        }
        place += length as u64;
        so_far.n += 1;
        (watcher.tick)(so_far);
    }
    Ok(None)
}

/// All reasons against writing to it.
fn objections(path: &Path, node: &Node) -> Vec<String> {
    let disk = node.disk();
    let mut found = Vec::new();
    if disk.read("ro").as_deref() == Some("1") || node.read("ro").as_deref() == Some("1") {
        found.push("it is read-only".to_string());
    }
    if disk.read("removable").as_deref() == Some("1") {
        found.push("it is removable".to_string());
    }
    let below = node.children("slaves");
    if !below.is_empty() {
        found.push(format!("it consists of {}", below.join(", ")));
    }
    let partitions: Vec<String> = node.partitions().into_iter().map(|part| part.name).collect();
    if !partitions.is_empty() {
        found.push(format!("it has partitions ({})", partitions.join(", ")));
    }
    found.extend(in_use(node));
    let family = node.family();
    let holders = lasting_holders(&family);
    if !holders.is_empty() {
        found.push(format!("{} holds it open", holders.join(", ")));
    }
    // O_EXCL: the kernel itself refuses what is mounted or claimed. O_DIRECT: see the device, not
    // the page cache.
    let flags = libc::O_EXCL | libc::O_DIRECT | libc::O_CLOEXEC;
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => match marks(&file, path) {
            Ok(marks) => found.extend(marks),
            Err(error) => found.push(error.to_string()),
        },
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            found.push("the kernel reports it as in use".to_string());
            // Its signatures still show what uses it.
            let flags = libc::O_DIRECT | libc::O_CLOEXEC;
            let plain = OpenOptions::new().read(true).custom_flags(flags).open(path);
            found.extend(plain.ok().and_then(|file| marks(&file, path).ok()).into_iter().flatten());
        }
        Err(error) => found.push(format!("it cannot be opened: {error}")),
    }
    found
}

/// Processes that keep any of these open, not only for a moment: `losetup`, `udevd` and `blkid`
/// look into each device that appears.
fn lasting_holders(family: &BTreeSet<String>) -> Vec<String> {
    let mut holders = topology::open_in(family);
    for _ in 0..LOOKS {
        if holders.is_empty() {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
        holders = topology::open_in(family);
    }
    holders
}

fn in_use(node: &Node) -> impl Iterator<Item = String> + use<> {
    let family = node.family();
    let mut found = Vec::new();
    let mut note = |what: &str, by: Vec<String>| {
        if !by.is_empty() {
            found.push(format!("{what} {}", by.join(", ")));
        }
    };
    note("it is mounted on", topology::mounted(&family));
    note("it is used for swap as", topology::swapped_to(&family));
    note("it is part of", node.children("holders"));
    note("it is part of", node.disk().children("holders"));
    note("it is the backing file of", topology::looped(&family));
    found.into_iter()
}

fn marks(file: &File, path: &Path) -> Result<Vec<String>, Error> {
    let mut file = file.try_clone().map_err(|cause| Error::target("examine", path, cause))?;
    let bytes =
        file.seek(SeekFrom::End(0)).map_err(|cause| Error::target("measure", path, cause))?;
    let marks = signatures::found(&file, bytes, EDGE_BYTES)
        .map_err(|cause| Error::target("read", path, cause))?;
    Ok(marks.into_iter().map(|what| format!("it contains {what}")).collect())
}

fn size_of(path: &Path) -> Result<u64, Error> {
    let measured = File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)));
    measured.map_err(|cause| Error::target("measure", path, cause))
}

fn refuse(path: &Path, why: &str) -> Error {
    Error::refused(
        "write to",
        path,
        why,
        "name a directory instead: a new unnamed file is created in it",
    )
}
