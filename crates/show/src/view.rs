//! What a view is, and the canvas it draws on.

use std::collections::HashMap;
use std::io::{self, Write};

use iowhy_model::{DeviceId, Filter, Report, Stage};
use jiff::tz::TimeZone;

use crate::paint::{Colour, Palette};

/// A view of the list in `views.rs`: draws one report to one writer.
#[derive(Clone, Copy)]
pub struct View {
    /// Its name everywhere.
    pub name: &'static str,
    /// What it shows, in a line.
    pub summary: &'static str,
    /// The source text of its file, whose header is its manual.
    pub manual: &'static str,
    /// Draws the report.
    pub write: fn(&Report, &Style, &mut dyn Write) -> io::Result<()>,
}

impl PartialEq for View {
    fn eq(&self, other: &View) -> bool {
        self.name == other.name
    }
}

/// How colours follow values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// Twice the value is twice as far along the colours.
    Linear,
    /// Ten times the value is one step further, whatever it was.
    Logarithmic,
}

/// Properties of the canvas and the user's options, from the CLI.
#[derive(Clone, PartialEq, Debug)]
pub struct Style {
    /// Columns; 80 if unknown.
    pub width: usize,
    /// Rows; 24 if unknown.
    pub height: usize,
    /// Colours.
    pub colour: Colour,
    /// Whether half blocks and box lines may be used; else ASCII.
    pub unicode: bool,
    /// The colours of heat maps.
    pub palette: Palette,
    /// The zone in which times are reported: that of the reader, not of the capture.
    pub zone: TimeZone,
    /// How they follow values; the palette's own way if `None`.
    pub growth: Option<Growth>,
    /// Whether column headings are drawn (a live view leaves them out most of the time).
    pub heading: bool,
    /// Everything, not only what matters most.
    pub verbose: bool,
    /// And the ledger of each confidence.
    pub ledger: bool,
    /// Which devices, operations and sizes to draw.
    pub filter: Filter,
    /// Which part of the latency to draw; the longest known if `None`.
    pub stage: Option<Stage>,
    /// The number of the listing of which the report is one part, where a capture is drawn in
    /// parts: its clock begins at zero then where the view's does.
    pub part: Option<usize>,
    /// Whether single I/Os are marked as sequential or random: if so, the sector after the last
    /// I/O of each device before this report.
    pub pattern: Option<HashMap<DeviceId, u64>>,
    /// Nanoseconds since 1970 at the zero of the events' clock, for lines with the time of day.
    pub time_of_day: Option<i64>,
    /// Whether times of a listing that knows the time of day at its clock's zero are reported as
    /// that.
    pub clock_of_day: bool,
    /// Whether single I/Os have a column for their file, even where none is known.
    pub files: bool,
    /// Whether rows of single I/Os leave columns out where the canvas is too narrow; else they are
    /// whole, to be read again.
    pub fitted: bool,
}

impl Style {
    /// Plain paper of 80 columns.
    pub fn plain() -> Style {
        Style {
            width: 80,
            height: 24,
            colour: Colour::None,
            unicode: false,
            palette: Palette::default(),
            zone: TimeZone::UTC,
            growth: None,
            heading: true,
            verbose: false,
            ledger: false,
            filter: Filter::default(),
            stage: None,
            part: None,
            pattern: None,
            time_of_day: None,
            clock_of_day: true,
            files: false,
            fitted: false,
        }
    }
}
