//! One disk is far slower than the others that do the same work.
//!
//! ## Accuses
//! One disk of a group. Its peers have the same job, and answer many times quicker.
//!
//! ## Why it matters
//! In a stripe or a replica set the slowest disk sets the pace of all. Peers are the best
//! yardstick there is: they share load, firmware, controller and time of day.
//!
//! ## Needs
//! Four or more disks of a kind in one listing, with latencies, histograms, a table of count,
//! mean and maximum, or averages per disk.
//!
//! ## Rule
//! Two values per disk, the median and the mean without the worst request, each held against the
//! others' median and spread. The spread is the peers', never the suspect's: a tail must not
//! excuse itself. The larger z must exceed 3 + 0.25 log2 N, and the value must be 1.3 times the
//! peers'. A plain three-sigma rule can never fire below eleven disks.
//!
//! ## Wrong if
//! The disk holds other data (a hot spot), is of another model, is being rebuilt, or a neighbour
//! on the same path disturbs it.
//!
//! ## Next step
//! Drill into this one disk, then take it out of service if its data are redundant.

use iowhy_model::{Bound, DeviceId, Evidence, Finding, Histogram, Layer, Level, Unit};

use crate::Detector;
use crate::detector::{Needs, computed, estimated, finding, held, lines, read_off};
use crate::measures::peers::{self, Peer, Standing, View};
use crate::row::Shape;
use crate::scene::Scene;
use crate::track::Track;
use crate::{names, phrase, weigh};

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    name: "peer.outlier",
    summary: "One disk is far slower than its peers under the same load",
    manual: include_str!("peer_outlier.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::B,
        seconds: 60,
        what: "the latencies of at least four disks that share a load",
    },
    last: false,
    accuse,
};

/// Fewer disks are no group (docs/METHOD.md, 7 Peers).
const GROUP: usize = 4;
/// Requests looked at per disk: a median of this many is known to 1 %.
const SAMPLED: usize = 10_000;
/// Requests per disk below which its mean is noise (docs/METHOD.md, 7 Peers, starts at 20).
const REQUESTS: u64 = 20;
/// The ratio a disk must exceed to be flagged at all (docs/METHOD.md, 7 Peers).
const RATIO: f64 = 1.3;
/// Odds that a disk flagged by z and ratio is sick before either is weighed: precision at 20
/// requests per disk is 0.87 (docs/METHOD.md, 7 Peers), and the clauses count from there.
const PRIOR: f64 = 0.5;
/// Spread of a request's latency over its mean where only the mean is known: that of exponential
/// waits.
const UNKNOWN_CV: f64 = 1.0;
/// A minimum within this factor of the peers' says that the path is fine.
const SAME_MINIMUM: f64 = 2.0;

/// A disk among its peers.
struct Member {
    device: DeviceId,
    disk: String,
    peer: Peer,
    mean_ns: f64,
    min_ns: Option<f64>,
    max_ns: Option<f64>,
}

fn accuse(scene: &Scene) -> Vec<Finding> {
    (0..scene.recording.listings.len())
        .flat_map(|listing| families(scene, listing).into_iter().map(move |f| (listing, f)))
        .flat_map(|(listing, family)| judge_family(scene, listing, &family))
        .collect()
}

/// The disks of a listing, by kind.
fn families(scene: &Scene, listing: usize) -> Vec<Vec<Member>> {
    let mut members: Vec<Member> = from_tracks(scene, listing);
    members.extend(from_shapes(scene, listing, &members));
    members.extend(from_rows(scene, listing, &members));
    let mut families: Vec<Vec<Member>> = Vec::new();
    for member in members.into_iter().filter(|m| m.peer.n >= REQUESTS) {
        let kind = names::kind(&member.disk).to_string();
        match families.iter_mut().find(|f| f.first().is_some_and(|m| names::kind(&m.disk) == kind))
        {
            Some(family) => family.push(member),
            None => families.push(vec![member]),
        }
    }
    families.retain(|family| family.len() >= GROUP);
    families
}

fn from_tracks(scene: &Scene, listing: usize) -> Vec<Member> {
    let tracks: Vec<&Track> =
        scene.tracks.iter().filter(|track| track.listing == listing).collect();
    if tracks.len() < GROUP {
        return Vec::new();
    }
    tracks
        .into_iter()
        .filter_map(|track| {
            let latencies: Vec<f64> = track.visits.iter().map(|v| v.latency_ns()).collect();
            let step = latencies.len().div_ceil(SAMPLED);
            let sample: Vec<f64> = latencies.iter().copied().step_by(step.max(1)).collect();
            let peer = Peer { rate: latencies.len() as f64, ..Peer::from_latencies(&sample)? };
            Some(Member {
                device: track.device,
                disk: track.disk.clone(),
                peer,
                mean_ns: latencies.iter().sum::<f64>() / latencies.len() as f64,
                min_ns: latencies.iter().copied().reduce(f64::min),
                max_ns: latencies.iter().copied().reduce(f64::max),
            })
        })
        .collect()
}

/// The disks of a listing that only histograms know, or know better: a table of all I/Os beside
/// single outliers is the better witness.
fn from_shapes(scene: &Scene, listing: usize, known: &[Member]) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    let block = |shape: &&Shape| shape.listing == listing && shape.known.layer == Layer::Block;
    for shape in scene.shapes.iter().filter(block) {
        let histogram = &shape.known.histogram;
        let twice = members.iter().any(|member| member.device == shape.known.device)
            || known
                .iter()
                .any(|m| m.device == shape.known.device && m.peer.n >= histogram.count());
        let Some((mean_ns, _)) = histogram.mean_ns() else { continue };
        let peer = match (histogram.min_ns, histogram.max_ns, histogram.edges().buckets()) {
            (Some(min), Some(max), 1) => {
                Peer::from_summary(histogram.count(), mean_ns, min as f64, max as f64)
            }
            _ => Peer::from_histogram(histogram),
        };
        if let (Some(peer), false) = (peer, twice) {
            members.push(Member {
                device: shape.known.device,
                disk: shape.disk.clone(),
                peer,
                mean_ns,
                min_ns: histogram.min_ns.map(|ns| ns as f64),
                max_ns: histogram.max_ns.map(|ns| ns as f64),
            });
        }
    }
    members
}

fn from_rows(scene: &Scene, listing: usize, known: &[Member]) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    for row in scene.rows.iter().filter(|row| row.listing == listing && row.agrees) {
        let Some(wait_ns) = row.interval.mean_await_ns() else { continue };
        let twice = members.iter().chain(known).any(|member| member.device == row.device);
        // Without a length the rate stands for the count: one second of it.
        let seconds = row.interval.length.map_or(1.0, |length| length.seconds());
        let n = (row.per_s() * seconds) as u64;
        if twice || n == 0 {
            continue;
        }
        let peer = Peer {
            n,
            median_ns: None,
            trimmed_mean_ns: wait_ns,
            cv: UNKNOWN_CV,
            rate: row.per_s(),
        };
        let disk = row.disk.clone();
        members.push(Member {
            device: row.device,
            disk,
            peer,
            mean_ns: wait_ns,
            min_ns: None,
            max_ns: None,
        });
    }
    members
}

fn judge_family(scene: &Scene, listing: usize, family: &[Member]) -> Vec<Finding> {
    let peers: Vec<Peer> = family.iter().map(|member| member.peer).collect();
    let standings = peers::compare(&peers);
    family
        .iter()
        .zip(standings)
        .filter(|(_, standing)| standing.flagged)
        .map(|(member, standing)| charge(scene, listing, family, member, standing))
        .collect()
}

fn charge(
    scene: &Scene,
    listing: usize,
    family: &[Member],
    member: &Member,
    standing: Standing,
) -> Finding {
    let others: Vec<&Member> =
        family.iter().filter(|other| other.device != member.device).collect();
    let typical = middle(others.iter().map(|other| other.mean_ns));
    let disk = phrase::disk(&member.disk);
    let mut charge = finding(DETECTOR.name, Some(member.device), vec![listing]);
    charge.sentence = format!(
        "{disk} is {} times slower than its {} peers under the same load: {} on average against \
         {}{}",
        phrase::digits(member.mean_ns / typical),
        others.len(),
        phrase::ns(member.mean_ns),
        phrase::ns(typical),
        path_clause(member, &others)
    );
    charge.evidence = evidence(scene, listing, member, &others, standing);
    let (histograms, mut places) = beside_a_good_peer(scene, listing, member, family);
    charge.evidence.extend(histograms);
    charge.subject.listings.append(&mut places);
    let clauses =
        [weigh::above(standing.z, standing.threshold), weigh::above(standing.ratio, RATIO)];
    charge.confidence = weigh::believe(PRIOR, &clauses);
    charge.explained_share = ((member.mean_ns - typical) / member.mean_ns).max(0.0);
    charge.refuted_by = lines(&[
        "the disk holds hotter data, is of another model, or is being rebuilt",
        "another disk of the same shelf is as slow once it is given the same load",
    ]);
    charge.next_step = vec![
        format!("{}: retries, stalls or plain slowness?", phrase::capture(&member.disk, 60)),
        format!("`smartctl -x /dev/{}` beside a peer's", member.disk),
        "take it out of service if its data are redundant".to_string(),
    ];
    charge
}

/// A minimum like the peers' means that the path to the disk is fine.
fn path_clause(member: &Member, others: &[&Member]) -> String {
    let Some(own) = member.min_ns else { return String::new() };
    let theirs = middle(others.iter().filter_map(|other| other.min_ns));
    if theirs > 0.0 && own / theirs < SAME_MINIMUM && own / theirs > 1.0 / SAME_MINIMUM {
        format!(
            "; at its quickest it is as quick as they are ({}), so the path is fine",
            phrase::ns(own)
        )
    } else {
        String::new()
    }
}

fn evidence(
    scene: &Scene,
    listing: usize,
    member: &Member,
    others: &[&Member],
    standing: Standing,
) -> Vec<Evidence> {
    let source = scene.source(listing);
    let n = member.peer.n;
    let all: u64 = others.iter().map(|other| other.peer.n).sum();
    let peers_mean = middle(others.iter().map(|other| other.mean_ns)) / 1e6;
    let view = match standing.view {
        View::Median => "median over the peers' median",
        View::TrimmedMean => "mean without the worst over the peers' median",
    };
    let mut evidence = vec![
        computed(
            "mean over the peers' median",
            member.mean_ns / 1e6 / peers_mean,
            Unit::Ratio,
            n,
            source,
        ),
        held(computed(view, standing.ratio, Unit::Ratio, n, source), Bound::Above(RATIO)),
        held(
            computed("two-view z", standing.z, Unit::Sigma, n, source),
            Bound::Above(standing.threshold),
        ),
        read_off("mean latency", member.mean_ns / 1e6, Unit::Ms, n, source),
        computed("mean latency of a peer, median", peers_mean, Unit::Ms, all, source),
    ];
    if let Some(min) = member.min_ns {
        let theirs = middle(others.iter().filter_map(|other| other.min_ns)) / 1e6;
        evidence.push(read_off("smallest latency", min / 1e6, Unit::Ms, n, source));
        evidence.push(computed(
            "smallest latency of a peer, median",
            theirs,
            Unit::Ms,
            all,
            source,
        ));
    }
    if let Some(max) = member.max_ns {
        let theirs = others.iter().filter_map(|other| other.max_ns).fold(0.0, f64::max) / 1e6;
        evidence.push(read_off("largest latency", max / 1e6, Unit::Ms, n, source));
        evidence.push(computed("largest latency of all peers", theirs, Unit::Ms, all, source));
    }
    let runner_up = others.iter().max_by(|a, b| a.mean_ns.total_cmp(&b.mean_ns));
    if let Some(next) = runner_up {
        let what = format!("mean latency of the next slowest, {}", next.disk);
        evidence.push(read_off(&what, next.mean_ns / 1e6, Unit::Ms, next.peer.n, source));
    }
    evidence
}

/// Its histogram beside a peer's, wherever the input has both: the share of requests beyond the
/// slowest bucket the peer reaches.
fn beside_a_good_peer(
    scene: &Scene,
    listing: usize,
    member: &Member,
    family: &[Member],
) -> (Vec<Evidence>, Vec<usize>) {
    let real = |shape: &&Shape| {
        shape.known.histogram.edges().buckets() > 1
            && scene.input(shape.listing) == scene.input(listing)
    };
    let mine = scene.shapes.iter().filter(real).find(|shape| shape.disk == member.disk);
    let peer = scene.shapes.iter().filter(real).find(|shape| {
        shape.disk != member.disk && family.iter().any(|other| other.disk == shape.disk)
    });
    let (Some(mine), Some(peer)) = (mine, peer) else { return (Vec::new(), Vec::new()) };
    let beyond_ns = peer.known.histogram.filled().map(|(_, high, _)| high).max().unwrap_or(0);
    // The next bucket of its own that begins at or above: no bucket is split.
    let beyond_ns = beyond_ns.max(mine.known.histogram.edges().low(0));
    let evidence = [mine, peer]
        .iter()
        .map(|shape| {
            let histogram = &shape.known.histogram;
            let what = format!(
                "I/Os of {} slower than {}",
                shape.disk,
                phrase::ns(first_empty(mine, peer, beyond_ns) as f64)
            );
            let limit = first_empty(mine, peer, beyond_ns);
            let share = share_from(histogram, limit);
            estimated(&what, share, Unit::Share, histogram.count(), scene.source(shape.listing))
        })
        .collect();
    let places = [mine.listing, peer.listing].into_iter().filter(|p| *p != listing).collect();
    (evidence, places)
}

/// Where the gap between the common body and the tail ends: the first filled bucket of the
/// suspect beyond all of the peer's, or the peer's end if there is none.
fn first_empty(mine: &Shape, peer: &Shape, beyond_ns: u64) -> u64 {
    let body_ends = peer.known.histogram.filled().map(|(_, high, _)| high).max().unwrap_or(0);
    mine.known
        .histogram
        .filled()
        .map(|(low, _, _)| low)
        .find(|low| *low >= body_ends.max(beyond_ns))
        .unwrap_or(beyond_ns)
}

fn share_from(histogram: &Histogram, limit_ns: u64) -> f64 {
    let beyond: u64 =
        histogram.filled().filter(|(low, _, _)| *low >= limit_ns).map(|(_, _, n)| n).sum();
    beyond as f64 / histogram.count().max(1) as f64
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    crate::measures::spread::median(&values.collect::<Vec<_>>()).unwrap_or(0.0)
}
