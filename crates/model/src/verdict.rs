//! The list of verdicts, with the family of each and what it blames.
//!
//! A new verdict is one line of the list below; the verdicts that it explains are declared in its
//! detector.

use std::fmt;

/// Verdicts of one kind: the first part of their names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    /// A configured limit.
    Cap,
    /// A setting of the machine.
    Cfg,
    /// The device by itself.
    Device,
    /// Nothing is wrong.
    Healthy,
    /// The evidence does not support a verdict.
    Insufficient,
    /// Software or network between program and disk.
    Layer,
    /// The load on the device.
    Load,
    /// The device compared with its peers.
    Peer,
    /// The report itself.
    Report,
}

/// What is to blame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Blame {
    /// The disk.
    Disk,
    /// The path to the disk: cable, link, port, adapter.
    Path,
    /// The disk or its path: the evidence does not distinguish them.
    DiskOrPath,
    /// The workload.
    Workload,
    /// A limit.
    Limit,
    /// The configuration.
    Configuration,
    /// Software above the block layer.
    Above,
    /// The storage below a program: the disk, its path or the load on them.
    Below,
    /// The report.
    Report,
    /// Nothing: all is well.
    Nobody,
    /// Not known.
    Unknown,
}

impl Blame {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Blame::Disk => "disk",
            Blame::Path => "path",
            Blame::DiskOrPath => "disk-or-path",
            Blame::Workload => "workload",
            Blame::Limit => "limit",
            Blame::Configuration => "configuration",
            Blame::Above => "above",
            Blame::Below => "below",
            Blame::Report => "report",
            Blame::Nobody => "healthy",
            Blame::Unknown => "insufficient",
        }
    }
}

macro_rules! verdicts {
    ($($verdict:ident $name:literal $family:ident;)*) => {
        /// A verdict.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Verdict {
            $(
                #[doc = $name]
                $verdict,
            )*
        }

        impl Verdict {
            /// All of them, sorted by name.
            pub const ALL: &[Verdict] = &[$(Verdict::$verdict),*];

            /// Its name: `device.retry`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Verdict::$verdict => $name,)*
                }
            }

            /// Its family.
            pub const fn family(self) -> Family {
                match self {
                    $(Verdict::$verdict => Family::$family,)*
                }
            }
        }
    };
}

verdicts! {
    CapBurst "cap.burst" Cap;
    CapCgroup "cap.cgroup" Cap;
    CapVolume "cap.volume" Cap;
    CfgMisaligned "cfg.misaligned" Cfg;
    CfgScheduler "cfg.scheduler" Cfg;
    DeviceHang "device.hang" Device;
    DeviceIdleWake "device.idle-wake" Device;
    DeviceMedia "device.media" Device;
    DevicePath "device.path" Device;
    DevicePeriodicDelay "device.periodic-delay" Device;
    DeviceRecovery "device.recovery" Device;
    DeviceRetry "device.retry" Device;
    DeviceSlow "device.slow" Device;
    DeviceSmr "device.smr" Device;
    DeviceStall "device.stall" Device;
    DeviceThermal "device.thermal" Device;
    DeviceWriteCliff "device.write-cliff" Device;
    Healthy "healthy" Healthy;
    Insufficient "insufficient" Insufficient;
    LayerAbove "layer.above" Layer;
    LayerBelow "layer.below" Layer;
    LayerCpu "layer.cpu" Layer;
    LayerMemory "layer.memory" Layer;
    LayerRemote "layer.remote" Layer;
    LoadBurst "load.burst" Load;
    LoadDiscard "load.discard" Load;
    LoadFlush "load.flush" Load;
    LoadLargeIo "load.large-io" Load;
    LoadMissedRevolution "load.missed-revolution" Load;
    LoadRebuild "load.rebuild" Load;
    LoadRwMix "load.rw-mix" Load;
    LoadSaturated "load.saturated" Load;
    LoadSmallSync "load.small-sync" Load;
    LoadWriteback "load.writeback" Load;
    PeerOutlier "peer.outlier" Peer;
    PeerShared "peer.shared" Peer;
    ReportInconsistent "report.inconsistent" Report;
    ReportUtilTrap "report.util-trap" Report;
}

impl Verdict {
    /// The verdict of this name, for external text.
    pub fn named(name: &str) -> Option<Verdict> {
        Verdict::ALL.iter().find(|verdict| verdict.name() == name).copied()
    }

    /// What it blames.
    pub fn blames(self) -> Blame {
        match self.family() {
            Family::Device if self == Verdict::DevicePath => Blame::Path,
            Family::Device | Family::Peer => Blame::Disk,
            Family::Load => Blame::Workload,
            Family::Cap => Blame::Limit,
            Family::Cfg => Blame::Configuration,
            Family::Layer if self == Verdict::LayerBelow => Blame::Below,
            Family::Layer => Blame::Above,
            Family::Report => Blame::Report,
            Family::Healthy => Blame::Nobody,
            Family::Insufficient => Blame::Unknown,
        }
    }

    /// Whether it accuses nothing: all is well, or nothing can be concluded.
    pub fn accuses_nobody(self) -> bool {
        matches!(self.family(), Family::Healthy | Family::Insufficient)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl fmt::Debug for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Names from outside, such as the expected verdicts in a file.
impl PartialEq<str> for Verdict {
    fn eq(&self, name: &str) -> bool {
        self.name() == name
    }
}

impl PartialEq<&str> for Verdict {
    fn eq(&self, name: &&str) -> bool {
        self.name() == *name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_a_name_finds_its_verdict() {
        assert!(Verdict::ALL.windows(2).all(|pair| pair[0].name() < pair[1].name()));
        for verdict in Verdict::ALL {
            assert_eq!(Verdict::named(verdict.name()), Some(*verdict));
        }
        assert_eq!(Verdict::named("device."), None);
    }

    #[test]
    fn disks_are_blamed_by_themselves_and_beside_their_peers() {
        let blaming = |verdict: Verdict| verdict.blames() == Blame::Disk;
        assert!(blaming(Verdict::DeviceSlow) && blaming(Verdict::PeerOutlier));
        assert!(!blaming(Verdict::LoadSaturated) && Verdict::Healthy.accuses_nobody());
    }
}
