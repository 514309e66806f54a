//! Shared by `syscalls`, `uprobe` and `waits`: which calls are counted and for how long, how rows
//! are shown, and latencies as JSON.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use iowhy_live::Callers;
use iowhy_model::{Filter, Histogram, Loss, Quantile};
use iowhy_show::Style;
use serde_json::{Value, json};

use crate::arguments::{Commas, Output, watch_time};
use crate::messages::HintedError;

/// How long to watch by default.
pub(crate) const WATCH: Duration = Duration::from_secs(10);

/// Whose calls are counted, and how long.
#[derive(Args, Debug)]
pub(crate) struct CallArgs {
    /// How long to watch; Ctrl-C ends early [default: 10s]
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    pub watch_for: Option<Duration>,
    /// Only this process, by its ID
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Only processes of this name
    #[arg(long, value_name = "NAME")]
    pub comm: Option<String>,
}

impl CallArgs {
    /// Whose calls are counted.
    ///
    /// # Errors
    /// If there is no such process.
    pub(crate) fn callers(&self) -> anyhow::Result<Callers> {
        match self.pid.filter(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            None => Ok(Callers { pid: self.pid, comm: self.comm.clone() }),
            Some(pid) => {
                let hint = "`pgrep NAME` finds it by name";
                Err(HintedError::error(format!("no process {pid}"), hint))
            }
        }
    }
}

/// How rows are shown.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct RowArgs {
    /// One JSON object (or one per line) instead of text; `docs/JSON.md` has the schemas
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub commas: Commas,
    /// Width in columns, instead of the terminal's
    #[arg(long, value_name = "N", conflicts_with = "json")]
    pub width: Option<usize>,
    /// All rows, with all details
    #[arg(short, long)]
    pub verbose: bool,
}

impl RowArgs {
    /// The requested style, for the current terminal.
    pub(crate) fn style(&self) -> Style {
        let (verbose, width) = (u8::from(self.verbose), self.width);
        Output { verbose, width, ..Output::default() }.style(Filter::default())
    }
}

/// The keys of [`latencies`] that are columns of `--csv`.
pub(crate) const LATENCY_KEYS: [&str; 6] =
    ["count", "sum_ns", "min_ns", "p50_ns", "p99_ns", "max_ns"];

/// A percentile in ns, if there are enough calls.
pub(crate) fn percentile(histogram: &Histogram, share: f64) -> Option<u64> {
    let enough = histogram.count() >= Quantile::events_needed(share);
    histogram.quantile(share).filter(|_| enough).map(|known| known.high_ns)
}

/// Counts, with the fields that identify them.
pub(crate) fn latencies(histogram: &Histogram, mut of: Value) -> Value {
    let bucket = |(low, high, n): (u64, u64, u64)| {
        let high = if high == u64::MAX { Value::Null } else { high.into() };
        json!({ "low_ns": low, "high_ns": high, "count": n })
    };
    of["count"] = histogram.count().into();
    of["sum_ns"] = histogram.sum_ns.into();
    of["min_ns"] = histogram.min_ns.into();
    of["p50_ns"] = percentile(histogram, 0.5).into();
    of["p99_ns"] = percentile(histogram, 0.99).into();
    of["max_ns"] = histogram.max_ns.into();
    of["buckets"] = histogram.filled().map(bucket).collect();
    of
}

/// What was not counted.
pub(crate) fn lost(losses: &[Loss]) -> Value {
    losses.iter().map(|loss| json!({ "what": loss.what, "count": loss.count })).collect()
}
