//! Watches this machine: block tracepoints by BPF, /proc/diskstats, sysfs.
//!
//! **Must never know:** probe, diagnose, show.

mod collector;
mod collectors;
mod devices;
mod doctor;
mod error;

pub use collector::Collector;
pub use collectors::{BlockTrace, COLLECTORS, CollectorEntry, DiskStats, TraceMode, TraceOptions};
pub use devices::{BlockDevice, devices};
pub use doctor::{Check, examine};
pub use error::Error;
