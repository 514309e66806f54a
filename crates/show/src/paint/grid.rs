//! A grid of coloured cells: two rows to a line of half blocks, or letters of rising density.

use super::{Line, Ramp, TextStyle, Tone};
use crate::{Colour, Style};

/// A sign drawn over a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// The median.
    Median,
    /// The 99th percentile.
    Tail,
}

impl Mark {
    /// Its sign.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Mark::Median => "━",
            Mark::Tail => "╍",
        }
    }
}

/// Values from 0 (nothing) to 1 (the most); `None` where nothing was watched.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    columns: usize,
    cells: Vec<Option<f64>>,
    marks: Vec<(usize, usize, Mark)>,
}

/// Letters of rising density, the first for nothing.
const ASCII: &[u8] = b" .:-=+*#%@";
/// The shades of U+2591 to U+2593 and the full block.
const SHADES: [&str; 6] = [" ", "·", "░", "▒", "▓", "█"];

impl Grid {
    /// A grid of rows and columns that were not watched. Row 0 is the top.
    pub(crate) fn new(rows: usize, columns: usize) -> Grid {
        Grid { columns, cells: vec![None; rows * columns], marks: Vec::new() }
    }

    /// How many rows one line of text has on this canvas.
    pub(crate) fn rows_per_line(style: &Style) -> usize {
        if style.unicode && style.colour >= Colour::Ansi256 { 2 } else { 1 }
    }

    /// Sets a cell.
    pub(crate) fn set(&mut self, row: usize, column: usize, value: f64) {
        if column < self.columns
            && let Some(cell) = self.cells.get_mut(row * self.columns + column)
        {
            *cell = Some(value);
        }
    }

    /// Signs over cells: row, column, sign.
    pub(crate) fn marks(&self) -> &[(usize, usize, Mark)] {
        &self.marks
    }

    /// Lays a sign over a cell.
    pub(crate) fn mark(&mut self, row: usize, column: usize, mark: Mark) {
        self.marks.push((row, column, mark));
    }

    /// The cells of one line of text.
    pub(crate) fn line(&self, line: usize, ramp: &Ramp, style: &Style) -> Line {
        let mut drawn = Line::new();
        for column in 0..self.columns {
            if Self::rows_per_line(style) == 2 {
                self.halves(&mut drawn, line * 2, column, ramp);
            } else {
                let ink = |value| match style.colour {
                    Colour::None => TextStyle::default(),
                    Colour::Ansi16 => Tone::Exact(ramp.basic(value)).into(),
                    _ => Tone::Exact(ramp.at(value)).into(),
                };
                match self.cell(line, column) {
                    None => drawn.push("/", Tone::Faint),
                    Some(value) => drawn.push(density(value, style.unicode), ink(value)),
                }
            }
        }
        drawn
    }

    /// Two cells, one above the other, in one letter.
    fn halves(&self, drawn: &mut Line, row: usize, column: usize, ramp: &Ramp) {
        let upper = self.cell(row, column).map(|value| ramp.at(value));
        let lower = self.cell(row + 1, column).map(|value| ramp.at(value));
        let mark = self.marks.iter().find(|(r, c, _)| (*r == row || *r == row + 1) && *c == column);
        if let Some((at, _, mark)) = mark {
            let behind = if *at == row { upper.or(lower) } else { lower.or(upper) };
            let tone = Tone::Exact(behind.map_or(super::Rgb(255, 255, 255), super::Rgb::contrast));
            drawn.push(mark.sign(), TextStyle { tone, behind, strong: true });
            return;
        }
        let ink = |tone, behind| TextStyle { tone, behind, strong: false };
        match (upper, lower) {
            (None, None) => drawn.push(" ", TextStyle::default()),
            (Some(upper), Some(lower)) if upper == lower => {
                drawn.push(" ", ink(Tone::Plain, Some(upper)));
            }
            (Some(upper), lower) => drawn.push("▀", ink(Tone::Exact(upper), lower)),
            (None, Some(lower)) => drawn.push("▄", ink(Tone::Exact(lower), None)),
        }
    }

    /// Rows of cells.
    pub(crate) fn rows(&self) -> usize {
        self.cells.len() / self.columns.max(1)
    }

    /// A cell; `None` where nothing was watched.
    pub(crate) fn cell(&self, row: usize, column: usize) -> Option<f64> {
        self.cells.get(row * self.columns + column).copied().flatten()
    }
}

/// A letter as dense as the value is large.
pub(crate) fn density(value: f64, unicode: bool) -> &'static str {
    let steps = if unicode { SHADES.len() } else { ASCII.len() };
    let step = if value > 0.0 {
        (1.0 + (value.min(1.0) * (steps - 2) as f64).round()) as usize
    } else {
        0
    };
    if unicode {
        SHADES.get(step).copied().unwrap_or(" ")
    } else {
        std::str::from_utf8(ASCII.get(step..=step).unwrap_or(b" ")).unwrap_or(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Palette;

    fn drawn(grid: &Grid, style: &Style) -> String {
        let ramp = Palette::Classic.frequency();
        let mut out = Vec::new();
        grid.line(0, &ramp, style).write(80, style.colour, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_cell_is_a_letter_or_half_a_block() {
        let mut grid = Grid::new(2, 4);
        grid.set(0, 0, 1.0);
        grid.set(0, 1, 0.0);
        grid.set(0, 2, 0.01);
        grid.set(1, 0, 1.0);
        grid.set(1, 1, 1.0);
        grid.set(9, 9, 1.0);
        assert_eq!(drawn(&grid, &Style::plain()), "@ ./\n");
        let unicode = Style { unicode: true, ..Style::plain() };
        assert_eq!(drawn(&grid, &unicode), "█ ·/\n");
        let rich = Style { colour: Colour::Ansi256, ..unicode };
        assert_eq!(
            drawn(&grid, &rich),
            "\x1b[48;5;21m \x1b[0m\x1b[38;5;231;48;5;21m▀\x1b[0m\x1b[38;5;51m▀\x1b[0m\n"
        );
    }

    #[test]
    fn a_mark_lies_over_its_cell() {
        let mut grid = Grid::new(2, 1);
        grid.set(1, 0, 1.0);
        grid.mark(1, 0, Mark::Median);
        let rich = Style { colour: Colour::Ansi256, unicode: true, ..Style::plain() };
        assert_eq!(drawn(&grid, &rich), "\x1b[1;38;5;231;48;5;21m━\x1b[0m\n");
    }
}
