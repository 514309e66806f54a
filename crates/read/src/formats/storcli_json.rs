//! RAID controllers by storcli or perccli in JSON: volumes, drives, their states and errors.
//!
//! ## Reads
//! The document of `storcli ... J`, one or several controllers, also cut. Its tables and labels are those of the
//! printed form, and so are the facts: `array.state`, `array.write_cache`, `member.state` where a drive is not online,
//! `member.errors.media`, `member.errors.other`, `member.errors.predictive`, `smart.passed`, `device.model`,
//! `device.medium`, `device.celsius`, `device.link_speed`, `device.max_link_speed`, `controller.battery`, `array.percent`.
//!
//! ## Where it comes from
//! `storcli /c0/eall/sall show all J`, `storcli /call show J`, `perccli /c0 show J`, `storcli /c0/vall show J`.
//!
//! ## Versions
//! storcli 1 to 7, perccli 7.
//!
//! ## Traps
//! `Other Error Count` counts retries and pulled plugs too. Drives are named by controller, enclosure and slot,
//! `c0/e32/s4`, as the printed form names them, and volumes `c0/v1`: which `/dev/sd` that is, only the volume's name or
//! `lsblk` can tell. A volume whose column `Cache` ends in `WB` writes back only while its battery is charged.
//!
//! ## Cannot know
//! Latencies.

use iowhy_model::{Level, Sink};
use serde_json::{Map, Value};

use crate::drive::raid_lines::Controller;
use crate::histogram::powers::note;
use crate::text::document::{Document, Piece, sniff_document};
use crate::{Format, Reader, Step};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "storcli-json",
    summary: "RAID controllers: storcli and perccli in JSON (J)",
    manual: iowhy_model::manual!("storcli_json.rs"),
    level: Level::E,
    sniff: |lines| sniff_document(lines, &["\"Command Status\""]),
    reader: || Box::new(StorcliJson::default()),
};

/// Columns of the printed tables that become facts, in their order.
const TABLES: [&[&str]; 4] = [
    &["EID:Slt", "DID", "State", "Intf", "Med"],
    &["DG/VD", "TYPE", "State", "Cache"],
    &["Drive-ID", "Progress%", "Status"],
    &["Model", "State"],
];

struct StorcliJson {
    document: Document,
    printed: Controller,
}

impl Default for StorcliJson {
    fn default() -> Self {
        let document = Document::with_list("\"Controllers\"");
        StorcliJson { document, printed: Controller::default() }
    }
}

impl Reader for StorcliJson {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        self.printed.at_next_line(sink);
        let (pieces, step) = self.document.step(line);
        for piece in pieces {
            if let Piece::Element(controller) = piece {
                self.controller(&controller, sink);
            }
        }
        step
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.document.is_over() {
            return;
        }
        if let Some(controller) = self.document.cut_element() {
            self.controller(&controller, sink);
            sink.note(note("the document is cut: what is complete of its last controller is read"));
        } else if self.document.is_torn() {
            sink.skip(note("the document is cut"));
        }
    }
}

impl StorcliJson {
    fn controller(&mut self, controller: &Value, sink: &mut dyn Sink) {
        let status = controller.get("Command Status").and_then(Value::as_object);
        if let Some(number) = status.and_then(|status| status.get("Controller")).and_then(word) {
            self.printed.says(&format!("Controller = {number}"), sink);
        }
        if let Some(data) = controller.get("Response Data") {
            self.part("", data, sink);
        }
    }

    /// A value as the lines of the printed form: its heading, its labels, then its parts.
    fn part(&mut self, name: &str, value: &Value, sink: &mut dyn Sink) {
        if !name.is_empty() {
            self.printed.begins_part();
            self.printed.says(&format!("{name} :"), sink);
        }
        match value {
            Value::Object(fields) => {
                for (label, value) in fields {
                    if let Some(value) = word(value) {
                        self.printed.says(&format!("{label} = {value}"), sink);
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
                            self.printed.says(&heading, sink);
                            self.printed.says(&row, sink);
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

/// A row of one of the tables, below its heading; a column that is missing, or a value with blanks, keeps its place.
fn table_row(row: &Map<String, Value>) -> Option<(String, String)> {
    // The topology repeats drives and volumes by their place in the arrays.
    if row.contains_key("Arr") {
        return None;
    }
    let is_of = |columns: &&&[&str]| columns.iter().take(2).all(|column| row.contains_key(*column));
    let columns = TABLES.iter().find(is_of)?;
    let cell = |column: &&str| {
        let text = row.get(*column).and_then(word).unwrap_or_default();
        let text = text.split_whitespace().collect::<Vec<_>>().join("_");
        if text.is_empty() { "-".to_string() } else { text }
    };
    Some((columns.join(" "), columns.iter().map(cell).collect::<Vec<_>>().join(" ")))
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded as read;

    fn facts(text: &str) -> Vec<String> {
        let recording = read(text);
        let facts = recording.listings.iter().flat_map(|listing| &listing.facts);
        let name = |device: Option<iowhy_model::DeviceId>| {
            device.map_or(String::new(), |device| recording.device_of(device).name.clone())
        };
        let mut all: Vec<String> = facts
            .map(|fact| format!("{} {} {}", name(fact.device), fact.key, fact.value))
            .collect();
        all.sort();
        all
    }

    #[test]
    fn the_printed_form_and_its_json_are_the_same() {
        let printed = "Controller = 0\n\
            EID:Slt DID State DG Size Intf Med SED PI SeSz Model Sp\n\
            32:4      7 UBad   - 3.637 TB SATA HDD N   N  512B ST4000 U\n\
            Drive /c0/e32/s4 State :\n\
            Shield Counter = 0\n\
            Media Error Count = 12\n\
            Other Error Count = 3\n\
            Predictive Failure Count = 1\n\
            S.M.A.R.T alert flagged by drive = Yes\n";
        let json = "{\n\"Controllers\":[\n{\n\"Command Status\" : {\"Controller\" : 0, \"Status\" : \"Success\"},\n\
            \"Response Data\" : {\n\"Drive /c0/e32/s4\" : [{\"EID:Slt\" : \"32:4\", \"DID\" : 7, \"State\" : \"UBad\", \
            \"DG\" : \"-\", \"Size\" : \"3.637 TB\", \"Intf\" : \"SATA\", \"Med\" : \"HDD\", \"Model\" : \"ST4000\"}],\n\
            \"Drive /c0/e32/s4 - Detailed Information\" : {\n\"Drive /c0/e32/s4 State\" : {\n\"Shield Counter\" : 0,\n\
            \"Media Error Count\" : 12,\n\"Other Error Count\" : 3,\n\"Predictive Failure Count\" : 1,\n\
            \"S.M.A.R.T alert flagged by drive\" : \"Yes\"\n}}}\n}\n]\n}\n";
        assert_eq!(facts(json), facts(printed));
        assert_eq!(facts(json).len(), 7, "{:?}", facts(json));
    }

    #[test]
    fn volumes_batteries_and_rebuilds_of_a_controller() {
        let json = "{\"Controllers\": [{\"Command Status\": {\"Controller\": 0},\n\
            \"Response Data\": {\"VD LIST\": [{\"DG/VD\": \"0/1\", \"TYPE\": \"RAID1\", \"State\": \"Dgrd\", \
            \"Cache\": \"NRWTD\", \"Size\": \"1.7 TB\"}], \"Cachevault_Info\": [{\"Model\": \"CVPM 02\", \
            \"State\": \"Failed\", \"Temp\": \"29C\"}]}},\n\
            {\"Command Status\": {\"Controller\": 1}, \"Response Data\": [{\"Drive-ID\": \"/c1/e8/s3\", \
            \"Progress%\": 12, \"Status\": \"In progress\"}]}]}\n";
        let found = facts(json);
        for expected in [
            "c0 controller.battery failed",
            "c0/v1 array.state degraded",
            "c0/v1 array.write_cache write-through",
            "c1/e8/s3 member.state rebuilding",
        ] {
            assert!(found.iter().any(|fact| fact == expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn labels_of_a_volume_are_not_of_the_drive_before_it() {
        let json = "{\"Controllers\": [{\"Command Status\": {\"Controller\": 0}, \"Response Data\": {\n\
            \"Drive /c0/e8/s3 State\": {\"Media Error Count\": 2},\n\
            \"Other part\": {\"Media Error Count\": 9}}}]}\n";
        let of_drive = |fact: &&String| fact.starts_with("c0/e8/s3 ");
        let found = facts(json);
        assert_eq!(found.iter().filter(of_drive).count(), 1, "{found:?}");
    }
}
