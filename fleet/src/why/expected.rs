//! The latency of the median disk of a model at each load.

use std::collections::BTreeMap;
use std::ops::Range;

use super::hours::{Disk, Disks, Hour, OPS};

/// Loads that differ by less than this factor's logarithm are one.
const STEP: f64 = 0.25;
/// Disks that a load must have been seen on.
const DISKS: usize = 5;
/// Latency that rises by less than this share of the load's rise is level: with one to 24 channels
/// these are then busy for a tenth to two thirds of the time.
const LEVEL: f64 = 0.1;
/// Latency that is above the least by less than this has not risen, a logarithm: with one to 24
/// channels these are then busy for a sixth to four fifths of the time.
const RISEN: f64 = 0.182;
/// Weight of the median beside the changes within days.
const LOOSE: f64 = 1e-3;
/// Halvings of an excess, of a few units at most: to a millionth of it.
const HALVINGS: usize = 20;

/// An excess by disk and hour, a logarithm.
pub type Excess = Vec<Vec<Option<f64>>>;

/// How much slower a disk is than those it is compared with, a logarithm.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Clock {
    /// From the first hour on.
    pub level: f64,
    /// From which hour on it is another one.
    pub step: Option<(usize, f64)>,
}

impl Clock {
    /// At an hour.
    pub fn at(&self, hour: usize) -> f64 {
        self.step.filter(|(from, _)| hour >= *from).map_or(self.level, |(_, level)| level)
    }

    /// Both together.
    pub fn and(self, level: f64) -> Clock {
        Clock { level: self.level + level, step: self.step.map(|(from, own)| (from, own + level)) }
    }
}

/// The latency of the median disk by load, of one model and operation.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// By steps of load, the logarithm of the latency in ns.
    steps: BTreeMap<i64, f64>,
}

impl Curve {
    /// For the disks of a model, each with its clock.
    pub fn of(disks: &[(&Disk, Clock)], op: usize) -> Curve {
        // One value of each disk and load, so that a busy disk is not many.
        let mut known: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (disk, clock) in disks {
            let mut own: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
            for (at, hour) in disk.hours[op].iter().enumerate() {
                let Some(hour) = hour else { continue };
                let clock = clock.at(at);
                own.entry(step(hour.load + clock)).or_default().push(hour.latency - clock);
            }
            for (step, latencies) in own {
                known.entry(step).or_default().extend(median(latencies));
            }
        }
        let steps = known
            .into_iter()
            .filter(|(_, disks)| disks.len() >= DISKS)
            .filter_map(|(step, disks)| Some((step, median(disks)?)))
            .collect();
        Curve { steps }
    }

    /// The same by how the latency of each disk changes with its load within a day: how much slower
    /// a disk is than others, and since which day, does not matter. By least squares, with a level
    /// for each disk and day; where loads are never seen on one day, as the median has it.
    fn within_days(disks: &[(&Disk, Clock)], op: usize) -> Curve {
        let median = Curve::of(disks, op);
        let places: BTreeMap<i64, usize> =
            median.steps.keys().enumerate().map(|(place, step)| (*step, place)).collect();
        let n = places.len();
        let (mut matrix, mut right) = (vec![vec![0.0; n]; n], vec![0.0; n]);
        for day in disks.iter().flat_map(|(disk, _)| disk.hours[op].chunks(24)) {
            let known = day.iter().flatten();
            let of = |hour: &Hour| Some((*places.get(&step(hour.load))?, hour.latency));
            let known: Vec<(usize, f64)> = known.filter_map(of).collect();
            let share = 1.0 / known.len() as f64;
            let mean = known.iter().map(|(_, latency)| latency * share).sum::<f64>();
            for (place, latency) in &known {
                matrix[*place][*place] += 1.0 + LOOSE;
                right[*place] += latency - mean;
                known.iter().for_each(|(other, _)| matrix[*place][*other] -= share);
            }
            for (place, latency) in median.steps.values().enumerate() {
                let hours = known.iter().filter(|(known, _)| *known == place).count();
                right[place] += LOOSE * hours as f64 * latency;
            }
        }
        let latencies = solved(matrix, right);
        Curve { steps: places.into_keys().zip(latencies).collect() }
    }

    /// What the median disk has at a load. `None` where no five disks ever were.
    pub fn at(&self, load: f64) -> Option<f64> {
        let place = load / STEP;
        let (low, high) = (self.steps.first_key_value()?.0, self.steps.last_key_value()?.0);
        // The last step holds to its end.
        let known = place >= *low as f64 && place <= *high as f64 + 1.0;
        known.then(|| self.line(place))
    }

    /// How much slower a disk serves that has this latency at this load, as a logarithm.
    ///
    /// A disk that is slower by a factor `s` is the median disk with a slower clock: at load `L` it
    /// has `s` times the latency that the median has at load `s L`. Far from saturation that is the
    /// ratio of both latencies; near it, where a little more load is much more latency, it is far
    /// less.
    pub fn slower(&self, load: f64, latency: f64) -> Option<f64> {
        let expected = self.at(load)?;
        let over = latency - expected;
        let most = self.most(load);
        let of = |slower: f64| {
            let queue = self.line((load + slower) / STEP) - expected;
            slower + if slower > 0.0 { queue.max(0.0) } else { queue.min(0.0) }
        };
        // Waiting only adds to it, so the answer is between none and all of the excess.
        let (mut none, mut all) = (0.0, over);
        for _ in 0..HALVINGS {
            let middle = (none + all) / 2.0;
            match of(middle).abs() < over.abs() {
                true => none = middle,
                false => all = middle,
            }
        }
        Some(((none + all) / 2.0).min(most))
    }

    /// Where latency rises with the last loads that were seen, or has risen before, how it goes on
    /// is not known, and a disk that is well may be saturated there: it is taken for no slower than
    /// would bring it to these loads. Where it is level, all are far from that.
    fn most(&self, load: f64) -> f64 {
        let mut last = self.steps.iter().rev();
        let (Some(end), Some(before)) = (last.next(), last.next()) else { return f64::INFINITY };
        let slope = (end.1 - before.1) / ((end.0 - before.0) as f64 * STEP);
        // Disks that can do no more stay at the load that is most for each, so that the last steps
        // may be level, too.
        let least = self.steps.values().copied().fold(f64::INFINITY, f64::min);
        match slope > LEVEL || end.1 - least > RISEN {
            true => ((end.0 + 1) as f64 * STEP - load).max(0.0),
            false => f64::INFINITY,
        }
    }

    /// A line between two steps; before the first it is level, and after the last it goes on as it
    /// came.
    fn line(&self, place: f64) -> f64 {
        let below = place.floor() as i64;
        let low = self.steps.range(..=below).next_back();
        let high = self.steps.range(below + 1..).next();
        let (from, to) = match (low, high) {
            (Some(low), Some(high)) => (low, high),
            (None, Some(first)) => return *first.1,
            (Some(last), None) => match self.steps.range(..*last.0).next_back() {
                Some(before) if before.1 < last.1 => (before, last),
                _ => return *last.1,
            },
            (None, None) => return 0.0,
        };
        from.1 + (place - *from.0 as f64) / (*to.0 - *from.0) as f64 * (to.1 - from.1)
    }
}

/// The solution of linear equations whose matrix is symmetric and positive.
fn solved(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let n = right.len();
    for at in 0..n {
        let row = matrix[at].clone();
        for below in at + 1..n {
            let factor = matrix[below][at] / row[at];
            matrix[below].iter_mut().zip(&row).for_each(|(value, above)| *value -= factor * above);
            right[below] -= factor * right[at];
        }
    }
    for at in (0..n).rev() {
        let known: f64 = (at + 1..n).map(|after| matrix[at][after] * right[after]).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    right
}

fn step(load: f64) -> i64 {
    (load / STEP).round() as i64
}

/// What the disks of each model need by load, reads and writes apart.
///
/// Disks that are known to be slower by some factor, such as those of a slow firmware or of another
/// generation, would bend the curve of the others: below the load at which they are saturated they
/// are part of the median, above it they are not. So each disk has a clock, the logarithm of that
/// factor, by which its loads are higher and its latencies lower.
pub struct ExpectedLatency<'a> {
    curves: BTreeMap<&'a str, [Curve; OPS.len()]>,
    /// By disk.
    clocks: Vec<Clock>,
    /// Whether an excess is the ratio of latencies at one load, without regard to saturation.
    is_plain: bool,
}

impl<'a> ExpectedLatency<'a> {
    /// Of all disks.
    pub fn of(disks: &'a Disks, clocks: Vec<Clock>) -> ExpectedLatency<'a> {
        ExpectedLatency::by(disks, clocks, false)
    }

    /// A first guess, which does not depend on how many of the disks at a load are slow ones.
    pub fn guess(disks: &'a Disks) -> ExpectedLatency<'a> {
        ExpectedLatency::by(disks, vec![Clock::default(); disks.disks.len()], true)
    }

    fn by(disks: &'a Disks, clocks: Vec<Clock>, is_plain: bool) -> ExpectedLatency<'a> {
        let mut models: BTreeMap<&str, Vec<(&Disk, Clock)>> = BTreeMap::new();
        for (disk, clock) in disks.disks.iter().zip(&clocks) {
            models.entry(&disk.model).or_default().push((disk, *clock));
        }
        let curves = models.into_iter().map(|(model, of)| {
            let curve = if is_plain { Curve::within_days } else { Curve::of };
            (model, std::array::from_fn(|op| curve(&of, op)))
        });
        ExpectedLatency { curves: curves.collect(), clocks, is_plain }
    }

    /// How much slower each disk serves than its load explains: a logarithm, by hour; both
    /// operations together. Its clock is part of it.
    pub fn excesses(&self, disks: &Disks) -> Vec<Vec<Option<f64>>> {
        let hours = |place: usize| (0..disks.hours).map(move |hour| (place, hour));
        let of = |place: usize| {
            hours(place)
                .map(|(place, hour)| {
                    self.excess(&disks.disks[place], self.clocks[place].at(hour), hour)
                })
                .collect()
        };
        (0..disks.disks.len()).map(of).collect()
    }

    fn excess(&self, disk: &Disk, clock: f64, hour: usize) -> Option<f64> {
        let curves = self.curves.get(disk.model.as_str())?;
        let (mut sum, mut weights) = (0.0, 0.0);
        for (curve, hours) in curves.iter().zip(&disk.hours) {
            let Some(one) = hours.get(hour).copied().flatten() else { continue };
            let slower = match self.is_plain {
                true => curve.at(one.load).map(|expected| one.latency - clock - expected),
                false => curve.slower(one.load + clock, one.latency - clock),
            };
            let Some(slower) = slower else { continue };
            let weight = (one.ios as f64).ln_1p();
            sum += weight * (slower + clock);
            weights += weight;
        }
        (weights > 0.0).then(|| sum / weights)
    }

    /// What a disk had in these hours beside the median of its model, with its clock, at the same
    /// load; of the operation it did more of.
    pub fn means(&self, disks: &Disks, place: usize, hours: Range<usize>) -> Option<Means> {
        let (disk, clock) = (&disks.disks[place], self.clocks[place]);
        let of = |op: usize| {
            let known = disk.hours[op].get(hours.clone()).unwrap_or_default().iter();
            known.enumerate().filter_map(|(at, hour)| Some((clock.at(hours.start + at), (*hour)?)))
        };
        let ios = |op: usize| of(op).map(|(_, hour)| hour.ios).sum::<i64>();
        let op = (0..OPS.len()).rev().max_by_key(|op| ios(*op))?;
        let curve = &self.curves.get(disk.model.as_str())?[op];
        let (mut own, mut peers, mut load, mut all, mut known) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (clock, hour) in of(op) {
            let Some(expected) = curve.at(hour.load + clock) else { continue };
            let weight = hour.ios as f64;
            own += weight * hour.latency.exp();
            peers += weight * (expected + clock).exp();
            load += hour.load.exp();
            all += weight;
            known += 1.0;
        }
        (all > 0.0).then(|| Means {
            op,
            own_ns: own / all,
            peers_ns: peers / all,
            load: load / known,
        })
    }
}

/// Mean latencies at one load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Means {
    /// Of which operation, by its place in `OPS`.
    pub op: usize,
    /// The disk's own, ns.
    pub own_ns: f64,
    /// The median disk's, ns.
    pub peers_ns: f64,
    /// I/Os per second.
    pub load: f64,
}

/// The middle of some values; `None` if there are none.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    let (n, middle) = (values.len(), values.len() / 2);
    if n == 0 {
        return None;
    }
    let (below, at, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let before = below.iter().copied().max_by(f64::total_cmp);
    Some(match before.filter(|_| n.is_multiple_of(2)) {
        Some(before) => (*at + before) / 2.0,
        None => *at,
    })
}

/// The standard deviation that a normal distribution with this median absolute deviation has.
pub fn spread(values: &[f64]) -> Option<f64> {
    let middle = median(values.to_vec())?;
    let away = values.iter().map(|value| (value - middle).abs()).collect();
    median(away).map(|middle| 1.4826 * middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middles() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0]), Some(3.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(vec![9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(vec![9.0, 1.0, 5.0, 7.0]), Some(6.0));
        assert_eq!(spread(&[1.0, 2.0, 3.0, 4.0, 5.0]), Some(1.4826));
    }

    #[test]
    fn between_two_loads_it_is_in_between_and_nowhere_else() {
        let curve = Curve { steps: [(0, 1.0), (4, 3.0)].into() };
        assert_eq!(curve.at(0.0), Some(1.0));
        assert_eq!(curve.at(0.5), Some(2.0));
        assert_eq!(curve.at(1.0), Some(3.0));
        assert_eq!(curve.at(1.2), Some(3.4));
        assert_eq!(curve.at(1.3), None);
        assert_eq!(curve.at(-0.1), None);
    }

    #[test]
    fn near_saturation_a_little_slower_is_much_more_latency() {
        // A queue with one server: 1 ms, and 1 / (1 - busy) of it, by the logarithm of the load.
        let latency = |load: f64| (1e6 / (1.0 - load.exp() / 1000.0)).ln();
        let steps = 8..28;
        let curve = Curve { steps: steps.map(|at| (at, latency(at as f64 * STEP))).collect() };
        let slower_by = |load: f64, factor: f64| {
            let own = latency(load + f64::ln(factor)) + f64::ln(factor);
            (own - latency(load), curve.slower(load, own).unwrap_or(f64::NAN))
        };
        // At two hundredths of what it can do.
        let (ratio, found) = slower_by(3.0, 1.5);
        assert!(
            (found - 1.5f64.ln()).abs() < 0.01 && (ratio - found).abs() < 0.02,
            "{ratio} {found}"
        );
        // At six tenths: three times the latency, and still one and a half times slower.
        let (ratio, found) = slower_by(600f64.ln(), 1.5);
        assert!(ratio > 3f64.ln() && (found - 1.5f64.ln()).abs() < 0.1, "{ratio} {found}");
        // At nine tenths, slower by a twentieth: nearly twice the latency, and less than what is
        // accused.
        let (ratio, found) = slower_by(900f64.ln(), 1.05);
        assert!(ratio > 1.9f64.ln() && found < 1.3f64.ln(), "{ratio} {found}");
        // Quicker, likewise.
        let (ratio, found) = slower_by(850f64.ln(), 0.9);
        assert!(ratio < -0.4 && found > -0.3, "{ratio} {found}");
    }
}
