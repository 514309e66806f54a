//! What a device did for each request once its turn came: service time, parallelism, busy time.

use iowhy_model::Op;

/// One request as the replay and the shape measures want it. Slices of visits are sorted by
/// completion ([`sort`]).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Visit {
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

impl Visit {
    /// Issue to completion (D2C), ns; never negative.
    pub fn latency_ns(&self) -> f64 {
        self.completed_ns.saturating_sub(self.issued_ns).max(0) as f64
    }
}

/// Sorts by completion, then by issue: the order all measures expect.
pub fn sort(visits: &mut [Visit]) {
    visits.sort_by_key(|visit| (visit.completed_ns, visit.issued_ns));
}

/// Requests in flight when each one was issued, itself included; in the order of `visits`.
pub fn in_flight(visits: &[Visit]) -> Vec<u32> {
    let mut completions: Vec<i64> = visits.iter().map(|visit| visit.completed_ns).collect();
    completions.sort_unstable();
    let mut issues: Vec<i64> = visits.iter().map(|visit| visit.issued_ns).collect();
    issues.sort_unstable();
    visits
        .iter()
        .map(|visit| {
            let issued = issues.partition_point(|t| *t <= visit.issued_ns);
            let done = completions.partition_point(|t| *t <= visit.issued_ns);
            issued.saturating_sub(done).max(1) as u32
        })
        .collect()
}

/// Time with at least one request in flight, ns.
pub fn busy_ns(visits: &[Visit]) -> f64 {
    let mut spans: Vec<(i64, i64)> =
        visits.iter().map(|visit| (visit.issued_ns, visit.completed_ns)).collect();
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
pub fn per_busy_ms(visits: &[Visit]) -> Option<f64> {
    let busy_ms = busy_ns(visits) / 1e6;
    (busy_ms > 0.0).then(|| visits.len() as f64 / busy_ms)
}

/// How many requests the device serves at once, judged by how many more it completes per busy
/// time than one healthy server of `s0_ns` could; at most the deepest flight seen.
pub fn servers(visits: &[Visit], s0_ns: f64) -> usize {
    let Some(x) = per_busy_ms(visits) else { return 1 };
    let load = x * s0_ns / 1e6;
    let deepest = in_flight(visits).into_iter().max().unwrap_or(1).max(1) as usize;
    if load > 1.9 { ((load / 1.35).round() as usize).clamp(1, deepest) } else { 1 }
}

/// The service time of each request, ns: from its issue, or from the completion that freed a
/// server if that came later, to its own completion. Shapes are looked for here, never in
/// latencies: a queue ramp draws steps in latency and none in service.
pub fn services(visits: &[Visit], servers: usize) -> Vec<f64> {
    let servers = servers.max(1);
    visits
        .iter()
        .enumerate()
        .map(|(rank, visit)| {
            let freed = rank
                .checked_sub(servers)
                .and_then(|earlier| visits.get(earlier))
                .map_or(i64::MIN, |earlier| earlier.completed_ns);
            visit.completed_ns.saturating_sub(visit.issued_ns.max(freed)).max(0) as f64
        })
        .collect()
}
