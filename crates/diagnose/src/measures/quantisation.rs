//! How well a list of service times fits a step pattern: base plus whole periods.
//!
//! The likelihood of each event's distance from its step (a normal distribution of width sigma,
//! mixed with a uniform share epsilon) is compared with that of a uniform distribution. Events of
//! the fullest step do not count, because a single cluster fits any step pattern. A pattern that
//! rests on one further step is detected by leaving its best step out.

use super::step_fit;

/// How a step pattern of one base and period fits.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Score {
    /// Log-likelihood ratio over the events outside the fullest step, nats.
    pub llr: f64,
    /// The same without the step that gives most.
    pub without_best: f64,
    /// That step: periods above the base.
    pub best_step: i64,
    /// Share of these events that is uniform (epsilon).
    pub off_step: f64,
    /// Events outside the fullest step.
    pub outside: usize,
}

/// Beyond this distance above the base, in ms, a step of a platter shows nothing: 60 revolutions at
/// 7200 rpm, where a speed error of 0.1 % has moved it by 6 % of a revolution.
const REACH_MS: f64 = 500.0;
/// Widths of the bell tried, as shares of the period. In document dusty_disk's worst listing 21 of
/// 28 reads are within 0.035 revolutions of their step, and 7 are 0.11 to 0.14 above it (1.0 to 1.2
/// ms: a head switch, by the look of it), 0.066 in the root mean square.
const SIGMAS: [f64; 3] = [0.03, 0.05, 0.08];
/// Steps of expectation-maximisation for epsilon. Each step can only raise the likelihood, so
/// that stopping early understates a step pattern and never overstates it.
const EM_STEPS: usize = 8;

/// Scores the step pattern `base_ms` + k `period_ms`; no bell is narrower than `floor_ms`.
pub fn score(services_ms: &[f64], base_ms: f64, period_ms: f64, floor_ms: f64) -> Score {
    let mut events: Vec<(i64, f64)> = services_ms
        .iter()
        .map(|service| {
            let above = service - base_ms;
            let step = (above / period_ms).round();
            let off = if above.abs() > REACH_MS { f64::INFINITY } else { above - step * period_ms };
            (step as i64, off)
        })
        .collect();
    events.sort_by_key(|event| event.0);
    let fullest = events.chunk_by(|a, b| a.0 == b.0).max_by_key(|step| step.len());
    let Some(fullest) = fullest.and_then(|step| step.first()).map(|event| event.0) else {
        return Score::default();
    };
    events.retain(|event| event.0 != fullest);
    SIGMAS
        .iter()
        .map(|share| score_outside(&events, period_ms, (share * period_ms).max(floor_ms)))
        .max_by(|a, b| a.llr.total_cmp(&b.llr))
        .unwrap_or_default()
}

/// Scores events as (step, distance from it), sorted by step, with a bell of width `sigma_ms`.
fn score_outside(events: &[(i64, f64)], period_ms: f64, sigma_ms: f64) -> Score {
    if events.is_empty() {
        return Score::default();
    }
    let height = period_ms / (sigma_ms * std::f64::consts::TAU.sqrt());
    let bells: Vec<(i64, f64)> = events
        .iter()
        .map(|(step, off)| (*step, height * (-0.5 * (off / sigma_ms).powi(2)).exp()))
        .collect();
    let mut off_step = 0.3;
    for _ in 0..EM_STEPS {
        let expected: f64 =
            bells.iter().map(|(_, bell)| off_step / ((1.0 - off_step) * bell + off_step)).sum();
        off_step = (expected / bells.len() as f64).clamp(1e-3, 1.0);
    }
    let gain = |bell: f64| ((1.0 - off_step) * bell + off_step).ln();
    let per_step: Vec<(i64, f64)> = bells
        .chunk_by(|a, b| a.0 == b.0)
        .filter_map(|step| Some((step.first()?.0, step.iter().map(|(_, bell)| gain(*bell)).sum())))
        .collect();
    let llr: f64 = per_step.iter().map(|step| step.1).sum();
    let best = per_step
        .iter()
        .copied()
        .fold((0, 0.0), |best, step| if step.1 > best.1 { step } else { best });
    Score { llr, without_best: llr - best.1, best_step: best.0, off_step, outside: events.len() }
}

impl Score {
    /// What counts as evidence for a speed. A heap of events one revolution above the base measures
    /// the revolution; a single cluster several revolutions above fits some standard speed by
    /// chance (a stall of constant length did in 22 to 32 % of simulated captures), so it does not
    /// count.
    pub fn evidence(&self) -> f64 {
        if self.best_step == 1 { self.llr } else { self.without_best }
    }
}

/// A free period and how it scores.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rival {
    /// The period, ms.
    pub period_ms: f64,
    /// The base, ms.
    pub base_ms: f64,
    /// How it fits.
    pub score: Score,
}

/// Shortest free period of what may have a platter, ms: below is the jitter of its mechanics
/// (docs/METHOD.md, 4 Ladder).
pub const SHORTEST_MS: f64 = 0.8;
/// The same without a platter: firmware of flash paces by multiples of 250 us (Fail-Slow at Scale,
/// FAST 2018).
pub const SHORTEST_FLASH_MS: f64 = 0.2;
/// Longest free period, ms: no platter and no timer in use is slower (docs/METHOD.md, 4 Ladder).
pub const LONGEST_MS: f64 = 22.0;
/// Neighbouring periods may move the farthest step by a sixth of a period, no more.
const SCAN_PER_REVOLUTION: f64 = 6.0;
/// Periods that are fitted and scored in full after the scan.
const CANDIDATES: usize = 12;

/// The free period from `shortest_ms` on whose step pattern, without its best step, fits best.
/// `mode_ms` is the mode of the service times.
pub fn best_rival(
    services_ms: &[f64],
    mode_ms: f64,
    floor_ms: f64,
    shortest_ms: f64,
) -> Option<Rival> {
    candidates(services_ms, mode_ms, shortest_ms.max(6.0 * floor_ms))
        .into_iter()
        .map(|period_ms| {
            let (base_ms, period_ms) = step_fit::fit(services_ms, mode_ms, period_ms);
            let score = score(services_ms, base_ms, period_ms, floor_ms);
            Rival { period_ms, base_ms, score }
        })
        .max_by(|a, b| a.score.without_best.total_cmp(&b.score.without_best))
}

/// The periods at which the distances from the mode gather best around one phase.
fn candidates(services_ms: &[f64], mode_ms: f64, shortest: f64) -> Vec<f64> {
    let steps: Vec<f64> = services_ms
        .iter()
        .map(|service| (service - mode_ms).abs())
        .filter(|step| *step > shortest / 2.0 && *step < REACH_MS)
        .collect();
    let farthest = steps.iter().copied().fold(0.0, f64::max);
    if steps.len() < 3 {
        return Vec::new();
    }
    let mut scanned: Vec<(f64, f64)> = Vec::new();
    let mut period = shortest;
    while period <= LONGEST_MS {
        let cosines: f64 =
            steps.iter().map(|step| (std::f64::consts::TAU * step / period).cos()).sum();
        scanned.push((period, cosines));
        period += period * period / (SCAN_PER_REVOLUTION * farthest.max(period));
    }
    let mut peaks: Vec<(f64, f64)> = scanned
        .windows(3)
        .filter(|near| near[1].1 >= near[0].1 && near[1].1 >= near[2].1)
        .map(|near| near[1])
        .collect();
    peaks.sort_by(|a, b| b.1.total_cmp(&a.1));
    peaks.into_iter().take(CANDIDATES).map(|(period, _)| period).collect()
}
