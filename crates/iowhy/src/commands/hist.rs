//! Latency histograms per device and operation, like biolatency, with exact sums.
//!
//! ## Does
//! Counts every request in the kernel, per device and operation, in buckets an eighth of an octave
//! wide, and prints powers of two like biolatency (`--verbose` prints all buckets). Mean, minimum
//! and maximum are exact. Percentiles are printed only if there were enough I/Os for them. Without
//! an interval it watches 10 s and prints once.
//!
//! Filters (`--size`, `--flag`, `--comm`, `--cgroup`, ...) are applied in the kernel. `--by` groups
//! by other fields: `none` (all together), device, op, flags, size (by powers of two), process,
//! cgroup, `mount` (mount point), `volume`, `unit` (of systemd), `container`, `pod`, `file`, or
//! several of them separated by commas; for all but the first three every I/O is sent to user
//! space and counted there. `--before` shows the time before the request (B2Q).
//!
//! `--clock kernel` takes the times that the kernel keeps in each request, with one probe at the
//! completion instead of five: fewer nanoseconds per I/O, the same counts. Since Linux 6.9 the
//! kernel reads its clock once for a batch of requests, so Q2D of a batch is 0 and D2C some
//! microseconds too long. The kernel keeps the time of the issue only where write-back throttling
//! (wbt), kyber, io.cost or io.latency asks for it; elsewhere only Q2C is known. The process and
//! the time before the request are unknown, and completions that the kernel hides from its probes
//! are missing without being counted as lost.
//!
//! If only devices and operations are filtered and the kernel counts, the result is compared with
//! /proc/diskstats. If its counts or await differ from the trace by more than the I/Os in flight at
//! the start and end explain, a note gives both values and the reason.
//!
//! ## Examples
//! `iowhy hist`: everything for 10 s; `--for 1m`: for a minute.
//! `iowhy hist 1 --device sdb --op read --stage device`: every second, from issue to completion.
//! `iowhy hist 5 --cumulative --timestamp`: since the start, every five seconds, with the time.
//! `iowhy hist --by device,flags`: one histogram per set of request flags, like `biolatency -F`.
//! `iowhy hist --preset read-8k --by process`: 8 KiB reads per process.
//! `iowhy hist 1 --clock kernel`: at the least cost.
//! `iowhy hist --by mount,op`: by file system; `--by pod`: by pod; `--by file`: by file.
//! `iowhy hist 1 --records | latencymap`: records for PyLatencyMap.
//! `iowhy hist capture.txt --json`: the histograms in a capture.
//! `iowhy hist capture.iowhy --by process`: a capture, per process.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, FromArgMatches};
use iowhy_live::{TraceClock, TraceMode};
use iowhy_model::{Report, Stage, Tally};
use iowhy_show::{NewRecords, views};

use crate::arguments::{
    Commas, Files, Output, Part, Repeat, Selection, Task, TraceArgs, Words, trace_clock, watch_time,
};
use crate::command::{Command, Status};
use crate::confinement;
use crate::crosscheck;
use crate::groups::{self, GroupSink, Groups, Key};
use crate::messages::HintedError;
use crate::present::{ReportHeading, View, knows_devices, now, repeated, when};
use crate::sanitised;
use crate::watch::{Plan, Stretches, Watch};

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "hist",
    summary: "Latency histograms per device and operation",
    manual: iowhy_model::manual!("hist.rs"),
    arguments: Hist::augment_args,
    run,
};

/// How long to watch when no interval is given.
const ONCE: Duration = Duration::from_secs(10);
/// A longer watch shows the remaining time on a terminal.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
/// How often single I/Os are counted into their groups, so that few are held in memory.
const COUNTED: Duration = Duration::from_millis(100);

#[derive(Args, Debug)]
struct Hist {
    #[command(flatten)]
    words: Words,
    /// How long to watch; without it, 10 s, or with an interval until Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    watch_for: Option<Duration>,
    /// One histogram for each: none, device, op, flags, size, process, cgroup, mount, volume, unit,
    /// container, pod, file, cpu (of the completion), queue (of the hardware); several
    /// separated by commas [default: device,op]
    #[arg(long, value_name = "KEYS", value_parser = groups::key, value_delimiter = ',')]
    by: Vec<Key>,
    /// Count from the start in each report, not from the previous report
    #[arg(long)]
    cumulative: bool,
    /// Print the time above each report
    #[arg(short = 'T', long, conflicts_with_all = ["json", "csv"])]
    timestamp: bool,
    /// Records for PyLatencyMap, one per report, everything counted together
    #[arg(long, conflicts_with_all = ["by", "cumulative", "timestamp", "json", "csv"])]
    records: bool,
    #[command(flatten)]
    selection: Selection,
    /// Source of the times: exact (iowhy reads the clock at each event) or kernel (times that the
    /// kernel keeps in each request: cheaper, some microseconds too long for batches)
    #[arg(long, value_name = "CLOCK", default_value = "exact", value_parser = trace_clock)]
    #[arg(help_heading = "Tracing")]
    clock: TraceClock,
    #[command(flatten)]
    tracing: TraceArgs,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    commas: Commas,
    #[command(flatten)]
    part: Part,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let mut hist = Hist::from_arg_matches(matches)?;
    let before = hist.tracing.before.then_some(Stage::Before);
    hist.output.stage = hist.part.stage.or(before);
    let view = View(match (hist.records, hist.output.json) {
        (true, _) => &views::pylatencymap_records::VIEW,
        (_, true) => &views::hist_json::VIEW,
        _ if hist.commas.csv => &views::hist_csv::VIEW,
        _ => &views::histogram::VIEW,
    });
    let repeat = match hist.words.task(matches)? {
        Task::Read(files) if !hist.by.is_empty() => return by_files(&files, &view, &hist),
        Task::Read(files) => {
            return view.of_files(&files, &hist.selection.settled(), &hist.output, hist.timestamp);
        }
        Task::Watch(repeat) => repeat.within(hist.watch_for)?,
    };
    let selection = hist.selection.settled_here()?;
    if hist.clock == TraceClock::Kernel {
        known_at_completion(&hist, &selection)?;
    }
    let interval = repeat.interval.unwrap_or(ONCE);
    let events = hist.by.iter().any(|key| key.needs_events());
    let mode = if events { TraceMode::Events } else { TraceMode::Histograms };
    // Counters include all I/Os of a device, so they cannot be filtered.
    let compared = !events && !selection.per_event() && !hist.records;
    let watch = Watch::start(&Plan {
        clock: hist.clock,
        progress: interval > SHOWN_AFTER,
        cgroups: hist.by.iter().any(|key| key.needs_cgroup()),
        files: hist.by.iter().any(|key| key.needs_files()),
        places: hist.by.iter().any(|key| key.needs_places()),
        sample: compared.then_some(Duration::MAX),
        only_latencies: true,
        ..Plan::traced(mode, &selection, hist.tracing)?
    })?;
    if hist.records {
        return records(watch, repeat, interval, &selection, &hist.output);
    }
    if hist.by.is_empty() && !hist.cumulative && !hist.timestamp {
        let heading = ReportHeading::default();
        return repeated(watch, &view, repeat, interval, &selection, &hist.output, heading);
    }
    grouped(watch, &view, repeat, interval, &hist, mode)
}

/// Refuses options that need more than the probe at the completion.
fn known_at_completion(hist: &Hist, selection: &Selection) -> anyhow::Result<()> {
    let asked = [
        (hist.tracing.before, "--before"),
        (hist.tracing.ftrace, "--ftrace"),
        (selection.pid.is_some(), "--pid"),
        (selection.comm.is_some(), "--comm"),
        (hist.by.contains(&Key::Process), "--by process"),
    ];
    match asked.iter().find(|(asked, _)| *asked) {
        None => Ok(()),
        Some((_, option)) => Err(HintedError::error(
            format!("`{option}` needs more than the times that the kernel keeps in a request"),
            "omit `--clock kernel`",
        )),
    }
}

/// Captures, counted by these keys.
fn by_files(files: &Files, view: &View, hist: &Hist) -> anyhow::Result<Status> {
    confinement::reading(files.files.iter().map(PathBuf::as_path), &[])?;
    let selection = hist.selection.settled();
    let mut tally = Tally::default();
    // Naming a device does not add it.
    let filter = Selection { device: Vec::new(), ..selection.clone() }.filter(&mut tally);
    let mut sink = GroupSink::new(&hist.by, tally, filter);
    let (failed, prose) = files.emit(&mut sink)?;
    let GroupSink { tally, mut groups, reported, .. } = sink;
    let mut recording = tally.recording();
    recording.prose = prose;
    if recording.listings.is_empty() || !knows_devices(&recording, &selection) {
        return Ok(Status::Failed);
    }
    if !reported && (selection.per_event() || hist.by.iter().any(|key| key.needs_events())) {
        return Err(HintedError::error(
            "the capture does not contain the field for `--by` of each I/O",
            "`iowhy hist FILE` shows it per device and operation; `iowhy record --cgroups` records \
             control groups, `--files` files, `--places` CPUs and queues",
        ));
    }
    let incomplete = recording.is_incomplete();
    groups.take(&mut recording);
    groups.narrow(&selection.known_in(&recording).filter_of_counted(&mut recording), &hist.by);
    groups.write_into(&mut recording);
    let style = hist.output.style(Default::default());
    let mut out = sanitised::buffered();
    if hist.timestamp && !hist.output.json {
        writeln!(out, "{}", when(&recording)?)?;
    }
    view.write(&Report { recording, findings: Vec::new() }, &style, &mut out)?;
    out.flush()?;
    Ok(Status::incomplete(failed > 0 || incomplete))
}

/// One report after another, counted by these keys.
fn grouped(
    watch: Watch,
    view: &View,
    repeat: Repeat,
    interval: Duration,
    hist: &Hist,
    mode: TraceMode,
) -> anyhow::Result<Status> {
    // Groups of all devices together cannot be filtered by device.
    let mut style = hist.output.style(Default::default());
    let mut groups = Groups::new(&hist.by);
    // Counts stay in the kernel; only single I/Os would accumulate here.
    let step = if mode == TraceMode::Events { COUNTED } else { interval };
    let mut incomplete = false;
    let mut since = Instant::now();
    let mut stretches = Stretches::of(watch, repeat, interval);
    while let Some(mut recording) = stretches.next_with(step, |part| {
        if mode == TraceMode::Events {
            groups.take(&mut part.take());
        }
    })? {
        crosscheck::without_counters(&mut recording);
        groups.take(&mut recording);
        groups.watched(since.elapsed());
        groups.write_into(&mut recording);
        incomplete |= recording.is_incomplete();
        let mut out = sanitised::stdout();
        if hist.timestamp && !hist.output.json {
            writeln!(out, "{}", now())?;
        }
        view.write(&Report { recording, findings: Vec::new() }, &style, &mut out)?;
        if !stretches.are_over() && !hist.output.json && !hist.commas.csv {
            writeln!(out)?;
        }
        style.heading &= !hist.commas.csv;
        out.flush()?;
        if !hist.cumulative {
            groups.clear();
            since = Instant::now();
        }
    }
    Ok(Status::incomplete(incomplete))
}

/// Records of PyLatencyMap, whose counts are cumulative: each time those not written yet.
fn records(
    mut watch: Watch,
    repeat: Repeat,
    interval: Duration,
    selection: &Selection,
    output: &Output,
) -> anyhow::Result<Status> {
    let filter = watch.filter_of_counted(selection);
    let style = output.style(filter);
    let mut new = NewRecords::default();
    let mut left = repeat.reports();
    while left > 0 && !watch.stopped() {
        watch.run_for(interval)?;
        new.write(&watch.sink, &style, &mut sanitised::stdout())?;
        left -= 1;
    }
    Ok(Status::incomplete(watch.end()?.is_incomplete()))
}
