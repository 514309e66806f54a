//! Records for PyLatencyMap: cumulative latency histograms over time.
//!
//! ## Shows
//! One record per time interval, from `<begin record>` to `<end record>`, with the counts since the
//! first one. The first record is empty, as the base for differences. An interval that was not
//! watched is between two records with the same counts.
//!
//! ## Units
//! Buckets in microseconds, or in milliseconds or nanoseconds if the source's buckets are powers of
//! two only in these. `datasource, bpf` and `dtrace` name a bucket by its lower bound, `oracle` by
//! its upper one. Timestamps in microseconds on the source's clock.
//!
//! ## Read it like this
//! A record contains one histogram: all devices and operations that match the filter are counted
//! together. Buckets finer than a power of two are merged, so a mean computed from them is an
//! estimate. Latencies below one unit are in the lowest bucket.

use std::io::{self, Write};

use iowhy_model::Report;

use crate::pylatencymap::NewRecords;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "pylatencymap-records",
    summary: "records for PyLatencyMap, with cumulative counts",
    manual: iowhy_model::manual!("pylatencymap_records.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    NewRecords::default().write(&report.recording, style, out)
}
