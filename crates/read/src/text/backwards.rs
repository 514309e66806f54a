//! The columns of a line from its end towards its beginning, in bytes: for lines that come by the
//! million. Anything unusual is left to the slower general reader.

/// Most digits that a number may have and still fit.
const DIGITS: usize = 18;
const POWERS: [u64; 10] =
    [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
/// One in each byte of a machine word, and each byte's highest bit.
const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x80 * ONES;

/// The rest of a line; columns are taken off its end.
pub(crate) struct Backwards<'a>(pub(crate) &'a [u8]);

impl<'a> Backwards<'a> {
    /// The blanks at the end; there must be one.
    #[inline]
    pub(crate) fn blanks(&mut self) -> Option<()> {
        let [rest @ .., b' '] = self.0 else { return None };
        self.0 = rest;
        while let Some(eight) = self.0.last_chunk() {
            let others = u64::from_le_bytes(*eight) ^ (ONES * u64::from(b' '));
            let blanks = others.leading_zeros() as usize / 8;
            self.take(blanks);
            if blanks < 8 {
                return Some(());
            }
        }
        while let [rest @ .., b' '] = self.0 {
            self.0 = rest;
        }
        Some(())
    }

    /// A word without control characters, all of it ASCII.
    #[inline]
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        let line = self.0;
        while let [rest @ .., b'!'..=b'~'] = self.0 {
            self.0 = rest;
        }
        line.get(self.0.len()..).filter(|word| !word.is_empty())
    }

    /// A whole number.
    #[inline]
    pub(crate) fn integer(&mut self) -> Option<u64> {
        let (value, digits) = self.digits();
        (digits > 0).then_some(value)
    }

    /// A number with a point, times `10^places`, exactly.
    #[inline]
    pub(crate) fn fixed(&mut self, places: usize) -> Option<i64> {
        let (after, digits) = self.digits();
        let [rest @ .., b'.'] = self.0 else { return None };
        self.0 = rest;
        let whole = self.integer()?.checked_mul(*POWERS.get(places)?)?;
        let unit = POWERS.get(places.checked_sub(digits)?)?;
        i64::try_from(whole.checked_add(after * unit)?).ok()
    }

    /// The digits at the end, as a number, and how many there are: up to eight at once, more one by
    /// one.
    #[inline]
    fn digits(&mut self) -> (u64, usize) {
        let (mut value, mut digits) = match self.0.last_chunk() {
            Some(eight) => eight_digits(u64::from_le_bytes(*eight)),
            None => (0, 0),
        };
        self.take(digits);
        if digits == 0 || digits == 8 {
            let mut scale = if digits == 0 { 1 } else { 100_000_000 };
            while let [rest @ .., digit @ b'0'..=b'9'] = self.0
                && digits < DIGITS
            {
                value += u64::from(digit - b'0') * scale;
                scale *= 10;
                digits += 1;
                self.0 = rest;
            }
        }
        (value, digits)
    }

    #[inline]
    fn take(&mut self, bytes: usize) {
        self.0 = self.0.split_at_checked(self.0.len() - bytes).map_or(&[], |(rest, _)| rest);
    }
}

/// The digits at the end of eight characters, the last of which is in the highest byte, and how
/// many there are. The products add neighbours: tens and ones, hundreds, then thousands (D. Lemire,
/// "Quickly parsing eight digits", 2018).
#[inline]
fn eight_digits(characters: u64) -> (u64, usize) {
    let values = characters ^ (ONES * u64::from(b'0'));
    // The sum sets a byte's highest bit if it is above 9, and cannot carry into the next.
    let others = (((values & !TOPS) + (0x7f - 9) * ONES) | values) & TOPS;
    let digits = others.leading_zeros() as usize / 8;
    let kept = u64::MAX.checked_shl(64 - 8 * digits as u32).unwrap_or(0);
    let pairs = (values & kept).wrapping_mul(10).wrapping_add((values & kept) >> 8);
    let every_other = 0x0000_00ff_0000_00ff;
    let high = (pairs & every_other).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & every_other).wrapping_mul(1 + (10_000 << 32));
    (high.wrapping_add(low) >> 32, digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_are_those_of_the_standard_library() {
        for digits in 1..=DIGITS {
            let number = &"987654321012345678"[..digits];
            for before in ["", " ", "x", "       ", "/:/:/:/:"] {
                let line = format!("{before}{number}");
                let mut line = Backwards(line.as_bytes());
                assert_eq!(line.integer(), number.parse().ok(), "{before:?} {number}");
                assert_eq!(line.0, before.as_bytes());
            }
        }
        assert_eq!(Backwards(b"").integer(), None);
        assert_eq!(Backwards(b"\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7").integer(), None);
        for blanks in 1..20 {
            let line = format!("x{}", " ".repeat(blanks));
            let mut line = Backwards(line.as_bytes());
            assert_eq!((line.blanks(), line.0), (Some(()), &b"x"[..]));
        }
    }

    #[test]
    fn columns_come_off_the_end() {
        let mut line = Backwards(b"0.000097 sd\xc3 sda1  4096 77.96");
        assert_eq!(line.fixed(6), Some(77_960_000));
        assert_eq!(line.blanks(), Some(()));
        assert_eq!(line.integer(), Some(4096));
        assert_eq!((line.blanks(), line.blanks()), (Some(()), None));
        assert_eq!(line.word(), Some(&b"sda1"[..]));
        assert_eq!((line.blanks(), line.word()), (Some(()), None));
        assert_eq!(Backwards(b"0.000097").fixed(9), Some(97_000));
        assert_eq!(Backwards(b"7.").fixed(2), Some(700));
        for bad in [&b"77.965"[..], b".96", b"7796", b"9999999999999999999.96", b"1.-6"] {
            assert_eq!(Backwards(bad).fixed(2), None);
        }
        assert_eq!(Backwards(b"99999999999.5").fixed(9), None, "more than fits");
    }
}
