//! Moments as people type them: `03:12`, `yesterday 03:12`, `-2h`, `2026-11-22 03:12`, `monday`.
//!
//! A time without a zone is local. A time of day alone is the last one that was: at 10:00, `23:50` is
//! yesterday's. A time that a change to summer time skips is the one after it, one that comes
//! twice is the first.

use jiff::civil::{DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use crate::arguments::duration;
use crate::messages::HintedError;

/// What may be written, for hints.
pub const FORMS: &str = "write `03:12`, `yesterday 03:12`, `monday 15:00`, `-2h`, `2026-11-22 03:12` \
                         (local time), `2026-11-22T03:12:07Z` or `@1763780000`";

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

/// A moment in ns since 1970, as of `now`.
pub fn parse(text: &str, now: &Zoned) -> Result<i64, String> {
    let text = text.trim();
    let wrong = || format!("`{text}` is not a time");
    moment(text, now).and_then(|at| i64::try_from(at.as_nanosecond()).ok()).ok_or_else(wrong)
}

/// Whether a time of day tells no seconds, and so names a minute.
pub fn names_a_minute(text: &str) -> bool {
    let Some((_, after)) = text.split_once(':') else { return false };
    // Two digits of minutes; what follows an offset from UTC does not matter.
    after.as_bytes().get(2) != Some(&b':')
}

/// The same of an argument: what is no moment is an error that shows the forms.
///
/// # Errors
/// If the text is no moment.
pub fn asked(text: &str, now: &Zoned) -> anyhow::Result<i64> {
    parse(text, now).map_err(|why| HintedError::error(why, FORMS))
}

/// A moment as people read it: local time with its offset.
pub fn words(ns: i64, zone: &TimeZone) -> String {
    match Timestamp::from_nanosecond(ns.into()) {
        Ok(at) => at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %:z").to_string(),
        Err(_) => format!("@{}", ns / 1_000_000_000),
    }
}

/// Now, in local time.
pub fn now() -> Zoned {
    Zoned::now()
}

/// Days and weeks besides what [`duration`] knows.
pub fn long_duration(text: &str) -> Result<std::time::Duration, String> {
    let days = |count: &str, days: f64| {
        let count: f64 = count.parse().map_err(|_| format!("`{text}` is not a length of time"))?;
        let seconds = count * days * 86_400.0;
        if (1.0..1e10).contains(&seconds) {
            Ok(std::time::Duration::from_secs_f64(seconds))
        } else {
            Err(format!("`{text}` is too short or too long"))
        }
    };
    if let Some(count) = text.strip_suffix('d') {
        return days(count, 1.0);
    }
    if let Some(count) = text.strip_suffix('w') {
        return days(count, 7.0);
    }
    duration(text).map(|length| std::time::Duration::from_nanos(length.ns() as u64))
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
    if let Ok(exact) = text.parse::<Timestamp>() {
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
        parse(text, &now).map_or_else(|why| why, |ns| words(ns, &zone))
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
    fn what_is_no_moment_is_said() {
        for text in
            ["", "soon", "25:00", "3", "03:12:99", "yesterday noon", "2026-13-01", "-2", "@x"]
        {
            let said = at(text, "2026-11-22T09:00:00Z", "UTC0");
            // A bare number is a length in seconds.
            assert!(text == "-2" || said == format!("`{text}` is not a time"), "{text}: {said}");
        }
        assert_eq!(long_duration("7d").map(|d| d.as_secs()), Ok(7 * 86_400));
        assert_eq!(long_duration("2w").map(|d| d.as_secs()), Ok(14 * 86_400));
        assert!(long_duration("0d").is_err() && long_duration("xd").is_err());
    }
}
