//! Limits that control groups set on this process and a device.

use std::fs;
use std::path::Path;

use crate::target::Target;

/// Files of the first version of control groups, each one limit
/// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
const FIRST_VERSION: [&str; 4] = [
    "blkio.throttle.read_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.write_iops_device",
];

/// The limits of this process's control groups that concern the target's disk, each with the file
/// it stands in.
pub fn limits(target: &Target) -> Vec<String> {
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
            // Documentation/admin-guide/cgroup-v2.rst, "io.max".
            found.extend(up(root, group, &["io.max"], &number));
        }
    }
    if let Some(group) = group("blkio") {
        found.extend(up("/sys/fs/cgroup/blkio", group, &FIRST_VERSION, &number));
    }
    found
}

/// What the files of a group and of all above it say of a device.
fn up(root: &str, group: &str, files: &[&str], number: &str) -> Vec<String> {
    let mut found = Vec::new();
    let folder = Path::new(root).join(group.trim_start_matches('/'));
    for folder in folder.ancestors().take_while(|folder| folder.starts_with(root)) {
        for file in files {
            let path = folder.join(file);
            let text = fs::read_to_string(&path).unwrap_or_default();
            for line in text.lines() {
                let Some((of, limit)) = line.split_once(' ') else { continue };
                let set = limit.split(' ').filter(|word| !word.ends_with("=max"));
                let set = set.collect::<Vec<_>>().join(" ");
                if of == number && !set.is_empty() {
                    found.push(format!("{set} in `{}`", path.display()));
                }
            }
        }
    }
    found
}
