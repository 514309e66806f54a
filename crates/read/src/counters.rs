//! Averages and counters: what the columns of the statistics tools and the kernel's own counters
//! mean.

pub(crate) mod copies;
pub(crate) mod database_waits;
pub(crate) mod disk_columns;
pub mod diskstats;
pub(crate) mod limits;
pub mod mountstats;
pub(crate) mod processes;
pub(crate) mod processor;
pub(crate) mod sar_columns;
pub(crate) mod sar_memory;
pub(crate) mod slow_log;
pub(crate) mod stated;
pub(crate) mod windows_disk;
pub(crate) mod work;
