//! Selects I/Os.

use crate::{DeviceId, Distribution, Event, Flags, Name, Nanos, Op};

/// Which I/Os to select; everything by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Only these devices; all if empty.
    pub devices: Vec<DeviceId>,
    /// Only these operations; all if empty.
    pub ops: Vec<Op>,
    /// Only requests of this many bytes, from and to, both inclusive.
    pub bytes: Option<(u32, u32)>,
    /// Only requests that begin in these sectors of 512 bytes, from the first to the last.
    pub sectors: Option<(u64, u64)>,
    /// Only requests with all of these flags.
    pub with: Flags,
    /// Only requests with none of these.
    pub without: Flags,
    /// Only this process.
    pub pid: Option<u32>,
    /// Only processes of this name.
    pub comm: Option<Name>,
    /// Only I/Os charged to this control group.
    pub cgroup: Option<Name>,
    /// Only latencies strictly above this.
    pub over: Option<Nanos>,
}

/// Every flag by itself.
const FLAGS: [Flags; 5] = [Flags::SYNC, Flags::META, Flags::READAHEAD, Flags::FUA, Flags::PREFLUSH];

impl Filter {
    /// Whether a device passes.
    pub fn device(&self, device: DeviceId) -> bool {
        self.devices.is_empty() || self.devices.contains(&device)
    }

    /// Whether an operation passes; an unknown one (a source that mixes them) does.
    pub fn op(&self, op: Option<Op>) -> bool {
        self.ops.is_empty() || op.is_none_or(|op| self.ops.contains(&op))
    }

    /// Whether it selects by something that only single I/Os have; few histograms can be filtered
    /// so.
    pub fn per_event(&self) -> bool {
        self.bytes.is_some() || self.asks_more_than_size()
    }

    /// Whether every I/O of the devices passes.
    pub fn is_open(&self) -> bool {
        self.ops.is_empty() && !self.per_event()
    }

    fn asks_more_than_size(&self) -> bool {
        self.pid.is_some()
            || self.sectors.is_some()
            || self.comm.is_some()
            || self.cgroup.is_some()
            || self.over.is_some()
            || self.with != Flags::default()
            || self.without != Flags::default()
    }

    /// Whether a histogram passes as a whole; `None` if that needs its single I/Os.
    pub fn distribution(&self, known: &Distribution) -> Option<bool> {
        if !self.device(known.device) || !self.op(known.op) {
            return Some(false);
        }
        let fits = |(low, high)| known.bytes.map(|bytes| (low..=high).contains(&bytes));
        match self.bytes.map_or(Some(true), fits) {
            Some(true) if self.asks_more_than_size() => None,
            known => known,
        }
    }

    /// Whether an event passes.
    pub fn event(&self, event: &Event) -> bool {
        self.device(event.device)
            && self.op(Some(event.op))
            && self.bytes.is_none_or(|(low, high)| {
                event.bytes.is_some_and(|bytes| (low..=high).contains(&bytes))
            })
            && self.sectors.is_none_or(|(first, last)| {
                event.sector.is_some_and(|sector| (first..=last).contains(&sector))
            })
            && self.pid.is_none_or(|pid| event.pid == Some(pid))
            && self.comm.is_none_or(|comm| event.comm == Some(comm))
            && self.cgroup.is_none_or(|cgroup| event.cgroup == Some(cgroup))
            && event.flags.has(self.with)
            && !FLAGS.iter().any(|flag| self.without.has(*flag) && event.flags.has(*flag))
            && self
                .over
                .is_none_or(|over| event.longest().is_some_and(|(_, latency)| latency > over))
    }
}
