//! The averages of a trace, if the trace itself gives no answer: a detailed input is never judged
//! worse than averages derived from it.

use iowhy_model::{Family, Finding, Verdict};

use crate::analysis::Analysis;
use crate::evidence::confidence::NOTICEABLE;
use crate::measures::replay::Side;
use crate::ranking::{impact, subjects};

/// A suspicion of the device of at least this keeps averages from blaming the load: they do not
/// show the pattern of its fault.
const SUSPECTED: f64 = 0.3;
/// What shows that a number is not of the trace itself.
const ORIGIN: &str = "averages of the same I/Os, one second each";

/// Adds the verdicts on the load that only averages give, of disks that lost time and that nothing
/// else explains. They blame no device: what single I/Os do not show of a device's fault, their
/// averages do not.
pub(crate) fn adopt(
    analysis: &Analysis,
    findings: &mut Vec<Finding>,
    poorer: impl FnOnce() -> Vec<Finding>,
) {
    if !analysis.traces.iter().any(|trace| is_open(analysis, findings, trace.listing, &trace.disk))
    {
        return;
    }
    let open = |known: &Finding| {
        let (Some(place), Some(device)) = (known.subject.listings.first(), known.subject.device)
        else {
            return false;
        };
        let Some(trace) = analysis.trace(*place, device) else { return false };
        trace.side() != Some(Side::Device)
            && is_open(analysis, findings, trace.listing, &trace.disk)
            && !findings.iter().any(|other| is_held_by_device(analysis, known, other))
    };
    let mut adopted: Vec<Finding> = poorer()
        .into_iter()
        .filter(|known| known.stands() && known.verdict.family() == Family::Load && open(known))
        .collect();
    for finding in &mut adopted {
        for evidence in &mut finding.evidence {
            evidence.origin.format = format!("{}, {ORIGIN}", evidence.origin.format);
        }
    }
    impact::add_impact(analysis, &mut adopted);
    for finding in adopted {
        findings.retain(|other| {
            other.verdict != finding.verdict || !subjects::same_disk(analysis, other, &finding)
        });
        findings.push(finding);
    }
}

/// Whether a disk lost time in a listing without a firm accusation.
fn is_open(analysis: &Analysis, findings: &[Finding], listing: usize, disk: &str) -> bool {
    let host = analysis.host(listing);
    let lost = analysis
        .lost
        .iter()
        .any(|(other, name, lost)| (*other, name.as_str()) == (host, disk) && *lost >= NOTICEABLE);
    let explained = findings.iter().any(|known| {
        known.stands()
            && known.verdict != Verdict::Healthy
            && known.subject.device.is_none_or(|device| analysis.disk(device) == disk)
            && analysis.is_on(known, host)
    });
    lost && !explained
}

/// Whether a fault of the same device is suspected.
fn is_held_by_device(analysis: &Analysis, known: &Finding, other: &Finding) -> bool {
    other.blames_a_disk()
        && other.confidence() > SUSPECTED
        && subjects::same_disk(analysis, known, other)
        && subjects::same_host(analysis, known, other)
}
