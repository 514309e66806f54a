//! The cost of size: a fixed part and a part per byte.

use super::spread;

/// Service time = `fixed_ns` + bytes / `bytes_per_s`, the shape of the kernel's iocost model
/// (Heo et al., ASPLOS 2022).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transfer {
    /// The fixed cost of a request, ns.
    pub fixed_ns: f64,
    /// Bandwidth once it moves.
    pub bytes_per_s: f64,
}

impl Transfer {
    /// The service time the model gives a request of `bytes`, ns.
    pub fn predicted_ns(&self, bytes: f64) -> f64 {
        self.fixed_ns + self.moving_ns(bytes)
    }

    /// The part of it spent moving bytes, ns.
    pub fn moving_ns(&self, bytes: f64) -> f64 {
        if self.bytes_per_s > 0.0 { bytes / self.bytes_per_s * 1e9 } else { 0.0 }
    }
}

/// Two sizes must differ by this factor to show bandwidth.
const MIN_SIZE_RATIO: f64 = 2.0;
/// Requests of a size needed for its median to count.
const MIN_REQUESTS: usize = 3;

/// Fits the model to (bytes, ns) pairs: the median of the slopes between the medians of the size
/// classes (Theil, 1950; Sen, 1968). `None` unless two sizes are a factor of two apart and the
/// slope is positive.
pub fn fit(requests: &[(u32, f64)]) -> Option<Transfer> {
    let mut sorted: Vec<(u32, f64)> = requests.to_vec();
    sorted.sort_by_key(|request| request.0);
    let classes: Vec<(f64, f64)> = sorted
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|class| class.len() >= MIN_REQUESTS)
        .filter_map(|class| {
            let times: Vec<f64> = class.iter().map(|request| request.1).collect();
            Some((f64::from(class.first()?.0), spread::median(&times)?))
        })
        .take(MOST_SIZES)
        .collect();
    let mut slopes = Vec::new();
    for (i, small) in classes.iter().enumerate() {
        let larger = classes.iter().skip(i + 1).filter(|large| large.0 >= MIN_SIZE_RATIO * small.0);
        slopes.extend(larger.map(|large| (large.1 - small.1) / (large.0 - small.0)));
    }
    let ns_per_byte = spread::median(&slopes).filter(|slope| *slope > 0.0)?;
    let fixed: Vec<f64> = classes.iter().map(|class| class.1 - class.0 * ns_per_byte).collect();
    Some(Transfer { fixed_ns: spread::median(&fixed)?.max(0.0), bytes_per_s: 1e9 / ns_per_byte })
}

/// Size classes looked at, for cost: slopes grow with their square.
const MOST_SIZES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_of_150_mb_per_s_is_recovered() {
        let truth = Transfer { fixed_ns: 200_000.0, bytes_per_s: 150e6 };
        let mut requests = Vec::new();
        for size in [4096u32, 65_536, 131_072, 1_048_576] {
            for jitter in [0.97, 1.0, 1.02, 9.0, 1.0] {
                requests.push((size, truth.predicted_ns(f64::from(size)) * jitter));
            }
        }
        let fitted = fit(&requests).unwrap();
        assert!((fitted.bytes_per_s / 150e6 - 1.0).abs() < 0.001, "{fitted:?}");
        assert!((fitted.fixed_ns / 200_000.0 - 1.0).abs() < 0.01, "{fitted:?}");
        assert_eq!(fit(&requests[..5]), None);
    }
}
