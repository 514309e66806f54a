//! RAID controllers by storcli or perccli in JSON: volumes, drives, their states and errors.
//!
//! ## Reads
//! The document of `storcli ... J`, one or several controllers, also truncated. Its tables and
//! labels are those of the printed form, and so are the facts: `array.state`, `array.write_cache`,
//! `member.state` where a drive is not online, `member.errors.media`, `member.errors.other`,
//! `member.errors.predictive`, `smart.passed`, `device.model`, `device.medium`, `device.celsius`,
//! `device.link_speed`, `device.max_link_speed`, `controller.battery`, `array.percent`.
//!
//! ## How to capture
//! `storcli /c0/eall/sall show all J`, `storcli /call show J`, `perccli /c0 show J`, `storcli
//! /c0/vall show J`.
//!
//! ## Versions
//! storcli 1 to 7, perccli 7.
//!
//! ## Caveats
//! `Other Error Count` counts retries and pulled plugs too. Drives are named by controller,
//! enclosure and slot, `c0/e32/s4`, as the printed form names them, and volumes `c0/v1`: for the
//! `/dev/sd` name see the volume's name or `lsblk`. A volume whose column `Cache` ends in `WB`
//! writes back only while its battery is charged.
//!
//! ## Not in this output
//! Latencies.

use serde_json::{Map, Value};

use crate::describe::document::Content;
use crate::describe::labels::LabelsReader;
use crate::describe::raid::{RAID, begins_part};
use crate::program::*;
use crate::text::document::plain;

pub(super) const FORMAT: Format =
    Format::document::<StorcliJson>("RAID controllers: storcli and perccli in JSON (J)", Level::E);

/// Columns of the printed tables that become facts, in their order.
const TABLES: [&[&str]; 4] = [
    &["EID:Slt", "DID", "State", "Intf", "Med"],
    &["DG/VD", "TYPE", "State", "Cache"],
    &["Drive-ID", "Progress%", "Status"],
    &["Model", "State"],
];

/// Reads what the document says as if it were printed.
struct StorcliJson {
    printed: LabelsReader,
}

impl Default for StorcliJson {
    fn default() -> StorcliJson {
        StorcliJson { printed: RAID.reader() }
    }
}

impl Content for StorcliJson {
    const KEYS: &[&str] = &["\"Command Status\""];
    const LIST: Option<&str> = Some("\"Controllers\"");

    fn element(&mut self, controller: &Value, sink: &mut dyn Sink) -> Result<(), &'static str> {
        let status = controller.get("Command Status").and_then(Value::as_object);
        if let Some(number) = status.and_then(|status| status.get("Controller")).and_then(plain) {
            self.printed.line(&format!("Controller = {number}"), sink);
        }
        if let Some(data) = controller.get("Response Data") {
            self.part("", data, sink);
        }
        Ok(())
    }
}

impl StorcliJson {
    /// A value as the lines of the printed form: its heading, its labels, then its parts.
    fn part(&mut self, name: &str, value: &Value, sink: &mut dyn Sink) {
        if !name.is_empty() {
            begins_part(&mut self.printed.report);
            self.printed.line(&format!("{name} :"), sink);
        }
        match value {
            Value::Object(fields) => {
                for (label, value) in fields {
                    if let Some(value) = plain(value) {
                        self.printed.line(&format!("{label} = {value}"), sink);
                    }
                }
                for (label, value) in fields {
                    if value.is_object() || value.is_array() {
                        self.part(label, value, sink);
                    }
                }
            }
            Value::Array(rows) => {
                for row in rows {
                    match row.as_object().and_then(table_row) {
                        Some((heading, row)) => {
                            self.printed.line(&heading, sink);
                            self.printed.line(&row, sink);
                        }
                        None if row.is_object() => self.part("", row, sink),
                        None => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// A row of one of the tables, below its heading; a column that is missing, or a value with blanks,
/// keeps its place.
fn table_row(row: &Map<String, Value>) -> Option<(String, String)> {
    // The topology repeats drives and volumes by their position in the arrays.
    if row.contains_key("Arr") {
        return None;
    }
    let is_of = |columns: &&&[&str]| columns.iter().take(2).all(|column| row.contains_key(*column));
    let columns = TABLES.iter().find(is_of)?;
    let cell = |column: &&str| {
        let text = row.get(*column).and_then(plain).unwrap_or_default();
        let text = text.split_whitespace().collect::<Vec<_>>().join("_");
        if text.is_empty() { "-".to_string() } else { text }
    };
    Some((columns.join(" "), columns.iter().map(cell).collect::<Vec<_>>().join(" ")))
}
