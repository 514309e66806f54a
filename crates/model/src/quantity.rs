//! Numbers shown to a user, with their units.

use std::fmt;

use crate::numbers;

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
    /// A sector number, printed with all digits because users paste it into other commands.
    Sector,
    /// Revolutions per minute.
    Rpm,
    /// Revolutions of a platter.
    Revolutions,
    /// Requests, as in a queue length.
    Requests,
    /// Standard deviations.
    Sigma,
    /// Natural logarithm of a likelihood ratio.
    Nats,
}

impl Unit {
    /// The unit in JSON and after a number; empty for a plain count or ratio.
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
            Unit::Sector => "sector",
            Unit::Rpm => "rpm",
            Unit::Revolutions => "revolutions",
            Unit::Requests => "requests",
            Unit::Sigma => "sigma",
            Unit::Nats => "nats",
        }
    }
}

/// A number in its unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quantity {
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

impl Quantity {
    /// As printed: `434 ms`, `128 KiB`, `97 %`; `-` if it is not a number.
    pub fn words(self) -> String {
        let Quantity { value, unit } = self;
        if !value.is_finite() {
            return numbers::NONE.to_string();
        }
        let plain = numbers::three(value);
        match unit {
            Unit::Ms => numbers::duration(value * 1e6),
            Unit::Seconds => numbers::duration(value * 1e9),
            Unit::Bytes => numbers::bytes(value),
            Unit::BytesPerSecond => format!("{}/s", numbers::bytes(value)),
            Unit::PerSecond => numbers::iops(value),
            Unit::Share => numbers::share(value),
            Unit::Ratio => format!("{plain}x"),
            Unit::Count if (0.0..1e15).contains(&value) && value.fract() == 0.0 => {
                numbers::count(value as u64)
            }
            Unit::Count => plain,
            Unit::Sector => format!("{value:.0}"),
            Unit::Sigma => format!("{plain} sigma"),
            Unit::Rpm if value.abs() < 1e6 => format!("{} rpm", numbers::exact(value.round())),
            Unit::Rpm => format!("{plain} rpm"),
            Unit::Revolutions => format!("{plain} rev"),
            Unit::Requests => {
                format!("{plain} {}", if plain == "1" { "request" } else { "requests" })
            }
            Unit::Nats => format!("{plain} nats"),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.words())
    }
}

/// The threshold a value was compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// The value had to be above this.
    Above(f64),
    /// The value had to be below this.
    Below(f64),
    /// The value had to be between these.
    Between(f64, f64),
}

impl Bound {
    /// Whether the value satisfies the bound.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Bound::Above(bound) => value > bound,
            Bound::Below(bound) => value < bound,
            Bound::Between(low, high) => (low..=high).contains(&value),
        }
    }
}

/// Without a unit: `> 3.100`, `< 4.000`, `1.000 to 2.000`.
impl fmt::Display for Bound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Above(limit) => write!(out, "> {limit:.3}"),
            Bound::Below(limit) => write!(out, "< {limit:.3}"),
            Bound::Between(low, high) => write!(out, "{low:.3} to {high:.3}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_written() {
        let reported = |value, unit| Quantity { value, unit }.to_string();
        assert_eq!(reported(434.0, Unit::Ms), "434 ms");
        assert_eq!(reported(131_072.0, Unit::BytesPerSecond), "128 KiB/s");
        assert_eq!(reported(7203.4, Unit::Rpm), "7203 rpm");
        assert_eq!(reported(3e-11, Unit::Ratio), "3.00e-11x");
        assert_eq!(reported(1.0, Unit::Revolutions), "1 rev");
        assert_eq!(reported(8_654_860.0, Unit::Sector), "8654860");
        assert_eq!(reported(1.0, Unit::Requests), "1 request");
        assert_eq!(reported(f64::NAN, Unit::Share), "-");
        assert_eq!(reported(0.083, Unit::Ms), "83 µs");
        assert_eq!(reported(10_903.4, Unit::PerSecond), "10,903 IOPS");
    }
}
