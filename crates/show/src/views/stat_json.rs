//! Rates and latencies per device as JSON lines, schema `iowhy.stat/1`.
//!
//! ## Shows
//! What `table` draws, for programs: for each input a line of schema `iowhy.source/1`, then a
//! line per device and stretch of time. `docs/JSON.md` describes every field.
//!
//! ## Units
//! Rates per second, sizes in bytes, latencies in nanoseconds, `busy_share` from 0 to 1 (iostat's
//! %util divided by 100). What the source does not know is null; an operation that it does not
//! count is missing from `ops`.
//!
//! ## Read it like this
//! `ops.read.await_ns` is r_await, null if no read completed. `busy_share` says how much of the
//! time something was in flight, not how full the device was. Lines with `since_boot` are no
//! sample of the present.

use std::io::{self, Write};

use iowhy_model::{Interval, Rates, Recording, Report};
use serde_json::{Map, Value};

use crate::objects::{device, line, maybe, number, object, source_line};
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "stat-json",
    summary: "rates and latencies per device as JSON lines (iowhy.stat/1)",
    manual: include_str!("stat_json.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let recording = &report.recording;
    for listing in &recording.listings {
        source_line(listing, style, out)?;
        for interval in listing.intervals.iter().filter(|known| style.filter.device(known.device)) {
            line(&stretch(recording, interval), out)?;
        }
    }
    Ok(())
}

fn stretch(recording: &Recording, interval: &Interval) -> Value {
    let ops: Map<String, Value> =
        interval.rates.iter().map(|(op, known)| (op.name().to_string(), rates(known))).collect();
    object([
        ("schema", "iowhy.stat/1".into()),
        ("device", device(recording, Some(interval.device))),
        ("layer", interval.layer.name().into()),
        ("start_ns", interval.start.map(|start| start.ns()).into()),
        ("length_ns", interval.length.map(|length| length.ns()).into()),
        ("since_boot", interval.since_boot.into()),
        ("ops", Value::Object(ops)),
        ("mixed", interval.mixed.as_ref().map_or(Value::Null, rates)),
        ("await_ns", maybe(interval.await_ns)),
        ("wait_ns", maybe(interval.wait_ns)),
        ("device_ns", maybe(interval.device_ns)),
        ("aqu_sz", maybe(interval.queue_len)),
        ("active_len", maybe(interval.active_len)),
        ("busy_share", maybe(interval.busy)),
        ("svctm_ns", maybe(interval.svctm_ns)),
        ("in_flight", interval.in_flight.into()),
    ])
}

fn rates(rates: &Rates) -> Value {
    object([
        ("ios_per_s", number(rates.ios_per_s)),
        ("merges_per_s", maybe(rates.merges_per_s)),
        ("bytes_per_s", maybe(rates.bytes_per_s)),
        ("await_ns", maybe(rates.await_ns)),
    ])
}
