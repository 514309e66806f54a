//! Whether requests begin and end where the device's blocks do, and which tasks read what they then
//! wrote.

use std::collections::HashMap;

/// Bytes of a sector, the kernel's unit whatever the device's block.
const SECTOR: u64 = 512;

/// Bytes from the start of the block of `block` bytes that contains `start`; blocks start at
/// `offset`.
pub fn past_block(start: u64, block: u64, offset: u64) -> u64 {
    start.wrapping_sub(offset).checked_rem(block).unwrap_or(0)
}

/// Whether a request touches only whole blocks of `block` bytes, which start at `offset`.
pub fn is_aligned(sector: u64, bytes: u32, block: u64, offset: u64) -> bool {
    let whole = block == 0 || u64::from(bytes).is_multiple_of(block);
    whole && past_block(sector.wrapping_mul(SECTOR), block, offset) == 0
}

/// A read or write in the order of completion of reads and issue of writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// When a read completed, or a write was issued, ns.
    pub ns: i64,
    /// Its first sector.
    pub sector: u64,
    /// Its length in bytes.
    pub bytes: u32,
    /// Whether it is a write.
    pub write: bool,
}

/// The share of the writes that were read at the same offset, in the same length, within a time
/// before, and how many writes there are.
pub fn read_before_write(accesses: &mut [Access], within_ns: i64) -> Option<(f64, usize)> {
    accesses.sort_by_key(|access| (access.ns, access.write));
    let mut read: HashMap<(u64, u32), i64> = HashMap::new();
    let (mut writes, mut beside) = (0usize, 0usize);
    for access in accesses.iter() {
        let place = (access.sector, access.bytes);
        if !access.write {
            read.insert(place, access.ns);
            continue;
        }
        writes += 1;
        let fresh = read.remove(&place).filter(|ns| access.ns.saturating_sub(*ns) <= within_ns);
        beside += usize::from(fresh.is_some());
    }
    (writes > 0).then(|| (beside as f64 / writes as f64, writes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_begin_where_their_offset_says() {
        assert!(is_aligned(8, 4096, 4096, 0));
        assert!(!is_aligned(63, 4096, 4096, 0));
        // A disk whose block 0 begins 3584 bytes early (alignment_offset 3584): 63 is aligned.
        assert!(is_aligned(63, 4096, 4096, 3584));
        assert!(!is_aligned(8, 512, 4096, 0));
        assert!(is_aligned(63, 512, 512, 0) && is_aligned(1, 7, 0, 0));
    }

    #[test]
    fn a_write_is_counted_with_its_own_read() {
        let at = |ns, sector, write| Access { ns, sector, bytes: 4096, write };
        let mut list = [
            at(10, 8, false),
            at(20, 8, true),
            at(30, 16, true),
            at(1, 24, false),
            at(99, 24, true),
        ];
        assert_eq!(read_before_write(&mut list, 50), Some((1.0 / 3.0, 3)));
        assert_eq!(read_before_write(&mut list[..0], 50), None);
    }
}
