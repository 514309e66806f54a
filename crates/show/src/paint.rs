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

pub(crate) use ansi::{Line, Rgb, TextStyle, Tone, clean, nearest_16, nearest_256};
pub(crate) use axis::{TimeAxis, latency_label, ticks, time_axis};
pub(crate) use bar::{bar, gauge};
pub use canvas::fitted;
pub(crate) use canvas::{Canvas, wrap};
pub use colour::Colour;
pub(crate) use columns::{Align, Cell, Columns};
#[cfg(test)]
pub(crate) use figure::Shape;
pub(crate) use figure::{Anchor, Figure, LETTER};
pub(crate) use grid::{Grid, Mark, density};
pub use palette::Palette;
pub(crate) use palette::Ramp;
pub(crate) use png::png;
pub(crate) use svg::svg;
