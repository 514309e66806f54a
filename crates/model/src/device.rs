//! Devices and the names interned in a recording.

use std::num::NonZeroU32;

/// A string of a recording (a process name, a label), kept once and referred to by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(pub(crate) NonZeroU32);

impl Name {
    /// Its place in the order in which names were interned, from 0.
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

    /// Its place in [`Recording::devices`](crate::Recording::devices).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a device is made of, as far as its name or the system tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Medium {
    /// A turning platter (`queue/rotational` = 1 on real hardware).
    Rotational,
    /// Flash behind SATA, SAS or USB.
    Flash,
    /// Flash behind NVMe.
    Nvme,
    /// A volume across a network (EBS, a SAN LUN, Ceph RBD).
    Network,
    /// A device made of others or of a file (dm, md, loop): it has the faults of what is below.
    Stacked,
}

impl Medium {
    /// The name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Medium::Rotational => "rotational",
            Medium::Flash => "flash",
            Medium::Nvme => "nvme",
            Medium::Network => "network",
            Medium::Stacked => "stacked",
        }
    }

    /// The medium of a given name.
    pub fn from_name(name: &str) -> Option<Medium> {
        [Self::Rotational, Self::Flash, Self::Nvme, Self::Network, Self::Stacked]
            .into_iter()
            .find(|medium| medium.name() == name)
    }
}

/// A block device as a listing names it.
#[derive(Clone, PartialEq, Debug)]
pub struct Device {
    /// `sdb`, `nvme0n1`, `c5t1d0s2`, `8,16`; empty when the source had none.
    pub name: String,
    /// What it is made of, when somebody said so (sysfs, the user); never guessed here.
    pub medium: Option<Medium>,
}
