//! The input of detectors: the sorted recording, with everything that several of them need.
//!
//! It is built once, in stages that each see only the one before, and never changes:
//!
//! 1. [`Devices`]: disks, media, facts, healthy service times; no latency yet.
//! 2. [`Samples`]: traces of single I/Os, rows of averages, histograms, each with its healthy
//!    service time.
//! 3. [`Analysis`]: both, and what is derived from all samples together.

pub(crate) mod audit;
pub(crate) mod averages;
pub(crate) mod bounds;
pub(crate) mod completeness;
pub(crate) mod device_trace;
pub(crate) mod devices;
pub(crate) mod groups;
pub(crate) mod healthy_service;
pub(crate) mod healthy_times;
pub(crate) mod requests;
pub(crate) mod samples;
pub(crate) mod state_windows;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;

use iowhy_model::{DeviceId, Distribution, Edges, Inference, Layer, Listing, Recording, whole};

use crate::analysis::audit::{AtOnce, Inconsistency};
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::devices::Devices;
use crate::analysis::groups::Stream;
use crate::analysis::healthy_times::HealthyTimes;
use crate::analysis::requests::Requests;
use crate::analysis::samples::{HistogramSample, IntervalSample};
pub(crate) use crate::facts::graph::Host;
use crate::facts::probe_listing::ProbeListing;
use crate::measures::replay::Side;
use crate::options::Options;

/// Fewer events than this carry no verdict (docs/METHOD.md, 10 Rules).
pub(crate) const EVENTS_NEEDED: usize = 10;
/// The recording as every detector sees it.
pub struct Analysis<'a> {
    devices: Devices<'a>,
    at_once: Vec<AtOnce>,
    /// Per listing and device: its completed I/Os.
    pub traces: Vec<DeviceTrace>,
    /// Per listing and device: the same I/Os with all fields: flags, arrival and control group.
    pub requests: Vec<Requests<'a>>,
    /// Per listing, device and operation: where requests went.
    pub streams: Vec<(usize, Stream)>,
    /// The rows of averages that are samples of the present.
    pub intervals: Vec<IntervalSample<'a>>,
    /// Indexes into `intervals`: the rows of each device in each listing, and the devices of each
    /// listing.
    rows: Vec<Vec<usize>>,
    rows_in: HashMap<usize, Vec<usize>>,
    /// The histograms.
    pub histograms: Vec<HistogramSample<'a>>,
    /// What contradicts itself.
    pub inconsistencies: Vec<Inconsistency>,
    /// Per input and disk: the time its requests lost per time watched, the maximum over its
    /// listings.
    pub lost: Vec<(Host<'a>, String, f64)>,
}

/// The measurements of the devices, each with its healthy service time.
struct Samples<'a> {
    traces: Vec<DeviceTrace>,
    intervals: Vec<IntervalSample<'a>>,
    histograms: Vec<HistogramSample<'a>>,
}

/// Indexes of the rows of each device in each listing, and the devices of each listing.
fn by_device(intervals: &[IntervalSample]) -> (Vec<Vec<usize>>, HashMap<usize, Vec<usize>>) {
    let mut all: Vec<Vec<usize>> = Vec::new();
    let mut known: HashMap<(usize, DeviceId), usize> = HashMap::new();
    let mut in_listing: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, row) in intervals.iter().enumerate() {
        let device = *known.entry((row.listing, row.device)).or_insert(all.len());
        match all.get_mut(device) {
            Some(places) => places.push(place),
            None => {
                in_listing.entry(row.listing).or_default().push(all.len());
                all.push(vec![place]);
            }
        }
    }
    (all, in_listing)
}

/// Whether a histogram is known to be of a disk: the user stated it, or it names one.
fn is_of_a_disk(recording: &Recording, listing: &Listing, known: &Distribution) -> bool {
    !listing.source.inferred.contains(&Inference::Subject)
        || !recording.device_of(known.device).name.is_empty()
}

impl<'a> Analysis<'a> {
    /// Analyses a recording.
    pub fn of(recording: &'a Recording, options: &'a Options) -> Analysis<'a> {
        let devices = Devices::of(recording, options);
        let samples = Samples::of(&devices);
        let lost = lost_times(&devices, &samples);
        let Samples { traces, intervals, histograms } = samples;
        let listings = recording.listings.iter().enumerate();
        let streams = listings.flat_map(|(place, listing)| {
            groups::streams(listing).into_iter().map(move |stream| (place, stream))
        });
        let at_once: Vec<AtOnce> = recording.listings.iter().map(AtOnce::of).collect();
        let (rows, rows_in) = by_device(&intervals);
        Analysis {
            traces,
            rows,
            rows_in,
            requests: requests::by_device(recording),
            streams: streams.collect(),
            intervals,
            histograms,
            inconsistencies: audit::audit(recording, &at_once),
            at_once,
            lost,
            devices,
        }
    }

    /// The spindle speed that the user states, or that a probe measured, in revolutions per minute.
    pub fn stated_rpm(&self) -> Option<f64> {
        self.options
            .rpm
            .or_else(|| ProbeListing::all(self.recording).find_map(|probed| probed.rpm()))
    }

    /// Requests that a run on a device has in flight at most, where its source reports it.
    pub fn at_once(&self, listing: usize, device: DeviceId) -> Option<f64> {
        self.at_once.get(listing)?.on(device)
    }

    /// The judged I/Os of a device in a listing.
    pub fn trace(&self, listing: usize, device: DeviceId) -> Option<&DeviceTrace> {
        self.traces.iter().find(|trace| (trace.listing, trace.device) == (listing, device))
    }

    /// The rows of each device, a listing at a time.
    pub fn rows_by_listing(&self) -> Vec<Vec<&IntervalSample<'a>>> {
        self.rows.iter().map(|places| self.rows_at(places)).collect()
    }

    /// The rows of each device in one listing.
    pub fn rows_in(&self, listing: usize) -> Vec<Vec<&IntervalSample<'a>>> {
        let known = self.rows_in.get(&listing).into_iter().flatten();
        known.filter_map(|place| self.rows.get(*place)).map(|rows| self.rows_at(rows)).collect()
    }

    fn rows_at(&self, places: &[usize]) -> Vec<&IntervalSample<'a>> {
        places.iter().filter_map(|place| self.intervals.get(*place)).collect()
    }

    /// How long the I/Os of a listing were watched, ns, where its source reports it and all of them
    /// are judged; otherwise the time between the first and the last, which is given.
    pub fn watched_ns(&self, listing: usize, span_ns: f64) -> f64 {
        let known = self.listing(listing);
        let watched = known.source.watched.filter(|_| known.stretch.is_none());
        watched.map_or(span_ns, |watched| span_ns.max(watched.ns() as f64))
    }

    /// The share of all the time that requests of a device lost in a listing, for an excess of
    /// them, ns.
    pub fn share_of_lost(&self, listing: usize, device: DeviceId, excess_ns: f64) -> f64 {
        let lost = self.trace(listing, device).map_or(0.0, |trace| trace.lost_ns());
        excess_ns / lost.max(excess_ns).max(1.0)
    }

    /// What the trace of the same disk in the same input blames, if it could be replayed: averages
    /// prove nothing that single I/Os contradict.
    pub fn traced_side(&self, row: &IntervalSample) -> Option<Side> {
        self.traces
            .iter()
            .filter(|trace| trace.disk == row.disk)
            .filter(|trace| self.host(trace.listing) == self.host(row.listing))
            .filter(|trace| trace.spans.len() >= EVENTS_NEEDED)
            .max_by_key(|trace| trace.spans.len())
            .and_then(DeviceTrace::side)
    }
}

/// An analysis gives access to its devices directly.
impl<'a> Deref for Analysis<'a> {
    type Target = Devices<'a>;

    fn deref(&self) -> &Devices<'a> {
        &self.devices
    }
}

impl<'a> Samples<'a> {
    /// Collects the samples of all listings.
    fn of(devices: &Devices<'a>) -> Samples<'a> {
        let mut times = HealthyTimes::new(devices);
        let (mut traces, mut intervals, mut histograms) = (Vec::new(), Vec::new(), Vec::new());
        for (place, listing) in devices.recording.listings.iter().enumerate() {
            // Past its budget a listing may keep only the slowest I/Os, which are not a
            // representative sample. A sampled one has no order: its distribution is that of events
            // and histograms together.
            if listing.is_in_sequence() {
                traces.extend(device_trace::traces(&mut times, place, listing));
            }
            let present = listing.intervals.iter();
            let present = present.filter(|row| row.layer == Layer::Block && !row.since_boot);
            intervals.extend(
                present.map(|row| IntervalSample::of(&mut times, (place, &listing.source), row)),
            );
            // I/Os folded outside the kept interval are of the same disks at better times.
            let counted: Vec<Cow<Distribution>> = match listing.stretch {
                _ if listing.is_thinned() => {
                    whole(listing, &Edges::standard()).into_iter().map(Cow::Owned).collect()
                }
                Some(_) => Vec::new(),
                None => listing.histograms().map(Cow::Borrowed).collect(),
            };
            let of_a_disk =
                |known: &Cow<Distribution>| is_of_a_disk(devices.recording, listing, known);
            let counted = counted.into_iter().filter(of_a_disk);
            histograms.extend(counted.map(|known| HistogramSample::of(&mut times, place, known)));
        }
        Samples { traces, intervals, histograms }
    }
}

/// Per input and disk: the time its requests lost per time watched, the maximum over its listings.
fn lost_times<'a>(devices: &Devices<'a>, samples: &Samples) -> Vec<(Host<'a>, String, f64)> {
    let traced = samples
        .traces
        .iter()
        .map(|trace| (trace.listing, &trace.disk, trace.lost_ns() / trace.span_ns()));
    // Counts and bytes alone do not show that nothing waited.
    let timed = |row: &&IntervalSample| row.await_ms().is_some() || row.interval.busy.is_some();
    let averaged = samples.intervals.iter().filter(timed);
    let averaged = averaged.map(|row| (row.listing, &row.disk, row.lost()));
    // A histogram does not show how long was watched, so this is the excess share of the time
    // waited.
    let counted = samples.histograms.iter().filter(|sample| sample.known.layer == Layer::Block);
    let counted = counted.filter_map(|sample| {
        let (mean_ns, _) = sample.known.histogram.mean_ns().filter(|(mean, _)| *mean > 0.0)?;
        let lost = (1.0 - sample.s0.slowest_ms() * 1e6 / mean_ns).max(0.0);
        Some((sample.listing, &sample.disk, lost))
    });
    let mut known: BTreeMap<(Host, &str), f64> = BTreeMap::new();
    for (listing, disk, lost) in traced.chain(averaged).chain(counted) {
        let most = known.entry((devices.host(listing), disk)).or_default();
        *most = most.max(lost);
    }
    known.into_iter().map(|((host, disk), lost)| (host, disk.to_string(), lost)).collect()
}
