//! The verdict: why is it slow, and is it the workload or the disk?
//!
//! ## Does
//! With files (or a pipe), it reads every capture in them, in any format and quoted in any way, and
//! judges them together. Without, it watches this machine: every request with BPF if permitted,
//! else the counters of /proc/diskstats. It prints the most likely cause with its confidence, the
//! evidence for it, what would refute it, the next step and, if individual I/Os are known, the
//! expected latency after the fix. If the evidence leaves a question open, the first next step is
//! the probe that decides it, as a command to paste; `--ask` offers to run it, if it is read-only,
//! and judges again with the result.
//!
//! With `-- COMMAND` the command is started once tracing has begun, with the rights of iowhy, and
//! its end is the end of the watch. The verdict is on all I/O of that time, because the command
//! waits for that of others too; `who waits` and `iowhy snoop --comm` show its part. The exit
//! status is that of the command (128 + N if signal N ended it), unless iowhy failed (2) or the
//! command succeeded and `--fail-on` found its verdict (3).
//!
//! Where there was no I/O at all, the answer is IDLE.
//!
//! Where a recorder keeps a store, the screen of a live verdict ends with its start and frequency
//! (`recorded`), and with the latency that is usual at this hour (`usual`). A verdict on `--since`
//! or `--until` ends with the incidents of that time: a bar for each on the clock of that time (an
//! arrow if it began before or is ongoing), and a table with start, end, device, verdict and time
//! lost. A verdict on `--at` ends with those around that moment.
//!
//! For monitoring, `--fail-on device` makes it exit with status 3 if a verdict of that name or
//! family is found.
//!
//! What a healthy device needs depends on its class. Where a capture does not show it and the
//! answer depends on it, both readings are given; set it with `--class` or `--rpm`.
//!
//! A device is always judged by all its I/Os. `--device` selects devices; `--op`, `--size`,
//! `--comm`, `--pid`, `--cgroup` and `--flag` select the I/Os whose latency is reported with the
//! verdict.
//!
//! ## Examples
//! `iowhy`: watches everything for 10 s.
//! `iowhy why --device sdb --for 30s`: one device, longer.
//! `iowhy why -- make -j8`: while a command runs.
//! `iowhy why iostat.txt biosnoop.txt`: captures of other tools.
//! `biosnoop -d sdb | iowhy`: live output of another tool.
//! `iowhy why --class sdb=hdd iostat.txt`: sdb is a spinning disk, which iostat does not print.
//! `iowhy why --learn sdb.base monday.txt`, then `iowhy why --baseline sdb.base tuesday.txt`:
//! compares a disk with its own history. The evidence names the baseline used.
//! `iowhy why --example dusty-disk`: a bundled capture of a faulty disk.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches};
use iowhy_diagnose::{Options, judge};
use iowhy_live::TraceMode;
use iowhy_model::{
    EVENTS_JUDGED, Fact, Filter, Level, Listing, NameTable, Op, Recording, Report, Tally, key,
    numbers,
};
use iowhy_show::{Style, device_label, incidents, views};
use iowhy_store::LearnedHistograms;

use crate::arguments::{Files, Output, Selection, TraceArgs, only_live};
use crate::baselines::Baselines;
use crate::bounds;
use crate::command::{Command, Status};
use crate::commands::probe::{ask, followups};
use crate::confinement::{self, Later};
use crate::crosscheck::CrossCheck;
use crate::device_lookup::known_devices;
use crate::examples;
use crate::fail_on::FailOn;
use crate::messages::{HintedError, ProgressMessage};
use crate::present::knows_devices;
use crate::stated::StatedDisks;
use crate::store_input::StoreInput;
use crate::watch::{self, Plan, Watch};
use crate::watch_time::WatchTime;
use crate::{recorded, sanitised, scope, store_input, when};

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "why",
    summary: "The verdict: why is it slow, and is it the workload or the disk?",
    manual: iowhy_model::manual!("why.rs"),
    arguments: Why::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Why {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    time: WatchTime,
    #[command(flatten)]
    stated: StatedDisks,
    /// If the verdict is not certain, offer to run the probe that would decide; read-only
    #[arg(long)]
    ask: bool,
    /// Answer yes to `--ask`
    #[arg(long, requires = "ask")]
    yes: bool,
    #[command(flatten)]
    fail_on: FailOn,
    #[command(flatten)]
    baselines: Baselines,
    #[command(flatten)]
    selection: Selection,
    /// Print the tracing overhead at the end: ns per I/O in BPF, CPU
    #[arg(long, help_heading = "Tracing")]
    overhead: bool,
    #[command(flatten)]
    output: Output,
}

/// How long to watch by default: long enough for a few hundred I/Os of a busy disk.
const WATCH: Duration = Duration::from_secs(10);

/// Maximum number of idle devices that are named.
const DEVICES_NAMED: usize = 3;

/// Incidents listed below a verdict on an interval.
const INCIDENTS_LISTED: usize = 8;

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let mut why = Why::from_arg_matches(matches)?;
    why.selection = why.selection.settled();
    why.files.add_store();
    if why.selection.over.is_some() {
        return Err(HintedError::error(
            "a verdict on slow I/Os needs the fast ones, too",
            "omit `--over`, or list the slow ones: `iowhy snoop --over 100ms`",
        ));
    }
    let healthy_origin = why.baselines.healthy_origin()?;
    let (mut past, mut usual) = (Vec::new(), LearnedHistograms::default());
    let (mut recording, failed, live) = match &why.files.read_as.example {
        Some(name) => (examples::recording(name)?, 0, false),
        // A given duration means to watch this machine, unless captures are named: an open pipe on
        // stdin is not a capture.
        None if !why.time.is_live(&why.files)? && why.files.reads_captures()? => {
            only_live(matches)?;
            // A probe that may follow needs access to its device.
            if why.ask {
                confinement::asking()?;
            } else {
                let learned = why.baselines.learned();
                let inputs = why.files.files.iter().map(PathBuf::as_path).chain(learned);
                confinement::reading(inputs, learned.as_slice())?;
            }
            let gathered = why.files.read_counting(Tally::for_a_verdict())?;
            (gathered.recording, gathered.failed, false)
        }
        None => {
            let learned = why.baselines.learned();
            let writes = Later::Write(confinement::folders(learned.as_slice()));
            let later = if why.ask { Later::Probe } else { writes };
            // While files may still be opened.
            past = store_input::of_the_last_day();
            usual = store_input::learned();
            why.selection = why.selection.settled_here()?;
            (watch(&why.time, &why.selection, why.overhead, false, later)?, 0, true)
        }
    };
    if recording.listings.is_empty() || !live && !knows_devices(&recording, &why.selection) {
        return Ok(Status::Failed);
    }
    if !live {
        why.selection = why.selection.known_in(&recording);
    }
    let filter = why.selection.filter(&mut recording);
    let mut idle = live && is_idle(&recording);
    if filter != Filter::default() {
        let asked_for = scope::narrow(&mut recording, &filter, &why.selection);
        idle = live && is_idle(&recording);
        // In a live watch an idle device or partition is an answer.
        let by_place = Filter { devices: Vec::new(), sectors: None, ..filter.clone() };
        let of_partition = why.selection.partition.is_some() && by_place == Filter::default();
        // Counters are of the whole disk.
        let traced = recording.listings.iter().any(|listing| listing.source.level >= Level::C);
        idle |= live && of_partition && traced && asked_for == Some(0);
        if asked_for == Some(0) && !idle || !live && is_idle(&recording) {
            return Err(HintedError::error(
                "no I/O matches the filters, so there is nothing to judge",
                "averages and histograms in the input cannot be filtered by operation, size or \
                 process",
            ));
        }
    }
    let options = Options { healthy_origin, ..why.stated.options(&recording) };
    let left_out = bounds::reported(&mut recording);
    // A capture can be judged in parts, so the status shows that not all of it was judged. A live
    // watch has no other parts.
    let sampled = !live && recording.is_sampled();
    let incomplete = failed > 0 || left_out || sampled || recording.is_incomplete();
    let working = ProgressMessage::on("judging");
    let mut findings = if idle { Vec::new() } else { judge(&recording, &options) };
    drop(working);
    why.baselines.learn(&recording, &findings)?;
    let proposal = followups::propose(&recording, &findings);
    if let (Some(proposal), Some(first)) = (&proposal, findings.first_mut()) {
        first.next_step.insert(0, proposal.step());
    }
    let mut report = Report { recording, findings };
    let style = why.output.style(filter);
    if idle && !why.output.json {
        say_idle(&report.recording, &why)?;
        return Ok(why.fail_on.status(std::iter::empty(), Status::incomplete(incomplete)));
    }
    let show = |report: &Report| {
        let mut out = sanitised::stdout();
        let view = if why.output.json { &views::json::VIEW } else { &views::summary::VIEW };
        (view.write)(report, &style, &mut out)
    };
    // The output is one JSON object: the last.
    if !(why.ask && why.output.json) {
        show(&report)?;
    }
    if let Some(known) = report.findings.first().filter(|_| !why.output.json)
        && let Some(id) = known.subject.device
    {
        let (device, verdict) = (&report.recording.device_of(id).name, known.verdict.name());
        if let Some(known) = recorded::history(&past, device, verdict, when::now_ns()) {
            writeln!(sanitised::stdout(), "  recorded    {known}")?;
        }
        if let Some(known) = recorded::beside_usual(&usual, &report.recording, id, when::now_ns()) {
            writeln!(sanitised::stdout(), "  usual       {known}")?;
        }
    }
    if live && !why.output.json {
        say_quiet(&report)?;
    }
    if why.files.past.is_of_a_time() && !why.output.json {
        list_incidents(&why.files.past, &style)?;
    }
    if let Some(proposal) = proposal.filter(|_| why.ask) {
        let quiet = why.output.json;
        let anew = ask::ask(&proposal, why.yes, quiet, &options, &mut report.recording)?;
        let changed = anew.is_some();
        report.findings = anew.unwrap_or(report.findings);
        if changed && !quiet {
            show(&report)?;
        }
    }
    if why.ask && why.output.json {
        show(&report)?;
    }
    let mut out = sanitised::stdout();
    out.flush()?;
    let standing = report.findings.iter().filter(|finding| finding.explained_by.is_none());
    let found = standing.map(|finding| (finding.verdict, finding.confidence()));
    Ok(why.fail_on.status(found, Status::incomplete(incomplete)))
}

/// Watches this machine for a verdict: every I/O, the counters and the settings; also for pictures
/// of the selected I/Os.
///
/// # Errors
/// If nothing can be watched.
pub(super) fn watch(
    time: &WatchTime,
    selection: &Selection,
    overhead: bool,
    pictures: bool,
    later: Later,
) -> anyhow::Result<Recording> {
    let how = TraceArgs { before: true, overhead, ftrace: false };
    // Filters on reported latencies apply to the recording: the judge sees all I/Os of the devices.
    let asked = selection.settled_here()?;
    asked.in_the_kernel()?;
    let devices = Selection { device: asked.device, ..Selection::default() };
    let length = time.longest(WATCH);
    let mut watch = Watch::start(&Plan {
        sample: Some(Duration::from_secs(1)),
        cgroups: true,
        files: true,
        host_facts: Some(Duration::from_secs(1)),
        progress: true,
        command: time.given.clone(),
        length: Some(length),
        later,
        ..Plan::traced(TraceMode::Events, &devices, how)?
    })?;
    watch.sink.keep_stretches(EVENTS_JUDGED);
    if pictures {
        let rest = Selection { device: Vec::new(), ..selection.settled() };
        let filter = rest.filter(&mut watch.sink);
        watch.sink.keep_cells(filter);
    }
    watch.run_for(length)?;
    watch::state_facts(&mut watch.sink)?;
    let plug_clock = watch.plug_clock();
    let mut recording = watch.end()?;
    CrossCheck::default().add_facts(&mut recording, plug_clock);
    Ok(recording)
}

/// The incidents of the requested interval, as bars on its clock, and the last of them as a table;
/// for a single time those around it, if any.
fn list_incidents(past: &StoreInput, style: &Style) -> anyhow::Result<()> {
    let timeline = store_input::timeline(past);
    let rows = &timeline.rows;
    let (before, last) = rows.split_at(rows.len().saturating_sub(INCIDENTS_LISTED));
    let mut out = sanitised::stdout();
    if last.is_empty() {
        if past.is_stretch() {
            writeln!(out, "\nNo incidents in this time.")?;
        }
        return Ok(out.flush()?);
    }
    let whose = if past.is_stretch() { "in" } else { "around" };
    let window = timeline.window().map_or(String::new(), |(from, to)| {
        format!(", {} to {}", when::words(from), when::words(to))
    });
    writeln!(out, "\nIncidents {whose} this time{window}")?;
    timeline.text(style, &mut out)?;
    writeln!(out)?;
    incidents::table(last, style, &mut out)?;
    if !before.is_empty() {
        writeln!(out, "and {} earlier: `iowhy incidents`", before.len())?;
    }
    Ok(out.flush()?)
}

/// The message for an idle machine: what was watched, and how to see a verdict (on a terminal a
/// bundled example).
fn say_idle(recording: &Recording, why: &Why) -> anyhow::Result<()> {
    let me = called_as();
    let watched = match why.time.longest(WATCH) {
        Duration::MAX => "while the command ran".to_string(),
        length => format!("in {}", numbers::duration(length.as_nanos() as f64)),
    };
    let asked = &why.selection.device;
    let devices = known_devices()?.into_iter().map(|device| (device.bytes, device.name));
    let devices = devices.filter(|(bytes, name)| {
        bytes.is_some_and(|bytes| bytes > 0) && (asked.is_empty() || asked.contains(name))
    });
    let table = NameTable::of(recording);
    let part = why.selection.partition.as_ref().map(|(name, _)| name);
    let mut names: Vec<String> = devices
        .map(|(_, name)| device_label::label(&table, &name))
        .map(|disk| part.map_or(disk.clone(), |part| format!("{part} of {disk}")))
        .collect();
    if names.len() > DEVICES_NAMED {
        let more = names.split_off(DEVICES_NAMED).len();
        names.push(format!("{more} more"));
    }
    let mut out = sanitised::stdout();
    writeln!(out, "IDLE: no I/O {watched}")?;
    writeln!(out, "  watched     {}", names.join(", "))?;
    let elsewhere: usize = recording.listings.iter().map(|listing| listing.events.len()).sum();
    if elsewhere > 0 {
        let ios = numbers::several(elsewhere as u64, "I/O");
        writeln!(out, "  elsewhere   {ios} on the same disk: `{me} -d {}`", asked.join(" -d "))?;
    }
    writeln!(out, "  next        `{me}` while it is slow, or `{me} why -- COMMAND`")?;
    if !std::io::stdout().is_terminal() {
        writeln!(out, "  a verdict   `{me} why --example dusty-disk`, of a bundled capture")?;
        return Ok(out.flush()?);
    }
    writeln!(out, "\nNot this machine, but a bundled capture: `{me} why --example dusty-disk`")?;
    let recording = examples::recording("dusty-disk")?;
    let findings = judge(&recording, &Options::default());
    let report = Report { recording, findings };
    let style = why.output.style(Filter::default());
    (views::summary::VIEW.write)(&report, &style, &mut out)?;
    Ok(out.flush()?)
}

/// I/Os of a live watch below which its verdict shows little of what iowhy can tell (a choice).
const QUIET: usize = 20;

/// Whether there was almost no I/O and nothing to blame: how to see a verdict, as for an idle
/// machine.
fn say_quiet(report: &Report) -> anyhow::Result<()> {
    let listings = report.recording.listings.iter();
    let ios: usize = listings.map(|listing| listing.events.len()).sum();
    let blames = report.findings.first().is_some_and(|first| !first.verdict.accuses_nobody());
    if ios == 0 || ios >= QUIET || blames {
        return Ok(());
    }
    let me = called_as();
    writeln!(
        sanitised::stdout(),
        "  almost idle {}: `{me}` while it is slow; `{me} why --example dusty-disk` shows a \
         verdict",
        numbers::several(ios as u64, "I/O")
    )?;
    Ok(())
}

/// How iowhy was called, so that printed commands can be pasted; `./run` passes its own name.
fn called_as() -> String {
    std::env::var("IOWHY_CALLED_AS").unwrap_or_else(|_| "iowhy".to_string())
}

/// Whether a recording contains no I/O at all, also none that waits for the server of a mount.
fn is_idle(recording: &Recording) -> bool {
    let waits = |fact: &Fact| fact.key.member_of(key::FUSE_LONGEST).is_some();
    recording.listings.iter().all(|listing: &Listing| {
        listing.events.is_empty()
            && !listing.facts.iter().any(waits)
            && listing.histograms().all(|known| known.histogram.count() == 0)
            && listing.intervals.iter().all(|interval| {
                interval.ios_per_s() == 0.0
                    && interval.of(Op::Flush).is_none_or(|rates| rates.ios_per_s == 0.0)
                    && interval.in_flight.unwrap_or(0) == 0
            })
    })
}
