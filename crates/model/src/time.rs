//! Points and durations on a listing's own time axis, in nanoseconds.

use std::num::NonZeroI64;
use std::ops::{Add, Sub};

/// A point on the time axis of one listing, in nanoseconds from that listing's own zero.
///
/// Two listings do not share a zero unless their [`Source`](crate::Source) shows it. An
/// `Option<Time>` is as small as a `Time`: events are kept by the million.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Time(NonZeroI64);

/// A value that no clock shows, used as `None` of `Option<Time>`.
const NEVER: i64 = i64::MIN;

impl Time {
    /// A point `ns` nanoseconds after the listing's zero (before it, if negative).
    pub fn from_ns(ns: i64) -> Self {
        // `i64::MIN ^ i64::MIN` is the only zero, and it is moved one nanosecond up.
        match NonZeroI64::new(ns ^ NEVER) {
            Some(place) => Time(place),
            None => Self::from_ns(NEVER + 1),
        }
    }

    /// A point given in seconds, rounded to the nearest nanosecond.
    pub fn from_seconds(seconds: f64) -> Self {
        Self::from_ns((seconds * 1e9).round() as i64)
    }

    /// Nanoseconds from the listing's zero.
    pub fn ns(self) -> i64 {
        self.0.get() ^ NEVER
    }

    /// Seconds from the listing's zero.
    pub fn seconds(self) -> f64 {
        self.ns() as f64 / 1e9
    }
}

impl std::fmt::Debug for Time {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:.9}s", self.seconds())
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.ns().cmp(&other.ns())
    }
}

/// A length of time in nanoseconds; negative when the end came before the start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub i64);

impl Nanos {
    /// A duration of this many whole milliseconds.
    pub const fn whole_ms(ms: i64) -> Self {
        Nanos(ms.saturating_mul(1_000_000))
    }

    /// A length given in milliseconds, rounded to the nearest nanosecond.
    pub fn from_ms(ms: f64) -> Self {
        Nanos((ms * 1e6).round() as i64)
    }

    /// A length given in microseconds, rounded to the nearest nanosecond.
    pub fn from_us(us: f64) -> Self {
        Nanos((us * 1e3).round() as i64)
    }

    /// A length given in seconds, rounded to the nearest nanosecond.
    pub fn from_seconds(seconds: f64) -> Self {
        Nanos((seconds * 1e9).round() as i64)
    }

    /// A length given in whole hours.
    pub fn from_hours(hours: u64) -> Self {
        Nanos::from_seconds(hours as f64 * 3600.0)
    }

    /// The length in nanoseconds.
    pub fn ns(self) -> i64 {
        self.0
    }

    /// The length in milliseconds.
    pub fn ms(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The length in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl std::fmt::Debug for Nanos {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:.6}ms", self.ms())
    }
}

impl Sub for Time {
    type Output = Nanos;
    fn sub(self, earlier: Time) -> Nanos {
        Nanos(self.ns().saturating_sub(earlier.ns()))
    }
}

impl Add<Nanos> for Time {
    type Output = Time;
    fn add(self, length: Nanos) -> Time {
        Time::from_ns(self.ns().saturating_add(length.0))
    }
}

impl Sub<Nanos> for Time {
    type Output = Time;
    fn sub(self, length: Nanos) -> Time {
        Time::from_ns(self.ns().saturating_sub(length.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_time_costs_no_more_than_a_time() {
        assert_eq!(size_of::<Option<Time>>(), 8);
    }

    #[test]
    fn times_keep_their_value_and_their_order() {
        for ns in [i64::MIN + 1, -5, -1, 0, 1, 77_960_000, i64::MAX] {
            assert_eq!(Time::from_ns(ns).ns(), ns);
        }
        assert!(Time::from_ns(-1) < Time::from_ns(0));
        assert!(Time::from_ns(0) < Time::from_ns(1));
        assert_eq!(Time::from_ns(i64::MIN).ns(), i64::MIN + 1);
    }

    #[test]
    fn biosnoop_time_minus_latency_is_the_issue_time() {
        // Source document dusty_disk, third line: completed 0.143268 s, latency 143.20 ms.
        let issued = Time::from_seconds(0.143268) - Nanos::from_ms(143.20);
        assert_eq!(issued.ns(), 68_000);
    }
}
