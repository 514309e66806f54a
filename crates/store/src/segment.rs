//! A segment that is being written: whole blocks only, even if the disk fails.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that grows by whole blocks. A partial write is truncated.
#[derive(Debug)]
pub struct Segment {
    file: File,
    path: PathBuf,
    whole: u64,
}

impl Segment {
    /// Creates a new file, readable by its owner and group.
    ///
    /// # Errors
    /// If there is one, or none can be made.
    pub fn create(path: &Path) -> io::Result<Segment> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = OpenOptions::new();
        options.append(true).create_new(true).mode(0o640);
        Ok(Segment { file: options.open(path)?, path: path.to_path_buf(), whole: 0 })
    }

    /// Adds whole blocks, all of them or none.
    ///
    /// # Errors
    /// If the disk is full, or refuses.
    pub fn append(&mut self, blocks: &[u8]) -> io::Result<()> {
        match self.file.write_all(blocks) {
            Ok(()) => {
                self.whole += blocks.len() as u64;
                Ok(())
            }
            Err(error) => {
                // If even this fails, the reader skips the partial block.
                let _ = self.file.set_len(self.whole);
                Err(error)
            }
        }
    }

    /// Syncs it to the disk.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Size of its whole blocks in bytes.
    pub fn bytes(&self) -> u64 {
        self.whole
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
