//! The laboratory: disks with a known disease, and the tests that keep the tree tidy. Never
//! shipped; no crate that is may depend on it.
//!
//! - [`disk`] is arithmetic: disks, healthy and sick, as functions of time.
//! - [`score`] holds verdicts against the truth of simulated disks.
//! - [`sickdisk`] puts such a disk behind a real block device.
//! - [`simulate`] sends a load to such a disk without waiting.
//! - [`tidy`] holds the laws of docs/ARCHITECTURE.md as tests over the source text.

pub mod disk;
pub mod score;
pub mod sickdisk;
pub mod simulate;
pub mod tidy;
