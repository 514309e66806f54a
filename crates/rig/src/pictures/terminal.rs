//! A terminal's screen as an SVG picture: a program runs in tmux, which prints each cell's colours.

use std::fmt::Write as _;
use std::io;
use std::process::Command;
use std::time::Duration;

/// Width and height of a cell, pixels, and the size of its font.
const CELL: (f64, f64) = (7.8, 17.0);
const FONT: f64 = 13.0;
/// Room around the screen.
const MARGIN: f64 = 12.0;
/// Colours where none is set: text and what is behind it.
const PLAIN: [&str; 2] = ["#d8dbe2", "#101218"];
/// The sixteen colours of xterm, on a dark screen.
const SIXTEEN: [&str; 16] = [
    "#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5",
    "#666666", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff",
];

/// Runs a command in a separate terminal for a while, and captures its screen, with the escape
/// sequences of its colours.
///
/// # Errors
/// If tmux is missing, or the program left the screen empty.
pub(crate) fn screen(
    command: &str,
    (columns, rows): (u16, u16),
    run: Duration,
) -> io::Result<String> {
    let server = format!("iowhy-pictures-{}", std::process::id());
    let tmux = |arguments: &[&str]| {
        let mut command = Command::new("tmux");
        command.args(["-L", &server, "-f", "/dev/null"]).args(arguments);
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color").env("COLORTERM", "truecolor");
        command.output()
    };
    let (columns, rows) = (columns.to_string(), rows.to_string());
    tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, command])?;
    std::thread::sleep(run);
    let taken = tmux(&["capture-pane", "-e", "-p"]);
    tmux(&["kill-server"])?;
    let screen = String::from_utf8_lossy(&taken?.stdout).into_owned();
    if screen.trim().is_empty() {
        return Err(io::Error::other(format!("`{command}` shows nothing")));
    }
    Ok(screen)
}

/// How a cell is drawn.
#[derive(Clone, PartialEq, Debug, Default)]
struct Look {
    text: Option<String>,
    behind: Option<String>,
    bold: bool,
    dim: bool,
    reverse: bool,
}

impl Look {
    /// Text colour and the colour behind it.
    fn colours(&self) -> (String, String) {
        let text = self.text.clone().unwrap_or_else(|| PLAIN[0].to_string());
        let behind = self.behind.clone().unwrap_or_else(|| PLAIN[1].to_string());
        if self.reverse { (behind, text) } else { (text, behind) }
    }

    /// Follows one `ESC [ ... m` (ECMA-48 SGR).
    fn follow(&mut self, sequence: &str) {
        let mut codes =
            sequence.split([';', ':']).map(|code| code.parse().unwrap_or(0)).collect::<Vec<u16>>();
        codes.reverse();
        while let Some(code) = codes.pop() {
            match code {
                0 => *self = Look::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                7 => self.reverse = true,
                22 => (self.bold, self.dim) = (false, false),
                27 => self.reverse = false,
                30..=37 => self.text = Some(indexed(code - 30)),
                38 => self.text = colour(&mut codes),
                39 => self.text = None,
                40..=47 => self.behind = Some(indexed(code - 40)),
                48 => self.behind = colour(&mut codes),
                49 => self.behind = None,
                90..=97 => self.text = Some(indexed(code - 82)),
                100..=107 => self.behind = Some(indexed(code - 92)),
                _ => {}
            }
        }
    }
}

/// The colour behind a 38 or 48; the codes are in reverse.
fn colour(codes: &mut Vec<u16>) -> Option<String> {
    match codes.pop()? {
        5 => codes.pop().map(indexed),
        2 => {
            let (red, green, blue) = (codes.pop()?, codes.pop()?, codes.pop()?);
            Some(format!("#{red:02x}{green:02x}{blue:02x}"))
        }
        _ => None,
    }
}

/// A colour of xterm's 256: sixteen, a cube of six levels, greys.
fn indexed(index: u16) -> String {
    let level = |step: u16| if step == 0 { 0 } else { 55 + 40 * step };
    match index {
        0..=15 => SIXTEEN[usize::from(index)].to_string(),
        16..=231 => {
            let cube = index - 16;
            let (red, green, blue) = (level(cube / 36), level(cube / 6 % 6), level(cube % 6));
            format!("#{red:02x}{green:02x}{blue:02x}")
        }
        _ => {
            let grey = 8 + 10 * (index.min(255) - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    }
}

/// The runs of one look in a line: first column, text, look.
fn runs(line: &str, look: &mut Look) -> Vec<(usize, String, Look)> {
    let mut runs: Vec<(usize, String, Look)> = Vec::new();
    let mut rest = line;
    let mut column = 0;
    while let Some(letter) = rest.chars().next() {
        if let Some(sequence) = rest.strip_prefix("\u{1b}[")
            && let Some(end) = sequence.find(|c: char| c.is_ascii_alphabetic())
        {
            if sequence[end..].starts_with('m') {
                look.follow(&sequence[..end]);
            }
            rest = &sequence[end + 1..];
            continue;
        }
        match runs.last_mut() {
            Some((_, text, last)) if last == look => text.push(letter),
            _ => runs.push((column, letter.to_string(), look.clone())),
        }
        column += 1;
        rest = &rest[letter.len_utf8()..];
    }
    runs
}

/// The picture of such a screen.
pub(crate) fn svg(screen: &str, (columns, rows): (u16, u16)) -> String {
    let width = f64::from(columns) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(rows) * CELL.1 + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', \
         monospace\" font-size=\"{FONT}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{}\"/>\n",
        PLAIN[1],
    );
    let mut look = Look::default();
    for (row, line) in screen.lines().take(usize::from(rows)).enumerate() {
        for (column, text, look) in runs(line, &mut look) {
            let x = MARGIN + column as f64 * CELL.0;
            let y = MARGIN + row as f64 * CELL.1;
            let wide = text.chars().count() as f64 * CELL.0;
            let (colour, behind) = look.colours();
            if behind != PLAIN[1] {
                let _ = writeln!(
                    out,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{:.1}\" \
                     fill=\"{behind}\" shape-rendering=\"crispEdges\"/>",
                    CELL.1
                );
            }
            if text.trim().is_empty() {
                continue;
            }
            // Blanks in a row are one to SVG, no-break spaces are kept.
            let text = text
                .replace(' ', "\u{a0}")
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;");
            let bold = if look.bold { " font-weight=\"bold\"" } else { "" };
            let dim = if look.dim { " opacity=\"0.7\"" } else { "" };
            // The length keeps every column in its position with any font.
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{colour}\" textLength=\"{wide:.1}\" \
                 lengthAdjust=\"spacingAndGlyphs\"{bold}{dim}>{text}</text>",
                y + CELL.1 * 0.75,
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_followed_and_markup_is_text() {
        let mut look = Look::default();
        let line = "a\u{1b}[1;38;5;196mb<\u{1b}[0m \u{1b}[7;48;2;1;2;3mc\u{1b}[39;49m";
        let runs = runs(line, &mut look);
        let texts: Vec<&str> = runs.iter().map(|(_, text, _)| text.as_str()).collect();
        assert_eq!(texts, ["a", "b<", " ", "c"]);
        assert_eq!(runs[1].2.text.as_deref(), Some("#ff0000"));
        assert!(runs[1].2.bold && !runs[2].2.bold);
        assert_eq!(runs[3].2.colours(), ("#010203".to_string(), PLAIN[0].to_string()));
        assert_eq!(runs[3].0, 4);
        let picture = svg(line, (10, 1));
        assert!(picture.contains(">b&lt;</text>") && !picture.contains('\u{1b}'), "{picture}");
    }
}
