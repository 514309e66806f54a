//! Frequency and intensity heat maps as a PNG picture.
//!
//! ## Shows
//! The maps of the view `heatmap` on 300 columns and up to 96 rows, one device below the other, in
//! its palette, in 24-bit colour and twice the size of the SVG. Text is drawn in Roboto Mono, which
//! is built in; characters outside Latin-1 are drawn as question marks.
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
use crate::paint::png;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "heatmap-png",
    summary: "heat maps of latency over time, as a PNG picture",
    manual: iowhy_model::manual!("heatmap_png.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    png(&figure(report, style), out)
}
