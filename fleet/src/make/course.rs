//! A disk over time: its load, and the latencies of its requests.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::bell::Bell;
use super::disks::{Disk, FaultKind};

/// Fewer requests are drawn individually, more by bucket.
const ONE_BY_ONE: f64 = 40.0;
/// Fewer expected in a bucket follow Poisson's distribution, more the normal one, rounded.
const FEW: f64 = 20.0;
/// Maximum distance of a request from the median, in standard deviations.
const FURTHEST: f64 = 4.0;
/// Spread of what is late in a tail, a logarithm.
const TAIL_SIGMA: f64 = 0.4;

/// I/Os by bucket.
#[derive(Clone, Debug)]
pub struct Counts {
    by_bucket: Vec<i64>,
    /// The buckets that hold any lie within.
    from: usize,
    to: usize,
}

impl Counts {
    /// None yet, of this many buckets.
    pub fn new(buckets: usize) -> Counts {
        Counts { by_bucket: vec![0; buckets], from: buckets, to: 0 }
    }

    fn add(&mut self, bucket: usize, count: i64) {
        self.by_bucket[bucket] += count;
        self.from = self.from.min(bucket);
        self.to = self.to.max(bucket + 1);
    }

    /// Hands out those of each bucket that holds any, the least first, and begins anew.
    pub fn drain(&mut self, mut take: impl FnMut(usize, i64)) {
        for bucket in self.from..self.to {
            let count = std::mem::take(&mut self.by_bucket[bucket]);
            if count > 0 {
                take(bucket, count);
            }
        }
        (self.from, self.to) = (self.by_bucket.len(), 0);
    }
}

/// A disk's course of time.
pub struct Course<'a> {
    disk: &'a Disk,
    chance: ChaCha8Rng,
    /// The load's own drift, in logarithms.
    drift: f64,
    /// How long it goes on.
    hours: f64,
    /// Logarithms of the lower edges of the buckets, ns.
    edges: &'a [f64],
    bell: &'a Bell,
}

impl<'a> Course<'a> {
    /// From the first hour on; `edges` are logarithms of ns.
    pub fn new(disk: &'a Disk, hours: f64, edges: &'a [f64], bell: &'a Bell) -> Course<'a> {
        let chance = ChaCha8Rng::seed_from_u64(disk.seed);
        Course { disk, chance, drift: 0.0, hours, edges, bell }
    }

    /// What happens in the `span_s` seconds that begin at this hour: reads and writes, added to
    /// what is there.
    pub fn cell(&mut self, hour: f64, span_s: f64, into: &mut [Counts; 2]) {
        let disk = self.disk;
        self.drift = 0.97 * self.drift + 0.08 * self.normal();
        let of_day = (hour + f64::from(disk.host % 5)) / 24.0 * std::f64::consts::TAU;
        let day = 1.0 + 0.55 * of_day.sin() + 0.15 * (2.0 * of_day).sin();
        let hot = disk.hot.filter(|(from, _)| hour >= *from).map_or(1.0, |(_, times)| times);
        let asked = disk.model.usual * disk.load * day.max(0.05) * self.drift.exp() * hot;
        let (factor, tail) = self.sickness(hour);
        // A slower generation is asked as much less, or it would be overloaded and not well.
        let (generation, from) = disk.others[0];
        let asked = if hour >= from { asked / generation } else { asked };
        let others = disk.others.iter().filter(|(_, from)| hour >= *from);
        let others: f64 = others.map(|(factor, _)| factor).product();
        let slower = disk.own * disk.firmware_factor * others * factor;
        let need = [0, 1].map(|op| disk.model.service_us[op] * slower);
        let shares = [disk.reads, 1.0 - disk.reads];
        // Load beyond the capacity of the channels is served later; the backlog is bounded.
        let mean_need = need[0] * shares[0] + need[1] * shares[1];
        let most = 0.93 * disk.model.channels * 1e6 / mean_need;
        let done = asked.min(most);
        let busy = done * mean_need / 1e6 / disk.model.channels;
        // Allen and Cunneen's approximation of a queue with several servers.
        let power = (2.0 * (disk.model.channels + 1.0)).sqrt() - 1.0;
        let waits = busy.powf(power) / (disk.model.channels * (1.0 - busy).max(0.05));
        for (op, counts) in into.iter_mut().enumerate() {
            let many = self.poisson(done * shares[op] * span_s) as f64;
            let median = (1000.0 * (need[op] + waits * mean_need)).ln();
            self.spread(many, median, disk.model.sigma, counts);
            if let Some((share, times)) = tail {
                self.spread((many * share).round(), median + times.ln(), TAIL_SIGMA, counts);
            }
        }
    }

    /// The factor of all requests, and the share and factor of some.
    fn sickness(&self, hour: f64) -> (f64, Option<(f64, f64)>) {
        let Some((kind, from)) = self.disk.faulty.filter(|(_, from)| hour >= *from) else {
            return (1.0, None);
        };
        match kind {
            FaultKind::Steady(factor) => (factor, None),
            FaultKind::Fits(factor, long, period) => {
                let at = (hour - from) % period;
                (if at < long { factor } else { 1.0 }, None)
            }
            FaultKind::Creeping(factor) => {
                let way = (hour - from) / (self.hours - from).max(1.0);
                (1.0 + (factor - 1.0) * way, None)
            }
            FaultKind::Tail(percent, times) => (1.0, Some((percent / 100.0, times))),
        }
    }

    /// So many requests, log-normal around a median (its logarithm), by bucket.
    fn spread(&mut self, many: f64, median: f64, sigma: f64, into: &mut Counts) {
        if many < ONE_BY_ONE {
            for _ in 0..many as usize {
                let drawn = median + sigma * self.normal();
                into.add(self.bucket(drawn), 1);
            }
            return;
        }
        let first = self.bucket(median - FURTHEST * sigma);
        let last = self.bucket(median + FURTHEST * sigma);
        let mut under = 0.0;
        for place in first..=last {
            let to = match place == last {
                true => 1.0,
                false => self.bell.below((self.edges[place + 1] - median) / sigma),
            };
            let count = self.poisson(many * (to - under).max(0.0));
            under = to;
            if count > 0 {
                into.add(place, count);
            }
        }
    }

    /// A number that is expected to be this.
    fn poisson(&mut self, expected: f64) -> i64 {
        if expected >= FEW {
            return (expected + expected.sqrt() * self.normal()).round().max(0.0) as i64;
        }
        // The share of each number in turn is taken from one draw until that is used up.
        let mut left: f64 = self.chance.random();
        let (mut number, mut share) = (0, (-expected).exp());
        while left > share && share > 0.0 {
            left -= share;
            number += 1;
            share *= expected / number as f64;
        }
        number
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.chance)
    }

    /// The bucket of a latency, by its logarithm.
    fn bucket(&self, ns: f64) -> usize {
        let place = self.edges.partition_point(|edge| *edge <= ns).saturating_sub(1);
        place.min(self.edges.len() - 2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Make;
    use super::super::disks::Fleet;
    use super::*;

    fn course(with: impl FnOnce(&mut Course)) {
        let make = Make { disks: 1, ..Make::small() };
        let fleet = Fleet::new(&make);
        // Octaves of a microsecond.
        let edges: Vec<f64> = (0..40).map(|octave| (1000.0 * 2f64.powi(octave)).ln()).collect();
        with(&mut Course::new(&fleet.disks[0], 24.0, &edges, &Bell::new()));
    }

    #[test]
    fn numbers_have_the_mean_and_the_variance_of_poisson() {
        course(|course| {
            for expected in [0.01, 0.7, 5.0, 19.9, 20.0, 300.0] {
                let n = 20_000;
                let drawn: Vec<f64> = (0..n).map(|_| course.poisson(expected) as f64).collect();
                let mean = drawn.iter().sum::<f64>() / f64::from(n);
                let variance =
                    drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / f64::from(n);
                // Five standard errors of the mean; the variance varies more where few are
                // expected.
                let error = 5.0 * (expected / f64::from(n)).sqrt();
                assert!((mean - expected).abs() < error, "{expected}: {mean}");
                assert!((variance / expected - 1.0).abs() < 0.5, "{expected}: {variance}");
            }
        });
    }

    #[test]
    fn requests_are_spread_around_their_median_however_many_they_are() {
        course(|course| {
            // At 8 ms, the lower edge of the thirteenth octave, half are below.
            let median = 8_192_000f64.ln();
            for many in [30.0, 1e6] {
                let mut counts = Counts::new(39);
                let (mut below, mut all) = (0, 0);
                for _ in 0..if many < 1e3 { 10_000 } else { 10 } {
                    course.spread(many, median, 0.45, &mut counts);
                }
                counts.drain(|bucket, count| {
                    all += count;
                    below += if bucket < 13 { count } else { 0 };
                });
                let share = below as f64 / all as f64;
                assert!((share - 0.5).abs() < 0.01, "{many}: {share} of {all}");
                counts.drain(|_, _| panic!("drained twice"));
            }
        });
    }
}
