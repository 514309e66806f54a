//! A flash disk that gets hot under load and slows itself down in steps.

use super::Outcome;
use crate::disk::Request;

/// A disk's temperature, and what it does about it.
#[derive(Clone, Debug)]
pub struct Heat {
    /// Of the air around it, degrees Celsius.
    pub ambient: f64,
    /// Degrees that a MiB adds.
    pub per_mib: f64,
    /// Time in which it loses two thirds of what it is above the air, ns.
    pub cools: f64,
    /// Its warning temperature (WCTEMP of the NVMe specification).
    pub warning: f64,
    /// How much slower it is once it throttles, at the first step; the second is twice that.
    pub factor: f64,
    /// Now.
    pub celsius: f64,
    /// When that was, ns.
    pub at: u64,
    /// The step: 0, 1 or 2.
    pub step: u8,
    /// How often it went into the first and the second step.
    pub transitions: [u64; 2],
    /// When the gate lets the next one through, ns.
    pub free: u64,
    /// Temperature over time: ns, degrees, transitions so far.
    pub record: Vec<(u64, f64, [u64; 2])>,
}

/// A step is left only this much below where it was entered, degrees.
const HYSTERESIS: f64 = 4.0;
/// The second step begins so far above the first, degrees.
const SECOND: f64 = 4.0;
/// Between two points of the record, ns.
const RECORDED: u64 = 100_000_000;

impl Heat {
    /// A disk at rest.
    pub fn new(ambient: f64, per_mib: f64, cools: f64, warning: f64, factor: f64) -> Heat {
        Heat {
            ambient,
            per_mib,
            cools,
            warning,
            factor,
            celsius: ambient,
            at: 0,
            step: 0,
            transitions: [0; 2],
            free: 0,
            record: Vec::new(),
        }
    }

    pub(super) fn befall(&mut self, request: &Request, fate: &mut Outcome) {
        let now = request.arrival.max(self.at);
        let passed = (now - self.at) as f64;
        self.celsius = self.ambient + (self.celsius - self.ambient) * (-passed / self.cools).exp();
        self.celsius += self.per_mib * f64::from(request.bytes) / f64::from(1 << 20);
        self.at = now;
        let step = self.step_now();
        if step > self.step {
            self.transitions[usize::from(step - 1)] += 1;
        }
        self.step = step;
        if self.record.last().is_none_or(|(at, ..)| now > at + RECORDED) {
            self.record.push((now, self.celsius, self.transitions));
        }
        if step > 0 {
            let factor = self.factor * f64::from(step);
            let own = (fate.due - request.arrival) as f64;
            // Its operations take longer, one at a time.
            self.free = self.free.max(request.arrival) + (own * (factor - 1.0)) as u64;
            fate.due = fate.due.max(self.free);
        }
    }

    fn step_now(&self) -> u8 {
        let above = |bound: f64, entered: bool| {
            self.celsius >= bound - if entered { HYSTERESIS } else { 0.0 }
        };
        if above(self.warning + SECOND, self.step > 1) {
            2
        } else {
            u8::from(above(self.warning - 1.0, self.step > 0))
        }
    }

    /// Temperature and transitions at a time.
    pub fn when(&self, time: u64) -> (f64, [u64; 2]) {
        let place = self.record.partition_point(|(at, ..)| *at <= time);
        let Some((at, celsius, transitions)) =
            place.checked_sub(1).and_then(|place| self.record.get(place))
        else {
            return (self.ambient, [0; 2]);
        };
        let passed = time.saturating_sub(at + RECORDED) as f64;
        (self.ambient + (celsius - self.ambient) * (-passed / self.cools).exp(), *transitions)
    }
}
