//! What the terminal can show: width, colours, letters.

use std::io::IsTerminal;

use iowhy_show::{Colour, Style};

/// Rows and columns where nothing else is known.
const PLAIN: (usize, usize) = (24, 80);
/// Narrower than this no view is legible; wider than this the eye loses the row.
pub const WIDTHS: std::ops::RangeInclusive<usize> = 40..=400;

/// The style that stdout takes: its size, and colours and block letters as far as the
/// environment promises them.
pub fn style() -> Style {
    let (height, width) = size().unwrap_or(PLAIN);
    let style = Style::plain();
    Style {
        width: width.clamp(*WIDTHS.start(), *WIDTHS.end()),
        height,
        colour: colour(),
        unicode: unicode(),
        ..style
    }
}

/// Rows and columns: `COLUMNS` and `LINES` win, then the terminal itself.
fn size() -> Option<(usize, usize)> {
    let number = |name| std::env::var(name).ok()?.parse::<usize>().ok().filter(|n| *n > 0);
    let terminal = rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .filter(|size| size.ws_col > 0)
        .map(|size| (usize::from(size.ws_row), usize::from(size.ws_col)));
    let columns = number("COLUMNS").or(terminal.map(|(_, columns)| columns))?;
    let rows = number("LINES").or(terminal.map(|(rows, _)| rows)).unwrap_or(PLAIN.0);
    Some((rows, columns))
}

/// Colours by the usual promises: `NO_COLOR` (no-color.org) forbids, `CLICOLOR_FORCE` forces,
/// else a terminal gets what `COLORTERM` and `TERM` say.
fn colour() -> Colour {
    let set = |name| std::env::var(name).is_ok_and(|value| !value.is_empty() && value != "0");
    let term = std::env::var("TERM").unwrap_or_default();
    let forced = set("CLICOLOR_FORCE");
    if set("NO_COLOR") || !(forced || std::io::stdout().is_terminal()) {
        return Colour::None;
    }
    let colorterm = std::env::var("COLORTERM").unwrap_or_default();
    match () {
        () if colorterm == "truecolor" || colorterm == "24bit" => Colour::True,
        () if term.contains("256color") => Colour::Ansi256,
        () if (term == "dumb" || term.is_empty()) && !forced => Colour::None,
        () => Colour::Ansi16,
    }
}

/// Whether the locale's letters are UTF-8.
fn unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}
