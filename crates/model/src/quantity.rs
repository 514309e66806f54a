//! Units of the numbers shown to a user.

/// The unit of a value. A number without one is never shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Events per second.
    PerSecond,
    /// A share of one, shown as a percentage.
    Share,
    /// One quantity divided by another of the same unit.
    Ratio,
    /// A plain number of things.
    Count,
    /// Revolutions per minute.
    Rpm,
    /// Turns of a platter.
    Turns,
    /// Requests, as in a queue length.
    Requests,
    /// Standard deviations.
    Sigma,
    /// Natural logarithm of a likelihood ratio.
    Nats,
}

impl Unit {
    /// The unit as it stands in JSON and behind a number; empty for a plain count or ratio.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Ms => "ms",
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::BytesPerSecond => "B/s",
            Unit::PerSecond => "1/s",
            Unit::Share => "share",
            Unit::Ratio => "x",
            Unit::Count => "count",
            Unit::Rpm => "rpm",
            Unit::Turns => "turns",
            Unit::Requests => "requests",
            Unit::Sigma => "sigma",
            Unit::Nats => "nats",
        }
    }
}
