//! Rows against time as a figure, in the colours of the intensity map: hosts or disks of a fleet.

use std::io::{self, Write};

use crate::Palette;
use crate::paint::{Anchor, Figure, LETTER, Rgb, svg};

/// Room left of the cells, and how wide all of them are.
const LEFT: u32 = 190;
const ACROSS: u32 = 800;
/// Height of a row, and of a line of text.
const ROW: u32 = 16;
const LINE: u32 = 22;
/// The background; watched, and nothing known; text.
const NIGHT: Rgb = Rgb(16, 18, 24);
const FAINT: Rgb = Rgb(160, 166, 178);

/// A map of rows against time.
#[derive(Clone, Debug, Default)]
pub struct RowMap {
    /// Each with its name and its cells: 0 for nothing up to 1 for the most, `None` where nothing
    /// is known.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
    /// The label below a column, from its left edge on.
    pub times: Vec<(usize, String)>,
    /// Positions on the scale, with their labels.
    pub legend: Vec<(f64, String)>,
}

impl RowMap {
    /// Writes it as SVG, with no script and nothing from outside.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn svg(&self, out: &mut dyn Write) -> io::Result<()> {
        let ramp = Palette::default().intensity();
        let columns = self.rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0).max(1);
        let edge =
            |column: usize| LEFT + (column as u64 * u64::from(ACROSS) / columns as u64) as u32;
        let mut figure = Figure::new(LEFT + ACROSS + 10, NIGHT);
        figure.height = LINE / 2;
        let letters = ((LEFT - 14) / LETTER.0) as usize;
        for (name, cells) in &self.rows {
            let top = figure.height;
            for (column, value) in cells.iter().enumerate() {
                let Some(value) = value else { continue };
                let (from, to) = (edge(column), edge(column + 1));
                figure.rect((from, top), (to - from, ROW - 1), ramp.at(*value));
            }
            let cut = name.chars().count() > letters;
            let mut short: String = name.chars().take(letters - usize::from(cut)).collect();
            short.extend(cut.then_some('…'));
            figure.text((LEFT - 8, top + ROW / 2), Anchor::End, &short, FAINT);
            figure.height += ROW;
        }
        let below = figure.height + LINE / 2;
        for (column, label) in &self.times {
            figure.rect((edge(*column), figure.height), (1, 6), FAINT);
            figure.text((edge(*column) + 4, below), Anchor::Start, label, FAINT);
        }
        figure.height += LINE;
        let (mut x, y) = (LEFT, figure.height + LINE / 2);
        for (place, label) in &self.legend {
            figure.rect((x, y - 6), (20, 12), ramp.at(*place));
            figure.text((x + 26, y), Anchor::Start, label, FAINT);
            x += 26 + LETTER.0 * (label.chars().count() as u32 + 2);
        }
        figure.height += LINE;
        svg(&figure, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_and_what_is_not_known_is_not_drawn() {
        let map = RowMap {
            rows: vec![
                ("<b>".to_string(), vec![Some(1.0), None]),
                ("x".repeat(500), vec![None, None]),
            ],
            times: vec![(0, "Monday".to_string())],
            legend: vec![(1.0, "8 times".to_string())],
        };
        let mut text = Vec::new();
        assert!(map.svg(&mut text).is_ok());
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains("&lt;b&gt;") && !text.contains("<b>"), "{text}");
        assert!(text.contains("xx…") && !text.contains(&"x".repeat(30)), "{text}");
        // One cell and the legend's are of the last colour, no other cell is there.
        assert_eq!(text.matches("=\"#fde48c\"").count(), 2, "{text}");
    }
}
