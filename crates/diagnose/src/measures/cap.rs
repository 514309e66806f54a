//! A throughput that is pinned: the plateau, and the tier it may be.

/// The plateau of a series of rates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plateau {
    /// Its height, in the unit of the rates (mean of its samples).
    pub level: f64,
    /// Samples on it.
    pub samples: usize,
    /// Samples in all.
    pub of: usize,
    /// Coefficient of variation of the samples on it.
    pub cv: f64,
    /// Largest sample over the median of the plateau.
    pub max_over_median: f64,
    /// Largest over smallest number in flight on the plateau, if known.
    pub in_flight_spread: Option<f64>,
    /// Whether it is pinned: at least 5 samples and 15 %, CV < 1.2 %, max / median < 1.02, and
    /// in-flight spread > 1.3 where it is known.
    pub pinned: bool,
}

/// The plateau of one-second rates; `in_flight` may be empty, else one value per rate.
pub fn plateau(rates: &[f64], in_flight: &[f64]) -> Option<Plateau> {
    let _ = (rates, in_flight);
    None
}

/// What a tier limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Requests per second.
    Iops,
    /// Bytes per second.
    BytesPerSecond,
}

/// A limit that a provider sells.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tier {
    /// What it limits.
    pub limit: Limit,
    /// The limit.
    pub value: f64,
    /// Where it is known from, one clause.
    pub known_from: &'static str,
}

/// The known tier nearest to a rate, with the deviation from it (share of the tier, signed).
/// `None` if none is within 1.5 %.
pub fn nearest_tier(limit: Limit, rate: f64) -> Option<(Tier, f64)> {
    let _ = (limit, rate);
    None
}
