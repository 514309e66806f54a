//! Chance from a seed, the same on every machine.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn seeded(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to, but not including, `below`; 0 if `below` is.
    pub fn below(&mut self, below: u64) -> u64 {
        // The high half of a 128-bit product: a bias below 2^-32 for any span of a disk.
        ((u128::from(self.bits()) * u128::from(below)) >> 64) as u64
    }

    /// A number in (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A waiting time of mean 1 between independent arrivals.
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// Fills a buffer with bytes that do not compress.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let bits = self.bits().to_le_bytes();
            chunk.iter_mut().zip(bits).for_each(|(byte, bit)| *byte = bit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_have_mean_and_spread_one() {
        let mut random = Random::seeded(1);
        let times: Vec<f64> = (0..100_000).map(|_| random.exponential()).collect();
        let mean = times.iter().sum::<f64>() / 1e5;
        let spread = times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02 && (spread - 1.0).abs() < 0.04, "{mean} {spread}");
        assert!((0..1000).all(|_| random.below(7) < 7) && random.below(0) == 0);
    }
}
