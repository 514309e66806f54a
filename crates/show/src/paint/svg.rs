//! Paints a figure as SVG 1.1: rectangles and text, no script, no style sheet, nothing from outside.

use std::io::{self, Write};

use super::Rgb;
use super::figure::{Anchor, Figure, LETTER, Shape};

/// Writes the figure.
///
/// # Errors
/// What the writer says.
pub fn svg(figure: &Figure, out: &mut dyn Write) -> io::Result<()> {
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
    for shape in &figure.shapes {
        if let Shape::Rect(x, y, width, height, colour) = shape {
            let fill = hex(*colour);
            writeln!(out, "<path fill=\"{fill}\" d=\"M{x} {y}h{width}v{height}h-{width}z\"/>")?;
        }
    }
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

fn hex(Rgb(r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
