//! Sorts the I/Os of a listing: by device, and within it by operation, size and pattern.

use std::collections::HashMap;

use iowhy_model::{DeviceId, Event, Layer, Listing, Op};

use crate::measures::sequential::{self, Extent};
use crate::measures::service::{self, Visit};

/// Above this share of continuing requests a kind of request counts as sequential, below the
/// other as random; between them its members are told apart one by one.
const MOSTLY: f64 = 0.7;
const HARDLY: f64 = 0.3;

/// Requests of one kind on one device.
#[derive(Clone, Debug)]
pub struct Group {
    /// Their operation.
    pub op: Op,
    /// Their size, all the same.
    pub bytes: u32,
    /// Whether they go on where earlier ones ended, if sectors are known.
    pub sequential: Option<bool>,
    /// Their places in the visits of the track.
    pub members: Vec<usize>,
}

/// All completed I/Os of one device in one listing, by completion.
#[derive(Clone, Debug)]
pub struct Visits {
    /// The device.
    pub device: DeviceId,
    /// Its I/Os.
    pub visits: Vec<Visit>,
    /// The same, sorted into kinds, largest first.
    pub groups: Vec<Group>,
}

/// Where the requests of one operation on one device went, in issue order, whether or not their
/// completion was seen.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The device.
    pub device: DeviceId,
    /// The operation.
    pub op: Op,
    /// Place and size of each request.
    pub extents: Vec<Extent>,
}

/// The completed block-layer I/Os of a listing, per device.
pub fn visits(listing: &Listing) -> Vec<Visits> {
    let mut tracks: Vec<Visits> = Vec::new();
    let mut places: HashMap<DeviceId, usize> = HashMap::new();
    for (device, visit) in listing.events.iter().filter_map(visit_of) {
        let place = *places.entry(device).or_insert_with(|| {
            tracks.push(Visits { device, visits: Vec::new(), groups: Vec::new() });
            tracks.len() - 1
        });
        tracks[place].visits.push(visit);
    }
    for track in &mut tracks {
        service::sort(&mut track.visits);
        track.groups = groups(&track.visits);
    }
    tracks
}

/// The streams of a listing, per device and operation.
pub fn streams(listing: &Listing) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    let mut places: HashMap<(DeviceId, Op), usize> = HashMap::new();
    for event in listing.events.iter().filter(|event| event.layer == Layer::Block) {
        let (Some(sector), Some(bytes)) = (event.sector, event.bytes) else { continue };
        if bytes == 0 {
            continue;
        }
        let place = *places.entry((event.device, event.op)).or_insert_with(|| {
            let new = Stream { device: event.device, op: event.op, extents: Vec::new() };
            streams.push(new);
            streams.len() - 1
        });
        streams[place].extents.push(Extent { sector, bytes });
    }
    streams
}

fn visit_of(event: &Event) -> Option<(DeviceId, Visit)> {
    let issued = event.issued.or(event.queued)?;
    let completed = event.completed?;
    // An empty flush moves nothing and waits for the cache: its time is no service time.
    if event.layer != Layer::Block || issued > completed || event.op == Op::Flush {
        return None;
    }
    let visit = Visit {
        queued_ns: event.queued.map(|time| time.ns()),
        issued_ns: issued.ns(),
        completed_ns: completed.ns(),
        bytes: event.bytes.unwrap_or(0),
        sector: event.sector,
        op: event.op,
    };
    Some((event.device, visit))
}

fn groups(visits: &[Visit]) -> Vec<Group> {
    let continuing = continuing(visits);
    let mut kinds: HashMap<(Op, u32), (usize, usize)> = HashMap::new();
    for (visit, goes_on) in visits.iter().zip(&continuing) {
        let (of, on) = kinds.entry((visit.op, visit.bytes)).or_default();
        *of += 1;
        *on += usize::from(*goes_on == Some(true));
    }
    let mut groups: HashMap<(Op, u32, Option<bool>), Vec<usize>> = HashMap::new();
    for (place, (visit, goes_on)) in visits.iter().zip(&continuing).enumerate() {
        let share =
            kinds.get(&(visit.op, visit.bytes)).map_or(0.0, |(of, on)| *on as f64 / *of as f64);
        let pattern = match goes_on {
            Some(_) if share >= MOSTLY => Some(true),
            Some(_) if share <= HARDLY => Some(false),
            known => *known,
        };
        groups.entry((visit.op, visit.bytes, pattern)).or_default().push(place);
    }
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(|((op, bytes, sequential), members)| Group { op, bytes, sequential, members })
        .collect();
    groups.sort_by_key(|group| {
        (std::cmp::Reverse(group.members.len()), group.op, group.bytes, group.sequential)
    });
    groups
}

/// For each visit, in their order, whether it goes on where an earlier one ended; `None` without
/// a sector.
fn continuing(visits: &[Visit]) -> Vec<Option<bool>> {
    let mut order: Vec<usize> =
        (0..visits.len()).filter(|place| visits[*place].sector.is_some()).collect();
    order.sort_by_key(|place| visits[*place].issued_ns);
    let extents: Vec<Extent> = order
        .iter()
        .filter_map(|place| {
            let visit = &visits[*place];
            Some(Extent { sector: visit.sector?, bytes: visit.bytes })
        })
        .collect();
    let mut answers = vec![None; visits.len()];
    for (place, goes_on) in order.iter().zip(sequential::continues(&extents)) {
        answers[*place] = Some(goes_on);
    }
    answers
}
