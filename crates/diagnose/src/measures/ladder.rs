//! Whole extra revolutions of a platter in a list of service times: base, period, steps.
//!
//! A drive that fails to read a sector waits for the next revolution, so each retry costs exactly
//! one: 8.33 ms at 7200 rpm. Service times then form a ladder, base + k revolutions. The input must
//! be service times of one size class, sequential or on one track (the rotation of random reads
//! blurs the steps), on a spinning disk.
//!
//! Two questions are asked. *Speed known*: are the slow service times multiples of the revolution
//! (V-test, Mardia and Jupp, Directional Statistics, 2000), and still are without their fullest
//! step? *Speed unknown*: does a step pattern of a standard speed explain them better than no step
//! pattern, than a single step by chance, and than any period that no platter has? The weights of
//! that second question were learned from simulated disks (docs/METHOD.md, 4 Ladder).

use super::{quantisation, spread, step_fit};

/// A ladder of service times: base plus whole revolutions.
#[derive(Clone, PartialEq, Debug)]
pub struct Ladder {
    /// Standard spindle speed it was compared with, revolutions per minute.
    pub standard_rpm: f64,
    /// Spindle speed the fitted revolution amounts to, revolutions per minute.
    pub rpm: f64,
    /// The fitted revolution, ms.
    pub revolution_ms: f64,
    /// Service time without any lost revolution, ms.
    pub base_ms: f64,
    /// Log-likelihood ratio of the step pattern over no step pattern, nats, events outside the
    /// fullest step.
    pub llr: f64,
    /// The same without its best step: the rest if one step was chance.
    pub without_best: f64,
    /// The part that is evidence for the speed (a single cluster several revolutions up is not).
    pub evidence: f64,
    /// The best `without_best` of any free period: a rival without a platter.
    pub rival: f64,
    /// The free period that reaches it, ms.
    pub rival_ms: f64,
    /// V-test over all slow events, in standard deviations.
    pub u: f64,
    /// V-test without the fullest step.
    pub u_prime: f64,
    /// Share of the events outside the fullest step that are on a step (1 - epsilon).
    pub outside: f64,
    /// Slow events: more than half a revolution above the base.
    pub slow: usize,
    /// Slow events within [`ON_A_STEP`] of a whole number of revolutions above the base.
    pub on_steps: usize,
    /// Probability that this is a ladder, 0 to 1.
    pub confidence: f64,
    /// Extra revolutions by each service, in the order given.
    pub revolutions: Vec<u32>,
    /// Median extra revolutions, slow events only.
    pub median_revolutions: f64,
    /// Mean extra revolutions, slow events only.
    pub mean_revolutions: f64,
    /// Fewest extra revolutions by a slow event.
    pub min_revolutions: u32,
    /// Most extra revolutions by an event.
    pub max_revolutions: u32,
    /// Share of all events that lost at least one revolution.
    pub retried_share: f64,
    /// Share of the time above the base that whole revolutions explain.
    pub explained_share: f64,
    /// Probability that slow events without a ladder cluster so closely around a phase, over all
    /// speeds tried: speeds x exp(-m R^2) (Rayleigh).
    pub chance: f64,
    /// Lower end of the 95 % bootstrap interval of the speed.
    pub rpm_low: f64,
    /// Upper end of the 95 % bootstrap interval of the speed.
    pub rpm_high: f64,
}

impl Ladder {
    /// Whether a ladder of known speed is proven: u > 3.1 and u' > 1.3 (docs/METHOD.md, 4 Ladder;
    /// 3.1 is one chance in a thousand for a normal u).
    pub fn fires(&self) -> bool {
        self.u > 3.1 && self.u_prime > 1.3
    }

    /// Fills in everything that follows from base and revolution.
    fn count_revolutions(&mut self, services_ms: &[f64], resolution_ms: f64) {
        let revolution_ms = self.revolution_ms;
        let above = |service: f64| (service - self.base_ms) / revolution_ms;
        self.revolutions = services_ms.iter().map(|s| above(*s).round().max(0.0) as u32).collect();
        let slow: Vec<f64> =
            self.revolutions.iter().filter(|k| **k > 0).map(|k| f64::from(*k)).collect();
        self.slow = slow.len();
        let near = ON_A_STEP.max(resolution_ms / 2.0 / revolution_ms);
        let is_on_step = |service: &&f64| {
            let turns = above(**service);
            turns.round() >= 1.0 && (turns - turns.round()).abs() <= near
        };
        self.on_steps = services_ms.iter().filter(is_on_step).count();
        self.median_revolutions = spread::median(&slow).unwrap_or(0.0);
        self.mean_revolutions = spread::mean(&slow).unwrap_or(0.0);
        self.min_revolutions =
            self.revolutions.iter().copied().filter(|k| *k > 0).min().unwrap_or(0);
        self.max_revolutions = self.revolutions.iter().copied().max().unwrap_or(0);
        self.retried_share = slow.len() as f64 / services_ms.len().max(1) as f64;
        let excess: f64 = services_ms.iter().map(|s| (s - self.base_ms).max(0.0)).sum();
        let turned: f64 = slow.iter().sum::<f64>() * revolution_ms;
        self.explained_share = if excess > 0.0 { (turned / excess).min(1.0) } else { 0.0 };
    }
}

/// Spindle speeds that were sold. 5700 and 5900 are those of "IntelliPower" and "CoolSpin" drives,
/// 10 520 of some 10K SAS drives (docs/METHOD.md, 4 Ladder).
pub const SPEEDS_RPM: [f64; 8] =
    [4200.0, 5400.0, 5700.0, 5900.0, 7200.0, 10_000.0, 10_520.0, 15_000.0];
/// Part of a revolution by which a service may miss a step and still lies on it: by chance a fifth
/// of all do.
const ON_A_STEP: f64 = 0.1;
/// Slow events below which nothing is reported: three points fit any ladder of two parameters.
const FEWEST_SLOW: usize = 3;
/// Below this log-likelihood ratio no bootstrap is run: a nat is even odds at best.
const FAINT: f64 = 1.0;
/// Slow services looked at in the search, and as many fast ones; more sharpen nothing that
/// matters and cost time.
const LOOKED_AT: usize = 1000;
/// Half the shortest revolution sold (15 000 rpm): what is nearer to the mode is not a slow
/// service.
const HALF_REVOLUTION_MS: f64 = 2.0;
/// Services a rival is searched over, for cost.
const RIVAL_LOOKED_AT: usize = 400;

/// Looks for a ladder at any of the standard spindle speeds. `None` if fewer than three services
/// are slow, or `resolution_ms` (the step of the clock) is coarser than a sixth of every
/// revolution.
pub fn fit(services_ms: &[f64], resolution_ms: f64) -> Option<Ladder> {
    let seen = looked_at(services_ms);
    SPEEDS_RPM
        .iter()
        .filter_map(|rpm| LadderFit::at(&seen, *rpm, resolution_ms))
        .max_by(|a, b| a.merit().total_cmp(&b.merit()))
        .map(|found| found.finish(services_ms, &seen, SPEEDS_RPM.len(), resolution_ms))
}

/// Looks for a ladder at one known spindle speed: u and u' are then taken at that speed exactly,
/// and no rival period counts.
pub fn known(services_ms: &[f64], rpm: f64, resolution_ms: f64) -> Option<Ladder> {
    let seen = looked_at(services_ms);
    let found = LadderFit::at(&seen, rpm, resolution_ms)?;
    let mut ladder = found.finish(services_ms, &seen, 1, resolution_ms);
    let revolution_ms = 60_000.0 / rpm;
    let base_ms = lowest_base(&seen, found.mode_ms, revolution_ms);
    (ladder.u, ladder.u_prime, _) = v_test(&seen, base_ms, revolution_ms);
    ladder.confidence = known_confidence(&ladder);
    Some(ladder)
}

/// A ladder fitted at one standard speed.
#[derive(Clone, Copy)]
struct LadderFit {
    standard_rpm: f64,
    mode_ms: f64,
    base_ms: f64,
    revolution_ms: f64,
    score: quantisation::Score,
    /// The revolution's 95 % interval and standard error, ms.
    interval: (f64, f64, f64),
}

impl LadderFit {
    fn at(services_ms: &[f64], rpm: f64, resolution_ms: f64) -> Option<LadderFit> {
        let standard_ms = 60_000.0 / rpm;
        // Coarser than a sixth of a revolution, buckets draw a step pattern of their own.
        if !standard_ms.is_finite() || resolution_ms > standard_ms / 6.0 {
            return None;
        }
        let mode_ms = mode(services_ms)?;
        let (near_ms, revolution_ms) = step_fit::fit(services_ms, mode_ms, standard_ms);
        let base_ms = lowest_base(services_ms, near_ms, revolution_ms);
        let slow = services_ms.iter().filter(|s| **s > base_ms + revolution_ms / 2.0).count();
        let score =
            quantisation::score(services_ms, base_ms, revolution_ms, floor_ms(resolution_ms));
        (slow >= FEWEST_SLOW).then_some(LadderFit {
            standard_rpm: rpm,
            mode_ms,
            base_ms,
            revolution_ms,
            score,
            interval: if score.llr > FAINT {
                step_fit::interval(services_ms, base_ms, revolution_ms)
            } else {
                (revolution_ms, revolution_ms, 0.0)
            },
        })
    }

    /// The part of the confidence that depends only on the speed.
    fn merit(&self) -> f64 {
        0.31 * squashed(self.score.without_best)
            + 1.49 * squashed(self.score.evidence())
            + 2.35 * (1.0 - self.score.off_step)
            - 2.62 * self.speed_error()
    }

    /// How far the revolution is from the standard one beyond 0.1 %, in units of what a drive and
    /// the fit's standard error allow (z_T).
    fn speed_error(&self) -> f64 {
        let off = (self.revolution_ms * self.standard_rpm / 60_000.0 - 1.0).abs();
        (off - 0.001).max(0.0) / (0.0015 + self.interval.2 / self.revolution_ms)
    }

    fn finish(&self, all_ms: &[f64], seen: &[f64], tried: usize, resolution_ms: f64) -> Ladder {
        let (low, high, _) = self.interval;
        let (u, u_prime, resultant) = v_test(seen, self.base_ms, self.revolution_ms);
        let few = thinned(seen, RIVAL_LOOKED_AT);
        let rival = quantisation::best_rival(
            &few,
            self.mode_ms,
            floor_ms(resolution_ms),
            quantisation::SHORTEST_MS,
        );
        let scale = few.len() as f64 / seen.len().max(1) as f64;
        let rival_llr = rival.map_or(0.0, |rival| rival.score.without_best / scale);
        let outside = 1.0 - self.score.off_step;
        // Weights learned from simulated disks: docs/METHOD.md, 4 Ladder.
        let logit = -4.9
            + 0.31 * squashed(self.score.without_best)
            + 1.49 * squashed(self.score.evidence())
            - 1.70 * squashed((rival_llr - 1.2 * self.score.without_best - 3.0).max(0.0))
            - 2.62 * self.speed_error()
            + 2.35 * outside
            + 0.16 * squashed(u);
        let mut ladder = Ladder {
            standard_rpm: self.standard_rpm,
            rpm: 60_000.0 / self.revolution_ms,
            revolution_ms: self.revolution_ms,
            base_ms: self.base_ms,
            llr: self.score.llr,
            without_best: self.score.without_best,
            evidence: self.score.evidence(),
            rival: rival_llr,
            rival_ms: rival.map_or(f64::NAN, |rival| rival.period_ms),
            u,
            u_prime,
            outside,
            slow: 0,
            on_steps: 0,
            confidence: 1.0 / (1.0 + (-logit).exp()),
            revolutions: Vec::new(),
            median_revolutions: 0.0,
            mean_revolutions: 0.0,
            min_revolutions: 0,
            max_revolutions: 0,
            retried_share: 0.0,
            explained_share: 0.0,
            chance: (tried as f64 * resultant).min(1.0),
            rpm_low: 60_000.0 / high,
            rpm_high: 60_000.0 / low,
        };
        ladder.count_revolutions(all_ms, resolution_ms);
        ladder
    }
}

/// u and u' of the V-test over the slow services, and exp(-m R^2).
fn v_test(services_ms: &[f64], base_ms: f64, revolution_ms: f64) -> (f64, f64, f64) {
    let mut slow: Vec<(i64, f64)> = services_ms
        .iter()
        .map(|service| (service - base_ms) / revolution_ms)
        .filter(|above| *above > 0.5)
        .map(|above| (above.round() as i64, (std::f64::consts::TAU * above).cos()))
        .collect();
    slow.sort_by_key(|event| event.0);
    let all: f64 = slow.iter().map(|event| event.1).sum();
    let m = slow.len() as f64;
    let fullest = slow.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max().unwrap_or(0);
    // Of several steps equally full the one that counts most is dropped.
    let dropped = slow
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|step| step.len() == fullest)
        .map(|step| step.iter().map(|event| event.1).sum::<f64>())
        .fold(f64::NEG_INFINITY, f64::max);
    let u = |sum: f64, m: f64| if m > 0.0 { (2.0 / m).sqrt() * sum } else { 0.0 };
    let mean = if m > 0.0 { (all / m).max(0.0) } else { 0.0 };
    (u(all, m), u(all - dropped, m - fullest as f64), (-m * mean * mean).exp())
}

/// Confidence once the speed is known: a logistic fit to 2880 simulated captures of which a sixth
/// were ladders, checked on 2880 others (docs/decisions/0007).
fn known_confidence(ladder: &Ladder) -> f64 {
    let logit = -5.64
        + 1.80 * squashed(ladder.evidence)
        + 1.43 * squashed(ladder.u_prime)
        + 2.06 * ladder.outside;
    1.0 / (1.0 + (-logit).exp())
}

/// The mode of the service times: the half-sample mode of the lower 60 % (docs/METHOD.md, 4 Ladder;
/// the upper 40 % may be retries).
fn mode(services_ms: &[f64]) -> Option<f64> {
    let sorted = spread::sorted(services_ms);
    let lower = (sorted.len() * 3).div_ceil(5);
    spread::half_sample_mode(sorted.get(..lower)?)
}

/// The lowest place of the ladder that is a base. A mode of more than a revolution may be the base
/// (a large read) or a step (all reads retried). It is a step if services stand below it, on steps
/// of their own; then the base is what is left of the mode after whole revolutions. Cache hits
/// below a large read stand on none.
fn lowest_base(services_ms: &[f64], near_ms: f64, revolution_ms: f64) -> f64 {
    let below =
        services_ms.iter().map(|s| (s - near_ms) / revolution_ms).filter(|above| *above < -0.5);
    let (on_step, off_step): (Vec<f64>, Vec<f64>) =
        below.partition(|above| (above - above.round()).abs() < LOW_STEP);
    let is_step = on_step.len() * 50 > services_ms.len() && 2 * on_step.len() > 3 * off_step.len();
    if near_ms > revolution_ms && is_step { near_ms.rem_euclid(revolution_ms) } else { near_ms }
}

/// How near to a step a service time below the mode counts as on it, in revolutions: all nine reads
/// of document 000 below its mode, the sixteenth step, do. By chance three of ten would.
const LOW_STEP: f64 = 0.15;

/// The narrowest bell a clock of this step allows: rounding errs by step / sqrt(12), and no
/// mechanical service repeats to better than 10 us.
fn floor_ms(resolution_ms: f64) -> f64 {
    (resolution_ms / 12f64.sqrt()).max(0.01)
}

/// Sign times ln(1 + |x|).
fn squashed(x: f64) -> f64 {
    x.signum() * x.abs().ln_1p()
}

/// A share of the services small enough to search, in which rare slow ones are kept.
fn looked_at(services_ms: &[f64]) -> Vec<f64> {
    let all = thinned(services_ms, usize::MAX);
    let few = thinned(services_ms, 2 * LOOKED_AT);
    let Some(mode_ms) = mode(&few).filter(|_| few.len() < all.len()) else { return all };
    let is_fast = |service: &f64| *service < mode_ms + HALF_REVOLUTION_MS;
    let (fast, slow): (Vec<f64>, Vec<f64>) = all.into_iter().partition(is_fast);
    let mut seen = thinned(&fast, LOOKED_AT);
    seen.extend(thinned(&slow, LOOKED_AT));
    seen
}

/// At most `most` of the finite positive values, evenly strided.
fn thinned(values: &[f64], most: usize) -> Vec<f64> {
    let stride = values.len().div_ceil(most.max(1)).max(1);
    values.iter().copied().step_by(stride).filter(|v| v.is_finite() && *v > 0.0).collect()
}

/// Equal steps of any period.
#[derive(Clone, PartialEq, Debug)]
pub struct FreePeriod {
    /// The period, ms.
    pub period_ms: f64,
    /// Service time without any step, ms.
    pub base_ms: f64,
    /// Log-likelihood ratio without the best step, nats; above 8 it is a step pattern.
    pub without_best: f64,
    /// Slow events.
    pub slow: usize,
    /// The standard speed the period is within 1 % of, if any.
    pub near_rpm: Option<f64>,
}

/// The best free period between a shortest one and 22 ms: timers, pacing firmware, or a platter.
pub fn free_period(
    services_ms: &[f64],
    resolution_ms: f64,
    shortest_ms: f64,
) -> Option<FreePeriod> {
    let seen = looked_at(services_ms);
    let rival =
        quantisation::best_rival(&seen, mode(&seen)?, floor_ms(resolution_ms), shortest_ms)?;
    let base_ms = lowest_base(&seen, rival.base_ms, rival.period_ms);
    let near = |rpm: &f64| (rival.period_ms * rpm / 60_000.0 - 1.0).abs() < 0.01;
    Some(FreePeriod {
        period_ms: rival.period_ms,
        base_ms,
        without_best: rival.score.without_best,
        slow: services_ms.iter().filter(|s| **s > base_ms + rival.period_ms / 2.0).count(),
        near_rpm: SPEEDS_RPM.into_iter().find(near),
    })
}

#[cfg(test)]
mod tests;
