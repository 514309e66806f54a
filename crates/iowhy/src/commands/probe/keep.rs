//! The I/Os of a probe kept in a file that every other command reads.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use iowhy_capture::Writer;
use iowhy_model::Recording;

use crate::messages::Hinted;

/// The number of the only recording in its file.
const ONLY: u64 = 0;

/// A file made before the probe begins, so that no measurement is lost to a wrong path.
pub struct Keep {
    path: PathBuf,
    file: File,
}

impl Keep {
    /// Makes the file; one that is there already is refused.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(path: &Path) -> anyhow::Result<Keep> {
        match File::create_new(path) {
            Ok(file) => Ok(Keep { path: path.to_path_buf(), file }),
            Err(cause) => Err(cannot(path, &cause)),
        }
    }

    /// Writes everything that was measured.
    ///
    /// # Errors
    /// If the disk is full or gone.
    pub fn write(self, recording: &Recording) -> anyhow::Result<()> {
        let mut writer = Writer::new(BufWriter::new(self.file), ONLY);
        recording.pour(&mut writer);
        writer.finish().map_err(|cause| cannot(&self.path, &cause))
    }

    /// Takes the file away: nothing was measured.
    pub fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn cannot(path: &Path, cause: &io::Error) -> anyhow::Error {
    let text = format!("cannot keep the I/Os in `{}`: {cause}", path.display());
    Hinted::error(text, "name a new file in a folder that you may write to")
}
