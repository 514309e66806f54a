//! Small files of /sys or of a copy of it: only regular ones, and never more than a page or two.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};

/// Most bytes read; an attribute of /sys holds a page.
const MOST: u64 = 1 << 16;

/// The text of a small file. A copy of /sys may hold a FIFO or a link to a device in its place, which
/// must not even be opened: it is looked at first, and opened by what was looked at.
pub(crate) fn text(path: &Path) -> Option<String> {
    let found = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let known = rustix::fs::fstat(&found).ok()?;
    if FileType::from_raw_mode(known.st_mode) != FileType::RegularFile {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let again = format!("/proc/self/fd/{}", found.as_raw_fd());
    let opened = rustix::fs::open(again, flags, Mode::empty()).ok()?;
    let mut text = String::new();
    File::from(opened).take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}
