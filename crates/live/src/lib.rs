//! Watches this machine: block tracepoints by BPF, /proc/diskstats, sysfs.
//!
//! **Must never know:** probe, diagnose, show.

mod collector;
mod error;

pub use collector::Collector;
pub use error::Error;
