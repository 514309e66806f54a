//! A drive's own health record: `smartctl -j` and `nvme smart-log` in JSON.
//!
//! ## Reads
//! One JSON document. Everything becomes facts of the drive: `smart.passed`, `smart.model`,
//! `smart.firmware`, `smart.rpm`, `smart.hours`, `smart.at` (when, in seconds since 1970), `smart.celsius`
//! and the drive's own warning for it, the raw values of ATA attributes
//! by number (`smart.raw.5`, `smart.raw.197` ...), failed ones (`smart.failed.5`), errors logged
//! (`smart.errors`, `smart.self-test-errors`), grown defects of SCSI drives, the link's speed and
//! its limit, and the NVMe health log (`smart.nvme.media_errors`, `smart.nvme.percentage_used` ...).
//!
//! ## Where it comes from
//! `smartctl -j -a /dev/sda` (also `-x`), `nvme smart-log -o json /dev/nvme0`.
//!
//! ## Versions
//! smartmontools 7.0 and later. nvme-cli has names of its own (`avail_spare`, `percent_used`,
//! `thm_temp1_trans_count`); they are given by smartctl's.
//!
//! ## Traps
//! `passed` proves little: attribute 197, sectors waiting to be remapped, has no threshold. Raw
//! values above zero of 5, 187, 188, 197, 198 are reason to look closer (Backblaze, 67 814 drives,
//! 2016); growing ones are worse. 199 counts errors of the link, not of the platter. 1 and 7 of
//! Seagate drives are composites. Temperatures of nvme-cli are kelvin, and are given in Celsius.
//! `num_err_log_entries` alone is often harmless. `nvme smart-log` does not name its drive.
//!
//! ## Cannot know
//! How a value moved: two records of different days are needed. What a drive hides behind a RAID
//! controller, unless smartctl was told to look there.

use std::collections::BTreeMap;

use iowhy_model::{DeviceId, Fact, Level, Sink};
use serde_json::Value;

use crate::document::{Document, Piece, sniff_document};
use crate::powers::note;
use crate::{Format, Reader, Sniff, Step};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "smart",
    summary: "drive health: smartctl -j, nvme smart-log -o json",
    manual: include_str!("smart.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(Smart::default()),
};

/// Facts by their place in smartctl's document (`smartctl --json=g` lists places so).
const PLACES: [(&str, &str); 24] = [
    ("at", "/local_time/time_t"),
    ("passed", "/smart_status/passed"),
    ("model", "/model_name"),
    ("model", "/scsi_model_name"),
    ("firmware", "/firmware_version"),
    ("rpm", "/rotation_rate"),
    ("protocol", "/device/protocol"),
    ("exit-status", "/smartctl/exit_status"),
    ("hours", "/power_on_time/hours"),
    ("celsius", "/temperature/current"),
    ("celsius.warning", "/nvme_composite_temperature_threshold/warning"),
    ("link.now", "/interface_speed/current/string"),
    ("link.max", "/interface_speed/max/string"),
    ("errors", "/ata_smart_error_log/summary/count"),
    ("errors", "/ata_smart_error_log/extended/count"),
    ("self-test-errors", "/ata_smart_self_test_log/standard/error_count_total"),
    ("self-test-errors", "/ata_smart_self_test_log/extended/error_count_total"),
    ("pending-defects", "/ata_pending_defects_log/count"),
    ("scterc.read_ds", "/ata_sct_erc/read/deciseconds"),
    ("scterc.write_ds", "/ata_sct_erc/write/deciseconds"),
    ("grown-defects", "/scsi_grown_defect_list"),
    ("uncorrected.read", "/scsi_error_counter_log/read/total_uncorrected_errors"),
    ("uncorrected.write", "/scsi_error_counter_log/write/total_uncorrected_errors"),
    ("wear.percent", "/endurance_used/current_percent"),
];
/// The health log of nvme-cli by smartctl's names; a key that is not here keeps its own.
const NVME_CLI: [(&str, &str); 6] = [
    ("avail_spare", "available_spare"),
    ("spare_thresh", "available_spare_threshold"),
    ("percent_used", "percentage_used"),
    ("controller_busy_time", "controller_busy_time"),
    ("thm_temp1_trans_count", "thermal_temp1_transition_count"),
    ("thm_temp2_trans_count", "thermal_temp2_transition_count"),
];
/// 0 degrees Celsius in the whole kelvins that NVMe reports.
const KELVIN: i64 = 273;
/// Above this, a temperature is in kelvin.
const HOTTEST: i64 = 200;

fn sniff(lines: &[&str]) -> Sniff {
    sniff_document(lines, &["\"json_format_version\"", "\"smartctl\"", "\"critical_warning\""])
}

#[derive(Default)]
struct Smart {
    document: Document,
}

impl Reader for Smart {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let (pieces, step) = self.document.step(line);
        for piece in pieces {
            match piece {
                Piece::Whole(document) | Piece::Element(document) => record(&document, sink),
                Piece::Broken(_) => {}
            }
        }
        step
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.document.is_over() {
            return;
        }
        if let Some(document) = self.document.mended() {
            record(&document, sink);
        }
        sink.skip(note("the document is cut: what is complete was read"));
    }
}

fn record(document: &Value, sink: &mut dyn Sink) {
    let name = document.pointer("/device/name").and_then(Value::as_str);
    let name = name.map(|name| name.strip_prefix("/dev/").unwrap_or(name));
    let device = name.map(|name| sink.device(name));
    let mut state = |key: &str, value: String| fact(device, key, value, sink);
    let mut stated = "";
    for (key, place) in PLACES {
        if let Some(value) = document.pointer(place).and_then(word).filter(|_| key != stated) {
            state(key, value);
            stated = key;
        }
    }
    let table = document.pointer("/ata_smart_attributes/table").and_then(Value::as_array);
    for attribute in table.into_iter().flatten() {
        let Some(id) = attribute.get("id").and_then(Value::as_u64) else { continue };
        if let Some(raw) = attribute.pointer("/raw/value").and_then(word) {
            state(&format!("raw.{id}"), raw);
        }
        let failed = attribute.get("when_failed").and_then(Value::as_str);
        if let Some(failed) = failed.filter(|when| !when.is_empty() && *when != "-") {
            state(&format!("failed.{id}"), failed.to_string());
        }
    }
    let inner = document.get("nvme_smart_health_information_log");
    let health = inner.or_else(|| document.get("critical_warning").map(|_| document));
    // By name, whatever the order of the document.
    let health: BTreeMap<_, _> = health.and_then(Value::as_object).into_iter().flatten().collect();
    for (key, value) in health {
        // nvme-cli writes the warnings as an object of bits in some versions.
        let Some(value) = word(value).or_else(|| word(value.get("value")?)) else { continue };
        let known = NVME_CLI.iter().find(|(theirs, _)| theirs == key);
        let key = known.map_or(key.as_str(), |(_, ours)| *ours);
        let kelvin = value.parse().ok().filter(|degrees: &i64| *degrees > HOTTEST);
        match kelvin.filter(|_| key.starts_with("temperature")) {
            Some(kelvin) => state(&format!("nvme.{key}"), (kelvin - KELVIN).to_string()),
            None => state(&format!("nvme.{key}"), value),
        }
    }
}

/// A plain value as text.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn fact(device: Option<DeviceId>, key: &str, value: String, sink: &mut dyn Sink) {
    let (key, read_from) = (format!("smart.{key}"), sink.source().place());
    sink.fact(Fact { device, key, value, read_from });
}

#[cfg(test)]
mod tests {
    use iowhy_model::Recording;

    #[test]
    fn two_tools_one_set_of_names() {
        let text = "{\"critical_warning\" : 4, \"temperature\" : 309, \"avail_spare\" : 97,\n\
                    \"percent_used\" : 12, \"media_errors\" : 3}\n";
        let mut recording = Recording::new();
        crate::scan("test", &mut text.as_bytes(), None, &mut recording).unwrap();
        let facts = &recording.listings[0].facts;
        let value =
            |key: &str| facts.iter().find(|fact| fact.key == key).map(|fact| fact.value.as_str());
        assert_eq!(value("smart.nvme.critical_warning"), Some("4"));
        assert_eq!(value("smart.nvme.temperature"), Some("36"));
        assert_eq!(value("smart.nvme.available_spare"), Some("97"));
        assert_eq!(value("smart.nvme.percentage_used"), Some("12"));
        assert!(facts.iter().all(|fact| fact.device.is_none()));
    }
}
