//! One accusation: subject, time, factor.

use std::collections::BTreeMap;

use super::expected::Means;
use super::hours::{Disk, Disks};
use super::stretches::Stretch;

/// Its subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// All disks of a model, from some hour on.
    Model(String),
    /// A model's firmware, beside the fastest of them.
    Firmware(String, String, String),
    /// The hosts with that value of a label.
    Label(String, String),
    /// A host.
    Host(String),
    /// A disk, by its place in the list.
    Disk(usize),
}

/// One accusation.
#[derive(Clone, PartialEq, Debug)]
pub struct Accusation {
    /// Whom.
    pub whom: Subject,
    /// When, and by how much.
    pub stretch: Stretch,
    /// Disks of the group, or peers of the disk.
    pub members: usize,
    /// Those of them that are slow.
    pub slow: usize,
    /// The least false discovery rate at which it holds; not for groups.
    pub rate: f64,
    /// The risk: hours that its requests took beyond what peers need, for each hour that these
    /// need, by day since
    /// 1970. Only of a disk.
    pub days: BTreeMap<i64, f64>,
    /// What its requests took, and what those of its peers take. Only of a disk.
    pub means: Option<Means>,
}

impl Accusation {
    /// A group.
    pub fn group(whom: Subject, stretch: Stretch, members: usize, slow: usize) -> Accusation {
        Accusation {
            whom,
            stretch,
            members,
            slow,
            rate: f64::NAN,
            days: BTreeMap::new(),
            means: None,
        }
    }

    /// The risk over all days; of a group that of its slow disks, each slower by as much as the
    /// group.
    pub fn risk(&self) -> f64 {
        match self.whom {
            Subject::Disk(_) => self.days.values().sum(),
            _ => {
                let hours = (self.stretch.to - self.stretch.from) as f64;
                self.stretch.excess.exp_m1() * hours * self.slow as f64
            }
        }
    }

    /// The disks that it is about.
    pub fn disks(&self, disks: &Disks) -> Vec<usize> {
        let of = |disk: &Disk, place: usize| match &self.whom {
            Subject::Model(model) => disk.model == *model,
            Subject::Firmware(model, firmware, _) => {
                disk.model == *model && disk.firmware == *firmware
            }
            Subject::Label(label, value) => disk.labels.get(label) == Some(value),
            Subject::Host(host) => disk.host == *host,
            Subject::Disk(own) => place == *own,
        };
        let all = disks.disks.iter().enumerate();
        all.filter(|(place, disk)| of(disk, *place)).map(|(place, _)| place).collect()
    }
}
