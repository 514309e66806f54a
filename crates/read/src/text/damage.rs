//! What tells of damage in a text whatever its format: bytes that no tool prints, and an input
//! that ends in the middle of a line.

use crate::text::lines::Line;

/// What is said of a line that was understood although it holds such bytes: a name or a blank was
/// hit, and nobody knows what stood there.
pub(crate) const BROKEN: &str = "lines with bytes that no tool prints";
/// What is said of such lines before a listing: one of them may have been its heading.
pub(crate) const BEFORE: &str = "lines before the listing with bytes that no tool prints";
/// What is said of the last line of an input that has no line end.
pub(crate) const CUT: &str = "lines without an end: the input may be cut there";

/// Whether a text holds what neither people nor tools write: broken characters (which come as
/// U+FFFD) or control characters that move no cursor, ring no bell and set no colour.
pub(crate) fn is_broken(text: &str) -> bool {
    // Nearly every line is plain, which is quicker to tell.
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) || *byte == b'\t';
    if text.as_bytes().iter().fold(true, |all, byte| all & plain(byte)) {
        return false;
    }
    let harmless = |c: char| matches!(c, '\t' | '\r' | '\x07' | '\x08' | '\x0c' | '\x1b');
    let odd = |c: char| c.is_control() && !harmless(c);
    text.contains(|c: char| c == char::REPLACEMENT_CHARACTER || odd(c))
}

/// Whether a line is the last and may be half of one: it has no end. A document of JSON is whole
/// with its last bracket, and its reader counts the brackets.
pub(crate) fn is_half(text: &str, line: Line) -> bool {
    let text = text.trim_end();
    !line.ended && !text.is_empty() && !text.ends_with(['}', ']'])
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded;

    const GOOD: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
        0.000000 dd 16014 sdb R 37144544 131072 77.96\n\
        0.143268 dd 16014 sdb R 37144800 131072 143.20\n";

    fn lost(text: &str) -> Vec<(String, u64)> {
        let recording = recorded(text);
        let source = &recording.listings[0].source;
        assert_eq!((source.records, source.skipped), (2, 0), "{text}");
        source.losses.iter().map(|loss| (loss.what.clone(), loss.count)).collect()
    }

    #[test]
    fn broken_bytes_count_wherever_they_stand() {
        assert_eq!(lost(GOOD), []);
        let broken = |text: &str| lost(&GOOD.replacen("dd", text, 1));
        assert_eq!(broken("d\u{fffd}"), [(super::BROKEN.to_string(), 1)]);
        assert_eq!(broken("d\u{1}"), [(super::BROKEN.to_string(), 1)]);
        assert_eq!(broken("dä"), []);
        let before = lost(&format!("# bios\u{fffd}oop\n{GOOD}"));
        assert_eq!(before, [(super::BEFORE.to_string(), 1)]);
    }

    #[test]
    fn an_input_that_ends_within_a_line_is_cut() {
        assert_eq!(lost(&GOOD[..GOOD.len() - 1]), [(super::CUT.to_string(), 1)]);
        assert_eq!(lost(&format!("{GOOD}and so on")), [(super::CUT.to_string(), 1)]);
        assert_eq!(lost(&format!("{GOOD}\nThat was the first disk.\n\nThis is a sentence")), []);
    }
}
