//! Files by their numbers in the kernel, and the paths that the tracer sends.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use iowhy_model::{Name, Sink};

use crate::ring_records::{FileKey, PART_BYTES, SentPath};

/// The mounts of this process.
const MOUNTS: &str = "/proc/self/mountinfo";
/// The folder of devices by number.
const DEVICES: &str = "/sys/dev/block";

/// Paths of files that were sent.
#[derive(Debug)]
pub(crate) struct Files {
    names: HashMap<FileKey, Name>,
    /// Where a file system is mounted, as `major:minor`.
    mounts: HashMap<String, String>,
}

impl Files {
    /// Empty, with the current mounts.
    pub(crate) fn new() -> Files {
        Files {
            names: HashMap::new(),
            mounts: mounts(&fs::read_to_string(MOUNTS).unwrap_or_default()),
        }
    }

    /// Takes a path that was sent.
    pub(crate) fn learn(&mut self, sent: &SentPath, sink: &mut dyn Sink) {
        let text = if sent.device != 0 {
            named_device(sent.device)
        } else if sent.parts == 0 {
            numbered(sent.key)
        } else {
            self.path(sent)
        };
        self.names.insert(sent.key, sink.name(&text));
    }

    /// The name of a file; `None` for inode 0, which is not a file.
    pub(crate) fn name(&self, key: FileKey, sink: &mut dyn Sink) -> Option<Name> {
        if key.inode == 0 {
            return None;
        }
        Some(self.names.get(&key).copied().unwrap_or_else(|| sink.name(&numbered(key))))
    }

    fn path(&mut self, sent: &SentPath) -> String {
        let system = numbers(sent.key.system);
        if !self.mounts.contains_key(&system) {
            self.mounts.extend(mounts(&fs::read_to_string(MOUNTS).unwrap_or_default()));
        }
        // The number, for a file system that is mounted only elsewhere or not at its root.
        let mut path = match self.mounts.get(&system) {
            Some(at) => at.trim_end_matches('/').to_string(),
            None => format!("{system}:"),
        };
        if sent.whole == 0 {
            path.push_str("/...");
        }
        let known = sent.part.get(..usize::from(sent.parts)).unwrap_or(&sent.part);
        for part in known.iter().rev() {
            let end = part.iter().position(|byte| *byte == 0).unwrap_or(PART_BYTES);
            path.push('/');
            path.push_str(&String::from_utf8_lossy(part.get(..end).unwrap_or_default()));
            if end == PART_BYTES - 1 {
                path.push_str("...");
            }
        }
        path
    }
}

/// A file without a path.
fn numbered(key: FileKey) -> String {
    format!("inode {} on {}", key.inode, numbers(key.system))
}

/// MAJOR and MINOR of include/linux/kdev_t.h.
fn numbers(device: u32) -> String {
    format!("{}:{}", device >> 20, device & 0xf_ffff)
}

/// A block device itself: the file system's own blocks, or direct access by a program.
fn named_device(device: u32) -> String {
    let link = fs::read_link(Path::new(DEVICES).join(numbers(device))).ok();
    let name = link.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    name.map_or_else(|| format!("device {}", numbers(device)), |name| format!("/dev/{name}"))
}

/// Where file systems are mounted by their root, by number; the first place of each
/// (Documentation/filesystems/proc.rst, 3.5).
fn mounts(text: &str) -> HashMap<String, String> {
    let mut found = HashMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [_, _, numbers, "/", place, ..] = words[..] {
            found.entry(numbers.to_string()).or_insert_with(|| place.replace("\\040", " "));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use iowhy_model::Recording;
    use zerocopy::IntoBytes;

    use super::*;
    use crate::ring_records::PARTS;

    const KEY: FileKey = FileKey { inode: 42, system: 8 << 20 | 1, generation: 0 };

    /// A path as the kernel sends it, its components from the file up.
    fn sent(parts: &[&str], whole: bool) -> SentPath {
        let mut part = [[0; PART_BYTES]; PARTS];
        for (place, text) in part.iter_mut().zip(parts) {
            place[..text.len()].copy_from_slice(text.as_bytes());
        }
        SentPath { key: KEY, device: 0, parts: parts.len() as u16, whole: whole.into(), part }
    }

    #[test]
    fn a_path_is_put_together_from_its_parts_and_its_mount() {
        let text =
            "29 1 8:1 / /data\\040one rw - ext4 /dev/sda1 rw\n30 1 8:2 /sub /x rw - ext4 y rw\n";
        let mut recording = Recording::new();
        let mut files = Files { names: HashMap::new(), mounts: mounts(text) };
        let mut reported = |files: &mut Files, parts: &[&str], whole| {
            files.learn(&sent(parts, whole), &mut recording);
            let name = files.name(KEY, &mut recording).expect("a file");
            recording.text(name).to_string()
        };
        assert_eq!(reported(&mut files, &["base", "db"], true), "/data one/db/base");
        assert_eq!(reported(&mut files, &["base", "db"], false), "/data one/.../db/base");
        assert_eq!(reported(&mut files, &[], false), "inode 42 on 8:1");
        assert!(!files.mounts.contains_key("8:2"), "no root of a file system");
        let none = FileKey { inode: 0, ..KEY };
        assert_eq!(files.name(none, &mut recording), None);
        assert_eq!(sent(&[], true).as_bytes().len(), 536, "struct path");
    }
}
