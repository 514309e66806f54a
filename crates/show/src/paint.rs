//! The pen: coloured text, wrapped paragraphs, columns, bars, axes and grids. It does not use
//! reports.

mod ansi;
mod axis;
mod bar;
mod canvas;
mod colour;
mod columns;
mod figure;
mod grid;
mod palette;
mod png;
mod svg;

pub use ansi::{Line, Rgb, TextStyle, Tone, clean, nearest_16, nearest_256};
pub use axis::{TimeAxis, latency_label, ticks, time_axis};
pub use bar::{bar, gauge};
pub use canvas::{Canvas, fitted, wrap};
pub use colour::Colour;
pub use columns::{Align, Cell, Columns};
#[cfg(test)]
pub use figure::Shape;
pub use figure::{Anchor, Figure, LETTER};
pub use grid::{Grid, Mark, density};
pub use palette::{Palette, Ramp};
pub use png::png;
pub use svg::svg;
