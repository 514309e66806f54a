//! Which columns there are, and which of them fit.

use super::rows::{COLUMNS, Row};
use crate::paint::{Line, TextStyle, Tone};
use crate::sources::shortened;
use crate::words::NONE;
use iowhy_model::Order as _;

/// The columns that are drawn even if a row has no value for them.
const ALWAYS: [&str; 4] = ["r/s", "w/s", "r_await", "w_await"];
/// Blanks between columns.
const GAP: usize = 1;
/// No column is narrower, so that the columns of consecutive reports are aligned.
const STEADY: usize = 7;
/// The device's name takes at most this share of the canvas: one third; several names in its place
/// take half.
const NAME_PARTS: usize = 3;
const NAMES_PARTS: usize = 2;

/// The positions of the columns.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Layout {
    name: usize,
    /// Place in [`COLUMNS`] and width.
    columns: Vec<(usize, usize)>,
    unknown: usize,
}

impl Layout {
    /// The columns that are known and fit.
    pub(super) fn fit(rows: &[&Row], width: usize) -> Layout {
        let longest = rows.iter().map(|row| row.name().chars().count()).max().unwrap_or(0);
        let several = rows.iter().any(|row| row.name().contains(", "));
        let parts = if several { NAMES_PARTS } else { NAME_PARTS };
        let name = longest.max("Device".len()).min((width / parts).max(6));
        let known = |place: usize| rows.iter().any(|row| row.cell(place).is_some());
        let mut order: Vec<usize> = (0..COLUMNS.len())
            .filter(|place| ALWAYS.contains(&COLUMNS[*place].0) || known(*place))
            .collect();
        let unknown = COLUMNS.len() - order.len();
        order.order_by_key(|place| COLUMNS[*place].1);
        let mut left = width.saturating_sub(name);
        let mut columns: Vec<(usize, usize)> = Vec::new();
        for place in order {
            let widest = rows.iter().map(|row| cell(row.cell(place)).len()).max().unwrap_or(0);
            let room = widest.max(COLUMNS[place].0.len()).max(STEADY);
            // One that does not fit ends it, so that a wider terminal only ever adds columns.
            if left < room + GAP {
                break;
            }
            left = left.saturating_sub(room + GAP);
            columns.push((place, room));
        }
        columns.sort_unstable();
        Layout { name, columns, unknown }
    }

    /// How many columns are drawn.
    pub(super) fn drawn(&self) -> usize {
        self.columns.len()
    }

    /// How many are left out because they have no values.
    pub(super) fn unknown(&self) -> usize {
        self.unknown
    }

    /// Whether a column is drawn.
    pub(super) fn draws(&self, name: &str) -> bool {
        self.columns.iter().any(|(place, _)| COLUMNS[*place].0 == name)
    }

    /// The line of headings.
    pub(super) fn heading(&self) -> Line {
        let ink = TextStyle::strong(Tone::Plain);
        let mut line = Line::new().with("Device", ink);
        let mut end = self.name;
        for (place, room) in &self.columns {
            end += room + GAP;
            let head = COLUMNS[*place].0;
            line.pad(end - head.len());
            line.push(head, ink);
        }
        line
    }

    /// The line of a row.
    pub(super) fn row(&self, row: &Row) -> Line {
        let plain = if row.few { Tone::Faint } else { Tone::Plain };
        let name = if row.few { Tone::Faint } else { Tone::Accent };
        let mut line = Line::new().with(&shortened(&row.name(), self.name), name);
        let mut end = self.name;
        for (place, room) in &self.columns {
            end += room + GAP;
            let text = cell(row.cell(*place));
            line.pad(end - text.len());
            line.push(&text, if text == NONE { Tone::Faint } else { plain });
        }
        line
    }
}

/// A number as iostat rounds it. Beyond 12 digits it is none that a device could reach.
fn cell(value: Option<f64>) -> String {
    match value {
        Some(value) if value.is_finite() && value.abs() < 1e12 => format!("{value:.2}"),
        Some(value) if value.is_finite() => format!("{value:.2e}"),
        _ => NONE.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the columns at 80, of a device with this name that has all values.
    fn at_80(device: &str) -> Vec<&'static str> {
        let row = Row::full(device);
        let layout = Layout::fit(&[&row], 80);
        layout.columns.iter().map(|(place, _)| COLUMNS[*place].0).collect()
    }

    #[test]
    fn percentiles_and_stages_stay_longest() {
        let lead = ["p50", "p99", "Q2D", "D2C"];
        let short = at_80("sdb");
        assert_eq!(short[..4], lead, "{short:?}");
        assert!(short.contains(&"r_await") && short.contains(&"w_await"), "{short:?}");
        let long = at_80("a-volume-group-with-a-very-long-name");
        assert_eq!(long[..4], lead, "{long:?}");
    }
}
