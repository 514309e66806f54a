//! One JSON line per I/O, schema `iowhy.event/1`.
//!
//! ## Shows
//! The data of `events` as JSON: for each input a line of schema `iowhy.source/1`, then a line per
//! request in order of completion. `docs/JSON.md` describes every field.
//!
//! ## Units
//! `queued_ns`, `issued_ns` and `completed_ns` are times on the clock of the input, in nanoseconds;
//! their differences are Q2D, D2C and Q2C. `arrived_ns`, present only if known, is the arrival of
//! the bio in the block layer, and B2Q is the time from then to `queued_ns`. `cgroup`, present only
//! if known, is the charged control group; likewise `file` is the file that is read or written.
//! `at`, present only if the time of day is known, is the local time of completion, `at_ns` the
//! same in nanoseconds since 1970 (UTC). `sector` counts units of 512 bytes. `depth` is the number
//! of requests in flight at issue, this one included. `error` is a positive errno.
//!
//! ## Read it like this
//! Unknown values are null, never 0. An end before its start means that the clock jumped. Losses
//! are in the line of the source, where `folded` counts requests that were kept only in histograms.

use std::io::{self, Write};

use iowhy_model::{EVENT_FIELDS, Event, FieldValue, Recording, Report};
use serde_json::Value;

use crate::objects::{at, device, number, source_line, zeros};
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "events-json",
    summary: "one JSON line per I/O (iowhy.event/1)",
    manual: iowhy_model::manual!("events_json.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let recording = &report.recording;
    for (listing, zero) in recording.listings.iter().zip(zeros(recording, style)) {
        source_line(listing, style, out)?;
        for event in listing.events.iter().filter(|event| style.filter.event(event)) {
            one(recording, event, at(zero, event.completed, style), out)?;
        }
    }
    Ok(())
}

/// Written field by field: a trace has millions of these, and a tree of values for each would
/// cost more than all the rest.
fn one(
    recording: &Recording,
    event: &Event,
    at: Option<(String, i64)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "{{\"schema\":\"iowhy.event/1\"")?;
    if let Some((text, ns)) = at {
        write!(out, ",\"at\":\"{text}\",\"at_ns\":{ns}")?;
    }
    for field in &EVENT_FIELDS {
        let value = (field.get)(event);
        // Few sources see these: their absence costs no bytes.
        if field.rare && value.is_none() {
            continue;
        }
        write!(out, ",\"{}\":", field.name)?;
        match value {
            Some(FieldValue::Device(id)) => write!(out, "{}", device(recording, Some(id)))?,
            Some(FieldValue::Op(op)) => write!(out, "\"{}\"", op.name())?,
            Some(FieldValue::Flags(op, flags)) => write!(out, "\"{}\"", flags.rwbs(op))?,
            Some(FieldValue::Layer(layer)) => write!(out, "\"{}\"", layer.name())?,
            Some(FieldValue::Time(time)) => write!(out, "{}", time.ns())?,
            Some(FieldValue::Length(length)) => write!(out, "{}", length.ns())?,
            Some(FieldValue::Whole(whole)) => write!(out, "{whole}")?,
            Some(FieldValue::Real(real)) => write!(out, "{}", number(real))?,
            Some(FieldValue::Flag(is)) => write!(out, "{is}")?,
            Some(FieldValue::Name(name)) => {
                write!(out, "{}", Value::from(recording.text(name)))?;
            }
            None => write!(out, "null")?,
        }
    }
    writeln!(out, "}}")
}
