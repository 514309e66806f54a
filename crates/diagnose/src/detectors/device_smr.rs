//! A shingled (SMR) disk cleans up: random writes are fast at first, then take hundreds of ms.
//!
//! ## Accuses
//! A disk with overlapping tracks. It writes random data to a cache area, and must rewrite whole
//! zones once that is full (write amplification); reads are slow meanwhile.
//!
//! ## Why it matters
//! Such disks are often sold without saying so. In an array a rebuild takes days, or fails because
//! the disk does not respond in time.
//!
//! ## Needs
//! A per-I/O log before and after the slowdown; SMART or /sys with the model or `queue/zoned` to be
//! certain.
//!
//! ## Rule
//! The device is a spinning disk; more than a fifth of its requests are random writes; their
//! service time rises more than fivefold, to longer than any seek, while sequential requests stay
//! within twice their initial time. The model is on its vendor's list of shingled drives, or
//! `queue/zoned` is not `none`. Without one of these it stays a suspicion. Without latencies: a
//! listed model with request timeouts in the kernel's log, or whose array or pool is being rebuilt.
//!
//! ## Wrong if
//! The write cache is off or the cache of a conventional disk fills: writes then take a seek, a few
//! ms.
//!
//! ## Next step
//! Write sequentially and leave it idle at times so that it can clean up; never rebuild an array
//! onto it; use a conventional (CMR) disk.

use iowhy_model::{Bound, Clause, Finding, Level, MessageKind, Op, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::state_windows::{self, Windows};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{EvidenceBuilder, lines};
use crate::evidence::candidates::{self, FaultCandidate};
use crate::evidence::confidence::{self, PRIOR, SHAPE_ALONE};
use crate::facts::disk_models;
use crate::measures::decline::{self, Decline};
use crate::measures::spread;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::DeviceSmr,
    summary: "A shingled (SMR) disk slows down after random writes",
    manual: iowhy_model::manual!("device_smr.rs"),
    needs: Needs {
        level: Level::C,
        sure_from: Level::E,
        seconds: 1800,
        what: "each write before and after the slowdown, and the model (`smartctl -j -i`)",
    },
    explains: &[
        Verdict::DeviceHang,
        Verdict::DeviceSlow,
        Verdict::DeviceStall,
        Verdict::DeviceWriteCliff,
        Verdict::LoadSaturated,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// Share of random writes, and how far their service must rise (docs/METHOD.md, 17 Faults).
const RANDOM_WRITES: f64 = 0.20;
const RISE: f64 = 5.0;
/// Sequential requests stay: within twice (choice).
const STAYS: f64 = 2.0;
/// Longer than any seek, ns: a full stroke and a revolution at 5400 rpm are below 35 ms (vendors'
/// sheets).
const BEYOND_A_SEEK_NS: f64 = 40e6;
/// Weight of a listed model or a zoned attribute, and negative weight of sequential requests that
/// also slow down, nats.
const LISTED: f64 = 3.0;
const ALL_SLOW: f64 = -3.0;
/// A listed model with timeouts or hung tasks, without a measured pattern (docs/METHOD.md, 17
/// Faults).
const RAN_OUT: f64 = 1.5;
const REBUILT: f64 = 1.5;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let findings =
        |candidate| finding(analysis, candidate).or_else(|| beside_log(analysis, candidate));
    candidates.iter().filter_map(findings).collect()
}

fn finding(analysis: &Analysis, candidate: &FaultCandidate) -> Option<Finding> {
    let (trace, listing) = (candidate.trace?, candidate.listing?);
    if !analysis.may_rotate(trace.device) {
        return None;
    }
    let is_random = |sequential: Option<bool>| sequential == Some(false);
    let writes = state_windows::windows(trace, |g| g.op == Op::Write && is_random(g.sequential));
    let count: f64 = writes.windows.iter().map(|window| window.requests).sum();
    let share = count / trace.spans.len().max(1) as f64;
    let found = decline::decline(&writes.windows)?;
    let rises = found.ratio > RISE && found.slow_ns > BEYOND_A_SEEK_NS;
    if share <= RANDOM_WRITES || !rises {
        return None;
    }
    let mut builder = EvidenceBuilder::about(candidate);
    let n = count as usize;
    let above = |bound| Some(Bound::Above(bound));
    let share = (share, Unit::Share, trace.spans.len());
    builder.number(listing, "share of random writes", share, above(RANDOM_WRITES));
    let quick = (found.fast_ns / 1e6, Unit::Ms, n);
    builder.number(listing, "service time of a random write, initially", quick, None);
    let slow = (found.slow_ns / 1e6, Unit::Ms, n);
    let beyond = above(BEYOND_A_SEEK_NS / 1e6);
    builder.number(listing, "service time of a random write, later", slow, beyond);
    let ratio = (found.ratio, Unit::Ratio, n);
    let what = "service time ratio later/initial random writes";
    builder.number(listing, what, ratio, above(RISE));
    let rose = confidence::above(what, found.ratio, RISE);
    builder.clauses = vec![rose.at_least(0.5)];
    if let Some((rose, n)) = sequential_rise(trace, &writes, &found) {
        let rose_by = (rose, Unit::Ratio, n);
        let what = "service time ratio of sequential requests, later/initial";
        builder.number(listing, what, rose_by, Some(Bound::Below(STAYS)));
        let stays = if rose < STAYS { 1.0 } else { ALL_SLOW };
        builder.clauses.push(Clause::fixed(what, stays));
    }
    let known = by_name(candidate, &mut builder);
    builder.clauses.push(Clause::fixed("the model name", known));
    let mut finding = builder.finding(DETECTOR.verdict, Some(candidate.device));
    builder.believe(&mut finding, PRIOR);
    let why = "the model is not known as shingled: flash with a full cache behaves the same";
    finding.doubt_if(known <= 0.0, why, SHAPE_ALONE);
    finding.explained_share = found.lost_share;
    finding.sentence = format!(
        "{} behaves like a shingled disk{}: random writes take {} at first and {} once its cache \
         area is full",
        phrase::disk(&candidate.disk),
        builder.words.first().map_or(String::new(), |words| format!(", and {words}")),
        phrase::ns(found.fast_ns),
        phrase::ns(found.slow_ns)
    );
    finding.refuted_by = lines(&[
        "the vendor's list calls the model conventional (CMR)",
        "random writes are just as slow after an idle hour",
    ]);
    let steps = [
        "`smartctl -j -i {node}` and `cat /sys/block/{disk}/queue/zoned`: is the model on the \
         vendor's list of SMR drives?",
        "leave it idle for an hour and measure again: a shingled disk is initially fast again",
        "write sequentially; do not use it in RAID, and never rebuild onto it",
    ];
    finding.next_step = phrase::about(&steps, &candidate.disk);
    Some(finding)
}

/// A listed model with timeouts, or in an array or pool that is being rebuilt: this needs no
/// measured latency.
fn beside_log(analysis: &Analysis, candidate: &FaultCandidate) -> Option<Finding> {
    let about = candidate.about();
    let mut builder = EvidenceBuilder::about(candidate);
    let model = about.model().filter(|reading| disk_models::is_shingled(reading.text()))?;
    let named = by_name(candidate, &mut builder).min(1.0);
    let reset = about.logged(MessageKind::Controller).chain(about.logged(MessageKind::Offline));
    let timeouts: Vec<_> = about
        .logged(MessageKind::Timeout)
        .chain(about.logged(MessageKind::Link))
        .chain(reset)
        .collect();
    // Hung tasks name no disk: they count if this is the only disk of its kind.
    let hung: Vec<_> = match is_only_shingled(analysis, candidate) {
        true => analysis.facts.hung_beside(&candidate.disk, candidate.host).collect(),
        false => Vec::new(),
    };
    let mut late = 0.0;
    if !hung.is_empty() {
        let what = "tasks that hung, in the kernel's log";
        builder.log_lines(what, &hung, Some(Bound::Above(0.0)));
        builder.words.push("tasks hang at the same time".to_string());
        late = RAN_OUT;
    }
    if !timeouts.is_empty() {
        let what = "request timeouts and resets, in the kernel's log";
        builder.log_lines(what, &timeouts, Some(Bound::Above(0.0)));
        builder.words.push("its requests time out".to_string());
        late = RAN_OUT;
    }
    let mut arrays = analysis.facts.graph.arrays(&candidate.disk, candidate.host);
    let rebuilt = arrays.find_map(|(array, _)| {
        let action = analysis.facts.about(candidate.host, array).last(key::ARRAY_ACTION)?;
        ["recover", "resync", "resilver", "rebuild"].contains(&action.text()).then_some(action)
    });
    let mut rebuilds = 0.0;
    if let Some(action) = rebuilt {
        let what = format!("work of its array: `{}`", action.text());
        builder.fact(&action, &what, (1.0, Unit::Count), Some(Bound::Above(0.0)));
        builder.words.push("its array is being rebuilt".to_string());
        rebuilds = REBUILT;
    }
    if late + rebuilds <= 0.0 {
        return None;
    }
    builder.clauses = vec![
        Clause::fixed("the model name", named),
        Clause::fixed("slow writes in the log", late),
        Clause::fixed("a rebuild", rebuilds),
    ];
    let mut finding = builder.finding(DETECTOR.verdict, Some(candidate.device));
    builder.believe(&mut finding, PRIOR);
    finding.sentence = format!(
        "{} is a shingled disk ({}) overloaded by random writes: {}",
        phrase::disk(&candidate.disk),
        model.text(),
        phrase::list(&builder.words)
    );
    finding.refuted_by = lines(&[
        "the vendor's list calls the model conventional (CMR)",
        "a conventional disk in its place behaves the same",
    ]);
    finding.next_step = lines(&[
        "leave it idle so that it can clean up: stop writing for an hour, then check whether it \
         responds",
        "write sequentially; do not use it in RAID, and never rebuild onto it",
    ]);
    Some(finding)
}

/// Whether no other disk of the input is of a listed model.
fn is_only_shingled(analysis: &Analysis, candidate: &FaultCandidate) -> bool {
    analysis.facts.disks().all(|disk| {
        let model = analysis.facts.about(candidate.host, disk).model();
        disk == candidate.disk.as_str()
            || model.is_none_or(|reading| !disk_models::is_shingled(reading.text()))
    })
}

/// What the sequential requests cost while random writes were slow, over what they cost while these
/// were fast; and how many there were.
fn sequential_rise(trace: &DeviceTrace, writes: &Windows, found: &Decline) -> Option<(f64, usize)> {
    let slow: Vec<(i64, i64)> = found
        .slow
        .iter()
        .filter_map(|run| {
            let (first, last) = (run.start, run.end.checked_sub(1)?);
            Some((writes.times_ns.get(first)?.0, writes.times_ns.get(last)?.1))
        })
        .collect();
    let (mut during, mut before) = (Vec::new(), Vec::new());
    let sequential = trace.groups.iter().filter(|(group, _)| group.sequential == Some(true));
    for place in sequential.flat_map(|(group, _)| &group.members) {
        let (Some(span), Some(service)) = (trace.spans.get(*place), trace.services_ns.get(*place))
        else {
            continue;
        };
        let is_slow = slow.iter().any(|(from, to)| (*from..=*to).contains(&span.completed_ns));
        if is_slow { &mut during } else { &mut before }.push(*service);
    }
    let rose = spread::median(&during)? / spread::median(&before)?;
    rose.is_finite().then_some((rose, during.len() + before.len()))
}

/// Evidence from the model or the queue.
fn by_name(candidate: &FaultCandidate, builder: &mut EvidenceBuilder) -> f64 {
    let about = candidate.about();
    if let Some(reading) = about.last(key::QUEUE_ZONED).filter(|reading| reading.text() != "none") {
        let what = format!("zoned: `{}`", reading.text());
        builder.fact(&reading, &what, (1.0, Unit::Count), Some(Bound::Above(0.0)));
        builder.words.push(format!("it reports that it is zoned ({})", reading.text()));
        return LISTED;
    }
    let Some(reading) = about.model() else { return 0.0 };
    if !disk_models::is_shingled(reading.text()) {
        return 0.0;
    }
    let what = format!("on its vendor's list of shingled drives: {}", reading.text());
    builder.fact(&reading, &what, (1.0, Unit::Count), Some(Bound::Above(0.0)));
    builder.words.push(format!("its model {} is on its vendor's list", reading.text()));
    LISTED
}
