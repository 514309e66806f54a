//! The write cache of a flash drive is full: writes are fast for a certain amount, then slow.
//!
//! ## Accuses
//! A drive that writes to a small fast part of its cells (SLC cache) and slows down to the rate of
//! the rest once that is full. It recovers when it has time to flush the cache.
//!
//! ## Why it matters
//! The same job is fast in a test and slow in production, and the drive passes every short
//! benchmark.
//!
//! ## Needs
//! A per-I/O log, or averages per second, before and after a slowdown; with two of them to be
//! certain.
//!
//! ## Rule
//! Writes are split into fast and slow states; a write in the slow state takes at least three times
//! as long. The bytes written from the start of each fast state to its end agree (variation below
//! 20 %) over two slowdowns or more, and temperature and throttling counters are constant. One
//! slowdown is a suspicion.
//!
//! ## Wrong if
//! Heat throttles the drive: then the amount of data varies. Burst credits of a volume run out:
//! then the slow rate is a round number. A hard disk's cache fills: the device must be flash.
//!
//! ## Next step
//! Use smaller bursts with pauses, free space and TRIM, or a drive made for sustained writes.

use iowhy_model::{Clause, Finding, Forecast, Level, Medium, Nanos, Op, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::state_windows;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::{self, PRIOR, SHAPE_ALONE};
use crate::evidence::forecast::from_latencies;
use crate::measures::decline::{self, Decline, SLOW, Window};
use crate::measures::service::ServiceSpan;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::DeviceWriteCliff,
    summary: "Write cliff: the write cache of the flash drive is full",
    manual: iowhy_model::manual!("device_write_cliff.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::C,
        seconds: 600,
        what: "the writes before and after two slowdowns",
    },
    explains: &[
        Verdict::DeviceSlow,
        Verdict::LoadLargeIo,
        Verdict::LoadSaturated,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// Variation of the bytes until a fall (docs/METHOD.md, 17 Faults).
const RECURS: f64 = 0.20;
/// Falls needed for that.
const FALLS: usize = 2;
/// A still slower state is not the end of a cache: 3 to 20 times are measured (Yoo and Shin,
/// HotStorage 2020), twice that leaves room.
const SLOWEST: f64 = 40.0;
/// A smaller amount is not a write cache: the smallest are some gigabytes, DRAM buffers end at 64
/// MB.
const SMALLEST_BYTES: f64 = 64e6;
/// What an unstated medium costs, nats: a volume's burst credits look alike.
const UNSTATED: f64 = -1.0;

/// A fall, and where it was seen.
struct Case<'a> {
    listing: usize,
    device: iowhy_model::DeviceId,
    disk: &'a str,
    requests: u64,
    windows: Vec<Window>,
    /// From the first completion to the last of each window, and the track, if I/Os were traced.
    times_ns: Vec<(i64, i64)>,
    trace: Option<&'a DeviceTrace>,
    decline: Decline,
}

fn detect(analysis: &Analysis) -> Vec<Finding> {
    cases(analysis).iter().filter_map(|case| finding(analysis, case)).collect()
}

fn cases<'s>(analysis: &'s Analysis) -> Vec<Case<'s>> {
    let mut cases = Vec::new();
    for trace in analysis.traces.iter().filter(|trace| may_be_flash(analysis, trace.device)) {
        let known = state_windows::windows(trace, |group| group.op == Op::Write);
        let (windows, times_ns) = (known.windows, known.times_ns);
        let Some(decline) = decline::decline(&windows) else { continue };
        let (listing, device, disk) = (trace.listing, trace.device, trace.disk.as_str());
        let requests = windows.iter().map(|window| window.requests).sum::<f64>() as u64;
        let trace = Some(trace);
        cases.push(Case { listing, device, disk, requests, windows, times_ns, trace, decline });
    }
    let rows_of: Vec<_> = analysis.rows_by_listing();
    for trace_less in &rows_of {
        let Some(first) = trace_less.first() else { continue };
        if !may_be_flash(analysis, first.device) {
            continue;
        }
        let windows = state_windows::of_rows(trace_less, Op::Write);
        let Some(decline) = decline::decline(&windows) else { continue };
        let place = analysis
            .intervals
            .iter()
            .find(|row| (row.listing, row.device) == (first.listing, first.device));
        let Some(place) = place else { continue };
        let (listing, device, disk) = (place.listing, place.device, place.disk.as_str());
        let requests = windows.iter().map(|window| window.requests).sum::<f64>() as u64;
        let (times_ns, trace) = (Vec::new(), None);
        cases.push(Case { listing, device, disk, requests, windows, times_ns, trace, decline });
    }
    cases
}

/// Whether flash may be inside; a platter's cache fills too, and shows nothing.
fn may_be_flash(analysis: &Analysis, device: iowhy_model::DeviceId) -> bool {
    match analysis.medium(device) {
        Some(medium) => {
            matches!(medium, Medium::Flash | Medium::Card | Medium::Nvme | Medium::Stacked)
        }
        None => {
            let is_flash = |m: &Medium| matches!(m, Medium::Flash | Medium::Card | Medium::Nvme);
            analysis.media(device).iter().any(|(m, _)| is_flash(m))
        }
    }
}

fn finding(analysis: &Analysis, case: &Case) -> Option<Finding> {
    let found = &case.decline;
    if found.ratio > SLOWEST || found.bytes() < SMALLEST_BYTES || is_hot(analysis, case) {
        return None;
    }
    let n = case.windows.len() as u64;
    let falls = found.until_fall.len();
    let mut finding = new_finding(DETECTOR.verdict, Some(case.device), vec![case.listing]);
    finding.sentence = format!(
        "{} accepts {} of writes at {} each, then takes {} for the same: its write cache is full{}",
        phrase::disk(case.disk),
        phrase::bytes(found.bytes()),
        phrase::ns(found.fast_ns),
        phrase::ns(found.slow_ns),
        if falls > 1 { format!(" (seen {falls} times)") } else { String::new() }
    );
    let computed = analysis.computed(case.listing, n);
    finding.evidence = vec![
        computed.ms("time of a write in the fast state", found.fast_ns / 1e6),
        computed.ms("time of a write in the slow state", found.slow_ns / 1e6),
        computed.ratio("time ratio slow/fast state", found.ratio).above(SLOW).weighs(),
        computed.count("transitions from fast to slow", falls as f64).above(FALLS as f64 - 1.0),
        computed.over(case.requests).of(
            "bytes written before a slowdown, median",
            found.bytes(),
            Unit::Bytes,
        ),
        computed.share("share of the lost time in slow states", found.lost_share),
    ];
    let mut clauses = vec![confidence::above("falls", falls as f64, FALLS as f64 - 0.5)];
    let recurs = found.cv();
    if let Some(cv) = recurs {
        let variation = computed.over(falls as u64).share("variation of these bytes", cv);
        finding.evidence.push(variation.below(RECURS));
        clauses.push(confidence::below("variation of the bytes before a slowdown", cv, RECURS));
    }
    if analysis.medium(case.device).is_none() {
        clauses.push(Clause::fixed("class of the device not reported", UNSTATED));
    }
    confidence::believe(&mut finding, PRIOR, clauses);
    let is_sure = falls >= FALLS && recurs.is_some_and(|cv| cv < RECURS);
    let why = "slowdowns do not recur after the same amount of data: another cause may slow the \
               writes then";
    finding.doubt_if(!is_sure, why, SHAPE_ALONE);
    finding.explained_share = found.lost_share;
    finding.forecast = forecast(case);
    finding.refuted_by = lines(&[
        "slowdowns follow time or temperature, not the amount written: then it is thermal \
         throttling",
        "the slow state is pinned at a round rate: then the burst credits of a volume are used up",
    ]);
    finding.next_step = lines(&[
        &format!(
            "write less than {} without a pause: do the slowdowns stop?",
            phrase::bytes(found.bytes())
        ),
        "`iowhy probe sustain` on a new file measures the size of the cache and the rate after it",
        "`fstrim -av` and free space enlarge the cache; for sustained writes use a drive with \
         power-loss protection and no such cache",
    ]);
    Some(finding)
}

/// Whether heat explains it: throttling counters that moved between two records.
fn is_hot(analysis: &Analysis, case: &Case) -> bool {
    let about = analysis.about(case.listing, case.disk);
    let counters = [
        key::SMART_NVME.of("thermal_temp1_transition_count"),
        key::SMART_NVME.of("thermal_temp2_transition_count"),
        key::SMART_NVME.of("warning_temp_time"),
        key::SMART_NVME.of("critical_comp_time"),
    ];
    counters.into_iter().any(|key| about.rise(key).is_some_and(|(rise, _)| rise > 0.0))
}

/// All writes as in the fast states: bursts that stay below the cache.
fn forecast(case: &Case) -> Option<Forecast> {
    let assuming = "bursts stay below the cache size and it is flushed between them".to_string();
    let is_quick = |place: usize| !case.decline.slow.iter().any(|run| run.contains(&place));
    if let Some(trace) = case.trace {
        // What a write waits for the one before it goes with the slow state too.
        let of = |(from, to): (i64, i64)| {
            let until = trace.spans.partition_point(|span| span.completed_ns <= to);
            let within = trace.spans.get(..until).unwrap_or_default();
            let writes = within.iter().rev().take_while(move |span| span.completed_ns >= from);
            writes.filter(|span| span.op == Op::Write).map(ServiceSpan::waited_ns)
        };
        let now: Vec<f64> = case.times_ns.iter().flat_map(|time| of(*time)).collect();
        let quick = case.times_ns.iter().enumerate().filter(|(place, _)| is_quick(*place));
        let quick: Vec<f64> = quick.flat_map(|(_, time)| of(*time)).collect();
        return from_latencies(&now, &quick, assuming);
    }
    let requests: f64 = case.windows.iter().map(|window| window.requests).sum();
    let cost: f64 = case.windows.iter().map(|window| window.requests * window.cost_ns).sum();
    let fast: f64 = case
        .windows
        .iter()
        .map(|window| window.requests * window.cost_ns.min(case.decline.fast_ns))
        .sum();
    (requests > 0.0).then(|| {
        let (now, after) = ((cost / requests) as i64, (fast / requests) as i64);
        Forecast::of_means(Nanos(now), Nanos(after), assuming)
    })
}
