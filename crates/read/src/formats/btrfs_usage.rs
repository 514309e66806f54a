//! Space of a btrfs file system: `btrfs filesystem usage`, `btrfs filesystem df`.
//!
//! ## Reads
//! Space of the devices that no chunk has yet (`btrfs.unallocated`), and the share in use of the
//! chunks for data and of those for metadata (`btrfs.data.used`, `btrfs.metadata.used`).
//!
//! ## How to capture
//! `btrfs filesystem usage /mnt`, as root.
//!
//! ## Versions
//! btrfs-progs 3.18 to 6.x. `df` and versions before 3.18 print no unallocated space: nothing can
//! be concluded from full chunks then, since there may be room for more.
//!
//! ## Caveats
//! Chunks are for data or for metadata. If all space is allocated, metadata cannot grow, although
//! `df` shows free space inside the chunks of data. The global reserve is part of the metadata that
//! is not in use: with 95 % in use little else is left.
//!
//! ## Not in this output
//! How long commits take; whether an error has been returned (the kernel's log).

use iowhy_model::typed::{Bytes, Share};

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("space of btrfs: btrfs filesystem usage, df", Level::E, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "btrfs",
    command: Some(Command { program: "btrfs ", subject: of_command, opens: Opens::Report }),
    near: 4,
    lines: &[
        begins("^Device unallocated:{n:size}", |found, report, _| {
            report.fact(typed::BTRFS_UNALLOCATED, Bytes(found.number("n")? as u64))
        })
        .like(&["Device unallocated:              1.00MiB"]),
        begins(
            "^Data,{ }{:word}: {Size:|total=}{all:size}, {Used:|used=}{used:size}",
            |found, report, _| report.fact(typed::BTRFS_DATA_USED, used(found)?),
        )
        .like(&[
            "Data,single: Size:3.54TiB, Used:3.27TiB (92.42%)",
            "Data, RAID1: total=120.00GiB, used=98.12GiB",
        ]),
        begins(
            "^Metadata,{ }{:word}: {Size:|total=}{all:size}, {Used:|used=}{used:size}",
            |found, report, _| report.fact(typed::BTRFS_METADATA_USED, used(found)?),
        )
        .like(&[
            "Metadata,DUP: Size:51.50GiB, Used:50.97GiB (98.98%)",
            "Metadata, RAID1: total=3.00GiB, used=2.10GiB",
        ]),
        announces("^Overall:$", |_, _, _| Some(())).like(&["Overall:"]),
    ],
    own: &[
        "^System,",
        "^GlobalReserve,",
        "^Data+Metadata,",
        "^Unallocated:",
        "^/dev/{:word} {:size}",
        "^Device {size|allocated|missing|slack|zone unusable|zone size}:",
        "^Used:",
        "^Free ",
        "^Data ratio:",
        "^Metadata ratio:",
        "^Global reserve:",
        "^Multiple profiles:",
    ],
    ..Labels::NEW
};

/// The mount point that `btrfs filesystem usage /mnt` is asked about.
fn of_command(line: &str) -> Option<String> {
    let (_, command) = line.split_once("btrfs ")?;
    let words: Vec<&str> = command.split_whitespace().collect();
    let ["fi" | "filesystem", "us" | "usage" | "df", .., path] = words.as_slice() else {
        return None;
    };
    path.starts_with('/').then(|| path.to_string())
}

fn used(found: &Found) -> Option<Share> {
    let share = found.number("used")? / found.positive("all")?;
    (0.0..=1.0).contains(&share).then_some(Share(share))
}
