//! An unstated medium is an assumption, and an answer that depends on it is no better.
//!
//! Reads of 8 ms are healthy for a platter and fifty times too slow for flash. If the possible
//! media disagree that much, both readings are reported (docs/METHOD.md, 3 Healthy service times).

use iowhy_model::{DeviceId, Finding, Medium, Op, Verdict};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::{HistogramSample, IntervalSample};
use crate::baseline::healthy_time::{HealthyServiceTime, Request};
use crate::baseline::history::HealthyOrigin;
use crate::evidence::confidence::SHAPE_ALONE;
use crate::measures::spread;
use crate::options::Calibration;
use crate::phrase;

/// Two readings of the same times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Readings {
    /// The medium that would be healthy.
    pub healthy: Medium,
    /// The medium that would be slow, ...
    pub slow: Medium,
    /// ... and how many times slower than its class.
    pub times: f64,
}

/// A healthy device is not this many times slower than its class (choice: three standard deviations
/// of the widest class, and a queue of two).
const SLOW: f64 = 8.0;
/// A device within this many times its class is healthy (docs/METHOD.md, 1 Replay).
const HEALTHY: f64 = 2.5;
/// A reading counts if its medium is at least half as likely by the name as the other.
const LIKELY: f64 = 0.5;
/// Random places of a platter spread over half a revolution and the seeks: from this on a spread
/// between quartiles is that of a platter, ms (half of half a revolution at 7200 rpm).
const PLATTER_SPREAD_MS: f64 = 2.0;
/// And this share of the median: half of a platter's own time is the revolution, which is uniform
/// between none and all of it (a revolution of 8.33 ms and seeks of 1.5 to 6.5 ms: 0.5); flash that
/// is slow has a tail, no such body.
const PLATTER_SPREAD: f64 = 0.35;
/// Service times needed for a spread.
const ENOUGH: usize = 20;

impl Readings {
    /// The second reading, as the end of a sentence.
    pub(crate) fn words(self) -> String {
        format!(
            "; if it is {} instead, it is {} times slower than its class",
            phrase::medium(self.slow),
            phrase::digits(self.times.round())
        )
    }

    /// The command that shows which.
    pub(crate) fn step(disk: &str) -> String {
        let disk = if disk.is_empty() { String::new() } else { format!(" /dev/{disk}") };
        format!("`lsblk -d -o NAME,ROTA,MODEL{disk}`: its medium decides between the two")
    }
}

/// The readings of a device's own time per request, if the media its name allows disagree: one is
/// slow from this many times its class on.
fn readings(
    analysis: &Analysis,
    device: DeviceId,
    own_ms: f64,
    s0: &dyn Fn(Medium) -> f64,
    from: f64,
) -> Option<Readings> {
    let known = analysis.options.healthy_ms.is_some()
        || analysis.options.healthy_origin != HealthyOrigin::Class;
    let media = analysis.media(device);
    if known || media.len() < 2 {
        return None;
    }
    let of = |medium: Medium| own_ms / s0(medium).max(1e-9);
    let (healthy, odds) = media
        .iter()
        .filter(|(medium, _)| of(*medium) < HEALTHY)
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (slow, _) = media
        .iter()
        .filter(|(medium, other)| {
            medium != healthy && of(*medium) > from && *other >= LIKELY * odds
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Readings { healthy: *healthy, slow: *slow, times: of(*slow) })
}

/// Whether a spread between quartiles with such a median is that of a platter, ms.
fn is_a_platters(spread_ms: f64, median_ms: f64) -> bool {
    spread_ms >= PLATTER_SPREAD_MS.max(PLATTER_SPREAD * median_ms)
}

/// The readings of single I/Os.
pub(crate) fn of_trace(analysis: &Analysis, trace: &DeviceTrace) -> Option<Readings> {
    let (group, _) = trace.groups.first()?;
    let services: Vec<f64> = group
        .members
        .iter()
        .filter_map(|place| trace.services_ns.get(*place))
        .map(|ns| ns / 1e6)
        .collect();
    let sorted = spread::sorted(&services);
    let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied();
    // A cache answers fast for either medium: the mean shows the rest.
    let own_ms = if trace.cached { spread::mean(&services)? } else { at(0.5)? };
    let request =
        Request { op: group.op, bytes: f64::from(group.bytes), sequential: group.sequential };
    let s0 = |medium| HealthyServiceTime::of(&[(medium, 1.0)], request, None).median_ms();
    let found = readings(analysis, trace.device, own_ms, &s0, SLOW)?;
    let shows_a_platter = found.healthy == Medium::Rotational
        && !trace.cached
        && sorted.len() >= ENOUGH
        && is_a_platters(at(0.75)? - at(0.25)?, at(0.5)?);
    (!shows_a_platter).then_some(found)
}

/// The readings of averages: of the row that all but few are faster than.
pub(crate) fn of_row(analysis: &Analysis, row: &IntervalSample) -> Option<Readings> {
    of_row_from(analysis, row, SLOW)
}

/// The same, if a medium is slow from this many times its class on.
pub(crate) fn of_row_from(
    analysis: &Analysis,
    row: &IntervalSample,
    from: f64,
) -> Option<Readings> {
    let own_ms = row.effective_ms().or_else(|| row.await_ms())?;
    let parts = |op: Op| row.interval.of(op).filter(|rates| rates.ios_per_s > 0.0);
    let s0 = |medium: Medium| {
        let (mut sum, mut n) = (0.0, 0.0);
        for op in [Op::Read, Op::Write] {
            let Some(rates) = parts(op) else { continue };
            let bytes = rates.mean_bytes().or(row.interval.mean_bytes()).unwrap_or(4096.0);
            let request = Request { op, bytes, sequential: None };
            sum += rates.ios_per_s
                * HealthyServiceTime::of(&[(medium, 1.0)], request, None).slowest_ms();
            n += rates.ios_per_s;
        }
        if n > 0.0 {
            return sum / n;
        }
        // Reads and writes were counted together.
        let bytes = row.interval.mean_bytes().unwrap_or(4096.0);
        let request = Request { op: Op::Read, bytes, sequential: None };
        HealthyServiceTime::of(&[(medium, 1.0)], request, None).slowest_ms()
    };
    readings(analysis, row.device, own_ms, &s0, from)
}

/// The readings of counts: of a mean, where no bucket shows the spread of a platter.
pub(crate) fn of_counts(analysis: &Analysis, sample: &HistogramSample) -> Option<Readings> {
    let known = &sample.known;
    let (mean_ns, _) = known.histogram.mean_ns()?;
    let at = |share: f64| known.histogram.quantile(share);
    if let (Some(low), Some(half), Some(high)) = (at(0.25), at(0.5), at(0.75)) {
        // From the top of the bucket of the first quartile to the bottom of the third's.
        let spread_ms = (high.low_ns as f64 - low.high_ns as f64) / 1e6;
        if is_a_platters(spread_ms, half.high_ns as f64 / 1e6) {
            return None;
        }
    }
    let bytes = known.bytes.map_or(4096.0, f64::from);
    let request = Request { op: known.op.unwrap_or(Op::Read), bytes, sequential: None };
    let s0 = |medium| HealthyServiceTime::of(&[(medium, 1.0)], request, None).slowest_ms();
    readings(analysis, known.device, mean_ns / 1e6, &s0, SLOW)
}

/// The readings of a finding: of any listing and disk in it.
fn of_finding(analysis: &Analysis, finding: &Finding) -> Option<Readings> {
    let about = |listing: usize, device: DeviceId| {
        finding.subject.listings.contains(&listing)
            && finding.subject.device.is_none_or(|id| analysis.disk(id) == analysis.disk(device))
    };
    let traces = analysis.traces.iter().filter(|trace| about(trace.listing, trace.device));
    let mut traces = traces.peekable();
    if traces.peek().is_some() {
        return traces.find_map(|trace| of_trace(analysis, trace));
    }
    let rows =
        analysis.intervals.iter().filter(|row| about(row.listing, row.device) && row.per_s() > 0.0);
    let worst = rows.max_by(|a, b| {
        let of = |row: &IntervalSample| row.await_ms().unwrap_or(0.0);
        of(a).total_cmp(&of(b))
    });
    let counted = analysis.histograms.iter();
    let counted = counted.filter(|sample| about(sample.listing, sample.known.device));
    worst
        .and_then(|row| of_row(analysis, row))
        .or_else(|| counted.filter_map(|sample| of_counts(analysis, sample)).next())
}

/// Whether it rests on averages of writes that may be durable, because flags are unknown.
fn may_be_durable(analysis: &Analysis, finding: &Finding) -> bool {
    let about = |row: &&IntervalSample| {
        finding.subject.listings.contains(&row.listing)
            && finding.subject.device.is_none_or(|id| analysis.disk(id) == row.disk)
    };
    let slow =
        |row: &IntervalSample| row.await_ms().is_some_and(|ms| ms > HEALTHY * row.s0.slowest_ms());
    analysis.intervals.iter().filter(about).any(|row| row.may_be_durable() && slow(row))
}

/// Whether an answer depends on an assumption: about the class, or about the writes.
pub(crate) fn is_open(analysis: &Analysis, finding: &Finding) -> bool {
    of_finding(analysis, finding).is_some() || may_be_durable(analysis, finding)
}

/// Limits a finding that depends on the assumed class: neither a clean verdict nor an accusation is
/// firm then. In the lab a clean verdict would deserve more, because slow flash is rare there.
pub(crate) fn bound(analysis: &Analysis, finding: &mut Finding) {
    let holds = match finding.verdict {
        // What programs waited for rests on no class.
        Verdict::Healthy if finding.share_is_assumed => false,
        Verdict::Healthy => analysis.options.calibration == Calibration::Field,
        Verdict::DeviceSlow => true,
        _ => false,
    };
    if holds && finding.confidence() > SHAPE_ALONE && is_open(analysis, finding) {
        finding.bound("the verdict depends on the assumed class of the device", SHAPE_ALONE);
    }
}
