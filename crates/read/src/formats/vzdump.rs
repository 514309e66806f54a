//! vzdump: rates at which a backup of Proxmox VE reads a guest's disks and writes.
//!
//! ## Reads
//! The lines `INFO:  16% (4.2 GiB of 25.0 GiB) in 6s, read: 286.4 MiB/s, write: 285.3 MiB/s`. Mean
//! and maximum of both rates become facts of the backup: `disk.read.mean`, `disk.written.max`.
//!
//! ## How to capture
//! The log of the task, in the web interface or in /var/log/vzdump.
//!
//! ## Versions
//! Proxmox VE 6.2 to 9, of virtual machines.
//!
//! ## Caveats
//! Zeros and blocks that the backup server already has are read and not written. The slowest of
//! the guest's disk, compression, the network and the target sets both rates.
//!
//! ## Not in this output
//! Requests and their latency, on either side.

use crate::counters::stated::state_disk;
use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("vzdump of Proxmox VE: rates of a backup", Level::E, &LABELS);

const READ: &str = "read";
const WRITTEN: &str = "written";

static LABELS: Labels = Labels {
    unnamed: "backup",
    may_resume: true,
    lines: &[begins(
        "INFO: {:n}% ({*} of {*}) in {*}, read: {read:text}/s, write: {written:text}/s$",
        |found, report, _| {
            report.row(READ, rate(found, "read")?)?;
            report.row(WRITTEN, rate(found, "written")?)
        },
    )
    .like(&[
        "INFO:  16% (4.2 GiB of 25.0 GiB) in 6s, read: 286.4 MiB/s, write: 285.3 MiB/s",
        "1020: 21:04:29 INFO:  13% (3.4 GiB of 25.0 GiB) in 3s, read: 1.1 GiB/s, write: 350.2 \
             MiB/s",
    ])],
    own: &["INFO: "],
    end: Some(|report, sink| {
        state_disk("backup", &[READ, WRITTEN].map(|what| report.column(what)), sink);
    }),
    ..Labels::NEW
};

/// `286.4 MiB`, `0 B` in KiB.
fn rate(found: &Found, name: &str) -> Option<f64> {
    let (number, unit) = found.text(name)?.trim().split_once(' ')?;
    let bytes = bytes(&format!("{number}{}", unit.strip_suffix("iB").unwrap_or(unit)))?;
    Some(bytes / 1024.0)
}
