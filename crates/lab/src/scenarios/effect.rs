//! Effects on requests beyond the disk models: faults of links, caches, sectors and power states,
//! which the models of [`crate::disk`] do not know.
//!
//! Each is a small state machine. A [`DiskWithEffects`] is a disk with its effects.

mod heat;
mod surface;
mod writes;

use std::collections::HashSet;

use iowhy_model::{Flags, Op};

pub use heat::Heat;
pub(super) use writes::{Cliff, Shingles};

use super::Chance;
use crate::disk::{Cause, Disk, Request};

/// Something that befalls requests. Times in ns.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A share of the requests is held for one to this many steps of equal length.
    Steps(u64, f64, usize),
    /// A share of the requests is retried until the limit, and what comes after it waits.
    Rescue(f64, u64, bool),
    /// Ranges (first byte, length) that are retried for that long at most; whether
    /// they fail in the end.
    Scars(Vec<(u64, u64)>, u64, bool),
    /// The link is down at these times, for this long.
    Away(Vec<(u64, u64)>),
    /// From some time on, no more than this many bytes per second pass.
    Narrow(u64, f64),
    /// No fault: bytes move at this rate per second.
    Bus(f64),
    /// It gets hot and slows itself down.
    Heat(Heat),
    /// A cache of fast cells that fills up.
    Cliff(Cliff),
    /// Tracks that overlap, behind a small cache.
    Shingles(Shingles),
    /// After a pause of that length it sleeps, and waking costs this much.
    Sleep(u64, u64),
    /// Cost of a flush, or of a write that must be on the medium.
    Barrier(u64),
    /// Cost of a discard, and per MiB of it; nothing else is served meanwhile.
    Trim(u64, u64),
    /// Reads take this many times as long while a write is in flight.
    Clash(f64),
    /// Extra cost of a write that does not cover whole blocks of that many bytes.
    Partial(u64, u64),
    /// Mean cost of the first access to each range of this many bytes.
    FirstTouch(u64, f64),
    /// A share of the packets is sent again after this long.
    Resent(f64, u64),
    /// Everything takes this many times as long between these times, on this disk and its
    /// neighbours.
    Together(Vec<(u64, u64)>, f64),
}

/// The result of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) due: u64,
    pub(super) failed: bool,
    pub(super) delayed: u64,
    pub(super) waited: u64,
}

/// A disk and its effects.
pub(super) struct DiskWithEffects {
    disk: Disk,
    pub(super) effects: Vec<Effect>,
    /// Whether it does one thing after the other.
    serial: bool,
    /// Until when nothing is served.
    blocked: u64,
    /// When the last answer was given.
    last: u64,
    /// Until when writes are in flight.
    writing: u64,
    /// Until when the bus is taken.
    bus: u64,
    touched: HashSet<u64>,
}

impl DiskWithEffects {
    pub(super) fn new(disk: Disk, effects: Vec<Effect>, serial: bool) -> DiskWithEffects {
        let touched = HashSet::new();
        DiskWithEffects { disk, effects, serial, blocked: 0, last: 0, writing: 0, bus: 0, touched }
    }

    /// Serves a request; requests come in the order of their issue.
    pub(super) fn serve(
        &mut self,
        request: &Request,
        flags: Flags,
        chance: &mut Chance,
    ) -> Outcome {
        let arrival = request.arrival.max(self.blocked);
        let served = self.disk.serve(&Request { arrival, ..*request });
        let faulty = [Cause::Retry, Cause::Slow, Cause::Stall, Cause::Recovery];
        let waited = [Cause::Queue, Cause::Cap, Cause::Cleaning];
        let sum = |of: &[Cause]| of.iter().map(|cause| served.spent(*cause)).sum::<u64>();
        let mut fate = Outcome {
            due: served.due,
            failed: served.failed,
            delayed: sum(&faulty) + (arrival - request.arrival),
            waited: sum(&waited),
        };
        let mut effects = std::mem::take(&mut self.effects);
        for effect in &mut effects {
            let before = fate.due;
            self.befall(effect, request, flags, &mut fate, chance);
            if !matches!(effect, Effect::Bus(_)) {
                fate.delayed += fate.due.saturating_sub(before);
            }
        }
        self.effects = effects;
        if self.serial && fate.due > served.due {
            self.blocked = self.blocked.max(fate.due);
        }
        if request.op == Op::Write {
            self.writing = self.writing.max(fate.due);
        }
        self.last = self.last.max(fate.due);
        fate
    }

    fn befall(
        &mut self,
        effect: &mut Effect,
        request: &Request,
        flags: Flags,
        fate: &mut Outcome,
        chance: &mut Chance,
    ) {
        let moves = matches!(request.op, Op::Read | Op::Write);
        match effect {
            Effect::Steps(step, share, most) if moves && chance.chance(*share) => {
                fate.due += *step * chance.whole(1, *most) as u64;
            }
            Effect::Rescue(share, limit, fails) if moves && chance.chance(*share) => {
                // The timer is exact, what follows it is not: a per mille.
                fate.due = request.arrival + *limit + chance.wait(*limit as f64 * 1e-3) as u64;
                fate.failed |= *fails;
                self.blocked = self.blocked.max(fate.due);
            }
            Effect::Scars(places, tries, fails) => {
                surface::scars(places, *tries, *fails, request, fate, chance);
            }
            Effect::Away(times) => {
                for (at, length) in times.iter() {
                    if fate.due > *at && request.arrival < at + length {
                        // Requests in flight are sent again when the link is back.
                        fate.due = at + length + (fate.due - request.arrival.max(self.blocked));
                        self.blocked = self.blocked.max(at + length);
                    }
                }
            }
            Effect::Narrow(from, rate) if request.arrival >= *from => {
                fate.due += (f64::from(request.bytes) / *rate * 1e9) as u64;
                self.blocked = self.blocked.max(fate.due);
            }
            Effect::Bus(rate) if moves => {
                let moved = (f64::from(request.bytes) / *rate * 1e9) as u64;
                self.bus = self.bus.max(request.arrival) + moved;
                fate.due = fate.due.max(self.bus);
            }
            Effect::Heat(heat) => heat.befall(request, fate),
            Effect::Cliff(cliff) => cliff.befall(request, fate),
            Effect::Shingles(shingles) => shingles.befall(request, fate, chance),
            Effect::Sleep(after, cost) if self.last > 0 && request.arrival > self.last + *after => {
                fate.due += (*cost as f64 * chance.even(0.98, 1.02)) as u64;
                self.blocked = self.blocked.max(request.arrival + *cost);
            }
            Effect::Barrier(cost) => {
                let must = request.op == Op::Flush
                    || (request.op == Op::Write
                        && (flags.has(Flags::FUA) || flags.has(Flags::PREFLUSH)));
                if must {
                    fate.due += (*cost as f64 * chance.even(0.8, 1.3)) as u64;
                    // A write through waits for itself alone.
                    if request.op == Op::Flush || flags.has(Flags::PREFLUSH) {
                        self.blocked = self.blocked.max(fate.due);
                    }
                }
            }
            Effect::Trim(each, per_mib) if request.op == Op::Discard => {
                let mib = u64::from(request.bytes) >> 20;
                fate.due += (*each + mib * *per_mib) * chance.whole(80, 120) as u64 / 100;
                self.blocked = self.blocked.max(fate.due);
            }
            Effect::Clash(times) if request.op == Op::Read && self.writing > request.arrival => {
                let own = fate.due - request.arrival;
                fate.due += (own as f64 * (*times - 1.0) * chance.even(0.7, 1.3)) as u64;
            }
            Effect::Partial(block, cost) if request.op == Op::Write => {
                let end = request.offset + u64::from(request.bytes);
                if !request.offset.is_multiple_of(*block) || !end.is_multiple_of(*block) {
                    fate.due += *cost;
                }
            }
            Effect::FirstTouch(stretch, cost)
                if moves && self.touched.insert(request.offset / (*stretch).max(1)) =>
            {
                fate.due += (*cost * chance.scale(0.4, 2.2)) as u64;
            }
            Effect::Resent(share, after) if moves && chance.chance(*share) => {
                fate.due += *after * [1, 1, 1, 3][chance.whole(0, 3)];
            }
            Effect::Together(times, factor) => {
                let within = |(at, until): &&(u64, u64)| (*at..*until).contains(&request.arrival);
                if times.iter().any(|time| within(&time)) {
                    // Its own service: waiting is not slowed down a second time.
                    let waited = fate.waited + fate.delayed;
                    let own = (fate.due - request.arrival).saturating_sub(waited);
                    fate.due += (own as f64 * (*factor - 1.0)) as u64;
                }
            }
            _ => {}
        }
    }
}
