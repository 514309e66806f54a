//! Devices and the names interned in a recording.

use std::num::NonZeroU32;

/// A string of a recording (a process name, a label), kept once and referred to by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(pub(crate) NonZeroU32);

impl Name {
    /// Its index in the order in which names were interned, from 0.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The name at a place.
    pub fn at(place: u32) -> Name {
        Name(NonZeroU32::MIN.saturating_add(place))
    }
}

/// A device of a recording.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceId(pub(crate) u32);

impl DeviceId {
    /// The device at a place.
    pub fn at(place: u32) -> DeviceId {
        DeviceId(place)
    }

    /// Its index in [`Recording::devices`](crate::Recording::devices).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whether the kernel gives such names to disks, their partitions, or devices stacked on them:
/// `sdb1`, `nvme0n1`, `dm-3`. Jobs, services and controller slots have other names, and no path in
/// `/dev`.
pub fn is_kernel_name(word: &str) -> bool {
    // Disks of the first group are counted by letters, those of the second by numbers; then the
    // possible suffixes, each followed by a number.
    const LETTERED: [&str; 5] = ["xvd", "dasd", "sd", "hd", "vd"];
    const NUMBERED: [(&str, &[&str]); 16] = [
        ("nvme", &["c", "n", "p"]),
        ("mmcblk", &["boot", "p"]),
        ("dm-", &[]),
        ("loop", &["p"]),
        ("drbd", &["p"]),
        ("bcache", &["p"]),
        ("rbd", &["p"]),
        ("nbd", &["p"]),
        ("ublkb", &["p"]),
        ("zram", &[]),
        ("ram", &[]),
        ("pmem", &["p"]),
        ("md", &["p"]),
        ("sr", &[]),
        ("nullb", &["p"]),
        ("zd", &["p"]),
    ];
    let number = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let lettered = LETTERED.iter().filter_map(|driver| word.strip_prefix(driver)).any(|rest| {
        let letters = rest.bytes().take_while(u8::is_ascii_lowercase).count();
        (1..=3).contains(&letters) && number(&rest[letters..]) == rest.len() - letters
    });
    let numbered = || {
        NUMBERED.iter().any(|(driver, parts)| {
            let Some(mut rest) = word.strip_prefix(driver) else { return false };
            let digits = number(rest);
            rest = &rest[digits..];
            for part in *parts {
                let Some(after) = rest.strip_prefix(part) else { continue };
                let digits = number(after);
                rest = if digits > 0 { &after[digits..] } else { rest };
            }
            digits > 0 && rest.is_empty()
        })
    };
    word.len() < 24 && (lettered || numbered())
}

/// The kind of medium, as far as the name or the system shows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Medium {
    /// A turning platter (`queue/rotational` = 1 on real hardware).
    Rotational,
    /// Flash behind SATA, SAS or USB.
    Flash,
    /// A memory card, or flash that is soldered on (eMMC).
    Card,
    /// Flash behind NVMe.
    Nvme,
    /// A volume across a network (EBS, a SAN LUN, Ceph RBD).
    Network,
    /// A device on top of others or of a file (dm, md, loop): it shows the faults of the layers
    /// below.
    Stacked,
}

impl Medium {
    /// The name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Medium::Rotational => "rotational",
            Medium::Flash => "flash",
            Medium::Card => "card",
            Medium::Nvme => "nvme",
            Medium::Network => "network",
            Medium::Stacked => "stacked",
        }
    }

    /// The medium of a given name.
    pub fn from_name(name: &str) -> Option<Medium> {
        [Self::Rotational, Self::Flash, Self::Card, Self::Nvme, Self::Network, Self::Stacked]
            .into_iter()
            .find(|medium| medium.name() == name)
    }
}

/// A block device as a listing names it.
#[derive(Clone, PartialEq, Debug)]
pub struct Device {
    /// `sdb`, `nvme0n1`, `c5t1d0s2`, `8,16`; empty when the source had none.
    pub name: String,
    /// Its medium, if sysfs or the user named it; never guessed here.
    pub medium: Option<Medium>,
}

#[cfg(test)]
mod tests {
    use super::is_kernel_name;

    #[test]
    fn names_of_the_kernel_are_told_from_jobs_and_slots() {
        for name in [
            "sda",
            "sdaa12",
            "vdb",
            "xvdf1",
            "hdc",
            "nvme0n1",
            "nvme1c1n2",
            "nvme0n1p3",
            "nvme2",
            "mmcblk0boot1",
            "mmcblk0p2",
            "dm-12",
            "md127",
            "md0p1",
            "loop7",
            "zram0",
            "sr0",
            "rbd3",
            "nbd1p1",
            "dasdb1",
        ] {
            assert!(is_kernel_name(name), "{name}");
        }
        for name in [
            "",
            "sd",
            "sdcard",
            "sysbench",
            "nvme",
            "mdtest",
            "md-journal",
            "rand-write",
            "all targets",
            "c0/e252/s5",
            "drive",
            "log file sync",
            "sda-backup",
            "/dev/sda",
            "ramdisk",
            "dm-",
            "nvme0nx",
            "253:9",
            "c5t1d0",
        ] {
            assert!(!is_kernel_name(name), "{name}");
        }
    }
}
