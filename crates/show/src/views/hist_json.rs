//! Latency histograms as one JSON object, schema `iowhy.hist/1`.
//!
//! ## Shows
//! The data of `histogram` as JSON: each histogram with the edges of its own source, never merged,
//! per device, operation and stage. With `--verbose`, and in output of `iowhy convert`, each time
//! interval has its own; otherwise those of one source are added up. `docs/JSON.md` describes every
//! field.
//!
//! ## Units
//! All times in nanoseconds. Bucket `i` counts latencies from `edges_ns[i]`, inclusive, to
//! `edges_ns[i + 1]`, exclusive; a last edge of null means that the bucket is open. `sum_ns`,
//! `min_ns` and `max_ns` are exact, or null if the source did not give them.
//!
//! ## Read it like this
//! There is one edge more than there are counts. `lost` is for the whole input: requests that are
//! in none of its histograms. Histograms of Q2D, D2C and Q2C count the same requests.

use std::io::{self, Write};

use iowhy_model::{Distribution, Edges, Listing, NameTable, Recording, Report, distributions};
use serde_json::Value;

use crate::objects::{self, device, inputs, maybe, object};
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "hist-json",
    summary: "latency histograms as one JSON object (iowhy.hist/1)",
    manual: iowhy_model::manual!("hist_json.rs"),
    write,
};

/// Written one by one: a capture has hundreds of thousands of them, and a tree of values for each
/// would take ten times the memory of all the rest.
fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let recording = &report.recording;
    write!(out, "{{\"schema\":\"iowhy.hist/1\",\"inputs\":{}", inputs(recording))?;
    let left_out = Value::from(crate::sources::left_out(recording, &style.filter));
    write!(out, ",\"left_out\":{left_out},\"histograms\":[")?;
    let names = NameTable::of(recording);
    let mut written = false;
    for (input, listing) in recording.listings.iter().enumerate() {
        let folded = match style.verbose && listing.events.is_empty() {
            true => None,
            false => Some(distributions(listing, &style.filter, &Edges::standard())),
        };
        let passes = |known: &&Distribution| style.filter.distribution(known) == Some(true);
        let as_they_are = listing.histograms().filter(passes);
        let shown: Box<dyn Iterator<Item = &Distribution>> = match &folded {
            Some(folded) => Box::new(folded.iter()),
            None => Box::new(as_they_are),
        };
        for known in shown.filter(|known| style.stage.is_none_or(|stage| known.stage == stage)) {
            let comma = if std::mem::replace(&mut written, true) { "," } else { "" };
            let mut object = histogram(recording, listing, input, known);
            objects::add_names(&mut object, &names, recording, Some(known.device));
            write!(out, "{comma}{object}")?;
        }
    }
    writeln!(out, "]}}")
}

fn histogram(recording: &Recording, from: &Listing, input: usize, known: &Distribution) -> Value {
    let counted = &known.histogram;
    let edges = counted.edges().as_slice().iter();
    let edges = edges.map(|edge| if *edge == u64::MAX { Value::Null } else { (*edge).into() });
    object([
        ("device", device(recording, Some(known.device))),
        ("op", known.op.map(|op| op.name()).into()),
        ("stage", known.stage.name().into()),
        ("layer", known.layer.name().into()),
        ("input", input.into()),
        ("edges_ns", edges.collect()),
        ("counts", counted.counts().into()),
        ("sum_ns", maybe(counted.sum_ns)),
        ("min_ns", counted.min_ns.into()),
        ("max_ns", counted.max_ns.into()),
        ("count", counted.count().into()),
        ("lost", from.source.lost().into()),
        ("start_ns", known.start.map(|start| start.ns()).into()),
        ("length_ns", known.length.map(|length| length.ns()).into()),
        ("bytes", known.bytes.into()),
        ("label", known.label.map(|label| recording.text(label)).into()),
    ])
}
