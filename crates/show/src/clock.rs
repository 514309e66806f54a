//! The only place that formats times: local time with its offset from UTC, or the time that an
//! input printed.
//!
//! The caller sets the local zone (`Style::zone`), because this crate has no environment.

use std::collections::HashMap;

use iowhy_model::{Listing, Nanos, Recording, Time, key};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Nanoseconds of a day.
const DAY_NS: i64 = 86_400 * SECOND_NS;
const SECOND_NS: i64 = 1_000_000_000;

/// The time of day of a listing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Nanoseconds since 1970 at the zero of the listing's clock; less than a day if no date is
    /// known.
    pub zero: i64,
    /// Whether that is UTC; else it is the time that the input printed, in a zone of its own.
    pub utc: bool,
}

impl Clock {
    /// For a listing, if it has one.
    pub fn of(listing: &Listing) -> Option<Clock> {
        let stated = |key, utc| {
            let fact = listing.facts.iter().find(|fact| fact.key == key)?;
            Some(Clock { zero: fact.value.duration()?.ns(), utc })
        };
        stated(key::CLOCK_OFFSET, true).or_else(|| stated(key::CLOCK_PRINTED, false))
    }

    /// The same, from this listing or another of the same capture, which has a single clock.
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

    /// A moment of the listing in a zone, with its date if that is known. A time that a tool
    /// printed without a zone stays unchanged.
    pub fn words(self, at_ns: i64, zone: &TimeZone) -> String {
        let at = self.zero.saturating_add(at_ns);
        match (self.utc, self.zero < DAY_NS) {
            (true, _) => date_and_time(at, zone),
            (false, true) => self.of_day(at_ns, 0, zone),
            (false, false) => civil(at, &TimeZone::UTC),
        }
    }

    /// The time of day of a moment of the listing as `11:36:07`, with this many decimals.
    pub fn of_day(self, at_ns: i64, decimals: usize, zone: &TimeZone) -> String {
        of_day(self.second(at_ns, zone), decimals)
    }

    /// Seconds since midnight of a moment of the listing.
    pub fn second(self, at_ns: i64, zone: &TimeZone) -> f64 {
        let at = self.zero.saturating_add(at_ns);
        let offset_s = if self.utc { offset_s(at, zone) } else { 0 };
        at.saturating_add(offset_s * SECOND_NS).rem_euclid(DAY_NS) as f64 / 1e9
    }

    /// What to add to a moment of the listing for nanoseconds since midnight: its start and its
    /// value, for each interval between two changes of the zone's offset.
    pub fn midnights(self, (from, to): (i64, i64), zone: &TimeZone) -> Vec<(i64, i64)> {
        let mut begins = vec![from];
        if self.utc {
            let first = timestamp(self.zero.saturating_add(from));
            let changes = zone.following(first).map(|change| change.timestamp().as_nanosecond());
            let changes = changes.map(|at| at.saturating_sub(i128::from(self.zero)));
            begins.extend(
                changes.map_while(|at| i64::try_from(at).ok().filter(|at| *at < to)).take(CHANGES),
            );
        }
        let at_zero = |begin: i64| {
            let at = self.zero.saturating_add(begin);
            let offset_s = if self.utc { offset_s(at, zone) } else { 0 };
            self.zero.saturating_add(offset_s * SECOND_NS).rem_euclid(DAY_NS)
        };
        begins.into_iter().map(|begin| (begin, at_zero(begin))).collect()
    }
}

/// From when to when captures reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// The clock that shows it, if any does.
    pub clock: Option<Clock>,
    /// The first moment on that clock, ns; else on the clock of the input.
    pub from_ns: i64,
    /// The last one.
    pub to_ns: i64,
}

impl Reach {
    /// Of a recording: by the time of day if some of it shows that, else of the longest of its
    /// listings.
    pub fn of(recording: &Recording) -> Option<Reach> {
        let mut reach: Option<Reach> = None;
        for listing in &recording.listings {
            let Some((from, to)) = span(recording, listing) else { continue };
            let clock = Clock::of_any(recording, listing);
            // Moments of one clock stand on that of another one where both have the time of day.
            let zero = clock.map_or(0, |clock| clock.zero);
            let base = reach.and_then(|known| known.clock).map_or(zero, |clock| clock.zero);
            let shift = zero.saturating_sub(base);
            let one = Reach {
                clock: reach.and_then(|known| known.clock).or(clock),
                from_ns: from.saturating_add(shift),
                to_ns: to.saturating_add(shift),
            };
            reach = Some(match reach {
                None => one,
                Some(known) => match (known.clock, clock) {
                    (Some(a), Some(b)) if a.utc == b.utc => Reach {
                        from_ns: known.from_ns.min(one.from_ns),
                        to_ns: known.to_ns.max(one.to_ns),
                        ..known
                    },
                    (None, Some(_)) => Reach { clock, from_ns: from, to_ns: to },
                    (None, None) if to - from > known.to_ns - known.from_ns => one,
                    _ => known,
                },
            });
        }
        reach
    }

    /// `2026-11-21 11:36:07 UTC to 2026-11-21 11:36:27 UTC`, if the time of day is known.
    pub fn words(&self, zone: &TimeZone) -> Option<String> {
        let clock = self.clock?;
        Some(format!("{} to {}", clock.words(self.from_ns, zone), clock.words(self.to_ns, zone)))
    }

    /// How long it is, ns.
    pub fn length_ns(&self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// The first and the last moment of a listing, ns on its clock.
fn span(recording: &Recording, listing: &Listing) -> Option<(i64, i64)> {
    let end = |start: i64, length: Option<Nanos>| start.saturating_add(length.map_or(0, Nanos::ns));
    let stretch = |start: Option<Time>, length| start.map(|at| (at.ns(), end(at.ns(), length)));
    let cells = listing.cells.iter().flat_map(|cells| &cells.distributions);
    let counted =
        listing.distributions.iter().chain(cells).filter_map(|one| stretch(one.start, one.length));
    let averaged = listing.intervals.iter().filter_map(|one| stretch(one.start, one.length));
    let events = listing.events.iter().filter_map(|one| {
        let to = one.completed?.ns();
        let first = one.arrived.or(one.queued).or(one.issued).map_or(to, Time::ns);
        Some((first.min(to), to))
    });
    let began = listing.facts.iter().find(|fact| fact.key == key::CLOCK_BEGAN);
    let watched = began.zip(Clock::of_any(recording, listing)).and_then(|(began, clock)| {
        let began = began.value.duration()?.ns().saturating_sub(clock.zero);
        Some((began, end(began, listing.source.watched)))
    });
    counted.chain(averaged).chain(events).chain(watched).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Changes of a zone's offset that one picture is labelled with: two a year for longer than
/// captures are.
const CHANGES: usize = 64;

/// Nanoseconds since 1970 (UTC) at the zero of a listing's clock, if it is known.
pub fn zero(listing: &Listing) -> Option<i64> {
    Clock::of(listing).filter(|clock| clock.utc).map(|clock| clock.zero)
}

/// A moment as `2026-11-21 08:06:07 -03:30`, or with `UTC` where the zone is that far from it.
pub fn date_and_time(since_1970_ns: i64, zone: &TimeZone) -> String {
    format!("{} {}", civil(since_1970_ns, zone), offset(since_1970_ns, zone))
}

/// A moment for programs (RFC 3339): `2026-11-21T08:06:07.123456789-03:30`.
pub fn rfc3339(since_1970_ns: i64, zone: &TimeZone) -> String {
    zoned(since_1970_ns, zone).strftime("%Y-%m-%dT%H:%M:%S.%9f%:z").to_string()
}

/// A zone's offset from UTC at a time: `-03:30`, or `UTC` for none.
pub fn offset(since_1970_ns: i64, zone: &TimeZone) -> String {
    match offset_s(since_1970_ns, zone) {
        0 => "UTC".to_string(),
        _ => zoned(since_1970_ns, zone).strftime("%:z").to_string(),
    }
}

fn civil(since_1970_ns: i64, zone: &TimeZone) -> String {
    zoned(since_1970_ns, zone).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn zoned(since_1970_ns: i64, zone: &TimeZone) -> Zoned {
    timestamp(since_1970_ns).to_zoned(zone.clone())
}

fn offset_s(since_1970_ns: i64, zone: &TimeZone) -> i64 {
    i64::from(zone.to_offset(timestamp(since_1970_ns)).seconds())
}

/// All moments that nanoseconds since 1970 reach have a date: 1677 to 2262.
fn timestamp(since_1970_ns: i64) -> Timestamp {
    Timestamp::from_nanosecond(since_1970_ns.into()).unwrap_or_default()
}

/// A second of the day as `11:36:07`, with this many decimals.
fn of_day(seconds: f64, decimals: usize) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Newfoundland: half an hour off, and summer time from the second Sunday of March to the first
    /// of November.
    const ST_JOHNS: &str = "NST3:30NDT,M3.2.0,M11.1.0";

    fn st_johns() -> TimeZone {
        TimeZone::posix(ST_JOHNS).unwrap()
    }

    #[test]
    fn a_moment_for_programs_has_nanoseconds_and_an_offset() {
        let at = 1_795_260_967 * SECOND_NS + 123_456_789;
        assert_eq!(rfc3339(at, &st_johns()), "2026-11-21T08:06:07.123456789-03:30");
        assert_eq!(rfc3339(at, &TimeZone::UTC), "2026-11-21T11:36:07.123456789+00:00");
        assert_eq!(rfc3339(-1, &TimeZone::UTC), "1969-12-31T23:59:59.999999999+00:00");
    }

    #[test]
    fn dates_and_times_are_those_of_date() {
        let at = |seconds: i64| date_and_time(seconds * SECOND_NS, &TimeZone::UTC);
        assert_eq!(at(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(at(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(at(1_795_260_967), "2026-11-21 11:36:07 UTC");
        // `TZ=America/St_Johns date -d @SECONDS '+%F %T %:z'`, around the change of 8 March 2026.
        let at = |seconds: i64| date_and_time(seconds * SECOND_NS, &st_johns());
        assert_eq!(at(1_795_260_967), "2026-11-21 08:06:07 -03:30");
        assert_eq!(at(1_772_947_799), "2026-03-08 01:59:59 -03:30");
        assert_eq!(at(1_772_947_800), "2026-03-08 03:00:00 -02:30");
    }

    #[test]
    fn a_printed_time_has_no_zone_and_no_date_that_is_not_known() {
        let at = |zero: i64, utc| {
            Clock { zero: zero * SECOND_NS, utc }.words(60 * SECOND_NS, &st_johns())
        };
        assert_eq!(at(1_795_260_907, true), "2026-11-21 08:06:07 -03:30");
        assert_eq!(at(1_795_260_907, false), "2026-11-21 11:36:07");
        assert_eq!(at(86_399, false), "00:00:59");
    }

    #[test]
    fn a_second_of_the_day_has_the_decimals_asked_for() {
        assert_eq!(of_day(41_767.0, 0), "11:36:07");
        assert_eq!(of_day(41_767.25, 2), "11:36:07.25");
        assert_eq!(of_day(86_399.999, 0), "00:00:00");
        let clock = Clock { zero: 1_772_947_790 * SECOND_NS, utc: true };
        let at = |seconds: i64| clock.of_day(seconds * SECOND_NS, 1, &st_johns());
        assert_eq!((at(9), at(10)), ("01:59:59.0".to_string(), "03:00:00.0".to_string()));
    }

    #[test]
    fn midnight_moves_where_the_offset_changes() {
        let clock = Clock { zero: 1_772_947_790 * SECOND_NS, utc: true };
        let all = |zone: &TimeZone| clock.midnights((0, 3600 * SECOND_NS), zone);
        let hour = 3600 * SECOND_NS;
        let before = 7190 * SECOND_NS;
        assert_eq!(all(&st_johns()), [(0, before), (10 * SECOND_NS, before + hour)]);
        assert_eq!(all(&TimeZone::UTC).len(), 1);
        let printed = Clock { utc: false, ..clock };
        assert_eq!(printed.midnights((0, hour), &st_johns()).len(), 1);
    }
}
