//! The initramfs: busybox, a kernel's modules with their dependencies, the programs of this
//! workspace, `init.sh`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::programs::run;

/// Modules and their parameters, loaded in this order.
const MODULES: &[&str] = &[
    "fuse",
    "loop",
    "null_blk nr_devices=2 gb=1 irqmode=2 completion_nsec=1000000",
    "sd_mod",
    // One command in flight, 1 ms each; what it does wrong is reported when it is to do so.
    "scsi_debug dev_size_mb=64 ndelay=1000000 max_queue=1",
    "dm-mod",
    "dm-delay",
    "dm-flakey",
    "raid1",
    "dm-raid",
    "dm-crypt",
    // Its cipher.
    "aesni-intel",
    "dm-multipath",
    "dm-round-robin",
    "ext4",
    // A file server and its client.
    "nfsd",
    "nfsv4",
    // Real drivers, for the machine that has such drives.
    "virtio_pci",
    "virtio_scsi",
    "virtio_blk",
    "nvme",
];

/// What the kernel starts.
const INIT: &str = include_str!("init.sh");

/// A kernel to boot.
#[derive(Debug)]
pub(super) struct Image {
    /// The kernel.
    pub kernel: PathBuf,
    /// The initramfs.
    pub initramfs: PathBuf,
}

/// Makes the image for an unpacked kernel package.
///
/// # Errors
/// If the package contains no kernel, or a module is missing.
pub(super) fn make(root: &Path, busybox: &Path, programs: &Path) -> io::Result<Image> {
    let kernel = kernel(root)?;
    let mut archive = Cpio::default();
    for folder in ["bin", "dev", "lib", "mnt", "proc", "sys", "tmp"] {
        archive.add(folder, 0o040_755, &[]);
    }
    archive.add("init", 0o100_755, INIT.as_bytes());
    archive.add("bin/busybox", 0o100_755, &fs::read(busybox)?);
    for program in ["iowhy", "rig"] {
        archive.add(&format!("bin/{program}"), 0o100_755, &fs::read(programs.join(program))?);
    }
    let mut list = String::new();
    for (path, parameters) in modules(root)? {
        let stem = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = stem.split(".ko").next().unwrap_or_default();
        let place = format!("lib/{name}.ko");
        archive.add(&place, 0o100_644, &unpacked(&path)?);
        list.push_str(&format!("/{place} {parameters}\n"));
    }
    archive.add("modules", 0o100_644, list.as_bytes());
    let initramfs = root.join("initramfs");
    fs::File::create(&initramfs)?.write_all(&archive.end())?;
    Ok(Image { kernel, initramfs })
}

/// In /boot until Linux 7, beside the modules since.
fn kernel(root: &Path) -> io::Result<PathBuf> {
    let modules = within(&root.join("usr/lib/modules"));
    let beside = modules.map(|folder| folder.join("vmlinuz"));
    let boot = within(&root.join("boot")).filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"))
    });
    let found = boot.chain(beside).find(|path| path.exists());
    found.ok_or_else(|| io::Error::other("no kernel in the package"))
}

/// What lies in a folder; nothing if it is not there.
fn within(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Files of modules in the order in which they can be loaded, with their parameters.
fn modules(root: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    if !root.join("lib").exists() {
        std::os::unix::fs::symlink("usr/lib", root.join("lib"))?;
    }
    let folder = root.join("lib/modules");
    let release = fs::read_dir(&folder)?.flatten().map(|entry| entry.file_name()).max();
    let release = release.ok_or_else(|| io::Error::other("no modules in the package"))?;
    if !folder.join(&release).join("modules.dep").exists() {
        run(Command::new("depmod").arg("-b").arg(root).arg(&release))?;
    }
    let mut found: Vec<(PathBuf, String)> = Vec::new();
    for module in MODULES {
        let (name, parameters) = module.split_once(' ').unwrap_or((module, ""));
        let mut depends = Command::new("modprobe");
        depends.arg("-d").arg(root).arg("-S").arg(&release).args(["--show-depends", name]);
        // `insmod PATH`, or `builtin NAME`; the module itself comes last.
        let depends = run(&mut depends)?;
        let paths = depends.lines().filter_map(|line| line.trim().strip_prefix("insmod "));
        let paths = paths.filter_map(|path| path.split_whitespace().next()).map(PathBuf::from);
        let mut paths: Vec<PathBuf> = paths.collect();
        let own = paths.pop();
        for (path, parameters) in
            paths.into_iter().map(|path| (path, "")).chain(own.map(|path| (path, parameters)))
        {
            if !found.iter().any(|(known, _)| *known == path) {
                found.push((path, parameters.to_string()));
            }
        }
    }
    Ok(found)
}

/// A module's bytes; newer packages keep them compressed.
fn unpacked(path: &Path) -> io::Result<Vec<u8>> {
    let tool = match path.extension().and_then(|end| end.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        _ => return fs::read(path),
    };
    let output = Command::new(tool).arg("-dc").arg(path).output()?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(io::Error::other("a broken module"))
    }
}

/// An archive in the `newc` form, which the kernel unpacks
/// (Documentation/driver-api/early-userspace/buffer-format.rst).
#[derive(Default)]
struct Cpio {
    bytes: Vec<u8>,
    files: u32,
}

impl Cpio {
    fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.files += 1;
        let size = content.len() as u32;
        let name_size = name.len() as u32 + 1;
        // inode, mode, uid, gid, links, mtime, size, four device numbers, name size, checksum
        let fields = [self.files, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn end(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_archive_begins_at_a_multiple_of_four() {
        let mut archive = Cpio::default();
        archive.add("bin", 0o040_755, &[]);
        archive.add("a", 0o100_644, b"12345");
        let bytes = archive.end();
        assert_eq!(bytes.len() % 4, 0);
        let marks: Vec<usize> =
            (0..bytes.len() - 6).filter(|at| &bytes[*at..at + 6] == b"070701").collect();
        assert_eq!(marks.len(), 3);
        assert!(marks.iter().all(|at| at % 4 == 0), "{marks:?}");
    }
}
