//! Equal steps that no platter causes: a free period of which the slow service times are multiples.
//!
//! Timers tick at 1, 4 or 10 ms, firmware paces in multiples of 250 us (Fail-Slow at Scale, FAST
//! 2018). The step pattern is that of [`quantisation`](super::quantisation), its period free up to
//! 22 ms; the share of lost time on its steps is what it explains.

use super::{ladder, quantisation};

/// Service times on a step pattern of a free period.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Steps {
    /// The step, ms.
    pub period_ms: f64,
    /// Service time without a step, ms.
    pub base_ms: f64,
    /// Log-likelihood ratio without the best step, nats.
    pub without_best: f64,
    /// Services more than half a step above the base.
    pub slow: usize,
    /// The share of these on a step.
    pub on_step: f64,
    /// Different steps with service times, and the lowest of them.
    pub filled: (usize, i64),
    /// Share of the time above the base that whole steps explain.
    pub explained_share: f64,
    /// A speed at which one or a few revolutions make one or a few steps, if any.
    pub near_rpm: Option<f64>,
}

/// A service time this near to a step, in steps, is on it: with steps of any width below 0.15 of
/// a step the step pattern was scored.
const ON_STEP: f64 = 0.15;
/// Whole multiples of a revolution that a step pattern can be mistaken for, and the tolerance of a
/// standard speed (1 %: docs/METHOD.md, 4 Ladder).
const MULTIPLES: [f64; 3] = [1.0, 2.0, 3.0];
const SAME_SPEED: f64 = 0.01;
/// How many steps must be multiples for a longer step; tried up to the longest period.
const NEARLY_ALL: f64 = 0.95;
/// Delays of a host are not uniform: this many times the number expected from a uniform
/// distribution.
const LUCKY: f64 = 1.5;
/// A period below this many steps of the clock is the clock's own.
const CLOCK_STEPS: f64 = 6.0;

/// The best step pattern of a list of services, its period free from `shortest_ms` on; `None` if
/// there is none or the clock is too coarse.
pub fn steps(services_ms: &[f64], resolution_ms: f64, shortest_ms: f64) -> Option<Steps> {
    let found = ladder::free_period(services_ms, resolution_ms, shortest_ms)?;
    if found.period_ms < CLOCK_STEPS * resolution_ms {
        return None;
    }
    let above = |service: &f64| (service - found.base_ms) / found.period_ms;
    // A step pattern of half the step fits as well: then no service time is on its odd steps.
    let whole =
        common_factor(services_ms.iter().map(above), quantisation::LONGEST_MS / found.period_ms);
    let period_ms = found.period_ms * whole;
    let above = |service: &f64| (service - found.base_ms) / period_ms;
    let slow: Vec<f64> = services_ms.iter().map(above).filter(|steps| *steps > 0.5).collect();
    let on = |steps: &&f64| (*steps - steps.round()).abs() < ON_STEP;
    let standing: Vec<f64> = slow.iter().filter(on).copied().collect();
    let mut filled: Vec<i64> = standing.iter().map(|steps| steps.round() as i64).collect();
    filled.sort_unstable();
    filled.dedup();
    let excess: f64 = services_ms.iter().map(above).map(|steps| steps.max(0.0)).sum();
    let stepped: f64 = standing.iter().map(|steps| steps.round()).sum();
    let score = quantisation::score(services_ms, found.base_ms, period_ms, resolution_ms);
    Some(Steps {
        period_ms,
        base_ms: found.base_ms,
        without_best: score.without_best,
        slow: slow.len(),
        on_step: standing.len() as f64 / slow.len().max(1) as f64,
        filled: (filled.len(), filled.first().copied().unwrap_or(0)),
        explained_share: if excess > 0.0 { (stepped / excess).min(1.0) } else { 0.0 },
        near_rpm: near_rpm(period_ms),
    })
}

/// Steps longer than the step pattern's that fit all but a few of the services: the largest factor
/// of which nearly all used steps are multiples. Random service times, as on a busy host, are on
/// the other steps, too: as many as expected from those between steps do not count.
fn common_factor(steps: impl Iterator<Item = f64>, largest: f64) -> f64 {
    let slow: Vec<f64> = steps.filter(|steps| *steps > 0.5).collect();
    let on = |steps: &&f64| (*steps - steps.round()).abs() < ON_STEP;
    let filled: Vec<i64> = slow.iter().filter(on).map(|steps| steps.round() as i64).collect();
    let between = (slow.len() - filled.len()) as f64;
    let by_chance = LUCKY * between * 2.0 * ON_STEP / (1.0 - 2.0 * ON_STEP);
    let fits = |factor: &i64| {
        let odd = filled.iter().filter(|step| *step % factor != 0).count() as f64;
        odd < (1.0 - NEARLY_ALL) * filled.len() as f64 + by_chance * (1.0 - 1.0 / *factor as f64)
    };
    (2..=largest as i64).rev().find(fits).map_or(1.0, |factor| factor as f64)
}

/// A standard speed of whose revolution this period is a multiple or a whole part.
fn near_rpm(period_ms: f64) -> Option<f64> {
    let near = |rpm: &f64| {
        let revolutions = period_ms * rpm / 60_000.0;
        MULTIPLES.iter().any(|k| {
            (revolutions / k - 1.0).abs() < SAME_SPEED || (revolutions * k - 1.0).abs() < SAME_SPEED
        })
    };
    ladder::SPEEDS_RPM.into_iter().find(near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::Random;

    /// Flash reads of 0.2 ms, a third of which wait 1 to 5 ticks.
    fn ticking(tick_ms: f64) -> Vec<f64> {
        let mut random = Random::seeded(11);
        (0..200)
            .map(|k| {
                let ticks = if k % 3 == 0 { 1 + random.place(5) } else { 0 };
                0.2 + 0.02 * random.unit() + ticks as f64 * tick_ms
            })
            .collect()
    }

    #[test]
    fn a_tick_is_found_with_what_it_explains() {
        for tick_ms in [1.0, 2.75, 10.0] {
            let found = steps(&ticking(tick_ms), 0.01, quantisation::SHORTEST_MS).unwrap();
            assert!((found.period_ms / tick_ms - 1.0).abs() < 0.01, "{found:?}");
            assert!(found.without_best > 8.0 && found.explained_share > 0.95, "{found:?}");
        }
        // The revolution of 7200 rpm, half of it, and twice that.
        for revolution in [60.0 / 7.2, 60.0 / 14.4, 60.0 / 3.6] {
            assert!(near_rpm(revolution).is_some(), "{revolution}");
        }
        // Within 1 % of no speed's revolution, nor of its whole parts.
        assert_eq!((near_rpm(2.3), near_rpm(9.4)), (None, None));
    }

    #[test]
    fn any_length_of_delay_is_no_step_pattern() {
        let mut random = Random::seeded(12);
        let services: Vec<f64> =
            (0..200).map(|k| 0.2 + if k % 3 == 0 { 20.0 * random.unit() } else { 0.0 }).collect();
        for shortest in [quantisation::SHORTEST_MS, quantisation::SHORTEST_FLASH_MS] {
            let found = steps(&services, 0.01, shortest);
            assert!(found.is_none_or(|found| found.without_best < 8.0));
        }
        assert_eq!(steps(&[], 0.01, quantisation::SHORTEST_MS), None);
    }
}
