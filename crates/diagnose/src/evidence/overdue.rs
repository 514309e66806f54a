//! Requests that took longer than storage that works ever needs, as a program lists them.
//!
//! Durations that all stand at one or two values are timeouts: a request was lost on its way and
//! sent again. A queue spreads.

use iowhy_model::Order as _;
use iowhy_model::{Blame, DeviceId, Finding, Layer, Verdict, key};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::facts::disk_names;
use crate::phrase;

/// Seconds from which on even a long queue is none of a healthy disk (a choice: 600 random requests
/// in a row on a platter).
pub(crate) const OVERDUE_S: f64 = 5.0;

/// The width of one value, and how far the second is from the first, as ratios; and requests that
/// do not meet there by chance (choices: six of a queue between 5 and 60 s do so once in 10^4
/// times).
const SAME_LATENCY_RATIO: f64 = 1.05;
const ANOTHER: f64 = 1.5;
const MIN_REQUESTS: usize = 6;
/// What such durations are worth: they do not show where requests are lost.
const TIMED_OUT: f64 = 0.66;

/// Programs whose slow requests all took one of at most two times.
pub(crate) fn at_timeouts(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = analysis.listings().filter_map(|(place, listing)| {
        let above = listing.events.iter().filter(|event| event.layer != Layer::Block);
        let overdue = above.filter_map(|event| Some((event.device, event.longest()?.1.seconds())));
        let mut all: Vec<_> = overdue.filter(|(_, s)| *s >= OVERDUE_S).collect();
        all.order_by(|a, b| a.1.total_cmp(&b.1));
        let (device, least) = *all.first().filter(|_| all.len() >= MIN_REQUESTS)?;
        let rest: Vec<f64> =
            all.iter().map(|(_, s)| *s).filter(|s| *s > SAME_LATENCY_RATIO * least).collect();
        let second = rest.first().copied();
        let is_two = rest.iter().all(|s| *s <= SAME_LATENCY_RATIO * second.unwrap_or(*s));
        let is_apart = second.is_none_or(|second| second >= ANOTHER * least);
        let is_one_device = all.iter().all(|(of, _)| *of == device);
        (is_two && is_apart && is_one_device).then_some(())?;
        let span = |of: &[f64]| {
            let [first, .., last] = of else { return of.first().map_or(String::new(), s_of) };
            format!("{} to {}", s_of(first), s_of(last))
        };
        let first: Vec<f64> =
            all.iter().map(|(_, s)| *s).filter(|s| *s <= SAME_LATENCY_RATIO * least).collect();
        let mut finding = new_finding(verdict, Some(device), vec![place]);
        finding.blame = Some(Blame::DiskOrPath);
        let or = if rest.is_empty() { String::new() } else { format!(" or {}", span(&rest)) };
        finding.sentence = format!(
            "all {} to {} that were slow took {}{or}, like timeouts: each was lost at the disk or \
             on the path to it, and sent again; the latencies of a queue would vary",
            phrase::count(all.len() as f64, "request(s)"),
            phrase::disk(&analysis.recording.device_of(device).name),
            span(&first)
        );
        let n = all.len() as u64;
        let computed = analysis.computed(place, n);
        finding.evidence = vec![
            computed.count("requests of 5 s and more", n as f64).above(MIN_REQUESTS as f64 - 1.0),
            computed.seconds("shortest of them", least).above(OVERDUE_S),
            computed.count("number of distinct latencies", if rest.is_empty() { 1.0 } else { 2.0 }),
        ];
        finding.assume(TIMED_OUT, "durations of timeouts");
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&["the program itself polls at that interval"]);
        finding.next_step = lines(&[
            "`dmesg` of the same seconds: aborts, resets, failing paths; `cat \
             /sys/block/*/device/timeout`: is it one of these?",
            "the counters of the path (`/sys/class/fc_host/*/statistics`, switch ports, `smartctl \
             -l sataphy`): discarded frames, CRC errors, timeouts",
            "try another path, cable or adapter: do the timeouts stop?",
        ]);
        Some(finding)
    });
    found.collect()
}

/// Seconds from which on a test that overran its limit held a lost request, and what one and two
/// such tests are worth (a long queue of writes beside it may do the same).
pub(crate) const OVERRAN_S: f64 = 10.0;
const LOST: f64 = 0.8;
const LOST_AGAIN: f64 = 0.92;

/// Tests of limited length whose last request ended long after: it took at least that long.
pub(crate) fn overran(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    // The kernel's log says more of the same requests.
    if analysis.facts.log().next().is_some() {
        return Vec::new();
    }
    let found = analysis.listings().filter_map(|(place, listing)| {
        let overran = listing.facts.iter().filter(|fact| fact.key == key::RUN_OVERRAN);
        let timed = overran.filter_map(|fact| Some((fact.value.number()?, fact.device?)));
        // What an array holds back may wait for its resync.
        let is_stacked =
            |device: DeviceId| disk_names::is_stacked(&disk_names::of(analysis.recording, device));
        let timed = timed.filter(|(s, device)| *s >= OVERRAN_S && !is_stacked(*device));
        let timed: Vec<_> = timed.collect();
        let (over_s, device) = *timed.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let mut finding = new_finding(verdict, Some(device), vec![place]);
        finding.blame = Some(Blame::DiskOrPath);
        finding.sentence = format!(
            "one request to {} took {} or more: a test that ends by the clock ended that much too \
             late. It was lost at the disk or on the path to it, and repeated after a timeout",
            phrase::disk(&analysis.recording.device_of(device).name),
            s_of(&over_s)
        );
        let n = timed.len() as u64;
        let what = "time by which the test overran its own limit";
        finding.evidence = vec![
            analysis.computed(place, n).seconds(what, over_s).above(OVERRAN_S),
            analysis.computed(place, n).count("tests that did", n as f64),
        ];
        let weight = if n > 1 { LOST_AGAIN } else { LOST };
        finding.assume(weight, "a request as long as a timeout");
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&[
            "`iostat -x 1` meanwhile shows a long queue of writes: then it waited behind them",
        ]);
        finding.next_step = lines(&[
            "`dmesg | tail -50` of the same seconds: timeouts, aborts, resets, completions that \
             were polled (lost interrupts)",
            "for NVMe `nvme_core.default_ps_max_latency_us=0 pcie_aspm=off` (kernel parameters): \
             does it stop? Then power saving of the drive or its link",
            "another slot, cable or adapter; another kernel version",
        ]);
        Some(finding)
    });
    found.collect()
}

fn s_of(seconds: &f64) -> String {
    phrase::ms(seconds * 1e3)
}
