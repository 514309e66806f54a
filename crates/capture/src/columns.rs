//! A column of numbers as bits: groups of 128, each as wide as most of its numbers need, with the
//! few wider numbers stored separately (the "patched frame of reference" of Zukowski et al., 2006).

use crate::bytes::{self, Bytes};

/// Numbers in a group; places in it fit into a byte.
const GROUP: usize = 128;
/// First byte of a column of equal numbers.
const CONSTANT: u8 = 0;
/// First byte of a column of groups.
const GROUPS: u8 = 1;

/// Writes a column.
pub(crate) fn pack(values: &[u64], out: &mut Vec<u8>) {
    let Some(first) = values.first() else { return };
    // Sectors and sizes are multiples of some power of two.
    let (all, differ) =
        values.iter().fold((0, 0), |(all, differ), value| (all | value, differ | value ^ first));
    if differ == 0 {
        out.push(CONSTANT);
        return bytes::number(*first, out);
    }
    let shift = all.trailing_zeros();
    out.extend_from_slice(&[GROUPS, shift as u8]);
    let mut group = [0u64; GROUP];
    for chunk in values.chunks(GROUP) {
        let group = &mut group[..chunk.len()];
        group.iter_mut().zip(chunk).for_each(|(to, from)| *to = from >> shift);
        pack_group(group, out);
    }
}

/// Reads a column of this many numbers.
pub(crate) fn unpack(count: usize, from: &mut Bytes) -> Option<Vec<u64>> {
    if count == 0 {
        return Some(Vec::new());
    }
    match from.byte()? {
        CONSTANT => Some(vec![from.number()?; count]),
        GROUPS => {
            let shift = u32::from(from.byte()?).min(63);
            let mut values = Vec::with_capacity(count);
            while values.len() < count {
                unpack_group((count - values.len()).min(GROUP), shift, from, &mut values)?;
            }
            Some(values)
        }
        _ => None,
    }
}

fn pack_group(group: &[u64], out: &mut Vec<u8>) {
    let (width, wider) = best_width(group);
    let mask = mask(width);
    out.extend_from_slice(&[width as u8, wider as u8]);
    let (mut packed, mut at) = ([0u8; GROUP * size_of::<u64>()], 0);
    let (mut bits, mut held) = (0u128, 0);
    for value in group {
        bits |= u128::from(value & mask) << held;
        held += width;
        // Whole words in order: 64 numbers take at most as many words as they are bits wide.
        if held >= u64::BITS {
            if let Some(room) = packed.get_mut(at..at + size_of::<u64>()) {
                room.copy_from_slice(&(bits as u64).to_le_bytes());
            }
            at += size_of::<u64>();
            bits >>= u64::BITS;
            held -= u64::BITS;
        }
    }
    out.extend_from_slice(packed.get(..at).unwrap_or_default());
    out.extend_from_slice(&bits.to_le_bytes()[..held.div_ceil(8) as usize]);
    if wider > 0 {
        for (place, value) in group.iter().enumerate().filter(|(_, value)| **value > mask) {
            out.push(place as u8);
            bytes::number(value >> width, out);
        }
    }
}

fn unpack_group(count: usize, shift: u32, from: &mut Bytes, into: &mut Vec<u64>) -> Option<()> {
    let width = u32::from(from.byte()?);
    let wider = from.byte()?;
    if width > 64 {
        return None;
    }
    let packed = from.take((count * width as usize).div_ceil(8))?;
    let start = into.len();
    let (mut bits, mut held) = (0u128, 0);
    let mut packed = packed.iter();
    for _ in 0..count {
        while held < width {
            bits |= u128::from(*packed.next()?) << held;
            held += 8;
        }
        into.push((bits as u64 & mask(width)) << shift);
        bits >>= width;
        held -= width;
    }
    for _ in 0..wider {
        let place = usize::from(from.byte()?);
        let high = from.number()?;
        let value = into.get_mut(start + place).filter(|_| place < count && width < 64)?;
        *value |= (high << width) << shift;
    }
    Some(())
}

/// The smallest width at which the group takes the fewest bytes, and how many numbers are wider.
fn best_width(group: &[u64]) -> (u32, usize) {
    let mut lengths = [0u8; 65];
    for value in group {
        lengths[(64 - value.leading_zeros()) as usize] += 1;
    }
    // From the widest down, so that the numbers above each width are known: `wider`.
    let (mut best, mut least) = ((0, 0), usize::MAX);
    let mut above = [(0usize, 0usize); 65];
    let mut kinds = 0;
    for width in (0..lengths.len()).rev() {
        let count = usize::from(lengths[width]);
        if count == 0 {
            continue;
        }
        let (mut patches, mut wider) = (0, 0);
        for (length, count) in above.iter().take(kinds) {
            patches += count * (1 + (length - width).div_ceil(7));
            wider += count;
        }
        let cost = (group.len() * width).div_ceil(8) + patches;
        if cost <= least {
            (best, least) = ((width as u32, wider), cost);
        }
        above[kinds] = (width, count);
        kinds += 1;
    }
    best
}

fn mask(width: u32) -> u64 {
    1u64.checked_shl(width).map_or(u64::MAX, |above| above - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(values: &[u64]) -> usize {
        let mut out = Vec::new();
        pack(values, &mut out);
        let mut from = Bytes(&out);
        assert_eq!(unpack(values.len(), &mut from).as_deref(), Some(values));
        assert!(from.0.is_empty());
        for cut in 0..out.len() {
            assert_eq!(unpack(values.len(), &mut Bytes(&out[..cut])), None);
        }
        out.len()
    }

    #[test]
    fn every_width_comes_back() {
        for width in 0..=64 {
            let values: Vec<u64> =
                (0..300u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask(width)).collect();
            let size = round_trip(&values);
            assert!(size <= 300 * width as usize / 8 + 40, "{width}: {size}");
        }
    }

    #[test]
    fn a_few_wide_numbers_do_not_widen_the_rest_and_equal_ones_take_nothing() {
        let mut values = vec![0u64; 1000];
        values.iter_mut().enumerate().for_each(|(k, value)| *value = k as u64 % 16);
        assert!(round_trip(&values) < 530);
        values[7] = u64::MAX;
        values[500] = 1 << 40;
        assert!(round_trip(&values) < 560);
        assert_eq!(round_trip(&[4096; 1000]), 3);
        let sectors: Vec<u64> = (0..1000).map(|k| k * 37 % 1024 * 8).collect();
        assert!(round_trip(&sectors) < 1290);
    }
}
