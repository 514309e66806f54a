//! A folder of a test's own, gone with all that is in it when the test ends, also by a failure.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

static COUNTER: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Folder(pub PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("iowhy-{name}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for files of this test");
        Folder(path)
    }

    /// The place of a file in it, as text.
    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// A file in it with that content: its place.
    pub(crate) fn written(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.file(name);
        std::fs::write(&path, bytes).expect("a file of this test");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
