//! lsscsi: model of each disk of the SCSI layer.
//!
//! ## Reads
//! `[0:0:1:0]    disk    ATA      ST4000DM004-2CV1 0001  /dev/sdb`: `device.model` of the disk, and
//! its address as `device.alias`.
//!
//! ## How to capture
//! `lsscsi`, `lsscsi -g`.
//!
//! ## Versions
//! lsscsi 0.13 to 0.32.
//!
//! ## Caveats
//! The kernel cuts the model of a SATA disk to 16 letters.
//!
//! ## Not in this output
//! Anything that happened to the disks.

use crate::describe::report::*;

pub(super) const FORMAT: Format = Format::labels("lsscsi: models of disks", Level::E, &LABELS);

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("^[{address:word}] disk {text:text} /dev/{disk:word}{*}$", |found, report, sink| {
            let (disk, address) = (found.text("disk")?, found.text("address")?);
            // Vendor, model and revision: the model may have blanks.
            let words: Vec<&str> = found.text("text")?.split_whitespace().collect();
            if let [_vendor, model @ .., _revision] = words.as_slice()
                && !model.is_empty()
            {
                sink.add_fact_at(disk, typed::DEVICE_MODEL, model.join(" "), report.place());
            }
            sink.add_fact_at(disk, typed::DEVICE_ALIAS, vec![address.to_string()], report.place());
            Some(())
        })
        .when(|found| is_address(found.text("address").unwrap_or_default()))
        .like(&["[0:0:0:210]  disk    HP       P2000G3 FC/iSCSI T100  /dev/sda  /dev/sg2"]),
        perhaps("^[{address:word}] {:text}$", |_, _, _| Some(()))
            .when(|found| is_address(found.text("address").unwrap_or_default()))
            .like(&["[0:0:0:0]    enclosu HP       P2000G3 FC/iSCSI T100  -         /dev/sg0"]),
    ],
    ..Labels::NEW
};

/// Host, channel, target and unit; of NVMe `N:0:1:1`.
fn is_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let is_part = |part: &&str| *part == "N" || integer(part).is_some();
    parts.len() == 4 && parts.iter().all(is_part)
}
