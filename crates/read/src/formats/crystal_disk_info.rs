//! CrystalDiskInfo: what drives say of their own health, on Windows.
//!
//! ## Reads
//! Each drive's record: model, firmware, health status, temperature, hours, rotation rate, speed of the SATA link, and the
//! attributes below `-- S.M.A.R.T. --`. The facts are those of `smartctl`: `smart.raw.197`, `smart.passed`,
//! `smart.nvme.media_errors` and so on. Rows of the attribute table are read without the rest, too.
//!
//! ## Where it comes from
//! `CrystalDiskInfo`: Edit, Copy; or `DiskInfo64.exe /CopyExit`, which writes DiskInfo.txt.
//!
//! ## Versions
//! CrystalDiskInfo 3 to 9, in any language: attributes are told by their number.
//!
//! ## Traps
//! Raw values are hexadecimal, six bytes, and may hold several numbers: of reallocated sectors the low four bytes count
//! (as smartctl has it, raw48 and raw16), a time-out count above 65535 is several numbers. `Caution` only repeats that 05,
//! C5 or C6 is above zero or that little endurance is left; `Bad` is the drive's own failed check. A percentage behind
//! `Good` is the endurance left.
//!
//! ## Cannot know
//! The drive's name in the system (a letter is a volume), how a value moved: two records are needed. Error and self-test
//! logs are not printed. Whether lines are missing: they bear no numbers.

use iowhy_model::typed::{BitsPerSecond, Celsius, Key, Share};
use iowhy_model::{FactValue, Level, Nanos, Sink, typed};

use crate::drive::health::{Drive, Places, leading, nvme_fact, nvme_value};
use crate::{Format, Reader, Sniff, Step};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "crystal-disk-info",
    summary: "CrystalDiskInfo: drive health as Windows users print it",
    manual: iowhy_model::manual!("crystal_disk_info.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(CrystalDiskInfo::default()),
};

/// Digits of a raw value: six bytes.
const RAW_DIGITS: usize = 12;
/// Above this a raw value of six bytes is several numbers, for all attributes but those of [`LOW`].
const SEVERAL: u64 = 1 << 32;
/// Attributes whose upper bytes hold something else: reallocated sectors and events, hours.
const LOW: [u64; 3] = [5, 9, 196];
/// Command time-outs: three counts of two bytes where the value is larger.
const TIMEOUTS: u64 = 188;
/// Fields of the NVMe health log by their row, with the names that smartctl gives them.
const NVME: [&str; 15] = [
    "critical_warning",
    "temperature",
    "available_spare",
    "available_spare_threshold",
    "percentage_used",
    "data_units_read",
    "data_units_written",
    "host_reads",
    "host_writes",
    "controller_busy_time",
    "power_cycles",
    "power_on_hours",
    "unsafe_shutdowns",
    "media_errors",
    "num_err_log_entries",
];
/// Speeds of a SATA link as the program names them, in bits per second.
const LINKS: [(&str, f64); 3] = [("SATA/150", 1.5e9), ("SATA/300", 3e9), ("SATA/600", 6e9)];
/// Labels of a drive's record that hold no fact of ours.
const KNOWN: [&str; 20] = [
    "Disk Size",
    "Buffer Size",
    "Queue Depth",
    "# of Sectors",
    "Major Version",
    "Minor Version",
    "Power On Count",
    "Host Reads",
    "Host Writes",
    "NAND Writes",
    "GBytes Erased",
    "Wear Level Count",
    "Features",
    "APM Level",
    "AAM Level",
    "Drive Letter",
    "Drive Map",
    "OS",
    "Date",
    "Total Host Writes",
];

fn sniff(lines: &[&str]) -> Sniff {
    let Some(first) = lines.first().map(|line| line.trim()) else { return Sniff::No };
    if is_banner(first) || is_heading(first) || row(first).is_some_and(|row| row.is_ata) {
        return Sniff::Yes;
    }
    if label(first).is_none_or(|(label, _)| label != "Model") {
        return Sniff::No;
    }
    match lines.get(1).map(|line| label(line)) {
        None => Sniff::More,
        Some(second) => second.is_some_and(|(label, _)| label == "Firmware").into(),
    }
}

/// `CrystalDiskInfo 8.12.4 (C) 2008-2021 hiyohiyo`.
fn is_banner(text: &str) -> bool {
    text.strip_prefix("CrystalDiskInfo ")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains("(C)"))
}

/// The heading of the attributes, of ATA or of NVMe.
fn is_heading(text: &str) -> bool {
    matches!(text, "ID Cur Wor Thr RawValues(6) Attribute Name" | "ID RawValues(6) Attribute Name")
}

/// `-- S.M.A.R.T. ------------------`: the name of a section.
fn section(text: &str) -> Option<&str> {
    let (name, line) = text.strip_prefix("-- ")?.rsplit_once(' ')?;
    (!line.is_empty() && line.bytes().all(|byte| byte == b'-')).then_some(name)
}

/// `   Health Status : Good (97 %)`.
fn label(line: &str) -> Option<(&str, &str)> {
    let (label, value) = line.trim().split_once(" : ")?;
    Some((label.trim(), value.trim()))
}

/// A row of the attributes.
#[derive(Debug, PartialEq)]
struct Row {
    id: u64,
    raw: u64,
    is_ata: bool,
}

/// `C5 100 100 __0 000000000010 Current Pending Sector Count`, of NVMe `0E 000000000000 Media and Data Integrity Errors`.
fn row(text: &str) -> Option<Row> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    let id = |word: &str| if word.len() == 2 { hex(word).filter(|id| *id > 0) } else { None };
    let raw = |word: &str| if word.len() >= RAW_DIGITS { hex(word) } else { None };
    let normal = |word: &&str| {
        let digits = word.trim_start_matches('_');
        digits == "---" || digits.parse::<u16>().is_ok_and(|value| value < 256)
    };
    match words[..] {
        [number, a, b, c, value, _, ..] if [a, b, c].iter().all(normal) => {
            Some(Row { id: id(number)?, raw: raw(value)?, is_ata: true })
        }
        [number, value, _, ..] => Some(Row { id: id(number)?, raw: raw(value)?, is_ata: false }),
        _ => None,
    }
}

#[derive(Default)]
struct CrystalDiskInfo {
    drive: Drive,
    places: Places,
    place: String,
    /// Whether what follows are lists of controllers and dumps of bytes.
    is_aside: bool,
}

impl Reader for CrystalDiskInfo {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        self.place = self.places.next(sink);
        let text = line.trim();
        if text.is_empty() || is_banner(text) || is_heading(text) {
            return Step::Took;
        }
        if let Some(name) = section(text) {
            self.is_aside = name != "S.M.A.R.T.";
            return Step::Took;
        }
        if text.starts_with("----") || text.starts_with("Crystal Dew World") {
            return Step::Took;
        }
        if let Some((label, value)) = label(line) {
            if label == "Model" {
                self.drive.pour(sink);
                self.is_aside = false;
            }
            let known = self.label(label, value);
            return if known || self.is_aside { Step::Took } else { Step::Passed };
        }
        if let Some(row) = row(text).filter(|_| !self.is_aside) {
            self.attribute(&row);
            return Step::Took;
        }
        // ` (1) Samsung SSD 860` above a drive, controllers, dumps.
        let is_title = text.starts_with('(') && text.contains(')');
        if self.is_aside || is_title { Step::Took } else { Step::Passed }
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.drive.pour(sink);
    }
}

impl CrystalDiskInfo {
    fn add_fact<V: Into<FactValue>>(&mut self, key: Key<V>, value: impl Into<V>) {
        self.drive.add_fact(key, value, &self.place);
    }

    fn label(&mut self, label: &str, value: &str) -> bool {
        match label {
            "Model" => {
                self.drive.model(value);
                self.add_fact(typed::SMART_MODEL, value);
            }
            "Firmware" => self.add_fact(typed::SMART_FIRMWARE, value),
            "Rotation Rate" if value.contains("(SSD)") => self.add_fact(typed::SMART_RPM, 0u64),
            "Rotation Rate" => self.number(typed::SMART_RPM, value, |rpm| rpm),
            "Temperature" => self.number(typed::SMART_CELSIUS, value, |c| Celsius(c as f64)),
            "Power On Hours" => self.number(typed::SMART_HOURS, value, Nanos::from_hours),
            "Interface" => {
                let protocol = match value {
                    _ if value.contains("NVM") => Some("NVMe"),
                    _ if value.contains("ATA") => Some("ATA"),
                    _ => None,
                };
                if let Some(protocol) = protocol {
                    self.add_fact(typed::SMART_PROTOCOL, protocol);
                }
            }
            "Transfer Mode" => {
                let (now, most) = value.split_once('|').unwrap_or((value, ""));
                let links = [(typed::SMART_LINK_SPEED, now), (typed::SMART_LINK_SPEED_MAX, most)];
                for (key, mode) in links {
                    if let Some((_, speed)) = LINKS.iter().find(|(name, _)| *name == mode.trim()) {
                        self.add_fact(key, BitsPerSecond(*speed));
                    }
                }
            }
            "Health Status" => self.health(value),
            "Serial Number" => self.drive.serial(value),
            _ => return KNOWN.contains(&label),
        }
        true
    }

    fn number<V: Into<FactValue>>(&mut self, key: Key<V>, value: &str, in_unit: fn(u64) -> V) {
        if let Some(number) = leading(value) {
            self.add_fact(key, in_unit(number));
        }
    }

    /// `Good (97 %)`, in English or Japanese; other languages are passed over.
    fn health(&mut self, value: &str) {
        let (word, share) = value.split_once('(').unwrap_or((value, ""));
        match word.trim() {
            "Good" | "正常" => self.add_fact(typed::SMART_PASSED, true),
            "Bad" | "異常" => self.add_fact(typed::SMART_PASSED, false),
            _ => {}
        }
        if let Some(left) = leading(share).filter(|left| *left <= 100) {
            self.add_fact(typed::SMART_WEAR, Share::from_percent((100 - left) as f64));
        }
    }

    fn attribute(&mut self, row: &Row) {
        if !row.is_ata {
            let place = usize::try_from(row.id).ok().and_then(|id| id.checked_sub(1));
            if let Some(name) = place.and_then(|place| NVME.get(place))
                && let Some(value) = nvme_value(name, &row.raw.to_string())
            {
                self.drive.add(nvme_fact(name, value), &self.place);
            }
            return;
        }
        let raw = match row.id {
            id if LOW.contains(&id) => Some(row.raw % SEVERAL),
            TIMEOUTS => Some(row.raw).filter(|raw| *raw <= u64::from(u16::MAX)),
            _ => Some(row.raw).filter(|raw| *raw < SEVERAL),
        };
        if let Some(raw) = raw {
            self.add_fact(typed::SMART_RAW.member(row.id), raw);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded;

    fn facts(text: &str) -> Vec<(String, String)> {
        let recording = recorded(text);
        let all = recording.listings.iter().flat_map(|listing| &listing.facts);
        all.map(|fact| (fact.key.to_string(), fact.value.to_string())).collect()
    }

    #[test]
    fn rows_of_both_kinds_and_none_else() {
        let row = |text| super::row(text).map(|row| (row.id, row.raw, row.is_ata));
        assert_eq!(
            row("C5 100 100 __0 000000000010 Current Pending Sector Count"),
            Some((0xc5, 16, true))
        );
        assert_eq!(row("09 _84 _84 --- 000000003DCC Power-On Hours"), Some((9, 15820, true)));
        assert_eq!(row("0E 000000000000 Media and Data Integrity Errors"), Some((14, 0, false)));
        assert_eq!(row("C5 100 100 300 000000000010 Current Pending"), None);
        assert_eq!(row("05 100 100 010 12 Reallocated"), None);
    }

    #[test]
    fn two_drives_keep_apart_and_dumps_say_nothing() {
        let text = "CrystalDiskInfo 8.0.0 (C) 2008-2019 hiyohiyo\n\
            -- Disk List ---------------\n (1) WDC WD10EZEX-00WN4A0 : 1000,2 GB [0/0/0, pd1]\n\
            ----------------------------\n (1) WDC WD10EZEX-00WN4A0\n----------------------------\n\
                       Model : WDC WD10EZEX-00WN4A0\n        Firmware : 01.01A01\n\
               Health Status : Caution\n\
            -- S.M.A.R.T. --------------\nID Cur Wor Thr RawValues(6) Attribute Name\n\
            C5 200 200 __0 000000000003 Current Pending Sector Count\n\
            -- IDENTIFY_DEVICE ---------\n        +0 +1 +2 +3\n000: 5A 42 FF 3F\n\
                       Model : CT500P1SSD8\n        Firmware : P3CR010\n   Health Status : Good (94 %)\n\
            -- S.M.A.R.T. --------------\nID RawValues(6) Attribute Name\n\
            02 000000000135 Composite Temperature\n";
        let facts = facts(text);
        let of = |key: &str| {
            let all = facts.iter().filter(|(known, _)| known == key);
            all.map(|(_, value)| value.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(of("smart.raw.197"), ["3"]);
        assert_eq!(of("smart.model"), ["WDC WD10EZEX-00WN4A0", "CT500P1SSD8"]);
        assert_eq!((of("smart.wear.percent"), of("smart.passed")), (vec!["6 %"], vec!["yes"]));
        assert_eq!(of("smart.nvme.temperature"), ["36 °C"]);
    }
}
