//! The terms on a screen: columns, stages of a request, the lines of a verdict.

/// Each term, its meaning in a line, and as a manual which tools show it or how it is computed.
pub(crate) const WORDS: &[(&str, &str, &str)] = &[
    (
        "%util",
        "share of the time with a request in flight",
        "//! Share of the time in which at least one request was in flight (iostat(1)). 100 % \
         means saturation only for a device that serves one\n//! request at a time, not for flash, \
         arrays and cloud volumes.",
    ),
    (
        "a guess",
        "confidence below 40 %",
        "//! The word for a confidence below 40 %: take it as a hint where to look.",
    ),
    (
        "a verdict",
        "shows the verdict of a bundled capture",
        "//! How to see a verdict where there was nothing to judge: `why --example NAME` judges a \
         bundled capture.",
    ),
    (
        "accuses",
        "the verdict names a cause",
        "//! A verdict names a cause if its confidence is at least 60 % and it explains at least \
         30 % of the excess latency.",
    ),
    (
        "actv",
        "mean number of requests on the device",
        "//! Mean number of requests on the device, of iostat(1M) of Solaris.",
    ),
    (
        "almost idle",
        "fewer than twenty I/Os were watched",
        "//! Fewer than 20 I/Os were seen and nothing is to blame: watch again while it is slow, \
         or `why -- COMMAND`.",
    ),
    (
        "also",
        "other findings",
        "//! Findings about other devices, or less likely ones; `-v` shows them in full.",
    ),
    (
        "aqu-sz",
        "mean number of requests waiting or on the device",
        "//! Mean number of requests waiting or in service (iostat(1); older: avgqu-sz). Equals \
         rate times await (Little's law).",
    ),
    (
        "areq-sz",
        "mean size of a request, KiB",
        "//! Mean size of a request in KiB (iostat(1); older: avgrq-sz, in sectors of 512 bytes).",
    ),
    (
        "assumed",
        "taken for granted: the input does not say",
        "//! Not in the input, so a usual value was taken, such as the class of the disk. The \
         confidence is lower, and both readings are given where they differ.",
    ),
    (
        "asvc_t",
        "mean time on the device, ms",
        "//! Mean time of a request on the device in ms, of iostat(1M) of Solaris.",
    ),
    (
        "avgqu-sz",
        "older name of aqu-sz",
        "//! Older name of aqu-sz: mean number of requests waiting or in service (iostat(1)).",
    ),
    (
        "avgrq-sz",
        "older name of areq-sz, in sectors",
        "//! Mean size of a request in sectors of 512 bytes (iostat(1)); newer: areq-sz, in KiB.",
    ),
    (
        "await",
        "mean latency with the time in the queue, ms",
        "//! Mean time from the start of a request to its completion in ms, queue included \
         (iostat(1)).",
    ),
    (
        "B2Q",
        "from bio arrival to request: waiting before the queue",
        "//! Time from the arrival of an I/O (bio) in the block layer to its request (`--before`): \
         waiting for a free tag, write-back\n//! throttling, io.cost or a limit of its control \
         group.",
    ),
    (
        "basis",
        "how a number was obtained",
        "//! How a number was obtained: traced, sampled, reported, computed or estimated. `why \
         -v`.",
    ),
    (
        "because",
        "the numbers behind the verdict",
        "//! The numbers that the verdict rests on, each with its threshold; `-v` has all with \
         their sources.",
    ),
    (
        "began",
        "start of an incident",
        "//! Start of the first slow second of an incident, local time. `iowhy incidents`.",
    ),
    (
        "brightest",
        "what the lightest colour of a map stands for",
        "//! What the lightest colour of a heat map stands for: I/Os or time waited per second, in \
         one cell.",
    ),
    ("BYTES", "size of a request in bytes", "//! Size of a request in bytes (biosnoop)."),
    (
        "calibration",
        "how often such answers were right",
        "//! The last step of a confidence: what the steps before it give, replaced by the share \
         of answers with that value that were right in captures nobody had seen. `why -vv`.",
    ),
    (
        "call",
        "system call, or what it does",
        "//! System call, or what it does to the file: read, write, sync.",
    ),
    (
        "calls",
        "number of system calls",
        "//! Number of system calls that returned while iowhy watched.",
    ),
    (
        "cells",
        "data of a heat map",
        "//! Counts by time and latency. They include all I/Os, even if individual I/Os are kept \
         only in part.",
    ),
    (
        "cgroup",
        "control group of a program",
        "//! Control group that an I/O is charged to. `--by cgroup`.",
    ),
    (
        "clause",
        "one test of a rule",
        "//! One test of a rule: a value compared with its threshold. It adds its weight, in nats, \
         to the log odds.",
    ),
    (
        "COMM",
        "name of a thread",
        "//! Name of the thread that sent the request, at most 15 bytes (proc_pid_comm(5)).",
    ),
    (
        "computed",
        "exactly, from printed or traced values",
        "//! Calculated exactly from values that were traced or printed.",
    ),
    (
        "confidence",
        "probability that the verdict is right",
        "//! Calibrated probability that the verdict is right: in the lab, four in five verdicts \
         with 80 % were right. `why -vv` shows\n//! how it was computed. Below 60 % no cause is \
         accused.",
    ),
    (
        "container",
        "container of a program",
        "//! Container by the control group of the program, named by what its runtime left on this \
         host. `--by container`.",
    ),
    (
        "d/s",
        "discards completed per second",
        "//! Discards (TRIM, UNMAP) that completed per second (iostat(1)).",
    ),
    (
        "D2C",
        "from issue to completion: driver and device",
        "//! Time from the issue of a request to the driver to its completion (events D and C of \
         blktrace, btt(1)): time in the device and\n//! on the path to it. `hist --stage device`.",
    ),
    (
        "d_await",
        "mean latency of discards, ms",
        "//! Mean time from the start of a discard to its completion in ms, queue included \
         (iostat(1)).",
    ),
    ("dareq-sz", "mean size of a discard, KiB", "//! Mean size of a discard in KiB (iostat(1))."),
    (
        "device",
        "name of a block device",
        "//! Kernel name of a block device, its volume and mount point in brackets.",
    ),
    (
        "discard",
        "blocks released: TRIM, UNMAP",
        "//! A request that releases blocks: TRIM, UNMAP, deallocate.",
    ),
    ("DISK", "name of a disk", "//! Kernel name of the disk of a request (biosnoop)."),
    ("dkB/s", "KiB discarded per second", "//! KiB discarded per second (iostat(1))."),
    (
        "doubt",
        "reason that limits the confidence",
        "//! A step of a confidence: another cause would look the same, so the probability is at \
         most the printed value.",
    ),
    (
        "drqm/s",
        "discards merged per second",
        "//! Discards merged into a queued request, per second (iostat(1)).",
    ),
    (
        "elsewhere",
        "I/O on the same disk, outside the partition",
        "//! I/Os on the same disk that are not of the partition that was selected.",
    ),
    (
        "ended",
        "what ended a wait",
        "//! What ended a wait: a block request (its device and operation) or another task. `iowhy \
         waits`.",
    ),
    (
        "estimated",
        "from buckets or a fit",
        "//! Estimated from histogram buckets or from a fit, not measured one by one.",
    ),
    (
        "evidence",
        "numbers that support a verdict",
        "//! Numbers that support a verdict, each with unit, threshold, number of samples, basis \
         and source. `why -v`.",
    ),
    (
        "excess latency",
        "latency beyond that of a healthy device",
        "//! Latency minus the healthy service time, summed over all I/Os; what is below it counts \
         as 0. `excess wait per second` divides it by the seconds watched.",
    ),
    (
        "explains",
        "share of the excess latency that the cause accounts for",
        "//! Share of the excess latency, beyond that of a healthy device with the same requests, \
         that the accused cause accounts for.",
    ),
    (
        "f/s",
        "flushes completed per second",
        "//! Flushes of the device's write cache that completed per second (iostat(1)).",
    ),
    (
        "f_await",
        "mean latency of flushes, ms",
        "//! Mean time of a flush of the device's write cache in ms (iostat(1)).",
    ),
    (
        "factor",
        "step that multiplies the confidence",
        "//! A step of a confidence that multiplies the probability, because the input leaves \
         something open.",
    ),
    ("failed", "calls that returned an error", "//! System calls that returned an error."),
    (
        "FILE",
        "file of a request",
        "//! File whose data a request carries, where the tracer knew it (`snoop --files`); `-` if \
         not.",
    ),
    (
        "floor",
        "lower bound of a confidence",
        "//! A step of a confidence: the probability is at least the printed value.",
    ),
    (
        "flush",
        "the device writes its cache to the medium",
        "//! The device writes its volatile write cache to the medium, as required by fsync \
         (Documentation/block/writeback_cache_control.rst).",
    ),
    (
        "forecast",
        "expected latency after the fix",
        "//! Latency of the same requests after the fix, from a replay with normal service times \
         in place of abnormal ones.",
    ),
    (
        "Frequency",
        "heat map of how many I/Os",
        "//! Heat map coloured by I/Os per second. `iowhy map`.",
    ),
    (
        "FUA",
        "forced unit access: on the medium when it completes",
        "//! Force unit access: a write that must be on the medium before it completes (REQ_FUA of \
         the kernel).",
    ),
    (
        "HEALTHY",
        "the device is as fast as its class",
        "//! The mean latency is near the healthy service time, few I/Os are much slower, and \
         nothing else is wrong (`iowhy explain healthy`).",
    ),
    (
        "healthy service time",
        "what a healthy device needs for it",
        "//! Time that a healthy device of this class needs for the same request at queue depth 1, \
         in ms (S0). Nine values from fast to slow are tried.",
    ),
    (
        "I/Os",
        "completed requests",
        "//! Requests that completed, or bios of a device without requests (dm, md).",
    ),
    (
        "id",
        "name of an incident",
        "//! Name of an incident in the store; its I/Os are kept under it.",
    ),
    (
        "IDLE",
        "no I/O while iowhy watched",
        "//! No I/O began or ended on the watched devices. `why -- COMMAND` watches a command.",
    ),
    (
        "impact",
        "cost of the problem",
        "//! Time waited per second, all requests together; share of slow I/Os; p99 or mean. It \
         alone determines the severity.",
    ),
    (
        "in flight",
        "issued and not completed",
        "//! Requests that were issued and have not completed \
         (Documentation/admin-guide/iostats.rst).",
    ),
    (
        "inputs",
        "what was read, and losses",
        "//! What was read or watched, how many records, and what was lost.",
    ),
    (
        "Intensity",
        "heat map of the time waited",
        "//! Heat map coloured by time waited per second: a few slow I/Os are as visible as many \
         fast ones. `iowhy map`.",
    ),
    (
        "journal",
        "log of a file system, written at fsync",
        "//! Log of a file system that is written before the changes. On ext4 the thread \
         `jbd2/DEVICE` commits it for each fsync; the program waits for it.",
    ),
    ("kB/s", "KiB read and written per second", "//! KiB read and written per second."),
    (
        "ladder",
        "latencies one revolution of a platter apart",
        "//! Latencies spaced one revolution of the platter apart, the pattern of sector retries: \
         8.33 ms at 7200 rpm.",
    ),
    (
        "lasted",
        "length of an incident",
        "//! From the first slow second of an incident to its last.",
    ),
    (
        "LAT(ms)",
        "time on the device, ms",
        "//! Time from issue to completion in ms: D2C. Column of `snoop`.",
    ),
    ("latest", "the newest sample", "//! Newest sample of a map."),
    (
        "level",
        "how detailed an input is: A to E",
        "//! How detailed an input is: A averages, B histograms, C a line per I/O, D traced \
         requests, E system evidence. A rough input limits the confidence.",
    ),
    (
        "likely",
        "confidence of 60 to 79 %",
        "//! The word for a confidence of 60 to 79 %; from 80 % `very likely`, from 95 % `nearly \
         certain`.",
    ),
    (
        "limit",
        "largest confidence for such an input",
        "//! A step of a confidence: an input of this level supports at most this probability.",
    ),
    ("longest", "the longest wait", "//! Longest single wait of a row."),
    (
        "lost",
        "missing I/Os; for an incident, time waited",
        "//! For an input: I/Os that were missed. For an incident: time that I/Os waited beyond \
         the usual latency, summed\n//! over all of them.",
    ),
    ("max", "the longest latency", "//! The longest latency observed."),
    (
        "mean",
        "the arithmetic mean",
        "//! Sum divided by count. Exact where the kernel counted the sum, else estimated from \
         buckets.",
    ),
    ("min", "the shortest latency", "//! Shortest latency; exact where the kernel counted it."),
    (
        "minor",
        "least severity",
        "//! Severity of a cause that costs little; `impact` has the numbers.",
    ),
    (
        "mount",
        "mount point of a file system",
        "//! Mount point of the device or partition of an I/O; `below /srv` is a device on which \
         that file system lies. `--by mount`.",
    ),
    (
        "mount point",
        "where a file system is mounted",
        "//! Folder at which a file system is mounted, as this mount namespace sees it.",
    ),
    (
        "n",
        "how many samples a number rests on",
        "//! Number of I/Os, rows or samples that a number was computed from. `why -v`.",
    ),
    (
        "nats",
        "unit of the weight of evidence",
        "//! Unit of evidence: the natural logarithm of how many times likelier the number is with \
         this cause than without it. 0.7 nats double the odds, 2.3 nats are ten times.",
    ),
    (
        "nearly certain",
        "confidence of 95 % or more",
        "//! The word for a confidence of 95 % or more.",
    ),
    (
        "next",
        "what to do",
        "//! Steps in the order in which to take them: the probe that decides, the repair, the \
         capture that shows more.",
    ),
    (
        "NO VERDICT",
        "not enough evidence for a cause",
        "//! No cause reached 60 % confidence; `seen` has what was found and `next` the capture \
         that decides (`iowhy explain insufficient`).",
    ),
    (
        "not returned",
        "calls that are still waiting",
        "//! System calls that had not returned at the end of the watch. `iowhy syscalls`.",
    ),
    (
        "not seen",
        "evidence that is missing",
        "//! Evidence that no input contains and a verdict could rest on, such as drive health.",
    ),
    (
        "notable",
        "middle severity",
        "//! Severity of a cause that programs wait for; `impact` has the numbers.",
    ),
    (
        "op",
        "operation: read, write, flush, discard",
        "//! Operation of a request: read, write, flush, discard or other. `--op`.",
    ),
    (
        "p50",
        "the median",
        "//! Half of the I/Os took at most this long. A percentile is the upper edge of its bucket \
         and is omitted if there are too few I/Os for it.",
    ),
    (
        "p95",
        "the 95th percentile",
        "//! 95 of 100 I/Os took at most this long. It is omitted if there are too few I/Os for \
         it.",
    ),
    (
        "p99",
        "the 99th percentile",
        "//! 99 of 100 I/Os took at most this long: tail latency. It needs 299 I/Os and is omitted \
         if there are fewer.",
    ),
    (
        "p99.9",
        "the 99.9th percentile",
        "//! One of a thousand I/Os took longer. Shown from 10,000 I/Os on.",
    ),
    ("PID", "number of a process", "//! Number of a process, in the PID namespace of iowhy."),
    (
        "pod",
        "Kubernetes pod of a program",
        "//! Namespace and name of a pod, from the control group and /var/log/pods. `--by pod`.",
    ),
    (
        "possible",
        "confidence of 40 to 59 %",
        "//! The word for a confidence of 40 to 59 %: below 60 % no cause is accused.",
    ),
    (
        "prior",
        "probability before any number is read",
        "//! Probability of a cause before its evidence is read. The first step of a confidence.",
    ),
    (
        "process",
        "program that sent an I/O",
        "//! Name of the program that sent an I/O; for buffered writes, of who writes the pages \
         back. `--by process`.",
    ),
    (
        "program",
        "programs with the same name",
        "//! Programs with the same name, with the number of their processes.",
    ),
    (
        "Q2C",
        "from queue to completion: total latency",
        "//! Time from the queueing of a request to its completion (events Q and C of blktrace, \
         btt(1)): Q2D and D2C together.",
    ),
    (
        "Q2D",
        "from queue to issue: waiting in the host",
        "//! Time from the queueing of a request to its issue to the driver (events Q and D of \
         blktrace, btt(1)): merging, the scheduler,\n//! a full queue of the device. `hist --stage \
         queue`.",
    ),
    (
        "QD",
        "queue depth",
        "//! Queue depth: number of requests in flight on the device at once. By Little's law it \
         equals I/Os per second times latency in seconds.",
    ),
    ("quantity", "what was measured", "//! What was measured, in a table of evidence. `why -v`."),
    (
        "QUE(ms)",
        "time in the queue, ms",
        "//! Time from queue to issue in ms: Q2D. Column of `snoop`.",
    ),
    (
        "queue depth",
        "number of requests kept in flight",
        "//! How many I/Os a program keeps in flight (`iodepth` of fio(1)).",
    ),
    ("r/s", "reads completed per second", "//! Reads that completed per second (iostat(1))."),
    (
        "r_await",
        "mean latency of reads, ms",
        "//! Mean time from the start of a read to its completion in ms, queue included \
         (iostat(1)).",
    ),
    ("rareq-sz", "mean size of a read, KiB", "//! Mean size of a read in KiB (iostat(1))."),
    (
        "read-ahead",
        "data fetched before it is requested",
        "//! Data fetched before it is requested, by the page cache (`RA` in rwbs) or by the drive \
         itself.",
    ),
    (
        "recorded",
        "since when, how often",
        "//! Since when the recorder has had this verdict on this device, and how often in 24 \
         hours.",
    ),
    (
        "reported",
        "printed by the source itself",
        "//! Printed by the tool or the device itself, not measured by iowhy.",
    ),
    (
        "rev",
        "revolutions of a platter",
        "//! Revolutions of a platter: 8.33 ms each at 7,200 rpm, 60 s divided by the speed.",
    ),
    ("rkB/s", "KiB read per second", "//! KiB read per second (iostat(1))."),
    ("rMB/s", "MB read per second", "//! Megabytes (1,000,000 bytes) read per second."),
    (
        "rpm",
        "revolutions per minute",
        "//! Revolutions of a platter per minute; one takes 60,000 / rpm ms.",
    ),
    (
        "rrqm/s",
        "reads merged per second",
        "//! Reads merged into a queued request, per second (iostat(1)).",
    ),
    (
        "runner-up",
        "the next most probable verdict",
        "//! The verdict after the first one, on the same or another device. `why -v`.",
    ),
    (
        "rwbs",
        "the letters of an operation and its flags",
        "//! Letters of a request: R read, W write, D discard, F flush (before) or FUA (after), S \
         synchronous, A read-ahead, M metadata\n//! (blk_fill_rwbs of the kernel).",
    ),
    (
        "S0",
        "healthy service time",
        "//! Time that a healthy device of this class needs for the same request at queue depth 1, \
         in ms: the healthy service time.",
    ),
    (
        "sampled",
        "counters, or a part of the I/Os",
        "//! Counters read at intervals; of single I/Os: only slow ones and a part of the others \
         are kept, the rest is counted.",
    ),
    (
        "SECTOR",
        "first sector of a request",
        "//! First sector of a request, in units of 512 bytes from the start of the disk \
         (biosnoop).",
    ),
    (
        "seen",
        "what was found, without a verdict",
        "//! What was found where the evidence supports no verdict, and which verdict it may mean.",
    ),
    (
        "service time",
        "time that the device works on a request",
        "//! Time that the device works on one request, without the wait for those before it: \
         completion minus the later of issue and the completion before it.",
    ),
    (
        "severe",
        "greatest severity",
        "//! Severity of a cause for which programs wait most of the time; `impact` has the \
         numbers.",
    ),
    (
        "severity",
        "how much it matters",
        "//! None, minor, notable or severe, determined by the impact alone; it sets the colour.",
    ),
    (
        "share",
        "part of the whole, in percent",
        "//! Part of the whole: of all I/Os, or of the time that all I/Os waited.",
    ),
    (
        "sigma",
        "standard deviations from chance",
        "//! How many standard deviations a number is from what chance gives: 3 happen once in 700 \
         times on one side.",
    ),
    ("size", "bytes of a request", "//! Bytes of a request. `--size`, `--by size`."),
    (
        "slowest",
        "the I/Os with the longest latency",
        "//! The I/Os with the longest latency, each with its device, operation, size, program and \
         time. `iowhy top`.",
    ),
    (
        "source",
        "input that a number comes from",
        "//! Input that a number was computed from. `why -v`.",
    ),
    (
        "stage",
        "part of a request's life",
        "//! Part of the life of a request that a latency covers: B2Q, Q2D, D2C or Q2C (Q2D and \
         D2C together). `--stage`.",
    ),
    (
        "state",
        "state of a task: D or S",
        "//! State of a task in /proc: D waits in the kernel and cannot be interrupted, S sleeps \
         until an event. `iowhy waits --state`.",
    ),
    (
        "sure",
        "confidence of an incident's verdict",
        "//! Confidence of an incident's verdict: see `confidence`.",
    ),
    (
        "suspected",
        "not certain enough to accuse",
        "//! A cause with less than 60 % confidence: the next step tests it.",
    ),
    (
        "svctm",
        "busy time over completed I/Os",
        "//! Busy time divided by completed I/Os (iostat(1), removed in sysstat 12.1.2): not the \
         service time of the device.",
    ),
    ("T", "kind of a request", "//! Kind of a request: R, W, D, F; with flags as in rwbs."),
    (
        "tail latency",
        "latency of the slowest I/Os",
        "//! Latency of the slowest I/Os: p99 or p99.9, which one in 100 or 1,000 exceeds.",
    ),
    (
        "thinned",
        "slow I/Os and a sample of the others",
        "//! Every I/O was seen; slow ones and a sample of the others are kept one by one, all \
         others are counted in histograms.",
    ),
    (
        "threshold",
        "limit that a number was compared with",
        "//! Limit that a number was compared with; beyond it the number supports the verdict.",
    ),
    (
        "time waited",
        "sum of all waits",
        "//! Latencies of all I/Os, added up: ten requests that wait 1 s together count 10 s.",
    ),
    (
        "TIME(s)",
        "seconds since the start",
        "//! Seconds since the first request or the start of the trace (biosnoop).",
    ),
    (
        "TIMESTAMP",
        "time of day of a request",
        "//! Time of day at which a request completed, local time (`--utc`: UTC).",
    ),
    ("tps", "requests completed per second", "//! Requests that completed per second (iostat(1))."),
    ("traced", "every I/O was seen", "//! Every I/O was seen, with its own times."),
    (
        "unit",
        "systemd unit of a program",
        "//! systemd unit, from the control group of the program. `--by unit`.",
    ),
    (
        "until",
        "end of an incident",
        "//! End of the last slow second of an incident, or `ongoing`. `iowhy incidents`.",
    ),
    (
        "usual",
        "latency usual at this hour",
        "//! The median latency compared with the one learned for this device and hour (UTC) by \
         the recorder.",
    ),
    (
        "V-test",
        "test for latencies on steps",
        "//! Test whether latencies lie on whole steps, such as revolutions (Mardia and Jupp \
         2000): u in sigma; beyond 3.1 chance is less than 1 in 1,000.",
    ),
    (
        "verdict",
        "the cause that fits best",
        "//! Name of the cause; `iowhy explain verdicts` lists all. Its first part is the party to \
         blame: `device`, `path`, `layer`, `cap`, `cfg` or `load`.",
    ),
    ("very likely", "confidence of 80 to 94 %", "//! The word for a confidence of 80 to 94 %."),
    (
        "volume",
        "logical volume, array or mapped device",
        "//! Name of a volume above a device: LVM, md, device mapper, zvol, multipath. `--by \
         volume`.",
    ),
    ("w/s", "writes completed per second", "//! Writes that completed per second (iostat(1))."),
    (
        "w_await",
        "mean latency of writes, ms",
        "//! Mean time from the start of a write to its completion in ms, queue included \
         (iostat(1)).",
    ),
    (
        "waited",
        "sum of all waits",
        "//! Sum of the waits of a row; of several programs at once it exceeds the time watched.",
    ),
    (
        "waiting",
        "calls that have not returned",
        "//! System calls that had not returned when the watch ended.",
    ),
    ("waits", "number of waits", "//! Number of waits in uninterruptible sleep (state D)."),
    ("wareq-sz", "mean size of a write, KiB", "//! Mean size of a write in KiB (iostat(1))."),
    (
        "watched",
        "devices and time that were looked at",
        "//! Devices and time that iowhy looked at; `waited per second` divides by this time.",
    ),
    (
        "weight",
        "how much a number says",
        "//! How much a number says for a cause, in nats (positive: for it). `why -vv`.",
    ),
    (
        "who",
        "program with the longest waits",
        "//! Program that waited longest in an incident, and its pod, container or unit. `iowhy \
         incidents`.",
    ),
    (
        "who waits",
        "programs with the longest waits",
        "//! Programs and their control groups with their share of the time that all I/Os waited. \
         A flush counts for the process that requested it.",
    ),
    ("wkB/s", "KiB written per second", "//! KiB written per second (iostat(1))."),
    ("wMB/s", "MB written per second", "//! Megabytes (1,000,000 bytes) written per second."),
    (
        "write-back",
        "dirty pages written later by the kernel",
        "//! The kernel writes dirty pages later, in `kworker` threads: the program that made them \
         dirty does not send these I/Os. `load.writeback` names the programs.",
    ),
    (
        "wrong if",
        "what would refute the verdict",
        "//! What would refute the verdict. If it applies, take the next finding.",
    ),
    (
        "wrqm/s",
        "writes merged per second",
        "//! Writes merged into a queued request, per second (iostat(1)).",
    ),
    (
        "wsvc_t",
        "mean time waiting, ms",
        "//! Mean time of a request in the queue in ms, of iostat(1M) of Solaris.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_of_stat_is_a_word() {
        let columns = "tps kB/s areq-sz r/s rkB/s rrqm/s r_await rareq-sz w/s wkB/s wrqm/s w_await \
                       wareq-sz d/s dkB/s drqm/s d_await dareq-sz f/s f_await await wsvc_t asvc_t \
                       actv aqu-sz p50 p95 p99 max B2Q Q2D D2C %util";
        for column in columns.split_whitespace() {
            assert!(WORDS.iter().any(|(name, ..)| *name == column), "{column}");
        }
    }

    #[test]
    fn words_are_sorted_and_told_in_full() {
        let fold = |name: &str| name.to_ascii_lowercase();
        assert!(WORDS.is_sorted_by(|a, b| fold(a.0) <= fold(b.0)), "not sorted");
        for (name, summary, text) in WORDS {
            assert!(!summary.is_empty() && text.ends_with(['.', ':']), "{name}");
            assert!(text.lines().all(|line| line.starts_with("//! ")), "{name}");
        }
    }
}
