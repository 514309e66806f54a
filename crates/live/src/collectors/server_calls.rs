//! Calls on file systems that a server or another program provides, from entry to return, with
//! eBPF.
//!
//! ## Watches
//! Reads, writes, fsync and related calls, and requests of io_uring, on files of mounts of FUSE,
//! SMB, Ceph, 9p, virtiofs, AFS and Lustre: per mount and second their number, bytes, mean time,
//! and how many have not returned. A call that moves more than 1 MiB counts as one per MiB, because
//! the client divides it into requests. The collector `mountstats` watches NFS.
//!
//! ## Needs
//! Linux 5.8 or later with BTF, and root or `CAP_BPF` with `CAP_PERFMON`. Without, nothing is
//! watched, and the rest of the watch is not affected.
//!
//! ## Costs
//! Nothing without such a mount. With one: about 0.1 microseconds for every system call on the
//! machine.
//!
//! ## Not in this output
//! Calls in progress when the watch starts (`fuse-waits` sees those of FUSE), calls by path
//! (`open`, `stat`), and page faults of mapped files. A call that the page cache serves counts as
//! well, so a mean is below what the server takes. Mounts of other namespaces. Local services with
//! the form of a mount, and programs over disks of this machine: lxcfs, images (squashfuse),
//! mergerfs, gocryptfs.

use std::collections::BTreeMap;

use iowhy_model::{Interval, Layer, Level, Medium, Nanos, Op, Rates, Sampling, Sink, Source, Time};

use super::syscalls::{CallCounters, FileSystems, ONLY_SYSTEMS, operation_of};
use crate::call_latencies::{CallLatency, Callers};
use crate::mount_points::MountPoints;
use crate::{Collector, Error, clock};

/// Its name in the list of collectors.
pub(super) const NAME: &str = "server-calls";

/// Types of file systems that a server provides, or another program (`fuse.` with a name).
const OF_A_SERVER: [&str; 10] =
    ["fuse", "cifs", "smb3", "ceph", "9p", "virtiofs", "afs", "lustre", "beegfs", "orangefs"];
const OF_A_PROGRAM: &str = "fuse.";
/// Programs whose files are on disks of this machine, which the block tracer watches, or are views
/// of it.
const LOCAL: [&str; 15] = [
    "fuse.lxcfs",
    "fuse.portal",
    "fuse.gvfsd-fuse",
    "fuse.snapfuse",
    "fuse.squashfuse",
    "fuse.dwarfs",
    "fuse.mergerfs",
    "fuse.unionfs",
    "fuse.fuse-overlayfs",
    "fuse.bindfs",
    "fuse.encfs",
    "fuse.gocryptfs",
    "fuse.cryfs",
    "fuse.ntfs-3g",
    "fuse.zfs",
];
/// Bytes that one request of a client moves at most: FUSE and SMB divide calls into requests of up
/// to 1 MiB (fs/fuse/fuse_i.h: FUSE_MAX_MAX_PAGES; fs/smb/client: rsize).
const REQUEST_BYTES: f64 = 1_048_576.0;

/// Calls of one mount and operation since the beginning.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Totals {
    calls: u64,
    ns: f64,
    bytes: u64,
}

/// Watches calls on mounts of servers.
#[derive(Default)]
pub struct ServerCalls {
    running: Option<AttachedState>,
}

struct AttachedState {
    counters: CallCounters,
    /// The mount points by the number of their superblock.
    places: BTreeMap<u32, String>,
    known: BTreeMap<(u32, Op), Totals>,
    listing: Option<usize>,
    began: Time,
    read: Time,
}

impl AttachedState {
    fn begin() -> Option<AttachedState> {
        let places: BTreeMap<u32, String> = MountPoints::read()
            .all()
            .filter(|(_, mount)| is_of_a_server(&mount.kind))
            .map(|(number, mount)| (number, mount.place.clone()))
            .take(ONLY_SYSTEMS)
            .collect();
        let numbers: Vec<u32> = places.keys().copied().collect();
        if numbers.is_empty() {
            return None;
        }
        let only = FileSystems::Only(&numbers);
        let counters = CallCounters::attach(&Callers::default(), only).ok()?;
        let (known, began) = (BTreeMap::new(), clock::now());
        Some(AttachedState { counters, places, known, listing: None, began, read: began })
    }

    /// A row for each mount with a call since the last reading, or one in progress.
    fn emit(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let (totals, now) = (totals(&self.counters.spans.read()?), clock::now());
        let (start, length) = (self.read, now - self.read);
        let in_progress = self.counters.in_progress()?;
        let waiting = |number: u32| in_progress.iter().filter(|of| **of == number).count() as u64;
        let before = std::mem::replace(&mut self.known, totals);
        self.read = now;
        if length.ns() <= 0 {
            return Ok(());
        }
        for (number, place) in &self.places {
            let of_mount = self.known.iter().filter(|((of, _), _)| of == number);
            let rates: Vec<(Op, Rates)> = of_mount
                .filter_map(|((_, op), total)| {
                    let was = before.get(&(*number, *op)).copied().unwrap_or_default();
                    Some((*op, rates(*total, was, length)?))
                })
                .collect();
            let in_flight = waiting(*number);
            if rates.is_empty() && in_flight == 0 {
                continue;
            }
            match self.listing {
                Some(listing) => sink.resume(listing),
                None => self.listing = Some(open(self.began, sink)),
            }
            let device = sink.device(place);
            sink.set_medium(device, Medium::Network);
            let mut row = Interval::new(device, Layer::Application);
            (row.start, row.length, row.in_flight) = (Some(start), Some(length), Some(in_flight));
            row.device_ns = mean_ns(&rates);
            row.rates = rates;
            sink.interval(row);
        }
        if let Some(listing) = self.listing {
            sink.resume(listing);
            sink.source().watched = Some(now - self.began);
        }
        Ok(())
    }
}

impl Collector for ServerCalls {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        self.running = AttachedState::begin();
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.running.as_mut().map_or(Ok(()), |running| running.emit(sink))
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        running.emit(sink)?;
        let [no_group, no_start] = running.counters.spans.missed()?;
        if let Some(listing) = running.listing {
            sink.resume(listing);
            sink.lost("calls not counted: too many kinds of call and file", no_group);
            sink.lost("calls not counted: too many in progress at once", no_start);
            sink.end();
        }
        Ok(())
    }
}

/// Whether a server or another program answers for a file system of this type.
fn is_of_a_server(kind: &str) -> bool {
    (OF_A_SERVER.contains(&kind) || kind.starts_with(OF_A_PROGRAM)) && !LOCAL.contains(&kind)
}

fn open(began: Time, sink: &mut dyn Sink) -> usize {
    let mut source = Source::new(NAME, "live", Level::A);
    source.sampling = Sampling::Traced;
    let listing = sink.begin(source);
    clock::add_clock(sink, began);
    listing
}

/// By file system and operation.
fn totals(spans: &[CallLatency]) -> BTreeMap<(u32, Op), Totals> {
    let mut totals: BTreeMap<(u32, Op), Totals> = BTreeMap::new();
    for span in spans {
        let op = operation_of(span.kind).unwrap_or(Op::Other);
        let total = totals.entry((span.system, op)).or_default();
        total.calls += span.histogram.count();
        total.ns += span.histogram.sum_ns.unwrap_or(0.0);
        total.bytes += if op == Op::Flush { 0 } else { span.amount };
    }
    totals
}

/// What was added in an interval; `None` if nothing returned.
fn rates(total: Totals, was: Totals, length: Nanos) -> Option<Rates> {
    let calls = total.calls.saturating_sub(was.calls) as f64;
    if calls <= 0.0 {
        return None;
    }
    let bytes = total.bytes.saturating_sub(was.bytes) as f64;
    let requests = calls * (bytes / calls / REQUEST_BYTES).max(1.0);
    Some(Rates {
        ios_per_s: requests / length.seconds(),
        bytes_per_s: Some(bytes / length.seconds()),
        await_ns: Some((total.ns - was.ns).max(0.0) / requests),
        ..Rates::default()
    })
}

/// Over all operations.
fn mean_ns(rates: &[(Op, Rates)]) -> Option<f64> {
    let requests: f64 = rates.iter().map(|(_, of)| of.ios_per_s).sum();
    let waits = rates.iter().filter_map(|(_, of)| Some(of.ios_per_s * of.await_ns?));
    (requests > 0.0).then(|| waits.sum::<f64>() / requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_programs_are_told_from_disks_and_views_of_this_machine() {
        for kind in ["fuse", "fuse.sshfs", "cifs", "ceph", "virtiofs"] {
            assert!(is_of_a_server(kind), "{kind}");
        }
        for kind in ["ext4", "nfs4", "fuseblk", "fusectl", "fuse.lxcfs", "fuse.portal", ""] {
            assert!(!is_of_a_server(kind), "{kind}");
        }
    }

    #[test]
    fn an_interval_has_what_was_added_and_long_calls_count_by_their_bytes() {
        let was = Totals { calls: 10, ns: 5e6, bytes: 40_960 };
        let second = Nanos(1_000_000_000);
        let small = Totals { calls: 14, ns: 9e6, bytes: 57_344 };
        let found = rates(small, was, second).expect("calls");
        assert_eq!((found.ios_per_s, found.await_ns), (4.0, Some(1e6)));
        assert_eq!(found.bytes_per_s, Some(16_384.0));
        // One call of 8 MiB in 0.8 s: eight requests of 0.1 s.
        let large = Totals { calls: 11, ns: 805e6, bytes: 40_960 + 8 * 1_048_576 };
        let found = rates(large, was, second).expect("a call");
        assert_eq!((found.ios_per_s, found.await_ns), (8.0, Some(1e8)));
        assert_eq!(mean_ns(&[(Op::Read, found)]), Some(1e8));
        assert_eq!(rates(was, was, second), None);
        assert_eq!(mean_ns(&[]), None);
    }
}
