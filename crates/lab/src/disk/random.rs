//! A seeded row of numbers, the same on every machine.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): one word of state, passes BigCrush.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A row that begins at a seed.
    pub fn new(seed: u64) -> Random {
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

    /// The next number from 0 up to, not including, 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with that probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_is_the_published_one_and_even() {
        // First output for seed 1234567, from the reference implementation.
        assert_eq!(Random::new(1_234_567).bits(), 6_457_827_717_110_365_317);
        let mut random = Random::new(7);
        let hits = (0..100_000).filter(|_| random.chance(0.35)).count();
        assert!((34_500..35_500).contains(&hits), "{hits}");
    }
}
