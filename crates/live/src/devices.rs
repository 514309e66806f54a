//! The block devices of a machine, as /sys shows them.

use std::fs;
use std::path::{Path, PathBuf};

use iowhy_model::Order as _;
use iowhy_model::{FactKey, KernelDisk, Medium, key};

use crate::Error;
use crate::foreign_files;
use crate::watch_list::{is_without_requests, parse_numbers};

/// A whole disk and what /sys reports about it.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockDevice {
    /// Its name: `sda`, `nvme0n1`, `dm-0`.
    pub name: String,
    /// Its major number, which identifies the driver.
    pub major: u32,
    /// Its minor number.
    pub minor: u32,
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// Its medium; `None` if the system does not report it reliably.
    pub medium: Option<Medium>,
    /// Vendor and model as the device reports them.
    pub model: Option<String>,
    /// Names of its partitions with their numbers.
    pub partitions: Vec<(String, u32, u32)>,
    /// The devices below it (for dm and md).
    pub slaves: Vec<String>,
    /// The devices built upon it.
    pub holders: Vec<String>,
    /// It is bio-based: dm, md, zram.
    pub without_requests: bool,
    /// Queue settings, `queue.scheduler` and so on, each with the path it was read from.
    pub facts: Vec<(FactKey, String, String)>,
}

/// The sequence number of a disk since boot (Documentation/ABI/stable/sysfs-block, `diskseq`): a
/// name is given again once its disk is gone. `None` before Linux 5.15, and if it is gone.
pub fn disk_sequence(name: &str) -> Option<u64> {
    if name.is_empty() || name.starts_with('.') {
        return None;
    }
    let folder = Path::new("/sys/block").join(name.replace('/', "!"));
    fs::read_to_string(folder.join("diskseq")).ok()?.trim().parse().ok()
}

impl BlockDevice {
    /// The layers below or above it, as text; `None` if there are none.
    pub fn stack_words(&self) -> Option<String> {
        let below = (!self.slaves.is_empty())
            .then(|| format!("consists of {}, listed in their own rows", self.slaves.join(", ")));
        let above =
            (!self.holders.is_empty()).then(|| format!("is part of {}", self.holders.join(", ")));
        let both: Vec<String> = below.into_iter().chain(above).collect();
        (!both.is_empty()).then(|| format!("`{}` {}", self.name, both.join(", and ")))
    }
}

/// Attributes read for each device: the fact's name and the file.
const FACTS: [(FactKey, &str); 18] = [
    (key::QUEUE_SCHEDULER, "queue/scheduler"),
    (key::QUEUE_ROTATIONAL, "queue/rotational"),
    (key::QUEUE_NR_REQUESTS, "queue/nr_requests"),
    (key::QUEUE_WRITE_CACHE, "queue/write_cache"),
    (key::QUEUE_FUA, "queue/fua"),
    (key::QUEUE_READ_AHEAD, "queue/read_ahead_kb"),
    (key::QUEUE_MAX_SECTORS, "queue/max_sectors_kb"),
    (key::QUEUE_LOGICAL_BLOCK_SIZE, "queue/logical_block_size"),
    (key::QUEUE_PHYSICAL_BLOCK_SIZE, "queue/physical_block_size"),
    (key::QUEUE_WBT_LATENCY, "queue/wbt_lat_usec"),
    (key::QUEUE_DISCARD_MAX_BYTES, "queue/discard_max_bytes"),
    (key::QUEUE_IOSTATS, "queue/iostats"),
    (key::QUEUE_ZONED, "queue/zoned"),
    (key::DEVICE_QUEUE_DEPTH, "device/queue_depth"),
    (key::DEVICE_TIMEOUT, "device/timeout"),
    (key::DEVICE_STATE, "device/state"),
    // Limits of control groups name a device by its number only.
    (key::DEVICE_NUMBER, "dev"),
    (key::DEVICE_READ_ONLY, "ro"),
];

/// The block devices below a /sys folder, sorted by name.
///
/// # Errors
/// If the folder `block` cannot be read.
pub fn devices(sys_root: &Path) -> Result<Vec<BlockDevice>, Error> {
    devices_that(sys_root, |_| true)
}

fn devices_that(
    sys_root: &Path,
    is_wanted: impl Fn(&Path) -> bool,
) -> Result<Vec<BlockDevice>, Error> {
    let folder = sys_root.join("block");
    let broken = |cause| Error::File { path: folder.display().to_string(), cause };
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        // A device may disappear while it is read; it is then left out.
        if is_wanted(&path) {
            found.extend(read_device(&path));
        }
    }
    found.order_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Only devices with a size: drivers create loop, nbd and zram devices in advance, without a size,
/// and nothing else is read about those.
///
/// # Errors
/// If the folder `block` cannot be read.
pub fn devices_in_use(sys_root: &Path) -> Result<Vec<BlockDevice>, Error> {
    devices_that(sys_root, |folder| {
        // A disk without a size may be broken, an array without one stopped.
        let may_be_empty = || ["device", "md"].iter().any(|inside| folder.join(inside).exists());
        read(folder, "size").is_none_or(|size| size != "0") || may_be_empty()
    })
}

fn read_device(folder: &Path) -> Option<BlockDevice> {
    let (major, minor) = parse_numbers(&read(folder, "dev")?)?;
    let name = name_of(folder)?;
    let model = [read(folder, "device/vendor"), read(folder, "device/model")];
    let model = model.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let model = (!model.is_empty()).then_some(model);
    let facts = FACTS.into_iter().filter_map(|(key, file)| {
        let value = read(folder, file)?;
        let value = if key == key::QUEUE_SCHEDULER { chosen(&value) } else { value };
        Some((key, value, folder.join(file).display().to_string()))
    });
    Some(BlockDevice {
        major,
        minor,
        // In units of 512 bytes, whatever the device's block size.
        bytes: read(folder, "size").and_then(|size| size.parse::<u64>().ok()?.checked_mul(512)),
        medium: Medium::of_kernel_disk(&Folder { path: folder, name: &name }),
        model,
        partitions: partitions(folder),
        slaves: names_in(&folder.join("slaves")),
        holders: names_in(&folder.join("holders")),
        without_requests: is_without_requests(folder),
        facts: facts.collect(),
        name,
    })
}

/// The folder of a disk, for the answer that iowhy probe gives, too.
struct Folder<'a> {
    path: &'a Path,
    name: &'a str,
}

impl KernelDisk for Folder<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn way(&self) -> String {
        fs::canonicalize(self.path).unwrap_or_default().display().to_string()
    }

    fn read(&self, file: &str) -> Option<String> {
        read(self.path, file)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        names_in(&self.path.join(folder))
    }
}

/// The selected one of `mq-deadline kyber [none]`.
fn chosen(schedulers: &str) -> String {
    let inside = schedulers.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(schedulers, |(name, _)| name).to_string()
}

fn partitions(folder: &Path) -> Vec<(String, u32, u32)> {
    let disk = folder.file_name().unwrap_or_default().as_encoded_bytes();
    // A partition is named after its disk (`disk_name` of block/partitions/core.c).
    let is_named_so = |entry: &PathBuf| {
        entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(disk))
    };
    let mut found: Vec<_> = entries(folder)
        .into_iter()
        .filter(is_named_so)
        .filter(|entry| entry.join("partition").exists())
        .filter_map(|entry| {
            let (major, minor) = parse_numbers(&read(&entry, "dev")?)?;
            Some((name_of(&entry)?, major, minor))
        })
        .collect();
    found.order_by_key(|(_, major, minor)| (*major, *minor));
    found
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = entries(folder).iter().filter_map(|path| name_of(path)).collect();
    names.sort();
    names
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten();
    found.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// The name of a folder of /sys; `!` stands there for `/`.
pub(crate) fn name_of(folder: &Path) -> Option<String> {
    Some(folder.file_name()?.to_string_lossy().replace('!', "/"))
}

/// A small file, trimmed; `None` if it is not there or empty.
fn read(folder: &Path, file: &str) -> Option<String> {
    let text = foreign_files::text(&folder.join(file))?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_string())
}
