//! The program under test: `iowhy` as it was built beside this one.

use std::io;
use std::path::PathBuf;

/// Where it is.
///
/// # Errors
/// If it was not built.
pub fn iowhy() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    // Tests lie one folder deeper.
    let folders = own.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join("iowhy")).find(|path| path.is_file());
    found.ok_or_else(|| {
        io::Error::other("no `iowhy` beside this program: `cargo build -p iowhy` makes it")
    })
}
