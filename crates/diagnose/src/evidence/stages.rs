//! Means of the stages of a request over a whole trace (btt): the wait for a free request, the
//! scheduler, the device.
//!
//! The stages of one request add up to the whole, so a stage that is most of it is where requests
//! wait. The load on the device is its mean time divided by the mean time between arrivals
//! (Little's law). Means over a trace hide bursts and combine reads, writes and write-back, so all
//! of it is a suspicion.

use std::collections::HashSet;

use iowhy_model::{DeviceId, Finding, Layer, Op, Stage, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::baseline::healthy_time::Request;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::peer_families;
use crate::phrase;

/// Share of the whole time from which on a stage is where requests wait (docs/METHOD.md, 10 Rules).
const MOST: f64 = 0.5;
/// A wait below this, ms, is not a problem (a choice: an access to a platter takes ten times as
/// long).
const NOTICEABLE_MS: f64 = 1.0;
/// Requests on the device at once, on average, below which it has room for another.
const ROOM: f64 = 1.0;
/// A service time this many times that of a healthy large request is slow (docs/METHOD.md, 1
/// Replay).
const SLOWDOWN: f64 = 2.0;
/// Requests that decide (docs/METHOD.md, 10 Rules: at least thirty each).
const MIN_REQUESTS: u64 = 30;
/// Weight of a stage that is most of the time.
const MAIN_STAGE: f64 = 0.75;
const MEANS: &str = "means over a whole trace: bursts and write-back look the same";

/// The means of a listing.
struct Stages {
    listing: usize,
    device: DeviceId,
    name: String,
    /// Mean time in each stage, ms, over all requests.
    before_ms: f64,
    queue_ms: f64,
    device_ms: f64,
    total_ms: f64,
    n: u64,
    /// Requests on the device at once, on average.
    on_device: Option<f64>,
}

/// All listings that give the stages as means.
fn all(analysis: &Analysis) -> Vec<Stages> {
    let listings = analysis.listings();
    let found = listings.filter_map(|(place, listing)| {
        let means = |stage: Stage| {
            listing
                .distributions
                .iter()
                .find(|one| one.layer == Layer::Block && one.stage == stage && one.op.is_none())
                .filter(|one| peer_families::is_summary(&one.histogram))
                .and_then(|one| {
                    Some((one, one.histogram.mean_ns()?.0 / 1e6, one.histogram.count()))
                })
        };
        let (on_it, device_ms, served) = means(Stage::Device)?;
        let whole = means(Stage::Total);
        // A pasted list of stages may lack their sum.
        let arrived = means(Stage::Before).map(|(_, _, n)| n).filter(|_| whole.is_none());
        let n = whole.map(|(_, _, n)| n).or(arrived).unwrap_or(served);
        // A merged request passed a stage with the other; where most did not pass one, most did
        // not wait there.
        let of_all = |stage| {
            let passed = |count: u64| if 2 * count < n { count as f64 / n as f64 } else { 1.0 };
            means(stage).map_or(0.0, |(_, ms, count)| ms * passed(count))
        };
        let about = analysis.about(place, "");
        let apart = about.machine_number(key::ARRIVALS_APART).filter(|(apart, _)| *apart > 0.0);
        let device = on_it.device;
        let (before_ms, queue_ms) = (of_all(Stage::Before), of_all(Stage::Queue));
        (n >= MIN_REQUESTS && (whole.is_some() || before_ms + queue_ms > 0.0)).then(|| Stages {
            listing: place,
            device,
            name: analysis.recording.device_of(device).name.clone(),
            before_ms,
            queue_ms,
            device_ms,
            total_ms: whole.map_or(before_ms + queue_ms + device_ms, |(_, ms, _)| ms),
            n,
            on_device: apart.map(|(apart_s, _)| device_ms / 1e3 / apart_s),
        })
    });
    found.collect()
}

impl Stages {
    /// The share of the time in all stages that is known.
    fn share(&self, ms: f64) -> f64 {
        ms / (self.before_ms + self.queue_ms + self.device_ms)
    }

    /// The evidence that all of them rest on.
    fn finding(&self, analysis: &Analysis, verdict: Verdict, stage: &str, ms: f64) -> Finding {
        let mut finding = new_finding(verdict, Some(self.device), vec![self.listing]);
        let printed = analysis.printed(self.listing, self.n);
        let computed = analysis.computed(self.listing, self.n);
        finding.evidence = vec![
            computed.share(&format!("share of {stage} in Q2C"), self.share(ms)).above(MOST),
            printed.ms("mean time from the program to completion (Q2C)", self.total_ms),
            printed.ms("mean time on the device (D2C)", self.device_ms),
        ];
        if let Some(on_device) = self.on_device {
            let what = "requests on the device at once (D2C divided by the arrival interval)";
            let known = computed.requests(what, on_device);
            let has_room = on_device < ROOM;
            finding.evidence.push(if has_room { known.below(ROOM) } else { known });
        }
        finding.assume(MAIN_STAGE, format!("{stage} is most of the time"));
        // Bursts leave a device idle in between; one that has several at once all the time is full.
        finding.doubt_if(self.on_device.is_none_or(|n| n < ROOM), MEANS, SHAPE_ALONE);
        (finding.explained_share, finding.share_is_assumed) = (self.share(ms), true);
        finding
    }

    /// How busy the device is, in words.
    fn room(&self) -> String {
        match self.on_device {
            Some(n) if n < ROOM => {
                format!(", which has {} at once on average: it is not saturated", phrase::digits(n))
            }
            Some(n) => format!(", which has {} at once on average", phrase::digits(n)),
            None => String::new(),
        }
    }
}

/// Inputs and disks of which requests wait before the device most of the time, and noticeably long.
pub(crate) fn waiting_before<'a>(analysis: &Analysis<'a>) -> HashSet<(Host<'a>, String)> {
    let waits = all(analysis).into_iter().filter(|of| {
        let before_ms = of.before_ms + of.queue_ms;
        of.share(before_ms) > MOST && before_ms > NOTICEABLE_MS
    });
    waits.map(|of| (analysis.host(of.listing), analysis.disk(of.device))).collect()
}

/// Requests that wait in the scheduler.
pub(crate) fn in_scheduler(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let waits = all(analysis).into_iter().filter(|of| {
        of.share(of.queue_ms) > MOST
            && of.queue_ms > NOTICEABLE_MS
            && of.on_device.is_none_or(|n| n < ROOM)
    });
    let found = waits.map(|of| {
        let mut finding = of.finding(analysis, verdict, "I2D", of.queue_ms);
        finding.sentence = format!(
            "{}: {} of {} in the scheduler (I2D), {} on the device{}",
            of.name,
            phrase::ms(of.queue_ms),
            phrase::ms(of.total_ms),
            phrase::ms(of.device_ms),
            of.room()
        );
        finding.refuted_by =
            lines(&["with scheduler `none` the wait just moves from the queue to the device"]);
        finding.next_step = lines(&[
            "`cat /sys/block/*/queue/scheduler`, then `none` for the device, and measure again",
            "`cat /sys/block/*/queue/wbt_lat_usec`: write-back throttling is intentional",
            "`iowhy why --for 30s` while it is slow: which requests wait, and which processes sent \
             them?",
        ]);
        finding
    });
    found.collect()
}

/// Requests that wait for a free one.
pub(crate) fn for_a_request(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let waits = all(analysis)
        .into_iter()
        .filter(|of| of.share(of.before_ms) > MOST && of.before_ms > NOTICEABLE_MS);
    let found = waits.map(|of| {
        let mut finding = of.finding(analysis, verdict, "Q2G", of.before_ms);
        finding.sentence = format!(
            "{}: {} of {} waiting for a free request (Q2G), {} on the device{}: more requests at \
             once than the queue size",
            of.name,
            phrase::ms(of.before_ms),
            phrase::ms(of.total_ms),
            phrase::ms(of.device_ms),
            of.room()
        );
        finding.refuted_by = lines(&["with a larger queue the wait just moves to the device"]);
        finding.next_step = lines(&[
            "`cat /sys/block/*/queue/nr_requests`: is it too small for a device that serves many \
             at once?",
            "`iowhy why --for 30s` shows which processes send the requests",
            "use fewer or larger I/Os, a cache, or more devices",
        ]);
        finding
    });
    found.collect()
}

/// Requests that wait in the scheduler for a device which has several at once.
pub(crate) fn for_a_busy_device(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let waits = all(analysis).into_iter().filter(|of| {
        of.share(of.queue_ms) > MOST
            && of.queue_ms > NOTICEABLE_MS
            && of.on_device.is_some_and(|n| n >= ROOM)
    });
    let found = waits.map(|of| {
        let mut finding = of.finding(analysis, verdict, "I2D", of.queue_ms);
        finding.sentence = format!(
            "{}: {} of {} waiting in the scheduler (I2D) for a device{}, and needs {} for each: \
             more requests arrive at once than it accepts",
            of.name,
            phrase::ms(of.queue_ms),
            phrase::ms(of.total_ms),
            of.room(),
            phrase::ms(of.device_ms)
        );
        finding.refuted_by =
            lines(&["with scheduler `none` and a deeper queue of the device the wait is gone"]);
        finding.next_step = lines(&[
            "`iowhy why --for 30s` shows which processes send the requests",
            "`grep . /sys/block/*/device/queue_depth /sys/block/*/queue/scheduler`: how many does \
             the device accept?",
            "use fewer or larger I/Os, a cache, or more devices",
        ]);
        finding
    });
    found.collect()
}

/// Requests that wait on a device which has hardly any at once.
pub(crate) fn on_device(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let slow = all(analysis).into_iter().filter(|of| {
        // The size is not reported, so a large one is assumed.
        let request = Request { op: Op::Read, bytes: 524_288.0, sequential: None };
        let healthy_ms = analysis.healthy_time(of.device, request, None).slowest_ms();
        let alone = of.on_device.is_some_and(|n| n < ROOM);
        alone && of.share(of.device_ms) > MOST && of.device_ms > SLOWDOWN * healthy_ms
    });
    let found = slow.map(|of| {
        let mut finding = of.finding(analysis, verdict, "D2C", of.device_ms);
        finding.sentence = format!(
            "{}: {} of {} on the device (D2C){}, so the time is not queueing delay",
            of.name,
            phrase::ms(of.device_ms),
            phrase::ms(of.total_ms),
            of.room()
        );
        finding.refuted_by =
            lines(&["requests arrived in bursts, and waited for each other on the device"]);
        finding.next_step = lines(&[
            "`btt -l`, or `iowhy why` on the trace itself: are all requests slow, or just a few?",
            "check the kernel's log and the health of the drive for the same hour",
        ]);
        finding
    });
    found.collect()
}
