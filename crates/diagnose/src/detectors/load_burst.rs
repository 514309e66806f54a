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
//! A per-I/O log with issue and completion.
//!
//! ## Rule
//! Within a busy period at least five requests are issued in less than a tenth of the time it takes
//! to drain them, latency grows with the time since the first (slope 0.8 to 1.2), completions are
//! evenly spaced (variation below one half), and the spacing is the service time of a healthy
//! device (at most 2.5 healthy service times). Between batches the device is idle: its overall rate
//! is less than 0.8 of the rate in batches, and for a fifth of the time less than half a batch is
//! in flight. A device whose queue is refilled as it drains has no pause over which the requests
//! could be spread, and is saturated.
//!
//! ## Wrong if
//! The spacing itself is slow: then a slow disk is the cause.
//!
//! ## Next step
//! Lower dirty limits, spread fsyncs over time, lower the write-back target, use `ionice`.

use iowhy_model::{Bound, Finding, Level, Unit, Verdict};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{computed, lines, new_finding};
use crate::evidence::confidence;
use crate::evidence::forecast::unqueued;
use crate::measures::ramp;
use crate::phrase;

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadBurst,
    summary: "Batches: many requests at once, drained at a constant rate",
    manual: iowhy_model::manual!("load_burst.rs"),
    needs: Needs {
        level: Level::C,
        sure_from: Level::C,
        seconds: 30,
        what: "issue and completion of each I/O",
    },
    // Peers are a baseline under the same load, and batches are its own.
    // Steps, too: within a batch that is served at an even pace none took a revolution longer.
    explains: &[
        Verdict::DevicePeriodicDelay,
        Verdict::DeviceRetry,
        Verdict::DeviceSlow,
        Verdict::LoadSaturated,
        Verdict::PeerOutlier,
    ],
    rule: Rule::Detect(detect),
};

/// Prior of the workload when someone complains (docs/METHOD.md, 11 Confidence).
const PRIOR: f64 = 0.55;
/// Share of the lost time that ramps must hold to be worth a word.
const HOLDS: f64 = 0.2;
/// Bounds of the rule (docs/METHOD.md, 6 Ramps and stalls).
const SLOPE: (f64, f64) = (0.8, 1.2);
const VARIATION: f64 = 0.5;
const SPACING: f64 = 2.5;
/// Share of the pace within batches that the device keeps over all the time, beyond which they
/// cannot be spread (choice: what a queue of random arrivals waits for four services at, M/M/1).
const NO_ROOM: f64 = 0.8;
/// Share of the time with less than half a batch in flight, below which the queue is refilled as it
/// drains (choice: as much as that leaves).
const RESTS: f64 = 0.2;
/// Requests in ramps, two batches of five.
const REQUESTS: usize = 10;
/// Time lost below which nobody complains (docs/METHOD.md, 10 Rules).
const MATTERS: f64 = 0.01;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    analysis.traces.iter().filter_map(|trace| finding(analysis, trace)).collect()
}

fn finding(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let s0_ms = trace.s0.median_ms();
    let ramps = ramp::ramps(&trace.spans, s0_ms * 1e6)?;
    let spacing_ms = ramps.spacing_ns / 1e6;
    let steady = (SLOPE.0..=SLOPE.1).contains(&ramps.slope) && ramps.spacing_cv < VARIATION;
    // The slowest class in question decides: a burst on a disk is not blamed on flash.
    let healthy_pace = spacing_ms <= SPACING * s0_ms.max(trace.s0.slowest_ms());
    let matters = trace.lost_ns() / trace.span_ns() > MATTERS;
    let heavy = ramps.requests >= REQUESTS && ramps.lost_share >= HOLDS && matters;
    let pace = ramps.spacing_ns * trace.spans.len() as f64 / trace.span_ns();
    if !steady || !healthy_pace || !heavy || pace >= NO_ROOM {
        return None;
    }
    let batch = ramps.requests as f64 / ramps.count.max(1) as f64;
    let rest = ramp::rest_share(&trace.spans, (batch / 2.0).ceil() as u32);
    if rest <= RESTS {
        return None;
    }
    let source = analysis.source(trace.listing);
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
    finding.evidence = vec![
        computed("batches", ramps.count as f64, Unit::Count, n, source),
        computed("share of requests in batches", n as f64, Unit::Count, n, source),
        computed("slope of latency against completion time", ramps.slope, Unit::Count, n, source)
            .held(Bound::Between(SLOPE.0, SLOPE.1)),
        computed("time between completions", spacing_ms, Unit::Ms, n, source),
        computed(
            "variation of the time between completions",
            ramps.spacing_cv,
            Unit::Share,
            n,
            source,
        )
        .below(VARIATION)
        .weighs(),
        computed("overall rate, divided by the rate in batches", pace, Unit::Share, n, source)
            .below(NO_ROOM),
        computed(
            "share of time with less than half a batch in flight",
            rest,
            Unit::Share,
            n,
            source,
        )
        .above(RESTS),
        computed("share of the lost time in batches", ramps.lost_share, Unit::Share, n, source)
            .above(HOLDS)
            .weighs(),
    ];
    confidence::believe(&mut finding, PRIOR, []);
    finding.explained_share = ramps.lost_share;
    finding.forecast = unqueued(trace);
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
    Some(finding)
}
