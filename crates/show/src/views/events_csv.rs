//! Individual I/Os as CSV, for spreadsheets and plots.
//!
//! ## Shows
//! A heading, then a line per request in order of completion, with the fields of `events-json`.
//! `input` is the index of its source in the inputs, from 0.
//!
//! ## Units
//! Times in nanoseconds on the clock of the input, `sector` in units of 512 bytes.
//!
//! ## Read it like this
//! Unknown values are empty, never 0. Names that contain commas or quotes are quoted.

use std::io::{self, Write};

use iowhy_model::{EVENT_FIELDS, Event, FieldValue, Recording, Report};

use crate::csv::quoted;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "events-csv",
    summary: "individual I/Os as CSV",
    manual: iowhy_model::manual!("events_csv.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if style.heading && style.part.is_none_or(|part| part == 0) {
        write!(out, "input")?;
        EVENT_FIELDS.iter().try_for_each(|field| write!(out, ",{}", field.name))?;
        writeln!(out)?;
    }
    for (input, listing) in report.recording.listings.iter().enumerate() {
        let input = style.part.unwrap_or(input);
        for event in listing.events.iter().filter(|event| style.filter.event(event)) {
            line(&report.recording, input, event, out)?;
        }
    }
    Ok(())
}

fn line(recording: &Recording, input: usize, event: &Event, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{input}")?;
    for field in &EVENT_FIELDS {
        match (field.get)(event) {
            Some(FieldValue::Device(id)) => {
                let device = recording.devices().get(id.index());
                write!(out, ",{}", quoted(device.map_or("", |device| &device.name)))?;
            }
            Some(FieldValue::Op(op)) => write!(out, ",{}", op.name())?,
            Some(FieldValue::Flags(op, flags)) => write!(out, ",{}", flags.rwbs(op))?,
            Some(FieldValue::Layer(layer)) => write!(out, ",{}", layer.name())?,
            Some(FieldValue::Time(time)) => write!(out, ",{}", time.ns())?,
            Some(FieldValue::Length(length)) => write!(out, ",{}", length.ns())?,
            Some(FieldValue::Whole(whole)) => write!(out, ",{whole}")?,
            Some(FieldValue::Real(real)) => write!(out, ",{real}")?,
            Some(FieldValue::Flag(is)) => write!(out, ",{is}")?,
            Some(FieldValue::Name(name)) => write!(out, ",{}", quoted(recording.text(name)))?,
            None => write!(out, ",")?,
        }
    }
    writeln!(out)
}
