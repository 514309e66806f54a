//! Numbers and texts as bytes: varints (LEB128), zigzag, texts prefixed by their length.

/// The bytes of a block, read from the front. Every read returns `None` once they run out.
pub(crate) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next `n` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    /// One byte.
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A varint.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A count of items of at least one byte each: never more than the bytes left.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    /// A whole number with its sign.
    pub(crate) fn signed(&mut self) -> Option<i64> {
        self.number().map(unzigzag)
    }

    /// A number that must fit into a smaller type.
    pub(crate) fn small<N: TryFrom<u64>>(&mut self) -> Option<N> {
        N::try_from(self.number()?).ok()
    }

    /// A text.
    pub(crate) fn text(&mut self) -> Option<String> {
        let length = self.count()?;
        Some(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    /// A number with a fraction.
    pub(crate) fn real(&mut self) -> Option<f64> {
        let bits: [u8; 8] = self.take(8)?.try_into().ok()?;
        Some(f64::from_le_bytes(bits))
    }

    /// An optional value, after a byte that shows whether it is present.
    pub(crate) fn maybe<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            1 => read(self).map(Some),
            _ => None,
        }
    }
}

/// Writes a varint.
pub(crate) fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a whole number with its sign.
pub(crate) fn signed(value: i64, out: &mut Vec<u8>) {
    number(zigzag(value), out);
}

/// Writes a text.
pub(crate) fn text(value: &str, out: &mut Vec<u8>) {
    number(value.len() as u64, out);
    out.extend_from_slice(value.as_bytes());
}

/// Writes a number with a fraction.
pub(crate) fn real(value: f64, out: &mut Vec<u8>) {
    out.extend(value.to_le_bytes());
}

/// Writes an optional value.
pub(crate) fn maybe<T>(value: Option<T>, out: &mut Vec<u8>, write: impl FnOnce(T, &mut Vec<u8>)) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        write(value, out);
    }
}

/// Zigzag: small signed numbers as small unsigned numbers.
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse.
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_half_a_number_is_none() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            number(value, &mut out);
            assert_eq!(Bytes(&out).number(), Some(value));
            out.pop();
            assert_eq!(Bytes(&out).number(), None);
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(Bytes(&[0xff; 11]).number(), None);
        assert_eq!(Bytes(&[200, 1, b'x']).text(), None);
    }
}
