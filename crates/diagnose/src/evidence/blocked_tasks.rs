//! Tasks in uninterruptible sleep, by name, and the disks after which threads of the kernel among
//! them are named.

use std::collections::BTreeMap;

use iowhy_model::key;

use crate::analysis::{Analysis, Host};
use crate::facts::kernel_threads;
use crate::phrase;

/// Names that are listed.
const NAMED: usize = 4;

/// What the tasks of a host that sleep so wait for, as far as their names tell.
pub fn meaning(analysis: &Analysis, host: Host) -> Option<String> {
    let names = names(analysis, host);
    let (first, rest) = names.split_at(names.len().min(NAMED));
    let mut listed: Vec<String> = first.iter().map(|(name, _)| name.to_string()).collect();
    if !rest.is_empty() {
        listed.push(format!("{} more", rest.len()));
    }
    let disks = phrase::list(&disks(&names));
    let of = if disks.is_empty() { String::new() } else { format!(" of {disks}") };
    let who = phrase::list(&listed);
    (!listed.is_empty())
        .then(|| format!("{who}: they wait for I/O{of}, or for a lock of a file system or driver"))
}

/// What iowait means where no disk is listed: I/O of the disks whose journal, log or dirty pages a
/// blocked thread of this host writes.
pub fn meaning_of_iowait(analysis: &Analysis, host: Host) -> Option<String> {
    let disks = disks(&names(analysis, host));
    (!disks.is_empty()).then(|| {
        format!(
            "tasks wait for I/O of {}, by the kernel's threads among them: `iostat -x 1` shows \
             whether it is busy",
            phrase::list(&disks)
        )
    })
}

/// Names, the most numerous first; of several lists the largest number of each.
fn names<'s>(analysis: &'s Analysis, host: Host) -> Vec<(&'s str, f64)> {
    let mut most: BTreeMap<&str, f64> = BTreeMap::new();
    for fact in analysis.listings_of(host).flat_map(|(_, listing)| &listing.facts) {
        let name = fact.key.member_of(key::TASKS_BLOCKED_BY);
        if let Some((name, tasks)) = name.zip(fact.value.number()) {
            let known = most.entry(name).or_default();
            *known = known.max(tasks);
        }
    }
    let mut named: Vec<(&str, f64)> = most.into_iter().collect();
    named.sort_by(|a, b| b.1.total_cmp(&a.1));
    named
}

fn disks(names: &[(&str, f64)]) -> Vec<String> {
    let mut disks: Vec<String> =
        names.iter().filter_map(|(name, _)| kernel_threads::disk_of(name)).collect();
    disks.sort();
    disks.dedup();
    disks
}
