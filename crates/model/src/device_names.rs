//! The other names of block devices: volume, array, file, links of udev, partitions, mount points.
//!
//! A [`NameTable`] is built from the facts of a recording alone, so it works the same for a live
//! machine, a capture and a support archive. Names of volumes follow lvm2 (`vg-lv` with doubled
//! hyphens), kinds of mapped devices the prefixes of their UUIDs (`LVM-`, `CRYPT-`, `mpath-`).

use std::collections::{BTreeMap, BTreeSet};

use crate::order::Order as _;
use crate::{Fact, Recording, is_kernel_name, key};

/// What a device of the device mapper is, by the prefix of its UUID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapKind {
    /// A logical volume (lvm2: `LVM-`).
    Volume,
    /// An encrypted device (cryptsetup: `CRYPT-LUKS2-`, `CRYPT-PLAIN-`).
    Crypt,
    /// Several paths to one device (multipath-tools: `mpath-`).
    Multipath,
    /// A partition (kpartx: `part1-`).
    Partition,
}

impl MapKind {
    /// The kind of a device with this UUID; `None` for a prefix that is not known.
    pub fn of_uuid(uuid: &str) -> Option<MapKind> {
        let (prefix, _) = uuid.split_once('-')?;
        match prefix {
            "LVM" => Some(MapKind::Volume),
            "CRYPT" => Some(MapKind::Crypt),
            "mpath" => Some(MapKind::Multipath),
            _ => numbered(prefix, "part").then_some(MapKind::Partition),
        }
    }

    /// Its word in JSON, as `lsblk` has it in the column TYPE.
    pub fn word(self) -> &'static str {
        match self {
            MapKind::Volume => "lvm",
            MapKind::Crypt => "crypt",
            MapKind::Multipath => "mpath",
            MapKind::Partition => "part",
        }
    }
}

/// Volume group and logical volume of a mapped device: `vg--a-pg` is `pg` of `vg-a`. A suffix for a
/// part of the volume (`vg-pool_tmeta`, `vg-lv-real`) is kept.
pub fn volume_of(name: &str) -> Option<(String, String)> {
    let bytes = name.as_bytes();
    let mut place = 0;
    while place < bytes.len() {
        if bytes.get(place) != Some(&b'-') {
            place += 1;
        } else if bytes.get(place + 1) == Some(&b'-') {
            place += 2;
        } else {
            let (group, volume) = (name.get(..place)?, name.get(place + 1..)?);
            let sound = !group.is_empty() && !volume.is_empty();
            return sound.then(|| (group.replace("--", "-"), volume.replace("--", "-")));
        }
    }
    None
}

/// The position of a partition on its disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// The disk.
    pub disk: String,
    /// Its first sector of 512 bytes, if known.
    pub start: Option<u64>,
    /// Its sectors of 512 bytes, if known.
    pub sectors: Option<u64>,
}

impl Partition {
    /// The sectors from its first to the one after its last, in units of 512 bytes.
    pub fn range(&self) -> Option<(u64, u64)> {
        let start = self.start?;
        Some((start, start.checked_add(self.sectors.filter(|sectors| *sectors > 0)?)?))
    }
}

/// The other names of one device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeviceNames {
    /// Its name in the device mapper: `vg-pgdata`.
    pub map: Option<String>,
    /// What kind of a mapped device it is.
    pub kind: Option<MapKind>,
    /// Major and minor: `253:3`.
    pub number: Option<String>,
    /// The file of a loop device.
    pub file: Option<String>,
    /// Symbolic links that lead to it: `/dev/disk/by-id/...`, `/dev/md/root`.
    pub links: Vec<String>,
    /// Names that other tools use for it.
    pub aliases: Vec<String>,
    /// Where it is mounted.
    pub mounts: Vec<String>,
    /// The devices below it.
    pub below: Vec<String>,
    /// The devices above it.
    pub above: Vec<String>,
    /// Its position, if it is a partition.
    pub partition: Option<Partition>,
}

impl DeviceNames {
    /// Volume group and logical volume, if it is one.
    pub fn volume(&self) -> Option<(String, String)> {
        self.map.as_deref().filter(|_| self.kind == Some(MapKind::Volume)).and_then(volume_of)
    }

    /// The names of its links in this folder: `by_folder("/dev/disk/by-id")`.
    pub fn links_in<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        let links = self.links.iter();
        links.filter_map(move |link| link.strip_prefix(folder)?.strip_prefix('/'))
    }

    /// Name of an array: that of its link in `/dev/md`.
    pub fn array(&self) -> Option<&str> {
        self.links_in("/dev/md").next()
    }

    /// The name that a person chose: of the LVM volume, the array, the ZFS volume or the loop file.
    pub fn given(&self) -> Option<&str> {
        let zvol = || self.links_in("/dev/zvol").next();
        self.map.as_deref().or(self.array()).or_else(zvol).or(self.file.as_deref())
    }
}

/// The device that a given name refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedTarget {
    /// The device.
    pub device: String,
    /// The partition of it that was meant.
    pub partition: Option<(String, Partition)>,
}

/// Whether it refers to this device, by its kernel name or any other name.
type NameTest<'a> = dyn Fn(&str, &DeviceNames) -> bool + 'a;

/// The other names of all devices of a recording.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NameTable {
    devices: BTreeMap<String, DeviceNames>,
}

impl NameTable {
    /// The names in the facts of a recording.
    pub fn of(recording: &Recording) -> NameTable {
        let facts = recording.listings.iter().flat_map(|listing| &listing.facts);
        NameTable::of_facts(facts.filter_map(|fact| {
            let name = recording.device_of(fact.device?).name.as_str();
            (!name.is_empty()).then_some((name, fact))
        }))
    }

    /// The names in these facts, each with its device.
    pub fn of_facts<'a>(facts: impl Iterator<Item = (&'a str, &'a Fact)>) -> NameTable {
        let mut table = NameTable::default();
        for (name, fact) in facts.filter(|(_, fact)| fact.is_name()) {
            table.add(name, fact);
        }
        table.join();
        table
    }

    fn add(&mut self, name: &str, fact: &Fact) {
        let known = self.devices.entry(name.to_string()).or_default();
        let text = || Some(fact.value.to_string()).filter(|text| !text.is_empty());
        let words = || fact.value.words().unwrap_or_default();
        match &fact.key {
            of if *of == key::DM_NAME => known.map = text(),
            of if *of == key::DM_UUID => known.kind = text().as_deref().and_then(MapKind::of_uuid),
            of if *of == key::DEVICE_NUMBER => known.number = text(),
            of if *of == key::LOOP_FILE => known.file = text(),
            of if *of == key::MOUNT_POINT => add_new(&mut known.mounts, text()),
            of if *of == key::DEVICE_LINKS => add_new(&mut known.links, words().iter().cloned()),
            of if *of == key::DEVICE_ALIAS => add_new(&mut known.aliases, words().iter().cloned()),
            of if *of == key::DEVICE_SLAVES => add_new(&mut known.below, words().iter().cloned()),
            of if *of == key::DEVICE_HOLDERS => add_new(&mut known.above, words().iter().cloned()),
            of if *of == key::PARTITION_DISK => {
                if let Some(disk) = text() {
                    known.partition_on(&disk);
                }
            }
            of if *of == key::PARTITION_FIRST_SECTOR => {
                if let Some(partition) = &mut known.partition {
                    partition.start = sectors(fact);
                }
            }
            of if *of == key::PARTITION_SECTORS => {
                if let Some(partition) = &mut known.partition {
                    partition.sectors = sectors(fact);
                }
            }
            _ => {}
        }
    }

    /// Merges facts reported under different names of one device, and completes links between
    /// layers in both directions.
    fn join(&mut self) {
        for (name, known) in &mut self.devices {
            // `lsblk` and `multipath -ll` print the name of a mapped device as another name.
            let printed = || known.aliases.iter().find(|alias| !alias.starts_with("0x"));
            if known.map.is_none() && name.starts_with("dm-") {
                known.map = printed().cloned();
            }
        }
        let names: BTreeMap<String, String> = self
            .devices
            .iter()
            .flat_map(|(name, known)| known.others().map(move |other| (other, name.clone())))
            .collect();
        let others: Vec<String> =
            self.devices.keys().filter(|name| !is_kernel_name(name)).cloned().collect();
        for other in others {
            let kernel = names.get(&other).filter(|kernel| **kernel != other);
            if let Some((kernel, reported)) =
                kernel.and_then(|kernel| Some((kernel.clone(), self.devices.remove(&other)?)))
            {
                let known = self.devices.entry(kernel).or_default();
                add_new(&mut known.mounts, reported.mounts);
                add_new(&mut known.below, reported.below);
                add_new(&mut known.above, reported.above);
            }
        }
        let kernel = |name: &String| names.get(name).unwrap_or(name).clone();
        for known in self.devices.values_mut() {
            known.below = known.below.iter().map(kernel).collect();
            known.above = known.above.iter().map(kernel).collect();
        }
        self.add_partitions();
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (name, known) in &self.devices {
            pairs.extend(known.below.iter().map(|below| (below.clone(), name.clone())));
            pairs.extend(known.above.iter().map(|above| (name.clone(), above.clone())));
            pairs.extend(path_of(name).map(|whole| (name.clone(), whole)));
        }
        for (below, above) in pairs {
            let lower = self.devices.entry(below.clone()).or_default();
            add_new(&mut lower.above, [above.clone()]);
            add_new(&mut self.devices.entry(above).or_default().below, [below]);
        }
    }

    /// Partitions that are reported by their names alone: `sda1` where `sda` is known.
    fn add_partitions(&mut self) {
        let parts = self.devices.iter().filter(|(_, known)| known.partition.is_none());
        let parts: Vec<(String, String)> = parts
            .filter_map(|(name, _)| {
                let disk = disk_of(name)?;
                self.devices.contains_key(disk).then(|| (name.clone(), disk.to_string()))
            })
            .collect();
        for (name, disk) in parts {
            self.devices.entry(name).or_default().partition_on(&disk);
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// The other names of a device.
    pub fn get(&self, device: &str) -> Option<&DeviceNames> {
        self.devices.get(device)
    }

    /// The partitions of a disk.
    pub fn partitions<'a>(&'a self, disk: &'a str) -> impl Iterator<Item = &'a str> {
        let parts = self.devices.iter().filter(move |(_, known)| {
            known.partition.as_ref().is_some_and(|partition| partition.disk == disk)
        });
        parts.map(|(name, _)| name.as_str())
    }

    /// All devices above a device or its partitions, the nearest first.
    pub fn above(&self, device: &str) -> Vec<&str> {
        let mut seen = BTreeSet::from([device]);
        let (mut found, mut layer) = (Vec::new(), vec![device]);
        while !layer.is_empty() {
            let mut next = Vec::new();
            for name in layer.into_iter().flat_map(|name| self.partitions(name).chain([name])) {
                let above = self.devices.get(name).into_iter().flat_map(|known| &known.above);
                next.extend(above.map(String::as_str).filter(|above| seen.insert(above)));
            }
            found.extend(&next);
            layer = next;
        }
        found
    }

    /// These devices with all layers below and above them, and their partitions.
    pub fn around(&self, devices: &[String]) -> BTreeSet<String> {
        let mut near: BTreeSet<String> = devices.iter().cloned().collect();
        near.extend(devices.iter().flat_map(|name| self.above(name)).map(str::to_string));
        let mut open = devices.to_vec();
        while let Some(name) = open.pop() {
            let known = self.devices.get(&name);
            let disk = known.and_then(|known| known.partition.as_ref()).map(|of| of.disk.clone());
            let below = known.into_iter().flat_map(|known| known.below.clone()).chain(disk);
            open.extend(below.filter(|below| near.insert(below.clone())));
        }
        let parts = near.iter().flat_map(|name| self.partitions(name)).map(str::to_string);
        let parts: Vec<String> = parts.collect();
        near.extend(parts);
        near
    }

    /// Mount points of a device, its partitions and all layers above it, its own first.
    pub fn mounts(&self, device: &str) -> Vec<&str> {
        let on = |name: &str| -> Vec<&str> {
            let all = [name].into_iter().chain(self.partitions(name));
            let known = all.filter_map(|name| self.devices.get(name));
            known.flat_map(|known| &known.mounts).map(String::as_str).collect()
        };
        let mut found: Vec<&str> = Vec::new();
        for name in [device].into_iter().chain(self.above(device)) {
            // Shortest first: `/` and `/var` are more useful than bind mounts below them.
            let mut mounts: Vec<&str> = on(name);
            mounts.order_by_key(|mount| (mount.len(), *mount));
            for mount in mounts {
                if !found.contains(&mount) {
                    found.push(mount);
                }
            }
        }
        found
    }

    /// The devices of a name: a kernel's name, `/dev/...`, `8:16`, a name in the
    /// device mapper, `vg/lv`, a link of udev or its last part, `UUID=...`, the file of a loop
    /// device, a mount point, an array or pool by its members.
    pub fn resolve(&self, given: &str) -> Vec<NamedTarget> {
        let text = if given.len() > 1 { given.trim_end_matches('/') } else { given };
        let bare = text.strip_prefix("/dev/").unwrap_or(text);
        let bare = bare.strip_prefix("mapper/").unwrap_or(bare);
        let tests: [&NameTest; 4] = [
            &|name, _| name == bare,
            &|_, known| known.is_called(text, bare),
            &|_, known| known.mounts.iter().any(|mount| mount == text),
            &|_, known| known.links.iter().any(|link| last_part(link) == text),
        ];
        for test in tests {
            let found = self.devices.iter().filter(|(name, known)| test(name, known));
            let found: Vec<NamedTarget> = found.map(|(name, _)| self.target(name)).collect();
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    fn target(&self, name: &str) -> NamedTarget {
        match self.devices.get(name).and_then(|known| known.partition.clone()) {
            Some(partition) => NamedTarget {
                device: partition.disk.clone(),
                partition: Some((name.to_string(), partition)),
            },
            None => NamedTarget { device: name.to_string(), partition: None },
        }
    }

    /// All names by which a user can select a device, except links.
    pub fn spoken(&self) -> impl Iterator<Item = &str> {
        self.devices.iter().flat_map(|(name, known)| {
            let given = known.given().into_iter();
            let mounts = known.mounts.iter().map(String::as_str);
            [name.as_str()].into_iter().chain(given).chain(mounts)
        })
    }
}

impl DeviceNames {
    fn partition_on(&mut self, disk: &str) {
        self.partition = Some(Partition { disk: disk.to_string(), start: None, sectors: None });
    }

    /// The names that listings may use for it.
    fn others(&self) -> impl Iterator<Item = String> {
        let links = self.links.iter().filter_map(|link| link.strip_prefix("/dev/"));
        let links = links.map(|link| link.strip_prefix("zvol/").unwrap_or(link));
        let volume = self.volume().map(|(group, volume)| format!("{group}/{volume}"));
        let all = self.map.iter().cloned().chain(links.map(str::to_string)).chain(volume);
        all.chain(self.aliases.iter().cloned())
    }

    fn is_called(&self, text: &str, bare: &str) -> bool {
        let tagged = || {
            let (tag, value) = text.split_once('=')?;
            let folder = match tag {
                "UUID" => "/dev/disk/by-uuid",
                "LABEL" => "/dev/disk/by-label",
                "PARTUUID" => "/dev/disk/by-partuuid",
                "PARTLABEL" => "/dev/disk/by-partlabel",
                _ => return None,
            };
            self.links_in(folder).find(|name| *name == value)
        };
        self.number.as_deref() == Some(text)
            || self.file.as_deref() == Some(text)
            || self.links.iter().any(|link| link == text)
            || self.others().any(|other| other == bare)
            || tagged().is_some()
    }
}

impl Fact {
    /// Whether this fact names a device, a pod or a container, or shows how layers are stacked.
    pub fn is_name(&self) -> bool {
        [
            key::DM_NAME,
            key::DM_UUID,
            key::DEVICE_ALIAS,
            key::DEVICE_HOLDERS,
            key::DEVICE_LINKS,
            key::DEVICE_NUMBER,
            key::DEVICE_SLAVES,
            key::LOOP_FILE,
            key::MOUNT_POINT,
            key::PARTITION_DISK,
            key::PARTITION_FIRST_SECTOR,
            key::PARTITION_SECTORS,
        ]
        .contains(&self.key)
            || [key::POD, key::CONTAINER].into_iter().any(|of| self.key.member_of(of).is_some())
    }
}

/// `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`.
fn disk_of(name: &str) -> Option<&str> {
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if disk.len() == name.len() {
        return None;
    }
    match disk.strip_suffix('p') {
        Some(whole) if whole.ends_with(|c: char| c.is_ascii_digit()) => Some(whole),
        _ => Some(disk)
            .filter(|disk| ["sd", "hd", "vd", "xvd"].iter().any(|of| disk.starts_with(of))),
    }
}

/// The NVMe disk of a multipath path device: `nvme0n1` of `nvme0c1n1`
/// (drivers/nvme/host/multipath.c).
fn path_of(name: &str) -> Option<String> {
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, space) = rest.split_once('n')?;
    let all = [subsystem, controller, space];
    let sound = all.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    sound.then(|| format!("nvme{subsystem}n{space}"))
}

fn sectors(fact: &Fact) -> Option<u64> {
    fact.value.number().filter(|number| *number >= 0.0).map(|number| number as u64)
}

fn numbered(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix).unwrap_or_default();
    !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
}

fn last_part(link: &str) -> &str {
    link.rsplit('/').next().unwrap_or(link)
}

fn add_new(all: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

#[cfg(test)]
mod tests;
