//! What to watch, and how closely: what a command asks of
//! [`LiveCollectors`](crate::collectors::LiveCollectors).

use std::path::PathBuf;
use std::time::Duration;

use iowhy_live::{TraceClock, TraceFilter, TraceMode, TraceOptions};
use iowhy_model::Op;

use crate::arguments::{Selection, TraceArgs};
use crate::confinement::Later;
use crate::watch_time::GivenCommand;

/// What to watch and how closely.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Trace requests: every event, or histograms counted in the kernel; `None` to sample only.
    pub trace: Option<TraceMode>,
    /// Who reads the clock.
    pub clock: TraceClock,
    /// Only these devices; all if empty.
    pub devices: Vec<String>,
    /// Only these operations; all if empty.
    pub ops: Vec<Op>,
    /// What the tracer lets through.
    pub filter: TraceFilter,
    /// That in words, for the foot of what is shown.
    pub filtered: Option<String>,
    /// Also the time before each request.
    pub before: bool,
    /// Also who pays for each request.
    pub cgroups: bool,
    /// Also the file of each request.
    pub files: bool,
    /// Also count requests by the stack that sent them.
    pub stacks: bool,
    /// Say at the end what the tracing cost.
    pub overhead: bool,
    /// Read the kernel's event text, although eBPF might do.
    pub event_text: bool,
    /// Where the programs in the kernel are refused, nothing else will do.
    pub programs_only: bool,
    /// Sample /proc/diskstats (or the tree below `root`) this often, and at the end of each run;
    /// `Duration::MAX` for the latter only.
    pub sample: Option<Duration>,
    /// Counters, which hold no latencies, are no answer where tracing is refused.
    pub only_latencies: bool,
    /// Look around too, this often: kernel log, mounts, pressure, limits, temperature.
    pub host_facts: Option<Duration>,
    /// Other settings of the tracer: its ring, and how often it emits histograms.
    pub tracer: Option<TraceOptions>,
    /// A folder with `block/DEVICE/stat` files to read instead of this machine's.
    pub root: Option<PathBuf>,
    /// Started once all is traced; its end is the end of the watch.
    pub command: GivenCommand,
    /// How long to watch; until the user stops it if it is not said.
    pub length: Option<Duration>,
    /// What the command does once it is confined.
    pub later: Later,
    /// Show on a terminal's stderr that something is going on.
    pub progress: bool,
}

impl Plan {
    /// To trace what was selected, as it was asked for.
    ///
    /// # Errors
    /// If a control group is not there.
    pub fn traced(mode: TraceMode, selection: &Selection, how: TraceArgs) -> anyhow::Result<Plan> {
        Ok(Plan {
            trace: Some(mode),
            devices: selection.devices(),
            ops: selection.op.clone(),
            filter: selection.in_the_kernel()?,
            filtered: selection.words(),
            before: how.before,
            overhead: how.overhead,
            event_text: how.ftrace,
            ..Plan::default()
        })
    }
}
