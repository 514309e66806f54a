//! Queueing ramps: a batch issued at once and drained at a steady pace.

use super::service::Visit;

/// The ramps found in a list of visits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ramps {
    /// Busy periods that are ramps.
    pub count: usize,
    /// Requests in them.
    pub requests: usize,
    /// Median slope of latency on completion time, near 1 in a ramp.
    pub slope: f64,
    /// Median time between completions in them, ns.
    pub spacing_ns: f64,
    /// Median coefficient of variation of that time.
    pub spacing_cv: f64,
    /// Share of the time lost (latency above `s0`, all requests) that was lost in ramps.
    pub lost_share: f64,
}

/// Finds the ramps: within a busy period at least five issues in under a tenth of the drain time.
pub fn ramps(visits: &[Visit], s0_ns: f64) -> Option<Ramps> {
    let _ = (visits, s0_ns);
    None
}
