//! The output of a map: terminal, numbers on stdout, picture files.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use iowhy_model::Report;
use iowhy_show::{Growth, Palette, Style, views};

use crate::arguments::Commas;
use crate::outputs::{Force, Output};
use crate::present::View;
use crate::sanitised;

/// Rows of text for maps without a screen: sixteen each, beside titles and legends.
const LONG: usize = 42;

/// How maps are coloured and where they are written.
#[derive(Args, Debug)]
#[command(next_help_heading = "Picture")]
pub(super) struct Drawing {
    /// Colours: `even` (safe for colour-blind readers) or `classic` (PyLatencyMap's)
    #[arg(long, value_name = "NAME", value_parser = palette, default_value = "even")]
    palette: Palette,
    /// Colour scale: `log` or `linear` [default: linear for `classic`, else log]
    #[arg(long, value_name = "WAY", value_parser = growth)]
    scale: Option<Growth>,
    /// Write an SVG picture to this file (`-` is standard output), instead of text to stdout
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a PNG picture to this file (`-` is standard output), instead of text to stdout
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    #[command(flatten)]
    commas: Commas,
    #[command(flatten)]
    force: Force,
}

/// Picture files, opened before anything is read or watched.
#[derive(Default)]
pub(super) struct Pictures(Vec<(Output, View)>);

impl Drawing {
    /// Whether the map is text that a terminal may redraw.
    pub(super) fn is_text(&self, json: bool) -> bool {
        !(json || self.commas.csv || self.svg.is_some() || self.png.is_some())
    }

    /// The style with our colours.
    pub(super) fn style(&self, style: Style) -> Style {
        // Without a screen there is room for a line for each power of two.
        let long = std::env::var_os("LINES").is_none() && !std::io::stdout().is_terminal();
        let height = if long { LONG } else { style.height };
        Style { palette: self.palette, growth: self.scale, height, ..style }
    }

    /// Opens the picture files, so that errors are reported before the work.
    ///
    /// # Errors If one must not or cannot be written.
    pub(super) fn pictures(&self, inputs: &[PathBuf]) -> anyhow::Result<Pictures> {
        let mut opened = Vec::new();
        let pictures = [
            (&self.svg, View(&views::heatmap_svg::VIEW)),
            (&self.png, View(&views::heatmap_png::VIEW)),
        ];
        for (file, view) in pictures {
            if let Some(file) = file {
                opened.push((Output::open(file, self.force, inputs)?, view));
            }
        }
        Ok(Pictures(opened))
    }

    /// The picture files by name.
    pub(super) fn files(&self) -> Vec<&Path> {
        [&self.svg, &self.png].into_iter().flatten().map(PathBuf::as_path).collect()
    }

    /// Writes the maps of a report to all outputs.
    ///
    /// # Errors If a file cannot be written, or there is nothing to draw.
    pub(super) fn write(
        &self,
        report: &Report,
        style: &Style,
        json: bool,
        pictures: Pictures,
    ) -> anyhow::Result<()> {
        for (output, view) in pictures.0 {
            match *view.0 == views::heatmap_png::VIEW {
                true => output.fill(|out| view.write(report, style, out))?,
                false => output.fill_text(|out| view.write(report, style, out))?,
            }
        }
        let view = match (json, self.commas.csv) {
            (true, _) => &views::heatmap_json::VIEW,
            (_, true) => &views::heatmap_csv::VIEW,
            _ if self.is_text(json) => &views::heatmap::VIEW,
            _ => return Ok(()),
        };
        let mut out = sanitised::buffered();
        View(view).write(report, style, &mut out)?;
        Ok(out.flush()?)
    }
}

fn palette(name: &str) -> Result<Palette, String> {
    match name {
        "even" => Ok(Palette::Even),
        "classic" => Ok(Palette::Classic),
        _ => Err("use even or classic".to_string()),
    }
}

fn growth(name: &str) -> Result<Growth, String> {
    match name {
        "linear" => Ok(Growth::Linear),
        "log" => Ok(Growth::Logarithmic),
        _ => Err("use log or linear".to_string()),
    }
}
