//! Columns of text that line up; one of them may wrap.

use unicode_width::UnicodeWidthStr;

use super::{Ink, Line, Tone, clean, wrap};

/// Which side of a column is straight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// The text of one cell and its ink.
pub type Cell = (String, Ink);

/// A table without lines.
pub struct Columns {
    heads: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
    flexible: Option<usize>,
    indent: usize,
}

/// Blanks between columns.
const GAP: usize = 2;
/// The column that wraps is never narrower than this.
const NARROWEST: usize = 12;

impl Columns {
    /// Columns with these headings.
    pub fn new(heads: &[(&'static str, Align)]) -> Columns {
        Columns { heads: heads.to_vec(), rows: Vec::new(), flexible: None, indent: 0 }
    }

    /// Lets one column wrap where the others leave too little room.
    #[must_use]
    pub fn flexible(mut self, column: usize) -> Columns {
        self.flexible = Some(column);
        self
    }

    /// Moves all to the right.
    #[must_use]
    pub fn indent(mut self, columns: usize) -> Columns {
        self.indent = columns;
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells.into_iter().map(|(text, ink)| (clean(&text), ink)).collect());
    }

    /// Columns the widest row takes if nothing wraps.
    pub fn natural(&self) -> usize {
        self.indent + self.widths().iter().sum::<usize>() + GAP * (self.heads.len().max(1) - 1)
    }

    /// The lines, of at most `width` columns as far as the one that wraps can give way.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let mut widths = self.widths();
        if let Some(room) = self.flexible.and_then(|column| widths.get_mut(column)) {
            let over = self.natural().saturating_sub(width);
            *room = room.saturating_sub(over).max(NARROWEST.min(*room));
        }
        let mut lines = Vec::new();
        let heads: Vec<Cell> =
            self.heads.iter().map(|(head, _)| (head.to_string(), Tone::Faint.into())).collect();
        lines.extend(self.drawn(&heads, &widths));
        lines.extend(self.rows.iter().flat_map(|row| self.drawn(row, &widths)));
        lines
    }

    fn widths(&self) -> Vec<usize> {
        let of_cell =
            |row: &Vec<Cell>, place: usize| row.get(place).map_or(0, |(text, _)| text.width());
        self.heads
            .iter()
            .enumerate()
            .map(|(place, (head, _))| {
                self.rows.iter().map(|row| of_cell(row, place)).max().unwrap_or(0).max(head.width())
            })
            .collect()
    }

    fn drawn(&self, row: &[Cell], widths: &[usize]) -> Vec<Line> {
        let wrapped = self
            .flexible
            .and_then(|column| Some((row.get(column)?, *widths.get(column)?)))
            .map(|((text, _), room)| wrap(text, room))
            .unwrap_or_default();
        (0..wrapped.len().max(1)).map(|step| self.drawn_line(row, widths, &wrapped, step)).collect()
    }

    fn drawn_line(&self, row: &[Cell], widths: &[usize], wrapped: &[String], step: usize) -> Line {
        let mut line = Line::new();
        let mut start = self.indent;
        for (place, (text, ink)) in row.iter().enumerate() {
            let room = widths.get(place).copied().unwrap_or(0);
            let text = match wrapped.get(step) {
                Some(words) if self.flexible == Some(place) => words.as_str(),
                _ if step == 0 => text.as_str(),
                _ => "",
            };
            let right = self.heads.get(place).is_some_and(|(_, align)| *align == Align::Right);
            let shift = if right { room.saturating_sub(text.width()) } else { 0 };
            line.pad(start + shift);
            line.push(text, *ink);
            start += room + GAP;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Colour;

    fn drawn(columns: &Columns, width: usize) -> String {
        let mut out = Vec::new();
        columns.lines(width).iter().for_each(|l| l.write(width, Colour::None, &mut out).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_line_up_and_one_of_them_wraps() {
        let heads = [("what", Align::Left), ("n", Align::Right)];
        let mut columns = Columns::new(&heads).flexible(0);
        let cell = |text: &str| (text.to_string(), Ink::default());
        columns.row(vec![cell("whole turns lost, median"), cell("17")]);
        columns.row(vec![cell("磁盘"), cell("5")]);
        assert_eq!(
            drawn(&columns, 40),
            "what                       n\nwhole turns lost, median  17\n磁盘                       5\n"
        );
        assert_eq!(
            drawn(&columns, 20),
            "what               n\nwhole turns       17\nlost, median\n磁盘               5\n"
        );
    }
}
