//! I/O system calls, from entry to return, and io_uring requests, with eBPF.
//!
//! ## Watches
//! `read`, `write`, `pread64`, `pwrite64`, `readv`, `writev`, `preadv`, `preadv2`, `pwritev`,
//! `pwritev2`, `fsync`, `fdatasync`, `sync_file_range`, `sync`, `syncfs`, `io_submit`,
//! `io_getevents`, `io_pgetevents` and `io_uring_enter`, from entry to return; and every request of
//! io_uring from its submission to its completion. They are counted in the kernel, per process,
//! call and kind of file (regular, directory, block device, character device, pipe, socket), with
//! exact sum, minimum and maximum, failures, and the bytes that reading and writing calls moved;
//! with `--by mount` also per file system. Calls on files, directories and block
//! devices that have not returned when the watch ends are listed with their age.
//!
//! ## Needs
//! Linux 5.8 or later with BTF, and root or `CAP_BPF` with `CAP_PERFMON`. io_uring requests are
//! seen since Linux 6.4; before that only the call `io_uring_enter` is.
//!
//! ## Costs
//! About 0.1 microseconds for every system call on the machine, watched or not, and about 0.3 for a
//! counted one; by file system, two more reads of the kernel's memory. Two kilobytes per process,
//! call, kind of file and file system, on each CPU, and 256 for the others.
//!
//! ## Not in this output
//! Calls in progress when the watch starts; those in progress when it ends have no latency yet.
//! Files that are mapped into memory: a page fault is not a call. The process of a call, if there
//! are more than 4096 combinations of process, call, file and file system: later ones are counted
//! for `(others)`, process 0. 32-bit programs use other call numbers and are miscounted. How a wait
//! divides into disk, page cache, locks and scheduler: the block tracer running alongside
//! determines the disk share.

use aya::maps::{HashMap, MapData};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf};
use iowhy_model::Order as _;
use iowhy_model::{Distribution, Layer, Level, Nanos, Op, Sampling, Sink, Source, Stage, Time};

use crate::bpf::{absent, broke, refused};
use crate::btf::KernelTypes;
use crate::call_latencies::{CallLatencies, CallLatency, Callers};
use crate::mount_points::{MountPoint, MountPoints};
use crate::object_names::{Packed, names_of, packed};
use crate::rights::Rights;
use crate::{Collector, Error, clock};

/// Its name in the list of collectors.
pub(super) const NAME: &str = "syscalls";

/// The compiled `bpf/syscalls.bpf.c`.
static OBJECT: Packed = packed!("syscalls");
names_of!($ SYSCALLS);

/// Size of the programs' call table; the kernel's own table is shorter.
const NUMBERS: usize = 512;
/// Set for calls whose first argument is a file; as `OF_FILE` in the programs.
const OF_FILE: u8 = 0x80;
/// Where operations of io_uring begin in the numbering of kinds.
const RING: u32 = 64;

/// A call for which the crate `libc` has no number (the kernel's syscall_64.tbl;
/// asm-generic/unistd.h).
const IO_PGETEVENTS: libc::c_long = if cfg!(target_arch = "x86_64") { 333 } else { 292 };

/// A call: name, number, whether its first argument is a file, operation, whether it returns bytes.
type Call = (&'static str, libc::c_long, bool, Option<Op>, bool);

const CALLS: [Call; 19] = [
    ("fdatasync", libc::SYS_fdatasync, true, Some(Op::Flush), false),
    ("fsync", libc::SYS_fsync, true, Some(Op::Flush), false),
    ("io_getevents", libc::SYS_io_getevents, false, None, false),
    ("io_pgetevents", IO_PGETEVENTS, false, None, false),
    ("io_submit", libc::SYS_io_submit, false, None, false),
    ("io_uring_enter", libc::SYS_io_uring_enter, false, None, false),
    ("pread64", libc::SYS_pread64, true, Some(Op::Read), true),
    ("preadv", libc::SYS_preadv, true, Some(Op::Read), true),
    ("preadv2", libc::SYS_preadv2, true, Some(Op::Read), true),
    ("pwrite64", libc::SYS_pwrite64, true, Some(Op::Write), true),
    ("pwritev", libc::SYS_pwritev, true, Some(Op::Write), true),
    ("pwritev2", libc::SYS_pwritev2, true, Some(Op::Write), true),
    ("read", libc::SYS_read, true, Some(Op::Read), true),
    ("readv", libc::SYS_readv, true, Some(Op::Read), true),
    ("sync", libc::SYS_sync, false, Some(Op::Flush), false),
    ("sync_file_range", libc::SYS_sync_file_range, true, Some(Op::Flush), false),
    ("syncfs", libc::SYS_syncfs, true, Some(Op::Flush), false),
    ("write", libc::SYS_write, true, Some(Op::Write), true),
    ("writev", libc::SYS_writev, true, Some(Op::Write), true),
];

/// The names of the counted calls; io_uring requests begin with `io_uring`.
pub fn call_names() -> Vec<String> {
    let of_ring = (0..=23).filter_map(|number| {
        let (name, op) = ring_operation(number);
        op.map(|_| format!("io_uring {name}"))
    });
    CALLS.iter().map(|(name, ..)| (*name).to_string()).chain(of_ring).collect()
}

/// Calls of one process, one call and one kind of file.
#[derive(Clone, PartialEq, Debug)]
pub struct CallCount {
    /// The process.
    pub pid: u32,
    /// The name of the first thread seen.
    pub comm: String,
    /// The call's name; `io_uring read` and so on for requests in a ring.
    pub call: String,
    /// Its operation, if it has a single one.
    pub op: Option<Op>,
    /// The kind of file, if the call has one.
    pub file: Option<&'static str>,
    /// The mount point of its file system, if requested and known.
    pub mount: Option<MountPoint>,
    /// How long they took.
    pub histogram: iowhy_model::Histogram,
    /// Those that failed.
    pub failed: u64,
    /// Bytes transferred, if the call returns them.
    pub bytes: Option<u64>,
}

/// A call that had not returned when the watch ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnfinishedCall {
    /// The process.
    pub pid: u32,
    /// Its name; empty if it is gone.
    pub comm: String,
    /// The call's name.
    pub call: String,
    /// Its operation, if it has a single one.
    pub op: Option<Op>,
    /// The kind of file.
    pub file: Option<&'static str>,
    /// The mount point of its file system, if requested and known.
    pub mount: Option<MountPoint>,
    /// How long it has been running.
    pub age: Nanos,
}

/// The watcher of system calls.
pub struct Syscalls {
    whom: Callers,
    by_mount: bool,
    running: Option<AttachedState>,
    counts: Vec<CallCount>,
    unfinished: Vec<UnfinishedCall>,
}

/// Words of `struct begun`: the time, kind, process, file system, nothing.
const BEGUN_WORDS: usize = 6;
type Begun = [u32; BEGUN_WORDS];

struct AttachedState {
    counters: CallCounters,
    mounts: MountPoints,
    listing: usize,
    began: Time,
}

/// Attached programs and their tables.
pub(super) struct CallCounters {
    // Dropped first, so that nothing is counted into tables that are being freed.
    programs: Option<Ebpf>,
    pub(super) spans: CallLatencies,
    inside: HashMap<MapData, u32, Begun>,
    in_ring: HashMap<MapData, u64, Begun>,
}

/// What is counted separately.
#[derive(Clone, Copy, Debug)]
pub(super) enum FileSystems<'a> {
    /// Nothing: calls on any file system together.
    Together,
    /// Each file system.
    Each,
    /// Only calls on files of these, each, by the numbers of their superblocks.
    Only(&'a [u32]),
}

/// File systems that [`FileSystems::Only`] has room for; as in the programs.
pub(super) const ONLY_SYSTEMS: usize = 16;

impl Syscalls {
    /// A watcher of these callers that has not begun yet.
    pub fn new(whom: Callers) -> Syscalls {
        let (counts, unfinished) = (Vec::new(), Vec::new());
        Syscalls { whom, by_mount: false, running: None, counts, unfinished }
    }

    /// One that counts separately by file system.
    #[must_use]
    pub fn by_mount(self, by_mount: bool) -> Syscalls {
        Syscalls { by_mount, ..self }
    }

    /// Calls on files that had not returned at the end of the watch, the oldest first.
    pub fn unfinished(&self) -> &[UnfinishedCall] {
        &self.unfinished
    }

    /// Everything counted up to the end of the watch.
    pub fn counts(&self) -> &[CallCount] {
        &self.counts
    }
}

impl Collector for Syscalls {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let systems = if self.by_mount { FileSystems::Each } else { FileSystems::Together };
        let counters = CallCounters::attach(&self.whom, systems)?;
        let mounts = if self.by_mount { MountPoints::read() } else { MountPoints::default() };
        let mut source = Source::new(NAME, "live", Level::B);
        source.sampling = Sampling::Traced;
        source.resolution = Some(Nanos(1));
        let (listing, began) = (sink.begin(source), clock::now());
        self.running = Some(AttachedState { counters, mounts, listing, began });
        Ok(())
    }

    /// Nothing leaves the kernel before the end.
    fn poll(&mut self, _: &mut dyn Sink) -> Result<(), Error> {
        Ok(())
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        running.counters.programs = None;
        let now = clock::now();
        let length = now - running.began;
        if self.by_mount {
            running.mounts.read_again();
        }
        sink.resume(running.listing);
        sink.source().watched = Some(length);
        let mounts = &running.mounts;
        self.counts =
            running.counters.spans.read()?.into_iter().map(|span| named(span, mounts)).collect();
        self.unfinished = running.unfinished(now, &self.counts)?;
        for count in &self.counts {
            let file = count.file.map_or(String::new(), |file| format!(" on {file}"));
            let mount = count.mount.as_ref();
            let mount = mount.map_or(String::new(), |mount| format!(" below {}", mount.place));
            let label = format!("{}{file}{mount} by {}[{}]", count.call, count.comm, count.pid);
            let label = sink.name(&label);
            let device = sink.device("");
            let histogram = count.histogram.clone();
            let mut one = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
            (one.op, one.label) = (count.op, Some(label));
            (one.start, one.length) = (Some(running.began), Some(length));
            sink.distribution(one);
        }
        let [no_group, no_start] = running.counters.spans.missed()?;
        sink.lost("calls not counted: too many kinds of call and file", no_group);
        sink.lost("calls not counted: too many in progress at once", no_start);
        sink.end();
        Ok(())
    }
}

impl CallCounters {
    /// Loads and attaches the programs.
    ///
    /// # Errors
    /// If the kernel or a missing right refuses.
    pub(super) fn attach(whom: &Callers, systems: FileSystems) -> Result<CallCounters, Error> {
        Rights::read()?.suffice()?;
        let types = KernelTypes::read()?;
        let btf = Btf::from_sys_fs().map_err(refused)?;
        let is_limited = matches!(systems, FileSystems::Only(_));
        let mut numbers = [0u8; NUMBERS];
        for (place, (_, number, of_file, _, _)) in CALLS.iter().enumerate() {
            if is_limited && !of_file {
                continue;
            }
            if let Some(entry) = usize::try_from(*number).ok().and_then(|at| numbers.get_mut(at)) {
                *entry = place as u8 + 1 + if *of_file { OF_FILE } else { 0 };
            }
        }
        // Since 6.16 the completion is passed as a struct: three arguments instead of many.
        let cqe = types.tracepoint_arguments("io_uring_complete") == Some(3);
        let constants = [
            (global!("cqe_argument"), u32::from(cqe)),
            (global!("ring_call"), RING),
            (global!("by_system"), u32::from(!matches!(systems, FileSystems::Together))),
        ];
        let mut only = [0u8; ONLY_SYSTEMS * 4];
        if let FileSystems::Only(numbers) = systems {
            let places = only.chunks_exact_mut(4).zip(numbers);
            places.for_each(|(place, number)| place.copy_from_slice(&number.to_ne_bytes()));
        }
        let tables = [(global!("calls"), &numbers[..]), (global!("only_systems"), &only[..])];
        let (mut programs, spans) =
            CallLatencies::load(&OBJECT.unpacked(), &btf, whom, &constants, &tables, None)?;
        let mut take = |name: &str| programs.take_map(name).ok_or_else(|| absent(name));
        let inside = HashMap::try_from(take(map!("inside"))?).map_err(refused)?;
        let in_ring = HashMap::try_from(take(map!("in_ring"))?).map_err(refused)?;
        let ring = types.tracepoint_arguments("io_uring_submit_req").is_some();
        let all = [
            ("sys_exit", program!("leave_call")),
            ("sys_enter", program!("enter_call")),
            ("io_uring_complete", program!("complete")),
            ("io_uring_submit_req", program!("submit")),
        ];
        let used = all.into_iter().take(if ring { 4 } else { 2 });
        for (tracepoint, name) in used.clone() {
            let program = programs.program_mut(name).ok_or_else(|| absent(name))?;
            let program: &mut BtfTracePoint = program.try_into().map_err(refused)?;
            program.load(tracepoint, &btf).map_err(refused)?;
        }
        for (_, name) in used {
            let program = programs.program_mut(name).ok_or_else(|| absent(name))?;
            let program: &mut BtfTracePoint = program.try_into().map_err(refused)?;
            program.attach().map_err(refused)?;
        }
        Ok(CallCounters { programs: Some(programs), spans, inside, in_ring })
    }

    /// Calls that have not returned: since when, kind, process and file system.
    fn begun(&self) -> Result<Vec<Begun>, Error> {
        let mut begun: Vec<Begun> = Vec::new();
        for entry in self.inside.iter() {
            begun.push(entry.map_err(broke)?.1);
        }
        for entry in self.in_ring.iter() {
            begun.push(entry.map_err(broke)?.1);
        }
        Ok(begun)
    }

    /// The file system of each call that has not returned; 0 if it is not counted separately.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub(super) fn in_progress(&self) -> Result<Vec<u32>, Error> {
        Ok(self.begun()?.into_iter().map(|[_, _, _, _, system, _]| system).collect())
    }
}

/// The operation of a call by its kind, as the programs number it.
pub(super) fn operation_of(kind: u32) -> Option<Op> {
    let (_, op, _) = call_of(kind & 0xff);
    op
}

impl AttachedState {
    /// Calls on files that may be on a disk or a server; a read from a pipe may block forever.
    fn unfinished(&self, now: Time, counts: &[CallCount]) -> Result<Vec<UnfinishedCall>, Error> {
        let begun = self.counters.begun()?;
        let mut calls: Vec<UnfinishedCall> = begun
            .into_iter()
            .filter_map(|[low, high, kind, pid, system, _]| {
                let (call, op, _) = call_of(kind & 0xff);
                let file = kind_of_file(kind >> 8);
                let on_disk = matches!(file, Some("regular file" | "directory" | "block device"));
                let since = u64::from(high) << 32 | u64::from(low);
                let age = u64::try_from(now.ns()).unwrap_or(0).saturating_sub(since);
                (on_disk || op == Some(Op::Flush)).then(|| UnfinishedCall {
                    pid,
                    comm: name_of(pid, counts),
                    call,
                    op,
                    file,
                    mount: self.mounts.of(system),
                    age: Nanos(i64::try_from(age).unwrap_or(i64::MAX)),
                })
            })
            .collect();
        calls.order_by_key(|call| std::cmp::Reverse(call.age));
        Ok(calls)
    }
}

/// The name of a process without counts yet.
fn name_of(pid: u32, counts: &[CallCount]) -> String {
    if let Some(known) = counts.iter().find(|count| count.pid == pid) {
        return known.comm.clone();
    }
    let text = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    text.trim_end_matches('\n').to_string()
}

/// A call by its index in the list, or an io_uring operation: its name, its operation, and whether
/// it returns bytes.
fn call_of(number: u32) -> (String, Option<Op>, bool) {
    match CALLS.get(number as usize) {
        Some((name, _, _, op, bytes)) => (name.to_string(), *op, *bytes),
        None => {
            let (name, op) = ring_operation(number.wrapping_sub(RING));
            (format!("io_uring {name}"), op, op.is_some_and(|op| op != Op::Flush))
        }
    }
}

fn named(span: CallLatency, mounts: &MountPoints) -> CallCount {
    let (number, file) = (span.kind & 0xff, span.kind >> 8);
    let (call, op, returns_bytes) = call_of(number);
    CallCount {
        pid: span.pid,
        comm: span.comm,
        call,
        op,
        file: kind_of_file(file),
        mount: mounts.of(span.system),
        histogram: span.histogram,
        failed: span.failed,
        bytes: returns_bytes.then_some(span.amount),
    }
}

/// The top bits of a file's mode (include/uapi/linux/stat.h).
fn kind_of_file(bits: u32) -> Option<&'static str> {
    Some(match bits {
        0 => "kernel object",
        1 => "pipe",
        2 => "character device",
        4 => "directory",
        6 => "block device",
        8 => "regular file",
        12 => "socket",
        _ => return None,
    })
}

/// `enum io_uring_op` (include/uapi/linux/io_uring.h), only operations on files.
fn ring_operation(number: u32) -> (String, Option<Op>) {
    let (name, op) = match number {
        0 => ("nop", None),
        1 => ("readv", Some(Op::Read)),
        2 => ("writev", Some(Op::Write)),
        3 => ("fsync", Some(Op::Flush)),
        4 => ("read_fixed", Some(Op::Read)),
        5 => ("write_fixed", Some(Op::Write)),
        8 => ("sync_file_range", Some(Op::Flush)),
        22 => ("read", Some(Op::Read)),
        23 => ("write", Some(Op::Write)),
        other => return (format!("operation {other}"), None),
    };
    (name.to_string(), op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object_names::sizes;

    #[test]
    fn tables_have_the_layout_that_is_read() {
        assert_eq!(
            sizes(&OBJECT.unpacked(), map!("inside")),
            (size_of::<u32>(), size_of::<Begun>())
        );
        assert_eq!(
            sizes(&OBJECT.unpacked(), map!("in_ring")),
            (size_of::<u64>(), size_of::<Begun>())
        );
    }
}
