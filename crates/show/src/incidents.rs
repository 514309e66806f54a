//! The incidents of a flight recorder: start and end, device, waiter, verdict. One line each, in
//! the terminal and in a report.

use std::io::{self, Write};

use jiff::tz::TimeZone;

use crate::paint::{Align, Canvas, Cell, Columns, TextStyle, Tone};
use crate::words::{NONE, duration, share};
use crate::{Style, clock, device_label};

mod timeline;

pub use timeline::Timeline;

/// An incident as it is listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IncidentRow {
    /// When it began, ns since 1970.
    pub began_ns: i64,
    /// When it was last seen, ns since 1970.
    pub until_ns: i64,
    /// Whether it continues.
    pub ongoing: bool,
    /// The device that is accused, or that gave the alarm; empty if none.
    pub device: String,
    /// User-chosen names of the device or of the layers above it.
    pub names: Vec<String>,
    /// Where its file systems are mounted.
    pub mounts: Vec<String>,
    /// How many other devices are accused in it.
    pub others: usize,
    /// Who waited most, and its owner: `postgres, pod prod/db-0`.
    pub who: Option<String>,
    /// The verdict, or why there is none.
    pub verdict: String,
    /// 0 to 1.
    pub confidence: Option<f64>,
    /// Excess time that I/Os waited, s, summed over all of them.
    pub lost_s: Option<f64>,
    /// Its name in the store.
    pub id: String,
}

/// The columns; those after the verdict are left out where a terminal is too narrow.
const HEADS: [(&str, Align); 9] = [
    ("began", Align::Left),
    ("until", Align::Left),
    ("lasted", Align::Right),
    ("device", Align::Left),
    ("who", Align::Left),
    ("verdict", Align::Left),
    ("sure", Align::Right),
    ("lost", Align::Right),
    ("id", Align::Left),
];

/// Columns left out, the first one first.
const DROPPED: [usize; 4] = [8, 6, 4, 7];

impl IncidentRow {
    /// Its cells under [`heads`].
    pub fn cells(&self, zone: &TimeZone) -> [String; 9] {
        let began = clock::date_and_time(self.began_ns, zone);
        let until = clock::date_and_time(self.until_ns, zone);
        // The date is reported where it is another one.
        let (date, day) = (began.get(..11), until.get(..11));
        let time = if date == day { until.get(11..19) } else { until.get(..19) };
        let known = |text: &str| if text.is_empty() { NONE.to_string() } else { text.to_string() };
        [
            began,
            if self.ongoing { "ongoing".to_string() } else { known(time.unwrap_or(&until)) },
            duration(self.until_ns.saturating_sub(self.began_ns).max(0) as f64),
            self.named_device(),
            known(self.who.as_deref().unwrap_or_default()),
            self.verdict.clone(),
            self.confidence.map_or(NONE.to_string(), share),
            self.lost_s.map_or(NONE.to_string(), |lost| duration(lost * 1e9)),
            self.id.clone(),
        ]
    }

    /// `dm-3 (vg-pgdata, /var/lib/pg) +2`.
    pub fn named_device(&self) -> String {
        let mut text = if self.device.is_empty() { NONE.to_string() } else { self.device.clone() };
        let parts: Vec<String> = [&self.names, &self.mounts]
            .into_iter()
            .flat_map(|all| device_label::capped(all))
            .collect();
        if !parts.is_empty() {
            text += &format!(" ({})", parts.join(", "));
        }
        if self.others > 0 {
            text += &format!(" +{}", self.others);
        }
        text
    }
}

/// The headings of the cells, and whether they are numbers.
pub fn heads() -> impl Iterator<Item = (&'static str, bool)> {
    HEADS.into_iter().map(|(head, align)| (head, align == Align::Right))
}

/// Writes them as a table. Where the canvas is not a terminal, all columns are written.
///
/// # Errors
/// If the writer fails.
pub fn table(rows: &[IncidentRow], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = Columns::new(&HEADS).droppable(&DROPPED);
    for row in rows {
        let cell = |(place, text): (usize, String)| -> Cell {
            let ink = match place {
                5 => TextStyle::strong(Tone::Plain),
                1 if row.ongoing => Tone::Bad.into(),
                8 => Tone::Faint.into(),
                _ => Tone::Plain.into(),
            };
            (text, ink)
        };
        columns.row(row.cells(&style.zone).into_iter().enumerate().map(cell).collect());
    }
    let width = if style.fitted { style.width } else { columns.natural() };
    let style = Style { width, ..style.clone() };
    Canvas::new(&style, out).lines(&columns.lines(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_is_a_line_with_its_extent() {
        let second = 1_000_000_000;
        let row = IncidentRow {
            began_ns: 1_772_947_730 * second,
            until_ns: 1_772_947_800 * second,
            device: "sdb".to_string(),
            mounts: vec!["/var/lib/pg".to_string()],
            others: 2,
            who: Some("postgres".to_string()),
            verdict: "device.retry".to_string(),
            confidence: Some(0.97),
            lost_s: Some(41.2),
            id: "20260308T053002Z-sdb".to_string(),
            ..IncidentRow::default()
        };
        let zone = TimeZone::posix("NST3:30NDT,M3.2.0,M11.1.0").unwrap();
        let drawn = |rows: &[IncidentRow], style: Style| {
            let mut out = Vec::new();
            table(rows, &Style { zone: zone.clone(), ..style }, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = drawn(std::slice::from_ref(&row), Style::plain());
        let line = text.lines().nth(1).unwrap();
        // The clocks were set ahead in it.
        let reported = "2026-03-08 01:58:50 -03:30  03:00:00    70 s  sdb (/var/lib/pg) +2  \
                        postgres  \
                    device.retry  97 %  41.2 s  20260308T053002Z-sdb";
        assert_eq!(line, reported);
        assert_eq!(text.lines().count(), 2);
        let now = IncidentRow { ongoing: true, ..row.clone() };
        assert!(drawn(&[now], Style::plain()).contains("ongoing"));
        let later = IncidentRow { until_ns: row.until_ns + 86_400 * second, ..row.clone() };
        let later = drawn(&[later], Style::plain());
        assert!(later.contains("  2026-03-09 03:00:00  ") && later.contains("  24 h  "), "{later}");
        let narrow = drawn(&[row], Style { fitted: true, ..Style::plain() });
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(narrow.contains("hidden: id"), "{narrow}");
    }
}
