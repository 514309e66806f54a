//! Measures a device with test I/O, for cases where watching alone does not decide.
//!
//! ## Does
//! Runs one kind of probe on a target and prints its numbers, what they mean and the verdict.
//! Probes only read by default. A kind that writes does so in a new unnamed file in the given
//! directory, which disappears however the probe ends, or on an empty block device confirmed by its
//! serial number. It first prints how many bytes it will write, and reads the area to be
//! overwritten: if that contains anything but zeros, the probe refuses. Ctrl-C keeps the results so
//! far; results of a probe that was killed are printed when the next one starts. Without a kind it
//! lists all kinds; `iowhy explain NAME` prints the manual of one.
//!
//! ## Examples
//! `iowhy probe ramp /dev/sdb`: is the device saturated at 100 % busy?
//! `iowhy probe write-latency /var/lib/mysql`: how long does a synchronous write take there?
//! `iowhy probe read-latency /dev/sdb --size 4k --count 1000`: the read test of a suspect disk.
//! `iowhy probe replay trace.txt /dev/sdb -o again.iowhy`: the reads of a capture, at their times.
//! `iowhy probe surface /dev/sdb --keep sdb.iowhy; iowhy map sdb.iowhy`: its I/Os as a heat map.

mod arguments;
pub(super) mod ask;
pub(super) mod followups;
mod keep;
mod replay;
mod result;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches};
use iowhy_diagnose::{Options, judge};
use iowhy_model::{Medium, Nanos, Op, Recording, Report};
use iowhy_probe::{
    Arrivals, Ask, Durable, EngineChoice, Kind, Order, Outcome, Own, Replay, Session, SoFar, Terms,
    Watcher,
};
use iowhy_show::views;
use serde_json::Value;

use self::arguments::{arrivals, bytes, durable, operation, order, share, size, way};
use self::keep::Keep;
use crate::arguments::{Output, ReadAs, duration};
use crate::command::{Command, Status};
use crate::complete;
use crate::confinement;
use crate::messages::{self, HintedError, Progress};
use crate::outputs::Force;
use crate::sanitised;
use crate::stop::Stop;
use crate::terminal;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "probe",
    summary: "Measure a device with test I/O, without risk to data",
    manual: iowhy_model::manual!("probe.rs"),
    arguments: Probe::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Probe {
    /// Kind of probe; without it, all kinds are listed
    #[arg(add = complete::kinds())]
    kind: Option<String>,
    /// A block device, a large file to read, or a directory for a new test file; `replay` takes the
    /// capture first: `replay CAPTURE TARGET`
    #[arg(value_name = "TARGET", num_args = 0..=2)]
    paths: Vec<PathBuf>,
    /// Size of each I/O (may be given several times): `4k`
    #[arg(long, value_name = "BYTES", value_parser = size)]
    size: Vec<u32>,
    /// All sizes from the device's logical block size up to this one, doubling
    #[arg(long, value_name = "BYTES", value_parser = size, conflicts_with = "size")]
    up_to: Option<u32>,
    /// Number of I/Os per step
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Duration per step or in total (see the manual of the kind)
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Nanos>,
    /// Access pattern: sequential, random or same
    #[arg(long, value_parser = order)]
    order: Option<Order>,
    /// Durability of writes: plain, dsync, fdatasync or rwf-dsync
    #[arg(long, value_parser = durable)]
    durable: Option<Durable>,
    /// Operation, read or write, for kinds that support both
    #[arg(long, value_parser = operation, default_value = "read")]
    op: Op,
    /// Percentage of reads in `mixed`
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    reads: Option<f64>,
    /// Queue depth, or the maximum queue depth
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    depth: Option<u32>,
    /// I/Os started per second, however fast the device completes them (open loop)
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// Arrivals with `--rate`: poisson or constant
    #[arg(long, value_parser = arrivals, default_value = "poisson")]
    arrivals: Arrivals,
    /// Latency goal of `slo`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    goal: Option<Nanos>,
    /// Percentile that must meet the goal
    #[arg(long, value_name = "P", default_value_t = 99.0)]
    percentile: f64,
    /// Size of the test file, or of the tested region of a device
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    span: Option<u64>,
    /// In `replay`, how many times as fast as captured
    #[arg(long, value_name = "TIMES", value_parser = replay::speed, default_value = "1")]
    speed: f64,
    /// In `replay`, each process waits for its own I/Os, with the pauses it made in the capture
    #[arg(long)]
    closed: bool,
    /// In `replay`, replay writes, too: they overwrite a new unnamed file in the target directory,
    /// or an empty device confirmed by `--serial`
    #[arg(long)]
    overwrite: bool,
    /// In `replay`, the device of the capture
    #[arg(short, long, value_name = "NAME")]
    device: Option<String>,
    #[command(flatten)]
    read_as: ReadAs,
    /// Seed for random offsets and arrivals
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// I/O engine: auto, ring (io_uring) or calls (pread, pwrite)
    #[arg(long, value_parser = way, default_value = "auto")]
    engine: EngineChoice,
    /// Use the page cache instead of direct I/O
    #[arg(long)]
    buffered: bool,
    /// Serial number of the device to write to, as confirmation
    #[arg(long, value_name = "SERIAL")]
    serial: Option<String>,
    /// Maximum number of bytes to write, instead of 1 % of the size
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    cap: Option<u64>,
    /// Run even if the device is in use by others
    #[arg(long)]
    share: bool,
    /// Save every I/O in a new file, as `iowhy record` does, for all other commands
    #[arg(short = 'o', long, value_name = "FILE")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    output: Output,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let probe = Probe::from_arg_matches(matches)?;
    let (Some(name), false) = (&probe.kind, probe.paths.is_empty()) else {
        return list(&probe);
    };
    let Some(kind) = iowhy_probe::find(name) else {
        let names: Vec<&str> = iowhy_probe::KINDS.iter().map(|kind| kind.name).collect();
        let hint = format!("the kinds are {}", names.join(", "));
        return Err(HintedError::error(format!("unknown kind of probe `{name}`"), hint));
    };
    let (capture, target) = probe.places(kind)?;
    let keep = probe.keep.as_deref().map(|file| Keep::new(file, probe.force)).transpose()?;
    let (mut ask, mut whole) = (probe.ask(), true);
    if let Some(capture) = capture {
        // Every byte of a capture may be untrusted.
        confinement::asking()?;
        let read = replay::read(capture, probe.device.as_deref(), &probe.read_as)?;
        let (speed, closed, overwrite) = (probe.speed, probe.closed, probe.overwrite);
        ask.replay = Some(Replay { speed, closed, overwrite, ..read.replay });
        whole = !read.incomplete;
    }
    let mut recording = Recording::new();
    let measured = measure(&ask, &probe.terms(), kind, target, &mut recording)?;
    // The measurements are shown even if they cannot be saved.
    let kept = keep.map_or(Ok(()), |keep| keep.write(&recording));
    let status = probe.show(kind, &measured, recording)?;
    kept.map(|()| if whole { status } else { Status::incomplete(true) })
}

/// The results of a probe beside its I/Os.
struct ProbeResult {
    outcome: Outcome,
    own: Own,
    /// Why it ended early, if it did.
    ended: Option<String>,
}

/// Examines the target, shows what will be written, and measures into the recording.
fn measure(
    ask: &Ask,
    terms: &Terms,
    kind: &Kind,
    target: &Path,
    recording: &mut Recording,
) -> anyhow::Result<ProbeResult> {
    for text in iowhy_probe::recover() {
        messages::warn(&format!("an earlier probe was killed; it had measured\n{text}"), None);
    }
    let name = kind.name;
    let permit = iowhy_probe::examine(target, (kind.purpose)(ask), terms)?;
    if let Some(words) = permit.words() {
        messages::warn(&words, None);
    }
    let stop = Stop::new()?;
    let progress = Progress::new(true);
    let mut tick = |so_far: SoFar| {
        progress.update(&format!(
            "preparing the target: {}; Ctrl-C ends early",
            iowhy_model::numbers::bytes(so_far.n as f64 * 1_048_576.0)
        ));
    };
    let target = permit.open(&mut Watcher { stop: stop.flag(), tick: &mut tick })?;
    if kind.loads && !terms.share {
        iowhy_probe::quiet(&target)?;
    }
    let mut show = |text: &str| progress.update(&format!("{name}: {text}"));
    let medium = target.medium;
    let device = target.name();
    let mut session = Session::begin(name, target, recording, stop.flag(), &mut show);
    let outcome = (kind.run)(ask, &mut session)?;
    let (own, ended) = session.end(&outcome);
    let turns = outcome.rpm.map(|_| Medium::Rotational);
    if let (Some(medium), Some(device)) = (turns.or(medium), recording.find_device(&device)) {
        recording.set_medium(device, medium);
    }
    Ok(ProbeResult { outcome, own, ended })
}

impl Probe {
    fn ask(&self) -> Ask {
        let length = |time: Nanos| std::time::Duration::from_nanos(time.ns().max(0) as u64);
        Ask {
            sizes: self.size.clone(),
            up_to: self.up_to,
            reads: self.reads,
            count: self.count,
            time: self.time.map(length),
            order: self.order,
            durable: self.durable,
            op: self.op,
            depth: self.depth,
            per_s: self.rate,
            arrivals: self.arrivals,
            goal: self.goal.map(length),
            quantile: (self.percentile / 100.0).clamp(0.01, 0.99999),
            span: self.span,
            seed: self.seed,
            way: self.engine,
            replay: None,
        }
    }

    /// The capture, if one is replayed, and the target.
    fn places(&self, kind: &Kind) -> anyhow::Result<(Option<&Path>, &Path)> {
        let name = kind.name;
        match (self.paths.as_slice(), name == iowhy_probe::REPLAY) {
            ([target], false) => Ok((None, target)),
            ([capture, target], true) => Ok((Some(capture), target)),
            (_, true) => Err(HintedError::error(
                "`replay` needs a capture and a target",
                "`iowhy probe replay CAPTURE TARGET`; see `iowhy explain replay`",
            )),
            (_, false) => Err(HintedError::error(
                format!("`{name}` takes one target"),
                format!("name a device, a file or a directory; see `iowhy explain {name}`"),
            )),
        }
    }

    fn terms(&self) -> Terms {
        Terms {
            serial: self.serial.clone(),
            cap: self.cap,
            share: self.share,
            buffered: self.buffered,
        }
    }

    fn show(
        &self,
        kind: &Kind,
        measured: &ProbeResult,
        recording: Recording,
    ) -> anyhow::Result<Status> {
        let ProbeResult { outcome, own, ended } = measured;
        let ended = ended.as_deref();
        let incomplete = ended.is_some() || recording.is_incomplete();
        let findings = judge(&recording, &Options::default());
        let report = Report { recording, findings };
        let style = self.output.style(Default::default());
        let mut out = sanitised::stdout();
        let mut verdict = Vec::new();
        let view = if self.output.json { &views::json::VIEW } else { &views::summary::VIEW };
        (view.write)(&report, &style, &mut verdict)?;
        if self.output.json {
            let report: Value = serde_json::from_slice(&verdict)?;
            writeln!(out, "{:#}", result::object(kind, outcome, own, ended, report))?;
        } else {
            result::write_text(kind, outcome, own, ended, &mut out)?;
            writeln!(out)?;
            out.write_all(&verdict)?;
        }
        out.flush()?;
        Ok(Status::incomplete(incomplete))
    }
}

fn list(probe: &Probe) -> anyhow::Result<Status> {
    if let Some(kind) = &probe.kind {
        return Err(HintedError::error(
            format!("`{kind}` needs a target"),
            format!("name a device, a file or a directory; see `iowhy explain {kind}`"),
        ));
    }
    let mut out = sanitised::stdout();
    let width = probe.output.style(Default::default()).width;
    for kind in iowhy_probe::KINDS {
        let line = format!("{:14} {}\n", kind.name, kind.summary);
        out.write_all(terminal::hung(&line, 15, width).as_bytes())?;
    }
    Ok(Status::Done)
}
