//! The programs that were built next to this one.

use std::io;
use std::path::PathBuf;

/// Where `iowhy` is, the program under test.
///
/// # Errors
/// If it was not built.
pub fn iowhy() -> io::Result<PathBuf> {
    beside("iowhy", "iowhy")
}

/// Where `rig` is: this program, unless this is a test.
///
/// # Errors
/// If it was not built.
pub fn rig() -> io::Result<PathBuf> {
    beside("rig", "iowhy-rig")
}

fn beside(name: &str, package: &str) -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    // Tests lie one folder deeper.
    let folders = own.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| {
        io::Error::other(format!("no `{name}` beside this program: `cargo build -p {package}`"))
    })
}
