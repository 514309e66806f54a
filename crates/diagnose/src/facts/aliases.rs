//! One disk under several names: the kernel's, its id, or none.
//!
//! `smartctl` and `nvme smart-log` do not print which drive they are about; pools of ZFS name
//! drives by model and serial number; a partition's name shows the disk.

use std::collections::BTreeMap;

use iowhy_model::{DeviceId, Fact, FactKey, Recording, key};

use crate::facts::disk_names;

/// Folders and buses in front of an id (udev, 60-persistent-storage.rules).
const BUSES: [&str; 8] =
    ["disk/by-id/", "ata-", "scsi-", "nvme-", "usb-", "virtio-", "wwn-", "sas-"];

/// Other names of disks, with the names to use for them.
pub(super) fn of(recording: &Recording, disks: &[String]) -> BTreeMap<String, String> {
    let facts = || recording.listings.iter().flat_map(|listing| &listing.facts);
    let name = |id: DeviceId| disk_names::disk(&recording.device_of(id).name);
    let stated = |key: FactKey| {
        facts()
            .filter(move |fact| fact.key == key)
            .filter_map(move |fact| Some((fact.device?, fact)))
    };
    let mut aliases = BTreeMap::new();
    for (id, fact) in stated(key::DEVICE_ALIAS) {
        for alias in fact.value.words().unwrap_or_default() {
            aliases.insert(disk_names::disk(alias), name(id));
        }
    }
    let unnamed: Vec<String> = disks
        .iter()
        .filter(|disk| stated(key::DEVICE_UNNAMED).any(|(id, _)| name(id) == **disk))
        .cloned()
        .collect();
    let is_id = |disk: &String| bare(disk) != disk.as_str();
    let real: Vec<&String> = disks
        .iter()
        .filter(|disk| !unnamed.contains(disk) && !disk_names::is_stacked(disk) && !is_id(disk))
        .collect();
    let model = |disk: &str| {
        let of = |fact: &&Fact| {
            let known = fact.key == key::SMART_MODEL || fact.key == key::DEVICE_MODEL;
            known && fact.device.is_some_and(|id| name(id) == disk)
        };
        facts().find(of).and_then(|fact| fact.value.text())
    };
    for lost in &unnamed {
        let same = |disk: &&&String| model(disk).is_some_and(|of| Some(of) == model(lost));
        let alike: Vec<&&String> = real.iter().filter(same).collect();
        let found = match (real.as_slice(), alike.as_slice()) {
            ([only], _) if unnamed.len() == 1 => Some(*only),
            (_, [only]) => Some(**only),
            _ => None,
        };
        if let Some(disk) = found {
            aliases.insert(lost.clone(), disk.clone());
        }
    }
    for id in disks.iter().filter(|disk| is_id(disk)) {
        if aliases.contains_key(id) {
            continue;
        }
        if let Some(lost) = unnamed.iter().find(|lost| *lost == bare(id)) {
            let of = aliases.get(lost).unwrap_or(lost).clone();
            aliases.insert(id.clone(), of);
        }
    }
    // Whoever shows a pool with one faulty member and the SMART of one failing drive asked that
    // drive because of the pool.
    let failed = |id: &&String| {
        let counts = |fact: &&Fact| {
            fact.key.is_under("member") && fact.value.number().is_some_and(|n| n > 0.0)
        };
        is_id(id)
            && !aliases.contains_key(*id)
            && facts().filter(counts).any(|fact| fact.device.is_some_and(|of| name(of) == **id))
    };
    let fails = |disk: &&&String| {
        facts().any(|fact| {
            is_of_a_failing_drive(fact) && fact.device.map(name).as_ref() == Some(**disk)
        })
    };
    let failed: Vec<&String> = disks.iter().filter(failed).collect();
    let failing: Vec<&&String> = real.iter().filter(fails).collect();
    if let ([member], [disk]) = (failed.as_slice(), failing.as_slice())
        && model(disk).is_none_or(|model| member.contains(&model.replace(' ', "_")))
    {
        aliases.insert((*member).clone(), (**disk).clone());
    }
    aliases
}

/// Whether a drive says so of itself: its health check, or an attribute below its threshold.
fn is_of_a_failing_drive(fact: &Fact) -> bool {
    key::SMART_PREFAIL_NOW == fact.key
        || key::SMART_PASSED == fact.key && fact.value.number() == Some(0.0)
}

/// `ata-EXAMPLE_HD4000_EXA0001-part1` without its bus and its partition.
fn bare(name: &str) -> &str {
    let Some(rest) = BUSES.iter().find_map(|bus| name.strip_prefix(bus)) else { return name };
    let rest = BUSES.iter().find_map(|bus| rest.strip_prefix(bus)).unwrap_or(rest);
    match rest.rsplit_once("-part") {
        Some((disk, part)) if part.bytes().all(|byte| byte.is_ascii_digit()) => disk,
        _ => rest,
    }
}
