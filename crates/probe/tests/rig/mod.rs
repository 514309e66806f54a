//! Private loop devices for the tests, taken away whatever happens.

#![allow(missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

/// Runs a program; its output, or `None` if it failed or is not there.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let done = Command::new(program).args(arguments).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_string())
}

/// Why loop devices cannot be used here; tests that need them skip and say so.
pub(crate) fn missing() -> Option<String> {
    if output("id", &["-u"]).as_deref() != Some("0") {
        return Some("root".to_string());
    }
    output("losetup", &["--find"]).is_none().then(|| "a free loop device".to_string())
}

/// A directory of its own below the system's, removed at the end.
pub(crate) struct Folder(pub PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let folder = format!("iowhy-probe-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `losetup` looks into every loop device, and whoever looks holds it open: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The turn of a test.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(|failed| failed.into_inner())
}

/// A loop device over a file of its own.
pub(crate) struct Loop {
    pub device: PathBuf,
    pub file: PathBuf,
}

impl Loop {
    pub(crate) fn new(folder: &Folder, name: &str, bytes: u64, options: &[&str]) -> Loop {
        let file = folder.0.join(name);
        fs::File::create(&file).unwrap().set_len(bytes).unwrap();
        Loop::over(&file, options)
    }

    pub(crate) fn over(file: &Path, options: &[&str]) -> Loop {
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        let text = file.display().to_string();
        arguments.push(&text);
        let device = output("losetup", &arguments).expect("losetup");
        Loop { device: device.into(), file: file.to_path_buf() }
    }

    pub(crate) fn path(&self) -> String {
        self.device.display().to_string()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        output("losetup", &["--detach", &self.path()]);
    }
}
