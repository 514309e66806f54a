//! A canvas of a given width: lines are appended, words wrap.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::{Line, TextStyle, Tone};
use crate::Style;

/// What a view writes on.
pub(crate) struct Canvas<'a> {
    /// The user's wishes.
    pub style: &'a Style,
    out: &'a mut dyn Write,
}

impl<'a> Canvas<'a> {
    /// A canvas over a writer.
    pub(crate) fn new(style: &'a Style, out: &'a mut dyn Write) -> Canvas<'a> {
        Canvas { style, out }
    }

    /// Columns.
    pub(crate) fn width(&self) -> usize {
        self.style.width.max(1)
    }

    /// One line. What reaches beyond the edge is cut, and the last column shows it.
    pub(crate) fn line(&mut self, line: &Line) -> io::Result<()> {
        let unicode = self.style.unicode;
        let line = if unicode { line.clone() } else { line.ascii() };
        let line = line.marked(self.width(), if unicode { "…" } else { "~" });
        line.write(self.width(), self.style.colour, self.out)
    }

    /// Several lines.
    pub(crate) fn lines(&mut self, lines: &[Line]) -> io::Result<()> {
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// An empty line.
    pub(crate) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// A heading of a section.
    pub(crate) fn heading(&mut self, text: &str) -> io::Result<()> {
        self.line(&Line::new().with(text, TextStyle::strong(Tone::Accent)))
    }

    /// A paragraph after a mark in its first line only; text in backticks is drawn as a command.
    pub(crate) fn paragraph(
        &mut self,
        mark: &Line,
        text: &str,
        ink: impl Into<TextStyle>,
    ) -> io::Result<()> {
        let lines = self.wrapped(mark, text, ink);
        self.lines(&lines)
    }

    /// The lines of such a paragraph.
    pub(crate) fn wrapped(&self, mark: &Line, text: &str, ink: impl Into<TextStyle>) -> Vec<Line> {
        let (ink, indent) = (ink.into(), mark.width());
        let mut code = false;
        let mut lines = Vec::new();
        for words in wrap(text, self.width().saturating_sub(indent)) {
            let mut line = if lines.is_empty() { mark.clone() } else { Line::new() };
            line.pad(indent);
            for (piece, part) in words.split('`').enumerate() {
                if piece > 0 {
                    code = !code;
                    line.push("`", Tone::Faint);
                }
                line.push(part, if code { TextStyle::from(Tone::Accent) } else { ink });
            }
            lines.push(line);
        }
        lines
    }

    /// An item of a list.
    pub(crate) fn item(&mut self, mark: &str, text: &str) -> io::Result<()> {
        self.paragraph(&Line::new().with(mark, Tone::Faint), text, Tone::Plain)
    }
}

/// Writes lines of a table; where the width is limited, what is beyond it follows below, indented.
///
/// # Errors
/// If the writer fails.
pub fn fitted(text: &str, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len() + 2;
        let (mut rest, mut before) = (line.to_string(), 0);
        while style.fitted && before + rest.width() > style.width {
            let room = style.width.saturating_sub(before).max(1);
            let mut first = rest.clone();
            let over = break_off(&mut first, room);
            let end = first.trim_end().rfind(' ').filter(|at| !first[..*at].trim().is_empty());
            let (first, over) = match end.filter(|_| !over.starts_with(' ')) {
                Some(at) => (first[..at].to_string(), format!("{}{over}", &first[at..])),
                None => (first, over),
            };
            writeln!(out, "{:before$}{}", "", first.trim_end())?;
            before = indent.min(style.width / 2);
            rest = over.trim_start().to_string();
        }
        writeln!(out, "{:before$}{rest}", "")?;
    }
    Ok(())
}

/// A text in lines of at most `width` columns, broken between words; a word that is longer is
/// broken where it must be. At least one line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut lines = vec![String::new()];
    for mut word in words(text) {
        loop {
            let Some(line) = lines.last_mut() else { return lines };
            let gap = usize::from(!line.is_empty());
            if line.width() + gap + word.width() <= width {
                line.push_str(&" ".repeat(gap));
                line.push_str(&word);
                break;
            }
            if !line.is_empty() {
                lines.push(String::new());
                continue;
            }
            let rest = break_off(&mut word, width);
            line.push_str(&word);
            lines.push(String::new());
            word = rest;
        }
    }
    lines
}

/// The words of a text; a number and the unit after it are one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace().map(super::clean) {
        let unit = UNITS.contains(&word.trim_end_matches([',', '.', ')', ';', ':']));
        match words.last_mut() {
            Some(last) if unit && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push(' ');
                last.push_str(&word);
            }
            _ => words.push(word),
        }
    }
    words
}

/// Units that are not separated from their number.
const UNITS: [&str; 19] = [
    "ns", "us", "µs", "ms", "s", "min", "h", "%", "B", "KiB", "MiB", "GiB", "IOPS", "KiB/s",
    "MiB/s", "GiB/s", "rpm", "rev", "I/Os",
];

/// Shortens a word to `width` columns and gives the rest.
fn break_off(word: &mut String, width: usize) -> String {
    let mut end = 0;
    for (place, letter) in word.char_indices() {
        let next = place + letter.len_utf8();
        if word[..next].width() > width {
            break;
        }
        end = next;
    }
    word.split_off(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_cut_says_so() {
        let drawn = |text: &str, unicode: bool| {
            let style = Style { width: 8, unicode, ..Style::plain() };
            let mut out = Vec::new();
            Canvas::new(&style, &mut out).line(&Line::new().with(text, Tone::Plain)).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(drawn("12345678", true), "12345678\n");
        assert_eq!(drawn("1234567  ", true), "1234567\n");
        assert_eq!(drawn("123456789", true), "1234567…\n");
        assert_eq!(drawn("123456789", false), "1234567~\n");
        assert_eq!(drawn("磁盘磁盘磁盘", true), "磁盘磁…\n");
    }

    #[test]
    fn rows_that_are_too_long_go_on_below() {
        let row = "  4 ms   3  ended 75 % by reads of sda; 2 others";
        let drawn = |width: usize, fitted: bool| {
            let style = Style { width, fitted, ..Style::plain() };
            let mut out = Vec::new();
            super::fitted(row, &style, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(drawn(30, true), "  4 ms   3  ended 75 % by\n    reads of sda; 2 others\n");
        assert_eq!(drawn(30, false), format!("{row}\n"));
        for width in 1..row.len() {
            let text = drawn(width, true);
            let words = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(words(&text), words(row), "{width}");
            assert!(text.lines().all(|line| line.len() <= width.max(3)), "{width}: {text}");
        }
    }

    #[test]
    fn words_wrap_and_long_ones_break() {
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrap("takes 1.65 ms, so", 12), ["takes", "1.65 ms, so"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("磁盘磁盘", 5), ["磁盘", "磁盘"]);
        for width in 0..5 {
            assert!(!wrap("`smartctl -x /dev/sdb`", width).is_empty());
        }
    }
}
