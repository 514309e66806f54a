//! The table of devices: the columns of `stat`, with a line of latencies over time.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::{DeviceTick, Panel, Screen, Tick};
use crate::device_label;
use crate::paint::{Tone, clean};
use crate::words::{NONE, duration, share, short};
use iowhy_model::Order as _;

/// By which column the devices are sorted: names from A on, numbers from the highest on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// The name.
    Name,
    /// Reads per second.
    Reads,
    /// Writes per second.
    Writes,
    /// Bytes read per second.
    ReadBytes,
    /// Bytes written per second.
    WriteBytes,
    /// Mean latency.
    Await,
    /// Median of the latencies.
    Median,
    /// 99th percentile of the latencies.
    P99,
    /// Mean time from queue to issue.
    Queue,
    /// Mean time from issue to completion.
    Device,
    /// Time waited per second.
    Waited,
    /// Busy share.
    Busy,
}

impl Key {
    /// All, in the order of the columns.
    pub const ALL: [Key; 12] = [
        Key::Name,
        Key::Reads,
        Key::Writes,
        Key::ReadBytes,
        Key::WriteBytes,
        Key::Await,
        Key::Median,
        Key::P99,
        Key::Queue,
        Key::Device,
        Key::Waited,
        Key::Busy,
    ];

    /// The heading of its column.
    pub fn title(self) -> &'static str {
        match self {
            Key::Name => "device",
            Key::Reads => "r/s",
            Key::Writes => "w/s",
            Key::ReadBytes => "rMB/s",
            Key::WriteBytes => "wMB/s",
            Key::Await => "await",
            Key::Median => "p50",
            Key::P99 => "p99",
            Key::Queue => "Q2D",
            Key::Device => "D2C",
            Key::Waited => "aqu-sz",
            Key::Busy => "%util",
        }
    }

    /// The number by which it sorts; what is not known comes last.
    fn number(self, device: &DeviceTick) -> Option<f64> {
        let quantile = |q: f64| {
            let known = device.latencies.as_ref().and_then(|known| known.quantile(q));
            known.map(|known| known.high_ns as f64)
        };
        match self {
            Key::Name => None,
            Key::Reads => Some(device.reads),
            Key::Writes => Some(device.writes),
            Key::ReadBytes => Some(device.read_bytes),
            Key::WriteBytes => Some(device.write_bytes),
            Key::Await => device.await_ns,
            Key::Median => quantile(0.5),
            Key::P99 => quantile(0.99),
            Key::Queue => device.queue_ns,
            Key::Device => device.device_ns,
            Key::Waited => device.in_flight,
            Key::Busy => device.busy,
        }
    }

    fn cell(self, device: &DeviceTick) -> String {
        let Some(number) = self.number(device) else { return NONE.to_string() };
        match self {
            Key::Name => device.name.clone(),
            Key::Reads | Key::Writes => short(number),
            Key::ReadBytes | Key::WriteBytes => format!("{:.1}", number / 1e6),
            Key::Await | Key::Median | Key::P99 | Key::Queue | Key::Device => {
                duration(number).replace(' ', "")
            }
            Key::Waited => format!("{number:.2}"),
            Key::Busy => share(number),
        }
    }
}

/// A device over the ticks shown: means over time.
pub struct DeviceRow {
    /// The numbers.
    pub device: DeviceTick,
}

/// The devices that pass the filter, in the order of the key.
pub fn ordered(screen: &Screen) -> Vec<DeviceRow> {
    let ticks = screen.shown();
    let mut rows: Vec<DeviceTick> = Vec::new();
    for tick in ticks {
        for known in tick.devices.iter().filter(|device| passes(screen, &device.name)) {
            if !rows.iter().any(|row| row.name == known.name) {
                rows.push(over(screen, &known.name));
            }
        }
    }
    let number = |row: &DeviceTick| screen.sort.number(row).unwrap_or(-1.0);
    // In the default order, accused devices come first.
    let accused = |row: &DeviceTick| screen.sort == Key::Waited && row.name == screen.accused;
    rows.order_by(|a, b| {
        let by_number = number(b).total_cmp(&number(a));
        let by_verdict = accused(b).cmp(&accused(a));
        by_verdict.then(by_number).then_with(|| a.name.cmp(&b.name))
    });
    if screen.reversed {
        rows.reverse();
    }
    rows.into_iter().map(|device| DeviceRow { device }).collect()
}

/// Whether a device passes the filter: by its name, or by what waited for it.
fn passes(screen: &Screen, name: &str) -> bool {
    let waits = |tick: &Tick| {
        tick.waiters.iter().any(|waiter| waiter.device == name && screen.passes(&waiter.name))
    };
    screen.passes(name) || screen.shown().iter().any(waits)
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

/// Columns after the name: width, and from which width of the screen on.
const COLUMNS: [(Key, usize, u16); 11] = [
    (Key::Reads, 7, 0),
    (Key::Writes, 7, 0),
    (Key::ReadBytes, 7, 92),
    (Key::WriteBytes, 7, 92),
    (Key::Await, 8, 0),
    (Key::Median, 8, 108),
    (Key::P99, 8, 60),
    (Key::Queue, 8, 72),
    (Key::Device, 8, 72),
    (Key::Waited, 7, 0),
    (Key::Busy, 6, 0),
];

/// Columns of the longest label of a device: on a narrow screen, and on a wide one.
const LEAST: usize = 20;
const LONGEST: usize = 40;

/// Draws the table; where its rows are, and where its headings end, in the order of the keys.
pub(super) fn draw(
    frame: &mut Frame,
    area: Rect,
    screen: &Screen,
    rows: &[DeviceRow],
) -> (Rect, [u16; 12]) {
    let columns: Vec<&(Key, usize, u16)> =
        COLUMNS.iter().filter(|(.., from)| area.width >= *from).collect();
    let taken: usize = columns.iter().map(|(_, width, _)| width + 1).sum();
    let most = (usize::from(area.width).saturating_sub(taken + 1) / 2).clamp(LEAST, LONGEST);
    let label =
        |row: &DeviceRow| clean(&device_label::fitted(screen.names, &row.device.name, most));
    let names = rows.iter().map(|row| label(row).width()).max().unwrap_or(6).clamp(6, most);
    let mut ends = [0; 12];
    let mut head = Vec::new();
    let mut width = 0;
    let mut heading = |key: Key, text: String| {
        width += text.width();
        let place = Key::ALL.iter().position(|other| *other == key).unwrap_or(0);
        if let Some(end) = ends.get_mut(place) {
            *end = area.x.saturating_add(width as u16);
        }
        let span = screen.heading(Panel::Devices, &text);
        let sorts = key == screen.sort;
        head.push(if sorts { span.add_modifier(Modifier::UNDERLINED) } else { span });
    };
    heading(Key::Name, format!(" {:names$}", Key::Name.title()));
    for (key, width, _) in &columns {
        heading(*key, format!(" {:>width$}", key.title()));
    }
    let room = usize::from(area.width).saturating_sub(width + 2);
    if room >= 20 {
        let order = if screen.reversed { ", reversed" } else { "" };
        let first =
            screen.sort == Key::Waited && rows.iter().any(|row| row.device.name == screen.accused);
        let first = if first { "accused, then " } else { "" };
        // Whole words only.
        let sorted = [first, ""].map(|first| format!("  by {first}{}{order}", screen.sort.title()));
        let fits = sorted.into_iter().find(|text| text.chars().count() <= room);
        head.extend(fits.map(|text| Span::styled(text, screen.pen(Tone::Faint))));
    }
    let mut lines = vec![Line::from(head)];
    for row in rows.iter().take(usize::from(area.height).saturating_sub(1)) {
        let device = &row.device;
        let selected = device.name == screen.device;
        let pen = screen.pen(Tone::Plain);
        let pen = if selected { pen.add_modifier(Modifier::REVERSED) } else { pen };
        let name = label(row);
        let mut text = format!(" {name:names$}");
        for (key, width, _) in &columns {
            text += &format!(" {:>width$}", key.cell(device));
        }
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
            if screen.filter.is_empty() { " no I/O yet" } else { " nothing matches the filter" };
        lines.push(Line::from(Span::styled(text, screen.pen(Tone::Faint))));
    }
    frame.render_widget(Paragraph::new(lines), area);
    (Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area }, ends)
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
