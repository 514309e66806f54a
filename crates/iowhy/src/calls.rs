//! Shared by `syscalls` and `uprobe`: which calls are counted and for how long, and their latencies
//! as JSON.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use iowhy_live::Callers;
use iowhy_model::{Histogram, Loss};
use serde_json::{Value, json};

use crate::arguments::watch_time;
use crate::messages::HintedError;

/// How long to watch by default.
pub const WATCH: Duration = Duration::from_secs(10);

/// Whose calls are counted, and how long.
#[derive(Args, Debug)]
pub struct CallArgs {
    /// How long to watch; Ctrl-C ends early [default: 10s]
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    pub watch_for: Option<Duration>,
    /// Only this process, by its ID
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Only processes of this name
    #[arg(long, value_name = "NAME")]
    comm: Option<String>,
}

impl CallArgs {
    /// Whose calls are counted.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn callers(&self) -> anyhow::Result<Callers> {
        match self.pid.filter(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            None => Ok(Callers { pid: self.pid, comm: self.comm.clone() }),
            Some(pid) => {
                let hint = "`pgrep NAME` finds it by name";
                Err(HintedError::error(format!("no process {pid}"), hint))
            }
        }
    }
}

/// Counts, with the fields that identify them.
pub fn latencies(histogram: &Histogram, mut of: Value) -> Value {
    let bucket = |(low, high, n): (u64, u64, u64)| {
        let high = if high == u64::MAX { Value::Null } else { high.into() };
        json!({ "low_ns": low, "high_ns": high, "count": n })
    };
    of["count"] = histogram.count().into();
    of["sum_ns"] = histogram.sum_ns.into();
    of["min_ns"] = histogram.min_ns.into();
    of["max_ns"] = histogram.max_ns.into();
    of["buckets"] = histogram.filled().map(bucket).collect();
    of
}

/// What was not counted.
pub fn lost(losses: &[Loss]) -> Value {
    losses.iter().map(|loss| json!({ "what": loss.what, "count": loss.count })).collect()
}
