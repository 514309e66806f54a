//! Runs of a load generator whose own threads are CPU-bound.
//!
//! A thread that is always on a CPU is limited by that CPU, so its result shows the host: copying,
//! encryption or checksums in the calls, or the program. A polling engine uses a whole CPU by
//! design, which proves nothing.

use iowhy_model::{Finding, Listing, Verdict, key};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::runs::{self, Run};
use crate::phrase;

/// Minimum CPU share of such a thread: the rest is the start and end of a run (a choice).
const ALL_OF_IT: f64 = 0.9;
/// The weight: the run itself reports it.
const STATED: f64 = 0.93;
/// Options of fio (`fio --enghelp=io_uring`, `=pvsync2`), and engines, that poll.
const POLLS: [&str; 3] = ["hipri", "hipri_percentage", "sqthread_poll"];
const POLLING: [&str; 3] = ["spdk", "spdk_bdev", "xnvme"];

/// Whether what issues the requests polls for their completion.
fn polls(listing: &Listing) -> bool {
    listing.facts.iter().any(|fact| match fact.key.member_of(key::FIO) {
        Some("ioengine") => POLLING.contains(&fact.value.to_string().as_str()),
        Some(option) => POLLS.contains(&option),
        None => false,
    })
}

/// A finding for each listing in which every run is bound by its CPU.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let runs = runs::runs(analysis);
    let listings = analysis.listings();
    let bound = listings.filter_map(|(place, listing)| {
        let here: Vec<&Run> = runs.iter().filter(|run| run.place() == place).collect();
        let on_cpu = |run: &&Run| analysis.about(place, run.name()).number(key::RUN_CPU);
        let of_each = here.iter().map(on_cpu).collect::<Option<Vec<_>>>()?.into_iter();
        let (least, reading) = of_each.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
        (least >= ALL_OF_IT && !polls(listing)).then_some(())?;
        let mut finding = new_finding(verdict, None, vec![place]);
        let reached = here.iter().map(|run| run.throughput()).fold(0.0, f64::max);
        finding.sentence = format!(
            "the threads of the test are CPU-bound ({}): its {} are what the host can issue, not \
             what the disk can serve",
            phrase::percent(least),
            phrase::rate(reached)
        );
        let what = "time that a thread of the test was on a CPU";
        let printed = analysis.printed(place, 1);
        finding.evidence = vec![
            analysis.stated(&reading).share(what, least).above(ALL_OF_IT),
            printed.bytes_per_s("throughput reached", reached),
        ];
        finding.assume(STATED, "reported by the run itself");
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&[
            "its engine polls (`hipri`, `sqthread_poll`), which needs a CPU whatever the disk does",
            "with twice the jobs it reaches no more while the CPUs have time left",
        ]);
        finding.next_step = lines(&[
            "`perf top -t TID`, or `perf record -g`: copying, encryption, checksums, or the \
             program?",
            "the same test with `numjobs` doubled, with `direct=1`, or with an asynchronous \
             engine: does it reach more?",
        ]);
        Some(finding)
    });
    bound.collect()
}
