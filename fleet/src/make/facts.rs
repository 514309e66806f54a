//! Facts about a generated host and its disks, as in a daily export.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, StringArray, TimestampMicrosecondArray};

use super::disks::Disk;

/// Hosts of a rack.
const RACK: u32 = 20;

/// A row.
struct Fact<'a> {
    device: Option<&'a str>,
    kind: &'a str,
    key: &'a str,
    value: String,
    bytes: Option<f64>,
}

/// The columns of the table.
pub fn columns(host: u32, disks: &[Disk]) -> Vec<ArrayRef> {
    let kernel = if host.is_multiple_of(3) { "6.12.9" } else { "6.12.17" };
    let of_host = |kind, key, value| Fact { device: None, kind, key, value, bytes: None };
    let mut rows = vec![
        of_host("fact", "kernel", kernel.to_string()),
        of_host("label", "rack", format!("r{:03}", host / RACK)),
    ];
    for disk in disks {
        let device = Some(disk.device.as_str());
        let reported =
            [("model", disk.model.name), ("firmware", disk.firmware), ("class", disk.model.class)];
        rows.extend(reported.map(|(key, value)| Fact {
            device,
            kind: "fact",
            key,
            value: value.to_string(),
            bytes: None,
        }));
        let (value, bytes) = (disk.model.size.to_string(), Some(disk.model.size as f64));
        rows.push(Fact { device, kind: "fact", key: "size", value, bytes });
    }
    rows.sort_by(|a, b| (a.device, a.kind, a.key).cmp(&(b.device, b.kind, b.key)));
    let none = vec![None::<i64>; rows.len()];
    vec![
        Arc::new(TimestampMicrosecondArray::from(none).with_timezone("UTC")),
        Arc::new(rows.iter().map(|row| row.device).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| Some(row.kind)).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| Some(row.key)).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| Some(row.value.as_str())).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| row.bytes).collect::<Float64Array>()),
        Arc::new(rows.iter().map(|row| row.bytes.map(|_| "B")).collect::<StringArray>()),
    ]
}
