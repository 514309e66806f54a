//! The cells of the heat maps as CSV, for spreadsheets and plots.
//!
//! ## Shows
//! A heading, then a line for each non-empty cell, per device: time interval, latency range, number
//! of requests and the time they waited. An interval that was watched but had no requests is one
//! line without latencies; one that was not watched has no line.
//!
//! ## Units
//! `start_s` and `length_s` in seconds of the source's clock, `low_ns` (inclusive) and `high_ns`
//! (exclusive, empty if open) in nanoseconds, `ios_per_s` per second, `waited_s_per_s` in seconds
//! waited per second.
//!
//! ## Read it like this
//! Waits are computed from the middle of a row and scaled to the exact sum of the column if the
//! source has one: then `exact_sum` is 1. Names that contain commas or quotes are quoted.

use std::io::{self, Write};

use iowhy_model::Report;

use crate::cells::maps;
use crate::csv::quoted;
use crate::map_choice::TEXTS;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "heatmap-csv",
    summary: "the cells of the heat maps as CSV",
    manual: iowhy_model::manual!("heatmap_csv.rs"),
    write,
};

const HEADING: &str =
    "device,stage,start_s,length_s,low_ns,high_ns,ios,ios_per_s,waited_s_per_s,exact_sum";

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADING}")?;
    for map in maps(report, style, TEXTS) {
        let (device, stage) = (quoted(&map.device), map.stage.name());
        for column in &map.columns {
            let (start, length) = (column.start.seconds(), column.length.seconds());
            let exact = u8::from(column.exact);
            if column.ios.iter().all(|ios| *ios == 0) {
                writeln!(out, "{device},{stage},{start},{length},,,0,0,0,{exact}")?;
            }
            for (row, ios) in column.ios.iter().enumerate().filter(|(_, ios)| **ios > 0) {
                let (low, high) = (map.edges.low(row), map.edges.high(row));
                let high = if high == u64::MAX { String::new() } else { high.to_string() };
                let waited = column.waited_ns.get(row).copied().unwrap_or(0.0) / 1e9 / length;
                let rate = *ios as f64 / length;
                writeln!(
                    out,
                    "{device},{stage},{start},{length},{low},{high},{ios},{rate},{waited},{exact}"
                )?;
            }
        }
    }
    Ok(())
}
