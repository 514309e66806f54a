//! Tasks in uninterruptible sleep, by name, and the disks after which threads of the kernel among
//! them are named.

use iowhy_model::{device_of_numbers, key};

use crate::analysis::{Analysis, Host};
use crate::facts::disk_names;
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
    let mut disks: Vec<String> = names.iter().filter_map(|(name, _)| disk_of(name)).collect();
    disks.sort();
    disks.dedup();
    disks
}

/// The disk that a thread is named after: `sdb` of `jbd2/sdb3-8`, `flush-8:16` and
/// `kworker/u8:1+flush-8:16`, `dm-0` of `xfsaild/dm-0` (fs/jbd2/journal.c, fs/fs-writeback.c).
fn disk_of(thread: &str) -> Option<String> {
    let name = match thread.split_once("flush-") {
        Some((_, numbers)) => device_of_numbers(numbers)?,
        None => {
            let of = thread.strip_prefix("jbd2/").or_else(|| thread.strip_prefix("xfsaild/"))?;
            let number = of.strip_prefix("dm-").unwrap_or(of).split('-').next()?;
            if of.starts_with("dm-") { format!("dm-{number}") } else { number.to_string() }
        }
    };
    let is_whole = ["dm", "md", "loop"].contains(&disk_names::kind(&name));
    let disk = if is_whole { name.as_str() } else { disk_names::without_partition(&name) };
    Some(disk.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_named_after_disks() {
        for (thread, disk) in [
            ("jbd2/sdb3-8", Some("sdb")),
            ("jbd2/dm-12-8", Some("dm-12")),
            ("xfsaild/nvme0n1p1", Some("nvme0n1")),
            ("flush-8:16", Some("sdb")),
            ("kworker/u16:2+flush-9:127", Some("md127")),
            ("cp", None),
            ("kjournald", None),
        ] {
            assert_eq!(disk_of(thread).as_deref(), disk, "{thread}");
        }
    }
}
