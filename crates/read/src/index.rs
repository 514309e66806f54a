//! Selects the formats that a line is shown to: those with a needle in it.
//!
//! Most lines of most inputs begin no listing, and there are more formats than a line has letters.
//! One pass over a line finds the needles of all formats; formats without a needle in it would
//! answer no and are not asked.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::{FORMATS, Format, WallTime};

/// Needles that are not text but the shape of a line, by name: of listings that may begin with
/// numbers alone.
const SHAPES: [Shape; 11] = [
    Shape { name: "^address", has: has_address, is_of_part: true },
    Shape { name: "^bracket", has: |line| begins(line, is_bracket), is_of_part: false },
    Shape { name: "^comma", has: begins_with_comma, is_of_part: false },
    Shape { name: "^document", has: begins_document, is_of_part: false },
    Shape { name: "^function", has: begins_with_function, is_of_part: false },
    Shape { name: "^indented", has: is_indented, is_of_part: false },
    Shape { name: "^moment", has: |line| WallTime::read(line).is_some(), is_of_part: false },
    Shape { name: "^nanoseconds", has: has_nanoseconds, is_of_part: true },
    Shape { name: "^number", has: |line| begins(line, is_of_number), is_of_part: false },
    Shape {
        name: "^numbers",
        has: |line| words(line).all(|word| word == b"," || is_number(word)),
        is_of_part: false,
    },
    Shape { name: "^row", has: has_numbers, is_of_part: true },
];

/// A shape that a line may have.
struct Shape {
    name: &'static str,
    has: fn(&str) -> bool,
    /// Whether a line has it if a part of it has.
    is_of_part: bool,
}

/// The formats whose listing may begin at a line: all others answer no.
pub fn may_begin(line: &str) -> impl Iterator<Item = &'static Format> {
    Among::of(Index::built_in(), line).at(line, true)
}

/// The formats that are tried on a line.
pub(crate) struct Among<'i> {
    formats: &'static [Format],
    /// The texts found in the line; `None`: each is tried.
    found: Option<(&'i Index, Found)>,
}

/// What was found in a line.
struct Found {
    /// Those with a text in it, and those without needles.
    owners: FormatSet,
    /// Which of [`SHAPES`] a part of it cannot have.
    missing: [bool; SHAPES.len()],
}

impl<'i> Among<'i> {
    /// One, for any line.
    pub(crate) fn only(format: &'static Format) -> Among<'i> {
        Among { formats: std::slice::from_ref(format), found: None }
    }

    /// Those of a list that may begin at the line or at a part of it.
    pub(crate) fn of(index: &'i Index, line: &str) -> Among<'i> {
        Among { formats: index.formats, found: Some((index, index.find(line))) }
    }

    /// Those that are tried at the beginning of a text, in the order of the list. A part of the
    /// line can only contain what was found in the line.
    pub(crate) fn at(
        &self,
        text: &str,
        is_part: bool,
    ) -> impl Iterator<Item = &'static Format> + use<> {
        let formats = self.formats;
        let asked = match &self.found {
            None => FormatSet::all(formats.len()),
            Some((index, found)) if is_part => index.of_shape(found, text),
            Some((index, _)) => index.of_shape(&index.find(text), text),
        };
        asked.into_places().filter_map(|place| formats.get(place))
    }
}

/// The needles of a list of formats.
pub(crate) struct Index {
    formats: &'static [Format],
    texts: Option<AhoCorasick>,
    /// Whose each text is.
    owners: Vec<FormatSet>,
    /// Whose each of [`SHAPES`] is.
    shapes: [FormatSet; SHAPES.len()],
    /// Those without a needle.
    always: FormatSet,
}

impl Index {
    /// That of [`FORMATS`], made at first use.
    pub(crate) fn built_in() -> &'static Index {
        static BUILT_IN: LazyLock<Index> = LazyLock::new(|| Index::of(FORMATS));
        &BUILT_IN
    }

    /// That of a list, tried in its order.
    pub(crate) fn of(formats: &'static [Format]) -> Index {
        let mut texts: BTreeMap<String, FormatSet> = BTreeMap::new();
        let mut shapes = [FormatSet::default(); SHAPES.len()];
        let mut always = FormatSet::default();
        for (place, format) in formats.iter().enumerate() {
            let needles = format.needles();
            if needles.is_empty() {
                always.add(place);
            }
            for needle in needles {
                match (SHAPES.iter().position(|shape| shape.name == needle), numbered(needle)) {
                    (Some(shape), _) => shapes[shape].add(place),
                    (None, texts_of) => {
                        texts_of.for_each(|text| texts.entry(text).or_default().add(place));
                    }
                }
            }
        }
        let (needles, owners): (Vec<String>, Vec<FormatSet>) = texts.into_iter().unzip();
        // Of no needles it would be made for nothing, once for each input.
        let none = needles.is_empty();
        let texts = if none { None } else { AhoCorasick::new(needles).ok() };
        // More letters than it can count: each is tried.
        let counted = none || texts.is_some();
        let always = if counted { always } else { FormatSet::all(formats.len()) };
        Index { formats, texts, owners, shapes, always }
    }

    /// Whether there is no format in the list.
    pub(crate) fn is_empty(&self) -> bool {
        self.formats.is_empty()
    }

    /// The contents of a line.
    fn find(&self, line: &str) -> Found {
        let mut owners = self.always;
        let matches = self.texts.iter().flat_map(|texts| texts.find_overlapping_iter(line));
        for one in matches {
            if let Some(of_text) = self.owners.get(one.pattern().as_usize()) {
                owners.join(of_text);
            }
        }
        Found { owners, missing: SHAPES.map(|shape| shape.is_of_part && !(shape.has)(line)) }
    }

    /// The owners of what was found, and of the shapes that the line or a part of it has.
    fn of_shape(&self, found: &Found, text: &str) -> FormatSet {
        let mut asked = found.owners;
        for ((shape, owners), missing) in SHAPES.iter().zip(&self.shapes).zip(found.missing) {
            if !missing && (shape.has)(text) {
                asked.join(owners);
            }
        }
        asked
    }
}

/// A needle that ends with `\d`, for any digit, with each of them; any other as it is.
fn numbered(needle: &str) -> impl Iterator<Item = String> {
    let stem = needle.strip_suffix("\\d");
    let count = if stem.is_some() { 10 } else { 1 };
    (0..count)
        .map(move |digit| stem.map_or_else(|| needle.to_string(), |stem| format!("{stem}{digit}")))
}

/// Most formats in a list.
pub(crate) const MOST_FORMATS: usize = 512;

/// Some formats of a list, by their places in it: a line of a log makes several, so they are not on
/// the heap.
#[derive(Clone, Copy, Default)]
struct FormatSet([u64; MOST_FORMATS / 64]);

impl FormatSet {
    fn all(count: usize) -> FormatSet {
        let mut all = FormatSet::default();
        (0..count).for_each(|place| all.add(place));
        all
    }

    fn add(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    fn join(&mut self, other: &FormatSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    fn into_places(self) -> impl Iterator<Item = usize> {
        let bits = |mut word: u64| {
            std::iter::from_fn(move || {
                let lowest = (word != 0).then(|| word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(lowest)
            })
        };
        let words = self.0.into_iter().enumerate();
        words.flat_map(move |(at, word)| bits(word).map(move |bit| at * 64 + bit))
    }
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

/// Whether a number may begin so.
fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+' | '_')
}

/// Whether a line begins so, after blanks.
fn begins(line: &str, with: fn(char) -> bool) -> bool {
    line.trim_start_matches(is_blank).starts_with(with)
}

fn is_bracket(c: char) -> bool {
    matches!(c, '{' | '[' | '<' | '(')
}

/// Whether a document of JSON may begin here, and not a time in brackets.
fn begins_document(line: &str) -> bool {
    let text = line.trim_start_matches(is_blank);
    let list = || text.strip_prefix('[').map(|rest| rest.trim_start_matches(is_blank));
    let inside = |rest: &str| rest.is_empty() || rest.starts_with(['{', '[', ']']);
    text.starts_with('{') || list().is_some_and(inside)
}

/// Whether two blanks and no more are before the first word.
fn is_indented(line: &str) -> bool {
    line.strip_prefix("  ").is_some_and(|rest| !rest.starts_with(is_blank))
}

/// Whether there is a point with nine digits behind it.
fn has_nanoseconds(line: &str) -> bool {
    const DECIMALS: usize = 9;
    let bytes = line.as_bytes();
    let decimals = |point: usize| bytes.get(point + 1..=point + DECIMALS);
    memchr::memchr_iter(b'.', bytes)
        .any(|point| decimals(point).is_some_and(|digits| digits.iter().all(u8::is_ascii_digit)))
}

/// Whether the first word is a moment and has a comma, as one with a fraction has.
fn begins_with_comma(line: &str) -> bool {
    let first = line.split_whitespace().next().filter(|word| word.contains(','));
    first.is_some_and(|word| WallTime::read(word).is_some())
}

/// Whether the first word may be the address of a function of PCI: `03:00.0`.
fn begins_with_function(line: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let first = line.split_whitespace().next().filter(|word| word.contains(['.', ':']));
    first.is_some_and(|word| word.bytes().all(is_part))
}

/// Whether three words of a line may be numbers.
fn has_numbers(line: &str) -> bool {
    words(line).filter(|word| is_number(word)).nth(2).is_some()
}

/// The words of a line as bytes; what is not ASCII may be a blank.
fn words(line: &str) -> impl Iterator<Item = &[u8]> {
    line.as_bytes().split(|byte| !byte.is_ascii_graphic()).filter(|word| !word.is_empty())
}

/// Whether a word may be a number, with a sign, a unit of one letter or in hexadecimal, or dashes
/// in place of one; a date or a time of day is not.
fn is_number(word: &[u8]) -> bool {
    let mut before = b'+';
    let mut fits = |byte: &u8| {
        let signs = matches!(before, b'+' | b'-' | b'_' | b'e' | b'E');
        before = *byte;
        match byte {
            b'-' | b'+' | b'_' => signs,
            b'.' | b',' | b'x' => true,
            _ => byte.is_ascii_hexdigit(),
        }
    };
    let (first, last) = (word.first(), word.last());
    let begins = first.is_some_and(|byte| is_of_number(char::from(*byte)));
    let bare = match last {
        Some(b'%' | b'A'..=b'Z' | b'a'..=b'z') => word.get(..word.len() - 1).unwrap_or_default(),
        _ => word,
    };
    let says = word == b"---" || word.iter().any(u8::is_ascii_digit);
    begins && says && bare.iter().all(&mut fits)
}

/// Whether a line names a disk or a function of PCI by its address: `4:0:0:0`, `0000:03:00.0`.
fn has_address(line: &str) -> bool {
    let bytes = line.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_hexdigit() || **byte == b'+').count()
    };
    memchr::memchr_iter(b':', bytes).any(|first| {
        let second = first + 1 + digits(first + 1);
        let third = second + 1 + digits(second + 1);
        let domain = || first.checked_sub(4).is_some_and(|at| digits(at) == 4);
        match (bytes.get(second), bytes.get(third)) {
            (Some(b':'), Some(b':')) => digits(third + 1) > 0,
            (Some(b':'), Some(b'.')) => digits(third + 1) == 1 && domain(),
            _ => false,
        }
    })
}
