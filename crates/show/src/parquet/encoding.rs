//! Parquet's encodings of levels, dictionary indexes and whole numbers.

use super::thrift::{varint, zigzag};

/// Values one after the other.
pub(super) const PLAIN: i32 = 0;
/// Runs of equal values, or bits.
pub(super) const RLE: i32 = 3;
/// Differences.
pub(super) const DELTA_BINARY_PACKED: i32 = 5;
/// Indexes in a dictionary.
pub(super) const RLE_DICTIONARY: i32 = 8;

/// Values in a block of differences, and in each of its parts (a multiple of 32 is required).
const DELTA_BLOCK: usize = 128;
const DELTA_PART: usize = 32;

/// Runs or bits, whichever the values allow: one run if they are all equal, else bits.
pub(super) fn hybrid(values: &[u32], width: u32, out: &mut Vec<u8>) {
    let Some(first) = values.first() else { return };
    if values.iter().all(|value| value == first) {
        varint((values.len() as u64) << 1, out);
        let bytes = first.to_le_bytes();
        out.extend_from_slice(bytes.get(..width.div_ceil(8) as usize).unwrap_or_default());
        return;
    }
    let groups = values.len().div_ceil(8);
    varint((groups as u64) << 1 | 1, out);
    let padding = groups * 8 - values.len();
    let values = values.iter().map(|value| u64::from(*value));
    bits(values.chain(std::iter::repeat_n(0, padding)), width, out);
}

/// Whole numbers of 32 or 64 bits as differences.
pub(super) fn deltas(values: &[i64], word: u32, out: &mut Vec<u8>) {
    varint(DELTA_BLOCK as u64, out);
    varint((DELTA_BLOCK / DELTA_PART) as u64, out);
    varint(values.len() as u64, out);
    let Some((first, rest)) = values.split_first() else { return varint(0, out) };
    // Values and differences wrap in words of the column's own width.
    let narrow = |value: i64| if word == 32 { i64::from(value as i32) } else { value };
    varint(zigzag(narrow(*first)), out);
    let mut before = *first;
    let steps: Vec<i64> = rest
        .iter()
        .map(|value| {
            let step = narrow(value.wrapping_sub(before));
            before = *value;
            step
        })
        .collect();
    for block in steps.chunks(DELTA_BLOCK) {
        let least = block.iter().copied().min().unwrap_or(0);
        varint(zigzag(least), out);
        let above = |step: &i64| {
            let above = step.wrapping_sub(least) as u64;
            if word == 32 { above & u64::from(u32::MAX) } else { above }
        };
        let widths: Vec<u32> = block
            .chunks(DELTA_PART)
            .map(|part| part.iter().map(|step| 64 - above(step).leading_zeros()).max().unwrap_or(0))
            .collect();
        let unused = DELTA_BLOCK / DELTA_PART - widths.len();
        out.extend(widths.iter().map(|width| *width as u8).chain(std::iter::repeat_n(0, unused)));
        for (part, width) in block.chunks(DELTA_PART).zip(widths) {
            let padding = std::iter::repeat_n(0, DELTA_PART - part.len());
            bits(part.iter().map(above).chain(padding), width, out);
        }
    }
}

/// Values of this many bits each, the lowest bit first.
fn bits(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut held, mut count) = (0u128, 0);
    for value in values {
        held |= u128::from(value) << count;
        count += width;
        while count >= 8 {
            out.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push(held as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification_come_out_byte_for_byte() {
        // Encodings.md, run length encoding: 0 to 7 in three bits.
        let mut out = Vec::new();
        hybrid(&[0, 1, 2, 3, 4, 5, 6, 7], 3, &mut out);
        assert_eq!(out, [3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        out.clear();
        hybrid(&[1; 100], 1, &mut out);
        assert_eq!(out, [200, 1, 1]);
        // Encodings.md, delta encoding, second example: 7, 5, 3, 1, 2, 3, 4, 5.
        out.clear();
        deltas(&[7, 5, 3, 1, 2, 3, 4, 5], 64, &mut out);
        assert_eq!(out[..10], [128, 1, 4, 8, 14, 3, 2, 0, 0, 0]);
        assert_eq!(out[10..], [0b1100_0000, 0b0011_1111, 0, 0, 0, 0, 0, 0]);
    }
}
