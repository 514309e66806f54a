//! The period in which a disk is the largest outlier.

use super::expected::{median, spread};

/// Lengths that are looked at, hours; all of the time beside them.
const LENGTHS: [usize; 6] = [3, 6, 12, 24, 48, 96];
/// Minimum share of known hours in an interval.
const KNOWN: f64 = 0.6;
/// Disks do not stand apart by less than this, logarithm: age, place and temperature alone do that.
const LEAST_SPREAD: f64 = 0.03;
/// Values further from the middle than a normal distribution has them are not rare: this many
/// degrees of freedom has Student's distribution instead.
const FREEDOM: f64 = 8.0;

/// How far disks differ in periods of each length.
#[derive(Clone, Debug)]
pub struct Scale {
    spreads: Vec<(usize, f64)>,
}

/// A period with an outlier.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stretch {
    /// Its first hour.
    pub from: usize,
    /// The hour after its last.
    pub to: usize,
    /// Mean excess in it, a logarithm.
    pub excess: f64,
    /// That, in spreads.
    pub score: f64,
    /// How likely a healthy disk has such a period somewhere.
    pub p: f64,
}

/// Sums from the beginning: of values and of how many there are.
struct Sums(Vec<(f64, usize)>);

impl Sums {
    fn of(excess: &[Option<f64>]) -> Sums {
        let mut sums = vec![(0.0, 0)];
        for value in excess {
            let (sum, n) = sums[sums.len() - 1];
            sums.push(value.map_or((sum, n), |value| (sum + value, n + 1)));
        }
        Sums(sums)
    }

    /// The mean from an hour to another, if enough of it is known.
    fn mean(&self, from: usize, to: usize) -> Option<f64> {
        let (before, after) = (self.0.get(from)?, self.0.get(to)?);
        let n = after.1 - before.1;
        (n > 0 && n as f64 >= KNOWN * (to - from) as f64).then(|| (after.0 - before.0) / n as f64)
    }

    fn hours(&self) -> usize {
        self.0.len() - 1
    }
}

fn lengths(hours: usize) -> impl Iterator<Item = usize> {
    LENGTHS.into_iter().filter(move |length| *length < hours).chain([hours])
}

impl Scale {
    /// Of disks that are compared with each other.
    pub fn of(disks: &[&[Option<f64>]]) -> Scale {
        let hours = disks.first().map_or(0, |disk| disk.len());
        let sums: Vec<Sums> = disks.iter().map(|disk| Sums::of(disk)).collect();
        let of_length = |length: usize| {
            let places = (0..hours / length.max(1)).map(|k| k * length);
            let means: Vec<f64> = places
                .flat_map(|from| sums.iter().filter_map(move |sums| sums.mean(from, from + length)))
                .collect();
            Some((length, spread(&means)?.max(LEAST_SPREAD)))
        };
        Scale { spreads: lengths(hours).filter_map(of_length).collect() }
    }

    /// The same for the median of this many disks.
    pub fn of_median(&self, disks: usize) -> Scale {
        // The median of n varies by the square root of pi over 2n.
        let less = (std::f64::consts::FRAC_PI_2 / disks.max(1) as f64).sqrt().min(1.0);
        let spreads = self.spreads.iter().map(|(length, spread)| (*length, spread * less));
        Scale {
            spreads: spreads
                .map(|(length, spread)| (length, spread.max(LEAST_SPREAD / 2.0)))
                .collect(),
        }
    }

    /// The wider of two, length by length.
    pub fn wider(&self, other: &Scale) -> Scale {
        let of = |length: usize| other.spreads.iter().find(|(known, _)| *known == length);
        let spreads = self.spreads.iter().map(|(length, spread)| {
            (*length, of(*length).map_or(*spread, |(_, other)| spread.max(*other)))
        });
        Scale { spreads: spreads.collect() }
    }

    /// The largest outlier's period; `None` if nothing is known.
    pub fn most(&self, excess: &[Option<f64>]) -> Option<Stretch> {
        let sums = Sums::of(excess);
        let (mut best, mut looked) = (None::<Stretch>, 0.0);
        for (length, spread) in &self.spreads {
            let mut from = 0;
            let step = (length / 3).max(1);
            looked += (sums.hours() / length).max(1) as f64;
            while from + length <= sums.hours() {
                if let Some(mean) = sums.mean(from, from + length) {
                    let score = mean / spread;
                    if best.is_none_or(|best| score > best.score) {
                        best =
                            Some(Stretch { from, to: from + length, excess: mean, score, p: 1.0 });
                    }
                }
                from += step;
            }
        }
        let mut best = best?;
        best.p = (looked * tail(best.score)).min(1.0);
        Some(best.stretched(excess))
    }
}

impl Stretch {
    /// Its true ends: where the sum of what is above half of it is largest.
    fn stretched(mut self, excess: &[Option<f64>]) -> Stretch {
        let bar = self.excess / 2.0;
        let (mut sum, mut from, mut best) = (0.0, 0, (0.0, self.from, self.to));
        for (hour, value) in excess.iter().enumerate() {
            sum += value.map_or(0.0, |value| value.min(2.0 * self.excess) - bar);
            if sum <= 0.0 {
                (sum, from) = (0.0, hour + 1);
            } else if sum > best.0 {
                best = (sum, from, hour + 1);
            }
        }
        let overlaps = best.1 < self.to && self.from < best.2;
        if overlaps {
            (self.from, self.to) = (best.1, best.2);
            let within: Vec<f64> = excess[self.from..self.to].iter().flatten().copied().collect();
            if let Some(middle) = mean(&within) {
                self.excess = middle;
            }
        }
        self
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// How much of Student's distribution lies above (Abramowitz and Stegun 26.7.3, for an even number
/// of degrees).
pub fn tail(score: f64) -> f64 {
    let angle = (score / FREEDOM.sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let (mut term, mut sum) = (1.0, 1.0);
    let mut k = 2.0;
    while k < FREEDOM {
        term *= cosine * cosine * (k - 1.0) / k;
        sum += term;
        k += 2.0;
    }
    let within = sine * sum;
    // Far out the difference of two nearly equal numbers would be noise: the leading term of the
    // tail, which for eight degrees is 560 over the eighth power.
    if score > 60.0 {
        return 560.0 * score.powf(-FREEDOM);
    }
    ((1.0 - within) / 2.0).clamp(1e-300, 1.0)
}

/// The median of some disks, hour by hour, where this many of them are known.
pub fn middle(disks: &[&[Option<f64>]], fewest: usize) -> Vec<Option<f64>> {
    let hours = disks.first().map_or(0, |disk| disk.len());
    let at = |hour: usize| {
        let values: Vec<f64> =
            disks.iter().filter_map(|disk| disk.get(hour).copied().flatten()).collect();
        median(values.clone()).filter(|_| values.len() >= fewest)
    };
    (0..hours).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_students() {
        // Tables of Student's t with 8 degrees: 0.05 at 1.860, 0.005 at 3.355, 0.0005 at 5.041.
        for (at, expected) in [(1.860, 0.05), (3.355, 0.005), (5.041, 0.0005)] {
            assert!((tail(at) / expected - 1.0).abs() < 0.01, "{at}: {}", tail(at));
        }
        assert!((tail(0.0) - 0.5).abs() < 1e-12);
        assert!((tail(60.1) / tail(59.9) - 1.0).abs() < 0.05, "{} {}", tail(59.9), tail(60.1));
    }

    #[test]
    fn a_stretch_is_found_with_its_ends() {
        let noise = |hour: usize, disk: usize| ((hour * 31 + disk * 17) % 7) as f64 * 0.01;
        let disk = |disk: usize| (0..100).map(|hour| Some(noise(hour, disk))).collect::<Vec<_>>();
        let healthy: Vec<Vec<Option<f64>>> = (0..20).map(disk).collect();
        let all: Vec<&[Option<f64>]> = healthy.iter().map(Vec::as_slice).collect();
        let scale = Scale::of(&all);
        let mut faulty = healthy[3].clone();
        faulty[40..61].iter_mut().flatten().for_each(|value| *value += 1.0);
        let most = scale.most(&faulty).unwrap_or_else(|| unreachable!());
        assert_eq!((most.from, most.to), (40, 61));
        assert!(most.p < 1e-6 && (most.excess - 1.03).abs() < 0.02, "{most:?}");
        let well = scale.most(&healthy[5]).unwrap_or_else(|| unreachable!());
        assert!(well.p > 0.1, "{well:?}");
    }
}
