//! omreport storage of Dell OpenManage: volumes of PERC controllers and their cache policy.
//!
//! ## Reads
//! Below `List of Virtual Disks ...`: of each volume by its device `array.state`,
//! `array.write_cache` (the active write policy) and `device.medium`. Below `Battery N on
//! Controller ...`: `controller.battery`, its state.
//!
//! ## How to capture
//! `omreport storage vdisk`, `omreport storage battery`.
//!
//! ## Versions
//! OpenManage 5 to 11.
//!
//! ## Caveats
//! A battery may be `Ready` and have too little charge: the controller then writes through,
//! whatever was configured. `Read Ahead` and stripe sizes are ignored.
//!
//! ## Not in this output
//! Latencies, errors of drives (`omreport storage pdisk`).

use iowhy_model::Medium;
use iowhy_model::typed::WritePolicy;

use crate::describe::report::*;

pub(super) const FORMAT: Format = Format::labels(
    "omreport storage of Dell OpenManage: volumes, write policy, battery",
    Level::E,
    &LABELS,
);

static LABELS: Labels = Labels {
    unnamed: "c0",
    near: 4,
    may_resume: true,
    lines: &[
        begins("^List of Virtual Disks {in|on} ", |_, _, _| Some(())).opens_record().like(&[
            "List of Virtual Disks in the System", "List of Virtual Disks on Controller 0",
        ]),
        begins("^Battery {:u} on Controller ", |_, _, _| Some(()))
            .opens_record()
            .like(&["Battery 0 on Controller PERC 5/i Integrated (Embedded)"]),
        says("^Controller {*} (", |_, _, _| Some(()))
            .like(&["Controller PERC 5/i Integrated (Slot Embedded)"]),
        // A volume, or a battery, begins with its number.
        says("^ID : {:u}$", |_, _, _| Some(()))
            .opens_record()
            .like(&["ID                        : 0"]),
    ],
    labels: &[
        // The subject of the state follows below.
        label(&["State"], |value, report| report.quote_alone(&value.to_lowercase())),
        label(&["Device Name"], |value, report| {
            report.name(value.strip_prefix("/dev/").unwrap_or(value))?;
            stated(report).map_or(Some(()), |state| report.fact(typed::ARRAY_STATE, state))
        }),
        label(&["Learn State"], |_, report| {
            stated(report).map_or(Some(()), |state| report.fact(typed::CONTROLLER_BATTERY, state))
        }),
        label(&["Write Policy"], |value, report| {
            let policy = match value {
                "Write Through" => WritePolicy::Through,
                "Write Back" | "Force Write Back" => WritePolicy::Back,
                _ => return Some(()),
            };
            report.fact(typed::ARRAY_WRITE_CACHE, policy)
        }),
        label(&["Layout"], |value, report| {
            let level = value.strip_prefix("RAID-");
            level.map_or(Some(()), |level| report.fact(typed::ARRAY_LEVEL, level.to_string()))
        }),
        label(&["Media"], |value, report| match value {
            "HDD" => report.fact(typed::DEVICE_MEDIUM, Medium::Rotational),
            "SSD" => report.fact(typed::DEVICE_MEDIUM, Medium::Flash),
            _ => Some(()),
        }),
    ],
    ignored: &[
        "Status", "Name", "Recharge Count", "Max Recharge Count", "Next Learn Time",
        "Maximum Learn Delay", "Learn Mode", "Predicted Capacity Status",
        "Hot Spare Policy violated", "Encrypted", "Size", "T10 Protection Information Status",
        "Associated Fluid Cache State", "Bus Protocol", "Read Policy", "Cache Policy",
        "Stripe Element Size", "Disk Cache Policy", "Progress", "Virtual Disk Bad Blocks",
    ],
    ..Labels::NEW
};

/// The state that was printed above.
fn stated(report: &Report) -> Option<String> {
    report.quoted().first().cloned()
}
