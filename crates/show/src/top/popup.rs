//! What is drawn over the panels: the keys, or the verdict with everything below it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::{Popup, Screen};
use crate::paint::Tone;
use crate::{Colour, Style};

const KEYS: [(&str, &str); 17] = [
    ("?", "this page; any key closes it"),
    ("q, Ctrl-C", "quit"),
    ("Enter", "the verdict: evidence, refutation, next steps"),
    ("Up, Down, mouse", "select a device"),
    ("Tab", "next panel"),
    ("s, S, click", "sort the devices by the next or the last column"),
    ("r", "sort in the opposite order"),
    ("/", "filter by device, process, cgroup or file"),
    ("i", "map: I/Os or time waited per second (both if tall)"),
    ("p, Space", "pause; arrows then move through the last minutes"),
    ("Left, Right", "one tick back or forth; with Shift ten"),
    ("Home, End", "first tick, last tick"),
    ("[ ]", "numbers over fewer or more ticks"),
    ("n", "next anomaly: much more time waited than usual"),
    ("+ -", "live: longer or shorter ticks"),
    ("+ -", "replay: zoom in or out around the cursor"),
    ("Esc", "close, clear the filter, resume after a pause"),
];

/// Draws a popup in the middle of the screen.
pub(super) fn draw(frame: &mut Frame, area: Rect, popup: Popup, screen: &Screen) {
    let (title, lines, from) = match popup {
        Popup::Help => (" keys ", help(screen), 0),
        Popup::Verdict(from) => (" verdict ", verdict(screen, area.width), from),
    };
    let width = area.width.saturating_sub(4).min(100);
    let height = (lines.len() as u16 + 2).min(area.height.saturating_sub(2));
    let inner = Rect {
        x: area.x + (area.width.saturating_sub(width)) / 2,
        y: area.y + (area.height.saturating_sub(height)) / 2,
        width,
        height,
    };
    let last = (lines.len() as u16).saturating_sub(height.saturating_sub(2));
    let block = Block::bordered().title(title).border_style(screen.pen(Tone::Accent));
    let block = if screen.unicode() {
        block
    } else {
        block.border_set(ratatui::symbols::border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: "-",
            horizontal_bottom: "-",
        })
    };
    frame.render_widget(Clear, inner);
    frame.render_widget(Paragraph::new(lines).block(block).scroll((from.min(last), 0)), inner);
}

fn help(screen: &Screen) -> Vec<Line<'static>> {
    let key = |(key, what): (&'static str, &'static str)| {
        Line::from(vec![
            Span::styled(format!("{key:16}"), screen.pen(Tone::Accent)),
            Span::raw(what),
        ])
    };
    KEYS.into_iter().map(key).collect()
}

/// The same words as `iowhy why -v`.
fn verdict(screen: &Screen, width: u16) -> Vec<Line<'static>> {
    let Some(report) = screen.verdict else {
        return vec![Line::from("no verdict yet: it needs a few seconds of I/O")];
    };
    let style = Style {
        width: usize::from(width.saturating_sub(6).min(98)),
        colour: Colour::None,
        verbose: true,
        ..screen.style.clone()
    };
    let mut text = Vec::new();
    if (crate::views::summary::VIEW.write)(report, &style, &mut text).is_err() {
        return vec![Line::from("the verdict cannot be drawn")];
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().map(|line| Line::from(line.to_string())).collect()
}
