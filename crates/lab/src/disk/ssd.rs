//! Flash: many dies at once, a small write buffer, and cleaning once the fresh blocks are used up.
//!
//! An address belongs to one die. A write is answered from the buffer and programmed later; when a
//! die has no fresh blocks left, every block it fills costs the cleaning of another one, and
//! reads of that die wait behind it: two modes, only under writes (Yan et al., Tiny-Tail Flash,
//! FAST 2017).

use iowhy_model::Op;

use super::disease::{Disease, recovery, slowness};
use super::{Cause, Request, Served};

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
    /// Erasing a block, ns (2 ms and up: likewise).
    pub erase: u64,
    /// Command overhead, ns.
    pub command: u64,
    /// Programs a die may be behind before a write has to wait.
    pub buffered_pages: u64,
    /// Bytes that can be written before cleaning begins.
    pub fresh: u64,
    /// Pages of a block that still hold live bytes when it is cleaned.
    pub live_pages: u64,
}

impl Default for Flash {
    fn default() -> Self {
        Flash {
            dies: 32,
            read: 60_000,
            program: 900_000,
            erase: 3_000_000,
            command: 15_000,
            buffered_pages: 32,
            fresh: u64::MAX,
            live_pages: 24,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    /// When all it was told to do is done.
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
}

impl Ssd {
    /// A disk of these dies, none busy.
    pub fn new(flash: Flash) -> Ssd {
        Ssd { flash, dies: vec![Die::default(); flash.dies.max(1)], fresh: flash.fresh }
    }

    pub(super) fn serve(&mut self, request: &Request, diseases: &[Disease]) -> Served {
        let mut served = Served::at(request.arrival);
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
        let mut worst = Served::at(begun);
        for page in pages {
            let place = (scatter(page) % self.dies.len() as u64) as usize;
            let mut own = Served::at(begun);
            if request.op == Op::Read {
                self.read_page(place, &mut own);
            } else {
                self.write_page(place, &mut own);
            }
            if own.due > worst.due {
                worst = own;
            }
        }
        for (cause, ns) in worst.why {
            served.spend(cause, ns);
        }
        served.spend(Cause::Slow, slowness(diseases, served.due - request.arrival));
        let vain = recovery(diseases, request);
        served.spend(Cause::Recovery, vain.unwrap_or(0));
        served.failed = vain.is_some();
        served
    }

    fn read_page(&mut self, place: usize, own: &mut Served) {
        let Some(die) = self.dies.get_mut(place) else { return };
        own.wait_until(Cause::Cleaning, die.cleaned);
        own.wait_until(Cause::Queue, die.free);
        own.spend(Cause::Transfer, self.flash.read);
        die.free = own.due;
    }

    fn write_page(&mut self, place: usize, own: &mut Served) {
        let flash = self.flash;
        let Some(die) = self.dies.get_mut(place) else { return };
        let behind = flash.buffered_pages * flash.program;
        own.wait_until(Cause::Cleaning, die.cleaned.saturating_sub(behind));
        own.wait_until(Cause::Queue, die.free.saturating_sub(behind));
        die.free = die.free.max(own.due) + flash.program;
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
