//! Incidents on the clock of the requested interval.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::IncidentRow;
use crate::Style;
use crate::clock::{self, Clock};
use crate::paint::{Canvas, Line, TimeAxis, Tone, clean, time_axis};
use crate::words::{duration, several};

/// Rows of bars; the table below lists every incident.
const ROWS: usize = 12;
/// The widest label, and the fewest columns of the bars.
const LABEL: usize = 38;
const BARS: usize = 24;
/// Minimum time around incidents without a requested interval, ns.
const AROUND_NS: i64 = 5_000_000_000;

/// Incidents of an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Each of them, the earliest first.
    pub rows: Vec<IncidentRow>,
    /// The requested start, ns since 1970.
    pub from_ns: Option<i64>,
    /// The end.
    pub to_ns: Option<i64>,
}

/// The subject of one row of bars.
struct BarRow<'a> {
    device: String,
    verdict: &'a str,
    incidents: Vec<&'a IncidentRow>,
}

impl Timeline {
    /// From when to when it is drawn, ns since 1970: the requested interval, else the incidents
    /// with some time around them. `None` if there are none.
    pub fn window(&self) -> Option<(i64, i64)> {
        let first = self.rows.iter().map(|row| row.began_ns).min()?;
        let last = self.rows.iter().map(|row| row.until_ns).max()?;
        let around = (last.saturating_sub(first) / 20).max(AROUND_NS);
        let from = self.from_ns.unwrap_or(first.saturating_sub(around));
        let to = self.to_ns.unwrap_or(last.saturating_add(around));
        // An end before all incidents, or one that has not come, shows nothing.
        Some((from, to.max(from.saturating_add(1))))
    }

    /// Draws a row of bars for each device and verdict, below them the clock.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn text(&self, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        let Some((from, to)) = self.window() else { return Ok(()) };
        let rows = self.bar_rows();
        let most = LABEL.min(style.width.saturating_sub(BARS + 2));
        let labels: Vec<String> = rows.iter().take(ROWS).map(|row| row.label(most)).collect();
        let room = labels.iter().map(|label| label.width()).max().unwrap_or(0);
        let columns = style.width.saturating_sub(room + 2).max(1);
        let mut canvas = Canvas::new(style, out);
        for (row, label) in rows.iter().zip(&labels) {
            let mut line = Line::new().with(label, Tone::Plain);
            line.pad(room + 1);
            line.push(if style.unicode { "▏" } else { "|" }, Tone::Faint);
            let marks = marks(&row.incidents, (from, to), columns);
            for same in marks.chunk_by(|a, b| (*a == Mark::Nothing) == (*b == Mark::Nothing)) {
                let signs: String = same.iter().map(|mark| mark.sign(style.unicode)).collect();
                let is_bar = same.first().is_some_and(|mark| *mark != Mark::Nothing);
                line.push(&signs, if is_bar { Tone::Bad } else { Tone::Faint });
            }
            canvas.line(&line)?;
        }
        let clock = Clock { zero: 0, utc: true };
        let axis = TimeAxis {
            start: clock.second(from, &style.zone),
            seconds: to.saturating_sub(from) as f64 / 1e9,
            clock: Some((clock, from, style.zone.clone())),
        };
        let mut line = Line::new();
        line.pad(room + 2);
        line.append(time_axis(&axis, columns, style.unicode));
        canvas.line(&line)?;
        if rows.len() > ROWS {
            let more = several((rows.len() - ROWS) as u64, "more row");
            canvas.line(&Line::new().with(&format!("and {more} without bars"), Tone::Faint))?;
        }
        Ok(())
    }

    /// Everything that the bars show as text, for users who cannot see them.
    pub fn words(&self, style: &Style) -> String {
        let Some((from, to)) = self.window() else { return "no incident".to_string() };
        let at = |ns: i64| clock::date_and_time(ns, &style.zone);
        let mut parts: Vec<String> =
            self.rows.iter().take(ROWS).map(|row| row.words(style)).collect();
        if self.rows.len() > ROWS {
            parts.push(format!("and {} more in the table", self.rows.len() - ROWS));
        }
        let number = several(self.rows.len() as u64, "incident");
        format!("{number} from {} to {}: {}", at(from), at(to), parts.join("; "))
    }

    fn bar_rows(&self) -> Vec<BarRow<'_>> {
        let mut rows: Vec<BarRow> = Vec::new();
        for incident in &self.rows {
            let (device, verdict) = (incident.named_device(), incident.verdict.as_str());
            match rows.iter_mut().find(|row| row.device == device && row.verdict == verdict) {
                Some(row) => row.incidents.push(incident),
                None => rows.push(BarRow { device, verdict, incidents: vec![incident] }),
            }
        }
        rows
    }
}

impl BarRow<'_> {
    /// Its device with its names where they fit, and the verdict.
    fn label(&self, most: usize) -> String {
        let of = |device: &str| clean(&format!("{device}  {}", self.verdict));
        let bare = self.incidents.first().map_or("", |first| first.device.as_str());
        let fitting = [of(&self.device), of(bare)].into_iter().find(|text| text.width() <= most);
        fitting.unwrap_or_else(|| {
            let kept: String = of(bare).chars().take(most.saturating_sub(3)).collect();
            format!("{kept}...")
        })
    }
}

impl IncidentRow {
    /// Its cause, duration and severity: `device.retry, 70 s, lost 41.2 s`.
    pub fn cause(&self) -> String {
        let length = duration(self.until_ns.saturating_sub(self.began_ns).max(0) as f64);
        let lost = self.lost_s.map(|lost| format!(", lost {}", duration(lost * 1e9)));
        let going = if self.ongoing { ", still going" } else { "" };
        format!("{}, {length}{}{going}", self.verdict, lost.unwrap_or_default())
    }

    fn words(&self, style: &Style) -> String {
        let at = |ns: i64| clock::date_and_time(ns, &style.zone);
        format!(
            "{} from {} to {}, {}",
            self.named_device(),
            at(self.began_ns),
            if self.ongoing { "now".to_string() } else { at(self.until_ns) },
            clean(&self.cause()),
        )
    }
}

/// The text in a column of the bars.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Nothing,
    Going,
    /// It began before the window.
    Before,
    /// It continues, or ended after the window.
    After,
}

impl Mark {
    fn sign(self, unicode: bool) -> char {
        match (self, unicode) {
            (Mark::Nothing, true) => '·',
            (Mark::Nothing, false) => '.',
            (Mark::Going, true) => '█',
            (Mark::Going, false) => '#',
            (Mark::Before, true) => '◀',
            (Mark::Before, false) => '<',
            (Mark::After, true) => '▶',
            (Mark::After, false) => '>',
        }
    }
}

/// The columns of one row.
fn marks(incidents: &[&IncidentRow], (from, to): (i64, i64), columns: usize) -> Vec<Mark> {
    let length = to.saturating_sub(from) as f64;
    let column = |at: i64| {
        let share = at.clamp(from, to).saturating_sub(from) as f64 / length;
        ((share * columns as f64) as usize).min(columns.saturating_sub(1))
    };
    let mut marks = vec![Mark::Nothing; columns];
    let seen = |row: &&&IncidentRow| row.began_ns <= to && row.until_ns >= from;
    for row in incidents.iter().filter(seen) {
        let (first, last) = (column(row.began_ns), column(row.until_ns));
        marks.iter_mut().take(last + 1).skip(first).for_each(|mark| *mark = Mark::Going);
        for (place, mark, is_cut) in [
            (first, Mark::Before, row.began_ns < from),
            (last, Mark::After, row.ongoing || row.until_ns > to),
        ] {
            if let Some(at) = marks.get_mut(place).filter(|_| is_cut) {
                *at = mark;
            }
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    /// 2026-11-21 11:36:07 UTC.
    const ZERO: i64 = 1_795_260_967;

    fn row(device: &str, began: i64, length: i64) -> IncidentRow {
        IncidentRow {
            began_ns: (ZERO + began) * SECOND,
            until_ns: (ZERO + began + length) * SECOND,
            device: device.to_string(),
            verdict: "device.retry".to_string(),
            lost_s: Some(41.2),
            ..IncidentRow::default()
        }
    }

    fn drawn(timeline: &Timeline, style: &Style) -> Vec<String> {
        let mut out = Vec::new();
        timeline.text(style, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.width() <= style.width), "{text}");
        text.lines().map(str::to_string).collect()
    }

    #[test]
    fn incidents_are_bars_on_the_clock_of_what_was_asked_for() {
        let named = IncidentRow { mounts: vec!["/var/lib/pg".to_string()], ..row("sdb", 600, 600) };
        let again = IncidentRow { ongoing: true, ..named.clone() };
        let again = IncidentRow {
            began_ns: (ZERO + 2400) * SECOND,
            until_ns: (ZERO + 3000) * SECOND,
            ..again
        };
        let before = IncidentRow { verdict: "device.stall".to_string(), ..row("dm-1", -60, 360) };
        let timeline = Timeline {
            rows: vec![before, named, again],
            from_ns: Some(ZERO * SECOND),
            to_ns: Some((ZERO + 3600) * SECOND),
        };
        let style = Style { width: 80, unicode: false, ..Style::plain() };
        let lines = drawn(&timeline, &style);
        assert_eq!(
            lines,
            [
                "dm-1  device.stall              |<###...........................................",
                "sdb (/var/lib/pg)  device.retry |.......#########...............########>.......",
                "                                                    '12:00:00",
            ]
        );
    }
}
