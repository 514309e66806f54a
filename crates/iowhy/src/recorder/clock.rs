//! The clocks of the recorder: measurements are on the clock that stops during suspend, users'
//! times on the wall clock, and their offset may change.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

/// A second, ns.
pub(crate) const SECOND_NS: i64 = 1_000_000_000;
/// A step of the wall clock or a suspend is one from this length on, ns: ten times what NTP slews
/// in a second (500 ppm, adjtimex(2)), and far above what reading three clocks takes.
const STEP_NS: i64 = 100_000_000;

/// The source of the recorder's clocks.
#[derive(Debug, Default)]
pub(crate) struct ClockSource {
    shifted_by: Option<File>,
}

impl ClockSource {
    /// Those of this machine; for tests, with the wall clock shifted by as many seconds as the
    /// first word of this file says at that moment, and suspended for as many as the second says.
    ///
    /// # Errors
    /// If there is no such file.
    pub(crate) fn open(shifted_by: Option<&Path>) -> io::Result<ClockSource> {
        Ok(ClockSource { shifted_by: shifted_by.map(File::open).transpose()? })
    }

    /// Now.
    pub(crate) fn now(&self) -> Clocks {
        let mut now = Clocks::now();
        let Some(file) = &self.shifted_by else { return now };
        let mut text = [0; 64];
        let length = file.read_at(&mut text, 0).unwrap_or(0);
        let text = String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned();
        let mut words = text.split_whitespace().map(|word| word.parse::<i64>().unwrap_or(0));
        let mut shift = || words.next().unwrap_or(0).saturating_mul(1_000_000_000);
        now.wall = now.wall.saturating_add(shift());
        now.since_boot = now.since_boot.saturating_add(shift());
        now
    }
}

/// All of them at one moment, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clocks {
    /// CLOCK_MONOTONIC.
    pub monotonic: i64,
    /// Since 1970.
    pub wall: i64,
    /// CLOCK_BOOTTIME: continues during suspend.
    pub since_boot: i64,
}

impl Clocks {
    /// Now.
    pub(crate) fn now() -> Clocks {
        let ns = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
        };
        Clocks {
            monotonic: ns(ClockId::Monotonic),
            wall: ns(ClockId::Realtime),
            since_boot: ns(ClockId::Boottime),
        }
    }

    /// The offset from measured time to time since 1970.
    pub(crate) fn offset(self) -> i64 {
        self.wall - self.monotonic
    }

    /// Clock changes since an earlier moment.
    pub(crate) fn change(self, before: Clocks) -> Option<Change> {
        let asleep = (self.since_boot - self.monotonic) - (before.since_boot - before.monotonic);
        let moved = self.offset() - before.offset() - asleep;
        if asleep >= STEP_NS {
            return Some(Change::Slept(asleep));
        }
        (moved.abs() >= STEP_NS).then_some(Change::Stepped(moved))
    }

    /// Seconds since an earlier moment without suspend, independent of the wall clock.
    pub(crate) fn ran_s(self, since: Clocks) -> i64 {
        (self.monotonic - since.monotonic).max(0) / 1_000_000_000
    }

    /// The hour of the day, UTC.
    pub(crate) fn hour(self) -> u8 {
        (self.wall.div_euclid(3_600_000_000_000).rem_euclid(24)) as u8
    }
}

/// A clock change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// The machine was suspended this long, ns.
    Slept(i64),
    /// The wall clock was stepped by this much, ns.
    Stepped(i64),
}

/// The kernel's id of this boot.
pub(crate) fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_and_a_sleep_are_told_apart_and_slewing_is_neither() {
        let before = Clocks { monotonic: 1_000, wall: 5_000, since_boot: 2_000 };
        let after = |monotonic, wall, since_boot| {
            let more = |ns| ns + 1_000_000_000i64;
            let now = Clocks {
                monotonic: more(before.monotonic + monotonic),
                wall: more(before.wall + wall),
                since_boot: more(before.since_boot + since_boot),
            };
            now.change(before)
        };
        assert_eq!(after(0, 500_000, 0), None);
        assert_eq!(after(0, -3_600_000_000_000, 0), Some(Change::Stepped(-3_600_000_000_000)));
        assert_eq!(after(0, 60_000_000_000, 60_000_000_000), Some(Change::Slept(60_000_000_000)));
        let set_back = Clocks { monotonic: 8_000_000_000, wall: -5, since_boot: 0 };
        assert_eq!(set_back.ran_s(before), 7);
        let late = Clocks { monotonic: 0, wall: 23 * 3_600_000_000_000 + 1, since_boot: 0 };
        assert_eq!(late.hour(), 23);
    }
}
