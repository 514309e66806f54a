//! Whether two findings speak of the same disk, and of the same input.

use iowhy_model::Finding;

use crate::analysis::Analysis;

/// Whether both are about one disk, or both about none.
pub fn same_disk(analysis: &Analysis, a: &Finding, b: &Finding) -> bool {
    let disk = |finding: &Finding| finding.subject.device.map(|device| analysis.disk(device));
    disk(a) == disk(b)
}

/// Whether a finding about several disks names the disk of another among them.
pub fn covers(analysis: &Analysis, speaker: &Finding, finding: &Finding) -> bool {
    let Some(device) = finding.subject.device else { return false };
    let disk = analysis.disk(device);
    speaker.subject.devices.iter().any(|device| analysis.disk(*device) == disk)
}

/// Listings of one input speak of one machine; so do listings that were watched live together.
pub fn same_input(analysis: &Analysis, a: &Finding, b: &Finding) -> bool {
    let inputs = |finding: &Finding| -> Vec<&str> {
        finding.subject.listings.iter().map(|place| analysis.input(*place)).collect()
    };
    let (mine, theirs) = (inputs(a), inputs(b));
    mine.iter().any(|input| theirs.contains(input))
}
