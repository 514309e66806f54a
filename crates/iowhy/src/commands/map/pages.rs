//! One device per screen, those with most time waited first.

use std::io::Write;
use std::time::{Duration, Instant};

use iowhy_model::{DeviceId, Report};
use iowhy_show::{Style, busiest};

use super::keys::{Key, Keys};
use crate::present::View;
use crate::sanitised;
use crate::stop::Stop;

/// How often signals are checked.
const PATIENCE: Duration = Duration::from_millis(100);

/// The screen of a terminal, and the device shown.
pub(super) struct Pages {
    keys: Keys,
    stop: Stop,
    /// The device chosen by a key; until then the one with most time waited.
    chosen: Option<DeviceId>,
    last: Option<(Report, Style)>,
}

impl Pages {
    /// Takes over the terminal's keys; before the command is confined.
    ///
    /// # Errors If signals cannot be handled.
    pub(super) fn open() -> anyhow::Result<Pages> {
        Ok(Pages { keys: Keys::open(), stop: Stop::new()?, chosen: None, last: None })
    }

    /// Redraws the screen with the latest data.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(super) fn draw(&mut self, view: &View, report: Report, style: Style) -> anyhow::Result<()> {
        self.last = Some((report, style));
        self.redraw(view)
    }

    /// Waits this long for keys; returns whether the user wants to quit. A key for another device
    /// takes effect at once.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(super) fn ends_within(&mut self, view: &View, time: Duration) -> anyhow::Result<bool> {
        let begun = Instant::now();
        loop {
            let left = time.saturating_sub(begun.elapsed());
            match self.keys.wait(left.min(PATIENCE)) {
                Some(Key::Quit) => return Ok(true),
                Some(key) => {
                    self.turn(key == Key::Next);
                    self.redraw(view)?;
                }
                None => {}
            }
            if self.stop.asked() || left.is_zero() {
                return Ok(self.stop.asked());
            }
        }
    }

    fn turn(&mut self, forward: bool) {
        let Some((report, style)) = &self.last else { return };
        let all = busiest(report, style);
        let here = self.chosen.and_then(|one| all.iter().position(|other| *other == one));
        let (here, count) = (here.unwrap_or(0), all.len().max(1));
        let next = if forward { here + 1 } else { here + count - 1 };
        self.chosen = all.get(next % count).copied();
    }

    fn redraw(&mut self, view: &View) -> anyhow::Result<()> {
        let Some((report, style)) = &self.last else { return Ok(()) };
        let all = busiest(report, style);
        let place = self.chosen.and_then(|one| all.iter().position(|other| *other == one));
        let place = place.unwrap_or(0);
        let mut style = style.clone();
        let mut foot = "q: quit".to_string();
        if let Some(device) = all.get(place).filter(|_| all.len() > 1) {
            style.filter.devices = vec![*device];
            let (place, all) = (place + 1, all.len());
            foot = format!("device {place} of {all} by time waited; n: next, p: previous, q: quit");
        }
        let mut picture = Vec::new();
        view.write(report, &style, &mut picture)?;
        let text = String::from_utf8_lossy(&picture);
        let mut stdout = sanitised::stdout();
        stdout.write_all(screen(&text, &foot, style.height).as_bytes())?;
        Ok(stdout.flush()?)
    }
}

/// Draws the lines from the top left, and clears the rest. Lines that do not fit are counted, so
/// that the title never scrolls away.
fn screen(text: &str, foot: &str, height: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let room = height.saturating_sub(1).max(1);
    let (shown, foot) = if lines.len() > room {
        let hidden = lines.len() - room;
        let plural = if hidden == 1 { "" } else { "s" };
        (room, format!("{foot}; {hidden} more line{plural} below"))
    } else {
        (lines.len(), foot.to_string())
    };
    let mut out = "\x1b[H".to_string();
    for line in lines.iter().take(shown) {
        out += line;
        out += "\x1b[K\n";
    }
    out + &foot + "\x1b[K\x1b[J"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_that_is_too_high_keeps_its_title() {
        let drawn = screen("title\na\nb\nc\n", "q: quit", 4);
        assert_eq!(drawn.matches('\n').count(), 3);
        assert!(drawn.starts_with("\x1b[Htitle"), "{drawn}");
        assert!(drawn.contains("1 more line below"), "{drawn}");
        assert!(!screen("title\na\n", "q: quit", 4).contains("more line"));
    }
}
