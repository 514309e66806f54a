//! The I/Os of a capture that a probe can replay.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use iowhy_model::Order as _;
use iowhy_model::{DeviceId, EVENTS_KEPT, Event, Layer, Op, Recording, Sink, Source, Time, key};
use iowhy_probe::{Captured, Replay};

use crate::arguments::{Files, ReadAs};
use crate::messages::{self, HintedError};

/// The hint for a capture with nothing to replay.
const HINT: &str = "capture individual I/Os with `iowhy record -o FILE`, biosnoop or blktrace";

/// What was read for a replay.
pub(super) struct ReplayInput {
    /// Reads, writes and others; speed, loop mode and permission to write are set by the caller.
    pub replay: Replay,
    /// Whether part of the capture could not be read.
    pub incomplete: bool,
}

/// Reads a capture: the I/Os of this device, or of its only one.
///
/// # Errors If it cannot be read, has no I/O to replay, or has several devices and none was named.
pub(super) fn read(
    file: &Path,
    device: Option<&str>,
    read_as: &ReadAs,
) -> anyhow::Result<ReplayInput> {
    let files =
        Files { files: vec![file.to_path_buf()], read_as: read_as.clone(), ..Files::default() };
    let mut sink = Arrivals::default();
    let (failed, _) = files.emit(&mut sink)?;
    let shown = file.display();
    let cannot =
        |why: &str, hint: &str| HintedError::error(format!("cannot replay `{shown}`: {why}"), hint);
    let Some(chosen) = sink.choose(device).map_err(|(why, hint)| cannot(&why, &hint))? else {
        let recording = &sink.recording;
        let of = |has: fn(&iowhy_model::Listing) -> bool| recording.listings.iter().any(has);
        let why = match () {
            _ if sink.seen > 0 => "its I/Os have no offset, no length or no time",
            _ if of(|listing| !listing.distributions.is_empty()) => {
                "it contains histograms, not individual I/Os"
            }
            _ if of(|listing| !listing.intervals.is_empty()) => {
                "it contains averages, not individual I/Os"
            }
            _ => "it contains no I/Os",
        };
        return Err(cannot(why, HINT));
    };
    let incomplete = failed > 0 || sink.recording.is_incomplete();
    Ok(ReplayInput { replay: chosen, incomplete })
}

/// The series of an I/O: listings have their own clocks, and layers never mix.
type GroupKey = (usize, DeviceId, Layer);

/// The I/Os of one listing, device and layer.
#[derive(Default)]
struct Group {
    ios: Vec<Captured>,
    left_out: BTreeMap<&'static str, u64>,
    /// Whether fast I/Os are missing.
    sampled: bool,
}

/// A sink that keeps replayable I/Os separately, and everything else like any recording.
struct Arrivals {
    recording: Recording,
    current: usize,
    groups: BTreeMap<GroupKey, Group>,
    seen: u64,
    kept: usize,
}

impl Default for Arrivals {
    fn default() -> Arrivals {
        let recording = Recording::new();
        Arrivals { recording, current: 0, groups: BTreeMap::new(), seen: 0, kept: 0 }
    }
}

impl Arrivals {
    /// The I/Os of one device and layer on one clock, by start time; `None` if there are none, an
    /// error with a hint if the choice is ambiguous.
    fn choose(&mut self, device: Option<&str>) -> Result<Option<Replay>, (String, String)> {
        let name = |id: DeviceId| {
            let known = self.recording.devices().get(id.index());
            known.map_or(String::new(), |device| device.name.clone())
        };
        let mut devices: BTreeMap<DeviceId, usize> = BTreeMap::new();
        for ((_, device, _), group) in self.groups.iter().filter(|(_, group)| !group.ios.is_empty())
        {
            *devices.entry(*device).or_default() += group.ios.len();
        }
        let names = devices.iter().map(|(id, n)| format!("{} ({n} I/Os)", name(*id)));
        let list = names.collect::<Vec<_>>().join(", ");
        if let Some(wanted) = device {
            let bare = wanted.trim_start_matches("/dev/");
            let id = self.recording.find_device(bare).or(self.recording.find_device(wanted));
            match id.filter(|id| devices.contains_key(id)) {
                Some(id) => devices = BTreeMap::from([(id, 0)]),
                None => {
                    let why = format!("it has no I/O of `{bare}` that could be replayed");
                    return Err((why, format!("it contains {list}")));
                }
            }
        }
        if devices.len() > 1 {
            let hint = format!("name one with `--device`: {list}");
            return Err(("it contains several devices".to_string(), hint));
        }
        let Some((id, _)) = devices.pop_first() else { return Ok(None) };
        // The layer nearest to the disk, and its longest listing.
        let ours = self.groups.iter().filter(|((_, device, _), _)| *device == id);
        let best = ours
            .max_by_key(|((_, _, layer), group)| (!group.ios.is_empty(), *layer, group.ios.len()));
        let Some(best) = best.map(|(key, _)| *key) else { return Ok(None) };
        let mut left_out = self.losses(best.0);
        for ((listing, device, layer), group) in &self.groups {
            let all = group.ios.len() as u64 + group.left_out.values().sum::<u64>();
            match (*listing, *device, *layer) == best {
                true => {
                    left_out.extend(group.left_out.iter().map(|(why, n)| (why.to_string(), *n)))
                }
                false if *device != id => left_out.push(("of other devices".to_string(), all)),
                false => left_out.push(("measured elsewhere in the capture".to_string(), all)),
            }
        }
        let Some(group) = self.groups.get_mut(&best) else { return Ok(None) };
        let mut ios = std::mem::take(&mut group.ios);
        ios.order_by_key(|io| io.started);
        let threshold = self.recording.listings.get(best.0).is_some_and(|listing| {
            listing.facts.iter().any(|fact| fact.key == key::TRACE_THRESHOLD)
        });
        if group.sampled || threshold {
            messages::warn(
                "the capture lists only slow I/Os and a sample of the others, so the replayed load \
                 is lower than the captured one",
                None,
            );
        }
        let left_out = merged(left_out);
        let ios = Arc::new(ios);
        Ok(Some(Replay { ios, left_out, speed: 1.0, closed: false, overwrite: false }))
    }

    /// What the listing lost or could not read.
    fn losses(&self, listing: usize) -> Vec<(String, u64)> {
        let Some(listing) = self.recording.listings.get(listing) else { return Vec::new() };
        let losses = listing.source.losses.iter().map(|loss| (loss.what.clone(), loss.count));
        let skipped = (
            "lines or records of the capture that could not be read".to_string(),
            listing.source.skipped,
        );
        losses.chain([skipped]).collect()
    }
}

/// Each reason once.
fn merged(counts: Vec<(String, u64)>) -> Vec<(String, u64)> {
    let mut merged: Vec<(String, u64)> = Vec::new();
    for (why, n) in counts.into_iter().filter(|(_, n)| *n > 0) {
        match merged.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += n,
            None => merged.push((why, n)),
        }
    }
    merged
}

impl Sink for Arrivals {
    iowhy_model::forward!(
        recording: source device set_medium name interval distribution unread fact end
    );

    fn begin(&mut self, source: Source) -> usize {
        self.current = self.recording.begin(source);
        self.current
    }

    fn resume(&mut self, listing: usize) {
        self.recording.resume(listing);
        self.current = listing;
    }

    fn event(&mut self, event: Event) {
        self.seen += 1;
        self.recording.source().records += 1;
        let group = self.groups.entry((self.current, event.device, event.layer)).or_default();
        group.sampled |= event.weight.is_some();
        match captured(&event) {
            Ok(_) if self.kept >= EVENTS_KEPT => {
                *group.left_out.entry("beyond the first four million").or_default() += 1;
            }
            Ok(io) => {
                self.kept += 1;
                group.ios.push(io);
            }
            Err(why) => *group.left_out.entry(why).or_default() += 1,
        }
    }
}

/// When an I/O was started: its earliest known time.
fn started(event: &Event) -> Option<Time> {
    event.arrived.or(event.queued).or(event.issued)
}

fn captured(event: &Event) -> Result<Captured, &'static str> {
    match event.op {
        // An empty write is a flush, too (`FWS` of blktrace).
        Op::Write if event.bytes == Some(0) => return Err("flushes"),
        Op::Read | Op::Write => {}
        Op::Flush => return Err("flushes"),
        Op::Discard => return Err("discards"),
        Op::Other => return Err("neither reads nor writes"),
    }
    let sector = event.sector.ok_or("without a place")?;
    Ok(Captured {
        started: started(event).ok_or("without the time of their start")?,
        issued: event.issued,
        completed: event.completed,
        offset: sector.saturating_mul(512),
        bytes: event.bytes.filter(|bytes| *bytes > 0).ok_or("without a length")?,
        op: event.op,
        process: event.pid.unwrap_or(0),
    })
}

/// The speed factor: a positive number.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('x').parse().ok();
    number
        .filter(|speed| (1e-3..=1e3).contains(speed))
        .ok_or_else(|| format!("`{text}` is not a speed from 0.001 to 1000"))
}
