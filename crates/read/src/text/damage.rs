//! Signs of damage in a text of any format: bytes that no tool prints, and an input
//! that ends in the middle of a line.

use crate::text::lines::Line;
use crate::text::unread::is_disk;

/// The note about a line that was understood although it holds such bytes: a name or a blank was
/// damaged, and its text is not known.
pub(crate) const BROKEN: &str = "lines with non-printable bytes";
/// The note about such lines before a listing: one of them may have been its heading.
pub(crate) const BEFORE: &str = "lines with non-printable bytes before the listing";
/// The note about the last line of an input that has no line end and is not a whole row.
pub(crate) const CUT: &str = "lines without an end: the input may be truncated there";

/// Whether a text contains what neither people nor tools write: broken characters (which come as
/// U+FFFD) or control characters that move no cursor, ring no bell and set no colour.
pub(crate) fn is_broken(text: &str) -> bool {
    // Nearly every line is plain, which is faster to detect.
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) || *byte == b'\t';
    if text.as_bytes().iter().fold(true, |all, byte| all & plain(byte)) {
        return false;
    }
    let harmless = |c: char| matches!(c, '\t' | '\r' | '\x07' | '\x08' | '\x0c' | '\x1b');
    let odd = |c: char| c.is_control() && !harmless(c);
    text.contains(|c: char| c == char::REPLACEMENT_CHARACTER || odd(c))
}

/// Whether a line without an end may be half of one. A document of JSON is whole with its last
/// bracket, and its reader counts the brackets.
pub(crate) fn is_half(text: &str, line: Line) -> bool {
    let text = text.trim_end();
    !line.ended && !text.is_empty() && !text.ends_with(['}', ']'])
}

/// Whether a row without an end lacks decimals that the row above has in its last number. A missing
/// line end alone is no damage: editors and clipboards leave it out.
pub(crate) fn lacks_decimals(text: &str, above: &str) -> bool {
    let decimals = |line: &str| {
        let word = line.split_whitespace().next_back()?;
        let (whole, part) = word.split_once(['.', ',']).unwrap_or((word, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        (!whole.is_empty() && digits(whole) && digits(part)).then_some(part.len())
    };
    match (decimals(text), decimals(above)) {
        (Some(here), Some(above)) => here < above,
        (None, Some(_)) => text.trim_end().ends_with(['.', ',', '-']),
        _ => false,
    }
}

/// Whether a line is a prompt: `[root@host ~]# `, `$`, `host% `.
pub(crate) fn is_prompt(text: &str) -> bool {
    let text = text.trim();
    let short = text.split_whitespace().count() <= 4;
    short && text.ends_with(['$', '#', '%', '>'])
}

/// Whether a line without an end that the listing did not take is the beginning of a row: it has
/// fewer words than the row above, each of the same kind as there, and a number among them or a
/// disk's name first.
pub(crate) fn begins_row(text: &str, above: &str) -> bool {
    let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let (here, there): (Vec<&str>, Vec<&str>) =
        (text.split_whitespace().collect(), above.split_whitespace().collect());
    let alike = here.iter().zip(&there).all(|(here, there)| number(here) == number(there));
    let disk = |words: &[&str]| words.first().is_some_and(|word| is_disk(word));
    let short = here.len() <= there.len() && !here.is_empty();
    let numbers = here.iter().any(|word| number(word));
    let first = |words: &[&str]| words.first().and_then(|word| word.chars().next());
    let name = disk(&there) && here.len() == 1 && first(&here) == first(&there);
    short && alike && (numbers || name)
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded;

    const GOOD: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
                        0.000000 dd 16014 sdb R 37144544 131072 77.96\n\
                        0.143268 dd 16014 sdb R 37144800 131072 143.20\n\
                        ";

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
        let cut = [(super::CUT.to_string(), 1)];
        // The last row as it was printed, and without one, two and three of its characters.
        assert_eq!(lost(&GOOD[..GOOD.len() - 1]), []);
        for less in 2..6 {
            assert_eq!(lost(&GOOD[..GOOD.len() - less]), cut, "{less}");
        }
        assert_eq!(lost(&format!("{GOOD}and so on")), cut);
        for prompt in ["[root@host ~]# ", "$ ", "host% ", "\nthanks, Bob"] {
            assert_eq!(lost(&format!("{GOOD}{prompt}")), [], "{prompt}");
        }
        assert_eq!(lost(&format!("{GOOD}\nThat was the first disk.\n\nThis is a sentence")), []);
    }
}
