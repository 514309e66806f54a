//! Where file systems are mounted, by the number of their superblock.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// The mounts of this process.
const MOUNTS: &str = "proc/self/mountinfo";

/// A mount point.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MountPoint {
    /// The folder; `0:52, not mounted here` for one in other namespaces only.
    pub place: String,
    /// Its type, such as `ext4`; empty if it is not known.
    pub kind: String,
}

/// The mounts of this mount namespace, one place for each file system.
#[derive(Debug, Default)]
pub(crate) struct MountPoints(HashMap<u32, (bool, MountPoint)>);

impl MountPoints {
    /// The current mounts.
    pub(crate) fn read() -> MountPoints {
        MountPoints::read_in(Path::new("/"))
    }

    /// The same of a folder that looks like a machine.
    pub(crate) fn read_in(root: &Path) -> MountPoints {
        let mut mounts = MountPoints::default();
        mounts.take(&fs::read_to_string(root.join(MOUNTS)).unwrap_or_default());
        mounts
    }

    /// Adds new mounts; unmounted ones keep their names.
    pub(crate) fn read_again(&mut self) {
        self.take(&fs::read_to_string(Path::new("/").join(MOUNTS)).unwrap_or_default());
    }

    /// The mount point of the file system with this number; `None` for number 0.
    pub(crate) fn of(&self, number: u32) -> Option<MountPoint> {
        let (major, minor) = (number >> 20, number & 0xf_ffff);
        let unknown = || MountPoint {
            place: format!("{major}:{minor}, not mounted here"),
            kind: String::new(),
        };
        let known = self.0.get(&number).map(|(_, mount)| mount.clone());
        (number != 0).then(|| known.unwrap_or_else(unknown))
    }

    /// All, by the numbers of their superblocks, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &MountPoint)> {
        self.0.iter().map(|(number, (_, mount))| (*number, mount))
    }

    /// The number of the file system that is mounted there.
    pub(crate) fn number_at(&self, place: &str) -> Option<u32> {
        self.0.iter().find(|(_, (_, mount))| mount.place == place).map(|(number, _)| *number)
    }

    /// Of several mount points the first one with its root (proc_pid_mountinfo(5): number, parent,
    /// device, root, place, options, then after a hyphen the type and the source).
    fn take(&mut self, text: &str) {
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, _, numbers, root, place, rest @ ..] = &words[..] else { continue };
            let Some((major, minor)) = numbers.split_once(':') else { continue };
            let (Ok(major), Ok(minor)) = (major.parse::<u32>(), minor.parse::<u32>()) else {
                continue;
            };
            let kind = rest.iter().skip_while(|word| **word != "-").nth(1);
            let mount = MountPoint { place: plain(place), kind: plain(kind.unwrap_or(&"")) };
            let (number, is_root) = (major << 20 | minor & 0xf_ffff, *root == "/");
            match self.0.get(&number) {
                Some((known_is_root, _)) if *known_is_root || !is_root => {}
                _ => drop(self.0.insert(number, (is_root, mount))),
            }
        }
    }
}

/// The number of the superblock of a mount, by the number of the mount.
pub(crate) fn number_of(mounts: &str, id: &str) -> Option<u32> {
    let mut lines = mounts.lines().map(|line| line.split(' '));
    lines.find_map(|mut words| {
        let numbers = (words.next()? == id).then(|| words.nth(1))??;
        let (major, minor) = numbers.split_once(':')?;
        Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()? & 0xf_ffff)
    })
}

/// Blanks and the like are written as `\040`.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let code = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => plain.push(char::from(code)),
            None => plain.push('\\'),
        }
        rest = after.get(if code.is_some() { 3 } else { 0 }..).unwrap_or_default();
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_has_one_place_that_with_its_root() {
        let mut mounts = MountPoints::default();
        mounts.take(
            "30 1 8:2 /sub /x rw - ext4 /dev/sda2 rw\n\
             31 1 8:2 / /data\\040one rw,noatime shared:5 - ext4 /dev/sda2 rw\n\
             32 1 8:2 / /later rw - ext4 /dev/sda2 rw\n\
             33 1 0:52 / /mnt\\134 rw - fuse.sshfs host: rw\nnonsense\n34 1 8 / /y\n",
        );
        let of = |number: u32| mounts.of(number).map(|mount| (mount.place, mount.kind));
        let known = |place: &str, kind: &str| Some((place.to_string(), kind.to_string()));
        assert_eq!(of(8 << 20 | 2), known("/data one", "ext4"));
        assert_eq!(of(52), known("/mnt\\", "fuse.sshfs"));
        assert_eq!(of(53), known("0:53, not mounted here", ""));
        assert_eq!(of(0), None);
        assert_eq!((mounts.number_at("/mnt\\"), mounts.number_at("/x")), (Some(52), None));
    }

    #[test]
    fn a_mount_is_found_by_its_number() {
        let mounts = "30 1 8:2 / /x rw - ext4 a rw\n131 1 0:52 / /y rw - fuse b rw\n31 x\n";
        assert_eq!(number_of(mounts, "30"), Some(8 << 20 | 2));
        assert_eq!(number_of(mounts, "131"), Some(52));
        assert_eq!((number_of(mounts, "31"), number_of(mounts, "")), (None, None));
    }
}
