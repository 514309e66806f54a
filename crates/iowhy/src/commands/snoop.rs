//! Prints one line per I/O as it completes, like biosnoop; with `--over`, slow ones only.
//!
//! ## Does
//! Traces every request and prints it when it completes: time of completion since the start, the
//! process that submitted it, device, operation and flags, first sector, size, with `--pattern`
//! whether it starts where the previous I/O on that device ended, with `--timestamp` the time of
//! day instead, queue time (Q2D) and device time (D2C), and the error if it failed. With
//! `--over 500ms` only slower ones are printed, selected in the kernel; other filters are applied
//! there, too. With an interval, each interval ends with a table of all I/Os per device and
//! operation: number, minimum, mean and maximum latency. Losses are reported at the end. The text
//! is read back by `iowhy why`, and `--json` writes every field, including the control group and
//! the arrival (`--before`).
//!
//! `--files` prints the file whose pages an I/O reads or writes, in the last column: always for the
//! page cache, for direct I/O since Linux 6.6 on file systems that use iomap (ext4, XFS, btrfs);
//! for a file system's own blocks it is the device. The path may be some seconds old, has at most
//! eight parts, and is one of its names if the file has several. `--stacks` counts I/Os by the call
//! stack of the task that submitted them instead, for all processes of the same name together, and
//! prints at each interval and at the end the ten stacks whose I/Os took the most time: functions
//! of the kernel, then those of the program with its file, or file and offset if that is stripped
//! (`addr2line -e FILE 0x1234` finds the line with its debug information). C++ and Rust functions
//! have their symbols' names (`c++filt` reads them). `--folded` prints all stacks, one per line
//! with the number of I/Os, for `flamegraph.pl`. A program built without frame pointers shows its
//! innermost frames only.
//!
//! ## Examples
//! `iowhy snoop --device sdb`: until Ctrl-C.
//! `iowhy snoop --over 100ms --for 1m`: outliers of one minute.
//! `iowhy snoop 10 --preset outliers`: I/Os slower than 500 ms, and a table every ten seconds.
//! `iowhy snoop --op write --flag sync --pattern`: synchronous writes, random or sequential.
//! `iowhy snoop --json --for 30s > capture.json`: save it; `iowhy why capture.json` judges it.
//! `iowhy snoop --files --over 10ms`: which files are slow.
//! `iowhy snoop --stacks --for 10s --device sdb`: which code submits the I/Os.
//! `iowhy snoop --stacks --folded --for 30s | flamegraph.pl > io.svg`: as a flame graph.
//! `iowhy snoop | iowhy why`: a verdict on the listed I/Os.

mod stacks;

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use clap::{Args, FromArgMatches};
use iowhy_live::TraceMode;
use iowhy_model::{DeviceId, Level, Listing, Recording, Report, Time};
use iowhy_show::{clock, views};

use crate::arguments::{Commas, Output, Selection, Task, TraceArgs, Words, watch_time};
use crate::command::{Command, Status};
use crate::groups::Groups;
use crate::messages::{self, HintedError};
use crate::present::{RowStyle, View};
use crate::sanitised;
use crate::watch::{Plan, Watch};
use crate::when;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "snoop",
    summary: "One line per I/O as it completes; with --over, slow ones only",
    manual: iowhy_model::manual!("snoop.rs"),
    arguments: Snoop::augment_args,
    run,
};

/// How often completed I/Os are printed, to avoid a write for each of them.
const PRINT_EVERY: Duration = Duration::from_millis(100);

#[derive(Args, Debug)]
struct Snoop {
    #[command(flatten)]
    words: Words,
    /// How long to watch; without it, until Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    watch_for: Option<Duration>,
    /// Add a column: S if the I/O starts where the previous one on its device ended, else R
    #[arg(short = 'P', long)]
    pattern: bool,
    /// Print the time of day; always printed if the capture contains it
    #[arg(short = 'T', short_alias = 't', long, conflicts_with_all = ["json", "csv"])]
    timestamp: bool,
    /// Add a column with the file that each I/O reads or writes, where available
    #[arg(long)]
    files: bool,
    /// Instead of individual I/Os, the ten call stacks whose I/Os took the most time; at each
    /// interval and at the end
    #[arg(long, conflicts_with_all = ["json", "csv", "files", "pattern", "timestamp"])]
    stacks: bool,
    /// With `--stacks`: all stacks in the folded form for flame graphs, at the end
    #[arg(long, requires = "stacks")]
    folded: bool,
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
    let snoop = Snoop::from_arg_matches(matches)?;
    let view = View(match (snoop.output.json, snoop.commas.csv) {
        (true, _) => &views::events_json::VIEW,
        (_, true) => &views::events_csv::VIEW,
        _ => &views::events::VIEW,
    });
    let repeat = match snoop.words.task(matches)? {
        Task::Read(files) => {
            if snoop.stacks {
                return Err(HintedError::error(
                    "captures contain no stacks: `--stacks` works only live",
                    "`iowhy snoop FILE --files` shows the file of each I/O, if recorded",
                ));
            }
            let how =
                RowStyle { pattern: snoop.pattern, files: snoop.files, timestamp: snoop.timestamp };
            return view.of_rows_of(&files, &snoop.selection.settled(), &snoop.output, how);
        }
        Task::Watch(repeat) => repeat,
    };
    let selection = snoop.selection.settled_here()?;
    let mut watch = Watch::start(&Plan {
        cgroups: snoop.output.json || snoop.commas.csv,
        files: snoop.files,
        stacks: snoop.stacks,
        length: snoop.watch_for.or(repeat.length()),
        ..Plan::traced(TraceMode::Events, &selection, snoop.tracing)?
    })?;
    let filter = selection.filter(&mut watch.sink);
    let mut style = snoop.output.style(filter);
    style.pattern = snoop.pattern.then(HashMap::new);
    style.files = snoop.files;
    style.clock_of_day = false;
    // Replaced once the first I/O has completed.
    style.time_of_day = (snoop.timestamp || snoop.output.json).then(when::now_ns);
    let numbers = snoop.output.json || snoop.commas.csv;
    let mut table = repeat.interval.filter(|_| !numbers && !snoop.folded).map(Table::new);
    let mut out = sanitised::buffered();
    let (mut zero, mut wall) = (None, None);
    let mut lost = 0;
    loop {
        let mut report = Report { recording: watch.sink.take(), findings: Vec::new() };
        lost += report.recording.listings.iter().map(|l| l.source.lost()).sum::<u64>();
        from_zero(&mut report, &mut zero);
        wall = wall.or(wall_clock(&report.recording));
        style.time_of_day = style.time_of_day.map(|now| since_1970(wall, zero).unwrap_or(now));
        if (has_news(&report.recording) || style.heading) && !snoop.stacks {
            view.write(&report, &style, &mut out)?;
            out.flush()?;
        }
        if let Some(ends) = &mut style.pattern {
            remember(ends, &report.recording);
        }
        style.heading = false;
        if let Some(table) = &mut table {
            let reported = table.add(&mut report.recording, watch.until(), &mut out)?;
            if reported && snoop.stacks {
                stacks::write(stacks::grouped(watch.take_stacks()), &report.recording, &mut out)?;
            }
        }
        if watch.is_over() {
            break;
        }
        watch.run_for(PRINT_EVERY)?;
    }
    let mut report = Report { recording: watch.end()?, findings: Vec::new() };
    let counts = watch.take_stacks();
    lost += report.recording.listings.iter().map(|l| l.source.lost()).sum::<u64>();
    from_zero(&mut report, &mut zero);
    style.time_of_day = style.time_of_day.map(|now| since_1970(wall, zero).unwrap_or(now));
    if !snoop.stacks {
        view.write(&report, &style, &mut out)?;
    }
    if let Some(table) = &mut table {
        table.add(&mut report.recording, Duration::MAX, &mut out)?;
    }
    if snoop.stacks {
        let (groups, missed) = stacks::grouped(counts);
        if snoop.folded {
            stacks::folded(&groups, &report.recording, &mut out)?;
            if missed > 0 {
                messages::warn(&format!("{missed} I/Os without a stack are left out"), None);
            }
        } else {
            stacks::write((groups, missed), &report.recording, &mut out)?;
        }
    }
    out.flush()?;
    if lost > 0 {
        messages::warn(
            &format!("{lost} completed I/Os could not be shown"),
            Some("watch fewer devices with `--device`, or only slow I/Os with `--over`"),
        );
    }
    Ok(Status::incomplete(lost > 0))
}

/// Whether there is anything to write: an I/O or a loss.
fn has_news(recording: &Recording) -> bool {
    let news = |listing: &Listing| !listing.events.is_empty() || !listing.source.losses.is_empty();
    recording.listings.iter().any(news)
}

/// Stores where the last I/O of each device ended, for the next report.
fn remember(ends: &mut HashMap<DeviceId, u64>, recording: &Recording) {
    for event in recording.listings.iter().flat_map(|listing| &listing.events) {
        if let (Some(sector), Some(bytes)) = (event.sector, event.bytes) {
            ends.insert(event.device, sector.saturating_add(u64::from(bytes) / 512));
        }
    }
}

/// The table of each interval, in lines that a reader of the I/Os skips.
struct Table {
    interval: Duration,
    due: Duration,
    groups: Groups,
}

impl Table {
    fn new(interval: Duration) -> Table {
        Table { interval, due: interval, groups: Groups::new(&[]) }
    }

    /// Counts, and writes at the end of an interval; returns whether it ended.
    fn add(
        &mut self,
        recording: &mut Recording,
        now: Duration,
        out: &mut dyn Write,
    ) -> std::io::Result<bool> {
        // If only slow I/Os are shown, the accompanying histograms count all of them.
        if recording.listings.iter().any(|listing| listing.source.level == Level::B) {
            recording.listings.iter_mut().for_each(|listing| listing.events.clear());
        }
        self.groups.take(recording);
        if now < self.due {
            return Ok(false);
        }
        self.due = self.due.saturating_add(self.interval);
        let lines = self.groups.lines(recording);
        self.groups.clear();
        writeln!(out, "# device     op            I/Os    min(ms)    avg(ms)    max(ms)")?;
        for line in lines {
            writeln!(out, "# {line}")?;
        }
        out.flush()?;
        Ok(true)
    }
}

/// The offset of a trace's clock to nanoseconds since 1970.
fn wall_clock(recording: &Recording) -> Option<i64> {
    recording.listings.iter().find_map(clock::zero)
}

/// Nanoseconds since 1970 at the first completion, once there is one.
fn since_1970(wall: Option<i64>, zero: Option<Time>) -> Option<i64> {
    wall.zip(zero).map(|(wall, zero)| wall.saturating_add(zero.ns()))
}

/// Moves the time axis so that the first completion is at zero, as biosnoop prints it.
fn from_zero(report: &mut Report, zero: &mut Option<Time>) {
    for listing in &mut report.recording.listings {
        for event in &mut listing.events {
            let Some(completed) = event.completed else { continue };
            *event = event.since(*zero.get_or_insert(completed));
        }
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Op, Sink};

    use super::*;

    #[test]
    fn a_loss_without_an_event_beside_it_is_written() {
        let mut recording = Recording::new();
        recording.begin(iowhy_model::Source::new("iowhy-live", "this machine", Level::D));
        assert!(!has_news(&recording));
        recording.lost_of("sda", Op::Read, "not measured: completion missed by the tracer", 3);
        assert!(has_news(&recording));
    }
}
