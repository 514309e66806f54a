//! fdisk: start of the partitions of a disk, and its block sizes.
//!
//! ## Reads
//! Of each `Disk /dev/sda: ...` size, model and block sizes as facts of the disk (`device.bytes`,
//! `device.model`, `queue.logical_block_size`, `queue.physical_block_size`), and for each partition
//! with data its first byte as `partition.start`.
//!
//! ## How to capture
//! `fdisk -l`, `fdisk -lu`, `sfdisk -l`, the command `p` inside fdisk.
//!
//! ## Versions
//! util-linux 2.17 and later, in English. Older ones do not print the physical block.
//!
//! ## Caveats
//! Old tables count in cylinders: no starts are taken from them. An extended partition contains
//! only a table of others, and starts inside a block on many healthy machines: ignored. A USB
//! bridge may hide the physical block size.
//! `Partition 1 does not start on physical sector boundary.` is also printed for extended ones, so
//! starts are computed.
//!
//! ## Not in this output
//! Any latency. Whether the reported block size is correct. The file systems on the partitions.

use iowhy_model::typed::Bytes;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("fdisk -l: partitions and block sizes of a disk", Level::E, &LABELS);

static LABELS: Labels = Labels {
    lines: &[
        begins("^Disk /dev/{disk:word}: {*}, {bytes:u} bytes", |found, report, sink| {
            report.name(found.text("disk")?);
            let (disk, bytes) = (report.device(sink), Bytes(found.count("bytes")?));
            sink.add_fact(disk, typed::DEVICE_BYTES, bytes);
            Some(())
        })
        .opens_record()
        .like(&["Disk /dev/sda: 465.8 GiB, 500107862016 bytes, 976773168 sectors"]),
        says(
            "^Sector size (logical/physical): {l:u} bytes / {p:u} bytes$",
            |found, report, sink| {
                let disk = report.device(sink);
                let [logical, physical] = [found.count("l")?, found.count("p")?];
                sink.add_fact(disk, typed::QUEUE_LOGICAL_BLOCK_SIZE, Bytes(logical));
                sink.add_fact(disk, typed::QUEUE_PHYSICAL_BLOCK_SIZE, Bytes(physical));
                Some(())
            },
        )
        .like(&["Sector size (logical/physical): 512 bytes / 4096 bytes"]),
        // The unit of the table; where it is not a sector, partitions begin anywhere.
        says("^Units{:| =} sectors {*}= {n:u} bytes$", |found, report, _| {
            report.keep("unit", found.positive("n")?)
        })
        .like(&["Units: sectors of 1 * 512 = 512 bytes", "Units = sectors of 1 * 512 = 512 bytes"]),
        says("^Disk model:{model:text}$", |found, report, sink| {
            let (disk, model) = (report.device(sink), found.text("model")?.trim());
            sink.add_fact(disk, typed::DEVICE_MODEL, model);
            Some(())
        })
        .like(&["Disk model: EXAMPLE SSD 500"]),
        says("^/dev/{:word} {|* }{start:u} {:u} ", partition)
            .like(&["/dev/sda1  *        2048 968402943 484200448   83  Linux"]),
    ],
    own: &[
        "^Device {*}Start", " heads, ", "^Units", "^I/O size (", "^Disklabel type:",
        "^Disk identifier", "^Partition ",
    ],
    cut: &["/dev/"],
    ..Labels::NEW
};

fn partition(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let start = found.count("start")?;
    let holds = !found.line().contains("Extended") && !found.line().contains(" Ext'd");
    if let Some(unit) = report.kept("unit").filter(|_| holds) {
        let disk = report.device(sink);
        sink.add_fact(disk, typed::PARTITION_START, Bytes(start.saturating_mul(unit as u64)));
    }
    Some(())
}
