//! The input contradicts itself.
//!
//! ## Accuses
//! The report. Two of its numbers cannot both be true, or cannot be for the same requests.
//!
//! ## Why it matters
//! A third number derived from two that disagree leads to replacing the wrong part. iowhy names the
//! numbers that it did not use.
//!
//! ## Needs
//! Any input with numbers that depend on each other: rate, latency and queue length (Little's
//! law), or count, mean and duration of a run.
//!
//! ## Rule
//! One of the following is true:
//!
//! - queue length and rate times latency differ by more than 10 % and more than rounding allows,
//!   unless for every two completions one more request was in flight than their waits imply: those
//!   did not complete in the interval;
//! - a printed size is not throughput divided by rate, allowing half a digit in each;
//! - all waits of a run add up to more than its duration times its maximum number in flight (one at
//!   a time, or depth times jobs; not tested if the number is unknown);
//! - a printed throughput is not size times count divided by time;
//! - one request is faster than any link;
//! - more than a million requests are in flight, or wait for more than an hour on average, as after
//!   a counter wrap;
//! - the device is busy all of the time in every row, with an excess in flight that is a whole
//!   number, as if the kernel's counter of requests in flight missed a completion;
//! - it was busy for more than 110 % of the time over all rows, or 130 % in a single row;
//! - the mean of a histogram and the averages of the same device in the same document differ by
//!   more than a factor of two, or two listings of averages do at equal queue depth;
//! - a test wrote into the page cache, and the same test with its data on the medium is three times
//!   slower or more; or each of its calls moved a kilobyte at most and took less than 50 µs;
//! - the same read of one device ran six times faster or more another time, at 500 MB/s or more;
//! - programs wrote ten times as much as the disks did in the same seconds, at 100 MB/s or more;
//! - a round of a page cleaner that had nothing to write took more than an hour;
//! - background work of an array has more than ten years left.
//!
//! The reported share is not of latency: it is the part of the reported number that cannot be
//! trusted.
//!
//! ## Wrong if
//! The run was not synchronous, or the two listings cover different times.
//!
//! ## Next step
//! Measure again with one tool that sees every I/O.

use iowhy_model::{
    Bound, DeviceId, Distribution, Fact, Finding, Level, Sampling, Source, Stage, Unit, Verdict,
    key,
};

use crate::analysis::audit::{
    Absurd, Contradiction, Inconsistency, LINK_BYTES_PER_S, LITTLE_TOLERANCE, LONGEST_WAIT_S,
};
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::{HistogramSample, IntervalSample};
use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::arrays;
use crate::evidence::askers;
use crate::evidence::builder;
use crate::evidence::builder::{computed, estimated, lines, new_finding, read_off};
use crate::evidence::candidates;
use crate::evidence::page_cache;
use crate::evidence::runs;
use crate::facts::disk_names;
use crate::facts::reading::FactReading;
use crate::measures::service::ServiceSpan;
use crate::measures::spread;
use crate::phrase;

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::ReportInconsistent,
    summary: "The input contradicts itself",
    manual: iowhy_model::manual!("report_inconsistent.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::A,
        seconds: 30,
        what: "numbers that depend on each other",
    },
    explains: &[Verdict::DeviceSlow],
    rule: Rule::Detect(detect),
};

/// Arithmetic is certain; the remaining doubt is that the listing was misread.
const CERTAIN: f64 = 0.95;
/// Lines that are not an accident of copying, and what a listing without one usable line is worth.
const FEW_LINES: u64 = 3;
const UNUSABLE: f64 = 0.75;
/// Requests in flight beyond the completed ones may be flushes, which old kernels do not list.
const PHANTOM: f64 = 0.85;
/// Share of impossible lines from which on the others are in doubt too (a choice).
const MANY_IMPOSSIBLE: f64 = 0.1;
/// Below this number in flight a contradiction is a note, with this confidence, below the bar of a
/// verdict.
const MATTERS: f64 = 1.0;
const FAINT: f64 = 0.55;
/// Up to this factor one row of a kernel before 5.0, which has svctm, may be cut at its edges (a
/// choice).
const CUT: f64 = 2.0;
/// A program that wrote nothing for an hour: the machine was suspended or the program was stopped.
const AWAY: f64 = 0.85;
/// Two listings of one document may have watched different times.
const TWO_WINDOWS: f64 = 0.85;
/// How far a histogram's mean and the averages of the same device may differ (docs/METHOD.md, 9
/// Elasticity and averages).
const MEANS_APART: f64 = 2.0;
/// Of two listings from different times at most one covers the problem: half of the numbers cannot
/// be trusted.
const SIDE_NOTE: f64 = 0.5;

/// Requests whose mean is known to a fifth (docs/METHOD.md, 14 Counters: few requests).
const FEW_REQUESTS: f64 = 30.0;
/// Minimum rows for comparing their median, and how far two equal queues may differ (a choice).
const FEW_ROWS: usize = 3;
const AS_MUCH: f64 = 1.5;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let mut findings: Vec<Finding> = analysis
        .inconsistencies
        .iter()
        .filter_map(|inconsistency| finding(analysis, inconsistency))
        .collect();
    findings.extend(size_denied(analysis));
    findings.extend(means_apart(analysis));
    findings.extend(runs::cached(analysis, DETECTOR.verdict));
    findings.extend(page_cache::measured(analysis, DETECTOR.verdict));
    findings.extend(askers::into_memory(analysis, DETECTOR.verdict));
    findings.extend(arrays::absurd(analysis, DETECTOR.verdict));
    findings.extend(unusable(analysis));
    findings.extend(suspended(analysis));
    findings
}

/// Times that a program took for a wait though it had nothing to write: longer than any disk is
/// waited for, so its machine was suspended.
fn suspended(analysis: &Analysis) -> Vec<Finding> {
    let listings = analysis.recording.listings.iter().enumerate();
    let idle = listings.filter_map(|(listing, known)| {
        let fact: &Fact = known.facts.iter().find(|fact| fact.key == key::FLUSH_IDLE)?;
        let reading = FactReading { fact, listing };
        Some((listing, reading, reading.number().filter(|s| *s > LONGEST_WAIT_S)?))
    });
    let found = idle.map(|(listing, reading, seconds)| {
        let mut finding = new_finding(DETECTOR.verdict, None, vec![listing]);
        finding.sentence = format!(
            "a round that flushed nothing took {}: it waited for no disk; the machine was probably \
             suspended (over an hour)",
            phrase::ms(seconds * 1e3)
        );
        let what = "longest round that flushed nothing";
        let (of, bound) = ((seconds, Unit::Seconds), Bound::Above(LONGEST_WAIT_S));
        finding.evidence = vec![builder::cited(analysis.recording, &reading, what, of).held(bound)];
        finding.assume(AWAY, "a round that writes nothing waits for no disk");
        finding.explained_share = 1.0;
        finding.refuted_by =
            lines(&["neither the kernel's log nor the hypervisor's shows a suspend at that time"]);
        finding.next_step = lines(&[
            "`journalctl -k | grep -e 'PM: suspend'`; for a virtual machine, the log of its host",
            "if it happens while the server is in use, capture it then: `iowhy why --for 30s`",
        ]);
        finding
    });
    found.collect()
}

/// Listings of which not one line could be used: the tool does not fit the kernel it ran on, or the
/// copy is damaged. Its output must be discarded.
fn unusable(analysis: &Analysis) -> Vec<Finding> {
    let all = analysis.recording.listings.iter().enumerate();
    let dead = all.filter(|(_, listing)| {
        let source = &listing.source;
        let usable = source.records as f64;
        let many =
            source.impossible as f64 >= MANY_IMPOSSIBLE * (usable + source.impossible as f64);
        source.impossible >= FEW_LINES && source.records == 0
            || source.impossible > 0 && source.records > 0 && many
    });
    dead.map(|(place, listing)| {
        let source = &listing.source;
        let mut finding = new_finding(DETECTOR.verdict, None, vec![place]);
        let reason = source.notes.first().map_or("unusable", |note| note.reason.as_str());
        if source.records > 0 {
            let (lines, records) = (source.impossible, source.records);
            finding.sentence = format!(
                "{lines} of the lines of this {} listing are impossible ({reason}), {records} are \
                 plausible: the tool does not match the kernel it ran on, or its clock was wrong",
                source.format
            );
        } else {
        finding.sentence = format!(
            "none of the {} lines of this {} listing is plausible ({reason}): the tool does not \
             match the kernel it ran on, or the copy is damaged",
            source.skipped, source.format
        );
        }
        let what = "unusable lines";
        let above = Bound::Above(if source.records > 0 { 0.0 } else { FEW_LINES as f64 - 1.0 });
        finding.evidence = vec![
            read_off(what, source.skipped as f64, Unit::Count, source.skipped, source).held(above),
            computed("usable lines", source.records as f64, Unit::Count, source.skipped, source),
        ];
        finding.assume(UNUSABLE, "impossible lines");
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&["the same tool prints the same impossible lines on a kernel that it supports"]);
        finding.next_step =
            lines(&["use a release of the tool that supports this kernel, or `iowhy record`"]);
        finding
    })
    .collect()
}

/// The printed size is not throughput over rate, although all three come from the same counters.
fn size_denied(analysis: &Analysis) -> Vec<Finding> {
    let mut findings = Vec::new();
    for candidate in candidates::candidates(analysis) {
        let Some((listing, (times, reading))) =
            candidate.listing.zip(candidate.about().number(key::IOSTAT_SIZE_DENIED))
        else {
            continue;
        };
        let mut finding = new_finding(DETECTOR.verdict, Some(candidate.device), vec![listing]);
        finding.sentence = format!(
            "the numbers for {} disagree: throughput divided by rate is {} times the printed size",
            phrase::disk(&candidate.disk),
            phrase::digits(times)
        );
        let what = "throughput divided by rate, as a multiple of the printed size";
        let bound = if times > 1.0 { Bound::Above(1.1) } else { Bound::Below(0.9) };
        let times_of = (times, Unit::Ratio);
        finding.evidence =
            vec![builder::cited(analysis.recording, &reading, what, times_of).held(bound)];
        finding.assume(CERTAIN, "a contradiction within the report");
        finding.explained_share = 1.0 - times.min(1.0 / times);
        advise(&mut finding, &candidate.disk);
        findings.push(finding);
    }
    findings
}

fn finding(analysis: &Analysis, inconsistency: &Inconsistency) -> Option<Finding> {
    match inconsistency.kind {
        Contradiction::Overrun { distribution, n, mean_ms, took_s, at_once } => {
            let known = analysis.listing(inconsistency.listing).distributions.get(distribution)?;
            Some(overrun(analysis, inconsistency.listing, known, (n, mean_ms, took_s), at_once))
        }
        Contradiction::Little { interval, per_s, await_ms, queue_len, deviation } => {
            let known = analysis.listing(inconsistency.listing).intervals.get(interval)?;
            let source = analysis.source(inconsistency.listing);
            let disk = analysis.disk(known.device);
            let product = per_s * await_ms / 1000.0;
            let mut finding =
                new_finding(DETECTOR.verdict, Some(known.device), vec![inconsistency.listing]);
            finding.sentence = format!(
                "the numbers for {} disagree: {} times {} of await are {} requests in flight \
                 (Little's law), not the printed {}",
                phrase::disk(&disk),
                phrase::iops(per_s),
                phrase::ms(await_ms),
                phrase::digits(product),
                phrase::digits(queue_len)
            );
            finding.evidence = vec![
                read_off("completions", per_s, Unit::PerSecond, 1, source),
                read_off("mean latency (await)", await_ms, Unit::Ms, 1, source),
                read_off("queue length (aqu-sz)", queue_len, Unit::Requests, 1, source),
                computed("rate times latency", product, Unit::Requests, 1, source),
                computed("deviation from Little's law", deviation.abs(), Unit::Share, 1, source)
                    .above(LITTLE_TOLERANCE),
            ];
            // Less than one request in flight either way: true, but harmless. The same holds for a
            // single row if waits are counted when they end and the queue continuously: its edges
            // explain it.
            let rows = &analysis.listing(inconsistency.listing).intervals;
            let one = || rows.iter().filter(|row| row.device == known.device).take(2).count() == 1;
            // A stacked device of such a kernel counts both by bios, of which a burst of write-back
            // brings thousands at once.
            let near = product.max(queue_len) < CUT * product.min(queue_len)
                || disk_names::is_stacked(&disk);
            let cut = known.svctm_ns.is_some() && near && one();
            let faint = cut || product.max(queue_len) < MATTERS;
            let worth = if faint { FAINT } else { CERTAIN };
            finding.assume(worth, "a contradiction within the report");
            // The share of the larger value that the other contradicts.
            finding.explained_share = (product - queue_len).abs() / product.max(queue_len);
            advise(&mut finding, &disk);
            Some(finding)
        }
        Contradiction::Wrapped { interval, value } => {
            let listing = analysis.listing(inconsistency.listing);
            let known = listing.intervals.get(interval)?;
            // One row represents all of the kind.
            let so = |other: &&Inconsistency| {
                let Contradiction::Wrapped { interval, .. } = other.kind else { return false };
                let row = listing.intervals.get(interval);
                other.listing == inconsistency.listing
                    && row.is_some_and(|row| row.device == known.device)
            };
            // The first is found at once; all are counted once.
            if analysis.inconsistencies.iter().find(so) != Some(inconsistency) {
                return None;
            }
            let all = analysis.inconsistencies.iter().filter(so).count();
            let rows = listing.intervals.iter().filter(|row| row.device == known.device).count();
            let source = analysis.source(inconsistency.listing);
            let disk = analysis.disk(known.device);
            let (words, evidence) = match value {
                Absurd::InFlight(n) => (
                    format!("{} requests in flight", phrase::thousands(n)),
                    read_off("requests in flight", n, Unit::Requests, 1, source),
                ),
                Absurd::Rate(per_s) => (
                    format!("{per_s:.1e} requests per second"),
                    read_off("requests per second", per_s, Unit::PerSecond, 1, source),
                ),
                Absurd::Wait(s) => (
                    format!("a mean wait of {}", phrase::ms(s * 1e3)),
                    read_off("mean latency (await)", s * 1e3, Unit::Ms, 1, source),
                ),
                Absurd::Busy(share) => (
                    format!("busy for {} of the time", phrase::percent(share)),
                    read_off("busy share (%util)", share, Unit::Share, 1, source),
                ),
            };
            let why = match value {
                Absurd::Busy(_) => "the kernel or the hypervisor counts time incorrectly",
                _ => "a counter wrapped or was reset within the row",
            };
            let mut finding =
                new_finding(DETECTOR.verdict, Some(known.device), vec![inconsistency.listing]);
            finding.sentence = format!(
                "the numbers for {} are impossible: {words}; {why}, in {} of its {}",
                phrase::disk(&disk),
                all,
                phrase::count(rows as f64, "row(s)")
            );
            finding.evidence = vec![
                evidence,
                computed("rows with such a value", all as f64, Unit::Count, rows as u64, source)
                    .above(0.0),
            ];
            finding.assume(CERTAIN, "a contradiction within the report");
            finding.explained_share = all as f64 / rows.max(1) as f64;
            advise(&mut finding, &disk);
            Some(finding)
        }
        Contradiction::Phantom { interval, rows, queue_len, needed } => {
            let known = analysis.listing(inconsistency.listing).intervals.get(interval)?;
            Some(phantom(analysis, (inconsistency.listing, known.device), rows, queue_len, needed))
        }
        Contradiction::TooFast { interval, bytes, await_ms, bytes_per_s } => {
            let known = analysis.listing(inconsistency.listing).intervals.get(interval)?;
            let source = analysis.source(inconsistency.listing);
            let disk = analysis.disk(known.device);
            let mut finding =
                new_finding(DETECTOR.verdict, Some(known.device), vec![inconsistency.listing]);
            finding.sentence = format!(
                "the numbers for {} are impossible: {} per request within {} are {} per second, \
                 faster than any link, so bytes or requests are miscounted",
                phrase::disk(&disk),
                phrase::bytes(bytes),
                phrase::ms(await_ms),
                phrase::bytes(bytes_per_s)
            );
            finding.evidence = vec![
                computed(
                    "bytes per request, throughput divided by rate",
                    bytes,
                    Unit::Bytes,
                    1,
                    source,
                ),
                read_off("mean latency (await)", await_ms, Unit::Ms, 1, source),
                computed("throughput of one request", bytes_per_s, Unit::BytesPerSecond, 1, source)
                    .above(LINK_BYTES_PER_S),
            ];
            finding.assume(CERTAIN, "a contradiction within the report");
            finding.explained_share = 1.0 - LINK_BYTES_PER_S / bytes_per_s;
            advise(&mut finding, &disk);
            Some(finding)
        }
    }
}

fn overrun(
    analysis: &Analysis,
    listing: usize,
    known: &Distribution,
    (n, mean_ms, took_s): (u64, f64, f64),
    at_once: f64,
) -> Finding {
    let source = analysis.source(listing);
    let disk = analysis.disk(known.device);
    let sum_s = n as f64 * mean_ms / 1000.0;
    let concurrency = sum_s / took_s;
    let mut finding = new_finding(DETECTOR.verdict, Some(known.device), vec![listing]);
    let rate = throughput(analysis, listing, known, n, took_s);
    finding.sentence = format!(
        "the run contradicts itself: {} waits of {} add up to {}, but it took {} with at most {} \
         in flight, so a number is wrong{}",
        n,
        phrase::ms(mean_ms),
        phrase::ms(sum_s * 1e3),
        phrase::ms(took_s * 1e3),
        phrase::digits(at_once),
        rate.as_ref().map_or(String::new(), |rate| rate.clause.clone())
    );
    finding.evidence = vec![
        read_off("requests", n as f64, Unit::Count, n, source),
        read_off("mean latency", mean_ms, Unit::Ms, n, source),
        read_off("the run took", took_s, Unit::Seconds, n, source),
        computed("sum of all waits", sum_s, Unit::Seconds, n, source),
        read_off("in flight at most", at_once, Unit::Requests, n, source),
        computed("mean concurrency", concurrency, Unit::Ratio, n, source).above(1.1 * at_once),
    ];
    if let Some(rate) = rate {
        finding.evidence.push(computed(
            "size times count, divided by time",
            rate.bytes_per_s,
            Unit::BytesPerSecond,
            n,
            source,
        ));
    }
    finding.assume(CERTAIN, "a contradiction within the report");
    // The share of the summed waits that cannot have happened within the run.
    finding.explained_share = 1.0 - at_once * took_s / sum_s;
    advise(&mut finding, &disk);
    finding
}

/// Busy all the time with what never completes, while all else completes at once.
fn phantom(
    analysis: &Analysis,
    (listing, device): (usize, DeviceId),
    rows: usize,
    queue_len: f64,
    needed: f64,
) -> Finding {
    let source = analysis.source(listing);
    let disk = analysis.disk(device);
    let mut finding = new_finding(DETECTOR.verdict, Some(device), vec![listing]);
    finding.sentence = format!(
        "{} is not busy: every row shows 100 % util and {} in flight, while its completions need \
         at most {} in flight; the kernel's counter of requests in flight leaked, or {}",
        phrase::disk(&disk),
        phrase::digits(queue_len),
        phrase::digits(needed),
        if queue_len > 1.0 { "requests hang" } else { "a request hangs" }
    );
    let n = rows as u64;
    finding.evidence = vec![
        computed("rows that show it (all)", rows as f64, Unit::Count, n, source).above(0.0),
        computed("excess of requests in flight", queue_len, Unit::Requests, n, source),
        computed("rate times latency, maximum", needed, Unit::Requests, n, source),
    ];
    finding.assume(PHANTOM, "a queue that completions do not empty");
    finding.explained_share = 1.0 - needed / (queue_len + needed);
    finding.refuted_by = lines(&["flushes run without a pause: newer iostat shows them as f/s"]);
    finding.next_step = vec![
        format!(
            "`cat /sys/block/{disk}/inflight` several times: a constant number is a leak or a hung \
             request"
        ),
        format!(
            "`dmesg --ctime | grep -i {disk}`: a hung request is reported after 30 s; a leaked \
             counter is fixed by a newer kernel or a reboot"
        ),
    ];
    finding
}

struct Throughput {
    bytes_per_s: f64,
    clause: String,
}

/// The throughput computed from size, count and time, and the printed one.
fn throughput(
    analysis: &Analysis,
    listing: usize,
    known: &Distribution,
    n: u64,
    took_s: f64,
) -> Option<Throughput> {
    let bytes_per_s = f64::from(known.bytes?) * n as f64 / took_s;
    let printed = analysis
        .listing(listing)
        .facts
        .iter()
        .find(|fact| fact.key == key::WRITE_TEST_THROUGHPUT_PRINTED)
        .map(|fact| fact.value.clone());
    let megabits = bytes_per_s * 8.0 / 1e6;
    let clause = printed.map_or(String::new(), |printed| {
        format!(
            "; its `{printed}` is {megabits:.1} Mbit/s ({}) by its own size, count and time",
            phrase::rate(bytes_per_s)
        )
    });
    Some(Throughput { bytes_per_s, clause })
}

/// A histogram and averages of one disk, side by side in one document, whose means are far apart:
/// they watched different times, or one of them counts other requests.
fn means_apart(analysis: &Analysis) -> Vec<Finding> {
    let histograms =
        analysis.histograms.iter().filter_map(|sample| apart_from_rows(analysis, sample));
    let traces = analysis.traces.iter().filter_map(|trace| trace_apart(analysis, trace));
    histograms.chain(traces).chain(averages_apart(analysis)).collect()
}

/// Two listings of averages of one disk in one document, whose waits are far apart though as much
/// was in flight: of another load they would differ in that too.
fn averages_apart(analysis: &Analysis) -> Vec<Finding> {
    let all = analysis.rows_by_listing();
    let pairs = all.iter().flat_map(|rows| all.iter().map(move |others| (rows, others)));
    let beside = pairs.filter(|(rows, others)| {
        rows.first().zip(others.first()).is_some_and(|(a, b)| {
            a.disk == b.disk
                && a.listing + 1 == b.listing
                && analysis.host(a.listing) == analysis.host(b.listing)
        })
    });
    beside.filter_map(|(rows, others)| listings_apart(analysis, rows, others)).collect()
}

fn listings_apart(
    analysis: &Analysis,
    rows: &[&IntervalSample],
    others: &[&IntervalSample],
) -> Option<Finding> {
    let waits = |rows: &[&IntervalSample]| {
        let known: Vec<f64> = rows.iter().filter_map(|row| row.await_ms()).collect();
        spread::median(&known).filter(|ms| known.len() >= FEW_ROWS && *ms > 0.0)
    };
    let queue = |rows: &[&IntervalSample]| {
        let known: Vec<f64> = rows.iter().filter_map(|row| row.interval.queue_len).collect();
        spread::median(&known).filter(|n| *n > 0.0)
    };
    let apart = |a: f64, b: f64| (a / b).max(b / a);
    let (wait, other) = (waits(rows)?, waits(others)?);
    let times = apart(wait, other);
    if times <= MEANS_APART || apart(queue(rows)?, queue(others)?) > AS_MUCH {
        return None;
    }
    let (first, second) = (rows.first()?, others.first()?);
    let (n, m) = (rows.len() as u64, others.len() as u64);
    let mut finding =
        new_finding(DETECTOR.verdict, Some(second.device), vec![first.listing, second.listing]);
    finding.sentence = format!(
        "two listings of {} do not cover the same time: at equal queue depth its requests wait {} \
         in one and {} in the other",
        phrase::disk(&first.disk),
        phrase::ms(wait),
        phrase::ms(other)
    );
    let (of, beside) = (analysis.source(first.listing), analysis.source(second.listing));
    finding.evidence = vec![
        read_off("mean latency (await), median", wait, Unit::Ms, n, of),
        read_off("the same in the other listing", other, Unit::Ms, m, beside),
        computed("ratio of the means", times, Unit::Ratio, n + m, of).above(MEANS_APART),
    ];
    finding.assume(TWO_WINDOWS, "two listings that may not cover the same time");
    finding.explained_share = SIDE_NOTE;
    advise(&mut finding, &first.disk);
    Some(finding)
}

/// The averages of the disk in the listing beside another; of several rows the nearest counts.
fn row_beside<'s, 'a>(
    analysis: &'s Analysis<'a>,
    (listing, disk): (usize, &str),
    mean_ms: f64,
) -> Option<(&'s IntervalSample<'a>, f64, f64)> {
    let apart =
        |row: &IntervalSample| row.await_ms().map(|wait| (mean_ms / wait).max(wait / mean_ms));
    analysis
        .intervals
        .iter()
        .filter(|row| row.disk == disk && row.listing.abs_diff(listing) == 1)
        .filter(|row| analysis.host(row.listing) == analysis.host(listing))
        .filter(|row| row.requests() >= FEW_REQUESTS)
        .filter_map(|row| Some((row, row.await_ms()?, apart(row)?)))
        .filter(|(_, _, apart)| apart.is_finite())
        .min_by(|a, b| a.2.total_cmp(&b.2))
        .filter(|(_, _, apart)| *apart > MEANS_APART)
}

/// iowhy's own trace and its own reading of the counters: they watched the same requests, and what
/// differs are flushes, merges and the moment a request began.
fn both_ours(of: &Source, other: &Source) -> bool {
    of.sampling != Sampling::Reported && other.sampling != Sampling::Reported
}

/// A trace and averages of one disk side by side, whose means are far apart.
fn trace_apart(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let latencies: Vec<f64> = trace.spans.iter().map(ServiceSpan::latency_ns).collect();
    let mean_ms = spread::mean(&latencies).filter(|ns| *ns > 0.0)? / 1e6;
    if trace.disk.is_empty() || latencies.len() < EVENTS_NEEDED {
        return None;
    }
    let (row, wait, apart) = row_beside(analysis, (trace.listing, &trace.disk), mean_ms)?;
    let (of, other) = (analysis.source(trace.listing), analysis.source(row.listing));
    if both_ours(of, other) {
        return None;
    }
    let n = latencies.len() as u64;
    let mut finding =
        new_finding(DETECTOR.verdict, Some(row.device), vec![trace.listing, row.listing]);
    finding.sentence = format!(
        "two listings of {} do not cover the same time: its individual I/Os took {} on average, \
         its averages show {}",
        phrase::disk(&row.disk),
        phrase::ms(mean_ms),
        phrase::ms(wait)
    );
    finding.evidence = vec![
        computed("mean latency of the individual I/Os", mean_ms, Unit::Ms, n, of),
        read_off("mean latency (await)", wait, Unit::Ms, 1, other),
        computed("ratio of the means", apart, Unit::Ratio, n, of).above(MEANS_APART),
    ];
    finding.assume(TWO_WINDOWS, "two listings that may not cover the same time");
    finding.explained_share = SIDE_NOTE;
    advise(&mut finding, &row.disk);
    Some(finding)
}

fn apart_from_rows(analysis: &Analysis, sample: &HistogramSample) -> Option<Finding> {
    let histogram = &sample.known.histogram;
    let mean_ms = histogram.mean_ns()?.0 / 1e6;
    if histogram.edges().buckets() == 1 || sample.disk.is_empty() || mean_ms <= 0.0 {
        return None;
    }
    // The time in a queue alone is not a share of await that could contradict it.
    if matches!(sample.known.stage, Stage::Before | Stage::Queue) {
        return None;
    }
    let (row, wait, apart) = row_beside(analysis, (sample.listing, &sample.disk), mean_ms)?;
    let (of, other) = (analysis.source(sample.listing), analysis.source(row.listing));
    if both_ours(of, other) {
        return None;
    }
    let mut finding =
        new_finding(DETECTOR.verdict, Some(row.device), vec![sample.listing, row.listing]);
    finding.sentence = format!(
        "two listings of {} do not cover the same time: the mean of the histogram is about {}, the \
         averages show {}",
        phrase::disk(&row.disk),
        phrase::ms(mean_ms),
        phrase::ms(wait)
    );
    finding.evidence = vec![
        estimated("mean of the histogram", mean_ms, Unit::Ms, histogram.count(), of),
        read_off("mean latency (await)", wait, Unit::Ms, 1, other),
        computed("ratio of the means", apart, Unit::Ratio, histogram.count(), of)
            .above(MEANS_APART),
    ];
    finding.assume(TWO_WINDOWS, "two listings that may not cover the same time");
    finding.explained_share = SIDE_NOTE;
    advise(&mut finding, &row.disk);
    Some(finding)
}

fn advise(finding: &mut Finding, disk: &str) {
    finding.refuted_by = lines(&[
        "the numbers are not for the same requests or the same time",
        "the program had several requests in flight at once",
    ]);
    finding.next_step =
        vec![format!("{}: one clock, every I/O counted", phrase::capture(disk, 30))];
}
