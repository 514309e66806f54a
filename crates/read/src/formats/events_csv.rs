//! iowhy's single I/Os as CSV, as `iowhy convert ... FILE.csv` writes them.
//!
//! ## Reads
//! A heading that begins with `input,device,op,flags`, then one row per I/O. Each row becomes an
//! event with every field whose column the heading names.
//!
//! ## How to capture
//! `iowhy convert capture.iowhy trace.csv`, and a spreadsheet that kept the heading.
//!
//! ## Versions
//! Columns are found by their names, in any order after the first four. Unknown ones are ignored; a
//! column that is missing, or an empty cell, is unknown.
//!
//! ## Caveats
//! Times are nanoseconds from the zero of the capture, not of a calendar. Another number under
//! `input` starts another listing with its own clock. A cell that a spreadsheet would execute is
//! written with a leading `'`, which is removed. A row with fewer cells than the heading was
//! truncated.
//!
//! ## Not in this output
//! Losses, resolution, and how the I/Os were captured: CSV has no fields for them.

use iowhy_model::{DeviceId, EVENT_FIELDS, Field, FieldKind, FieldValue, Flags, Name};

use crate::listing::another_input;
use crate::program::*;
use crate::text::csv;
use crate::text::recent::RecentNames;

pub(super) const FORMAT: Format = Format::by_line::<EventsCsv>(
    "iowhy's individual I/Os as CSV, written by `iowhy convert`",
    Level::C,
    &["input,device,op,flags,"],
    |line| line.trim_start().starts_with(HEADING),
);

const HEADING: &str = "input,device,op,flags,";
/// What begins a cell that a spreadsheet would run.
const RUN: [char; 4] = ['=', '+', '-', '@'];

#[derive(Default)]
struct EventsCsv {
    /// The field of each column; the first is the input.
    columns: Vec<Option<&'static Field<Event>>>,
    input: Option<String>,
    devices: RecentNames<DeviceId>,
    names: RecentNames<Name>,
}

impl Reader for EventsCsv {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if text.is_empty() {
            return Step::Consumed;
        }
        let cells = cells(text);
        if text.starts_with(HEADING) {
            let named = |name: &String| Field::named(&EVENT_FIELDS, name);
            self.columns = cells.iter().map(named).collect();
            return Step::Consumed;
        }
        let starts = cells.first().is_some_and(|cell| cell.parse::<u32>().is_ok());
        if !starts && !self.columns.is_empty() && cells.len() == self.columns.len() {
            return Step::skipped("`input` has no such value");
        }
        if !starts || cells.len() < 4 {
            return Step::NotMine;
        }
        if cells.len() != self.columns.len() {
            let (own, due) = (cells.len(), self.columns.len());
            return Step::Malformed(format!("{own} cells under a heading of {due}"));
        }
        match self.event(&cells, sink) {
            Ok(event) => {
                sink.event(event);
                Step::Consumed
            }
            Err(column) => Step::Malformed(format!("`{column}` has no such value")),
        }
    }
}

impl EventsCsv {
    /// The event of a row, or the column that is wrong.
    fn event(&mut self, cells: &[String], sink: &mut dyn Sink) -> Result<Event, &'static str> {
        let cell = |wanted: &str| {
            let place = self
                .columns
                .iter()
                .position(|column| column.is_some_and(|field| field.name == wanted));
            place.and_then(|place| cells.get(place)).map(String::as_str)
        };
        let op = cell("op").and_then(Op::from_name).ok_or("op")?;
        let layer = match cell("layer") {
            None | Some("") => Layer::Block,
            Some(name) => {
                Layer::ALL.into_iter().find(|layer| layer.name() == name).ok_or("layer")?
            }
        };
        let device = cell("device").unwrap_or_default();
        let input = cells.first().filter(|input| self.input.as_ref() != Some(input));
        if let Some(input) = input.cloned()
            && self.input.replace(input).is_some()
        {
            // Another clock: a listing of its own.
            another_input(FORMAT.level, sink);
        }
        let mut event = Event::new(self.devices.get(device, |name| sink.device(name)), op, layer);
        for (field, cell) in self.columns.iter().zip(cells) {
            let Some(field) = field.filter(|_| !cell.is_empty()) else { continue };
            let value = match field.kind {
                FieldKind::Time => cell.parse().ok().map(|ns| FieldValue::Time(Time::from_ns(ns))),
                FieldKind::Length => cell.parse().ok().map(|ns| FieldValue::Length(Nanos(ns))),
                FieldKind::Whole(_) => cell.parse().ok().map(FieldValue::Whole),
                FieldKind::Real => cell.parse().ok().map(FieldValue::Real),
                FieldKind::Flag => cell.parse().ok().map(FieldValue::Flag),
                FieldKind::Flags => {
                    Flags::from_rwbs(cell).map(|(_, flags)| FieldValue::Flags(op, flags))
                }
                FieldKind::Name => {
                    Some(FieldValue::Name(self.names.get(cell, |name| sink.name(name))))
                }
                FieldKind::Device | FieldKind::Op | FieldKind::Layer => continue,
            };
            if !value.is_some_and(|value| (field.set)(&mut event, value)) {
                return Err(field.name);
            }
        }
        Ok(event)
    }
}

/// The cells of a row.
fn cells(line: &str) -> Vec<String> {
    csv::cells(line, &[',']).into_iter().map(plain).collect()
}

/// A cell without the mark that keeps a spreadsheet from running it.
fn plain(cell: String) -> String {
    match cell.strip_prefix('\'') {
        Some(rest) if rest.starts_with(RUN) => rest.to_string(),
        _ => cell,
    }
}
