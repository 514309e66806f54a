//! What a load generator reports of its own requests: how many at once, how fast, how long each
//! took.
//!
//! A generator makes its own queue: it keeps a fixed number of requests in flight, and by Little's
//! law each then waits for that number over the rate. What it reports is the program's view, so it
//! shows a limit or the generator's depth, and never that a disk is faulty.

use iowhy_model::{
    Clause, DeviceId, Fact, FactKey, Finding, Histogram, Layer, Listing, Op, Rates, Stage, Unit,
    Verdict, key,
};

use crate::analysis::Analysis;
use crate::analysis::samples::HistogramSample;
use crate::baseline::healthy_time::Request;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::ceilings;
use crate::evidence::confidence;
use crate::evidence::peer_families;
use crate::facts::disk_names;
use crate::facts::reading::FactReading;
use crate::measures::cap::{self, Limit};
use crate::phrase;

/// A run of a load generator on one device, reads and writes together.
pub(crate) struct Run {
    listing: usize,
    device: DeviceId,
    name: String,
    /// Requests in flight at most, if the run reports it.
    at_once: Option<f64>,
    per_s: f64,
    bytes_per_s: f64,
    await_ms: Option<f64>,
    seconds: f64,
    /// What most of its requests are.
    op: Op,
}

/// From this many requests in flight on, the queue is the generator's own (a choice: a single
/// disk reorders up to 32, SATA's limit, and gains nothing beyond).
const DEEP: f64 = 8.0;
/// Mean latency over S0 (docs/METHOD.md, 1 Replay).
const WAITS: f64 = 3.0;
/// From this size on the transfer is most of a request (docs/METHOD.md, 10 Rules).
const LARGE: f64 = 524_288.0;
/// Shorter runs may live on credits: gp2's bucket lasts half an hour, but a cap's first second
/// shows.
const LONG_S: f64 = 30.0;
/// How near to a limit that is sold the mean of a whole run must be: a tenth of `cap.volume`'s
/// band.
const TOLERANCE: f64 = 0.0015;
/// The same where the rate was seen not to move (docs/METHOD.md, 8 Cap), and how little that is;
/// from this many samples on.
const NEAR_STEADY: f64 = 0.015;
const STEADY: f64 = 0.012;
const SAMPLES: f64 = 15.0;
/// The spread of latencies that only a clock gives, and how near to a limit the mean of a run is
/// then that began with what was saved up (choices: a volume of 3,000 that had rested gave 3,069
/// over five minutes).
const EVEN_LATENCY: f64 = 0.08;
const NEAR_EVEN: f64 = 0.025;
/// Weight of a constant rate: as a plateau of `cap.volume` (docs/METHOD.md, 8 Cap).
const PINNED: f64 = 3.4;
/// A mean below this many ns is taken as that of memory: a request to a drive needs a PCIe round
/// trip, an interrupt and a context switch. The bound is a choice, not a measurement.
const MEMORY_NS: f64 = 5_000.0;
/// Below this many ns nothing was waited for at all: not even an interrupt takes so little. And
/// handing over a request takes up to this many, copying included (choices).
const AT_ONCE_NS: f64 = 1_000.0;
const HANDED_OVER_NS: f64 = 50_000.0;
/// What the depth of a generator explains: it is known, and so are rate and latency.
const STATED: f64 = 0.90;
/// Confidence with additional pauses.
const BESIDE_PAUSES: f64 = 0.82;
/// The same where the depth is rate times latency of the run itself: exact over a whole run
/// (Little's law).
const INFERRED: f64 = 0.87;
/// A queue makes most requests wait: at least this share takes longer than the mean, 0.37 of
/// exponential waits (1/e). Where some are answered from a cache, fewer do; the bound is a choice
/// below that.
const MIN_SLOW_SHARE: f64 = 0.2;
/// Share of the requests in flight that the median accounts for, where the queue makes it (a
/// choice): longer ones are pauses.
const HALF: f64 = 0.5;
/// A request that took this long, ms, and so many times the mean wait was not in a queue only
/// (choices: what programs notice as a pause; the longest of a million exponential waits is 14
/// times the mean, and a queue that is kept full spreads far less).
const PAUSE_MS: f64 = 1000.0;
const BEYOND: f64 = 15.0;
/// So few requests are not a queue (a choice).
const FEW_SHARE: f64 = 0.001;

/// Options of fio that pace a run (HOWTO, I/O rate), as they are and as they were spelt.
const RATES: [&str; 9] = [
    "rate",
    "rate_cycle",
    "rate_ignore_thinktime",
    "rate_iops",
    "rate_iops_min",
    "rate_min",
    "rate_process",
    "ratecycle",
    "ratemin",
];

/// Whether a listing reports that its requests pass the page cache by (`direct=1`).
pub(crate) fn is_direct(listing: &Listing) -> bool {
    let direct = |fact: &Fact| fact.key.member_of(key::FIO) == Some("direct");
    let yes = |fact: &Fact| fact.value.to_string() == "1";
    listing.facts.iter().any(|fact| direct(fact) && yes(fact))
}

/// Whether the device of a run is memory itself, by its own name, by an option that names it
/// (`filename=/dev/pmem0`), or because its listing counts the I/O of memory only. Engines of
/// persistent memory reach nothing else.
fn is_on_memory(analysis: &Analysis, run: &Run) -> bool {
    let listing = &analysis.recording.listings[run.listing];
    let name = |path: &str| disk_names::is_memory(&disk_names::disk(path));
    let option = |fact: &Fact| match fact.key.member_of(key::FIO) {
        Some("filename") => disk_names::are_memory(&fact.value.to_string()),
        Some("ioengine") => {
            matches!(fact.value.to_string().as_str(), "libpmem" | "dev-dax" | "libpmemblk")
        }
        _ => false,
    };
    let mut disks = listing.intervals.iter().filter(|row| row.layer == Layer::Block).peekable();
    let counted = disks.peek().is_some()
        && disks.all(|row| name(&analysis.recording.device_of(row.device).name));
    name(&run.name) || counted || listing.facts.iter().any(option)
}

/// All runs that the listings report.
pub(crate) fn runs(analysis: &Analysis) -> Vec<Run> {
    let mut all = Vec::new();
    for (place, listing) in analysis.recording.listings.iter().enumerate() {
        let mut open: Option<(Run, Vec<Op>, f64)> = None;
        for row in listing.intervals.iter().filter(|row| row.layer == Layer::Application) {
            let parts: Vec<(Option<Op>, Rates)> = match row.mixed {
                Some(mixed) => vec![(None, mixed)],
                None => row.rates.iter().map(|(op, rates)| (Some(*op), *rates)).collect(),
            };
            // Flushes carry nothing and are sent one at a time.
            let carries =
                |(op, rates): &(Option<Op>, Rates)| rates.ios_per_s > 0.0 && *op != Some(Op::Flush);
            for (op, rates) in parts.into_iter().filter(carries) {
                let op = op.unwrap_or(Op::Read);
                let joins = open
                    .as_ref()
                    .is_some_and(|(run, ops, _)| run.device == row.device && !ops.contains(&op));
                if !joins {
                    all.extend(open.take().map(|(run, _, _)| run));
                    let name = analysis.recording.device_of(row.device).name.clone();
                    let run = Run {
                        listing: place,
                        device: row.device,
                        name,
                        at_once: analysis.at_once(place, row.device),
                        per_s: 0.0,
                        bytes_per_s: 0.0,
                        await_ms: None,
                        seconds: row.length.map_or(0.0, |length| length.seconds()),
                        op,
                    };
                    open = Some((run, Vec::new(), 0.0));
                }
                let Some((run, ops, most)) = &mut open else { continue };
                ops.push(op);
                if rates.ios_per_s > *most {
                    (*most, run.op) = (rates.ios_per_s, op);
                }
                let all = run.per_s + rates.ios_per_s;
                if let Some(ns) = rates.await_ns {
                    let before = run.await_ms.unwrap_or(0.0) * run.per_s;
                    run.await_ms = Some((before + ns / 1e6 * rates.ios_per_s) / all);
                }
                run.per_s = all;
                run.bytes_per_s += rates.bytes_per_s.unwrap_or(0.0);
            }
        }
        all.extend(open.map(|(run, _, _)| run));
    }
    all.retain(|run| run.op == Op::Read || run.op == Op::Write);
    all
}

impl Run {
    /// Bytes in all; 0 if its length is not known.
    pub(crate) fn moved(&self) -> f64 {
        self.bytes_per_s * self.seconds
    }

    /// Bytes per second.
    pub(crate) fn throughput(&self) -> f64 {
        self.bytes_per_s
    }

    /// How long it took, s; 0 if unknown.
    pub(crate) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The index of its listing.
    pub(crate) fn place(&self) -> usize {
        self.listing
    }

    /// Its device or file.
    pub(crate) fn device(&self) -> DeviceId {
        self.device
    }

    /// Mean latency as it reports it, ms.
    pub(crate) fn await_ms(&self) -> Option<f64> {
        self.await_ms
    }

    /// What most of its requests are.
    pub(crate) fn op(&self) -> Op {
        self.op
    }

    /// The name of its device or file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Mean size of a request.
    pub(crate) fn bytes(&self) -> f64 {
        if self.bytes_per_s > 0.0 { self.bytes_per_s / self.per_s } else { 4096.0 }
    }

    /// Requests in flight: as stated, else by Little's law.
    pub(crate) fn in_flight(&self) -> Option<f64> {
        self.at_once.or(self.await_ms.map(|ms| self.per_s * ms / 1000.0))
    }

    /// Mean latency, ms: as reported, else by Little's law.
    fn latency_ms(&self) -> Option<f64> {
        self.await_ms.or(self.at_once.map(|n| n / self.per_s * 1000.0))
    }

    /// The product limit at which the whole run is, and its distance.
    fn tier(&self, near: f64) -> Option<(Limit, cap::Tier, f64)> {
        let rates = [(Limit::Iops, self.per_s), (Limit::BytesPerSecond, self.bytes_per_s)];
        rates.into_iter().find_map(|(limit, rate)| {
            let (tier, off) = cap::tier_within(limit, rate, near)?;
            Some((limit, tier, off))
        })
    }
}

/// The disk that a run was of, where its listing counts the requests of one alone.
fn only_disk(analysis: &Analysis, run: &Run) -> Option<DeviceId> {
    let rows = &analysis.recording.listings.get(run.listing)?.intervals;
    let mut disks = rows.iter().filter(|row| row.layer == Layer::Block).map(|row| row.device);
    let disk = disks.next()?;
    disks.all(|other| other == disk).then_some(disk)
}

/// The histograms of a run's device in its listing.
fn histograms_of<'s, 'a>(
    analysis: &'s Analysis<'a>,
    run: &'s Run,
) -> impl Iterator<Item = &'s HistogramSample<'a>> {
    let of_run = |sample: &&HistogramSample| {
        (sample.listing, sample.known.device) == (run.listing, run.device)
    };
    analysis.histograms.iter().filter(of_run)
}

/// Those of whole times that have a shape: minimum, mean and maximum alone have none.
fn shapes_of<'s>(analysis: &'s Analysis, run: &'s Run) -> impl Iterator<Item = &'s Histogram> {
    let of_run = histograms_of(analysis, run).filter(|sample| {
        sample.known.op.is_none_or(|op| op == run.op)
            && sample.known.stage == Stage::Total
            && !peer_families::is_summary(&sample.known.histogram)
    });
    of_run.map(|sample| &sample.known.histogram)
}

/// How far the latencies of a run spread, from the 5th to the 95th percentile over the median,
/// where they hardly do: what waits for a clock waits evenly, and no device does at such a depth.
fn even_latency(analysis: &Analysis, run: &Run) -> Option<f64> {
    let of_run = histograms_of(analysis, run).find(|sample| {
        sample.known.op == Some(run.op)
            && sample.known.stage == Stage::Total
            && !peer_families::is_summary(&sample.known.histogram)
    })?;
    let at = |share: f64| of_run.known.histogram.quantile(share);
    let (low, half, high) = (at(0.05)?, at(0.5)?, at(0.95)?);
    let spread = (high.high_ns as f64 - low.low_ns as f64) / (half.high_ns as f64).max(1.0);
    (spread < EVEN_LATENCY).then_some(spread)
}

/// The standard deviation of a run's rate over its samples, as a share of the mean, if it hardly
/// changed.
fn steady<'a>(analysis: &Analysis<'a>, run: &Run) -> Option<(f64, FactReading<'a>)> {
    let facts = &analysis.recording.listings.get(run.listing)?.facts;
    let of_run = |key: FactKey| {
        let mut of_run = facts.iter().filter(|fact| fact.device == Some(run.device));
        of_run.rfind(|fact| fact.key == key)
    };
    let samples = of_run(key::RUN_RATE_SAMPLES.of(run.op.name()))?.value.number()?;
    let fact = of_run(key::RUN_RATE_DEVIATION.of(run.op.name()))?;
    let deviation = fact.value.number().filter(|share| *share < STEADY && samples >= SAMPLES)?;
    Some((deviation, FactReading { fact, listing: run.listing }))
}

/// Whether the mean of a run is that of few slow requests among fast ones.
fn uneven(analysis: &Analysis, run: &Run) -> bool {
    let mut of_run = shapes_of(analysis, run).filter_map(|histogram| {
        Some((histogram.quantile(1.0 - MIN_SLOW_SHARE)?.high_ns as f64, histogram.mean_ns()?.0))
    });
    of_run.any(|(slow, mean)| slow < mean) || a_few_may_be_all(analysis, run)
}

/// Whether the queue makes the median all the same: by Little's law most of what is in flight waits
/// as long.
fn is_queue_of_most(analysis: &Analysis, run: &Run, in_flight: f64) -> bool {
    let mut medians = shapes_of(analysis, run).filter_map(|histogram| histogram.quantile(0.5));
    medians.any(|median| median.low_ns as f64 / 1e9 * run.per_s >= HALF * in_flight)
}

/// Whether nothing but minimum, mean and maximum is known of a run, and one request in a thousand
/// that took the longest would make up the mean: then no queue need have made it.
fn a_few_may_be_all(analysis: &Analysis, run: &Run) -> bool {
    let of_run = || {
        let of_op = |sample: &&HistogramSample| sample.known.op.is_none_or(|op| op == run.op);
        histograms_of(analysis, run).filter(of_op)
    };
    let shaped = of_run().any(|sample| !peer_families::is_summary(&sample.known.histogram));
    let share = |sample: &HistogramSample| {
        let histogram = &sample.known.histogram;
        Some(histogram.mean_ns()?.0 / histogram.max_ns.filter(|ns| *ns > 0)? as f64)
    };
    !shaped && of_run().filter_map(share).any(|share| share < FEW_SHARE)
}

/// The longest request that a run in this listing reports, ms, where it took [`PAUSE_MS`] and
/// [`BEYOND`] times as long as its disk's requests wait on average: a queue makes each request wait
/// about as long, so something stood still.
pub(crate) fn stood_still(analysis: &Analysis, listing: usize, wait_ms: f64) -> Option<f64> {
    let rows = &analysis.recording.listings.get(listing)?.intervals;
    let ran =
        |device| rows.iter().any(|row| row.layer == Layer::Application && row.device == device);
    let of_runs = analysis.histograms.iter().filter(|sample| sample.listing == listing);
    let of_runs = of_runs.filter(|sample| ran(sample.known.device));
    let longest = of_runs.filter_map(|sample| sample.known.histogram.max_ns).max()?;
    let longest_ms = longest as f64 / 1e6;
    (longest_ms >= PAUSE_MS && longest_ms >= BEYOND * wait_ms).then_some(longest_ms)
}

/// The share of its threads' time that a run spends in submission from which on it is held there,
/// and the least time of one, ns: handing over a request takes a few microseconds (choices).
const HELD: f64 = 0.8;
const HANDING_NS: f64 = 20_000.0;
/// Requests in flight up to which no queue of a block device is full (`nr_requests`: 64 and more).
const FITS: f64 = 32.0;
/// What that is worth: the layer is not known.
const IN_SUBMISSION: f64 = 0.66;
const MAY_BE_FULL: &str = "with so many in flight, a full queue of the block device \
                           (`nr_requests`) makes submission wait as well";

/// A run whose threads wait while they submit: an asynchronous request that is none.
struct Held {
    threads: f64,
    /// Of these, in submission at any moment.
    busy: f64,
    depth: f64,
    submission_ns: f64,
    count: u64,
}

/// Whether the threads of a run are in submission nearly all the time (Little's law: rate times
/// time of submission are the threads that submit at any moment).
fn held(analysis: &Analysis, run: &Run) -> Option<Held> {
    let listing = &analysis.recording.listings[run.listing];
    let of_run = |fact: &&Fact| fact.key == key::RUN_THREADS && fact.device == Some(run.device);
    let threads = listing.facts.iter().rfind(of_run)?.value.number()?.max(1.0);
    let depth = run.in_flight()? / threads;
    let submissions =
        histograms_of(analysis, run).filter(|sample| sample.known.stage == Stage::Queue);
    let (count, sum_ns) = submissions.fold((0, 0.0), |(count, sum_ns), sample| {
        let (n, mean) = (sample.known.histogram.count(), sample.known.histogram.mean_ns());
        (count + n, sum_ns + mean.map_or(0.0, |mean| mean.0 * n as f64))
    });
    let mean_ns = sum_ns / count.max(1) as f64;
    let busy = run.per_s * mean_ns / 1e9;
    let is_held = depth >= 2.0 && mean_ns >= HANDING_NS && busy >= HELD * threads;
    (is_held && run.await_ms.is_some()).then_some(Held {
        threads,
        busy,
        depth,
        submission_ns: mean_ns,
        count,
    })
}

/// Runs of asynchronous requests on a file whose threads wait in submission: what lies between them
/// and the disk does not queue, it does one after the other.
pub(crate) fn held_in_submission(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = runs(analysis).into_iter().filter_map(|run| {
        let listing = &analysis.recording.listings[run.listing];
        let on_a_device = |fact: &Fact| {
            fact.key.member_of(key::FIO) == Some("filename")
                && disk_names::is_a_node(&fact.value.to_string())
        };
        let held = held(analysis, &run).filter(|_| !listing.facts.iter().any(on_a_device))?;
        let mut finding = new_finding(verdict, Some(run.device), vec![run.listing]);
        finding.sentence = format!(
            "{} of {} are in submission at any moment, {} for each request: a file system without \
             asynchronous I/O (or buffered I/O) makes them wait there, so that the disk sees \
             about one request of each instead of {}",
            phrase::digits(held.busy),
            phrase::count(held.threads, "thread(s) of the run"),
            phrase::ns(held.submission_ns),
            phrase::digits(held.depth)
        );
        let (computed, printed) =
            (analysis.computed(run.listing, held.count), analysis.printed(run.listing, held.count));
        finding.evidence = vec![
            computed
                .count("threads in submission, rate times its time", held.busy)
                .above(HELD * held.threads),
            printed
                .ms("mean time of a submission", held.submission_ns / 1e6)
                .above(HANDING_NS / 1e6),
            printed.over(1).requests("requests in flight requested per thread", held.depth),
        ];
        finding.assume(IN_SUBMISSION, "a run that waits in submission");
        let is_many = run.in_flight().is_none_or(|n| n > FITS);
        finding.doubt_if(is_many, MAY_BE_FULL, confidence::SHAPE_ALONE);
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&[
            "`iostat -x 1` meanwhile: aqu-sz of the disk is the depth of the run",
            "the same run on the device itself, reads only, waits in submission as well",
        ]);
        finding.next_step = lines(&[
            "the same run with `--direct=1`, `--ioengine=io_uring`, or more jobs instead of depth",
            "`perf record -g` of the threads, or `iowhy waits`: where do they wait?",
        ]);
        Some(finding)
    });
    found.collect()
}

/// Runs whose own depth makes the latency, with the verdict `of_large` for large requests and the
/// other for all others.
pub(crate) fn deep(analysis: &Analysis, verdict: Verdict, of_large: bool) -> Vec<Finding> {
    runs(analysis)
        .iter()
        .filter(|run| (run.bytes() >= LARGE) == of_large)
        .filter_map(|run| {
            let (in_flight, latency) = (run.in_flight()?, run.latency_ms()?);
            let request = Request { op: run.op, bytes: run.bytes(), sequential: None };
            let s0 = analysis.healthy_time(run.device, request, None);
            let revolution_ms = 1000.0 / run.per_s;
            // From one completion to the next it needs no longer than a healthy one with as many in
            // flight: it keeps pace.
            let pace_ms = s0.slowest_pace_ms(in_flight);
            let keeps_pace = revolution_ms <= pace_ms;
            if in_flight < DEEP || latency < WAITS * s0.median_ms() || !keeps_pace {
                return None;
            }
            // Where most are fast and a few are slow, no queue made the mean.
            let is_uneven = uneven(analysis, run);
            if is_uneven && !is_queue_of_most(analysis, run, in_flight) {
                return None;
            }
            let (printed, computed) =
                (analysis.printed(run.listing, 1), analysis.computed(run.listing, 1));
            let mut finding = new_finding(verdict, Some(run.device), vec![run.listing]);
            finding.sentence = format!(
                "{} keeps {} requests of {} in flight: at {} each waits {} for the others; the \
                 latency comes from the queue depth, not the disk",
                phrase::disk(&run.name),
                phrase::digits(in_flight),
                phrase::bytes(run.bytes()),
                phrase::iops(run.per_s),
                phrase::ms(latency)
            );
            let depth = match run.at_once {
                Some(n) => printed.requests("maximum in flight (depth times jobs)", n),
                None => computed.requests("in flight, rate times latency", in_flight),
            };
            finding.evidence = vec![
                depth.above(DEEP),
                printed.per_s("completions", run.per_s),
                match run.await_ms {
                    Some(ms) => printed.ms("mean latency", ms),
                    None => computed.ms("mean latency, depth divided by rate", latency),
                }
                .above(WAITS * s0.median_ms()),
                computed.ms("time per completion", revolution_ms).below(pace_ms),
                computed.bytes("mean request size", run.bytes()),
                analysis.estimated(run.listing, 1).ms("healthy service time", s0.median_ms()),
            ];
            let (worth, why) = match run.at_once {
                Some(_) => (STATED, "the run reports its depth"),
                None => (INFERRED, "the depth is inferred"),
            };
            finding.assume(worth, why);
            let pauses = "a few requests took far longer than the rest: pauses of the device, a \
                 file system or a host add to the queueing";
            finding.doubt_if(is_uneven, pauses, BESIDE_PAUSES);
            finding.explained_share = (1.0 - revolution_ms.max(s0.median_ms()) / latency).max(0.0);
            finding.refuted_by = lines(&[
                "the same run at depth 1 is just as slow",
                "the throughput is far below that of earlier runs on the device",
            ]);
            finding.next_step = lines(&[
                "measure latency at the queue depth of the real program: `--iodepth=1 --numjobs=1`",
                "compare throughput, not latency, with the device's data sheet",
            ]);
            let rates = [run.per_s, run.bytes_per_s];
            let sold = ceilings::near_a_sold_one(analysis, run.device, rates);
            finding.next_step.splice(0..0, sold);
            Some(finding)
        })
        .collect()
}

/// Runs at a product limit, however many requests they keep in flight.
pub(crate) fn capped(analysis: &Analysis, verdict: Verdict, prior: f64) -> Vec<Finding> {
    let option =
        |fact: &Fact| fact.key.member_of(key::FIO).is_some_and(|name| RATES.contains(&name));
    let listings = analysis.recording.listings.iter();
    let paced: Vec<bool> = listings.map(|listing| listing.facts.iter().any(option)).collect();
    let paced = |run: &Run| paced.get(run.listing).copied().unwrap_or(false);
    runs(analysis)
        .iter()
        .filter(|run| run.seconds >= LONG_S && !paced(run) && analysis.may_be_limited(run.device))
        .filter_map(|run| {
            let in_flight = run.in_flight().filter(|n| *n >= DEEP)?;
            let steady = steady(analysis, run);
            let even = even_latency(analysis, run);
            let near = match (even, &steady) {
                (Some(_), _) => NEAR_EVEN,
                (None, Some(_)) => NEAR_STEADY,
                (None, None) => TOLERANCE,
            };
            let (limit, tier, off) = run.tier(near)?;
            let (printed, computed) =
                (analysis.printed(run.listing, 1), analysis.computed(run.listing, 1));
            let (rate, unit, words) = match limit {
                Limit::Iops => (run.per_s, Unit::PerSecond, phrase::iops(run.per_s)),
                Limit::BytesPerSecond => {
                    (run.bytes_per_s, Unit::BytesPerSecond, phrase::rate(run.bytes_per_s))
                }
            };
            let device = only_disk(analysis, run).unwrap_or(run.device);
            let mut finding = new_finding(verdict, Some(device), vec![run.listing]);
            // What the generator calls it is the same disk.
            finding.subject.devices =
                Some(run.device).filter(|run| *run != device).into_iter().collect();
            finding.sentence = format!(
                "{} is pinned at {words} for {}, {} from a product limit ({}), with {} requests in \
                 flight",
                phrase::disk(&analysis.disk(device)),
                phrase::ms(run.seconds * 1e3),
                phrase::percent(off.abs()),
                tier.known_from,
                phrase::digits(in_flight)
            );
            finding.evidence = vec![
                printed.of("throughput, reads and writes", rate, unit),
                computed.of(
                    &format!("nearest known limit ({})", tier.known_from),
                    tier.value,
                    unit,
                ),
                computed.share("distance from the limit", off.abs()).below(near),
                computed.requests("requests in flight", in_flight).above(DEEP),
                printed.seconds("the run took", run.seconds),
            ];
            let distance = confidence::below("distance from the limit", off.abs(), TOLERANCE);
            // What is further off than a chance hit is not evidence by itself.
            let least = if off.abs() <= NEAR_STEADY { 1.0 } else { 0.0 };
            let mut clauses =
                vec![Clause::fixed("throughput at a round limit", 3.0), distance.at_least(least)];
            if let Some((deviation, reading)) = steady {
                let what = "standard deviation of its rate over time";
                let stated = analysis.stated(&reading).share(what, deviation);
                finding.evidence.insert(2, stated.below(STEADY));
                clauses.push(Clause::fixed("constant rate", PINNED));
            }
            if let Some(spread) = even {
                let what = "spread of the latencies, 5th to 95th percentile, over the median";
                let spread = computed.share(what, spread);
                finding.evidence.insert(2, spread.below(EVEN_LATENCY));
                clauses.push(Clause::fixed("constant latency", PINNED));
            }
            confidence::believe(&mut finding, prior, clauses);
            finding.explained_share = 0.8;
            finding.refuted_by = lines(&[
                "throughput is higher in any second of the same load",
                "the run was rate-limited by its own options",
            ]);
            finding.next_step = lines(&[
                "ask the provider for the provisioned limit: `aws ec2 describe-volumes` or its \
                 equivalent",
                "use a larger tier, or fewer and larger I/Os; also check the instance's own limit",
            ]);
            Some(finding)
        })
        .collect()
}

/// How long a run waited for completions on average, ns: if that is almost zero, memory served it
/// during submission, which its whole latency includes.
fn answered_in_ns(analysis: &Analysis, run: &Run) -> Option<f64> {
    let whole = run.await_ms? * 1e6;
    let of_run = histograms_of(analysis, run)
        .filter(|sample| (sample.known.stage, sample.known.op) == (Stage::Total, Some(run.op)));
    let means = of_run.filter_map(|sample| Some(sample.known.histogram.mean_ns()?.0));
    let at_once = means.filter(|ns| *ns < AT_ONCE_NS && whole < HANDED_OVER_NS);
    Some(at_once.fold(whole, f64::min))
}

/// Runs answered from memory: their numbers are not of the device they name.
pub(crate) fn cached(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    runs(analysis)
        .iter()
        .filter_map(|run| {
            let ns = answered_in_ns(analysis, run)?;
            if ns <= 0.0 || ns >= MEMORY_NS || run.bytes() < 512.0 || is_on_memory(analysis, run) {
                return None;
            }
            let printed = analysis.printed(run.listing, 1);
            let mut finding = new_finding(verdict, Some(run.device), vec![run.listing]);
            finding.sentence = format!(
                "the numbers for {} are not those of the disk: no block device completes in {} on \
                 average, so the page cache served the I/O",
                phrase::disk(&run.name),
                phrase::ns(ns)
            );
            finding.evidence = vec![
                printed.ms("mean latency", ns / 1e6).below(MEMORY_NS / 1e6),
                printed.per_s("completions", run.per_s),
            ];
            finding.assume(STATED, "faster than any device");
            finding.explained_share = 1.0;
            finding.refuted_by =
                lines(&["the device is memory itself: a RAM disk, zram, null_blk"]);
            finding.next_step = lines(&[
                "bypass the page cache: `fio --direct=1`, `dd iflag=direct` or `oflag=direct`",
                "use an asynchronous engine (`--ioengine=io_uring`) for more than one request in \
                 flight",
            ]);
            Some(finding)
        })
        .collect()
}
