//! Whether two findings speak of the same disk, of the same I/O, and of the same machine.

use iowhy_model::{Finding, Interval, Layer};

use crate::analysis::{Analysis, Host};

/// Whether both are about one disk, or both about none.
pub(crate) fn same_disk(analysis: &Analysis, a: &Finding, b: &Finding) -> bool {
    let disk = |finding: &Finding| finding.subject.device.map(|device| analysis.disk(device));
    disk(a) == disk(b)
}

/// Whether a finding about several disks names the disk of another among them.
pub(crate) fn covers(analysis: &Analysis, speaker: &Finding, finding: &Finding) -> bool {
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
pub(crate) fn serves(analysis: &Analysis, disk: &Finding, program: &Finding) -> bool {
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

/// Whether they may be of one machine, by one input; so are listings that were watched together.
pub(crate) fn same_host(analysis: &Analysis, a: &Finding, b: &Finding) -> bool {
    let of_b =
        |host: Host| b.subject.listings.iter().any(|place| analysis.host(*place).is_beside(host));
    a.subject.listings.iter().any(|place| of_b(analysis.host(*place)))
}

/// Names the machine in the sentence about one of several in an input.
pub(crate) fn name_hosts(analysis: &Analysis, findings: &mut [Finding]) {
    let all = analysis.hosts();
    let is_other = |other: &Host, host: Host| other.input == host.input && !other.may_be(host);
    let is_one_of_several = |host: &Host| all.iter().any(|other| is_other(other, *host));
    for finding in findings {
        let mut own = finding.subject.listings.iter().map(|place| analysis.host(*place));
        let first = own.next().filter(|first| own.all(|host| host == *first));
        if let Some(name) = first.filter(is_one_of_several).and_then(|host| host.name) {
            finding.sentence = format!("on {name}: {}", finding.sentence);
        }
    }
}
