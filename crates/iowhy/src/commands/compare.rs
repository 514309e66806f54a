//! Compares two captures, two devices or two time ranges: what differs, and why.
//!
//! ## Does
//! Reads two sides and reports which kinds of requests (operation, size, pattern) differ, by how
//! much (ratio with its 95 % confidence interval), whether the difference is significant (rank test
//! or Fisher's exact test, corrected for the number of tests), and which verdict, found on one side
//! only, explains it. A side is `FILE`, `FILE:DEVICE`, `FILE@FROM-TO` or `FILE:DEVICE@FROM-TO`;
//! times count from the start of each listing: `capture.txt@0-30s`. With one file and two
//! `--device`, the two devices of that file are compared; with two files and one `--device`, that
//! device in both. Averages are compared row by row, individual I/Os one by one, and logs without
//! completions by their requests: number, size, location. Histograms in the input cannot be split
//! by time; they only contribute to the verdict of each side.
//!
//! ## Examples
//! `iowhy compare before.txt after.txt`: did the change help?
//! `iowhy compare capture.txt --device sdb --device sdc`: two disks in one capture.
//! `iowhy compare capture.txt:sdb capture.txt:nvme0n1`: the same with explicit sides.
//! `iowhy compare io.json@0-60s io.json@60s-120s`: the first minute against the second.
//! `iowhy compare --at 'yesterday 03:12' --at 03:12`: two minutes that `iowhy watch` recorded.
//! `iowhy compare --example one-of-seventeen -d sdk -d sdq`: two disks of a bundled capture.
//! `iowhy compare monday.txt tuesday.txt --json`: as JSON; `--csv`: a row per difference.
//! `iowhy compare before.txt after.txt --fail-on device`: exits with status 3 if `after.txt` has a
//! device verdict that `before.txt` does not have.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches};
use iowhy_diagnose::{Options, compare};
use iowhy_model::{
    DeviceId, Event, Filter, Listing, Nanos, Note, Recording, Sink, Source, Tally, Time,
};

use crate::arguments::{Commas, Files, Output, ReadAs, duration};
use crate::bounds;
use crate::command::{Command, Status};
use crate::confinement;
use crate::fail_on::FailOn;
use crate::messages::{HintedError, ProgressMessage};
use crate::sanitised;
use crate::store_input::StoreInput;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "compare",
    summary: "Compare two captures, devices or time ranges: what differs, and why",
    manual: iowhy_model::manual!("compare.rs"),
    arguments: Compare::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Compare {
    /// `FILE[:DEVICE][@FROM-TO]`, such as `capture.txt:sdb@0-30s`
    #[arg(value_name = "SIDE", num_args = 1..=2, required_unless_present_any = ["at", "example"], conflicts_with = "at")]
    sides: Vec<String>,
    #[command(flatten)]
    read_as: ReadAs,
    #[command(flatten)]
    past: StoreInput,
    /// Only this device; given twice, the two devices to compare
    #[arg(short, long = "device", value_name = "NAME")]
    devices: Vec<String>,
    #[command(flatten)]
    fail_on: FailOn,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    commas: Commas,
}

/// One side as the user wrote it.
#[derive(Clone, Debug, PartialEq)]
struct Side {
    file: PathBuf,
    device: Option<String>,
    /// From and to, ns from the first moment of each listing.
    stretch: Option<(i64, i64)>,
    /// An interval of what `iowhy watch` recorded.
    past: Option<StoreInput>,
    /// A bundled capture.
    example: Option<String>,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let asked = Compare::from_arg_matches(matches)?;
    let sides = asked.sides()?;
    let files = sides.iter().filter(|side| side.example.is_none());
    confinement::reading(files.map(|side| side.file.as_path()), &[])?;
    let mut gathered = Vec::new();
    let mut incomplete = false;
    for side in &sides {
        let past = side.past.clone().unwrap_or_default();
        let read_as = ReadAs { example: side.example.clone(), ..asked.read_as.clone() };
        let files = Files { files: vec![side.file.clone()], past, read_as, ..Files::default() };
        let mut cutting = CutSink::new(side);
        let (failed, prose) = files.emit(&mut cutting)?;
        let (mut recording, zeros) = cutting.recording();
        if failed > 0 || recording.listings.is_empty() {
            return Ok(Status::Failed);
        }
        recording.prose = prose;
        side.cut(&mut recording, &zeros)?;
        incomplete |= bounds::reported(&mut recording);
        incomplete |= recording.is_sampled() || recording.is_incomplete();
        gathered.push(recording);
    }
    let [a, b] = gathered.as_slice() else { return Ok(Status::Failed) };
    let names = sides.each_ref().map(Side::name);
    let working = ProgressMessage::on("comparing");
    let comparison = compare([(&names[0], a), (&names[1], b)], &Options::default());
    drop(working);
    let mut out = sanitised::stdout();
    if asked.output.json {
        iowhy_show::comparison::json(&comparison, &mut out)?;
    } else if asked.commas.csv {
        iowhy_show::comparison::csv(&comparison, &mut out)?;
    } else {
        let style = asked.output.style(Filter::default());
        iowhy_show::comparison::text(&comparison, &style, &mut out)?;
    }
    out.flush()?;
    // Verdicts of B that A does not have: a regression.
    let verdicts = |side: usize| {
        let standing = comparison.sides.get(side).into_iter().flat_map(|side| &side.verdicts);
        standing
            .filter(|reported| reported.stands)
            .map(|reported| (reported.verdict, reported.confidence))
    };
    let new = verdicts(1).filter(|(new, _)| !verdicts(0).any(|(known, _)| known == *new));
    Ok(asked.fail_on.status(new, Status::incomplete(incomplete)))
}

impl Compare {
    /// The two sides.
    fn sides(&self) -> anyhow::Result<[Side; 2]> {
        let hint =
            "compare two files, one file with two `--device`, or `FILE:DEVICE@FROM-TO` twice";
        let with = |side: &str, device: Option<&String>| -> anyhow::Result<Side> {
            let side = Side::parse(side)?;
            let device = device.map(|name| name.trim_start_matches("/dev/").to_string());
            Ok(Side { device: side.device.or(device), ..side })
        };
        if let [a, b] = self.past.at.as_slice() {
            let side = |at: &String, device: Option<&String>| Side {
                file: self.past.folder(),
                device: device.map(|name| name.trim_start_matches("/dev/").to_string()),
                stretch: None,
                past: Some(self.past.at(at)),
                example: None,
            };
            let (first, last) = (self.devices.first(), self.devices.last());
            return Ok([side(a, first), side(b, last)]);
        }
        if let Some(name) = &self.read_as.example {
            let side = |device: Option<&String>| Side {
                device: device.map(|name| name.trim_start_matches("/dev/").to_string()),
                example: Some(name.clone()),
                ..Side::of(&format!("example {name}"))
            };
            return match (self.sides.as_slice(), self.devices.as_slice()) {
                ([], [a, b]) => Ok([side(Some(a)), side(Some(b))]),
                ([other], []) => Ok([side(None), with(other, None)?]),
                ([other], [device]) => Ok([side(Some(device)), with(other, Some(device))?]),
                ([other], [a, b]) => Ok([side(Some(a)), with(other, Some(b))?]),
                // Without a name, which there are.
                _ if name.is_empty() => Ok([side(None), side(None)]),
                _ => Err(HintedError::error(
                    "one bundled capture is one side of a comparison",
                    format!("name a capture, or two devices: `--example {name} -d sda -d sdb`"),
                )),
            };
        }
        match (self.sides.as_slice(), self.devices.as_slice()) {
            ([one], [a, b]) => Ok([with(one, Some(a))?, with(one, Some(b))?]),
            ([a, b], []) => Ok([with(a, None)?, with(b, None)?]),
            ([a, b], [device]) => Ok([with(a, Some(device))?, with(b, Some(device))?]),
            ([a, b], [first, second]) => Ok([with(a, Some(first))?, with(b, Some(second))?]),
            _ => Err(HintedError::error("exactly two sides are needed for a comparison", hint)),
        }
    }
}

impl Side {
    fn of(file: &str) -> Side {
        Side { file: file.into(), device: None, stretch: None, past: None, example: None }
    }

    fn parse(text: &str) -> anyhow::Result<Side> {
        let plain = Side::of;
        // A file may have a colon or an at in its name.
        if text == "-" || Path::new(text).exists() {
            return Ok(plain(text));
        }
        let (rest, stretch) = match text.rsplit_once('@') {
            Some((rest, times)) => (rest, Some(stretch(times)?)),
            None => (text, None),
        };
        if Path::new(rest).exists() {
            return Ok(Side { stretch, ..plain(rest) });
        }
        match rest.rsplit_once(':') {
            Some((file, device)) if !device.is_empty() => {
                let device = Some(device.trim_start_matches("/dev/").to_string());
                Ok(Side { device, stretch, ..plain(file) })
            }
            _ => Ok(Side { stretch, ..plain(rest) }),
        }
    }

    fn name(&self) -> String {
        let mut name = self.file.display().to_string();
        if let Some(at) = self.past.as_ref().and_then(|past| past.at.first()) {
            name = format!("{name}, {at}");
        }
        if let Some(device) = &self.device {
            name = format!("{name}, {device}");
        }
        if let Some((from, to)) = self.stretch {
            name = format!("{name}, {} s to {} s", from as f64 / 1e9, to as f64 / 1e9);
        }
        name
    }

    /// Removes what is not part of this side.
    fn cut(&self, recording: &mut Recording, zeros: &[Option<i64>]) -> anyhow::Result<()> {
        if let Some(id) = self.device.as_ref().and_then(|name| recording.find_device(name)) {
            recording.listings.iter_mut().for_each(|listing| only(listing, id));
        }
        let empty = |listing: &Listing| {
            listing.events.is_empty()
                && listing.intervals.is_empty()
                && listing.distributions.is_empty()
        };
        if let Some(name) = &self.device
            && recording.listings.iter().all(empty)
            && self.stretch.is_none()
        {
            let others = recording.devices().iter().map(|device| device.name.as_str());
            let known: Vec<&str> = others.filter(|other| other != name).collect();
            return Err(HintedError::error(
                format!("`{}` has no data for `{name}`", self.file.display()),
                format!("it contains {}", known.join(", ")),
            ));
        }
        if let Some(stretch) = self.stretch {
            let zeros = zeros.iter().copied().chain(std::iter::repeat(None));
            for (listing, zero) in recording.listings.iter_mut().zip(zeros) {
                within(listing, stretch, zero);
            }
        }
        if recording.listings.iter().all(empty) {
            return Err(HintedError::error(
                format!("no I/O in {}", self.name()),
                "name another device, or a time range within the capture",
            ));
        }
        Ok(())
    }
}

/// `0-30s`, `10s-20s`, `500ms-2s`.
fn stretch(text: &str) -> anyhow::Result<(i64, i64)> {
    let hint = "write start and end, counted from the start of the capture: `@10s-20s`";
    let wrong = |why: String| HintedError::error(why, hint);
    let (from, to) =
        text.split_once('-').ok_or_else(|| wrong(format!("invalid time range `{text}`")))?;
    let ns = |text: &str| duration(text).map(Nanos::ns).map_err(&wrong);
    let (from, to) = (ns(from)?, ns(to)?);
    if from >= to {
        return Err(wrong(format!("`{text}` ends before it begins")));
    }
    Ok((from, to))
}

fn only(listing: &mut Listing, device: DeviceId) {
    listing.events.retain(|event| event.device == device);
    listing.intervals.retain(|row| row.device == device);
    listing.distributions.retain(|known| known.device == device);
}

/// I/Os of a listing read before its start is known: sources emit them nearly in order.
const LOOKED_AT: usize = 100_000;

/// A side while it is read: kept as for a verdict, but filtered first, so that other I/Os take no
/// memory.
struct CutSink {
    tally: Tally,
    stretch: Option<(i64, i64)>,
    /// The first time of each listing, as far as known.
    zeros: Vec<Option<i64>>,
    /// I/Os of the open listing while that is unknown.
    held: Vec<Event>,
    open: usize,
}

impl CutSink {
    fn new(side: &Side) -> CutSink {
        let mut tally = Tally::for_a_verdict();
        if let Some(name) = &side.device {
            let devices = vec![tally.device(name)];
            tally.only(Filter { devices, ..Filter::default() });
        }
        let (zeros, held) = (Vec::new(), Vec::new());
        CutSink { tally, stretch: side.stretch, zeros, held, open: 0 }
    }

    fn recording(mut self) -> (Recording, Vec<Option<i64>>) {
        self.flush_held();
        (self.tally.recording(), self.zeros)
    }

    /// Uses the first time of the held I/Os as that of the listing.
    fn flush_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        let zero = held.iter().filter_map(start).min();
        if let (Some(zero), Some(known)) = (zero, self.zeros.get_mut(self.open)) {
            known.get_or_insert(zero.ns());
        }
        held.into_iter().for_each(|event| self.pass(event));
    }

    fn pass(&mut self, event: Event) {
        let zero = self.zeros.get(self.open).copied().flatten();
        let inside = match (self.stretch, zero, start(&event)) {
            (Some((from, to)), Some(zero), Some(at)) => {
                (from..to).contains(&at.ns().saturating_sub(zero))
            }
            (Some(_), _, _) => false,
            (None, _, _) => true,
        };
        if inside {
            self.tally.event(event);
        } else {
            self.tally.source().records += 1;
        }
    }
}

impl Sink for CutSink {
    iowhy_model::forward!(tally: source device set_medium name interval distribution fact);

    fn begin(&mut self, source: Source) -> usize {
        self.flush_held();
        self.open = self.tally.begin(source);
        self.zeros.resize(self.open + 1, None);
        if let Some(zero) = self.zeros.get_mut(self.open) {
            *zero = None;
        }
        self.open
    }

    fn resume(&mut self, listing: usize) {
        self.flush_held();
        self.open = listing;
        self.tally.resume(listing);
    }

    fn event(&mut self, event: Event) {
        let clear = self.zeros.get(self.open).is_some_and(Option::is_some);
        if self.stretch.is_none() || clear {
            return self.pass(event);
        }
        self.held.push(event);
        if self.held.len() >= LOOKED_AT {
            self.flush_held();
        }
    }

    fn end(&mut self) {
        self.flush_held();
        self.tally.end();
    }
}

/// When an I/O began, as far as known.
fn start(event: &Event) -> Option<Time> {
    event.queued.or(event.issued).or(event.completed)
}

/// Keeps I/Os that began within the interval; histograms cannot be cut and are left out.
fn within(listing: &mut Listing, (from, to): (i64, i64), zero: Option<i64>) {
    let moments = listing.events.iter().filter_map(start);
    let rows = listing.intervals.iter().filter_map(|row| row.start);
    let Some(zero) = zero.map(Time::from_ns).or_else(|| moments.chain(rows).min()) else {
        // Rows without a time are assumed one second apart.
        let mut at = 0i64;
        listing.intervals.retain(|row| {
            let began = at;
            at = at.saturating_add(row.length.map_or(1_000_000_000, Nanos::ns));
            (from..to).contains(&began)
        });
        return;
    };
    let inside = |time: Option<Time>| {
        time.is_some_and(|time| (from..to).contains(&time.ns().saturating_sub(zero.ns())))
    };
    listing.events.retain(|event| inside(start(event)));
    listing.intervals.retain(|row| inside(row.start));
    if !listing.distributions.is_empty() {
        listing.distributions.clear();
        listing.source.notes.push(Note {
            line: 0,
            text: String::new(),
            reason: "histograms in the input cannot be split by time and were left out".to_string(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_read() {
        let side = Side::parse("nosuch.txt:sdb@10s-20s").unwrap();
        assert_eq!(side.file, PathBuf::from("nosuch.txt"));
        assert_eq!(side.device.as_deref(), Some("sdb"));
        assert_eq!(side.stretch, Some((10_000_000_000, 20_000_000_000)));
        assert_eq!(Side::parse("nosuch.txt").unwrap().device, None);
        assert!(Side::parse("nosuch.txt@20s-10s").is_err());
        assert!(Side::parse("nosuch.txt@soon").is_err());
    }
}
