//! Lines of coloured text, and their fallback on terminals with fewer colours.

use std::io::{self, Write};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::colour::Colour;

/// A colour in 24 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// Black or white, whichever has more contrast with it (luma of ITU-R BT.601).
    pub fn contrast(self) -> Rgb {
        let luma = 299 * u32::from(self.0) + 587 * u32::from(self.1) + 114 * u32::from(self.2);
        if luma > 140_000 { Rgb(0, 0, 0) } else { Rgb(255, 255, 255) }
    }
}

/// What a piece of text means; its colour is the terminal's own, so that any theme stays legible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// Of less weight.
    Faint,
    /// Headings, names, commands.
    Accent,
    /// As it should be.
    Good,
    /// To beware of.
    Warn,
    /// Wrong, lost, slow.
    Bad,
    /// A colour that represents a number.
    Exact(Rgb),
}

/// How a piece of text is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TextStyle {
    /// The letters.
    pub tone: Tone,
    /// The background.
    pub behind: Option<Rgb>,
    /// Whether they are heavy.
    pub strong: bool,
}

impl From<Tone> for TextStyle {
    fn from(tone: Tone) -> TextStyle {
        TextStyle { tone, ..TextStyle::default() }
    }
}

impl TextStyle {
    /// Heavy letters of a tone.
    pub(crate) fn strong(tone: Tone) -> TextStyle {
        TextStyle { tone, strong: true, ..TextStyle::default() }
    }

    /// The codes that select it, separated by `;`; empty for plain text.
    fn codes(self, colour: Colour) -> String {
        let mut codes: Vec<String> = Vec::new();
        if self.strong {
            codes.push("1".to_string());
        }
        match self.tone {
            Tone::Plain => {}
            // Grey 245 of xterm is legible on black and on white; bright black is its like.
            Tone::Faint if colour >= Colour::Ansi256 => codes.push("38;5;245".to_string()),
            Tone::Faint => codes.push("90".to_string()),
            Tone::Accent => codes.push("36".to_string()),
            Tone::Good => codes.push("32".to_string()),
            Tone::Warn => codes.push("33".to_string()),
            Tone::Bad => codes.push("31".to_string()),
            Tone::Exact(rgb) => codes.push(exact(rgb, colour, 38)),
        }
        if let Some(rgb) = self.behind {
            codes.push(exact(rgb, colour, 48));
        }
        codes.join(";")
    }
}

/// The code of a number's colour: 38 selects letters, 48 what is after them.
fn exact(Rgb(r, g, b): Rgb, colour: Colour, what: u8) -> String {
    match colour {
        Colour::True => format!("{what};2;{r};{g};{b}"),
        Colour::Ansi256 => format!("{what};5;{}", nearest_256(Rgb(r, g, b))),
        // 30-37 and 90-97 are letters, 40-47 and 100-107 after them.
        Colour::Ansi16 | Colour::None => {
            let place = nearest_16(Rgb(r, g, b));
            let base = if place < 8 { what - 8 } else { what + 44 };
            format!("{}", base + place)
        }
    }
}

/// Steps of xterm's colour cube.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The nearest of xterm's 240 fixed colours: the 6x6x6 cube from 16 on, the greys from 232 on.
pub(crate) fn nearest_256(rgb: Rgb) -> u8 {
    let Rgb(r, g, b) = rgb;
    let step = |v: u8| (0..6).min_by_key(|k| CUBE[*k].abs_diff(v)).unwrap_or(0);
    let (x, y, z) = (step(r), step(g), step(b));
    let cube = Rgb(CUBE[x], CUBE[y], CUBE[z]);
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let grey = (mean.saturating_sub(3) / 10).min(23) as u8;
    let level = 8 + 10 * grey;
    if distance(rgb, Rgb(level, level, level)) < distance(rgb, cube) {
        232 + grey
    } else {
        (16 + 36 * x + 6 * y + z) as u8
    }
}

/// The nearest of the sixteen, as xterm paints them by default.
pub(crate) fn nearest_16(rgb: Rgb) -> u8 {
    (0..16u8).min_by_key(|place| distance(rgb, SIXTEEN[usize::from(*place)])).unwrap_or(0)
}

const SIXTEEN: [Rgb; 16] = [
    Rgb(0, 0, 0),
    Rgb(205, 0, 0),
    Rgb(0, 205, 0),
    Rgb(205, 205, 0),
    Rgb(0, 0, 238),
    Rgb(205, 0, 205),
    Rgb(0, 205, 205),
    Rgb(229, 229, 229),
    Rgb(127, 127, 127),
    Rgb(255, 0, 0),
    Rgb(0, 255, 0),
    Rgb(255, 255, 0),
    Rgb(92, 92, 255),
    Rgb(255, 0, 255),
    Rgb(0, 255, 255),
    Rgb(255, 255, 255),
];

fn distance(a: Rgb, b: Rgb) -> u32 {
    let square = |x: u8, y: u8| u32::from(x.abs_diff(y)).pow(2);
    square(a.0, b.0) + square(a.1, b.1) + square(a.2, b.2)
}

/// One line of text in several inks.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Line {
    spans: Vec<(String, TextStyle)>,
}

impl Line {
    /// An empty line.
    pub(crate) fn new() -> Line {
        Line::default()
    }

    /// Adds text; control characters, which could move the cursor, become `?`.
    pub(crate) fn push(&mut self, text: &str, ink: impl Into<TextStyle>) {
        let ink = ink.into();
        match self.spans.last_mut() {
            Some((last, same)) if *same == ink => last.push_str(&clean(text)),
            _ => self.spans.push((clean(text), ink)),
        }
    }

    /// The line with text added.
    #[must_use]
    pub(crate) fn with(mut self, text: &str, ink: impl Into<TextStyle>) -> Line {
        self.push(text, ink);
        self
    }

    /// Adds blanks up to a column.
    pub(crate) fn pad(&mut self, column: usize) {
        let width = self.width();
        if width < column {
            self.push(&" ".repeat(column - width), TextStyle::default());
        }
    }

    /// Adds another line after this one.
    pub(crate) fn append(&mut self, other: Line) {
        for (text, ink) in other.spans {
            self.push(&text, ink);
        }
    }

    /// The same for a terminal without UTF-8: `us` for `µs`.
    #[must_use]
    pub(crate) fn ascii(&self) -> Line {
        let plain = |(text, ink): &(String, TextStyle)| (text.replace('µ', "u"), *ink);
        Line { spans: self.spans.iter().map(plain).collect() }
    }

    /// Columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|(text, _)| text.width()).sum()
    }

    /// Whether its text ends like this.
    pub(crate) fn ends_with(&self, end: &str) -> bool {
        self.spans.last().is_some_and(|(text, _)| text.ends_with(end))
    }

    /// Leaves out words at its end until it takes at most so many columns.
    pub(crate) fn shorten(&mut self, width: usize) {
        while self.width() > width {
            let Some((text, _)) = self.spans.last_mut() else { return };
            match text.trim_end().rsplit_once(' ') {
                Some((before, _)) => *text = before.to_string(),
                None => _ = self.spans.pop(),
            }
        }
    }

    /// The same, with a mark in the last of so many columns if it is longer than that.
    pub(crate) fn marked(self, width: usize, mark: &str) -> Line {
        let used = |spans: &[(String, TextStyle)]| {
            spans.iter().map(|(text, _)| text.width()).sum::<usize>()
        };
        let last = self.spans.iter().rposition(|(text, _)| !text.trim_end().is_empty());
        let bare = self.spans.get(last.map_or(0, |last| last + 1)..).map_or(0, used);
        let blanks = last.and_then(|last| self.spans.get(last));
        let blanks = blanks.map_or(0, |(text, _)| text.width() - text.trim_end().width());
        if used(&self.spans) - bare - blanks <= width || width < 2 {
            return self;
        }
        let mut left = width - 1;
        let mut marked = Line::new();
        for (text, ink) in self.spans {
            let kept = cut(&text, left);
            left -= kept.width();
            let whole = kept.len() == text.len();
            marked.push(kept, ink);
            if !whole || left == 0 {
                break;
            }
        }
        marked.with(mark, Tone::Faint)
    }

    /// Draws it, cut at `width` columns, without blanks at its end.
    pub(crate) fn write(
        &self,
        width: usize,
        colour: Colour,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut left = width;
        let last = self.spans.iter().rposition(|(text, ink)| {
            !text.trim_end().is_empty() || (ink.behind.is_some() && colour != Colour::None)
        });
        for (place, (text, ink)) in self.spans.iter().enumerate() {
            if last.is_none_or(|last| place > last) {
                break;
            }
            let bare = ink.behind.is_none() || colour == Colour::None;
            let text = if last == Some(place) && bare { text.trim_end() } else { text };
            let text = cut(text, left);
            left -= text.width();
            let codes = if colour == Colour::None { String::new() } else { ink.codes(colour) };
            if codes.is_empty() || text.is_empty() {
                write!(out, "{text}")?;
            } else {
                write!(out, "\x1b[{codes}m{text}\x1b[0m")?;
            }
        }
        writeln!(out)
    }
}

/// The beginning of a text that fits in `width` columns.
fn cut(text: &str, width: usize) -> &str {
    let mut taken = 0;
    for (place, letter) in text.char_indices() {
        taken += letter.width().unwrap_or(0);
        if taken > width {
            return &text[..place];
        }
    }
    text
}

/// The text without control sequences: control characters and marks of direction.
pub(crate) fn clean(text: &str) -> String {
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if obeyed(c) { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(line: &Line, colour: Colour) -> String {
        let mut out = Vec::new();
        line.write(80, colour, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_shorter_line_ends_with_a_whole_word() {
        let mut line =
            Line::new().with("wrong if  ", Tone::Faint).with("a timer causes", Tone::Plain);
        line.shorten(21);
        assert_eq!(line.width(), 17);
        assert!(line.ends_with("a timer"));
        line.shorten(8);
        assert!(line.ends_with("wrong"));
        line.shorten(0);
        assert_eq!(line.width(), 0);
    }

    #[test]
    fn colours_degrade_step_by_step() {
        let line = Line::new().with("x", Tone::Exact(Rgb(255, 0, 0)));
        assert_eq!(drawn(&line, Colour::True), "\x1b[38;2;255;0;0mx\x1b[0m\n");
        assert_eq!(drawn(&line, Colour::Ansi256), "\x1b[38;5;196mx\x1b[0m\n");
        assert_eq!(drawn(&line, Colour::Ansi16), "\x1b[91mx\x1b[0m\n");
        assert_eq!(drawn(&line, Colour::None), "x\n");
        let cell = TextStyle { behind: Some(Rgb(0, 0, 238)), ..TextStyle::default() };
        assert_eq!(drawn(&Line::new().with(" ", cell), Colour::Ansi16), "\x1b[44m \x1b[0m\n");
    }

    #[test]
    fn the_classic_codes_survive_the_way_through_24_bits() {
        // docs/METHOD.md, 16: PyLatencyMap's own codes.
        for code in [51u8, 45, 39, 33, 27, 21, 226, 220, 214, 208, 202, 196] {
            let place = code - 16;
            let cube = |k: u8| CUBE[usize::from(k)];
            let rgb = Rgb(cube(place / 36), cube(place / 6 % 6), cube(place % 6));
            assert_eq!(nearest_256(rgb), code);
        }
    }

    #[test]
    fn nothing_in_a_name_can_move_the_cursor() {
        let line = Line::new().with("sd\x1b[2Ja\r\n\u{202e}", Tone::Plain);
        assert_eq!(drawn(&line, Colour::None), "sd?[2Ja???\n");
    }

    #[test]
    fn wide_letters_count_twice_and_are_never_halved() {
        let mut out = Vec::new();
        Line::new().with("磁盘x", Tone::Plain).write(3, Colour::None, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "磁\n");
    }
}
