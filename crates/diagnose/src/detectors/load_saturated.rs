//! The device is saturated: the load exceeds what a healthy device can serve.
//!
//! ## Accuses
//! The load. The device serves each request in about its healthy time, but so many are queued that
//! latency grows with the queue (queueing delay).
//!
//! ## Why it matters
//! Nothing is faulty. A new disk of the same class would be just as slow; fewer, larger or better
//! distributed I/Os help.
//!
//! ## Needs
//! Averages raise the suspicion; a per-I/O log makes it certain. Two loads of different depth show
//! that throughput no longer grows.
//!
//! ## Rule
//! The observed arrivals are replayed through a healthy device with nine baseline service times;
//! each replay in which more than half of the excess latency remains is a vote. Or at least eight
//! requests are in flight, throughput is constant for 70 % of the time, and for the same number of
//! the nine baselines the mean latency is above three healthy service times while the device
//! completes as many as two healthy ones would. With averages: mean latency above three healthy
//! service times while busy time per completion is not above two and a half, as in the replay; for
//! a disk that serves one request at a time it is enough that it works without a pause while two or
//! more wait. With histograms of known duration, rate times latency must exceed five in flight;
//! without it, all requests must wait, and the queue is only suspected. Another disk with similar
//! waits under a similar load adds to it. Elasticity of throughput above 0.5 contradicts it.
//! Suspected: most of the time is spent waiting for a free request, or in the scheduler for a
//! device that has several at once (btt), or no request of a
//! histogram is fast. Without a timed request: programs that account for a third of what is moved
//! wait for I/O 80 % of their time (`iotop`); below 30 MB/s this is suspected only.
//! Or `vmstat` shows 10 MB/s and more in five intervals and in 70 % of all, in each of which tasks
//! wait for I/O.
//!
//! ## Wrong if
//! Throughput is flat because a provider limits it or because the disk is slow.
//!
//! ## Next step
//! Find the process with the most requests; use fewer or larger I/Os, a cache, more spindles.

use iowhy_model::{Clause, Finding, Level, Verdict};

use crate::analysis::device_trace::{DeviceTrace, SEVERAL, WAITS};
use crate::analysis::samples::{self, IntervalSample};
use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::askers;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::ceilings;
use crate::evidence::cluster_tests;
use crate::evidence::confidence::{self, SHAPE_ALONE};
use crate::evidence::counted::{self, CountedDisk, Slow};
use crate::evidence::forecast::{unqueued, vote_evidence};
use crate::evidence::fullness;
use crate::evidence::host_load;
use crate::evidence::requesters;
use crate::evidence::runs;
use crate::evidence::stages;
use crate::facts::disk_names;
use crate::measures::replay::{Side, Vote};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadSaturated,
    summary: "The device is saturated: the load exceeds a healthy device",
    manual: iowhy_model::manual!("load_saturated.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::C,
        seconds: 30,
        what: "arrival and completion of each I/O, or two loads with different queue depths",
    },
    explains: &[],
    rule: Rule::Detect(detect),
};

/// Busy time over S0 beyond which the device is the suspect: what the replay repairs
/// (docs/METHOD.md, 1 Replay).
const SERVED_WELL: f64 = 2.5;
/// A persistent queue beyond this is the load's doing, unless the device is slower than any class
/// in question (published bar of a database's operators: sustained queue above 5).
const QUEUE: f64 = 5.0;
/// Elasticity above which more requests still bring more throughput (docs/METHOD.md, 10 Rules), and
/// the remaining confidence then.
const STILL_GROWS: f64 = 0.5;
const DOUBT: f64 = 0.5;
/// Busy time over S0 from which on a histogram, which shows neither sizes nor offsets, leaves open
/// whether the device is slow (a choice: half of what `SERVED_WELL` allows).
const GIVES_LESS: f64 = 1.5;
/// What a queue is worth that is there in batches at most (a choice: below an even chance).
const IN_BATCHES: f64 = 0.35;
/// Below this busy share a disk is idle most of the time: its queue arrived in one batch, such as
/// write-back, and is served before the next one arrives (a choice).
const IDLE_BUSY_SHARE: f64 = 0.5;
/// Weights of a disk without pauses, and of another disk with the same load that waits as long, in
/// nats (choices: a third and half of a clause exceeded twofold); and the tolerance for the same
/// load.
const WITHOUT_PAUSE: f64 = 1.0;
const ALIKE: f64 = 1.5;
const AS_MUCH: f64 = 1.25;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traced = analysis.traces.iter().filter_map(|trace| from_events(analysis, trace));
    let averaged =
        analysis.rows_by_listing().into_iter().filter_map(|rows| from_rows(analysis, &rows));
    let counted = counted::disks(analysis);
    let counted = counted.iter().filter_map(|counted| from_counts(analysis, counted));
    let deep = runs::deep(analysis, DETECTOR.verdict, false);
    let staged = stages::for_a_request(analysis, DETECTOR.verdict).into_iter();
    let staged = staged.chain(stages::for_a_busy_device(analysis, DETECTOR.verdict));
    let asked = askers::findings(analysis, DETECTOR.verdict);
    let host = host_load::findings(analysis, DETECTOR.verdict, false);
    let traced = traced.chain(host).chain(cluster_tests::queued(analysis, DETECTOR.verdict));
    traced.chain(averaged).chain(counted).chain(deep).chain(staged).chain(asked).collect()
}

/// From histograms: all requests waited, and by rate and latency (Little's law) for others,
/// while the device completed as a healthy one does. Where the rate is not known, that is a
/// suspicion.
fn from_counts(analysis: &Analysis, counted: &CountedDisk) -> Option<Finding> {
    let s0 = &counted.s0;
    let all_wait = matches!(counted.slow, Some(Slow::All(_)));
    let known = counted.in_flight().zip(counted.pace_ms());
    let queued = known.is_some_and(|(queue, _)| queue >= QUEUE);
    if !queued && !all_wait {
        return None;
    }
    let wait = counted.mean_ms;
    // The rate of a device with idle time is that of its load.
    let served_well = |s0: f64| known.is_none_or(|(_, pace)| !queued || pace <= SERVED_WELL * s0);
    let (votes, believed) = s0.votes(|s0| wait > WAITS * s0 && served_well(s0));
    if votes == 0 {
        return None;
    }
    let n = counted.count();
    let estimated = analysis.estimated(counted.listing, n);
    let mut finding = new_finding(DETECTOR.verdict, Some(counted.device), vec![counted.listing]);
    let disk = phrase::disk(&counted.disk);
    finding.evidence = vec![
        estimated.ms("mean latency", wait).above(WAITS * s0.median_ms()),
        estimated.healthy(s0),
        estimated.votes(votes),
    ];
    finding.assume(
        believed,
        format!("{votes} of 9 baseline variants attribute the wait to the queue"),
    );
    match known {
        Some((queue, pace)) => {
            let is = if queued { "is" } else { "may be" };
            finding.sentence = format!(
                "{disk} {is} saturated: {} requests in flight, so each waits {} although {} \
                 complete",
                phrase::digits(queue),
                phrase::ms(wait),
                phrase::iops(1e3 / pace)
            );
            finding.weigh([confidence::above("mean queue", queue, QUEUE).at_least(0.0)]);
            let what = "requests in flight, mean (rate times latency)";
            let queue = estimated.requests(what, queue);
            let queue = if queued { queue.above(QUEUE) } else { queue };
            finding.evidence.insert(1, queue);
            let few = "few are in flight on average: all of them would wait only if they came in \
                       batches";
            finding.doubt_if(!queued, few, IN_BATCHES);
            let less = "it completes less than a healthy one would: it may also be slow";
            finding.doubt_if(queued && pace > GIVES_LESS * s0.median_ms(), less, SHAPE_ALONE);
            let alone = if queued { pace.max(s0.median_ms()) } else { s0.median_ms() };
            finding.explained_share = ((wait - alone) / wait).max(0.0);
        }
        None => {
            finding.sentence = format!(
                "{disk} may be saturated: nearly all of its {n} requests wait, {} on average",
                phrase::ms(wait)
            );
            let why = "the number of requests in flight is not known: a slow device would look the \
                       same";
            finding.doubt(why, SHAPE_ALONE);
            finding.explained_share = ((wait - s0.median_ms()) / wait).max(0.0);
        }
    }
    advise(&mut finding, &counted.disk);
    Some(finding)
}

/// The replay or the throughput, whichever has the higher confidence.
fn from_events(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let lost = trace.lost_ns() / trace.span_ns();
    if trace.spans.len() < EVENTS_NEEDED || lost < confidence::NOTICEABLE {
        return None;
    }
    let found = [by_replay(analysis, trace), by_throughput(analysis, trace)].into_iter().flatten();
    let mut finding = found.max_by(|a, b| a.confidence().total_cmp(&b.confidence()))?;
    finding.forecast = unqueued(trace);
    advise(&mut finding, &trace.disk);
    if let Some((program, share)) = requesters::main_program(analysis, trace.listing, trace.device)
    {
        let step = format!(
            "`{program}` sends {} of its requests: a smaller queue depth there reduces latency at \
             the same throughput",
            phrase::percent(share)
        );
        finding.next_step.splice(0..1, [step]);
    }
    Some(finding)
}

fn by_replay(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let vote = trace.vote.as_ref()?;
    let middle = vote.middle()?;
    if vote.workload == 0 && vote.device < 5 {
        return None;
    }
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    finding.sentence = format!(
        "{} is saturated: await {} on average; the same load on a healthy device: {}; one request \
         at a time: {}",
        phrase::disk(&trace.disk),
        phrase::ns(middle.mean_ns),
        phrase::ns(middle.healthy_mean_ns),
        phrase::ms(trace.s0.median_ms())
    );
    finding.assume(
        Vote::sure(vote.workload),
        format!("{} of 9 baseline variants attribute the time to the workload", vote.workload),
    );
    finding.explained_share = middle.workload_share;
    finding.evidence = vote_evidence(analysis, trace, vote, Side::Workload);
    Some(finding)
}

/// A device that serves many at once, at its plateau: by Little's law each request waits for those
/// in flight.
fn by_throughput(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let known = trace.queued_plateau()?;
    let (votes, believed) = trace.saturated();
    if votes == 0 {
        return None;
    }
    let n = trace.stretch().len() as u64;
    let (computed, estimated) =
        (analysis.computed(trace.listing, n), analysis.estimated(trace.listing, n));
    let (s0, pace_ms) = (trace.s0.median_ms(), known.pace_ns / 1e6);
    let wait_ms = known.in_flight * pace_ms;
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    let who = requesters::main_program(analysis, trace.listing, trace.device);
    finding.sentence = format!(
        "{} is saturated: {} {} requests in flight, so each waits {} although {} complete; a \
         healthy device needs {} for one at a time",
        phrase::disk(&trace.disk),
        who.map_or_else(|| "there are".to_string(), |(program, _)| format!("{program} keeps")),
        phrase::digits(known.in_flight.round()),
        phrase::ms(wait_ms),
        phrase::iops(1e3 / pace_ms),
        trace.s0.range()
    );
    finding.assume(believed, format!("{votes} of 9 baseline variants fit a throughput plateau"));
    finding.explained_share = (1.0 - s0.max(pace_ms) / wait_ms).max(0.0) * known.even;
    finding.evidence = vec![
        computed
            .requests("requests in flight, mean", known.in_flight)
            .above(QUEUE)
            .weighs_at_least(0.0),
        computed.ms("mean latency", wait_ms).above(WAITS * s0),
        computed.ms("busy time per completion", pace_ms).below(s0 / SEVERAL),
        computed.share("share of time at the usual throughput", known.even),
        estimated.healthy(&trace.s0),
        estimated.votes(votes),
    ];
    confidence::weigh_evidence(&mut finding);
    Some(finding)
}

fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    // A device that was away and came back is not saturated: requests that waited meanwhile are not
    // demand.
    let gone = samples::after_silence(rows);
    let row = rows
        .iter()
        .filter(|row| usable(row) && !gone.iter().any(|known| std::ptr::eq(*known, **row)))
        .max_by(|a, b| a.lost().total_cmp(&b.lost()))
        .filter(|row| row.lost() >= confidence::NOTICEABLE)?;
    let (effective, wait) = (row.effective_ms()?, row.await_ms()?);
    let full = fullness::is_full(analysis, row);
    let (votes, believed) =
        row.s0.votes(|s0| (full || wait > WAITS * s0) && effective <= SERVED_WELL * s0);
    let (against, _) = row.s0.votes(|s0| effective > SERVED_WELL * s0);
    let contradicted = analysis.traced_side(row).is_some_and(|side| side != Side::Workload);
    if contradicted || (votes == 0 && against < 5) {
        return None;
    }
    let s0 = row.s0.median_ms();
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.sentence = format!(
        "{} is saturated: await {}, service {}",
        phrase::disk(&row.disk),
        phrase::ms(wait),
        phrase::ms(effective)
    );
    finding.assume(
        believed,
        format!("{votes} of 9 baseline variants attribute the wait to the queue"),
    );
    if let Some(queue) = row.interval.queue_len
        && effective <= SERVED_WELL * row.s0.slowest_ms()
        && votes > 0
    {
        let full = if full { WITHOUT_PAUSE } else { 0.0 };
        let alike = if another_waits_alike(analysis, row) { ALIKE } else { 0.0 };
        finding.weigh([
            confidence::above("mean queue", queue, QUEUE).at_least(0.0),
            Clause::fixed("busy without a pause", full),
            Clause::fixed("another disk has similar waits", alike),
        ]);
    }
    let rests = row.interval.busy.is_some_and(|busy| busy < IDLE_BUSY_SHARE);
    let batch = "the disk is idle most of the time: the requests came in a batch, such as \
                 write-back, and no program may wait for them";
    finding.doubt_if(rests, batch, SHAPE_ALONE);
    if let Some(ms) = runs::stood_still(analysis, row.listing, wait) {
        let why = format!(
            "a request of the run took {}, {:.0} times the mean wait: the device, something behind \
             it, or write-back stalled: a queue alone does not do that",
            phrase::ms(ms),
            ms / wait
        );
        finding.doubt(why, SHAPE_ALONE);
    }
    finding.explained_share = ((wait - effective.max(s0)) / wait).max(0.0);
    let (printed, computed) = (analysis.printed(row.listing, 1), analysis.computed(row.listing, 1));
    let estimated = analysis.estimated(row.listing, 1);
    let latency = printed.ms("mean latency (await)", wait);
    finding.evidence = vec![
        // A disk that is full need not wait so long.
        if full { latency } else { latency.above(WAITS * s0) },
        computed.ms("busy time per completion", effective).below(SERVED_WELL * s0),
        estimated.healthy(&row.s0),
        estimated.votes(votes),
    ];
    if let Some(busy) = row.interval.busy.filter(|_| full) {
        let busy = printed.share("busy time (%util)", busy);
        finding.evidence.insert(0, busy.above(samples::WITHOUT_PAUSE));
    }
    if let Some(queue) = row.interval.queue_len {
        let what = "requests queued or served (aqu-sz)";
        let queue = printed.requests(what, queue);
        finding.evidence.push(if full { queue.above(samples::QUEUED) } else { queue });
    }
    if let Some((eps, rows)) = fullness::elasticity(analysis, row) {
        let what = "elasticity of throughput, d ln X / d ln N";
        finding.evidence.push(computed.over(rows as u64).count(what, eps).below(STILL_GROWS));
        if eps > STILL_GROWS {
            finding.scale("throughput still grows with the queue", DOUBT);
        }
    }
    advise(&mut finding, &row.disk);
    let rates = [row.per_s(), row.interval.bytes_per_s()];
    finding.next_step.splice(0..0, ceilings::near_a_sold_one(analysis, row.device, rates));
    Some(finding)
}

/// Whether another disk with the same load waits as long: two equal faults are less likely than two
/// overloaded disks.
fn another_waits_alike(analysis: &Analysis, row: &IntervalSample) -> bool {
    let near = |a: f64, b: f64| a > 0.0 && b > 0.0 && (a / b).max(b / a) < AS_MUCH;
    analysis.intervals.iter().any(|other| {
        other.listing == row.listing
            && other.disk != row.disk
            && usable(other)
            && other.interval.start == row.interval.start
            && near(other.per_s(), row.per_s())
            && near(other.await_ms().unwrap_or(0.0), row.await_ms().unwrap_or(0.0))
    })
}

fn usable(row: &IntervalSample) -> bool {
    row.per_s() > 0.0 && row.agrees && !disk_names::is_stacked(&row.disk)
}

fn advise(finding: &mut Finding, disk: &str) {
    finding.refuted_by = lines(&[
        "a peer of the same class under the same load is much faster",
        "throughput is a round number: then a limit throttles it",
    ]);
    finding.next_step =
        lines(&[&phrase::who_sends(disk), "use fewer or larger I/Os, a cache, or more devices"]);
}
