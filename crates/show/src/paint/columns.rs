//! Columns of text that line up; one of them may wrap, others are left out if space is short.

use unicode_width::UnicodeWidthStr;

use super::{Line, TextStyle, Tone, clean, wrap};

/// Which side of a column is straight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// The text of one cell and its ink.
pub(crate) type Cell = (String, TextStyle);

/// A table without lines.
pub(crate) struct Columns {
    heads: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
    flexible: Option<usize>,
    droppable: Vec<usize>,
    indent: usize,
}

/// Blanks between columns.
const GAP: usize = 2;
/// The column that wraps is never narrower than this.
const NARROWEST: usize = 12;

impl Columns {
    /// Columns with these headings.
    pub(crate) fn new(heads: &[(&'static str, Align)]) -> Columns {
        Columns {
            heads: heads.to_vec(),
            rows: Vec::new(),
            flexible: None,
            droppable: Vec::new(),
            indent: 0,
        }
    }

    /// Wraps one column if the others leave too little space.
    #[must_use]
    pub(crate) fn flexible(mut self, column: usize) -> Columns {
        self.flexible = Some(column);
        self
    }

    /// Columns that are left out if they do not fit, the least important first; a last line names
    /// them.
    #[must_use]
    pub(crate) fn droppable(mut self, columns: &[usize]) -> Columns {
        self.droppable = columns.to_vec();
        self
    }

    /// Moves all to the right.
    #[must_use]
    pub(crate) fn indent(mut self, columns: usize) -> Columns {
        self.indent = columns;
        self
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells.into_iter().map(|(text, ink)| (clean(&text), ink)).collect());
    }

    /// Columns the widest row takes if nothing wraps.
    pub(crate) fn natural(&self) -> usize {
        self.indent + self.widths().iter().sum::<usize>() + GAP * (self.heads.len().max(1) - 1)
    }

    /// The lines, of at most `width` columns as far as columns can wrap or be left out.
    pub(crate) fn lines(&self, width: usize) -> Vec<Line> {
        let mut kept: Vec<usize> = (0..self.heads.len()).collect();
        let mut hidden = Vec::new();
        let widths = self.widths();
        let least = |kept: &[usize]| -> usize {
            let of = |place: &usize| match widths.get(*place).copied().unwrap_or(0) {
                room if self.flexible == Some(*place) => room.min(NARROWEST),
                room => room,
            };
            self.indent + kept.iter().map(of).sum::<usize>() + GAP * (kept.len().max(1) - 1)
        };
        for drop in &self.droppable {
            if least(&kept) > width {
                kept.retain(|place| place != drop);
                hidden.extend(self.heads.get(*drop).map(|(head, _)| *head));
            }
        }
        if self.flexible.is_some() && least(&kept) > width {
            return self.upright(width);
        }
        if hidden.is_empty() {
            return self.all_lines(width);
        }
        let row =
            |row: &Vec<Cell>| kept.iter().filter_map(|place| row.get(*place).cloned()).collect();
        let narrower = Columns {
            heads: kept.iter().filter_map(|place| self.heads.get(*place).copied()).collect(),
            rows: self.rows.iter().map(row).collect(),
            flexible: self.flexible.and_then(|flexible| kept.iter().position(|at| *at == flexible)),
            droppable: Vec::new(),
            indent: self.indent,
        };
        let mut lines = narrower.all_lines(width);
        let mut mark = Line::new();
        mark.pad(self.indent);
        let text = format!("hidden: {}; widen the terminal", hidden.join(", "));
        lines.push(mark.with(&text, Tone::Faint));
        lines
    }

    /// Each row as a block: what has no heading on top, below it a line for each heading. Nothing
    /// is hidden.
    fn upright(&self, width: usize) -> Vec<Line> {
        let heads = self.heads.iter().map(|(head, _)| head.width()).max().unwrap_or(0);
        let below = self.indent + GAP;
        let mut lines = Vec::new();
        for row in &self.rows {
            for ((head, _), (text, ink)) in
                self.heads.iter().zip(row).filter(|(_, cell)| !cell.0.is_empty())
            {
                let start = if head.is_empty() { self.indent } else { below + heads + GAP };
                for (step, words) in wrap(text, width.saturating_sub(start)).iter().enumerate() {
                    let mut line = Line::new();
                    if step == 0 && !head.is_empty() {
                        line.pad(below);
                        line.push(head, Tone::Faint);
                    }
                    line.pad(start);
                    line.push(words, *ink);
                    lines.push(line);
                }
            }
        }
        lines
    }

    fn all_lines(&self, width: usize) -> Vec<Line> {
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
        let cell = |text: &str| (text.to_string(), TextStyle::default());
        columns.row(vec![cell("extra seconds each, median"), cell("17")]);
        columns.row(vec![cell("磁盘"), cell("5")]);
        assert_eq!(
            drawn(&columns, 40),
            "what                         n\nextra seconds each, median  \
             17\n磁盘                         5\n"
        );
        assert_eq!(
            drawn(&columns, 20),
            "what               n\nextra seconds     17\neach, median\n磁盘               5\n"
        );
    }

    #[test]
    fn a_table_that_fits_no_way_stands_upright_and_hides_nothing() {
        let heads = [("", Align::Left), ("mean of A", Align::Right), ("n", Align::Right)];
        let mut columns = Columns::new(&heads).flexible(0).droppable(&[2]);
        let cell = |text: &str| (text.to_string(), TextStyle::default());
        columns.row(vec![cell("sequential reads of 128 KiB"), cell("155 ms"), cell("28")]);
        assert_eq!(
            drawn(&columns, 20),
            "sequential reads of\n128 KiB\n  mean of A  155 ms\n  n          28\n"
        );
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_named() {
        let heads = [("what", Align::Left), ("mean", Align::Right), ("n", Align::Right)];
        let mut columns = Columns::new(&heads).droppable(&[2, 1]);
        let cell = |text: &str| (text.to_string(), TextStyle::default());
        columns.row(vec![cell("reads of 128 KiB"), cell("155 ms"), cell("28")]);
        assert!(!drawn(&columns, 40).contains("hidden"));
        let text = drawn(&columns, 26);
        assert!(text.contains("155 ms") && text.contains("hidden: n;"), "{text}");
    }
}
