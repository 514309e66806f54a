//! diskutil info of macOS: model and SMART status of a disk.
//!
//! ## Reads
//! The report of one disk: `smart.passed` (`Verified` or `Failing`), `smart.model`,
//! `device.medium`, `device.transport`.
//!
//! ## How to capture
//! `diskutil info disk0`.
//!
//! ## Versions
//! macOS 10.6 to 15.
//!
//! ## Caveats
//! A volume (`disk1s1`) has the SMART status of its disk. Most disks on USB are `Not Supported`.
//!
//! ## Not in this output
//! Attributes and errors (`smartctl -x`).

use iowhy_model::Medium;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("diskutil info of macOS: a disk's SMART status", Level::E, &LABELS);

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("^Device Identifier: {disk:word}$", |found, report, _| {
            report.name(found.text("disk")?)
        })
        .opens_record()
        .like(&["Device Identifier:         disk0"]),
        says("^Device / Media Name: {model:text}$", |found, report, _| {
            report.fact(typed::SMART_MODEL, found.text("model")?.trim())
        })
        .like(&["Device / Media Name:       APPLE SSD AP0256N"]),
    ],
    labels: &[
        label(&["SMART Status"], |value, report| match value {
            "Verified" => report.fact(typed::SMART_PASSED, true),
            "Failing" => report.fact(typed::SMART_PASSED, false),
            _ => Some(()),
        }),
        label(&["Protocol"], |value, report| report.fact(typed::DEVICE_TRANSPORT, value)),
        label(&["Solid State"], |value, report| match value {
            "Yes" => report.fact(typed::DEVICE_MEDIUM, Medium::Flash),
            "No" => report.fact(typed::DEVICE_MEDIUM, Medium::Rotational),
            _ => Some(()),
        }),
    ],
    // Everything is indented, unless it was pasted without.
    inner: &[' '],
    ignored: &[
        "Device Node", "Whole", "Part of Whole", "Volume Name", "Mounted", "Mount Point",
        "File System", "Content (IOContent)", "OS Can Be Installed", "Media Type", "Disk Size",
        "Device Block Size", "Partition Type", "File System Personality",
    ],
    ..Labels::NEW
};
