//! Latency histograms per device and operation, as biolatency gives them, with exact sums.
//!
//! ## Does
//! Counts every request in the kernel, per device and operation, over buckets an eighth of an
//! octave wide, and shows them as the powers of two that biolatency prints (`--verbose` for all
//! buckets). Mean, minimum and maximum are exact. Percentiles appear only when enough I/Os were
//! seen to carry them. Without an interval it watches 10 s and prints once.
//!
//! ## Examples
//! `iowhy hist`: everything for 10 s.
//! `iowhy hist 1 --device sdb --op read --stage device`: every second, issue to completion.
//! `iowhy hist capture.txt --json`: the histograms found in a capture.

use std::time::Duration;

use crate::arguments::{Output, Selection, Task, Tracing, Words};
use crate::command::{Command, Status};
use crate::present::{View, repeated};
use crate::watch::{Plan, Watch};
use clap::{Args, FromArgMatches};
use iowhy_live::TraceMode;
use iowhy_model::Stage;

/// Entry in the list of commands.
pub const COMMAND: Command = Command {
    name: "hist",
    summary: "Latency histograms per device and operation",
    manual: include_str!("hist.rs"),
    arguments: Hist::augment_args,
    run,
};

/// How long to watch when no interval is given.
const ONCE: Duration = Duration::from_secs(10);

#[derive(Args, Debug)]
struct Hist {
    #[command(flatten)]
    words: Words,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    tracing: Tracing,
    #[command(flatten)]
    output: Output,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let mut hist = Hist::from_arg_matches(matches)?;
    if hist.tracing.before {
        hist.output.stage = hist.output.stage.or(Some(Stage::Before));
    }
    let view = View::named(if hist.output.json { "hist-json" } else { "histogram" });
    let repeat = match hist.words.task()? {
        Task::Read(files) => {
            return view.of_files(&files, &hist.selection.settled(), &hist.output);
        }
        Task::Watch(repeat) => repeat,
    };
    let selection = hist.selection.settled_here();
    let interval =
        repeat.interval.map_or(ONCE, |interval| Duration::from_nanos(interval.ns() as u64));
    let watch = Watch::start(&Plan {
        progress: repeat.interval.is_none(),
        ..Plan::traced(TraceMode::Histograms, &selection, hist.tracing)?
    })?;
    repeated(watch, &view, repeat, interval, &selection, &hist.output)
}
