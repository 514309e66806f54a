//! Records that PyLatencyMap reads: cumulative latency histograms over time.
//!
//! ## Shows
//! One record per stretch of time, from `<begin record>` to `<end record>`, with the counts since
//! the first one. The first record counts nothing: it is where the differences begin. A stretch
//! that was not watched lies between two records with the same counts.
//!
//! ## Units
//! Buckets in microseconds, or in milliseconds or nanoseconds where only these are powers of two
//! of the source's own. `datasource, bpf` and `dtrace` name a bucket by its lower bound, `oracle`
//! by its upper one. Stamps in microseconds of the source's clock.
//!
//! ## Read it like this
//! A record carries one histogram: all devices and operations that pass the filter are counted
//! together. Buckets finer than a power of two are joined, so the mean is only estimated from
//! them. What took less than one unit stands in the lowest bucket.

use std::io::{self, Write};

use iowhy_model::Report;

use crate::pylatencymap::NewRecords;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "pylatencymap-records",
    summary: "records that PyLatencyMap reads, counts cumulative",
    manual: iowhy_model::manual!("pylatencymap_records.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    NewRecords::default().write(&report.recording, style, out)
}
