//! Measures with I/O of its own: the measurement that decides when watching is not enough.
//!
//! ## Does
//! Runs one kind of probe on a target and prints its numbers, what they mean and the verdict.
//! Reads by default. A kind that writes does so in a new file without a name inside the directory
//! given, gone at the end however it ends, or on a block device with nothing on it whose serial
//! number is typed; it says first how many bytes. Ctrl-C keeps the result so far. Without a kind
//! it lists them; `iowhy explain NAME` is the manual of one.
//!
//! ## Examples
//! `iowhy probe ramp /dev/sdb`: is 100 % busy full?
//! `iowhy probe write-latency /var/lib/mysql`: how long does a synchronous write take there?
//! `iowhy probe read-latency /dev/sdb --size 4k --count 1000`: the read test of a suspect disk.

mod result;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use iowhy_diagnose::{Options, judge};
use iowhy_model::{Layer, Nanos, Op, Recording, Report};
use iowhy_probe::{
    Arrivals, Ask, Durable, Kind, Order, Outcome, Own, Session, Terms, Watcher, Way,
};
use serde_json::Value;

use crate::arguments::{Output, duration};
use crate::command::{Command, Status};
use crate::messages::{self, Hinted, Progress};
use crate::stop::Stop;

/// Entry in the list of commands.
pub const COMMAND: Command = Command {
    name: "probe",
    summary: "Measures with I/O of its own, and never harms data",
    manual: include_str!("probe.rs"),
    arguments: Probe::augment_args,
    run,
};

/// Verdicts on the load say nothing here: the load is the probe's own, and on purpose.
const OWN_LOAD: [&str; 4] = ["load.burst", "load.large-io", "load.saturated", "load.small-sync"];

#[derive(Args, Debug)]
struct Probe {
    /// What to measure; without it, the kinds are listed
    kind: Option<String>,
    /// A block device, a large file to read, or a directory to write a new file in
    target: Option<PathBuf>,
    /// Bytes of each I/O (may be given several times): `4k`
    #[arg(long, value_name = "BYTES", value_parser = size)]
    size: Vec<u32>,
    /// I/Os per step
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// How long, per step or in all; the kind's manual says which
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Nanos>,
    /// Where they go: sequential, random or same
    #[arg(long, value_parser = order)]
    order: Option<Order>,
    /// What a write waits for: plain, dsync, fdatasync or rwf-dsync
    #[arg(long, value_parser = durable)]
    durable: Option<Durable>,
    /// Read or write, for kinds that can do both
    #[arg(long, value_parser = operation, default_value = "read")]
    op: Op,
    /// In flight, or the most in flight
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    depth: Option<u32>,
    /// Starts per second, whatever the device does
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// When those are due: poisson or constant
    #[arg(long, value_parser = arrivals, default_value = "poisson")]
    arrivals: Arrivals,
    /// The latency to keep, for `slo`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    goal: Option<Nanos>,
    /// The percentile that has to keep it
    #[arg(long, value_name = "P", default_value_t = 99.0)]
    percentile: f64,
    /// Size of the test file, or of the region of a device
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    span: Option<u64>,
    /// Seed of places and arrivals
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How the kernel is asked: auto, ring (io_uring) or calls (pread, pwrite)
    #[arg(long, value_parser = way, default_value = "auto")]
    engine: Way,
    /// Through the page cache, not past it
    #[arg(long)]
    buffered: bool,
    /// The serial number of a device that may be written to
    #[arg(long, value_name = "SERIAL")]
    serial: Option<String>,
    /// Most bytes that may be written, instead of 1 % of the size
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    cap: Option<u64>,
    /// Load a device though others use it
    #[arg(long)]
    share: bool,
    #[command(flatten)]
    output: Output,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let probe = Probe::from_arg_matches(matches)?;
    let (Some(name), Some(target)) = (&probe.kind, &probe.target) else {
        return list(&probe);
    };
    let Some(kind) = iowhy_probe::find(name) else {
        let names: Vec<&str> = iowhy_probe::KINDS.iter().map(|kind| kind.name).collect();
        let hint = format!("the kinds are {}", names.join(", "));
        return Err(Hinted::error(format!("no kind of probe is called `{name}`"), hint));
    };
    let (ask, terms) = (probe.ask(), probe.terms());
    let permit = iowhy_probe::examine(target, (kind.purpose)(&ask), &terms)?;
    if let Some(words) = permit.words() {
        messages::warn(&words, None);
    }
    let stop = Stop::new()?;
    let progress = Progress::new(true);
    let mut tick = |done: u64| progress.update(&format!("writing the file: {done} bytes"));
    let target = permit.open(&mut Watcher { stop: stop.flag(), tick: &mut tick })?;
    if kind.loads && !terms.share {
        iowhy_probe::quiet(&target)?;
    }
    let mut recording = Recording::new();
    let mut show = |text: &str| progress.update(&format!("{name}: {text}"));
    let medium = target.medium;
    let mut session = Session::begin(kind.name, target, &mut recording, stop.flag(), &mut show);
    let outcome = (kind.run)(&ask, &mut session)?;
    let (own, ended) = session.end();
    drop(progress);
    if let (Some(medium), Some(device)) =
        (medium, recording.listings.iter().flat_map(|known| &known.events).next())
    {
        recording.set_medium(device.device, medium);
    }
    probe.show(kind, &outcome, &own, ended.as_deref(), recording)
}

impl Probe {
    fn ask(&self) -> Ask {
        let length = |time: Nanos| std::time::Duration::from_nanos(time.ns().max(0) as u64);
        Ask {
            sizes: self.size.clone(),
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
        outcome: &Outcome,
        own: &Own,
        ended: Option<&str>,
        recording: Recording,
    ) -> anyhow::Result<Status> {
        let incomplete = ended.is_some() || recording.is_incomplete();
        let recording = as_requests(recording);
        let mut findings = judge(&recording, &Options::default());
        // Where the machine's own CPUs made the latencies, their shape accuses no disk.
        let disturbed = own.caution().is_some();
        findings.retain(|finding| {
            let doubtful = disturbed && finding.verdict.starts_with("device.");
            !doubtful && !OWN_LOAD.contains(&finding.verdict)
        });
        let report = Report { recording, findings };
        let style = self.output.style(Default::default());
        let mut out = std::io::stdout().lock();
        let mut verdict = Vec::new();
        let view = iowhy_show::find(if self.output.json { "json" } else { "summary" });
        if let Some(view) = view {
            (view.write)(&report, &style, &mut verdict)?;
        }
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

/// The recording as the judge may take it. The probe's own I/Os pass the page cache by and are
/// one request each, so what the program waited is what the request took, with the system call on
/// top; nothing else is claimed.
fn as_requests(mut recording: Recording) -> Recording {
    for listing in &mut recording.listings {
        for event in &mut listing.events {
            event.layer = Layer::Block;
        }
        listing.events.retain(|event| event.error.is_none());
    }
    recording
}

fn list(probe: &Probe) -> anyhow::Result<Status> {
    if let Some(kind) = &probe.kind {
        return Err(Hinted::error(
            format!("`{kind}` of what?"),
            format!("name a device, a file or a directory; `iowhy explain {kind}` says which"),
        ));
    }
    let mut out = std::io::stdout().lock();
    for kind in iowhy_probe::KINDS {
        writeln!(out, "{:14} {}", kind.name, kind.summary)?;
    }
    Ok(Status::Done)
}

fn bytes(text: &str) -> Result<u64, String> {
    iowhy_read::bytes(text)
        .filter(|bytes| (1.0..1e18).contains(bytes))
        .map(|bytes| bytes as u64)
        .ok_or_else(|| format!("`{text}` is not a size such as `64m`"))
}

fn size(text: &str) -> Result<u32, String> {
    // The kernel moves at most 2 GiB per call; 64 MiB is far beyond what a device takes at once.
    bytes(text)?.try_into().ok().filter(|bytes| *bytes <= 64 << 20).ok_or("at most 64m".to_string())
}

fn order(text: &str) -> Result<Order, String> {
    [Order::Sequential, Order::Random, Order::Same]
        .into_iter()
        .find(|order| order.name() == text)
        .ok_or_else(|| "use sequential, random or same".to_string())
}

fn durable(text: &str) -> Result<Durable, String> {
    Durable::from_name(text).ok_or_else(|| "use plain, dsync, fdatasync or rwf-dsync".to_string())
}

fn operation(text: &str) -> Result<Op, String> {
    Op::from_name(text)
        .filter(|op| matches!(op, Op::Read | Op::Write))
        .ok_or_else(|| "use read or write".to_string())
}

fn arrivals(text: &str) -> Result<Arrivals, String> {
    match text {
        "poisson" => Ok(Arrivals::Poisson),
        "constant" => Ok(Arrivals::Constant),
        _ => Err("use poisson or constant".to_string()),
    }
}

fn way(text: &str) -> Result<Way, String> {
    match text {
        "auto" => Ok(Way::Best),
        "ring" => Ok(Way::Ring),
        "calls" => Ok(Way::Calls),
        _ => Err("use auto, ring or calls".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::{Event, Level, Sink, Source, Time};

    #[test]
    fn writes_of_the_probe_that_wait_a_turn_each_are_judged_as_that() {
        let mut recording = Recording::new();
        recording.begin(Source::new("probe", "write-latency", Level::C));
        let device = recording.device("sdb");
        for write in 0..200i64 {
            let mut event = Event::new(device, Op::Write, Layer::Application);
            let issued = Time::from_ns(write * 8_333_333);
            (event.queued, event.issued) = (Some(issued), Some(issued));
            event.completed = Some(Time::from_ns((write + 1) * 8_333_333 - 20_000));
            (event.sector, event.bytes) = (Some(write as u64 * 2), Some(1024));
            recording.event(event);
        }
        recording.end();
        let findings = judge(&as_requests(recording), &Options::default());
        assert_eq!(findings.first().map(|finding| finding.verdict), Some("load.missed-turn"));
    }
}
