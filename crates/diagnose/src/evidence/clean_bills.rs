//! Evidence for healthy storage without timed I/O: a machine in which nothing waits for I/O.

use std::collections::BTreeSet;

use iowhy_model::{Bound, FactKey, Finding, Interval, Layer, Unit, Verdict, key};

use crate::analysis::samples::IntervalSample;
use crate::analysis::{Analysis, Host};
use crate::detector::RankedFindings;
use crate::evidence::builder::{EvidenceBuilder, lines, look_elsewhere, new_finding};
use crate::evidence::class_of_runs;
use crate::evidence::confidence::{NOTICEABLE, SHAPE_ALONE};
use crate::evidence::fast_programs::{self, NOTICEABLE_MS};
use crate::evidence::medium_readings::Readings;
use crate::evidence::unaccused;
use crate::evidence::unseen_wait;
use crate::facts::disk_names;
use crate::phrase;

/// Reports of `vmstat` from which on their mean is one, and up to which nobody waits: tasks blocked
/// in the kernel, a share of iowait, bytes swapped per second (choices: a machine that is well
/// has a task in a short wait now and then).
const REPORTS: f64 = 4.0;
const BLOCKED: f64 = 0.25;
const IOWAIT: f64 = 0.05;
const SWAPPED: f64 = 4096.0;
/// Bytes per second read or written from which on a program may wait for asynchronous I/O, which
/// blocks no task (a choice).
const MOVED: f64 = 20e6;
/// The weight: an idle moment looks the same.
const NOBODY_WAITS: f64 = 0.70;
/// Runnable tasks for each that is blocked from which on a machine computes, of at least so many,
/// and the iowait up to which it does (choices); and the weight of that: some task may wait.
const COMPUTES: f64 = 10.0;
const RUNNABLE: f64 = 8.0;
const HARDLY: f64 = 0.02;
const FEW_WAIT: f64 = 0.65;
/// What it is worth that disks had nothing to do.
const HARDLY_ANY: f64 = 0.93;
/// Another cause from this confidence on comes first.
const SUSPECTED: f64 = 0.30;

/// The HEALTHY verdicts of all inputs of which no disk was timed, or none had anything to do.
pub(crate) fn findings(analysis: &Analysis, ranked: &RankedFindings) -> Vec<Finding> {
    let mut hosts: BTreeSet<Host> = analysis.hosts().into_iter().collect();
    for known in ranked.findings.iter().filter(|known| accuses(known)) {
        known.subject.listings.iter().for_each(|place| {
            hosts.remove(&analysis.host(*place));
        });
    }
    hosts.retain(|host| unaccused::unread(analysis, *host).is_none());
    let mut bills: Vec<Finding> =
        hosts.iter().filter_map(|host| nobody_waits(analysis, *host)).collect();
    bills.extend(hosts.iter().filter_map(|host| idle_screen(analysis, *host)));
    // Inputs given together are one case: a fast part clears nothing while another is slow.
    let timed = analysis
        .hosts()
        .into_iter()
        .filter(|host| places(analysis, *host).any(|place| analysis.listing(place).is_measured()));
    let of_timed: Option<Vec<Finding>> = timed
        .map(|host| {
            let open = || hosts.contains(&host);
            let by_disk = places(analysis, host).any(|place| is_timed(analysis, place));
            match by_disk {
                _ if !open() => None,
                true => hardly_any(analysis, host).or_else(|| few_and_no_wait(analysis, host)),
                false => fast_programs::nothing_slow(analysis, host)
                    .or_else(|| of_a_class(analysis, host)),
            }
        })
        .collect();
    bills.extend(of_timed.into_iter().flatten());
    bills
}

fn places<'s>(analysis: &'s Analysis, host: Host<'s>) -> impl Iterator<Item = usize> + 's {
    (0..analysis.recording.listings.len()).filter(move |place| analysis.host(*place) == host)
}

/// What else may be slow.
const NOT_LISTED: &str = "the slow program uses a disk that is not listed, or a server";
const IN_ANOTHER_WAY: &str =
    "the slow program waits in another way: for a server, a lock, or an asynchronous request";

/// A finding that clears all there is, with what would refute it.
fn cleared(mut finding: Finding, refuted_by: [&str; 2]) -> Finding {
    (finding.explained_share, finding.share_is_assumed) = (1.0, true);
    finding.refuted_by = lines(&refuted_by);
    finding.next_step = look_elsewhere();
    finding
}

/// iowait and its evidence, where idle CPUs do not wait for I/O.
pub(crate) fn without_iowait<'a>(
    analysis: &'a Analysis<'a>,
    host: Host<'a>,
) -> Option<(f64, EvidenceBuilder<'a>)> {
    let mean = |of| analysis.own_number(host, key::CPU_MEAN.of(of));
    let (idle, of_idle) = mean("idle").filter(|(share, _)| *share >= IDLE)?;
    let (iowait, of_iowait) = mean("iowait").filter(|(share, _)| *share <= NO_WAIT)?;
    let mut builder = EvidenceBuilder::of(analysis);
    builder.fact(&of_iowait, "iowait", (iowait, Unit::Share), Some(Bound::Below(NO_WAIT)));
    builder.fact(&of_idle, "idle CPU time", (idle, Unit::Share), Some(Bound::Above(IDLE)));
    Some((iowait, builder))
}

/// What it is worth that reads took as long as a healthy disk of one class needs, where the class
/// is not known: an even chance.
const OF_A_CLASS: f64 = 0.5;
/// The same where another test of it shows the class.
const BY_TWO: f64 = 0.93;

/// Reads of a program, one at a time, took as long as a healthy disk of some class does.
fn of_a_class(analysis: &Analysis, host: Host) -> Option<Finding> {
    let found = class_of_runs::of_a_class(analysis, host)?;
    let place = places(analysis, host).next()?;
    let mut finding = new_finding(Verdict::Healthy, Some(found.device), vec![place]);
    finding.sentence = class_of_runs::reported(analysis, host)?;
    let printed = analysis.printed(place, 1);
    let what = "mean of a read, one at a time";
    finding.evidence = vec![printed.ms(what, found.ms).below(found.most_ms)];
    match found.stream {
        Some(per_s) => {
            let what = "throughput of reads in sequence";
            let stream = printed.bytes_per_s(what, per_s);
            finding.evidence.push(stream.above(class_of_runs::STREAMS_PER_S));
            finding.assume(
                BY_TWO,
                "fast sequential I/O, and the seek times of a healthy spinning \
                disk",
            );
        }
        None => finding.assume(OF_A_CLASS, "as long as a healthy disk of one class needs"),
    }
    (finding.explained_share, finding.share_is_assumed) = (1.0, true);
    finding.refuted_by = lines(&["the disk is of a faster class"]);
    finding.next_step = vec![Readings::step("")];
    finding.next_step.extend(look_elsewhere());
    Some(finding)
}

/// All disks of averages were idle nearly all the time, and no program waited for them.
fn hardly_any(analysis: &Analysis, host: Host) -> Option<Finding> {
    let here = |place: usize| analysis.host(place) == host;
    let mut listings = analysis.recording.listings.iter().enumerate();
    let counted = listings.any(|(place, listing)| {
        let block = |layer: Layer| layer == Layer::Block;
        let events = listing.events.iter().any(|event| block(event.layer));
        here(place) && (events || listing.distributions.iter().any(|one| block(one.layer)))
    });
    let rows: Vec<&IntervalSample> =
        analysis.intervals.iter().filter(|row| here(row.listing)).collect();
    if counted || unseen_wait::is_unseen(analysis, host) || !rows.iter().all(|row| is_idle(row)) {
        return None;
    }
    let active = rows.iter().filter(|row| row.per_s() > 0.0);
    let most = active.max_by(|a, b| waited(a).total_cmp(&waited(b)))?;
    let computed = analysis.computed(most.listing, rows.len() as u64);
    let printed = analysis.printed(most.listing, 1);
    let mut finding = new_finding(Verdict::Healthy, Some(most.device), vec![most.listing]);
    finding.sentence = format!(
        "hardly any I/O: requests to {} waited {} per second in all, and it was {} of the time; \
         whatever is slow does not wait for it",
        phrase::disk(&most.disk),
        phrase::ms(1e3 * waited(most)),
        most.interval.busy.map_or("idle most".to_string(), |busy| {
            format!("busy for {}", phrase::percent(busy))
        })
    );
    finding.evidence.push(
        computed.seconds("time waited per second, highest row", waited(most)).below(NOTICEABLE),
    );
    finding.evidence.extend(
        most.interval
            .busy
            .map(|busy| printed.share("busy share (%util) of that row", busy).below(NOTICEABLE)),
    );
    finding.assume(HARDLY_ANY, "the disks were idle nearly all the time");
    let of_one_report = rows.iter().filter(|row| row.disk == most.disk).count() == 1;
    finding.doubt_if(of_one_report, "one report: it may be the average since boot", SHAPE_ALONE);
    Some(cleared(finding, ["the problem did not occur during the capture", NOT_LISTED]))
}

/// Averages without latencies (transfers per second only): hardly any I/O, and idle CPUs did not
/// wait for it.
pub(crate) fn few_and_no_wait(analysis: &Analysis, host: Host) -> Option<Finding> {
    let number = |key: FactKey| analysis.own_number(host, key);
    let rows: Vec<&Interval> = places(analysis, host)
        .flat_map(|place| &analysis.listing(place).intervals)
        .filter(|row| row.layer == Layer::Block && !row.since_boot)
        .collect();
    let untimed = |row: &&Interval| {
        row.busy.is_none() && row.queue_len.is_none() && row.mean_await_ns().is_none()
    };
    let most = rows.iter().max_by(|a, b| a.ios_per_s().total_cmp(&b.ios_per_s()))?;
    let per_s = most.ios_per_s();
    let (iowait, mut builder) = without_iowait(analysis, host)?;
    let blocked = number(key::VMSTAT_MEAN.of("b")).is_some_and(|(tasks, _)| tasks > BLOCKED);
    if !rows.iter().all(untimed) || per_s > FEW_PER_S || blocked {
        return None;
    }
    let programs = number(key::CPU_MEAN.of("user")).filter(|(share, _)| *share >= MOST_OF_IT);
    if let Some((used, reading)) = &programs {
        builder.fact(reading, "CPU time in programs", (*used, Unit::Share), None);
    }
    let mut finding = new_finding(Verdict::Healthy, Some(most.device), builder.listings.clone());
    let disk = analysis.disk(most.device);
    finding.sentence = format!(
        "hardly any I/O: {} at most ({}), and idle CPUs wait for I/O {} of the time{}",
        phrase::iops(per_s),
        phrase::disk(&disk),
        phrase::percent(iowait),
        programs.map_or(String::new(), |(used, _)| format!(
            "; programs use {} of the CPUs: if something is slow, it is there",
            phrase::percent(used)
        ))
    );
    finding.evidence = builder.evidence;
    finding.assume(HARDLY_ANY, "hardly any I/O, and no CPU waits for it");
    // A disk that did anything since boot has no zeros in that average.
    let of_one_report =
        per_s > 0.0 && rows.iter().filter(|row| row.device == most.device).count() == 1;
    finding.doubt_if(of_one_report, "one report: it may be the average since boot", SHAPE_ALONE);
    Some(cleared(finding, ["the problem did not occur during the capture", NOT_LISTED]))
}

/// Time that requests waited per second, all together: the mean number in flight.
fn waited(row: &IntervalSample) -> f64 {
    let by_rate = row.per_s() * row.await_ms().unwrap_or(0.0) / 1e3;
    row.interval.queue_len.unwrap_or(0.0).max(by_rate)
}

fn is_idle(row: &&IntervalSample) -> bool {
    !row.interval.since_boot
        && row.agrees
        && !is_uncounted(row)
        && row.outstanding().is_none()
        && row.interval.busy.is_some_and(|busy| busy < NOTICEABLE)
        && waited(row) < NOTICEABLE
        && row.await_ms().unwrap_or(0.0) < NOTICEABLE_MS
}

/// Whether a device completes requests and reports no time for them, as md does in most kernels
/// (drivers/md/md.c, md_account_bio).
fn is_uncounted(row: &IntervalSample) -> bool {
    row.per_s() > FEW_PER_S
        && disk_names::is_stacked(&row.disk)
        && row.interval.busy.unwrap_or(0.0) <= 0.0
        && waited(row) <= 0.0
}

/// Whether I/O of disks was timed in a listing: then that is judged.
fn is_timed(analysis: &Analysis, place: usize) -> bool {
    let listing = analysis.listing(place);
    listing.events.iter().any(|event| event.layer == Layer::Block)
        || listing.intervals.iter().any(|row| row.layer == Layer::Block)
        || listing.distributions.iter().any(|one| one.layer == Layer::Block)
}

/// Whether another cause comes first; a test's own queue does not count.
fn accuses(known: &Finding) -> bool {
    let own_queue = matches!(known.verdict, Verdict::LoadSaturated | Verdict::LoadLargeIo);
    !known.verdict.accuses_nobody() && !own_queue && known.confidence() > SUSPECTED
}

/// iowait up to which no processor waits, idle time that would show it, I/Os per second of a disk
/// that are hardly any, CPU time that is most of it, and what a screen of `top`, a moment, is worth
/// (choices).
const NO_WAIT: f64 = 0.01;
const IDLE: f64 = 0.1;
const FEW_PER_S: f64 = 10.0;
const MOST_OF_IT: f64 = 0.5;
const ONE_MOMENT: f64 = 0.62;

/// `top` lists no task in uninterruptible sleep, and idle processors wait for nothing.
fn idle_screen(analysis: &Analysis, host: Host) -> Option<Finding> {
    let own = || places(analysis, host);
    let is_log = |place: usize| {
        let facts = &analysis.listing(place).facts;
        facts.iter().any(|fact| fact.key.member_of(key::KERNEL_LOG).is_some())
    };
    if own().any(|place| is_timed(analysis, place) || is_log(place)) {
        return None;
    }
    let about = analysis.machine(host);
    let number = |key: FactKey| analysis.own_number(host, key);
    // The list of tasks was read, and none of them is blocked.
    number(key::TASKS_LOAD.of("mean"))?;
    let blocked = number(key::TASKS_BLOCKED).is_some_and(|(tasks, _)| tasks > 0.0);
    let (iowait, mut builder) = without_iowait(analysis, host)?;
    let waits = about.waiting_task().is_some_and(|(share, ..)| share >= IOWAIT);
    (!blocked && !waits).then_some(())?;
    let busiest = about.busiest_process(key::PROCESS_CPU);
    if let Some((used, who, reading)) = &busiest {
        let what = format!("CPU time of {who}, share of one CPU");
        builder.fact(reading, &what, (*used, Unit::Share), None);
    }
    let mut finding = new_finding(Verdict::Healthy, None, builder.listings.clone());
    finding.sentence = format!(
        "nobody waits for I/O at that moment: no task is blocked, and idle CPUs wait for I/O {} of \
         the time{}",
        phrase::percent(iowait),
        busiest.map_or(String::new(), |(used, who, _)| format!(
            "; {who} takes {} of a CPU: if something is slow, it is there",
            phrase::percent(used)
        ))
    );
    finding.evidence = builder.evidence;
    finding.assume(ONE_MOMENT, "no task was blocked on I/O on the screen");
    Some(cleared(finding, ["the problem did not occur at that moment", IN_ANOTHER_WAY]))
}

/// No task was blocked, no processor waited, nothing was swapped.
fn nobody_waits(analysis: &Analysis, host: Host) -> Option<Finding> {
    if places(analysis, host).any(|place| is_timed(analysis, place)) {
        return None;
    }
    let about = analysis.machine(host);
    let number = |key: FactKey| about.machine_number(key);
    let (reports, _) = number(key::VMSTAT_INTERVALS).filter(|(n, _)| *n >= REPORTS)?;
    let blocked = number(key::VMSTAT_MEAN.of("b"))?;
    let iowait = number(key::VMSTAT_MEAN.of("wa")).filter(|(share, _)| *share <= IOWAIT)?;
    let runnable = number(key::VMSTAT_MEAN.of("r"));
    let computes = runnable.as_ref().is_some_and(|(tasks, _)| {
        *tasks >= RUNNABLE && *tasks >= COMPUTES * blocked.0 && iowait.0 <= HARDLY
    });
    let nobody = blocked.0 <= BLOCKED;
    let beyond = |name: &'static str, most: f64| {
        number(key::VMSTAT_MEAN.of(name)).is_some_and(|(n, _)| n > most)
    };
    let swaps = beyond("si", SWAPPED) || beyond("so", SWAPPED);
    let moves = beyond("bi", MOVED) || beyond("bo", MOVED);
    if swaps || !(computes || nobody && !moves) {
        return None;
    }
    let mut builder = EvidenceBuilder::of(analysis);
    let reported = (blocked.0, Unit::Count);
    let bound = |most: f64| Some(Bound::Below(most));
    let most = if nobody { BLOCKED } else { runnable.as_ref().map_or(0.0, |r| r.0 / COMPUTES) };
    builder.fact(&blocked.1, "mean of blocked tasks (b)", reported, bound(most));
    let share = (iowait.0, Unit::Share);
    builder.fact(&iowait.1, "mean iowait (wa)", share, bound(IOWAIT));
    let mut finding = new_finding(Verdict::Healthy, None, builder.listings.clone());
    let what = if nobody { "no task waits for I/O" } else { "hardly any task waits for I/O" };
    let run = runnable.as_ref().filter(|_| computes).map_or(String::new(), |(tasks, _)| {
        format!("; {} tasks run or wait for a CPU", phrase::digits(*tasks))
    });
    finding.sentence = format!(
        "{what}: over {} {} tasks were blocked on average, and the CPUs waited for I/O {} of the \
         time{run}",
        phrase::count(reports, "report(s)"),
        phrase::digits(blocked.0),
        phrase::percent(iowait.0)
    );
    if let Some((runnable, reading)) = runnable {
        let runnable = (runnable, Unit::Count);
        builder.fact(&reading, "mean of runnable tasks (r)", runnable, None);
    }
    finding.evidence = builder.evidence;
    match nobody {
        true => {
            finding.assume(NOBODY_WAITS, "no task was blocked on I/O while the reports were made");
        }
        false => finding.assume(FEW_WAIT, "far more tasks ran than were blocked on I/O"),
    }
    Some(cleared(finding, ["the problem did not occur while `vmstat` ran", IN_ANOTHER_WAY]))
}
