//! The cost of durability: empty flushes, and writes that must be on the medium before they return.

use super::spans::Spans;
use super::spread;

/// What a request is to the write cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An empty flush.
    Flush,
    /// A write with FUA or a flush in front.
    Durable,
    /// Any other write.
    Plain,
    /// No write at all.
    Other,
}

/// One request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ServedRequest {
    /// Its start, ns.
    pub start_ns: i64,
    /// Its end, ns.
    pub end_ns: i64,
    /// What it is.
    pub kind: Kind,
}

impl ServedRequest {
    fn ns(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64
    }
}

/// The cost of durability on a device.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlushCost {
    /// Empty flushes and durable writes.
    pub n: usize,
    /// Plain writes.
    pub plain: usize,
    /// Mean latency of the first, ns.
    pub mean_ns: f64,
    /// Their median, ns.
    pub median_ns: f64,
    /// Median latency of plain writes, ns, if there are any.
    pub plain_ns: Option<f64>,
    /// Median of the first over that of the second.
    pub ratio: Option<f64>,
    /// Share of the busy time in which one of the first was under way.
    pub busy_share: f64,
}

/// The cost that some requests show; `None` without a flush or durable write.
pub fn flushing(served: &[ServedRequest]) -> Option<FlushCost> {
    let durable = |one: &&ServedRequest| matches!(one.kind, Kind::Flush | Kind::Durable);
    let times: Vec<f64> = served.iter().filter(durable).map(ServedRequest::ns).collect();
    let of_plain = |one: &&ServedRequest| one.kind == Kind::Plain;
    let plain: Vec<f64> = served.iter().filter(of_plain).map(ServedRequest::ns).collect();
    let (mean_ns, median_ns) = (spread::mean(&times)?, spread::median(&times)?);
    let union = |keep: &dyn Fn(&&ServedRequest) -> bool| {
        let kept = served.iter().filter(|one| keep(one)).map(|one| (one.start_ns, one.end_ns));
        Spans::of(kept).total_ns()
    };
    let busy = union(&|_| true);
    let plain_ns = spread::median(&plain);
    Some(FlushCost {
        n: times.len(),
        plain: plain.len(),
        mean_ns,
        median_ns,
        plain_ns,
        ratio: plain_ns.filter(|ns| *ns > 0.0).map(|ns| median_ns / ns),
        busy_share: if busy > 0.0 { union(&durable) / busy } else { 0.0 },
    })
}

/// Whether other requests begin and end while a durable one is under way, for most of these: then
/// they do not wait for it, and a flush that is as slow as they are waits with them.
pub fn is_overtaken(served: &[ServedRequest]) -> bool {
    let durable = |one: &&ServedRequest| matches!(one.kind, Kind::Flush | Kind::Durable);
    let others = || served.iter().filter(|one| !durable(one));
    let mut starts: Vec<i64> = others().map(|one| one.start_ns).collect();
    let mut ends: Vec<i64> = others().map(|one| one.end_ns).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    let before = |of: &[i64], time: i64| of.partition_point(|other| *other <= time);
    let is_overtaken = |one: &&ServedRequest| {
        let ended = before(&ends, one.start_ns);
        let in_flight = before(&starts, one.start_ns).saturating_sub(ended);
        before(&ends, one.end_ns).saturating_sub(ended) > in_flight
    };
    let (all, overtaken) = (
        served.iter().filter(durable).count(),
        served.iter().filter(durable).filter(is_overtaken).count(),
    );
    2 * overtaken > all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_and_ends_beside_a_flush_overtakes_it() {
        let one = |start_ns, end_ns, kind| ServedRequest { start_ns, end_ns, kind };
        // Two in flight when it begins end after it, as behind a barrier; then four more end within
        // it.
        let barrier = [
            one(0, 55, Kind::Plain),
            one(5, 56, Kind::Plain),
            one(10, 50, Kind::Flush),
            one(20, 58, Kind::Plain),
        ];
        assert!(!is_overtaken(&barrier));
        let busy = [12, 20, 28, 36].map(|start| one(start, start + 8, Kind::Plain));
        assert!(is_overtaken(&[&barrier[2..3], &busy].concat()));
        assert!(!is_overtaken(&[]));
    }

    #[test]
    fn worked_numbers() {
        let one = |start_ns, end_ns, kind| ServedRequest { start_ns, end_ns, kind };
        let served = [
            one(0, 10, Kind::Plain),
            one(10, 50, Kind::Flush),
            one(20, 60, Kind::Durable),
            one(60, 70, Kind::Plain),
            one(90, 120, Kind::Other),
        ];
        let found = flushing(&served).unwrap();
        assert_eq!((found.n, found.plain, found.mean_ns), (2, 2, 40.0));
        assert_eq!((found.plain_ns, found.ratio), (Some(10.0), Some(4.0)));
        // 10 to 60 of 0 to 70 and 90 to 120.
        assert!((found.busy_share - 0.5).abs() < 1e-12);
        assert_eq!(flushing(&served[..1]), None);
    }
}
