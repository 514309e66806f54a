//! Rates, await, queue and busy share per device, like iostat, and more if tracing is possible.
//!
//! ## Does
//! Prints one row per busy device and interval. The columns of iostat have iostat's meaning and
//! rounding. If requests can be traced, percentiles and the split into queue time (Q2D) and device
//! time (D2C) are added, measured with iowhy's own clock. Without an interval it watches one second
//! and prints once; with one it continues until the count is reached or Ctrl-C. Averages since boot
//! are never included. `--by` prints a row per mount point, volume, systemd unit, container, pod,
//! file, CPU or hardware queue instead of per device, computed from individual I/Os
//! that are sent to user space.
//!
//! ## Examples
//! `iowhy stat 1`: every second; `iowhy stat --for 10s`: once, over ten.
//! `iowhy stat 0.1 50 --device nvme0n1 --json`: fifty times, 100 ms apart, as JSON lines.
//! `iowhy stat --sampled 5`: counters only, no tracing.
//! `iowhy stat --csv 1 60 > io.csv`: one minute for a spreadsheet.
//! `iowhy stat --by unit 5`: one row per systemd unit; `--by file`: per file.
//! `iowhy stat iostat.txt`: the rows of a capture, in the same layout whichever version printed
//! them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches};
use iowhy_live::TraceMode;
use iowhy_show::views;

use crate::arguments::{Commas, Output, Selection, Task, TraceArgs, Words, watch_time};
use crate::command::{Command, Status};
use crate::device_lookup;
use crate::event_names::{self, NameKey};
use crate::messages::{self, HintedError};
use crate::present::{ReportHeading, View, repeated};
use crate::watch::{Plan, Watch};

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
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
    /// Counters only: no tracing, no privileges needed
    #[arg(long)]
    sampled: bool,
    /// Read `block/DEVICE/stat` below this folder instead of this machine's counters
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// How long to watch; without it, one second, or with an interval until Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    watch_for: Option<Duration>,
    /// One row per mount, volume, unit, container, pod, file, cpu (of the completion) or queue (of
    /// the hardware) instead of per device, from individual I/Os; several separated by commas
    #[arg(long, value_name = "KEYS", value_parser = event_names::key, value_delimiter = ',',
        conflicts_with_all = ["sampled", "root", "timestamp"])]
    by: Vec<NameKey>,
    /// Print the time above each report
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
            if !stat.by.is_empty() {
                return view.of_files_by(&files, &selection, &stat.output, &stat.by);
            }
            return view.of_files(&files, &selection, &stat.output, timestamp);
        }
        Task::Watch(repeat) => repeat.within(stat.watch_for)?,
    };
    let mut selection = stat.selection.settled_here()?;
    if let Some((name, _)) = selection.partition.take_if(|_| stat.by.is_empty()) {
        let disk = selection.device.join(", ");
        messages::warn(&device_lookup::of_whole_disk(&name, &name, &disk), None);
    }
    let whole = Selection { partition: None, ..selection.clone() };
    if whole.per_event() {
        return Err(HintedError::error(
            "device counters cannot be filtered: they count all I/Os",
            "`iowhy hist` and `iowhy snoop` take `--size`, `--flag`, `--pid`, `--comm`, `--cgroup` \
             and `--over` live",
        ));
    }
    let trace = !stat.sampled && stat.root.is_none();
    let interval = repeat.interval.unwrap_or(Duration::from_secs(1));
    // Counters are per device only.
    let by_name = !stat.by.is_empty();
    let mode = if by_name { TraceMode::Events } else { TraceMode::Histograms };
    let watch = Watch::start(&Plan {
        trace: trace.then_some(mode),
        sample: (!by_name).then_some(Duration::MAX),
        cgroups: stat.by.iter().copied().any(NameKey::is_of_cgroup),
        files: stat.by.contains(&NameKey::File),
        places: stat.by.iter().copied().any(NameKey::is_of_path),
        progress: interval > Duration::from_secs(2),
        root: stat.root.clone(),
        ..Plan::traced(mode, &selection, stat.tracing)?
    })?;
    let heading = ReportHeading { timestamp: stat.timestamp, by: &stat.by };
    repeated(watch, &view, repeat, interval, &selection, &stat.output, heading)
}
