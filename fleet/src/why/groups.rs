//! Shared causes: model, firmware, generation, label, host.

use std::collections::BTreeMap;

use super::accused::{Accusation, Subject};
use super::expected::{Clock, Excess, median};
use super::generations::{self, Generation, Levels};
use super::hours::Disks;
use super::stretches::{Scale, Stretch, middle};

/// Fewer members are no group.
const MEMBERS: usize = 4;
/// Minimum factor for accusing a group.
const FACTOR: f64 = 1.15;
/// Of its members, this share is slower than half of the group's excess.
const MIN_SLOW_SHARE: f64 = 0.6;
/// How likely chance is at most.
const CHANCE: f64 = 1e-4;

/// Takes off what the disks of a model did at the same time, and accuses the model where that was a
/// step.
pub fn models(disks: &Disks, excess: &mut Excess, accused: &mut Vec<Accusation>) {
    for (model, members) in by(disks, |disk| Some(disks.disks[disk].model.clone())) {
        let of: Vec<&[Option<f64>]> = members.iter().map(|disk| excess[*disk].as_slice()).collect();
        let common = middle(&of, MEMBERS);
        if let Some((from, height)) = step(&common).filter(|_| members.len() >= 2 * MEMBERS) {
            let slow = members.iter().filter(|disk| rises(&excess[**disk], from, height)).count();
            if slow as f64 >= MIN_SLOW_SHARE * members.len() as f64 && !model.is_empty() {
                let found =
                    Stretch { from, to: disks.hours, excess: height, score: f64::NAN, p: f64::NAN };
                accused.push(Accusation::group(Subject::Model(model), found, members.len(), slow));
            }
        }
        take_off(excess, &members, &common);
    }
}

/// The disks of a firmware that have hours to compare.
struct Firmware<'a> {
    name: &'a str,
    /// Each with the middle of its excess, and that of the hosts like its own.
    disks: Vec<(usize, f64, f64)>,
    /// The levels of its hosts.
    groups: Levels,
    /// How much slower it is than the curve of its model.
    middle: f64,
}

/// The firmwares of some disks, those that are seen on too few of them left out, each beside the
/// one with most hosts.
fn of_firmwares<'a>(disks: &'a Disks, members: &[usize], excess: &Excess) -> Vec<Firmware<'a>> {
    let own = |disk: usize| median(excess[disk].iter().flatten().copied().collect());
    let mut known: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for disk in members {
        known.entry(disks.disks[*disk].firmware.as_str()).or_default().push(*disk);
    }
    let of = |(name, members): (&'a str, Vec<usize>)| {
        let groups = Levels::of(disks, &members, excess);
        let near = |disk: usize| Some((disk, own(disk)?, groups.near(own(disk)?)?));
        let of: Vec<_> = members.into_iter().filter_map(near).collect();
        let middle = median(of.iter().map(|(_, own, _)| *own).collect())?;
        let enough = of.len() >= MEMBERS && !name.is_empty();
        enough.then_some(Firmware { name, disks: of, groups, middle })
    };
    let mut known: Vec<Firmware> = known.into_iter().filter_map(of).collect();
    let Some(first) = known.iter().max_by_key(|firmware| firmware.groups.hosts()) else {
        return known;
    };
    let (groups, middle) = (first.groups.clone(), first.middle);
    for firmware in known.iter_mut().filter(|firmware| firmware.groups != groups) {
        if !groups.are_several() && !firmware.groups.are_several() {
            continue;
        }
        firmware.middle = middle + firmware.groups.shift(&groups);
    }
    known
}

/// Firmwares beside the fastest of their model; what a firmware costs is taken off all its disks.
/// How much that is, by disk.
fn firmwares(disks: &Disks, excess: &mut Excess, accused: &mut Vec<Accusation>) -> Vec<f64> {
    let mut costs = vec![0.0; disks.disks.len()];
    for (model, members) in by(disks, |disk| Some(disks.disks[disk].model.clone())) {
        let known = of_firmwares(disks, &members, excess);
        let heights: BTreeMap<&str, f64> =
            known.iter().map(|firmware| (firmware.name, firmware.middle)).collect();
        for disk in &members {
            let height = heights.get(disks.disks[*disk].firmware.as_str());
            costs[*disk] = height.copied().unwrap_or(0.0);
        }
        // A handful of fast disks is not a measure for the rest.
        let enough = |n: usize| n >= 2 * MEMBERS && n * 20 >= members.len();
        let measures = known.iter().filter(|firmware| enough(firmware.disks.len()));
        let quickest = measures.min_by(|a, b| a.middle.total_cmp(&b.middle));
        let Some(quickest) = quickest else { continue };
        let least = quickest.middle;
        let all = known.iter().flat_map(|firmware| &firmware.disks);
        let all: Vec<f64> = all.map(|(_, own, near)| own - near).collect();
        let apart = super::expected::spread(&all).unwrap_or(0.0).max(0.03);
        for firmware in &known {
            let n = firmware.disks.len();
            let over = firmware.middle - least;
            let unsure = apart * (std::f64::consts::FRAC_PI_2 / n as f64).sqrt();
            let score = over / unsure;
            let slow = firmware.disks.iter().filter(|(_, own, near)| own - near > -over / 2.0);
            let slow = slow.count();
            let p = super::stretches::tail(score);
            let together = slow as f64 >= MIN_SLOW_SHARE * n as f64;
            if over > FACTOR.ln() && p < CHANCE && together && firmware.name != quickest.name {
                let (name, best) = (firmware.name.to_string(), quickest.name.to_string());
                let whom = Subject::Firmware(model.clone(), name, best);
                let found = Stretch { from: 0, to: disks.hours, excess: over, score, p };
                accused.push(Accusation::group(whom, found, n, slow));
            }
        }
    }
    for (own, cost) in excess.iter_mut().zip(&costs) {
        own.iter_mut().flatten().for_each(|value| *value -= cost);
    }
    costs
}

/// What firmwares and generations cost, by disk, which is taken off.
pub fn clocks(
    disks: &Disks,
    excess: &mut Excess,
    accused: &mut Vec<Accusation>,
) -> (Vec<Clock>, Vec<Generation>) {
    let costs = firmwares(disks, excess, accused);
    let (clocks, notes) = generations::find(disks, excess);
    for (own, clock) in excess.iter_mut().zip(&clocks) {
        for (hour, value) in own.iter_mut().enumerate() {
            value.iter_mut().for_each(|value| *value -= clock.at(hour));
        }
    }
    (clocks.into_iter().zip(costs).map(|(clock, cost)| clock.and(cost)).collect(), notes)
}

/// Hosts, and what a label of the hosts names, such as racks: accused where most of their disks are
/// slow at the same time, which is then taken off.
pub fn places(disks: &Disks, excess: &mut Excess, scale: &Scale, accused: &mut Vec<Accusation>) {
    let mut labels: Vec<&String> = disks.disks.iter().flat_map(|disk| disk.labels.keys()).collect();
    labels.sort();
    labels.dedup();
    for label in labels {
        let of = |disk: usize| disks.disks[disk].labels.get(label.as_str()).cloned();
        let whom = |value: String| Subject::Label(label.clone(), value);
        place(disks, excess, scale, accused, of, whom);
    }
    place(
        disks,
        excess,
        scale,
        accused,
        |disk| Some(disks.disks[disk].host.clone()),
        Subject::Host,
    );
}

fn place(
    disks: &Disks,
    excess: &mut Excess,
    scale: &Scale,
    accused: &mut Vec<Accusation>,
    of: impl Fn(usize) -> Option<String>,
    whom: impl Fn(String) -> Subject,
) {
    let mut groups = by(disks, of);
    groups.retain(|_, members| members.len() >= MEMBERS && members.len() * 2 <= disks.disks.len());
    let n = groups.len() as f64;
    let commons: Vec<Vec<Option<f64>>> = groups
        .values()
        .map(|members| {
            let of: Vec<&[Option<f64>]> =
                members.iter().map(|disk| excess[*disk].as_slice()).collect();
            middle(&of, MEMBERS)
        })
        .collect();
    // Disks of a host are asked much the same, so groups stand further apart than their disks alone
    // would have it.
    let apart = Scale::of(&commons.iter().map(Vec::as_slice).collect::<Vec<_>>());
    for ((name, members), common) in groups.into_iter().zip(&commons) {
        let scale = scale.of_median(members.len()).wider(&apart);
        let Some(found) = scale.most(common) else { continue };
        let within = |disk: &&usize| {
            let own: Vec<f64> =
                excess[**disk][found.from..found.to].iter().flatten().copied().collect();
            median(own).is_some_and(|own| own > found.excess / 2.0)
        };
        let slow = members.iter().filter(within).count();
        let together = slow as f64 >= MIN_SLOW_SHARE * members.len() as f64;
        if found.excess > FACTOR.ln() && found.p * n < CHANCE && together {
            accused.push(Accusation::group(whom(name), found, members.len(), slow));
            take_off(excess, &members, common);
        }
    }
}

/// Takes off what the disks of a model on a host have in common and is too little for accusing the
/// host, so that a disk is judged by how far disks of one host differ.
pub fn within_hosts(disks: &Disks, excess: &mut Excess) {
    let of = |disk: usize| Some(format!("{}\n{}", disks.disks[disk].model, disks.disks[disk].host));
    for members in by(disks, of).into_values().filter(|members| members.len() >= MEMBERS) {
        let of: Vec<&[Option<f64>]> = members.iter().map(|disk| excess[*disk].as_slice()).collect();
        let level = median(middle(&of, MEMBERS).into_iter().flatten().collect());
        let Some(level) = level.filter(|level| level.abs() < FACTOR.ln()) else { continue };
        let common = vec![Some(level); disks.hours];
        take_off(excess, &members, &common);
    }
}

fn take_off(excess: &mut Excess, members: &[usize], common: &[Option<f64>]) {
    for disk in members {
        for (value, common) in excess[*disk].iter_mut().zip(common) {
            if let (Some(value), Some(common)) = (value, common) {
                *value -= common;
            }
        }
    }
}

/// The hour from which on it is higher than before, and by how much: the largest such step, if it
/// is one.
fn step(common: &[Option<f64>]) -> Option<(usize, f64)> {
    let day = 24;
    let middle_of =
        |from: usize, to: usize| median(common[from..to].iter().flatten().copied().collect());
    let steps = (day..common.len().saturating_sub(day))
        .filter_map(|at| Some((at, middle_of(at, common.len())? - middle_of(0, at)?)));
    let (at, height) = steps.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let noise = {
        let before = middle_of(0, at)?;
        let after = middle_of(at, common.len())?;
        let level = |hour: usize| if hour < at { before } else { after };
        let rest: Vec<f64> = common
            .iter()
            .enumerate()
            .filter_map(|(hour, value)| Some((*value)? - level(hour)))
            .collect();
        super::expected::spread(&rest)?
    };
    (height > FACTOR.ln() && height > 4.0 * noise).then_some((at, height))
}

/// Whether a disk took part in a step.
fn rises(own: &[Option<f64>], from: usize, height: f64) -> bool {
    let of = |hours: &[Option<f64>]| median(hours.iter().flatten().copied().collect());
    let (before, after) = own.split_at(from);
    of(before).zip(of(after)).is_some_and(|(before, after)| after - before > height / 2.0)
}

/// Disks by what they have in common.
fn by(disks: &Disks, of: impl Fn(usize) -> Option<String>) -> BTreeMap<String, Vec<usize>> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for disk in 0..disks.disks.len() {
        if let Some(name) = of(disk) {
            groups.entry(name).or_default().push(disk);
        }
    }
    groups
}
