//! A disk's requests of one kind as windows in time, for detecting fast and slow states.

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::groups::Group;
use crate::analysis::samples::IntervalSample;
use crate::measures::decline::Window;
use crate::measures::spread;

use iowhy_model::Op;

/// Windows a trace is laid into at most, and requests in each at least: as in the search for
/// regimes.
const WINDOWS: usize = 256;
const REQUESTS: usize = 20;

/// Windows of a trace with the load in each.
pub(crate) struct Windows {
    /// The windows, in order of completion.
    pub windows: Vec<Window>,
    /// From the first completion to the last of each, on the listing's clock, ns.
    pub times_ns: Vec<(i64, i64)>,
}

/// The requests of some groups of a trace, in windows of equal number. The cost of a request is its
/// service time.
pub(crate) fn windows(trace: &DeviceTrace, belongs: impl Fn(&Group) -> bool) -> Windows {
    let mut members: Vec<usize> = trace
        .groups
        .iter()
        .filter(|(group, _)| belongs(group))
        .flat_map(|(group, _)| group.members.iter().copied())
        .collect();
    // Visits are sorted by completion.
    members.sort_unstable();
    let size = members.len().div_ceil(WINDOWS).max(REQUESTS);
    let mut found = Windows { windows: Vec::new(), times_ns: Vec::new() };
    for chunk in members.chunks_exact(size) {
        let services: Vec<f64> =
            chunk.iter().filter_map(|place| trace.services_ns.get(*place)).copied().collect();
        let spans: Vec<_> = chunk.iter().filter_map(|place| trace.spans.get(*place)).collect();
        let (Some(cost_ns), Some(first), Some(last)) =
            (spread::mean(&services), spans.first(), spans.last())
        else {
            continue;
        };
        let bytes = spans.iter().map(|span| f64::from(span.bytes)).sum();
        found.windows.push(Window { requests: chunk.len() as f64, bytes, cost_ns });
        found.times_ns.push((first.completed_ns, last.completed_ns));
    }
    found
}

/// Rows of averages of one disk as windows: each row is one. The cost is the mean latency of the
/// operation.
pub(crate) fn of_rows(rows: &[&IntervalSample], op: Op) -> Vec<Window> {
    let window = |row: &&IntervalSample| {
        let rates = row.interval.of(op).filter(|rates| rates.ios_per_s > 0.0)?;
        let seconds = row.interval.length.map_or(1.0, |length| length.seconds());
        Some(Window {
            requests: rates.ios_per_s * seconds,
            bytes: rates.bytes_per_s? * seconds,
            cost_ns: rates.await_ns?,
        })
    };
    rows.iter().filter_map(window).collect()
}
