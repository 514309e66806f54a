//! The reported problem: lost time, or numbers posted because something is slow.

use iowhy_model::{Layer, Listing};

use crate::analysis::{Analysis, Host};
use crate::evidence::confidence::NOTICEABLE;

/// Weight of a stated cause without a measured effect (choice).
pub(crate) const STATED: f64 = 0.66;
/// And its assumed share of the excess (choice).
pub(crate) const UNKNOWN_SHARE: f64 = 0.5;

/// Mean latency over the slowest class in question below which a disk is healthy (docs/METHOD.md, 1
/// Replay: healthy if L < 3 S0).
const HEALTHY_RATIO: f64 = 3.0;

/// Whether disks of the input were measured, and each responds like a healthy one: time adds up
/// under load although no program waits long.
pub(crate) fn all_answer_well(analysis: &Analysis, host: Host) -> bool {
    let here = |listing: usize| analysis.host(listing) == host;
    // What a program saw above them may wait long all the same.
    let above = |listing: &Listing| {
        listing.events.iter().any(|event| event.layer != Layer::Block)
            || listing.intervals.iter().any(|row| row.layer != Layer::Block)
    };
    let mut listings = analysis.listings();
    if listings.any(|(place, listing)| here(place) && above(listing)) {
        return false;
    }
    let traces = analysis.traces.iter().filter(|trace| here(trace.listing));
    let traces = traces.map(|trace| (trace.mean_ns() / 1e6, trace.s0.slowest_ms()));
    let rows = analysis.intervals.iter().filter(|row| here(row.listing) && row.per_s() > 0.0);
    let rows = rows.map(|row| (row.await_ms().unwrap_or(f64::INFINITY), row.s0.slowest_ms()));
    let counted = analysis.histograms.iter().filter(|sample| here(sample.listing));
    let counted = counted.filter_map(|sample| {
        Some((sample.known.histogram.mean_ns()?.0 / 1e6, sample.s0.slowest_ms()))
    });
    let mut means = traces.chain(rows).chain(counted).peekable();
    means.peek().is_some() && means.all(|(mean_ms, s0_ms)| mean_ms < HEALTHY_RATIO * s0_ms)
}

/// Whether a disk that `is_of` chooses, by its input and its name, lost time worth reporting, or
/// none of them was measured: such numbers are posted because of a problem.
pub(crate) fn is_felt(analysis: &Analysis, is_of: impl Fn(Host, &str) -> bool) -> bool {
    let mut measured = analysis.lost.iter().filter(|(host, disk, _)| is_of(*host, disk)).peekable();
    measured.peek().is_none() || measured.any(|(_, _, lost)| *lost >= NOTICEABLE)
}
