//! A drive's own health record as text: `smartctl -a`, `-x`, `-i`, `-H`, `-A` and `-l`.
//!
//! ## Reads
//! What smartctl prints of ATA, SAS and NVMe drives, whole or in part: information section, health,
//! attributes (the long and the brief table, single rows too), error log, self-test log, pending
//! defects, error recovery limits, counters of the SATA and SAS link, the NVMe health log and its
//! power states. The facts are those of `smart`, which reads the JSON: `smart.passed`,
//! `smart.model`, `smart.raw.197`, `smart.errors`, `smart.nvme.percentage_used` and so on. Beside
//! these `smart.error_log.unc` and `smart.error_log.icrc` count the entries of the error log that
//! are unreadable sectors or corrupt transfers, `smart.sataphy.N` is counter N of the SATA link,
//! and `smart.idle_exit` the longest time an NVMe drive needs to leave a power state.
//!
//! ## How to capture
//! `smartctl -x /dev/sda`, also `-i`, `-H`, `-A`, `-l error`, `-l selftest`, `-l sataphy`,
//! `-l scterc`; `-d megaraid,7` behind a controller. `smartctl -j -x` has more.
//!
//! ## Versions
//! smartmontools 5.40 to 7.5. Before 6.0 there is no rotation rate, before 7.0 the NVMe sections
//! are shorter.
//!
//! ## Caveats
//! The text does not name its drive. A command line, a path or a heading with a path above it does;
//! without one the drive is called by model and serial number, as below /dev/disk/by-id. Attributes
//! have a normalised value, which falls, and a raw one, which counts: raw values are the facts; of
//! the endurance left (177, 202, 231, 233 by their names) the normalised one, as
//! `smart.wear.percent`. Raw values with several numbers are ignored. Old self-test failures that a
//! later long test refuted are not counted. See `smart` for the meaning of the values.
//!
//! ## Not in this output
//! Changes of a value: two records of different days are needed. Drives behind a RAID controller,
//! unless smartctl addresses them.

use iowhy_model::key;
use iowhy_model::typed::{BitsPerSecond, Celsius, Share};

use crate::describe::drive::{celsius, firmware, hours, model, number, rpm, serial};
use crate::describe::report::*;
use crate::drive::health::{
    PHY_COUNTERS, disk_behind, drive_named, leading, nvme_fact, nvme_key, nvme_value, wear,
};

pub(super) const FORMAT: Format =
    Format::labels("drive health: text output of smartctl", Level::E, &LABELS);

// Tables that a blank line ends.
/// `SCT Error Recovery Control:`, then `Read:` and `Write:`.
const RECOVERY: &str = "recovery";
/// `ID      Size     Value  Description` of the SATA link.
const PHY: &str = "phy";
/// `Pending Defects log`, then `Index  LBA  Hours`.
const PENDING: &str = "pending";
/// `St Op     Max   Active ...` of NVMe.
const POWER_STATES: &str = "power states";
/// The error counter log of SCSI.
const COUNTERS: &str = "counters";
/// Pages of `sg_logs`: errors of reads and of writes.
const READ_ERRORS: &str = "page 3";
const WRITE_ERRORS: &str = "page 2";

static LABELS: Labels = Labels {
    command: Some(Command {
        program: "/dev/",
        subject: |line| Some(line).filter(|line| is_announcement(line)).and_then(drive_named),
        opens: Opens::Report,
    }),
    near: 4,
    may_resume: true,
    lines: &[
        says("^$", |_, report, _| report.enter("")).like(&[""]),
        perhaps("_disk_{:u}]", |found, report, _| {
            disk_behind(found.line()).and_then(|name| report.name(&name));
            None
        })
        .like(&["Device: /dev/bus/0 [megaraid_disk_07] [SAT]"]),
        begins("^smartctl {|version }{version:word} {*}[", |_, report, _| report.enter(""))
            .when(|found| {
                let version = found.text("version").unwrap_or_default();
                version.starts_with(|c: char| c.is_ascii_digit())
            })
            .opens_report()
            .like(&["smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.10.0] (local build)"]),
        // Attributes in other layouts.
        begins(
            "{Reallocated_Sector_Ct|Power_On_Hours|Spin_Retry_Count|End-to-End_Error|Reported_Uncorrect|Command_Timeout|Reallocated_Event_Count|Current_Pending_Sector|Offline_Uncorrectable|UDMA_CRC_Error_Count|Multi_Zone_Error_Rate}",
            |found, report, _| {
                plain_attributes(found.line())
                    .into_iter()
                    .try_for_each(|(id, raw)| report.fact(typed::SMART_RAW.member(id), raw))
            },
        )
        .when(|found| !plain_attributes(found.line()).is_empty())
        .like(&[
            "Current_Pending_Sector   val=099 worst=098 thresh=000  raw=624",
            "OK: no errors |Spin_Retry_Count=0 Current_Pending_Sector=7 UDMA_CRC_Error_Count=3",
        ]),
        begins("^{id:u} {:word} {:word} {:word} {:word} {:word} {:text}", attributed)
            .when(|found| attribute(found.line()).is_some())
            .shaped("^number")
            .like(&[
                "5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       \
                 -       0",
                "5 Reallocated_Sector_Ct   PO--CK   100   100   010    -    0",
            ]),
        // A row of a SAS drive's background scan: number, power-on time, block, sense key and
        // codes, what became of it.
        begins("^{:u} {:u}:{:u} {block:word} [{key:word},{:word}] {:text}", |found, report, _| {
            match u64::from_str_radix(found.text("key")?.split(',').next()?, 16).ok()? {
                RECOVERED => report.add("rewritten", 1.0),
                MEDIUM_ERROR => report.add("unreadable", 1.0),
                _ => Some(()),
            }
        })
        .when(|found| {
            let block = found.text("block").unwrap_or_default();
            block.len() == 16 && block.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
        .shaped("^number")
        .like(&["42 45671:50  0000000005370c19  [1,17,1]   Recovered via rewrite in-place"]),
        begins("^=== START OF {*}SECTION ===$", |_, _, _| Some(()))
            .like(&["=== START OF INFORMATION SECTION ==="]),
        begins("^SMART overall-health self-assessment test result:{result:text}", passed)
            .like(&["SMART overall-health self-assessment test result: PASSED"]),
        begins("^SMART Health Status:{result:text}", passed).like(&["SMART Health Status: OK"]),
        begins(
            "^{SMART/Health Information (NVMe Log|ID# ATTRIBUTE_NAME|SMART Self-test log \
             structure|SMART Error Log Version:|After command completion occurred, registers \
             were:}",
            |_, _, _| Some(()),
        )
        .like(&["ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  \
                 WHEN_FAILED RAW_VALUE"]),
        // `sg_logs -p 0x18` prints the same page.
        begins("^Protocol Specific port {|log }page for SAS SSP", |_, report, _| report.enter(""))
            .like(&[
                "Protocol Specific port log page for SAS SSP",
                "Protocol Specific port page for SAS SSP  (sas-2) [0x18]",
            ]),
        // `sg_logs -p 2`, `-p 3` and `-p 6`.
        begins("^{Read|Write} error counter page {*}[0x", |found, report, _| {
            let is_read = found.line().starts_with("Read");
            report.enter(if is_read { READ_ERRORS } else { WRITE_ERRORS })
        })
        .like(&["Read error counter page  [0x3]"]),
        says("^Total uncorrected errors = {n:u}$", |found, report, _| {
            let n = found.count("n")?;
            match report.part {
                READ_ERRORS => report.fact(typed::SMART_UNCORRECTED_READ, n),
                WRITE_ERRORS => report.fact(typed::SMART_UNCORRECTED_WRITE, n),
                _ => Some(()),
            }
        })
        .like(&["Total uncorrected errors = 17"]),
        says("^Total rewrites or rereads = {n:u}$", |found, report, _| {
            let n = found.count("n")?;
            if report.part == READ_ERRORS { report.fact(typed::SMART_REREAD, n) } else { Some(()) }
        })
        .like(&["Total rewrites or rereads = 230"]),
        begins("^Non-medium error page {*}[0x", |_, report, _| report.enter(""))
            .like(&["Non-medium error page  [0x6]"]),
        says("^Non-medium error count = {n:u}$", |found, report, _| {
            report.fact(typed::SMART_NON_MEDIUM_ERRORS, found.count("n")?)
        })
        .like(&["Non-medium error count = 0"]),
        says("^{Errors corrected |Total errors corrected|Total times correction|Total bytes \
              processed|Reserved or vendor specific [}{*} = ", |_, _, _| Some(()))
            .like(&["Errors corrected without substantial delay = 12345"]),
        begins("^relative target port id = {:u}$", |_, _, _| Some(()))
            .like(&["relative target port id = 1"]),
        begins("^SATA Phy Event Counters (GP Log", |_, report, _| report.enter(PHY))
            .like(&["SATA Phy Event Counters (GP Log 0x11)"]),
        begins("^Error counter log:$", |_, report, _| report.enter(COUNTERS))
            .shaped("counter")
            .like(&["Error counter log:"]),
        says("^SCT Error Recovery Control:", |_, report, _| report.enter(RECOVERY))
            .like(&["SCT Error Recovery Control:"]),
        says("^Pending Defects log", |_, report, _| report.enter(PENDING))
            .like(&["Pending Defects log (GP Log 0x0c)"]),
        says("^Supported Power States", |_, report, _| report.enter(POWER_STATES))
            .like(&["Supported Power States"]),
        // The error log, and that of the self-tests.
        begins("^Error {n:word} {*}occurred at disk power-on \
                lifetime:{hours:text}", |found, report, _| {
            // Of an old log the number may be negative.
            if let Some(n) = integer(found.text("n")?) {
                report.most("errors", n as f64);
            }
            leading(found.text("hours")?)
                .map_or(Some(()), |hours| report.most("error hours", hours as f64))
        })
        .like(&[
            "Error 4363 [2] occurred at disk power-on lifetime: 19435 hours (809 days + 19 hours)",
            "Error -4 occurred at disk power-on lifetime: 20114 hours (838 days + 2 hours)",
        ]),
        perhaps(" Error: {what:text}", |found, report, _| {
            // The codes come first, then the place.
            let (_, what) = found.line().split_once("  Error: ")?;
            let codes = what.split(" at ").next().unwrap_or(what);
            report.tally("unreadable", codes.contains("UNC"));
            report.tally("corrupt", codes.contains("ICRC"))
        })
        .like(&["40 51 08 08 88 e0 00  Error: UNC 8 sectors at LBA = 0x00e08808 = 14714888"]),
        // The error register of a read or a write, where smartctl does not spell it out.
        says("^{register:word} {:text} {:u} sectors at LBA = ", |found, report, _| {
            let register = u64::from_str_radix(found.text("register")?, 16).ok()?;
            report.tally("unreadable", register & UNC != 0);
            report.tally("corrupt", register & ICRC != 0)
        })
        .when(|found| is_dump(found.line()))
        .like(&["40 88 10 27 b1 0c e0   16 sectors at LBA = 0x000cb127 = 831783"]),
        begins(
            "^#{n:u} {Short offline|Extended offline|Conveyance offline|Selective offline|Short \
             captive|Extended captive|Background short|Background long}",
            self_test,
        )
        .when(|found| found.line().contains("  "))
        .like(&["# 2  Extended offline    Completed: read failure       90%      5940         \
                 9321057"]),
        perhaps("^#{n:u} {*}", self_test)
            .like(&["#10  Vendor (0xdf)       Completed without error"]),
        says("^{n:u} of {*}failed self-tests are outdated", |found, report, _| {
            report.keep("outdated", found.number("n")?)
        })
        .like(&["1 of 2 failed self-tests are outdated by newer successful extended offline \
                 self-test # 1"]),
        // Rows of the tables.
        perhaps("^{Read|Write}: {value:word}", |found, report, _| {
            (report.part == RECOVERY).then_some(())?;
            let Some(tenths) = leading(found.text("value")?) else { return Some(()) };
            let is_read = found.line().starts_with('R');
            let key = if is_read { typed::SMART_SCTERC_READ } else { typed::SMART_SCTERC_WRITE };
            report.fact(key, Nanos::from_ms(tenths as f64 * 100.0))
        })
        .like(&["Read:     70 (7.0 seconds)"]),
        says("^{id:word} {size:word} {value:word}", |found, report, _| {
            let (id, value) = (leading(found.text("id")?)?, leading(found.text("value")?));
            value.map_or(Some(()), |value| report.fact(typed::SMART_SATA_PHY.member(id), value))
        })
        .when(|found| {
            let of = |name| found.text(name).unwrap_or_default();
            is_phy(of("id")) && of("size").len() == 1
        })
        .like(&["0x0001  2            0  Command failed due to ICRC error"]),
        // Device statistics (GP Log 0x04).
        says("^{page:word} {offset:word} {:u} {value:word} {:word} \
              {name:text}", |found, report, _| {
            let is_wear = found.text("name")?.starts_with("Percentage Used Endurance");
            let percent = leading(found.text("value")?).filter(|_| is_wear);
            percent.map_or(Some(()), |percent| {
                report.fact(typed::SMART_WEAR, Share::from_percent(percent as f64))
            })
        })
        .when(|found| ["page", "offset"].iter().all(|name| found.text(name).is_some_and(is_phy)))
        .like(&["0x07  0x008  1              3  N--  Percentage Used Endurance Indicator"]),
        perhaps("^No Defects Logged$", |_, report, _| {
            (report.part == PENDING).then_some(())?;
            report.enter("");
            report.fact(typed::SMART_PENDING_DEFECTS, 0u64)
        })
        .like(&["No Defects Logged"]),
        // Registers and commands of the error log.
        says("^{:word} {:word} {:word}", |_, _, _| Some(()))
            .when(|found| is_dump(found.line()))
            .like(&["60 00 08 80 7e 08 4f 00  36d+21:46:24.325  READ FPDMA QUEUED"]),
        perhaps("^{n:u} {second:word}", row).like(&["0          9321057     5940"]),
        perhaps("^{way:word}: {counts:text}", counted)
            .when(|found| matches!(found.text("way"), Some("read" | "write" | "verify")))
            .like(&["read:   3424573        0         0   3424573          0      \
                     29847.341           0"]),
        // Labels of the first lines, where those above were cut off.
        announces("^Vendor:{vendor:text}", |found, report, _| report.quote(found.line()))
            .when(is_aligned)
            .like(&["Vendor:               SEAGATE"]),
        follows("^Product:{product:text}", |found, report, _| {
            product(found.text("product")?.trim(), report)
        })
            .when(is_aligned)
            .like(&["Product:              ST4000NM0023"]),
        announces("^Model Family:", |_, _, _| Some(()))
            .when(is_aligned)
            .like(&["Model Family:     Western Digital Red"]),
        announces("^Device Model:{model:text}", |found, report, _| {
            model(found.text("model")?.trim(), report)
        })
        .when(is_aligned)
        .like(&["Device Model:     WDC WD40EFRX-68N32N0"]),
        follows("^Serial Number:{serial:text}", |found, report, _| {
            serial(found.text("serial")?.trim(), report)
        })
        .when(is_aligned)
        .like(&["Serial Number:    WD-WCC4N0123456"]),
        follows("^Firmware Version:{version:text}", |found, report, _| {
            firmware(found.text("version")?.trim(), report)
        })
        .when(is_aligned)
        .like(&["Firmware Version: 82.00A82"]),
        follows("^{LU WWN Device Id:|User Capacity:}", |_, _, _| Some(()))
            .when(is_aligned)
            .like(&[
                "LU WWN Device Id: 5 0014ee 2b1234567",
                "User Capacity:    4,000,787,030,016 bytes",
            ]),
        // Counters of a SAS link; `sg_logs` may have been copied with two of them in a line.
        says(
            "^Invalid DWORD count = {n:#} Running disparity error count = {more:#}$",
            |found, report, _| counter(0, "n", found, report).and(counter(1, "more", found, report)),
        )
        .like(&["Invalid DWORD count = 27   Running disparity error count = 26"]),
        says(
            "^Loss of DWORD synchronization count = {n:#} Phy reset problem count = {more:#}$",
            |found, report, _| counter(2, "n", found, report).and(counter(3, "more", found, report)),
        )
        .like(&["Loss of DWORD synchronization count = 8   Phy reset problem count = 487"]),
        says("^Invalid DWORD count = {n:#}", |found, report, _| counter(0, "n", found, report))
            .like(&["Invalid DWORD count = 3"]),
        says("^Running disparity error count = {n:#}", |found, report, _| {
            counter(1, "n", found, report)
        })
        .like(&["Running disparity error count = 2"]),
        says("^Loss of DWORD synchronization {|count }= {n:#}", |found, report, _| {
            counter(2, "n", found, report)
        })
        .like(&["Loss of DWORD synchronization = 1", "Loss of DWORD synchronization count = 1"]),
        says("^Phy reset problem {|count }= {n:#}", |found, report, _| {
            counter(3, "n", found, report)
        })
        .like(&["Phy reset problem = 0", "Phy reset problem count = 0"]),
        perhaps("^{:text}", |_, report, _| (!report.part.is_empty()).then_some(()))
            .when(|found| !found.line().contains(':'))
            .like(&["ID      Size     Value  Description"]),
    ],
    labels: &[
        label(&["Device Model", "Model Number"], model),
        label(&["Vendor"], |value, report| report.quote(&format!("Vendor:{value}"))),
        label(&["Product"], product),
        label(&["Firmware Version", "Revision"], firmware),
        counts(&["ATA Error Count", "Device Error Count"], typed::SMART_ERRORS),
        counts(&["Elements in grown defect list"], typed::SMART_GROWN_DEFECTS),
        counts(&["Pending defect count"], typed::SMART_PENDING_DEFECTS),
        counts(&["Non-medium error count"], typed::SMART_NON_MEDIUM_ERRORS),
        label(&["Current Drive Temperature", "Current Temperature"], celsius),
        label(&["Warning Comp. Temp. Threshold"], |value, report| {
            number(typed::SMART_CELSIUS_WARNING, value, report, |n| Celsius(n as f64))
        }),
        label(&["Accumulated power on time, hours"], hours),
        label(&["Power On Hours"], |value, report| {
            // The NVMe health log has hours of its own as well, as the JSON does.
            number(typed::SMART_NVME.of("power_on_hours"), value, report, |n| n);
            hours(value, report)
        }),
        label(&["Percentage used endurance indicator"], |value, report| {
            number(typed::SMART_WEAR, value, report, |n| Share::from_percent(n as f64))
        }),
        label(&["Serial Number", "Serial number"], serial),
        label(&["Rotation Rate"], rpm),
        label(&["ATA Version is"], |_, report| report.fact(typed::SMART_PROTOCOL, "ATA")),
        label(&["Transport protocol"], |_, report| report.fact(typed::SMART_PROTOCOL, "SCSI")),
        label(&["NVMe Version", "Number of Namespaces"], |_, report| {
            match report.drive.has(key::SMART_PROTOCOL) {
                true => Some(()),
                false => report.fact(typed::SMART_PROTOCOL, "NVMe"),
            }
        }),
        label(&["SATA Version is"], link),
        label(&["Write cache is", "Writeback Cache is"], |value, report| {
            match value.split(' ').next() {
                Some("Enabled") => report.fact(typed::DRIVE_WRITE_CACHE, true),
                Some("Disabled") => report.fact(typed::DRIVE_WRITE_CACHE, false),
                _ => Some(()),
            }
        }),
    ],
    rest: Some(|label, value, report| {
        if let Some(key) = nvme_key(label) {
            if let Some(value) = nvme_value(key, value) {
                if key == "temperature" {
                    report.fact(typed::SMART_CELSIUS, Celsius(value as f64));
                }
                report.state(nvme_fact(key, value));
            }
            return Step::Consumed;
        }
        if report.part.is_empty() { Step::NotMine } else { Step::Consumed }
    }),
    ignored: &[
        "Model Family", "LU WWN Device Id", "Logical Unit id", "User Capacity", "Sector Size",
        "Sector Sizes", "Logical block size", "Physical block size", "Form Factor", "TRIM Command",
        "Device is", "Device type", "ATA Standard is", "Local Time is", "Compliance",
        "Temperature Warning", "Read Cache is", "Rd look-ahead is", "AAM feature is",
        "APM feature is", "APM level is", "DSN feature is", "ATA Security is", "Wt Cache Reorder",
        "PCI Vendor/Subsystem ID", "IEEE OUI Identifier", "Total NVM Capacity",
        "Unallocated NVM Capacity", "Controller ID", "Firmware Updates (0x16)",
        "Maximum Data Transfer Size", "Drive Trip Temperature",
    ],
    // Beginnings of sections, tables and notes without facts that are read.
    own: &[
        "^No Errors Logged$", "^No self-tests have been logged", "^No Self-tests Logged",
        "^Temperature Sensor ", "^=== START OF", "^Copyright (C)", "^General SMART Values",
        "^Offline data collection", "^Total time to complete", "^data collection:",
        "^Self-test execution status", "^without error or no self-test", "^Auto Offline",
        "^Auto offline", "^capabilities:", "^SMART capabilities", "^SMART support is",
        "^Error logging capability", "^Short self-test routine", "^Extended self-test routine",
        "^Conveyance self-test routine", "^recommended polling time", "^SCT capabilities",
        "^SCT Status", "^SCT Error Recovery Control", "^SCT Feature Control", "^SCT Data Table",
        "^SMART Attributes Data Structure", "^Vendor Specific SMART Attributes",
        "^ID# ATTRIBUTE_NAME", "^||||||_", "^|||||__", "^||||___", "^|||____", "^||_____",
        "^|______", "^SMART Error Log Version", "^SMART Extended Comprehensive Error Log",
        "^CR     = Command", "^FEATR  =", "^COUNT  =", "^LBA_", "^LH     =", "^DEV    =",
        "^DC     =", "^ER     =", "^Powered_Up_Time is", "^DDd+hh:mm:SS.sss",
        "^When the command that caused", "^After command completion occurred",
        "^Commands leading to the command", "^ER ST SC SN CL CH DH", "^ER -- ST COUNT",
        "^CR FR SC SN CL CH DH DC", "^CR FEATR COUNT", "^-- -- -- --", "^-- == -- ==",
        "^SMART Self-test log", "^SMART Extended Self-test Log", "^SMART Selective self-test log",
        "^Selective self-test flags", "^SPAN  MIN_LBA", "^Num  Test",
        "^See vendor-specific Attribute list", "^Drive failure expected", "^Namespace",
        "^SCT Status Version", "^Device Statistics (GP", "^Page  Offset",
        "^After scanning selected", "^If Selective self-test", "^Self-test supported",
        "^Error Information (NVMe", "^Manufactured in week", "^Specified cycle count",
        "^Specified load-unload", "^Accumulated start-stop", "^Accumulated load-unload",
        "^Grown defects during", "^Total blocks reassigned",
        "^generation code", "^number of phys", "^phy identifier",
        "^attached", "^reason:", "^SAS address", "^negotiated logical link rate", "^Description",
        "^|||_", "^||__", "^|___",
        "^Warning:",
    ],
    inner: &['\t'],
    end: Some(totals),
    ..Labels::NEW
};

/// Bits of the error register (ATA8-ACS): an uncorrectable error, and a checksum error on the way.
const UNC: u64 = 1 << 6;
const ICRC: u64 = 1 << 7;
/// Sense keys of a background scan's results (SPC-4): a sector that was read in the end, and one
/// that was not.
const RECOVERED: u64 = 1;
const MEDIUM_ERROR: u64 = 3;

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

/// Whether the value of a label begins in the column where smartctl begins all values of a section:
/// after 18 letters for a SATA drive, 22 for a SAS drive.
fn is_aligned(found: &Found) -> bool {
    let Some((label, value)) = found.line().split_once(':') else { return false };
    let blanks = value.bytes().take_while(|byte| *byte == b' ').count();
    matches!(label.len() + 1 + blanks, 18 | 22)
}

fn product(value: &str, report: &mut Report) -> Option<()> {
    let vendor = report.quoted().iter().find_map(|line| line.strip_prefix("Vendor:"));
    let name = format!("{} {value}", vendor.unwrap_or_default().trim());
    model(name.trim(), report)
}

fn passed(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let result = found.text("result")?.trim();
    report.fact(typed::SMART_PASSED, result.starts_with("PASSED") || result.starts_with("OK"))
}

/// Counters of its phys, all together: a drive with two ports has two, and each counts for itself.
fn counter(place: usize, hole: &str, found: &Found, report: &mut Report) -> Option<()> {
    report.add(PHY_COUNTERS.get(place)?, found.number(hole)?)
}

/// Attributes by their names in other layouts: `Current_Pending_Sector  val=099 worst=098 raw=624`
/// of scripts, and the `Name=value` of a monitoring plugin, several on a line.
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

/// A command line of smartctl, or a short heading with one path in /dev.
fn is_announcement(line: &str) -> bool {
    let words = line.split_whitespace().count();
    let command =
        || line.split_whitespace().any(|word| word.rsplit('/').next() == Some("smartctl"));
    words < 4 || words < 24 && command()
}

/// One row of the attribute table.
struct Attribute<'a> {
    id: u64,
    name: &'a str,
    /// Its normalised value, if it has one.
    value: Option<u64>,
    /// Its failing predicts that the drive fails, and not that it is old.
    is_prefail: bool,
    /// When it failed, if it did.
    failed: Option<&'static str>,
    /// Its raw value, if that is one number.
    raw: Option<u64>,
}

/// `  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       0`, or
/// in brief `  5 Reallocated_Sector_Ct   PO--CK   100   100   010    -    0`.
fn attribute(line: &str) -> Option<Attribute<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [id, name, flags, value, worst, threshold, rest @ ..] = words.as_slice() else {
        return None;
    };
    let id = integer(id).filter(|id| (1..256).contains(id))?;
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.len() > 3;
    let normal = |text: &&str| *text == "---" || integer(text).is_some_and(|n| n < 256);
    (named && [value, worst, threshold].into_iter().all(normal)).then_some(())?;
    let is_brief = flags.len() >= 6 && flags.chars().all(|c| "POSRCK-+".contains(c));
    let (is_prefail, rest) = match rest {
        [kind @ ("Pre-fail" | "Old_age"), "Always" | "Offline", rest @ ..]
            if flags.starts_with("0x") =>
        {
            (*kind == "Pre-fail", rest)
        }
        [_, ..] if is_brief => (flags.starts_with('P'), rest),
        _ => return None,
    };
    let failed = match rest.first() {
        // Whoever shows a normalised value cuts the rest off.
        None | Some(&"-") => None,
        Some(&("FAILING_NOW" | "NOW")) => Some("now"),
        Some(&("In_the_past" | "Past")) => Some("past"),
        Some(_) => return None,
    };
    let several = rest.get(2).is_some_and(|second| integer(second).is_some());
    let raw = rest.get(1).filter(|raw| !several && !raw.contains('/')).and_then(|raw| leading(raw));
    Some(Attribute { id, name, value: integer(value), is_prefail, failed, raw })
}

fn attributed(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let known = attribute(found.line())?;
    if let Some(raw) = known.raw {
        report.fact(typed::SMART_RAW.member(known.id), raw);
        match known.name {
            "Power_On_Hours" | "Power_On_Hours_and_Msec" => {
                report.fact(typed::SMART_HOURS, Nanos::from_hours(raw));
            }
            // As smartctl does for the JSON: 194 before 190.
            _ if known.id == 194 || known.id == 190 && report.kept("celsius").is_none() => {
                report.keep("celsius", raw as f64);
            }
            _ => {}
        }
    }
    if let Some(used) = known.value.and_then(|value| wear(known.id, known.name, value)) {
        report.most("endurance used", used);
    }
    if let Some(failed) = known.failed {
        report.fact(typed::SMART_FAILED.member(known.id), failed);
        if known.is_prefail && failed == "now" {
            report.quote(&known.id.to_string());
        }
    }
    Some(())
}

fn self_test(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let row = found.line();
    row.contains("  ").then_some(())?;
    let failed = [": read failure", ": electrical", ": servo", ": unknown failure"];
    let failed = failed.iter().any(|words| row.contains(words))
        || row.contains("Fatal or unknown error")
        || row.contains("Failed in segment")
        || row.contains("Completed: ") && row.contains("failure");
    // A report that was pasted twice has each test twice.
    let is_new = failed && !report.quoted().iter().any(|known| known == row);
    if is_new {
        report.quote(row);
    }
    report.add("failed tests", f64::from(u8::from(is_new)))
}

/// A row that begins with a number, in its table.
fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let second = found.text("second")?;
    match report.part {
        PENDING => report.tally("pending", leading(second).is_some()),
        POWER_STATES if second == "-" => {
            // The longest exit latency of a power state that is not operational, microseconds.
            let exit = found.line().split_whitespace().last().and_then(integer);
            exit.map_or(Some(()), |us| report.most("exit", us as f64))
        }
        POWER_STATES => Some(()),
        _ => None,
    }
}

/// `read:   3424573  0  0  3424573  0  29847.341  0`: corrected at once, late, by reading or
/// writing again, in all, attempts, gigabytes, uncorrected.
fn counted(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    (report.part == COUNTERS).then_some(())?;
    let (way, counts) = (found.text("way")?, found.text("counts")?);
    let words: Vec<&str> = counts.split_whitespace().collect();
    let [counts @ .., bytes, uncorrected] = words.as_slice() else { return None };
    if let [_, _, again, _, _] = counts
        && let Some(again) = integer(again).filter(|_| way == "read")
    {
        report.fact(typed::SMART_REREAD, again);
    }
    let is_sound = bytes.contains('.') || integer(bytes).is_some();
    match (way, integer(uncorrected).filter(|_| is_sound)) {
        ("read", Some(n)) => report.fact(typed::SMART_UNCORRECTED_READ, n),
        ("write", Some(n)) => report.fact(typed::SMART_UNCORRECTED_WRITE, n),
        _ => Some(()),
    }
}

/// `SATA 3.1, 6.0 Gb/s (current: 3.0 Gb/s)`.
fn link(value: &str, report: &mut Report) -> Option<()> {
    let speed = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let place = words.iter().position(|word| word.starts_with("Gb/s"))?;
        let speed = decimal(words.get(place.checked_sub(1)?)?)?;
        Some(BitsPerSecond(speed * 1e9))
    };
    let (most, now) = value.split_once("(current:").unwrap_or((value, ""));
    for (key, text) in [(typed::SMART_LINK_SPEED, now), (typed::SMART_LINK_SPEED_MAX, most)] {
        if let Some(speed) = speed(text) {
            report.fact(key, speed);
        }
    }
    Some(())
}

/// What is known only at the end of the drive's record, of numbers that were kept.
const TOTALS: [Total; 10] = [
    ("errors", |n| typed::SMART_ERRORS.with(n as u64)),
    ("celsius", |celsius| typed::SMART_CELSIUS.with(Celsius(celsius))),
    ("endurance used", |percent| typed::SMART_WEAR.with(Share::from_percent(percent))),
    ("error hours", |hours| typed::SMART_ERROR_LOG_HOURS.with(Nanos::from_hours(hours as u64))),
    ("unreadable", |n| typed::SMART_ERROR_LOG_UNC.with(n as u64)),
    ("corrupt", |n| typed::SMART_ERROR_LOG_ICRC.with(n as u64)),
    ("rewritten", |n| typed::SMART_SCAN_REWRITTEN.with(n as u64)),
    ("failed tests", |n| typed::SMART_SELF_TEST_ERRORS.with(n as u64)),
    ("pending", |n| typed::SMART_PENDING_DEFECTS.with(n as u64)),
    ("exit", |us| typed::SMART_IDLE_EXIT.with(Nanos::from_us(us))),
];

fn totals(report: &mut Report, _: &mut dyn Sink) {
    if let Some(outdated) = report.kept("failed tests").and(report.kept("outdated")) {
        report.add("failed tests", -outdated);
    }
    // The drive's own values take precedence over what its tables add up to.
    report.add_kept(&TOTALS);
    for counter in PHY_COUNTERS {
        let count = report.kept(counter).map(|count| count as u64);
        count.map(|count| report.fact(typed::PHY.of(counter), count));
    }
    // Attributes that predict a failure now.
    let is_number = |line: &&String| integer(line).is_some();
    let failing: Vec<String> = report.quoted().iter().filter(is_number).cloned().collect();
    if !failing.is_empty() {
        report.fact(typed::SMART_PREFAIL_NOW, failing);
    }
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
