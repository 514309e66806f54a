//! Whether two findings speak of the same disk, of the same I/O, and of the same input.

use iowhy_model::{Finding, Interval, Layer};

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

/// Maximum difference of two counts of the same requests: the ends of their intervals (a choice).
const SAME_RATE: f64 = 0.05;
/// Requests per second from which on equal rates are not chance (a choice).
const MANY_PER_S: f64 = 100.0;

/// Whether what a program issued, as it counted by itself, is what the disk of another finding
/// completed: as many requests per second.
pub fn serves(analysis: &Analysis, disk: &Finding, program: &Finding) -> bool {
    let issued = per_second(analysis, program, |layer| layer != Layer::Block);
    let completed = per_second(analysis, disk, |layer| layer == Layer::Block);
    issued.zip(completed).is_some_and(|(issued, completed)| {
        issued >= MANY_PER_S && (completed / issued - 1.0).abs() <= SAME_RATE
    })
}

/// The most requests per second in a row of the finding's device, as seen in one layer.
fn per_second(analysis: &Analysis, finding: &Finding, is_in: fn(Layer) -> bool) -> Option<f64> {
    let device = finding.subject.device?;
    let listings = finding.subject.listings.iter();
    let rows = listings.flat_map(|place| &analysis.recording.listings[*place].intervals);
    let rows = rows.filter(|row| row.device == device && !row.since_boot && is_in(row.layer));
    rows.map(Interval::ios_per_s).reduce(f64::max)
}

/// Listings of one input are of one machine; so do listings that were watched live together.
pub fn same_input(analysis: &Analysis, a: &Finding, b: &Finding) -> bool {
    let inputs = |finding: &Finding| -> Vec<&str> {
        finding.subject.listings.iter().map(|place| analysis.input(*place)).collect()
    };
    let (mine, theirs) = (inputs(a), inputs(b));
    mine.iter().any(|input| theirs.contains(input))
}
