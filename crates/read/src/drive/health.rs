//! What a drive reports about itself, by one set of names: facts are kept until the drive's name is
//! known.
//!
//! JSON, text, syslog lines and mails of the same tools give the same facts.

use iowhy_model::typed::{Celsius, Key, Share};
use iowhy_model::{Fact, FactKey, FactValue, Sink, typed};

use crate::facts::AddFact;

/// The health log of NVMe by smartctl's names: nvme-cli's keys and the labels of both tools' text,
/// in lower case with single blanks. A key that is not here keeps its own.
const NVME: &[(&str, &str)] = &[
    ("avail_spare", "available_spare"),
    ("spare_thresh", "available_spare_threshold"),
    ("percent_used", "percentage_used"),
    ("thm_temp1_trans_count", "thermal_temp1_transition_count"),
    ("thm_temp2_trans_count", "thermal_temp2_transition_count"),
    ("critical warning", "critical_warning"),
    ("available spare", "available_spare"),
    ("available spare threshold", "available_spare_threshold"),
    ("percentage used", "percentage_used"),
    ("data units read", "data_units_read"),
    ("data units written", "data_units_written"),
    ("host read commands", "host_reads"),
    ("host write commands", "host_writes"),
    ("host_read_commands", "host_reads"),
    ("host_write_commands", "host_writes"),
    ("controller busy time", "controller_busy_time"),
    ("power cycles", "power_cycles"),
    ("power on hours", "power_on_hours"),
    ("unsafe shutdowns", "unsafe_shutdowns"),
    ("media and data integrity errors", "media_errors"),
    ("error information log entries", "num_err_log_entries"),
    ("warning comp. temperature time", "warning_temp_time"),
    ("critical comp. temperature time", "critical_comp_time"),
    ("warning temperature time", "warning_temp_time"),
    ("critical composite temperature time", "critical_comp_time"),
    ("thermal temp. 1 transition count", "thermal_temp1_transition_count"),
    ("thermal temp. 2 transition count", "thermal_temp2_transition_count"),
    ("thermal management t1 trans count", "thermal_temp1_transition_count"),
    ("thermal management t2 trans count", "thermal_temp2_transition_count"),
    ("thermal temp. 1 total time", "thermal_temp1_total_time"),
    ("thermal temp. 2 total time", "thermal_temp2_total_time"),
    ("thermal management t1 total time", "thermal_temp1_total_time"),
    ("thermal management t2 total time", "thermal_temp2_total_time"),
    ("temperature", "temperature"),
];
/// 0 degrees Celsius in the whole kelvins that NVMe reports.
const KELVIN: i64 = 273;
/// Counters of a phy of SAS, as the kernel names them (drivers/scsi/scsi_transport_sas.c).
pub(crate) const PHY_COUNTERS: [&str; 4] = [
    "invalid_dword_count", "running_disparity_error_count", "loss_of_dword_sync_count",
    "phy_reset_problem_count",
];
/// Above this, a temperature is in kelvin.
const HOTTEST: i64 = 200;
/// The name of a drive that no line names.
const UNNAMED_DRIVE: &str = "drive";

/// The name of a value of the NVMe health log by smartctl's JSON, whoever printed it.
pub(crate) fn nvme_key(label: &str) -> Option<&'static str> {
    let words: Vec<String> = label.split_whitespace().map(str::to_ascii_lowercase).collect();
    let label = words.join(" ");
    let known = NVME.iter().find(|(theirs, ours)| *theirs == label || *ours == label);
    known.map(|(_, ours)| *ours)
}

/// A number of the NVMe health log: without thousands, signs of units or hexadecimal, a temperature
/// in Celsius.
pub(crate) fn nvme_value(key: &str, text: &str) -> Option<i64> {
    // `158 °F (343 K)`: the bracket is the same in every version.
    let bracket = text.split_once('(').map(|(_, inside)| inside);
    let bracket = bracket.filter(|inside| inside.contains(" K") && key.starts_with("temperature"));
    let value = i64::try_from(leading(bracket.unwrap_or(text))?).ok()?;
    let kelvin = key.starts_with("temperature") && value > HOTTEST;
    Some(if kelvin { value - KELVIN } else { value })
}

/// What a number of the NVMe health log means, by its name in smartctl's JSON.
pub(crate) fn nvme_fact(key: &str, value: i64) -> (FactKey, FactValue) {
    let share = Share::from_percent(value as f64);
    match key {
        "temperature" => typed::SMART_NVME_TEMPERATURE.with(Celsius(value as f64)),
        "available_spare" => typed::SMART_NVME_AVAILABLE_SPARE.with(share),
        "available_spare_threshold" => typed::SMART_NVME_AVAILABLE_SPARE_THRESHOLD.with(share),
        "percentage_used" => typed::SMART_NVME_PERCENTAGE_USED.with(share),
        _ => match u64::try_from(value) {
            Ok(count) => typed::SMART_NVME.member(key).with(count),
            // A sensor of its own below the freezing point of water.
            Err(_) => (typed::SMART_NVME.member(key).key(), FactValue::Celsius(value as f64)),
        },
    }
}

/// Attributes whose normalised value is the endurance that is left, in per cent, by number and name
/// (smartmontools' drivedb.h). Other drives use these numbers for other things.
const LIFE_LEFT: [(u64, &str); 4] = [
    (177, "Wear_Leveling_Count"),
    (202, "Percent_Lifetime_Remain"),
    (231, "SSD_Life_Left"),
    (233, "Media_Wearout_Indicator"),
];

/// The endurance used, in per cent, by the normalised value of an attribute. Drives stop at
/// 1 when all is used.
pub(crate) fn wear(id: u64, name: &str, value: u64) -> Option<f64> {
    let is_left = LIFE_LEFT.contains(&(id, name)) && value <= 100;
    is_left.then_some(if value <= 1 { 100.0 } else { 100.0 - value as f64 })
}

/// The whole number a text begins with: `0x04`, `12,345,678 [6.32 TB]`, `36 Celsius`, `18446h+12m`.
pub(crate) fn leading(text: &str) -> Option<u64> {
    let text = text.trim_start();
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        return u64::from_str_radix(digits.get(..end)?, 16).ok();
    }
    let mut value = None;
    let bytes = text.as_bytes();
    for (place, byte) in bytes.iter().enumerate() {
        let digit_follows = || bytes.get(place + 1).is_some_and(u8::is_ascii_digit);
        match byte {
            b'0'..=b'9' => {
                let digit = u64::from(byte - b'0');
                value = Some(value.unwrap_or(0u64).checked_mul(10)?.checked_add(digit)?);
            }
            // Groups of three, as smartctl prints large numbers.
            b',' | b'\'' if value.is_some() && digit_follows() => {
                let group = bytes.get(place + 1..place + 4);
                let whole = group.is_some_and(|group| group.iter().all(u8::is_ascii_digit));
                if !whole || bytes.get(place + 4).is_some_and(u8::is_ascii_digit) {
                    return value;
                }
            }
            _ => break,
        }
    }
    value
}

/// A fact that waits for its device.
#[derive(Debug)]
struct PendingFact {
    fact: (FactKey, FactValue),
    read_from: String,
}

/// Facts of one drive, until its name is known.
#[derive(Debug, Default)]
pub(crate) struct Drive {
    name: Option<String>,
    model: Option<String>,
    serial: Option<String>,
    /// The serial number was hidden: it does not distinguish drives of one model.
    is_hidden: bool,
    facts: Vec<PendingFact>,
}

/// What users put in place of a serial number, in lower case.
const HIDDEN: [&str; 9] = [
    "redacted", "removed", "hidden", "masked", "censored", "anonymi", "deleted", "omitted", "snip",
];
/// This many equal characters at the end mean that it was hidden (a choice: real serial numbers end
/// in fewer).
const MASKED: usize = 4;

/// Whether a serial number was made unreadable, whole or in part.
fn is_hidden(serial: &str) -> bool {
    let sign = |c: char| matches!(c, '-' | '*' | 'x' | 'X' | '.' | '0' | '<' | '[' | ' ');
    let lower = serial.to_ascii_lowercase();
    let last = lower.chars().next_back().filter(|c| matches!(c, 'x' | '*' | '#' | '?' | '.' | '-'));
    let masked =
        last.is_some_and(|last| lower.chars().rev().take_while(|c| *c == last).count() >= MASKED);
    let all = !serial.is_empty() && serial.chars().all(sign);
    all || masked || HIDDEN.iter().any(|word| lower.contains(word))
}

impl Drive {
    /// Its given name, with or without `/dev/`.
    pub(crate) fn named(&mut self, name: &str) {
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        if !name.is_empty() {
            self.name = Some(name.to_string());
        }
    }

    /// Its given name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(crate) fn model(&mut self, model: &str) {
        self.model = Some(model.trim().to_string()).filter(|model| !model.is_empty());
    }

    /// A serial number, unless it was made unreadable.
    pub(crate) fn serial(&mut self, serial: &str) {
        let serial = serial.trim();
        self.is_hidden = is_hidden(serial);
        self.serial = (!serial.is_empty() && !self.is_hidden).then(|| serial.to_string());
    }

    /// Adds a fact of the drive with its place.
    pub(crate) fn add_fact<V: Into<FactValue>>(
        &mut self,
        key: Key<V>,
        value: impl Into<V>,
        read_from: &str,
    ) {
        self.add(key.with(value), read_from);
    }

    /// Adds a value as the tool prints it, parsed by the key's kind.
    pub(crate) fn add_text(&mut self, key: impl Into<FactKey>, text: &str, read_from: &str) {
        let key = key.into();
        let value = key.read(text);
        self.add((key, value), read_from);
    }

    /// Adds what was read of the drive.
    pub(crate) fn add(&mut self, fact: (FactKey, FactValue), read_from: &str) {
        self.facts.push(PendingFact { fact, read_from: read_from.to_string() });
    }

    /// Whether nothing was read of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// Removes the values of a key.
    pub(crate) fn forget(&mut self, key: &FactKey) {
        self.facts.retain(|known| known.fact.0 != *key);
    }

    /// Whether a value of a key was read.
    pub(crate) fn has(&self, key: FactKey) -> bool {
        self.facts.iter().any(|known| known.fact.0 == key)
    }

    /// Gives all facts to the device. A drive without a name is called as in /dev/disk/by-id, so
    /// that it can be identified on the machine.
    pub(crate) fn emit(&mut self, sink: &mut dyn Sink) {
        let drive = std::mem::take(self);
        let Some(first) = drive.facts.first() else { return };
        let place = first.read_from.clone();
        let id = || {
            // Two drives of one model are different, unless they are known to be the same.
            let record = format!("({place})");
            let other = if drive.is_hidden { record.as_str() } else { "" };
            let parts = [drive.model.as_deref()?, drive.serial.as_deref().unwrap_or(other)];
            let words: Vec<&str> = parts.iter().flat_map(|part| part.split_whitespace()).collect();
            Some(words.join("_"))
        };
        let device = match &drive.name {
            Some(name) => sink.device(name),
            None => {
                let device = sink.device(&id().unwrap_or_else(|| UNNAMED_DRIVE.to_string()));
                sink.add_fact_at(device, typed::DEVICE_UNNAMED, true, &place);
                device
            }
        };
        for PendingFact { fact: (key, value), read_from } in drive.facts {
            sink.fact(Fact::new(Some(device), key, value, read_from));
        }
    }
}

/// The drive that a command or a heading is about: the last word that is a path in /dev, and for a
/// disk of a controller (`-d megaraid,7`, `[megaraid_disk_07]`) the controller's number for it.
pub(crate) fn drive_named(line: &str) -> Option<String> {
    if !line.contains("/dev/") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let path = words.iter().rev().find_map(|word| {
        let word = word.trim_matches(['"', '\'', '`', ':', ',', ';', '=', '(', ')', '#', '*']);
        word.strip_prefix("/dev/").filter(|name| is_name(name))
    })?;
    let behind = words.windows(2).find_map(|pair| match pair {
        ["-d" | "--device", kind] => Some(*kind),
        _ => None,
    });
    let glued = words.iter().find_map(|word| {
        word.strip_prefix("--device=")
            .or_else(|| word.strip_prefix("-d").filter(|k| k.contains(',')))
    });
    let kind = behind.or(glued).and_then(|kind| kind.split('+').find(|part| part.contains(',')));
    let numbered = kind.filter(|kind| {
        ["megaraid,", "cciss,", "3ware,", "areca,", "aacraid,", "hpt,", "sssraid,"]
            .iter()
            .any(|name| kind.starts_with(name))
    });
    Some(numbered.or(disk_behind(line).as_deref()).unwrap_or(path).to_string())
}

/// `[megaraid_disk_07]`, as smartd and smartctl name a disk of a controller: `megaraid,7`.
pub(crate) fn disk_behind(line: &str) -> Option<String> {
    let (head, rest) = line.split_once("_disk_")?;
    let controller = head.rsplit_once('[')?.1;
    let number = rest.split_once(']')?.0.parse::<u32>().ok()?;
    let sound = controller.bytes().all(|byte| byte.is_ascii_alphanumeric());
    sound.then(|| format!("{controller},{number}"))
}

/// A name below /dev that a program could be reported.
pub(crate) fn is_name(name: &str) -> bool {
    let sound = |c: char| c.is_ascii_alphanumeric() || "-_./:,!@+".contains(c);
    !name.is_empty() && name.len() < 128 && name.chars().all(sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_front_of_units() {
        assert_eq!(leading("0x04"), Some(4));
        assert_eq!(leading("12,345,678 [6.32 TB]"), Some(12_345_678));
        assert_eq!(leading("36°C (309 Kelvin)"), Some(36));
        assert_eq!(leading("18446h+12m+3.5s"), Some(18446));
        assert_eq!(leading("1.5"), Some(1));
        assert_eq!(leading("99999999999999999999"), None);
        assert_eq!(leading("-"), None);
    }

    #[test]
    fn endurance_left_is_told_by_number_and_name() {
        assert_eq!(wear(233, "Media_Wearout_Indicator", 7), Some(93.0));
        assert_eq!(wear(233, "Media_Wearout_Indicator", 1), Some(100.0));
        assert_eq!(wear(177, "Wear_Leveling_Count", 200), None);
        assert_eq!(wear(231, "Temperature_Celsius", 38), None);
    }

    #[test]
    fn a_hidden_serial_number_is_none() {
        for serial in [
            "[redacted]", "REDACTED", "<removed>", "XXXXXXXX", "xxxx", "WD-WCC4NXXXXXXX",
            "Z1Z****", "ZA1-####", "-", "S3Z9NB0K....", "(hidden)", "00000000",
        ] {
            assert!(is_hidden(serial), "{serial}");
        }
        for serial in ["WD-WCC4N0123456", "Z1Z0ABCX", "S3Z9NB0K000000", "EXA0001", "50026B7XX1"] {
            assert!(!is_hidden(serial), "{serial}");
        }
    }

    #[test]
    fn one_name_for_each_value_of_the_health_log() {
        for label in ["Percentage Used", "percentage_used", "percent_used"] {
            assert_eq!(nvme_key(label), Some("percentage_used"));
        }
        assert_eq!(nvme_key("Warning  Comp. Temperature Time"), Some("warning_temp_time"));
        assert_eq!(
            nvme_key("Thermal Management T1 Trans Count"),
            Some("thermal_temp1_transition_count")
        );
        assert_eq!(nvme_key("Percentage of blame"), None);
        assert_eq!(nvme_value("temperature", "309"), Some(36));
        assert_eq!(nvme_value("temperature", "158 °F (343 K)"), Some(70));
        assert_eq!(nvme_value("critical_warning", "0x2"), Some(2));
    }

    #[test]
    fn drives_by_path_and_behind_controllers() {
        let named = |line| drive_named(line);
        assert_eq!(named("# smartctl -a /dev/sdb").as_deref(), Some("sdb"));
        assert_eq!(named("smartctl -d megaraid,7 -x /dev/sda").as_deref(), Some("megaraid,7"));
        assert_eq!(named("smartctl -d sat+megaraid,7 -x /dev/sda").as_deref(), Some("megaraid,7"));
        assert_eq!(
            named("Device: /dev/bus/0 [megaraid_disk_07] [SAT]").as_deref(),
            Some("megaraid,7")
        );
        assert_eq!(named("smartctl -d sat -a /dev/sdc | less").as_deref(), Some("sdc"));
        assert_eq!(named("smartctl -h"), None);
    }
}
