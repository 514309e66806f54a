//! Large requests: the latency is transfer time.
//!
//! ## Accuses
//! The size of the requests. Transferring a megabyte takes a disk 7 ms and SATA flash 2 ms, however
//! healthy it is.
//!
//! ## Why it matters
//! Latency looks bad although the goal is throughput. Small requests behind the large ones wait for
//! them (head-of-line blocking).
//!
//! ## Needs
//! Averages with request sizes, or a per-I/O log.
//!
//! ## Rule
//! Requests of 512 KiB or more on average; latency within a factor of 1.5 of fixed cost plus size
//! divided by bandwidth; and more than 70 % of the excess over a 4 KiB request is transfer time.
//!
//! ## Wrong if
//! The bandwidth itself is below the device's class.
//!
//! ## Next step
//! Accept it if throughput is the goal; otherwise reduce `max_sectors_kb` or read-ahead.

use iowhy_model::{DeviceId, Finding, Level, Op, Verdict};

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::IntervalSample;
use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::baseline::healthy_time::{HealthyServiceTime, Request};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::{self, PRIOR_OF_LOAD};
use crate::evidence::runs;
use crate::measures::service::{ServiceSpan, busy_ns};
use crate::measures::spread;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadLargeIo,
    summary: "Large requests: the latency is transfer time",
    manual: iowhy_model::manual!("load_large_io.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::A,
        seconds: 30,
        what: "size and latency of the requests",
    },
    explains: &[Verdict::LoadSaturated],
    rule: Rule::Detect(detect),
};

/// Bounds of the rule (docs/METHOD.md, 10 Rules).
const LARGE: f64 = 524_288.0;
const WITHIN: f64 = 1.5;
const TRANSFER: f64 = 0.7;
/// No request that moves its bytes is larger: `max_hw_sectors_kb` ends at 32767 KiB (libata); a
/// listing that counts discards among the writes, or calls them R as biosnoop does, shows more.
const LARGEST: f64 = 33_554_432.0;
/// How much smaller than large a request must be to contradict it: its transfer is then next to
/// nothing.
const FAR_SMALLER: f64 = 8.0;
/// The small request it is compared with.
const SMALL: f64 = 4096.0;

/// Read-ahead keeps the next request in flight beside the one that is read (two windows, mm/
/// readahead.c); beyond three the queue is the story.
const READ_AHEAD: f64 = 3.0;
/// Requests in flight over the whole time from which on programs wait for the device noticeably.
const WAITED_FOR: f64 = 0.3;

/// What one device did with its large requests.
struct Large<'a> {
    device: DeviceId,
    listing: usize,
    disk: &'a str,
    op: Op,
    bytes: f64,
    latency_ms: f64,
    /// Requests in flight while any is.
    depth: f64,
    /// And over the whole time.
    in_flight: f64,
    s0: &'a HealthyServiceTime,
    n: u64,
}

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traces = analysis.traces.iter().filter_map(|trace| from_trace(analysis, trace));
    let rows = analysis.rows_by_listing().into_iter().filter_map(|rows| from_rows(analysis, &rows));
    traces.chain(rows).chain(runs::deep(analysis, DETECTOR.verdict, true)).collect()
}

fn from_trace(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    // A discard has many bytes and moves none, whatever its letter in a log.
    let is_one = |span: &ServiceSpan| f64::from(span.bytes) <= LARGEST;
    let moves = |span: &&ServiceSpan| matches!(span.op, Op::Read | Op::Write) && is_one(span);
    let moving: Vec<&ServiceSpan> = trace.spans.iter().filter(moves).collect();
    let n = moving.len();
    let bytes = moving.iter().map(|span| f64::from(span.bytes)).sum::<f64>() / n as f64;
    let reads = moving.iter().filter(|span| span.op == Op::Read).count();
    let op = if 2 * reads >= n { Op::Read } else { Op::Write };
    let depth =
        trace.stretch().iter().map(ServiceSpan::latency_ns).sum::<f64>() / busy_ns(trace.stretch());
    let in_flight = trace.spans.iter().map(ServiceSpan::latency_ns).sum::<f64>() / trace.span_ns();
    let (device, listing, disk) = (trace.device, trace.listing, trace.disk.as_str());
    let latency_ms = trace.mean_ns() / 1e6;
    let s0 = &trace.s0;
    let n = n as u64;
    let large = Large { device, listing, disk, op, bytes, latency_ms, depth, in_flight, s0, n };
    let small = trace.spans.iter().filter(|span| f64::from(span.bytes) < LARGE / FAR_SMALLER);
    let waits: Vec<f64> = small.map(|span| span.latency_ns() / 1e6).collect();
    let as_slow =
        waits.len() >= EVENTS_NEEDED && spread::median(&waits).is_some_and(|ms| ms >= latency_ms);
    if n < EVENTS_NEEDED as u64 || as_slow { None } else { finding(analysis, &large) }
}

fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    let row = rows
        .iter()
        .filter(|row| row.agrees && analysis.traced_side(row).is_none())
        .max_by(|a, b| a.interval.bytes_per_s().total_cmp(&b.interval.bytes_per_s()))?;
    let moves = row.interval.rates.iter().filter(|(op, _)| matches!(op, Op::Read | Op::Write));
    let (op, most) = moves.max_by(|a, b| a.1.ios_per_s.total_cmp(&b.1.ios_per_s))?;
    // Small requests that wait as long as the large ones refute it.
    let as_slow = row.interval.rates.iter().any(|(other, rates)| {
        matches!(other, Op::Read | Op::Write)
            && rates.mean_bytes().is_some_and(|bytes| bytes < LARGE / FAR_SMALLER)
            && rates.ios_per_s * row.interval.length.map_or(1.0, |length| length.seconds())
                >= EVENTS_NEEDED as f64
            && rates.await_ns.zip(most.await_ns).is_some_and(|(small, large)| small >= large)
    });
    if as_slow {
        return None;
    }
    let discards = row.interval.of(Op::Discard).is_some_and(|rates| rates.ios_per_s > 0.0);
    let large = Large {
        device: row.device,
        listing: row.listing,
        disk: &row.disk,
        op: *op,
        bytes: if discards { most.mean_bytes()? } else { row.interval.mean_bytes()? },
        latency_ms: row.await_ms()?,
        depth: row.await_ms()? / row.effective_ms().unwrap_or(f64::INFINITY),
        in_flight: row.per_s() * row.await_ms()? / 1000.0,
        s0: &row.s0,
        n: 1,
    };
    finding(analysis, &large)
}

fn finding(analysis: &Analysis, large: &Large) -> Option<Finding> {
    let small = Request { op: large.op, bytes: SMALL, sequential: Some(true) };
    let small_ms = analysis.healthy_time(large.device, small, None).median_ms();
    let healthy_ms = large.s0.median_ms();
    // A request that waits for another one of its size waits for a transfer, too.
    let revolution_ms = if large.depth <= READ_AHEAD {
        large.latency_ms / large.depth.max(1.0)
    } else {
        large.latency_ms
    };
    let excess = revolution_ms - small_ms;
    let transfer = (large.s0.slower_end_ms() - small_ms).max(0.0) / excess.max(1e-9);
    // The bandwidth of a class is known to a factor: the slower end of it still counts as well.
    let over = revolution_ms / large.s0.slower_end_ms();
    if large.in_flight < WAITED_FOR
        || !(LARGE..=LARGEST).contains(&large.bytes)
        || excess <= 0.0
        || over > WITHIN
        || transfer < TRANSFER
    {
        return None;
    }
    let mut finding = new_finding(DETECTOR.verdict, Some(large.device), vec![large.listing]);
    finding.sentence = format!(
        "{} transfers {} per request, which takes {}, {} of it transfer time",
        phrase::disk(large.disk),
        phrase::bytes(large.bytes),
        phrase::ms(large.latency_ms),
        phrase::percent(transfer.min(1.0))
    );
    let healthy = format!("healthy time for that size (assumed class: {})", large.s0.assumption);
    let estimated = analysis.estimated(large.listing, large.n);
    let computed = analysis.computed(large.listing, large.n);
    finding.evidence = vec![
        computed.bytes("mean request size", large.bytes).above(LARGE).weighs(),
        computed.ms("mean latency", large.latency_ms),
        computed.ms("latency, divided by requests in flight", revolution_ms),
        estimated.ms(&healthy, healthy_ms),
        computed
            .ratio("that time, divided by the upper end of the healthy time", over)
            .below(WITHIN)
            .weighs(),
        estimated
            .share("transfer share of the excess over a 4 KiB request", transfer.min(1.0))
            .above(TRANSFER),
    ];
    confidence::believe(&mut finding, PRIOR_OF_LOAD, []);
    finding.explained_share = transfer.min(1.0);
    finding.refuted_by = lines(&["requests of 4 KiB on the same device are just as slow"]);
    finding.next_step = lines(&[
        "accept it if throughput is the goal",
        &format!(
            "otherwise reduce `/sys/block/{0}/queue/max_sectors_kb` or \
             `/sys/block/{0}/queue/read_ahead_kb`",
            large.disk
        ),
    ]);
    Some(finding)
}
