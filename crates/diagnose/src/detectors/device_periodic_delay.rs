//! Delays in equal steps unrelated to a platter: a timer or firmware causes them.
//!
//! ## Accuses
//! A clock somewhere on the path: a timer of the kernel or hypervisor (1, 4 or 10 ms), a throttle
//! with time slices, firmware that paces requests by a fixed quantum.
//!
//! ## Why it matters
//! Equal steps look like a platter that retries, and disks are replaced because of them. A timer is
//! fixed by a setting or by firmware.
//!
//! ## Needs
//! A per-I/O log with a resolution well below the step.
//!
//! ## Rule
//! Service times of one kind of request form a step pattern with a free period between 0.8 ms (0.2
//! ms without a platter) and 22 ms: its log-likelihood ratio without the best step exceeds 8, and
//! at least ten service times are slow. On a device without a platter latencies are also tested,
//! because it serves several requests at once. On a device that may have a platter the period must
//! not be within 1 % of a revolution at any standard speed, nor of a half, third, double or triple
//! of one, and no step pattern of a platter may fit. Random requests of such a device are tested if
//! a quarter of them is faster than any seek; if these are reads, there is no platter. Steps that
//! account for less than a hundredth of the time, or in a queue of five for each request that is
//! served at once, are only suspected.
//!
//! ## Wrong if
//! The device does have a platter, with a non-standard speed; or the log's own clock has this
//! resolution.
//!
//! ## Next step
//! Look for a throttle or timer with that period; compare the firmware with a peer's.

use iowhy_model::{Clause, FELT_PER_S, Finding, Forecast, Level, Op, Unit, Verdict};

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::groups::{Group, too_quick_to_seek};
use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::confidence::{self, PRIOR};
use crate::evidence::forecast::{from_latencies, with_services};
use crate::evidence::shortage;
use crate::measures::replay::Vote;
use crate::measures::steps::{self, Steps};
use crate::measures::{ladder, quantisation, spread};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::DevicePeriodicDelay,
    summary: "Delays in equal steps unrelated to a platter: a timer or firmware",
    manual: iowhy_model::manual!("device_periodic_delay.rs"),
    needs: Needs {
        level: Level::C,
        sure_from: Level::C,
        seconds: 60,
        what: "the latency of each I/O, to 0.1 ms or better",
    },
    explains: &[Verdict::DeviceSlow, Verdict::LoadSaturated, Verdict::LoadWriteback],
    rule: Rule::Detect(detect),
};

/// Kinds of requests looked at, largest first: a clock that ticks shows in the commonest.
const KINDS: usize = 8;
/// Log-likelihood ratio without the best step (docs/METHOD.md, 17 Faults).
const STEP_PATTERN: f64 = 8.0;
/// Slow services needed: below ten recall and precision of step patterns fall (docs/METHOD.md, 4
/// Ladder).
const SLOW: usize = 10;
/// Minimum share of the slow services on a step: by chance three in ten are.
const ON_STEP: f64 = 0.6;
/// Minimum number of occupied steps: a free period fits any two clusters of delays, such as two
/// kinds of freeze. And the lowest of them: a timer fires after one tick or two.
const FILLED: usize = 3;
const LOWEST: i64 = 2;
/// In latencies a queue's first step is a whole step; a clock's is the service without one.
const FIRST_STEP: f64 = 0.6;
/// A ladder of revolutions with this confidence is the better explanation.
const LADDER: f64 = 0.15;
/// Clocks that are known to tick so, ms: kernel timers at HZ 1000, 300, 250 and 100, and the
/// firmware quantum of 250 us with its multiples (Fail-Slow at Scale, FAST 2018).
const TIMERS_MS: [f64; 4] = [1.0, 10.0 / 3.0, 4.0, 10.0];
const QUANTUM_MS: f64 = 0.25;
const PERIOD_TOLERANCE: f64 = 0.01;
/// Shorter steps than any platter's must be whole quanta of firmware: a bus that several large
/// requests share deals them out in even steps too.
const SAME_QUANTA: f64 = 0.02;
/// Share of the wait that is the request's own service; below it a queue is full (a choice: five in
/// line), and batches or a limit then produce even steps.
const MOSTLY_OWN: f64 = 0.2;
/// The longest time slice for which a task waits for a processor, ms: a tick at 250 Hz, and what a
/// guest adds to it (sched(7): slices of 0.7 to 3 ms, which end with a tick).
const SLICE_MS: f64 = 4.6;
/// The longest time to program a page of flash, ms (TLC and QLC data sheets: 0.5 to 2), and the
/// share of writes at which reads wait for them (a choice).
const PROGRAM_MS: f64 = 2.0;
const BESIDE_WRITES: f64 = 0.1;
/// Weight of a known clock.
const KNOWN_CLOCK: f64 = 1.0;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let mut findings = Vec::new();
    for trace in analysis.traces.iter().filter(|trace| !trace.part && !trace.lossy) {
        for (group, _) in trace.groups.iter().take(KINDS) {
            findings.extend(of_group(analysis, trace, group));
        }
    }
    findings
}

fn of_group(analysis: &Analysis, trace: &DeviceTrace, group: &Group) -> Option<Finding> {
    if group.members.len() < EVENTS_NEEDED {
        return None;
    }
    let resolution_ms = analysis.source(trace.listing).resolution.map_or(0.01, |step| step.ms());
    let places = group.members.iter();
    let services_ms: Vec<f64> =
        places.filter_map(|place| trace.services_ns.get(*place)).map(|ns| ns / 1e6).collect();
    // A random read on a platter includes its rotation, so its pattern is not a timer's.
    let may_rotate = analysis.may_rotate(trace.device);
    let seeks = analysis.rotates(trace.device) || !too_quick_to_seek(&services_ms);
    if may_rotate && group.sequential == Some(false) && seeks {
        return None;
    }
    // And a device that reads random sectors this fast has no platter, whatever its name.
    let no_seeks = group.op == Op::Read && group.sequential == Some(false) && !seeks;
    let may_rotate = may_rotate && !no_seeks;
    let shortest_ms =
        if may_rotate { quantisation::SHORTEST_MS } else { quantisation::SHORTEST_FLASH_MS };
    let serial = steps::steps(&services_ms, resolution_ms, shortest_ms).filter(is_step_pattern);
    let parallel =
        if may_rotate { None } else { side_by_side(trace, group, resolution_ms, shortest_ms) };
    let explains = |found: &Steps| found.explained_share;
    let is_serial = serial.as_ref().map(explains) >= parallel.as_ref().map(|(_, p)| explains(p));
    let (services_ms, found) =
        if is_serial { serial.map(|found| (services_ms, found))? } else { parallel? };
    // Only a device stated to be non-rotational may have the period of a revolution: a virtual disk
    // may be on a platter.
    let rules_out = no_seeks || analysis.medium(trace.device).is_some() && !may_rotate;
    if !rules_out && found.near_rpm.is_some() {
        return None;
    }
    let is_ladder =
        || ladder::fit(&services_ms, resolution_ms).is_some_and(|found| found.confidence > LADDER);
    if may_rotate && is_ladder() {
        return None;
    }
    let mut finding = finding(analysis, trace, group, &services_ms, found);
    finding.forecast = forecast(trace, group, &services_ms, found, is_serial);
    Some(finding)
}

/// Whether a step pattern is one beyond doubt.
fn is_step_pattern(found: &Steps) -> bool {
    let (filled, lowest) = found.filled;
    let quanta = found.period_ms / QUANTUM_MS;
    let is_whole = (quanta / quanta.round().max(1.0) - 1.0).abs() < SAME_QUANTA;
    if found.period_ms < quantisation::SHORTEST_MS && !is_whole {
        return false;
    }
    let ticks = filled >= FILLED && lowest <= LOWEST;
    found.without_best > STEP_PATTERN && found.slow >= SLOW && found.on_step >= ON_STEP && ticks
}

/// The same for latencies, as if nothing waited: flash serves several requests at once. A queue
/// would show a step pattern too, but its first step would be one higher.
fn side_by_side(
    trace: &DeviceTrace,
    group: &Group,
    resolution_ms: f64,
    shortest_ms: f64,
) -> Option<(Vec<f64>, Steps)> {
    let places = group.members.iter();
    let latencies_ms: Vec<f64> = places
        .filter_map(|place| trace.spans.get(*place))
        .map(|span| span.latency_ns() / 1e6)
        .collect();
    let found = steps::steps(&latencies_ms, resolution_ms, shortest_ms).filter(is_step_pattern)?;
    (found.base_ms < FIRST_STEP * found.period_ms).then_some((latencies_ms, found))
}

fn finding(
    analysis: &Analysis,
    trace: &DeviceTrace,
    group: &Group,
    services_ms: &[f64],
    found: Steps,
) -> Finding {
    let (n, slow) = (services_ms.len() as u64, found.slow as u64);
    let clock = known_clock(found.period_ms);
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    finding.subject.group = Some(group.words());
    finding.sentence = format!(
        "{slow} of {n} {} of {} are delayed by multiples of {}{}: the steps come from a timer, not \
         from the platter",
        group.words(),
        phrase::disk(&trace.disk),
        phrase::ms(found.period_ms),
        clock.as_ref().map_or(String::new(), |clock| format!(" ({clock})"))
    );
    let computed = analysis.computed(trace.listing, n);
    let estimated = analysis.estimated(trace.listing, slow);
    finding.evidence = vec![
        estimated.ms("step", found.period_ms),
        estimated.over(n).ms("service time without a step", found.base_ms),
        computed.count("requests delayed", slow as f64).above(SLOW as f64 - 1.0),
        estimated
            .of("step pattern without its best step", found.without_best, Unit::Nats)
            .above(STEP_PATTERN)
            .weighs(),
        computed
            .over(slow)
            .share("share of delayed requests on a multiple of the step", found.on_step)
            .above(ON_STEP)
            .weighs(),
        computed.share("share of lost time in whole steps", found.explained_share),
    ];
    let mut clauses = vec![confidence::above("late requests", slow as f64, SLOW as f64)];
    clauses.extend(clock.map(|_| Clause::fixed("step of a known clock", KNOWN_CLOCK)));
    confidence::believe(&mut finding, PRIOR, clauses);
    // A provider's rate limiter releases requests by its own clock.
    let (own, all) = (spread::mean(&trace.services_ns), trace.mean_ns());
    let waits = own.is_some_and(|own| own < MOSTLY_OWN * all);
    let is_dealt = analysis.network_odds(trace.device) > 0.5;
    // Nor can it be distinguished from time slices on a CPU-starved host, if the device is
    // software.
    let host = analysis.host(trace.listing);
    let is_slice = found.period_ms < SLICE_MS
        && shortage::is_stated(analysis, host, &shortage::of_processors());
    // What finds a die of flash programming waits for the page, and for the next one after it:
    // reads, and writes that fill the buffers.
    let writes = trace.spans.iter().filter(|span| span.op == Op::Write).count();
    let is_program = found.period_ms < PROGRAM_MS
        && matches!(group.op, Op::Read | Op::Write)
        && !analysis.rotates(trace.device)
        && writes as f64 > BESIDE_WRITES * trace.spans.len() as f64;
    // Such a small loss is no reason to accuse the device: a busy host also causes two steps in a
    // thousand reads of a fast device.
    let lost_per_s = found.explained_share * trace.lost_ns() / trace.span_ns();
    let is_unfelt = lost_per_s < FELT_PER_S;
    for (stands, why) in [
        (waits, "the queue is full: requests that complete in batches are as evenly apart"),
        (is_dealt, "a provider that admits requests at a fixed rate causes such steps"),
        (is_slice, "the CPU scheduler's time slice causes such steps on a busy host"),
        (is_program, "flash pages programmed one after the other cause such steps"),
        (is_unfelt, "it accounts for less than 1 % of the time: a busy host can cause as much"),
    ] {
        finding.doubt_if(stands, why, SHAPE_ALONE);
    }
    finding.explained_share = found.explained_share;
    finding.refuted_by = lines(&[
        "the device has a platter with a non-standard spindle speed",
        "the clock that wrote the log ticks at this step",
    ]);
    finding.next_step = lines(&[
        &format!(
            "look for a limit or timer of {}: `cat /sys/fs/cgroup/*/io.max`, the hypervisor's \
             throttle, `grep CONFIG_HZ= /boot/config-$(uname -r)`",
            phrase::ms(found.period_ms)
        ),
        "flash: compare the firmware with a peer's, and ask the vendor about pacing",
    ]);
    finding
}

/// A clock that is known to tick so.
fn known_clock(period_ms: f64) -> Option<String> {
    let same = |other: f64| (period_ms / other - 1.0).abs() < PERIOD_TOLERANCE;
    if let Some(timer) = TIMERS_MS.into_iter().find(|timer| same(*timer)) {
        return Some(format!("a timer at {:.0} Hz has this period", 1000.0 / timer));
    }
    let quanta = (period_ms / QUANTUM_MS).round();
    // Beyond a few quanta any period is near a multiple.
    let few = (1.0..=12.0).contains(&quanta);
    (few && same(quanta * QUANTUM_MS)).then(|| format!("{quanta:.0} quanta of 250 µs"))
}

/// The latencies without the steps, and, for a device that serves one request at a time, without
/// the waits for them.
fn forecast(
    trace: &DeviceTrace,
    group: &Group,
    services_ms: &[f64],
    found: Steps,
    is_serial: bool,
) -> Option<Forecast> {
    let without = |service: &f64| {
        let steps = ((service - found.base_ms) / found.period_ms).round().max(0.0);
        1e6 * (service - steps * found.period_ms).max(service.min(found.base_ms))
    };
    let assuming = "nothing delays a request by a whole step".to_string();
    let after: Vec<f64> = services_ms.iter().map(without).collect();
    if !is_serial {
        let now: Vec<f64> = services_ms.iter().map(|ms| ms * 1e6).collect();
        return from_latencies(&now, &after, assuming);
    }
    let mut services = trace.services_ns.clone();
    for (place, after_ns) in group.members.iter().zip(after) {
        if let Some(service) = services.get_mut(*place) {
            *service = after_ns;
        }
    }
    let servers = trace.vote.as_ref().and_then(Vote::middle).map_or(1, |replay| replay.servers);
    with_services(trace, &services, servers, assuming)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_are_known() {
        assert!(known_clock(4.001).unwrap().contains("250 Hz"));
        assert!(known_clock(2.75).unwrap().contains("11 quanta"));
        assert_eq!((known_clock(2.8), known_clock(13.3)), (None, None));
    }
}
