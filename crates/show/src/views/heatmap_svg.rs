//! Frequency and intensity heat maps as an SVG picture.
//!
//! ## Shows
//! The maps of the view `heatmap` on 300 columns and up to 96 rows, one device below the other,
//! in its palette. Nothing in the file comes from outside it, and it holds no script.
//!
//! ## Units
//! Those of `heatmap`: requests per second, and time waited per second.
//!
//! ## Read it like this
//! As `heatmap`: time to the right, latency upwards. Where nothing was watched the night shows
//! through; where something was and no request came, a cell is dark grey.

use std::io::{self, Write};

use iowhy_model::Report;

use crate::map_figure::figure;
use crate::paint::svg;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "heatmap-svg",
    summary: "heat maps of latency over time, as an SVG picture",
    manual: iowhy_model::manual!("heatmap_svg.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    svg(&figure(report, style), out)
}
