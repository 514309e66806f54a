//! One capture's format into another, as far as the other can carry what the first holds.
//!
//! ## Does
//! Reads any format that iowhy reads (`iowhy explain formats`) and writes it as:
//!
//! - `json`: JSON lines of schema `iowhy.event/1`, one line of `iowhy.hist/1`, or lines of
//!   `iowhy.stat/1`, whichever is the richest it holds;
//! - `csv`: single I/Os, or the cells of the heat maps where there are only histograms over time;
//! - `biosnoop`: lines as bcc's biosnoop prints them, from single I/Os of block devices;
//! - `pylatencymap`: PyLatencyMap's records, from single I/Os or histograms over time;
//! - `fio-hist-log`: fio's histogram log, from the same where the direction is known;
//! - `parquet`: single I/Os, one row each, or else histograms, one row per bucket, with losses and
//!   sources in the file's metadata (`iowhy explain parquet`);
//! - `native-capture`: everything, as `iowhy record` keeps it.
//!
//! A file that holds something is replaced with `--force` only, and only once the new one is whole.
//! The target is told by `--to`, else by the ending of the file: `.json`, `.jsonl`, `.ndjson`,
//! `.csv`, `.parquet` or `.iowhy`. What a target cannot carry is refused with the reason: nothing
//! is made up, so averages never become single I/Os. Where an input holds several listings, those
//! that do not fit are named and left out, with exit status 1.
//!
//! ## Examples
//! `iowhy convert biosnoop.txt trace.csv`: for a spreadsheet.
//! `iowhy convert nvme.txt - --to pylatencymap | iowhy map - --compat pylatencymap`: its picture.
//! `blkparse -i sda | iowhy convert - trace.jsonl`: while there is no other way to keep it.

mod streamed;

use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use iowhy_model::{Layer, Listing, Stage};

use crate::arguments::{self, Files, Selection};
use crate::command::{Command, Status};
use crate::messages::{self, Hinted};
use crate::outputs::{Force, Output};
use crate::present::{View, gathered};

/// Entry in the list of commands.
pub const COMMAND: Command = Command {
    name: "convert",
    summary: "Write a capture in another format, as far as that can carry it",
    manual: include_str!("convert.rs"),
    arguments: Convert::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Convert {
    /// The capture to read; `-` is standard input
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// The file to write; `-` is standard output
    #[arg(value_name = "OUT")]
    to_file: PathBuf,
    /// The format to write, instead of the one the file's ending tells
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Read every line as this format instead of recognising it
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    selection: Selection,
}

/// A format that can be written.
#[derive(Clone, Copy)]
struct Target {
    name: &'static str,
    endings: &'static [&'static str],
    /// The view that writes this listing, or why none can.
    view: fn(&Listing) -> Result<&'static str, &'static str>,
}

/// All of them, sorted by name.
const TARGETS: &[Target] = &[
    Target { name: "biosnoop", endings: &[], view: biosnoop },
    Target { name: "csv", endings: &["csv"], view: csv },
    Target { name: "fio-hist-log", endings: &[], view: fio_hist_log },
    Target { name: "json", endings: &["json", "jsonl", "ndjson"], view: json },
    Target { name: "native-capture", endings: &["iowhy"], view: |_| Err(NOTHING) },
    Target { name: "parquet", endings: &["parquet"], view: |_| Err(NOTHING) },
    Target { name: "pylatencymap", endings: &[], view: pylatencymap },
];

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let convert = Convert::from_arg_matches(matches)?;
    let target = convert.target()?;
    // Before anything is read: what cannot be written is said at once.
    let output =
        Output::open(&convert.to_file, convert.force, std::slice::from_ref(&convert.from))?;
    if streamed::NAMES.contains(&target.name) {
        return streamed::run(&convert, target.name, output);
    }
    let files = Files { files: vec![convert.from.clone()], format: convert.format.clone() };
    let Some((mut report, filter, mut incomplete)) =
        gathered(&files, &convert.selection.settled())?
    else {
        return Ok(Status::Failed);
    };
    let mut refused: Vec<String> = Vec::new();
    let mut written: Option<&'static str> = None;
    report.recording.listings.retain(|listing| {
        let outcome = match ((target.view)(listing), written) {
            (Ok(view), Some(other)) if view != other => Err("another kind is written already"),
            (outcome, _) => outcome,
        };
        match outcome {
            Ok(view) => written = Some(view),
            Err(reason) => {
                refused.push(format!(
                    "{} ({}): {reason}",
                    listing.source.place(),
                    listing.source.format
                ));
            }
        }
        outcome.is_ok()
    });
    let Some(view) = written else {
        let reason = refused.first().cloned().unwrap_or_default();
        let text = format!("cannot convert to {}: {reason}", target.name);
        return Err(Hinted::error(text, "`iowhy explain convert` says what each format carries"));
    };
    for reason in &refused {
        messages::warn(&format!("left out: {reason}"), None);
        incomplete = true;
    }
    // Each stretch of time by itself: folded, histograms would lose when they were counted.
    let style = iowhy_show::Style { verbose: true, ..arguments::Output::default().style(filter) };
    let view = View::named(view);
    output.fill(|out| view.write(&report, &style, out))?;
    Ok(Status::incomplete(incomplete))
}

impl Convert {
    /// What to write, by its name or the ending of the file.
    fn target(&self) -> anyhow::Result<&'static Target> {
        let ending = self.to_file.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let wanted = self.to.clone().or(ending).unwrap_or_default();
        let found = TARGETS.iter().find(|target| match &self.to {
            Some(name) => target.name == name,
            None => target.endings.contains(&wanted.as_str()),
        });
        if let Some(found) = found {
            return Ok(found);
        }
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        let hint = format!("`--to` takes {}", names.join(", "));
        Err(match wanted.as_str() {
            "" => Hinted::error("cannot tell which format to write", hint),
            other => Hinted::error(format!("cannot write `{other}`: no such format"), hint),
        })
    }
}

const AVERAGES: &str = "it holds averages, which no longer know single I/Os";
const UNTIMED: &str = "its histograms do not say when they were counted";
const NOTHING: &str = "it holds no latencies";

/// Whether histograms of it have a time.
fn timed(listing: &Listing) -> bool {
    listing.distributions.iter().any(|known| known.start.is_some() && known.length.is_some())
}

/// Single I/Os, else histograms over time, else the reason why neither.
fn over_time(
    listing: &Listing,
    events: &'static str,
    histograms: &'static str,
) -> Result<&'static str, &'static str> {
    match listing {
        _ if !listing.events.is_empty() => Ok(events),
        _ if timed(listing) => Ok(histograms),
        _ if !listing.distributions.is_empty() => Err(UNTIMED),
        _ if !listing.intervals.is_empty() => Err(AVERAGES),
        _ => Err(NOTHING),
    }
}

fn biosnoop(listing: &Listing) -> Result<&'static str, &'static str> {
    let at_device = |event: &iowhy_model::Event| {
        event.layer == Layer::Block && event.latency(Stage::Device).is_some()
    };
    match listing {
        _ if listing.events.iter().any(at_device) => Ok("biosnoop-text"),
        _ if !listing.events.is_empty() => Err("its I/Os were not timed at a block device"),
        _ if !listing.distributions.is_empty() => Err("it holds histograms, not single I/Os"),
        _ if !listing.intervals.is_empty() => Err(AVERAGES),
        _ => Err(NOTHING),
    }
}

fn csv(listing: &Listing) -> Result<&'static str, &'static str> {
    over_time(listing, "events-csv", "heatmap-csv")
}

fn pylatencymap(listing: &Listing) -> Result<&'static str, &'static str> {
    over_time(listing, "pylatencymap-records", "pylatencymap-records")
}

fn fio_hist_log(listing: &Listing) -> Result<&'static str, &'static str> {
    let view = over_time(listing, "fio-hist-log", "fio-hist-log")?;
    let known = listing.distributions.iter().any(|known| known.op.is_some());
    if !known && listing.events.is_empty() {
        return Err("it does not tell reads from writes");
    }
    Ok(view)
}

fn json(listing: &Listing) -> Result<&'static str, &'static str> {
    match listing {
        _ if !listing.events.is_empty() => Ok("events-json"),
        _ if !listing.distributions.is_empty() => Ok("hist-json"),
        _ if !listing.intervals.is_empty() => Ok("stat-json"),
        _ => Err("it holds no I/Os, histograms or averages"),
    }
}
