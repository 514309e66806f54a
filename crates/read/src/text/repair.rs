//! Lines that would be rows of a listing if a non-number (`nan`, `inf`, `*****`, `-`) were a
//! number: such a line is a lost row, not prose.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use iowhy_model::{Note, Sink};

use crate::text::lines::NOTE_TEXT;
use crate::text::unread::is_disk;

/// What tools print for a number that they do not have.
const WORDS: [&str; 4] = ["nan", "infinity", "inf", "n/a"];
/// First lines of a listing whose shapes are kept.
const FIRST: usize = 64;
/// Lines that wait for a row of their shape, and for how many lines.
const WAITING: usize = 8;
const PATIENCE: usize = 8;
/// Characters of a line that are examined.
const TEXT: usize = 4096;
/// Odd words of a line that are tried one by one.
const PLACES: usize = 6;
/// What is put in their place: a whole number, numbers as latencies and times are printed, and one
/// that is whole sectors and a year.
pub(crate) const NUMBERS: [&str; 4] = ["1", "1.00", "1.000000", "2048"];
/// Digits that no number of 64 bits has more of: a counter that ran over, or was printed so.
const DIGITS: usize = 20;
/// Numbers of a shape of which the words need not be the same.
const ENOUGH: usize = 3;
/// Bytes of an input's lines that are tried as the beginning of a listing.
pub(crate) const ASKED: usize = 1 << 22;

/// The shapes of the rows of a listing, and the odd lines that wait for one.
#[derive(Default)]
pub(crate) struct Shapes {
    first: Vec<u64>,
    taken: usize,
    last: String,
    waiting: Vec<WaitingRow>,
}

/// An odd line before the first row of its shape.
struct WaitingRow {
    note: Note,
    shapes: Vec<u64>,
    until: usize,
}

impl Shapes {
    /// The listing took a line.
    pub(crate) fn took(&mut self, text: &str, sink: &mut dyn Sink) {
        self.last.clear();
        self.last.push_str(shortened(text));
        self.taken += 1;
        if self.taken > FIRST && self.waiting.is_empty() {
            return;
        }
        let shape = shape(text);
        if self.taken <= FIRST && !self.first.contains(&shape) {
            self.first.push(shape);
        }
        let taken = self.taken;
        for waiting in std::mem::take(&mut self.waiting) {
            if waiting.shapes.contains(&shape) {
                skip(waiting.note, sink);
            } else if taken < waiting.until {
                self.waiting.push(waiting);
            }
        }
    }

    /// The line is reported as lost already.
    pub(crate) fn forget(&mut self, line: u64) {
        self.waiting.retain(|waiting| waiting.note.line != line);
    }

    /// Whether the listing has taken a line of that shape.
    pub(crate) fn knows(&self, text: &str) -> bool {
        let shape = shape(text);
        self.first.contains(&shape) || !self.last.is_empty() && self::shape(&self.last) == shape
    }

    /// The last line that the listing took.
    pub(crate) fn last(&self) -> &str {
        &self.last
    }

    /// Whether a line that the listing did not accept is a damaged row of it; if that shows
    /// later, it is reported then.
    pub(crate) fn lost(&mut self, text: &str, mut note: Note) -> Option<Note> {
        let repaired = repaired(text);
        let shapes: Vec<u64> = repaired.iter().map(|(_, text)| shape(text)).collect();
        let last = (!self.last.is_empty()).then(|| shape(&self.last));
        let known = |shape: &u64| self.first.contains(shape) || last == Some(*shape);
        let (odd, _) = repaired.first()?;
        note.reason = reason(odd);
        if shapes.iter().any(known) {
            return Some(note);
        }
        if self.waiting.len() < WAITING {
            self.waiting.push(WaitingRow { note, shapes, until: self.taken + PATIENCE });
        }
        None
    }
}

/// The line is reported as lost, and for which disk: the note has it whole, and is shown shortened.
pub(crate) fn skip(mut note: Note, sink: &mut dyn Sink) {
    let separates = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '|' | '"');
    if let Some(disk) = note.text.split(separates).find(|word| is_disk(word)) {
        let device = sink.device(disk);
        sink.skipped_of(device);
    }
    note.text = note.text.chars().take(NOTE_TEXT).collect();
    sink.skip(note);
}

/// Why a line counts as lost.
pub(crate) fn reason(odd: &str) -> String {
    format!("`{odd}` instead of a number")
}

/// The odd words of a line, each with the line that has a number in its place; the first has
/// numbers in the places of all.
pub(crate) fn repaired(text: &str) -> Vec<(&str, String)> {
    let places = places(text);
    let Some((from, to)) = places.first().copied() else { return Vec::new() };
    let word = |(from, to): (usize, usize)| text.get(from..to).unwrap_or_default();
    let mut all = Vec::new();
    for number in NUMBERS {
        all.push((word((from, to)), with(text, &places, number)));
        if places.len() > 1 {
            let one = |place: &(usize, usize)| (word(*place), with(text, &[*place], number));
            all.extend(places.iter().take(PLACES).map(one));
        }
    }
    all
}

/// Whether a word is nothing but odd.
pub(crate) fn is_odd(word: &str) -> bool {
    places(word) == [(0, word.len())]
}

/// A line with each of [`NUMBERS`] in turn in the place of everything odd.
pub(crate) fn all_repaired(text: &str) -> [String; NUMBERS.len()] {
    let places = places(text);
    NUMBERS.map(|number| with(text, &places, number))
}

fn with(text: &str, places: &[(usize, usize)], number: &str) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (from, to) in places {
        out.push_str(text.get(at..*from).unwrap_or_default());
        out.push_str(number);
        at = *to;
    }
    out + text.get(at..).unwrap_or_default()
}

/// Whether a line has something in place of a number that its tool did not have.
pub(crate) fn has_odd(text: &str) -> bool {
    odd_places(text).next().is_some()
}

/// The position of something odd: a word for no number that is not part of a longer word of
/// letters, stars, a sign before a number, a sign or question mark alone, a number beyond 64 bits.
fn places(text: &str) -> Vec<(usize, usize)> {
    odd_places(text).collect()
}

fn odd_places(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let (from, length) = (at, odd_at(text, at));
            at += length.max(1);
            if length > 0 {
                return Some((from, at));
            }
        }
        None
    })
}

/// Bytes of what is odd and begins at a place; 0 if nothing does.
fn odd_at(text: &str, at: usize) -> usize {
    let (before, rest) = text.as_bytes().split_at(at);
    let before = before.last();
    match rest.first() {
        Some(b'*') => rest.iter().take_while(|byte| **byte == b'*').count(),
        Some(b'0'..=b'9') if !before.is_some_and(u8::is_ascii_alphanumeric) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits > DIGITS { digits } else { 0 }
        }
        Some(b'-' | b'?')
            if !before.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'?')) =>
        {
            sign(rest)
        }
        // The letters that WORDS begin with.
        Some(b'n' | b'N' | b'i' | b'I') if !before.is_some_and(u8::is_ascii_alphabetic) => {
            word(&text[at..])
        }
        _ => 0,
    }
}

/// Bytes of a sign that begin a rest: with the number that follows, or alone.
fn sign(rest: &[u8]) -> usize {
    let signs = rest.iter().take_while(|byte| matches!(byte, b'-' | b'?')).count();
    let number = rest[signs..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    // A unit may follow a sign alone, as it does a number.
    let letters = rest[signs..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let begins = letters > 0 && !std::str::from_utf8(&rest[signs..][..letters]).is_ok_and(unit);
    let odd = rest.get(signs..).and_then(|rest| std::str::from_utf8(rest).ok()).map_or(0, word);
    match (number, odd) {
        (0, 0) if begins || signs > 3 => 0,
        (0, odd) => signs + odd,
        (number, _) => signs + number,
    }
}

/// Bytes of a word for no number that begins a rest. A unit may follow it, as it follows a number.
fn word(rest: &str) -> usize {
    let fits = |word: &&&str| {
        rest.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word)) && {
            let letters = rest[word.len()..].bytes().take_while(u8::is_ascii_alphabetic).count();
            letters <= 4 && (letters == 0 || unit(&rest[word.len()..][..letters]))
        }
    };
    WORDS.iter().find(fits).map_or(0, |word| word.len())
}

fn unit(letters: &str) -> bool {
    const UNITS: [&str; 22] = [
        "s", "ms", "us", "ns", "sec", "msec", "usec", "nsec", "m", "h", "k", "g", "t", "b", "kb",
        "mb", "gb", "kib", "mib", "gib", "e", "r",
    ];
    UNITS.iter().any(|unit| unit.eq_ignore_ascii_case(letters))
}

pub(crate) fn shortened(text: &str) -> &str {
    // A character has at least one byte.
    if text.len() <= TEXT {
        return text;
    }
    let end = text.char_indices().nth(TEXT).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// What a line looks like: where it has numbers, with what around them, and where words. Of a line
/// of few numbers the words after the first count too.
fn shape(text: &str) -> u64 {
    let separates = |c: char| match c {
        ' ' | ',' | ';' | '|' | '"' | '=' | '(' | ')' | '[' | ']' => true,
        '!'..='~' => false,
        _ => c.is_whitespace(),
    };
    let words = shortened(text).split(separates).filter(|word| !word.is_empty());
    let words: Vec<(&str, bool)> = words.map(|word| (word, begins_number(word))).collect();
    let numbers = words.iter().filter(|(_, is_number)| *is_number).count();
    let mut hasher = DefaultHasher::new();
    for (place, (word, is_number)) in words.into_iter().enumerate() {
        if is_number {
            let mut in_number = false;
            for byte in word.bytes() {
                let number = byte.is_ascii_digit() || byte == b'.';
                match (number, in_number) {
                    (true, false) => 0u8.hash(&mut hasher),
                    (true, true) => {}
                    (false, _) if byte.is_ascii_alphabetic() => {}
                    (false, _) => byte.hash(&mut hasher),
                }
                in_number = number || byte.is_ascii_alphabetic();
            }
        } else if numbers >= ENOUGH || place == 0 {
            1u8.hash(&mut hasher);
        } else {
            word.hash(&mut hasher);
        }
        2u8.hash(&mut hasher);
    }
    hasher.finish()
}

fn begins_number(word: &str) -> bool {
    let word = word.strip_prefix(['-', '+', '<', '>', '~', '.', '@', '#']).unwrap_or(word);
    word.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd_and_what_is_a_word() {
        let odd = |text: &str| {
            let places = places(text);
            places.iter().map(|(from, to)| text[*from..*to].to_string()).collect::<Vec<_>>()
        };
        assert_eq!(odd("sda 1 nan -inf ***** N/A"), ["nan", "-inf", "*****", "N/A"]);
        assert_eq!(odd("nanms -1 --, -0.5s"), ["nan", "-1", "--", "-0.5"]);
        assert_eq!(odd("1 18446744073709551615 184467440737095516150"), ["184467440737095516150"]);
        assert!(odd("------ ---------- -----").is_empty(), "a ruler");
        assert!(odd("dm-0 information about the nanny 1-2 sda-b").is_empty());
    }

    #[test]
    fn rows_have_one_shape_whatever_their_numbers_are() {
        assert_eq!(shape("sda 1.0 2 3,5"), shape("nvme0n1   77 0.5 3,6"));
        assert_ne!(shape("sda 1.0 2 3"), shape("sda 1.0 2 3 4"));
        assert_eq!(shape("10:11:12 5ms 6ms"), shape("00:00:00 1.5ms 2us"));
        assert_ne!(shape("we waited 5"), shape("they slept 5"));
    }
}
