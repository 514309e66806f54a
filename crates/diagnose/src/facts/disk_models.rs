//! Conclusions from a disk's model: whether it is from a hypervisor, a provider or an array, and
//! whether its vendor lists it as shingled; and the state of a controller's cache.

/// Words in the models of disks that a hypervisor or a provider makes.
const VIRTUAL: [&str; 8] =
    ["QEMU", "VMware", "VBOX", "Msft", "Virtual", "Amazon", "PersistentDisk", "nvme_card"];
/// Words in the model of a device that is not a drive (peers' practice, what each hypervisor
/// reports in /sys/block/DISK/device/model, and targets as multipath-tools' hwtable.c lists them).
const VOLUME: [&str; 18] = [
    "2145",
    "3par",
    "flasharray",
    "iscsi",
    "lio-org",
    "lun c-mode",
    "open-v",
    "symmetrix",
    "qemu",
    "virtio",
    "amazon elastic",
    "ebs",
    "msft",
    "virtual",
    "persistentdisk",
    "vmware",
    "xen",
    "rbd",
];
/// A drive in the host itself, though its model begins as those of volumes do: "Amazon EC2 NVMe
/// Instance Storage".
const LOCAL: &str = "instance storage";
/// Models by the lists that their vendors published: one a line, the beginning of the name.
const SHINGLED: &str = include_str!("shingled.txt");

/// Words of a write cache that does not work (HP, LSI and Dell controllers).
const OFF: [&str; 4] = ["disabled", "write-through", "writethrough", "write through"];

/// Words of arrays, pools and controllers that work in the background (md, ZFS, MegaRAID).
const ACTIONS: [&str; 10] = [
    "recover", "rebuild", "resync", "reshape", "resilver", "check", "repair", "scrub", "copyback",
    "patrol",
];
/// Words of work that does not run.
const WAITING: [&str; 2] = ["delayed", "pending"];

/// Whether it is from a hypervisor or a provider: its own reports are then not those of a drive.
pub(crate) fn is_virtual(model: &str) -> bool {
    VIRTUAL.iter().any(|word| model.contains(word))
}

/// Whether it represents a volume of a network or an array.
pub(crate) fn is_volume(model: &str) -> bool {
    let model = model.to_lowercase();
    VOLUME.iter().any(|word| model.contains(word)) && !model.contains(LOCAL)
}

/// Whether a vendor lists this model as shingled.
pub(crate) fn is_shingled(model: &str) -> bool {
    let mut listed = SHINGLED.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    listed.any(|known| !known.is_empty() && model.contains(known))
}

/// Whether what a controller reports of its write cache means that it does not work.
pub(crate) fn is_cache_off(state: &str) -> bool {
    let state = state.to_ascii_lowercase();
    OFF.iter().any(|word| state.contains(word))
}

/// Whether a RAID level keeps parity: 5 and 6, and stripes of them.
pub(crate) fn keeps_parity(level: &str) -> bool {
    level.starts_with(['5', '6'])
}

/// Whether an array's state shows that it lacks members: `clean, degraded, recovering`.
pub(crate) fn is_degraded(state: &str) -> bool {
    state.to_ascii_lowercase().split([',', ' ']).any(|word| word == "degraded")
}

/// What an array reports of its work, in lower case, if it is rebuilt or checked now.
pub(crate) fn rebuilding(action: &str) -> Option<String> {
    let action = action.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| action.contains(word));
    let runs = says(&ACTIONS) && !says(&WAITING);
    runs.then_some(action)
}
