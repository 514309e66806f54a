//! Latencies that cluster at a time limit: the drive or the kernel gave up there.
//!
//! A drive that cannot read a sector retries for as long as its limit allows (SCT ERC, often 7 s),
//! the kernel aborts after its own timeout (30 s for SCSI and NVMe). Latencies then cluster within
//! a few per cent of the limit, with few in between.

/// A heap of latencies at a limit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pile {
    /// The limit, s.
    pub limit_s: f64,
    /// Latencies within 5 % of it, or as late as it may be noticed.
    pub members: usize,
    /// Latencies within a factor of two of it and not within 5 %.
    pub beside: usize,
    /// Their median over the limit.
    pub ratio: f64,
    /// Their sum, s.
    pub sum_s: f64,
}

/// How near to a limit a latency must be (docs/METHOD.md, 17 Faults: 5 %).
pub const TOLERANCE: f64 = 0.05;
/// A limit's neighbourhood: a factor of two to both sides.
const AROUND: f64 = 2.0;

/// The cluster at a limit within `late_s` of its end; `None` if it is empty, or has fewer than its
/// surroundings.
pub fn pile(latencies_s: &[f64], limit_s: f64, late_s: f64) -> Option<Pile> {
    let latest = limit_s * (1.0 + TOLERANCE) + late_s;
    let near = |latency: &&f64| (limit_s * (1.0 - TOLERANCE)..=latest).contains(*latency);
    let members: Vec<f64> = latencies_s.iter().filter(near).copied().collect();
    let around = |latency: &&f64| (limit_s / AROUND..=limit_s * AROUND).contains(*latency);
    let beside = latencies_s.iter().filter(around).count().saturating_sub(members.len());
    let ratio = super::spread::median(&members)? / limit_s;
    let sum_s = members.iter().sum();
    (members.len() > beside && ratio.is_finite()).then_some(Pile {
        limit_s,
        members: members.len(),
        beside,
        ratio,
        sum_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_at_the_limit_and_not_a_slope_through_it() {
        let mut latencies = vec![0.01; 500];
        latencies.extend([7.02, 6.98, 7.05, 12.0]);
        let found = pile(&latencies, 7.0, 0.0).unwrap();
        assert_eq!((found.members, found.beside), (3, 1));
        assert!((found.sum_s - 21.05).abs() < 1e-9 && (found.ratio - 7.02 / 7.0).abs() < 1e-9);
        // A tail of any length crosses every limit.
        let tail: Vec<f64> = (1..100).map(|k| f64::from(k) * 0.2).collect();
        assert_eq!(pile(&tail, 7.0, 0.0), None);
        assert_eq!(pile(&[], 7.0, 0.0), None);
        // A timeout of 3 s that a timer of whole seconds finds, and the second try after it.
        let found = pile(&[0.01, 3.4, 3.9, 4.05, 3.08], 3.0, 1.024).unwrap();
        assert_eq!((found.members, found.beside), (4, 0));
        assert_eq!(pile(&[0.01, 3.4, 3.9, 4.05], 3.0, 0.0), None);
    }
}
