//! Frequency and intensity heat maps as an SVG picture.
//!
//! ## Shows
//! The maps of the view `heatmap` on 300 columns and up to 96 rows, one device below the other, in
//! its palette. The file is self-contained and has no script.
//!
//! ## Units
//! Those of `heatmap`: requests per second, and time waited per second.
//!
//! ## Read it like this
//! Like `heatmap`: time on the x axis, latency on the y axis. Intervals that were not watched are
//! black; cells that were watched but had no requests are dark grey.

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
