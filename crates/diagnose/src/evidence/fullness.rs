//! Whether a disk is at its capacity, from averages: it never pauses, requests wait, and a deeper
//! queue brings no more.

use crate::analysis::Analysis;
use crate::analysis::samples::IntervalSample;
use crate::facts::disk_names;
use crate::measures::elasticity::{self, Load};

/// How far apart the depths must be for two loads: within one load the noise of one-second averages
/// has its own slope.
const TWO_LOADS: f64 = 1.5;
/// Bytes of a request from which on its transfer is a good part of it on any disk (a choice: 1 ms
/// at 128 MiB/s).
const LARGE: f64 = 131_072.0;
/// No queueing device is steeper than this: throughput cannot grow faster than the number in
/// flight, and a fall twice as fast has another cause (another load).
const STEEPEST: f64 = 2.0;
/// Elasticity below which a device is saturated (docs/METHOD.md, 9 Elasticity and averages).
const SATURATED: f64 = 0.2;

/// Elasticity of the throughput of a row's disk over the rows of its input, and how many these are;
/// `None` if they are of one depth, whose points have no meaningful slope.
pub(crate) fn elasticity(analysis: &Analysis, row: &IntervalSample) -> Option<(f64, usize)> {
    let of_it = || {
        analysis.intervals.iter().filter(|other| {
            other.disk == row.disk && analysis.host(other.listing) == analysis.host(row.listing)
        })
    };
    // Where the transfer is most of each request, bytes are what is limited: their number moves
    // with their size.
    let is_large = |other: &IntervalSample| other.interval.mean_bytes().is_none_or(|b| b >= LARGE);
    let in_bytes = of_it().any(|other| other.per_s() > 0.0) && of_it().all(is_large);
    let loads: Vec<Load> = of_it()
        .filter_map(|other| {
            // Of the time in which there was work: a row that begins or ends within has less of
            // both.
            let busy = other.interval.busy.filter(|busy| *busy > 0.0).unwrap_or(1.0).min(1.0);
            let in_flight = other.interval.queue_len? / busy;
            let rate = if in_bytes { other.interval.bytes_per_s() } else { other.per_s() };
            Some(Load { per_s: rate / busy, in_flight })
        })
        .collect();
    let depths = || loads.iter().map(|load| load.in_flight).filter(|depth| *depth > 0.0);
    let (least, most) = (depths().fold(f64::INFINITY, f64::min), depths().fold(0.0, f64::max));
    let slope = elasticity::elasticity(&loads)
        .filter(|eps| eps.abs() < STEEPEST && most > TWO_LOADS * least)?;
    Some((slope, loads.len()))
}

/// Requests in flight from which on a queue may be the story (a choice: half of a SATA drive's own
/// queue).
pub(crate) const DEEP: f64 = 16.0;

/// Whether a disk that serves one request after the other never pauses in a row while two or more
/// are in flight, and gives no more with more of them.
pub(crate) fn is_full(analysis: &Analysis, row: &IntervalSample) -> bool {
    row.is_full()
        && row.is_serial()
        && !disk_names::is_stacked(&row.disk)
        && elasticity(analysis, row).is_none_or(|(slope, _)| slope < SATURATED)
}
