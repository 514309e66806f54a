//! Error recovery reaches a time limit: requests end after exactly 7, 10, 30 or 60 seconds.
//!
//! ## Accuses
//! A drive that retries until a time limit ends it: its own limit for error recovery (SCT ERC), or
//! the kernel's command timeout.
//!
//! ## Why it matters
//! One such request stalls a whole array for as long. If the drive's limit is longer than the
//! kernel's, the kernel resets a drive that was still retrying, and a rebuild that would have
//! worked fails.
//!
//! ## Needs
//! A per-I/O log; SMART (`smartctl -x` prints the drive's limit), `device/timeout` of /sys and the
//! kernel's log make it certain.
//!
//! ## Rule
//! At least two latencies within 5 % of one limit, for the kernel's own command timeout also up to
//! a second later, when its timer expires; and no more others within a factor of two of it. Limits
//! reported by the system are tried first; else 7, 10, 15, 20, 30, 60 s, where at least four
//! requests are needed. Timeouts or medium errors in the kernel's log confirm it.
//!
//! ## Wrong if
//! A program or a network target above or below has its own timeout.
//!
//! ## Next step
//! Set the drive's limit below the kernel's, and find out which sectors it tries to recover.

use iowhy_model::{Bound, Clause, Finding, Level, MessageKind, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{EvidenceBuilder, lines};
use crate::evidence::candidates::{self, FaultCandidate};
use crate::evidence::confidence::{self, PRIOR, SHAPE_ALONE};
use crate::facts::kernel_log::LogLine;
use crate::facts::reading::FactReading;
use crate::measures::pile::{self, Pile};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::DeviceRecovery,
    summary: "Error recovery reaches its time limit",
    manual: iowhy_model::manual!("device_recovery.rs"),
    needs: Needs {
        level: Level::C,
        sure_from: Level::E,
        seconds: 300,
        what: "the latency of each I/O, with `smartctl -j -x`, `device/timeout` and `dmesg`",
    },
    explains: &[
        Verdict::DeviceHang,
        Verdict::DeviceSlow,
        Verdict::DeviceStall,
        Verdict::LoadSaturated,
        Verdict::PeerOutlier,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// Limits tried where none is stated, s: the usual SCT ERC of 7 s, libata's and SCSI's timeouts of
/// error handling and commands (10, 15, 30 s), and what sites set (20, 60 s).
const USUAL_S: [f64; 6] = [7.0, 10.0, 15.0, 20.0, 30.0, 60.0];
/// How much later than its end the kernel notices a command's timeout, s: its timer is rounded up
/// to a power of two of jiffies, 1024 at 1000 Hz and 256 at 250 (block/blk-timeout.c).
const NOTICED_S: f64 = 1.024;
/// Latencies needed in a pile: at a stated limit, and at an assumed one.
const AT_STATED: usize = 2;
const AT_ASSUMED_LIMIT: usize = 4;
const NEAR_LIMIT: &str = "requests within 5 % of the limit";
/// Weight of each, nats.
const STATED: f64 = 1.0;
const LOGGED: f64 = 3.0;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    candidates::candidates(analysis).iter().filter_map(finding).collect()
}

/// A time limit, how late it may be noticed, where it was stated, and its owner.
type Limit<'a> = (f64, f64, Option<(FactReading<'a>, &'static str)>);

fn limits<'a>(candidate: &FaultCandidate<'_, 'a>) -> Vec<Limit<'a>> {
    let about = candidate.about();
    let stated = [
        (key::SMART_SCTERC_READ, 0.0, "the drive's limit for recovering a read"),
        (key::SMART_SCTERC_WRITE, 0.0, "the drive's limit for recovering a write"),
        (key::DEVICE_TIMEOUT, NOTICED_S, "the kernel's command timeout"),
    ];
    let stated = stated.into_iter().filter_map(|(key, late_s, words)| {
        let (value, reading) = about.number(key).filter(|(value, _)| *value > 0.0)?;
        Some((value, late_s, Some((reading, words))))
    });
    let mut limits: Vec<Limit> = stated.collect();
    // Usually reads and writes have the same limit: then it is reported once, as that of reads.
    limits.dedup_by_key(|(limit, _, _)| (*limit * 10.0).round() as i64);
    for usual in USUAL_S {
        if !limits.iter().any(|(known, _, _)| (known / usual - 1.0).abs() < pile::TOLERANCE) {
            limits.push((usual, 0.0, None));
        }
    }
    limits
}

fn finding(candidate: &FaultCandidate) -> Option<Finding> {
    let (trace, listing) = (candidate.trace?, candidate.listing?);
    let latencies_s: Vec<f64> = trace.spans.iter().map(|span| span.latency_ns() / 1e9).collect();
    let (found, late, stated): (Pile, _, _) = limits(candidate)
        .into_iter()
        .filter_map(|(limit_s, late_s, stated)| {
            Some((pile::pile(&latencies_s, limit_s, late_s)?, late_s > 0.0, stated))
        })
        .filter(|(pile, _, _)| pile.members >= AT_STATED)
        .max_by_key(|(pile, _, stated)| (stated.is_some(), pile.members))?;
    let mut builder = EvidenceBuilder::about(candidate);
    let needed = if stated.is_some() { AT_STATED } else { AT_ASSUMED_LIMIT };
    let n = found.members;
    let count = (n as f64, Unit::Count, n);
    let bound = Some(Bound::Above(needed as f64 - 1.0));
    let near = if late { "requests from the limit to one second above" } else { NEAR_LIMIT };
    builder.number(listing, near, count, bound);
    let beside = (found.beside as f64, Unit::Count, latencies_s.len());
    let bound = Some(Bound::Below(n as f64));
    builder.number(listing, "other requests within a factor of two of it", beside, bound);
    let median = (found.ratio * found.limit_s, Unit::Seconds, n);
    builder.number(listing, "median latency of those at the limit", median, None);
    let count = confidence::above("requests at the limit", n as f64, needed as f64 - 0.5);
    builder.clauses = vec![count];
    if let Some((reading, words)) = stated {
        builder.fact(&reading, words, (found.limit_s, Unit::Seconds), None);
        builder.clauses.push(Clause::fixed("a limit reported by the disk", STATED));
    }
    let logged = from_log(candidate, &mut builder);
    builder.clauses.push(Clause::fixed("lines of the kernel's log", logged));
    let mut finding = builder.finding(DETECTOR.verdict, Some(candidate.device));
    builder.believe(&mut finding, PRIOR);
    let proven = logged > 0.0 || stated.is_some() || n >= AT_ASSUMED_LIMIT;
    let why = "neither the log nor the disk confirms a time limit: few requests of similar length";
    finding.doubt_if(!proven, why, SHAPE_ALONE);
    finding.explained_share = found.sum_s * 1e9 / trace.lost_ns().max(1.0);
    finding.sentence = format!(
        "{} requests of {} completed at {}, {}: error recovery reached its time limit",
        n,
        phrase::disk(&candidate.disk),
        phrase::ms(found.limit_s * 1e3),
        stated.map_or("a usual limit", |(_, words)| words)
    );
    finding.refuted_by = lines(&[
        "a program, an array or a network target has a timeout of the same length",
        "the kernel's log has no messages at these moments",
    ]);
    finding.next_step = next_step(&candidate.disk, logged > 0.0);
    Some(finding)
}

/// The kernel's messages about commands that ended this way.
fn from_log(candidate: &FaultCandidate, builder: &mut EvidenceBuilder) -> f64 {
    let about = candidate.about();
    let kinds = [MessageKind::Timeout, MessageKind::Medium, MessageKind::Controller];
    let reading: Vec<&LogLine> = about.log().filter(|line| kinds.contains(&line.kind)).collect();
    let what = "timeouts, resets and medium errors in the kernel's log";
    builder.log_lines(what, &reading, Some(Bound::Above(0.0)));
    if reading.is_empty() { 0.0 } else { LOGGED }
}

fn next_step(disk: &str, logged: bool) -> Vec<String> {
    let steps = [
        "compare `smartctl -l scterc {node}` with `cat /sys/block/{disk}/device/timeout`: the \
         first must be shorter; `smartctl -l scterc,70,70 {node}` sets 7 s",
        "`smartctl -j -x {node} > smart.json; dmesg > dmesg.txt`: which sectors does it try to \
         recover?",
        "copy important data from the disk; replace it if such requests continue",
    ];
    phrase::about(&steps[..if logged { 3 } else { 2 }], disk)
}
