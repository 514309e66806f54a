//! The devices the tracer watches, each with its row in the kernel's tables.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::bpf::{HiddenNames, Programs, STAGES, bytes_of_a_row};
use crate::foreign_files;

/// Maximum kernel memory for histograms of devices that appear while watching, and the number of
/// their rows.
const SPARE_BYTES: usize = 16 << 20;
const SPARE_ROWS: (usize, usize) = (4, 32);
/// Hash positions tried for a device; the same as `PROBES` of `bpf/tables.h`.
const PROBES: u32 = 8;

/// Bios in flight to allow for on a bio-based device, whose queue has no depth.
const BIOS: u32 = 4096;

/// A watched device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WatchedDevice {
    /// Its name.
    pub name: String,
    /// Major and minor, as the programs write them; see [`number`].
    pub number: u32,
    /// It is bio-based and has no requests: dm, md, zram, brd, pmem.
    pub without_requests: bool,
}

/// The devices watched, by row.
#[derive(Debug)]
pub(crate) struct WatchList {
    /// The devices, indexed by row.
    pub devices: Vec<WatchedDevice>,
    /// Total number of rows.
    pub rows: u32,
    /// log2 of the size of the kernel's table.
    pub place_bits: u32,
    /// Whether devices that appear are watched too.
    pub every: bool,
    places: Vec<bool>,
    root: PathBuf,
    /// The text of /proc/partitions when devices were last looked for.
    listed: Option<String>,
    /// Names of disks without a number in /sys: the hidden paths of NVMe multipath.
    hidden: Option<HiddenNames>,
}

/// A device's number as the programs write it: never 0.
pub(crate) fn number(major: u32, minor: u32) -> u32 {
    ((major << 20) | (minor & 0xf_ffff)).wrapping_add(1)
}

/// Major and minor of such a number.
pub(crate) fn major_minor(number: u32) -> (u32, u32) {
    let number = number.wrapping_sub(1);
    (number >> 20, number & 0xf_ffff)
}

impl WatchList {
    /// The requested devices, or all that can do I/O, with room for more.
    ///
    /// # Errors
    /// If /sys cannot be read, or a device asked for is not there.
    pub(crate) fn new(sys: &Path, wanted: &[(u32, u32)]) -> Result<WatchList, Error> {
        let mut devices = Vec::new();
        for (major, minor) in wanted {
            let name = name_of(sys, *major, *minor)
                .ok_or_else(|| Error::Device { device: format!("{major}:{minor}") })?;
            let folder = sys.join(format!("dev/block/{major}:{minor}"));
            let without_requests = is_without_requests(&folder);
            devices.push(WatchedDevice { name, number: number(*major, *minor), without_requests });
        }
        if wanted.is_empty() {
            devices = present(sys)?;
        }
        let rows = devices.len() + if wanted.is_empty() { spare_rows() } else { 0 };
        // At most half full, and at least 64 entries.
        let place_bits = (2 * rows).next_power_of_two().ilog2().max(6);
        Ok(WatchList {
            devices,
            rows: rows as u32,
            place_bits,
            every: wanted.is_empty(),
            places: vec![false; 1 << place_bits],
            root: sys.to_path_buf(),
            listed: None,
            hidden: None,
        })
    }

    /// One device, for tests.
    #[cfg(test)]
    pub(crate) fn of_one(name: &str, major: u32, minor: u32) -> WatchList {
        let number = number(major, minor);
        let device = WatchedDevice { name: name.to_string(), number, without_requests: false };
        let root = PathBuf::new();
        let places = vec![false; 64];
        let (devices, every, listed, hidden) = (vec![device], false, None, None);
        WatchList { devices, rows: 1, place_bits: 6, every, places, root, listed, hidden }
    }

    /// Sorts the devices with most I/O since boot first.
    pub(crate) fn order_by_use(&mut self) {
        let ios = |device: &WatchedDevice| {
            let (major, minor) = major_minor(device.number);
            let file = self.root.join(format!("dev/block/{major}:{minor}/stat"));
            let text = foreign_files::text(&file).unwrap_or_default();
            // Reads and writes that completed (Documentation/block/stat.rst).
            let fields: Vec<u64> =
                text.split_whitespace().map_while(|field| field.parse().ok()).collect();
            fields.first().copied().unwrap_or(0).saturating_add(fields.get(4).copied().unwrap_or(0))
        };
        self.devices.sort_by_cached_key(|device| std::cmp::Reverse(ios(device)));
    }

    /// Writes all devices into the kernel's table.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub(crate) fn enter(&mut self, programs: &mut Programs) -> Result<(), Error> {
        self.hidden = programs.take_names();
        for row in 0..self.devices.len() {
            self.enter_one(programs, row)?;
        }
        Ok(())
    }

    /// Looks for new devices, and watches them while there are free rows.
    ///
    /// # Errors
    /// If /sys cannot be read or the table not be written.
    pub(crate) fn look_for_more(&mut self, programs: &mut Programs) -> Result<(), Error> {
        if !self.every {
            return Ok(());
        }
        let met = self.hidden.as_ref().map(HiddenNames::numbers).unwrap_or_default();
        for number in met {
            // Only request-based disks can be seen without an entry in the table.
            let device = WatchedDevice { name: self.name(number), number, without_requests: false };
            self.watch(programs, device)?;
        }
        // It lists everything with a capacity (show_partition of block/genhd.c); /sys has files for
        // each device.
        let listed = std::fs::read_to_string(self.root.join("../proc/partitions")).ok();
        if listed.is_some() && listed == self.listed {
            return Ok(());
        }
        self.listed = listed;
        for device in present(&self.root)? {
            self.watch(programs, device)?;
        }
        Ok(())
    }

    /// Adds a device, unless it is watched or there is no free row.
    fn watch(&mut self, programs: &mut Programs, device: WatchedDevice) -> Result<(), Error> {
        let known = self.devices.iter().any(|known| known.number == device.number);
        if known || self.devices.len() >= self.rows as usize {
            return Ok(());
        }
        self.devices.push(device);
        self.enter_one(programs, self.devices.len() - 1)
    }

    /// The name of a device by its number, from the list or from /sys.
    pub(crate) fn name(&self, number: u32) -> String {
        match self.devices.iter().find(|known| known.number == number) {
            Some(known) => known.name.clone(),
            None => {
                let (major, minor) = major_minor(number);
                let hidden = || self.hidden.as_ref()?.of(number);
                name_of(&self.root, major, minor)
                    .or_else(hidden)
                    .unwrap_or_else(|| format!("{major},{minor}"))
            }
        }
    }

    /// The maximum number of requests in flight over all of them, by queue depth.
    pub(crate) fn requests(&self, sys: &Path) -> u32 {
        let of_one = |device: &WatchedDevice| {
            if device.without_requests {
                return Some(BIOS);
            }
            let (major, minor) = major_minor(device.number);
            let folder = sys.join(format!("dev/block/{major}:{minor}"));
            let depth = foreign_files::text(&folder.join("queue/nr_requests"))?;
            let queues = std::fs::read_dir(folder.join("mq")).map_or(1, |found| found.count());
            depth.trim().parse::<u32>().ok()?.checked_mul(queues.max(1) as u32)
        };
        let known = self.devices.iter().filter_map(of_one);
        known.fold(0, u32::saturating_add).clamp(1, 1 << 20)
    }

    fn enter_one(&mut self, programs: &mut Programs, row: usize) -> Result<(), Error> {
        let Some(device) = self.devices.get(row) else { return Ok(()) };
        // The hash of `find_device` in `bpf/tables.h`.
        let first = device.number.wrapping_mul(0x9e37_79b1) >> (32 - self.place_bits);
        let mask = (1u32 << self.place_bits) - 1;
        let mut tried = (0..PROBES).map(|probe| (first + probe) & mask);
        let free = tried.find(|place| self.places.get(*place as usize) == Some(&false));
        // A device that does not fit stays unknown to the programs, which count its requests as
        // lost.
        let Some(place) = free else { return Ok(()) };
        self.places[place as usize] = true;
        programs.set_device(place, device.number, row as u32, device.without_requests)
    }
}

/// Rows for new devices: the table has them for all possible CPUs.
fn spare_rows() -> usize {
    (SPARE_BYTES / bytes_of_a_row(STAGES)).clamp(SPARE_ROWS.0, SPARE_ROWS.1)
}

/// Whether a device is bio-based, by its folder in /sys: request-based ones have hardware queues.
pub(crate) fn is_without_requests(folder: &Path) -> bool {
    folder.is_dir() && !folder.join("mq").exists()
}

/// All devices of /sys/block that have a size, sorted by name.
fn present(sys: &Path) -> Result<Vec<WatchedDevice>, Error> {
    let folder = sys.join("block");
    let broken = |cause| Error::File { path: folder.display().to_string(), cause };
    let mut devices = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(broken)? {
        let entry = entry.map_err(broken)?;
        let read = |file: &str| foreign_files::text(&entry.path().join(file));
        let numbers = read("dev").as_deref().and_then(parse_numbers);
        let empty = read("size").is_none_or(|size| size.trim() == "0");
        if let (Some((major, minor)), false) = (numbers, empty) {
            let name = entry.file_name().to_string_lossy().replace('!', "/");
            let without_requests = is_without_requests(&entry.path());
            devices.push(WatchedDevice { name, number: number(major, minor), without_requests });
        }
    }
    devices.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(devices)
}

/// `8:16` as numbers.
pub(crate) fn parse_numbers(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn name_of(sys: &Path, major: u32, minor: u32) -> Option<String> {
    let target = std::fs::read_link(sys.join(format!("dev/block/{major}:{minor}"))).ok()?;
    Some(target.file_name()?.to_string_lossy().replace('!', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_the_way_to_the_kernel_and_back() {
        for pair in [(0, 0), (8, 16), (259, 3), (7, 0xf_ffff), (4094, 1)] {
            assert_eq!(major_minor(number(pair.0, pair.1)), pair);
            assert_ne!(number(pair.0, pair.1), 0);
        }
        assert_eq!(parse_numbers("254:0\n"), Some((254, 0)));
        assert_eq!(parse_numbers("254"), None);
    }
}
