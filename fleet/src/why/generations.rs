//! Hidden generations: hosts whose disks have one model name and need different times, all well.
//!
//! A vendor changes a drive under the same name, or a platform is replaced from some day on: then
//! several hosts are slower by the same factor. Their levels, one of each host, are split where
//! their density has a valley. A group needs [`HOSTS`] hosts, and is none if a label is shared by
//! its hosts alone: that is accused as a label. A single host stays accused.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use super::expected::{Clock, Excess, median, spread};
use super::hours::Disks;
use super::stretches::middle;

/// Hosts of a group at least.
pub const HOSTS: usize = 4;
/// Disks of a host at least; where hosts have fewer, a group is this share of all disks, as a few
/// disks of few hosts may be faulty alike.
const DISKS: usize = 4;
const SHARE: f64 = 0.05;
/// A valley has at most this share of the density of the lower peak beside it.
const VALLEY: f64 = 0.3;
/// Least width of the kernel, a logarithm, and its width in standard errors of a host's level.
const LEAST_WIDTH: f64 = 0.02;
const WIDTH: f64 = 1.5;
/// Generations are at least so far apart, a logarithm: a factor of 1.1.
const APART: f64 = 0.095;
/// A step is at least this many spreads of the hours around it.
const NOISE: f64 = 4.0;
/// Hours before and after a step at least, and hours between the steps of hosts that step together.
const DAY: usize = 24;
const TOGETHER_H: usize = 6;
/// If so many of the hosts step together, the model does.
const MOST: f64 = 0.9;
/// A label that more of the hosts share explains nothing.
const PART: f64 = 0.6;
/// Two sets of levels differ by a shift if that has this much more of both in common.
const CLEARER: f64 = 0.5;
/// A label explains a group if it covers this share of it, and the group this share of the label.
const SAME: f64 = 0.8;

/// Hosts of one model that are slower than others of it: a note, not an accusation.
#[derive(Clone, PartialEq, Debug)]
pub struct Generation {
    /// The model.
    pub model: String,
    /// Its place among the groups of the model, the fastest being the first.
    pub place: usize,
    /// Its hosts, and the others of the model.
    pub hosts: usize,
    pub others: usize,
    /// By how much slower than the fastest, a logarithm.
    pub excess: f64,
    /// From which hour on.
    pub from: usize,
}

/// The disks of a model on a host.
struct Unit<'a> {
    host: &'a str,
    disks: Vec<usize>,
    /// All the time, and before its step if it has one.
    all: f64,
    level: f64,
    step: Option<(usize, f64)>,
    /// Whether the step is above the noise of the hours around it.
    is_sure: bool,
}

/// A group of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Of the sorted levels.
    pub members: Range<usize>,
    /// Their median.
    pub center: f64,
}

/// Splits sorted levels at the valleys of their density, by a normal kernel of this width.
pub fn split(levels: &[f64], width: f64) -> Vec<Cluster> {
    let (Some(first), Some(last)) = (levels.first(), levels.last()) else { return Vec::new() };
    let density = |x: f64| {
        let near = levels.partition_point(|level| *level < x - 4.0 * width)..;
        let near = levels[near].iter().take_while(|level| **level <= x + 4.0 * width);
        near.map(|level| (-((x - level) / width).powi(2) / 2.0).exp()).sum::<f64>()
    };
    let steps = (((last - first) / width * 2.0).ceil() as usize).max(1);
    let grid: Vec<(f64, f64)> = (0..=steps)
        .map(|at| first + (last - first) * at as f64 / steps as f64)
        .map(|x| (x, density(x)))
        .collect();
    // The peak that is open, the lowest point since it, and the valleys that are deep enough.
    let (mut peak, mut low, mut valleys) = (0.0f64, grid[0], Vec::new());
    for (place, at) in grid.iter().enumerate() {
        if at.1 < low.1 {
            low = *at;
        }
        let is_peak = grid.get(place + 1).is_none_or(|next| next.1 < at.1);
        if is_peak && low.1 < VALLEY * peak.min(at.1) {
            valleys.push(low.0);
            (peak, low) = (at.1, *at);
        } else if is_peak && at.1 > peak {
            (peak, low) = (at.1, *at);
        }
    }
    let ends = valleys.iter().map(|valley| levels.partition_point(|level| level < valley));
    let mut clusters = Vec::new();
    let mut from = 0;
    for to in ends.chain([levels.len()]) {
        if let Some(center) = median(levels[from..to].to_vec()) {
            clusters.push(Cluster { members: from..to, center });
        }
        from = to;
    }
    clusters
}

/// The levels of some hosts, by groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    groups: Vec<Cluster>,
    /// Levels that differ by less are one.
    same: f64,
}

impl Levels {
    /// Of the hosts of these disks.
    pub fn of(disks: &Disks, members: &[usize], excess: &Excess) -> Levels {
        let units = units(disks, members, excess);
        let width = width(&units, excess);
        Levels { groups: split(&levels(&units), width), same: 2.0 * width }
    }

    /// How many hosts there are; one that changes counts twice.
    pub fn hosts(&self) -> usize {
        self.groups.iter().map(|group| group.members.len()).sum()
    }

    /// Whether there are several groups of hosts.
    pub fn are_several(&self) -> bool {
        self.groups.iter().filter(|group| group.members.len() >= HOSTS).count() > 1
    }

    /// The group that is nearest to a level.
    pub fn near(&self, level: f64) -> Option<f64> {
        let centers = self.groups.iter().map(|group| group.center);
        centers.min_by(|a, b| (a - level).abs().total_cmp(&(b - level).abs()))
    }

    /// The share of its hosts at a level that others have, too, if it is shifted by so much.
    fn shared(&self, by: f64, others: &Levels) -> f64 {
        let same = self.same.max(others.same);
        let has = |group: &&Cluster| {
            let level = group.center - by;
            others.near(level).is_some_and(|near| (near - level).abs() <= same)
        };
        let with: usize = self.groups.iter().filter(has).map(|group| group.members.len()).sum();
        with as f64 / self.hosts().max(1) as f64
    }

    /// By how much they are above the levels of others. Where the same levels occur, if not equally
    /// often, that is little; only where another shift has far more in common is it that.
    pub fn shift(&self, others: &Levels) -> f64 {
        let both = |by: f64| self.shared(by, others) + others.shared(-by, self);
        let pairs = self
            .groups
            .iter()
            .flat_map(|own| others.groups.iter().map(move |other| own.center - other.center));
        let best =
            pairs.max_by(|a, b| both(*a).total_cmp(&both(*b)).then(b.abs().total_cmp(&a.abs())));
        let by = best.filter(|by| both(*by) > both(0.0) + CLEARER).unwrap_or(0.0);
        let same = self.same.max(others.same);
        let rest = self.groups.iter().filter_map(|group| {
            let rest = group.center - by - others.near(group.center - by)?;
            (rest.abs() <= same).then_some(std::iter::repeat_n(rest, group.members.len()))
        });
        by + median(rest.flatten().collect()).unwrap_or(0.0)
    }
}

/// The width of the kernel: the error of a host's level, as its disks differ.
fn width(units: &[Unit], excess: &Excess) -> f64 {
    let own = |disk: &usize| median(excess[*disk].iter().flatten().copied().collect());
    let error = |unit: &Unit| {
        let own: Vec<f64> = unit.disks.iter().filter_map(own).collect();
        let of_mean = spread(&own).filter(|_| own.len() >= DISKS)? / (own.len() as f64).sqrt();
        Some(WIDTH * of_mean * std::f64::consts::FRAC_PI_2.sqrt())
    };
    median(units.iter().filter_map(error).collect()).unwrap_or(0.0).max(LEAST_WIDTH)
}

/// The hosts of some disks, with steps that several of them have.
fn units<'a>(disks: &'a Disks, members: &[usize], excess: &Excess) -> Vec<Unit<'a>> {
    let mut hosts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for disk in members {
        hosts.entry(&disks.disks[*disk].host).or_default().push(*disk);
    }
    let units = hosts.into_iter().filter_map(|(host, of)| Unit::of(disks, host, of, excess));
    let mut units: Vec<Unit> = units.collect();
    let width = width(&units, excess);
    keep_common_steps(disks, &mut units, width);
    units
}

/// All levels of some hosts, sorted.
fn levels(units: &[Unit]) -> Vec<f64> {
    let after = units.iter().filter_map(|unit| Some(unit.step?.1));
    let mut levels: Vec<f64> = units.iter().map(|unit| unit.level).chain(after).collect();
    levels.sort_by(f64::total_cmp);
    levels
}

/// A clock for each host by itself, by disk. With these the curve of a model does not depend on how
/// many of the hosts at a load are slow ones.
pub fn of_hosts(disks: &Disks, excess: &Excess) -> Vec<Clock> {
    let mut clocks = vec![Clock::default(); disks.disks.len()];
    for (_, members) in disks.by_model() {
        for unit in units(disks, &members, excess) {
            let clock = Clock { level: unit.level, step: unit.step };
            unit.disks.iter().for_each(|disk| clocks[*disk] = clock);
        }
    }
    clocks
}

/// How much slower the disks of each generation are, by disk; notes of the slower ones.
pub fn find(disks: &Disks, excess: &Excess) -> (Vec<Clock>, Vec<Generation>) {
    let mut clocks = vec![Clock::default(); disks.disks.len()];
    let mut notes = Vec::new();
    for (model, members) in disks.by_model() {
        let units = units(disks, &members, excess);
        if units.len() >= 2 * HOSTS {
            let width = width(&units, excess);
            of_model(disks, model, &units, width, &mut clocks, &mut notes);
        }
    }
    (clocks, notes)
}

fn of_model(
    disks: &Disks,
    model: &str,
    units: &[Unit],
    width: f64,
    clocks: &mut [Clock],
    notes: &mut Vec<Generation>,
) {
    let levels = levels(units);
    let all: usize = units.iter().map(|unit| unit.disks.len()).sum();
    // The levels of each group, and its center.
    let mut known: Vec<(RangeInclusive<f64>, f64)> = Vec::new();
    for cluster in split(&levels, width) {
        let within = levels[cluster.members.start]..=levels[cluster.members.end - 1];
        let has = |unit: &&Unit| {
            within.contains(&unit.level)
                || unit.step.is_some_and(|(_, level)| within.contains(&level))
        };
        let of: Vec<&Unit> = units.iter().filter(has).collect();
        let n: usize = of.iter().map(|unit| unit.disks.len()).sum();
        let enough = n >= DISKS * of.len() || n as f64 >= SHARE * all as f64;
        if of.len() >= HOSTS && enough && !is_a_label(disks, units, &of) {
            known.push((within, cluster.center));
        }
    }
    if known.is_empty() {
        return;
    }
    // A level between two groups is the faster one's, and slower for another reason.
    let place =
        |level: f64| known.iter().filter(|(of, _)| *of.start() <= level).count().saturating_sub(1);
    let mut groups: BTreeMap<(usize, usize, Option<usize>), Vec<usize>> = BTreeMap::new();
    for unit in units {
        let (before, after) = (place(unit.level), unit.step.map(|(from, to)| (from, place(to))));
        let clock = Clock {
            level: known[before].1,
            step: after.map(|(from, after)| (from, known[after].1)),
        };
        unit.disks.iter().for_each(|disk| clocks[*disk] = clock);
        let last = after.map_or(before, |(_, after)| after);
        if !known[last].0.contains(&unit.step.map_or(unit.level, |(_, level)| level)) {
            continue;
        }
        let key = (last, before, after.map(|_| before));
        groups.entry(key).or_default().push(unit.step.map_or(0, |(from, _)| from));
    }
    for ((to, before, stepped), from) in groups {
        let since = if stepped.is_some() { before } else { 0 };
        let excess = known[to].1 - known[since].1;
        if excess >= APART && from.len() >= HOSTS {
            let (hosts, from) = (from.len(), from[from.len() / 2]);
            let others = units.len() - hosts;
            let model = model.to_string();
            notes.push(Generation { model, place: to, hosts, others, excess, from });
        }
    }
}

/// Keeps the steps that several hosts have at one time and by one factor, but not most of them. A
/// step that is sure for some of them need not be sure for each, and one that is larger is that
/// step and something else.
fn keep_common_steps(disks: &Disks, units: &mut [Unit], width: f64) {
    let kept: Vec<Option<(usize, f64)>> = units
        .iter()
        .map(|unit| {
            let (from, after) = unit.step?;
            let with: Vec<&Unit> = units
                .iter()
                .filter(|other| other.is_sure)
                .filter(|other| other.step.is_some_and(|(at, _)| at.abs_diff(from) <= TOGETHER_H))
                .collect();
            if with.len() as f64 >= MOST * units.len() as f64 || is_a_label(disks, units, &with) {
                return None;
            }
            let by = |unit: &&Unit| Some(unit.step?.1 - unit.level);
            let mut heights: Vec<f64> = with.iter().filter_map(by).collect();
            heights.sort_by(f64::total_cmp);
            let own = after - unit.level;
            let enough = |n: usize| n >= HOSTS && n * 5 >= heights.len();
            let groups = split(&heights, width);
            let groups = groups.iter().filter(|group| enough(group.members.len()));
            let height = groups.map(|group| group.center).filter(|center| {
                let near = APART + center.abs() / 3.0;
                (own - center).abs() <= near || own > *center && *center > 0.0
            });
            // The nearest.
            let near = |a: &f64, b: &f64| (a - own).abs().total_cmp(&(b - own).abs());
            Some((from, unit.level + height.min_by(near)?))
        })
        .collect();
    for (unit, kept) in units.iter_mut().zip(kept) {
        if kept.is_none() && !unit.is_sure {
            unit.level = unit.all;
        }
        unit.step = kept;
    }
}

/// Whether the hosts of a group are those that share one value of a label.
fn is_a_label(disks: &Disks, units: &[Unit], of: &[&Unit]) -> bool {
    let values = |unit: &Unit| {
        let own = unit.disks.first().map(|disk| disks.disks[*disk].labels.clone());
        own.into_iter().flatten()
    };
    let own: BTreeSet<&str> = of.iter().map(|unit| unit.host).collect();
    let mut counts: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    for unit in units {
        for value in values(unit) {
            let count = counts.entry(value).or_default();
            count.0 += usize::from(own.contains(unit.host));
            count.1 += 1;
        }
    }
    counts.values().any(|(within, all)| {
        let is_part = *all as f64 <= PART * units.len() as f64;
        is_part && *within as f64 >= SAME * of.len() as f64 && *within as f64 >= SAME * *all as f64
    })
}

impl<'a> Unit<'a> {
    /// `None` if nothing is known of it.
    fn of(all: &Disks, host: &'a str, disks: Vec<usize>, excess: &Excess) -> Option<Unit<'a>> {
        let load = |hour: usize| {
            let of = |disk: &usize| {
                let known = all.disks[*disk].hours.iter();
                known.filter_map(|hours| Some(hours.get(hour).copied()??.load)).next()
            };
            median(disks.iter().filter_map(of).collect())
        };
        let loads: Vec<Option<f64>> = (0..all.hours).map(load).collect();
        let of: Vec<&[Option<f64>]> = disks.iter().map(|disk| excess[*disk].as_slice()).collect();
        let common = middle(&of, 1);
        let level = |hours: Range<usize>| at_rest(&common[hours.clone()], &loads[hours]);
        let all = level(0..common.len())?;
        let step = step(&common).and_then(|(from, is_sure)| {
            Some((from, level(0..from)?, level(from..common.len())?, is_sure))
        });
        Some(match step {
            Some((from, before, after, is_sure)) => {
                Unit { host, disks, all, level: before, step: Some((from, after)), is_sure }
            }
            None => Unit { host, disks, all, level: all, step: None, is_sure: false },
        })
    }
}

/// The median of the hours with less load than half of them: there little waits, and latency is
/// what a request needs.
fn at_rest(common: &[Option<f64>], loads: &[Option<f64>]) -> Option<f64> {
    let usual = median(loads.iter().flatten().copied().collect());
    let quiet = |load: Option<f64>| load.zip(usual).is_none_or(|(load, usual)| load <= usual);
    let kept = common.iter().zip(loads).filter(|(_, load)| quiet(**load));
    median(kept.filter_map(|(value, _)| *value).collect())
}

/// The hour from which on a host has another level, and whether that is above the noise.
fn step(common: &[Option<f64>]) -> Option<(usize, bool)> {
    let mut sums = vec![(0.0, 0usize)];
    for value in common {
        let (sum, n) = sums[sums.len() - 1];
        sums.push(value.map_or((sum, n), |value| (sum + value, n + 1)));
    }
    let all = sums[sums.len() - 1];
    let gain = |at: usize| {
        let (before, after) = (sums[at], (all.0 - sums[at].0, all.1 - sums[at].1));
        let (n, m) = (before.1 as f64, after.1 as f64);
        let apart = after.0 / m - before.0 / n;
        (before.1 > 0 && after.1 > 0).then_some((at, n * m * apart * apart))
    };
    let places = (DAY..=common.len().saturating_sub(DAY)).filter_map(gain);
    let (from, _) = places.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let of = |part: &[Option<f64>]| median(part.iter().flatten().copied().collect());
    let (before, after) = (of(&common[..from])?, of(&common[from..])?);
    let level = |hour: usize| if hour < from { before } else { after };
    let known = common.iter().enumerate();
    let rest: Vec<f64> = known.filter_map(|(hour, value)| Some((*value)? - level(hour))).collect();
    let apart = (after - before).abs();
    (apart >= APART).then_some((from, apart > NOISE * spread(&rest)?))
}

#[cfg(test)]
mod tests {
    use super::super::hours::Disk;
    use super::*;

    /// Levels around some centers, spread by an odd sequence.
    fn around(centers: &[(f64, usize)]) -> Vec<f64> {
        let noise = |n: usize| ((n * 29 + 7) % 13) as f64 / 13.0 - 0.46;
        let of = |(center, n): &(f64, usize)| {
            (0..*n).map(|at| center + 0.06 * noise(at)).collect::<Vec<f64>>()
        };
        let mut levels: Vec<f64> = centers.iter().flat_map(of).collect();
        levels.sort_by(f64::total_cmp);
        levels
    }

    #[test]
    fn levels_are_split_at_valleys_only() {
        let sizes = |centers: &[(f64, usize)]| -> Vec<usize> {
            split(&around(centers), 0.03).iter().map(|one| one.members.len()).collect()
        };
        assert_eq!(sizes(&[]), [] as [usize; 0]);
        assert_eq!(sizes(&[(0.0, 40)]), [40]);
        assert_eq!(sizes(&[(0.0, 40), (0.33, 16)]), [40, 16]);
        assert_eq!(sizes(&[(0.0, 40), (0.33, 16), (0.9, 1)]), [40, 16, 1]);
        // Evenly spread there is no valley.
        let even: Vec<f64> = (0..60).map(|at| f64::from(at) / 100.0).collect();
        assert_eq!(split(&even, 0.03).len(), 1);
    }

    /// Hosts of eight disks each over four days; the level of each host, and what is added from
    /// which hour on.
    fn fleet(hosts: &[(f64, usize, f64)]) -> (Disks, Excess) {
        let mut disks = Disks { hours: 96, ..Disks::default() };
        let mut excess = Vec::new();
        for (number, (level, from, more)) in hosts.iter().enumerate() {
            for device in 0..8 {
                let (host, device_name) = (format!("h{number:02}"), format!("sd{device}"));
                let disk = Disk { host, device: device_name, model: "M".into(), ..Disk::default() };
                disks.disks.push(disk);
                let noise = |at: usize| ((at * 31 + number * 17 + device * 7) % 11) as f64 * 0.008;
                let added = |hour: usize| if hour >= *from { *more } else { 0.0 };
                excess.push((0..96).map(|at| Some(level + added(at) + noise(at))).collect());
            }
        }
        (disks, excess)
    }

    #[test]
    fn a_group_of_hosts_is_a_note_and_one_host_is_not() {
        let all = [vec![(0.0, 0, 0.0); 20], vec![(0.33, 0, 0.0); 16], vec![(0.7, 0, 0.0)]].concat();
        let (disks, excess) = fleet(&all);
        let (clocks, notes) = find(&disks, &excess);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!((notes[0].hosts, notes[0].others, notes[0].from), (16, 21, 0));
        assert!((notes[0].excess - 0.33).abs() < 0.02, "{notes:?}");
        let of = |host: usize| clocks[host * 8].at(5) - clocks[0].at(5);
        assert!((of(20) - 0.33).abs() < 0.02, "{}", of(20));
        // Of the host alone no more is taken off than of the group below it.
        assert_eq!(of(36), of(20));
    }

    #[test]
    fn hosts_that_step_on_one_day_are_a_group_and_one_that_steps_alone_is_not() {
        let all = [vec![(0.0, 0, 0.0); 14], vec![(0.0, 48, 0.5); 6], vec![(0.0, 30, 0.5)]].concat();
        let (disks, excess) = fleet(&all);
        let (clocks, notes) = find(&disks, &excess);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!((notes[0].hosts, notes[0].from), (6, 48));
        let of = |host: usize| {
            let at = |hour: usize| clocks[host * 8].at(hour) - clocks[0].at(0);
            (at(0), at(95))
        };
        assert!(of(15).0.abs() < 0.02 && (of(15).1 - 0.5).abs() < 0.02, "{:?}", of(15));
        assert!(of(20).1.abs() < 0.02, "{:?}", of(20));
    }

    #[test]
    fn hosts_of_one_rack_are_no_generation() {
        let (mut disks, excess) =
            fleet(&[vec![(0.0, 0, 0.0); 20], vec![(0.33, 0, 0.0); 10]].concat());
        for disk in &mut disks.disks {
            let rack = if disk.host.as_str() < "h20" { disk.host.clone() } else { "r7".into() };
            disk.labels.insert("rack".into(), rack);
        }
        let (clocks, notes) = find(&disks, &excess);
        assert!(notes.is_empty() && clocks.iter().all(|clock| *clock == clocks[0]), "{notes:?}");
    }
}
