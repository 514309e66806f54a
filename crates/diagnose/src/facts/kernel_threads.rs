//! The I/O work of kernel threads and of programs that serve a file system, by their names.
//!
//! Each does its part of the I/O on one CPU. Names are those of `/proc/PID/comm`; a worker of the
//! kernel's pools has its queue after its own name (Documentation/core-api/workqueue.rst).

use iowhy_model::device_of_numbers;

use crate::facts::disk_names;

/// What threads of such a name do.
struct KernelThread {
    /// The name begins so.
    begins: &'static str,
    /// And contains this after it.
    contains: &'static str,
    does: &'static str,
}

const fn thread(begins: &'static str, contains: &'static str, does: &'static str) -> KernelThread {
    KernelThread { begins, contains, does }
}

const WRITES_BACK: &str = "it writes dirty pages of a file system back: allocation of blocks, and \
                           the code of the file system";
const ENCRYPTS: &str = "it encrypts what goes to the disks";
const OF_ARRAY: &str = "it computes parity and issues the requests of an array";
const OF_POOL: &str = "it compresses, checksums and issues what a pool writes";
const OF_BTRFS: &str = "it commits transactions, or computes checksums and compresses";
const COMPLETES: &str = "it handles completions and network packets";
const STACKED: &str = "every request to that device passes through it";

const SERVES: &str = "it serves a file system from user space (FUSE), and every read and write \
                      passes through it";

/// The first that fits counts.
const THREADS: [KernelThread; 36] = [
    thread("kworker", "flush-", WRITES_BACK),
    thread("flush-", "", WRITES_BACK),
    thread("pdflush", "", WRITES_BACK),
    thread("kworker", "crypt", ENCRYPTS),
    thread("kcryptd", "", ENCRYPTS),
    thread("dmcrypt_write", "", ENCRYPTS),
    thread("md", "_raid", OF_ARRAY),
    thread("txg_sync", "", OF_POOL),
    thread("z_wr_", "", OF_POOL),
    thread("z_rd_", "", OF_POOL),
    thread("btrfs-", "", OF_BTRFS),
    thread("kworker", "btrfs", OF_BTRFS),
    thread("kworker", "xfs", "it completes writes and allocations of XFS"),
    thread("xfsaild", "", "it writes XFS log items back to their locations on disk"),
    thread("jbd2/", "", "it commits the journal of ext4"),
    thread("ksoftirqd", "", COMPLETES),
    thread("irq/", "", COMPLETES),
    thread("loop", "", STACKED),
    thread("mmcqd/", "", STACKED),
    thread("usb-storage", "", STACKED),
    thread("drbd", "", STACKED),
    thread("ntfs-3g", "", SERVES),
    thread("mount.ntfs", "", SERVES),
    thread("mount.exfat", "", SERVES),
    thread("sshfs", "", SERVES),
    thread("s3fs", "", SERVES),
    thread("gcsfuse", "", SERVES),
    thread("blobfuse", "", SERVES),
    thread("glusterfs", "", SERVES),
    thread("ceph-fuse", "", SERVES),
    thread("encfs", "", SERVES),
    thread("gocryptfs", "", SERVES),
    thread("mergerfs", "", SERVES),
    thread("mhddfs", "", SERVES),
    thread("bindfs", "", SERVES),
    thread("fuse-overlayfs", "", SERVES),
];

/// Threads that write a file system's changes to its journal or its next state, and whether
/// programs make them do so by their flushes alone: ext4 and related ones commit every 5 s by
/// themselves, and at once for an fsync.
const COMMITTERS: [(&str, Committer); 5] = [
    ("jbd2/", Committer::Journal),
    ("kjournald", Committer::Journal),
    ("btrfs-transacti", Committer::Transaction),
    ("txg_sync", Committer::Transaction),
    ("xfsaild", Committer::Transaction),
];

/// What a thread that commits writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Committer {
    /// The journal of ext3 or ext4.
    Journal,
    /// Deferred changes of a file system.
    Transaction,
}

/// Whether a thread commits a file system, by its name.
pub(crate) fn committer(who: &str) -> Option<Committer> {
    let name = who.trim_start_matches('[');
    COMMITTERS.iter().find(|(begins, _)| name.starts_with(begins)).map(|(_, what)| *what)
}

/// What a thread of the kernel, or a program that serves a file system, does for the disks, by its
/// name with the process in brackets after it: `md127_raid6 (812)`. `None` for all others.
pub(crate) fn does(who: &str) -> Option<&'static str> {
    let name = who.split_whitespace().next()?.trim_matches(['[', ']']);
    let known = THREADS.iter().find(|thread| {
        name.strip_prefix(thread.begins).is_some_and(|rest| rest.contains(thread.contains))
    });
    known.map(|thread| thread.does)
}

/// The number of the SCSI host whose errors a thread handles, `2` of `scsi_eh_2`: it sleeps (S)
/// unless commands of a device there failed or got no answer (drivers/scsi/scsi_error.c,
/// scsi_error_handler).
pub(crate) fn recovers(thread: &str) -> Option<&str> {
    let name = thread.split_whitespace().next()?.trim_matches(['[', ']']);
    let host = name.strip_prefix("scsi_eh_")?;
    (!host.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit())).then_some(host)
}

/// Whether this is a program with a name, and no thread of the kernel.
pub(crate) fn is_program(who: &str) -> bool {
    let name = who.trim_start();
    does(who).is_none_or(|does| does == SERVES)
        && committer(name).is_none()
        && recovers(name).is_none()
        && !["[", "kworker", "("].iter().any(|begins| name.starts_with(begins))
}

/// The disk that a thread is named after: `sdb` of `jbd2/sdb3-8`, `flush-8:16` and
/// `kworker/u8:1+flush-8:16`, `dm-0` of `xfsaild/dm-0` (fs/jbd2/journal.c, fs/fs-writeback.c).
pub(crate) fn disk_of(thread: &str) -> Option<String> {
    let name = match thread.split_once("flush-") {
        Some((_, numbers)) => device_of_numbers(numbers)?,
        None => {
            let of = thread.strip_prefix("jbd2/").or_else(|| thread.strip_prefix("xfsaild/"))?;
            let number = of.strip_prefix("dm-").unwrap_or(of).split('-').next()?;
            if of.starts_with("dm-") { format!("dm-{number}") } else { number.to_string() }
        }
    };
    let is_whole = ["dm", "md", "loop"].contains(&disk_names::kind(&name));
    let disk = if is_whole { name.as_str() } else { disk_names::without_partition(&name) };
    Some(disk.to_string())
}

/// `dd if=/dev/zero of=/home/test (4711)` without the arguments.
pub(crate) fn without_arguments(who: &str) -> String {
    let mut words = who.split_whitespace();
    let program = words.next().unwrap_or_default();
    words.next_back().map_or(program.to_string(), |process| format!("{program} {process}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_known_by_their_names() {
        assert_eq!(does("kworker/u16:2+flush-9:127 (1491995)"), Some(WRITES_BACK));
        assert_eq!(does("[md0_raid5] (812)"), Some(OF_ARRAY));
        assert_eq!(does("ntfs-3g (5060)"), Some(SERVES));
        assert!(is_program("ntfs-3g (5060)"));
        assert_eq!(does("kworker/u8:3-kcryptd/253:0 (77)"), Some(ENCRYPTS));
        for other in ["mysqld (500)", "kworker/0:1-events (3)", "mdadm (9)", ""] {
            assert_eq!(does(other), None, "{other}");
        }
        assert_eq!(without_arguments("dd if=/dev/zero of=/a b (11)"), "dd (11)");
        assert!(is_program("dd if=/dev/zero (11)"));
        for other in ["[kswapd0] (41)", "kworker/u8:3 (9)", " (882)", "txg_sync (7)"] {
            assert!(!is_program(other), "{other}");
        }
    }

    #[test]
    fn an_error_handler_is_known_by_its_host() {
        assert_eq!(recovers("[scsi_eh_12] (336)"), Some("12"));
        assert_eq!((recovers("scsi_eh_"), recovers("scsi_eh_2b")), (None, None));
        assert!(!is_program("scsi_eh_2 (41)"));
    }

    #[test]
    fn threads_are_named_after_disks() {
        for (thread, disk) in [
            ("jbd2/sdb3-8", Some("sdb")),
            ("jbd2/dm-12-8", Some("dm-12")),
            ("xfsaild/nvme0n1p1", Some("nvme0n1")),
            ("flush-8:16", Some("sdb")),
            ("kworker/u16:2+flush-9:127", Some("md127")),
            ("cp", None),
            ("kjournald", None),
        ] {
            assert_eq!(disk_of(thread).as_deref(), disk, "{thread}");
        }
    }
}
