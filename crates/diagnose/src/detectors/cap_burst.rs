//! The volume's burst credits are used up.
//!
//! ## Accuses
//! The provisioned size of the volume. It can run fast for a limited time, then only at its
//! baseline rate.
//!
//! ## Why it matters
//! A one-minute test shows the burst rate, the night shows the baseline, and the disk gets the
//! blame for the difference. Nothing wears out, and throughput does not recover while the load
//! continues.
//!
//! ## Needs
//! Throughput over time, before and after the credits run out: at least ten samples on either side,
//! and the number of requests in flight. A device that may be a network volume, or be stacked on
//! one.
//!
//! ## Rule
//! Throughput falls to a lower plateau and stays there: after the step it varies by less than 1.2 %
//! (more if counts are small: a trace may have lost a tenth of them) and by far less than random
//! completions would, no sample exceeds the plateau by 2 %, requests are queued, and no fewer of
//! them than before. A rate before or after the step that matches a product limit (3000 IOPS, three
//! per GiB, 125 MiB/s) adds to it.
//!
//! ## Wrong if
//! The drive's own write cache is full, or it throttles because of heat: both occur on local
//! drives, and neither gives a flat rate.
//!
//! ## Next step
//! Check the volume's credit balance; use a type with a fixed rate, or reduce the load.

use iowhy_model::{Clause, DeviceId, Finding, Forecast, Level, Nanos, Verdict};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::IntervalSample;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::{self, PRIOR_OF_CAP};
use crate::measures::bucket::{self, PlateauStep};
use crate::measures::cap::{self, Limit};
use crate::measures::spread;
use crate::measures::windows::Windows;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::CapBurst,
    summary: "The volume's burst credits are used up",
    manual: iowhy_model::manual!("cap_burst.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::A,
        seconds: 3600,
        what: "throughput and queue length before and after the credits run out",
    },
    explains: &[
        Verdict::CapVolume,
        Verdict::DevicePeriodicDelay,
        Verdict::DeviceSlow,
        Verdict::DeviceWriteCliff,
        Verdict::LoadBurst,
        Verdict::LoadSaturated,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// Bounds of the plateau (docs/METHOD.md, 8 Cap).
const VARIATION: f64 = 0.012;
const MAX_OVERSHOOT: f64 = 1.02;
/// Dispersion of the counts: one for random completions, far less for a clock. A device whose
/// services vary by a third has 0.1.
const DISPERSION: f64 = 0.1;
/// How much higher it must have been before: gp2 falls by 1.1 (900 GiB) to 30 (100 GiB). Below one
/// fifth a change of the load looks the same.
const STEP: f64 = 1.2;
/// Requests in flight after the step, as a share of those before: the demand stays the same.
const STILL_ASKED: f64 = 0.8;
/// Minimum number of requests that wait for a limit.
const WAITING: f64 = 1.5;
/// Weight of a flat plateau after a higher one, in nats, as in `cap.volume`.
const PINNED: f64 = 3.4;
/// Weight of a known product limit, in nats (docs/METHOD.md, 8 Cap).
const KNOWN_LIMIT: f64 = 2.0;
/// A gp2 volume's bucket, in I/O credits, its burst rate, and the credits per GiB (AWS, EBS
/// volume types).
const BUCKET: f64 = 5.4e6;
const BURST: f64 = 3000.0;
const PER_GIB: f64 = 3.0;
/// A second, the sample that traces are laid into.
const SECOND_NS: i64 = 1_000_000_000;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let rows = analysis.rows_by_listing().into_iter().filter_map(|rows| from_rows(analysis, &rows));
    let traced = analysis.traces.iter().filter_map(|trace| from_trace(analysis, trace));
    rows.chain(traced).collect()
}

/// Throughput of one device over time.
struct Course {
    device: DeviceId,
    listing: usize,
    disk: String,
    limit: Limit,
    rates: Vec<f64>,
    in_flight: Vec<f64>,
    /// Mean latency of each sample, ms.
    waits_ms: Vec<f64>,
}

fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    let first = rows.first()?;
    let column = |of: &dyn Fn(&IntervalSample) -> Option<f64>| -> Vec<f64> {
        let known: Vec<f64> = rows.iter().filter_map(|row| of(row)).collect();
        if known.len() == rows.len() { known } else { Vec::new() }
    };
    let courses = Limit::ALL.map(|limit| Course {
        device: first.device,
        listing: first.listing,
        disk: first.disk.clone(),
        limit,
        rates: column(&|row| Some(row.rate(limit))),
        in_flight: column(&|row| row.interval.queue_len),
        waits_ms: column(&|row| row.await_ms()),
    });
    courses.iter().find_map(|course| finding(analysis, course))
}

fn from_trace(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let (first, last) = (trace.spans.first()?, trace.spans.last()?);
    let windows = Windows::of(first.completed_ns, last.completed_ns, SECOND_NS)?;
    let of = |weight: &dyn Fn(usize) -> f64| {
        let spans = trace.spans.iter().enumerate();
        windows.rates(spans.map(|(place, span)| (span.completed_ns, weight(place))))
    };
    let waited = |place: usize| trace.spans.get(place).map_or(0.0, |span| span.latency_ns() / 1e9);
    // Little: the sum of latencies per second is the mean number in flight.
    let (per_s, in_flight) = (of(&|_| 1.0), of(&waited));
    let waits_ms = in_flight.iter().zip(&per_s).map(|(n, rate)| 1000.0 * n / rate.max(1e-9));
    let waits_ms: Vec<f64> = waits_ms.collect();
    let bytes = |place: usize| trace.spans.get(place).map_or(0.0, |span| f64::from(span.bytes));
    let courses =
        [(Limit::Iops, per_s), (Limit::BytesPerSecond, of(&bytes))].map(|(limit, rates)| Course {
            device: trace.device,
            listing: trace.listing,
            disk: trace.disk.clone(),
            limit,
            rates,
            in_flight: in_flight.clone(),
            waits_ms: waits_ms.clone(),
        });
    courses.iter().find_map(|course| finding(analysis, course))
}

fn finding(analysis: &Analysis, course: &Course) -> Option<Finding> {
    let step = bucket::drained(&course.rates, &course.in_flight)?;
    let (queue_before, queue) = step.in_flight?;
    let thinned = bucket::thinned(step.low);
    let variation = VARIATION.hypot(thinned);
    let flat = step.cv < variation
        && step.max_over_median < MAX_OVERSHOOT + 3.0 * thinned
        && (step.dispersion < DISPERSION || course.limit == Limit::BytesPerSecond);
    let asked = queue > WAITING && queue >= STILL_ASKED * queue_before;
    if !analysis.may_be_limited(course.device) || !flat || !asked || step.high < STEP * step.low {
        return None;
    }
    let (before_ms, now_ms) = waits(course, &step)?;
    let n = step.after as u64;
    let unit = course.limit.unit();
    let mut finding = new_finding(DETECTOR.verdict, Some(course.device), vec![course.listing]);
    finding.sentence = format!(
        "{} has used up its burst credits: throughput fell from {} to {} while the demand stayed \
         the same",
        phrase::disk(&course.disk),
        course.limit.words(step.high),
        course.limit.words(step.low)
    );
    let computed = analysis.computed(course.listing, n);
    finding.evidence = vec![
        computed.over(step.before as u64).of("throughput before the fall, median", step.high, unit),
        computed.of("throughput after the fall, median", step.low, unit),
        computed
            .ratio(
                "throughput before the fall, divided by throughput after it",
                step.high / step.low,
            )
            .above(STEP),
        computed.share("variation after the fall", step.cv).below(variation).weighs(),
        computed
            .over(step.before as u64)
            .requests("requests in flight before the fall, median", queue_before),
        computed
            .requests("requests in flight after the fall, median", queue)
            .above((STILL_ASKED * queue_before).max(WAITING)),
        computed.over(step.before as u64).ms("mean latency before the fall, median", before_ms),
        computed.ms("mean latency after the fall, median", now_ms),
    ];
    let sold = sold(course.limit, &step);
    finding.evidence.extend(sold.map(|(what, value)| computed.of(what, value, unit)));
    let clauses = [
        Clause::fixed("throughput pinned after the fall", PINNED),
        Clause::fixed("a baseline rate of a product", sold.map_or(0.0, |_| KNOWN_LIMIT)),
    ];
    confidence::believe(&mut finding, PRIOR_OF_CAP, clauses);
    finding.explained_share = (1.0 - before_ms / now_ms).clamp(0.0, 1.0);
    finding.forecast = Some(Forecast::of_means(
        Nanos::from_ms(now_ms),
        Nanos::from_ms(before_ms),
        format!(
            "the volume delivers {} again with the same number of requests in flight",
            course.limit.words(step.high)
        ),
    ));
    advise(&mut finding, course.limit, &step);
    Some(finding)
}

/// Median of the mean latencies before the step and since, ms.
fn waits(course: &Course, step: &PlateauStep) -> Option<(f64, f64)> {
    let since = course.waits_ms.len().checked_sub(step.after)?;
    let before = course.waits_ms.get(..since.min(step.before))?;
    let before = spread::median(before)?;
    let now = spread::median(course.waits_ms.get(since..)?)?;
    (before > 0.0 && now > before).then_some((before, now))
}

/// A height that is on sale: a tier before or after, or three IOPS per whole GiB.
fn sold(limit: Limit, step: &PlateauStep) -> Option<(&'static str, f64)> {
    let tier = |rate: f64| cap::nearest_tier(limit, rate).map(|(tier, _)| tier.value);
    if let Some(value) = tier(step.high) {
        return Some(("a known burst rate near the first", value));
    }
    tier(step.low).map(|value| ("a known baseline near the second", value))
}

fn advise(finding: &mut Finding, limit: Limit, step: &PlateauStep) {
    finding.refuted_by = lines(&[
        "the provider's credit balance (`BurstBalance`) is not near zero",
        "throughput recovers while the load continues",
        "the program sends fewer requests, by its own rate limit",
    ]);
    finding.next_step = lines(&[
        "check the balance at the provider: CloudWatch `BurstBalance` of the volume",
        "use a type with a fixed rate (gp3), or a larger volume: a gp2 volume earns three IOPS per \
         GiB",
    ]);
    if limit == Limit::Iops && (step.high / BURST - 1.0).abs() < 0.05 {
        finding.next_step.push(format!(
            "as gp2 this is a volume of {}: a full bucket lasts {} at {}, and refills in {} when \
             idle",
            phrase::bytes((step.low / PER_GIB).round() * 1_073_741_824.0),
            phrase::ms(1e3 * BUCKET / (step.high - step.low)),
            phrase::iops(step.high),
            phrase::ms(1e3 * BUCKET / step.low)
        ));
    }
}
