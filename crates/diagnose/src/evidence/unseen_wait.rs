//! Whether CPUs waited for I/O of disks that are not listed.
//!
//! iowait is the share of CPU time in which a CPU had nothing to do while a task that
//! last ran on it waited for I/O (Documentation/filesystems/proc.rst; kernel/sched/cputime.c). So
//! on average at least that many requests were waited for: 0.6 of the time of one CPU or of all of
//! them is 0.6 requests in flight, or more. Disks with far fewer are not what was waited for:
//! others are, which were left out of the listing, or a server.

use std::collections::BTreeMap;

use iowhy_model::{Layer, key};

use crate::analysis::{Analysis, Host};

/// iowait from which on it is looked at, a share of the processors' time.
const WAITED: f64 = 0.2;
/// Requests in flight on all disks, for each that iowait counts: below half of them
/// others were waited for (a choice: numbers are rounded, and waits are shared).
const SEEN: f64 = 0.5;

/// Whether an input shows that much more was waited for than its disks did.
pub(crate) fn is_unseen(analysis: &Analysis, host: Host) -> bool {
    let mut rows = analysis
        .intervals
        .iter()
        .filter(|row| row.interval.layer == Layer::Block && analysis.host(row.listing) == host)
        .peekable();
    let Some(first) = rows.peek() else { return false };
    let about = analysis.about(first.listing, "");
    let keys = [key::CPU_MEAN.of("iowait"), key::VMSTAT_MEAN.of("wa")];
    // Of several listings of a machine the one that waited most.
    let reported = keys.into_iter().flat_map(|key| about.machine_numbers(key));
    let waited = reported.fold(0.0, f64::max);
    if waited < WAITED {
        return false;
    }
    // Of each disk the row in which most was in flight.
    let mut most: BTreeMap<&str, f64> = BTreeMap::new();
    for row in rows {
        // If a row does not report that, it is unknown. A disk has at least as many in flight
        // as it is busy.
        let Some(queue) = row.interval.queue_len else { return false };
        let in_flight = queue.max(row.interval.busy.unwrap_or(0.0));
        let known = most.entry(&row.disk).or_default();
        *known = known.max(in_flight);
    }
    most.values().sum::<f64>() < SEEN * waited
}
