//! One line per I/O as it completes, as biosnoop gives it; with `--over`, the slow ones only.
//!
//! ## Does
//! Traces every request and prints it when it completes: time of completion since the start, who
//! started it, device, operation and flags, first sector, size, queue time (Q2D) and device time
//! (D2C). With `--over 500ms` only slower ones are kept, chosen in the kernel. What was lost is
//! said at the end. The text is read back by `iowhy why`, and `--json` writes every field.
//!
//! ## Examples
//! `iowhy snoop --device sdb`: until Ctrl-C.
//! `iowhy snoop --over 100ms --for 1m`: outliers of one minute.
//! `iowhy snoop --json --for 30s > capture.json`: keep it; `iowhy why capture.json` judges it.
//! `iowhy snoop | iowhy why`: both at once.

use std::io::{BufWriter, Write};
use std::time::Duration;

use clap::{Args, FromArgMatches};
use iowhy_live::TraceMode;
use iowhy_model::{Nanos, Report, Time};

use crate::arguments::{Output, Selection, Task, Tracing, Words, watch_time};
use crate::command::{Command, Status};
use crate::messages;
use crate::present::View;
use crate::watch::{Plan, Watch};

/// Entry in the list of commands.
pub const COMMAND: Command = Command {
    name: "snoop",
    summary: "One line per I/O as it completes; slow ones only with --over",
    manual: include_str!("snoop.rs"),
    arguments: Snoop::augment_args,
    run,
};

/// How often completed I/Os are printed, so that a pipe is not written to for each of them.
const PRINT_EVERY: Duration = Duration::from_millis(100);

#[derive(Args, Debug)]
struct Snoop {
    #[command(flatten)]
    words: Words,
    /// How long to watch; without it, until Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    watch_for: Option<Nanos>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    tracing: Tracing,
    #[command(flatten)]
    output: Output,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let snoop = Snoop::from_arg_matches(matches)?;
    let view = View::named(if snoop.output.json { "events-json" } else { "events" });
    if let Task::Read(files) = snoop.words.task()? {
        return view.of_files(&files, &snoop.selection.settled(), &snoop.output);
    }
    let selection = snoop.selection.settled_here();
    let mut watch = Watch::start(&Plan {
        cgroups: snoop.output.json,
        ..Plan::traced(TraceMode::Events, &selection, snoop.tracing)?
    })?;
    let filter = selection.filter(watch.recording());
    let mut style = snoop.output.style(filter);
    let end =
        snoop.watch_for.map_or(Duration::MAX, |length| Duration::from_nanos(length.ns() as u64));
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut until = Duration::ZERO;
    let mut zero = None;
    let mut lost = 0;
    loop {
        let mut report = Report { recording: watch.recording().take(), findings: Vec::new() };
        lost += report.recording.listings.iter().map(|l| l.source.lost()).sum::<u64>();
        from_zero(&mut report, &mut zero);
        let news = report.recording.listings.iter().any(|listing| !listing.events.is_empty());
        if news || style.heading {
            view.write(&report, &style, &mut out)?;
            out.flush()?;
        }
        style.heading = false;
        if until >= end || watch.stopped() {
            break;
        }
        until = (until + PRINT_EVERY).min(end);
        watch.run_until(until)?;
    }
    let rest = watch.end()?;
    let mut report = Report { recording: rest, findings: Vec::new() };
    lost += report.recording.listings.iter().map(|l| l.source.lost()).sum::<u64>();
    from_zero(&mut report, &mut zero);
    view.write(&report, &style, &mut out)?;
    out.flush()?;
    if lost > 0 {
        messages::warn(
            &format!("{lost} I/Os completed that could not be shown"),
            Some("watch fewer devices with `--device`, or only slow I/Os with `--over`"),
        );
    }
    Ok(Status::incomplete(lost > 0))
}

/// Moves the time axis so that the first completion is at zero, as biosnoop prints it.
fn from_zero(report: &mut Report, zero: &mut Option<Time>) {
    for listing in &mut report.recording.listings {
        for event in &mut listing.events {
            let Some(completed) = event.completed else { continue };
            let origin = *zero.get_or_insert(completed);
            let shift = |time: Time| Time::from_ns((time - origin).ns());
            event.queued = event.queued.map(shift);
            event.issued = event.issued.map(shift);
            event.completed = Some(shift(completed));
        }
    }
}
