//! Control groups by their numbers in the kernel.
//!
//! A bio contains the group that is charged, and that group's number is the inode of its folder in
//! the hierarchy of the block controller: `blkio` of version 1, else the unified one.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iowhy_model::{Name, Sink};

/// The mounts of this process.
const MOUNTS: &str = "/proc/self/mountinfo";
/// New groups are searched for at most this often.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum depth of nested groups; systemd with containers needs six.
const DEPTH: usize = 32;

/// Ids and paths of groups, read on demand.
#[derive(Debug)]
pub(crate) struct ControlGroups {
    root: Option<PathBuf>,
    paths: HashMap<u64, String>,
    names: HashMap<u64, Name>,
    /// The last one looked up: lookups repeat.
    last: Option<(u64, Name)>,
    looked: Option<Instant>,
}

impl ControlGroups {
    /// Those of this machine; nothing is read before the first lookup.
    pub(crate) fn new() -> ControlGroups {
        let (paths, names) = (HashMap::new(), HashMap::new());
        ControlGroups { root: None, paths, names, last: None, looked: None }
    }

    /// The name of a group: its path, or `cgroup NUMBER` if it is gone. `None` for number 0.
    pub(crate) fn name(&mut self, number: u64, sink: &mut dyn Sink) -> Option<Name> {
        if number == 0 {
            return None;
        }
        if let Some((_, name)) = self.last.filter(|(known, _)| *known == number) {
            return Some(name);
        }
        if let Some(name) = self.names.get(&number) {
            self.last = Some((number, *name));
            return Some(*name);
        }
        if !self.paths.contains_key(&number) && self.looked.is_none_or(|at| at.elapsed() >= PAUSE) {
            self.look();
        }
        match self.paths.get(&number) {
            Some(path) => {
                let name = sink.name(path);
                self.names.insert(number, name);
                Some(name)
            }
            None => Some(sink.name(&format!("cgroup {number}"))),
        }
    }

    fn look(&mut self) {
        self.looked = Some(Instant::now());
        if self.root.is_none() {
            let text = fs::read_to_string(MOUNTS).unwrap_or_default();
            self.root = block_hierarchy(&text);
        }
        let Some(root) = &self.root else { return };
        if let Ok(of_root) = fs::metadata(root) {
            self.paths.insert(of_root.ino(), "/".to_string());
        }
        walk(root, "", DEPTH, &mut self.paths);
    }
}

/// The number of a group by its path below the hierarchy, with or without the mount point before
/// it; `None` if there is none.
pub fn control_group(path: &str) -> Option<u64> {
    let text = fs::read_to_string(MOUNTS).ok()?;
    let root = block_hierarchy(&text)?;
    let below = path.strip_prefix(root.to_str()?).unwrap_or(path);
    let folder = root.join(below.trim_start_matches('/'));
    let found = fs::metadata(folder).ok().filter(fs::Metadata::is_dir)?;
    Some(found.ino())
}

/// Where the block controller is mounted, by the text of /proc/self/mountinfo: `blkio` of version
/// 1 before the unified hierarchy, which cannot hold the controller then.
pub(crate) fn block_hierarchy(mounts: &str) -> Option<PathBuf> {
    let of = |kind: &str, option: &str| {
        mounts.lines().find_map(|line| {
            // proc_pid_mountinfo(5): the fifth word is the mount point; type, source and options
            // follow a lone hyphen.
            let (before, after) = line.split_once(" - ")?;
            let mut after = after.split(' ');
            let options = after.clone().nth(2)?;
            let fits = after.next() == Some(kind)
                && (option.is_empty() || options.split(',').any(|one| one == option));
            fits.then(|| before.split(' ').nth(4)).flatten()
        })
    };
    of("cgroup", "blkio").or_else(|| of("cgroup2", "")).map(PathBuf::from)
}

fn walk(folder: &Path, below: &str, depth: usize, paths: &mut HashMap<u64, String>) {
    let Some(deeper) = depth.checked_sub(1) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = format!("{below}/{}", entry.file_name().to_string_lossy());
            walk(&entry.path(), &path, deeper, paths);
            paths.insert(entry.ino(), path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_controller_is_found_in_both_versions() {
        let first = "30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                     31 24 0:27 / /sys/fs/cgroup/blkio rw,relatime shared:9 - cgroup c rw,blkio\n";
        assert_eq!(block_hierarchy(first), Some(PathBuf::from("/sys/fs/cgroup/blkio")));
        let second = "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(block_hierarchy(second), Some(PathBuf::from("/sys/fs/cgroup")));
        assert_eq!(block_hierarchy("30 24 0:26 / /proc rw - proc proc rw\n"), None);
    }
}
