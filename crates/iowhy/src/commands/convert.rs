//! Converts a capture to another format, as far as that format allows.
//!
//! ## Does
//! Reads any format that iowhy reads (`iowhy explain formats`) and writes it as:
//!
//! - `json`: JSON lines of schema `iowhy.event/1`, one line of `iowhy.hist/1`, or lines of
//!   `iowhy.stat/1`, whichever is the most detailed that it contains;
//! - `csv`: single I/Os, or the cells of the heat maps where there are only histograms over time;
//! - `biosnoop`: lines as bcc's biosnoop prints them, from single I/Os of block devices;
//! - `blkparse`: the text that blkparse prints, a `D` and a `C` line per request; not the binary
//!   file of blktrace, which `fio --read_iolog` also reads;
//! - `fio-iolog`: fio's log of single I/Os with times (version 3) for `fio --read_iolog`;
//! - `pylatencymap`: PyLatencyMap's records, from single I/Os or histograms over time;
//! - `fio-hist-log`: fio's histogram log, from the same data if the direction is known;
//! - `parquet`: single I/Os, one row each, or else histograms, one row per bucket, with losses and
//!   sources in the file's metadata (`iowhy explain parquet`);
//! - `iowhy-capture`: everything, as `iowhy record` writes it.
//!
//! An existing file that is not empty is replaced only with `--force`, and only when the new one is
//! complete. The target is set by `--to`, else by the extension of the file name: `.json`,
//! `.jsonl`, `.ndjson`, `.csv`, `.parquet` or `.iowhy`. A conversion that the target does not
//! support is refused with the reason: no data is invented, so averages never become individual
//! I/Os. Fields of an I/O that the target cannot contain are named, with exit status 0. If an input
//! contains several listings, those that do not fit are named and left out, with exit status 1.
//!
//! ## Examples
//! `iowhy convert biosnoop.txt trace.csv`: for a spreadsheet.
//! `iowhy convert nvme.txt - --to pylatencymap | iowhy map - --compat pylatencymap`: its heat map.
//! `iowhy convert trace.iowhy log --to fio-iolog; fio --name=r --read_iolog=log`: fio's replay.
//! `blkparse -i sda | iowhy convert - trace.jsonl`: saves live output.

mod stream;

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use iowhy_model::{EVENTS_KEPT, Filter, Layer, Listing, Report, Stage};
use iowhy_show::{Style, View, views};

use crate::arguments::{self, Files, ReadAs, Selection};
use crate::command::{Command, Status};
use crate::confinement;
use crate::messages::{self, HintedError, ProgressMessage};
use crate::outputs::{Force, Output};
use crate::present::{counted, knows_devices};
use crate::rows::{RefusedListing, Rows, RowsOutcome};
use crate::sanitised::SanitisedWriter;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "convert",
    summary: "Convert a capture to another format, as far as that format allows",
    manual: iowhy_model::manual!("convert.rs"),
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
    /// Output format; by default taken from the file name extension
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    #[command(flatten)]
    read_as: ReadAs,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    selection: Selection,
}

/// An output format.
#[derive(Clone, Copy)]
struct Target {
    name: &'static str,
    endings: &'static [&'static str],
    /// The view that writes this listing, or the reason why none can.
    view: fn(&Listing) -> Result<&'static View, &'static str>,
    /// The fields of a single I/O that it can store.
    carries: Carries,
}

/// The fields of a single I/O that a format can store.
#[derive(Clone, Copy)]
enum Carries {
    /// All fields.
    All,
    /// These, by their names in the list.
    Only(&'static [&'static str]),
}

/// All of them, sorted by name.
const TARGETS: &[Target] = &[
    Target { name: "biosnoop", endings: &[], view: biosnoop, carries: Carries::Only(&BIOSNOOP) },
    Target { name: "blkparse", endings: &[], view: blkparse, carries: Carries::Only(&BLKPARSE) },
    Target { name: "csv", endings: &["csv"], view: csv, carries: Carries::All },
    Target {
        name: "fio-hist-log",
        endings: &[],
        view: fio_hist_log,
        carries: Carries::Only(&["completed_ns", "issued_ns", "op"]),
    },
    Target {
        name: "fio-iolog",
        endings: &[],
        view: fio_iolog,
        carries: Carries::Only(&["device", "op", "queued_ns", "issued_ns", "sector", "bytes"]),
    },
    Target {
        name: "iowhy-capture",
        endings: &["iowhy"],
        view: |_| Err(NOTHING),
        carries: Carries::All,
    },
    Target {
        name: "json",
        endings: &["json", "jsonl", "ndjson"],
        view: json,
        carries: Carries::All,
    },
    Target {
        name: "parquet",
        endings: &["parquet"],
        view: |_| Err(NOTHING),
        carries: Carries::All,
    },
    Target {
        name: "pylatencymap",
        endings: &[],
        view: pylatencymap,
        carries: Carries::Only(&["completed_ns", "issued_ns"]),
    },
];

/// The columns of biosnoop; the layer is implied.
const BIOSNOOP: [&str; 11] = [
    "device",
    "op",
    "flags",
    "queued_ns",
    "issued_ns",
    "completed_ns",
    "sector",
    "bytes",
    "pid",
    "comm",
    "layer",
];

/// The fields that blkparse prints at issue and completion; the layer is implied, too.
const BLKPARSE: [&str; 11] = [
    "device",
    "op",
    "flags",
    "issued_ns",
    "completed_ns",
    "sector",
    "bytes",
    "pid",
    "comm",
    "error",
    "layer",
];
/// Formats in order of issue: nothing can be written before the last I/O is read.
const BY_ISSUE: [&str; 2] = ["blkparse", "fio-iolog"];

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let convert = Convert::from_arg_matches(matches)?;
    let target = convert.target()?;
    // Before anything is read, so that a format that cannot be written is reported at once.
    let output =
        Output::open(&convert.to_file, convert.force, std::slice::from_ref(&convert.from))?;
    confinement::reading([convert.from.as_path()], &[&convert.to_file])?;
    if stream::NAMES.contains(&target.name) {
        return stream::run(&convert, target.name, output);
    }
    let files = Files {
        files: vec![convert.from.clone()],
        read_as: convert.read_as.clone(),
        ..Files::default()
    };
    // Each interval separately: folded histograms would lose their times.
    let style = Style { verbose: true, ..arguments::Output::default().style(Filter::default()) };
    let selection = convert.selection.settled();
    if target.name == "pylatencymap" {
        // Counted while it is read: its records are counts.
        let Some((report, filter, incomplete)) = counted(&files, &selection, None)? else {
            return Ok(Status::Failed);
        };
        let done = whole(target, report, Style { filter, ..style }, incomplete, output)?;
        messages::warn(
            "left out: all fields of individual I/Os except completion time and latency",
            None,
        );
        return Ok(done);
    }
    let handle = output.handle().map_err(|cause| output.cannot(cause))?;
    let mut out = SanitisedWriter::new(BufWriter::new(handle), false);
    let mut rows = Rows::new(&mut out, &selection, style.clone(), Box::new(target.view));
    if let Carries::Only(carried) = target.carries {
        rows.places(carried);
    }
    if BY_ISSUE.contains(&target.name) {
        rows.keep_whole();
    }
    let (failed, prose) = files.emit(&mut rows)?;
    let left_out = rows.left_out().to_vec();
    if rows.is_too_long() {
        let text = format!(
            "cannot convert to {}: more than {EVENTS_KEPT} I/Os, which would all have to be in \
             memory to be in order of issue",
            target.name
        );
        return Err(HintedError::error(text, "convert a part: `--device`, `--op` or `--comm`"));
    }
    let done = match rows.finish(prose).map_err(|cause| output.cannot(cause))? {
        RowsOutcome::Parts { recording, refused, incomplete } => {
            if !knows_devices(&recording, &selection) {
                return Ok(Status::Failed);
            }
            out.flush().map_err(|cause| output.cannot(cause))?;
            output.keep()?;
            Ok(Status::incomplete(failed > 0 || incomplete || say(&refused)))
        }
        RowsOutcome::Whole(mut recording) => {
            if recording.listings.is_empty() || !knows_devices(&recording, &selection) {
                return Ok(Status::Failed);
            }
            let filter = selection.filter(&mut recording);
            let incomplete = failed > 0 || recording.is_incomplete();
            let report = Report { recording, findings: Vec::new() };
            whole(target, report, Style { filter, ..style }, incomplete, output)
        }
    }?;
    if !left_out.is_empty() && done != Status::Failed {
        let titles: Vec<&str> = left_out.iter().map(|field| field.title).collect();
        let text =
            format!("left out: {}, which {} has no field for", titles.join(", "), target.name);
        messages::warn(&text, None);
    }
    Ok(done)
}

/// Writes what the target can store of a report.
fn whole(
    target: &Target,
    mut report: Report,
    style: Style,
    incomplete: bool,
    output: Output,
) -> anyhow::Result<Status> {
    let listings = std::mem::take(&mut report.recording.listings);
    // The most detailed listing decides, not averages that come before single I/Os.
    let richness =
        |listing: &Listing| (!listing.events.is_empty(), !listing.distributions.is_empty());
    let views = listings.iter().filter_map(|one| Some((richness(one), (target.view)(one).ok()?)));
    let best = views.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let view = best.map(|(_, view)| view);
    let outcomes: Vec<Result<(), &str>> = listings
        .iter()
        .map(|listing| match (target.view)(listing) {
            Ok(own) if Some(own) != view => Err("the output already contains another kind of data"),
            outcome => outcome.map(|_| ()),
        })
        .collect();
    let written: Vec<&Listing> =
        listings.iter().zip(&outcomes).filter(|(_, one)| one.is_ok()).map(|(one, _)| one).collect();
    let refused = listings.iter().zip(&outcomes);
    let refused: Vec<RefusedListing> = refused
        .filter_map(|(listing, outcome)| {
            Some(RefusedListing::of(listing, outcome.err()?, &written))
        })
        .collect();
    let Some(view) = view else {
        let reason = refused.first().map_or("", |refused| &refused.reason);
        let text = format!("cannot convert to {}: {reason}", target.name);
        return Err(HintedError::error(
            text,
            "`iowhy explain convert` lists what each format can contain",
        ));
    };
    let kept = listings.into_iter().zip(outcomes).filter(|(_, outcome)| outcome.is_ok());
    report.recording.listings = kept.map(|(listing, _)| listing).collect();
    let _working = ProgressMessage::on("writing");
    output.fill_text(|out| (view.write)(&report, &style, out))?;
    Ok(Status::incomplete(say(&refused) || incomplete))
}

/// Reports what was left out; returns whether anything is missing.
fn say(refused: &[RefusedListing]) -> bool {
    for one in refused {
        messages::warn(&format!("left out: {}", one.reason), None);
    }
    refused.iter().any(|one| one.is_loss)
}

impl Convert {
    /// The output format, by its name or the file name extension.
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
            "" => HintedError::error("output format not specified", hint),
            other => HintedError::error(format!("unknown output format `{other}`"), hint),
        })
    }
}

const AVERAGES: &str = "it contains averages, not individual I/Os";
const UNTIMED: &str = "its histograms have no times";
const NOTHING: &str = "it contains no latencies";

/// Whether its histograms have a time.
fn timed(listing: &Listing) -> bool {
    listing.distributions.iter().any(|known| known.start.is_some() && known.length.is_some())
}

/// Single I/Os, else histograms over time, else the reason why neither.
fn over_time(
    listing: &Listing,
    events: &'static View,
    histograms: &'static View,
) -> Result<&'static View, &'static str> {
    match listing {
        _ if !listing.events.is_empty() => Ok(events),
        _ if timed(listing) => Ok(histograms),
        _ if !listing.distributions.is_empty() => Err(UNTIMED),
        _ if !listing.intervals.is_empty() => Err(AVERAGES),
        _ => Err(NOTHING),
    }
}

fn biosnoop(listing: &Listing) -> Result<&'static View, &'static str> {
    let at_device = |event: &iowhy_model::Event| {
        event.layer == Layer::Block && event.latency(Stage::Device).is_some()
    };
    single(listing, at_device, "its I/Os were not timed at a block device")
        .map(|()| &views::biosnoop_text::VIEW)
}

fn blkparse(listing: &Listing) -> Result<&'static View, &'static str> {
    biosnoop(listing).map(|_| &views::blkparse_text::VIEW)
}

fn fio_iolog(listing: &Listing) -> Result<&'static View, &'static str> {
    let started = |event: &iowhy_model::Event| {
        event.sector.is_some() && event.queued.or(event.issued).is_some()
    };
    single(listing, started, "its I/Os have no sector or no time of issue")
        .map(|()| &views::fio_iolog::VIEW)
}

/// Whether a listing has single I/Os that `fit`, or the reason why not.
fn single(
    listing: &Listing,
    fit: impl Fn(&iowhy_model::Event) -> bool,
    unfit: &'static str,
) -> Result<(), &'static str> {
    match listing {
        _ if listing.events.iter().any(fit) => Ok(()),
        _ if !listing.events.is_empty() => Err(unfit),
        _ if !listing.distributions.is_empty() => Err("it contains histograms, not individual \
                                                       I/Os"),
        _ if !listing.intervals.is_empty() => Err(AVERAGES),
        _ => Err(NOTHING),
    }
}

fn csv(listing: &Listing) -> Result<&'static View, &'static str> {
    over_time(listing, &views::events_csv::VIEW, &views::heatmap_csv::VIEW)
}

fn pylatencymap(listing: &Listing) -> Result<&'static View, &'static str> {
    over_time(listing, &views::pylatencymap_records::VIEW, &views::pylatencymap_records::VIEW)
}

fn fio_hist_log(listing: &Listing) -> Result<&'static View, &'static str> {
    let view = over_time(listing, &views::fio_hist_log::VIEW, &views::fio_hist_log::VIEW)?;
    let known = listing.distributions.iter().any(|known| known.op.is_some());
    if !known && listing.events.is_empty() {
        return Err("it does not distinguish reads from writes");
    }
    Ok(view)
}

fn json(listing: &Listing) -> Result<&'static View, &'static str> {
    match listing {
        _ if !listing.events.is_empty() => Ok(&views::events_json::VIEW),
        _ if !listing.distributions.is_empty() => Ok(&views::hist_json::VIEW),
        _ if !listing.intervals.is_empty() => Ok(&views::stat_json::VIEW),
        _ => Err("it contains no I/Os, histograms or averages"),
    }
}
