//! The columns of one map, and its rows as text that need not be drawn again each time.

use std::collections::VecDeque;

use super::figures::value;

/// Cells of one map over the latest records, the newest at the right.
#[derive(Debug)]
pub(super) struct Window {
    /// What a cell of each colour is written as.
    cells: &'static [&'static str; COLOURS],
    rows: Vec<BucketRow>,
    /// Largest value and sum of each column.
    columns: VecDeque<(f64, f64)>,
    /// The largest of all.
    most: f64,
    /// What gets the last colour.
    scale: f64,
}

/// From nothing to the most.
const COLOURS: usize = 7;

/// One row: its values and colours, and the same as text from `start` on.
#[derive(Debug)]
struct BucketRow {
    values: VecDeque<f64>,
    colours: VecDeque<u8>,
    text: Vec<u8>,
    start: usize,
}

impl Window {
    /// An empty map.
    pub(super) fn new(
        cells: &'static [&'static str; COLOURS],
        rows: usize,
        columns: usize,
    ) -> Window {
        let row = || BucketRow {
            values: VecDeque::from(vec![0.0; columns]),
            colours: VecDeque::from(vec![0; columns]),
            text: cells[0].repeat(columns).into_bytes(),
            start: 0,
        };
        Window {
            cells,
            rows: std::iter::repeat_with(row).take(rows).collect(),
            columns: VecDeque::from(vec![(0.0, 0.0); columns]),
            most: 0.0,
            scale: 0.0,
        }
    }

    /// Adds a column, lowest row first; the oldest goes. `fixed` is the value of the last colour,
    /// else it is the largest.
    pub(super) fn push(&mut self, values: &[f64], fixed: Option<f64>) {
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.columns.pop_front();
        self.columns.push_back((largest, values.iter().sum()));
        self.most = self.columns.iter().fold(f64::NEG_INFINITY, |most, (max, _)| most.max(*max));
        let scale = fixed.unwrap_or(self.most);
        let anew = scale != self.scale;
        self.scale = scale;
        for (row, value) in self.rows.iter_mut().zip(values) {
            row.push(*value, scale, self.cells);
            if anew {
                row.redraw(scale, self.cells);
            }
        }
    }

    /// A row's cells as text.
    pub(super) fn cells(&self, row: usize) -> &[u8] {
        self.rows.get(row).and_then(|row| row.text.get(row.start..)).unwrap_or_default()
    }

    /// A row's newest value.
    pub(super) fn latest(&self, row: usize) -> f64 {
        self.rows.get(row).and_then(|row| row.values.back()).copied().unwrap_or(0.0)
    }

    /// Largest cell.
    pub(super) fn most(&self) -> f64 {
        self.most
    }

    /// Sum of the newest column.
    pub(super) fn latest_sum(&self) -> f64 {
        self.columns.back().map_or(0.0, |(_, sum)| *sum)
    }

    /// Largest sum of a column.
    pub(super) fn most_sum(&self) -> f64 {
        self.columns.iter().fold(f64::NEG_INFINITY, |most, (_, sum)| most.max(*sum))
    }

    /// Sum of all columns.
    pub(super) fn total(&self) -> f64 {
        self.columns.iter().map(|(_, sum)| sum).sum()
    }

    /// A cell of that colour.
    pub(super) fn swatch(&self, colour: usize) -> &'static str {
        self.cells.get(colour).copied().unwrap_or_default()
    }

    /// The value from which on a cell has that colour, cut to a whole number as the original does.
    pub(super) fn step(&self, colour: usize) -> String {
        if colour == 0 {
            return "0".to_string();
        }
        format!(">{}", value((self.scale * (colour - 1) as f64 / 6.0).trunc()))
    }
}

impl BucketRow {
    fn push(&mut self, value: f64, scale: f64, cells: &[&str; COLOURS]) {
        self.values.pop_front();
        self.values.push_back(value);
        let oldest = self.colours.pop_front().unwrap_or(0);
        let newest = colour(value, scale);
        self.colours.push_back(newest);
        self.start += cells[usize::from(oldest)].len();
        self.text.extend_from_slice(cells[usize::from(newest)].as_bytes());
        // Half of the text is past: it is given up, so that the rest is moved seldom.
        if self.start * 2 > self.text.len() {
            self.text.drain(..self.start);
            self.start = 0;
        }
    }

    fn redraw(&mut self, scale: f64, cells: &[&str; COLOURS]) {
        self.text.clear();
        self.start = 0;
        for (value, known) in self.values.iter().zip(&mut self.colours) {
            *known = colour(*value, scale);
            self.text.extend_from_slice(cells[usize::from(*known)].as_bytes());
        }
    }
}

/// 0 for nothing, 6 for the most, in between by sixths. Counts that fell, on which the original
/// ends with an error, are nothing.
fn colour(value: f64, scale: f64) -> u8 {
    match value {
        0.0 => 0,
        v if v >= scale => 6,
        v => ((v * 6.0 / scale).trunc() + 1.0).clamp(0.0, 6.0) as u8,
    }
}
