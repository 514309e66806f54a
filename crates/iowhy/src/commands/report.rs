//! One HTML file with the verdict, its evidence and the pictures, to attach to a ticket.
//!
//! ## Does
//! Judges captures, or watches this machine as `iowhy why` does, and writes everything into one
//! HTML file: the verdict with what to do next, the evidence, heat maps that zoom in time, the
//! slowest I/Os, who waited, the inputs with what was lost, and the numbers to download. The file
//! needs nothing else: no network, no other file, and it is readable with scripts off and on paper.
//!
//! ## Examples
//! `iowhy report biosnoop.txt -o report.html`: from captures of any format.
//! `iowhy report --for 60s -o report.html`: this machine, for a minute.
//! `iowhy report capture.iowhy --device sdb -o -`: one device, to standard output.

use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use iowhy_diagnose::{Options, judge};
use iowhy_model::{Nanos, Report, Tally};
use iowhy_show::Style;

use crate::arguments::{Files, Output, Selection, watch_time};
use crate::command::{Command, Status};
use crate::commands::why;
use crate::confined::{self, Later};
use crate::outputs::{self, Force};
use crate::present::{View, knows_devices};

/// Entry in the list of commands.
pub const COMMAND: Command = Command {
    name: "report",
    summary: "The verdict, its evidence and the pictures as one HTML file",
    manual: include_str!("report.rs"),
    arguments: ReportCommand::augment_args,
    run,
};

#[derive(Args, Debug)]
struct ReportCommand {
    #[command(flatten)]
    files: Files,
    /// Watch this machine for so long, instead of reading captures
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    watch_for: Option<Nanos>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    selection: Selection,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let mut asked = ReportCommand::from_arg_matches(matches)?;
    asked.selection = asked.selection.settled();
    let inputs = if asked.watch_for.is_none() { &asked.files.files[..] } else { &[] };
    let output = outputs::Output::open(&asked.output, asked.force, inputs)?;
    let (mut recording, failed) = if asked.watch_for.is_none() && asked.files.given() {
        confined::reading(asked.files.files.iter().map(PathBuf::as_path), &[&asked.output])?;
        let gathered = asked.files.read_counting(Tally::for_a_verdict())?;
        if gathered.recording.listings.is_empty()
            || !knows_devices(&gathered.recording, &asked.selection)
        {
            return Ok(Status::Failed);
        }
        (gathered.recording, gathered.failed)
    } else {
        let later = Later::Write(confined::folders(&[&asked.output]));
        (why::watch(asked.watch_for, &asked.selection, false, later)?, 0)
    };
    let filter = asked.selection.filter(&mut recording);
    let incomplete = failed > 0 || recording.is_incomplete();
    let findings = judge(&recording, &Options::default());
    let report = Report { recording, findings };
    let style: Style = Output::default().style(filter);
    output.fill_text(|out| View::named("html").write(&report, &style, out))?;
    Ok(Status::incomplete(incomplete))
}
