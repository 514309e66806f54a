//! Conclusions from a device's name: the disk, and its possible media.

use iowhy_model::{DeviceId, Medium, Recording};

/// The disk after a name: `/dev/sdb` is `sdb`. Readers already name slices and device numbers by
/// their disk.
pub(crate) fn disk(name: &str) -> String {
    name.trim().trim_start_matches("/dev/").to_string()
}

/// The same of a device.
pub(crate) fn of(recording: &Recording, device: DeviceId) -> String {
    disk(&recording.device_of(device).name)
}

/// `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`, as far as a name shows.
pub(crate) fn without_partition(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_numbered = |disk: &&str| disk.ends_with(|c: char| c.is_ascii_digit());
    bare.strip_suffix('p').filter(is_numbered).unwrap_or(bare)
}

/// The prefix of a name: disks with the same prefix are of a kind (`sd`, `nvme`, `c`).
pub(crate) fn kind(name: &str) -> &str {
    let end = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
    let letters = &name[..end];
    ["nvme", "xvd", "sd", "hd", "vd", "dm", "md", "loop"]
        .into_iter()
        .find(|kind| letters.starts_with(kind))
        .unwrap_or(letters)
}

/// The possible media of a disk by its name, with odds. The odds are an assumption, and are
/// reported as such wherever they decide.
pub(crate) fn media(disk: &str) -> Vec<(Medium, f64)> {
    match kind(disk) {
        // Cloud volumes answer by the NVMe protocol too (EBS on Nitro), hence the second half.
        "nvme" => vec![(Medium::Nvme, 0.6), (Medium::Network, 0.4)],
        "hd" => vec![(Medium::Rotational, 1.0)],
        "sd" | "c" => {
            vec![(Medium::Rotational, 0.5), (Medium::Flash, 0.4), (Medium::Network, 0.1)]
        }
        "rbd" | "nbd" => vec![(Medium::Network, 0.7), (Medium::Flash, 0.3)],
        // They may also be a disk of the host.
        "xvd" | "vd" => {
            vec![(Medium::Network, 0.6), (Medium::Flash, 0.25), (Medium::Rotational, 0.15)]
        }
        "mmcblk" => vec![(Medium::Card, 1.0)],
        _ => vec![
            (Medium::Rotational, 0.3),
            (Medium::Flash, 0.25),
            (Medium::Nvme, 0.2),
            (Medium::Network, 0.25),
        ],
    }
}

/// The same of a virtual machine of a provider: its disks are volumes, and few of its types have a
/// local one (odds chosen).
pub(crate) fn media_in_a_cloud(disk: &str) -> Vec<(Medium, f64)> {
    match kind(disk) {
        "nvme" => vec![(Medium::Network, 0.85), (Medium::Nvme, 0.15)],
        "sd" | "xvd" | "vd" => vec![(Medium::Network, 0.85), (Medium::Flash, 0.15)],
        _ => media(disk),
    }
}

/// Whether a name is that of a disk, by its first letters.
pub(crate) fn is_of_a_disk(name: &str) -> bool {
    let known = ["nvme", "xvd", "sd", "hd", "vd", "da", "ada", "mmcblk", "disk"];
    known.contains(&kind(name)) && name.len() > kind(name).len() && !name.contains('/')
}

/// Whether the block layer counts its requests, as far as the name shows: drivers of cards that
/// take I/O before there are requests (`fioa`, `vgca0`, `rssda`) count their queue themselves, each
/// differently.
pub(crate) fn is_counted_by_the_block_layer(name: &str) -> bool {
    const OF_CARDS: [&str; 5] = ["fct", "fio", "rssd", "rsxx", "vgc"];
    !OF_CARDS.iter().any(|driver| name.starts_with(driver))
}

/// Whether a name shows nothing of the bus: `sdb` or `da1`, or a SCSI address.
pub(crate) fn is_of_any_bus(disk: &str) -> bool {
    matches!(kind(disk), "sd" | "da") || disk.matches(':').count() == 3
}

/// Whether it is a memory card or its host controller: `mmcblk1`, `mmc0`.
pub(crate) fn is_card(disk: &str) -> bool {
    disk.starts_with("mmc")
}

/// Whether it is a port or a drive of ATA by its name: `ata3`, `ada0`.
pub(crate) fn is_ata(disk: &str) -> bool {
    matches!(kind(disk), "ata" | "ada")
}

/// Whether it is a drive of the old IDE drivers by its name: `hdc`.
pub(crate) fn is_ide(disk: &str) -> bool {
    matches!(disk.as_bytes(), [b'h', b'd', b'a'..=b't', rest @ ..] if rest.iter().all(u8::is_ascii_digit))
}

/// Host adapters that serve several disks, as their drivers name themselves.
const ADAPTERS: [&str; 8] =
    ["mpt2sas", "mpt3sas", "mptsas", "megaraid", "mr_sas", "aacraid", "3w-", "RaidPort"];

/// Whether it is a host adapter that several disks hang on, or the PCI function of one.
pub(crate) fn is_adapter(name: &str) -> bool {
    is_pci_function(name) || ADAPTERS.iter().any(|driver| name.starts_with(driver))
}

/// Whether it is an NVMe drive or controller: it sits in a slot, and no cable leads to it.
pub(crate) fn is_nvme(disk: &str) -> bool {
    disk.starts_with("nvme")
}

/// Whether it is a port of SATA, `ata3`: a link of its own, to one disk.
pub(crate) fn is_ata_port(name: &str) -> bool {
    numbered(name, "ata")
}

/// Whether it is a PCI function, `0000:43:00.0`, that storage drivers own and no log named.
pub(crate) fn is_pci_function(name: &str) -> bool {
    let hex = |part: &str, n: usize| part.len() == n && part.bytes().all(|b| b.is_ascii_hexdigit());
    let Some((slot, function)) = name.split_once('.') else { return false };
    let parts: Vec<&str> = slot.split(':').collect();
    hex(function, 1)
        && matches!(parts[..], [domain, bus, device] if hex(domain, 4) && hex(bus, 2) && hex(device, 2))
}

/// Whether the device is memory itself, and answers as memory does: persistent memory, RAM disks,
/// null_blk.
pub(crate) fn is_memory(disk: &str) -> bool {
    matches!(kind(disk), "pmem" | "dax" | "ram" | "zram" | "brd" | "nullb" | "nd")
}

/// Whether the device is stacked on others, whose faults it shows.
pub(crate) fn is_stacked(disk: &str) -> bool {
    matches!(kind(disk), "dm" | "md" | "drbd" | "bcache" | "bd") || disk.starts_with("mapper/")
}

/// Whether a path is of a device and no file.
pub(crate) fn is_a_node(path: &str) -> bool {
    path.starts_with("/dev/")
}

/// Whether its data is on another machine, by its name (Ceph, network block devices).
pub(crate) fn is_elsewhere(disk: &str) -> bool {
    matches!(kind(disk), "rbd" | "nbd" | "rnbd")
}

/// Whether it is a monitor of a Ceph cluster, and no store: `mon.a`.
pub(crate) fn is_a_monitor(service: &str) -> bool {
    service.starts_with("mon.")
}

/// Whether it is the server of a FUSE file system, as stacks of the tasks that wait for it show it.
pub(crate) fn is_a_fuse_server(name: &str) -> bool {
    name == "FUSE"
}

/// The device whose journal or log a hung task writes: `rbd0` of `INFO: task jbd2/rbd0-8:801166
/// blocked for more than 120 seconds.`, `nbd3p1` of `xfsaild/nbd3p1:712`.
pub(crate) fn written_by(message: &str) -> Option<&str> {
    let (_, task) = message.split_once("task ")?;
    let (name, _) = task.split_once(" blocked for more than ")?;
    let (_, device) = name.rsplit_once(':')?.0.split_once('/')?;
    Some(device.split('-').next().unwrap_or(device))
}

/// Whether it is a volume by its group, `vg0/root`, and no path.
pub(crate) fn is_of_a_group(disk: &str) -> bool {
    disk.contains('/') && !disk.starts_with(['.', '/'])
}

/// Whether it is a drive that only its RAID controller shows: `c0/e32/s4`, `c0/1I:1:3`. A volume is
/// `c0/v1`.
pub(crate) fn is_behind_a_controller(disk: &str) -> bool {
    let place = disk.strip_prefix('c').and_then(|rest| rest.split_once('/'));
    place.is_some_and(|(number, rest)| {
        !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
            && !rest.starts_with('v')
            && !rest.starts_with("phy")
    })
}

/// Whether the device is backed by a file or memory: two of them have nothing in common.
pub(crate) fn is_of_a_file(disk: &str) -> bool {
    matches!(kind(disk), "loop" | "ram" | "zram")
}

/// Whether tasks of this machine serve its requests instead of a drive: if they wait for a CPU, it
/// is slow.
pub(crate) fn is_served_by_tasks(disk: &str) -> bool {
    matches!(kind(disk), "loop" | "nbd" | "ublkb") || is_stacked(disk)
}

/// Whether it is a device number, `0:45`, and no name: that of a file system without its own disk.
pub(crate) fn is_device_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once(':').is_some_and(|(major, minor)| digits(major) && digits(minor))
}

/// Whether a name is that of the disk or one of its partitions: `sda` and `sda1`, not `sdaa`.
pub(crate) fn is_on(name: &str, disk: &str) -> bool {
    name == disk || is_partition(name, disk)
}

/// Drivers whose disks have numbers: `md2` is no partition of a disk called `md`.
const DRIVERS: [&str; 8] = ["dm-", "loop", "md", "nbd", "nvme", "ram", "rbd", "zram"];

/// `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`.
pub(crate) fn is_partition(name: &str, disk: &str) -> bool {
    let Some(rest) = name.strip_prefix(disk).filter(|_| !disk.is_empty()) else { return false };
    if DRIVERS.contains(&disk) {
        return false;
    }
    let by_p = disk.ends_with(|c: char| c.is_ascii_digit());
    numbered(rest, if by_p { "p" } else { "" })
}

/// `nvme0` of `nvme0n1`.
pub(crate) fn is_controller(name: &str, disk: &str) -> bool {
    numbered(name, "nvme") && disk.strip_prefix(name).is_some_and(|rest| numbered(rest, "n"))
}

/// Whether it is a port of a host adapter, whose disk has to be found out.
pub(crate) fn is_port(name: &str) -> bool {
    ["ata", "mmc", "mpt2sas_cm", "mpt3sas_cm"].iter().any(|kind| numbered(name, kind))
}

/// Whether only FreeBSD gives such a name to a disk or a port (cam(4), ahci(4)).
pub(crate) fn is_of_freebsd(name: &str) -> bool {
    ["ada", "da", "nda", "nvd", "mfid", "ahcich"].iter().any(|kind| numbered(name, kind))
}

fn numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Folders and buses in front of an id (udev, 60-persistent-storage.rules).
const BUSES: [&str; 8] =
    ["disk/by-id/", "ata-", "scsi-", "nvme-", "usb-", "virtio-", "wwn-", "sas-"];

/// Whether it is an id by which udev links to a disk.
pub(crate) fn is_id(name: &str) -> bool {
    bare(name) != name
}

/// `ata-EXAMPLE_HD4000_EXA0001-part1` without its bus and its partition.
pub(crate) fn bare(name: &str) -> &str {
    let Some(rest) = BUSES.iter().find_map(|bus| name.strip_prefix(bus)) else { return name };
    let rest = BUSES.iter().find_map(|bus| rest.strip_prefix(bus)).unwrap_or(rest);
    match rest.rsplit_once("-part") {
        Some((disk, part)) if part.bytes().all(|byte| byte.is_ascii_digit()) => disk,
        _ => rest,
    }
}

/// Whether a thread is that of a RAID with parity: `md0_raid5`.
pub(crate) fn is_parity_thread(comm: &str) -> bool {
    comm.starts_with("md") && (comm.ends_with("_raid5") || comm.ends_with("_raid6"))
}

/// Whether all of these paths, separated by colons like fio's, are of memory.
pub(crate) fn are_memory(paths: &str) -> bool {
    paths.split(':').all(|path| is_memory(&disk(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_lead_to_their_disk() {
        assert!(is_partition("sda1", "sda") && is_partition("nvme0n1p2", "nvme0n1"));
        assert!(!is_partition("nvme0n11", "nvme0n1") && !is_partition("sdaa", "sda"));
        assert!(!is_partition("md2", "md") && is_partition("md2p1", "md2"));
        assert!(is_on("sda", "sda") && !is_on("sda1", "") && !is_on("sda", "sda1"));
        assert!(is_controller("nvme0", "nvme0n1") && !is_controller("nvme1", "nvme10n1"));
        assert!(is_port("ata3") && !is_port("sda"));
        assert!(["ada0", "da12", "ahcich3"].into_iter().all(is_of_freebsd));
        assert!(!["sda", "data1", "dasda", "da", "dm-0"].into_iter().any(is_of_freebsd));
    }

    #[test]
    fn names_tell_a_kind() {
        assert_eq!(disk("/dev/nvme0n1"), "nvme0n1");
        assert_eq!((kind("sdy"), kind("nvme1n1"), kind("c5t1d0")), ("sd", "nvme", "c"));
        assert!(is_behind_a_controller("c0/e32/s4") && is_behind_a_controller("c1/1I:1:3"));
        assert!(!is_behind_a_controller("c0/v1") && !is_behind_a_controller("cciss/c0d0"));
        assert!(is_served_by_tasks("loop7") && is_served_by_tasks("dm-0"));
        assert!(!is_served_by_tasks("zram0") && !is_served_by_tasks("vda"));
        assert!(is_device_number("0:45") && !is_device_number("vda") && !is_device_number("c0:"));
        assert!(is_pci_function("0000:43:00.0") && !is_pci_function("2:0:4:0"));
        assert!(!is_pci_function("nvme0n1") && !is_pci_function("") && !is_pci_function("a.b"));
        for memory in ["pmem0", "pmem0p1", "pmem1s", "dax0", "ram3", "zram0", "nullb0"] {
            assert!(is_memory(memory), "{memory}");
        }
        assert!(!is_memory("nvme0n1") && !is_memory("sda") && !is_memory("nbd0"));
        assert!(is_adapter("aacraid") && is_adapter("mpt3sas_cm0") && is_adapter("0000:41:00.0"));
        assert!(!is_adapter("ata5") && !is_adapter("sda") && !is_adapter("nvme0"));
        assert!(is_of_a_disk("sda") && is_of_a_disk("nvme0n1") && is_of_a_disk("mmcblk0"));
        assert!(!is_of_a_disk("sd") && !is_of_a_disk("dd") && !is_of_a_disk("sda/file"));
        assert!(is_of_any_bus("sdk") && is_of_any_bus("2:0:4:0") && !is_of_any_bus("ata5"));
        assert!(is_stacked("dm-0") && is_stacked("md127") && !is_stacked("sda"));
        assert!(is_stacked("mapper/root") && !is_counted_by_the_block_layer("vgca0"));
        for name in ["sda", "nvme0n1", "hda", "loop7", "", "mmcblk0", "xvdb", "c5t1d0"] {
            let odds: f64 = media(name).iter().map(|(_, odds)| odds).sum();
            assert!((odds - 1.0).abs() < 1e-9, "{name}");
        }
    }
}
