//! Limits that control groups set on this process and a device.

use std::fs;
use std::path::{Path, PathBuf};

use iowhy_model::LimitKind;

use crate::target::Target;

/// One limit, and its origin.
#[derive(Clone, PartialEq, Debug)]
pub struct Limit {
    /// What it counts.
    pub kind: LimitKind,
    /// How much of it per second.
    pub per_s: f64,
    /// The file that shows it.
    pub file: PathBuf,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}={} in `{}`", self.kind.name(), self.per_s, self.file.display())
    }
}

/// Files of the first version of control groups, each one limit
/// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
const FIRST_VERSION: [(&str, LimitKind); 4] = [
    ("blkio.throttle.read_bps_device", LimitKind::Rbps),
    ("blkio.throttle.read_iops_device", LimitKind::Riops),
    ("blkio.throttle.write_bps_device", LimitKind::Wbps),
    ("blkio.throttle.write_iops_device", LimitKind::Wiops),
];

/// The file of the second (Documentation/admin-guide/cgroup-v2.rst, "io.max"): pairs in a line.
const SECOND_VERSION: &str = "io.max";

/// The limits of this process's control groups that concern the target's disk.
pub(crate) fn limits(target: &Target) -> Vec<Limit> {
    let Some(number) = target.setting("dev") else { return Vec::new() };
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    // cgroups(7): hierarchy:controllers:path, with no controllers in the second version.
    let group = |controller: &str| {
        own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let controllers = fields.next()?;
            controllers.split(',').any(|name| name == controller).then(|| fields.next())?
        })
    };
    let mut found = Vec::new();
    if let Some(group) = group("") {
        for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
            found.extend(up(Path::new(root), group, &number));
        }
    }
    if let Some(group) = group("blkio") {
        found.extend(up(Path::new("/sys/fs/cgroup/blkio"), group, &number));
    }
    found
}

/// The limits of a group and all groups above it for a device.
fn up(root: &Path, group: &str, number: &str) -> Vec<Limit> {
    let folder = root.join(group.trim_start_matches('/'));
    let folders = folder.ancestors().take_while(|folder| folder.starts_with(root));
    folders.flat_map(|folder| of_group(folder, number)).collect()
}

fn of_group(folder: &Path, number: &str) -> Vec<Limit> {
    let mut found = Vec::new();
    let mut look = |file: &str, limit_of: &dyn Fn(&str) -> Option<(LimitKind, f64)>| {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let of_device = text.lines().filter_map(|line| line.split_once(' '));
        let words = of_device.filter(|(of, _)| *of == number).flat_map(|(_, rest)| rest.split(' '));
        found.extend(words.filter_map(limit_of).map(|(kind, per_s)| Limit {
            kind,
            per_s,
            file: path.clone(),
        }));
    };
    for (file, kind) in FIRST_VERSION {
        look(file, &|word| Some((kind, word.parse().ok()?)));
    }
    look(SECOND_VERSION, &|word| {
        let (name, value) = word.split_once('=')?;
        // `max` is not a number and no limit.
        Some((LimitKind::named(name)?, value.parse().ok()?))
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_both_versions_are_read_up_to_the_root() {
        let root = std::env::temp_dir().join(format!("iowhy-probe-limits-{}", std::process::id()));
        let inner = root.join("a.slice/b.service");
        fs::create_dir_all(&inner).unwrap();
        let io_max = "8:0 rbps=max wbps=max riops=max wiops=max\n7:3 rbps=1048576 wbps=max \
                      riops=200 wiops=max\n";
        fs::write(inner.join("io.max"), io_max).unwrap();
        fs::write(root.join("a.slice/blkio.throttle.write_iops_device"), "7:3 50\n").unwrap();
        let found = up(&root, "/a.slice/b.service", "7:3");
        let words: Vec<(&str, f64)> = found.iter().map(|l| (l.kind.name(), l.per_s)).collect();
        assert_eq!(words, [("rbps", 1_048_576.0), ("riops", 200.0), ("wiops", 50.0)]);
        assert!(found[2].file.ends_with("a.slice/blkio.throttle.write_iops_device"));
        assert!(up(&root, "/a.slice/b.service", "8:0").is_empty());
        fs::remove_dir_all(&root).unwrap();
    }
}
