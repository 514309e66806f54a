//! Caches of disks that make writes fast until they are full.

use iowhy_model::Op;

use super::Outcome;
use crate::disk::Request;
use crate::scenarios::Chance;

/// Fast cells in front of slow ones: writes fill them, idle time empties them.
#[derive(Clone, Debug)]
pub struct Cliff {
    /// Bytes that fit.
    pub room: f64,
    /// Bytes per second while there is room.
    pub quick: f64,
    /// Bytes per second once they are full.
    pub slow: f64,
    /// Bytes per second that are moved on while it rests.
    pub folds: f64,
    /// Bytes in them now.
    pub filled: f64,
    /// When the last write was, ns.
    pub last: u64,
    /// When the next slow write may begin, ns.
    pub free: u64,
}

/// A pause from this length on is rest, ns: drives wait some hundred ms before they tidy up.
const REST: u64 = 200_000_000;

impl Cliff {
    /// Empty cells.
    pub fn new(room: f64, quick: f64, slow: f64, folds: f64) -> Cliff {
        Cliff { room, quick, slow, folds, filled: 0.0, last: 0, free: 0 }
    }

    pub(super) fn befall(&mut self, request: &Request, fate: &mut Outcome) {
        if request.op != Op::Write {
            return;
        }
        let rested = request.arrival.saturating_sub(self.last + REST) as f64 / 1e9;
        self.filled = (self.filled - rested * self.folds).max(0.0);
        let bytes = f64::from(request.bytes);
        self.filled += bytes;
        let full = self.filled > self.room;
        self.filled = self.filled.min(self.room);
        let rate = if full { self.slow } else { self.quick };
        self.free = self.free.max(request.arrival) + (bytes / rate * 1e9) as u64;
        fate.due = fate.due.max(self.free);
        self.last = self.last.max(fate.due);
    }
}

/// Overlapping tracks: a scattered write goes to a small cache, and when that is full, or the disk
/// is idle, a whole band is rewritten.
#[derive(Clone, Debug)]
pub struct Shingles {
    /// Bytes that the cache holds.
    pub room: f64,
    /// A band's cleaning, ns.
    pub clean: f64,
    /// Bytes that a cleaning frees.
    pub frees: f64,
    /// Bytes in the cache.
    pub filled: f64,
    /// The end of the last write: a write that continues there needs no cache.
    pub end: u64,
    /// When the last request was answered, and until when a band is being cleaned, ns.
    pub last: u64,
    /// See `last`.
    pub cleaning: u64,
}

impl Shingles {
    /// An empty cache.
    pub fn new(room: f64, clean: f64, frees: f64) -> Shingles {
        Shingles { room, clean, frees, filled: 0.0, end: 0, last: 0, cleaning: 0 }
    }

    pub(super) fn befall(&mut self, request: &Request, fate: &mut Outcome, chance: &mut Chance) {
        // After a rest it begins to clean by itself.
        if request.arrival > self.last + 5 * REST && self.filled > 0.3 * self.room {
            let begun = self.last + 5 * REST;
            let bands = (request.arrival - begun) as f64 / self.clean;
            self.filled = (self.filled - bands.ceil() * self.frees).max(0.0);
            // It is in the midst of one.
            self.cleaning =
                request.arrival + (self.clean * (bands.ceil() - bands).clamp(0.0, 1.0)) as u64;
        }
        let follows = request.offset == self.end;
        if request.op == Op::Write {
            self.end = request.offset + u64::from(request.bytes);
        }
        if request.op == Op::Write && !follows {
            self.filled += f64::from(request.bytes);
            if self.filled > self.room {
                let begun = self.cleaning.max(request.arrival);
                self.cleaning = begun + (self.clean * chance.even(0.6, 1.4)) as u64;
                self.filled -= self.frees;
            }
        }
        if self.cleaning > request.arrival {
            let waits = self.cleaning - request.arrival;
            fate.due = fate.due.max(request.arrival + waits);
        }
        self.last = self.last.max(fate.due);
    }
}
