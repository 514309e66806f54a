//! Tests of a cluster's objects (`rados bench`): those that wait in their own queue, and those that
//! make almost no progress.
//!
//! A test creates its own queue, so each object waits for those before it. If the cluster completes
//! almost nothing, no queue explains it: requests to some of its services hang.

use iowhy_model::{Distribution, Finding, Verdict};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::phrase;

/// The format of such tests.
const RADOS_BENCH: &str = "rados-bench";
/// Seconds from one object that a cluster completes to the next, and of one object, from which on
/// it is not a load of the test but something that does not answer (choices: a cluster of spinning
/// disks completes one of 4 MB in 50 ms).
const APART_S: f64 = 0.25;
const OBJECT_S: f64 = 2.0;
/// Seconds from one object to the next that a working cluster needs at most (above), objects in
/// flight that are more than its disks serve at once, and what an own queue is worth (choices).
const FLOWS_S: f64 = 0.05;
const MANY: f64 = 32.0;
const QUEUED: f64 = 0.95;
/// Its weight: which service holds them up is not in it.
const STUCK: f64 = 0.90;

/// The objects of each test, with its listing.
fn tests<'a>(analysis: &Analysis<'a>) -> impl Iterator<Item = (usize, &'a Distribution)> {
    let listings = analysis.listings();
    let tests = listings.filter(|(_, listing)| listing.source.format == RADOS_BENCH);
    tests.flat_map(|(place, listing)| listing.histograms().map(move |objects| (place, objects)))
}

/// A finding of each test with almost no progress: `layer.remote`.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    tests(analysis).filter_map(|(place, of)| stuck(analysis, place, of, verdict)).collect()
}

/// Tests whose objects wait for each other: `load.saturated`.
pub(crate) fn queued(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = tests(analysis).filter_map(|(place, objects)| {
        let n = objects.histogram.count();
        let mean_s = objects.histogram.mean_ns()?.0 / 1e9;
        let at_once = analysis.at_once(place, objects.device).filter(|n| *n >= MANY)?;
        let apart_s = mean_s / at_once;
        (mean_s >= OBJECT_S && apart_s <= FLOWS_S).then_some(())?;
        let mut finding = new_finding(verdict, Some(objects.device), vec![place]);
        finding.sentence = format!(
            "the test keeps {} objects in flight and the cluster completes one every {}: each \
             takes {} because it waits for the others",
            phrase::digits(at_once),
            phrase::ms(apart_s * 1e3),
            phrase::ms(mean_s * 1e3)
        );
        let computed = analysis.computed(place, n);
        finding.evidence = vec![
            computed.requests("objects in flight", at_once).above(MANY),
            computed.seconds(APART, apart_s).below(FLOWS_S),
        ];
        finding.assume(QUEUED, "the test reports its depth");
        finding.explained_share = 1.0 - apart_s / mean_s;
        finding.refuted_by = lines(&["the same test with `-t 1` is just as slow"]);
        finding.next_step = lines(&[
            "`rados bench ... -t 1`: the latency of one object alone; compare the throughput of \
             this test, not its latency, with the disks and the network of the cluster",
            "`ceph osd perf`, `iostat -x 1` on its hosts: which of disks, journals and network is \
             full?",
        ]);
        Some(finding)
    });
    found.collect()
}

const APART: &str = "mean time of an object, divided by those in flight";

fn stuck(
    analysis: &Analysis,
    place: usize,
    objects: &Distribution,
    verdict: Verdict,
) -> Option<Finding> {
    let n = objects.histogram.count();
    let mean_s = objects.histogram.mean_ns()?.0 / 1e9;
    let at_once = analysis.at_once(place, objects.device)?;
    let apart_s = mean_s / at_once.max(1.0);
    (mean_s >= OBJECT_S && apart_s >= APART_S).then_some(())?;
    let mut finding = new_finding(verdict, Some(objects.device), vec![place]);
    finding.sentence = format!(
        "the cluster completes an object every {} with {} in flight, so each takes {} on average: \
         requests to some of its services, or the network to them, get stuck",
        phrase::ms(apart_s * 1e3),
        phrase::digits(at_once),
        phrase::ms(mean_s * 1e3)
    );
    finding.evidence = vec![
        analysis.computed(place, n).seconds(APART, apart_s).above(APART_S),
        analysis.printed(place, n).seconds("mean time of an object", mean_s).above(OBJECT_S),
    ];
    finding.assume(STUCK, "a cluster that hardly completes anything");
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&["another client of the cluster is fast at the same time"]);
    finding.next_step = lines(&[
        "`ceph health detail`, `ceph osd perf`: which services hold requests up, or are slow?",
        "`ceph tell osd.N bench` one after the other: is one of them slow alone? Then its disk: \
         `iostat -x 1`; else the network: `iperf3` between the hosts, MTU, errors of the ports",
    ]);
    Some(finding)
}
