//! The table of devices: the columns of `stat`, with a line of latencies over time.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::{DeviceTick, Panel, Screen};
use crate::paint::{Tone, clean};
use crate::sources::shortened;
use crate::words::{NONE, duration, share, short};

/// By what the devices are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// Time waited per second, the most first.
    Waited,
    /// I/Os per second, the most first.
    Rate,
    /// Bytes per second, the most first.
    Bytes,
    /// Mean latency, the longest first.
    Await,
    /// Busy share, the most first.
    Busy,
    /// The name.
    Name,
}

impl Key {
    /// All, in the order of `s`.
    pub const ALL: [Key; 6] =
        [Key::Waited, Key::Rate, Key::Bytes, Key::Await, Key::Busy, Key::Name];

    /// The heading of its column.
    pub fn title(self) -> &'static str {
        match self {
            Key::Waited => "aqu-sz",
            Key::Rate => "IOPS",
            Key::Bytes => "B/s",
            Key::Await => "await",
            Key::Busy => "%util",
            Key::Name => "device",
        }
    }
}

/// A device over the ticks shown: means over time.
pub struct Row {
    /// The numbers.
    pub device: DeviceTick,
}

/// The devices that pass the filter, in the order of the key.
pub fn ordered(screen: &Screen) -> Vec<Row> {
    let ticks = screen.shown();
    let mut rows: Vec<DeviceTick> = Vec::new();
    for tick in ticks {
        for known in tick.devices.iter().filter(|device| screen.passes(&device.name)) {
            if !rows.iter().any(|row| row.name == known.name) {
                rows.push(over(screen, &known.name));
            }
        }
    }
    let bytes = |row: &DeviceTick| row.read_bytes + row.write_bytes;
    let first = |a: f64, b: f64| b.total_cmp(&a);
    rows.sort_by(|a, b| {
        let by = match screen.sort {
            Key::Waited => first(a.in_flight.unwrap_or(0.0), b.in_flight.unwrap_or(0.0)),
            Key::Rate => first(a.ios(), b.ios()),
            Key::Bytes => first(bytes(a), bytes(b)),
            Key::Await => first(a.await_ns.unwrap_or(0.0), b.await_ns.unwrap_or(0.0)),
            Key::Busy => first(a.busy.unwrap_or(0.0), b.busy.unwrap_or(0.0)),
            Key::Name => std::cmp::Ordering::Equal,
        };
        by.then_with(|| a.name.cmp(&b.name))
    });
    rows.into_iter().map(|device| Row { device }).collect()
}

/// Means of a device over the ticks shown: rates by time, latencies by I/O.
fn over(screen: &Screen, name: &str) -> DeviceTick {
    let ticks = screen.shown();
    let time: f64 = ticks.iter().map(|tick| tick.length_ns as f64).sum::<f64>().max(1.0);
    let mut sum = DeviceTick { name: name.to_string(), ..DeviceTick::default() };
    let mut means = [(0.0, 0.0); 3];
    let (mut flight, mut busy) = ((0.0, 0.0), (0.0, 0.0));
    for tick in ticks {
        let Some(device) = tick.device(name) else { continue };
        let part = tick.length_ns as f64 / time;
        sum.reads += device.reads * part;
        sum.writes += device.writes * part;
        sum.others += device.others * part;
        sum.read_bytes += device.read_bytes * part;
        sum.write_bytes += device.write_bytes * part;
        let ios = device.ios() * tick.length_ns as f64;
        let latencies = [device.await_ns, device.queue_ns, device.device_ns];
        for (mean, latency) in means.iter_mut().zip(latencies) {
            if let Some(latency) = latency {
                *mean = (mean.0 + ios, mean.1 + ios * latency);
            }
        }
        let weigh = |sum: &mut (f64, f64), value: Option<f64>| {
            if let Some(value) = value {
                *sum = (sum.0 + part, sum.1 + part * value);
            }
        };
        weigh(&mut flight, device.in_flight);
        weigh(&mut busy, device.busy);
    }
    let mean = |(weight, sum): (f64, f64)| (weight > 0.0).then(|| sum / weight);
    [sum.await_ns, sum.queue_ns, sum.device_ns] = means.map(mean);
    // A device that is quiet in some ticks has nothing in flight there.
    sum.in_flight = (flight.0 > 0.0).then_some(flight.1);
    sum.busy = mean(busy);
    sum.latencies = screen.latencies(name);
    sum
}

/// Columns that fit: heading, width, and from which width of the screen on.
const COLUMNS: [(&str, usize, u16); 10] = [
    ("r/s", 7, 0),
    ("w/s", 7, 0),
    ("rMB/s", 7, 92),
    ("wMB/s", 7, 92),
    ("await", 8, 0),
    ("p50", 8, 108),
    ("p99", 8, 60),
    ("Q2D", 8, 72),
    ("D2C", 8, 72),
    ("aqu-sz", 7, 0),
];

/// Draws the table; where its rows are.
pub fn draw(frame: &mut Frame, area: Rect, screen: &Screen, rows: &[Row]) -> Rect {
    let names = rows.iter().map(|row| row.device.name.width()).max().unwrap_or(6).clamp(6, 20);
    let columns: Vec<&(&str, usize, u16)> =
        COLUMNS.iter().filter(|(.., from)| area.width >= *from).collect();
    let mut head = format!(" {:names$}", "device");
    for (title, width, _) in &columns {
        head += &format!(" {title:>width$}");
    }
    head += &format!(" {:>6}", "%util");
    let room = usize::from(area.width).saturating_sub(head.width() + 2);
    let sorted = match room {
        0..12 => String::new(),
        _ => format!("  by {}", screen.sort.title()),
    };
    let mut lines = vec![Line::from(vec![
        screen.heading(Panel::Devices, &head),
        Span::styled(sorted, screen.pen(Tone::Faint)),
    ])];
    for row in rows.iter().take(usize::from(area.height).saturating_sub(1)) {
        let device = &row.device;
        let selected = device.name == screen.device;
        let pen = screen.pen(Tone::Plain);
        let pen = if selected { pen.add_modifier(Modifier::REVERSED) } else { pen };
        let name = shortened(&clean(&device.name), names);
        let mut text = format!(" {name:names$}");
        for (title, width, _) in &columns {
            text += &format!(" {:>width$}", cell(device, title));
        }
        let busy = device.busy.map_or(NONE.to_string(), share);
        text += &format!(" {busy:>6}");
        let mut spans = vec![Span::styled(text, pen)];
        if room > 4 {
            spans.push(Span::raw(" "));
            spans.push(Span::styled(
                sparkline(screen, &device.name, room),
                screen.pen(Tone::Accent),
            ));
        }
        lines.push(Line::from(spans));
    }
    if rows.is_empty() {
        let text =
            if screen.filter.is_empty() { " no I/O yet" } else { " nothing passes the filter" };
        lines.push(Line::from(Span::styled(text, screen.pen(Tone::Faint))));
    }
    frame.render_widget(Paragraph::new(lines), area);
    Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area }
}

fn cell(device: &DeviceTick, title: &str) -> String {
    let time = |ns: Option<f64>| ns.map_or(NONE.to_string(), |ns| duration(ns).replace(' ', ""));
    let quantile = |q: f64| {
        let known = device.latencies.as_ref().and_then(|known| known.quantile(q));
        time(known.map(|known| known.high_ns as f64))
    };
    let mb = |bytes: f64| format!("{:.1}", bytes / 1e6);
    match title {
        "r/s" => short(device.reads),
        "w/s" => short(device.writes),
        "rMB/s" => mb(device.read_bytes),
        "wMB/s" => mb(device.write_bytes),
        "await" => time(device.await_ns),
        "p50" => quantile(0.5),
        "p99" => quantile(0.99),
        "Q2D" => time(device.queue_ns),
        "D2C" => time(device.device_ns),
        _ => device.in_flight.map_or(NONE.to_string(), |queue| format!("{queue:.2}")),
    }
}

/// Mean latency per tick on a scale of logarithms, the latest on the right.
fn sparkline(screen: &Screen, name: &str, room: usize) -> String {
    let end = (screen.cursor + 1).min(screen.ticks.len());
    let ticks = screen.ticks.get(end.saturating_sub(room)..end).unwrap_or_default();
    let values: Vec<Option<f64>> =
        ticks.iter().map(|tick| tick.device(name).and_then(|device| device.await_ns)).collect();
    let known = || values.iter().flatten().filter(|value| **value > 0.0);
    let low = known().copied().fold(f64::INFINITY, f64::min);
    let high = known().copied().fold(0.0, f64::max);
    let marks: &[char] = if screen.unicode() {
        &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    } else {
        &['_', '-', '=', '#']
    };
    let mark = |value: &Option<f64>| match value {
        Some(value) if *value > 0.0 => {
            let way = if high > low { (value / low).ln() / (high / low).ln() } else { 0.0 };
            marks.get((way * (marks.len() - 1) as f64).round() as usize).copied().unwrap_or(' ')
        }
        _ => ' ',
    };
    values.iter().map(mark).collect()
}
