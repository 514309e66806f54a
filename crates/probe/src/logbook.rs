//! What a probe has measured so far, kept where it survives a killed process.
//!
//! A file in memory (`XDG_RUNTIME_DIR`, else /dev/shm, else the directory for temporary files),
//! locked as long as its probe runs and removed when it ends. A file without a lock belonged to a
//! probe that was killed: the next probe reports and removes it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// Names of logbooks begin and end so.
const NAME: (&str, &str) = ("iowhy-probe-", ".so-far");
/// A logbook is a few lines; more is not read.
const MOST_BYTES: u64 = 1 << 20;

/// The logbook of a probe under way.
pub(crate) struct Logbook {
    path: PathBuf,
    file: File,
    finished: String,
}

impl Logbook {
    /// Begins one with a line about what is measured; `None` if there is no place for it.
    pub(crate) fn begin(heading: &str) -> Option<Logbook> {
        let (before, after) = NAME;
        let path = place().join(format!("{before}{}{after}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(&path).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        let mut book = Logbook { path, file, finished: format!("{heading}\n") };
        book.under_way("");
        Some(book)
    }

    /// Adds a line about a step that is done.
    pub(crate) fn done(&mut self, line: &str) {
        self.finished.push_str(line);
        self.finished.push('\n');
        self.under_way("");
    }

    /// Replaces the progress of the current step.
    pub(crate) fn under_way(&mut self, line: &str) {
        let text = format!("{}{line}\n", self.finished);
        // Without a place to write there is nothing to recover, and the measurement is unaffected.
        let _ = self.file.write_all_at(text.as_bytes(), 0);
        let _ = self.file.set_len(text.len() as u64);
    }
}

impl Drop for Logbook {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What probes of this user that were killed had measured; their files are taken away.
pub fn recover() -> Vec<String> {
    let entries = std::fs::read_dir(place()).into_iter().flatten().filter_map(Result::ok);
    let books = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(NAME.0) && name.ends_with(NAME.1)
    });
    books.filter_map(|path| read(&path).ok()).collect()
}

fn read(path: &Path) -> io::Result<String> {
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    // Another user's file is that user's; /tmp is everybody's.
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    // A running probe has the lock.
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    let mut text = vec![0; found.len().min(MOST_BYTES) as usize];
    file.read_exact_at(&mut text, 0)?;
    std::fs::remove_file(path)?;
    Ok(String::from_utf8_lossy(&text).trim().to_string())
}

fn place() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let places = runtime.into_iter().chain([PathBuf::from("/dev/shm")]);
    let mut places = places.filter(|place| place.is_absolute() && place.is_dir());
    places.next().unwrap_or_else(std::env::temp_dir)
}
