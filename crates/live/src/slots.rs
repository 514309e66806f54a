//! The tracer's slots, as laid out in `bpf/slots.h`.

/// Requests per set of slots.
const WAYS: usize = 4;
/// Words of a tracked request.
const REQUEST_WORDS: usize = 8;
/// Words of a set: two cache lines for submitters, two for completers, and the requests.
pub(crate) const SET_WORDS: usize = 32 + WAYS * REQUEST_WORDS;
/// Offset of the kinds, each in the first half of a word.
const KINDS: std::ops::Range<usize> = WAYS..2 * WAYS;
/// Offset of the ends, two in a word.
const ENDS: std::ops::Range<usize> = 20..20 + WAYS / 2;
/// Offset of the requests.
const REQUESTS: std::ops::Range<usize> = 32..SET_WORDS;
/// The word of a request whose second half begins with the number of requests begun in its slot.
const BEGUN: usize = 4;

/// The bits of a kind that are the device's number (`number_of_kind` of `bpf/slots.h`).
const NUMBER: u32 = (1 << 29) - 1;

/// A slot whose last request was not seen to complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OpenSlot {
    /// That request: `struct tracked_request` of `bpf/slots.h`.
    pub request: [u64; REQUEST_WORDS],
    /// Its device, as the programs write it.
    pub number: u32,
    /// Earlier requests in the slot, of the same device and operation, whose completion was missed.
    pub before: u32,
}

/// The slots of a set whose last request was not seen to complete.
pub(crate) fn unended(set: &[u64; SET_WORDS]) -> impl Iterator<Item = OpenSlot> {
    let ends = set[ENDS].iter().flat_map(|word| <[u32; 2]>::from(halves(*word)));
    let requests = set[REQUESTS].chunks_exact(REQUEST_WORDS);
    let numbers = set[KINDS].iter().map(|word| halves(*word).0 & NUMBER);
    ends.zip(requests).zip(numbers).filter_map(|((ends, request), number)| {
        let request: [u64; REQUEST_WORDS] = request.try_into().ok()?;
        let begun = first_u16(halves(request[BEGUN]).1);
        // Both wrap at 2^16; the difference is still right.
        let unseen = begun.wrapping_sub(first_u16(ends));
        Some(OpenSlot { request, number, before: u32::from(unseen.checked_sub(1)?) })
    })
}

/// The two 32-bit numbers that lie in one word of memory, in order of address.
pub(crate) fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
}

/// Two 32-bit numbers, in order of address, as one word of memory.
pub(crate) fn word(first: u32, second: u32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// The one of two 16-bit numbers in half a word that lies first in memory.
fn first_u16(half: u32) -> u16 {
    let [a, b, ..] = half.to_ne_bytes();
    u16::from_ne_bytes([a, b])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word of four 16-bit numbers in order of address.
    fn short_words(of: [u16; 4]) -> u64 {
        let bytes: Vec<u8> = of.into_iter().flat_map(u16::to_ne_bytes).collect();
        u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
    }

    #[test]
    fn open_slots_report_missed_completions_also_after_a_wrap() {
        let mut set = [0; SET_WORDS];
        // Ended and left of two slots each: 7 of 7, 4 of 7, 65535 of 1, none of none.
        set[ENDS.start] = short_words([7, 7, 4, 9]);
        set[ENDS.start + 1] = short_words([65_535, 0, 0, 0]);
        set[KINDS.start + 1] = word(9 | 1 << 29, 0);
        for (way, begun) in [7, 7, 1].into_iter().enumerate() {
            set[REQUESTS.start + way * REQUEST_WORDS] = way as u64;
            set[REQUESTS.start + way * REQUEST_WORDS + BEGUN] = short_words([1, 2, begun, 9]);
        }
        let found: Vec<(u64, u32, u32)> =
            unended(&set).map(|one| (one.request[0], one.before, one.number)).collect();
        assert_eq!(found, [(1, 2, 9), (2, 1, 0)]);
    }
}
