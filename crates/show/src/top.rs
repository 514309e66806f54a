//! The live screen: devices, heat maps, who waits, the slowest I/Os and the verdict, drawn from one
//! [`Screen`] and nothing else. Live and replay fill the same [`Tick`]s.

mod bottom;
mod devices;
mod map;
mod popup;
mod tick;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style as Pen};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use iowhy_model::{Histogram, NameTable, OwnerNames, Report};

use crate::paint::{Rgb, Tone, clean, nearest_16, nearest_256};
use crate::words::{self, blame_headline, count, duration, share};
use crate::{Colour, Style, device_label};

pub use devices::{Key, ordered};
pub use tick::{DeviceTick, SlowIo, Tick, Waiter};

/// The parts of the screen that Tab walks through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Panel {
    /// The table of devices.
    Devices,
    /// The heat maps.
    Map,
    /// Who waited.
    Waiters,
    /// The slowest I/Os.
    Slowest,
}

impl Panel {
    /// All of them, in the order of Tab.
    pub const ALL: [Panel; 4] = [Panel::Devices, Panel::Map, Panel::Waiters, Panel::Slowest];
}

/// The overlay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Popup {
    /// The keys.
    Help,
    /// The verdict with its evidence; the first line shown.
    Verdict(u16),
}

/// Everything that is drawn.
pub struct Screen<'a> {
    /// The known intervals, oldest first.
    pub ticks: &'a [Tick],
    /// The tick whose numbers are shown.
    pub cursor: usize,
    /// Ticks that the numbers of the table and the panels are of, the cursor's the last.
    pub window: usize,
    /// The latest verdict and what it rests on.
    pub verdict: Option<&'a Report>,
    /// Since when a recorder has had this verdict; empty if unknown.
    pub since: &'a str,
    /// `live`, `paused` or `replay FILE`.
    pub mode: &'a str,
    /// What is missing: privileges, losses.
    pub missing: &'a [String],
    /// The selected device.
    pub device: &'a str,
    /// The device that the verdict accuses; empty if none.
    pub accused: &'a str,
    /// The other names of devices.
    pub names: &'a NameTable,
    /// The names of containers and pods.
    pub owners: &'a OwnerNames,
    /// Which devices, processes, control groups and files are shown; all if empty.
    pub filter: &'a str,
    /// Whether the filter is being typed.
    pub typing: bool,
    /// The sort key of the devices.
    pub sort: Key,
    /// Whether in the opposite order.
    pub reversed: bool,
    /// The panel that the arrows move in.
    pub focus: Panel,
    /// Whether the map shows time waited instead of I/Os.
    pub intensity: bool,
    /// The overlay.
    pub popup: Option<Popup>,
    /// Whether there is a time bar: a replay.
    pub replay: bool,
    /// Colours and letters.
    pub style: &'a Style,
}

/// Where things are, for the mouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The line of the verdict.
    pub verdict: Rect,
    /// The rows of devices, without the heading.
    pub devices: Rect,
    /// The column after the heading of each key, in the order of [`Key::ALL`]; 0 for one that is
    /// not shown.
    pub headings: [u16; 12],
    /// The cells of the map, and how many columns of them a tick has.
    pub map: Rect,
    /// Columns of a tick; 0 if there is no map.
    pub tick_columns: u16,
    /// The lists below.
    pub bottom: Rect,
    /// The time bar.
    pub time: Rect,
}

/// From this number of columns on the verdict's sentence is next to its name.
const SENTENCE: usize = 40;

/// Rows of the smallest screen that has all panels.
const TALL: u16 = 18;

/// Draws the screen and shows where its parts are.
pub fn draw(frame: &mut Frame, screen: &Screen) -> Places {
    let area = frame.area();
    let rows = ordered(screen);
    let table = (rows.len() as u16 + 1).clamp(2, (area.height / 3).max(2));
    let bottom = if area.height >= TALL { (area.height / 4).clamp(4, 14) } else { 0 };
    let bar = u16::from(screen.replay);
    let parts = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(table),
        Constraint::Min(3),
        Constraint::Length(bar),
        Constraint::Length(bottom),
        Constraint::Length(1),
    ])
    .split(area);
    let part = |place: usize| parts.get(place).copied().unwrap_or_default();
    let mut places =
        Places { verdict: part(0), time: part(3), bottom: part(4), ..Places::default() };
    frame.render_widget(Paragraph::new(head(screen, usize::from(area.width))), part(0));
    (places.devices, places.headings) = devices::draw(frame, part(1), screen, &rows);
    (places.map, places.tick_columns) = map::draw(frame, part(2), screen);
    if screen.replay {
        frame.render_widget(Paragraph::new(time_bar(screen, part(3).width)), part(3));
    }
    if bottom > 0 {
        bottom::draw(frame, part(4), screen);
    }
    frame.render_widget(Paragraph::new(foot(screen)), part(5));
    if let Some(popup) = screen.popup {
        popup::draw(frame, area, popup, screen);
    }
    places
}

impl Screen<'_> {
    /// The ticks that the numbers are of.
    fn shown(&self) -> &[Tick] {
        let end = (self.cursor + 1).min(self.ticks.len());
        self.ticks.get(end.saturating_sub(self.window)..end).unwrap_or_default()
    }

    /// The latencies of a device over the ticks shown.
    fn latencies(&self, device: &str) -> Option<Histogram> {
        let mut all: Option<Histogram> = None;
        let known = self.shown().iter().filter_map(|tick| tick.device(device));
        for histogram in known.filter_map(|device| device.latencies.as_ref()) {
            match &mut all {
                Some(sum) => _ = sum.merge(histogram),
                None => all = Some(histogram.clone()),
            }
        }
        all
    }

    /// Whether a name passes the filter.
    fn passes(&self, name: &str) -> bool {
        self.filter.is_empty() || name.to_lowercase().contains(&self.filter.to_lowercase())
    }

    fn unicode(&self) -> bool {
        self.style.unicode
    }

    fn pen(&self, tone: Tone) -> Pen {
        let plain = Pen::default();
        if self.style.colour == Colour::None {
            return match tone {
                Tone::Faint | Tone::Plain | Tone::Exact(_) => plain,
                Tone::Accent | Tone::Good | Tone::Warn | Tone::Bad => {
                    plain.add_modifier(Modifier::BOLD)
                }
            };
        }
        match tone {
            Tone::Plain => plain,
            Tone::Faint => plain.fg(self.colour(Rgb(138, 138, 138))),
            Tone::Accent => plain.fg(Color::Cyan),
            Tone::Good => plain.fg(Color::Green),
            Tone::Warn => plain.fg(Color::Yellow),
            Tone::Bad => plain.fg(Color::Red),
            Tone::Exact(rgb) => plain.fg(self.colour(rgb)),
        }
    }

    /// A colour as far as the terminal has it.
    fn colour(&self, rgb: Rgb) -> Color {
        match self.style.colour {
            Colour::None => Color::Reset,
            Colour::Ansi16 => Color::Indexed(nearest_16(rgb)),
            Colour::Ansi256 => Color::Indexed(nearest_256(rgb)),
            Colour::True => Color::Rgb(rgb.0, rgb.1, rgb.2),
        }
    }

    /// The heading of a panel; the one with the focus stands out.
    fn heading(&self, panel: Panel, text: &str) -> Span<'static> {
        let pen = self.pen(Tone::Accent);
        let pen = if self.focus == panel {
            pen.add_modifier(Modifier::BOLD | Modifier::REVERSED)
        } else {
            pen
        };
        Span::styled(text.to_string(), pen)
    }
}

/// The verdict, always there, and what state the screen is in.
fn head(screen: &Screen, width: usize) -> Vec<Line<'static>> {
    let mut first = Vec::new();
    let finding = screen.verdict.and_then(|report| report.findings.first());
    match (screen.verdict, finding) {
        (Some(report), Some(finding)) => {
            let (headline, tone) = (blame_headline(finding), words::tone(finding));
            first.push(Span::styled(
                format!(" {headline} "),
                screen.pen(tone).add_modifier(Modifier::REVERSED | Modifier::BOLD),
            ));
            let device = finding.subject.device.and_then(|id| {
                report.recording.devices().get(id.index()).map(|device| device.name.clone())
            });
            let named = |name: String| device_label::fitted(screen.names, &name, width / 4);
            let device = device.map_or(String::new(), |name| format!(" {}", clean(&named(name))));
            first.push(Span::raw(format!(" {}{device}", finding.verdict)));
            if finding.is_probability() {
                first.push(Span::raw(format!(" {}", share(finding.confidence()))));
            }
            first.push(Span::styled("  Enter: why", screen.pen(Tone::Faint)));
            let taken: usize = first.iter().map(Span::width).sum();
            let room = width.saturating_sub(taken + 2);
            if room >= SENTENCE {
                let sentence = words::ended(&clean(&finding.sentence), room);
                first.push(Span::raw(format!("  {sentence}")));
            }
        }
        _ => first.push(Span::styled(" no verdict yet ", screen.pen(Tone::Faint))),
    }
    let tick = screen.ticks.get(screen.cursor);
    let lost = screen.ticks.iter().fold(0u64, |sum, tick| sum.saturating_add(tick.lost));
    let mut second =
        vec![Span::styled(format!(" {}", clean(screen.mode)), screen.pen(Tone::Accent))];
    if let Some(tick) = tick {
        let at = match tick.clock {
            Some(clock) => clock.words(tick.start_ns, &screen.style.zone),
            None => format!("{:.1} s", tick.start_ns as f64 / 1e9),
        };
        let each = duration(tick.length_ns as f64);
        second.push(Span::raw(format!("  at {at}, {each} a column")));
    }
    let tone = if lost > 0 { Tone::Bad } else { Tone::Faint };
    let lost = format!("  lost {}", count(lost));
    second.push(Span::styled(lost, screen.pen(tone)));
    if !screen.since.is_empty() {
        let since = format!("  {}", clean(screen.since));
        second.push(Span::styled(since, screen.pen(Tone::Accent)));
    }
    for missing in screen.missing {
        second.push(Span::styled(format!("  {}", clean(missing)), screen.pen(Tone::Warn)));
    }
    vec![Line::from(first), Line::from(second)]
}

/// Where in the input the cursor is.
fn time_bar(screen: &Screen, width: u16) -> Line<'static> {
    let room = usize::from(width).saturating_sub(2).max(1);
    let all = screen.ticks.len().max(1);
    let most = screen.ticks.iter().map(Tick::waited).fold(0.0, f64::max);
    let marks: &[char] = if screen.unicode() {
        &['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    } else {
        &['.', ':', '|', '#']
    };
    let mut spans = vec![Span::raw(" ")];
    for column in 0..room {
        let (from, to) =
            (column * all / room, ((column + 1) * all / room).max(column * all / room + 1));
        let some = screen.ticks.get(from..to.min(all)).unwrap_or_default();
        let value = some.iter().map(Tick::waited).fold(0.0, f64::max);
        let place = if most > 0.0 { value / most * (marks.len() - 1) as f64 } else { 0.0 };
        let mark = marks.get(place.ceil() as usize).copied().unwrap_or(' ');
        let here = (from..to).contains(&screen.cursor);
        let pen = screen.pen(if here { Tone::Accent } else { Tone::Faint });
        let pen = if here { pen.add_modifier(Modifier::REVERSED) } else { pen };
        spans.push(Span::styled(mark.to_string(), pen));
    }
    Line::from(spans)
}

/// The keys, or the filter while it is typed.
fn foot(screen: &Screen) -> Line<'static> {
    if screen.typing {
        let text = format!(" filter: {}_   Enter keeps it, Esc clears it", clean(screen.filter));
        return Line::from(Span::styled(text, screen.pen(Tone::Accent)));
    }
    let keys = if screen.replay {
        " ? help  arrows  +- zoom  n anomaly  / filter  s sort  i map  Enter why  q quit"
    } else {
        " ? help  / filter  s sort  i map  p pause  + - tick  Enter verdict  q quit"
    };
    let mut spans = Vec::new();
    if !screen.filter.is_empty() {
        let filter = format!(" [filter: {}]", clean(screen.filter));
        spans.push(Span::styled(filter, screen.pen(Tone::Accent)));
    }
    spans.push(Span::styled(keys, screen.pen(Tone::Faint)));
    Line::from(spans)
}
