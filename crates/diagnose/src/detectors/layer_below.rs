//! A program waits for its storage; whether disk, path or their load is open.
//!
//! ## Accuses
//! The storage below a program: the disk, its path, or other I/O on them. Not the program, the CPUs
//! or memory. What this input lacks is a look below: a count of slow requests shows neither how
//! many were fast nor what else the storage had to do.
//!
//! ## Why it matters
//! Logs of databases are often all there is, and the first question is whether to look at the
//! storage at all.
//!
//! ## Needs
//! A program's own times of flushes or requests, a test that reads one block at a time, or the
//! kernel's log of tasks that hang.
//!
//! ## Rule
//! Nothing else in the input is accused or cleared, and one of these (a round of many writes, as of
//! a page cleaner, is none: it also waits for memory, CPUs and locks):
//!
//! - a flush took a second or more: a healthy device needs milliseconds; a flush of a whole file,
//!   timed among others, two seconds;
//! - the checkpoints that SQL Server logs, because they took longer than its target, wrote less
//!   than 5 MB/s;
//! - ten requests or more took 5 s or more, as the program counts them;
//! - a read that was alone took longer than a healthy disk of any class needs;
//! - twenty reads or flushes that a program timed took a tenth of a second each on average, those
//!   that it kept in flight itself not counted;
//! - tasks hang for minutes in a wait for I/O;
//! - CPUs idle because of I/O for half of the time and more, most of their idle time, while a task
//!   is in uninterruptible sleep, nothing is swapped, and no disk was measured.
//!
//! ## Wrong if
//! The program itself stood still: the machine was suspended, or its CPUs or memory were exhausted.
//!
//! ## Next step
//! Watch the device while it happens: a long queue is load, a short one a disk or path that is
//! slow.

use iowhy_model::{FactKey, Finding, Layer, Level, Op, Order as _, Stage, Verdict, key};

use crate::analysis::samples::HistogramSample;
use crate::analysis::{Analysis, Host};
use crate::detector::{Detector, Needs, RankedFindings, Rule};
use crate::evidence::blocked_tasks;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::ceilings;
use crate::evidence::class_of_runs;
use crate::evidence::flushes;
use crate::evidence::overdue::OVERDUE_S;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LayerBelow,
    summary: "A program waits for its storage; disk, path or load is open",
    manual: iowhy_model::manual!("layer_below.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::A,
        seconds: 30,
        what: "times of flushes or requests, measured by a program",
    },
    explains: &[],
    rule: Rule::Conclude(conclude),
};

/// A flush of this length, s, is none of a healthy device, whatever its class (a choice: ten times
/// the length from which on a flush is remarked on).
const LONG_FLUSH_S: f64 = 1.0;
/// The same of the longest among flushes of whole files, which write what the page cache holds of
/// them (a choice: twice as long).
const LONG_SYNC_S: f64 = 2.0;
/// Seconds of all flushes of a program together from which on the longest is no accident (a
/// choice).
const SYNCS_S: f64 = 10.0;
/// Seconds that logged checkpoints took, and bytes per second below which no disk was at its rate
/// (choices: SQL Server logs one that took longer than its target, a minute unless set).
const LONG_CHECKPOINTS_S: f64 = 30.0;
const SLOW_CHECKPOINTS_PER_S: f64 = 5e6;
/// Overdue requests that are no accident (docs/METHOD.md, 10 Rules: ten events).
const SEVERAL: f64 = 10.0;
/// Requests of a program, and their mean, ms, from which on storage is waited for, whatever its
/// class (a choice: ten seeks of a healthy disk; what takes longer is felt as a pause).
const TIMED: u64 = 20;
const LONG_MEAN_MS: f64 = 100.0;
/// Kinds of requests that are shown.
const SHOWN: usize = 3;
/// What such a mean is worth (a choice): more than one long flush, as it is no accident.
const MEASURED_OFTEN: f64 = 0.80;
const IN_THE_LOG: &str =
    "the system's log of the same minutes: resets, timeouts, paths that failed over";
/// What it is worth (a choice): a program that stands still measures the same.
const MEASURED_ABOVE: f64 = 0.70;

fn conclude(analysis: &Analysis, ranked: &RankedFindings) -> Vec<Finding> {
    if ranked.findings.iter().any(Finding::stands) {
        return Vec::new();
    }
    let found = analysis.hosts().into_iter().filter_map(|host| {
        overdue(analysis, host)
            .or_else(|| long_flush(analysis, host))
            .or_else(|| long_sync(analysis, host))
            .or_else(|| slow_checkpoints(analysis, host))
            .or_else(|| slow_reads(analysis, host))
            .or_else(|| slow_on_average(analysis, host))
            .or_else(|| blocked_tasks::for_io(analysis, host, DETECTOR.verdict))
            .or_else(|| idle_but_for_io(analysis, host))
    });
    found.collect()
}

/// Files and volumes of which a program counts requests that took seconds.
fn overdue(analysis: &Analysis, host: Host) -> Option<Finding> {
    analysis.facts.each().find_map(|about| {
        let (n, reading) = about.number(key::IO_SLOW).filter(|(n, _)| *n >= SEVERAL)?;
        if analysis.host(reading.listing) != host {
            return None;
        }
        let (least, of_least) =
            about.number(key::IO_SLOWEST_LEAST).filter(|(least, _)| *least >= OVERDUE_S)?;
        let device = reading.fact.device?;
        let name = &analysis.recording.device_of(device).name;
        let mut finding = new_finding(DETECTOR.verdict, Some(device), vec![reading.listing]);
        finding.evidence = vec![
            analysis.stated(&reading).count("requests over the limit of the log", n).above(SEVERAL),
            analysis.stated(&of_least).seconds("slowest of them, at least", least).above(OVERDUE_S),
        ];
        let n = phrase::count(n, "request(s)");
        let took = phrase::ms(least * 1e3);
        let mut finding = said(finding, &format!("{n} of a program to {name} took {took} or more"));
        // SQL Server, on either system.
        finding.next_step = lines(&[
            "queue and latency of that disk meanwhile (`iostat -x 1`; Windows: `typeperf \
             \"\\PhysicalDisk(*)\\Avg. Disk sec/Transfer\" \"\\PhysicalDisk(*)\\Current Disk Queue \
             Length\"`): a long queue is load, a short one a disk or path that is slow",
            IN_THE_LOG,
        ]);
        Some(finding)
    })
}

/// The longest flush that a program logs.
fn long_flush(analysis: &Analysis, host: Host) -> Option<Finding> {
    let about = analysis.machine(host);
    let flushes = [key::FLUSH_SLOWEST, key::FLUSH_SLOWEST_AT_LEAST].into_iter();
    let logged = flushes.filter_map(|of| about.machine_number(of));
    let longest = logged.max_by(|a, b| a.0.total_cmp(&b.0));
    let (seconds, reading) = longest.filter(|(seconds, _)| *seconds >= LONG_FLUSH_S)?;
    let mut finding = new_finding(DETECTOR.verdict, None, vec![reading.listing]);
    let logged = analysis.stated(&reading);
    finding.evidence =
        vec![logged.seconds("slowest flush logged by a program", seconds).above(LONG_FLUSH_S)];
    let took = phrase::ms(seconds * 1e3);
    Some(said(finding, &format!("a flush of a program took {took}, which no healthy device needs")))
}

/// The longest of the flushes that a program timed.
fn long_sync(analysis: &Analysis, host: Host) -> Option<Finding> {
    let among_others = flushes::of_programs(analysis, host)
        .filter(|(sample, _)| !analysis.lists_only_slow(sample.listing));
    let (sample, ns) = among_others.max_by_key(|(_, ns)| *ns)?;
    let (known, seconds) = (&sample.known, ns as f64 / 1e9);
    (seconds >= LONG_SYNC_S).then_some(())?;
    let name = &analysis.recording.device_of(known.device).name;
    let mut finding = new_finding(DETECTOR.verdict, Some(known.device), vec![sample.listing]);
    let printed = analysis.printed(sample.listing, known.histogram.count());
    let what = format!("longest flush, timed in the program ({name})");
    finding.evidence = vec![printed.seconds(&what, seconds).above(LONG_SYNC_S)];
    let what = format!(
        "a flush of a file by {name}, with what it had written of it, took {}",
        phrase::ms(seconds * 1e3)
    );
    let all = known.histogram.mean_ns().map(|(ns, _)| ns * known.histogram.count() as f64 / 1e9);
    let all = all.filter(|all| *all >= SYNCS_S);
    if let Some(all) = all {
        let computed = analysis.computed(sample.listing, known.histogram.count());
        finding.evidence.push(computed.seconds("time of all its flushes", all).above(SYNCS_S));
    }
    let weight = if all.is_some() { MEASURED_OFTEN } else { MEASURED_ABOVE };
    let mut finding = worth(weight, finding, &what);
    let own = "the program's own burst of writes filled the page cache: with \
               `vm.dirty_background_bytes=67108864` its flushes are short";
    finding.refuted_by.push(own.to_string());
    Some(finding)
}

/// Checkpoints that a database reports as late, and how fast they wrote.
fn slow_checkpoints(analysis: &Analysis, host: Host) -> Option<Finding> {
    let about = analysis.machine(host);
    let (bytes, reading) = about.machine_number(key::CHECKPOINT_BYTES)?;
    let (seconds, of_time) = about.machine_number(key::CHECKPOINT_TOTAL)?;
    let per_s = bytes / seconds;
    (seconds >= LONG_CHECKPOINTS_S && per_s < SLOW_CHECKPOINTS_PER_S).then_some(())?;
    let mut finding = new_finding(DETECTOR.verdict, None, vec![reading.listing]);
    let computed = analysis.computed(reading.listing, 1);
    finding.evidence = vec![
        computed.bytes_per_s("rate of late checkpoints", per_s).below(SLOW_CHECKPOINTS_PER_S),
        analysis
            .stated(&of_time)
            .seconds("duration of late checkpoints", seconds)
            .above(LONG_CHECKPOINTS_S),
    ];
    let what = format!(
        "checkpoints that the database logs as late wrote {} for {}",
        phrase::rate(per_s),
        phrase::ms(seconds * 1e3)
    );
    let mut finding = said(finding, &what);
    finding.refuted_by.push(
        "the database writes slowly on purpose: a limit of its checkpoints (SQL Server: `-k`)"
            .to_string(),
    );
    Some(finding)
}

/// Reads one at a time that take longer than those of any healthy disk.
fn slow_reads(analysis: &Analysis, host: Host) -> Option<Finding> {
    let (device, ms, most) = class_of_runs::of_no_class(analysis, host)?;
    let place = analysis.listings_of(host).next()?.0;
    let mut finding = new_finding(DETECTOR.verdict, Some(device), vec![place]);
    let computed = analysis.computed(place, 1);
    finding.evidence = vec![computed.ms("mean of reads, one at a time", ms).above(most)];
    let took = phrase::ms(ms);
    Some(said(finding, &format!("reads, one at a time, take {took}: longer than any healthy disk")))
}

/// The kind of requests that a program waits for most of the time, if each takes long.
fn slow_on_average(analysis: &Analysis, host: Host) -> Option<Finding> {
    let timed = analysis.histograms.iter().filter(|sample| {
        let known = &sample.known;
        analysis.host(sample.listing) == host
            && (known.layer, known.stage) == (Layer::Application, Stage::Total)
            && matches!(known.op, Some(Op::Read | Op::Flush))
            && known.histogram.count() >= TIMED
            && !analysis.lists_only_slow(sample.listing)
    });
    let each = timed.filter_map(|sample| {
        let own = analysis.at_once(sample.listing, sample.known.device).unwrap_or(1.0).max(1.0);
        Some((sample, sample.known.histogram.mean_ns()?.0 / 1e6 / own))
    });
    // Of those that took so long the one that cost most: a few of a background thread say less.
    let cost = |(sample, ms): &(&HistogramSample, f64)| ms * sample.known.histogram.count() as f64;
    let mut long: Vec<_> = each.filter(|(_, ms)| *ms >= LONG_MEAN_MS).collect();
    long.order_by(|a, b| cost(b).total_cmp(&cost(a)));
    let (sample, ms) = long.first()?;
    let op = |sample: &HistogramSample| sample.known.op.map_or("request", Op::name);
    let name = |sample: &HistogramSample| &analysis.recording.device_of(sample.known.device).name;
    let device = Some(sample.known.device);
    let mut finding = new_finding(DETECTOR.verdict, device, vec![sample.listing]);
    let shown = long.iter().take(SHOWN).map(|(sample, ms)| {
        let computed = analysis.computed(sample.listing, sample.known.histogram.count());
        let (op, name) = (op(sample), name(sample));
        let what = format!("mean time of a {op}, timed in the program ({name})");
        computed.ms(&what, *ms).above(LONG_MEAN_MS)
    });
    finding.evidence = shown.collect();
    let (op, name, took) = (op(sample), name(sample), phrase::ms(*ms));
    let what = format!("a {op} of a program ({name}) takes {took} on average");
    Some(worth(MEASURED_OFTEN, finding, &what))
}

/// Share of the CPUs' time in which they idle because of I/O, from which on that is what the
/// machine does, and of all that they idle (choices); bytes per second swapped that would be a
/// reason, and read and written that show a disk at work.
const WAITED: f64 = 0.5;
const OF_IDLE: f64 = 0.6;
const SWAPPED: f64 = 65_536.0;
const MOVED: f64 = 100_000.0;
/// Tasks in uninterruptible sleep at least: idle io_uring waits, which Linux 6.1.39 to 6.14 counts
/// as iowait, are none.
const BLOCKED: f64 = 1.0;
/// What it is worth: a healthy disk that is copied keeps a task waiting as well, and iowait of one
/// moment may be that of a task.
const IDLE_FOR_IO: f64 = 0.62;

/// CPUs that wait for I/O most of the time, where no disk was measured.
fn idle_but_for_io(analysis: &Analysis, host: Host) -> Option<Finding> {
    let number = |key: FactKey| analysis.own_number(host, key);
    let of_cpu = [key::CPU_MEAN.of("iowait"), key::VMSTAT_MEAN.of("wa")];
    let idle = [key::CPU_MEAN.of("idle"), key::VMSTAT_MEAN.of("id")];
    let (place, (iowait, reading)) =
        of_cpu.into_iter().enumerate().find_map(|(n, key)| Some((n, number(key)?)))?;
    let idle = idle.into_iter().nth(place).and_then(number).map_or(0.0, |(share, _)| share);
    let swaps = ["si", "so"]
        .into_iter()
        .any(|name| number(key::VMSTAT_MEAN.of(name)).is_some_and(|(per_s, _)| per_s > SWAPPED));
    let is_measured = analysis.listings_of(host).any(|(_, listing)| listing.is_measured());
    let waits = iowait >= WAITED && iowait >= OF_IDLE * (iowait + idle);
    let blocked = [key::TASKS_BLOCKED, key::VMSTAT_MEAN.of("b")];
    let (tasks, of_tasks) =
        blocked.into_iter().filter_map(number).find(|(tasks, _)| *tasks >= BLOCKED)?;
    // What never rises above one rate may be a limit, and is no storage that is slow.
    let is_capped = ceilings::seen(analysis, host, "").is_some();
    // Where nothing moves, memory or a lock may be what is waited for.
    let moved: Vec<f64> = ["bi", "bo"]
        .into_iter()
        .filter_map(|name| number(key::VMSTAT_MEAN.of(name)))
        .map(|(per_s, _)| per_s)
        .collect();
    let moves = moved.is_empty() || moved.iter().sum::<f64>() >= MOVED;
    (waits && moves && !swaps && !is_measured && !is_capped).then_some(())?;
    let mut finding = new_finding(DETECTOR.verdict, None, vec![reading.listing]);
    let stated = analysis.stated(&reading);
    finding.evidence = vec![
        stated.share("idle CPU time with outstanding I/O (iowait)", iowait).above(WAITED),
        analysis
            .stated(&of_tasks)
            .count("tasks in uninterruptible sleep", tasks)
            .above(BLOCKED / 2.0),
    ];
    let what = format!(
        "CPUs have nothing to do for {} of the time but to wait for I/O",
        phrase::percent(iowait)
    );
    let mut finding = worth(IDLE_FOR_IO, finding, &what);
    finding.sentence = format!(
        "{what}: the storage is waited for; whether a disk or server is slow, or too much is \
         requested of it, is not in this input"
    );
    finding.refuted_by = lines(&[
        "`ps -eo state,wchan:32,cmd | grep ^D` shows tasks that wait for a lock of a driver or \
         file system",
    ]);
    Some(finding)
}

/// What those have in common that were measured once, or are counted.
fn said(finding: Finding, what: &str) -> Finding {
    worth(MEASURED_ABOVE, finding, what)
}

/// What all of them have in common.
fn worth(confidence: f64, mut finding: Finding, what: &str) -> Finding {
    finding.sentence = format!(
        "{what}: the storage below is too slow; whether the disk, its path or other I/O on them, \
         is not in this input"
    );
    finding.assume(confidence, "measured by the program itself");
    (finding.explained_share, finding.share_is_assumed) = (1.0, true);
    finding.refuted_by = lines(&[
        "the system's own counters show fast requests at that time: then something between \
         (filter driver, virus scanner, a suspended machine, clocks that drift) held them",
    ]);
    finding.next_step = lines(&[
        "`iowhy why --for 60s`, `iostat -x 1` meanwhile: a long queue is load, a short one a disk \
         or path that is slow",
        IN_THE_LOG,
    ]);
    finding
}
