//! Loop devices and child processes for the tests of `iowhy probe`, taken away whatever happens.

#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::folder::Folder;

/// Runs a shell command; what it printed, or `None` if it failed.
pub(crate) fn shell(command: &str) -> Option<String> {
    let output = Command::new("sh").args(["-c", command]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// Why loop devices cannot be used here.
pub(crate) fn missing() -> Option<&'static str> {
    if shell("id -u").as_deref() != Some("0") {
        return Some("root");
    }
    shell("losetup --find").is_none().then_some("a free loop device")
}

/// The program that makes faulty disks beside ours, where the workspace was built as a whole.
pub(crate) fn rig() -> Option<PathBuf> {
    let rig = Path::new(env!("CARGO_BIN_EXE_iowhy")).with_file_name("rig");
    (rig.exists() && Path::new("/dev/fuse").exists()).then_some(rig)
}

/// `iowhy probe` with these words.
pub(crate) fn probe(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
    command.arg("probe").args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn finish(child: Child) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    (status.code(), text(&stdout), text(&stderr))
}

/// A loop device over a blank file.
pub(crate) struct Loop {
    pub device: String,
    pub file: String,
}

impl Loop {
    pub(crate) fn new(folder: &Folder, name: &str, bytes: u64, options: &str) -> Loop {
        let file = folder.file(name);
        std::fs::File::create(&file).unwrap().set_len(bytes).unwrap();
        let device = shell(&format!("losetup --find --show {options} {file}")).expect("losetup");
        // A `losetup` of a neighbour, to which the kernel named the same free device, lets go of
        // it.
        for _ in 0..100 {
            if !is_held(&device) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Loop { device, file }
    }

    pub(crate) fn checksum(&self) -> String {
        shell(&format!("sync; sha256sum < {}", self.file)).expect("sha256sum")
    }
}

/// Whether any process has the device open.
fn is_held(device: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let files = processes.flat_map(|one| std::fs::read_dir(one.path().join("fd")).into_iter());
    let mut open = files.flatten().flatten();
    open.any(|file| std::fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == device))
}

impl Drop for Loop {
    fn drop(&mut self) {
        shell(&format!("losetup --detach {}", self.device));
    }
}
