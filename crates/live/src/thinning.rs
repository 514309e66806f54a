//! Sampling of a device's events above a rate: slow ones are reported, and one in N of the others;
//! all are counted in histograms.

use crate::slots::word;

/// Sampling of one device and operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThinRule {
    /// Every I/O with at least this latency (Q2C, ns) is reported, and every failed one.
    pub slow_ns: u64,
    /// One in this many of the others.
    pub one_in: u8,
}

impl ThinRule {
    /// `struct thinning` of `bpf/finish.h`.
    pub fn words(self) -> [u64; 2] {
        let one_in = u32::from(self.one_in.max(1));
        [self.slow_ns, word(u32::MAX / one_in, one_in)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::halves;

    #[test]
    fn a_share_and_its_weight_stand_for_all() {
        for one_in in [1, 2, 7, 100, u8::MAX] {
            let [slow, rest] = ThinRule { slow_ns: 5, one_in }.words();
            let (share, weight) = halves(rest);
            assert_eq!((slow, weight), (5, one_in.into()));
            let reported = f64::from(share) / 2f64.powi(32) * f64::from(weight);
            assert!((reported - 1.0).abs() < 1e-4, "{one_in}: {reported}");
        }
    }
}
