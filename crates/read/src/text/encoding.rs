//! What precedes the first letter of an input: a byte order mark is ignored, UTF-16 (of
//! Windows' `typeperf` and PowerShell's `>`) becomes UTF-8.

use std::io::{BufRead, Chain, Cursor, ErrorKind, Read, Result};

/// Bytes of the first piece that are examined for UTF-16 without a mark.
const LOOKED_AT: usize = 64;
/// Letters that must all be of ASCII before bytes without a mark are taken for UTF-16.
const LETTERS: usize = 16;

/// An input as UTF-8 without a mark.
pub(crate) enum DecodedInput<'a> {
    /// As read, after what was examined already.
    Plain(Chain<Cursor<Vec<u8>>, &'a mut dyn BufRead>),
    Utf16(Utf16<'a>),
}

impl<'a> DecodedInput<'a> {
    /// Examines the first bytes.
    ///
    /// # Errors
    /// What the input shows when it cannot be read.
    pub(crate) fn of(reader: &'a mut dyn BufRead) -> Result<DecodedInput<'a>> {
        let mut head = Vec::new();
        let little = {
            let first = fill(reader)?;
            without_mark(&first[..first.len().min(LOOKED_AT)])
        };
        if let Some(big) = little {
            return Ok(DecodedInput::Utf16(Utf16::new(reader, big)));
        }
        // A pipe may give a byte at a time: the wait is for no more bytes than a mark has.
        while MARKS.iter().any(|(mark, _)| mark.len() > head.len() && mark.starts_with(&head)) {
            let Some(byte) = fill(reader)?.first().copied() else { break };
            reader.consume(1);
            head.push(byte);
        }
        let mark = MARKS.iter().find(|(mark, _)| head.starts_with(mark));
        if let Some((_, Some(big))) = mark {
            return Ok(DecodedInput::Utf16(Utf16::new(reader, *big)));
        }
        let marked = mark.map_or(0, |(mark, _)| mark.len());
        Ok(DecodedInput::Plain(Cursor::new(head.split_off(marked)).chain(reader)))
    }
}

/// Byte order marks, and whether the higher byte of UTF-16 comes first.
const MARKS: [(&[u8], Option<bool>); 3] =
    [(&[0xef, 0xbb, 0xbf], None), (&[0xff, 0xfe], Some(false)), (&[0xfe, 0xff], Some(true))];

/// Whether these bytes are letters of ASCII in UTF-16, and whether the higher byte comes first.
fn without_mark(bytes: &[u8]) -> Option<bool> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let letter = |byte: u8| (0x20..0x7f).contains(&byte) || matches!(byte, b'\t' | b'\r' | b'\n');
    let all = |letters: fn(&[u8; 2]) -> (u8, u8)| {
        pairs.len() >= LETTERS
            && pairs.iter().map(letters).all(|(low, high)| letter(low) && high == 0)
    };
    match (all(|[low, high]| (*low, *high)), all(|[high, low]| (*low, *high))) {
        (true, _) => Some(false),
        (_, true) => Some(true),
        _ => None,
    }
}

/// The next piece of an input, requested again after a signal.
pub(crate) fn fill(reader: &mut dyn BufRead) -> Result<&[u8]> {
    loop {
        match reader.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            // Called again, since the borrow checker does not let the first answer out.
            Ok(_) => return reader.fill_buf(),
        }
    }
}

impl Read for DecodedInput<'_> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut chunk = self.fill_buf()?;
        let count = chunk.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for DecodedInput<'_> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        match self {
            DecodedInput::Plain(input) => input.fill_buf(),
            DecodedInput::Utf16(utf16) => utf16.fill(),
        }
    }

    fn consume(&mut self, count: usize) {
        match self {
            DecodedInput::Plain(input) => input.consume(count),
            DecodedInput::Utf16(utf16) => utf16.place += count,
        }
    }
}

/// UTF-16 on its way to UTF-8, piece by piece.
pub(crate) struct Utf16<'a> {
    reader: &'a mut dyn BufRead,
    high_first: bool,
    /// A byte whose other half, and a surrogate whose other half, is still to come.
    odd: Option<u8>,
    surrogate: Option<u16>,
    text: String,
    place: usize,
}

impl<'a> Utf16<'a> {
    fn new(reader: &'a mut dyn BufRead, high_first: bool) -> Utf16<'a> {
        Utf16 { reader, high_first, odd: None, surrogate: None, text: String::new(), place: 0 }
    }

    fn fill(&mut self) -> Result<&[u8]> {
        while self.place >= self.text.len() {
            self.text.clear();
            self.place = 0;
            let mut bytes: Vec<u8> = self.odd.take().into_iter().collect();
            let piece = fill(self.reader)?;
            let taken = piece.len();
            bytes.extend_from_slice(piece);
            self.reader.consume(taken);
            let (pairs, rest) = bytes.as_chunks::<2>();
            self.odd = rest.first().copied().filter(|_| taken > 0);
            let from = if self.high_first { u16::from_be_bytes } else { u16::from_le_bytes };
            let units =
                self.surrogate.take().into_iter().chain(pairs.iter().map(|pair| from(*pair)));
            let mut units: Vec<u16> = units.collect();
            if taken > 0 {
                self.surrogate = units.pop_if(|unit| (0xd800..0xdc00).contains(unit));
            }
            let letters = char::decode_utf16(units);
            self.text.extend(letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)));
            if taken == 0 {
                break;
            }
        }
        Ok(self.text.as_bytes().get(self.place..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn decoded(bytes: &[u8], size: usize) -> String {
        let mut reader = BufReader::with_capacity(size, bytes);
        let mut text = Vec::new();
        DecodedInput::of(&mut reader).unwrap().read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    }

    #[test]
    fn a_text_is_the_same_in_every_encoding_and_piece() {
        let text = "Gerät sda \u{1f600}\r\n0,25 ms\n";
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for size in 1..=40 {
            assert_eq!(decoded(text.as_bytes(), size), text);
            assert_eq!(decoded(format!("\u{feff}{text}").as_bytes(), size), text);
            assert_eq!(decoded(&[&[0xff, 0xfe], &little[..]].concat(), size), text);
            assert_eq!(decoded(&[&[0xfe, 0xff], &big[..]].concat(), size), text);
        }
        let plain = "Device r/s w/s rkB/s wkB/s await\n".repeat(2);
        let without: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decoded(&without, 4096), plain);
        for short in [&b""[..], b"\xff", b"\xef\xbb", b"a"] {
            assert_eq!(decoded(short, 8), String::from_utf8_lossy(short));
        }
    }
}
