//! Relations between block devices, from /sys and /proc.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iowhy_model::{KernelDisk, Medium};

/// A block device of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    /// The kernel's name.
    pub name: String,
    /// Its folder below /sys.
    pub folder: PathBuf,
}

/// The device a file is, or lies on. `None` if there is none (tmpfs, NFS, btrfs).
pub(super) fn node_of(metadata: &fs::Metadata) -> Option<Node> {
    let is_device = metadata.file_type().is_block_device();
    node_of_number(if is_device { metadata.rdev() } else { metadata.dev() })
}

fn node_of_number(number: u64) -> Option<Node> {
    let link = format!("/sys/dev/block/{}", text_of(number));
    let folder = fs::canonicalize(link).ok()?;
    Some(Node { name: name_of(&folder)?, folder })
}

/// `8:16`, as mountinfo and sysfs write it.
fn text_of(number: u64) -> String {
    format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number))
}

fn name_of(folder: &Path) -> Option<String> {
    Some(folder.file_name()?.to_string_lossy().into_owned())
}

impl Node {
    /// A file of its folder, trimmed; `None` if it is missing or empty.
    pub(super) fn read(&self, file: &str) -> Option<String> {
        let text = fs::read_to_string(self.folder.join(file)).ok()?;
        let text = text.trim().to_string();
        (!text.is_empty()).then_some(text)
    }

    /// The whole disk, if this is a partition; else itself.
    pub(super) fn disk(&self) -> Node {
        let parent = self.folder.parent().filter(|_| self.folder.join("partition").exists());
        parent
            .and_then(|folder| Some(Node { name: name_of(folder)?, folder: folder.to_path_buf() }))
            .unwrap_or_else(|| self.clone())
    }

    /// Its smallest unit of I/O.
    pub(super) fn block(&self) -> Option<u32> {
        self.disk().read("queue/logical_block_size")?.parse().ok()
    }

    /// The medium of its disk, only if the kernel reports it reliably.
    pub(super) fn medium(&self) -> Option<Medium> {
        Medium::of_kernel_disk(&self.disk())
    }

    /// What identifies it: its serial number or world-wide name; for a loop device its file.
    pub(super) fn serial(&self) -> Option<String> {
        let disk = self.disk();
        ["device/serial", "serial", "device/wwid", "wwid", "loop/backing_file"]
            .into_iter()
            .find_map(|file| disk.read(file))
    }

    /// Names in one of its folders (`holders`, `slaves`).
    pub(super) fn children(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join(folder)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Its partitions.
    pub(super) fn partitions(&self) -> Vec<Node> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok);
        let folders = entries.map(|entry| entry.path());
        folders
            .filter(|folder| folder.join("partition").exists())
            .filter_map(|folder| Some(Node { name: name_of(&folder)?, folder }))
            .collect()
    }

    /// The numbers of everything that would be hit with it: itself, its disk, the disk's
    /// partitions, and whatever is stacked on any of them.
    pub(super) fn family(&self) -> BTreeSet<String> {
        let disk = self.disk();
        let mut todo = vec![self.clone(), disk.clone()];
        todo.extend(disk.partitions());
        let mut numbers = BTreeSet::new();
        while let Some(node) = todo.pop() {
            if !node.read("dev").is_some_and(|number| numbers.insert(number)) {
                continue;
            }
            todo.extend(node.partitions());
            for holder in node.children("holders") {
                let folder = fs::canonicalize(Path::new("/sys/class/block").join(&holder));
                todo.extend(folder.map(|folder| Node { name: holder, folder }));
            }
        }
        numbers
    }
}

impl KernelDisk for Node {
    fn name(&self) -> &str {
        &self.name
    }

    fn way(&self) -> String {
        self.folder.display().to_string()
    }

    fn read(&self, file: &str) -> Option<String> {
        Node::read(self, file)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        self.children(folder)
    }
}

/// Where any of these devices is mounted, in this mount namespace: by number, and by the source
/// of file systems that hide their device's number.
pub(super) fn mounted(family: &BTreeSet<String>) -> Vec<String> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut places = Vec::new();
    for line in text.lines() {
        // proc(5): ID parent major:minor root place options [tags] - type source options
        let fields: Vec<&str> = line.split(' ').collect();
        let source = line.split_once(" - ").and_then(|(_, rest)| rest.split(' ').nth(1));
        let by_number = fields.get(2).is_some_and(|number| family.contains(*number));
        if by_number || source.is_some_and(|path| is_in(family, path)) {
            places.push(fields.get(4).copied().unwrap_or("?").to_string());
        }
    }
    places
}

/// Which of these devices are swapped to.
pub(super) fn swapped_to(family: &BTreeSet<String>) -> Vec<String> {
    let text = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let paths = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    paths.filter(|path| is_in(family, path)).map(str::to_string).collect()
}

/// Loop devices whose file is one of these devices.
pub(super) fn looped(family: &BTreeSet<String>) -> Vec<String> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().filter_map(Result::ok);
    let loops = entries.filter_map(|entry| {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        is_in(family, file.trim()).then(|| entry.file_name().to_string_lossy().into_owned())
    });
    loops.collect()
}

/// Processes other than this one that have one of these devices open, as far as permitted.
pub(super) fn open_in(family: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    let own = std::process::id().to_string();
    for process in fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok) {
        let pid = process.file_name().to_string_lossy().into_owned();
        if pid == own || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let files = fs::read_dir(process.path().join("fd")).into_iter().flatten();
        let holds = files.filter_map(Result::ok).any(|file| {
            fs::metadata(file.path()).is_ok_and(|found| {
                found.file_type().is_block_device() && family.contains(&text_of(found.rdev()))
            })
        });
        if holds {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            found.push(format!("{} (process {pid})", name.trim()));
        }
    }
    found
}

fn is_in(family: &BTreeSet<String>, path: &str) -> bool {
    fs::metadata(path).is_ok_and(|found| {
        found.file_type().is_block_device() && family.contains(&text_of(found.rdev()))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A copy of /sys, removed after the test.
    struct Copy(PathBuf);

    impl Copy {
        fn new() -> Copy {
            let path = std::env::temp_dir().join(format!("iowhy-topology-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Copy(path)
        }

        /// A disk at this place below `devices`, and the node that is found by its link.
        fn disk(&self, place: &str, files: &[(&str, &str)]) -> Node {
            let folder = self.0.join("devices").join(place);
            for (file, text) in files {
                let path = folder.join(file);
                fs::create_dir_all(path.parent().expect("a folder")).expect("its folder");
                fs::write(path, text).expect("a file");
            }
            let name = name_of(&folder).expect("a name");
            let link = self.0.join(&name);
            symlink(&folder, &link).expect("a link");
            Node { name, folder: fs::canonicalize(link).expect("its folder") }
        }
    }

    impl Drop for Copy {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn volumes_and_luns_are_not_local_disks() {
        let sys = Copy::new();
        let (flash, rotational) = (("queue/rotational", "0\n"), ("queue/rotational", "1\n"));
        let ebs = sys.disk(
            "pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1",
            &[
                flash,
                ("device/model", "Amazon Elastic Block Store              \n"),
                ("nvme0n1p1/partition", "1\n"),
            ],
        );
        assert_eq!(ebs.medium(), Some(Medium::Network), "EBS");
        let part = ebs.partitions().pop().expect("its partition");
        assert_eq!(part.medium(), Some(Medium::Network), "a partition of it");
        let lun = "platform/host3/session1/target3:0:0/3:0:0:0/block/sdb";
        let lun = sys.disk(lun, &[rotational, ("device/model", "disk1\n")]);
        assert_eq!(lun.medium(), Some(Medium::Network), "iSCSI");
        let local = sys.disk(
            "pci0000:00/0000:00:1d.0/nvme/nvme1/nvme1n1",
            &[flash, ("device/model", "Samsung SSD 990 PRO\n"), ("device/transport", "pcie\n")],
        );
        assert_eq!(local.medium(), Some(Medium::Nvme));
        let volume = sys.disk("virtual/block/dm-0", &[rotational, ("slaves/sdb/dev", "8:16")]);
        assert_eq!(volume.medium(), Some(Medium::Stacked), "multipath");
    }
}
