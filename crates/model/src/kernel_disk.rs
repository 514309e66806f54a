//! The medium of a whole disk of this machine, from what the kernel reports in /sys.

use crate::Medium;

/// The folder of a whole disk in /sys. The caller reads it, since this crate opens no file.
pub trait KernelDisk {
    /// The kernel's name of the disk.
    fn name(&self) -> &str;
    /// The folder without links, `/sys/devices/...`: each bus, port and session on the way to the
    /// disk is one component.
    fn way(&self) -> String;
    /// A file of the folder, trimmed; `None` if it is missing or empty.
    fn read(&self, file: &str) -> Option<String>;
    /// The names in a folder of the folder, sorted.
    fn names(&self, folder: &str) -> Vec<String>;
}

impl Medium {
    /// The medium of a disk; `None` if the kernel does not report it reliably. `queue/rotational`
    /// is trusted only for disks that are neither virtual nor remote: it is 1 by default.
    pub fn of_kernel_disk(disk: &impl KernelDisk) -> Option<Medium> {
        let (name, way) = (disk.name(), disk.way());
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if begins(&["dm-", "md", "loop", "bcache"]) || !disk.names("slaves").is_empty() {
            return Some(Medium::Stacked);
        }
        let model = ["device/vendor", "device/model"].map(|file| disk.read(file));
        let model = model.into_iter().flatten().collect::<Vec<_>>().join(" ").to_ascii_uppercase();
        let is_of = |models: &[&str]| models.iter().any(|words| model.contains(words));
        if begins(&["rbd", "nbd", "drbd", "sheep"])
            || is_of(&NETWORK_MODELS)
            || is_remote(disk, &way)
        {
            return Some(Medium::Network);
        }
        let is_virtual = begins(&["vd", "xvd", "zram", "ram", "ublk"]) || is_of(&VIRTUAL_MODELS);
        if is_virtual || is_behind(&way, "virtio", "") {
            return None;
        }
        if begins(&["nvme"]) {
            return Some(Medium::Nvme);
        }
        let is_removable = disk.read("removable").as_deref() == Some("1");
        match disk.read("queue/rotational")?.as_str() {
            // A stick answers no question about its rotation, so the default remains.
            "1" if is_behind(&way, "usb", "") && is_removable => None,
            "1" => Some(Medium::Rotational),
            "0" => Some(Medium::Flash),
            _ => None,
        }
    }
}

/// Models of a provider's network volumes, in capitals: EBS, Google persistent disks, Azure.
const NETWORK_MODELS: [&str; 4] =
    ["AMAZON ELASTIC BLOCK STORE", "PERSISTENTDISK", "NVME_CARD-PD", "MSFT NVME ACCELERATOR"];
/// Vendors and models of virtual machines' disks, in capitals.
const VIRTUAL_MODELS: [&str; 5] = ["QEMU", "VMWARE", "VBOX", "MSFT", "VIRTUAL DISK"];

/// Whether the disk is attached by iSCSI (`session3`), Fibre Channel (`rport-7:0-0`) or NVMe over
/// fabrics. A disk of NVMe multipath has its controllers, each with a transport, in its subsystem.
fn is_remote(disk: &impl KernelDisk, way: &str) -> bool {
    let controllers = disk.names("device").into_iter().filter(|name| has_number(name, "nvme", ""));
    let transports = controllers.map(|name| format!("device/{name}/transport"));
    let mut transports = transports.chain(["device/transport".to_string()]);
    let over_fabric = transports.any(|file| disk.read(&file).is_some_and(|by| by != "pcie"));
    over_fabric || is_behind(way, "session", "") || is_behind(way, "rport-", ":")
}

/// Whether a component of the way to a disk is this word, a number, and perhaps more.
fn is_behind(way: &str, word: &str, more: &str) -> bool {
    way.split('/').any(|component| has_number(component, word, more))
}

/// Whether a name is a word, a number, and nothing else, or what comes after begins with `more`.
fn has_number(name: &str, word: &str, more: &str) -> bool {
    let Some(rest) = name.strip_prefix(word) else { return false };
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    after.len() < rest.len() && (after.is_empty() || !more.is_empty() && after.starts_with(more))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copied folder of /sys: its way, and its files with their text.
    struct Copied {
        way: &'static str,
        files: &'static [(&'static str, &'static str)],
    }

    impl KernelDisk for Copied {
        fn name(&self) -> &str {
            self.way.rsplit('/').next().unwrap_or_default()
        }

        fn way(&self) -> String {
            self.way.to_string()
        }

        fn read(&self, file: &str) -> Option<String> {
            let found = self.files.iter().find(|(name, _)| *name == file)?;
            Some(found.1.to_string())
        }

        fn names(&self, folder: &str) -> Vec<String> {
            let inside = self.files.iter().filter_map(|(file, _)| {
                let (name, _) = file.strip_prefix(folder)?.strip_prefix('/')?.split_once('/')?;
                Some(name.to_string())
            });
            inside.collect()
        }
    }

    const ROTATIONAL: (&str, &str) = ("queue/rotational", "1");
    const FLASH: (&str, &str) = ("queue/rotational", "0");
    const AHCI: &str = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/";

    /// A folder of /sys, files below it with what they say, and the medium.
    type Described<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<Medium>);

    #[test]
    fn disks_as_sys_describes_them() {
        let sda = format!("{AHCI}sda").leak();
        let known: [Described; 20] = [
            (sda, &[ROTATIONAL, ("device/model", "ST4000NM0035")], Some(Medium::Rotational)),
            (sda, &[FLASH, ("device/model", "Samsung SSD 860")], Some(Medium::Flash)),
            (sda, &[], None),
            (
                "/sys/devices/pci0000:00/0000:00:1d.0/0000:03:00.0/nvme/nvme0/nvme0n1",
                &[FLASH, ("device/model", "Samsung SSD 990 PRO"), ("device/transport", "pcie")],
                Some(Medium::Nvme),
            ),
            // EBS, a Google persistent disk, an instance's own disk, one of a VM.
            (
                "/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1",
                &[FLASH, ("device/model", "Amazon Elastic Block Store")],
                Some(Medium::Network),
            ),
            (
                "/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1",
                &[FLASH, ("device/model", "nvme_card-pd")],
                Some(Medium::Network),
            ),
            (
                "/sys/devices/pci0000:00/0000:00:1f.0/nvme/nvme1/nvme1n1",
                &[FLASH, ("device/model", "Amazon EC2 NVMe Instance Storage")],
                Some(Medium::Nvme),
            ),
            (
                "/sys/devices/pci0000:00/0000:00:05.0/nvme/nvme0/nvme0n1",
                &[FLASH, ("device/model", "QEMU NVMe Ctrl")],
                None,
            ),
            // iSCSI and Fibre Channel: LUNs of an array, whatever they report.
            (
                "/sys/devices/platform/host3/session1/target3:0:0/3:0:0:0/block/sdb",
                &[ROTATIONAL, ("device/vendor", "LIO-ORG"), ("device/model", "disk1")],
                Some(Medium::Network),
            ),
            (
                "/sys/devices/pci0000:80/0000:81:00.0/host7/rport-7:0-0/target7:0:0/7:0:0:1/block/sdc",
                &[FLASH, ("device/vendor", "NETAPP"), ("device/model", "LUN C-Mode")],
                Some(Medium::Network),
            ),
            // NVMe over TCP, alone and as the paths of one subsystem; a local drive of two ports.
            (
                "/sys/devices/virtual/nvme-fabrics/ctl/nvme2/nvme2n1",
                &[FLASH, ("device/model", "Linux"), ("device/transport", "tcp")],
                Some(Medium::Network),
            ),
            (
                "/sys/devices/virtual/nvme-subsystem/nvme-subsys2/nvme2n1",
                &[FLASH, ("device/nvme2/transport", "tcp"), ("device/nvme3/transport", "tcp")],
                Some(Medium::Network),
            ),
            (
                "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1",
                &[FLASH, ("device/nvme0/transport", "pcie"), ("device/nvme1/transport", "pcie")],
                Some(Medium::Nvme),
            ),
            // virtio, by name and by bus; Hyper-V and VMware.
            ("/sys/devices/pci0000:00/0000:00:05.0/virtio2/block/vda", &[ROTATIONAL], None),
            (
                "/sys/devices/pci0000:00/0000:00:05.0/virtio2/host2/target2:0:0/2:0:0:0/block/sda",
                &[ROTATIONAL, ("device/vendor", "DO"), ("device/model", "Volume")],
                None,
            ),
            (sda, &[ROTATIONAL, ("device/vendor", "Msft"), ("device/model", "Virtual Disk")], None),
            (sda, &[ROTATIONAL, ("device/vendor", "VMware"), ("device/model", "disk")], None),
            // A stick, and a disk behind a USB bridge.
            (
                "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host4/target4:0:0/4:0:0:0/\
                 block/sdb",
                &[ROTATIONAL, ("removable", "1"), ("device/model", "Ultra")],
                None,
            ),
            (
                "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host4/target4:0:0/4:0:0:0/\
                 block/sdb",
                &[ROTATIONAL, ("removable", "0"), ("device/model", "Elements 25A2")],
                Some(Medium::Rotational),
            ),
            // Two paths to one LUN, merged by multipathd.
            (
                "/sys/devices/virtual/block/dm-0",
                &[ROTATIONAL, ("slaves/sdb/dev", "8:16"), ("slaves/sdc/dev", "8:32")],
                Some(Medium::Stacked),
            ),
        ];
        for (way, files, medium) in known {
            let disk = Copied { way, files };
            assert_eq!(Medium::of_kernel_disk(&disk), medium, "{way} {files:?}");
        }
    }
}
