//! The device's work for each request: service time, parallelism, busy time.

use iowhy_model::Op;

/// One request as the replay and the shape measures want it. Slices of spans are sorted by
/// completion ([`sort`]).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ServiceSpan {
    /// When it was queued, if that was seen.
    pub queued_ns: Option<i64>,
    /// When it was issued to the device.
    pub issued_ns: i64,
    /// When it completed.
    pub completed_ns: i64,
    /// Its length in bytes.
    pub bytes: u32,
    /// Its first sector, if known.
    pub sector: Option<u64>,
    /// What it asked for.
    pub op: Op,
}

impl ServiceSpan {
    /// Issue to completion (D2C), ns; never negative.
    pub fn latency_ns(&self) -> f64 {
        self.completed_ns.saturating_sub(self.issued_ns).max(0) as f64
    }

    /// When it entered the block layer, as far as was seen: queued, else issued.
    pub fn started_ns(&self) -> i64 {
        self.queued_ns.unwrap_or(self.issued_ns).min(self.issued_ns)
    }

    /// Start to completion (Q2C where the queue was seen, else D2C), ns; never negative.
    pub fn waited_ns(&self) -> f64 {
        self.completed_ns.saturating_sub(self.started_ns()).max(0) as f64
    }
}

/// Sorts by completion, then by issue: the order all measures expect.
pub fn sort(spans: &mut [ServiceSpan]) {
    spans.sort_by_key(|span| (span.completed_ns, span.issued_ns));
}

/// Requests in flight when each one was issued, itself included; in the order of `spans`.
pub fn in_flight(spans: &[ServiceSpan]) -> Vec<u32> {
    let mut completions: Vec<i64> = spans.iter().map(|span| span.completed_ns).collect();
    completions.sort_unstable();
    let mut issues: Vec<i64> = spans.iter().map(|span| span.issued_ns).collect();
    issues.sort_unstable();
    spans
        .iter()
        .map(|span| {
            let issued = issues.partition_point(|t| *t <= span.issued_ns);
            let done = completions.partition_point(|t| *t <= span.issued_ns);
            issued.saturating_sub(done).max(1) as u32
        })
        .collect()
}

/// Time with at least one request in flight, ns.
pub fn busy_ns(spans: &[ServiceSpan]) -> f64 {
    let mut spans: Vec<(i64, i64)> =
        spans.iter().map(|span| (span.issued_ns, span.completed_ns)).collect();
    spans.sort_unstable();
    let mut busy = 0.0;
    let mut until = i64::MIN;
    for (start, end) in spans {
        busy += end.saturating_sub(start.max(until)).max(0) as f64;
        until = until.max(end);
    }
    busy
}

/// Completions per millisecond of busy time (X_busy).
pub fn per_busy_ms(spans: &[ServiceSpan]) -> Option<f64> {
    let busy_ms = busy_ns(spans) / 1e6;
    (busy_ms > 0.0).then(|| spans.len() as f64 / busy_ms)
}

/// The observed pace of a device, as far as it shows its parallelism.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pace {
    /// Completions per millisecond of busy time (X_busy).
    pub per_busy_ms: f64,
    /// Most requests in flight at once.
    pub deepest: usize,
}

impl Pace {
    /// The pace of a list of spans; `None` without busy time.
    pub fn of(spans: &[ServiceSpan]) -> Option<Pace> {
        let deepest = in_flight(spans).into_iter().max()? as usize;
        Some(Pace { per_busy_ms: per_busy_ms(spans)?, deepest })
    }

    /// How many requests the device serves at once, judged by how many more it completes per
    /// busy time than one healthy server of `s0_ns` could; at most the deepest flight seen.
    pub fn servers(&self, s0_ns: f64) -> usize {
        let load = self.per_busy_ms * s0_ns / 1e6;
        // 1.9 and 1.35: docs/METHOD.md, 2 Service times; a lone server whose S0 is overrated by up
        // to 1.9 stays one.
        if load > 1.9 { ((load / 1.35).round() as usize).clamp(1, self.deepest.max(1)) } else { 1 }
    }
}

/// [`Pace::servers`] of a list of spans.
pub fn servers(spans: &[ServiceSpan], s0_ns: f64) -> usize {
    Pace::of(spans).map_or(1, |pace| pace.servers(s0_ns))
}

/// The service time of each request, ns: from its issue, or from the completion that freed a
/// server if that came later, to its own completion. Patterns are sought here, never in latencies:
/// a queue ramp draws steps in latency and none in service.
pub fn services(spans: &[ServiceSpan], servers: usize) -> Vec<f64> {
    let servers = servers.max(1);
    spans
        .iter()
        .enumerate()
        .map(|(rank, span)| {
            let freed = rank
                .checked_sub(servers)
                .and_then(|earlier| spans.get(earlier))
                .map_or(i64::MIN, |earlier| earlier.completed_ns);
            span.completed_ns.saturating_sub(span.issued_ns.max(freed)).max(0) as f64
        })
        .collect()
}

/// A read of 4 KiB for tests.
#[cfg(test)]
pub fn span(issued_ns: i64, completed_ns: i64) -> ServiceSpan {
    ServiceSpan {
        queued_ns: None,
        issued_ns,
        completed_ns,
        bytes: 4096,
        sector: None,
        op: Op::Read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::listings;

    #[test]
    fn dusty_disk_reads_one_after_the_other() {
        let worst = listings::worst();
        assert_eq!(servers(&worst, 1e6), 1);
        assert!(in_flight(&worst).iter().all(|n| *n <= 2));
        // Reads overlap by 0.1 ms at most: the next is issued as the last completes.
        let longest = services(&worst, 1).into_iter().fold(0.0, f64::max);
        assert!((longest - 235.87e6).abs() < 0.1e6, "{longest}");
    }

    #[test]
    fn a_queue_is_taken_out_of_the_service_time() {
        let batch: Vec<ServiceSpan> = (1..=5).map(|i| span(0, i * 10)).collect();
        assert_eq!(services(&batch, 1), [10.0; 5]);
        assert_eq!(in_flight(&batch), [5; 5]);
        assert_eq!(services(&batch, 2), [10.0, 20.0, 20.0, 20.0, 20.0]);
    }

    #[test]
    fn a_device_that_completes_more_than_one_server_could_is_parallel() {
        // 32 in flight, each 1 ms, one completion every 1/32 ms.
        let deep: Vec<ServiceSpan> =
            (0..3200).map(|i| span(i * 31_250, i * 31_250 + 1_000_000)).collect();
        let found = servers(&deep, 1e6);
        assert!((20..=32).contains(&found), "{found}");
        assert_eq!(servers(&[], 1e6), 1);
        assert!((busy_ns(&deep) - (3199.0 * 31_250.0 + 1e6)).abs() < 1.0);
    }
}
