//! What a probe found out of itself, as facts: how much of its latencies the machine's CPUs made, whole
//! revolutions, the limit that held it. Whoever judges its I/Os, now or from a kept capture, has
//! them by these.

use iowhy_model::{FactKey, FactValue, LimitKind, Nanos, key};

use crate::outcome::Outcome;
use crate::rate_limit::LimitedRun;
use crate::revolutions::Revolutions;
use crate::session::Own;

/// Where a fact was read, if the probe measured it.
const MEASURED: &str = "probe";

type StatedFact = (FactKey, FactValue, String);

/// The facts of a probe.
pub fn of(own: &Own, outcome: &Outcome) -> Vec<StatedFact> {
    let measured = |key, value| (key, value, MEASURED.to_string());
    let mut known = vec![
        measured(key::PROBE_IOS, FactValue::Count(own.n)),
        measured(key::PROBE_CPU_SHORT, FactValue::Flag(own.caution().is_some())),
    ];
    if let Some(share) = own.without_cpu() {
        known.push(measured(key::PROBE_NO_CPU, FactValue::Share(share)));
    }
    if let Some(rpm) = outcome.rpm {
        known.push(measured(key::PROBE_RPM, FactValue::Number(rpm)));
    }
    let revolutions = outcome.missed.iter().flat_map(revolutions);
    known.extend(revolutions.map(|(key, value)| measured(key, value)));
    known.extend(own.held.iter().flat_map(limit));
    known
}

fn revolutions(missed: &Revolutions) -> [(FactKey, FactValue); 4] {
    [
        (key::PROBE_REVOLUTION, length(missed.revolution_ms)),
        (key::PROBE_REVOLUTION_IOS, FactValue::Count(missed.n)),
        (key::PROBE_REVOLUTION_MEAN, length(missed.mean_ms)),
        (key::PROBE_REVOLUTION_SHARE, FactValue::Share(missed.share)),
    ]
}

fn limit(held: &LimitedRun) -> Vec<StatedFact> {
    let rate = |per_s| match held.limit.kind.is_of_bytes() {
        true => FactValue::BytesPerSecond(per_s),
        false => FactValue::PerSecond(per_s),
    };
    let file = held.limit.file.display().to_string();
    let kind: LimitKind = held.limit.kind;
    let mut known = vec![
        (key::PROBE_LIMIT, FactValue::Text(kind.name().to_string()), file.clone()),
        (key::PROBE_LIMIT_BOUND, rate(held.limit.per_s), file),
    ];
    let more = [
        Some((key::PROBE_LIMIT_DONE, rate(held.moved_per_s))),
        Some((key::PROBE_LIMIT_IOS, FactValue::Count(held.n))),
        Some((key::PROBE_LIMIT_IOPS, FactValue::PerSecond(held.per_s))),
        Some((key::PROBE_LIMIT_CALLER, length(held.caller_ms))),
        held.asked_per_s.map(|asked| (key::PROBE_LIMIT_ASKED, FactValue::PerSecond(asked))),
        held.device_ms.map(|ms| (key::PROBE_LIMIT_DEVICE, length(ms))),
    ];
    known.extend(more.into_iter().flatten().map(|(key, value)| (key, value, MEASURED.to_string())));
    known
}

fn length(ms: f64) -> FactValue {
    FactValue::Duration(Nanos::from_ms(ms))
}
