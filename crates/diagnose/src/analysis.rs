//! What a detector sees: the recording, sorted, with everything that more than one of them needs.

pub mod audit;
pub mod completeness;
pub mod device_trace;
pub mod groups;
pub mod requests;
pub mod samples;
pub mod state_windows;

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use iowhy_model::{
    DeviceId, Distribution, Finding, Inferred, Interval, Layer, Level, Listing, Medium, Op,
    Recording, Source,
};

use crate::Options;
use crate::analysis::audit::Inconsistency;
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::groups::Stream;
use crate::analysis::requests::Requests;
use crate::analysis::samples::{HistogramSample, IntervalSample};
use crate::baseline::healthy_time::{HealthyServiceTime, OwnTimes, Request};
use crate::baseline::stored::{Baseline, HealthyOrigin};
use crate::facts::disk_names;
use crate::facts::{About, Facts};
use crate::measures::replay::Side;

/// Fewer events than this carry no verdict (docs/METHOD.md, 10 Rules).
pub const EVENTS_NEEDED: usize = 10;
/// Odds of a network volume below which a name rules out a limit: those of a disk named `sd`, 0.1,
/// do; those of an unknown kind such as `loop`, 0.25, do not ([`disk_names::media`]).
const MAY_BE_NETWORK: f64 = 0.2;

/// The recording as the judge sees it.
pub struct Analysis<'a> {
    /// What was read or watched.
    pub recording: &'a Recording,
    /// What the user asked.
    pub options: &'a Options,
    /// Per listing and device: its completed I/Os.
    pub traces: Vec<DeviceTrace>,
    /// Per listing, device and operation: where requests went.
    pub streams: Vec<(usize, Stream)>,
    /// The rows of averages that are samples of the present.
    pub intervals: Vec<IntervalSample<'a>>,
    /// The histograms.
    pub histograms: Vec<HistogramSample<'a>>,
    /// What the input says beside latencies.
    pub facts: Facts<'a>,
    /// What contradicts itself.
    pub inconsistencies: Vec<Inconsistency>,
    /// Per input and disk: the time its requests lost per time watched, at most of its listings.
    pub lost: Vec<(&'a str, String, f64)>,
    /// What was accused so far; empty but for detectors that speak last.
    pub so_far: Vec<Finding>,
    asked: RefCell<HashMap<Question, Rc<HealthyServiceTime>>>,
    requests: OnceCell<Vec<Requests<'a>>>,
    baseline: Option<Cow<'a, Baseline>>,
}

/// What the baseline was asked: device, operation, pattern, size, and what was seen.
type Question = (DeviceId, Op, Option<bool>, Grid, Option<[Grid; 5]>);

/// A positive number to a sixteenth of an octave (4 %): far finer than any S0 is known. Powers of
/// two, the usual sizes, lie on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Grid(i32);

impl Grid {
    fn of(value: f64) -> Grid {
        Grid((value.clamp(1e-9, 1e15).log2() * 16.0).round() as i32)
    }

    /// To a quarter of an octave: what was seen only moves the odds between classes.
    fn coarse(self) -> Grid {
        Grid((self.0 + 2).div_euclid(4) * 4)
    }

    fn value(self) -> f64 {
        (f64::from(self.0) / 16.0).exp2()
    }
}

/// Whether a histogram is known to be of a disk: somebody said so, or it names one.
fn is_of_a_disk(recording: &Recording, listing: &Listing, known: &Distribution) -> bool {
    !listing.source.inferred.contains(&Inferred::Subject)
        || !recording.device_of(known.device).name.is_empty()
}

impl<'a> Analysis<'a> {
    /// Sorts a recording.
    pub fn of(recording: &'a Recording, options: &'a Options) -> Analysis<'a> {
        let mut analysis = Analysis {
            recording,
            options,
            traces: Vec::new(),
            streams: Vec::new(),
            intervals: Vec::new(),
            histograms: Vec::new(),
            facts: Facts::of(recording),
            inconsistencies: audit::audit(recording),
            lost: Vec::new(),
            so_far: Vec::new(),
            asked: RefCell::default(),
            requests: OnceCell::new(),
            baseline: match &options.healthy_origin {
                HealthyOrigin::Class => None,
                HealthyOrigin::Own => Some(Cow::Owned(Baseline::own(recording))),
                HealthyOrigin::Peers => Some(Cow::Owned(Baseline::peers(recording))),
                HealthyOrigin::Stored(baseline) => Some(Cow::Borrowed(baseline)),
            },
        };
        for (place, listing) in recording.listings.iter().enumerate() {
            // Past its budget a listing may keep the slowest only: what is left is then no sample.
            if listing.is_in_sequence() {
                let mut traces: Vec<DeviceTrace> = groups::spans(listing)
                    .into_iter()
                    .map(|known| DeviceTrace::of(&analysis, place, known))
                    .collect();
                device_trace::mark_pauses(&mut traces);
                analysis.traces.extend(traces);
            }
            analysis
                .streams
                .extend(groups::streams(listing).into_iter().map(|known| (place, known)));
            let rows: Vec<IntervalSample> = listing
                .intervals
                .iter()
                .filter(|row| row.layer == Layer::Block && !row.since_boot)
                .map(|interval| analysis.row(place, interval))
                .collect();
            analysis.intervals.extend(rows);
            // What was folded beside a stretch of events is of the same disks in better times.
            let folded = if listing.stretch { &[] } else { &listing.distributions[..] };
            let histograms: Vec<HistogramSample> = folded
                .iter()
                .filter(|known| is_of_a_disk(recording, listing, known))
                .map(|known| analysis.sample(place, known))
                .collect();
            analysis.histograms.extend(histograms);
        }
        analysis.lost = analysis.lost_times();
        analysis
    }

    fn lost_times(&self) -> Vec<(&'a str, String, f64)> {
        let traced = self
            .traces
            .iter()
            .map(|trace| (trace.listing, &trace.disk, trace.lost_ns() / trace.span_ns()));
        let averaged = self.intervals.iter().map(|row| (row.listing, &row.disk, row.lost()));
        // A histogram does not tell how long was watched: of the time waited, what is excess.
        let counted = self.histograms.iter().filter(|sample| sample.known.layer == Layer::Block);
        let counted = counted.filter_map(|sample| {
            let (mean_ns, _) = sample.known.histogram.mean_ns().filter(|(mean, _)| *mean > 0.0)?;
            let lost = (1.0 - sample.s0.slowest_ms() * 1e6 / mean_ns).max(0.0);
            Some((sample.listing, &sample.disk, lost))
        });
        let mut known: HashMap<(&str, &str), f64> = HashMap::new();
        for (listing, disk, lost) in traced.chain(averaged).chain(counted) {
            let most = known.entry((self.input(listing), disk)).or_default();
            *most = most.max(lost);
        }
        known.into_iter().map(|((input, disk), lost)| (input, disk.to_string(), lost)).collect()
    }

    /// A listing.
    pub fn listing(&self, place: usize) -> &'a Listing {
        &self.recording.listings[place]
    }

    /// Who spoke in a listing.
    pub fn source(&self, place: usize) -> &'a Source {
        &self.recording.listings[place].source
    }

    /// The input a listing was found in.
    pub fn input(&self, place: usize) -> &'a str {
        &self.recording.listings[place].source.input
    }

    /// The disk behind a device.
    pub fn disk(&self, device: DeviceId) -> String {
        disk_of(self.recording, device)
    }

    /// What a device may be made of: what was stated, else what its name suggests.
    pub fn media(&self, device: DeviceId) -> Vec<(Medium, f64)> {
        match self.medium(device).filter(|medium| *medium != Medium::Stacked) {
            Some(medium) => vec![(medium, 1.0)],
            None => self.media_by_name(device),
        }
    }

    /// What its name allows, without a platter if the kernel says that none turns.
    fn media_by_name(&self, device: DeviceId) -> Vec<(Medium, f64)> {
        let disk = self.disk(device);
        let mut media = disk_names::media(&disk);
        if media.len() > 1 && self.facts.about(None, &disk).does_not_turn() {
            media.retain(|(medium, _)| *medium != Medium::Rotational);
        }
        let all: f64 = media.iter().map(|(_, odds)| odds).sum();
        media.iter_mut().for_each(|(_, odds)| *odds /= all);
        media
    }

    /// How likely it is that the device is a volume of a network.
    pub fn network_odds(&self, device: DeviceId) -> f64 {
        let media = self.media(device).into_iter();
        media.filter(|(medium, _)| *medium == Medium::Network).map(|(_, odds)| odds).sum()
    }

    /// Whether a platter may turn in it: false only if something else was stated or its name
    /// rules a platter out.
    pub fn may_turn(&self, device: DeviceId) -> bool {
        match self.medium(device) {
            Some(Medium::Rotational | Medium::Stacked) => true,
            Some(_) => false,
            None => {
                let media = self.media_by_name(device);
                media.iter().any(|(medium, _)| *medium == Medium::Rotational)
            }
        }
    }

    /// Whether somebody may hold it at a rate that was bought or set: a volume of a network, or a
    /// device made of others or of an unknown kind, which may stand on anything.
    pub fn may_be_limited(&self, device: DeviceId) -> bool {
        match self.medium(device) {
            Some(medium) => matches!(medium, Medium::Network | Medium::Stacked),
            None => {
                let media = self.media_by_name(device).into_iter();
                media.filter(|(m, _)| *m == Medium::Network).any(|(_, odds)| odds >= MAY_BE_NETWORK)
            }
        }
    }

    /// Whether somebody stated that a platter turns in it.
    pub fn turns(&self, device: DeviceId) -> bool {
        self.medium(device) == Some(Medium::Rotational)
    }

    /// What a device is made of, if the system or the drive itself stated it.
    pub fn medium(&self, device: DeviceId) -> Option<Medium> {
        let stated = self.recording.device_of(device).medium;
        stated.or_else(|| {
            let disk = self.disk(device);
            self.facts.about(None, &disk).medium().map(|(medium, _)| medium)
        })
    }

    /// The healthy service time of requests of one kind. Asked a million times for nearly the same
    /// by a day of rows, hence answered on a grid and kept.
    pub fn s0(
        &self,
        device: DeviceId,
        request: Request,
        seen: Option<OwnTimes>,
    ) -> Rc<HealthyServiceTime> {
        if let Some(ms) = self.options.healthy_ms.filter(|ms| *ms > 0.0) {
            return Rc::new(HealthyServiceTime::stated(ms));
        }
        let known = self.baseline.as_ref().and_then(|known| known.of(&self.disk(device), request));
        if let Some(s0) = known {
            return Rc::new(s0);
        }
        let bytes = Grid::of(request.bytes);
        let seen = seen.map(|seen| {
            [seen.floor_ms, seen.low_ms, seen.high_ms, seen.pace_ms, seen.spread_ms]
                .map(|ms| Grid::of(ms).coarse())
        });
        let key = (device, request.op, request.sequential, bytes, seen);
        if let Some(known) = self.asked.borrow().get(&key) {
            return Rc::clone(known);
        }
        let request = Request { bytes: bytes.value(), ..request };
        let seen = seen.map(|[floor, low, high, pace, spread]| OwnTimes {
            floor_ms: floor.value(),
            low_ms: low.value(),
            high_ms: high.value(),
            pace_ms: pace.value(),
            spread_ms: spread.value(),
        });
        let s0 = Rc::new(HealthyServiceTime::of(&self.media(device), request, seen));
        self.asked.borrow_mut().insert(key, Rc::clone(&s0));
        s0
    }

    /// The I/Os of each device, whole: flags, arrival and control group included.
    pub fn requests(&self) -> &[Requests<'a>] {
        self.requests.get_or_init(|| requests::by_device(self.recording))
    }

    /// The I/Os of a device in a listing, as they were judged.
    pub fn trace(&self, listing: usize, device: DeviceId) -> Option<&DeviceTrace> {
        self.traces.iter().find(|trace| (trace.listing, trace.device) == (listing, device))
    }

    /// The richest level among listings.
    pub fn level(&self, listings: &[usize]) -> Level {
        listings.iter().map(|place| self.source(*place).level).max().unwrap_or(Level::A)
    }

    /// What the input says of a disk beside latencies, as far as it concerns a listing's input.
    pub fn about<'s>(&'s self, listing: usize, disk: &'s str) -> About<'s, 'a> {
        self.facts.about(Some(self.input(listing)), disk)
    }

    /// The rows of each device, a listing at a time.
    pub fn rows_by_listing(&self) -> Vec<Vec<&IntervalSample<'a>>> {
        let mut all: Vec<Vec<&IntervalSample>> = Vec::new();
        let mut places: HashMap<(usize, DeviceId), usize> = HashMap::new();
        for row in &self.intervals {
            let place = *places.entry((row.listing, row.device)).or_insert(all.len());
            match all.get_mut(place) {
                Some(rows) => rows.push(row),
                None => all.push(vec![row]),
            }
        }
        all
    }

    /// Whom the trace of the same disk in the same input blames, if it could be replayed: averages
    /// say nothing that single I/Os contradict.
    pub fn traced_side(&self, row: &IntervalSample) -> Option<Side> {
        self.traces
            .iter()
            .filter(|trace| trace.disk == row.disk)
            .filter(|trace| self.input(trace.listing) == self.input(row.listing))
            .filter(|trace| trace.spans.len() >= EVENTS_NEEDED)
            .max_by_key(|trace| trace.spans.len())
            .and_then(DeviceTrace::side)
    }

    fn row(&self, listing: usize, interval: &'a Interval) -> IntervalSample<'a> {
        let s0 = self.s0_of_row(interval);
        IntervalSample {
            listing,
            device: interval.device,
            disk: self.disk(interval.device),
            interval,
            s0,
            agrees: audit::agrees(interval),
        }
    }

    fn sample(&self, listing: usize, known: &'a Distribution) -> HistogramSample<'a> {
        let request = Request {
            op: known.op.unwrap_or(Op::Read),
            bytes: known.bytes.map_or(4096.0, f64::from),
            sequential: None,
        };
        let s0 = self.s0(known.device, request, samples::middle_half(&known.histogram));
        HistogramSample { listing, disk: self.disk(known.device), known, s0 }
    }

    fn s0_of_row(&self, interval: &Interval) -> Rc<HealthyServiceTime> {
        let seen = samples::seen(interval);
        let parts: Vec<(Rc<HealthyServiceTime>, f64)> = interval
            .rates
            .iter()
            .filter(|(op, rates)| matches!(op, Op::Read | Op::Write) && rates.ios_per_s > 0.0)
            .map(|(op, rates)| {
                let bytes = rates.mean_bytes().or(interval.mean_bytes()).unwrap_or(4096.0);
                let request = Request { op: *op, bytes, sequential: None };
                (self.s0(interval.device, request, seen), rates.ios_per_s)
            })
            .collect();
        match parts.as_slice() {
            [] => {
                let request = Request { op: Op::Read, bytes: 4096.0, sequential: None };
                self.s0(interval.device, request, None)
            }
            [(only, _)] => Rc::clone(only),
            _ => {
                let parts: Vec<(&HealthyServiceTime, f64)> =
                    parts.iter().map(|(s0, w)| (s0.as_ref(), *w)).collect();
                Rc::new(HealthyServiceTime::mixed(&parts))
            }
        }
    }
}

fn disk_of(recording: &Recording, device: DeviceId) -> String {
    disk_names::disk(&recording.device_of(device).name)
}
