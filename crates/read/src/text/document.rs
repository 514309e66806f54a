//! A JSON document that spans lines: collected piece by piece, repaired where it was truncated.

use serde_json::Value;

use crate::{Detect, Step};

/// Longest document kept at once, bytes. A list that is given out element by element may be as
/// long as it likes.
pub(crate) const DOCUMENT_LIMIT: usize = 64 << 20;

/// Whether a document with one of `keys` (quoted, as in `"sysstat"`) begins at the first line.
pub(crate) fn sniff_document(lines: &[&str], keys: &[&str]) -> Detect {
    let first = lines.first().map_or("", |line| line.trim_start());
    let list = first.strip_prefix('[').map(str::trim_start);
    // `[2026-11-21 10:00:00] {` is a log.
    if !first.starts_with('{')
        && !list.is_some_and(|rest| rest.is_empty() || rest.starts_with(['{', '[', ']']))
    {
        return Detect::No;
    }
    let mut nesting = Nesting::default();
    for line in lines {
        // Each begins with a quote, and few lines have its first letter after one.
        let bytes = line.as_bytes();
        let has = |quote: usize, key: &str| {
            bytes.get(quote + 1) == key.as_bytes().get(1)
                && bytes.get(quote..).is_some_and(|rest| rest.starts_with(key.as_bytes()))
        };
        let mut quotes = memchr::memchr_iter(b'"', bytes);
        if quotes.any(|quote| keys.iter().any(|key| has(quote, key))) {
            return Detect::Yes;
        }
        if !nesting.take_line(line) || nesting.open.is_empty() {
            return Detect::No;
        }
    }
    Detect::NeedLines
}

/// A plain value as text; `None` for a list, an object and null.
pub(crate) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// What came of a line.
#[derive(Debug)]
pub(crate) enum Piece {
    /// An element of the list whose elements are read one by one.
    Element(Value),
    /// The rest of the document, which is complete.
    Whole(Value),
    /// The text is not JSON from here on, and why.
    Broken(&'static str),
}

/// One document, as its lines come.
#[derive(Debug, Default)]
pub(crate) struct Document {
    text: String,
    nesting: Nesting,
    /// The list given out element by element, by its key in quotes.
    list: Option<&'static str>,
    /// The depth of that list, while it is open.
    inside: Option<usize>,
    /// Where in `text` its elements begin.
    base: usize,
    /// The position after the last complete inner object or list, and what was open there.
    sound: (usize, Vec<u8>),
    over: bool,
}

impl Document {
    /// Takes a line of a document whose list of that key (in quotes) is given out element by
    /// element; it is empty in the whole. With an empty key the document is that list.
    pub(crate) fn list_step(
        &mut self,
        key: impl Into<Option<&'static str>>,
        line: &str,
    ) -> (Vec<Piece>, Step) {
        self.list = key.into();
        self.step(line)
    }

    /// Nothing more belongs to it.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Takes a line of a listing that is this document: what it completed, and the note about it.
    pub(crate) fn step(&mut self, line: &str) -> (Vec<Piece>, Step) {
        if self.over {
            let step = if line.trim().is_empty() { Step::Consumed } else { Step::End };
            return (Vec::new(), step);
        }
        let pieces = self.line(line);
        let broken = pieces.iter().find_map(|piece| match piece {
            Piece::Broken(reason) => Some(Step::Malformed((*reason).to_string())),
            _ => None,
        });
        (pieces, broken.unwrap_or(Step::Consumed))
    }

    /// Takes a line.
    fn line(&mut self, line: &str) -> Vec<Piece> {
        let (mut pieces, line) = (Vec::new(), line.trim());
        // Up to here the line has been kept or ignored. Brackets are single bytes, and no
        // part of any longer letter.
        let mut done = 0;
        for (place, byte) in line.bytes().enumerate() {
            if self.over {
                break;
            }
            let depth = self.nesting.open.len();
            let ahead = depth == 0 && !matches!(byte, b'{' | b'[');
            let between = self.inside == Some(depth) && matches!(byte, b',' | b' ' | b'\t');
            if ahead || between {
                done = place + 1;
                continue;
            }
            let turn = self.nesting.take(byte);
            if turn == NestingChange::Inside {
                continue;
            }
            self.text.push_str(line.get(done..=place).unwrap_or_default());
            done = place + 1;
            match turn {
                NestingChange::Opened => self.opened(),
                NestingChange::Closed => self.closed(&mut pieces),
                _ => {
                    self.over = true;
                    pieces.push(Piece::Broken("the brackets of the document do not match"));
                }
            }
        }
        if !self.over {
            self.text.push_str(line.get(done..).unwrap_or_default());
        }
        self.nesting.line_end();
        if self.text.len() > DOCUMENT_LIMIT {
            self.over = true;
            pieces.push(Piece::Broken("the document is longer than 64 MiB"));
        }
        pieces
    }

    fn opened(&mut self) {
        let Some(key) = self.list.filter(|_| self.inside.is_none()) else { return };
        let before = self.text.strip_suffix('[').map(str::trim_end);
        if key.is_empty() && before == Some("") {
            (self.inside, self.base) = (Some(1), self.text.len());
            return;
        }
        if before
            .and_then(|text| text.strip_suffix(':'))
            .is_some_and(|text| text.trim_end().ends_with(key))
        {
            self.inside = Some(self.nesting.open.len());
            self.base = self.text.len();
        }
    }

    fn closed(&mut self, pieces: &mut Vec<Piece>) {
        let depth = self.nesting.open.len();
        if self.inside == Some(depth) {
            let element = self.text.split_off(self.base);
            pieces.push(match serde_json::from_str(&element) {
                Ok(value) => Piece::Element(value),
                Err(_) => Piece::Broken("an element of the list is not valid JSON"),
            });
        } else if self.inside.is_some_and(|inside| depth < inside) {
            self.inside = None;
        }
        if depth == 0 {
            self.over = true;
            pieces.push(match serde_json::from_str(&self.text) {
                Ok(value) => Piece::Whole(value),
                Err(_) => Piece::Broken("the document is not valid JSON"),
            });
        }
        self.sound = (self.text.len(), self.nesting.open.clone());
    }

    /// What is known of the document so far: all that is complete, with the brackets that are
    /// missing. `None` if it is over or nothing of it is complete.
    pub(crate) fn repaired(&self) -> Option<Value> {
        if self.over {
            return None;
        }
        let (end, open) = &self.sound;
        let closed = |end: usize, open: &[u8]| {
            let mut text = self.text.get(..end)?.trim_end_matches([',', ' ']).to_string();
            text.extend(open.iter().rev().map(|open| if *open == b'{' { '}' } else { ']' }));
            serde_json::from_str(&text).ok()
        };
        let whole = || closed(self.text.len(), &self.nesting.open);
        let inside =
            || self.inside.and_then(|depth| closed(self.base, self.nesting.open.get(..depth)?));
        whole().or_else(|| closed(*end, open)).or_else(inside)
    }

    /// Whether it ends within a value, and not between two.
    pub(crate) fn is_torn(&self) -> bool {
        let rest = self.text.get(self.sound.0.max(self.base)..).unwrap_or_default();
        !self.over
            && rest.bytes().any(|b| !matches!(b, b',' | b'{' | b'[') && !b.is_ascii_whitespace())
    }

    /// The element that was cut, as far as it is complete.
    pub(crate) fn cut_element(&self) -> Option<Value> {
        let depth = self.inside.filter(|_| !self.over)?;
        let (end, open) = &self.sound;
        let mut text = self.text.get(self.base..*end)?.to_string();
        text.extend(
            open.get(depth..)?.iter().rev().map(|open| if *open == b'{' { '}' } else { ']' }),
        );
        serde_json::from_str(&text).ok()
    }
}

/// Brackets that are open, and whether a string is.
#[derive(Debug, Default)]
struct Nesting {
    open: Vec<u8>,
    string: bool,
    escaped: bool,
}

#[derive(PartialEq, Debug)]
enum NestingChange {
    Inside,
    Opened,
    Closed,
    Wrong,
}

/// Deepest nesting; serde_json's own limit is 128.
const MAX_NESTING: usize = 100;

impl Nesting {
    fn take(&mut self, byte: u8) -> NestingChange {
        if std::mem::take(&mut self.escaped) {
            return NestingChange::Inside;
        }
        match (byte, self.string) {
            (b'\\', true) => self.escaped = true,
            (b'"', _) => self.string = !self.string,
            (b'{' | b'[', false) => {
                self.open.push(byte);
                return if self.open.len() > MAX_NESTING {
                    NestingChange::Wrong
                } else {
                    NestingChange::Opened
                };
            }
            (b'}' | b']', false) => {
                let fits =
                    matches!((self.open.pop(), byte), (Some(b'{'), b'}') | (Some(b'['), b']'));
                return if fits { NestingChange::Closed } else { NestingChange::Wrong };
            }
            _ => {}
        }
        NestingChange::Inside
    }

    /// Takes a whole line; false if its brackets do not match.
    fn take_line(&mut self, line: &str) -> bool {
        let mut rest = line.as_bytes();
        while let Some((byte, behind)) = rest.split_first() {
            if self.take(*byte) == NestingChange::Wrong {
                return false;
            }
            // Within a string only its end and what is escaped count.
            let next = if self.string && !self.escaped {
                memchr::memchr2(b'"', b'\\', behind)
            } else if self.escaped {
                Some(0)
            } else {
                behind.iter().position(|byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']'))
            };
            rest = next.and_then(|next| behind.get(next..)).unwrap_or_default();
        }
        self.line_end();
        true
    }

    /// No string of a document continues after the end of a line; one that seems to was damaged.
    fn line_end(&mut self) {
        (self.string, self.escaped) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn elements_come_one_by_one_and_a_cut_keeps_what_is_complete() {
        let mut document = Document { list: Some("\"list\""), ..Document::default() };
        let text = "x {\"a\": {\"name\": \"b}\",\n\"list\": [\n{\"n\": 1},\n{\"n\": 2}, {\"n\": \
                    [3], \"m\": [4,";
        let elements: Vec<Value> = text
            .lines()
            .flat_map(|line| document.line(line))
            .map(|piece| match piece {
                Piece::Element(value) => value,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(elements, [json!({"n": 1}), json!({"n": 2})]);
        assert_eq!(document.cut_element(), Some(json!({"n": [3]})));
        assert!(document.is_torn());
        let head = document.repaired().unwrap();
        assert_eq!(head["a"]["name"], "b}");
    }

    #[test]
    fn a_whole_document_and_a_broken_one() {
        let mut document = Document::default();
        assert!(document.line("{\"k\":").is_empty());
        assert!(matches!(&document.line("[1]} rest")[..], [Piece::Whole(v)] if v["k"][0] == 1));
        assert!(document.is_over());
        assert!(matches!(Document::default().line("{]")[..], [Piece::Broken(_)]));
        assert!(matches!(Document::default().line("{\"a\" 1}")[..], [Piece::Broken(_)]));
    }

    #[test]
    fn a_line_is_taken_as_byte_by_byte() {
        for line in [
            r#"{"a": [1, "b]\"}"], "c": {"#, r#"{"open string { [ \\"#, r#"}{"#,
            r#"{"a": "\\", "b": [}"#, "", "words {and} [brackets]",
        ] {
            let (mut by_line, mut by_byte) = (Nesting::default(), Nesting::default());
            let wrong = line.bytes().any(|byte| by_byte.take(byte) == NestingChange::Wrong);
            assert_eq!(by_line.take_line(line), !wrong, "{line}");
            if !wrong {
                by_byte.line_end();
                assert_eq!(by_line.open, by_byte.open, "{line}");
            }
        }
    }

    #[test]
    fn the_key_decides() {
        assert_eq!(sniff_document(&["{", "\"sysstat\": {"], &["\"sysstat\""]), Detect::Yes);
        assert_eq!(sniff_document(&["{"], &["\"sysstat\""]), Detect::NeedLines);
        assert_eq!(sniff_document(&["{\"a\": 1}"], &["\"sysstat\""]), Detect::No);
        assert_eq!(sniff_document(&["\"sysstat\""], &["\"sysstat\""]), Detect::No);
    }
}
