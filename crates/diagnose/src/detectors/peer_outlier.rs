//! One disk is far slower than its peers with the same load.
//!
//! ## Accuses
//! One disk of a peer group. Its peers have the same load, and respond many times faster.
//!
//! ## Why it matters
//! In a stripe or a replica set the slowest disk limits all (tail at scale). Peers are the best
//! baseline: they share load, firmware, controller and time of day.
//!
//! ## Needs
//! Four or more disks of a kind in one listing, with latencies, histograms, a table of count, mean
//! and maximum, or averages per disk. Two or three, if they have exactly the same load.
//!
//! ## Rule
//! Two values per disk, the median and the mean without the worst request, each compared with the
//! median and spread of the others. All rows of a disk in a listing count together, and so do its
//! histograms of one operation and stage. The spread is that of the peers, never of the suspect, so
//! that a tail does not hide itself. The larger z must exceed 3 + 0.25 log2 N, and the value must
//! be 1.3 times the peers'. Of two or three disks with the same rate, size and share of reads (to a
//! tenth; to a half, if they are members of one array), one must be ten times slower than the
//! others, and take 50 ms; for NVMe drives four times and 20 ms. (A plain three-sigma rule cannot
//! fire with fewer than eleven disks.) Of the disks of one name on two machines of an input, one
//! gives the same test of one stream less than 20 MB/s and a tenth of the other's rate. Suspected:
//! of four disks or more, one gives that test a third of the median, or three fifths of it if it is
//! three times as far from its peers as they are from each other.
//!
//! ## Wrong if
//! The disk has different data (a hot spot), is a different model, is being rebuilt, or a neighbour
//! on the same path disturbs it (noisy neighbour). Below 1.6 times the peers a different model is
//! as likely as a fault, and the disk is only suspected; so is a disk with a single row of
//! averages, if it is as fast as a healthy disk of a class it may be of, and one that has more
//! I/Os than its peers by as many times as it is slower: its own queue explains that; and one whose
//! requests tasks serve (loop, nbd) while tasks wait for a CPU, if a few time slices explain it.
//!
//! ## Next step
//! Examine this one disk, then take it out of service if its data is redundant.

use iowhy_model::Order as _;
use iowhy_model::{Evidence, Finding, Forecast, Histogram, Level, Nanos, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::analysis::samples::HistogramSample;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::{self, SHAPE_ALONE};
use crate::evidence::forecast::from_means;
use crate::evidence::peer_families::{self, Member, PeerMetric};
use crate::evidence::programs;
use crate::evidence::shortage;
use crate::evidence::throughput;
use crate::facts::About;
use crate::facts::disk_names;
use crate::facts::reading::FactReading;
use crate::measures::peers::{self, Peer, PeerRank, View};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::PeerOutlier,
    summary: "One disk is far slower than its peers under the same load",
    manual: iowhy_model::manual!("peer_outlier.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::B,
        seconds: 60,
        what: "the latencies of at least four disks that share a load",
    },
    // Peers under the same load are a better baseline than an assumed class.
    // Work of an array waits for its slowest member.
    explains: &[Verdict::DeviceSlow, Verdict::LoadRebuild],
    rule: Rule::Detect(detect),
};

/// The ratio a disk must exceed to be flagged at all (docs/METHOD.md, 7 Peers).
const RATIO: f64 = 1.3;
/// The ratio up to which another model of disk explains it: 5400 rpm for 7200 is 1.33, and seeks of
/// the same year's models differ by a fifth (data sheets).
const ANOTHER_MODEL: f64 = 1.6;
/// Peers beyond three healthy times are not healthy themselves (the bound of health,
/// docs/METHOD.md, 1 Replay); a disk five times slower than those is slow anyway (a choice).
const NOT_HEALTHY: f64 = 3.0;
const FAR_BEYOND: f64 = 5.0;
/// Odds that a disk flagged by z and ratio is faulty before either is weighed: precision at 20
/// requests per disk is 0.87 (docs/METHOD.md, 7 Peers), and the clauses count from there.
const PRIOR: f64 = 0.5;
/// A minimum within this factor of the peers' shows that the path is fine.
const SAME_MINIMUM: f64 = 2.0;

/// Slow I/Os of a member, and times as many as any other member has, from which on it is suspected
/// (choices: one that took 30 s is unusual, and in a suspended pool all members have some).
const SLOW_IOS: f64 = 5.0;
const SLOW_TIMES: f64 = 5.0;
/// Maximum confidence of an accusation among two or three disks with exactly the same work (a
/// choice).
const MAX_OF_FEW_PEERS: f64 = 0.95;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    (0..analysis.recording.listings.len())
        .flat_map(|listing| {
            peer_families::families(analysis, listing).into_iter().map(move |f| (listing, f))
        })
        .flat_map(|(listing, family)| judge_family(analysis, listing, &family))
        .chain(programs::laggard(analysis, DETECTOR.verdict))
        .chain(throughput::behind_peers(analysis, DETECTOR.verdict))
        .chain(throughput::behind_twins(analysis, DETECTOR.verdict))
        .chain(slow_members(analysis))
        .collect()
}

/// Slow I/Os that its pool counts of a member, what states them, and why the pool degraded it.
fn slow_of<'a>(about: About<'_, 'a>) -> (f64, Option<FactReading<'a>>, Option<FactReading<'a>>) {
    let counted = about.number(key::MEMBER_ERRORS.of("slow"));
    let judged = about.last(key::MEMBER_REASON);
    (counted.map_or(0.0, |(n, _)| n), counted.map(|(_, reading)| reading), judged)
}

/// Members whose pool counts slow I/Os, or degraded them for these, beside others of the same pool
/// that have few.
fn slow_members(analysis: &Analysis) -> Vec<Finding> {
    let found = analysis.facts.each().filter_map(|about| {
        let disk = about.disk;
        let (slow, counted, judged) = slow_of(about);
        let reading = judged.or(counted.filter(|_| slow >= SLOW_IOS))?;
        let (pool, members) = about.array()?;
        let others = members.fact.value.words().unwrap_or_default();
        let others: Vec<&String> = others.iter().filter(|other| other.as_str() != disk).collect();
        let theirs = others.iter().map(|other| slow_of(analysis.facts.about(about.host, other)));
        let most = theirs.clone().map(|(slow, ..)| slow).fold(0.0, f64::max);
        let alone = !others.is_empty()
            && theirs.clone().all(|(.., judged)| judged.is_none())
            && (judged.is_some() || slow >= SLOW_TIMES * most);
        let device = reading.fact.device.filter(|_| alone)?;
        let mut finding = new_finding(DETECTOR.verdict, Some(device), vec![reading.listing]);
        let what = "slow I/Os counted by its pool (zio_slow_io_ms, 30 s by default)";
        finding.evidence = match judged {
            Some(judged) => vec![
                analysis
                    .stated(&judged)
                    .count("members degraded by their pool for too many slow I/Os", 1.0)
                    .above(0.0),
            ],
            None => Vec::new(),
        };
        if let Some(counted) = counted {
            finding
                .evidence
                .push(analysis.stated(&counted).count(what, slow).above(SLOW_IOS - 1.0));
            let what = "slow I/Os of another member, maximum";
            finding.evidence.push(analysis.stated(&counted).count(what, most));
        }
        let words = match judged {
            Some(_) => "its pool degraded it for too many slow I/Os".to_string(),
            None => format!("its pool counts {} slow I/Os", phrase::thousands(slow)),
        };
        let whom = match others.as_slice() {
            [other] => format!("{} has {}", phrase::disk(other), phrase::thousands(most)),
            _ => format!(
                "none of the {} others has more than {}",
                others.len(),
                phrase::thousands(most)
            ),
        };
        let whom = if counted.is_some() { whom } else { "its other members work".to_string() };
        finding.sentence = format!(
            "{} of {pool} is slower than its peers: {words}, and {whom}",
            phrase::disk(disk)
        );
        finding.assume(SHAPE_ALONE, "slow I/Os of one member, counted by its pool");
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&[
            "the disk has hotter data, is a different model, or is being rebuilt",
            "after `zpool clear`, the same load does not increase its count",
        ]);
        finding.next_step = vec![
            format!("{}: retries, stalls or plain slowness?", phrase::capture(disk, 60)),
            format!("compare `smartctl -x {}` with a peer's", phrase::node(disk)),
            format!("`zpool status -s {pool}` now and in an hour, `zpool iostat -vl {pool} 5`"),
        ];
        Some(finding)
    });
    found.collect()
}

fn judge_family(analysis: &Analysis, listing: usize, family: &[Member]) -> Vec<Finding> {
    let peers: Vec<Peer> = family.iter().map(|member| member.peer).collect();
    let standings = peers::compare(&peers);
    family
        .iter()
        .zip(standings)
        .filter(|(member, standing)| {
            let far = peer_families::is_far_slower(member, standing.ratio);
            standing.flagged && (far || peer_families::is_group(family))
        })
        .map(|(member, standing)| finding(analysis, listing, family, member, standing))
        .collect()
}

fn finding(
    analysis: &Analysis,
    listing: usize,
    family: &[Member],
    member: &Member,
    standing: PeerRank,
) -> Finding {
    let others: Vec<&Member> =
        family.iter().filter(|other| other.device != member.device).collect();
    let typical = middle(others.iter().map(|other| other.mean_ns));
    let disk = phrase::disk(&member.disk);
    let mut finding = new_finding(DETECTOR.verdict, Some(member.device), vec![listing]);
    finding.sentence = format!(
        "{disk} is {} times slower than {} {}: {} on average against {}{}",
        phrase::digits(member.mean_ns / typical),
        match others.as_slice() {
            [other] => phrase::disk(&other.disk).to_string(),
            _ => format!("its {} peers", others.len()),
        },
        match standing.is_explained_by_load() {
            true => format!("with {} times their I/Os", phrase::digits(standing.load_ratio)),
            false => "under the same load".to_string(),
        },
        phrase::ns(member.mean_ns),
        phrase::ns(typical),
        path_clause(member, &others)
    );
    finding.evidence = evidence(analysis, listing, member, &others, standing);
    let (histograms, mut places) = beside_a_good_peer(analysis, listing, member, family);
    // Directly after the factor: they show what the mean hides.
    finding.evidence.splice(1..1, histograms);
    finding.subject.listings.append(&mut places);
    let clauses = [
        confidence::above("robust z", standing.z, standing.threshold),
        confidence::above("times slower than its peers", standing.ratio, RATIO),
    ];
    confidence::believe(&mut finding, PRIOR, clauses);
    // Rotations of 5400 and 7200 per minute and the seeks of two models differ by as much.
    let may_be_model = standing.ratio < ANOTHER_MODEL;
    // If the others are slow as well, and it is not far beyond them, the cause is shared.
    let far = standing.ratio >= FAR_BEYOND && member.mean_ns >= FAR_BEYOND * typical;
    let all_slow = !far && peers_are_slow(analysis, listing, &others);
    let may_be_well = may_be_well(analysis, listing, member);
    let served_late = may_be_served_late(analysis, listing, member, member.mean_ns - typical);
    for (stands, why) in [
        (may_be_model, "models can differ as much: rotational speed, seek times"),
        (all_slow, "its peers are also slow: suspect what they share first"),
        (may_be_well, "it is as fast as a healthy disk of its class"),
        (standing.is_explained_by_load(), "it has more I/Os than its peers, and more in flight"),
        (served_late, "its requests are served by tasks (loop, iSCSI), and tasks are CPU-starved"),
    ] {
        finding.doubt_if(stands, why, SHAPE_ALONE);
    }
    if !peer_families::is_group(family) {
        finding.bound("few peers, no group with a shared load", MAX_OF_FEW_PEERS);
    }
    finding.explained_share = ((member.mean_ns - typical) / member.mean_ns).max(0.0);
    finding.forecast = like_its_peers(member, &others, typical);
    finding.refuted_by = lines(&[
        "the disk has hotter data, is a different model, or is being rebuilt",
        "another disk of the same shelf is just as slow under the same load",
    ]);
    finding.next_step = lines(&[
        &format!("{}: retries, stalls or plain slowness?", phrase::capture(&member.disk, 60)),
        &format!("compare `smartctl -x {}` with a peer's", phrase::node(&member.disk)),
        "take it out of service if its data is redundant",
    ]);
    finding
}

/// Whether a disk has only one row of averages, and a healthy disk of a possible class takes as
/// long: then its peers may be of another class.
fn may_be_well(analysis: &Analysis, listing: usize, member: &Member) -> bool {
    if analysis.level(&[listing]) != Level::A {
        return false;
    }
    let of = |place: usize, name: &str| place == listing && name == member.disk;
    let mut rows = analysis.intervals.iter().filter(|row| of(row.listing, &row.disk));
    let (Some(row), None) = (rows.next(), rows.next()) else { return false };
    member.mean_ns / 1e6 <= row.s0.slowest_ms()
}

/// Whether tasks serve a disk's requests where tasks wait for a CPU, and it is behind its peers by
/// no more than a few of their time slices.
fn may_be_served_late(
    analysis: &Analysis,
    listing: usize,
    member: &Member,
    behind_ns: f64,
) -> bool {
    behind_ns < shortage::SLICES * shortage::SLICE_NS
        && disk_names::is_served_by_tasks(&member.disk)
        && shortage::is_stated(analysis, analysis.host(listing), &shortage::of_processors())
}

/// Whether the typical peer is itself far slower than a healthy disk of its class.
fn peers_are_slow(analysis: &Analysis, listing: usize, others: &[&Member]) -> bool {
    let healthy_ms = |other: &Member| {
        let of = |place: usize, name: &str| place == listing && name == other.disk;
        let counted = analysis.histograms.iter().find(|known| of(known.listing, &known.disk));
        let averaged = || analysis.intervals.iter().find(|row| of(row.listing, &row.disk));
        let counted = counted.map(|known| known.s0.slowest_ms());
        let traced = || Some(analysis.trace(listing, other.device)?.slow_end_ns() / 1e6);
        counted.or_else(|| averaged().map(|row| row.s0.slowest_ms())).or_else(traced)
    };
    let slower = others.iter().filter_map(|other| Some(other.mean_ns / 1e6 / healthy_ms(other)?));
    middle(slower) > NOT_HEALTHY
}

/// Its latency if it were like its peers: their median, between the fastest and the slowest.
fn like_its_peers(member: &Member, others: &[&Member], typical: f64) -> Option<Forecast> {
    let means = || others.iter().map(|other| other.mean_ns);
    let (low, high) = (means().fold(typical, f64::min), means().fold(typical, f64::max));
    let after = from_means(member.mean_ns, typical, "it responds like its peers".to_string())?;
    Some(Forecast { range: Some((Nanos(low as i64), Nanos(high as i64))), ..after })
}

/// A minimum like the peers' means that the path to the disk is fine.
fn path_clause(member: &Member, others: &[&Member]) -> String {
    let Some(own) = member.min_ns else { return String::new() };
    let theirs = middle(others.iter().filter_map(|other| other.min_ns));
    if theirs > 0.0 && own / theirs < SAME_MINIMUM && own / theirs > 1.0 / SAME_MINIMUM {
        format!("; its minimum ({}) matches its peers, so the path is fine", phrase::ns(own))
    } else {
        String::new()
    }
}

fn evidence(
    analysis: &Analysis,
    listing: usize,
    member: &Member,
    others: &[&Member],
    standing: PeerRank,
) -> Vec<Evidence> {
    let n = member.peer.n;
    let all = iowhy_model::numbers::total(others.iter().map(|other| other.peer.n));
    let peers_mean = middle(others.iter().map(|other| other.mean_ns)) / 1e6;
    let view = match standing.view {
        View::Median => "ratio of median latencies, disk/peers",
        View::TrimmedMean => "ratio of mean latencies without the worst, disk/peers' median",
    };
    let printed = analysis.printed(listing, n);
    let computed = analysis.computed(listing, n);
    let mut evidence = vec![
        computed.ratio(
            "ratio of mean latencies, disk/peers' median",
            member.mean_ns / 1e6 / peers_mean,
        ),
        computed.ratio(view, standing.ratio).above(RATIO),
        computed.of("two-view z", standing.z, Unit::Sigma).above(standing.threshold),
        printed.ms("mean latency", member.mean_ns / 1e6),
        computed.over(all).ms("mean latency of a peer, median", peers_mean),
    ];
    if let Some(min) = member.min_ns {
        let theirs = middle(others.iter().filter_map(|other| other.min_ns)) / 1e6;
        evidence.push(printed.ms("smallest latency", min / 1e6));
        evidence.push(computed.over(all).ms("smallest latency of a peer, median", theirs));
    }
    if let Some(max) = member.max_ns {
        let theirs = others.iter().filter_map(|other| other.max_ns).fold(0.0, f64::max) / 1e6;
        evidence.push(printed.ms("largest latency", max / 1e6));
        evidence.push(computed.over(all).ms("largest latency of all peers", theirs));
    }
    let runner_up = others.iter().max_by(|a, b| a.mean_ns.total_cmp(&b.mean_ns));
    if let Some(next) = runner_up {
        let what = format!("mean latency of the next slowest, {}", next.disk);
        evidence.push(printed.over(next.peer.n).ms(&what, next.mean_ns / 1e6));
    }
    evidence
}

/// Its histogram beside a peer's, wherever the input has both of the same operation and stage: the
/// share of requests beyond the slowest bucket the peer reaches.
fn beside_a_good_peer(
    analysis: &Analysis,
    listing: usize,
    member: &Member,
    family: &[Member],
) -> (Vec<Evidence>, Vec<usize>) {
    let real: Vec<(PeerMetric, &HistogramSample)> = analysis
        .histograms
        .iter()
        .filter(|sample| analysis.host(sample.listing) == analysis.host(listing))
        .filter_map(|sample| Some((peer_families::measured(sample)?, sample)))
        .filter(|(measured, _)| matches!(measured, PeerMetric::Histogram(..)))
        .collect();
    let first = |disk: &str, like: Option<PeerMetric>| {
        let akin = |of: &PeerMetric| like.is_none_or(|like| like == *of);
        real.iter().find(|(of, sample)| sample.disk == disk && akin(of)).copied()
    };
    // Histograms compared already are the ones to show; else the first of the disk.
    let Some((measured, mine)) =
        first(&member.disk, Some(member.measured)).or_else(|| first(&member.disk, None))
    else {
        return (Vec::new(), Vec::new());
    };
    let others = family.iter().filter(|other| other.device != member.device);
    let quickest_first = sorted_by_mean(others);
    let peer = quickest_first.iter().find_map(|other| first(&other.disk, Some(measured)));
    let Some((_, peer)) = peer else { return (Vec::new(), Vec::new()) };
    let whole = |sample: &HistogramSample| {
        let alike = real.iter().filter(|(of, other)| {
            (*of, &other.disk, other.listing) == (measured, &sample.disk, sample.listing)
        });
        peer_families::merged(alike.map(|(_, other)| &other.known.histogram))
    };
    let Some((own, good)) = whole(mine).zip(whole(peer)) else { return (Vec::new(), Vec::new()) };
    let limit_ns = beyond(&own, &good);
    let evidence = [(mine, own), (peer, good)]
        .iter()
        .map(|(sample, histogram)| {
            let what =
                format!("I/Os of {} slower than {}", sample.disk, phrase::ns(limit_ns as f64));
            let share = share_from(histogram, limit_ns);
            analysis.estimated(sample.listing, histogram.count()).share(&what, share)
        })
        .collect();
    let places = [mine.listing, peer.listing].into_iter().filter(|p| *p != listing).collect();
    (evidence, places)
}

fn sorted_by_mean<'m>(members: impl Iterator<Item = &'m Member>) -> Vec<&'m Member> {
    let mut members: Vec<&Member> = members.collect();
    members.order_by(|a, b| a.mean_ns.total_cmp(&b.mean_ns));
    members
}

/// Where the tail begins: the suspect's first filled bucket beyond all of the peer's, or the peer's
/// end if there is none. An open bucket counts as its lower edge, because its upper end is unknown.
fn beyond(own: &Histogram, good: &Histogram) -> u64 {
    let ends = good.filled().map(|(low, high, _)| if high == u64::MAX { low } else { high });
    let body_ends = ends.max().unwrap_or(0);
    own.filled().map(|(low, _, _)| low).find(|low| *low >= body_ends).unwrap_or(body_ends)
}

fn share_from(histogram: &Histogram, limit_ns: u64) -> f64 {
    histogram.count_from(limit_ns) as f64 / histogram.count().max(1) as f64
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    crate::measures::spread::median(&values.collect::<Vec<_>>()).unwrap_or(0.0)
}
