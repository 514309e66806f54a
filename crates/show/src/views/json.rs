//! The whole report as one JSON object, schema `iowhy.report/1`.
//!
//! ## Shows
//! What `summary` draws, for programs: the inputs with their losses, and the findings, best
//! first, each with verdict, device, confidence, evidence, refutation, next step and forecast.
//! `docs/JSON.md` describes every field.
//!
//! ## Units
//! A value stands beside its unit (`ms`, `share`, `1/s`); times whose key ends in `_ms` are in
//! milliseconds, those in `_ns` in nanoseconds. `confidence` and `explained_share` are 0 to 1.
//! What is not known is null.
//!
//! ## Read it like this
//! `findings[0].verdict` is the answer, `findings[0].blame` who is to blame. An empty list means
//! that nothing was concluded. Keys may be added within a schema version; none is renamed or
//! changes its meaning.

use std::io::{self, Write};

use iowhy_model::{Evidence, Finding, Forecast, Recording, Report};
use serde_json::Value;

use crate::objects::{bound, device, inputs, number, object};
use crate::words::blame;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "json",
    summary: "the verdict as one JSON object (iowhy.report/1)",
    manual: include_str!("json.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let recording = &report.recording;
    let findings = report
        .findings
        .iter()
        .filter(|finding| finding.subject.device.is_none_or(|id| style.filter.device(id)))
        .map(|known| finding(recording, known));
    let prose = recording.prose.iter().map(|(input, lines)| {
        object([("input", input.clone().into()), ("lines", (*lines).into())])
    });
    let whole = object([
        ("schema", "iowhy.report/1".into()),
        ("inputs", inputs(recording)),
        ("prose_lines", prose.collect()),
        ("findings", findings.collect()),
    ]);
    serde_json::to_writer_pretty(&mut *out, &whole).map_err(io::Error::from)?;
    writeln!(out)
}

fn finding(recording: &Recording, finding: &Finding) -> Value {
    let listings = finding.subject.listings.iter().copied();
    object([
        ("verdict", finding.verdict.into()),
        ("blame", blame(finding.verdict).into()),
        ("device", device(recording, finding.subject.device)),
        ("group", finding.subject.group.clone().into()),
        ("inputs", listings.collect()),
        ("confidence", number(finding.confidence)),
        ("explained_share", number(finding.explained_share)),
        ("sentence", finding.sentence.clone().into()),
        ("evidence", finding.evidence.iter().map(evidence).collect()),
        ("refuted_by", finding.refuted_by.clone().into()),
        ("next_step", finding.next_step.clone().into()),
        ("forecast", finding.forecast.as_ref().map_or(Value::Null, forecast)),
        ("explained_by", finding.explained_by.into()),
    ])
}

fn evidence(one: &Evidence) -> Value {
    object([
        ("quantity", one.quantity.clone().into()),
        ("value", number(one.value)),
        ("unit", one.unit.symbol().into()),
        ("bound", bound(one.bound)),
        ("n", one.n.into()),
        ("how", one.how.word().into()),
        ("source", one.source.clone().into()),
    ])
}

fn forecast(forecast: &Forecast) -> Value {
    object([
        ("now_mean_ms", number(forecast.now_mean.ms())),
        ("mean_ms", number(forecast.mean.ms())),
        ("mean_from_ms", forecast.range.map_or(Value::Null, |(from, _)| number(from.ms()))),
        ("mean_to_ms", forecast.range.map_or(Value::Null, |(_, to)| number(to.ms()))),
        ("p99_ms", forecast.p99.map_or(Value::Null, |p99| number(p99.ms()))),
        ("assuming", forecast.assuming.clone().into()),
    ])
}
