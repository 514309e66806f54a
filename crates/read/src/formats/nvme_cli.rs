//! NVMe drives by nvme-cli's text: health, errors, identity, power states, features.
//!
//! ## Reads
//! `nvme smart-log` (its lines alone too), `nvme error-log`, `nvme id-ctrl`, `nvme list` and `nvme
//! get-feature`. The health log becomes the facts of `smart` (`smart.nvme.media_errors` ...).
//! Beside these: `smart.nvme.sensor.N` (degrees of a single sensor), `smart.nvme.error_log.media`
//! (entries of the error log about the medium), `smart.celsius.warning`, `smart.idle_exit`
//! (the longest exit latency of a non-operational power state, microseconds),
//! `nvme.apst` (whether the drive changes its power state by itself: 0 or 1), `drive.write_cache`,
//! `smart.model` and `smart.firmware`.
//!
//! ## How to capture
//! `nvme smart-log /dev/nvme0`, `nvme error-log /dev/nvme0`, `nvme id-ctrl /dev/nvme0`, `nvme
//! list`, `nvme get-feature -f 0x0c -H /dev/nvme0`.
//!
//! ## Versions
//! nvme-cli 1.0 to 2.11. Labels changed their case and their unit signs; temperatures are read in
//! Celsius, whichever is printed first.
//!
//! ## Caveats
//! `num_err_log_entries` also counts invalid commands of the host. The composite temperature may
//! be stuck: a different value of a sensor is a reason to doubt it. A smart-log without its first
//! line names no drive, which is then called `drive`. Whether a drive slept: `nvme.apst` only shows
//! that it may.
//!
//! ## Not in this output
//! Changes of a value: two records are needed.

use iowhy_model::typed::Celsius;

use crate::describe::drive::{firmware, model, serial};
use crate::describe::report::*;
use crate::drive::health::{Drive, drive_named, leading, nvme_fact, nvme_key, nvme_value};

pub(super) const FORMAT: Format = Format::labels(
    "NVMe drives: nvme smart-log, error-log, list, id-ctrl, get-feature",
    Level::E,
    &LABELS,
);

static LABELS: Labels = Labels {
    command: Some(Command { program: "/dev/nvme", subject: command, opens: Opens::Report }),
    near: 3,
    may_resume: true,
    lines: &[
        begins("^Smart Log for NVME device:{disk:device}", |found, report, _| {
            report.name(found.device()?)
        })
        .opens_report()
        .like(&["Smart Log for NVME device:nvme0 namespace-id:ffffffff"]),
        begins("^Error Log Entries for device:{disk:device}", |found, report, _| {
            report.add("of the medium", 0.0);
            report.name(found.device()?)
        })
        .opens_report()
        .like(&["Error Log Entries for device:nvme0 entries:64"]),
        begins("^NVME Identify Controller:", |_, report, _| {
            report.fact(typed::SMART_PROTOCOL, "NVMe")
        })
        .opens_report()
        .like(&["NVME Identify Controller:"]),
        begins("^get-feature:{id:#} {*}urrent value:{value:#}", feature)
            .opens_report()
            .like(&["get-feature:0x0c (Autonomous Power State Transition), Current \
                     value:0x00000001"]),
        begins("^Node {*}SN {*}Model {*}Namespace", |found, report, _| report.quote(found.line()))
            .opens_report()
            .like(&["Node          SN          Model              Namespace Usage          \
                     Format"]),
        // Keys of the health log that no other tool prints so.
        begins(
            "^{critical_warning|available_spare|available_spare_threshold|percentage_used|media_errors|num_err_log_entries|controller_busy_time|unsafe_shutdowns|Warning Temperature Time|Critical Composite Temperature Time}{ }:{value:#}$",
            |found, report, _| {
                let (key, value) = found.line().split_once(':')?;
                health(key, value, report)
            },
        )
        .like(&["available_spare_threshold           : \
                 10%", "Warning Temperature Time            : 0"]),
        // An entry of the error log whose heading was left out.
        announces("^error_count{ }:", |_, report, _| report.add("of the medium", 0.0))
            .like(&["error_count : 9290042"]),
        follows("^sqid{ }:", |_, _, _| Some(())).like(&["sqid : 52"]),
        says("^Temperature Sensor {n:u}{ }:{value:text}", |found, report, _| {
            let celsius = nvme_value("temperature", found.text("value")?)? as f64;
            report.fact(typed::SMART_NVME_SENSOR.member(found.count("n")?), Celsius(celsius))
        })
        .like(&["Temperature Sensor 2                : 90 C"]),
        // Status words of commands that failed for the medium (NVM Express base specification,
        // media and data integrity errors).
        says(
            "^status_field{*}{UNRECOVERED_READ|READ_ERROR|WRITE_FAULT|Unrecovered Read Error|Write \
             Fault|End-to-end Guard|GUARD_CHECK}",
            |_, report, _| report.add("of the medium", 1.0),
        )
        .like(&["status_field : 0x281(Unrecovered Read Error: The read data could not be \
                 recovered)"]),
        says("^status_field{ }:", |_, report, _| report.add("of the medium", 0.0))
            .like(&["status_field : 0x2002(INVALID_FIELD)"]),
        says("^ps {*}non-operational{*}exlat:{us:#}", |found, report, _| {
            report.most("exit", found.number("us")?)
        })
        .like(&["ps    3 : mp:0.0500W non-operational enlat:210 exlat:1200 rrt:3 rrl:3"]),
        says("^-------{*} -------", |found, report, _| report.quote(found.line()))
            .like(&["--------------------- --------------------- --------"]),
        perhaps("^/dev/{disk:word} ", row).like(&["/dev/nvme0n1     S1XXNY  EXAMPLE SSD  1  512 B \
                                                   +  0 B"]),
    ],
    labels: &[
        label(&["mn"], model),
        label(&["sn"], serial),
        label(&["fr"], firmware),
        label(&["wctemp"], |value, report| {
            // 0: the drive states none.
            let kelvin = leading(value).filter(|kelvin| *kelvin > 0);
            let celsius = kelvin.and_then(|kelvin| nvme_value("temperature", &kelvin.to_string()));
            celsius.map_or(Some(()), |celsius| {
                report.fact(typed::SMART_CELSIUS_WARNING, Celsius(celsius as f64))
            })
        }),
    ],
    rest: Some(|label, value, report| match health(label, value, report) {
        Some(()) => Step::Consumed,
        None => Step::NotMine,
    }),
    // Fields of id-ctrl and of the other listings are words; their flags are in brackets.
    own: &[
        "^{:word} : ", "^[{*}]{ }: ", "^trtype_spec_info:", "^ps ", "^Entry[",
        "^endurance group critical warning", "^{---|===|...}",
    ],
    end: Some(|report, _| {
        report.add_kept(&[
            ("exit", |us| typed::SMART_IDLE_EXIT.with(Nanos::from_us(us))),
            ("of the medium", |n| typed::SMART_NVME_ERROR_LOG_MEDIA.with(n as u64)),
        ]);
    }),
    ..Labels::NEW
};

/// The drive in a command line of nvme.
fn command(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_one = words.iter().any(|word| word.rsplit('/').next() == Some("nvme"));
    let short = is_one && words.len() < 16;
    drive_named(line).filter(|name| short && name.starts_with("nvme"))
}

fn health(label: &str, value: &str, report: &mut Report) -> Option<()> {
    let key = nvme_key(label)?;
    report.state(nvme_fact(key, nvme_value(key, value)?))
}

fn feature(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let on = found.count("value")? & 1 == 1;
    match found.count("id")? {
        0x06 => report.fact(typed::DRIVE_WRITE_CACHE, on),
        0x0c => report.fact(typed::NVME_APST, on),
        _ => Some(()),
    }
}

/// A row of `nvme list`: each is a drive. Its cells begin where the runs of dashes below the
/// heading do.
fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let [heading, dashes] = report.quoted() else { return None };
    let row = found.line();
    let cell = |title: &str| {
        let from = heading.find(title)?;
        let width = dashes.get(from..)?.split(' ').next()?.len();
        let is_first = !dashes.get(..from)?.ends_with('-');
        let text = row.get(from..(from + width).min(row.len()))?.trim();
        Some(text).filter(|text| is_first && !text.is_empty())
    };
    let mut drive = Drive::default();
    drive.named(found.text("disk")?);
    for (key, title) in [(typed::DEVICE_MODEL, "Model"), (typed::DEVICE_FIRMWARE, "FW Rev")] {
        if let Some(text) = cell(title) {
            drive.add_fact(key, text, report.place());
        }
    }
    drive.emit(sink);
    Some(())
}
