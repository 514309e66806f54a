//! A drive's own health record as text: `smartctl -a`, `-x`, `-i`, `-H`, `-A` and `-l`.
//!
//! ## Reads
//! What smartctl prints of ATA, SAS and NVMe drives, whole or in part: information section, health,
//! attributes (the long and the brief table, single rows too), error log, self-test log, pending
//! defects, error recovery limits, counters of the SATA and SAS link, the NVMe health log and its
//! power states. The facts are those of `smart`, which reads the JSON: `smart.passed`,
//! `smart.model`, `smart.raw.197`, `smart.errors`, `smart.nvme.percentage_used` and so on. Beside
//! these `smart.error-log.unc` and `smart.error-log.icrc` count the entries of the error log that are
//! unreadable sectors or corrupt transfers, `smart.sataphy.N` is counter N of the SATA link, and
//! `smart.idle-exit-us` the longest time in which an NVMe drive wakes from a power state.
//!
//! ## Where it comes from
//! `smartctl -x /dev/sda`, also `-i`, `-H`, `-A`, `-l error`, `-l selftest`, `-l sataphy`,
//! `-l scterc`; `-d megaraid,7` behind a controller. `smartctl -j -x` holds more.
//!
//! ## Versions
//! smartmontools 5.40 to 7.5. Before 6.0 there is no rotation rate, before 7.0 the NVMe sections are
//! shorter.
//!
//! ## Traps
//! The text does not name its drive. A command line, a path or a heading with a path above it does;
//! without one the drive is called by model and serial number, as below /dev/disk/by-id. Attributes
//! have a normalised value, which falls, and a raw one, which counts: raw values are the facts. Raw
//! values of several numbers are passed over. Old self-test failures that a later long test refuted
//! are not counted. See `smart` for what the values are worth.
//!
//! ## Cannot know
//! How a value moved: two records of different days are needed. What a drive hides behind a RAID
//! controller, unless smartctl was told to look there. Whether lines are missing: they bear no
//! numbers.

use std::collections::{BTreeMap, HashSet};

use iowhy_model::typed::{BitsPerSecond, Celsius, Key, Share};
use iowhy_model::{FactKey, FactValue, Level, Nanos, Sink, key, typed};

use crate::drive::health::{
    Drive, Places, disk_behind, drive_named, leading, nvme_fact, nvme_key, nvme_value,
};
use crate::text::words::is_for_people;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "smartctl",
    summary: "drive health: what smartctl prints as text",
    manual: iowhy_model::manual!("smartctl.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(Smartctl::default()),
};

/// Lines ahead in which a command line or a heading must be followed by smartctl's own words.
const NEAR: usize = 4;

/// Attributes in the data of a monitoring plugin, from which on a line is one.
const PLUGIN: usize = 3;
/// Attributes that count what went wrong, by the names that smartctl gives them (drivedb.h).
const NAMED: [(&str, u64); 11] = [
    ("Reallocated_Sector_Ct", 5),
    ("Power_On_Hours", 9),
    ("Spin_Retry_Count", 10),
    ("End-to-End_Error", 184),
    ("Reported_Uncorrect", 187),
    ("Command_Timeout", 188),
    ("Reallocated_Event_Count", 196),
    ("Current_Pending_Sector", 197),
    ("Offline_Uncorrectable", 198),
    ("UDMA_CRC_Error_Count", 199),
    ("Multi_Zone_Error_Rate", 200),
];

/// What begins sections, tables and notes that hold no fact of ours, after blanks.
const ASIDE: &[&str] = &[
    "=== START OF ",
    "Copyright (C)",
    "General SMART Values",
    "Offline data collection",
    "Total time to complete",
    "data collection:",
    "Self-test execution status",
    "without error or no self-test",
    "Auto Offline",
    "Auto offline",
    "capabilities:",
    "SMART capabilities",
    "SMART support is",
    "Error logging capability",
    "Short self-test routine",
    "Extended self-test routine",
    "Conveyance self-test routine",
    "recommended polling time",
    "SCT capabilities",
    "SCT Status",
    "SCT Error Recovery Control",
    "SCT Feature Control",
    "SCT Data Table",
    "SMART Attributes Data Structure",
    "Vendor Specific SMART Attributes",
    "ID# ATTRIBUTE_NAME",
    "||||||_",
    "|||||__",
    "||||___",
    "|||____",
    "||_____",
    "|______",
    "SMART Error Log Version",
    "SMART Extended Comprehensive Error Log",
    "CR     = Command",
    "FEATR  =",
    "COUNT  =",
    "LBA_",
    "LH     =",
    "DEV    =",
    "DC     =",
    "ER     =",
    "Powered_Up_Time is",
    "DDd+hh:mm:SS.sss",
    "When the command that caused",
    "After command completion occurred",
    "Commands leading to the command",
    "ER ST SC SN CL CH DH",
    "ER -- ST COUNT",
    "CR FR SC SN CL CH DH DC",
    "CR FEATR COUNT",
    "-- -- -- --",
    "-- == -- ==",
    "SMART Self-test log",
    "SMART Extended Self-test Log",
    "SMART Selective self-test log",
    "Selective self-test flags",
    "SPAN  MIN_LBA",
    "Num  Test",
    "See vendor-specific Attribute list",
    "Drive failure expected",
    "Namespace ",
    "SCT Status Version",
    "Device Statistics (GP",
    "Page  Offset",
    "After scanning selected",
    "If Selective self-test",
    "Self-test supported",
    "Error Information (NVMe",
    "Manufactured in week",
    "Specified cycle count",
    "Specified load-unload",
    "Accumulated start-stop",
    "Accumulated load-unload",
    "Grown defects during",
    "Total blocks reassigned",
    "Protocol Specific port log",
    "relative target port id",
    "generation code",
    "number of phys",
    "phy identifier",
    "attached ",
    "reason:",
    "SAS address",
    "Description  ",
    "|||_",
    "||__",
    "|___",
    "Warning: ",
];

fn sniff(lines: &[&str]) -> Sniff {
    let begins_piece = |line: &&str| PIECES.iter().find(|(label, _)| is_label(line, label));
    match (lines.first().and_then(begins_piece), lines) {
        (Some(_), [_]) => Sniff::More,
        (Some((_, follow)), [_, second, ..]) => {
            follow.iter().any(|label| is_label(second, label)).into()
        }
        _ => Sniff::announced(lines, NEAR, begins, announces),
    }
}

/// Whether a line has this label in front, and its value where smartctl begins all values of a section: behind 18 letters of a
/// SATA drive, 22 of a SAS drive.
fn is_label(line: &str, label: &str) -> bool {
    let Some(rest) = line.strip_prefix(label) else { return false };
    let blanks = rest.bytes().take_while(|byte| *byte == b' ').count();
    matches!(label.len() + blanks, 18 | 22)
}

/// Labels with which a record begins whose first lines were cut off, of SAS and SATA drives, and those that may stand in the next line.
const PIECES: [(&str, &[&str]); 3] = [
    ("Vendor:", &["Product:"]),
    ("Model Family:", &["Device Model:"]),
    (
        "Device Model:",
        &["Serial Number:", "LU WWN Device Id:", "Firmware Version:", "User Capacity:"],
    ),
];

/// A line that only smartctl prints.
fn begins(line: &str) -> bool {
    let text = line.trim();
    if !is_for_people(text) {
        return false;
    }
    is_banner(text)
        || text.starts_with("=== START OF ") && text.ends_with("SECTION ===")
        || text.starts_with("SMART overall-health self-assessment test result:")
        || text.starts_with("SMART Health Status:")
        || text.starts_with("SMART/Health Information (NVMe Log")
        || text.starts_with("ID# ATTRIBUTE_NAME")
        || text.starts_with("SATA Phy Event Counters (GP Log")
        || text.starts_with("SMART Self-test log structure")
        || text.starts_with("SMART Error Log Version:")
        || text == "After command completion occurred, registers were:"
        || text == "Error counter log:"
        || logged(text).is_some()
        || is_self_test(text)
        || scanned(text).is_some()
        || attribute(text).is_some()
        || !plain_attributes(text).is_empty()
}

/// A row of the self-test log: `# 2  Extended offline    Completed: read failure       90%      5940         9321057`.
fn is_self_test(text: &str) -> bool {
    const KINDS: [&str; 8] = [
        "Short offline",
        "Extended offline",
        "Conveyance offline",
        "Selective offline",
        "Short captive",
        "Extended captive",
        "Background short",
        "Background long",
    ];
    let row = text.strip_prefix('#').map(str::trim_start);
    row.and_then(|row| row.split_once("  ")).is_some_and(|(number, rest)| {
        integer(number).is_some() && KINDS.iter().any(|kind| rest.trim_start().starts_with(kind))
    })
}

/// Sense keys of what a background scan met (SPC-4): a place that was read in the end, and one that was not.
const RECOVERED: u64 = 1;
const MEDIUM_ERROR: u64 = 3;

/// The sense key in a row of a SAS drive's background scan: `42 45671:50  0000000005370c19  [1,17,1]   Recovered via
/// rewrite in-place`: number, power-on hours and minutes, block, sense key and codes, what became of it.
fn scanned(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let (number, hours, block, sense) =
        (words.next()?, words.next()?, words.next()?, words.next()?);
    let (hours, minutes) = hours.split_once(':')?;
    let counts = [number, hours, minutes].into_iter().all(|word| integer(word).is_some());
    let is_block = block.len() == 16 && block.bytes().all(|b| b.is_ascii_hexdigit());
    let codes = sense.strip_prefix('[')?.strip_suffix(']')?;
    let (key, _) =
        codes.split_once(',').filter(|_| counts && is_block && words.next().is_some())?;
    u64::from_str_radix(key, 16).ok()
}

/// Attributes by their names in other layouts: `Current_Pending_Sector  val=099 worst=098 raw=624` of scripts, and
/// the `Name=value` of a monitoring plugin, of which a line holds several.
fn plain_attributes(text: &str) -> Vec<(u64, u64)> {
    let id_of = |name: &str| {
        let name = name.trim_end_matches(':');
        NAMED.iter().find(|(known, _)| *known == name).map(|(_, id)| *id)
    };
    if !text.contains('=') {
        return Vec::new();
    }
    let mut words = text.split_whitespace();
    if let Some(id) = words.next().and_then(id_of) {
        let raw =
            words.find_map(|word| word.strip_prefix("raw=").or(word.strip_prefix("raw_value=")));
        return raw.and_then(integer).map(|raw| (id, raw)).into_iter().collect();
    }
    let data = text.split_once('|').map_or(text, |(_, data)| data);
    let pair = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((id_of(name)?, integer(value.trim_end_matches(['c', ';']))?))
    };
    let pairs: Vec<(u64, u64)> = data.split_whitespace().filter_map(pair).collect();
    if pairs.len() < PLUGIN { Vec::new() } else { pairs }
}

/// `smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.10.0] (local build)`.
fn is_banner(text: &str) -> bool {
    text.strip_prefix("smartctl ").or_else(|| text.strip_prefix("smartctl version ")).is_some_and(
        |rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(['[', '.']),
    ) && text.contains('[')
}

/// A command line of smartctl, or a short heading with one path in /dev.
fn announces(line: &str) -> bool {
    if drive_named(line).is_none() {
        return false;
    }
    let words = line.split_whitespace().count();
    let command = line.split_whitespace().any(|word| word.rsplit('/').next() == Some("smartctl"));
    words < 4 || command && words < 24
}

/// One row of the attribute table.
struct Attribute<'a> {
    id: u64,
    name: &'a str,
    /// Its failing predicts that the drive fails, and not that it is old.
    is_prefail: bool,
    /// When it failed, if it did.
    failed: Option<&'static str>,
    /// Its raw value, if that is one number.
    raw: Option<u64>,
}

/// `  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       0`, or in
/// brief `  5 Reallocated_Sector_Ct   PO--CK   100   100   010    -    0`.
fn attribute(line: &str) -> Option<Attribute<'_>> {
    if !line.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let [id, name, flags, value, worst, threshold, rest @ ..] = words.as_slice() else {
        return None;
    };
    let id = integer(id).filter(|id| (1..256).contains(id))?;
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.len() > 3;
    let normal = |text: &str| text == "---" || integer(text).is_some_and(|n| n < 256);
    if !named || ![value, worst, threshold].into_iter().all(|text| normal(text)) {
        return None;
    }
    let (is_prefail, failed, raw) = match rest {
        [kind @ ("Pre-fail" | "Old_age"), "Always" | "Offline", failed, raw @ ..]
            if flags.starts_with("0x") =>
        {
            (*kind == "Pre-fail", failed, raw)
        }
        [failed, raw @ ..] if flags.len() >= 6 && flags.chars().all(|c| "POSRCK-+".contains(c)) => {
            (flags.starts_with('P'), failed, raw)
        }
        _ => return None,
    };
    let failed = match *failed {
        "-" => None,
        "FAILING_NOW" | "NOW" => Some("now"),
        "In_the_past" | "Past" => Some("past"),
        _ => return None,
    };
    let several = raw.get(1).is_some_and(|second| integer(second).is_some());
    let raw = raw.first().filter(|raw| !several && !raw.contains('/')).and_then(|raw| leading(raw));
    Some(Attribute { id, name, is_prefail, failed, raw })
}

/// `Error 4363 [2] occurred at disk power-on lifetime: 19435 hours (809 days + 19 hours)`: its number
/// and its hour.
fn logged(text: &str) -> Option<(u64, Option<u64>)> {
    let (number, rest) = text.strip_prefix("Error ")?.split_once(' ')?;
    let (_, hours) = rest.split_once("occurred at disk power-on lifetime:")?;
    Some((integer(number)?, leading(hours)))
}

/// What stands behind a label.
enum Behind {
    /// The text behind the colon; for the others, the whole number it begins with.
    Text(Key<String>),
    Count(Key<u64>),
    Celsius(Key<Celsius>),
    Percent(Key<Share>),
    Hours(Key<Nanos>),
}

impl Behind {
    fn fact(&self, value: &str) -> Option<(FactKey, FactValue)> {
        if let Behind::Text(key) = self {
            return Some(key.with(Some(value).filter(|value| !value.is_empty())?));
        }
        let number = leading(value)?;
        Some(match self {
            Behind::Text(key) => key.with(value),
            Behind::Count(key) => key.with(number),
            Behind::Celsius(key) => key.with(Celsius(number as f64)),
            Behind::Percent(key) => key.with(Share::from_percent(number as f64)),
            Behind::Hours(key) => key.with(Nanos::from_hours(number)),
        })
    }
}

/// Labels in front of a colon, and the facts they are.
const LABELS: &[(&str, Behind)] = &[
    ("Device Model", Behind::Text(typed::SMART_MODEL)),
    ("Model Number", Behind::Text(typed::SMART_MODEL)),
    ("Firmware Version", Behind::Text(typed::SMART_FIRMWARE)),
    ("Revision", Behind::Text(typed::SMART_FIRMWARE)),
    ("ATA Error Count", Behind::Count(typed::SMART_ERRORS)),
    ("Device Error Count", Behind::Count(typed::SMART_ERRORS)),
    ("Elements in grown defect list", Behind::Count(typed::SMART_GROWN_DEFECTS)),
    ("Pending defect count", Behind::Count(typed::SMART_PENDING_DEFECTS)),
    ("Non-medium error count", Behind::Count(typed::SMART_NON_MEDIUM_ERRORS)),
    ("Current Drive Temperature", Behind::Celsius(typed::SMART_CELSIUS)),
    ("Current Temperature", Behind::Celsius(typed::SMART_CELSIUS)),
    ("Accumulated power on time, hours", Behind::Hours(typed::SMART_HOURS)),
    ("Percentage used endurance indicator", Behind::Percent(typed::SMART_WEAR)),
    ("Warning Comp. Temp. Threshold", Behind::Celsius(typed::SMART_CELSIUS_WARNING)),
    ("Power On Hours", Behind::Hours(typed::SMART_HOURS)),
];
/// Counters of a SAS link behind an equals sign, as the kernel names them in sas_phy.
const SAS_PHY: &[(&str, &str)] = &[
    ("Invalid DWORD count", "invalid_dword_count"),
    ("Running disparity error count", "running_disparity_error_count"),
    ("Loss of DWORD synchronization", "loss_of_dword_sync_count"),
    ("Phy reset problem", "phy_reset_problem_count"),
];
/// Labels that hold no fact of ours.
const KNOWN: &[&str] = &[
    "Model Family",
    "Vendor",
    "Product",
    "Serial Number",
    "Serial number",
    "LU WWN Device Id",
    "Logical Unit id",
    "User Capacity",
    "Sector Size",
    "Sector Sizes",
    "Logical block size",
    "Physical block size",
    "Rotation Rate",
    "Form Factor",
    "TRIM Command",
    "Device is",
    "Device type",
    "ATA Version is",
    "ATA Standard is",
    "SATA Version is",
    "Local Time is",
    "Transport protocol",
    "Compliance",
    "Temperature Warning",
    "Read Cache is",
    "Writeback Cache is",
    "Write cache is",
    "Rd look-ahead is",
    "AAM feature is",
    "APM feature is",
    "APM level is",
    "DSN feature is",
    "ATA Security is",
    "Wt Cache Reorder",
    "PCI Vendor/Subsystem ID",
    "IEEE OUI Identifier",
    "Total NVM Capacity",
    "Unallocated NVM Capacity",
    "Controller ID",
    "NVMe Version",
    "Number of Namespaces",
    "Firmware Updates (0x16)",
    "Maximum Data Transfer Size",
    "Drive Trip Temperature",
];

/// The table a line may stand in.
#[derive(Clone, Copy, Default, PartialEq)]
enum Table {
    #[default]
    None,
    /// `SCT Error Recovery Control:`, then `Read:` and `Write:`.
    Recovery,
    /// `ID      Size     Value  Description` of the SATA link.
    Phy,
    /// `Pending Defects log`, then `Index  LBA  Hours`.
    Pending,
    /// `St Op     Max   Active ...` of NVMe.
    PowerStates,
    /// The error counter log of SCSI.
    Counters,
}

#[derive(Default)]
struct Smartctl {
    places: Places,
    drive: Drive,
    table: Table,
    /// Something of this drive was read: a new heading is of another.
    begun: bool,
    vendor: String,
    /// By attribute 194, or by 190.
    celsius: Option<u64>,
    /// Of the error log: its highest number, entries of unreadable sectors and of corrupt transfers.
    errors: Option<u64>,
    last_error_hours: Option<u64>,
    unreadable: u64,
    /// Places that its background scan rewrote.
    rewritten: u64,
    corrupt: u64,
    /// Rows of self-tests that failed.
    tests_known: HashSet<String>,
    /// Of the self-test log: failures, and those that are outdated; `None` if no log was seen.
    failed_tests: Option<u64>,
    outdated: u64,
    pending: u64,
    /// The longest exit latency of a power state that is not operational, microseconds.
    idle_exit_us: Option<u64>,
    /// Counters of its phys, all together: a drive with two ports has two, and each counts for
    /// itself.
    phys: BTreeMap<&'static str, u64>,
    /// Attributes that predict a failure now.
    prefail_now: Vec<String>,
    /// Where the last line stood.
    place: String,
}

impl Reader for Smartctl {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        let heading = is_banner(text) || announces(text);
        if heading && self.begun && !text.is_empty() {
            return Step::Ended;
        }
        self.place = self.places.next(sink);
        if let Some(name) = drive_named(text).filter(|_| announces(text)) {
            self.drive.named(&name);
            return Step::Took;
        }
        if let Some(name) = disk_behind(text) {
            self.drive.named(&name);
        }
        if text.is_empty() || is_banner(text) {
            self.table = Table::None;
            return Step::Took;
        }
        let took = self.fact(text) || ASIDE.iter().any(|aside| text.starts_with(aside));
        self.begun |= took;
        let aside = begins(text) || is_dump(text) || line.starts_with('\t');
        if took || aside || self.table != Table::None && indented(line) {
            return Step::Took;
        }
        Step::Passed
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.totals();
        self.drive.pour(sink);
    }
}

impl Smartctl {
    fn add_fact<V: Into<FactValue>>(&mut self, key: Key<V>, value: impl Into<V>) {
        self.drive.add_fact(key, value, &self.place);
    }

    /// Takes a line that holds a fact, or could.
    fn fact(&mut self, text: &str) -> bool {
        let plain = plain_attributes(text);
        for (id, raw) in &plain {
            self.add_fact(typed::SMART_RAW.member(id), *raw);
        }
        if !plain.is_empty() {
            return true;
        }
        if let Some(known) = attribute(text) {
            self.attribute(&known);
            return true;
        }
        self.table_row(text) || self.log(text) || self.label(text)
    }

    fn attribute(&mut self, known: &Attribute) {
        if let Some(raw) = known.raw {
            self.add_fact(typed::SMART_RAW.member(known.id), raw);
            match known.name {
                "Power_On_Hours" | "Power_On_Hours_and_Msec" => {
                    self.add_fact(typed::SMART_HOURS, Nanos::from_hours(raw));
                }
                // As smartctl does for the JSON: 194 before 190.
                _ if known.id == 194 || known.id == 190 && self.celsius.is_none() => {
                    self.celsius = Some(raw);
                }
                _ => {}
            }
        }
        if let Some(failed) = known.failed {
            self.add_fact(typed::SMART_FAILED.member(known.id), failed);
            if known.is_prefail && failed == "now" {
                self.prefail_now.push(known.id.to_string());
            }
        }
    }

    /// Error log and self-test log.
    fn log(&mut self, text: &str) -> bool {
        if let Some((number, hours)) = logged(text) {
            self.errors = self.errors.max(Some(number));
            self.last_error_hours = self.last_error_hours.max(hours);
            return true;
        }
        if let Some((_, what)) = text.split_once("  Error: ") {
            // The codes come first, then the place.
            let codes = what.split(" at ").next().unwrap_or(what);
            self.unreadable += u64::from(codes.contains("UNC"));
            self.corrupt += u64::from(codes.contains("ICRC"));
            return true;
        }
        if let Some(key) = scanned(text) {
            self.unreadable += u64::from(key == MEDIUM_ERROR);
            self.rewritten += u64::from(key == RECOVERED);
            return true;
        }
        if text == "No Errors Logged" {
            return true;
        }
        if let Some(row) = text.strip_prefix('#') {
            let number = row.trim_start().split(' ').next().and_then(integer);
            if number.is_some() && row.contains("  ") {
                let failed = [": read failure", ": electrical", ": servo", ": unknown failure"];
                let failed = failed.iter().any(|words| row.contains(words))
                    || row.contains("Fatal or unknown error")
                    || row.contains("Failed in segment")
                    || row.contains("Completed: ") && row.contains("failure");
                let so_far = self.failed_tests.unwrap_or(0);
                // A report that was pasted twice has each test twice.
                let new = !failed || self.tests_known.insert(row.to_string());
                self.failed_tests = Some(so_far + u64::from(failed && new));
                return true;
            }
        }
        if let Some((outdated, rest)) = text.split_once(" of ")
            && rest.contains("failed self-tests are outdated")
        {
            self.outdated = integer(outdated).unwrap_or(0);
            return true;
        }
        text.starts_with("No self-tests have been logged")
            || text.starts_with("No Self-tests Logged")
    }

    fn table_row(&mut self, text: &str) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        let begun = match text {
            _ if text.starts_with("SCT Error Recovery Control:") => Some(Table::Recovery),
            _ if text.starts_with("SATA Phy Event Counters") => Some(Table::Phy),
            _ if text.starts_with("Pending Defects log") => Some(Table::Pending),
            _ if text.starts_with("Supported Power States") => Some(Table::PowerStates),
            _ if text.starts_with("Error counter log") => Some(Table::Counters),
            _ => None,
        };
        if let Some(table) = begun {
            self.table = table;
            return true;
        }
        match (self.table, words.as_slice()) {
            (Table::Recovery, [way @ ("Read:" | "Write:"), value, ..]) => {
                if let Some(tenths) = leading(value) {
                    let key = match *way {
                        "Read:" => typed::SMART_SCTERC_READ,
                        _ => typed::SMART_SCTERC_WRITE,
                    };
                    self.add_fact(key, Nanos::from_ms(tenths as f64 * 100.0));
                }
                true
            }
            (_, [id, size, value, ..]) if is_phy(id) && size.len() == 1 => {
                let Some(id) = leading(id) else { return false };
                if let Some(value) = leading(value) {
                    self.add_fact(typed::SMART_SATA_PHY.member(id), value);
                }
                true
            }
            (Table::Phy, ["ID", "Size", "Value", ..]) | (Table::Pending, ["Index", ..]) => true,
            (Table::Pending, ["No", "Defects", "Logged"]) => {
                self.add_fact(typed::SMART_PENDING_DEFECTS, 0u64);
                self.table = Table::None;
                true
            }
            (Table::Pending, [place, lba, ..]) if integer(place).is_some() => {
                self.pending += u64::from(leading(lba).is_some());
                true
            }
            (Table::PowerStates, ["St", ..]) => true,
            (Table::PowerStates, [state, op, rest @ ..]) if integer(state).is_some() => {
                if *op == "-" {
                    let exit = rest.last().and_then(|word| integer(word));
                    self.idle_exit_us = self.idle_exit_us.max(exit);
                }
                true
            }
            (
                Table::Counters,
                [way @ ("read:" | "write:" | "verify:"), counts @ .., bytes, uncorrected],
            ) => {
                // Corrected at once, late, by reading or writing again, in all, attempts.
                if let [_, _, again, _, _] = counts
                    && let Some(again) = integer(again).filter(|_| *way == "read:")
                {
                    self.add_fact(typed::SMART_REREAD, again);
                }
                let sound = bytes.contains('.') || integer(bytes).is_some();
                match (*way, integer(uncorrected).filter(|_| sound)) {
                    ("read:", Some(n)) => self.add_fact(typed::SMART_UNCORRECTED_READ, n),
                    ("write:", Some(n)) => self.add_fact(typed::SMART_UNCORRECTED_WRITE, n),
                    _ => {}
                }
                true
            }
            (_, [page, offset, size, value, flags, name @ ..])
                if is_phy(page) && is_phy(offset) && integer(size).is_some() =>
            {
                // Device statistics (GP Log 0x04).
                let _ = flags;
                if name.join(" ").starts_with("Percentage Used Endurance")
                    && let Some(value) = leading(value)
                {
                    self.add_fact(typed::SMART_WEAR, Share::from_percent(value as f64));
                }
                true
            }
            _ => false,
        }
    }

    fn label(&mut self, text: &str) -> bool {
        if let Some((label, value)) = text.split_once(" = ") {
            let known = SAS_PHY.iter().find(|(theirs, _)| *theirs == label.trim());
            if let (Some((_, key)), Some(value)) = (known, leading(value)) {
                let sum = self.phys.entry(key).or_default();
                *sum = sum.saturating_add(value);
                return true;
            }
        }
        let Some((label, value)) = text.split_once(':') else { return false };
        let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
        let value = value.trim();
        if let Some((_, behind)) = LABELS.iter().find(|(theirs, _)| *theirs == label) {
            // The NVMe health log has hours of its own as well, as the JSON does.
            if label == "Power On Hours"
                && let Some(hours) = leading(value)
            {
                self.add_fact(typed::SMART_NVME.of("power_on_hours"), hours);
            }
            if matches!(label.as_str(), "Device Model" | "Model Number") {
                self.drive.model(value);
            }
            if let Some(fact) = behind.fact(value) {
                self.drive.add(fact, &self.place);
            }
            return true;
        }
        if label.starts_with("Temperature Sensor ") {
            return true;
        }
        if let Some(key) = nvme_key(&label) {
            if let Some(value) = nvme_value(key, value) {
                if key == "temperature" {
                    self.add_fact(typed::SMART_CELSIUS, Celsius(value as f64));
                }
                self.drive.add(nvme_fact(key, value), &self.place);
            }
            return true;
        }
        self.particular(&label, value)
    }

    /// Labels whose value says more than itself.
    fn particular(&mut self, label: &str, value: &str) -> bool {
        match label {
            "SMART overall-health self-assessment test result" => {
                self.add_fact(typed::SMART_PASSED, value.starts_with("PASSED"));
            }
            "SMART Health Status" => {
                self.add_fact(typed::SMART_PASSED, value.starts_with("OK"));
            }
            "Serial Number" | "Serial number" => self.drive.serial(value),
            "Vendor" => self.vendor = value.to_string(),
            "Product" => {
                let model = format!("{} {value}", self.vendor).trim().to_string();
                self.drive.model(&model);
                self.add_fact(typed::SMART_MODEL, model);
            }
            "Rotation Rate" if value.starts_with("Solid State") => {
                self.add_fact(typed::SMART_RPM, 0u64);
            }
            "Rotation Rate" => {
                if let Some(rpm) = leading(value) {
                    self.add_fact(typed::SMART_RPM, rpm);
                }
            }
            "ATA Version is" => self.add_fact(typed::SMART_PROTOCOL, "ATA"),
            "Transport protocol" => self.add_fact(typed::SMART_PROTOCOL, "SCSI"),
            "NVMe Version" | "Number of Namespaces" => {
                if !self.drive.has(key::SMART_PROTOCOL) {
                    self.add_fact(typed::SMART_PROTOCOL, "NVMe");
                }
            }
            "SATA Version is" => self.link(value),
            "Write cache is" | "Writeback Cache is" => {
                let on = match value.split(' ').next() {
                    Some("Enabled") => true,
                    Some("Disabled") => false,
                    _ => return true,
                };
                self.add_fact(typed::DRIVE_WRITE_CACHE, on);
            }
            _ => return KNOWN.contains(&label),
        }
        true
    }

    /// `SATA 3.1, 6.0 Gb/s (current: 3.0 Gb/s)`.
    fn link(&mut self, value: &str) {
        let speed = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            let place = words.iter().position(|word| word.starts_with("Gb/s"))?;
            let speed = decimal(words.get(place.checked_sub(1)?)?)?;
            Some(BitsPerSecond(speed * 1e9))
        };
        let (most, now) = value.split_once("(current:").unwrap_or((value, ""));
        if let Some(now) = speed(now) {
            self.add_fact(typed::SMART_LINK_SPEED, now);
        }
        if let Some(most) = speed(most) {
            self.add_fact(typed::SMART_LINK_SPEED_MAX, most);
        }
    }

    /// What is known only at the end of the drive's record.
    fn totals(&mut self) {
        if !self.drive.has(key::SMART_ERRORS)
            && let Some(errors) = self.errors
        {
            self.add_fact(typed::SMART_ERRORS, errors);
        }
        if !self.drive.has(key::SMART_CELSIUS)
            && let Some(celsius) = self.celsius
        {
            self.add_fact(typed::SMART_CELSIUS, Celsius(celsius as f64));
        }
        if let Some(hours) = self.last_error_hours {
            self.add_fact(typed::SMART_ERROR_LOG_HOURS, Nanos::from_hours(hours));
        }
        for (key, count) in [
            (typed::SMART_ERROR_LOG_UNC, self.unreadable),
            (typed::SMART_ERROR_LOG_ICRC, self.corrupt),
            (typed::SMART_SCAN_REWRITTEN, self.rewritten),
        ] {
            if count > 0 {
                self.add_fact(key, count);
            }
        }
        if let Some(failed) = self.failed_tests {
            let failed = failed.saturating_sub(self.outdated);
            self.add_fact(typed::SMART_SELF_TEST_ERRORS, failed);
        }
        if self.pending > 0 {
            self.add_fact(typed::SMART_PENDING_DEFECTS, self.pending);
        }
        if let Some(exit) = self.idle_exit_us {
            self.add_fact(typed::SMART_IDLE_EXIT, Nanos::from_us(exit as f64));
        }
        for (key, sum) in std::mem::take(&mut self.phys) {
            self.add_fact(typed::PHY.of(key), sum);
        }
        let failing = std::mem::take(&mut self.prefail_now);
        if !failing.is_empty() {
            self.add_fact(typed::SMART_PREFAIL_NOW, failing);
        }
    }
}

fn indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

/// `0x0001`, a counter or a page by number.
fn is_phy(word: &str) -> bool {
    word.len() > 3
        && word.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Registers and commands of the error log: `60 00 08 80 7e 08 4f 00  36d+21:46:24.325  READ ...`.
fn is_dump(text: &str) -> bool {
    let hex = |word: &&str| word.len() == 2 && word.bytes().all(|b| b.is_ascii_hexdigit());
    text.split_whitespace().take_while(hex).count() >= 5
}

#[cfg(test)]
mod tests {
    use iowhy_model::FactValue;

    use crate::scan::recorded;

    fn facts(text: &str) -> Vec<(String, String)> {
        let recording = recorded(text);
        let all = recording.listings.iter().flat_map(|listing| &listing.facts);
        all.map(|fact| (fact.key.to_string(), fact.value.to_string())).collect()
    }

    fn value(text: &str, key: &str) -> Option<String> {
        facts(text).into_iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    #[test]
    fn single_rows_that_somebody_filtered_are_read() {
        let text = "  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       2872\n\
                    197 Current_Pending_Sector  -O--C-   099   099   000    -    624\n";
        assert_eq!(value(text, "smart.raw.5").as_deref(), Some("2872"));
        assert_eq!(value(text, "smart.raw.197").as_deref(), Some("624"));
    }

    #[test]
    fn an_excerpt_of_the_error_log_counts_what_it_shows() {
        let text = "  After command completion occurred, registers were:\n\
                    \x20 40 51 00 80 7e 08 0f  Error: UNC at LBA = 0x0f087e80 = 252214912\n\
                    Error 4363 occurred at disk power-on lifetime: 19435 hours (809 days + 19 hours)\n\
                    \x20 84 51 00 80 7e 08 0f  Error: ICRC, ABRT at LBA = 0x0f087e80 = 252214912\n";
        assert_eq!(value(text, "smart.errors").as_deref(), Some("4363"));
        assert_eq!(value(text, "smart.error-log.unc").as_deref(), Some("1"));
        assert_eq!(value(text, "smart.error-log.icrc").as_deref(), Some("1"));
    }

    #[test]
    fn attributes_by_name_in_other_layouts() {
        let text = "Current_Pending_Sector   val=099 worst=098 thresh=000  raw=624\n";
        assert_eq!(value(text, "smart.raw.197").as_deref(), Some("624"));
        let text =
            "OK: no errors |Spin_Retry_Count=0 Current_Pending_Sector=7 UDMA_CRC_Error_Count=3\n";
        assert_eq!(value(text, "smart.raw.197").as_deref(), Some("7"));
        // Two pairs may be anything, and so may a name that smartctl does not know.
        for text in [
            "Current_Pending_Sector=7 UDMA_CRC_Error_Count=3",
            "Pending_Sector val=099 raw=624",
            "Current_Pending_Sector is 624",
        ] {
            assert!(super::plain_attributes(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn one_record_of_any_number_of_phys_is_one_look() {
        const BANNER: &str = "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local \
        build)\nTransport protocol:   SAS (SPL-4)\n";
        for phys in 1..5u64 {
            let mut text = BANNER.to_string();
            for phy in 0..phys {
                text += &format!(
                    "  phy identifier = {phy}\n    Invalid DWORD count = {phy}\n    Loss of DWORD \
                     synchronization = 1\n"
                );
            }
            let count = facts(&text)
                .into_iter()
                .filter(|(key, _)| key == "phy.loss_of_dword_sync_count")
                .count();
            assert_eq!(count, 1);
            assert_eq!(value(&text, "phy.loss_of_dword_sync_count"), Some(phys.to_string()));
            let invalid = (0..phys).sum::<u64>().to_string();
            assert_eq!(value(&text, "phy.invalid_dword_count"), Some(invalid));
        }
    }

    #[test]
    fn what_predicts_a_failure_now_is_said() {
        let text = "  5 Reallocated_Sector_Ct   0x0033   001   001   036    Pre-fail  Always   FAILING_NOW 4095\n\
                    190 Airflow_Temperature_Cel \
                    0x0022   040   040   045    Old_age   Always   FAILING_NOW 60\n\
                    \x201 Raw_Read_Error_Rate     0x002f   100   001   006    Pre-fail  Always   In_the_past 0\n";
        assert_eq!(value(text, "smart.prefail-now").as_deref(), Some("5"));
        let brief = "  5 Reallocated_Sector_Ct   PO--CK   001   001   036    NOW  4095\n\
                     197 Current_Pending_Sector  -O--C-   001   001   036    NOW  624\n";
        assert_eq!(value(brief, "smart.prefail-now").as_deref(), Some("5"));
    }

    #[test]
    fn drives_whose_serial_numbers_are_hidden_are_each_their_own() {
        let record = |serial: &str| {
            format!(
                "smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.10.0] (local build)\n\
                 Device Model:     EXAMPLE HD8000\nSerial Number:    {serial}\n\
                 199 UDMA_CRC_Error_Count    0x003e   200   200   000    Old_age   Always       -       0\n"
            )
        };
        let drives = |serial: &str| {
            let recording = recorded(&format!("{}{}", record(serial), record(serial)));
            let names = recording.devices().iter().map(|known| known.name.clone());
            names.collect::<std::collections::BTreeSet<String>>().len()
        };
        for hidden in ["[redacted]", "XXXXXXXX", "WD-WCCXXXXX", "<removed>"] {
            assert_eq!(drives(hidden), 2, "{hidden}");
        }
        assert_eq!(drives("EXA0001"), 1);
    }

    #[test]
    fn two_drives_in_one_text_stay_apart() {
        let text = "# smartctl -H /dev/sda\nsmartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.10] (local build)\n\
                    SMART overall-health self-assessment test result: PASSED\n\
                    # smartctl -H /dev/sdb\nsmartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.10] (local build)\n\
                    SMART overall-health self-assessment test result: FAILED!\n";
        let recording = recorded(text);
        let of = |place: usize| {
            let fact = &recording.listings[place].facts[0];
            (recording.device_of(fact.device.unwrap()).name.clone(), fact.value.clone())
        };
        assert_eq!(of(0), ("sda".to_string(), FactValue::Flag(true)));
        assert_eq!(of(1), ("sdb".to_string(), FactValue::Flag(false)));
    }
}
