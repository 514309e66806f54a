//! What speaks for storage that is well where no I/O was timed: a machine in which nobody waits for
//! I/O.

use std::collections::BTreeSet;

use iowhy_model::{Bound, FactKey, Finding, Layer, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::detector::RankedFindings;
use crate::evidence::builder::{EvidenceBuilder, lines, new_finding};
use crate::evidence::quick_programs;
use crate::evidence::unaccused;
use crate::phrase;

/// Reports of `vmstat` from which on their mean is one, and up to which nobody waits: tasks blocked
/// in the kernel, a share of iowait, bytes swapped per second (choices: a machine that is well
/// has a task in a short wait now and then).
const REPORTS: f64 = 4.0;
const BLOCKED: f64 = 0.25;
const IOWAIT: f64 = 0.05;
const SWAPPED: f64 = 4096.0;
/// Bytes per second read or written from which on somebody may wait for asynchronous I/O, which
/// blocks no task (a choice).
const MOVED: f64 = 20e6;
/// What that is worth: an idle moment looks the same.
const NOBODY_WAITS: f64 = 0.70;
/// Another cause from this confidence on is looked at first.
const SUSPECTED: f64 = 0.30;

/// The clean bills of all inputs of which no disk was timed.
pub fn findings(analysis: &Analysis, ranked: &RankedFindings) -> Vec<Finding> {
    let mut inputs: BTreeSet<&str> = analysis.inputs().into_iter().collect();
    for place in (0..analysis.recording.listings.len()).filter(|place| is_timed(analysis, *place)) {
        inputs.remove(analysis.input(place));
    }
    for known in ranked.findings.iter().filter(|known| accuses(known)) {
        known.subject.listings.iter().for_each(|place| {
            inputs.remove(analysis.input(*place));
        });
    }
    inputs.retain(|input| unaccused::unread(analysis, input).is_none());
    let bills = inputs.into_iter().filter_map(|input| {
        nobody_waits(analysis, input).or_else(|| quick_programs::nothing_slow(analysis, input))
    });
    bills.collect()
}

/// Whether I/O of disks was timed in a listing: then that is judged.
fn is_timed(analysis: &Analysis, place: usize) -> bool {
    let listing = analysis.listing(place);
    listing.events.iter().any(|event| event.layer == Layer::Block)
        || listing.intervals.iter().any(|row| row.layer == Layer::Block)
        || listing.distributions.iter().any(|one| one.layer == Layer::Block)
}

/// Whether a cause must be looked at first; the queue that a test makes for itself is none.
fn accuses(known: &Finding) -> bool {
    let own_queue = matches!(known.verdict, Verdict::LoadSaturated | Verdict::LoadLargeIo);
    !known.verdict.accuses_nobody() && !own_queue && known.confidence() > SUSPECTED
}

/// No task was blocked, no processor waited, nothing was swapped.
fn nobody_waits(analysis: &Analysis, input: &str) -> Option<Finding> {
    let about = analysis.facts.about(Some(input), "");
    let number = |key: FactKey| about.machine_number(key);
    let (reports, _) = number(key::VMSTAT_INTERVALS).filter(|(n, _)| *n >= REPORTS)?;
    let blocked = number(key::VMSTAT_MEAN.of("b")).filter(|(n, _)| *n <= BLOCKED)?;
    let iowait = number(key::VMSTAT_MEAN.of("wa")).filter(|(share, _)| *share <= IOWAIT)?;
    let beyond = |name: &'static str, most: f64| {
        number(key::VMSTAT_MEAN.of(name)).is_some_and(|(n, _)| n > most)
    };
    let swaps = beyond("si", SWAPPED) || beyond("so", SWAPPED);
    if swaps || beyond("bi", MOVED) || beyond("bo", MOVED) {
        return None;
    }
    let mut builder = EvidenceBuilder::default();
    let reported = (blocked.0, Unit::Count);
    let bound = |most: f64| Some(Bound::Below(most));
    builder.fact(analysis, &blocked.1, "mean of blocked tasks (b)", reported, bound(BLOCKED));
    let share = (iowait.0, Unit::Share);
    builder.fact(analysis, &iowait.1, "mean iowait (wa)", share, bound(IOWAIT));
    let mut finding = new_finding(Verdict::Healthy, None, builder.listings.clone());
    finding.sentence = format!(
        "nobody waits for I/O: over {} {} tasks were blocked on average, and the CPUs waited for \
         I/O {} of the time",
        phrase::count(reports, "report(s)"),
        phrase::digits(blocked.0),
        phrase::percent(iowait.0)
    );
    if let Some((runnable, reading)) = number(key::VMSTAT_MEAN.of("r")) {
        let runnable = (runnable, Unit::Count);
        builder.fact(analysis, &reading, "mean of runnable tasks (r)", runnable, None);
    }
    finding.evidence = builder.evidence;
    finding.assume(NOBODY_WAITS, "no task was blocked on I/O while the reports were made");
    (finding.explained_share, finding.share_is_assumed) = (1.0, true);
    finding.refuted_by = lines(&[
        "the problem did not occur while `vmstat` ran",
        "the slow program waits in another way: for a server, a lock, or an asynchronous request",
    ]);
    finding.next_step = lines(&[
        "`iowhy why --for 60s` while it is slow: adds the latency of each I/O",
        "look above the block layer: CPU, locks, memory, network",
    ]);
    Some(finding)
}
