//! The only output for text: it removes everything that could control a terminal or reverse a line.
//!
//! Names of processes, files, devices, groups and models are untrusted. Views sanitise what they
//! draw; this writer is after all of them, so none can forget it. The only control sequences that
//! pass are those that iowhy itself uses, and only in coloured output. In JSON characters are
//! escaped instead of removed, so nothing is lost.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

/// Maximum length of an incomplete character or control sequence.
const LONGEST: usize = 32;

/// A writer that passes only harmless text.
pub(crate) struct SanitisedWriter<W: Write> {
    out: W,
    /// Whether colours and screen redrawing pass.
    colours: bool,
    /// Whether it is JSON, known from the first character.
    json: Option<bool>,
    /// An incomplete character or sequence.
    begun: Vec<u8>,
}

/// Standard output for text and JSON.
pub(crate) fn stdout() -> SanitisedWriter<StdoutLock<'static>> {
    SanitisedWriter::new(io::stdout().lock(), has_colours())
}

/// The same through a buffer, for many lines; it must be flushed.
pub(crate) fn buffered() -> SanitisedWriter<BufWriter<StdoutLock<'static>>> {
    SanitisedWriter::new(BufWriter::new(io::stdout().lock()), has_colours())
}

fn has_colours() -> bool {
    let forced = std::env::var("CLICOLOR_FORCE").is_ok_and(|set| !set.is_empty() && set != "0");
    forced || io::stdout().is_terminal()
}

/// Standard output for pictures made of control sequences, also if it is not a terminal.
pub(crate) fn screen() -> SanitisedWriter<StdoutLock<'static>> {
    SanitisedWriter::new(io::stdout().lock(), true)
}

/// A text for a line of stderr, without control characters.
pub(crate) fn text(text: &str) -> String {
    let one = |c: char| if is_obeyed(c) && c != '\n' && c != '\t' { '?' } else { c };
    text.chars().map(one).collect()
}

/// Whether it controls terminals or editors: control characters (C0, DEL, C1), marks that change
/// the writing direction (Unicode 15, Bidi_Control), and the byte order mark.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
                | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

/// Whether a byte is harmless by itself.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

impl<W: Write> SanitisedWriter<W> {
    /// Writes to `out`; with `colours` colours and screen redrawing pass.
    pub(crate) fn new(out: W, colours: bool) -> SanitisedWriter<W> {
        SanitisedWriter { out, colours, json: None, begun: Vec::new() }
    }

    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let plain = rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
            let (harmless, other) = rest.split_at(plain);
            self.out.write_all(harmless)?;
            rest = other;
            if rest.first() == Some(&0x1b) && self.colours {
                match sequence(rest) {
                    EscapeKind::Own(length) => {
                        let (own, after) = rest.split_at(length);
                        self.out.write_all(own)?;
                        rest = after;
                        continue;
                    }
                    EscapeKind::Partial if rest.len() < LONGEST => {
                        self.begun = rest.to_vec();
                        return Ok(());
                    }
                    EscapeKind::Partial | EscapeKind::None => {}
                }
            }
            rest = self.character(rest)?;
        }
        Ok(())
    }

    /// Writes the first character, or keeps it if it is incomplete; returns the rest.
    fn character<'b>(&mut self, bytes: &'b [u8]) -> io::Result<&'b [u8]> {
        let Some(first) = bytes.first() else { return Ok(bytes) };
        let length = match first {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        let part = bytes.get(..length.min(bytes.len())).unwrap_or_default();
        match std::str::from_utf8(part) {
            Ok(text) => {
                for c in text.chars() {
                    self.one(c)?;
                }
                Ok(bytes.get(part.len()..).unwrap_or_default())
            }
            Err(error) if error.error_len().is_none() => {
                self.begun = part.to_vec();
                Ok(&[])
            }
            Err(_) => {
                self.out.write_all("\u{fffd}".as_bytes())?;
                Ok(bytes.get(1..).unwrap_or_default())
            }
        }
    }

    fn one(&mut self, c: char) -> io::Result<()> {
        match (is_obeyed(c), self.json) {
            (false, _) => write!(self.out, "{c}"),
            // JSON of RFC 8259: an escape of four digits; all of these lie below U+10000.
            (true, Some(true)) => write!(self.out, "\\u{:04x}", u32::from(c)),
            (true, _) => self.out.write_all(b"?"),
        }
    }
}

/// The sequence after an escape character.
enum EscapeKind {
    /// An escape sequence of iowhy, with its length.
    Own(usize),
    /// Incomplete.
    Partial,
    /// Not one of iowhy's.
    None,
}

/// Colours (`ESC [ 38;2;1;2;3 m`), and `H`, `J` and `K` to draw over a screen.
fn sequence(bytes: &[u8]) -> EscapeKind {
    match bytes.get(1) {
        None => return EscapeKind::Partial,
        Some(b'[') => {}
        Some(_) => return EscapeKind::None,
    }
    let rest = bytes.get(2..).unwrap_or_default();
    match rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';')) {
        None => EscapeKind::Partial,
        Some(end) if rest.get(end).is_some_and(|byte| b"mHJK".contains(byte)) => {
            EscapeKind::Own(end + 3)
        }
        Some(_) => EscapeKind::None,
    }
}

impl<W: Write> Write for SanitisedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.json.is_none() {
            let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
            self.json = first.map(|byte| *byte == b'{');
        }
        if self.begun.is_empty() {
            self.pass(bytes)?;
        } else {
            let mut all = std::mem::take(&mut self.begun);
            all.extend_from_slice(bytes);
            self.pass(&all)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.begun.is_empty() {
            self.begun.clear();
            self.out.write_all("\u{fffd}".as_bytes())?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output, however the bytes are split.
    fn through(text: &[u8], colours: bool) -> String {
        let cleaned = |cut: usize| {
            let mut out = Vec::new();
            let mut clean = SanitisedWriter::new(&mut out, colours);
            for part in text.chunks(cut.max(1)) {
                clean.write_all(part).unwrap();
            }
            clean.flush().unwrap();
            String::from_utf8(out).unwrap()
        };
        let whole = cleaned(text.len());
        for cut in 1..5 {
            assert_eq!(cleaned(cut), whole, "cut in {cut}");
        }
        whole
    }

    #[test]
    fn commands_of_terminals_never_leave() {
        let hostile = "a\x1b]0;title\x07b\x1b[2Jc\u{9b}31md\u{202e}e\x7ff\rg\u{feff}h";
        assert_eq!(through(hostile.as_bytes(), false), "a?]0;title?b?[2Jc?31md?e?f?g?h");
        let json = format!("{{\"name\":\"{}\"}}", "x\u{9b}\u{202e}\x7f");
        assert_eq!(through(json.as_bytes(), true), "{\"name\":\"x\\u009b\\u202e\\u007f\"}");
        assert_eq!(through(b"x\xffy\xe2\x82", false), "x\u{fffd}y\u{fffd}");
    }

    #[test]
    fn our_own_colours_pass_where_there_are_colours() {
        let own = "\x1b[38;2;255;0;0m \u{2588}\u{e9}\x1b[0m\x1b[H\x1b[K\x1b[J\n";
        assert_eq!(through(own.as_bytes(), true), own);
        assert!(!through(own.as_bytes(), false).contains('\x1b'));
        // A title, a name, a cursor position: not sequences of iowhy.
        assert_eq!(through(b"\x1b]0;x\x07 \x1b[6n \x1bc", true), "?]0;x? ?[6n ?c");
        assert_eq!(
            through(format!("\x1b[{}", "1;".repeat(40)).as_bytes(), true).find('\x1b'),
            None
        );
    }
}
