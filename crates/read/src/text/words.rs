//! The words of a line, found eight bytes at a time.

/// Whether a line may be printed for people: it has several words and is not part of a document
/// of JSON. What begins no such line need not be searched for in the others.
pub(crate) fn is_for_people(line: &str) -> bool {
    let text = line.trim();
    !text.starts_with('{') && memchr::memchr2(b' ', b'\t', text.as_bytes()).is_some()
}

/// Most words kept of a line; no table here has as many columns.
const KEPT: usize = 32;
/// One in each byte of a machine word, and each byte's highest bit.
const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x80 * ONES;

/// The positions of a line's words. Blanks and control characters part them.
pub(crate) struct Words<'a> {
    line: &'a str,
    bounds: [(u32, u32); KEPT],
    count: usize,
}

impl<'a> Words<'a> {
    /// The words of a line; `None` if there are too many of them.
    #[inline]
    pub(crate) fn of(line: &'a str) -> Option<Words<'a>> {
        let mut words = Words { line, bounds: [(0, 0); KEPT], count: 0 };
        let mut start = None;
        let mut place = 0u32;
        let (eights, rest) = line.as_bytes().as_chunks::<8>();
        let mut last = [b' '; 8];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        for bytes in eights.iter().copied().chain([last]) {
            let written = visible(u64::from_le_bytes(bytes));
            // A bit for each byte that differs from the one before: words begin and end there.
            let mut turns = (written ^ (written << 1 | u64::from(start.is_some()))) & 0xff;
            while turns != 0 {
                let here = place + turns.trailing_zeros();
                turns &= turns - 1;
                start = match start {
                    None => Some(here),
                    Some(start) => {
                        *words.bounds.get_mut(words.count)? = (start, here);
                        words.count += 1;
                        None
                    }
                };
            }
            place += 8;
        }
        Some(words)
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// A word, counted from the left.
    pub(crate) fn get(&self, place: usize) -> Option<&'a str> {
        self.between(place, place)
    }

    /// The text from one word to another, blanks between them included.
    pub(crate) fn between(&self, first: usize, last: usize) -> Option<&'a str> {
        let bounds = self.bounds.get(..self.count)?;
        self.line.get(bounds.get(first)?.0 as usize..bounds.get(last)?.1 as usize)
    }
}

/// A bit for each of eight bytes that is above the blank (Warren, Hacker's Delight, 6-1: the sum
/// cannot carry into the next byte; the product gathers the eight top bits).
fn visible(eight: u64) -> u64 {
    let above = ((eight & !TOPS) + (0x7f - 0x20) * ONES) | eight;
    ((above & TOPS) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_standard_library() {
        let lines = [
            "",
            " ",
            "a",
            "0.000004     supervise    1950   xvda1  W 13092560   4096    0.74",
            "  na\u{ef}ve\tw\u{f6}rds \u{1f600} 12345678 8 ",
            "12345678 1234567 123456789 ",
        ];
        for line in lines {
            let words = Words::of(line).unwrap();
            let found: Vec<_> = (0..words.count()).filter_map(|place| words.get(place)).collect();
            assert_eq!(found, line.split_ascii_whitespace().collect::<Vec<_>>(), "{line:?}");
        }
        let words = Words::of(" one  two three").unwrap();
        assert_eq!(words.between(0, 1), Some("one  two"));
        assert_eq!((words.get(3), words.between(1, 0)), (None, None));
        assert!(Words::of(&"x ".repeat(KEPT)).is_some());
        assert!(Words::of(&"x ".repeat(KEPT + 1)).is_none());
    }
}
