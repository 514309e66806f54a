//! Batches: many requests at once, drained at a constant rate.
//!
//! ## Accuses
//! The load. Write-back, a checkpoint or a batch job submits many requests at once; the last of
//! them waits for all others (queueing delay).
//!
//! ## Why it matters
//! Latencies rise like a ramp (10, 20, 30 ms) on a healthy device. Other programs on the device
//! wait behind the batch (head-of-line blocking).
//!
//! ## Needs
//! A per-I/O log with issue and completion; averages with the queue and the busy share raise the
//! suspicion.
//!
//! ## Rule
//! Within a busy period at least five requests are issued in less than a tenth of the time it takes
//! to drain them, latency grows with the time since the first (slope 0.8 to 1.2), completions are
//! evenly spaced (variation below one half), and the spacing is the service time of a healthy
//! device (at most 2.5 healthy service times). Between batches the device is idle: its overall rate
//! is less than 0.8 of the rate in batches, and for a fifth of the time less than half a batch is
//! in flight. A device whose queue is refilled as it drains has no pause over which the requests
//! could be spread, and is saturated. With averages: reads are not known to be most, at least five
//! requests wait on average though the device is busy for less than half of the time, and it serves
//! each in at most 2.5 healthy service times: writes that came one by one would not meet so many
//! others. Readers wait for their data: where reads queue in front of an idle device, its busy time
//! may be wrong. `vmstat` shows bursts of write-back where tasks wait while 10 MB/s and more are
//! moved, in five intervals, and hardly anything is done in a tenth of all. A database's log counts
//! checkpoints that came because its log of changes was full, as at least half of four, or remarks
//! that they come too often.
//!
//! ## Wrong if
//! The spacing itself is slow: then a slow disk is the cause.
//!
//! ## Next step
//! Lower dirty limits, spread fsyncs over time, lower the write-back target, use `ionice`.

use iowhy_model::{Bound, Finding, Level, Op, Verdict};

use crate::analysis::Analysis;
use crate::analysis::device_trace::{DeviceTrace, WAITS};
use crate::analysis::samples::IntervalSample;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::checkpoints;
use crate::evidence::confidence::{self, PRIOR_OF_LOAD};
use crate::evidence::forecast::unqueued;
use crate::evidence::host_load;
use crate::facts::disk_names;
use crate::measures::ramp;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadBurst,
    summary: "Batches: many requests at once, drained at a constant rate",
    manual: iowhy_model::manual!("load_burst.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::C,
        seconds: 30,
        what: "issue and completion of each I/O",
    },
    // Peers are a baseline under the same load, which has batches too. Steps are explained as well:
    // in a batch with an even pace no request took a revolution longer.
    explains: &[
        Verdict::DevicePeriodicDelay,
        Verdict::DeviceRetry,
        Verdict::DeviceSlow,
        Verdict::LoadSaturated,
        Verdict::PeerOutlier,
    ],
    rule: Rule::Detect(detect),
};

/// Minimum share of the lost time in ramps.
const MIN_LOST_SHARE: f64 = 0.2;
/// Bounds of the rule (docs/METHOD.md, 6 Ramps and stalls).
const SLOPE: (f64, f64) = (0.8, 1.2);
const VARIATION: f64 = 0.5;
const SPACING: f64 = 2.5;
/// Maximum ratio of the mean rate to the rate within batches, beyond which batches cannot be spread
/// (choice: an M/M/1 queue waits four services there).
const NO_ROOM: f64 = 0.8;
/// Minimum share of the time with less than half a batch in flight; below it the queue is refilled
/// as it drains (choice).
const MIN_IDLE_SHARE: f64 = 0.2;
/// Requests in ramps, two batches of five.
const REQUESTS: usize = 10;
/// Time lost below which no problem is reported (docs/METHOD.md, 10 Rules).
const MIN_LOST_TIME: f64 = 0.01;
/// Averages: requests that wait, and the busy share below which they came at once (a choice: a
/// queue of random arrivals at half of the rate has one request, M/M/1).
const QUEUE: f64 = 5.0;
const HALF: f64 = 0.5;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traced = analysis.traces.iter().filter_map(|trace| finding(analysis, trace));
    let averaged =
        analysis.rows_by_listing().into_iter().filter_map(|rows| from_rows(analysis, &rows));
    let of_databases = checkpoints::in_bursts(analysis, DETECTOR.verdict);
    let of_hosts = host_load::findings(analysis, DETECTOR.verdict, true);
    traced.chain(averaged).chain(of_hosts).chain(of_databases).collect()
}

/// From averages: a long queue before a device that rests.
fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    let usable = |row: &&&IntervalSample| {
        row.per_s() > 0.0 && row.agrees && !disk_names::is_stacked(&row.disk)
    };
    let row = rows
        .iter()
        .filter(usable)
        .max_by(|a, b| a.lost().total_cmp(&b.lost()))
        .filter(|row| row.lost() >= confidence::NOTICEABLE)?;
    let (effective, wait) = (row.effective_ms()?, row.await_ms()?);
    let rate = |op| row.interval.of(op).map_or(0.0, |rates| rates.ios_per_s);
    if rate(Op::Read) > 0.0 && rate(Op::Read) >= rate(Op::Write) {
        return None;
    }
    let queue = row.interval.queue_len.filter(|queue| *queue >= QUEUE)?;
    let busy = row.interval.busy.filter(|busy| *busy < HALF)?;
    let (votes, believed) = row.s0.votes(|s0| wait > WAITS * s0 && effective <= SPACING * s0);
    if votes == 0 {
        return None;
    }
    let s0 = row.s0.median_ms();
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.sentence = format!(
        "{} receives I/Os in batches: {} requests wait on average, {} each, though it is busy for \
         only {} of the time; if it is write-back, no program may wait for them",
        phrase::disk(&row.disk),
        phrase::digits(queue),
        phrase::ms(wait),
        phrase::percent(busy),
    );
    finding.assume(
        believed,
        format!("{votes} of 9 baseline variants attribute the wait to the queue"),
    );
    finding.weigh([confidence::above("mean queue", queue, QUEUE).at_least(0.0)]);
    finding.explained_share = ((wait - effective.max(s0)) / wait).max(0.0);
    let computed = analysis.computed(row.listing, 1);
    let estimated = analysis.estimated(row.listing, 1);
    let printed = analysis.printed(row.listing, 1);
    finding.evidence = vec![
        printed.requests("requests queued or served (aqu-sz)", queue).above(QUEUE),
        printed.share("busy time (%util)", busy).below(HALF),
        printed.ms("mean latency (await)", wait).above(WAITS * s0),
        computed.ms("busy time per completion", effective).below(SPACING * s0),
        estimated.healthy(&row.s0),
        estimated.votes(votes),
    ];
    advise(&mut finding);
    Some(finding)
}

fn finding(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let s0_ms = trace.s0.median_ms();
    let ramps = ramp::ramps(&trace.spans, s0_ms * 1e6)?;
    let spacing_ms = ramps.spacing_ns / 1e6;
    let steady = (SLOPE.0..=SLOPE.1).contains(&ramps.slope) && ramps.spacing_cv < VARIATION;
    // The slowest class in question decides: a burst on a disk is not blamed on flash.
    let healthy_pace = spacing_ms <= SPACING * s0_ms.max(trace.s0.slowest_ms());
    let matters = trace.lost_ns() / trace.span_ns() > MIN_LOST_TIME;
    let heavy = ramps.requests >= REQUESTS && ramps.lost_share >= MIN_LOST_SHARE && matters;
    let pace = ramps.spacing_ns * trace.spans.len() as f64 / trace.span_ns();
    if !steady || !healthy_pace || !heavy || pace >= NO_ROOM {
        return None;
    }
    let batch = ramps.requests as f64 / ramps.count.max(1) as f64;
    let rest = ramp::rest_share(&trace.spans, (batch / 2.0).ceil() as u32);
    if rest <= MIN_IDLE_SHARE {
        return None;
    }
    let n = ramps.requests as u64;
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    finding.sentence = format!(
        "{} receives I/Os in batches: {} batches of {} on average, served at one every {}, so the \
         last of each waits for all others",
        phrase::disk(&trace.disk),
        ramps.count,
        phrase::digits(batch),
        phrase::ms(spacing_ms)
    );
    let computed = analysis.computed(trace.listing, n);
    finding.evidence = vec![
        computed.count("batches", ramps.count as f64),
        computed.count("requests in batches", n as f64),
        computed
            .count("slope of latency against completion time", ramps.slope)
            .held(Bound::Between(SLOPE.0, SLOPE.1)),
        computed.ms("time between completions", spacing_ms),
        computed
            .share("variation of the time between completions", ramps.spacing_cv)
            .below(VARIATION)
            .weighs(),
        computed.share("overall rate, divided by the rate in batches", pace).below(NO_ROOM),
        computed
            .share("share of time with less than half a batch in flight", rest)
            .above(MIN_IDLE_SHARE),
        computed
            .share("share of the lost time in batches", ramps.lost_share)
            .above(MIN_LOST_SHARE)
            .weighs(),
    ];
    confidence::believe(&mut finding, PRIOR_OF_LOAD, []);
    finding.explained_share = ramps.lost_share;
    finding.forecast = unqueued(trace);
    advise(&mut finding);
    Some(finding)
}

fn advise(finding: &mut Finding) {
    finding.refuted_by = lines(&[
        "the same requests spread over time are just as slow",
        "the time between completions is longer than a healthy device needs",
    ]);
    finding.next_step = lines(&[
        "find the sender of the batches: `iowhy snoop --for 30s` shows the process of each I/O",
        "if it is write-back: `sysctl vm.dirty_background_bytes=67108864` starts it earlier and in \
         smaller steps",
        "spread fsyncs and checkpoints over time",
    ]);
}
