//! bpftrace's JSON (`bpftrace -f json`): histograms of latency maps, with printed times.
//!
//! ## Reads
//! The lines of type `hist` and `lhist`, one JSON document each: every key of a map whose name has
//! a unit of time becomes a distribution. Lines of type `time` set the time; `lost_events` are
//! counted as lost; other types are ignored.
//!
//! ## How to capture
//! `bpftrace -f json biolatency.bt`, and any script whose histogram has a unit in its name.
//!
//! ## Versions
//! Read with output of 0.17. Device numbers are keys in the kernel's form, `7340032` for 7:0.
//!
//! ## Caveats
//! `max` is inclusive: `"min": 256, "max": 511` counts latencies from 256 up to, not
//! including, 512. A row without `max` is open, one without `min` is below the others. Buckets are
//! whole units. Warnings go to the same stream in some versions and are ignored. A map without a
//! unit of time, such as `@size`, is skipped, with a note. `print(@usecs)` at an interval gives
//! counts since the map was last cleared: as with the plain output iowhy assumes that the script
//! cleared it.
//!
//! ## Not in this output
//! The time, unless the script prints it as `%H:%M:%S` before its maps. Whether latency starts at
//! the issue or in the queue: issue is assumed.

use serde_json::{Map, Value};

use crate::histogram::bpftrace_maps::{MapRow, NO_UNIT, emit, unit_of};
use crate::histogram::buckets::COUNT_LIMIT;
use crate::histogram::subject::Subject;
use crate::program::*;
use crate::text::wall_time::Moments;

pub(super) const FORMAT: Format = Format::by_line::<BpftraceJson>(
    "bpftrace -f json, latency histograms of maps",
    Level::B,
    &["{\"type\""],
    |line| typed(line).is_some(),
);

/// Types of lines that bpftrace prints ahead of or between its maps (src/output.cpp).
const TYPES: [&str; 9] =
    ["attached_probes", "hist", "lhist", "lost_events", "map", "printf", "stats", "time", "value"];

/// `{"type": "hist", "data": ...}`: the type and the data.
fn typed(line: &str) -> Option<(String, Value)> {
    let line = line.trim();
    if !line.starts_with("{\"type\"") {
        return None;
    }
    let Ok(Value::Object(mut whole)) = serde_json::from_str(line) else { return None };
    let (kind, value) = (whole.remove("type")?, whole.remove("data")?);
    let kind = kind.as_str().filter(|kind| TYPES.contains(kind))?.to_string();
    Some((kind, value))
}

#[derive(Default)]
struct BpftraceJson {
    moments: Moments,
    /// What the script printed of itself.
    subject: Subject,
}

impl Reader for BpftraceJson {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some((kind, value)) = typed(line) else {
            let is_cut = line.trim_start().starts_with("{\"type\"");
            return Step::skipped_if(is_cut, "the line is not complete JSON of bpftrace");
        };
        match (kind.as_str(), value) {
            ("hist" | "lhist", Value::Object(maps)) => self.maps(&maps, sink),
            ("time", Value::String(text)) => {
                if let Some(moment) = WallTime::read(&text) {
                    self.moments.at(moment);
                }
                Step::Consumed
            }
            ("printf", Value::String(text)) => {
                self.subject.note_above(&text);
                Step::Consumed
            }
            ("lost_events", value) => {
                let events = value.get("events").and_then(Value::as_u64).unwrap_or(0);
                sink.lost("events bpftrace lost", events.min(COUNT_LIMIT));
                Step::Consumed
            }
            _ => Step::Consumed,
        }
    }
}

impl BpftraceJson {
    fn maps(&self, maps: &Map<String, Value>, sink: &mut dyn Sink) -> Step {
        if let Some(reason) = self.subject.refusal() {
            return Step::Malformed(reason);
        }
        let mut step = Step::Consumed;
        for (name, value) in maps {
            let Some(unit) = unit_of(name.trim_start_matches('@')) else {
                step = Step::Malformed(NO_UNIT.to_string());
                continue;
            };
            let keyed: Vec<(&str, &Value)> = match value {
                Value::Object(keys) => {
                    keys.iter().map(|(key, rows)| (key.as_str(), rows)).collect()
                }
                rows => vec![("", rows)],
            };
            for (key, rows) in keyed {
                let Some(rows) = rows
                    .as_array()
                    .and_then(|rows| rows.iter().map(row).collect::<Option<Vec<MapRow>>>())
                else {
                    step = Step::skipped("the rows of a map are damaged");
                    continue;
                };
                let keys: Vec<&str> = key.split(',').collect();
                emit(&keys, unit, &rows, self.span(), self.subject, sink);
            }
        }
        step
    }

    /// From the time printed before to the one printed last.
    fn span(&self) -> Option<(Time, Nanos)> {
        let (start, length) = self.moments.span()?;
        Some((Time::from_seconds(start), Nanos::from_seconds(length)))
    }
}

/// `{"min": 256, "max": 511, "count": 2}`; negative ends lie below zero.
fn row(value: &Value) -> Option<MapRow> {
    let count = value.get("count")?.as_u64().filter(|count| *count <= COUNT_LIMIT)?;
    let end = |key| value.get(key).map(|end| end.as_i64().ok_or(()));
    let (low, high) = (end("min").transpose().ok()?, end("max").transpose().ok()?);
    let low = low.and_then(|low| u64::try_from(low).ok());
    let high = high.map(|high| u64::try_from(high).map_or(0, |high| high + 1));
    Some(MapRow { low, high, count })
}
