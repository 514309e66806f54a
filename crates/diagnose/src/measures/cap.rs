//! A throughput that is pinned: the plateau, and the tier it may be.
//!
//! A limit set by a provider or a cgroup keeps throughput at one level however many requests wait.
//! That of a saturated device varies.

use iowhy_model::{Quantity, Unit};

use super::spread;

/// The plateau of a series of rates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plateau {
    /// Its height, in the unit of the rates (mean of its samples).
    pub level: f64,
    /// Samples on it.
    pub samples: usize,
    /// Samples in all.
    pub of: usize,
    /// Coefficient of variation of the samples on it.
    pub cv: f64,
    /// Largest of all samples over the median of the plateau.
    pub max_over_median: f64,
    /// Largest over smallest number in flight on the plateau, if known.
    pub in_flight_spread: Option<f64>,
    /// Dispersion of the counts (variance over mean): one for random arrivals, near zero for a
    /// clock.
    pub dispersion: f64,
    /// Whether it is pinned: at least 5 samples and 15 %, CV < 1.2 %, max / median < 1.02, and
    /// in-flight spread > 1.3, which must be known.
    pub pinned: bool,
    /// Whether it has clock-like regularity although the number in flight never changed: all
    /// samples but the edges on it, and counts far more even than any queueing device completes.
    pub clocked: bool,
}

/// Samples within this share of the 95th percentile are on the plateau. All constants of the rule:
/// docs/METHOD.md, 8 Cap.
const PLATEAU_TOLERANCE: f64 = 0.03;
/// Fewest samples on the plateau.
const MIN_SAMPLES: usize = 5;
/// Smallest share of the samples on the plateau.
const SHARE: f64 = 0.15;
/// Widest coefficient of variation on it.
const CV: f64 = 0.012;
/// How far any sample may stick out above it.
const MAX_OVERSHOOT: f64 = 1.02;
/// Smallest spread of requests in flight: demand must have moved while throughput did not.
const DEMAND: f64 = 1.3;

/// Minimum share of regular samples if demand never changed.
const MOST: f64 = 0.8;
/// Dispersion below which counts come from a clock. A server whose services vary by a quarter, less
/// than any seek or flash read does, has 0.06.
const CLOCKED: f64 = 0.02;

/// The plateau of one-second rates; `in_flight` may be empty, else one value per rate. `None`
/// without rates above 0.
pub fn plateau(rates: &[f64], in_flight: &[f64]) -> Option<Plateau> {
    let sorted = spread::sorted(rates);
    let rank = (0.95 * sorted.len() as f64).ceil() as usize;
    let height = sorted.get(rank.saturating_sub(1)).copied().filter(|rate| *rate > 0.0)?;
    let on: Vec<usize> = (0..rates.len())
        .filter(|i| {
            rates.get(*i).is_some_and(|rate| (rate / height - 1.0).abs() <= PLATEAU_TOLERANCE)
        })
        .collect();
    let level: Vec<f64> = on.iter().filter_map(|i| rates.get(*i)).copied().collect();
    let flights: Vec<f64> =
        on.iter().filter_map(|i| in_flight.get(*i)).copied().filter(|n| *n > 0.0).collect();
    let most = flights.iter().copied().fold(0.0, f64::max);
    let least = flights.iter().copied().fold(f64::INFINITY, f64::min);
    let in_flight_spread = (!flights.is_empty()).then(|| most / least);
    let cv = spread::cv(&level).unwrap_or(0.0);
    let max_over_median = sorted.last()? / spread::median(&level)?;
    let enough = level.len() >= MIN_SAMPLES && level.len() as f64 >= SHARE * rates.len() as f64;
    let dispersion = cv * cv * height;
    let most_on = level.len() as f64 >= MOST * rates.len() as f64;
    Some(Plateau {
        level: spread::mean(&level)?,
        samples: level.len(),
        of: rates.len(),
        cv,
        max_over_median,
        in_flight_spread,
        dispersion,
        clocked: enough && most_on && dispersion < CLOCKED && max_over_median < MAX_OVERSHOOT,
        pinned: enough
            && cv < CV
            && max_over_median < MAX_OVERSHOOT
            && in_flight_spread.is_some_and(|spread| spread > DEMAND),
    })
}

/// Whether a sample is on the plateau of this level.
pub fn is_on(level: f64, rate: f64) -> bool {
    (rate / level - 1.0).abs() <= PLATEAU_TOLERANCE
}

/// What a tier limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Requests per second.
    Iops,
    /// Bytes per second.
    BytesPerSecond,
}

impl Limit {
    /// Both.
    pub const ALL: [Limit; 2] = [Limit::Iops, Limit::BytesPerSecond];

    /// The unit of its rates.
    pub fn unit(self) -> Unit {
        match self {
            Limit::Iops => Unit::PerSecond,
            Limit::BytesPerSecond => Unit::BytesPerSecond,
        }
    }

    /// Such a rate in words: `3,000 IOPS`, `125 MiB/s`.
    pub fn words(self, value: f64) -> String {
        Quantity { value, unit: self.unit() }.words()
    }
}

/// A limit that a provider sells.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tier {
    /// What it limits.
    pub limit: Limit,
    /// The limit, per second.
    pub value: f64,
    /// Its owner, one clause.
    pub known_from: &'static str,
}

/// Limits in the open: AWS's EBS volume types page (gp2 burst and gp3 base 3000 IOPS, gp2 and gp3
/// most 16 000 IOPS as document cloud_volume met it, gp3 base 125 MiB/s, gp2 most 250 MiB/s, gp3
/// most 1000 MiB/s).
pub const TIERS: [Tier; 5] = [
    Tier { limit: Limit::Iops, value: 3000.0, known_from: "EBS gp3 baseline, gp2 burst" },
    Tier { limit: Limit::Iops, value: 16_000.0, known_from: "EBS gp2 and gp3 maximum" },
    Tier {
        limit: Limit::BytesPerSecond,
        value: 125.0 * 1_048_576.0,
        known_from: "EBS gp3 baseline, 125 MiB/s",
    },
    Tier {
        limit: Limit::BytesPerSecond,
        value: 250.0 * 1_048_576.0,
        known_from: "EBS gp2 maximum, 250 MiB/s",
    },
    Tier {
        limit: Limit::BytesPerSecond,
        value: 1000.0 * 1_048_576.0,
        known_from: "EBS gp3 maximum, 1000 MiB/s",
    },
];
/// How near to a tier a rate must be (docs/METHOD.md, 8 Cap).
const TIER_SLACK: f64 = 0.015;

/// The known tier nearest to a rate, with the deviation from it (share of the tier, signed).
/// `None` if none is within 1.5 %.
pub fn nearest_tier(limit: Limit, rate: f64) -> Option<(Tier, f64)> {
    tier_within(limit, rate, TIER_SLACK)
}

/// The same, where none is within another share of it.
pub fn tier_within(limit: Limit, rate: f64, slack: f64) -> Option<(Tier, f64)> {
    TIERS
        .into_iter()
        .filter(|tier| tier.limit == limit)
        .map(|tier| (tier, rate / tier.value - 1.0))
        .filter(|(_, deviation)| deviation.abs() <= slack)
        .min_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
}

/// Whether a rate is one that is sold: one or two digits and noughts, to half a per cent. Sellers
/// count bytes in MB or MiB.
pub fn is_round(limit: Limit, rate: f64) -> bool {
    let units: &[f64] = match limit {
        Limit::Iops => &[1.0],
        Limit::BytesPerSecond => &[1e6, 1_048_576.0],
    };
    units.iter().any(|unit| {
        let value = rate / unit;
        let step = 10f64.powf(value.log10().floor()) / 2.0;
        value >= 1.0 && (value / ((value / step).round() * step) - 1.0).abs() <= ROUND_SLACK
    })
}

/// How close to a round number a rate must be; round numbers are 5 to 50 % apart.
const ROUND_SLACK: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::Random;

    #[test]
    fn cloud_volume_sits_on_the_16000_tier() {
        let (tier, deviation) = nearest_tier(Limit::Iops, 16001.6).unwrap();
        assert_eq!(tier.value, 16_000.0);
        assert!((deviation - 0.0001).abs() < 1e-6);
        assert_eq!(nearest_tier(Limit::Iops, 10_993.0), None);
        assert_eq!(nearest_tier(Limit::BytesPerSecond, 64_006.4 * 1024.0), None);
        assert_eq!(nearest_tier(Limit::Iops, f64::NAN), None);
    }

    #[test]
    fn a_limit_is_flat_and_a_saturated_device_wobbles() {
        let mut random = Random::seeded(5);
        let demand: Vec<f64> = (0..60).map(|_| 10.0 + 60.0 * random.unit()).collect();
        let capped: Vec<f64> = demand.iter().map(|_| 3000.0 + 6.0 * random.normal()).collect();
        assert!(plateau(&capped, &demand).unwrap().pinned);
        let wobbling: Vec<f64> = demand.iter().map(|_| 3000.0 + 120.0 * random.normal()).collect();
        assert!(!plateau(&wobbling, &demand).unwrap().pinned);
        assert!(!plateau(&capped, &[32.0; 60]).unwrap().pinned, "demand never moved");
        assert_eq!(plateau(&[], &[]), None);
        assert_eq!(plateau(&[0.0; 9], &[]), None);
    }
}
