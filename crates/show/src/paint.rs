//! The pen: coloured text, wrapped paragraphs, columns, bars, axes and grids. Knows no report.

mod ansi;
mod axis;
mod bar;
mod columns;
mod grid;
mod palette;
mod paper;

pub use ansi::{Ink, Line, Rgb, Tone, clean};
pub use axis::{latency_label, time_axis};
pub use bar::{bar, gauge};
pub use columns::{Align, Cell, Columns};
pub use grid::{Grid, Mark, density};
pub use palette::{Palette, Ramp};
pub use paper::{Paper, wrap};
