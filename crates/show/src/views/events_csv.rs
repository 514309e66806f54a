//! Single I/Os as CSV, for spreadsheets and plots.
//!
//! ## Shows
//! A heading, then a line per request in order of completion, with the fields of `events-json`.
//!
//! ## Units
//! Points in time in nanoseconds on the clock of the input, `sector` in units of 512 bytes.
//!
//! ## Read it like this
//! What was not seen is empty, never 0. Names are quoted where they hold commas or quotes.

use std::fmt::Display;
use std::io::{self, Write};

use iowhy_model::{Event, Recording, Report, Time};

use crate::csv::quoted;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "events-csv",
    summary: "single I/Os as CSV",
    manual: include_str!("events_csv.rs"),
    write,
};

const HEADING: &str = "input,device,op,flags,queued_ns,issued_ns,completed_ns,sector,bytes,pid,\
                       comm,depth,error,layer";

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if style.heading && style.part.is_none_or(|part| part == 0) {
        writeln!(out, "{HEADING}")?;
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
    let ns = |time: Option<Time>| or_empty(time.map(Time::ns));
    let device = recording.devices().get(event.device.index());
    let device = quoted(device.map_or("", |device| &device.name));
    let (op, flags) = (event.op.name(), event.flags.rwbs(event.op));
    write!(out, "{input},{device},{op},{flags},{},", ns(event.queued))?;
    write!(out, "{},{},{},", ns(event.issued), ns(event.completed), or_empty(event.sector))?;
    let comm = event.comm.map(|comm| quoted(recording.text(comm)));
    write!(out, "{},{},{},", or_empty(event.bytes), or_empty(event.pid), or_empty(comm))?;
    let layer = event.layer.name();
    writeln!(out, "{},{},{layer}", or_empty(event.depth), or_empty(event.error))
}

fn or_empty(known: Option<impl Display>) -> String {
    known.map_or(String::new(), |known| known.to_string())
}
