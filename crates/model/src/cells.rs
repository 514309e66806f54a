//! Counts of all I/Os for pictures, when only some I/Os are kept for a verdict.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::{DeviceId, Distribution, Event, Name, Op};

/// Slowest I/Os kept of a listing.
const SLOWEST: usize = 10_000;

/// All I/Os of a listing that passed a filter, counted while they were emitted
/// ([`Recording::keep_cells`]).
#[derive(Clone, PartialEq, Debug)]
pub struct Cells {
    /// Per device, operation, layer and stage: the longest stage of each I/O over time, its other
    /// stages in one.
    pub distributions: Vec<Distribution>,
    /// The slowest of them, and who waited.
    pub singles: SingleIos,
}

/// Details of single I/Os: the slowest ones, and the time waited by each process, cgroup and file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SingleIos {
    /// The slowest 10,000 and up to as many others, unsorted.
    pub slowest: Vec<Event>,
    /// I/Os of each process and their summed latency in ns; `None` for I/Os without a process.
    pub processes: Waiters,
    /// The same for each control group.
    pub cgroups: Waiters,
    /// The same for each file.
    pub files: Waiters,
}

/// I/Os and their summed latency in ns, by device, operation and waiter.
pub type Waiters = HashMap<(DeviceId, Op, Option<Name>), (u64, f64)>;

impl SingleIos {
    /// Adds an I/O; one without a latency adds no waiting time.
    pub(crate) fn take(&mut self, event: &Event) {
        let Some((_, latency)) = event.longest() else { return };
        for (waiters, name) in [
            (&mut self.processes, event.comm),
            (&mut self.cgroups, event.cgroup),
            (&mut self.files, event.file),
        ] {
            let sum = waiters.entry((event.device, event.op, name)).or_default();
            *sum = (sum.0 + 1, sum.1 + latency.ns() as f64);
        }
        self.slowest.push(*event);
        if self.slowest.len() >= 2 * SLOWEST {
            let slowest = |event: &Event| Reverse(event.longest().map(|(_, latency)| latency));
            self.slowest.select_nth_unstable_by_key(SLOWEST, slowest);
            self.slowest.truncate(SLOWEST);
        }
    }
}
