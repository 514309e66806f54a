//! Watches this machine: block tracepoints by BPF, /proc/diskstats, sysfs.
//!
//! The kernel programs are C in `bpf/`; on this side nothing is unsafe but one call of the libc.
//!
//! **Must never know:** probe, diagnose, show.

#![deny(unsafe_code)]

mod attach;
mod bpf;
mod btf;
mod cgroups;
mod clock;
mod collector;
mod collectors;
mod confine;
mod cost;
mod counted;
mod devices;
mod doctor;
mod error;
mod files;
mod leftover;
mod memory;
mod records;
mod rights;
mod sent;
mod sieve;
mod slots;
mod small;
mod spans;
mod stacks;
mod symbols;
mod sysfs;
mod tallies;
mod watched;

pub use cgroups::control_group;
pub use collector::Collector;
pub use collectors::{
    BlockEvents, BlockTrace, COLLECTORS, CallCount, CollectorEntry, DiskStats, EventCount,
    KernelLog, Surroundings, Syscalls, TraceMode, TraceOptions, Uprobe, UprobeOptions, beside,
    call_names,
};
pub use confine::{Bounded, Confinement, Needs, confine_calls, confine_reading, confine_watching};
pub use cost::Cost;
pub use devices::{BlockDevice, devices};
pub use doctor::{Check, examine, examine_at};
pub use error::Error;
pub use memory::give_back_memory;
pub use rights::{Rights, give_up_all_rights, give_up_rights, give_up_rights_but_looking};
pub use sieve::TraceFilter;
pub use small::{is_foreign_to_sys, open_below};
pub use spans::Whom;
pub use stacks::StackCount;
pub use sysfs::{SysFact, facts as facts_of_sys};
pub use tallies::Tallies;
