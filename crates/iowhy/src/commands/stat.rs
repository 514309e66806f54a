//! Rates, await, queue and busy share per device, as iostat gives them, and more where traced.
//!
//! ## Does
//! Prints one row per busy device and interval. The columns of iostat carry iostat's meaning and
//! rounding. Where requests may be traced, percentiles and the split into queue time (Q2D) and
//! device time (D2C) stand beside them, taken by iowhy's own clock. Without an interval it
//! watches one second and prints once; with one it goes on until the count is reached or Ctrl-C.
//! The counters since boot are never mixed in.
//!
//! ## Examples
//! `iowhy stat 1`: every second.
//! `iowhy stat 0.1 50 --device nvme0n1 --json`: fifty times, 100 ms apart, as JSON lines.
//! `iowhy stat --sampled 5`: counters only, no tracing.
//! `iowhy stat --csv 1 60 > io.csv`: a minute for a spreadsheet.
//! `iowhy stat iostat.txt`: the rows of a capture, in one form whatever version printed them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches};
use iowhy_live::TraceMode;
use iowhy_model::Nanos;
use iowhy_show::views;

use crate::arguments::{Commas, Output, Selection, Task, TraceArgs, Words};
use crate::command::{Command, Status};
use crate::messages::HintedError;
use crate::present::{View, repeated};
use crate::watch::{Plan, Watch};

/// Entry in the list of commands.
pub const COMMAND: Command = Command {
    name: "stat",
    summary: "Rates, await, queue and busy share per device and interval",
    manual: iowhy_model::manual!("stat.rs"),
    arguments: Stat::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Stat {
    #[command(flatten)]
    words: Words,
    /// Counters only: no tracing, no rights needed
    #[arg(long)]
    sampled: bool,
    /// Read `block/DEVICE/stat` below this folder instead of this machine's counters
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The time of day (UTC) above each report
    #[arg(short = 'T', long, conflicts_with_all = ["json", "csv"])]
    timestamp: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    tracing: TraceArgs,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    commas: Commas,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let stat = Stat::from_arg_matches(matches)?;
    let view = View(match (stat.output.json, stat.commas.csv) {
        (true, _) => &views::stat_json::VIEW,
        (_, true) => &views::stat_csv::VIEW,
        _ => &views::table::VIEW,
    });
    let repeat = match stat.words.task(matches)? {
        Task::Read(files) => {
            let (selection, timestamp) = (stat.selection.settled(), stat.timestamp);
            return view.of_files(&files, &selection, &stat.output, timestamp);
        }
        Task::Watch(repeat) => repeat,
    };
    let selection = stat.selection.settled_here();
    if selection.per_event() {
        return Err(HintedError::error(
            "cannot count only some I/Os of a device: its counters hold them all",
            "`iowhy hist` and `iowhy snoop` take `--size`, `--flag`, `--pid`, `--comm`, `--cgroup` and `--over` live",
        ));
    }
    let trace = !stat.sampled && stat.root.is_none();
    let interval = repeat.interval.unwrap_or(Nanos(1_000_000_000));
    let interval = Duration::from_nanos(interval.ns() as u64);
    let watch = Watch::start(&Plan {
        trace: trace.then_some(TraceMode::Histograms),
        sample: Some(Duration::MAX),
        progress: interval > Duration::from_secs(2),
        root: stat.root.clone(),
        ..Plan::traced(TraceMode::Histograms, &selection, stat.tracing)?
    })?;
    repeated(watch, &view, repeat, interval, &selection, &stat.output, stat.timestamp)
}
