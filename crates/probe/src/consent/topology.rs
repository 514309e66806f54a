//! Relations between block devices, from /sys and /proc.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iowhy_model::Medium;

/// A block device of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The kernel's name.
    pub name: String,
    /// Its folder below /sys.
    pub folder: PathBuf,
}

/// The device a file is, or lies on. `None` if there is none (tmpfs, NFS, btrfs).
pub fn node_of(metadata: &fs::Metadata) -> Option<Node> {
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
    pub fn read(&self, file: &str) -> Option<String> {
        let text = fs::read_to_string(self.folder.join(file)).ok()?;
        let text = text.trim().to_string();
        (!text.is_empty()).then_some(text)
    }

    /// The whole disk, if this is a partition; else itself.
    pub fn disk(&self) -> Node {
        let parent = self.folder.parent().filter(|_| self.folder.join("partition").exists());
        parent
            .and_then(|folder| Some(Node { name: name_of(folder)?, folder: folder.to_path_buf() }))
            .unwrap_or_else(|| self.clone())
    }

    /// Its smallest unit of I/O.
    pub fn block(&self) -> Option<u32> {
        self.disk().read("queue/logical_block_size")?.parse().ok()
    }

    /// The medium, only if the kernel can be trusted: virtual disks report as rotational.
    pub fn medium(&self) -> Option<Medium> {
        let disk = self.disk();
        let stacked = ["loop", "dm-", "md"].iter().any(|prefix| disk.name.starts_with(prefix));
        if stacked || !disk.children("slaves").is_empty() {
            return Some(Medium::Stacked);
        }
        if disk.name.starts_with("nvme") {
            return Some(Medium::Nvme);
        }
        let model = disk.read("device/model").unwrap_or_default().to_ascii_uppercase();
        let virtual_disk = ["QEMU", "VIRTUAL", "VBOX"].iter().any(|word| model.contains(word));
        if !disk.name.starts_with("sd") || virtual_disk {
            return None;
        }
        match disk.read("queue/rotational")?.as_str() {
            "1" => Some(Medium::Rotational),
            "0" => Some(Medium::Flash),
            _ => None,
        }
    }

    /// What identifies it: its serial number or world-wide name; for a loop device its file.
    pub fn serial(&self) -> Option<String> {
        let disk = self.disk();
        ["device/serial", "serial", "device/wwid", "wwid", "loop/backing_file"]
            .into_iter()
            .find_map(|file| disk.read(file))
    }

    /// Names in one of its folders (`holders`, `slaves`).
    pub fn children(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join(folder)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Its partitions.
    pub fn partitions(&self) -> Vec<Node> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok);
        let folders = entries.map(|entry| entry.path());
        folders
            .filter(|folder| folder.join("partition").exists())
            .filter_map(|folder| Some(Node { name: name_of(&folder)?, folder }))
            .collect()
    }

    /// The numbers of everything that would be hit with it: itself, its disk, the disk's
    /// partitions, and whatever is stacked on any of them.
    pub fn family(&self) -> BTreeSet<String> {
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

/// Where any of these devices is mounted, in this mount namespace: by number, and by the source
/// of file systems that hide their device's number.
pub fn mounted(family: &BTreeSet<String>) -> Vec<String> {
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
pub fn swapped_to(family: &BTreeSet<String>) -> Vec<String> {
    let text = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let paths = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    paths.filter(|path| is_in(family, path)).map(str::to_string).collect()
}

/// Loop devices whose file is one of these devices.
pub fn looped(family: &BTreeSet<String>) -> Vec<String> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().filter_map(Result::ok);
    let loops = entries.filter_map(|entry| {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        is_in(family, file.trim()).then(|| entry.file_name().to_string_lossy().into_owned())
    });
    loops.collect()
}

/// Processes other than this one that have one of these devices open, as far as permitted.
pub fn open_in(family: &BTreeSet<String>) -> Vec<String> {
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
