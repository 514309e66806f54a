//! The files of a recording: where they are, how far each is whole, and which may be removed.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::time::{ClockId, clock_gettime};

use crate::messages::Hinted;

/// A file of the recording. Each write is a whole block.
pub struct Part {
    file: File,
    name: PathBuf,
    /// A file that can be cut, not a pipe or a device.
    regular: bool,
    whole: u64,
}

impl Part {
    /// Bytes of its whole blocks.
    pub fn bytes(&self) -> u64 {
        self.whole
    }

    /// Its name.
    pub fn name(&self) -> std::path::Display<'_> {
        self.name.display()
    }

    /// Nothing will be recorded: an empty file that was made for it goes.
    pub fn abandon(&self) {
        if self.regular && self.file.metadata().is_ok_and(|file| file.len() == 0) {
            // If it stays, it is empty and in nobody's way.
            let _ = std::fs::remove_file(&self.name);
        }
    }

    /// Cuts off the block that could not be written to its end.
    pub fn back_to_whole(&mut self) {
        if self.regular {
            // If even this fails, the reader passes over the rest and says so.
            let _ = self.file.set_len(self.whole);
        }
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.whole += bytes.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Where the files go, and which are there.
pub struct Place {
    path: PathBuf,
    rotates: bool,
    keep: Option<u32>,
    count: usize,
    /// The files that are there.
    kept: VecDeque<PathBuf>,
    /// Bytes of all files that were ended, also those removed since.
    bytes: u64,
}

impl Place {
    /// For files at this path.
    ///
    /// # Errors
    /// If nothing can be written there, or something would be lost by it.
    pub fn new(path: &Path, rotates: bool, keep: Option<u32>) -> anyhow::Result<Place> {
        let place = Place {
            path: path.to_path_buf(),
            rotates,
            keep,
            count: 0,
            kept: VecDeque::new(),
            bytes: 0,
        };
        if rotates && place.is_stdout() {
            let hint = "name a file, or leave `--rotate` out";
            return Err(Hinted::error("standard output cannot be rotated", hint));
        }
        Ok(place)
    }

    /// Whether the capture goes to standard output.
    pub fn is_stdout(&self) -> bool {
        self.path == Path::new("-")
    }

    /// The files that are there.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.kept.iter().map(PathBuf::as_path)
    }

    /// Bytes written in all.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Opens the next file.
    ///
    /// # Errors
    /// If it cannot be opened, or holds something already.
    pub fn next(&mut self) -> anyhow::Result<Part> {
        if self.is_stdout() {
            let file = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 0).map_err(io::Error::from)?;
            let file = File::from(file);
            self.kept.push_back(self.path.clone());
            return Ok(Part { file, name: PathBuf::from("-"), regular: false, whole: 0 });
        }
        let name = if self.rotates { self.numbered(self.count) } else { self.path.clone() };
        self.count += 1;
        let shown = name.display();
        let cannot = |cause: io::Error| {
            let hint = "name a file in a folder that you may write to";
            Hinted::error(format!("cannot write `{shown}`: {cause}"), hint)
        };
        if let Ok(there) = std::fs::metadata(&name) {
            if there.file_type().is_block_device() {
                let hint = "name a file; a recorder never writes to a device";
                return Err(Hinted::error(format!("`{shown}` is a block device"), hint));
            }
            if there.is_file() && there.len() > 0 {
                let hint = "name another file, or remove this one first";
                return Err(Hinted::error(format!("`{shown}` holds something already"), hint));
            }
        }
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&name)
            .map_err(cannot)?;
        let regular = file.metadata().map_err(cannot)?.is_file();
        self.kept.push_back(name.clone());
        Ok(Part { file, name, regular, whole: 0 })
    }

    /// Whether another file could be made with the rights that are left.
    ///
    /// # Errors
    /// If not.
    pub fn check_next(&self) -> anyhow::Result<()> {
        let parent = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = parent.unwrap_or(Path::new("."));
        if self.rotates && access(folder, Access::WRITE_OK | Access::EXEC_OK).is_err() {
            let text = format!(
                "cannot make another file in `{}` without the rights that are given up after the start",
                folder.display()
            );
            return Err(Hinted::error(
                text,
                "choose a folder of your own, or leave `--rotate` out",
            ));
        }
        Ok(())
    }

    /// A file was ended; older ones may go.
    pub fn done(&mut self, part: &Part) {
        self.bytes += part.bytes();
        while self.keep.is_some_and(|keep| self.kept.len() > keep as usize) {
            let Some(oldest) = self.kept.pop_front() else { break };
            // One that somebody moved away is gone already.
            let _ = std::fs::remove_file(oldest);
        }
    }

    fn numbered(&self, count: usize) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{count:04}"));
        name.into()
    }
}

/// What tells this recording from any other: when it began, in nanoseconds since 1970.
pub fn stream_number() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}
