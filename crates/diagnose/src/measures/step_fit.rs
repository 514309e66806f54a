//! Base and period of a ladder whose rough period is known, by a line through its steps.

use iowhy_model::Random;

/// How far the period may move from where it started, as a share: room for the error of a fit
/// through few events, and clear of the neighbours (5700 and 5900 rpm are 3.5 % apart).
const PERIOD_SLACK: f64 = 0.008;
/// Events farther than this from the line, as a share of the period, are between two steps and show
/// nothing about either.
const BETWEEN: f64 = 0.3;
/// Below this distance, as a share of the period, all events weigh alike: it keeps the
/// re-weighting of least absolute deviations finite.
const CLOSE: f64 = 0.005;
/// Rounds of re-weighting; the ninth moves the speed of document dusty_disk by under 0.1 rpm.
const ROUNDS: usize = 8;

/// Fits base and period to services, from a point on the ladder and a rough period. Each step has
/// the root of its count as weight, so that many events at the base do not determine the period,
/// and distances count by their size, not their square: a quarter of the reads of document
/// dusty_disk are 1 ms above their step, never below. The base keeps the step of `near_ms`.
pub fn fit(services_ms: &[f64], near_ms: f64, period_ms: f64) -> (f64, f64) {
    let (mut base, mut period) = (near_ms, period_ms);
    for _ in 0..ROUNDS {
        let Some((next_base, next_period)) = step(services_ms, base, period) else { break };
        base = next_base;
        let slack = PERIOD_SLACK * period_ms;
        period = next_period.clamp(period_ms - slack, period_ms + slack);
    }
    (base, period)
}

/// One weighted line through (step, service); the old period if only one step is filled.
fn step(services_ms: &[f64], base: f64, period: f64) -> Option<(f64, f64)> {
    let mut events: Vec<(f64, f64, f64)> = services_ms
        .iter()
        .filter_map(|service| {
            let step = ((service - base) / period).round();
            let off = ((service - base) / period - step).abs();
            (off < BETWEEN).then(|| (step, *service, 1.0 / off.max(CLOSE)))
        })
        .collect();
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut weights, mut steps, mut squares, mut services, mut products) =
        (0.0, 0.0, 0.0, 0.0, 0.0);
    for step in events.chunk_by(|a, b| a.0 == b.0) {
        let share = 1.0 / (step.len() as f64).sqrt();
        for (k, service, weight) in step {
            let weight = weight * share;
            weights += weight;
            steps += weight * k;
            squares += weight * k * k;
            services += weight * service;
            products += weight * k * service;
        }
    }
    if weights <= 0.0 {
        return None;
    }
    let (mean_step, mean_service) = (steps / weights, services / weights);
    let variance = squares / weights - mean_step * mean_step;
    let slope = if variance > 1e-9 {
        (products / weights - mean_step * mean_service) / variance
    } else {
        period
    };
    Some((mean_service - slope * mean_step, slope))
}

/// Resamples of the bootstrap: 2.5 % of 160 are four, enough for a 95 % interval.
const RESAMPLES: usize = 160;
/// Services per resample at most, for cost; the interval is narrowed by the root of what was left
/// out (m out of n bootstrap, Bickel 1997).
const RESAMPLE_SIZE: usize = 150;

/// The 95 % interval of the period and its standard error, by resampling the services. The seed
/// is fixed: the same list gives the same interval.
pub fn interval(services_ms: &[f64], base_ms: f64, period_ms: f64) -> (f64, f64, f64) {
    let mut random = Random::seeded(0x1adde2);
    let size = services_ms.len().min(RESAMPLE_SIZE);
    let mut periods: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn: Vec<f64> = (0..size)
                .filter_map(|_| services_ms.get(random.place(services_ms.len())).copied())
                .collect();
            fit(&drawn, base_ms, period_ms).1
        })
        .collect();
    periods.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let rank = (share * periods.len() as f64) as usize;
        periods.get(rank.min(periods.len().saturating_sub(1))).copied().unwrap_or(period_ms)
    };
    let shrink = (size as f64 / services_ms.len().max(1) as f64).sqrt();
    let narrowed = |end: f64| period_ms + shrink * (end - period_ms);
    let (low, high) = (narrowed(at(0.025)), narrowed(at(0.975)));
    // Half the 95 % interval is 1.96 standard errors of a normal estimate.
    (low, high, (high - low) / (2.0 * 1.96))
}
