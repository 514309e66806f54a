//! The content of a device, by signatures at its start and end.
//!
//! A device may be written to only if both ends are blank. Signatures only name the content; data
//! of an unknown kind is refused as well (a database on a raw device has no mark).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use iowhy_model::Random;

use crate::engine::AlignedBuffer;

/// A mark at a fixed offset from the start of a device.
const AT_START: &[(u64, &[u8], &str)] = &[
    // util-linux, libblkid/src/superblocks and partitions: magic values and places of each.
    (0, b"LUKS\xba\xbe", "LUKS"),
    (0, b"XFSB", "an XFS file system"),
    (0, b"\xfc\x4e\x2b\xa9", "an md RAID member (1.1)"),
    (4096, b"\xfc\x4e\x2b\xa9", "an md RAID member (1.2)"),
    (0, b"hsqs", "a squashfs image"),
    (0, b"ORCLDISK", "an Oracle ASM disk"),
    (32, b"ORCLDISK", "an Oracle ASM disk"),
    (32, b"NXSB", "an APFS container"),
    (0, b"bluestore block device", "a Ceph BlueStore device"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (24, b"LVM2 001", "an LVM physical volume"),
    (536, b"LVM2 001", "an LVM physical volume"),
    (1048, b"LVM2 001", "an LVM physical volume"),
    (1560, b"LVM2 001", "an LVM physical volume"),
    (1080, b"\x53\xef", "an ext2/3/4 file system"),
    (1024, b"\x10\x20\xf5\xf2", "an F2FS file system"),
    (4086, b"SWAPSPACE2", "swap space"),
    (4086, b"SWAP-SPACE", "swap space"),
    (65_526, b"SWAPSPACE2", "swap space"),
    (4120, b"\xc6\x85\x73\xf6", "a bcache or bcachefs device"),
    (32_769, b"CD001", "an ISO 9660 image"),
    (32_768, b"JFS1", "a JFS file system"),
    (65_600, b"_BHRfS_M", "a btrfs file system"),
    (65_588, b"ReIsEr", "a ReiserFS file system"),
    (512, b"EFI PART", "a GPT partition table"),
    (4096, b"EFI PART", "a GPT partition table"),
    (510, b"\x55\xaa", "a partition table or boot sector"),
];

/// A mark at a fixed distance before the end.
const AT_END: &[(u64, &[u8], &str)] = &[
    (512, b"EFI PART", "a backup GPT partition table"),
    (4096, b"EFI PART", "a backup GPT partition table"),
    (1024, b"Intel Raid ISM Cfg Sig.", "an Intel RAID member"),
    (512, b"\xde\x11\xde\x11", "a DDF RAID member"),
];

/// Uberblocks of ZFS: every KiB of the upper half of each 256 KiB label may begin with this
/// (OpenZFS, `uberblock_impl.h`).
const ZFS: [u8; 4] = *b"\x0c\xb1\xba\x00";
/// Magic of md in the byte order of x86 (`include/uapi/linux/raid/md_p.h`).
const MD: &[u8] = b"\xfc\x4e\x2b\xa9";
/// Copies of the superblock of btrfs are there (`fs/btrfs/disk-io.h`, `btrfs_sb_offset`).
const BTRFS_COPIES: [u64; 2] = [64 << 20, 256 << 30];

/// What is found at both ends of a device of `bytes`, looking at `edge` bytes of each; empty if
/// they are blank.
///
/// # Errors
/// If the device cannot be read.
pub(super) fn found(file: &File, bytes: u64, edge: u64) -> io::Result<Vec<String>> {
    let edge = edge.min(bytes);
    let start = read(file, 0, edge)?;
    let end = read(file, bytes - edge, edge)?;
    let mut names: Vec<String> = Vec::new();
    let mut name = |what: &str| {
        if !names.iter().any(|known| known == what) {
            names.push(what.to_string());
        }
    };
    for (place, mark, what) in AT_START {
        if has(&start, *place, mark) {
            name(what);
        }
    }
    let from_end = |distance: u64| (edge.checked_sub(distance), distance);
    for (distance, mark, what) in AT_END {
        if let (Some(place), _) = from_end(*distance)
            && has(&end, place, mark)
        {
            name(what);
        }
    }
    // md 1.0 lies 8 KiB before the end on a 4 KiB boundary, md 0.90 in the last full 64 KiB.
    let md_places = [(bytes / 512).saturating_sub(16) / 8 * 4096, bytes / 65_536 * 65_536 - 65_536];
    for place in md_places {
        let place = place.checked_sub(bytes - edge);
        if place.is_some_and(|place| has(&end, place, MD)) {
            name("an md RAID member (1.0 or 0.90)");
        }
    }
    let zfs = |part: &[u8]| part.chunks(1024).any(|chunk| chunk.starts_with(&ZFS));
    let (label, far) = (start.get(..512 << 10), end.len().saturating_sub(768 << 10));
    if zfs(label.unwrap_or(&start)) || zfs(end.get(far..).unwrap_or(&end)) {
        name("a ZFS pool member");
    }
    for place in BTRFS_COPIES {
        if place + 4096 <= bytes && has(&read(file, place, 4096)?, 64, b"_BHRfS_M") {
            name("a btrfs file system");
        }
    }
    if names.is_empty() {
        for (part, place) in [(&start, "start"), (&end, "end")] {
            if part.iter().any(|byte| *byte != 0) {
                names.push(format!("unknown data at its {place}"));
            }
        }
    }
    Ok(names)
}

fn has(part: &[u8], place: u64, mark: &[u8]) -> bool {
    let place = place as usize;
    part.get(place..place + mark.len()) == Some(mark)
}

fn read(file: &File, place: u64, length: u64) -> io::Result<Vec<u8>> {
    // Through a buffer that O_DIRECT accepts: the page cache may be older than the device.
    let mut buffer = AlignedBuffer::new(length as usize, &mut Random::seeded(0));
    file.read_exact_at(buffer.bytes(), place)?;
    Ok(buffer.bytes().to_vec())
}
