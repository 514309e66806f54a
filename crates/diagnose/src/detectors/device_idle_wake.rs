//! The device sleeps, and the first request after each pause pays for waking it.
//!
//! ## Accuses
//! A power-saving state: of an NVMe or SATA link (milliseconds to leave) or of a spindle that was
//! stopped (seconds). Only the first request after a pause is slow, and always by the same time.
//!
//! ## Why it matters
//! A device that is asked little looks slow though nothing is wrong with it. The busier it is, the
//! quicker it gets.
//!
//! ## Needs
//! A per-I/O log with at least four pauses, each longer than the device takes to fall asleep.
//!
//! ## Rule
//! For some pause between 0.1 and 60 s: requests issued after a longer one, with nothing in flight,
//! take at least five times the median of all others; there are at least four of them; their
//! median distance from their median is below 15 %. Most slow requests must be such. A platter that
//! merely has to seek after a pause is no sleeper: there the woken ones must take longer than any
//! seek, three times the slowest healthy service time, unless a quarter of the random reads is
//! quicker than any platter's.
//!
//! ## Wrong if
//! The pauses end in reads that no cache held. The processor slept, not the device: then other
//! devices show the same.
//!
//! ## Next step
//! Forbid the deep power states and measure again; stop the spin-down timer.

use iowhy_model::{Bound, Finding, Forecast, Level, Medium, Op, Unit, Verdict};

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::groups::too_quick_to_seek;
use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{computed, held, lines, new_finding};
use crate::evidence::confidence;
use crate::evidence::confidence::PRIOR;
use crate::evidence::forecast::from_means;
use crate::measures::idle_wake::{self, Wake};
use crate::phrase;

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
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

/// Of all slow requests, the share that must follow a pause: else something else is slow too.
const OF_SLOW: f64 = 0.5;
/// A seek after a pause is no sleep: the slowest healthy service time, this many times.
const BEYOND_A_SEEK: f64 = 3.0;
/// Waking takes at least this long, ns: exit latencies of non-operational NVMe states begin at half
/// a millisecond (NVM Express, power state descriptors), those of processors end at 0.2 ms.
const SHORTEST_NS: f64 = 0.5e6;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let found =
        analysis.traces.iter().filter_map(|trace| Some((trace, of_trace(analysis, trace)?)));
    found.map(|(trace, wake)| finding(analysis, trace, &wake)).collect()
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

/// Whether more random reads than a cache could know are quicker than any seek.
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
    let source = analysis.source(trace.listing);
    let (n, all) = (wake.woken as u64, trace.spans.len() as u64);
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    finding.sentence = format!(
        "{} enters a sleep state: the first request after a pause of {} or more takes {}, all others {}",
        phrase::disk(&trace.disk),
        phrase::ms(wake.shortest_s * 1e3),
        phrase::ns(wake.woken_ns),
        phrase::ns(wake.awake_ns)
    );
    finding.evidence = vec![
        computed(
            "shortest pause after which a request was slow",
            wake.shortest_s,
            Unit::Seconds,
            n,
            source,
        ),
        held(
            computed("requests after such a pause", n as f64, Unit::Count, n, source),
            Bound::Above(idle_wake::WOKEN as f64 - 1.0),
        ),
        computed("median latency after a pause", wake.woken_ns / 1e6, Unit::Ms, n, source),
        computed("median latency of all others", wake.awake_ns / 1e6, Unit::Ms, all - n, source),
        held(
            computed("first request over the others", wake.ratio, Unit::Ratio, all, source),
            Bound::Above(idle_wake::RATIO),
        ),
        held(
            computed("median distance from their median", wake.spread, Unit::Share, n, source),
            Bound::Below(idle_wake::SPREAD),
        ),
        held(
            computed("slow requests that follow a pause", wake.of_slow, Unit::Share, all, source),
            Bound::Above(OF_SLOW),
        ),
    ];
    let clauses = [
        confidence::above("after a pause, over otherwise", wake.ratio, idle_wake::RATIO),
        confidence::above("requests after a pause", wake.woken as f64, idle_wake::WOKEN as f64),
        confidence::below("spread of the wake-up time", wake.spread, idle_wake::SPREAD)
            .at_most(1.5),
        confidence::above("slow requests that follow a pause", wake.of_slow, OF_SLOW),
    ];
    confidence::believe(&mut finding, PRIOR, clauses);
    finding.explained_share = share_lost(trace, wake);
    finding.forecast = forecast(trace, wake);
    finding.refuted_by = lines(&[
        "`iowhy probe idle-wake` finds no pause after which a read is slow",
        "other devices of the host are as slow after the same pauses: then the processor slept",
    ]);
    finding.next_step = next_step(analysis, trace);
    finding
}

/// Of the time above the awake median, what the woken lost.
fn share_lost(trace: &DeviceTrace, wake: &Wake) -> f64 {
    let latencies = trace.spans.iter().map(|span| (span.latency_ns() - wake.awake_ns).max(0.0));
    wake.lost_ns / latencies.sum::<f64>().max(1.0)
}

fn forecast(trace: &DeviceTrace, wake: &Wake) -> Option<Forecast> {
    let n = trace.spans.len() as f64;
    let mean = trace.spans.iter().map(|span| span.latency_ns()).sum::<f64>() / n;
    let cured = mean - wake.lost_ns / n;
    let assuming = "the device stays awake, and the same requests are sent".to_string();
    from_means(mean, cured, assuming)
}

fn next_step(analysis: &Analysis, trace: &DeviceTrace) -> Vec<String> {
    let disk = phrase::disk(&trace.disk);
    let probe = format!("`iowhy probe idle-wake /dev/{disk}` measures the pause and the price");
    let media: Vec<Medium> = analysis.media(trace.device).into_iter().map(|(m, _)| m).collect();
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
