//! What the tools of RAID controllers print of volumes, drives, caches and batteries, line by line.
//! Their JSON has the same labels.

use iowhy_model::typed::{ArrayAction, BitsPerSecond, Celsius, Key, Share, WritePolicy};
use iowhy_model::{Fact, FactKey, FactValue, Medium, Sink, key, typed};

use crate::drive::health::{drive_named, leading};
use crate::facts::AddFact;
use crate::{decimal, integer};

/// Labels in front of `:` or `=`, whose value is a fact of the drive or volume being read.
const LABELS: &[(&str, Take)] = &[
    ("Media Error Count", Take::Count(typed::MEMBER_ERRORS.of("media"))),
    ("Other Error Count", Take::Count(typed::MEMBER_ERRORS.of("other"))),
    ("Predictive Failure Count", Take::Count(typed::MEMBER_ERRORS.of("predictive"))),
    ("Shield Counter", Take::Nothing),
    ("Firmware state", Take::State(typed::MEMBER_STATE)),
    ("Model Number", Take::Text(typed::DEVICE_MODEL)),
    ("Inquiry Data", Take::Inquiry(typed::DEVICE_MODEL)),
    ("Drive Temperature", Take::Celsius(typed::DEVICE_CELSIUS)),
    ("Drive has flagged a S.M.A.R.T alert", Take::Alert(typed::SMART_PASSED)),
    ("S.M.A.R.T alert flagged by drive", Take::Alert(typed::SMART_PASSED)),
    ("Media Type", Take::Medium(typed::DEVICE_MEDIUM)),
    ("Drive Type", Take::Medium(typed::DEVICE_MEDIUM)),
    ("Interface Type", Take::Medium(typed::DEVICE_MEDIUM)),
    ("Device Speed", Take::Speed(typed::DEVICE_LINK_SPEED_MAX)),
    ("Link Speed", Take::Speed(typed::DEVICE_LINK_SPEED)),
    ("Current Cache Policy", Take::Policy(typed::ARRAY_WRITE_CACHE)),
    ("Default Cache Policy", Take::Policy(typed::ARRAY_WRITE_CACHE_ASKED)),
    ("Status of volume", Take::State(typed::ARRAY_STATE)),
    ("Volume state", Take::State(typed::ARRAY_STATE)),
    ("Controller Status", Take::State(typed::CONTROLLER_STATE)),
    ("Cache Status", Take::State(typed::CONTROLLER_CACHE)),
    ("Battery/Capacitor Status", Take::State(typed::CONTROLLER_BATTERY)),
    ("Battery State", Take::State(typed::CONTROLLER_BATTERY)),
    ("Battery Replacement required", Take::If(typed::CONTROLLER_BATTERY, "replacement required")),
    ("Battery Pack Missing", Take::If(typed::CONTROLLER_BATTERY, "missing")),
    ("Learn Cycle Active", Take::If(typed::CONTROLLER_BATTERY, "learning")),
    ("Remaining Capacity Low", Take::If(typed::CONTROLLER_BATTERY, "capacity low")),
    ("Write cache enabled", Take::Enabled(typed::ARRAY_WRITE_CACHE)),
    ("Percentage complete", Take::Percent(typed::ARRAY_PERCENT)),
];
/// Labels known to hold nothing that is read; they keep a listing together.
const KNOWN: &[&str] = &[
    "Sequence Number", "Enclosure position", "PD Type", "Raw Size", "Non Coerced Size",
    "Coerced Size", "Last Predictive Failure Event Seq Number", "SAS Address(0)", "SAS Address(1)",
    "Connected Port Number", "FDE Capable", "FDE Enable", "Secured", "Locked",
    "Needs EKM Attention", "Foreign State", "Drive", "Name", "RAID Level", "Size", "Strip Size",
    "Stripe Size", "Number Of Drives", "Span Depth", "Access Policy", "Disk Cache Policy",
    "Encryption Type", "Is VD Cached", "Mirror Data", "Sector Size", "Bad Blocks Exist",
    "BatteryType", "Voltage", "Current", "Temperature", "Charging Status", "Learn Cycle Requested",
    "Learn Cycle Status", "Learn Cycle Timeout", "I2c Errors Detected", "Periodic Learn Required",
    "Transparent Learn", "Exit Code", "CLI Version", "Operating system", "Controller", "Status",
    "Description", "Cache configured", "Total cache memory", "Cache Ratio", "Read cache memory",
    "Write cache memory", "Cache Status Details", "Cache Disable Reason", "Cache Board Present",
    "Last Failure Reason", "Port", "Box", "Bay", "Enclosure #", "Slot #", "SAS Address",
    "Manufacturer", "Firmware Revision", "Serial No", "Unit Serial No(VPD)", "GUID", "Protocol",
    "Size (in MB)/(in sectors)", "Volume ID", "Volume wwid", "RAID level", "Size (in MB)", "Boot",
    "Physical hard disks", "Physical disk I/Os", "Volume status", "Controller type",
    "Serial Number", "Drive exposed to OS", "Rotational Speed", "PHY Count", "Board ID",
    "Logical drives", "Running firmware", "ROM firmware", "Physical drives",
    "Temporary disable condition", "Drive Write Cache", "No-Battery Write Cache",
    "Accelerator Ratio", "Relative State of Charge", "Absolute state of charge", "Battery state",
    "GasGuageStatus",
];

/// How a value is read.
enum Take {
    /// It contains nothing that is read.
    Nothing,
    Text(Key<String>),
    /// The whole number it begins with.
    Count(Key<u64>),
    Celsius(Key<Celsius>),
    Percent(Key<Share>),
    /// As printed, in lower case; nothing where a drive is simply online.
    State(Key<String>),
    /// `Yes`: this is the state; `No` shows nothing.
    If(Key<String>, &'static str),
    /// Serial number and model run together, followed by the revision.
    Inquiry(Key<String>),
    /// `Yes` or `No` of a SMART alert.
    Alert(Key<bool>),
    Medium(Key<Medium>),
    Speed(Key<BitsPerSecond>),
    Policy(Key<WritePolicy>),
    Enabled(Key<WritePolicy>),
}

impl Take {
    /// What the value after a label states.
    fn fact(&self, value: &str) -> Option<(FactKey, FactValue)> {
        Some(match self {
            Take::Nothing => return None,
            Take::Text(key) => key.with(Some(value).filter(|value| !value.is_empty())?),
            Take::Count(key) => key.with(leading(value)?),
            Take::Celsius(key) => key.with(Celsius(leading(value)? as f64)),
            Take::Percent(key) => {
                let percent = decimal(value.trim_end_matches('%').trim())?;
                key.with(Share::from_percent(percent))
            }
            Take::State(key) => key.with(state_of(key.clone().key(), value)?),
            Take::If(key, word) if value.starts_with("Yes") => key.with(*word),
            // A battery that needs no replacement is well, until a later line says otherwise.
            Take::If(key, "replacement required") if value == "No" => key.with("ok"),
            Take::If(..) => return None,
            Take::Inquiry(key) => key.with(inquiry(value)?),
            Take::Alert(key) => key.with(match value {
                "No" => true,
                "Yes" => false,
                _ => return None,
            }),
            Take::Medium(key) => {
                let flash = value.contains("Solid State") || value.contains("SSD");
                let disk = value.contains("Hard Disk") || value.contains("HDD");
                let medium = (flash || disk).then_some(if flash {
                    Medium::Flash
                } else {
                    Medium::Rotational
                });
                key.with(medium?)
            }
            Take::Speed(key) => {
                let speed = decimal(value.strip_suffix("Gb/s")?.trim())?;
                key.with(BitsPerSecond(speed * 1e9))
            }
            Take::Policy(key) => key.with(policy(value.split(',').next().unwrap_or(value))?),
            Take::Enabled(key) => key.with(match value {
                "Yes" => WritePolicy::Back,
                "No" => WritePolicy::Through,
                _ => return None,
            }),
        })
    }
}

/// The header of storcli's table of volumes, and of drives.
pub(crate) const VOLUMES: &[&str] = &["DG/VD", "TYPE", "State"];
pub(crate) const DRIVES: &[&str] = &["EID:Slt", "DID", "State"];
/// That of the phys of an enclosure, and the counter of each column (SPL, link error counters of a
/// phy).
pub(crate) const PHYS: &[&str] =
    &["EID", "PNO", "InDwdCnt", "RnDiErCnt", "LsDwSyCnt", "PRstPrbCnt"];
const PHY_COUNTERS: [&str; 4] = [
    "invalid_dword_count", "running_disparity_error_count", "loss_of_dword_sync_count",
    "phy_reset_problem_count",
];

/// Parts of `ssacli ... show detail` that are about no drive.
const PARTS: [&str; 7] =
    ["Array", "Logical Drive", "Unassigned", "HBA Drives", "Port Name", "SEP", "Expander"];

/// Lines that only such a tool prints.
pub(crate) fn begins(text: &str) -> bool {
    let label = text.split_once([':', '=']).map(|(label, _)| label.trim());
    label.is_some() && text.contains("Non-Volatile Cache status:")
        || is_state(text)
        || rebuilding(text).is_some()
        || matches!(
            label,
            Some(
                "Current Cache Policy"
                    | "Default Cache Policy"
                    | "Battery/Capacitor Status"
                    | "Predictive Failure Count"
            )
        )
        || text.starts_with("BBU status for Adapter:")
        || text == "IR Volume information"
        || text.starts_with("Avago Technologies SAS") && text.contains("IR Configuration Utility")
        || text.starts_with("LSI Corporation SAS") && text.contains("IR Configuration Utility")
}

/// `Rebuild Progress on Device at Enclosure 32, Slot 1 Completed 4% in 10 Minutes.`: enclosure and
/// slot, and what follows `Completed`.
fn rebuilding(text: &str) -> Option<((u64, u64), &str)> {
    let rest = text.strip_prefix("Rebuild Progress on Device at Enclosure ")?;
    let (place, rest) = rest.split_once(" Completed ")?;
    let (enclosure, slot) = place.split_once(", Slot ")?;
    Some(((integer(enclosure)?, integer(slot)?), rest))
}

/// `Firmware state: Online, Spun Up`: all that `grep` left of a drive.
fn is_state(text: &str) -> bool {
    text.starts_with("Firmware state: ")
}

pub(crate) fn titles(text: &str, wanted: &[&str]) -> bool {
    let mut words = text.split_whitespace();
    wanted.iter().all(|title| words.next() == Some(title))
}

/// A heading that names what the lines below are about.
#[derive(Debug, PartialEq)]
pub(crate) enum Subject {
    Controller(String),
    Volume(String),
    Drive(String),
}

pub(crate) fn subject(text: &str) -> Option<Subject> {
    if let Some(rest) = text.strip_prefix("Drive /c") {
        // `Drive /c0/e32/s0 State :` and the like.
        let path = rest.split([' ', ':']).next()?;
        return Some(Subject::Drive(format!("c{path}")));
    }
    if let Some(rest) = text.strip_prefix("Virtual Drive: ").or(text.strip_prefix("Virtual Disk: "))
    {
        return Some(Subject::Volume(leading(rest)?.to_string()));
    }
    if ["Smart ", "HPE ", "MSA"].iter().any(|maker| text.starts_with(maker))
        && let Some((_, rest)) = text.split_once(" in Slot ")
    {
        return Some(Subject::Controller(leading(rest)?.to_string()));
    }
    if let Some(rest) = text.strip_prefix("BBU status for Adapter:") {
        return Some(Subject::Controller(leading(rest)?.to_string()));
    }
    if let Some(rest) = text.strip_prefix("Adapter ")
        && rest.contains("-- Virtual Drive Information")
    {
        return Some(Subject::Controller(leading(rest)?.to_string()));
    }
    None
}

/// A row that says all of a volume or drive: `logicaldrive 1 (838.3 GB, RAID 1, OK)`, or
/// `/dev/sda: (Smart Array P410) RAID 6 Volume 0 status: OK.`
pub(crate) enum Row<'a> {
    Logical { number: &'a str, reported: Vec<&'a str> },
    Physical { place: &'a str, reported: Vec<&'a str> },
    Status { device: &'a str, controller: &'a str, reported: &'a str },
}

pub(crate) fn volume(text: &str) -> Option<Row<'_>> {
    if !text.starts_with(['l', 'p', '/']) {
        return None;
    }
    let (head, inside) = text.split_once(" (").unwrap_or((text, ""));
    let parts = || -> Option<Vec<&str>> {
        Some(inside.strip_suffix(')')?.split(", ").map(str::trim).collect())
    };
    if let Some(number) = head.strip_prefix("logicaldrive ") {
        return Some(Row::Logical { number, reported: parts()? });
    }
    if let Some(place) = head.strip_prefix("physicaldrive ") {
        return Some(Row::Physical { place, reported: parts()? });
    }
    let (device, rest) = text.strip_prefix("/dev/")?.split_once(": (")?;
    let (controller, rest) = rest.split_once(") ")?;
    let (what, parts) = rest.split_once("status: ")?;
    what.contains("Volume").then_some(Row::Status {
        device,
        controller,
        reported: parts.trim().trim_end_matches('.'),
    })
}

/// The table being read.
#[derive(Clone, Copy, Default, PartialEq)]
enum Table {
    #[default]
    None,
    Volumes,
    Drives,
    Phys,
    /// `Drive-ID Progress% Status`.
    Progress,
    /// `Model State ...` of a battery or a capacitor.
    Battery,
    /// Labels of a drive of a Smart Array.
    Detail,
}

#[derive(Default)]
pub(crate) struct Controller {
    /// The number of the controller.
    number: Option<u64>,
    enclosure: Option<String>,
    /// The volume or drive that lines are about.
    about: Option<String>,
    table: Table,
    header: String,
    /// Drives of which only the state is given.
    unnamed: u64,
    /// Volumes of a Smart Array by the controller's name: what is reported about its cache is
    /// theirs.
    volumes: Vec<(String, String)>,
}

impl Controller {
    /// Takes a line of the printed form; false if it shows nothing.
    pub(crate) fn says(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        self.heading(text, sink)
            || self.row(text, sink)
            || self.cells(text, sink)
            || self.label(text, sink)
    }

    /// Another part of a document begins: what follows is about no drive or volume until it names
    /// one.
    pub(crate) fn begins_part(&mut self) {
        (self.about, self.table) = (None, Table::None);
    }

    fn controller(&self) -> String {
        format!("c{}", self.number.unwrap_or(0))
    }

    fn heading(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        if titles(text, PHYS) {
            self.table = Table::Phys;
            return true;
        }
        if titles(text, VOLUMES) || titles(text, DRIVES) {
            self.table = if titles(text, VOLUMES) { Table::Volumes } else { Table::Drives };
            self.header = text.to_string();
            return true;
        }
        if text.starts_with("Drive-ID") && text.contains("Progress%") {
            self.table = Table::Progress;
            return true;
        }
        if titles(text, &["Model", "State"]) {
            self.table = Table::Battery;
            return true;
        }
        if ["VD LIST", "PD LIST", "TOPOLOGY", "Virtual Drives =", "Physical Drives ="]
            .iter()
            .any(|words| text.starts_with(words))
        {
            self.table = Table::None;
            return true;
        }
        // What begins another part of `show detail` has a `Status` of its own.
        if self.table == Table::Detail && PARTS.iter().any(|part| text.starts_with(part)) {
            (self.about, self.table) = (None, Table::None);
        }
        // Of `show detail`: its state follows below, as `Status`.
        if let Some(place) =
            text.strip_prefix("physicaldrive ").filter(|place| !place.contains(' '))
        {
            self.about = Some(format!("{}/{place}", self.controller()));
            self.table = Table::Detail;
            return true;
        }
        if let Some(rest) = text.strip_prefix("Controller = ").or(text.strip_prefix("Adapter #")) {
            self.number = leading(rest);
            return true;
        }
        match subject(text) {
            Some(Subject::Controller(number)) => {
                self.number = integer(&number);
                (self.about, self.table) = (None, Table::None);
            }
            Some(Subject::Volume(number)) => {
                self.about = Some(format!("{}/v{number}", self.controller()));
            }
            Some(Subject::Drive(path)) => self.about = Some(path),
            None => return self.old_heading(text, sink),
        }
        true
    }

    /// Headings of MegaCli and sas2ircu, which name a drive in several lines.
    fn old_heading(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        let Some((label, value)) = text.split_once(':') else {
            if let Some(rest) = text.strip_prefix("IR volume ").or(text.strip_prefix("IR Volume "))
                && let Some(number) = leading(rest)
            {
                self.about = Some(format!("{}/v{number}", self.controller()));
                return true;
            }
            if let Some((place, rest)) = rebuilding(text) {
                return self.rebuilds(place, rest, sink);
            }
            return text.starts_with("Device is a ") || text == "IR Volume information";
        };
        let (label, value) = (label.trim(), value.trim());
        match label {
            "Enclosure Device ID" | "Enclosure #" => {
                self.enclosure = Some(value.to_string());
            }
            "Slot Number" | "Slot #" => {
                let enclosure = self.enclosure.clone().unwrap_or_else(|| "x".to_string());
                self.about = Some(format!("{}/e{enclosure}/s{value}", self.controller()));
            }
            "Device Id" => {
                if let (Some(drive), Some(id)) = (&self.about, leading(value)) {
                    sink.add_fact_here(drive, typed::DEVICE_ALIAS, vec![format!("megaraid,{id}")]);
                }
            }
            _ => return false,
        }
        true
    }

    /// Progress of a drive's rebuild, as a sentence of MegaCli gives it.
    fn rebuilds(&self, (enclosure, slot): (u64, u64), rest: &str, sink: &mut dyn Sink) -> bool {
        let name = format!("{}/e{enclosure}/s{slot}", self.controller());
        let percent = rest.trim_start().split('%').next().and_then(decimal);
        if let Some(percent) = percent {
            sink.add_fact_here(&name, typed::MEMBER_STATE, "rebuilding");
            sink.add_fact_here(&name, typed::ARRAY_PERCENT, Share::from_percent(percent));
        }
        percent.is_some()
    }

    fn row(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        let Some(row) = volume(text) else { return false };
        match row {
            Row::Logical { number, reported } => {
                let name = format!("{}/v{}", self.controller(), number);
                // The last words are the state; what is being done follows it.
                let words = reported.get(2..).unwrap_or_default();
                self.volume(&name, words, sink);
            }
            Row::Physical { place, reported } => {
                let name = format!("{}/{}", self.controller(), place);
                let medium = reported.iter().find_map(|word| match *word {
                    "SAS" | "SATA" | "SAS HDD" | "SATA HDD" => None,
                    "Solid State SATA" | "Solid State SAS" | "SATA SSD" | "SAS SSD" => {
                        Some(Medium::Flash)
                    }
                    _ => None,
                });
                if let Some(medium) = medium {
                    sink.add_fact_here(&name, typed::DEVICE_MEDIUM, medium);
                }
                let last = reported.iter().rfind(|word| **word != "spare").copied().unwrap_or("");
                if !last.is_empty() {
                    sink.add_fact_here(&name, typed::MEMBER_STATE, last.to_ascii_lowercase());
                }
            }
            Row::Status { device, controller, reported } => {
                let volume = (controller.to_string(), device.to_string());
                self.volume(device, &[reported], sink);
                self.volumes.push(volume);
            }
        }
        true
    }

    /// A volume's state, and its work if the words say so: `Recovering, 22.63% complete`.
    fn volume(&mut self, name: &str, words: &[&str], sink: &mut dyn Sink) {
        let Some(first) = words.first() else { return };
        let (reported, percent) = match first.split_once(", ") {
            Some((reported, percent)) => (reported, Some(percent)),
            None => (*first, words.get(1).copied()),
        };
        let lower = reported.to_ascii_lowercase();
        sink.add_fact_here(name, typed::ARRAY_STATE, lower.as_str());
        let action = match lower.as_str() {
            "recovering" | "rebuilding" => ArrayAction::Rebuild,
            "parity initialization in progress" | "initializing" => ArrayAction::Init,
            "transforming" | "expanding" => ArrayAction::Reshape,
            _ => return,
        };
        sink.add_fact_here(name, typed::ARRAY_ACTION, action);
        let percent = percent.and_then(|text| decimal(text.split('%').next()?.trim()));
        if let Some(percent) = percent {
            sink.add_fact_here(name, typed::ARRAY_PERCENT, Share::from_percent(percent));
        }
    }

    /// A row of one of storcli's tables.
    fn cells(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        match (self.table, words.as_slice()) {
            (Table::Volumes, [place, _, volume_state, ..]) if place.contains('/') => {
                let Some(number) = place.split('/').nth(1).and_then(integer) else { return false };
                let name = format!("{}/v{number}", self.controller());
                let state = match *volume_state {
                    "Optl" => "optimal",
                    "Dgrd" => "degraded",
                    "Pdgd" => "partially degraded",
                    "Rec" => "recovery",
                    "OfLn" => "offline",
                    other => other,
                };
                sink.add_fact_here(&name, typed::ARRAY_STATE, state);
                let titles: Vec<&str> = self.header.split_whitespace().collect();
                let place = titles.iter().position(|title| *title == "Cache");
                if let Some(cache) = place.and_then(|place| words.get(place))
                    && let Some(policy) = policy(cache)
                {
                    sink.add_fact_here(&name, typed::ARRAY_WRITE_CACHE, policy);
                }
                true
            }
            (Table::Drives, [place, did, drive_state, ..]) if place.contains(':') => {
                let Some((enclosure, slot)) = place.split_once(':') else { return false };
                if integer(slot).is_none() {
                    return false;
                }
                let name = format!("{}/e{}/s{slot}", self.controller(), enclosure.trim());
                if let Some(id) = integer(did) {
                    sink.add_fact_here(&name, typed::DEVICE_ALIAS, vec![format!("megaraid,{id}")]);
                }
                let state = match *drive_state {
                    "Onln" | "UGood" | "JBOD" => None,
                    "Rbld" => Some("rebuilding"),
                    "Offln" => Some("offline"),
                    "UBad" | "UBUnsp" => Some("bad"),
                    "DHS" | "GHS" => Some("spare"),
                    "Failed" | "Fail" => Some("failed"),
                    "Msng" => Some("missing"),
                    other => Some(other),
                };
                if let Some(state) = state {
                    sink.add_fact_here(&name, typed::MEMBER_STATE, state);
                }
                let medium = words.windows(2).find_map(|pair| match pair {
                    ["SATA" | "SAS", "HDD"] => Some(Medium::Rotational),
                    ["SATA" | "SAS", "SSD"] => Some(Medium::Flash),
                    ["NVMe", "SSD"] => Some(Medium::Nvme),
                    _ => None,
                });
                if let Some(medium) = medium {
                    sink.add_fact_here(&name, typed::DEVICE_MEDIUM, medium);
                }
                true
            }
            (Table::Progress, [path, percent, rest @ ..]) if path.starts_with("/c") => {
                let name = path.trim_start_matches('/');
                if let Some(percent) = decimal(percent).filter(|_| !rest.is_empty()) {
                    sink.add_fact_here(name, typed::MEMBER_STATE, "rebuilding");
                    sink.add_fact_here(name, typed::ARRAY_PERCENT, Share::from_percent(percent));
                }
                true
            }
            (Table::Phys, [enclosure, phy, counts @ ..]) if counts.len() == PHY_COUNTERS.len() => {
                let counts: Option<Vec<u64>> = counts.iter().map(|word| integer(word)).collect();
                let numbers = integer(enclosure).zip(integer(phy)).zip(counts);
                let Some(((enclosure, phy), counts)) = numbers else { return false };
                let name = format!("{}/e{enclosure}/phy{phy}", self.controller());
                let device = sink.device(&name);
                for (counter, count) in PHY_COUNTERS.iter().zip(counts) {
                    sink.add_fact_here(device, typed::PHY.of(counter), count);
                }
                true
            }
            (Table::Battery, [_, battery, ..]) => {
                let sound =
                    ["Optimal", "Opt", "Failed", "Degraded", "Dgd", "Fail", "Charging", "Learning"];
                let known = sound.contains(battery);
                if known {
                    let state = battery.to_ascii_lowercase();
                    let name = self.controller();
                    sink.add_fact_here(&name, typed::CONTROLLER_BATTERY, state);
                }
                known
            }
            _ => false,
        }
    }

    fn label(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        // A cache that is off is reported in a sentence of its own.
        let off = ["Write cache temporarily disabled", "Write cache permanently disabled"];
        if off.iter().any(|words| text.starts_with(words)) {
            let value = text.to_ascii_lowercase();
            let subject = self.controller();
            sink.add_fact_here(&subject, typed::CONTROLLER_CACHE, value);
            return true;
        }
        if let Some((head, _)) = text.split_once("Non-Volatile Cache status:") {
            // `/dev/sg1(Smart Array P410:0): ...`: the volumes of that controller.
            let name = head.split_once('(').map_or("", |(_, name)| name);
            let name = name.split([':', ')']).next().unwrap_or_default();
            let of = self.volumes.iter().rfind(|(controller, _)| controller == name);
            self.about = of.map(|(_, device)| device.clone());
            return true;
        }
        let Some((label, value)) = text.split_once(['=', ':']) else {
            return text.starts_with("array ") || text.ends_with("Virtual Drive Information:");
        };
        let (label, value) = (label.trim(), value.trim());
        if matches!(
            label,
            "Rebuild"
                | "Check Consistency"
                | "Patrol Read"
                | "Copyback"
                | "Background Initialization"
        ) && let Some((_, rest)) = value.split_once("Completed ")
        {
            let action = match label {
                "Rebuild" | "Copyback" => ArrayAction::Rebuild,
                "Background Initialization" => ArrayAction::Init,
                _ => ArrayAction::Check,
            };
            // Where nothing reports of which volume or drive it is, it is not a fact about any.
            let Some(name) = self.about.clone() else { return true };
            let device = sink.device(&name);
            sink.add_fact_here(device, typed::ARRAY_ACTION, action);
            if let Some(percent) = leading(rest) {
                let done = Share::from_percent(percent as f64);
                sink.add_fact_here(device, typed::ARRAY_PERCENT, done);
            }
            return true;
        }
        if label == "Status" && self.table == Table::Detail {
            let state = value.to_ascii_lowercase();
            if let Some(name) = self.about.clone().filter(|_| !state.is_empty() && state != "ok") {
                sink.add_fact_here(&name, typed::MEMBER_STATE, state);
            }
            return true;
        }
        if label == "State" {
            let Some(name) = self.about.clone() else { return true };
            let drive = name.contains("/s");
            let state = value.split(" (").next().unwrap_or(value).to_ascii_lowercase();
            let key = if drive { typed::MEMBER_STATE } else { typed::ARRAY_STATE };
            let plain = drive && (state == "optimal" || state == "online" || state == "ready");
            if !plain && !state.is_empty() {
                sink.add_fact_here(&name, key, state);
            }
            return true;
        }
        let Some((_, take)) = LABELS.iter().find(|(known, _)| *known == label) else {
            return KNOWN.contains(&label)
                || drive_named(text).is_some() && text.contains("Smart Array");
        };
        if is_state(text) && self.about.is_none() {
            // Nothing shows which drive it is: the place in the list is all there is.
            self.unnamed += 1;
            let name = format!("{}/drive{}", self.controller(), self.unnamed);
            if let Some(state) = state_of(key::MEMBER_STATE, value) {
                sink.add_fact_here(&name, typed::MEMBER_STATE, state);
            }
            return true;
        }
        if let Some((key, value)) = take.fact(value) {
            let of_drive = self.about.clone().filter(|_| !key.is_under("controller"));
            let name = of_drive.unwrap_or_else(|| self.controller());
            let device = sink.device(&name);
            let place = sink.here();
            sink.fact(Fact::new(Some(device), key, value, place));
        }
        true
    }
}

/// A state in lower case; nothing for a drive that works.
fn state_of(key: FactKey, value: &str) -> Option<String> {
    let state = value.split(" (").next().unwrap_or(value).trim().to_ascii_lowercase();
    let works = state.starts_with("online") || state.starts_with("unconfigured(good)");
    let plain = key == key::MEMBER_STATE && works;
    // `Unconfigured(bad)` of MegaCli, `UBad` of storcli.
    let state = if state.ends_with("(bad)") { "bad".to_string() } else { state };
    Some(state).filter(|state| !state.is_empty() && !plain)
}

/// What a policy does with writes: `WriteBack`, `WB` of `RWBD`; `AWB` is write-back always.
fn policy(text: &str) -> Option<WritePolicy> {
    let text = text.trim();
    let short = text.len() < 7;
    match text {
        "WriteBack" | "Write Back" | "Always Write Back" => Some(WritePolicy::Back),
        "WriteThrough" | "Write Through" => Some(WritePolicy::Through),
        _ if short && text.contains("WB") => Some(WritePolicy::Back),
        _ if short && text.contains("WT") => Some(WritePolicy::Through),
        _ => None,
    }
}

/// The word of the inquiry data that looks most like a model: digits, letters, six or more, and not
/// the first, which of SATA drives is the serial number with the vendor glued to it.
fn inquiry(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let like = |word: &&&str| {
        word.len() > 5
            && word.bytes().any(|b| b.is_ascii_digit())
            && word.bytes().any(|b| b.is_ascii_uppercase())
    };
    words.get(1..)?.iter().find(like).or_else(|| words.first()).map(|word| word.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_and_models() {
        assert_eq!(policy("RWBD"), Some(WritePolicy::Back));
        assert_eq!(policy("NRWTD"), Some(WritePolicy::Through));
        assert_eq!(policy("WriteThrough"), Some(WritePolicy::Through));
        assert_eq!(policy("Direct"), None);
        let text = "EXA0311YHGXHPPAExample EXS723030ALA640                 MKAOA5C0";
        assert_eq!(inquiry(text).as_deref(), Some("EXS723030ALA640"));
        assert_eq!(inquiry("EXAMPLE ST4000NM0023 GS0F").as_deref(), Some("ST4000NM0023"));
    }
}
