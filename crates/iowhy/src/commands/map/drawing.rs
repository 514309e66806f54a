//! Where a map goes and in what form: paper, numbers on stdout, picture files.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use iowhy_model::Report;
use iowhy_show::{Growth, Palette, Style};

use crate::messages::Hinted;
use crate::present::View;

/// Rows of text for maps on no screen: sixteen for each, beside titles and legends.
const LONG: usize = 42;

/// How maps are coloured and where they are written.
#[derive(Args, Debug)]
#[command(next_help_heading = "Picture")]
pub struct Drawing {
    /// Colours: `even`, fit for colour-blind eyes, or `classic`, PyLatencyMap's
    #[arg(long, value_name = "NAME", value_parser = palette, default_value = "even")]
    palette: Palette,
    /// How colours follow values: `log` or `linear`; without it, linear for `classic` only
    #[arg(long, value_name = "WAY", value_parser = growth)]
    scale: Option<Growth>,
    /// Write an SVG picture there, instead of text to stdout
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a PNG picture there, instead of text to stdout
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// The cells as CSV instead of text
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

impl Drawing {
    /// Whether the map is text for a person, which a terminal may show again and again.
    pub fn is_text(&self, json: bool) -> bool {
        !(json || self.csv || self.svg.is_some() || self.png.is_some())
    }

    /// The style with our colours.
    pub fn style(&self, style: Style) -> Style {
        // What is read on no screen has room for a line to each power of two.
        let long = std::env::var_os("LINES").is_none() && !std::io::stdout().is_terminal();
        let height = if long { LONG } else { style.height };
        Style { palette: self.palette, growth: self.scale, height, ..style }
    }

    /// Writes the maps of a report wherever they are wanted.
    pub fn write(&self, report: &Report, style: &Style, json: bool) -> anyhow::Result<()> {
        for (file, name) in [(&self.svg, "heatmap-svg"), (&self.png, "heatmap-png")] {
            if let Some(file) = file {
                self.picture(report, style, file, name)?;
            }
        }
        let name = match (json, self.csv) {
            (true, _) => "heatmap-json",
            (_, true) => "heatmap-csv",
            _ if self.is_text(json) => "heatmap",
            _ => return Ok(()),
        };
        let mut out = BufWriter::new(std::io::stdout().lock());
        View::named(name).write(report, style, &mut out)?;
        Ok(out.flush()?)
    }

    fn picture(
        &self,
        report: &Report,
        style: &Style,
        file: &Path,
        name: &str,
    ) -> anyhow::Result<()> {
        let cannot = |cause: std::io::Error| {
            let shown = file.display();
            Hinted::error(
                format!("cannot write `{shown}`: {cause}"),
                "name a file in a folder that you may write to",
            )
        };
        let mut out = BufWriter::new(File::create(file).map_err(cannot)?);
        View::named(name).write(report, style, &mut out).map_err(cannot)?;
        out.flush().map_err(cannot)
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
