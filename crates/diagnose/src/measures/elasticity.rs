//! How throughput responds to more requests in flight, and whether averages obey Little's law.
//!
//! Elasticity is the question about saturation: does more work in parallel bring more
//! throughput? Little's law (Little, 1961) holds for any queue, so averages that break it come
//! from different windows or wrong units.

/// A load point: what was completed and how much was in flight meanwhile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// Completions per second.
    pub per_s: f64,
    /// Mean requests in flight or queued.
    pub in_flight: f64,
}

/// Load points must differ at least by this factor in requests in flight: below a tenth, noise
/// of a few percent in throughput would decide the slope.
const MIN_RATIO: f64 = 1.1;

/// Relative change of throughput per relative change of requests in flight (d ln X / d ln N), by
/// least squares. Above 0.7 unsaturated, below 0.2 saturated, below 0 retrograde (Gunther's USL).
/// `None` unless the load points' numbers in flight differ by at least a tenth.
pub fn elasticity(loads: &[Load]) -> Option<f64> {
    let points: Vec<(f64, f64)> = loads
        .iter()
        .filter(|load| load.per_s > 0.0 && load.in_flight > 0.0)
        .map(|load| (load.in_flight.ln(), load.per_s.ln()))
        .collect();
    let most = points.iter().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
    let least = points.iter().map(|point| point.0).fold(f64::INFINITY, f64::min);
    if points.len() < 2 || most - least < MIN_RATIO.ln() {
        return None;
    }
    super::spread::slope(&points)
}

/// How far averages are from Little's law N = X R: (N - X R) / N, signed.
pub fn little_deviation(per_s: f64, latency_ns: f64, in_flight: f64) -> Option<f64> {
    (in_flight > 0.0).then(|| (in_flight - per_s * latency_ns / 1e9) / in_flight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cloud_volume_was_not_saturated_and_obeys_little() {
        let loads = [
            Load { per_s: 10_993.0, in_flight: 30.13 },
            Load { per_s: 16_001.6, in_flight: 50.15 },
        ];
        let measured = elasticity(&loads).unwrap();
        assert!((measured - 0.737).abs() < 0.001, "{measured}");
        let one = little_deviation(10_993.0, 2.74e6, 30.13).unwrap();
        let four = little_deviation(16_001.6, 3.13e6, 50.15).unwrap();
        assert!((one - 0.0003).abs() < 0.0001 && (four - 0.0013).abs() < 0.0001, "{one} {four}");
    }

    #[test]
    fn one_load_point_says_nothing() {
        let load = Load { per_s: 100.0, in_flight: 4.0 };
        assert_eq!(elasticity(&[load]), None);
        assert_eq!(elasticity(&[load, Load { per_s: 120.0, ..load }]), None);
        assert_eq!(little_deviation(1.0, 1.0, 0.0), None);
    }
}
