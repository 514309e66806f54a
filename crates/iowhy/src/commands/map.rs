//! Latency heat maps over time: number of I/Os, and time waited.
//!
//! ## Does
//! Draws two maps: time on the x axis, latency on the y axis. The first is coloured by I/Os per
//! second, the second by time waited per second, so that a few slow I/Os are visible among many
//! fast ones. Live, and while a capture arrives on a pipe, the picture is redrawn every second
//! until Ctrl-C. It shows the latest seconds, one per column, of one device, the one with the most
//! time waited first; `n` and `p` switch devices, `q` quits. A file is drawn once, over the time
//! that the capture covers. `--svg` and `--png` write pictures, `--csv` and `--json` the numbers in
//! the cells.
//!
//! ## Examples
//! `iowhy map --device sdb`: this machine, now.
//! `iowhy map biosnoop.txt --png map.png`: a capture, as a picture.
//! `iowhy map --hist sdb.blktrace.*`: percentiles, Q2D and D2C side by side, and the maps, in one
//! pass over a trace of any length.
//! `iowhy map --by mount`: a map for each file system; `--by file`: for each file.
//! `biosnoop | iowhy map -`: live output of another tool.
//! `iowhy map --for 60s > picture.txt`: one picture of the next minute.
//! `iowhy map --compat pylatencymap records.txt`: the output of PyLatencyMap 1.3, byte for byte.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches};
use iowhy_live::TraceMode;
use iowhy_model::{Filter, Recording, Report, Sink, Tally};
use iowhy_show::{Style, views};

use crate::arguments::{Files, Output, Part, Selection, Task, TraceArgs, Words, watch_time};
use crate::command::{Command, Status};
use crate::confinement::{self, Later};
use crate::event_names::{self, NameKey};
use crate::messages::HintedError;
use crate::present::{View, counted, named};
use crate::sanitised;
use crate::watch::{Plan, Watch};

mod compat;
mod drawing;
mod keys;
mod pages;
mod stream;
mod window;

use compat::Compat;
use drawing::Drawing;
use pages::Pages;
use stream::BESIDE;
use window::Window;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "map",
    summary: "Latency heat maps over time: number of I/Os, and time waited",
    manual: iowhy_model::manual!("map.rs"),
    arguments: Map::augment_args,
    run,
};

/// How long to watch if the picture is drawn once.
const ONCE: Duration = Duration::from_secs(30);

#[derive(Args, Debug)]
struct Map {
    #[command(flatten)]
    words: Words,
    /// Percentiles and histograms, Q2D next to D2C, before the maps (captures only)
    #[arg(long)]
    hist: bool,
    /// How long to watch; without it, until Ctrl-C on a terminal, else 30 s
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    watch_for: Option<Duration>,
    /// One map per mount, volume, unit, container, pod, file, cpu (of the completion) or queue (of
    /// the hardware) instead of per device, from individual I/Os; several separated by commas
    #[arg(long, value_name = "KEYS", value_parser = event_names::key, value_delimiter = ',',
        conflicts_with_all = ["hist", "compat"])]
    by: Vec<NameKey>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    tracing: TraceArgs,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    part: Part,
    #[command(flatten)]
    drawing: Drawing,
    #[command(flatten)]
    compat: Compat,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let mut map = Map::from_arg_matches(matches)?;
    map.selection = map.selection.settled();
    map.output.stage = map.part.stage;
    let view = View(&views::heatmap::VIEW);
    let repeat = match map.words.task(matches)? {
        Task::Read(files) if map.compat.compat.is_some() => return map.compat.draw(&files),
        Task::Read(files) => return map.of_files(&files),
        Task::Watch(_) if map.hist => {
            let hint = "use `iowhy hist` live; `map --hist` is for captures";
            return Err(HintedError::error("`--hist` is not available live", hint));
        }
        Task::Watch(repeat) => repeat,
    };
    let column = repeat.interval.unwrap_or(Duration::from_secs(1));
    let text = map.drawing.is_text(map.output.json);
    let screen = std::io::stdout().is_terminal() && text;
    let asked = map.watch_for.or(repeat.length());
    let selection = map.selection.settled_here()?;
    let pictures = map.drawing.pictures(&[])?;
    let mut pages = if screen { Some(Pages::open()?) } else { None };
    // Histograms know devices only.
    let mode = if map.by.is_empty() { TraceMode::Histograms } else { TraceMode::Events };
    let mut watch = Watch::start(&Plan {
        cgroups: map.by.iter().copied().any(NameKey::is_of_cgroup),
        files: map.by.contains(&NameKey::File),
        places: map.by.iter().copied().any(NameKey::is_of_path),
        later: Later::Write(confinement::folders(&map.drawing.files())),
        progress: !screen,
        length: asked.or((!screen).then_some(ONCE)),
        ..Plan::traced(mode, &selection, map.tracing)?
    })?;
    let filter = watch.filter_of_counted(&selection);
    let mut names = NamedParts { keys: &map.by, filter: filter.clone(), known: Vec::new() };
    // By their names, all that are left were asked for.
    let filter = if map.by.is_empty() { filter } else { Filter::default() };
    let style = map.drawing.style(map.output.style(filter));
    let mut window = Window::default();
    let (mut incomplete, mut quit) = (false, false);
    while !quit && !watch.is_over() {
        let Some(pages) = &mut pages else {
            watch.run_for(column)?;
            continue;
        };
        watch.run(column, |_, nap| {
            quit = pages.ends_within(&view, nap)?;
            Ok(quit)
        })?;
        let mut part = watch.sink.take();
        if !names.rename(&mut part) {
            window = Window::default();
        }
        incomplete |= part.is_incomplete();
        let recording = window.add(part, style.width - BESIDE);
        pages.draw(&view, Report { recording, findings: Vec::new() }, style.clone())?;
    }
    if pages.take().is_some() {
        // Further output on this terminal appears below the picture.
        writeln!(sanitised::stdout())?;
    }
    let mut recording = watch.end()?;
    incomplete |= recording.is_incomplete();
    if !screen {
        names.rename(&mut recording);
        let report = Report { recording, findings: Vec::new() };
        map.drawing.write(&report, &style, map.output.json, pictures)?;
    }
    Ok(Status::incomplete(incomplete))
}

/// Names in place of devices, the same numbers in each part of what is watched.
struct NamedParts<'a> {
    keys: &'a [NameKey],
    filter: Filter,
    /// The devices of the previous part, and their other names.
    known: Vec<String>,
}

impl NamedParts<'_> {
    /// Renames a part, if that was asked for; false if a device that is new has taken the number of
    /// a name.
    fn rename(&mut self, part: &mut Recording) -> bool {
        if self.keys.is_empty() {
            return true;
        }
        let filter = &self.filter;
        part.listings
            .iter_mut()
            .for_each(|listing| listing.events.retain(|event| filter.event(event)));
        let own = part.devices().iter().map(|device| device.name.clone());
        let same = self.known.is_empty() || own.zip(&self.known).all(|(own, known)| own == *known);
        if same {
            for name in &self.known {
                part.device(name);
            }
        }
        event_names::rename(part, self.keys);
        self.known = part.devices().iter().map(|device| device.name.clone()).collect();
        same
    }
}

impl Map {
    fn of_files(&self, files: &Files) -> anyhow::Result<Status> {
        let text = self.drawing.is_text(self.output.json);
        let plain = !self.hist && self.by.is_empty();
        if text && plain && files.is_stdin() && std::io::stdout().is_terminal() {
            return self.arriving(files);
        }
        let pictures = self.drawing.pictures(&files.files)?;
        confinement::reading(files.files.iter().map(PathBuf::as_path), &self.drawing.files())?;
        let counted = if self.by.is_empty() {
            counted(files, &self.selection, self.part.stage)?
        } else {
            let mut tally = Tally::default();
            tally.over_time(self.part.stage);
            let named = named(files, &self.selection, tally, &self.by)?;
            named.map(|(report, incomplete)| (report, Filter::default(), incomplete))
        };
        let Some((report, filter, incomplete)) = counted else { return Ok(Status::Failed) };
        let style = self.drawing.style(self.output.style(filter));
        if self.hist {
            let view =
                if self.output.json { &views::hist_json::VIEW } else { &views::histogram::VIEW };
            let style = Style { verbose: !self.output.json, ..style.clone() };
            let mut out = sanitised::buffered();
            View(view).write(&report, &style, &mut out)?;
            out.write_all(if self.output.json { b"" } else { b"\n" })?;
            out.flush()?;
        }
        self.drawing.write(&report, &style, self.output.json, pictures)?;
        Ok(Status::incomplete(incomplete))
    }
}
