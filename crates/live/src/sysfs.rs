//! What /sys reports about a disk besides its queue: model, port, link, layers, errors,
//! temperature.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iowhy_model::{FactKey, key};

use crate::devices::{devices, devices_in_use, name_of};
use crate::foreign_files;

/// An attribute of a disk in /sys.
#[derive(Clone, Debug, PartialEq)]
pub struct SysFact {
    /// The disk.
    pub disk: String,
    /// The fact's key.
    pub key: FactKey,
    /// Its value, verbatim.
    pub value: String,
    /// The path.
    pub path: String,
}

/// Files below a disk's folder, and their facts. `device/device` of an NVMe disk is its PCI
/// function (Documentation/ABI/testing/sysfs-bus-pci, sysfs-block).
const FILES: [(FactKey, &str); 12] = [
    (key::DEVICE_MODEL, "device/model"),
    (key::DEVICE_FIRMWARE, "device/firmware_rev"),
    (key::DEVICE_FIRMWARE, "device/rev"),
    (key::DEVICE_IO_ERRORS, "device/ioerr_cnt"),
    (key::DEVICE_IO_TIMEOUTS, "device/iotmo_cnt"),
    (key::DEVICE_LINK_SPEED, "device/device/current_link_speed"),
    (key::DEVICE_LINK_SPEED_MAX, "device/device/max_link_speed"),
    (key::DEVICE_LINK_WIDTH, "device/device/current_link_width"),
    (key::DEVICE_LINK_WIDTH_MAX, "device/device/max_link_width"),
    (key::ARRAY_ACTION, "md/sync_action"),
    (key::ARRAY_DEGRADED, "md/degraded"),
    (key::MD_STRIPE_CACHE_SIZE, "md/stripe_cache_size"),
];

/// All such facts of all disks below a /sys folder.
pub fn facts(sys: &Path) -> Vec<SysFact> {
    let mut facts = Vec::new();
    for disk in devices_in_use(sys).unwrap_or_default() {
        let folder = sys.join("block").join(disk.name.replace('/', "!"));
        let fact = |key, value: String, path: &Path| {
            let (disk, path) = (disk.name.clone(), path.display().to_string());
            SysFact { disk, key, value, path }
        };
        for (key, file) in FILES {
            let path = folder.join(file);
            facts.extend(word(&path).map(|value| fact(key, value, &path)));
        }
        if let Some(bytes) = disk.bytes.filter(|bytes| *bytes > 0) {
            facts.push(fact(key::DEVICE_BYTES, bytes.to_string(), &folder.join("size")));
        }
        let below = [
            (key::DEVICE_SLAVES, "slaves", &disk.slaves),
            (key::DEVICE_HOLDERS, "holders", &disk.holders),
        ];
        for (key, file, names) in below.into_iter().filter(|(.., names)| !names.is_empty()) {
            let path = folder.join(file);
            facts.push(fact(key, names.join(" "), &path));
        }
        let path = folder.join("loop/backing_file");
        facts.extend(backing(sys, &path).map(|below| fact(key::DEVICE_BACKING, below, &path)));
        let way = fs::canonicalize(&folder).unwrap_or_default();
        let parts: Vec<String> =
            way.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        if let Some(port) = parts.iter().find(|part| numbered(part, "ata")) {
            facts.push(fact(key::DEVICE_PORT, port.clone(), &way));
            facts.extend(
                sata_link(sys, port).into_iter().map(|(key, value, path)| fact(key, value, &path)),
            );
        }
        // The adapter that several disks share: the PCI function of their SCSI host. Each NVMe
        // drive is a function of its own, so its path shows nothing shared.
        let host = parts.iter().position(|part| numbered(part, "host"));
        let parent =
            host.and_then(|host| parts.get(..host)?.iter().rfind(|part| is_function(part)));
        facts.extend(parent.map(|parent| fact(key::DEVICE_PARENT, parent.clone(), &way)));
    }
    facts
}

/// The device below the file of a loop device: the disk, or the number of a file system without a
/// disk. A file in another mount namespace is not found.
fn backing(sys: &Path, stated: &Path) -> Option<String> {
    let file = fs::read_to_string(stated).ok()?;
    let number = fs::metadata(file.trim_end_matches('\n')).ok()?.dev();
    let number = format!("{}:{}", libc::major(number), libc::minor(number));
    let Ok(folder) = fs::canonicalize(sys.join("dev/block").join(&number)) else {
        return Some(number);
    };
    let disk = if folder.join("partition").exists() { folder.parent()? } else { &folder };
    name_of(disk)
}

/// Speed of a SATA link and its hardware limit: link N belongs to port N.
fn sata_link(sys: &Path, port: &str) -> Vec<(FactKey, String, PathBuf)> {
    let link = sys.join("class/ata_link").join(port.replacen("ata", "link", 1));
    let files =
        [(key::DEVICE_LINK_SPEED, "sata_spd"), (key::DEVICE_LINK_SPEED_MAX, "hw_sata_spd_limit")];
    let known = |(key, file): (FactKey, &str)| {
        let path = link.join(file);
        let value = word(&path).filter(|value| value.starts_with(|c: char| c.is_ascii_digit()))?;
        Some((key, value, path))
    };
    files.into_iter().filter_map(known).collect()
}

/// A temperature sensor of a disk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sensor {
    /// The disk.
    pub disk: String,
    /// `temp1_input` of its hwmon folder, in thousandths of a degree.
    pub path: PathBuf,
}

impl Sensor {
    /// The temperature now, degrees Celsius.
    pub(crate) fn celsius(&self) -> Option<f64> {
        thousandths(&self.path)
    }

    /// The temperature at which the drive warns (WCTEMP of NVMe is `temp1_max`;
    /// drivers/nvme/host/hwmon.c), and where that was read.
    pub(crate) fn warning(&self) -> Option<(f64, PathBuf)> {
        let path = self.path.with_file_name("temp1_max");
        Some((thousandths(&path)?, path))
    }
}

/// The sensors of the disks below a /sys folder: NVMe drives have their own, SATA drives have one
/// if the module drivetemp is loaded.
pub(crate) fn sensors(sys: &Path) -> Vec<Sensor> {
    let mut found = Vec::new();
    for disk in devices(sys).unwrap_or_default() {
        let device = sys.join("block").join(disk.name.replace('/', "!")).join("device");
        let folders = [device.join("hwmon"), device.clone(), device.join("device/hwmon")];
        let sensor = folders.iter().flat_map(|folder| children(folder)).find(|child| {
            let named = name_of(child).is_some_and(|name| numbered(&name, "hwmon"));
            named && child.join("temp1_input").exists()
        });
        found.extend(
            sensor
                .map(|folder| Sensor { disk: disk.name.clone(), path: folder.join("temp1_input") }),
        );
    }
    found
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let inside = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = inside.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn thousandths(path: &Path) -> Option<f64> {
    Some(word(path)?.parse::<f64>().ok()? / 1000.0)
}

/// A small file, trimmed; `None` if it is not there or empty.
fn word(path: &Path) -> Option<String> {
    let text = foreign_files::text(path)?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_string())
}

/// `0000:00:1f.2`.
fn is_function(part: &str) -> bool {
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut words = part.split([':', '.']);
    part.contains('.') && part.matches(':').count() == 2 && words.all(hex)
}

fn numbered(part: &str, prefix: &str) -> bool {
    part.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}
