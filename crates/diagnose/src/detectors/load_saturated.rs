//! More is asked of the device than a healthy one gives.
//!
//! ## Accuses
//! The load. The device serves each request in about its healthy time, but so many wait that
//! latency grows with the queue.
//!
//! ## Why it matters
//! Nothing is broken. A new disk of the same class would be as slow; fewer, larger or better spread
//! I/Os help.
//!
//! ## Needs
//! Averages raise the suspicion; a per-I/O log makes it sure. Two loads of different depth show
//! that throughput no longer follows.
//!
//! ## Rule
//! The observed arrivals are replayed through a healthy device at nine guesses of its service
//! time; each replay in which more than half of the excess latency stays is a vote. From averages:
//! mean latency above three healthy service times while busy time per completion is not above
//! twice. Elasticity of throughput above 0.5 speaks against it.
//!
//! ## Wrong if
//! Throughput is flat because a provider caps it or because the disk is slow.
//!
//! ## Next step
//! Name the process that asks most; fewer or larger I/Os, a cache, more spindles.

use iowhy_model::{Bound, Finding, Level, Unit, Verdict};

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::{self, IntervalSample};
use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{computed, estimated, held, lines, new_finding, read_off};
use crate::evidence::confidence;
use crate::evidence::forecast::{unqueued, vote_evidence};
use crate::evidence::runs;
use crate::facts::disk_names;
use crate::measures::elasticity::{self, Load};
use crate::measures::replay::Side;
use crate::phrase;

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadSaturated,
    summary: "More is asked of the device than a healthy one gives",
    manual: iowhy_model::manual!("load_saturated.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::C,
        seconds: 30,
        what: "arrival and completion of each I/O, or two loads of different depth",
    },
    explains: &[],
    rule: Rule::Detect(detect),
};

/// Mean latency over S0, and the busy time over S0 beyond which the device is the suspect
/// (docs/METHOD.md, 1 Replay).
const WAITS: f64 = 3.0;
const SERVED_WELL: f64 = 2.0;
/// A persistent queue beyond this is the load's doing, unless the device is slower than any class
/// in question (published bar of a database's operators: sustained queue above 5).
const QUEUE: f64 = 5.0;
/// Elasticity above which more requests still bring more throughput (docs/METHOD.md, 10 Rules), and
/// what is left of the belief then.
const STILL_GROWS: f64 = 0.5;
const DOUBT: f64 = 0.5;
/// How far apart the depths must be to be two loads: within one the noise of a second's average has
/// a slope of its own.
const TWO_LOADS: f64 = 1.5;
/// No queueing device is steeper than this: throughput cannot grow faster than the number in
/// flight, and a fall twice as fast has another cause (another load).
const STEEPEST: f64 = 2.0;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traced = analysis.traces.iter().filter_map(|trace| from_events(analysis, trace));
    let averaged =
        analysis.rows_by_listing().into_iter().filter_map(|rows| from_rows(analysis, &rows));
    traced.chain(averaged).chain(runs::deep(analysis, DETECTOR.verdict, false)).collect()
}

fn from_events(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let vote = trace.vote.as_ref()?;
    let middle = vote.middle()?;
    let lost = trace.lost_ns() / trace.span_ns();
    let undisputed = vote.workload == 0 && vote.device < 5;
    if trace.spans.len() < EVENTS_NEEDED || lost < confidence::COMPLAINED_OF || undisputed {
        return None;
    }
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    finding.sentence = format!(
        "{} is saturated: await {} on average; the same load on a healthy device: {}; one request alone: {}",
        phrase::disk(&trace.disk),
        phrase::ns(middle.mean_ns),
        phrase::ns(middle.healthy_mean_ns),
        phrase::ms(trace.s0.median_ms())
    );
    finding.confidence = (f64::from(vote.workload) + 0.5) / 10.5;
    finding.explained_share = middle.workload_share;
    finding.evidence = vote_evidence(analysis, trace, vote, Side::Workload);
    finding.forecast = unqueued(trace);
    advise(&mut finding, &trace.disk);
    Some(finding)
}

fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    // Who was away and came back is not full: what waited meanwhile is no demand.
    let gone = samples::after_silence(rows);
    let row = rows
        .iter()
        .filter(|row| usable(row) && !gone.iter().any(|known| std::ptr::eq(*known, **row)))
        .max_by(|a, b| a.lost().total_cmp(&b.lost()))
        .filter(|row| row.lost() >= confidence::COMPLAINED_OF)?;
    let (effective, wait) = (row.effective_ms()?, row.await_ms()?);
    let (votes, confidence) = row.s0.votes(|s0| wait > WAITS * s0 && effective <= SERVED_WELL * s0);
    let (against, _) = row.s0.votes(|s0| effective > SERVED_WELL * s0);
    let contradicted = analysis.traced_side(row).is_some_and(|side| side != Side::Workload);
    if contradicted || (votes == 0 && against < 5) {
        return None;
    }
    let source = analysis.source(row.listing);
    let s0 = row.s0.median_ms();
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.sentence = format!(
        "{} is saturated: await {}, service {}",
        phrase::disk(&row.disk),
        phrase::ms(wait),
        phrase::ms(effective)
    );
    finding.confidence = confidence;
    if let Some(queue) = row.interval.queue_len
        && effective <= SERVED_WELL * row.s0.slowest_ms()
        && votes > 0
    {
        let clause = confidence::above(queue, QUEUE).max(0.0);
        finding.confidence = confidence::believe(confidence, &[clause]);
    }
    finding.explained_share = ((wait - effective.max(s0)) / wait).max(0.0);
    let healthy = format!("healthy service time (assumed class: {})", row.s0.assumption);
    finding.evidence = vec![
        held(read_off("mean latency (await)", wait, Unit::Ms, 1, source), Bound::Above(WAITS * s0)),
        held(
            computed("busy time per completion", effective, Unit::Ms, 1, source),
            Bound::Below(SERVED_WELL * s0),
        ),
        estimated(&healthy, s0, Unit::Ms, 1, source),
        estimated("baseline variants that agree, of 9", votes as f64, Unit::Count, 9, source),
    ];
    if let Some(queue) = row.interval.queue_len {
        let what = "requests queued or served (aqu-sz)";
        finding.evidence.push(read_off(what, queue, Unit::Requests, 1, source));
    }
    let loads: Vec<Load> = same_disk(analysis, row);
    // Points of nearly one depth have no slope to speak of.
    let depths = || loads.iter().map(|load| load.in_flight).filter(|depth| *depth > 0.0);
    let (least, most) = (depths().fold(f64::INFINITY, f64::min), depths().fold(0.0, f64::max));
    let slope = elasticity::elasticity(&loads)
        .filter(|eps| eps.abs() < STEEPEST && most > TWO_LOADS * least);
    if let Some(eps) = slope {
        let n = loads.len() as u64;
        let what = "elasticity of throughput, d ln X / d ln N";
        finding
            .evidence
            .push(held(computed(what, eps, Unit::Count, n, source), Bound::Below(STILL_GROWS)));
        if eps > STILL_GROWS {
            finding.confidence *= DOUBT;
        }
    }
    advise(&mut finding, &row.disk);
    Some(finding)
}

fn usable(row: &IntervalSample) -> bool {
    row.per_s() > 0.0 && row.agrees && !disk_names::is_stacked(&row.disk)
}

fn same_disk(analysis: &Analysis, row: &IntervalSample) -> Vec<Load> {
    analysis
        .intervals
        .iter()
        .filter(|other| {
            other.disk == row.disk && analysis.input(other.listing) == analysis.input(row.listing)
        })
        .filter_map(|other| {
            // Of the time in which there was work: a row that begins or ends within has less of both.
            let busy = other.interval.busy.filter(|busy| *busy > 0.0).unwrap_or(1.0).min(1.0);
            let in_flight = other.interval.queue_len? / busy;
            Some(Load { per_s: other.per_s() / busy, in_flight })
        })
        .collect()
}

fn advise(finding: &mut Finding, disk: &str) {
    finding.refuted_by = lines(&[
        "a peer of the same class under the same load is much quicker",
        "throughput stands on a round number: then a limit holds it",
    ]);
    finding.next_step = vec![
        format!("who asks? {} names the processes", phrase::capture(disk, 30)),
        "fewer or larger I/Os, a cache, or the load spread over more devices".to_string(),
    ];
}
