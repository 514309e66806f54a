//! The disks of a listing as a peer group: one member per disk, whatever its number of rows,
//! histograms or I/Os.

use iowhy_model::{DeviceId, Histogram, Layer, Op, Rates, Stage, key};

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::{HistogramSample, IntervalSample};
use crate::analysis::{Analysis, Host};
use crate::facts::disk_names;
use crate::measures::peers::Peer;

/// Fewer disks are not a group (docs/METHOD.md, 7 Peers).
const GROUP: usize = 4;
/// Rates, sizes and shares of reads this near to each other are the same (a choice: a tenth, of
/// numbers that are printed with two or three digits), and requests of each from which on they are
/// not chance.
const SAME: f64 = 1.1;
const COUNTED: u64 = 100;
/// The same of members of one array, which share its work: requests are merged by chance (a
/// choice).
const SAME_OF_ARRAY: f64 = 1.5;
/// Means this near to each other are equal: the spread of a model series (docs/METHOD.md, 7 Peers).
const ALIKE: f64 = 1.3;
/// Requests looked at per disk: a median of this many is known to 1 %.
const SAMPLED: usize = 10_000;
/// Requests per disk below which its mean is noise (docs/METHOD.md, 7 Peers, starts at 20).
const REQUESTS: u64 = 20;
/// Spread of a request's latency over its mean where only the mean is known: that of exponential
/// waits.
const UNKNOWN_CV: f64 = 1.0;
/// Disks whose shares of reads differ by more, or whose mean sizes differ by more times, do other
/// work: one is read from and the other is written to (a choice; members of a stripe or mirror
/// differ by far less).
const OTHER_WORK: f64 = 0.5;
const OTHER_SIZE: f64 = 4.0;

/// The kind of measurement of a member: only equal kinds are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PeerMetric {
    /// Single I/Os.
    Traced,
    /// A histogram of one operation and stage.
    Histogram(Option<Op>, Stage),
    /// Count, mean, smallest and largest of one operation and stage.
    Summary(Option<Op>, Stage),
    /// Averages.
    Averages,
}

/// A disk among its peers.
pub(crate) struct Member {
    /// The device.
    pub device: DeviceId,
    /// Its disk's name.
    pub disk: String,
    /// What of it is compared.
    pub measured: PeerMetric,
    /// Its index in the comparison.
    pub peer: Peer,
    /// Mean latency, ns.
    pub mean_ns: f64,
    /// Smallest latency, ns.
    pub min_ns: Option<f64>,
    /// Largest latency, ns.
    pub max_ns: Option<f64>,
    /// Its load, if the input shows it.
    pub work: Option<Work>,
}

/// The load of a disk: only disks with similar load are peers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Work {
    /// Share of reads among reads and writes.
    pub reads: f64,
    /// Mean size of a request.
    pub bytes: Option<f64>,
}

impl Work {
    fn of(reads: f64, writes: f64, bytes: f64) -> Option<Work> {
        let all = reads + writes;
        let bytes = Some(bytes / all).filter(|bytes| *bytes > 0.0);
        (all > 0.0).then(|| Work { reads: reads / all, bytes })
    }

    fn is_like(&self, other: &Work) -> bool {
        let sizes = self.bytes.zip(other.bytes).map(|(a, b)| a.max(b) / a.min(b));
        (self.reads - other.reads).abs() <= OTHER_WORK
            && sizes.is_none_or(|times| times <= OTHER_SIZE)
    }
}

/// The comparable disks of a listing: of one kind, measured in the same way, four or more; or two
/// or three with the very same work.
pub(crate) fn families(analysis: &Analysis, listing: usize) -> Vec<Vec<Member>> {
    let mut families = groups(analysis, listing);
    families.retain(|family| is_group(family) || are_twins(analysis, listing, family));
    families
}

/// Whether there are enough for their own spread.
pub(crate) fn is_group(family: &[Member]) -> bool {
    family.len() >= GROUP
}

/// Whether two or three disks do the very same work, as the halves of a mirror do: as many
/// requests, of the same kind and size, whatever they take for it.
fn are_twins(analysis: &Analysis, listing: usize, family: &[Member]) -> bool {
    let Some((first, others)) = family.split_first().filter(|(_, others)| !others.is_empty())
    else {
        return false;
    };
    others.iter().all(|other| is_twin(analysis, listing, first, other))
}

fn is_twin(analysis: &Analysis, listing: usize, a: &Member, b: &Member) -> bool {
    let array = |disk| analysis.about(listing, disk).array().map(|(array, _)| array.to_string());
    let of_array = array(&a.disk).is_some_and(|of_a| array(&b.disk) == Some(of_a));
    let near = if of_array { SAME_OF_ARRAY } else { SAME };
    let same = |a: f64, b: f64| a.max(b) <= near * a.min(b);
    let (rate, other) = (a.peer.rate.max(b.peer.rate), a.peer.rate.min(b.peer.rate));
    let work = a.work.zip(b.work).is_some_and(|(a, b)| {
        let sizes = match (a.bytes, b.bytes) {
            (Some(a), Some(b)) => same(a, b),
            (None, None) => rate <= EXACTLY * other,
            _ => false,
        };
        sizes && (a.reads - b.reads).abs() <= SAME - 1.0
    });
    work && same(rate, other) && a.peer.n.min(b.peer.n) >= COUNTED
}

/// The ratio of two rates up to which disks do the same work though no sizes are printed (a choice:
/// halves of a stripe differ by a few requests).
const EXACTLY: f64 = 1.01;

/// Of two or three disks with the very same work, one is accused only if it is this many times
/// slower, and slower than a healthy platter at such a rate (choices: a mirror of flash and a
/// platter differs by as much, and its models say so).
const TWINS: f64 = 10.0;
const TWINS_NS: f64 = 50e6;
/// Of NVMe none is a platter, and models differ by less: this many times slower, and slower than
/// any flash at such a rate (choices).
const TWINS_OF_FLASH: f64 = 4.0;
const TWINS_OF_FLASH_NS: f64 = 20e6;

/// Whether a member is that much slower than its peers.
pub(crate) fn is_far_slower(member: &Member, ratio: f64) -> bool {
    let (times, least_ns) = match disk_names::is_nvme(&member.disk) {
        true => (TWINS_OF_FLASH, TWINS_OF_FLASH_NS),
        false => (TWINS, TWINS_NS),
    };
    ratio >= times && member.mean_ns >= least_ns
}

/// A disk that does the very same work as this one many times faster: then it is not the work.
pub(crate) fn fast_control_disk(
    analysis: &Analysis,
    listing: usize,
    device: DeviceId,
) -> Option<String> {
    let is_it = |member: &&Member| member.device == device;
    let family =
        groups(analysis, listing).into_iter().find(|f| f.iter().any(|m| m.device == device))?;
    let own = family.iter().find(is_it)?;
    let mut controls = family.iter().filter(|other| {
        other.device != device
            && is_twin(analysis, listing, own, other)
            && is_far_slower(own, own.mean_ns / other.mean_ns)
    });
    controls.next().map(|control| control.disk.clone())
}

/// How many other disks with like work are as slow as a device, if two or more are there and all of
/// them are: then nothing contradicts this one of them.
pub(crate) fn equals(analysis: &Analysis, listing: usize, device: DeviceId) -> Option<usize> {
    let is_it = |member: &Member| member.device == device;
    let family = groups(analysis, listing).into_iter().find(|family| family.iter().any(is_it))?;
    let means = || family.iter().map(|member| member.mean_ns);
    let (least, most) = (means().fold(f64::MAX, f64::min), means().fold(0.0, f64::max));
    let others = family.len() - 1;
    (others >= 2 && most <= ALIKE * least).then_some(others)
}

/// The disks of a listing by kind, measure and work.
fn groups(analysis: &Analysis, listing: usize) -> Vec<Vec<Member>> {
    let mut members = from_traces(analysis, listing);
    members.extend(from_histograms(analysis, listing, &members));
    members.extend(from_rows(analysis, listing, &members));
    let mut families: Vec<Vec<Member>> = Vec::new();
    let host = analysis.host(listing);
    for member in members.into_iter().filter(|member| member.peer.n >= REQUESTS) {
        let Some(kind) = kind_of(analysis, host, &member.disk) else { continue };
        let akin = |family: &&mut Vec<Member>| {
            family.first().is_some_and(|first| {
                let like = first.work.zip(member.work).is_none_or(|(a, b)| a.is_like(&b));
                let akin = kind_of(analysis, host, &first.disk).as_ref() == Some(&kind);
                first.measured == member.measured && akin && like
            })
        };
        match families.iter_mut().find(akin) {
            Some(family) => family.push(member),
            None => families.push(vec![member]),
        }
    }
    families
}

/// Disks of one kind may be peers. Stacked devices show the faults of others and are not peers;
/// neither are devices over memory or a file, unless it is as large as the others and, if the files
/// are known, is on the same disk: one on flash and one on a platter are as unlike as those.
fn kind_of(analysis: &Analysis, host: Host, disk: &str) -> Option<String> {
    let kind = disk_names::kind(disk);
    if disk_names::is_stacked(disk) {
        return None;
    }
    if disk_names::is_of_a_file(disk) {
        let facts = analysis.facts.about(Some(host), disk);
        let (bytes, _) = facts.number(key::DEVICE_BYTES)?;
        let on = analysis.facts.graph.lies_on(disk, Some(host)).unwrap_or("anything");
        return Some(format!("{kind} of {bytes} on {on}"));
    }
    Some(kind.to_string())
}

/// Histograms put together: counts and sums add up. Edges that differ go to the finer ones.
pub(crate) fn merged<'h>(histograms: impl Iterator<Item = &'h Histogram>) -> Option<Histogram> {
    histograms.filter(|histogram| histogram.count() > 0).cloned().reduce(|all, next| {
        if is_summary(&all) && is_summary(&next) {
            return both(&all, &next).unwrap_or(all);
        }
        let finer = if next.edges().buckets() > all.edges().buckets() { &next } else { &all };
        let mut sum = all.rebin(finer.edges());
        sum.merge(&next.rebin(finer.edges()));
        sum
    })
}

/// Whether number, mean, smallest and largest are all that is known.
pub(crate) fn is_summary(histogram: &Histogram) -> bool {
    histogram.edges().buckets() == 1
}

fn both(a: &Histogram, b: &Histogram) -> Option<Histogram> {
    let n = a.count() + b.count();
    let sum_ns = a.mean_ns()?.0 * a.count() as f64 + b.mean_ns()?.0 * b.count() as f64;
    let (min_ns, max_ns) = (a.min_ns?.min(b.min_ns?), a.max_ns?.max(b.max_ns?));
    Some(Histogram::from_summary(n, sum_ns / n as f64, min_ns, max_ns))
}

fn from_traces(analysis: &Analysis, listing: usize) -> Vec<Member> {
    let traces: Vec<&DeviceTrace> =
        analysis.traces.iter().filter(|trace| trace.listing == listing).collect();
    if traces.len() < GROUP {
        return Vec::new();
    }
    traces
        .into_iter()
        .filter_map(|trace| {
            let latencies: Vec<f64> = trace.spans.iter().map(|v| v.latency_ns()).collect();
            let step = latencies.len().div_ceil(SAMPLED);
            let sample: Vec<f64> = latencies.iter().copied().step_by(step.max(1)).collect();
            let n = latencies.len();
            let peer = Peer { n: n as u64, rate: n as f64, ..Peer::from_latencies(&sample)? };
            Some(Member {
                device: trace.device,
                disk: trace.disk.clone(),
                measured: PeerMetric::Traced,
                peer,
                work: of_trace(trace),
                mean_ns: latencies.iter().sum::<f64>() / n as f64,
                min_ns: latencies.iter().copied().reduce(f64::min),
                max_ns: latencies.iter().copied().reduce(f64::max),
            })
        })
        .collect()
}

/// What a histogram or a table row is of, if it is of a disk's own time: what waited in the host's
/// queue waited for others.
pub(crate) fn measured(sample: &HistogramSample) -> Option<PeerMetric> {
    let known = &sample.known;
    if known.layer != Layer::Block || known.stage == Stage::Queue {
        return None;
    }
    let of = if is_summary(&known.histogram) { PeerMetric::Summary } else { PeerMetric::Histogram };
    Some(of(known.op, known.stage))
}

/// The disks of a listing that are only in histograms, or better there: a table of all I/Os is
/// better evidence than single outliers.
fn from_histograms(analysis: &Analysis, listing: usize, known: &[Member]) -> Vec<Member> {
    let mut disks: Vec<(PeerMetric, Vec<&HistogramSample>)> = Vec::new();
    for sample in analysis.histograms.iter().filter(|sample| sample.listing == listing) {
        let Some(measured) = measured(sample) else { continue };
        let is = |disk: &&mut (PeerMetric, Vec<&HistogramSample>)| {
            let same =
                disk.1.first().is_some_and(|first| first.known.device == sample.known.device);
            same && disk.0 == measured
        };
        match disks.iter_mut().find(is) {
            Some((_, histograms)) => histograms.push(sample),
            None => disks.push((measured, vec![sample])),
        }
    }
    disks
        .into_iter()
        .filter_map(|(measured, histograms)| from_disk(measured, &histograms, known))
        .collect()
}

fn from_disk(
    measured: PeerMetric,
    histograms: &[&HistogramSample],
    known: &[Member],
) -> Option<Member> {
    let first = histograms.first()?;
    let histogram = merged(histograms.iter().map(|sample| &sample.known.histogram))?;
    let device = first.known.device;
    if known.iter().any(|other| other.device == device && other.peer.n >= histogram.count()) {
        return None;
    }
    let (mean_ns, _) = histogram.mean_ns()?;
    let peer = match (histogram.min_ns, histogram.max_ns, is_summary(&histogram)) {
        (Some(min), Some(max), true) => {
            Peer::from_summary(histogram.count(), mean_ns, min as f64, max as f64)
        }
        _ => Peer::from_histogram(&histogram),
    };
    Some(Member {
        device,
        disk: first.disk.clone(),
        measured,
        work: None,
        peer: peer?,
        mean_ns,
        min_ns: histogram.min_ns.map(|ns| ns as f64),
        max_ns: histogram.max_ns.map(|ns| ns as f64),
    })
}

/// The disks of a listing that are only in averages: all their rows together.
fn from_rows(analysis: &Analysis, listing: usize, known: &[Member]) -> Vec<Member> {
    let here = analysis.rows_in(listing);
    let new = here.iter().filter(|rows| {
        !rows.first().is_some_and(|row| known.iter().any(|member| member.device == row.device))
    });
    new.filter_map(|rows| from_averages(rows)).collect()
}

fn of_trace(trace: &DeviceTrace) -> Option<Work> {
    let count = |op: Op| trace.spans.iter().filter(|span| span.op == op).count() as f64;
    let moving = trace.spans.iter().filter(|span| matches!(span.op, Op::Read | Op::Write));
    let bytes = moving.map(|span| f64::from(span.bytes)).sum();
    Work::of(count(Op::Read), count(Op::Write), bytes)
}

fn of_rows(rows: &[&IntervalSample]) -> Option<Work> {
    let sum = |op: Op, value: &dyn Fn(&Rates) -> f64| -> f64 {
        rows.iter().filter_map(|row| row.interval.of(op)).map(value).sum()
    };
    let (reads, writes) = (sum(Op::Read, &|r| r.ios_per_s), sum(Op::Write, &|r| r.ios_per_s));
    let bytes = |op| sum(op, &|rates| rates.bytes_per_s.unwrap_or(0.0));
    Work::of(reads, writes, bytes(Op::Read) + bytes(Op::Write))
}

fn from_averages(rows: &[&IntervalSample]) -> Option<Member> {
    let first = rows.first()?;
    let reading: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| row.agrees)
        .filter_map(|row| Some((row.requests(), row.interval.mean_await_ns()?)))
        .collect();
    let requests: f64 = reading.iter().map(|(n, _)| n).sum();
    let mean_ns = reading.iter().map(|(n, wait_ns)| n * wait_ns).sum::<f64>() / requests;
    (requests >= 1.0 && mean_ns > 0.0).then(|| Member {
        device: first.device,
        disk: first.disk.clone(),
        measured: PeerMetric::Averages,
        work: of_rows(rows),
        peer: Peer {
            n: requests as u64,
            median_ns: None,
            trimmed_mean_ns: mean_ns,
            cv: UNKNOWN_CV,
            rate: requests,
        },
        mean_ns,
        min_ns: None,
        max_ns: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::Edges;

    #[test]
    fn two_tables_of_a_disk_are_one() {
        let tables =
            [Histogram::from_summary(100, 6e6, 90, 30), Histogram::from_summary(300, 2e6, 70, 900)];
        let all = merged(tables.iter()).unwrap();
        assert_eq!((all.count(), all.mean_ns()), (400, Some((3e6, true))));
        assert_eq!((all.min_ns, all.max_ns), (Some(30), Some(900)));
    }

    #[test]
    fn a_longer_histogram_takes_in_a_shorter_one() {
        let of = |octaves, counts: &[u64]| {
            Histogram::from_counts(Edges::log2_us(octaves), counts.to_vec()).unwrap()
        };
        let histograms = [of(2, &[1, 2]), of(4, &[0, 1, 0, 5])];
        let all = merged(histograms.iter()).unwrap();
        assert_eq!(all.counts(), [1, 3, 0, 5]);
        assert_eq!(merged([].into_iter()), None);
    }
}
