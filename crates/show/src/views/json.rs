//! The whole report as one JSON object, schema `iowhy.report/2`.
//!
//! ## Shows
//! The data of `summary` as JSON: the inputs with their losses, and the findings, best first, each
//! with verdict, device, confidence, evidence, refutation, next step and forecast. `docs/JSON.md`
//! describes every field.
//!
//! ## Units
//! Each value has its unit (`ms`, `share`, `1/s`); times whose key ends in `_ms` are in
//! milliseconds, those in `_ns` in nanoseconds. `confidence` and `explained_share` are 0 to 1.
//! Unknown values are null.
//!
//! ## Read it like this
//! `findings[0].verdict` is the answer, `findings[0].blame` the party to blame. An empty list means
//! that there is no conclusion. Keys may be added within a schema version; none is renamed or
//! changes its meaning.

use std::io::{self, Write};

use iowhy_model::Report;

use crate::objects::{findings, inputs, object};
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "json",
    summary: "the verdict as one JSON object (iowhy.report/2)",
    manual: iowhy_model::manual!("json.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let recording = &report.recording;
    let prose = recording.prose.iter().map(|(input, lines)| {
        object([("input", input.clone().into()), ("lines", (*lines).into())])
    });
    let whole = object([
        ("schema", "iowhy.report/2".into()),
        ("inputs", inputs(recording)),
        ("prose_lines", prose.collect()),
        ("findings", findings(report, style)),
    ]);
    serde_json::to_writer_pretty(&mut *out, &whole).map_err(io::Error::from)?;
    writeln!(out)
}
