//! Numbers that are notable beyond a bound, of a machine or of a drive: one row each.

use iowhy_model::waits::{KERNEL_WAITS, RECLAIM};
use iowhy_model::{FactKey, Unit, Verdict, key};

use crate::evidence::fullness;

/// A number of the machine or of a drive that is significant beyond a bound.
pub(crate) struct NotableNumber {
    /// The fact.
    pub key: FactKey,
    /// What it counts.
    pub quantity: &'static str,
    /// Its bound.
    pub above: f64,
    /// What it would mean.
    pub would_mean: &'static str,
    /// The cause that it points to.
    pub verdict: Option<Verdict>,
    /// Its unit.
    pub unit: Unit,
    /// The reading that decides; `/dev/DISK` is the disk's node.
    pub decided_by: Option<&'static str>,
}

impl NotableNumber {
    const fn means(mut self, would_mean: &'static str) -> NotableNumber {
        self.would_mean = would_mean;
        self
    }

    const fn may_be(mut self, verdict: Verdict) -> NotableNumber {
        self.verdict = Some(verdict);
        self
    }

    const fn decided_by(mut self, step: &'static str) -> NotableNumber {
        self.decided_by = Some(step);
        self
    }
}

const fn known(key: FactKey, above: f64, quantity: &'static str, unit: Unit) -> NotableNumber {
    let (would_mean, verdict, decided_by) = ("", None, None);
    NotableNumber { key, quantity, above, would_mean, verdict, unit, decided_by }
}

const fn count(key: FactKey, above: f64, quantity: &'static str) -> NotableNumber {
    known(key, above, quantity, Unit::Count)
}

const fn share(key: FactKey, above: f64, quantity: &'static str) -> NotableNumber {
    known(key, above, quantity, Unit::Share)
}

const fn seconds(key: FactKey, above: f64, quantity: &'static str) -> NotableNumber {
    known(key, above, quantity, Unit::Seconds)
}

const fn per_second(key: FactKey, above: f64, quantity: &'static str) -> NotableNumber {
    known(key, above, quantity, Unit::PerSecond)
}

/// A request that took longer may show a fault of the disk or its adapter (Microsoft's page on
/// MSFT_StorageReliabilityCounter), s.
const SLOWEST_S: f64 = 10.0;
const ONCE_SO_LONG: &str = "at some time since the drive was first used a request took this long; \
     a start from sleep takes as long, so it counts only if it is as recent as the problem";
const LOG_OF_STALLS: &str = "the system's log of the time at which it was slow (`Get-WinEvent \
     -LogName System`: events 129 and 153; Linux: `dmesg`)";

/// Minimum bytes per second of all disks together (a choice: any disk does more).
pub(crate) const NOTABLE_PER_S: f64 = 1e6;

const fn rate(key: FactKey, above: f64, quantity: &'static str) -> NotableNumber {
    known(key, above, quantity, Unit::BytesPerSecond)
}

/// Pages scanned, and page faults that read, from which on paging is reported (choices: a tenth of
/// what a copy of 4 MB/s through a full page cache scans; a fault is one read of a disk).
const SCANNED_PER_S: f64 = 100.0;
const FAULTS_PER_S: f64 = 10.0;
/// Memory swapped out per second from which on it is reported (a choice: what was not used for long
/// goes page by page).
const SWAPPED_OUT_PER_S: f64 = 1e5;
/// Gaps in a file from which on they are reported: a second of seeks of 10 ms (a choice).
const SCATTERED: f64 = 100.0;
const COMPACTS: &str =
    "its compaction or checkpoint does not keep up, limited by the disk, its threads or a setting";
const IDLE: &str =
    "tasks wait for I/O while CPUs are idle: the cause is a device or its load, not the CPUs";
const NO_FLUSH: &str =
    "no healthy device takes this long for a single flush: it is slow, or much other I/O is queued";
const OF_ANOTHER: &str = "the network, or the disk of that server: not the disk of this one";
const PAUSED: &str =
    "the virtual machine was paused at times: waits of any device are then too long";
const UNCOUNTED: &str =
    "the number and latency of requests are not in this output (`iostat -x 1`, `dstat -dr`)";

/// Numbers of the whole machine. Bounds are choices: lower values are normal.
const OF_MACHINE: [NotableNumber; 41] = [
    rate(key::DISKS_READ.of("mean"), NOTABLE_PER_S, "read from all disks together, per second")
        .means(UNCOUNTED),
    rate(key::DISKS_WRITTEN.of("mean"), NOTABLE_PER_S, "written to all disks together, per second")
        .means(UNCOUNTED),
    count(
        key::PAGING.of("direct.mean"),
        0.0,
        "pages that programs scanned for free memory themselves (pgscand), per second",
    )
    .means("memory is short: programs wait while they free it, and the I/O may be evicted pages")
    .may_be(Verdict::LayerAbove),
    count(
        key::PAGING.of("scanned.mean"),
        SCANNED_PER_S,
        "pages scanned for free memory (pgscank, pgscand), per second",
    )
    .means("the page cache is full: pages are evicted for new ones, and may be read again"),
    count(key::PAGING.of("majflt.mean"), FAULTS_PER_S, "major page faults (majflt), per second")
        .means("programs or files are read in page by page: they started, or were evicted before"),
    share(key::CLUSTER_DEGRADED, 0.0, "degraded objects of the cluster")
        .means("some of its disks or hosts are missing, and what is left is read to replace them")
        .may_be(Verdict::LoadRebuild),
    count(key::CLUSTER_OSDS_DOWN, 0.0, "daemons of the cluster (OSDs) that are down")
        .means("`ceph osd tree`: which; its log and its disk show why"),
    rate(key::CLUSTER_RECOVERY, NOTABLE_PER_S, "recovery rate of the cluster")
        .means("it competes with the I/O of clients for the same disks and network")
        .may_be(Verdict::LoadRebuild),
    share(key::VMSTAT_MEAN.of("st"), 0.05, "CPU time stolen by the host (steal)")
        .means(PAUSED)
        .may_be(Verdict::LayerAbove),
    share(key::CPU_MEAN.of("steal"), 0.05, "CPU time stolen by the host (steal)")
        .means(PAUSED)
        .may_be(Verdict::LayerAbove),
    share(key::PRESSURE_AVG10.of("cpu.some"), 0.2, "time in which tasks waited for a CPU")
        .means("programs are CPU-starved, and completions are handled late")
        .may_be(Verdict::LayerAbove),
    share(key::PRESSURE_AVG10.of("memory.some"), 0.05, "time in which tasks waited for memory")
        .means("memory is short, and the I/O may be swapping and rereading evicted pages")
        .may_be(Verdict::LayerAbove),
    share(key::PRESSURE_AVG10.of("io.some"), 0.1, "time in which tasks waited for I/O")
        .means("tasks wait for a device; this input does not say which"),
    rate(key::VMSTAT_MEAN.of("so"), SWAPPED_OUT_PER_S, "memory that was swapped out, per second")
        .means("memory is short: the I/O may be swapping")
        .may_be(Verdict::LayerMemory),
    share(key::VMSTAT_MEAN.of("wa"), 0.1, "idle CPU time with outstanding I/O (iowait)")
        .means(IDLE),
    share(key::CPU_MEAN.of("iowait"), 0.1, "idle CPU time with outstanding I/O (iowait)")
        .means(IDLE),
    seconds(key::FLUSH_SLOWEST, 0.1, "slowest flush logged by a program").means(NO_FLUSH),
    seconds(key::FLUSH_ROUND, 1.0, "longest time in which a program wrote and flushed its changes")
        .means(
            "many writes and a flush: the storage does not keep up with them, or with other I/O; \
             the program may also have waited for a CPU or for its own locks",
        ),
    seconds(key::FLUSH_SLOWEST_AT_LEAST, 0.1, "slowest flush logged by a program, at least")
        .means(NO_FLUSH),
    seconds(key::FLUSH_IDLE, 0.1, "longest round of a page cleaner that flushed nothing")
        .means(
            "it did not wait for a disk: the machine was suspended or paused, or the program was \
             CPU-starved",
        )
        .may_be(Verdict::LayerAbove),
    count(key::FLUSH_PENDING, 0.0, "flushes a program was waiting for at that moment").means(
        "normal in one sample of a busy program; if several samples show it, flushes are slow \
             or frequent",
    ),
    seconds(key::RUN_LONGEST, 0.5, "longest operation of a load generator").means(
        "a program's operation may wait for locks, memory or a network as well as a disk: \
             trace the device to find out",
    ),
    seconds(key::RUN_SILENT, 1.0, "time without completions although requests were in flight")
        .means(
            "one disk, machine or link delays everything that waits for it: the slowest one \
             involved",
        ),
    count(key::CEPH_SCRUB_ERRORS, 0.0, "errors found by a Ceph scrub")
        .means(
            "a copy differs or is unreadable: `rados list-inconsistent-obj` shows the OSD, the log \
             of its machine the disk",
        )
        .may_be(Verdict::DeviceMedia),
    count(key::CEPH_SLOW_STORES, 0.0, "OSDs whose store reported slow operations").means(
        "the warning persists for a day after one: the log of the OSD shows when and how slow \
             (`log_latency`); if the OSDs are on one machine, suspect what they share",
    ),
    count(
        key::REPLICA_SLOW,
        0.0,
        "waits for another server of a replica over the limit of the log",
    )
    .means(OF_ANOTHER)
    .may_be(Verdict::LayerRemote),
    seconds(key::REPLICA_SLOWEST, 0.1, "longest wait for another server of a replica")
        .means(OF_ANOTHER)
        .may_be(Verdict::LayerRemote),
    share(key::ARC_HITS, 0.0, "reads served by the ZFS cache (ARC)")
        .means("the rest are read from disks or from an L2ARC: `zpool iostat -vl 1` shows them"),
    per_second(key::ARC_MISSES, 0.0, "reads that missed the ZFS cache (ARC), per second")
        .means("each is a read of a disk or of an L2ARC: `zpool iostat -vl 1` shows them"),
    count(key::RUN_FAILED, 0.0, "requests of a run that failed").means(
        "the run ended early, and its rates and latencies are those of the part before: `dmesg` \
             shows whether the disk, its path or the file system failed",
    ),
    count(key::RUN_SECTORS_LOST, 0.0, "sectors that were not read back as they were written")
        .means(
            "the flash, the reader or the link between them changes data: try the card in another \
             reader, and do not use it until then",
        )
        .may_be(Verdict::DeviceMedia),
    count(key::COMPACTION_PENDING, 0.0, "compactions a database has to do").means(
        "it compacts more slowly than data arrive, limited by the disk, its threads or a rate \
             limit; reads and writes wait only if they are pending too",
    ),
    count(key::READ_PENDING, 0.0, "reads a program was waiting for at that moment").means(
        "normal in one sample of a busy program; if several samples show it, reads are slow or \
             numerous",
    ),
    count(key::WRITE_PENDING, 0.0, "writes a program was waiting for at that moment").means(
        "normal in one sample of a busy program; if several samples show it, writes are slow \
             or numerous",
    ),
    count(
        key::NETAPP_CP_BACK,
        0.0,
        "consistency points of a filer that began while one was written",
    )
    .means("its memory fills faster than its disks are written: clients wait")
    .may_be(Verdict::LayerRemote),
    share(key::NETAPP_DISK_UTIL, 0.5, "maximum utilisation of a filer's busiest disk").means(
        "normal while a consistency point is written; clients wait only if one follows the \
             other (type B)",
    ),
    seconds(
        key::GPFS_LONGEST.of("disk"),
        0.0,
        "longest wait for a disk of the node among threads of GPFS",
    )
    .means(
        "ordinary I/O in flight is listed too: look again; a waiter of seconds names a disk \
             that does not respond",
    ),
    seconds(
        key::GPFS_LONGEST.of("rpc"),
        0.0,
        "longest wait for another node among threads of GPFS",
    )
    .means("the network or the disk of that node: `mmdiag --waiters` there shows which"),
    count(key::STALL_STOPPED, 0.0, "times a database stopped its own writes").means(COMPACTS),
    count(key::STALL_SLOWED, 0.0, "times a database slowed down its own writes").means(COMPACTS),
    share(
        key::STALL_SHARE,
        0.0,
        "time in which a database throttled its own writes, since it \
                                  opened",
    )
    .means(COMPACTS),
];

/// They and the tasks that wait in a function of the kernel.
pub(crate) fn of_machine() -> impl Iterator<Item = NotableNumber> {
    let waits = KERNEL_WAITS.iter().map(|wait| {
        let row = count(key::TASKS_WAIT_IN.of(wait.function), 0.0, wait.tasks).means(wait.means);
        match wait.function {
            "balance_dirty_pages" => row.may_be(Verdict::LayerAbove),
            RECLAIM => row.may_be(Verdict::LayerMemory),
            _ => row,
        }
    });
    let blocked = count(key::TASKS_BLOCKED, 0.0, "tasks in uninterruptible sleep")
        .means("they wait for I/O, or for a lock of a file system or driver");
    OF_MACHINE.into_iter().chain(waits).chain([blocked])
}

const SELF_TEST: &str = "`smartctl -t long /dev/DISK`, hours later `smartctl -l selftest \
                         /dev/DISK`: a test that ends in a read failure proves a bad surface";
const PHY_AGAIN: &str = "the same counters again after an hour of load: a phy whose counters \
     still increase has a bad cable, connector or backplane slot";

/// Numbers of a drive.
pub(crate) const OF_DRIVE: [NotableNumber; 34] = [
    rate(key::DISK_READ.of("mean"), NOTABLE_PER_S, "read, per second").means(UNCOUNTED),
    rate(key::DISK_WRITTEN.of("mean"), NOTABLE_PER_S, "written, per second").means(UNCOUNTED),
    count(key::SMART_RAW.of("199"), 0.0, "CRC errors in the drive's lifetime")
        .means("a cable or contact failed at some time; only an increase shows that it still does")
        .may_be(Verdict::DevicePath)
        .decided_by(
            "`smartctl -A /dev/DISK` again after some hours of load: if attribute 199 has grown, \
             replace the cable or use another port",
        ),
    count(key::SMART_RAW.of("5"), 0.0, "reallocated sectors")
        .means("sectors failed at some time; only an increase shows that more do")
        .may_be(Verdict::DeviceMedia)
        .decided_by(SELF_TEST),
    count(key::SMART_RAW.of("187"), 0.0, "errors that the drive could not correct")
        .means("reads failed at some time; only an increase shows that they still do")
        .may_be(Verdict::DeviceMedia)
        .decided_by(SELF_TEST),
    count(key::SMART_GROWN_DEFECTS, 0.0, "grown defects")
        .means("sectors failed at some time; only an increase shows that more do")
        .may_be(Verdict::DeviceMedia)
        .decided_by(SELF_TEST),
    count(key::SMART_REREAD, 0.0, "reads corrected by rereading")
        .means(
            "each took a revolution or more: many of them between two readings are retries that \
             programs notice",
        )
        .may_be(Verdict::DeviceRetry),
    count(
        key::MEMBER_ERRORS.of("slow"),
        0.0,
        "slow I/Os counted by its pool (each took at least zio_slow_io_ms, by default 30 s)",
    )
    .means("the member is slow: compare it with the others of its pool")
    .may_be(Verdict::DeviceSlow)
    .decided_by(
        "`zpool iostat -vl 5` while the pool is busy: `disk_wait` of this member beside that \
             of the others",
    ),
    count(
        key::PHY.of("loss_of_dword_sync_count"),
        0.0,
        "losses of synchronisation of the SAS phys",
    )
    .means("each replug and power cycle adds one; only an increase shows that the link fails")
    .may_be(Verdict::DevicePath)
    .decided_by(PHY_AGAIN),
    count(key::PHY.of("invalid_dword_count"), 0.0, "invalid dwords of the SAS phys")
        .means("each replug adds some; only an increase shows that the link fails")
        .may_be(Verdict::DevicePath)
        .decided_by(PHY_AGAIN),
    seconds(key::SMART_SLOWEST.of("read"), SLOWEST_S, "longest read in the drive's own counters")
        .means(ONCE_SO_LONG)
        .may_be(Verdict::DeviceStall)
        .decided_by(LOG_OF_STALLS),
    seconds(key::SMART_SLOWEST.of("write"), SLOWEST_S, "longest write in the drive's own counters")
        .means(ONCE_SO_LONG)
        .may_be(Verdict::DeviceStall)
        .decided_by(LOG_OF_STALLS),
    seconds(key::SMART_SLOWEST.of("flush"), SLOWEST_S, "longest flush in the drive's own counters")
        .means(ONCE_SO_LONG)
        .may_be(Verdict::DeviceStall)
        .decided_by(LOG_OF_STALLS),
    count(
        key::PHY.of("invalid_crc_count"),
        0.0,
        "frames with a wrong checksum at Fibre Channel ports",
    )
    .means("only corrupt frames count: a cable, a transceiver or a port between host and array")
    .may_be(Verdict::DevicePath)
    .decided_by(PHY_AGAIN),
    count(key::PHY.of("phy_reset_problem_count"), 0.0, "failed resets of the SAS phys")
        .means(
            "the two ends could not agree on a link at some time; only an increase shows that they \
             still cannot",
        )
        .may_be(Verdict::DevicePath)
        .decided_by(PHY_AGAIN),
    count(key::DRIVE_PIO, 0.0, "transfers without DMA (using_dma = 0)")
        .means("the CPU moves each word: a few MB/s, and much system time")
        .may_be(Verdict::DevicePath)
        .decided_by(
            "`hdparm -d1 /dev/DISK`, `hdparm -tT /dev/DISK` before and after; `dmesg` shows why \
             the kernel does not use DMA (driver, cable of 40 wires)",
        ),
    count(
        key::DRBD_LOCAL,
        fullness::DEEP,
        "open requests of the replicated volume to its local disk",
    )
    .means(
        "one moment: they wait for the local disk, not for the peer or the network (`iostat -x \
             1`)",
    ),
    count(key::FILE_GAPS, SCATTERED, "extents of the file beyond those that its size needs")
        .means(
            "reading it in order is random I/O: up to one seek each on a spinning disk, little on \
             flash",
        )
        .may_be(Verdict::LayerAbove)
        .decided_by(
            "`cp FILE FILE.new`, `filefrag FILE.new`, and the time that each takes to read with \
             `dd iflag=direct`",
        ),
    count(key::SMART_ERRORS, 0.0, "errors in the drive's log")
        .means(
            "commands failed at some time: compare their power-on hours with the drive's to find \
             out when",
        )
        .may_be(Verdict::DeviceMedia)
        .decided_by(
            "`smartctl -l xerror /dev/DISK`: `UNC` is the surface, `ICRC` the cable; `smartctl -A \
             /dev/DISK`: attributes 197, 198 and 199, and power-on hours",
        ),
    share(key::SMART_NVME_PERCENTAGE_USED, 0.9, "endurance used")
        .means("the flash is near the end of its rated writes, which alone does not slow it down")
        .may_be(Verdict::DeviceMedia),
    count(key::ARRAY_DEGRADED, 0.0, "missing members of the array").means(
        "a degraded array reads more slowly and survives fewer failures, or none: find out \
             which member failed, and why",
    ),
    seconds(key::DEVICE_LATENCY_COMPLAINED, 0.02, "longest mean latency logged by the host")
        .means("the storage was slow for a time, or overloaded: its own metrics show which"),
    seconds(key::DEVICE_TIMEOUT, 31.0, "command timeout")
        .means("the kernel waits that long for a drive before it resets it")
        .may_be(Verdict::DeviceRecovery),
    count(key::MEMBER_ERRORS.of("read"), 0.0, "failed reads counted by its array")
        .means("the drive's surface or its path; the counters persist until they are cleared")
        .may_be(Verdict::DeviceMedia)
        .decided_by(
            "`smartctl -x /dev/DISK`: pending sectors and `UNC` are the surface, `ICRC` and \
             attribute 199 the cable",
        ),
    count(key::MEMBER_ERRORS.of("write"), 0.0, "failed writes counted by its array")
        .means(
            "it was unreachable or failing for a time: check its path before its surface; the \
             counters persist until they are cleared",
        )
        .may_be(Verdict::DevicePath),
    count(key::MEMBER_ERRORS.of("checksum"), 0.0, "blocks with a wrong checksum")
        .means(
            "memory, controller, cable or disk; if several members count them, suspect what they \
             share",
        )
        .may_be(Verdict::DevicePath),
    count(key::ARRAY_DEGRADED, 0.0, "missing members of the array")
        .means("each read of the missing member is computed from all others"),
    share(key::CACHE_READ_HITS, 0.0, "reads served by the cache in front of the disk").means(
        "the rest wait for the disk behind it; a cache that was activated recently or is smaller \
             than the working set helps little",
    ),
    share(key::CACHE_WRITE_HITS, 0.0, "writes taken by the cache in front of the disk")
        .means("the rest wait for the disk behind it"),
    share(key::CACHE_DIRTY, 0.5, "blocks of the cache that the disk behind it does not have yet")
        .means("a cache that is full of these takes writes only as fast as that disk"),
    seconds(key::CEPH_COMMIT, 0.02, "mean commit latency")
        .means(
            "includes its device, flushes and its own threads: compare it with other OSDs of its \
             class",
        )
        .may_be(Verdict::PeerOutlier),
    count(key::CEPH_BLOCKED, 0.0, "blocked requests, maximum at once")
        .means("they wait for its own disk, another OSD or the network: the OSD's log shows which"),
    seconds(key::IO_SLOWEST_LEAST, 1.0, "slowest request logged by a program, at least")
        .means("a path, a driver or a disk delayed it: check the system log of the same minute"),
    seconds(key::CEPH_BLOCKED_TIME, 0.0, "longest wait of a blocked request")
        .means("it waited for its own disk, another OSD or the network: the OSD's log shows which"),
];
