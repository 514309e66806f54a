//! Whether a control group, and not the device, limited the rate of a run.

use iowhy_model::Op;

use crate::engine::Run;
use crate::job::{Job, Load};
use crate::limits::Limit;

/// A run that a limit throttled.
#[derive(Clone, PartialEq, Debug)]
pub struct LimitedRun {
    /// The limit.
    pub limit: Limit,
    /// I/Os done per second.
    pub per_s: f64,
    /// What was done per second of that which is limited: I/Os or bytes.
    pub moved_per_s: f64,
    /// The requested rate, in an open loop.
    pub asked_per_s: Option<f64>,
    /// I/Os done.
    pub n: u64,
    /// Mean latency from the moment an I/O was due, ms.
    pub caller_ms: f64,
    /// Mean latency of the device itself by the kernel's counters, which begin after the limit.
    pub device_ms: Option<f64>,
}

/// How near its limit a throttled rate is. The kernel grants a limit in slices of a tenth of a
/// second on flash and half a second elsewhere (`block/blk-throttle.c`, DFL_THROTL_SLICE), and a
/// run of seconds begins with a full one.
const TOLERANCE: f64 = 0.05;
/// If the caller waits this many times longer than the device works, it waits before the device.
const WAITS_BEFORE: f64 = 2.0;

/// The limit that throttled the run, if any: its rate equals the limit, and the wait was before the
/// device.
pub(crate) fn limited(job: &Job, run: &Run, limits: &[Limit]) -> Option<LimitedRun> {
    if job.plan.is_some() {
        // Its I/Os differ in size and come at no steady rate.
        return None;
    }
    let per_s = run.per_s()?;
    let caller_ms = run.latency.mean_ns()? / 1e6;
    let device_ms = run.counted.filter(|counted| counted.ios > 0).map(|counted| counted.mean_ms());
    let asked_per_s = match job.load {
        Load::Closed { .. } | Load::Planned { .. } => None,
        Load::Open { per_s, .. } => Some(per_s),
    };
    let waits = device_ms.is_none_or(|device_ms| caller_ms > WAITS_BEFORE * device_ms);
    // A run that requests less than the limit and gets it is not throttled.
    let wants_more = asked_per_s.is_none_or(|asked| asked > per_s * (1.0 + TOLERANCE));
    let moved =
        |limit: &Limit| per_s * if limit.kind.is_of_bytes() { f64::from(job.bytes) } else { 1.0 };
    let limit = limits.iter().find(|limit| {
        let op = if job.op == Op::Write { Op::Write } else { Op::Read };
        let off = moved(limit) / limit.per_s - 1.0;
        job.reads.is_none() && limit.kind.op() == Some(op) && off.abs() <= TOLERANCE
    })?;
    (waits && wants_more).then(|| LimitedRun {
        limit: limit.clone(),
        per_s,
        moved_per_s: moved(limit),
        asked_per_s,
        n: run.latency.n,
        caller_ms,
        device_ms,
    })
}
