//! Errors that illumos and Solaris count for each disk: `iostat -e`, `iostat -E`.
//!
//! ## Reads
//! The table `s/w h/w trn tot device` of `iostat -en`, and the blocks of `iostat -En`: soft, hard
//! and transport errors, media errors, failures predicted, vendor, model and serial number. Facts
//! are `member.errors.KIND` of the disk.
//!
//! ## How to capture
//! `iostat -e`, `iostat -en`, `iostat -E`, `iostat -En`.
//!
//! ## Versions
//! Solaris 2.6 to 11, illumos.
//!
//! ## Caveats
//! Counts begin when the driver attached the disk: at the boot, or when it was plugged in. A soft
//! error was corrected; many of them are `Illegal Request`s of a tool that used an unsupported
//! command. Transport errors are commands that never completed, because of the cable, the
//! controller or a disk that hangs. A CD drive counts an empty tray.
//!
//! ## Not in this output
//! When each happened.

use crate::describe::report::*;
use crate::drive::health::leading;

pub(super) const FORMAT: Format =
    Format::labels("disk errors counted by illumos: iostat -e, -E", Level::E, &LABELS);

static LABELS: Labels = Labels {
    near: 2,
    may_resume: true,
    lines: &[
        announces("^---- errors ---$", |_, _, _| Some(())).like(&["---- errors ---"]),
        begins("^s/w h/w trn tot device$", |_, _, _| Some(()))
            .shaped("h/w")
            .like(&["s/w h/w trn tot device"]),
        begins(
            "^{disk:word} Soft Errors: {soft:u} Hard Errors: {hard:u} Transport Errors: \
             {transport:u}$",
            |found, report, sink| {
                report.name(found.text("disk")?);
                counts(found, report, sink)
            },
        )
        .opens_record()
        .like(&["c1t4d0           Soft Errors: 3 Hard Errors: 1 Transport Errors: 11"]),
        says("^{soft:u} {hard:u} {transport:u} {:u} {disk:word}$", counts)
            .like(&["3   1  11  15 c1t4d0"]),
        perhaps("{Media Error|Predictive Failure Analysis}: {:u}", counted).like(&[
            "Media Error: 0 Device Not Ready: 0 No Device: 0 Recoverable: 0",
            "Illegal Request: 0 Predictive Failure Analysis: 0",
        ]),
        perhaps("Product: {model:text}", |found, report, sink| {
            let model = found.text("model")?.split(" Revision:").next()?.trim();
            sink.add_fact_at(report.drive.name()?, typed::DEVICE_MODEL, model, report.place());
            Some(())
        })
        .like(&["Vendor: ATA      Product: EXAMPLE HD4000   Revision: 0A82 Serial No: EX01"]),
    ],
    own: &["^Size: ", "^Illegal Request: ", "^Vendor: "],
    ..Labels::NEW
};

fn counts(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let disk = found.text("disk")?;
    for kind in ["soft", "hard", "transport"] {
        let count = found.count(kind)?;
        sink.add_fact_at(disk, typed::MEMBER_ERRORS.of(kind), count, report.place());
    }
    Some(())
}

fn counted(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let disk = report.drive.name()?;
    for (label, kind) in
        [("Media Error: ", "media"), ("Predictive Failure Analysis: ", "predictive")]
    {
        let count = found.line().split_once(label).and_then(|(_, rest)| leading(rest));
        if let Some(count) = count {
            sink.add_fact_at(disk, typed::MEMBER_ERRORS.of(kind), count, report.place());
        }
    }
    Some(())
}
