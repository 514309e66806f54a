//! Ranks the findings of the detectors: limits by the input, explanations, order.

pub(crate) mod alike;
pub(crate) mod calibration;
pub(crate) mod foreign;
pub(crate) mod guards;
pub(crate) mod impact;
pub mod in_field;
pub(crate) mod own_load;
pub(crate) mod poorer;
pub(crate) mod stacked;
pub(crate) mod subjects;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::{
    Evidence, Family, Finding, Inference, Interval, Level, Listing, STANDS, Severity, Verdict,
};

use crate::analysis::samples::IntervalSample;
use crate::analysis::{Analysis, requests};
use crate::detector::{Detector, RankedFindings, Rule};
use crate::evidence::confidence::NOTICEABLE;
use crate::evidence::{medium_readings, requesters, senders};
use crate::facts::disk_names;
use crate::options::Calibration;

/// Clean verdicts that are right less often than this are withdrawn, and those that lead less often
/// than any headline must be right. Below one half, because the lab has twelve faulty worlds for
/// each healthy one, unlike the field.
const MIN_CLEARED: f64 = 0.4;
/// No verdict has a higher confidence.
const MAX_CONFIDENCE: f64 = 0.99;
const MAX_CONFIDENCE_WHY: &str = "no verdict is more certain";
/// What averages carry at best: on the published captures of that kind 17 of 18 verdicts of version
/// 0.1.0 were right, (17 + 1) / (18 + 2) (docs/decisions/0016). Histograms: of first answers to
/// captures that nobody had seen 10 of 15 (docs/decisions/0130), some of which are fixed since.
/// One row or few requests: a choice.
const AVERAGES: f64 = 0.90;
const HISTOGRAMS: f64 = 0.75;
const ONE_ROW: f64 = 0.80;
/// The same where the columns were reported by their number and by what fits together (a choice:
/// above a headline, below all that names its columns).
const INFERRED: f64 = 0.70;
/// Requests that are few.
const FEW: u64 = 30;
/// Families whose cost is not in the latencies of the device (and `cap.cgroup`): programs wait
/// above it, or no program waits and a number is wrong.
const ABOVE: [Family; 3] = [Family::Cfg, Family::Layer, Family::Report];
/// Maximum confidence of an unnoticed finding: below the bar of a verdict.
const NOTE_LIMIT: f64 = 0.25;
/// A specific verdict that explains this much silences its generic parent.
const EXPLAINS_AWAY: f64 = 0.7;
/// A listing half as sure as the surest one still agrees with it.
const AGREES: f64 = 0.5;
/// What puts a fault before any shape: weights end at one.
const OUTRANKS: f64 = 1.0;
/// A device that lost less than a tenth of what another lost is not the reported problem.
const MINOR_SHARE: f64 = 0.1;
/// Share of the time with a request in flight below which a disk is not the cause of waits (a
/// choice).
const IDLE: f64 = 0.1;
/// Confidence of a HEALTHY verdict for disks beside the one that lost time: less than any answer
/// about that one.
const BESIDE: f64 = 100.0;
/// The margin within which the other side of a vote is kept.
const MENTION: f64 = 0.02;

/// The verdict that clears all disks and is about none: a reason for waits above one of them
/// explains it.
const ABOVE_ALL: Verdict = Verdict::LayerAbove;

/// Whether a finding rests on a fault that the kernel's log, the drive itself or the status of a
/// request states.
fn is_fault(finding: &Finding) -> bool {
    finding.evidence.iter().any(Evidence::states_fault)
}

/// Ranks the findings: limits by the input, merging, explanations, doubts, order; then concludes
/// about the remaining disks. `poorer` judges the averages of what was traced, and is used only if
/// the trace gives no answer.
pub(crate) fn rank(
    analysis: &Analysis,
    detectors: &[Detector],
    mut found: Vec<Finding>,
    poorer: impl FnOnce() -> Vec<Finding>,
) -> Vec<Finding> {
    found.retain(|finding| !guards::contradicts_itself(finding));
    let mut findings = merged(analysis, found);
    own_load::take_out(analysis, &mut findings);
    keep_as_remarks(&mut findings);
    own_load::explain(analysis, &mut findings);
    guards::spare_if_filled_by_write_back(analysis, &mut findings);
    explain_away(analysis, detectors, &mut findings);
    guards::hold_back(analysis, detectors, &mut findings);
    poorer::adopt(analysis, &mut findings, poorer);
    alike::join(analysis, &mut findings);
    order(analysis, &mut findings);
    let mut conclusions = conclude(analysis, detectors, &findings);
    order(analysis, &mut conclusions);
    // Without a firm finding, the cleared and unknown disks lead.
    let place = if findings.iter().any(Finding::stands) { findings.len() } else { 0 };
    findings.splice(place..place, conclusions);
    calibrate_first(analysis, &mut findings);
    calibrate_in_field(analysis, &mut findings);
    bound(analysis, &mut findings);
    requesters::add_requesters(analysis, &mut findings);
    senders::name(analysis, &mut findings);
    findings.iter_mut().for_each(Finding::state_doubts);
    stacked::fit(analysis, &mut findings);
    foreign::fit(analysis, &mut findings);
    subjects::name_hosts(analysis, &mut findings);
    findings
}

/// Limits each finding by its input, adds its impact, and keeps one per disk and input.
fn merged(analysis: &Analysis, findings: Vec<Finding>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = findings
        .into_iter()
        .map(|finding| capped(analysis, finding))
        .filter(|finding| finding.confidence() >= MENTION && !finding.evidence.is_empty())
        .collect();
    impact::add_impact(analysis, &mut findings);
    findings.order_by(|a, b| b.weight().total_cmp(&a.weight()));
    let mut merged: Vec<Finding> = Vec::new();
    for finding in findings {
        match merged.iter_mut().find(|known| is_same(analysis, known, &finding)) {
            Some(known) => join(known, finding),
            None => merged.push(finding),
        }
    }
    merged
}

/// Runs the concluding detectors one after the other: `insufficient` runs after all others.
fn conclude(analysis: &Analysis, detectors: &[Detector], findings: &[Finding]) -> Vec<Finding> {
    let mut all = findings.to_vec();
    let is_last = |known: &&Detector| known.verdict == Verdict::Insufficient;
    let (last, first): (Vec<&Detector>, Vec<&Detector>) = detectors.iter().partition(is_last);
    for detector in first.into_iter().chain(last) {
        let Rule::Conclude(conclude) = detector.rule else { continue };
        let concluded = |surely| {
            let ranked = RankedFindings { findings: &all, detectors, surely };
            merged(analysis, conclude(analysis, &ranked)).into_iter()
        };
        let (mut reported, withdrawn): (Vec<Finding>, Vec<Finding>) =
            concluded(false).partition(|known| is_worth_saying(analysis, known));
        // One disk with little data does not withdraw the verdict on all others.
        if !withdrawn.is_empty() {
            let of_withdrawn = |known: &Finding| {
                withdrawn.iter().any(|other| subjects::same_host(analysis, known, other))
                    && is_worth_saying(analysis, known)
            };
            reported.extend(concluded(true).filter(of_withdrawn));
        }
        all.extend(reported);
    }
    all.split_off(findings.len())
}

/// Unnoticed delays blame nothing: such a finding stays as a note. A stated fault counts at any
/// load, and a contradiction costs no time.
fn keep_as_remarks(findings: &mut [Finding]) {
    for finding in findings {
        let unfelt = finding.impact.and_then(|impact| impact.severity()) == Some(Severity::None);
        let above =
            ABOVE.contains(&finding.verdict.family()) || finding.verdict == Verdict::CapCgroup;
        let exempt = closes(finding) || above || is_fault(finding);
        if unfelt && !exempt {
            finding.bound("its cost is too small to notice", NOTE_LIMIT);
        }
    }
}

/// Order: firm findings, best first, with faults stated by log or SMART before latency patterns;
/// then mentions; then findings explained away; then cleared and unknown disks. Without a firm
/// accusation the last two lead.
fn order(analysis: &Analysis, findings: &mut [Finding]) {
    let most_lost = analysis.lost.iter().map(|(_, _, lost)| *lost).fold(0.0, f64::max);
    let weight = |finding: &Finding| {
        let known = lost(analysis, finding);
        // A fault outranks a pattern; one of an unmeasured disk says nothing about the observed
        // delays.
        let fault = is_fault(finding) && (known.is_some() || analysis.lost.is_empty());
        let weight = finding.weight() + if fault { OUTRANKS } else { 0.0 };
        let weight = if clears_others(analysis, finding) { weight / BESIDE } else { weight };
        let lost = known.unwrap_or(most_lost);
        if lost < MINOR_SHARE * most_lost { weight / 2.0 } else { weight }
    };
    let rank = |finding: &Finding| match finding.stands() {
        _ if clears_others(analysis, finding) => 2,
        true => 0,
        false if finding.explained_by.is_none() => 1,
        false => 2,
    };
    findings.sort_by_cached_key(|finding| {
        let weight = Reverse(weight(finding).max(0.0).to_bits());
        let own = !is_of_what_is_shared(analysis, finding);
        (rank(finding), weight, finding.verdict, own, finding.subject.device)
    });
}

/// Whether a finding is about what several disks hang on: of an adapter and its disks that are as
/// sure, the adapter leads.
fn is_of_what_is_shared(analysis: &Analysis, finding: &Finding) -> bool {
    let named = |device| disk_names::is_adapter(&analysis.disk(device));
    finding.subject.devices.len() > 1 || finding.subject.device.is_some_and(named)
}

/// Whether a HEALTHY verdict leaves out a disk of its input that waits or is full: it is then not
/// shown first.
fn clears_others(analysis: &Analysis, finding: &Finding) -> bool {
    let Some(place) =
        finding.subject.listings.first().filter(|_| finding.verdict == Verdict::Healthy)
    else {
        return false;
    };
    let host = analysis.host(*place);
    let own = finding.subject.device.map(|device| analysis.disk(device));
    let cleared = |disk: &String| {
        own.as_ref() == Some(disk)
            || finding.evidence.iter().any(|known| known.disk.as_ref() == Some(disk))
    };
    let places = 0..analysis.recording.listings.len();
    let here = places.filter(|place| analysis.host(*place) == host);
    let rows: Vec<&IntervalSample> =
        here.flat_map(|place| analysis.rows_in(place)).flatten().collect();
    // What waits while hardly anything is in flight on the disk waits above it: a pool, a throttle.
    let idle = |disk: &String| {
        let mut own = rows.iter().filter(|row| row.disk == *disk).peekable();
        own.peek().is_some() && own.all(|row| row.interval.busy.is_some_and(|busy| busy < IDLE))
    };
    let lost = analysis.lost.iter().filter(|(of, _, lost)| *of == host && *lost > NOTICEABLE);
    lost.map(|(_, disk, _)| disk).any(|disk| !cleared(disk) && !idle(disk))
        || rows.iter().any(|row| row.is_full() && !cleared(&row.disk))
}

/// Excess waiting per second by the disk a finding is about; not where programs wait before their
/// I/O is sent, which no disk's latency contains.
fn lost(analysis: &Analysis, finding: &Finding) -> Option<f64> {
    if finding.verdict == Verdict::LoadWriteback {
        return None;
    }
    let disk = analysis.disk(finding.subject.device?);
    let host = analysis.host(*finding.subject.listings.first()?);
    let known = analysis.lost.iter().find(|(other, name, _)| (*other, name) == (host, &disk));
    known.map(|(_, _, lost)| *lost)
}

fn closes(finding: &Finding) -> bool {
    finding.verdict.accuses_nobody()
}

/// Whether a clean verdict is right often enough when it leads; else it is withdrawn.
fn is_worth_saying(analysis: &Analysis, closing: &Finding) -> bool {
    if closing.verdict != Verdict::Healthy {
        return true;
    }
    let level = analysis.level_of_first(&closing.subject.listings);
    let as_first = match analysis.options.calibration {
        Calibration::No => STANDS,
        _ => calibration::of_first(closing.verdict, level, closing.confidence()),
    };
    // Of an open class both readings are reported, and neither is a headline.
    closing.confidence() >= MIN_CLEARED
        && (as_first >= STANDS || medium_readings::is_open(analysis, closing))
}

/// Multiplies by the factor of its most detailed listing (docs/METHOD.md, 11 Confidence). A
/// contradiction in a report is in the report itself and needs no richer input.
fn capped(analysis: &Analysis, mut finding: Finding) -> Finding {
    let level = analysis.level(&finding.subject.listings);
    // Nor does what was seen to happen once, and shows no more than that.
    let believed = finding.confidence();
    if is_weighed_by_level(&finding) {
        let (why, factor) = carried_by(level);
        finding.scale(why, factor);
    }
    if analysis.options.calibration != Calibration::No && is_counted(&finding) {
        let known = calibration::of(finding.verdict, level, finding.confidence());
        let known = match finding.verdict {
            Verdict::Healthy => known.max(cleared_by_less(level, believed)),
            _ => known,
        };
        let known = not_lifted(&finding, known);
        finding.calibrate("calibration: how often such findings were right", known);
    }
    finding.bound(MAX_CONFIDENCE_WHY, MAX_CONFIDENCE);
    medium_readings::bound(analysis, &mut finding);
    finding.explained_share = finding.explained_share.clamp(0.0, 1.0);
    finding
}

/// Whether the level of the input limits what a finding is worth.
fn is_weighed_by_level(finding: &Finding) -> bool {
    finding.verdict.family() != Family::Report && finding.verdict != Verdict::DeviceHang
}

/// Whether the laboratory counted how often such findings are right: of HEALTHY verdicts only those
/// of measured devices.
fn is_counted(finding: &Finding) -> bool {
    finding.verdict != Verdict::Healthy || !finding.share_is_assumed
}

/// The factor of the most detailed input, and its name.
fn carried_by(level: Level) -> (&'static str, f64) {
    match level {
        Level::A => ("level A: averages", 0.70),
        Level::B => ("level B: histograms", 0.80),
        Level::C => ("level C: individual I/Os", 0.93),
        Level::D => ("level D: a trace", 0.96),
        Level::E => ("level E: a trace with reports of disk and kernel", 0.99),
    }
}

/// Confidence of the same HEALTHY verdict from a less detailed input: a trace contains its
/// averages, so it clears a disk with at least their confidence.
fn cleared_by_less(level: Level, believed: f64) -> f64 {
    let poorer = [Level::A, Level::B, Level::C, Level::D].into_iter().filter(|of| *of < level);
    let worth = poorer.filter(|of| calibration::has_curve(Verdict::Healthy, *of));
    let worth = worth.map(|of| calibration::of(Verdict::Healthy, of, believed * carried_by(of).1));
    worth.fold(0.0, f64::max)
}

/// The first finding gets the confidence of first findings in the laboratory. The order stays.
fn calibrate_first(analysis: &Analysis, findings: &mut [Finding]) {
    let Some(first) = findings.first_mut().filter(|first| is_counted(first)) else { return };
    if matches!(analysis.options.calibration, Calibration::First | Calibration::Field) {
        let level = analysis.level_of_first(&first.subject.listings);
        let known = calibration::of_first(first.verdict, level, first.confidence());
        // A cause that is rare in the lab is not suppressed in the field.
        let in_field = analysis.options.calibration == Calibration::Field;
        let least = if first.stands() && in_field { STANDS } else { 0.0 };
        let known = not_lifted(first, known);
        first.calibrate("calibration: how often such findings were right as the first", known);
        first.raise("the base rate in the lab does not suppress it", least);
        first.bound(MAX_CONFIDENCE_WHY, MAX_CONFIDENCE);
        medium_readings::bound(analysis, first);
    }
}

/// The first finding gets the confidence of first answers to captures that nobody had seen, unless
/// the input has single I/Os: few of those captures have. The order stays, and what stands.
fn calibrate_in_field(analysis: &Analysis, findings: &mut [Finding]) {
    let is_known = analysis.options.calibration == Calibration::Field && analysis.traces.is_empty();
    let Some(first) = findings.first_mut().filter(|_| is_known) else { return };
    if !first.stands() {
        return confirm_suspicion(analysis, first);
    }
    let (all, right) = in_field::known(first.verdict);
    let share = in_field::confidence(first.confidence(), (all, right));
    let why = format!("calibration: of {all} first answers of its family {right} were right");
    first.calibrate(why, not_lifted(first, share));
    if all >= in_field::ENOUGH && is_weighed_by_level(first) {
        let level = analysis.level(&first.subject.listings);
        let (all, right, expected) = in_field::of_level(level);
        let share = in_field::at_level(first.confidence(), (all, right, expected));
        let why = format!(
            "calibration: of {all} first answers at level {} {right} were right instead of \
             {expected}",
            level.letter()
        );
        first.calibrate(why, not_lifted(first, share));
    }
    first.raise("a headline keeps the confidence it needs", STANDS);
}

/// What the kernel or the disk reported of a device gets the confidence of such suspicions, within
/// its doubts.
fn confirm_suspicion(analysis: &Analysis, first: &mut Finding) {
    let is_reported = analysis.level(&first.subject.listings) == Level::E;
    let is_counted = first.verdict.family() == Family::Device
        && first.confidence() >= in_field::SUSPECTED
        && first.belief().doubted_to() >= STANDS;
    if is_reported && is_counted {
        let (all, right) = in_field::SUSPICIONS;
        let why = format!("calibration: of {all} first suspicions from reports {right} were right");
        first.calibrate(why, in_field::confidence(first.confidence(), (all, right)));
    }
}

/// No finding exceeds the limit of its input, whatever its value in the lab. The order stays,
/// because a limit applies to all of a kind.
fn bound(analysis: &Analysis, findings: &mut [Finding]) {
    if analysis.options.calibration != Calibration::Field {
        return;
    }
    for finding in findings.iter_mut().filter(|finding| finding.verdict != Verdict::Insufficient) {
        let (why, at_most) = carries(analysis, finding);
        finding.bound(why, at_most);
    }
}

/// Maximum confidence of an input (docs/METHOD.md, 11 Confidence).
fn carries(analysis: &Analysis, finding: &Finding) -> (&'static str, f64) {
    let level = analysis.level(&finding.subject.listings);
    let rests_on = |listing: &usize| finding.subject.listings.contains(listing);
    let rows = rows_of_a_disk(analysis, finding);
    let counted = analysis.histograms.iter().filter(|sample| rests_on(&sample.listing));
    let counted = requests::counted(counted.map(|sample| (sample.listing, &*sample.known)));
    let held_back = finding.verdict == Verdict::Healthy && may_be_held_back(analysis, finding);
    let unseen =
        finding.verdict == Verdict::Healthy && analysis.sees_no_queue(&finding.subject.listings);
    let listings: Vec<&Listing> = {
        let all = &analysis.recording.listings;
        finding.subject.listings.iter().filter_map(|place| all.get(*place)).collect()
    };
    let infers = |what| listings.iter().any(|known| known.source.inferred.contains(&what));
    let at_most = match (infers(Inference::Columns), finding.verdict) {
        // Rows with inconsistent times give no certainty.
        _ if infers(Inference::Order) => ("the order of the rows is inferred", STANDS - 0.01),
        // Clearing a disk requires known columns and a known time.
        (true, Verdict::Healthy) => ("the meaning of the columns is inferred", STANDS - 0.01),
        (true, _) => ("the meaning of the columns is inferred", INFERRED),
        _ => (MAX_CONFIDENCE_WHY, MAX_CONFIDENCE),
    };
    let carried = match level {
        _ if held_back => ("a control group limit may throttle requests unseen", ONE_ROW),
        Level::A if rows <= 1 => ("one row of averages", ONE_ROW),
        Level::A => ("averages", AVERAGES),
        Level::B if counted < FEW => ("a histogram of few requests", HISTOGRAMS),
        Level::B => ("histograms", HISTOGRAMS),
        // A source that sees requests from their issue knows as little of earlier waits as averages
        // do.
        _ if unseen => ("the time before the issue was not seen", AVERAGES),
        // A sampled interval is histograms, even next to fully recorded ones (0073).
        _ if listings.iter().any(|known| known.is_thinned()) => ("a sampled interval", AVERAGES),
        _ => (MAX_CONFIDENCE_WHY, MAX_CONFIDENCE),
    };
    if at_most.1 < carried.1 { at_most } else { carried }
}

/// Rows of the disk that has most of them, among those a finding is about: how often anything was
/// seen. The row before, once more, is a copy.
fn rows_of_a_disk(analysis: &Analysis, finding: &Finding) -> usize {
    let rests_on = |listing: &usize| finding.subject.listings.contains(listing);
    let own = finding.subject.device.map(|device| analysis.disk(device));
    let mut counted: BTreeMap<&str, (usize, &Interval)> = BTreeMap::new();
    for row in analysis.intervals.iter().filter(|row| rests_on(&row.listing)) {
        if own.as_ref().is_none_or(|own| *own == row.disk) {
            let (rows, last) = counted.entry(&row.disk).or_insert((1, row.interval));
            *rows += usize::from(!is_copied(last, row.interval));
            *last = row.interval;
        }
    }
    counted.into_values().map(|(rows, _)| rows).max().unwrap_or(0)
}

/// Whether two rows are one: not even their hundredths differ.
fn is_copied(a: &Interval, b: &Interval) -> bool {
    (&a.rates, &a.mixed, a.await_ns, a.queue_len, a.busy)
        == (&b.rates, &b.mixed, b.await_ns, b.queue_len, b.busy)
}

/// Whether control groups limit a disk that a finding clears: throttled I/Os wait before any traced
/// request.
fn may_be_held_back(analysis: &Analysis, finding: &Finding) -> bool {
    let Some(place) = finding.subject.listings.first() else { return false };
    let named = finding.evidence.iter().filter_map(|known| known.disk.clone());
    let one = finding.subject.device.map(|device| analysis.disk(device));
    named.chain(one).any(|disk| !analysis.about(*place, &disk).limits().is_empty())
}

/// However often such findings were right: a doubted finding stays doubted, and one too weak to
/// blame a device stays so, because a false accusation costs more than a missed one.
fn not_lifted(finding: &Finding, known: f64) -> f64 {
    let known = known.min(finding.belief().doubted_to());
    let too_light = finding.blames_a_disk() && finding.confidence() < STANDS;
    if too_light { known.min(STANDS - 0.01) } else { known }
}

/// Same verdict on the same disk in the same input.
fn is_same(analysis: &Analysis, a: &Finding, b: &Finding) -> bool {
    a.verdict == b.verdict
        && subjects::same_disk(analysis, a, b)
        && subjects::same_host(analysis, a, b)
}

/// The weaker finding's evidence joins the stronger one's, unless it contradicts it.
fn join(known: &mut Finding, other: Finding) {
    if other.confidence() < AGREES * known.confidence() {
        return;
    }
    // What one of them distinguishes is distinguished.
    known.blame = known.blame.filter(|blame| Some(*blame) == other.blame);
    known.raise("another listing of the same disk", other.confidence());
    for listing in other.subject.listings {
        if !known.subject.listings.contains(&listing) {
            known.subject.listings.push(listing);
        }
    }
    for evidence in other.evidence {
        if !known.evidence.contains(&evidence) {
            known.evidence.push(evidence);
        }
    }
    known.forecast = known.forecast.take().or(other.forecast);
}

fn explain_away(analysis: &Analysis, detectors: &[Detector], findings: &mut [Finding]) {
    let speakers: Vec<Finding> = findings
        .iter()
        .filter(|f| f.confidence() >= STANDS && f.explained_share >= EXPLAINS_AWAY)
        .cloned()
        .collect();
    for finding in findings {
        let speaker = detectors.iter().find_map(|detector| {
            let speaker = speakers.iter().find(|speaker| {
                speaker.verdict == detector.verdict
                    && (subjects::same_disk(analysis, speaker, finding)
                        || subjects::covers(analysis, speaker, finding)
                        || subjects::serves(analysis, speaker, finding)
                        || finding.verdict == ABOVE_ALL)
                    && subjects::same_host(analysis, speaker, finding)
            })?;
            detector.explains.contains(&finding.verdict).then_some(speaker.verdict)
        });
        finding.explained_by = finding.explained_by.or(speaker);
    }
}
