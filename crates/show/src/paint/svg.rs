//! Paints a figure as SVG 1.1: rectangles and text, no script, no style sheet, nothing external.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::Rgb;
use super::figure::{Anchor, Figure, LETTER, Shape};

/// Writes the number.
///
/// # Errors
/// If the writer fails.
pub(crate) fn svg(figure: &Figure, out: &mut dyn Write) -> io::Result<()> {
    let (width, height) = (figure.width, figure.height);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"12\">"
    )?;
    let behind = hex(figure.behind);
    writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"{behind}\"/>")?;
    // Cells that touch must show no seam between them.
    writeln!(out, "<g shape-rendering=\"crispEdges\">")?;
    let mut batch = Batch::default();
    for shape in &figure.shapes {
        if let Shape::Rect(x, y, width, height, colour) = shape {
            let cell = (*x, *y, *width, *height);
            if !batch.takes(cell) {
                std::mem::take(&mut batch).write(out)?;
            }
            batch.add(cell, *colour);
        }
    }
    batch.write(out)?;
    writeln!(out, "</g>")?;
    for shape in &figure.shapes {
        if let Shape::Text(x, y, anchor, text, colour) = shape {
            let anchor = if *anchor == Anchor::End { " text-anchor=\"end\"" } else { "" };
            // The base line lies a third of the letters' height below their middle.
            let (y, fill) = (y + LETTER.1 / 3, hex(*colour));
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" fill=\"{fill}\"{anchor}>{}</text>",
                escaped(text)
            )?;
        }
    }
    writeln!(out, "</svg>")
}

/// Left, top, width, height.
type Cell = (u32, u32, u32, u32);

/// Rectangles of one height that do not overlap, whose order does not matter: one path a colour.
#[derive(Default)]
struct Batch {
    /// The last one; whether all went down row by row so far, or all to the right.
    last: Option<(Cell, bool, bool)>,
    cells: BTreeMap<(u8, u8, u8), Vec<Cell>>,
}

impl Batch {
    /// Whether a rectangle continues in the same rows or columns, after all the others.
    fn borders(&self, (x, y, _, height): Cell) -> Option<(bool, bool)> {
        let Some(((left, top, width, high), down, right)) = self.last else {
            return Some((true, true));
        };
        let down = down && (y >= top + high || y == top && x >= left + width);
        let right = right && x >= left + width;
        (height == high && (down || right)).then_some((down, right))
    }

    fn takes(&self, cell: Cell) -> bool {
        self.borders(cell).is_some()
    }

    fn add(&mut self, cell: Cell, Rgb(r, g, b): Rgb) {
        let (down, right) = self.borders(cell).unwrap_or((true, true));
        self.last = Some((cell, down, right));
        self.cells.entry((r, g, b)).or_default().push(cell);
    }

    /// As lines as thick as the rectangles are high, each step from the end of the one before.
    fn write(self, out: &mut dyn Write) -> io::Result<()> {
        let Some(((_, _, _, height), ..)) = self.last else { return Ok(()) };
        let half = if height % 2 == 1 { ".5" } else { "" };
        for ((r, g, b), cells) in self.cells {
            let colour = hex(Rgb(r, g, b));
            write!(out, "<path stroke=\"{colour}\" stroke-width=\"{height}\" d=\"")?;
            let mut at = None;
            for (x, y, width, _) in cells {
                match at {
                    None => write!(out, "M{x} {}{half}h{width}", y + height / 2)?,
                    Some((from, line)) => {
                        let (across, down) = (i64::from(x) - from, i64::from(y) - line);
                        write!(out, "m{across} {down}h{width}")?;
                    }
                }
                at = Some((i64::from(x) + i64::from(width), i64::from(y)));
            }
            writeln!(out, "\"/>")?;
        }
        Ok(())
    }
}

fn hex(Rgb(r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
