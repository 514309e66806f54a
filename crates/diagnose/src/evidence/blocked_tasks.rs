//! Tasks in uninterruptible sleep, by name, and the disks after which threads of the kernel among
//! them are named.

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

/// The disks whose journal, log or dirty pages a blocked thread of this host writes.
pub fn disks_of(analysis: &Analysis, host: Host) -> Vec<String> {
    disks(&names(analysis, host))
}

/// Names, the most numerous first.
fn names<'s>(analysis: &'s Analysis, host: Host) -> Vec<(&'s str, f64)> {
    let facts = analysis.listings_of(host).flat_map(|(_, listing)| &listing.facts);
    let named = facts.filter_map(|fact| {
        Some((fact.key.member_of(key::TASKS_BLOCKED_BY)?, fact.value.number()?))
    });
    let mut named: Vec<(&str, f64)> = named.collect();
    named.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    named.dedup_by_key(|(name, _)| *name);
    named
}

fn disks(names: &[(&str, f64)]) -> Vec<String> {
    let mut disks: Vec<String> =
        names.iter().filter_map(|(name, _)| kernel_threads::disk_of(name)).collect();
    disks.sort();
    disks.dedup();
    disks
}
