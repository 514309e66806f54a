//! Times of day, for listings whose clock says when its zero was: UTC, or as the input printed it.

use std::collections::HashMap;

use iowhy_model::{Listing, Recording, key};

/// Nanoseconds of a day.
const DAY_NS: i64 = 86_400_000_000_000;

/// What a listing says of the time of day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Nanoseconds since 1970 at the zero of the listing's clock; less than a day if no date is known.
    pub zero: i64,
    /// Whether that is UTC; else it is the time that the input printed, in a zone of its own.
    pub utc: bool,
}

impl Clock {
    /// Of a listing, if it says any.
    pub fn of(listing: &Listing) -> Option<Clock> {
        let stated = |key, utc| {
            let fact = listing.facts.iter().find(|fact| fact.key == key)?;
            Some(Clock { zero: fact.value.duration()?.ns(), utc })
        };
        stated(key::CLOCK_OFFSET, true).or_else(|| stated(key::CLOCK_PRINTED, false))
    }

    /// The same, told by this listing or by another of the same capture: one clock times all of it.
    pub fn of_any(recording: &Recording, listing: &Listing) -> Option<Clock> {
        let own = |other: &&Listing| {
            let (source, other) = (&listing.source, &other.source);
            source.input == other.input && source.format == other.format
        };
        Clock::of(listing).or_else(|| recording.listings.iter().filter(own).find_map(Clock::of))
    }

    /// The same of every listing, in their order.
    pub fn of_each(recording: &Recording) -> Vec<Option<Clock>> {
        let kind = |listing: &'_ Listing| {
            let source = &listing.source;
            (source.input.clone(), source.format.clone())
        };
        let own: Vec<Option<Clock>> = recording.listings.iter().map(Clock::of).collect();
        let mut first = HashMap::new();
        for (listing, clock) in recording.listings.iter().zip(&own) {
            if let Some(clock) = clock {
                first.entry(kind(listing)).or_insert(*clock);
            }
        }
        let shared = |listing: &Listing| first.get(&kind(listing)).copied();
        let listings = recording.listings.iter().zip(own);
        listings.map(|(listing, own)| own.or_else(|| shared(listing))).collect()
    }

    /// A moment of the listing, with its date if that is known.
    pub fn words(self, at_ns: i64) -> String {
        let at = self.zero.saturating_add(at_ns);
        match (self.utc, self.zero < DAY_NS) {
            (true, _) => date_and_time(at),
            (false, true) => of_day(second_of_day(at), 0),
            (false, false) => date_and_time(at).trim_end_matches(" UTC").to_string(),
        }
    }

    /// Seconds since midnight of a moment of the listing.
    pub fn second(self, at_ns: i64) -> f64 {
        second_of_day(self.zero.saturating_add(at_ns))
    }
}

/// Nanoseconds since 1970 (UTC) at the zero of a listing's clock, if it is known.
pub fn zero(listing: &Listing) -> Option<i64> {
    Clock::of(listing).filter(|clock| clock.utc).map(|clock| clock.zero)
}

/// A moment as `2026-11-21 11:36:07 UTC`.
pub fn date_and_time(since_1970_ns: i64) -> String {
    // All moments that nanoseconds since 1970 reach have a date: 1677 to 2262.
    let moment = jiff::Timestamp::from_nanosecond(since_1970_ns.into()).unwrap_or_default();
    moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A second of the day as `11:36:07`, with so many decimals.
pub fn of_day(seconds: f64, decimals: usize) -> String {
    let scale = 10i64.pow(decimals.min(9) as u32);
    let parts = (seconds * scale as f64).round() as i64;
    let whole = parts.div_euclid(scale).rem_euclid(86_400);
    let (hour, minute, second) = (whole / 3600, whole / 60 % 60, whole % 60);
    let text = format!("{hour:02}:{minute:02}:{second:02}");
    match decimals.min(9) {
        0 => text,
        decimals => format!("{text}.{:0decimals$}", parts.rem_euclid(scale)),
    }
}

/// Seconds since midnight (UTC) of a moment.
pub fn second_of_day(since_1970_ns: i64) -> f64 {
    since_1970_ns.rem_euclid(DAY_NS) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_those_of_date() {
        let at = |seconds: i64| date_and_time(seconds * 1_000_000_000);
        assert_eq!(at(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(at(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(at(1_795_260_967), "2026-11-21 11:36:07 UTC");
    }

    #[test]
    fn a_printed_time_has_no_zone_and_no_date_that_is_not_known() {
        let at = |zero: i64, utc| Clock { zero: zero * 1_000_000_000, utc }.words(60_000_000_000);
        assert_eq!(at(1_795_260_907, true), "2026-11-21 11:36:07 UTC");
        assert_eq!(at(1_795_260_907, false), "2026-11-21 11:36:07");
        assert_eq!(at(86_399, false), "00:00:59");
    }

    #[test]
    fn a_second_of_the_day_has_the_decimals_asked_for() {
        assert_eq!(of_day(41_767.0, 0), "11:36:07");
        assert_eq!(of_day(41_767.25, 2), "11:36:07.25");
        assert_eq!(of_day(86_399.999, 0), "00:00:00");
        assert_eq!(second_of_day(1_795_260_967_000_000_000), 41_767.0);
    }
}
