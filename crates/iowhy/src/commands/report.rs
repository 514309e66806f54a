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

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches};
use iowhy_diagnose::{Options, judge};
use iowhy_model::{Filter, Nanos, Report, Tally};
use iowhy_show::Style;

use crate::arguments::{Files, Output, Selection, watch_time};
use crate::command::{Command, Status};
use crate::commands::why;
use crate::messages::Hinted;
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
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    selection: Selection,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let mut asked = ReportCommand::from_arg_matches(matches)?;
    asked.selection = asked.selection.settled();
    let (mut recording, failed) = if asked.watch_for.is_none() && asked.files.given() {
        let gathered = asked.files.read_counting(Tally::for_a_verdict())?;
        if gathered.recording.listings.is_empty()
            || !knows_devices(&gathered.recording, &asked.selection)
        {
            return Ok(Status::Failed);
        }
        (gathered.recording, gathered.failed)
    } else {
        (why::watch(asked.watch_for, &asked.selection, false)?, 0)
    };
    let filter = asked.selection.filter(&mut recording);
    let incomplete = failed > 0 || recording.is_incomplete();
    let findings = judge(&recording, &Options::default());
    let report = Report { recording, findings };
    asked.write(&report, filter)?;
    Ok(Status::incomplete(incomplete))
}

impl ReportCommand {
    fn write(&self, report: &Report, filter: Filter) -> anyhow::Result<()> {
        let style: Style = Output::default().style(filter);
        let mut page = Vec::new();
        View::named("html").write(report, &style, &mut page)?;
        if self.output == Path::new("-") {
            let mut out = std::io::stdout().lock();
            out.write_all(&page)?;
            return Ok(out.flush()?);
        }
        let shown = self.output.display();
        let cannot = |cause: std::io::Error| match cause.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Hinted::error(format!("`{shown}` exists; not overwritten"), "`--force` replaces it")
            }
            _ => Hinted::error(
                format!("cannot write `{shown}`: {cause}"),
                "name a file in a folder that you may write to",
            ),
        };
        let mut options = std::fs::OpenOptions::new();
        options.write(true);
        if self.force {
            options.create(true).truncate(true);
        } else {
            options.create_new(true);
        }
        let mut file = options.open(&self.output).map_err(cannot)?;
        file.write_all(&page).map_err(cannot)
    }
}
