//! A provider's limit throttles the volume to a round number.
//!
//! ## Accuses
//! The provisioned size of the volume. The device could do more; the provider throttles it.
//!
//! ## Why it matters
//! A throttled volume looks like a slow or saturated disk: latency rises with every further request
//! in flight. The fix is a setting, not a disk.
//!
//! ## Needs
//! Throughput over time (a minute of one-second samples is best), or one average at a known limit
//! while requests are queued. A device that may be a network volume, or be stacked on one.
//!
//! ## Rule
//! Throughput is pinned: among the samples within 3 % of the 95th percentile, at least five and 15
//! % of all, the variation is below 1.2 % and the maximum within 2 % of the median, while the
//! number in flight varies by a factor of 1.3. A known limit within 1.5 % adds to it: 3000 or 16000
//! IOPS, 125, 250 or 1000 MiB/s. Of large requests to what need not be a network volume only such a
//! limit counts: a platter's own rate is as constant. With averages alone, a single row within 0.5
//! % of such a limit, with requests queued, raises a suspicion.
//!
//! ## Wrong if
//! The application limits its own rate, or the number is a coincidence. A limit is reached only
//! while a request waits: if nothing is in flight for a tenth of the time at that rate, it is a
//! suspicion only.
//!
//! ## Next step
//! Check the volume's provisioned limits; use a larger tier or send fewer and larger I/Os; check
//! the instance's own limit.

use iowhy_model::{
    Clause, DeviceId, EXPLAINS_ENOUGH, Evidence, Finding, Level, Listing, Medium, Verdict, key,
};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::IntervalSample;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{Numbers, lines, new_finding};
use crate::evidence::confidence::{self, PRIOR_OF_CAP, SHAPE_ALONE};
use crate::evidence::runs;
use crate::facts::disk_names;
use crate::facts::reading::FactReading;
use crate::measures::cap::{self, Limit, Plateau, Tier};
use crate::measures::service::ServiceSpan;
use crate::measures::spans::Spans;
use crate::measures::spread;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::CapVolume,
    summary: "A provider's limit throttles the volume to a round number",
    manual: iowhy_model::manual!("cap_volume.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::C,
        seconds: 60,
        what: "sixty one-second samples of throughput while requests are queued",
    },
    explains: &[
        Verdict::DevicePeriodicDelay,
        Verdict::DeviceSlow,
        Verdict::LoadBurst,
        Verdict::LoadSaturated,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// Weight of a known limit nearby, in nats (docs/METHOD.md, 8 Cap).
const KNOWN_LIMIT: f64 = 2.0;
/// Weight of the pinned plateau: false alarms are at most 3 % on saturated devices (docs/METHOD.md,
/// 8 Cap), so the odds rise thirty times: ln 30 = 3.4.
const PINNED: f64 = 3.4;
/// The maximum variation of a plateau (docs/METHOD.md, 8 Cap): less adds weight.
const VARIATION: f64 = 0.012;
/// Negative weight of constant demand: a steady program may be the clock.
const CONSTANT_DEMAND: f64 = -2.0;
/// How close a single average must be: a tenth of a plateau's tolerance, which occurs by chance
/// once in some two hundred rows.
const SINGLE_ROW: f64 = 0.005;
/// From this many samples on the plateau decides (docs/METHOD.md, 8 Cap: at least 5), not a single
/// row.
const SAMPLES: usize = 5;
/// A second above the limit by more than this refutes it (docs/METHOD.md, 8 Cap: max/median <
/// 1.02).
const EXCEEDED: f64 = 0.02;
/// A trace of more than a day has a broken clock, or shows its limit in any hour.
const SECONDS_KEPT: usize = 86_400;
/// Mean bytes of a request from which on a stream may run at a platter's own rate (a choice: half
/// of what the kernel splits larger ones into, as smaller ones may be among them).
const LARGE: f64 = 262_144.0;
/// Odds of a network volume from which any number may be a purchased limit; for a possible drive,
/// which saturates at its own speed, only a round number is.
const PURCHASED_LIMIT: f64 = 0.5;
/// Minimum share of the time that a volume itself counts above its limit (a choice); and the weight
/// of the provider's own count (a choice).
const EXCEEDED_SHARE: f64 = 0.1;
const COUNTED: f64 = 0.9;
/// Minimum number of requests that wait for a limit.
const WAITING: f64 = 1.5;
/// Share of the seconds at the limit in which nothing is in flight, from which on the demand itself
/// may be what ends there (a choice): a limit is reached only while a request waits.
const NOTHING_WAITS: f64 = 0.1;
const PACED: &str = "nothing is in flight for part of the time at that rate: a program may limit \
                     itself to it";

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let rows = analysis.rows_by_listing().into_iter().flat_map(|rows| from_rows(analysis, &rows));
    let traces = analysis.traces.iter().flat_map(|trace| from_trace(analysis, trace));
    let found = rows.chain(traces).chain(runs::capped(analysis, DETECTOR.verdict, PRIOR_OF_CAP));
    found.chain(counted(analysis)).collect()
}

/// A volume's own counter: the time in which demand exceeded its limit, of the time watched.
fn counted(analysis: &Analysis) -> Vec<Finding> {
    let listings = analysis.listings();
    let exceeded = |(place, listing): (usize, &Listing)| {
        let since = listing.facts.iter().any(|fact| fact.key == key::COUNTERS_SINCE);
        let length = listing.intervals.iter().filter_map(|row| row.length).map(|ns| ns.seconds());
        let watched = Some(length.sum::<f64>()).filter(|seconds| *seconds > 0.0 && !since)?;
        let limits = listing.facts.iter().filter(|fact| {
            fact.key.member_of(key::VOLUME_EXCEEDED).is_some()
                || fact.key.member_of(key::INSTANCE_EXCEEDED).is_some()
        });
        let worst = limits.filter_map(|fact| Some((fact, fact.value.number()? / watched)));
        let (fact, share) = worst.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (share > EXCEEDED_SHARE).then_some(())?;
        let device = fact.device?;
        let disk = analysis.disk(device);
        let reading = FactReading { fact, listing: place };
        let whose = if fact.key.member_of(key::INSTANCE_EXCEEDED).is_some() {
            "the instance"
        } else {
            "the volume"
        };
        let mut finding = new_finding(DETECTOR.verdict, Some(device), vec![place]);
        finding.sentence = format!(
            "{} is throttled by a limit of {whose}: by its own counters, demand exceeded the limit \
             for {} of the time watched",
            phrase::disk(&disk),
            phrase::percent(share.min(1.0)),
        );
        finding.evidence = vec![
            analysis
                .stated(&reading)
                .share(
                    "share of the time watched in which demand exceeded the limit",
                    share.min(1.0),
                )
                .above(EXCEEDED_SHARE),
            analysis.computed(place, 1).seconds("time watched", watched),
        ];
        finding.assume(COUNTED, "counted by the volume itself");
        finding.explained_share = share.min(1.0);
        finding.refuted_by =
            lines(&["the counters cover the time since the volume was attached, not the time \
                     watched"]);
        finding.next_step =
            lines(&["use a larger tier of the volume or the instance, or fewer and larger I/Os"]);
        Some(finding)
    };
    listings.filter_map(exceeded).collect()
}

/// The limit of one device, from either kind of input.
struct Pin {
    limit: Limit,
    rate: f64,
    tier: Option<(Tier, f64)>,
    plateau: Option<Plateau>,
    /// Share of the time at the limit with nothing in flight, if known.
    idle: Option<f64>,
    n: u64,
}

fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Vec<Finding> {
    let Some(first) = rows.first() else { return Vec::new() };
    if !analysis.may_be_limited(first.device) {
        return Vec::new();
    }
    let in_flight: Vec<f64> = rows.iter().filter_map(|row| row.interval.queue_len).collect();
    let in_flight = if in_flight.len() == rows.len() { in_flight } else { Vec::new() };
    for limit in Limit::ALL {
        let rate = |row: &IntervalSample| row.rate(limit);
        let rates: Vec<f64> = rows.iter().map(|row| rate(row)).collect();
        let plateau = cap::plateau(&rates, &in_flight);
        let large = first.interval.mean_bytes().is_some_and(|bytes| bytes >= LARGE);
        let held = |plateau: &Plateau| holds(analysis, first.device, plateau, (limit, large));
        let plateau = plateau.filter(held);
        if let Some(plateau) = plateau {
            let tier = cap::nearest_tier(limit, plateau.level);
            let n = plateau.samples as u64;
            let on = rows.iter().filter(|row| cap::is_on(plateau.level, rate(row)));
            let busy: Option<Vec<f64>> = on.map(|row| row.interval.busy).collect();
            let idle = busy.and_then(|busy| spread::mean(&busy)).map(|busy| 1.0 - busy);
            let pin = Pin { limit, rate: plateau.level, tier, plateau: Some(plateau), idle, n };
            return finding(analysis, first, &pin).into_iter().collect();
        }
        // Some of many samples are at any number; and an exceeded number is not a limit.
        let highest = highest_of_disk(analysis, first, limit);
        let speaks = |row: &&&IntervalSample| {
            rows.len() < SAMPLES
                && row.interval.queue_len.is_some_and(|n| n > WAITING)
                && highest <= rate(row) * (1.0 + EXCEEDED)
        };
        for row in rows.iter().filter(speaks) {
            let tier = cap::nearest_tier(limit, rate(row));
            if let Some((tier, off)) = tier.filter(|(_, off)| off.abs() <= SINGLE_ROW) {
                let (tier, plateau, idle) = (Some((tier, off)), None, None);
                let pin = Pin { limit, rate: rate(row), tier, plateau, idle, n: 1 };
                return finding(analysis, row, &pin).into_iter().collect();
            }
        }
    }
    Vec::new()
}

/// The highest rate of the disk in any listing of the input.
fn highest_of_disk(analysis: &Analysis, of: &IntervalSample, limit: Limit) -> f64 {
    let same = analysis.intervals.iter().filter(|row| {
        row.disk == of.disk && analysis.host(row.listing) == analysis.host(of.listing)
    });
    same.map(|row| row.rate(limit)).fold(0.0, f64::max)
}

fn finding(analysis: &Analysis, row: &IntervalSample, pin: &Pin) -> Option<Finding> {
    let queue = row.interval.queue_len.unwrap_or(0.0);
    if queue <= WAITING {
        return None;
    }
    let printed = analysis.printed(row.listing, 1);
    let mut evidence = evidence(analysis, row.listing, pin, &printed.over(pin.n));
    evidence.push(printed.requests("requests in flight (aqu-sz)", queue).above(WAITING));
    let wait = row.await_ms().unwrap_or(0.0);
    if wait > 0.0 {
        evidence.push(printed.ms("mean latency (await)", wait));
    }
    let network = network_s0_ms();
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.evidence = evidence;
    finding.explained_share = if wait > 0.0 { ((wait - network) / wait).max(0.0) } else { 0.3 };
    finish(&mut finding, &row.disk, pin);
    Some(finding)
}

/// Constant while demand changed, or at a round number with clock-like regularity. A drive at its
/// own maximum may be at a round number by chance, and transfers of large requests are as constant
/// as a platter turns, whatever waits for it: then only a limit on sale counts.
fn holds(
    analysis: &Analysis,
    device: DeviceId,
    plateau: &Plateau,
    (limit, large): (Limit, bool),
) -> bool {
    let tier = cap::nearest_tier(limit, plateau.level);
    let round = cap::is_round(limit, plateau.level) || tier.is_some();
    let sold = tier.is_some_and(|(_, off)| off.abs() <= SINGLE_ROW);
    let bought = analysis.network_odds(device) >= PURCHASED_LIMIT;
    let disk = analysis.disk(device);
    let drive = !bought && DRIVES.contains(&disk_names::kind(&disk));
    let transfers = !bought && large && limit == Limit::BytesPerSecond;
    let pinned = plateau.pinned && (bought || if transfers { sold } else { round });
    pinned || plateau.clocked && round && (sold || !drive && !transfers)
}

/// Names shared by drives and network volumes.
const DRIVES: [&str; 3] = ["nvme", "sd", "hd"];

/// A trace as one-second samples: of requests, then of bytes.
fn from_trace(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let seconds = (trace.span_ns() / 1e9) as usize;
    if !analysis.may_be_limited(trace.device) || seconds > SECONDS_KEPT {
        return None;
    }
    // Little: the sum of latencies per second is the mean number in flight.
    let waits = per_second(trace, seconds, |span| span.latency_ns() / 1e9);
    let queue = waits.iter().sum::<f64>() / waits.len().max(1) as f64;
    if queue <= WAITING {
        return None;
    }
    let pin = Limit::ALL.into_iter().find_map(|limit| pinned(analysis, trace, limit, &waits))?;
    let n = pin.n;
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    let computed = analysis.computed(trace.listing, n);
    finding.evidence = evidence(analysis, trace.listing, &pin, &computed);
    finding.evidence.push(computed.requests("requests in flight, mean", queue).above(WAITING));
    let wait = trace.mean_ns() / 1e6;
    finding.explained_share = ((wait - network_s0_ms()) / wait).max(0.0);
    finish(&mut finding, &trace.disk, &pin);
    // Without a wait that a healthy volume would not have, nothing is held back.
    (finding.explained_share >= EXPLAINS_ENOUGH).then_some(finding)
}

/// A trace limited to a rate. Bytes are counted in requests of the mean size, so that their counts
/// have the same dispersion as requests.
fn pinned(analysis: &Analysis, trace: &DeviceTrace, limit: Limit, waits: &[f64]) -> Option<Pin> {
    let sum: f64 = trace.spans.iter().map(|span| f64::from(span.bytes)).sum();
    let unit = match limit {
        Limit::Iops => 1.0,
        Limit::BytesPerSecond => sum / trace.spans.len().max(1) as f64,
    };
    let worth = |span: &ServiceSpan| match limit {
        Limit::Iops => 1.0,
        Limit::BytesPerSecond => f64::from(span.bytes) / unit.max(1.0),
    };
    let rates = per_second(trace, waits.len(), worth);
    let plateau = cap::plateau(&rates, waits)?;
    let idle = idle_at(trace, &rates, plateau.level);
    // The lost I/Os were served, too.
    let source = analysis.source(trace.listing);
    let all = 1.0 + source.lost() as f64 / source.records.max(1) as f64;
    let plateau = Plateau { level: plateau.level * unit * all, ..plateau };
    let tier = cap::nearest_tier(limit, plateau.level);
    let large = sum / trace.spans.len().max(1) as f64 >= LARGE;
    holds(analysis, trace.device, &plateau, (limit, large)).then_some(Pin {
        limit,
        rate: plateau.level,
        tier,
        n: plateau.samples as u64,
        plateau: Some(plateau),
        idle,
    })
}

/// The share of the seconds at this level in which nothing is in flight.
fn idle_at(trace: &DeviceTrace, rates: &[f64], level: f64) -> Option<f64> {
    let start = trace.spans.first()?.completed_ns;
    let spans = Spans::of(trace.spans.iter().map(|span| (span.started_ns(), span.completed_ns)));
    let on =
        (0..rates.len()).filter(|n| rates.get(*n).is_some_and(|rate| cap::is_on(level, *rate)));
    let busy: Vec<f64> = on
        .map(|second| {
            let from = start.saturating_add(second as i64 * 1_000_000_000);
            spans.covered_ns(from, from.saturating_add(1_000_000_000)) / 1e9
        })
        .collect();
    Some(1.0 - spread::mean(&busy)?)
}

/// What completed in each second, weighed.
fn per_second(
    trace: &DeviceTrace,
    seconds: usize,
    weight: impl Fn(&ServiceSpan) -> f64,
) -> Vec<f64> {
    let start = trace.spans.first().map_or(0, |span| span.completed_ns);
    let mut sums = vec![0.0; seconds];
    for span in &trace.spans {
        let second = (span.completed_ns.saturating_sub(start) / 1_000_000_000) as usize;
        if let Some(sum) = sums.get_mut(second) {
            *sum += weight(span);
        }
    }
    sums
}

/// Latency of an unthrottled network volume, from the class table.
fn network_s0_ms() -> f64 {
    let request = crate::baseline::healthy_time::Request {
        op: iowhy_model::Op::Read,
        bytes: 4096.0,
        sequential: None,
    };
    crate::baseline::healthy_time::HealthyServiceTime::of(&[(Medium::Network, 1.0)], request, None)
        .median_ms()
}

/// The rate as it was printed or computed, and what it is compared with.
fn evidence(analysis: &Analysis, listing: usize, pin: &Pin, rate: &Numbers) -> Vec<Evidence> {
    let unit = pin.limit.unit();
    let computed = analysis.computed(listing, pin.n);
    let mut evidence = vec![rate.of("throughput", pin.rate, unit)];
    if let Some((tier, off)) = &pin.tier {
        let what = format!("nearest known limit ({})", tier.known_from);
        evidence.push(computed.of(&what, tier.value, unit));
        evidence.push(computed.share("distance from the limit", off.abs()).below(0.015));
    }
    if let Some(plateau) = &pin.plateau {
        evidence.extend([
            computed.count("samples on the plateau", plateau.samples as f64),
            computed.share("variation of these samples", plateau.cv).below(VARIATION),
            computed
                .ratio("largest sample, divided by the median", plateau.max_over_median)
                .below(1.02),
        ]);
    }
    if let Some(idle) = pin.idle {
        let what = "time at that rate with nothing in flight";
        evidence.push(computed.share(what, idle.max(0.0)).below(NOTHING_WAITS));
    }
    evidence
}

fn finish(finding: &mut Finding, disk: &str, pin: &Pin) {
    let name = phrase::disk(disk);
    let rate = pin.limit.words(pin.rate);
    let near = match &pin.tier {
        Some((tier, off)) => format!(
            ", {} from the limit of {} ({})",
            phrase::percent(off.abs()),
            tier.limit.words(tier.value),
            tier.known_from
        ),
        None => String::new(),
    };
    finding.sentence = format!("{name} is pinned at {rate}{near} with requests queued");
    let mut clauses = Vec::new();
    if let Some((_, off)) = &pin.tier {
        clauses.push(Clause::fixed("a limit of a product", KNOWN_LIMIT));
        // A single row has only its closeness as evidence; a plateau is evidence itself.
        if pin.plateau.is_none() {
            clauses.push(confidence::below("distance from the limit", off.abs(), SINGLE_ROW));
        }
    }
    if let Some(plateau) = &pin.plateau {
        clauses.push(Clause::fixed("throughput pinned", PINNED));
        let cv = plateau.cv.max(1e-6);
        let even = confidence::below("variation of the throughput", cv, VARIATION);
        clauses.push(even.at_least(0.0));
        if !plateau.pinned {
            clauses.push(Clause::fixed("demand did not grow", CONSTANT_DEMAND));
        }
    }
    confidence::believe(finding, PRIOR_OF_CAP, clauses);
    finding.doubt_if(pin.idle.is_some_and(|idle| idle > NOTHING_WAITS), PACED, SHAPE_ALONE);
    finding.refuted_by = lines(&[
        "throughput is higher in any second of the same load",
        "the provisioned limit is a different number",
        "the application limits its own rate: then nothing is queued",
    ]);
    finding.next_step = lines(&[
        &format!(
            "`iostat -x -y 1 60 {disk}`: sixty one-second samples show whether throughput is \
             pinned; `aws ec2 describe-volumes` or your provider's equivalent shows the \
             provisioned limit"
        ),
        "use a larger tier, or fewer and larger I/Os; also check the instance's own limit",
    ]);
}
