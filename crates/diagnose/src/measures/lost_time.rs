//! Time lost: latency beyond what a healthy device would have needed.
//!
//! A synchronous program issues nothing while it waits, so quantiles hide a freeze from it
//! (coordinated omission, Tene). The sum of lost time does not.

/// The sum of what each latency is above `s0_ns`, ns.
pub fn lost_ns(latencies_ns: &[f64], s0_ns: f64) -> f64 {
    latencies_ns.iter().map(|latency| (latency - s0_ns).max(0.0)).sum()
}

/// The share of that sum that the slowest `count` latencies make up, 0 to 1.
pub fn slowest_share(latencies_ns: &[f64], s0_ns: f64, count: usize) -> Option<f64> {
    let all = lost_ns(latencies_ns, s0_ns);
    let sorted = super::spread::sorted(latencies_ns);
    let slowest = sorted.get(sorted.len().saturating_sub(count)..)?;
    (all > 0.0).then(|| lost_ns(slowest, s0_ns) / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_freeze_is_most_of_what_was_lost() {
        let mut latencies = vec![1.2; 99];
        latencies.push(101.0);
        assert!((lost_ns(&latencies, 1.0) - 119.8).abs() < 1e-9);
        assert!((slowest_share(&latencies, 1.0, 1).unwrap() - 100.0 / 119.8).abs() < 1e-9);
        assert_eq!(slowest_share(&[1.0], 2.0, 1), None);
    }
}
