//! The tracer's filter in the kernel: size, flags, process, control group.
//!
//! Requests that do not pass are counted as filtered and cost neither a histogram nor a record;
//! measured + filtered + lost is still what the kernel counts.

use std::os::unix::fs::MetadataExt;

use iowhy_model::{Flags, Nanos};

use crate::attach::CommandFlags;

/// Which requests to trace, besides device and operation; all by default.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TraceFilter {
    /// Only requests of this many bytes, from and to, both inclusive.
    pub bytes: Option<(u32, u32)>,
    /// Only requests that begin in these sectors of 512 bytes, from the first to the last.
    pub sectors: Option<(u64, u64)>,
    /// Only requests with all of these flags.
    pub with: Flags,
    /// Only requests with none of these.
    pub without: Flags,
    /// Only those this process sent.
    pub pid: Option<u32>,
    /// Only those sent by processes of this name.
    pub comm: Option<String>,
    /// Only those charged to this control group, by its number.
    pub cgroup: Option<u64>,
    /// Only those that took longer than this, Q2C (D2C where it was in flight when tracing began).
    pub over: Option<Nanos>,
}

/// The same in the form of the programs.
#[derive(Clone, Debug)]
pub(crate) struct KernelFilter {
    /// From and to, both inclusive.
    pub bytes: (u32, u32),
    /// The first and the last sector in which a request may begin.
    pub sectors: (u64, u64),
    /// Bits of `cmd_flags` that must be set.
    pub set: u32,
    /// Bits of `cmd_flags` that must not be set.
    pub clear: u32,
    /// The process; 0 for any.
    pub pid: u32,
    /// Its name, padded with zeroes; all zero for any.
    pub comm: [u64; 2],
    /// The control group; 0 for any.
    pub cgroup: u64,
}

impl Default for KernelFilter {
    fn default() -> Self {
        KernelFilter {
            bytes: (0, u32::MAX),
            sectors: (0, u64::MAX),
            set: 0,
            clear: 0,
            pid: 0,
            comm: [0; 2],
            cgroup: 0,
        }
    }
}

impl KernelFilter {
    /// The filter for a kernel with these flag bits.
    pub(crate) fn new(filter: &TraceFilter, flags: CommandFlags) -> KernelFilter {
        KernelFilter {
            bytes: filter.bytes.unwrap_or((0, u32::MAX)),
            sectors: filter.sectors.unwrap_or((0, u64::MAX)),
            set: flags.bits(filter.with),
            clear: flags.bits(filter.without),
            pid: filter.pid.unwrap_or(0),
            comm: filter.comm.as_deref().map_or([0; 2], words_of),
            cgroup: filter.cgroup.unwrap_or(0),
        }
    }

    /// Whether it has a condition on the request itself.
    pub(crate) fn by_request(&self) -> bool {
        self.bytes != (0, u32::MAX)
            || self.sectors != (0, u64::MAX)
            || self.set != 0
            || self.clear != 0
    }

    /// Whether it has a condition on the sender.
    pub(crate) fn by_who(&self) -> bool {
        self.pid != 0 || self.comm[0] != 0 || self.cgroup != 0
    }
}

/// The PID namespace of reported process ids, by its file; all zero for the initial one, which
/// contains all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PidNamespace {
    /// The device of its file, as the kernel counts it.
    pub dev: u64,
    /// Its inode.
    pub ino: u64,
}

/// The inode of the initial PID namespace (include/linux/proc_ns.h, PROC_PID_INIT_INO).
const FIRST: u64 = 0xefff_fffc;

impl PidNamespace {
    /// The namespace of this program: in a container `--pid 7` is the container's process 7.
    pub(crate) fn own() -> PidNamespace {
        let known = std::fs::metadata("/proc/self/ns/pid").ok();
        let of = known.map(|known| PidNamespace { dev: known.dev(), ino: known.ino() });
        of.filter(|known| known.ino != FIRST).unwrap_or_default()
    }
}

/// A process name as the kernel keeps it: 15 bytes at most (TASK_COMM_LEN less the closing zero).
fn words_of(name: &str) -> [u64; 2] {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(name.bytes().take(15)).for_each(|(byte, letter)| *byte = letter);
    let [a, b, c, d, e, f, g, h, rest @ ..] = bytes;
    [u64::from_ne_bytes([a, b, c, d, e, f, g, h]), u64::from_ne_bytes(rest)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_as_the_kernel_cuts_them() {
        assert_eq!(words_of("fio"), [u64::from_ne_bytes(*b"fio\0\0\0\0\0"), 0]);
        assert_eq!(words_of("a-name-that-is-too-long"), words_of("a-name-that-is-"));
    }
}
