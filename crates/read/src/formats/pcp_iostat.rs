//! pmiostat and `pcp iostat`: Performance Co-Pilot's table of disks.
//!
//! ## Reads
//! The rows below
//! `# Device rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await %util`, with
//! a preceding time (`# Timestamp Device`), each one sample of one disk.
//!
//! ## How to capture
//! `pcp iostat`, `pmiostat -t 5`, `pcp -a ARCHIVE iostat -x t`.
//!
//! ## Versions
//! PCP 3 to 7. Columns are found by the heading.
//!
//! ## Caveats
//! It looks like `iostat -x` and is not: `avgrq-sz` is KiB, not sectors. There is no sample since
//! boot. Rates cover the sampled interval, which is not in the heading: it is known only from the
//! times. Columns of `-x dm` name the volumes. `rkB/s` is in units of 1024 bytes.
//!
//! ## Not in this output
//! The latency distribution; queue and device time separately.

use iowhy_model::{Level, Op};

use crate::Format;
use crate::describe::table::{
    KIB, MS, RowTime, Slot, Subject, Table, busy, bytes, column, ios, wait_ms,
};

pub(super) const FORMAT: Format =
    Format::table("pmiostat, pcp iostat: the disks of Performance Co-Pilot", Level::A, &TABLE);

static TABLE: Table = Table {
    heading: &["r/s", "w/s", "await", "%util"],
    sign: "#",
    subject: Subject::First(&["Device"]),
    // May be of several words: `Wed Apr 29 19:03:07 2015`.
    time: RowTime::Front,
    // Printed where there is no value yet.
    empty: &["?"],
    columns: &[
        ios("r/s", Op::Read),
        column("rrqm/s", Slot::Merges(Op::Read), 1.0),
        bytes("rkB/s", Op::Read, KIB),
        wait_ms("r_await", Op::Read),
        ios("w/s", Op::Write),
        column("wrqm/s", Slot::Merges(Op::Write), 1.0),
        bytes("wkB/s", Op::Write, KIB),
        wait_ms("w_await", Op::Write),
        column("await", Slot::Wait(None), MS),
        column("avgqu-sz", Slot::Queued, 1.0),
        column("aqu-sz", Slot::Queued, 1.0),
        busy("%util"),
    ],
    ..Table::NEW
};
