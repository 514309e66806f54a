//! What to watch, and in what detail: a command's request to
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
pub(crate) struct Plan {
    /// Trace requests: every event, or histograms counted in the kernel; `None` to sample only.
    pub trace: Option<TraceMode>,
    /// Who reads the clock.
    pub clock: TraceClock,
    /// Only these devices; all if empty.
    pub devices: Vec<String>,
    /// Only these operations; all if empty.
    pub ops: Vec<Op>,
    /// The tracer's filter.
    pub filter: TraceFilter,
    /// The filter as text, for the footer.
    pub filtered: Option<String>,
    /// Also the time before each request.
    pub before: bool,
    /// Also the charged control group of each request.
    pub cgroups: bool,
    /// Also the file of each request.
    pub files: bool,
    /// Also the CPU of the completion and the hardware queue of each request.
    pub places: bool,
    /// Also count requests by submitting stack.
    pub stacks: bool,
    /// Report the cost of tracing at the end.
    pub overhead: bool,
    /// Read the kernel's event text even if eBPF is available.
    pub event_text: bool,
    /// No fallback if eBPF is refused.
    pub programs_only: bool,
    /// Sample /proc/diskstats (or the tree below `root`) this often, and at the end of each run;
    /// `Duration::MAX` for the latter only.
    pub sample: Option<Duration>,
    /// No fallback to counters, which have no latencies, if tracing is refused.
    pub only_latencies: bool,
    /// Also read the context this often: kernel log, mounts, pressure, limits, temperature.
    pub host_facts: Option<Duration>,
    /// The watch has no end: nothing runs in it that costs something for every system call.
    pub all_year: bool,
    /// Other settings of the tracer: its ring, and how often it emits histograms.
    pub tracer: Option<TraceOptions>,
    /// A folder with `block/DEVICE/stat` files to read instead of this machine's.
    pub root: Option<PathBuf>,
    /// A command that is started once tracing runs; the watch ends with it.
    pub command: GivenCommand,
    /// How long to watch; without it, until the user stops it.
    pub length: Option<Duration>,
    /// What the command may do once it is confined.
    pub later: Later,
    /// Show progress on a terminal's stderr.
    pub progress: bool,
}

impl Plan {
    /// A plan to trace the selection.
    ///
    /// # Errors If a control group does not exist.
    pub(crate) fn traced(
        mode: TraceMode,
        selection: &Selection,
        how: TraceArgs,
    ) -> anyhow::Result<Plan> {
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
