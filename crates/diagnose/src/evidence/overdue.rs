//! Requests that took longer than storage that works ever needs, as a program lists them.
//!
//! Durations that all stand at one or two values are timeouts: a request was lost on its way and
//! sent again. A queue spreads.

use iowhy_model::{Blame, Finding, Layer, Verdict};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
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
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
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

fn s_of(seconds: &f64) -> String {
    phrase::ms(seconds * 1e3)
}
