//! Names of segments: when they began, and how fine their time is.

use crate::SECOND_NS;

/// How fine the time of a segment is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grain {
    /// As recorded.
    Seconds,
    /// Added up.
    Minutes,
    /// Added up once more.
    Hours,
}

impl Grain {
    /// All, the finest first.
    pub const ALL: [Grain; 3] = [Grain::Seconds, Grain::Minutes, Grain::Hours];

    /// Its word in names.
    pub fn word(self) -> &'static str {
        match self {
            Grain::Seconds => "seconds",
            Grain::Minutes => "minutes",
            Grain::Hours => "hours",
        }
    }

    /// The length of a cell, ns.
    pub fn length_ns(self) -> i64 {
        match self {
            Grain::Seconds => SECOND_NS,
            Grain::Minutes => 60 * SECOND_NS,
            Grain::Hours => 3600 * SECOND_NS,
        }
    }

    /// The next coarser one.
    pub fn coarser(self) -> Option<Grain> {
        match self {
            Grain::Seconds => Some(Grain::Minutes),
            Grain::Minutes => Some(Grain::Hours),
            Grain::Hours => None,
        }
    }
}

/// The name of a segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SegmentName {
    /// When it began, seconds since 1970.
    pub began_s: i64,
    /// How fine its time is.
    pub grain: Grain,
}

impl SegmentName {
    /// A segment lasts so long at most, s; the recorder begins another one then.
    pub const LENGTH_S: i64 = 3600;

    /// The file's name.
    pub fn file(self) -> String {
        format!("{}.{}.iowhy", stamp(self.began_s), self.grain.word())
    }

    /// From a file's name.
    pub fn parse(file: &str) -> Option<SegmentName> {
        let (began, rest) = file.split_once('.')?;
        let word = rest.strip_suffix(".iowhy")?;
        let grain = Grain::ALL.into_iter().find(|grain| grain.word() == word)?;
        Some(SegmentName { began_s: unstamp(began)?, grain })
    }

    /// Whether anything of it may lie between these times, ns since 1970.
    pub fn touches(self, from_ns: i64, to_ns: i64) -> bool {
        let began = self.began_s.saturating_mul(SECOND_NS);
        // A cell may reach beyond the end of the segment that it began in.
        let over = began.saturating_add((Self::LENGTH_S + 60) * SECOND_NS);
        began <= to_ns && over >= from_ns
    }
}

/// A moment as `20261122T190312Z` (a date from days after Howard Hinnant's "chrono-compatible
/// low-level date algorithms").
pub fn stamp(seconds: i64) -> String {
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// The way back; `None` if it is no such moment.
pub fn unstamp(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('Z')?;
    let (date, time) = digits.split_once('T')?;
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if date.len() != 8 || time.len() != 6 || !all_digits(date) || !all_digits(time) {
        return None;
    }
    let number = |text: &str, from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(date, 0, 4)?, number(date, 4, 6)?, number(date, 6, 8)?);
    let (hour, minute, second) = (number(time, 0, 2)?, number(time, 2, 4)?, number(time, 4, 6)?);
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    // A thirteenth month or a 61st minute comes back as another moment.
    (stamp(seconds) == text).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_when_and_how_fine_and_comes_back() {
        let name = SegmentName { began_s: 1_795_374_192, grain: Grain::Minutes };
        assert_eq!(SegmentName::parse(&name.file()), Some(name));
        for seconds in [0, 951_782_399, 951_782_400, 1_795_260_967, 4_102_444_799] {
            assert_eq!(unstamp(&stamp(seconds)), Some(seconds));
        }
        assert_eq!(stamp(951_782_400), "20000229T000000Z");
        for text in ["20261322T000000Z", "20261122T006000Z", "2026-11-2T00000Z", "Z", "x"] {
            assert_eq!(unstamp(text), None, "{text}");
        }
        assert_eq!(SegmentName::parse("20261122T190312Z.seconds.iowhy.new"), None);
        assert!(name.touches(name.began_s * SECOND_NS, i64::MAX));
        assert!(!name.touches(0, name.began_s * SECOND_NS - 1));
    }
}
