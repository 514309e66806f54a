//! Wall-clock lines as tools print them: ISO, American, European, `date`, time of day, epoch.

use iowhy_model::{Interval, Nanos, Sink, Time, typed};
use jiff::ToSpan;
use jiff::civil::{Date, date};

use crate::facts::AddFact;
use crate::{decimal, integer};

/// A point in time as printed. It is compared with its like only, so zones are ignored.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WallTime {
    /// Days since 1970, if a date was printed.
    day: Option<i64>,
    /// Seconds since midnight, or since the epoch or boot if no clock was printed.
    second: f64,
}

/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// The smallest number taken for seconds since 1970: 9 September 2001, ten digits.
const FIRST_EPOCH: f64 = 1e9;
/// The largest: 2100 and a bit, still ten digits.
const LAST_EPOCH: f64 = 5e9;
/// Days are counted from here.
const EPOCH: Date = date(1970, 1, 1);

impl WallTime {
    /// Reads a line that contains a moment and nothing else. A prefix `Time:` is allowed.
    pub fn read(line: &str) -> Option<WallTime> {
        let line = line.trim();
        let line = line.strip_prefix("Time:").unwrap_or(line);
        if line.len() > 64 || !(line.contains(':') || has_epoch(line)) {
            return None;
        }
        let mut parts = Parts::default();
        for word in line.split_whitespace() {
            match word.split_once('T') {
                Some((date, time)) if date.contains('-') => {
                    parts.take(date)?;
                    parts.take(time)?;
                }
                _ => parts.take(word)?,
            }
        }
        parts.moment()
    }

    /// States that the clock of the open listing began this many seconds before this moment, as far
    /// as that is within the day or the date is known.
    pub(crate) fn state(self, before: f64, sink: &mut dyn Sink) {
        let (key, days) = match (self.day, self.second) {
            (None, DAY..FIRST_EPOCH) => return,
            (None, FIRST_EPOCH..) => (typed::CLOCK_OFFSET, 0.0),
            (day, _) => (typed::CLOCK_PRINTED, day.unwrap_or(0) as f64 * DAY),
        };
        let zero = days + self.second - before;
        if zero >= 0.0 {
            sink.add_fact(None, key, Nanos::from_seconds(zero));
            // What contains nothing but a time is not a capture.
            let source = sink.source();
            source.records = source.records.saturating_sub(1);
        }
    }

    /// As `2012-09-11 15:37:12`, if a date was printed.
    pub(crate) fn stamp(self) -> Option<String> {
        let date = EPOCH.checked_add(self.day?.days()).ok()?;
        let second = self.second as u64;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        Some(format!("{date} {hour:02}:{minute:02}:{second:02}"))
    }

    /// The same time of day on the date of a banner (`11/22/26`), unless it has one of its own.
    pub(crate) fn on(self, date: Option<&str>) -> WallTime {
        let day = || WallTime::read(&format!("{} 00:00:00", date?))?.day;
        let is_bare = self.day.is_none() && self.second < DAY;
        WallTime { day: if is_bare { day() } else { self.day }, ..self }
    }

    /// Takes the first moment of a listing as the zero of its clock.
    pub(crate) fn begin(first: &mut Option<WallTime>, now: WallTime, sink: &mut dyn Sink) {
        if first.is_none() {
            *first = Some(now);
            now.state(0.0, sink);
        }
    }

    /// Seconds from `earlier` to this moment. Without dates, past midnight is understood; `None`
    /// if only one of them has a date, or if time went backwards.
    pub fn since(self, earlier: WallTime) -> Option<f64> {
        let seconds = match (self.day, earlier.day) {
            (Some(day), Some(before)) => (day - before) as f64 * DAY + self.second - earlier.second,
            (None, None) if self.second < earlier.second && earlier.second < DAY => {
                self.second - earlier.second + DAY
            }
            (None, None) => self.second - earlier.second,
            _ => return None,
        };
        (seconds >= 0.0).then_some(seconds)
    }
}

/// The times next to the reports of a listing: the last, the one before that, and the
/// seconds from the first to that.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    before: Option<WallTime>,
    now: Option<WallTime>,
    elapsed: f64,
}

impl Moments {
    /// A time is here; whether it is another than before.
    pub(crate) fn at(&mut self, moment: WallTime) -> bool {
        let is_new = !self.is_at(moment);
        if is_new {
            let past = self.now.zip(self.before).and_then(|(now, before)| now.since(before));
            self.elapsed += past.unwrap_or(0.0);
            (self.before, self.now) = (self.now, Some(moment));
        }
        is_new
    }

    /// Whether the last one was this.
    pub(crate) fn is_at(&self, moment: WallTime) -> bool {
        self.now == Some(moment)
    }

    /// Whether there was one anywhere.
    pub(crate) fn began(&self) -> bool {
        self.now.is_some()
    }

    /// The same as [`Moments::at`], and the first is the zero of the listing's clock.
    pub(crate) fn begin(&mut self, moment: WallTime, sink: &mut dyn Sink) -> bool {
        if self.now.is_none() {
            moment.state(0.0, sink);
        }
        self.at(moment)
    }

    /// Between the last two moments: when that began, counted from the first, and how long it is,
    /// s.
    pub(crate) fn span(&self) -> Option<(f64, f64)> {
        let length = self.now?.since(self.before?).filter(|length| *length > 0.0)?;
        Some((self.elapsed, length))
    }

    /// From the first moment to the last, s.
    pub(crate) fn since_first(&self) -> Option<f64> {
        let past = self.now?.since(self.before.or(self.now)?);
        Some(self.elapsed + past.unwrap_or(0.0))
    }

    /// Says so of an interval.
    pub(crate) fn date(&self, interval: &mut Interval) {
        if let Some((start, length)) = self.span() {
            interval.start = Some(Time::from_seconds(start));
            interval.length = Some(Nanos::from_seconds(length));
        }
    }
}

/// Whether there are as many adjacent digits as in seconds since 1970.
fn has_epoch(line: &str) -> bool {
    line.as_bytes().split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() >= 10)
}

/// The kinds of a line's words.
#[derive(Default)]
struct Parts {
    time: Option<f64>,
    afternoon: Option<bool>,
    date: Option<(i64, i64, i64, char)>,
    month: Option<i64>,
    day: Option<i64>,
    year: Option<i64>,
    epoch: Option<f64>,
}

impl Parts {
    /// Finds a place for a word; `None` if it has none.
    fn take(&mut self, word: &str) -> Option<()> {
        if word.contains(':') && !word.starts_with(['+', '-']) {
            return set(&mut self.time, time_of_day(word));
        }
        if let Some(separator) = word.chars().find(|c| matches!(c, '/' | '-' | '.'))
            && word.matches(separator).count() == 2
        {
            let mut numbers = word.split(separator).map(integer);
            let date = (numbers.next()??, numbers.next()??, numbers.next()??);
            return set(
                &mut self.date,
                Some((
                    i64::try_from(date.0).ok()?,
                    i64::try_from(date.1).ok()?,
                    i64::try_from(date.2).ok()?,
                    separator,
                )),
            );
        }
        match word.trim_end_matches(',') {
            "AM" | "am" => set(&mut self.afternoon, Some(false)),
            "PM" | "pm" => set(&mut self.afternoon, Some(true)),
            word if month(word).is_some() => set(&mut self.month, month(word)),
            word if is_weekday(word) || is_zone(word) => Some(()),
            word => self.take_number(word),
        }
    }

    fn take_number(&mut self, word: &str) -> Option<()> {
        let number = decimal(word)?;
        match (integer(word), number) {
            (Some(day), ..32.0) if day > 0 => set(&mut self.day, i64::try_from(day).ok()),
            (Some(year), 1970.0..2100.0) => set(&mut self.year, i64::try_from(year).ok()),
            (_, FIRST_EPOCH..LAST_EPOCH) => set(&mut self.epoch, Some(number)),
            _ => None,
        }
    }

    fn moment(self) -> Option<WallTime> {
        if let Some(second) = self.epoch {
            let alone = self.time.is_none() && self.date.is_none() && self.day.is_none();
            return alone.then_some(WallTime { day: None, second });
        }
        let mut second = self.time?;
        match self.afternoon {
            Some(true) if second < DAY / 2.0 => second += DAY / 2.0,
            Some(false) if second >= DAY / 2.0 => second -= DAY / 2.0,
            _ => {}
        }
        let day = match (self.date, self.year, self.month, self.day) {
            (Some(date), None, None, None) => Some(numbered(date, self.afternoon.is_some())?),
            (None, Some(year), Some(month), Some(day)) => Some(days(year, month, day)?),
            (None, None, None, None) => None,
            _ => return None,
        };
        Some(WallTime { day, second })
    }
}

fn set<T>(place: &mut Option<T>, value: Option<T>) -> Option<()> {
    if place.is_some() {
        return None;
    }
    *place = Some(value?);
    Some(())
}

/// `08:01:02`, with a fraction or a zone glued to it.
fn time_of_day(word: &str) -> Option<f64> {
    let end = word.find(['+', '-', 'Z']).unwrap_or(word.len());
    let mut fields = word[..end].split(':');
    let hours = integer(fields.next()?)?;
    let minutes = integer(fields.next()?)?;
    let seconds = decimal(fields.next()?)?;
    let sound = hours < 24 && minutes < 60 && (0.0..61.0).contains(&seconds);
    let whole = sound && fields.next().is_none();
    whole.then(|| (hours * 3600 + minutes * 60) as f64 + seconds)
}

/// Three numbers of a date: year first if it has four digits; else the month first after slashes
/// unless it cannot be one (`en_US`, as against `21.11.2026`).
fn numbered((a, b, c, separator): (i64, i64, i64, char), american: bool) -> Option<i64> {
    if a > 999 {
        return days(a, b, c);
    }
    let year = if c < 100 { 2000 + c } else { c };
    let month_first = a <= 12 && (american || b > 12 || separator == '/');
    if month_first { days(year, a, b) } else { days(year, b, a) }
}

/// Days since 1970 in the Gregorian calendar; `None` for one that it does not have, and for what no
/// tool of these days prints.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let (year, month, day) = (year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?);
    let date =
        Date::new(year, month, day).ok().filter(|date| (1970..2200).contains(&date.year()))?;
    Some(date.duration_since(EPOCH).as_hours() / 24)
}

fn month(word: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    MONTHS.iter().position(|name| *name == word).map(|place| place as i64 + 1)
}

fn is_weekday(word: &str) -> bool {
    ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].contains(&word)
}

/// `UTC`, `CEST`, `+0100`.
fn is_zone(word: &str) -> bool {
    let letters = (3..=5).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_uppercase());
    letters || word.strip_prefix(['+', '-']).is_some_and(|rest| integer(rest).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_moment_in_many_coats() {
        let iso = WallTime::read("2026-11-21T15:01:02+0000").unwrap();
        assert_eq!(iso, WallTime { day: Some(20_778), second: 54_062.0 });
        for line in [
            "2026-11-21 15:01:02", "11/21/2026 03:01:02 PM", "11/21/26 15:01:02",
            "21/11/26 15:01:02", "21.11.2026 15:01:02", "Sat Nov 21 15:01:02 UTC 2026",
            "Sat Nov 21 03:01:02 PM UTC 2026", "Sat 21 Nov 2026 15:01:02 CET",
        ] {
            assert_eq!(WallTime::read(line), Some(iso), "{line}");
        }
        assert_eq!(iso.stamp().as_deref(), Some("2026-11-21 15:01:02"));
        assert_eq!(WallTime::read("15:01:02").and_then(WallTime::stamp), None);
        let first = WallTime::read("1970-01-01T00:00:00Z").unwrap();
        assert_eq!(iso.since(first), Some(20_778.0 * DAY + 54_062.0));
        assert_eq!(first.since(iso), None);
    }

    #[test]
    fn a_bare_time_runs_past_midnight_and_prose_is_no_time() {
        let before = WallTime::read("Time: 11:59:58 PM").unwrap();
        let after = WallTime::read("00:00:01").unwrap();
        assert_eq!(after.since(before), Some(3.0));
        let epoch = WallTime::read("1763711836.25").unwrap();
        assert_eq!(epoch.since(WallTime::read("1763711835").unwrap()), Some(1.25));
        // A banner has the date.
        for (date, day) in [("11/22/26", Some(20_779)), ("2026-11-22", Some(20_779)), ("x", None)] {
            assert_eq!(after.on(Some(date)).day, day, "{date}");
            assert_eq!(epoch.on(Some(date)), epoch);
        }
        assert_eq!(after.on(None), after);
        for line in [
            "", "1", "12", "sda 1 2", "at 10:00:01 it began", "10:00", "1.2.3", "10:00:61",
            "18446744073709551615:00:00",
        ] {
            assert_eq!(WallTime::read(line), None, "{line}");
        }
    }
}
