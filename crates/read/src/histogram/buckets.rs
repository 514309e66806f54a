//! Rows of a printed histogram become edges and counts.

use iowhy_model::{DeviceId, Distribution, Edges, Histogram, Layer, Nanos, Op, Sink, Stage};

/// More I/Os than any listing can have counted: nine years of a million a second. A larger
/// number is a damaged line.
pub(crate) const COUNT_LIMIT: u64 = 1 << 48;

/// A histogram of the time that requests were in the device, in whole units of that many ns; the
/// empty name is that of a device that is not named.
pub(crate) fn in_device(
    device: &str,
    histogram: Histogram,
    unit_ns: u64,
    sink: &mut dyn Sink,
) -> Distribution {
    let source = sink.source();
    source.sees_queue = false;
    source.resolution = source.resolution.max(Some(Nanos(unit_ns as i64)));
    Distribution::new(sink.device(device), Layer::Block, Stage::Device, histogram)
}

/// Emits latencies of an application: of one operation, or of what the label says.
pub(crate) fn latencies(
    device: DeviceId,
    op: Option<Op>,
    label: &str,
    histogram: Histogram,
    sink: &mut dyn Sink,
) {
    let mut one = Distribution::new(device, Layer::Application, Stage::Total, histogram);
    one.op = op;
    one.label = (!label.is_empty()).then(|| sink.name(label));
    sink.distribution(one);
}

/// Builds a histogram from rows `(low, high, count)` in ns, each meaning `low <= v < high`, in
/// any order; rows of the same bounds are added, gaps between rows become empty buckets.
///
/// `None` if there is no row, if two rows overlap, or if the counts are absurd.
pub fn histogram_of(mut rows: Vec<(u64, u64, u64)>) -> Option<Histogram> {
    rows.retain(|(low, high, _)| low < high);
    let total = rows.iter().try_fold(0u64, |total, (_, _, count)| total.checked_add(*count))?;
    if total > COUNT_LIMIT {
        return None;
    }
    rows.sort_unstable();
    let mut edges: Vec<u64> = Vec::with_capacity(rows.len() + 1);
    let mut counts: Vec<u64> = Vec::with_capacity(rows.len());
    let mut last = None;
    for (low, high, count) in rows {
        if last == Some((low, high)) {
            *counts.last_mut()? += count;
            continue;
        }
        match edges.last() {
            None => edges.push(low),
            Some(end) if *end == low => {}
            Some(end) if *end < low => {
                edges.push(low);
                counts.push(0);
            }
            Some(_) => return None,
        }
        edges.push(high);
        counts.push(count);
        last = Some((low, high));
    }
    Histogram::from_counts(Edges::new(edges)?, counts)
}

/// This many latencies of which only the mean is known: one open bucket with an exact sum.
pub(crate) fn mean_only(count: u64, mean_ns: f64) -> Option<Histogram> {
    let count = Some(count).filter(|count| (1..=COUNT_LIMIT).contains(count))?;
    let mut histogram = Histogram::from_counts(Edges::new(vec![0, u64::MAX])?, vec![count])?;
    histogram.sum_ns = Some(mean_ns.max(0.0) * count as f64);
    Some(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_become_empty_buckets_and_overlaps_are_refused() {
        let histogram = histogram_of(vec![(8, 16, 5), (2, 4, 1), (2, 4, 2)]).unwrap();
        assert_eq!(histogram.edges().as_slice(), [2, 4, 8, 16]);
        assert_eq!(histogram.counts(), [3, 0, 5]);
        assert!(histogram_of(vec![(2, 8, 1), (4, 16, 1)]).is_none());
        assert!(histogram_of(Vec::new()).is_none());
        assert!(histogram_of(vec![(0, 1, u64::MAX), (1, 2, 1)]).is_none());
    }
}
