//! The I/Os of a probe kept in a file that every other command reads.

use std::io::BufWriter;
use std::path::Path;

use iowhy_capture::Writer;
use iowhy_model::Recording;

use crate::outputs::{Force, Output};

/// The number of the only recording in its file.
const ONLY: u64 = 0;

/// A file made before the probe begins, so that no measurement is lost to a wrong path.
pub struct Keep(Output);

impl Keep {
    /// Makes the file; one that holds something is refused.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(path: &Path, force: Force) -> anyhow::Result<Keep> {
        Ok(Keep(Output::open(path, force, &[])?))
    }

    /// Writes everything that was measured.
    ///
    /// # Errors
    /// If the disk is full or gone.
    pub fn write(self, recording: &Recording) -> anyhow::Result<()> {
        let file = self.0.handle().map_err(|cause| self.0.cannot(cause))?;
        let mut writer = Writer::new(BufWriter::new(file), ONLY);
        recording.emit(&mut writer);
        writer.finish().map_err(|cause| self.0.cannot(cause))?;
        self.0.keep()
    }
}
