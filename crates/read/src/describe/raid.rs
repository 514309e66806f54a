//! What the tools of RAID controllers print of volumes, drives, caches and batteries, line by line.
//! Their JSON has the same labels and tables.

use iowhy_model::typed::{ArrayAction, BitsPerSecond, Celsius, Share, WritePolicy};
use iowhy_model::{Fact, FactKey, FactValue, Medium};

use super::report::*;
use crate::drive::health::{PHY_COUNTERS, drive_named, leading};

// The table being read.
const VOLUMES: &str = "volumes";
const DRIVES: &str = "drives";
const PHYS: &str = "phys";
const PROGRESS: &str = "progress";
/// Of a battery or a capacitor.
const BATTERY: &str = "battery";
/// Units, ports and battery of a 3ware controller.
const UNITS: &str = "3ware units";
const PORTS: &str = "3ware ports";
const BBU: &str = "3ware battery";
/// Labels of a drive of a Smart Array.
const DETAIL: &str = "detail";

// What a report keeps: the number of the controller, the enclosure, the volume or drive that lines
// are about, and drives of which only the state is given.
const NUMBER: &str = "controller";
const ENCLOSURE: &str = "enclosure";
const ABOUT: &str = "about";
const UNNAMED: &str = "unnamed";

/// The report of any of these tools.
pub(crate) static RAID: Labels = Labels {
    may_resume: true,
    near: 10,
    lines: &[
        // Headings of tables.
        begins("^EID PNO InDwdCnt RnDiErCnt LsDwSyCnt \
                PRstPrbCnt", |_, report, _| report.enter(PHYS))
            .like(&["EID PNO InDwdCnt RnDiErCnt LsDwSyCnt PRstPrbCnt"]),
        begins("^DG/VD TYPE State", |found, report, _| {
            report.heading = Heading::of(found.line(), &[])?;
            report.enter(VOLUMES)
        })
        .like(&["DG/VD TYPE  State Access Consist Cache Cac sCC       Size Name"]),
        begins("^EID:Slt DID State", |_, report, _| report.enter(DRIVES))
            .like(&["EID:Slt DID State DG       Size Intf Med SED PI SeSz Model Sp Type"]),
        says("^Drive-ID{*}Progress%", |_, report, _| report.enter(PROGRESS))
            .like(&["Drive-ID    Progress% Status      Estimated Time Left"]),
        says("^Model State", |_, report, _| report.enter(BATTERY))
            .like(&["Model  State  RetentionTime Temp Mode MfgDate    Next Learn"]),
        // mpt-status, in its two layouts.
        begins("^ioc{:|}{n:#} vol_id{:| }{v:#} type{*}state{:|} {state:word}{,|} \
                flags{*}", mpt_volume)
            .like(&[
                "ioc0 vol_id 0 type IM, 2 phy, 68 GB, state DEGRADED, flags ENABLED \
                 RESYNC_IN_PROGRESS",
                "ioc:0 vol_id:0 type:IM raidlevel:RAID-1 num_disks:2 size(GB):68 state: DEGRADED \
                 flags: ENABLED",
            ]),
        says("^ioc{:|}{n:#} {phy |phys_id:}{p:#} scsi_id{*}state{:|} {state:word}{,|} \
              flags{*}", mpt_drive)
            .like(&[
                "ioc0 phy 1 scsi_id 1 MAXTOR   ATLAS10K4_73SCA  DFV0, 68 GB, state ONLINE, flags \
                 OUT_OF_SYNC",
            ]),
        // Tables of tw_cli; versions differ in the columns that follow.
        announces("tw_cli {*}/c{n:#}", of_controller).like(&["# tw_cli /c0 show"]),
        begins("^Unit UnitType Status %", |found, report, _| {
            report.heading = Heading::of(found.line(), &[])?;
            report.enter(UNITS)
        })
        .like(&["Unit  UnitType  Status         %RCmpl  %V/I/M  Stripe  Size(GB)  Cache  AVrfy"]),
        begins("^{VPort|Port} Status Unit Size", |found, report, _| {
            report.heading = Heading::of(found.line(), &[])?;
            report.enter(PORTS)
        })
        .like(&["VPort Status         Unit Size      Type  Phy Encl-Slot    Model"]),
        begins("^Name OnlineState BBUReady Status", |_, report, _| report.enter(BBU))
            .like(&["Name  OnlineState  BBUReady  Status    Volt     Temp     Hours  LastCapTest"]),
        says("^{VD LIST|PD LIST|TOPOLOGY|Virtual Drives =|Physical Drives =}", |_, report, _| {
            report.enter("")
        })
        .like(&["VD LIST :"]),
        // Parts of `ssacli ... show detail` that are about no drive have a `Status` of their own.
        perhaps(
            "^{Array|Logical Drive|Unassigned|HBA Drives|Port Name|SEP|Expander}",
            |_, report, _| {
                if report.part == DETAIL {
                    begins_part(report);
                }
                None
            },
        )
        .like(&["Logical Drive: 1"]),
        announces("^physicaldrive {place:word}$", |found, report, _| {
            let place = found.text("place")?;
            about(format!("{}/{place}", controller(report)), report);
            report.enter(DETAIL)
        })
        .like(&["physicaldrive 1I:1:4"]),
        // Whose the lines below are.
        says("^Controller = {number:word}", numbered).like(&["Controller = 0"]),
        announces("^Adapter #{number:word}", numbered).like(&["Adapter #0"]),
        begins("^Drive /c{path:word}", |found, report, _| {
            about(format!("c{}", found.text("path")?.split(':').next()?), report)
        })
        .like(&["Drive /c0/e32/s0 State :"]),
        begins("^Virtual {Drive|Disk}: {n:#}", volume_named)
            .like(&["Virtual Drive: 0 (Target Id: 0)"]),
        begins("^{Smart |HPE |MSA}{*} in Slot {n:#}", of_controller)
            .like(&["Smart Array P410i in Slot 0 (Embedded)"]),
        begins("^BBU status for Adapter:{ }{n:#}", of_controller)
            .like(&["BBU status for Adapter: 0"]),
        begins("^Adapter {n:#} -- Virtual Drive Information", of_controller)
            .like(&["Adapter 0 -- Virtual Drive Information:"]),
        begins("^{IR Volume information|BBU status for Adapter}", |_, _, _| Some(()))
            .like(&["IR Volume information"]),
        begins("^{Avago Technologies|LSI Corporation} SAS{*}IR Configuration Utility", |_, _, _| {
            Some(())
        })
        .like(&["LSI Corporation SAS2 IR Configuration Utility."]),
        says("^IR {v|V}olume {n:#}$", volume_named).like(&["IR volume 1"]),
        // The lines of each drive joined to one, by `xargs` or `paste`.
        begins("^Enclosure Device ID: {enclosure:#} Slot Number: {slot:#} {:text}", joined).like(&[
            "Enclosure Device ID: 32 Slot Number: 4 Media Error Count: 653 Firmware state: Failed",
        ]),
        announces("^Enclosure Device ID{ }:", enclosure).like(&["Enclosure Device ID: 32"]),
        says("^Enclosure #{ }:", enclosure).like(&["Enclosure #                             : 1"]),
        announces("^Slot Number{ }:", slot).confirms().like(&["Slot Number: 4"]),
        says("^Slot #{ }:", slot).like(&["Slot #                                  : 3"]),
        says("^Device Id{ }:{ }{id:text}", |found, report, sink| {
            if let (Some(drive), Some(id)) = (report.kept_text(ABOUT), leading(found.text("id")?)) {
                sink.add_fact_here(drive, typed::DEVICE_ALIAS, vec![format!("megaraid,{id}")]);
            }
            Some(())
        })
        .like(&["Device Id: 7"]),
        begins(
            "^Rebuild Progress on Device at Enclosure {e:u}, Slot {s:u} Completed {percent:n}%",
            |found, report, sink| {
                let (enclosure, slot) = (found.count("e")?, found.count("s")?);
                let name = format!("{}/e{enclosure}/s{slot}", controller(report));
                rebuilds(&name, found.number("percent")?, sink)
            },
        )
        .like(&["Rebuild Progress on Device at Enclosure 32, Slot 1 Completed 4% in 10 Minutes."]),
        // Rows that say all of a volume or drive.
        begins("^logicaldrive {number:word} ({parts:text})$", |found, report, sink| {
            let name = format!("{}/v{}", controller(report), found.text("number")?);
            // The last words are the state; what is being done follows it.
            let words: Vec<&str> = found.text("parts")?.split(", ").skip(2).map(str::trim).collect();
            volume(&name, &words, sink)
        })
        .like(&["logicaldrive 1 (838.3 GB, RAID 1, OK)"]),
        begins("^physicaldrive {place:word} ({parts:text})$", |found, report, sink| {
            let name = format!("{}/{}", controller(report), found.text("place")?);
            let words: Vec<&str> = found.text("parts")?.split(", ").map(str::trim).collect();
            let flash = ["Solid State SATA", "Solid State SAS", "SATA SSD", "SAS SSD"];
            if words.iter().any(|word| flash.contains(word)) {
                sink.add_fact_here(&name, typed::DEVICE_MEDIUM, Medium::Flash);
            }
            let last = words.iter().rfind(|word| **word != "spare").copied().unwrap_or("");
            if !last.is_empty() {
                sink.add_fact_here(&name, typed::MEMBER_STATE, last.to_ascii_lowercase());
            }
            Some(())
        })
        .like(&["physicaldrive 1I:1:1 (port 1I:box 1:bay 1, SAS, 300 GB, OK)"]),
        begins(
            "^/dev/{device:word}: ({controller:text}) {what:text}status: {state:text}",
            |found, report, sink| {
                let (name, of) = (found.text("device")?, found.text("controller")?);
                volume(name, &[found.text("state")?.trim().trim_end_matches('.')], sink);
                // What is reported about the cache of its controller is of the volume.
                report.quote(&format!("{of}\t{name}"))
            },
        )
        .when(|found| found.text("what").is_some_and(|what| what.contains("Volume")))
        .like(&["/dev/sda: (Smart Array P410) RAID 6 Volume 0 status: OK."]),
        perhaps("^{place:word} {:text}$", cells)
            .like(&["0/0   RAID1 Optl  RW     Yes     RWBD  -   OFF 446.625 GB system"]),
        // A cache that is off is reported in a sentence of its own.
        says("^Write cache {temporarily|permanently} disabled", |found, report, sink| {
            let value = found.line().to_ascii_lowercase();
            sink.add_fact_here(&controller(report), typed::CONTROLLER_CACHE, value);
            Some(())
        })
        .like(&["Write cache temporarily disabled"]),
        begins("Non-Volatile Cache status:", |found, report, _| {
            let (head, _) = found.line().split_once("Non-Volatile")?;
            let name = head.split_once('(').map_or("", |(_, name)| name);
            let name = name.split([':', ')']).next()?;
            let mut known = report.quoted().iter().filter_map(|volume| volume.split_once('\t'));
            let volume = known.rfind(|(of, _)| *of == name);
            match volume.map(|(_, device)| device.to_string()) {
                Some(device) => about(device, report),
                None => {
                    report.forget(ABOUT);
                    Some(())
                }
            }
        })
        .like(&["/dev/sg1(Smart Array P410:0): Non-Volatile Cache status:"]),
        // Labels.
        says(
            "^{Rebuild|Check Consistency|Patrol Read|Copyback|Background Initialization}{ \
             }{:|=}{*}Completed {done:text}",
            |found, report, sink| {
                let action = match found.line().split([':', '=']).next()?.trim() {
                    "Rebuild" | "Copyback" => ArrayAction::Rebuild,
                    "Background Initialization" => ArrayAction::Init,
                    _ => ArrayAction::Check,
                };
                // Where nothing reports of which volume or drive it is, it is a fact about none.
                let Some(name) = report.kept_text(ABOUT) else { return Some(()) };
                let device = sink.device(name);
                sink.add_fact_here(device, typed::ARRAY_ACTION, action);
                if let Some(percent) = leading(found.text("done")?) {
                    let done = Share::from_percent(percent as f64);
                    sink.add_fact_here(device, typed::ARRAY_PERCENT, done);
                }
                Some(())
            },
        )
        .like(&["Check Consistency        : Completed 12%, Taken 3 min."]),
        begins("^Firmware state: {state:text}", |found, report, sink| {
            if report.kept_text(ABOUT).is_some() {
                return labelled(found, report, sink);
            }
            // Nothing shows which drive it is: the place in the list is all there is.
            report.add(UNNAMED, 1.0);
            let name = format!("{}/drive{}", controller(report), report.kept(UNNAMED)?);
            if let Some(state) = of_member(found.text("state")?) {
                sink.add_fact_here(&name, typed::MEMBER_STATE, state);
            }
            Some(())
        })
        .like(&["Firmware state: Online, Spun Up"]),
        begins(
            "^{Current Cache Policy|Default Cache Policy|Battery/Capacitor Status|Predictive \
             Failure Count}{ }{:|=}",
            labelled,
        )
        .like(&["Current Cache Policy: WriteBack, ReadAhead, Direct, No Write Cache if Bad BBU"]),
        announces("^Cache Status:", labelled).like(&["Cache Status: Temporarily Disabled"]),
        // Those of a piece of the section of a drive, or of a controller's cache.
        follows(
            "^{Media Error Count|Inquiry Data|Drive Type|Interface Type|Last Failure Reason|Cache \
             Status Details|Cache Disable Reason|Cache Ratio}{ }:",
            labelled,
        )
        .like(&["Media Error Count: 88", "Cache Ratio: 10% Read / 90% Write"]),
        perhaps("^{label:text}{:|=}", labelled).like(&["Learn Cycle Active : No"]),
    ],
    own: &[
        "^--{:word}$", "^=={:word}$", "^Device is a ", "^array ", "^[sudo] password for ",
        "Virtual Drive Information:$",
    ],
    ..Labels::NEW
};

/// What a value states, and how that of a label is read.
type Stated = Option<(FactKey, FactValue)>;
type Label = (&'static str, fn(&str) -> Stated);

/// Labels whose value is a fact of the drive or volume being read.
const STATED: &[Label] = &[
    ("Media Error Count", |value| Some(typed::MEMBER_ERRORS.of("media").with(leading(value)?))),
    ("Other Error Count", |value| Some(typed::MEMBER_ERRORS.of("other").with(leading(value)?))),
    ("Predictive Failure Count", |value| {
        Some(typed::MEMBER_ERRORS.of("predictive").with(leading(value)?))
    }),
    ("Firmware state", |value| Some(typed::MEMBER_STATE.with(of_member(value)?))),
    ("Model Number", |value| (!value.is_empty()).then(|| typed::DEVICE_MODEL.with(value))),
    ("Inquiry Data", |value| Some(typed::DEVICE_MODEL.with(inquiry(value)?))),
    ("Drive Temperature", |value| {
        Some(typed::DEVICE_CELSIUS.with(Celsius(leading(value)? as f64)))
    }),
    ("Drive has flagged a S.M.A.R.T alert", alert),
    ("S.M.A.R.T alert flagged by drive", alert),
    ("Media Type", medium),
    ("Drive Type", medium),
    ("Interface Type", medium),
    ("Device Speed", |value| Some(typed::DEVICE_LINK_SPEED_MAX.with(speed(value)?))),
    ("Link Speed", |value| Some(typed::DEVICE_LINK_SPEED.with(speed(value)?))),
    ("RAID Level", |value| {
        // `Primary-5, Secondary-0, RAID Level Qualifier-3`
        let level = value.strip_prefix("Primary-")?.split(',').next()?;
        Some(typed::ARRAY_LEVEL.with(level.trim().to_string()))
    }),
    ("Current Cache Policy", |value| Some(typed::ARRAY_WRITE_CACHE.with(policy(value)?))),
    ("Default Cache Policy", |value| Some(typed::ARRAY_WRITE_CACHE_ASKED.with(policy(value)?))),
    ("Status of volume", |value| Some(typed::ARRAY_STATE.with(state(value)?))),
    ("Volume state", |value| Some(typed::ARRAY_STATE.with(state(value)?))),
    ("Controller Status", |value| Some(typed::CONTROLLER_STATE.with(state(value)?))),
    ("Cache Status", |value| Some(typed::CONTROLLER_CACHE.with(state(value)?))),
    ("Battery/Capacitor Status", |value| Some(typed::CONTROLLER_BATTERY.with(state(value)?))),
    ("Battery State", |value| Some(typed::CONTROLLER_BATTERY.with(state(value)?))),
    ("Battery Replacement required", |value| match value {
        // A battery that needs no replacement is well, until a later line says otherwise.
        "No" => Some(typed::CONTROLLER_BATTERY.with("ok")),
        _ => battery(value, "replacement required"),
    }),
    ("Battery Pack Missing", |value| battery(value, "missing")),
    ("Learn Cycle Active", |value| battery(value, "learning")),
    ("Remaining Capacity Low", |value| battery(value, "capacity low")),
    ("Write cache enabled", |value| match value {
        "Yes" => Some(typed::ARRAY_WRITE_CACHE.with(WritePolicy::Back)),
        "No" => Some(typed::ARRAY_WRITE_CACHE.with(WritePolicy::Through)),
        _ => None,
    }),
    ("Percentage complete", |value| {
        let percent = decimal(value.trim_end_matches('%').trim())?;
        Some(typed::ARRAY_PERCENT.with(Share::from_percent(percent)))
    }),
];
/// Labels known to hold nothing that is read; they keep a listing together.
const KNOWN: &[&str] = &[
    "Shield Counter", "Sequence Number", "Enclosure position", "PD Type", "Raw Size",
    "Non Coerced Size", "Coerced Size", "Last Predictive Failure Event Seq Number",
    "SAS Address(0)", "SAS Address(1)", "Connected Port Number", "FDE Capable", "FDE Enable",
    "Secured", "Locked", "Needs EKM Attention", "Foreign State", "Drive", "Name", "Size",
    "Strip Size", "Stripe Size", "Number Of Drives", "Span Depth", "Access Policy",
    "Disk Cache Policy", "Encryption Type", "Is VD Cached", "Mirror Data", "Sector Size",
    "Bad Blocks Exist", "BatteryType", "Voltage", "Current", "Temperature", "Charging Status",
    "Learn Cycle Requested", "Learn Cycle Status", "Learn Cycle Timeout", "I2c Errors Detected",
    "Periodic Learn Required", "Transparent Learn", "Exit Code", "CLI Version", "Operating system",
    "Controller", "Status", "Description", "Cache configured", "Total cache memory", "Cache Ratio",
    "Read cache memory", "Write cache memory", "Cache Status Details", "Cache Disable Reason",
    "Cache Board Present", "Last Failure Reason", "Port", "Box", "Bay", "Enclosure #", "Slot #",
    "SAS Address", "Manufacturer", "Firmware Revision", "Serial No", "Unit Serial No(VPD)", "GUID",
    "Protocol", "Size (in MB)/(in sectors)", "Volume ID", "Volume wwid", "RAID level",
    "Size (in MB)", "Boot", "Physical hard disks", "Physical disk I/Os", "Volume status",
    "Controller type", "Serial Number", "Drive exposed to OS", "Rotational Speed", "PHY Count",
    "Board ID", "Logical drives", "Running firmware", "ROM firmware", "Physical drives",
    "Temporary disable condition", "Drive Write Cache", "No-Battery Write Cache",
    "Accelerator Ratio", "Relative State of Charge", "Absolute state of charge", "Battery state",
    "GasGuageStatus",
];

/// Another part of a document begins: what follows is about no drive or volume until it names one.
pub(crate) fn begins_part(report: &mut Report) {
    report.forget(ABOUT);
    report.enter("");
}

fn about(name: String, report: &mut Report) -> Option<()> {
    report.keep_text(ABOUT, name)
}

fn controller(report: &Report) -> String {
    format!("c{}", report.kept(NUMBER).unwrap_or(0.0))
}

fn numbered(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    report.forget(NUMBER);
    leading(found.text("number")?).map_or(Some(()), |number| report.keep(NUMBER, number as f64))
}

fn of_controller(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    begins_part(report);
    report.keep(NUMBER, found.number("n")?)
}

fn volume_named(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    about(format!("{}/v{}", controller(report), found.count("n")?), report)
}

fn value<'t>(found: &Found<'_, 't>) -> &'t str {
    found.line().split_once(':').map_or("", |(_, value)| value.trim())
}

fn enclosure(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    report.keep_text(ENCLOSURE, value(found).to_string())
}

fn slot(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let enclosure = report.kept_text(ENCLOSURE).unwrap_or("x");
    about(format!("{}/e{enclosure}/s{}", controller(report), value(found)), report)
}

/// The labels of a drive that stand in one line: each value reaches to the next label.
fn joined(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let line = found.line();
    let name =
        format!("{}/e{}/s{}", controller(report), found.count("enclosure")?, found.count("slot")?);
    let labels = STATED.iter().map(|(label, _)| *label).chain(KNOWN.iter().copied());
    let places = labels.filter_map(|label| {
        let place = line.find(&format!(" {label}: "))?;
        Some((place, place + 1 + label.len(), label))
    });
    let mut places: Vec<(usize, usize, &str)> = places.collect();
    places.sort_unstable();
    for (which, (_, begin, label)) in places.iter().enumerate() {
        let end = places.get(which + 1).map_or(line.len(), |(next, ..)| *next);
        let value = line.get(begin + 1..end).unwrap_or_default().trim();
        let read = STATED.iter().find(|(known, _)| known == label);
        if let Some((key, value)) = read.and_then(|(_, read)| read(value)) {
            let device = sink.device(&name);
            sink.fact(Fact::new(Some(device), key, value, report.place().to_string()));
        }
    }
    about(name, report)
}

fn rebuilds(drive: &str, percent: f64, sink: &mut dyn Sink) -> Option<()> {
    sink.add_fact_here(drive, typed::MEMBER_STATE, "rebuilding");
    sink.add_fact_here(drive, typed::ARRAY_PERCENT, Share::from_percent(percent));
    Some(())
}

/// A volume's state, and its work if the words say so: `Recovering, 22.63% complete`.
fn volume(name: &str, words: &[&str], sink: &mut dyn Sink) -> Option<()> {
    let Some(first) = words.first() else { return Some(()) };
    let (reported, percent) = match first.split_once(", ") {
        Some((reported, percent)) => (reported, Some(percent)),
        None => (*first, words.get(1).copied()),
    };
    let lower = reported.to_ascii_lowercase();
    // Smart Array calls so a volume that lacks a drive and has none to rebuild on yet.
    let state =
        if lower == "interim recovery mode" { "degraded, interim recovery mode" } else { &lower };
    sink.add_fact_here(name, typed::ARRAY_STATE, state);
    let action = match lower.as_str() {
        "recovering" | "rebuilding" => ArrayAction::Rebuild,
        "parity initialization in progress" | "initializing" => ArrayAction::Init,
        "transforming" | "expanding" => ArrayAction::Reshape,
        _ => return Some(()),
    };
    sink.add_fact_here(name, typed::ARRAY_ACTION, action);
    let percent = percent.and_then(|text| decimal(text.split('%').next()?.trim()));
    if let Some(percent) = percent {
        sink.add_fact_here(name, typed::ARRAY_PERCENT, Share::from_percent(percent));
    }
    Some(())
}

/// A volume of Fusion MPT: its state, and whether it is being synchronised.
fn mpt_volume(found: &Found, _: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let name = format!("c{}/v{}", found.count("n")?, found.count("v")?);
    let state = found.text("state")?.trim_end_matches(',').to_ascii_lowercase();
    sink.add_fact_here(&name, typed::ARRAY_STATE, state);
    if found.line().contains("RESYNC_IN_PROGRESS") {
        sink.add_fact_here(&name, typed::ARRAY_ACTION, ArrayAction::Resync);
    }
    Some(())
}

/// A drive of Fusion MPT, if it is not in use.
fn mpt_drive(found: &Found, _: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let state = found.text("state")?.trim_end_matches(',').to_ascii_lowercase();
    if state != "online" {
        let name = format!("c{}/p{}", found.count("n")?, found.count("p")?);
        sink.add_fact_here(&name, typed::MEMBER_STATE, state);
    }
    Some(())
}

/// A row of one of the tables.
fn cells(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    match (report.part, words.as_slice()) {
        (VOLUMES, [place, _, volume_state, ..]) => {
            let number = integer(place.split('/').nth(1)?)?;
            let name = format!("{}/v{number}", controller(report));
            let state = match *volume_state {
                "Optl" => "optimal",
                "Dgrd" => "degraded",
                "Pdgd" => "partially degraded",
                "Rec" => "recovery",
                "OfLn" => "offline",
                other => other,
            };
            sink.add_fact_here(&name, typed::ARRAY_STATE, state);
            if let Some(policy) = report.heading.word("Cache", &words).and_then(policy) {
                sink.add_fact_here(&name, typed::ARRAY_WRITE_CACHE, policy);
            }
        }
        (DRIVES, [place, did, drive_state, ..]) => {
            let (enclosure, slot) = place.split_once(':')?;
            integer(slot)?;
            let name = format!("{}/e{enclosure}/s{slot}", controller(report));
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
        }
        (PROGRESS, [path, percent, rest @ ..]) if path.starts_with("/c") => {
            if let Some(percent) = decimal(percent).filter(|_| !rest.is_empty()) {
                rebuilds(path.trim_start_matches('/'), percent, sink);
            }
        }
        (PHYS, [enclosure, phy, counts @ ..]) if counts.len() == PHY_COUNTERS.len() => {
            let counts: Vec<u64> =
                counts.iter().map(|word| integer(word)).collect::<Option<_>>()?;
            let (enclosure, phy) = (integer(enclosure)?, integer(phy)?);
            let device = sink.device(&format!("{}/e{enclosure}/phy{phy}", controller(report)));
            for (counter, count) in PHY_COUNTERS.iter().zip(counts) {
                sink.add_fact_here(device, typed::PHY.of(counter), count);
            }
        }
        (
            BATTERY,
            [
                _,
                battery @ ("Optimal" | "Opt" | "Failed" | "Degraded" | "Dgd" | "Fail" | "Charging"
                | "Learning"),
                ..,
            ],
        ) => {
            let state = battery.to_ascii_lowercase();
            sink.add_fact_here(&controller(report), typed::CONTROLLER_BATTERY, state);
        }
        (UNITS, [unit, rest @ ..]) if is_numbered(unit, 'u') => {
            return of_unit(unit, rest, report, sink);
        }
        (PORTS, [port, rest @ ..]) if is_numbered(port, 'p') => {
            return of_port(port, rest, report, sink);
        }
        (BBU, ["bbu", rest @ ..]) => {
            let [online, ready, status, ..] = *rest else {
                return report.fails("the row of the battery has no status");
            };
            let battery = match (online, ready) {
                ("On" | "ON", "Yes") => status.to_ascii_lowercase(),
                (_, "No") => format!("not ready: {}", status.to_ascii_lowercase()),
                _ => format!("off: {}", status.to_ascii_lowercase()),
            };
            sink.add_fact_here(&controller(report), typed::CONTROLLER_BATTERY, battery);
        }
        _ => return None,
    }
    Some(())
}

/// `u0` of units, `p7` of ports.
fn is_numbered(name: &str, letter: char) -> bool {
    name.strip_prefix(letter).and_then(integer).is_some()
}

/// Whether a word can be a state of 3ware: `OK`, `VERIFY-PAUSED`, `CFG-OP-FAIL`.
fn is_state(word: &str) -> bool {
    word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
}

/// A unit of a 3ware controller: its state, what the firmware does to it, and its write cache.
fn of_unit(unit: &str, rest: &[&str], report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = std::iter::once(unit).chain(rest.iter().copied()).collect();
    let of = |name: &str| report.heading.word(name, &words);
    let status = of("Status").filter(|status| is_state(status));
    let (Some(status), true) = (status, words.len() == report.heading.width()) else {
        return report.fails("the values do not match the heading");
    };
    if of("UnitType") == Some("SPARE") {
        return Some(());
    }
    let name = format!("{}/{unit}", controller(report));
    let share = |name: &str| decimal(of(name)?.trim_end_matches('%'));
    let (rebuilt, otherwise) = (share("%RCmpl"), share("%V/I/M"));
    let either = share("%Cmpl");
    // What is paused is no work of now.
    let (action, percent) = match status {
        "REBUILDING" => (Some(ArrayAction::Rebuild), rebuilt.or(either)),
        "VERIFYING" => (Some(ArrayAction::Check), otherwise.or(either)),
        "INITIALIZING" => (Some(ArrayAction::Init), otherwise.or(either)),
        "MIGRATING" => (Some(ArrayAction::Reshape), otherwise.or(either)),
        _ => (None, None),
    };
    // `ON` and `OFF` before firmware 9.5.1, then letters: `RiW` caches reads and writes.
    let policy = of("Cache").map(|cache| match cache == "ON" || cache.contains('W') {
        true => WritePolicy::Back,
        false => WritePolicy::Through,
    });
    sink.add_fact_here(&name, typed::ARRAY_STATE, status.to_ascii_lowercase());
    if let Some(action) = action {
        sink.add_fact_here(&name, typed::ARRAY_ACTION, action);
    }
    if let Some(percent) = percent {
        sink.add_fact_here(&name, typed::ARRAY_PERCENT, Share::from_percent(percent));
    }
    if let Some(policy) = policy {
        sink.add_fact_here(&name, typed::ARRAY_WRITE_CACHE, policy);
    }
    Some(())
}

/// A port of a 3ware controller, unless it is empty: the state of its drive if that is not well,
/// and its model where it ends the row.
fn of_port(port: &str, rest: &[&str], report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let [status, unit, rest @ ..] = rest else {
        return report.fails("the values do not match the heading");
    };
    if !is_state(status) || !(*unit == "-" || is_numbered(unit, 'u')) {
        return report.fails("the values do not match the heading");
    }
    if *status == "NOT-PRESENT" {
        return Some(());
    }
    let drive = format!("{}/{port}", controller(report));
    let state = match *status {
        "OK" => None,
        "CFG-OP-FAIL" | "DEVICE-ERROR" => Some("failed".to_string()),
        "DRIVE-REMOVED" => Some("removed".to_string()),
        other => Some(other.to_ascii_lowercase()),
    };
    if let Some(state) = state {
        sink.add_fact_here(&drive, typed::MEMBER_STATE, state);
    }
    // The size is a number and its unit, two words under one name.
    let is_last = report.heading.place("Model", 0) == Some(7) && report.heading.width() == 8;
    if let (true, [_, _, _, _, _, model @ ..]) = (is_last, rest)
        && !model.is_empty()
    {
        sink.add_fact_here(&drive, typed::DEVICE_MODEL, model.join(" "));
    }
    Some(())
}

fn labelled(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (label, value) = found.line().split_once(['=', ':'])?;
    let (label, value) = (label.trim(), value.trim());
    let named = report.kept_text(ABOUT);
    match label {
        "Status" if report.part == DETAIL => {
            let state = value.to_ascii_lowercase();
            if let Some(name) = named.filter(|_| !state.is_empty() && state != "ok") {
                sink.add_fact_here(name, typed::MEMBER_STATE, state);
            }
        }
        "State" => {
            let Some(name) = named else { return Some(()) };
            let is_drive = name.contains("/s");
            let state = value.split(" (").next().unwrap_or(value).to_ascii_lowercase();
            let key = if is_drive { typed::MEMBER_STATE } else { typed::ARRAY_STATE };
            let plain = is_drive && ["optimal", "online", "ready"].contains(&state.as_str());
            if !plain && !state.is_empty() {
                sink.add_fact_here(name, key, state);
            }
        }
        _ => {
            let Some((_, stated)) = STATED.iter().find(|(known, _)| *known == label) else {
                let is_known = KNOWN.contains(&label)
                    || drive_named(found.line()).is_some() && found.line().contains("Smart Array");
                return is_known.then_some(());
            };
            if let Some((key, value)) = stated(value) {
                let of_drive = named.filter(|_| !key.is_under("controller"));
                let name = of_drive.map_or_else(|| controller(report), str::to_string);
                let device = sink.device(&name);
                sink.fact(Fact::new(Some(device), key, value, report.place().to_string()));
            }
        }
    }
    Some(())
}

/// A state in lower case.
fn state(value: &str) -> Option<String> {
    let state = value.split(" (").next().unwrap_or(value).trim().to_ascii_lowercase();
    // `Unconfigured(bad)` of MegaCli, `UBad` of storcli.
    let state = if state.ends_with("(bad)") { "bad".to_string() } else { state };
    Some(state).filter(|state| !state.is_empty())
}

/// The same of a drive, unless it works.
fn of_member(value: &str) -> Option<String> {
    state(value)
        .filter(|state| !state.starts_with("online") && !state.starts_with("unconfigured(good)"))
}

/// `Yes`: this is the state of the battery; `No` shows nothing.
fn battery(value: &str, state: &str) -> Stated {
    value.starts_with("Yes").then(|| typed::CONTROLLER_BATTERY.with(state))
}

/// `Yes` or `No` of a SMART alert.
fn alert(value: &str) -> Stated {
    matches!(value, "Yes" | "No").then(|| typed::SMART_PASSED.with(value == "No"))
}

fn medium(value: &str) -> Stated {
    let is_one_of = |words: [&str; 2]| words.iter().any(|word| value.contains(word));
    match () {
        () if is_one_of(["Solid State", "SSD"]) => Some(Medium::Flash),
        () if is_one_of(["Hard Disk", "HDD"]) => Some(Medium::Rotational),
        () => None,
    }
    .map(|medium| typed::DEVICE_MEDIUM.with(medium))
}

fn speed(value: &str) -> Option<BitsPerSecond> {
    Some(BitsPerSecond(decimal(value.strip_suffix("Gb/s")?.trim())? * 1e9))
}

/// What a policy does with writes: `WriteBack`, `WB` of `RWBD`; `AWB` is write-back always.
fn policy(text: &str) -> Option<WritePolicy> {
    let text = text.split(',').next().unwrap_or(text).trim();
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
