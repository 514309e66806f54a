//! A disk that does nothing now and then: its own time stops.

/// Freezes that come at even intervals: of every `every` nanoseconds the last `length` are lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Freeze {
    /// When the first interval begins, ns.
    pub start: u64,
    /// From the end of one freeze to the end of the next, ns.
    pub every: u64,
    /// How long one lasts, ns; less than `every`.
    pub length: u64,
}

impl Freeze {
    /// The disk's own time at a time of the scenario: it stops during a freeze.
    pub fn inside(&self, scenario: u64) -> u64 {
        let awake = self.awake();
        let Some(since) = scenario.checked_sub(self.start) else { return scenario };
        self.start + since / self.every * awake + (since % self.every).min(awake)
    }

    /// The time of the scenario when the disk's own clock shows `own`; what is due during a freeze
    /// comes when it ends.
    pub fn outside(&self, own: u64) -> u64 {
        let awake = self.awake();
        let Some(since) = own.checked_sub(self.start) else { return own };
        self.start + since / awake * self.every + since % awake
    }

    fn awake(&self) -> u64 {
        self.every.saturating_sub(self.length).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_in_a_freeze_or_is_due_in_it_ends_after_it() {
        let freeze = Freeze { start: 1000, every: 100, length: 30 };
        assert_eq!(freeze.outside(freeze.inside(1069)), 1069);
        // Arrives at 1080, in the freeze from 1070 to 1100.
        assert_eq!(freeze.outside(freeze.inside(1080)), 1100);
        // Arrives awake, needs 5 more than the 3 that are left before the freeze.
        assert_eq!(freeze.outside(freeze.inside(1067) + 8), 1105);
        assert_eq!(freeze.outside(freeze.inside(500)), 500);
    }
}
