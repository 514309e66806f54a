//! S0: the service time of a healthy device, as a distribution and not as a number.
//!
//! It starts from the class table (`classes.rs`), is narrowed by the medium if that is known, else
//! by the device's best times, and is used at nine quantiles: a verdict that flips between them is
//! not a verdict.

use iowhy_model::Order as _;
use iowhy_model::{Medium, Op};

use super::classes::{CLASSES, Class};
use crate::phrase;

/// The quantiles of S0 that are used; the middle one is the median.
pub(crate) const VOTES: usize = 9;

/// Odds below which a class is ruled out.
const IN_QUESTION: f64 = 0.1;

/// No network volume answers in less than this part of its usual time (docs/METHOD.md, 3 Healthy
/// service times: a floor of 0.5 to 2 ms; the fastest volumes sold answer in 0.2 ms).
const NETWORK_FLOOR: f64 = 4.0;

/// The wait for a random place on a platter is uniform over a revolution, so the interquartile
/// range is at least half a revolution: 2 ms at 15 000 rpm, the fastest sold. A range below half of
/// that, for requests on one track, rules seeks out.
const SEEKS_SPREAD: f64 = 1.0;

/// More than any spinning disk moves: those with two actuators are sold with 524 MB/s, and SATA
/// ends at 600 (docs/METHOD.md, 3 Healthy service times).
const PLATTER_BYTES_PER_MS: f64 = 600_000.0;
/// Nor does any answer more than 33,000 requests a second, be they in its cache: each command takes
/// its electronics some tens of microseconds (choice).
const PLATTER_PACE_MS: f64 = 0.03;

/// The query to the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// The operation.
    pub op: Op,
    /// Mean size, bytes.
    pub bytes: f64,
    /// Whether requests are sequential, if known.
    pub sequential: Option<bool>,
}

/// Observations of the device, which change the odds between the media.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnTimes {
    /// The fastest one in a hundred was, ms.
    pub floor_ms: f64,
    /// Lower bound of its own time per request, ms.
    pub low_ms: f64,
    /// And the longest.
    pub high_ms: f64,
    /// Busy time per completion, ms: less than the service time if the device works on several at
    /// once, but no medium works on any number at once. Infinite if unknown.
    pub pace_ms: f64,
    /// Interquartile range of its own times, ms. Infinite if unknown.
    pub spread_ms: f64,
}

/// One baseline: a lognormal S0 with a weight.
#[derive(Clone, Debug, PartialEq)]
struct ClassPrior {
    medium: Option<Medium>,
    class: String,
    /// Whether each request needs a seek and a rotation.
    seeks: bool,
    median_ms: f64,
    sigma: f64,
    weight: f64,
}

/// What S0 may be.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthyServiceTime {
    priors: Vec<ClassPrior>,
    /// S0 in ms at nine quantiles, rising.
    pub votes_ms: [f64; VOTES],
    /// The assumption, a clause.
    pub assumption: String,
}

impl HealthyServiceTime {
    /// The spread of S0 for a request on a device that may be of these media.
    ///
    /// Observations (`seen`) never make a slow device its own baseline: they only select the class.
    pub fn of(
        media: &[(Medium, f64)],
        request: Request,
        seen: Option<OwnTimes>,
    ) -> HealthyServiceTime {
        let mut priors = Vec::new();
        for (medium, odds) in media {
            for class in CLASSES.iter().filter(|class| class.suits(*medium, request)) {
                let median_ms = class.fixed_ms + request.bytes / class.bytes_per_ms;
                priors.push(ClassPrior {
                    medium: Some(class.medium),
                    class: class.name.to_string(),
                    seeks: class.seeks(),
                    median_ms,
                    sigma: class.sigma,
                    weight: odds * class.weight,
                });
            }
        }
        if let Some(seen) = seen.filter(|seen| seen.low_ms > 0.0 && seen.low_ms <= seen.high_ms) {
            sharpen(&mut priors, seen);
        }
        // No platter reaches this throughput, even from its cache.
        let pace_ms = seen.map_or(f64::INFINITY, |seen| seen.pace_ms.max(f64::MIN_POSITIVE));
        if request.bytes / pace_ms > PLATTER_BYTES_PER_MS || pace_ms < PLATTER_PACE_MS {
            let others = priors.iter().any(|prior| prior.medium != Some(Medium::Rotational));
            priors.retain(|prior| !others || prior.medium != Some(Medium::Rotational));
        }
        HealthyServiceTime::from_priors(priors)
    }

    /// S0 as the user stated it.
    pub fn stated(ms: f64) -> HealthyServiceTime {
        let class = "the given service time".to_string();
        HealthyServiceTime::from_priors(vec![ClassPrior {
            medium: None,
            class,
            seeks: false,
            median_ms: ms,
            sigma: 0.1,
            weight: 1.0,
        }])
    }

    /// S0 as it was measured.
    pub fn known(median_ms: f64, sigma: f64, from: &str) -> HealthyServiceTime {
        let class = format!("measured: {from}");
        let (medium, seeks, weight) = (None, false, 1.0);
        HealthyServiceTime::from_priors(vec![ClassPrior {
            medium,
            class,
            seeks,
            median_ms,
            sigma,
            weight,
        }])
    }

    fn from_priors(mut priors: Vec<ClassPrior>) -> HealthyServiceTime {
        if priors.is_empty() {
            // Discards and driver commands have no class: as wide as possible.
            let class = "no class for this operation".to_string();
            priors.push(ClassPrior {
                medium: None,
                class,
                seeks: false,
                median_ms: 3.0,
                sigma: 1.5,
                weight: 1.0,
            });
        }
        let votes_ms = std::array::from_fn(|k| quantile(&priors, (k as f64 + 1.0) / 10.0));
        let assumption = describe(&priors);
        HealthyServiceTime { priors, votes_ms, assumption }
    }

    /// The median of the distribution, ms.
    pub fn median_ms(&self) -> f64 {
        self.votes_ms[VOTES / 2]
    }

    /// From the median to the slowest possible class, as text; one number if they are nearly equal.
    pub fn range(&self) -> String {
        let (middle, slowest) = (self.median_ms(), self.slowest_ms());
        if slowest > 1.5 * middle {
            format!("{} to {}", phrase::ms(middle), phrase::ms(slowest))
        } else {
            phrase::ms(middle)
        }
    }

    /// The slower end of the distribution, ms: seven in ten healthy devices are faster.
    pub fn slower_end_ms(&self) -> f64 {
        self.votes_ms[6]
    }

    /// The slowest possible class, ms: nothing beyond its double is healthy.
    pub fn slowest_ms(&self) -> f64 {
        let total: f64 = self.priors.iter().map(|prior| prior.weight).sum();
        self.priors
            .iter()
            .filter(|prior| prior.weight > IN_QUESTION * total)
            .map(|prior| prior.median_ms)
            .fold(0.0, f64::max)
    }

    /// The longest time between completions of a possible class with this many requests in flight,
    /// ms: a device that serves several at once needs a fraction of a service time.
    pub fn slowest_pace_ms(&self, in_flight: f64) -> f64 {
        let total: f64 = self.priors.iter().map(|prior| prior.weight).sum();
        let pace = |prior: &ClassPrior| {
            prior.median_ms / in_flight.clamp(1.0, served_at_once(prior.medium))
        };
        let in_question = self.priors.iter().filter(|prior| prior.weight > IN_QUESTION * total);
        in_question.map(pace).fold(0.0, f64::max)
    }

    /// How many of the nine agree, and the resulting confidence: (votes + 0.5) / 10.5.
    pub fn votes(&self, yes: impl Fn(f64) -> bool) -> (usize, f64) {
        let votes = self.votes_ms.iter().filter(|s0| yes(**s0)).count();
        (votes, (votes as f64 + 0.5) / 10.5)
    }

    /// Weight of one medium in the distribution, 0 to 1.
    pub fn odds_of(&self, medium: Medium) -> f64 {
        let all: f64 = self.priors.iter().map(|prior| prior.weight).sum();
        let of: f64 =
            self.priors.iter().filter(|g| g.medium == Some(medium)).map(|g| g.weight).sum();
        if all > 0.0 { of / all } else { 0.0 }
    }

    /// One spread out of several, weighted: for a mix of requests on one device.
    pub fn mixed(parts: &[(&HealthyServiceTime, f64)]) -> HealthyServiceTime {
        let total: f64 = parts.iter().map(|(_, weight)| weight).sum();
        let votes_ms = std::array::from_fn(|k| {
            parts.iter().map(|(s0, weight)| s0.votes_ms[k] * weight).sum::<f64>() / total.max(1e-12)
        });
        let priors = parts.iter().flat_map(|(s0, _)| s0.priors.clone()).collect();
        let main = parts.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        HealthyServiceTime {
            priors,
            votes_ms,
            assumption: main.map_or_else(String::new, |m| m.0.assumption.clone()),
        }
    }
}

impl Class {
    /// Requests to random places of a platter.
    fn seeks(&self) -> bool {
        self.medium == Medium::Rotational && self.sequential == Some(false)
    }

    fn suits(&self, medium: Medium, request: Request) -> bool {
        self.medium == medium
            && self.op.is_none_or(|op| op == request.op)
            && (self.sequential.is_none()
                || request.sequential.is_none()
                || self.sequential == request.sequential)
    }
}

/// Changes the odds by how well each class fits the observations. A class slower than all of them
/// is contradicted; a faster one is only unlikely, because the device may be slow even at its best:
/// hence the wider tail on that side.
fn sharpen(priors: &mut [ClassPrior], seen: OwnTimes) {
    for prior in priors.iter_mut() {
        let most = prior.medium.map_or(f64::INFINITY, at_once) * seen.pace_ms;
        let high = seen.high_ms.min(most.max(f64::MIN_POSITIVE));
        let too_slow = (prior.median_ms / high).ln().max(0.0) / (prior.sigma + 0.4);
        let too_fast = (seen.low_ms / prior.median_ms).ln().max(0.0) / (prior.sigma + 0.8);
        let across = if prior.medium == Some(Medium::Network) {
            (prior.median_ms / NETWORK_FLOOR / seen.floor_ms).ln().max(0.0) / prior.sigma
        } else {
            0.0
        };
        let off = too_slow.powi(2) + too_fast.powi(2) + across.powi(2);
        // A cache may have answered instead of the medium: no class is ruled out.
        prior.weight *= 0.02 + (-0.5 * off).exp();
        // But a random sector can be anywhere in a revolution.
        if prior.seeks && seen.spread_ms < SEEKS_SPREAD {
            prior.weight *= 0.02;
        }
    }
}

/// Maximum requests that a medium serves at once. A disk has one arm; reordering its queue of 32
/// makes it up to some four times faster. SATA's queue has 32 entries, the rest is bounded by what
/// the host keeps in flight.
fn at_once(medium: Medium) -> f64 {
    match medium {
        Medium::Rotational => 4.0,
        Medium::Flash | Medium::Card => 32.0,
        Medium::Nvme | Medium::Network | Medium::Stacked => 1024.0,
    }
}

/// Minimum requests that a medium serves at once if it has as many (choices, a quarter of what data
/// sheets give: SATA flash makes 10,000 IOPS of one request at a time and 90,000 of 32, NVMe 12,000
/// and 300,000 or more; network volumes behave alike up to their limit). A platter has one arm.
fn served_at_once(medium: Option<Medium>) -> f64 {
    match medium {
        Some(Medium::Flash) => 2.0,
        Some(Medium::Nvme | Medium::Network) => 4.0,
        Some(Medium::Rotational | Medium::Card | Medium::Stacked) | None => 1.0,
    }
}

/// The quantile of a mixture of lognormals, by bisection on its distribution function.
fn quantile(priors: &[ClassPrior], q: f64) -> f64 {
    let total: f64 = priors.iter().map(|prior| prior.weight).sum();
    let below = |ln_ms: f64| {
        priors
            .iter()
            .map(|prior| prior.weight * normal_below((ln_ms - prior.median_ms.ln()) / prior.sigma))
            .sum::<f64>()
            / total
    };
    // ln of 6 ns to 2.5 hours, halved to one in ten thousand.
    let (mut low, mut high) = (-12.0, 16.0);
    for _ in 0..18 {
        let middle = (low + high) / 2.0;
        if below(middle) < q { low = middle } else { high = middle }
    }
    ((low + high) / 2.0_f64).exp()
}

/// The normal distribution function, by the logistic curve of the same slope (error < 0.01).
fn normal_below(z: f64) -> f64 {
    1.0 / (1.0 + (-1.5976 * z - 0.07056 * z.powi(3)).exp())
}

fn describe(priors: &[ClassPrior]) -> String {
    let total: f64 = priors.iter().map(|prior| prior.weight).sum();
    let mut media: Vec<(&str, f64)> = Vec::new();
    for prior in priors {
        let name = match prior.medium {
            Some(medium) => phrase::medium(medium),
            None => prior.class.as_str(),
        };
        match media.iter_mut().find(|(known, _)| *known == name) {
            Some((_, weight)) => *weight += prior.weight / total,
            None => media.push((name, prior.weight / total)),
        }
    }
    media.retain(|(_, weight)| *weight > IN_QUESTION);
    media.order_by(|a, b| b.1.total_cmp(&a.1));
    let names: Vec<&str> = media.iter().map(|(name, _)| *name).collect();
    match names.as_slice() {
        [first @ .., before, last] => {
            first.iter().chain([before]).copied().collect::<Vec<_>>().join(", ") + " or " + last
        }
        few => few.concat(),
    }
}

#[cfg(test)]
mod tests;
