//! NVMe drives by nvme-cli's text: health, errors, identity, power states, features.
//!
//! ## Reads
//! `nvme smart-log` (its lines alone too), `nvme error-log`, `nvme id-ctrl`, `nvme list` and `nvme
//! get-feature`. The health log becomes the facts of `smart` (`smart.nvme.media_errors` ...). Beside
//! these: `smart.nvme.sensor.N` (degrees of a single sensor), `smart.nvme.error-log.media` (entries
//! of the error log that are of the medium), `smart.celsius.warning`, `smart.idle-exit-us` (the
//! longest time in which a power state that is not operational is left, microseconds), `nvme.apst`
//! (whether the drive changes its power state by itself: 0 or 1), `drive.write_cache`, `smart.model`
//! and `smart.firmware`.
//!
//! ## Where it comes from
//! `nvme smart-log /dev/nvme0`, `nvme error-log /dev/nvme0`, `nvme id-ctrl /dev/nvme0`, `nvme list`,
//! `nvme get-feature -f 0x0c -H /dev/nvme0`.
//!
//! ## Versions
//! nvme-cli 1.0 to 2.11. Labels changed their case and their unit signs; temperatures are taken in
//! Celsius whichever stands first.
//!
//! ## Traps
//! `num_err_log_entries` counts commands that the host got wrong too. The composite temperature may
//! be stuck: a sensor beside it that says otherwise is a reason to doubt it. A smart-log without
//! its first line names no drive, which is then called `drive`. That a drive may sleep
//! (`nvme.apst`) does not say that it did.
//!
//! ## Cannot know
//! How a value moved: two records are needed. Whether lines are missing: they bear no numbers.

use iowhy_model::typed::{Celsius, Key};
use iowhy_model::{FactValue, Level, Nanos, Sink, typed};

use crate::drive::health::{Drive, Places, drive_named, leading, nvme_fact, nvme_key, nvme_value};
use crate::{Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "nvme-cli",
    summary: "NVMe drives: nvme smart-log, error-log, list, id-ctrl, get-feature",
    manual: iowhy_model::manual!("nvme_cli.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(NvmeCli::default()),
};

/// Lines ahead in which a command line must be followed by nvme-cli's own words.
const NEAR: usize = 3;
/// Keys of the health log that no other tool prints so.
const KEYS: &[&str] = &[
    "critical_warning",
    "available_spare",
    "available_spare_threshold",
    "percentage_used",
    "media_errors",
    "num_err_log_entries",
    "controller_busy_time",
    "unsafe_shutdowns",
    "Warning Temperature Time",
    "Critical Composite Temperature Time",
];
/// Status words of commands that failed for the medium (NVM Express base specification, media and
/// data integrity errors).
const OF_MEDIUM: &[&str] = &[
    "UNRECOVERED_READ",
    "READ_ERROR",
    "WRITE_FAULT",
    "Unrecovered Read Error",
    "Write Fault",
    "End-to-end Guard",
    "GUARD_CHECK",
];
/// Fields of id-ctrl and of the other listings that hold no fact of ours begin a line so.
const ASIDE: &[&str] = &[
    "vid",
    "ssvid",
    "sn",
    "rab",
    "ieee",
    "cmic",
    "mdts",
    "cntlid",
    "ver",
    "rtd3r",
    "rtd3e",
    "oaes",
    "ctratt",
    "rrls",
    "cntrltype",
    "fguid",
    "crdt1",
    "crdt2",
    "crdt3",
    "nvmsr",
    "vwci",
    "mec",
    "oacs",
    "acl",
    "aerl",
    "frmw",
    "lpa",
    "elpe",
    "npss",
    "avscc",
    "apsta",
    "cctemp",
    "mtfa",
    "hmpre",
    "hmmin",
    "tnvmcap",
    "unvmcap",
    "rpmbs",
    "edstt",
    "dsto",
    "fwug",
    "kas",
    "hctma",
    "mntmt",
    "mxtmt",
    "sanicap",
    "hmminds",
    "hmmaxd",
    "nsetidmax",
    "endgidmax",
    "anatt",
    "anacap",
    "anagrpmax",
    "nanagrpid",
    "pels",
    "domainid",
    "megcap",
    "sqes",
    "cqes",
    "maxcmd",
    "nn",
    "oncs",
    "fuses",
    "fna",
    "awun",
    "awupf",
    "icsvscc",
    "nvscc",
    "nwpc",
    "acwu",
    "ocfs",
    "sgls",
    "mnan",
    "maxdna",
    "maxcna",
    "oaqd",
    "subnqn",
    "ioccsz",
    "iorcsz",
    "icdoff",
    "fcatt",
    "msdbd",
    "ofcs",
    "error_count",
    "sqid",
    "cmdid",
    "phase_tag",
    "parm_err_loc",
    "lba",
    "nsid",
    "vs",
    "trtype",
    "csi",
    "opcode",
    "cs",
    "trtype_spec_info",
    "log_page_version",
];

fn sniff(lines: &[&str]) -> Sniff {
    let label = |place: usize| {
        let line = lines.get(place)?;
        Some(line.split_once(':').map_or("", |(label, _)| label.trim()))
    };
    // An entry of the error log without its heading: the words alone stand in other logs too.
    match (label(0), label(1)) {
        (Some("error_count"), Some("sqid")) => Sniff::Yes,
        (Some("error_count"), None) => Sniff::More,
        _ => Sniff::announced(lines, NEAR, begins, announces),
    }
}

/// A line that only nvme-cli prints.
fn begins(line: &str) -> bool {
    let text = line.trim();
    if heading(text) {
        return true;
    }
    let Some((key, value)) = text.split_once(':') else { return false };
    let numeric = |text: &str| {
        let text = text.trim().trim_end_matches('%');
        let digits = text.strip_prefix("0x").unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b',')
    };
    KEYS.contains(&key.trim()) && numeric(value)
}

/// What stands above a listing of its own.
fn heading(text: &str) -> bool {
    ["Smart Log for NVME device:", "Error Log Entries for device:", "NVME Identify Controller:"]
        .iter()
        .any(|words| text.starts_with(words))
        || text.starts_with("get-feature:") && text.contains("urrent value:")
        || is_table(text)
}

/// The header of `nvme list`.
fn is_table(text: &str) -> bool {
    if !text.starts_with("Node") {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    words.first() == Some(&"Node")
        && ["SN", "Model", "Namespace"].iter().all(|word| words.contains(word))
}

/// A command line of nvme with its drive.
fn announces(line: &str) -> bool {
    if !line.contains("nvme") {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let command = words.iter().any(|word| word.rsplit('/').next() == Some("nvme"));
    command && words.len() < 16 && drive_named(line).is_some_and(|name| name.starts_with("nvme"))
}

/// What is being read.
#[derive(Clone, Debug, Default, PartialEq)]
enum Part {
    #[default]
    Values,
    /// `nvme list`: where its columns begin.
    Table(Vec<usize>),
}

#[derive(Default)]
struct NvmeCli {
    places: Places,
    drive: Drive,
    part: Part,
    begun: bool,
    header: String,
    idle_exit_us: Option<u64>,
    of_medium: u64,
    /// Lines of an error log were read.
    errors: bool,
    place: String,
}

impl Reader for NvmeCli {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if self.begun && (heading(text) || announces(text)) {
            return Step::Ended;
        }
        self.place = self.places.next(sink);
        if let Some(name) = drive_named(text).filter(|_| announces(text)) {
            self.drive.named(&name);
            return Step::Took;
        }
        if text.is_empty() {
            return Step::Took;
        }
        if is_table(text) {
            (self.begun, self.header) = (true, line.to_string());
            return Step::Took;
        }
        if self.header.is_empty() && self.part == Part::Values {
            let took = self.values(text);
            self.begun |= took;
            return if took { Step::Took } else { Step::Passed };
        }
        self.row(line, sink)
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some(exit) = self.idle_exit_us {
            self.add_fact(typed::SMART_IDLE_EXIT, Nanos::from_us(exit as f64));
        }
        if self.errors {
            self.add_fact(typed::SMART_NVME_ERROR_LOG_MEDIA, self.of_medium);
        }
        self.drive.pour(sink);
    }
}

impl NvmeCli {
    fn add_fact<V: Into<FactValue>>(&mut self, key: Key<V>, value: impl Into<V>) {
        self.drive.add_fact(key, value, &self.place);
    }

    /// A row of `nvme list`: each is a drive.
    fn row(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let dashes = line.trim().chars().all(|c| c == '-' || c == ' ');
        if dashes {
            self.part = Part::Table(columns(line));
            return Step::Took;
        }
        let Part::Table(starts) = &self.part else { return Step::Passed };
        let Some(name) = line.split_whitespace().next().and_then(|word| word.strip_prefix("/dev/"))
        else {
            return Step::Passed;
        };
        let cell = |title: &str| {
            let at = self.header.find(title)?;
            let place = starts.iter().position(|start| *start == at)?;
            let from = *starts.get(place)?;
            let to = starts.get(place + 1).copied().unwrap_or(line.len()).min(line.len());
            Some(line.get(from..to)?.trim().to_string()).filter(|cell| !cell.is_empty())
        };
        let facts =
            [(typed::DEVICE_MODEL, cell("Model")), (typed::DEVICE_FIRMWARE, cell("FW Rev"))];
        let mut drive = Drive::default();
        drive.named(name);
        for (key, value) in facts {
            if let Some(value) = value {
                drive.add_fact(key, value, &self.place);
            }
        }
        drive.pour(sink);
        Step::Took
    }

    /// A line `key : value`.
    fn values(&mut self, text: &str) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some(rest) = text
            .strip_prefix("Smart Log for NVME device:")
            .or_else(|| text.strip_prefix("Error Log Entries for device:"))
        {
            self.errors = text.starts_with("Error Log");
            self.drive.named(rest.split_whitespace().next().unwrap_or_default());
            return true;
        }
        if text.starts_with("NVME Identify Controller") {
            self.add_fact(typed::SMART_PROTOCOL, "NVMe");
            return true;
        }
        if let Some(rest) = text.strip_prefix("get-feature:") {
            return self.feature(rest);
        }
        let entry = words.first().is_some_and(|word| word.starts_with("Entry["));
        if entry || text.chars().all(|c| matches!(c, '.' | '-' | '=')) {
            return true;
        }
        let Some((label, value)) = text.split_once(':') else { return false };
        let (label, value) = (label.trim(), value.trim());
        let lower = label.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
        if let Some(sensor) = lower.strip_prefix("temperature sensor ") {
            let (Some(sensor), Some(celsius)) = (integer(sensor), nvme_value("temperature", value))
            else {
                return false;
            };
            let key = typed::SMART_NVME_SENSOR.member(sensor);
            self.add_fact(key, Celsius(celsius as f64));
            return true;
        }
        if let Some(key) = nvme_key(label) {
            let Some(value) = nvme_value(key, value) else { return false };
            self.drive.add(nvme_fact(key, value), &self.place);
            return true;
        }
        match label {
            "mn" => {
                self.drive.model(value);
                self.add_fact(typed::SMART_MODEL, value);
            }
            "sn" => self.drive.serial(value),
            "fr" => self.add_fact(typed::SMART_FIRMWARE, value),
            "vwc" => {}
            "wctemp" => {
                // 0: the drive states none.
                let kelvin = leading(value).filter(|kelvin| *kelvin > 0);
                if let Some(celsius) =
                    kelvin.and_then(|k| nvme_value("temperature", &k.to_string()))
                {
                    self.add_fact(typed::SMART_CELSIUS_WARNING, Celsius(celsius as f64));
                }
            }
            "status_field" => {
                self.errors = true;
                self.of_medium += u64::from(OF_MEDIUM.iter().any(|words| value.contains(words)));
            }
            _ if words.first() == Some(&"ps") => {
                let exit = text.split("exlat:").nth(1).and_then(leading);
                let sleeps = text.contains("non-operational");
                self.idle_exit_us = self.idle_exit_us.max(exit.filter(|_| sleeps));
            }
            _ => {
                return ASIDE.contains(&label)
                    || label.starts_with("endurance group critical warning")
                    || label.starts_with('[') && label.ends_with(']');
            }
        }
        true
    }

    /// `0x0c (Autonomous Power State Transition), Current value:0x00000001`.
    fn feature(&mut self, rest: &str) -> bool {
        let (Some(id), Some((_, value))) = (leading(rest), rest.split_once("value:")) else {
            return false;
        };
        let Some(value) = leading(value) else { return false };
        match id {
            0x06 => self.add_fact(typed::DRIVE_WRITE_CACHE, value & 1 == 1),
            0x0c => self.add_fact(typed::NVME_APST, value & 1 == 1),
            _ => {}
        }
        true
    }
}

/// Where the runs of dashes begin that stand under a header.
fn columns(line: &str) -> Vec<usize> {
    let bytes = line.as_bytes();
    let begins = |place: &usize| {
        let before = place.checked_sub(1).and_then(|before| bytes.get(before));
        bytes.get(*place) == Some(&b'-') && before != Some(&b'-')
    };
    (0..bytes.len()).filter(begins).collect()
}

#[cfg(test)]
mod tests {
    use iowhy_model::{FactValue, key};

    use crate::scan::recorded;

    #[test]
    fn lines_of_the_temperature_alone_behind_their_command() {
        let text = "Every 2.0s: nvme smart-log /dev/nvme1n1 | grep -i temp      node: Wed May 16 20:59:56 2018\n\n\
                    temperature                         : 50 C\nWarning Temperature Time            : 0\n\
                    Critical Composite Temperature Time : 0\nTemperature Sensor 2                : 90 C\n";
        let recording = recorded(text);
        let facts = &recording.listings[0].facts;
        let value = |key| facts.iter().find(|f| f.key == key).map(|f| &f.value);
        assert_eq!(value(key::SMART_NVME_TEMPERATURE), Some(&FactValue::Celsius(50.0)));
        assert_eq!(value(key::SMART_NVME_SENSOR.of("2")), Some(&FactValue::Celsius(90.0)));
    }

    #[test]
    fn bare_lines_of_the_health_log_are_enough() {
        let text = "critical_warning: 0x2\ntemperature: 84 °C\nTemperature Sensor 1: 84 °C\n\
                    Temperature Sensor 2: 40 °C\n";
        let recording = recorded(text);
        let facts = &recording.listings[0].facts;
        let value = |key| facts.iter().find(|f| f.key == key).map(|f| &f.value);
        assert_eq!(recording.listings[0].source.format, "nvme-cli");
        assert_eq!(value(key::SMART_NVME.of("critical_warning")), Some(&FactValue::Count(2)));
        assert_eq!(value(key::SMART_NVME_TEMPERATURE), Some(&FactValue::Celsius(84.0)));
        assert_eq!(value(key::SMART_NVME_SENSOR.of("2")), Some(&FactValue::Celsius(40.0)));
    }
}
