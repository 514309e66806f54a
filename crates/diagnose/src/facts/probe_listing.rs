//! A probe's own facts: its I/Os are its own load, and it knows more about them than they show.

use iowhy_model::{DeviceId, FactKey, FactValue, LimitKind, Recording, key};

/// A listing that a probe made.
#[derive(Clone, Copy)]
pub(crate) struct ProbeListing<'a> {
    recording: &'a Recording,
    /// The index of its listing.
    pub listing: usize,
    /// What was probed.
    pub device: DeviceId,
    /// I/Os that the probe did.
    pub ios: u64,
}

/// Synchronous writes that each waited whole revolutions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Revolutions {
    /// One revolution, ms.
    pub revolution_ms: f64,
    /// Writes.
    pub n: u64,
    /// Their mean latency, ms.
    pub mean_ms: f64,
    /// Share of them that took whole revolutions.
    pub share: f64,
}

/// A limit of a control group that throttled the probe.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeldBy<'a> {
    /// What it counts.
    pub kind: LimitKind,
    /// The file that reports it.
    pub file: &'a str,
    /// The limit and the measured rate, per second.
    pub bound: f64,
    /// See `bound`.
    pub done: f64,
    /// I/Os done meanwhile, and how many per second.
    pub n: u64,
    /// See `n`.
    pub iops: f64,
    /// The requested rate, if I/Os were started at a rate.
    pub asked: Option<f64>,
    /// Mean latency from the moment an I/O was due, ms.
    pub caller_ms: f64,
    /// Mean latency of the device after the limit, by the kernel's counters, ms.
    pub device_ms: Option<f64>,
}

impl<'a> ProbeListing<'a> {
    /// The probes of a recording.
    pub(crate) fn all(recording: &'a Recording) -> impl Iterator<Item = ProbeListing<'a>> {
        (0..recording.listings.len()).filter_map(|place| ProbeListing::of(recording, place))
    }

    /// The probe that made a listing, if one did.
    pub(crate) fn of(recording: &'a Recording, listing: usize) -> Option<ProbeListing<'a>> {
        let facts = &recording.listings.get(listing)?.facts;
        let ios = facts.iter().rfind(|fact| fact.key == key::PROBE_IOS)?;
        let n = ios.value.number()? as u64;
        Some(ProbeListing { recording, listing, device: ios.device?, ios: n })
    }

    /// Whether the CPUs, not the device, caused part of the latencies.
    pub(crate) fn was_short_of_cpu(&self) -> bool {
        self.value(key::PROBE_CPU_SHORT) == Some(&FactValue::Flag(true))
    }

    /// Share of its time in which the probe was ready and had no CPU.
    pub(crate) fn without_cpu(&self) -> Option<f64> {
        self.number(key::PROBE_NO_CPU)
    }

    /// The spindle speed it measured, revolutions per minute.
    pub(crate) fn rpm(&self) -> Option<f64> {
        self.number(key::PROBE_RPM)
    }

    /// Writes that each waited whole revolutions.
    pub(crate) fn revolutions(&self) -> Option<Revolutions> {
        Some(Revolutions {
            revolution_ms: 1e3 * self.number(key::PROBE_REVOLUTION)?,
            n: self.number(key::PROBE_REVOLUTION_IOS)? as u64,
            mean_ms: 1e3 * self.number(key::PROBE_REVOLUTION_MEAN)?,
            share: self.number(key::PROBE_REVOLUTION_SHARE)?,
        })
    }

    /// The limit that throttled it.
    pub(crate) fn held_by(&self) -> Option<HeldBy<'a>> {
        let fact = self.fact(key::PROBE_LIMIT)?;
        Some(HeldBy {
            kind: LimitKind::named(fact.value.text()?)?,
            file: &fact.read_from,
            bound: self.number(key::PROBE_LIMIT_BOUND)?,
            done: self.number(key::PROBE_LIMIT_DONE)?,
            n: self.number(key::PROBE_LIMIT_IOS)? as u64,
            iops: self.number(key::PROBE_LIMIT_IOPS)?,
            asked: self.number(key::PROBE_LIMIT_ASKED),
            caller_ms: 1e3 * self.number(key::PROBE_LIMIT_CALLER)?,
            device_ms: self.number(key::PROBE_LIMIT_DEVICE).map(|seconds| 1e3 * seconds),
        })
    }

    fn number(&self, key: FactKey) -> Option<f64> {
        self.value(key)?.number()
    }

    fn value(&self, key: FactKey) -> Option<&'a FactValue> {
        self.fact(key).map(|fact| &fact.value)
    }

    fn fact(&self, key: FactKey) -> Option<&'a iowhy_model::Fact> {
        self.recording.listings.get(self.listing)?.facts.iter().rfind(|fact| fact.key == key)
    }
}
