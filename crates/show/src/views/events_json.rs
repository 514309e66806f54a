//! One JSON line per I/O, schema `iowhy.event/1`.
//!
//! ## Shows
//! What `events` draws, for programs: for each input a line of schema `iowhy.source/1`, then a
//! line per request in order of completion. `docs/JSON.md` describes every field.
//!
//! ## Units
//! `queued_ns`, `issued_ns` and `completed_ns` are points on the clock of the input, in
//! nanoseconds; their differences are Q2D, D2C and Q2C. `sector` counts units of 512 bytes.
//! `depth` is the number of requests in flight at issue, this one included. `error` is a
//! positive errno.
//!
//! ## Read it like this
//! What was not seen is null, never 0. A latency whose end lies before its start is a clock that
//! jumped. The losses stand in the line of the source; `folded` there counts requests that were
//! only kept in histograms.

use std::io::{self, Write};

use iowhy_model::{Event, Recording, Report, Time};
use serde_json::Value;

use crate::objects::{device, line, object, source_line};
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
        if style.heading || !listing.source.losses.is_empty() {
            source_line(&listing.source, out)?;
        }
        for event in listing.events.iter().filter(|event| style.filter.event(event)) {
            line(&one(recording, event), out)?;
        }
    }
    Ok(())
}

fn one(recording: &Recording, event: &Event) -> Value {
    let ns = |time: Option<Time>| Value::from(time.map(Time::ns));
    object([
        ("schema", "iowhy.event/1".into()),
        ("device", device(recording, Some(event.device))),
        ("op", event.op.name().into()),
        ("flags", event.flags.rwbs(event.op).into()),
        ("queued_ns", ns(event.queued)),
        ("issued_ns", ns(event.issued)),
        ("completed_ns", ns(event.completed)),
        ("sector", event.sector.into()),
        ("bytes", event.bytes.into()),
        ("pid", event.pid.into()),
        ("comm", event.comm.map(|name| recording.text(name)).into()),
        ("depth", event.depth.into()),
        ("error", event.error.into()),
        ("layer", event.layer.name().into()),
    ])
}
