//! The cells of the heat maps as one JSON object, schema `iowhy.map/1`.
//!
//! ## Shows
//! The data of `heatmap` as JSON: per device the edges of the rows, and for each time interval the
//! number of requests in each row and the time they waited. `docs/JSON.md` describes every field.
//!
//! ## Units
//! Times in nanoseconds; counts are absolute: divide by the length of the interval for rates.
//!
//! ## Read it like this
//! `ios` and `waited_ns` have one number per row, the lowest row first. An interval that was not
//! watched is not in the list; one that was watched but had no requests has zeros.

use std::io::{self, Write};

use iowhy_model::Report;
use serde_json::Value;

use crate::cells::{Column, Map, maps};
use crate::map_choice::{MapChoice, TEXTS};
use crate::objects::{inputs, number, object};
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "heatmap-json",
    summary: "the cells of the heat maps as one JSON object (iowhy.map/1)",
    manual: iowhy_model::manual!("heatmap_json.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let maps: Vec<Value> = maps(report, style, TEXTS).iter().map(map).collect();
    let whole = object([
        ("schema", "iowhy.map/1".into()),
        ("inputs", inputs(&report.recording)),
        ("left_out", crate::sources::left_out(&report.recording, &style.filter).into()),
        ("maps_left_out", MapChoice::of(report, style, TEXTS).left().into()),
        ("maps", maps.into()),
    ]);
    crate::objects::line(&whole, out)
}

fn map(map: &Map) -> Value {
    let edges = map.edges.as_slice().iter();
    let edges = edges.map(|edge| if *edge == u64::MAX { Value::Null } else { (*edge).into() });
    object([
        ("device", map.device.clone().into()),
        ("stage", map.stage.name().into()),
        ("input", map.input.into()),
        ("edges_ns", edges.collect()),
        ("columns", map.columns.iter().map(column).collect()),
    ])
}

fn column(column: &Column) -> Value {
    object([
        ("start_ns", column.start.ns().into()),
        ("length_ns", column.length.ns().into()),
        ("ios", column.ios.clone().into()),
        ("waited_ns", column.waited_ns.iter().map(|waited| number(*waited)).collect()),
        ("exact_sum", column.exact.into()),
        ("p50_ns", quantile(column, 0.5)),
        ("p99_ns", quantile(column, 0.99)),
    ])
}

/// The edges around a quantile; null if the column cannot carry it.
fn quantile(column: &Column, q: f64) -> Value {
    let known = column.histogram.quantile(q);
    known.map_or(Value::Null, |known| Value::from(vec![known.low_ns, known.high_ns]))
}
