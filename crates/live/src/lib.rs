//! Watches this machine: block tracepoints by BPF, /proc/diskstats, sysfs.
//!
//! The kernel programs are C in `bpf/`; on this side, only two calls of libc are unsafe.
//!
//! **Must never know:** probe, diagnose, show.

#![deny(unsafe_code)]

mod attach;
mod batch;
mod bpf;
mod btf;
mod call_latencies;
mod cgroups;
mod clock;
mod collector;
mod collectors;
mod confine;
mod container_names;
mod cost;
mod devices;
mod doctor;
mod error;
mod files;
mod foreign_files;
mod kernel_filter;
mod memory;
mod mount_points;
mod names;
mod object_names;
mod records;
mod request_counts;
mod rights;
mod ring_records;
mod slots;
mod stacks;
mod still_in_flight;
mod stretch_histograms;
mod symbols;
mod sysfs;
mod thinning;
mod user_frames;
mod waiting_tasks;
mod watch_list;

pub use call_latencies::Callers;
pub use cgroups::control_group;
pub use collector::Collector;
pub use collectors::{
    BlockTrace, COLLECTORS, CallCount, CollectorEntry, DirtyPauses, DiskStats, EndedBy, EventCount,
    Ftrace, FuseWaits, HostFacts, KernelLog, MountStats, ServerCalls, Syscalls, TraceClock,
    TraceMode, TraceOptions, UnfinishedCall, Uprobe, UprobeOptions, WaitCount, WaitEnd,
    WaitOptions, Waits, add_ends, beside, call_names,
};
pub use confine::{
    Confinement, FileRules, Needs, confine_asking, confine_looking, confine_pushing,
    confine_reading, confine_recording, confine_watching,
};
pub use container_names::LOGS_OF_PODS;
pub use cost::Cost;
pub use devices::{BlockDevice, devices, devices_in_use, disk_sequence};
pub use doctor::{Check, examine, examine_at};
pub use error::Error;
pub use foreign_files::{is_foreign_to_sys, open_below};
pub use kernel_filter::TraceFilter;
pub use memory::{give_back_memory, use_one_heap};
pub use mount_points::MountPoint;
pub use names::naming_facts;
pub use request_counts::RequestCounts;
pub use rights::{Rights, give_up_all_rights, give_up_rights, give_up_rights_but_looking};
pub use stacks::StackCount;
pub use sysfs::{SysFact, facts as facts_of_sys};
pub use thinning::ThinRule;
