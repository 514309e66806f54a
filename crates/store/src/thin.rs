//! Downsampling: histograms and averages of one device and operation are added up as they age.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use iowhy_capture::{Header, Section, Writer};
use iowhy_model::{
    Device, DeviceId, Distribution, Interval, Nanos, Op, Rates, Sink, Stage, Time, key,
};

/// A downsampled segment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ThinSegment {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Histograms and averages before and after.
    pub cells: (u64, u64),
}

/// Intervals whose cells wait to be written: 225 counts for each device, operation and stage.
const HELD: usize = 8;

/// The key that distinguishes cells of one interval.
type Kind = (usize, String, Option<Op>, Stage);

/// When a cell begins, and whether it is kept unchanged.
type Place = (i64, bool);

/// Adds up cells within the same `length_ns`, except in the intervals to keep (ns since 1970),
/// whose cells are unchanged.
pub fn thin(
    blocks: impl Iterator<Item = (Header, iowhy_capture::Block)>,
    length_ns: i64,
    keep: &[Range<i64>],
) -> ThinSegment {
    let mut thinned = ThinSegment::default();
    let mut open: Option<(u64, ThinStream)> = None;
    for (header, block) in blocks {
        if open.as_ref().is_none_or(|(stream, _)| *stream != header.stream) {
            if let Some((_, before)) = open.take() {
                before.finish(&mut thinned);
            }
            open = Some((header.stream, ThinStream::new(header.stream, length_ns.max(1))));
        }
        let Some((_, thinning)) = &mut open else { continue };
        for section in block.sections {
            thinning.take(section, &block.devices, keep);
        }
    }
    if let Some((_, last)) = open {
        last.finish(&mut thinned);
    }
    thinned
}

/// One stream, while it is downsampled.
struct ThinStream {
    length_ns: i64,
    offset_ns: Option<i64>,
    writer: Writer<Vec<u8>>,
    /// Where each listing continues.
    listings: HashMap<u64, usize>,
    histograms: BTreeMap<Place, BTreeMap<Kind, Distribution>>,
    averages: BTreeMap<Place, BTreeMap<(usize, String), Interval>>,
    cells: (u64, u64),
}

impl ThinStream {
    fn new(stream: u64, length_ns: i64) -> ThinStream {
        ThinStream {
            length_ns,
            offset_ns: None,
            writer: Writer::new(Vec::new(), stream),
            listings: HashMap::new(),
            histograms: BTreeMap::new(),
            averages: BTreeMap::new(),
            cells: (0, 0),
        }
    }

    fn take(&mut self, section: Section, devices: &[Device], keep: &[Range<i64>]) {
        let listing = match self.listings.get(&section.listing) {
            Some(listing) => *listing,
            None => {
                let listing = self.writer.begin(section.source.clone());
                self.listings.insert(section.listing, listing);
                listing
            }
        };
        self.writer.resume(listing);
        *self.writer.source() = section.source;
        for mut fact in section.facts {
            if fact.key == key::CLOCK_OFFSET
                && let Some(offset) = fact.value.duration()
            {
                self.offset_ns = Some(offset.ns());
            }
            fact.device = fact.device.and_then(|id| self.device(devices, id));
            self.writer.fact(fact);
        }
        for mut event in section.events {
            // The recorder writes none into a segment; any that are there are kept.
            let Some(id) = self.device(devices, event.device) else { continue };
            (event.device, event.comm, event.cgroup, event.file) = (id, None, None, None);
            self.writer.event(event);
        }
        for one in section.distributions {
            self.cells.0 += 1;
            let Some(name) = devices.get(one.device.index()).map(|device| &device.name) else {
                continue;
            };
            let place = self.place(one.start, keep);
            let kind = (listing, name.clone(), one.op, one.stage);
            let Some(known) = self.histograms.entry(place).or_default().get_mut(&kind) else {
                self.histograms.entry(place).or_default().insert(kind, one);
                continue;
            };
            if known.histogram.merge(&one.histogram) {
                known.length = joined(known.start, known.length, one.start, one.length);
            } else {
                self.write(listing, name, one);
            }
        }
        for one in section.intervals {
            self.cells.0 += 1;
            let Some(name) = devices.get(one.device.index()).map(|device| &device.name) else {
                continue;
            };
            let place = self.place(one.start, keep);
            let cell = self.averages.entry(place).or_default();
            match cell.get_mut(&(listing, name.clone())) {
                Some(known) => add(known, &one),
                None => {
                    cell.insert((listing, name.clone()), one);
                }
            }
        }
        // Cells are in order of time; one or two may still receive counts.
        while self.histograms.len().max(self.averages.len()) > HELD {
            self.write_cells(HELD / 2);
        }
    }

    fn device(&mut self, devices: &[Device], id: DeviceId) -> Option<DeviceId> {
        let device = devices.get(id.index())?;
        let here = self.writer.device(&device.name);
        if let Some(medium) = device.medium {
            self.writer.set_medium(here, medium);
        }
        Some(here)
    }

    /// The cell of a time: one of the new length, or its own in an interval to keep.
    fn place(&self, start: Option<Time>, keep: &[Range<i64>]) -> Place {
        let Some(start) = start else { return (i64::MIN, false) };
        let wall = start.ns().saturating_add(self.offset_ns.unwrap_or(0));
        if self.offset_ns.is_some() && keep.iter().any(|range| range.contains(&wall)) {
            return (start.ns(), true);
        }
        (start.ns().div_euclid(self.length_ns).saturating_mul(self.length_ns), false)
    }

    /// Writes the earliest cells until this many are left.
    fn write_cells(&mut self, left: usize) {
        while self.histograms.len() > left {
            let Some((_, cell)) = self.histograms.pop_first() else { break };
            for ((listing, name, _, _), one) in cell {
                self.write(listing, &name, one);
            }
        }
        while self.averages.len() > left {
            let Some((_, cell)) = self.averages.pop_first() else { break };
            for ((listing, name), mut one) in cell {
                self.cells.1 += 1;
                self.writer.resume(listing);
                one.device = self.writer.device(&name);
                self.writer.interval(one);
            }
        }
        // Writing into a buffer does not fail.
        let _ = self.writer.flush();
    }

    fn write(&mut self, listing: usize, name: &str, mut one: Distribution) {
        self.cells.1 += 1;
        self.writer.resume(listing);
        one.device = self.writer.device(name);
        one.label = None;
        self.writer.distribution(one);
    }

    fn finish(mut self, into: &mut ThinSegment) {
        self.write_cells(0);
        let _ = self.writer.finish();
        into.bytes.append(self.writer.out());
        into.cells.0 += self.cells.0;
        into.cells.1 += self.cells.1;
    }
}

/// From the beginning of the first to the end of the second.
fn joined(
    start: Option<Time>,
    length: Option<Nanos>,
    next: Option<Time>,
    more: Option<Nanos>,
) -> Option<Nanos> {
    let end =
        |start: Option<Time>, length: Option<Nanos>| Some(start?.ns().saturating_add(length?.ns()));
    let last = end(start, length)?.max(end(next, more)?);
    Some(Nanos(last.saturating_sub(start?.ns())))
}

/// Adds the averages of a later interval, weighted by time, latencies by I/Os. The time between
/// them was idle: idle seconds are not recorded.
fn add(known: &mut Interval, later: &Interval) {
    let seconds = |one: &Interval| one.length.map_or(0.0, |length| length.ns() as f64 / 1e9);
    let (before, after) = (seconds(known), seconds(later));
    let end = known.start.zip(known.length).map(|(start, length)| start + length);
    let idle =
        later.start.zip(end).map_or(0.0, |(start, end)| (start - end).ns().max(0) as f64 / 1e9);
    let all = before + idle + after;
    if all <= 0.0 {
        return;
    }
    let mean = |a: Option<f64>, b: Option<f64>| Some((a? * before + b? * after) / all);
    for op in Op::ALL {
        let (a, b) = (known.of(op).copied(), later.of(op).copied());
        if a.is_none() && b.is_none() {
            continue;
        }
        let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
        // A missing operation had no I/O in that interval.
        let rate = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (None, None) => None,
            _ => Some((a.unwrap_or(0.0) * before + b.unwrap_or(0.0) * after) / all),
        };
        let (n, m) = (a.ios_per_s * before, b.ios_per_s * after);
        let waited = match (a.await_ns, b.await_ns) {
            (Some(x), Some(y)) if n + m > 0.0 => Some((x * n + y * m) / (n + m)),
            (x, y) => x.or(y),
        };
        let sum = Rates {
            ios_per_s: (n + m) / all,
            merges_per_s: rate(a.merges_per_s, b.merges_per_s),
            bytes_per_s: rate(a.bytes_per_s, b.bytes_per_s),
            await_ns: waited,
        };
        match known.rates.iter_mut().find(|(other, _)| *other == op) {
            Some((_, rates)) => *rates = sum,
            None => known.rates.push((op, sum)),
        }
    }
    known.queue_len = mean(known.queue_len, later.queue_len);
    known.active_len = mean(known.active_len, later.active_len);
    known.busy = mean(known.busy, later.busy);
    // Latencies over all operations are derived from the rates; any other is dropped.
    (known.await_ns, known.device_ns, known.wait_ns, known.svctm_ns) = (None, None, None, None);
    known.in_flight = later.in_flight;
    known.length = joined(known.start, known.length, later.start, later.length)
        .or_else(|| Some(Nanos(known.length?.ns().saturating_add(later.length?.ns()))));
}
