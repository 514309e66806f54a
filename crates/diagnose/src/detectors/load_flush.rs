//! Flushes and synchronous writes take most of the time.
//!
//! ## Accuses
//! The load and its durability requirement: data must be on the medium before the program
//! continues, so the write cache of the device is flushed again and again.
//!
//! ## Why it matters
//! A healthy disk writes in a fraction of a millisecond and flushes in ten. A program that calls
//! `fsync` after every record pays ten milliseconds each time; a faster disk of the same kind does
//! not help, but a cache with power-loss protection or fewer flushes do.
//!
//! ## Needs
//! A trace with the flags of each request (`iowhy why`, `biosnoop -P`, `perf script` of the block
//! events) makes it certain. From averages that count flushes (`/proc/diskstats` and `iostat -x`
//! since Linux 5.5) it is suspected. A program's log that contains only flushes beyond a limit
//! (etcd, Ceph) is not evidence: the number of fast ones is not known, and a flush of a second
//! waits for a slow device or much other I/O. If such a log names the tasks (`ext4slower`), a task
//! that spends 30 % of its time or more in flushes is limited by them; if flushes are 80 % of the
//! time of all slow operations, and 5 % of the time watched, they are suspected. In `iotop`, a
//! thread that commits a journal (`jbd2`) and waits for I/O 60 % of its time shows it, if a program
//! writes meanwhile: else one commit that its disk does not finish looks the same.
//!
//! ## Rule
//! Empty flushes and writes with FUA or a preceding flush are in flight for more than 30 % of the
//! busy time, or take more than three times as long as plain writes; they take three times the
//! healthy time of a plain write; and they take at least 5 % of the time watched. If plain writes
//! or reads are also slow, the flushes must still take twice as long as those: I/O that starts and
//! completes during a flush does not wait for it. Where latencies are counted by operation, without
//! times: flushes take half of all time in I/O, and three times a write. Or one way to flush of a
//! test (`pg_test_fsync`) takes 20 times as long as all others: only that one is durable. Or a RAID
//! controller's write cache is off although it is configured, or its volume is RAID 5 or 6 of
//! spinning disks and writes through.
//!
//! ## Wrong if
//! The device acknowledges a flush before it is done, or all other I/O on it is also slow.
//!
//! ## Next step
//! Use group commit, use a device with power-loss protection, and check whether `write_cache` is
//! `write back` although the cache is protected.

use iowhy_model::{Bound, Evidence, Finding, Flags, Forecast, Layer, Level, Nanos, Op, Verdict};

use crate::analysis::Analysis;
use crate::analysis::requests::{self, Requests};
use crate::analysis::samples::{HistogramSample, IntervalSample};
use crate::baseline::healthy_time;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::committers;
use crate::evidence::confidence::{self, PRIOR_OF_LOAD};
use crate::evidence::programs;
use crate::measures::durability::{self, FlushCost, Kind, ServedRequest};
use crate::measures::spans::Spans;
use crate::measures::spread;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadFlush,
    summary: "Flushes and synchronous writes take most of the time",
    manual: iowhy_model::manual!("load_flush.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::D,
        seconds: 30,
        what: "the flags of each write and the latency of each flush",
    },
    explains: &[Verdict::DeviceSlow, Verdict::LoadSaturated],
    rule: Rule::Detect(detect),
};

/// Bounds of the rule (docs/METHOD.md, 10 Rules): share of the busy time, and times a plain write.
const BUSY_SHARE: f64 = 0.3;
const TIMES_PLAIN: f64 = 3.0;
/// Flushes must be slower than everything else by this, or the whole device is slow: slightly above
/// half of the bound above, so that a flush that waits for one slow write is not blamed.
const TIMES_OTHERS: f64 = 2.0;
/// Which of the nine write times assumes an enabled cache: the third lowest.
const CACHED: usize = 2;
/// Share of all time in I/O from which on flushes are what programs wait for (a choice).
const MOST: f64 = 0.5;
/// Flushes that decide (docs/METHOD.md, 10 Rules: ten events).
const MIN_REQUESTS: usize = 10;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traced = analysis.requests.iter().filter_map(|requests| from_events(analysis, requests));
    let rows = analysis.rows_by_listing().into_iter().filter_map(|rows| from_rows(analysis, &rows));
    let counted = analysis.histograms.iter().filter_map(|flushes| from_counts(analysis, flushes));
    let waits = programs::flushes(analysis, DETECTOR.verdict);
    let held_up = programs::held_up(analysis, DETECTOR.verdict).into_iter();
    let held_up = held_up.chain(programs::one_durable_way(analysis, DETECTOR.verdict));
    let off = programs::cache_off(analysis, DETECTOR.verdict);
    let uncached = programs::parity_without_cache(analysis, DETECTOR.verdict);
    let commits = committers::of_journals(analysis, DETECTOR.verdict);
    traced
        .chain(rows)
        .chain(counted)
        .chain(waits)
        .chain(held_up)
        .chain(off)
        .chain(uncached)
        .chain(commits)
        .collect()
}

fn from_events(analysis: &Analysis, requests: &Requests) -> Option<Finding> {
    let served: Vec<ServedRequest> = requests
        .events
        .iter()
        .filter_map(|event| {
            let (start_ns, end_ns) = requests::stretch(event)?;
            Some(ServedRequest { start_ns, end_ns, kind: kind(event.op, event.flags) })
        })
        .collect();
    let found = durability::flushing(&served).filter(|found| found.n >= MIN_REQUESTS)?;
    let s0_ns = plain_s0_ms(analysis, requests.device) * 1e6;
    let durable = |one: &&ServedRequest| matches!(one.kind, Kind::Flush | Kind::Durable);
    // Writes during a flush wait for it too: a plain write is one without a flush in progress.
    let spans = Spans::of(served.iter().filter(durable).map(|one| (one.start_ns, one.end_ns)));
    let met_none = served
        .iter()
        .filter(|one| one.kind == Kind::Plain && !spans.meets(one.start_ns, one.end_ns))
        .map(|one| one.end_ns.saturating_sub(one.start_ns) as f64)
        .collect::<Vec<f64>>();
    let plain_ns = spread::median(&met_none).filter(|_| met_none.len() >= MIN_REQUESTS);
    let plain_ns = plain_ns.unwrap_or(s0_ns).max(s0_ns);
    // What overtakes a flush does not wait for it.
    let held_up = if durability::is_overtaken(&served) { Spans::default() } else { spans };
    let excess =
        |one: &ServedRequest| (one.end_ns.saturating_sub(one.start_ns) as f64 - plain_ns).max(0.0);
    let behind =
        |one: &ServedRequest| excess(one).min(held_up.covered_ns(one.start_ns, one.end_ns));
    let others = served.iter().filter(|one| !durable(one)).map(behind).sum::<f64>();
    let own: f64 = served.iter().filter(durable).map(excess).sum();
    let (mine, lost) = (own + others, own / requests.span_ns());
    let dear = found.median_ns > TIMES_PLAIN * s0_ns;
    let holds = found.busy_share > BUSY_SHARE
        || (found.plain >= MIN_REQUESTS && found.ratio.is_some_and(|ratio| ratio > TIMES_PLAIN));
    if !dear
        || !holds
        || lost < confidence::NOTICEABLE
        || all_slow(analysis, requests, &held_up, &found)
    {
        return None;
    }
    // A trace has all but the empty flushes.
    let empty: f64 = served.iter().filter(|one| one.kind == Kind::Flush).map(excess).sum();
    let trace = analysis.trace(requests.listing, requests.device);
    let all = empty + trace.map_or(0.0, |trace| trace.lost_ns());
    let n = found.n as u64;
    let per_s = found.n as f64 / (requests.span_ns() / 1e9);
    let disk = phrase::disk(&requests.disk);
    let mut finding = new_finding(DETECTOR.verdict, Some(requests.device), vec![requests.listing]);
    finding.sentence = sentence(disk, per_s, found.median_ns / 1e6, plain_ns / 1e6);
    let computed = analysis.computed(requests.listing, n);
    finding.evidence = vec![
        computed.count("flushes and durable writes", found.n as f64),
        computed.per_s("flushes and durable writes per second", per_s),
        computed.ms("their median latency", found.median_ns / 1e6),
        computed.ms("their mean latency", found.mean_ns / 1e6),
        if_held(
            computed.share("share of busy time with a flush in flight", found.busy_share),
            Bound::Above(BUSY_SHARE),
        ),
        computed.seconds("time lost, per second", lost).above(confidence::NOTICEABLE).weighs(),
    ];
    if let (Some(plain), Some(ratio)) = (found.plain_ns, found.ratio) {
        let count = found.plain as u64;
        finding.evidence.extend([
            computed.over(count).ms("median latency of plain writes", plain / 1e6),
            if_held(
                computed.ratio("latency ratio to a plain write", ratio),
                Bound::Above(TIMES_PLAIN),
            ),
        ]);
    }
    let estimated = analysis.estimated(requests.listing, 1);
    finding.evidence.push(estimated.ms("a plain write of its class", s0_ns / 1e6));
    // The two clauses of the rule are about the same thing: the stronger one counts.
    let share = confidence::above("busy share of flushes", found.busy_share, BUSY_SHARE);
    let times = found
        .ratio
        .map(|ratio| confidence::above("latency ratio to a plain write", ratio, TIMES_PLAIN));
    let stronger = match times {
        Some(times) if times.nats > share.nats => times,
        _ => share,
    };
    confidence::believe(&mut finding, PRIOR_OF_LOAD, [stronger]);
    finding.explained_share = if all > 0.0 { mine / all } else { 1.0 };
    finding.forecast = Some(Forecast::of_means(
        Nanos(found.mean_ns as i64),
        Nanos(plain_ns as i64),
        "with a power-loss protected write cache, a flush or durable write takes as long as a \
             plain write",
    ));
    advise(&mut finding, &requests.disk);
    Some(finding)
}

/// One of two sufficient numbers, compared with its bound if it is the one that satisfies it.
fn if_held(evidence: Evidence, bound: Bound) -> Evidence {
    if bound.holds(evidence.amount.value) { evidence.held(bound) } else { evidence }
}

fn kind(op: Op, flags: Flags) -> Kind {
    match op {
        Op::Flush => Kind::Flush,
        Op::Write if flags.has(Flags::FUA) || flags.has(Flags::PREFLUSH) => Kind::Durable,
        Op::Write => Kind::Plain,
        _ => Kind::Other,
    }
}

/// What a plain write of 4 KB takes, cached, on a device of the class: flushes are sent only if the
/// cache is on, so the slower times, without one, are excluded.
fn plain_s0_ms(analysis: &Analysis, device: iowhy_model::DeviceId) -> f64 {
    let request = healthy_time::Request { op: Op::Write, bytes: 4096.0, sequential: Some(true) };
    analysis.healthy_time(device, request, None).votes_ms[CACHED]
}

/// Whether reads or plain writes are nearly as slow, and slower than healthy, besides waiting for
/// durable ones.
fn all_slow(analysis: &Analysis, requests: &Requests, spans: &Spans, found: &FlushCost) -> bool {
    [Op::Read, Op::Write].into_iter().any(|op| {
        let others: Vec<f64> = requests
            .of(op)
            .filter(|event| matches!(kind(event.op, event.flags), Kind::Plain | Kind::Other))
            .filter_map(requests::stretch)
            .map(|stretch| requests::length_ns(stretch) - spans.covered_ns(stretch.0, stretch.1))
            .collect();
        let request = healthy_time::Request { op, bytes: 4096.0, sequential: None };
        let s0_ns = analysis.healthy_time(requests.device, request, None).slower_end_ms() * 1e6;
        let median = spread::median(&others).filter(|_| others.len() >= MIN_REQUESTS);
        median.is_some_and(|ns| ns > TIMES_PLAIN * s0_ns && found.median_ns < TIMES_OTHERS * ns)
    })
}

/// From averages: the row in which flushes cost most.
fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    let cost = |row: &IntervalSample| {
        let flushes = row.interval.of(Op::Flush)?;
        Some((flushes.ios_per_s, flushes.await_ns? / 1e6))
    };
    let time = |row: &IntervalSample| cost(row).map_or(0.0, |(per_s, ms)| per_s * ms / 1000.0);
    let row = rows.iter().filter(|row| row.agrees).max_by(|a, b| time(a).total_cmp(&time(b)))?;
    let (per_s, ms) = cost(row)?;
    let seconds = row.interval.length.map_or(1.0, |length| length.seconds());
    let plain_ms = plain_s0_ms(analysis, row.device);
    // The kernel does not count an empty flush as busy time: it may exceed the rest.
    let busy = row.interval.busy.unwrap_or(0.0).max(time(row)).max(f64::MIN_POSITIVE);
    let share = time(row) / busy;
    let others = row.await_ms().unwrap_or(0.0);
    let all_slow = others > TIMES_PLAIN * row.s0.slowest_ms() && ms < TIMES_OTHERS * others;
    let few = per_s * seconds < MIN_REQUESTS as f64;
    let dear = ms > TIMES_PLAIN * plain_ms;
    if few || !dear || share < BUSY_SHARE || time(row) < confidence::NOTICEABLE || all_slow {
        return None;
    }
    let n = (per_s * seconds).round() as u64;
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.sentence = sentence(phrase::disk(&row.disk), per_s, ms, plain_ms);
    let printed = analysis.printed(row.listing, n);
    finding.evidence = vec![
        printed.per_s("flushes", per_s),
        printed.ms("their mean latency (f_await)", ms),
        analysis
            .computed(row.listing, n)
            .share("share of busy time in flushes", share)
            .above(BUSY_SHARE)
            .weighs(),
        analysis.estimated(row.listing, 1).ms("a plain write of its class", plain_ms),
    ];
    let clauses = [confidence::above("mean flush, ms", ms, TIMES_PLAIN * plain_ms)];
    confidence::believe(&mut finding, PRIOR_OF_LOAD, clauses);
    let mine = per_s * (ms - plain_ms) / 1000.0;
    finding.explained_share = mine / (mine + row.lost());
    advise(&mut finding, &row.disk);
    Some(finding)
}

/// From the latencies of flushes and writes that are counted apart, without their times: flushes
/// take most of the time in I/O, and many times a plain write.
fn from_counts(analysis: &Analysis, flushes: &HistogramSample) -> Option<Finding> {
    let moves = |op: Option<Op>| op.is_some_and(|op| op != Op::Flush && op != Op::Discard);
    let is_flush = flushes.known.op == Some(Op::Flush) && flushes.known.layer == Layer::Block;
    let count = flushes.known.histogram.count();
    let (flush_ns, _) = flushes.known.histogram.mean_ns().filter(|_| is_flush)?;
    let beside = analysis.histograms.iter().filter(|other| {
        (other.listing, other.known.device, other.known.stage)
            == (flushes.listing, flushes.known.device, flushes.known.stage)
            && moves(other.known.op)
    });
    let beside: Vec<(Op, u64, f64)> = beside
        .filter_map(|other| {
            let histogram = &other.known.histogram;
            Some((other.known.op?, histogram.count(), histogram.mean_ns()?.0))
        })
        .collect();
    let (_, writes, write_ns) = *beside.iter().find(|(op, ..)| *op == Op::Write)?;
    let own = count as f64 * flush_ns;
    let all = own + beside.iter().map(|(_, n, ns)| *n as f64 * ns).sum::<f64>();
    let (share, ratio) = (own / all, flush_ns / write_ns);
    let plain_ms = plain_s0_ms(analysis, flushes.known.device).max(write_ns / 1e6);
    let many = count.min(writes) >= MIN_REQUESTS as u64;
    let dear = flush_ns / 1e6 > TIMES_PLAIN * plain_ms;
    (many && dear && share > MOST).then_some(())?;
    let device = Some(flushes.known.device);
    let mut finding = new_finding(DETECTOR.verdict, device, vec![flushes.listing]);
    finding.sentence = format!(
        "{} completed {} at {} each on average, and a write takes {}: programs that sync every \
         write wait for the flushes, {} of all time in I/O",
        phrase::disk(&flushes.disk),
        phrase::count(count as f64, "flush(es)"),
        phrase::ms(flush_ns / 1e6),
        phrase::ms(write_ns / 1e6),
        phrase::percent(share)
    );
    let computed = analysis.computed(flushes.listing, count);
    finding.evidence = vec![
        computed.ms("mean latency of flushes", flush_ns / 1e6),
        computed.over(writes).ms("mean latency of writes", write_ns / 1e6),
        computed.ratio("latency ratio to a write", ratio).above(TIMES_PLAIN),
        computed.share("share of flushes in all time in I/O", share).above(MOST),
    ];
    let clauses = [confidence::above("latency ratio to a write", ratio, TIMES_PLAIN)];
    confidence::believe(&mut finding, PRIOR_OF_LOAD, clauses);
    finding.explained_share = share;
    advise(&mut finding, &flushes.disk);
    Some(finding)
}

fn sentence(disk: &str, per_s: f64, ms: f64, plain_ms: f64) -> String {
    format!(
        "{disk} receives {} flushes or durable writes per second at {} each (a plain write takes \
         {}): programs that sync every write wait for them",
        phrase::digits(per_s),
        phrase::ms(ms),
        phrase::ms(plain_ms)
    )
}

fn advise(finding: &mut Finding, disk: &str) {
    finding.refuted_by = lines(&[
        "plain writes without a flush in flight take just as long",
        "the program is just as slow with group commit or without fsync",
    ]);
    finding.next_step = lines(&[
        "`iowhy syscalls --for 30s`: which program calls fsync, how often, how long it waits",
        "use group commit: one flush for many records",
        &format!(
            "`cat /sys/block/{disk}/queue/write_cache`: `write back` means that flushes are sent; \
             a device with power-loss protection completes them immediately"
        ),
    ]);
}
