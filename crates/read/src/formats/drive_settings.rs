//! Settings of a drive: `hdparm`, `hdparm -W`, `hdparm -I`, `sdparm --get WCE`.
//!
//! ## Reads
//! Whether the drive's own write cache is on (`drive.write_cache`: `on` or `off`), whether it
//! transfers data without DMA (`using_dma = 0`, as `drive.pio`), and of `hdparm -I` `smart.model`,
//! `smart.firmware` and `smart.rpm` (0: no platter).
//!
//! ## How to capture
//! `hdparm /dev/hda`, `hdparm -W /dev/sda`, `hdparm -I /dev/sda`, `sdparm --get WCE /dev/sda`.
//!
//! ## Versions
//! hdparm 9, sdparm 1.
//!
//! ## Caveats
//! A cache that is off makes each write wait for the platter; one that is on makes a flush wait
//! instead. For a drive behind a RAID controller the controller responds, not the drive.
//! `hdparm -I` lists features that are supported, those in use with a star.
//!
//! ## Not in this output
//! Whether the cache is protected against power loss.

use crate::describe::drive::{firmware, model, rpm, serial};
use crate::describe::report::*;

pub(super) const FORMAT: Format = Format::labels(
    "settings of a drive: hdparm -W, hdparm -I, sdparm --get WCE",
    Level::E,
    &LABELS,
);

static LABELS: Labels = Labels {
    near: 3,
    may_resume: true,
    lines: &[
        begins("^write-caching ={on:u}", cache).like(&["write-caching =  1 (on)"]),
        begins("^using_dma ={dma:u} (", |found, report, _| {
            report.fact(typed::DRIVE_PIO, found.count("dma")? == 0)
        })
        .like(&["using_dma    =  0 (off)"]),
        begins("^multcount ={:n} (", |_, _, _| Some(())).like(&["multcount    =  0 (off)"]),
        begins("^WCE {on:u} {*}[cha:", cache).like(&["WCE         1  [cha: y, def:  1, sav:  1]"]),
        begins("^ATA device, with ", |_, _, _| Some(()))
            .like(&["ATA device, with non-removable media"]),
        announces("^/dev/{disk:word}:{|}", |found, report, _| report.name(found.text("disk")?))
            .opens_report()
            .like(&["/dev/sda:", "/dev/sda: ATA       EXAMPLE HD4000    EX04"]),
        // The list of commands and features: a star precedes the one in use.
        says("^*{*}Write cache$", |_, report, _| report.fact(typed::DRIVE_WRITE_CACHE, true))
            .like(&["*\tWrite cache"]),
    ],
    labels: &[
        label(&["Model Number"], model),
        label(&["Serial Number"], serial),
        label(&["Firmware Revision"], firmware),
        label(&["Nominal Media Rotation Rate"], rpm),
    ],
    own: &[
        "^setting drive write-caching", "^IO_support ", "^unmaskirq ", "^keepsettings ",
        "^readonly ", "^readahead ", "^geometry ",
    ],
    inner: &['\t'],
    ..Labels::NEW
};

fn cache(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let on = match found.count("on")? {
        0 => false,
        1 => true,
        _ => return None,
    };
    report.fact(typed::DRIVE_WRITE_CACHE, on)
}
