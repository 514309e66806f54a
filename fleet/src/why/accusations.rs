//! Accusations at a false discovery rate.

use std::collections::{BTreeMap, BTreeSet};

pub use super::accused::{Accusation, Subject};
use super::expected::ExpectedLatency;
use super::generations::{self, Generation};
use super::groups;
use super::hours::Disks;
use super::stretches::Scale;

/// The share of accused disks that may be healthy.
pub const RATE: f64 = 0.01;
/// Minimum factor for accusing a disk.
const FACTOR: f64 = 1.3;
/// Iterations: what firmwares and generations cost depends on the curve, and the curve on that.
const ROUNDS: usize = 3;
/// Minimum disks of a model for comparing one with the others.
pub const PEERS: usize = 8;

/// The result.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// Groups, the widest first, then disks, the most certain first.
    pub accused: Vec<Accusation>,
    /// Groups of hosts that differ as generations of a model do: notes.
    pub generations: Vec<Generation>,
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

/// What each model needs by load, with a clock for each of its firmwares and
/// generations.
pub fn expected(disks: &Disks) -> ExpectedLatency<'_> {
    let guess = ExpectedLatency::guess(disks).excesses(disks);
    let clocks = generations::of_hosts(disks, &guess);
    let mut expected = ExpectedLatency::of(disks, clocks);
    for _ in 0..ROUNDS {
        let (clocks, _) = groups::clocks(disks, &mut expected.excesses(disks), &mut Vec::new());
        expected = ExpectedLatency::of(disks, clocks);
    }
    expected
}

/// Judges a fleet.
pub fn judge(disks: &Disks) -> Verdicts {
    let expected = expected(disks);
    let mut excess = expected.excesses(disks);
    let mut verdicts = Verdicts::default();
    (_, verdicts.generations) = groups::clocks(disks, &mut excess, &mut verdicts.accused);
    groups::models(disks, &mut excess, &mut verdicts.accused);
    let all: Vec<&[Option<f64>]> = excess.iter().map(Vec::as_slice).collect();
    let of_all = Scale::of(&all);
    groups::places(disks, &mut excess, &of_all, &mut verdicts.accused);
    // Disks of other hosts are part of the spread, near saturation above all.
    let with_hosts = excess.clone();
    groups::within_hosts(disks, &mut excess);
    let mut found: Vec<Accusation> = Vec::new();
    for members in disks.by_model().values() {
        if members.len() < PEERS {
            verdicts.alone += members.len();
            continue;
        }
        let of = members.iter().map(|disk| with_hosts[*disk].as_slice());
        let scale = Scale::of(&of.collect::<Vec<_>>());
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

/// States of each the least rate at which it would be accused (Benjamini and Hochberg, J. R. Stat.
/// Soc. B 57, 1995, as adjusted p-values).
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
    use super::super::stretches::Stretch;
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
