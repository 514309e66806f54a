//! Requests wait in the host's queue while the device is not busy.
//!
//! ## Accuses
//! The configuration of the queue: its scheduler, its number of requests, or the queue depth of the
//! driver. The device gets less work than it could do.
//!
//! ## Why it matters
//! `await` includes the wait in the host, so a fast drive looks slow. A scheduler designed for
//! platters (bfq, cfq) idles on purpose; a queue of two requests starves a drive that serves a
//! thousand.
//!
//! ## Needs
//! A trace with start and issue of each request (`iowhy why`, `biosnoop -Q`, `blktrace`). Queue
//! settings (`queue.nr_requests`, `device.queue_depth`) add to it.
//!
//! ## Rule
//! More than half of the time from start to completion is spent before issue, and for more than
//! half of that time the device is not saturated: a platter is idle, any other device has fewer
//! requests than half of its queue depth. Or requests wait before their start for a free request,
//! while as many are in flight as the queue can contain: according to its settings or, without
//! them, if most of these waits end with the maximum number in flight. In either case the device
//! needs no more than 2.5 times the time of a healthy one. If nine tenths of the wait are
//! write-back by the kernel, or no program waits for any of it, the queue is only suspected. The
//! same if only means show that most of the time is spent in the scheduler (btt).
//!
//! ## Wrong if
//! The device is saturated: then the queue has to be somewhere.
//!
//! ## Next step
//! Try another scheduler, more requests, a deeper queue; and measure again.

use iowhy_model::{Finding, Flags, Level, Medium, Op, Verdict, key};

use crate::analysis::Analysis;
use crate::analysis::requests::{self, Requests};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::{self, PRIOR_OF_LOAD};
use crate::evidence::forecast::from_means;
use crate::evidence::stages;
use crate::measures::held_back::{self, HeldBack, Stages};
use crate::measures::spans::Spans;
use crate::measures::spread;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::CfgScheduler,
    summary: "Requests wait in the host's queue while the device is not busy",
    manual: iowhy_model::manual!("cfg_scheduler.rs"),
    needs: Needs {
        level: Level::D,
        sure_from: Level::D,
        seconds: 30,
        what: "start and issue time of each request",
    },
    explains: &[
        Verdict::DeviceSlow,
        Verdict::LoadBurst,
        Verdict::LoadSaturated,
        Verdict::LoadSmallSync,
    ],
    rule: Rule::Detect(detect),
};

/// Bounds of the rule (docs/METHOD.md, 10 Rules).
const WAITS: f64 = 0.5;
const ROOM: f64 = 0.5;
/// A service up to this many times S0 is normal (docs/METHOD.md, 1 Replay).
const NORMAL: f64 = 2.5;
/// Requests that decide (docs/METHOD.md, 10 Rules: at least thirty each).
const MIN_REQUESTS: usize = 30;
/// Below this busy share a device is idle: its queue may have batches of writes for which no
/// program waits.
const IDLE_BUSY_SHARE: f64 = 0.3;
const FEW_PER_S: f64 = 50.0;
/// Minimum share of the queue wait that belongs to programs; otherwise it is write-back by the
/// kernel (a choice).
const OF_PROGRAMS: f64 = 0.1;
/// The assumed queue depth of a flash drive: 32 for SATA; NVMe and network volumes have at least as
/// many.
const DEPTH: f64 = 32.0;
/// Share of the waits for a tag that must end when all others are in use: most, because each event
/// that the trace lost hides one in use (docs/METHOD.md, 1 Replay: a tenth may be lost).
const MOST_AT_LAST: f64 = 0.5;
/// Share of the requests of a queue that are in use when it is full.
const FULL: f64 = 0.9;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traced = analysis.requests.iter().filter_map(|requests| finding(analysis, requests));
    traced.chain(stages::in_scheduler(analysis, DETECTOR.verdict)).collect()
}

/// The time that programs lose in the queue per second, and its share of all time lost there. The
/// kernel writes dirty pages back in batches for which no program waits.
fn awaited(analysis: &Analysis, requests: &Requests) -> (f64, f64) {
    let durable = [Flags::SYNC, Flags::FUA, Flags::PREFLUSH];
    // A log without flags does not show which writes are waited for.
    let reported = analysis.source(requests.listing).level > Level::C;
    let (mut by_programs, mut all) = (0.0, 0.0);
    for event in &requests.events {
        let Some((issued, _)) = requests::on_device(event) else { continue };
        let Some(began) = event.arrived.or(event.queued) else { continue };
        let wait = issued.saturating_sub(began.ns()).max(0) as f64;
        let is_awaited =
            !reported || event.op != Op::Write || durable.iter().any(|flag| event.flags.has(*flag));
        by_programs += if is_awaited { wait } else { 0.0 };
        all += wait;
    }
    (by_programs / requests.span_ns(), by_programs / f64::max(all, 1.0))
}

/// Share of the time watched with a request on the device.
fn busy_share(stages: &[Stages], requests: &Requests) -> f64 {
    Spans::of(stages.iter().map(|one| (one.issued_ns, one.completed_ns))).total_ns()
        / requests.span_ns()
}

fn finding(analysis: &Analysis, requests: &Requests) -> Option<Finding> {
    let stages: Vec<Stages> = requests
        .events
        .iter()
        .filter_map(|event| {
            let (issued_ns, completed_ns) = requests::on_device(event)?;
            let queued_ns = event.queued?.ns().min(issued_ns);
            let arrived_ns = event.arrived.map(|time| time.ns().min(queued_ns));
            Some(Stages { arrived_ns, queued_ns, issued_ns, completed_ns })
        })
        .collect();
    let trace = analysis.trace(requests.listing, requests.device)?;
    let about = analysis.about(requests.listing, &requests.disk);
    // How many requests the device serves at once; a platter serves one.
    let rotates = analysis.media(requests.device).iter().any(|known| known.0 == Medium::Rotational);
    let stated = about.number(key::DEVICE_QUEUE_DEPTH);
    let depth = stated.map_or(DEPTH, |(depth, _)| depth.max(1.0));
    let room = if rotates { 1 } else { ((depth * ROOM).ceil() as u32).max(1) };
    let found = held_back::held_back(&stages, room).filter(|found| found.n >= MIN_REQUESTS)?;
    let tags = about.number(key::QUEUE_NR_REQUESTS);
    let full = match &tags {
        Some((tags, _)) => f64::from(found.outstanding) >= FULL * tags,
        // A request that waits for a free tag gets it when all others are in use; a throttled one
        // gets it at any time.
        None => found.outstanding > 1 && found.last_free > MOST_AT_LAST,
    };
    let in_queue = found.queue_share > WAITS && found.room_share > ROOM;
    let for_tags = found.before_share > WAITS && found.arrivals >= MIN_REQUESTS && full;
    let device: Vec<f64> =
        stages.iter().map(|one| (one.completed_ns - one.issued_ns) as f64).collect();
    let device_ns = spread::median(&device)?;
    let s0_ns = trace.slow_end_ns();
    let wait_ns = found.queue_ns + if for_tags { found.before_ns } else { 0.0 };
    let lost = wait_ns * found.n as f64 / requests.span_ns();
    let per_s = stages.len() as f64 / (requests.span_ns() / 1e9);
    let rests = per_s < FEW_PER_S && busy_share(&stages, requests) < IDLE_BUSY_SHARE;
    let (lost_by_programs, share_of_programs) = awaited(analysis, requests);
    let nobody_waits = lost_by_programs < confidence::NOTICEABLE;
    let unheard = rests && nobody_waits;
    if !(in_queue || for_tags)
        || device_ns > NORMAL * s0_ns
        || lost < confidence::NOTICEABLE
        || unheard
    {
        return None;
    }
    let n = found.n as u64;
    let share = if for_tags { found.before_share } else { found.queue_share };
    let mut finding = new_finding(DETECTOR.verdict, Some(requests.device), vec![requests.listing]);
    finding.sentence = sentence(phrase::disk(&requests.disk), &found, for_tags, wait_ns);
    let computed = analysis.computed(requests.listing, n);
    finding.evidence = vec![
        computed.ms("mean wait in the host's queue (Q2D)", found.queue_ns / 1e6),
        computed.ms("mean time on the device (D2C)", found.device_ns / 1e6),
        computed.ms("median time on the device", device_ns / 1e6).below(NORMAL * s0_ns / 1e6),
        computed.share("share of Q2D in Q2C", found.queue_share).above(WAITS),
        computed
            .share(
                &format!("share of that wait with fewer than {room} requests on the device"),
                found.room_share,
            )
            .above(ROOM),
        computed.requests("most requests on the device at once", f64::from(found.deepest)),
        analysis.estimated(requests.listing, n).ms("longest healthy service time", s0_ns / 1e6),
        computed.seconds("time lost in that wait, per second", lost).above(confidence::NOTICEABLE),
    ];
    if for_tags {
        let arrivals = found.arrivals as u64;
        finding.evidence.splice(
            3..5,
            [
                computed
                    .over(arrivals)
                    .ms("mean wait for a free request (B2Q)", found.before_ns / 1e6),
                computed
                    .over(arrivals)
                    .share("share of B2Q in B2C", found.before_share)
                    .above(WAITS),
                computed.requests("most requests started at once", f64::from(found.outstanding)),
                computed
                    .over(arrivals)
                    .share("waits that end with this many in flight", found.last_free),
            ],
        );
    }
    for (what, known) in
        [("size of the request queue", tags), ("queue depth of the device", stated)]
    {
        finding
            .evidence
            .extend(known.map(|(value, reading)| analysis.stated(&reading).requests(what, value)));
    }
    let clauses = [
        confidence::above("share of the time in the host's queue", share, WAITS),
        if for_tags {
            confidence::above("time with all tags in use", FULL, ROOM)
        } else {
            confidence::above("time with room on the device", found.room_share, ROOM)
        },
        confidence::below("time on the device, ns", device_ns, NORMAL * s0_ns),
    ];
    confidence::believe(&mut finding, PRIOR_OF_LOAD, clauses);
    let written_back = nobody_waits || share_of_programs < OF_PROGRAMS;
    finding.doubt_if(
        written_back,
        "the waiting I/Os are write-back, for which no program waits",
        confidence::SHAPE_ALONE,
    );
    let whole = wait_ns + found.device_ns - device_ns.min(found.device_ns);
    finding.explained_share = wait_ns / whole.max(1.0);
    let assuming = "each request is issued immediately, and the device responds as it does now";
    finding.forecast = from_means(wait_ns + found.device_ns, found.device_ns, assuming.to_string());
    advise(&mut finding, analysis, requests, for_tags);
    Some(finding)
}

fn sentence(disk: &str, found: &HeldBack, for_tags: bool, wait_ns: f64) -> String {
    if for_tags {
        return format!(
            "{disk}: {} waiting for a free tag (queue size {}), {} on the device",
            phrase::ns(wait_ns),
            found.outstanding,
            phrase::ns(found.device_ns)
        );
    }
    format!(
        "{disk}: {} in the host's queue (scheduler), {} on the device, which is not busy",
        phrase::ns(found.queue_ns),
        phrase::ns(found.device_ns)
    )
}

fn advise(finding: &mut Finding, analysis: &Analysis, requests: &Requests, for_tags: bool) {
    let disk = phrase::disk(&requests.disk);
    let scheduler = analysis.about(requests.listing, &requests.disk).last(key::QUEUE_SCHEDULER);
    finding.refuted_by = lines(&[
        "with scheduler `none` the wait just moves from the queue to the device",
        "the device completes no more I/Os with a deeper queue",
    ]);
    let now = scheduler.map_or(String::new(), |reading| format!(" (now `{}`)", reading.text()));
    finding.next_step = vec![
        format!("`echo none > /sys/block/{disk}/queue/scheduler`{now}, and measure again"),
        format!("`cat /sys/block/{disk}/queue/wbt_lat_usec`: write-back throttling is intentional"),
    ];
    if for_tags {
        let more = format!("`echo 256 > /sys/block/{disk}/queue/nr_requests`: a larger queue");
        finding.next_step.insert(0, more);
    }
}
