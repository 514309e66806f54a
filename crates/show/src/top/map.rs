//! The heat map of the selected device: time to the right, a tick a column, latency upwards.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{Panel, Screen, Tick};
use crate::Colour;
use crate::device_label;
use crate::paint::{Tone, clean, density, latency_label};
use crate::picture::middle;
use crate::words::{duration, short};

/// Columns of the latencies on the left, and of the histogram on the right.
const LEFT: u16 = 9;
const BARS: u16 = 26;
/// From this width on the histogram is next to the map.
const WIDE: u16 = 70;

/// From this height on both maps are drawn: I/Os and time waited.
const BOTH: u16 = 22;

/// Draws the map, or both of them, and the histogram of the ticks shown; where the cells are, and
/// how many columns a tick has.
pub(super) fn draw(frame: &mut Frame, area: Rect, screen: &Screen) -> (Rect, u16) {
    if area.height < BOTH {
        return one(frame, area, screen, screen.intensity);
    }
    let upper = Rect { height: area.height / 2, ..area };
    let lower = Rect { y: area.y + upper.height, height: area.height - upper.height, ..area };
    let (first, each) = one(frame, upper, screen, screen.intensity);
    let (second, _) = one(frame, lower, screen, !screen.intensity);
    (Rect { height: second.y + second.height - first.y, ..first }, each)
}

/// One of the maps.
fn one(frame: &mut Frame, area: Rect, screen: &Screen, intensity: bool) -> (Rect, u16) {
    let bars = if area.width >= WIDE { BARS } else { 0 };
    let cells = Rect {
        x: area.x + LEFT,
        y: area.y + 1,
        width: area.width.saturating_sub(LEFT + bars + 1),
        height: area.height.saturating_sub(2),
    };
    let columns = usize::from(cells.width);
    // The cursor's column is the last one, unless there is no more time to the left of it.
    let end = (screen.cursor + 1).max(columns.min(screen.ticks.len())).min(screen.ticks.len());
    let first = end.saturating_sub(columns);
    let ticks = screen.ticks.get(first..end).unwrap_or_default();
    // Few ticks are wide, so that the map is filled from the start.
    let each = (columns / ticks.len().max(1)).max(1);
    let title = if intensity { "time waited per second" } else { "I/Os per second" };
    let room = usize::from(area.width).saturating_sub(title.len() + 24);
    let device = device_label::fitted(screen.names, screen.device, room);
    let mut head = vec![screen.heading(Panel::Map, &format!(" {}: {title} ", clean(&device)))];
    let Some((low, high)) = range(screen, ticks) else {
        head.push(Span::styled("  no latencies", screen.pen(Tone::Faint)));
        frame.render_widget(Paragraph::new(Line::from(head)), area);
        return (cells, each as u16);
    };
    // Two rows of cells per line if half blocks and colours are available.
    let halves = screen.unicode() && screen.style.colour != Colour::None;
    let rows = usize::from(cells.height) * if halves { 2 } else { 1 };
    let rows = rows.max(1);
    let grid: Vec<Vec<f64>> =
        ticks.iter().map(|tick| column(screen, tick, (low, high), rows, intensity)).collect();
    let most = grid.iter().flatten().copied().fold(0.0, f64::max);
    let least = grid.iter().flatten().copied().filter(|v| *v > 0.0).fold(most, f64::min);
    let place = |value: f64| match value {
        value if value <= 0.0 => 0.0,
        value if most > least => 0.15 + 0.85 * (value / least).ln() / (most / least).ln(),
        _ => 1.0,
    };
    let label = if intensity { duration(most * 1e9) } else { short(most) };
    head.push(Span::styled(format!("  brightest {label} per s"), screen.pen(Tone::Faint)));
    let ramp = match intensity {
        true => screen.style.palette.intensity(),
        false => screen.style.palette.frequency(),
    };
    let mut lines = vec![Line::from(head)];
    let counts = histogram(screen, (low, high), usize::from(cells.height), intensity);
    let top = counts.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for line in 0..usize::from(cells.height) {
        let edge = at((low, high), usize::from(cells.height) - 1 - line, usize::from(cells.height));
        let text = if line % 2 == 0 { latency_label(edge) } else { String::new() };
        let mut spans = vec![Span::styled(format!("{text:>8} "), screen.pen(Tone::Faint))];
        for (index, cells) in grid.iter().enumerate() {
            let value = |row: usize| {
                rows.checked_sub(row + 1).and_then(|row| cells.get(row)).map_or(0.0, |v| place(*v))
            };
            let here = first + index == screen.cursor && screen.cursor + 1 < screen.ticks.len();
            let span = if halves {
                let (upper, lower) = (ramp.at(value(2 * line)), ramp.at(value(2 * line + 1)));
                let pen = screen.pen(Tone::Exact(upper)).bg(screen.colour(lower));
                Span::styled("▀", pen)
            } else {
                Span::styled(
                    density(value(line), screen.unicode()).to_string(),
                    screen.pen(Tone::Exact(ramp.at(value(line)))),
                )
            };
            let span = if here {
                span.patch_style(screen.pen(Tone::Accent).add_modifier(Modifier::REVERSED))
            } else {
                span
            };
            spans.push(Span::styled(span.content.repeat(each), span.style));
        }
        if bars > 0 {
            let gap = columns.saturating_sub(grid.len() * each) + 1;
            spans.push(Span::raw(" ".repeat(gap)));
            let count = counts.get(usize::from(cells.height) - 1 - line).copied().unwrap_or(0.0);
            let width = usize::from(BARS) - 9;
            let bar = crate::paint::bar(count / top, width, screen.unicode());
            let number = match intensity {
                _ if count == 0.0 => String::new(),
                true => duration(count * 1e9).replace(' ', ""),
                false => short(count),
            };
            spans.push(Span::styled(format!("{number:>7} "), screen.pen(Tone::Faint)));
            spans.push(Span::styled(bar, screen.pen(Tone::Accent)));
        }
        lines.push(Line::from(spans));
    }
    lines.push(axis(screen, ticks, (columns, each), intensity));
    frame.render_widget(Paragraph::new(lines), area);
    (cells, each as u16)
}

/// The lowest and highest latency of the device in these ticks, ns.
fn range(screen: &Screen, ticks: &[Tick]) -> Option<(f64, f64)> {
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    let known = ticks.iter().filter_map(|tick| tick.device(screen.device)?.latencies.as_ref());
    for (from, to, _) in known.flat_map(|known| known.filled()) {
        low = low.min((from as f64).max(500.0));
        high = high.max(if to == u64::MAX { from as f64 * 1.1 } else { to as f64 });
    }
    (high > 0.0).then(|| (low.min(high / 4.0), high))
}

/// The lower edge of a row, ns.
fn at((low, high): (f64, f64), row: usize, rows: usize) -> u64 {
    (low * (high / low).powf(row as f64 / rows as f64)) as u64
}

fn row_of((low, high): (f64, f64), ns: f64, rows: usize) -> usize {
    let way = (ns.max(low) / low).ln() / (high / low).ln();
    ((way * rows as f64) as usize).min(rows.saturating_sub(1))
}

/// A tick's I/Os, or seconds waited, per second and row.
fn column(
    screen: &Screen,
    tick: &Tick,
    range: (f64, f64),
    rows: usize,
    intensity: bool,
) -> Vec<f64> {
    let mut cells = vec![0.0; rows];
    let seconds = tick.length_ns as f64 / 1e9;
    let known = tick.device(screen.device).and_then(|device| device.latencies.as_ref());
    for (low, high, n) in known.into_iter().flat_map(|known| known.filled()) {
        let value = middle(low, high);
        if let Some(cell) = cells.get_mut(row_of(range, value, rows)) {
            *cell += n as f64 / seconds * if intensity { value / 1e9 } else { 1.0 };
        }
    }
    cells
}

/// I/Os of the ticks shown, or the seconds they waited, by row.
fn histogram(screen: &Screen, range: (f64, f64), rows: usize, intensity: bool) -> Vec<f64> {
    let mut counts = vec![0.0; rows];
    let known = screen.latencies(screen.device);
    for (low, high, n) in known.iter().flat_map(|known| known.filled()) {
        let value = middle(low, high);
        if let Some(count) = counts.get_mut(row_of(range, value, rows)) {
            *count += n as f64 * if intensity { value / 1e9 } else { 1.0 };
        }
    }
    counts
}

/// Times under the map, of this many columns for each tick, and the subject of the histogram.
fn axis(
    screen: &Screen,
    ticks: &[Tick],
    (columns, width): (usize, usize),
    intensity: bool,
) -> Line<'static> {
    let mut text = " ".repeat(usize::from(LEFT));
    let mut next = 0;
    // As many decimals as neighbouring labels need to differ.
    let each = ticks.first().map_or(1.0, |tick| tick.length_ns as f64 / 1e9);
    let decimals = (-(each * 12.0).log10()).ceil().clamp(0.0, 6.0) as usize;
    for (place, tick) in ticks.iter().enumerate() {
        let place = place * width;
        if place >= next && place < columns {
            let label = match tick.clock {
                Some(clock) => clock.of_day(tick.start_ns, decimals, &screen.style.zone),
                None => format!("{:.decimals$} s", tick.start_ns as f64 / 1e9),
            };
            next = place + 12.max(label.len() + 2);
            let behind = usize::from(LEFT) + place;
            text += &" ".repeat(behind.saturating_sub(text.len()));
            text += &label;
        }
    }
    let over: f64 = screen.shown().iter().map(|tick| tick.length_ns as f64).sum();
    let end = usize::from(LEFT) + columns + 1;
    let mut spans = vec![Span::styled(format!("{text:<end$.end$}"), screen.pen(Tone::Faint))];
    let what = if intensity { "waited in" } else { "I/Os of" };
    let over = format!("{what} the last {}", duration(over));
    spans.push(Span::styled(over, screen.pen(Tone::Faint)));
    Line::from(spans)
}
