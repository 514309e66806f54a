//! Whole extra turns of a platter in a list of service times: base, period, rungs.

/// A ladder of service times: base plus whole turns.
#[derive(Clone, PartialEq, Debug)]
pub struct Ladder {
    /// Spindle speed the turn amounts to, revolutions per minute.
    pub rpm: f64,
    /// The fitted turn, ms.
    pub turn_ms: f64,
    /// Service time without any lost turn, ms.
    pub base_ms: f64,
    /// Log-likelihood ratio of the comb over no comb, nats, events outside the fullest rung.
    pub llr: f64,
    /// The same without its best rung: what is left if one rung was luck.
    pub without_best: f64,
    /// The best `without_best` any free period reaches: a rival no platter stands behind.
    pub rival: f64,
    /// V-test over all slow events, in standard deviations.
    pub u: f64,
    /// V-test without the fullest rung.
    pub u_prime: f64,
    /// Share of the slow events that stand on no rung (epsilon).
    pub off_rung: f64,
    /// Share of the events outside the fullest rung that stand on a rung (1 - epsilon).
    pub outside: f64,
    /// Slow events: more than half a turn above the base.
    pub slow: usize,
    /// Probability that this is a ladder, 0 to 1.
    pub confidence: f64,
    /// Whole turns lost by each service, in the order given.
    pub turns: Vec<u32>,
    /// Median turns lost, slow events only.
    pub median_turns: f64,
    /// Mean turns lost, slow events only.
    pub mean_turns: f64,
    /// Fewest turns lost by a slow event.
    pub min_turns: u32,
    /// Most turns lost by an event.
    pub max_turns: u32,
    /// Share of all events that lost at least one turn.
    pub retried_share: f64,
    /// Share of the time above the base that whole turns explain.
    pub explained_share: f64,
    /// Chance that slow events without a ladder stand as close to the rungs.
    pub chance: f64,
    /// Lower end of the 95 % bootstrap interval of the speed.
    pub rpm_low: f64,
    /// Upper end of the 95 % bootstrap interval of the speed.
    pub rpm_high: f64,
}

impl Ladder {
    /// Whether a ladder of known speed is proven: u > 3.1 and u' > 1.3.
    pub fn fires(&self) -> bool {
        self.u > 3.1 && self.u_prime > 1.3
    }
}

/// Looks for a ladder at any of the standard spindle speeds. `None` if fewer than three services
/// are slow, or `resolution_ms` is coarser than a sixth of a turn.
pub fn fit(services_ms: &[f64], resolution_ms: f64) -> Option<Ladder> {
    let _ = (services_ms, resolution_ms);
    None
}

/// Looks for a ladder at one known spindle speed.
pub fn known(services_ms: &[f64], rpm: f64, resolution_ms: f64) -> Option<Ladder> {
    let _ = (services_ms, rpm, resolution_ms);
    None
}

/// Equal steps of any period.
#[derive(Clone, PartialEq, Debug)]
pub struct Comb {
    /// The period, ms.
    pub period_ms: f64,
    /// Service time without any step, ms.
    pub base_ms: f64,
    /// Log-likelihood ratio without the best rung, nats; above 8 it is a comb.
    pub without_best: f64,
    /// Slow events.
    pub slow: usize,
    /// The standard speed the period is within 1 % of, if any.
    pub near_rpm: Option<f64>,
}

/// The best free period between 0.8 and 22 ms: timers, pacing firmware, or a platter.
pub fn comb(services_ms: &[f64], resolution_ms: f64) -> Option<Comb> {
    let _ = (services_ms, resolution_ms);
    None
}
