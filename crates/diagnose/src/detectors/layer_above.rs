//! The delay is above the block layer; the disks are healthy.
//!
//! ## Accuses
//! The layers between the program and the block layer: a journal lock, a page cache full of dirty
//! pages, the CPU, the program itself. Or a stacked device (dm, md) that responds far later than
//! its members: a throttle, a delay, a lock, encryption. Or a full pool.
//!
//! ## Why it matters
//! The program measures a slow write and the disk is replaced, although the disk responded in a
//! millisecond. Only both measurements together show it.
//!
//! ## Needs
//! The latency in the program or the system call, and that of the block layer at the same time
//! (`iowhy syscalls` with `iowhy why`, fio's log with iostat, Oracle's waits with biosnoop). For a
//! stacked device: its I/Os and those of all its members, traced in one capture, or `iostat -x` of
//! all disks. For a full pool: the kernel's log or `lvs`.
//!
//! ## Rule
//! The latency above is more than three times what the block layer needs for it: the mean above
//! compared with the mean below, times the block I/Os per call, at least one. The block layer
//! itself must be healthy: its mean is below three healthy service times on every possible disk.
//! The same factor holds between a stacked device and its members, which must be idle for more than
//! half of the time: requests wait above a busy disk because of the disk. With averages its rows
//! must be ten times slower than the slowest row of any disk in the listing, and above 0.1 s or
//! with 16 requests in flight, while no disk has half a request in flight, flash none of 16, and
//! all of them together moved its bytes. Fewer than ten requests raise a suspicion.
//!
//! Or the kernel's log shows that a thin pool, a snapshot or a thin volume has no space left, or
//! `lvs` that its data or metadata is full. Or a drive immediately rejects writes that are out of
//! order for its zones, or an address beyond its end. Or requests to a file server wait more than
//! 0.1 s, and three round trips, in its client before they are sent. Or one stream of large
//! requests gets 2.5 times less from a volume than from each disk of the same test (`hdparm -t`),
//! 1.8 times from an array. Or the thread that commits the transactions of btrfs, ZFS or XFS waits
//! for I/O 60 % of its time (`iotop`). Or two reports show the background work of an array at the
//! same block. Or a thread of InnoDB waited ten seconds for a lock inside the server, which had no
//! read, write or flush pending. Or the checkpoints of a database took ten seconds more than their
//! writes and flushes, and these are at most a fifth of them. Or 80 % of a database's waiting is
//! for its locks and latches, and its I/O takes below 10 ms, or below 5 % of the waiting. Or an
//! array or volume is busy all the time and completes nothing, while no disk of the listing is
//! busy. Or the threads of an asynchronous run (fio) are in submission 80 % of their time: what
//! lies between makes each request wait there; suspected only with more than 32 in flight, where a
//! full queue does the same. Or the kernel's log shows that the kernel itself failed (oops), and no
//! disk that did, while tasks hang, half of the time all of them wait for I/O, or more than 16 are
//! in uninterruptible sleep. Or the same test of one disk differs by two to six times, or is a
//! quarter faster without the page cache. Or a program is in uninterruptible sleep while CPUs are
//! idle for half of the time and iowait is below 0.35 %: what sleeps for I/O is counted as iowait.
//! Suspected: all tasks that hang do so within one kernel module, for nothing that is I/O.
//!
//! ## Wrong if
//! The block trace missed I/Os, or the two measurements cover different times or devices.
//!
//! ## Next step
//! Look at stacks of the waiting task, dirty-page limits, the journal, the run queue.

use std::collections::{BTreeMap, HashSet};

use iowhy_model::{
    Blame, Bound, Clause, DeviceId, Finding, Forecast, Interval, Layer, Level, Listing, Message,
    MessageKind, Nanos, Stage, Unit, Verdict, key,
};

use crate::analysis::Analysis;
use crate::analysis::samples::IntervalSample;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::arrays;
use crate::evidence::blocked_tasks;
use crate::evidence::builder::{EvidenceBuilder, lines, new_finding};
use crate::evidence::candidates::{self, FaultCandidate};
use crate::evidence::checkpoints;
use crate::evidence::committers;
use crate::evidence::confidence;
use crate::evidence::database_waits;
use crate::evidence::failed_kernel;
use crate::evidence::fullness;
use crate::evidence::held_inside;
use crate::evidence::latches;
use crate::evidence::round_trips;
use crate::evidence::runs;
use crate::evidence::throughput;
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::measures::replay::Side;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LayerAbove,
    summary: "The delay is above the block layer; the disks are healthy",
    manual: iowhy_model::manual!("layer_above.rs"),
    needs: Needs {
        level: Level::D,
        sure_from: Level::D,
        seconds: 30,
        what: "the latency in the program and in the block layer, at the same time",
    },
    explains: &[],
    rule: Rule::Detect(detect),
};

/// Prior of a path, given a reported problem, and the weight of two measurements of one time, in
/// nats (docs/METHOD.md, 11 Confidence).
const PRIOR: f64 = 0.08;
const SIDE_BY_SIDE: f64 = 2.0;
/// Bounds of the rule (docs/METHOD.md, 10 Rules; 1 Replay: a mean below three S0 is healthy).
const MIN_RATIO: f64 = 3.0;
const HEALTHY: f64 = 3.0;
/// Calls or block I/Os that decide (docs/METHOD.md, 10 Rules: ten events).
const MIN_REQUESTS: f64 = 10.0;
/// Disks below this busy share have room for the requests waiting above: half, so that a request
/// finds them idle more often than not.
const IDLE: f64 = 0.5;
/// Two captures of one time differ in length by less than this.
const SAME_TIME: f64 = 1.5;
/// Above 20 % of the time tasks wait for memory or I/O (as in `cap.cgroup`).
const PRESSURE: f64 = 0.2;

/// What to check on a stacked device.
const TO_DO: [&str; 2] = [
    "`dmsetup table` and `dmsetup status` show its type: delay, crypt, thin, cache, snapshot",
    "`cat /proc/mdstat`: a resync or a slow member slows down a whole array",
];

/// Requests are merged on their way down, so that many above wait for one below: only a far longer
/// wait is significant (choices: ten times, and noticeable).
const TIMES_OF_AVERAGES: f64 = 10.0;
const FELT_NS: f64 = 1e8;
/// A disk with a smaller share of the time waited above cannot be what is waited for, even if a
/// hundred requests are merged into one.
const MIN_DISK_SHARE: f64 = 0.01;
/// Minimum share of its bytes that the disks must have transferred: numbers are rounded.
const MOVED: f64 = 0.9;

/// What was measured in one layer.
#[derive(Clone, Copy, Default)]
struct LayerTime {
    count: f64,
    time_ns: f64,
    span_ns: Option<f64>,
}

impl LayerTime {
    fn mean_ns(&self) -> f64 {
        self.time_ns / self.count.max(1.0)
    }

    fn add(&mut self, count: f64, time_ns: f64) {
        self.count += count;
        self.time_ns += time_ns;
    }
}

/// From this share on a pool is full: `lvs` rounds to a hundredth of a percent.
const FULL: f64 = 0.9999;
/// Weight of a pool reported as full: space may have been freed since.
const REPORTED_FULL: f64 = 0.85;

/// Weight of a drive refusing out-of-order writes to its zones, or addresses beyond its end:
/// firmware that lost its zones or its size looks the same (choices).
const REFUSED_ORDER: f64 = 0.8;
const REFUSED_PLACE: f64 = 0.7;

/// Formats that databases write.
const DATABASES: [&str; 3] = ["oracle-10046", "oracle-awr", "oracle-histogram"];

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let places: Vec<usize> = (0..analysis.recording.listings.len()).collect();
    let above: Vec<(usize, LayerTime)> = places
        .iter()
        .filter_map(|place| Some((*place, seen(analysis, *place, |layer| layer != Layer::Block)?)))
        .collect();
    // The one with the longest total wait is the evidence.
    let most = above.iter().max_by(|a, b| a.1.time_ns.total_cmp(&b.1.time_ns));
    let above = most.and_then(|(place, above)| finding(analysis, *place, above));
    let between = between(analysis).into_iter().chain(above_idle_disks(analysis));
    let held_back = round_trips::queued(analysis, DETECTOR.verdict);
    let above = above.into_iter().chain(between).chain(full(analysis)).chain(refused(analysis));
    let volumes = throughput::slow_volumes(analysis, DETECTOR.verdict);
    let commits = committers::of_transactions(analysis, DETECTOR.verdict);
    let stuck = arrays::standing_still(analysis, DETECTOR.verdict);
    let unlike = throughput::unlike_itself(analysis, DETECTOR.verdict)
        .into_iter()
        .chain(throughput::behind_the_cache(analysis, DETECTOR.verdict));
    let latches = latches::waits(analysis, DETECTOR.verdict);
    let inside = held_inside::findings(analysis, DETECTOR.verdict);
    let held = runs::held_in_submission(analysis, DETECTOR.verdict);
    let locks = database_waits::for_locks(analysis, DETECTOR.verdict);
    let more = commits.into_iter().chain(stuck).chain(unlike).chain(latches).chain(inside);
    let more = more.chain(locks).chain(checkpoints::waited(analysis, DETECTOR.verdict));
    let failed = failed_kernel::findings(analysis, DETECTOR.verdict);
    let hung = blocked_tasks::within_a_module(analysis, DETECTOR.verdict)
        .into_iter()
        .chain(blocked_tasks::for_no_io(analysis, DETECTOR.verdict));
    let more = more.chain(held).chain(failed).chain(hung);
    above.chain(held_back).chain(volumes).chain(more).collect()
}

/// Pools, snapshots and thin volumes that have no space left: writes to them fail or wait until
/// there is some.
fn full(analysis: &Analysis) -> Vec<Finding> {
    let is_watched =
        analysis.recording.listings.iter().any(|listing| listing.source.watched.is_some());
    let candidates = candidates::candidates(analysis);
    let findings = candidates.iter().filter_map(|candidate| {
        let about = candidate.about();
        // A log goes back for weeks. On a live machine only failures during the watch count.
        let is_old = is_watched && candidate.failed.is_empty();
        let logged: Vec<&LogLine> =
            about.logged(MessageKind::NoSpace).filter(|_| !is_old).collect();
        let mut builder = EvidenceBuilder::about(candidate);
        let above = Some(Bound::Above(0.0));
        builder.log_lines("messages of the kernel that no space is left", &logged, above);
        for (key, what) in [
            (key::POOL_DATA_USED, "space for data in use"),
            (key::POOL_METADATA_USED, "space for metadata in use"),
        ] {
            if let Some((share, reading)) = about.number(key).filter(|(share, _)| *share >= FULL) {
                builder.fact(&reading, what, (share, Unit::Share), Some(Bound::Above(FULL)));
            }
        }
        if builder.evidence.is_empty() {
            return without_a_chunk(candidate);
        }
        let mut finding = builder.finding(DETECTOR.verdict, Some(candidate.device));
        finding.sentence = format!(
            "{} has no space left: writes to it fail, or wait until there is space; no disk is \
             faulty",
            phrase::disk(&candidate.disk)
        );
        finding.assume(REPORTED_FULL, "reported by the kernel's log or by LVM");
        finding.refuted_by =
            lines(&["`lvs -a` shows free space for data and metadata, and writes still wait"]);
        finding.next_step = lines(&[
            "`lvs -a -o+lv_when_full,lv_health_status`: what is full, and does it queue or fail \
             writes?",
            "free space (`lvextend`, or `fstrim` of deleted files above), then repair what failed \
             meanwhile",
        ]);
        Some(finding)
    });
    findings.collect()
}

/// Bytes that btrfs allocates at once for data at most, and for metadata on file systems above 50
/// GB (fs/btrfs/volumes.c, init_alloc_chunk_ctl_policy_regular).
const CHUNK: f64 = 1_073_741_824.0;
/// From this share on the chunks of metadata are full: what is left of 10 GB is the global reserve
/// of 512 MB (fs/btrfs/block-rsv.c, btrfs_update_global_block_rsv).
const RESERVED: f64 = 0.95;

/// A btrfs file system that cannot allocate a chunk, and has filled those that it has.
fn without_a_chunk(candidate: &FaultCandidate) -> Option<Finding> {
    let about = candidate.about();
    let (left, reading) = about.number(key::BTRFS_UNALLOCATED).filter(|(left, _)| *left < CHUNK)?;
    let mut builder = EvidenceBuilder::about(candidate);
    let below = Some(Bound::Below(CHUNK));
    builder.fact(&reading, "unallocated space", (left, Unit::Bytes), below);
    let kinds = [
        (key::BTRFS_METADATA_USED, "space for metadata in use", RESERVED, "metadata"),
        (key::BTRFS_DATA_USED, "space for data in use", FULL, "data"),
    ];
    let full: Vec<&str> = kinds
        .into_iter()
        .filter_map(|(key, what, bound, name)| {
            let (share, reading) = about.number(key).filter(|(share, _)| *share >= bound)?;
            let above = Some(Bound::Above(bound));
            builder.fact(&reading, what, (share, Unit::Share), above);
            Some(name)
        })
        .collect();
    let kind = full.first()?;
    let mut finding = builder.finding(DETECTOR.verdict, Some(candidate.device));
    finding.sentence = format!(
        "the btrfs file system {} has no room for more {kind}: writes fail, or wait while it looks \
         for space, whatever `df` shows as free; no disk is faulty",
        candidate.disk
    );
    finding.assume(REPORTED_FULL, "reported by btrfs");
    finding.refuted_by = lines(&[
        "`btrfs filesystem usage` shows more than 1 GiB unallocated, and writes still wait",
    ]);
    finding.next_step = lines(&[
        "`btrfs balance start -dusage=10 MOUNT-POINT`, then `-dusage=30`: returns chunks of data \
         that are nearly empty",
        "if balance itself fails for lack of space: delete snapshots, or add a device for a time \
         (`btrfs device add`)",
        "`dmesg | grep -i btrfs`: have writes failed (ENOSPC, forced read-only)?",
    ]);
    Some(finding)
}

/// Sectors whose protection information does not fit what the adapter expects: used SAS drives were
/// formatted with it (T10 DIF), and answer at once.
fn formatted_with_protection(candidate: &FaultCandidate, reading: &[&LogLine]) -> Finding {
    let mut builder = EvidenceBuilder::about(candidate);
    let what = "protection errors in the kernel's log";
    builder.log_lines(what, reading, Some(Bound::Above(0.0)));
    let mut finding = builder.finding(DETECTOR.verdict, Some(candidate.device));
    finding.blame = Some(Blame::Configuration);
    finding.sentence = format!(
        "{} is formatted with protection information (T10 DIF) that does not match what the \
         adapter and the kernel expect: it rejects requests immediately; its medium is not at \
         fault",
        phrase::disk(&candidate.disk)
    );
    finding.assume(REFUSED_ORDER, "reported by the block layer in the kernel's log");
    finding.refuted_by = lines(&["`sg_readcap -l` shows no protection (prot_en=0)"]);
    let steps = [
        "`sg_readcap -l {node}`: prot_en and the type of protection",
        "an empty drive: `sg_format --format --fmtpinfo=0 --size=512` removes it, and all data",
    ];
    finding.next_step = phrase::about(&steps, &candidate.disk);
    finding
}

/// Requests that are no multiple of the disk's blocks, which the kernel refuses before it sends
/// them.
fn unaligned(candidate: &FaultCandidate, reading: &[&LogLine]) -> Finding {
    let mut builder = EvidenceBuilder::about(candidate);
    let what = "requests that are not a multiple of the disk's block size, in the kernel's log";
    builder.log_lines(what, reading, Some(Bound::Above(0.0)));
    let mut finding = builder.finding(DETECTOR.verdict, Some(candidate.device));
    let n = phrase::count(LogLine::messages(reading) as f64, "request(s)");
    finding.sentence = format!(
        "the kernel rejected {n} to {} that {} not a multiple of its block size, and never sent \
         them: the cache, volume or file system above it assumes smaller blocks; no disk failed",
        phrase::disk(&candidate.disk),
        if LogLine::messages(reading) == 1 { "was" } else { "were" }
    );
    finding.assume(REFUSED_ORDER, "reported by the disk driver in the kernel's log");
    let wrong = ["`blockdev --getss {node}` prints 512, and the requests are multiples of that"];
    finding.refuted_by = phrase::about(&wrong, &candidate.disk);
    let steps = [
        "`lsblk -o NAME,PHY-SEC,LOG-SEC {node}`: do the layers above it have the same block size?",
        "recreate the layer above with the disk's block size (`make-bcache --block 4k`, `mkfs.xfs \
         -s size=4096`, `cryptsetup --sector-size`)",
    ];
    finding.next_step = phrase::about(&steps, &candidate.disk);
    finding
}

/// Drives that refuse requests: out-of-order writes to a zone, or addresses beyond their end. They
/// answer at once, and the layer above must change.
fn refused(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let findings = candidates.iter().filter_map(|candidate| {
        let refused: Vec<&LogLine> = candidate.about().logged(MessageKind::Refused).collect();
        let of = |is: fn(&Message) -> bool| -> Vec<&LogLine> {
            refused.iter().filter(|line| is(line.message)).copied().collect()
        };
        let (unordered, beyond) =
            (of(Message::breaks_the_order_of_a_zone), of(Message::is_beyond_the_end));
        let is_order = !unordered.is_empty();
        let (reading, sure) =
            if is_order { (unordered, REFUSED_ORDER) } else { (beyond, REFUSED_PLACE) };
        let protected = of(Message::is_of_protection);
        if reading.is_empty() && !protected.is_empty() {
            return Some(formatted_with_protection(candidate, &protected));
        }
        let odd = of(Message::is_unaligned_to_the_kernel);
        if reading.is_empty() && !odd.is_empty() {
            return Some(unaligned(candidate, &odd));
        }
        if reading.is_empty() {
            return None;
        }
        let mut builder = EvidenceBuilder::about(candidate);
        let by_kernel = reading.iter().all(|line| line.message.is_beyond_its_end_to_the_kernel());
        let what = match by_kernel {
            true => "requests beyond the end of the device, in the kernel's log",
            false => "requests that the drive rejected immediately, in the kernel's log",
        };
        builder.log_lines(what, &reading, Some(Bound::Above(0.0)));
        let mut finding = builder.finding(DETECTOR.verdict, Some(candidate.device));
        let disk = phrase::disk(&candidate.disk);
        let n = phrase::count(LogLine::messages(&reading) as f64, "request(s)");
        finding.sentence = match is_order {
            true => format!(
                "{disk} rejected {n} that did not start at the write pointer of the zone: it \
                 responded immediately, and the file system, volume or program above it writes out \
                 of order"
            ),
            false if by_kernel => format!(
                "{n} were beyond the end of {disk}, and the kernel rejected them: the file system, \
                 volume or partition table above it is larger than {disk} is now; no disk failed"
            ),
            false => format!(
                "{disk} rejected {n} with an address beyond its end: it responded immediately, and \
                 the partition, file system or volume above it is larger than the disk"
            ),
        };
        let by = match by_kernel {
            true => "reported by the block layer in the kernel's log",
            false => "reported by the drive in the kernel's log",
        };
        finding.assume(sure, by);
        finding.next_step = match is_order {
            true => lines(&[
                "check which kernel and file system write to it: zoned mode of btrfs, f2fs or \
                 dm-zoned, and their fixes in later kernels",
                "`cat /sys/block/DISK/queue/scheduler /sys/block/DISK/queue/zoned`: kernels before \
                 6.10 preserve the order of writes to a zone only with `mq-deadline`",
                "`blkzone report /dev/DISK`: compare the write pointer of the zone with the \
                 rejected sector",
            ]),
            false => lines(&[
                "`lsblk -b` and `fdisk -l`: do the partitions end within the disk? Was it larger \
                 before (HPA, another enclosure, an image of another disk)?",
                "`dmesg | grep 'beyond end of device'`: which volume sends these requests?",
            ]),
        };
        finding.refuted_by = lines(&[
            "another machine writes to the same disk in the same way without an error",
            "reads and sequential writes also fail or time out: then it is the drive",
        ]);
        Some(finding)
    });
    findings.collect()
}

/// Stacked devices that answer far later than those below them.
fn between(analysis: &Analysis) -> Vec<Finding> {
    let devices = analysis.recording.devices().iter();
    if !devices.clone().any(|device| disk_names::is_stacked(&device.name)) {
        return Vec::new();
    }
    let places = 0..analysis.recording.listings.len();
    let each = places.flat_map(|place| {
        let seen = by_device(analysis.listing(place));
        let uppers: Vec<DeviceId> = seen.keys().copied().collect();
        uppers
            .into_iter()
            .filter_map(move |upper| charge_between(analysis, place, upper, &seen.clone()))
    });
    each.collect()
}

fn by_device(listing: &Listing) -> BTreeMap<DeviceId, LayerTime> {
    let mut all: BTreeMap<DeviceId, LayerTime> = BTreeMap::new();
    for event in listing.events.iter().filter(|event| event.layer == Layer::Block) {
        if let Some((_, latency)) = event.longest() {
            all.entry(event.device).or_default().add(1.0, latency.ns() as f64);
        }
    }
    all
}

/// From the first arrival to the last completion at a device, ns.
fn span_ns(listing: &Listing, device: DeviceId) -> Option<f64> {
    let own = || listing.events.iter().filter(|event| event.device == device);
    let first = own().filter_map(|event| event.queued.or(event.issued)).min()?;
    let last = own().filter_map(|event| event.completed).max()?;
    Some((last - first).ns() as f64).filter(|span| *span > 0.0)
}

fn charge_between(
    analysis: &Analysis,
    place: usize,
    upper: DeviceId,
    seen: &BTreeMap<DeviceId, LayerTime>,
) -> Option<Finding> {
    let name = &analysis.recording.device_of(upper).name;
    let made_of = analysis.about(place, name).last(key::DEVICE_SLAVES)?;
    let lowers: Vec<String> = made_of.fact.value.words().unwrap_or_default().to_vec();
    let above = seen.get(&upper)?;
    let mut below = LayerTime::default();
    for lower in &lowers {
        let named = |id: &&DeviceId| analysis.recording.device_of(**id).name == *lower;
        let one = seen.get(seen.keys().find(named)?)?;
        below.add(one.count, one.time_ns);
    }
    // At most: requests side by side count more than once.
    let busy = below.time_ns / span_ns(analysis.listing(place), upper)?;
    let each = (below.count / above.count).max(1.0);
    let needed_ns = each * below.mean_ns();
    let times = above.mean_ns() / needed_ns.max(1.0);
    if above.count < MIN_REQUESTS || below.count < MIN_REQUESTS || times < MIN_RATIO || busy > IDLE
    {
        return None;
    }
    let n = above.count as u64;
    let mut finding = new_finding(DETECTOR.verdict, Some(upper), vec![place]);
    finding.sentence = format!(
        "the delay is in {}, above {}: it takes {} per I/O, of which the layer below takes {}",
        phrase::disk(name),
        phrase::list(&lowers),
        phrase::ns(above.mean_ns()),
        phrase::ns(needed_ns)
    );
    let below_n = below.count as u64;
    let computed = analysis.computed(place, n);
    finding.evidence = vec![
        computed.ms("mean latency above", above.mean_ns() / 1e6),
        computed.over(below_n).ms("mean latency below", below.mean_ns() / 1e6),
        computed.count("I/Os below per I/O above", each),
        computed.ratio("latency ratio above/below", times).above(MIN_RATIO).weighs(),
        computed.over(below_n).share("maximum busy share of the devices below", busy).below(IDLE),
        analysis.stated(&made_of).count("underlying devices", lowers.len() as f64),
    ];
    let clauses = [Clause::fixed("both were observed at the same time", SIDE_BY_SIDE)];
    confidence::believe(&mut finding, PRIOR, clauses);
    finding.explained_share = 1.0 - 1.0 / times;
    finding.forecast =
        Some(without_waiting(above, needed_ns, "the device passes I/Os on immediately"));
    finding.refuted_by =
        vec!["the block trace missed I/Os: its count is below that of /proc/diskstats".to_string()];
    finding.next_step = lines(&TO_DO);
    Some(finding)
}

/// The wait above falls to the time needed below; its distribution is unknown.
fn without_waiting(above: &LayerTime, needed_ns: f64, assuming: &str) -> Forecast {
    Forecast::of_means(Nanos(above.mean_ns() as i64), Nanos(needed_ns as i64), assuming)
}

fn finding(analysis: &Analysis, place: usize, above: &LayerTime) -> Option<Finding> {
    let below: Vec<(usize, LayerTime)> = (0..analysis.recording.listings.len())
        .filter_map(|place| Some((place, seen(analysis, place, |layer| layer == Layer::Block)?)))
        .collect();
    let (at, block) = below.iter().max_by(|a, b| a.1.count.total_cmp(&b.1.count))?;
    if above.count < MIN_REQUESTS || block.count < MIN_REQUESTS || !all_well(analysis) {
        return None;
    }
    // A call may need several I/Os: count them if both watched the same time.
    let same_time = match (above.span_ns, block.span_ns) {
        (Some(a), Some(b)) => a.max(b) / a.min(b).max(1.0) < SAME_TIME,
        _ => false,
    };
    let per_call = if same_time { (block.count / above.count).max(1.0) } else { 1.0 };
    let needed_ns = per_call * block.mean_ns();
    let times = above.mean_ns() / needed_ns.max(1.0);
    if times < MIN_RATIO {
        return None;
    }
    let (source, under) = (analysis.source(place), analysis.source(*at));
    let n = above.count as u64;
    let mut finding = new_finding(DETECTOR.verdict, None, vec![place, *at]);
    finding.sentence = format!(
        "the delay is above the block layer: {} waits {} per I/O; the disks need {} and are \
         healthy",
        if DATABASES.contains(&source.format.as_str()) { "the database" } else { "the program" },
        phrase::ns(above.mean_ns()),
        phrase::ns(needed_ns)
    );
    let computed = analysis.computed(place, n);
    let below = analysis.computed(*at, block.count as u64);
    finding.evidence = vec![
        computed.ms("mean latency above the block layer", above.mean_ns() / 1e6),
        below.ms("mean latency of the block layer", block.mean_ns() / 1e6),
        below.over(n).count("block I/Os per call", per_call),
        computed.ratio("latency ratio above/block layer", times).above(MIN_RATIO).weighs(),
    ];
    let about = analysis.about(*at, "");
    for (key, what) in [
        (
            key::PRESSURE_AVG10.of("memory.some"),
            "time in which a task waits for memory (pressure, some, 10 s)",
        ),
        (
            key::PRESSURE_AVG10.of("io.some"),
            "time in which a task waits for I/O (pressure, some, 10 s)",
        ),
    ] {
        let high = about.machine_number(key).filter(|(share, _)| *share > PRESSURE);
        finding
            .evidence
            .extend(high.map(|(share, reading)| analysis.stated(&reading).share(what, share)));
    }
    let together = if same_time { SIDE_BY_SIDE } else { 0.0 };
    let clauses = [Clause::fixed("both were observed at the same time", together)];
    confidence::believe(&mut finding, PRIOR, clauses);
    finding.explained_share = 1.0 - 1.0 / times;
    finding.forecast = Some(without_waiting(above, needed_ns, "no waiting above the block layer"));
    finding.refuted_by = vec![
        format!("{} and {} do not cover the same time and device", source.origin(), under.origin()),
        "the block trace missed I/Os: its count is below that of /proc/diskstats".to_string(),
    ];
    finding.next_step = lines(&[
        "find where it waits: `cat /proc/PID/stack` several times, or off-CPU stacks \
         (`offcputime-bpfcc`)",
        "compare `grep -E 'Dirty|Writeback' /proc/meminfo` with `sysctl vm.dirty_ratio`: writers \
         are throttled when dirty pages reach it",
        "`grep . /proc/pressure/*`: memory and CPU pressure cause waits that look like I/O",
    ]);
    Some(finding)
}

/// What a listing measured in some layers.
fn seen(analysis: &Analysis, place: usize, is: impl Fn(Layer) -> bool) -> Option<LayerTime> {
    let listing = analysis.listing(place);
    if analysis.lists_only_slow(place) {
        return None;
    }
    let mut seen = LayerTime::default();
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for event in listing.events.iter().filter(|event| is(event.layer)) {
        let Some((_, latency)) = event.longest() else { continue };
        seen.add(1.0, latency.ns() as f64);
        let start = event.queued.or(event.issued).map_or(i64::MAX, |time| time.ns());
        first = first.min(start);
        last = last.max(event.completed.map_or(i64::MIN, |time| time.ns()));
    }
    if first < last {
        seen.span_ns = Some((last - first) as f64);
    }
    let histograms = listing.histograms().filter(|known| is(known.layer));
    // Each I/O once: its total latency, or the closest to it.
    for known in histograms.filter(|known| matches!(known.stage, Stage::Total | Stage::Device)) {
        if let Some((mean, _)) = known.histogram.mean_ns() {
            let count = known.histogram.count() as f64;
            seen.add(count, mean * count);
        }
    }
    for row in listing.intervals.iter().filter(|row| is(row.layer) && !row.since_boot) {
        let (count, length) = counted(row);
        if let Some(mean) = row.mean_await_ns() {
            seen.add(count, mean * count);
            seen.span_ns = Some(seen.span_ns.unwrap_or(0.0) + length);
        }
    }
    (seen.count > 0.0).then_some(seen)
}

/// I/Os of a row, and its length in ns; one second if unknown.
fn counted(row: &Interval) -> (f64, f64) {
    let length = row.length.map_or(1e9, |length| length.ns() as f64);
    (row.ios_per_s() * length / 1e9, length)
}

/// Whether all disks of the block layer are healthy.
fn all_well(analysis: &Analysis) -> bool {
    let traces = analysis.traces.iter().all(|trace| {
        let quick = trace.mean_ns() < HEALTHY * trace.slow_end_ns();
        quick && trace.side().is_none_or(|side| side == Side::Healthy)
    });
    let rows = analysis
        .intervals
        .iter()
        .all(|row| row.await_ms().is_none_or(|ms| ms < HEALTHY * row.s0.slowest_ms()));
    let histograms =
        analysis.histograms.iter().filter(|sample| sample.known.layer == Layer::Block).all(
            |sample| {
                let mean = sample.known.histogram.mean_ns();
                mean.is_none_or(|(mean, _)| mean / 1e6 < HEALTHY * sample.s0.slowest_ms())
            },
        );
    traces && rows && histograms
}

/// Totals over the rows of one device in one listing.
#[derive(Default)]
struct DeviceRows {
    time: LayerTime,
    bytes: f64,
    rows: usize,
    /// What they were distinguished by.
    seen: HashSet<(u64, u64)>,
    /// The longest mean of a row, ns.
    slowest_ns: f64,
    /// Most that was in flight in a row.
    in_flight: f64,
    /// Queue, rate and latency of a row did not agree.
    contradicts: bool,
    /// It serves many at once and never had many: what waits does not wait for it.
    has_room: bool,
}

/// Stacked devices that answer far later than any disk of the listing, while all of these are idle.
/// `iostat` does not report the stacking, so all disks must be fast and idle, and must have
/// transferred its bytes.
fn above_idle_disks(analysis: &Analysis) -> Vec<Finding> {
    if !analysis.intervals.iter().any(|row| disk_names::is_stacked(&row.disk)) {
        return Vec::new();
    }
    let mut listings: BTreeMap<usize, BTreeMap<DeviceId, DeviceRows>> = BTreeMap::new();
    for row in &analysis.intervals {
        let device = listings.entry(row.listing).or_default().entry(row.device).or_default();
        add_row(device, row, analysis.may_rotate(row.device));
    }
    listings
        .into_iter()
        .flat_map(|(place, all)| averages_of_listing(analysis, place, all))
        .collect()
}

fn averages_of_listing(
    analysis: &Analysis,
    place: usize,
    all: BTreeMap<DeviceId, DeviceRows>,
) -> Vec<Finding> {
    let name = |device: DeviceId| analysis.recording.device_of(device).name.as_str();
    let (above, disks): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(device, _)| disk_names::is_stacked(name(*device)));
    let moved: f64 = disks.iter().map(|(_, disk)| disk.bytes).sum();
    let finding = |(device, upper): &(DeviceId, DeviceRows)| {
        let mean_ns = upper.time.mean_ns();
        let may_hold = |disk: &DeviceRows| disk.time.time_ns >= MIN_DISK_SHARE * upper.time.time_ns;
        let none_may = !disks.iter().any(|(_, disk)| may_hold(disk));
        let below = || disks.iter().map(|(_, disk)| disk).filter(|of| none_may || may_hold(of));
        let slowest_ns = below().map(|disk| disk.slowest_ns).fold(0.0, f64::max);
        let crowded = below().filter(|disk| !disk.has_room);
        let busiest = crowded.map(|disk| disk.in_flight).fold(0.0, f64::max);
        let times = mean_ns / slowest_ns.max(1.0);
        // Requests still waiting at the end of a row count, as do those that completed in it.
        let few = upper.time.count.max(upper.in_flight) < MIN_REQUESTS;
        let seen = moved >= MOVED * upper.bytes;
        if !seen
            || upper.contradicts
            || busiest > IDLE
            || times < TIMES_OF_AVERAGES
            || (mean_ns < FELT_NS && upper.in_flight < fullness::DEEP)
            || slowest_ns <= 0.0
        {
            return None;
        }
        let mut finding = new_finding(DETECTOR.verdict, Some(*device), vec![place]);
        finding.sentence = format!(
            "the delay is in {}, above the disks: it takes {} per I/O, while no disk in the \
             listing is saturated and none takes more than {}",
            phrase::disk(name(*device)),
            phrase::ns(mean_ns),
            phrase::ns(slowest_ns)
        );
        let computed = analysis.computed(place, upper.rows as u64);
        finding.evidence = vec![
            computed.ms("mean latency above", mean_ns / 1e6),
            computed.ms("maximum mean latency of a disk in any row", slowest_ns / 1e6),
            computed
                .ratio("latency ratio above/slowest disk", times)
                .above(TIMES_OF_AVERAGES)
                .weighs(),
            computed.count("requests in flight on a disk, maximum", busiest).below(IDLE).weighs(),
        ];
        confidence::believe(&mut finding, PRIOR, []);
        finding.doubt_if(
            few,
            "fewer than ten requests are a snapshot and do not show which they were",
            confidence::SHAPE_ALONE,
        );
        finding.explained_share = 1.0 - 1.0 / times;
        finding.forecast =
            Some(without_waiting(&upper.time, slowest_ns, "the device passes I/Os on immediately"));
        finding.refuted_by = lines(&[
            "its disks are not in the listing: `lsblk -s`",
            "a disk was busy between two rows: shorter intervals would show it",
        ]);
        finding.next_step = lines(&TO_DO);
        Some(finding)
    };
    above.iter().filter_map(finding).collect()
}

fn add_row(device: &mut DeviceRows, row: &IntervalSample, may_rotate: bool) {
    let interval = row.interval;
    let (Some(mean), false) = (interval.mean_await_ns(), interval.since_boot) else { return };
    let (count, length_ns) = counted(interval);
    device.time.add(count, count * mean);
    device.bytes += interval.bytes_per_s() * length_ns / 1e9;
    // The row before, once more, is a copy.
    let seen = (count.to_bits(), mean.to_bits());
    device.rows += usize::from(device.seen.insert(seen));
    device.slowest_ns = device.slowest_ns.max(mean);
    let in_flight = interval.queue_len.unwrap_or(interval.ios_per_s() * mean / 1e9);
    device.in_flight = device.in_flight.max(in_flight);
    device.contradicts |= !row.agrees;
    device.has_room = !may_rotate && device.in_flight < fullness::DEEP;
}
