//! Requests in flight by sector.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use super::{Key, Request};

/// Most requests kept for one sector: programs that read or flush the same place at once.
pub(super) const MAX_PER_SECTOR: usize = 255;

/// Requests by device and sector, first come first served.
#[derive(Default)]
pub(super) struct Queues {
    pub(super) first: HashMap<Key, Request, BuildHasherDefault<FoldHasher>>,
    pub(super) len: usize,
    /// Requests for which there was no room, not yet reported.
    pub(super) refused: u64,
}

impl Queues {
    /// Queues a request after equal ones; false, and it is refused, if they are too many.
    pub(super) fn push(&mut self, key: Key, request: Request) -> bool {
        match self.first.entry(key) {
            Entry::Vacant(place) => drop(place.insert(request)),
            Entry::Occupied(place) if place.get().concurrent.len() < MAX_PER_SECTOR => {
                place.into_mut().concurrent.push(request);
            }
            Entry::Occupied(_) => {
                self.refused += 1;
                return false;
            }
        }
        self.len += 1;
        true
    }

    pub(super) fn take_first(&mut self, key: Key) -> Option<Request> {
        let Entry::Occupied(mut place) = self.first.entry(key) else { return None };
        self.len -= 1;
        if place.get().concurrent.is_empty() {
            return Some(place.remove());
        }
        let mut concurrent = std::mem::take(&mut place.get_mut().concurrent);
        let mut next = concurrent.remove(0);
        next.concurrent = concurrent;
        Some(place.insert(next))
    }

    pub(super) fn take_last(&mut self, key: Key) -> Option<Request> {
        let last = self.first.get_mut(&key)?.concurrent.pop();
        match last {
            Some(last) => {
                self.len -= 1;
                Some(last)
            }
            None => self.take_first(key),
        }
    }

    /// The first one at that place that passes.
    pub(super) fn find(
        &mut self,
        key: Key,
        passes: impl Fn(&Request) -> bool,
    ) -> Option<&mut Request> {
        let first = self.first.get_mut(&key)?;
        if passes(first) {
            return Some(first);
        }
        first.concurrent.iter_mut().find(|request| passes(request))
    }
}

/// Hashes a device and a sector by one wide multiplication; its odd constant is the golden
/// ratio's (Knuth, The Art of Computer Programming, volume 3, 6.4).
#[derive(Default)]
pub(super) struct FoldHasher(u64);

impl Hasher for FoldHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        let wide = u128::from(self.0 ^ number ^ 0x243f_6a88_85a3_08d3) * 0x9e37_79b9_7f4a_7c15;
        self.0 = wide as u64 ^ (wide >> 64) as u64;
    }
}
