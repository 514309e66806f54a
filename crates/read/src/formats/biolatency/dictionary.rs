//! What bcc's `biolatency -j` prints: a Python dictionary a line, one for each histogram.

use serde_json::Value;

/// One histogram of such a line.
pub(super) struct Dictionary {
    /// `2023-02-06 14:02:39`, when the interval ended.
    pub(super) stamp: String,
    /// `usecs` or `msecs`.
    pub(super) unit: String,
    /// First value, last value, count.
    pub(super) rows: Vec<(u64, u64, u64)>,
    /// What it is of: `disk`, `flags` or another word, and which one.
    pub(super) key: Option<(String, String)>,
}

/// Whether a line is such a dictionary, whole or not.
pub(super) fn is_one(line: &str) -> bool {
    line.trim_start().starts_with("{'ts': '") && line.contains("'val_type': '")
}

/// Reads a line that is one; `None` if it is damaged.
pub(super) fn read(line: &str) -> Option<Dictionary> {
    // No name of a disk or flag contains a quote, so the quotes of JSON can stand for Python's.
    let json = line.replace(" b'", " '").replace('\'', "\"");
    let whole: Value = serde_json::from_str(json.trim()).ok()?;
    let text = |key: &str| Some(whole.get(key)?.as_str()?.to_string());
    let row = |row: &Value| {
        let number = |key: &str| row.get(key)?.as_u64();
        Some((number("interval-start")?, number("interval-end")?, number("count")?))
    };
    let rows = whole.get("data")?.as_array()?.iter().map(row);
    let mut others = whole.as_object()?.iter();
    let key = others.find(|(key, _)| !["ts", "val_type", "data"].contains(&key.as_str()));
    Some(Dictionary {
        stamp: text("ts")?,
        unit: text("val_type")?,
        rows: rows.collect::<Option<_>>()?,
        key: key.map(|(key, value)| (key.clone(), value.as_str().unwrap_or("?").to_string())),
    })
}
