//! The device sleeps, and the first request after each pause waits for it to wake up.
//!
//! ## Accuses
//! A power-saving state: of an NVMe or SATA link (milliseconds to leave) or of a spindle that was
//! stopped (seconds). Only the first request after a pause is slow, always by the same time.
//!
//! ## Why it matters
//! A device with little load looks slow although it is healthy. The busier it is, the faster it
//! gets.
//!
//! ## Needs
//! A per-I/O log with at least four pauses, each long enough for the device to fall asleep; or two
//! runs of a load generator on one device with different pauses between requests (`ioping -i 1`,
//! `ioping -i 0.01`).
//!
//! ## Rule
//! For some pause between 0.1 and 60 s: requests issued after a longer one, with nothing in flight,
//! take at least five times the median of all others; there are at least four of them; their median
//! absolute deviation is below 15 % of their median. Most slow requests must follow such a pause. A
//! platter that only has to seek after a pause is not asleep: there these requests must take longer
//! than any seek, three times the slowest healthy service time, unless a quarter of the random
//! reads is faster than any platter's. For two runs: the pauses differ by at least a factor of ten,
//! the longer is 0.1 s or more, and its requests take at least five times as long as those of the
//! other run, all of them about equally long. By the drive's own counter alone, 30 or more load
//! cycles per hour (SMART 193) and more than the drive is rated for raise a suspicion.
//!
//! ## Wrong if
//! The pauses end in reads that were not cached. Or the CPU was asleep, not the device: then other
//! devices show the same.
//!
//! ## Next step
//! Disable deep power states and measure again; disable the spin-down timer.

use std::collections::BTreeMap;

use iowhy_model::{
    Clause, DeviceId, Fact, Finding, Forecast, Histogram, Layer, Level, Medium, MessageKind, Op,
    Verdict, key,
};

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::groups::too_quick_to_seek;
use crate::analysis::samples::HistogramSample;
use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::candidates;
use crate::evidence::cases::Case;
use crate::evidence::confidence::{self, PRIOR};
use crate::evidence::forecast::from_means;
use crate::evidence::peer_families;
use crate::evidence::signals::{self, Signal};
use crate::facts::About;
use crate::measures::idle_wake::{self, Wake};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::DeviceIdleWake,
    summary: "The first request after each pause waits for the device to wake",
    manual: iowhy_model::manual!("device_idle_wake.rs"),
    needs: Needs {
        level: Level::C,
        sure_from: Level::C,
        seconds: 120,
        what: "the latency of each I/O across several pauses",
    },
    explains: &[Verdict::DeviceHang, Verdict::DeviceSlow, Verdict::DeviceStall],
    rule: Rule::Detect(detect),
};

/// Minimum share of slow requests that follow a pause; otherwise something else is slow too.
const OF_SLOW: f64 = 0.5;
/// A seek after a pause is not a wake-up: this multiple of the slowest healthy service time.
const BEYOND_A_SEEK: f64 = 3.0;
/// Waking takes at least this long, ns: exit latencies of non-operational NVMe states begin at half
/// a millisecond (NVM Express, power state descriptors), those of processors end at 0.2 ms.
const SHORTEST_NS: f64 = 0.5e6;

/// How much longer the pauses of one run are than those of another that shows the latency of the
/// awake device (a choice).
const LONGER: f64 = 10.0;
/// Two runs may differ in more than their pause.
const TWO_RUNS: f64 = 0.85;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let found =
        analysis.traces.iter().filter_map(|trace| Some((trace, of_trace(analysis, trace)?)));
    let found = found.map(|(trace, wake)| finding(analysis, trace, &wake));
    let runs = of_runs(analysis).into_iter().chain(parks_its_heads(analysis));
    found.chain(runs).chain(stays_stopped(analysis)).collect()
}

/// Requests that a stopped drive refuses, and their weight, nats: 0.8 with the prior (a choice). A
/// drive that fails to start may report the same.
const STOPPED: [(&str, &[Signal]); 1] = [(
    "lines of the kernel's log",
    &[signals::lines(MessageKind::NotReady, &[], 2.5)
        .again(3.0)
        .takes(|_, line| line.message.is_stopped())
        .what(
            "request(s) refused because the drive waits for a command to start, in the kernel's \
               log",
        )
        .say("{n} request(s) failed because it waits for a command to start")],
)];

/// Drives that stopped by themselves and that nobody starts again.
fn stays_stopped(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let of_disk = |case: Case| {
        let mut builder = case.builder();
        builder.weigh(&case, &STOPPED);
        (!builder.evidence.is_empty()).then_some(())?;
        let mut finding = builder.finding(DETECTOR.verdict, Some(case.device));
        builder.believe(&mut finding, PRIOR);
        let disk = phrase::disk(case.name);
        finding.sentence = format!(
            "{disk} has spun down to save power and is not started again: {}",
            phrase::list(&builder.words)
        );
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&[
            "the drive does not spin up on `sg_start`: then it has failed, or lacks power",
            "the same requests fail although it never paused for minutes",
        ]);
        let node = phrase::node(disk);
        finding.next_step = lines(&[
            &format!(
                "`sg_start {node}` starts it; to let the kernel start it automatically: `echo 1 > \
                 /sys/block/{disk}/device/scsi_disk/*/allow_restart`"
            ),
            &format!(
                "disable its timer: `sdparm --clear=STANDBY --save {node}`, `hdparm -S 0 {node}`, \
                 or the vendor's tool of the enclosure"
            ),
            "check the file system after that: writes were lost (`dmesg`, `fsck`)",
        ]);
        Some(finding)
    };
    Case::of_disks(&candidates).filter_map(of_disk).collect()
}

/// Load cycles an hour from which a disk parks its heads during use (a choice: one in two minutes),
/// and the weight of that, nats: no request was seen waiting for it.
const CYCLES_PER_HOUR: f64 = 30.0;
const PARKS: f64 = 1.4;
/// Load cycles that drives are made for, 300,000 to 600,000 (vendors' data sheets): fewer are not
/// examined.
const MADE_FOR: f64 = 300_000.0;

/// Disks that constantly park their heads, by their own count: the next request waits until they
/// are loaded again.
fn parks_its_heads(analysis: &Analysis) -> Vec<Finding> {
    let of_disk = |about: About| {
        let disk = about.disk;
        let (cycles, reading) = about.number(key::SMART_RAW.of("193"))?;
        let (seconds, _) = about.number(key::SMART_HOURS)?;
        let hours = (seconds / 3600.0).max(1.0);
        let per_hour = cycles / hours;
        if cycles < MADE_FOR || per_hour < CYCLES_PER_HOUR {
            return None;
        }
        let mut finding = new_finding(DETECTOR.verdict, reading.fact.device, vec![reading.listing]);
        finding.sentence = format!(
            "{} parks its heads {} times per hour ({} in {} hours): the next request waits until \
             they are loaded again",
            phrase::disk(disk),
            phrase::digits(per_hour),
            phrase::digits(cycles),
            phrase::digits(hours)
        );
        let what = "load cycles (SMART 193) per hour in the drive's lifetime";
        finding.evidence =
            vec![analysis.stated(&reading).count(what, per_hour).above(CYCLES_PER_HOUR)];
        let clause = Clause::fixed(what, PARKS);
        confidence::believe(&mut finding, PRIOR, [clause]);
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&["the count does not increase while requests are slow"]);
        let node = phrase::node(disk);
        finding.next_step = lines(&[
            &format!(
                "`hdparm -B 254 {node}` (Western Digital: `idle3ctl`), then `smartctl -A {node}` \
                 twice an hour apart: has 193 stopped increasing, and is the disk fast?"
            ),
            "replace a drive far beyond its rated load cycles in time",
        ]);
        Some(finding)
    };
    analysis.facts.each().filter_map(of_disk).collect()
}

/// A run of single requests with the same pause before each.
struct PausedRun<'s, 'a> {
    pause_s: f64,
    sample: &'s HistogramSample<'a>,
    /// Their median, ns, and half the distance between quartiles over it.
    median_ns: f64,
    spread: f64,
}

impl<'s, 'a> PausedRun<'s, 'a> {
    /// All runs with a stated pause: in a listing of several runs, each with its own, in order.
    fn all(analysis: &Analysis, samples: &'s [HistogramSample<'a>]) -> Vec<Self> {
        let mut counted: BTreeMap<(usize, DeviceId), Vec<&HistogramSample>> = BTreeMap::new();
        for sample in samples.iter().filter(|sample| sample.known.layer == Layer::Application) {
            counted.entry((sample.listing, sample.known.device)).or_default().push(sample);
        }
        let runs = counted.into_iter().flat_map(|((listing, device), samples)| {
            let pause = |fact: &&Fact| fact.key == key::RUN_PAUSE && fact.device == Some(device);
            let facts = analysis.listing(listing).facts.iter().filter(pause);
            let pauses: Vec<f64> = facts.filter_map(|fact| fact.value.number()).collect();
            let each = if pauses.len() == samples.len() { pauses } else { Vec::new() };
            each.into_iter().zip(samples).filter_map(|(pause_s, one)| PausedRun::of(pause_s, one))
        });
        runs.collect()
    }

    fn of(pause_s: f64, sample: &'s HistogramSample<'a>) -> Option<Self> {
        let histogram = &sample.known.histogram;
        let at = |share: f64| bucket_at(histogram, share);
        let ((low, _), (_, high)) = (at(0.25)?, at(0.75)?);
        let median_ns = match peer_families::is_summary(histogram) {
            // Between the smallest and the largest nothing is known but the mean.
            true => histogram.mean_ns()?.0,
            false => at(0.5).map(|(low, high)| (low + high) / 2.0)?,
        };
        let spread = (high - low) / 2.0 / median_ns;
        Some(PausedRun { pause_s, sample, median_ns, spread })
    }

    /// Whether it shows the latency of the same requests when the device is awake.
    fn is_awake_of(&self, slept: &PausedRun) -> bool {
        let (own, other) = (&self.sample.known, &slept.sample.known);
        own.device == other.device
            && (own.op, own.bytes, own.layer) == (other.op, other.bytes, other.layer)
            && self.pause_s * LONGER <= slept.pause_s
            && slept.median_ns >= idle_wake::RATIO * self.median_ns
            && slept.median_ns - self.median_ns > SHORTEST_NS
    }

    fn count(&self) -> u64 {
        self.sample.known.histogram.count()
    }
}

/// The bounds, ns, of the bucket that contains the value at a share of all, of however few there
/// are.
fn bucket_at(histogram: &Histogram, share: f64) -> Option<(f64, f64)> {
    let rank = (share * histogram.count() as f64).ceil().max(1.0);
    let mut seen = 0.0;
    let (low, high, _) = histogram.filled().find(|(_, _, n)| {
        seen += *n as f64;
        seen >= rank
    })?;
    let (least, most) = (histogram.min_ns.unwrap_or(low), histogram.max_ns.unwrap_or(high));
    Some((low.max(least) as f64, high.min(most) as f64))
}

/// Runs of one generator that differ in the pause between requests, and whose requests take long
/// after the long one alone.
fn of_runs(analysis: &Analysis) -> Vec<Finding> {
    let runs = PausedRun::all(analysis, &analysis.histograms);
    let sleeps = |run: &&PausedRun| {
        let device = run.sample.known.device;
        // A platter that has to seek after a pause is not a sleeper.
        let seek_ns = BEYOND_A_SEEK * run.sample.s0.slowest_ms() * 1e6;
        run.pause_s >= idle_wake::PAUSES_S[0]
            && run.count() >= idle_wake::WOKEN as u64
            && run.spread < idle_wake::SPREAD
            && (!analysis.may_rotate(device) || run.median_ns > seek_ns)
    };
    let mut found: Vec<(&PausedRun, &PausedRun)> = Vec::new();
    for slept in runs.iter().filter(sleeps) {
        let enough = |run: &&PausedRun| run.count() >= idle_wake::WOKEN as u64;
        let awake = runs.iter().filter(enough).filter(|run| run.is_awake_of(slept));
        let Some(awake) = awake.min_by(|a, b| a.median_ns.total_cmp(&b.median_ns)) else {
            continue;
        };
        let device = slept.sample.known.device;
        let known = found.iter_mut().find(|(known, _)| known.sample.known.device == device);
        match known {
            // The shortest sufficient pause is the most informative.
            Some(known) if slept.pause_s < known.0.pause_s => *known = (slept, awake),
            Some(_) => {}
            None => found.push((slept, awake)),
        }
    }
    found.into_iter().map(|(slept, awake)| of_two_runs(analysis, slept, awake)).collect()
}

fn of_two_runs(analysis: &Analysis, slept: &PausedRun, awake: &PausedRun) -> Finding {
    let device = slept.sample.known.device;
    let listings = vec![slept.sample.listing, awake.sample.listing];
    let mut finding = new_finding(DETECTOR.verdict, Some(device), listings);
    let disk = phrase::disk(&slept.sample.disk).to_string();
    finding.sentence = format!(
        "{disk} enters a sleep state: requests after a pause of {} take {}, those after {} {}",
        phrase::ms(slept.pause_s * 1e3),
        phrase::ns(slept.median_ns),
        phrase::ms(awake.pause_s * 1e3),
        phrase::ns(awake.median_ns)
    );
    let n = slept.count();
    let ratio = slept.median_ns / awake.median_ns;
    let computed = analysis.computed(slept.sample.listing, n);
    let of_fast = analysis.computed(awake.sample.listing, awake.count());
    finding.evidence = vec![
        computed.seconds("pause between requests, slow run", slept.pause_s),
        of_fast.seconds("pause between requests, fast run", awake.pause_s),
        computed.count("requests of the slow run", n as f64).above(idle_wake::WOKEN as f64 - 1.0),
        computed.ms("median latency of the slow run", slept.median_ns / 1e6),
        of_fast.ms("median latency of the fast run", awake.median_ns / 1e6),
        computed.ratio("latency ratio slow run/fast run", ratio).above(idle_wake::RATIO).weighs(),
        computed
            .share(
                "half the interquartile range of the slow run, divided by its median",
                slept.spread,
            )
            .below(idle_wake::SPREAD)
            .weighs_at_most(1.5),
    ];
    let clauses =
        [confidence::above("requests after a long pause", n as f64, idle_wake::WOKEN as f64)];
    confidence::believe(&mut finding, PRIOR, clauses);
    finding.doubt("the two runs may differ in more than the pause", TWO_RUNS);
    finding.explained_share = 1.0 - awake.median_ns / slept.median_ns;
    let assuming = "the device stays awake, with the same requests".to_string();
    finding.forecast = from_means(slept.median_ns, awake.median_ns, assuming);
    finding.refuted_by = lines(&[
        "`iowhy probe idle-wake` finds no pause after which a read is slow",
        "the same two runs in the opposite order: the first one is slow again",
    ]);
    finding.next_step = next_step(analysis, device, &disk);
    finding
}

fn of_trace(analysis: &Analysis, trace: &DeviceTrace) -> Option<Wake> {
    if trace.spans.len() < EVENTS_NEEDED {
        return None;
    }
    let wake = idle_wake::idle_wake(&trace.spans)?;
    let may_rotate =
        analysis.may_rotate(trace.device) && (analysis.rotates(trace.device) || !no_seek(trace));
    let seeks = may_rotate && wake.woken_ns < BEYOND_A_SEEK * trace.slow_end_ns();
    let lasts = wake.woken_ns - wake.awake_ns > SHORTEST_NS;
    (!seeks && lasts && wake.of_slow > OF_SLOW).then_some(wake)
}

/// Whether more random reads than a cache could serve are faster than any seek.
fn no_seek(trace: &DeviceTrace) -> bool {
    let random = trace.groups.iter().map(|(group, _)| group);
    let random = random.filter(|group| group.op == Op::Read && group.sequential == Some(false));
    let places = random.flat_map(|group| &group.members);
    let times: Vec<f64> = places
        .filter_map(|place| trace.spans.get(*place))
        .map(|span| span.latency_ns() / 1e6)
        .collect();
    times.len() >= EVENTS_NEEDED && too_quick_to_seek(&times)
}

fn finding(analysis: &Analysis, trace: &DeviceTrace, wake: &Wake) -> Finding {
    let (n, all) = (wake.woken as u64, trace.spans.len() as u64);
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    finding.sentence = format!(
        "{} enters a sleep state: the first request after a pause of {} or more takes {}, all \
         others {}",
        phrase::disk(&trace.disk),
        phrase::ms(wake.shortest_s * 1e3),
        phrase::ns(wake.woken_ns),
        phrase::ns(wake.awake_ns)
    );
    let computed = analysis.computed(trace.listing, n);
    finding.evidence = vec![
        computed.seconds("shortest pause before a slow request", wake.shortest_s),
        computed
            .count("requests after such a pause", n as f64)
            .above(idle_wake::WOKEN as f64 - 1.0),
        computed.ms("median latency after a pause", wake.woken_ns / 1e6),
        computed.over(all - n).ms("median latency of all other requests", wake.awake_ns / 1e6),
        computed
            .over(all)
            .ratio("latency ratio first request/others", wake.ratio)
            .above(idle_wake::RATIO)
            .weighs(),
        computed
            .share("median absolute deviation", wake.spread)
            .below(idle_wake::SPREAD)
            .weighs_at_most(1.5),
        computed
            .over(all)
            .share("share of slow requests that follow a pause", wake.of_slow)
            .above(OF_SLOW)
            .weighs(),
    ];
    let clauses =
        [confidence::above("requests after a pause", wake.woken as f64, idle_wake::WOKEN as f64)];
    confidence::believe(&mut finding, PRIOR, clauses);
    finding.explained_share = share_lost(trace, wake);
    finding.forecast = forecast(trace, wake);
    finding.refuted_by = lines(&[
        "`iowhy probe idle-wake` finds no pause after which a read is slow",
        "other devices of the host are as slow after the same pauses: then the CPU was asleep",
    ]);
    finding.next_step = next_step(analysis, trace.device, phrase::disk(&trace.disk));
    finding
}

/// The share of the time above the awake median that the woken requests lost.
fn share_lost(trace: &DeviceTrace, wake: &Wake) -> f64 {
    let latencies = trace.spans.iter().map(|span| (span.latency_ns() - wake.awake_ns).max(0.0));
    wake.lost_ns / latencies.sum::<f64>().max(1.0)
}

fn forecast(trace: &DeviceTrace, wake: &Wake) -> Option<Forecast> {
    let n = trace.spans.len() as f64;
    let mean = trace.spans.iter().map(|span| span.latency_ns()).sum::<f64>() / n;
    let cured = mean - wake.lost_ns / n;
    let assuming = "the device stays awake, with the same requests".to_string();
    from_means(mean, cured, assuming)
}

fn next_step(analysis: &Analysis, device: DeviceId, disk: &str) -> Vec<String> {
    let probe = format!("`iowhy probe idle-wake /dev/{disk}` measures the pause and its cost");
    let media: Vec<Medium> = analysis.media(device).into_iter().map(|(m, _)| m).collect();
    let mut steps = vec![probe];
    if media.contains(&Medium::Nvme) {
        steps.push(
            "NVMe: boot with `nvme_core.default_ps_max_latency_us=0` and compare".to_string(),
        );
    }
    if media.contains(&Medium::Rotational) || media.contains(&Medium::Flash) {
        steps.push(format!(
            "SATA: `hdparm -B 254 -S 0 /dev/{disk}`; link: `echo max_performance > \
             /sys/class/scsi_host/hostN/link_power_management_policy`"
        ));
    }
    steps
}
