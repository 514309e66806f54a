//! Times as users type them: `03:12`, `yesterday 03:12`, `-2h`, `2026-11-22 03:12`, `monday`.
//!
//! A time without a zone is local, or UTC with `--utc`: printed times can be typed. A time of day
//! alone is its last occurrence: at 10:00, `23:50` is yesterday's. A time skipped by a change to
//! summer time is moved forward; of one that occurs twice, the first is used.

use std::path::Path;
use std::sync::OnceLock;

use iowhy_model::Nanos;
use iowhy_show::clock;
use jiff::civil::{DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use crate::messages::HintedError;

/// The accepted forms, for hints.
pub(crate) const FORMS: &str = "write `03:12`, `yesterday 03:12`, `monday 15:00`, `-2h`, \
                                `2026-11-22 03:12` (local time), `2026-11-22T03:12:07Z` or \
                                `@1763780000`";

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

/// A duration such as `10s`, `500ms`, `80us`, `2m`; a bare number is in seconds.
pub(crate) fn duration(text: &str) -> Result<Nanos, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == 'µ');
    let scale = match &text[digits.len()..] {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" | "" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        unit => return Err(format!("unknown unit `{unit}`; use ns, us, ms, s, m or h")),
    };
    match digits.parse::<f64>() {
        Ok(value) if value >= 0.0 && value * scale < 9e18 => {
            Ok(Nanos((value * scale).round() as i64))
        }
        _ => Err(format!("`{digits}` is not a duration")),
    }
}

/// A moment in ns since 1970, as of `now`.
pub(crate) fn parse(text: &str, now: &Zoned) -> Result<i64, String> {
    let text = text.trim();
    let wrong = || format!("`{text}` is not a time");
    moment(text, now).and_then(|at| i64::try_from(at.as_nanosecond()).ok()).ok_or_else(wrong)
}

/// Whether a time of day has no seconds, and so means a minute.
pub(crate) fn names_a_minute(text: &str) -> bool {
    let Some((_, after)) = text.split_once(':') else { return false };
    // Two digits of minutes; an offset from UTC may follow.
    after.as_bytes().get(2) != Some(&b':')
}

/// The same for an argument: an invalid time is an error that lists the forms.
///
/// # Errors If the text is not a time.
pub(crate) fn asked(text: &str, now: &Zoned) -> anyhow::Result<i64> {
    parse(text, now).map_err(|why| HintedError::error(why, FORMS))
}

/// The zone of this run, once it is set.
static ZONE: OnceLock<TimeZone> = OnceLock::new();

/// Sets the zone of printed times: UTC if requested, else the local one. Done before confinement.
pub(crate) fn set_zone(utc: bool) {
    _ = ZONE.set(if utc { TimeZone::UTC } else { local() });
}

/// The zone in which times are printed and read.
pub(crate) fn zone() -> &'static TimeZone {
    ZONE.get_or_init(local)
}

/// The zone that `TZ` names (tzset(3): a file below the folder of zones, a path, or a rule), else
/// that of the machine. An unknown one is UTC, as for date(1).
fn local() -> TimeZone {
    let Some(named) = std::env::var_os("TZ") else { return TimeZone::system() };
    let named = named.to_string_lossy();
    let named = named.strip_prefix(':').unwrap_or(&named);
    if named.is_empty() {
        return TimeZone::UTC;
    }
    let folder = std::env::var_os("TZDIR").unwrap_or_else(|| "/usr/share/zoneinfo".into());
    let file = std::fs::read(Path::new(&folder).join(named)).ok();
    let of_file = file.and_then(|bytes| TimeZone::tzif(named, &bytes).ok());
    of_file.or_else(|| TimeZone::posix(named).ok()).unwrap_or(TimeZone::UTC)
}

/// The zone of this machine, by name if it has one, else by its current offset from UTC.
pub(crate) fn zone_of_machine() -> String {
    let zone = local();
    zone.iana_name().map_or_else(|| clock::offset(now_ns(), &zone), str::to_string)
}

/// Formats a time.
pub(crate) fn words(ns: i64) -> String {
    clock::date_and_time(ns, zone())
}

/// Now, ns since 1970.
pub(crate) fn now_ns() -> i64 {
    i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

/// Now, in the zone of printed times.
pub(crate) fn now() -> Zoned {
    Zoned::now().with_time_zone(zone().clone())
}

/// Days and weeks in addition to the units of [`duration`].
pub(crate) fn long_duration(text: &str) -> Result<std::time::Duration, String> {
    let days = |count: &str, days: f64| {
        let count: f64 = count.parse().map_err(|_| format!("`{text}` is not a duration"))?;
        let seconds = count * days * 86_400.0;
        if (1.0..1e10).contains(&seconds) {
            Ok(std::time::Duration::from_secs_f64(seconds))
        } else {
            Err(format!("`{text}` is out of range"))
        }
    };
    if let Some(count) = text.strip_suffix('d') {
        return days(count, 1.0);
    }
    if let Some(count) = text.strip_suffix('w') {
        return days(count, 7.0);
    }
    duration(text).map(length)
}

/// A duration for the clocks of this process.
pub(crate) fn length(of: Nanos) -> std::time::Duration {
    std::time::Duration::from_nanos(of.ns().max(0) as u64)
}

fn moment(text: &str, now: &Zoned) -> Option<Timestamp> {
    if text == "now" {
        return Some(now.timestamp());
    }
    let ago = text.strip_prefix('-').or_else(|| text.strip_suffix(" ago"));
    if let Some(length) = ago {
        let length = long_duration(length.trim()).ok()?;
        let length = SignedDuration::try_from(length).ok()?;
        return now.timestamp().checked_sub(length).ok();
    }
    if let Some(seconds) = text.strip_prefix('@') {
        let seconds: f64 = seconds.parse().ok().filter(|seconds: &f64| seconds.is_finite())?;
        return Timestamp::from_nanosecond((seconds * 1e9) as i128).ok();
    }
    // iowhy prints a blank before an offset.
    let whole = text.replace(" +", "+").replace(" -", "-");
    if let Ok(exact) = whole.parse::<Timestamp>() {
        return Some(exact);
    }
    let (text, zone) = match text.strip_suffix("UTC").or_else(|| text.strip_suffix('Z')) {
        Some(rest) => (rest.trim(), TimeZone::UTC),
        None => (text, now.time_zone().clone()),
    };
    let now = now.with_time_zone(zone.clone());
    let at = |civil: DateTime| zone.to_ambiguous_zoned(civil).compatible().ok();
    if let Some(time) = time(text) {
        let today = at(now.date().to_datetime(time))?;
        if today <= now {
            return Some(today.timestamp());
        }
        return Some(at(now.date().yesterday().ok()?.to_datetime(time))?.timestamp());
    }
    let (day, rest) = text.split_once([' ', 'T']).unwrap_or((text, ""));
    let time = if rest.is_empty() { Time::midnight() } else { time(rest.trim())? };
    let date = match day.to_ascii_lowercase().as_str() {
        "today" => now.date(),
        "yesterday" => now.date().yesterday().ok()?,
        name if WEEKDAYS.iter().any(|(known, _)| is_weekday(name, known)) => {
            let (_, weekday) = WEEKDAYS.iter().find(|(known, _)| is_weekday(name, known))?;
            let mut date = now.date();
            for _ in 0..7 {
                if date.weekday() == *weekday && at(date.to_datetime(time))? <= now {
                    break;
                }
                date = date.checked_sub(1.day()).ok()?;
            }
            date
        }
        _ => day.parse().ok()?,
    };
    Some(at(date.to_datetime(time))?.timestamp())
}

fn is_weekday(text: &str, name: &str) -> bool {
    text == name || text.len() == 3 && name.starts_with(text)
}

/// `03:12`, `3:12`, `03:12:07`, `03:12:07.5`.
fn time(text: &str) -> Option<Time> {
    let mut parts = text.split(':');
    let number = |part: Option<&str>| {
        let part = part?;
        let digits = !part.is_empty() && part.len() <= 2;
        (digits && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse().ok())?
    };
    let (hour, minute): (i8, i8) = (number(parts.next())?, number(parts.next())?);
    let (second, nanosecond) = match parts.next() {
        None => (0, 0),
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
            let fraction: f64 = format!("0.{fraction}").parse().ok()?;
            (number(Some(whole))?, (fraction * 1e9) as i32)
        }
    };
    let whole = parts.next().is_none();
    Time::new(hour, minute, second, nanosecond).ok().filter(|_| whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, now: &str, zone: &str) -> String {
        let zone = TimeZone::posix(zone).expect("a zone");
        let now = now.parse::<Timestamp>().expect("a time").to_zoned(zone.clone());
        parse(text, &now).map_or_else(|why| why, |ns| clock::date_and_time(ns, &zone))
    }

    /// Central European time; summer time from the last Sunday of March to that of October.
    const CET: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

    #[test]
    fn moments_are_read_as_people_type_them() {
        // A Sunday, 10:00 in Zurich.
        for (text, moment) in [
            ("now", "2026-11-22 10:00:00 +01:00"),
            ("03:12", "2026-11-22 03:12:00 +01:00"),
            ("3:12:07.5", "2026-11-22 03:12:07 +01:00"),
            ("23:50", "2026-11-21 23:50:00 +01:00"),
            ("yesterday", "2026-11-21 00:00:00 +01:00"),
            ("yesterday 03:12", "2026-11-21 03:12:00 +01:00"),
            ("today 09:30", "2026-11-22 09:30:00 +01:00"),
            ("Monday 15:00", "2026-11-16 15:00:00 +01:00"),
            ("sun 09:00", "2026-11-22 09:00:00 +01:00"),
            ("sunday 11:00", "2026-11-15 11:00:00 +01:00"),
            ("-2h", "2026-11-22 08:00:00 +01:00"),
            ("-1d", "2026-11-21 10:00:00 +01:00"),
            ("90s ago", "2026-11-22 09:58:30 +01:00"),
            ("2026-11-01", "2026-11-01 00:00:00 +01:00"),
            ("2026-07-01 03:12", "2026-07-01 03:12:00 +02:00"),
            ("2026-11-22T03:12:07", "2026-11-22 03:12:07 +01:00"),
            ("2026-11-22T03:12:07Z", "2026-11-22 04:12:07 +01:00"),
            ("2026-11-22T03:12:07-05:00", "2026-11-22 09:12:07 +01:00"),
            ("03:12 UTC", "2026-11-22 04:12:00 +01:00"),
            ("2026-11-22 03:12:07 UTC", "2026-11-22 04:12:07 +01:00"),
            ("2026-11-21 23:42:07 -03:30", "2026-11-22 04:12:07 +01:00"),
            ("@1795374192", "2026-11-22 20:03:12 +01:00"),
        ] {
            assert_eq!(at(text, "2026-11-22T09:00:00Z", CET), moment, "{text}");
        }
    }

    #[test]
    fn a_time_of_day_without_seconds_is_a_minute() {
        for text in
            ["03:12", "yesterday 03:12", "03:12 UTC", "2026-11-22T03:12Z", "2026-11-22 03:12-05:00"]
        {
            assert!(names_a_minute(text), "{text}");
        }
        for text in
            ["03:12:07", "2026-11-22T03:12:07-05:00", "-2h", "@1795374192", "now", "yesterday"]
        {
            assert!(!names_a_minute(text), "{text}");
        }
    }

    #[test]
    fn hours_that_are_skipped_or_come_twice_are_one_moment() {
        assert_eq!(at("02:30", "2026-03-29T09:00:00Z", CET), "2026-03-29 03:30:00 +02:00");
        assert_eq!(at("02:30", "2026-10-25T09:00:00Z", CET), "2026-10-25 02:30:00 +02:00");
    }

    #[test]
    fn an_invalid_time_is_reported() {
        for text in
            ["", "soon", "25:00", "3", "03:12:99", "yesterday noon", "2026-13-01", "-2", "@x"]
        {
            let reported = at(text, "2026-11-22T09:00:00Z", "UTC0");
            // A bare number is in seconds.
            assert!(
                text == "-2" || reported == format!("`{text}` is not a time"),
                "{text}: {reported}"
            );
        }
        assert_eq!(long_duration("7d").map(|d| d.as_secs()), Ok(7 * 86_400));
        assert_eq!(long_duration("2w").map(|d| d.as_secs()), Ok(14 * 86_400));
        assert!(long_duration("0d").is_err() && long_duration("xd").is_err());
    }
}
