//! One JSON line per I/O, schema `iowhy.event/1`.
//!
//! ## Shows
//! What `events` draws, for programs: for each input a line of schema `iowhy.source/1`, then a
//! line per request in order of completion. `docs/JSON.md` describes every field.
//!
//! ## Units
//! `queued_ns`, `issued_ns` and `completed_ns` are points on the clock of the input, in
//! nanoseconds; their differences are Q2D, D2C and Q2C. `arrived_ns`, there only if it was seen, is
//! when the bio came to the block layer, and B2Q lasts from then to `queued_ns`. `cgroup`, there only
//! if known, is the group that pays; `file` likewise the file that is read or written. `sector` counts
//! units of 512 bytes.
//! `depth` is the number of requests in flight at issue, this one included. `error` is a
//! positive errno.
//!
//! ## Read it like this
//! What was not seen is null, never 0. A latency whose end lies before its start is a clock that
//! jumped. The losses stand in the line of the source; `folded` there counts requests that were
//! only kept in histograms.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};

use iowhy_model::{Event, Recording, Report, Time};
use serde_json::Value;

use crate::objects::{device, source_line};
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "events-json",
    summary: "one JSON line per I/O (iowhy.event/1)",
    manual: include_str!("events_json.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let recording = &report.recording;
    for listing in &recording.listings {
        source_line(listing, style, out)?;
        for event in listing.events.iter().filter(|event| style.filter.event(event)) {
            one(recording, event, out)?;
        }
    }
    Ok(())
}

/// Written field by field: a trace has millions of these, and a tree of values for each would
/// cost more than all the rest.
fn one(recording: &Recording, event: &Event, out: &mut dyn Write) -> io::Result<()> {
    let ns = |time: Option<Time>| OrNull(time.map(Time::ns));
    let text = |text: &str| Value::from(text);
    write!(
        out,
        "{{\"schema\":\"iowhy.event/1\",\"device\":{}",
        device(recording, Some(event.device))
    )?;
    write!(out, ",\"op\":\"{}\",\"flags\":\"{}\"", event.op.name(), event.flags.rwbs(event.op))?;
    write!(out, ",\"queued_ns\":{},\"issued_ns\":{}", ns(event.queued), ns(event.issued))?;
    write!(out, ",\"completed_ns\":{},\"sector\":{}", ns(event.completed), OrNull(event.sector))?;
    write!(out, ",\"bytes\":{},\"pid\":{}", OrNull(event.bytes), OrNull(event.pid))?;
    let comm = event.comm.map(|name| text(recording.text(name)));
    write!(out, ",\"comm\":{},\"depth\":{}", OrNull(comm), OrNull(event.depth))?;
    // Few sources see these: their absence costs no bytes.
    if let Some(arrived) = event.arrived {
        write!(out, ",\"arrived_ns\":{}", arrived.ns())?;
    }
    if let Some(group) = event.cgroup {
        write!(out, ",\"cgroup\":{}", text(recording.text(group)))?;
    }
    if let Some(file) = event.file {
        write!(out, ",\"file\":{}", text(recording.text(file)))?;
    }
    writeln!(out, ",\"error\":{},\"layer\":\"{}\"}}", OrNull(event.error), event.layer.name())
}

/// What is known, or null.
struct OrNull<T>(Option<T>);

impl<T: Display> Display for OrNull<T> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(known) => known.fmt(out),
            None => out.write_str("null"),
        }
    }
}
