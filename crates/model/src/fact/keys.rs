//! The list of keys. A new key is one line here: its constant, its name, the kind of its value, what
//! it states. The kind gives the type of its values in [`typed`], where it is stated. Both tables are sorted by name; a test says which line is not.

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
        /// The same keys with the types of their values: what is stated is stated by these.
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
    ARRAY_ACTION "array.action" ArrayAction "what an array does beside its work";
    ARRAY_DEGRADED "array.degraded" Count "members that an array lacks";
    ARRAY_LEFT "array.left_s" Seconds "time that this will take yet";
    ARRAY_PERCENT "array.percent" Percent "share of it that is done";
    ARRAY_SPEED "array.speed" BytesPerSecond "speed of it";
    ARRAY_STATE "array.state" Text "state of an array, pool or volume";
    ARRAY_WRITE_CACHE "array.write_cache" WritePolicy "what a RAID controller does with writes";
    ARRAY_WRITE_CACHE_ASKED "array.write_cache.asked" WritePolicy "what it was configured to do with writes";
    ARRIVALS_APART "arrivals.apart" Seconds "mean time from one arrival to the next";
    CAPTURE_FORMAT "capture.format" Text "format or collector that a capture was made from";
    CEPH_BLOCKED "ceph.blocked" Count "requests of an OSD that were blocked at once, most";
    CEPH_BLOCKED_FOR "ceph.blocked-for" Seconds "longest time that a request of an OSD was blocked";
    CEPH_COMMIT "ceph.commit" Microseconds "mean commit latency of an OSD";
    CEPH_SCRUB_ERRORS "ceph.scrub-errors" Count "errors that a scrub found in copies";
    CEPH_SLOW_STORES "ceph.slow-stores" Count "OSDs whose store noted slow operations";
    CGROUP_LATENCY_TARGET "cgroup.io.latency.target" Microseconds "latency that a control group is promised";
    CGROUP_MAX_RBPS "cgroup.io.max.rbps" BytesPerSecond "limit of bytes read";
    CGROUP_MAX_RIOPS "cgroup.io.max.riops" PerSecond "limit of reads";
    CGROUP_MAX_WBPS "cgroup.io.max.wbps" BytesPerSecond "limit of bytes written";
    CGROUP_MAX_WIOPS "cgroup.io.max.wiops" PerSecond "limit of writes";
    CHECKPOINT_APART "checkpoint.apart" Seconds "time between checkpoints that the database complains of";
    CHECKPOINT_COUNT "checkpoint.count" Count "checkpoints of a database";
    CHECKPOINT_FORCED "checkpoint.forced" Count "checkpoints that the volume of changes forced";
    CHECKPOINT_STARTS "checkpoint.starts" Count "checkpoints whose reason is known";
    CHECKPOINT_SYNC "checkpoint.sync" Seconds "time that checkpoints flushed files";
    CHECKPOINT_TOTAL "checkpoint.total" Seconds "time that checkpoints took";
    CLOCK_BEGAN "clock.began_realtime_ns" Nanoseconds "time of day when the watch began, since 1970";
    CLOCK_PRINTED "clock.printed_ns" Nanoseconds "time that the input prints for the zero of its clock, in a zone of its own, since 1970 or since midnight";
    CLOCK_OFFSET "clock.realtime_offset_ns" Nanoseconds "time of day at the zero of the clock, since 1970";
    COMMIT_SLOW "commit.slow" Count "commits slower than a limit";
    COMMIT_SLOWEST "commit.slowest" Microseconds "time of the slowest commit";
    COMMIT_TIME "commit.time" Microseconds "mean time of a commit";
    CONTROLLER_BATTERY "controller.battery" Text "state of the battery of a RAID controller's cache";
    CONTROLLER_CACHE "controller.cache" Text "state of a RAID controller's cache";
    CONTROLLER_STATE "controller.state" Text "state of a RAID controller";
    COUNTERS_SINCE "counters.since" Text "since when the counters of a listing run, where that is not of now";
    DEVICE_ALIAS "device.alias" Words "other names of the device";
    DEVICE_ALIGNMENT_OFFSET "device.alignment_offset" Bytes "bytes from an aligned place to the first byte";
    DEVICE_BACKING "device.backing" Text "disk or file system that the file of a loop device lies on";
    DEVICE_BYTES "device.bytes" Bytes "size";
    DEVICE_CELSIUS "device.celsius" Celsius "temperature of the drive";
    DEVICE_CELSIUS_WARNING "device.celsius.warning" Celsius "temperature from which on the drive warns";
    DEVICE_FIRMWARE "device.firmware" Text "firmware";
    DEVICE_HOLDERS "device.holders" Words "devices that are made of it";
    DEVICE_IO_ERRORS "device.ioerr_cnt" Text "commands that failed, as the SCSI layer counts them";
    DEVICE_IO_TIMEOUTS "device.iotmo_cnt" Text "commands that ran out of time, as the SCSI layer counts them";
    DEVICE_LATENCY_COMPLAINED "device.latency.complained" Microseconds "longest mean latency that the host complained of";
    DEVICE_LINK_SPEED "device.link_speed" BitsPerSecond "speed of the link";
    DEVICE_LINK_WIDTH "device.link_width" Count "lanes of the link";
    DEVICE_LINK_SPEED_MAX "device.max_link_speed" BitsPerSecond "speed that the link could have";
    DEVICE_LINK_WIDTH_MAX "device.max_link_width" Count "lanes that the link could have";
    DEVICE_MEDIUM "device.medium" Medium "what the device is made of";
    DEVICE_MODEL "device.model" Text "model";
    DEVICE_NAMELESS "device.nameless" Flag "whether the listing does not name the drive";
    DEVICE_NUMBER "device.number" Text "device number, major:minor";
    DEVICE_PARENT "device.parent" Text "PCI function of the host adapter";
    DEVICE_PORT "device.port" Text "port of the host adapter";
    DEVICE_QUEUE_DEPTH "device.queue_depth" Count "commands that the device takes at once";
    DEVICE_READ_ONLY "device.read_only" Flag "whether the device is read-only";
    DEVICE_SLAVES "device.slaves" Words "devices that it is made of";
    DEVICE_STATE "device.state" Text "state of the device in the kernel";
    DEVICE_TIMEOUT "device.timeout_s" Seconds "time limit of a command";
    DEVICE_TRANSPORT "device.transport" Text "bus that the device is attached by";
    DRIVE_WRITE_CACHE "drive.write_cache" WriteCache "write cache of the drive, by its own word";
    ETCD_LATE_HEARTBEATS "etcd.late-heartbeats" Count "heartbeats that etcd sent too late";
    FILE_FLUSHES "file.flushes" PerSecond "flushes of files that a program did";
    FILE_READS "file.reads" PerSecond "reads of files that a program did";
    FILE_WRITES "file.writes" PerSecond "writes of files that a program did";
    FLUSH_IDLE "flush.idle" Microseconds "longest round of a cleaner that had nothing to flush";
    FLUSH_PENDING "flush.pending" Count "flushes that a program waits for";
    FLUSH_SLOW "flush.slow" Count "flushes slower than a limit";
    FLUSH_SLOWEST "flush.slowest" Microseconds "time of the slowest flush";
    FLUSH_SLOWEST_LEAST "flush.slowest.least" Microseconds "time that the slowest flush took at least";
    FLUSH_TIME "flush.time" Microseconds "mean time of a durable write";
    HOST_HYPERVISOR "host.hypervisor" Text "hypervisor under which the machine runs";
    HOST_KERNEL "host.kernel" Text "release of the kernel";
    IO_SLOW "io.slow" Count "requests slower than a limit";
    IO_SLOWEST_LEAST "io.slowest.least" Seconds "time that the slowest request took at least";
    IOSTAT_SIZE_DENIED "iostat.size_denied" Number "throughput over rate times size, in the rows of a device";
    KERNEL_LOG_END "kernel.log.end" Text "time of the last line of the kernel's log, as printed";
    KERNEL_LOG_LINES "kernel.log.lines" Count "lines of the kernel's log";
    LVM_VOLUMES "lvm.volumes" Count "logical volumes that were listed";
    MD_STRIPE_CACHE_SIZE "md.stripe_cache_size" Count "stripes that an array keeps in memory";
    MEMBER_REASON "member.reason" Text "why a pool does not use a member as it should, by its own words";
    MEMBER_STATE "member.state" Text "state of a member of an array, if it is not at work";
    MEMORY_AVAILABLE "memory.available.percent" Percent "memory that is available";
    MEMORY_DIRTY "memory.dirty" Bytes "memory that waits to be written";
    MEMORY_THROUGHPUT "memory.throughput" BytesPerSecond "what memory gave to sequential reads";
    MEMORY_WRITEBACK "memory.writeback" Bytes "memory that is being written";
    MIRROR_OF "mirror.of" Text "the other half of a mirror";
    MIRROR_WRITES "mirror.writes" Count "writes that went to both halves of a mirror";
    MOUNT_OPTIONS "mount.options" Text "mount options";
    MOUNT_POINT "mount.point" Text "mount point";
    MOUNT_SINCE "mount.since" Text "when it was mounted, as printed";
    MOUNT_TYPE "mount.type" Text "type of the file system";
    MULTIPATH_FAILED "multipath.failed" Count "paths of a volume that do not work";
    MULTIPATH_PATHS "multipath.paths" Count "paths of a volume";
    NVME_APST "nvme.apst" Flag "whether the drive goes to sleep by itself";
    OUTLIER_LATENCY "outlier.latency_us" Microseconds "latency of one slow I/O";
    OUTLIER_SECTOR "outlier.sector" Count "first sector of that I/O";
    OUTLIER_THRESHOLD "outlier.threshold_us" Microseconds "latency from which on an I/O is reported";
    PARTITION_START "partition.start" Bytes "where a partition with data begins on its disk";
    PATH_STATE "path.state" Text "state of a path, if it does not work";
    POOL_DATA_USED "pool.data.used" Percent "space for data of a thin pool, or of a snapshot, in use";
    POOL_METADATA_USED "pool.metadata.used" Percent "space for metadata of a thin pool in use";
    PROBE_CPU_SHORT "probe.cpu-short" Flag "whether the machine's CPUs made a part of a probe's latencies";
    PROBE_IOS "probe.ios" Count "I/Os that a probe did";
    PROBE_LIMIT "probe.limit" Text "what the limit counts that held a probe";
    PROBE_LIMIT_ASKED "probe.limit.asked" PerSecond "I/Os that a probe held by a limit asked for";
    PROBE_LIMIT_BOUND "probe.limit.bound" Any "limit that held a probe, per second";
    PROBE_LIMIT_CALLER "probe.limit.caller" Nanoseconds "mean latency of a probe held by a limit, from when an I/O was due";
    PROBE_LIMIT_DEVICE "probe.limit.device" Nanoseconds "mean latency of the device itself behind that limit";
    PROBE_LIMIT_DONE "probe.limit.done" Any "what a probe held by a limit got done of it, per second";
    PROBE_LIMIT_IOPS "probe.limit.iops" PerSecond "I/Os that a probe held by a limit did";
    PROBE_LIMIT_IOS "probe.limit.ios" Count "I/Os that a probe did while a limit held it";
    PROBE_NO_CPU "probe.no-cpu" Percent "share of its time that a probe was ready and had no CPU";
    PROBE_REVOLUTION "probe.revolution" Nanoseconds "revolution that each synchronous write of a probe waited for";
    PROBE_REVOLUTION_IOS "probe.revolution.ios" Count "writes of which a probe saw that";
    PROBE_REVOLUTION_MEAN "probe.revolution.mean" Nanoseconds "mean latency of those writes";
    PROBE_REVOLUTION_SHARE "probe.revolution.share" Percent "share of those writes that took whole revolutions";
    PROBE_RPM "probe.rpm" Number "spindle speed that a probe measured, revolutions per minute";
    PROCESS_IO_DELAY "process.io-delay" ProcessTime "longest wait of a process for block I/O in a report";
    PROCESS_IO_WAIT "process.io-wait" ProcessShare "largest share of its time that a task waited for I/O";
    PROCESS_READS "process.reads" ProcessRate "what a process read, mean";
    PROCESS_REQUEST_SIZE "process.request-size" Text "size of most requests of a process";
    PROCESS_WRITES "process.writes" ProcessRate "what a process wrote, mean";
    QUERY_READ_WAIT "query.read-wait" Microseconds "longest time that a query read from the disk";
    QUEUE_DISCARD_MAX_BYTES "queue.discard_max_bytes" Bytes "largest discard";
    QUEUE_FUA "queue.fua" Flag "whether single writes can be forced to the medium";
    QUEUE_IOSTATS "queue.iostats" Flag "whether the kernel counts the I/O of the device";
    QUEUE_LOGICAL_BLOCK_SIZE "queue.logical_block_size" Bytes "smallest I/O";
    QUEUE_MAX_SECTORS "queue.max_sectors_kb" Kib "largest request that the kernel makes";
    QUEUE_NR_REQUESTS "queue.nr_requests" Count "requests that the queue holds";
    QUEUE_PHYSICAL_BLOCK_SIZE "queue.physical_block_size" Bytes "block of the medium";
    QUEUE_READ_AHEAD "queue.read_ahead_kb" Kib "read-ahead";
    QUEUE_ROTATIONAL "queue.rotational" Flag "whether the kernel takes it for a turning disk";
    QUEUE_SCHEDULER "queue.scheduler" Text "I/O scheduler";
    QUEUE_WBT_LATENCY "queue.wbt_lat_usec" Microseconds "latency that writeback throttling aims at";
    QUEUE_WRITE_CACHE "queue.write_cache" Text "write cache";
    QUEUE_ZONED "queue.zoned" Text "kind of zones";
    READ_PENDING "read.pending" Count "reads that a program waits for";
    RUN_AT_ONCE "run.at_once" Count "requests that a run has in flight at most";
    RUN_CACHED "run.cached" PageCache "whether the page cache was in between: yes, no or unknown";
    RUN_DURABLE "run.durable" Durable "when a run made its data durable";
    RUN_LONGEST "run.longest" Microseconds "longest operation of a run";
    RUN_PAUSE "run.pause" Microseconds "pause of a run between two requests";
    RUN_SILENT "run.silent" Seconds "time in which nothing completed though requests were in flight";
    RUN_THROUGHPUT "run.throughput" BytesPerSecond "throughput of a run";
    SCAN_FAILED "scan.failed" Count "places of a drive that a program could not read or write";
    SMART_AT "smart.at" Date "when SMART was read";
    SMART_CELSIUS "smart.celsius" Celsius "temperature of the drive";
    SMART_CELSIUS_WARNING "smart.celsius.warning" Celsius "temperature from which on the drive warns";
    SMART_ERROR_LOG_HOURS "smart.error-log.hours" Hours "power-on time at the last error in the drive's log";
    SMART_ERROR_LOG_ICRC "smart.error-log.icrc" Count "errors of the link in the drive's log";
    SMART_ERROR_LOG_UNC "smart.error-log.unc" Count "unreadable sectors in the drive's log";
    SMART_ERRORS "smart.errors" Count "errors in the drive's log";
    SMART_EXIT_STATUS "smart.exit-status" Count "exit status of smartctl";
    SMART_FIRMWARE "smart.firmware" Text "firmware";
    SMART_GROWN_DEFECTS "smart.grown-defects" Count "grown defects";
    SMART_HOURS "smart.hours" Hours "power-on time";
    SMART_IDLE_EXIT "smart.idle-exit-us" Microseconds "longest way back from a sleeping power state";
    SMART_LINK_SPEED_MAX "smart.link.max" BitsPerSecond "speed that the link could have";
    SMART_LINK_SPEED "smart.link.now" BitsPerSecond "speed of the link";
    SMART_MODEL "smart.model" Text "model";
    SMART_NON_MEDIUM_ERRORS "smart.non-medium-errors" Count "errors not of the medium";
    SMART_NVME_AVAILABLE_SPARE "smart.nvme.available_spare" Percent "spare blocks left";
    SMART_NVME_AVAILABLE_SPARE_THRESHOLD "smart.nvme.available_spare_threshold" Percent "spare blocks below which the drive warns";
    SMART_NVME_ERROR_LOG_MEDIA "smart.nvme.error-log.media" Count "media errors in the NVMe error log";
    SMART_NVME_PERCENTAGE_USED "smart.nvme.percentage_used" Percent "endurance used";
    SMART_NVME_TEMPERATURE "smart.nvme.temperature" Celsius "temperature of the drive";
    SMART_PASSED "smart.passed" Flag "whether the drive says it is healthy";
    SMART_PENDING_DEFECTS "smart.pending-defects" Count "pending defects in the drive's log";
    SMART_PREFAIL_NOW "smart.prefail-now" Words "SMART attributes that predict a failure now";
    SMART_PROTOCOL "smart.protocol" Text "protocol";
    SMART_REREAD "smart.reread" Count "reads that the drive corrected by reading again";
    SMART_RPM "smart.rpm" Count "revolutions per minute";
    SMART_SCAN_REWRITTEN "smart.scan.rewritten" Count "places that the drive's background scan rewrote";
    SMART_SCTERC_READ "smart.scterc.read_ds" Deciseconds "time limit for recovering a read";
    SMART_SCTERC_WRITE "smart.scterc.write_ds" Deciseconds "time limit for recovering a write";
    SMART_SELF_TEST_ERRORS "smart.self-test-errors" Count "self-tests that failed";
    SMART_SILENT "smart.silent" Text "what keeps the drive from saying anything";
    SMART_UNCORRECTED_READ "smart.uncorrected.read" Count "reads the drive could not correct";
    SMART_UNCORRECTED_WRITE "smart.uncorrected.write" Count "writes the drive could not correct";
    SMART_WEAR "smart.wear.percent" Percent "endurance used";
    STALL_SHARE "stall.share" Percent "time for which a program held its own writes back";
    STALL_SLOWED "stall.slowed" Count "times that a program slowed its own writes down";
    STALL_STOPPED "stall.stopped" Count "times that a program stopped its own writes";
    STRACE_CALLS "strace.calls" Text "number of system calls of one kind";
    SWAP_USED "swap.used" Bytes "swap in use on a device";
    SWAP_USED_SHARE "swap.used.percent" Percent "swap in use";
    SYSBENCH_FSYNC_EVERY "sysbench.fsync-every" Count "requests between two fsyncs of a run";
    SYSBENCH_THREADS "sysbench.threads" Count "threads of a run";
    TASK_STANDS_IN "task.stands-in" Text "function of the kernel that a task stood in";
    TASKS_BLOCKED "tasks.blocked" Count "tasks in uninterruptible sleep, at most";
    TASKS_HUNG_IN_RECLAIM "tasks.hung-in-reclaim" Count "tasks that hung while the kernel freed memory for them";
    TASKS_KSWAPD "tasks.kswapd" Percent "share of a processor that reclaims memory, at most";
    TRACE_IN_FLIGHT "trace.in_flight" Count "requests that the end of the watch left in flight";
    TRACE_IN_FLIGHT_OLDEST "trace.in_flight.oldest" Seconds "age of the oldest of them";
    TRACE_THRESHOLD "trace.threshold" Microseconds "latency from which on an operation is listed at all";
    VMSTAT_INTERVALS "vmstat.intervals" Count "intervals of vmstat";
    WRITE_PENDING "write.pending" Count "writes that a program waits for";
    WRITE_TEST_N "write_test.n" Count "writes";
    WRITE_TEST_SIZE "write_test.size" Bytes "bytes of a write";
    WRITE_TEST_THROUGHPUT_PRINTED "write_test.throughput_printed" Text "throughput as the test printed it";
    WRITE_TEST_TOOK "write_test.took_s" Seconds "time of all writes";
    ZPOOL_REQUEST_SIZES "zpool.request-sizes" Text "what stood in a listing of request sizes";
}
families {
    UNKNOWN "*" Any "a fact of a later version";
    CGROUP "cgroup.io.*" Any "field of a control group's I/O files";
    CGROUP_STAT "cgroup.io.stat.*" Count "I/O of a control group since it was made";
    CPU_MAX "cpu.*.max" Percent "largest share of the processors' time";
    CPU_MEAN "cpu.*.mean" Percent "mean share of the processors' time";
    DISKS_READ "disks.read.*" BytesPerSecond "what all disks read, mean or maximum";
    DISKS_WRITTEN "disks.written.*" BytesPerSecond "what was written to all disks, mean or maximum";
    FIO "fio.*" Text "option of a job of fio";
    FIO_BANDWIDTH_MEAN "fio.bw.mean.*" Any "mean throughput of a job of fio";
    INSTANCE_EXCEEDED "instance.exceeded.*" Microseconds "time in which more was asked than the instance gives a volume";
    KERNEL_LOG "kernel.log.*" Message "message of the kernel";
    KERNEL_LOG_COUNT "kernel.log.*.count" Count "messages of the kernel of one kind";
    MEMBER_ERRORS "member.errors.*" Count "errors that an array or controller counted of a member";
    MEMBER_EVENTS "member.events.*" Count "events of one class that a pool reported of a member";
    PCI_ERRORS "pci.errors.*" Flag "whether such errors of a PCI function were seen";
    PHY "phy.*" Count "counter of a SAS phy";
    PRESSURE_AVG10 "pressure.*.avg10" Percent "share of the last 10 s in which tasks waited for a resource";
    PRESSURE_AVG300 "pressure.*.avg300" Percent "share of the last 300 s in which tasks waited for a resource";
    PRESSURE_AVG60 "pressure.*.avg60" Percent "share of the last 60 s in which tasks waited for a resource";
    PRESSURE_TOTAL "pressure.*.total" Microseconds "time since boot in which tasks waited for a resource";
    RECORDER "recorder.*" Any "statement of the flight recorder";
    SMART_FAILED "smart.failed.*" Text "when a SMART attribute failed";
    SMART_NVME "smart.nvme.*" Count "field of the NVMe health log";
    SMART_NVME_OCP "smart.nvme.ocp.*" Count "field of the extended health log of NVMe";
    SMART_NVME_SENSOR "smart.nvme.sensor.*" Celsius "temperature of one sensor";
    SMART_RAW "smart.raw.*" Count "raw value of a SMART attribute";
    SMART_SATA_PHY "smart.sataphy.*" Count "counter of the SATA link";
    SWAP_IN_USE "swap.in-use.*" Kib "swap in use, mean or maximum";
    TASKS_LOAD "tasks.load.*" Number "load average, mean or maximum";
    TASKS_WAIT_IN "tasks.wait-in.*" Count "tasks whose stack names a function that says what they wait for";
    TRACE_BEFORE_WATCH "trace.*.before_watch" Count "requests that the beginning of the watch found in flight";
    TRACE_BELOW_LIMIT "trace.*.below_limit" Count "requests quicker than the limit of `--over`";
    TRACE_ERRORS "trace.*.errors" Count "requests that failed";
    TRACE_FILTERED "trace.*.filtered" Count "requests that no filter wanted";
    TRACE_NOT_IN_DISKSTATS "trace.*.not_in_diskstats" Count "requests that /proc/diskstats does not count";
    TRACE_REQUEUES "trace.*.requeues" Count "requests that were put back";
    VM "vm.*" Any "counter of /proc/vmstat";
    VMSTAT_MAX "vmstat.*.max" Any "largest value of a column of vmstat";
    VMSTAT_MEAN "vmstat.*.mean" Any "mean of a column of vmstat";
    VMSTAT_SINCE_BOOT "vmstat.since-boot.*" Any "column of vmstat since boot";
    VOLUME_EXCEEDED "volume.exceeded.*" Microseconds "time in which more was asked than the volume gives";
}
}
