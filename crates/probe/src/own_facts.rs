//! A probe's facts about itself: the CPUs' share of its latencies, whole revolutions, the limit
//! that throttled it. They are available to the judge, now or from a saved capture.

use iowhy_model::typed::{BytesPerSecond, PerSecond, Share};
use iowhy_model::{FactKey, FactValue, LimitKind, Nanos, numbers, typed};

use crate::latencies::Latencies;
use crate::outcome::Outcome;
use crate::rate_limit::LimitedRun;
use crate::revolutions::Revolutions;

/// Where a fact was read, if the probe measured it.
const MEASURED: &str = "probe";

type StatedFact = (FactKey, FactValue, String);

/// The cost of the engine and its own delays.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// I/Os done.
    pub n: u64,
    /// CPU time used by the process, ns.
    pub cpu_ns: u64,
    /// Time its runs took together, ns.
    pub ran_ns: u64,
    /// Sum of all latencies, ns.
    pub latency_ns: u128,
    /// Time the engine was ready to run and had no CPU, ns, where the kernel says.
    pub no_cpu_ns: Option<u64>,
    /// How late the engine was with submitting what was due, open loops only.
    pub late: Latencies,
    /// How the kernel was asked: `io_uring` or `calls`.
    pub way: &'static str,
    /// The longest run limited by a control group.
    pub held: Option<LimitedRun>,
}

/// Share of the time without a CPU, or of all latency that is our own lateness, from which on the
/// machine and not only the device is measured: the variation a rate is known to (kinds/ramp.rs).
const DISTURBS: f64 = 0.05;

impl Own {
    /// Share of its time in which the engine was ready and had no CPU, where the kernel says.
    pub fn without_cpu(&self) -> Option<f64> {
        Some((self.no_cpu_ns? as f64 / self.ran_ns.max(1) as f64).min(1.0))
    }

    /// A caveat: how far the CPUs, not the device, caused the latencies.
    pub fn caution(&self) -> Option<String> {
        let without = self.without_cpu()?;
        let late = self.late.sum_ns as f64 / self.latency_ns.max(1) as f64;
        (without.max(late) > DISTURBS).then(|| {
            format!(
                "Warning: the engine was CPU-starved {} of the time, so these latencies are partly \
                 those of the machine, not of the device",
                numbers::share(without)
            )
        })
    }
}

/// The facts of a probe.
pub(crate) fn of(own: &Own, outcome: &Outcome) -> Vec<StatedFact> {
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
