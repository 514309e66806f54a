//! How events of a device are sampled while it does more than is worth telling one by one: what is
//! slow is reported, and one of so many others; all of them are counted in histograms.

use crate::slots::word;

/// Of one device and operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThinRule {
    /// Every I/O that takes as long, Q2C, is reported, ns; and every one that fails.
    pub slow_ns: u64,
    /// Of the others, one of so many.
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
