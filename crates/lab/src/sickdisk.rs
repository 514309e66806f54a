//! A block device with a known disease, without hardware.
//!
//! A process of its own serves one file by FUSE from memory; each request is answered when the
//! [`disk`](crate::disk) model says. A private loop device with direct I/O makes that file a
//! block device, so that the kernel's own block layer, tracepoints and counters see every request.
//! What the disk really did is written to a log, request by request: that is the truth a
//! tracer is compared with, not the nominal delay.
//!
//! Nothing stays behind. The mount lives in the serving process's own mount namespace and ends
//! with it; the loop device detaches at its last close; whichever of the two processes dies
//! first, the other one takes the loop device away.

mod daemon;
mod device;
mod drive;
mod file;
pub(crate) mod kernel;
mod replies;
mod truth;

pub use daemon::serve;
pub use device::{SickDisk, missing};
pub use drive::{Drive, Driven};
pub use truth::{Entry, HEADING, Truth};

use crate::disk::{Disease, Disk, Model};

/// What disk to make.
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    /// The model as it is written on the command line.
    pub model: String,
    /// Its diseases, likewise.
    pub diseases: Vec<String>,
    /// Its size in bytes.
    pub bytes: u64,
    /// The seed of everything that is chance.
    pub seed: u64,
    /// Where the truth is written.
    pub truth: std::path::PathBuf,
}

impl Spec {
    /// The model.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn model(&self) -> Result<Model, String> {
        Model::parse(&self.model)
    }

    /// The disk, beginning to live at `start`.
    ///
    /// # Errors
    /// If model or diseases are not known or do not go together.
    pub fn disk(&self, start: u64) -> Result<Disk, String> {
        let model = self.model()?;
        let diseases = self.diseases.iter().map(|text| Disease::parse(text));
        let diseases = diseases.collect::<Result<Vec<Disease>, String>>()?;
        if let Some(place) = diseases.iter().position(|disease| !model.can_have(disease)) {
            return Err(format!("`{}` needs `--model rotational`", self.diseases[place]));
        }
        Ok(Disk::new(model.mechanism(self.bytes), &diseases, self.seed, start))
    }
}
