//! Keys and mouse: what is shown.

use iowhy_model::{NameTable, OwnerNames};
use iowhy_show::top::{Key, Panel, Places, Popup, Tick};
use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use ratatui::layout::{Position, Rect};

/// The initial number of ticks in the table's numbers.
const WINDOW: usize = 10;
/// A tick is an anomaly if its time waited exceeds this multiple of the median tick's, and at least
/// this, s/s.
const UNUSUAL: f64 = 3.0;
const FELT: f64 = 0.05;

/// The action to take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// Redraw.
    Nothing,
    /// Quit.
    Quit,
    /// Longer ticks.
    Slower,
    /// Shorter ticks.
    Faster,
    /// Zoom into a replay, around the cursor.
    In,
    /// Zoom out.
    Out,
}

/// The state of the view.
pub(super) struct State {
    /// The selected tick, if not the latest.
    at: Option<usize>,
    /// Whether this is a replay.
    pub replays: bool,
    /// Number of ticks in the numbers.
    pub window: usize,
    /// The selected device.
    pub selected: String,
    /// The device that the last verdict accuses; empty if none.
    pub accused: String,
    /// Whether the user selected it.
    chosen: bool,
    /// The other names of devices.
    pub names: NameTable,
    /// The names of containers and pods.
    pub owners: OwnerNames,
    /// The text that names must contain.
    pub filter: String,
    /// Whether that text is being typed.
    pub typing: bool,
    /// The order of the devices.
    pub sort: Key,
    /// Whether the order is reversed.
    pub reversed: bool,
    /// The panel that the arrow keys control.
    pub focus: Panel,
    /// Time waited instead of I/Os.
    pub intensity: bool,
    /// The overlay.
    pub popup: Option<Popup>,
}

impl State {
    /// For a live watch.
    pub(super) fn live() -> State {
        State {
            at: None,
            replays: false,
            window: WINDOW,
            selected: String::new(),
            accused: String::new(),
            chosen: false,
            names: NameTable::default(),
            owners: OwnerNames::default(),
            filter: String::new(),
            typing: false,
            sort: Key::Waited,
            reversed: false,
            focus: Panel::Devices,
            intensity: false,
            popup: None,
        }
    }

    /// For a capture: starts at its end, with the numbers of all of it.
    pub(super) fn replay() -> State {
        State { replays: true, focus: Panel::Map, window: usize::MAX, ..State::live() }
    }

    /// `live` or `paused`.
    pub(super) fn mode(&self) -> &'static str {
        if self.at.is_some() { "paused (p resumes)" } else { "live" }
    }

    /// The tick shown.
    pub(super) fn cursor(&self, ticks: &[Tick]) -> usize {
        let last = ticks.len().saturating_sub(1);
        self.at.map_or(last, |at| at.min(last))
    }

    /// The device shown: the selected one, else the accused one, else the one with most time
    /// waited.
    pub(super) fn device(&self, ticks: &[Tick]) -> String {
        if self.chosen {
            return self.selected.clone();
        }
        let end = self.cursor(ticks) + 1;
        let shown = ticks.get(end.saturating_sub(self.window)..end.min(ticks.len()));
        let mut waits: Vec<(String, f64)> = Vec::new();
        for device in shown.unwrap_or_default().iter().flat_map(|tick| &tick.devices) {
            let waited = device.in_flight.unwrap_or(0.0);
            match waits.iter_mut().find(|(name, _)| *name == device.name) {
                Some((_, sum)) => *sum += waited,
                None => waits.push((device.name.clone(), waited)),
            }
        }
        if waits.iter().any(|(name, _)| *name == self.accused) {
            return self.accused.clone();
        }
        let most = waits.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        most.map_or_else(|| self.selected.clone(), |(name, _)| name)
    }

    /// Selects a device unless the user has.
    pub(super) fn select_default(&mut self, ticks: &[Tick]) {
        self.selected = self.device(ticks);
    }

    /// Handles an event.
    pub(super) fn take(
        &mut self,
        event: &Event,
        ticks: &[Tick],
        selected: &str,
        places: Places,
    ) -> Action {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key, ticks, selected),
            Event::Mouse(mouse) => {
                let at = Position::new(mouse.column, mouse.row);
                match mouse.kind {
                    MouseEventKind::Down(MouseButton::Left) => self.click(at, ticks, places),
                    MouseEventKind::ScrollUp => self.scroll(-1, ticks, selected),
                    MouseEventKind::ScrollDown => self.scroll(1, ticks, selected),
                    _ => {}
                }
                Action::Nothing
            }
            _ => Action::Nothing,
        }
    }

    fn key(&mut self, key: KeyEvent, ticks: &[Tick], selected: &str) -> Action {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Action::Quit;
        }
        if self.typing {
            match key.code {
                KeyCode::Enter => self.typing = false,
                KeyCode::Esc => {
                    self.typing = false;
                    self.filter.clear();
                }
                KeyCode::Backspace => _ = self.filter.pop(),
                KeyCode::Char(letter) => self.filter.push(letter),
                _ => {}
            }
            return Action::Nothing;
        }
        if let Some(popup) = self.popup {
            match (popup, key.code) {
                (Popup::Verdict(line), KeyCode::Down | KeyCode::Char('j')) => {
                    self.popup = Some(Popup::Verdict(line.saturating_add(1)));
                }
                (Popup::Verdict(line), KeyCode::Up | KeyCode::Char('k')) => {
                    self.popup = Some(Popup::Verdict(line.saturating_sub(1)));
                }
                (Popup::Verdict(line), KeyCode::PageDown | KeyCode::Char(' ')) => {
                    self.popup = Some(Popup::Verdict(line.saturating_add(15)));
                }
                (Popup::Verdict(line), KeyCode::PageUp) => {
                    self.popup = Some(Popup::Verdict(line.saturating_sub(15)));
                }
                (_, KeyCode::Char('q')) if popup == Popup::Help => self.popup = None,
                _ => self.popup = None,
            }
            return Action::Nothing;
        }
        let step = if key.modifiers.contains(KeyModifiers::SHIFT) { 10 } else { 1 };
        match key.code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('?' | 'h') => self.popup = Some(Popup::Help),
            KeyCode::Enter => self.popup = Some(Popup::Verdict(0)),
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('s') => self.sort = after(&Key::ALL, self.sort),
            KeyCode::Char('S') => self.sort = before(&Key::ALL, self.sort),
            KeyCode::Char('r') => self.reversed = !self.reversed,
            KeyCode::Char('i') => self.intensity = !self.intensity,
            KeyCode::Tab => self.focus = after(&Panel::ALL, self.focus),
            KeyCode::BackTab => self.focus = before(&Panel::ALL, self.focus),
            KeyCode::Char('p' | ' ') if !self.replays => {
                self.at = match self.at {
                    Some(_) => None,
                    None => Some(self.cursor(ticks)),
                };
            }
            KeyCode::Char('+') if self.replays => return Action::In,
            KeyCode::Char('-') if self.replays => return Action::Out,
            KeyCode::Char('+') => return Action::Slower,
            KeyCode::Char('-') => return Action::Faster,
            KeyCode::Char('[') => self.window = (self.window.min(ticks.len()) / 2).max(1),
            KeyCode::Char(']') => self.window = self.window.saturating_mul(2),
            KeyCode::Esc if !self.filter.is_empty() => self.filter.clear(),
            KeyCode::Esc if !self.replays => self.at = None,
            KeyCode::Left => self.go(ticks, -step),
            KeyCode::Right => self.go(ticks, step),
            KeyCode::Home => self.stand(ticks, 0),
            KeyCode::End => self.stand(ticks, ticks.len().saturating_sub(1)),
            KeyCode::Char('n') => {
                if let Some(place) = next_anomaly(ticks, self.cursor(ticks)) {
                    self.window = self.window.min(WINDOW);
                    self.stand(ticks, place);
                }
            }
            KeyCode::Up | KeyCode::Char('k') => self.select(ticks, selected, -1),
            KeyCode::Down | KeyCode::Char('j') => self.select(ticks, selected, 1),
            _ => {}
        }
        Action::Nothing
    }

    /// Moves in time; the numbers then cover the last ticks before the cursor.
    fn go(&mut self, ticks: &[Tick], by: isize) {
        let to = self.cursor(ticks).saturating_add_signed(by);
        self.window = self.window.min(WINDOW);
        self.stand(ticks, to);
    }

    fn stand(&mut self, ticks: &[Tick], place: usize) {
        let last = ticks.len().saturating_sub(1);
        self.at = Some(place.min(last));
        if self.replays && place >= last {
            self.at = None;
        }
    }

    /// Moves to the tick at this time, ns; the numbers then cover the last ticks before it.
    pub(super) fn stand_at(&mut self, ticks: &[Tick], at_ns: i64) {
        let place = ticks.partition_point(|tick| tick.start_ns <= at_ns).saturating_sub(1);
        self.window = self.window.min(WINDOW);
        self.stand(ticks, place);
    }

    fn select(&mut self, ticks: &[Tick], selected: &str, by: isize) {
        let names = self.names(ticks);
        let place = names.iter().position(|name| name == selected).unwrap_or(0);
        let to = place.saturating_add_signed(by).min(names.len().saturating_sub(1));
        self.choose(names.get(to).cloned());
    }

    fn choose(&mut self, name: Option<String>) {
        if let Some(name) = name {
            self.selected = name;
            self.chosen = true;
        }
    }

    /// The devices in the order of the table.
    fn names(&self, ticks: &[Tick]) -> Vec<String> {
        let mut state = State {
            popup: None,
            filter: self.filter.clone(),
            selected: self.selected.clone(),
            accused: self.accused.clone(),
            names: NameTable::default(),
            owners: OwnerNames::default(),
            ..*self
        };
        let style = iowhy_show::Style::plain();
        let screen = state.screen(ticks, None, "", &[], &style);
        let rows = iowhy_show::top::ordered(&screen);
        rows.into_iter().map(|row| row.device.name).collect()
    }

    fn click(&mut self, at: Position, ticks: &[Tick], places: Places) {
        if self.popup.take().is_some() {
            return;
        }
        let inside = |area: Rect| area.contains(at);
        if inside(places.verdict) {
            self.popup = Some(Popup::Verdict(0));
        } else if places.devices.y > 0 && at.y == places.devices.y - 1 {
            self.focus = Panel::Devices;
            // The first column that ends after the pointer.
            let ends = Key::ALL.into_iter().zip(places.headings);
            let under = ends.filter(|(_, end)| at.x < *end).min_by_key(|(_, end)| *end);
            if let Some((key, _)) = under {
                (self.sort, self.reversed) = (key, key == self.sort && !self.reversed);
            }
        } else if inside(places.devices) {
            self.focus = Panel::Devices;
            let row = usize::from(at.y - places.devices.y);
            let name = self.names(ticks).get(row).cloned();
            self.choose(name);
        } else if inside(places.map) {
            self.focus = Panel::Map;
            let columns = usize::from(places.map.width);
            let end = (self.cursor(ticks) + 1).max(columns.min(ticks.len())).min(ticks.len());
            let first = end.saturating_sub(columns);
            self.window = self.window.min(WINDOW);
            let place = usize::from((at.x - places.map.x) / places.tick_columns.max(1));
            self.stand(ticks, first + place);
        } else if inside(places.time) {
            let width = usize::from(places.time.width).saturating_sub(2).max(1);
            let place = usize::from(at.x.saturating_sub(places.time.x + 1));
            self.window = self.window.min(WINDOW);
            self.stand(ticks, place * ticks.len() / width);
        } else if inside(places.bottom) {
            let left = at.x < places.bottom.x + places.bottom.width / 2;
            self.focus = if left { Panel::Waiters } else { Panel::Slowest };
        }
    }

    fn scroll(&mut self, by: isize, ticks: &[Tick], selected: &str) {
        match (self.popup, self.focus) {
            (Some(Popup::Verdict(line)), _) => {
                self.popup = Some(Popup::Verdict(line.saturating_add_signed(3 * by as i16)));
            }
            (None, Panel::Map) => self.go(ticks, by),
            (None, _) => self.select(ticks, selected, by),
            _ => {}
        }
    }
}

fn after<T: Copy + PartialEq>(all: &[T], one: T) -> T {
    let place = all.iter().position(|other| *other == one).map_or(0, |place| place + 1);
    all.get(place % all.len().max(1)).copied().unwrap_or(one)
}

fn before<T: Copy + PartialEq>(all: &[T], one: T) -> T {
    let place = all.iter().position(|other| *other == one).unwrap_or(0);
    all.get((place + all.len().saturating_sub(1)) % all.len().max(1)).copied().unwrap_or(one)
}

/// The first anomalous tick after the cursor, outside the anomaly at the cursor; wraps around at
/// the end.
fn next_anomaly(ticks: &[Tick], cursor: usize) -> Option<usize> {
    let mut waits: Vec<f64> = ticks.iter().map(Tick::waited).collect();
    waits.sort_by(f64::total_cmp);
    let median = waits.get(waits.len() / 2).copied().unwrap_or(0.0);
    let unusual = |tick: &Tick| tick.waited() > (UNUSUAL * median).max(FELT);
    let begins = |place: &usize| {
        let before = place.checked_sub(1).and_then(|before| ticks.get(before));
        ticks.get(*place).is_some_and(unusual) && !before.is_some_and(unusual)
    };
    (cursor + 1..ticks.len()).find(begins).or_else(|| (0..ticks.len()).find(begins))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_show::top::DeviceTick;

    fn ticks(waits: &[f64]) -> Vec<Tick> {
        let tick = |(place, waited): (usize, &f64)| Tick {
            start_ns: place as i64 * 1_000_000_000,
            length_ns: 1_000_000_000,
            devices: vec![DeviceTick {
                name: "sda".to_string(),
                in_flight: Some(*waited),
                ..DeviceTick::default()
            }],
            ..Tick::default()
        };
        waits.iter().enumerate().map(tick).collect()
    }

    #[test]
    fn anomalies_are_found_one_by_one_and_round() {
        let ticks = ticks(&[0.1, 0.1, 0.9, 0.8, 0.1, 0.1, 2.0, 0.1, 0.1]);
        assert_eq!(next_anomaly(&ticks, 0), Some(2));
        assert_eq!(next_anomaly(&ticks, 2), Some(6));
        assert_eq!(next_anomaly(&ticks, 6), Some(2));
        assert_eq!(next_anomaly(&ticks[..2], 0), None);
    }

    #[test]
    fn keys_move_filter_and_quit() {
        let ticks = ticks(&[0.1; 50]);
        let mut state = State::live();
        let mut press = |code| {
            let event = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
            let action = state.take(&event, &ticks, "sda", Places::default());
            (action, state.cursor(&ticks), state.mode(), state.filter.clone())
        };
        assert_eq!(press(KeyCode::Left).1, 48);
        assert_eq!(press(KeyCode::Home).1, 0);
        assert_eq!(press(KeyCode::Esc).2, "live");
        for letter in ['/', 'q', 'x'] {
            assert_eq!(press(KeyCode::Char(letter)).0, Action::Nothing);
        }
        assert_eq!(press(KeyCode::Enter).3, "qx");
        assert_eq!(press(KeyCode::Char('q')).0, Action::Quit);
    }
}
