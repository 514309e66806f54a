//! The pen: coloured text, palettes, axes, bars, grids and columns. Knows no report.

mod palette;

pub use palette::Palette;
