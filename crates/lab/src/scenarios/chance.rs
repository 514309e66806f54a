//! Random numbers with the distributions that a scenario needs.

use iowhy_model::Random;

/// A seeded row of numbers, drawn from by name.
#[derive(Clone, Debug)]
pub struct Chance(Random);

impl Chance {
    /// A row that begins at a seed.
    pub fn new(seed: u64) -> Chance {
        Chance(Random::seeded(seed))
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// True with that probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.0.chance(probability)
    }

    /// Evenly between two numbers.
    pub fn even(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.unit()
    }

    /// Between two numbers, evenly on a logarithmic scale.
    pub fn scale(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.0.unit())
    }

    /// A whole number from `low` to `high`, both possible.
    pub fn whole(&mut self, low: usize, high: usize) -> usize {
        low + (self.0.bits() % (high - low + 1) as u64) as usize
    }

    /// One of several; the first if there is none (for an empty list a default).
    pub fn pick<T: Copy + Default>(&mut self, from: &[T]) -> T {
        let place = self.0.bits() as usize % from.len().max(1);
        from.get(place).copied().unwrap_or_default()
    }

    /// Exponential of that mean.
    pub fn wait(&mut self, mean: f64) -> f64 {
        self.0.exponential() * mean
    }
}
