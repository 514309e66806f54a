//! Individual I/Os, or else histograms, as a Parquet file.
//!
//! ## Shows
//! For DuckDB, pandas, Spark and other Parquet readers: one row per I/O, with every field of
//! `events-json`; without individual I/Os, one row per non-empty bucket of each histogram. Unknown
//! values are null. The key-value metadata of the file contains `iowhy.schema`, `iowhy.sources`
//! (sources, their quality and losses), `iowhy.units` and `iowhy.facts`, each as JSON.
//!
//! ## Units
//! Columns that end in `_ns` are nanoseconds: times on the clock of the row's source, or durations.
//! `sector` counts units of 512 bytes, `bytes` bytes. `depth` is the number of requests in flight
//! at issue, this one included. `error` is a positive errno. A bucket is `low_ns` to `high_ns`, the
//! latter excluded, null if it is open.
//!
//! ## Read it like this
//! `completed_ns - issued_ns` is D2C, `issued_ns - queued_ns` Q2D. `source` is the index in
//! `iowhy.sources`, from 0: rows of different sources do not share a clock. Check the losses there
//! before counting rows.

use std::io::{self, Write};

use iowhy_model::{Report, Sink};

use crate::{ParquetSink, Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "parquet",
    summary: "individual I/Os or histograms as a Parquet file",
    manual: iowhy_model::manual!("parquet.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let recording = &report.recording;
    let mut sink = ParquetSink::new(out);
    // The same names in the same order have the same numbers there.
    for device in recording.devices() {
        sink.device(&device.name);
    }
    for name in recording.names() {
        sink.name(name);
    }
    sink.only(style.filter.clone());
    for listing in &recording.listings {
        let mut source = listing.source.clone();
        source.records = 0;
        sink.begin(source);
        listing.events.iter().for_each(|event| sink.event(*event));
        listing.histograms().for_each(|one| sink.distribution(one.clone()));
        listing.facts.iter().for_each(|fact| sink.fact(fact.clone()));
        sink.end();
    }
    sink.finish().map(drop)
}
