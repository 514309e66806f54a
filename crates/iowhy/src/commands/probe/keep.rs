//! Saves the I/Os of a probe in a file that every other command reads.

use std::io::BufWriter;
use std::path::Path;

use iowhy_capture::Writer;
use iowhy_model::Recording;

use crate::outputs::{Force, Output};

/// The number of the only recording in its file.
const ONLY: u64 = 0;

/// A file created before the probe begins, so that a wrong path costs no measurement.
pub(super) struct Keep(Output);

impl Keep {
    /// Creates the file; a non-empty one is refused.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn new(path: &Path, force: Force) -> anyhow::Result<Keep> {
        Ok(Keep(Output::open(path, force, &[])?))
    }

    /// Writes everything that was measured.
    ///
    /// # Errors
    /// If the disk is full or gone.
    pub(super) fn write(self, recording: &Recording) -> anyhow::Result<()> {
        let file = self.0.handle().map_err(|cause| self.0.cannot(cause))?;
        let mut writer = Writer::new(BufWriter::new(file), ONLY);
        recording.emit(&mut writer);
        writer.finish().map_err(|cause| self.0.cannot(cause))?;
        self.0.keep()
    }
}
