//! Files in untrusted trees, such as a copy of /sys: only regular ones, and of small ones at most a
//! page or two.

use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

/// Most bytes read; an attribute of /sys contains a page.
const MOST: u64 = 1 << 16;
/// Entries of folders and lines of files read: more is not useful.
pub(crate) const MOST_ENTRIES: usize = 16_384;
/// Most bytes read of a list.
const LARGEST: u64 = 4 << 20;

/// Whether a copy of /sys contains something that the kernel does not create: not a regular file,
/// folder or link to one in the copy, or a queue setting that is too long. A dangling link is
/// normal.
pub fn is_foreign_to_sys(copy: BorrowedFd<'_>, path: &Path) -> bool {
    let ways = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let found = match rustix::fs::openat2(copy, path, FOUND, Mode::empty(), ways) {
        Ok(found) => found,
        Err(error) => return error != rustix::io::Errno::NOENT,
    };
    let Ok(known) = rustix::fs::fstat(found) else { return true };
    match FileType::from_raw_mode(known.st_mode) {
        FileType::Directory => false,
        FileType::RegularFile => {
            let is_setting = path.parent().is_some_and(|folder| folder.ends_with("queue"));
            is_setting && u64::try_from(known.st_size).is_ok_and(|size| size > MOST)
        }
        _ => true,
    }
}

/// Opens a regular file below a folder to read it; links that leave the folder are refused, and
/// others if `more` says so. Such a tree may contain a FIFO or a link to a device, which must not
/// even be opened: the file is looked up without opening it, checked, and opened through that
/// descriptor.
///
/// # Errors If it is not a regular file, is outside the folder, or cannot be opened.
pub fn open_below(folder: BorrowedFd<'_>, path: &Path, more: ResolveFlags) -> io::Result<File> {
    let ways = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
    open_found(&rustix::fs::openat2(folder, path, FOUND, Mode::empty(), ways)?)
}

const FOUND: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

fn open_found(found: &OwnedFd) -> io::Result<File> {
    let known = rustix::fs::fstat(found)?;
    if FileType::from_raw_mode(known.st_mode) != FileType::RegularFile {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let again = format!("/proc/self/fd/{}", found.as_raw_fd());
    Ok(File::from(rustix::fs::open(again, READ, Mode::empty())?))
}

fn open_attribute(path: &Path) -> io::Result<File> {
    let opened = rustix::fs::open(path, READ, Mode::empty())?;
    let known = rustix::fs::fstat(&opened)?;
    match FileType::from_raw_mode(known.st_mode) {
        FileType::RegularFile => Ok(File::from(opened)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// The text of a small file. In a copy of /sys no link leads out of the copy.
pub(crate) fn text(path: &Path) -> Option<String> {
    let opened = match path.ancestors().skip(1).find(|folder| folder.ends_with("sys")) {
        Some(tree) if tree != Path::new("/sys") => {
            let folder = rustix::fs::open(tree, FOUND | OFlags::DIRECTORY, Mode::empty()).ok()?;
            open_below(folder.as_fd(), path.strip_prefix(tree).ok()?, ResolveFlags::empty())
        }
        // The kernel's own tree contains no such links and no FIFO.
        Some(_) => open_attribute(path),
        None => open_found(&rustix::fs::open(path, FOUND, Mode::empty()).ok()?),
    };
    let mut text = String::new();
    opened.ok()?.take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The entries of a folder; empty if it cannot be read.
pub(crate) fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// The entries of a folder below the root, without following links: a copy may be untrusted.
pub(crate) fn own_entries(root: &Path, folder: &str) -> impl Iterator<Item = DirEntry> + use<> {
    let mut place = root.to_path_buf();
    let is_own = Path::new(folder).components().all(|part| {
        place.push(part);
        place.symlink_metadata().is_ok_and(|known| known.is_dir())
    });
    is_own.then(|| entries(&place)).into_iter().flatten()
}

/// The text of a file below the root; in a copy only a regular file of that copy.
pub(crate) fn text_below(root: &Path, path: &str) -> Option<String> {
    let file = if root == Path::new("/") {
        File::open(root.join(path)).ok()?
    } else {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(root, flags, Mode::empty()).ok()?;
        open_below(folder.as_fd(), Path::new(path), ResolveFlags::NO_SYMLINKS).ok()?
    };
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::CWD;

    use super::*;

    #[test]
    fn of_a_copy_of_sys_only_its_own_regular_files_are_read() {
        let top = std::env::temp_dir().join(format!("iowhy-small-{}", std::process::id()));
        let queue = top.join("sys/devices/sda/queue");
        std::fs::create_dir_all(&queue).unwrap();
        std::fs::create_dir_all(top.join("sys/block")).unwrap();
        symlink("../devices/sda", top.join("sys/block/sda")).unwrap();
        std::fs::write(queue.join("scheduler"), "none").unwrap();
        std::fs::write(top.join("secret"), "secret").unwrap();
        symlink("../../../../secret", queue.join("out")).unwrap();
        symlink("/dev/zero", queue.join("zero")).unwrap();
        let fifo = queue.join("fifo");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let long = File::create(queue.join("long")).unwrap();
        long.set_len(10 << 30).unwrap();
        let read = |name: &str| text(&top.join("sys/block/sda/queue").join(name));
        assert_eq!(read("scheduler").as_deref(), Some("none"));
        for name in ["out", "zero", "fifo", "missing"] {
            assert_eq!(read(name), None, "{name}");
        }
        symlink("../../../bus/scsi", queue.join("subsystem")).unwrap();
        let copy = rustix::fs::open(top.join("sys"), FOUND, Mode::empty()).unwrap();
        for name in ["out", "zero", "fifo", "long", "scheduler", "subsystem", "."] {
            let path = Path::new("devices/sda/queue").join(name);
            let is_the_kernels = ["scheduler", "subsystem", "."].contains(&name);
            assert_eq!(is_foreign_to_sys(copy.as_fd(), &path), !is_the_kernels, "{name}");
        }
        assert_eq!(read("long").map(|text| text.len()), Some(MOST as usize));
        std::fs::remove_dir_all(&top).unwrap();
    }
}
