//! filefrag: the number of extents of a file.
//!
//! ## Reads
//! `FILE: 883 extents found, perfection would be 68 extents` and the same without the second half.
//! Extents beyond those that its size needs become the fact `file.gaps` of the file.
//!
//! ## How to capture
//! `filefrag FILE`, `filefrag -v FILE`.
//!
//! ## Versions
//! e2fsprogs 1.40 to 1.47. Only for ext2 and ext3 a best number is printed. `-v` prints the size;
//! an extent of ext4 is at most 128 MiB, so a larger file needs several.
//!
//! ## Caveats
//! Reading a file with gaps in order is random I/O: up to a seek for each gap on a rotating disk,
//! almost nothing on flash. Extents that lie side by side are merged in the count. Copy on write
//! (btrfs) and compression (extents of 128 KiB) make many extents that are not far apart.
//!
//! ## Not in this output
//! Whether a program reads the file in order, how long a read takes.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("the number of extents of a file", Level::E, &LABELS);

/// Bytes that one extent of ext4 holds at most: 32,768 blocks of 4 KiB (Documentation,
/// filesystems/ext4/ifork.rst).
const LARGEST: f64 = 134_217_728.0;
/// The size of the file that the lines are about, bytes.
const SIZE: &str = "bytes";

static LABELS: Labels = Labels {
    near: 1,
    lines: &[
        begins("^File size of {:text} is {bytes:u} ({:u} block", |found, report, _| {
            report.keep(SIZE, found.number("bytes")?)
        })
        .like(&["File size of /srv/vm/a.img is 8804892672 (2149632 blocks of 4096 bytes)"]),
        begins(
            "^{file:text}: {n:u} {extent|extents} found, perfection would be {least:u} extent",
            extents,
        )
        .like(&["a.img: 883 extents found, perfection would be 68 extents"]),
        begins("^{file:text}: {n:u} {extents|extent} found$", extents)
            .like(&["/srv/vm/a.img: 1204 extents found", "b.img: 1 extent found"]),
    ],
    own: &["^Filesystem type is: ", "^ext: {*}length: ", "^{:u}: {*}.. {*}: ", "^Blocksize of "],
    ..Labels::NEW
};

fn extents(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let by_size = report.take(SIZE).map_or(1.0, |bytes| (bytes / LARGEST).ceil().max(1.0));
    let least = found.count("least").unwrap_or(by_size as u64);
    let gaps = found.count("n")?.saturating_sub(least);
    sink.add_fact_at(found.text("file")?.trim(), typed::FILE_GAPS, gaps, report.place());
    Some(())
}
