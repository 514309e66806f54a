//! Measures: each computes a number about a device, and accuses nothing.
//!
//! Pure functions over plain slices and small structs. Times are in nanoseconds unless a name says
//! `ms`. A measure that the input does not support is `None`.
//!
//! **Must never know:** a detector, a recording, a verdict's name.

pub mod alignment;
pub mod bucket;
pub mod cap;
pub mod correlation;
pub mod decline;
pub mod durability;
pub mod elasticity;
pub mod exposure;
pub mod first_touch;
pub mod held_back;
pub mod idle_wake;
pub mod ladder;
pub mod limit;
#[cfg(test)]
pub mod listings;
pub mod lost_time;
pub mod missed_revolution;
pub mod modes;
pub mod peers;
pub mod pile;
pub mod places;
pub mod plateau;
pub mod quantisation;
pub mod ramp;
pub mod rank_test;
pub mod regimes;
pub mod replay;
pub mod sequential;
pub mod service;
pub mod spans;
pub mod spread;
pub mod stall;
pub mod step_fit;
pub mod steps;
pub mod tail;
pub mod transfer;
#[cfg(test)]
pub mod trials;
pub mod windows;

#[cfg(test)]
mod tests {
    use super::service::{ServiceSpan, sort};
    use super::*;
    use iowhy_model::Op;

    /// Numbers no clock and no disk gives, and some that they do.
    const ODD: [f64; 9] =
        [0.0, -1.0, 1.0, 8.33, 1e-300, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

    #[test]
    fn no_measure_panics_on_odd_numbers() {
        let mut random = iowhy_model::Random::seeded(91);
        for round in 0..200 {
            let values: Vec<f64> =
                (0..round % 40).map(|_| ODD[random.place(9)] * random.unit()).collect();
            let s0 = ODD[random.place(9)];
            let _ = missed_revolution::from_completions(&values, s0);
            let _ = (missed_revolution::missed_revolution(&values), cap::plateau(&values, &values));
            let _ = (ladder::known(&values, s0, s0), peers::Peer::from_latencies(&values));
            let _ = (lost_time::lost_ns(&values, s0), regimes::cut(&values));
            let _ = (spread::mad(&values), spread::half_sample_mode(&values), spread::cv(&values));
            let pairs: Vec<(u32, f64)> = values.iter().map(|v| (*v as u32, *v)).collect();
            let _ = transfer::fit(&pairs);
        }
    }

    #[test]
    fn no_measure_panics_on_odd_spans() {
        let mut random = iowhy_model::Random::seeded(92);
        for round in 0..200 {
            let mut spans: Vec<ServiceSpan> = (0..round % 40)
                .map(|_| ServiceSpan {
                    queued_ns: (random.unit() < 0.3).then(|| random.bits() as i64),
                    issued_ns: random.bits() as i64 >> random.place(64),
                    completed_ns: random.bits() as i64 >> random.place(64),
                    bytes: random.bits() as u32,
                    sector: Some(random.bits()),
                    op: Op::Write,
                })
                .collect();
            sort(&mut spans);
            let s0 = ODD[random.place(9)] * 1e6;
            let _ = (ramp::ramps(&spans, s0), stall::stalls(&spans, s0));
            let _ = (service::services(&spans, random.place(5)), service::busy_ns(&spans));
            let _ = (plateau::plateau(&spans), replay::vote(&spans, s0, random.unit()));
        }
    }
}
