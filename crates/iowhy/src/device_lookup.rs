//! Resolves any name of a device to the kernel's: volumes, links, mount points, partitions,
//! numbers; for this machine and for captures with names.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use iowhy_live::{BlockDevice, naming_facts};
use iowhy_model::{Fact, FactKey, NameTable, NamedTarget, Recording, Sink, key};

use crate::messages::{self, HintedError};
use crate::mistyped;

/// The block devices of this machine.
///
/// # Errors
/// If /sys cannot be read.
pub(crate) fn known_devices() -> anyhow::Result<Vec<BlockDevice>> {
    Ok(iowhy_live::devices(Path::new("/sys"))?)
}

/// Names of the devices, pods and containers of this machine, each with its device, if any.
pub(crate) struct NamingFacts(Vec<(String, Fact)>);

impl NamingFacts {
    /// The current names of these devices in /sys, /proc and the links in /dev.
    pub(crate) fn of(devices: &[BlockDevice]) -> NamingFacts {
        let facts = naming_facts(Path::new("/"), devices).into_iter();
        let of =
            |one: iowhy_live::SysFact| (one.disk, Fact::read(None, one.key, &one.value, one.path));
        NamingFacts(facts.map(of).collect())
    }

    /// The same with earlier names that cannot be read once this process is confined: links and
    /// containers.
    pub(crate) fn with_unreadable_of(mut self, earlier: &NamingFacts) -> NamingFacts {
        let is_container = |fact: &Fact| fact.key.member_of(key::CONTAINER).is_some();
        self.0.retain(|(_, fact)| fact.key != key::DEVICE_LINKS);
        let is_known = |key: &FactKey| self.0.iter().any(|(_, fact)| fact.key == *key);
        let kept = |fact: &Fact| {
            fact.key == key::DEVICE_LINKS || is_container(fact) && !is_known(&fact.key)
        };
        let kept: Vec<_> = earlier.0.iter().filter(|(_, fact)| kept(fact)).cloned().collect();
        self.0.extend(kept);
        self
    }

    /// The names of all devices.
    pub(crate) fn table(&self) -> NameTable {
        NameTable::of_facts(self.0.iter().map(|(name, fact)| (name.as_str(), fact)))
    }

    /// Emits names of pods, containers, these devices, and the layers below and above them; of all
    /// devices if none is given.
    pub(crate) fn add_facts(self, watched: &[String], sink: &mut dyn Sink) {
        let near = (!watched.is_empty()).then(|| self.table().around(watched));
        for (name, fact) in self.0 {
            if name.is_empty() || near.as_ref().is_none_or(|near| near.contains(&name)) {
                let device = (!name.is_empty()).then(|| sink.device(&name));
                sink.fact(Fact { device, ..fact });
            }
        }
    }
}

/// A partition and its first and last sector.
pub(crate) type PartitionRange = (String, (u64, u64));

/// The devices of this machine that names refer to, and the partition if only that was named.
///
/// # Errors If a name refers to no device.
pub(crate) fn on_this_machine(
    given: &[String],
) -> anyhow::Result<(Vec<String>, Option<PartitionRange>)> {
    if given.is_empty() {
        return Ok((Vec::new(), None));
    }
    let known = iowhy_live::devices(Path::new("/sys"))?;
    let table = NamingFacts::of(&known).table();
    let mut found = Vec::new();
    for name in given {
        let of_one = one(name, &known, &table);
        if of_one.is_empty() {
            return Err(unknown(name, &known, &table));
        }
        found.extend(of_one.into_iter().map(|target| (name, target)));
    }
    let only = match found.as_slice() {
        [(_, target)] => target.partition.as_ref(),
        _ => None,
    };
    let range = only.and_then(|(name, partition)| {
        let (from, to) = partition.range()?;
        Some((name.clone(), (from, to.saturating_sub(1))))
    });
    let mut devices: Vec<String> = Vec::new();
    for (given, target) in found {
        if let Some((name, _)) = target.partition.as_ref().filter(|_| range.is_none()) {
            messages::warn(&of_whole_disk(given, name, &target.device), None);
        }
        if !devices.contains(&target.device) {
            devices.push(target.device);
        }
    }
    Ok((devices, range))
}

fn one(given: &str, known: &[BlockDevice], table: &NameTable) -> Vec<NamedTarget> {
    let is_known = |name: &str| known.iter().any(|device| device.name == name);
    let whole = |name: &str| vec![NamedTarget { device: name.to_string(), partition: None }];
    let bare = given.strip_prefix("/dev/").unwrap_or(given);
    if is_known(bare) {
        return whole(bare);
    }
    let numbered = |device: &&BlockDevice| given == format!("{}:{}", device.major, device.minor);
    if let Some(device) = known.iter().find(numbered) {
        return whole(&device.name);
    }
    let partition_by_number = || {
        let is_number = given.split_once(':').is_some() && !given.contains('/');
        let link = is_number.then(|| fs::read_link(format!("/sys/dev/block/{given}")).ok())??;
        Some(table.resolve(&link.file_name()?.to_string_lossy()))
    };
    // A link not made by udev: symbolic links are followed, no device is opened.
    let by_link = || {
        let place = fs::canonicalize(given).ok().filter(|place| place.starts_with("/dev"))?;
        let name = place.strip_prefix("/dev").ok()?.to_string_lossy().into_owned();
        Some(if is_known(&name) { whole(&name) } else { table.resolve(&name) })
    };
    let mut found = table.resolve(given);
    if found.is_empty() && !given.starts_with('/') {
        // A mount point relative to the current folder.
        let place = fs::canonicalize(given).ok().filter(|place| place.is_dir());
        found = place.map(|place| table.resolve(&place.to_string_lossy())).unwrap_or_default();
    }
    if !found.is_empty() {
        return found;
    }
    let by_number = partition_by_number().filter(|found| !found.is_empty());
    let by_link = || by_link().filter(|found| !found.is_empty());
    by_number.or_else(by_link).or_else(|| of_file(given, table)).unwrap_or_default()
}

/// The device that a file lies on: by the number that its file system reports, or, for one that has
/// a number of its own (btrfs), by the mount point above the file.
fn of_file(given: &str, table: &NameTable) -> Option<Vec<NamedTarget>> {
    let number = fs::metadata(given).ok()?.dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok();
    let by_number = link.and_then(|link| {
        let name = link.file_name()?.to_string_lossy().into_owned();
        Some(table.resolve(&name)).filter(|found| !found.is_empty())
    });
    by_number.or_else(|| {
        let place = fs::canonicalize(given).ok()?;
        let points = place.ancestors().filter_map(Path::to_str);
        // The file systems of other mount points below this one have no device.
        let above =
            points.take_while(|point| fs::metadata(point).is_ok_and(|of| of.dev() == number));
        let mut found = above.map(|point| table.resolve(point)).filter(|found| !found.is_empty());
        found.next()
    })
}

/// The note if a partition is selected.
pub(crate) fn of_whole_disk(given: &str, partition: &str, disk: &str) -> String {
    let named = if given.trim_start_matches("/dev/") == partition {
        format!("`{given}`")
    } else {
        format!("`{given}` (`{partition}`)")
    };
    format!("{named} is a partition of `{disk}`: all I/Os of `{disk}` are included")
}

fn unknown(given: &str, known: &[BlockDevice], table: &NameTable) -> anyhow::Error {
    let names: Vec<&str> = known
        .iter()
        .filter(|device| device.bytes.unwrap_or(0) > 0)
        .map(|device| device.name.as_str())
        .collect();
    let has = || format!("this machine has {}", names.join(", "));
    if let Some((tag, value)) = tag(given) {
        let text = format!("no device has the {tag} `{value}` in /dev/disk, where udev lists them");
        let hint = format!("`blkid -t {tag}={value}` names the device; {}", has());
        return HintedError::error(text, hint);
    }
    if Path::new(given).exists() {
        let text = format!("`{given}` is on no block device of this machine");
        let hint = format!("`findmnt -T {given}` shows its file system; {}", has());
        return HintedError::error(text, hint);
    }
    let hint = hint(given, table).unwrap_or_else(has);
    HintedError::error(format!("no device or mount point `{given}`"), hint)
}

/// The tag and the value of `UUID=...` or `LABEL=...` as in fstab(5), or of a UUID alone.
fn tag(given: &str) -> Option<(&str, &str)> {
    const TAGS: [&str; 4] = ["UUID", "LABEL", "PARTUUID", "PARTLABEL"];
    if let Some((tag, value)) = given.split_once('=') {
        return TAGS.contains(&tag).then_some((tag, value));
    }
    let lengths = || given.split('-').map(str::len);
    let is_uuid =
        given.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') && lengths().eq([8, 4, 4, 4, 12]);
    is_uuid.then_some(("UUID", given))
}

/// A suggestion: a similar name, or the mount point of a path.
pub(crate) fn hint(given: &str, table: &NameTable) -> Option<String> {
    let below = |point: &&str| {
        let rest = given.strip_prefix(point.trim_end_matches('/'));
        given.starts_with('/') && rest.is_some_and(|rest| rest.starts_with('/'))
    };
    let near = mistyped::nearest(given, table.spoken());
    let point = table.spoken().filter(|name| name.starts_with('/')).filter(below);
    let point = point.max_by_key(|point| point.len()).filter(|_| !given.starts_with("/dev/"));
    let meant: Vec<String> = match near.is_empty() {
        true => point.iter().map(|point| format!("`{point}`")).collect(),
        false => near.iter().map(|name| format!("`{name}`")).collect(),
    };
    (!meant.is_empty()).then(|| format!("did you mean {}?", meant.join(" or ")))
}

/// The devices of a recording that a name refers to, by its recorded names; if only lower layers
/// were traced, those.
pub(crate) fn in_recording(given: &str, table: &NameTable, recording: &Recording) -> Vec<String> {
    let found = table.resolve(given).into_iter().map(|target| target.device);
    let found: Vec<String> = found.filter(|name| recording.find_device(name).is_some()).collect();
    let (mut traced, mut layer) = (Vec::new(), found.clone());
    while traced.is_empty() && !layer.is_empty() {
        traced = layer.iter().filter(|name| has_io(recording, name)).cloned().collect();
        let below = layer.iter().filter_map(|name| table.get(name)).flat_map(|of| &of.below);
        let disk = |name: &String| {
            let partition = table.get(name).and_then(|known| known.partition.as_ref());
            partition.map_or_else(|| name.clone(), |partition| partition.disk.clone())
        };
        layer = below.map(disk).filter(|name| !layer.contains(name)).collect();
    }
    if traced.is_empty() { found } else { traced }
}

fn has_io(recording: &Recording, name: &str) -> bool {
    let Some(id) = recording.find_device(name) else { return false };
    recording.listings.iter().any(|listing| {
        listing.events.iter().any(|event| event.device == id)
            || listing.intervals.iter().any(|interval| interval.device == id)
            || listing.histograms().any(|known| known.device == id)
    })
}
