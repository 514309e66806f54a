//! Sequential synchronous writes that each wait a whole turn of the platter.

/// Services that are all whole turns.
#[derive(Clone, PartialEq, Debug)]
pub struct MissedTurn {
    /// Requests.
    pub n: u64,
    /// The turn, ms.
    pub turn_ms: f64,
    /// The speed that turn means.
    pub rpm: f64,
    /// The standard speed nearest to it.
    pub standard_rpm: f64,
    /// How far the turn is from the standard one, as a share of it.
    pub deviation: f64,
    /// Share of requests within 0.03 turns of a whole number of turns (a lower bound if read off
    /// a histogram).
    pub on_turn_share: f64,
    /// Mean turns per request.
    pub mean_turns: f64,
    /// True if the three clauses of the rule hold: no request below one turn, at least 85 % on a
    /// turn, and the turn within 0.6 % of a standard one.
    pub holds: bool,
}

/// Measures from single services.
pub fn missed_turn(services_ms: &[f64]) -> Option<MissedTurn> {
    let _ = services_ms;
    None
}

/// Measures from a histogram, buckets as (low, high, count) in ms, whose mean and minimum are
/// known exactly.
pub fn from_histogram(
    buckets_ms: &[(f64, f64, u64)],
    mean_ms: f64,
    min_ms: f64,
) -> Option<MissedTurn> {
    let _ = (buckets_ms, mean_ms, min_ms);
    None
}
