//! Rates and latencies per device as CSV, for spreadsheets and plots.
//!
//! ## Shows
//! A heading, then a line per device and time interval with the fields of `stat-json`: those of
//! each operation begin with its name, or with `mixed` if the input does not distinguish
//! operations. `input` is the index of its source in the inputs, from 0.
//!
//! ## Units
//! Rates per second, sizes in bytes, latencies and times in nanoseconds, `busy_share` from 0 to 1.
//!
//! ## Read it like this
//! Unknown values are empty, never 0. Lines with `since_boot` are averages since boot, not current
//! values.

use std::io::{self, Write};

use iowhy_model::{
    Field, FieldValue, INTERVAL_FIELDS, Interval, Op, RATE_FIELDS, Recording, Report,
};

use crate::csv::quoted;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "stat-csv",
    summary: "rates and latencies per device as CSV",
    manual: iowhy_model::manual!("stat_csv.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if style.heading {
        write!(out, "input,device,layer")?;
        INTERVAL_FIELDS.iter().try_for_each(|field| write!(out, ",{}", field.name))?;
        for whose in Op::ALL.iter().map(|op| op.name()).chain(["mixed"]) {
            RATE_FIELDS.iter().try_for_each(|field| write!(out, ",{whose}_{}", field.name))?;
        }
        writeln!(out)?;
    }
    for (input, listing) in report.recording.listings.iter().enumerate() {
        for interval in listing.intervals.iter().filter(|known| style.filter.device(known.device)) {
            line(&report.recording, input, interval, out)?;
        }
    }
    Ok(())
}

fn line(
    recording: &Recording,
    input: usize,
    interval: &Interval,
    out: &mut dyn Write,
) -> io::Result<()> {
    let device = recording.devices().get(interval.device.index());
    let device = quoted(device.map_or("", |device| &device.name));
    write!(out, "{input},{device},{}", interval.layer.name())?;
    cells(&INTERVAL_FIELDS, Some(interval), out)?;
    for op in Op::ALL {
        cells(&RATE_FIELDS, interval.of(op), out)?;
    }
    cells(&RATE_FIELDS, interval.mixed.as_ref(), out)?;
    writeln!(out)
}

fn cells<R>(list: &[Field<R>], record: Option<&R>, out: &mut dyn Write) -> io::Result<()> {
    for field in list {
        match record.and_then(|record| (field.get)(record)) {
            Some(FieldValue::Time(time)) => write!(out, ",{}", time.ns())?,
            Some(FieldValue::Length(length)) => write!(out, ",{}", length.ns())?,
            Some(FieldValue::Whole(whole)) => write!(out, ",{whole}")?,
            Some(FieldValue::Real(real)) => write!(out, ",{real}")?,
            Some(FieldValue::Flag(is)) => write!(out, ",{is}")?,
            _ => write!(out, ",")?,
        }
    }
    Ok(())
}
