//! Flash: many parallel dies, a small write buffer, fast cells that fill up, and garbage collection
//! once the fresh blocks are used up.
//!
//! An address belongs to one die. A write completes from the buffer and is programmed later; when a
//! die has no fresh blocks left, every block it fills costs the cleaning of another one, and reads
//! of that die wait for it: two modes, only during writes (Yan et al., Tiny-Tail Flash, FAST 2017).
//! If there are fast cells (one bit each), writes go there first; when these are full, each write
//! is slow until a pause has emptied them: the cliff (Yoo and Shin, HotStorage 2020).

use iowhy_model::Op;

use super::fault::FaultsAtWork;
use super::{Cause, Random, Request, Service};

/// Bytes of a flash page as the dies are addressed.
const PAGE: u64 = 16 << 10;
/// Pages of an erase block; small, so that cleaning shows within seconds.
const BLOCK_PAGES: u64 = 64;

/// The parameters of a flash disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flash {
    /// Dies that work side by side.
    pub dies: usize,
    /// Reading a page, ns (40 to 65 us: constants of the FEMU emulator).
    pub read: u64,
    /// Programming a page, ns (0.8 to 2.3 ms: likewise).
    pub program: u64,
    /// By how many percent of that a page may be faster or slower: of the pages that share their
    /// cells the first are programmed soonest (FEMU: 0.8 and 2.3 ms, 48 percent around the mean).
    pub uneven: u64,
    /// Bytes of fast cells; 0 if there are none.
    pub quick: u64,
    /// Programming a page of fast cells, ns (200 us: FEMU's constant for one bit a cell).
    pub quick_program: u64,
    /// Erasing a block, ns (2 ms and up: likewise).
    pub erase: u64,
    /// Command overhead, ns.
    pub command: u64,
    /// Programs a die may have outstanding before a write has to wait.
    pub buffered_pages: u64,
    /// Bytes that can be written before cleaning begins.
    pub fresh: u64,
    /// Pages of a block that are still valid when it is cleaned.
    pub live_pages: u64,
}

impl Default for Flash {
    fn default() -> Self {
        Flash {
            dies: 32,
            read: 60_000,
            program: 900_000,
            uneven: 0,
            quick: 0,
            quick_program: 200_000,
            erase: 3_000_000,
            command: 15_000,
            buffered_pages: 32,
            fresh: u64::MAX,
            live_pages: 24,
        }
    }
}

impl Flash {
    /// What programming one page takes where the mean is `program`.
    fn of_page(&self, program: u64, random: &mut Random) -> u64 {
        if self.uneven == 0 {
            return program;
        }
        let off = self.uneven as f64 / 100.0 * (2.0 * random.unit() - 1.0);
        (program as f64 * (1.0 + off)) as u64
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    /// When all its queued work is done.
    free: u64,
    /// When its last cleaning ends.
    cleaned: u64,
    /// Pages programmed into the block being filled.
    filled: u64,
}

/// A flash disk and what its dies are doing.
#[derive(Clone, Debug)]
pub struct Ssd {
    flash: Flash,
    dies: Vec<Die>,
    fresh: u64,
    /// Bytes in fast (SLC) cells.
    quick: u64,
    /// When its last request came.
    asked: u64,
}

impl Ssd {
    /// A disk of these dies, none busy.
    pub fn new(flash: Flash) -> Ssd {
        let dies = vec![Die::default(); flash.dies.max(1)];
        Ssd { flash, dies, fresh: flash.fresh, quick: 0, asked: 0 }
    }

    pub(super) fn serve(
        &mut self,
        request: &Request,
        fault: FaultsAtWork<'_>,
        random: &mut Random,
    ) -> Service {
        let mut served = Service::at(request.arrival);
        self.empty_quick_cells(request.arrival);
        served.spend(Cause::Command, self.flash.command);
        let pages = match request.op {
            Op::Read | Op::Write => pages(request),
            Op::Discard => {
                self.fresh = self.fresh.saturating_add(u64::from(request.bytes));
                0..0
            }
            Op::Flush | Op::Other => 0..0,
        };
        let begun = served.due;
        // The slowest page decides; its parts are the request's.
        let mut worst = Service::at(begun);
        for page in pages {
            let place = (scatter(page) % self.dies.len() as u64) as usize;
            let mut own = Service::at(begun);
            if request.op == Op::Read {
                self.read_page(place, &mut own);
            } else {
                self.write_page(place, random, &mut own);
            }
            if own.due > worst.due {
                worst = own;
            }
        }
        for (cause, ns) in worst.why {
            served.spend(cause, ns);
        }
        fault.prolong(&mut served, request.arrival);
        fault.rescue(request, random, &mut served);
        served
    }

    /// In a pause all dies move the contents of fast cells to the others at once.
    fn empty_quick_cells(&mut self, now: u64) {
        let idle_since = self.dies.iter().map(|die| die.free).max().unwrap_or(0).max(self.asked);
        let pages = now.saturating_sub(idle_since) / self.flash.program.max(1);
        let moved = pages.saturating_mul(PAGE).saturating_mul(self.dies.len() as u64);
        self.quick = self.quick.saturating_sub(moved);
        self.asked = now;
    }

    fn read_page(&mut self, place: usize, own: &mut Service) {
        let Some(die) = self.dies.get_mut(place) else { return };
        own.wait_until(Cause::Cleaning, die.cleaned);
        own.wait_until(Cause::Queue, die.free);
        own.spend(Cause::Transfer, self.flash.read);
        die.free = own.due;
    }

    fn write_page(&mut self, place: usize, random: &mut Random, own: &mut Service) {
        let flash = self.flash;
        let quick = self.quick + PAGE <= flash.quick;
        let program = if quick { flash.quick_program } else { flash.program };
        self.quick += if quick { PAGE } else { 0 };
        let Some(die) = self.dies.get_mut(place) else { return };
        let behind = flash.buffered_pages * program;
        own.wait_until(Cause::Cleaning, die.cleaned.saturating_sub(behind));
        own.wait_until(Cause::Queue, die.free.saturating_sub(behind));
        die.free = die.free.max(own.due) + flash.of_page(program, random);
        die.filled += 1;
        self.fresh = self.fresh.saturating_sub(PAGE);
        if self.fresh == 0 && die.filled >= BLOCK_PAGES {
            die.filled = 0;
            die.free += flash.live_pages * (flash.read + flash.program) + flash.erase;
            die.cleaned = die.free;
        }
    }
}

/// The pages a request touches.
fn pages(request: &Request) -> std::ops::Range<u64> {
    let end = request.offset + u64::from(request.bytes);
    request.offset / PAGE..end.div_ceil(PAGE)
}

/// Neighbouring pages go to dies far apart (Fibonacci hashing, Knuth vol. 3, 6.4).
fn scatter(page: u64) -> u64 {
    page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

#[cfg(test)]
mod tests {
    use super::super::{Disk, Mechanism};
    use super::*;

    fn request(op: Op, offset: u64, arrival: u64) -> Request {
        Request { op, offset, bytes: 4096, arrival }
    }

    #[test]
    fn reads_are_parallel_across_dies_and_serial_on_one() {
        let mut disk = Disk::new(Mechanism::Ssd(Ssd::new(Flash::default())), &[], 1, 0);
        let first = disk.serve(&request(Op::Read, 0, 0));
        assert_eq!(first.due, 75_000);
        let other = disk.serve(&request(Op::Read, PAGE, 0));
        assert_eq!(other.due, 75_000);
        let same = disk.serve(&request(Op::Read, 0, 0));
        assert_eq!((same.due, same.spent(Cause::Queue)), (135_000, 60_000));
    }

    #[test]
    fn writes_fall_off_the_cliff_when_the_quick_cells_are_full_and_a_pause_brings_them_back() {
        // One die, nothing buffered: each page waits for the one before it.
        let flash = Flash { dies: 1, buffered_pages: 0, quick: 100 * PAGE, ..Flash::default() };
        let mut disk = Disk::new(Mechanism::Ssd(Ssd::new(flash)), &[], 1, 0);
        let mut now = 0;
        let mut write = |pause: u64| {
            let begun = now + pause;
            now = disk.serve(&request(Op::Write, 0, begun)).due;
            now - begun
        };
        write(0);
        let took: Vec<u64> = (1..200).map(|_| write(0)).collect();
        // 200 us and 900 us a page, as long as the next write finds the die busy.
        assert_eq!((took[50], took[150]), (200_000, 900_000));
        // Ten pages' time of 0.9 ms bring ten fast pages back, once the die is done.
        write(10 * 900_000 + 900_000 + 1000);
        assert_eq!(write(0), 200_000);
    }

    #[test]
    fn pages_of_one_die_may_be_uneven_around_the_same_mean() {
        let flash = Flash { uneven: 48, ..Flash::default() };
        let mut random = Random::seeded(3);
        let took: Vec<u64> = (0..10_000).map(|_| flash.of_page(900_000, &mut random)).collect();
        let mean = took.iter().sum::<u64>() / 10_000;
        assert!(mean.abs_diff(900_000) < 10_000, "{mean}");
        assert!(took.iter().all(|ns| (468_000..=1_332_000).contains(ns)));
        assert_eq!(Flash::default().of_page(900_000, &mut random), 900_000);
    }

    #[test]
    fn reads_wait_behind_cleaning_only_once_the_fresh_blocks_are_gone() {
        let flash = Flash { dies: 1, ..Flash::default() };
        for (fresh, cleans) in [(u64::MAX, false), (0, true)] {
            let flash = Flash { fresh, ..flash };
            let mut disk = Disk::new(Mechanism::Ssd(Ssd::new(flash)), &[], 1, 0);
            let mut now = 0;
            for k in 0..BLOCK_PAGES {
                now = disk.serve(&request(Op::Write, k * PAGE, now + 1_000_000)).due;
            }
            let read = disk.serve(&request(Op::Read, 0, now));
            // 24 live pages of 0.96 ms and an erase of 3 ms, less what passed meanwhile.
            let waited = read.spent(Cause::Cleaning);
            assert_eq!(waited > 20_000_000, cleans, "{waited}");
        }
    }
}
