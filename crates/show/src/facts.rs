//! A fact as JSON: its key, its value with type and unit, its time, its origin.

use iowhy_model::{Fact, FactValue};
use serde_json::{Value, json};

/// One fact.
pub(crate) fn object(fact: &Fact, device: Option<&str>) -> Value {
    let (kind, value) = typed(&fact.value);
    json!({
        "device": device,
        "key": fact.key.name(),
        "type": kind,
        "value": value,
        "at_ns": fact.at.map(|at| at.ns()),
        "read_from": fact.read_from,
    })
}

/// The name of the value's type, with its unit, and the value.
fn typed(value: &FactValue) -> (&'static str, Value) {
    match value {
        FactValue::Text(text) => ("text", text.as_str().into()),
        FactValue::Words(words) => ("words", words.as_slice().into()),
        FactValue::Flag(is) => ("flag", (*is).into()),
        FactValue::Count(count) => ("count", (*count).into()),
        FactValue::Number(value) => ("number", (*value).into()),
        FactValue::Bytes(bytes) => ("bytes", (*bytes).into()),
        FactValue::BytesPerSecond(value) => ("bytes_per_s", (*value).into()),
        FactValue::BitsPerSecond(value) => ("bits_per_s", (*value).into()),
        FactValue::PerSecond(value) => ("per_s", (*value).into()),
        FactValue::Duration(length) => ("duration_ns", length.ns().into()),
        FactValue::Celsius(value) => ("celsius", (*value).into()),
        FactValue::Share(value) => ("share", (*value).into()),
        FactValue::Date(value) => ("unix_s", (*value).into()),
        FactValue::OfProcess(of) => ("text", of.to_string().into()),
        FactValue::Message(message) => {
            ("message", json!({ "time": message.stamp, "text": message.text }))
        }
    }
}
