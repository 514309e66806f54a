//! What the median disk of a model needs at each load.

use std::collections::BTreeMap;

use super::hours::{Disk, Disks};

/// Loads that differ by less than this factor's logarithm are one.
const STEP: f64 = 0.25;
/// Disks that a load must have been seen on.
const DISKS: usize = 5;

/// The latency of the median disk by load, of one model and operation.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// By steps of load, the logarithm of the latency in ns, and how far the disks stand apart there.
    steps: BTreeMap<i64, (f64, f64)>,
    /// How far they stand apart at most of these loads.
    usual: f64,
}

impl Curve {
    /// Of the disks of a model.
    pub fn of(disks: &[&Disk], op: usize) -> Curve {
        // One value of each disk and load, so that a busy disk is not many.
        let mut known: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for disk in disks {
            let mut own: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
            for hour in disk.hours[op].iter().flatten() {
                own.entry(step(hour.load)).or_default().push(hour.latency);
            }
            for (step, latencies) in own {
                known.entry(step).or_default().extend(median(latencies));
            }
        }
        let steps: BTreeMap<i64, (f64, f64)> = known
            .into_iter()
            .filter(|(_, disks)| disks.len() >= DISKS)
            .filter_map(|(step, disks)| Some((step, (median(disks.clone())?, spread(&disks)?))))
            .collect();
        let usual = median(steps.values().map(|(_, apart)| *apart).collect()).unwrap_or(0.0);
        Curve { steps, usual }
    }

    /// At a load, and the share of an excess there that counts: near saturation, where a little more load is much
    /// more latency, disks that are all well stand apart. `None` where no five disks ever were.
    pub fn at(&self, load: f64) -> Option<(f64, f64)> {
        let place = load / STEP;
        let counts = |apart: f64| if apart > self.usual { self.usual / apart } else { 1.0 };
        let low = self.steps.range(..=place.floor() as i64).next_back()?;
        let Some(high) = self.steps.range(place.floor() as i64 + 1..).next() else {
            // The last step holds to its end.
            return (place - *low.0 as f64 <= 1.0).then_some((low.1.0, counts(low.1.1)));
        };
        let share = (place - *low.0 as f64) / (*high.0 - *low.0) as f64;
        let between = |low: f64, high: f64| low + share * (high - low);
        Some((between(low.1.0, high.1.0), counts(between(low.1.1, high.1.1))))
    }
}

fn step(load: f64) -> i64 {
    (load / STEP).round() as i64
}

/// By model, how far each disk is above what its load explains: a logarithm, by hour; both operations together.
pub fn excesses(disks: &Disks) -> Vec<Vec<Option<f64>>> {
    let mut models: BTreeMap<&str, Vec<&Disk>> = BTreeMap::new();
    for disk in &disks.disks {
        models.entry(&disk.model).or_default().push(disk);
    }
    let curves: BTreeMap<&str, [Curve; 2]> = models
        .iter()
        .map(|(model, disks)| (*model, [Curve::of(disks, 0), Curve::of(disks, 1)]))
        .collect();
    let of = |disk: &Disk| {
        let curves = curves.get(disk.model.as_str());
        let at = |hour: usize| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (op, hours) in disk.hours.iter().enumerate() {
                let Some(one) = hours.get(hour).copied().flatten() else { continue };
                let known = curves.and_then(|curves| curves[op].at(one.load));
                let Some((expected, counts)) = known else { continue };
                let weight = (one.ios as f64).ln_1p();
                sum += weight * counts * (one.latency - expected);
                weights += weight;
            }
            (weights > 0.0).then(|| sum / weights)
        };
        (0..disks.hours).map(at).collect()
    };
    disks.disks.iter().map(of).collect()
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
        let curve = Curve { steps: [(0, (1.0, 0.1)), (4, (3.0, 0.4))].into(), usual: 0.1 };
        assert_eq!(curve.at(0.0), Some((1.0, 1.0)));
        assert_eq!(curve.at(0.5).map(|at| at.0), Some(2.0));
        assert!(curve.at(0.5).is_some_and(|at| (at.1 - 0.4).abs() < 1e-12));
        assert_eq!(curve.at(1.0), Some((3.0, 0.25)));
        assert_eq!(curve.at(1.2), Some((3.0, 0.25)));
        assert_eq!(curve.at(1.3), None);
        assert_eq!(curve.at(-0.1), None);
    }
}
