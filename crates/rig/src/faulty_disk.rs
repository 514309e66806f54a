//! A block device with a known fault, without hardware.
//!
//! A separate process serves one file by FUSE from memory; each request completes when the
//! [`disk`](iowhy_lab::disk) model says. A private loop device with direct I/O makes that file a
//! block device, so that the kernel's own block layer, tracepoints and counters see every request.
//! What the disk really did is written to a log, request by request: that is the truth a
//! tracer is compared with, not the nominal delay.
//!
//! Nothing is left behind. The mount is in the serving process's own mount namespace and ends with
//! it; the loop device detaches at its last close; whichever of the two processes ends first, the
//! other one removes the loop device.

mod daemon;
mod device;
mod drive;
mod file;
pub(crate) mod kernel;
mod replies;
mod truth;

pub use daemon::serve;
pub use device::{FaultyDisk, missing};
pub use drive::{Drive, RunningDrive};
pub use iowhy_lab::disk::Spec;
pub use truth::{Entry, HEADING, Truth};

/// The variable that marks what runs on the disk, down to the last grandchild. Its value is the
/// serving process's number. (A process group would not do: fio's jobs leave theirs.)
const MARK: &str = "RIG_FAULTY_DISK";

/// Where the file is mounted. The namespace is private, so nothing is hidden from others.
const MOUNT_POINT: &str = "/mnt";
