//! Sequential synchronous writes each wait for a full revolution of the platter.
//!
//! ## Accuses
//! The write pattern of the program, not the disk. It waits for each write before it submits the
//! next; when that arrives, its sector has just passed under the head and returns one revolution
//! later.
//!
//! ## Why it matters
//! A healthy disk then does 120 writes per second at 7200 rpm, whatever their size, although it
//! could transfer a hundred megabytes. The disk is replaced in vain.
//!
//! ## Needs
//! The latency of each write, or a histogram with exact mean and minimum. A disk with its write
//! cache off. Twenty writes or more.
//!
//! ## Rule
//! No write takes less than one revolution, at least 85 % take a whole number of revolutions to
//! within 3 %, and the revolution is within 0.6 % of a standard spindle speed. With individual
//! I/Os, they must also be one at a time and sequential; there the time between completions is
//! tested, too, because the sector is closer for a host that needs a moment before its next write.
//! At least 75 % must then be whole revolutions after one of the two previous completions, and
//! writes must wait for 70 % of the time.
//!
//! A probe of iowhy reports itself that its sequential writes, one at a time, took whole
//! revolutions; then writes faster than half a revolution are allowed, too.
//!
//! With averages only a suspicion: writes alone, of 64 KiB or less, about one in flight, latency
//! and time per completion both within 4 % of a revolution.
//!
//! ## Wrong if
//! A timer causes the steps (4 ms is a revolution at 15000 rpm), or the writes are not sequential.
//!
//! ## Next step
//! Submit the next write before the previous one completes, write larger blocks, use group commit,
//! or use a write cache with power-loss protection.

use iowhy_model::{Bound, DeviceId, Evidence, Finding, Forecast, Level, Nanos, Op, Unit, Verdict};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::groups::Group;
use crate::analysis::samples::{HistogramSample, IntervalSample};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::facts::disk_names;
use crate::facts::probe_listing::{ProbeListing, Revolutions};
use crate::measures::ladder::SPEEDS_RPM;
use crate::measures::missed_revolution::{self, MissedRevolution};
use crate::measures::service;
use crate::measures::spread;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadMissedRevolution,
    summary: "Sequential synchronous writes each wait for a full revolution",
    manual: iowhy_model::manual!("load_missed_revolution.rs"),
    needs: Needs {
        level: Level::B,
        sure_from: Level::C,
        seconds: 10,
        what: "the latency of each write",
    },
    explains: &[Verdict::DeviceSlow, Verdict::DeviceRetry, Verdict::LoadSmallSync],
    rule: Rule::Detect(detect),
};

/// Writes needed (docs/METHOD.md, 5 Missed revolution: MCC 0.95 at 20 events).
const WRITES: u64 = 20;
/// Confidence when all clauses hold: that MCC, and the 0.99 reached at 100 events.
const AT_20: f64 = 0.95;
const AT_100: f64 = 0.99;
/// Minimum share at whole revolutions, and how close the revolution must be to a standard one
/// (docs/METHOD.md, 5 Missed revolution).
const ON_REVOLUTION: f64 = 0.85;
const NEAR_STANDARD: f64 = 0.006;
/// How near a whole number of revolutions counts as one (docs/METHOD.md, 5 Missed revolution), in
/// revolutions.
const NEAR_REVOLUTION: f64 = 0.03;
/// Share of the time in which a write waits, if the next one follows at once.
const MOSTLY_WAITS: f64 = 0.7;
/// A completion this many usual intervals after the last one ends a pause of the program.
const PAUSE_INTERVALS: f64 = 4.0;
/// A write needs its own time under the head besides the revolution: the time of a disk of 60 MB/s
/// (the slow end of its class) is not counted as lost.
const BYTES_PER_MS: f64 = 60_000.0;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let histograms =
        analysis.histograms.iter().filter_map(|sample| from_histogram(analysis, sample));
    let traces = analysis.traces.iter().flat_map(|trace| from_trace(analysis, trace));
    let rows = analysis.rows_by_listing();
    let averages = rows.iter().filter_map(|rows| from_rows(analysis, rows));
    let mut found: Vec<Finding> = histograms.chain(traces).chain(averages).collect();
    for probed in ProbeListing::all(analysis.recording) {
        let seen = |known: &Finding| known.subject.listings.contains(&probed.listing);
        if !found.iter().any(seen) {
            found.extend(
                probed
                    .revolutions()
                    .and_then(|revolutions| from_probe(analysis, &probed, revolutions)),
            );
        }
    }
    found
}

/// In a trace no write may be faster than half a revolution, which shows that writes are sequential
/// and one at a time. On a busy machine some are faster: after a late completion the next write
/// waits less. A probe knows that its writes were sequential and one at a time, so it is exempt.
fn from_probe(
    analysis: &Analysis,
    probed: &ProbeListing,
    revolutions: Revolutions,
) -> Option<Finding> {
    let rpm = 60_000.0 / revolutions.revolution_ms;
    let nearest = |a: &f64, b: &f64| (a - rpm).abs().total_cmp(&(b - rpm).abs());
    let standard_rpm = SPEEDS_RPM.into_iter().min_by(nearest)?;
    let missed = MissedRevolution {
        n: revolutions.n,
        revolution_ms: revolutions.revolution_ms,
        rpm,
        standard_rpm,
        deviation: rpm / standard_rpm - 1.0,
        on_revolution_share: revolutions.share,
        below_share: 0.0,
        mean_revolutions: (revolutions.mean_ms / revolutions.revolution_ms).max(1.0),
        most: ON_REVOLUTION,
        holds: revolutions.share >= ON_REVOLUTION,
    };
    let mut evidence = facts_of(analysis, probed.listing, &missed, 0.0);
    let printed = analysis.printed(probed.listing, revolutions.n);
    evidence.push(printed.ms("mean latency", revolutions.mean_ms));
    let event = analysis.recording.listings.get(probed.listing)?.events.first();
    let bytes = event.and_then(|event| event.bytes);
    let subject = (probed.device, name(analysis, probed.device), probed.listing);
    finding(subject, &missed, revolutions.mean_ms, bytes, evidence)
}

/// Averages in which each write takes about a revolution: only a suspicion, because a mean is no
/// step pattern.
fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    let usable: Vec<&&IntervalSample> = rows.iter().filter(|row| row.per_s() >= 1.0).collect();
    let turning: Vec<(f64, &&IntervalSample)> =
        usable.iter().filter_map(|row| Some((row.revolution_per_write()?, *row))).collect();
    let (rpm, row) = turning.first()?;
    let requests: f64 = turning.iter().map(|(_, row)| row.requests()).sum();
    if 2 * turning.len() < usable.len()
        || requests < WRITES as f64
        || !analysis.may_rotate(row.device)
        || disk_names::is_stacked(&row.disk)
    {
        return None;
    }
    let n = turning.len() as u64;
    let (wait_ms, revolution_ms) = (row.await_ms()?, 60_000.0 / rpm);
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.sentence = format!(
        "{} completes one write per revolution of a {rpm:.0}-rpm platter ({}), one at a time: this \
         is the pattern of synchronous writes with the write cache off; averages cannot show more",
        phrase::disk(&row.disk),
        phrase::ms(revolution_ms)
    );
    let near = Bound::Between(revolution_ms * 0.96, revolution_ms * 1.04);
    let printed = analysis.printed(row.listing, n);
    let estimated = analysis.estimated(row.listing, n);
    let computed = analysis.computed(row.listing, n);
    finding.evidence = vec![
        printed.ms("mean latency of a write", wait_ms).held(near),
        computed.ms("time per completion", 1e3 / row.per_s()).held(near),
        computed.requests("in flight, rate times latency", row.per_s() * wait_ms / 1e3),
        estimated.ms("a revolution", revolution_ms),
    ];
    finding.assume(SHAPE_ALONE, "averages of one revolution per write");
    finding.explained_share = 0.9;
    finding.refuted_by = lines(&[
        "a log of individual writes (`iowhy record`, biosnoop) shows no whole revolutions",
        "the device has no platter: `lsblk -d -o NAME,ROTA,MODEL`",
    ]);
    finding.next_step = lines(&[
        &format!("{}: are the waits whole revolutions?", phrase::capture(&row.disk, 30)),
        "find the process that calls fsync or opens with O_SYNC; use group commit, or a write \
         cache with power-loss protection",
    ]);
    Some(finding)
}

fn from_histogram(analysis: &Analysis, sample: &HistogramSample) -> Option<Finding> {
    let histogram = &sample.known.histogram;
    let (mean_ns, true) = histogram.mean_ns()? else { return None };
    if sample.known.op.is_some_and(|op| op != Op::Write)
        || !analysis.may_rotate(sample.known.device)
    {
        return None;
    }
    let buckets: Vec<(f64, f64, u64)> =
        histogram.filled().map(|(low, high, n)| (low as f64 / 1e6, high as f64 / 1e6, n)).collect();
    let (mean_ms, min_ms) = (mean_ns / 1e6, histogram.min_ns? as f64 / 1e6);
    let missed = missed_revolution::from_histogram(&buckets, mean_ms, min_ms)?;
    let mut evidence = facts_of(analysis, sample.listing, &missed, 0.0);
    let printed = analysis.printed(sample.listing, missed.n);
    evidence.push(printed.ms("mean latency", mean_ms));
    evidence.push(printed.ms("smallest latency", min_ms));
    for (low, high, n) in buckets {
        let revolutions = ((low + high) / 2.0 / missed.revolution_ms).round();
        let at = revolutions * missed.revolution_ms;
        let off = (low - at).max(at - high).max(0.0);
        if revolutions >= 1.0 && off <= NEAR_REVOLUTION * missed.revolution_ms {
            let what =
                format!("writes of {} ({})", whole_revolutions(revolutions), bucket(low, high));
            evidence.push(printed.count(&what, n as f64));
        }
    }
    let size = sample.known.bytes;
    let subject = (sample.known.device, sample.disk.as_str(), sample.listing);
    finding(subject, &missed, mean_ms, size, evidence)
}

fn from_trace(analysis: &Analysis, trace: &DeviceTrace) -> Vec<Finding> {
    if !analysis.may_rotate(trace.device) || trace.spans.len() < WRITES as usize {
        return Vec::new();
    }
    let alone = service::in_flight(&trace.spans).iter().filter(|n| **n <= 1).count();
    if (alone as f64) < ON_REVOLUTION * trace.spans.len() as f64 {
        return Vec::new();
    }
    trace
        .groups
        .iter()
        .filter(|(group, _)| group.op == Op::Write && group.sequential == Some(true))
        .filter_map(|(group, _)| {
            let services_ms: Vec<f64> = group
                .members
                .iter()
                .filter_map(|place| trace.services_ns.get(*place).map(|ns| ns / 1e6))
                .collect();
            let mean_ms = services_ms.iter().sum::<f64>() / services_ms.len().max(1) as f64;
            let advance_ms = f64::from(group.bytes) / BYTES_PER_MS;
            let by_wait =
                missed_revolution::missed_revolution(&services_ms).filter(|missed| missed.holds);
            let missed = by_wait.or_else(|| {
                missed_revolution::from_completions(&completions(trace, group)?, advance_ms)
            })?;
            let mut evidence = facts_of(analysis, trace.listing, &missed, advance_ms);
            let computed = analysis.computed(trace.listing, missed.n);
            evidence.push(computed.ms("mean latency", mean_ms));
            let subject = (trace.device, trace.disk.as_str(), trace.listing);
            finding(subject, &missed, mean_ms, Some(group.bytes), evidence)
        })
        .collect()
}

/// Moments of completion, ms, of writes that follow each other at once; pauses of the program are
/// removed. If the program pauses briefly before its next write, the sector is that much closer:
/// the wait is then shorter than a revolution, and only the interval between completions is a whole
/// one.
fn completions(trace: &DeviceTrace, group: &Group) -> Option<Vec<f64>> {
    let members = group.members.iter().filter_map(|place| trace.spans.get(*place));
    let seen: Vec<(i64, f64)> = members.map(|v| (v.completed_ns, v.latency_ns() / 1e6)).collect();
    let beats: Vec<f64> =
        seen.windows(2).map(|pair| (pair[1].0.saturating_sub(pair[0].0)) as f64 / 1e6).collect();
    let longest = PAUSE_INTERVALS * spread::median(&beats)?;
    let (mut at, mut waited) = (0.0, 0.0);
    let mut completed = vec![at];
    for (beat, (_, wait)) in beats.iter().zip(seen.iter().skip(1)) {
        if *beat <= longest {
            at += beat;
            waited += wait;
            completed.push(at);
        }
    }
    (waited >= MOSTLY_WAITS * at).then_some(completed)
}

fn facts_of(
    analysis: &Analysis,
    listing: usize,
    missed: &MissedRevolution,
    advance_ms: f64,
) -> Vec<Evidence> {
    let near = missed.standard_rpm * NEAR_STANDARD;
    // The interval includes the block's own transfer time.
    let advance = missed.standard_rpm * advance_ms / missed.revolution_ms;
    let (low, high) = (missed.standard_rpm - near - advance, missed.standard_rpm + near);
    let computed = analysis.computed(listing, missed.n);
    let estimated = analysis.estimated(listing, missed.n);
    vec![
        estimated.ms("one revolution", missed.revolution_ms),
        estimated
            .of("matching spindle speed", missed.rpm, Unit::Rpm)
            .held(Bound::Between(low, high)),
        computed
            .share("share of writes that take whole revolutions", missed.on_revolution_share)
            .above(missed.most),
        computed.of("revolutions per write, mean", missed.mean_revolutions, Unit::Revolutions),
    ]
}

fn finding(
    (device, name, listing): (DeviceId, &str, usize),
    missed: &MissedRevolution,
    mean_ms: f64,
    bytes: Option<u32>,
    evidence: Vec<Evidence>,
) -> Option<Finding> {
    if !missed.holds || missed.n < WRITES {
        return None;
    }
    let needed_ms = bytes.map_or(0.0, f64::from) / BYTES_PER_MS;
    let mut finding = new_finding(DETECTOR.verdict, Some(device), vec![listing]);
    let size = bytes.map(|bytes| format!(" of {}", phrase::bytes(f64::from(bytes))));
    finding.sentence = format!(
        "each synchronous write{} to {} waits one revolution, {} at {}: its sector has just passed \
         the head when the previous write completes",
        size.unwrap_or_default(),
        phrase::disk(name),
        phrase::ms(missed.revolution_ms),
        phrase::rpm(missed.rpm)
    );
    finding.evidence = evidence;
    let worth = if missed.n >= 100 { AT_100 } else { AT_20 };
    finding.assume(worth, format!("{} writes on whole revolutions", missed.n));
    finding.explained_share =
        (missed.mean_revolutions * missed.revolution_ms - needed_ms) / mean_ms;
    finding.refuted_by = lines(&[
        "the latency is the same on a device without platters: then a timer causes the steps",
        "random writes take less than a revolution on average",
        "with two writes in flight each still waits a revolution",
    ]);
    finding.next_step = lines(&[
        "submit the next write before the previous one completes: `fio --ioengine=libaio \
         --iodepth=4 --direct=1 --rw=write --name=try --filename=FILE` shows the gain",
        "write larger blocks, or use group commit",
        "a write cache with power-loss protection removes the wait; one without it risks data on \
         power loss",
    ]);
    // In larger requests a write takes only its transfer time, without a revolution per command.
    finding.forecast = bytes.map(|bytes| {
        let mean = Nanos::from_ms(f64::from(bytes) / BYTES_PER_MS + 0.2);
        let assuming = "writes are queued in advance, so that no sector is missed";
        Forecast::of_means(Nanos::from_ms(mean_ms), mean, assuming)
    });
    Some(finding)
}

fn name<'a>(analysis: &'a Analysis<'_>, device: DeviceId) -> &'a str {
    &analysis.recording.device_of(device).name
}

fn whole_revolutions(revolutions: f64) -> String {
    if revolutions == 1.0 {
        "one revolution".to_string()
    } else {
        format!("{revolutions:.0} revolutions")
    }
}

fn bucket(low: f64, high: f64) -> String {
    format!("{} to {}", phrase::ms(low), phrase::ms(high))
}
