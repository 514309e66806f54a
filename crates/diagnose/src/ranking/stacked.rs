//! Volumes and arrays: a step that examines a drive names the drives below.

use std::collections::BTreeSet;

use iowhy_model::{Finding, key};

use crate::analysis::{Analysis, Host};
use crate::facts::disk_names;
use crate::phrase;

/// Layers of volumes that are followed (a choice: device mapper over md over partitions is three).
const MAX_LAYERS: usize = 8;

/// Replaces the volume in such steps by the disks that it lies on.
pub(crate) fn fit(analysis: &Analysis, findings: &mut [Finding]) {
    for finding in findings {
        let Some(device) = finding.subject.device else { continue };
        let name = analysis.disk(device);
        if !disk_names::is_stacked(&name) {
            continue;
        }
        let host = finding.subject.listings.first().map(|place| analysis.host(*place));
        let disks: Vec<String> = below(analysis, host, &name).into_iter().collect();
        let each = match &disks[..] {
            [] => format!("`smartctl -x` of each disk below (`lsblk -s {}`)", phrase::node(&name)),
            [one] => format!("`smartctl -x {}`, the disk below", phrase::node(one)),
            several => format!("`smartctl -x` of {}, the disks below", phrase::list(several)),
        };
        let drive = format!("`smartctl -x {}`", phrase::node(&name));
        let lists = [&mut finding.next_step, &mut finding.refuted_by];
        for step in lists.into_iter().flatten() {
            *step = step.replace(&drive, &each);
        }
    }
}

/// The disks that a volume lies on, as far as stated.
fn below(analysis: &Analysis, host: Option<Host>, volume: &str) -> BTreeSet<String> {
    let members = |name: &str| -> Vec<String> {
        let stated = analysis.facts.about(host, name).last(key::DEVICE_SLAVES);
        let words = stated.and_then(|reading| reading.fact.value.words()).unwrap_or_default();
        words.iter().map(|word| disk_names::disk(word)).collect()
    };
    let (mut disks, mut level) = (BTreeSet::new(), members(volume));
    for _ in 0..MAX_LAYERS {
        let (volumes, found): (Vec<String>, Vec<String>) =
            level.into_iter().partition(|name| disk_names::is_stacked(name));
        disks.extend(found);
        level = volumes.iter().flat_map(|name| members(name)).collect();
    }
    disks
}
