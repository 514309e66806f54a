//! A control group's limit throttles I/O above the disk.
//!
//! ## Accuses
//! A configured limit: io.max, io.latency or io.cost of a control group, or a throttle of a
//! container. The disk is idle and fast; the program waits.
//!
//! ## Why it matters
//! A bio that is throttled by io.max has not reached the block layer's counters: iostat shows a
//! fast, half idle disk, and the program still hangs. Looking at the disk alone does not find the
//! cause.
//!
//! ## Needs
//! The limits (`grep -r . /sys/fs/cgroup --include=io.max`) with rates or individual I/Os; or a
//! trace with the arrival of each bio and the start of its request; pressure stall information adds
//! to it.
//!
//! ## Rule
//! One of the following is true.
//!
//! The rate of the limited operation is between 10 % below and 5 % above its limit (or the whole
//! I/Os that the kernel allows in each 100 ms) in more than half of the seconds with any I/O, or
//! within one I/O of it if that is more and the mean agrees, and never far above it, while the disk
//! is busy for less than 90 % of the time.
//!
//! Bios spend more than half of their time waiting for a request (B2Q), and io.latency or io.cost
//! is set or the group is named, although the host's queue is not full.
//!
//! A limit is set, tasks wait for I/O more than 20 % of the time, and the disk is busy for less
//! than half of it.
//!
//! A probe of iowhy reports that its rate was within 5 % of a limit that it had read, and that it
//! waited before the device.
//!
//! ## Wrong if
//! The wait is for a free request because the queue is full (`cfg.scheduler`), or the program
//! limits itself to that rate.
//!
//! ## Next step
//! Raise or remove the limit of the named group, and time the program again.

use iowhy_model::{
    Bound, Clause, DeviceId, Evidence, Finding, How, Level, LimitKind, Name, Origin, Verdict, key,
};

use crate::analysis::Analysis;
use crate::analysis::requests::{self, Requests};
use crate::analysis::samples::IntervalSample;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::{self, PRIOR_OF_CAP};
use crate::evidence::forecast::from_means;
use crate::evidence::programs;
use crate::facts::Limit;
use crate::facts::probe_listing::ProbeListing;
use crate::measures::limit::{self, RateAtLimit};
use crate::measures::spans::Spans;
use crate::measures::windows::Windows;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::CapCgroup,
    summary: "A control group's limit throttles I/O above the disk",
    manual: iowhy_model::manual!("cap_cgroup.rs"),
    needs: Needs {
        level: Level::D,
        sure_from: Level::E,
        seconds: 30,
        what: "the limits of the control groups, and the arrival time of each bio",
    },
    explains: &[
        Verdict::CapVolume,
        Verdict::DeviceSlow,
        Verdict::LayerAbove,
        Verdict::LoadSaturated,
        Verdict::LoadSmallSync,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// Weight of a rate pinned at the configured limit, in nats: as in `cap.volume`, and the
/// limit is known to the digit.
const PINNED: f64 = 5.4;
/// Weight of a limit on this device if no rate was compared with it, in nats (docs/METHOD.md, 11
/// Confidence: facts add 2 to 3).
const LIMIT_SET: f64 = 3.0;
/// A probe whose rate equals the limit that it read, and whose wait was before the device: wrong
/// only if the device's own rate happens to be that number (a choice).
const PROBED: f64 = 0.95;
/// How close to the limit such a rate is (crates/probe, held.rs: slices of the kernel).
const TOLERANCE: f64 = 0.05;
/// Bounds of the rule (docs/METHOD.md, 10 Rules; /proc/pressure some: tasks wait a fifth of the
/// time).
const WAITS: f64 = 0.5;
const IDLE: f64 = 0.5;
const NOT_FULL: f64 = 0.9;
const PRESSURE: f64 = 0.2;
/// Requests or samples that decide (docs/METHOD.md, 10 Rules).
const MIN_REQUESTS: usize = 30;
const SAMPLES: usize = 5;
/// A second, the sample that traces are laid into: io.max refills its budget far more often
/// (kernel, block/blk-throttle.c: slices of 20 to 100 ms).
const SECOND_NS: i64 = 1_000_000_000;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traced = analysis.requests.iter().filter_map(|requests| from_events(analysis, requests));
    let rows = analysis.rows_by_listing().into_iter().filter_map(|rows| from_rows(analysis, &rows));
    let probed =
        ProbeListing::all(analysis.recording).filter_map(|probed| from_probe(analysis, &probed));
    let runs = programs::held_by_limit(analysis, DETECTOR.verdict);
    traced.chain(rows).chain(runs).chain(probed).collect()
}

/// One device in one listing, and how busy it was.
struct Place<'s> {
    listing: usize,
    device: DeviceId,
    disk: &'s str,
    busy: f64,
    n: u64,
}

/// A limit and the rate compared with it.
struct Pin<'a> {
    limit: Limit<'a>,
    /// The rate that the kernel grants for the limit.
    granted: f64,
    held: RateAtLimit,
}

impl<'a> Pin<'a> {
    /// Compares rates with a limit, and with what the kernel grants for it.
    fn all(limit: Limit<'a>, rates: &[f64], grain: f64) -> Vec<Pin<'a>> {
        let granted: Vec<f64> = match limit.kind {
            LimitKind::Riops | LimitKind::Wiops => limit::granted(limit.value).collect(),
            _ => vec![limit.value],
        };
        let pin = |granted| {
            limit::held_at(rates, granted, grain).map(|held| Pin { limit, granted, held })
        };
        granted.into_iter().filter_map(pin).collect()
    }
}

fn from_events(analysis: &Analysis, requests: &Requests) -> Option<Finding> {
    let busy = Spans::of(requests.events.iter().filter_map(|event| requests::on_device(event)));
    let place = Place {
        listing: requests.listing,
        device: requests.device,
        disk: &requests.disk,
        busy: busy.total_ns() / requests.span_ns(),
        n: requests.events.len() as u64,
    };
    let limits = analysis.about(place.listing, place.disk).limits();
    let pins = limits.iter().flat_map(|limit| {
        let known = rates_of(analysis, requests, limit);
        known.map(|(rates, grain)| Pin::all(*limit, &rates, grain)).unwrap_or_default()
    });
    strongest(analysis, &place, pins)
        .or_else(|| by_arrival(analysis, &place, requests, &limits))
        .or_else(|| by_pressure(analysis, &place, &limits))
}

/// A probe throttled by a limit: it has read the limit, and it knows the device's own latency.
fn from_probe(analysis: &Analysis, probed: &ProbeListing) -> Option<Finding> {
    let by = probed.held_by()?;
    let unit = by.kind.unit();
    let mut finding = new_finding(DETECTOR.verdict, Some(probed.device), vec![probed.listing]);
    let device = by.device_ms.map(|ms| {
        format!(
            "; the device itself accounts for {} of the {}",
            phrase::ms(ms),
            phrase::ms(by.caller_ms)
        )
    });
    let limit = match by.kind.is_of_bytes() {
        true => phrase::rate(by.bound),
        false => phrase::iops(by.bound),
    };
    finding.sentence = format!(
        "a control group throttles the probe to {}; its limit is {limit} ({} in `{}`){}",
        phrase::iops(by.iops),
        by.kind.name(),
        by.file,
        device.unwrap_or_default()
    );
    let computed = analysis.computed(probed.listing, by.n);
    let of_group = computed.over(1).of("limit of the control group", by.bound, unit);
    let stated = Origin { format: String::new(), ..Origin::of(by.file) };
    let on_limit = Bound::Between(by.bound * (1.0 - TOLERANCE), by.bound * (1.0 + TOLERANCE));
    finding.evidence = vec![
        Evidence { how: How::Reported, origin: stated, ..of_group },
        computed.of("completed per second", by.done, unit).held(on_limit),
    ];
    if let Some(asked) = by.asked {
        let asked = computed.per_s("requested per second", asked);
        finding.evidence.push(asked);
    }
    let caller =
        analysis.printed(probed.listing, by.n).ms("latency for the caller, mean", by.caller_ms);
    finding.evidence.push(caller);
    if let Some(ms) = by.device_ms {
        let line = computed.ms("latency of the device itself, mean", ms);
        let line = Evidence { how: How::Sampled, origin: Origin::of("/sys/block stat"), ..line };
        finding.evidence.push(line.below(by.caller_ms / 2.0));
    }
    finding.assume(PROBED, "measured by a probe in the group");
    finding.explained_share = by.device_ms.map_or(0.9, |ms| 1.0 - ms / by.caller_ms.max(1e-9));
    finding.refuted_by =
        lines(&["the rate stays the same outside the control group, or with a higher limit"]);
    finding.next_step = lines(&[
        &format!(
            "raise the limit in `{}` (systemd: `IOReadIOPSMax=` and related settings), or send \
             fewer requests",
            by.file
        ),
        "run the same probe outside the control group: it shows the rate of the device",
    ]);
    Some(finding)
}

/// One-second rates in the unit of a limit, and the amount of one I/O: those of its group, if the
/// trace has groups.
fn rates_of(analysis: &Analysis, requests: &Requests, limit: &Limit) -> Option<(Vec<f64>, f64)> {
    let op = limit.kind.op()?;
    let start = requests.events.first()?.completed?.ns();
    let windows = Windows::of(start, requests.end_ns(), SECOND_NS)?;
    let names = |name: Name| analysis.recording.text(name);
    let same = |name: Option<Name>| match (name, limit.group) {
        (Some(name), Some(group)) => names(name).trim_matches('/') == group.trim_matches('/'),
        _ => true,
    };
    let known = requests.of(op).filter(|event| same(event.cgroup)).filter_map(|event| {
        let weight = if limit.kind.is_of_bytes() { f64::from(event.bytes?) } else { 1.0 };
        Some((event.completed?.ns(), weight))
    });
    let known: Vec<(i64, f64)> = known.collect();
    let mean = known.iter().map(|(_, weight)| weight).sum::<f64>() / known.len().max(1) as f64;
    Some((windows.rates(known.into_iter()), mean * 1e9 / SECOND_NS as f64))
}

fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    let first = rows.first()?;
    let active: Vec<&&IntervalSample> = rows.iter().filter(|row| row.per_s() > 0.0).collect();
    let busy: f64 = active.iter().filter_map(|row| row.interval.busy).sum();
    let place = Place {
        listing: first.listing,
        device: first.device,
        disk: &first.disk,
        busy: busy / active.len().max(1) as f64,
        n: rows.len() as u64,
    };
    let limits = analysis.about(place.listing, place.disk).limits();
    let pins = limits.iter().flat_map(|limit| {
        let Some(op) = limit.kind.op() else { return Vec::new() };
        let rates: Vec<f64> = rows
            .iter()
            .filter_map(|row| row.interval.of(op))
            .filter_map(|rates| match limit.kind.is_of_bytes() {
                true => rates.bytes_per_s,
                false => Some(rates.ios_per_s),
            })
            .collect();
        Pin::all(*limit, &rates, grain(rows, limit))
    });
    strongest(analysis, &place, pins).or_else(|| by_pressure(analysis, &place, &limits))
}

/// The amount of one I/O in these rows, in the unit of the limit; 0 if unknown.
fn grain(rows: &[&IntervalSample], limit: &Limit) -> f64 {
    let Some(op) = limit.kind.op() else { return 0.0 };
    let (mut ios, mut weight, mut lengths, mut n) = (0.0, 0.0, 0.0, 0.0);
    for row in rows {
        let (Some(rates), Some(length)) = (row.interval.of(op), row.interval.length) else {
            continue;
        };
        ios += rates.ios_per_s;
        weight += rates.bytes_per_s.unwrap_or_default();
        lengths += length.ns() as f64 / 1e9;
        n += 1.0;
    }
    let length_s = lengths / f64::max(n, 1.0);
    let of_one = if limit.kind.is_of_bytes() { weight / ios } else { 1.0 };
    let grain = of_one / length_s;
    if grain.is_finite() { grain } else { 0.0 }
}

/// The limit that most samples are at.
fn strongest<'a>(
    analysis: &Analysis,
    place: &Place,
    pins: impl Iterator<Item = Pin<'a>>,
) -> Option<Finding> {
    let pin = pins
        .filter(|pin| pin.held.active >= SAMPLES && pin.held.share > WAITS && !pin.held.exceeded)
        .max_by(|a, b| a.held.share.total_cmp(&b.held.share))
        .filter(|_| place.busy < NOT_FULL)?;
    let Pin { limit, granted, held: found } = &pin;
    let n = found.active as u64;
    let unit = limit.kind.unit();
    let mut finding = new_finding(DETECTOR.verdict, Some(place.device), vec![place.listing]);
    finding.sentence = format!(
        "{} limits {} to {} ({}), reached in {} of the seconds; the disk is busy only {} of the \
         time",
        group_of(limit),
        phrase::disk(place.disk),
        reported(limit),
        limit.kind.name(),
        phrase::percent(found.share),
        phrase::percent(place.busy)
    );
    let computed = analysis.computed(place.listing, n);
    finding.evidence = vec![
        analysis.stated(&limit.reading).of(
            &format!("limit ({})", limit.kind.name()),
            limit.value,
            unit,
        ),
        computed.of("rate, median", found.median, unit),
        computed.share("seconds at the limit", found.share).above(WAITS),
        computed.ratio("highest rate, divided by the limit", found.most),
        computed
            .over(place.n)
            .share("busy share of the disk", place.busy)
            .below(NOT_FULL)
            .weighs_at_most(1.0),
    ];
    finding.evidence.extend(pressure(analysis, place));
    let is_rounded = *granted != limit.value;
    if is_rounded {
        let what = "whole I/Os that the kernel allows per 100 ms, as a rate per second";
        finding.evidence.push(computed.of(what, *granted, unit));
    }
    // One of three rates fits sooner by chance than one.
    let pinned = if is_rounded { PINNED - 3.0_f64.ln() } else { PINNED };
    let clauses = [Clause::fixed("throughput pinned at the limit", pinned)];
    confidence::believe(&mut finding, PRIOR_OF_CAP, clauses);
    // The wait was not measured; the limit causes its share in the seconds in which it applied.
    finding.explained_share = found.share;
    advise(&mut finding, limit.group, Some(limit), place.disk);
    Some(finding)
}

/// Bios that wait for a request: io.latency and io.cost delay them there.
fn by_arrival(
    analysis: &Analysis,
    place: &Place,
    requests: &Requests,
    limits: &[Limit],
) -> Option<Finding> {
    let (mut before, mut whole, mut n, mut longest) = (0.0, 0.0, 0usize, Vec::new());
    let mut payer: Option<Name> = None;
    for event in &requests.events {
        let (Some(arrived), Some((start, end))) = (event.arrived, requests::stretch(event)) else {
            continue;
        };
        let wait = (start - arrived.ns().min(start)) as f64;
        before += wait;
        whole += (end - arrived.ns().min(start)) as f64;
        n += 1;
        longest.push((arrived.ns(), end));
        payer = payer.or(event.cgroup.filter(|_| wait > 0.0));
    }
    let share = if whole > 0.0 { before / whole } else { 0.0 };
    let tags = analysis.about(place.listing, place.disk).number(key::QUEUE_NR_REQUESTS);
    let started = requests.events.iter().filter_map(|event| requests::stretch(event));
    let started: Vec<(i64, i64)> = started.collect();
    let outstanding = crate::measures::spans::open_at_start(&started, &started);
    let most = outstanding.into_iter().max().unwrap_or(0);
    let full = tags.is_some_and(|(tags, _)| f64::from(most) >= NOT_FULL * tags);
    let known = !limits.is_empty() || payer.is_some();
    if n < MIN_REQUESTS || share < WAITS || full || !known || place.busy > NOT_FULL {
        return None;
    }
    let group = limits.first().and_then(|limit| limit.group);
    let group = group.or(payer.map(|name| analysis.recording.text(name)));
    let (mean, after) = (before / n as f64, (whole - before) / n as f64);
    let mut finding = new_finding(DETECTOR.verdict, Some(place.device), vec![place.listing]);
    finding.sentence = format!(
        "I/Os for {} wait {} on average before they become a request (B2Q) and take {} after that: \
         throttled by {}",
        phrase::disk(place.disk),
        phrase::ns(mean),
        phrase::ns(after),
        group.map_or("a control group".to_string(), |group| format!("the control group `{group}`"))
    );
    let computed = analysis.computed(place.listing, n as u64);
    finding.evidence = vec![
        computed.ms("mean wait of a bio for its request (B2Q)", mean / 1e6),
        computed.ms("mean time from request to completion (Q2C)", after / 1e6),
        computed.share("share of B2Q in the total", share).above(WAITS).weighs(),
        computed.requests("most requests in flight at once", f64::from(most)),
        computed.over(place.n).share("busy share of the disk", place.busy).below(NOT_FULL),
    ];
    finding.evidence.extend(limits.first().map(|limit| {
        let unit = limit.kind.unit();
        let what = format!("limit ({})", limit.kind.name());
        analysis.stated(&limit.reading).of(&what, limit.value, unit)
    }));
    finding.evidence.extend(pressure(analysis, place));
    let set = if limits.is_empty() { 1.0 } else { LIMIT_SET };
    let clauses = [
        Clause::fixed("a limit of the group", set),
        confidence::below("busy share of the disk", place.busy, IDLE),
    ];
    confidence::believe(&mut finding, PRIOR_OF_CAP, clauses);
    finding.explained_share = share;
    let assuming = "the group is not throttled, and the disk responds as it does now".to_string();
    finding.forecast = from_means(mean + after, after, assuming);
    advise(&mut finding, group, None, place.disk);
    Some(finding)
}

/// A limit is set, tasks wait, and the disk has nothing to do: weak without the rate at the limit.
fn by_pressure(analysis: &Analysis, place: &Place, limits: &[Limit]) -> Option<Finding> {
    let limit = limits.first()?;
    let waiting = pressure(analysis, place)?;
    if waiting.amount.value < PRESSURE || place.busy > IDLE {
        return None;
    }
    let mut finding = new_finding(DETECTOR.verdict, Some(place.device), vec![place.listing]);
    finding.sentence = format!(
        "tasks wait for I/O {} of the time, but {} is busy only {} of it; {} limits it",
        phrase::percent(waiting.amount.value),
        phrase::disk(place.disk),
        phrase::percent(place.busy),
        group_of(limit)
    );
    let unit = limit.kind.unit();
    let what = format!("limit ({})", limit.kind.name());
    let clauses = [
        Clause::fixed("a limit of the group", LIMIT_SET),
        confidence::above("I/O pressure", waiting.amount.value, PRESSURE).at_most(1.0),
    ];
    finding.evidence = vec![
        waiting,
        analysis
            .computed(place.listing, place.n)
            .share("busy share of the disk", place.busy)
            .below(IDLE)
            .weighs_at_most(1.0),
        analysis.stated(&limit.reading).of(&what, limit.value, unit),
    ];
    confidence::believe(&mut finding, PRIOR_OF_CAP, clauses);
    finding.explained_share = 1.0 - place.busy;
    advise(&mut finding, limit.group, Some(limit), place.disk);
    Some(finding)
}

/// How long tasks wait for I/O, if the kernel's pressure values are known.
fn pressure(analysis: &Analysis, place: &Place) -> Option<Evidence> {
    let about = analysis.about(place.listing, place.disk);
    let (share, reading) = about.machine_number(key::PRESSURE_AVG10.of("io.some"))?;
    let what = "time in which a task waits for I/O (pressure, some, 10 s)";
    Some(analysis.stated(&reading).share(what, share))
}

fn group_of(limit: &Limit) -> String {
    match limit.group {
        Some(group) => format!("the control group `{group}`"),
        None => "a control group".to_string(),
    }
}

fn reported(limit: &Limit) -> String {
    match limit.kind.is_of_bytes() {
        true => phrase::rate(limit.value),
        false => phrase::iops(limit.value),
    }
}

/// What to try: version 1 of control groups has a file for each limit, version 2 one for all.
fn advise(finding: &mut Finding, group: Option<&str>, limit: Option<&Limit>, disk: &str) {
    let numbers = format!("$(cat /sys/block/{disk}/dev)");
    finding.refuted_by = lines(&["the program is just as slow without the limit"]);
    if let Some(limit) = limit.filter(|limit| limit.is_version_1) {
        let file = limit.reading.read_from();
        finding.next_step = lines(&[
            &format!("lift it for a minute and time the program: `echo \"{numbers} 0\" > {file}`"),
            &format!("then set it again: `echo \"{numbers} {:.0}\" > {file}`", limit.value),
            "raise it where it is configured: `systemctl show UNIT -p BlockIOReadBandwidth -p \
             IOReadIOPSMax`, or the container's `--device-read-iops`",
        ]);
        return;
    }
    finding.refuted_by.extend(lines(&[
        "`io.stat` of the group does not increase while the program waits: then it waits elsewhere",
    ]));
    let group = group.unwrap_or("GROUP");
    let folder = format!("/sys/fs/cgroup/{}", group.trim_start_matches('/'));
    finding.next_step = lines(&[
        &format!(
            "lift it for a minute and time the program: `echo \"{numbers} rbps=max wbps=max \
             riops=max wiops=max\" > {folder}/io.max`"
        ),
        &format!("`cat {folder}/io.max {folder}/io.stat {folder}/io.pressure`: before and after"),
        "raise it where it is configured: `systemctl show UNIT -p IOReadIOPSMax -p \
         IOWriteIOPSMax`, or the container's `--device-write-iops`",
    ]);
}
