//! Rates and latencies per device as JSON lines, schema `iowhy.stat/1`.
//!
//! ## Shows
//! The data of `table` as JSON: for each input a line of schema `iowhy.source/1`, then a line per
//! device and time interval. `docs/JSON.md` describes every field.
//!
//! ## Units
//! Rates per second, sizes in bytes, latencies in nanoseconds, `busy_share` from 0 to 1 (iostat's
//! %util divided by 100). `at`, present only if the time of day is known, is the start in local
//! time, `at_ns` the same in nanoseconds since 1970 (UTC). Unknown values are null; an operation
//! that the source does not count is missing from `ops`.
//!
//! ## Read it like this
//! `ops.read.await_ns` is r_await, null if no read completed. `busy_share` is the share of time
//! with a request in flight, not a measure of saturation. Lines with `since_boot` are averages
//! since boot, not current values.

use std::io::{self, Write};

use iowhy_model::{
    Field, FieldValue, INTERVAL_FIELDS, Interval, NameTable, RATE_FIELDS, Rates, Recording, Report,
};
use serde_json::{Map, Value};

use crate::objects::{self, at, device, line, number, source_line};
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "stat-json",
    summary: "rates and latencies per device as JSON lines (iowhy.stat/1)",
    manual: iowhy_model::manual!("stat_json.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let recording = &report.recording;
    let names = NameTable::of(recording);
    for (listing, zero) in recording.listings.iter().zip(objects::zeros(recording, style)) {
        source_line(listing, style, out)?;
        for interval in listing.intervals.iter().filter(|known| style.filter.device(known.device)) {
            let mut object = stretch(recording, interval, at(zero, interval.start, style));
            objects::add_names(&mut object, &names, recording, Some(interval.device));
            line(&object, out)?;
        }
    }
    Ok(())
}

fn stretch(recording: &Recording, interval: &Interval, at: Option<(String, i64)>) -> Value {
    let ops: Map<String, Value> =
        interval.rates.iter().map(|(op, known)| (op.name().to_string(), rates(known))).collect();
    let mut whole = Map::new();
    whole.insert("schema".to_string(), "iowhy.stat/1".into());
    if let Some((text, ns)) = at {
        whole.extend([("at".to_string(), text.into()), ("at_ns".to_string(), ns.into())]);
    }
    whole.insert("device".to_string(), device(recording, Some(interval.device)));
    whole.insert("layer".to_string(), interval.layer.name().into());
    whole.insert("ops".to_string(), Value::Object(ops));
    whole.insert("mixed".to_string(), interval.mixed.as_ref().map_or(Value::Null, rates));
    whole.extend(fields(&INTERVAL_FIELDS, interval));
    Value::Object(whole)
}

fn rates(rates: &Rates) -> Value {
    Value::Object(fields(&RATE_FIELDS, rates).collect())
}

/// What a record reports of each of its fields.
fn fields<R>(list: &[Field<R>], record: &R) -> impl Iterator<Item = (String, Value)> {
    list.iter().map(move |field| {
        let value = match (field.get)(record) {
            Some(FieldValue::Time(time)) => time.ns().into(),
            Some(FieldValue::Length(length)) => length.ns().into(),
            Some(FieldValue::Whole(whole)) => whole.into(),
            Some(FieldValue::Real(real)) => number(real),
            Some(FieldValue::Flag(is)) => is.into(),
            _ => Value::Null,
        };
        (field.name.to_string(), value)
    })
}
