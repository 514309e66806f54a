//! fio's log of single I/Os with times, version 3, which `fio --read_iolog` replays.
//!
//! ## Shows
//! A line per read, write, flush (`sync`) and discard (`trim`) that has an offset, in the order in
//! which they were started: time, device, action, offset and length.
//!
//! ## Units
//! Time in microseconds from the first I/O, which is at 1 (fio forgets a pause that follows time
//! 0); offset and length in bytes.
//!
//! ## Read it like this
//! The device is named `/dev/NAME`; `fio --replay_redirect=FILE` replays on another one, and
//! `--replay_skip=write,trim,sync` only the reads. fio starts the next I/O of a log when the one
//! before it has ended, unless `iodepth` allows more. Several parts of an input follow one another.

use std::collections::BTreeSet;
use std::io::{self, Write};

use iowhy_model::Order as _;
use iowhy_model::{DeviceId, Event, Op, Report, Time};

use crate::paint::clean;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "fio-iolog",
    summary: "fio's log of single I/Os with times, for its replay",
    manual: iowhy_model::manual!("fio_iolog.rs"),
    write,
};

/// The longest name that fio reads is 256 bytes (`%256s` in iolog.c).
const LONGEST: usize = 250;

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let recording = &report.recording;
    let of_listing = |listing: &'_ iowhy_model::Listing| -> Vec<Row> {
        let wanted = listing.events.iter().filter(|event| style.filter.event(event));
        let mut rows: Vec<Row> = wanted.filter_map(Row::of).collect();
        rows.order_by_key(|row| row.at);
        rows
    };
    let listings: Vec<Vec<Row>> = recording.listings.iter().map(of_listing).collect();
    let devices: BTreeSet<DeviceId> = listings.iter().flatten().map(|row| row.device).collect();
    if devices.is_empty() {
        return Ok(());
    }
    let name = |device: DeviceId| {
        let known = recording.devices().get(device.index()).map(|device| clean(&device.name));
        let name = known.filter(|name| !name.is_empty()).unwrap_or("unknown".to_string());
        let name: String = name
            .chars()
            .map(|c| if c.is_whitespace() { '_' } else { c })
            .take(LONGEST / 4)
            .collect();
        format!("/dev/{name}")
    };
    writeln!(out, "fio version 3 iolog")?;
    for action in ["add", "open"] {
        for device in &devices {
            writeln!(out, "0 {} {action}", name(*device))?;
        }
    }
    let mut last_us = 1;
    for rows in listings {
        let Some(zero) = rows.first().map(|row| row.at) else { continue };
        let begun_us = last_us;
        for row in rows {
            last_us = begun_us + (row.at - zero).ns().max(0) / 1000;
            let Row { action, offset, bytes, .. } = row;
            writeln!(out, "{last_us} {} {action} {offset} {bytes}", name(row.device))?;
        }
    }
    for device in &devices {
        writeln!(out, "{last_us} {} close", name(*device))?;
    }
    Ok(())
}

/// A line.
struct Row {
    at: Time,
    device: DeviceId,
    action: &'static str,
    offset: u64,
    bytes: u32,
}

impl Row {
    fn of(event: &Event) -> Option<Row> {
        let action = match event.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Discard => "trim",
            Op::Flush => "sync",
            Op::Other => return None,
        };
        let at = event.arrived.or(event.queued).or(event.issued)?;
        let (offset, bytes) = match event.op {
            Op::Flush => (0, 0),
            _ => (event.sector?.checked_mul(512)?, event.bytes.filter(|bytes| *bytes > 0)?),
        };
        Some(Row { at, device: event.device, action, offset, bytes })
    }
}
