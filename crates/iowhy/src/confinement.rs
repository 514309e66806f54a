//! What a command may still do once it has opened what it needs: see `iowhy_live::Needs`.
//!
//! A command that reads captures is confined before the first byte of them is parsed, one that
//! watches as soon as its collectors are attached. Only what was named on the command line can be
//! read then, and only the folders of the files to be written can be written to.

use std::path::{Path, PathBuf};

use iowhy_live::{Needs, confine_calls, confine_reading, confine_watching};

/// What a watching command will do later.
#[derive(Clone, Debug)]
pub enum Later {
    /// Write files in these folders, or nothing.
    Write(Vec<PathBuf>),
    /// Look into other processes, or probe a device that nobody has named yet: files are not bounded.
    More,
}

impl Default for Later {
    fn default() -> Later {
        Later::Write(Vec::new())
    }
}

/// Confines a command that reads these captures and writes these files.
///
/// # Errors
/// If the kernel can and refuses.
pub fn reading<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    outputs: &[&Path],
) -> anyhow::Result<()> {
    let named = inputs.into_iter().filter(|input| *input != Path::new("-"));
    let read = named.map(Path::to_path_buf).collect();
    confine_reading(&Needs { read, write: folders(outputs), fill: Vec::new() })?;
    Ok(())
}

/// Confines a command that reads these captures and fills this folder.
///
/// # Errors
/// If the kernel can and refuses.
pub fn filling<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    folder: &Path,
) -> anyhow::Result<()> {
    let named = inputs.into_iter().filter(|input| *input != Path::new("-"));
    let read = named.map(Path::to_path_buf).collect();
    confine_reading(&Needs { read, write: Vec::new(), fill: vec![folder.to_path_buf()] })?;
    Ok(())
}

/// Confines a command that watches, beside what its collectors read of the kernel.
///
/// # Errors
/// If the kernel can and refuses.
pub fn watching(later: &Later, root: Option<&Path>) -> anyhow::Result<()> {
    match later {
        Later::More => confine_calls()?,
        Later::Write(folders) => {
            let read = root.map(Path::to_path_buf).into_iter().collect();
            confine_watching(&Needs { read, write: folders.clone(), fill: Vec::new() })?
        }
    };
    Ok(())
}

/// The folders in which files are written.
pub fn folders(files: &[&Path]) -> Vec<PathBuf> {
    let files = files.iter().filter(|file| **file != Path::new("-"));
    let parent = |file: &&Path| match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    files.map(parent).collect()
}
