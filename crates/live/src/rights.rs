//! The capabilities needed for tracing, and dropping those no longer needed.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::Error;

// Numbers of include/uapi/linux/capability.h.
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

/// The capabilities of this thread that matter for tracing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rights {
    /// CAP_SYS_ADMIN: includes both others.
    pub sys_admin: bool,
    /// CAP_PERFMON: programs may look at kernel memory.
    pub perfmon: bool,
    /// CAP_BPF: programs and their tables may be made.
    pub bpf: bool,
}

impl Rights {
    /// Those of this thread, from /proc/thread-self/status.
    ///
    /// # Errors
    /// If that file cannot be read.
    pub fn read() -> Result<Rights, Error> {
        let path = "/proc/thread-self/status";
        let text = std::fs::read_to_string(path)
            .map_err(|cause| Error::File { path: path.to_string(), cause })?;
        Ok(Rights::parse(&text))
    }

    /// Those in the text of such a file; none if it has no `CapEff`.
    pub fn parse(status: &str) -> Rights {
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let set = line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
        let has = |number: u32| set >> number & 1 == 1;
        Rights { sys_admin: has(SYS_ADMIN), perfmon: has(PERFMON), bpf: has(BPF) }
    }

    /// Whether they are enough to trace; the error names the first missing one.
    ///
    /// # Errors
    /// If one is missing.
    pub fn suffice(self) -> Result<(), Error> {
        let missing = match (self.sys_admin, self.bpf, self.perfmon) {
            (true, _, _) | (_, true, true) => return Ok(()),
            (_, false, _) => "CAP_BPF",
            (_, true, false) => "CAP_PERFMON",
        };
        Err(Error::Missing { right: missing.to_string() })
    }
}

/// As [`give_up_rights`], but keeps CAP_SYS_PTRACE: without it /proc/PID/maps of a process with
/// more rights cannot be read, and the frames of its stacks have no file.
///
/// # Errors
/// If the kernel refuses.
pub fn give_up_rights_but_looking() -> Result<(), Error> {
    keep(CapabilitySet::SYS_PTRACE)
}

/// Drops every capability of this thread except CAP_BPF; call it after the collectors have begun
/// and before other threads start.
///
/// CAP_BPF alone cannot load a tracing program. It is kept because kernels from 5.8 to 5.18 require
/// it even to read an open table (c8644cd0efe7 changed that).
///
/// # Errors
/// If the kernel refuses.
pub fn give_up_rights() -> Result<(), Error> {
    keep(CapabilitySet::empty())
}

/// Drops every capability of this thread permanently: a program that it runs has none either, even
/// as root.
///
/// # Errors
/// If the kernel refuses.
pub fn give_up_all_rights() -> Result<(), Error> {
    let refused = |error: rustix::io::Errno| Error::Rights { cause: error.into() };
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(refused)?;
    // Otherwise root regains them with the next program (capabilities(7), execve and root).
    rustix::thread::set_no_new_privs(true).map_err(refused)
}

/// Drops these from the bounding set, as far as this thread may.
pub(crate) fn empty_bounding_set(had: CapabilitySet) {
    for capability in had.iter() {
        // Without CAP_SETPCAP they stay; no program is started, and `no_new_privs` holds.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
}

/// Keeps CAP_BPF and these, as far as this thread has them.
fn keep(more: CapabilitySet) -> Result<(), Error> {
    let refused = |error: rustix::io::Errno| Error::Rights { cause: error.into() };
    let had = capabilities(None).map_err(refused)?.permitted;
    empty_bounding_set(had);
    let (kept, none) = (had & (CapabilitySet::BPF | more), CapabilitySet::empty());
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })
        .map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_right_is_named() {
        let root = Rights::parse("Name:\tx\nCapEff:\t000001ffffffffff\n");
        assert!(root.suffice().is_ok());
        let user = Rights::parse("CapEff:\t0000000000000000\n");
        let error = user.suffice().expect_err("no rights at all");
        assert_eq!(error.to_string(), "cannot trace: `CAP_BPF` is missing");
        let half = Rights::parse("CapEff:\t0000008000000000\n");
        assert_eq!(half, Rights { sys_admin: false, perfmon: false, bpf: true });
        assert_eq!(
            half.suffice().expect_err("one is missing").to_string(),
            "cannot trace: `CAP_PERFMON` is missing"
        );
        assert!(Rights::parse("CapEff:\t000000c000000000\n").suffice().is_ok());
    }
}
