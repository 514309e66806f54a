//! The device is slow at low load.
//!
//! ## Accuses
//! The device, without identifying the fault. The same load on a healthy device of its class would
//! have waited much less.
//!
//! ## Why it matters
//! It is the first question people ask: is it the workload or the disk? High latency alone does not
//! answer it, because a healthy disk with a long queue also shows it.
//!
//! ## Needs
//! From averages (`iostat -x`) it is suspected; a per-I/O log makes it certain.
//!
//! ## Rule
//! With individual I/Os, the observed arrivals are replayed through a healthy device, with nine
//! baseline service times; each replay that removes more than half of the excess is a vote; or
//! service times fall into two groups, as below. With averages, the busy time per completion (the
//! utilisation law) must exceed twice the healthy service time, again for nine baselines. A service
//! time is never longer than the latency, so the mean latency bounds it. The device must be busy
//! for 5 % of the time and lose a noticeable amount of time. With histograms: nearly all requests
//! take 2.5 healthy service times or more while hardly more than one is in flight; or they fall
//! into two groups, a fast body and separate slow requests with a third of the time. If the number
//! in flight is not known, a device with only slow requests is suspected only.
//!
//! Or a disk gives one stream of large requests less than 5 MB/s (`hdparm -t`, `dd iflag=direct`)
//! while cached reads or another disk of the same test are fast.
//!
//! Suspected: the same where only direct requests show that the host is fast, or the log reports
//! errors of a path; requests that spend twice a healthy time on the device while fewer than one is
//! there on average (btt).
//!
//! ## Wrong if
//! The CPUs are saturated, and the host sees completions a time slice too late: if most requests
//! are fast and the mean excess is below 3 ms, the device is suspected only; the same if a quarter
//! of them is fast and it is below 8 ms, and pressure or steal time shows that the host is
//! CPU-starved. The same if writes below 25 ms lost most of the time and the log has no flags: they
//! may be synchronous. Requests are large, a limit of the provider throttles them, the device woke
//! from sleep, or the assumed class is wrong (a shingled disk, a volume across a network).
//!
//! ## Next step
//! Trace individual I/Os to find the fault, compare with peers, read SMART, check cable and
//! controller.

use std::collections::HashMap;

use iowhy_model::{
    Clause, DeviceId, Edges, Event, Evidence, Finding, Histogram, Level, Op, Unit, Verdict,
};

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::IntervalSample;
use crate::analysis::{Analysis, EVENTS_NEEDED, requests};
use crate::baseline::history::HealthyOrigin;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{Numbers, lines, new_finding};
use crate::evidence::confidence::{self, SHAPE_ALONE};
use crate::evidence::counted::{self, CountedDisk, Slow};
use crate::evidence::forecast::{forecast, vote_evidence};
use crate::evidence::peer_families;
use crate::evidence::shortage;
use crate::evidence::stages;
use crate::evidence::throughput;
use crate::facts::disk_names;
use crate::measures::modes::{self, SlowMode};
use crate::measures::replay::{Side, Vote};
use crate::measures::service::{self, ServiceSpan};
use crate::measures::spans::Spans;
use crate::measures::spread;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::DeviceSlow,
    summary: "The device is slow at low load",
    manual: iowhy_model::manual!("device_slow.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::C,
        seconds: 30,
        what: "the latency of each I/O and the number in flight",
    },
    explains: &[Verdict::LoadWriteback],
    rule: Rule::Detect(detect),
};

/// Effective service time over S0 (docs/METHOD.md, 1 Replay).
const SLOWDOWN: f64 = 2.0;
/// Concurrent healthy services from which a device has the throughput of a healthy one: a slow
/// device has high latency and low throughput (Heimdall, EuroSys 2025). Eight is more than a disk's
/// platter or a SATA drive's share of its 32 tags needs.
const GIVES_MUCH: f64 = 8.0;
/// If another row is healthy at this multiple of the worst row's rate, the sectors may be what was
/// slow (a choice).
const TOUCHED: f64 = 2.0;
/// Odds of a network volume from which blocks may be fetched at first read: those of a volume
/// attached as NVMe.
const MAY_BE_FETCHED: f64 = 0.3;
/// Odds of a network volume from which a queue may be the provider's, and the minimum share of
/// queueing in the wait for that.
const HELD_BACK: f64 = 0.5;
const MOSTLY_QUEUED: f64 = 0.5;
/// The share from which on a limit is as likely wherever there may be one: such a queue grows
/// without limit.
const NEARLY_ALL: f64 = 0.9;
/// Half of the least rate that providers sell, requests per second: a lower rate is not limited by
/// one (AWS EBS gp2: 100, of any size; Azure managed disks: 120 and more; a factor of two for small
/// volumes that are sold by their size).
const LEAST_SOLD: f64 = 50.0;
/// Slow requests needed (docs/METHOD.md, 10 Rules: fewer than three decide nothing), and when a
/// service counts as slow (docs/METHOD.md, 1 Replay: above 2.5 S0).
const SLOW_NEEDED: usize = 3;
const SLOW_FROM: f64 = 2.5;
/// The same if the kernel shows that tasks wait for a CPU most of the time: a queue of runnable
/// tasks is before it (39 ms was seen of a loop device beside two suites of tests on two CPUs).
const SLICES_OF_A_QUEUE: f64 = 36.0;
/// The share of fast requests from which a device behind such a queue may be healthy: half of the
/// reads of that loop device took above 0.47 ms.
const FAST_SHARE_BEHIND_QUEUE: f64 = 0.25;
/// The longest a healthy device takes for a durable write, ns: a seek and a revolution of 5400 rpm,
/// and flash without a protected cache empties it in less.
const DURABLE_NS: f64 = 25e6;
/// Relative interquartile range of services below which random requests of one arm are sums of
/// several: 0.5 for one (a revolution and a seek), 0.3 for three in a row (choice).
const EVEN_SEEKS: f64 = 0.3;
/// The same for sequential requests, if at least one took less than half: it did not wait for
/// others (choices).
const EVEN_TRANSFERS: f64 = 0.05;
const ALONE: f64 = 0.5;
/// Kernel threads that send discards, and a size that their reads rarely have, bytes: read-ahead
/// ends at 128 KiB unless raised.
const KERNEL: [&str; 3] = ["kworker", "jbd2", "xfsaild"];
const LARGE_TRIM: u32 = 524_288;
/// Maximum share of the loss in sequential requests if seeks between streams are the cause (a
/// choice), and bytes of a sector.
const OF_THE_STREAM: f64 = 0.1;
const SECTOR: u64 = 512;
/// Minimum number of other disks in a log for counting how many of them are slow.
const OTHERS: usize = 3;
/// Below this number of requests averages reflect one or two events (docs/METHOD.md, 10 Rules: ten
/// events).
const MIN_COMPLETIONS: f64 = 10.0;
/// Share of the busy time that discards take (docs/METHOD.md, 10 Rules, `load.discard`).
const OF_DISCARDS: f64 = 0.2;
/// What that would refute.
const SHARED: &str =
    "the log lists only one program: requests of others may have been served in between";
const LIMITED: &str = "the queue may be the provider's, with a limit on requests per second";
const DURABLE: &str = "most of the time was lost in writes that may have been synchronous";
const OTHERS_SLOW: &str = "other disks are slow at the same time";
const SEEN_LATE: &str = "the CPUs were busy: completions may have been recorded late";
const RESETS: &str = "waits of a second or more are resets and timeouts of the drive or its path";
const FILLED: &str = "the load alone saturates the device: the latency is queueing delay";
const DISCARDS: &str = "the requests waited behind discards";
/// Minimum share of slow rows for full confidence.
const MOST_ROWS: f64 = 0.5;
/// Minimum share of the wait behind others that is reported: a tenth, one digit of the mean.
const MIN_REPORTED_SHARE: f64 = 0.1;
/// Longer waits are error handling: a SATA link needs at least a second to recover, a drive's own
/// recovery seven (libata's and the SCSI layer's limits begin there).
const RESETS_NS: f64 = 1e9;
/// Minimum share of all time in the separate slow mode (a choice, as in `healthy` for the tail of a
/// histogram).
const SLOW_MODE_SHARE: f64 = 1.0 / 3.0;
/// Maximum weight of a gap between the fast and the slow mode, in nats: that of any clause. Of the
/// histograms of 480 scenarios without a fault of the device none shows it, of 320 with one 75 do
/// (`lab weak --blame --each 400`, 27 November 2026), which would be 4.7.
const NOTHING_BETWEEN: f64 = 3.0;
/// The factor on the confidence if a histogram contradicts it.
const CONTRADICTED: f64 = 0.5;
/// What batches leave in a histogram.
const BATCHES: &str = "the latency distribution looks like draining batches: each request waits \
                       for the ones before it";
/// What histograms alone do not show.
const UNKNOWN_QUEUE: &str =
    "the number of requests in flight is not known: a queue would look the same";
/// What would make the forecast a number.
const KNOWN_BY_CLASS: &str = "the healthy service time is known only from its class: use \
                              `--baseline FILE`, learned on a healthy peer, for a narrower \
                              forecast";
/// Another disk is slow like this one if so great a share of this one's share of requests is as
/// slow (a choice).
const AS_OFTEN: f64 = 0.5;
/// What a log that begins at issue does not show (`biosnoop` without `-Q`).
const UNSEEN_QUEUE: &str = "the log begins at issue: time in the host's queue was not observed";

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traced = analysis.traces.iter().filter_map(|trace| from_events(analysis, trace));
    let averaged =
        analysis.rows_by_listing().into_iter().filter_map(|rows| from_rows(analysis, &rows));
    let disks = counted::disks(analysis);
    let mut of_listing: HashMap<usize, Vec<&CountedDisk>> = HashMap::new();
    for counted in &disks {
        of_listing.entry(counted.listing).or_default().push(counted);
    }
    let beside = |counted: &CountedDisk| {
        let others = of_listing.get(&counted.listing).map_or(&[][..], Vec::as_slice);
        (others.len(), others.iter().filter(|other| is_as_slow(other, counted)).count())
    };
    let counted = disks.iter().filter_map(|known| from_counts(analysis, known, beside(known)));
    let streams = throughput::slow(analysis, DETECTOR.verdict);
    let staged = stages::on_device(analysis, DETECTOR.verdict);
    traced.chain(averaged).chain(counted).chain(streams).chain(staged).collect()
}

/// How often one disk is as slow as another: in the same latencies, or half as often.
fn is_as_slow(other: &CountedDisk, than: &CountedDisk) -> bool {
    let Some(Slow::Some(mode)) = than.slow else { return other.slow.is_some() };
    let beyond = || other.histogram.count_from(mode.from_ns as u64) as f64;
    other.slow.is_some() || beyond() >= AS_OFTEN * mode.of_requests * other.count() as f64
}

/// From histograms: all requests were slow although few were in flight, or a separate mode was
/// slow. Of the listing's disks this many have counts, and this many are slow.
fn from_counts(
    analysis: &Analysis,
    counted: &CountedDisk,
    (all, slow): (usize, usize),
) -> Option<Finding> {
    let mut finding = new_finding(DETECTOR.verdict, Some(counted.device), vec![counted.listing]);
    let disk = phrase::disk(&counted.disk);
    let s0 = &counted.s0;
    match counted.slow? {
        Slow::All(bound_ns) => {
            let least_ms = bound_ns / 1e6;
            // A request that waits for no other is in service all the time.
            let served =
                counted.pace_ms().map_or(counted.mean_ms, |pace| pace.min(counted.mean_ms));
            let (votes, believed) = s0.votes(|s0| served > SLOWDOWN * s0);
            if votes == 0 {
                return None;
            }
            finding.sentence = format!(
                "{disk} itself is slow: nearly all of its {} requests take {} or more, {} on \
                 average; a healthy one ({}) takes {}",
                counted.count(),
                phrase::ms(least_ms),
                phrase::ms(counted.mean_ms),
                s0.assumption,
                s0.range()
            );
            finding.assume(believed, format!("{votes} of 9 baseline variants rate it slow"));
            let unknown = counted.in_flight().is_none();
            finding.doubt_if(unknown, UNKNOWN_QUEUE, SHAPE_ALONE);
            let steep = modes::rises_steeply(&counted.histogram);
            finding.doubt_if(steep.is_none_or(|nats| nats < NOTHING_BETWEEN), BATCHES, SHAPE_ALONE);
            finding.doubt_if(counted.mean_ms * 1e6 >= RESETS_NS, RESETS, SHAPE_ALONE);
            finding.explained_share = ((served - s0.median_ms()) / served).clamp(0.0, 1.0);
        }
        Slow::Some(mode) => {
            believe_mode(&mut finding, &counted.disk, mode, counted.count());
            finding.doubt_if(is_durable(counted, mode), DURABLE, SHAPE_ALONE);
            finding.doubt_if(mode.to_ns >= RESETS_NS, RESETS, SHAPE_ALONE);
        }
    }
    let limited = analysis.network_odds(counted.device) >= HELD_BACK;
    finding.doubt_if(limited, LIMITED, SHAPE_ALONE);
    finding.doubt_if(slow > 1 && 2 * (slow - 1) >= all - 1, OTHERS_SLOW, SHAPE_ALONE);
    finding.evidence = counted_evidence(analysis, counted);
    advise(&mut finding, &counted.disk);
    Some(finding)
}

/// The evidence of two modes, and its confidence.
fn believe_mode(finding: &mut Finding, disk: &str, mode: SlowMode, count: u64) {
    finding.sentence = format!(
        "{} completes {} of {count} requests within {} and {} in {} to {}, with almost none in \
         between: the slow ones wait in the device, as for retries or stalls, not in a queue",
        phrase::disk(disk),
        count.saturating_sub(mode.count),
        phrase::ns(mode.others_ns),
        mode.count,
        phrase::ns(mode.from_ns),
        phrase::ns(mode.to_ns)
    );
    let clauses = [
        confidence::above("share of time in slow requests", mode.of_time, SLOW_MODE_SHARE),
        Clause::fixed("few requests in between", mode.no_smear.min(NOTHING_BETWEEN)),
    ];
    confidence::believe(finding, confidence::PRIOR, clauses);
    finding.explained_share = mode.of_time;
}

fn mode_evidence(mode: SlowMode, computed: &Numbers) -> Vec<Evidence> {
    let time = computed.share("share of time in slow requests, at least", mode.of_time);
    let share = computed.share("requests in the slow mode", mode.of_requests);
    vec![time.above(SLOW_MODE_SHARE), share]
}

/// Whether the slow ones may be durable writes: nothing shows that they are reads, and none takes
/// longer.
fn is_durable(counted: &CountedDisk, mode: SlowMode) -> bool {
    !counted.reads_only && mode.from_ns <= DURABLE_NS
}

fn counted_evidence(analysis: &Analysis, counted: &CountedDisk) -> Vec<Evidence> {
    let n = counted.count();
    let estimated = analysis.estimated(counted.listing, n);
    let mut evidence =
        vec![estimated.ms("mean latency", counted.mean_ms), estimated.healthy(&counted.s0)];
    if let Some(Slow::Some(mode)) = counted.slow {
        let computed = analysis.computed(counted.listing, n);
        evidence.splice(0..0, mode_evidence(mode, &computed));
    }
    if let Some(queue) = counted.in_flight() {
        let what = "requests in flight, mean (rate times latency)";
        evidence.push(estimated.requests(what, queue));
    }
    evidence
}

/// From single I/Os: the replay, or two modes of the device's own times, whichever has the higher
/// confidence.
fn from_events(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let found = [by_replay(analysis, trace), by_modes(analysis, trace)].into_iter().flatten();
    found.max_by(|a, b| a.confidence().total_cmp(&b.confidence()))
}

/// A separate mode of slow services. Queue time is excluded.
fn by_modes(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    if trace.paused || disk_names::is_stacked(&trace.disk) {
        return None;
    }
    let mut services = Histogram::empty(Edges::standard());
    trace.services_ns.iter().for_each(|ns| services.record(*ns as u64));
    let bytes = trace.groups.first().map_or(4096.0, |(group, _)| f64::from(group.bytes));
    let slowest_ms = counted::slowest_ms(analysis, trace.device, None, bytes);
    let slowest_ms = slowest_ms.max(trace.s0.slowest_ms());
    let mode = modes::slow_mode(&services, SLOW_FROM * slowest_ms * 1e6)?;
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    let n = trace.spans.len() as u64;
    believe_mode(&mut finding, &trace.disk, mode, n);
    for (stands, why) in [
        (is_held_back(analysis, trace.device, 1.0, f64::MAX), LIMITED),
        (trace.part, "it is a partition: requests to the other partitions were not seen"),
        (may_be_durable(analysis, trace), DURABLE),
        (waits_for_discards(analysis, trace), DISCARDS),
        (are_slow_together(analysis, trace), OTHERS_SLOW),
        (trace.side() == Some(Side::Workload), FILLED),
        (mode.to_ns >= RESETS_NS, RESETS),
        (host_may_be_late(analysis, trace, trace.mean_ns() - trace.slow_end_ns()), SEEN_LATE),
    ] {
        finding.doubt_if(stands, why, SHAPE_ALONE);
    }
    finding.evidence = mode_evidence(mode, &analysis.computed(trace.listing, n));
    finding.evidence.push(analysis.estimated(trace.listing, n).healthy(&trace.s0));
    advise(&mut finding, &trace.disk);
    Some(finding)
}

fn by_replay(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let vote = trace.vote.as_ref()?;
    let middle = vote.middle()?;
    let limit = SLOW_FROM * trace.s0.median_ms() * 1e6;
    let slow = trace.services_ns.iter().filter(|ns| **ns > limit).count();
    let lost = trace.lost_ns() / trace.span_ns();
    let too_few = trace.spans.len() < EVENTS_NEEDED || slow < SLOW_NEEDED;
    let exempt = trace.paused || disk_names::is_stacked(&trace.disk);
    let gives = trace.spans.len() as f64 / trace.span_ns() * trace.s0.median_ms() * 1e6;
    let no_gain = middle.device_share < confidence::NOTICEABLE;
    let idle = vote.device == 0 || too_few || lost < confidence::NOTICEABLE || no_gain;
    if idle || exempt || gives > GIVES_MUCH {
        return None;
    }
    let disk = phrase::disk(&trace.disk);
    let kind = trace.main_kind().unwrap_or_default();
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    finding.sentence = format!(
        "{disk} itself is slow: {kind} take {} on average{}; the same load on a healthy one ({}) \
         would take {}",
        phrase::ns(middle.mean_ns),
        behind_others(trace, middle.mean_ns),
        trace.s0.assumption,
        phrase::ns(middle.healthy_mean_ns)
    );
    finding.subject.group = Some(kind);
    finding.assume(
        Vote::sure(vote.device),
        format!("{} of 9 baseline variants attribute the time to the device", vote.device),
    );
    let queued = queued(trace, middle.mean_ns);
    let passed = service::per_busy_ms(trace.stretch()).unwrap_or(0.0) * 1e3;
    let limited = is_held_back(analysis, trace.device, queued, passed);
    let late = host_may_be_late(analysis, trace, middle.mean_ns - middle.healthy_mean_ns);
    let saturated = trace.side() == Some(Side::Workload);
    for (stands, why) in [
        (limited, LIMITED),
        (late, SEEN_LATE),
        (trace.part, "it is a partition: requests to the other partitions were not seen"),
        (may_be_durable(analysis, trace), DURABLE),
        (is_a_sum(analysis, trace), SHARED),
        (waits_for_discards(analysis, trace), DISCARDS),
        (seeks_for_others(analysis, trace), "the disk seeks between streams of several programs"),
        (are_slow_together(analysis, trace), OTHERS_SLOW),
        (saturated, FILLED),
    ] {
        finding.doubt_if(stands, why, SHAPE_ALONE);
    }
    finding.explained_share = middle.device_share;
    finding.evidence = vote_evidence(analysis, trace, vote, Side::Device);
    finding.forecast = forecast(trace, vote);
    advise(&mut finding, &trace.disk);
    if finding.forecast.as_ref().is_some_and(|forecast| !forecast.is_narrow()) {
        finding.next_step.push(KNOWN_BY_CLASS.to_string());
    }
    if trace.spans.iter().all(|span| span.queued_ns.is_none()) {
        finding.refuted_by.push(UNSEEN_QUEUE.to_string());
    }
    Some(finding)
}

/// Whether most of the other disks in the log lose time as well: a shared cause is more likely than
/// each of them.
fn are_slow_together(analysis: &Analysis, trace: &DeviceTrace) -> bool {
    let others: Vec<&DeviceTrace> = analysis
        .traces
        .iter()
        .filter(|other| other.listing == trace.listing && other.device != trace.device)
        .filter(|other| other.spans.len() >= EVENTS_NEEDED && !disk_names::is_stacked(&other.disk))
        .collect();
    let slow = |other: &&&DeviceTrace| other.mean_ns() > SLOWDOWN * other.slow_end_ns();
    others.len() >= OTHERS && 2 * others.iter().filter(slow).count() >= others.len()
}

/// How much of the mean wait is queueing rather than service.
fn behind_others(trace: &DeviceTrace, mean_ns: f64) -> String {
    let share = queued(trace, mean_ns);
    if share < MIN_REPORTED_SHARE {
        return String::new();
    }
    format!(" ({} of it queued behind other requests)", phrase::ns(share * mean_ns))
}

/// The share of the mean wait that is not a service.
fn queued(trace: &DeviceTrace, mean_ns: f64) -> f64 {
    let services = trace.services_ns.get(trace.judged.clone()).unwrap_or(&trace.services_ns);
    1.0 - spread::mean(services).unwrap_or(mean_ns) / mean_ns.max(1.0)
}

/// Whether late completions on the host explain it: most requests are fast, the mean excess is
/// below a time slice, and not half of it comes from a few requests that took much longer than one.
/// If tasks wait for a CPU most of the time, it may be later.
fn host_may_be_late(analysis: &Analysis, trace: &DeviceTrace, excess_ns: f64) -> bool {
    let host = analysis.host(trace.listing);
    let (excess_slices, slices, quick_share) =
        match shortage::is_stated(analysis, host, &shortage::of_processors()) {
            true => (shortage::SLICES, SLICES_OF_A_QUEUE, FAST_SHARE_BEHIND_QUEUE),
            false => (1.0, shortage::SLICES, 0.5),
        };
    let services = trace.services_ns.get(trace.judged.clone()).unwrap_or(&trace.services_ns);
    let healthy = trace.slow_end_ns();
    let over = |ns: &&f64| **ns - healthy > slices * shortage::SLICE_NS;
    let excess = |ns: &f64| (ns - healthy).max(0.0);
    let far: f64 = services.iter().filter(over).map(excess).sum();
    let all: f64 = services.iter().map(excess).sum();
    let quick = spread::quantile(services, quick_share).is_some_and(|ns| ns < SLOWDOWN * healthy);
    quick && excess_ns < excess_slices * shortage::SLICE_NS && far < 0.5 * all
}

/// Whether most of the time was lost by writes that are no slower than durable ones, if flags are
/// unknown.
fn may_be_durable(analysis: &Analysis, trace: &DeviceTrace) -> bool {
    if analysis.source(trace.listing).level > Level::C {
        return false;
    }
    let healthy = trace.slow_end_ns();
    let lost = |of: &dyn Fn(&ServiceSpan) -> bool| -> f64 {
        let some = trace.spans.iter().filter(|span| of(span));
        some.map(|span| (span.latency_ns() - healthy).max(0.0)).sum()
    };
    let may_be = |span: &ServiceSpan| span.op == Op::Write && span.latency_ns() < DURABLE_NS;
    lost(&may_be) > 0.5 * lost(&|_| true)
}

/// Whether each request looks like the sum of several: no fault of a platter is that regular, and
/// unlisted requests of another program may have been served in between. Only for a log with one
/// program and one request at a time: a log with several programs lists all.
fn is_a_sum(analysis: &Analysis, trace: &DeviceTrace) -> bool {
    // A user who states the baseline knows whether others use the disk.
    let options = analysis.options;
    let stated = options.healthy_ms.is_some() || options.healthy_origin != HealthyOrigin::Class;
    let whole = analysis.source(trace.listing).level > Level::C;
    if stated || whole || !analysis.may_rotate(trace.device) {
        return false;
    }
    let of_it = analysis
        .requests
        .iter()
        .filter(|of| (of.listing, of.device) == (trace.listing, trace.device));
    let mut programs = of_it.flat_map(|of| &of.events).map(|event| (event.pid, event.comm));
    let first = programs.next();
    let together = service::in_flight(&trace.spans).into_iter().filter(|n| *n > 1).count();
    if programs.any(|other| Some(other) != first) || 2 * together > trace.spans.len() {
        return false;
    }
    let Some((group, _)) = trace.groups.first() else { return false };
    let services = group.members.iter().filter_map(|place| trace.services_ns.get(*place));
    let services: Vec<f64> = services.copied().collect();
    let sorted = spread::sorted(&services);
    let at =
        |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied().unwrap_or(0.0);
    let enough = services.len() >= EVENTS_NEEDED;
    let within = |share: f64| at(0.75) - at(0.25) < share * at(0.5);
    // A slow disk is slow from the first request; on a shared one some request is served alone.
    let once_alone = at(0.0) < ALONE * at(0.5);
    match group.sequential {
        Some(true) => enough && once_alone && within(EVEN_TRANSFERS),
        _ => enough && within(EVEN_SEEKS),
    }
}

/// Whether most of what reads and writes lost passed while a discard was under way.
fn waits_for_discards(analysis: &Analysis, trace: &DeviceTrace) -> bool {
    let of_it = analysis
        .requests
        .iter()
        .filter(|of| (of.listing, of.device) == (trace.listing, trace.device));
    // A log that knows reads and writes only calls a discard R; a kernel worker sends them.
    let unmarked = analysis.source(trace.listing).level <= Level::C;
    let may_be = |event: &&Event| {
        let comm = event.comm.map(|comm| analysis.recording.text(comm));
        event.op == Op::Discard
            || unmarked
                && event.op == Op::Read
                && event.bytes.is_some_and(|bytes| bytes >= LARGE_TRIM)
                && comm.is_some_and(|comm| KERNEL.iter().any(|name| comm.starts_with(name)))
    };
    let discards = of_it.flat_map(|of| of.events.iter().copied()).filter(may_be);
    let discards = discards.filter_map(requests::stretch);
    let under_way = Spans::of(discards);
    let healthy = trace.slow_end_ns();
    let (mut covered, mut all) = (0.0, 0.0);
    for span in &trace.spans {
        let lost = (span.latency_ns() - healthy).max(0.0);
        all += lost;
        covered += lost.min(under_way.covered_ns(span.issued_ns, span.completed_ns));
    }
    covered > 0.5 * all
}

/// Whether an arm shared by several streams explains it: contiguous requests are fast, and nearly
/// all time was lost by those after a seek.
fn seeks_for_others(analysis: &Analysis, trace: &DeviceTrace) -> bool {
    if !analysis.may_rotate(trace.device) {
        return false;
    }
    let healthy = trace.slow_end_ns();
    let (mut on, mut own, mut all) = (Vec::new(), 0.0, 0.0);
    let before = std::iter::once(None).chain(trace.spans.iter().map(Some));
    for ((span, before), service) in trace.spans.iter().zip(before).zip(&trace.services_ns) {
        let end =
            |before: &ServiceSpan| before.sector?.checked_add(u64::from(before.bytes) / SECTOR);
        let continues =
            before.is_some_and(|b| b.op == span.op && end(b).is_some() && end(b) == span.sector);
        let lost = (service - healthy).max(0.0);
        all += lost;
        if continues {
            own += lost;
            on.push(*service);
        }
    }
    let quick = spread::median(&on).is_some_and(|ns| ns < SLOWDOWN * healthy);
    let several = on.len() >= EVENTS_NEEDED && on.len() < trace.spans.len();
    several && quick && own < OF_THE_STREAM * all
}

/// The same for averages, which have no flags: most time was lost by writes, each no longer than a
/// durable one.
fn writes_may_be_durable(row: &IntervalSample) -> bool {
    let lost = |op: Op| {
        let rates = row.interval.of(op).filter(|rates| rates.ios_per_s > 0.0)?;
        let wait = rates.await_ns? - row.s0.median_ms() * 1e6;
        Some((rates.ios_per_s * wait.max(0.0), rates.await_ns? < DURABLE_NS))
    };
    let (reads, writes) = (lost(Op::Read).map_or(0.0, |(lost, _)| lost), lost(Op::Write));
    writes.is_some_and(|(lost, short)| short && lost > reads)
}

/// Whether requests wait on another disk of the same report and none of them completes.
fn hangs_beside(analysis: &Analysis, row: &IntervalSample) -> bool {
    let rows = &analysis.listing(row.listing).intervals;
    rows.iter().any(|other| {
        other.device != row.device
            && !other.since_boot
            && other.ios_per_s() <= 0.0
            && other.queue_len.is_some_and(|waiting| waiting >= 1.0)
            && !disk_names::is_stacked(&analysis.disk(other.device))
    })
}

/// Another disk of the same virtual machine that is slow, too: they share at least their host, so
/// one is enough.
fn virtual_twin<'a>(analysis: &'a Analysis, row: &IntervalSample) -> Option<&'a str> {
    let is_virtual = |disk: &str| VIRTUAL.contains(&disk_names::kind(disk));
    let is_sibling = |other: &&IntervalSample| {
        let slow_ms = other.effective_ms().filter(|_| other.lost() >= confidence::NOTICEABLE);
        analysis.host(other.listing) == analysis.host(row.listing)
            && other.disk != row.disk
            && is_virtual(&other.disk)
            && usable(other)
            && slow_ms.is_some_and(|ms| other.s0.votes(|s0| ms > SLOWDOWN * s0).0 >= MOST)
    };
    is_virtual(&row.disk).then_some(())?;
    analysis.intervals.iter().find(is_sibling).map(|sibling| sibling.disk.as_str())
}

/// Kinds of disks that a host makes for its guests, by their names, and the baseline variants, of
/// 9, that make one of them slow.
const VIRTUAL: [&str; 2] = ["vd", "xvd"];
const MOST: usize = 5;

/// Whether the queue may be the provider's rate limit: a slow volume and a limited one then look
/// the same.
fn is_held_back(analysis: &Analysis, device: DeviceId, queued: f64, passed_per_s: f64) -> bool {
    let limited = analysis.network_odds(device) >= HELD_BACK
        || queued > NEARLY_ALL && analysis.may_be_limited(device);
    limited && queued > MOSTLY_QUEUED && passed_per_s >= LEAST_SOLD
}

fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    // The row with most lost time is the evidence; the others must only not contradict it.
    let row = rows.iter().filter(|row| usable(row)).max_by(|a, b| a.lost().total_cmp(&b.lost()))?;
    let (effective, wait) = (row.effective_ms()?, row.await_ms()?);
    let (votes, believed) = row.s0.votes(|s0| effective > SLOWDOWN * s0);
    if votes == 0
        || row.lost() < confidence::NOTICEABLE
        || !analysis.traced_side(row).is_none_or(is_device)
    {
        return None;
    }
    let disk = phrase::disk(&row.disk);
    let s0 = row.s0.median_ms();
    let size = row.interval.mean_bytes().map(phrase::bytes).unwrap_or_default();
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.sentence = format!(
        "{disk} itself is slow: it is busy for {} per {size} request; a healthy one ({}) needs \
         {}{}",
        phrase::ms(effective),
        row.s0.assumption,
        row.s0.range(),
        second_in_queue(wait, effective, row)
    );
    let agree = format!("{votes} of 9 baseline variants rate it slow");
    finding.assume(believed, agree);
    finding.scale("share of the rows that agree", persistence(rows));
    let queued = 1.0 - effective / wait.max(effective);
    let limited = is_held_back(analysis, row.device, queued, 1e3 / effective);
    let equals = peer_families::equals(analysis, row.listing, row.device);
    let revolves = row.revolution_per_write().is_some();
    for (stands, why) in [
        (limited, LIMITED),
        (completed(rows) < MIN_COMPLETIONS, "few requests completed in the slow intervals"),
        (
            is_mostly_fast(row, rows),
            "it was fast in most intervals with as many requests: an event, not a slow disk",
        ),
        (behind_discards(row), DISCARDS),
        (writes_may_be_durable(row), DURABLE),
        (revolves, "each write takes one revolution: the pattern of synchronous sequential writes"),
        (is_touched_first(analysis, row, rows), "first reads of a volume restored from a snapshot"),
        (
            hangs_beside(analysis, row),
            "another disk completes nothing at the same time: suspect what they share first",
        ),
    ] {
        finding.doubt_if(stands, why, SHAPE_ALONE);
    }
    if let Some(equals) = equals {
        let why = format!(
            "{equals} other disks with similar load are as slow: suspect what they share before \
             this one"
        );
        finding.doubt(why, SHAPE_ALONE);
    }
    let beside = equals.is_none().then(|| virtual_twin(analysis, row)).flatten();
    if let Some(sibling) = beside {
        let why = format!(
            "{} of the same virtual machine is as slow, and its host serves both: suspect the \
             host, or a limit, before this disk",
            phrase::disk(sibling)
        );
        finding.doubt(why, SHAPE_ALONE);
    }
    if is_contradicted(analysis, row, wait) {
        finding.scale("another value in the same row contradicts it", CONTRADICTED);
    }
    // The latency if each request takes S0: the wait shrinks with the services it consists of.
    finding.explained_share = ((effective - s0) / effective).clamp(0.0, 1.0);
    finding.evidence = row_evidence(analysis, row, effective, wait, votes);
    finding.evidence.extend(spread_of_rows(analysis, rows));
    advise(&mut finding, &row.disk);
    Some(finding)
}

/// Whether discards take as much of the time as `load.discard` requires: slow requests beside them
/// may have waited.
fn behind_discards(row: &IntervalSample) -> bool {
    let of = row.interval.of(Op::Discard);
    let share = of.and_then(|rates| Some(rates.ios_per_s * rates.await_ns? / 1e9));
    share.is_some_and(|share| share > OF_DISCARDS * row.interval.busy.unwrap_or(1.0))
}

/// Whether a volume does twice as much or more, like a healthy one, in another row: blocks that are
/// fetched on first read look like a slow device until all were read (`layer.remote`).
fn is_touched_first(analysis: &Analysis, row: &IntervalSample, rows: &[&IntervalSample]) -> bool {
    let healthy = |other: &&&IntervalSample| {
        let own = other.effective_ms().is_some_and(|ms| ms < SLOWDOWN * other.s0.median_ms());
        own && other.per_s() >= TOUCHED * row.per_s()
    };
    analysis.network_odds(row.device) >= MAY_BE_FETCHED && rows.iter().any(|other| healthy(&other))
}

/// Number of requests in the rows in which it was slow; a row of unknown length probably covers
/// many seconds.
fn completed(rows: &[&IntervalSample]) -> f64 {
    let of = |row: &&IntervalSample| {
        row.interval.length.map_or(f64::MAX, |length| row.per_s() * length.seconds())
    };
    rows.iter().filter(|row| is_slow(row)).map(of).fold(0.0, |all, one| all + one)
}

/// Times as fast in other intervals from which on a disk is another one there (a choice).
const FASTER: f64 = 4.0;

/// Whether it was far faster in most of the intervals with half as many completions as this one and
/// more, however idle: a slow disk is slow in them as well.
fn is_mostly_fast(row: &IntervalSample, rows: &[&IntervalSample]) -> bool {
    let Some(slow_ms) = row.effective_ms() else { return false };
    let like = rows.iter().filter(|other| other.agrees && 2.0 * other.per_s() >= row.per_s());
    let (fast, slow): (Vec<f64>, _) = like
        .filter_map(|other| other.effective_ms())
        .partition(|effective_ms| FASTER * effective_ms < slow_ms);
    fast.len() > slow.len()
}

fn is_device(side: Side) -> bool {
    side == Side::Device
}

/// Whether a histogram beside the averages shows a much faster disk: one of the two is from another
/// time.
fn is_contradicted(analysis: &Analysis, row: &IntervalSample, wait_ms: f64) -> bool {
    analysis.histograms.iter().any(|sample| {
        sample.disk == row.disk
            && sample.listing.abs_diff(row.listing) == 1
            && analysis.host(sample.listing) == analysis.host(row.listing)
            && sample.known.histogram.mean_ns().is_some_and(|(mean, _)| mean * 2.0 < wait_ms * 1e6)
    })
}

/// A slow disk is slow in most rows: the factor on the confidence if it is slow in few. One bad row
/// among many is an event, not a slow disk.
fn persistence(rows: &[&IntervalSample]) -> f64 {
    let usable: Vec<&&IntervalSample> = rows.iter().filter(|row| usable(row)).collect();
    let share =
        usable.iter().filter(|row| is_slow(row)).count() as f64 / usable.len().max(1) as f64;
    (share / MOST_ROWS).min(1.0)
}

fn is_slow(row: &IntervalSample) -> bool {
    row.effective_ms().is_some_and(|effective| effective > SLOWDOWN * row.s0.median_ms())
}

fn usable(row: &IntervalSample) -> bool {
    let busy = row.interval.busy.unwrap_or(0.0);
    row.per_s() > 0.0
        && busy > confidence::NOTICEABLE
        && row.agrees
        && !disk_names::is_stacked(&row.disk)
}

fn row_evidence(
    analysis: &Analysis,
    row: &IntervalSample,
    effective: f64,
    wait: f64,
    votes: usize,
) -> Vec<Evidence> {
    let estimated = analysis.estimated(row.listing, 1);
    let computed = analysis.computed(row.listing, 1);
    let printed = analysis.printed(row.listing, 1);
    let mut evidence = vec![
        printed.ms("mean latency (await)", wait),
        computed.ms("busy time per completion", effective).above(SLOWDOWN * row.s0.median_ms()),
        computed.ratio("await, divided by busy time per completion", wait / effective),
        estimated.healthy(&row.s0),
        computed.ratio("ratio to the healthy time", effective / row.s0.median_ms()),
        estimated.votes(votes),
    ];
    let columns = [
        ("svctm as printed", row.interval.svctm_ns.map(|ns| ns / 1e6), Unit::Ms),
        ("requests queued or served (aqu-sz)", row.interval.queue_len, Unit::Requests),
        ("busy share (%util)", row.interval.busy, Unit::Share),
        ("completions", Some(row.per_s()), Unit::PerSecond),
    ];
    for (quantity, value, unit) in columns {
        evidence.extend(value.map(|value| printed.of(quantity, value, unit)));
    }
    evidence
}

/// The same over all rows of the listing: one row may be chance, the range is not.
fn spread_of_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Vec<Evidence> {
    let ratios: Vec<f64> = rows
        .iter()
        .filter(|row| usable(row))
        .filter_map(|row| Some(row.await_ms()? / row.effective_ms()?))
        .collect();
    let (Some(row), true) = (rows.first(), ratios.len() > 1) else { return Vec::new() };
    let (least, most) = (
        ratios.iter().copied().fold(f64::MAX, f64::min),
        ratios.iter().copied().fold(0.0, f64::max),
    );
    let computed = analysis.computed(row.listing, ratios.len() as u64);
    vec![
        computed.ratio("minimum over all rows", least),
        computed.ratio("maximum over all rows", most),
    ]
}

/// Why await is a multiple of the busy time per completion although the load is normal: requests
/// wait for each other, and await includes that.
fn second_in_queue(wait: f64, effective: f64, row: &IntervalSample) -> String {
    let ratio = wait / effective;
    match row.interval.queue_len {
        Some(queue) if ratio > 1.5 && ratio < 3.0 && queue < 3.0 => format!(
            "; await is {:.1} times that ({}) only because a second request, such as read-ahead, \
             is queued (aqu-sz {queue:.2})",
            ratio,
            phrase::ms(wait)
        ),
        _ => String::new(),
    }
}

fn advise(finding: &mut Finding, disk: &str) {
    let node = phrase::node(disk);
    finding.refuted_by = lines(&[
        "the same load is just as slow on a peer of the same model",
        "the device is not of the assumed class: set its class, or its healthy service time",
        "a limit throttles it, or it wakes from sleep for each request",
    ]);
    finding.next_step = lines(&[
        &format!("{}: individual latencies identify the fault", phrase::capture(disk, 30)),
        &format!("`smartctl -x {node}`: error log, and attributes 5, 187, 197, 198, 199"),
        "compare with a peer under the same load; check cable and controller",
    ]);
}
