//! Latency histograms as CSV, for spreadsheets and plots.
//!
//! ## Shows
//! A heading, then a line for each bucket that is not empty, of each histogram that `hist-json`
//! has: per device, operation and stage, with the edges of its own source. `input` is the index of
//! its source in the inputs, from 0.
//!
//! ## Units
//! `start_ns`, `length_ns`, `low_ns` (inclusive) and `high_ns` (exclusive, empty if the bucket is
//! open) in nanoseconds, `ios` in I/Os.
//!
//! ## Read it like this
//! Histograms of Q2D, D2C and Q2C count the same I/Os: do not add them. Unknown values are empty.

use std::io::{self, Write};

use iowhy_model::{Distribution, Edges, Recording, Report, distributions};

use crate::csv::quoted;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "hist-csv",
    summary: "latency histograms as CSV",
    manual: iowhy_model::manual!("hist_csv.rs"),
    write,
};

const HEADING: &str = "input,device,op,stage,layer,start_ns,length_ns,label,low_ns,high_ns,ios";

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if style.heading {
        writeln!(out, "{HEADING}")?;
    }
    let recording = &report.recording;
    for (input, listing) in recording.listings.iter().enumerate() {
        let known = distributions(listing, &style.filter, &Edges::standard());
        for one in known.iter().filter(|one| style.stage.is_none_or(|stage| one.stage == stage)) {
            buckets(recording, input, one, out)?;
        }
    }
    Ok(())
}

fn buckets(
    recording: &Recording,
    input: usize,
    known: &Distribution,
    out: &mut dyn Write,
) -> io::Result<()> {
    let device = recording.devices().get(known.device.index());
    let device = quoted(device.map_or("", |device| &device.name));
    let op = known.op.map_or("", |op| op.name());
    let whole = |value: Option<i64>| value.map_or(String::new(), |value| value.to_string());
    let (start, length) = (known.start.map(|at| at.ns()), known.length.map(|length| length.ns()));
    let label = known.label.map_or(String::new(), |label| quoted(recording.text(label)));
    let of = format!(
        "{input},{device},{op},{},{},{},{},{label}",
        known.stage.name(),
        known.layer.name(),
        whole(start),
        whole(length)
    );
    for (low, high, ios) in known.histogram.filled() {
        let high = if high == u64::MAX { String::new() } else { high.to_string() };
        writeln!(out, "{of},{low},{high},{ios}")?;
    }
    Ok(())
}
