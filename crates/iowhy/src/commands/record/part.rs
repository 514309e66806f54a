//! The files of a recording: paths, complete bytes, and which may be removed.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FallocateFlags, access, fallocate};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::messages::HintedError;
use crate::outputs::{Force, Output, WrittenFile};

/// Maximum number of existing files skipped in search of a free number.
const TAKEN: usize = 10_000;

/// Bytes kept free after the last block, so that the end of a recording, with the last counters of
/// each device, fits on a full disk. 16 KiB were too few for 211 devices; this is eight times as
/// much.
const ROOM_FOR_THE_END: u64 = 128 << 10;

/// A file of the recording. Each write is a whole block.
pub(super) struct Part {
    file: File,
    name: PathBuf,
    /// `None` once it is kept in any case.
    output: Option<Output>,
    whole: u64,
    /// The end is being written, for which space is reserved.
    at_the_end: bool,
}

impl Part {
    fn of(output: Output, name: PathBuf) -> anyhow::Result<Part> {
        let file = output.handle().map_err(|cause| output.cannot(cause))?;
        Ok(Part { file, name, output: Some(output), whole: 0, at_the_end: false })
    }

    /// Bytes of its whole blocks.
    pub(super) fn bytes(&self) -> u64 {
        self.whole
    }

    /// Its name.
    pub(super) fn name(&self) -> std::path::Display<'_> {
        self.name.display()
    }

    /// Nothing will be recorded: removes an empty file created for it.
    pub(super) fn abandon(&mut self) {
        if self.whole == 0
            && let Some(output) = self.output.take()
        {
            output.made().iter().for_each(WrittenFile::remove);
        }
    }

    /// Truncates a partial block, so that the next one follows the last complete one.
    pub(super) fn back_to_whole(&mut self) {
        self.at_the_end = true;
        if self.is_file() {
            // If even this fails, the reader skips the rest and reports it. A file without a
            // partial block is not truncated: that would release the space for the end.
            if self.file.metadata().is_ok_and(|about| about.len() > self.whole) {
                let _ = self.file.set_len(self.whole);
            }
            let _ = self.file.seek(SeekFrom::Start(self.whole));
        }
    }

    /// Reserves space for this block and the end. A file system without reservations is written to
    /// anyway.
    fn reserve(&self, bytes: usize) -> io::Result<()> {
        if !self.is_file() {
            return Ok(());
        }
        let room = bytes as u64 + ROOM_FOR_THE_END;
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.whole, room) {
            Err(full @ (Errno::NOSPC | Errno::DQUOT)) => Err(full.into()),
            _ => Ok(()),
        }
    }

    /// Releases the space reserved after the last block.
    fn give_back(&self) {
        if self.is_file() {
            let _ = self.file.set_len(self.whole);
        }
    }

    fn is_file(&self) -> bool {
        self.output.as_ref().is_some_and(|output| !output.is_stdout())
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.at_the_end {
            self.reserve(bytes.len())?;
        }
        self.file.write_all(bytes)?;
        self.whole += bytes.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The path of the files, and the existing ones.
pub(super) struct Place {
    path: PathBuf,
    rotates: bool,
    keep: Option<u32>,
    force: Force,
    count: usize,
    /// The existing files; removable ones with their identity.
    kept: VecDeque<PathBuf>,
    ended: VecDeque<Option<WrittenFile>>,
    /// Bytes of all completed files, including removed ones.
    bytes: u64,
}

impl Place {
    /// For files at this path.
    ///
    /// # Errors If nothing can be written there, or existing data would be lost.
    pub(super) fn new(
        path: &Path,
        rotates: bool,
        keep: Option<u32>,
        force: Force,
    ) -> anyhow::Result<Place> {
        let place = Place {
            path: path.to_path_buf(),
            rotates,
            keep,
            force,
            count: 0,
            kept: VecDeque::new(),
            ended: VecDeque::new(),
            bytes: 0,
        };
        if rotates && place.is_stdout() {
            let hint = "name a file, or omit `--rotate`";
            return Err(HintedError::error("standard output cannot be rotated", hint));
        }
        Ok(place)
    }

    /// Whether the capture goes to standard output.
    pub(super) fn is_stdout(&self) -> bool {
        self.path == Path::new("-")
    }

    /// The existing files.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.kept.iter().map(PathBuf::as_path)
    }

    /// Bytes written in all.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Opens the next file.
    ///
    /// # Errors
    /// If it cannot be opened, or exists.
    pub(super) fn next(&mut self) -> anyhow::Result<Part> {
        let first = self.count == 0;
        let mut name = self.path.clone();
        if self.rotates && !self.is_stdout() {
            name = self.numbered(self.count);
            // An older file in the middle of a recording is no reason to stop.
            let last = self.count + TAKEN;
            while !first && self.count < last && name.symlink_metadata().is_ok() {
                self.count += 1;
                name = self.numbered(self.count);
            }
        }
        self.count += 1;
        let part = Part::of(Output::open_named(&name, self.force)?, name.clone())?;
        self.kept.push_back(name);
        Ok(part)
    }

    /// Whether another file could be created with the remaining privileges.
    ///
    /// # Errors
    /// If not.
    pub(super) fn check_next(&self) -> anyhow::Result<()> {
        let parent = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = parent.unwrap_or(Path::new("."));
        if self.rotates && access(folder, Access::WRITE_OK | Access::EXEC_OK).is_err() {
            let text = format!(
                "cannot create further files in `{}` after dropping privileges at the start",
                folder.display()
            );
            return Err(HintedError::error(text, "use a folder that you own, or omit `--rotate`"));
        }
        Ok(())
    }

    /// A file is complete; removes older ones.
    pub(super) fn done(&mut self, part: &mut Part) {
        self.bytes += part.bytes();
        part.give_back();
        let Some(keep) = self.keep else { return };
        self.ended.push_back(part.output.as_ref().and_then(Output::made));
        while self.kept.len() > keep as usize {
            self.kept.pop_front();
            // A file that was moved or replaced is not removed.
            if let Some(Some(oldest)) = self.ended.pop_front() {
                oldest.remove();
            }
        }
    }

    fn numbered(&self, count: usize) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{count:04}"));
        name.into()
    }
}

/// The identity of this recording: its start in nanoseconds since 1970.
pub(super) fn stream_number() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}
