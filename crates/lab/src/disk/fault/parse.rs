//! Faults as they are written.

use super::super::units::{duration, size};
use super::{Fault, RECOVERY_NS, Zone};

impl Fault {
    /// Reads one from the command line.
    ///
    /// # Errors
    /// If it is none; the text shows what would be.
    pub fn parse(text: &str) -> Result<Fault, String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let (found, form) = match name {
            "ticks" => (ticks(value), "`ticks=0.3/4ms`: 30 % of the answers wait for a 4 ms tick"),
            "eio" => (unreadable(value), "`eio=START+LENGTH` or `eio=START+LENGTH/7s`"),
            "recovery" => (rescue(value), "`recovery=0.01/7s`: 1 % of the requests take 7 s"),
            "retry" => (retry(value), "`retry=0.35` or `retry=0.35@START+LENGTH`"),
            "slow" => (slow(value), "`slow=3`: everything takes 3 times as long"),
            "stall" => (stall(value), "`stall=2s/300ms`: every 2 s for 300 ms"),
            "thermal" => (thermal(value), "`thermal=20s/8s/4`: of 20 s 8 are 4 times slower"),
            "wake" => (wake(value), "`wake=5s/900ms`: 900 ms to wake from a sleep after 5 s"),
            _ => (None, "one of eio, recovery, retry, slow, stall, thermal, ticks, wake"),
        };
        found.ok_or_else(|| format!("`{text}` is not a fault; write {form}"))
    }
}

fn retry(value: &str) -> Option<Fault> {
    let (chance, place) = value.split_once('@').unwrap_or((value, ""));
    let chance = chance.parse().ok().filter(|chance| (0.0..=1.0).contains(chance))?;
    let zone = if place.is_empty() { Zone::WHOLE } else { zone(place)? };
    Some(Fault::Retry { chance, zone })
}

fn slow(value: &str) -> Option<Fault> {
    let factor = value.parse().ok().filter(|factor| (1.0..1e6).contains(factor))?;
    Some(Fault::Slow { factor })
}

/// `START+LENGTH`.
fn zone(text: &str) -> Option<Zone> {
    let (start, length) = text.split_once('+')?;
    Some(Zone { start: size(start)?, length: size(length)? })
}

fn stall(value: &str) -> Option<Fault> {
    let (every, length) = value.split_once('/')?;
    let (every, length) = (duration(every)?, duration(length)?);
    (length < every).then_some(Fault::Stall { every, length })
}

fn unreadable(value: &str) -> Option<Fault> {
    let (place, recovery) = value.split_once('/').unwrap_or((value, ""));
    let recovery = if recovery.is_empty() { RECOVERY_NS } else { duration(recovery)? };
    Some(Fault::Unreadable { zone: zone(place)?, recovery })
}

/// A probability and a time: `0.3/4ms`.
fn chance_and_time(value: &str) -> Option<(f64, u64)> {
    let (chance, time) = value.split_once('/')?;
    let chance = chance.parse().ok().filter(|chance| (0.0..=1.0).contains(chance))?;
    Some((chance, duration(time)?))
}

fn rescue(value: &str) -> Option<Fault> {
    let (chance, limit) = chance_and_time(value)?;
    Some(Fault::Recovery { chance, limit })
}

fn ticks(value: &str) -> Option<Fault> {
    let (chance, period) = chance_and_time(value)?;
    Some(Fault::Ticks { chance, period })
}

fn wake(value: &str) -> Option<Fault> {
    let (idle, time) = value.split_once('/')?;
    Some(Fault::Wake { idle: duration(idle)?, time: duration(time)? })
}

fn thermal(value: &str) -> Option<Fault> {
    let mut parts = value.split('/');
    let (every, length) = (duration(parts.next()?)?, duration(parts.next()?)?);
    let factor = parts.next()?.parse().ok().filter(|factor| (1.0..1e6).contains(factor))?;
    let one_more = parts.next().is_some();
    (length < every && !one_more).then_some(Fault::Thermal { every, length, factor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_they_are_written() {
        let retry = Fault::parse("retry=0.35").unwrap();
        assert_eq!(retry, Fault::Retry { chance: 0.35, zone: Zone::WHOLE });
        let zone = Zone { start: 1 << 30, length: 64 << 20 };
        assert_eq!(Fault::parse("retry=0.9@1G+64M"), Ok(Fault::Retry { chance: 0.9, zone }));
        assert_eq!(
            Fault::parse("stall=2s/300ms"),
            Ok(Fault::Stall { every: 2_000_000_000, length: 300_000_000 })
        );
        let zone = Zone { start: 4 << 20, length: 8192 };
        assert_eq!(
            Fault::parse("eio=4M+8K/0.5s"),
            Ok(Fault::Unreadable { zone, recovery: 500_000_000 })
        );
        assert_eq!(
            Fault::parse("thermal=20s/8s/4"),
            Ok(Fault::Thermal { every: 20_000_000_000, length: 8_000_000_000, factor: 4.0 })
        );
        assert_eq!(
            Fault::parse("ticks=0.3/4ms"),
            Ok(Fault::Ticks { chance: 0.3, period: 4_000_000 })
        );
        for bad in ["ticks=0.3", "wake=2s", "thermal=2s/3s/4", "recovery=2/7s"] {
            assert!(Fault::parse(bad).is_err(), "{bad}");
        }
        for bad in ["retry=2", "retry", "slow=0.5", "stall=1s/2s", "eio=5", "dust=1", "slow=-1"] {
            assert!(Fault::parse(bad).is_err(), "{bad}");
        }
    }
}
