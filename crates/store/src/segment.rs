//! A segment that is being written: whole blocks only, whatever the disk says.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that grows by whole blocks. What could not be written to its end is cut off again.
#[derive(Debug)]
pub struct Segment {
    file: File,
    path: PathBuf,
    whole: u64,
}

impl Segment {
    /// Makes a file that is not there yet, readable by its owner and group.
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
                // If even this fails, the reader passes over what is half written.
                let _ = self.file.set_len(self.whole);
                Err(error)
            }
        }
    }

    /// Hands it to the disk.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Bytes of its whole blocks.
    pub fn bytes(&self) -> u64 {
        self.whole
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
