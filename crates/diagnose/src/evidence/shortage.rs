//! Shortages beside disks: facts about CPUs and memory, each compared with a bound.

use iowhy_model::{Bound, Clause, FactKey, Finding, Unit, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{EvidenceBuilder, new_finding};
use crate::evidence::confidence::{self, NOTICEABLE, SHAPE_ALONE};
use crate::evidence::reported_problem::{self, UNKNOWN_SHARE};

/// Prior of software or host, given a reported problem: that of a path (docs/METHOD.md, 11
/// Confidence), because the list has none.
const PRIOR: f64 = 0.2;
/// The factor on the confidence if a device of the input may itself be slow.
const BESIDE_A_SUSPECT: f64 = 0.5;
/// Baseline variants, of 9, that make a device a suspect.
const MOST: u32 = 5;

/// Confidence of a shortage if no measured disk is waited for: below the bar of a verdict.
const NOTE: f64 = 0.25;

/// A fact of the machine, and from what on it is a shortage.
pub(crate) struct Symptom {
    /// The fact.
    pub key: FactKey,
    /// What it counts, in words.
    pub quantity: &'static str,
    /// From here on it counts.
    pub above: f64,
    /// Its unit.
    pub unit: Unit,
}

/// Share of the time in which tasks wait for a CPU, and that the host takes (choices: twice the
/// value of a busy, healthy machine in `vmstat`).
const PRESSURE: f64 = 0.5;
const STEAL: f64 = 0.15;

/// How late a completion may be seen on saturated CPUs, ns: the slice of the fair scheduler, 0.7 ms
/// times 1 + log2 of at most eight processors (kernel/sched/fair.c).
pub(crate) const SLICE_NS: f64 = 2.8e6;
/// Time slices that a wake-up may wait for: two wakers and another task.
pub(crate) const SLICES: f64 = 3.0;

/// What shows that the processors are short.
pub(crate) fn of_processors() -> [Symptom; 3] {
    let steal = "CPU time stolen by the host (steal)";
    let of = |key, quantity, above| Symptom { key, quantity, above, unit: Unit::Share };
    [
        of(key::PRESSURE_AVG10.of("cpu.some"), "time in which tasks waited for a CPU", PRESSURE),
        of(key::VMSTAT_MEAN.of("st"), steal, STEAL),
        of(key::CPU_MEAN.of("steal"), steal, STEAL),
    ]
}

/// Whether an input states any of these shortages.
pub(crate) fn is_stated(analysis: &Analysis, host: Host, symptoms: &[Symptom]) -> bool {
    let about = analysis.machine(host);
    symptoms.iter().any(|symptom| {
        let stated = about.machine_number(symptom.key.clone());
        stated.is_some_and(|(value, _)| value > symptom.above)
    })
}

/// A finding of each input in which any symptom exceeds its bound. Symptoms of one shortage say the
/// same thing: the strongest counts. Where disks were measured and lost no time worth reporting,
/// no trouble is reported.
pub(crate) fn findings(
    analysis: &Analysis,
    verdict: Verdict,
    symptoms: &[Symptom],
) -> Vec<Finding> {
    let mut hosts: Vec<Host> = Vec::new();
    let mut found = Vec::new();
    for place in 0..analysis.recording.listings.len() {
        let host = analysis.host(place);
        if hosts.contains(&host) || !reported_problem::is_felt(analysis, |of, _| of == host) {
            continue;
        }
        hosts.push(host);
        let about = analysis.machine(host);
        let mut builder = EvidenceBuilder::of(analysis);
        let mut strongest = Clause::fixed("no symptom", 0.0);
        let mut only_lately = true;
        for symptom in symptoms {
            let Some((value, reading)) = about.machine_number(symptom.key.clone()) else {
                continue;
            };
            if value > symptom.above {
                let bound = Some(Bound::Above(symptom.above));
                let number = (value, symptom.unit);
                builder.fact(&reading, symptom.quantity, number, bound);
                let clause = confidence::above(symptom.quantity, value, symptom.above);
                if clause.nats > strongest.nats {
                    strongest = clause;
                }
                only_lately &= symptom.key.is_under("pressure") && !lasts(analysis, host, symptom);
            }
        }
        let Some(first) = builder.listings.first() else { continue };
        // What is reported of all inputs is reported once.
        if analysis.host(*first) != host && hosts.contains(&analysis.host(*first)) {
            continue;
        }
        let mut finding = new_finding(verdict, None, builder.listings.clone());
        confidence::believe(&mut finding, PRIOR, [strongest]);
        if has_suspect(analysis, host) {
            finding.scale("a disk of the same input is suspected", BESIDE_A_SUSPECT);
        }
        // Waiting for a CPU is not waiting for I/O: beside responsive disks it is a note.
        if reported_problem::all_answer_well(analysis, host) {
            finding.bound("all disks respond well, so no process waits longer for I/O", NOTE);
        }
        let lately = only_lately && !waits_for_io(analysis, host);
        finding.doubt_if(lately, "pressure over the last 10 s only", SHAPE_ALONE);
        finding.evidence = builder.evidence;
        (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
        found.push(finding);
    }
    found
}

/// Whether pressure was as high over five minutes: ten seconds alone are one moment.
fn lasts(analysis: &Analysis, host: Host, symptom: &Symptom) -> bool {
    let resources = ["cpu.some", "memory.some"];
    let of = resources.into_iter().find(|of| symptom.key == key::PRESSURE_AVG10.of(of));
    let about = analysis.machine(host);
    let long = of.and_then(|of| about.machine_number(key::PRESSURE_AVG300.of(of)));
    long.is_some_and(|(value, _)| value > symptom.above)
}

/// Whether anything shows that I/O is waited for: a disk that was measured, or pressure on I/O. A
/// moment of pressure elsewhere does not show an I/O problem.
fn waits_for_io(analysis: &Analysis, host: Host) -> bool {
    let about = analysis.machine(host);
    let pressed = about.machine_number(key::PRESSURE_AVG10.of("io.some"));
    analysis.lost.iter().any(|(of, _, _)| *of == host)
        || pressed.is_some_and(|(value, _)| value >= NOTICEABLE)
}

/// Whether a device of the input may be slow by itself.
pub(crate) fn has_suspect(analysis: &Analysis, host: Host) -> bool {
    let of_host = |listing: usize| analysis.host(listing) == host;
    let mut traces = analysis.traces.iter().filter(|trace| of_host(trace.listing));
    let mut rows = analysis.intervals.iter().filter(|row| of_host(row.listing));
    let slow = |ms: f64, row: &crate::analysis::samples::IntervalSample| {
        row.s0.votes(|s0| ms > 2.0 * s0).0 >= MOST as usize
    };
    traces.any(|trace| trace.vote.as_ref().is_some_and(|vote| vote.device >= MOST))
        || rows.any(|row| row.effective_ms().is_some_and(|ms| slow(ms, row)))
}
