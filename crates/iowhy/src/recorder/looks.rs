//! When the last seconds are judged without an alarm.

use iowhy_model::{FELT_PER_S, Stage};

use super::clock::SECOND_NS;
use super::intake::Second;

/// Number of seconds that are judged, and only if anything waited: a hundredth of the time
/// ([`FELT_PER_S`]).
pub(crate) const LOOK_NS: i64 = 20 * SECOND_NS;
/// Minimum time to the next verdict, and the maximum share of a core for verdicts (one part in this
/// many): few I/Os are judged often, many as `--judge` says (choices).
const LOOK_AGAIN_NS: i64 = 10 * SECOND_NS;
const LOOKS_OF_A_CORE: i64 = 500;
/// Without a learned bound, all seconds are judged at any cost while processes wait at least this
/// long for I/O, s per second (a choice).
const UNLEARNED_PER_S: f64 = 0.05;

/// When the next verdict is due.
pub(crate) struct Looks {
    /// The longest pause between two, ns.
    every_ns: i64,
    /// When something was judged last, CLOCK_MONOTONIC in ns.
    judged_ns: i64,
    /// CPU time of the last verdict, ns.
    cpu_ns: i64,
    /// Time that I/Os waited since the last verdict, s.
    waited_s: f64,
}

impl Looks {
    /// A schedule with this maximum interval.
    pub(crate) fn new(every_ns: i64, now_ns: i64) -> Looks {
        let every_ns = every_ns.max(SECOND_NS);
        Looks { every_ns, judged_ns: now_ns, cpu_ns: 0, waited_s: 0.0 }
    }

    /// Until when a verdict of now is valid unless it is repeated, ns.
    pub(crate) fn stands_until(&self, now_ns: i64) -> i64 {
        now_ns + 2 * self.every_ns
    }

    /// Adds the time waited in a second.
    pub(crate) fn add(&mut self, second: &Second) {
        let total = second.histograms.iter().filter(|(_, one)| one.stage == Stage::Total);
        self.waited_s += total.filter_map(|(_, one)| one.histogram.sum_ns).sum::<f64>() / 1e9;
    }

    /// Something is judged now anyway.
    pub(crate) fn postpone(&mut self, now_ns: i64) {
        self.judged_ns = now_ns;
    }

    /// Sets the cost of the last verdict.
    pub(crate) fn took(&mut self, cpu_ns: u64) {
        self.cpu_ns = cpu_ns as i64;
    }

    /// Whether a verdict is due and anything waited. `unlearned_s` is the time waited for kinds of
    /// I/O without a learned bound; it restarts with each verdict that is due.
    pub(crate) fn is_due(&mut self, now_ns: i64, unlearned_s: &mut f64) -> bool {
        let passed_ns = now_ns - self.judged_ns;
        // Without a learned bound only the judge can decide: every interval is judged.
        let seconds = passed_ns as f64 / 1e9;
        let is_unlearned = *unlearned_s > UNLEARNED_PER_S * seconds;
        let affordable_ns = LOOK_AGAIN_NS.max(self.cpu_ns.saturating_mul(LOOKS_OF_A_CORE));
        let pause_ns = if is_unlearned { affordable_ns.min(LOOK_NS) } else { affordable_ns };
        if passed_ns < self.every_ns.min(pause_ns) {
            return false;
        }
        *unlearned_s = 0.0;
        self.judged_ns = now_ns;
        std::mem::take(&mut self.waited_s) / seconds >= FELT_PER_S
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{DeviceId, Distribution, Edges, Histogram, Layer};

    use super::*;

    #[test]
    fn a_look_is_due_once_somebody_waited_and_a_core_has_time_for_it() {
        let mut histogram = Histogram::empty(Edges::standard());
        histogram.record(900_000_000);
        let one = Distribution::new(DeviceId::at(0), Layer::Block, Stage::Total, histogram);
        let second = Second { histograms: vec![("sda".to_string(), one)], ..Second::default() };
        let mut looks = Looks::new(60 * SECOND_NS, 0);
        let due = |looks: &mut Looks, at_s: i64, mut unlearned_s: f64| {
            looks.add(&second);
            looks.is_due(at_s * SECOND_NS, &mut unlearned_s)
        };
        assert!(!due(&mut looks, 9, 0.0) && due(&mut looks, 10, 0.0));
        // 0.1 s of CPU: one part in 500 of a core is 50 s.
        looks.took(100_000_000);
        assert!(!due(&mut looks, 59, 0.0) && due(&mut looks, 60, 0.0));
        assert!(!due(&mut looks, 79, 9.0) && due(&mut looks, 80, 9.0));
        // Nothing extends it beyond the requested interval.
        looks.took(9_000_000_000);
        assert!(!due(&mut looks, 139, 0.0) && due(&mut looks, 140, 0.0));
        looks.postpone(150 * SECOND_NS);
        assert!(!due(&mut looks, 209, 0.0));
        // Nobody waited.
        let mut looks = Looks::new(60 * SECOND_NS, 0);
        assert!(!looks.is_due(100 * SECOND_NS, &mut 0.0));
    }
}
