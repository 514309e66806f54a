//! Memory is short: the machine swaps and rereads evicted pages.
//!
//! ## Accuses
//! The machine's memory, not the disk that serves the swapping.
//!
//! ## Why it matters
//! The disk is busy with I/O that more memory would avoid. A faster disk helps little.
//!
//! ## Needs
//! Memory statistics of the kernel: `/proc/pressure/memory`, `si` and `so` of `vmstat`, `kswapd` in
//! `top`, the kernel's log with call traces of hung tasks, or stacks (`/proc/PID/stack`).
//!
//! ## Rule
//! Tasks wait for memory more than a tenth of the time, or more than 1 MB/s is swapped out or 2
//! MB/s in on average, or allocations took ten seconds (the kernel's log), or `kswapd` uses more
//! than half of a CPU, or the kernel's log shows tasks that hung during memory reclaim (one alone
//! stays a suspicion), or processes that were ended because memory ran out, or its report of memory
//! shows that no swap is left, or allocations that XFS tried a hundred times in vain (one message
//! alone stays a suspicion), or stacks of more than two tasks that free memory themselves. Or the
//! CPUs idle for I/O half of the time and less than a tenth of memory is available while 10 % of
//! the swap is in use (`top`, `free`), or there is no swap and four times as much is read as
//! written, or `kswapd` uses 5 % of a CPU; or twice as much is swapped out as is free or cache, and
//! a quarter of what is read comes from swap (`vmstat`); ten tasks in uninterruptible sleep stand
//! for the idle CPUs; or at most 64 MB of page cache are left, and more than that is read each
//! second. Or 200 KB/s are swapped in and as much out, three quarters of all that is read and
//! written. Or 100,000 pages a second are scanned, or 10,000 freed, and 100 page faults a second
//! read from disk (`sar -B`). Or CPUs wait for I/O half of the time, less than 0.5 MB/s is read or
//! written, and the stack of a task shows that it searches for free memory. Or a Java program
//! spends half of its time in garbage collection. If disks were measured they must have lost time,
//! and none of them be slow by itself. With I/O pressure, it explains no more of the waits than the
//! ratio of memory pressure to I/O pressure.
//!
//! ## Wrong if
//! A single program was swapped in once, as after a pause.
//!
//! ## Next step
//! Find the processes that use the memory; add memory, or run less at once.

use iowhy_model::{Bound, FactKey, Finding, Level, Unit, Verdict, key, waits};

use crate::analysis::{Analysis, Host};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::reported_problem;
use crate::evidence::shortage::{self, Symptom};
use crate::evidence::unused_facts::LITTLE;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LayerMemory,
    summary: "Memory is short: the machine swaps or rereads evicted pages",
    manual: iowhy_model::manual!("layer_memory.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::E,
        seconds: 60,
        what: "memory pressure and swap traffic during the I/O",
    },
    explains: &[Verdict::LayerAbove],
    rule: Rule::Detect(detect),
};

/// Share of the time in which tasks wait for memory, and swap traffic in bytes per second
/// (choices).
const PRESSURE: f64 = 0.1;
const SWAPPED: f64 = 1e6;
/// Programs that wake up after a pause read theirs in once (a choice).
const SWAPPED_IN: f64 = 2e6;
/// CPU share of kswapd: it sleeps if memory is free (mm/vmscan.c, kswapd_try_to_sleep).
const RECLAIM: f64 = 0.5;
/// Tasks that hung while memory was freed: what they wait for is a disk in the end, so one alone is
/// a suspicion (a choice).
const HUNG: f64 = 0.75;
/// Allocations that take ten seconds: they wait for nothing else, so one is enough (a choice).
const STALLED: f64 = 0.3;
/// Processes that the kernel ended: one shows that memory ran out, not how long it was short (a
/// choice).
const ENDED: f64 = 0.6;
/// Tasks that free memory at one moment: one alone may be passing through (a choice).
const RECLAIM_AT_ONCE: f64 = 2.0;

/// A log's report of allocations that fail.
const RETRIED: &str = "allocations tried a hundred times without success";

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let symptoms = [
        Symptom {
            key: key::PRESSURE_AVG10.of("memory.some"),
            quantity: "time in which tasks waited for memory",
            above: PRESSURE,
            unit: Unit::Share,
        },
        Symptom {
            key: key::VMSTAT_MEAN.of("so"),
            quantity: "swapped out (so)",
            above: SWAPPED,
            unit: Unit::BytesPerSecond,
        },
        Symptom {
            key: key::VMSTAT_MEAN.of("si"),
            quantity: "swapped in (si)",
            above: SWAPPED_IN,
            unit: Unit::BytesPerSecond,
        },
        Symptom {
            key: key::TASKS_STALLED_FOR_MEMORY,
            quantity: "allocations that took ten seconds and more",
            above: STALLED,
            unit: Unit::Count,
        },
        Symptom {
            key: key::TASKS_KSWAPD,
            quantity: "CPU share of memory reclaim (kswapd)",
            above: RECLAIM,
            unit: Unit::Share,
        },
        Symptom {
            key: key::TASKS_HUNG_IN_RECLAIM,
            quantity: "tasks that hung during memory reclaim",
            above: HUNG,
            unit: Unit::Count,
        },
        Symptom { key: key::TASKS_RETRY_MEMORY, quantity: RETRIED, above: HUNG, unit: Unit::Count },
        Symptom {
            key: key::TASKS_OUT_OF_MEMORY,
            quantity: "processes ended because memory ran out (OOM killer)",
            above: ENDED,
            unit: Unit::Count,
        },
        Symptom {
            key: key::SWAP_EXHAUSTED,
            quantity: "reports of the kernel about memory with no swap left",
            above: ENDED,
            unit: Unit::Count,
        },
        Symptom {
            key: key::TASKS_WAIT_IN.of("try_to_free_pages"),
            quantity: "tasks that free memory themselves",
            above: RECLAIM_AT_ONCE,
            unit: Unit::Count,
        },
    ];
    let mut findings = shortage::findings(analysis, DETECTOR.verdict, &symptoms);
    let is_retry =
        |finding: &Finding| finding.evidence.first().is_some_and(|first| first.quantity == RETRIED);
    for finding in &mut findings {
        if is_retry(finding) {
            finding.sentence =
                "the kernel repeatedly finds no contiguous free memory: memory is short or \
                 fragmented, and programs wait for that, not for a disk"
                    .to_string();
            continue;
        }
        let Some(first) = finding.evidence.first() else { continue };
        finding.sentence = format!(
            "memory is short ({}: {}): the machine swaps or rereads evicted pages, and programs \
             wait for that",
            first.quantity,
            first.amount.words()
        );
    }
    for host in analysis.hosts() {
        findings.extend(thrashing(analysis, host));
        findings.extend(read_again(analysis, host));
        findings.extend(nothing_but_swap(analysis, host));
        findings.extend(moves_pages(analysis, host));
        findings.extend(collects_garbage(analysis, host));
    }
    for finding in &mut findings {
        finding.explained_share = finding.explained_share.min(share_of_io_waits(analysis, finding));
        if is_retry(finding) {
            finding.refuted_by =
                lines(&["`cat /proc/buddyinfo`: many free blocks in the columns on the right"]);
            finding.next_step = lines(&[
                "`cat /proc/buddyinfo`: the largest free blocks of each zone are in the last \
                 column",
                "`echo 1 > /proc/sys/vm/compact_memory`: does the message stop? Then raise \
                 `vm.min_free_kbytes`, or use a newer kernel, which allocates smaller blocks",
            ]);
            continue;
        }
        if !finding.refuted_by.is_empty() {
            continue;
        }
        finding.refuted_by = lines(&["`vmstat 1 10`: `si` and `so` stay at 0"]);
        finding.next_step = lines(&[
            "`vmstat 1 10` and `ps -eo pid,rss,comm --sort -rss | head`: which processes use the \
             memory?",
            "add memory, run less at once, or reduce the program's cache",
        ]);
    }
    findings
}

/// Shares of used swap and of iowait on a machine that repeatedly rereads its own pages (choices).
const SWAPPED_OUT: f64 = 0.1;
const WAITS: f64 = 0.5;
/// Tasks in uninterruptible sleep at one moment that show the same (a choice).
const BLOCKED: f64 = 10.0;
/// Memory swapped out, as a multiple of what is free or cache, and the share of all reads that are
/// of swap, where neither total is known; and reads in bytes per second, and as a multiple of
/// writes, where there is no swap (choices).
const TIMES_LEFT: f64 = 2.0;
const OF_SWAP: f64 = 0.25;
const READS: f64 = 1e6;
const TIMES_WRITES: f64 = 4.0;
/// A page cache that does not hold the programs and libraries of a small machine, bytes (a choice).
const TINY: f64 = 64e6;
/// The share of a CPU that reclaim takes where nothing can be swapped (a choice).
const RECLAIMS: f64 = 0.05;
/// What that is worth, and where swap is full.
const THRASHES: f64 = 0.72;
const SWAP_IS_FULL: f64 = 0.85;
const FULL: f64 = 0.9;

/// Almost no memory is left for the cache, tasks wait for I/O, and memory of programs is swapped
/// out, or read again if there is no swap.
fn thrashing(analysis: &Analysis, host: Host) -> Option<Finding> {
    let about = analysis.machine(host);
    let number = |key: FactKey| analysis.own_number(host, key);
    let waits = [key::CPU_MEAN.of("iowait"), key::VMSTAT_MEAN.of("wa")];
    let waits = waits.into_iter().flat_map(|key| about.readings_of_machine(key));
    let waits = waits.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(share, _)| *share >= WAITS);
    let blocked = number(key::TASKS_BLOCKED).filter(|(tasks, _)| *tasks >= BLOCKED);
    let (waits, of_time) = waits.map(|it| (it, true)).or(blocked.map(|it| (it, false)))?;
    let line = |(value, reading): &(f64, FactReading), what: &str, unit: Unit, bound: Bound| {
        analysis.stated(reading).of(what, *value, unit).held(bound)
    };
    let share =
        |known: &(f64, FactReading), what: &str, bound| line(known, what, Unit::Share, bound);
    let left = number(key::MEMORY_AVAILABLE).filter(|(share, _)| *share <= LITTLE);
    let left = left.map(|left| {
        let words = format!("{} of it is left for the page cache", phrase::percent(left.0));
        (words, share(&left, "available memory, share of all", Bound::Below(LITTLE)))
    });
    let swapped = number(key::SWAP_USED_SHARE).filter(|(share, _)| *share >= SWAPPED_OUT);
    let reads = number(key::VMSTAT_MEAN.of("bi")).filter(|(per_s, _)| *per_s >= READS);
    let written = number(key::VMSTAT_MEAN.of("bo")).map_or(0.0, |(per_s, _)| per_s);
    let swapped_in = number(key::VMSTAT_MEAN.of("si"))
        .filter(|(si, _)| reads.is_some_and(|(bi, _)| *si >= OF_SWAP * bi));
    let reclaims = number(key::TASKS_KSWAPD).filter(|(share, _)| *share >= RECLAIMS);
    let times = number(key::MEMORY_SWAPPED).filter(|(times, _)| *times >= TIMES_LEFT);
    let (words, mut evidence, worth) = match (left, swapped, reads, times.zip(swapped_in)) {
        (Some((left, line)), Some(swapped), ..) => {
            let words = format!("{left}, {} of the swap is in use", phrase::percent(swapped.0));
            let used = share(&swapped, "swap in use, share of all", Bound::Above(SWAPPED_OUT));
            let worth = if swapped.0 >= FULL { SWAP_IS_FULL } else { THRASHES };
            (words, vec![line, used], worth)
        }
        (_, _, Some(reads), Some((times, swapped_in))) => {
            let words = format!(
                "{} times as much is swapped out as is free or cache, and {} of what is read comes \
                 from swap",
                phrase::digits(times.0),
                phrase::percent(swapped_in.0 / reads.0)
            );
            let what = "memory swapped out, as a multiple of what is free or cache";
            let swapped = line(&times, what, Unit::Ratio, Bound::Above(TIMES_LEFT));
            let bound = Bound::Above(OF_SWAP * reads.0);
            let read = line(&swapped_in, "swapped in (si)", Unit::BytesPerSecond, bound);
            (words, vec![swapped, read], THRASHES)
        }
        (Some((left, available)), None, Some(reads), None)
            if about.machine(key::SWAP_NONE).is_some() && reads.0 >= TIMES_WRITES * written =>
        {
            let words = format!("{left}, there is no swap, {} is read", phrase::rate(reads.0));
            let bound = Bound::Above((TIMES_WRITES * written).max(READS));
            let read = line(&reads, "read from all disks (bi)", Unit::BytesPerSecond, bound);
            (words, vec![available, read], THRASHES)
        }
        (None, None, Some(reads), None) => {
            let cached = number(key::MEMORY_CACHED);
            let cached = cached.filter(|(bytes, _)| *bytes <= TINY && reads.0 >= *bytes)?;
            let words = format!(
                "the page cache has {} left, and as much is read in {}",
                phrase::bytes(cached.0),
                phrase::ms(cached.0 / reads.0 * 1e3)
            );
            let cache = line(&cached, "page cache and buffers", Unit::Bytes, Bound::Below(TINY));
            let bound = Bound::Above(cached.0);
            let what = "read from all disks (bi), per second";
            let read = line(&reads, what, Unit::BytesPerSecond, bound);
            (words, vec![cache, read], THRASHES)
        }
        (Some((left, available)), None, None, None) if about.machine(key::SWAP_NONE).is_some() => {
            let reclaims = reclaims?;
            let words = format!(
                "{left}, there is no swap, and its reclaim takes {} of a CPU",
                phrase::percent(reclaims.0)
            );
            let what = "CPU share of memory reclaim (kswapd)";
            (words, vec![available, share(&reclaims, what, Bound::Above(RECLAIMS))], THRASHES)
        }
        _ => return None,
    };
    let (how_long, waiting) = match of_time {
        true => {
            let what = "idle CPU time with outstanding I/O (iowait)";
            let line = share(&waits, what, Bound::Above(WAITS));
            (format!("tasks wait for I/O {} of the time", phrase::percent(waits.0)), line)
        }
        false => {
            let what = "tasks in uninterruptible sleep";
            let line = line(&waits, what, Unit::Count, Bound::Above(BLOCKED));
            (format!("{} wait in the kernel", phrase::count(waits.0, "task(s)")), line)
        }
    };
    evidence.push(waiting);
    let mut finding = new_finding(DETECTOR.verdict, None, vec![waits.1.listing]);
    finding.sentence =
        format!("memory is short: {words}, and {how_long}: evicted pages are read again and again");
    finding.evidence = evidence;
    finding.assume(worth, "no memory left, pages of programs evicted, tasks wait for I/O");
    (finding.explained_share, finding.share_is_assumed) = (reported_problem::UNKNOWN_SHARE, true);
    Some(finding)
}

/// Pages scanned per second, and page faults per second that read from a disk, from which on what
/// is evicted is read again (choices: 400 MB/s of scanning; a fault each ten milliseconds).
const SCANNED: f64 = 100_000.0;
const FAULTS: f64 = 100.0;
/// Pages freed per second that show the same where few had to be scanned (a choice: 40 MB/s).
const FREED: f64 = 10_000.0;
/// What pages that are scanned are worth, beside such faults.
const READ_AGAIN: f64 = 0.9;

/// The cache is evicted at a high rate, and programs fault their own pages in again (`sar -B`).
fn read_again(analysis: &Analysis, host: Host) -> Option<Finding> {
    let number = |of: &'static str| analysis.own_number(host, key::PAGING.of(of));
    let faults = number("majflt.mean").filter(|(per_s, _)| *per_s >= FAULTS)?;
    let above = |of, least| number(of).filter(|(per_s, _)| *per_s >= least);
    let (pages, what, least, worth) = match above("scanned.mean", SCANNED) {
        Some(pages) => (pages, "scanned for free memory", SCANNED, READ_AGAIN),
        None => (above("freed.mean", FREED)?, "freed", FREED, THRASHES),
    };
    let mut finding = new_finding(DETECTOR.verdict, None, vec![pages.1.listing]);
    finding.sentence = format!(
        "pages are evicted and read again: {} pages a second are {what}, and programs read {} of \
         theirs a second back from disk; the disks are busy with that, and faster disks would not \
         solve it",
        phrase::thousands(pages.0.round()),
        phrase::thousands(faults.0.round())
    );
    let line = |(value, reading): (f64, FactReading), what: &str, above: f64| {
        analysis.stated(&reading).count(what, value).above(above)
    };
    finding.evidence = vec![
        line(pages, &format!("pages {what}, per second"), least),
        line(faults, "page faults that read from a disk (majflt), per second", FAULTS),
    ];
    finding.assume(worth, "memory is reclaimed at a high rate while programs fault theirs in");
    (finding.explained_share, finding.share_is_assumed) = (reported_problem::UNKNOWN_SHARE, true);
    Some(finding)
}

/// Bytes per second of all disks below which iowait is not for them (a choice: a few requests), and
/// what a task that looks for memory meanwhile is worth.
const HARDLY_ANY: f64 = 500_000.0;
const LOOKS_FOR_MEMORY: f64 = 0.72;

/// CPUs wait for I/O most of the time, hardly anything is read or written, and a task looks for
/// free memory: the kernel counts the pauses between its attempts as iowait (mm/backing-dev.c,
/// congestion_wait, until 5.16; mm/vmscan.c, reclaim_throttle).
fn moves_pages(analysis: &Analysis, host: Host) -> Option<Finding> {
    let number = |key: FactKey| analysis.own_number(host, key);
    let (idle, of_idle) = number(key::VMSTAT_MEAN.of("wa")).filter(|(wa, _)| *wa >= WAITS)?;
    let (read, of_reads) = number(key::VMSTAT_MEAN.of("bi"))?;
    let (written, _) = number(key::VMSTAT_MEAN.of("bo"))?;
    let (tasks, of_tasks) = number(key::TASKS_WAIT_IN.of(waits::RECLAIM))?;
    let moved = read + written;
    (moved < HARDLY_ANY && tasks > 0.0).then_some(())?;
    let mut finding = new_finding(DETECTOR.verdict, None, vec![of_tasks.listing, of_idle.listing]);
    let (looks, moves) = match tasks == 1.0 {
        true => ("a task searches", "moves"),
        false => ("tasks search", "move"),
    };
    finding.sentence = format!(
        "{looks} for free memory, or {moves} pages to free a contiguous block, while CPUs wait for \
         I/O {} of the time and hardly anything is read or written: the kernel counts that as \
         iowait, and no disk is involved",
        phrase::percent(idle)
    );
    let line = |value, reading: &FactReading, what: &str, unit, bound| {
        analysis.stated(reading).of(what, value, unit).held(bound)
    };
    finding.evidence = vec![
        line(tasks, &of_tasks, "tasks that search for free memory", Unit::Count, Bound::Above(0.0)),
        line(idle, &of_idle, "iowait", Unit::Share, Bound::Above(WAITS)),
        line(
            moved,
            &of_reads,
            "read and written by all disks",
            Unit::BytesPerSecond,
            Bound::Below(HARDLY_ANY),
        ),
    ];
    finding.assume(
        LOOKS_FOR_MEMORY,
        "iowait without I/O, and a task that searches for free \
        memory",
    );
    finding.refuted_by = lines(&["`iostat -x 1`: a disk has requests in flight meanwhile"]);
    finding.next_step = lines(&[
        "`cat /proc/buddyinfo`: the largest free blocks of each zone are in the last column",
        "`echo madvise > /sys/kernel/mm/transparent_hugepage/defrag`: does it stop? Then huge \
         pages were the reason",
        "`cat /proc/PID/stack` of tasks in state D, a few times: are they still in compaction or \
         reclaim?",
    ]);
    (finding.explained_share, finding.share_is_assumed) = (reported_problem::UNKNOWN_SHARE, true);
    Some(finding)
}

/// Share of its time that a Java program collects garbage, from which on that is what its clients
/// wait for (a choice: half), and what it is worth.
const COLLECTS: f64 = 0.5;
const OF_A_PROGRAM: f64 = 0.75;

/// A Java program collects garbage most of the time: its own memory is full.
fn collects_garbage(analysis: &Analysis, host: Host) -> Option<Finding> {
    let (share, reading) = analysis.own_number(host, key::JVM_GC_SHARE)?;
    (share > COLLECTS).then_some(())?;
    let mut finding = new_finding(DETECTOR.verdict, None, vec![reading.listing]);
    finding.sentence = format!(
        "a Java program spends {} of its time in garbage collection: its heap is full, and its \
         clients wait for that, not for a disk",
        phrase::percent(share)
    );
    let stated = analysis.stated(&reading);
    let what = "time in garbage collection, largest share of a span";
    finding.evidence = vec![stated.of(what, share, Unit::Share).held(Bound::Above(COLLECTS))];
    finding.assume(OF_A_PROGRAM, "reported by the program");
    (finding.explained_share, finding.share_is_assumed) = (reported_problem::UNKNOWN_SHARE, true);
    finding.refuted_by =
        lines(&["the heap is not full after a collection, and requests still wait"]);
    finding.next_step = lines(&[
        "a larger heap (`-Xmx`, at most half of the memory), or fewer shards, caches and requests",
        "`vmstat 1 10`: is anything swapped in? A heap that is swapped out takes minutes to \
         collect",
    ]);
    Some(finding)
}

/// Swap traffic in bytes per second, each way, and its share of all traffic, from which on it is
/// what the disks do (choices: fifty pages a second in and out keep a spinning disk busy).
const BOTH_WAYS: f64 = 200_000.0;
const NEARLY_ALL: f64 = 0.75;

/// Pages go out and come back in all the time, and hardly anything else is read or written
/// (`vmstat`).
fn nothing_but_swap(analysis: &Analysis, host: Host) -> Option<Finding> {
    let mean = |of: &'static str| analysis.own_number(host, key::VMSTAT_MEAN.of(of));
    let swapped = |of| mean(of).filter(|(per_s, _)| *per_s >= BOTH_WAYS);
    let (si, so, bi, bo) = (swapped("si")?, swapped("so")?, mean("bi")?, mean("bo")?);
    let share = (si.0 + so.0) / (bi.0 + bo.0).max(si.0 + so.0);
    (share >= NEARLY_ALL).then_some(())?;
    let mut finding = new_finding(DETECTOR.verdict, None, vec![si.1.listing]);
    finding.sentence = format!(
        "the disks do little but swap: {} in and {} out, {} of all reads and writes; memory is \
         short, and programs wait for their pages",
        phrase::rate(si.0),
        phrase::rate(so.0),
        phrase::percent(share)
    );
    let line = |(per_s, reading): (f64, FactReading), what: &str| {
        analysis.stated(&reading).bytes_per_s(what, per_s)
    };
    finding.evidence = vec![
        line(si, "swapped in (si)").above(BOTH_WAYS),
        line(so, "swapped out (so)").above(BOTH_WAYS),
        line(bi, "read from all disks (bi)"),
        line(bo, "written to all disks (bo)"),
    ];
    finding.assume(THRASHES, "the disks mostly swap");
    (finding.explained_share, finding.share_is_assumed) = (reported_problem::UNKNOWN_SHARE, true);
    Some(finding)
}

/// Maximum share of I/O waits that are memory waits: a wait for a page counts as both.
fn share_of_io_waits(analysis: &Analysis, finding: &Finding) -> f64 {
    let Some(place) = finding.subject.listings.first() else { return 1.0 };
    let about = analysis.about(*place, "");
    let pressure = |of| about.machine_number(key::PRESSURE_AVG10.of(of)).map(|(share, _)| share);
    match (pressure("memory.some"), pressure("io.some")) {
        (Some(memory), Some(io)) if io > memory => memory / io,
        _ => 1.0,
    }
}
