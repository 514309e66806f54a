//! Records every I/O of this machine in a file that all other commands can read.
//!
//! ## Does
//! Traces every request and writes a native capture: times in nanoseconds, sector, size, flags,
//! process, queue depth at issue and error of each request; also the kernel's own counters, read
//! each second, the settings of the devices, and what was lost. A request typically takes nine
//! bytes. `why`, `hist`, `snoop`, `map`, `stat` and `convert` read the file.
//!
//! The file is append-only, in independent blocks, at least one each second: a recorder that is
//! killed loses at most its last second. A full disk ends the recording; the file stays readable
//! and records what is missing. Blocks are written without fsync, which would disturb the
//! measurement: a crash of the whole machine can lose more. The recording's own writes are I/O,
//! too: write to a disk that is not watched, or select one with `--device`.
//!
//! `--rotate 1G` or `--rotate 10m` starts a new file after this size or duration: FILE.0000,
//! FILE.0001 and so on, each readable by itself; `--keep-files 6` removes older ones. At the end
//! the files, the number of I/Os and the losses are printed on stderr, with `--json` as one object
//! of schema `iowhy.record/1` on stdout. The exit status is 1 if anything was lost.
//!
//! With `-- COMMAND` the command is started once tracing has begun, with the rights of iowhy, and
//! the recording ends with it. The exit status is that of the command (128 + N if signal N ended
//! it), unless iowhy failed (2). All I/O of that time is recorded, because a verdict needs that of
//! others too; `--comm` or `--cgroup` keep less. What the command writes through the page cache is
//! sent later by a thread of the kernel (`kworker`), maybe after its end: it is recorded under that
//! name, unless the command calls fsync or `sync`; `--cgroups` records who pays for it.
//!
//! ## Examples
//! `iowhy record -o trace.iowhy --for 1m`: a minute; then `iowhy why trace.iowhy`.
//! `iowhy record -o /var/tmp/night.iowhy --rotate 1h --keep-files 12 --device sdb`: the last twelve
//! hours.
//! `iowhy record -o - --for 10s | ssh desk 'cat > trace.iowhy'`: nothing is written on this
//! machine.
//! `iowhy record -o build.iowhy -- make -j8`: while a command runs.
//! `iowhy convert trace.iowhy trace.parquet`: for DuckDB, pandas and others.

mod part;
mod summary;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, FromArgMatches};
use iowhy_capture::Writer;
use iowhy_live::{DirtyPauses, FuseWaits, MountStats, ServerCalls, TraceMode};
use iowhy_model::{Fact, Note, Sink};

use crate::arguments::{Selection, TraceArgs, duration, watch_time};
use crate::collectors::LiveCollectors;
use crate::command::{Command, Status};
use crate::confinement::{self, Later};
use crate::messages::{self, HintedError};
use crate::outputs::Force;
use crate::stop::Stop;
use crate::watch::{self, Plan, Watch};
use crate::watch_time::GivenCommand;
use crate::when::length;
use part::{Part, Place};

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "record",
    summary: "Record every I/O in a file that all other commands can read",
    manual: iowhy_model::manual!("record.rs"),
    arguments: Record::augment_args,
    run,
};

/// How often the tracer's ring of 8 MiB is emptied: it holds 100,000 events, so that two million
/// a second fit.
const DRAIN: Duration = Duration::from_millis(50);
/// Maximum age of a block before it is written: with one drain, less than a second.
const BLOCK_AGE: Duration = Duration::from_millis(900);
/// How often new devices are looked for and the kernel's counters read.
const SECOND: Duration = Duration::from_secs(1);

#[derive(Args, Debug)]
struct Record {
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How long to watch; without it, until Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    watch_for: Option<Duration>,
    /// Start a new file after this size or duration: `500M`, `2G`, `10m`, `1h`
    #[arg(long, value_name = "SIZE|TIME", value_parser = rotation)]
    rotate: Option<Rotation>,
    /// Keep at most this many files; the oldest are removed
    #[arg(long, value_name = "N", requires = "rotate", value_parser = clap::value_parser!(u32).range(1..))]
    keep_files: Option<u32>,
    /// Also record the control group of each I/O, from which unit, container and pod follow
    #[arg(long)]
    cgroups: bool,
    /// Also record the file of each I/O, where it is known
    #[arg(long)]
    files: bool,
    /// Also record the CPU of the completion and the hardware queue of each I/O
    #[arg(long)]
    places: bool,
    /// One JSON object (or one per line) instead of text; `docs/JSON.md` has the schemas
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    given: GivenCommand,
}

/// When to start another file.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Rotation {
    /// After this many bytes.
    Bytes(u64),
    /// After this time.
    Time(Duration),
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let record = Record::from_arg_matches(matches)?;
    let place =
        Place::new(&record.output, record.rotate.is_some(), record.keep_files, record.force)?;
    if record.json && place.is_stdout() {
        let hint = "name a file: `-o trace.iowhy`";
        return Err(HintedError::error("the capture and the JSON cannot both go to stdout", hint));
    }
    let mut recorder = Recorder::begin(&record, place)?;
    let outcome = recorder.run(record.rotate);
    let end = recorder.end(outcome)?;
    if record.json {
        end.json()?;
    } else {
        end.say();
    }
    Ok(Status::incomplete(end.is_incomplete()))
}

/// A watch that emits into a file.
struct Recorder {
    watch: Watch<Writer<Part>>,
    place: Place,
    /// Devices already reported as gone.
    gone: Vec<String>,
}

impl Recorder {
    fn begin(record: &Record, mut place: Place) -> anyhow::Result<Recorder> {
        let selection = record.selection.settled_here()?;
        let plan = Plan {
            cgroups: record.cgroups,
            files: record.files,
            places: record.places,
            programs_only: true,
            sample: Some(SECOND),
            length: record.watch_for,
            command: record.given.clone(),
            later: Later::Write(confinement::folders(&[&record.output])),
            progress: true,
            ..Plan::traced(TraceMode::Events, &selection, TraceArgs::default())?
        };
        // Before anything is watched: if it is stopped now, the file still has an end mark.
        let stop = Stop::new()?;
        let mut writer = Writer::new(place.next()?, part::stream_number());
        let mut collectors =
            LiveCollectors::begin(&plan, &mut writer).inspect_err(|_| writer.out().abandon())?;
        collectors.trace_at(DRAIN);
        collectors.add(DirtyPauses::default(), SECOND, &mut writer)?;
        collectors.add(FuseWaits::new(Path::new("/")), SECOND, &mut writer)?;
        collectors.add(MountStats::new(Path::new("/")), SECOND, &mut writer)?;
        collectors.add(ServerCalls::default(), SECOND, &mut writer)?;
        for device in collectors.watched() {
            let id = writer.device(&device.name);
            for (key, value, read_from) in &device.facts {
                writer.fact(Fact::read(Some(id), key.clone(), value, read_from.clone()));
            }
        }
        let mut watch = Watch::of(writer, collectors, stop, &plan);
        watch.set_out(&plan).inspect_err(|_| watch.sink.out().abandon())?;
        place.check_next()?;
        Ok(Recorder { watch, place, gone: Vec::new() })
    }

    /// Reports devices that went away, on stderr and in the capture.
    fn name_vanished(&mut self) -> anyhow::Result<()> {
        for name in watch::vanished(&self.watch.collectors)? {
            if self.gone.contains(&name) {
                continue;
            }
            let reason = watch::went_away(&name);
            messages::warn(&reason, None);
            self.watch.sink.note(Note { line: 0, text: String::new(), reason });
            self.gone.push(name);
        }
        Ok(())
    }

    /// Records until the watch is over, or the file cannot be written.
    fn run(&mut self, rotate: Option<Rotation>) -> anyhow::Result<()> {
        let begun = Instant::now();
        let (mut written, mut part_begun) = (begun, begun);
        while !self.watch.is_over() {
            let place = &mut self.place;
            self.watch.run(SECOND, |watch, nap| {
                std::thread::sleep(nap);
                let writer = &mut watch.sink;
                if written.elapsed() >= BLOCK_AGE || writer.failed().is_some() {
                    written = Instant::now();
                    writer.flush()?;
                }
                let due = match rotate {
                    None => false,
                    Some(Rotation::Bytes(bytes)) => writer.out().bytes() >= bytes,
                    Some(Rotation::Time(time)) => part_begun.elapsed() >= time,
                };
                if due {
                    part_begun = Instant::now();
                    let next = place.next()?;
                    place.done(&mut writer.go_on_in(next)?);
                }
                Ok(false)
            })?;
            self.name_vanished()?;
            let (events, seconds) = (self.watch.sink.events(), self.watch.elapsed().as_secs());
            self.watch.show(format!("recording: {events} I/Os in {seconds} s; Ctrl-C ends"));
        }
        Ok(())
    }

    /// Detaches, writes the rest, and prints the summary.
    fn end(mut self, outcome: anyhow::Result<()>) -> anyhow::Result<summary::Summary> {
        let seconds = self.watch.elapsed().as_secs_f64();
        self.watch.finish()?;
        let writer = &mut self.watch.sink;
        let written = match outcome {
            Ok(()) => writer.finish().map_err(anyhow::Error::from),
            Err(error) => Err(error),
        };
        // The reader of the pipe has ended.
        let written = match written {
            Err(error) if messages::is_broken_pipe(&error) => return Err(error),
            other => other,
        };
        if let Err(error) = &written {
            let name = writer.out().name().to_string();
            let text = format!("cannot continue writing `{name}`: {error}");
            messages::warn(&text, Some("everything recorded so far is kept and readable"));
            // A partial block is cut off; if the end mark does not fit either, the reader reports
            // it.
            writer.out().back_to_whole();
            if writer.finish_after_error("not written: the file could not grow").is_err() {
                writer.out().back_to_whole();
            }
        }
        self.place.done(writer.out());
        Ok(summary::Summary::of(writer, &self.place, seconds, written.is_err()))
    }
}

/// `500M` and `2G` are sizes, `30s`, `10m` and `1h` are times.
fn rotation(text: &str) -> Result<Rotation, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if matches!(unit, "s" | "m" | "min" | "h") {
        let time = duration(text)?;
        if time.ns() < 1_000_000_000 {
            return Err("the shortest duration of a file is 1s".to_string());
        }
        return Ok(Rotation::Time(length(time)));
    }
    match iowhy_read::bytes(text).filter(|bytes| *bytes >= f64::from(1 << 20)) {
        Some(bytes) if !unit.is_empty() => Ok(Rotation::Bytes(bytes as u64)),
        Some(_) => Err("give a unit: `500M`, `2G`, `10m` or `1h`".to_string()),
        None => {
            Err(format!("`{text}` is neither a size of at least 1M nor a duration such as `10m`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_and_a_time_are_told_apart_by_their_unit() {
        assert_eq!(rotation("500M"), Ok(Rotation::Bytes(500 << 20)));
        assert_eq!(rotation("10m"), Ok(Rotation::Time(Duration::from_secs(600))));
        assert_eq!(rotation("1h"), Ok(Rotation::Time(Duration::from_secs(3600))));
        assert!(rotation("100000000").is_err());
        assert!(rotation("10ms").is_err());
        assert!(rotation("4k").is_err());
    }
}
