//! Writes one HTML file with the verdict, its evidence and the heat maps, to attach to a ticket.
//!
//! ## Does
//! Judges captures, or watches this machine as `iowhy why` does, and writes everything into one
//! HTML file: the verdict with the next step, the evidence, zoomable heat maps, the slowest I/Os,
//! the processes that waited, the inputs with losses, and the data to download. The file is
//! self-contained: no network, no other file; it is readable without scripts and on paper. With
//! `--against` it also lists the differences from an earlier capture, like `iowhy compare`.
//!
//! ## Examples
//! `iowhy report biosnoop.txt -o report.html`: from captures of any format.
//! `iowhy report --for 60s -o report.html`: this machine, for a minute.
//! `iowhy report capture.iowhy --device sdb -o -`: one device, to standard output.
//! `iowhy report after.txt --against before.txt -o report.html`: did the change help?

use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches};
use iowhy_diagnose::{Options, compare, judge};
use iowhy_model::{Filter, Finding, Recording, Report, Tally};
use iowhy_show::{Before, Style};

use crate::arguments::{Files, Output, Selection, only_live};
use crate::baselines::Baselines;
use crate::bounds;
use crate::command::{Command, Status};
use crate::commands::why;
use crate::confinement::{self, Later};
use crate::messages::ProgressMessage;
use crate::outputs::{self, Force};
use crate::present::knows_devices;
use crate::stated::StatedDisks;
use crate::watch_time::WatchTime;
use crate::{scope, store_input};

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "report",
    summary: "The verdict, its evidence and the heat maps as one HTML file",
    manual: iowhy_model::manual!("report.rs"),
    arguments: ReportCommand::augment_args,
    run,
};

#[derive(Args, Debug)]
struct ReportCommand {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    time: WatchTime,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Capture from before a change (may be given several times): adds a section with the
    /// differences
    #[arg(long, value_name = "FILE")]
    against: Vec<PathBuf>,
    #[command(flatten)]
    stated: StatedDisks,
    #[command(flatten)]
    baselines: Baselines,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    selection: Selection,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let mut asked = ReportCommand::from_arg_matches(matches)?;
    asked.selection = asked.selection.settled();
    asked.files.add_store();
    let healthy_origin = asked.baselines.healthy_origin()?;
    let reads = !asked.time.is_live(&asked.files)? && asked.files.reads_captures()?;
    if reads {
        only_live(matches)?;
    }
    let after: &[PathBuf] = if reads { &asked.files.files } else { &[] };
    let learned = asked.baselines.learned();
    let inputs: Vec<PathBuf> = after.iter().chain(&asked.against).cloned().collect();
    let output = outputs::Output::open(&asked.output, asked.force, &inputs)?;
    let writes: Vec<&Path> = learned.into_iter().chain([asked.output.as_path()]).collect();
    let mut failed = 0;
    let mut read = |files: &Files| -> anyhow::Result<Option<Recording>> {
        let mut tally = Tally::for_a_verdict();
        // Pictures show everything selected. Naming a device does not add it.
        let rest = Selection { device: Vec::new(), ..asked.selection.clone() };
        let filter = rest.filter(&mut tally);
        tally.keep_cells(filter);
        let gathered = files.read_counting(tally)?;
        failed += gathered.failed;
        let known = !gathered.recording.listings.is_empty()
            && knows_devices(&gathered.recording, &asked.selection);
        Ok(known.then_some(gathered.recording))
    };
    let mut earlier = Files {
        files: asked.against.clone(),
        read_as: asked.files.read_as.clone(),
        ..Files::default()
    };
    // It is the state after, not before.
    earlier.read_as.example = None;
    let (recording, before) = if reads {
        confinement::reading(inputs.iter().map(PathBuf::as_path).chain(learned), &writes)?;
        let recording = read(&asked.files)?;
        (recording, if earlier.named() { read(&earlier)? } else { None })
    } else {
        // The capture from before is read while files may still be opened.
        let before = if earlier.named() { read(&earlier)? } else { None };
        let later = Later::Write(confinement::folders(&writes));
        asked.selection = asked.selection.settled_here()?;
        (Some(why::watch(&asked.time, &asked.selection, false, true, later)?), before)
    };
    let Some(mut recording) = recording else { return Ok(Status::Failed) };
    if earlier.named() && before.is_none() {
        return Ok(Status::Failed);
    }
    asked.selection = asked.selection.known_in(&recording);
    let filter = asked.selection.filter(&mut recording);
    let left_out = bounds::reported(&mut recording);
    if filter != Filter::default() {
        scope::narrow(&mut recording, &filter, &asked.selection);
    }
    let options = Options { healthy_origin, ..asked.stated.options(&recording) };
    let mut incomplete =
        failed > 0 || left_out || reads && recording.is_sampled() || recording.is_incomplete();
    let findings = judged(&recording, &options);
    asked.baselines.learn(&recording, &findings)?;
    let report = Report { recording, findings };
    let before = before.map(|mut recording| {
        let filter = asked.selection.filter(&mut recording);
        if filter != Filter::default() {
            scope::narrow(&mut recording, &filter, &asked.selection);
        }
        incomplete |= bounds::reported(&mut recording);
        incomplete |= recording.is_sampled() || recording.is_incomplete();
        let working = ProgressMessage::on("comparing");
        let comparison = compare([("before", &recording), ("after", &report.recording)], &options);
        drop(working);
        let findings = judged(&recording, &options);
        (Report { recording, findings }, comparison)
    });
    let style: Style = Output::default().style(filter);
    let incidents = store_input::timeline(&asked.files.past);
    let beside = before.as_ref().map(|(report, comparison)| Before { report, comparison });
    output.fill_text(|out| iowhy_show::page(&report, beside, &incidents, &style, out))?;
    Ok(Status::incomplete(incomplete))
}

/// Judges, with a line of progress if it takes long.
fn judged(recording: &Recording, options: &Options) -> Vec<Finding> {
    let _working = ProgressMessage::on("judging");
    judge(recording, options)
}
