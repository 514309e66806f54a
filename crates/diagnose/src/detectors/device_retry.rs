//! The disk retries sectors: latencies are whole revolutions of the platter above normal.
//!
//! ## Accuses
//! The disk. A sector that cannot be read at the first attempt is read again when it next passes
//! under the head, one revolution later: 8.33 ms at 7200 rpm. Latencies then form steps of one
//! revolution.
//!
//! ## Why it matters
//! A disk that retries is degrading, long before it reports an error. Averages hide it, and a
//! power-of-two histogram blurs it; individual latencies show it in 20 to 30 I/Os.
//!
//! ## Needs
//! A per-I/O log with latencies to 1 ms or better, of one request size, sequential or on the same
//! track: seeks blur the steps. At least three slow requests. A device that may have a platter: one
//! that completes most of them within 20 us has none, unless it reports one itself.
//!
//! ## Rule
//! Applied to service times, never to latencies (a queue creates its own steps): a step pattern of
//! one revolution above the normal service time is far more likely than no step pattern, at one of
//! the standard spindle speeds, and no free period fits as well. If the speed is known, or was
//! found in one listing of the disk: u > 3.1 over all slow requests and u' > 1.3 without the
//! fullest step. A request lies on a step if it misses it by at most a tenth of a revolution.
//!
//! ## Wrong if
//! A timer of 4 ms causes the step pattern (a 15000-rpm revolution; then the device has no
//! platter), sizes are mixed, or synchronous sequential writes miss a revolution each
//! (`load.missed-revolution`).
//!
//! ## Next step
//! Read the SMART counters, run the long self-test, copy the data, look for vibration and loose
//! mounting, replace the disk if the counters increase.

use std::cell::LazyCell;

use iowhy_model::{Evidence, Finding, Forecast, Level, Op, Unit, Verdict};

use crate::analysis::completeness;
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::groups::Group;
use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::forecast::with_services;
use crate::measures::ladder::{self, Ladder};
use crate::measures::{service, spread};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::DeviceRetry,
    summary: "The disk retries sectors: whole extra revolutions of the platter",
    manual: iowhy_model::manual!("device_retry.rs"),
    needs: Needs {
        level: Level::C,
        sure_from: Level::C,
        seconds: 30,
        what: "the latency of each sequential read",
    },
    explains: &[
        Verdict::DevicePeriodicDelay,
        Verdict::DeviceSlow,
        Verdict::DeviceStall,
        Verdict::LoadLargeIo,
        Verdict::LoadSaturated,
        Verdict::PeerOutlier,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// A revolution of the fastest standard spindle is 4 ms; a resolution no better than a third of it
/// shows no step (docs/METHOD.md, 4 Ladder: refuse buckets wider than T/6; the measure refuses
/// exactly).
const COARSEST_MS: f64 = 1.4;
/// Confidence once the speed is known and the test fires: false alarms at known speed are at most
/// 0.2 % on same-size requests (docs/METHOD.md, 4 Ladder).
const KNOWN_SPEED: f64 = 0.96;
/// And if the device is known to be a spinning disk, timers are no rival.
const KNOWN_PLATTER: f64 = 0.999;
/// From this confidence a speed is also used for other listings of the disk.
const LENDS: f64 = 0.6;
/// The speeds of nearly all disks sold since 2005 (vendors' data sheets): only these are tried as
/// known speeds, because each additional speed doubles the false alarms.
const USUAL_RPM: [f64; 2] = [5400.0, 7200.0];
/// Retries needed to detect a longer step: by chance all of six lose an even number once in 64.
const STEPS: usize = 6;
/// The factor on the confidence then.
const EVERY_OTHER: f64 = 0.2;
/// At most one request in this many begins a batch (a choice).
const FIRSTS_ARE_FEW: usize = 5;
/// Standard speeds are 3 % apart at the nearest (5700 and 5900): 2 % off is another one.
const SAME_SPEED: f64 = 0.02;
/// A ladder this unlikely is not reported.
const MIN_REPORTED: f64 = 0.15;

/// A tenth of what a sequential read costs a healthy disk (0.2 ms, `baseline/classes.rs`; six times
/// its spread below): a device that answers half of its requests sooner has no platter, and the
/// steps of 4 ms are those of a scheduler's clock (CONFIG_HZ=250) on the machine that watched.
const NO_PLATTER_BELOW_MS: f64 = 0.02;

/// How near to a step the base of such a step pattern is, in revolutions (choice).
const THROUGH_ZERO: f64 = 0.05;

/// Services of one kind of request, and the ladder found in them.
struct Case<'a> {
    trace: &'a DeviceTrace,
    kind: String,
    bytes: u32,
    op: Op,
    places: &'a [usize],
    services_ms: Vec<f64>,
    resolution_ms: f64,
    ladder: Option<Ladder>,
}

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let mut cases = cases(analysis);
    share_speed(analysis, &mut cases);
    cases.iter().filter_map(|case| finding(analysis, case)).collect()
}

fn cases<'a>(analysis: &'a Analysis) -> Vec<Case<'a>> {
    let mut cases = Vec::new();
    for trace in analysis.traces.iter().filter(|t| analysis.may_rotate(t.device) && !t.part) {
        let resolution_ms =
            analysis.source(trace.listing).resolution.map_or(0.01, |step| step.ms());
        if resolution_ms > COARSEST_MS {
            continue;
        }
        let unbroken = LazyCell::new(|| completeness::unbroken(&trace.spans));
        for (group, _) in &trace.groups {
            let seeks = group.sequential == Some(false);
            if group.members.len() < EVENTS_NEEDED || seeks || group.bytes == 0 {
                continue;
            }
            let services = |keep: &dyn Fn(usize) -> bool| -> Vec<f64> {
                let kept = group.members.iter().filter(|place| keep(**place));
                kept.filter_map(|place| trace.services_ns.get(*place)).map(|ns| ns / 1e6).collect()
            };
            let all = services(&|_| true);
            if !analysis.rotates(trace.device) && quicker_than_platters(&all) {
                continue;
            }
            let sure = || services(&|place| unbroken.get(place) == Some(&true));
            let ladder = |services_ms: &[f64]| match analysis.stated_rpm() {
                _ if services_ms.len() < EVENTS_NEEDED => None,
                Some(rpm) => ladder::known(services_ms, rpm, resolution_ms),
                None => at_a_usual_speed(services_ms, resolution_ms),
            };
            let mut services_ms = if trace.lossy { sure() } else { all };
            let mut found = ladder(&services_ms);
            if found.as_ref().is_some_and(through_zero) {
                services_ms = sure();
                found = ladder(&services_ms);
            }
            let ladder = found;
            let (kind, bytes, op) = (group.words(), group.bytes, group.op);
            let places = group.members.as_slice();
            cases.push(Case { trace, kind, bytes, op, places, services_ms, resolution_ms, ladder });
        }
    }
    cases
}

/// Whether the base is a step itself: a log that lacks one or two lines shows services of two and
/// three times the base, whatever the base is.
fn through_zero(ladder: &Ladder) -> bool {
    let steps = ladder.base_ms / ladder.revolution_ms;
    steps.round() >= 1.0 && (steps - steps.round()).abs() < THROUGH_ZERO
}

fn quicker_than_platters(services_ms: &[f64]) -> bool {
    let quick = services_ms.iter().filter(|ms| **ms < NO_PLATTER_BELOW_MS).count();
    2 * quick > services_ms.len()
}

/// The ladder at any speed; if it indicates one of the two most common speeds, but with too few
/// I/Os to prove the speed, the result of the test for a known speed.
fn at_a_usual_speed(services_ms: &[f64], resolution_ms: f64) -> Option<Ladder> {
    let free = ladder::fit(services_ms, resolution_ms)?;
    if free.confidence >= LENDS || !USUAL_RPM.contains(&free.standard_rpm) {
        return Some(free);
    }
    let known = ladder::known(services_ms, free.standard_rpm, resolution_ms);
    match known.filter(|known| known.fires() && known.confidence > free.confidence) {
        Some(known) => Some(known),
        None => Some(free),
    }
}

/// A speed found in one listing of a disk is known for its other listings; the same ladder in
/// another one raises the confidence.
fn share_speed(analysis: &Analysis, cases: &mut [Case]) {
    let same = |a: &DeviceTrace, b: &DeviceTrace| {
        a.disk == b.disk && analysis.host(a.listing) == analysis.host(b.listing)
    };
    let sure = |case: &Case| case.ladder.as_ref().map_or(0.0, |ladder| ladder.confidence);
    for place in 0..cases.len() {
        let best = (0..cases.len())
            .filter(|other| same(cases[*other].trace, cases[place].trace))
            .max_by(|a, b| sure(&cases[*a]).total_cmp(&sure(&cases[*b])));
        let Some(best) = best.filter(|best| *best != place) else { continue };
        let (lender, own) = (sure(&cases[best]), sure(&cases[place]));
        if lender < LENDS {
            continue;
        }
        let Some(rpm) = cases[best].ladder.as_ref().map(|ladder| ladder.rpm) else { continue };
        let case = &cases[place];
        let Some(mut known) = ladder::known(&case.services_ms, rpm, case.resolution_ms) else {
            continue;
        };
        if !known.fires() {
            continue;
        }
        known.confidence = (KNOWN_SPEED * lender).max(own).min(lender);
        cases[place].ladder = Some(known);
        if let Some(ladder) = &mut cases[best].ladder {
            ladder.confidence = ladder.confidence.max(KNOWN_SPEED);
        }
    }
}

fn finding(analysis: &Analysis, case: &Case) -> Option<Finding> {
    let ladder = case.ladder.as_ref()?;
    let trace = case.trace;
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    finding.assume(ladder.confidence, "service times fit whole revolutions");
    if ladder.fires() && analysis.stated_rpm().is_some() {
        finding.raise("the speed is reported", KNOWN_SPEED);
    }
    if ladder.fires() && analysis.rotates(trace.device) && finding.confidence() > 0.5 {
        finding.assume(KNOWN_PLATTER, "steps of one revolution on a known spinning disk");
    }
    if only_every_other(ladder) || begins_batches(case, ladder) {
        finding.scale("every other step is empty, or the slow requests start batches", EVERY_OTHER);
    }
    if finding.confidence() < MIN_REPORTED {
        return None;
    }
    let disk = phrase::disk(&trace.disk);
    finding.sentence = format!(
        "{disk} retries sectors: {} cost {} at about {} rpm; without retries each would take {}",
        case.kind,
        revolutions_in_words(ladder),
        nearest_hundred(ladder.rpm),
        phrase::ms(ladder.base_ms)
    );
    finding.subject.group = Some(case.kind.clone());
    finding.explained_share = ladder.explained_share;
    finding.evidence = evidence(analysis, case, ladder);
    finding.evidence.extend(against_the_stated_speed(analysis, case));
    finding.refuted_by = lines(&[
        "the device has no platter: then a timer or its firmware causes the steps",
        "repeated reads of the same sectors are always fast, and the SMART counters 5, 197 and 198 \
         do not increase",
        "neighbouring disks show the same steps: then vibration or another shared cause delays \
         them all",
    ]);
    finding.next_step = lines(&[
        &format!(
            "`smartctl -x {}`: attributes 1, 5, 197, 198 and the error log",
            phrase::node(&trace.disk)
        ),
        "first copy important data from the disk, then `smartctl -t long`",
        "check mounting and vibration: do neighbouring disks also show extra revolutions?",
    ]);
    finding.forecast = forecast(case, ladder);
    Some(finding)
}

fn evidence(analysis: &Analysis, case: &Case, ladder: &Ladder) -> Vec<Evidence> {
    let (n, slow) = (case.services_ms.len() as u64, ladder.slow as u64);
    let on_steps = format!(
        "{} of {slow} slow requests on steps of {}, a revolution",
        ladder.on_steps,
        phrase::ms(ladder.revolution_ms)
    );
    let share_on_steps = ladder.on_steps as f64 / slow.max(1) as f64;
    let estimated = analysis.estimated(case.trace.listing, slow);
    let computed = analysis.computed(case.trace.listing, slow);
    vec![
        computed.share(&on_steps, share_on_steps),
        estimated.of("spindle speed", ladder.rpm, Unit::Rpm),
        computed.of("median extra revolutions", ladder.median_revolutions, Unit::Revolutions),
        estimated.ms("one revolution", ladder.revolution_ms),
        estimated.of("spindle speed, lower 95 % bound", ladder.rpm_low, Unit::Rpm),
        estimated.of("spindle speed, upper 95 % bound", ladder.rpm_high, Unit::Rpm),
        computed.of(
            "minimum extra revolutions",
            f64::from(ladder.min_revolutions),
            Unit::Revolutions,
        ),
        computed.of(
            "maximum extra revolutions",
            f64::from(ladder.max_revolutions),
            Unit::Revolutions,
        ),
        estimated.over(n).ms("service time without retries", ladder.base_ms),
        computed.over(n).share("requests that were retried", ladder.retried_share),
        computed.over(n).share("share of lost time in whole revolutions", ladder.explained_share),
        computed.of("fit to whole revolutions (V-test, u)", ladder.u, Unit::Sigma).above(3.1),
        computed.of("fit without the fullest step (u')", ladder.u_prime, Unit::Sigma).above(1.3),
        estimated.of("likelihood ratio step pattern/no step pattern", ladder.llr, Unit::Nats),
        estimated.count("probability without a step pattern", ladder.chance),
    ]
}

/// The speed the latencies fit by themselves, if it is another than the user stated.
fn against_the_stated_speed(analysis: &Analysis, case: &Case) -> Option<Evidence> {
    let stated = analysis.stated_rpm()?;
    let free = ladder::fit(&case.services_ms, case.resolution_ms)?;
    let differs = (free.rpm / stated - 1.0).abs() > SAME_SPEED && free.confidence >= MIN_REPORTED;
    let what = format!("contradiction: the speed that fits best, not the reported {stated:.0} rpm");
    differs.then(|| {
        analysis.estimated(case.trace.listing, free.slow as u64).of(&what, free.rpm, Unit::Rpm)
    })
}

/// Whether all slow requests lost two, four, six revolutions and none an odd number (or likewise by
/// threes): then the step is longer than a revolution, and no platter spins that slowly.
fn only_every_other(ladder: &Ladder) -> bool {
    let lost: Vec<u32> =
        ladder.revolutions.iter().copied().filter(|revolutions| *revolutions > 0).collect();
    lost.len() >= STEPS
        && [2, 3].iter().any(|step| lost.iter().all(|revolutions| revolutions % step == 0))
}

/// Whether most requests with lost revolutions were the first of a batch, on a device that mostly
/// has the next request waiting: a seek and rotation explain them.
fn begins_batches(case: &Case, ladder: &Ladder) -> bool {
    let spans = &case.trace.spans;
    let begins = |place: usize| {
        let before = place.checked_sub(1).and_then(|before| spans.get(before));
        spans
            .get(place)
            .zip(before)
            .is_none_or(|(span, before)| span.issued_ns >= before.completed_ns)
    };
    let lost = |place: &&usize| {
        let ms = case.trace.services_ns.get(**place).map_or(0.0, |ns| ns / 1e6);
        ms > ladder.base_ms + ladder.revolution_ms / 2.0
    };
    let firsts = case.places.iter().filter(|place| begins(**place)).count();
    let retried: Vec<&usize> = case.places.iter().filter(lost).collect();
    let of_firsts = retried.iter().filter(|place| begins(***place)).count();
    FIRSTS_ARE_FEW * firsts < case.places.len() && 3 * of_firsts > 2 * retried.len()
}

/// The service times without the lost revolutions, and without the waits for them. A spinning disk
/// has one arm and serves one request after the other, whatever its assumed class.
fn forecast(case: &Case, ladder: &Ladder) -> Option<Forecast> {
    if case.op != Op::Read {
        return None;
    }
    let mut services = service::services(&case.trace.spans, 1);
    let of = |places: &[usize]| -> Vec<f64> {
        places.iter().filter_map(|place| services.get(*place)).copied().collect()
    };
    let base_ns = spread::half_sample_mode(&of(case.places))?.min(ladder.base_ms * 1e6);
    let revolution_ns = ladder.revolution_ms * 1e6;
    // Reads of equal size without neighbours in the log count as random, unless most of them take
    // less than half a revolution more.
    let alike = |group: &Group| {
        let same = (group.op, group.bytes) == (case.op, case.bytes);
        let middle = || spread::median(&of(&group.members));
        same && middle().is_some_and(|ns| ns < base_ns + revolution_ns / 2.0)
    };
    let groups = case.trace.groups.iter().map(|(group, _)| group).filter(|group| alike(group));
    let alike: Vec<usize> = groups.flat_map(|group| group.members.iter().copied()).collect();
    for place in case.places.iter().chain(&alike) {
        if let Some(service) = services.get_mut(*place) {
            let revolutions = ((*service - base_ns) / revolution_ns).round().max(0.0);
            *service = (*service - revolutions * revolution_ns).max(service.min(base_ns));
        }
    }
    let what = format!(
        "no revolution is lost, with the same {} reads",
        phrase::bytes(f64::from(case.bytes))
    );
    with_services(case.trace, &services, 1, what)
}

fn revolutions_in_words(ladder: &Ladder) -> String {
    if ladder.max_revolutions == 1 {
        return "one extra revolution".to_string();
    }
    if ladder.min_revolutions == ladder.max_revolutions {
        return format!("{} extra revolutions", ladder.max_revolutions);
    }
    let median = phrase::digits(ladder.median_revolutions);
    if ladder.retried_share > 0.99 {
        format!(
            "{} to {} extra revolutions (median {median})",
            ladder.min_revolutions, ladder.max_revolutions
        )
    } else {
        format!("up to {} extra revolutions (median {median} where any)", ladder.max_revolutions)
    }
}

/// 7203 is reported as 7200: the sentence names the class of spindle, the evidence the fit.
fn nearest_hundred(rpm: f64) -> String {
    format!("{:.0}", (rpm / 100.0).round() * 100.0)
}
