//! The list of keys. A new key is one line here: its constant, its name, the kind of its value, its
//! meaning. The kind determines the type of the key in [`typed`]. Both tables are sorted by name; a
//! test shows which line is not.

use super::values::type_of;
use super::{FactKey, KeyEntry, KeyFamily, Kind};

macro_rules! keys {
    (
        keys { $($key:ident $name:literal $kind:ident $title:literal;)* }
        families { $($family:ident $pattern:literal $of:ident $about:literal;)* }
    ) => {
        /// Every key and every family of keys, by its constant.
        pub mod key {
            use super::{FactKey, KeyFamily, KeyEntry, Kind};
            $(
                #[doc = $title]
                pub const $key: FactKey = FactKey {
                    entry: &KeyEntry { name: $name, title: $title, kind: Kind::$kind },
                    member: None,
                };
            )*
            $(
                #[doc = $about]
                pub const $family: KeyFamily = KeyFamily {
                    entry: &KeyEntry { name: $pattern, title: $about, kind: Kind::$of },
                };
            )*
        }
        /// The same keys with the types of their values, for code that adds facts.
        pub mod typed {
            use super::{key, type_of};
            pub use crate::fact::values::{
                ArrayAction, BitsPerSecond, Bytes, BytesPerSecond, Celsius, Durable, Family, Key,
                OfProcess, PageCache, PerSecond, Share, UnixSeconds, WriteCache, WritePolicy,
            };
            $(
                #[doc = $title]
                pub const $key: Key<type_of!($kind)> = Key::new(key::$key);
            )*
            $(
                #[doc = $about]
                pub const $family: Family<type_of!($of)> = Family::new(key::$family);
            )*
        }
        pub(super) const KEYS: &[KeyEntry] = &[
            $(KeyEntry { name: $name, title: $title, kind: Kind::$kind },)*
        ];
        pub(super) const FAMILIES: &[KeyEntry] = &[
            $(KeyEntry { name: $pattern, title: $about, kind: Kind::$of },)*
        ];
    };
}

keys! {
keys {
    ARC_HITS "arc.hits" Percent "reads served by the ARC (hits)";
    ARC_MISSES "arc.misses" PerSecond "reads not in the ARC (misses)";
    ARRAY_ACTION "array.action" ArrayAction "background work of an array";
    ARRAY_DEGRADED "array.degraded" Count "missing members of an array";
    ARRAY_LEVEL "array.level" Text "RAID level of an array or volume";
    ARRAY_PERCENT "array.percent" Percent "completed share of that work";
    ARRAY_REMAINING "array.remaining" Seconds "time remaining";
    ARRAY_SPEED "array.speed" BytesPerSecond "rate of that work";
    ARRAY_SPEED_ASKED "array.speed.asked" BytesPerSecond "rate of that work requested by its \
        driver";
    ARRAY_STATE "array.state" Text "state of an array, pool or volume";
    ARRAY_WRITE_CACHE "array.write_cache" WritePolicy "active write policy of a RAID controller";
    ARRAY_WRITE_CACHE_ASKED "array.write_cache.asked" WritePolicy "configured write policy of a \
                                                                   RAID controller";
    ARRIVALS_APART "arrivals.apart" Seconds "mean time between arrivals";
    BTRFS_DATA_USED "btrfs.data.used" Percent "used data chunks of a btrfs file system";
    BTRFS_METADATA_USED "btrfs.metadata.used" Percent "used metadata chunks of a btrfs file system";
    BTRFS_UNALLOCATED "btrfs.unallocated" Bytes "unallocated space of a btrfs file system";
    CACHE_DIRTY "cache.dirty" Percent "blocks of a cache that the disk behind it does not have yet";
    CACHE_READ_HITS "cache.read_hits" Percent "reads served by the cache in front of a disk";
    CACHE_WRITE_HITS "cache.write_hits" Percent "writes taken by the cache in front of a disk";
    CAPTURE_FORMAT "capture.format" Text "format or collector that is the source of a capture";
    CEPH_BLOCKED "ceph.blocked" Count "maximum number of blocked requests of an OSD";
    CEPH_BLOCKED_TIME "ceph.blocked_time" Seconds "longest time that a request of an OSD was \
                                                   blocked";
    CEPH_COMMIT "ceph.commit" Microseconds "mean commit latency of an OSD";
    CEPH_SCRUB_ERRORS "ceph.scrub_errors" Count "errors found in copies by a scrub";
    CEPH_SLOW_STORES "ceph.slow_stores" Count "OSDs whose store reported slow operations";
    CGROUP_LATENCY_TARGET "cgroup.io.latency.target" Microseconds "latency target of a control \
                                                                   group";
    CGROUP_MAX_RBPS "cgroup.io.max.rbps" BytesPerSecond "limit of bytes read per second";
    CGROUP_MAX_RIOPS "cgroup.io.max.riops" PerSecond "limit of reads per second";
    CGROUP_MAX_WBPS "cgroup.io.max.wbps" BytesPerSecond "limit of bytes written per second";
    CGROUP_MAX_WIOPS "cgroup.io.max.wiops" PerSecond "limit of writes per second";
    CHECKPOINT_BYTES "checkpoint.bytes" Bytes "written by checkpoints that a database logs as late";
    CHECKPOINT_COUNT "checkpoint.count" Count "checkpoints of a database";
    CHECKPOINT_FORCED "checkpoint.forced" Count "checkpoints triggered by the volume of changes";
    CHECKPOINT_INTERVAL "checkpoint.interval" Seconds "time between checkpoints reported as too \
                                                       frequent";
    CHECKPOINT_STARTS "checkpoint.starts" Count "checkpoints with a known reason";
    CHECKPOINT_SYNC "checkpoint.sync" Seconds "time of file flushes by checkpoints";
    CHECKPOINT_TOTAL "checkpoint.total" Seconds "duration of checkpoints";
    CHECKPOINT_WRITE "checkpoint.write" Seconds "time of writes by checkpoints";
    CLOCK_BEGAN "clock.began_realtime_ns" Nanoseconds "time of day at the start of the capture, \
                                                       since 1970";
    CLOCK_PRINTED "clock.printed_ns" Nanoseconds "time printed for the zero of the clock, in the \
                                                  input's time zone, since 1970 or since midnight";
    CLOCK_OFFSET "clock.realtime_offset_ns" Nanoseconds "time of day at the zero of the clock, \
                                                         since 1970";
    CLUSTER_INACTIVE "cluster.inactive" Percent "inactive placement groups of a cluster";
    CLUSTER_DEGRADED "cluster.objects.degraded" Percent "degraded objects of a cluster";
    CLUSTER_OSDS_DOWN "cluster.osds.down" Count "daemons of a cluster that are down";
    CLUSTER_RECOVERY "cluster.recovery" BytesPerSecond "recovery rate of a cluster";
    COMMIT_SLOW "commit.slow" Count "commits slower than a limit";
    COMMIT_SLOWEST "commit.slowest" Microseconds "duration of the slowest commit";
    COMMIT_TIME "commit.time" Microseconds "mean duration of a commit";
    COMPACTION_PENDING "compaction.pending" Count "compactions a database has to do";
    CONTROLLER_BATTERY "controller.battery" Text "state of the battery of a RAID controller's \
                                                  cache";
    CONTROLLER_CACHE "controller.cache" Text "state of a RAID controller's cache";
    CONTROLLER_STATE "controller.state" Text "state of a RAID controller";
    COUNTERS_SINCE "counters.since" Text "start of the counters of a listing, if not the present";
    CPUS_STUCK "cpus.stuck" Count "times a CPU ran one task for 20 s or longer (soft lockup)";
    DATABASE_LATCH_WAIT "database.latch_wait" ProcessTime "longest wait of a database's thread for \
                                                           a lock inside it";
    DATABASE_WAIT_TIME "database.wait_time" Seconds "time that sessions of a database waited or \
                                                     computed, idle waits left out";
    DATABASE_WAITS "database.waits" Count "waits, or sampled sessions, that a database counted";
    DEVICE_ALIAS "device.alias" Words "other names of the device";
    DEVICE_ALIGNMENT_OFFSET "device.alignment_offset" Bytes "offset of the first byte from an \
                                                             aligned address";
    DEVICE_BACKING "device.backing" Text "disk or file system with the backing file of a loop \
                                          device";
    DEVICE_BYTES "device.bytes" Bytes "size";
    DEVICE_CELSIUS "device.celsius" Celsius "temperature of the drive";
    DEVICE_CELSIUS_WARNING "device.celsius.warning" Celsius "warning temperature of the drive";
    DEVICE_IO_ERRORS "device.errors" Text "failed commands counted by the SCSI layer";
    DEVICE_FIRMWARE "device.firmware" Text "firmware";
    DEVICE_HOLDERS "device.holders" Words "devices stacked on it";
    DEVICE_LATENCY_COMPLAINED "device.latency.complained" Microseconds "longest mean latency \
                                                                        logged by the host";
    DEVICE_LINK_SPEED "device.link_speed" BitsPerSecond "link speed";
    DEVICE_LINK_WIDTH "device.link_width" Count "link lanes";
    DEVICE_LINKS "device.links" Words "udev links to it";
    DEVICE_LINK_SPEED_MAX "device.max_link_speed" BitsPerSecond "maximum link speed";
    DEVICE_LINK_WIDTH_MAX "device.max_link_width" Count "maximum link lanes";
    DEVICE_MEDIUM "device.medium" Medium "medium of the device";
    DEVICE_MODEL "device.model" Text "model";
    DEVICE_NUMBER "device.number" Text "device number, major:minor";
    DEVICE_PARENT "device.parent" Text "PCI function of the host adapter";
    DEVICE_PORT "device.port" Text "port of the host adapter";
    DEVICE_QUEUE_DEPTH "device.queue_depth" Count "queue depth of the device";
    DEVICE_READ_ONLY "device.read_only" Flag "whether the device is read-only";
    DEVICE_SLAVES "device.slaves" Words "underlying devices";
    DEVICE_STATE "device.state" Text "kernel state of the device";
    DEVICE_TIMEOUT "device.timeout" Seconds "command timeout";
    DEVICE_IO_TIMEOUTS "device.timeouts" Text "command timeouts counted by the SCSI layer";
    DEVICE_TRANSPORT "device.transport" Text "bus of the device";
    DEVICE_UNNAMED "device.unnamed" Flag "whether the drive is unnamed in the listing";
    DISKS_STUCK "disks.stuck" Count "intervals in which CPUs waited for I/O and nothing was read \
                                     or written";
    DM_NAME "dm.name" Text "name in the device mapper";
    DM_UUID "dm.uuid" Text "UUID in the device mapper";
    DRBD_CONNECTION "drbd.connection" Text "connection of a replicated volume to its peer";
    DRBD_LOCAL "drbd.local" Count "open requests of a replicated volume to its local disk";
    DRBD_PEER "drbd.peer" Count "requests and replies open between a replicated volume and its \
                                 peer";
    DRIVE_PIO "drive.pio" Flag "whether the drive transfers data without DMA";
    DRIVE_WRITE_CACHE "drive.write_cache" WriteCache "write cache as reported by the drive";
    ETCD_LATE_HEARTBEATS "etcd.late_heartbeats" Count "late heartbeats of etcd";
    FILE_FLUSHES "file.flushes" PerSecond "file flushes by a program";
    FILE_GAPS "file.gaps" Count "extents of a file beyond those that its size needs";
    FILE_READS "file.reads" PerSecond "file reads by a program";
    FILE_WRITES "file.writes" PerSecond "file writes by a program";
    FLUSH_IDLE "flush.idle" Microseconds "longest round of a page cleaner with nothing to flush";
    FLUSH_PENDING "flush.pending" Count "flushes a program waits for";
    FLUSH_ROUND "flush.round" Microseconds "longest time to write and flush what a program had \
        buffered";
    FLUSH_SLOW "flush.slow" Count "flushes slower than a limit";
    FLUSH_SLOWEST "flush.slowest" Microseconds "duration of the slowest flush";
    FLUSH_SLOWEST_AT_LEAST "flush.slowest.at_least" Microseconds "lower bound of the slowest flush";
    FLUSH_TIME "flush.time" Microseconds "mean latency of a durable write";
    HOST_HYPERVISOR "host.hypervisor" Text "hypervisor of the machine";
    HOST_IOWHY "host.iowhy" Text "version of iowhy that made the capture";
    HOST_KERNEL "host.kernel" Text "kernel release";
    HOST_NAME "host.name" Text "host name";
    HOST_ZONE "host.zone" Text "time zone of the machine";
    IO_SLOW "io.slow" Count "requests slower than a limit";
    IO_SLOWEST_LEAST "io.slowest.least" Seconds "lower bound of the slowest request";
    IOSTAT_SIZE_DENIED "iostat.size_denied" Number "throughput divided by rate times size, in the \
                                                    rows of a device";
    JVM_GC_SHARE "jvm.gc_share" Percent "largest share of a span that a Java program spent in \
                                         garbage collection";
    JVM_GC_TIME "jvm.gc_time" Seconds "time that a Java program reports it spent in garbage \
                                       collection";
    KERNEL_LOG_END "kernel.log.end" Text "time of the last line of the kernel's log, as printed";
    KERNEL_LOG_LINES "kernel.log.lines" Count "lines of the kernel's log";
    KERNEL_OOPS_IN "kernel.oops.in" Text "kernel function of the first oops";
    KERNEL_OOPSES "kernel.oopses" Count "failures of the kernel itself (oopses)";
    LOOP_FILE "loop.file" Text "backing file of a loop device";
    LVM_VOLUMES "lvm.volumes" Count "listed logical volumes";
    MD_STRIPE_CACHE_SIZE "md.stripe_cache_size" Count "stripe cache size of an array";
    MEMBER_REASON "member.reason" Text "reason, as printed, why a pool does not fully use a member";
    MEMBER_STATE "member.state" Text "state of an array member that is not active";
    MEMORY_AVAILABLE "memory.available.percent" Percent "available memory";
    MEMORY_CACHED "memory.cached" Bytes "page cache and buffers";
    MEMORY_DIRTY "memory.dirty" Bytes "dirty memory";
    MEMORY_SWAPPED "memory.swapped.ratio" Number "memory swapped out, as a multiple of free memory \
                                                  and cache";
    MEMORY_THROUGHPUT "memory.throughput" BytesPerSecond "throughput of cached sequential reads";
    MEMORY_WRITEBACK "memory.writeback" Bytes "memory under write-back";
    MIRROR_OF "mirror.of" Text "the other half of a mirror";
    MIRROR_WRITES "mirror.writes" Count "writes sent to both halves of a mirror";
    MOUNT_OPTIONS "mount.options" Text "mount options";
    MOUNT_POINT "mount.point" Text "mount point";
    MOUNT_SINCE "mount.since" Text "mount time, as printed";
    MOUNT_TYPE "mount.type" Text "file system type";
    MULTIPATH_FAILED "multipath.failed" Count "failed paths of a volume";
    MULTIPATH_PATHS "multipath.paths" Count "paths of a volume";
    NETAPP_CP_BACK "netapp.cp.back" Count "consistency points that began while one was written";
    NETAPP_DISK_UTIL "netapp.disk.util" Percent "maximum utilisation of a filer's busiest disk";
    NETWORK_STOPPED "network.stopped" Count "times a network card of this machine stopped sending";
    NVME_APST "nvme.apst" Flag "whether the drive enters sleep states by itself";
    OUTLIER_LATENCY "outlier.latency" Microseconds "latency of one slow I/O";
    OUTLIER_SECTOR "outlier.sector" Count "first sector of that I/O";
    OUTLIER_THRESHOLD "outlier.threshold" Microseconds "latency threshold for reporting an I/O";
    PARTITION_DISK "partition.disk" Text "disk of a partition";
    PARTITION_FIRST_SECTOR "partition.first_sector" Count "first sector of a partition, in units \
                                                           of 512 bytes";
    PARTITION_SECTORS "partition.sectors" Count "size of a partition in sectors of 512 bytes";
    PARTITION_START "partition.start" Bytes "offset of a partition with data on its disk";
    PATH_STATE "path.state" Text "state of a failed path";
    POOL_DATA_USED "pool.data.used" Percent "used data space of a thin pool or snapshot";
    POOL_METADATA_USED "pool.metadata.used" Percent "used metadata space of a thin pool";
    PROBE_CPU_SHORT "probe.cpu_short" Flag "whether CPU starvation contributed to a probe's \
                                            latencies";
    PROBE_IOS "probe.ios" Count "I/Os of a probe";
    PROBE_LIMIT "probe.limit" Text "unit of the limit that throttled a probe";
    PROBE_LIMIT_ASKED "probe.limit.asked" PerSecond "rate requested by a probe under a limit";
    PROBE_LIMIT_BOUND "probe.limit.bound" Any "limit that throttled a probe, per second";
    PROBE_LIMIT_CALLER "probe.limit.caller" Nanoseconds "mean latency of a throttled probe, from \
                                                         when an I/O was due";
    PROBE_LIMIT_DEVICE "probe.limit.device" Nanoseconds "mean latency of the device itself under \
                                                         that limit";
    PROBE_LIMIT_DONE "probe.limit.done" Any "rate reached by a throttled probe, per second";
    PROBE_LIMIT_IOPS "probe.limit.iops" PerSecond "I/Os of a throttled probe";
    PROBE_LIMIT_IOS "probe.limit.ios" Count "I/Os of a probe while a limit throttled it";
    PROBE_NO_CPU "probe.no_cpu" Percent "share of time in which a probe was CPU-starved";
    PROBE_REVOLUTION "probe.revolution" Nanoseconds "revolution time that each synchronous write \
                                                     of a probe waited";
    PROBE_REVOLUTION_IOS "probe.revolution.ios" Count "number of such writes";
    PROBE_REVOLUTION_MEAN "probe.revolution.mean" Nanoseconds "mean latency of these writes";
    PROBE_REVOLUTION_SHARE "probe.revolution.share" Percent "share of these writes that took whole \
                                                             revolutions";
    PROBE_RPM "probe.rpm" Number "spindle speed measured by a probe, revolutions per minute";
    PROCESS_CPU "process.cpu" ProcessShare "largest CPU time of a task, share of one CPU";
    PROCESS_IO_DELAY "process.io_delay" ProcessTime "longest wait of a process for block I/O in a \
                                                     report";
    PROCESS_IO_WAIT "process.io_wait" ProcessShare "largest share of its time a task waited for \
                                                    I/O";
    PROCESS_READ "process.read" ProcessBytes "data that a process read while it was counted";
    PROCESS_READ_SHARE "process.read_share" ProcessShare "largest share of the data that all \
                                                          processes read";
    PROCESS_READS "process.reads" ProcessRate "mean read throughput of a process";
    PROCESS_REQUEST_SIZE "process.request_size" Text "most frequent request size of a process";
    PROCESS_WRITE_SHARE "process.write_share" ProcessShare "largest share of the data that all \
                                                            processes wrote";
    PROCESS_WRITES "process.writes" ProcessRate "mean write throughput of a process";
    PROCESS_WRITTEN "process.written" ProcessBytes "data that a process wrote while it was counted";
    QUERY_READ_WAIT "query.read_wait" Microseconds "longest disk read time of a query";
    QUEUE_DISCARD_MAX_BYTES "queue.discard_max_bytes" Bytes "largest discard";
    QUEUE_FUA "queue.fua" Flag "whether the device supports FUA";
    QUEUE_IOSTATS "queue.iostats" Flag "whether the kernel keeps I/O statistics for the device";
    QUEUE_LOGICAL_BLOCK_SIZE "queue.logical_block_size" Bytes "smallest I/O";
    QUEUE_MAX_SECTORS "queue.max_sectors_kb" Kib "maximum request size";
    QUEUE_NR_REQUESTS "queue.nr_requests" Count "size of the request queue";
    QUEUE_PHYSICAL_BLOCK_SIZE "queue.physical_block_size" Bytes "physical block size";
    QUEUE_READ_AHEAD "queue.read_ahead_kb" Kib "read-ahead";
    QUEUE_ROTATIONAL "queue.rotational" Flag "whether the kernel treats it as a spinning disk";
    QUEUE_SCHEDULER "queue.scheduler" Text "I/O scheduler";
    QUEUE_WBT_LATENCY "queue.wbt_lat_usec" Microseconds "latency target of write-back throttling";
    QUEUE_WRITE_CACHE "queue.write_cache" Text "write cache";
    QUEUE_ZONED "queue.zoned" Text "zone model";
    READ_PENDING "read.pending" Count "reads a program waits for";
    REPLICA_SLOW "replica.slow" Count "waits for another server of a replica that were over a \
                                       limit";
    REPLICA_SLOWEST "replica.slowest" Microseconds "longest wait for another server of a replica";
    RPC_CALLS "rpc.calls" Count "calls of the client of file servers";
    RPC_REPEATED "rpc.repeated" Count "requests to a file server that were sent again";
    RPC_TIMEOUTS "rpc.timeouts" Count "requests to a file server that timed out";
    RUN_AT_ONCE "run.at_once" Count "maximum number of requests in flight in a run";
    RUN_CACHED "run.cached" PageCache "whether the page cache was used: yes, no or unknown";
    RUN_CPU "run.cpu" Percent "CPU time of a run's thread, share of its time";
    RUN_DIRECT "run.direct" Count "runs that read or write without the page cache (O_DIRECT)";
    RUN_DURABLE "run.durable" Durable "when a run flushed its data";
    RUN_ERROR "run.error" Text "error with which a run ended";
    RUN_FAILED "run.failed" Count "requests of a run that failed";
    RUN_GENERATED "run.generated" Count "runs that write random numbers which the kernel makes \
        meanwhile";
    RUN_LONGEST "run.longest" Microseconds "longest operation of a run";
    RUN_OVERRAN "run.overran" Seconds "time by which a test of limited length overran its limit";
    RUN_PAUSE "run.pause" Microseconds "pause of a run between two requests";
    RUN_SECTORS_LOST "run.sectors.lost" Count "sectors that a run did not read back as written";
    RUN_SILENT "run.silent" Seconds "time without completions although requests were in flight";
    RUN_THREADS "run.threads" Count "threads or processes that send the requests of a run";
    RUN_THROUGHPUT "run.throughput" BytesPerSecond "throughput of a run";
    SCAN_FAILED "scan.failed" Count "locations on a drive that a program could not read or write";
    SMART_AT "smart.at" Date "time of the SMART reading";
    SMART_CELSIUS "smart.celsius" Celsius "temperature of the drive";
    SMART_CELSIUS_WARNING "smart.celsius.warning" Celsius "warning temperature of the drive";
    SMART_ERROR_LOG_HOURS "smart.error_log.hours" Hours "power-on time at the last error in the \
                                                         drive's log";
    SMART_ERROR_LOG_ICRC "smart.error_log.icrc" Count "link errors in the drive's log";
    SMART_ERROR_LOG_UNC "smart.error_log.unc" Count "unreadable sectors in the drive's log";
    SMART_ERRORS "smart.errors" Count "errors in the drive's log";
    SMART_EXIT_STATUS "smart.exit_status" Count "exit status of smartctl";
    SMART_FIRMWARE "smart.firmware" Text "firmware";
    SMART_GROWN_DEFECTS "smart.grown_defects" Count "grown defects";
    SMART_HOURS "smart.hours" Hours "power-on time";
    SMART_IDLE_EXIT "smart.idle_exit" Microseconds "longest exit latency of a sleep state";
    SMART_LINK_SPEED_MAX "smart.link.max" BitsPerSecond "maximum link speed";
    SMART_LINK_SPEED "smart.link.now" BitsPerSecond "link speed";
    SMART_MODEL "smart.model" Text "model";
    SMART_NON_MEDIUM_ERRORS "smart.non_medium_errors" Count "non-medium errors";
    SMART_NVME_AVAILABLE_SPARE "smart.nvme.available_spare" Percent "spare blocks left";
    SMART_NVME_AVAILABLE_SPARE_THRESHOLD "smart.nvme.available_spare_threshold" Percent "warning \
                                                                                         threshold \
                                                                                         for spare \
                                                                                         blocks";
    SMART_NVME_ERROR_LOG_MEDIA "smart.nvme.error_log.media" Count "media errors in the NVMe error \
         log";
    SMART_NVME_PERCENTAGE_USED "smart.nvme.percentage_used" Percent "endurance used";
    SMART_NVME_TEMPERATURE "smart.nvme.temperature" Celsius "temperature of the drive";
    SMART_PASSED "smart.passed" Flag "health as reported by the drive";
    SMART_PENDING_DEFECTS "smart.pending_defects" Count "pending defects in the drive's log";
    SMART_PREFAIL_NOW "smart.prefail_now" Words "SMART attributes that currently predict a failure";
    SMART_PROTOCOL "smart.protocol" Text "protocol";
    SMART_REREAD "smart.reread" Count "reads corrected by rereading";
    SMART_RPM "smart.rpm" Count "revolutions per minute";
    SMART_SCAN_REWRITTEN "smart.scan.rewritten" Count "sectors rewritten by the drive's \
         background scan";
    SMART_SCTERC_READ "smart.scterc.read_ds" Deciseconds "time limit for recovering a read";
    SMART_SCTERC_WRITE "smart.scterc.write_ds" Deciseconds "time limit for recovering a write";
    SMART_SELF_TEST_ERRORS "smart.self_test_errors" Count "failed self-tests";
    SMART_SILENT "smart.silent" Text "reason why the drive reports no SMART data";
    SMART_UNCORRECTED_READ "smart.uncorrected.read" Count "reads the drive could not correct";
    SMART_UNCORRECTED_WRITE "smart.uncorrected.write" Count "writes the drive could not correct";
    SMART_WEAR "smart.wear.percent" Percent "endurance used";
    STALL_SHARE "stall.share" Percent "time a program throttled its own writes";
    STALL_SLOWED "stall.slowed" Count "times a program slowed down its own writes";
    STALL_STOPPED "stall.stopped" Count "times a program stopped its own writes";
    STRACE_CALLS "strace.calls" Text "number of system calls of one kind";
    SWAP_EXHAUSTED "swap.exhausted" Count "reports of the kernel about memory with no swap left";
    SWAP_NONE "swap.none" Flag "whether the machine has no swap";
    SWAP_USED "swap.used" Bytes "swap in use on a device";
    SWAP_USED_SHARE "swap.used.percent" Percent "swap in use";
    SYSBENCH_FSYNC_EVERY "sysbench.fsync_every" Count "requests between two fsyncs of a run";
    SYSBENCH_THREADS "sysbench.threads" Count "threads of a run";
    TASK_BLOCKED_IN "task.blocked_in" Text "kernel function in which a task was blocked";
    TASKS_BLOCKED "tasks.blocked" Count "maximum number of tasks in uninterruptible sleep";
    TASKS_HUNG_FOR_IO "tasks.hung_for_io" Count "tasks that hung in a wait for I/O";
    TASKS_HUNG_IN_RECLAIM "tasks.hung_in_reclaim" Count "tasks that hung during memory reclaim";
    TASKS_KSWAPD "tasks.kswapd" Percent "maximum CPU share of memory reclaim";
    TASKS_OUT_OF_MEMORY "tasks.out_of_memory" Count "processes that the kernel ended because \
                                                     memory ran out";
    TASKS_RETRY_MEMORY "tasks.retry_memory" Count "allocations that a file system tried a hundred \
                                                   times";
    TASKS_STALLED_FOR_MEMORY "tasks.stalled_for_memory" Count "allocations that took ten seconds \
         and more";
    TRACE_IN_FLIGHT "trace.in_flight" Count "requests in flight at the end of the capture";
    TRACE_IN_FLIGHT_OLDEST "trace.in_flight.oldest" Seconds "age of the oldest of them";
    TRACE_THRESHOLD "trace.threshold" Microseconds "latency threshold for listing an operation";
    VMSTAT_INTERVALS "vmstat.intervals" Count "intervals of vmstat";
    WRITE_PENDING "write.pending" Count "writes a program waits for";
    WRITE_TEST_N "write_test.n" Count "writes";
    WRITE_TEST_SIZE "write_test.size" Bytes "bytes of a write";
    WRITE_TEST_THROUGHPUT_PRINTED "write_test.throughput_printed" Text "throughput as the test \
         printed it";
    WRITE_TEST_TOOK "write_test.took" Seconds "time of all writes";
    WRITEBACK_DIRTY "writeback.dirty" Bytes "dirty pages and pages under write-back";
    WRITEBACK_LIMIT "writeback.limit" Bytes "dirty page limit (`nr_dirty_threshold`)";
    ZPOOL_REQUEST_SIZES "zpool.request_sizes" Text "contents of a listing of request sizes";
}
families {
    UNKNOWN "*" Any "a fact from a later version";
    CGROUP "cgroup.io.*" Any "field of a control group's I/O files";
    CGROUP_STAT "cgroup.io.stat.*" Count "I/O of a control group since its creation";
    CONTAINER "container.*" Text "name of a container";
    CPU_MAX "cpu.*.max" Percent "maximum share of CPU time";
    CPU_MEAN "cpu.*.mean" Percent "mean share of CPU time";
    DATABASE_WAIT_SHARE "database.wait_share.*" ProcessShare "share of a database's waiting by \
         what it waits for, and its largest event";
    DISK_READ "disk.read.*" BytesPerSecond "read throughput of a disk whose requests are unknown, \
                                            mean or maximum";
    DISK_WRITTEN "disk.written.*" BytesPerSecond "write throughput of a disk whose requests are \
                                                  unknown, mean or maximum";
    DISKS_READ "disks.read.*" BytesPerSecond "read throughput of all disks, mean or maximum";
    DISKS_WRITTEN "disks.written.*" BytesPerSecond "write throughput of all disks, mean or maximum";
    FIO "fio.*" Text "option of a job of fio";
    FIO_BANDWIDTH_MEAN "fio.bw.mean.*" Any "mean throughput of a job of fio";
    FUSE_LONGEST "fuse.longest.*" ProcessTime "longest time a program waited in one call on a FUSE \
                                               mount";
    FUSE_TASKS "fuse.tasks.*" Count "tasks that waited in one call on a FUSE mount all the time";
    FUSE_WAITING "fuse.waiting.*" Count "requests of a FUSE mount that its server has not answered";
    GPFS_LONGEST "gpfs.longest.*" Seconds "longest wait of a thread of GPFS, by what it waits for";
    GPFS_WAITERS "gpfs.waiters.*" Count "threads of GPFS that wait, by what they wait for";
    INSTANCE_EXCEEDED "instance.exceeded.*" Microseconds "time in which demand exceeded the \
                                                          instance's volume limit";
    KERNEL_LOG "kernel.log.*" Message "kernel message";
    KERNEL_LOG_COUNT "kernel.log.*.count" Count "kernel messages of one kind";
    KERNEL_LOG_BY_WORDS "kernel.log_by_words.*" Message "kernel message of unknown kind, \
                                                         classified by its words";
    KERNEL_LOG_BY_WORDS_COUNT "kernel.log_by_words.*.count" Count "kernel messages of unknown \
                                                                   kind, classified by their words";
    MEMBER_ERRORS "member.errors.*" Count "errors of a member counted by an array or controller";
    MEMBER_EVENTS "member.events.*" Count "events of one class reported by a pool for a member";
    PAGING "paging.*" PerSecond "rate of a kind of paging, mean or maximum";
    PCI_ERRORS "pci.errors.*" Flag "whether such errors of a PCI function occurred";
    PHY "phy.*" Count "counter of a SAS phy";
    POD "pod.*" Text "namespace and name of a pod";
    PRESSURE_AVG10 "pressure.*.avg10" Percent "share of the last 10 s in which tasks waited for a \
                                               resource";
    PRESSURE_AVG300 "pressure.*.avg300" Percent "share of the last 300 s in which tasks waited for \
                                                 a resource";
    PRESSURE_AVG60 "pressure.*.avg60" Percent "share of the last 60 s in which tasks waited for a \
                                               resource";
    PRESSURE_TOTAL "pressure.*.total" Microseconds "time since boot in which tasks waited for a \
                                                    resource";
    RECORDER "recorder.*" Any "fact reported by the flight recorder";
    RPC_OP_CALLS "rpc.op.calls.*" Count "calls of one operation of a file server's client";
    RPC_OP_QUEUE "rpc.op.queue.*" Nanoseconds "mean time of an operation in the client's queue";
    RPC_OP_TRIP "rpc.op.trip.*" Nanoseconds "mean time of an operation from sending to the reply";
    RUN_RATE_DEVIATION "run.rate.deviation.*" Number "standard deviation of a run's rate over its \
                                                      samples, divided by the mean";
    RUN_RATE_SAMPLES "run.rate.samples.*" Count "rate samples of a run";
    SMART_FAILED "smart.failed.*" Text "time of failure of a SMART attribute";
    SMART_NVME "smart.nvme.*" Count "field of the NVMe health log";
    SMART_NVME_OCP "smart.nvme.ocp.*" Count "field of the extended health log of NVMe";
    SMART_NVME_SENSOR "smart.nvme.sensor.*" Celsius "temperature of one sensor";
    SMART_RAW "smart.raw.*" Count "raw value of a SMART attribute";
    SMART_SATA_PHY "smart.sataphy.*" Count "counter of the SATA link";
    SMART_SLOW "smart.slow.*" Count "commands that the drive counted as slow, by the limit at \
                                     which their bucket begins";
    SMART_SLOWEST "smart.slowest.*" Nanoseconds "longest latency that the drive measured itself: \
                                                 of a read, a write or a trim";
    SWAP_IN_USE "swap.in_use.*" Kib "swap in use, mean or maximum";
    TASKS_BLOCKED_BY "tasks.blocked_by.*" Count "tasks in uninterruptible sleep, by name";
    TASKS_HUNG_IN "tasks.hung_in.*" Count "tasks that hung, by the function in their stack that \
                                           shows why";
    TASKS_HUNG_ON "tasks.hung_on.*" Count "workers of the kernel that hung, by the device they \
                                           serve";
    TASKS_HUNG_WITHIN "tasks.hung_within.*" Count "tasks that hung in a kernel module, for nothing \
                                                   that is I/O";
    TASKS_LOAD "tasks.load.*" Number "load average, mean or maximum";
    TASKS_WAIT_IN "tasks.wait_in.*" Count "tasks by the function in their stack that shows what \
                                           they wait for";
    TRACE_BEFORE_WATCH "trace.*.before_watch" Count "requests in flight at the start of the \
                                                     capture";
    TRACE_BELOW_LIMIT "trace.*.below_limit" Count "requests faster than the limit of `--over`";
    TRACE_ERRORS "trace.*.errors" Count "failed requests";
    TRACE_FILTERED "trace.*.filtered" Count "requests excluded by filters";
    TRACE_NOT_IN_DISKSTATS "trace.*.not_in_diskstats" Count "requests not counted in \
                                                             /proc/diskstats";
    TRACE_REQUEUES "trace.*.requeues" Count "requeued requests";
    UNSEEN "unseen.*" Text "what a live watch could not see, and why";
    VM "vm.*" Any "counter of /proc/vmstat";
    VMSTAT_MAX "vmstat.*.max" Any "largest value of a column of vmstat";
    VMSTAT_MEAN "vmstat.*.mean" Any "mean of a column of vmstat";
    VMSTAT_MOVING "vmstat.moving.*" Any "mean of a column of vmstat while 10 MB/s or more were \
                                         moved, and the number of such intervals";
    VMSTAT_SINCE_BOOT "vmstat.since_boot.*" Any "column of vmstat since boot";
    VMSTAT_WHILE "vmstat.while.*" Any "mean of a column of vmstat over its intervals of one kind, \
                                       and their number";
    VOLUME_EXCEEDED "volume.exceeded.*" Microseconds "time in which demand exceeded the volume's \
                                                      limit";
    WRITEBACK_DIRTIED "writeback.dirtied.*" Bytes "data that a program dirtied until the kernel \
                                                   paused it";
    WRITEBACK_LONGEST "writeback.longest.*" Nanoseconds "longest pause of a program by dirty \
                                                         throttling";
    WRITEBACK_PAUSED "writeback.paused.*" ProcessTime "time for which the kernel paused a program \
                                                       for its dirty pages";
}
}
