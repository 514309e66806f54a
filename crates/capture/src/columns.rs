//! A column of numbers as bits: groups of 128, each as wide as most of its numbers need, and the
//! few that are wider distinguished (the "patched frame of reference" of Zukowski et al., 2006).

use crate::bytes::{self, Bytes};

/// Numbers in a group; places in it fit into a byte.
const GROUP: usize = 128;
/// First byte of a column of equal numbers.
const CONSTANT: u8 = 0;
/// First byte of a column of groups.
const GROUPS: u8 = 1;

/// Writes a column.
pub fn pack(values: &[u64], out: &mut Vec<u8>) {
    let Some(first) = values.first() else { return };
    if values.iter().all(|value| value == first) {
        out.push(CONSTANT);
        return bytes::number(*first, out);
    }
    // Sectors and sizes are multiples of some power of two.
    let all = values.iter().fold(0, |all, value| all | value);
    let shift = all.trailing_zeros();
    out.extend([GROUPS, shift as u8]);
    let mut group = [0u64; GROUP];
    for chunk in values.chunks(GROUP) {
        let group = &mut group[..chunk.len()];
        group.iter_mut().zip(chunk).for_each(|(to, from)| *to = from >> shift);
        pack_group(group, out);
    }
}

/// Reads a column of so many numbers.
pub fn unpack(count: usize, from: &mut Bytes) -> Option<Vec<u64>> {
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
    let width = best_width(group);
    let mask = mask(width);
    let wider = group.iter().filter(|value| **value > mask).count();
    out.extend([width as u8, wider as u8]);
    let (mut bits, mut held) = (0u128, 0);
    for value in group {
        bits |= u128::from(value & mask) << held;
        held += width;
        while held >= 32 {
            out.extend((bits as u32).to_le_bytes());
            bits >>= 32;
            held -= 32;
        }
    }
    out.extend(&bits.to_le_bytes()[..held.div_ceil(8) as usize]);
    for (place, value) in group.iter().enumerate().filter(|(_, value)| **value > mask) {
        out.push(place as u8);
        bytes::number(value >> width, out);
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

/// The width at which the group takes the fewest bytes.
fn best_width(group: &[u64]) -> u32 {
    let mut lengths = [0usize; 65];
    for value in group {
        lengths[(64 - value.leading_zeros()) as usize] += 1;
    }
    let used = || lengths.iter().enumerate().filter(|(_, count)| **count > 0);
    let cost = |width: usize| {
        let wider = used().filter(|(length, _)| *length > width);
        let patches: usize =
            wider.map(|(length, count)| count * (1 + (length - width).div_ceil(7))).sum();
        (group.len() * width).div_ceil(8) + patches
    };
    let best = used().map(|(length, _)| length).min_by_key(|width| cost(*width));
    best.unwrap_or(0) as u32
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
