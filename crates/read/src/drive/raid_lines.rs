//! What the tools of RAID controllers print of volumes, drives, caches and batteries, line by line. Their JSON
//! has the same labels.

use iowhy_model::Sink;

use crate::drive::health::{Places, drive_named, leading, state};
use crate::{decimal, integer};

/// Labels in front of `:` or `=`, whose value is a fact of the drive or volume being read.
const LABELS: &[(&str, &str, Take)] = &[
    ("Media Error Count", "member.errors.media", Take::Count),
    ("Other Error Count", "member.errors.other", Take::Count),
    ("Predictive Failure Count", "member.errors.predictive", Take::Count),
    ("Shield Counter", "", Take::Count),
    ("Firmware state", "member.state", Take::State),
    ("Model Number", "device.model", Take::Text),
    ("Inquiry Data", "device.model", Take::Inquiry),
    ("Drive Temperature", "device.celsius", Take::Count),
    ("Drive has flagged a S.M.A.R.T alert", "smart.passed", Take::Alert),
    ("S.M.A.R.T alert flagged by drive", "smart.passed", Take::Alert),
    ("Media Type", "device.medium", Take::Medium),
    ("Drive Type", "device.medium", Take::Medium),
    ("Interface Type", "device.medium", Take::Medium),
    ("Device Speed", "device.max_link_speed", Take::Speed),
    ("Link Speed", "device.link_speed", Take::Speed),
    ("Current Cache Policy", "array.write_cache", Take::Policy),
    ("Default Cache Policy", "array.write_cache.asked", Take::Policy),
    ("Status of volume", "array.state", Take::State),
    ("Volume state", "array.state", Take::State),
    ("Controller Status", "controller.state", Take::State),
    ("Cache Status", "controller.cache", Take::State),
    ("Battery/Capacitor Status", "controller.battery", Take::State),
    ("Battery State", "controller.battery", Take::State),
    ("Battery Replacement required", "controller.battery", Take::If("replacement required")),
    ("Battery Pack Missing", "controller.battery", Take::If("missing")),
    ("Learn Cycle Active", "controller.battery", Take::If("learning")),
    ("Remaining Capacity Low", "controller.battery", Take::If("capacity low")),
    ("Write cache enabled", "array.write_cache", Take::Enabled),
    ("Percentage complete", "array.percent", Take::Percent),
];
/// Labels known to hold nothing of ours; they keep a listing together.
const KNOWN: &[&str] = &[
    "Sequence Number",
    "Enclosure position",
    "PD Type",
    "Raw Size",
    "Non Coerced Size",
    "Coerced Size",
    "Last Predictive Failure Event Seq Number",
    "SAS Address(0)",
    "SAS Address(1)",
    "Connected Port Number",
    "FDE Capable",
    "FDE Enable",
    "Secured",
    "Locked",
    "Needs EKM Attention",
    "Foreign State",
    "Drive",
    "Name",
    "RAID Level",
    "Size",
    "Strip Size",
    "Stripe Size",
    "Number Of Drives",
    "Span Depth",
    "Access Policy",
    "Disk Cache Policy",
    "Encryption Type",
    "Is VD Cached",
    "Mirror Data",
    "Sector Size",
    "Bad Blocks Exist",
    "BatteryType",
    "Voltage",
    "Current",
    "Temperature",
    "Charging Status",
    "Learn Cycle Requested",
    "Learn Cycle Status",
    "Learn Cycle Timeout",
    "I2c Errors Detected",
    "Periodic Learn Required",
    "Transparent Learn",
    "Exit Code",
    "CLI Version",
    "Operating system",
    "Controller",
    "Status",
    "Description",
    "Cache configured",
    "Total cache memory",
    "Cache Ratio",
    "Read cache memory",
    "Write cache memory",
    "Cache Status Details",
    "Cache Disable Reason",
    "Cache Board Present",
    "Last Failure Reason",
    "Port",
    "Box",
    "Bay",
    "Enclosure #",
    "Slot #",
    "SAS Address",
    "Manufacturer",
    "Firmware Revision",
    "Serial No",
    "Unit Serial No(VPD)",
    "GUID",
    "Protocol",
    "Size (in MB)/(in sectors)",
    "Volume ID",
    "Volume wwid",
    "RAID level",
    "Size (in MB)",
    "Boot",
    "Physical hard disks",
    "Physical disk I/Os",
    "Volume status",
    "Controller type",
    "Serial Number",
    "Drive exposed to OS",
    "Rotational Speed",
    "PHY Count",
    "Board ID",
    "Logical drives",
    "Running firmware",
    "ROM firmware",
    "Physical drives",
    "Temporary disable condition",
    "Drive Write Cache",
    "No-Battery Write Cache",
    "Accelerator Ratio",
    "Relative State of Charge",
    "Absolute state of charge",
    "Battery state",
    "GasGuageStatus",
];

/// How a value is read.
#[derive(Clone, Copy)]
enum Take {
    Text,
    /// The whole number it begins with.
    Count,
    Percent,
    /// As printed, in lower case; nothing where a drive is simply online.
    State,
    /// `Yes`: this is the state; `No` says nothing.
    If(&'static str),
    /// Serial number and model run together, with the revision behind.
    Inquiry,
    /// `Yes` or `No` of a SMART alert.
    Alert,
    Medium,
    Speed,
    Policy,
    Enabled,
}

/// The header of storcli's table of volumes, and of drives.
pub(crate) const VOLUMES: &[&str] = &["DG/VD", "TYPE", "State"];
pub(crate) const DRIVES: &[&str] = &["EID:Slt", "DID", "State"];
/// That of the phys of an enclosure, and the counter of each column (SPL, link error counters of a phy).
pub(crate) const PHYS: &[&str] =
    &["EID", "PNO", "InDwdCnt", "RnDiErCnt", "LsDwSyCnt", "PRstPrbCnt"];
const PHY_COUNTERS: [&str; 4] = [
    "invalid_dword_count",
    "running_disparity_error_count",
    "loss_of_dword_sync_count",
    "phy_reset_problem_count",
];

/// Parts of `ssacli ... show detail` that are about no drive.
const PARTS: [&str; 7] =
    ["Array", "Logical Drive", "Unassigned", "HBA Drives", "Port Name", "SEP", "Expander"];

/// Lines that only such a tool prints.
pub(crate) fn begins(text: &str) -> bool {
    let label = text.split_once([':', '=']).map(|(label, _)| label.trim());
    label.is_some() && text.contains("Non-Volatile Cache status:")
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
    Logical { number: &'a str, said: Vec<&'a str> },
    Physical { place: &'a str, said: Vec<&'a str> },
    Status { device: &'a str, controller: &'a str, said: &'a str },
}

pub(crate) fn volume(text: &str) -> Option<Row<'_>> {
    if !text.starts_with(['l', 'p', '/']) {
        return None;
    }
    let (head, inside) = text.split_once(" (").unwrap_or((text, ""));
    let said = || -> Option<Vec<&str>> {
        Some(inside.strip_suffix(')')?.split(", ").map(str::trim).collect())
    };
    if let Some(number) = head.strip_prefix("logicaldrive ") {
        return Some(Row::Logical { number, said: said()? });
    }
    if let Some(place) = head.strip_prefix("physicaldrive ") {
        return Some(Row::Physical { place, said: said()? });
    }
    let (device, rest) = text.strip_prefix("/dev/")?.split_once(": (")?;
    let (controller, rest) = rest.split_once(") ")?;
    let (what, said) = rest.split_once("status: ")?;
    what.contains("Volume").then_some(Row::Status {
        device,
        controller,
        said: said.trim().trim_end_matches('.'),
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
    places: Places,
    /// The number of the controller.
    number: Option<u64>,
    enclosure: Option<String>,
    /// The volume or drive that lines are about.
    about: Option<String>,
    table: Table,
    header: String,
    /// Volumes of a Smart Array by the controller's name: what is said of its cache is theirs.
    volumes: Vec<(String, String)>,
    place: String,
}

impl Controller {
    /// What is said from here on stands in the next line of the input.
    pub(crate) fn at_next_line(&mut self, sink: &mut dyn Sink) {
        self.place = self.places.next(sink);
    }

    /// Takes a line of the printed form; false if it says nothing.
    pub(crate) fn says(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        self.heading(text, sink)
            || self.row(text, sink)
            || self.cells(text, sink)
            || self.label(text, sink)
    }

    /// Another part of a document begins: what is said is about no drive or volume until it names one.
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
        // Of `show detail`: its state stands below, as `Status`.
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
                    let alias = format!("megaraid,{id}");
                    state(sink, drive, "device.alias", alias, &self.place);
                }
            }
            _ => return false,
        }
        true
    }

    fn row(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        let Some(row) = volume(text) else { return false };
        match row {
            Row::Logical { number, said } => {
                let name = format!("{}/v{}", self.controller(), number);
                // The last words are the state; what is being done follows it.
                let words = said.get(2..).unwrap_or_default();
                self.volume(&name, words, sink);
            }
            Row::Physical { place, said } => {
                let name = format!("{}/{}", self.controller(), place);
                let medium = said.iter().find_map(|word| match *word {
                    "SAS" | "SATA" | "SAS HDD" | "SATA HDD" => None,
                    "Solid State SATA" | "Solid State SAS" | "SATA SSD" | "SAS SSD" => {
                        Some("flash")
                    }
                    _ => None,
                });
                if let Some(medium) = medium {
                    state(sink, &name, "device.medium", medium, &self.place);
                }
                let last = said.iter().rfind(|word| **word != "spare").copied().unwrap_or("");
                if !last.is_empty() {
                    let value = last.to_ascii_lowercase();
                    state(sink, &name, "member.state", value, &self.place);
                }
            }
            Row::Status { device, controller, said } => {
                let volume = (controller.to_string(), device.to_string());
                self.volume(device, &[said], sink);
                self.volumes.push(volume);
            }
        }
        true
    }

    /// A volume's state, and its work if the words say so: `Recovering, 22.63% complete`.
    fn volume(&mut self, name: &str, words: &[&str], sink: &mut dyn Sink) {
        let Some(first) = words.first() else { return };
        let (said, percent) = match first.split_once(", ") {
            Some((said, percent)) => (said, Some(percent)),
            None => (*first, words.get(1).copied()),
        };
        let lower = said.to_ascii_lowercase();
        state(sink, name, "array.state", lower.clone(), &self.place);
        let action = match lower.as_str() {
            "recovering" | "rebuilding" => "rebuild",
            "parity initialization in progress" | "initializing" => "init",
            "transforming" | "expanding" => "reshape",
            _ => return,
        };
        state(sink, name, "array.action", action, &self.place);
        let percent = percent.and_then(|text| decimal(text.split('%').next()?.trim()));
        if let Some(percent) = percent {
            state(sink, name, "array.percent", percent.to_string(), &self.place);
        }
    }

    /// A row of one of storcli's tables.
    fn cells(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        match (self.table, words.as_slice()) {
            (Table::Volumes, [place, _, volume_state, ..]) if place.contains('/') => {
                let Some(number) = place.split('/').nth(1).and_then(integer) else { return false };
                let name = format!("{}/v{number}", self.controller());
                let said = match *volume_state {
                    "Optl" => "optimal",
                    "Dgrd" => "degraded",
                    "Pdgd" => "partially degraded",
                    "Rec" => "recovery",
                    "OfLn" => "offline",
                    other => other,
                };
                state(sink, &name, "array.state", said, &self.place);
                let titles: Vec<&str> = self.header.split_whitespace().collect();
                let place = titles.iter().position(|title| *title == "Cache");
                if let Some(cache) = place.and_then(|place| words.get(place))
                    && let Some(policy) = policy(cache)
                {
                    state(sink, &name, "array.write_cache", policy, &self.place);
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
                    let alias = format!("megaraid,{id}");
                    state(sink, &name, "device.alias", alias, &self.place);
                }
                let said = match *drive_state {
                    "Onln" | "UGood" | "JBOD" => None,
                    "Rbld" => Some("rebuilding"),
                    "Offln" => Some("offline"),
                    "UBad" | "UBUnsp" => Some("bad"),
                    "DHS" | "GHS" => Some("spare"),
                    "Failed" | "Fail" => Some("failed"),
                    "Msng" => Some("missing"),
                    other => Some(other),
                };
                if let Some(said) = said {
                    state(sink, &name, "member.state", said, &self.place);
                }
                let medium = words.windows(2).find_map(|pair| match pair {
                    ["SATA" | "SAS", "HDD"] => Some("rotational"),
                    ["SATA" | "SAS", "SSD"] => Some("flash"),
                    ["NVMe", "SSD"] => Some("nvme"),
                    _ => None,
                });
                if let Some(medium) = medium {
                    state(sink, &name, "device.medium", medium, &self.place);
                }
                true
            }
            (Table::Progress, [path, percent, rest @ ..]) if path.starts_with("/c") => {
                let name = path.trim_start_matches('/');
                if let Some(percent) = decimal(percent).filter(|_| !rest.is_empty()) {
                    state(sink, name, "member.state", "rebuilding", &self.place);
                    state(sink, name, "array.percent", percent.to_string(), &self.place);
                }
                true
            }
            (Table::Phys, [enclosure, phy, counts @ ..]) if counts.len() == PHY_COUNTERS.len() => {
                let counts: Option<Vec<u64>> = counts.iter().map(|word| integer(word)).collect();
                let numbers = integer(enclosure).zip(integer(phy)).zip(counts);
                let Some(((enclosure, phy), counts)) = numbers else { return false };
                let name = format!("{}/e{enclosure}/phy{phy}", self.controller());
                for (counter, count) in PHY_COUNTERS.iter().zip(counts) {
                    let key = format!("phy.{counter}");
                    state(sink, &name, &key, count.to_string(), &self.place);
                }
                true
            }
            (Table::Battery, [_, battery, ..]) => {
                let sound =
                    ["Optimal", "Opt", "Failed", "Degraded", "Dgd", "Fail", "Charging", "Learning"];
                let known = sound.contains(battery);
                if known {
                    let said = battery.to_ascii_lowercase();
                    let name = self.controller();
                    state(sink, &name, "controller.battery", said, &self.place);
                }
                known
            }
            _ => false,
        }
    }

    fn label(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        // A cache that is off is said in a sentence of its own.
        let off = ["Write cache temporarily disabled", "Write cache permanently disabled"];
        if off.iter().any(|words| text.starts_with(words)) {
            let value = text.to_ascii_lowercase();
            let subject = self.controller();
            state(sink, &subject, "controller.cache", value, &self.place);
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
                "Rebuild" | "Copyback" => "rebuild",
                "Background Initialization" => "init",
                _ => "check",
            };
            // Where nothing says of which volume or drive it is, it is no fact about any.
            let Some(name) = self.about.clone() else { return true };
            state(sink, &name, "array.action", action, &self.place);
            if let Some(percent) = leading(rest) {
                state(sink, &name, "array.percent", percent.to_string(), &self.place);
            }
            return true;
        }
        if label == "Status" && self.table == Table::Detail {
            let said = value.to_ascii_lowercase();
            if let Some(name) = self.about.clone().filter(|_| !said.is_empty() && said != "ok") {
                state(sink, &name, "member.state", said, &self.place);
            }
            return true;
        }
        if label == "State" {
            let Some(name) = self.about.clone() else { return true };
            let drive = name.contains("/s");
            let said = value.split(" (").next().unwrap_or(value).to_ascii_lowercase();
            let key = if drive { "member.state" } else { "array.state" };
            let plain = drive && (said == "optimal" || said == "online" || said == "ready");
            if !plain && !said.is_empty() {
                state(sink, &name, key, said, &self.place);
            }
            return true;
        }
        let Some((_, key, take)) = LABELS.iter().find(|(known, ..)| *known == label) else {
            return KNOWN.contains(&label)
                || drive_named(text).is_some() && text.contains("Smart Array");
        };
        let of_controller = key.starts_with("controller.");
        let name =
            self.about.clone().filter(|_| !of_controller).unwrap_or_else(|| self.controller());
        let value = match take {
            Take::Text => Some(value.to_string()).filter(|value| !value.is_empty()),
            Take::Count => leading(value).map(|count| count.to_string()),
            Take::Percent => {
                decimal(value.trim_end_matches('%').trim()).map(|value| value.to_string())
            }
            Take::State => state_of(key, value),
            // A battery that needs no replacement is well, until a later line says otherwise.
            Take::If(word) if value.starts_with("Yes") => Some(word.to_string()),
            Take::If(word) => {
                (*word == "replacement required" && value == "No").then(|| "ok".to_string())
            }
            Take::Inquiry => inquiry(value),
            Take::Alert => match value {
                "No" => Some("true".to_string()),
                "Yes" => Some("false".to_string()),
                _ => None,
            },
            Take::Medium => {
                let flash = value.contains("Solid State") || value.contains("SSD");
                let disk = value.contains("Hard Disk") || value.contains("HDD");
                (flash || disk).then(|| if flash { "flash" } else { "rotational" }.to_string())
            }
            Take::Speed => value
                .strip_suffix("Gb/s")
                .and_then(|speed| decimal(speed.trim()))
                .map(|speed| format!("{speed:.1} Gb/s")),
            Take::Policy => policy(value.split(',').next().unwrap_or(value)).map(str::to_string),
            Take::Enabled => match value {
                "Yes" => Some("write-back".to_string()),
                "No" => Some("write-through".to_string()),
                _ => None,
            },
        };
        if let Some(value) = value.filter(|_| !key.is_empty()) {
            state(sink, &name, key, value, &self.place);
        }
        true
    }
}

/// A state in lower case; nothing for a drive that works.
fn state_of(key: &str, value: &str) -> Option<String> {
    let said = value.split(" (").next().unwrap_or(value).trim().to_ascii_lowercase();
    let works = said.starts_with("online") || said.starts_with("unconfigured(good)");
    let plain = key == "member.state" && works;
    // `Unconfigured(bad)` of MegaCli, `UBad` of storcli.
    let said = if said.ends_with("(bad)") { "bad".to_string() } else { said };
    Some(said).filter(|said| !said.is_empty() && !plain)
}

/// What a policy does with writes: `WriteBack`, `WB` of `RWBD`; `AWB` is write-back always.
fn policy(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let short = text.len() < 7;
    match text {
        "WriteBack" | "Write Back" | "Always Write Back" => Some("write-back"),
        "WriteThrough" | "Write Through" => Some("write-through"),
        _ if short && text.contains("WB") => Some("write-back"),
        _ if short && text.contains("WT") => Some("write-through"),
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
        assert_eq!(policy("RWBD"), Some("write-back"));
        assert_eq!(policy("NRWTD"), Some("write-through"));
        assert_eq!(policy("WriteThrough"), Some("write-through"));
        assert_eq!(policy("Direct"), None);
        let text = "EXA0311YHGXHPPAExample EXS723030ALA640                 MKAOA5C0";
        assert_eq!(inquiry(text).as_deref(), Some("EXS723030ALA640"));
        assert_eq!(inquiry("EXAMPLE ST4000NM0023 GS0F").as_deref(), Some("ST4000NM0023"));
    }
}
