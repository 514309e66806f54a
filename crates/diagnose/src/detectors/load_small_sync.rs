//! Small unmerged I/Os, one at a time, on half-idle disks.
//!
//! ## Accuses
//! The mount options or open flags: direct or synchronous I/O. Each read and write of the program
//! then becomes a separate I/O; without read-ahead, merging or caching.
//!
//! ## Why it matters
//! Throughput is very low while every disk looks healthy and idle. A mount option can cost a factor
//! of ten or more.
//!
//! ## Needs
//! Averages raise the suspicion; a trace with sectors shows that the requests are adjacent. Mount
//! options or open flags decide it.
//!
//! ## Rule
//! Requests of 16 KiB or less on average, no more than 1.5 in flight, busy between a tenth and 60 %
//! of the time, service time at most twice the healthy one, merges below 2 %; and, if sectors are
//! known, at least 70 % are sequential. In a trace, a request must also be in flight for a tenth of
//! the time watched: otherwise no program waits. `mincache=direct`, `convosync=direct`, `sync`,
//! `dirsync`, `forcedirectio` or `directio` among the mount options adds to it.
//!
//! ## Wrong if
//! A database does its own caching and uses direct I/O on purpose.
//!
//! ## Next step
//! Remove the option, let the page cache read ahead and cluster writes, or use larger blocks.

use iowhy_model::{Clause, DeviceId, Evidence, Finding, Level, Op, Verdict};

use crate::analysis::groups::Stream;
use crate::analysis::samples::IntervalSample;
use crate::analysis::{Analysis, EVENTS_NEEDED, Host};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::{self, PRIOR_OF_LOAD};
use crate::evidence::mounts;
use crate::measures::{sequential, service, spread};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadSmallSync,
    summary: "Small unmerged I/Os, one at a time: a direct or synchronous mount",
    manual: iowhy_model::manual!("load_small_sync.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::C,
        seconds: 30,
        what: "sector and size of each request, and the mount options",
    },
    explains: &[],
    rule: Rule::Detect(detect),
};

/// The clauses of the rule (docs/METHOD.md, 10 Rules).
const SMALL: f64 = 16384.0;
const IN_FLIGHT: f64 = 1.5;
const BUSY: f64 = 0.6;
const MERGES: f64 = 0.02;
const CONTIGUOUS: f64 = 0.7;
/// Below a tenth busy nothing waits for this disk; and this few requests per second are not a
/// stream.
const BUSY_AT_ALL: f64 = 0.1;
const PER_S: f64 = 10.0;
/// From averages alone it stays a suspicion: small requests are the rule on many healthy disks.
const SUSPICION: f64 = 0.6;
/// Weight of a direct or synchronous option, in nats (docs/METHOD.md, 10 Rules).
const OPTION: f64 = 3.0;
/// The size a page cache would have sent (docs/METHOD.md, 10 Rules).
const CLUSTERED: f64 = 65536.0;
/// A run beside it is a contrast if its requests are this much larger.
const CONTRAST: f64 = 4.0;
/// The requests of one trace, put together over its disks.
struct WriteStream {
    listing: usize,
    device: DeviceId,
    n: usize,
    mean_bytes: f64,
    contiguous: f64,
    /// Most common size of reads and of writes.
    usual: Vec<(Op, u32, usize)>,
}

fn detect(analysis: &Analysis) -> Vec<Finding> {
    analysis.hosts().into_iter().filter_map(|host| finding(analysis, host)).collect()
}

fn finding(analysis: &Analysis, host: Host) -> Option<Finding> {
    let streams: Vec<WriteStream> = (0..analysis.recording.listings.len())
        .filter(|place| analysis.host(*place) == host)
        .filter_map(|place| stream_of(analysis, place))
        .collect();
    let rows: Vec<&IntervalSample> = analysis
        .intervals
        .iter()
        .filter(|row| analysis.host(row.listing) == host && is_small_and_idle(row))
        .collect();
    let bad = streams.iter().filter(|stream| is_small(stream)).max_by_key(|stream| stream.n);
    if let Some(bad) = bad {
        let alone = one_at_a_time(analysis, bad.listing, &rows)?;
        let waiting = waiting_share(analysis, bad.listing, &rows).filter(|w| *w >= BUSY_AT_ALL)?;
        return Some(from_stream(analysis, bad, &streams, &rows, (alone, waiting)));
    }
    from_rows(analysis, &rows)
}

/// The share of the time watched in which a program waited for the busiest disk; without
/// completions, that of the averages beside the trace.
fn waiting_share(analysis: &Analysis, listing: usize, rows: &[&IntervalSample]) -> Option<f64> {
    let watched_ns = analysis.source(listing).watched.map_or(0.0, |watched| watched.0 as f64);
    let traces = analysis.traces.iter().filter(|trace| trace.listing == listing);
    let traced = traces
        .map(|trace| service::busy_ns(&trace.spans) / trace.span_ns().max(watched_ns))
        .reduce(f64::max);
    traced.or(rows.iter().filter_map(|row| row.interval.busy).reduce(f64::max))
}

fn stream_of(analysis: &Analysis, listing: usize) -> Option<WriteStream> {
    let streams: Vec<&Stream> = analysis
        .streams
        .iter()
        .filter(|(at, _)| *at == listing)
        .map(|(_, stream)| stream)
        .collect();
    let busiest = streams.iter().max_by_key(|stream| stream.extents.len())?;
    let n: usize = streams.iter().map(|stream| stream.extents.len()).sum();
    let bytes: f64 =
        streams.iter().flat_map(|s| &s.extents).map(|extent| f64::from(extent.bytes)).sum();
    let (mut share, mut weight) = (0.0, 0.0);
    for stream in &streams {
        if let Some(contiguous) = sequential::contiguous_share(&stream.extents) {
            share += contiguous * stream.extents.len() as f64;
            weight += stream.extents.len() as f64;
        }
    }
    (n >= EVENTS_NEEDED && weight > 0.0).then(|| WriteStream {
        listing,
        device: busiest.device,
        n,
        mean_bytes: bytes / n as f64,
        contiguous: share / weight,
        usual: usual_sizes(&streams),
    })
}

fn usual_sizes(streams: &[&Stream]) -> Vec<(Op, u32, usize)> {
    let mut usual = Vec::new();
    for op in [Op::Read, Op::Write] {
        let mut sizes: Vec<u32> = streams
            .iter()
            .filter(|stream| stream.op == op)
            .flat_map(|stream| &stream.extents)
            .map(|extent| extent.bytes)
            .collect();
        sizes.sort_unstable();
        let common = sizes.chunk_by(|a, b| a == b).max_by_key(|run| run.len());
        if let Some(bytes) = common.and_then(|run| run.first()) {
            usual.push((op, *bytes, sizes.len()));
        }
    }
    usual
}

fn is_small(stream: &WriteStream) -> bool {
    stream.mean_bytes <= SMALL && stream.contiguous >= CONTIGUOUS
}

fn is_small_and_idle(row: &IntervalSample) -> bool {
    let interval = row.interval;
    let service = interval.device_ns.map(|ns| ns / 1e6).or(row.await_ms());
    let merges: f64 = interval.rates.iter().filter_map(|(_, rates)| rates.merges_per_s).sum();
    row.per_s() >= PER_S
        && interval.mean_bytes().is_some_and(|bytes| bytes > 0.0 && bytes <= SMALL)
        && interval.queue_len.is_some_and(|queue| queue <= IN_FLIGHT)
        && interval.busy.is_some_and(|busy| (BUSY_AT_ALL..BUSY).contains(&busy))
        && service.is_some_and(|ms| ms <= 2.0 * row.s0.slowest_ms())
        && merges <= MERGES * row.per_s()
}

/// Mean requests in flight while the trace ran: measured in it if completions were seen, else by
/// the averages beside it. `None` if more than one was in flight, or if unknown.
fn one_at_a_time(analysis: &Analysis, listing: usize, rows: &[&IntervalSample]) -> Option<f64> {
    let traces = analysis.traces.iter().filter(|trace| trace.listing == listing);
    let deepest = traces
        .map(|trace| {
            let depths = service::in_flight(&trace.spans);
            depths.iter().map(|n| f64::from(*n)).sum::<f64>() / depths.len().max(1) as f64
        })
        .reduce(f64::max);
    let averaged = rows.iter().filter_map(|row| row.interval.queue_len).reduce(f64::max);
    deepest.or(averaged).filter(|depth| *depth <= IN_FLIGHT)
}

fn from_stream(
    analysis: &Analysis,
    bad: &WriteStream,
    streams: &[WriteStream],
    rows: &[&IntervalSample],
    (alone, waiting): (f64, f64),
) -> Finding {
    let mut finding = new_finding(DETECTOR.verdict, Some(bad.device), vec![bad.listing]);
    let sizes: Vec<String> = bad
        .usual
        .iter()
        .map(|(op, bytes, _)| format!("{} of {}", phrase::plural(*op), size(*bytes)))
        .collect();
    let good = contrast(bad, streams);
    let contrast_words = good.map(|good| {
        let sizes: Vec<String> = good
            .usual
            .iter()
            .map(|(op, bytes, _)| format!("{} of {}", phrase::plural(*op), size(*bytes)))
            .collect();
        format!("; the good run for comparison sends {}", sizes.join(" and "))
    });
    let option = mounts::option(analysis);
    finding.sentence = format!(
        "the load on {} is small I/Os, one at a time: {}{}, {} of them sequential, but without \
         merging or read-ahead: with requests of 64 KiB it would be up to {} times fewer I/Os{}{}",
        phrase::disk(&analysis.recording.device_of(bad.device).name),
        sizes.join(" and "),
        each_takes(analysis, bad, rows)
            .map_or(String::new(), |ms| format!(" that take {} each", phrase::ms(ms))),
        phrase::percent(bad.contiguous),
        phrase::digits(gain(bad.mean_bytes)),
        option.as_ref().map_or(String::new(), |(_, options)| {
            let quoted: Vec<String> = options.iter().map(|option| format!("`{option}`")).collect();
            format!("; mount options {}", quoted.join(" and "))
        }),
        contrast_words.unwrap_or_default()
    );
    finding.evidence = stream_evidence(analysis, bad, alone, waiting);
    if let Some(good) = good {
        finding.evidence.extend(size_evidence(analysis, good, "usual size in the good run,"));
        finding.subject.listings.push(good.listing);
    }
    finding.evidence.extend(rows_evidence(analysis, rows));
    let clauses = [
        confidence::above("contiguous writes", bad.contiguous, CONTIGUOUS),
        confidence::below("mean size, bytes", bad.mean_bytes, SMALL),
        confidence::below("in flight", alone, IN_FLIGHT).at_most(1.0),
        Clause::fixed("averages that agree", if rows.is_empty() { 0.0 } else { 1.0 }),
        Clause::fixed("a mount option", add_option(analysis, &mut finding)),
    ];
    confidence::believe(&mut finding, PRIOR_OF_LOAD, clauses);
    close(analysis, &mut finding, bad.mean_bytes, bad.listing, bad.n as u64);
    finding
}

/// The mean latency of one of them, ms: of the trace, else of the averages beside it.
fn each_takes(analysis: &Analysis, bad: &WriteStream, rows: &[&IntervalSample]) -> Option<f64> {
    let traces = analysis.traces.iter().filter(|trace| trace.listing == bad.listing);
    let waits: Vec<f64> =
        traces.flat_map(|trace| &trace.spans).map(|span| span.latency_ns() / 1e6).collect();
    spread::mean(&waits).or_else(|| {
        let disk = analysis.disk(bad.device);
        let rows = rows.iter().filter(|row| row.disk == disk);
        let known = rows.filter_map(|row| Some((row.await_ms()?, row.requests())));
        let (sum, n) = known.fold((0.0, 0.0), |(sum, n), (wait, k)| (sum + wait * k, n + k));
        (n > 0.0).then(|| sum / n)
    })
}

/// How many times fewer page-cache-sized requests would transfer the same bytes.
fn gain(bytes: f64) -> f64 {
    CLUSTERED / bytes.max(512.0)
}

fn stream_evidence(
    analysis: &Analysis,
    bad: &WriteStream,
    alone: f64,
    waiting: f64,
) -> Vec<Evidence> {
    let n = bad.n as u64;
    let mut evidence = size_evidence(analysis, bad, "usual size of");
    let computed = analysis.computed(bad.listing, n);
    evidence.extend([
        computed.bytes("mean request size", bad.mean_bytes).below(SMALL),
        computed.share("sequential requests", bad.contiguous).above(CONTIGUOUS),
        computed.requests("requests in flight", alone).below(IN_FLIGHT),
        computed.share("time with a request in flight", waiting).above(BUSY_AT_ALL),
    ]);
    evidence
}

fn size_evidence(analysis: &Analysis, stream: &WriteStream, what: &str) -> Vec<Evidence> {
    stream
        .usual
        .iter()
        .map(|(op, bytes, n)| {
            let what = format!("{what} {}", phrase::plural(*op));
            analysis.printed(stream.listing, *n as u64).bytes(&what, f64::from(*bytes))
        })
        .collect()
}

/// The busiest row of each disk; the others would repeat it.
fn rows_evidence(analysis: &Analysis, rows: &[&IntervalSample]) -> Vec<Evidence> {
    let mut busiest: Vec<&IntervalSample> = Vec::new();
    for row in rows {
        match busiest.iter_mut().find(|known| known.disk == row.disk) {
            Some(known) if known.per_s() < row.per_s() => *known = row,
            Some(_) => {}
            None => busiest.push(row),
        }
    }
    busiest.iter().flat_map(|row| row_evidence(analysis, row)).collect()
}

fn row_evidence(analysis: &Analysis, row: &IntervalSample) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    for op in [Op::Read, Op::Write] {
        let bytes =
            row.interval.of(op).filter(|r| r.ios_per_s >= PER_S).and_then(|r| r.mean_bytes());
        let what = format!("size of {} on {}, bytes divided by rate", phrase::plural(op), row.disk);
        evidence.extend(bytes.map(|bytes| analysis.computed(row.listing, 1).bytes(&what, bytes)));
    }
    if let Some(busy) = row.interval.busy {
        let what = format!("busy share of {}", row.disk);
        evidence.push(analysis.printed(row.listing, 1).share(&what, busy).below(BUSY));
    }
    evidence
}

fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    let row = rows.iter().max_by(|a, b| a.per_s().total_cmp(&b.per_s()))?;
    let bytes = row.interval.mean_bytes()?;
    let mut disks: Vec<String> = rows.iter().map(|row| row.disk.clone()).collect();
    disks.sort();
    disks.dedup();
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.sentence = format!(
        "the load on {} is small I/Os, one at a time: {} of {}{}; with requests of 64 KiB it would \
         be up to {} times fewer I/Os",
        phrase::list(&disks),
        phrase::iops(row.per_s()),
        phrase::bytes(bytes),
        row.await_ms().map_or(String::new(), |ms| format!(" that take {} each", phrase::ms(ms))),
        phrase::digits(gain(bytes))
    );
    finding.evidence = rows_evidence(analysis, rows);
    let clause = add_option(analysis, &mut finding);
    match clause > 0.0 {
        true => confidence::believe(
            &mut finding,
            PRIOR_OF_LOAD,
            [Clause::fixed("a mount option", clause)],
        ),
        false => finding.assume(SUSPICION, "averages of small writes"),
    }
    close(analysis, &mut finding, bytes, row.listing, 1);
    Some(finding)
}

/// A run in the same input whose requests are much larger.
fn contrast<'t>(bad: &WriteStream, streams: &'t [WriteStream]) -> Option<&'t WriteStream> {
    streams
        .iter()
        .filter(|other| other.mean_bytes >= CONTRAST * bad.mean_bytes)
        .max_by(|a, b| a.mean_bytes.total_cmp(&b.mean_bytes))
}

/// Adds a direct or synchronous mount option to the evidence; returns its weight in nats.
fn add_option(analysis: &Analysis, finding: &mut Finding) -> f64 {
    let Some((reading, options)) = mounts::option(analysis) else { return 0.0 };
    let what = format!("direct or synchronous mount options: {}", options.join(" and "));
    let count = options.len() as f64;
    let evidence = analysis.printed(reading.listing, 1).count(&what, count);
    finding.evidence.push(evidence.above(0.0));
    finding.subject.listings.push(reading.listing);
    OPTION
}

fn close(analysis: &Analysis, finding: &mut Finding, bytes: f64, listing: usize, n: u64) {
    let gain = gain(bytes);
    let estimated = analysis.estimated(listing, n);
    finding.evidence.push(estimated.ratio("maximum throughput gain with requests of 64 KiB", gain));
    finding.explained_share = 1.0 - 1.0 / gain;
    finding.refuted_by = lines(&[
        "the program is a database with its own cache that uses direct I/O on purpose",
        "the same load on a buffered mount sends requests of the same size",
    ]);
    finding.next_step = lines(&[
        "check the mount and open flags: `findmnt -o TARGET,SOURCE,FSTYPE,OPTIONS`, or `mount` on \
         Solaris",
        &mounts::remount(analysis),
        "if direct I/O is intended, use larger blocks",
    ]);
}

fn size(bytes: u32) -> String {
    phrase::bytes(f64::from(bytes))
}
