//! The cost of a device's problem: time waited per second, mean, p99 and longest latency, share of
//! slow requests.

use std::collections::{BTreeMap, HashMap};

use iowhy_model::{DeviceId, Edges, Finding, Histogram, Impact, Nanos, Op, Quantile};

use crate::analysis::audit;
use crate::analysis::samples::IntervalSample;
use crate::analysis::{Analysis, Host, requests};
use crate::measures::{service::ServiceSpan, spread};

/// A histogram of so much fewer requests than another of the same device does not tell its mean (a
/// choice).
const FEW: u64 = 100;

/// States the impact of each finding about a device that was measured.
pub(crate) fn add_impact(analysis: &Analysis, findings: &mut [Finding]) {
    let mut known: HashMap<(Host, String), Option<Impact>> = HashMap::new();
    for finding in findings {
        let (Some(device), Some(place)) =
            (finding.subject.device, finding.subject.listings.first())
        else {
            finding.impact = None;
            continue;
        };
        let about = (analysis.host(*place), analysis.disk(device));
        finding.impact =
            *known.entry(about).or_insert_with_key(|(host, disk)| of(analysis, *host, disk));
    }
}

fn of(analysis: &Analysis, host: Host, disk: &str) -> Option<Impact> {
    let here = |listing: usize, name: &str| name == disk && analysis.host(listing) == host;
    let (mut mean_ns, mut longest_ns): (Option<f64>, Option<f64>) = (None, None);
    let mut median_ns: Option<f64> = None;
    let mut all: Vec<f64> = Vec::new();
    let mut waited: Option<f64> = None;
    let most = |known: &mut Option<f64>, ns: f64| *known = Some(known.unwrap_or(0.0).max(ns));
    for trace in analysis.traces.iter().filter(|trace| here(trace.listing, &trace.disk)) {
        most(&mut mean_ns, trace.mean_ns());
        let watched_ns = analysis.watched_ns(trace.listing, trace.span_ns());
        most(&mut waited, trace.mean_ns() * trace.spans.len() as f64 / watched_ns);
        most(&mut longest_ns, trace.spans.iter().map(ServiceSpan::latency_ns).fold(0.0, f64::max));
        if trace.spans.len() > all.len() {
            all = trace.spans.iter().map(ServiceSpan::latency_ns).collect();
        }
    }
    // A trace leaves empty flushes out, and programs wait for them.
    for known in analysis.requests.iter().filter(|known| here(known.listing, &known.disk)) {
        let stretches = known.events.iter().filter_map(|event| requests::stretch(event));
        let lengths: Vec<f64> = stretches.map(requests::length_ns).collect();
        let watched_ns = analysis.watched_ns(known.listing, known.span_ns());
        most(&mut waited, lengths.iter().sum::<f64>() / watched_ns);
        most(&mut longest_ns, lengths.iter().copied().fold(0.0, f64::max));
        median_ns = spread::median(&lengths).or(median_ns);
        if lengths.len() > all.len() {
            all = lengths;
        }
    }
    let rows = analysis.intervals.iter().filter(|row| here(row.listing, &row.disk));
    let Waits { mean: by_rows, worst } = waits(rows.clone());
    by_rows.into_iter().for_each(|by_rows| most(&mut waited, by_rows));
    // What cannot be costs nothing.
    for ms in rows.filter(|row| !audit::is_wrapped(row.interval)).filter_map(|row| row.await_ms()) {
        most(&mut mean_ns, ms * 1e6);
    }
    // For an interval kept for the verdict all of the disk's I/Os are reported, not that interval.
    let whole = analysis.traces.iter().filter(|trace| here(trace.listing, &trace.disk));
    let whole = whole.filter_map(|trace| whole_of(analysis, trace.listing, disk)).next();
    if let Some((histogram, per_s)) = &whole {
        (all, median_ns, waited) = (Vec::new(), None, Some(*per_s));
        mean_ns = histogram.mean_ns().map(|(mean, _)| mean);
        longest_ns = histogram.max_ns.map(|ns| ns as f64).or(longest_ns);
    }
    let mut p99_ns = spread::quantile(&all, 0.99);
    let mut counted: Option<&Histogram> = whole.as_ref().map(|(histogram, _)| histogram);
    let own = || analysis.histograms.iter().filter(|sample| here(sample.listing, &sample.disk));
    let largest = own().map(|sample| sample.known.histogram.count()).max().unwrap_or_default();
    for sample in own() {
        let is_of_few = sample.known.histogram.count() < largest / FEW;
        if let Some((ns, _)) = sample.known.histogram.mean_ns().filter(|_| !is_of_few) {
            most(&mut mean_ns, ns);
        }
        let filled = sample.known.histogram.filled().last().map(|(low, _, _)| low);
        if let Some(ns) = sample.known.histogram.max_ns.or(filled) {
            most(&mut longest_ns, ns as f64);
        }
        let histogram = &sample.known.histogram;
        // Of as many requests the longest stage counts: fio reports their submission too.
        let weight = |of: &Histogram| (of.count(), of.mean_ns().map_or(0, |(ns, _)| ns as u64));
        if counted.is_none_or(|other| weight(other) < weight(histogram)) {
            counted = Some(histogram);
        }
    }
    // Single I/Os are exact; a histogram's quantile is the upper edge of its bucket.
    let counted = counted.filter(|histogram| all.is_empty() && histogram.count() > 0);
    let narrow = |quantile: &Quantile| !is_wide(quantile.low_ns, quantile.high_ns);
    if let Some(quantile) = counted.and_then(|known| known.quantile(0.99)).filter(narrow) {
        p99_ns = Some(quantile.high_ns as f64);
    }
    let known = |ns: Option<f64>| ns.map(|ns| Nanos(ns as i64));
    // Mean, p99 and share of slow ones are of the same requests: averages of another time may stand
    // beside them.
    if !all.is_empty() {
        mean_ns = spread::mean(&all).or(mean_ns);
    }
    let mut impact = Impact {
        waited_per_s: waited,
        worst_per_s: worst,
        mean: known(mean_ns),
        median: known(median_ns),
        longest: known(longest_ns),
        p99: known(p99_ns),
        slow_share: None,
        slow_most: None,
    };
    let felt = impact.felt().ns() as u64;
    (impact.slow_share, impact.slow_most) = match counted {
        // A bucket from a fast I/O to a slow one does not show how many were slow.
        Some(histogram)
            if histogram
                .filled()
                .any(|(low, high, _)| low < felt && high > felt && is_wide(low, high)) =>
        {
            (None, None)
        }
        Some(histogram) => {
            let of_all = |ios: u64| ios as f64 / histogram.count() as f64;
            let surely = histogram.count_from(felt);
            let parted = histogram.filled().find(|(low, high, _)| *low < felt && *high > felt);
            let maybe = parted.map_or(0, |(_, _, ios)| ios);
            let maybe = if histogram.max_ns.is_some_and(|ns| ns < felt) { 0 } else { maybe };
            (Some(of_all(surely)), (maybe > 0).then(|| of_all(surely.saturating_add(maybe))))
        }
        None if all.is_empty() => (None, None),
        None => {
            let slow = all.iter().filter(|ns| **ns >= felt as f64).count();
            (Some(slow as f64 / all.len() as f64), None)
        }
    };
    (impact != Impact::default()).then_some(impact)
}

/// Whether latencies of a bucket are a decade apart, as in a summary of minimum and maximum: it
/// shows neither a quantile nor a share. Below a microsecond nothing is distinguished.
fn is_wide(low_ns: u64, high_ns: u64) -> bool {
    high_ns / 10 > low_ns.max(1000)
}

/// Time waited per second, s.
#[derive(Default)]
struct Waits {
    /// Over all rows of a listing, of that in which most was.
    mean: Option<f64>,
    /// In the row in which most was, of several.
    worst: Option<f64>,
}

/// What rows of averages report of a disk.
fn waits<'a>(rows: impl Iterator<Item = &'a IntervalSample<'a>>) -> Waits {
    // Seconds waited and seconds watched, by listing.
    let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    let (mut worst, mut measured, mut rows_seen) = (0.0f64, false, 0);
    for row in rows.filter(|row| !audit::is_wrapped(row.interval)) {
        let wait = row.await_ms().map(|ms| row.per_s() * ms / 1000.0 + flushed(row));
        let length_s = row.interval.length.map_or(1.0, Nanos::seconds);
        let sum = sums.entry(row.listing).or_default();
        *sum = (sum.0 + wait.unwrap_or(0.0) * length_s, sum.1 + length_s);
        worst = worst.max(wait.unwrap_or(0.0));
        measured |= wait.is_some();
        rows_seen += 1;
    }
    if !measured {
        return Waits::default();
    }
    let means = sums.values().filter(|(_, watched)| *watched > 0.0);
    let mean = means.map(|(waited, watched)| waited / watched).reduce(f64::max);
    Waits { mean, worst: (rows_seen > 1).then_some(worst) }
}

/// The latencies of all I/Os of a disk in a listing of which only an interval is judged
/// individually, and the time they waited per second, s; `None` if all of them are.
fn whole_of(analysis: &Analysis, place: usize, disk: &str) -> Option<(Histogram, f64)> {
    let listing = analysis.listing(place);
    let is_of = |device: DeviceId| analysis.disk(device) == disk;
    let mut whole = Histogram::empty(Edges::standard());
    for known in listing.rest.iter().filter(|known| is_of(known.device)) {
        whole.merge(&known.histogram);
    }
    if whole.count() == 0 {
        return None;
    }
    let counted = listing.counted.iter().filter(|known| is_of(known.device));
    let mut stretch = counted.filter_map(|known| known.stretch());
    let (mut first, mut last) = stretch.next()?;
    for event in listing.events.iter().filter(|event| is_of(event.device)) {
        let began = event.queued.or(event.issued);
        let (Some((_, latency)), Some((began, ended))) =
            (event.longest(), began.zip(event.completed))
        else {
            continue;
        };
        whole.record(latency.ns().max(0) as u64);
        (first, last) = (first.min(began), last.max(ended));
    }
    let waited_ns = whole.sum_ns?;
    // All I/Os are counted, also where single ones of an interval only are kept.
    let span_ns = (last - first).ns().max(listing.source.watched.map_or(1, Nanos::ns)).max(1);
    let per_s = waited_ns / span_ns as f64;
    Some((whole, per_s))
}

/// Time that flushes waited, per second; rates of reads and writes leave them out.
fn flushed(row: &IntervalSample) -> f64 {
    let flushes = row.interval.of(Op::Flush);
    flushes.map_or(0.0, |rates| rates.ios_per_s * rates.await_ns.unwrap_or(0.0) / 1e9)
}
