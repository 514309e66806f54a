//! The device hung once: nothing completed for a while although requests were in flight.
//!
//! ## Accuses
//! The device or its path, for a single event: when it happened and how long it took. There is no
//! pattern yet.
//!
//! ## Why it matters
//! A mean over many requests hides it, but every program with a request in flight stalls. A single
//! hang of 3 s is what users report and logs show; the next one may reveal the pattern.
//!
//! ## Needs
//! A per-I/O log, or averages of intervals no longer than the hang.
//!
//! ## Rule
//! An interval of more than 250 ms and more than 20 healthy service times without a completion
//! while requests were in flight; at most three of them (those of a second or more that follow each
//! other without a fast request in between count once); not a case of `device.stall`; most other
//! requests are fast. With averages: an interval with requests in the queue and no completion,
//! between others that worked, in which requests did not all wait longer than that. Or the kernel's
//! log shows that the controller of an NVMe drive did not recover from its reset, although it was
//! on its bus.
//!
//! ## Wrong if
//! The host or the virtual machine was paused, the trace lost events, a flush or discard ran, or
//! the device woke from sleep.
//!
//! ## Next step
//! Check the kernel's log at that moment; watch longer to catch a second one.

use iowhy_model::{Bound, Finding, Level, MessageKind, Verdict};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::{self, IntervalSample, Silence};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{EvidenceBuilder, lines, new_finding};
use crate::evidence::candidates;
use crate::evidence::cases::Case;
use crate::evidence::controllers;
use crate::evidence::freezes;
use crate::measures::service::ServiceSpan;
use crate::measures::stall::Episode;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::DeviceHang,
    summary: "The device hung once: nothing completed for a while",
    manual: iowhy_model::manual!("device_hang.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::C,
        seconds: 600,
        what: "issue and completion of each I/O, until the next hang",
    },
    explains: &[
        Verdict::DeviceSlow,
        Verdict::LoadBurst,
        Verdict::LoadSaturated,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// Shortest freeze that is named alone (docs/METHOD.md, 6 Ramps and stalls), ns.
const SHORTEST_NS: f64 = 250e6;
/// More than this are a pattern.
const MOST: usize = 3;
/// A freeze exceeds all other waits by this factor; otherwise it is the end of a long tail.
const OUTLIER_RATIO: f64 = 3.0;
/// That it happened is certain, its cause is not: the host, the path or the device.
const CAUSE_UNKNOWN: f64 = 0.7;
/// A controller that did not come back from its reset: the drive, its power states or its slot,
/// none of which is excluded (a choice: below an accusation, and below one of its path).
const OF_A_GROUP: f64 = 0.5;
/// A pause before it from which on it may be a sleep, ns: the shortest timers in use are seconds.
const SLEEP_NS: f64 = 5e9;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traced = analysis.traces.iter().filter_map(|trace| from_events(analysis, trace));
    let averaged =
        analysis.rows_by_listing().into_iter().filter_map(|rows| from_rows(analysis, &rows));
    traced.chain(averaged).chain(given_up(analysis)).collect()
}

/// NVMe drives whose controller did not come back from a reset, though it was on its bus.
fn given_up(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let all = Case::of_disks(&candidates).chain(Case::of_ports(analysis));
    // A guest sees no slot and no drive (`device.stall`).
    let given_up = all.filter(|case| controllers::is_given_up(&case.log) && !case.is_of_a_guest());
    let found = given_up.map(|case| {
        let mut builder = EvidenceBuilder::of(analysis);
        let reading = case.logged(&[MessageKind::Controller]);
        let what = "controller resets and their results in the kernel's log";
        builder.log_lines(what, &reading, Some(Bound::Above(0.0)));
        let mut finding = builder.finding(DETECTOR.verdict, Some(case.device));
        finding.sentence = format!(
            "{} stopped responding and did not recover from its reset: the drive, its power states \
             or its slot; they cannot be distinguished until one is excluded",
            phrase::disk(&analysis.recording.device_of(case.device).name)
        );
        finding.assume(OF_A_GROUP, "one of three possible causes");
        finding.share_is_assumed = true;
        finding.refuted_by = lines(&[
            "the fault follows the drive to another slot, with power states off: then it is the \
             drive",
            "another drive fails the same way in this slot: then it is the slot, its bridge or its \
             power",
        ]);
        finding.next_step = lines(&[
            "disable power states as a test: kernel parameters \
             `nvme_core.default_ps_max_latency_us=0 pcie_aspm=off`; do the errors stop?",
            "check firmware, temperature and spare blocks of the drive: `nvme smart-log`, `nvme \
             error-log`",
            "reseat the drive, or move it to another slot: `lspci -vv` (LnkSta against LnkCap, \
             AER)",
        ]);
        finding
    });
    found.collect()
}

fn from_events(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let stalls = freezes::of_its_own(analysis, trace).filter(|stalls| !freezes::recur(stalls))?;
    let long: Vec<&Episode> =
        stalls.episodes.iter().filter(|episode| episode.length_ns() > SHORTEST_NS).collect();
    let longest = long.iter().max_by(|a, b| a.length_ns().total_cmp(&b.length_ns()))?;
    let others = longest_beside(trace, &long);
    if freezes::apart(&stalls).unwrap_or(long.len()) > MOST
        || longest.length_ns() < OUTLIER_RATIO * others
    {
        return None;
    }
    let first = trace.spans.iter().map(|span| span.issued_ns).min()?;
    let at_s = longest.start_ns.saturating_sub(first) as f64 / 1e9;
    let (n, span_s) = (trace.spans.len() as u64, trace.span_ns() / 1e9);
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    finding.sentence = format!(
        "{} hung {}: nothing completed for {}, {} after the first request, with {} in flight; no \
         pattern yet",
        phrase::disk(&trace.disk),
        times(long.len()),
        phrase::ns(longest.length_ns()),
        seconds(at_s),
        requests(longest.requests),
    );
    finding.assume(CAUSE_UNKNOWN, "observed directly");
    finding.explained_share = stalls.lost_share;
    let computed = analysis.computed(trace.listing, n);
    finding.evidence = vec![
        computed
            .ms("longest time without a completion", longest.length_ns() / 1e6)
            .above((SHORTEST_NS / 1e6).max(stalls.threshold_ns / 1e6)),
        computed.ms("next longest time without a completion", others / 1e6),
        computed.seconds("time before it began", at_s),
        computed.count("requests affected", longest.requests as f64),
        computed.count("occurrences in the time watched", long.len() as f64),
        computed.seconds("time watched", span_s),
        computed.share("share of the lost time", stalls.lost_share),
    ];
    advise(&mut finding, &trace.disk);
    let before = trace.spans.iter().map(|span| span.completed_ns);
    let before = before.filter(|completed| *completed <= longest.start_ns).max();
    if before.is_none_or(|before| longest.start_ns.saturating_sub(before) as f64 > SLEEP_NS) {
        finding
            .refuted_by
            .push("it followed a pause: the device may have woken from sleep".to_string());
    }
    Some(finding)
}

/// The longest latency of a request outside these, ns.
fn longest_beside(trace: &DeviceTrace, hangs: &[&Episode]) -> f64 {
    let met = |span: &&ServiceSpan| {
        hangs.iter().any(|hang| {
            // What piled up in it is served after it, for as long as it lasted.
            let until = hang.end_ns.saturating_add(hang.length_ns() as i64);
            span.completed_ns >= hang.end_ns && span.issued_ns <= until
        })
    };
    let beside = trace.spans.iter().filter(|span| !met(span));
    beside.map(|span| span.latency_ns()).fold(0.0, f64::max)
}

fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    let silences = samples::silences(rows);
    let longest = silences.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let Silence { row, seconds: length, queue, after_s, rows: silent } = *longest;
    if silences.len() > MOST || analysis.traces.iter().any(|trace| trace.disk == row.disk) {
        return None;
    }
    if waits_longer_all_along(rows, length) {
        return None;
    }
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.sentence = format!(
        "{} hung {}: in {} nothing completed for {} or longer, {} after the first, with {} in \
         flight; no pattern yet",
        phrase::disk(&row.disk),
        times(silences.len()),
        if silent == 1 { "one interval".to_string() } else { format!("{silent} intervals") },
        seconds(length),
        seconds(after_s),
        requests(queue.round() as usize),
    );
    finding.assume(CAUSE_UNKNOWN, "observed directly");
    finding.explained_share = 1.0;
    let n = rows.len() as u64;
    let printed = analysis.printed(row.listing, 1);
    let computed = analysis.computed(row.listing, n);
    finding.evidence = vec![
        printed.requests("requests in flight without a completion", queue).above(0.0),
        computed.seconds("time without a completion, at least", length),
        computed.seconds("time before it began", after_s),
        computed.count("occurrences in the time watched", silences.len() as f64),
    ];
    advise(&mut finding, &row.disk);
    Some(finding)
}

/// Rows with completions that show how long requests wait otherwise.
const ROWS: usize = 2;

/// Whether requests wait longer than the silence in every row with completions: then it is not what
/// they wait for.
fn waits_longer_all_along(rows: &[&IntervalSample], silent_s: f64) -> bool {
    let active = rows.iter().filter(|row| row.per_s() > 0.0 && !row.interval.since_boot);
    let waits_ms: Vec<f64> = active.filter_map(|row| row.await_ms()).collect();
    waits_ms.len() >= ROWS && waits_ms.iter().all(|ms| *ms > 1e3 * silent_s)
}

fn times(n: usize) -> String {
    match n {
        1 => "once".to_string(),
        2 => "twice".to_string(),
        n => format!("{n} times"),
    }
}

fn requests(n: usize) -> String {
    if n == 1 { "one request".to_string() } else { format!("{n} requests") }
}

fn seconds(s: f64) -> String {
    phrase::ms(s * 1e3)
}

fn advise(finding: &mut Finding, disk: &str) {
    finding.refuted_by = lines(&[
        "the host or the virtual machine was paused at that moment: other devices stalled too",
        "the tool that watched lost events, or a flush, discard or reset ran",
    ]);
    finding.next_step = phrase::about(
        &[
            "`dmesg --ctime | grep -iE '{disk}|reset|timeout|hung task'`: events at that time",
            "{capture}: does it recur, at regular intervals or after an event?",
            "`smartctl -x {node}`: error log, CRC count, temperature",
        ],
        disk,
    );
    finding.next_step[1] = finding.next_step[1].replace("{capture}", &phrase::capture(disk, 600));
}
