//! The block layer's I/Os of each device, whole: flags, arrival and control group included, and
//! flushes too, which a [`DeviceTrace`](crate::analysis::device_trace::DeviceTrace) leaves out.

use std::collections::{HashMap, HashSet};

use iowhy_model::{
    DeviceId, Distribution, Event, Layer, Name, Op, Recording, Stage, Time, numbers,
};

use crate::facts::disk_names;

/// All completed I/Os of one device in one listing, by completion.
pub struct Requests<'a> {
    /// The listing's index.
    pub listing: usize,
    /// The device.
    pub device: DeviceId,
    /// Its disk's name.
    pub disk: String,
    /// Its I/Os.
    pub events: Vec<&'a Event>,
}

/// Number of I/Os in histograms, each counted once: several stages, or equal counts of the same
/// operation under another name (fio's `clat` beside its `lat`), are the same I/Os. Of mixed
/// operations and single ones the larger number counts.
pub(crate) fn counted<'a>(histograms: impl Iterator<Item = (usize, &'a Distribution)>) -> u64 {
    type Place = (usize, DeviceId, Layer, Option<Time>);
    let mut named: HashMap<(Place, Option<Op>, Stage, Option<Name>), u64> = HashMap::new();
    for (listing, known) in histograms {
        let place = (listing, known.device, known.layer, known.start);
        let sum = named.entry((place, known.op, known.stage, known.label)).or_default();
        *sum = sum.saturating_add(known.histogram.count());
    }
    let mut stages: HashMap<(Place, Option<Op>, Stage), HashSet<u64>> = HashMap::new();
    for ((place, op, stage, _), ios) in named {
        stages.entry((place, op, stage)).or_default().insert(ios);
    }
    let mut ops: HashMap<(Place, Option<Op>), u64> = HashMap::new();
    for ((place, op, _), ios) in stages {
        let most = ops.entry((place, op)).or_default();
        *most = numbers::total(ios).max(*most);
    }
    let mut places: HashMap<Place, (u64, u64)> = HashMap::new();
    for ((place, op), ios) in ops {
        let (mixed, apart) = places.entry(place).or_default();
        let sum = if op.is_some() { apart } else { mixed };
        *sum = sum.saturating_add(ios);
    }
    numbers::total(places.into_values().map(|(mixed, apart)| mixed.max(apart)))
}

impl Requests<'_> {
    /// From the first start to the last completion, ns; at least 1.
    pub fn span_ns(&self) -> f64 {
        let first = self.events.iter().filter_map(|event| stretch(event)).map(|(start, _)| start);
        let (first, last) = (first.min().unwrap_or(0), self.end_ns());
        last.saturating_sub(first).max(1) as f64
    }

    /// The last completion, ns.
    pub fn end_ns(&self) -> i64 {
        self.events.last().and_then(|event| event.completed).map_or(0, |time| time.ns())
    }

    /// The I/Os of one operation.
    pub fn of(&self, op: Op) -> impl Iterator<Item = &Event> {
        self.events.iter().copied().filter(move |event| event.op == op)
    }
}

/// From its earliest known start to its completion, ns. The arrival of the bio is excluded: that is
/// a separate stage.
pub(crate) fn stretch(event: &Event) -> Option<(i64, i64)> {
    let start = event.queued.or(event.issued)?.ns();
    let end = event.completed?.ns();
    (start <= end).then_some((start, end))
}

/// From its issue to its completion, ns.
pub(crate) fn on_device(event: &Event) -> Option<(i64, i64)> {
    let (start, end) = (event.issued?.ns(), event.completed?.ns());
    (start <= end).then_some((start, end))
}

/// The length of an interval, ns.
pub(crate) fn length_ns((start, end): (i64, i64)) -> f64 {
    end.saturating_sub(start) as f64
}

/// The I/Os of a recording by listing and device. Past its budget a listing may keep only the
/// slowest, which are not a representative sample: it is left out.
pub(crate) fn by_device(recording: &Recording) -> Vec<Requests<'_>> {
    let mut all: Vec<Requests> = Vec::new();
    let listings = recording.listings.iter().enumerate();
    for (listing, known) in listings.filter(|(_, known)| known.is_in_sequence()) {
        let mut places: HashMap<DeviceId, usize> = HashMap::new();
        let mut last: Option<(DeviceId, usize)> = None;
        for event in known.events.iter().filter(|event| event.layer == Layer::Block) {
            if stretch(event).is_none() {
                continue;
            }
            let device = event.device;
            let place = match last {
                Some((same, place)) if same == device => place,
                _ => *places.entry(device).or_insert_with(|| {
                    let disk = disk_names::of(recording, device);
                    all.push(Requests { listing, device, disk, events: Vec::new() });
                    all.len() - 1
                }),
            };
            last = Some((device, place));
            all[place].events.push(event);
        }
    }
    for requests in &mut all {
        if !requests.events.is_sorted_by_key(|event| event.completed) {
            requests.events.sort_by_key(|event| event.completed);
        }
    }
    all
}
