//! Names of segments: their start and their resolution.

use crate::SECOND_NS;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The time resolution of a segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grain {
    /// As recorded.
    Seconds,
    /// Downsampled to minutes.
    Minutes,
    /// Downsampled to hours.
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
    /// Its time resolution.
    pub grain: Grain,
}

impl SegmentName {
    /// The maximum length of a segment, s; then the recorder begins another one.
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

    /// Whether it may contain anything between these times, ns since 1970.
    pub fn touches(self, from_ns: i64, to_ns: i64) -> bool {
        let began = self.began_s.saturating_mul(SECOND_NS);
        // A cell may reach beyond the end of the segment that it began in.
        let over = began.saturating_add((Self::LENGTH_S + 60) * SECOND_NS);
        began <= to_ns && over >= from_ns
    }
}

/// The format of a time in a file's name.
const STAMP: &str = "%Y%m%dT%H%M%SZ";

/// A time as `20261122T190312Z`; the last representable one if it lies beyond.
pub fn stamp(seconds: i64) -> String {
    let moment = Timestamp::from_second(seconds);
    let beyond = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    moment.unwrap_or(beyond).strftime(STAMP).to_string()
}

/// Parses such a time; `None` if it is not one.
pub fn unstamp(text: &str) -> Option<i64> {
    let time = DateTime::strptime(STAMP, text).ok()?;
    let seconds = time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
    // The parser would accept fewer digits, too.
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
