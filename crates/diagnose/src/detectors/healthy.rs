//! The device is healthy: it responds like its class should.
//!
//! ## Accuses
//! No cause. Latency is that of a healthy device, and little time is lost.
//!
//! ## Why it matters
//! A clean verdict ends the search in the wrong place: the cause is then above the block layer, in
//! another device, or was absent during the capture.
//!
//! ## Needs
//! Averages clear a device weakly, a histogram or a per-I/O log well. The more I/Os, the better;
//! rare stalls need minutes.
//!
//! ## Rule
//! Mean latency within three healthy service times for most of nine baselines, or within twice the
//! slowest class that the device may be of; less than 5 % of the time lost; and no accusation
//! holds.
//!
//! A device is not cleared if
//!
//! - requests slower than three times that class take a third of all time, or in averages one
//!   operation whose mean is, or in a trace requests slower than ten times take half of it;
//! - a disk that serves one request at a time works without a pause while two or more wait, and
//!   does not get faster with a deeper queue;
//! - 16 requests or more are in flight, at three healthy service times or more;
//! - most of the time, and more than a millisecond, is spent before the issue;
//! - a listing was not read, or lines about a device cannot be used;
//! - CPUs waited for more I/O (iowait) than twice what its disks had in flight.
//!
//! Or all disks were idle for 95 % of the time, and no mean wait was 0.1 s (of one report, which
//! may be the average since boot, not as a headline). Or no disk was timed, nothing is accused, and
//! no task was blocked and no CPU waited for I/O (`vmstat`; or ten times as many tasks ran as were
//! blocked, and CPUs waited 2 % of the time at most), or all latencies that programs
//! measured are those of flash: per request in flight within three times its service time, a flush
//! within 5 ms, no single wait of a second, no slow part that contains a third of the time, and no
//! rate that halves or doubles from second to second.
//!
//! If the time before the issue of a request was not seen (D2C only), confidence is at most 90 %.
//!
//! ## Wrong if
//! The capture missed the bad moment, or ran at a quiet hour.
//!
//! ## Next step
//! Look above the block layer: file system locks, CPU, memory, the network.

use std::collections::{HashMap, HashSet};

use iowhy_model::Order as _;
use iowhy_model::{DeviceId, Evidence, Finding, Layer, Level, Op, Severity, Stage, Verdict, key};

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::{self, HistogramSample, IntervalSample};
use crate::analysis::{Analysis, EVENTS_NEEDED, Host};
use crate::baseline::healthy_time::HealthyServiceTime;
use crate::detector::{Detector, Needs, RankedFindings, Rule};
use crate::evidence::builder::{lines, new_finding, of_disk};
use crate::evidence::clean_bills;
use crate::evidence::fullness;
use crate::evidence::medium_readings::{self, Readings};
use crate::evidence::runs;
use crate::evidence::stages;
use crate::evidence::unaccused;
use crate::evidence::unseen_wait;
use crate::facts::disk_names;
use crate::measures::replay::Vote;
use crate::measures::service::ServiceSpan;
use crate::measures::{missed_revolution, tail};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::Healthy,
    summary: "The device is healthy",
    manual: iowhy_model::manual!("healthy.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::C,
        seconds: 60,
        what: "the latency of each I/O while the problem occurs",
    },
    explains: &[],
    rule: Rule::Conclude(conclude),
};

/// Mean latency over S0 (docs/METHOD.md, 1 Replay: healthy if L < 3 S0), and over the slowest class
/// in question (docs/METHOD.md, 10 Rules: L < 2 S0).
const WITHIN: f64 = 3.0;
const WITHIN_SLOWEST: f64 = 2.0;
/// The tail may be this much longer than S0 (docs/METHOD.md, 10 Rules: p99 < 10 S0).
const TAIL: f64 = 10.0;
/// Maximum share of requests beyond it, and the standard normal deviate exceeded by chance once in
/// twenty.
const TAIL_SHARE: f64 = 0.01;
const BY_CHANCE: f64 = 1.645;
/// Requests of a deep queue that may wait (published bar of a database's operators: sustained queue
/// above 5).
const QUEUE: f64 = 5.0;
/// A histogram has no queue and no pattern that could explain a wide body: one in twenty beyond
/// three healthy times (the bound of health) of the slowest class forbids a HEALTHY verdict.
const NEAR_TAIL: f64 = 3.0;
const NEAR_SHARE: f64 = 0.05;
/// Maximum share of the time in requests beyond three healthy times of the slowest class, if
/// counted: above it they make the mean (a choice). With single I/Os, the same beyond ten healthy
/// times.
const TAIL_HOLDS: f64 = 1.0 / 3.0;
const TAIL_HOLDS_MOST: f64 = 0.5;
/// A suspicion of the device with at least this confidence forbids a HEALTHY verdict: that of five
/// of nine baseline variants that call it slow, once calibrated.
const SUSPECTED: f64 = 0.30;
/// Minimum confidence of each listing's clean verdict before the level of detail is counted (six
/// votes of nine).
const CLEARS: f64 = 0.6;
/// Rows that must be as good.
const ALL_BUT: f64 = 0.95;
/// Requests of a ping program, for comparing the slowest one with a healthy device; and the time in
/// which memory answers, ns.
const FEWEST: u64 = 3;
const MEMORY_NS: f64 = 20_000.0;
/// Below this many ns a write whose program did not bypass the page cache ended there: a copy, a
/// lock, and now and then a page that must be found (a choice; a flush after each, which fio lists
/// apart, then has the device's time).
const COPIED_NS: f64 = 100_000.0;
/// Maximum inputs that are compared with each other: a few pasted ones, not a recorder's day.
const MOST_INPUTS: usize = 32;
/// Maximum disks with all evidence shown.
const FEW: usize = 3;
/// Confidence of a clean verdict by the slowest possible class: the class is assumed.
const BY_CLASS: f64 = 0.85;

/// Share of the excess from which a note explains all of it (docs/METHOD.md, 12 Explaining away).
const EXPLAINS_ALL: f64 = 0.7;

/// Probability that a device is healthy, and what it rests on.
#[derive(Clone, Copy)]
struct Worth {
    sure: f64,
    why: &'static str,
}

impl Worth {
    /// Evidence against it.
    const NOTHING: Worth = Worth { sure: 0.0, why: "" };

    fn max(self, other: Worth) -> Worth {
        if other.sure > self.sure { other } else { self }
    }
}

/// One listing's evidence in favour of a device.
struct Clearance {
    listing: usize,
    worth: Worth,
    evidence: Vec<Evidence>,
    /// Its latency and that of a healthy device.
    reported: String,
    /// The assumed class.
    assumption: String,
    /// What else it may be, and would then not be healthy.
    readings: Option<Readings>,
}

fn conclude(analysis: &Analysis, ranked: &RankedFindings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (rows, narrowest) = (analysis.rows_by_listing(), narrowest(analysis));
    let denied = denied(analysis, (&rows, &narrowest));
    let waiting = stages::waiting_before(analysis);
    for (host, disks) in unaccused::unaccused(analysis, ranked.findings) {
        // An input that was not read completely clears no disk.
        if unaccused::unread(analysis, host).is_some() || unseen_wait::is_unseen(analysis, host) {
            continue;
        }
        let mut healthy: Vec<(String, Vec<Clearance>)> = Vec::new();
        let mut known = 0;
        let open = |disk: &String| {
            !suspected(analysis, ranked, host, disk) && !waiting.contains(&(host, disk.clone()))
        };
        for disk in disks.into_iter().filter(open) {
            let mut clearances = clearances(analysis, (&rows, &narrowest), host, &disk);
            if is_remark(analysis, ranked, host, &disk) {
                for clearance in &mut clearances {
                    let why = "the only finding is a delay too small to notice";
                    clearance.worth = clearance.worth.max(Worth { sure: BY_CLASS, why });
                }
            }
            let best = clearances.iter().map(|known| known.worth.sure).fold(0.0, f64::max);
            known += usize::from(!clearances.is_empty());
            let clears = clearances.iter().all(|known| known.worth.sure >= CLEARS);
            if !clearances.is_empty() && clears && (best > BY_CLASS || !ranked.surely) {
                healthy.push((disk, clearances));
            }
        }
        // An unnamed disk may be any of the others, and a stacked device is no better than its
        // disks: if one of these is not cleared, neither is it.
        let all = healthy.len() == known;
        healthy.retain(|(disk, _)| {
            let own = !disk.is_empty() && !disk_names::is_stacked(disk);
            (own || all) && !denied.contains(disk)
        });
        // An fio job is not another disk beside the one that it used.
        let below = if healthy.len() > 1 { below_programs(analysis, host) } else { HashSet::new() };
        if healthy.iter().any(|(disk, _)| below.contains(disk.as_str())) {
            healthy.retain(|(disk, _)| below.contains(disk.as_str()));
        }
        findings.extend(finding(analysis, healthy));
    }
    findings.extend(clean_bills::findings(analysis, ranked));
    findings
}

/// The disks whose block-layer I/O an input has.
fn below_programs<'a>(analysis: &'a Analysis, host: Host) -> HashSet<&'a str> {
    let below = |layer: Layer| layer != Layer::Application;
    let traced = analysis.traces.iter().map(|trace| (trace.listing, &trace.disk));
    let rows = analysis.intervals.iter().filter(|row| below(row.interval.layer));
    let counted = analysis.histograms.iter().filter(|sample| below(sample.known.layer));
    traced
        .chain(rows.map(|row| (row.listing, &row.disk)))
        .chain(counted.map(|sample| (sample.listing, &sample.disk)))
        .filter(|(listing, _)| analysis.host(*listing) == host)
        .map(|(_, disk)| disk.as_str())
        .collect()
}

/// Disks with evidence against them in any input: another input does not clear them.
fn denied(
    analysis: &Analysis,
    known: (&[Vec<&IntervalSample>], &HashMap<HistogramCount, f64>),
) -> HashSet<String> {
    let mut denied = HashSet::new();
    let hosts = analysis.hosts();
    if !(2..=MOST_INPUTS).contains(&hosts.len()) {
        return denied;
    }
    for host in hosts {
        let traced = analysis.traces.iter().map(|trace| (trace.listing, &trace.disk));
        let counted = analysis.histograms.iter().map(|sample| (sample.listing, &sample.disk));
        let averaged = analysis.intervals.iter().map(|row| (row.listing, &row.disk));
        let here = traced.chain(counted).chain(averaged);
        let disks: HashSet<&String> = here
            .filter(|(listing, disk)| analysis.host(*listing) == host && !disk.is_empty())
            .map(|(_, disk)| disk)
            .collect();
        for disk in disks {
            let found = clearances(analysis, known, host, disk);
            if found.iter().any(|known| known.worth.sure < CLEARS) {
                denied.insert(disk.clone());
            }
        }
    }
    denied
}

/// Whether the device itself is suspected, even weakly; a program's folder or job may be on any
/// disk of its input.
fn suspected(analysis: &Analysis, ranked: &RankedFindings, host: Host, disk: &str) -> bool {
    let may_be_on_any = !disk.is_empty() && !disk_names::is_of_a_disk(disk);
    ranked.findings.iter().any(|known| {
        let mut devices = known.subject.device.iter().chain(&known.subject.devices);
        known.blames_a_disk()
            && known.confidence() > SUSPECTED
            && devices.any(|device| may_be_on_any || analysis.disk(*device) == disk)
            && analysis.is_on(known, host)
    })
}

/// Whether all findings on a disk are explained by unnoticed, harmless causes: it is healthy, with
/// a note.
fn is_remark(analysis: &Analysis, ranked: &RankedFindings, host: Host, disk: &str) -> bool {
    let of_it = |known: &&Finding| {
        known.subject.device.is_some_and(|device| analysis.disk(device) == disk)
            && analysis.is_on(known, host)
    };
    let unfelt =
        |known: &Finding| known.impact.and_then(|impact| impact.severity()) == Some(Severity::None);
    let harmless = |known: &Finding| {
        known.verdict == Verdict::DeviceIdleWake && known.explained_share >= EXPLAINS_ALL
    };
    ranked.findings.iter().filter(of_it).any(|known| unfelt(known) && harmless(known))
}

/// The evidence of each listing of the input about a disk; one against it has confidence 0, an
/// inconclusive one is left out.
fn clearances(
    analysis: &Analysis,
    (rows, narrowest): (&[Vec<&IntervalSample>], &HashMap<HistogramCount, f64>),
    host: Host,
    disk: &str,
) -> Vec<Clearance> {
    let here = |listing: usize, name: &str| name == disk && analysis.host(listing) == host;
    let traces = analysis.traces.iter().filter(|trace| here(trace.listing, &trace.disk));
    let rows =
        rows.iter().filter(|rows| rows.first().is_some_and(|row| here(row.listing, &row.disk)));
    let histograms = analysis.histograms.iter().filter(|sample| here(sample.listing, &sample.disk));
    let histograms = histograms.filter(|sample| !has_a_narrower(narrowest, sample));
    // Time before the device says nothing about it.
    let on_device =
        |sample: &&HistogramSample| matches!(sample.known.stage, Stage::Device | Stage::Total);
    let histograms = histograms.filter(on_device);
    traces
        .filter_map(|trace| of_trace(analysis, trace))
        .chain(rows.filter_map(|rows| of_rows(analysis, rows)))
        .chain(histograms.filter_map(|sample| of_histogram(analysis, sample)))
        .collect()
}

/// Whether the same requests are also listed without their submission time: fio's `clat` beside its
/// `lat`.
fn has_a_narrower(narrowest: &HashMap<HistogramCount, f64>, sample: &HistogramSample) -> bool {
    let Some((counted, mean)) = counted(sample) else { return false };
    narrowest.get(&counted).is_some_and(|least| *least < mean)
}

/// Listing, operation and count of a program's histogram.
type HistogramCount = (usize, DeviceId, Option<Op>, u64);

/// For a histogram of a program's total waits, with their mean, ns.
fn counted(sample: &HistogramSample) -> Option<(HistogramCount, f64)> {
    let known = &sample.known;
    let is_one = known.layer == Layer::Application && known.stage == Stage::Total;
    let (mean, _) = known.histogram.mean_ns().filter(|_| is_one)?;
    Some(((sample.listing, known.device, known.op, known.histogram.count()), mean))
}

/// The smallest mean of histograms of the same requests.
fn narrowest(analysis: &Analysis) -> HashMap<HistogramCount, f64> {
    let mut least = HashMap::new();
    for (counted, mean) in analysis.histograms.iter().filter_map(counted) {
        least.entry(counted).and_modify(|least: &mut f64| *least = least.min(mean)).or_insert(mean);
    }
    least
}

fn of_trace(analysis: &Analysis, trace: &DeviceTrace) -> Option<Clearance> {
    if trace.spans.len() < EVENTS_NEEDED {
        return None;
    }
    let n = trace.spans.len() as u64;
    let mean_ms = trace.mean_ns() / 1e6;
    let lost = trace.lost_ns() / analysis.watched_ns(trace.listing, trace.span_ns());
    let far = TAIL * trace.s0.slowest_ms() * 1e6;
    let latencies = || trace.spans.iter().map(ServiceSpan::latency_ns);
    let beyond = || latencies().filter(|ns| *ns > far);
    let tail = beyond().count() as f64 / n as f64;
    let holds_most = beyond().sum::<f64>() > TAIL_HOLDS_MOST * latencies().sum::<f64>();
    let (_, by_votes) = trace.s0.votes(|s0| mean_ms < WITHIN * s0);
    let is_tailed = tail > tail_of_chance(n) || holds_most;
    let judged = judged(mean_ms, by_votes, trace.s0.slowest_ms(), is_tailed);
    let judged = if is_tailed { judged } else { judged.max(of_replay(trace)) };
    let in_flight = trace.plateau.map_or(0.0, |known| known.in_flight);
    let queued = is_queue(in_flight, mean_ms, &trace.s0);
    let worth = if queued || reads_wait(trace) { Worth::NOTHING } else { judged };
    let computed = analysis.computed(trace.listing, n);
    let evidence = vec![
        computed
            .ms(&format!("mean latency of {}", name(&trace.disk)), mean_ms)
            .below(WITHIN_SLOWEST * trace.s0.slowest_ms()),
        analysis.estimated(trace.listing, n).healthy(&trace.s0),
        computed.seconds("excess wait per second", lost),
        computed
            .share("requests slower than ten healthy service times", tail)
            .below(tail_of_chance(n)),
    ];
    let assumption = trace.s0.assumption.clone();
    let readings = medium_readings::of_trace(analysis, trace);
    let reported = reported("mean", mean_ms, &trace.s0);
    Some(Clearance { listing: trace.listing, worth, evidence, reported, assumption, readings })
}

/// Whether waits are no longer than on a healthy device, by the replay: below three healthy service
/// times, or after requests of the same load that it would not have served faster.
fn of_replay(trace: &DeviceTrace) -> Worth {
    let Some(vote) = trace.vote.as_ref() else { return Worth::NOTHING };
    if trace.mean_ns() / 1e6 > WITHIN * trace.s0.slowest_ms() {
        return Worth::NOTHING;
    }
    let why = "baseline variants for which a healthy device would not be faster";
    Worth { sure: Vote::sure(vote.healthy + vote.workload), why }
}

/// The 95th percentile of rows represents a listing.
fn of_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Clearance> {
    let mut waits: Vec<(f64, &IntervalSample)> = rows
        .iter()
        .filter(|row| row.per_s() >= 1.0 && row.agrees)
        .filter_map(|row| Some((row.await_ms()? / row.s0.median_ms(), *row)))
        .collect();
    let requests: f64 = waits.iter().map(|(_, row)| row.requests()).sum();
    if requests < EVENTS_NEEDED as f64 {
        return None;
    }
    waits.order_by(|a, b| a.0.total_cmp(&b.0));
    let place = (waits.len() as f64 * ALL_BUT).ceil() as usize;
    let (_, row) = waits.get(place.checked_sub(1)?)?;
    let (wait, n) = (row.await_ms()?, waits.len() as u64);
    let (_, by_votes) = row.s0.votes(|s0| wait < WITHIN * s0);
    let gone = !samples::after_silence(rows).is_empty();
    let judged = judged(wait, by_votes, row.s0.slowest_ms(), gone);
    let durable = !gone && row.may_be_durable();
    let why = "its slow writes may have been synchronous, which explains their latency";
    let allowed = if durable { BY_CLASS } else { 0.0 };
    let worth = judged.max(Worth { sure: allowed, why });
    // One write per revolution may be a healthy disk that is made to wait.
    let turning = waits.iter().filter(|(_, row)| row.revolution_per_write().is_some()).count();
    // And a disk that one writer keeps busy all the time is waited for, even if it is healthy.
    let serial = waits.iter().filter(|(_, row)| row.is_waited_for_by_a_writer()).count();
    let waits_revolutions =
        2 * turning.max(serial) >= waits.len() && analysis.may_rotate(row.device);
    // Nor is a saturated one cleared, however uniform its rows are.
    let full = waits.iter().filter(|(_, row)| fullness::is_full(analysis, row)).count();
    let queue = row.interval.queue_len.unwrap_or(row.per_s() * wait / 1e3);
    let queued = is_queue(queue / row.interval.busy.unwrap_or(1.0).clamp(0.01, 1.0), wait, &row.s0);
    let one_way = waits.iter().filter(|(_, row)| waits_one_way(row)).count();
    // Requests in flight that do not complete have no latency yet: such rows clear nothing.
    let stands = rows.iter().any(|row| {
        row.outstanding().is_some() && row.interval.busy >= Some(samples::WITHOUT_PAUSE)
    });
    let denied = waits_revolutions || queued || stands || 2 * full.max(one_way) >= waits.len();
    let worth = if denied { Worth::NOTHING } else { worth };
    let what = match n {
        1 => format!("mean latency of {}", name(&row.disk)),
        _ => format!("95th percentile of the mean latency of rows, of {}", name(&row.disk)),
    };
    let evidence = vec![
        analysis
            .computed(row.listing, n)
            .ms(&what, wait)
            .below(WITHIN_SLOWEST * row.s0.slowest_ms()),
        analysis.estimated(row.listing, n).healthy(&row.s0),
    ];
    let assumption = row.s0.assumption.clone();
    let readings = medium_readings::of_row(analysis, row);
    let reported =
        reported(if n == 1 { "mean" } else { "in 95 % of rows, mean at most" }, wait, &row.s0);
    Some(Clearance { listing: row.listing, worth, evidence, reported, assumption, readings })
}

/// Whether reads beyond three healthy times of the slowest class take a third of all time: fast
/// writes hide them in the mean. Slow writes may have been durable.
fn reads_wait(trace: &DeviceTrace) -> bool {
    let of_reads = trace.spans.iter().filter(|span| span.op == Op::Read);
    let reads: Vec<f64> = of_reads.map(ServiceSpan::latency_ns).collect();
    let (sum, all) = (reads.iter().sum::<f64>(), trace.mean_ns() * trace.spans.len() as f64);
    let mean_ms = sum / 1e6 / reads.len().max(1) as f64;
    sum > TAIL_HOLDS * all && mean_ms > NEAR_TAIL * trace.s0.slowest_ms()
}

/// The same for averages, reads or writes, except writes that may be durable.
fn waits_one_way(row: &IntervalSample) -> bool {
    let spent = |op: Op| {
        let rates = row.interval.of(op).filter(|rates| rates.ios_per_s > 0.0)?;
        let wait_ms = rates.await_ns? / 1e6;
        Some((rates.ios_per_s * wait_ms, wait_ms))
    };
    let ops = [Op::Read, Op::Write].map(|op| spent(op).unwrap_or_default());
    let all: f64 = ops.iter().map(|(spent, _)| spent).sum();
    let holds = |(spent, wait_ms): &(f64, f64)| {
        *spent > TAIL_HOLDS * all && *wait_ms > NEAR_TAIL * row.s0.slowest_ms()
    };
    !row.may_be_durable() && ops.iter().any(holds)
}

fn of_histogram(analysis: &Analysis, sample: &HistogramSample) -> Option<Clearance> {
    let histogram = &sample.known.histogram;
    let n = histogram.count();
    // A program's wait includes more than the device: if even that is short, the device is healthy,
    // unless memory answered.
    let by_program = sample.known.layer == Layer::Application && sample.known.stage == Stage::Total;
    let at_once = analysis.at_once(sample.listing, sample.known.device);
    let alone = by_program && at_once == Some(1.0);
    let largest_ms = histogram.max_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e6);
    let few = n >= FEWEST && largest_ms < WITHIN_SLOWEST * sample.s0.slowest_ms();
    let many = n >= EVENTS_NEEDED as u64;
    // A few slow requests neither accuse nor clear a disk.
    let slow = alone && n >= FEWEST && !many && !few;
    // A stage before the issue is part of the wait, however short it is.
    let whole = matches!(sample.known.stage, Stage::Device | Stage::Total);
    let tells =
        (sample.known.layer == Layer::Block && whole && many) || (alone && (many || few || slow));
    let listing = analysis.listing(sample.listing);
    // Counts since boot say nothing about the present.
    if listing.facts.iter().any(|fact| fact.key == key::COUNTERS_SINCE) {
        return None;
    }
    // Past the page cache memory answers nothing.
    let by_device = !alone || runs::is_direct(listing);
    let memory_ns = if sample.known.op == Some(Op::Write) { COPIED_NS } else { MEMORY_NS };
    let (mean_ns, _) =
        histogram.mean_ns().filter(|(ns, _)| tells && (*ns > memory_ns || by_device))?;
    let far = (TAIL * sample.s0.slowest_ms() * 1e6) as u64;
    let tail = histogram.count_from(far.saturating_add(1)) as f64 / n as f64;
    let mean_ms = mean_ns / 1e6;
    if slow && mean_ms < WITHIN_SLOWEST * sample.s0.slowest_ms() {
        return None;
    }
    let (_, by_votes) = sample.s0.votes(|s0| mean_ms < WITHIN * s0);
    let near = (NEAR_TAIL * sample.s0.slowest_ms() * 1e6) as u64;
    let heavy = histogram.count_from(near) as f64 > NEAR_SHARE * n as f64;
    let waits_revolutions = missed_revolution::may_be_revolutions(histogram);
    let near_ns = NEAR_TAIL * sample.s0.slowest_ms() * 1e6;
    let holds = tail::slow_part(histogram, near_ns)
        .is_some_and(|part| part.mean_ns > near_ns && part.of_time > TAIL_HOLDS);
    let is_tailed = heavy || waits_revolutions || tail > tail_of_chance(n) || holds || slow;
    let worth = judged(mean_ms, by_votes, sample.s0.slowest_ms(), is_tailed);
    let what = format!("mean latency of {}", name(&sample.disk));
    let estimated = analysis.estimated(sample.listing, n);
    let evidence = vec![
        estimated.ms(&what, mean_ms).below(WITHIN_SLOWEST * sample.s0.slowest_ms()),
        estimated.healthy(&sample.s0),
        analysis
            .computed(sample.listing, n)
            .share("requests slower than ten healthy service times", tail)
            .below(tail_of_chance(n)),
    ];
    let assumption = sample.s0.assumption.clone();
    let reported = reported("mean", mean_ms, &sample.s0);
    let readings = medium_readings::of_counts(analysis, sample);
    let listing = sample.listing;
    Some(Clearance { listing, worth, evidence, reported, assumption, readings })
}

/// The share beyond that `n` requests of a healthy device show in all but one of twenty captures:
/// with a hundred requests chance alone makes two or three of one expected (Cornish-Fisher
/// expansion of a Poisson quantile).
fn tail_of_chance(n: u64) -> f64 {
    let expected = TAIL_SHARE * n as f64;
    let skew = (BY_CHANCE * BY_CHANCE - 1.0) / 6.0;
    (expected + BY_CHANCE * expected.sqrt() + skew).ceil() / (n as f64).max(1.0)
}

/// Whether most of a deep queue waits: by Little's law more than a sustained queue waits behind the
/// requests that a healthy device of the class would have in service at this rate. A device that
/// serves all requests at once answers each as if it were alone.
fn is_queue(in_flight: f64, mean_ms: f64, s0: &HealthyServiceTime) -> bool {
    let served = in_flight * (s0.median_ms() / mean_ms.max(f64::MIN_POSITIVE)).min(1.0);
    in_flight >= fullness::DEEP && in_flight - served > QUEUE && mean_ms > WITHIN * s0.median_ms()
}

/// `mean 5.26 ms, a healthy one needs 4.5 ms`.
fn reported(what: &str, latency_ms: f64, s0: &HealthyServiceTime) -> String {
    format!("{what} {}, a healthy one takes {}", phrase::ms(latency_ms), s0.range())
}

fn judged(mean_ms: f64, by_votes: f64, slowest_ms: f64, is_tailed: bool) -> Worth {
    if is_tailed {
        return Worth::NOTHING;
    }
    let within = "baseline variants that rate the mean of the least certain disk healthy";
    let by_class = if mean_ms < WITHIN_SLOWEST * slowest_ms { BY_CLASS } else { 0.0 };
    let class = "the mean of the least certain disk is normal for the slowest possible class";
    Worth { sure: by_votes, why: within }.max(Worth { sure: by_class, why: class })
}

fn finding(analysis: &Analysis, healthy: Vec<(String, Vec<Clearance>)>) -> Option<Finding> {
    let disks: Vec<String> = healthy.iter().map(|(disk, _)| disk.clone()).collect();
    let device = match disks.as_slice() {
        [] => return None,
        [one] => analysis.recording.find_device(one),
        _ => None,
    };
    let mut listings: Vec<usize> = Vec::new();
    let mut finding = new_finding(DETECTOR.verdict, device, Vec::new());
    let mut least: Option<Worth> = None;
    let taken_for = healthy
        .iter()
        .flat_map(|(_, clearances)| clearances)
        .map(|clearance| clearance.assumption.clone())
        .next();
    let quick = healthy.iter().flat_map(|(_, clearances)| clearances).next();
    let quick = quick.map(|clearance| clearance.reported.clone()).unwrap_or_default();
    let readings = healthy
        .iter()
        .flat_map(|(_, clearances)| clearances)
        .find_map(|clearance| clearance.readings);
    for (disk, clearances) in healthy {
        let best = clearances.iter().map(|known| known.worth).fold(Worth::NOTHING, Worth::max);
        least = Some(least.filter(|least| least.sure <= best.sure).unwrap_or(best));
        for clearance in clearances {
            if !listings.contains(&clearance.listing) {
                listings.push(clearance.listing);
            }
            // With many disks only the first number of each is shown.
            let kept = if disks.len() > FEW { 1 } else { clearance.evidence.len() };
            let kept = clearance.evidence.into_iter().take(kept);
            finding.evidence.extend(kept.map(|evidence| of_disk(evidence, &disk)));
        }
    }
    let least = least?;
    finding.assume(least.sure, least.why);
    finding.subject.listings = listings;
    finding.sentence = match disks.as_slice() {
        [one] => format!(
            "{}: {quick} (assumed class: {}){}",
            responds(name(one)),
            taken_for.unwrap_or_default(),
            readings.map(|readings| readings.words()).unwrap_or_default()
        ),
        _ => format!("the disks are healthy: {}", phrase::list(&disks)),
    };
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&[
        "the problem did not occur during the capture",
        "the device belongs to a faster class than assumed",
    ]);
    if analysis.sees_no_queue(&finding.subject.listings) {
        let unseen = "time before the issue of a request was not seen (D2C only): a limit of a \
                      control group or a full queue would delay I/Os there";
        finding.refuted_by.push(unseen.to_string());
    }
    let made_of = readings.map(|_| Readings::step(disks.first().map_or("", |disk| disk)));
    finding.next_step = made_of.into_iter().collect();
    finding.next_step.extend([
        "capture again while the problem occurs: `iowhy why --for 60s`".to_string(),
        "look above the block layer: CPU, locks, memory, network".to_string(),
    ]);
    Some(finding)
}

/// `sdb responds like a healthy device`; some tools report all devices together.
fn responds(who: &str) -> String {
    match who {
        "all devices" => format!("{who} respond like healthy ones"),
        who => format!("{who} responds like a healthy device"),
    }
}

fn name(disk: &str) -> &str {
    phrase::disk(disk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chance_allows_nears_the_share_itself() {
        let allowed = |n: u64| (tail_of_chance(n) * n as f64).round();
        assert_eq!([10, 100, 300, 1000].map(allowed), [1.0, 3.0, 7.0, 16.0]);
        assert!((tail_of_chance(10_000_000) - TAIL_SHARE).abs() < 1e-4);
    }
}
