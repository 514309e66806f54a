//! Sorts the I/Os of a listing: by device, and within it by operation, size and pattern.

use std::collections::HashMap;

use iowhy_model::{DeviceId, Event, Layer, Listing, Op};

use crate::measures::sequential::{self, Extent};
use crate::measures::service::{self, ServiceSpan};
use crate::phrase;

/// Above this share of continuing requests a kind of request counts as sequential, below the other
/// as random; in between each request is classified individually.
const SEQUENTIAL_ABOVE: f64 = 0.7;
const RANDOM_BELOW: f64 = 0.3;

/// Requests kept per stream: with this many the share of contiguous ones is known to 1 %.
const STREAM_KEPT: usize = 10_000;

/// Requests of one kind on one device.
#[derive(Clone, Debug)]
pub struct Group {
    /// Their operation.
    pub op: Op,
    /// Their common size.
    pub bytes: u32,
    /// Whether they continue where earlier ones ended, if sectors are known.
    pub sequential: Option<bool>,
    /// Their indexes in the I/Os of the trace.
    pub members: Vec<usize>,
}

impl Group {
    /// The kind in words: `128 KiB sequential reads`.
    pub fn words(&self) -> String {
        let pattern = match self.sequential {
            Some(true) => "sequential ",
            Some(false) => "random ",
            None => "",
        };
        let size = phrase::bytes(f64::from(self.bytes));
        format!("{size} {pattern}{}", phrase::plural(self.op))
    }
}

/// All completed I/Os of one device in one listing, by completion.
#[derive(Clone, Debug)]
pub(crate) struct DeviceSpans {
    /// The device.
    pub device: DeviceId,
    /// Its I/Os.
    pub spans: Vec<ServiceSpan>,
    /// The same, sorted into kinds, largest first.
    pub groups: Vec<Group>,
}

/// The sectors of the requests of one operation on one device, in issue order, whether or not their
/// completion was seen.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The device.
    pub device: DeviceId,
    /// The operation.
    pub op: Op,
    /// Offset and size of each request.
    pub extents: Vec<Extent>,
}

/// The completed block-layer I/Os of a listing, per device.
pub(crate) fn spans(listing: &Listing) -> Vec<DeviceSpans> {
    let mut traces: Vec<DeviceSpans> = Vec::new();
    // Devices are numbered from 0: a table by number spares a million look-ups.
    let mut places: Vec<Option<usize>> = Vec::new();
    for (device, span) in listing.events.iter().filter_map(span_of) {
        let number = device.index();
        if places.len() <= number {
            places.resize(number + 1, None);
        }
        let place = *places[number].get_or_insert_with(|| {
            traces.push(DeviceSpans { device, spans: Vec::new(), groups: Vec::new() });
            traces.len() - 1
        });
        traces[place].spans.push(span);
    }
    for trace in &mut traces {
        service::sort(&mut trace.spans);
        trace.groups = groups(&trace.spans);
    }
    traces
}

/// The streams of a listing, per device and operation; only the first requests of each, which are
/// enough for contiguity.
pub(crate) fn streams(listing: &Listing) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    let mut last = 0;
    let mut events: Vec<&Event> =
        listing.events.iter().filter(|event| event.layer == Layer::Block).collect();
    // Logs are written by completion. The sort is stable: what shares a tick stays as it was.
    events.sort_by_key(|event| event.issued.or(event.queued).or(event.completed));
    for event in events {
        let (Some(sector), Some(bytes)) = (event.sector, event.bytes) else { continue };
        if bytes == 0 {
            continue;
        }
        let is = |stream: &Stream| (stream.device, stream.op) == (event.device, event.op);
        if !streams.get(last).is_some_and(is) {
            last = streams.iter().position(is).unwrap_or_else(|| {
                let new = Stream { device: event.device, op: event.op, extents: Vec::new() };
                streams.push(new);
                streams.len() - 1
            });
        }
        if streams[last].extents.len() < STREAM_KEPT {
            streams[last].extents.push(Extent { sector, bytes });
        }
    }
    streams
}

fn span_of(event: &Event) -> Option<(DeviceId, ServiceSpan)> {
    let issued = event.issued.or(event.queued)?;
    let completed = event.completed?;
    // A flush waits for the cache and a discard for the drive's mapping: neither transfers data,
    // and no class defines its healthy time.
    let moves = !matches!(event.op, Op::Flush | Op::Discard);
    if event.layer != Layer::Block || issued > completed || !moves {
        return None;
    }
    let span = ServiceSpan {
        queued_ns: event.queued.map(|time| time.ns()),
        issued_ns: issued.ns(),
        completed_ns: completed.ns(),
        bytes: event.bytes.unwrap_or(0),
        sector: event.sector,
        op: event.op,
    };
    Some((event.device, span))
}

/// One operation and size: the number of requests, how many continue their stream, and which.
#[derive(Default)]
struct Kind {
    members: Vec<usize>,
    going_on: usize,
}

fn groups(spans: &[ServiceSpan]) -> Vec<Group> {
    let continuing = continuing(spans);
    let mut kinds: HashMap<(Op, u32), Kind> = HashMap::new();
    for (place, (span, continues)) in spans.iter().zip(&continuing).enumerate() {
        let kind = kinds.entry((span.op, span.bytes)).or_default();
        kind.members.push(place);
        kind.going_on += usize::from(*continues == Some(true));
    }
    let mut groups: Vec<Group> = Vec::new();
    for ((op, bytes), kind) in kinds {
        let share = kind.going_on as f64 / kind.members.len() as f64;
        let pattern = |place: &usize| match continuing[*place] {
            Some(_) if share >= SEQUENTIAL_ABOVE => Some(true),
            Some(_) if share <= RANDOM_BELOW => Some(false),
            known => known,
        };
        for sequential in [None, Some(false), Some(true)] {
            let members: Vec<usize> =
                kind.members.iter().copied().filter(|place| pattern(place) == sequential).collect();
            if !members.is_empty() {
                groups.push(Group { op, bytes, sequential, members });
            }
        }
    }
    groups.sort_by_key(|group| {
        (std::cmp::Reverse(group.members.len()), group.op, group.bytes, group.sequential)
    });
    groups
}

/// For each span, in their order, whether it continues where an earlier one ended; `None` without a
/// sector.
fn continuing(spans: &[ServiceSpan]) -> Vec<Option<bool>> {
    let mut order: Vec<usize> =
        (0..spans.len()).filter(|place| spans[*place].sector.is_some()).collect();
    order.sort_by_key(|place| spans[*place].issued_ns);
    let extents: Vec<Extent> = order
        .iter()
        .filter_map(|place| {
            let span = &spans[*place];
            Some(Extent { sector: span.sector?, bytes: span.bytes })
        })
        .collect();
    let mut answers = vec![None; spans.len()];
    for (place, continues) in order.iter().zip(sequential::continues(&extents)) {
        answers[*place] = Some(continues);
    }
    answers
}

/// No platter serves a quarter of its random requests this fast, ms: a track-to-track seek alone
/// takes longer than half of this, and half a revolution at 15000 rpm takes 2 ms.
const NO_SEEK_MS: f64 = 1.0;

/// Whether a quarter of some random requests is faster than any seek of a platter.
pub(crate) fn too_quick_to_seek(times_ms: &[f64]) -> bool {
    let quick = times_ms.iter().filter(|ms| **ms < NO_SEEK_MS).count();
    4 * quick >= times_ms.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::{Recording, Sink, Source, Time};

    #[test]
    fn a_stream_is_in_issue_order_though_the_log_is_by_completion() {
        let mut recording = Recording::new();
        recording.begin(Source::new("biosnoop", "capture.txt", iowhy_model::Level::C));
        let device = recording.device("sda");
        // The second one completes first.
        for (issued, completed, sector) in [(10, 20, 8), (0, 30, 0), (25, 40, 16)] {
            let mut event = Event::new(device, Op::Read, Layer::Block);
            (event.sector, event.bytes) = (Some(sector), Some(4096));
            event.issued = Some(Time::from_ns(issued));
            event.completed = Some(Time::from_ns(completed));
            recording.event(event);
        }
        recording.end();
        let streams = streams(&recording.listings[0]);
        let sectors: Vec<u64> = streams[0].extents.iter().map(|extent| extent.sector).collect();
        assert_eq!(sectors, [0, 8, 16]);
        assert_eq!(sequential::contiguous_share(&streams[0].extents), Some(1.0));
    }
}
