//! Who is accused, at a false discovery rate.

use std::collections::{BTreeMap, BTreeSet};

use super::expected::{ExpectedLatency, Means};
use super::groups;
use super::hours::{Disk, Disks};
use super::stretches::{Scale, Stretch};

/// Of those accused, this share may be well.
pub const RATE: f64 = 0.01;
/// A disk that is slower by less than this factor is none to be accused.
const FACTOR: f64 = 1.3;
/// What firmwares cost follows from the curve, and the curve from what firmwares cost: so many times.
const ROUNDS: usize = 3;
/// A model needs so many disks to compare one with the others.
pub const PEERS: usize = 8;

/// Whom it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// All disks of a model, from some hour on.
    Model(String),
    /// A model's firmware, beside the quickest of them.
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
    /// The least false discovery rate at which it stands; not for groups.
    pub rate: f64,
    /// The risk: hours that its requests took beyond what peers need, for each hour that these need, by day since
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

    /// The risk over all days; of a group that of its slow disks, each slower by as much as the group.
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

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// Groups, the widest first, then disks, the most certain first.
    pub accused: Vec<Accusation>,
    /// Disks that were compared.
    pub judged: usize,
    /// Disks of models with too few of them, or never at a load that others had.
    pub alone: usize,
}

impl Verdicts {
    /// The places of the disks that are accused themselves, not with a group.
    pub fn disks(&self) -> BTreeSet<usize> {
        let place = |one: &Accusation| match one.whom {
            Subject::Disk(place) => Some(place),
            _ => None,
        };
        self.accused.iter().filter_map(place).collect()
    }
}

/// What each model needs by load, with a clock for each of its firmwares.
pub fn expected(disks: &Disks) -> ExpectedLatency<'_> {
    let mut expected = ExpectedLatency::of(disks, vec![0.0; disks.disks.len()]);
    for _ in 0..ROUNDS {
        let clocks = groups::clocks(disks, &expected.excesses(disks));
        expected = ExpectedLatency::of(disks, clocks);
    }
    expected
}

/// Judges a fleet.
pub fn judge(disks: &Disks) -> Verdicts {
    let expected = expected(disks);
    let mut excess = expected.excesses(disks);
    let mut verdicts = Verdicts::default();
    groups::firmwares(disks, &mut excess, &mut verdicts.accused);
    groups::models(disks, &mut excess, &mut verdicts.accused);
    let mut models: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, disk) in disks.disks.iter().enumerate() {
        models.entry(&disk.model).or_default().push(place);
    }
    let all: Vec<&[Option<f64>]> = excess.iter().map(Vec::as_slice).collect();
    let of_all = Scale::of(&all);
    groups::places(disks, &mut excess, &of_all, &mut verdicts.accused);
    let mut found: Vec<Accusation> = Vec::new();
    for members in models.values() {
        if members.len() < PEERS {
            verdicts.alone += members.len();
            continue;
        }
        let of: Vec<&[Option<f64>]> = members.iter().map(|disk| excess[*disk].as_slice()).collect();
        let scale = Scale::of(&of);
        for disk in members {
            let Some(stretch) = scale.most(&excess[*disk]) else {
                verdicts.alone += 1;
                continue;
            };
            verdicts.judged += 1;
            let mut days: BTreeMap<i64, f64> = BTreeMap::new();
            for (hour, value) in excess[*disk].iter().enumerate() {
                let Some(value) = value.filter(|value| *value > FACTOR.ln()) else { continue };
                *days.entry(disks.day(hour)).or_default() += value.exp_m1();
            }
            found.push(Accusation {
                whom: Subject::Disk(*disk),
                stretch,
                members: members.len() - 1,
                slow: 1,
                rate: 1.0,
                days,
                means: expected.means(disks, *disk, stretch.from..stretch.to),
            });
        }
    }
    discovered(&mut found);
    found.retain(|one| one.rate <= RATE && one.stretch.excess > FACTOR.ln());
    found.sort_by(|a, b| a.rate.total_cmp(&b.rate).then(b.risk().total_cmp(&a.risk())));
    verdicts.accused.extend(found);
    verdicts
}

/// States of each the least rate at which it would be accused (Benjamini and Hochberg, J. R. Stat. Soc. B 57,
/// 1995, as adjusted p-values).
fn discovered(found: &mut [Accusation]) {
    found.sort_by(|a, b| a.stretch.p.total_cmp(&b.stretch.p));
    let (n, mut least) = (found.len() as f64, 1.0f64);
    for (place, one) in found.iter_mut().enumerate().rev() {
        least = least.min(one.stretch.p * n / (place + 1) as f64);
        one.rate = least;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_benjamini_and_hochberg() {
        let with = |p: f64| Accusation {
            whom: Subject::Disk(0),
            stretch: Stretch { from: 0, to: 1, excess: 1.0, score: 0.0, p },
            members: 9,
            slow: 1,
            rate: 1.0,
            days: BTreeMap::new(),
            means: None,
        };
        // Fifteen p-values of their paper's example.
        let of = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let mut found: Vec<Accusation> = of.into_iter().map(with).collect();
        discovered(&mut found);
        assert_eq!(found.iter().filter(|one| one.rate <= 0.05).count(), 4);
    }
}
