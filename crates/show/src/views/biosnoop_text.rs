//! Lines in the format of bcc's biosnoop, for tools that read it.
//!
//! ## Shows
//! The heading of biosnoop, then a line per request that was timed from issue to completion, in
//! order of completion. With queue times, the column `QUE(ms)` of `biosnoop -Q` precedes the
//! latency.
//!
//! ## Units
//! `TIME(s)` in seconds from the first completion of its input, to the nanosecond; `SECTOR` in
//! units of 512 bytes; times in milliseconds.
//!
//! ## Read it like this
//! Unknown values are `?` for a process, 0 for its ID, and `-` for sector or size. Spaces in names
//! become `_`. Events that were not timed at a device are left out.

use std::io::{self, Write};

use iowhy_model::{Event, Layer, Recording, Report, Stage, Time};

use crate::paint::clean;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "biosnoop-text",
    summary: "lines in the format of bcc's biosnoop",
    manual: iowhy_model::manual!("biosnoop_text.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for listing in &report.recording.listings {
        let events = || listing.events.iter().filter(|event| style.filter.event(event));
        let timed = || events().filter(|event| event.layer == Layer::Block);
        let Some(zero) = timed().filter_map(|event| event.completed).min() else { continue };
        let zero = if style.part.is_some() { Time::from_ns(0) } else { zero };
        let queue = timed().any(|event| event.latency(Stage::Queue).is_some());
        let column = if queue { " QUE(ms)" } else { "" };
        if style.heading {
            writeln!(
                out,
                "{:<14} {:<14} {:<7} {:<9} {:<1} {:<10} {:<7}{column} LAT(ms)",
                "TIME(s)", "COMM", "PID", "DISK", "T", "SECTOR", "BYTES"
            )?;
        }
        for event in timed() {
            line(&report.recording, event, zero, queue, out)?;
        }
    }
    Ok(())
}

fn line(
    recording: &Recording,
    event: &Event,
    zero: Time,
    queue: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (Some(at), Some(latency)) = (event.completed, event.latency(Stage::Device)) else {
        return Ok(());
    };
    let word = |text: &str| clean(text).split_whitespace().collect::<Vec<_>>().join("_");
    let or_dash = |number: Option<u64>| number.map_or("-".to_string(), |known| known.to_string());
    let comm = event.comm.map_or("?".to_string(), |comm| word(recording.text(comm)));
    let device = recording.devices().get(event.device.index()).map(|device| word(&device.name));
    let device = device.filter(|name| !name.is_empty()).unwrap_or("?".to_string());
    write!(
        out,
        "{:<14.9} {comm:<14} {:<7} {device:<9} {:<1} {:<10} {:<7}",
        (at - zero).seconds(),
        event.pid.unwrap_or(0),
        event.flags.rwbs(event.op),
        or_dash(event.sector),
        or_dash(event.bytes.map(u64::from)),
    )?;
    if queue {
        let waited = event.latency(Stage::Queue).map(|waited| format!("{:.6}", waited.ms()));
        write!(out, " {:>7}", waited.as_deref().unwrap_or("-"))?;
    }
    writeln!(out, " {:>7.6}", latency.ms())
}
