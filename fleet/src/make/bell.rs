//! The normal distribution's lower tail, from a table.

/// Steps of the table in a standard deviation: a straight line between two is off by less than a
/// millionth.
const STEPS: f64 = 512.0;
/// Where the table ends, on both sides.
const END: f64 = 5.0;

/// How much of a normal distribution lies below.
pub struct Bell(Vec<f64>);

impl Bell {
    /// Computes the table.
    pub fn new() -> Bell {
        let at = |place: usize| place as f64 / STEPS - END;
        let below = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
        Bell((0..=(2.0 * END * STEPS) as usize + 1).map(|place| below(at(place))).collect())
    }

    /// Below this many standard deviations from the mean.
    pub fn below(&self, deviations: f64) -> f64 {
        let place = ((deviations + END) * STEPS).clamp(0.0, 2.0 * END * STEPS);
        let whole = place as usize;
        let (low, high) = (self.0[whole], self.0[whole + 1]);
        low + (place - whole as f64) * (high - low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_tables_say() {
        let bell = Bell::new();
        for (z, expected) in
            [(-9.0, 0.0), (-1.959964, 0.025), (0.0, 0.5), (1.0, 0.841345), (9.0, 1.0)]
        {
            assert!((bell.below(z) - expected).abs() < 1e-6, "{z}: {}", bell.below(z));
        }
    }
}
