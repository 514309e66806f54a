//! What a probe may touch: reads by default, writes only where no data can be lost.
//!
//! A target is examined first, which changes nothing; the planned writes are described; only then
//! it is opened. Writes go to a new unnamed file, which disappears whatever happens to the process,
//! or to a block device that passes every check, whose serial number the user typed, and that
//! contains zeros wherever it is written to.

mod device;
mod new_file;
mod signatures;
mod topology;

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use topology::Node;

use crate::engine::Watcher;
use crate::error::Error;
use crate::target::{EDGE_BYTES, Target, sensors};

/// The purpose of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Read what is there.
    Read,
    /// Write.
    Write {
        /// Size of the test file, or of the tested region of a device.
        span: u64,
        /// Bytes the measurement itself writes.
        bytes: u64,
        /// Whether each write must be durable when it returns (`O_DSYNC`).
        dsync: bool,
    },
}

/// What the user agreed to.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The serial number as it was typed.
    pub serial: Option<String>,
    /// Maximum number of bytes to write, instead of 1 % of the size.
    pub cap: Option<u64>,
    /// Whether a device that others use may be loaded.
    pub share: bool,
    /// Whether reads and writes pass the page cache by.
    pub buffered: bool,
}

/// A target that was examined and found safe; opening it is the next step.
#[derive(Debug)]
pub struct Permit {
    path: PathBuf,
    purpose: Purpose,
    what: Access,
    terms: Terms,
}

#[derive(Debug)]
enum Access {
    Read(Option<Node>),
    NewFile,
    Device(Node),
}

/// Examines a target without changing anything.
///
/// # Errors
/// If it cannot be examined, or may not be touched that way.
pub fn examine(path: &Path, purpose: Purpose, terms: &Terms) -> Result<Permit, Error> {
    // Links are followed first: the target counts.
    let resolved = path.canonicalize();
    let permit = |path: &Path, what| {
        Ok(Permit { path: path.to_path_buf(), purpose, what, terms: terms.clone() })
    };
    let Purpose::Write { span, bytes, .. } = purpose else {
        let path = resolved.map_err(|cause| Error::target("examine", path, cause))?;
        let kind = path.metadata().map_err(|cause| Error::target("examine", &path, cause))?;
        let node = topology::node_of(&kind);
        if !(kind.file_type().is_block_device() || kind.file_type().is_file()) {
            return Err(Error::refused(
                "read",
                &path,
                "it is neither a block device nor a regular file",
                "name a device or a large file; a probe that writes needs a directory",
            ));
        }
        return permit(&path, Access::Read(node));
    };
    match resolved {
        Ok(path) => {
            let found = path.metadata().map_err(|cause| Error::target("examine", &path, cause))?;
            if found.file_type().is_block_device() {
                let node = device::examine(&path, &found, span, bytes, terms)?;
                return permit(&path, Access::Device(node));
            }
            if !found.is_dir() {
                return Err(Error::refused(
                    "write to",
                    &path,
                    "it already exists, and iowhy writes only to new files",
                    "name a directory; an unnamed file is created in it and disappears at the end",
                ));
            }
            new_file::examine(&path, span, terms)?;
            permit(&path, Access::NewFile)
        }
        Err(cause) => {
            // A name that does not exist represents the directory it would be in.
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new(".")).canonicalize();
            let dangling = path.symlink_metadata().is_ok();
            match parent {
                Ok(parent) if parent.is_dir() && !dangling => {
                    new_file::examine(&parent, span, terms)?;
                    permit(&parent, Access::NewFile)
                }
                _ => Err(Error::target("examine", path, cause)),
            }
        }
    }
}

impl Permit {
    /// What will be written, in a sentence; `None` if nothing will be.
    pub fn words(&self) -> Option<String> {
        let Purpose::Write { span, bytes, .. } = self.purpose else { return None };
        let path = self.path.display();
        Some(match self.what {
            Access::Device(_) => format!(
                "writes {} to `{path}` between its first and last {}, which are empty; the area to \
                 be overwritten is read first, and the probe ends if it contains anything but \
                 zeros",
                human(bytes),
                human(EDGE_BYTES)
            ),
            _ => format!(
                "writes {} to fill a new file in `{path}`, then {} to measure; the file is unnamed \
                 and disappears however the probe ends",
                human(span),
                human(bytes)
            ),
        })
    }

    /// Opens the target; a new file is written in full first.
    ///
    /// # Errors
    /// If the system refuses, or if something about a device changed since it was examined.
    pub fn open(self, watcher: &mut Watcher<'_>) -> Result<Target, Error> {
        match (self.what, self.purpose) {
            (Access::Device(node), Purpose::Write { span, bytes, dsync }) => {
                device::open(&self.path, &node, span, bytes, dsync, &self.terms, watcher)
            }
            (_, Purpose::Write { span, dsync, .. }) => {
                new_file::open(&self.path, span, dsync, self.terms.buffered, watcher)
            }
            (Access::Read(node), Purpose::Read) => read(self.path, node, self.terms.buffered),
            (_, Purpose::Read) => read(self.path, None, self.terms.buffered),
        }
    }
}

fn read(path: PathBuf, node: Option<Node>, buffered: bool) -> Result<Target, Error> {
    let open = |direct: bool| {
        let flags = if direct { libc::O_DIRECT } else { 0 };
        OpenOptions::new().read(true).custom_flags(flags | libc::O_CLOEXEC).open(&path)
    };
    let (mut file, direct) = match open(!buffered) {
        // Some file systems know no O_DIRECT (open(2): EINVAL).
        Err(error) if !buffered && error.raw_os_error() == Some(libc::EINVAL) => {
            (open(false).map_err(|cause| Error::target("open", &path, cause))?, false)
        }
        opened => (opened.map_err(|cause| Error::target("open", &path, cause))?, !buffered),
    };
    let kind = file.metadata().map_err(|cause| Error::target("examine", &path, cause))?;
    let bytes =
        file.seek(SeekFrom::End(0)).map_err(|cause| Error::target("measure", &path, cause))?;
    Ok(Target {
        file,
        bytes,
        block: node.as_ref().and_then(Node::block).unwrap_or(kind.blksize().min(4096) as u32),
        sensors: sensors(node.as_ref().map(|node| node.name.as_str())),
        device: node.as_ref().map(|node| node.name.clone()),
        medium: node.as_ref().and_then(Node::medium),
        is_device: kind.file_type().is_block_device(),
        writable: false,
        direct,
        path,
    })
}

/// Bytes in the largest unit of 1024 that leaves at least 1.
pub fn human(bytes: u64) -> String {
    iowhy_model::numbers::bytes(bytes as f64)
}
