//! arcconf of Adaptec and Microsemi controllers: volumes, drives, cache, running tasks.
//!
//! ## Reads
//! Of a logical device `array.state`, `array.write_cache` (its status) and
//! `array.write_cache.asked` (its setting), `array.degraded` (missing segments), `array.action`; of
//! a drive `member.state` if it is not in use, `member.errors.media`, `member.errors.predictive`
//! (warnings of SMART), `device.model`, `device.medium`, `device.celsius`; of the controller
//! `controller.state` and `controller.battery`. Of `getstatus` the running task and its
//! `array.percent`.
//!
//! ## How to capture
//! `arcconf getconfig 1`, `arcconf getstatus 1`.
//!
//! ## Versions
//! arcconf 4 to 3.1 (the numbers began again with Microsemi); also of IBM's ServeRAID.
//!
//! ## Caveats
//! Volumes are `c1/v0` and drives `c1/ch0/d2` (channel and device), of whatever controller; where
//! the name in /dev is printed, it is used. A write cache that is `On when protected by battery` is
//! off while its battery is charging or missing: the status shows it, the setting does not.
//!
//! ## Not in this output
//! Latencies.

use iowhy_model::Medium;
use iowhy_model::typed::{ArrayAction, Celsius, Share, WritePolicy};

use crate::describe::report::*;
use crate::drive::health::leading;

pub(super) const FORMAT: Format = Format::labels(
    "arcconf of Adaptec controllers: volumes, drives, cache, tasks",
    Level::E,
    &LABELS,
);

// Parts of a report.
const VOLUME: &str = "volume";
const DRIVE: &str = "drive";
const BATTERY: &str = "battery";
const TASK: &str = "task";

static LABELS: Labels = Labels {
    unnamed: "c1",
    may_resume: true,
    lines: &[
        begins("^Controllers found: {:u}$", |_, _, _| Some(())).like(&["Controllers found: 1"]),
        begins("^Logical {device|Device} number {n:u}$", |found, report, _| {
            report.name(&format!("c1/v{}", found.count("n")?));
            report.enter(VOLUME)
        })
        .opens_record()
        .like(&["Logical device number 0", "Logical Device number 1"]),
        says("^Logical {device|Device} Task:$", |_, report, _| report.enter(TASK))
            .opens_record()
            .like(&["Logical device Task:"]),
        says("^Physical Device information$", |_, _, _| Some(()))
            .opens_record()
            .like(&["Physical Device information"]),
        says("^Device #{n:u}$", |_, _, _| Some(())).opens_record().like(&["Device #1"]),
        begins("^Device is a {what:text}$", |found, report, _| {
            let is_drive = found.text("what")?.to_lowercase().ends_with("drive");
            if is_drive { report.enter(DRIVE) } else { report.enter("") }
        })
        .like(&["Device is a Hard drive"]),
        says("^Reported Channel,Device{|(T:L)} : {channel:u},{device:u}", |found, report, _| {
            let (channel, device) = (found.count("channel")?, found.count("device")?);
            report.name(&format!("c1/ch{channel}/d{device}"))
        })
        .like(&[
            "Reported Channel,Device(T:L)       : 0,1(1:0)",
            "Reported Channel,Device            : 2,0",
        ]),
        says("^Controller {Battery|ZMM|Cache Backup Unit} Information$", |_, report, _| {
            report.enter(BATTERY)
        })
        .like(&["Controller Battery Information"]),
        perhaps("^{:text} {I|i}nformation$", |_, report, _| {
            if report.part == BATTERY {
                report.enter("");
            }
            None
        })
        .like(&["Controller Vital Product Data information"]),
        says("^Segment {:u} : {state:text}$", segment).like(&["Segment 1    : Missing"]),
        says("^Group {:u}, Segment {:u} : {state:text}$", segment).like(&[
            "Group 1, Segment 1   : Rebuilding (Controller:1,Enclosure:0,Slot:3)      EXA0001",
        ]),
    ],
    labels: &[
        label(&["Disk Name"], |value, report| match value.strip_prefix("/dev/") {
            Some(name) => report.name(name),
            None => Some(()),
        }),
        label(&["Status of logical device", "Status of Logical Device"], |value, report| {
            report.fact(typed::ARRAY_STATE, value.to_lowercase())
        }),
        label(&["Write-cache status", "Write-cache mode"], |value, report| {
            policy(value).map_or(Some(()), |now| report.fact(typed::ARRAY_WRITE_CACHE, now))
        }),
        label(&["Write-cache setting"], |value, report| {
            policy(value)
                .map_or(Some(()), |asked| report.fact(typed::ARRAY_WRITE_CACHE_ASKED, asked))
        }),
        label(&["Controller Status"], |value, report| {
            report.fact(typed::CONTROLLER_STATE, value.to_lowercase())
        }),
        label(&["Overall Backup Unit Status"], |value, report| {
            report.fact(typed::CONTROLLER_BATTERY, value.to_lowercase())
        }),
        label(&["Logical device", "Logical Device"], |value, report| {
            report.name(&format!("c1/v{}", integer(value)?))
        }),
        label(&["Current operation"], |value, report| report.quote_alone(value)),
        label(&["Status"], |value, report| match report.part {
            BATTERY => report.fact(typed::CONTROLLER_BATTERY, value.to_lowercase()),
            TASK if value == "In Progress" => {
                let done = report.quoted().first().and_then(|what| action(what));
                done.map_or(Some(()), |action| report.fact(typed::ARRAY_ACTION, action))
            }
            _ => Some(()),
        }),
        label(&["Percentage complete"], |value, report| {
            report.fact(typed::ARRAY_PERCENT, Share::from_percent(decimal(value)?))
        }),
        label(&["State"], |value, report| {
            let state = value.split(" (").next().unwrap_or(value).to_lowercase();
            let plain = ["online", "ready", "raw", "optimal", "present"];
            match state {
                _ if report.part != DRIVE => Some(()),
                state if plain.iter().any(|word| state.starts_with(word)) => Some(()),
                state if state.contains("spare") => report.fact(typed::MEMBER_STATE, "spare"),
                state => report.fact(typed::MEMBER_STATE, state),
            }
        }),
        label(&["Model"], |value, report| {
            let model = value.trim();
            let is_known = report.part == DRIVE && !model.is_empty();
            if is_known { report.fact(typed::DEVICE_MODEL, model) } else { Some(()) }
        }),
        label(&["SSD"], |value, report| match value {
            "Yes" => report.fact(typed::DEVICE_MEDIUM, Medium::Flash),
            "No" => report.fact(typed::DEVICE_MEDIUM, Medium::Rotational),
            _ => Some(()),
        }),
        label(&["S.M.A.R.T. warnings", "S.M.A.R.T. Warnings"], |value, report| {
            errors("predictive", value, report)
        }),
        label(&["Medium Error Count", "Media Failures"], |value, report| {
            errors("media", value, report)
        }),
        label(&["Current Temperature"], |value, report| match leading(value) {
            Some(celsius) if report.part == DRIVE => {
                report.fact(typed::DEVICE_CELSIUS, Celsius(celsius as f64))
            }
            _ => Some(()),
        }),
    ],
    // Everything in a section is indented.
    inner: &[' '],
    own: &[
        "^----", "^Controller information$", "^Logical device information$", "^Command completed ",
        "^Array Number {:u}$", "^Array Information$", "^Connector information$",
        "^maxCache information$", "^MaxCache {*}nformation$",
    ],
    end: Some(|report, _| {
        report.add_kept(&[
            ("missing", |missing| typed::ARRAY_DEGRADED.with(missing as u64)),
            ("rebuilt", |_| typed::ARRAY_ACTION.with(ArrayAction::Rebuild)),
        ]);
    }),
    ..Labels::NEW
};

/// A piece of a volume, on one drive.
fn segment(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    match found.text("state")?.split(' ').next()? {
        "Missing" | "Failed" | "Offline" => report.add("missing", 1.0),
        "Rebuilding" => report.keep("rebuilt", 1.0),
        _ => Some(()),
    }
}

fn errors(kind: &'static str, value: &str, report: &mut Report) -> Option<()> {
    match integer(value) {
        Some(count) if report.part == DRIVE => report.fact(typed::MEMBER_ERRORS.of(kind), count),
        _ => Some(()),
    }
}

/// `Enabled (write-back)`, `On`, `Disabled (write-through)`, `On when protected by battery/ZMM`.
fn policy(value: &str) -> Option<WritePolicy> {
    match value.split(' ').next()? {
        "Enabled" | "On" => Some(WritePolicy::Back),
        "Disabled" | "Off" => Some(WritePolicy::Through),
        _ => None,
    }
}

/// What the firmware does to a volume.
fn action(what: &str) -> Option<ArrayAction> {
    match what {
        "Rebuild" => Some(ArrayAction::Rebuild),
        _ if what.starts_with("Build/Verify") => Some(ArrayAction::Init),
        _ if what.starts_with("Verify") => Some(ArrayAction::Check),
        _ => None,
    }
}
