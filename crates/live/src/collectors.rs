//! The list of collectors. Each entry says in which watches that judge (`why`, `top`, a recorder's)
//! it runs beside the I/O; the others are enabled by a command's options.

mod block_trace;
mod dirty_pauses;
mod diskstats;
mod ftrace;
mod fuse_waits;
mod host_facts;
mod mountstats;
mod server_calls;
mod syscalls;
mod uprobe;
mod waits;

pub use block_trace::{BlockTrace, TraceClock, TraceMode, TraceOptions};
pub use dirty_pauses::DirtyPauses;
pub use diskstats::DiskStats;
pub use ftrace::Ftrace;
pub use fuse_waits::FuseWaits;
pub use host_facts::{HostFacts, KernelLog};
pub use mountstats::MountStats;
pub use server_calls::ServerCalls;
pub use syscalls::{CallCount, Syscalls, UnfinishedCall, call_names};
pub use uprobe::{EventCount, Uprobe, UprobeOptions};
pub use waits::{EndedBy, WaitCount, WaitEnd, WaitOptions, Waits, add_ends};

use std::path::Path;

use iowhy_model::manual;

use crate::Collector;

/// An entry of the list of collectors.
#[derive(Clone, Copy, Debug)]
pub struct CollectorEntry {
    /// Its name: that of its file, with hyphens.
    pub name: &'static str,
    /// The first line of its manual.
    pub summary: &'static str,
    /// Its file, whose header is its manual.
    pub manual: &'static str,
    /// Whether it watches this machine beside its I/O.
    pub beside: Beside,
}

/// Makes a collector that has not begun yet.
type Make = fn() -> Box<dyn Collector>;

/// Which watches a collector runs in, beside the I/O.
#[derive(Clone, Copy, Debug)]
pub enum Beside {
    /// In none: it needs an option.
    No,
    /// In a watch with an end: it costs something for every system call of the machine.
    WithAnEnd(Make),
    /// In all, a recorder's among them.
    All(Make),
}

/// Collectors that watch this machine beside its I/O, not begun yet; `all_year` if the watch has no
/// end.
pub fn beside(all_year: bool) -> Vec<Box<dyn Collector>> {
    let made = COLLECTORS.iter().filter_map(|entry| match entry.beside {
        Beside::No => None,
        Beside::WithAnEnd(make) => (!all_year).then_some(make),
        Beside::All(make) => Some(make),
    });
    made.map(|make| make()).collect()
}

/// All collectors, sorted by name.
pub const COLLECTORS: &[CollectorEntry] = &[
    CollectorEntry {
        name: block_trace::NAME,
        summary: "every block request, from its start to its completion, with eBPF",
        manual: manual!("collectors/block_trace.rs"),
        beside: Beside::No,
    },
    CollectorEntry {
        name: dirty_pauses::NAME,
        summary: "programs that the kernel pauses for their dirty pages (dirty throttling), with \
                  eBPF",
        manual: manual!("collectors/dirty_pauses.rs"),
        beside: Beside::All(|| Box::new(DirtyPauses::default())),
    },
    CollectorEntry {
        name: diskstats::NAME,
        summary: "the kernel's own counters of every block device, sampled at intervals",
        manual: manual!("collectors/diskstats.rs"),
        beside: Beside::No,
    },
    CollectorEntry {
        name: ftrace::NAME,
        summary: "every block request, from the kernel's event text (ftrace), if eBPF is refused",
        manual: manual!("collectors/ftrace.rs"),
        beside: Beside::No,
    },
    CollectorEntry {
        name: fuse_waits::NAME,
        summary: "requests that FUSE servers have not answered, and programs that wait for them",
        manual: manual!("collectors/fuse_waits.rs"),
        beside: Beside::All(|| Box::new(FuseWaits::new(Path::new("/")))),
    },
    CollectorEntry {
        name: host_facts::NAME,
        summary: "kernel log, mounts, pressure, limits, temperature, links, stolen time",
        manual: manual!("collectors/host_facts.rs"),
        beside: Beside::All(|| Box::new(HostFacts::new(Path::new("/")))),
    },
    CollectorEntry {
        name: mountstats::NAME,
        summary: "requests of NFS mounts, their round trips, and requests without a reply",
        manual: manual!("collectors/mountstats.rs"),
        beside: Beside::All(|| Box::new(MountStats::new(Path::new("/")))),
    },
    CollectorEntry {
        name: server_calls::NAME,
        summary: "calls on mounts of FUSE, SMB, Ceph, 9p and virtiofs, with eBPF",
        manual: manual!("collectors/server_calls.rs"),
        beside: Beside::WithAnEnd(|| Box::new(ServerCalls::default())),
    },
    CollectorEntry {
        name: syscalls::NAME,
        summary: "I/O system calls and io_uring requests, with eBPF",
        manual: manual!("collectors/syscalls.rs"),
        beside: Beside::No,
    },
    CollectorEntry {
        name: uprobe::NAME,
        summary: "calls of any user-space function, from entry to return, with eBPF",
        manual: manual!("collectors/uprobe.rs"),
        beside: Beside::No,
    },
    CollectorEntry {
        name: waits::NAME,
        summary: "sleep of tasks, with the kernel stack and what ended it, with eBPF",
        manual: manual!("collectors/waits.rs"),
        beside: Beside::No,
    },
];
