//! The bins in which fio counts latencies: 64 per octave, so that a value is off by less than
//! one part in 128 (fio's stat.h, `FIO_IO_U_PLAT_BITS`, and stat.c, `plat_val_to_idx`).

/// Bins of an octave; below twice as many each value has a bin of its own.
pub(crate) const PER_OCTAVE: u64 = 64;

/// The bounds of bin number `index`: `low <= v < high`. `None` beyond 63 bits.
pub(crate) fn bounds(index: u64) -> Option<(u64, u64)> {
    if index < 2 * PER_OCTAVE {
        return Some((index, index + 1));
    }
    let shift = u32::try_from(index / PER_OCTAVE - 1).ok()?;
    let low = (PER_OCTAVE + index % PER_OCTAVE).checked_shl(shift).filter(|_| shift < 56)?;
    Some((low, low + (1 << shift)))
}

/// The bounds of the bin that holds `value`; fio prints a bin by its middle.
pub(crate) fn around(value: u64) -> (u64, u64) {
    let octave = value.checked_ilog2().unwrap_or(0);
    // The first two octaves' worth of bins are single values: 128 has its lowest seven bits free.
    let shift = octave.saturating_sub(PER_OCTAVE.ilog2());
    let low = value >> shift << shift;
    (low, low.saturating_add(1 << shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_by_its_number_and_by_its_middle() {
        assert_eq!(bounds(0), Some((0, 1)));
        assert_eq!(bounds(127), Some((127, 128)));
        assert_eq!(bounds(128), Some((128, 130)));
        // fio 3.33 put 343833 ns into the bin it prints as 342016.
        assert_eq!(around(342_016), (339_968, 344_064));
        for index in 0..1856 {
            let (low, high) = bounds(index).unwrap();
            assert_eq!(around(low + (high - low) / 2), (low, high), "bin {index}");
            assert_eq!(bounds(index + 1).unwrap().0, high);
        }
        assert_eq!(bounds(u64::MAX), None);
        around(u64::MAX);
        around(0);
    }
}
