//! Time lost: latency beyond what a healthy device would have needed.
//!
//! A synchronous program issues nothing while it waits, so quantiles hide a freeze from it
//! (coordinated omission, Tene). The sum of lost time does not.

/// The sum of the excess of each latency over `s0_ns`, ns.
pub fn lost_ns(latencies_ns: &[f64], s0_ns: f64) -> f64 {
    latencies_ns.iter().map(|latency| (latency - s0_ns).max(0.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_freeze_is_most_of_what_was_lost() {
        let mut latencies = vec![1.2; 99];
        latencies.push(101.0);
        assert!((lost_ns(&latencies, 1.0) - 119.8).abs() < 1e-9);
    }
}
