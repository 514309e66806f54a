//! Faults of a disk, as written on the command line.
//!
//! `retry=0.35`, `retry=0.9@1G+64M`, `slow=3`, `stall=2s/300ms`, `eio=4M+8K/7s`,
//! `recovery=0.01/7s`, `ticks=0.3/4ms`, `wake=5s/900ms`, `thermal=20s/8s/4`. A range is
//! `@START+LENGTH`; without one the whole disk is meant.

mod parse;

use super::{Cause, Freeze, Random, Request, Service};

/// Revolutions a drive tries before it gives up a sector, unless the fault says otherwise.
/// Document 000 shows reads that lost up to 28 revolutions and still came.
const REVOLUTIONS_TRIED: u32 = 100;
/// Time a drive with error recovery control spends on a sector it cannot read ("Error recovery
/// control" sets 7 s on drives made for arrays), ns.
const RECOVERY_NS: u64 = 7_000_000_000;
/// Ticks after which a firmware's timer releases a request in any case: at a chance of one half not
/// one of ten million requests gets there.
const TICKS: u64 = 24;

/// A range of the disk, in bytes.
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

/// A fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fault {
    /// Each access, and each repetition, costs another revolution with that probability.
    Retry {
        /// The probability, 0 to 1.
        chance: f64,
        /// Where.
        zone: Zone,
    },
    /// Everything takes this many times as long from the start.
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
    /// A range that cannot be read or written.
    Unreadable {
        /// Where.
        zone: Zone,
        /// How long the drive tries before it fails the request, ns.
        recovery: u64,
    },
    /// Now and then a sector is rescued, and that takes the drive's whole time limit for it.
    Recovery {
        /// The probability per request, 0 to 1.
        chance: f64,
        /// The time limit, ns.
        limit: u64,
    },
    /// The firmware answers on ticks of a timer, and misses some of them.
    Ticks {
        /// The probability that an answer, and again that it, waits for the next tick.
        chance: f64,
        /// From tick to tick, ns.
        period: u64,
    },
    /// After a pause it sleeps, and the first request has to wake it.
    Wake {
        /// The pause after which it sleeps, ns.
        idle: u64,
        /// How long it takes to wake, ns.
        time: u64,
    },
    /// At even intervals it is hot, and works slower for a while.
    Thermal {
        /// From end to end, ns.
        every: u64,
        /// How long it is hot, ns.
        length: u64,
        /// How many times as long everything takes then.
        factor: f64,
    },
}

impl Fault {
    /// The freezes it brings, counted from `start`.
    pub(super) fn freeze(&self, start: u64) -> Option<Freeze> {
        match *self {
            Fault::Stall { every, length } => Some(Freeze { start, every, length }),
            _ => None,
        }
    }

    /// Whether only a turning disk can have it.
    pub fn needs_platter(&self) -> bool {
        matches!(self, Fault::Retry { .. })
    }

    /// The factor of its heat, `age` ns after the disk began to live.
    fn heat(&self, age: u64) -> f64 {
        match *self {
            Fault::Thermal { every, length, factor } if age % every >= every - length => factor,
            _ => 1.0,
        }
    }
}

/// What faults do to a request, for any medium.
#[derive(Clone, Copy, Debug)]
pub(super) struct FaultsAtWork<'a> {
    /// The faults.
    pub(super) of: &'a [Fault],
    /// When the disk began to live, ns.
    pub(super) start: u64,
}

impl FaultsAtWork<'_> {
    /// Service since `begun`, extended by slowness and heat.
    pub(super) fn prolong(&self, served: &mut Service, begun: u64) {
        let healthy = served.due.saturating_sub(begun);
        let longer = |factor: f64| (healthy as f64 * (factor - 1.0)) as u64;
        let age = begun.saturating_sub(self.start);
        for fault in self.of {
            if let Fault::Slow { factor } = fault {
                served.spend(Cause::Slow, longer(*factor));
            }
            served.spend(Cause::Heat, longer(fault.heat(age)));
        }
    }

    /// How many revolutions are lost to retries, and whether the drive gave up in the end.
    pub(super) fn revolutions(&self, request: &Request, random: &mut Random) -> (u64, bool) {
        let mut revolutions = 0;
        for fault in self.of {
            let Fault::Retry { chance, zone } = fault else { continue };
            while zone.touches(request) && random.chance(*chance) {
                revolutions += 1;
                if revolutions >= u64::from(REVOLUTIONS_TRIED) {
                    return (revolutions, true);
                }
            }
        }
        (revolutions, false)
    }

    /// The drive tries to rescue what it cannot read: in vain on an unreadable range, with success
    /// elsewhere.
    pub(super) fn rescue(&self, request: &Request, random: &mut Random, served: &mut Service) {
        for fault in self.of {
            match fault {
                Fault::Unreadable { zone, recovery } if zone.touches(request) => {
                    served.spend(Cause::Recovery, *recovery);
                    served.failed = true;
                    return;
                }
                Fault::Recovery { chance, limit } if random.chance(*chance) => {
                    served.spend(Cause::Recovery, *limit);
                }
                _ => {}
            }
        }
    }

    /// The completion is held back until a tick of the firmware's timer.
    pub(super) fn hold(&self, random: &mut Random, served: &mut Service) {
        for fault in self.of {
            let Fault::Ticks { chance, period } = fault else { continue };
            let missed = (0..TICKS).take_while(|_| random.chance(*chance)).count() as u64;
            served.spend(Cause::Timer, missed * period);
        }
    }

    /// How long a disk needs to wake that has had nothing to do for `idle` ns.
    pub(super) fn waking(&self, since: u64) -> u64 {
        let times = self.of.iter().map(|fault| match fault {
            Fault::Wake { idle, time } if since >= *idle => *time,
            _ => 0,
        });
        times.max().unwrap_or(0)
    }
}
