//! Many disks are slow together: the cause is something they share, not any one of them.
//!
//! ## Accuses
//! Host adapter, expander, shelf, power, fan vibration, or the host itself, if it was paused or
//! lost CPU time. Not a single disk.
//!
//! ## Why it matters
//! Each disk looks faulty by itself, and none is. Two of five causes of slow storage lie outside
//! the device (Fail-Slow at Scale, FAST 2018).
//!
//! ## Needs
//! Averages or a per-I/O log of three or more disks at once; topology, the kernel's log and
//! `vmstat` identify the component.
//!
//! ## Rule
//! Of the disks under one parent, or of one listing if the parent is unknown, 60 % or more and at
//! least three take over twice the healthy time and are blamed by the replay (with averages: busy
//! time per completion above twice the slowest healthy time), and their excess per request is
//! correlated second by second: the median of r over all pairs exceeds 0.5. Two disks are enough if
//! both stalled at the same moments. Suspected from averages: a disk completes nothing while eight
//! requests wait, and every other disk of its kind also completes nothing, or takes a second per
//! request.
//!
//! ## Wrong if
//! The same batch job ran on all of them and they are just queueing: then the replay blames the
//! load.
//!
//! ## Next step
//! Check what they share: adapter and expander logs, power, fans, steal time of the host.

use std::collections::BTreeMap;

use iowhy_model::{Bound, Clause, DeviceId, Evidence, Finding, Level, MessageKind, Verdict, key};

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::IntervalSample;
use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::{self, PRIOR_OF_PATH};
use crate::facts::disk_names;
use crate::measures::{correlation, spread};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::PeerShared,
    summary: "Many disks are slow together: a shared component is at fault",
    manual: iowhy_model::manual!("peer_shared.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::C,
        seconds: 60,
        what: "all disks of the shelf at once, with `vmstat 1` and the kernel's log",
    },
    explains: &[
        Verdict::DeviceHang,
        Verdict::DeviceSlow,
        Verdict::DeviceStall,
        Verdict::PeerOutlier,
    ],
    rule: Rule::Detect(detect),
};

/// Share of the disks, their number, and how far they move together (docs/METHOD.md, 17 Faults).
const SHARE: f64 = 0.60;
const DISKS: usize = 3;
const MIN_CORRELATION: f64 = 0.5;
/// Votes of nine that must blame the device, with a known and with an assumed medium: all disks
/// share the assumption.
const VOTES: u32 = 3;
const MIN_VOTES: u32 = 6;
/// Seconds, or rows, in which all have to have worked.
const BINS: usize = 8;
const BIN_NS: i64 = 1_000_000_000;
/// Mean latency, of rows busy time per completion, over the healthy service time.
const SLOW: f64 = 2.0;
/// Maximum loss of a disk, relative to the median of the slow ones, that counts as shared: twice,
/// as far as a healthy one may be from its class.
const EVENLY: f64 = 2.0;
/// Steal of the processor from which on the host is to blame, % (vmstat(8); peers of a busy host
/// stay below), and what it and log lines of an adapter add, nats.
const STEAL: f64 = 0.05;
const STOLEN: f64 = 2.0;
const LOGGED: f64 = 3.0;

/// A disk among those it shares something with.
struct Member {
    listing: usize,
    device: DeviceId,
    disk: String,
    slow: bool,
    stood_still: bool,
    lost_ns: f64,
    /// Mean excess of a request, ns, by second or row.
    excess: BTreeMap<i64, f64>,
}

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let mut findings = Vec::new();
    for listing in 0..analysis.recording.listings.len() {
        let traces = analysis.traces.iter().filter(|trace| trace.listing == listing);
        let mut members: Vec<Member> = traces
            .filter(|t| t.spans.len() >= EVENTS_NEEDED)
            .map(|t| of_trace(analysis, t))
            .collect();
        if members.is_empty() {
            members = analysis.rows_in(listing).iter().filter_map(|rows| of_rows(rows)).collect();
        }
        for (parent, family) in families(analysis, members) {
            findings.extend(finding(analysis, listing, parent.as_deref(), &family));
        }
        findings.extend(stand_still(analysis, listing));
    }
    findings
}

/// Outstanding requests of a disk that completes none, and ms per request that no healthy disk of
/// its kind takes (choices).
const OUTSTANDING: f64 = 8.0;
const TAKES_MS: f64 = 1000.0;
/// Its weight.
const ALL_STALLED: f64 = 0.8;

/// A disk that completes nothing while requests wait, and others of its kind that also complete
/// nothing or take seconds in the same report: suspect what they share.
fn stand_still(analysis: &Analysis, listing: usize) -> Option<Finding> {
    let rows = analysis.rows_in(listing);
    let disks: Vec<&[&IntervalSample]> = rows
        .iter()
        .map(Vec::as_slice)
        .filter(|rows| rows.first().is_some_and(|row| !disk_names::is_stacked(&row.disk)))
        .collect();
    let stands = |rows: &[&IntervalSample], least: f64| {
        let outstanding = rows.iter().filter_map(|row| row.outstanding());
        outstanding.filter(|waiting| *waiting >= least).reduce(f64::max)
    };
    let takes = |rows: &[&IntervalSample]| {
        let all = rows.iter().filter(|row| row.per_s() > 0.0).filter_map(|row| row.await_ms());
        all.reduce(f64::max).filter(|ms| *ms >= TAKES_MS)
    };
    let (first, waiting) =
        disks.iter().find_map(|rows| Some((rows.first()?, stands(rows, OUTSTANDING)?)))?;
    let kind = disk_names::kind(&first.disk);
    let others: Vec<&[&IntervalSample]> = disks
        .iter()
        .copied()
        .filter(|rows| rows.iter().all(|row| row.disk != first.disk))
        .filter(|rows| rows.iter().all(|row| disk_names::kind(&row.disk) == kind))
        .collect();
    let slow = |rows: &&[&IntervalSample]| stands(rows, 1.0).is_some() || takes(rows).is_some();
    (!others.is_empty() && others.iter().all(slow)).then_some(())?;
    let devices: Vec<DeviceId> = std::iter::once(first.device)
        .chain(others.iter().filter_map(|rows| Some(rows.first()?.device)))
        .collect();
    let names: Vec<String> =
        others.iter().filter_map(|rows| Some(rows.first()?.disk.clone())).collect();
    let longest = others.iter().filter_map(|rows| takes(rows)).reduce(f64::max);
    let mut finding = new_finding(DETECTOR.verdict, None, vec![listing]);
    finding.subject.devices = devices;
    finding.sentence = format!(
        "{} completes nothing while {} requests wait, and {} {} at the same time: suspect what \
         they share (adapter, storage network, host of a virtual machine, a limit) before any of \
         them",
        phrase::disk(&first.disk),
        phrase::digits(waiting),
        phrase::list(&names),
        longest.map_or("completed nothing either".to_string(), |ms| format!(
            "took up to {} per request",
            phrase::ms(ms)
        ))
    );
    let computed = analysis.computed(listing, 1 + others.len() as u64);
    let what = "requests outstanding without a completion";
    finding.evidence = vec![computed.requests(what, waiting).above(OUTSTANDING)];
    let longest =
        longest.map(|ms| computed.ms("longest mean latency of the others", ms).above(TAKES_MS));
    finding.evidence.extend(longest);
    finding.assume(
        ALL_STALLED,
        "all disks of one kind stall, or take seconds per request, at the same time",
    );
    finding.doubt("averages: a load that all disks share looks the same", confidence::SHAPE_ALONE);
    (finding.explained_share, finding.share_is_assumed) = (1.0, true);
    finding.refuted_by = lines(&["one of them is fast while another completes nothing"]);
    finding.next_step = lines(&[
        "`dmesg --ctime | tail -50`: timeouts and resets, and of which adapter?",
        "`lsblk -o NAME,HCTL,TRAN`, `lsscsi -t`: what do they share? For a virtual machine, ask \
         for the latency and the limits that its host sees",
    ]);
    Some(finding)
}

fn of_trace(analysis: &Analysis, trace: &DeviceTrace) -> Member {
    let s0_ns = trace.s0.median_ms() * 1e6;
    let mut bins: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for span in &trace.spans {
        let (excess, n) = bins.entry(span.issued_ns.div_euclid(BIN_NS)).or_default();
        *excess += (span.latency_ns() - s0_ns).max(0.0);
        *n += 1.0;
    }
    let needed = if analysis.medium(trace.device).is_some() { VOTES } else { MIN_VOTES };
    let is_slow = trace.mean_ns() > SLOW * s0_ns;
    let blamed = trace
        .vote
        .as_ref()
        .is_some_and(|vote| is_slow && vote.device >= needed && vote.device > vote.workload);
    Member {
        listing: trace.listing,
        device: trace.device,
        disk: trace.disk.clone(),
        slow: blamed || trace.paused,
        stood_still: trace.paused,
        lost_ns: trace.lost_ns(),
        excess: bins.into_iter().map(|(bin, (excess, n))| (bin, excess / n)).collect(),
    }
}

fn of_rows(rows: &[&IntervalSample]) -> Option<Member> {
    let first = rows.first()?;
    let s0_ms = first.s0.median_ms();
    let excess =
        |row: &&&IntervalSample| Some((row.await_ms()? - row.s0.median_ms()).max(0.0) * 1e6);
    // Over all requests: a shared cause is slow at times, and the median row may be healthy.
    let (busy_ms, requests) = rows
        .iter()
        .filter_map(|row| Some((row.effective_ms()? * row.requests(), row.requests())))
        .fold((0.0, 0.0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    let slow = requests > 0.0 && busy_ms / requests > SLOW * s0_ms.max(first.s0.slowest_ms());
    Some(Member {
        listing: first.listing,
        device: first.device,
        disk: first.disk.clone(),
        slow,
        stood_still: false,
        lost_ns: rows.iter().map(|row| row.lost() * 1e9).sum(),
        excess: (0..).zip(rows).filter_map(|(k, row)| Some((k, excess(&row)?))).collect(),
    })
}

/// By parent, if stated for every member; else all together. Stacked devices are not peers of
/// disks.
fn families(analysis: &Analysis, members: Vec<Member>) -> Vec<(Option<String>, Vec<Member>)> {
    let members: Vec<Member> =
        members.into_iter().filter(|member| !disk_names::is_stacked(&member.disk)).collect();
    let parent = |member: &Member| {
        let host = analysis.host(member.listing);
        analysis.facts.graph.parent(&member.disk, Some(host)).map(str::to_string)
    };
    let parents: Option<Vec<String>> = members.iter().map(parent).collect();
    let Some(parents) = parents else { return vec![(None, members)] };
    let mut families: BTreeMap<String, Vec<Member>> = BTreeMap::new();
    for (parent, member) in parents.into_iter().zip(members) {
        families.entry(parent).or_default().push(member);
    }
    families.into_iter().map(|(parent, family)| (Some(parent), family)).collect()
}

fn finding(
    analysis: &Analysis,
    listing: usize,
    parent: Option<&str>,
    family: &[Member],
) -> Option<Finding> {
    let slow: Vec<&Member> = family.iter().filter(|member| member.slow).collect();
    let share = slow.len() as f64 / family.len().max(1) as f64;
    let stood_still = slow.len() > 1 && slow.iter().all(|member| member.stood_still);
    let enough = slow.len() >= DISKS || stood_still;
    if share < SHARE || !enough {
        return None;
    }
    let (r, bins) = together(&slow)?;
    if r <= MIN_CORRELATION {
        return None;
    }
    let names: Vec<String> = slow.iter().map(|member| member.disk.clone()).collect();
    let mut finding = new_finding(DETECTOR.verdict, None, vec![listing]);
    finding.subject.group = Some(names.join(" "));
    finding.subject.devices = slow.iter().map(|member| member.device).collect();
    let disks = slow.len() as u64;
    let computed = analysis.computed(listing, disks);
    finding.evidence = vec![
        computed.count("slow disks", slow.len() as f64).above(1.0),
        computed
            .over(family.len() as u64)
            .share("their share of all disks", share)
            .above(SHARE - 0.01),
        computed
            .over(bins as u64)
            .count("excess per request, median r over pairs", r)
            .above(MIN_CORRELATION)
            .weighs(),
    ];
    let mut clauses = vec![
        confidence::above("share of the disks", share, SHARE),
        confidence::above("slow disks", slow.len() as f64, DISKS as f64 - 0.5)
            .at_least(if stood_still { 2.0 } else { -3.0 }),
    ];
    let (culprit, nats, cited) = culprit(analysis, listing, &slow);
    finding.evidence.extend(cited.into_iter().map(|(evidence, place)| {
        if !finding.subject.listings.contains(&place) {
            finding.subject.listings.push(place);
        }
        evidence
    }));
    clauses.push(Clause::fixed("what they share", nats));
    confidence::believe(&mut finding, PRIOR_OF_PATH, clauses);
    finding.explained_share = shared_of(&slow, family);
    finding.sentence = format!(
        "{} of {} disks{} {} together ({}), {} per request beyond the healthy time: {}, not a \
         single disk",
        slow.len(),
        family.len(),
        parent.map_or(String::new(), |parent| format!(" behind {parent}")),
        if stood_still { "stand still" } else { "are slow" },
        phrase::list(&names),
        phrase::ns(mean_excess_ns(&slow)),
        culprit.unwrap_or("the cause is a shared component")
    );
    finding.refuted_by = lines(&[
        "the same batch job ran on all of them at these moments",
        "a disk of the same shelf and adapter stays fast throughout",
    ]);
    finding.next_step = lines(&[
        "`vmstat 1` at the same time: is `st` (steal time) above 5 %, do CPUs stop?",
        "check `dmesg`, adapter and expander logs at these moments; `lsscsi -t` shows what they \
         share",
        "check power supply, fans and vibration of the shelf",
    ]);
    Some(finding)
}

/// Share of the lost time that can be shared: a shared cause costs no disk far more than the
/// others. Any excess is the disk's own.
fn shared_of(slow: &[&Member], family: &[Member]) -> f64 {
    let lost: Vec<f64> = slow.iter().map(|member| member.lost_ns).collect();
    let most = EVENLY * spread::median(&lost).unwrap_or(0.0);
    let shared: f64 = lost.iter().map(|lost| lost.min(most)).sum();
    shared / family.iter().map(|member| member.lost_ns).sum::<f64>().max(1.0)
}

/// Mean excess wait of a request of these disks, over disks and seconds, ns.
fn mean_excess_ns(slow: &[&Member]) -> f64 {
    let all: Vec<f64> = slow.iter().flat_map(|member| member.excess.values().copied()).collect();
    spread::mean(&all).unwrap_or(0.0)
}

/// Correlation of the slow disks' excess per request, over the seconds in which all worked.
fn together(slow: &[&Member]) -> Option<(f64, usize)> {
    let first = slow.first()?;
    let bins: Vec<i64> = first
        .excess
        .keys()
        .filter(|bin| slow.iter().all(|member| member.excess.contains_key(bin)))
        .copied()
        .collect();
    if bins.len() < BINS {
        return None;
    }
    let series = |member: &&Member| {
        bins.iter().filter_map(|bin| member.excess.get(bin).copied()).collect::<Vec<f64>>()
    };
    let (r, _) = correlation::median_pairwise(&slow.iter().map(series).collect::<Vec<_>>())?;
    Some((r, bins.len()))
}

/// The shared cause, if CPU time was stolen or an adapter reports errors.
fn culprit(
    analysis: &Analysis,
    listing: usize,
    slow: &[&Member],
) -> (Option<&'static str>, f64, Vec<(Evidence, usize)>) {
    let Some(first) = slow.first() else { return (None, 0.0, Vec::new()) };
    let about = analysis.about(listing, &first.disk);
    if let Some((steal, reading)) =
        about.machine_number(key::VMSTAT_MEAN.of("st")).filter(|(st, _)| *st > STEAL)
    {
        let bound = Bound::Above(STEAL);
        let what = "CPU time stolen by the host";
        let cited = analysis.stated(&reading).share(what, steal).held(bound);
        return (Some("the host takes CPU time away"), STOLEN, vec![(cited, reading.listing)]);
    }
    let adapter = analysis.facts.unnamed().find(|line| {
        let host = analysis.host(line.reading.listing);
        line.kind == MessageKind::Controller && host.may_be(analysis.host(listing))
    });
    if let Some(line) = adapter {
        let what = "adapter errors in the kernel's log";
        let bound = Bound::Above(0.0);
        let cited = analysis.stated(&line.reading).count(what, 1.0).held(bound);
        return (Some("their adapter reports errors"), LOGGED, vec![(cited, line.reading.listing)]);
    }
    (None, 0.0, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_disk_loses_alone_is_not_shared() {
        let device = iowhy_model::Sink::device(&mut iowhy_model::Recording::new(), "loop0");
        let of = |lost_ns: f64| Member {
            listing: 0,
            device,
            disk: "loop0".to_string(),
            slow: true,
            stood_still: false,
            lost_ns,
            excess: BTreeMap::new(),
        };
        let share = |lost: &[f64]| {
            let family: Vec<Member> = lost.iter().map(|lost| of(*lost)).collect();
            shared_of(&family.iter().collect::<Vec<_>>(), &family)
        };
        // Five on a busy host, one of them thirty times as slow: 5 + 2 of 35.
        assert!((share(&[1.0, 1.0, 30.0, 1.0, 1.0, 1.0]) - 0.2).abs() < 1e-12);
        // All alike, within twice.
        assert_eq!(share(&[10.0, 14.0, 9.0, 18.0, 10.0]), 1.0);
    }
}
