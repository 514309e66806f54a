//! fdisk: where the partitions of a disk begin, and how large its blocks are.
//!
//! ## Reads
//! Of each `Disk /dev/sda: ...` size, model and block sizes as facts of the disk (`device.bytes`, `device.model`,
//! `queue.logical_block_size`, `queue.physical_block_size`), and of each partition that holds data its first byte as
//! `partition.start`.
//!
//! ## Where it comes from
//! `fdisk -l`, `fdisk -lu`, `sfdisk -l`, the command `p` inside fdisk.
//!
//! ## Versions
//! util-linux 2.17 and later, in English. Older ones do not print the physical block.
//!
//! ## Traps
//! Old tables count in cylinders: no starts are taken from them. An extended partition holds only a table of others, and
//! begins inside a block on many healthy machines: passed over. A bridge for USB may hide the physical block.
//! `Partition 1 does not start on physical sector boundary.` is said of extended ones too, so starts are computed.
//!
//! ## Cannot know
//! Any latency. Whether the disk's blocks are as large as it says. What file systems lie on the partitions. Whether whole
//! lines are missing: they bear no numbers.

use iowhy_model::typed::Bytes;
use iowhy_model::{DeviceId, Level, Sink, typed};

use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "fdisk",
    summary: "fdisk -l: partitions and block sizes of a disk",
    manual: iowhy_model::manual!("fdisk.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(Fdisk::default()),
};

/// Beginnings of lines that are of the listing and of which nothing is taken.
const OTHERS: [&str; 4] = ["I/O size (", "Disklabel type:", "Disk identifier", "Partition "];

fn sniff(lines: &[&str]) -> Sniff {
    lines.first().is_some_and(|line| disk(line).is_some()).into()
}

/// `Disk /dev/sda: 465.8 GiB, 500107862016 bytes, 976773168 sectors`: the name and its bytes.
fn disk(line: &str) -> Option<(&str, u64)> {
    let (name, rest) = line.trim().strip_prefix("Disk /dev/")?.split_once(": ")?;
    let bytes = rest.split(", ").find_map(|part| part.strip_suffix(" bytes"))?;
    Some((name, integer(bytes)?))
}

/// `Sector size (logical/physical): 512 bytes / 4096 bytes`: both.
fn blocks(line: &str) -> Option<(u64, u64)> {
    let sizes = line.trim().strip_prefix("Sector size (logical/physical):")?;
    let (logical, physical) = sizes.split_once(" / ")?;
    let bytes = |text: &str| integer(text.trim().strip_suffix(" bytes")?);
    Some((bytes(logical)?, bytes(physical)?))
}

/// `Units: sectors of 1 * 512 = 512 bytes`, with `=` in old ones: the unit of the table, and its bytes.
fn unit(line: &str) -> Option<(bool, u64)> {
    let line = line.trim().strip_prefix("Units")?;
    let is_sector = line.trim_start_matches([':', '=', ' ']).starts_with("sectors");
    let (_, bytes) = line.rsplit_once("= ")?;
    Some((is_sector, integer(bytes.strip_suffix(" bytes")?)?))
}

/// `/dev/sda1  *  2048  999423  997376  487M 83 Linux`: the first unit, and whether it holds data itself.
fn partition(line: &str) -> Option<Result<(u64, bool), &'static str>> {
    let line = line.trim();
    let mut words = line.strip_prefix("/dev/")?.split_whitespace().skip(1).peekable();
    words.next_if_eq(&"*");
    let (start, end) = (words.next().and_then(integer), words.next().and_then(integer));
    let (Some(start), Some(_)) = (start, end) else {
        return Some(Err("the partition has no first and last sector"));
    };
    let holds = !line.contains("Extended") && !line.contains(" Ext'd");
    Some(Ok((start, holds)))
}

#[derive(Default)]
struct Fdisk {
    disk: Option<DeviceId>,
    /// Bytes of the unit that the table counts in; 0 where it is no sector.
    unit: u64,
}

impl Reader for Fdisk {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some((name, bytes)) = disk(line) {
            let id = sink.device(name);
            (self.disk, self.unit) = (Some(id), 0);
            sink.add_fact(id, typed::DEVICE_BYTES, Bytes(bytes));
        } else if let Some((logical, physical)) = blocks(line) {
            sink.add_fact(self.disk, typed::QUEUE_LOGICAL_BLOCK_SIZE, Bytes(logical));
            sink.add_fact(self.disk, typed::QUEUE_PHYSICAL_BLOCK_SIZE, Bytes(physical));
        } else if let Some((is_sector, bytes)) = unit(line) {
            self.unit = if is_sector { bytes } else { 0 };
        } else if let Some(model) = text.strip_prefix("Disk model:") {
            sink.add_fact(self.disk, typed::DEVICE_MODEL, model.trim());
        } else if let Some(found) = partition(line) {
            match found {
                Err(why) => return Step::Skipped(why.to_string()),
                Ok((start, true)) if self.unit > 0 => {
                    let first = start.saturating_mul(self.unit);
                    sink.add_fact(self.disk, typed::PARTITION_START, Bytes(first));
                }
                Ok(_) => {}
            }
        } else {
            let is_header = text.starts_with("Device ") && text.contains("Start");
            let is_geometry = text.contains(" heads, ");
            let is_other = OTHERS.iter().any(|begin| text.starts_with(begin));
            if !(text.is_empty() || is_header || is_geometry || is_other) {
                return Step::Passed;
            }
        }
        Step::Took
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded as read;

    #[test]
    fn starts_are_bytes_and_an_extended_partition_has_none() {
        let recording = read(
            "Disk /dev/sda: 500.1 GB, 500107862016 bytes\n\
             255 heads, 63 sectors/track, 60801 cylinders, total 976773168 sectors\n\
             Units = sectors of 1 * 512 = 512 bytes\n\
             Sector size (logical/physical): 512 bytes / 4096 bytes\n\n   \
             Device Boot      Start         End      Blocks   Id  System\n\
             /dev/sda1   *       2048   968402943   484200448   83  Linux\n\
             /dev/sda2      968404990   976771071     4183041    5  Extended\n\
             /dev/sda5      968404992   976771071     4183040   82  Linux swap / Solaris\n\
             /dev/sda6      rest\n",
        );
        let listing = &recording.listings[0];
        let of = |name: &str| {
            let facts = listing.facts.iter().filter(|fact| fact.key.name() == name);
            facts.map(|fact| fact.value.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of("partition.start").len(), 2, "{:?}", of("partition.start"));
        assert_eq!(of("queue.physical_block_size").len(), 1);
        assert_eq!(listing.source.skipped, 1);
    }

    #[test]
    fn a_table_in_cylinders_tells_no_starts() {
        let recording = read(
            "Disk /dev/hda: 80.0 GB, 80026361856 bytes\n\
             Units = cylinders of 16065 * 512 = 8225280 bytes\n\
             /dev/hda1   *           1        9729    78148161   83  Linux\n",
        );
        let facts = &recording.listings[0].facts;
        assert!(facts.iter().all(|fact| fact.key.name() != "partition.start"), "{facts:?}");
    }
}
