//! A device's own freezes: a pattern for `device.stall`, an event for `device.hang`.

use iowhy_model::key;

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::measures::spread;
use crate::measures::stall::{self, Stalls};

/// Fewest freezes of a pattern, and their share of the busy time (docs/METHOD.md, 6 Ramps and
/// stalls).
pub(crate) const EPISODES: usize = 2;
/// See [`EPISODES`].
pub(crate) const BUSY_SHARE: f64 = 0.05;
/// Most requests must be fast, or the device is slow and does not stall: median service within
/// three healthy ones, the replay's bound of health.
const HEALTHY_RATIO: f64 = 3.0;
/// Episodes without a fast request in between are one slow interval: those of a device that freezes
/// are mostly separate.
const UNBROKEN: f64 = 0.5;
/// A freeze of at least this length is not a slow request, ns; and this many are a pattern
/// (choices).
const UNDOUBTED_NS: f64 = 1e9;
const APART: usize = 3;
/// Share of lost events up to which a silence is still the device's: of a stall's many requests
/// most are then seen. And what is in flight when a trace begins or ends.
const LOST: f64 = 0.05;
const AT_THE_EDGES: f64 = 2.0;
/// Share of processor time stolen by the host from which on a gap may be due to the guest itself (a
/// guest that is not run completes nothing, whatever the device does).
const STEAL: f64 = 0.05;

/// The freezes of a device whose other requests are fast; `None` if there is none, the host
/// stood still, or too many events were lost to decide it.
pub(crate) fn of_its_own(analysis: &Analysis, trace: &DeviceTrace) -> Option<Stalls> {
    let lost = analysis.source(trace.listing).lost() as f64;
    let seen = trace.spans.len();
    if seen < EVENTS_NEEDED || lost > LOST * seen as f64 + AT_THE_EDGES {
        return None;
    }
    // In a partial log, silences may be unlisted requests.
    if trace.part || trace.stalls_with_others || is_stolen(analysis, trace) {
        return None;
    }
    let s0_ns = trace.slow_end_ns();
    let stalls = stall::stalls(&trace.spans, s0_ns)?;
    (spread::median(&trace.services_ns)? < HEALTHY_RATIO * s0_ns).then_some(stalls)
}

/// Whether they are a pattern.
pub(crate) fn recur(stalls: &Stalls) -> bool {
    stalls.episodes.len() >= EPISODES
        && stalls.busy_share > BUSY_SHARE
        && (stalls.unbroken < UNBROKEN || apart(stalls).is_some_and(|times| times > APART))
}

/// How many times a device froze, if every freeze was too long to be a slow request: those
/// that follow each other without a fast request between count once.
pub(crate) fn apart(stalls: &Stalls) -> Option<usize> {
    let long = stalls.episodes.iter().all(|episode| episode.length_ns() > UNDOUBTED_NS);
    let times = stalls.episodes.len() as f64 * (1.0 - stalls.unbroken);
    long.then_some(times.ceil() as usize)
}

/// The freezes of a device that freezes occasionally.
pub(crate) fn now_and_then(analysis: &Analysis, trace: &DeviceTrace) -> Option<Stalls> {
    of_its_own(analysis, trace).filter(recur)
}

/// Whether the host took the processors away while this was watched.
fn is_stolen(analysis: &Analysis, trace: &DeviceTrace) -> bool {
    let about = analysis.about(trace.listing, &trace.disk);
    [key::VMSTAT_MEAN.of("st"), key::VMSTAT_MAX.of("st")]
        .into_iter()
        .any(|key| about.machine_number(key).is_some_and(|(steal, _)| steal > STEAL))
}
