//! Conclusions from all block-layer histograms of a disk: how many requests were in flight, if the
//! counting time is known, and whether all of them or a separate mode were slow.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use iowhy_model::{DeviceId, Distribution, Histogram, Layer, Name, Op, Stage, Time};

use crate::analysis::samples::HistogramSample;
use crate::analysis::{Analysis, Host};
use crate::baseline::healthy_time::{HealthyServiceTime, Request};
use crate::evidence::peer_families;
use crate::facts::disk_names;
use crate::measures::modes::{self, SlowMode};

/// A request is slow from this many healthy service times of the slowest possible class on
/// (docs/METHOD.md, 1 Replay: above 2.5 S0).
const SLOW_FROM: f64 = 2.5;
/// Share of the requests that must be slow for all of them to count as slow: a cache answers a few
/// of any device's.
const NEARLY_ALL: f64 = 0.9;
/// Requests that a histogram must have (docs/METHOD.md, 10 Rules: as many I/Os as a trace).
const ENOUGH: u64 = crate::analysis::EVENTS_NEEDED as u64;

/// The requests of one disk that the histograms of a listing count.
pub(crate) struct CountedDisk {
    /// The listing's index.
    pub listing: usize,
    /// The device.
    pub device: DeviceId,
    /// Its disk's name.
    pub disk: String,
    /// The healthy service time of most of them.
    pub s0: Rc<HealthyServiceTime>,
    /// Their latencies.
    pub histogram: Histogram,
    /// Their mean latency, ms.
    pub mean_ms: f64,
    /// Which were slow for the slowest class that its name allows: a fast body is a cache's or
    /// that of requests in sequence, and rules no class out.
    pub slow: Option<Slow>,
    /// Whether all are reads.
    pub reads_only: bool,
    /// The time they were counted in, s.
    pub seconds: Option<f64>,
}

/// Which requests were slow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Slow {
    /// Nearly all, from this latency on, ns.
    All(f64),
    /// Some, separate from the others.
    Some(SlowMode),
}

impl CountedDisk {
    /// How many.
    pub(crate) fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// Completions per second.
    pub(crate) fn per_s(&self) -> Option<f64> {
        self.seconds.map(|seconds| self.count() as f64 / seconds)
    }

    /// Requests in flight, mean: by Little's law, their rate times their latency.
    pub(crate) fn in_flight(&self) -> Option<f64> {
        self.per_s().map(|per_s| per_s * self.mean_ms / 1e3)
    }

    /// From one completion to the next, ms, mean.
    pub(crate) fn pace_ms(&self) -> Option<f64> {
        self.per_s().map(|per_s| 1e3 / per_s)
    }
}

/// Whether all were slow, or a part of them.
fn slow(histogram: &Histogram, slowest_ms: f64) -> Option<Slow> {
    let bound_ns = SLOW_FROM * slowest_ms * 1e6;
    let beyond = histogram.count_from(bound_ns as u64) as f64;
    if beyond >= NEARLY_ALL * histogram.count() as f64 {
        return Some(Slow::All(bound_ns));
    }
    modes::slow_mode(histogram, bound_ns).map(Slow::Some)
}

/// The disks with enough counts in histograms, per listing. Counts of stacked devices
/// are not those of disks, and for a traced disk single I/Os are better.
pub(crate) fn disks<'s>(analysis: &'s Analysis) -> Vec<CountedDisk> {
    let mut by_disk: BTreeMap<(usize, &str), Vec<&HistogramSample>> = BTreeMap::new();
    let traced: HashSet<(Host, &str)> = analysis
        .traces
        .iter()
        .map(|trace| (analysis.host(trace.listing), trace.disk.as_str()))
        .collect();
    // Where the stages before the device are reported as well, all of them together say more
    // (`stages`).
    let before =
        |sample: &&HistogramSample| matches!(sample.known.stage, Stage::Before | Stage::Queue);
    let place = |sample: &'s HistogramSample| (sample.listing, sample.disk.as_str());
    let staged: HashSet<(usize, &str)> =
        analysis.histograms.iter().filter(before).map(place).collect();
    let reported = analysis.histograms.iter().filter(|sample| {
        is_of_a_disk(sample)
            && !traced.contains(&(analysis.host(sample.listing), sample.disk.as_str()))
            && !staged.contains(&place(sample))
    });
    for sample in reported {
        by_disk.entry((sample.listing, &sample.disk)).or_default().push(sample);
    }
    by_disk.into_values().filter_map(|samples| of(analysis, &samples)).collect()
}

/// The healthy service time of the slowest class that a device's name allows, ms.
pub(crate) fn slowest_ms(analysis: &Analysis, device: DeviceId, op: Option<Op>, bytes: f64) -> f64 {
    let request = Request { op: op.unwrap_or(Op::Read), bytes, sequential: None };
    let stated = analysis.options.healthy_ms;
    let of_class = || HealthyServiceTime::of(&analysis.media(device), request, None).slowest_ms();
    stated.unwrap_or_else(of_class)
}

fn is_of_a_disk(sample: &HistogramSample) -> bool {
    let known = &sample.known;
    let data = matches!(known.op, None | Some(Op::Read | Op::Write));
    let stage = matches!(known.stage, Stage::Device | Stage::Total);
    known.layer == Layer::Block && data && stage && !disk_names::is_stacked(&sample.disk)
}

fn of(analysis: &Analysis, samples: &[&HistogramSample]) -> Option<CountedDisk> {
    let most = samples.iter().max_by_key(|sample| sample.known.histogram.count())?;
    // One stage and one grouping by operation: the others count the same requests again.
    let alike: Vec<&Distribution> = samples
        .iter()
        .map(|sample| &*sample.known)
        .filter(|known| known.stage == most.known.stage)
        .filter(|known| known.op.is_some() == most.known.op.is_some())
        .collect();
    let histogram = peer_families::merged(alike.iter().map(|known| &known.histogram))?;
    let (mean_ns, _) = histogram.mean_ns()?;
    let bytes = most.known.bytes.map_or(4096.0, f64::from);
    let slowest_ms = slowest_ms(analysis, most.known.device, most.known.op, bytes);
    let slowest_ms = slowest_ms.max(most.s0.slowest_ms());
    let counted = CountedDisk {
        listing: most.listing,
        device: most.known.device,
        disk: most.disk.clone(),
        s0: Rc::clone(&most.s0),
        seconds: seconds(&alike),
        mean_ms: mean_ns / 1e6,
        slow: slow(&histogram, slowest_ms),
        reads_only: alike.iter().all(|known| known.op == Some(Op::Read)),
        histogram,
    };
    (counted.count() >= ENOUGH).then_some(counted)
}

/// The time that histograms cover, s: those of one name follow each other, those of several names
/// (the operations) are of the same time.
fn seconds(alike: &[&Distribution]) -> Option<f64> {
    type Of = (Option<Op>, Option<Name>);
    let mut by_name: HashMap<Of, HashMap<(Option<Time>, usize), f64>> = HashMap::new();
    for (place, known) in alike.iter().enumerate() {
        let length = known.length?.seconds();
        // Those without a time are one after the other.
        let at = (known.start, known.start.map_or(place, |_| 0));
        by_name.entry((known.op, known.label)).or_default().insert(at, length);
    }
    let sums = by_name.into_values().map(|lengths| lengths.into_values().sum::<f64>());
    sums.reduce(f64::max).filter(|seconds| *seconds > 0.0)
}
