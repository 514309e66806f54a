//! The JSON objects that several views share. A number that is none becomes null.

use std::io::{self, Write};

use iowhy_model::{
    Bound, DeviceId, Evidence, Finding, Forecast, Impact, Listing, Nanos, Observation, Recording,
    Report, Requester, Severity,
};
use serde_json::{Map, Value, json};

use crate::Style;

/// An object whose keys stay in the order they are given.
pub fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let pairs = fields.into_iter().map(|(key, value)| (key.to_string(), value));
    Value::Object(pairs.collect::<Map<String, Value>>())
}

/// A number; null if it is not finite.
pub fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A number or null.
pub fn maybe(value: Option<f64>) -> Value {
    value.map_or(Value::Null, number)
}

/// The name of a device; null if there is none.
pub fn device(recording: &Recording, id: Option<DeviceId>) -> Value {
    let device = id.and_then(|id| recording.devices().get(id.index()));
    device.map_or(Value::Null, |device| Value::String(device.name.clone()))
}

/// `{"above": x}`, `{"below": x}`, `{"between": [a, b]}` or null.
pub fn bound(bound: Option<Bound>) -> Value {
    match bound {
        None => Value::Null,
        Some(Bound::Above(limit)) => object([("above", number(limit))]),
        Some(Bound::Below(limit)) => object([("below", number(limit))]),
        Some(Bound::Between(low, high)) => {
            object([("between", Value::Array(vec![number(low), number(high)]))])
        }
    }
}

/// Who spoke, and what was lost.
pub fn source(listing: &Listing) -> Value {
    let source = &listing.source;
    let losses = source
        .losses
        .iter()
        .map(|loss| object([("what", loss.what.clone().into()), ("count", loss.count.into())]));
    let notes = source.notes.iter().map(|note| {
        let line = if note.line > 0 { note.line.into() } else { Value::Null };
        object([
            ("line", line),
            ("text", note.text.clone().into()),
            ("reason", note.reason.clone().into()),
        ])
    });
    object([
        ("format", source.format.clone().into()),
        ("input", source.input.clone().into()),
        ("lines", source.lines.map_or(Value::Null, |(first, last)| json!([first, last]))),
        ("level", source.level.letter().to_string().into()),
        ("level_words", source.level.words().into()),
        ("sampling", source.sampling.word().into()),
        ("sees_queue", source.sees_queue.into()),
        ("resolution_ns", source.resolution.map(|step| step.ns()).into()),
        ("watched_ns", source.watched.map(|length| length.ns()).into()),
        ("host", source.host.clone().into()),
        ("records", source.records.into()),
        ("folded", listing.folded.into()),
        ("skipped", source.skipped.into()),
        ("lost", source.lost().into()),
        ("losses", losses.collect()),
        ("notes", notes.collect()),
    ])
}

/// All inputs of a recording, in order.
pub fn inputs(recording: &Recording) -> Value {
    recording.listings.iter().map(source).collect()
}

/// The source as a line of its own, in front of the lines that are its. Later stretches of one
/// watch have it only if something was lost since.
pub fn source_line(of: &Listing, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let source_of = &of.source;
    let silent =
        source_of.losses.is_empty() && source_of.notes.is_empty() && source_of.skipped == 0;
    if !style.heading && silent {
        return Ok(());
    }
    let mut fields = Map::new();
    fields.insert("schema".to_string(), "iowhy.source/1".into());
    if let Value::Object(rest) = source(of) {
        fields.extend(rest);
    }
    line(&Value::Object(fields), out)
}

/// One value on one line.
pub fn line(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    writeln!(out)
}

/// The findings about the devices that were asked for.
pub fn findings(report: &Report, style: &Style) -> Value {
    report
        .findings
        .iter()
        .filter(|finding| finding.subject.device.is_none_or(|id| style.filter.device(id)))
        .map(|known| finding(&report.recording, known))
        .collect()
}

fn finding(recording: &Recording, finding: &Finding) -> Value {
    let listings = finding.subject.listings.iter().copied();
    object([
        ("verdict", finding.verdict.name().into()),
        ("blame", finding.verdict.blames().name().into()),
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
        ("explained_by", finding.explained_by.map(|by| by.name()).into()),
        ("impact", finding.impact.as_ref().map_or(Value::Null, impact)),
        ("seen", finding.seen.iter().map(seen).collect()),
        ("requesters", finding.requesters.iter().map(requester).collect()),
    ])
}

/// What was seen, and what it would mean.
fn seen(one: &Observation) -> Value {
    object([
        ("evidence", evidence(&one.evidence)),
        ("would_mean", one.would_mean.clone().into()),
        ("verdict", one.verdict.map(|verdict| verdict.name()).into()),
    ])
}

/// Who waited, and for how much of the time.
fn requester(one: &Requester) -> Value {
    object([
        ("program", one.program.clone().into()),
        ("pid", one.pid.into()),
        ("cgroup", one.cgroup.clone().into()),
        ("file", one.file.clone().into()),
        ("share", number(one.share)),
    ])
}

/// What it costs; null where that is not known.
fn impact(known: &Impact) -> Value {
    let ms = |length: Option<Nanos>| length.map_or(Value::Null, |length| number(length.ms()));
    object([
        ("severity", known.severity().map(Severity::word).into()),
        ("waited_s_per_s", known.waited_per_s.map_or(Value::Null, number)),
        ("mean_ms", ms(known.mean)),
        ("longest_ms", ms(known.longest)),
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
        ("source", one.origin.to_string().into()),
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
