//! Limits that a control group sets on this process and a device.

use std::fs;
use std::path::Path;

use crate::target::Target;

/// The `io.max` lines of this process's control groups that concern the target's disk, each with
/// the file it stands in (Documentation/admin-guide/cgroup-v2.rst, "io.max").
pub fn limits(target: &Target) -> Vec<String> {
    let Some(device) = &target.device else { return Vec::new() };
    let folder = fs::canonicalize(format!("/sys/class/block/{device}")).unwrap_or_default();
    let disk = folder.parent().filter(|_| folder.join("partition").exists()).unwrap_or(&folder);
    let Ok(number) = fs::read_to_string(disk.join("dev")) else { return Vec::new() };
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(group) = own.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return Vec::new();
    };
    let root = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .into_iter()
        .find(|root| Path::new(root).join("cgroup.controllers").exists());
    let Some(root) = root else { return Vec::new() };
    let mut found = Vec::new();
    for folder in Path::new(root).join(group).ancestors() {
        if !folder.starts_with(root) {
            break;
        }
        let file = folder.join("io.max");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(number.trim()));
        let set = line.map(|line| {
            let words = line.split_whitespace().filter(|word| !word.ends_with("=max"));
            words.collect::<Vec<_>>().join(" ")
        });
        if let Some(set) = set.filter(|set| !set.is_empty()) {
            found.push(format!("{set} in `{}`", file.display()));
        }
    }
    found
}
