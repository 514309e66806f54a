//! Properties of the terminal: width, colours, characters.

use std::io::IsTerminal;

use iowhy_show::{Colour, Style};

use crate::when;

/// Default rows and columns.
const DEFAULT_SIZE: (usize, usize) = (24, 80);
/// Narrower than this no view is legible; wider than this the eye loses the row.
pub(crate) const WIDTHS: std::ops::RangeInclusive<usize> = 40..=400;

/// The style for stdout: its size, and colours and block characters as far as the environment
/// supports them.
pub(crate) fn style() -> Style {
    let (height, width) = size().unwrap_or(DEFAULT_SIZE);
    let style = Style::plain();
    Style {
        width: width.clamp(*WIDTHS.start(), *WIDTHS.end()),
        height,
        colour: colour(),
        fitted: std::io::stdout().is_terminal(),
        unicode: unicode(),
        zone: when::zone().clone(),
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
    let rows = number("LINES").or(terminal.map(|(rows, _)| rows)).unwrap_or(DEFAULT_SIZE.0);
    Some((rows, columns))
}

/// Colours by the usual conventions: `NO_COLOR` (no-color.org) forbids, `CLICOLOR_FORCE` forces,
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

/// Whether the locale uses UTF-8.
fn unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

/// Wraps paragraphs at this width: lines of a paragraph are joined and wrapped again; list items
/// keep their indent.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut paragraph: Option<(usize, String)> = None;
    for line in text.lines() {
        let in_item = paragraph.as_ref().is_some_and(|(_, words)| words.starts_with("- "))
            && line.starts_with("  ")
            && !line.starts_with("    ");
        let own = line.is_empty()
            || line.starts_with([' ', '-', '|']) && !in_item
            || is_example(line)
            || is_heading(line);
        match &mut paragraph {
            Some((_, words)) if !own => {
                words.push(' ');
                words.push_str(line.trim_start());
            }
            _ => {
                flow(paragraph.take(), width, &mut out);
                paragraph = Some((hang(line), line.to_string()));
            }
        }
        if line.is_empty() || is_heading(line) {
            flow(paragraph.take(), width, &mut out);
        }
    }
    flow(paragraph, width, &mut out);
    out
}

/// Wraps each line separately at this width; continuation lines are indented to this column.
pub(crate) fn hung(text: &str, column: usize, width: usize) -> String {
    let mut out = String::new();
    text.lines().for_each(|line| flow(Some((column, line.to_string())), width, &mut out));
    out
}

/// A command and what it is for, as manuals have them: `iowhy stat 1`: every second.
fn is_example(line: &str) -> bool {
    let rest = line.strip_prefix('`').and_then(|line| line.split_once('`'));
    line.starts_with("`iowhy ") || rest.is_some_and(|(_, rest)| rest.starts_with(": "))
}

/// `EXAMPLES`, as manuals have them.
fn is_heading(line: &str) -> bool {
    line.chars().any(char::is_alphabetic) && !line.chars().any(char::is_lowercase)
}

/// The indent of continuation lines: the second column if there is one, else that of the line.
fn hang(line: &str) -> usize {
    let indent = line.len() - line.trim_start().len();
    let gap = line[indent..].find("  ").map(|at| at + indent);
    let second = gap.map(|at| at + line[at..].len() - line[at..].trim_start().len());
    let column = second.map(|at| line[..at].chars().count());
    match column {
        Some(column) if column <= 30 => column,
        _ if line.starts_with('-') || is_example(line) => indent + 2,
        _ => indent,
    }
}

fn flow(paragraph: Option<(usize, String)>, width: usize, out: &mut String) {
    let Some((hang, text)) = paragraph else { return };
    // Minimum width of a column of text.
    let hang = if hang + 20 > width { 2 } else { hang };
    let mut rest = text.as_str();
    let mut first = true;
    loop {
        let indent = if first { 0 } else { hang };
        let room = width.saturating_sub(indent).max(1);
        let end = rest.char_indices().nth(room).map_or(rest.len(), |(at, _)| at);
        let lead = rest.len() - rest.trim_start().len();
        let least = lead.max(if first { hang } else { 0 });
        let cut = match end < rest.len() {
            true if rest[end..].starts_with(' ') => Some(end),
            true => rest[..end].rfind(' ').filter(|at| *at > least),
            false => None,
        };
        // A word longer than the line is on a line of its own.
        let cut = match cut {
            None if end < rest.len() => rest[end..].find(' ').map(|at| at + end),
            cut => cut,
        };
        let (line, left) = cut.map_or((rest, ""), |at| (&rest[..at], rest[at..].trim_start()));
        out.extend(std::iter::repeat_n(' ', indent));
        out.push_str(line.trim_end());
        out.push('\n');
        if left.is_empty() {
            return;
        }
        (rest, first) = (left, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_broken_anew_and_examples_stay_apart() {
        let text =
            "One two three four\nfive six.\n\nEXAMPLES\n`a b c`: what it does for whom\n`d`: x\n";
        assert_eq!(
            wrapped(text, 20),
            "One two three four\nfive six.\n\nEXAMPLES\n`a b c`: what it\n  does for whom\n`d`: x\n"
        );
        assert_eq!(
            wrapped("One two three four\n`five` six.\n", 40),
            "One two three four `five` six.\n"
        );
        assert_eq!(wrapped("- one\n  two\n- three\n", 40), "- one two\n- three\n");
        let rows = "  name      what it is, said at length\n  other     short\n";
        assert_eq!(
            wrapped(rows, 34),
            "  name      what it is, said at\n            length\n  other     short\n"
        );
        assert_eq!(wrapped("µµµµµµµµµµµµµµµµµµµµµµµµ b\n", 20), "µµµµµµµµµµµµµµµµµµµµµµµµ\nb\n");
    }
}
