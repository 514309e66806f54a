//! What a disk can suffer from, as it is written on the command line.
//!
//! `retry=0.35`, `retry=0.9@1G+64M`, `slow=3`, `stall=2s/300ms`, `eio=4M+8K/7s`. A place is
//! `@START+LENGTH`; without one the whole disk is meant.

use super::{Freeze, Random, Request, size};

/// Turns a drive tries before it gives a sector up, if the disease does not say otherwise. Document
/// 000 shows reads that lost up to 28 turns and still came.
const TURNS_TRIED: u32 = 100;
/// Time a drive with error recovery control spends on a sector it cannot read ("Error recovery
/// control" sets 7 s on drives made for arrays), ns.
const RECOVERY_NS: u64 = 7_000_000_000;

/// A stretch of the disk, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Zone {
    start: u64,
    length: u64,
}

impl Zone {
    const WHOLE: Zone = Zone { start: 0, length: u64::MAX };

    fn touches(self, request: &Request) -> bool {
        let end = request.offset.saturating_add(u64::from(request.bytes));
        request.offset < self.start.saturating_add(self.length) && self.start < end
    }
}

/// A disease.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Disease {
    /// Each access, and each repetition, costs another turn with that probability.
    Retry {
        /// The probability, 0 to 1.
        chance: f64,
        /// Where.
        zone: Zone,
    },
    /// From the start everything takes so many times as long.
    Slow {
        /// The factor, above 1.
        factor: f64,
    },
    /// At even intervals it does nothing for a while.
    Stall {
        /// From end to end, ns.
        every: u64,
        /// How long, ns.
        length: u64,
    },
    /// A stretch that cannot be read or written.
    Unreadable {
        /// Where.
        zone: Zone,
        /// How long the drive tries before it fails the request, ns.
        recovery: u64,
    },
}

impl Disease {
    /// Reads one from the command line.
    ///
    /// # Errors
    /// If it is none; the text says what would be.
    pub fn parse(text: &str) -> Result<Disease, String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let (found, form) = match name {
            "retry" => (retry(value), "`retry=0.35` or `retry=0.35@START+LENGTH`"),
            "slow" => (slow(value), "`slow=3`: everything takes 3 times as long"),
            "stall" => (stall(value), "`stall=2s/300ms`: every 2 s for 300 ms"),
            "eio" => (unreadable(value), "`eio=START+LENGTH` or `eio=START+LENGTH/7s`"),
            _ => (None, "one of retry, slow, stall, eio"),
        };
        found.ok_or_else(|| format!("`{text}` is no disease; write {form}"))
    }

    /// The freezes it brings, counted from `start`.
    pub(super) fn freeze(&self, start: u64) -> Option<Freeze> {
        match *self {
            Disease::Stall { every, length } => Some(Freeze { start, every, length }),
            _ => None,
        }
    }

    /// Whether only a turning disk can have it.
    pub fn needs_platter(&self) -> bool {
        matches!(self, Disease::Retry { .. })
    }
}

/// What `ns` of healthy service cost on top because of slowness.
pub(super) fn slowness(diseases: &[Disease], ns: u64) -> u64 {
    let extra = diseases.iter().map(|disease| match disease {
        Disease::Slow { factor } => (ns as f64 * (factor - 1.0)) as u64,
        _ => 0,
    });
    extra.sum()
}

/// How many turns are lost to retries, and whether the drive gave up in the end.
pub(super) fn turns(diseases: &[Disease], request: &Request, random: &mut Random) -> (u64, bool) {
    let mut turns = 0;
    for disease in diseases {
        let Disease::Retry { chance, zone } = disease else { continue };
        while zone.touches(request) && random.chance(*chance) {
            turns += 1;
            if turns >= u64::from(TURNS_TRIED) {
                return (turns, true);
            }
        }
    }
    (turns, false)
}

/// How long the drive tries in vain, if the request touches a stretch it cannot read.
pub(super) fn recovery(diseases: &[Disease], request: &Request) -> Option<u64> {
    diseases.iter().find_map(|disease| match disease {
        Disease::Unreadable { zone, recovery } if zone.touches(request) => Some(*recovery),
        _ => None,
    })
}

fn retry(value: &str) -> Option<Disease> {
    let (chance, place) = value.split_once('@').unwrap_or((value, ""));
    let chance = chance.parse().ok().filter(|chance| (0.0..=1.0).contains(chance))?;
    let zone = if place.is_empty() { Zone::WHOLE } else { zone(place)? };
    Some(Disease::Retry { chance, zone })
}

fn slow(value: &str) -> Option<Disease> {
    let factor = value.parse().ok().filter(|factor| (1.0..1e6).contains(factor))?;
    Some(Disease::Slow { factor })
}

/// `START+LENGTH`.
fn zone(text: &str) -> Option<Zone> {
    let (start, length) = text.split_once('+')?;
    Some(Zone { start: size(start)?, length: size(length)? })
}

fn stall(value: &str) -> Option<Disease> {
    let (every, length) = value.split_once('/')?;
    let (every, length) = (duration(every)?, duration(length)?);
    (length < every).then_some(Disease::Stall { every, length })
}

fn unreadable(value: &str) -> Option<Disease> {
    let (place, recovery) = value.split_once('/').unwrap_or((value, ""));
    let recovery = if recovery.is_empty() { RECOVERY_NS } else { duration(recovery)? };
    Some(Disease::Unreadable { zone: zone(place)?, recovery })
}

/// `300ms`, `2s`, `40us`, in ns.
pub fn duration(text: &str) -> Option<u64> {
    let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (number, unit) =
        units.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)))?;
    let value: f64 = number.parse().ok()?;
    (0.0..1e6).contains(&value).then_some((value * unit) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diseases_are_read_as_they_are_written() {
        let retry = Disease::parse("retry=0.35").unwrap();
        assert_eq!(retry, Disease::Retry { chance: 0.35, zone: Zone::WHOLE });
        let zone = Zone { start: 1 << 30, length: 64 << 20 };
        assert_eq!(Disease::parse("retry=0.9@1G+64M"), Ok(Disease::Retry { chance: 0.9, zone }));
        assert_eq!(
            Disease::parse("stall=2s/300ms"),
            Ok(Disease::Stall { every: 2_000_000_000, length: 300_000_000 })
        );
        let zone = Zone { start: 4 << 20, length: 8192 };
        assert_eq!(
            Disease::parse("eio=4M+8K/0.5s"),
            Ok(Disease::Unreadable { zone, recovery: 500_000_000 })
        );
        for bad in ["retry=2", "retry", "slow=0.5", "stall=1s/2s", "eio=5", "dust=1", "slow=-1"] {
            assert!(Disease::parse(bad).is_err(), "{bad}");
        }
    }
}
