//! A drive's own health record: `smartctl -j` and `nvme smart-log` in JSON.
//!
//! ## Reads
//! One JSON document. Everything becomes facts of the drive: `smart.passed`, `smart.model`,
//! `smart.firmware`, `smart.rpm`, `smart.hours`, `smart.at` (when, in seconds since 1970),
//! `smart.celsius` and the drive's own warning for it, the raw values of ATA attributes by number
//! (`smart.raw.5`, `smart.raw.197` ...), failed ones (`smart.failed.5`), errors logged
//! (`smart.errors`, `smart.self_test_errors`), how many entries of the error log are unreadable
//! sectors or corrupt transfers (`smart.error_log.unc`, `smart.error_log.icrc`), the counters of
//! the SATA link (`smart.sataphy.N`), grown defects of SCSI drives, the link's speed and its limit,
//! and the NVMe health log (`smart.nvme.media_errors`, `smart.nvme.percentage_used` ...).
//!
//! ## How to capture
//! `smartctl -j -a /dev/sda` (also `-x`), `nvme smart-log -o json /dev/nvme0`.
//!
//! ## Versions
//! smartmontools 7.0 and later. nvme-cli has its own names (`avail_spare`, `percent_used`,
//! `thm_temp1_trans_count`); they are mapped to those of smartctl.
//!
//! ## Caveats
//! `passed` proves little: attribute 197, sectors waiting to be remapped, has no threshold. Raw
//! values above zero of 5, 187, 188, 197, 198 are a reason to check the drive (Backblaze, 67 814
//! drives, 2016); growing ones are worse. 199 counts errors of the link, not of the platter. 1 and
//! 7 of Seagate drives are composite values. Temperatures of nvme-cli are kelvin, and are given in
//! Celsius. `smart.wear.percent` is reported by the drive, or 100 minus the normalised value of
//! 177, 202, 231 or 233 where its name contains endurance. `num_err_log_entries` alone is often
//! harmless. `nvme smart-log` does not name its drive, which is then called `drive`. Failed
//! self-tests that a later one refuted are not counted.
//!
//! ## Not in this output
//! Changes of a value: two records of different days are needed. Drives behind a RAID controller,
//! unless smartctl addresses them.

use std::collections::BTreeMap;

use iowhy_model::typed::Share;
use iowhy_model::{FactKey, key};
use serde_json::Value;

use crate::describe::document::Content;
use crate::drive::health::{Drive, PHY_COUNTERS, nvme_fact, nvme_key, nvme_value, wear};
use crate::program::*;
use crate::text::document::plain;

pub(super) const FORMAT: Format =
    Format::document::<Smart>("drive health: smartctl -j, nvme smart-log -o json", Level::E);

/// Facts by their place in smartctl's document (`smartctl --json=g` lists places so).
const PLACES: &[(FactKey, &str)] = &[
    (key::SMART_AT, "/local_time/time_t"),
    (key::SMART_PASSED, "/smart_status/passed"),
    (key::SMART_MODEL, "/model_name"),
    (key::SMART_MODEL, "/scsi_model_name"),
    (key::SMART_FIRMWARE, "/firmware_version"),
    (key::SMART_RPM, "/rotation_rate"),
    (key::SMART_PROTOCOL, "/device/protocol"),
    (key::SMART_EXIT_STATUS, "/smartctl/exit_status"),
    (key::SMART_HOURS, "/power_on_time/hours"),
    (key::SMART_CELSIUS, "/temperature/current"),
    (key::SMART_CELSIUS_WARNING, "/nvme_composite_temperature_threshold/warning"),
    (key::SMART_LINK_SPEED, "/interface_speed/current/string"),
    (key::SMART_LINK_SPEED_MAX, "/interface_speed/max/string"),
    (key::SMART_ERRORS, "/ata_smart_error_log/summary/count"),
    (key::SMART_ERRORS, "/ata_smart_error_log/extended/count"),
    (key::SMART_PENDING_DEFECTS, "/ata_pending_defects_log/count"),
    (key::SMART_SCTERC_READ, "/ata_sct_erc/read/deciseconds"),
    (key::SMART_SCTERC_WRITE, "/ata_sct_erc/write/deciseconds"),
    (key::SMART_GROWN_DEFECTS, "/scsi_grown_defect_list"),
    (key::SMART_REREAD, "/scsi_error_counter_log/read/errors_corrected_by_rereads_rewrites"),
    (key::SMART_UNCORRECTED_READ, "/scsi_error_counter_log/read/total_uncorrected_errors"),
    (key::SMART_UNCORRECTED_WRITE, "/scsi_error_counter_log/write/total_uncorrected_errors"),
    (key::SMART_WEAR, "/endurance_used/current_percent"),
];
#[derive(Default)]
struct Smart;

impl Content for Smart {
    // The last ones where keys are sorted.
    const KEYS: &[&str] = &[
        "\"json_format_version\"", "\"smartctl\"", "\"critical_warning\"",
        "\"ata_smart_attributes\"", "\"ata_smart_data\"", "\"ata_smart_error_log\"", "\"ata_sct_",
        "\"ata_aam\"", "\"ata_apm\"", "\"ata_dsn\"", "\"ata_device_statistics\"",
        "\"ata_log_directory\"", "\"nvme_smart_health_information_log\"",
        "\"nvme_composite_temperature_threshold\"", "\"nvme_controller_id\"",
        "\"scsi_error_counter_log\"", "\"scsi_grown_defect_list\"",
    ];

    fn rest(&mut self, document: &Value, sink: &mut dyn Sink) {
        record(document, sink);
    }
}

fn record(document: &Value, sink: &mut dyn Sink) {
    let mut drive = Drive::default();
    let text = |place: &str| document.pointer(place).and_then(Value::as_str).unwrap_or_default();
    // `sat+megaraid,7`: the device is that of the controller.
    let behind = text("/device/type").split('+').find(|part| part.contains(','));
    drive.named(behind.unwrap_or(text("/device/name")));
    drive.model(text("/model_name"));
    drive.serial(text("/serial_number"));
    let place = sink.source().place();
    let mut stated = None;
    for (key, at) in PLACES {
        let value = document.pointer(at).and_then(plain).filter(|_| stated != Some(key));
        if let Some(value) = value {
            drive.add_text(key.clone(), &value, &place);
            stated = Some(key);
        }
    }
    if let Some(failed) = self_tests_failed(document) {
        drive.add_fact(typed::SMART_SELF_TEST_ERRORS, failed, &place);
    }
    let list =
        |place: &str| document.pointer(place).and_then(Value::as_array).into_iter().flatten();
    let mut failing: Vec<String> = Vec::new();
    for attribute in list("/ata_smart_attributes/table") {
        let Some(id) = attribute.get("id").and_then(Value::as_u64) else { continue };
        if let Some(raw) = attribute.pointer("/raw/value").and_then(plain) {
            drive.add_text(typed::SMART_RAW.member(id), &raw, &place);
        }
        let name = attribute.get("name").and_then(Value::as_str).unwrap_or_default();
        let value = attribute.get("value").and_then(Value::as_u64);
        if let Some(used) = value.and_then(|value| wear(id, name, value))
            && !drive.has(key::SMART_WEAR)
        {
            drive.add_fact(typed::SMART_WEAR, Share::from_percent(used), &place);
        }
        let failed = attribute.get("when_failed").and_then(Value::as_str);
        if let Some(failed) = failed.filter(|when| !when.is_empty() && *when != "-") {
            drive.add_fact(typed::SMART_FAILED.member(id), failed, &place);
            let predicts = attribute.pointer("/flags/prefailure").and_then(Value::as_bool);
            if failed == "now" && predicts == Some(true) {
                failing.push(id.to_string());
            }
        }
    }
    if !failing.is_empty() {
        drive.add_fact(typed::SMART_PREFAIL_NOW, failing, &place);
    }
    let log = ["/ata_smart_error_log/extended/table", "/ata_smart_error_log/summary/table"];
    if let Some(log) = log.into_iter().find(|place| list(place).next().is_some()) {
        let hours = list(log).filter_map(|entry| entry.get("lifetime_hours")?.as_u64()).max();
        if let Some(hours) = hours {
            drive.add_fact(typed::SMART_ERROR_LOG_HOURS, Nanos::from_hours(hours), &place);
        }
        let codes = [(typed::SMART_ERROR_LOG_UNC, "UNC"), (typed::SMART_ERROR_LOG_ICRC, "ICRC")];
        for (key, code) in codes {
            let described = |entry: &&Value| {
                let text = entry.get("error_description").and_then(Value::as_str);
                text.is_some_and(|text| text.split(" at ").next().is_some_and(|t| t.contains(code)))
            };
            let count = list(log).filter(described).count() as u64;
            if count > 0 {
                drive.add_fact(key, count, &place);
            }
        }
    }
    for counter in list("/sata_phy_event_counters/table") {
        let id = counter.get("id").and_then(Value::as_u64);
        if let (Some(id), Some(value)) = (id, counter.get("value").and_then(plain)) {
            drive.add_text(typed::SMART_SATA_PHY.member(id), &value, &place);
        }
    }
    for (key, sum) in phys(document) {
        drive.add_fact(typed::PHY.of(key), sum, &place);
    }
    let asleep = |power: &&Value| power.get("non_operational_state") == Some(&Value::Bool(true));
    let exits = list("/nvme_power_states").filter(asleep);
    if let Some(us) = exits.filter_map(|power| power.get("exit_latency_us")?.as_u64()).max() {
        drive.add_fact(typed::SMART_IDLE_EXIT, Nanos::from_us(us as f64), &place);
    }
    let inner = document.get("nvme_smart_health_information_log");
    let health = inner.or_else(|| document.get("critical_warning").map(|_| document));
    // By name, whatever the order of the document.
    let health: BTreeMap<_, _> = health.and_then(Value::as_object).into_iter().flatten().collect();
    for (key, value) in health {
        // nvme-cli writes the warnings as an object of bits in some versions.
        let Some(value) = plain(value).or_else(|| plain(value.get("value")?)) else { continue };
        let key = nvme_key(key).unwrap_or(key);
        match nvme_value(key, &value) {
            Some(value) => drive.add(nvme_fact(key, value), &place),
            None => drive.add_text(typed::SMART_NVME.member(key), &value, &place),
        }
    }
    drive.emit(sink);
}

/// Counters of the phys of all ports, each summed over them, by their names in sysfs.
fn phys(document: &Value) -> BTreeMap<&'static str, u64> {
    let within = |value: &'_ Value, start: &str| -> Vec<Value> {
        let members = value.as_object().into_iter().flatten();
        members.filter(|(key, _)| key.starts_with(start)).map(|(_, value)| value.clone()).collect()
    };
    let mut sums = BTreeMap::new();
    for phy in within(document, "scsi_sas_port_").iter().flat_map(|port| within(port, "phy_")) {
        for counter in PHY_COUNTERS {
            // They spell out one word.
            let theirs = counter.replace("_sync_", "_synchronization_");
            if let Some(count) = phy.get(&theirs).and_then(Value::as_u64) {
                let sum: &mut u64 = sums.entry(counter).or_default();
                *sum = sum.saturating_add(count);
            }
        }
    }
    sums
}

/// Self-tests that failed and that no later one refuted.
fn self_tests_failed(document: &Value) -> Option<u64> {
    let log = |kind: &str| document.pointer(&format!("/ata_smart_self_test_log/{kind}"));
    let log = log("extended").or_else(|| log("standard"))?;
    let count = |key: &str| log.get(key).and_then(Value::as_u64);
    let outdated = count("error_count_outdated").unwrap_or(0);
    Some(count("error_count_total")?.saturating_sub(outdated))
}
