//! What a probe found out of itself, as facts: how much of its latencies the machine's CPUs made, whole
//! revolutions, the limit that held it. Whoever judges its I/Os, now or from a kept capture, has
//! them by these.

use iowhy_model::typed::{BytesPerSecond, PerSecond, Share};
use iowhy_model::{FactKey, FactValue, LimitKind, Nanos, typed};

use crate::outcome::Outcome;
use crate::rate_limit::LimitedRun;
use crate::revolutions::Revolutions;
use crate::session::Own;

/// Where a fact was read, if the probe measured it.
const MEASURED: &str = "probe";

type StatedFact = (FactKey, FactValue, String);

/// The facts of a probe.
pub fn of(own: &Own, outcome: &Outcome) -> Vec<StatedFact> {
    let measured = |(key, value)| (key, value, MEASURED.to_string());
    let mut known = vec![
        measured(typed::PROBE_IOS.with(own.n)),
        measured(typed::PROBE_CPU_SHORT.with(own.caution().is_some())),
    ];
    if let Some(share) = own.without_cpu() {
        known.push(measured(typed::PROBE_NO_CPU.with(Share(share))));
    }
    if let Some(rpm) = outcome.rpm {
        known.push(measured(typed::PROBE_RPM.with(rpm)));
    }
    let revolutions = outcome.missed.iter().flat_map(revolutions);
    known.extend(revolutions.map(measured));
    known.extend(own.held.iter().flat_map(limit));
    known
}

fn revolutions(missed: &Revolutions) -> [(FactKey, FactValue); 4] {
    [
        typed::PROBE_REVOLUTION.with(Nanos::from_ms(missed.revolution_ms)),
        typed::PROBE_REVOLUTION_IOS.with(missed.n),
        typed::PROBE_REVOLUTION_MEAN.with(Nanos::from_ms(missed.mean_ms)),
        typed::PROBE_REVOLUTION_SHARE.with(Share(missed.share)),
    ]
}

fn limit(held: &LimitedRun) -> Vec<StatedFact> {
    let rate = |per_s| -> FactValue {
        match held.limit.kind.is_of_bytes() {
            true => BytesPerSecond(per_s).into(),
            false => PerSecond(per_s).into(),
        }
    };
    let file = held.limit.file.display().to_string();
    let kind: LimitKind = held.limit.kind;
    let asked = held.asked_per_s.map(|asked| typed::PROBE_LIMIT_ASKED.with(PerSecond(asked)));
    let device = held.device_ms.map(|ms| typed::PROBE_LIMIT_DEVICE.with(Nanos::from_ms(ms)));
    let of_file = [
        typed::PROBE_LIMIT.with(kind.name()),
        typed::PROBE_LIMIT_BOUND.with(rate(held.limit.per_s)),
    ];
    let measured = [
        typed::PROBE_LIMIT_DONE.with(rate(held.moved_per_s)),
        typed::PROBE_LIMIT_IOS.with(held.n),
        typed::PROBE_LIMIT_IOPS.with(PerSecond(held.per_s)),
        typed::PROBE_LIMIT_CALLER.with(Nanos::from_ms(held.caller_ms)),
    ];
    let measured = measured.into_iter().chain(asked).chain(device);
    let of_file = of_file.into_iter().map(|(key, value)| (key, value, file.clone()));
    of_file.chain(measured.map(|(key, value)| (key, value, MEASURED.to_string()))).collect()
}
