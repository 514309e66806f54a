//! Windows' storage cmdlets: state of disks and volumes of Storage Spaces, counters of reliability.
//!
//! ## Reads
//! Tables and lists of `Get-PhysicalDisk`, `Get-VirtualDisk` and `Get-StorageReliabilityCounter`.
//! Of a disk `device.model`, `device.medium`, `member.state` if it is not OK or unhealthy,
//! `smart.uncorrected.read` and `.write`, `smart.wear.percent`, `smart.celsius`, `smart.hours`,
//! `smart.slowest.read`, `.write` and `.flush`; of a volume
//! `array.state`, and `array.action` where it is being repaired. `Pred Fail` of `wmic diskdrive get
//! model,status` and `PredictFailure : True` of `MSStorageDriver_FailurePredictStatus` are
//! `smart.passed`, too.
//!
//! ## How to capture
//! `Get-PhysicalDisk`, `Get-PhysicalDisk | Get-StorageReliabilityCounter | Format-List`,
//! `Get-VirtualDisk`, `wmic diskdrive get model,status`.
//!
//! ## Versions
//! Windows 8 to 11, Server 2012 to 2025.
//!
//! ## Caveats
//! A disk is `Disk N` by its number, a volume is named as its owner named it. The longest latencies
//! (whole ms) are of all time since the drive was first attached, a start from sleep among them.
//! Many drives fill in few counters: 0 may mean not reported. `ReadErrorsTotal` counts corrected
//! errors too and is ignored.
//!
//! ## Not in this output
//! Present latencies (`Get-Counter`), the errors themselves (the system's event log).

use iowhy_model::Medium;
use iowhy_model::typed::{ArrayAction, Celsius, Share};

use crate::drive::health::Drive;
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<WindowsStorage>(
    "Windows' disks and volumes: Get-PhysicalDisk, Get-StorageReliabilityCounter, Get-VirtualDisk",
    Level::E,
    &[
        "OperationalStatus", "HealthStatus", "FlushLatencyMax", "LoadUnloadCycleCount",
        "PredictFailure", "ReadErrors", "ReadLatencyMax", "StartStopCycleCount", "WriteLatencyMax",
        "Active", "DeviceId", "FriendlyName", "InstanceName", "ObjectId", "Pred Fail",
    ],
    sniff,
)
.resumed();

/// Properties that only these cmdlets have.
const OWN: [&str; 10] = [
    "OperationalStatus", "HealthStatus", "FlushLatencyMax", "LoadUnloadCycleCount",
    "PredictFailure", "ReadErrorsTotal", "ReadErrorsUncorrected", "ReadLatencyMax",
    "StartStopCycleCount", "WriteLatencyMax",
];
/// Properties with which their lists begin.
const FIRST: [&str; 5] = ["Active", "DeviceId", "FriendlyName", "InstanceName", "ObjectId"];
/// Lines of a list before one that only these cmdlets have.
const MAX_DISTANCE: usize = 12;

fn sniff(lines: &[&str]) -> Detect {
    let Some((first, rest)) = lines.split_first() else { return Detect::No };
    if is_heading(first) || failing(first).is_some() {
        return Detect::Yes;
    }
    let is_own = |line: &&str| property(line).is_some_and(|(name, _)| OWN.contains(&name));
    match property(first) {
        None => Detect::No,
        Some((name, _)) if !FIRST.contains(&name) && !OWN.contains(&name) => Detect::No,
        Some(_) if lines.iter().any(is_own) => Detect::Yes,
        Some(_)
            if lines.len() > MAX_DISTANCE || rest.iter().any(|line| property(line).is_none()) =>
        {
            Detect::No
        }
        Some(_) => Detect::NeedLine,
    }
}

/// `ReadLatencyMax          : 12873`: a name, and its value after a colon that is aligned.
fn property(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().split_once(" :")?;
    let name = name.trim_end();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_name.then(|| (name, value.trim()))
}

/// Whether a line names columns of one of the tables.
fn is_heading(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let own = words.iter().filter(|word| OWN.contains(word)).count();
    let named = words.iter().any(|word| ["DeviceId", "FriendlyName", "Number"].contains(word));
    // A file system's health is another matter.
    let is_volume = words.contains(&"DriveLetter");
    !line.contains(" :") && !is_volume && named && own >= 1 && words.len() > own
}

/// A disk that predicts its failure, in a row of `wmic diskdrive get model,status`.
fn failing(line: &str) -> Option<&str> {
    line.trim().strip_suffix("Pred Fail").map(str::trim)
}

/// Where the columns of a table are, by the dashes under its heading: from, to.
fn columns(line: &str) -> Option<Vec<(usize, usize)>> {
    let is_rule = line.contains("---") && line.chars().all(|c| c == '-' || c.is_whitespace());
    is_rule.then_some(())?;
    let mut columns: Vec<(usize, usize)> = Vec::new();
    for (at, c) in line.char_indices().filter(|(_, c)| *c == '-') {
        match columns.last_mut().filter(|(_, to)| *to == at) {
            Some((_, to)) => *to = at + c.len_utf8(),
            None => columns.push((at, at + 1)),
        }
    }
    Some(columns)
}

#[derive(Default)]
struct WindowsStorage {
    /// The columns of the table that is read: name, from, to.
    names: Vec<String>,
    columns: Vec<(usize, usize)>,
    /// Name and value of the properties of the disk or volume that is read.
    record: Vec<(String, String)>,
    place: String,
}

impl Reader for WindowsStorage {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let place = sink.here();
        if line.trim().is_empty() {
            self.emit(sink);
            return Step::Consumed;
        }
        if let Some(model) = failing(line) {
            let disk = if model.is_empty() { "disk" } else { model };
            sink.add_fact_at(disk, typed::SMART_PASSED, false, &place);
            return Step::Consumed;
        }
        if is_heading(line) {
            self.emit(sink);
            self.names = line.split_whitespace().map(str::to_string).collect();
            self.columns.clear();
            return Step::Consumed;
        }
        if let Some((name, value)) = property(line) {
            self.names.clear();
            if self.record.is_empty() {
                self.place = place;
            }
            self.record.push((name.to_string(), value.to_string()));
            return Step::Consumed;
        }
        if let Some(columns) = columns(line).filter(|found| found.len() == self.names.len()) {
            self.columns = columns;
            return Step::Consumed;
        }
        if self.columns.is_empty() {
            return Step::NotMine;
        }
        self.place = place;
        let cells = cells(line, &self.columns);
        self.record = self.names.iter().cloned().zip(cells).collect();
        self.emit(sink);
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.emit(sink);
    }
}

/// The cells of a row: text begins where its column does, a number ends there.
fn cells(line: &str, columns: &[(usize, usize)]) -> Vec<String> {
    let of = |place: usize, (from, to): (usize, usize)| {
        if from >= line.len() {
            return String::new();
        }
        let next = columns.get(place + 1).map_or(line.len(), |(next, _)| *next);
        let text = line.get(from..next.min(line.len())).unwrap_or_default();
        let begins = text.starts_with(|c: char| !c.is_whitespace());
        if begins {
            return text.split("  ").next().unwrap_or_default().trim().to_string();
        }
        let before = line.get(..to.min(line.len())).unwrap_or_default();
        let word = before.rsplit(' ').next().unwrap_or_default();
        word.to_string()
    };
    columns.iter().enumerate().map(|(place, column)| of(place, *column)).collect()
}

impl WindowsStorage {
    fn get(&self, name: &str) -> Option<&str> {
        let value = self.record.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        value.map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The facts of the disk or volume that was read.
    fn emit(&mut self, sink: &mut dyn Sink) {
        let mut facts = Drive::default();
        let place = std::mem::take(&mut self.place);
        let number = |name: &str| self.get(name).and_then(integer);
        let disk = number("Number").or_else(|| number("DeviceId"));
        let name = self.get("FriendlyName");
        let is_volume = self.get("ResiliencySettingName").is_some()
            || self.record.iter().any(|(name, _)| name == "FootprintOnPool");
        match (disk, name) {
            (Some(disk), _) if !is_volume => facts.named(&format!("Disk {disk}")),
            (_, Some(name)) => facts.named(name),
            // `SCSI\Disk&Ven_EXAMPLE&Prod_SSD\4&39693902&0&000000_0`
            _ => facts
                .named(self.get("InstanceName").and_then(|id| id.split('\\').nth(1)).unwrap_or("")),
        }
        let state = self.get("OperationalStatus").map(|state| {
            state
                .trim_matches(['{', '}'])
                .split(['…', ','])
                .next()
                .unwrap_or_default()
                .to_lowercase()
        });
        let is_unhealthy = self.get("HealthStatus") == Some("Unhealthy");
        match state {
            Some(state) if is_volume => {
                if state == "in service" || state == "inservice" {
                    facts.add_fact(typed::ARRAY_ACTION, ArrayAction::Rebuild, &place);
                }
                facts.add_fact(typed::ARRAY_STATE, state, &place);
            }
            Some(state) if state != "ok" && state != "online" => {
                facts.add_fact(typed::MEMBER_STATE, state, &place);
            }
            _ if is_unhealthy && !is_volume => {
                facts.add_fact(typed::MEMBER_STATE, "unhealthy", &place);
            }
            _ => {}
        }
        if !is_volume {
            if self.get("PredictFailure") == Some("True") {
                facts.add_fact(typed::SMART_PASSED, false, &place);
            }
            if let Some(model) = name.filter(|_| disk.is_some()) {
                facts.add_fact(typed::DEVICE_MODEL, model, &place);
            }
            let medium = match self.get("MediaType") {
                Some("HDD") => Some(Medium::Rotational),
                Some("SSD") => Some(Medium::Flash),
                _ => None,
            };
            if let Some(medium) = medium {
                facts.add_fact(typed::DEVICE_MEDIUM, medium, &place);
            }
        }
        let counts = [
            ("ReadErrorsUncorrected", typed::SMART_UNCORRECTED_READ),
            ("WriteErrorsUncorrected", typed::SMART_UNCORRECTED_WRITE),
        ];
        for (name, key) in counts {
            if let Some(count) = number(name) {
                facts.add_fact(key, count, &place);
            }
        }
        for (name, op) in
            [("ReadLatencyMax", "read"), ("WriteLatencyMax", "write"), ("FlushLatencyMax", "flush")]
        {
            if let Some(ms) = number(name).filter(|ms| *ms > 0) {
                facts.add_fact(typed::SMART_SLOWEST.of(op), Nanos::from_ms(ms as f64), &place);
            }
        }
        if let Some(used) = number("Wear").filter(|used| *used <= 100) {
            facts.add_fact(typed::SMART_WEAR, Share::from_percent(used as f64), &place);
        }
        if let Some(celsius) = number("Temperature").filter(|celsius| *celsius > 0) {
            facts.add_fact(typed::SMART_CELSIUS, Celsius(celsius as f64), &place);
        }
        if let Some(hours) = number("PowerOnHours").filter(|hours| *hours > 0) {
            facts.add_fact(typed::SMART_HOURS, Nanos::from_hours(hours), &place);
        }
        self.record.clear();
        facts.emit(sink);
    }
}
