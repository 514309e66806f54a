//! Time lost: latency beyond what a healthy device would have needed.

/// The sum of what each latency is above `s0_ns`, ns.
pub fn lost_ns(latencies_ns: &[f64], s0_ns: f64) -> f64 {
    latencies_ns.iter().map(|latency| (latency - s0_ns).max(0.0)).sum()
}
