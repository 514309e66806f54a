//! The same fault of three disks or more is one fault of a shared component.
//!
//! Independent failures of that many disks or paths within one capture are far less likely than one
//! failing adapter, cabinet, switch or target, or one fault of their model. So they are one
//! finding, about a shared cause.

use std::collections::BTreeSet;

use iowhy_model::Order as _;
use iowhy_model::{Basis, Bound, DeviceId, Finding, Verdict};

use super::subjects;
use crate::analysis::Analysis;
use crate::evidence::builder::of_disk;
use crate::facts::disk_names;
use crate::phrase;

/// Minimum number of disks (a choice: two are often neighbouring slots).
const MANY: usize = 3;
/// The observations of this many of them are shown.
const SHOWN: usize = 3;
/// Faults of a disk, or of the way to it, that something shared has for all.
const SHARED: [Verdict; 3] = [Verdict::DevicePath, Verdict::DeviceStall, Verdict::DeviceHang];

/// Joins those of each input.
pub(crate) fn join(analysis: &Analysis, findings: &mut Vec<Finding>) {
    for verdict in SHARED {
        while let Some(places) = many(analysis, findings, verdict) {
            let mut at = 0..;
            let is_one = |_: &mut Finding| at.next().is_some_and(|at| places.contains(&at));
            let group = findings.extract_if(.., is_one).collect();
            findings.insert(places[0], one(analysis, group));
        }
    }
}

/// The indexes of such findings of one input, if they are about many disks.
fn many(analysis: &Analysis, findings: &[Finding], verdict: Verdict) -> Option<Vec<usize>> {
    let is_disk = |device: DeviceId| disk_names::is_of_a_disk(&analysis.disk(device));
    let alone = |finding: &&Finding| {
        finding.verdict == verdict
            && finding.subject.device.is_some_and(is_disk)
            && finding.subject.devices.is_empty()
            && finding.explained_by.is_none()
            && finding.evidence.iter().any(|one| one.basis != Basis::Measured)
    };
    findings.iter().filter(alone).find_map(|first| {
        let group = findings
            .iter()
            .enumerate()
            .filter(|(_, other)| alone(other) && subjects::same_host(analysis, first, other));
        let group: Vec<usize> = group.map(|(place, _)| place).collect();
        let disks: BTreeSet<String> = group
            .iter()
            .filter_map(|place| findings[*place].subject.device)
            .map(|device| analysis.disk(device))
            .collect();
        (disks.len() >= MANY).then_some(group)
    })
}

/// What they are together: as sure as the surest of them.
fn one(analysis: &Analysis, mut group: Vec<Finding>) -> Finding {
    group.order_by(|a, b| b.weight().total_cmp(&a.weight()));
    let mut joined = group[0].clone();
    let named = |finding: &Finding| {
        let device = finding.subject.device?;
        Some((device, analysis.disk(device)))
    };
    let disks: Vec<_> = group.iter().filter_map(named).collect();
    let (devices, names): (Vec<_>, Vec<String>) = disks.into_iter().unzip();
    joined.subject.listings = group.iter().flat_map(|one| one.subject.listings.clone()).collect();
    joined.subject.listings.sort_unstable();
    joined.subject.listings.dedup();
    (joined.subject.device, joined.subject.devices) = (None, devices);
    let n = names.len();
    joined.sentence = format!(
        "{} have the same fault: a fault of something they share is likelier than {n} separate \
         faults: adapter, cable, cabinet, switch or target, power, or model and firmware",
        phrase::list(&names)
    );
    let computed = analysis.computed(joined.subject.listings[0], n as u64);
    let count = computed.count("disks with that fault", n as f64);
    joined.evidence = vec![count.held(Bound::Above((MANY - 1) as f64))];
    let of_each = group.iter().zip(&names).take(SHOWN);
    joined.evidence.extend(
        of_each.filter_map(|(one, name)| Some(of_disk(one.evidence.first()?.clone(), name))),
    );
    joined.next_step.insert(
        0,
        "what do they share, and which other disks are healthy? `lsblk -o NAME,HCTL,MODEL,REV`, \
         `ls -l /dev/disk/by-path`"
            .to_string(),
    );
    joined.refuted_by = vec!["they share neither a part of their path nor their model".to_string()];
    joined
}
