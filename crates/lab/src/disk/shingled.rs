//! A disk whose tracks overlap: a band can only be written from its beginning to its end.
//!
//! Writes that continue where their band was written last go there directly. All others go, one
//! after the other, to a reserved area at the disk's end; each of their bands must be cleaned
//! later, read whole and written whole. That is done in pauses, and when the area is full: then a
//! write waits for it (Aghayev and Desnoyers, Skylight, FAST 2015).
//!
//! Not modelled: reads of data in the reserved area go there.

use std::collections::BTreeMap;

use iowhy_model::Op;

use super::fault::FaultsAtWork;
use super::rotational::{Platter, Rotational};
use super::{Cause, Random, Request, Service};

/// A pause after which the disk begins to clean, ns (Skylight: about one second on both drives).
const PAUSE: u64 = 1_000_000_000;

/// The parameters of a shingled disk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shingles {
    /// Its platters.
    pub platter: Platter,
    /// Bytes of a band (Skylight measured 15 to 40 MiB).
    pub band: u64,
    /// Bytes kept for scattered writes; some GB on real disks, less here so that it fills in
    /// seconds.
    pub kept: u64,
}

impl Default for Shingles {
    fn default() -> Self {
        let platter = Platter {
            rpm: 5400,
            sectors_per_track: 2000,
            write_cache: 8 << 20,
            ..Platter::default()
        };
        Shingles { platter, band: 16 << 20, kept: 16 << 20 }
    }
}

/// A shingled disk and what it has yet to clean.
#[derive(Clone, Debug)]
pub struct Shingled {
    shingles: Shingles,
    bytes: u64,
    disk: Rotational,
    /// Bytes kept for each band that must be cleaned.
    dirty: BTreeMap<u64, u64>,
    /// Where each sequentially written band continues.
    ends: BTreeMap<u64, u64>,
    /// Where the next scattered write goes, from the beginning of the cache zone.
    next: u64,
    /// When the last cleaning ends.
    cleaned: u64,
    /// When the last request was done.
    done: u64,
}

impl Shingled {
    /// A disk of `bytes`, clean.
    pub fn new(shingles: Shingles, bytes: u64) -> Shingled {
        let disk = Rotational::new(shingles.platter, bytes);
        let (dirty, ends) = (BTreeMap::new(), BTreeMap::new());
        Shingled { shingles, bytes, disk, dirty, ends, next: 0, cleaned: 0, done: 0 }
    }

    pub(super) fn serve(
        &mut self,
        request: &Request,
        fault: FaultsAtWork<'_>,
        random: &mut Random,
    ) -> Service {
        self.use_pause(request.arrival);
        let mut place = request.offset;
        let mut wait_until = self.cleaned;
        if request.op == Op::Write {
            let band = request.offset / self.shingles.band;
            let begin = band * self.shingles.band;
            let end = self.ends.get(&band).copied().unwrap_or(begin);
            let in_order = end == request.offset || request.offset == begin;
            if in_order && !self.dirty.contains_key(&band) {
                self.ends.insert(band, request.offset + u64::from(request.bytes));
            } else {
                wait_until = self.make_room(request.arrival.max(wait_until), request.bytes);
                *self.dirty.entry(band).or_insert(0) += u64::from(request.bytes);
                place = self.kept_place(request.bytes);
            }
        }
        let arrival = request.arrival.max(wait_until);
        let mut served =
            self.disk.serve(&Request { offset: place, arrival, ..*request }, fault, random);
        let due = served.due;
        served.spend(Cause::Cleaning, arrival - request.arrival);
        served.due = due;
        self.done = self.done.max(due);
        served
    }

    /// Cleans bands while it is idle; a request that arrives meanwhile waits for the current band.
    fn use_pause(&mut self, now: u64) {
        let mut clock = self.done.max(self.cleaned).saturating_add(PAUSE);
        while clock < now && !self.dirty.is_empty() {
            self.dirty.pop_first();
            clock += self.cleaning();
            self.cleaned = clock;
        }
    }

    /// Cleans the fullest bands until this many bytes fit; when that is done.
    fn make_room(&mut self, now: u64, bytes: u32) -> u64 {
        let mut clock = now;
        while self.dirty.values().sum::<u64>() + u64::from(bytes) > self.shingles.kept {
            let fullest = self.dirty.iter().max_by_key(|(_, held)| **held).map(|(band, _)| *band);
            let Some(band) = fullest else { break };
            self.dirty.remove(&band);
            clock += self.cleaning();
            self.cleaned = clock;
        }
        clock
    }

    /// Where the next scattered write goes.
    fn kept_place(&mut self, bytes: u32) -> u64 {
        let begin = self.bytes.saturating_sub(self.shingles.kept);
        if self.next + u64::from(bytes) > self.shingles.kept {
            self.next = 0;
        }
        let place = begin + self.next;
        self.next += u64::from(bytes);
        place
    }

    /// A band is read whole and written whole, with a seek and half a revolution before each.
    fn cleaning(&self) -> u64 {
        let platter = &self.shingles.platter;
        2 * (platter.transfer(self.shingles.band) + platter.mean_seek + platter.revolution() / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Disk, Mechanism};
    use super::*;

    const BYTES: u64 = 4 << 30;

    fn disk() -> Disk {
        let shingles = Shingles::default();
        Disk::new(Mechanism::Shingled(Shingled::new(shingles, BYTES)), &[], 1, 0)
    }

    /// Writes one after the other, 64 KiB each; how long each was cleaned for.
    fn cleaning(disk: &mut Disk, places: impl Iterator<Item = u64>, from: u64) -> (Vec<u64>, u64) {
        let mut now = from;
        let mut took = Vec::new();
        for offset in places {
            let request = Request { op: Op::Write, offset, bytes: 65_536, arrival: now };
            let served = disk.serve(&request);
            took.push(served.spent(Cause::Cleaning));
            now = served.due + 1_000_000;
        }
        (took, now)
    }

    #[test]
    fn writes_in_order_are_never_cleaned_up_after_and_scattered_ones_are_once_the_room_is_gone() {
        let (took, _) = cleaning(&mut disk(), (0..2000).map(|k| k * 65_536), 0);
        assert!(took.iter().all(|ns| *ns == 0));
        // A band of 16 MiB at 92 MB/s, twice, two seeks and one revolution: 392 ms.
        let scattered = |k: u64| (k * 77 % 250) * (16 << 20) + (1 << 20);
        let mut faulty = disk();
        let (took, end) = cleaning(&mut faulty, (0..600).map(scattered), 0);
        assert!(took[..256].iter().all(|ns| *ns == 0), "256 writes of 64 KiB fill 16 MiB");
        let first = took.iter().find(|ns| **ns > 0).copied().unwrap() as f64 / 1e6;
        assert!((first - 392.2).abs() < 0.2, "{first} ms");
        // Each cleaning frees what was cached for one band: one to three writes.
        assert!(took[256..].iter().filter(|ns| **ns > 0).count() > 100);
        // After a long pause all is clean, and there is room again.
        let (took, _) = cleaning(&mut faulty, (0..200).map(scattered), end + 600_000_000_000);
        assert!(took.iter().all(|ns| *ns == 0), "{took:?}");
    }

    #[test]
    fn a_read_in_a_pause_waits_for_the_band_at_hand() {
        let mut disk = disk();
        let (_, end) = cleaning(&mut disk, (0..40).map(|k| (k << 24) + (1 << 20)), 0);
        // The first cleaning begins a second after the last write is done, 1 ms before `end`.
        let arrival = end + 1_100_000_000;
        let served = disk.serve(&Request { op: Op::Read, offset: 0, bytes: 4096, arrival });
        let waited = served.spent(Cause::Cleaning) as f64 / 1e6;
        assert!((waited - 291.2).abs() < 1.0, "{waited} ms of 392 are left");
    }
}
