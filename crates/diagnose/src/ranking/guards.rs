//! Reasons not to blame a disk: another verdict that explains it as well, or neighbours that are
//! equally slow.
//!
//! A wrongly blamed disk costs more than a missed one, and generic verdicts are the most likely to
//! be wrong: with a doubt they remain suspicions.

use iowhy_model::{Bound, Evidence, Family, Finding, Impact, STANDS, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::detector::Detector;
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::{peer_families, shortage};
use crate::facts::disk_names;
use crate::ranking::subjects;

/// Verdicts that blame a disk for a shape that others have too.
const GENERIC: [Verdict; 3] =
    [Verdict::DevicePeriodicDelay, Verdict::DeviceSlow, Verdict::DeviceStall];
/// The pattern of a device whose requests are served late.
const LATE: [Verdict; 4] =
    [Verdict::DeviceHang, Verdict::DevicePeriodicDelay, Verdict::DeviceSlow, Verdict::DeviceStall];
/// Share of the time in which tasks wait for I/O, beyond what the device itself explains where the
/// disk below it is watched too, from which on that disk may be busy with others (a choice; beside
/// four programs of tests it was 0.5 to 0.7).
const OF_OTHERS: f64 = 0.3;
/// How sure a verdict that blames no disk must be, and how much it must explain, to be a doubt: a
/// confidence like that of a reported clean verdict, and half of the time lost.
const DOUBTS: f64 = 0.4;
const EXPLAINS: f64 = 0.5;
/// Disks, and their share of all that worked, that are slow at once: then the assumed class is
/// wrong or a shared component is at fault (docs/METHOD.md, 17 Faults: at least three; of these 60
/// % to accuse what is shared, and one in two to doubt that each became faulty by itself).
const DISKS: usize = 3;
const SHARE: f64 = 0.5;
/// A disk is as slow as another if it is half as many times slower than its class or more: as far
/// as a healthy one may be from its class.
const AS_SLOW: f64 = 0.5;

/// Time per completion over S0 up to which a disk is as fast as a healthy one under a load that
/// never pauses (docs/METHOD.md, 1 Replay).
const SERVED_WELL: f64 = 2.5;

/// How far a number may miss its bound before the clause has the maximum negative weight: a factor
/// of two is three nats (docs/METHOD.md, 11 Confidence).
const MISSED: f64 = 2.0;

/// Whether a cause is refuted by its own numbers: one on the wrong side of its published bound by a
/// factor of two or more, or a fix after which the mean latency would be longer than now.
pub(crate) fn contradicts_itself(finding: &Finding) -> bool {
    if finding.verdict.accuses_nobody() || finding.verdict.family() == Family::Report {
        return false;
    }
    let worse = finding.forecast.as_ref().is_some_and(|cured| cured.mean > cured.now_mean);
    let missed =
        |known: &Evidence| known.bound.is_some_and(|bound| is_missed(bound, known.amount.value));
    worse || finding.evidence.iter().any(missed)
}

fn is_missed(bound: Bound, value: f64) -> bool {
    match bound {
        Bound::Above(least) => value * MISSED < least,
        Bound::Below(most) => value > MISSED * most,
        // Off the middle by that many times what is allowed.
        Bound::Between(low, high) => {
            (value - low.midpoint(high)).abs() > MISSED * (high - low) / 2.0
        }
    }
}

/// Doubts that a disk is slow, or delays in steps, where programs are paused for their dirty pages
/// and the disk completes these as fast as a healthy one. Write-back sends as much as a disk takes:
/// it queues, and a full write cache passes on the steps of its medium.
pub(crate) fn spare_if_filled_by_write_back(analysis: &Analysis, findings: &mut [Finding]) {
    let paused = |f: &&Finding| f.verdict == Verdict::LoadWriteback && f.confidence() >= STANDS;
    let paused: Vec<Finding> = findings.iter().filter(paused).cloned().collect();
    for finding in findings.iter_mut().filter(|f| GENERIC.contains(&f.verdict)) {
        let same = |other: &Finding| {
            subjects::same_disk(analysis, other, finding)
                && subjects::same_host(analysis, other, finding)
        };
        if paused.iter().any(same) && is_served_well(analysis, finding) {
            let why = format!("`{}` also explains it", Verdict::LoadWriteback);
            finding.doubt(why, SHAPE_ALONE);
        }
    }
}

fn is_served_well(analysis: &Analysis, finding: &Finding) -> bool {
    let (place, device) = (finding.subject.listings.first(), finding.subject.device);
    let trace = place.zip(device).and_then(|(place, device)| analysis.trace(*place, device));
    trace.is_some_and(|trace| {
        let per_completion = trace.span_ns() / trace.spans.len().max(1) as f64;
        per_completion <= SERVED_WELL * trace.s0.median_ms() * 1e6
    })
}

/// Keeps generic accusations below the firm threshold if something harmless may explain them.
pub(crate) fn hold_back(analysis: &Analysis, detectors: &[Detector], findings: &mut [Finding]) {
    let harmless: Vec<Finding> = findings
        .iter()
        .filter(|f| f.verdict.family() != Family::Device && f.verdict != Verdict::PeerOutlier)
        .filter(|f| f.confidence() >= DOUBTS && f.explained_share >= EXPLAINS)
        .cloned()
        .collect();
    let peer_group = peer_group(analysis, findings);
    spare_load_if_control_is_fast(analysis, findings);
    for finding in findings.iter_mut().filter(|f| f.confidence() >= STANDS) {
        if LATE.contains(&finding.verdict)
            && let Some(why) = served_late(analysis, finding)
        {
            finding.doubt(why, SHAPE_ALONE);
            continue;
        }
        if !GENERIC.contains(&finding.verdict) || finding.explained_by.is_some() {
            continue;
        }
        let rival = harmless.iter().find(|rival| explains(analysis, detectors, rival, finding));
        if let Some(rival) = rival {
            finding.doubt(format!("`{}` also explains it", rival.verdict), SHAPE_ALONE);
        } else if finding.verdict == Verdict::DeviceSlow && is_of(analysis, finding, &peer_group) {
            let why = "most other disks are as slow: check what they share, or their model";
            finding.doubt(why, SHAPE_ALONE);
        }
    }
}

/// Other reasons for a late device: it is served by tasks of a CPU-starved machine, or it is backed
/// by a file on a disk for which others wait, or may wait.
fn served_late(analysis: &Analysis, finding: &Finding) -> Option<String> {
    let disk = analysis.disk(finding.subject.device?);
    let hosts = || finding.subject.listings.iter().map(|place| analysis.host(*place));
    let short = |host| shortage::is_stated(analysis, host, &shortage::of_processors());
    if disk_names::is_served_by_tasks(&disk) && hosts().any(short) {
        let why = "its requests are served by tasks of this machine (loop, iSCSI), and tasks are \
                   CPU-starved";
        return Some(why.to_string());
    }
    if !disk_names::is_of_a_file(&disk) {
        return None;
    }
    let waited = |impact: Impact| impact.worst_per_s.or(impact.waited_per_s);
    let own: f64 = finding.impact.and_then(waited).unwrap_or(0.0);
    hosts().find_map(|host| {
        let below = analysis.facts.graph.lies_on(&disk, Some(host))?;
        let about = analysis.facts.about(Some(host), &disk);
        let (pressed, _) = about.machine_number(key::PRESSURE_AVG10.of("io.some"))?;
        if disk_names::is_device_number(below) {
            return None;
        }
        // Time with a waiting task is not a sum: its own waits hide those of others, which only the
        // disk below shows.
        let is_watched = analysis.traces.iter().any(|trace| {
            analysis.host(trace.listing) == host && disk_names::is_on(below, &trace.disk)
        });
        let (own, whose) = match is_watched {
            true => (own.min(1.0), "that is not its own"),
            false => (0.0, "possibly on that disk: watch it as well"),
        };
        (pressed - own > OF_OTHERS)
            .then(|| format!("its file is on {below}, and tasks wait for I/O {whose}"))
    })
}

/// A load is not to blame for what it does to one disk, if another carries the very same one many
/// times faster.
fn spare_load_if_control_is_fast(analysis: &Analysis, findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|f| f.confidence() >= STANDS) {
        let (Some(device), Some(place)) =
            (finding.subject.device, finding.subject.listings.first())
        else {
            continue;
        };
        if finding.verdict.family() != Family::Load {
            continue;
        }
        if let Some(control) = peer_families::fast_control_disk(analysis, *place, device) {
            finding.doubt(format!("{control} does the same work many times faster"), SHAPE_ALONE);
        }
    }
}

/// Whether a verdict would explain another away, were it surer.
fn explains(
    analysis: &Analysis,
    detectors: &[Detector],
    rival: &Finding,
    finding: &Finding,
) -> bool {
    detectors
        .iter()
        .any(|known| known.verdict == rival.verdict && known.explains.contains(&finding.verdict))
        && (subjects::same_disk(analysis, rival, finding)
            || subjects::covers(analysis, rival, finding))
        && subjects::same_host(analysis, rival, finding)
}

/// The inputs in which most disks are reported as slow, or are as slow as the one that is.
fn peer_group<'a>(analysis: &Analysis<'a>, findings: &[Finding]) -> Vec<Host<'a>> {
    let mut hosts: Vec<(Host, Vec<String>)> = Vec::new();
    let slow = || findings.iter().filter(|f| f.verdict == Verdict::DeviceSlow);
    let accused = slow().filter(|f| f.confidence() >= STANDS);
    let least = accused.filter_map(|f| times_slower(analysis, f)).fold(f64::INFINITY, f64::min);
    for finding in slow() {
        let (Some(device), Some(place)) =
            (finding.subject.device, finding.subject.listings.first())
        else {
            continue;
        };
        let as_slow = times_slower(analysis, finding).is_some_and(|t| t >= AS_SLOW * least);
        if finding.confidence() < DOUBTS && !as_slow {
            continue;
        }
        let (host, disk) = (analysis.host(*place), analysis.disk(device));
        match hosts.iter_mut().find(|(known, _)| *known == host) {
            Some((_, disks)) if disks.contains(&disk) => {}
            Some((_, disks)) => disks.push(disk),
            None => hosts.push((host, vec![disk])),
        }
    }
    let working = |host: Host| analysis.lost.iter().filter(|(of, _, _)| *of == host).count();
    let most = |disks: usize, host: Host| disks as f64 >= SHARE * working(host) as f64;
    hosts.retain(|(host, disks)| disks.len() >= DISKS && most(disks.len(), *host));
    hosts.into_iter().map(|(host, _)| host).collect()
}

/// How many times slower than its class a traced disk is.
fn times_slower(analysis: &Analysis, finding: &Finding) -> Option<f64> {
    let trace = analysis.trace(*finding.subject.listings.first()?, finding.subject.device?)?;
    Some(trace.mean_ns() / (trace.s0.median_ms() * 1e6).max(1.0))
}

fn is_of(analysis: &Analysis, finding: &Finding, hosts: &[Host]) -> bool {
    finding.subject.listings.iter().any(|place| hosts.contains(&analysis.host(*place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_missed_by_a_factor_of_two() {
        for (bound, held, missed) in [
            (Bound::Above(3.0), 1.6, 0.07),
            (Bound::Below(2.0), 3.9, 4.1),
            (Bound::Between(-1.3, -0.7), -1.0, 0.0),
            (Bound::Between(0.8, 1.2), 1.35, 1.5),
            (Bound::Above(0.0), 0.0, -1.0),
        ] {
            assert!(!is_missed(bound, held) && is_missed(bound, missed), "{bound:?}");
        }
    }
}
